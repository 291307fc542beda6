/*
 * use-draft.js: what an editor has changed and not saved. Leaving the page with it asks first.
 */
import { useEffect, useRef, useState } from '../view.js';
import { guardLeaving } from '../router.js';
import { confirm } from './confirm.js';

/** Are two values equal as JSON, whatever the order of members? */
export function sameValue(a, b)
{
	if (a === b)
		return true;
	if (!a || !b || typeof a !== 'object' || typeof b !== 'object' || Array.isArray(a) !== Array.isArray(b))
		return false;
	const names = Object.keys(a);
	return names.length === Object.keys(b).length && names.every((name) => name in b && sameValue(a[name], b[name]));
}

/** The JSON Merge Patch (RFC 7396) that makes `to` of `from`. */
export function mergePatch(from, to)
{
	const patch = {};
	for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
		const [a, b] = [from[name], to[name]];
		if (sameValue(a, b))
			continue;
		const objects = [a, b].every((one) => one && typeof one === 'object' && !Array.isArray(one));
		patch[name] = b === undefined ? null : objects ? mergePatch(a, b) : b;
	}
	return patch;
}

/**
 * useDraft(stored): {value, set(changes), base, dirty, settle(stored)}. base is what was read last; settle puts what the
 * service has now in the place of both. While dirty, leaving the page asks.
 */
export function useDraft(start)
{
	const [state, setState] = useState({ base: start, value: start });
	const dirty = !sameValue(state.base, state.value);
	const unsaved = useRef(false);
	unsaved.current = dirty;
	useEffect(() => {
		if (!dirty)
			return undefined;
		return guardLeaving(async () => !unsaved.current || Boolean(await confirm({ title: 'Leave without saving?', danger: true, action: 'Leave',
			text: 'What you have changed here is not saved.' })));
	}, [dirty]);
	return {
		...state, dirty,
		set: (changes) => setState((now) => ({ ...now, value: { ...now.value, ...(typeof changes === 'function' ? changes(now.value) : changes) } })),
		settle: (stored, value = stored) => {
			unsaved.current = !sameValue(stored, value);
			setState({ base: stored, value });
		},
	};
}
