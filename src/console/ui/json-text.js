/*
 * json-text.js: a value as indented JSON, in a box of its own, cut when it is long; the button copies all of it.
 */
import { html } from '../view.js';
import { CopyButton } from './copy-button.js';

const most = 20_000;

/** The value; label: what it is, as in "Details". */
export function JsonText({ value, label })
{
	const text = JSON.stringify(value, null, 2);
	const cut = text.length > most;
	return html`<figure class="json-text"><figcaption class="row-between small"><strong>${label}</strong><${CopyButton} text=${text} label=${`Copy ${label.toLowerCase()}`} compact /></figcaption>
		<pre tabindex="0" role="group" aria-label=${label}><code>${cut ? text.slice(0, most) : text}</code></pre>
		${cut && html`<p class="small muted">The first ${most.toLocaleString('en-US')} of ${text.length.toLocaleString('en-US')} characters. The button copies all.</p>`}</figure>`;
}
