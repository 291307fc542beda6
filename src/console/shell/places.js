/*
 * places.js: which screen a path means, and which screens the user may open.
 */
import { currentOrganization } from '../api.js';
import { match } from '../router.js';
import { groups, screens } from '../screens.js';
import { session } from '../session.js';

const allowed = (one, permissions) => !one.permission || permissions.includes(one.permission);

/** The screen of a path: {screen, params}, or null. */
export function screenOf(path)
{
	for (const screen of screens) {
		const params = match(screen.path.startsWith('~') ? screen.path.slice(1) : `/o/:org${screen.path}`, path);
		if (params)
			return { screen, params };
	}
	return null;
}

/** The screens of the navigation that the user may open in an organization, by group: [{group, screens}]. */
export function listedScreens(slug = currentOrganization.value)
{
	const permissions = session.value?.organizations.find((one) => one.slug === slug)?.permissions ?? [];
	return groups.map((group) => ({ group, screens: screens.filter((one) => one.group === group && allowed(one, permissions)) }))
		.filter((one) => one.screens.length);
}

/** Where an organization begins: its first screen that the user may open. */
export function startOf(slug)
{
	return `/o/${encodeURIComponent(slug)}${listedScreens(slug)[0]?.screens[0]?.path ?? '/account'}`;
}
