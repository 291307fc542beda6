/*
 * details.js: a service: its health over a day, and its KPIs against their limits.
 */
import { html } from '../view.js';
import { api } from '../api.js';
import { can } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { LineChart, Sparkline } from '../ui/charts.js';
import { confirm } from '../ui/confirm.js';
import { openDialog } from '../ui/dialog.js';
import { Drawer } from '../ui/drawer.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Menu } from '../ui/menu.js';
import { formatNumber, formatPercent } from '../ui/numbers.js';
import { Skeleton } from '../ui/skeleton.js';
import { RelativeTime } from '../ui/time.js';
import { toast } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { formatValue } from '../dashboards/answer.js';
import { KpiForm } from './forms.js';

/** The kind of badge and the text of a KPI's status. */
export const statuses = { ok: ['ok', 'ok'], warn: ['warn', 'warning'], critical: ['danger', 'critical'], noData: ['neutral', 'no data'] };

function Kpi({ kpi, service, changed })
{
	const series = useLoad((abort) => api.get(`/api/v1/kpis/${encodeURIComponent(kpi.id)}/series`, { abort, query: { range: '24h' } }).then((answer) => answer.data), [kpi.id, kpi.version]);
	const [kind, text] = statuses[kpi.current?.status] ?? statuses.noData;
	const worse = kpi.direction === 'lowerIsBetter' ? '≥' : '≤';
	const number = (value) => formatValue(value, { unit: kpi.unit });
	const remove = () => confirm({ title: 'Delete KPI', action: 'Delete', danger: true, name: kpi.name, text: 'Its history goes with it.',
		run: () => api.delete(`/api/v1/kpis/${encodeURIComponent(kpi.id)}`) }).then((done) => { if (done) { toast(`${kpi.name} was deleted`); changed(); } });
	const values = series.data?.map((one) => one.value) ?? [];
	return html`<li class="card kpi"><div class="row-between"><strong class="truncate grow"><bdi>${kpi.name}</bdi></strong><${Badge} kind=${kind} dot>${text}<//>
		${can('dashboards:write') && html`<${Menu} label=${`Actions of ${kpi.name}`} icon="more" size="small" items=${[
			{ label: 'Edit', icon: 'edit', onSelect: async () => { if (await openDialog((close) => html`<${KpiForm} kpi=${kpi} service=${service} close=${close} />`)) changed(); } },
			can('dashboards:delete') && { label: 'Delete', icon: 'trash', danger: true, onSelect: remove }]} />`}</div>
		<div class="row-between"><span class="kpi-value number">${number(kpi.current?.value)}</span>
			${values.some((one) => one !== null) && html`<${Sparkline} values=${values} threshold=${kpi.critical} width=${220} height=${40} label=${`${kpi.name} of the last 24 hours`} />`}</div>
		<p class="small muted">warning ${worse} ${number(kpi.warn)}, critical ${worse} ${number(kpi.critical)}, over ${kpi.window}${kpi.current?.at && html`, <${RelativeTime} value=${kpi.current.at} />`}</p>
		${kpi.current?.error && html`<p class="small field-error"><span class="break">${kpi.current.error}</span></p>`}
		<p class="mono small faint break">${kpi.q}</p></li>`;
}

/** The drawer. kpis: those of the service; full: why no further KPI is possible; changed: something was saved. */
export function ServiceDetails({ service, kpis, full, actions, onClose, changed })
{
	const health = useLoad((abort) => api.get(`/api/v1/services/${encodeURIComponent(service.id)}/health`, { abort, query: { range: '24h' } }).then((answer) => answer.data), [service.id, service.version]);
	const series = health.data?.series ?? [];
	async function add()
	{
		if (await openDialog((close) => html`<${KpiForm} service=${service} close=${close} />`))
			changed();
	}
	return html`<${Drawer} title=${service.name} wide onClose=${onClose} actions=${actions}><div class="stack">
		${service.description && html`<p class="break">${service.description}</p>`}
		<p class="mono small break">${service.match}</p>
		<div class="row">${service.owner && html`<${Badge}>${service.owner}<//>`}${service.tier && html`<${Badge}>tier ${service.tier}<//>`}${(service.tags ?? []).map((tag) => html`<${Badge} key=${tag} kind="accent">${tag}<//>`)}</div>
		${service.links?.length > 0 && html`<ul class="row">${service.links.map((one, index) => html`<li key=${index}><a class="break" href=${one.url ?? one} target="_blank" rel="noopener noreferrer">${one.title || (one.url ?? one)}</a></li>`)}</ul>`}
		<section class="stack-s" aria-labelledby="service-health"><h3 id="service-health">Health of the last 24 hours</h3>
			<${ErrorNotice} error=${health.error} retry=${health.reload} />
			${health.slow && html`<${Skeleton} lines="3" />`}
			${service.health?.error && html`<p class="field-error"><span class="break">${service.health.error}</span></p>`}
			${health.data && (series.length ? html`<div class="side-by-side">
				<figure class="stack-s"><figcaption class="small muted">Events a minute, ${service.health?.eventsPerMinute === null ? 'not known yet' : formatNumber(Math.round(service.health?.eventsPerMinute ?? 0))} now</figcaption>
					<${LineChart} height=${96} label="Events a minute over 24 hours" series=${[{ name: 'events a minute', values: series.map((one) => one.eventsPerMinute) }]} /></figure>
				<figure class="stack-s"><figcaption class="small muted">Share of errors, ${service.health?.errorRate === null || service.health?.errorRate === undefined ? 'no events' : formatPercent(service.health.errorRate)} now</figcaption>
					<${LineChart} height=${96} label="Share of errors over 24 hours" series=${[{ name: 'share of errors', class: 'level-line', values: series.map((one) => one.errorRate) }]} /></figure></div>`
				: html`<p class="small muted">It is computed once a minute; there is nothing yet.</p>`)}</section>
		<section class="stack-s" aria-labelledby="service-kpis"><div class="row-between"><h3 id="service-kpis">KPIs</h3>${can('dashboards:write') && kpis.length > 0 && html`<${Button} size="small" icon="plus" reason=${full} onClick=${add}>New KPI<//>`}</div>
			${kpis.length ? html`<ul class="stack-s">${kpis.map((one) => html`<${Kpi} key=${one.id} kpi=${one} service=${service} changed=${changed} />`)}</ul>`
				: html`<${EmptyState} icon="chart" title="No KPIs yet" action=${can('dashboards:write') && html`<${Button} reason=${full} onClick=${add}>New KPI<//>`}><p>A number from a query, and when it is bad.</p><//>`}</section>
	</div><//>`;
}
