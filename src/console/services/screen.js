/*
 * screen.js: services, their health and KPIs.
 */
import { html, useEffect } from '../view.js';
import { allRows, api } from '../api.js';
import { query, setQuery } from '../router.js';
import { can } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Button, LinkButton } from '../ui/button.js';
import { confirm } from '../ui/confirm.js';
import { openDialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Menu } from '../ui/menu.js';
import { formatNumber, formatPercent } from '../ui/numbers.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { RelativeTime } from '../ui/time.js';
import { toast } from '../ui/toast.js';
import { fullReason, useUsage } from '../ui/plan-limit.js';
import { useLoad } from '../ui/use-load.js';
import { ServiceDetails, statuses } from './details.js';
import { ServiceForm } from './forms.js';

function Rate({ health })
{
	if (health?.error)
		return html`<${Badge} kind="warn">not known<//>`;
	if (health?.errorRate === null || health?.errorRate === undefined)
		return html`<span class="faint">no events</span>`;
	return html`<${Badge} kind=${health.errorRate >= 0.05 ? 'danger' : health.errorRate >= 0.01 ? 'warn' : 'ok'} dot>${formatPercent(health.errorRate)}<//>`;
}

/** The screen. */
export default function Services()
{
	const load = useLoad(async (abort) => {
		const [services, kpis] = await Promise.all([allRows('/api/v1/services', { abort }), allRows('/api/v1/kpis', { abort })]);
		return { services: services.rows, kpis: kpis.rows };
	});
	const usage = useUsage([load.data?.services.length, load.data?.kpis.length]);
	// Health is computed once a minute.
	useEffect(() => {
		const timer = setInterval(() => { if (document.visibilityState === 'visible') load.reload(); }, 60_000);
		return () => clearInterval(timer);
	}, []);
	const write = can('dashboards:write');
	const chosen = load.data?.services.find((one) => one.id === query.value.get('service'));
	const kpisOf = (one) => load.data.kpis.filter((kpi) => kpi.serviceId === one.id);
	async function edit(service)
	{
		const done = await openDialog((close) => html`<${ServiceForm} service=${service} close=${close} />`);
		if (done) {
			load.reload();
			setQuery({ service: done.id });
		}
	}
	async function remove(service)
	{
		if (await confirm({ title: 'Delete service', action: 'Delete', danger: true, name: service.name, text: 'Its history goes with it; its events stay.', run: () => api.delete(`/api/v1/services/${encodeURIComponent(service.id)}`) })) {
			toast(`${service.name} was deleted`);
			setQuery({ service: null });
			load.reload();
		}
	}
	const add = html`<${Button} kind="primary" icon="plus" reason=${fullReason(usage.data?.resources.services, 'services')} onClick=${() => edit(null)}>New service<//>`;
	const actions = chosen && write && html`<${Menu} label="Actions" icon="more" size="small" items=${[{ label: 'Edit', icon: 'edit', onSelect: () => edit(chosen) },
		can('dashboards:delete') && { label: 'Delete', icon: 'trash', danger: true, reason: kpisOf(chosen).length ? 'Delete its KPIs first' : undefined, onSelect: () => remove(chosen) }]} />`;
	return html`<div class="page"><header class="page-head"><div><h1>Services</h1><p>The parts of what you run, the events that tell of them, and numbers that must stay within limits.</p></div>
			<div class="row"><${LinkButton} href="/status" target="_blank" rel="noopener" icon="external">Status of logsvc<//>${write && load.data?.services.length > 0 && add}</div></header>
		<${ErrorNotice} error=${load.error} retry=${load.reload} />
		${load.slow && html`<${Skeleton} />`}
		${load.data && html`<${Table} caption="Services" rows=${load.data.services} selected=${chosen?.id} onRow=${(one) => setQuery({ service: one.id })}
			empty=${html`<${EmptyState} icon="flow" title="No services yet" action=${write && add}><p>A service is a filter with a name, such as <code>service=checkout</code>. Its health is computed each minute.</p><//>`} columns=${[
			{ key: 'name', title: 'Service', class: 'break', render: (one) => html`<button type="button" class="link" onClick=${() => setQuery({ service: one.id })}><bdi>${one.name}</bdi></button>
				${one.owner && html`<div class="small muted">${one.owner}</div>`}` },
			{ key: 'errors', title: 'Errors', render: (one) => html`<${Rate} health=${one.health} />` },
			{ key: 'events', title: 'Events a minute', align: 'end', render: (one) => (typeof one.health?.eventsPerMinute === 'number' ? formatNumber(Math.round(one.health.eventsPerMinute * 10) / 10) : '–') },
			{ key: 'seen', title: 'Last event', render: (one) => html`<${RelativeTime} value=${one.health?.lastSeenAt} />` },
			{ key: 'kpis', title: 'KPIs', render: (one) => html`<span class="row">${kpisOf(one).map((kpi) => html`<${Badge} key=${kpi.id} kind=${statuses[kpi.current?.status]?.[0]} dot>${kpi.name}<span class="visually-hidden">: ${statuses[kpi.current?.status]?.[1]}</span><//>`)}</span>` },
		]} />`}
		${chosen && html`<${ServiceDetails} key=${chosen.id} service=${chosen} kpis=${kpisOf(chosen)} full=${fullReason(usage.data?.resources.kpis, 'KPIs')} actions=${actions} onClose=${() => setQuery({ service: null })} changed=${load.reload} />`}
	</div>`;
}
