/*
 * time.js: times as people read them, in the zone that the user has chosen.
 *
 * The zone is that of the browser, of the organization, or UTC; it is written with each absolute time.
 */
import { html, signal, useEffect, useState } from '../view.js';
import { organization } from '../session.js';
import { remember, remembered } from '../storage.js';

/** 'browser', 'organization' or 'utc'. */
export const zoneChoice = signal(remembered('zone') ?? 'browser');

/** Chooses the zone of all times. */
export function chooseZone(choice)
{
	zoneChoice.value = choice;
	remember('zone', choice);
}

/** The name of the chosen zone, such as Europe/Berlin. */
export function zone()
{
	if (zoneChoice.value === 'utc')
		return 'UTC';
	if (zoneChoice.value === 'organization' && organization.value?.timezone)
		return organization.value.timezone;
	return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

const formats = new Map();
function formatOf(name, options)
{
	const key = `${zone()} ${name}`;
	if (!formats.has(key)) {
		let timeZone = zone();
		try {
			new Intl.DateTimeFormat('en', { timeZone });
		} catch {
			timeZone = 'UTC'; // The server knows a zone that this browser does not.
		}
		formats.set(key, new Intl.DateTimeFormat('en-CA', { timeZone, hourCycle: 'h23', ...options }));
	}
	return formats.get(key);
}

const dateParts = { year: 'numeric', month: '2-digit', day: '2-digit' };
const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit' };

function partsOf(date, name, options)
{
	return Object.fromEntries(formatOf(name, options).formatToParts(date).map((one) => [one.type, one.value]));
}

/** 2026-11-23 14:05:09 in the chosen zone; precise: with milliseconds; zone: with the zone's offset. */
export function formatTime(value, { precise = false, withZone = false, date = true, seconds = true } = {})
{
	const at = new Date(value);
	if (Number.isNaN(at.getTime()))
		return String(value);
	const p = partsOf(at, 'full', { ...dateParts, ...clock, fractionalSecondDigits: 3, timeZoneName: 'shortOffset' });
	const day = `${p.year}-${p.month}-${p.day} `;
	const time = `${p.hour}:${p.minute}${seconds ? `:${p.second}` : ''}${precise ? `.${p.fractionalSecond}` : ''}`;
	return (date ? day : '') + time + (withZone ? ` ${p.timeZoneName.replace('GMT', 'UTC').replace(/\+0$/, '')}` : '');
}

/** 2026-11-23 in the chosen zone. */
export const formatDay = (value) => formatTime(value).slice(0, 10);

const units = [['year', 31_536_000], ['month', 2_592_000], ['day', 86_400], ['hour', 3600], ['minute', 60], ['second', 1]];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });

/** '5 min. ago', 'in 2 days', 'now'. */
export function formatRelative(value, now = Date.now())
{
	const seconds = Math.round((new Date(value).getTime() - now) / 1000);
	const [unit, size] = units.find(([, each]) => Math.abs(seconds) >= each) ?? units[5];
	return Math.abs(seconds) < 5 ? 'now' : relative.format(Math.trunc(seconds / size), unit);
}

/** 1.2 s, 35 ms, 4 min 10 s, from milliseconds. */
export function formatDuration(ms)
{
	if (ms < 1000)
		return `${Math.round(ms)} ms`;
	if (ms < 60_000)
		return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
	const minutes = Math.floor(ms / 60_000);
	if (minutes < 60)
		return `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`;
	return minutes < 2880 ? `${Math.floor(minutes / 60)} h${minutes % 60 ? ` ${minutes % 60} min` : ''}` : `${Math.floor(minutes / 1440)} days`;
}

/** An absolute time; value: ISO text or milliseconds. Without one: `none`. */
export function Time({ value, precise, none = 'never' })
{
	if (!value)
		return html`<span class="faint">${none}</span>`;
	const at = new Date(value);
	return html`<time class="time" datetime=${at.toISOString()} title=${formatTime(at, { precise: true, withZone: true })}
		>${formatTime(at, { precise })}</time>`;
}

/** How long ago, or in how long; the absolute time is its tooltip. It keeps up by itself. */
export function RelativeTime({ value, none = 'never' })
{
	const [, setTurn] = useState(0);
	const age = value ? Math.abs(Date.now() - new Date(value).getTime()) : Infinity;
	useEffect(() => {
		const timer = setInterval(() => setTurn((now) => now + 1), age < 120_000 ? 5000 : 60_000);
		return () => clearInterval(timer);
	}, [age < 120_000]);
	if (!value)
		return html`<span class="faint">${none}</span>`;
	return html`<time class="time" datetime=${new Date(value).toISOString()} title=${formatTime(value, { withZone: true })}>${formatRelative(value)}</time>`;
}
