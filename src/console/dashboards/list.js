/*
 * list.js: the dashboards of the organization.
 */
import { html } from '../view.js';
import { allRows, api } from '../api.js';
import { navigate, query, setQuery } from '../router.js';
import { can } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { openDialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field } from '../ui/field.js';
import { Menu } from '../ui/menu.js';
import { fullReason, useUsage } from '../ui/plan-limit.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { RelativeTime } from '../ui/time.js';
import { toast, toastError } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { deleteDashboard, exportDashboard } from './actions.js';
import { FromTemplate, ImportDashboard, NewDashboard, pathOf } from './dialogs.js';
import { addPaletteSource } from '../shell/palette-sources.js';

addPaletteSource(async (abort) => (can('dashboards:read') ? (await api.get('/api/v1/dashboards', { abort, query: { limit: 100 } })).data : [])
	.map((one) => ({ label: one.name, group: 'Dashboard', icon: 'grid', run: () => navigate(pathOf(one)) })));

const shared = { private: ['neutral', 'only you'], org: ['neutral', 'organization'], link: ['warn', 'link'] };

async function make(Form, edit)
{
	const made = await openDialog((close) => html`<${Form} close=${close} />`);
	if (made)
		navigate(pathOf(made, edit ? '?edit=1' : ''));
}

function NewButton({ reason })
{
	if (reason)
		return html`<${Button} kind="primary" icon="plus" reason=${reason}>New dashboard<//>`;
	return html`<${Menu} label="New dashboard" kind="primary" items=${[
		{ label: 'Empty', icon: 'plus', onSelect: () => make(NewDashboard, true) },
		can('logs:read') && { label: 'From a template', icon: 'grid', hint: 'for the events that there are', onSelect: () => make(FromTemplate) },
		{ label: 'From a file', icon: 'download', onSelect: () => make(ImportDashboard) },
	]} />`;
}

/** The screen. */
export default function Dashboards()
{
	const list = useLoad((abort) => allRows('/api/v1/dashboards', { abort }));
	const usage = useUsage([list.data]);
	const find = query.value.get('find') ?? '';
	const tag = query.value.get('tag');
	const rows = (list.data?.rows ?? []).filter((one) => (!tag || one.tags?.includes(tag)) && `${one.name} ${one.description ?? ''} ${(one.tags ?? []).join(' ')}`.toLowerCase().includes(find.toLowerCase()));
	const reason = fullReason(usage.data?.resources.dashboards, 'dashboards');
	const write = can('dashboards:write');
	async function remove(one)
	{
		if (await deleteDashboard(one)) {
			toast(`${one.name} was deleted`);
			list.reload();
		}
	}
	return html`<div class="page"><header class="page-head"><div><h1>Dashboards</h1><p>Searches side by side, over one time.</p></div>${write && html`<${NewButton} reason=${reason} />`}</header>
		<${ErrorNotice} error=${list.error} retry=${list.reload} />
		${list.slow && html`<${Skeleton} />`}
		${list.data && (list.data.rows.length === 0 ? html`<${EmptyState} icon="grid" title="No dashboards yet" action=${write && can('logs:read')
			&& html`<${Button} kind="primary" reason=${reason} onClick=${() => make(FromTemplate)}>Make one from a template<//>`}>
			<p>${write ? 'A template looks at your events and makes panels of what it finds.' : 'Members who may change dashboards make them.'}</p><//>` : html`
		<div class="row"><div class="grow list-find"><${Field} label="Find" hideLabel type="search" placeholder="Find by name, text or tag" value=${find} onInput=${(text) => setQuery({ find: text })} /></div>
			${tag && html`<button type="button" class="tag-chip" aria-label=${`Show dashboards without tag ${tag} too`} onClick=${() => setQuery({ tag: null })}>tag ${tag} ×</button>`}</div>
		<${Table} caption="Dashboards" rows=${rows} onRow=${(one) => navigate(pathOf(one))} empty=${html`<${EmptyState} icon="search" title="None is like that" action=${html`<${Button} onClick=${() => setQuery({ find: null, tag: null })}>Show all<//>`} />`} columns=${[
			{ key: 'name', title: 'Name', class: 'break', render: (one) => html`<a href=${pathOf(one)}><bdi>${one.name}</bdi></a>${one.description && html`<div class="small muted">${one.description.slice(0, 200)}</div>`}` },
			{ key: 'tags', title: 'Tags', render: (one) => html`<span class="row">${(one.tags ?? []).map((name) => html`<button key=${name} type="button" class="tag-chip" onClick=${() => setQuery({ tag: name })}>${name}</button>`)}</span>` },
			{ key: 'panels', title: 'Panels', align: 'end', render: (one) => one.panelCount },
			{ key: 'shared', title: 'Seen by', render: (one) => html`<${Badge} kind=${shared[one.shared?.kind]?.[0]}>${shared[one.shared?.kind]?.[1] ?? 'organization'}<//>` },
			{ key: 'updated', title: 'Changed', render: (one) => html`<${RelativeTime} value=${one.updatedAt} />` },
			{ key: 'menu', title: 'Actions', hideTitle: true, align: 'end', render: (one) => html`<${Menu} label=${`Actions of ${one.name}`} icon="more" size="small" items=${[
				write && { label: 'Edit', icon: 'edit', href: pathOf(one, '?edit=1') },
				{ label: 'Export', icon: 'download', onSelect: () => exportDashboard(one).catch(toastError) },
				can('dashboards:delete') && { separator: true }, can('dashboards:delete') && { label: 'Delete', icon: 'trash', danger: true, onSelect: () => remove(one) }]} />` },
		]} />`)}</div>`;
}
