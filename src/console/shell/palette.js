/*
 * palette.js: Ctrl+K: screens, organizations, actions, and what screens add, such as saved queries.
 */
import { html, useEffect, useId, useMemo, useRef, useState } from '../view.js';
import { Dialog } from '../ui/dialog.js';
import { Icon } from '../ui/icon.js';
import { isAbort } from '../api.js';
import { sources } from './palette-sources.js';
import { Keys } from './key-list.js';

// Letters in order, better at the beginnings of words: a number, or -1 when a letter is missing.
function score(text, wanted)
{
	const hay = text.toLowerCase();
	let at = 0;
	let points = 0;
	for (const letter of wanted) {
		const next = hay.indexOf(letter, at);
		if (next < 0)
			return -1;
		points += next === at ? 3 : /\W/.test(hay[next - 1] ?? ' ') ? 2 : 0;
		at = next + 1;
	}
	return points - hay.length / 100;
}

/** The dialog. entries: what is there at once; sources are asked when it opens. */
export default function Palette({ close, entries })
{
	const [typed, setTyped] = useState('');
	const [found, setFound] = useState([]);
	const [active, setActive] = useState(0);
	const id = useId();
	const list = useRef(null);
	useEffect(() => {
		const control = new AbortController();
		for (const source of sources)
			source(control.signal).then((more) => setFound((now) => [...now, ...more]), (error) => {
				// The palette is useful without it, and its own screen shows the error.
				if (!isAbort(error))
					console.warn(error.message);
			});
		return () => control.abort();
	}, []);
	const shown = useMemo(() => {
		const wanted = typed.toLowerCase().replace(/\s+/g, '');
		return [...entries, ...found].map((one) => ({ one, points: score(`${one.label} ${one.group}`, wanted) }))
			.filter(({ points }) => points > -1).sort((a, b) => (wanted ? b.points - a.points : 0)).slice(0, 50).map(({ one }) => one);
	}, [typed, found]);
	useEffect(() => { list.current?.children[active]?.scrollIntoView({ block: 'nearest' }); }, [active]);
	function choose(one)
	{
		close();
		one?.run();
	}
	function onKey(event)
	{
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (step && shown.length) {
			event.preventDefault();
			setActive((now) => (now + step + shown.length) % shown.length);
		} else if (event.key === 'Enter') {
			event.preventDefault();
			choose(shown[active]);
		}
	}
	return html`<${Dialog} title="Go to" onClose=${close} size="palette">
		<div class="palette-field"><${Icon} name="search" /><input class="palette-input" data-autofocus type="text" role="combobox" aria-label="Search screens and actions"
			placeholder="Search screens and actions" autocomplete="off" spellcheck=${false} aria-expanded="true" aria-controls=${id}
			aria-autocomplete="list" aria-activedescendant=${shown.length ? `${id}-${active}` : undefined} value=${typed} onKeyDown=${onKey}
			onInput=${(event) => { setTyped(event.currentTarget.value); setActive(0); }} /></div>
		<ul class="palette-list" role="listbox" id=${id} aria-label="Screens and actions" ref=${list}>
			${shown.map((one, index) => html`<li key=${`${one.group} ${one.label} ${index}`} role="option" id=${`${id}-${index}`} class="palette-item"
				aria-selected=${index === active ? 'true' : 'false'} onMouseMove=${() => setActive(index)} onClick=${() => choose(one)}>
				<${Icon} name=${one.icon ?? 'right'} /><span class="grow truncate">${one.label}</span>
				${one.keys ? html`<${Keys} keys=${one.keys} />` : html`<span class="faint small">${one.group}</span>`}</li>`)}
		</ul>
		${!shown.length && html`<p class="palette-none muted" role="status">Nothing is called that.</p>`}
	<//>`;
}
