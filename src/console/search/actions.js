/*
 * actions.js: what a search can become: a panel of a dashboard, an alert rule, an evaluation, a file.
 */
import { html } from '../view.js';
import { screens } from '../screens.js';
import { can, orgPath } from '../session.js';
import { Button, LinkButton } from '../ui/button.js';
import { openLater } from '../ui/later.js';
import { toast } from '../ui/toast.js';

const exists = (path) => screens.find((one) => one.path === path && can(one.permission));

/** The kind of panel that shows a result. */
function panelKind(result)
{
	if (result?.kind === 'series')
		return 'timeseries';
	if (result?.kind !== 'table')
		return 'logs';
	return result.rows.length === 1 && result.columns.length === 1 ? 'stat' : 'table';
}

/** The address of a screen with a query and, if it takes one, a range. */
const addressOf = (path, values) => orgPath(`${path}?${new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null && value !== undefined))}`);

/**
 * What a result can become: {label, short, icon, href or onSelect}. q; range: {earliest, latest} as the search took it, absolute
 * if it has been found; timeRange: of the page; result: of the last search.
 */
export function resultActions({ q, range, timeRange, result })
{
	const actions = [];
	if (exists('/alert-rules/new') && can('alerts:write'))
		actions.push({ label: 'New alert rule', short: 'Alert', icon: 'bell', href: addressOf('/alert-rules/new', { q }) });
	if (exists('/dashboards') && can('dashboards:write'))
		actions.push({ label: 'Add to a dashboard', short: 'Dashboard', icon: 'grid', onSelect: async () => {
			const made = await openLater(() => import('./to-dashboard.js'), ({ ToDashboard }, close) => html`<${ToDashboard} close=${close} q=${q} timeRange=${timeRange} kind=${panelKind(result)} />`);
			if (made)
				toast(html`Added to <a href=${orgPath(`/dashboards/${made.id}`)}>${made.name}</a>.`);
		} });
	if (exists('/evaluate') && can('evaluations:run'))
		actions.push({ label: 'Evaluate these rows', short: 'Evaluate', icon: 'flask', href: addressOf('/evaluate', { q, ...range }) });
	if (exists('/exports') && can('logs:export'))
		actions.push({ label: 'Export all rows', short: 'Export', icon: 'download', href: addressOf('/exports', { export: 'now', q, ...range }) });
	return actions;
}

/** The same as small buttons, one press each; for wide screens, beside the menu that has them all. */
export function ActionButtons({ actions })
{
	return html`<span class="action-buttons">${actions.map(({ label, short, icon, href, onSelect }) => html`<${href ? LinkButton : Button} key=${label} size="small" kind="ghost" icon=${icon} href=${href}
		onClick=${onSelect} title=${label} aria-label=${label}>${short}<//>`)}</span>`;
}
