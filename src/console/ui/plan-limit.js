/*
 * plan-limit.js: how many of something the plan allows, and how many there are.
 */
import { api } from '../api.js';
import { can, organization } from '../session.js';
import { formatNumber } from './numbers.js';
import { useLoad } from './use-load.js';

/**
 * usePlanLimit('alertRules', 'alert rules'): {used, limit, reason, text, reload}; reason: why one more is not possible, with
 * the number and who can change it. limit null: unlimited. Those who may not read the usage learn it from the service.
 */
export function usePlanLimit(resource, words)
{
	const usage = useLoad(async (abort) => (can('logs:read') ? (await api.get('/api/v1/usage', { abort })).data.resources[resource] ?? null : null), [resource]);
	const { used, limit } = usage.data ?? {};
	const plan = organization.value?.plan;
	const who = can('billing:manage') ? 'You can change the plan.' : 'An owner can change the plan.';
	return {
		used, limit, reload: usage.reload,
		reason: typeof limit === 'number' && used >= limit
			? `${limit === 0 ? `Plan ${plan} has no ${words}.` : `Plan ${plan} allows ${formatNumber(limit)} ${words}, and all are in use.`} ${who}` : undefined,
		text: typeof limit === 'number' ? `${formatNumber(used)} of ${formatNumber(limit)} ${words}` : '',
	};
}
