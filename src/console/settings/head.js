/*
 * head.js: the head of a screen of the settings.
 */
import { html } from '../view.js';

/** Where one is, the title, a sentence about it (children), and its actions. */
export function SettingsHead({ title, actions, children })
{
	return html`<header class="page-head"><div class="settings-title"><span class="small muted">Settings</span><h1>${title}</h1>
		${children && html`<p>${children}</p>`}</div>${actions && html`<div class="row">${actions}</div>`}</header>`;
}
