/*
 * roles.js: the roles in words, and what each may do, from GET /roles.
 */
import { html } from '../view.js';
import { Button } from '../ui/button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { Icon } from '../ui/icon.js';

/** Roles with a sentence each, the most powerful first. */
export const roleTexts = [
	{ value: 'owner', label: 'Owner', hint: 'Everything, also plan and deletion of the organization' },
	{ value: 'admin', label: 'Admin', hint: 'Members, keys, settings, audit log' },
	{ value: 'member', label: 'Member', hint: 'Searches, dashboards, alerts, pipelines, evaluations' },
	{ value: 'viewer', label: 'Viewer', hint: 'Reads events and dashboards' },
];

/** Owner, for owner. */
export const roleLabel = (role) => roleTexts.find((one) => one.value === role)?.label ?? role;

const texts = {
	'logs:read': 'Search and read events', 'logs:write': 'Send events', 'logs:export': 'Export and delete events',
	'dashboards:read': 'Read dashboards and saved queries', 'dashboards:write': 'Change them', 'dashboards:delete': 'Delete those of others',
	'alerts:write': 'Change alert rules, act on alerts', 'alerts:delete': 'Delete alert rules',
	'keys:manage': 'List and create API keys', 'keys:revoke': 'Revoke API keys',
	'roles:read': 'List members and roles', 'roles:manage': 'Manage roles', 'members:role': 'Change roles and caps of members', 'users:invite': 'Invite and remove members',
	'pipelines:read': 'Read pipelines', 'pipelines:manage': 'Change pipelines, replay dead letters',
	'org:manage': 'Settings, indexes, IP allow-list', 'billing:manage': 'Plan, deletion of the organization',
	'evaluations:run': 'Run evaluations', 'audit:read': 'Read the audit log',
};

/** Shows what each role may do; matrix: of GET /roles. */
export const showRoles = (matrix) => openDialog((close) => html`<${Dialog} title="What roles may do" size="large" onClose=${() => close()}
	footer=${html`<${Button} onClick=${() => close()}>Close<//>`}>
	<div class="table-scroll" tabindex="0" role="group" aria-label="What roles may do"><table class="table role-matrix">
		<caption class="visually-hidden">What roles may do</caption>
		<thead><tr><th scope="col">Permission</th>${matrix.roles.map((role) => html`<th key=${role} scope="col" class="mark">${roleLabel(role)}</th>`)}</tr></thead>
		<tbody>${matrix.permissions.map((one) => html`<tr key=${one.permission}><th scope="row">${texts[one.permission] ?? one.permission}<code class="small muted">${one.permission}</code></th>
			${matrix.roles.map((role) => html`<td key=${role} class="mark">${one[role] ? html`<${Icon} name="check" /><span class="visually-hidden">yes</span>` : html`<span class="visually-hidden">no</span>`}</td>`)}</tr>`)}</tbody>
	</table></div>
<//>`);
