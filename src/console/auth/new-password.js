/*
 * new-password.js: a new password with its rules, ticked while it is typed.
 */
import { html } from '../view.js';
import { config } from '../session.js';
import { Icon } from '../ui/icon.js';
import { PasswordField } from '../ui/field.js';

const classes = {
	uppercase: { label: 'an upper-case letter', met: (text) => /\p{Lu}/u.test(text) },
	lowercase: { label: 'a lower-case letter', met: (text) => /\p{Ll}/u.test(text) },
	digit: { label: 'a digit', met: (text) => /\p{Nd}/u.test(text) },
};

function rulesOf(text)
{
	const rules = config.value?.password;
	if (!rules)
		return [];
	const length = [...text.normalize('NFC')].length;
	return [
		{ label: `${rules.minLength} to ${rules.maxLength} characters`, met: length >= rules.minLength && length <= rules.maxLength },
		...rules.requires.map((name) => ({ label: classes[name]?.label ?? name, met: classes[name]?.met(text) ?? true })),
	];
}

/** What the password breaks, as a sentence, or null. The service checks again, and looks in lists of known passwords. */
export function brokenRule(text)
{
	const broken = rulesOf(text).filter((rule) => !rule.met);
	return broken.length ? `It needs ${broken.map((rule) => rule.label).join(', ')}.` : null;
}

/** The field and its rules. */
export function NewPassword({ value, label = 'Password', ...rest })
{
	return html`<div class="stack-s"><${PasswordField} label=${label} autocomplete="new-password" value=${value} ...${rest} />
		<ul class="rules" aria-label="Rules of passwords">${rulesOf(value).map((rule) => html`<li key=${rule.label} class=${rule.met ? 'is-met' : ''}>
			${rule.met ? html`<${Icon} name="check" />` : html`<span class="rules-dot"></span>`}<span>${rule.label}<span class="visually-hidden">${rule.met ? ': met' : ': not yet'}</span></span></li>`)}</ul></div>`;
}
