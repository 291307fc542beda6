/*
 * screen.js: what the organization uses of what it may use, and what to do next.
 */
import { html, useEffect } from '../view.js';
import { api } from '../api.js';
import { query, setQuery } from '../router.js';
import { can, organization, orgPath } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Bars, Meter } from '../ui/charts.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Select } from '../ui/field.js';
import { Icon } from '../ui/icon.js';
import { formatBytes, formatNumber } from '../ui/numbers.js';
import { Skeleton } from '../ui/skeleton.js';
import { formatRelative, formatTime } from '../ui/time.js';
import { useLoad } from '../ui/use-load.js';
import { whoChanges } from '../ui/plan-limit.js';
import { DayBar } from './day-bar.js';
import { creditProjection, ingestProjection } from './projection.js';
import { ofLimit, resourceTitle } from './resources.js';

const states = { normal: ['ok', 'normal'], warned: ['warn', 'over 80%'], throttled: ['danger', 'throttled'], paused: ['danger', 'paused'] };
const clock = (time) => formatTime(time, { seconds: false, withZone: true });
const percent = (used, limit) => `${Math.floor((used / limit) * 1000) / 10}%`;
const credits = (value) => formatNumber(Math.round(value * 100) / 100);

function Next({ usage })
{
	const { nextLimit: next, ingest } = usage;
	const plan = can('billing:manage') ? html`<a href=${orgPath('/settings/billing')}>change the plan</a>` : 'ask an owner for a larger plan';
	if (!next)
		return html`<div class="notice"><${Icon} name="check" /><p>No limit is near.</p></div>`;
	const name = resourceTitle(next.name);
	if (next.etaSeconds === 0) {
		const what = next.name === 'ingest' ? (ingest.state === 'paused' ? `Events are refused until ${clock(ingest.resetsAt)}.`
			: `Events wait; those that have waited for an hour are discarded. The next day begins at ${clock(ingest.resetsAt)}.`)
			: next.name === 'aiCredits' ? `Evaluations are refused until ${clock(usage.aiCredits.resetsAt)}.` : 'Nothing new of the kind can be created.';
		return html`<div class="notice notice-danger"><${Icon} name="alert" /><p><strong>${name}: the limit is reached.</strong> ${what} Use less, or ${plan}.</p></div>`;
	}
	if (next.etaSeconds !== null) {
		const at = Date.now() + next.etaSeconds * 1000;
		return html`<div class="notice notice-warn"><${Icon} name="clock" /><p><strong>${name}: at this pace the limit is reached ${formatRelative(at)}</strong>, at ${clock(at)}. Use less, or ${plan}.</p></div>`;
	}
	return html`<div class="notice"><${Icon} name="check" /><p>At this pace no limit is reached before it is reset. The nearest: ${name}.</p></div>`;
}

function Ingest({ ingest })
{
	const [kind, word] = states[ingest.state] ?? ['neutral', ingest.state];
	const { atEnd, reachedAt } = ingestProjection(ingest);
	const text = ingest.limitBytes === null ? `${formatBytes(ingest.usedBytes)} today, no limit.`
		: `${formatBytes(ingest.usedBytes)} of ${formatBytes(ingest.limitBytes)} today, ${percent(ingest.usedBytes, ingest.limitBytes)}.`;
	const pace = reachedAt ? `At this pace the quota is used up at ${clock(reachedAt)}.` : atEnd !== null ? `At this pace it will be ${formatBytes(atEnd)} at the end of the day.` : '';
	return html`<section class="card stack" aria-labelledby="ingest-title"><div class="row-between"><h2 id="ingest-title">Events of today</h2><${Badge} kind=${kind} dot>${word}<//></div>
		<p class="big-number">${formatBytes(ingest.usedBytes)}<span class="muted">${ofLimit(ingest.limitBytes, formatBytes)}</span></p>
		${ingest.limitBytes !== null && html`<${DayBar} used=${ingest.usedBytes} limit=${ingest.limitBytes} projected=${atEnd} label=${`${text} ${pace}`} />`}
		<p class="small muted">${formatNumber(ingest.usedEvents)} events. ${pace} The day ends at ${clock(ingest.resetsAt)}.</p>
		${ingest.deferredBytes > 0 && html`<div class="notice notice-warn"><${Icon} name="clock" /><p><strong>${formatNumber(ingest.deferredEvents)} events (${formatBytes(ingest.deferredBytes)}) wait</strong> for room in the quota.
			${ingest.deferredUntil && ` The first of them are discarded at ${clock(ingest.deferredUntil)}.`}</p></div>`}
		<div class="stack-s"><div class="row-between small"><span>Test keys</span><span class="muted">${formatBytes(ingest.test.usedBytes)}${ofLimit(ingest.test.limitBytes, formatBytes)}</span></div>
			${ingest.test.limitBytes !== null && html`<${Meter} value=${ingest.test.usedBytes} limit=${ingest.test.limitBytes} label="Quota of test keys" />`}</div>
	</section>`;
}

function Credits({ usage })
{
	const { aiCredits } = usage;
	const { atEnd, reachedAt } = creditProjection(aiCredits);
	const pace = reachedAt ? `At this pace they are used up at ${clock(reachedAt)}.` : atEnd !== null ? `At this pace it will be ${credits(atEnd)} at the end of the month.` : 'None has been used this month.';
	const left = aiCredits.limit === null ? 'no limit' : `${credits(aiCredits.remaining)} left`;
	return html`<section class="card stack" aria-labelledby="credits-title"><div class="row-between"><h2 id="credits-title">AI credits of this month</h2><span class="muted">${left}</span></div>
		<p class="big-number">${credits(aiCredits.used)}<span class="muted">${ofLimit(aiCredits.limit, credits)}</span></p>
		${aiCredits.limit !== null && aiCredits.limit > 0 && html`<${DayBar} used=${aiCredits.used} limit=${aiCredits.limit} projected=${atEnd}
			label=${`${credits(aiCredits.used)} of ${credits(aiCredits.limit)} AI credits. ${pace}`} />`}
		<p class="small muted">${pace} ${aiCredits.reserved > 0 ? `${credits(aiCredits.reserved)} are reserved for evaluations that run. ` : ''}They are renewed at ${clock(aiCredits.resetsAt)}.</p>
		${aiCredits.caps.map((cap) => html`<div class="stack-s" key=${cap.of}><div class="row-between small"><span>${cap.limit === null ? 'Used by you' : 'Your own cap'}</span><span class="muted">${credits(cap.used)}${ofLimit(cap.limit, credits)}</span></div>
			${cap.limit !== null && html`<${Meter} value=${cap.used} limit=${cap.limit} label="Your own cap of AI credits" />`}</div>`)}
	</section>`;
}

function History({ limit })
{
	const days = ['7', '30', '90'].includes(query.value.get('days')) ? query.value.get('days') : '30';
	const history = useLoad((abort) => api.get('/api/v1/usage/history', { query: { days }, abort }).then((answer) => answer.data), [days]);
	const rows = [...history.data ?? []].reverse();
	const sum = rows.reduce((all, one) => all + one.bytes, 0);
	const discarded = rows.reduce((all, one) => all + one.discardedEvents, 0);
	return html`<section class="card stack" aria-labelledby="history-title"><div class="row-between"><h2 id="history-title">Day by day</h2>
			<${Select} label="Days" hideLabel value=${days} onInput=${(value) => setQuery({ days: value === '30' ? null : value })} options=${['7', '30', '90'].map((value) => ({ value, label: `${value} days` }))} /></div>
		<${ErrorNotice} error=${history.error} retry=${history.reload} />
		${history.slow && html`<${Skeleton} lines="3" />`}
		${history.data && html`<${Bars} height="96" label=${`Bytes of events on each of the last ${days} days: ${formatBytes(sum)} in all.`} bars=${rows.map((one) => ({
				key: one.date, value: one.bytes + one.testBytes, title: `${one.date}: ${formatBytes(one.bytes)}, ${formatNumber(one.events)} events${one.testBytes ? `, test ${formatBytes(one.testBytes)}` : ''}`,
				parts: [{ value: one.bytes, class: limit && one.bytes >= limit ? 'series-3' : 'series-1' }, { value: one.testBytes, class: 'series-6' }] }))} />
			<div class="row-between small muted"><span>${rows[0]?.date}</span><span>${formatBytes(sum)} in ${days} days</span><span>${rows.at(-1)?.date}</span></div>
			${discarded > 0 && html`<div class="notice notice-danger"><${Icon} name="alert" /><p>${formatNumber(discarded)} events beyond the quota were discarded in these days.</p></div>`}
			<details><summary>As a table</summary><div class="table-scroll" tabindex="0" role="group" aria-label="Day by day"><table class="table"><caption class="visually-hidden">Day by day</caption>
				<thead><tr><th scope="col">Day (UTC)</th><th scope="col" class="number">Bytes</th><th scope="col" class="number">Events</th><th scope="col" class="number">Test</th><th scope="col" class="number">Discarded</th></tr></thead>
				<tbody>${history.data.map((one) => html`<tr key=${one.date}><th scope="row" class="time">${one.date}</th><td class="number">${formatBytes(one.bytes)}</td><td class="number">${formatNumber(one.events)}</td>
					<td class="number">${formatBytes(one.testBytes)}</td><td class="number">${formatNumber(one.discardedEvents)}</td></tr>`)}</tbody></table></div></details>`}
	</section>`;
}

function Resources({ resources })
{
	return html`<section class="card stack" aria-labelledby="resources-title"><div class="row-between"><h2 id="resources-title">Limits of plan ${organization.value.plan}</h2><span class="small muted">${whoChanges()}</span></div>
		<ul class="meter-grid">${Object.entries(resources).sort(([, one], [, other]) => (other.limit ? other.used / other.limit : -1) - (one.limit ? one.used / one.limit : -1)).map(([name, one]) => html`<li key=${name} class="stack-s"><div class="row-between small"><span>${resourceTitle(name)}</span>
			<span class="muted number">${formatNumber(one.used)}${ofLimit(one.limit, formatNumber)}</span></div>
			${one.limit !== null && html`<${Meter} value=${one.used} limit=${one.limit} label=${resourceTitle(name)} />`}</li>`)}</ul></section>`;
}

function Rates({ rates, queue })
{
	return html`<section class="card stack" aria-labelledby="rates-title"><h2 id="rates-title">Requests in the last minute</h2>
		<ul class="meter-grid">${rates.map((one) => html`<li key=${one.name} class="stack-s"><div class="row-between small"><code>${one.name}</code><span class="muted number">${formatNumber(one.limit - one.remaining)} of ${formatNumber(one.limit)}</span></div>
			<${Meter} value=${one.limit - one.remaining} limit=${one.limit} label=${`Requests of class ${one.name}`} /></li>`)}
			<li class="stack-s"><div class="row-between small"><span>Queue of the whole service</span><span class="muted number">${formatNumber(queue.depth)} of ${formatNumber(queue.max)}</span></div>
				<${Meter} value=${queue.depth} limit=${queue.max} label="Events in the queue of the whole service" /></li></ul></section>`;
}

export default function Usage()
{
	const usage = useLoad((abort) => api.get('/api/v1/usage', { abort }).then((answer) => answer.data));
	useEffect(() => {
		const timer = setInterval(() => {
			if (document.visibilityState === 'visible')
				usage.reload();
		}, 30_000);
		return () => clearInterval(timer);
	}, []);
	const data = usage.data;
	return html`<div class="page"><header class="page-head"><div><h1>Usage and credits</h1><p>What <bdi>${organization.value.name}</bdi> uses of what plan ${organization.value.plan} allows.</p></div></header>
		<${ErrorNotice} error=${usage.error} retry=${usage.reload} />
		${usage.slow && html`<${Skeleton} lines="8" />`}
		${data && html`<${Next} usage=${data} />
			<div class="two-columns"><${Ingest} ingest=${data.ingest} /><${Credits} usage=${data} /></div>
			<${History} limit=${data.ingest.limitBytes} />
			<${Resources} resources=${data.resources} />
			<${Rates} rates=${data.rateLimits} queue=${data.queue} />`}
	</div>`;
}
