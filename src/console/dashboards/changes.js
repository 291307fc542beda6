/*
 * changes.js: what a version of a dashboard has changed against another, in words.
 */
const same = (a, b) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));

// Members in one order: the service may answer them in another one than the page has them.
function sorted(value)
{
	if (Array.isArray(value))
		return value.map(sorted);
	if (value === null || typeof value !== 'object')
		return value ?? null;
	return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null && one !== undefined).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, sorted(one)]));
}

const members = [['name', 'Name'], ['description', 'Description'], ['tags', 'Tags'], ['timeRange', 'Time'], ['refreshSeconds', 'Refresh'], ['variables', 'Variables']];

/** What a version has changed against an older one: texts. */
export function changes(before, after)
{
	const list = members.filter(([name]) => !same(before[name], after[name])).map(([, label]) => `${label} changed`);
	const old = new Map(before.panels.map((one) => [one.id, one]));
	const next = new Map(after.panels.map((one) => [one.id, one]));
	const title = (panel) => panel.title || `panel ${panel.id}`;
	for (const panel of after.panels) {
		const was = old.get(panel.id);
		if (!was)
			list.push(`Added: ${title(panel)}`);
		else if (!same({ ...was, layout: 0 }, { ...panel, layout: 0 }))
			list.push(`Changed: ${title(panel)}`);
		else if (!same(was.layout, panel.layout))
			list.push(`Moved: ${title(panel)}`);
	}
	for (const panel of before.panels)
		if (!next.has(panel.id))
			list.push(`Removed: ${title(panel)}`);
	return list;
}
