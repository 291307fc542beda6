/*
 * badge.js: a word about a state. The word says it; the colour only helps.
 */
import { html } from '../view.js';

/** A badge. kind: neutral, accent, ok, warn, danger; dot: with a dot before it. */
export function Badge({ kind = 'neutral', dot, children })
{
	return html`<span class=${`badge badge-${kind}`}>${dot && html`<span class="badge-dot" aria-hidden="true"></span>`}${children}</span>`;
}

/** The class of an event's level, for its colour: levelClass('error'). */
export function levelClass(level)
{
	return `level-${['trace', 'debug', 'info', 'warn', 'error', 'fatal'].includes(level) ? level : 'other'}`;
}

/** The level of an event, as text in its colour. */
export function Level({ level })
{
	return html`<span class=${`level ${levelClass(level)}`}>${level ?? '-'}</span>`;
}
