/*
 * json-tree.js: an object as a tree, whose leaves become filters and columns.
 */
import { html, useState } from '../view.js';
import { IconButton } from '../ui/button.js';
import { copyText } from '../ui/copy-button.js';
import { Icon } from '../ui/icon.js';
import { Menu } from '../ui/menu.js';
import { toast } from '../ui/toast.js';
import { formatTime } from '../ui/time.js';
import { visible } from './event-fields.js';
import { builtins, filterState, writeField, writeValue } from './query-text.js';

const most = 100; // Members that are shown at once.
const longest = 5000; // Characters of a text that are shown at once.

const kindOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

async function copy(text)
{
	toast(await copyText(text) ? 'Copied' : 'The browser does not allow copying.');
}

function LongText({ text })
{
	const [all, setAll] = useState(false);
	if (text.length <= longest || all)
		return html`<bdi class="json-string">${visible(text)}</bdi>`;
	return html`<bdi class="json-string">${visible(text.slice(0, longest))}…</bdi> <button type="button" class="link-button" onClick=${() => setAll(true)}>Show all ${text.length.toLocaleString('en-US')} characters</button>`;
}

/** Is it a time as the API writes them? */
export const isTime = (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(value);

/** Such a time in the chosen zone, as lists of events show it. */
export function TimeText({ value })
{
	return html`<span class="time" title=${value}>${formatTime(value, { precise: true })}</span>`;
}

function Leaf({ name, path, value, builtin, on })
{
	const kind = kindOf(value);
	const column = builtin || !builtins.has(path) ? path : `attributes.${path}`;
	// Filters compare a field with one value; elements of lists are no fields.
	const field = path === null ? null : writeField(path, builtin);
	const term = field && kind !== 'null' && String(value).length <= 1000 ? writeValue(value) : null;
	const state = term && on.query !== undefined ? filterState(on.query, field, term) : null;
	const shown = visible(name);
	return html`<li class="json-leaf">
		<div class="json-line"><span class="json-name"><bdi>${shown}</bdi></span>
			<span class=${`json-value json-${kind}`}>${builtin && isTime(value) ? html`<${TimeText} value=${value} />` : kind === 'string' ? html`<${LongText} text=${value} />` : String(value)}</span></div>
		<div class="json-actions">
			${term && on.onFilter && html`<${IconButton} icon="plus" size="small" label=${`Only events with this ${shown}`} aria-pressed=${state === 'include' ? 'true' : 'false'} onClick=${() => on.onFilter(field, term, false)} />
			<${IconButton} icon="minus" size="small" label=${`No events with this ${shown}`} aria-pressed=${state === 'exclude' ? 'true' : 'false'} onClick=${() => on.onFilter(field, term, true)} />`}
			<${Menu} icon="more" size="small" label=${`More about ${shown}`} items=${[
				{ label: 'Copy value', icon: 'copy', onSelect: () => copy(typeof value === 'string' ? value : JSON.stringify(value)) },
				field && on.onFilter && { label: 'Copy as filter', icon: 'filter', onSelect: () => copy(`${field}=${term ?? '*'}`) },
				field && on.onColumn && { label: on.columns.includes(column) ? 'Hide column' : 'Show as column', icon: 'columns', onSelect: () => on.onColumn(column) },
				field && on.onTerm && { label: 'Events that have it', icon: 'filter', onSelect: () => on.onTerm(`${field}=*`) },
				field && on.onGroup && { label: 'Group by', icon: 'chart', onSelect: () => on.onGroup(field) },
			]} />
		</div></li>`;
}

function Branch({ name, path, value, depth, on })
{
	const [open, setOpen] = useState(depth < 3);
	const list = Array.isArray(value);
	const size = list ? value.length : Object.keys(value).length;
	return html`<li><button type="button" class="json-branch" aria-expanded=${open ? 'true' : 'false'} onClick=${() => setOpen(!open)}>
			<${Icon} name=${open ? 'down' : 'right'} /><span class="json-name"><bdi>${visible(name)}</bdi></span> <span class="faint">${list ? `[${size}]` : `{${size}}`}</span></button>
		${open && html`<${Members} path=${path} value=${value} depth=${depth + 1} on=${on} />`}</li>`;
}

/** The members of an object or a list. path: the name of the field above, '' for attributes, null: no field. */
export function Members({ path, value, depth = 0, on })
{
	const [shown, setShown] = useState(most);
	const list = Array.isArray(value);
	const entries = Object.entries(value);
	return html`<ul class="json">${entries.slice(0, shown).map(([name, member]) => {
		const own = list || path === null ? null : path ? `${path}.${name}` : name;
		return member !== null && typeof member === 'object' && Object.keys(member).length
			? html`<${Branch} key=${name} name=${name} path=${own} value=${member} depth=${depth} on=${on} />`
			: html`<${Leaf} key=${name} name=${name} path=${own} value=${member !== null && typeof member === 'object' ? JSON.stringify(member) : member} builtin=${false} on=${on} />`;
	})}
	${entries.length > shown && html`<li><button type="button" class="link-button" onClick=${() => setShown(shown + most)}>Show more of ${entries.length}</button></li>`}</ul>`;
}

/** Built-in fields: [{name, value}]. */
export function BuiltinFields({ fields, on })
{
	return html`<ul class="json">${fields.map((one) => html`<${Leaf} key=${one.name} name=${one.name} path=${one.name} value=${one.value} builtin=${true} on=${on} />`)}</ul>`;
}
