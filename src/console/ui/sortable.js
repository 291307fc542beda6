/*
 * sortable.js: a list whose order people change: by dragging a handle, or by buttons, which is also for keyboards.
 */
import { html, useEffect, useRef, useState } from '../view.js';
import { IconButton } from './button.js';
import { Icon } from './icon.js';

/** The list with one item moved. */
export function moved(list, from, to)
{
	const next = [...list];
	next.splice(to, 0, ...next.splice(from, 1));
	return next;
}

/**
 * Keys for items that have no id: useItemKeys(items.length) answers {keys, move(from, to), remove(at)}, which are called
 * when the list is changed so. What is added at the end gets a new key.
 */
export function useItemKeys(count)
{
	const state = useRef({ keys: [], last: 0 });
	const now = state.current;
	while (now.keys.length < count)
		now.keys.push(`k${++now.last}`);
	now.keys.length = count;
	return {
		keys: now.keys,
		move: (from, to) => { now.keys = moved(now.keys, from, to); },
		remove: (at) => { now.keys = now.keys.filter((_, index) => index !== at); },
	};
}

/**
 * A list in an order. items; keyOf(item); nameOf(item, index); onMove(from, to); fixed: it may not be changed;
 * render(item, index, controls): what an item shows; controls are the handle and the buttons.
 */
export function Sortable({ items, keyOf, nameOf, onMove, fixed, render, label, class: extra = '' })
{
	const [grabbed, setGrabbed] = useState(null);
	const [over, setOver] = useState(null);
	const [said, setSaid] = useState('');
	const focus = useRef(null);
	const list = useRef(null);
	useEffect(() => {
		if (!focus.current)
			return;
		const { key, direction } = focus.current;
		focus.current = null;
		const buttons = [...list.current.querySelectorAll('[data-move]')].filter((one) => one.dataset.key === key && !one.disabled);
		(buttons.find((one) => one.dataset.move === direction) ?? buttons[0])?.focus();
	});
	function move(from, to, direction)
	{
		if (to < 0 || to >= items.length || from === to)
			return;
		setSaid(`${nameOf(items[from], from)}: place ${to + 1} of ${items.length}`);
		if (direction)
			focus.current = { key: String(keyOf(items[from])), direction };
		onMove(from, to);
	}
	const drop = () => {
		if (grabbed !== null && over !== null)
			move(grabbed, over);
		setGrabbed(null);
		setOver(null);
	};
	return html`<ol class=${`sortable ${extra}`} ref=${list} aria-label=${label}>${items.map((item, index) => {
		const key = String(keyOf(item));
		const controls = fixed || items.length < 2 ? null : html`<span class="sortable-controls">
			<span class="sortable-handle" title="Drag to another place" aria-hidden="true" onPointerDown=${() => setGrabbed(index)} onPointerUp=${() => setGrabbed(null)}><${Icon} name="grip" /></span>
			<${IconButton} icon="up" size="small" label=${`Move ${nameOf(item, index)} up`} disabled=${index === 0} data-move="up" data-key=${key} onClick=${() => move(index, index - 1, 'up')} />
			<${IconButton} icon="down" size="small" label=${`Move ${nameOf(item, index)} down`} disabled=${index === items.length - 1} data-move="down" data-key=${key} onClick=${() => move(index, index + 1, 'down')} />
		</span>`;
		const place = over === index && grabbed !== null && grabbed !== index ? (grabbed < index ? 'is-after' : 'is-before') : '';
		return html`<li key=${key} class=${`sortable-item ${grabbed === index ? 'is-grabbed' : ''} ${place}`} draggable=${grabbed === index ? 'true' : undefined}
			onDragStart=${(event) => {
				event.dataTransfer.effectAllowed = 'move';
				event.dataTransfer.setData('text/plain', '');
			}}
			onDragOver=${(event) => {
				if (grabbed !== null) {
					event.preventDefault();
					setOver(index);
				}
			}}
			onDrop=${(event) => { event.preventDefault(); drop(); }} onDragEnd=${() => { setGrabbed(null); setOver(null); }}
			>${render(item, index, controls)}</li>`;
	})}</ol><span class="visually-hidden" role="status">${said}</span>`;
}
