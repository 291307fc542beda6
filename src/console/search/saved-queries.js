/*
 * saved-queries.js: searches with names: a drawer of folders, and the dialog that saves one.
 */
import { html, useId, useMemo, useState } from '../view.js';
import { allRows, api } from '../api.js';
import { can, session } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Combobox } from '../ui/combobox.js';
import { Dialog } from '../ui/dialog.js';
import { Drawer } from '../ui/drawer.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field, RadioCards, TextArea } from '../ui/field.js';
import { Menu } from '../ui/menu.js';
import { Skeleton } from '../ui/skeleton.js';
import { toast, toastError } from '../ui/toast.js';
import { useForm } from '../ui/use-form.js';
import { useLoad } from '../ui/use-load.js';
import { rangeText } from './time-text.js';

const path = '/api/v1/saved-queries';
const one = (id) => `${path}/${encodeURIComponent(id)}`;

/** All saved queries that the user sees, by name. */
export const listSaved = (abort) => allRows(path, { abort, most: 1000 }).then((answer) => answer.rows);

/**
 * The dialog. saved: one that is changed, or null; query: {q, earliest, latest} that is saved; close(saved).
 */
export function SaveQuery({ close, saved = null, query })
{
	const id = useId();
	const folders = useLoad((abort) => listSaved(abort).then((all) => [...new Set(all.map((item) => item.folder).filter(Boolean))]));
	const form = useForm({
		values: { name: saved?.name ?? '', folder: saved?.folder ?? '', description: saved?.description ?? '', visibility: saved?.visibility ?? 'org' },
		check: (values) => (values.name.trim() ? {} : { name: 'Enter a name.' }),
		send: async (values) => {
			const body = { name: values.name.trim(), folder: values.folder.trim() || null, description: values.description.trim() || null, visibility: values.visibility };
			// Only what was changed is sent, so that nothing of others is put back.
			const changes = saved ? Object.fromEntries(Object.entries(body).filter(([name, value]) => value !== (saved[name] ?? null)))
				: { ...Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)), q: query.q, defaultRange: { earliest: query.earliest, latest: query.latest } };
			const answer = saved ? await api.patch(one(saved.id), changes, { headers: { 'If-Match': `"${saved.version}"` } }) : await api.post(path, changes);
			close(answer.data);
		},
	});
	return html`<${Dialog} title=${saved ? 'Change saved query' : 'Save query'} onClose=${() => close(null)} footer=${html`
		<${Button} onClick=${() => close(null)}>Cancel<//><${Button} kind="primary" type="submit" form=${id} busy=${form.busy}>Save<//>`}>
		<form class="stack" id=${id} onSubmit=${form.submit} novalidate>
			<${Field} label="Name" maxlength="200" autocomplete="off" data-autofocus ...${form.bind('name')} />
			<${Combobox} label="Folder" optional options=${folders.data ?? []} ...${form.bind('folder')} />
			<${TextArea} label="Description" optional rows="2" maxlength="2000" ...${form.bind('description')} />
			<${RadioCards} label="Who sees it" name="visibility" value=${form.values.visibility} onInput=${(visibility) => form.set({ visibility })} options=${[
				{ value: 'org', label: 'The organization', hint: 'Everyone who may read dashboards' }, { value: 'private', label: 'Only you' }]} />
			${!saved && html`<pre class="saved-preview" tabindex="0" aria-label="The query">${query.q || 'all events'}</pre>`}
			<${ErrorNotice} error=${form.error} title=${form.error?.code === 'VERSION_CONFLICT' ? 'It has changed meanwhile: close this and open it again' : undefined}>
				${form.error?.code === 'PLAN_LIMIT_REACHED' && html`<p>Delete one that is not used. An owner can change the plan.</p>`}<//>
		</form><//>`;
}

/**
 * The drawer. current: the query of the page; onOpen(saved): run it; onEdit(saved): a promise of the changed one, or null;
 * onSave(): save the current one.
 */
export function SavedQueries({ current, onOpen, onEdit, onSave, onClose })
{
	const list = useLoad(listSaved);
	const [typed, setTyped] = useState('');
	const folders = useMemo(() => {
		const wanted = typed.toLowerCase();
		const groups = new Map();
		for (const item of list.data ?? [])
			if (`${item.name} ${item.q} ${item.folder ?? ''}`.toLowerCase().includes(wanted))
				groups.set(item.folder ?? '', [...groups.get(item.folder ?? '') ?? [], item]);
		return [...groups].sort(([a], [b]) => (a === '' ? 1 : b === '' ? -1 : a.localeCompare(b)));
	}, [list.data, typed]);
	const writes = can('dashboards:write');
	const mayDelete = (item) => can('dashboards:delete') || (writes && item.createdBy === session.value.user.id);
	async function remove(item)
	{
		const before = list.data;
		list.set((all) => all.filter((other) => other.id !== item.id));
		try {
			await api.delete(one(item.id), { headers: { 'If-Match': `"${item.version}"` } });
			toast(`“${item.name}” deleted.`, { undo: async () => {
				const { name, q, folder, description, visibility, defaultRange } = item;
				await api.post(path, Object.fromEntries(Object.entries({ name, q, folder, description, visibility, defaultRange }).filter(([, value]) => value !== null && value !== undefined)));
				list.reload();
			} });
		} catch (error) {
			list.set(before);
			toastError(error);
		}
	}
	async function change(item, changes)
	{
		try {
			await api.patch(one(item.id), changes, { headers: { 'If-Match': `"${item.version}"` } });
			toast(`“${item.name}” has the query of this page now.`);
			list.reload();
		} catch (error) {
			toastError(error);
			list.reload();
		}
	}
	return html`<${Drawer} title="Saved queries" onClose=${onClose} actions=${writes && html`<${Button} size="small" icon="save" onClick=${async () => { if (await onSave()) list.reload(); }}>Save this one<//>`}>
		<div class="stack">
			<${Field} label="Find" hideLabel type="search" placeholder="Find by name, folder or text" value=${typed} onInput=${setTyped} autocomplete="off" />
			<${ErrorNotice} error=${list.error} retry=${list.reload} />
			${list.slow && html`<${Skeleton} />`}
			${list.data && !list.data.length && html`<${EmptyState} icon="save" title="No saved queries yet" action=${writes && html`<${Button} onClick=${async () => { if (await onSave()) list.reload(); }}>Save this query<//>`}>
				<p>Give a search a name, and it is here and in the palette for everybody.</p><//>`}
			${list.data?.length > 0 && !folders.length && html`<p class="muted">Nothing is called that.</p>`}
			${folders.map(([folder, items]) => html`<section key=${folder} class="stack-s"><h3 class="small muted"><bdi>${folder || 'No folder'}</bdi></h3>
				<ul class="saved-list">${items.map((item) => html`<li key=${item.id} class="saved-item">
					<button type="button" class="saved-open" onClick=${() => onOpen(item)}><span class="row"><strong class="truncate"><bdi>${item.name}</bdi></strong>${item.visibility === 'private' && html`<${Badge}>private<//>`}</span>
						<code class="saved-text truncate">${item.q || 'all events'}</code>
						<span class="small faint truncate">${[item.defaultRange?.earliest && rangeText({ earliest: item.defaultRange.earliest, latest: item.defaultRange.latest ?? 'now' }), item.description].filter(Boolean).join(' · ')}</span></button>
					${(writes || mayDelete(item)) && html`<${Menu} icon="more" size="small" label=${`More about ${item.name}`} items=${[
						writes && { label: 'Rename, move, share', icon: 'edit', onSelect: async () => { if (await onEdit(item)) list.reload(); } },
						writes && { label: 'Put the query of this page in its place', icon: 'save', onSelect: () => change(item, { q: current.q, defaultRange: { earliest: current.earliest, latest: current.latest } }) },
						mayDelete(item) && { label: 'Delete', icon: 'trash', danger: true, onSelect: () => remove(item) },
					]} />`}</li>`)}</ul></section>`)}
		</div><//>`;
}
