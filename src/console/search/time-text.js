/*
 * time-text.js: times as a search takes them, and as the screen shows them.
 */
import { formatTime, zone } from '../ui/time.js';

/** The ranges that are one press away. */
export const presets = ['-5m', '-15m', '-1h', '-4h', '-24h', '-2d', '-7d', '-30d', '@d'].map((earliest) => ({ earliest, label: lastText(earliest) }));

// In words what ends now: 'Last 3 hours' of '-3h'; undefined of what is no such length.
function lastText(earliest)
{
	const [, count, unit] = /^-(\d+)([mhdw])$/.exec(earliest) ?? [];
	const name = { m: 'minute', h: 'hour', d: 'day', w: 'week' }[unit];
	return earliest === '@d' ? 'Today' : name && (count === '1' ? `Last ${name}` : `Last ${count} ${name}s`);
}

/** The range of a screen whose address names none. */
export const defaultRange = { earliest: '-1h', latest: 'now' };

// Whether there is such a unit, the service says.
const relativeText = /^(?=.)(?:now)?(?:[+-]\d+[a-z]+)?(?:@[a-z]+(?:[+-]\d+[a-z]+)?)?$|^\d\d?:\d\d(?::\d\d)?$|^(?:to|yester)day$/;

/** Is it a time that moves with the clock? */
export const isRelative = (text) => relativeText.test(text);

/** How far the chosen zone is ahead of UTC at a time, in ms. */
export function offsetAt(ms)
{
	const [, year, month, day, hour, minute, second] = /(\d+)-(\d+)-(\d+) (\d+):(\d+):(\d+)/.exec(formatTime(ms)).map(Number);
	return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
}

/** A time of the address as it is typed: relative ones as they are, others in the chosen zone. */
export function writeTime(text)
{
	if (isRelative(text) || !text)
		return text;
	const at = /^\d{10}$/.test(text) ? Number(text) * 1000 : /^\d{13}$/.test(text) ? Number(text) : text;
	const written = formatTime(at, { precise: true });
	return written.replace(/(?::00)?\.000$/, '');
}

/** A range in words: 'Last hour', or both ends in the chosen zone; precise: with milliseconds, as where it is shorter than a second. */
export function rangeText({ earliest, latest }, precise)
{
	const last = latest === 'now' && lastText(earliest);
	if (last)
		return last;
	const [from, to] = [earliest, latest].map((one) => (precise ? writeTime(one) : writeTime(one).replace(/\.\d+$/, '')));
	if (from === to && !precise)
		return rangeText({ earliest, latest }, true);
	const sameDay = !isRelative(earliest) && !isRelative(latest) && from.slice(0, 11) === to.slice(0, 11);
	return `${from} to ${sameDay ? to.slice(11) : to}`;
}

/** The offset of the chosen zone now, as UTC+1. */
export const zoneOffset = () => formatTime(Date.now(), { withZone: true }).split(' ').at(-1);

// Offsets by quarter of an hour: Intl is slow, and rows are drawn while the list scrolls.
const offsets = new Map();
const pad = (value, length = 2) => String(value).padStart(length, '0');

/** A function that writes times of events: 14:05:09.123, withDay: 11-23 before it. Fast enough for scrolling. */
export function rowTime({ withDay })
{
	const name = zone();
	return (iso) => {
		const ms = Date.parse(iso);
		if (Number.isNaN(ms))
			return String(iso);
		const quarter = `${name} ${Math.floor(ms / 900_000)}`;
		let offset = offsets.get(quarter);
		if (offset === undefined) {
			if (offsets.size > 5000)
				offsets.clear();
			offsets.set(quarter, offset = offsetAt(ms));
		}
		const at = new Date(ms + offset);
		return `${withDay ? `${pad(at.getUTCMonth() + 1)}-${pad(at.getUTCDate())} ` : ''}${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}:${pad(at.getUTCSeconds())}.${pad(at.getUTCMilliseconds(), 3)}`;
	};
}

/** Is a range within one day of the chosen zone? */
export const withinDay = (from, to) => formatTime(from).slice(0, 10) === formatTime(to).slice(0, 10);
