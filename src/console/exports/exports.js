/*
 * exports.js: exports now and by a schedule.
 */
import { html, useEffect } from '../view.js';
import { allRows } from '../api.js';
import { navigate, query, setQuery } from '../router.js';
import { orgPath } from '../session.js';
import { useKeys } from '../shell/keys.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Menu } from '../ui/menu.js';
import { usePlanLimit } from '../ui/plan-limit.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { RelativeTime } from '../ui/time.js';
import { useLoad } from '../ui/use-load.js';
import { useRefresh } from '../ui/use-refresh.js';
import { deliveryWords } from './delivery.js';
import { deleteExport, enableExport } from './export-actions.js';
import { openExport } from './export-dialog.js';
import { RunStatus } from './runs.js';
import { scheduleWords } from './schedule.js';

export default function Exports()
{
	const list = useLoad((abort) => allRows('/api/v1/scheduled-exports', { abort }));
	const limit = usePlanLimit('scheduledExports', 'scheduled exports');
	useRefresh(list.reload, 15);
	const rows = list.data?.rows ?? [];
	// A link from a search opens the dialog with it: ?export=now&q=...
	const asked = query.value.get('export') === 'now';
	useEffect(() => {
		if (!asked)
			return;
		const start = Object.fromEntries(['q', 'earliest', 'latest', 'format', 'fields'].map((name) => [name, query.value.get(name)]).filter(([, value]) => value !== null));
		openExport(start).then(() => setQuery({ export: null, q: null, earliest: null, latest: null, format: null, fields: null }));
	}, [asked]);
	const make = () => navigate(orgPath('/exports/new'));
	const now = () => setQuery({ export: 'now' });
	useKeys([{ keys: 'e', text: 'Export now', run: now }, { keys: 'n', text: 'New scheduled export', run: () => !limit.reason && make() }]);
	const button = html`<${Button} icon="plus" reason=${limit.reason} onClick=${make}>New scheduled export<//>`;
	return html`<div class="page"><header class="page-head"><div><h1>Exports</h1><p>Searches as files: now, or by a schedule. ${limit.text && `${limit.text}.`}</p></div>
			<div class="row">${rows.length > 0 && button}<${Button} kind="primary" icon="download" onClick=${now}>Export now<//></div></header>
		<${ErrorNotice} error=${list.error} retry=${list.reload} />${list.slow && html`<${Skeleton} lines="6" />`}
		${list.data && html`<${Table} caption="Scheduled exports" rows=${rows} onRow=${(row) => navigate(orgPath(`/exports/${row.id}`))}
			empty=${html`<${EmptyState} icon="download" title="No scheduled export" action=${button}><p>A search that runs every night, say, and puts its rows into a file, a mail, a webhook or a bucket.</p><//>`} columns=${[
			{ key: 'name', title: 'Export', class: 'rule-name', render: (row) => html`<a class="break" href=${orgPath(`/exports/${row.id}`)}>${row.name}</a><span class="small muted break">${scheduleWords(row.cron)}</span>` },
			{ key: 'delivery', title: 'Goes to', class: 'break', render: (row) => deliveryWords(row.delivery) },
			{ key: 'format', title: 'Format' },
			{ key: 'next', title: 'Next run', render: (row) => (row.enabled ? html`<${RelativeTime} value=${row.nextRunAt} none="-" />` : html`<${Badge}>disabled<//>`) },
			{ key: 'last', title: 'Last run', render: (row) => (row.lastRun ? html`<span class="row"><${RunStatus} run=${row.lastRun} /><${RelativeTime} value=${row.lastRun.finishedAt ?? row.lastRun.createdAt} /></span>` : html`<span class="faint">none</span>`) },
			{ key: 'actions', title: 'Actions', hideTitle: true, align: 'end', render: (row) => html`<${Menu} icon="more" size="small" label=${`Actions of ${row.name}`} items=${[
				{ label: 'Runs', icon: 'clock', href: orgPath(`/exports/${row.id}`) }, { label: 'Settings', icon: 'edit', href: orgPath(`/exports/${row.id}?tab=edit`) },
				{ label: row.enabled ? 'Disable' : 'Enable', icon: row.enabled ? 'stop' : 'play', onSelect: () => enableExport(row, !row.enabled, list.reload) },
				{ separator: true }, { label: 'Delete', icon: 'trash', danger: true, onSelect: async () => { if (await deleteExport(row)) { list.reload(); limit.reload(); } } }]} />` },
		]} />`}</div>`;
}
