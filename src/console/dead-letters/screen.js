/*
 * screen.js: events that were accepted and could not be stored, by reason: look at them, send them again, give them up.
 */
import { html, useEffect, useState } from '../view.js';
import { allRows, api, isAbort } from '../api.js';
import { query, setQuery } from '../router.js';
import { can, orgPath } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Button, LinkButton } from '../ui/button.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { formatNumber } from '../ui/numbers.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { Tabs } from '../ui/tabs.js';
import { RelativeTime } from '../ui/time.js';
import { toast, toastError } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { discard } from './discard.js';
import { Letter } from './letter.js';
import { reasonTexts } from './reasons.js';

const most = 1000;
const count = (rows) => rows.reduce((all, one) => all + one.events, 0);
const events = (number) => `${formatNumber(number)} ${number === 1 ? 'event' : 'events'}`;

function Group({ reason, rows, more, busy, onReplay, onDiscard })
{
	const { title, text } = reasonTexts[reason] ?? { title: reason, text: '' };
	const dead = rows.filter((one) => one.status === 'dead');
	const returning = rows.filter((one) => one.status === 'replaying');
	return html`<section class="card stack-s" aria-label=${title}><div class="row-between"><h2>${title}</h2><span class="muted number">${events(count(rows))}${more ? ' or more' : ''}</span></div>
		<p class="muted">${text}</p>
		${returning.length > 0 && html`<p role="status"><${Badge} kind="accent" dot>on their way back<//> ${events(count(returning))} are put into the queue again.</p>`}
		${dead.length > 0 && html`<div class="row"><${Button} size="small" icon="refresh" busy=${busy} reason=${returning.length ? 'The last ones are still on their way back' : undefined}
				onClick=${() => onReplay({ filter: { reason } }, count(dead))}>Replay all<//>
			${can('logs:export') && html`<${Button} size="small" icon="trash" onClick=${() => onDiscard({ filter: { reason } }, `all ${events(count(dead))}${more ? ' and more' : ''} of "${title}"`)}>Discard all<//>`}</div>`}
	</section>`;
}

export default function DeadLetters()
{
	const params = query.value;
	const status = ['replayed', 'discarded'].includes(params.get('status')) ? params.get('status') : 'waiting';
	const list = useLoad((abort) => allRows('/api/v1/dead-letters', { query: { status: status === 'waiting' ? null : status }, abort, most }), [status]);
	const [busy, setBusy] = useState(false);
	const rows = list.data?.rows ?? [];
	const returning = rows.some((one) => one.status === 'replaying');
	useEffect(() => {
		if (!returning)
			return undefined;
		const timer = setInterval(() => { if (document.visibilityState === 'visible') list.reload(); }, 2000);
		return () => clearInterval(timer);
	}, [returning]);

	async function replay(which, number)
	{
		setBusy(true);
		try {
			const { data } = await api.post('/api/v1/dead-letters/replay', which);
			toast(`${events(data.events ?? number)} are on their way back.`);
			setQuery({ letter: null });
		} catch (error) {
			if (!isAbort(error))
				toastError(error);
		}
		setBusy(false);
		list.reload();
	}
	async function give(which, what)
	{
		const done = await discard(which, what);
		if (done) {
			toast(`${events(done.events)} are discarded.`);
			setQuery({ letter: null });
			list.reload();
		}
	}
	const reasons = [...new Set(rows.map((one) => one.reason))];
	const open = rows.find((one) => one.id === params.get('letter'));
	const empty = {
		waiting: html`<${EmptyState} icon="check" title="No dead letters" action=${html`<${LinkButton} href=${orgPath('/usage')}>See what was sent<//>`}>Everything that was accepted is stored.<//>`,
		replayed: html`<${EmptyState} icon="list" title="None was replayed" action=${html`<${Button} onClick=${() => setQuery({ status: null })}>Show those that wait<//>`}>They are listed here for 30 days.<//>`,
		discarded: html`<${EmptyState} icon="list" title="None was discarded" action=${html`<${Button} onClick=${() => setQuery({ status: null })}>Show those that wait<//>`}>They are listed here for 30 days.<//>`,
	};
	return html`<div class="page"><header class="page-head"><div><h1>Dead letters</h1><p>Events that were accepted and could not be stored. Nothing is lost before somebody discards it.</p></div></header>
		<${Tabs} label="Dead letters" selected=${status} onSelect=${(id) => setQuery({ status: id === 'waiting' ? null : id, letter: null })}
			tabs=${[{ id: 'waiting', label: 'Waiting' }, { id: 'replayed', label: 'Replayed' }, { id: 'discarded', label: 'Discarded' }]}>
			<div class="stack">
				<${ErrorNotice} error=${list.error} retry=${list.reload} />
				${list.slow && html`<${Skeleton} />`}
				${status === 'waiting' && reasons.map((reason) => html`<${Group} key=${reason} reason=${reason} rows=${rows.filter((one) => one.reason === reason)} more=${list.data.more} busy=${busy} onReplay=${replay} onDiscard=${give} />`)}
				${list.data && html`<${Table} caption="Dead letters" rows=${rows} empty=${empty[status]} selected=${open?.id} onRow=${(row) => setQuery({ letter: row.id })} columns=${[
					{ key: 'event', title: 'Event', class: 'break', render: (row) => html`<button type="button" class="link-button" onClick=${() => setQuery({ letter: row.id })}><bdi>${row.event ? String(row.event.event ?? '').slice(0, 160) : 'cannot be shown'}</bdi></button>` },
					{ key: 'events', title: 'Events', align: 'end', render: (row) => formatNumber(row.events) },
					{ key: 'reason', title: 'Reason', render: (row) => reasonTexts[row.reason]?.title ?? row.reason },
					{ key: 'attempts', title: 'Attempts', align: 'end' },
					{ key: 'firstFailedAt', title: 'First failure', render: (row) => html`<${RelativeTime} value=${row.firstFailedAt} />` },
					{ key: 'status', title: 'State', render: (row) => (row.closedAt ? html`${row.status} <${RelativeTime} value=${row.closedAt} />` : html`<${Badge} kind=${row.status === 'replaying' ? 'accent' : 'neutral'} dot>${row.status === 'replaying' ? 'on its way back' : 'waiting'}<//>`) },
				]} />`}
				${list.data?.more && html`<p class="small muted">The newest ${formatNumber(most)}.</p>`}
			</div>
		<//>
		${open && html`<${Letter} letter=${open} onReplay=${() => replay({ ids: [open.id] }, open.events)} onDiscard=${() => give({ ids: [open.id] }, events(open.events))} onClose=${() => setQuery({ letter: null })} />`}
	</div>`;
}
