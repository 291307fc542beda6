/*
 * palette.js: Ctrl+K: screens, organizations, actions, and what screens add, such as saved queries.
 */
import { html, useEffect, useId, useMemo, useRef, useState } from '../view.js';
import { Dialog } from '../ui/dialog.js';
import { Icon } from '../ui/icon.js';
import { isAbort } from '../api.js';
import { navigate } from '../router.js';
import { organization, orgPath, session, signOut } from '../session.js';
import { toastError } from '../ui/toast.js';
import { listedScreens, startOf } from './places.js';
import { chooseTheme } from './theme.js';
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

// What is there at once.
function ownEntries(openKeys)
{
	return [
		...listedScreens().flatMap(({ group, screens }) => screens.map((one) => ({
			label: one.title, group, icon: one.icon, keys: one.key && `g ${one.key}`, run: () => navigate(orgPath(one.path)) }))),
		{ label: 'Your account', group: 'You', icon: 'user', run: () => navigate(orgPath('/account')) },
		...session.value.organizations.filter((one) => one.signInAllowed && one.slug !== organization.value?.slug)
			.map((one) => ({ label: one.name, group: 'Organization', icon: 'users', run: () => navigate(startOf(one.slug)) })),
		{ label: 'New organization', group: 'Organization', icon: 'plus', run: () => navigate('/welcome') },
		...themes.map(([name, icon]) => ({
			label: `Theme: ${name}`, group: 'Theme', icon, run: () => chooseTheme(name) })),
		{ label: 'Keys', group: 'Help', icon: 'info', keys: '?', run: openKeys },
		{ label: 'Sign out', group: 'You', icon: 'signout', run: () => signOut().catch(toastError) },
	];
}

// Names, with their icons.
const themes = [['system', 'screen'], ['light', 'M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6ZM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9'],
	['dark', 'M13 9.5A5.5 5.5 0 1 1 6.5 3 4.5 4.5 0 0 0 13 9.5Z']];

/**
 * The dialog: screens, organizations, actions; sources are asked when it opens. release: what has been typed meanwhile
 * (holdKeys).
 */
export default function Palette({ close, openKeys, release })
{
	const entries = useMemo(() => ownEntries(openKeys), []);
	const [typed, setTyped] = useState('');
	const [found, setFound] = useState([]);
	const [active, setActive] = useState(0);
	const [enter, setEnter] = useState(false);
	const id = useId();
	const list = useRef(null);
	useEffect(() => {
		const before = release();
		setTyped(before.text);
		setEnter(before.enter);
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
	useEffect(() => {
		if (enter)
			choose(shown[0]);
	}, [enter]);
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
