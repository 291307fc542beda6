/*
 * team.js: members and invitations of the organization, their roles, seats and caps of AI credits.
 */
import { html, useEffect, useState } from '../view.js';
import { allRows, api } from '../api.js';
import { navigate } from '../router.js';
import { can, loadSession, organization, session } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { confirm } from '../ui/confirm.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { sendsMail } from '../ui/mail.js';
import { Menu } from '../ui/menu.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { RelativeTime, formatDuration } from '../ui/time.js';
import { toast, toastError } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { useKeys } from '../shell/keys.js';
import { askCreditLimit, creditsText } from './credit-limit.js';
import { SettingsHead } from './head.js';
import { invite, showLinks } from './invite.js';
import { LimitLine, fullReason, useUsage } from '../ui/plan-limit.js';
import { roleLabel, roleTexts, showRoles } from './roles.js';

// The service lets only owners grant, change and remove owners; billing:manage is the permission that only they have.
const isOwner = () => can('billing:manage');

/** How long an invitation is still valid; it keeps up by itself. */
function Countdown({ until })
{
	const [now, setNow] = useState(Date.now());
	useEffect(() => {
		const timer = setInterval(() => setNow(Date.now()), 30_000);
		return () => clearInterval(timer);
	}, []);
	const left = Date.parse(until) - now;
	return left > 0 ? html`<span class="time">expires in ${formatDuration(Math.max(60_000, left - (left % 60_000)))}</span>` : html`<span>expired</span>`;
}

/** Why the role of a member cannot be changed by the user, or undefined. */
function lockedReason(row, owners)
{
	if (row.role !== 'owner')
		return undefined;
	if (owners === 1)
		return 'The last owner: make somebody else an owner first.';
	return isOwner() ? undefined : 'Only an owner can change an owner.';
}

function Role({ row, owners, onChange })
{
	const reason = row.invitation ? undefined : lockedReason(row, owners);
	if (row.invitation || !can('members:role') || reason)
		return html`<span>${roleLabel(row.role)}</span>${reason && can('members:role') && html`<div class="small muted reason">${reason}</div>`}`;
	return html`<span class="select select-inline"><select class="input" aria-label=${`Role of ${row.email}`} value=${row.role} onChange=${(event) => {
		const role = event.currentTarget.value;
		event.currentTarget.value = row.role; // Until it is confirmed; the new one comes with the row.
		onChange(row, role);
	}}>${roleTexts.map((one) => html`<option key=${one.value} value=${one.value} selected=${one.value === row.role}
		disabled=${one.value === 'owner' && !isOwner()}>${one.label}</option>`)}</select></span>`;
}

export default function Team()
{
	const members = useLoad((abort) => allRows('/api/v1/members', { abort }).then((answer) => answer.rows));
	const invitations = useLoad((abort) => (can('users:invite') ? allRows('/api/v1/invitations', { abort }).then((answer) => answer.rows) : Promise.resolve([])));
	const matrix = useLoad((abort) => api.get('/api/v1/roles', { abort }).then((answer) => answer.data));
	const usage = useUsage();
	const seats = usage.data?.resources.members;
	const full = fullReason(seats, 'seats');
	const me = session.value.user.id;

	const reload = () => {
		members.reload();
		invitations.reload();
		usage.reload();
	};
	async function setRole(row, role, { undone = false } = {})
	{
		const before = row.role;
		const show = (value) => members.set((rows) => rows.map((one) => (one.id === row.id ? { ...one, role: value } : one)));
		show(role);
		try {
			await api.patch(`/api/v1/members/${row.id}`, { role });
		} catch (error) {
			show(before);
			if (undone)
				throw error;
			toastError(error);
			return;
		}
		if (row.userId === me)
			await loadSession();
		else if (!undone)
			toast(`${row.email} is now ${roleLabel(role)}.`, { undo: () => setRole({ ...row, role }, before, { undone: true }) });
	}
	async function changeRole(row, role)
	{
		// What one takes from oneself one cannot give back.
		if (row.userId !== me || await confirm({ title: 'Change your own role?', danger: true, action: `Become ${roleLabel(role)}`,
			text: `You will be ${roleLabel(role)} of ${organization.value.name}, and only somebody else can change that back.` }))
			setRole(row, role);
	}
	async function cap(row)
	{
		const changed = await askCreditLimit({ of: row.email, used: row.aiCreditsUsed, limit: row.aiCreditLimit,
			send: (aiCreditLimit) => api.patch(`/api/v1/members/${row.id}`, { aiCreditLimit }).then((answer) => answer.data) });
		if (changed)
			members.set((rows) => rows.map((one) => (one.id === changed.id ? changed : one)));
	}
	async function remove(row)
	{
		const own = row.userId === me;
		const { name } = organization.value;
		const done = await confirm({ title: own ? 'Leave this organization?' : 'Remove this member?', danger: true, action: own ? 'Leave' : 'Remove',
			text: html`<p><strong><bdi>${own ? name : row.email}</bdi></strong>: ${own ? 'your' : 'their'} access tokens of it are revoked at once, and stay so if ${own ? 'you come' : 'they come'} back.
				API keys stay.</p>`,
			run: () => api.delete(`/api/v1/members/${row.id}`) });
		if (!done)
			return;
		if (own) {
			await loadSession();
			navigate('/');
		} else
			reload();
		toast(own ? `You have left ${name}.` : `${row.email} is removed.`);
	}
	async function resend(row)
	{
		try {
			const { data } = await api.post(`/api/v1/invitations/${row.id}/resend`);
			reload();
			if (!await showLinks([data]))
				toast(`A new link is on its way to ${row.email}. The one before stops working.`);
		} catch (error) {
			toastError(error);
		}
	}
	async function revoke(row)
	{
		const done = await confirm({ title: 'Revoke this invitation?', danger: true, action: 'Revoke',
			text: html`<p>The link for <strong><bdi>${row.email}</bdi></strong> stops working.</p>`,
			run: () => api.delete(`/api/v1/invitations/${row.id}`) });
		if (done) {
			reload();
			toast(`The invitation of ${row.email} is revoked.`);
		}
	}
	async function ask()
	{
		const sent = [];
		const count = await invite({ seats, onSent: (one) => sent.push(one) });
		if (sent.length)
			reload();
		if (!await showLinks(sent) && count)
			toast(count === 1 ? 'The invitation is on its way.' : `${count} invitations are on their way.`);
	}
	useKeys([can('users:invite') && { keys: 'c', text: 'Invite people', run: () => !full && ask() }].filter(Boolean));

	const owners = (members.data ?? []).filter((one) => one.role === 'owner').length;
	const waiting = (invitations.data ?? []).filter((one) => one.status === 'pending' || one.status === 'expired')
		.map((one) => ({ ...one, invitation: true }));
	const rows = [...members.data ?? [], ...waiting];
	const actionsOf = (row) => {
		const locked = lockedReason(row, owners);
		if (row.invitation)
			return (row.role !== 'owner' || isOwner()) ? [
				{ label: sendsMail() ? 'Send again' : 'Make a new link', icon: sendsMail() ? 'mail' : 'link', onSelect: () => resend(row), reason: row.status === 'expired' ? full : undefined },
				{ label: 'Revoke', icon: 'trash', danger: true, onSelect: () => revoke(row) }] : [];
		return [
			can('members:role') && (isOwner() || (row.role !== 'owner' && row.userId !== me)) && { label: 'Cap of AI credits', icon: 'gear', onSelect: () => cap(row) },
			(row.userId === me || can('users:invite')) && { label: row.userId === me ? 'Leave' : 'Remove', icon: row.userId === me ? 'signout' : 'trash', danger: true,
				reason: locked, onSelect: () => remove(row) },
		].filter(Boolean);
	};
	return html`<div class="page">
		<${SettingsHead} title="Team" actions=${html`
			<${Button} icon="shield" onClick=${() => showRoles(matrix.data)} disabled=${!matrix.data}>What roles may do<//>
			${can('users:invite') && html`<${Button} kind="primary" icon="plus" onClick=${ask} reason=${full}>Invite<//>`}`}>Who works in <bdi>${organization.value.name}</bdi>.<//>
		<${LimitLine} resource=${seats} what=${waiting.length ? 'seats, with open invitations' : 'seats'} />
		<${ErrorNotice} error=${members.error ?? invitations.error ?? matrix.error} retry=${() => { reload(); matrix.reload(); }} />
		${members.slow && html`<${Skeleton} />`}
		${members.data && html`<${Table} caption="Members and invitations" rows=${rows} columns=${[
			{ key: 'email', title: 'Person', class: 'break', render: (row) => (row.invitation
				? html`<div class="row"><bdi>${row.email}</bdi><${Badge} kind=${row.status === 'expired' ? 'neutral' : 'accent'}>${row.status === 'expired' ? 'invitation expired' : 'invited'}<//></div>`
				: html`<div class="row"><bdi class="strong">${row.name || row.email}</bdi>${row.userId === me && html`<${Badge} kind="accent">you<//>`}</div>
					${row.name && html`<bdi class="small muted">${row.email}</bdi>`}`) },
			{ key: 'role', title: 'Role', render: (row) => html`<${Role} row=${row} owners=${owners} onChange=${changeRole} />` },
			{ key: 'active', title: 'Last active', render: (row) => (row.invitation ? html`<${Countdown} until=${row.expiresAt} />` : html`<${RelativeTime} value=${row.lastActiveAt} none="not yet" />`) },
			{ key: 'joinedAt', title: 'Joined', render: (row) => (row.invitation ? html`<span class="muted">invited <${RelativeTime} value=${row.createdAt} /></span>` : html`<${RelativeTime} value=${row.joinedAt} />`) },
			{ key: 'credits', title: 'AI credits', align: 'end', render: (row) => (row.invitation ? html`<span class="faint">-</span>` : creditsText(row)) },
			{ key: 'actions', title: 'Actions', hideTitle: true, align: 'end', render: (row) => {
				const items = actionsOf(row);
				return items.length > 0 && html`<${Menu} icon="more" size="small" label=${`Actions for ${row.email}`} items=${items} />`;
			} },
		]} />`}
	</div>`;
}
