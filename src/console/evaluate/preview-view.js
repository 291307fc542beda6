/*
 * preview-view.js: what a model would be sent, beside the rows as they are, and what that would cost.
 */
import { html } from '../view.js';
import { Badge } from '../ui/badge.js';
import { Icon } from '../ui/icon.js';
import { formatBytes, formatNumber, formatPercent } from '../ui/numbers.js';
import { models } from './options.js';
import { RowList } from './row-list.js';
import { rowText } from './rows.js';

const sizeOf = (lines) => lines.reduce((sum, one) => sum + one.length + 1, 0);
const credits = (value) => (value >= 100 ? formatNumber(Math.round(value)) : value.toFixed(4));

// [12x] took <NUM> ms  e.g. took 7 ms | took 12 ms
function Line({ line })
{
	const [, count, rest] = /^\[(\d+)x\] ([^]*)$/.exec(line) ?? [null, null, line];
	const at = rest.indexOf('  e.g. ');
	const template = count && at >= 0 ? rest.slice(0, at) : rest;
	return html`<li class="packed-line"><span class="packed-count number">${count ? `${formatNumber(Number(count))}x` : ''}</span><span class="break"
		>${(count ? template.split(/(<(?:IP|NUM|\*)>)/) : [template]).map((part, index) => (index % 2 ? html`<span class="packed-hole">${part}</span>` : part))}
		${template !== rest && html`<span class="packed-sample">${rest.slice(at + 2)}</span>`}</span></li>`;
}

function Estimate({ estimate })
{
	const factor = models.find((one) => one.value === estimate.model)?.price ?? 1;
	const most = Math.max(estimate.uncompressed, estimate.compressed, 1e-9) / factor * models.at(-1).price;
	return html`<table class="table estimate"><caption class="visually-hidden">Estimated credits for the rows, by model</caption>
		<thead><tr><th scope="col">Model</th><th scope="col" class="number">Raw</th><th scope="col" class="number">Compressed</th><th scope="col"><span class="visually-hidden">Compared</span></th></tr></thead>
		<tbody>${models.map((one) => {
			const raw = estimate.uncompressed / factor * one.price;
			const packed = estimate.compressed / factor * one.price;
			return html`<tr key=${one.value} class=${one.value === estimate.model ? 'is-chosen' : ''}><th scope="row">${one.name} <span class="muted">${one.price}x</span></th>
				<td class="number">${credits(raw)}</td><td class="number">${credits(packed)}</td>
				<td class="estimate-bars" aria-hidden="true"><span class="estimate-raw" style=${{ width: `${(raw / most) * 100}%` }}></span>
					<span class="estimate-packed" style=${{ width: `${(packed / most) * 100}%` }}></span></td></tr>`;
		})}</tbody></table>`;
}

/** A preview. data: the answer; rows: those that were sent. */
export function PreviewView({ data, rows, compressed })
{
	const raw = sizeOf(rows.map(rowText));
	const packed = sizeOf(data.lines);
	return html`<div class="stack">
		<div class="row"><${Badge} kind="ok" dot>No credits spent<//><${Badge}>${formatNumber(data.inputRowCount)} rows<//>
			<${Badge}>${formatNumber(data.uniqueTemplates)} patterns<//><${Badge}>${formatNumber(data.rareLineCount)} rare rows<//>
			${data.droppedTemplates > 0 && html`<${Badge} kind="warn">${formatNumber(data.droppedTemplates)} patterns left out<//>`}</div>
		${data.truncated && html`<div class="notice notice-warn"><${Icon} name="alert" /><p><strong>Something was cut off.</strong> The model has room for about 50,000 tokens and
			2,000 characters of a row. Take fewer rows, fewer samples, or a lower similarity.</p></div>`}
		${data.droppedTemplates > 0 && html`<div class="notice"><${Icon} name="info" /><p>The rarest patterns do not fit the limit of patterns and would not be judged.
			Raise Patterns under Compression to keep them.</p></div>`}
		<div class="stack-s"><h3>Credits for the rows</h3>
			<div class="table-scroll" tabindex="0" role="group" aria-label="Credits by model"><${Estimate} estimate=${data.creditEstimate} /></div>
			<p class="small muted">Criteria, items and the verdict come on top. 1 credit is 0.01 USD of model cost; the built-in evaluator costs none.</p></div>
		<div class="side-by-side">
			<section class="stack-s" aria-labelledby="side-raw"><h3 id="side-raw">Raw <span class="muted small">${formatNumber(rows.length)} rows, ${formatBytes(raw)}</span></h3>
				<${RowList} rows=${rows} label="Raw rows" /></section>
			<section class="stack-s" aria-labelledby="side-packed"><h3 id="side-packed">${compressed ? 'Compressed' : 'As sent'} <span class="muted small">${formatNumber(data.lines.length)} lines,
				${' '}${formatBytes(packed)}${raw > packed ? `, ${formatPercent(1 - packed / raw)} less` : ''}</span></h3>
				<ol class="row-box packed" tabindex="0" aria-label="Lines that a model would be sent">${data.lines.map((line, index) => html`<${Line} key=${index} line=${line} />`)}</ol></section>
		</div>
	</div>`;
}
