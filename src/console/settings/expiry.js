/*
 * expiry.js: when a credential ends: choosing it, and saying it.
 */
import { html } from '../view.js';
import { Badge } from '../ui/badge.js';
import { Field, Select } from '../ui/field.js';
import { RelativeTime, formatDay } from '../ui/time.js';

const day = 86_400_000;
const soon = 7 * day;

/** The presets, in days, and what is chosen at first. */
export const presets = ['7', '30', '90', '365'];
export const firstPreset = '30';

/** The time that a choice means, as ISO text; null: never. The choice is a number of days, 'never' or 'date'. */
export function expiryOf(choice, date)
{
	if (choice === 'never')
		return null;
	// Until the end of that day, here.
	return choice === 'date' ? new Date(`${date}T23:59:59`).toISOString() : new Date(Date.now() + Number(choice) * day).toISOString();
}

/** What is wrong with a choice: {date: text}, or {}. */
export function checkExpiry({ expiry, date })
{
	if (expiry !== 'date')
		return {};
	const at = Date.parse(`${date}T23:59:59`);
	return Number.isNaN(at) ? { date: 'Choose a day.' } : at < Date.now() ? { date: 'This day is over.' } : {};
}

/** The choice. form: a useForm with the values expiry and date. what: 'token' or 'key'. */
export function ExpiryField({ form, what })
{
	const { expiry } = form.values;
	return html`<${Select} label="Expires" ...${form.bind('expiry')} options=${[
		...presets.map((one) => ({ value: one, label: `in ${one} days, on ${formatDay(Date.now() + Number(one) * day)}` })),
		{ value: 'date', label: 'on another day' }, { value: 'never', label: 'never' }]}
		hint=${expiry === 'never' ? `Whoever finds this ${what} can use it until somebody revokes it.` : undefined} />
	${expiry === 'date' && html`<${Field} type="date" label="Last day" min=${formatDay(Date.now())} ...${form.bind('date')} />`}`;
}

/** When a token or key ends, with a word when that is soon or over. */
export function Expiry({ one })
{
	if (one.revokedAt)
		return html`<${Badge}>revoked<//> <${RelativeTime} value=${one.revokedAt} />`;
	if (!one.expiresAt)
		return html`<span class="muted">never</span>`;
	const left = Date.parse(one.expiresAt) - Date.now();
	if (left <= 0)
		return html`<${Badge} kind="danger">expired<//> <${RelativeTime} value=${one.expiresAt} />`;
	return html`<${RelativeTime} value=${one.expiresAt} />${left < soon && html` <${Badge} kind="warn" dot>expires soon<//>`}`;
}

/** When it was used last. The service notes that at most every ten minutes. */
export function LastUse({ one })
{
	return one.lastUsedAt ? html`<${RelativeTime} value=${one.lastUsedAt} />` : html`<${Badge}>never used<//>`;
}

/** The last use in a sentence, for questions before something is revoked. */
export function lastUseText(one)
{
	return one.lastUsedAt ? html`It was last used <${RelativeTime} value=${one.lastUsedAt} />.` : 'It has never been used.';
}
