/*
 * row-list.js: the list of events. It draws only the rows that are seen, in nodes that it uses again, so 100,000 rows
 * scroll as ten do. It is the one part that is not rendered by Preact.
 */
import { levelClass } from '../ui/badge.js';
import { lineOf, valueOf, visible, withoutColors } from './event-fields.js';
import { rowTime } from './time-text.js';

const over = 6; // Rows beyond what is seen, above and below.
const longest = 2000; // Characters of a text that a row shows; the drawer has all of it.
const heights = { compact: 20, normal: 24, roomy: 32 };
const hands = ['wheel', 'pointerdown', 'touchstart'];
const wrapped = 3; // Lines of a row that wraps.

const make = (tag, name, text) => {
	const node = document.createElement(tag);
	if (name)
		node.className = name;
	if (text !== undefined)
		node.textContent = text;
	return node;
};

/** Fills a node with a text in which what was searched for is marked. */
export function markedText(node, text, pattern)
{
	node.replaceChildren();
	let at = 0;
	if (pattern) {
		pattern.lastIndex = 0;
		for (let found; (found = pattern.exec(text));) {
			if (!found[0].length) {
				pattern.lastIndex++;
				continue;
			}
			if (found.index > at)
				node.append(text.slice(at, found.index));
			node.append(make('mark', 'term', found[0]));
			at = found.index + found[0].length;
		}
	}
	node.append(at ? text.slice(at) : text);
}

/** The list in an element. rows: {length, at(index), added}; added: how many have come on top since the beginning. */
export class RowList
{
	/** on: {open(index), active(index), near(end), scroll(top)}; id: a prefix for the ids of rows. */
	constructor(box, id, on)
	{
		this.box = box;
		this.id = id;
		this.on = on;
		this.rows = { length: 0, at: () => null };
		this.format = { columns: [], wrap: false, density: 'normal', terms: null, withDay: true };
		this.time = rowTime(this.format);
		this.active = -1;
		this.open = null;
		this.pool = [];
		this.sizer = make('div', 'rows-size');
		this.sizer.setAttribute('role', 'presentation');
		box.replaceChildren(this.sizer);
		this.frame = 0;
		this.wanted = null;
		this.onScroll = () => {
			this.frame ||= requestAnimationFrame(() => {
				this.frame = 0;
				this.holdPlace();
				this.draw();
				this.on.scroll?.(this.box.scrollTop);
			});
		};
		this.onKey = (event) => this.key(event);
		this.onHand = () => { this.wanted = null; };
		this.onClick = (event) => {
			const row = event.target.closest('.event-row');
			if (row && !window.getSelection()?.toString()) {
				this.setActive(row.index);
				this.on.open(row.index);
			}
		};
		this.observer = new ResizeObserver(() => this.draw());
		this.observer.observe(box);
		box.addEventListener('scroll', this.onScroll, { passive: true });
		for (const name of hands)
			box.addEventListener(name, this.onHand, { passive: true });
		box.addEventListener('keydown', this.onKey);
		box.addEventListener('click', this.onClick);
	}

	/** Takes the listeners away. */
	destroy()
	{
		cancelAnimationFrame(this.frame);
		this.observer.disconnect();
		this.box.removeEventListener('scroll', this.onScroll);
		for (const name of hands)
			this.box.removeEventListener(name, this.onHand);
		this.box.removeEventListener('keydown', this.onKey);
		this.box.removeEventListener('click', this.onClick);
		this.box.replaceChildren();
	}

	get height()
	{
		const line = heights[this.format.density];
		return this.format.wrap ? (line - 4) * wrapped + 8 : line;
	}

	/** Shows other rows. keep: it is the same list, which has become longer. */
	setRows(rows, { keep = false } = {})
	{
		// The active row stays the same event when others come above it.
		if (keep && this.active >= 0 && rows.added !== undefined)
			this.active = Math.min(this.active + rows.added - this.rows.added, rows.length - 1);
		this.rows = rows;
		if (!keep) {
			this.active = -1;
			this.place(0);
		}
		this.refresh();
	}

	/** Changes columns, wrap, density, terms (a pattern to mark), withDay. */
	setFormat(format)
	{
		const first = this.firstSeen();
		this.format = { ...this.format, ...format };
		this.time = rowTime(this.format);
		this.box.classList.toggle('is-wrapped', this.format.wrap);
		for (const density of Object.keys(heights))
			this.box.classList.toggle(`is-${density}`, density === this.format.density);
		this.refresh();
		this.place(first * this.height);
	}

	/** Marks the row that the drawer shows, by the id of its event. */
	setOpen(id)
	{
		this.open = id;
		this.refresh();
	}

	/** Scrolls to a place. */
	place(top)
	{
		this.wanted = { top: Math.max(0, Math.min(top, this.rows.length * this.height - this.box.clientHeight)), until: performance.now() + 500 };
		this.box.scrollTop = this.wanted.top;
	}

	// A list that has just become longer may be put back to its old end by the browser, a frame after it was scrolled beyond.
	holdPlace()
	{
		if (!this.wanted)
			return;
		if (performance.now() > this.wanted.until)
			this.wanted = null;
		else if (Math.abs(this.box.scrollTop - this.wanted.top) > 1)
			this.box.scrollTop = this.wanted.top;
	}

	firstSeen()
	{
		return Math.floor(this.box.scrollTop / this.height);
	}

	/** How many rows are seen at once. */
	get page()
	{
		return Math.max(1, Math.floor(this.box.clientHeight / this.height));
	}

	/** Draws every row again. */
	refresh()
	{
		for (const node of this.pool)
			node.index = -1;
		this.sizer.style.height = `${Math.max(1, this.rows.length * this.height)}px`;
		this.draw();
	}

	draw()
	{
		const { height } = this;
		const count = Math.min(this.rows.length, Math.ceil(this.box.clientHeight / height) + 2 * over);
		const first = Math.max(0, Math.min(this.firstSeen() - over, this.rows.length - count));
		while (this.pool.length < count) {
			const node = make('div', 'event-row');
			node.setAttribute('role', 'option');
			this.pool.push(node);
			this.sizer.append(node);
		}
		while (this.pool.length > count)
			this.pool.pop().remove();
		for (let index = first; index < first + count; index++) {
			const node = this.pool[index % count];
			if (node.index !== index || node.count !== count)
				this.fill(node, index, count);
		}
		if (this.rows.length && first + count > this.rows.length - 200)
			this.on.near?.();
	}

	fill(node, index, count)
	{
		const event = this.rows.at(index);
		const { columns, terms } = this.format;
		node.index = index;
		node.count = count;
		node.id = `${this.id}-${index}`;
		node.style.transform = `translateY(${index * this.height}px)`;
		node.style.height = `${this.height}px`;
		node.className = `event-row ${levelClass(event.level)}-edge ${index === this.active ? 'is-active' : ''} ${event.id !== undefined && event.id === this.open ? 'is-open' : ''}`;
		node.setAttribute('aria-selected', index === this.active ? 'true' : 'false');
		node.setAttribute('aria-setsize', String(this.rows.length));
		node.setAttribute('aria-posinset', String(index + 1));
		if (!node.cells || node.columns !== columns) {
			node.columns = columns;
			node.cells = columns.map((name) => make('span', `cell ${name === 'event' ? 'cell-event' : name === 'level' ? 'cell-level' : name === 'timestamp' ? 'cell-time' : 'cell-field'}`));
			node.replaceChildren(...node.cells);
		}
		columns.forEach((name, at) => {
			const cell = node.cells[at];
			const value = valueOf(event, name);
			if (name === 'timestamp')
				cell.textContent = value ? this.time(value) : '';
			else if (name === 'level') {
				cell.textContent = value ? lineOf(value, 12) : '-';
				cell.className = `cell cell-level ${levelClass(value)}`;
			} else if (name === 'event') {
				const text = typeof value === 'string' && this.format.wrap && value.length <= longest ? value : lineOf(value, longest);
				markedText(cell, visible(withoutColors(text)), terms);
			} else
				markedText(cell, visible(lineOf(value, 200)), terms);
		});
	}

	/** Makes a row the active one, and brings it into view. */
	setActive(index)
	{
		if (!this.rows.length)
			return;
		const next = Math.max(0, Math.min(index, this.rows.length - 1));
		const before = this.active;
		this.active = next;
		const top = next * this.height;
		if (top < this.box.scrollTop)
			this.place(top);
		else if (top + this.height > this.box.scrollTop + this.box.clientHeight)
			this.place(top + this.height - this.box.clientHeight);
		for (const node of this.pool)
			if (node.index === before || node.index === next)
				node.index = -1;
		this.draw();
		this.box.setAttribute('aria-activedescendant', `${this.id}-${next}`);
		this.on.active?.(next);
	}

	key(event)
	{
		const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: this.page, PageUp: -this.page }[event.key];
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (step !== undefined)
			this.setActive(this.active < 0 ? this.firstSeen() : this.active + step);
		else if (event.key === 'Home' || event.key === 'End')
			this.setActive(event.key === 'Home' ? 0 : this.rows.length - 1);
		else if (event.key === 'Enter' && this.active >= 0)
			this.on.open(this.active);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}
}
