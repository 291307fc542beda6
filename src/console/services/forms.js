/*
 * forms.js: dialogs for services and KPIs.
 */
import { html } from '../view.js';
import { api } from '../api.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field, RadioCards, TextArea } from '../ui/field.js';
import { useForm } from '../ui/use-form.js';

const lines = (text) => text.split('\n').map((one) => one.trim()).filter(Boolean);
const needed = (values, names) => Object.fromEntries(names.filter((name) => !String(values[name]).trim()).map((name) => [name, 'It is needed.']));
const save = (path, old, json) => (old ? api.patch(`${path}/${encodeURIComponent(old.id)}`, json, { headers: { 'If-Match': `"${old.version}"` } }) : api.post(path, json));

function FormDialog({ title, old, form, close, children })
{
	return html`<${Dialog} title=${title} closeBeside=${false} onClose=${() => close(null)} footer=${html`<${Button} onClick=${() => close(null)}>Cancel<//>
		<${Button} kind="primary" busy=${form.busy} onClick=${form.submit}>${old ? 'Save' : 'Create'}<//>`}>
		<form class="stack" onSubmit=${form.submit}><${ErrorNotice} error=${form.error} title=${form.error?.code === 'VERSION_CONFLICT' ? 'It has changed meanwhile: close this and open it again' : undefined} />
			${children}<button type="submit" hidden></button></form><//>`;
}

// A line of links: an address, or a title and an address.
const linkText = (one) => (typeof one === 'string' ? one : [one.title, one.url].filter(Boolean).join(' '));
function linkOf(line)
{
	const [, title, url] = /^(.*?)\s*(\S+)$/.exec(line);
	return title ? { title, url } : url;
}

/** A service; closes with it. */
export function ServiceForm({ service, close })
{
	const form = useForm({ values: { name: service?.name ?? '', match: service?.match ?? '', owner: service?.owner ?? '', tier: service?.tier ?? '', description: service?.description ?? '',
		links: (service?.links ?? []).map(linkText).join('\n'), tags: (service?.tags ?? []).join(', ') },
	check: (values) => needed(values, ['name', 'match']),
	send: async (values) => close((await save('/api/v1/services', service, { name: values.name.trim(), match: values.match.trim(), owner: values.owner.trim() || null, tier: values.tier.trim() || null,
		description: values.description.trim() || null, links: lines(values.links).map(linkOf), tags: [...new Set(values.tags.split(',').map((one) => one.trim()).filter(Boolean))] })).data) });
	return html`<${FormDialog} title=${service ? 'Service' : 'New service'} old=${service} form=${form} close=${close}>
		<${Field} label="Name" maxlength="200" data-autofocus ...${form.bind('name')} />
		<${Field} label="Which events are its own" hint="What stands before the first | of a query, without index and times" class="input mono" spellcheck=${false} placeholder="service=checkout" ...${form.bind('match')} />
		<div class="field-pair"><${Field} label="Owner" optional maxlength="200" ...${form.bind('owner')} /><${Field} label="Tier" optional maxlength="64" ...${form.bind('tier')} />
			<${Field} label="Tags" optional hint="Separated by commas" ...${form.bind('tags')} /></div>
		<${TextArea} label="Description" optional rows="2" maxlength="2000" ...${form.bind('description')} />
		<${TextArea} label="Links" optional rows="2" hint="One a line: a title and an address" ...${form.bind('links')} /><//>`;
}

/** A KPI of a service; closes with it. */
export function KpiForm({ kpi, service, close })
{
	const number = (name) => (values) => (values[name].trim() === '' || Number.isNaN(Number(values[name])) ? { [name]: 'A number is needed.' } : {});
	const form = useForm({ values: { name: kpi?.name ?? '', q: kpi?.q ?? `${service.match} | stats count`, window: kpi?.window ?? '5m', unit: kpi?.unit ?? '', direction: kpi?.direction ?? 'lowerIsBetter',
		warn: String(kpi?.warn ?? ''), critical: String(kpi?.critical ?? '') },
	check: (values) => ({ ...needed(values, ['name', 'q', 'window']), ...number('warn')(values), ...number('critical')(values) }),
	send: async (values) => close((await save('/api/v1/kpis', kpi, { name: values.name.trim(), serviceId: service.id, q: values.q.trim(), window: values.window.trim(), unit: values.unit.trim() || null,
		direction: values.direction, warn: Number(values.warn), critical: Number(values.critical) })).data) });
	const worse = form.values.direction === 'lowerIsBetter' ? 'at or above' : 'at or below';
	return html`<${FormDialog} title=${kpi ? 'KPI' : 'New KPI'} old=${kpi} form=${form} close=${close}>
		<${Field} label="Name" maxlength="200" data-autofocus ...${form.bind('name')} />
		<${TextArea} label="Query" hint="One row with one column, a number" rows="3" class="input mono" spellcheck=${false} ...${form.bind('q')} />
		<${RadioCards} label="Which is better" name="direction" value=${form.values.direction} onInput=${(direction) => form.set({ direction })}
			options=${[{ value: 'lowerIsBetter', label: 'Lower', hint: 'times, errors' }, { value: 'higherIsBetter', label: 'Higher', hint: 'throughput, success' }]} />
		<div class="field-pair"><${Field} label="Warn" hint=${`${worse} this value`} type="number" step="any" ...${form.bind('warn')} />
			<${Field} label="Critical" hint=${`${worse} this value`} type="number" step="any" ...${form.bind('critical')} />
			<${Field} label="Looks back" hint="1m to 30d" ...${form.bind('window')} /><${Field} label="Unit" optional maxlength="32" ...${form.bind('unit')} /></div><//>`;
}
