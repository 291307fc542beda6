/*
 * rules.js: the alert rules of the organization, by their state.
 */
import { html } from '../view.js';
import { allRows } from '../api.js';
import { navigate, query, setQuery } from '../router.js';
import { can, orgPath } from '../session.js';
import { useKeys } from '../shell/keys.js';
import { Badge } from '../ui/badge.js';
import { Button, LinkButton } from '../ui/button.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field } from '../ui/field.js';
import { Menu } from '../ui/menu.js';
import { usePlanLimit } from '../ui/plan-limit.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { RelativeTime } from '../ui/time.js';
import { useLoad } from '../ui/use-load.js';
import { useRefresh } from '../ui/use-refresh.js';
import { deleteRule, setEnabled } from './rule-actions.js';
import { sentenceOf } from './sentence.js';
import { RuleState, Severity, ruleStates, stateOf } from './states.js';

const order = Object.fromEntries(ruleStates.map((one, at) => [one.id, at]));

function Filter({ rules, state })
{
	const counts = Object.fromEntries(ruleStates.map((one) => [one.id, rules.filter((rule) => stateOf(rule) === one.id).length]));
	return html`<div class="chips" role="group" aria-label="State">
		${[{ id: '', label: 'All' }, ...ruleStates.filter((one) => counts[one.id] || one.id === state)].map((one) => html`<button type="button" key=${one.id} class="chip chip-button"
			aria-pressed=${one.id === state ? 'true' : 'false'} onClick=${() => setQuery({ state: one.id })}>${one.label} <span class="tab-count">${one.id ? counts[one.id] : rules.length}</span></button>`)}</div>`;
}

function Actions({ rule, list, limit })
{
	const put = (after) => list.set((now) => ({ ...now, rows: now.rows.map((one) => (one.id === rule.id ? { ...one, ...after } : one)) }));
	return html`<${Menu} icon="more" label=${`Actions of ${rule.name}`} size="small" items=${[
		{ label: 'Open', icon: 'edit', href: orgPath(`/alert-rules/${rule.id}`) },
		{ label: 'Its alerts', icon: 'bell', href: orgPath(`/alerts?status=all&rule=${rule.id}`) },
		can('alerts:write') && { label: rule.enabled ? 'Disable' : 'Enable', icon: rule.enabled ? 'stop' : 'play', onSelect: () => setEnabled(rule, !rule.enabled, { onDone: put }) },
		can('alerts:write') && { label: 'Duplicate', icon: 'copy', reason: limit.reason, onSelect: () => navigate(orgPath(`/alert-rules/new?from=${rule.id}`)) },
		can('alerts:delete') && { separator: true },
		can('alerts:delete') && { label: 'Delete', icon: 'trash', danger: true, onSelect: async () => { if (await deleteRule(rule)) { list.reload(); limit.reload(); } } },
	]} />`;
}

export default function AlertRules()
{
	const list = useLoad((abort) => allRows('/api/v1/alert-rules', { abort }));
	const limit = usePlanLimit('alertRules', 'alert rules');
	useRefresh(list.reload, 15);
	const state = query.value.get('state') ?? '';
	const text = query.value.get('name') ?? '';
	const all = list.data?.rows ?? [];
	const rules = all.filter((one) => (!state || stateOf(one) === state) && `${one.name} ${one.query ?? ''} ${Object.values(one.labels ?? {}).join(' ')}`.toLowerCase().includes(text.toLowerCase()))
		.sort((a, b) => order[stateOf(a)] - order[stateOf(b)] || a.name.localeCompare(b.name));
	const make = () => navigate(orgPath('/alert-rules/new'));
	useKeys(can('alerts:write') ? [{ keys: 'n', text: 'New alert rule', run: () => !limit.reason && make() }] : []);
	const button = can('alerts:write') && html`<${Button} kind="primary" icon="plus" reason=${limit.reason} onClick=${make}>New alert rule<//>`;
	return html`<div class="page">
		<header class="page-head"><div><h1>Alert rules</h1><p>Searches that repeat, and tell somebody while a condition holds. ${limit.text && html`<span class="muted">${limit.text}.</span>`}</p></div>
			<div class="row"><${LinkButton} href=${orgPath('/alerts')} icon="bell">Alerts<//>${all.length > 0 && button}</div></header>
		<${ErrorNotice} error=${list.error} retry=${list.reload} />
		${list.slow && html`<${Skeleton} lines="8" />`}
		${list.data && all.length > 0 && html`<div class="row-between"><${Filter} rules=${all} state=${state} />
			<div class="filter-field"><${Field} label="Filter by name, query or label" hideLabel type="search" placeholder="Filter" value=${text} onInput=${(name) => setQuery({ name })} /></div></div>`}
		${list.data?.more && html`<p class="small muted">The first 1,000 rules are shown.</p>`}
		${list.data && html`<${Table} caption="Alert rules" rows=${rules} onRow=${(row) => navigate(orgPath(`/alert-rules/${row.id}`))}
			empty=${all.length ? html`<${EmptyState} icon="filter" title="No rule is like that" action=${html`<${Button} onClick=${() => setQuery({ state: null, name: null })}>Show all<//>`} />`
				: html`<${EmptyState} icon="bell" title="No alert rule yet" action=${button || html`<${LinkButton} href=${orgPath('/alerts')}>Alerts<//>`}><p>A rule watches a query. Any search can become one.</p><//>`}
			columns=${[
				{ key: 'state', title: 'State', render: (row) => html`<${RuleState} rule=${row} />` },
				{ key: 'name', title: 'Rule', class: 'rule-name', names: true, render: (row) => html`<a class="break" href=${orgPath(`/alert-rules/${row.id}`)}>${row.name}</a>
					<span class="small muted break rule-sentence">${sentenceOf(row)}</span>
					${(row.lastError || row.warning) && html`<span class=${`small break ${row.lastError ? 'text-danger' : 'text-warn'}`}>${row.lastError?.message ?? row.warning}</span>`}` },
				{ key: 'severity', title: 'Severity', render: (row) => html`<${Severity} severity=${row.severity} />` },
				{ key: 'tests', title: 'Tests', align: 'end', render: (row) => (row.tests?.length ? html`${row.tests.length}${row.requireTests && html` <${Badge}>required<//>`}` : html`<span class="faint">none</span>`) },
				{ key: 'notify', title: 'Tells', align: 'end', render: (row) => (row.notify?.length ? row.notify.length : html`<span class="faint">nobody</span>`) },
				{ key: 'since', title: 'Since', render: (row) => (row.enabled ? html`<${RelativeTime} value=${row.stateSince} />` : html`<span class="faint">-</span>`) },
				{ key: 'last', title: 'Checked', render: (row) => html`<${RelativeTime} value=${row.lastEvaluatedAt} />` },
				{ key: 'actions', title: 'Actions', hideTitle: true, align: 'end', render: (row) => html`<${Actions} rule=${row} list=${list} limit=${limit} />` },
			]} />`}
	</div>`;
}
