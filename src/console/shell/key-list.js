/*
 * key-list.js: the list of keys, shown by `?`.
 */
import { html } from '../view.js';
import { Dialog } from '../ui/dialog.js';
import { apple, keyList } from './keys.js';

/** Keys as people read them: mod+k is Ctrl K, or the sign of Command. */
export function Keys({ keys })
{
	return html`<span class="keys">${keys.split(/[ +]/).map((one, index) => html`<kbd key=${index}>${
		{ mod: apple ? '⌘' : 'Ctrl', alt: 'Alt', Escape: 'Esc', ArrowUp: '↑', ArrowDown: '↓' }[one] ?? one}</kbd>`)}</span>`;
}

/** The dialog with all keys of this page. */
export default function KeyList({ close })
{
	const groups = [...new Set(keyList.value.map((one) => one.group))];
	return html`<${Dialog} title="Keys" onClose=${close}><div class="key-groups">
		${groups.map((group) => html`<section key=${group}><h3>${group}</h3><dl class="key-list">
			${keyList.value.filter((one) => one.group === group).map((one) => html`<div key=${one.keys}><dt>${one.text}</dt>
				<dd><${Keys} keys=${one.keys} /></dd></div>`)}</dl></section>`)}
	</div><//>`;
}
