/*
 * dashboard.js: a dashboard: seen, or edited (?edit=1, and ?panel= for one panel). What is changed is on this page only
 * until it is saved.
 */
import { html, useEffect, useState } from '../view.js';
import { api } from '../api.js';
import { navigate, query, setQuery } from '../router.js';
import { can, orgPath, session } from '../session.js';
import { Button, IconButton } from '../ui/button.js';
import { confirm } from '../ui/confirm.js';
import { openDialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Menu } from '../ui/menu.js';
import { saveChanges } from '../ui/save-conflict.js';
import { Skeleton } from '../ui/skeleton.js';
import { RelativeTime } from '../ui/time.js';
import { toast, toastError } from '../ui/toast.js';
import { useDraft } from '../ui/use-draft.js';
import { useLoad } from '../ui/use-load.js';
import { TimeRange } from '../search/time-range.js';
import { useKeys } from '../shell/keys.js';
import { deleteDashboard, exportDashboard } from './actions.js';
import { changes } from './changes.js';
import { pathOf, ShareDialog } from './dialogs.js';
import { Grid } from './grid.js';
import { freePlace, freeId, settle } from './layout.js';
import { PanelContent, PanelNotes } from './panel.js';
import { PanelEditor } from './panel-editor.js';
import { PanelMenu } from './panel-menu.js';
import { SettingsDialog } from './settings-dialog.js';
import { useData } from './use-data.js';
import { changedValues, chooseValues, valuesOf, VariablesBar } from './variables.js';

const members = ['name', 'description', 'tags', 'timeRange', 'refreshSeconds', 'variables', 'panels'];
const pick = (dashboard) => Object.fromEntries(members.map((name) => [name, dashboard[name] ?? null]));
const placed = (dashboard) => ({ ...dashboard, panels: settle((dashboard.panels ?? []).map((one, index) => ({ ...one, layout: one.layout ?? { x: 0, y: index * 8, w: 24, h: 8 } }))) });

const discard = () => confirm({ title: 'Discard your changes?', text: 'They are on this page only, and have not been saved.', action: 'Discard', danger: true, run: () => true });

function Loaded({ found, set })
{
	const params = query.value;
	const write = can('dashboards:write');
	const editing = write && params.get('edit') === '1';
	const tv = params.get('tv') === '1';
	const draft = useDraft(pick(found));
	const [saving, setSaving] = useState(false);
	const [error, setError] = useState(null);
	const [tables, setTables] = useState([]);
	const [ownAnswers, setOwnAnswers] = useState({});
	const shown = editing ? { ...found, ...draft.value } : found;
	const dirty = editing && draft.dirty;
	const range = params.get('earliest') ? { earliest: params.get('earliest'), latest: params.get('latest') ?? 'now' } : shown.timeRange ?? { earliest: '-24h', latest: 'now' };
	const values = valuesOf(shown.variables, params);
	const chosen = changedValues(found.variables, valuesOf(found.variables, params));
	const where = `/api/v1/dashboards/${encodeURIComponent(found.id)}`;

	useEffect(() => {
		if (!editing) {
			draft.settle(pick(found));
			setOwnAnswers({});
		}
	}, [editing]);
	useEffect(() => {
		document.title = `${found.name} · logsvc`;
	}, [found.name]);

	const data = useData({ key: JSON.stringify([found.version, range, chosen]), refresh: editing ? null : found.refreshSeconds,
		read: (abort) => api.post(`${where}/data`, { range, ...(Object.keys(chosen).length ? { variables: chosen } : {}),
			...((found.variables ?? []).some((one) => one.kind === 'query') ? { include: ['variables'] } : {}) }, { abort, reads: true }) });
	// In the draft a panel shows what was found for it when it was last run here; a query that has changed shows that it has not been.
	const answerOf = (panel) => {
		const own = ownAnswers[panel.id];
		if (own && own.query === (panel.savedQueryId ?? panel.query))
			return own.answer;
		const saved = found.panels.find((one) => one.id === panel.id);
		return saved && saved.query === panel.query && saved.savedQueryId === panel.savedQueryId ? data.data?.panels?.[panel.id]
			: { kind: 'table', columns: [], rows: [] };
	};

	const leaveEditing = () => setQuery({ edit: null, panel: null });
	async function take(next)
	{
		set(next);
		draft.settle(pick(next));
		await leaveEditing();
	}
	async function save()
	{
		if (saving)
			return;
		setSaving(true);
		setError(null);
		try {
			const done = await saveChanges({ path: where, what: 'dashboard', base: draft.base, value: draft.value, version: found.version, pick: (one) => pick(placed(one)), changes, copy: true });
			if (done?.copy) {
				const mine = Object.fromEntries(Object.entries(draft.value).filter(([, one]) => one !== null));
				const copy = (await api.post('/api/v1/dashboards', { ...mine, name: `${mine.name} (copy)`.slice(0, 200) })).data;
				draft.settle(draft.base);
				await leaveEditing();
				await navigate(pathOf(copy));
			} else if (done) {
				await take(placed(done.saved ?? done.theirs));
				if (done.saved)
					toast('Saved');
			}
		} catch (caught) {
			setError(caught);
		}
		setSaving(false);
	}
	async function cancel()
	{
		if (dirty && !await discard())
			return;
		draft.settle(draft.base);
		leaveEditing();
	}
	const setPanels = (panels) => draft.set({ panels });
	const setPanel = (panel) => draft.set((now) => ({ panels: now.panels.map((one) => (one.id === panel.id ? panel : one)) }));
	function add()
	{
		const id = freeId(shown.panels);
		setPanels([...shown.panels, { id, title: '', kind: 'timeseries', query: '* | timechart count', options: {}, layout: freePlace(shown.panels, 'timeseries') }]);
		setQuery({ panel: id }, { replace: false });
	}
	function duplicate(panel)
	{
		setPanels(settle([...shown.panels, { ...panel, id: freeId(shown.panels), layout: { ...panel.layout, y: panel.layout.y + panel.layout.h } }]));
	}
	function remove(panel)
	{
		const before = shown.panels;
		setPanels(settle(before.filter((one) => one.id !== panel.id)));
		toast(`${panel.title || 'Panel'} removed`, { undo: () => draft.set((now) => ({ panels: settle([...now.panels, panel], panel.id) })) });
	}
	async function settings()
	{
		const next = await openDialog((close) => html`<${SettingsDialog} dashboard=${shown} close=${close} />`);
		if (next)
			draft.set(next);
	}
	async function share()
	{
		const done = await openDialog((close) => html`<${ShareDialog} dashboard=${found} mine=${found.createdBy === session.value?.user.id} close=${close} />`);
		if (done)
			set({ ...found, version: done.version ?? found.version, shared: { kind: done.kind } });
	}
	async function removeAll()
	{
		if (await deleteDashboard(found)) {
			toast(`${found.name} was deleted`);
			navigate(orgPath('/dashboards'));
		}
	}
	async function toTv()
	{
		await setQuery({ tv: '1' });
		document.documentElement.requestFullscreen?.().catch(() => {});
	}
	function fromTv()
	{
		if (document.fullscreenElement)
			document.exitFullscreen().catch(() => {});
		setQuery({ tv: null });
	}
	useEffect(() => {
		const frame = document.querySelectorAll('.nav, .topbar, .skip');
		for (const one of frame)
			one.inert = tv;
		return () => { for (const one of frame) one.inert = false; };
	}, [tv]);
	useKeys([
		...(editing ? [{ keys: 'mod+s', text: 'Save the dashboard', run: () => dirty && save() }] : []),
		...(write && !editing ? [{ keys: 'e', text: 'Edit the dashboard', run: () => setQuery({ edit: '1' }) }] : []),
		{ keys: 'r', text: 'Load the panels again', run: data.reload },
		...(editing ? [] : [{ keys: 't', text: 'TV mode', run: () => (tv ? fromTv() : toTv()) }]),
		...(tv ? [{ keys: 'Escape', run: fromTv }] : []),
	]);

	const panel = editing ? shown.panels.find((one) => one.id === params.get('panel')) : null;
	const setRange = (next) => setQuery(next.earliest === found.timeRange?.earliest && (next.latest ?? 'now') === (found.timeRange?.latest ?? 'now') ? { earliest: null, latest: null } : next);
	const zoom = (from, to) => setQuery({ earliest: new Date(from).toISOString(), latest: new Date(to).toISOString() }, { replace: false });
	const render = (one) => ({
		head: html`<${PanelNotes} answer=${answerOf(one)} /><${PanelMenu} panel=${one} editing=${editing} write=${write} range=${one.timeRange ?? range} values=${values} table=${tables.includes(one.id)}
			onTable=${() => setTables((now) => (now.includes(one.id) ? now.filter((id) => id !== one.id) : [...now, one.id]))}
			onEdit=${() => setQuery({ edit: '1', panel: one.id }, { replace: false })} onDuplicate=${() => duplicate(one)} onRemove=${() => remove(one)} />`,
		content: html`<${PanelContent} panel=${one} answer=${answerOf(one)} annotations=${data.data?.annotations} onZoom=${zoom} group=${found.id} table=${tables.includes(one.id)} />`,
	});
	const tools = tv ? html`<div class="row"><span class="small muted">${data.at && html`<${RelativeTime} value=${data.at} />`}</span><${IconButton} icon="close" label="Leave TV mode" onClick=${fromTv} /></div>`
		: editing ? html`<div class="row">${!panel && html`<${Button} icon="plus" disabled=${shown.panels.length >= 50} onClick=${add}>Add panel<//><${Button} icon="gear" onClick=${settings}>Settings<//>`}
			<${Button} onClick=${cancel}>Cancel<//><${Button} kind="primary" icon="save" busy=${saving} disabled=${!dirty} onClick=${() => save()}>Save<//></div>`
		: html`<div class="row"><${TimeRange} range=${{ ...range, latest: range.latest ?? 'now' }} onChange=${setRange} /><${IconButton} icon="refresh" label="Load again" kind="default" aria-busy=${data.loading ? 'true' : undefined} onClick=${data.reload} />
			${write && html`<${Button} icon="edit" onClick=${() => setQuery({ edit: '1' })}>Edit<//>`}
			<${Menu} label="More" icon="more" items=${[write && { label: 'Share', icon: 'link', onSelect: share }, { label: 'TV mode', icon: 'screen', onSelect: toTv },
				{ label: 'Export', icon: 'download', onSelect: () => exportDashboard(found).catch(toastError) },
				can('dashboards:delete') && { separator: true }, can('dashboards:delete') && { label: 'Delete', icon: 'trash', danger: true, onSelect: removeAll }]} /></div>`;
	return html`<div class=${`page page-full dashboard ${tv ? 'is-tv' : ''}`}>
		<header class="page-head"><div><h1><bdi>${shown.name}</bdi>${editing && html` <span class="muted small">${dirty ? 'not saved' : 'editing'}</span>`}</h1>
			${shown.description && !tv && html`<p class="break">${shown.description}</p>`}</div>${tools}</header>
		<${ErrorNotice} error=${error} />
		<${ErrorNotice} error=${data.error} retry=${data.reload} title=${data.error?.code === 'RATE_LIMIT_EXCEEDED' ? 'The organization has used its searches of this minute' : undefined} />
		${panel ? html`<${PanelEditor} key=${panel.id} panel=${panel} values=${values} range=${range} shown=${answerOf(panel).rows?.length ? answerOf(panel) : null} onPanel=${setPanel}
			onDone=${(answer, ran) => {
				if (answer)
					setOwnAnswers((now) => ({ ...now, [panel.id]: { answer, query: ran } }));
				setQuery({ panel: null });
			}} />` : html`${!tv && html`<${VariablesBar} variables=${shown.variables} values=${values} found=${data.data?.variables} onValues=${chooseValues} />`}
		${shown.panels.length ? html`<${Grid} panels=${shown.panels} editing=${editing} onChange=${setPanels} render=${render} selected=${params.get('panel')} />`
			: html`<${EmptyState} icon="grid" title="No panels yet" action=${write && html`<${Button} kind="primary" icon="plus" onClick=${editing ? add : () => setQuery({ edit: '1' })}>${editing ? 'Add panel' : 'Edit'}<//>`}>
				<p>A panel shows what one search finds.</p><//>`}`}
	</div>`;
}

/** The screen. */
export default function Dashboard({ params })
{
	const load = useLoad((abort) => api.get(`/api/v1/dashboards/${encodeURIComponent(params.id)}`, { abort }).then((answer) => placed(answer.data)), [params.id]);
	if (load.error)
		return html`<div class="page"><h1 class=${load.error.status === 404 ? 'visually-hidden' : ''}>Dashboard</h1>${load.error.status === 404 ? html`<${EmptyState} icon="grid" title="There is no such dashboard"
			action=${html`<${Button} onClick=${() => navigate(orgPath('/dashboards'))}>All dashboards<//>`}><p>It was deleted, or only its author sees it.</p><//>` : html`<${ErrorNotice} error=${load.error} retry=${load.reload} />`}</div>`;
	if (!load.data || load.data.id !== params.id)
		return load.slow ? html`<div class="page page-full"><h1 class="visually-hidden">Dashboard</h1><${Skeleton} lines="8" /></div>` : null;
	return html`<${Loaded} key=${params.id} found=${load.data} set=${load.set} />`;
}
