/*
 * use-pipeline-test.js: tries a pipeline on its samples while it is edited. Nothing is stored or counted.
 */
import { useEffect, useRef, useState } from '../view.js';
import { api, isAbort } from '../api.js';

/**
 * The result of the test for a pipeline and events: {results, warnings, problems, error, busy, fresh}. It asks 500 ms after
 * the last change. results: one for each event, null for one that is refused; problems: why; fresh: it is of what is there now.
 */
export function usePipelineTest(pipeline, events, allowed)
{
	const [state, setState] = useState({});
	const body = JSON.stringify({ pipeline, events });
	const [turn, setTurn] = useState(0);
	const latest = useRef(null);
	latest.current = body;
	useEffect(() => {
		if (!allowed || !events.length) {
			setState({});
			return undefined;
		}
		const control = new AbortController();
		const timer = setTimeout(async () => {
			setState((now) => ({ ...now, busy: true }));
			try {
				const { data } = await api.post('/api/v1/pipelines/test', JSON.parse(body), { abort: control.signal, reads: true });
				// Refused events are missing among the results.
				const refused = new Map(data.errors.map((one) => [one.index, one]));
				let next = 0;
				const results = events.map((_, at) => (refused.has(at) ? null : data.events[next++] ?? null));
				setState({ results, warnings: data.warnings ?? [], problems: data.errors, of: body });
			} catch (error) {
				if (!isAbort(error))
					setState({ error, of: body });
			}
		}, 500);
		return () => {
			clearTimeout(timer);
			control.abort();
		};
	}, [body, turn, allowed]);
	return { ...state, fresh: state.of === body, again: () => setTurn((now) => now + 1) };
}
