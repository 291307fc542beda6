/*
 * open-invitation.js: the invitation that was opened in this browser, from its link until it is accepted, refused or gone. Who
 * has no account yet comes back to it by way of another mail.
 */
import { remember, remembered } from '../storage.js';

/** Keeps the token of an invitation that is open; null: there is none any more. */
export const keepInvitation = (token, invitation) => remember('invitation', invitation
	&& JSON.stringify({ token, email: invitation.email, name: invitation.organization.name, expiresAt: invitation.expiresAt }));

/** The one that is open: {token, email, name, expiresAt}, or null; email: for this address. */
export function openInvitation(email)
{
	try {
		const kept = JSON.parse(remembered('invitation'));
		if (Date.parse(kept.expiresAt) > Date.now())
			return !email || kept.email.toLowerCase() === email.toLowerCase() ? kept : null;
	} catch {
		// There is none, or somebody else has written there.
	}
	keepInvitation(null, null);
	return null;
}
