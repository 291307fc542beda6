/*
 * storage.js: the few things that stay on this machine: theme, time zone, last organization, columns, the id of who is
 * signed in, an invitation while it is open (it is of no use without its account). Never another secret, never a row.
 * Without storage (a private window may refuse it) they last as long as the page.
 */
const memory = new Map();

/** What is remembered under a name, or null. */
export function remembered(name)
{
	try {
		return window.localStorage.getItem(`logsvc.${name}`);
	} catch {
		return memory.get(name) ?? null;
	}
}

/** Remembers a text under a name; null forgets it. */
export function remember(name, value)
{
	try {
		if (value === null)
			window.localStorage.removeItem(`logsvc.${name}`);
		else
			window.localStorage.setItem(`logsvc.${name}`, value);
	} catch {
		memory.set(name, value);
	}
}
