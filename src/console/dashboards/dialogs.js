/*
 * dialogs.js: new dashboards (empty, from a template, from a file), and sharing.
 */
import { html, useState } from '../view.js';
import { api } from '../api.js';
import { orgPath } from '../session.js';
import { Button, LinkButton } from '../ui/button.js';
import { CopyBox } from '../ui/copy-button.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field, RadioCards, Select, TextArea } from '../ui/field.js';
import { useForm } from '../ui/use-form.js';
import { useLoad } from '../ui/use-load.js';

function FormDialog({ title, action, form, close, children })
{
	return html`<${Dialog} title=${title} onClose=${() => close(null)} footer=${html`<${Button} onClick=${() => close(null)}>Cancel<//>
		<${Button} kind="primary" busy=${form.busy} onClick=${form.submit}>${action}<//>`}>
		<form class="stack" onSubmit=${form.submit}><${ErrorNotice} error=${form.error} />${children}<button type="submit" hidden></button></form><//>`;
}

/** A dashboard without panels; closes with it. */
export function NewDashboard({ close })
{
	const form = useForm({ values: { name: '' }, check: ({ name }) => (name.trim() ? {} : { name: 'It needs a name.' }),
		send: async ({ name }) => close((await api.post('/api/v1/dashboards', { name: name.trim(), panels: [] })).data) });
	return html`<${FormDialog} title="New dashboard" action="Create" form=${form} close=${close}><${Field} label="Name" maxlength="200" data-autofocus ...${form.bind('name')} /><//>`;
}

const templates = [
	{ value: 'index', label: 'An index', hint: 'Levels, errors and their patterns, and the most frequent values of its fields.' },
	{ value: 'http-service', label: 'A web service', hint: 'Requests, failures, times and paths, from the fields that say so.' },
	{ value: 'usage', label: 'What is sent', hint: 'Events by index, service and source.' },
];

/** A dashboard for the events that there are; closes with it. */
export function FromTemplate({ close })
{
	const indexes = useLoad((abort) => api.get('/api/v1/indexes', { abort, query: { limit: 100 } }).then((answer) => answer.data.map((one) => one.name).filter((name) => !name.startsWith('_'))));
	const form = useForm({ values: { template: 'index', index: 'main', service: '', name: '' },
		check: ({ template, service }) => (template === 'http-service' && !service.trim() ? { service: 'Which service?' } : {}),
		send: async ({ template, index, service, name }) => close((await api.post('/api/v1/dashboards/from-template', { template,
			...(template === 'index' ? { index } : {}), ...(template === 'http-service' ? { service: service.trim() } : {}), ...(name.trim() ? { name: name.trim() } : {}) })).data) });
	const { template } = form.values;
	return html`<${FormDialog} title="From a template" action="Create" form=${form} close=${close}>
		<${RadioCards} label="What it shows" name="template" options=${templates} value=${template} onInput=${(value) => form.set({ template: value })} />
		${template === 'index' && html`<${Select} label="Index" options=${[...new Set(['main', ...indexes.data ?? []])]} ...${form.bind('index')} />`}
		${template === 'http-service' && html`<${Field} label="Service" hint="As events have it in the field service." ...${form.bind('service')} />`}
		<${Field} label="Name" optional maxlength="200" ...${form.bind('name')} /><//>`;
}

/** A dashboard from a document; closes with it. */
export function ImportDashboard({ close })
{
	const form = useForm({ values: { text: '' }, check: ({ text }) => {
		try {
			return typeof JSON.parse(text) === 'object' ? {} : { text: 'That is no document of a dashboard.' };
		} catch (error) {
			return { text: text.trim() ? `That is not JSON: ${error.message}` : 'Paste it, or choose a file.' };
		}
	}, send: async ({ text }) => close((await api.post('/api/v1/dashboards/import', JSON.parse(text))).data) });
	return html`<${FormDialog} title="From a file" action="Import" form=${form} close=${close}>
		<div class="field"><label for="import-file">File</label><input class="input" id="import-file" type="file" accept=".json,application/json"
			onChange=${async (event) => { const [file] = event.currentTarget.files; if (file) form.set({ text: await file.text() }); }} /></div>
		<${TextArea} label="Document" hint="What Export writes, of any organization." rows="8" class="input mono" spellcheck=${false} data-autofocus ...${form.bind('text')} /><//>`;
}

const whom = [
	{ value: 'private', label: 'Only you', hint: 'Nobody else sees it, and no key.' },
	{ value: 'org', label: 'The organization', hint: 'All who may read dashboards.' },
	{ value: 'link', label: 'Whoever has the link', hint: 'No account is needed. They see what the panels find, in the time of the dashboard, and nothing else.' },
];

/** Who sees a dashboard; closes with the version after the last change, or null. */
export function ShareDialog({ dashboard, mine, close })
{
	const [kind, setKind] = useState(dashboard.shared?.kind ?? 'org');
	const [done, setDone] = useState(null);
	const [error, setError] = useState(null);
	const [busy, setBusy] = useState(false);
	const was = done?.kind ?? dashboard.shared?.kind ?? 'org';
	async function save()
	{
		setBusy(true);
		setError(null);
		try {
			setDone((await api.post(`/api/v1/dashboards/${encodeURIComponent(dashboard.id)}/share`, { kind })).data);
		} catch (caught) {
			setError(caught);
		}
		setBusy(false);
	}
	const replaces = kind === 'link' && was === 'link';
	const link = done?.token && `${window.location.origin}/d/${done.token}`;
	return html`<${Dialog} title="Share" onClose=${() => close(done)} footer=${html`<${Button} kind=${replaces && done ? 'primary' : 'default'} onClick=${() => close(done)}>${done ? 'Done' : 'Cancel'}<//>
		${!replaces && html`<${Button} kind="primary" busy=${busy} disabled=${kind === was} onClick=${save}>${kind === 'link' ? 'Make a link' : 'Save'}<//>`}`}>
		<div class="stack">
			<${RadioCards} label="Who sees it" name="shared" value=${kind} onInput=${setKind} options=${whom.map((one) => (one.value === 'private' && !mine ? { ...one, reason: 'Only its author can make it private.' } : one))} />
			${replaces && !link && html`<p class="notice">There is a link, which was shown once.</p>`}
			${link && kind === 'link' && html`<div class="stack-s"><p>This is shown once. Whoever has it can see the dashboard, until you share it in another way.</p><${CopyBox} text=${link} label="Copy link" />
				<div><${LinkButton} size="small" icon="external" href=${link} target="_blank" rel="noopener">Open it<//></div></div>`}
			${replaces && html`<div class="row"><${Button} size="small" icon="refresh" busy=${busy} onClick=${save}>Replace the link<//><span class="small muted">The old one stops working.</span></div>`}
			<${ErrorNotice} error=${error} />
		</div><//>`;
}

/** Where a dashboard is. */
export const pathOf = (dashboard, query = '') => orgPath(`/dashboards/${encodeURIComponent(dashboard.id)}${query}`);
