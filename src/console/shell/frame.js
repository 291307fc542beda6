/*
 * frame.js: navigation beside a screen of an organization.
 */
import { html, useEffect, useRef, useState } from '../view.js';
import { address, navigate } from '../router.js';
import { organization, orgPath, session, signOut } from '../session.js';
import { Icon } from '../ui/icon.js';
import { IconButton } from '../ui/button.js';
import { openLater } from '../ui/later.js';
import { Menu } from '../ui/menu.js';
import { chooseZone, zoneChoice } from '../ui/time.js';
import { toastError } from '../ui/toast.js';
import { listedScreens, startOf } from './places.js';
import { apple, holdKeys, useKeys } from './keys.js';
import { chooseTheme, theme } from './theme.js';

const openKeys = () => openLater(() => import('./key-list.js'), ({ default: KeyList }, close) => html`<${KeyList} close=${close} />`);

function openPalette()
{
	const release = holdKeys();
	openLater(() => import('./palette.js'), ({ default: Palette }, close) => html`<${Palette} close=${close} openKeys=${openKeys} release=${release} />`).finally(release);
}

function Switcher()
{
	const now = organization.value;
	return html`<${Menu} label="Organization" align="start" kind="ghost" class="switcher" items=${[
		...session.value.organizations.map((one) => ({ label: one.name, hint: `${one.role} · ${one.plan}`, checked: one.slug === now?.slug,
			reason: one.signInAllowed ? undefined : 'does not accept this sign-in', onSelect: () => navigate(startOf(one.slug)) })),
		{ separator: true },
		{ label: 'New organization', icon: 'plus', href: '/welcome' },
	]}><span class="switcher-mark" aria-hidden="true">${(now?.name ?? '?').charAt(0).toUpperCase()}</span>
		<span class="switcher-name truncate"><span class="visually-hidden">Organization: </span>${now?.name}</span><//>`;
}

function You()
{
	const { user } = session.value;
	return html`<${Menu} label="You and settings of this browser" align="start" drop="up" kind="ghost" class="switcher" items=${[
		{ heading: user.email },
		{ label: 'Your account', icon: 'user', href: orgPath('/account') },
		{ separator: true },
		{ heading: 'Theme' },
		...[['system', 'As the system'], ['light', 'Light'], ['dark', 'Dark']].map(([name, label]) => ({ label, checked: theme.value === name,
			onSelect: () => chooseTheme(name) })),
		{ separator: true },
		{ heading: 'Times in' },
		{ label: Intl.DateTimeFormat().resolvedOptions().timeZone, hint: 'this browser', checked: zoneChoice.value === 'browser', onSelect: () => chooseZone('browser') },
		{ label: organization.value?.timezone ?? 'UTC', hint: 'the organization', checked: zoneChoice.value === 'organization', onSelect: () => chooseZone('organization') },
		{ label: 'UTC', checked: zoneChoice.value === 'utc', onSelect: () => chooseZone('utc') },
		{ separator: true },
		{ label: 'Keys', icon: 'info', onSelect: openKeys },
		{ label: 'Sign out', icon: 'signout', onSelect: () => signOut().catch(toastError) },
	]}><${Icon} name="user" /><span class="switcher-name truncate">${user.name || user.email}</span><//>`;
}

/** Navigation and the screen (children) beside it. */
export function Frame({ screen, children })
{
	const [open, setOpen] = useState(false);
	const main = useRef(null);
	const first = useRef(true);
	const { path } = address.value;
	const groups = listedScreens();
	useEffect(() => {
		setOpen(false);
		// The first page gets its focus from the browser; later ones are announced by it.
		if (!first.current && !document.querySelector('dialog[open]'))
			main.current?.focus({ preventScroll: true });
		first.current = false;
		window.scrollTo(0, 0);
	}, [path]);
	useKeys([
		...groups.flatMap((one) => one.screens).filter((one) => one.key).map((one) => ({ keys: `g ${one.key}`, text: one.title, group: 'Go to',
			run: () => navigate(orgPath(one.path)) })),
		{ keys: 'mod+k', text: 'Go to a screen or an action', group: 'Anywhere', run: openPalette },
		{ keys: '?', text: 'These keys', group: 'Anywhere', run: openKeys },
	]);
	return html`<a class="skip" href="#main">Skip to the content</a>
	<div class=${`frame ${open ? 'is-open' : ''}`}>
		<header class="topbar"><${IconButton} icon="menu" label="Navigation" aria-expanded=${open ? 'true' : 'false'} aria-controls="navigation" onClick=${() => setOpen(!open)} />
			<span class="truncate grow">${screen?.title ?? organization.value?.name}</span>
			<${IconButton} icon="search" label="Go to a screen or an action" onClick=${openPalette} /></header>
		${open && html`<div class="nav-scrim" onClick=${() => setOpen(false)}></div>`}
		<nav class="nav" id="navigation" aria-label="Screens" onKeyDown=${(event) => { if (event.key === 'Escape') setOpen(false); }}>
			<${Switcher} />
			<button type="button" class="nav-search" onClick=${openPalette}><${Icon} name="search" /><span class="grow">Go to</span>
				<kbd>${apple ? '⌘' : 'Ctrl'} K</kbd></button>
			<div class="nav-groups">${groups.map(({ group, screens }) => html`<div class="nav-group" key=${group}>
				<h2 class="nav-title" id=${`nav-${group}`}>${group}</h2>
				<ul aria-labelledby=${`nav-${group}`}>${screens.map((one) => html`<li key=${one.path}><a class="nav-link" href=${orgPath(one.path)}
					aria-current=${path === orgPath(one.path) ? 'page' : screen === one || path.startsWith(`${orgPath(one.path)}/`) ? 'true' : undefined}>
					<${Icon} name=${one.icon ?? 'list'} /><span class="truncate">${one.title}</span></a></li>`)}</ul></div>`)}</div>
			<${You} />
		</nav>
		<main class="main" id="main" tabindex="-1" ref=${main}>${children}</main>
	</div>`;
}

