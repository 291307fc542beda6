/*
 * answer.js: what panels find, in the forms that charts need.
 */
import { formatNumber, formatShort } from '../ui/numbers.js';

/** The rows of an answer of events, series or tables as {columns, rows} with plain values. */
export function asTable(answer)
{
	if (answer.kind !== 'events')
		return { columns: answer.columns ?? [], rows: answer.rows };
	const names = ['timestamp', 'level', 'service', 'event'];
	return { columns: names.map((name) => ({ name, type: name === 'timestamp' ? 'time' : 'string' })), rows: answer.rows.map((row) => names.map((name) => row[name] ?? null)) };
}

const isNumber = (answer, index) => answer.columns[index].type === 'number' || answer.rows.some((row) => typeof row[index] === 'number');

/** The places of the columns: {time, labels, values}. */
export function rolesOf(answer)
{
	const places = answer.columns.map((_, index) => index);
	const time = answer.columns.findIndex((one) => one.type === 'time');
	const values = places.filter((index) => index !== time && isNumber(answer, index));
	return { time, values, labels: places.filter((index) => index !== time && !values.includes(index)) };
}

const text = (value) => (value === null || value === undefined ? '(none)' : typeof value === 'object' ? JSON.stringify(value) : String(value));

/** Series over time: {times (seconds), series: [{name, values}]}, or null when the answer has no time. */
export function asSeries(answer)
{
	if (answer.kind === 'events' || !answer.rows.length && !answer.columns?.length)
		return null;
	const { time, labels, values } = rolesOf(answer);
	if (time < 0 || (!values.length && answer.rows.length))
		return null;
	const times = [...new Set(answer.rows.map((row) => Date.parse(row[time]) / 1000))].sort((a, b) => a - b);
	const at = new Map(times.map((one, index) => [one, index]));
	const series = new Map();
	for (const row of answer.rows)
		for (const value of values) {
			const label = labels.map((index) => text(row[index])).join(', ');
			const name = [label, values.length > 1 || !label ? answer.columns[value].name : ''].filter(Boolean).join(': ');
			if (!series.has(name))
				series.set(name, { name, values: Array(times.length).fill(null) });
			series.get(name).values[at.get(Date.parse(row[time]) / 1000)] = typeof row[value] === 'number' ? row[value] : null;
		}
	return { times, series: [...series.values()] };
}

/** Which ends of a series are not complete, because the range cuts their time or it goes on: {first, last}. */
export function partOf({ kind, range }, times)
{
	if (kind !== 'series' || !range || !times.length)
		return { first: false, last: false };
	const span = Math.min(...times.slice(1).map((one, index) => one - times[index]));
	return { first: times[0] * 1000 < Date.parse(range.earliest), last: times.length > 1 && (times.at(-1) + span) * 1000 > Date.parse(range.latest) };
}

/** Parts with a name each, for bars and pies: [{name, value}]. Of a series the sums. */
export function asParts(answer)
{
	if (answer.kind === 'events')
		return null;
	const over = asSeries(answer);
	if (over && over.times.length)
		return over.series.map((one) => ({ name: one.name, value: one.values.reduce((sum, each) => sum + (each ?? 0), 0) }));
	const { labels, values } = rolesOf(answer);
	if (!values.length)
		return answer.rows.length ? null : [];
	if (!labels.length && answer.rows.length === 1)
		return values.map((index) => ({ name: answer.columns[index].name, value: answer.rows[0][index] ?? 0 }));
	return answer.rows.map((row) => ({ name: labels.length ? labels.map((index) => text(row[index])).join(', ') : text(row[0]), value: row[values.at(labels.length ? 0 : -1)] ?? 0 }));
}

/** The number of a stat: {value, values (of a series, for a sparkline)}, or null. */
export function asNumber(answer)
{
	if (answer.kind === 'events')
		return { value: answer.rows.length };
	const over = asSeries(answer);
	if (over && over.series.length) {
		const values = over.times.map((_, index) => over.series.reduce((sum, one) => (one.values[index] === null ? sum : (sum ?? 0) + one.values[index]), null));
		return { value: values.findLast((one) => one !== null) ?? null, values };
	}
	const { values } = rolesOf(answer);
	return values.length ? { value: answer.rows[0]?.[values[0]] ?? null } : answer.rows.length ? null : { value: null };
}

/** A number as the options of a panel say: decimals and unit. */
export function formatValue(value, { unit, decimals } = {})
{
	if (value === null || value === undefined)
		return '–';
	const whole = decimals === null || decimals === undefined
		? Math.abs(value) >= 1e6 ? formatShort(value) : formatNumber(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)))
		: value.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
	return unit ? `${whole}${/^[%°]/.test(unit) ? '' : ' '}${unit}` : whole;
}

/** The colour of the highest threshold that a value reaches: ok, warn, danger, accent, or ''. */
export function colourOf(value, thresholds)
{
	const reached = [...thresholds ?? []].sort((a, b) => a.value - b.value).findLast((one) => value !== null && value >= one.value);
	return reached ? { red: 'danger', orange: 'warn', yellow: 'warn', green: 'ok', blue: 'accent' }[reached.color] ?? 'accent' : '';
}
