/*
 * copy-button.js: copies a text, and says that it did.
 */
import { html, useEffect, useRef, useState } from '../view.js';
import { Icon } from './icon.js';

/** Copies a text to the clipboard; answers whether the browser allowed it. */
export async function copyText(text)
{
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		// Without https there is no clipboard: the old way.
		const area = document.createElement('textarea');
		area.value = text;
		area.className = 'visually-hidden';
		(document.querySelector('dialog[open]') ?? document.body).append(area);
		area.select();
		const copied = document.execCommand('copy');
		area.remove();
		return copied;
	}
}

/** A button that copies `text`. label: what it copies, as in "Copy key"; compact: the icon only. */
export function CopyButton({ text, label = 'Copy', compact = false, kind = 'default', size = 'small', onCopy })
{
	const [state, setState] = useState('');
	const timer = useRef(0);
	useEffect(() => () => clearTimeout(timer.current), []);
	async function copy()
	{
		const copied = await copyText(typeof text === 'function' ? text() : text);
		setState(copied ? 'Copied' : 'Select and copy it by hand');
		if (copied)
			onCopy?.();
		clearTimeout(timer.current);
		timer.current = setTimeout(() => setState(''), 2000);
	}
	return html`<button type="button" class=${`button button-${compact ? 'ghost button-icon' : kind} button-${size}`} onClick=${copy}
		aria-label=${compact ? label : undefined} title=${compact ? state || label : undefined}>
		<${Icon} name=${state === 'Copied' ? 'check' : 'copy'} />${!compact && html`<span>${state || label}</span>`}
		<span class="visually-hidden" role="status">${compact ? state : ''}</span>
	</button>`;
}

/** A text in a fixed-width box with a button that copies it; for commands and secrets. */
export function CopyBox({ text, label = 'Copy' })
{
	return html`<div class="copy-box"><pre tabindex="0"><code>${text}</code></pre><${CopyButton} text=${text} label=${label} compact /></div>`;
}
