/*
 * button.js: buttons, and links that look like one.
 */
import { html } from '../view.js';
import { Icon } from './icon.js';

const classes = ({ kind = 'default', size, extra }) =>
	['button', `button-${kind}`, size === 'small' && 'button-small', extra].filter(Boolean).join(' ');

/**
 * A button. kind: default, primary, danger, ghost; size: small; icon: a name; busy: works, and is not pressed again;
 * reason: why it is disabled (shown as its tooltip and read aloud; it can be focused then, so that people find out).
 */
export function Button({ kind, size, icon, busy, reason, disabled, type = 'button', onClick, children, class: extra, ...rest })
{
	const off = disabled || busy || Boolean(reason);
	return html`<button type=${type} class=${classes({ kind, size, extra })} aria-disabled=${off ? 'true' : undefined}
		aria-busy=${busy ? 'true' : undefined} disabled=${disabled && !reason} title=${reason || rest.title}
		onClick=${(event) => (off ? event.preventDefault() : onClick?.(event))} ...${rest}>
		${busy ? html`<span class="spinner" aria-hidden="true"></span>` : icon && html`<${Icon} name=${icon} />`}
		${children && html`<span>${children}</span>`}
		${reason && html`<span class="visually-hidden"> (${reason})</span>`}
	</button>`;
}

/** A button that is an icon only; label says what it does. */
export function IconButton({ icon, label, onClick, size, kind = 'ghost', class: extra, ...rest })
{
	return html`<button type="button" class=${classes({ kind, size, extra: `button-icon ${extra ?? ''}` })} aria-label=${label}
		title=${label} onClick=${onClick} ...${rest}><${Icon} name=${icon} /></button>`;
}

/** A link that looks like a button. */
export function LinkButton({ href, kind, size, icon, children, class: extra, ...rest })
{
	return html`<a class=${classes({ kind, size, extra })} href=${href} ...${rest}>
		${icon && html`<${Icon} name=${icon} />`}<span>${children}</span></a>`;
}
