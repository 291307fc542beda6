/*
 * histogram.js: events over time, stacked by level. Drag over it, or use its two sliders, to search a part of the range.
 */
import { html, useEffect, useMemo, useRef, useState } from '../view.js';
import { levelClass } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { formatNumber, formatShort } from '../ui/numbers.js';
import { formatTime } from '../ui/time.js';
import { withinDay } from './time-text.js';

/** The levels in the order in which they are stacked, the gravest at the bottom. */
export const levelOrder = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'other', 'none'];
const words = { other: 'other levels', none: 'no level' };
const height = 72;

/** The buckets with their ends and levels: {from, to, total, part, parts: [{level, value}]}; from and to in ms; part: the range has a part of it only. */
export function bucketsOf(histogram, range)
{
	const { buckets, levels } = histogram;
	const end = Date.parse(range.latest);
	const span = buckets.length > 1 ? Date.parse(buckets[1][0]) - Date.parse(buckets[0][0]) : 0;
	return buckets.map(([time, total], index) => ({
		from: Math.max(Date.parse(time), Date.parse(range.earliest)),
		to: index + 1 < buckets.length ? Date.parse(buckets[index + 1][0]) : Math.max(end, Date.parse(time) + 1),
		total,
		part: Date.parse(time) < Date.parse(range.earliest) || (index + 1 === buckets.length && Date.parse(time) + span > end),
		parts: levelOrder.filter((level) => levels[level]?.[index]).map((level) => ({ level, value: levels[level][index] })),
	}));
}

const totalsOf = (buckets) => levelOrder.map((level) => ({ level, value: buckets.reduce((sum, one) => sum + (one.parts.find((part) => part.level === level)?.value ?? 0), 0) }))
	.filter((one) => one.value);

function Chart({ buckets, max, selection })
{
	const width = 1000 / buckets.length;
	return html`<svg class="bars histogram-bars" height=${height} viewBox=${`0 0 1000 ${height}`} preserveAspectRatio="none" aria-hidden="true">
		${selection && html`<rect class="histogram-selection" x=${selection[0] * width} y="0" width=${(selection[1] - selection[0] + 1) * width} height=${height} />`}
		${buckets.map((bucket, index) => {
			let y = height;
			return (bucket.total > 0 || bucket.part) && html`<g key=${bucket.from}>${bucket.part && html`<rect class="bar-part" x=${index * width} y="0" width=${width} height=${height} />`}${bucket.parts.map((part) => {
				// What is there can be seen: never less than 2 pixels.
				const size = Math.max((part.value / max) * (height - 2), 2);
				y -= size;
				return html`<rect key=${part.level} class=${`bar ${levelClass(part.level)}`} x=${index * width + width * 0.07} y=${Math.max(0, y)} width=${width * 0.86} height=${size} />`;
			})}</g>`;
		})}</svg>`;
}

function Tip({ bucket, at, count, day })
{
	const side = at > count / 2 ? 'is-left' : '';
	return html`<div class=${`histogram-tip ${side}`} style=${{ left: `${((at + 0.5) / count) * 100}%` }}>
		<div class="mono">${formatTime(bucket.from, { date: !day })} to ${formatTime(bucket.to, { date: false })}</div>
		<div><strong>${formatNumber(bucket.total)}</strong> events</div>
		${bucket.part && html`<div class="muted">not complete</div>`}
		${bucket.parts.map((part) => html`<div key=${part.level} class="row-between"><span><svg class=${`swatch ${levelClass(part.level)}`} width="8" height="8" aria-hidden="true"><rect width="8" height="8" rx="2" /></svg> ${words[part.level] ?? part.level}</span>
			<span class="number">${formatNumber(part.value)}</span></div>`)}</div>`;
}

/**
 * The histogram. histogram and range: of a search; staged: its stages leave some of these events out; onZoom({earliest, latest}); onOut(): a longer range; onToggle(): it is
 * closed, and then not computed.
 */
export function SearchHistogram({ histogram, range, staged, open, busy, onZoom, onOut, onToggle })
{
	const [selection, setSelection] = useState(null);
	const [hover, setHover] = useState(-1);
	const area = useRef(null);
	const dragged = useRef(null);
	const buckets = useMemo(() => (open && histogram ? bucketsOf(histogram, range) : []), [histogram, range, open]);
	const totals = useMemo(() => totalsOf(buckets), [buckets]);
	useEffect(() => {
		setSelection(null);
		setHover(-1);
	}, [buckets]);
	const count = buckets.length;
	const max = Math.max(1, ...buckets.map((one) => one.total));
	const day = count > 0 && withinDay(buckets[0].from, buckets[count - 1].to - 1);
	const label = (ms) => (count && buckets[count - 1].to - buckets[0].from > 86_400_000 * 4 ? formatTime(ms).slice(5, 10) : formatTime(ms, { date: false, seconds: buckets[count - 1].to - buckets[0].from < 300_000 }));
	const indexAt = (event) => {
		const box = area.current.getBoundingClientRect();
		return Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - box.left) / box.width) * count)));
	};
	const zoom = ([from, to]) => onZoom({ earliest: new Date(buckets[from].from).toISOString(), latest: new Date(buckets[to].to).toISOString() });
	function onDown(event)
	{
		if (event.button !== 0 || !count)
			return;
		area.current.setPointerCapture(event.pointerId);
		dragged.current = indexAt(event);
	}
	function onMove(event)
	{
		if (!count)
			return;
		const at = indexAt(event);
		setHover(at);
		if (dragged.current !== null && (at !== dragged.current || selection))
			setSelection([Math.min(at, dragged.current), Math.max(at, dragged.current)]);
	}
	function onUp(event)
	{
		if (dragged.current === null)
			return;
		const at = indexAt(event);
		const chosen = [Math.min(at, dragged.current), Math.max(at, dragged.current)];
		dragged.current = null;
		zoom(chosen);
	}
	const slide = (end) => (event) => {
		const value = Number(event.currentTarget.value);
		const [from, to] = selection ?? [0, count - 1];
		setSelection(end ? [Math.min(from, value), value] : [value, Math.max(to, value)]);
	};
	const onKey = (event) => {
		if (event.key === 'Enter' && selection) {
			event.preventDefault();
			zoom(selection);
		} else if (event.key === 'Escape' && selection) {
			event.preventDefault();
			event.stopPropagation();
			setSelection(null);
		}
	};
	const said = (at, end) => formatTime(end ? buckets[at].to : buckets[at].from);
	// Times are written where they are round, and not where the end would cut them.
	const step = 1000 * [1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800, 2_592_000, 31_536_000].find((seconds) => buckets[count - 1]?.to - buckets[0]?.from < seconds * 8000);
	const ticks = buckets.map((one, at) => at).filter((at) => at < count * 0.93 && !(buckets[at].from % step));
	return html`<section class=${`histogram ${open ? '' : 'is-closed'}`} aria-label="Events over time">
		<div class="histogram-head">
			<button type="button" class="disclosure" aria-expanded=${open ? 'true' : 'false'} onClick=${onToggle}><${Icon} name=${open ? 'down' : 'right'} />Over time</button>
			${open && histogram && html`<span class="faint small number">a bar is ${histogram.span}${totals.length ? `, the highest ${formatShort(max)}` : ''}${staged ? ', before the stages' : ''}</span>`}
			<ul class="legend small" aria-label="Levels">${totals.map((one) => html`<li key=${one.level}><svg class=${`swatch ${levelClass(one.level)}`} width="8" height="8" aria-hidden="true"><rect width="8" height="8" rx="2" /></svg>
				${words[one.level] ?? one.level} <span class="faint">${formatShort(one.value)}</span></li>`)}</ul>
			${selection && html`<${Button} size="small" kind="primary" onClick=${() => zoom(selection)}>Zoom in<//>`}
			<${Button} size="small" kind="ghost" onClick=${onOut}>Zoom out<//>
		</div>
		${open && html`<div class=${`histogram-body ${busy ? 'is-busy' : ''}`}>
			${count > 0 ? html`
				<div class="histogram-area" ref=${area} onPointerDown=${onDown} onPointerMove=${onMove} onPointerUp=${onUp}
					onPointerCancel=${() => { dragged.current = null; setSelection(null); }} onPointerLeave=${() => setHover(-1)}>
					<${Chart} buckets=${buckets} max=${max} selection=${selection} />
					${hover >= 0 && buckets[hover] && html`<${Tip} bucket=${buckets[hover]} at=${hover} count=${count} day=${day} />`}
				</div>
				<div class="histogram-brush" onKeyDown=${onKey}>
					<input type="range" min="0" max=${count - 1} step="1" value=${selection?.[0] ?? 0} aria-label="First bar of the part to zoom into" aria-valuetext=${said(selection?.[0] ?? 0)} onInput=${slide(false)} />
					<input type="range" min="0" max=${count - 1} step="1" value=${selection?.[1] ?? count - 1} aria-label="Last bar of the part to zoom into" aria-valuetext=${said(selection?.[1] ?? count - 1, true)} onInput=${slide(true)} />
				</div>
				<div class="histogram-ticks faint" aria-hidden="true">${ticks.map((at) => html`<span key=${at} style=${{ left: `${(at / count) * 100}%` }}>${label(buckets[at].from)}</span>`)}</div>`
				: html`<div class="histogram-blank" aria-hidden="true"></div>`}
		</div>`}
	</section>`;
}
