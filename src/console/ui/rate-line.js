/*
 * rate-line.js: how many requests of this minute are left, as the last answer said.
 */
import { html, useEffect, useState } from '../view.js';
import { formatNumber } from './numbers.js';

/** rate: that of an answer, {limit, remaining, resetsAt}; what: what is counted, such as ' searches'. */
export function RateLine({ rate, what = '' })
{
	const [now, setNow] = useState(Date.now());
	const seconds = rate ? Math.ceil((rate.resetsAt - now) / 1000) : 0;
	useEffect(() => {
		if (!rate)
			return undefined;
		setNow(Date.now());
		const timer = setInterval(() => {
			setNow(Date.now());
			if (Date.now() > rate.resetsAt)
				clearInterval(timer);
		}, 1000);
		return () => clearInterval(timer);
	}, [rate]);
	if (!rate || seconds <= 0)
		return null;
	return html`<span class="small muted number">${formatNumber(rate.remaining)} of ${formatNumber(rate.limit)}${what} left this minute${rate.remaining < rate.limit ? `, more in ${seconds} s` : ''}</span>`;
}
