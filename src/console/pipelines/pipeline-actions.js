/*
 * pipeline-actions.js: enabling and deleting pipelines.
 */
import { api } from '../api.js';
import { confirm } from '../ui/confirm.js';
import { toast, toastError } from '../ui/toast.js';

/** Enables or disables a pipeline, with undo; onDone gets it as it is then. */
export async function enablePipeline(pipeline, enabled, onDone)
{
	const put = async (to) => onDone((await api.patch(`/api/v1/pipelines/${pipeline.id}`, { enabled: to })).data);
	try {
		await put(enabled);
		toast(`${pipeline.name} is ${enabled ? 'enabled' : 'disabled'}.`, { undo: () => put(!enabled) });
	} catch (error) {
		toastError(error);
	}
}

/** Deletes a pipeline after asking for its name; answers whether it did. */
export async function deletePipeline(pipeline)
{
	const masks = pipeline.processors.filter((one) => one.type === 'mask').length;
	const done = await confirm({ title: 'Delete this pipeline?', danger: true, action: 'Delete pipeline', name: pipeline.name,
		text: masks ? 'Its masks stop: what they hide is stored as it comes, from the next request on.' : 'Events are stored without what it does, from the next request on.',
		run: () => api.delete(`/api/v1/pipelines/${pipeline.id}`, { headers: { 'If-Match': `"${pipeline.version}"` } }) });
	if (done)
		toast(`${pipeline.name} is deleted.`);
	return Boolean(done);
}
