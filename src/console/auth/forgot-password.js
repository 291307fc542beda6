/*
 * forgot-password.js: asks for a link to choose a new password.
 */
import { html, useEffect } from '../view.js';
import { sendsMail } from '../ui/mail.js';
import { AuthPage } from './auth-page.js';
import { FreshLink } from './link-gone.js';

export default function ForgotPassword()
{
	useEffect(() => { document.querySelector('[name=email]')?.focus(); }, []);
	return html`<${AuthPage} title="Forgot your password?" lead=${sendsMail() ? 'We send a link to choose a new one. It is valid for an hour.' : 'This service sends no mails. Ask for a link here, and whoever operates it can give it to you within an hour.'} foot=${html`<a href="/sign-in">Back to sign in</a>`}>
		<${FreshLink} path="/api/v1/auth/forgot-password" action=${sendsMail() ? 'Send the link' : 'Ask for a link'}
			said=${(email) => html`If <strong class="break">${email}</strong> has an account, a mail is on its way.`} />
	<//>`;
}
