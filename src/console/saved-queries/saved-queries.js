/*
 * saved-queries.js: the saved queries of the organization, by folder.
 */
import { html } from '../view.js';
import { allRows, api } from '../api.js';
import { navigate, query, setQuery } from '../router.js';
import { screens } from '../screens.js';
import { can, orgPath, session } from '../session.js';
import { useKeys } from '../shell/keys.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { confirm } from '../ui/confirm.js';
import { copyText } from '../ui/copy-button.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field } from '../ui/field.js';
import { Menu } from '../ui/menu.js';
import { Person } from '../ui/people.js';
import { usePlanLimit } from '../ui/plan-limit.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { RelativeTime } from '../ui/time.js';
import { toast } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { editSavedQuery } from './saved-query-dialog.js';

/** The screen of searches with a saved query, when there is one. */
function searchPath(one)
{
	return screens.some((screen) => screen.path === '/search')
		? orgPath(`/search?${new URLSearchParams({ q: one.q, ...(one.defaultRange && { earliest: one.defaultRange.earliest, latest: one.defaultRange.latest ?? 'now' }) })}`) : null;
}

function Folders({ rows, folder })
{
	const counts = new Map();
	for (const one of rows)
		counts.set(one.folder ?? '', (counts.get(one.folder ?? '') ?? 0) + 1);
	if (counts.size < 2)
		return null;
	const names = [...counts.keys()].sort((a, b) => (a === '') - (b === '') || a.localeCompare(b));
	return html`<div class="chips" role="group" aria-label="Folder"><button type="button" class="chip chip-button" aria-pressed=${folder === null ? 'true' : 'false'} onClick=${() => setQuery({ folder: null })}>All <span class="tab-count">${rows.length}</span></button>
		${names.map((name) => html`<button type="button" key=${name} class="chip chip-button" aria-pressed=${folder === (name || '-') ? 'true' : 'false'} onClick=${() => setQuery({ folder: name || '-' })}
			><span class="truncate">${name || 'No folder'}</span> <span class="tab-count">${counts.get(name)}</span></button>`)}</div>`;
}

export default function SavedQueries()
{
	const list = useLoad((abort) => allRows('/api/v1/saved-queries', { abort }));
	const limit = usePlanLimit('savedQueries', 'saved queries');
	const all = list.data?.rows ?? [];
	const folder = query.value.get('folder');
	const text = query.value.get('name') ?? '';
	const rows = all.filter((one) => (folder === null || (one.folder ?? '-') === folder) && `${one.name} ${one.q} ${one.description ?? ''}`.toLowerCase().includes(text.toLowerCase()));
	const folders = [...new Set(all.map((one) => one.folder).filter(Boolean))];
	const write = can('dashboards:write');
	const reload = () => { list.reload(); limit.reload(); };
	async function edit(options)
	{
		const saved = await editSavedQuery({ folders, ...options });
		if (saved) {
			toast(`${saved.name} is saved.`);
			reload();
		}
	}
	async function remove(one)
	{
		const gone = await confirm({ title: 'Delete this saved query?', danger: true, action: 'Delete query', name: one.name, text: 'What names it keeps it from being deleted: the error then says what.',
			run: () => api.delete(`/api/v1/saved-queries/${one.id}`, { headers: { 'If-Match': `"${one.version}"` } }) });
		if (gone) {
			toast(`${one.name} is deleted.`);
			reload();
		}
	}
	const make = () => edit({ start: { folder: folder && folder !== '-' ? folder : null } });
	useKeys(write ? [{ keys: 'n', text: 'New saved query', run: () => !limit.reason && make() }] : []);
	const button = write && html`<${Button} kind="primary" icon="plus" reason=${limit.reason} onClick=${make}>New saved query<//>`;
	return html`<div class="page"><header class="page-head"><div><h1>Saved queries</h1><p>Searches with a name, for alert rules, dashboards and exports too. ${limit.text && `${limit.text}.`}</p></div>${all.length > 0 && button}</header>
		<${ErrorNotice} error=${list.error} retry=${list.reload} />${list.slow && html`<${Skeleton} lines="6" />`}
		${all.length > 0 && html`<div class="row-between"><${Folders} rows=${all} folder=${folder} /><div class="filter-field"><${Field} label="Filter by name or query" hideLabel type="search" placeholder="Filter" value=${text} onInput=${(name) => setQuery({ name })} /></div></div>`}
		${list.data && html`<${Table} caption="Saved queries" rows=${rows}
			empty=${all.length ? html`<${EmptyState} icon="filter" title="No saved query is like that" action=${html`<${Button} onClick=${() => setQuery({ folder: null, name: null })}>Show all<//>`} />`
				: html`<${EmptyState} icon="save" title="No saved query yet" action=${button || null}><p>Save what you look for again and again.</p><//>`} columns=${[
			{ key: 'name', title: 'Name', class: 'rule-name', render: (row) => {
				const search = searchPath(row);
				return html`${search ? html`<a class="break" href=${search}>${row.name}</a>` : html`<strong class="break">${row.name}</strong>`}<code class="small muted truncate-2">${row.q.slice(0, 500)}</code>
					${row.description && html`<span class="small muted break">${row.description}</span>`}`;
			} },
			{ key: 'folder', title: 'Folder', class: 'break', render: (row) => row.folder ?? html`<span class="faint">-</span>` },
			{ key: 'visibility', title: 'Seen by', render: (row) => (row.visibility === 'private' ? html`<${Badge}>only me<//>` : 'everybody') },
			{ key: 'createdBy', title: 'Author', render: (row) => html`<${Person} id=${row.createdBy} />` },
			{ key: 'updatedAt', title: 'Changed', render: (row) => html`<${RelativeTime} value=${row.updatedAt} />` },
			{ key: 'actions', title: 'Actions', hideTitle: true, align: 'end', render: (row) => html`<${Menu} icon="more" size="small" label=${`Actions of ${row.name}`} items=${[
				searchPath(row) && { label: 'Search', icon: 'search', href: searchPath(row) },
				write && { label: 'Change', icon: 'edit', onSelect: () => edit({ stored: row }) },
				write && { label: 'Duplicate', icon: 'copy', reason: limit.reason, onSelect: () => edit({ start: { ...row, name: `${row.name} (copy)`.slice(0, 200) } }) },
				{ label: 'Copy query', icon: 'copy', onSelect: () => copyText(row.q).then((done) => done && toast('Query copied.')) },
				can('alerts:write') && { label: 'Make an alert rule', icon: 'bell', onSelect: () => navigate(orgPath(`/alert-rules/new?q=${encodeURIComponent(row.q)}`)) },
				can('logs:export') && { label: 'Export', icon: 'download', onSelect: () => navigate(orgPath(`/exports?export=now&q=${encodeURIComponent(row.q)}`)) },
				(can('dashboards:delete') || (write && row.createdBy === session.value?.user.id)) && { separator: true },
				(can('dashboards:delete') || (write && row.createdBy === session.value?.user.id)) && { label: 'Delete', icon: 'trash', danger: true, onSelect: () => remove(row) },
			]} />` },
		]} />`}</div>`;
}
