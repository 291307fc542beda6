/*
 * auth-page.js: the frame of pages for people who are not signed in: one column.
 */
import { html } from '../view.js';
import { config } from '../session.js';
import { LinkButton } from '../ui/button.js';
import { providerNames } from './provider-names.js';

/** One column with a title; foot: links below. */
export function AuthPage({ title, lead, foot, children })
{
	return html`<main class="auth" id="main" tabindex="-1"><div class="auth-box">
		<p class="auth-brand"><span class="switcher-mark" aria-hidden="true">l</span> logsvc</p>
		<div class="stack-s"><h1>${title}</h1>${lead && html`<p class="muted">${lead}</p>`}</div>
		${children}
		${foot && html`<p class="auth-foot small">${foot}</p>`}
	</div></main>`;
}

/** Buttons of the identity providers that the service has; nothing when it has none. */
export function Providers({ redirectTo = '/', verb = 'Continue' })
{
	const providers = config.value?.oauthProviders ?? [];
	if (!providers.length)
		return null;
	return html`<div class="stack-s">${providers.map((one) => html`<${LinkButton} key=${one} class="auth-wide"
		href=${`/api/v1/auth/oauth/${one}/start?redirectTo=${encodeURIComponent(redirectTo)}`}>${verb} with ${providerNames[one] ?? one}<//>`)}
		<p class="auth-or" aria-hidden="true"><span>or</span></p></div>`;
}
