/*
 * first-run.js: an organization without events: one line that sends the first one, and what comes of it.
 */
import { html, useEffect, useState } from '../view.js';
import { api } from '../api.js';
import { can, organization, orgPath } from '../session.js';
import { screens } from '../screens.js';
import { Badge, Level } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Icon } from '../ui/icon.js';
import { Snippets } from '../ui/snippets.js';
import { Time } from '../ui/time.js';
import { lineOf, visible } from './event-fields.js';
import { followEvents } from './tail-stream.js';

// In the database there is no key.
const inSql = { id: 'sql', label: 'SQL', hint: 'In the database, as a role that may act for this organization. The event is part of your transaction.',
	text: 'SELECT logsvc.log(\'payment refused\', \'error\', \'checkout\', \'{"order": 4711}\');' };

/** The page. onDone(): the first event is there. */
export function FirstRun({ onDone })
{
	const [key, setKey] = useState(null);
	const [busy, setBusy] = useState(false);
	const [error, setError] = useState(null);
	const [first, setFirst] = useState(null);
	const [tail, setTail] = useState({ state: 'connecting', error: null });
	const [turn, setTurn] = useState(0);
	const mayMake = can('keys:manage');

	useEffect(() => {
		if (first)
			return undefined;
		return followEvents('', {
			events: (events) => setFirst((now) => now ?? events[0]),
			skipped: () => {},
			state: (state) => setTail({ state, error: null }),
			error: (caught) => setTail({ state: 'ended', error: caught }),
		});
	}, [turn, Boolean(first)]);

	async function makeKey()
	{
		setBusy(true);
		setError(null);
		try {
			const answer = await api.post('/api/v1/api-keys', { name: 'First events', scope: 'ingest-only' });
			setKey(answer.data.key);
		} catch (caught) {
			setError(caught);
		} finally {
			setBusy(false);
		}
	}
	const keys = screens.find((one) => /api-keys$/.test(one.path));
	return html`<div class="page page-narrow first-run">
		<header class="page-head"><div><h1>Send your first event</h1>
			<p>${organization.value.name} has no events yet. Whatever can make an HTTP request can send some; they are found at once.</p></div></header>
		${first ? html`<section class="card first-event" role="status"><div class="row"><${Badge} kind="ok" dot>Your first event is here<//></div>
				<p class="break"><${Time} value=${first.timestamp} precise /> <${Level} level=${first.level} /> <bdi class="mono">${visible(lineOf(first.event, 500))}</bdi></p>
				<div><${Button} kind="primary" icon="search" onClick=${onDone} data-autofocus>Search it<//></div></section>`
			: html`
		<ol class="first-steps">
			<li class="stack-s"><h2>An API key</h2>
				${key ? html`<p class="row"><${Icon} name="check" /> <span>The key <strong>First events</strong> can only send. It is in the command below, and is shown this once.</span></p>`
					: mayMake ? html`<p class="muted">It can only send events, and can be revoked at any time.</p><div><${Button} kind="primary" icon="key" busy=${busy} onClick=${makeKey}>Create an API key<//></div>`
						: html`<p class="muted">Ask an owner or admin of ${organization.value.name} for a key with scope <code>ingest-only</code>, and put it in the place of <code>YOUR_API_KEY</code>.</p>`}
				<${ErrorNotice} error=${error}>${error?.code === 'PLAN_LIMIT_REACHED' && html`<p>Revoke a key that is not used${keys ? html`, on <a href=${orgPath(keys.path)}>API keys</a>` : ''}, or use one that you have. An owner can change the plan.</p>`}<//></li>
			<li class="stack-s"><h2>An event</h2>
				<${Snippets} value=${key ?? 'YOUR_API_KEY'} scope="ingest-only" more=${[inSql]} /></li>
			<li class="stack-s"><h2>See it here</h2>
				${tail.error ? html`<${ErrorNotice} error=${tail.error} retry=${() => setTurn((now) => now + 1)} />`
					: html`<p class="row waiting" role="status"><span class=${`pulse ${tail.state === 'live' ? 'is-on' : ''}`} aria-hidden="true"></span>
						${tail.state === 'live' ? 'Waiting for the first event. It appears on this page by itself.' : 'Connecting.'}</p>`}</li>
		</ol>`}
	</div>`;
}
