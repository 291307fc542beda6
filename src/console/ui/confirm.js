/*
 * confirm.js: questions before what cannot be undone.
 */
import { html, useState } from '../view.js';
import { Button } from './button.js';
import { Dialog, openDialog } from './dialog.js';
import { ErrorNotice } from './error-notice.js';
import { Field } from './field.js';

function Confirm({ close, title, text, action, danger, name, run })
{
	const [typed, setTyped] = useState('');
	const [busy, setBusy] = useState(false);
	const [error, setError] = useState(null);
	const missing = Boolean(name) && typed.trim() !== name;
	async function confirm(event)
	{
		event?.preventDefault();
		if (missing || busy)
			return;
		setBusy(true);
		setError(null);
		try {
			close({ value: await run?.() });
		} catch (caught) {
			setError(caught);
			setBusy(false);
		}
	}
	return html`<${Dialog} title=${title} size="small" onClose=${busy ? undefined : () => close(null)} footer=${html`
		<${Button} onClick=${() => close(null)} disabled=${busy} data-autofocus=${!name}>Cancel<//>
		<${Button} kind=${danger ? 'danger' : 'primary'} busy=${busy} disabled=${missing} onClick=${confirm}>${action}<//>`}>
		<form class="stack" onSubmit=${confirm}>
			<div class="break">${text}</div>
			${name && html`<${Field} label=${html`Type <strong class="break">${name}</strong> to confirm`} name="confirm-name"
				value=${typed} onInput=${setTyped} autocomplete="off" spellcheck=${false} data-autofocus />`}
			<${ErrorNotice} error=${error} />
		</form>
	<//>`;
}

/**
 * Asks, and then runs: confirm({title, text, action: 'Revoke', danger: true, name: 'prod key', run: () => api...}).
 * name: it has to be typed. While run works the dialog stays, and shows its error. Answers {value: what run answered},
 * or null when the user went back.
 */
export function confirm(options)
{
	return openDialog((close) => html`<${Confirm} close=${close} ...${options} />`);
}
