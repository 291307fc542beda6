/*
 * verdict-view.js: the findings, and the rows that they cite.
 */
import { html, useEffect, useMemo, useState } from '../view.js';
import { Badge } from '../ui/badge.js';
import { Icon } from '../ui/icon.js';
import { Table } from '../ui/table.js';
import { EmptyState } from '../ui/empty-state.js';
import { formatNumber, formatPercent } from '../ui/numbers.js';
import { RowList } from './row-list.js';

const kinds = { passed: ['ok', 'passed'], failed: ['danger', 'failed'], not_found: ['warn', 'not found'], skipped: ['neutral', 'skipped'] };

function Status({ status })
{
	const [kind, text] = kinds[status] ?? ['neutral', status ?? 'no status'];
	return html`<${Badge} kind=${kind} dot>${text}<//>`;
}

/** The cited rows of findings: a Map of places (from 0) to quotes. */
export function citedBy(findings, count)
{
	const cited = new Map();
	for (const finding of findings)
		(finding.rowRefs ?? []).forEach((ref, index) => {
			if (ref >= 1 && ref <= count)
				cited.set(ref - 1, [...cited.get(ref - 1) ?? [], finding.quotes?.[index] ?? '']);
		});
	return cited;
}

/** A verdict. data: the answer; rows: those that were sent; descriptions: of items, by id. */
export function VerdictView({ data, rows, descriptions })
{
	const [chosen, setChosen] = useState(null);
	useEffect(() => { setChosen(null); }, [data]);
	const findings = data.verdict;
	const cited = useMemo(() => citedBy(chosen === null ? findings : findings.filter((one) => one.id === chosen), rows.length), [data, chosen]);
	const counts = Object.entries(kinds).map(([status, [kind, text]]) => [kind, text, findings.filter((one) => one.status === status).length]).filter(([, , count]) => count);
	const select = (finding) => setChosen(chosen === finding.id ? null : finding.id);
	return html`<div class="stack">
		<div class="row">${counts.map(([kind, text, count]) => html`<${Badge} key=${text} kind=${kind} dot>${formatNumber(count)} ${text}<//>`)}
			<${Badge}>${data.creditsSpent ? `${data.creditsSpent} credits spent` : 'No credits spent'}<//></div>
		${data.summary && html`<p class="break">${data.summary}</p>`}
		${data.truncated && html`<div class="notice notice-warn"><${Icon} name="alert" /><p><strong>Something was cut off.</strong> Not all rows were judged as a whole:
			${' '}${formatNumber(data.inputRowCount)} of ${formatNumber(rows.length)} rows were considered. The preview shows which lines.</p></div>`}
		<${Table} caption="Findings" rows=${findings} rowKey=${(one) => one.id} onRow=${select} selected=${chosen} empty=${html`<${EmptyState} icon="info" title="No findings">
			<p>The criteria ask for nothing that could be found.</p><//>`} columns=${[
			{ key: 'status', title: 'Status', render: (one) => html`<${Status} status=${one.status} />` },
			{ key: 'id', title: 'Item', class: 'break', render: (one) => html`<strong class="mono">${one.id}</strong>${descriptions[one.id] && html`<div class="muted small">${descriptions[one.id]}</div>`}` },
			{ key: 'explanation', title: 'Why', class: 'break', render: (one) => html`${one.explanation}${(one.entity || one.tags || one.score !== undefined) && html`<div class="row small">
				${one.entity && html`<${Badge}>${one.entity.type}: ${one.entity.key}<//>`}${one.score !== undefined && html`<${Badge}>score ${one.score}<//>`}
				${(one.tags ?? []).map((tag) => html`<${Badge} key=${tag} kind="accent">${tag}<//>`)}</div>`}` },
			{ key: 'confidence', title: 'Confidence', align: 'end', render: (one) => (one.confidence === undefined ? '' : formatPercent(one.confidence)) },
			{ key: 'rows', title: 'Rows', render: (one) => (one.rowRefs?.length ? html`<button type="button" class="button button-small button-ghost" aria-pressed=${chosen === one.id ? 'true' : 'false'}
				onClick=${() => select(one)}><span>${one.rowRefs.slice(0, 4).map(formatNumber).join(', ')}${one.rowRefs.length > 4 ? ' …' : ''}<span class="visually-hidden">: show the rows of ${one.id}</span></span></button>` : '') },
		]} />
		<section class="stack-s" aria-labelledby="cited-rows"><div class="row-between"><h3 id="cited-rows">${cited.size ? chosen === null ? 'Cited rows' : html`Rows of <span class="mono">${chosen}</span>` : 'All rows'}</h3>
			${chosen !== null && html`<button type="button" class="button button-small button-ghost" onClick=${() => setChosen(null)}><span>Show all cited rows</span></button>`}</div>
			${chosen !== null && !cited.size && html`<p class="small muted">This finding cites no row.</p>`}
			<${RowList} rows=${rows} cited=${cited} strong=${cited.size ? Math.min(...cited.keys()) : null} label="Judged rows" /></section>
		<p class="small muted break">Judged by ${data.model} (${data.provider}) in ${data.region}, ${formatNumber(data.inputRowCount)} rows${data.compressed ? ', compressed' : ''}.
			${data.usage && ` ${formatNumber(data.usage.tokensIn)} tokens in, ${formatNumber(data.usage.tokensOut)} out.`}</p>
	</div>`;
}
