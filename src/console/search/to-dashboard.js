/*
 * to-dashboard.js: a search becomes a panel of a dashboard, an old one or a new one.
 */
import { html, useId } from '../view.js';
import { allRows, api } from '../api.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field, Select } from '../ui/field.js';
import { Skeleton } from '../ui/skeleton.js';
import { useForm } from '../ui/use-form.js';
import { useLoad } from '../ui/use-load.js';
import { freePlace } from '../dashboards/layout.js';

const path = '/api/v1/dashboards';

/** The dialog. q: the query; timeRange: of a new dashboard; kind: of the panel; close(dashboard). */
export function ToDashboard({ close, q, timeRange, kind })
{
	const id = useId();
	const list = useLoad((abort) => allRows(path, { abort }).then((answer) => answer.rows));
	const form = useForm({
		values: { dashboard: '', name: '', title: '' },
		check: (values) => ({
			...(!values.dashboard && !values.name.trim() && { name: 'Enter a name.' }),
			...(!values.title.trim() && { title: 'Enter a title.' }),
		}),
		send: async (values) => {
			const panel = (others) => ({ title: values.title.trim(), kind, query: q, layout: freePlace(others, kind) });
			if (!values.dashboard) {
				close((await api.post(path, { name: values.name.trim(), timeRange, panels: [panel([])] })).data);
				return;
			}
			const before = (await api.get(`${path}/${encodeURIComponent(values.dashboard)}`)).data;
			close((await api.patch(`${path}/${encodeURIComponent(before.id)}`, { panels: [...before.panels, panel(before.panels)] }, { headers: { 'If-Match': `"${before.version}"` } })).data);
		},
	});
	return html`<${Dialog} title="Add to a dashboard" onClose=${() => close(null)} footer=${html`<${Button} onClick=${() => close(null)}>Cancel<//>
		<${Button} kind="primary" busy=${form.busy} type="submit" form=${id} disabled=${!list.data}>Add panel<//>`}>
		<form class="stack" id=${id} onSubmit=${form.submit} novalidate>
			<${ErrorNotice} error=${list.error} retry=${list.reload} />${list.slow && html`<${Skeleton} lines="2" />`}
			${list.data && html`<${Select} label="Dashboard" options=${[{ value: '', label: 'A new one' }, ...list.data.map((one) => ({ value: one.id, label: one.name }))]} ...${form.bind('dashboard')} />
				${!form.values.dashboard && html`<${Field} label="Name of the dashboard" maxlength="200" ...${form.bind('name')} />`}
				<${Field} label="Title of the panel" maxlength="200" data-autofocus ...${form.bind('title')} />`}
			<${ErrorNotice} error=${form.error} title=${form.error?.code === 'VERSION_CONFLICT' ? 'It has changed meanwhile: try again' : undefined} />
		</form><//>`;
}
