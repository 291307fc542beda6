/*
 * toast.js: short messages about what was done, with undo. Errors of a form never go here: they stay at the form.
 */
import { html, signal, useEffect, useState } from '../view.js';
import { Button, IconButton } from './button.js';
import { ErrorNotice } from './error-notice.js';

const toasts = signal([]);
let last = 0;
const drop = (key) => { toasts.value = toasts.value.filter((one) => one.key !== key); };

/**
 * Shows a message for 6 s (10 s with undo; it waits while the pointer or the focus is on it). undo: a function that
 * takes it back; its button works once, and an error of it is shown. Answers a function that takes the message away.
 */
export function toast(text, { undo, kind = 'info', seconds = undo ? 10 : 6 } = {})
{
	const key = ++last;
	toasts.value = [...toasts.value.slice(-3), { key, text, undo, kind, seconds }];
	return () => drop(key);
}

/** Shows an error that has no place on the page, such as that of an undo. */
export function toastError(error)
{
	const key = ++last;
	toasts.value = [...toasts.value.slice(-3), { key, error, seconds: 0 }];
}

function Toast({ one })
{
	const [held, setHeld] = useState(false);
	const [busy, setBusy] = useState(false);
	useEffect(() => {
		if (!one.seconds || held || busy)
			return undefined;
		const timer = setTimeout(() => drop(one.key), one.seconds * 1000);
		return () => clearTimeout(timer);
	}, [held, busy]);
	async function undo()
	{
		setBusy(true);
		try {
			await one.undo();
			drop(one.key);
		} catch (error) {
			drop(one.key);
			toastError(error);
		}
	}
	const hold = { onMouseEnter: () => setHeld(true), onMouseLeave: () => setHeld(false), onFocusIn: () => setHeld(true), onFocusOut: () => setHeld(false) };
	if (one.error)
		return html`<div class="toast toast-error"><div class="grow"><${ErrorNotice} error=${one.error} /></div>
			<${IconButton} icon="close" label="Dismiss" size="small" onClick=${() => drop(one.key)} /></div>`;
	return html`<div class="toast" ...${hold}><span class="grow break">${one.text}</span>
		${one.undo && html`<${Button} size="small" kind="toast" busy=${busy} onClick=${undo}>Undo<//>`}
		<${IconButton} icon="close" label="Dismiss" size="small" kind="toast" onClick=${() => drop(one.key)} /></div>`;
}

/** Where toasts appear; the shell has it once. */
export function ToastHost()
{
	return html`<div class="toasts" role="status" aria-live="polite">${toasts.value.map((one) => html`<${Toast} key=${one.key} one=${one} />`)}</div>`;
}
