/*
 * plan-limit.js: how many of something the plan allows, how many there are, and who can change it.
 */
import { html } from '../view.js';
import { api } from '../api.js';
import { can, organization, orgPath } from '../session.js';
import { Meter } from './charts.js';
import { formatNumber } from './numbers.js';
import { useLoad } from './use-load.js';

/** What GET /api/v1/usage says, for those who may ask; see useLoad. The others learn of limits from the service. */
export function useUsage(deps = [])
{
	return useLoad((abort) => (can('logs:read') ? api.get('/api/v1/usage', { abort }).then((answer) => answer.data) : Promise.resolve(null)), deps);
}

/** Who can change what a plan allows, as a sentence. */
export const whoChanges = () => (can('billing:manage') ? 'You can change the plan under Billing.' : 'An owner can change the plan.');

/** Why there can be no more of a resource, or undefined. resource: {used, limit} of the usage; what: 'API keys'. */
export function fullReason(resource, what)
{
	if (!resource || resource.limit === null || resource.used < resource.limit)
		return undefined;
	const plan = organization.value?.plan;
	return `${resource.limit === 0 ? `Plan ${plan} has no ${what}.` : `${formatNumber(resource.used)} of ${formatNumber(resource.limit)} ${what} of plan ${plan} are used.`} ${whoChanges()}`;
}

/** usePlanLimit('alertRules', 'alert rules'): {reason, text, reload}; reason: see fullReason; text: '3 of 20 alert rules'. */
export function usePlanLimit(name, what)
{
	const usage = useUsage([name]);
	const resource = usage.data?.resources[name];
	return {
		reload: usage.reload, reason: fullReason(resource, what),
		text: typeof resource?.limit === 'number' ? `${formatNumber(resource.used)} of ${formatNumber(resource.limit)} ${what}` : '',
	};
}

/** "3 of 20 API keys" with a meter; who can change the limit when it is reached. */
export function LimitLine({ resource, what })
{
	if (!resource)
		return null;
	const text = resource.limit === null ? `${formatNumber(resource.used)} ${what}, no limit` : `${formatNumber(resource.used)} of ${formatNumber(resource.limit)} ${what}`;
	const full = fullReason(resource, what);
	return html`<div class="limit-line small"><span class="muted">${text}</span>
		${resource.limit !== null && html`<${Meter} value=${resource.used} limit=${resource.limit} label=${text} />`}
		${full && html`<span>${can('billing:manage') ? html`<a href=${orgPath('/settings/billing')}>Change the plan</a>` : whoChanges()}</span>`}</div>`;
}
