/*
 * completion.js: what can be written at the caret: stages, fields, functions, values.
 */
import { aggregates, functions, headOperators, headWords, stages } from './language-words.js';
import { writeStageField } from './query-edit.js';
import { tokensOf, writeField, writeValue } from './query-text.js';

export { Assist } from './assist.js';

const fieldStages = /^(?:fields|table|sort|dedup|top|rare|rename|fillnull|lookup|bin|bucket|patterns)$/;
const groupStages = /^(?:stats|eventstats|timechart)$/;
const plain = (text) => text.replaceAll('`', '');

// The field whose value is being written, going back from a token: name = |, name IN (a, |.
function fieldBefore(real, at)
{
	const before = real[at];
	if (before?.kind === 'operator' && /^(?:=|!=|:|<|<=|>|>=)$/.test(before.text) && /^(?:name|word|value)$/.test(real[at - 1]?.kind))
		return plain(real[at - 1].text);
	if (before?.text !== ',' && before?.text !== '(')
		return null;
	let i = at;
	while (i >= 0 && real[i].text !== '(') {
		if (real[i].kind === 'pipe')
			return null;
		i--;
	}
	const keyword = real[i - 1];
	if (keyword?.kind !== 'keyword' || keyword.text.toUpperCase() !== 'IN')
		return null;
	const name = /^not$/i.test(real[i - 2]?.text) ? real[i - 3] : real[i - 2];
	return name ? plain(name.text) : null;
}

/**
 * What the caret is at: {kind, prefix, from, to, field, quoted, stage, inBrackets}. kind: head, stage, field, aggregate,
 * expression, operator or value; from and to: what a choice replaces. null: nothing can be offered, as within a text.
 */
export function contextAt(text, caret)
{
	const tokens = tokensOf(text);
	const current = tokens.find((one) => one.kind !== 'space' && one.start < caret && one.end >= caret
		&& !['operator', 'bracket', 'pipe'].includes(one.kind)) ?? null;
	const real = tokens.filter((one) => one.kind !== 'space' && one.end <= (current ? current.start : caret));
	const last = real.length - 1;
	const pipe = real.findLastIndex((one) => one.kind === 'pipe');
	const from = current ? current.start : caret;
	const to = current ? current.end : caret;
	const prefix = text.slice(from, caret);
	const base = { prefix: plain(prefix), from, to, field: null, quoted: false, stage: null, inBrackets: false };

	const field = fieldBefore(real, last);
	if (field) {
		const quoted = current?.kind === 'string';
		if (quoted && caret === current.end && current.text.length > 1 && current.text.endsWith('"'))
			return null;
		return { ...base, kind: 'value', field, quoted, prefix: quoted ? prefix.slice(1) : base.prefix, stage: pipe < 0 ? null : real[pipe + 1]?.text ?? null };
	}
	if (current?.kind === 'string')
		return null;
	if (pipe < 0) {
		// name CON|: a word after a name on its own.
		const before = real[last];
		if (!current && before && /^(?:name|word)$/.test(before.kind) && before.end < caret)
			return { ...base, kind: 'operator', field: plain(before.text) };
		return { ...base, kind: 'head' };
	}
	if (pipe === last)
		return { ...base, kind: 'stage' };
	const stage = real[pipe + 1].text;
	const own = real.slice(pipe + 2);
	const inBrackets = own.reduce((depth, one) => depth + (one.text === '(' ? 1 : one.text === ')' ? -1 : 0), 0) > 0;
	const by = own.some((one) => /^by$/i.test(one.text));
	const context = { ...base, stage, inBrackets };
	if (groupStages.test(stage))
		return { ...context, kind: by || inBrackets ? 'field' : 'aggregate' };
	if (stage === 'where' || stage === 'eval')
		return { ...context, kind: 'expression' };
	return fieldStages.test(stage) ? { ...context, kind: 'field' } : null;
}

const byName = (one) => ({ label: one.name, hint: one.hint, insert: one.insert });

function pick(list, prefix, most = 50)
{
	const wanted = prefix.toLowerCase();
	const starts = list.filter((one) => one.label.toLowerCase().startsWith(wanted));
	const within = wanted ? list.filter((one) => !starts.includes(one) && one.label.toLowerCase().includes(wanted)) : [];
	return [...starts, ...within].slice(0, most);
}

/** Fields as suggestions, written by `write`; in the head a choice goes on with =. fields: {name, builtin, hint}. */
function fieldItems(fields, after, write)
{
	return fields.map((one) => ({ one, name: writeField(one.name, one.builtin) })).filter(({ name }) => name)
		.map(({ one, name }) => ({ label: one.name, hint: one.hint ?? '', insert: `${write(name)}${after}`, field: true }));
}

/**
 * The suggestions of a context: {label, hint, insert, more}; more: something follows at once, so ask again. fields: the
 * known ones; values: those found for context.field.
 */
export function suggestions(context, { fields = [], values = [] })
{
	const { kind, prefix } = context;
	if (kind === 'value')
		return pick(values.map((one) => ({ label: String(one.value), hint: one.hint ?? '', insert: `${writeValue(one.value, { stage: context.stage !== null || context.quoted })}` })), prefix);
	if (kind === 'stage')
		return pick(stages.map(byName), prefix);
	if (kind === 'operator')
		return [...pick(headOperators.map(byName), prefix), ...(prefix ? [] : [{ label: '|', hint: 'a stage', insert: '| ', more: true }])];
	if (kind === 'head')
		return pick([...fieldItems(fields, '=', (name) => name).map((one) => ({ ...one, more: true })), ...headWords.map(byName)], prefix);
	if (kind === 'aggregate')
		return pick([...aggregates.map(byName), { label: 'by', hint: 'groups', insert: 'by ', more: true },
			...(context.stage === 'timechart' ? [{ label: 'span=', hint: 'length of a bucket, as 5m', insert: 'span=' }] : [])], prefix);
	const list = fieldItems(fields, '', writeStageField);
	if (kind === 'expression')
		return pick([...list, ...functions.map(byName)], prefix);
	return pick(groupStages.test(context.stage ?? '') && !context.inBrackets ? list : [...list, ...(/^(?:top|rare)$/.test(context.stage) ? [{ label: 'by', hint: 'groups', insert: 'by ' }] : [])], prefix);
}
