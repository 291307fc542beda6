/*
 * rotate-key.js: replacing a key without losing an event: a second one of the same name, both in use, the old one
 * revoked when it is silent.
 */
import { html, useEffect, useState } from '../view.js';
import { api } from '../api.js';
import { can } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Drawer } from '../ui/drawer.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { formatDuration } from '../ui/time.js';
import { useForm } from '../ui/use-form.js';
import { ExpiryField, LastUse, checkExpiry, expiryOf } from './expiry.js';
import { showKey } from './new-key.js';
import { isOver, isSilent, replacementOf } from './rotation.js';

function One({ title, one, children })
{
	return html`<div class="card stack-s"><div class="row-between"><h3>${title}</h3>${children}</div>
		<code class="small">${one.prefix}…</code><p class="small">Last use: <${LastUse} one=${one} /></p></div>`;
}

function Create({ of, reason, onMade })
{
	const form = useForm({
		values: { expiry: 'never', date: '' },
		fields: { expiresAt: 'expiry' },
		check: checkExpiry,
		send: async ({ expiry, date }) => {
			const { data } = await api.post('/api/v1/api-keys', { name: of.name, scope: of.scope, kind: of.kind, expiresAt: expiryOf(expiry, date) });
			await showKey(data);
			onMade();
		},
	});
	return html`<form class="stack" onSubmit=${form.submit} novalidate>
		<p>The new key gets the same name, scope and kind. The old one goes on working until you revoke it.</p>
		<${ExpiryField} form=${form} what="key" />
		<${ErrorNotice} error=${form.error} />
		<div><${Button} kind="primary" type="submit" busy=${form.busy} reason=${reason}>Create the new key<//></div></form>`;
}

/** The drawer. full: why there can be no more keys, or undefined; onRevoke(key) asks and revokes it. */
export function RotateKey({ of, keys, full, reload, onRevoke, onClose })
{
	const next = replacementOf(of, keys);
	const over = isOver(of);
	const [now, setNow] = useState(Date.now());
	useEffect(() => {
		if (!next || over)
			return undefined;
		const timer = setInterval(() => {
			setNow(Date.now());
			if (document.visibilityState === 'visible')
				reload();
		}, 15_000);
		return () => clearInterval(timer);
	}, [next?.id, over]);
	const silent = isSilent(of, next, now);
	const step = over ? 4 : next ? (silent ? 3 : 2) : 1;
	const quiet = of.lastUsedAt ? `silent for ${formatDuration(now - Date.parse(of.lastUsedAt))}` : 'never used';
	return html`<${Drawer} title=${`Rotate ${of.name}`} onClose=${onClose}>
		<ol class="steps">
			<li class=${step > 1 ? 'is-done' : ''} aria-current=${step === 1 ? 'step' : undefined}><h3>Create a second key</h3>
				${step === 1 && html`<${Create} of=${of} reason=${full} onMade=${reload} />`}</li>
			<li class=${step > 2 ? 'is-done' : ''} aria-current=${step === 2 ? 'step' : undefined}><h3>Change what uses the old one</h3>
				${step === 2 && html`<div class="stack"><p>This page looks every few seconds. A use is noted at most every ten minutes, so the old key counts as silent after twenty.</p>
					<${One} title="New key" one=${next}>${next.lastUsedAt ? html`<${Badge} kind="ok" dot>in use<//>` : html`<${Badge}>waiting for its first use<//>`}<//>
					<${One} title="Old key" one=${of}>${of.lastUsedAt && html`<${Badge} kind="warn" dot>in use not long ago<//>`}<//>
					${can('keys:revoke') && html`<div><${Button} onClick=${() => onRevoke(of)}>Revoke the old key all the same<//></div>`}</div>`}</li>
			<li class=${step > 3 ? 'is-done' : ''} aria-current=${step === 3 ? 'step' : undefined}><h3>Revoke the old one</h3>
				${step === 3 && html`<div class="stack"><${One} title="New key" one=${next}><${Badge} kind="ok" dot>in use<//><//>
					<${One} title="Old key" one=${of}><${Badge} kind="ok" dot>${quiet}<//><//>
					${can('keys:revoke') && html`<div><${Button} kind="danger" onClick=${() => onRevoke(of)}>Revoke the old key<//></div>`}</div>`}</li>
		</ol>
		${step === 4 && html`<div class="stack"><p><${Badge} kind="ok" dot>done<//> The old key is revoked.</p><div><${Button} onClick=${onClose}>Close<//></div></div>`}
	<//>`;
}
