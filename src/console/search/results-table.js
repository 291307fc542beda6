/*
 * results-table.js: what stages have made: a table, with a chart where one fits.
 */
import { html, useMemo, useState } from '../view.js';
import { LineChart } from '../ui/charts.js';
import { EmptyState } from '../ui/empty-state.js';
import { formatNumber, formatShort } from '../ui/numbers.js';
import { Table } from '../ui/table.js';
import { formatTime } from '../ui/time.js';
import { levelClass } from '../ui/badge.js';
import { navigate } from '../router.js';
import { lineOf, visible } from './event-fields.js';
import { eventsOf } from './group-rows.js';
import { TimeText, isTime } from './json-tree.js';

const step = 200; // Rows that are shown at once.
const mostBars = 20;
const mostSeries = 6; // As many as there are colours.

const knownLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'];

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

/** What a result can be drawn as: {kind: 'lines', ...}, {kind: 'bars', ...} or null. */
export function chartOf({ kind, columns, rows })
{
	if (!rows.length || !columns)
		return null;
	const number = columns.findLastIndex((one) => one.type === 'number');
	if (number < 0)
		return null;
	if (kind === 'series') {
		const times = [...new Set(rows.map((row) => row[0]))];
		const place = new Map(times.map((time, index) => [time, index]));
		const numbers = columns.map((one, index) => ({ ...one, index })).filter((one) => one.index > 0 && one.type === 'number');
		const groups = columns.map((one, index) => ({ ...one, index })).filter((one) => one.index > 0 && one.type !== 'number');
		const series = new Map();
		for (const row of rows)
			for (const column of numbers) {
				const name = [...groups.map((one) => lineOf(row[one.index], 60) || 'null'), ...(numbers.length > 1 || !groups.length ? [column.name] : [])].join(' ');
				if (!series.has(name))
					series.set(name, new Array(times.length).fill(null));
				series.get(name)[place.get(row[0])] = isNumber(row[column.index]) ? row[column.index] : null;
			}
		const all = [...series].map(([name, values]) => ({ name, values }));
		return times.length > 1 ? { kind: 'lines', by: groups.length === 1 ? groups[0].name : null, times, series: all.slice(0, mostSeries), more: all.length - Math.min(all.length, mostSeries) } : null;
	}
	const label = columns.findIndex((one) => one.type !== 'number');
	const bars = rows.filter((row) => isNumber(row[number]) && row[number] >= 0);
	if (label < 0 || columns.length > 3 || rows.length < 2 || bars.length < rows.length)
		return null;
	const share = columns.findIndex((one) => one.name === 'count');
	const column = share >= 0 ? share : number;
	return { kind: 'bars', name: columns[column].name, rows: rows.slice(0, mostBars).map((row) => ({ label: columns.filter((one) => one.type !== 'number').map((one) => lineOf(row[columns.indexOf(one)], 120) || 'null').join(' '), value: row[column] })), more: Math.max(0, rows.length - mostBars) };
}

/** Levels have the colours that they have everywhere. */
const lineClass = (chart, one, index) => (chart.by === 'level' && knownLevels.includes(one.name) ? levelClass(one.name) : `series-${index + 1}`);

function Lines({ chart })
{
	const max = Math.max(0, ...chart.series.flatMap((one) => one.values.filter(isNumber)));
	const ticks = [0, 0.25, 0.5, 0.75].map((share) => chart.times[Math.floor(share * chart.times.length)]);
	return html`<figure class="result-chart"><div class="result-scale faint" aria-hidden="true">${formatShort(max)}</div><div class="result-plot">
		<${LineChart} series=${chart.series.map((one, index) => ({ ...one, class: lineClass(chart, one, index) }))} height=${180} label=${`${chart.series.length} series from ${formatTime(chart.times[0])} to ${formatTime(chart.times.at(-1))}, highest value ${formatShort(max)}; the table has the values`} /></div>
		<div class="histogram-ticks faint" aria-hidden="true">${ticks.map((time, index) => html`<span key=${index} style=${{ left: `${index * 25}%` }}>${formatTime(time, { seconds: false }).slice(5)}</span>`)}</div>
		<figcaption><ul class="legend small">${chart.series.map((one, index) => html`<li key=${one.name}><svg class=${`swatch ${lineClass(chart, one, index)}`} width="8" height="8" aria-hidden="true"><rect width="8" height="8" rx="2" /></svg> <bdi class="break">${visible(one.name)}</bdi></li>`)}
			${chart.more > 0 && html`<li class="faint">and ${chart.more} more in the table</li>`}</ul></figcaption></figure>`;
}

function BarRows({ chart })
{
	const max = Math.max(1e-9, ...chart.rows.map((one) => one.value));
	return html`<ul class="bar-rows" aria-label=${chart.name}>${chart.rows.map((one, index) => html`<li key=${index}><span class="truncate bar-label"><bdi>${visible(one.label)}</bdi></span>
		<span class="share-bar" aria-hidden="true"><span style=${{ width: `${Math.max(0.5, (one.value / max) * 100)}%` }}></span></span><span class="number">${formatNumber(one.value)}</span></li>`)}
		${chart.more > 0 && html`<li class="faint small">and ${formatNumber(chart.more)} more in the table</li>`}</ul>`;
}

function compare(a, b)
{
	const rank = (one) => (one === null || one === undefined ? 2 : typeof one === 'number' ? 0 : 1);
	if (rank(a) !== rank(b))
		return rank(a) - rank(b);
	return typeof a === 'number' ? a - b : String(a).localeCompare(String(b));
}

function Cell({ value, type })
{
	if (value === null || value === undefined)
		return html`<span class="faint">null</span>`;
	if (type === 'time')
		return html`<span class="time">${formatTime(value)}</span>`;
	if (isTime(value))
		return html`<${TimeText} value=${value} />`;
	if (typeof value === 'number')
		return Number.isInteger(value) ? formatNumber(value) : String(Number(value.toPrecision(12)));
	return html`<bdi class="break">${visible(lineOf(value))}</bdi>`;
}

/**
 * The table of a result {kind, columns, rows}; tools: buttons beside its count; truncated: rows were left out;
 * order: the column by which it is sorted, with - before it descending, with onOrder.
 */
export function ResultsTable({ result, tools, truncated, busy, order, onOrder })
{
	const [shown, setShown] = useState(step);
	const [plain, setPlain] = useState(false);
	const { columns, rows } = result;
	const column = columns.findIndex((one) => one.name === order.replace(/^-/, ''));
	const sort = column < 0 ? null : { at: column, descending: order.startsWith('-') };
	const chart = useMemo(() => chartOf(result), [result]);
	const events = useMemo(() => (columns ? eventsOf(result.request.q, columns) : null), [result]);
	const hrefOf = ({ row }) => {
		const q = events?.(row) ?? null;
		const params = new URLSearchParams(window.location.search);
		params.set('q', q);
		params.delete('order');
		return q === null ? null : `${window.location.pathname}?${params}`;
	};
	const sorted = useMemo(() => {
		const all = rows.map((row, index) => ({ row, index }));
		if (sort)
			all.sort((a, b) => compare(a.row[sort.at], b.row[sort.at]) * (sort.descending && a.row[sort.at] !== null && b.row[sort.at] !== null ? -1 : 1));
		return all;
	}, [rows, order]);
	return html`<section class=${`results ${busy ? 'is-busy' : ''}`} aria-label="Results">
		<div class="results-bar"><span class="small muted grow">${formatNumber(rows.length)} ${rows.length === 1 ? 'row' : 'rows'}${truncated ? '; more were left out: add a sort or a head stage' : ''}</span>
			${chart && html`<button type="button" class="link-button" aria-pressed=${plain ? 'false' : 'true'} onClick=${() => setPlain(!plain)}>${plain ? 'Show chart' : 'Hide chart'}</button>`}${tools}</div>
		<div class="results-scroll">
			${chart && !plain && (chart.kind === 'lines' ? html`<${Lines} chart=${chart} />` : html`<${BarRows} chart=${chart} />`)}
			<${Table} caption="Results" rows=${sorted.slice(0, shown)} rowKey=${(one) => one.index} more=${sorted.length > shown} onMore=${() => setShown(shown + step)}
				onRow=${events && ((one) => hrefOf(one) && navigate(hrefOf(one)))} sort=${sort && { key: String(sort.at), descending: sort.descending }}
				onSort=${(key) => onOrder(sort?.at === Number(key) ? (sort.descending ? null : `-${columns[key].name}`) : columns[key].name)}
				columns=${columns.map((column, at) => ({ key: String(at), title: visible(column.name), sort: true, align: column.type === 'number' ? 'end' : undefined, class: column.type === 'string' ? 'break' : '',
					render: (one) => {
						const cell = html`<${Cell} value=${one.row[at]} type=${column.type} />`;
						const href = !at && events && hrefOf(one);
						return href ? html`<a href=${href} title="Search these events">${cell}</a>` : cell;
					} }))}
				empty=${html`<${EmptyState} icon="search" title="No rows"><p>The stages made an empty table.</p><//>`} />
		</div></section>`;
}
