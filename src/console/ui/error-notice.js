/*
 * error-notice.js: an error where it happened, with its code and request id, and when to try again.
 */
import { html, useEffect, useState } from '../view.js';
import { Button } from './button.js';
import { CopyButton } from './copy-button.js';
import { Icon } from './icon.js';

function useCountdown(seconds)
{
	const [left, setLeft] = useState(seconds ?? 0);
	useEffect(() => {
		setLeft(seconds ?? 0);
		if (!seconds)
			return undefined;
		const end = Date.now() + seconds * 1000;
		const timer = setInterval(() => {
			const now = Math.max(0, Math.ceil((end - Date.now()) / 1000));
			setLeft(now);
			if (!now)
				clearInterval(timer);
		}, 250);
		return () => clearInterval(timer);
	}, [seconds]);
	return left;
}

/**
 * What went wrong, or nothing when error is null. retry: a function for a button, which waits as long as the service
 * asked for; title: instead of the text of the service; children: what to do next.
 */
export function ErrorNotice({ error, retry, title, children })
{
	// Nobody knows then what became of it.
	const heading = (error?.code !== 'NO_ANSWER' && title) || error?.message;
	const left = useCountdown(error?.status === 429 || error?.status === 503 ? error.retryAfter : 0);
	if (!error)
		return null;
	// The text of the whole error often is that of its first detail, with its path before it.
	const details = (error.details ?? []).filter((one) => one.message && !error.message?.includes(one.message)).slice(0, 5);
	const reference = [error.code, error.requestId].filter(Boolean).join(' ');
	return html`<div class="notice notice-danger" role="alert">
		<${Icon} name="alert" />
		<div class="grow stack-s">
			<p class="break"><strong>${heading}</strong></p>
			${heading !== error.message && html`<p class="break">${error.message}</p>`}
			${details.map((one) => html`<p class="small break" key=${one.path + one.code}>
				${one.path ? html`<code>${one.path}</code> ` : ''}${one.message}</p>`)}
			${children}
			${left > 0 && html`<p class="small">Try again in ${left} s.</p>`}
			${reference && html`<p class="row small"><code class="break">${error.code}</code>
				${error.requestId && html`<span class="muted break">request <code>${error.requestId}</code></span>`}
				<${CopyButton} text=${reference} label="Copy code and request id" compact /></p>`}
			${error.reload && html`<div><${Button} size="small" icon="refresh" onClick=${() => window.location.reload()}>Load the page again<//></div>`}
			${retry && html`<div><${Button} size="small" icon="refresh" disabled=${left > 0} onClick=${retry}>Try again<//></div>`}
		</div>
	</div>`;
}
