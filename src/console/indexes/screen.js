/*
 * screen.js: the indexes of the organization: size, age, retention.
 */
import { html } from '../view.js';
import { allRows, api } from '../api.js';
import { can, organization } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { confirm } from '../ui/confirm.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Menu } from '../ui/menu.js';
import { formatBytes, formatNumber, formatShort } from '../ui/numbers.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { RelativeTime } from '../ui/time.js';
import { toast } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { useKeys } from '../shell/keys.js';
import { LimitLine, fullReason, useUsage } from '../ui/plan-limit.js';
import { askIndex } from './index-dialog.js';
import { consequence } from './retention.js';

const hidden = html`<span class="faint" title="Only those who may read the audit log see this">-</span>`;

/** The list of indexes with their retention, and dialogs to change them; for this screen and that of the organization. */
export function IndexTable({ list, defaultDays, onChanged, brief })
{
	async function edit(index)
	{
		const changed = await askIndex({ index, defaultDays });
		if (changed) {
			list.set((rows) => rows.map((one) => (one.name === changed.name ? changed : one)));
			toast(`Index ${changed.name} is changed.`);
			onChanged?.();
		}
	}
	async function remove(index)
	{
		const done = await confirm({ title: 'Delete this index?', danger: true, action: 'Delete index', name: index.name,
			text: html`<p>Its ${formatNumber(index.events)} events are deleted within minutes, for good. Events that name it are refused.</p>`,
			run: () => api.delete(`/api/v1/indexes/${encodeURIComponent(index.name)}`) });
		if (done) {
			list.reload();
			toast(`Index ${index.name} is deleted.`);
			onChanged?.();
		}
	}
	const columns = [
		{ key: 'name', title: 'Name', class: 'break', render: (row) => html`<div class="row"><code class="strong">${row.name}</code>${row.name.startsWith('_') && html`<${Badge}>of the service<//>`}</div>
			${row.description && html`<bdi class="small muted">${row.description}</bdi>`}` },
		{ key: 'retention', title: 'Retention', align: 'end', render: (row) => (row.retentionDays === null ? 'for ever' : row.retentionDays === 1 ? '1 day' : `${formatNumber(row.retentionDays)} days`) },
		{ key: 'size', title: 'On disk', align: 'end', render: (row) => (row.sizeBytes === null ? hidden : formatBytes(row.sizeBytes)) },
		!brief && { key: 'events', title: 'Events', align: 'end', render: (row) => (row.events === null ? hidden : html`<span title=${formatNumber(row.events)}>${formatShort(row.events)}</span>`) },
		{ key: 'growth', title: 'Grows by', align: 'end', render: (row) => {
			const { perDay } = consequence(row, row.retentionDays ?? 1);
			return perDay === null ? html`<span class="faint">-</span>` : `${formatBytes(perDay)} a day`;
		} },
		{ key: 'oldest', title: 'Oldest', render: (row) => (row.sizeBytes === null ? hidden : html`<${RelativeTime} value=${row.oldest} none="no events" />`) },
		!brief && { key: 'newest', title: 'Newest', render: (row) => (row.sizeBytes === null ? hidden : html`<${RelativeTime} value=${row.newest} none="no events" />`) },
		!brief && { key: 'json', title: 'JSON', render: (row) => (row.parseJson ? 'taken apart' : html`<span class="faint">kept as text</span>`) },
		can('org:manage') && { key: 'actions', title: 'Actions', hideTitle: true, align: 'end', render: (row) => !row.name.startsWith('_')
			&& html`<${Menu} icon="more" size="small" label=${`Actions for ${row.name}`} items=${[
				{ label: 'Change', icon: 'edit', onSelect: () => edit(row) },
				{ label: 'Delete', icon: 'trash', danger: true, reason: row.protected ? 'The default index stays.' : undefined, onSelect: () => remove(row) },
			]} />` },
	].filter(Boolean);
	return html`<${Table} caption="Indexes" rowKey=${(row) => row.name} rows=${list.data} columns=${columns} />`;
}

/** What the tables need: the indexes as useLoad has them. */
export const useIndexes = () => useLoad((abort) => allRows('/api/v1/indexes', { abort }).then((answer) => answer.rows));

export default function Indexes()
{
	const list = useIndexes();
	const usage = useUsage();
	const settings = useLoad((abort) => api.get(`/api/v1/organizations/${organization.value.id}`, { abort }).then((answer) => answer.data));
	const full = fullReason(usage.data?.resources.indexes, 'indexes');
	async function create()
	{
		const made = await askIndex({ defaultDays: settings.data?.retentionDays });
		if (made) {
			list.reload();
			usage.reload();
			toast(`Index ${made.name} is there.`);
		}
	}
	useKeys([can('org:manage') && { keys: 'c', text: 'New index', run: () => !full && create() }].filter(Boolean));
	return html`<div class="page"><header class="page-head"><div><h1>Indexes</h1><p>Each index keeps its events for a time of its own. A search looks into all of them except those whose names begin with <code>_</code>, unless it names some: <code>index=web</code>.</p></div>
			${can('org:manage') && html`<${Button} kind="primary" icon="plus" onClick=${create} reason=${full}>New index<//>`}</header>
		<${LimitLine} resource=${usage.data?.resources.indexes} what="indexes" />
		<${ErrorNotice} error=${list.error} retry=${list.reload} />
		${list.slow && html`<${Skeleton} />`}
		${list.data && html`<${IndexTable} list=${list} defaultDays=${settings.data?.retentionDays} onChanged=${usage.reload} />`}</div>`;
}
