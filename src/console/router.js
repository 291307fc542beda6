/*
 * router.js: the address bar as a signal, navigation, and patterns of paths.
 *
 * The address is the state: a screen reads `query` and changes it with setQuery, so that links, reload, Back and
 * Forward do what people expect.
 */
import { computed, signal } from './view.js';

const read = () => ({ path: window.location.pathname, search: window.location.search, hash: window.location.hash });

/** The address now: {path, search, hash}. */
export const address = signal(read());
/** The query of the address, as URLSearchParams; do not change it, call setQuery. */
export const query = computed(() => new URLSearchParams(address.value.search));

/** Functions that may keep the user on the page: each answers (a promise of) false to stay. */
const guards = new Set();

/** Registers a guard, such as an editor with unsaved work; answers the function that removes it. */
export function guardLeaving(guard)
{
	guards.add(guard);
	return () => guards.delete(guard);
}

// Parameters that open something over the page: an entry of the history of its own, so that Back closes it. Closed otherwise it
// leaves that entry behind, spent, which the next page takes and Back passes over.
const over = ['event', 'alert', 'entry', 'letter', 'service', 'rotate'];
// Dialogs have such an entry, too, without a change of the address: the last of `dialogs` is the uppermost.
const dialogs = [];
let lastDialog = 0;
const spent = () => window.history.state === 'spent' || (/^dialog/.test(window.history.state) && !dialogs.length);
let wasSpent = spent();
let leaving = false;

const mayLeave = async () => {
	for (const guard of [...guards])
		if (await guard() === false)
			return false;
	return true;
};

window.addEventListener('popstate', async () => {
	const { path, search, hash } = address.value;
	// A link into the page, such as the one to the content, is no Back.
	const within = window.location.hash !== hash;
	const pass = wasSpent && !within;
	const dialog = dialogs.at(-1);
	wasSpent = spent();
	if (pass) {
		// Later: a browser may ignore what it is asked for before it has noted where it is. There may be nothing before it, too.
		setTimeout(() => window.history.back(), 20);
		setTimeout(() => { address.value = read(); }, 500);
		return;
	}
	if (guards.size && !leaving && !dialog && window.location.pathname !== path) {
		window.history.pushState(null, '', path + search + hash);
		wasSpent = false;
		if (await mayLeave()) {
			leaving = true;
			window.history.back();
		}
		return;
	}
	leaving = false;
	address.value = read();
	if (!within)
		dialog?.back();
});

/** For a dialog that has opened: Back calls close() and stays on the page. Answers the function to call when it is gone. */
export function overPage(close)
{
	const state = `dialog ${++lastDialog}`;
	const enter = () => {
		window.history[spent() ? 'replaceState' : 'pushState'](state, '');
		wasSpent = false;
	};
	const own = { back: () => {
		close();
		// One that cannot be closed now stays, and needs an entry again.
		setTimeout(() => dialogs.includes(own) && window.history.state !== state && enter(), 100);
	} };
	enter();
	dialogs.push(own);
	return () => {
		dialogs.splice(dialogs.indexOf(own), 1);
		if (window.history.state === state)
			window.history.replaceState('spent', '');
		wasSpent = spent();
	};
}
window.addEventListener('hashchange', () => { address.value = read(); });
window.addEventListener('beforeunload', (event) => {
	if (guards.size)
		event.preventDefault();
});

/** Goes to a path of this origin; replace: without an entry in the history. Answers whether it went. */
export async function navigate(target, { replace = false, closes = false } = {})
{
	const url = new URL(target, window.location.href);
	if (url.origin !== window.location.origin)
		throw new Error(`navigate: ${target} is not of this origin`);
	if (url.pathname !== address.value.path && !await mayLeave())
		return false;
	const state = closes ? 'spent' : replace ? window.history.state : null;
	window.history[replace || spent() ? 'replaceState' : 'pushState'](state, '', url.pathname + url.search + url.hash);
	wasSpent = spent();
	address.value = read();
	return true;
}

/** Changes parameters of the address: {q: 'x', page: null} sets q and removes page. */
export function setQuery(changes, { replace = true } = {})
{
	const next = new URLSearchParams(window.location.search);
	const opened = () => over.some((name) => next.has(name));
	const was = opened();
	for (const [name, value] of Object.entries(changes)) {
		if (value === null || value === undefined || value === '')
			next.delete(name);
		else
			next.set(name, String(value));
	}
	const text = next.toString();
	return navigate(window.location.pathname + (text ? `?${text}` : '') + window.location.hash, { replace: replace && (was || !opened()), closes: replace && was && !opened() });
}

/**
 * Removes the fragment from the address bar and the history, and answers its parameters. For links in mails, whose
 * secret must not stay where people can see or copy it.
 */
export function takeFragment()
{
	const params = new URLSearchParams(window.location.hash.slice(1));
	if (window.location.hash) {
		window.history.replaceState(null, '', window.location.pathname + window.location.search);
		address.value = read();
	}
	return params;
}

/** Compares a path with a pattern: match('/o/:org/search', path) answers {org} or null. */
export function match(pattern, path)
{
	const wanted = pattern.split('/');
	const parts = path.replace(/(.)\/+$/, '$1').split('/');
	if (wanted.length !== parts.length)
		return null;
	const params = {};
	for (let i = 0; i < wanted.length; i++) {
		if (wanted[i].startsWith(':')) {
			if (!parts[i])
				return null;
			try {
				params[wanted[i].slice(1)] = decodeURIComponent(parts[i]);
			} catch {
				return null;
			}
		} else if (wanted[i] !== parts[i])
			return null;
	}
	return params;
}

/** A path of this origin from a parameter such as redirectTo, or null: never another site, never an API route. */
export function ownPath(text)
{
	if (!text || !text.startsWith('/') || /^\/[/\\]/.test(text) || /[\u0000-\u001f]/.test(text))
		return null;
	let url;
	try {
		url = new URL(text, window.location.origin);
	} catch {
		return null;
	}
	// A path such as "/.//host" becomes "//host", which is another site.
	if (url.origin !== window.location.origin || url.pathname.startsWith('//') || /^\/(api|v1|scim|mcp)(\/|$)/.test(url.pathname))
		return null;
	return url.pathname + url.search + url.hash;
}

/** Makes plain links of this origin navigate without loading the page again. */
export function followLinks(root)
{
	root.addEventListener('click', (event) => {
		if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
			return;
		const link = event.target.closest?.('a[href]');
		if (!link || link.target || link.hasAttribute('download') || link.origin !== window.location.origin
			|| /^\/(api|v1|scim|status|healthz|readyz)(\/|$)/.test(link.pathname))
			return;
		if (link.hash && link.pathname === window.location.pathname && link.search === window.location.search)
			return;
		event.preventDefault();
		navigate(link.pathname + link.search + link.hash);
	});
}
