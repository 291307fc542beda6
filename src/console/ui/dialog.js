/*
 * dialog.js: dialogs over the page. The browser's own <dialog> keeps the focus inside, makes the rest inert and gives
 * the focus back; Escape and Back close.
 */
import { html, useId, useLayoutEffect, useRef } from '../view.js';
import { overPage } from '../router.js';
import { IconButton } from './button.js';

export { openDialog } from './dialog-host.js';

/**
 * A dialog with a title. onClose: Escape, Back, the cross, or a press beside it; without it the dialog stays until the page
 * takes it away. footer: its buttons; size: small, medium or large. The first element with autofocus gets the focus.
 */
export function Dialog({ title, onClose, footer, size = 'medium', children, closeBeside = true })
{
	const ref = useRef(null);
	const id = useId();
	const pressedBeside = useRef(false);
	const close = useRef(onClose);
	close.current = onClose;
	// At once: Back right after it must find it gone.
	useLayoutEffect(() => {
		const dialog = ref.current;
		const before = document.activeElement;
		dialog.showModal();
		dialog.querySelector('[data-autofocus]')?.focus();
		const gone = overPage(() => close.current?.());
		return () => {
			gone();
			dialog.close();
			before?.focus?.();
		};
	}, []);
	return html`<dialog class=${`dialog dialog-${size}`} ref=${ref} aria-labelledby=${id}
		onCancel=${(event) => { event.preventDefault(); if (event.target === ref.current) onClose?.(); }}
		onMouseDown=${(event) => { pressedBeside.current = event.target === ref.current; }}
		onClick=${(event) => { if (closeBeside && pressedBeside.current && event.target === ref.current) onClose?.(); }}>
		<div class="dialog-box">
			<header class="dialog-head">
				<h2 id=${id}>${title}</h2>
				${onClose && html`<${IconButton} icon="close" label="Close" size="small" onClick=${onClose} />`}
			</header>
			<div class="dialog-body">${children}</div>
			${footer && html`<footer class="dialog-foot">${footer}</footer>`}
		</div>
	</dialog>`;
}
