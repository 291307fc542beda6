/*
 * screen.js: the audit log: who changed what, from where.
 */
import { html, useEffect, useRef, useState } from '../view.js';
import { allRows, api, isAbort } from '../api.js';
import { query, setQuery } from '../router.js';
import { can, organization, orgPath } from '../session.js';
import { screens } from '../screens.js';
import { Button, LinkButton } from '../ui/button.js';
import { Combobox } from '../ui/combobox.js';
import { CopyButton } from '../ui/copy-button.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field, Select } from '../ui/field.js';
import { Menu } from '../ui/menu.js';
import { formatNumber } from '../ui/numbers.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { RelativeTime, Time } from '../ui/time.js';
import { toast, toastError } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { lineOf } from '../search/event-fields.js';
import { Entry } from './entry.js';
import { actions, actionsByType, dayStart, rangeParameter, ranges, readFilters, requestOf, searchOf, timesOf } from './filters.js';

const keyOf = (entry) => `${entry.timestamp} ${entry.action} ${entry.resource}`;
const page = 50;

/** A few words about an entry: the members of its details that are texts or numbers. */
function summaryOf(details)
{
	const text = (value) => (value === null ? 'none' : Array.isArray(value) ? value.filter((one) => typeof one !== 'object').join(', ')
		: typeof value === 'object' ? ('from' in value && 'to' in value ? `${text(value.from)} to ${text(value.to)}` : '') : String(value));
	const { from, to, ...rest } = details ?? {};
	const changed = from !== undefined && to !== undefined;
	return lineOf((changed ? [...Object.entries(rest), ['', { from, to }]] : Object.entries(details ?? {})).map(([name, value]) => [name, text(value)]).filter(([, value]) => value)
		.map(([name, value]) => (name ? `${name}: ${value}` : value)).join(' · '), 200);
}

async function download(format, filters)
{
	const answer = await api.get('/api/v1/audit/export', { query: { format, ...timesOf(filters) }, raw: true });
	const link = document.createElement('a');
	link.href = URL.createObjectURL(await answer.data.blob());
	link.download = `audit-${organization.value.slug}.${format}`;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
	const count = formatNumber(Number(answer.headers.get('X-Entry-Count') ?? 0));
	toast(answer.headers.has('X-Next-Cursor') ? `The file has the first ${count} entries of this time. For the rest choose a later beginning.` : `The file has all ${count} entries of this time.`);
}

function Filters({ filters, change })
{
	const people = useLoad((abort) => (can('roles:read') ? allRows('/api/v1/members', { abort }).then((answer) => answer.rows.map((one) => one.email)) : Promise.resolve([])));
	// What is typed counts when it stops: each change is a request.
	const [typed, setTyped] = useState({ actor: filters.actor, action: filters.action });
	const asked = useRef(typed);
	useEffect(() => {
		// From elsewhere, as by Back: what one is typing at that moment would be lost otherwise.
		if (filters.actor !== asked.current.actor || filters.action !== asked.current.action)
			setTyped({ actor: filters.actor, action: filters.action });
		asked.current = { actor: filters.actor, action: filters.action };
	}, [filters.actor, filters.action]);
	useEffect(() => {
		if (typed.actor.trim() === filters.actor && typed.action.trim() === filters.action)
			return undefined;
		const timer = setTimeout(() => {
			asked.current = { actor: typed.actor.trim(), action: typed.action.trim() };
			change(asked.current);
		}, 400);
		return () => clearTimeout(timer);
	}, [typed.actor, typed.action]);
	const known = filters.type ? actions.filter((one) => one.startsWith(`${filters.type}.`)) : actions;
	return html`<div class="filters" role="search" aria-label="Filters">
		<${Combobox} label="Actor" name="actor" placeholder="anybody" options=${[...people.data ?? [], 'service:logsvc']} value=${typed.actor} onInput=${(actor) => setTyped((now) => ({ ...now, actor }))} />
		<${Combobox} label="Action" name="action" placeholder="any" options=${known} value=${typed.action} onInput=${(action) => setTyped((now) => ({ ...now, action }))} />
		<${Select} label="Type" name="type" value=${filters.type} onInput=${(type) => change({ type, ...(type && filters.action && !filters.action.startsWith(`${type}.`) && { action: null }) })}
			options=${[{ value: '', label: 'any' }, ...Object.keys(actionsByType).map((one) => ({ value: one, label: one }))]} />
		<${Select} label="Time" name="range" value=${filters.range} onInput=${(range) => change({ range: rangeParameter(range), from: null, to: null })}
			options=${[...ranges.map(([value, label]) => ({ value, label })), { value: 'days', label: 'Days…' }]} />
		${filters.range === 'days' && html`<${Field} type="date" label="From" name="from" value=${filters.from} onInput=${(from) => change({ from })} />
			<${Field} type="date" label="To, and that day too" name="to" value=${filters.to} onInput=${(to) => change({ to })}
				error=${dayStart(filters.to) < dayStart(filters.from) ? 'This is before the first day.' : undefined} />`}
	</div>`;
}

export default function Audit()
{
	const params = query.value;
	const filters = readFilters(params);
	const asked = JSON.stringify(filters);
	const [more, setMore] = useState({ rows: [], cursor: null, busy: false });
	// A further page must ask for the same times as the first.
	const sent = useRef(null);
	const first = useLoad(async (abort) => {
		sent.current = requestOf(filters);
		const answer = await api.get('/api/v1/audit', { query: { ...sent.current, limit: page }, abort });
		setMore({ rows: [], cursor: answer.page.hasMore ? answer.page.nextCursor : null, busy: false });
		return answer.data;
	}, [asked]);
	const [exporting, setExporting] = useState(false);

	const change = (changes) => setQuery({ ...changes, entry: null });
	async function next()
	{
		const { current } = sent;
		setMore((now) => ({ ...now, busy: true }));
		try {
			const answer = await api.get('/api/v1/audit', { query: { ...current, limit: page, cursor: more.cursor } });
			if (sent.current === current)
				setMore((now) => ({ rows: [...now.rows, ...answer.data], cursor: answer.page.hasMore ? answer.page.nextCursor : null, busy: false }));
		} catch (error) {
			if (!isAbort(error))
				toastError(error);
			setMore((now) => ({ ...now, busy: false }));
		}
	}
	async function save(format)
	{
		setExporting(true);
		await download(format, filters).catch(toastError);
		setExporting(false);
	}

	const rows = [...first.data ?? [], ...more.rows];
	const open = rows.find((one) => keyOf(one) === params.get('entry'));
	const search = searchOf(filters);
	const canSearch = screens.some((one) => one.path === '/search') && can('logs:read');
	const narrowed = filters.actor || filters.action || filters.type || params.get('range');
	return html`<div class="page"><header class="page-head"><div><h1>Audit log</h1><p>Who changed what, and from where. Entries are kept for 365 days.</p></div>
			<div class="row">${canSearch ? html`<${LinkButton} icon="search" href=${orgPath(`/search?${new URLSearchParams(search)}`)}>Open as query<//>`
				: html`<${CopyButton} size="" text=${`${search.q} earliest=${search.earliest}`} label="Copy as query" />`}
				<${Menu} label="Export" items=${[{ heading: 'Everything of this time, by anybody' }, { label: 'CSV', icon: 'download', onSelect: () => save('csv'), reason: exporting ? 'Being prepared' : undefined },
					{ label: 'NDJSON, with the hash chain', icon: 'download', onSelect: () => save('ndjson'), reason: exporting ? 'Being prepared' : undefined }]} /></div></header>
		<${Filters} filters=${filters} change=${change} />
		<${ErrorNotice} error=${first.error} retry=${first.reload} />
		${first.slow && html`<${Skeleton} lines="8" />`}
		${first.data && html`<${Table} caption="Entries of the audit log" rows=${rows} rowKey=${(row) => rows.indexOf(row)} selected=${open && rows.indexOf(open)}
			onRow=${(row) => setQuery({ entry: keyOf(row) })} more=${more.cursor} busy=${more.busy} onMore=${next}
			empty=${html`<${EmptyState} icon="list" title="No entries" action=${narrowed
				? html`<${Button} onClick=${() => setQuery({ actor: null, action: null, type: null, range: null, from: null, to: null, entry: null })}>Clear the filters<//>`
				: html`<${Button} onClick=${() => change({ range: '365d' })}>Look at the last year<//>`}>Nothing was changed by what is asked for here.<//>`} columns=${[
				{ key: 'time', title: 'Time', render: (row) => html`<div><${Time} value=${row.timestamp} /></div><span class="small muted"><${RelativeTime} value=${row.timestamp} /></span>` },
				{ key: 'actor', title: 'Actor', class: 'break', render: (row) => html`<bdi>${row.actor}</bdi>` },
				{ key: 'action', title: 'Action', class: 'audit-action', render: (row) => html`<button type="button" class="link-button" aria-label=${`Details of ${row.action}`} onClick=${() => setQuery({ entry: keyOf(row) })}><code>${row.action}</code></button>` },
				{ key: 'details', title: 'What', class: 'break audit-what', render: (row) => html`<bdi class="small">${summaryOf(row.details) || row.resource}</bdi>` },
				{ key: 'ip', title: 'Address', render: (row) => html`<code class="small">${row.ip_address ?? '-'}</code>` },
			]} />`}
		${open && html`<${Entry} entry=${open} onClose=${() => setQuery({ entry: null })} onFilter=${(changes) => change({ ...changes })} />`}
	</div>`;
}
