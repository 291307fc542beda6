/*
 * forward.js: /evaluate is the playground of the organization that was open last.
 */
import { useEffect } from '../view.js';
import { navigate } from '../router.js';
import { firstOrganization } from '../session.js';

/** Goes there. */
export default function Forward()
{
	useEffect(() => {
		const first = firstOrganization();
		navigate(first ? `/o/${encodeURIComponent(first.slug)}/evaluate${window.location.search}` : '/welcome', { replace: true });
	}, []);
	return null;
}
