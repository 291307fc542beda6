/*
 * loading.mjs: what the console loads when: the first screen, the rest meanwhile, files that are gone after an upgrade,
 * a service that is away.
 */
import { base, is, ok, open, stays, test, until } from './harness.mjs';

const assetOf = (address) => new URL(address).pathname.match(/^\/assets\/(.+)/)?.[1];
const heading = (page, text) => page.getByRole('heading', { level: 1, name: text }).waitFor({ state: 'attached' });

await test(async (browser) => {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
	await context.addCookies([{ name: 'logsvc_session', value: process.env.LOGSVC_COOKIE, url: base }]);
	const index = await (await context.request.get(`${base}/`, { headers: { Accept: 'text/html' } })).text();
	// What is in a template is not loaded by the page.
	const first = new Set([...index.replace(/<template.*?<\/template>/s, '').matchAll(/(?:src|href)="\/assets\/([^"]+)"/g)].map(([, name]) => name));
	const rows = (page) => page.locator('.rows .event-row').first();
	const others = (path) => path.pathname.startsWith('/assets/') && !first.has(assetOf(path.href));

	// ---- the first screen needs what the page names, and no more ----
	const page = await open(browser, { context, expect: [/ERR_|status of (400|404)/] });
	await page.route(others, (route) => route.abort('connectionrefused'));
	await page.goto(`${base}/o/acme/search`);
	await rows(page).waitFor();
	is(first.size, 2, 'a script and a style');
	ok(true, 'rows are there with these alone');
	await page.goto(`${base}/o/acme/search?q=${encodeURIComponent('* | stat count')}`);
	await page.locator('.query-problem').waitFor();
	is(await page.locator('.query-problem').evaluate((one) => `${getComputedStyle(one).display} ${getComputedStyle(one).color !== getComputedStyle(document.body).color}`), 'flex true',
		'what is wrong with a query has its styles');
	await page.goto(`${base}/o/acme/search`);
	await rows(page).waitFor();

	// ---- the service is away: the part comes when it is back ----
	const outage = (path) => ['/readyz', '/'].includes(path.pathname);
	await page.route(outage, (route) => route.abort('connectionrefused'));
	await page.getByRole('textbox', { name: 'Search query' }).fill('level=error half a query');
	await page.getByRole('button', { name: 'Saved' }).click();
	await page.getByText('The service does not answer').waitFor();
	await page.unroute(others);
	await page.unroute(outage);
	await page.getByRole('dialog', { name: 'Saved queries' }).or(page.getByRole('complementary', { name: 'Saved queries' })).or(page.getByRole('heading', { name: 'Saved queries' })).first().waitFor();
	await stays(() => page.getByRole('textbox', { name: 'Search query' }).inputValue(), 'level=error half a query', 'away and back: the part is there, and what was typed');
	await page.close();

	// ---- a new version: files are gone. It is offered to load the page again, and not done ----
	const old = await open(browser, { context, expect: [/status of 404/] });
	let loads = 0;
	old.on('domcontentloaded', () => { loads++; });
	await old.route(others, (route) => route.fulfill({ status: 404, body: '' }));
	await old.goto(`${base}/o/acme/search`);
	await rows(old).waitFor();
	const upgraded = (path) => path.pathname === '/';
	await old.route(upgraded, (route) => route.fulfill({ contentType: 'text/html', body: index.replace(/(script type="module" src="\/assets\/)\w+/, '$1other') }));
	await old.getByRole('textbox', { name: 'Search query' }).fill('level=error half a query');
	await old.getByRole('button', { name: 'Saved' }).click();
	await old.getByText('There is a new version of the console').waitFor();
	await stays(() => old.getByRole('textbox', { name: 'Search query' }).inputValue(), 'level=error half a query', 'a part is gone: what was typed stays');
	await old.keyboard.press('Control+k');
	await until('the palette to say so, too', async () => await old.getByText('There is a new version of the console').count() === 2);
	await old.getByRole('link', { name: 'Alert rules' }).click();
	await old.getByText('This screen could not be loaded').waitFor();
	await stays(() => loads, 1, 'the page was never loaded again by itself');
	await old.unroute(others);
	await old.unroute(upgraded);
	await old.locator('main').getByRole('button', { name: 'Load the page again' }).click();
	await old.getByRole('link', { name: 'New alert rule' }).or(old.getByRole('button', { name: 'New alert rule' })).first().waitFor();
	await stays(() => loads, 2, 'it is when somebody presses the button');
	await old.close();

	// ---- the rest comes while nothing else is to be done, then screens need nothing more ----
	const idle = await open(browser, { context });
	const asked = [];
	idle.on('requestfinished', (request) => asked.push(assetOf(request.url())));
	await idle.goto(`${base}/o/acme/search`);
	await rows(idle).waitFor();
	await until('all areas', () => ['first', 'screens'].every((area) => asked.some((one) => one?.startsWith(`${area}.`))));
	await until('the last of them', async () => {
		const loaded = asked.length;
		await idle.waitForTimeout(1000);
		return asked.length === loaded;
	});
	const before = asked.filter(Boolean).length;
	for (const [link, title] of [['Alert rules', 'Alert rules'], ['Dashboards', 'Dashboards'], ['Pipelines', 'Pipelines'], ['Team', 'Team']]) {
		await idle.getByRole('link', { name: link, exact: true }).click();
		await heading(idle, title);
	}
	await stays(() => asked.filter(Boolean).length - before, 0, 'other screens load no more files');
});
