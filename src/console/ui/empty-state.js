/*
 * empty-state.js: there is nothing yet: what would be here, and the one action that brings it.
 */
import { html } from '../view.js';
import { Icon } from './icon.js';

/** An empty state. icon, title, children: a sentence or two; action: one Button or LinkButton. */
export function EmptyState({ icon, title, action, children })
{
	return html`<div class="empty">${icon && html`<span class="empty-icon"><${Icon} name=${icon} /></span>`}
		<h2>${title}</h2>${children && html`<div class="muted">${children}</div>`}${action}</div>`;
}
