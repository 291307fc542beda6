/*
 * banners.js: what concerns the whole page: the service does not answer, a quota is nearly used.
 */
import { html, useEffect, useState } from '../view.js';
import { connection, tryConnection } from '../api.js';
import { session } from '../session.js';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { Lazy } from '../ui/lazy.js';

// After what the screen itself reads.
const quotaAfter = 1500; // ms
const quota = () => import('./quota.js').then((module) => module.default);

function Offline()
{
	const [offline, setOffline] = useState(!navigator.onLine);
	useEffect(() => {
		const update = () => {
			setOffline(!navigator.onLine);
			if (navigator.onLine && connection.peek() === 'down')
				tryConnection();
		};
		window.addEventListener('online', update);
		window.addEventListener('offline', update);
		return () => {
			window.removeEventListener('online', update);
			window.removeEventListener('offline', update);
		};
	}, []);
	if (connection.value === 'up' && !offline)
		return null;
	return html`<div class="banner banner-warn"><${Icon} name="alert" /><span class="grow">${offline
		? 'This machine is offline. What you have typed stays here.'
		: 'The service does not answer. Trying again; what you have typed stays here.'}</span>
		<${Button} size="small" onClick=${tryConnection}>Try now<//></div>`;
}

/** All banners, above the page. */
export function Banners()
{
	const [late, setLate] = useState(false);
	useEffect(() => {
		const timer = setTimeout(() => setLate(true), quotaAfter);
		return () => clearTimeout(timer);
	}, []);
	return html`<div class="banners" role="status"><${Offline} />${late && session.value && html`<${Lazy} load=${quota} quiet />`}</div>`;
}
