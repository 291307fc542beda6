/*
 * use-search.js: runs searches: one request each, the latest wins, further pages by cursor.
 */
import { useCallback, useEffect, useRef, useState } from '../view.js';
import { api, isAbort } from '../api.js';

const later = 10_000;
/** The list ends here; a shorter range or an export goes further. */
export const mostRows = 100_000;

// A page that is followed by another leaves nothing out.
const leftOut = (answer) => Boolean(answer.meta.truncated && !answer.page?.hasMore);

/** What a search found wrong with its query, for the box: null for other errors. */
export function problemOf(error, query)
{
	if (!error || !['QUERY_SYNTAX_ERROR', 'QUERY_SEMANTIC_ERROR'].includes(error.code))
		return null;
	return { ...(error.details[0] ?? { message: error.message }), query, code: error.code, requestId: error.requestId };
}

/**
 * useSearch(): {run(request), stop(), more(), state}. request: {q, earliest, latest, include}. state: {request, running,
 * began, error, result}; result: {kind, rows, columns, meta, rate, took, request, key, cursor, more: {busy, error}}. What was
 * found before stays until the next answer; stop() gives a search up, and the service ends it.
 */
export function useSearch()
{
	const [state, setState] = useState({ request: null, running: false, error: null, result: null });
	const control = useRef(null);
	const paging = useRef(null);
	const latest = useRef(state);
	latest.current = state;

	const stop = useCallback(() => {
		control.current?.abort();
		paging.current?.abort();
		setState((now) => ({ ...now, running: false }));
	}, []);

	const run = useCallback(async (request) => {
		control.current?.abort();
		paging.current?.abort();
		paging.current = null;
		const own = new AbortController();
		control.current = own;
		const began = performance.now();
		setState((now) => ({ ...now, request, running: true, error: null }));
		try {
			const { q, earliest, latest: until, include } = request;
			const answer = await api.post('/api/v1/search', { q, earliest, latest: until, ...(include.length && { include }) }, { abort: own.signal, reads: true });
			if (own.signal.aborted)
				return;
			setState({ request, running: false, error: null, result: {
				...answer.data, meta: answer.meta, rate: answer.rate, truncated: leftOut(answer), request, key: {}, took: performance.now() - began,
				cursor: answer.page?.hasMore ? answer.page.nextCursor : null, more: { busy: false, error: null } } });
		} catch (error) {
			if (!isAbort(error) && !own.signal.aborted)
				setState((now) => ({ ...now, running: false, error }));
		}
	}, []);

	const more = useCallback(async () => {
		const { result, running } = latest.current;
		if (paging.current || running || !result?.cursor || result.rows.length >= mostRows)
			return;
		const own = new AbortController();
		paging.current = own;
		const change = (changes) => setState((now) => (now.result?.key === result.key ? { ...now, result: { ...now.result, ...changes } } : now));
		change({ more: { busy: true, error: null } });
		try {
			const { q, earliest, latest: until } = result.request;
			const limit = Math.min(later, mostRows - result.rows.length);
			const answer = await api.post('/api/v1/search', { q, earliest, latest: until, limit, cursor: result.cursor }, { abort: own.signal, reads: true });
			if (own.signal.aborted)
				return;
			for (const row of answer.data.rows)
				result.rows.push(row);
			paging.current = null;
			change({ rows: result.rows, rate: answer.rate, truncated: leftOut(answer), cursor: answer.page?.hasMore ? answer.page.nextCursor : null, more: { busy: false, error: null } });
		} catch (error) {
			if (isAbort(error) || own.signal.aborted)
				return;
			// The list asks again when somebody presses the button, not at each turn of the wheel.
			change({ more: { busy: false, error } });
		}
	}, []);

	const retryMore = useCallback(() => {
		paging.current = null;
		return more();
	}, []);

	useEffect(() => () => {
		control.current?.abort();
		paging.current?.abort();
	}, []);
	return { state, run, stop, more, retryMore };
}
