/*
 * main.js: starts the console.
 */
import { html, render } from './view.js';
import { App } from './shell/app.js';
import { followLinks } from './router.js';
import { applyTheme } from './shell/theme.js';

applyTheme();
followLinks(document);
render(html`<${App} />`, document.getElementById('app'));
