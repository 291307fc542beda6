/*
 * token.js: the access token of the playground. Evaluations take a personal access token and no session, so the page
 * makes one for 15 minutes, keeps it in memory only, and revokes it when the page is left.
 */
import { api, currentOrganization } from '../api.js';

const minutes = 15;

/**
 * A token for the organization of the page: take(abort) answers its secret, drop() revokes it, and
 * forget() is for one that works no more.
 */
export function playgroundToken()
{
	const organization = currentOrganization.peek();
	let held = null;
	let making = null;
	let closed = false;

	function revoke(token, options)
	{
		// If this fails, the token ends by itself.
		return api.delete(`/api/v1/tokens/${encodeURIComponent(token.id)}`, { organization, signIn: false, ...options }).catch(() => {});
	}
	async function make()
	{
		const { data } = await api.post('/api/v1/tokens', { name: 'Console playground', scopes: ['evaluations:run'],
			expiresAt: new Date(Date.now() + minutes * 60_000).toISOString() }, { organization });
		held = { id: data.id, secret: data.token, until: Date.now() + (minutes - 2) * 60_000 };
		if (closed)
			drop();
	}
	async function take()
	{
		closed = false;
		if (held && Date.now() > held.until)
			await drop();
		closed = false;
		if (!held) {
			making ??= make().finally(() => { making = null; });
			await making;
		}
		return held?.secret;
	}
	function drop(options)
	{
		closed = true;
		const old = held;
		held = null;
		return old ? revoke(old, options) : Promise.resolve();
	}
	function forget()
	{
		held = null;
	}
	return { take, drop, forget };
}
