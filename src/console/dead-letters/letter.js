/*
 * letter.js: a dead letter in a drawer.
 */
import { html } from '../view.js';
import { can } from '../session.js';
import { Button } from '../ui/button.js';
import { Drawer } from '../ui/drawer.js';
import { JsonText } from '../ui/json-text.js';
import { formatNumber } from '../ui/numbers.js';
import { Time } from '../ui/time.js';
import { reasonTexts } from './reasons.js';

/** The drawer; the buttons are there while it waits. */
export function Letter({ letter, onReplay, onDiscard, onClose })
{
	return html`<${Drawer} title=${reasonTexts[letter.reason]?.title ?? letter.reason} onClose=${onClose} wide>
		<div class="stack">
			<dl class="facts"><dt>Error</dt><dd class="break">${letter.lastError}</dd><dt>Events</dt><dd>${formatNumber(letter.events)}</dd><dt>Attempts</dt><dd>${formatNumber(letter.attempts)}</dd>
				<dt>First failure</dt><dd><${Time} value=${letter.firstFailedAt} /></dd><dt>Last failure</dt><dd><${Time} value=${letter.lastFailedAt} /></dd>
				${letter.closedAt && html`<dt>Closed</dt><dd><${Time} value=${letter.closedAt} /> (${letter.status})</dd>`}<dt>Id</dt><dd><code class="break">${letter.id}</code></dd></dl>
			${letter.status === 'dead' && html`<div class="row"><${Button} icon="refresh" onClick=${onReplay}>Replay<//>${can('logs:export') && html`<${Button} icon="trash" onClick=${onDiscard}>Discard<//>`}</div>`}
			${letter.event ? html`<${JsonText} label=${letter.events > 1 ? 'The first event' : 'Event'} value=${letter.event} />` : html`<p class="muted">Its event cannot be shown: it is damaged, or was given up.</p>`}
		</div>
	<//>`;
}
