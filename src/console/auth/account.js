/*
 * account.js: the user: password, sessions.
 */
import { html } from '../view.js';
import { api } from '../api.js';
import { config, session, signOut } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { confirm } from '../ui/confirm.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Checkbox, PasswordField } from '../ui/field.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { RelativeTime, Time } from '../ui/time.js';
import { toast } from '../ui/toast.js';
import { useForm } from '../ui/use-form.js';
import { useLoad } from '../ui/use-load.js';
import { NewPassword, brokenRule } from './new-password.js';

/** "Firefox on Linux" from what a browser says of itself. */
function browserName(agent)
{
	const name = [['Edg', 'Edge'], ['OPR', 'Opera'], ['Firefox', 'Firefox'], ['Chrome', 'Chrome'], ['Safari', 'Safari']].find(([part]) => agent?.includes(part));
	const system = ['iPhone', 'iPad', 'Android', 'Windows', 'Mac OS', 'Linux'].find((part) => agent?.includes(part));
	return name ? name[1] + (system ? ` on ${system}` : '') : agent || 'An unknown browser';
}

function Password({ onChanged })
{
	const form = useForm({
		values: { current: '', password: '', revokeTokens: false },
		check: (values) => ({
			...(!values.current && { current: 'Enter your current password.' }),
			...(brokenRule(values.password) && { password: brokenRule(values.password) }),
		}),
		send: async (values) => {
			const { data } = await api.post('/api/v1/auth/change-password', values, { organization: null });
			form.set({ current: '', password: '', revokeTokens: false });
			toast(`Password changed. ${data.sessionsEnded} other sessions ended${data.tokensRevoked ? `, ${data.tokensRevoked} tokens revoked` : ''}.`);
			onChanged();
		},
	});
	return html`<section class="card stack" aria-labelledby="password-title"><h2 id="password-title">Password</h2>
		<form class="stack page-narrow" onSubmit=${form.submit} novalidate>
			<${PasswordField} label="Current password" autocomplete="current-password" ...${form.bind('current')} />
			<${NewPassword} label="New password" ...${form.bind('password')} code=${form.error?.code} />
			<${Checkbox} label="Revoke all my tokens too" hint="In every organization, and links to identity providers. For when somebody else may have known the password."
				checked=${form.values.revokeTokens} onInput=${(revokeTokens) => form.set({ revokeTokens })} />
			<${ErrorNotice} error=${form.error} title=${form.error?.code === 'INVALID_CREDENTIALS' ? 'The current password is wrong' : undefined} />
			<div><${Button} type="submit" kind="primary" busy=${form.busy}>Change password<//></div>
		</form></section>`;
}

function Sessions({ list })
{
	const end = (row) => confirm({ title: 'End this session?', danger: true, action: 'End session',
		text: `${browserName(row.userAgent)}, ${row.address ?? 'address unknown'}. Whoever uses it has to sign in again.`,
		run: () => api.delete(`/api/v1/auth/sessions/${row.id}`, { organization: null }) }).then((done) => done && list.reload());
	const endOthers = () => confirm({ title: 'Sign out everywhere?', danger: true, action: 'Sign out everywhere',
		text: 'Every session of yours ends, this one too. Tokens and API keys stay.', run: () => signOut({ all: true }) });
	return html`<section class="stack" aria-labelledby="sessions-title"><div class="row-between"><h2 id="sessions-title">Sessions</h2>
			<${Button} size="small" onClick=${endOthers}>Sign out everywhere<//></div>
		<${ErrorNotice} error=${list.error} retry=${list.reload} />
		${list.slow && html`<${Skeleton} lines="3" />`}
		${list.data && html`<${Table} caption="Your sessions" rows=${list.data} columns=${[
			{ key: 'userAgent', title: 'Browser', class: 'break', render: (row) => html`<span title=${row.userAgent}>${browserName(row.userAgent)}</span> ${row.current && html`<${Badge} kind="accent">this one<//>`}` },
			{ key: 'address', title: 'Address', class: 'mono', render: (row) => row.address ?? '-' },
			{ key: 'createdAt', title: 'Began', render: (row) => html`<${Time} value=${row.createdAt} />` },
			{ key: 'lastSeenAt', title: 'Last use', render: (row) => html`<${RelativeTime} value=${row.lastSeenAt} />` },
			{ key: 'end', title: 'End', hideTitle: true, align: 'end', render: (row) => !row.current && html`<${Button} size="small" onClick=${() => end(row)}>End<//>` },
		]} />`}</section>`;
}

export default function Account()
{
	const sessions = useLoad((abort) => api.get('/api/v1/auth/sessions', { abort, organization: null }).then((answer) => answer.data));
	const { user } = session.value;
	return html`<div class="page"><header class="page-head"><div><h1>Your account</h1><p class="break">${user.name ? `${user.name}, ` : ''}${user.email}</p></div></header>
		${config.value && html`<${Password} onChanged=${sessions.reload} />`}
		<${Sessions} list=${sessions} /></div>`;
}
