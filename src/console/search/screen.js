/*
 * screen.js: the search screen. The address is its state: q, earliest, latest, view, event, and how the list looks.
 */
import { html, useEffect, useMemo, useRef, useState } from '../view.js';
import { navigate, query, setQuery } from '../router.js';
import { can, orgPath } from '../session.js';
import { useKeys } from '../shell/keys.js';
import { addPaletteSource } from '../shell/palette-sources.js';
import { Button } from '../ui/button.js';
import { copyText } from '../ui/copy-button.js';
import { Drawer } from '../ui/drawer.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { later, openLater } from '../ui/later.js';
import { Menu } from '../ui/menu.js';
import { Popover } from '../ui/popover.js';
import { Skeleton } from '../ui/skeleton.js';
import { toast, toastError } from '../ui/toast.js';
import { ActionButtons, resultActions } from './actions.js';
import { displayOf, displayParams, rememberDisplay, usualColumns } from './display.js';
import { EventsView, useNewest } from './events-view.js';
import { Fields } from './fields.js';
import { SearchHistogram } from './histogram.js';
import { Lazy } from '../ui/lazy.js';
import { Summary, Warnings, totalOf } from './notes.js';
import { QueryBox } from './query-box.js';
import { builtins, headOf, patternQuery, stagesOf, termPattern, timesOf, withoutTimes } from './query-text.js';
import { TimeRange } from './time-range.js';
import { defaultRange, isRelative, withinDay } from './time-text.js';
import { problemOf, useSearch } from './use-search.js';

const lazy = {
	drawer: () => import('./event-drawer.js').then((module) => module.EventDrawer),
	first: () => import('./first-run.js').then((module) => module.FirstRun),
	live: () => import('./live-tail.js').then((module) => module.LiveTail),
	patterns: () => import('./patterns.js').then((module) => module.Patterns),
	saved: () => import('./saved-queries.js').then((module) => module.SavedQueries),
	options: () => import('./view-options.js').then((module) => module.ViewOptions),
	table: () => import('./results-table.js').then((module) => module.ResultsTable),
};
const views = [['events', 'Events'], ['patterns', 'Patterns'], ['live', 'Live']];

addPaletteSource(async (abort) => {
	if (!can('dashboards:read') || !can('logs:read'))
		return [];
	const { listSaved } = await later(() => import('./saved-queries.js'));
	return (await listSaved(abort)).map((one) => ({ label: one.name, group: 'Saved query', icon: 'search', run: () => navigate(orgPath(`/search?${new URLSearchParams({
		q: one.q, ...(one.defaultRange?.earliest && { earliest: one.defaultRange.earliest }), ...(one.defaultRange?.latest && { latest: one.defaultRange.latest }) })}`)) }));
});

/** What the address asks for. */
function useAddress()
{
	const params = query.value;
	const view = views.some(([name]) => name === params.get('view')) ? params.get('view') : 'events';
	return {
		q: params.get('q') ?? '', earliest: params.get('earliest') ?? defaultRange.earliest, latest: params.get('latest') ?? defaultRange.latest,
		view, event: params.get('event'), tab: params.get('tab') ?? 'fields', order: params.get('order') ?? '', display: displayOf(params),
		patterns: { since: params.get('since') ?? '', onlyNew: params.get('new') === '1' },
	};
}

function ViewTabs({ view, onView })
{
	return html`<fieldset class="segments"><legend class="visually-hidden">What to show</legend>${views.map(([name, label]) => html`<label key=${name} class=${view === name ? 'is-chosen' : ''}>
		<input type="radio" name="view" checked=${view === name} onChange=${() => onView(name)} />${label}</label>`)}</fieldset>`;
}

export default function Search()
{
	const { q, earliest, latest, view, event, tab, order, display, patterns } = useAddress();
	const [draft, setDraft] = useState(q);
	const [turn, setTurn] = useState(0);
	const [slow, setSlow] = useState(false);
	const [drawer, setDrawer] = useState(null); // 'saved' or 'fields'
	const [chosen, setChosen] = useState(null); // The event of the drawer, if a row or a neighbour was opened.
	const box = useRef(null);
	const list = useRef(null);
	const { state, run, stop, more, retryMore } = useSearch();
	const { result, running, error } = state;

	useEffect(() => { setDraft(q); }, [q]);
	useEffect(() => {
		if (view !== 'live')
			run({ q, earliest, latest, include: [display.chart && 'histogram', display.fields && 'fields'].filter(Boolean) });
	}, [q, earliest, latest, turn, view === 'live']);
	useEffect(() => {
		if (!running) {
			setSlow(false);
			return undefined;
		}
		const timer = setTimeout(() => setSlow(true), 150);
		return () => clearTimeout(timer);
	}, [running, state.request]);

	const total = totalOf(result) ?? result?.meta.fields?.find((one) => one.builtin && one.name === 'index')?.count ?? 0;
	const usual = useMemo(() => usualColumns(result?.meta.fields, total), [result]);
	const columns = display.columns ?? usual;

	// ---- what changes the address ----
	const go = (changes) => setQuery({ event: null, tab: null, ...changes }, { replace: false });
	const runDraft = (text = draft) => {
		// Patterns and live events are those of a head: other stages have a table of their own.
		const leave = view === 'live' ? stagesOf(text) : view === 'patterns' && patternQuery(text) !== text.trim();
		if (text === q && !leave)
			setTurn((now) => now + 1);
		else
			go({ q: text, order: null, ...(leave && { view: null }) });
	};
	const use = (text) => {
		setDraft(text);
		runDraft(text);
	};
	const setRange = (range) => {
		const text = withoutTimes(draft);
		setDraft(text);
		if (text === q && range.earliest === earliest && range.latest === latest)
			setTurn((now) => now + 1);
		else
			go({ q: text, ...range });
	};
	const change = (changes) => {
		const next = { ...display, ...changes };
		rememberDisplay(next);
		setQuery(displayParams(next));
		// What was not computed has to be.
		if ((changes.chart && !result?.meta.histogram) || (changes.fields && !result?.meta.fields))
			setTurn((now) => now + 1);
	};
	const toggleColumn = (name) => {
		const next = columns.includes(name) ? columns.filter((one) => one !== name) : [...columns.filter((one) => one !== 'event'), name, ...columns.filter((one) => one === 'event')];
		change({ columns: next.length ? next : ['event'] });
	};
	const open = (one) => {
		setChosen(one);
		setQuery({ event: one?.id ?? null, ...(!one && { tab: null }) });
	};

	// ---- filters ----
	async function edit(change)
	{
		try {
			use(change(await later(() => import('./query-edit.js'))));
		} catch (failed) {
			toastError(failed);
		}
	}
	const filter = (name, value, exclude) => edit(({ addFilter }) => addFilter(draft, name, value, { exclude }));
	const term = (text) => edit(({ addTerm }) => addTerm(draft, text));
	const withPattern = (id, exclude) => `${patternQuery(q)} | where template_id ${exclude ? '!=' : '='} "${id}"`.trim();
	const group = (name) => edit(({ groupBy }) => groupBy(draft, name));
	const extract = () => { setChosen(null); use(`${draft.trim()} | json`.trim()); };
	const on = { onThread: (range) => { setChosen(null); go({ view: null, order: null, ...range }); }, onFilter: filter, onTerm: term, onColumn: toggleColumn, onGroup: group, onExtract: extract, columns, query: draft };

	// ---- ranges ----
	const found = result?.meta.range;
	const longer = () => {
		if (!found)
			return;
		const [from, to] = [Date.parse(found.earliest), Date.parse(found.latest)];
		setRange({ earliest: new Date(from - (to - from) / 2).toISOString(), latest: new Date(Math.min(to + (to - from) / 2, Math.max(to, Date.now()))).toISOString() });
	};
	const inQuery = Boolean(timesOf(q).earliest ?? timesOf(q).latest);
	const frozen = found ? { earliest: found.earliest, latest: found.latest } : { earliest, latest };
	function linkTo(extra = {})
	{
		const params = new URLSearchParams();
		for (const [name, value] of Object.entries({ q: q || null, ...frozen, view: view === 'events' ? null : view, ...displayParams(display), ...extra }))
			if (value)
				params.set(name, value);
		return `${window.location.origin}${orgPath('/search')}?${params}`;
	}
	const share = async () => {
		const copied = await copyText(linkTo({ event }));
		toast(copied ? (isRelative(earliest) || isRelative(latest) ? 'Link copied. It shows these times, also tomorrow.' : 'Link copied.') : 'The browser does not allow copying: take the address from its bar.');
	};

	// ---- saved queries ----
	const reads = can('dashboards:read');
	const writes = can('dashboards:write');
	async function save(saved = null)
	{
		const done = await openLater(() => import('./saved-queries.js'), ({ SaveQuery }, close) => html`<${SaveQuery} close=${close} saved=${saved} query=${{ q: draft, earliest, latest }} />`);
		if (done)
			toast(saved ? 'Changed.' : `“${done.name}” saved.`);
		return done;
	}
	const openSaved = (saved) => {
		setDrawer(null);
		setDraft(saved.q);
		go({ q: saved.q, view: null, ...(saved.defaultRange?.earliest && { earliest: saved.defaultRange.earliest, latest: saved.defaultRange.latest ?? 'now' }) });
	};
	const actions = resultActions({ q, range: inQuery ? {} : frozen, timeRange: { earliest, latest }, result });

	useKeys([
		{ keys: '/', text: 'Write a query', group: 'Search', run: () => box.current?.focus() },
		{ keys: 'mod+Enter', text: 'Run', group: 'Search', run: () => runDraft() },
		...(writes ? [{ keys: 'mod+s', text: 'Save the query', group: 'Search', run: () => save() }] : []),
		{ keys: 'j', text: 'Next event', group: 'Search', run: () => step(1) },
		{ keys: 'k', text: 'Previous event', group: 'Search', run: () => step(-1) },
	]);

	// ---- the drawer ----
	const rows = result?.kind === 'events' ? result.rows : [];
	const at = useMemo(() => (event ? rows.findIndex((one) => one.id === event) : -1), [event, rows, rows.length]);
	const shown = chosen && (chosen.id === event || !chosen.id) ? chosen : event ? rows[at] ?? { id: event } : null;
	function step(by)
	{
		// Of now: what was drawn when this was rendered may not have been there yet.
		const drawn = view === 'live' ? null : list.current;
		const next = (at < 0 ? drawn?.active ?? -1 : at) + by;
		if (next < 0 || next >= rows.length || view !== 'events')
			return;
		drawn?.setActive(next);
		if (shown || at >= 0)
			open(rows[next]);
	}

	// Rows keep the marks of the query that has found them.
	const terms = useMemo(() => termPattern(view === 'live' ? headOf(q) : result?.request.q ?? q), [q, view, result]);
	const old = Boolean(error) || (running && slow);
	const format = { columns, wrap: display.wrap, density: display.density, terms, withDay: (!found || !withinDay(found.earliest, Date.parse(found.latest) - 1)) && !window.matchMedia('(max-width: 860px)').matches };
	const problem = problemOf(error, state.request?.q ?? '');
	const empty = Boolean(result && !running && result.kind === 'events' && !result.rows.length && !stagesOf(result.request.q) && !headOf(withoutTimes(result.request.q)));
	const newest = useNewest(empty);
	const known = useMemo(() => (result?.meta.fields ?? []).map((one) => ({ name: one.name, builtin: one.builtin, hint: '' })), [result]);
	const columnNames = useMemo(() => known.map((one) => (!one.builtin && builtins.has(one.name) ? `attributes.${one.name}` : one.name)), [known]);

	if (empty && newest === null && view === 'events')
		return html`<${Lazy} load=${lazy.first} onDone=${() => setTurn((now) => now + 1)} />`;
	const sidebar = html`<${Fields} fields=${result?.meta.fields} all=${result?.meta.allFields ?? true} total=${total} stale=${old} loading=${!result && running && slow} ...${on} />`;
	const tools = html`<${Menu} icon="more" size="small" label="What to do with this search" items=${[
		{ label: 'Copy link', hint: 'with these times', icon: 'link', onSelect: share },
		writes && { label: 'Save query', icon: 'save', onSelect: () => save() },
		...(actions.length ? [{ separator: true }, ...actions] : []),
	]} />`;
	return html`<div class="search"><h1 class="visually-hidden">Search</h1>
		<div class="search-bar">
			<${QueryBox} text=${draft} onInput=${setDraft} onRun=${() => runDraft()} problem=${problem} range=${{ earliest, latest }} fields=${known} control=${box} />
			<div class="search-buttons">
				${view !== 'live' && html`<${TimeRange} range=${{ earliest, latest }} inQuery=${inQuery} onChange=${setRange} />`}
				${running && slow ? html`<${Button} icon="stop" class="run-button" onClick=${stop}>Stop<//>` : html`<${Button} kind="primary" icon="play" class="run-button" onClick=${() => runDraft()}>Run<//>`}
				${reads && html`<${Button} icon="star" onClick=${() => setDrawer('saved')}>Saved<//>`}
			</div>
		</div>
		${error && !problem && html`<div class="search-note"><${ErrorNotice} error=${error} retry=${() => setTurn((now) => now + 1)}>
			${['QUERY_TIMEOUT', 'QUERY_SCAN_LIMIT', 'QUERY_MEMORY_LIMIT'].includes(error.code) && html`<p>Choose a shorter time, or add a filter such as <code>index=</code> or <code>level=</code>.</p>`}<//></div>`}
		<div class="search-note"><${Warnings} result=${view === 'events' ? result : null} onQuery=${use} /></div>
		${view !== 'live' && html`<${SearchHistogram} histogram=${result?.meta.histogram} range=${found} staged=${result && stagesOf(result.request.q)} open=${display.chart} busy=${old}
			onZoom=${setRange} onOut=${longer} onToggle=${() => change({ chart: !display.chart })} />`}
		<div class="search-tools"><${ViewTabs} view=${view} onView=${(name) => { setChosen(null); go({ view: name === 'events' ? null : name, order: null, since: null, new: null }); }} />
			${view === 'events' && html`<span class="grow"><${Summary} result=${result} running=${running} slow=${slow} /></span>`}
			<span class="row">${view !== 'live' && html`<${Button} size="small" kind="ghost" icon="filter" class="fields-toggle" aria-pressed=${display.fields ? 'true' : 'false'} onClick=${() => change({ fields: !display.fields })}>Fields<//>
				<${Button} size="small" kind="ghost" icon="filter" class="fields-open" onClick=${() => { if (!display.fields) change({ fields: true }); setDrawer('fields'); }}>Fields<//>`}
				${(view === 'live' || result?.kind === 'events') && html`<${Popover} icon="columns" label="Columns and rows" title="Columns and rows" size="small">${() => html`<${Lazy} load=${lazy.options} display=${{ ...display, columns, chosen: display.columns !== null }} fields=${columnNames} onChange=${change} />`}<//>`}${view === 'events' && html`<${ActionButtons} actions=${actions} />`}${tools}</span></div>
		<div class=${`search-body ${display.fields && view !== 'live' ? 'has-fields' : ''}`}>
			${display.fields && view !== 'live' && html`<div class="search-fields">${sidebar}</div>`}
			${view === 'events' && !result && running && slow && html`<div class="results-scroll"><${Skeleton} lines="12" label="Searching" /></div>`}
			${view === 'events' && result?.kind === 'events' && html`<${EventsView} result=${result} format=${format} opened=${event} control=${list} busy=${old} newest=${newest}
				onOpen=${open} onMore=${more} onRetry=${retryMore} onRange=${setRange} />`}
			${view === 'events' && result && result.kind !== 'events' && html`<${Lazy} load=${lazy.table} key=${result.kind} result=${result} truncated=${result.truncated} busy=${old} order=${order} onOrder=${(next) => setQuery({ order: next })} />`}
			${view === 'patterns' && html`<${Lazy} load=${lazy.patterns} q=${patternQuery(q)} earliest=${earliest} latest=${latest} turn=${turn} order=${order} ...${patterns} onView=${setQuery} onQuery=${use}
				onDrill=${(id) => go({ q: withPattern(id, false), view: null })} onExclude=${(id) => go({ q: withPattern(id, true) })} />`}
			${view === 'live' && html`<${Lazy} load=${lazy.live} q=${headOf(withoutTimes(q))} stages=${stagesOf(q)} format=${{ ...format, withDay: false }} opened=${event} onOpen=${open} />`}
		</div>
		${shown && html`<${Lazy} load=${lazy.drawer} event=${shown} tab=${tab} onTab=${(next) => setQuery({ tab: next === 'fields' ? null : next })} terms=${terms} link=${shown.id && linkTo({ event: shown.id, view: null })} on=${on} onStep=${at >= 0 && view === 'events' ? step : null} onOpen=${open}
			onClose=${() => { open(null); list.current?.box.focus(); }} />`}
		${drawer === 'saved' && html`<${Lazy} load=${lazy.saved} current=${{ q: draft, earliest, latest }} onOpen=${openSaved} onEdit=${save} onSave=${() => save()} onClose=${() => setDrawer(null)} />`}
		${drawer === 'fields' && html`<${Drawer} title="Fields" onClose=${() => setDrawer(null)}>${sidebar}<//>`}
	</div>`;
}
