/*
 * language-words.js: the words of the search language that are offered while a query is written (docs/language.md).
 */

/** Stages: name, what it does, what is written after it when it is chosen. */
export const stages = [
	['stats', 'numbers for each group', 'stats '],
	['timechart', 'numbers over time', 'timechart '],
	['where', 'keep rows for which a condition is true', 'where '],
	['top', 'most frequent values', 'top '],
	['rare', 'least frequent values', 'rare '],
	['sort', 'order, -field for descending', 'sort '],
	['head', 'the first rows', 'head '],
	['tail', 'the last rows', 'tail '],
	['dedup', 'one row of each combination', 'dedup '],
	['table', 'a table with these columns', 'table '],
	['fields', 'only these fields', 'fields '],
	['eval', 'make fields', 'eval '],
	['rex', 'fields from a regular expression', 'rex '],
	['patterns', 'templates of texts', 'patterns'],
	['rename', 'rename fields', 'rename '],
	['bin', 'starts of buckets', 'bin '],
	['fillnull', 'a value for what is missing', 'fillnull '],
	['eventstats', 'numbers of its group in each row', 'eventstats '],
	['lookup', 'fields from an uploaded table', 'lookup '],
	['json', 'fields from JSON in the text', 'json'],
	['logfmt', 'fields from name=value', 'logfmt'],
	['kv', 'fields from pairs in the text', 'kv'],
	['spath', 'one value of a JSON text', 'spath path='],
].map(([name, hint, insert]) => ({ name, hint, insert }));

/** Aggregates of stats, eventstats and timechart; those that end with ( want a field. */
export const aggregates = [
	['count', 'rows'], ['dc(', 'distinct values'], ['sum(', 'of numbers'], ['avg(', 'of numbers'], ['min(', 'smallest'], ['max(', 'largest'],
	['p50(', 'median'], ['p95(', '95th percentile'], ['p99(', '99th percentile'], ['values(', 'list of distinct values'], ['first(', 'newest value'], ['last(', 'oldest value'],
].map(([name, hint]) => ({ name, hint, insert: name }));

/** Functions of expressions. */
export const functions = [
	['if(', 'condition, then, else'], ['case(', 'condition, value, ...'], ['coalesce(', 'first that is not null'], ['isnull(', ''], ['isnotnull(', ''],
	['lower(', ''], ['upper(', ''], ['trim(', ''], ['len(', 'characters'], ['substr(', 'text, start, count'], ['replace(', 'text, old, new'], ['concat(', 'join texts'],
	['like(', 'text, pattern with % and _'], ['match(', 'text, regular expression'], ['split(', 'text, separator'], ['mvcount(', ''], ['mvindex(', ''], ['mvjoin(', ''],
	['strftime(', 'time, format'], ['strptime(', 'text, format'], ['bin(', 'value, span'], ['round(', 'number, digits'], ['floor(', ''], ['ceil(', ''], ['abs(', ''],
	['tonumber(', ''], ['tostring(', ''], ['now()', 'time of the search'],
].map(([name, hint]) => ({ name, hint, insert: name }));

/** Words of the head. */
export const headWords = [
	['NOT', 'the opposite'], ['OR', 'one of both'], ['AND', 'both'], ['index=', 'which indexes'], ['earliest=', 'from when, as -2h'], ['latest=', 'until when'],
].map(([name, hint]) => ({ name, hint, insert: name.endsWith('=') ? name : `${name} ` }));

/** Words between a field and its values in the head. */
export const headOperators = [
	['IN', 'one of a list', 'IN ('], ['NOT IN', 'none of a list', 'NOT IN ('], ['CONTAINS', 'a part of the text', 'CONTAINS "'], ['MATCHES', 'a regular expression', 'MATCHES "'],
].map(([name, hint, insert]) => ({ name, hint, insert }));
