/*
 * group-rows.js: the events behind a row of a table of groups.
 */
import { addFilter, addTerm } from './query-edit.js';
import { tokensOf, writeValue } from './query-text.js';

// What keeps the rows of a table, with their groups.
const keeps = /^(?:where|sort|head|tail|dedup|fields)$/;

/**
 * How the rows of a table lead to events: a function that gets a row and answers the query of its events, or null, when the first
 * columns are not fields by which `stats` or `top` has grouped. q: the query; columns: of its table.
 */
export function eventsOf(q, columns)
{
	const tokens = tokensOf(q).filter((one) => one.kind !== 'space');
	const pipes = tokens.flatMap((one, at) => (one.kind === 'pipe' ? [at] : []));
	const at = pipes.findIndex((pipe) => tokens[pipe + 1]?.text !== 'where');
	const word = (pipe) => tokens[pipe + 1]?.text;
	// Of events that stages have changed, the head finds others.
	if (at < 0 || !/^(?:stats|top|rare)$/.test(word(pipes[at])) || pipes.slice(at + 1).some((pipe) => !keeps.test(word(pipe))))
		return null;
	const stage = tokens.slice(pipes[at] + 2, pipes[at + 1]);
	const by = stage.findLastIndex((one) => /^by$/i.test(one.text));
	const last = stage.at(-1)?.end;
	// As they are written: user.id, `user-agent`.
	const names = (from, to) => (from < to ? q.slice(stage[from].start, stage[to - 1].end).split(/\s*,\s*|\s+/) : []);
	const first = word(pipes[at]) === 'stats' ? stage.length : stage.findIndex((one) => one.kind !== 'number');
	const groups = last === undefined ? [] : [...(by < 0 ? [] : names(by + 1, stage.length)), ...(first < 0 ? [] : names(first, by < 0 ? stage.length : by))];
	const written = columns.slice(0, groups.length).map((column) => groups.find((one) => one.replaceAll('`', '') === column.name));
	if (!groups.length || written.length < groups.length || !written.every((one) => one && one !== 'timestamp' && /^(?:[\w.@]+|[\w.@]*`[^`]+`)$/.test(one)))
		return null;
	const before = q.slice(0, tokens[pipes[at]].start).trim();
	return (row) => written.reduce((text, name, index) => {
		const value = row[index];
		return text === null || (value !== null && typeof value === 'object') ? null
			: value === null ? addTerm(text, `NOT ${name}=*`) : addFilter(text, name, writeValue(value));
	}, before);
}
