/*
 * rows.js: rows of an evaluation, from what was pasted, dropped or found.
 */

/** The limits of a request; the service has the last word. */
export const limits = { rows: 10_000, rowCharacters: 2000, criteria: 4000, items: 200, itemId: 100, itemDescription: 500, bytes: 10 * 1024 * 1024 };

/** How many characters the service counts: code points, not units of UTF-16. */
export function codePoints(text)
{
	let count = 0;
	for (const each of text)
		count += each ? 1 : 0;
	return count;
}

/** A row as text: an object is its compact JSON, as the service reads it. */
export const rowText = (row) => (typeof row === 'string' ? row : JSON.stringify(row));

/** The rows of a text: the members of a JSON list, otherwise its lines that are not empty. Answers {rows, problem}. */
export function rowsOf(text)
{
	if (/^\s*\[/.test(text)) {
		let list = null;
		try {
			list = JSON.parse(text);
		} catch {
			// Lines that begin with a bracket, as many logs have them.
		}
		if (Array.isArray(list)) {
			const wrong = list.findIndex((one) => typeof one !== 'string' && (typeof one !== 'object' || one === null || Array.isArray(one)));
			return wrong < 0 ? { rows: list, problem: null }
				: { rows: [], problem: `Member ${wrong + 1} of the JSON list is neither a text nor an object.` };
		}
	}
	return { rows: text.split(/\r?\n/).filter((line) => line.trim() !== ''), problem: null };
}

/** A text that rowsOf takes apart into these rows again. */
export function textOf(rows)
{
	const lines = rows.map(rowText);
	const plain = lines.every((one, index) => one === rows[index] && one.trim() !== '' && !/[\r\n]/.test(one)) && !/^\s*\[/.test(lines[0] ?? '');
	return plain ? lines.join('\n') : `[\n${rows.map((one) => JSON.stringify(one)).join(',\n')}\n]`;
}

/** Rows of CSV or of cells copied from a spreadsheet: [[cell, ...], ...]. */
export function cells(text)
{
	const separator = text.includes('\t') ? '\t' : ',';
	const rows = [[]];
	let cell = '';
	let quoted = false;
	for (let at = 0; at < text.length; at++) {
		const letter = text[at];
		if (quoted) {
			if (letter !== '"')
				cell += letter;
			else if (text[at + 1] === '"') {
				cell += '"';
				at++;
			} else
				quoted = false;
		} else if (letter === '"' && cell === '')
			quoted = true;
		else if (letter === separator) {
			rows.at(-1).push(cell);
			cell = '';
		} else if (letter === '\n') {
			rows.at(-1).push(cell);
			rows.push([]);
			cell = '';
		} else if (letter !== '\r')
			cell += letter;
	}
	rows.at(-1).push(cell);
	return rows.map((row) => row.map((one) => one.trim())).filter((row) => row.some((one) => one !== ''));
}

/** Expected items of pasted cells: a first column with ids and a second one with descriptions; a heading is left out. */
export function itemsOf(text)
{
	const found = cells(text).map(([first, ...rest]) => {
		const description = rest.join(', ');
		return description === '' ? { id: '', description: first } : { id: first, description };
	});
	if (/^id$/i.test(found[0]?.id ?? ''))
		found.shift();
	return found;
}
