/*
 * screens.mjs: every screen of screens.js where all names are hostile; assets are loaded once; what is typed into an editor
 * outlives the session and the server.
 */
import { screens } from '../../src/console/screens.js';
import { base, becomes, call, is, ok, open, stays, test, until } from './harness.mjs';

const { LOGSVC_HOSTILE: hostile, LOGSVC_PASSWORD: password } = process.env;
const made = JSON.parse(process.env.LOGSVC_MADE);
const home = `${base}/o/acme`;
// Those that show no name of anybody else.
const plain = new Set(['/evaluate', '/account', '/alert-rules/new', '/pipelines/new', '/exports/new', '/settings/security', '/settings/billing', '/usage']);

await test(async (browser) => {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
	await context.addCookies([{ name: 'logsvc_session', value: process.env.LOGSVC_COOKIE, url: base, httpOnly: true, sameSite: 'Lax' }]);
	const page = await open(browser, { context, expect: [/status of 401/] });
	page.on('dialog', () => page.bad.push('a text has run as a script'));
	const asked = [];
	let pending = 0;
	page.on('request', (request) => { pending++; asked.push(request); });
	page.on('requestfinished', () => { pending--; });
	page.on('requestfailed', () => { pending--; });

	// ---- files are loaded once ----
	await page.goto(base);
	await page.waitForURL(`${home}/search`);
	ok(true, 'the start is the search');
	await page.getByText('looooooooo').first().waitFor();
	// Those that were loaded whole: what the page loads when it has nothing else to do may be on its way.
	const had = await page.evaluate(() => performance.getEntriesByType('resource').filter((one) => one.responseEnd > 0).map((one) => one.name));
	asked.length = 0;
	await page.goto(`${home}/search`);
	await page.getByText('looooooooo').first().waitFor();
	const again = [];
	for (const one of asked.filter((request) => request.url().includes('/assets/') && had.includes(request.url()))) {
		const { transferSize } = await page.evaluate((url) => performance.getEntriesByName(url)[0] ?? { transferSize: -1 }, one.url());
		if (transferSize !== 0)
			again.push(`${one.url()}: ${transferSize}`);
	}
	ok(had.some((one) => one.includes('/assets/')), 'files were loaded');
	is(again.join(), '', 'a second visit asks for none of them again');

	// ---- every screen ----
	const visit = (path) => page.evaluate((to) => {
		history.pushState(null, '', to);
		dispatchEvent(new PopStateEvent('popstate'));
	}, path);
	const wide = [];
	const ran = [];
	const missing = [];
	for (const screen of screens.filter((one) => !one.path.startsWith('~'))) {
		const name = screen.path.split('/')[1];
		await visit(`/o/acme${screen.path.replace(':id', () => made[name])}`);
		await page.locator('h1').first().waitFor({ state: 'attached' });
		await until(`the answers of ${screen.path}`, () => pending === 0 || screen.path === '/search');
		if (!plain.has(screen.path))
			await until(`a name in ${screen.path}`, () => page.evaluate(() => [document.querySelector('main').innerText,
				...[...document.querySelectorAll('main :is(input, textarea, select)')].map((one) => one.value)].join(' ').includes('ooooooooo')))
				.catch(() => missing.push(screen.path));
		// 320 px, and 200% of 1280.
		for (const width of [320, 640]) {
			await page.setViewportSize({ width, height: 640 });
			await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
			const over = await page.evaluate((most) => (document.documentElement.scrollWidth <= most ? '' : [...document.querySelectorAll('#app *')]
				.filter((one) => one.getBoundingClientRect().right > most && !one.closest('.table-scroll, .nav')).slice(0, 4)
				.map((one) => `${one.tagName} ${one.className}`).join(' > ') || 'x'), width);
			if (over)
				wide.push(`${screen.path} at ${width}: ${over}`);
		}
		await page.setViewportSize({ width: 1280, height: 800 });
		if (await page.locator('img, script:not([src^="/assets/"]), iframe, [onerror], a[href^="javascript"]').count() > 0)
			ran.push(screen.path);
	}
	is(missing.join(), '', 'each screen shows the names');
	is(ran.join(), '', 'as texts');
	is(wide.join('\n'), '', 'nothing sticks out at 320 px and at 200%');
	await becomes(() => page.title(), (title) => title.includes('<img'), 'also in the title of the page');

	// ---- the session ends in the middle of an editor ----
	const typed = `what somebody has typed ${hostile}`;
	await page.goto(`${home}/alert-rules/${made['alert-rules']}`);
	const description = page.getByLabel('Description');
	await description.fill(typed);
	await call('end');
	// A request of the page itself may find it first: then the press waits until the dialog has gone.
	const pressed = page.getByRole('button', { name: 'Save', exact: true }).click();
	const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
	await dialog.waitFor();
	await stays(() => description.inputValue(), typed, 'a session that ends takes no text away');
	await dialog.getByLabel('Password', { exact: true }).fill(password);
	await page.keyboard.press('Enter');
	await dialog.waitFor({ state: 'hidden' });
	await pressed;
	await until('what was saved', async () => (await call('rule')).description === typed);
	ok(true, 'after the sign-in it is saved');

	// ---- the server starts again ----
	page.quiet = true;
	await description.fill(`${typed}, again`);
	await call('stop');
	await page.getByRole('button', { name: 'Save', exact: true }).click();
	await page.getByText('NO_ANSWER').first().waitFor();
	await call('start');
	await page.getByText('The service does not answer. Trying again').waitFor({ state: 'hidden' });
	await stays(() => description.inputValue(), `${typed}, again`, 'nor does a server that starts again');
	await page.getByRole('button', { name: 'Save', exact: true }).click();
	await until('what was saved', async () => (await call('rule')).description === `${typed}, again`);
	page.quiet = false;
	ok(true, 'which then takes it');
});
