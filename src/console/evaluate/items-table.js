/*
 * items-table.js: the expected items, with counters of characters.
 */
import { html, useRef, useState } from '../view.js';
import { Button, IconButton } from '../ui/button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { TextArea } from '../ui/field.js';
import { toast } from '../ui/toast.js';
import { codePoints, itemsOf, limits } from './rows.js';

/** How much of a limit a text uses; read aloud only when it is too long. */
export function Counter({ text, limit })
{
	const count = codePoints(text);
	return html`<span class=${`counter small number ${count > limit ? 'is-over' : ''}`} role=${count > limit ? 'alert' : undefined}
		>${count}/${limit}${count > limit && html`<span class="visually-hidden"> characters: too long</span>`}</span>`;
}

function PasteItems({ close })
{
	const [text, setText] = useState('');
	const found = itemsOf(text);
	return html`<${Dialog} title="Paste expected items" onClose=${() => close(null)} footer=${html`
		<${Button} onClick=${() => close(null)}>Cancel<//>
		<${Button} kind="primary" disabled=${!found.length} onClick=${() => close(found)}>Add ${found.length || ''} ${found.length === 1 ? 'item' : 'items'}<//>`}>
		<${TextArea} label="CSV, or cells of a spreadsheet" hint="Two columns: id and description. With one column, ids are made." name="items-csv" rows="8"
			class="input mono" value=${text} onInput=${setText} data-autofocus />
	<//>`;
}

let last = 0;
/** A new item with a key of its own. */
export const newItem = (id = '', description = '') => ({ key: ++last, id, description });

/** What is wrong with the items: a text, or null. */
export function itemsProblem(items)
{
	const used = items.filter((one) => one.id !== '' || one.description !== '');
	if (used.length > limits.items)
		return `${used.length} items; ${limits.items} are the most.`;
	const seen = new Set();
	for (const one of used) {
		if (!one.id.trim() || !one.description.trim())
			return 'Each item needs an id and a description.';
		if (seen.has(one.id))
			return `The id ${one.id} is there twice.`;
		seen.add(one.id);
		if (codePoints(one.id) > limits.itemId || codePoints(one.description) > limits.itemDescription)
			return 'An id has at most 100 characters, a description 500.';
	}
	return null;
}

/** The table. items: {key, id, description}; onItems gets the next list. */
export function ItemsTable({ items, onItems, problem })
{
	const box = useRef(null);
	const latest = useRef(items);
	latest.current = items;
	const change = (key, what) => onItems(items.map((one) => (one.key === key ? { ...one, ...what } : one)));
	function add(found)
	{
		const taken = new Set(latest.current.map((one) => one.id));
		let number = 0;
		const made = found.map((one) => {
			let { id } = one;
			while (!id || (one.id === '' && taken.has(id)))
				id = `item-${++number}`;
			taken.add(id);
			return newItem(id, one.description);
		});
		onItems([...latest.current.filter((one) => one.id !== '' || one.description !== ''), ...made]);
	}
	function remove(item)
	{
		const at = items.indexOf(item);
		onItems(items.filter((one) => one !== item));
		if (item.id || item.description)
			toast(`Item ${item.id || item.description} removed`, { undo: () => onItems([...latest.current.slice(0, at), item, ...latest.current.slice(at)]) });
		requestAnimationFrame(() => (box.current?.querySelectorAll('tbody button')[Math.min(at, items.length - 2)] ?? box.current?.querySelector('.items-add'))?.focus());
	}
	function addEmpty()
	{
		onItems([...items, newItem()]);
		requestAnimationFrame(() => box.current?.querySelector('tbody tr:last-child input')?.focus());
	}
	function paste(event)
	{
		const text = event.clipboardData.getData('text/plain');
		if (!/[\n\t]/.test(text.trim()))
			return;
		event.preventDefault();
		add(itemsOf(text));
	}
	return html`<div class="stack-s" ref=${box}>
		<div class="row-between"><h3>Expected items <span class="muted small">(optional)</span></h3>
			<${Button} size="small" kind="ghost" icon="copy" onClick=${async () => add(await openDialog((close) => html`<${PasteItems} close=${close} />`) ?? [])}>Paste CSV<//></div>
		${items.length > 0 && html`<div class="table-scroll items-scroll"><table class="table items"><caption class="visually-hidden">Expected items</caption>
			<thead><tr><th scope="col">Id</th><th scope="col">Description</th><th scope="col"><span class="visually-hidden">Remove</span></th></tr></thead>
			<tbody>${items.map((item, index) => html`<tr key=${item.key}>
				<td class="items-id"><input class="input mono" aria-label=${`Id of item ${index + 1}`} value=${item.id} spellcheck=${false} placeholder="migrated"
					onInput=${(event) => change(item.key, { id: event.currentTarget.value })} onPaste=${paste} /><${Counter} text=${item.id} limit=${limits.itemId} /></td>
				<td><input class="input" aria-label=${`Description of item ${index + 1}`} value=${item.description} placeholder="the migration was applied"
					onInput=${(event) => change(item.key, { description: event.currentTarget.value })}
					onKeyDown=${(event) => { if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey && index === items.length - 1) { event.preventDefault(); addEmpty(); } }} />
					<${Counter} text=${item.description} limit=${limits.itemDescription} /></td>
				<td><${IconButton} icon="trash" size="small" label=${`Remove item ${item.id || index + 1}`} onClick=${() => remove(item)} /></td></tr>`)}</tbody></table></div>`}
		<div class="row-between"><${Button} size="small" icon="plus" class="items-add" disabled=${items.length >= limits.items} onClick=${addEmpty}>Add item<//>
			<span class="small muted number">${items.length} of ${limits.items}</span></div>
		${problem && html`<p class="field-error" role="alert"><span>${problem}</span></p>`}
	</div>`;
}
