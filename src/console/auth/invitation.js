/*
 * invitation.js: an invitation: to which organization, in which role, for which address; and how to accept it.
 *
 * The token is kept in this browser while the invitation is open (open-invitation.js): it lets nobody in who has not
 * confirmed the address, and who confirms it comes back by another mail.
 */
import { html, useEffect, useState } from '../view.js';
import { api } from '../api.js';
import { navigate, takeFragment } from '../router.js';
import { config, loadSession, session } from '../session.js';
import { startOf } from '../shell/places.js';
import { Button, LinkButton } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Skeleton } from '../ui/skeleton.js';
import { Tabs } from '../ui/tabs.js';
import { Time } from '../ui/time.js';
import { useForm } from '../ui/use-form.js';
import { AuthPage } from './auth-page.js';
import { isGone } from './link-gone.js';
import { keepInvitation, openInvitation } from './open-invitation.js';
import { providerNames } from './provider-names.js';
import { publicCall } from './public-call.js';
import { SignInForm } from './sign-in.js';
import { SignUpForm } from './sign-up.js';

function Accept({ token, invitation })
{
	const form = useForm({ values: {}, send: async () => {
		await api.post('/api/v1/invitations/accept', { token }, { organization: null });
		keepInvitation(null, null);
		await loadSession();
		navigate(startOf(invitation.organization.slug), { replace: true });
	} });
	return html`<div class="stack"><${ErrorNotice} error=${form.error} />
		<${Button} kind="primary" class="auth-wide" busy=${form.busy} onClick=${form.submit} data-autofocus>Join ${invitation.organization.name}<//>
		<${Button} kind="ghost" class="auth-wide" onClick=${() => { keepInvitation(null, null); navigate('/'); }}>Do not join<//></div>`;
}

function OtherAccount({ invitation })
{
	const form = useForm({ values: {}, send: async () => {
		await publicCall('/api/v1/auth/sign-out', {});
		await loadSession();
	} });
	return html`<div class="stack"><div class="notice notice-warn"><div class="stack-s"><p>You are signed in as <strong class="break">${session.value.user.email}</strong>,
		and the invitation is for <strong class="break">${invitation.email}</strong>.</p></div></div>
		<${ErrorNotice} error=${form.error} />
		<${Button} class="auth-wide" busy=${form.busy} onClick=${form.submit}>Switch account<//></div>`;
}

function Providers()
{
	const providers = config.value?.oauthProviders ?? [];
	if (!providers.length)
		return null;
	return html`<p class="small muted">Or sign in ${providers.map((one, index) => html`${index ? ' or ' : ''}<a key=${one} target="_blank" rel="opener"
		href=${`/api/v1/auth/oauth/${one}/start?redirectTo=%2F`}>with ${providerNames[one] ?? one}</a>`)} in another tab, and
		<${Button} size="small" onClick=${() => loadSession()}>go on here<//></p>`;
}

function Join({ invitation })
{
	const [tab, setTab] = useState(invitation.accountExists ? 'in' : 'up');
	const signIn = html`<${SignInForm} email=${invitation.email} onSignedIn=${() => {}} action="Sign in to accept" />`;
	if (invitation.accountExists || !config.value?.signUp)
		return html`<div class="stack">${signIn}<${Providers} /></div>`;
	return html`<div class="stack"><${Tabs} label="Account" selected=${tab} onSelect=${setTab} tabs=${[{ id: 'up', label: 'Create an account' }, { id: 'in', label: 'Sign in' }]}>
		${tab === 'in' ? signIn : html`<${SignUpForm} email=${invitation.email} after=${html`<p>Then sign in: this browser keeps the invitation.</p>
			<${Button} class="auth-wide" onClick=${() => setTab('in')}>I have confirmed it<//>`} />`}<//><${Providers} /></div>`;
}

export default function Invitation()
{
	const [token] = useState(() => takeFragment().get('t') ?? openInvitation()?.token ?? '');
	const [state, setState] = useState({});
	const load = () => {
		setState({});
		publicCall('/api/v1/invitations/preview', { token }).then((invitation) => {
			keepInvitation(token, invitation);
			setState({ invitation });
		}, (error) => {
			if (isGone(error) && openInvitation()?.token === token)
				keepInvitation(null, null);
			setState({ error });
		});
	};
	useEffect(() => {
		if (token)
			load();
	}, []);
	const { invitation, error } = state;
	if (!token || isGone(error))
		return html`<${AuthPage} title=${error?.code === 'LINK_USED' ? 'This invitation was already accepted' : 'This invitation is not valid'}
			lead=${error?.code === 'LINK_USED' ? 'Sign in to open the organization.' : 'It is older than 48 hours, or was replaced or revoked. Ask who invited you to send it again.'}>
			<${LinkButton} class="auth-wide" href=${session.value ? '/' : '/sign-in'}>${session.value ? 'Go to the start' : 'Sign in'}<//><//>`;
	if (!invitation)
		return html`<${AuthPage} title="Invitation">${error ? html`<${ErrorNotice} error=${error} retry=${load} />` : html`<${Skeleton} lines="3" />`}<//>`;
	const mine = session.value && session.value.user.email.toLowerCase() === invitation.email.toLowerCase();
	return html`<${AuthPage} title=${`Join ${invitation.organization.name}`}>
		<dl class="auth-facts"><dt>Role</dt><dd>${invitation.role}</dd><dt>For</dt><dd class="break">${invitation.email}</dd>
			<dt>Until</dt><dd><${Time} value=${invitation.expiresAt} /></dd></dl>
		${mine ? html`<${Accept} token=${token} invitation=${invitation} />` : session.value ? html`<${OtherAccount} invitation=${invitation} />`
			: html`<${Join} invitation=${invitation} />`}<//>`;
}
