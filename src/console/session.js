/*
 * session.js: who is signed in, the organizations, and what the user may do in the one on the page.
 *
 * Nothing is decided by the name of a role: `can` asks the permission keys that the service sent.
 */
import { api, currentOrganization, onSessionEnded, stopRequests } from './api.js';
import { computed, signal } from './view.js';
import { remember, remembered } from './storage.js';

/** undefined: not asked yet; null: nobody is signed in; otherwise what GET /auth/session answered. */
export const session = signal(undefined);
/** What GET /api/v1/config answered: version, signUp, oauthProviders, password, publicUrl. */
export const config = signal(null);
/** True while a dialog asks a user whose session has ended to sign in again. */
export const expired = signal(null);

/** The organization of the page: {id, slug, name, role, plan, timezone, permissions, signInAllowed}, or null. */
export const organization = computed(() =>
	session.value?.organizations.find((one) => one.slug === currentOrganization.value) ?? null);

/** May the user do this in the organization of the page? Without a permission key: yes. */
export const can = (permission) => !permission || (organization.value?.permissions.includes(permission) ?? false);

/** A path below the organization of the page: orgPath('/search') is /o/acme/search. */
export const orgPath = (path) => `/o/${encodeURIComponent(currentOrganization.value ?? '')}${path}`;

/** Asks who is signed in; answers the session or null. */
export async function loadSession()
{
	try {
		session.value = (await api.get('/api/v1/auth/session', { organization: null, signIn: false })).data;
		remember('signedIn', session.value.user.id);
	} catch (error) {
		if (error.status !== 401)
			throw error;
		session.value = null;
		remember('signedIn', null);
	}
	return session.value;
}

/** Was somebody signed in here the last time? Pages for others ask for a session only then. */
export const wasSignedIn = () => remembered('signedIn') !== null;

/** Asks for the public configuration, once. */
export async function loadConfig()
{
	config.value ??= (await api.get('/api/v1/config', { organization: null, signIn: false })).data;
	return config.value;
}

/** Signs in; throws what the service answers. */
export async function signIn(email, password)
{
	await api.post('/api/v1/auth/sign-in', { email, password }, { organization: null, signIn: false });
	return loadSession();
}

/** Signs out; all: every session of the user. The page is loaded again, so that nothing stays in memory. */
export async function signOut({ all = false } = {})
{
	await api.post('/api/v1/auth/sign-out', { all }, { organization: null, signIn: false }).catch((error) => {
		if (error.status !== 401)
			throw error;
	});
	remember('signedIn', null);
	window.location.assign('/sign-in');
}

/** The organization to open first: the last one on this machine, otherwise the first that lets this session act. */
export function firstOrganization()
{
	const open = (session.value?.organizations ?? []).filter((one) => one.signInAllowed);
	return open.find((one) => one.slug === remembered('organization')) ?? open[0] ?? null;
}

onSessionEnded(() => {
	// Before a session was known there is no work to keep: the shell shows the sign-in page.
	if (!session.value) {
		session.value = null;
		return Promise.resolve(false);
	}
	return new Promise((resolve) => {
		expired.value = { done: (signedIn) => { expired.value = null; resolve(signedIn); } };
	});
});

/** The browser has the session of another account: this page sends nothing more, and begins again as that one. */
export function leaveToOther()
{
	stopRequests();
	expired.value?.done(false);
	window.location.assign('/');
}

// Tabs share the cookie: what one user has typed here must not be sent as the user who signed in elsewhere.
window.addEventListener('storage', (event) => {
	const user = session.value?.user.id;
	// The dialog of a session that has ended asks by itself.
	if (event.key === 'logsvc.signedIn' && event.newValue && user && event.newValue !== user && !expired.value)
		leaveToOther();
});
