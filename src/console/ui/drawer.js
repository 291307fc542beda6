/*
 * drawer.js: a panel at the side of the page, for the details of a row. The page stays usable beside it.
 */
import { html, useEffect, useId, useRef } from '../view.js';
import { IconButton } from './button.js';

/** A drawer. onClose: Escape or the cross; actions: buttons in its head; wide: for JSON and charts. */
export function Drawer({ title, onClose, actions, wide, children })
{
	const ref = useRef(null);
	const id = useId();
	const close = useRef(onClose);
	close.current = onClose;
	useEffect(() => {
		const before = document.activeElement;
		ref.current.focus();
		const onKey = (event) => {
			if (event.key === 'Escape' && !event.defaultPrevented && !document.querySelector('dialog[open]'))
				close.current();
		};
		document.addEventListener('keydown', onKey);
		return () => {
			document.removeEventListener('keydown', onKey);
			if (ref.current?.contains(document.activeElement) || document.activeElement === document.body)
				before?.focus?.();
		};
	}, []);
	return html`<aside class=${`drawer ${wide ? 'drawer-wide' : ''}`} ref=${ref} tabindex="-1" aria-labelledby=${id}>
		<header class="drawer-head"><h2 id=${id} class="truncate grow">${title}</h2>${actions}
			<${IconButton} icon="close" label="Close details" size="small" onClick=${onClose} /></header>
		<div class="drawer-body">${children}</div>
	</aside>`;
}
