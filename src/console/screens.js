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
	{ path: '~/sign-up', title: 'Sign up', open: true, load: () => import('./auth/sign-up.js') },
	{ path: '~/verify-email', title: 'Confirm your address', open: true, load: () => import('./auth/verify-email.js') },
	{ path: '~/forgot-password', title: 'Forgot password', open: true, load: () => import('./auth/forgot-password.js') },
	{ path: '~/reset-password', title: 'Choose a password', open: true, load: () => import('./auth/reset-password.js') },
	{ path: '~/invitations/accept', title: 'Invitation', open: true, load: () => import('./auth/invitation.js') },
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
