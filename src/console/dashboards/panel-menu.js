/*
 * panel-menu.js: what can be done with a panel.
 */
import { html } from '../view.js';
import { can, orgPath } from '../session.js';
import { screens } from '../screens.js';
import { copyText } from '../ui/copy-button.js';
import { Menu } from '../ui/menu.js';
import { toast } from '../ui/toast.js';
import { withValues } from './query-values.js';

const there = (path) => {
	const screen = screens.find((one) => one.path === path);
	return screen && can(screen.permission);
};

/** The menu in the head of a panel. */
export function PanelMenu({ panel, editing, write, range, values, table, onTable, onEdit, onDuplicate, onRemove })
{
	const q = panel.query ? withValues(panel.query, values) : null;
	const link = (path) => orgPath(`${path}?${new URLSearchParams({ q, earliest: range.earliest, latest: range.latest ?? 'now' })}`);
	return html`<${Menu} label=${`Actions of ${panel.title || 'panel'}`} icon="more" size="small" items=${[
		write && { label: 'Edit', icon: 'edit', onSelect: onEdit },
		editing && { label: 'Duplicate', icon: 'copy', onSelect: onDuplicate },
		panel.kind !== 'markdown' && !editing && { label: table ? 'Show as a chart' : 'Show as a table', icon: 'list', onSelect: onTable },
		q && !editing && there('/search') && { label: 'Open in search', icon: 'search', href: link('/search') },
		q && !editing && there('/evaluate') && { label: 'Evaluate what it finds', icon: 'flask', href: link('/evaluate') },
		q && { label: 'Copy query', icon: 'copy', onSelect: async () => toast(await copyText(q) ? 'Query copied' : 'This browser does not allow it') },
		editing && { separator: true }, editing && { label: 'Remove', icon: 'trash', danger: true, onSelect: onRemove },
	]} />`;
}
