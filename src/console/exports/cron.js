/*
 * cron.js: schedules in words, and when they run next by the clock of a zone.
 *
 * As the service does: a run in the hour that a change of clocks skips starts at the change; one in the hour that comes
 * twice runs the first time only.
 */
const macros = { '@hourly': '0 * * * *', '@daily': '0 0 * * *', '@midnight': '0 0 * * *', '@weekly': '0 0 * * 0', '@monthly': '0 0 1 * *', '@yearly': '0 0 1 1 *', '@annually': '0 0 1 1 *' };
const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const parts = [
	{ name: 'minute', least: 0, most: 59 }, { name: 'hour', least: 0, most: 23 }, { name: 'day of the month', least: 1, most: 31 },
	{ name: 'month', least: 1, most: 12, words: months }, { name: 'day of the week', least: 0, most: 7, words: days },
];

function numberOf(text, part)
{
	const word = part.words?.findIndex((one) => one.slice(0, 3).toLowerCase() === text.toLowerCase()) ?? -1;
	const value = word >= 0 ? word + (part.least === 1 ? 1 : 0) : /^\d+$/.test(text) ? Number(text) : NaN;
	if (!(value >= part.least && value <= part.most))
		throw new Error(`${part.name}: expected ${part.least} to ${part.most}, found "${text}"`);
	return value;
}

function fieldOf(text, part)
{
	const values = new Set();
	for (const piece of text.split(',')) {
		const [range, step, more] = piece.split('/');
		const by = step === undefined ? 1 : Number(step);
		if (more !== undefined || !(by >= 1) || !Number.isInteger(by))
			throw new Error(`${part.name}: the step of "${piece}" is wrong`);
		const [first, last, third] = range === '*' ? [part.least, part.most === 7 ? 6 : part.most] : range.split('-').map((one) => numberOf(one, part));
		if (third !== undefined || last < first)
			throw new Error(`${part.name}: "${piece}" is no range`);
		for (let value = first; value <= (last ?? (step === undefined ? first : part.most === 7 ? 6 : part.most)); value += by)
			values.add(part.most === 7 ? value % 7 : value);
	}
	return { values: [...values].sort((a, b) => a - b), all: text === '*' || text.startsWith('*/1,') || text === '*/1', text };
}

/** A schedule of five fields or a name such as @daily: {minute, hour, date, month, day}. Throws what is wrong. */
export function parseCron(text)
{
	const written = text.trim();
	const fields = (macros[written.toLowerCase()] ?? written).split(/\s+/);
	if (fields.length !== 5 || written.startsWith('@') !== (written.toLowerCase() in macros))
		throw new Error('Expected five fields: minute, hour, day of the month, month, day of the week; or @hourly, @daily, @weekly, @monthly, @yearly.');
	const [minute, hour, date, month, day] = fields.map((one, at) => fieldOf(one, parts[at]));
	return { minute, hour, date, month, day };
}

const list = (words) => (words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`);
const two = (number) => String(number).padStart(2, '0');
const run = (values) => values.length > 2 && values.every((one, at) => at === 0 || one === values[at - 1] + 1);
const named = (values, names, plural = '') => (run(values) ? `${names[values[0]]} to ${names[values.at(-1)]}` : list(values.map((one) => names[one] + plural)));

/** A schedule in words: "every day at 06:00". */
export function cronWords(cron)
{
	const { minute, hour, date, month, day } = cron;
	const step = /^\*\/(\d+)$/;
	let time;
	if (hour.all)
		time = minute.all ? 'every minute' : step.test(minute.text) ? `every ${step.exec(minute.text)[1]} minutes` : minute.values.length === 1 && minute.values[0] === 0 ? 'every hour'
			: `every hour at minute ${list(minute.values.map(String))}`;
	else if (minute.values.length === 1 && step.test(hour.text))
		time = `every ${step.exec(hour.text)[1]} hours at minute ${minute.values[0]}`;
	else if (hour.values.length * minute.values.length <= 6)
		time = `at ${list(hour.values.flatMap((h) => minute.values.map((m) => `${two(h)}:${two(m)}`)))}`;
	else
		time = `at minute ${minute.all ? 'any' : list(minute.values.map(String))} of hour ${run(hour.values) ? `${hour.values[0]} to ${hour.values.at(-1)}` : list(hour.values.map(String))}`;
	const on = [];
	if (!date.all)
		on.push(`on day ${run(date.values) ? `${date.values[0]} to ${date.values.at(-1)}` : list(date.values.map(String))} of the month`);
	if (!day.all && day.values.length < 7)
		on.push(run(day.values) ? `${named(day.values, days)}` : `on ${named(day.values, days, 's')}`);
	const when = on.join(' or ');
	const year = month.all ? '' : ` in ${named(month.values.map((one) => one - 1), months)}`;
	return when ? `${time}, ${when}${year}` : time.startsWith('at') ? `every day ${time}${year}` : `${time}${year}`;
}

const formats = new Map();
function offsetAt(zone, time)
{
	if (!formats.has(zone))
		formats.set(zone, new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' }));
	const p = Object.fromEntries(formats.get(zone).formatToParts(time).map((one) => [one.type, Number(one.value)]));
	return Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) - Math.floor(time / 1000) * 1000;
}

// When a clock of the zone shows this; `local` is that time as if it were UTC.
function timeOf(zone, local)
{
	const [before, after] = [offsetAt(zone, local - 86_400_000), offsetAt(zone, local + 86_400_000)];
	const fits = [local - before, local - after].filter((time) => offsetAt(zone, time) === local - time);
	if (fits.length)
		return Math.min(...fits);
	// The clock skips it: the change.
	let [low, high] = [local - Math.max(before, after) - 60_000, local - Math.min(before, after) + 60_000];
	while (high - low > 1000) {
		const middle = Math.floor((low + high) / 2000) * 1000;
		if (offsetAt(zone, middle) === before)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/** The next runs after a time (milliseconds), at most `count` within five years. Throws for a zone that is unknown. */
export function nextRuns(cron, zone, from, count = 3)
{
	const { minute, hour, date, month, day } = cron;
	const found = [];
	const start = Math.floor((from + offsetAt(zone, from)) / 86_400_000) * 86_400_000;
	for (let local = start; found.length < count && local < start + 5 * 366 * 86_400_000; local += 86_400_000) {
		const at = new Date(local);
		if (!month.values.includes(at.getUTCMonth() + 1))
			continue;
		const [byDate, byDay] = [date.values.includes(at.getUTCDate()), day.values.includes(at.getUTCDay())];
		if (!(date.all || day.all ? byDate && byDay : byDate || byDay))
			continue;
		for (const h of hour.values)
			for (const m of minute.values) {
				const time = timeOf(zone, local + h * 3_600_000 + m * 60_000);
				if (time > from && !found.includes(time) && found.length < count)
					found.push(time);
			}
	}
	return found;
}
