/*
 * rotation.js: which credentials have ended, which key replaces which, and whether the old one is still in use.
 */

// The service notes a use at most every ten minutes, so less than two of these says nothing.
const silence = 20 * 60_000;

/** The key that replaces another: one that is newer and the same in name, scope and kind. */
export function replacementOf(key, keys)
{
	return keys.filter((one) => one.id !== key.id && !isOver(one) && one.name === key.name && one.scope === key.scope && one.kind === key.kind
		&& one.createdAt > key.createdAt).at(-1) ?? null;
}

/** Has a key that is being replaced been silent for long enough? */
export function isSilent(key, replacement, now = Date.now())
{
	if (!replacement?.lastUsedAt)
		return false;
	return !key.lastUsedAt || now - Date.parse(key.lastUsedAt) > silence;
}

/** Has it ended, by time or by hand? */
export const isOver = (one) => Boolean(one.revokedAt) || (one.expiresAt !== null && Date.parse(one.expiresAt) <= Date.now());
