/*
 * welcome.js: a new organization; the first page of who has none.
 */
import { html } from '../view.js';
import { api } from '../api.js';
import { navigate } from '../router.js';
import { loadSession, session, signOut } from '../session.js';
import { startOf } from '../shell/places.js';
import { Button, LinkButton } from '../ui/button.js';
import { Combobox } from '../ui/combobox.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field } from '../ui/field.js';
import { sendsMail } from '../ui/mail.js';
import { toastError } from '../ui/toast.js';
import { useForm } from '../ui/use-form.js';
import { AuthPage } from './auth-page.js';
import { openInvitation } from './open-invitation.js';

const zones = ['UTC', ...Intl.supportedValuesOf('timeZone')];

export default function Welcome()
{
	const none = session.value.organizations.length === 0;
	const invited = openInvitation(session.value.user.email);
	const form = useForm({
		values: { name: '', timezone: Intl.DateTimeFormat().resolvedOptions().timeZone },
		check: (values) => (values.name.trim() ? {} : { name: 'Enter a name.' }),
		send: async (values) => {
			const made = await api.post('/api/v1/organizations', { name: values.name.trim(), timezone: values.timezone }, { organization: null });
			await loadSession();
			navigate(startOf(made.data.slug));
		},
	});
	return html`<${AuthPage} title=${none ? 'Welcome to logsvc' : 'New organization'}
		lead=${none ? 'An organization has its own events, members and limits. You can invite others later.' : 'It has its own events, members and limits, and begins on plan free.'}
		foot=${none ? html`Signed in as ${session.value.user.email}. ${invited ? '' : html`Waiting for an invitation? ${sendsMail() ? 'Open the link in its mail.' : 'Open the link that you were given.'}`}` : html`<a href="/">Back</a>`}>
		${invited && html`<div class="stack"><p><strong class="break">${invited.name}</strong> has invited you.</p>
			<${LinkButton} kind="primary" class="auth-wide" href="/invitations/accept">Join ${invited.name}<//></div>
			<h2>Or make an organization of your own</h2>`}
		<form class="stack" onSubmit=${form.submit} novalidate>
			<${Field} label="Name" autocomplete="organization" placeholder="Acme" maxlength="100" required data-autofocus ...${form.bind('name')} />
			<${Combobox} label="Time zone" hint="Days of quotas and schedules begin at its midnight." options=${zones} free=${false} ...${form.bind('timezone')} />
			<${ErrorNotice} error=${form.error} />
			<${Button} kind=${invited ? 'default' : 'primary'} type="submit" busy=${form.busy} class="auth-wide">Create organization<//>
			${none && html`<${Button} kind="ghost" onClick=${() => signOut().catch(toastError)}>Sign out<//>`}
		</form>
	<//>`;
}
