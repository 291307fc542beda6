/*
 * grid.js: panels in their places; by pointer or keys they move and grow.
 */
import { html, useRef, useState } from '../view.js';
import { Icon } from '../ui/icon.js';
import { columns, inOrder, put, shiftRow } from './layout.js';

const keys = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const said = ({ x, y, w, h }) => `column ${x + 1}, row ${y + 1}, ${w} wide, ${h} high`;

function Cell({ panel, order, editing, selected, onChange, panels, box, tell, head, children })
{
	const drag = useRef(null);
	function begin(event, kind)
	{
		if (event.button !== 0)
			return;
		event.preventDefault();
		event.currentTarget.focus();
		event.currentTarget.setPointerCapture(event.pointerId);
		const area = box.current.getBoundingClientRect();
		drag.current = { kind, x: event.clientX, y: event.clientY, from: panels, place: panel.layout, column: area.width / columns, row: 44 };
	}
	function move(event)
	{
		const now = drag.current;
		if (!now)
			return;
		const dx = Math.round((event.clientX - now.x) / now.column);
		const dy = Math.round((event.clientY - now.y) / now.row);
		onChange(put(now.from, panel.id, now.kind === 'move' ? { x: now.place.x + dx, y: now.place.y + dy } : { w: Math.min(columns - now.place.x, now.place.w + dx), h: now.place.h + dy }));
	}
	function end()
	{
		drag.current = null;
	}
	function onKey(event)
	{
		if (event.key === 'Escape' && drag.current) {
			onChange(drag.current.from);
			end();
			return;
		}
		const step = keys[event.key];
		if (!step || event.altKey || event.ctrlKey || event.metaKey)
			return;
		event.preventDefault();
		const { x, w, h } = panel.layout;
		const next = event.shiftKey ? put(panels, panel.id, { w: Math.min(columns - x, w + step[0]), h: h + step[1] })
			: step[0] ? put(panels, panel.id, { x: x + step[0] }) : shiftRow(panels, panel.id, step[1]);
		onChange(next);
		tell(`${panel.title || 'Panel'}: ${said(next.find((one) => one.id === panel.id).layout)}`);
	}
	const handle = (kind) => ({ onPointerDown: (event) => begin(event, kind), onPointerMove: move, onPointerUp: end, onPointerCancel: end, onKeyDown: onKey });
	const { x, y, w, h } = panel.layout;
	return html`<div class=${`panel ${selected ? 'is-selected' : ''}`} role="group" aria-label=${panel.title || 'Panel'} data-panel=${panel.id} data-kind=${panel.kind}
		style=${{ gridColumn: `${x + 1} / span ${w}`, gridRow: `${y + 1} / span ${h}`, '--rows': String(h), '--order': String(order) }}>
		<header class="panel-head">${editing && html`<button type="button" class="panel-handle" aria-label=${`Move ${panel.title || 'panel'}: arrows move it, Shift and arrows resize it`}
			title="Drag, or use the arrows; Shift and arrows resize" ...${handle('move')}><${Icon} name="grip" /></button>`}
			${panel.title ? html`<h2 class="panel-title truncate" title=${panel.title}><bdi>${panel.title}</bdi></h2>` : html`<span class="panel-title"></span>`}${head}</header>
		<div class="panel-body">${children}</div>
		${editing && html`<button type="button" class="panel-corner" tabindex="-1" aria-label=${`Resize ${panel.title || 'panel'}`} ...${handle('resize')}></button>`}</div>`;
}

/** The grid. panels with layout; render(panel) answers {head, content}; editing: onChange gets all panels with other places. */
export function Grid({ panels, render, editing = false, onChange, selected })
{
	const box = useRef(null);
	const [spoken, setSpoken] = useState('');
	// While it is edited, nodes stay where they are in the document: those that move would lose the focus and the pointer.
	const order = new Map(inOrder(panels).map((one, index) => [one.id, index]));
	return html`<div class=${`panels ${editing ? 'is-editing' : ''}`} ref=${box}>${(editing ? panels : inOrder(panels)).map((panel) => {
		const { head, content } = render(panel);
		return html`<${Cell} key=${panel.id} order=${order.get(panel.id)} panel=${panel} panels=${panels} box=${box} editing=${editing} selected=${selected === panel.id} onChange=${onChange} tell=${setSpoken} head=${head}>${content}<//>`;
	})}</div><p class="visually-hidden" role="status">${spoken}</p>`;
}
