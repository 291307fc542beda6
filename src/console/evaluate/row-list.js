/*
 * row-list.js: rows with their numbers. With cited rows only those and their neighbours are shown, as in a diff.
 */
import { html, useEffect, useRef, useState } from '../view.js';
import { Button } from '../ui/button.js';
import { formatNumber } from '../ui/numbers.js';
import { limits, rowText } from './rows.js';

const page = 200;

// What is quoted stands word for word in the row, or with escapes in the place of control characters.
function Marked({ text, quotes })
{
	const found = quotes.map((quote) => [text.indexOf(quote), quote.length]).filter(([at, size]) => at >= 0 && size > 0).sort((a, b) => a[0] - b[0]);
	if (!found.length)
		return quotes.length ? html`<mark>${text}</mark>` : text;
	const parts = [];
	let end = 0;
	for (const [at, size] of found) {
		if (at < end)
			continue;
		parts.push(text.slice(end, at), html`<mark key=${at}>${text.slice(at, at + size)}</mark>`);
		end = at + size;
	}
	return [...parts, text.slice(end)];
}

/** The places (from 0) to show around cited rows, with null for each gap. */
export function places(count, cited, around = 2)
{
	const shown = new Set();
	for (const at of cited)
		for (let i = Math.max(0, at - around); i <= Math.min(count - 1, at + around); i++)
			shown.add(i);
	const list = [];
	let before = -1;
	for (const at of [...shown].sort((a, b) => a - b)) {
		if (at !== before + 1)
			list.push({ from: before + 1, to: at });
		list.push(at);
		before = at;
	}
	if (before < count - 1)
		list.push({ from: before + 1, to: count });
	return list;
}

/** The list. cited: a Map of places (from 0) to quotes; strong: the place to scroll to. */
export function RowList({ rows, cited = new Map(), strong = null, label })
{
	const [most, setMost] = useState(page);
	const box = useRef(null);
	useEffect(() => {
		const row = strong === null ? null : box.current?.querySelector(`[data-row="${strong}"]`);
		if (row)
			box.current.scrollTop = row.offsetTop - box.current.clientHeight / 3;
	}, [strong, cited]);
	const all = cited.size ? places(rows.length, cited.keys()) : Array.from({ length: Math.min(most, rows.length) }, (_, at) => at);
	return html`<div class="stack-s"><ol class="row-box" ref=${box} tabindex="0" aria-label=${label}>
		${all.map((at) => {
			if (typeof at !== 'number')
				return html`<li key=${`gap${at.from}`} class="row-gap small faint">${formatNumber(at.to - at.from)} ${at.to - at.from === 1 ? 'row' : 'rows'} not cited</li>`;
			const quotes = cited.get(at);
			const text = rowText(rows[at]);
			const shown = text.slice(0, limits.rowCharacters);
			return html`<li key=${at} data-row=${at} class=${`row-line ${quotes ? 'is-cited' : ''} ${at === strong ? 'is-strong' : ''}`}>
				<span class="row-number number">${at + 1}</span><bdi class="break">${quotes ? html`<${Marked} text=${shown} quotes=${quotes} />` : shown}${text.length > shown.length
					&& html`<span class="faint"> … ${formatNumber(text.length - shown.length)} more characters, which are not judged</span>`}</bdi></li>`;
		})}</ol>
		${!cited.size && rows.length > most && html`<div><${Button} size="small" onClick=${() => setMost(most + page * 5)}>Show more of ${formatNumber(rows.length)} rows<//></div>`}</div>`;
}
