/*
 * delivery.js: where the file of a scheduled export goes.
 */
import { html } from '../view.js';
import { EmailTarget, WebhookTarget } from '../alerts/channels.js';
import { Field, PasswordField, RadioCards, Select } from '../ui/field.js';

const kinds = [
	{ value: 'download', label: 'Download', hint: 'Kept here for 7 days.' }, { value: 'email', label: 'E-mail', hint: 'A link to a member.' },
	{ value: 'webhook', label: 'Webhook', hint: 'A link to a URL.' }, { value: 'objectStore', label: 'Object store', hint: 'A file in a bucket, by the protocol of S3.' },
];

const fresh = {
	download: { kind: 'download' }, email: { kind: 'email', target: '' }, webhook: { kind: 'webhook', target: '', format: 'logsvc' },
	objectStore: { kind: 'objectStore', endpoint: '', region: 'us-east-1', bucket: '', prefix: '', addressing: 'path', accessKeyId: '' },
};

/** In a few words: download, mail to ann@..., s3://bucket/prefix. */
export function deliveryWords(delivery)
{
	return { download: () => 'download', email: () => `mail to ${delivery.target}`, webhook: () => delivery.target,
		objectStore: () => `s3://${delivery.bucket}${delivery.prefix ? `/${delivery.prefix}` : ''}` }[delivery.kind]?.() ?? delivery.kind;
}

function ObjectStore({ delivery, put, errorAt })
{
	const text = (name, label, more) => html`<${Field} label=${label} value=${delivery[name] ?? ''} error=${errorAt(`delivery.${name}`)} spellcheck=${false} autocomplete="off"
		onInput=${(value) => put({ [name]: value })} ...${more} />`;
	return html`<div class="field-grid">${text('endpoint', 'Endpoint', { type: 'url', placeholder: 'https://...', hint: 'Without a path.' })}
		${text('region', 'Region')}${text('bucket', 'Bucket')}${text('prefix', 'Prefix', { optional: true, hint: 'The key is PREFIX/EXPORT ID/NAME-FROM-TO.FORMAT.' })}
		<${Select} label="The bucket is named" value=${delivery.addressing ?? 'path'} options=${[{ value: 'path', label: 'in the path' }, { value: 'virtualHost', label: 'in front of the host' }]} onInput=${(addressing) => put({ addressing })} />
		${text('accessKeyId', 'Access key id')}
		<${PasswordField} label="Secret access key" autocomplete="off" value=${delivery.secretAccessKey ?? ''} error=${errorAt('delivery.secretAccessKey')} onInput=${(secret) => put({ secretAccessKey: secret || undefined })}
			hint=${delivery.secretSet ? 'It is stored, and never shown. It stays as long as endpoint, bucket and key id do.' : 'Never shown again. It needs s3:PutObject, s3:AbortMultipartUpload and s3:ListBucketMultipartUploads.'} /></div>`;
}

/** The delivery. onInput gets another one; errorAt(path): what the service said. */
export function Delivery({ delivery, onInput, errorAt })
{
	const put = (changes) => onInput(Object.fromEntries(Object.entries({ ...delivery, ...changes }).filter(([, value]) => value !== undefined)));
	return html`<div class="stack"><${RadioCards} label="Where the file goes" name="delivery" value=${delivery.kind} options=${kinds} onInput=${(kind) => onInput(fresh[kind])} error=${errorAt('delivery')} />
		${delivery.kind === 'email' && html`<${EmailTarget} value=${delivery.target} error=${errorAt('delivery.target')} onInput=${(target) => put({ target })} />`}
		${delivery.kind === 'webhook' && html`<div class="field-grid"><${WebhookTarget} channel=${delivery} onInput=${onInput} errorAt=${(name) => errorAt(`delivery.${name}`)} /></div>`}
		${delivery.kind === 'objectStore' && html`<${ObjectStore} delivery=${delivery} put=${put} errorAt=${errorAt} />`}</div>`;
}
