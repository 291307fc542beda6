/*
 * markdown.js: the part of Markdown that notes need: headings, paragraphs, lists, code, emphasis, links to web sites.
 * What it does not know stays text.
 */
import { html } from '../view.js';

const inline = /(`[^`]+`)|(\*\*[^*]+\*\*)|(\*[^*\s][^*]*\*)|(\[[^\]]+\]\(https?:\/\/[^\s)]+\))/;

function words(text)
{
	return text.split(inline).filter((one) => one !== undefined && one !== '').map((part, index) => {
		if (/^`[^`]+`$/.test(part))
			return html`<code key=${index}>${part.slice(1, -1)}</code>`;
		if (/^\*\*[^*]+\*\*$/.test(part))
			return html`<strong key=${index}>${part.slice(2, -2)}</strong>`;
		if (/^\*[^*\s][^*]*\*$/.test(part))
			return html`<em key=${index}>${part.slice(1, -1)}</em>`;
		const link = /^\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)$/.exec(part);
		return link ? html`<a key=${index} href=${link[2]} target="_blank" rel="noopener noreferrer">${link[1]}</a>` : part;
	});
}

function block(lines, index)
{
	const [first] = lines;
	const heading = /^(#{1,4}) +(.*)$/.exec(first);
	if (heading)
		return html`<p key=${index} class=${`note-heading note-heading-${heading[1].length}`} role="heading" aria-level=${Math.max(3, heading[1].length + 2)}>${words(heading[2])}</p>`;
	if (/^```/.test(first))
		return html`<pre key=${index} tabindex="0"><code>${lines.slice(1).join('\n')}</code></pre>`;
	if (/^[-*] /.test(first))
		return html`<ul key=${index}>${lines.map((line, at) => html`<li key=${at}>${words(line.replace(/^[-*] +/, ''))}</li>`)}</ul>`;
	if (/^\d+\. /.test(first))
		return html`<ol key=${index}>${lines.map((line, at) => html`<li key=${at}>${words(line.replace(/^\d+\. +/, ''))}</li>`)}</ol>`;
	return html`<p key=${index}>${words(lines.join(' '))}</p>`;
}

/** A text in Markdown. */
export function Markdown({ text })
{
	const blocks = [];
	let code = false;
	let open = null;
	for (const line of text.split(/\r?\n/)) {
		if (/^```/.test(line)) {
			code = !code;
			if (code)
				blocks.push(open = [line]);
			else
				open = null;
			continue;
		}
		const kind = code ? 'code' : line.trim() === '' ? null : /^#{1,4} /.test(line) ? 'heading' : /^[-*] /.test(line) ? 'list' : /^\d+\. /.test(line) ? 'numbers' : 'text';
		if (kind === null)
			open = null;
		else if (open && (code || (open.kind === kind && kind !== 'heading')))
			open.push(line);
		else {
			open = [line];
			open.kind = kind;
			blocks.push(open);
		}
	}
	return html`<div class="panel-scroll note" tabindex="0" role="group" aria-label="Note">${blocks.map(block)}</div>`;
}
