/*
 * sign-in-again.js: the session has ended in the middle of work: the same user signs in again over the page, and
 * nothing that was typed is lost.
 */
import { html } from '../view.js';
import { config, expired, leaveToOther, loadSession, session, signIn } from '../session.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { PasswordField } from '../ui/field.js';
import { useForm } from '../ui/use-form.js';
import { providerNames } from '../auth/provider-names.js';

async function sameUser(before)
{
	const now = session.value;
	if (!now)
		throw new Error('You are not signed in yet.');
	// Another account must not send what this one has typed.
	if (now.user.id !== before.user.id) {
		leaveToOther();
		return;
	}
	expired.value?.done(true);
}

/** The dialog; requests that found the session ended wait for it. */
export function SignInAgain()
{
	expired.value.session ??= session.value;
	const before = expired.value.session;
	const form = useForm({
		values: { password: '' },
		check: (values) => (values.password ? {} : { password: 'Enter your password.' }),
		send: async (values) => {
			await signIn(before.user.email, values.password);
			await sameUser(before);
		},
	});
	const elsewhere = useForm({ values: {}, send: async () => { await loadSession(); await sameUser(before); } });
	const providers = config.value?.oauthProviders ?? [];
	return html`<${Dialog} title="Your session has ended" size="small" closeBeside=${false}>
		<div class="stack">
			<p>What you have typed on this page is kept. Sign in as <strong class="break">${before.user.email}</strong> to go on.</p>
			<form class="stack" onSubmit=${form.submit}>
				<input class="visually-hidden" type="email" autocomplete="username" value=${before.user.email} readonly tabindex="-1" aria-hidden="true" />
				<${PasswordField} label="Password" autocomplete="current-password" data-autofocus ...${form.bind('password')} />
				<${ErrorNotice} error=${form.error ?? elsewhere.error} />
				<div class="row"><${Button} kind="primary" type="submit" busy=${form.busy}>Sign in<//>
					<${Button} kind="ghost" onClick=${() => expired.value.done(false)}>Not now<//></div>
			</form>
			${providers.length > 0 && html`<p class="small muted">Or sign in ${providers.map((one, index) => html`${index ? ' or ' : ''}<a key=${one} target="_blank" rel="opener"
				href=${`/api/v1/auth/oauth/${one}/start?redirectTo=${encodeURIComponent('/')}`}>with ${providerNames[one] ?? one}</a>`)} in another tab, then
				<${Button} size="small" busy=${elsewhere.busy} onClick=${elsewhere.submit}>go on here<//></p>`}
		</div>
	<//>`;
}
