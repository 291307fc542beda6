/*
 * sign-in.js: signing in by password or by a provider.
 */
import { html, useEffect, useRef, useState } from '../view.js';
import { api } from '../api.js';
import { navigate, ownPath, query } from '../router.js';
import { config, session, signIn } from '../session.js';
import { Button } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field, PasswordField } from '../ui/field.js';
import { sendsMail, withoutMail } from '../ui/mail.js';
import { useForm } from '../ui/use-form.js';
import { AuthPage, Providers } from './auth-page.js';
import { openInvitation } from './open-invitation.js';

/** The form alone. email: fixed, as in an invitation; onSignedIn is called after. */
export function SignInForm({ email, onSignedIn, action = 'Sign in' })
{
	const box = useRef(null);
	const [sent, setSent] = useState(false);
	const form = useForm({
		values: { email: email ?? query.peek().get('email') ?? '', password: '' },
		check: (values) => ({ ...(!values.email.trim() && { email: 'Enter your e-mail address.' }), ...(!values.password && { password: 'Enter your password.' }) }),
		send: async (values) => {
			setSent(false);
			await signIn(email ?? values.email.trim(), values.password);
			onSignedIn();
		},
	});
	useEffect(() => { box.current?.querySelector(form.values.email ? '[name=password]' : '[name=email]')?.focus(); }, []);
	const unverified = form.error?.code === 'EMAIL_NOT_VERIFIED';
	const resend = useForm({ values: {}, send: async () => {
		await api.post('/api/v1/auth/resend-verification', { email: form.values.email.trim() }, { organization: null, signIn: false });
		setSent(true);
	} });
	return html`<form class="stack" ref=${box} onSubmit=${form.submit} novalidate>
		<${Field} label="E-mail" type="email" autocomplete="username" inputmode="email" spellcheck=${false} required ...${form.bind('email')}
			readonly=${Boolean(email)} />
		<${PasswordField} label="Password" autocomplete="current-password" required ...${form.bind('password')} />
		<${ErrorNotice} error=${form.error} >
			${unverified && html`<div>${!sendsMail() ? html`<p>${withoutMail}</p>` : sent ? html`<p>A mail with a new link is on its way.</p>`
				: html`<${Button} size="small" icon="mail" busy=${resend.busy} onClick=${resend.submit}>Send the link again<//>`}</div>`}
		<//>
		<${ErrorNotice} error=${resend.error} />
		<${Button} kind="primary" type="submit" busy=${form.busy} class="auth-wide">${action}<//>
	</form>`;
}

export default function SignIn()
{
	const target = ownPath(query.value.get('redirectTo')) ?? '/';
	useEffect(() => {
		if (session.value)
			navigate(target === '/' && openInvitation(session.value.user.email) ? '/invitations/accept' : target, { replace: true });
	}, [session.value]);
	return html`<${AuthPage} title="Sign in" foot=${html`<a href="/forgot-password">Forgot password?</a>${config.value?.signUp
		&& html` · <a href="/sign-up">Create an account</a>`}`}>
		<${Providers} redirectTo=${target} />
		<${SignInForm} onSignedIn=${() => {}} />
	<//>`;
}
