/*
 * new-key.js: the form for an API key, and its value, once.
 */
import { html, useId } from '../view.js';
import { api } from '../api.js';
import { Button } from '../ui/button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field, RadioCards } from '../ui/field.js';
import { useForm } from '../ui/use-form.js';
import { ExpiryField, checkExpiry, expiryOf } from './expiry.js';
import { showSecret } from './secret-once.js';
import { Snippets } from '../ui/snippets.js';

const list = (text, routes) => html`${text}<span class="routes">${routes.map((one) => html`<code key=${one}>${one}</code>`)}</span>`;
const scopes = [
	{ value: 'ingest-only', label: 'ingest-only', hint: list('Sends events and reads nothing: for shippers and pages.', ['/api/v1/logs', '/v1/logs', '/_bulk', '/loki', '/services/collector']) },
	{ value: 'read-only', label: 'read-only', hint: list('Searches and changes nothing: for dashboards of others.', ['/api/v1/search', '/api/v1/logs', '/api/v1/alerts', '/api/v1/usage', '/mcp']) },
	{ value: 'full-access', label: 'full-access', hint: list('All that an admin may do with the API, but no evaluations and no audit log.', ['/api/v1/…']) },
];
const kinds = [
	{ value: 'live', label: 'Live', hint: 'ing_live_…: events go where they say.' },
	{ value: 'test', label: 'Test', hint: 'ing_test_…: events go to index _test, are kept for a day, and count in a quota of 100 MB a day of their own.' },
];

function NewKey({ close })
{
	const id = useId();
	const form = useForm({
		values: { name: '', scope: 'ingest-only', kind: 'live', expiry: 'never', date: '' },
		fields: { expiresAt: 'expiry' },
		check: (values) => ({ ...(!values.name.trim() && { name: 'Say what it is for.' }), ...checkExpiry(values) }),
		send: async ({ name, scope, kind, expiry, date }) => {
			close((await api.post('/api/v1/api-keys', { name: name.trim(), scope, kind, expiresAt: expiryOf(expiry, date) })).data);
		},
	});
	return html`<${Dialog} title="New API key" closeBeside=${false} onClose=${form.busy ? undefined : () => close(null)} footer=${html`
		<${Button} onClick=${() => close(null)} disabled=${form.busy}>Cancel<//>
		<${Button} kind="primary" type="submit" form=${id} busy=${form.busy}>Create key<//>`}>
		<form class="stack" id=${id} onSubmit=${form.submit} novalidate>
			<${Field} label="Name" placeholder="Fluent Bit of the shop" maxlength="100" required autocomplete="off" data-autofocus ...${form.bind('name')} />
			<${RadioCards} label="Scope" options=${scopes} ...${form.bind('scope')} />
			<${RadioCards} label="Kind" options=${kinds} ...${form.bind('kind')} />
			<${ExpiryField} form=${form} what="key" />
			<${ErrorNotice} error=${form.error} />
		</form>
	<//>`;
}

/** Shows the value of a key that was just made, with what to paste where; answers when it is stored. */
export const showKey = (made) => showSecret({ title: 'API key created', what: 'key', secret: made.key, children: html`
	${made.kind === 'test' && html`<p class="small muted">A test key: its events are in index <code>_test</code> for a day.</p>`}
	<${Snippets} value=${made.key} scope=${made.scope} />` });

/** Asks for a new key, creates it and shows its value once. Answers the key, or null. */
export async function createKey()
{
	const made = await openDialog((close) => html`<${NewKey} close=${close} />`);
	if (made)
		await showKey(made);
	return made;
}
