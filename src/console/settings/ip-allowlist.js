/*
 * ip-allowlist.js: the networks from which the organization may be used. A draft, because a list that is half done
 * would lock people out.
 */
import { html, useEffect } from '../view.js';
import { api } from '../api.js';
import { guardLeaving } from '../router.js';
import { Badge } from '../ui/badge.js';
import { Button, IconButton } from '../ui/button.js';
import { confirm } from '../ui/confirm.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field } from '../ui/field.js';
import { Icon } from '../ui/icon.js';
import { Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { toast } from '../ui/toast.js';
import { useForm } from '../ui/use-form.js';
import { checkNetwork, isInside, networkOf } from './addresses.js';

const most = 100;
const same = (a, b) => JSON.stringify(a.map(({ network, note }) => [network, note])) === JSON.stringify(b.map(({ network, note }) => [network, note]));

function Add({ entries, add })
{
	const form = useForm({
		values: { network: '', note: '' },
		check: ({ network }) => {
			const wrong = checkNetwork(network);
			const key = ({ first, bits, size }) => `${first}/${bits}/${size}`;
			if (wrong)
				return { network: wrong };
			if (entries.some((one) => key(networkOf(one.network)) === key(networkOf(network))))
				return { network: 'It is in the list.' };
			return entries.length >= most ? { network: `A list has at most ${most} entries.` } : {};
		},
		send: async ({ network, note }) => {
			add({ network: network.trim(), note: note.trim() || null });
			form.set({ network: '', note: '' });
		},
	});
	return html`<form class="add-network" onSubmit=${form.submit} novalidate>
		<${Field} label="Address or network" placeholder="192.0.2.0/24" autocomplete="off" spellcheck=${false} ...${form.bind('network')} />
		<${Field} label="Note" optional maxlength="200" placeholder="Office" autocomplete="off" ...${form.bind('note')} />
		<${Button} type="submit" icon="plus">Add<//></form>`;
}

/** The section. list: what GET /api/v1/ip-allowlist said, as useLoad has it; draft: entries, or null; setDraft. */
export function IpAllowlist({ list, draft, setDraft })
{
	const { callerAddress } = list.data;
	const entries = draft ?? list.data.entries;
	const changed = draft !== null && !same(draft, list.data.entries);
	const inside = isInside(callerAddress, entries.map((one) => one.network));
	const form = useForm({
		values: {},
		send: async () => {
			const put = (force) => api.put('/api/v1/ip-allowlist', { entries: entries.map(({ network, note }) => ({ network, note })), ...(force && { force }) });
			const set = (answer) => {
				list.set(answer.data);
				setDraft(null);
				toast(answer.data.entries.length ? 'The list is in force.' : 'Every address is allowed.');
			};
			try {
				set(await put(false));
			} catch (error) {
				if (!error.details?.some((one) => one.code === 'excludes_caller'))
					throw error;
				const forced = await confirm({ title: 'Lock yourself out?', danger: true, action: 'Save all the same',
					text: html`<p>Your address, <code>${callerAddress}</code>, is not in the list. From here you could not use this organization any more; only somebody with an address of the list, or the operator, could change it back.</p>`,
					run: () => put(true) });
				if (forced)
					set(forced.value);
			}
		},
	});
	useEffect(() => (changed ? guardLeaving(() => confirm({ title: 'Leave without saving?', action: 'Leave', danger: true, text: 'The changes to the IP allow-list are lost.' }).then(Boolean)) : undefined), [changed]);

	const remove = (row) => setDraft(entries.filter((one) => one !== row));
	return html`<section class="card stack" aria-labelledby="ip-title"><div><h2 id="ip-title">IP allow-list</h2>
			<p class="muted">From any other address every token, key and session of the organization is refused, also for sending events.</p></div>
		${entries.length ? html`<${Table} caption="Networks that are allowed" rows=${entries} rowKey=${(row) => row.network} columns=${[
			{ key: 'network', title: 'Network', class: 'break', render: (row) => html`<span class="row"><code>${row.network}</code>${isInside(callerAddress, [row.network]) && html`<${Badge} kind="accent">you are here<//>`}</span>` },
			{ key: 'note', title: 'Note', class: 'break', render: (row) => html`<bdi>${row.note}</bdi>` },
			{ key: 'createdAt', title: 'Added', render: (row) => html`<${Time} value=${row.createdAt} none="not saved yet" />` },
			{ key: 'remove', title: 'Remove', hideTitle: true, align: 'end', render: (row) => html`<${IconButton} icon="close" size="small" label=${`Remove ${row.network}`} onClick=${() => remove(row)} />` },
		]} />` : html`<p><${Badge}>off<//> The list is empty: every address is allowed.</p>`}
		<${Add} entries=${entries} add=${(one) => setDraft([...entries, one])} />
		<p class="row small"><span class="muted">Your address is <code>${callerAddress}</code>.</span>
			${callerAddress && !inside && html`<${Button} size="small" onClick=${() => setDraft([...entries, { network: callerAddress, note: 'My address' }])}>Add my address<//>`}</p>
		${entries.length > 0 && !inside && html`<div class="notice notice-warn"><${Icon} name="alert" /><p>Your address is not in this list.</p></div>`}
		<${ErrorNotice} error=${form.error} />
		${changed && html`<div class="row"><${Button} kind="primary" busy=${form.busy} onClick=${form.submit}>Save the list<//><${Button} onClick=${() => setDraft(null)} disabled=${form.busy}>Discard changes<//></div>`}
	</section>`;
}
