/*
 * popover.js: a button with a panel below it, for small forms and choices. (Lists of actions are menus.)
 */
import { html, useEffect, useId, useRef, useState } from '../view.js';
import { Icon } from './icon.js';

/**
 * A popover. label: the text of its button, or its name with icon alone; children: a function that gets close(); align:
 * start or end; title: of the panel, for screen readers; hint: of the button. Escape and a press outside close it; the
 * focus goes back.
 */
export function Popover({ label, icon, caret = !icon, title, align = 'end', kind = 'default', size, class: extra = '', children, text, hint })
{
	const [open, setOpen] = useState(false);
	const box = useRef(null);
	const id = useId();
	function close()
	{
		setOpen(false);
		box.current?.querySelector('button')?.focus();
	}
	useEffect(() => {
		if (!open)
			return undefined;
		const panel = box.current.querySelector('.popover-panel');
		// What is in it may come a moment later.
		const first = () => panel.querySelector('[data-autofocus]') ?? panel.querySelector('input, button, select, a[href]');
		const observer = new MutationObserver(() => {
			if (first() && document.activeElement === panel) {
				observer.disconnect();
				first().focus();
			}
		});
		(first() ?? panel).focus();
		if (!first())
			observer.observe(panel, { childList: true, subtree: true });
		const outside = (event) => {
			if (!box.current?.contains(event.target))
				setOpen(false);
		};
		document.addEventListener('pointerdown', outside);
		document.addEventListener('focusin', outside);
		return () => {
			observer.disconnect();
			document.removeEventListener('pointerdown', outside);
			document.removeEventListener('focusin', outside);
		};
	}, [open]);
	const only = icon && !text;
	return html`<div class=${`popover ${extra}`} ref=${box} onKeyDown=${(event) => {
		if (event.key === 'Escape' && open && !event.defaultPrevented) {
			event.preventDefault();
			event.stopPropagation();
			close();
		}
	}}>
		<button type="button" class=${`button button-${only ? 'ghost button-icon' : kind} ${size ? `button-${size}` : ''}`} aria-haspopup="dialog" aria-expanded=${open ? 'true' : 'false'}
			aria-controls=${open ? id : undefined} aria-label=${only ? label : undefined} title=${only ? label : hint} onClick=${() => setOpen(!open)}>
			${icon && html`<${Icon} name=${icon} />`}${!only && html`<span class="truncate">${text ?? label}</span>`}${caret && html`<${Icon} name="down" />`}</button>
		${open && html`<div class=${`popover-panel popover-${align}`} id=${id} role="dialog" aria-label=${title ?? label} tabindex="-1">${children(close)}</div>`}
	</div>`;
}
