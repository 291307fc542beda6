/*
 * panel-views.js: what panels other than time series show: a number, bars, parts of a whole, a table, events.
 */
import { html, useState } from '../view.js';
import { Level } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Sparkline } from '../ui/charts.js';
import { formatNumber, formatPercent } from '../ui/numbers.js';
import { formatTime } from '../ui/time.js';
import { asTable, colourOf, formatValue } from './answer.js';

const cut = 2000;
const shorten = (text) => (text.length > cut ? `${text.slice(0, cut)} …` : text);

/** One number. number: {value, values}; part: its time is not complete. */
export function Stat({ number, options, label, part })
{
	const colour = colourOf(number.value, options.thresholds);
	return html`<div class="stat"><p class=${`stat-value ${colour ? `is-${colour}` : ''}`}>
		<span>${formatValue(number.value, { ...options, unit: null })}</span>${options.unit && html`<span class="stat-unit">${options.unit}</span>`}</p>${part && html`<p class="small muted">not complete</p>`}
		${number.values?.length > 1 && html`<div class="stat-spark"><${Sparkline} values=${number.values} label=${`${label} over time`} width="400" height="36" /></div>`}</div>`;
}

/** Bars by name, the largest first. */
export function BarList({ parts, options })
{
	const shown = [...parts].sort((a, b) => b.value - a.value).slice(0, 50);
	const most = Math.max(1e-9, ...shown.map((one) => Math.abs(one.value)));
	return html`<div class="panel-scroll" tabindex="0" role="group" aria-label="Bars"><ul class="bar-list">${shown.map((one, index) => html`<li key=${index}>
		<span class="bar-name truncate" title=${shorten(one.name)}>${shorten(one.name)}</span><span class="number">${formatValue(one.value, options)}</span>
		<span class="panel-bar" aria-hidden="true"><span class=${`is-${colourOf(one.value, options.thresholds) || 'plain'}`} style=${{ width: `${(Math.abs(one.value) / most) * 100}%` }}></span></span></li>`)}</ul></div>`;
}

/** Parts of a whole: the six largest, and the others together. */
export function Pie({ parts, options, label })
{
	const sorted = parts.filter((one) => one.value > 0).sort((a, b) => b.value - a.value);
	const shown = sorted.length > 6 ? [...sorted.slice(0, 5), { name: 'others', value: sorted.slice(5).reduce((sum, one) => sum + one.value, 0) }] : sorted;
	const total = shown.reduce((sum, one) => sum + one.value, 0);
	let turn = 0;
	const point = (share, radius) => `${(50 + radius * Math.sin(share * 2 * Math.PI)).toFixed(2)} ${(50 - radius * Math.cos(share * 2 * Math.PI)).toFixed(2)}`;
	const slices = shown.map((one, index) => {
		const share = one.value / total;
		const from = turn;
		turn += share;
		// A whole circle begins where it ends: two halves.
		const d = share > 0.9999 ? 'M50 2A48 48 0 1 1 50 98A48 48 0 1 1 50 2M50 22A28 28 0 1 0 50 78A28 28 0 1 0 50 22Z'
			: `M${point(from, 48)}A48 48 0 ${share > 0.5 ? 1 : 0} 1 ${point(turn, 48)}L${point(turn, 28)}A28 28 0 ${share > 0.5 ? 1 : 0} 0 ${point(from, 28)}Z`;
		return html`<path key=${index} class=${`pie-slice series-${index + 1}`} d=${d} fill-rule="evenodd"><title>${`${shorten(one.name)}: ${formatValue(one.value, options)}`}</title></path>`;
	});
	return html`<div class="pie"><svg viewBox="0 0 100 100" role="img" aria-label=${label}>${slices}</svg>
		<div class="panel-scroll" tabindex="0" role="group" aria-label="Parts"><ul class="pie-legend">${shown.map((one, index) => html`<li key=${index}><span class=${`pie-dot pie-dot-${index + 1}`} aria-hidden="true"></span>
			<span class="truncate grow" title=${shorten(one.name)}>${shorten(one.name)}</span><span class="number">${formatValue(one.value, options)}</span>
			<span class="number muted">${formatPercent(one.value / total)}</span></li>`)}</ul></div></div>`;
}

function Cell({ value, type, options })
{
	if (value === null || value === undefined)
		return html`<span class="faint">–</span>`;
	if (type === 'time' || (type !== 'number' && typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)))
		return html`<span class="time">${formatTime(value)}</span>`;
	if (typeof value === 'number')
		return html`${formatValue(value, options)}`;
	return html`<bdi>${shorten(typeof value === 'object' ? JSON.stringify(value) : String(value))}</bdi>`;
}

/** Rows and columns, 100 at a time. */
export function PanelTable({ answer, options = {}, label })
{
	const [most, setMost] = useState(100);
	const { columns, rows } = asTable(answer);
	const numeric = columns.map((one, index) => one.type === 'number' || (rows.length > 0 && rows.every((row) => row[index] === null || typeof row[index] === 'number')));
	return html`<div class="panel-scroll" tabindex="0" role="group" aria-label=${label}><table class="table panel-table"><caption class="visually-hidden">${label}</caption>
		<thead><tr>${columns.map((one, index) => html`<th key=${index} scope="col" class=${numeric[index] ? 'number' : ''}>${one.name}</th>`)}</tr></thead>
		<tbody>${rows.slice(0, most).map((row, at) => html`<tr key=${at}>${columns.map((one, index) => html`<td key=${index} class=${numeric[index] ? `number ${colourOf(row[index], options.thresholds) && `is-${colourOf(row[index], options.thresholds)}`}` : 'break'}>
			<${Cell} value=${row[index]} type=${one.type} options=${numeric[index] ? options : {}} /></td>`)}</tr>`)}</tbody></table>
		${rows.length > most && html`<div class="table-more"><${Button} size="small" onClick=${() => setMost(most + 200)}>Show more of ${formatNumber(rows.length)}<//></div>`}</div>`;
}

/** Events, newest first. */
export function EventRows({ rows, label })
{
	return html`<div class="panel-scroll" tabindex="0" role="group" aria-label=${label}><ol class="event-rows">${rows.map((row) => html`<li key=${row.id}>
		<span class="time faint">${formatTime(row.timestamp, { date: false, precise: true })}</span> ${row.level && html`<${Level} level=${row.level} />`}${' '}
		${row.service && html`<span class="muted">${row.service}</span>`}${' '}<bdi class="break">${shorten(String(row.event))}</bdi></li>`)}</ol></div>`;
}
