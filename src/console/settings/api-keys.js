/*
 * api-keys.js: the API keys of the organization.
 */
import { html } from '../view.js';
import { allRows, api } from '../api.js';
import { query, setQuery } from '../router.js';
import { can } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { confirm } from '../ui/confirm.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Menu } from '../ui/menu.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { Tabs } from '../ui/tabs.js';
import { RelativeTime } from '../ui/time.js';
import { toast } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { useKeys } from '../shell/keys.js';
import { Expiry, LastUse, lastUseText } from './expiry.js';
import { SettingsHead } from './head.js';
import { LimitLine, fullReason, useUsage } from '../ui/plan-limit.js';
import { createKey } from './new-key.js';
import { RotateKey } from './rotate-key.js';
import { isOver, isSilent, replacementOf } from './rotation.js';
import { showSnippets } from './snippets.js';

const noPeople = { rows: [] };

export default function ApiKeys()
{
	const keys = useLoad((abort) => allRows('/api/v1/api-keys', { abort }).then((answer) => answer.rows));
	const people = useLoad((abort) => (can('roles:read') ? allRows('/api/v1/members', { abort }) : Promise.resolve(noPeople)));
	const usage = useUsage();
	const full = fullReason(usage.data?.resources.apiKeys, 'API keys');
	const show = query.value.get('show') === 'ended' ? 'ended' : 'active';
	const rotating = keys.data?.find((one) => one.id === query.value.get('rotate'));

	const reload = () => {
		keys.reload();
		usage.reload();
	};
	async function create()
	{
		if (await createKey())
			reload();
	}
	async function revoke(key)
	{
		const next = replacementOf(key, keys.data);
		const done = await confirm({ title: 'Revoke this API key?', action: 'Revoke', danger: true,
			text: html`<div class="stack-s"><p><strong><bdi>${key.name}</bdi></strong> (<code>${key.prefix}…</code>): ${lastUseText(key)} From now on whatever uses it gets 401, and what shippers
				cannot send may be lost. This cannot be undone.</p>
				${next && !isSilent(key, next) && html`<p><strong>${next.lastUsedAt ? 'It was in use not long ago.' : 'The key that replaces it has not been used yet.'}</strong></p>`}</div>`,
			run: () => api.delete(`/api/v1/api-keys/${key.id}`) });
		if (done) {
			reload();
			toast(`${key.name} (${key.prefix}…) is revoked.`);
		}
	}
	useKeys([{ keys: 'c', text: 'New API key', run: () => !full && create() }]);

	const all = [...keys.data ?? []].reverse();
	const lists = { active: all.filter((one) => !isOver(one)), ended: all.filter(isOver) };
	const maker = (row) => people.data?.rows.find((one) => one.userId === row.createdBy)?.email;
	const button = html`<${Button} kind="primary" icon="plus" onClick=${create} reason=${full}>New API key<//>`;
	const empty = {
		active: html`<${EmptyState} icon="key" title="No API keys" action=${button}>Programs send events with a key, and read them with one.<//>`,
		ended: html`<${EmptyState} icon="key" title="None has ended" action=${html`<${Button} onClick=${() => setQuery({ show: null })}>Show active keys<//>`} />`,
	};
	return html`<div class="page">
		<${SettingsHead} title="API keys" actions=${all.length > 0 && button}>For programs: they belong to the organization, not to a person, and stay when their maker leaves.<//>
		<${LimitLine} resource=${usage.data?.resources.apiKeys} what="API keys" />
		<${ErrorNotice} error=${keys.error} retry=${keys.reload} />
		${keys.slow && html`<${Skeleton} />`}
		${keys.data && (all.length ? html`<${Tabs} label="API keys" selected=${show} onSelect=${(id) => setQuery({ show: id === 'active' ? null : id })}
			tabs=${[{ id: 'active', label: 'Active', count: lists.active.length }, { id: 'ended', label: 'Revoked and expired', count: lists.ended.length }]}>
			<${Table} caption="API keys" rows=${lists[show]} empty=${empty[show]} columns=${[
				{ key: 'name', title: 'Name', class: 'break', render: (row) => html`<div class="row"><bdi class="strong">${row.name}</bdi>${replacementOf(row, lists.active) && html`<${Badge} kind="accent">being replaced<//>`}</div>
					<code class="small muted">${row.prefix}…</code>` },
				{ key: 'scope', title: 'Scope', render: (row) => html`<span class="chips"><code class="scope-chip">${row.scope}</code>${row.kind === 'test' && html`<${Badge} kind="warn">test<//>`}</span>` },
				{ key: 'lastUsedAt', title: 'Last use', render: (row) => html`<${LastUse} one=${row} />` },
				{ key: 'expiresAt', title: 'Expires', render: (row) => html`<${Expiry} one=${row} />` },
				{ key: 'createdAt', title: 'Created', render: (row) => html`<${RelativeTime} value=${row.createdAt} />${maker(row) && html`<div class="small muted truncate cell-max">by <bdi>${maker(row)}</bdi></div>`}` },
				{ key: 'actions', title: 'Actions', hideTitle: true, align: 'end', render: (row) => !isOver(row) && html`<${Menu} icon="more" size="small" label=${`Actions for ${row.name}`} items=${[
					{ label: 'How to use it', icon: 'info', onSelect: () => showSnippets(row) },
					{ label: 'Rotate', icon: 'refresh', onSelect: () => setQuery({ rotate: row.id }, { replace: false }) },
					can('keys:revoke') && { label: 'Revoke', icon: 'trash', danger: true, onSelect: () => revoke(row) },
				]} />` },
			]} /><//>` : empty.active)}
		${rotating && html`<${RotateKey} key=${rotating.id} of=${rotating} keys=${keys.data} full=${full} reload=${reload} onRevoke=${revoke} onClose=${() => setQuery({ rotate: null })} />`}
	</div>`;
}
