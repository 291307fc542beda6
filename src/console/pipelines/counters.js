/*
 * counters.js: what a pipeline or a processor has done since its version began.
 */
import { html } from '../view.js';
import { formatNumber, formatShort } from '../ui/numbers.js';
import { Time } from '../ui/time.js';

/** Counters of a pipeline or processor. small: in a line of its head; since: when counting began. */
export function Counters({ counts, since, small })
{
	const each = counts.in ? counts.microseconds / counts.in : 0;
	const parts = [['in', counts.in], ['out', counts.out], ['dropped', counts.dropped], ['failed', counts.failed]];
	if (small)
		return html`<span class="small muted number counters-small" title=${`in ${formatNumber(counts.in)}, dropped ${formatNumber(counts.dropped)}, failed ${formatNumber(counts.failed)}, ${each.toFixed(1)} µs each`}>
			${formatShort(counts.in)} in${counts.dropped ? `, ${formatShort(counts.dropped)} dropped` : ''}${counts.failed ? html`, <span class="text-danger">${formatShort(counts.failed)} failed</span>` : ''}</span>`;
	return html`<dl class="counters">${parts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd class=${name === 'failed' && value ? 'text-danger' : ''}>${formatNumber(value)}</dd></div>`)}
		<div><dt>each</dt><dd>${each.toFixed(1)} µs</dd></div>${since && html`<div><dt>since</dt><dd><${Time} value=${since} /></dd></div>`}</dl>`;
}
