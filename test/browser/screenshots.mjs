/*
 * screenshots.mjs: the pictures of README and docs, from the service of `make quickstart` (make screenshots).
 * LOGSVC_URL, LOGSVC_EMAIL, LOGSVC_PASSWORD: its file env. First argument: the folder. ALL=1: every screen, at
 * two widths, as PNG, to look at.
 */
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const { chromium } = createRequire(path.resolve('build/browser/package.json'))('playwright-core');
const { LOGSVC_URL: base, LOGSVC_EMAIL: email, LOGSVC_PASSWORD: password, ALL: all } = process.env;
const folder = process.argv[2];
const only = process.argv[3];
const widths = all ? [1440, 390] : [1440];
const home = '/o/quickstart';
const answers = async (page, part) => {
	const answer = await page.request.get(`${base}/api/v1/${part}`, { headers: { 'X-Organization-Id': 'quickstart' } });
	return (await answer.json()).data;
};
const idOf = async (page, part, name) => (await answers(page, part)).find((one) => one.name === name).id;

// name, path (or a function of the page), what is done there before the picture is taken. committed: the widths that docs show.
const pictures = [
	{ name: 'search', path: `${home}/search?q=service%3Dcheckout%20OR%20service%3Dpayments`, committed: [1440] },
	{ name: 'search-event', path: `${home}/search?q=level%3Derror`, committed: [390], run: (page) => page.getByText('bank gateway timed out').first().click() },
	{ name: 'patterns', path: `${home}/search?view=patterns` },
	{ name: 'live', path: `${home}/search?view=live` },
	{ name: 'evaluate', path: `${home}/evaluate?q=level%3Derror&earliest=-1h` },
	{ name: 'dashboards', path: `${home}/dashboards` },
	{ name: 'dashboard', path: async (page) => `${home}/dashboards/${await idOf(page, 'dashboards', 'Shop')}`, committed: [1440, 390] },
	{ name: 'dashboard-edit', path: async (page) => `${home}/dashboards/${await idOf(page, 'dashboards', 'Shop')}?edit=1` },
	{ name: 'saved-queries', path: `${home}/saved-queries` },
	{ name: 'alerts', path: `${home}/alerts` },
	{ name: 'alerts-all', path: `${home}/alerts?status=all` },
	{ name: 'alert-rules', path: `${home}/alert-rules` },
	{ name: 'alert-rule', path: async (page) => `${home}/alert-rules/${await idOf(page, 'alert-rules', 'Checkout fails')}`, committed: [1440] },
	{ name: 'alert-rule-new', path: `${home}/alert-rules/new` },
	{ name: 'services', path: `${home}/services` },
	{ name: 'pipelines', path: `${home}/pipelines` },
	{ name: 'pipeline', path: async (page) => `${home}/pipelines/${await idOf(page, 'pipelines', 'webhooks of the bank')}`,
		run: (page) => page.getByRole('button', { name: 'Last 20 that match' }).click() },
	{ name: 'pipeline-new', path: `${home}/pipelines/new` },
	{ name: 'exports', path: `${home}/exports` },
	{ name: 'export', path: async (page) => `${home}/exports/${await idOf(page, 'scheduled-exports', 'Failed payments of the day')}` },
	{ name: 'indexes', path: `${home}/indexes` },
	{ name: 'dead-letters', path: `${home}/dead-letters` },
	{ name: 'usage', path: `${home}/usage` },
	{ name: 'audit', path: `${home}/audit` },
	{ name: 'organization', path: `${home}/settings/organization` },
	{ name: 'team', path: `${home}/settings/team` },
	{ name: 'access-tokens', path: `${home}/settings/access-tokens` },
	{ name: 'api-keys', path: `${home}/settings/api-keys` },
	{ name: 'security', path: `${home}/settings/security` },
	{ name: 'billing', path: `${home}/settings/billing` },
	{ name: 'account', path: `${home}/account` },
];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] });
const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US', timezoneId: 'UTC', reducedMotion: 'reduce' });
const page = await context.newPage();
page.on('pageerror', (error) => console.log(`error: ${error.message}`));
await page.goto(`${base}/sign-in`);
await page.getByLabel('E-mail').fill(email);
await page.getByLabel('Password', { exact: true }).fill(password);
await page.getByRole('button', { name: 'Sign in', exact: true }).click();
await page.waitForURL(`**${home}/**`);
console.log(`after the sign-in: ${page.url()}`);
fs.mkdirSync(folder, { recursive: true });
let total = 0;

// Until no request is under way; those that stay open, such as the live events, are not waited for.
let pending = 0;
for (const [name, step] of [['request', 1], ['requestfinished', -1], ['requestfailed', -1]])
	page.on(name, (request) => { pending += request.url().includes('/tail') ? 0 : step; });
async function until(of)
{
	for (let quiet = 0; quiet < 5;) {
		await of.evaluate(() => new Promise((resolve) => setTimeout(resolve, 60)));
		quiet = pending > 0 ? 0 : quiet + 1;
	}
}

async function take(name)
{
	const session = await context.newCDPSession(page);
	// WebP as Chromium itself writes it: no other program is needed.
	const { data } = await session.send('Page.captureScreenshot', all ? { format: 'png' } : { format: 'webp', quality: 80 });
	await session.detach();
	const bytes = Buffer.from(data, 'base64');
	total += bytes.length;
	fs.writeFileSync(path.join(folder, `${name}.${all ? 'png' : 'webp'}`), bytes);
}

for (const one of pictures) {
	if (only ? !only.split(',').includes(one.name) : !all && !one.committed)
		continue;
	try {
		for (const width of all ? widths : one.committed) {
			await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
			await page.goto(base + (typeof one.path === 'string' ? one.path : await one.path(page)));
			await page.locator('h1').first().waitFor({ state: 'attached' });
			await until(page);
			await one.run?.(page);
			await until(page);
			// Nothing lies under the mouse.
			await page.mouse.move(width / 2, 2);
			for (const colorScheme of ['light', 'dark']) {
				await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
				await page.waitForFunction(() => !document.querySelector('.skeleton'));
				await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
				await take(`${one.name}-${colorScheme}${width === 1440 ? '' : `-${width}`}`);
			}
		}
	} catch (error) {
		console.log(`${one.name}: ${error.message.split('\n').slice(0, 3).join(' ')}`);
		process.exitCode = 1;
	}
}
console.log(`${folder}: ${Math.round(total / 1000)} kB`);
await browser.close();
