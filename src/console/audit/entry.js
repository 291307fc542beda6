/*
 * entry.js: an entry of the audit log in a drawer.
 */
import { html } from '../view.js';
import { Button } from '../ui/button.js';
import { Drawer } from '../ui/drawer.js';
import { JsonText } from '../ui/json-text.js';
import { RelativeTime, Time } from '../ui/time.js';

const text = (value) => (value === undefined || value === null || value === '' ? 'none' : Array.isArray(value) ? value.map(text).join(', ') || 'none'
	: typeof value === 'object' ? JSON.stringify(value) : String(value));
const isChange = (value) => value !== null && typeof value === 'object' && 'from' in value && 'to' in value;

/** What an entry says was changed: [{name, from, to}]; name '': the object itself. */
export function changesOf(details)
{
	if (!details || typeof details !== 'object')
		return [];
	return [...(isChange(details) ? [{ name: '', from: details.from, to: details.to }] : []),
		...Object.entries(details).filter(([, value]) => isChange(value)).map(([name, value]) => ({ name, from: value.from, to: value.to }))];
}

function Changes({ changes, action })
{
	return html`<table class="table"><caption class="visually-hidden">What was changed</caption>
		<thead><tr><th scope="col">Changed</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
		<tbody>${changes.map((one) => html`<tr key=${one.name}><th scope="row" class="break">${one.name || action.split('.')[1].replace(/_?changed$/, '').replaceAll('_', ' ') || 'value'}</th>
			<td class="break"><bdi>${text(one.from)}</bdi></td><td class="break"><bdi>${text(one.to)}</bdi></td></tr>`)}</tbody></table>`;
}

/** The drawer. onFilter({actor} or {action} or {type}) shows only the like. */
export function Entry({ entry, onFilter, onClose })
{
	const changes = changesOf(entry.details);
	return html`<${Drawer} title=${entry.action} onClose=${onClose}>
		<div class="stack">
			<dl class="facts"><dt>Time</dt><dd><${Time} value=${entry.timestamp} precise /> (<${RelativeTime} value=${entry.timestamp} />)</dd>
				<dt>Actor</dt><dd class="break"><bdi>${entry.actor}</bdi></dd>
				<dt>Action</dt><dd><code>${entry.action}</code></dd>
				<dt>Object</dt><dd class="break"><code><bdi>${entry.resource || '-'}</bdi></code></dd>
				<dt>Address</dt><dd><code>${entry.ip_address ?? '-'}</code></dd>
				<dt>Program</dt><dd class="break"><bdi>${entry.user_agent || '-'}</bdi></dd></dl>
			${changes.length > 0 && html`<${Changes} changes=${changes} action=${entry.action} />`}
			<div class="row"><${Button} size="small" icon="filter" onClick=${() => onFilter({ actor: entry.actor })}>This actor<//>
				<${Button} size="small" icon="filter" onClick=${() => onFilter({ action: entry.action })}>This action<//></div>
			<${JsonText} label="Entry" value=${entry} />
		</div>
	<//>`;
}
