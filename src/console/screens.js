/*
 * screens.js: every screen, one line each; add yours below the comment of its folder.
 *
 * path is below /o/{organization}; one that begins with ~ is a whole path, for pages outside of an organization.
 * permission: the key of GET /auth/session without which the screen is neither listed nor opened. group: where the
 * navigation lists it (none: nowhere); key: g and this letter go there. load imports the module, whose default export is
 * the component; it gets {params}. first: it comes with the page, and so do its styles. Only screens that exist are listed.
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
	{ path: '/search', title: 'Search', group: 'Explore', icon: 'search', key: 's', permission: 'logs:read', first: true, load: () => import('./search/screen.js') },

	// evaluate
	{ path: '/evaluate', title: 'Evaluate', group: 'Explore', icon: 'flask', key: 'e', permission: 'evaluations:run', load: () => import('./evaluate/screen.js') },
	{ path: '~/evaluate', title: 'Evaluate', load: () => import('./evaluate/forward.js') },

	// dashboards
	{ path: '/dashboards', title: 'Dashboards', group: 'Explore', icon: 'grid', key: 'd', permission: 'dashboards:read', load: () => import('./dashboards/list.js') },
	{ path: '/dashboards/:id', title: 'Dashboard', permission: 'dashboards:read', load: () => import('./dashboards/dashboard.js') },
	{ path: '~/d/:token', title: 'Dashboard', open: true, load: () => import('./dashboards/shared.js') },

	// alerts
	{ path: '/alerts', title: 'Alerts', group: 'Monitor', icon: 'bell', key: 'a', permission: 'logs:read', load: () => import('./alerts/alerts.js') },
	{ path: '/alert-rules', title: 'Alert rules', group: 'Monitor', icon: 'list', key: 'r', permission: 'logs:read', load: () => import('./alerts/rules.js') },
	{ path: '/alert-rules/new', title: 'New alert rule', permission: 'alerts:write', load: () => import('./alerts/rule.js') },
	{ path: '/alert-rules/:id', title: 'Alert rule', permission: 'logs:read', load: () => import('./alerts/rule.js') },

	// saved queries
	{ path: '/saved-queries', title: 'Saved queries', group: 'Explore', icon: 'save', key: 'q', permission: 'dashboards:read', load: () => import('./saved-queries/saved-queries.js') },

	// pipelines
	{ path: '/pipelines', title: 'Pipelines', group: 'Data', icon: 'flow', key: 'p', permission: 'pipelines:read', load: () => import('./pipelines/pipelines.js') },
	{ path: '/pipelines/new', title: 'New pipeline', permission: 'pipelines:manage', load: () => import('./pipelines/pipeline.js') },
	{ path: '/pipelines/:id', title: 'Pipeline', permission: 'pipelines:read', load: () => import('./pipelines/pipeline.js') },

	// services
	{ path: '/services', title: 'Services', group: 'Monitor', icon: 'pulse', permission: 'dashboards:read', load: () => import('./services/screen.js') },

	// exports
	{ path: '/exports', title: 'Exports', group: 'Data', icon: 'download', key: 'x', permission: 'logs:export', load: () => import('./exports/exports.js') },
	{ path: '/exports/new', title: 'New scheduled export', permission: 'logs:export', load: () => import('./exports/export.js') },
	{ path: '/exports/:id', title: 'Scheduled export', permission: 'logs:export', load: () => import('./exports/export.js') },

	// indexes
	{ path: '/indexes', title: 'Indexes', group: 'Data', icon: 'database', permission: 'logs:read', load: () => import('./indexes/screen.js') },

	// dead letters
	{ path: '/dead-letters', title: 'Dead letters', group: 'Data', icon: 'mail', permission: 'pipelines:manage', load: () => import('./dead-letters/screen.js') },

	// usage
	{ path: '/usage', title: 'Usage and credits', group: 'Data', icon: 'chart', key: 'u', permission: 'logs:read', load: () => import('./usage/screen.js') },

	// audit
	{ path: '/audit', title: 'Audit log', group: 'Data', icon: 'clock', permission: 'audit:read', load: () => import('./audit/screen.js') },

	// settings: organization, team, keys, tokens
	{ path: '/settings/organization', title: 'Organization', group: 'Settings', icon: 'gear', permission: 'org:manage', load: () => import('./settings/organization.js') },
	{ path: '/settings/team', title: 'Team', group: 'Settings', icon: 'users', key: 't', permission: 'roles:read', load: () => import('./settings/team.js') },
	{ path: '/settings/access-tokens', title: 'Access Tokens', group: 'Settings', icon: 'ticket', load: () => import('./settings/access-tokens.js') },
	{ path: '/settings/api-keys', title: 'API keys', group: 'Settings', icon: 'key', key: 'k', permission: 'keys:manage', load: () => import('./settings/api-keys.js') },
	{ path: '/settings/security', title: 'Security', group: 'Settings', icon: 'shield', permission: 'org:manage', load: () => import('./settings/security.js') },
	{ path: '/settings/billing', title: 'Billing', group: 'Settings', icon: 'card', permission: 'billing:manage', load: () => import('./settings/billing.js') },

	// account
	{ path: '/account', title: 'Your account', load: () => import('./auth/account.js') },
];

/** The groups of the navigation, in order. */
export const groups = ['Explore', 'Monitor', 'Data', 'Settings'];
