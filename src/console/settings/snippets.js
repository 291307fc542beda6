/*
 * snippets.js: the dialog that shows how to use a key.
 */
import { html } from '../view.js';
import { Button } from '../ui/button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { Snippets } from '../ui/snippets.js';

/** Shows how to use a key that exists; its value is not known any more, so something stands for it. */
export const showSnippets = (key) => openDialog((close) => html`<${Dialog} title="How to use this key" onClose=${() => close()} footer=${html`<${Button} onClick=${() => close()}>Close<//>`}>
	<div class="stack"><p class="muted break">Put the value of <strong><bdi>${key.name}</bdi></strong> (<code>${key.prefix}…</code>) in the place of <code>YOUR_KEY</code>. It was shown when the key was created.</p>
		<${Snippets} value="YOUR_KEY" scope=${key.scope} /></div><//>`);
