/*
 * use-load.js: what a screen reads from the service: loading, an error, the data; the latest request wins.
 */
import { useCallback, useEffect, useRef, useState } from '../view.js';
import { isAbort } from '../api.js';

/**
 * useLoad((abort) => api.get('/api/v1/members', {abort}).then((a) => a.data), [deps]): answers {data, error, loading,
 * slow, reload, set}. The data of before stays while it is loaded again; slow is true after 150 ms without any, the
 * time for a Skeleton. set(data) puts other data in its place, for changes that are shown before they are confirmed.
 */
export function useLoad(read, deps = [])
{
	const [state, setState] = useState({ data: undefined, error: null, loading: true, slow: false });
	const [turn, setTurn] = useState(0);
	const latest = useRef(read);
	latest.current = read;
	useEffect(() => {
		const control = new AbortController();
		setState((now) => ({ ...now, loading: true }));
		const slow = setTimeout(() => setState((now) => ({ ...now, slow: now.data === undefined })), 150);
		latest.current(control.signal).then(
			(data) => setState({ data, error: null, loading: false, slow: false }),
			(error) => {
				if (!isAbort(error) && !control.signal.aborted)
					setState((now) => ({ ...now, error, loading: false, slow: false }));
			}).finally(() => clearTimeout(slow));
		return () => {
			clearTimeout(slow);
			control.abort();
		};
	}, [...deps, turn]);
	const reload = useCallback(() => setTurn((now) => now + 1), []);
	const set = useCallback((data) => setState((now) => ({ ...now, data: typeof data === 'function' ? data(now.data) : data })), []);
	return { ...state, reload, set };
}
