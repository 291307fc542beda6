/*
 * combobox.js: a field that suggests values: fixed ones, or those that a function finds for what was typed.
 */
import { html, useEffect, useId, useRef, useState } from '../view.js';
import { FieldFrame } from './field.js';
import { isAbort } from '../api.js';

/**
 * A field with suggestions. options: texts or {value, label, hint}; or load(text, abort), which answers {options,
 * complete}, and is asked 150 ms after the last key. onInput gets what is typed or chosen, onChoose what is chosen.
 * free: what is typed counts too, otherwise only a suggestion does, and the rest is put back on leaving. completes: Enter takes
 * the first suggestion that begins with what was typed, as names of fields are typed by their beginning.
 */
export function Combobox({ label, hint, error, required, optional, hideLabel, value = '', options, load, onInput, onChoose, free = true, completes, placeholder, name })
{
	const id = useId();
	const [typed, setTyped] = useState(value);
	const [found, setFound] = useState({ options: [], complete: true });
	const [open, setOpen] = useState(false);
	const [active, setActive] = useState(-1);
	const edited = useRef(false);
	useEffect(() => { setTyped(value); }, [value]);
	useEffect(() => {
		if (!load || !open)
			return undefined;
		const control = new AbortController();
		const timer = setTimeout(() => load(edited.current ? typed : '', control.signal).then(setFound, (caught) => {
			if (!isAbort(caught))
				setFound({ options: [], complete: true, failed: caught.message });
		}), 150);
		return () => {
			clearTimeout(timer);
			control.abort();
		};
	}, [typed, open]);

	const all = (load ? found.options : options).map((one) => (typeof one === 'object' ? one : { value: one, label: String(one) }));
	const needle = edited.current ? typed.toLowerCase() : '';
	const shown = (load ? all : all.filter((one) => `${one.label} ${one.value}`.toLowerCase().includes(needle))).slice(0, 100);
	const labelOf = (text) => all.find((one) => one.value === text)?.label ?? text;

	function choose(one)
	{
		edited.current = false;
		setTyped(one.value);
		setOpen(false);
		setActive(-1);
		onInput?.(one.value);
		onChoose?.(one.value);
	}
	// Suggestions may still be on their way.
	async function complete()
	{
		const text = typed.trim();
		const names = (load ? (await load(text, new AbortController().signal).catch(() => found)).options : options).map((one) => one.value ?? one);
		const beginning = names.find((one) => one === text) ?? names.find((one) => one.toLowerCase().startsWith(text.toLowerCase()));
		choose({ value: beginning ?? text });
	}
	function onKey(event)
	{
		if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
			event.preventDefault();
			setOpen(true);
			if (shown.length)
				setActive((now) => (now + (event.key === 'ArrowDown' ? 1 : now < 0 ? 0 : -1) + shown.length) % shown.length);
		} else if (event.key === 'Enter' && open && shown[active]) {
			event.preventDefault();
			choose(shown[active]);
		} else if (event.key === 'Enter' && completes && edited.current && typed.trim()) {
			event.preventDefault();
			complete();
		} else if (event.key === 'Escape' && open) {
			event.preventDefault();
			event.stopPropagation();
			setOpen(false);
			setActive(-1);
		}
	}
	function leave()
	{
		setOpen(false);
		setActive(-1);
		if (!free && edited.current) {
			const exact = all.find((one) => one.label.toLowerCase() === typed.toLowerCase() || one.value === typed);
			edited.current = false;
			setTyped(exact ? exact.value : value);
			if (exact)
				onInput?.(exact.value);
		}
	}
	useEffect(() => { document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' }); }, [active]);

	return html`<${FieldFrame} label=${label} hint=${hint} error=${error} required=${required} optional=${optional} hideLabel=${hideLabel}>${(control) => html`<div class="combobox">
		<input class="input" type="text" role="combobox" autocomplete="off" spellcheck=${false} name=${name} placeholder=${placeholder} ...${control}
			value=${edited.current ? typed : labelOf(typed)} aria-expanded=${open && shown.length ? 'true' : 'false'} aria-controls=${`${id}-list`}
			aria-autocomplete="list" aria-activedescendant=${open && active >= 0 ? `${id}-${active}` : undefined}
			onInput=${(event) => {
				edited.current = true;
				setTyped(event.currentTarget.value);
				setOpen(true);
				setActive(-1);
				if (free)
					onInput?.(event.currentTarget.value);
			}}
			onClick=${() => setOpen(true)} onKeyDown=${onKey} onBlur=${leave} />
		<ul class="listbox" id=${`${id}-list`} role="listbox" aria-label=${label} hidden=${!open || !shown.length}>
			${shown.map((one, index) => html`<li key=${one.value} id=${`${id}-${index}`} role="option" aria-selected=${index === active ? 'true' : 'false'}
				onMouseDown=${(event) => event.preventDefault()} onClick=${() => choose(one)}>
				<span class="grow truncate">${one.label}</span>${one.hint && html`<span class="faint small">${one.hint}</span>`}</li>`)}
		</ul>
		<span class="visually-hidden" role="status">${open ? found.failed ?? `${shown.length}${load && !found.complete ? ' or more' : ''} suggestions` : ''}</span>
	</div>`}<//>`;
}
