/*
 * screens.js: every screen, one line each; add yours below the comment of its folder.
 *
 * path is below /o/{organization}; one that begins with ~ is a whole path, for pages outside of an organization.
 * permission: the key of GET /auth/session without which the screen is neither listed nor opened. group: where the
 * navigation lists it (none: nowhere); key: g and this letter go there. load imports the module, whose default export is
 * the component; it gets {params}. Only screens that exist are listed.
 */
export const screens = [
	// auth
	{ path: '~/sign-in', title: 'Sign in', open: true, load: () => import('./auth/sign-in.js') },
	{ path: '~/welcome', title: 'New organization', load: () => import('./auth/welcome.js') },

	// search

	// evaluate

	// dashboards

	// alerts

	// pipelines

	// services

	// exports

	// indexes

	// dead letters

	// usage

	// audit

	// settings: organization, team, keys, tokens

	// account
	{ path: '/account', title: 'Your account', load: () => import('./auth/account.js') },
];

/** The groups of the navigation, in order. */
export const groups = ['Explore', 'Monitor', 'Data', 'Settings'];
