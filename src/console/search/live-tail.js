/*
 * live-tail.js: new events as they come, the newest on top. Scrolling down holds the list still.
 */
import { html, useEffect, useMemo, useRef, useState } from '../view.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { formatNumber } from '../ui/numbers.js';
import { EventList } from './event-list.js';
import { followEvents } from './tail-stream.js';

/** Events that the list keeps. */
export const most = 10_000;
const pace = 200; // ms between drawings.

/** Keeps the newest events: add(list) answers how many fell out. */
export class Newest
{
	constructor()
	{
		this.list = [];
		this.key = {};
		this.added = 0;
	}

	add(events)
	{
		this.list.push(...events);
		this.added += events.length;
		const out = Math.max(0, this.list.length - most);
		this.list.splice(0, out);
		return out;
	}

	/** As rows of a list, the newest first. */
	rows()
	{
		const { list, key, added } = this;
		return { length: list.length, at: (index) => list[list.length - 1 - index], key, added };
	}
}

function useTail(q)
{
	const [view, setView] = useState({ rows: { length: 0, at: () => null, key: {} }, state: 'connecting', until: null, error: null, waiting: 0, out: 0, skipped: 0, rate: 0, paused: false });
	const inner = useRef(null);
	const [turn, setTurn] = useState(0);
	useEffect(() => {
		const own = { shown: new Newest(), held: [], arrived: [], paused: false, out: 0, skipped: 0, added: 0, dirty: true };
		inner.current = own;
		const show = (changes = {}) => {
			const now = Date.now();
			own.arrived = own.arrived.filter(([at]) => now - at < 5000);
			setView((before) => ({ ...before, ...changes, rows: own.dirty ? own.shown.rows() : before.rows, waiting: own.held.length, out: own.out, skipped: own.skipped, paused: own.paused,
				rate: own.arrived.reduce((sum, one) => sum + one[1], 0) / 5 }));
			own.dirty = false;
		};
		own.release = () => {
			if (own.held.length) {
				own.out += own.shown.add(own.held);
				own.held = [];
				own.dirty = true;
			}
		};
		own.show = show;
		show({ error: null });
		const end = followEvents(q, {
			events: (events) => {
				own.arrived.push([Date.now(), events.length]);
				own.held.push(...events);
				if (own.held.length > most) {
					own.out += own.held.length - most;
					own.held.splice(0, own.held.length - most);
				}
			},
			skipped: (count) => { own.skipped += count; },
			state: (state, until = null) => show({ state, until }),
			error: (error) => show({ state: 'ended', error }),
		});
		const timer = setInterval(() => {
			if (document.visibilityState !== 'visible')
				return;
			if (!own.paused)
				own.release();
			show();
		}, pace);
		return () => {
			clearInterval(timer);
			end();
		};
	}, [q, turn]);
	return {
		...view,
		hold: (paused) => {
			if (inner.current.paused !== paused) {
				inner.current.paused = paused;
				if (!paused)
					inner.current.release();
				inner.current.show();
			}
		},
		clear: () => {
			Object.assign(inner.current, { shown: new Newest(), held: [], out: 0, skipped: 0, dirty: true });
			inner.current.show();
		},
		again: () => setTurn((now) => now + 1),
	};
}

const words = { connecting: ['neutral', 'Connecting'], live: ['ok', 'Live'], waiting: ['warn', 'Connecting again'], limited: ['warn', 'Waiting'], ended: ['danger', 'Ended'] };

/** The view. q: the head of a query; format, opened and onOpen(event): as of the list. */
export function LiveTail({ q, stages, format, opened, onOpen, tools })
{
	const tail = useTail(q);
	const list = useRef(null);
	const [kind, word] = tail.paused && tail.state === 'live' ? ['accent', 'Paused'] : words[tail.state];
	const [byHand, setByHand] = useState(false);
	const rows = useMemo(() => tail.rows, [tail.rows]);
	function resume()
	{
		setByHand(false);
		tail.hold(false);
		list.current.place(0);
		list.current.box.focus();
	}
	return html`<section class="results" aria-label="Live events">
		<div class="results-bar"><${Badge} kind=${kind} dot>${word}<//>
			<span class="small muted">${tail.rate > 0 && tail.rate < 10 ? tail.rate.toFixed(1) : formatNumber(Math.round(tail.rate))} a second</span>
			<span class="small muted grow">${formatNumber(tail.rows.length)} kept${tail.out ? `, ${formatNumber(tail.out)} older ones dropped` : ''}${tail.skipped ? `, ${formatNumber(tail.skipped)} left out by the service: too many at once` : ''}</span>
			${tail.state !== 'ended' && html`<${Button} size="small" icon=${tail.paused ? 'play' : 'stop'} onClick=${() => { if (tail.paused) resume(); else { setByHand(true); tail.hold(true); } }}>${tail.paused ? 'Go on' : 'Pause'}<//>`}
			<${Button} size="small" onClick=${tail.clear}>Clear<//>${tools}</div>
		${tail.state === 'limited' && html`<p class="notice notice-warn small results-note" role="status">Live views may be opened 10 times a minute in an organization. The next try is in ${Math.max(1, Math.ceil((tail.until - Date.now()) / 1000))} s; events of meanwhile come then.</p>`}
		${stages && html`<p class="notice notice-warn small results-note">Live events are those of the head, <code class="break">${q || 'all events'}</code>. Stages run in a search only.</p>`}
		<${ErrorNotice} error=${tail.error} retry=${tail.again} />
		<${EventList} label="Live events, newest first" rows=${rows} format=${format} opened=${opened} control=${list} onOpen=${(index) => onOpen(tail.rows.at(index))}
			onScroll=${(top) => { if (!byHand) tail.hold(top > 4); }}>
			${tail.paused && tail.waiting > 0 && html`<button type="button" class="button button-primary new-pill" onClick=${resume}>${formatNumber(tail.waiting)} new</button>`}
			${!tail.rows.length && !tail.error && tail.state !== 'limited' && html`<div class="events-over"><${EmptyState} icon="play" title="Waiting for new events"><p>They appear within two seconds of being accepted.</p><//></div>`}
		<//></section>`;
}
