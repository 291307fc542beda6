/*
 * use-refresh.js: a screen that keeps up: reads again every some seconds while somebody can see it.
 */
import { useEffect, useRef } from '../view.js';
import { connection } from '../api.js';

/** Calls reload every `seconds`, and when the page is seen again; never for a page in the background. */
export function useRefresh(reload, seconds)
{
	const latest = useRef(reload);
	latest.current = reload;
	useEffect(() => {
		const turn = () => {
			if (document.visibilityState === 'visible' && connection.value === 'up')
				latest.current();
		};
		const timer = setInterval(turn, seconds * 1000);
		document.addEventListener('visibilitychange', turn);
		return () => {
			clearInterval(timer);
			document.removeEventListener('visibilitychange', turn);
		};
	}, [seconds]);
}
