/*
 * keys.js: keys of the whole page, alone or in sequence ('?', '/', 'mod+k', 'g s').
 */
import { signal, useEffect, useRef } from '../view.js';

/** What the list of keys shows: {keys, text, group}. */
export const keyList = signal([]);
const bindings = new Map();
let before = '';
let timer = 0;

/** mod is Command on Apple's machines and Ctrl elsewhere. */
export const apple = /Mac|iPhone|iPad/.test(navigator.userAgent);

// What is typed while a field for it is being loaded, or null.
let held = null;

/** Keeps what is typed from now on; the function that it answers ends that and answers {text, enter}. */
export function holdKeys()
{
	held = { text: '', enter: false };
	return () => {
		const typed = held ?? { text: '', enter: false };
		held = null;
		return typed;
	};
}

const typing = (target) => target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

function nameOf(event)
{
	const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
	return ((apple ? event.metaKey : event.ctrlKey) ? 'mod+' : '') + (event.altKey ? 'alt+' : '') + key;
}

document.addEventListener('keydown', (event) => {
	if (event.defaultPrevented || event.isComposing)
		return;
	if (held) {
		if (event.key === 'Enter')
			held.enter = true;
		else if (event.key === 'Backspace')
			held.text = held.text.slice(0, -1);
		else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey && !held.enter)
			held.text += event.key;
		event.preventDefault();
		return;
	}
	const name = nameOf(event);
	// Plain letters belong to fields, and all keys to an open dialog; mod works everywhere else.
	if ((typing(event.target) && !name.startsWith('mod+')) || document.querySelector('dialog[open]'))
		return;
	const sequence = before ? `${before} ${name}` : name;
	clearTimeout(timer);
	before = '';
	const binding = bindings.get(sequence)?.at(-1);
	if (binding) {
		event.preventDefault();
		binding.run(event);
	} else if ([...bindings.keys()].some((one) => one.startsWith(`${sequence} `))) {
		before = sequence;
		timer = setTimeout(() => { before = ''; }, 1200);
	}
});

/**
 * Binds keys while the component is there: useKeys([{keys: 'g s', text: 'Search', group: 'Go to', run}]). The latest of
 * equal ones counts. Without text they are not in the list of keys.
 */
export function useKeys(list)
{
	const latest = useRef(list);
	latest.current = list;
	const names = list.map((one) => `${one.keys}${one.text}`).join();
	useEffect(() => {
		const added = latest.current.map((one, index) => ({ keys: one.keys, text: one.text, group: one.group ?? 'This page',
			run: (event) => latest.current[index]?.run(event) }));
		for (const one of added)
			bindings.set(one.keys, [...bindings.get(one.keys) ?? [], one]);
		keyList.value = [...keyList.value, ...added.filter((one) => one.text)];
		return () => {
			for (const one of added) {
				const rest = bindings.get(one.keys).filter((other) => other !== one);
				if (rest.length)
					bindings.set(one.keys, rest);
				else
					bindings.delete(one.keys);
			}
			keyList.value = keyList.value.filter((one) => !added.includes(one));
		};
	}, [names]);
}
