/*
 * preview.js: what the condition of a rule would have seen: the search that finds the values in buckets of time, the value
 * at each tick, and when the rule would have fired.
 *
 * One search answers for all ticks. Buckets are as long as divides the time between ticks and the lookback, so that the
 * range of each tick is a whole number of them; counts are added, and of values the largest or smallest one counts. What a
 * stage that makes a table has computed cannot be put together: there each bucket is one range.
 */
import { secondsOf } from './durations.js';

/** At most so many rows of a search. */
export const mostRows = 10_000;
const eventStages = /^(?:(?:where|eval|rename|rex|json|spath|logfmt|kv|lookup|bin|bucket|fillnull)\b|fields\s*-)/i;

const gcd = (a, b) => (b ? gcd(b, a % b) : a);
const fieldOf = (name) => (/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$/.test(name) ? name : `\`${name}\``);

/** The head of a query and its stages: pipes in quotes divide nothing. */
export function stagesOf(query)
{
	const parts = [''];
	let quote = '';
	for (let i = 0; i < query.length; i++) {
		const c = query[i];
		if (quote && c === '\\')
			parts[parts.length - 1] += c + (query[++i] ?? '');
		else {
			if (quote ? c === quote : c === '"' || c === '`')
				quote = quote ? '' : c;
			if (c === '|' && !quote)
				parts.push('');
			else
				parts[parts.length - 1] += c;
		}
	}
	return parts.map((one) => one.trim());
}

/**
 * How to look at a rule over time: {q, bucket, whole} (seconds; whole: each bucket is the range of a tick), or {reason}: why
 * that is not possible.
 */
export function planOf(rule, query)
{
	const { condition, schedule, groupBy } = rule;
	const lookback = secondsOf(schedule.lookback);
	if (!query?.trim())
		return { reason: 'Write a query first.' };
	if (!(lookback > 0))
		return { reason: 'The range needs a number and s, m, h or d, such as 5m.' };
	if (condition.kind === 'newTemplate')
		return { reason: 'What is a new pattern depends on all that was before it: such a rule has no preview. Its tests can show what it does.' };
	if (condition.kind === 'value' && !condition.column)
		return { reason: 'Name the column whose value counts.' };
	const [head, ...stages] = stagesOf(query);
	const first = stages.findIndex((one) => !eventStages.test(one));
	const events = [head, ...(first < 0 ? stages : stages.slice(0, first))].join(' | ');
	const table = first < 0 ? [] : stages.slice(first);
	if (table.length > 1 || (table.length && !/^stats\s[^"`]*$/i.test(table[0])))
		return { reason: 'A preview over time needs a query of events, or one whose last stage is its only stats (without quotes).' };
	const whole = table.length > 0;
	const every = schedule.everySeconds;
	const bucket = whole ? lookback : gcd(gcd(every, lookback), 900);
	const aggregate = condition.kind !== 'value' ? 'count'
		: `${{ '>': 'max', '>=': 'max', '<': 'min', '<=': 'min' }[condition.op] ?? 'first'}(${fieldOf(condition.column)})`;
	const stage = !whole ? '' : ` | ${table[0]}${/\sby\s/i.test(table[0]) ? ', ' : ' by '}logsvc_bucket`;
	const groups = (groupBy ?? []).map((one) => `, ${fieldOf(one)}`).join('');
	return { q: `${events || '*'} | bin span=${bucket}s timestamp as logsvc_bucket${stage} | stats ${aggregate} as value by logsvc_bucket${groups}`, bucket, whole };
}

const compare = {
	'>': (a, b) => a > b, '>=': (a, b) => a >= b, '<': (a, b) => a < b, '<=': (a, b) => a <= b, '=': (a, b) => a === b, '!=': (a, b) => a !== b,
};

function groupsOf(rule, rows)
{
	const groups = new Map();
	const names = rule.groupBy ?? [];
	if (!names.length)
		groups.set('[]', { key: {}, points: [] });
	for (const row of rows) {
		const values = row.slice(1, -1);
		const id = JSON.stringify(values);
		if (!groups.has(id))
			groups.set(id, { key: Object.fromEntries(names.map((name, at) => [name, values[at]])), points: [] });
		groups.get(id).points.push([Date.parse(row[0]) / 1000, typeof row.at(-1) === 'number' ? row.at(-1) : null]);
	}
	for (const group of groups.values())
		group.points.sort((a, b) => a[0] - b[0]);
	return [...groups.values()];
}

// The value at each tick, and whether anything was there.
function valuesOf({ points }, { kind, op }, ticks, bucket, lookback)
{
	let [low, high, sum] = [0, 0, 0];
	return ticks.map((tick) => {
		for (; high < points.length && points[high][0] + bucket <= tick; high++)
			sum += points[high][1] ?? 0;
		for (; low < high && points[low][0] < tick - lookback; low++)
			sum -= points[low][1] ?? 0;
		if (kind !== 'value')
			return { value: sum, some: high > low };
		const seen = points.slice(low, high).map((one) => one[1]).filter((one) => one !== null);
		if (!seen.length)
			return { value: null, some: false };
		return { value: op === '<' || op === '<=' ? Math.min(...seen) : op === '>' || op === '>=' ? Math.max(...seen) : seen[0], some: true };
	});
}

/**
 * What a rule would have done with the rows of its plan between two times (seconds since 1970): {ticks, groups: [{key,
 * values, holds}], firings: [{from, to, key, value}]}; to null: it still fires at the end. Groups come by their largest value.
 */
export function replay(rule, { bucket, whole }, rows, from, to)
{
	const { condition } = rule;
	const step = whole ? bucket : rule.schedule.everySeconds;
	const lookback = whole ? bucket : secondsOf(rule.schedule.lookback);
	const phase = whole && rows.length ? (Date.parse(rows[0][0]) / 1000) % bucket : 0;
	const ticks = [];
	for (let tick = Math.ceil((from - phase) / step) * step + phase; tick <= to; tick += step)
		ticks.push(tick);
	const hold = Math.ceil((condition.forSeconds ?? 0) / step);
	const grouped = Boolean(rule.groupBy?.length);
	const firings = [];
	const groups = groupsOf(rule, rows).map((group) => {
		const seen = valuesOf(group, condition, ticks, bucket, lookback);
		let [before, began, known] = [false, -1, false];
		let open = null;
		const holds = seen.map(({ value, some }, at) => {
			known ||= some;
			let now = before;
			if (condition.kind === 'absence')
				now = !some && (!grouped || known);
			else if (value === null || (grouped && !some))
				now = grouped ? false : before;
			else
				now = compare[condition.op]?.(value, condition.threshold) ?? false;
			if (now && !before)
				began = at;
			if (now && !open && at - began >= hold) {
				open = { from: ticks[at], to: null, key: group.key, value: seen[began].value };
				firings.push(open);
			} else if (!now && open) {
				open.to = ticks[at];
				open = null;
			}
			before = now;
			return now;
		});
		return { key: group.key, values: seen.map((one) => one.value), holds };
	});
	const largest = (group) => Math.max(...group.values.map((one) => one ?? -Infinity));
	groups.sort((a, b) => largest(b) - largest(a));
	firings.sort((a, b) => a.from - b.from);
	return { ticks, groups, firings };
}
