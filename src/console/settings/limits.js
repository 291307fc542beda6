/*
 * limits.js: how much of a limit of the plan is used, and who can change it.
 */
import { html } from '../view.js';
import { api } from '../api.js';
import { can, organization, orgPath } from '../session.js';
import { Meter } from '../ui/charts.js';
import { formatNumber } from '../ui/numbers.js';
import { useLoad } from '../ui/use-load.js';

/** What GET /api/v1/usage says, for those who may ask; see useLoad. */
export function useUsage(deps = [])
{
	return useLoad((abort) => (can('logs:read') ? api.get('/api/v1/usage', { abort }).then((answer) => answer.data) : Promise.resolve(null)), deps);
}

/** Who can change what a plan allows, as a sentence. */
export const whoChanges = () => (can('billing:manage') ? 'You can change the plan under Billing.' : 'An owner can change the plan.');

/** Why there can be no more of a resource, or undefined. resource: {used, limit} of the usage; what: 'API keys'. */
export function fullReason(resource, what)
{
	return resource && resource.limit !== null && resource.used >= resource.limit
		? `${formatNumber(resource.used)} of ${formatNumber(resource.limit)} ${what} of plan ${organization.value?.plan} are used. ${whoChanges()}` : undefined;
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
