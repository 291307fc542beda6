/*
 * condition.js: the condition of a rule, edited as a sentence.
 */
import { html, useEffect, useState } from '../view.js';
import { Combobox } from '../ui/combobox.js';
import { Icon } from '../ui/icon.js';
import { IconButton } from '../ui/button.js';
import { loadFieldNames } from './field-names.js';
import { secondsOf, shortSpan, spanWords } from './durations.js';
import { operators } from './sentence.js';

/** The condition of another kind, with what both have in common. */
export function conditionOf(kind, before)
{
	const { op, threshold, forSeconds, column, days } = before;
	return {
		count: { kind, op: op ?? '>', threshold: threshold ?? 0, forSeconds },
		value: { kind, column: column ?? '', op: op ?? '>', threshold: threshold ?? 0, forSeconds },
		absence: { kind, forSeconds },
		newTemplate: { kind, days: days ?? 7, forSeconds },
	}[kind];
}

const kinds = [
	{ value: 'count', label: 'the number of results' }, { value: 'value', label: 'the value of' },
	{ value: 'absence', label: 'nothing is found' }, { value: 'newTemplate', label: 'a new pattern appears' },
];

/** A choice within a sentence. */
function Pick({ label, value, options, onInput, invalid })
{
	return html`<span class="select sentence-part"><select class="input" aria-label=${label} aria-invalid=${invalid ? 'true' : undefined} value=${value}
		onChange=${(event) => onInput(event.currentTarget.value)}>${options.map((one) => html`<option key=${one.value} value=${one.value} selected=${one.value === value}>${one.label}</option>`)}</select><${Icon} name="down" /></span>`;
}

/** A length of time within a sentence: one of some, or another one by its number and unit. */
function Span({ label, seconds, choices, onInput, least = 1, most, zero })
{
	const [text, setText] = useState(shortSpan(seconds || 1));
	const [own, setOwn] = useState(!choices.includes(seconds));
	useEffect(() => {
		if (Number.isFinite(seconds) && secondsOf(text) !== seconds)
			setText(shortSpan(seconds || 1));
	}, [seconds]);
	const read = secondsOf(text);
	const wrong = own && !(read >= least && read <= most);
	return html`<${Pick} label=${label} value=${own ? 'own' : String(seconds)} onInput=${(value) => {
		setOwn(value === 'own');
		if (value !== 'own')
			onInput(Number(value));
	}} options=${[...choices.map((one) => ({ value: String(one), label: one === 0 ? zero : spanWords(one) })), { value: 'own', label: 'another time' }]} />
	${own && html`<input class="input sentence-part sentence-number" aria-label=${`${label}: number and s, m, h or d`} aria-invalid=${wrong ? 'true' : undefined} value=${text}
		title=${`From ${spanWords(least)} to ${spanWords(most)}, such as 90s or 2h`} onInput=${(event) => {
			setText(event.currentTarget.value);
			const next = secondsOf(event.currentTarget.value);
			if (next >= least && next <= most)
				onInput(next);
		}} />`}`;
}

function NumberPart({ label, value, onInput, integer, min })
{
	const [text, setText] = useState(String(value ?? ''));
	useEffect(() => {
		if (Number(text) !== value)
			setText(String(value ?? ''));
	}, [value]);
	return html`<input class="input sentence-part sentence-number" type="number" step=${integer ? 1 : 'any'} min=${min} aria-label=${label} value=${text}
		aria-invalid=${text.trim() === '' || !Number.isFinite(Number(text)) ? 'true' : undefined} onInput=${(event) => {
			setText(event.currentTarget.value);
			onInput(event.currentTarget.value.trim() === '' ? null : Number(event.currentTarget.value));
		}} />`;
}

function Groups({ groups, onInput })
{
	const [typed, setTyped] = useState('');
	const add = (name) => {
		setTyped('');
		if (name && !groups.includes(name))
			onInput([...groups, name]);
	};
	return html`<div class="row">${groups.map((name) => html`<span key=${name} class="chip"><code class="break">${name}</code>
			<${IconButton} icon="close" size="small" label=${`Not for each ${name}`} onClick=${() => onInput(groups.filter((one) => one !== name))} /></span>`)}
		${groups.length < 5 && html`<div class="group-field"><${Combobox} completes label="An alert for each value of a field" hideLabel placeholder=${groups.length ? 'and another field' : 'field'} load=${loadFieldNames} value=${typed} onInput=${setTyped} onChoose=${add} /></div>`}</div>`;
}

/** The sentence. rule: the draft; set(changes) changes it; errorAt(path): what the service said. */
export function ConditionSentence({ rule, set, errorAt })
{
	const { condition, schedule, groupBy } = rule;
	const change = (changes) => set({ condition: { ...condition, ...changes } });
	const time = (changes) => set({ schedule: { ...schedule, ...changes } });
	const compares = ['count', 'value'].includes(condition.kind);
	const wrong = ['condition.kind', 'condition.op', 'condition.threshold', 'condition.column', 'condition.days', 'condition.forSeconds', 'condition', 'schedule.lookback',
		'schedule.everySeconds', 'schedule.delaySeconds', 'groupBy', 'groupBy[0]'].map(errorAt).filter(Boolean);
	return html`<div class="stack">
		<div class="sentence"><span>Fire when</span>
			<${Pick} label="What counts" value=${condition.kind} options=${kinds} onInput=${(kind) => set({ condition: conditionOf(kind, condition) })} />
			${condition.kind === 'value' && html`<div class="sentence-part group-field"><${Combobox} label="Column" hideLabel placeholder="column" load=${loadFieldNames} value=${condition.column ?? ''} onInput=${(column) => change({ column })} /></div>`}
			${compares && html`<span>is</span><${Pick} label="Comparison" value=${condition.op} options=${operators} onInput=${(op) => change({ op })} />
				<${NumberPart} label="Threshold" value=${condition.threshold} onInput=${(threshold) => change({ threshold })} />`}
			${condition.kind === 'newTemplate' && html`<span>that was not there for</span><${NumberPart} label="Days" integer min="1" value=${condition.days} onInput=${(days) => change({ days })} /><span>days</span>`}
			<span>in the last</span>
			<${Span} label="Range of each check" seconds=${secondsOf(schedule.lookback)} choices=${[60, 300, 600, 900, 3600, 86_400]} least=${1} most=${2_592_000}
				onInput=${(seconds) => time({ lookback: shortSpan(seconds) })} />
			<span>checked every</span>
			<${Span} label="Time between checks" seconds=${schedule.everySeconds} choices=${[10, 30, 60, 300, 900, 3600]} least=${10} most=${86_400} onInput=${(everySeconds) => time({ everySeconds })} />
			<span>and this</span>
			<${Span} label="How long it must hold" seconds=${condition.forSeconds ?? 0} zero="holds at one check" choices=${[0, 60, 300, 600, 1800]} least=${0} most=${604_800} onInput=${(forSeconds) => change({ forSeconds })} />
		</div>
		<div class="sentence"><span>An alert for each</span><${Groups} groups=${groupBy ?? []} onInput=${(next) => set({ groupBy: next })} />
			${!groupBy?.length && html`<span class="muted">none: one alert for all</span>`}</div>
		<div class="sentence"><span>Look at ranges that ended</span>
			<${Span} label="Delay" seconds=${schedule.delaySeconds ?? 0} zero="just now" choices=${[0, 10, 60, 300]} least=${0} most=${86_400} onInput=${(delaySeconds) => time({ delaySeconds })} />
			<span class="muted">${schedule.delaySeconds ? 'ago, for events that come late' : ''}</span></div>
		${wrong.map((text) => html`<p class="field-error" key=${text}><${Icon} name="alert" /><span>${text}</span></p>`)}
	</div>`;
}
