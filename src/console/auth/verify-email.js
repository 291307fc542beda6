/*
 * verify-email.js: the link of the mail that confirms an address.
 */
import { html, useEffect, useState } from '../view.js';
import { takeFragment } from '../router.js';
import { LinkButton } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Skeleton } from '../ui/skeleton.js';
import { sendsMail } from '../ui/mail.js';
import { AuthPage } from './auth-page.js';
import { FreshLink, isGone } from './link-gone.js';
import { publicCall } from './public-call.js';

export default function VerifyEmail()
{
	const [token] = useState(() => takeFragment().get('t') ?? '');
	const [state, setState] = useState({});
	const send = () => {
		setState({});
		publicCall('/api/v1/auth/verify-email', { token }).then(() => setState({ done: true }), (error) => setState({ error }));
	};
	useEffect(() => {
		if (token)
			send();
	}, []);
	if (state.done)
		return html`<${AuthPage} title="Address confirmed"><p role="status">You can sign in now.</p>
			<${LinkButton} kind="primary" class="auth-wide" href="/sign-in">Sign in<//><//>`;
	if (!token || isGone(state.error))
		return html`<${AuthPage} title=${state.error?.code === 'LINK_USED' ? 'This link was already used' : 'This link is not valid'}
			lead=${state.error?.code === 'LINK_USED' ? 'Your address may be confirmed already: try to sign in.' : `It is too old, or was not copied as a whole.${sendsMail() ? ' We can send a new one.' : ''}`}
			foot=${html`<a href="/sign-in">Sign in</a>`}>
			<${FreshLink} path="/api/v1/auth/resend-verification" action=${sendsMail() ? 'Send a new link' : 'Ask for a new link'}
				said=${(email) => html`If <strong class="break">${email}</strong> waits for confirmation, a mail is on its way.`} /><//>`;
	return html`<${AuthPage} title="Confirming your address">${state.error ? html`<${ErrorNotice} error=${state.error} retry=${send} />` : html`<${Skeleton} lines="2" />`}<//>`;
}
