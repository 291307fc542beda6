/*
 * new-token.js: the form for a personal access token, and its value, once.
 */
import { html, useId } from '../view.js';
import { api } from '../api.js';
import { Button } from '../ui/button.js';
import { CopyBox } from '../ui/copy-button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Checkbox, Field } from '../ui/field.js';
import { Icon } from '../ui/icon.js';
import { serviceUrl } from '../ui/snippets.js';
import { useForm } from '../ui/use-form.js';
import { ExpiryField, checkExpiry, expiryOf, firstPreset } from './expiry.js';
import { scopeGroups, scopeReason } from './scopes.js';
import { showSecret } from './secret-once.js';

/** Whole numbers from 0, or '' for none: what is wrong, or undefined. */
export const checkCap = (text) => (text === '' || (/^\d{1,10}$/.test(text) && Number(text) <= 1_000_000_000) ? undefined : 'A whole number, or nothing for no cap.');

function tryLine({ token, scopes })
{
	const path = scopes.includes('logs:read') ? '/api/v1/logs?limit=1' : '/api/v1/organizations';
	return `curl -s '${serviceUrl()}${path}' -H 'Authorization: Bearer ${token}'`;
}

function Scopes({ form, permissions })
{
	const { scopes } = form.values;
	const id = useId();
	const toggle = (scope, on) => form.set({ scopes: on ? [...scopes, scope] : scopes.filter((one) => one !== scope) });
	return html`<fieldset class=${`field ${form.errors.scopes ? 'field-invalid' : ''}`} aria-describedby=${form.errors.scopes ? id : undefined}>
		<legend>Scopes</legend>
		<p class="field-hint">A token can do what its scopes say and your role allows, never more.</p>
		${form.errors.scopes && html`<p class="field-error" id=${id}><${Icon} name="alert" /><span>${form.errors.scopes}</span></p>`}
		<div class="scope-groups">${scopeGroups.map((group) => html`<div key=${group.title} role="group" aria-label=${group.title} class="scope-group">
			<h3 class="small">${group.title}</h3>
			${group.scopes.map(([scope, text]) => html`<${Checkbox} key=${scope} name="scopes" label=${html`<code>${scope}</code>`} hint=${text}
				reason=${scopeReason(scope, permissions)} checked=${scopes.includes(scope)} onInput=${(on) => toggle(scope, on)} />`)}</div>`)}</div>
	</fieldset>`;
}

function NewToken({ close, permissions })
{
	const id = useId();
	const form = useForm({
		values: { name: '', expiry: firstPreset, date: '', scopes: [], aiCreditLimit: '' },
		fields: { expiresAt: 'expiry' },
		check: (values) => ({
			...(!values.name.trim() && { name: 'Say what it is for.' }),
			...checkExpiry(values),
			...(!values.scopes.length && { scopes: 'Choose at least one scope.' }),
			...(checkCap(values.aiCreditLimit) && { aiCreditLimit: checkCap(values.aiCreditLimit) }),
		}),
		send: async (values) => {
			const capped = values.scopes.includes('evaluations:run') && values.aiCreditLimit !== '';
			close((await api.post('/api/v1/tokens', { name: values.name.trim(), scopes: values.scopes, expiresAt: expiryOf(values.expiry, values.date),
				...(capped && { aiCreditLimit: Number(values.aiCreditLimit) }) })).data);
		},
	});
	return html`<${Dialog} title="New access token" closeBeside=${false} onClose=${form.busy ? undefined : () => close(null)} footer=${html`
		<${Button} onClick=${() => close(null)} disabled=${form.busy}>Cancel<//>
		<${Button} kind="primary" type="submit" form=${id} busy=${form.busy}>Create token<//>`}>
		<form class="stack" id=${id} onSubmit=${form.submit} novalidate>
			<${Field} label="Name" placeholder="CI of the shop" maxlength="100" required autocomplete="off" data-autofocus ...${form.bind('name')} />
			<${ExpiryField} form=${form} what="token" />
			<${Scopes} form=${form} permissions=${permissions} />
			${form.values.scopes.includes('evaluations:run') && html`<${Field} label="AI credits a month at most" optional inputmode="numeric" maxlength="10"
				hint="Beyond it evaluations with this token are refused." ...${form.bind('aiCreditLimit')} />`}
			<${ErrorNotice} error=${form.error} />
		</form>
	<//>`;
}

/** Asks for a new token, creates it and shows its value once. permissions: those of GET /roles. Answers the token, or null. */
export async function createToken(permissions)
{
	const made = await openDialog((close) => html`<${NewToken} close=${close} permissions=${permissions} />`);
	if (!made)
		return null;
	await showSecret({ title: 'Access token created', what: 'token', secret: made.token, children: html`
		<div class="stack-s"><h3 class="small">Try it</h3><${CopyBox} text=${tryLine(made)} label="Copy command" /></div>` });
	return made;
}
