/*
 * panel-editor.js: a panel beside its query, with what the query finds now.
 */
import { html, useEffect, useRef, useState } from '../view.js';
import { allRows, api, isAbort } from '../api.js';
import { Button, IconButton } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Checkbox, Field, Select, TextArea } from '../ui/field.js';
import { formatNumber } from '../ui/numbers.js';
import { RateLine } from '../ui/rate-line.js';
import { useLoad } from '../ui/use-load.js';
import { useKeys } from '../shell/keys.js';
import { kinds, PanelContent, PanelNotes } from './panel.js';
import { TimeRange } from '../search/time-range.js';
import { withValues } from './query-values.js';

const colours = ['green', 'yellow', 'orange', 'red', 'blue'];
const numberOr = (text) => (text.trim() === '' || Number.isNaN(Number(text)) ? null : Number(text));

function Thresholds({ thresholds, onThresholds })
{
	const change = (at, what) => onThresholds(thresholds.map((one, index) => (index === at ? { ...one, ...what } : one)));
	return html`<fieldset class="stack-s"><legend class="small">Thresholds <span class="muted">from a value on, its colour</span></legend>
		${thresholds.map((one, index) => html`<div class="row threshold" key=${index}>
			<${Field} label=${`Value ${index + 1}`} hideLabel type="number" step="any" value=${String(one.value)} onInput=${(text) => change(index, { value: numberOr(text) ?? 0 })} />
			<${Select} label=${`Colour ${index + 1}`} hideLabel options=${colours.includes(one.color) ? colours : [one.color, ...colours]} value=${one.color} onInput=${(color) => change(index, { color })} />
			<${IconButton} icon="trash" size="small" label=${`Remove threshold ${index + 1}`} onClick=${() => onThresholds(thresholds.filter((_, at) => at !== index))} /></div>`)}
		<div><${Button} size="small" icon="plus" disabled=${thresholds.length >= 20} onClick=${() => onThresholds([...thresholds, { value: (thresholds.at(-1)?.value ?? 0) + 10, color: 'red' }])}>Add threshold<//></div></fieldset>`;
}

/** What the query of a panel finds now, run when it is opened and by `run`. */
function useLive({ panel, savedQuery, values, range })
{
	const [state, setState] = useState({ answer: null, error: null, busy: false, rate: null, query: null });
	const running = useRef(null);
	const q = panel.savedQueryId ? savedQuery : panel.query;
	async function run()
	{
		if (panel.kind === 'markdown' || !q?.trim())
			return;
		running.current?.abort();
		const control = new AbortController();
		running.current = control;
		setState((now) => ({ ...now, busy: true, error: null }));
		const time = panel.timeRange ?? range;
		try {
			const found = await api.post('/api/v1/search', { q: withValues(q, values), earliest: time.earliest, latest: time.latest ?? 'now', limit: panel.kind === 'logs' ? 200 : undefined },
				{ abort: control.signal, reads: true });
			setState({ answer: { ...found.data, truncated: found.meta.truncated || found.page?.hasMore, warnings: found.meta.warnings, tookMs: found.meta.stats?.tookMs }, error: null, busy: false, rate: found.rate, query: panel.savedQueryId ?? panel.query });
		} catch (error) {
			if (!isAbort(error))
				setState((now) => ({ ...now, error, busy: false, rate: error.rate ?? now.rate }));
		}
	}
	useEffect(() => () => running.current?.abort(), []);
	return { ...state, run, q };
}

/** The editor. panel; onPanel gets the changed one; onDone(answer, query) goes back to the grid with what was found. */
export function PanelEditor({ panel, values, range, shown, onPanel, onDone })
{
	const set = (what) => onPanel({ ...panel, ...what });
	const setOption = (name, value) => set({ options: { ...panel.options, [name]: value } });
	const options = panel.options ?? {};
	const saved = useLoad((abort) => allRows('/api/v1/saved-queries', { abort }).then((answer) => answer.rows));
	const savedQuery = saved.data?.find((one) => one.id === panel.savedQueryId)?.q;
	const live = useLive({ panel, savedQuery, values, range });
	const note = panel.kind === 'markdown';
	const first = useRef(true);
	useEffect(() => {
		// The panel as it was found on the dashboard is shown until the query runs again.
		if (first.current && !shown && live.q)
			live.run();
		if (live.q !== undefined)
			first.current = false;
	}, [live.q !== undefined]);
	useKeys([{ keys: 'mod+Enter', text: 'Run the query of the panel', run: () => live.run() }]);
	const answer = live.answer ?? shown;
	const position = live.error?.details?.[0]?.position;
	return html`<div class="panel-editor">
		<section class="card stack panel-live" aria-label="Live result">
			<div class="row-between"><h2 class="truncate">${panel.title || 'Panel'}</h2><div class="row">
				${answer?.tookMs !== undefined && html`<span class="small muted number">${formatNumber(answer.rows?.length ?? 0)} rows in ${formatNumber(answer.tookMs)} ms</span>`}
				<${PanelNotes} answer=${answer} /></div></div>
			<div class="panel-stage"><${PanelContent} panel=${panel} answer=${answer ?? (live.busy ? null : { kind: 'table', columns: [], rows: [] })} /></div>
		</section>
		<form class="card stack" onSubmit=${(event) => { event.preventDefault(); live.run(); }}>
			<${Field} label="Title" name="panel-title" value=${panel.title ?? ''} maxlength="200" onInput=${(title) => set({ title })} />
			<${Select} label="Kind" name="panel-kind" options=${kinds} value=${panel.kind} hint=${`Needs ${kinds.find((one) => one.value === panel.kind)?.hint}.`}
				onInput=${(kind) => onPanel(kind === 'markdown' ? { id: panel.id, title: panel.title, layout: panel.layout, kind, options: { text: options.text ?? '' } }
					: { ...panel, kind, ...(note ? { query: '*', options: {} } : {}) })} />
			${note ? html`<${TextArea} label="Text" name="panel-text" rows="12" class="input mono" value=${options.text ?? ''} hint="Markdown: # headings, lists, **bold**, links" onInput=${(text) => setOption('text', text)} />` : html`
			${saved.data?.length > 0 && html`<${Select} label="Query from" value=${panel.savedQueryId ?? ''} onInput=${(id) => {
				const { savedQueryId, query, ...rest } = panel;
				onPanel(id ? { ...rest, savedQueryId: id } : { ...rest, query: savedQuery ?? query ?? '*' });
			}} options=${[{ value: '', label: 'this panel' }, ...saved.data.map((one) => ({ value: one.id, label: `saved: ${one.name}` }))]} />`}
			${panel.savedQueryId ? html`<pre class="panel-saved mono small" tabindex="0">${savedQuery ?? ''}</pre>` : html`<${TextArea} label="Query" name="panel-query" rows="5" class="input mono" spellcheck=${false} value=${panel.query ?? ''}
				onInput=${(query) => set({ query })} onKeyDown=${(event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); event.stopPropagation(); live.run(); } }}
				error=${live.error && position ? `${live.error.details[0].message}${live.error.details[0].hint ? `: ${live.error.details[0].hint}` : ''} (line ${position.line}, column ${position.column})` : undefined} />`}
			<div class="row"><${Button} type="submit" kind="primary" icon="play" busy=${live.busy} onClick=${(event) => { event.preventDefault(); live.run(); }}>Run<//>
				<${RateLine} rate=${live.rate} what=" searches" /></div>
			<${ErrorNotice} error=${live.error && !position ? live.error : null} retry=${live.run} />
			<div class="row"><${Checkbox} label="A time of its own" checked=${Boolean(panel.timeRange)} onInput=${(on) => {
				const { timeRange, ...rest } = panel;
				onPanel(on ? { ...rest, timeRange: { earliest: range.earliest, latest: range.latest ?? 'now' } } : rest);
			}} />${panel.timeRange && html`<${TimeRange} range=${{ ...panel.timeRange, latest: panel.timeRange.latest ?? 'now' }} onChange=${(timeRange) => set({ timeRange })} />`}</div>
			<div class="field-pair"><${Field} label="Unit" optional value=${options.unit ?? ''} maxlength="32" placeholder="ms" onInput=${(unit) => setOption('unit', unit || null)} />
				<${Field} label="Decimals" optional type="number" min="0" max="10" value=${options.decimals ?? ''} onInput=${(text) => setOption('decimals', numberOr(text))} /></div>
			${panel.kind === 'timeseries' && html`<${Checkbox} label="Stack the series" checked=${options.stack === true} onInput=${(on) => setOption('stack', on || null)} />
				<${Checkbox} label="Show the legend" checked=${options.legend !== false} onInput=${(on) => setOption('legend', on ? null : false)} />`}
			${['stat', 'bar', 'table'].includes(panel.kind) && html`<${Thresholds} thresholds=${options.thresholds ?? []} onThresholds=${(thresholds) => setOption('thresholds', thresholds.length ? thresholds : null)} />`}`}
			<div class="row"><${Button} icon="check" onClick=${() => onDone(live.answer, live.query)}>Done<//></div>
		</form></div>`;
}
