/*
 * query-edit.js: filters and terms put into the head of a query.
 */
import { findFilter, headEnd, tokensOf } from './query-text.js';

const scopes = /^(?:index|earliest|latest)$/;

// Puts a term at the end of the head; what is joined by OR gets brackets first, except where and when.
function appendTerm(text, term)
{
	const end = headEnd(text);
	let head = text.slice(0, end).trim();
	const tokens = tokensOf(head);
	let depth = 0;
	const or = tokens.some((one) => {
		depth += one.text === '(' ? 1 : one.text === ')' ? -1 : 0;
		return depth === 0 && one.kind === 'keyword' && one.text === 'OR';
	});
	if (or) {
		const real = tokens.filter((one) => one.kind !== 'space');
		const moved = [];
		for (let i = real.length - 3; i >= 0; i--) {
			if (!scopes.test(real[i].text) || real[i + 1].text !== '=' || real[i + 3]?.text === ',')
				continue;
			moved.unshift(head.slice(real[i].start, real[i + 2].end));
			head = `${head.slice(0, real[i].start)}${head.slice(real[i + 2].end)}`;
		}
		head = [...moved, `(${head.trim()})`].join(' ');
	}
	const rest = text.slice(end).trim();
	return [head, term, rest].filter(Boolean).join(' ');
}

/** A query with a filter for a value of a field (as writeField and writeValue write them); exclude: against it. */
export function addFilter(text, field, value, { exclude = false } = {})
{
	const found = findFilter(text, field, value);
	if (found?.exclude === exclude)
		return text;
	const without = found ? `${text.slice(0, found.start).trimEnd()} ${text.slice(found.end).trimStart()}`.trim() : text;
	return appendTerm(without, `${exclude ? 'NOT ' : ''}${field}=${value}`);
}

/** A query with a term, such as request_id=*, at the end of its head. */
export const addTerm = (text, term) => appendTerm(text, term);
