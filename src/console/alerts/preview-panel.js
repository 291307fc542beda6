/*
 * preview-panel.js: the preview of a rule: values over time, threshold, would-be firings; and the backtest of what is stored.
 */
import { html, useEffect, useRef, useState } from '../view.js';
import { api, isAbort } from '../api.js';
import { Button } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Select } from '../ui/field.js';
import { Icon } from '../ui/icon.js';
import { formatNumber } from '../ui/numbers.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { useKeys } from '../shell/keys.js';
import { secondsOf, spanWords } from './durations.js';
import { mostRows, planOf, replay } from './preview.js';
import { RuleChart } from './rule-chart.js';
import { groupText, valueText } from './states.js';

const ranges = ['1h', '3h', '6h', '24h', '3d', '7d', '30d'];

/** The longest range of which one search can have all buckets of one group. */
function possible(plan, rule)
{
	const lookback = secondsOf(rule.schedule.lookback);
	return ranges.filter((one) => (secondsOf(one) + lookback) / plan.bucket <= mostRows && secondsOf(one) >= plan.bucket * 2);
}

function Firings({ firings, count })
{
	return html`<${Table} caption="Would-be firings" rows=${firings} rowKey=${(row) => `${row.from}${groupText(row.key)}`} columns=${[
		{ key: 'from', title: 'Would fire', render: (row) => html`<${Time} value=${row.from * 1000} />` },
		{ key: 'to', title: 'Would resolve', render: (row) => html`<${Time} value=${row.to && row.to * 1000} none="still firing" />` },
		{ key: 'for', title: 'For', render: (row) => (row.to ? spanWords(Math.round(row.to - row.from)) : '-') },
		{ key: 'group', title: 'Group', class: 'break', render: (row) => groupText(row.key) || html`<span class="faint">all</span>` },
		{ key: 'value', title: 'Value', align: 'end', render: (row) => valueText(row.value) },
	]} />${count > firings.length && html`<p class="small muted">The first ${firings.length} of ${formatNumber(count)}.</p>`}`;
}

function Preview({ found, rule })
{
	const { ticks, groups, firings, counted } = found;
	if (!ticks.length)
		return html`<p class="muted">The range is shorter than the time between two checks.</p>`;
	const kind = rule.condition.kind;
	const often = counted ?? firings.length;
	const words = often === 0 ? 'It would not have fired.' : `It would have fired ${often === 1 ? 'once' : `${formatNumber(often)} times`}.`;
	return html`<div class="stack">
		<p class="row"><${Icon} name=${often ? 'bell' : 'check'} /><strong>${words}</strong>
			<span class="muted">${found.server ? 'Backtest of the stored rule by the service.' : 'Counted from the values of the chart.'}</span></p>
		${found.more && html`<p class="notice notice-warn"><${Icon} name="alert" /><span>There are more than ${formatNumber(mostRows)} values: the chart shows a part.
			Take a shorter range or fewer groups.</span></p>`}
		${groups.length > 0 && html`<${RuleChart} ticks=${ticks} groups=${groups} firings=${firings} threshold=${['count', 'value'].includes(kind) ? rule.condition.threshold : null}
			label=${`What the rule sees: ${groups.length} ${groups.length === 1 ? 'line' : 'groups'}, from ${new Date(ticks[0] * 1000).toISOString()} to ${new Date(ticks.at(-1) * 1000).toISOString()}. ${words}`} />`}
		${groups.length === 0 && html`<p class="muted">No event of this range matches the query.</p>`}
		${firings.length > 0 && html`<details class="rule-firings"><summary>Would-be firings</summary><${Firings} firings=${firings.slice(0, 100)} count=${often} /></details>`}
	</div>`;
}

/**
 * The preview of a rule as it is in the editor. query: its text; id: of the stored rule when the editor has changed
 * nothing, then the service runs a backtest too. One press of Run is one search (and one backtest).
 */
export function PreviewPanel({ rule, query, id })
{
	const plan = planOf(rule, query);
	const choices = plan.reason ? [] : possible(plan, rule);
	const [wanted, setWanted] = useState('6h');
	const range = choices.includes(wanted) ? wanted : choices.at(-1) ?? '1h';
	const [state, setState] = useState({});
	const control = useRef(null);
	useEffect(() => () => control.current?.abort(), []);
	const ready = !plan.reason && choices.length > 0 && !(['count', 'value'].includes(rule.condition.kind) && !Number.isFinite(rule.condition.threshold));

	async function run()
	{
		if (!ready)
			return;
		control.current?.abort();
		const mine = new AbortController();
		control.current = mine;
		setState((now) => ({ ...now, busy: true, error: null }));
		const to = Math.floor((Date.now() / 1000 - (rule.schedule.delaySeconds ?? 0)) / plan.bucket) * plan.bucket;
		const from = to - secondsOf(range);
		const time = (seconds) => new Date(seconds * 1000).toISOString();
		try {
			const back = id && api.post(`/api/v1/alert-rules/${id}/backtest`, { from: time(from), to: time(to) }, { abort: mine.signal, reads: true })
				.then(({ data }) => data, (caught) => (isAbort(caught) ? Promise.reject(caught) : null));
			const answer = await api.post('/api/v1/search', { q: plan.q, earliest: time(from - secondsOf(rule.schedule.lookback)), latest: time(to), limit: mostRows },
				{ abort: mine.signal, reads: true });
			const found = { ...replay(rule, plan, answer.data.rows, from, to), more: answer.page?.hasMore || answer.meta?.truncated };
			const tested = await back;
			if (tested)
				Object.assign(found, { server: true, counted: tested.count, firings: tested.firings.map((one) => ({
					from: Date.parse(one.startedAt) / 1000, to: one.endedAt && Date.parse(one.endedAt) / 1000, key: one.groupKey, value: one.value })) });
			setState({ found, asked: plan.q + range, rule });
		} catch (caught) {
			if (!isAbort(caught))
				setState((now) => ({ ...now, busy: false, error: caught }));
		}
	}
	// A rule that is opened, or comes from a search, shows its preview at once; after that, when somebody asks.
	const began = useRef(false);
	useEffect(() => {
		if (ready && !began.current) {
			began.current = true;
			run();
		}
	}, [ready]);
	useKeys([{ keys: 'mod+Enter', text: 'Run the preview', run }]);
	const stale = state.found && (state.asked !== plan.q + range || JSON.stringify([state.rule.condition, state.rule.schedule]) !== JSON.stringify([rule.condition, rule.schedule]));

	return html`<section class="card stack" aria-labelledby="preview-title">
		<div class="row-between"><h2 id="preview-title">Preview</h2><div class="row">
			${choices.length > 1 && html`<${Select} label="Range of the preview" hideLabel value=${range} onInput=${setWanted} options=${choices.map((one) => ({ value: one, label: `Last ${spanWords(secondsOf(one), { one: true })}` }))} />`}
			<${Button} icon="play" busy=${state.busy} onClick=${run} disabled=${!ready}>Run<//></div></div>
		${plan.reason ? html`<p class="muted">${plan.reason}</p>` : choices.length === 0 && html`<p class="muted">The range of a check is too long for a preview.</p>`}
		<${ErrorNotice} error=${state.error} retry=${run} />
		${state.busy && !state.found && html`<${Skeleton} lines="5" />`}
		${stale && html`<p class="small muted" role="status">The rule has changed since. Run it again to see what that does.</p>`}
		${state.found && html`<div class=${stale || state.busy ? 'is-stale' : ''}><${Preview} found=${state.found} rule=${state.rule} /></div>`}
	</section>`;
}
