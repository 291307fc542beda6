/*
 * scopes.js: what a personal access token may be allowed to do, in groups.
 */
import { can, organization } from '../session.js';

/** Groups of scopes as people look for them: {title, scopes: [[scope, text]]}. alerts:read is not among them: no route asks for it. */
export const scopeGroups = [
	{ title: 'Events', scopes: [['logs:read', 'Search and read events, alerts, indexes and usage'], ['logs:write', 'Send events'],
		['logs:export', 'Export and delete events']] },
	{ title: 'Evaluations', scopes: [['evaluations:run', 'Run evaluations, which cost AI credits']] },
	{ title: 'Dashboards', scopes: [['dashboards:read', 'Read dashboards, saved queries, services and KPIs'], ['dashboards:write', 'Change them']] },
	{ title: 'Alerts', scopes: [['alerts:write', 'Change alert rules, acknowledge and resolve alerts']] },
	{ title: 'Pipelines', scopes: [['pipelines:read', 'Read pipelines and lookup tables'], ['pipelines:write', 'Change them, and replay dead letters']] },
	{ title: 'Administration', scopes: [['members:read', 'List members and invitations'], ['members:write', 'Invite and remove members, change roles'],
		['keys:write', 'Create and revoke API keys'], ['org:write', 'Change settings, indexes and the IP allow-list'], ['audit:read', 'Read the audit log']] },
];

/**
 * Why a scope cannot be chosen, or undefined. permissions: those of GET /roles, which name the scope that each needs; a
 * scope counts when one of its permissions is the user's.
 */
export function scopeReason(scope, permissions)
{
	const needed = permissions.filter((one) => one.tokenScope === scope);
	return !needed.length || needed.some((one) => can(one.permission)) ? undefined
		: `Your role, ${organization.value?.role}, does not allow this.`;
}
