/*
 * export.js: a scheduled export: its editor and its runs.
 */
import { html, useState } from '../view.js';
import { allRows, api } from '../api.js';
import { address, navigate, query, setQuery } from '../router.js';
import { can, orgPath } from '../session.js';
import { showSecrets } from '../alerts/channels.js';
import { useKeys } from '../shell/keys.js';
import { Attention } from '../ui/attention.js';
import { Badge } from '../ui/badge.js';
import { Button, IconButton } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Checkbox, Field, Select } from '../ui/field.js';
import { usePlanLimit } from '../ui/plan-limit.js';
import { QueryField } from '../ui/query-field.js';
import { Skeleton } from '../ui/skeleton.js';
import { Tabs } from '../ui/tabs.js';
import { RelativeTime } from '../ui/time.js';
import { toast, toastError } from '../ui/toast.js';
import { useDraft } from '../ui/use-draft.js';
import { useLoad } from '../ui/use-load.js';
import { useSave } from '../ui/use-save.js';
import { Delivery } from './delivery.js';
import { deleteExport } from './export-actions.js';
import { Runs } from './runs.js';
import { Schedule } from './schedule.js';

const fresh = { name: '', description: null, q: '', savedQueryId: null, cron: '@daily', timezone: null, range: 'previousPeriod', format: 'csv', delivery: { kind: 'download' }, maxRows: 1_000_000, enabled: true };

function pick(one)
{
	const { secret, secretAccessKey, ...delivery } = one.delivery;
	return { ...Object.fromEntries(Object.keys(fresh).map((name) => [name, one[name] ?? fresh[name]])), q: one.q ?? null, delivery };
}

function Range({ range, set, errorAt })
{
	const own = typeof range === 'object';
	return html`<div class="field-grid"><${Select} label="Events of" value=${own ? 'own' : 'previousPeriod'} onInput=${(value) => set({ range: value === 'own' ? { earliest: '-1d@d', latest: '@d' } : 'previousPeriod' })}
			options=${[{ value: 'previousPeriod', label: 'the time since the run before' }, { value: 'own', label: 'a range of its own' }]} hint=${own ? 'Relative to the time of the run.' : 'Periods follow each other without gaps.'} />
		${own && html`<${Field} label="From" class="input mono" value=${range.earliest} error=${errorAt('range.earliest')} onInput=${(earliest) => set({ range: { ...range, earliest } })} />
			<${Field} label="To" class="input mono" value=${range.latest ?? 'now'} error=${errorAt('range.latest')} onInput=${(latest) => set({ range: { ...range, latest } })} />`}</div>`;
}

function Editor({ stored, start, onChange })
{
	const draft = useDraft(start);
	const { value } = draft;
	const [one, setOne] = useState(stored);
	const { set, save: store, busy, error, setError } = useSave({ what: 'export', path: '/api/v1/scheduled-exports', screen: '/exports', stored: one, draft, pick, take });
	const limit = usePlanLimit('scheduledExports', 'scheduled exports');
	const saved = useLoad(async (abort) => (can('dashboards:read') ? (await allRows('/api/v1/saved-queries', { abort })).rows.filter((row) => row.visibility === 'org') : []));
	const errorAt = (path) => {
		const text = error?.fields?.[path];
		return text ? text.charAt(0).toUpperCase() + text.slice(1) : undefined;
	};
	function take(after)
	{
		setOne(after);
		onChange?.(after);
		draft.settle(pick(after));
	}
	function save()
	{
		const typed = [value.delivery.secret].filter(Boolean);
		return store({
			body: ({ q, savedQueryId, ...rest }) => ({ ...rest, ...(savedQueryId ? { savedQueryId } : { q: q?.trim() ? q : '*' }) }),
			made: async (data) => {
				await showSecrets([data.delivery], typed);
				toast(`${data.name} is saved.`);
			},
			saved: async (data) => {
				await showSecrets([data.delivery], typed);
				toast('Saved.');
			},
		});
	}
	useKeys([{ keys: 'mod+s', text: 'Save', run: save }]);
	const kept = value.savedQueryId !== null;
	return html`<div class="editor stack">
		<section class="card stack"><${Field} label="Name" name="export-name" maxlength="200" required value=${value.name} error=${errorAt('name')} onInput=${(name) => set({ name })} data-autofocus=${!one} />
			${(saved.data?.length > 0 || kept) && html`<${Select} label="Where the query comes from" value=${kept ? value.savedQueryId : ''} error=${errorAt('savedQueryId')}
				options=${[{ value: '', label: 'Written here' }, ...(saved.data ?? []).map((row) => ({ value: row.id, label: `Saved: ${row.name}` }))]}
				onInput=${(id) => set(id ? { savedQueryId: id, q: null } : { savedQueryId: null, q: saved.data?.find((row) => row.id === value.savedQueryId)?.q ?? '' })} />`}
			${!kept && html`<${QueryField} label="Query" name="q" value=${value.q ?? ''} error=${errorAt('q')} onInput=${(q) => set({ q })} hint="A range in the query wins over the one below." />`}
			<${Range} range=${value.range} set=${set} errorAt=${errorAt} /></section>
		<section class="card stack" aria-labelledby="schedule-title"><h2 id="schedule-title">Schedule</h2><${Schedule} cron=${value.cron} timezone=${value.timezone} set=${set} errorAt=${errorAt} /></section>
		<section class="card stack" aria-labelledby="file-title"><h2 id="file-title">File</h2>
			<div class="field-grid"><${Select} label="Format" value=${value.format} options=${[{ value: 'csv', label: 'CSV' }, { value: 'ndjson', label: 'NDJSON' }, { value: 'json', label: 'JSON' }]} onInput=${(format) => set({ format })} />
				<${Field} label="At most so many rows" type="number" min="1" max="1000000" value=${String(value.maxRows ?? '')} error=${errorAt('maxRows')} onInput=${(text) => set({ maxRows: Number(text) })} hint="A run that finds more says so." /></div>
			<${Delivery} delivery=${value.delivery} onInput=${(delivery) => set({ delivery })} errorAt=${errorAt} />
			<${Checkbox} label="Enabled" hint="What happens while it is off is not exported later." checked=${value.enabled} onInput=${(enabled) => set({ enabled })} /></section>
		<${Attention} of=${error}><${ErrorNotice} error=${error} title="It was not saved" /><//>
		<div class="save-bar"><span class="grow"></span><div class="row">${one && draft.dirty && html`<${Button} onClick=${() => { draft.settle(draft.base); setError(null); }}>Discard<//>`}
			<${Button} kind="primary" busy=${Boolean(busy)} reason=${one ? undefined : limit.reason} disabled=${Boolean(one) && !draft.dirty} onClick=${save}>Save<//></div></div></div>`;
}

function Stored({ id })
{
	const load = useLoad(async (abort) => (await api.get(`/api/v1/scheduled-exports/${id}`, { abort })).data, [id]);
	const [turn, setTurn] = useState(0);
	const [busy, setBusy] = useState(false);
	const one = load.data;
	const tab = query.value.get('tab') ?? 'runs';
	async function run()
	{
		setBusy(true);
		try {
			await api.post(`/api/v1/scheduled-exports/${id}/run`, {});
			setTurn(turn + 1);
			setQuery({ tab: null });
			toast('It runs: the last period that is over.');
		} catch (error) {
			toastError(error);
		}
		setBusy(false);
	}
	return html`<div class="page"><header class="page-head"><div><p class="crumb small"><a href=${orgPath('/exports')}>Exports</a></p><h1 class="break">${one?.name ?? 'Scheduled export'}</h1>
			${one && html`<p class="row"><${Badge} kind=${one.enabled ? 'ok' : 'neutral'} dot>${one.enabled ? 'enabled' : 'disabled'}<//>${one.nextRunAt && html`<span>runs <${RelativeTime} value=${one.nextRunAt} /></span>`}${one.readsAudit && html`<${Badge} kind="accent">audit log<//>`}</p>`}</div>
			${one && html`<div class="row"><${Button} icon="play" busy=${busy} onClick=${run}>Run now<//><${IconButton} kind="default" icon="trash" label="Delete this export" onClick=${async () => { if (await deleteExport(one)) navigate(orgPath('/exports')); }} /></div>`}</header>
		<${ErrorNotice} error=${load.error} retry=${load.reload} />${load.slow && html`<${Skeleton} lines="8" />`}
		${one && html`<${Tabs} label="Scheduled export" selected=${tab} onSelect=${(next) => setQuery({ tab: next === 'runs' ? null : next })} tabs=${[{ id: 'runs', label: 'Runs' }, { id: 'edit', label: 'Settings' }]}>
			${tab === 'runs' && html`<${Runs} id=${id} turn=${turn} />`}<div hidden=${tab !== 'edit'}><${Editor} stored=${one} start=${pick(one)} onChange=${load.set} /></div><//>`}</div>`;
}

export default function ScheduledExport({ params })
{
	if (params.id)
		return html`<${Stored} key=${params.id} id=${params.id} />`;
	return html`<div class="page" key=${address.value.search}><header class="page-head"><div><p class="crumb small"><a href=${orgPath('/exports')}>Exports</a></p><h1>New scheduled export</h1><p>A search that runs by a schedule; its rows become a file.</p></div></header>
		<${Editor} start=${{ ...fresh, q: query.value.get('q') ?? '' }} /></div>`;
}
