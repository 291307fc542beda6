/*
 * sign-up.js: a new account. The answer is the same for every address, and so is this page.
 */
import { html, useEffect, useState } from '../view.js';
import { config } from '../session.js';
import { Button } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field } from '../ui/field.js';
import { sendsMail, withoutMail } from '../ui/mail.js';
import { Skeleton } from '../ui/skeleton.js';
import { useForm } from '../ui/use-form.js';
import { AuthPage, Providers } from './auth-page.js';
import { NewPassword, brokenRule } from './new-password.js';
import { isAddress, publicCall } from './public-call.js';

/** The form, and what comes after it. email: fixed, as in an invitation; after: what to do once the address is confirmed. */
export function SignUpForm({ email, after })
{
	const [sentTo, setSentTo] = useState(null);
	const [again, setAgain] = useState(false);
	const form = useForm({
		values: { name: '', email: email ?? '', password: '' },
		check: (values) => ({
			...(!isAddress(values.email) && { email: 'Enter an e-mail address.' }),
			...(brokenRule(values.password) && { password: brokenRule(values.password) }),
		}),
		send: async (values) => {
			await publicCall('/api/v1/auth/sign-up', { email: values.email.trim(), password: values.password, name: values.name.trim() || undefined });
			setSentTo(values.email.trim());
		},
	});
	const resend = useForm({ values: {}, send: async () => {
		await publicCall('/api/v1/auth/resend-verification', { email: sentTo });
		setAgain(true);
	} });
	if (sentTo)
		return html`<div class="stack" role="status">${sendsMail() ? html`<p>A mail is on its way to <strong class="break">${sentTo}</strong>. Open its link to confirm the address; it is valid for 24 hours.</p>`
				: html`<p><strong class="break">${sentTo}</strong> has to be confirmed. ${withoutMail} It is valid for 24 hours.</p>`}
			${after}
			<${ErrorNotice} error=${resend.error} />
			<div class="row">${sendsMail() && (again ? html`<p class="muted">Sent again.</p>` : html`<${Button} icon="mail" busy=${resend.busy} onClick=${resend.submit}>Send it again<//>`)}
				${!email && html`<${Button} kind="ghost" onClick=${() => setSentTo(null)}>Use another address<//>`}</div></div>`;
	return html`<form class="stack" onSubmit=${form.submit} novalidate>
		<${Field} label="Name" optional autocomplete="name" maxlength="200" ...${form.bind('name')} />
		<${Field} label="E-mail" type="email" autocomplete="username" inputmode="email" spellcheck=${false} required ...${form.bind('email')} readonly=${Boolean(email)} />
		<${NewPassword} ...${form.bind('password')} />
		<${ErrorNotice} error=${form.error} />
		<${Button} kind="primary" type="submit" busy=${form.busy} class="auth-wide">Create account<//>
	</form>`;
}

export default function SignUp()
{
	const now = config.value;
	useEffect(() => { document.querySelector('[name=name]')?.focus(); }, [Boolean(now)]);
	if (!now)
		return html`<${AuthPage} title="Create an account"><${Skeleton} lines="4" /><//>`;
	const foot = html`Have an account? <a href="/sign-in">Sign in</a>`;
	if (!now.signUp)
		return html`<${AuthPage} title="Sign-up is closed" lead="Accounts of this service are made by its operators, or by an invitation." foot=${foot} />`;
	return html`<${AuthPage} title="Create an account" foot=${foot}><${Providers} /><${SignUpForm} /><//>`;
}
