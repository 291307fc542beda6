/*
 * skeleton.js: grey lines in the place of what is loading. Show it only after 150 ms: useLoad's `slow` says when.
 */
import { html } from '../view.js';

/** `lines` grey lines, as high as rows of a table. */
export function Skeleton({ lines = 5, label = 'Loading' })
{
	return html`<div class="skeleton" role="status" aria-label=${label}>
		${Array.from({ length: lines }, (_, index) => html`<span key=${index} class=${`skeleton-line skeleton-${index % 3}`}></span>`)}</div>`;
}
