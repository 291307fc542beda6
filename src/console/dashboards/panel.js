/*
 * panel.js: a panel: its head, and what it found in the form that its kind asks for.
 */
import { html, useEffect, useMemo, useState } from '../view.js';
import { CopyButton } from '../ui/copy-button.js';
import { Icon } from '../ui/icon.js';
import { Skeleton } from '../ui/skeleton.js';
import { formatNumber } from '../ui/numbers.js';
import { asNumber, asParts, asSeries, formatValue, partOf } from './answer.js';
import { Markdown } from './markdown.js';
import { BarList, EventRows, PanelTable, Pie, Stat } from './panel-views.js';

/** The kinds of panels, with what their queries have to find. */
export const kinds = [
	{ value: 'timeseries', label: 'Time series', hint: 'a query that ends with timechart' },
	{ value: 'bar', label: 'Bars', hint: 'names with a number each: stats ... by, top' },
	{ value: 'stat', label: 'Number', hint: 'one number: stats count' },
	{ value: 'table', label: 'Table', hint: 'anything' },
	{ value: 'pie', label: 'Pie', hint: 'names with a number each' },
	{ value: 'logs', label: 'Events', hint: 'a search without a table' },
	{ value: 'patterns', label: 'Patterns', hint: 'a query that ends with patterns' },
	{ value: 'markdown', label: 'Note', hint: 'text, no query' },
];

let chart = null;
const loadChart = () => {
	chart ??= import('./time-series.js').then((module) => module.default);
	return chart;
};

/** A chart over time; its code is loaded with the first one. */
function Lines(props)
{
	const [Chart, setChart] = useState(null);
	const [failed, setFailed] = useState(false);
	useEffect(() => {
		let here = true;
		loadChart().then((found) => here && setChart(() => found), () => {
			chart = null;
			setFailed(true);
		});
		return () => { here = false; };
	}, []);
	if (failed)
		return html`<p class="muted small">The chart could not be loaded. Load the page again.</p>`;
	return Chart ? html`<${Chart} ...${props} />` : null;
}

function Unfit({ kind })
{
	return html`<div class="panel-none muted small"><${Icon} name="info" /><p>This kind of panel needs ${kinds.find((one) => one.value === kind)?.hint}.</p></div>`;
}

/** What a panel shows. answer: what it found; asTable: as a table, whatever its kind. */
export function PanelContent({ panel, answer, annotations, onZoom, group, table })
{
	const options = panel.options ?? {};
	const title = panel.title || 'Panel';
	const series = useMemo(() => {
		const found = answer && !answer.error ? asSeries(answer) : null;
		return found && { ...found, part: partOf(answer, found.times) };
	}, [answer]);
	const marks = useMemo(() => (annotations ?? []).map((one) => ({ at: Date.parse(one.startedAt), text: one.ruleName })), [annotations]);
	if (panel.kind === 'markdown')
		return html`<${Markdown} text=${options.text ?? ''} />`;
	if (!answer)
		return html`<${Skeleton} lines="3" label=${`Loading ${title}`} />`;
	if (answer.error)
		return html`<div class="panel-error small" role="alert"><${Icon} name="alert" /><div class="stack-s"><p class="break"><strong>${answer.error.message ?? 'This panel could not be loaded'}</strong></p>
			<p class="row"><code>${answer.error.code}</code><${CopyButton} compact text=${`${answer.error.code} ${answer.error.message ?? ''}`} label="Copy the error" /></p></div></div>`;
	if (table)
		return html`<${PanelTable} answer=${answer} options=${options} label=${title} />`;
	if (!answer.rows.length && panel.kind !== 'stat')
		return html`<div class="panel-none muted small"><p>Nothing found in this time.</p></div>`;
	switch (panel.kind) {
	case 'timeseries':
		if (!series)
			return html`<${Unfit} kind=${panel.kind} />`;
		return html`<${Lines} data=${series} options=${options} marks=${marks} onZoom=${onZoom} group=${group}
			label=${`${title}: ${series.series.length} series over time${series.part.last ? ', the last time is not complete' : ''}. ${series.series.slice(0, 5).map((one) => `${one.name}: latest ${formatValue(one.values.findLast((each) => each !== null), options)}`).join('; ')}`} />`;
	case 'stat': {
		const number = asNumber(answer);
		return number ? html`<${Stat} number=${number} options=${options} label=${title} part=${Boolean(series?.part.last && number.values?.at(-1) !== null)} />` : html`<${Unfit} kind="stat" />`;
	}
	case 'bar':
	case 'pie': {
		const parts = asParts(answer);
		if (!parts)
			return html`<${Unfit} kind=${panel.kind} />`;
		return panel.kind === 'bar' ? html`<${BarList} parts=${parts} options=${options} />` : html`<${Pie} parts=${parts} options=${options} label=${`${title}: parts of a whole`} />`;
	}
	case 'logs':
		return answer.kind === 'events' ? html`<${EventRows} rows=${answer.rows} label=${title} />` : html`<${PanelTable} answer=${answer} options=${options} label=${title} />`;
	default:
		return html`<${PanelTable} answer=${answer} options=${options} label=${title} />`;
	}
}

/** What to know of an answer beside its rows: cut off, warnings. */
export function PanelNotes({ answer })
{
	const notes = [answer?.truncated && `Only the first ${formatNumber(answer.rows?.length ?? 0)} rows are shown.`, ...(answer?.warnings ?? []).map((one) => one.message)].filter(Boolean);
	if (!notes.length)
		return null;
	return html`<span class="panel-warning" role="img" tabindex="0" title=${notes.join('\n')} aria-label=${`Warning: ${notes.join(' ')}`}><${Icon} name="alert" /></span>`;
}
