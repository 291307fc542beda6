/*
 * shared.js: a dashboard for whoever has its link: no account, no navigation, nothing to change.
 */
import { html, useEffect, useState } from '../view.js';
import { api } from '../api.js';
import { query } from '../router.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { LinkButton } from '../ui/button.js';
import { Skeleton } from '../ui/skeleton.js';
import { RelativeTime } from '../ui/time.js';
import { useLoad } from '../ui/use-load.js';
import { Grid } from './grid.js';
import { settle } from './layout.js';
import { PanelContent, PanelNotes } from './panel.js';
import { rangeText } from '../search/time-text.js';
import { useData } from './use-data.js';
import { changedValues, chooseValues, valuesOf, VariablesBar } from './variables.js';

const outside = { organization: null, signIn: false };

/** The screen. */
export default function Shared({ params })
{
	const where = `/api/v1/shared/${encodeURIComponent(params.token)}`;
	const dashboard = useLoad((abort) => api.get(where, { ...outside, abort }).then((answer) => answer.data), [where]);
	const seen = dashboard.data;
	const values = valuesOf(seen?.variables, query.value);
	const chosen = changedValues((seen?.variables ?? []).filter((one) => one.kind === 'list'), values);
	const [zone] = useState('shared');
	// What viewers see is kept for 30 s, and an address has 5 requests a minute.
	const data = useData({ key: seen ? JSON.stringify(chosen) : null, refresh: seen?.refreshSeconds ? Math.max(30, seen.refreshSeconds) : null,
		read: (abort) => api.post(`${where}/data`, Object.keys(chosen).length ? { variables: chosen } : {}, { ...outside, abort, reads: true }) });
	useEffect(() => {
		if (seen)
			document.title = `${seen.name} · logsvc`;
	}, [seen]);
	if (dashboard.error)
		return html`<main id="main" tabindex="-1"><div class="page page-narrow">${dashboard.error.status === 404 ? html`<h1 class="visually-hidden">No such dashboard</h1><${EmptyState} icon="link" title="This link shows nothing"
			action=${html`<${LinkButton} href="/">Go to logsvc<//>`}><p>It has ended, was replaced by another one, or was not copied as a whole.</p><//>` : html`<h1>Dashboard</h1><${ErrorNotice} error=${dashboard.error} retry=${dashboard.reload} />`}</div></main>`;
	if (!seen)
		return dashboard.slow ? html`<main class="page"><h1 class="visually-hidden">Dashboard</h1><${Skeleton} lines="8" /></main>` : null;
	return html`<main id="main" tabindex="-1"><div class="page page-full">
		<header class="page-head"><div><h1><bdi>${seen.name}</bdi></h1>${seen.description && html`<p class="break">${seen.description}</p>`}</div>
			<p class="small muted">${rangeText({ earliest: seen.timeRange?.earliest ?? '-24h', latest: seen.timeRange?.latest ?? 'now' })}${data.at && html`, loaded <${RelativeTime} value=${data.at} />`}</p></header>
		<${VariablesBar} shared variables=${seen.variables} values=${values} onValues=${chooseValues} />
		<${ErrorNotice} error=${data.error} retry=${data.reload} />
		<${Grid} panels=${settle(seen.panels.map((one, index) => ({ ...one, layout: one.layout ?? { x: 0, y: index * 8, w: 24, h: 8 } })))} render=${(panel) => ({
			head: html`<${PanelNotes} answer=${data.data?.panels?.[panel.id]} />`, content: html`<${PanelContent} panel=${panel} answer=${data.data?.panels?.[panel.id]} group=${zone} />` })} />
		<footer class="small faint">Shown by logsvc. Only the owner of the link can change what is here.</footer></div></main>`;
}
