/*
 * tail-stream.js: new events as they come (server-sent events). It goes on by itself after a break, without a gap.
 */
import { api, isAbort } from '../api.js';

// What passes by itself: no answer, a service that starts, a sign-in.
const passing = new Set(['NO_ANSWER', 'SERVICE_UNAVAILABLE', 'STORE_UNAVAILABLE', 'UNAUTHORIZED', 'SESSION_EXPIRED']);

const parts = /\r\n|\n|\r/;

/** Splits a stream into messages: feed(text) answers [{id, event, data}]. */
export function parser()
{
	let rest = '';
	let message = { id: null, event: 'message', data: [] };
	return (text) => {
		const found = [];
		const lines = (rest + text).split(parts);
		rest = lines.pop();
		for (const line of lines) {
			if (line === '') {
				if (message.data.length)
					found.push({ ...message, data: message.data.join('\n') });
				message = { id: null, event: 'message', data: [] };
				continue;
			}
			const at = line.indexOf(':');
			const name = at < 0 ? line : line.slice(0, at);
			const value = at < 0 ? '' : line.slice(at + 1).replace(/^ /, '');
			if (name === 'data')
				message.data.push(value);
			else if (name === 'id' || name === 'event')
				message[name] = value;
		}
		return found;
	};
}

/**
 * Follows new events. on: {events(list), skipped(count), state('connecting' | 'live' | 'waiting' | 'limited', until),
 * error(error)}: after an error it has ended; limited: too many were opened, the next try is at `until` (ms). Answers the function that ends it.
 */
export function followEvents(q, on)
{
	const control = new AbortController();
	const { signal } = control;
	let last = null;
	const sleep = (ms) => new Promise((resolve) => {
		const timer = setTimeout(resolve, ms);
		signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
	});

	async function read()
	{
		const answer = await api.get('/api/v1/logs/tail', { query: { q }, raw: true, abort: signal, headers: { Accept: 'text/event-stream', ...(last && { 'Last-Event-ID': last }) } });
		on.state('live');
		const reader = answer.data.body.pipeThrough(new TextDecoderStream()).getReader();
		const feed = parser();
		for (;;) {
			const { done, value } = await reader.read();
			if (done)
				return;
			const events = [];
			for (const message of feed(value)) {
				last = message.id ?? last;
				if (message.event === 'message')
					events.push(JSON.parse(message.data));
				else if (message.event === 'skipped')
					on.skipped(Number(/\d+/.exec(message.data)?.[0] ?? 0));
				else if (message.event === 'error') {
					const body = JSON.parse(message.data);
					throw Object.assign(new Error(body.error ?? 'The stream has ended'), { code: body.code ?? 'STREAM_ENDED', details: body.details ?? [], status: body.code === 'RATE_LIMIT_EXCEEDED' ? 429 : 0, requestId: null });
				}
			}
			if (events.length)
				on.events(events);
		}
	}

	(async () => {
		for (let pause = 1000; !signal.aborted; pause = Math.min(pause * 2, 15_000)) {
			on.state('connecting');
			try {
				const began = Date.now();
				await read();
				if (Date.now() - began > 10_000)
					pause = 500;
			} catch (error) {
				if (signal.aborted || isAbort(error))
					return;
				// Too many were opened in a minute, which a service that restarts may cause: its own answer says when to come back.
				if (error.status === 429 && error.retryAfter) {
					on.state('limited', Date.now() + error.retryAfter * 1000);
					await sleep(error.retryAfter * 1000 + 250);
					continue;
				}
				// A broken connection is tried again, which asks for the password if the session has ended; what the service refuses ends it.
				if (!passing.has(error.code) && (error.status >= 400 || error.code)) {
					on.error(error);
					return;
				}
			}
			if (signal.aborted)
				return;
			on.state('waiting');
			await sleep(pause);
		}
	})();
	return () => control.abort();
}
