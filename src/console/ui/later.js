/*
 * later.js: modules that are loaded when they are first needed, with the styles that the first screen does without.
 */
import { ApiError, api } from '../api.js';
import { openDialog } from './dialog-host.js';
import { toastError } from './toast.js';

let styles = null;
function loadStyles()
{
	styles ??= new Promise((resolve, reject) => {
		const link = document.getElementById('later').content.firstElementChild.cloneNode();
		link.onload = resolve;
		link.onerror = () => {
			styles = null;
			link.remove();
			reject(new Error('the styles were not loaded'));
		};
		document.head.append(link);
	});
	return styles;
}

/** Is the console that the service has now another one than this page's? Waits while the service is away. */
async function isReplaced()
{
	const { data } = await api.get('/', { organization: null, signIn: false, raw: true, headers: { Accept: 'text/html' } });
	return !(await data.text()).includes(document.querySelector('script[src]').getAttribute('src'));
}

/**
 * Loads a module: later(() => import('./x.js')). When that fails because the service was away, it waits and tries again;
 * when there is a new version, whose files have other names, the error offers to load the page again. The page does so
 * never by itself: what was typed is in it.
 */
export async function later(load)
{
	for (let attempt = 0; ; attempt++) {
		try {
			return (await Promise.all([load(), loadStyles()]))[0];
		} catch {
			if (attempt || await isReplaced().catch(() => true))
				throw new ApiError('There is a new version of the console', { code: 'NEW_VERSION', reload: true });
		}
	}
}

/** A dialog whose module is loaded when it is opened: render(module, close). Answers what it is closed with. */
export async function openLater(load, render)
{
	try {
		const module = await later(load);
		return await openDialog((close) => render(module, close));
	} catch (error) {
		toastError(error);
		return null;
	}
}

// Without a bundle every module is a file of its own: then each is loaded when it is needed.
const bundled = !new URL(import.meta.url).pathname.endsWith('/ui/later.js');

/** Loads modules while nothing else is to be done, so that they are there when they are needed. */
export async function loadWhenIdle(loads)
{
	if (!bundled || navigator.connection?.saveData)
		return;
	for (const load of loads) {
		await new Promise((resolve) => { (window.requestIdleCallback ?? setTimeout)(resolve); });
		try {
			await later(load);
		} catch {
			// Whoever needs it is told then.
			return;
		}
	}
}
