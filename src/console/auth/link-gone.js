/*
 * link-gone.js: a link of a mail that was used or is too old: the way to a fresh one.
 */
import { html, useState } from '../view.js';
import { Button } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field } from '../ui/field.js';
import { sendsMail, withoutMail } from '../ui/mail.js';
import { useForm } from '../ui/use-form.js';
import { isAddress, publicCall } from './public-call.js';

/** Is this the answer to a link that is no longer good? */
export const isGone = (error) => error?.code === 'LINK_USED' || error?.code === 'LINK_EXPIRED';

/** Asks for the address and sends a new link there; path: the route that sends it; said: what is told then. */
export function FreshLink({ path, said, action })
{
	const [sent, setSent] = useState(false);
	const form = useForm({
		values: { email: '' },
		check: (values) => (isAddress(values.email) ? {} : { email: 'Enter an e-mail address.' }),
		send: async (values) => {
			await publicCall(path, { email: values.email.trim() });
			setSent(true);
		},
	});
	if (sent)
		return html`<p role="status">${sendsMail() ? said(form.values.email.trim()) : `${withoutMail} Ask for it.`}</p>`;
	return html`<form class="stack" onSubmit=${form.submit} novalidate>
		<${Field} label="E-mail" type="email" autocomplete="username" inputmode="email" spellcheck=${false} required ...${form.bind('email')} />
		<${ErrorNotice} error=${form.error} />
		<${Button} kind="primary" type="submit" busy=${form.busy} class="auth-wide">${action}<//>
	</form>`;
}
