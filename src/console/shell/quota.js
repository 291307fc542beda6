/*
 * quota.js: the banner that says that a quota is nearly used.
 */
import { html, useEffect, useState } from '../view.js';
import { api, isAbort } from '../api.js';
import { can, organization, orgPath } from '../session.js';
import { navigate } from '../router.js';
import { screens } from '../screens.js';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { formatBytes } from '../ui/numbers.js';
import { formatTime } from '../ui/time.js';

/** What is to be said of the usage: {kind, text}, or null. */
export function usageWarning(usage)
{
	const ingest = usage?.ingest;
	const until = ingest?.resetsAt ? ` until ${formatTime(ingest.resetsAt, { seconds: false, withZone: true })}` : '';
	if (ingest?.state === 'paused')
		return { kind: 'danger', text: `The daily quota of ${formatBytes(ingest.limitBytes)} is used up: events are refused or wait${until}.` };
	if (ingest?.state === 'throttled')
		return { kind: 'danger', text: `The daily quota of ${formatBytes(ingest.limitBytes)} is used up: events wait${until}.` };
	if (ingest?.limitBytes && ingest.percent >= 80)
		return { kind: 'warn', text: `${Math.floor(ingest.percent)}% of today's ${formatBytes(ingest.limitBytes)} of events are used.` };
	if (usage?.queue?.max && usage.queue.depth >= usage.queue.max * 0.8)
		return { kind: 'warn', text: 'The queue is nearly full: senders are told to slow down.' };
	return null;
}

/** The banner of a quota that is nearly used. */
export default function Quota()
{
	const slug = organization.value?.signInAllowed ? organization.value.slug : null;
	const [usage, setUsage] = useState(null);
	const [dismissed, setDismissed] = useState('');
	useEffect(() => {
		setUsage(null);
		if (!slug || !can('logs:read'))
			return undefined;
		const control = new AbortController();
		const ask = () => {
			if (document.visibilityState === 'visible')
				api.get('/api/v1/usage', { abort: control.signal, organization: slug }).then((answer) => setUsage(answer.data), (error) => {
					// The Usage screen shows why; here the banner is only missing.
					if (!isAbort(error))
						setUsage(null);
				});
		};
		ask();
		const timer = setInterval(ask, 300_000);
		return () => {
			clearInterval(timer);
			control.abort();
		};
	}, [slug]);
	const warning = usageWarning(usage);
	if (!warning || dismissed === warning.text)
		return null;
	const screen = screens.find((one) => one.path === '/usage');
	return html`<div class=${`banner banner-${warning.kind}`}><${Icon} name="alert" /><span class="grow">${warning.text}</span>
		${screen && html`<${Button} size="small" onClick=${() => navigate(orgPath('/usage'))}>Usage<//>`}
		<${Button} size="small" onClick=${() => setDismissed(warning.text)}>Dismiss<//></div>`;
}
