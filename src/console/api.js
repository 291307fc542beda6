/*
 * api.js: the only file that calls fetch.
 *
 * A request names the organization of the page. An answer that is no success becomes an ApiError with the code, the
 * details and the request id of the service. A session that has ended opens a dialog over the page, which keeps what
 * was typed there, and the request goes on after the sign-in. While the service does not answer, a banner says so;
 * requests that only read wait for it, those that change something fail, because nobody knows whether they were done.
 */
import { signal } from './view.js';

/** 'up', or 'down' while the service does not answer. */
export const connection = signal('up');
/** The slug of the organization that requests name; the shell sets it from the address. */
export const currentOrganization = signal(null);

const hooks = { sessionEnded: null };

/** Sets what is called when a session has ended: answers a promise of true when the user has signed in again. */
export function onSessionEnded(call)
{
	hooks.sessionEnded = call;
}

// Another account is signed in: nothing more is sent from this page.
let stopped = false;

/** Refuses all further requests of this page, those that wait too, except such with a token of their own. */
export function stopRequests()
{
	stopped = true;
}

/** An answer that is no success. status 0: there was no answer. */
export class ApiError extends Error
{
	constructor(message, fields)
	{
		super(message);
		this.name = 'ApiError';
		Object.assign(this, { status: 0, code: 'NO_ANSWER', details: [], requestId: null, retryAfter: null, body: {}, rate: null }, fields);
	}

	/** The texts of the details by field: {email: '...'}; what belongs to no field is not in it. */
	get fields()
	{
		const fields = {};
		for (const detail of this.details)
			if (detail.path && !(detail.path in fields))
				fields[detail.path] = detail.message;
		return fields;
	}
}

/** Was the request given up by the page itself? */
export const isAbort = (error) => error?.name === 'AbortError';

const aborted = () => new DOMException('aborted', 'AbortError');
const sleep = (ms, abort) => new Promise((resolve, reject) => {
	if (abort?.aborted) {
		reject(aborted());
		return;
	}
	const timer = setTimeout(resolve, ms);
	abort?.addEventListener('abort', () => {
		clearTimeout(timer);
		reject(aborted());
	}, { once: true });
});

// Waits for a promise, or until the request is given up.
const until = (promise, abort) => new Promise((resolve, reject) => {
	if (abort?.aborted)
		reject(aborted());
	abort?.addEventListener('abort', () => reject(aborted()), { once: true });
	promise.then(resolve, reject);
});

// One loop asks whether the service is back, however many requests wait for it.
let reconnecting = null;
function waitForService()
{
	connection.value = 'down';
	reconnecting ??= (async () => {
		for (let pause = 500; ; pause = Math.min(pause * 1.5, 5000)) {
			await sleep(pause);
			try {
				const answer = await fetch('/readyz', { cache: 'no-store', signal: AbortSignal.timeout(4000) });
				if (answer.ok)
					break;
			} catch {
				// Still away.
			}
		}
		reconnecting = null;
		connection.value = 'up';
	})();
	return reconnecting;
}

/** Tries now instead of at the next turn; for the button of the banner. */
export async function tryConnection()
{
	try {
		if ((await fetch('/readyz', { cache: 'no-store' })).ok)
			connection.value = 'up';
	} catch {
		waitForService();
	}
}

// One dialog, however many requests have found that the session has ended.
let signingIn = null;
function waitForSignIn()
{
	signingIn ??= hooks.sessionEnded().finally(() => { signingIn = null; });
	return signingIn;
}

function addressOf(path, query)
{
	const url = new URL(path, window.location.origin);
	for (const [name, value] of Object.entries(query ?? {}))
		for (const one of Array.isArray(value) ? value : [value])
			if (one !== null && one !== undefined && one !== '')
				url.searchParams.append(name, String(one));
	return url.pathname + url.search;
}

async function errorOf(answer)
{
	let body = {};
	try {
		body = await answer.json();
	} catch {
		// Not JSON: a proxy answered, or the answer broke off.
	}
	const text = typeof body.error === 'string' && body.error ? body.error : `the service answered ${answer.status}`;
	const wait = parseInt(answer.headers.get('Retry-After') ?? '', 10);
	return new ApiError(text.charAt(0).toUpperCase() + text.slice(1), {
		status: answer.status,
		code: body.code ?? `HTTP_${answer.status}`,
		details: Array.isArray(body.details) ? body.details : [],
		requestId: answer.headers.get('X-Request-Id'),
		retryAfter: Number.isFinite(wait) ? wait : null,
		body,
		rate: rateOf(answer.headers),
	});
}

function rateOf(headers)
{
	const limit = headers.get('X-RateLimit-Limit');
	return limit === null ? null : {
		limit: Number(limit),
		remaining: Number(headers.get('X-RateLimit-Remaining')),
		resetsAt: Number(headers.get('X-RateLimit-Reset')) * 1000,
	};
}

/**
 * Sends a request and answers {data, page, meta, status, headers, rate}. Options: query (members that are null or ''
 * are left out), json or body with type, headers, abort (an AbortSignal), organization (another one, or null for none),
 * token (instead of the session), reads (true: it may be repeated; GET always may), signIn (false: a 401 is an error
 * like others), raw (true: data is the Response), idempotencyKey, keepalive (true: it is sent even if the page closes).
 */
export async function request(method, path, options = {})
{
	const { json, abort, organization = currentOrganization.value, token, reads = method === 'GET', signIn = true } = options;
	const headers = new Headers(options.headers);
	if (json !== undefined)
		headers.set('Content-Type', 'application/json');
	else if (options.type)
		headers.set('Content-Type', options.type);
	if (token)
		headers.set('Authorization', `Bearer ${token}`);
	else if (organization)
		headers.set('X-Organization-Id', organization);
	if (options.idempotencyKey)
		headers.set('Idempotency-Key', options.idempotencyKey);

	for (let attempt = 0; ; attempt++) {
		let answer;
		if (stopped && !token)
			throw new ApiError('Another account is signed in now. Load the page again.', { code: 'OTHER_ACCOUNT' });
		try {
			answer = await fetch(addressOf(path, options.query), {
				method, headers, signal: abort, keepalive: options.keepalive ?? false, credentials: token ? 'omit' : 'same-origin', cache: 'no-cache',
				body: json !== undefined ? JSON.stringify(json) : options.body,
			});
		} catch (error) {
			if (isAbort(error))
				throw error;
			const back = waitForService();
			if (!reads)
				throw new ApiError('The service did not answer. Nobody knows whether this was done: look before you try again.');
			await until(back, abort);
			continue;
		}
		if (answer.ok) {
			connection.value = 'up';
			if (options.raw)
				return { data: answer, status: answer.status, headers: answer.headers, rate: rateOf(answer.headers) };
			const text = await answer.text();
			const body = text && answer.headers.get('Content-Type')?.includes('json') ? JSON.parse(text) : {};
			return {
				data: body.data, page: body.page ?? null, meta: body.meta ?? null, body,
				status: answer.status, headers: answer.headers, rate: rateOf(answer.headers),
			};
		}
		const error = await errorOf(answer);
		if (error.status === 401 && signIn && !token && hooks.sessionEnded && attempt < 3
			&& ['UNAUTHORIZED', 'SESSION_EXPIRED'].includes(error.code)) {
			if (await waitForSignIn())
				continue;
		}
		// A restart: the port is there before the workers are.
		if (error.status === 503 && reads && attempt < 5) {
			await sleep(Math.min((error.retryAfter ?? 1) * 1000, 5000), abort);
			continue;
		}
		throw error;
	}
}

const call = (method) => (path, options) => request(method, path, options);
const send = (method) => (path, json, options) => request(method, path, { json, ...options });

/** get(path, options), delete(path, options), post/patch/put(path, json, options): see request. */
export const api = { get: call('GET'), delete: call('DELETE'), post: send('POST'), patch: send('PATCH'), put: send('PUT') };

/** All rows of a list, page by page, at most `most`: answers {rows, more}. */
export async function allRows(path, { query, abort, most = 1000 } = {})
{
	const rows = [];
	let cursor = null;
	do {
		const answer = await api.get(path, { query: { ...query, limit: 100, cursor }, abort });
		rows.push(...answer.data);
		cursor = answer.page?.hasMore ? answer.page.nextCursor : null;
	} while (cursor && rows.length < most);
	return { rows, more: cursor !== null };
}
