/*
 * diff.js: what a step has changed of an event.
 */

const shown = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

/** The fields of an event, attributes beside the others: [[name, value]]. */
export function fieldsOf(event)
{
	const { attributes, ...rest } = event ?? {};
	return [...Object.entries(rest), ...Object.entries(attributes ?? {}).map(([name, value]) => [`attributes.${name}`, value])]
		.filter(([, value]) => value !== null && value !== undefined);
}

/** What differs: [{name, kind: 'added', 'removed' or 'changed', before, after}], as texts. */
export function changesOf(before, after)
{
	const [a, b] = [new Map(fieldsOf(before)), new Map(fieldsOf(after))];
	const changes = [];
	for (const name of new Set([...a.keys(), ...b.keys()])) {
		const [old, now] = [a.get(name), b.get(name)].map((one) => (one === undefined ? undefined : shown(one)));
		if (old !== now)
			changes.push({ name, kind: old === undefined ? 'added' : now === undefined ? 'removed' : 'changed', before: old, after: now });
	}
	return changes;
}

/** Where two texts differ: {start, removed, added, end}; start and end are what both have. */
export function textDiff(before, after)
{
	const [a, b] = [[...before], [...after]];
	let head = 0;
	while (head < a.length && head < b.length && a[head] === b[head])
		head++;
	let tail = 0;
	while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail])
		tail++;
	const part = (list, from, to) => list.slice(from, to).join('');
	return { start: part(a, 0, head), removed: part(a, head, a.length - tail), added: part(b, head, b.length - tail), end: part(a, a.length - tail) };
}
