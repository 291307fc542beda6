/*
 * query-text.js: the text of a query: its tokens, its head, which words it looks for, which filters it has.
 *
 * The service parses queries; this only knows enough of the language to colour, to complete and to edit them
 * (query-edit.js).
 */
const headKeywords = /^(?:AND|OR|NOT|IN|CONTAINS|MATCHES)$/;
/** Words that are no names in stages. */
export const stageKeywords = /^(?:and|or|not|in|contains|matches|by|as|desc|asc|output|true|false|null)$/i;
const builtinNames = ['event', 'level', 'source', 'service', 'index', 'timestamp', 'ingested_at', 'id', 'trace_id', 'span_id'];
/** The fields that every event has in the same place; all others are attributes. */
export const builtins = new Set(builtinNames);

const inHead = /(\s+)|("(?:[^"\\]|\\[^])*"?)|(`[^`]*`?)|(=~|!~|!=|<=|>=|[=<>])|([(),])|(\|)|([^\s"`=<>!(),|]+|!)/y;
const inStage = /(\s+)|("(?:[^"\\]|\\[^])*"?)|(`[^`]*`?)|(!=|<=|>=|[=<>+*/%.-])|([(),])|(\|)|(\d[\w.]*|[^\s"`=<>!(),|+*/%.-]+|!)/y;
const kinds = ['space', 'string', 'name', 'operator', 'bracket', 'pipe', 'word'];

// name:value, but no address, time or C++ name.
const colon = /^(-?)([A-Za-z_@][\w.@-]*):(?![/:]|$)/;

function classify(tokens)
{
	const real = tokens.filter((one) => one.kind !== 'space');
	let stage = false;
	for (let i = 0; i < real.length; i++) {
		const token = real[i];
		const before = real[i - 1];
		const after = real[i + 1];
		if (token.kind === 'pipe')
			stage = true;
		token.stage = stage;
		if (token.kind !== 'word')
			continue;
		if (before?.kind === 'pipe')
			token.kind = 'stage';
		else if ((stage ? stageKeywords : headKeywords).test(token.text))
			token.kind = 'keyword';
		else if (/^-?\d+(?:\.\d+)?$/.test(token.text) || (stage && /^\d/.test(token.text)))
			token.kind = 'number';
		else if (stage && after?.text === '(')
			token.kind = 'function';
		else if (!stage && before?.kind === 'operator' && before.text !== '-')
			token.kind = 'value';
		else if ((after?.kind === 'operator' && /^[=<>!:]/.test(after.text)) || (!stage && /^(?:IN|CONTAINS|MATCHES)$/.test(after?.text))
			|| (!stage && after?.text === 'NOT' && /^(?:IN|CONTAINS|MATCHES)$/.test(real[i + 2]?.text)))
			token.kind = 'name';
	}
}

/** The tokens of a query: {kind, text, start, end, stage}: offsets in UTF-16, stage: after the first |. */
export function tokensOf(text)
{
	const tokens = [];
	let stage = false;
	let at = 0;
	const add = (kind, length) => {
		tokens.push({ kind, text: text.slice(at, at + length), start: at, end: at + length });
		at += length;
	};
	while (at < text.length) {
		const pattern = stage ? inStage : inHead;
		pattern.lastIndex = at;
		const found = pattern.exec(text);
		const kind = kinds[found.findIndex((one, index) => index > 0 && one !== undefined) - 1];
		const own = found[0];
		if (kind === 'word' && !stage) {
			const pair = colon.exec(own) ?? (/^[A-Za-z_@][\w.@-]*:$/.test(own) && text[at + own.length] === '"' ? [own, '', own.slice(0, -1)] : null);
			if (own.startsWith('-') && own.length > 1 && !/^-\d/.test(own)) {
				add('operator', 1);
				continue;
			}
			if (pair) {
				add('word', pair[2].length);
				add('operator', 1);
				continue;
			}
		}
		add(kind, own.length);
		stage ||= kind === 'pipe';
	}
	classify(tokens);
	return tokens;
}

// A pipe belongs to the stages.
const headTokens = (text) => tokensOf(text).filter((one) => one.kind !== 'space' && !one.stage);

/** Where the head ends: the first | outside of texts in quotes, or the end. */
export function headEnd(text)
{
	return tokensOf(text).find((one) => one.kind === 'pipe')?.start ?? text.length;
}

/** The head of a query, without white space around it. */
export const headOf = (text) => text.slice(0, headEnd(text)).trim();

/** The stages of a query, from the first | on, or ''. */
export const stagesOf = (text) => text.slice(headEnd(text)).trim();

/** The part of a query whose patterns are shown: all of it if its stages are conditions only, otherwise its head. */
export function patternQuery(q)
{
	const tokens = tokensOf(q);
	const pipe = tokens.find((one) => one.kind === 'pipe');
	const stages = tokens.filter((one) => one.kind === 'stage');
	return (stages.length && stages.every((one) => one.text === 'where') ? q : q.slice(0, pipe?.start ?? q.length)).trim();
}

/** The content of a text in quotes. */
function unquoted(token)
{
	if (token.kind === 'string')
		return token.text.slice(1, token.text.length > 1 && token.text.endsWith('"') ? -1 : undefined).replace(/\\(["\\])/g, '$1');
	return token.kind === 'name' && token.text.startsWith('`') ? token.text.replaceAll('`', '') : token.text;
}

const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

// Words as the service has them: 10.0.0.7 is the phrase "10 0 0 7"; * stands for the rest of a word.
function wordPattern(text)
{
	const parts = text.split(/[^\p{L}\p{N}_*]+/u).filter((one) => /[\p{L}\p{N}_]/u.test(one));
	// With more than two stars a long run of letters can keep the page busy for minutes.
	if (!parts.length || text.split('*').length > 3)
		return null;
	return `(?<![\\p{L}\\p{N}])${parts.map((one) => one.split('*').map(escaped).join('[\\p{L}\\p{N}_]*')).join('[^\\p{L}\\p{N}]+')}(?![\\p{L}\\p{N}])`;
}

/** A pattern of what the head looks for in the text of events, for marking it; null when there is nothing. */
export function termPattern(text)
{
	const real = headTokens(text);
	const patterns = new Set();
	let skip = 0; // Depth of brackets after NOT.
	for (let i = 0; i < real.length; i++) {
		const token = real[i];
		const negated = real[i - 1]?.text === 'NOT' || real[i - 1]?.text === '-';
		if (token.text === '(' && (negated || skip))
			skip++;
		else if (token.text === ')' && skip)
			skip--;
		if (skip || negated)
			continue;
		const operator = real[i - 1];
		const field = operator?.text === 'CONTAINS' || operator?.kind === 'operator' ? real[i - 2] : null;
		if (field && (!/^(?:event|message|msg|_msg|_raw)$/.test(unquoted(field)) || !/^(?:CONTAINS|:|=)$/.test(operator.text)
			|| real[i - 3]?.text === 'NOT' || real[i - 3]?.text === '-'))
			continue;
		if (operator?.text === 'CONTAINS' && token.kind === 'string')
			patterns.add(escaped(unquoted(token)));
		else if ((token.kind === 'word' || token.kind === 'string' || token.kind === 'number' || (field && token.kind === 'value')) && operator?.text !== 'MATCHES')
			patterns.add(wordPattern(unquoted(token)));
	}
	patterns.delete(null);
	patterns.delete('');
	try {
		return patterns.size ? new RegExp([...patterns].join('|'), 'giu') : null;
	} catch {
		return null;
	}
}

/** The name of a field as it is written in a query, or null when it cannot be. */
export function writeField(name, builtin = builtins.has(name))
{
	const own = !builtin && builtins.has(name) ? `attributes.${name}` : name;
	if (/^[A-Za-z_][\w.@-]*$/.test(own) && !/\.\.|\.$/.test(own) && !/^(?:earliest|latest|and|or|not|in|contains|matches|by|as)$/i.test(own))
		return own;
	return own.includes('`') || own === '' ? null : `\`${own}\``;
}

/** A value as it is written in a query: as it is where that is safe, otherwise in quotes. */
export function writeValue(value, { stage = false } = {})
{
	if (typeof value !== 'string')
		return String(value);
	if (!stage && /^[\p{L}_][\p{L}\p{N}_.-]*$/u.test(value) && !headKeywords.test(value.toUpperCase()))
		return value;
	if (!stage && /^-?\d/.test(value) && String(Number(value)) === value)
		return value;
	return `"${value.replace(/[\\"]/g, '\\$&')}"`;
}

/** Are there alternatives in the head, outside of brackets? */
export function hasOr(text)
{
	let depth = 0;
	return headTokens(text).some((one) => {
		depth += one.text === '(' ? 1 : one.text === ')' ? -1 : 0;
		return !depth && one.text === 'OR';
	});
}

/** The text without a part of its head, nor the AND that joins it. */
export function withoutPart(text, start, end)
{
	const real = headTokens(text);
	const after = real.find((one) => one.start >= end);
	const before = real.findLast((one) => one.end <= start);
	if (after?.text === 'AND')
		end = after.end;
	else if (before?.text === 'AND')
		start = before.start;
	return `${text.slice(0, start).trimEnd()} ${text.slice(end).trimStart()}`.trim();
}

/** Where the head compares a field with a value, for all that it finds: {start, end, exclude}, or null. */
export function findFilter(text, field, value)
{
	const real = headTokens(text);
	const wanted = [field, value].map((one) => one.replaceAll('`', ''));
	let depth = 0;
	// Beside alternatives only index= is for all.
	if (hasOr(text) && field !== 'index')
		return null;
	for (let i = 0; i < real.length; i++) {
		if (real[i].text === '(')
			depth++;
		else if (real[i].text === ')')
			depth--;
		const [name, operator, content] = real.slice(i, i + 3);
		if (depth || !content || !['=', '!=', ':'].includes(operator.text) || name.text.replaceAll('`', '') !== wanted[0]
			|| (content.text !== value && unquoted(content) !== value))
			continue;
		// field=a,b is a list.
		if (real[i + 3]?.text === ',')
			continue;
		const not = real[i - 1]?.text === 'NOT' || real[i - 1]?.text === '-' ? real[i - 1] : null;
		return { start: (not ?? name).start, end: content.end, exclude: Boolean(not) !== (operator.text === '!=') };
	}
	return null;
}

/** Does the head already ask for a value of a field ('include'), refuse it ('exclude'), or neither (null)? */
export function filterState(text, field, value)
{
	const found = findFilter(text, field, value);
	return found && (found.exclude ? 'exclude' : 'include');
}

/** The time range that the head itself sets: {earliest, latest}, each a text or null. */
export function timesOf(text)
{
	const real = headTokens(text);
	const times = { earliest: null, latest: null };
	for (let i = 0; i + 2 < real.length; i++)
		if (real[i].text in times && real[i + 1].text === '=')
			times[real[i].text] = unquoted(real[i + 2]);
	return times;
}

/** The query without the time range that its head sets, so that another one counts. */
export function withoutTimes(text)
{
	const real = headTokens(text);
	let left = text;
	for (let i = real.length - 3; i >= 0; i--)
		if (/^(?:earliest|latest)$/.test(real[i].text) && real[i + 1].text === '=')
			left = withoutPart(left, real[i].start, real[i + 2].end);
	return left.trim();
}
