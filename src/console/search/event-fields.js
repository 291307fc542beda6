/*
 * event-fields.js: values of events by the names of fields, as the language has them.
 */
import { builtins } from './query-text.js';

// How the API names what the language names otherwise.
const own = { ingested_at: 'ingestedAt', trace_id: 'traceId', span_id: 'spanId' };

function member(object, name)
{
	if (Object.hasOwn(object, name))
		return object[name];
	// user.id is the attribute user.id, otherwise the member id of user.
	for (let dot = name.indexOf('.'); dot > 0; dot = name.indexOf('.', dot + 1)) {
		const inner = object[name.slice(0, dot)];
		if (Object.hasOwn(object, name.slice(0, dot)) && inner && typeof inner === 'object' && !Array.isArray(inner)) {
			const found = member(inner, name.slice(dot + 1));
			if (found !== undefined)
				return found;
		}
	}
	return undefined;
}

/** The value of a field of an event, or undefined; attributes.level is the attribute of that name. */
export function valueOf(event, name)
{
	if (builtins.has(name))
		return event[own[name] ?? name] ?? event[name] ?? undefined;
	const attributes = event.attributes ?? {};
	return member(attributes, name) ?? (name.startsWith('attributes.') ? member(attributes, name.slice(11)) : undefined);
}

/** The built-in fields that an event has: [{name, value}], without its text and attributes. */
export function builtinFields(event)
{
	return [...builtins].filter((name) => name !== 'event').map((name) => ({ name, value: valueOf(event, name) })).filter((one) => one.value !== undefined && one.value !== null);
}

/** A value as a line of text, at most `most` characters. */
export function lineOf(value, most = 2000)
{
	if (value === undefined || value === null)
		return '';
	const text = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value);
	const cut = text.length > most ? `${text.slice(0, most)}…` : text;
	return cut.replace(/[\r\n\t]+/g, (found) => (/[\r\n]/.test(found) ? ' ⏎ ' : ' '));
}

// Control characters would be invisible, and marks of direction could turn the rest of a line around.
const hidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text whose control characters can be seen: U+202E is written as such. */
export function visible(text)
{
	return text.replace(hidden, (one) => `[U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`);
}

/** A text without the colours of terminals. */
export const withoutColors = (text) => text.replace(/\u001b\[[\d;]*m/g, '');
