/*
 * pipelines.js: the pipelines in the order in which events meet them.
 */
import { html, useState } from '../view.js';
import { allRows, api } from '../api.js';
import { navigate } from '../router.js';
import { can, orgPath } from '../session.js';
import { useKeys } from '../shell/keys.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Icon } from '../ui/icon.js';
import { Menu } from '../ui/menu.js';
import { usePlanLimit } from '../ui/plan-limit.js';
import { Skeleton } from '../ui/skeleton.js';
import { Sortable, moved } from '../ui/sortable.js';
import { toast } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { useRefresh } from '../ui/use-refresh.js';
import { Counters } from './counters.js';
import { deletePipeline, enablePipeline } from './pipeline-actions.js';
import { typeOf } from './processor-types.js';

function Pipeline({ row, at, last, controls, onDone, onGone })
{
	const write = can('pipelines:manage');
	return html`<article class=${`card pipe-card ${row.enabled ? '' : 'is-off'}`} aria-label=${row.name}>
		<div class="pipe-card-head">${controls}<span class="pipe-place number muted">${at + 1}</span>
			<div class="grow stack-s"><div class="row"><a class="pipe-name break" href=${orgPath(`/pipelines/${row.id}`)}>${row.name}</a>${!row.enabled && html`<${Badge}>disabled<//>`}</div>
				<code class="small break">${row.match}</code></div>
			${write && html`<${Menu} icon="more" size="small" label=${`Actions of ${row.name}`} items=${[
				{ label: 'Open', icon: 'edit', href: orgPath(`/pipelines/${row.id}`) },
				{ label: row.enabled ? 'Disable' : 'Enable', icon: row.enabled ? 'stop' : 'play', onSelect: () => enablePipeline(row, !row.enabled, onDone) },
				{ separator: true }, { label: 'Delete', icon: 'trash', danger: true, onSelect: async () => { if (await deletePipeline(row)) onGone(); } }]} />`}</div>
		<div class="row">${row.processors.slice(0, 12).map((one, index) => html`<span key=${index} class=${`pipe-chip ${one.type === 'mask' ? 'is-mask' : ''}`}>${typeOf(one.type).label}</span>`)}
			${row.processors.length > 12 && html`<span class="small muted">and ${row.processors.length - 12} more</span>`}${!row.processors.length && html`<span class="small muted">no processor: its events stay as they are</span>`}</div>
		${row.stats && html`<${Counters} counts=${row.stats} />`}
		${(row.warnings ?? []).map((one) => html`<p key=${one.pipelineId + one.message} class="notice notice-warn small"><${Icon} name="shield" /><span class="break">${one.message.charAt(0).toUpperCase() + one.message.slice(1)}.</span></p>`)}
		${row.enabled && !last && html`<p class="pipe-flow small muted"><${Icon} name="down" />${row.continue ? 'its events go on to the next one that matches' : 'its events are done; others go on'}</p>`}
	</article>`;
}

export default function Pipelines()
{
	const list = useLoad((abort) => allRows('/api/v1/pipelines', { abort }));
	const limit = usePlanLimit('pipelines', 'pipelines');
	const [error, setError] = useState(null);
	const [busy, setBusy] = useState(false);
	useRefresh(() => !busy && list.reload(), 15);
	const write = can('pipelines:manage');
	const rows = list.data?.rows ?? [];
	async function order(next)
	{
		const before = rows.map((one) => one.id);
		list.set((now) => ({ ...now, rows: next }));
		setBusy(true);
		setError(null);
		const send = (ids) => api.post('/api/v1/pipelines/reorder', { ids });
		try {
			await send(next.map((one) => one.id));
			toast('Order changed. It acts on the next request.', { undo: async () => { await send(before); list.reload(); } });
		} catch (caught) {
			setError(caught);
		}
		setBusy(false);
		list.reload();
	}
	const make = () => navigate(orgPath('/pipelines/new'));
	useKeys(write ? [{ keys: 'n', text: 'New pipeline', run: () => !limit.reason && make() }] : []);
	const button = write && html`<${Button} kind="primary" icon="plus" reason=${limit.reason} onClick=${make}>New pipeline<//>`;
	return html`<div class="page"><header class="page-head"><div><h1>Pipelines</h1><p>What happens to events before they are stored. For each event the first one that matches is the only one that runs, unless it
			lets its events go on. ${limit.text && `${limit.text}.`}</p></div>${rows.length > 0 && button}</header>
		<${ErrorNotice} error=${list.error} retry=${list.reload} />
		<${ErrorNotice} error=${error} title=${error?.code === 'STALE_ORDER' ? 'The order has changed meanwhile: this is how it is now' : undefined} />
		${list.slow && html`<${Skeleton} lines="8" />`}
		${list.data && !rows.length && html`<${EmptyState} icon="flow" title="No pipeline yet" action=${button || null}><p>Events are stored as they come. A pipeline parses, masks, drops or routes them first; what it masks is never on disk.</p><//>`}
		${rows.length > 0 && html`<div class="pipe-list"><p class="pipe-end small muted"><${Icon} name="down" />events come in</p>
			<${Sortable} label="Pipelines, in their order" items=${rows} keyOf=${(row) => row.id} nameOf=${(row) => row.name} fixed=${!write || busy} onMove=${(from, to) => order(moved(rows, from, to))}
				render=${(row, at, controls) => html`<${Pipeline} row=${row} at=${at} last=${at === rows.length - 1} controls=${controls} onDone=${list.reload} onGone=${() => { list.reload(); limit.reload(); }} />`} />
			<p class="pipe-end small muted"><${Icon} name="database" />stored</p></div>`}
	</div>`;
}
