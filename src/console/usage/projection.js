/*
 * projection.js: when a limit is reached at the pace of its period so far.
 */

const day = 86_400_000;

/**
 * What will have been used at the end of a period, and when the limit is reached, or null: used and limit (null: none),
 * the beginning and end of the period, and the time now, all in milliseconds. Nothing is said of its first hundredth.
 */
export function projectionOf({ used, limit, begins, ends, now = Date.now() })
{
	const passed = Math.min(now, ends) - begins;
	if (used <= 0 || passed < (ends - begins) / 100)
		return { atEnd: null, reachedAt: null };
	const atEnd = (used / passed) * (ends - begins);
	const reachedAt = limit && used < limit ? begins + (limit / used) * passed : null;
	return { atEnd, reachedAt: reachedAt !== null && reachedAt < ends ? reachedAt : null };
}

/** Of GET /api/v1/usage: the day of events. */
export const ingestProjection = (ingest, now) => projectionOf({ used: ingest.usedBytes, limit: ingest.limitBytes,
	begins: Date.parse(ingest.resetsAt) - day, ends: Date.parse(ingest.resetsAt), now });

/** The beginning of the month of AI credits, which are counted by UTC. */
export function creditMonth(credits)
{
	const ends = new Date(credits.resetsAt);
	return { begins: Date.UTC(ends.getUTCFullYear(), ends.getUTCMonth() - 1, 1), ends: ends.getTime() };
}

/** Of GET /api/v1/usage: the month of AI credits. */
export const creditProjection = (credits, now) => projectionOf({ used: credits.used, limit: credits.limit, ...creditMonth(credits), now });
