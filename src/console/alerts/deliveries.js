/*
 * deliveries.js: what was sent for a rule, to whom, and what came back.
 */
import { html, useState } from '../view.js';
import { api } from '../api.js';
import { Button } from '../ui/button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { toastError } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { DeliveryState } from './channels.js';

/** A page of the deliveries of a rule. */
export const readDeliveries = (id, { abort, cursor } = {}) => api.get(`/api/v1/alert-rules/${id}/deliveries`, { query: { limit: 50, cursor }, abort });

function Answer({ close, row })
{
	return html`<${Dialog} title="Delivery" onClose=${() => close()}><dl class="facts">
		<dt>Sent to</dt><dd class="break">${row.target}</dd><dt>What</dt><dd><code>${row.type}</code></dd>
		<dt>State</dt><dd><${DeliveryState} row=${row} /></dd><dt>Tries</dt><dd>${row.attempts}</dd>
		<dt>Began</dt><dd><${Time} value=${row.createdAt} /></dd>${row.finishedAt && html`<dt>Ended</dt><dd><${Time} value=${row.finishedAt} /></dd>`}
		${row.nextAttemptAt && html`<dt>Next try</dt><dd><${Time} value=${row.nextAttemptAt} /></dd>`}
		${row.error && html`<dt>Error</dt><dd class="break">${row.error}</dd>`}<dt>Id</dt><dd><code class="break">${row.id}</code></dd></dl>
		${row.answer && html`<div class="stack-s"><h3>Answer, its first kilobyte</h3><pre class="answer-box break" tabindex="0">${row.answer}</pre></div>`}<//>`;
}

/** The deliveries of a rule, the latest first. */
export function Deliveries({ id })
{
	const first = useLoad(async (abort) => {
		const answer = await readDeliveries(id, { abort });
		return { rows: answer.data, cursor: answer.page?.hasMore ? answer.page.nextCursor : null };
	}, [id]);
	const [busy, setBusy] = useState(false);
	async function more()
	{
		setBusy(true);
		try {
			const answer = await readDeliveries(id, { cursor: first.data.cursor });
			first.set((now) => ({ rows: [...now.rows, ...answer.data], cursor: answer.page?.hasMore ? answer.page.nextCursor : null }));
		} catch (error) {
			toastError(error);
		}
		setBusy(false);
	}
	return html`<div class="stack"><${ErrorNotice} error=${first.error} retry=${first.reload} />${first.slow && html`<${Skeleton} />`}
		${first.data && html`<${Table} caption="Deliveries" rows=${first.data.rows} more=${first.data.cursor} onMore=${more} busy=${busy}
			onRow=${(row) => openDialog((close) => html`<${Answer} close=${close} row=${row} />`)}
			empty=${html`<${EmptyState} icon="mail" title="Nothing was sent in the last 30 days" action=${html`<${Button} icon="refresh" onClick=${first.reload}>Look again<//>`} />`} columns=${[
			{ key: 'createdAt', title: 'Time', render: (row) => html`<${Time} value=${row.createdAt} />` },
			{ key: 'type', title: 'What', class: 'mono' },
			{ key: 'target', title: 'To', class: 'break' },
			{ key: 'state', title: 'State', render: (row) => html`<${DeliveryState} row=${row} />` },
			{ key: 'attempts', title: 'Tries', align: 'end' },
			{ key: 'error', title: 'Error', class: 'break', render: (row) => row.error && html`<span class="truncate-2">${row.error}</span>` },
			{ key: 'open', title: 'Details', hideTitle: true, align: 'end', render: (row) => html`<${Button} size="small" kind="ghost" onClick=${() => openDialog((close) => html`<${Answer} close=${close} row=${row} />`)}>Details<//>` },
		]} />`}</div>`;
}
