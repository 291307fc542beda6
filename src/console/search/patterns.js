/*
 * patterns.js: what texts have in common: templates with counts, over time, compared with an earlier time.
 */
import { html, useMemo, useState } from '../view.js';
import { api } from '../api.js';
import { Badge } from '../ui/badge.js';
import { Button, IconButton } from '../ui/button.js';
import { Sparkline } from '../ui/charts.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { formatNumber, formatPercent } from '../ui/numbers.js';
import { Skeleton } from '../ui/skeleton.js';
import { RelativeTime } from '../ui/time.js';
import { useLoad } from '../ui/use-load.js';
import { lineOf, visible } from './event-fields.js';
import { Warnings } from './notes.js';
import { comparisons, earlierRange, patternRows, seriesById } from './pattern-rows.js';

const most = 200; // Templates of a list.
const read = (abort, q, { earliest, latest }) => api.get('/api/v1/templates', { query: { q, earliest, latest, limit: most }, abort });

/** 12%, or <0.1% for what would be 0.0%. */
const shareText = (share) => (share > 0 && share < 0.0005 ? '<0.1%' : formatPercent(share));

/** +25%, or how many times as many: x 12. */
export function changeText(change)
{
	if (change >= 2)
		return `× ${formatNumber(Math.round((change + 1) * 10) / 10)}`;
	return `${change > 0 ? '+' : change < 0 ? '−' : '±'}${formatPercent(Math.abs(change))}`;
}

function Change({ one, words })
{
	if (one.change === null)
		return html`<${Badge} kind="accent">new<//>`;
	return html`<span class="number small muted" title=${`${formatNumber(one.old)} ${words}`}>${changeText(one.change)}</span>`;
}

function Template({ one, largest, series, compared, words, onDrill, onExclude })
{
	const [open, setOpen] = useState(false);
	const text = visible(lineOf(one.template));
	return html`<li class="pattern"><div class=${`pattern-line ${compared ? 'is-compared' : ''}`}>
		<span class="number pattern-count">${formatNumber(one.count)}</span>
		<span class="pattern-share"><span class="number faint">${shareText(one.share)}</span>
			<span class="share-bar" aria-hidden="true"><span style=${{ width: `${Math.max(1, (one.count / largest) * 100)}%` }}></span></span></span>
		<span class="pattern-spark">${series && html`<${Sparkline} values=${series} width=${96} height=${22} label=${`Over time: at most ${formatNumber(Math.max(...series))} in one of ${series.length} parts of the range`} />`}</span>
		${compared && html`<span class="pattern-change"><${Change} one=${one} words=${words} /></span>`}
		<button type="button" class="pattern-text" aria-expanded=${open ? 'true' : 'false'} onClick=${() => setOpen(!open)}><bdi>${text}</bdi></button>
		<span class="pattern-actions"><${IconButton} icon="plus" size="small" label=${`Only events of this pattern: ${text.slice(0, 80)}`} onClick=${() => onDrill(one.id)} />
			<${IconButton} icon="minus" size="small" label=${`Exclude this pattern: ${text.slice(0, 80)}`} onClick=${() => onExclude(one.id)} /></span></div>
		${open && html`<div class="pattern-more stack-s"><p class="small muted">First <${RelativeTime} value=${one.firstSeen} />, last <${RelativeTime} value=${one.lastSeen} /> in this time${compared && one.change !== null ? `; ${formatNumber(one.old)} ${words}` : ''}.</p>
			<ul class="stack-s">${one.samples.map((sample, index) => html`<li key=${index}><pre class="pattern-sample" tabindex="0" dir="auto">${visible(lineOf(sample))}</pre></li>`)}</ul>
			<div><${Button} size="small" icon="list" onClick=${() => onDrill(one.id)}>Show its events<//></div></div>`}</li>`;
}

function Gone({ rows, words, full })
{
	const [open, setOpen] = useState(false);
	if (!rows.length)
		return null;
	return html`<section class="patterns-gone stack-s"><button type="button" class="link-button" aria-expanded=${open ? 'true' : 'false'} onClick=${() => setOpen(!open)}>${formatNumber(rows.length)} ${rows.length === 1 ? 'pattern' : 'patterns'} of ${words} ${full ? 'not among these' : 'not seen now'}</button>
		${open && html`<ul>${rows.map((one) => html`<li key=${one.id} class="pattern-gone"><span class="number pattern-count faint">${formatNumber(one.count)}</span><bdi class="mono break muted">${visible(lineOf(one.template))}</bdi></li>`)}</ul>`}</section>`;
}

function Choice({ label, value, options, onChange })
{
	return html`<label class="small muted pattern-choice"><span>${label}</span><select class="input select-small" value=${value} onChange=${(event) => onChange(event.currentTarget.value)}>
		${options.map(([name, text]) => html`<option key=${name} value=${name}>${text}</option>`)}</select></label>`;
}

/**
 * The view. q: a query without stages but conditions; since: '' or what it is compared with; order; onlyNew; onView
 * ({since, order, new}): another choice; onDrill(id): the events of a pattern; onExclude(id); onQuery(text): a suggestion.
 */
export function Patterns({ q, earliest, latest, since: wanted, order: ordered, onlyNew, turn, onView, onDrill, onExclude, onQuery })
{
	// Both are from the address, where anything can be written.
	const since = comparisons.some(([name]) => name === wanted) ? wanted : '';
	const order = ['rare', ...(since ? ['change'] : [])].includes(ordered) ? ordered : 'count';
	const list = useLoad((abort) => read(abort, q, { earliest, latest }), [q, earliest, latest, turn]);
	const range = list.data?.meta?.range;
	const series = useLoad(async (abort) => {
		// Without events there is nothing to draw, and one of the few searches of a minute is saved.
		if (!list.data?.data.length)
			return null;
		const answer = await api.post('/api/v1/search', { q: `${q} | patterns max=${most} mode=label | timechart limit=${most} count by template_id`.trim(), ...range, limit: 10_000 }, { abort, reads: true });
		return answer.data.rows.length < 10_000 ? seriesById(answer.data) : null;
	}, [list.data]);
	const earlier = range ? earlierRange(range, since) : null;
	const before = useLoad(async (abort) => (earlier ? { of: earlier.latest, ...await read(abort, q, earlier) } : null), [q, earlier?.earliest, earlier?.latest]);
	const compared = earlier && before.data?.of === earlier.latest ? before.data.data : null;
	const words = comparisons.find(([name]) => name === since)?.[1];
	const now = list.data?.data ?? [];
	const { rows, gone } = useMemo(() => patternRows({ now, before: compared, order, onlyNew }), [list.data, compared, order, onlyNew]);
	const largest = useMemo(() => Math.max(1, ...now.map((one) => one.count)), [list.data]);
	const full = now.length >= most;
	const fresh = compared ? now.length - patternRows({ now, before: compared }).rows.filter((one) => one.change !== null).length : 0;
	const known = compared && before.data.data.length >= most;
	return html`<section class="results" aria-label="Patterns" aria-busy=${list.loading ? 'true' : undefined}>
		<div class="results-bar"><span class="small muted grow" role="status">${list.data && html`<strong>${formatNumber(now.length)}</strong> ${full ? 'most frequent patterns' : now.length === 1 ? 'pattern' : 'patterns'}${compared ? `, ${formatNumber(fresh)} new since ${words}` : ''}`}</span>
			${series.error && !list.error && html`<span class="small muted">Not over time: ${series.error.code === 'RATE_LIMIT_EXCEEDED' ? 'too many searches this minute' : series.error.message} <button type="button" class="link-button" onClick=${series.reload}>Try again</button></span>`}
			<${Choice} label="Order" value=${order} options=${[['count', 'Most frequent'], ['rare', 'Least frequent'], ...(since ? [['change', 'Most changed']] : [])]} onChange=${(next) => onView({ order: next === 'count' ? null : next })} />
			<${Choice} label="New since" value=${since} options=${[['', 'Do not compare'], ...comparisons]} onChange=${(next) => onView({ since: next || null, ...(!next && { new: null, ...(order === 'change' && { order: null }) }) })} />
			${since && html`<label class="check small"><input type="checkbox" checked=${onlyNew} onChange=${(event) => onView({ new: event.currentTarget.checked ? '1' : null })} /><span>Only new ones</span></label>`}</div>
		<div class="results-scroll" tabindex="0" role="group" aria-label="List of patterns">
			<${ErrorNotice} error=${list.error ?? (since ? before.error : null)} retry=${list.error ? list.reload : before.reload} />
			<${Warnings} result=${list.data ? { kind: 'table', meta: list.data.meta } : null} onQuery=${onQuery} />
			${known && html`<p class="small muted pattern-note">Of ${words} only the ${most} most frequent patterns are known: rare ones may look new.</p>`}
			${list.slow && html`<${Skeleton} lines="8" />`}
			${list.data && !rows.length && (now.length ? html`<${EmptyState} icon="check" title="No new patterns"><p>Everything of this time was there ${words === 'the period before' ? 'in the period before' : words}, too.</p><//>`
				: html`<${EmptyState} icon="list" title="No events, no patterns"><p>Choose a longer time, or take conditions out of the query.</p><//>`)}
			<ol class=${`patterns ${list.loading ? 'is-busy' : ''}`}>${rows.map((one) => html`<${Template} key=${one.id} one=${one} largest=${largest} series=${series.data?.get(one.id)} compared=${Boolean(compared)} words=${words} onDrill=${onDrill} onExclude=${onExclude} />`)}</ol>
			${compared && !onlyNew && html`<${Gone} rows=${gone} words=${words} full=${full} />`}
		</div></section>`;
}
