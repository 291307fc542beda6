/*
 * alert-actions.js: acknowledging and resolving an alert, each with a note.
 */
import { html, useState } from '../view.js';
import { api } from '../api.js';
import { Button } from '../ui/button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { TextArea } from '../ui/field.js';
import { toast } from '../ui/toast.js';

function Act({ close, alert, verb, title, text, action, hint })
{
	const [note, setNote] = useState(alert.note ?? '');
	const [busy, setBusy] = useState(false);
	const [error, setError] = useState(null);
	async function send()
	{
		if (busy)
			return;
		setBusy(true);
		setError(null);
		try {
			close((await api.post(`/api/v1/alerts/${alert.id}/${verb}`, note.trim() ? { note: note.trim() } : {})).data);
		} catch (caught) {
			setError(caught);
			setBusy(false);
		}
	}
	return html`<${Dialog} title=${title} onClose=${busy ? undefined : () => close(null)} footer=${html`<${Button} onClick=${() => close(null)} disabled=${busy}>Cancel<//>
		<${Button} kind="primary" busy=${busy} onClick=${send}>${action}<//>`}>
		<form class="stack" onSubmit=${(event) => { event.preventDefault(); send(); }} onKeyDown=${(event) => {
			if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
				send();
		}}>
			<p class="break">${text}</p>
			<${TextArea} label="Note" optional maxlength="2000" rows="3" value=${note} onInput=${setNote} hint=${hint} error=${error?.fields?.note} data-autofocus />
			<${ErrorNotice} error=${error} title=${error?.code === 'ALERT_RESOLVED' ? 'It was resolved in the meantime' : undefined} /></form><//>`;
}

/** Says that somebody looks after it, with a note; answers the alert, or null. */
export async function acknowledge(alert)
{
	const done = await openDialog((close) => html`<${Act} close=${close} alert=${alert} verb="acknowledge" title="Acknowledge" action="Acknowledge"
		text=${`${alert.ruleName}: you look after it. Nobody is told again while it fires.`} hint="What others should know: a cause, a ticket. Ctrl+Enter sends it." />`);
	if (done)
		toast('Acknowledged.');
	return done;
}

/** Resolves it by hand, with a note; on a resolved one, changes the note. Answers the alert, or null. */
export async function resolve(alert)
{
	const over = alert.status === 'resolved';
	const done = await openDialog((close) => html`<${Act} close=${close} alert=${alert} verb="resolve" title=${over ? 'Change the note' : 'Resolve'} action=${over ? 'Save' : 'Resolve'}
		text=${over ? alert.ruleName : `${alert.ruleName}: while its condition still holds, it is not raised again.`} />`);
	if (done)
		toast(over ? 'Note saved.' : 'Resolved.');
	return done;
}
