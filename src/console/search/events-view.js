/*
 * events-view.js: the events that a search has found: list, what is at its end, what to do when there are none.
 */
import { html, useEffect, useMemo, useState } from '../view.js';
import { api, isAbort } from '../api.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Lazy } from '../ui/lazy.js';
import { formatNumber } from '../ui/numbers.js';
import { EventList } from './event-list.js';
import { totalOf } from './notes.js';
import { mostRows } from './use-search.js';

const nothing = () => import('./nothing.js').then((module) => module.Nothing);

/** The newest event of all times, when a search for everything has found nothing: undefined, null or the event. */
export function useNewest(wanted)
{
	const [newest, setNewest] = useState(undefined);
	useEffect(() => {
		setNewest(undefined);
		if (!wanted)
			return undefined;
		const control = new AbortController();
		api.get('/api/v1/logs', { query: { limit: 1, earliest: '2000-01-01T00:00:00Z' }, abort: control.signal }).then((answer) => setNewest(answer.data[0] ?? null), (error) => {
			// The empty list says enough.
			if (!isAbort(error))
				setNewest(undefined);
		});
		return () => control.abort();
	}, [wanted]);
	return newest;
}

/** The list. result: of a search; newest: see useNewest; onMore(), onRetry(): the next page; onRange(range). */
export function EventsView({ result, format, opened, control, busy, newest, onOpen, onMore, onRetry, onRange })
{
	const { rows: found, key, cursor, more } = result;
	const rows = useMemo(() => ({ length: found.length, at: (index) => found[index], key }), [key, found.length]);
	const total = totalOf(result);
	const capped = found.length >= mostRows && cursor;
	return html`<div class=${`events-box ${busy ? 'is-busy' : ''}`}>
		<${EventList} label="Events, newest first" rows=${rows} format=${format} opened=${opened} control=${control} onOpen=${(index) => onOpen(found[index])} onNear=${() => { if (cursor && !more.error) onMore(); }}>
			${!found.length && html`<div class="events-over"><${Lazy} load=${nothing} q=${result.request.q} newest=${newest} onRange=${onRange} /></div>`}
		<//>
		${found.length > 0 && (cursor || more.error) && html`<div class="events-end small muted" role="status">
			${more.error ? html`<${ErrorNotice} error=${more.error} retry=${onRetry} />`
				: capped ? `The newest ${formatNumber(mostRows)}${total ? ` of ${formatNumber(total)}` : ''} events are here. Choose a shorter time to see older ones.`
					: `${formatNumber(found.length)}${total ? ` of ${formatNumber(total)}` : ''} are here; ${more.busy ? 'the next come' : 'more come while you scroll'}.`}</div>`}
	</div>`;
}
