/*
 * layout.js: places of panels in a grid of 24 columns. Panels never overlap, and rise as far as they can.
 */

/** How many columns there are. */
export const columns = 24;

const overlap = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

/** A place within the grid: whole numbers, at least 3 by 2. */
export function within({ x, y, w, h })
{
	const width = Math.max(3, Math.min(columns, Math.round(w)));
	return { x: Math.max(0, Math.min(columns - width, Math.round(x))), y: Math.max(0, Math.round(y)), w: width, h: Math.max(2, Math.min(100, Math.round(h))) };
}

/** Panels in the order in which they are read. */
export const inOrder = (panels) => [...panels].sort((a, b) => a.layout.y - b.layout.y || a.layout.x - b.layout.x);

/** Takes panels apart and lets them rise; that with the id `first` keeps its place before others. */
export function settle(panels, first)
{
	const order = [...panels].sort((a, b) => a.layout.y - b.layout.y || (b.id === first) - (a.id === first) || a.layout.x - b.layout.x);
	const placed = [];
	for (const panel of order) {
		const place = { ...panel.layout };
		const free = () => !placed.some((one) => overlap(one, place));
		while (!free())
			place.y++;
		while (place.y > 0) {
			place.y--;
			if (!free()) {
				place.y++;
				break;
			}
		}
		placed.push({ ...place, id: panel.id });
	}
	const places = new Map(placed.map(({ id, ...place }) => [id, place]));
	return panels.map((panel) => ({ ...panel, layout: places.get(panel.id) }));
}

/** Moves or resizes a panel. */
export function put(panels, id, change)
{
	return settle(panels.map((panel) => (panel.id === id ? { ...panel, layout: within({ ...panel.layout, ...change }) } : panel)), id);
}

/** Moves a panel a step up or down: past the panels that are in its way. */
export function shiftRow(panels, id, by)
{
	const panel = panels.find((one) => one.id === id);
	for (let step = 1; step <= 100; step++) {
		const next = put(panels, id, { y: Math.max(0, panel.layout.y + by * step) });
		if (next.find((one) => one.id === id).layout.y !== panel.layout.y)
			return next;
		if (by < 0 && panel.layout.y - step <= 0)
			break;
	}
	return panels;
}

/** A place for a new panel: beside the last one if there is room, otherwise below all. A number is smaller than a chart. */
export function freePlace(panels, kind)
{
	const size = kind === 'stat' ? { w: 6, h: 4 } : { w: 12, h: 8 };
	const last = inOrder(panels).at(-1)?.layout;
	const beside = last && { x: last.x + last.w, y: last.y, ...size };
	return beside && beside.x + beside.w <= columns && !panels.some((one) => overlap(one.layout, beside)) ? beside
		: { x: 0, y: Math.max(0, ...panels.map((one) => one.layout.y + one.layout.h)), ...size };
}

/** An id that no panel has. */
export function freeId(panels)
{
	let number = panels.length + 1;
	while (panels.some((one) => one.id === `p${number}`))
		number++;
	return `p${number}`;
}
