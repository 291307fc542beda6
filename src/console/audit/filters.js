/*
 * filters.js: what of the audit log is asked for: in the address, in a request, in a query.
 */
import { formatTime } from '../ui/time.js';

const day = 86_400_000;

/** The ranges that are one choice away: [name, title, days]. */
export const ranges = [['1d', 'Last 24 hours', 1], ['7d', 'Last 7 days', 7], ['30d', 'Last 30 days', 30], ['90d', 'Last 90 days', 90], ['365d', 'Last 365 days', 365]];
const usual = '7d';

/** Actions by the type of what they are about. */
export const actionsByType = {
	user: 'created login login_failed oauth_login email_verified password_reset password_changed access_ended deleted',
	member: 'invited added role_changed removed ai_credits_limited',
	invitation: 'resent revoked accepted',
	api_key: 'created revoked first_used',
	token: 'created revoked ai_credits_limited',
	organization: 'created settings_updated plan_changed plan_requested plan_request_withdrawn plan_request_declined limit_changed deleted restored exported imported state_changed',
	database_role: 'bound unbound',
	index: 'created updated deleted',
	lookup: 'created updated deleted',
	saved_query: 'created updated deleted',
	dashboard: 'created updated deleted shared',
	service: 'created updated deleted',
	kpi: 'created updated deleted',
	alert_rule: 'created updated deleted enabled disabled notify_tested put_off',
	alert: 'acknowledged resolved noted',
	pipeline: 'created updated deleted',
	pipeline_key: 'changed',
	scheduled_export: 'created updated deleted run',
	export: 'created failed',
	logs: 'deleted',
	mail: 'link_read',
	dead_letter: 'replayed discarded',
	quota: 'events_discarded',
};

/** Every action that is known here: user.login. */
export const actions = Object.entries(actionsByType).flatMap(([type, verbs]) => verbs.split(' ').map((verb) => `${type}.${verb}`));

/** The beginning of a day, 2026-11-23, in the chosen zone, in milliseconds; NaN when it is none. */
export function dayStart(text)
{
	const utc = /^\d{4}-\d\d-\d\d$/.test(text ?? '') ? Date.parse(`${text}T00:00:00Z`) : NaN;
	if (Number.isNaN(utc))
		return NaN;
	const offsetAt = (ms) => Date.parse(`${formatTime(ms).replace(' ', 'T')}Z`) - ms;
	return utc - offsetAt(utc - offsetAt(utc));
}

/** The filters of an address (URLSearchParams): {actor, action, type, range, from, to}. */
export function readFilters(params)
{
	const range = params.get('range');
	return {
		actor: params.get('actor') ?? '', action: params.get('action') ?? '', type: params.get('type') ?? '',
		range: range === 'days' || ranges.some(([name]) => name === range) ? range : usual,
		from: params.get('from') ?? '', to: params.get('to') ?? '',
	};
}

/** The range as the address keeps it: null for the usual one. */
export const rangeParameter = (range) => (range === usual ? null : range);

/** {earliest, latest} of a request; absent when open. */
export function timesOf({ range, from, to }, now = Date.now())
{
	const iso = (ms) => (Number.isNaN(ms) ? undefined : new Date(ms).toISOString());
	if (range !== 'days')
		return { earliest: iso(now - ranges.find(([name]) => name === range)[2] * day) };
	const last = dayStart(to);
	// The next day begins 23 to 25 hours later.
	return { earliest: iso(dayStart(from)), latest: Number.isNaN(last) ? undefined : iso(dayStart(new Date(Date.parse(`${to}T00:00:00Z`) + day).toISOString().slice(0, 10))) };
}

/** The parameters of GET /api/v1/audit. */
export const requestOf = (filters) => ({ actor: filters.actor, action: filters.action, resource_type: filters.type, ...timesOf(filters) });

const quoted = (text) => `"${text.replace(/[\\"]/g, '\\$&')}"`;

/** The same as a search: {q, earliest, latest}. */
export function searchOf(filters)
{
	const q = ['index=_audit', filters.actor && `actor=${quoted(filters.actor)}`, filters.action && `action=${quoted(filters.action)}`,
		filters.type && `resource_type=${quoted(filters.type)}`].filter(Boolean).join(' ');
	const times = timesOf(filters);
	return { q, earliest: filters.range === 'days' ? times.earliest ?? '-365d' : `-${filters.range}`, latest: times.latest ?? 'now' };
}
