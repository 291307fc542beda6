/*
 * typed-time.js: times that are typed, for the panel that takes them: the first screen does without.
 */
import { zone } from '../ui/time.js';
import { isRelative, offsetAt, zoneOffset } from './time-text.js';

const wallText = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3})\d*)?)?)?$/;

/** A time as a request takes it, from what was typed in the chosen zone; null: it is none. */
export function parseTime(text)
{
	const typed = text.trim();
	if (isRelative(typed) || /^(?:\d{10}|\d{13})$/.test(typed))
		return typed;
	const wall = wallText.exec(typed);
	if (wall) {
		const [year, month, day, hour = 0, minute = 0, second = 0] = wall.slice(1, 7).map((one) => (one === undefined ? undefined : Number(one)));
		const utc = Date.UTC(year, month - 1, day, hour, minute, second, Number((wall[7] ?? '0').padEnd(3, '0')));
		if (Number.isNaN(utc) || month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59)
			return null;
		// The offset at the time itself: the first guess may be on the other side of a change of clocks.
		const guess = utc - offsetAt(utc);
		return new Date(utc - offsetAt(guess)).toISOString();
	}
	const whole = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/.test(typed) ? new Date(typed) : null;
	return whole && !Number.isNaN(whole.getTime()) ? whole.toISOString() : null;
}

/** The name of the chosen zone and its offset. */
export const zoneText = () => (zone() === 'UTC' ? 'UTC' : `${zone()} (${zoneOffset()})`);
