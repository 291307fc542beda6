/*
 * settings-dialog.js: name, time, refresh and variables of a dashboard.
 */
import { html, useState } from '../view.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { Checkbox, Field, Select, TextArea } from '../ui/field.js';

const refreshes = [['', 'never'], ['5', '5 s'], ['10', '10 s'], ['30', '30 s'], ['60', '1 min'], ['300', '5 min'], ['900', '15 min'], ['3600', '1 hour']];
const lines = (text) => text.split('\n').map((one) => one.trim()).filter(Boolean);
const plain = (value) => (Array.isArray(value) ? value.join('\n') : value ?? '');

// What the fields hold: texts.
const fieldsOf = (one) => ({ ...one, values: (one.values ?? []).join('\n'), default: plain(one.default) });

function variableOf(one)
{
	const base = { name: one.name.trim(), kind: one.kind, multi: Boolean(one.multi) };
	if (one.label?.trim())
		base.label = one.label.trim();
	if (one.kind === 'query')
		base.query = one.query ?? '';
	if (one.kind === 'list')
		base.values = lines(one.values);
	if (one.default.trim())
		base.default = one.multi ? lines(one.default) : one.default.trim();
	return base;
}

function wrongOf(variables)
{
	const names = new Set();
	for (const one of variables) {
		const name = one.name.trim();
		if (!/^[A-Za-z_]\w{0,31}$/.test(name))
			return `A variable is named with letters, digits and _: not ${JSON.stringify(name)}.`;
		if (names.has(name))
			return `The variable ${name} is there twice.`;
		names.add(name);
		if (one.kind === 'query' && !one.query?.trim())
			return `${name} needs a query.`;
		if (one.kind === 'list' && !lines(one.values).length)
			return `${name} needs values.`;
		if (one.kind === 'list' && one.default.trim() && lines(one.default).some((value) => !lines(one.values).includes(value)))
			return `The default of ${name} is not in its list.`;
	}
	return null;
}

function Variable({ one, index, onChange, onRemove })
{
	return html`<fieldset class="card stack-s"><legend class="visually-hidden">Variable ${index + 1}</legend>
		<div class="field-pair"><${Field} label="Name" hint=${`$${one.name || 'name'} in queries`} value=${one.name} onInput=${(name) => onChange({ name })} />
			<${Field} label="Label" optional value=${one.label ?? ''} onInput=${(label) => onChange({ label })} />
			<${Select} label="Kind" value=${one.kind} onInput=${(kind) => onChange({ kind })} options=${[{ value: 'query', label: 'values that a query finds' }, { value: 'list', label: 'values of a list' }, { value: 'text', label: 'free text' }]} /></div>
		${one.kind === 'query' && html`<${Field} label="Query" hint="The first column of its table" class="input mono" value=${one.query ?? ''} placeholder="* | stats count by service" onInput=${(query) => onChange({ query })} />`}
		${one.kind === 'list' && html`<${TextArea} label="Values" hint="One a line" rows="3" value=${one.values} onInput=${(values) => onChange({ values })} />`}
		<div class="row-between"><${Checkbox} label="Several values" checked=${Boolean(one.multi)} onInput=${(multi) => onChange({ multi })} />
			<${Button} size="small" kind="ghost" icon="trash" onClick=${onRemove}>Remove<span class="visually-hidden"> variable ${one.name}</span><//></div>
		${one.multi ? html`<${TextArea} label="Default" hint="One a line; * is any value" rows="2" value=${one.default} onInput=${(text) => onChange({ default: text })} />`
			: html`<${Field} label="Default" hint="* is any value" value=${one.default} onInput=${(text) => onChange({ default: text })} />`}</fieldset>`;
}

/** The dialog; closes with the members that it sets, or null. */
export function SettingsDialog({ dashboard, close })
{
	const [name, setName] = useState(dashboard.name);
	const [description, setDescription] = useState(dashboard.description ?? '');
	const [tags, setTags] = useState((dashboard.tags ?? []).join(', '));
	const [earliest, setEarliest] = useState(dashboard.timeRange?.earliest ?? '-24h');
	const [latest, setLatest] = useState(dashboard.timeRange?.latest ?? 'now');
	const [refresh, setRefresh] = useState(String(dashboard.refreshSeconds ?? ''));
	const [variables, setVariables] = useState((dashboard.variables ?? []).map(fieldsOf));
	const [wrong, setWrong] = useState({});
	const change = (at) => (what) => setVariables(variables.map((one, index) => (index === at ? { ...one, ...what } : one)));
	function done(event)
	{
		event?.preventDefault();
		const problems = { name: name.trim() ? undefined : 'It needs a name.', earliest: earliest.trim() ? undefined : 'Since when?', variables: wrongOf(variables) ?? undefined };
		setWrong(problems);
		if (Object.values(problems).some(Boolean))
			return;
		close({ name: name.trim(), description: description.trim() || null, tags: [...new Set(tags.split(',').map((one) => one.trim()).filter(Boolean))],
			timeRange: { earliest: earliest.trim(), latest: latest.trim() || 'now' }, refreshSeconds: refresh ? Number(refresh) : null, variables: variables.map(variableOf) });
	}
	const choices = refreshes.some(([value]) => value === refresh) ? refreshes : [...refreshes, [refresh, `${refresh} s`]];
	return html`<${Dialog} title="Settings of the dashboard" size="large" onClose=${() => close(null)} closeBeside=${false} footer=${html`<${Button} onClick=${() => close(null)}>Cancel<//>
		<${Button} kind="primary" onClick=${done}>Apply<//>`}>
		<form class="stack" onSubmit=${done}>
			<${Field} label="Name" name="name" maxlength="200" value=${name} error=${wrong.name} onInput=${setName} data-autofocus />
			<${TextArea} label="Description" optional rows="2" maxlength="2000" value=${description} onInput=${setDescription} />
			<div class="field-pair"><${Field} label="Tags" optional hint="Separated by commas" value=${tags} onInput=${setTags} />
				<${Field} label="From" value=${earliest} error=${wrong.earliest} onInput=${setEarliest} /><${Field} label="To" value=${latest} onInput=${setLatest} />
				<${Select} label="Load again every" value=${refresh} onInput=${setRefresh} options=${choices.map(([value, label]) => ({ value, label }))} /></div>
			<div class="stack-s"><h3>Variables</h3>
				${variables.map((one, index) => html`<${Variable} key=${index} one=${one} index=${index} onChange=${change(index)} onRemove=${() => setVariables(variables.filter((_, at) => at !== index))} />`)}
				${wrong.variables && html`<p class="field-error" role="alert"><span>${wrong.variables}</span></p>`}
				<div><${Button} size="small" icon="plus" disabled=${variables.length >= 20} onClick=${() => setVariables([...variables, fieldsOf({ name: '', kind: 'query', multi: false })])}>Add variable<//></div></div>
			<button type="submit" hidden></button>
		</form><//>`;
}
