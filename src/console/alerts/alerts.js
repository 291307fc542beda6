/*
 * alerts.js: what fires now, and what did.
 */
import { html, useState } from '../view.js';
import { api } from '../api.js';
import { query, setQuery } from '../router.js';
import { can, orgPath } from '../session.js';
import { useKeys } from '../shell/keys.js';
import { Button, LinkButton } from '../ui/button.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Select } from '../ui/field.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { RelativeTime } from '../ui/time.js';
import { toastError } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { useRefresh } from '../ui/use-refresh.js';
import { AlertDrawer } from './alert-drawer.js';
import { acknowledge } from './alert-actions.js';
import { AlertStatus, Severity, groupText, valueText } from './states.js';

const statuses = [['open', 'Open'], ['firing', 'Firing'], ['acknowledged', 'Acknowledged'], ['resolved', 'Resolved'], ['all', 'All']];

export default function Alerts()
{
	const status = query.value.get('status') ?? 'open';
	const severity = query.value.get('severity') ?? '';
	const ruleId = query.value.get('rule') ?? '';
	const chosen = query.value.get('alert');
	const list = useLoad(async (abort) => {
		const answer = await api.get('/api/v1/alerts', { query: { status, severity, ruleId, limit: 50 }, abort });
		return { rows: answer.data, cursor: answer.page?.hasMore ? answer.page.nextCursor : null, of: `${status} ${severity} ${ruleId}` };
	}, [status, severity, ruleId]);
	const [busy, setBusy] = useState(false);
	const [later, setLater] = useState(false);
	// Who has asked for later pages reads them in peace.
	useRefresh(() => !later && list.reload(), 10);
	const fitting = list.data?.of === `${status} ${severity} ${ruleId}`;
	const rows = fitting ? list.data.rows : [];
	const put = (alert) => list.set((now) => ({ ...now, rows: now.rows.map((one) => (one.id === alert.id ? alert : one)) }));
	async function more()
	{
		setBusy(true);
		setLater(true);
		try {
			const answer = await api.get('/api/v1/alerts', { query: { status, severity, ruleId, limit: 50, cursor: list.data.cursor } });
			list.set((now) => ({ ...now, rows: [...now.rows, ...answer.data], cursor: answer.page?.hasMore ? answer.page.nextCursor : null }));
		} catch (error) {
			toastError(error);
		}
		setBusy(false);
	}
	const filter = (changes) => { setLater(false); setQuery({ alert: null, ...changes }); };
	const step = (by) => {
		const at = rows.findIndex((one) => one.id === chosen);
		const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
		if (next)
			setQuery({ alert: next.id });
	};
	const selected = rows.find((one) => one.id === chosen);
	useKeys([{ keys: 'j', text: 'Next alert', run: () => step(1) }, { keys: 'k', text: 'Alert before', run: () => step(-1) },
		...(can('alerts:write') ? [{ keys: 'a', text: 'Acknowledge the open alert', run: () => selected?.status === 'firing' && acknowledge(selected).then((done) => done && put(done)) }] : [])]);
	const name = ruleId && rows[0]?.ruleName;
	const filtered = severity || ruleId || !['open', 'all'].includes(status);
	return html`<div class="page">
		<header class="page-head"><div><h1>Alerts</h1><p>${name ? html`Of rule <a class="break" href=${orgPath(`/alert-rules/${ruleId}`)}>${name}</a>. ` : 'What fires, who looks after it, and what is over. '}Resolved alerts are kept for 90 days.</p></div>
			<${LinkButton} href=${orgPath('/alert-rules')} icon="list">Alert rules<//></header>
		<div class="row-between"><div class="chips" role="group" aria-label="Status">${statuses.map(([id, label]) => html`<button type="button" key=${id} class="chip chip-button"
				aria-pressed=${id === status ? 'true' : 'false'} onClick=${() => filter({ status: id === 'open' ? null : id })}>${label}</button>`)}</div>
			<div class="row">${ruleId && html`<${Button} size="small" icon="close" onClick=${() => filter({ rule: null })}>All rules<//>`}
				<${Select} label="Severity" hideLabel value=${severity} onInput=${(value) => filter({ severity: value })}
					options=${[{ value: '', label: 'Every severity' }, 'critical', 'warning', 'info']} /></div></div>
		<${ErrorNotice} error=${list.error} retry=${list.reload} />
		${(list.slow || (!fitting && list.loading && list.data)) && html`<${Skeleton} lines="8" />`}
		${fitting && html`<${Table} caption="Alerts" rows=${rows} selected=${chosen} more=${list.data.cursor} onMore=${more} busy=${busy} onRow=${(row) => setQuery({ alert: row.id }, { replace: false })}
			empty=${html`<${EmptyState} icon="check" title=${filtered ? 'No alert is like that' : status === 'all' ? 'Nothing has fired in the last 90 days' : 'Nothing fires'}
				action=${filtered ? html`<${Button} onClick=${() => filter({ status: null, severity: null, rule: null })}>Show what is open<//>`
					: status === 'all' ? html`<${LinkButton} href=${orgPath('/alert-rules')}>Alert rules<//>` : html`<${Button} onClick=${() => filter({ status: 'all' })}>Show what is over<//>`} />`}
			columns=${[
				{ key: 'status', title: 'Status', render: (row) => html`<${AlertStatus} status=${row.status} />` },
				{ key: 'severity', title: 'Severity', render: (row) => html`<${Severity} severity=${row.severity} />` },
				{ key: 'rule', title: 'Alert', class: 'rule-name', names: true, render: (row) => html`<a class="break" href=${`${orgPath('/alerts')}${alertQuery(row.id)}`}>${row.ruleName}</a>
					${groupText(row.groupKey) && html`<span class="small mono muted truncate-2">${groupText(row.groupKey)}</span>`}` },
				{ key: 'value', title: 'Value', align: 'end', render: (row) => html`${valueText(row.value)}${row.threshold !== null && html`<span class="faint"> / ${valueText(row.threshold)}</span>`}` },
				{ key: 'started', title: 'Began', render: (row) => html`<${RelativeTime} value=${row.startedAt} />` },
				{ key: 'ended', title: 'Ended', render: (row) => html`<${RelativeTime} value=${row.resolvedAt} none="-" />` },
				{ key: 'act', title: 'Acknowledge', hideTitle: true, align: 'end', render: (row) => row.status === 'firing' && can('alerts:write')
					&& html`<${Button} size="small" onClick=${() => acknowledge(row).then((done) => done && put(done))}>Acknowledge<//>` },
			]} />`}
		${chosen && html`<${AlertDrawer} key=${chosen} id=${chosen} known=${selected} onChange=${put} onClose=${() => setQuery({ alert: null })} />`}
	</div>`;
}

// The address with another alert in its drawer.
function alertQuery(id)
{
	const next = new URLSearchParams(query.value);
	next.set('alert', id);
	return `?${next}`;
}
