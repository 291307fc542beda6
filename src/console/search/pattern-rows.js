/*
 * pattern-rows.js: patterns of a search beside those of an earlier time: what is new, what has changed, what is gone.
 */
const day = 86_400_000;
/** What a list can be compared with: [value, label, how many ms earlier, as a function of the length of the range]. */
export const comparisons = [
	['before', 'the period before', (length) => length],
	['day', 'a day earlier', (length) => Math.ceil(length / day) * day],
	['week', 'a week earlier', (length) => Math.ceil(length / (7 * day)) * 7 * day],
];

/** The range that a range {earliest, latest} is compared with: it has the same length, and they do not overlap. */
export function earlierRange({ earliest, latest }, comparison)
{
	const [from, to] = [Date.parse(earliest), Date.parse(latest)];
	const back = comparisons.find(([name]) => name === comparison)?.[2](to - from);
	return back === undefined ? null : { earliest: new Date(from - back).toISOString(), latest: new Date(to - back).toISOString() };
}

/**
 * The rows in the chosen order. now, before: templates of the API (before: null without a comparison); order: count, rare
 * or change; onlyNew. Answers {rows: [{...template, old, change}], gone: [template]}; change: null for new ones.
 */
export function patternRows({ now, before, order = 'count', onlyNew = false })
{
	const old = new Map((before ?? []).map((one) => [one.id, one.count]));
	const all = now.map((one) => ({ ...one, old: before ? old.get(one.id) ?? 0 : null, change: old.has(one.id) ? (one.count - old.get(one.id)) / old.get(one.id) : null }));
	const rows = onlyNew && before ? all.filter((one) => one.change === null) : all;
	// New ones have changed more than all others; then what has grown or shrunk by the largest factor.
	const factor = (one) => (one.change === null ? Infinity : Math.abs(Math.log(one.change + 1)));
	if (order === 'rare')
		rows.sort((a, b) => a.count - b.count);
	else if (order === 'change' && before)
		rows.sort((a, b) => (factor(a) === factor(b) ? b.count - a.count : factor(b) - factor(a)));
	const ids = new Set(now.map((one) => one.id));
	return { rows, gone: (before ?? []).filter((one) => !ids.has(one.id)) };
}

/** Counts over time by template, from a result of kind series (time, template_id, count): a Map of lists of numbers. */
export function seriesById({ columns, rows })
{
	const [time, id, count] = ['time', 'template_id', 'count'].map((name) => columns.findIndex((one) => one.name === name));
	const places = new Map([...new Set(rows.map((row) => row[time]))].sort().map((one, index) => [one, index]));
	const series = new Map();
	for (const row of rows) {
		if (!series.has(row[id]))
			series.set(row[id], new Array(places.size).fill(0));
		series.get(row[id])[places.get(row[time])] = row[count];
	}
	return series;
}
