/*
 * use-data.js: what the panels of a dashboard find: loaded together, again after a while, and never while nobody looks.
 */
import { useCallback, useEffect, useRef, useState } from '../view.js';
import { isAbort } from '../api.js';

/**
 * useData({read, key, refresh}): read(abort) answers {data, rate}; it is called when key changes, by reload, and every
 * `refresh` seconds (null: never) while the page is seen. Answers {data, error, loading, at, rate, reload}. What was
 * found before stays until there is something new.
 */
export function useData({ read, key, refresh })
{
	const [state, setState] = useState({ data: null, error: null, loading: true, at: null, rate: null });
	const [turn, setTurn] = useState(0);
	const latest = useRef(read);
	latest.current = read;
	const reload = useCallback(() => setTurn((now) => now + 1), []);
	useEffect(() => {
		if (key === null)
			return undefined;
		const control = new AbortController();
		setState((now) => ({ ...now, loading: true }));
		latest.current(control.signal).then(
			(answer) => setState({ data: answer.data, error: null, loading: false, at: Date.now(), rate: answer.rate }),
			(error) => {
				if (!isAbort(error) && !control.signal.aborted)
					setState((now) => ({ ...now, error, loading: false, rate: error.rate ?? now.rate }));
			});
		return () => control.abort();
	}, [key, turn]);
	useEffect(() => {
		if (!refresh || key === null)
			return undefined;
		let due = false;
		// An error waits as long as the service asks for.
		const pause = Math.max(refresh, state.error?.retryAfter ?? 0) * 1000;
		const timer = setInterval(() => {
			if (document.visibilityState === 'visible')
				reload();
			else
				due = true;
		}, pause);
		const seen = () => {
			if (document.visibilityState === 'visible' && due) {
				due = false;
				reload();
			}
		};
		document.addEventListener('visibilitychange', seen);
		return () => {
			clearInterval(timer);
			document.removeEventListener('visibilitychange', seen);
		};
	}, [refresh, key, state.error]);
	return { ...state, reload };
}
