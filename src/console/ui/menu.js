/*
 * menu.js: a button that opens a list of actions, as the ARIA pattern of menus says.
 */
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from '../view.js';
import { Icon } from './icon.js';

/**
 * A menu. label: the text or, with icon, the name of the button. items: {label, onSelect or href, icon, danger, reason
 * (why it is off), checked, hint}, {heading} or {separator: true}. align: start or end; drop: down or up.
 */
export function Menu({ label, icon, items, align = 'end', drop = 'down', kind = 'default', size, children, caret = !icon, class: extra = '' })
{
	const [open, setOpen] = useState(false);
	const box = useRef(null);
	const id = useId();
	const entries = () => [...box.current?.querySelectorAll('[role^="menuitem"]') ?? []];
	const focusAt = (index) => {
		const all = entries();
		all[(index + all.length) % all.length]?.focus();
	};
	useEffect(() => {
		if (!open)
			return undefined;
		(box.current.querySelector('[aria-checked="true"]') ?? entries()[0])?.focus();
		const outside = (event) => {
			if (!box.current?.contains(event.target))
				setOpen(false);
		};
		document.addEventListener('pointerdown', outside);
		return () => document.removeEventListener('pointerdown', outside);
	}, [open]);
	// Fixed to the window: in a table or drawer that scrolls it would be cut off.
	useLayoutEffect(() => {
		if (!open)
			return undefined;
		const list = box.current.querySelector('[role="menu"]');
		const place = () => {
			const button = box.current.querySelector('button').getBoundingClientRect();
			const { offsetWidth: width, offsetHeight: height } = list;
			const below = button.bottom + 4;
			const above = button.top - 4 - height;
			const down = drop === 'down' ? below + height <= window.innerHeight || above < 0 : above < 0;
			const left = align === 'end' ? button.right - width : button.left;
			list.style.top = `${Math.max(4, Math.min(down ? below : above, window.innerHeight - height - 4))}px`;
			list.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - width - 4))}px`;
		};
		place();
		window.addEventListener('scroll', place, true);
		window.addEventListener('resize', place);
		return () => {
			window.removeEventListener('scroll', place, true);
			window.removeEventListener('resize', place);
		};
	}, [open]);
	function shut()
	{
		setOpen(false);
		box.current?.querySelector('button')?.focus();
	}
	function onKey(event)
	{
		if (!open) {
			if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
				event.preventDefault();
				setOpen(true);
			}
			return;
		}
		const at = entries().indexOf(document.activeElement);
		if (event.key === 'Escape') {
			event.stopPropagation();
			event.preventDefault();
			shut();
		} else if (event.key === 'Tab')
			setOpen(false);
		else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
			event.preventDefault();
			focusAt(at + (event.key === 'ArrowDown' ? 1 : -1));
		} else if (event.key === 'Home' || event.key === 'End') {
			event.preventDefault();
			focusAt(event.key === 'Home' ? 0 : -1);
		} else if (event.key.length === 1 && /\S/.test(event.key)) {
			const all = entries();
			const next = [...all.slice(at + 1), ...all.slice(0, at + 1)];
			next.find((one) => one.textContent.trim().toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
		}
	}
	function choose(event, item)
	{
		if (item.reason) {
			event.preventDefault();
			return;
		}
		if (!item.href)
			shut();
		else
			setOpen(false);
		item.onSelect?.();
	}
	return html`<div class=${`menu ${extra}`} ref=${box} onKeyDown=${onKey}>
		<button type="button" class=${`button button-${icon && !children ? 'ghost button-icon' : kind} ${size ? `button-${size}` : ''}`} aria-haspopup="menu"
			aria-expanded=${open ? 'true' : 'false'} aria-controls=${open ? id : undefined} aria-label=${icon && !children ? label : undefined}
			title=${icon && !children ? label : undefined} onClick=${() => setOpen(!open)}>
			${icon && html`<${Icon} name=${icon} />`}${children ?? (!icon && html`<span>${label}</span>`)}${caret && html`<${Icon} name="down" />`}
		</button>
		${open && html`<div class="menu-list" role="menu" id=${id} aria-label=${label}>
			${items.filter(Boolean).map((item, index) => {
				if (item.separator)
					return html`<div role="separator" key=${index}></div>`;
				if (item.heading)
					return html`<div class="menu-heading" role="presentation" key=${index}>${item.heading}</div>`;
				const role = item.checked === undefined ? 'menuitem' : 'menuitemradio';
				return html`<${item.href ? 'a' : 'button'} key=${index} type=${item.href ? undefined : 'button'} href=${item.href} role=${role}
					tabindex="-1" class=${`menu-item ${item.danger ? 'is-danger' : ''}`} aria-checked=${item.checked === undefined ? undefined : String(item.checked)}
					aria-disabled=${item.reason ? 'true' : undefined} onClick=${(event) => choose(event, item)}>
					<span class="menu-icon">${(item.icon || item.checked) && html`<${Icon} name=${item.checked ? 'check' : item.icon} />`}</span>
					<span class="grow">${item.label}${(item.reason ?? item.hint) && html`<span class="menu-hint">${item.reason ?? item.hint}</span>`}</span>
				<//>`;
			})}
		</div>`}
	</div>`;
}
