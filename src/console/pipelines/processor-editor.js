/*
 * processor-editor.js: one processor: its members, its filter, and what to do when it fails.
 */
import { html, useEffect, useState } from '../view.js';
import { allRows } from '../api.js';
import { loadFieldNames } from '../alerts/field-names.js';
import { Combobox } from '../ui/combobox.js';
import { Checkbox, Field, Select, TextArea } from '../ui/field.js';
import { presets, typeOf } from './processor-types.js';

const failures = [
	{ value: 'tag', label: 'keep it, tagged with _pipelineError' }, { value: 'keep', label: 'keep it as it is' }, { value: 'drop', label: 'drop the event' },
];
const builtins = ['event', 'level', 'source', 'service', 'traceId', 'spanId', 'timestamp'];

async function loadFields(text, abort)
{
	const found = await loadFieldNames(text, abort).catch(() => ({ options: [] }));
	return { options: [...new Set([...builtins.filter((one) => one.toLowerCase().includes(text.toLowerCase())), ...found.options])], complete: true };
}

async function loadIndexes(text, abort)
{
	const { rows } = await allRows('/api/v1/indexes', { abort });
	return { options: rows.map((one) => one.name).filter((name) => !name.startsWith('_') && name.includes(text.toLowerCase())), complete: true };
}

/** A text that becomes something else, such as a list: what is typed stays as it is typed. */
function Parsed({ value, read, write, onInput, multi, ...rest })
{
	const [text, setText] = useState(write(value));
	useEffect(() => {
		if (JSON.stringify(read(text)) !== JSON.stringify(value))
			setText(write(value));
	}, [JSON.stringify(value)]);
	return html`<${multi ? TextArea : Field} ...${rest} value=${text} onInput=${(next) => { setText(next); onInput(read(next)); }} />`;
}

const kindOfValue = (value) => (value === null ? 'null' : typeof value);

function ValueField({ value, onInput, label, hint, error })
{
	const kind = kindOfValue(value);
	const to = { string: () => String(value ?? ''), number: () => Number(value) || 0, boolean: () => value === true || value === 'true', null: () => null };
	return html`<div class="value-field">
		${kind === 'string' ? html`<${Field} label=${label} hint=${hint} error=${error} class="input mono" value=${value} onInput=${onInput} />`
			: kind === 'number' ? html`<${Parsed} label=${label} error=${error} type="number" step="any" value=${value} read=${(text) => Number(text) || 0} write=${String} onInput=${onInput} />`
				: kind === 'boolean' ? html`<${Select} label=${label} value=${String(value)} options=${['true', 'false']} onInput=${(text) => onInput(text === 'true')} />`
					: html`<${Field} label=${label} value="null" disabled />`}
		<${Select} label="Type" value=${kind} options=${[{ value: 'string', label: 'text' }, 'number', 'boolean', 'null']} onInput=${(next) => onInput(to[next]())} /></div>`;
}

function Member({ member, processor, change, error })
{
	const { name, label, hint, kind, optional } = member;
	const value = processor[name];
	const common = { label, hint, error, optional };
	const put = (next) => change({ [name]: next });
	const text = (next) => put(next === '' && optional ? undefined : next);
	switch (kind) {
	case 'check': return html`<${Checkbox} label=${label} hint=${hint} checked=${value ?? false} onInput=${put} />`;
	case 'choice': return html`<${Select} ...${common} value=${value} options=${member.options} onInput=${put} />`;
	case 'field': return html`<${Combobox} ...${common} value=${value ?? ''} load=${loadFields} onInput=${text} />`;
	case 'index': return html`<${Combobox} ...${common} value=${value ?? ''} load=${loadIndexes} onInput=${text} hint="It must exist; names with _ cannot be chosen." />`;
	case 'number': return html`<${Parsed} ...${common} type="number" min=${member.min} max=${member.max} step=${member.step} value=${value} read=${(next) => (next.trim() === '' ? null : Number(next))} write=${(one) => String(one ?? '')} onInput=${put} />`;
	case 'list': return html`<${Parsed} ...${common} value=${value ?? []} read=${(next) => next.split(',').map((one) => one.trim()).filter(Boolean)} write=${(one) => one.join(', ')} onInput=${put} />`;
	case 'pairs': return html`<${Parsed} ...${common} multi class="input mono" rows="2" value=${value ?? {}} write=${(one) => Object.entries(one).map((pair) => pair.join('=')).join('\n')}
		read=${(next) => Object.fromEntries(next.split('\n').filter((line) => line.indexOf('=') > 0).map((line) => [line.slice(0, line.indexOf('=')).trim(), line.slice(line.indexOf('=') + 1)]))} onInput=${put} />`;
	case 'value': return html`<${ValueField} ...${common} value=${value ?? null} onInput=${put} />`;
	case 'preset': return html`<${Select} ...${common} value=${value ?? ''} options=${[...presets, { value: '', label: 'a pattern of your own' }]}
		onInput=${(next) => change(next ? { preset: next, pattern: undefined } : { preset: undefined, pattern: processor.pattern ?? '' })} />`;
	case 'code': return html`<${Field} ...${common} class="input mono" spellcheck=${false} autocomplete="off" value=${value ?? ''} onInput=${text} />`;
	default: return html`<${Field} ...${common} class=${kind === 'raw' ? 'input mono' : 'input'} value=${value ?? ''} onInput=${text} />`;
	}
}

/** The fields of a processor. onInput gets it changed; errorAt(name): what the service said of a member. */
export function ProcessorEditor({ processor, onInput, errorAt })
{
	const type = typeOf(processor.type);
	const change = (changes) => onInput(Object.fromEntries(Object.entries({ ...processor, ...changes }).filter(([, value]) => value !== undefined)));
	return html`<div class="stack">${type.hint && html`<p class="small muted">${type.hint}</p>`}
		<div class="field-grid">${type.members.filter((one) => !one.when || one.when(processor)).map((member) => html`<${Member} key=${member.name} member=${member} processor=${processor} change=${change} error=${errorAt(member.name)} />`)}
			<${Field} label="Only if" optional class="input mono" spellcheck=${false} placeholder="level=error" value=${processor.if ?? ''} error=${errorAt('if')} onInput=${(text) => change({ if: text || undefined })} hint="A filter; without one, every event." />
			<${Select} label="When it fails" value=${processor.onFailure ?? 'tag'} options=${failures} onInput=${(onFailure) => change({ onFailure })} /></div>
		${errorAt('') && html`<p class="field-error">${errorAt('')}</p>`}</div>`;
}
