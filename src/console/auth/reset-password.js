/*
 * reset-password.js: the link of the mail for a forgotten password. Its token leaves the address bar at once.
 */
import { html, useEffect, useState } from '../view.js';
import { takeFragment } from '../router.js';
import { config } from '../session.js';
import { Button, LinkButton } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Checkbox } from '../ui/field.js';
import { Skeleton } from '../ui/skeleton.js';
import { useForm } from '../ui/use-form.js';
import { sendsMail } from '../ui/mail.js';
import { AuthPage } from './auth-page.js';
import { FreshLink, isGone } from './link-gone.js';
import { NewPassword, brokenRule } from './new-password.js';
import { publicCall } from './public-call.js';

export default function ResetPassword()
{
	const [token] = useState(() => takeFragment().get('t') ?? '');
	const [done, setDone] = useState(null);
	const form = useForm({
		values: { password: '', revokeTokens: false },
		check: (values) => (brokenRule(values.password) ? { password: brokenRule(values.password) } : {}),
		send: async (values) => setDone(await publicCall('/api/v1/auth/reset-password', { token, ...values })),
	});
	useEffect(() => { document.querySelector('[name=password]')?.focus(); }, [Boolean(config.value)]);
	if (done)
		return html`<${AuthPage} title="Password changed"><p role="status">${done.sessionsEnded === 1 ? 'One session was ended.' : `${done.sessionsEnded} sessions were ended.`}
			${done.tokensRevoked ? ` ${done.tokensRevoked} tokens were revoked.` : ''} Sign in with the new password.</p>
			<${LinkButton} kind="primary" class="auth-wide" href="/sign-in">Sign in<//><//>`;
	if (!token || isGone(form.error))
		return html`<${AuthPage} title=${form.error?.code === 'LINK_USED' ? 'This link was already used' : 'This link is not valid'}
			lead=${`A link works once, for an hour.${sendsMail() ? ' We can send a new one.' : ''}`} foot=${html`<a href="/sign-in">Sign in</a>`}>
			<${FreshLink} path="/api/v1/auth/forgot-password" action=${sendsMail() ? 'Send a new link' : 'Ask for a new link'}
				said=${(email) => html`If <strong class="break">${email}</strong> has an account, a mail is on its way.`} /><//>`;
	if (!config.value)
		return html`<${AuthPage} title="Choose a new password"><${Skeleton} lines="3" /><//>`;
	return html`<${AuthPage} title="Choose a new password" lead="All your sessions end.">
		<form class="stack" onSubmit=${form.submit} novalidate>
			<${NewPassword} label="New password" ...${form.bind('password')} />
			<${Checkbox} label="Revoke all my tokens too" hint="For when somebody else may have known the password. Links to identity providers are removed as well."
				checked=${form.values.revokeTokens} onInput=${(revokeTokens) => form.set({ revokeTokens })} />
			<${ErrorNotice} error=${form.error} />
			<${Button} kind="primary" type="submit" busy=${form.busy} class="auth-wide">Set password<//>
		</form><//>`;
}
