/*
 * entry.js: an entry of the audit log in a drawer.
 */
import { html } from '../view.js';
import { Button } from '../ui/button.js';
import { Drawer } from '../ui/drawer.js';
import { JsonText } from '../ui/json-text.js';
import { RelativeTime, Time } from '../ui/time.js';

/** The drawer. onFilter({actor} or {action} or {type}) shows only the like. */
export function Entry({ entry, onFilter, onClose })
{
	return html`<${Drawer} title=${entry.action} onClose=${onClose}>
		<div class="stack">
			<dl class="facts"><dt>Time</dt><dd><${Time} value=${entry.timestamp} precise /> (<${RelativeTime} value=${entry.timestamp} />)</dd>
				<dt>Actor</dt><dd class="break"><bdi>${entry.actor}</bdi></dd>
				<dt>Action</dt><dd><code>${entry.action}</code></dd>
				<dt>Object</dt><dd class="break"><code><bdi>${entry.resource || '-'}</bdi></code></dd>
				<dt>Address</dt><dd><code>${entry.ip_address ?? '-'}</code></dd>
				<dt>Program</dt><dd class="break"><bdi>${entry.user_agent || '-'}</bdi></dd></dl>
			<div class="row"><${Button} size="small" icon="filter" onClick=${() => onFilter({ actor: entry.actor })}>This actor<//>
				<${Button} size="small" icon="filter" onClick=${() => onFilter({ action: entry.action })}>This action<//></div>
			<${JsonText} label="Entry" value=${entry} />
		</div>
	<//>`;
}
