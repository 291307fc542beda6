/*
 * channels.js: who is told: the channels of a rule, the secret of a new webhook, and a test of them.
 */
import { html, useEffect, useRef, useState } from '../view.js';
import { api, isAbort } from '../api.js';
import { Badge } from '../ui/badge.js';
import { Button, IconButton } from '../ui/button.js';
import { Combobox } from '../ui/combobox.js';
import { CopyBox } from '../ui/copy-button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field, PasswordField, Select } from '../ui/field.js';
import { sendsMail } from '../ui/mail.js';
import { useMembers } from '../ui/people.js';

const formats = [
	{ value: 'logsvc', label: 'JSON, signed' }, { value: 'slack', label: 'Slack' }, { value: 'pagerduty', label: 'PagerDuty' },
];

const secretHints = {
	logsvc: 'Signs each request. Leave it empty, and one is made and shown once.',
	slack: 'Slack needs none.',
	pagerduty: 'The integration key of the service in PagerDuty.',
};

/** A mail to a member. */
export function EmailTarget({ value, onInput, error })
{
	const members = useMembers();
	return html`<${Combobox} label="Member" hint=${sendsMail() ? 'Mails go to members who have confirmed their address.' : 'This service sends no mails as it is set up: nothing will arrive.'} value=${value} onInput=${onInput} error=${error}
		options=${members.map((one) => ({ value: one.email, label: one.email, hint: one.name ?? '' }))} />`;
}

/** URL, format and secret of a webhook; before: the channel as it is stored, if it is. */
export function WebhookTarget({ channel, onInput, errorAt })
{
	const format = channel.format ?? 'logsvc';
	return html`<${Field} label="URL" type="url" placeholder="https://..." value=${channel.target} error=${errorAt('target')} spellcheck=${false} autocomplete="off"
			onInput=${(target) => onInput({ ...channel, target })} />
		<${Select} label="Format" value=${format} error=${errorAt('format')} options=${formats} onInput=${(next) => onInput({ ...channel, format: next })} />
		<${PasswordField} label=${format === 'pagerduty' ? 'Integration key' : 'Secret'} optional=${format !== 'pagerduty'} autocomplete="off" value=${channel.secret ?? ''} error=${errorAt('secret')}
			hint=${channel.secretSet ? 'There is a secret, which is never shown again. Write another one to replace it.' : secretHints[format]}
			onInput=${(secret) => {
				const { secret: gone, ...rest } = channel;
				onInput(secret ? { ...rest, secret } : rest);
			}} />`;
}

/** The channels. channels: of the draft; onInput gets others; errorAt(path). */
export function Channels({ channels, onInput, errorAt })
{
	const put = (at, channel) => onInput(channels.map((one, index) => (index === at ? channel : one)));
	return html`<div class="stack">
		${channels.map((channel, at) => html`<fieldset key=${at} class="channel"><legend class="row"><${Badge}>${channel.kind === 'email' ? 'e-mail' : channel.kind}<//> channel ${at + 1}</legend>
			<div class="channel-fields">${channel.kind === 'email'
				? html`<${EmailTarget} value=${channel.target} onInput=${(target) => put(at, { ...channel, target })} error=${errorAt(`notify[${at}].target`) ?? errorAt(`notify[${at}]`)} />`
				: html`<${WebhookTarget} channel=${channel} onInput=${(next) => put(at, next)} errorAt=${(name) => errorAt(`notify[${at}].${name}`)} />`}</div>
			<${IconButton} icon="trash" size="small" label=${`Remove channel ${at + 1}`} onClick=${() => onInput(channels.filter((_, index) => index !== at))} /></fieldset>`)}
		${channels.length === 0 && html`<p class="muted">Nobody is told: alerts are only listed. Add a channel to be woken up.</p>`}
		${channels.length < 20 && html`<div class="row">
			<${Button} size="small" icon="mail" onClick=${() => onInput([...channels, { kind: 'email', target: '' }])}>Add an e-mail<//>
			<${Button} size="small" icon="link" onClick=${() => onInput([...channels, { kind: 'webhook', target: '', format: 'logsvc' }])}>Add a webhook<//></div>`}
	</div>`;
}

function Secrets({ close, made })
{
	return html`<${Dialog} title=${made.length === 1 ? 'The secret of your webhook' : 'The secrets of your webhooks'} closeBeside=${false} footer=${html`
		<${Button} kind="primary" onClick=${() => close()} data-autofocus>I have stored ${made.length === 1 ? 'it' : 'them'}<//>`}>
		<div class="stack"><p><strong>Shown only now.</strong> Requests carry <code>X-Logsvc-Signature</code>, an HMAC-SHA256 by this secret.</p>
			${made.map((one) => html`<div key=${one.target} class="stack-s"><span class="small muted break">${one.target}</span><${CopyBox} text=${one.secret} label="Copy secret" /></div>`)}</div><//>`;
}

/** Shows the secrets that the service has made for channels of this answer, once. typed: those that the user gave. */
export function showSecrets(channels, typed = [])
{
	const made = (channels ?? []).filter((one) => one.secret && !typed.includes(one.secret));
	return made.length ? openDialog((close) => html`<${Secrets} close=${close} made=${made} />`) : Promise.resolve();
}

const stateKinds = { sent: 'ok', failed: 'danger', waiting: 'neutral', sending: 'accent' };

/** What became of a delivery. */
export function DeliveryState({ row })
{
	return html`<span class="row"><${Badge} kind=${stateKinds[row.state]} dot>${row.state}<//>${row.status && html`<span class="small muted">HTTP ${row.status}</span>`}</span>`;
}

/** A button that sends a test to each channel, and what became of it. */
export function ChannelTest({ id, count, reason })
{
	const [state, setState] = useState({});
	const control = useRef(null);
	useEffect(() => () => control.current?.abort(), []);
	async function run()
	{
		control.current?.abort();
		const mine = new AbortController();
		control.current = mine;
		setState({ busy: true });
		try {
			let rows = (await api.post(`/api/v1/alert-rules/${id}/notify-test`, {}, { abort: mine.signal })).data;
			const ids = rows.map((one) => one.id);
			// A try may take 10 seconds; of later ones the deliveries tell.
			for (let turn = 0; turn < 20 && rows.some((one) => ['waiting', 'sending'].includes(one.state) && !one.attempts); turn++) {
				setState({ busy: true, rows });
				await new Promise((resolve) => setTimeout(resolve, 1000));
				const log = (await api.get(`/api/v1/alert-rules/${id}/deliveries`, { query: { limit: 100 }, abort: mine.signal })).data;
				rows = ids.map((one) => log.find((row) => row.id === one) ?? rows.find((row) => row.id === one));
			}
			setState({ rows });
		} catch (error) {
			if (!isAbort(error))
				setState({ error });
		}
	}
	return html`<div class="stack-s"><div><${Button} icon="bell" size="small" busy=${state.busy} onClick=${run}
			reason=${reason ?? (count ? undefined : 'The stored rule has no channel')}>Send a test<//></div>
		<${ErrorNotice} error=${state.error} retry=${run} />
		${state.rows && html`<ul class="stack-s" aria-label="Tests that were sent" role="status">${state.rows.map((row) => html`<li key=${row.id} class="row"><${DeliveryState} row=${row} />
			<span class="break small">${row.target}</span>${row.error && html`<span class="break small field-error">${row.error}</span>`}</li>`)}</ul>`}</div>`;
}
