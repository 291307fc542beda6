/*
 * attention.js: brings what has just appeared into view, such as an error far below the button that was pressed.
 */
import { html, useEffect, useRef } from '../view.js';

/** Its children, scrolled into view whenever `of` becomes something else. */
export function Attention({ of, children })
{
	const box = useRef(null);
	useEffect(() => {
		if (of)
			box.current?.scrollIntoView({ block: 'nearest' });
	}, [of]);
	return of ? html`<div class="attention" ref=${box}>${children}</div>` : null;
}
