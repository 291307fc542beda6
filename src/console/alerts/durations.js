/*
 * durations.js: lengths of time in seconds, as the query language writes them and as people say them.
 */
const units = [['d', 86_400, 'day'], ['h', 3600, 'hour'], ['m', 60, 'minute'], ['s', 1, 'second']];

/** Seconds of '5m'; NaN when it is no such text. */
export function secondsOf(text)
{
	const found = /^(\d+)([smhd])$/.exec(String(text).trim());
	return found ? Number(found[1]) * units.find(([unit]) => unit === found[2])[1] : NaN;
}

/** '5m' of 300. */
export function shortSpan(seconds)
{
	const [unit, size] = units.find(([, each]) => seconds >= each && seconds % each === 0) ?? units[3];
	return `${seconds / size}${unit}`;
}

/** '5 minutes' of 300, 'minute' of 60 when `one` is true. */
export function spanWords(seconds, { one = false } = {})
{
	if (!Number.isFinite(seconds))
		return '?';
	const [, size, name] = units.find(([, each]) => seconds >= each && seconds % each === 0) ?? units[3];
	const count = seconds / size;
	return count === 1 ? (one ? name : `1 ${name}`) : `${count} ${name}s`;
}
