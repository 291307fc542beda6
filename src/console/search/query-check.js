/*
 * query-check.js: whether a query is right, and what would make it so.
 */
import { api } from '../api.js';

/** What is wrong with a query, without running it: {valid, errors, warnings}. */
export async function validate(text, abort)
{
	return (await api.post('/api/v1/search/validate', { q: text }, { abort, reads: true })).data;
}

/** The fix that an error or a warning offers for a query: {label, text}, or null. */
export function fixOf(text, problem, rangeOf)
{
	if (problem.suggestion)
		return { label: problem.suggestion, text: problem.suggestion, whole: true };
	const word = /^did you mean (\S+)\?$/.exec(problem.hint ?? '')?.[1];
	if (!word || !problem.position)
		return null;
	const { start, end } = rangeOf(text, problem.position);
	return { label: word, text: text.slice(0, start) + word + text.slice(end), whole: false };
}
