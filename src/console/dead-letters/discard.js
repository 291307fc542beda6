/*
 * discard.js: giving dead letters up for good, for a reason that the audit log keeps.
 */
import { html, useId } from '../view.js';
import { api } from '../api.js';
import { Button } from '../ui/button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field } from '../ui/field.js';
import { useForm } from '../ui/use-form.js';

function Discard({ close, which, what })
{
	const id = useId();
	const form = useForm({
		values: { reason: '' },
		check: (values) => (values.reason.trim() ? {} : { reason: 'Say why; the audit log keeps it.' }),
		send: async (values) => close((await api.post('/api/v1/dead-letters/discard', { ...which, reason: values.reason.trim() })).data),
	});
	return html`<${Dialog} title="Discard for good?" size="small" onClose=${form.busy ? undefined : () => close(null)} footer=${html`
		<${Button} onClick=${() => close(null)} disabled=${form.busy}>Cancel<//>
		<${Button} kind="danger" type="submit" form=${id} busy=${form.busy}>Discard<//>`}>
		<form class="stack" id=${id} onSubmit=${form.submit} novalidate>
			<p class="break">You give up <strong>${what}</strong>. This cannot be undone.</p>
			<${Field} label="Reason" maxlength="1000" required autocomplete="off" data-autofocus ...${form.bind('reason')} />
			<${ErrorNotice} error=${form.error} />
		</form>
	<//>`;
}

/** Asks for the reason and discards; which: {ids} or {filter}; what: in words. Answers {count, events}, or null. */
export const discard = (which, what) => openDialog((close) => html`<${Discard} close=${close} which=${which} what=${what} />`);
