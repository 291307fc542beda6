/*
 * retention.js: what a number of days means for an index: its size, and what would be deleted.
 */
import { html } from '../view.js';
import { Icon } from '../ui/icon.js';
import { formatBytes } from '../ui/numbers.js';
import { formatDay } from '../ui/time.js';

const day = 86_400_000;

/**
 * {perDay, size, deletesBefore} of an index that keeps events for `days`, at the pace of what it holds now. perDay null:
 * it holds nothing, or the caller may not know; deletesBefore null: nothing that is there is older.
 */
export function consequence(index, days, now = Date.now())
{
	if (!index.oldest || !index.sizeBytes)
		return { perDay: null, size: null, deletesBefore: null };
	// Events may be older than they are here: what is kept began at most as long ago as it is kept.
	const held = Math.max(1, Math.min((now - Date.parse(index.oldest)) / day, index.retentionDays ?? Infinity));
	const perDay = index.sizeBytes / held;
	const cut = now - days * day;
	return { perDay, size: perDay * days, deletesBefore: Date.parse(index.oldest) < cut ? cut : null };
}

/** That in a sentence; days: a number, or nothing while it is not one. */
export function Consequence({ index, days })
{
	if (!Number.isInteger(days) || days < 1)
		return null;
	const { perDay, size, deletesBefore } = consequence(index, days);
	return html`<div class="stack-s">
		<p class="small muted">${size === null ? 'It holds nothing yet, so its size cannot be foreseen.'
			: `About ${formatBytes(size)} on disk at ${formatBytes(perDay)} a day, as it grows now.`}</p>
		${deletesBefore !== null && days < index.retentionDays && html`<div class="notice notice-warn"><${Icon} name="alert" />
			<p>Events before ${formatDay(deletesBefore)} are deleted, for good, within a day.</p></div>`}</div>`;
}
