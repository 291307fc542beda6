/*
 * options.js: how rows are judged and compressed.
 */
import { html } from '../view.js';
import { config } from '../session.js';
import { Checkbox, Field, Select } from '../ui/field.js';

/** The models, cheapest first; price: as many times as much as the first one costs. */
export const models = [
	{ value: 'model-haiku-4-5', label: 'Haiku 4.5 (1x)', name: 'Haiku 4.5', price: 1 },
	{ value: 'model-sonnet-4-6', label: 'Sonnet 4.6 (3x)', name: 'Sonnet 4.6', price: 3 },
	{ value: 'model-opus-4-7', label: 'Opus 4.7 (15x)', name: 'Opus 4.7', price: 15 },
];

/** What the options are at first. */
export const defaults = { mode: 'test_classification', model: 'model-haiku-4-5', citations: true, logCompression: true,
	maxTemplates: '200', maxSamples: '2', rareThreshold: '1', simThreshold: '0.4' };

const numbers = [
	{ name: 'maxTemplates', label: 'Patterns', hint: '1 to 500, most frequent first', min: 1, max: 500 },
	{ name: 'maxSamples', label: 'Samples', hint: '0 to 5 rows with each pattern', min: 0, max: 5 },
	{ name: 'rareThreshold', label: 'Rare up to', hint: '0 to 50: shown row by row', min: 0, max: 50 },
	{ name: 'simThreshold', label: 'Similarity', hint: '0 to 1: higher merges less', min: 0, max: 1, step: 0.05 },
];

/** The members of a request: those that differ from what the service takes by itself. */
export function optionsOf(options)
{
	const request = { mode: options.mode };
	if (config.value?.evaluator !== 'builtin')
		request.model = options.model;
	if (options.citations)
		request.citations = true;
	if (!options.logCompression)
		request.logCompression = false;
	const compression = {};
	for (const { name } of numbers)
		if (options[name] !== defaults[name])
			compression[name] = options[name] === '' ? null : Number(options[name]);
	if (Object.keys(compression).length)
		request.compressionOptions = compression;
	return request;
}

/** The fields. errors: texts by name. */
export function Options({ options, onOptions, errors = {} })
{
	const set = (name) => (value) => onOptions({ ...options, [name]: value });
	return html`<div class="stack">
		<div class="field-pair">
			<${Select} label="Mode" value=${options.mode} onInput=${set('mode')} options=${[
				{ value: 'test_classification', label: 'A finding for each item' }, { value: 'generic_verdict', label: 'Findings as they come' }]} />
			${config.value?.evaluator !== 'builtin' && html`<${Select} label="Model" value=${options.model} onInput=${set('model')} options=${models} />`}
		</div>
		${config.value?.evaluator === 'builtin' && html`<p class="small muted">The built-in evaluator judges, by the words in the rows: no row leaves this service, and there is no model to choose.</p>`}
		<${Checkbox} label="Cite rows" hint="Each finding quotes the rows it rests on, and the quotes are checked." checked=${options.citations} onInput=${set('citations')} />
		<${Checkbox} label="Compress rows into patterns" hint="Without it the first 200 rows are judged as they are." checked=${options.logCompression} onInput=${set('logCompression')} />
		${options.logCompression && html`<details class="evaluate-more"><summary>Compression</summary><div class="field-pair">
			${numbers.map((one) => html`<${Field} key=${one.name} label=${one.label} hint=${one.hint} name=${one.name} type="number" min=${one.min} max=${one.max}
				step=${one.step ?? 1} value=${options[one.name]} onInput=${set(one.name)} error=${errors[`compressionOptions.${one.name}`]?.replace(/^compressionOptions\.\w+ must/, 'It must')} />`)}</div></details>`}
	</div>`;
}
