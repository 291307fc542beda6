/*
 * saved-query-dialog.js: making and changing a saved query.
 */
import { html, useId, useState } from '../view.js';
import { api } from '../api.js';
import { Button } from '../ui/button.js';
import { Combobox } from '../ui/combobox.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field, Select, TextArea } from '../ui/field.js';
import { QueryField } from '../ui/query-field.js';
import { saveChanges } from '../ui/save-conflict.js';

const fresh = { name: '', q: '', description: null, folder: null, visibility: 'org', defaultRange: null };
const pick = (one) => Object.fromEntries(Object.keys(fresh).map((name) => [name, one[name] ?? fresh[name]]));
const ranges = [['', 'no range of its own'], ['-15m', 'last 15 minutes'], ['-1h', 'last hour'], ['-24h', 'last 24 hours'], ['-7d', 'last 7 days']];

function Editor({ close, stored, start, folders })
{
	const [base, setBase] = useState(pick(stored ?? { ...fresh, ...start }));
	const [value, setValue] = useState(base);
	const [version, setVersion] = useState(stored?.version);
	const id = useId();
	const [error, setError] = useState(null);
	const [busy, setBusy] = useState(false);
	const set = (changes) => setValue((now) => ({ ...now, ...changes }));
	const errorAt = (path) => error?.fields?.[path];
	const range = value.defaultRange;
	const own = range && !(ranges.some(([one]) => one === range.earliest) && (range.latest ?? 'now') === 'now');
	async function save(event)
	{
		event?.preventDefault();
		if (busy)
			return;
		if (!value.name.trim() || !value.q.trim()) {
			setError({ message: 'Something is missing', code: 'VALIDATION_ERROR', details: [], fields: { ...(!value.name.trim() && { name: 'Enter a name.' }), ...(!value.q.trim() && { q: 'Enter a query.' }) } });
			return;
		}
		setBusy(true);
		setError(null);
		try {
			if (!stored) {
				close((await api.post('/api/v1/saved-queries', value, { idempotencyKey: crypto.randomUUID?.() })).data);
				return;
			}
			const done = await saveChanges({ path: `/api/v1/saved-queries/${stored.id}`, what: 'saved query', base, value, version, pick });
			if (done?.saved) {
				close(done.saved);
				return;
			}
			if (done?.theirs) {
				setBase(pick(done.theirs));
				setValue(pick(done.theirs));
				setVersion(done.theirs.version);
			}
		} catch (caught) {
			setError(caught);
		}
		setBusy(false);
	}
	return html`<${Dialog} title=${stored ? 'Saved query' : 'New saved query'} size="large" closeBeside=${false} onClose=${busy ? undefined : () => close(null)} footer=${html`
		<${Button} onClick=${() => close(null)} disabled=${busy}>Cancel<//><${Button} kind="primary" type="submit" form=${id} busy=${busy}>Save<//>`}>
		<form class="stack" id=${id} onSubmit=${save} novalidate>
			<${Field} label="Name" name="name" maxlength="200" required value=${value.name} error=${errorAt('name')} onInput=${(name) => set({ name })} data-autofocus />
			<${QueryField} label="Query" name="q" rows=${3} value=${value.q} error=${errorAt('q')} onInput=${(q) => set({ q })} onRun=${() => save()} />
			<div class="field-grid"><${Combobox} label="Folder" optional options=${folders} value=${value.folder ?? ''} error=${errorAt('folder')} onInput=${(text) => set({ folder: text.trim() || null })} />
				<${Select} label="Seen by" value=${value.visibility} error=${errorAt('visibility')} options=${[{ value: 'org', label: 'everybody in the organization' }, { value: 'private', label: 'only me' }]} onInput=${(visibility) => set({ visibility })} />
				<${Select} label="Offers" value=${own ? 'own' : range?.earliest ?? ''} options=${[...ranges.map(([one, label]) => ({ value: one, label })), ...(own ? [{ value: 'own', label: `${range.earliest} to ${range.latest ?? 'now'}` }] : [])]}
					onInput=${(one) => one !== 'own' && set({ defaultRange: one ? { earliest: one, latest: 'now' } : null })} /></div>
			<${TextArea} label="Description" optional rows="2" maxlength="2000" value=${value.description ?? ''} error=${errorAt('description')} onInput=${(text) => set({ description: text || null })} />
			<${ErrorNotice} error=${error && !(error.fields && Object.keys(error.fields).some((one) => one in fresh)) ? error : null} />
		</form><//>`;
}

/** Edits a saved query, or makes one (start: its first values); folders: names that are there. Answers it, or null. */
export const editSavedQuery = ({ stored, start, folders = [] }) => openDialog((close) => html`<${Editor} close=${close} stored=${stored} start=${start} folders=${folders} />`);
