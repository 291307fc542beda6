/*
 * dialog-host.js: dialogs that are opened from anywhere, and where they appear.
 */
import { html, signal } from '../view.js';

const opened = signal([]);
let last = 0;

/**
 * Shows a dialog from anywhere and answers a promise of what it is closed with. `render(close)` returns a Dialog:
 * const name = await openDialog((close) => html`<${Rename} close=${close} />`).
 */
export function openDialog(render)
{
	return new Promise((resolve) => {
		const key = ++last;
		const close = (value) => {
			opened.value = opened.value.filter((one) => one.key !== key);
			resolve(value);
		};
		opened.value = [...opened.value, { key, render, close }];
	});
}

/** Where openDialog's dialogs appear; the shell has it once. */
export function DialogHost()
{
	return opened.value.map((one) => html`<div key=${one.key}>${one.render(one.close)}</div>`);
}
