/*
 * actions.js: what can be done with a dashboard from its page and from the list.
 */
import { api } from '../api.js';
import { confirm } from '../ui/confirm.js';
import { toast } from '../ui/toast.js';

/** Writes a dashboard to a file of the user. */
export async function exportDashboard(dashboard)
{
	const { data } = await api.get(`/api/v1/dashboards/${encodeURIComponent(dashboard.id)}/export`);
	const link = document.createElement('a');
	link.href = URL.createObjectURL(new Blob([`${JSON.stringify(data, null, 2)}\n`], { type: 'application/json' }));
	link.download = `${dashboard.name.replace(/[^\w.-]+/g, '-').slice(0, 80) || 'dashboard'}.json`;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
	toast(`${link.download} is in your downloads`);
}

/** Asks with the name, and deletes; answers whether it did. */
export const deleteDashboard = (dashboard) => confirm({ title: 'Delete dashboard', action: 'Delete', danger: true, name: dashboard.name,
	text: 'Its panels and its link go with it. This cannot be undone; Export keeps a copy.', run: async () => { await api.delete(`/api/v1/dashboards/${encodeURIComponent(dashboard.id)}`); return true; } });
