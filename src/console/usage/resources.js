/*
 * resources.js: the limits of plans in words.
 */
import { formatBytes, formatNumber } from '../ui/numbers.js';
import { formatDuration } from '../ui/time.js';

const days = (value) => (value === 1 ? '1 day' : `${formatNumber(value)} days`);
const time = (value) => (value === 0 ? 'no, sending pauses' : `yes, for ${formatDuration(value * 1000)}`);

/** Limits of GET /api/v1/billing in the order in which people look for them: [name, title, format]. */
export const limits = [
	['ingest_bytes_per_day', 'Events a day', formatBytes], ['retention_days', 'Retention', days],
	['ai_credits_per_month', 'AI credits a month', formatNumber], ['overage_queue_seconds', 'Events beyond the quota wait', time],
	['deferred_bytes', 'How much may wait', formatBytes],
	['members', 'Members', formatNumber], ['api_keys', 'API keys', formatNumber], ['indexes', 'Indexes', formatNumber],
	['dashboards', 'Dashboards', formatNumber], ['saved_queries', 'Saved queries', formatNumber], ['alert_rules', 'Alert rules', formatNumber],
	['pipelines', 'Pipelines', formatNumber], ['scheduled_exports', 'Scheduled exports', formatNumber], ['services', 'Services', formatNumber],
	['kpis', 'KPIs', formatNumber], ['lookups', 'Lookup tables', formatNumber],
];

/** A limit as a text; null is unlimited. */
export const limitText = (value, format) => (value === null || value === undefined ? 'no limit' : format(value));

/** What follows an amount that is used: ' of 50', or ', no limit'. */
export const ofLimit = (value, format) => (value === null || value === undefined ? ', no limit' : ` of ${format(value)}`);

/** alertRules of GET /api/v1/usage is alert_rules of GET /api/v1/billing. */
export const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A resource or limit of GET /api/v1/usage as people call it. */
export function resourceTitle(name)
{
	const known = { ingest: 'Events of today', aiCredits: 'AI credits', aiCreditsPerMonth: 'AI credits' };
	return known[name] ?? limits.find(([key]) => key === snake(name))?.[1] ?? snake(name).replaceAll('_', ' ');
}
