/*
 * notes.js: what is to be said of a result: how much, how fast, what is missing from it, and what was probably meant.
 */
import { html } from '../view.js';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { formatBytes, formatNumber } from '../ui/numbers.js';
import { formatDuration } from '../ui/time.js';
import { stagesOf } from './query-text.js';

/** How many events a search has found, or null when that was not counted: the histogram knows nothing of stages. */
export function totalOf(result)
{
	if (result?.kind === 'events' && stagesOf(result.request.q))
		return null;
	const buckets = result?.meta?.histogram?.buckets;
	return buckets ? buckets.reduce((sum, one) => sum + one[1], 0) : null;
}

/** The line above the results. */
export function Summary({ result, running, slow })
{
	if (running && slow)
		return html`<span class="small muted" role="status">Searching</span>`;
	if (!result)
		return html`<span class="small muted" role="status"></span>`;
	const total = totalOf(result);
	const { stats } = result.meta;
	const more = result.cursor ? '+' : '';
	const left = result.rate && result.rate.remaining <= Math.max(2, result.rate.limit * 0.2) ? result.rate : null;
	return html`<span class="small muted summary" role="status"><strong>${total !== null ? formatNumber(total) : `${formatNumber(result.rows.length)}${more}`}</strong> ${total === null && result.kind !== 'events' ? 'rows' : total === 1 ? 'event' : 'events'} <span title=${`${formatNumber(stats.rowsScanned)} events and ${formatBytes(stats.bytesScanned)} read in ${formatNumber(stats.partsScanned)} parts; ${formatNumber(stats.partsPruned)} parts left out`}>in ${formatDuration(stats.tookMs)}</span>
		${left && html`<span class="summary-rate">${left.remaining} of ${left.limit} searches left this minute</span>`}</span>`;
}

/** Warnings of a search; onQuery(text): a suggestion is used. */
export function Warnings({ result, onQuery })
{
	if (!result)
		return null;
	const { meta } = result;
	const said = [
		...(result.truncated && result.kind === 'events' ? [{ code: 'TRUNCATED', message: 'These are not all rows: the stages left some out.' }] : []),
		...(meta.stats?.approximate ? [{ code: 'APPROXIMATE', message: 'Some of these numbers are estimates.' }] : []),
		...(meta.warnings ?? []),
	];
	if (!said.length)
		return null;
	return html`<ul class="warnings" aria-label="Notes about this search">${said.slice(0, 5).map((one, index) => html`<li key=${index} class="notice notice-warn small"><${Icon} name="info" />
		<span class="grow break">${one.message}</span>${one.suggestion && html`<${Button} size="small" onClick=${() => onQuery(one.suggestion)}><span class="truncate">Search <code>${one.suggestion}</code></span><//>`}</li>`)}</ul>`;
}
