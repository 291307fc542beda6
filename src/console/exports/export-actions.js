/*
 * export-actions.js: enabling and deleting scheduled exports.
 */
import { api } from '../api.js';
import { confirm } from '../ui/confirm.js';
import { toast, toastError } from '../ui/toast.js';

/** Enables or disables an export, with undo. */
export async function enableExport(one, enabled, onDone)
{
	const put = async (to) => onDone((await api.patch(`/api/v1/scheduled-exports/${one.id}`, { enabled: to })).data);
	try {
		await put(enabled);
		toast(`${one.name} is ${enabled ? 'enabled' : 'disabled'}.`, { undo: () => put(!enabled) });
	} catch (error) {
		toastError(error);
	}
}

/** Deletes an export after asking for its name; answers whether it did. */
export async function deleteExport(one)
{
	const done = await confirm({ title: 'Delete this scheduled export?', danger: true, action: 'Delete export', name: one.name,
		text: 'Its runs and the files that are kept here go with it. Files in an object store stay.',
		run: () => api.delete(`/api/v1/scheduled-exports/${one.id}`, { headers: { 'If-Match': `"${one.version}"` } }) });
	if (done)
		toast(`${one.name} is deleted.`);
	return Boolean(done);
}
