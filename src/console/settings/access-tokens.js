/*
 * access-tokens.js: the personal access tokens of the user in this organization.
 */
import { html } from '../view.js';
import { allRows, api } from '../api.js';
import { query, setQuery } from '../router.js';
import { can, organization } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { confirm } from '../ui/confirm.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Menu } from '../ui/menu.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { Tabs } from '../ui/tabs.js';
import { toast } from '../ui/toast.js';
import { RelativeTime } from '../ui/time.js';
import { useLoad } from '../ui/use-load.js';
import { useKeys } from '../shell/keys.js';
import { askCreditLimit, creditsText } from './credit-limit.js';
import { Expiry, LastUse, lastUseText } from './expiry.js';
import { SettingsHead } from './head.js';
import { createToken } from './new-token.js';
import { isOver } from './rotation.js';

// What the playground of this console makes for itself, and revokes when one leaves it.
const isConsoles = (token) => token.name === 'Console playground';

function Scopes({ scopes })
{
	const shown = scopes.slice(0, 3);
	return html`<span class="chips">${shown.map((one) => html`<code class="scope-chip" key=${one}>${one}</code>`)}
		${scopes.length > shown.length && html`<span class="small muted" title=${scopes.slice(3).join(', ')}>and ${scopes.length - 3} more<span
			class="visually-hidden">: ${scopes.slice(3).join(', ')}</span></span>`}</span>`;
}

export default function AccessTokens()
{
	const tokens = useLoad((abort) => allRows('/api/v1/tokens', { abort }).then((answer) => answer.rows.reverse()));
	const roles = useLoad((abort) => (can('roles:read') ? api.get('/api/v1/roles', { abort }).then((answer) => answer.data) : Promise.resolve({ permissions: [] })));
	const show = ['ended', 'console'].includes(query.value.get('show')) ? query.value.get('show') : 'active';

	async function create()
	{
		if (await createToken(roles.data.permissions))
			tokens.reload();
	}
	async function revoke(token)
	{
		const done = await confirm({ title: 'Revoke this access token?', action: 'Revoke', danger: true,
			text: html`<p><strong><bdi>${token.name}</bdi></strong> (<code>${token.prefix}…</code>): ${lastUseText(token)} From now on whatever uses it gets 401. This cannot be undone.</p>`,
			run: () => api.delete(`/api/v1/tokens/${token.id}`) });
		if (done) {
			tokens.reload();
			toast(`${token.name} is revoked.`);
		}
	}
	async function cap(token)
	{
		const changed = await askCreditLimit({ of: token.name, used: token.aiCreditsUsed, limit: token.aiCreditLimit,
			send: (aiCreditLimit) => api.patch(`/api/v1/tokens/${token.id}`, { aiCreditLimit }).then((answer) => answer.data) });
		if (changed)
			tokens.set((rows) => rows.map((one) => (one.id === changed.id ? changed : one)));
	}
	useKeys([{ keys: 'c', text: 'New access token', run: () => roles.data && create() }]);

	const all = tokens.data ?? [];
	const lists = {
		active: all.filter((one) => !isOver(one) && !isConsoles(one)),
		ended: all.filter((one) => isOver(one) && !isConsoles(one)),
		console: all.filter((one) => isConsoles(one)),
	};
	const tabs = [{ id: 'active', label: 'Active', count: lists.active.length }, { id: 'ended', label: 'Revoked and expired', count: lists.ended.length },
		lists.console.length && { id: 'console', label: 'Of this console', count: lists.console.length }].filter(Boolean);
	const selected = tabs.some((one) => one.id === show) ? show : 'active';
	const button = html`<${Button} kind="primary" icon="plus" onClick=${create} disabled=${!roles.data}>New access token<//>`;
	const empty = {
		active: html`<${EmptyState} icon="key" title="No access tokens" action=${button}>
			Scripts and assistants sign in with a token instead of your password. It can do what its scopes say, in this organization only.<//>`,
		ended: html`<${EmptyState} icon="key" title="None has ended" action=${html`<${Button} onClick=${() => setQuery({ show: null })}>Show active tokens<//>`} />`,
	};
	return html`<div class="page">
		<${SettingsHead} title="Access Tokens" actions=${all.length > 0 && button}>Your personal tokens in <bdi>${organization.value.name}</bdi>, for the API and the command line. Nobody else sees them.<//>
		<${ErrorNotice} error=${tokens.error ?? roles.error} retry=${() => { tokens.reload(); roles.reload(); }} />
		${tokens.slow && html`<${Skeleton} />`}
		${tokens.data && (all.length ? html`<${Tabs} label="Access tokens" tabs=${tabs} selected=${selected} onSelect=${(id) => setQuery({ show: id === 'active' ? null : id })}>
			<${Table} caption="Access tokens" rows=${lists[selected]} empty=${empty[selected]} columns=${[
				{ key: 'name', title: 'Name', class: 'break', render: (row) => html`<div><bdi class="strong">${row.name}</bdi></div><code class="small muted">${row.prefix}…</code>` },
				{ key: 'scopes', title: 'Scopes', render: (row) => html`<${Scopes} scopes=${row.scopes} />` },
				{ key: 'lastUsedAt', title: 'Last use', render: (row) => html`<${LastUse} one=${row} />` },
				{ key: 'expiresAt', title: 'Expires', render: (row) => html`<${Expiry} one=${row} />` },
				{ key: 'createdAt', title: 'Created', render: (row) => html`<${RelativeTime} value=${row.createdAt} />` },
				{ key: 'credits', title: 'AI credits', align: 'end', render: (row) => (row.scopes.includes('evaluations:run') ? creditsText(row) : html`<span class="faint">-</span>`) },
				{ key: 'actions', title: 'Actions', hideTitle: true, align: 'end', render: (row) => !isOver(row) && html`<${Menu} icon="more" size="small" label=${`Actions for ${row.name}`} items=${[
					row.scopes.includes('evaluations:run') && { label: 'Cap of AI credits', icon: 'gear', onSelect: () => cap(row) },
					{ label: 'Revoke', icon: 'trash', danger: true, onSelect: () => revoke(row) },
				]} />` },
			]} /><//>` : empty.active)}
		${selected === 'console' && html`<p class="small muted"><${Badge}>15 minutes<//> The evaluation playground makes these for itself and revokes them when you leave it.</p>`}
	</div>`;
}
