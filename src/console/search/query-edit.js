/*
 * query-edit.js: filters and terms put into the head of a query.
 */
import { findFilter, hasOr, headEnd, headOf, stageKeywords, tokensOf, withoutPart } from './query-text.js';

const scopes = /^(?:index|earliest|latest)$/;

// The last token of index=a or index IN (a, b) that begins at i; 0: it is none.
function lastOf(real, i)
{
	if (/^IN$/i.test(real[i + 1].text) && real[i + 2].text === '(')
		return Math.max(0, real.findIndex((one, at) => at > i + 2 && one.text === ')'));
	return real[i + 1].text === '=' ? i + 2 : 0;
}

// Puts a term at the end of the head; what is joined by OR gets brackets first, except where and when.
function appendTerm(text, term)
{
	const end = headEnd(text);
	let head = text.slice(0, end).trim();
	if (hasOr(head)) {
		const real = tokensOf(head).filter((one) => one.kind !== 'space');
		const moved = [];
		for (let i = real.length - 3; i >= 0; i--) {
			const last = scopes.test(real[i].text) ? lastOf(real, i) : 0;
			if (!last)
				continue;
			moved.unshift(head.slice(real[i].start, real[last].end));
			head = `${head.slice(0, real[i].start)}${head.slice(real[last].end)}`;
		}
		head = [...moved, `(${head.trim()})`].join(' ');
	}
	const rest = text.slice(end).trim();
	return [head, term, rest].filter(Boolean).join(' ');
}

// Which indexes are searched is said once, and not by what they are not.
function chooseIndex(text, value, exclude)
{
	const real = tokensOf(text).filter((one) => one.kind !== 'space' && !one.stage && one.kind !== 'pipe');
	const first = real.findIndex((one, at) => one.text === 'index' && at + 2 < real.length && lastOf(real, at));
	if (exclude) {
		const stage = `| where index != ${value.startsWith('"') ? value : `"${value}"`}`;
		const own = findFilter(text, 'index', value);
		const rest = own ? withoutPart(text, own.start, own.end) : text;
		const end = headEnd(rest);
		return rest.includes(stage) ? rest : [rest.slice(0, end).trim(), stage, rest.slice(end).trim()].filter(Boolean).join(' ');
	}
	return appendTerm(first < 0 ? text : withoutPart(text, real[first].start, real[lastOf(real, first)].end), `index=${value}`);
}

/** A query with a filter for a value of a field (as writeField and writeValue write them); exclude: against it. */
export function addFilter(text, field, value, { exclude = false } = {})
{
	const found = findFilter(text, field, value);
	if (found?.exclude === exclude)
		return text;
	if (field === 'index')
		return chooseIndex(text, value, exclude);
	const without = found ? withoutPart(text, found.start, found.end) : text;
	return appendTerm(without, `${exclude ? 'NOT ' : ''}${field}=${value}`);
}

/** A query with a term, such as request_id=*, at the end of its head. */
export const addTerm = (text, term) => appendTerm(text, term);

/** A field that writeField has written, as stages take it: there user-agent is a subtraction. */
export function writeStageField(written)
{
	const parts = written.replaceAll('`', '').split('.');
	return parts.includes('') ? written
		: parts.map((one) => (/^[A-Za-z_]\w*$/.test(one) && !stageKeywords.test(one) ? one : `\`${one}\``)).join('.');
}

/** How many events of the head of a query have each value of a field. */
export const groupBy = (text, field) => `${headOf(text)} | stats count by ${writeStageField(field)} | sort -count`.trim();
