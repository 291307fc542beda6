/*
 * event-list.js: the list of events for Preact: head with the columns, rows, what is at the end.
 */
import { html, useEffect, useId, useLayoutEffect, useRef } from '../view.js';
import { zoneChoice } from '../ui/time.js';
import { columnTitle } from './display.js';
import { RowList } from './row-list.js';

const known = (name) => (['timestamp', 'level', 'event'].includes(name) ? name : 'field');

/**
 * The list. rows: {length, at(index), key}: another key is another list, a longer one of the same key keeps its place;
 * format: see RowList.setFormat; opened: the id of the event in the drawer; onOpen(index); onNear(): the end is near;
 * onScroll(top); control: gets the RowList; children: below the rows.
 */
export function EventList({ label, rows, format, opened, onOpen, onNear, onScroll, control, children })
{
	const box = useRef(null);
	const list = useRef(null);
	const shown = useRef(null);
	const id = useId();
	const on = useRef({});
	on.current = { onOpen, onNear, onScroll };
	useLayoutEffect(() => {
		list.current = new RowList(box.current, id, {
			open: (index) => on.current.onOpen?.(index), near: () => on.current.onNear?.(), scroll: (top) => on.current.onScroll?.(top) });
		if (control)
			control.current = list.current;
		return () => {
			list.current.destroy();
			if (control?.current === list.current)
				control.current = null;
		};
	}, []);
	const { columns, wrap, density, terms, withDay } = format;
	useLayoutEffect(() => { list.current.setFormat({ columns, wrap, density, terms, withDay }); },
		[columns.join('\n'), wrap, density, terms?.source, withDay, zoneChoice.value]);
	useLayoutEffect(() => {
		list.current.setRows(rows, { keep: shown.current === rows.key });
		shown.current = rows.key;
	}, [rows, rows.length]);
	useEffect(() => { list.current.setOpen(opened ?? null); }, [opened]);
	return html`<div class=${`events is-${density} ${withDay ? '' : 'is-within-day'}`}>
		<div class="events-head" aria-hidden="true">${columns.map((name) => html`<span key=${name} class=${`cell cell-${known(name) === 'timestamp' ? 'time' : known(name)}`}>${columnTitle(name)}</span>`)}</div>
		<div class="rows" ref=${box} role="listbox" tabindex="0" aria-label=${label}></div>
		${children}</div>`;
}
