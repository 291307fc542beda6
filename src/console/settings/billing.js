/*
 * billing.js: the plan, what it allows beside what is used, and asking for another.
 */
import { html, useEffect, useRef } from '../view.js';
import { api } from '../api.js';
import { loadSession, organization } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { confirm } from '../ui/confirm.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Icon } from '../ui/icon.js';
import { sendsMail } from '../ui/mail.js';
import { formatNumber } from '../ui/numbers.js';
import { Skeleton } from '../ui/skeleton.js';
import { RelativeTime, formatDay } from '../ui/time.js';
import { toast, toastError } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { limitText, limits, resourceTitle, snake } from '../usage/resources.js';
import { SettingsHead } from './head.js';
import { useUsage } from '../ui/plan-limit.js';

const plans = ['free', 'pro', 'business', 'enterprise'];
const title = (plan) => plan.charAt(0).toUpperCase() + plan.slice(1);

/** What is used, by the names of limits. */
function usedOf(usage)
{
	if (!usage)
		return {};
	return {
		...Object.fromEntries(Object.entries(usage.resources).map(([name, one]) => [snake(name), one.used])),
		ingest_bytes_per_day: usage.ingest.usedBytes, ai_credits_per_month: usage.aiCredits.used,
	};
}

/** What a change to a plan deletes. deletes: of that plan, as the service lists them. */
function Deletes({ deletes })
{
	const events = deletes.reduce((sum, one) => sum + one.events, 0);
	return html`<div class="notice notice-danger"><${Icon} name="alert" /><div class="stack-s">
		<p><strong>${formatNumber(events)} ${events === 1 ? 'event is' : 'events are'} deleted within an hour, for good.</strong> The plan keeps events for ${formatNumber(deletes[0].retentionDays)} days:</p>
		<ul class="plain-list">${deletes.map((one) => html`<li key=${one.index}><code class="break">${one.index}</code>: ${formatNumber(one.events)} of ${formatDay(one.oldest)}${formatDay(one.newest) === formatDay(one.oldest) ? '' : ` to ${formatDay(one.newest)}`}</li>`)}</ul></div></div>`;
}

/** What would be over the limits of a plan, in words. */
export function excess(used, allowed)
{
	return Object.entries(used).filter(([name, value]) => allowed[name] !== null && allowed[name] !== undefined && value > allowed[name])
		.map(([name, value]) => {
			const format = limits.find(([key]) => key === name)?.[2] ?? formatNumber;
			return `${resourceTitle(name)}: ${format(value)} used, ${format(allowed[name])} allowed`;
		});
}

function Request({ request, withdraw })
{
	return html`<div class="notice"><${Icon} name="clock" /><div class="grow"><p><strong>Plan ${title(request.plan)} is asked for</strong>, <${RelativeTime} value=${request.requestedAt} />.</p>
		<p class="muted">The operator of this service decides${sendsMail() ? '; the owners get a mail' : ''}.</p></div><${Button} size="small" onClick=${withdraw}>Withdraw<//></div>`;
}

export default function Billing()
{
	const billing = useLoad((abort) => api.get('/api/v1/billing', { abort }).then((answer) => answer.data));
	const usage = useUsage();
	const used = usedOf(usage.data);
	const set = (plan) => api.post('/api/v1/billing/plan', { plan });

	async function choose(plan)
	{
		// What is deleted is asked for now: more has come since the page was opened.
		let fresh;
		try {
			fresh = (await api.get('/api/v1/billing')).data;
		} catch (error) {
			toastError(error);
			return;
		}
		const { plan: now, plans: all } = fresh;
		const deletes = fresh.deletes[plan];
		const larger = plans.indexOf(plan) > plans.indexOf(now);
		const over = excess(used, all[plan]);
		const done = await confirm({ name: deletes.length > 0 && organization.value.name, title: `${larger ? 'Change' : 'Go back'} to plan ${title(plan)}?`, danger: !larger, action: larger ? `Ask for ${title(plan)}` : `Change to ${title(plan)}`,
			text: larger ? html`<p>Unless this service lets owners change plans themselves, its operator decides${sendsMail() ? ', and the owners get a mail' : ''}. logsvc takes no payments.</p>`
				: html`<div class="stack-s"><p>It takes effect at once.${deletes.length ? '' : ' It deletes nothing.'}</p>
					${deletes.length > 0 && html`<${Deletes} deletes=${deletes} />`}
					${over.length > 0 && html`<p>Until it is below these limits, nothing new of the kind can be created:</p><ul class="plain-list">${over.map((one) => html`<li key=${one}>${one}</li>`)}</ul>`}</div>`,
			run: () => set(plan) });
		if (!done)
			return;
		billing.reload();
		usage.reload();
		await loadSession();
		toast(done.value.status === 202 ? `Plan ${title(plan)} is asked for.` : `The plan is ${title(plan)} now.`);
	}
	async function withdraw()
	{
		const { planRequest, plan } = billing.data;
		const done = await confirm({ title: 'Withdraw the request?', action: 'Withdraw', text: `Plan ${title(planRequest.plan)} is no longer asked for; ${organization.value.name} stays on ${title(plan)}.`, run: () => set(plan) });
		if (done) {
			billing.reload();
			toast('The request is withdrawn.', { undo: async () => { await set(planRequest.plan); billing.reload(); } });
		}
	}
	const data = billing.data;
	// On a telephone not all plans fit: the current one is in view.
	const current = useRef(null);
	useEffect(() => { current.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' }); }, [data]);
	return html`<div class="page">
		<${SettingsHead} title="Billing">What plan <strong>${title(organization.value.plan)}</strong> allows, and what the others would.<//>
		<${ErrorNotice} error=${billing.error} retry=${billing.reload} />
		${billing.slow && html`<${Skeleton} lines="8" />`}
		${data?.planRequest && html`<${Request} request=${data.planRequest} withdraw=${withdraw} />`}
		${data && html`<div class="table-scroll" tabindex="0" role="group" aria-label="Plans"><table class="table plan-table">
			<caption class="visually-hidden">Plans and their limits</caption>
			<thead><tr><th scope="col">Limit</th><th scope="col" class="number">Used now</th>${plans.map((plan) => html`<th key=${plan} ref=${plan === data.plan ? current : null} scope="col" class=${`number ${plan === data.plan ? 'is-current' : ''}`}>
				${title(plan)} ${plan === data.plan && html`<${Badge} kind="accent">current<//>`}</th>`)}</tr></thead>
			<tbody>${limits.filter(([name]) => name in data.limits).map(([name, text, format]) => html`<tr key=${name}><th scope="row">${text}</th>
				<td class="number">${name in used ? format(used[name]) : html`<span class="faint">-</span>`}</td>
				${plans.map((plan) => {
					// What an operator has set for this organization holds in every plan.
					const own = plan === data.plan && data.limits[name] !== data.plans[plan][name];
					return html`<td key=${plan} class=${`number ${plan === data.plan ? 'is-current' : ''}`}>${limitText(plan === data.plan ? data.limits[name] : data.plans[plan][name], format)}
						${own && html`<span class="small muted own-limit">set for you</span>`}</td>`;
				})}</tr>`)}</tbody>
			<tfoot><tr><td colspan="2"></td>${plans.map((plan) => html`<td key=${plan} class=${`number ${plan === data.plan ? 'is-current' : ''}`}>${plan !== data.plan
				&& html`<${Button} size="small" kind=${plans.indexOf(plan) > plans.indexOf(data.plan) ? 'primary' : 'default'} onClick=${() => choose(plan)}
					reason=${data.planRequest?.plan === plan ? 'It is asked for already' : undefined}>Choose<span class="visually-hidden"> ${title(plan)}</span><//>`}</td>`)}</tr></tfoot>
		</table></div>
		<p class="small muted">1 GB is ${formatNumber(2 ** 30)} bytes. Prices are the operator's: logsvc takes no payments.</p>`}
	</div>`;
}
