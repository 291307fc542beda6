/*
 * tabs.js: views of one thing. Arrow keys move between them.
 */
import { html, useId, useRef } from '../view.js';

/** Tabs. tabs: {id, label, count}; selected: an id; onSelect gets the id; children: the panel of the selected one. */
export function Tabs({ label, tabs, selected, onSelect, children })
{
	const id = useId();
	const list = useRef(null);
	function onKey(event)
	{
		const at = tabs.findIndex((one) => one.id === selected);
		const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
		if (to === undefined)
			return;
		event.preventDefault();
		const next = (to + tabs.length) % tabs.length;
		onSelect(tabs[next].id);
		list.current.children[next].focus();
	}
	return html`<div class="tabs"><div class="tab-list" role="tablist" aria-label=${label} ref=${list} onKeyDown=${onKey}>
		${tabs.map((one) => html`<button key=${one.id} type="button" role="tab" id=${`${id}-${one.id}`} class="tab" tabindex=${one.id === selected ? 0 : -1}
			aria-selected=${one.id === selected ? 'true' : 'false'} aria-controls=${one.id === selected ? `${id}-panel` : undefined}
			onClick=${() => onSelect(one.id)}>${one.label}${one.count !== undefined && html`<span class="tab-count">${one.count}</span>`}</button>`)}
	</div><div class="tab-panel" role="tabpanel" id=${`${id}-panel`} aria-labelledby=${`${id}-${selected}`}>${children}</div></div>`;
}
