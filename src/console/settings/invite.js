/*
 * invite.js: inviting people, several at once.
 */
import { html, useId } from '../view.js';
import { api } from '../api.js';
import { can } from '../session.js';
import { Button } from '../ui/button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { CopyBox } from '../ui/copy-button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { RadioCards, TextArea } from '../ui/field.js';
import { sendsMail } from '../ui/mail.js';
import { formatNumber } from '../ui/numbers.js';
import { useForm } from '../ui/use-form.js';
import { addressesIn } from './address-list.js';
import { roleTexts } from './roles.js';

const most = 20;

function check({ emails }, seats)
{
	const list = addressesIn(emails);
	const wrong = list.find((one) => !/^[^@\s]+@[^@\s]+$/.test(one));
	if (!list.length)
		return { emails: 'Enter an address.' };
	if (wrong)
		return { emails: `${wrong.slice(0, 80)} is not an e-mail address.` };
	if (list.length > most)
		return { emails: `At most ${most} at once.` };
	if (seats && seats.limit !== null && list.length > seats.limit - seats.used)
		return { emails: `${formatNumber(Math.max(0, seats.limit - seats.used))} of ${formatNumber(seats.limit)} seats are free.` };
	return {};
}

function Links({ close, made })
{
	return html`<${Dialog} title=${made.length === 1 ? 'Pass the link on' : 'Pass the links on'} closeBeside=${false} footer=${html`
		<${Button} kind="primary" onClick=${() => close()} data-autofocus>Done<//>`}>
		<div class="stack"><p>This service sends no mails. Give each of them the link, which is shown only now and valid for 48 hours; they sign in with that address, or sign up.</p>
			${made.map((one) => html`<div key=${one.email} class="stack-s"><strong class="break"><bdi>${one.email}</bdi></strong><${CopyBox} text=${one.link} label=${`Copy link for ${one.email}`} /></div>`)}</div><//>`;
}

/** Shows the links of invitations, where the service has put them into its answers; answers whether there are any. */
export async function showLinks(invitations)
{
	const made = invitations.filter((one) => one.link);
	if (made.length)
		await openDialog((close) => html`<${Links} close=${close} made=${made} />`);
	return made.length > 0;
}

function Invite({ close, seats, onSent })
{
	const id = useId();
	const form = useForm({
		values: { emails: '', role: 'member' },
		fields: { email: 'emails' },
		check: (values) => check(values, seats),
		send: async ({ emails, role }) => {
			const left = addressesIn(emails);
			const count = left.length;
			// One after the other: what has gone out leaves the field, so that another try sends nothing twice.
			while (left.length) {
				try {
					onSent((await api.post('/api/v1/invitations', { email: left[0], role })).data);
				} catch (error) {
					form.set({ emails: left.join('\n') });
					throw error.status === 409 || error.fields?.email ? Object.assign(error, { details: [{ path: 'email', message: `For ${left[0]}: ${error.message}` }] }) : error;
				}
				left.shift();
			}
			close(count);
		},
	});
	// An owner may make owners; the service refuses that of everybody else.
	const roles = roleTexts.map((one) => (one.value === 'owner' && !can('billing:manage') ? { ...one, reason: 'Only an owner can make somebody an owner.' } : one));
	return html`<${Dialog} title="Invite people" closeBeside=${false} onClose=${form.busy ? undefined : () => close(0)} footer=${html`
		<${Button} onClick=${() => close(0)} disabled=${form.busy}>Cancel<//>
		<${Button} kind="primary" type="submit" form=${id} busy=${form.busy}>${sendsMail() ? 'Send invitations' : 'Invite'}<//>`}>
		<form class="stack" id=${id} onSubmit=${form.submit} novalidate>
			<${TextArea} label="E-mail addresses" rows="3" placeholder="ann@example.org, bob@example.org" required spellcheck=${false} autocapitalize="off" data-autofocus
				hint=${sendsMail() ? 'Each gets a mail with a link that is valid for 48 hours.' : 'This service sends no mails: you get a link for each of them to pass on.'} ...${form.bind('emails')} />
			<${RadioCards} label="Role" options=${roles} ...${form.bind('role')} />
			<${ErrorNotice} error=${form.error} />
		</form>
	<//>`;
}

/** Asks whom to invite, and does it; onSent(invitation) after each. seats: {used, limit}. Answers how many were invited. */
export const invite = (options) => openDialog((close) => html`<${Invite} close=${close} ...${options} />`);
