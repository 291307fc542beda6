/*
 * alert-drawer.js: one alert: what it saw, what happened since, what was sent, and what to do.
 */
import { html } from '../view.js';
import { api } from '../api.js';
import { can, orgPath } from '../session.js';
import { screens } from '../screens.js';
import { Button, LinkButton } from '../ui/button.js';
import { CopyButton } from '../ui/copy-button.js';
import { Drawer } from '../ui/drawer.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Icon } from '../ui/icon.js';
import { Person } from '../ui/people.js';
import { Skeleton } from '../ui/skeleton.js';
import { RelativeTime, Time, formatDuration } from '../ui/time.js';
import { useLoad } from '../ui/use-load.js';
import { useRefresh } from '../ui/use-refresh.js';
import { acknowledge, resolve } from './alert-actions.js';
import { DeliveryState } from './channels.js';
import { readDeliveries } from './deliveries.js';
import { AlertStatus, Severity, groupText, valueText } from './states.js';

/** The screen of searches, when there is one, with a query and a range. */
function searchPath({ q, earliest, latest })
{
	return screens.some((one) => one.path === '/search') ? orgPath(`/search?${new URLSearchParams({ q, earliest, latest })}`) : null;
}

function Timeline({ alert, deliveries })
{
	const entries = [
		{ at: alert.startedAt, icon: 'bell', text: html`Began to fire${alert.threshold !== null ? html`, threshold ${valueText(alert.threshold)}` : ''}` },
		...deliveries.map((row) => ({ at: row.finishedAt ?? row.createdAt, icon: row.kind === 'email' ? 'mail' : 'link',
			text: html`<span class="row"><code>${row.type}</code><span class="break">${row.target}</span><${DeliveryState} row=${row} /></span>` })),
		alert.acknowledgedAt && { at: alert.acknowledgedAt, icon: 'user', text: html`Acknowledged by <${Person} id=${alert.acknowledgedBy} />` },
		alert.resolvedAt && { at: alert.resolvedAt, icon: 'check', text: /^(usr|key)_|^operator$/.test(alert.resolvedBy ?? '') ? html`Resolved by <${Person} id=${alert.resolvedBy} />`
			: alert.resolvedBy ? html`Resolved: ${alert.resolvedBy}` : 'Resolved: the condition holds no longer' },
		!alert.resolvedAt && { at: alert.lastSeenAt, icon: 'clock', text: html`Last seen, value ${valueText(alert.value)}` },
	].filter(Boolean).sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
	return html`<ol class="timeline">${entries.map((one, at) => html`<li key=${at}><span class="timeline-icon"><${Icon} name=${one.icon} /></span>
		<div class="grow stack-s"><div class="break">${one.text}</div><span class="small muted"><${Time} value=${one.at} /></span></div></li>`)}</ol>`;
}

/** The drawer of an alert. known: what the list has; onChange gets it as it is after an action. */
export function AlertDrawer({ id, known, onChange, onClose })
{
	const load = useLoad(async (abort) => (await api.get(`/api/v1/alerts/${id}`, { abort })).data, [id]);
	const alert = load.data ?? known;
	const sent = useLoad(async (abort) => (alert ? (await readDeliveries(alert.ruleId, { abort })).data : []), [alert?.ruleId]);
	useRefresh(() => {
		if (alert?.status !== 'resolved') {
			load.reload();
			sent.reload();
		}
	}, 10);
	const take = (after) => {
		if (after) {
			load.set(after);
			onChange?.(after);
		}
	};
	// Deliveries name a rule, not an alert: those from its beginning to a while after its end.
	const until = alert?.resolvedAt ? Date.parse(alert.resolvedAt) + 600_000 : Infinity;
	const deliveries = (sent.data ?? []).filter((one) => Date.parse(one.createdAt) >= Date.parse(alert?.startedAt ?? 0) - 60_000 && Date.parse(one.createdAt) <= until);
	const search = alert && searchPath(alert.search);
	return html`<${Drawer} title=${alert?.ruleName ?? 'Alert'} onClose=${onClose}>
		<${ErrorNotice} error=${load.error} retry=${load.reload} />
		${!alert && load.slow && html`<${Skeleton} />`}
		${alert && html`<div class="stack">
			<div class="row"><${AlertStatus} status=${alert.status} /><${Severity} severity=${alert.severity} />
				<span class="muted small">${alert.resolvedAt ? `for ${formatDuration(Date.parse(alert.resolvedAt) - Date.parse(alert.startedAt))}` : html`since <${RelativeTime} value=${alert.startedAt} />`}</span></div>
			${groupText(alert.groupKey) && html`<code class="break">${groupText(alert.groupKey)}</code>`}
			<p class="alert-value"><strong>${valueText(alert.value)}</strong>${alert.threshold !== null && html`<span class="muted"> threshold ${valueText(alert.threshold)}</span>`}</p>
			${can('alerts:write') && html`<div class="row">
				${alert.status === 'firing' && html`<${Button} kind="primary" icon="check" onClick=${() => acknowledge(alert).then(take)}>Acknowledge<//>`}
				${alert.status !== 'resolved' && html`<${Button} onClick=${() => resolve(alert).then(take)}>Resolve<//>`}
				${alert.status === 'resolved' && html`<${Button} icon="edit" onClick=${() => resolve(alert).then(take)}>${alert.note ? 'Change the note' : 'Add a note'}<//>`}
				${alert.status === 'acknowledged' && html`<${Button} icon="edit" onClick=${() => acknowledge(alert).then(take)}>${alert.note ? 'Change the note' : 'Add a note'}<//>`}
			</div>`}
			${alert.note && html`<section class="notice"><${Icon} name="info" /><div class="grow stack-s"><strong class="small">Note</strong><p class="break note-text">${alert.note}</p></div></section>`}
			<section class="stack-s"><div class="row-between"><h3>What it found</h3><div class="row">${search && html`<${LinkButton} size="small" icon="search" href=${search}>Show its events<//>`}
				<${CopyButton} text=${alert.search.q} label="Copy query" compact /></div></div>
				<pre class="answer-box break" tabindex="0">${alert.search.q}</pre>
				<p class="small muted"><${Time} value=${alert.search.earliest} /> to <${Time} value=${alert.search.latest} /></p></section>
			<section class="stack-s"><h3>What happened</h3><${ErrorNotice} error=${sent.error} retry=${sent.reload} /><${Timeline} alert=${alert} deliveries=${deliveries} />
				${deliveries.length > 0 && html`<p class="small muted">What was sent is that of the rule in this time, for all of its groups.</p>`}</section>
			<div class="row"><${LinkButton} size="small" href=${orgPath(`/alert-rules/${alert.ruleId}`)}>The rule<//>
				<${LinkButton} size="small" href=${orgPath(`/alerts?status=all&rule=${alert.ruleId}`)}>Its other alerts<//></div>
		</div>`}<//>`;
}
