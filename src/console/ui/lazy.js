/*
 * lazy.js: parts of a screen whose module is loaded when they are first shown.
 */
import { html, useEffect, useState } from '../view.js';
import { ErrorNotice } from './error-notice.js';
import { later } from './later.js';
import { Skeleton } from './skeleton.js';

const loaded = new Map();

/** Shows the component that load() answers a promise of, with all other properties. quiet: nothing until it is there. */
export function Lazy({ load, quiet, ...rest })
{
	const [, setTurn] = useState(0);
	const [error, setError] = useState(null);
	const [slow, setSlow] = useState(false);
	useEffect(() => {
		if (loaded.has(load))
			return undefined;
		const timer = setTimeout(() => setSlow(true), 150);
		later(load).then((component) => {
			loaded.set(load, component);
			setTurn((now) => now + 1);
		}, setError).finally(() => clearTimeout(timer));
		return () => clearTimeout(timer);
	}, [load]);
	const Component = loaded.get(load);
	if (Component)
		return html`<${Component} ...${rest} />`;
	if (quiet)
		return null;
	return error ? html`<${ErrorNotice} error=${error} title="This part could not be loaded" />` : slow ? html`<${Skeleton} />` : null;
}
