/*
 * use-save.js: how editors save: a new thing is made, of a stored one the changes are sent.
 */
import { useRef, useState } from '../view.js';
import { api } from '../api.js';
import { navigate } from '../router.js';
import { orgPath } from '../session.js';
import { saveChanges } from './save-conflict.js';

/**
 * useSave({what, path, screen, stored, draft, pick, take}): what: 'rule', whose field of the name is `rule-name`; path: of the API;
 * screen: of the list; stored: null for a new one; draft: of useDraft; pick(stored): its members; take(stored): what the service has
 * now. Answers {set, save, busy, setBusy, error, setError}: set changes the draft.
 */
export function useSave({ what, path, screen, stored, draft, pick, take })
{
	const [error, setError] = useState(null);
	const [busy, setBusy] = useState('');
	const saving = useRef(false);
	// What was said of the values before is not true of these.
	const set = (changes) => {
		draft.set(changes);
		setError((now) => (now?.code === 'VALIDATION_ERROR' ? null : now));
	};

	/** body(value): what makes a new one; made(data), saved(data, before): what follows; as: what `busy` is meanwhile. */
	async function save({ value = draft.value, as = 'save', body, made, saved })
	{
		if (saving.current)
			return;
		if (!value.name.trim()) {
			setError({ message: `The ${what} needs a name`, code: 'VALIDATION_ERROR', details: [], fields: { name: 'Enter a name.' } });
			document.querySelector(`[name=${what}-name]`)?.focus();
			return;
		}
		saving.current = true;
		setBusy(as);
		setError(null);
		try {
			if (!stored) {
				const { data } = await api.post(path, body(value), { idempotencyKey: crypto.randomUUID?.() });
				draft.settle(value);
				await made(data);
				await navigate(orgPath(`${screen}/${data.id}`), { replace: true });
				return;
			}
			const before = draft.base;
			const done = await saveChanges({ path: `${path}/${stored.id}`, what, base: before, value, version: stored.version, pick });
			if (done)
				take(done.saved ?? done.theirs);
			if (done?.saved)
				await saved(done.saved, before);
		} catch (caught) {
			setError(caught);
		} finally {
			saving.current = false;
			setBusy('');
		}
	}
	return { set, save, busy, setBusy, error, setError };
}
