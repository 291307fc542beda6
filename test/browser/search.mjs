/*
 * search.mjs: the search screen: first event, queries, completion, errors, fields, histogram, rows, drawer, saved
 * queries, live events, patterns, and texts that would like to be markup.
 */
import { base, becomes, call, is, look, ok, open, stays, test, until } from './harness.mjs';

const hostile = [
	{ event: '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">', level: 'error', service: '<b>shop</b>', '</span>': 'x' },
	{ event: 'right to left \u202e\u05d0\u05d1\u05d2 and back, escape \u001b[31m', level: 'warn', service: 'rtl' },
	{ event: `long ${'0123456789'.repeat(25_000)} end`, level: 'info', service: 'long' },
	{ event: 'wide', level: 'info', service: 'wide', ...Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`field_${i}`, i])) },
	{ event: 'deep', level: 'info', service: 'deep', tree: Array.from({ length: 15 }).reduce((inner) => ({ a: inner, list: [1, 'two'] }), { leaf: 'bottom' }) },
];

const url = (page) => new URL(page.url());
const q = (page) => url(page).searchParams.get('q');
const rows = (page) => page.locator('.rows .event-row');
const row = (page, text) => rows(page).filter({ hasText: text }).first();
const box = (page) => page.getByRole('textbox', { name: 'Search query' });
const summary = (page, text) => page.locator('.summary').filter({ hasText: text }).waitFor();

/** Which requests to /api/v1/search come while something is done. */
async function searches(page, action)
{
	const bodies = [];
	const note = (request) => {
		if (new URL(request.url()).pathname === '/api/v1/search')
			bodies.push(request.postDataJSON());
	};
	page.on('request', note);
	await action();
	page.off('request', note);
	return bodies;
}

async function write(page, text)
{
	await box(page).fill(text);
}

async function run(page, text)
{
	const answered = page.waitForResponse((answer) => new URL(answer.url()).pathname === '/api/v1/search');
	if (text !== undefined)
		await write(page, text);
	await box(page).press('Enter');
	await answered;
}

const signedIn = async (browser, cookie, options) => {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US', timezoneId: 'Europe/Berlin' });
	await context.addCookies([{ name: 'logsvc_session', value: cookie, url: base }]);
	await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: base });
	return open(browser, { context, ...options });
};

await test(async (browser) => {
	// ---- an organization without events ----
	const page = await signedIn(browser, process.env.OWNER, { expect: [/status of 400 .*\/search/] });
	await page.goto(`${base}/`);
	await page.getByRole('heading', { name: 'Send your first event' }).waitFor();
	await becomes(() => page.url().endsWith('/o/acme/search'), true, 'search is the home page');
	await look(page, 'first run');
	await page.getByRole('button', { name: 'Create an API key' }).click();
	await page.getByText('is shown this once').waitFor();
	await page.getByText('Waiting for the first event').waitFor();
	const line = await page.locator('.copy-box pre').innerText();
	ok(/^curl .*Bearer ing_live_/.test(line), 'a line with a key');
	ok(await call('shell', line), 'that line runs as it is');
	await page.getByText('Your first event is here').waitFor();
	await page.getByRole('button', { name: 'Search it' }).click();
	await row(page, 'payment refused').waitFor();
	ok(true, 'it appears without a reload, and is found');

	// ---- many events, and texts that would like to be more ----
	await call('load', 25_000);
	is(await call('send', hostile), hostile.length, 'hostile events are accepted');
	await page.goto('about:blank');
	const first = await searches(page, async () => {
		await page.goto(`${base}/o/acme/search`);
		await row(page, 'deep').waitFor();
	});
	is(first.length, 1, 'opening the screen is one search');
	is(first[0].include.join(), 'histogram,fields', '... with histogram and fields');
	await summary(page, '25,006');
	await stays(() => page.evaluate(() => window.hacked), undefined, 'nothing of it runs');
	const nodes = await page.evaluate(() => document.getElementsByTagName('*').length);
	ok(nodes < 2500, `few nodes (${nodes})`);
	await becomes(() => row(page, 'long').innerText(), (text) => text.length < 2500, 'a row shows the beginning of a long text');
	await becomes(() => row(page, 'right to left').innerText(), (text) => text.includes('[U+202E]'), 'marks of direction are visible');
	await page.getByRole('region', { name: 'Events over time' }).getByText('error').waitFor();
	await run(page, 'request');
	await summary(page, '25,000');
	await look(page, 'search');

	// ---- one Run, one request; the second ends the first ----
	is((await searches(page, async () => {
		const answered = page.waitForResponse((answer) => new URL(answer.url()).pathname === '/api/v1/search');
		await page.getByRole('button', { name: 'Run', exact: true }).click();
		await answered;
	})).length, 1, 'one Run is one request');
	await page.route('**/api/v1/search', async (route) => {
		if (route.request().postDataJSON().q !== 'slowly')
			await route.continue();
	});
	const given = page.waitForEvent('requestfailed');
	await write(page, 'slowly');
	await box(page).press('Enter');
	await page.getByRole('button', { name: 'Stop' }).waitFor();
	await run(page, 'refused level=error');
	ok((await given).failure().errorText.includes('ABORTED'), 'the second search ends the first');
	await page.unroute('**/api/v1/search');
	await becomes(() => page.locator('.rows mark.term').first().innerText(), 'refused', 'what was searched for is marked');

	// ---- errors under the word that is wrong, also after an emoji ----
	await write(page, '😀 | stat count');
	await box(page).press('Enter');
	await page.locator('.q-wrong').first().waitFor();
	await becomes(async () => (await page.locator('.q-wrong').allInnerTexts()).join(''), 'stat', 'the wrong word is underlined');
	await becomes(() => page.locator('.events-box.is-busy .rows mark.term').first().innerText(), 'refused', 'what was found before is pale, with the marks of its own query');
	await page.getByText('QUERY_SYNTAX_ERROR').waitFor();
	await look(page, 'query error');
	await box(page).press('Control+.');
	await becomes(() => box(page).inputValue(), '😀 | stats count', 'one key mends it');
	await run(page);
	await page.getByRole('table').waitFor();

	// ---- completion ----
	await write(page, '');
	await box(page).pressSequentially('lev');
	await page.getByRole('option', { name: /^level/ }).waitFor();
	await box(page).press('Tab');
	await becomes(() => box(page).inputValue(), 'level=', 'a field');
	await page.getByRole('option', { name: /^error/ }).waitFor();
	await box(page).press('ArrowDown');
	await becomes(() => box(page).evaluate((area) => document.getElementById(area.getAttribute('aria-activedescendant')).getAttribute('aria-selected')), 'true', 'aria-activedescendant follows');
	await look(page, 'completion');
	await box(page).focus();
	await box(page).press('Control+Space');
	await box(page).pressSequentially('er');
	await page.getByRole('option', { name: /^error/ }).waitFor();
	await box(page).press('Tab');
	await becomes(() => box(page).inputValue(), 'level=error', 'a value');
	await box(page).pressSequentially(' | sta');
	await page.getByRole('option', { name: /^stats/ }).waitFor();
	await box(page).press('Escape');
	await becomes(() => page.getByRole('option', { name: /^stats/ }).count(), 0, 'Escape closes the list');
	await box(page).press('Control+Space');
	await box(page).press('Tab');
	await box(page).pressSequentially('count by ser');
	await page.getByRole('option', { name: /^service/ }).waitFor();
	await box(page).press('Tab');
	await becomes(() => box(page).inputValue(), 'level=error | stats count by service', 'stage and field');
	await run(page);
	await page.getByRole('cell', { name: 'cart api' }).waitFor();
	await look(page, 'table');
	await page.getByRole('link', { name: 'cart api' }).focus();
	await page.keyboard.press('Enter');
	await until('the events of the row', () => q(page) === 'level=error service="cart api"');
	await page.locator('.event-row').first().waitFor();
	await page.goBack();
	await page.getByRole('row', { name: /cart api/ }).getByRole('cell').last().click();
	await until('the events of the row', () => q(page) === 'level=error service="cart api"');
	ok(true, 'from a row of groups to its events, by keys and by the pointer');
	await page.goBack();
	await page.getByRole('cell', { name: 'cart api' }).waitFor();
	await page.getByRole('button', { name: 'count', exact: true }).click();
	await becomes(() => url(page).searchParams.get('order'), 'count', 'the order is in the address');
	await becomes(() => page.getByRole('columnheader', { name: 'count' }).getAttribute('aria-sort'), 'ascending', '... and told');
	await run(page, '| stats min(timestamp) by service');
	const inZone = async (time) => {
		const iso = await time.getAttribute('title');
		const shown = `${new Date(iso).toLocaleString('sv-SE', { timeZone: 'Europe/Berlin' })}.${iso.slice(20, 23)}`;
		return /Z$/.test(iso) && await time.innerText() === shown;
	};
	await becomes(() => inZone(page.locator('td .time').first()), true, 'times in a table are those of the zone');
	await run(page, '| timechart count by level');
	await page.getByRole('img', { name: /series from/ }).waitFor();

	// ---- fields ----
	await run(page, '');
	const fields = page.locator('.search-fields');
	await fields.getByRole('button', { name: /^error: / }).or(fields.locator('.field-value-main', { hasText: 'error' })).first().click();
	await until('another query', () => q(page) === 'level=error');
	await summary(page, '5,002');
	await fields.locator('.field-value-main', { hasText: 'cart api' }).click({ modifiers: ['Alt'] });
	await until('another query', () => q(page) === 'level=error NOT service="cart api"');
	ok(true, 'a click adds a filter, with Alt against the value');
	await page.goBack();
	await until('the query of before', async () => q(page) === 'level=error' && await box(page).inputValue() === 'level=error');
	ok(true, 'Back restores the query');

	// ---- the histogram: mouse and keys choose the same range ----
	await run(page, '');
	await summary(page, '25,006');
	const now = Date.now();
	const whole = `?${new URLSearchParams({ earliest: new Date(now - 3_600_000).toISOString(), latest: new Date(now).toISOString() })}`;
	await page.goto(`${base}/o/acme/search${whole}`);
	const area = page.locator('.histogram-area');
	await area.waitFor();
	const picker = page.locator('.time-range > button');
	await becomes(() => picker.innerText(), /^Time range:\s+\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? to (\S+ )?\d\d:\d\d(:\d\d)? UTC\+\d$/, 'a range of fixed times says its end and its zone');
	await becomes(() => picker.getAttribute('title'), /\d\d:\d\d:\d\d\.\d{3} UTC\+\d$|\d\d:\d\d UTC\+\d$/, '... and its title has all of it');
	await picker.click();
	await becomes(async () => (await page.locator('.zone-choice label').allInnerTexts()).map((one) => one.trim()).join(', '), 'Europe/Berlin this browser, UTC the organization', 'a zone is offered once');
	await page.keyboard.press('Escape');
	for (const width of [390, 1440, 1280]) {
		await page.setViewportSize({ width, height: 800 });
		await becomes(() => picker.locator('> span').evaluate((one) => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight), true, `nothing is cut off at ${width} px`);
	}
	ok(await area.locator('.bar-part').count() > 0, 'bars of which the range has a part say so');
	await page.setViewportSize({ width: 390, height: 800 });
	await until('a histogram as wide as the window', async () => (await area.boundingBox()).width <= 390 && await page.evaluate(() => document.documentElement.scrollWidth) <= 390);
	await page.setViewportSize({ width: 1280, height: 800 });
	await until('the width of before', async () => (await area.boundingBox()).width > 500);
	const count = Number(await page.getByRole('slider', { name: /First bar/ }).getAttribute('max')) + 1;
	const place = await area.boundingBox();
	const x = (bar) => place.x + (place.width * (bar + 0.5)) / count;
	await page.mouse.move(x(2), place.y + 20);
	await page.mouse.down();
	await page.mouse.move(x(4), place.y + 20);
	await page.mouse.move(x(5), place.y + 20);
	await page.mouse.up();
	await until('a part of the range', () => url(page).search !== whole);
	const byMouse = url(page).search;
	await summary(page, /^(?!25,006)/);
	await page.goBack();
	await summary(page, '25,006');
	for (const [name, key, times] of [[/First bar/, 'ArrowRight', 2], [/Last bar/, 'ArrowLeft', count - 1 - 5]]) {
		await page.getByRole('slider', { name }).focus();
		for (let i = 0; i < times; i++)
			await page.keyboard.press(key);
	}
	await page.keyboard.press('Enter');
	await becomes(() => url(page).search, byMouse, 'keys and mouse choose the same range');

	// ---- 25,000 rows by pages ----
	await page.goto(`${base}/o/acme/search`);
	await row(page, 'deep').waitFor();
	await page.getByRole('listbox', { name: 'Events, newest first' }).focus();
	await until('all rows', async () => {
		await page.keyboard.press('End');
		return (await rows(page).first().getAttribute('aria-setsize')) === '25006';
	});
	await page.keyboard.press('End');
	await row(page, 'request 25000').waitFor();
	await becomes(() => page.evaluate(() => document.querySelectorAll('.rows *').length), (n) => n < 1000, 'only the rows that are seen are drawn');
	await page.keyboard.press('Home');
	await row(page, 'deep').waitFor();
	ok(true, 'End and Home show the right rows');
	const scrolled = await page.evaluate(async () => {
		const list = document.querySelector('.rows');
		const nodes = new Set(list.querySelectorAll('.event-row'));
		const most = [];
		for (let i = 0; i < 60; i++) {
			list.scrollTop += 4000;
			await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
			most.push(list.querySelectorAll('*').length);
		}
		return { most: Math.max(...most), fresh: [...list.querySelectorAll('.event-row')].filter((one) => !nodes.has(one)).length, top: list.scrollTop,
			right: [...list.querySelectorAll('.event-row')].every((one) => Math.abs(new DOMMatrix(getComputedStyle(one).transform).f - (one.getAttribute('aria-posinset') - 1) * 24) < 1) };
	});
	ok(scrolled.top > 100_000 && scrolled.most < 1000 && scrolled.fresh === 0 && scrolled.right, 'scrolling makes no nodes, and each row is in its place', JSON.stringify(scrolled));
	await page.keyboard.press('Home');

	// ---- what a result becomes ----
	const actions = page.locator('.action-buttons');
	await run(page, 'refused level=error');
	await summary(page, /^5,00|^2,5|^\d/);
	const href = (name) => () => actions.getByRole('link').evaluateAll((links, text) => links.find((one) => one.textContent.trim() === text).getAttribute('href'), name);
	await becomes(href('Alert'), '/o/acme/alert-rules/new?q=refused+level%3Derror', 'an alert rule');
	await becomes(href('Evaluate'), /^\/o\/acme\/evaluate\?q=refused\+level%3Derror&earliest=2[^&]*Z&latest=2[^&]*Z$/, 'an evaluation, with the times that were searched');
	await becomes(href('Export'), /^\/o\/acme\/exports\?export=now&q=refused/, 'a file');
	await actions.getByRole('link', { name: 'Export all rows' }).click();
	await becomes(() => page.getByRole('dialog').getByRole('textbox', { name: 'Query' }).inputValue(), 'refused level=error', 'one press opens the export of this search');
	await page.keyboard.press('Escape');
	await page.getByRole('dialog').waitFor({ state: 'hidden' });
	await page.goBack();
	await actions.getByRole('button', { name: 'Add to a dashboard' }).click();
	await page.getByRole('dialog', { name: 'Add to a dashboard' }).getByLabel('Name of the dashboard').fill('Night');
	await page.getByLabel('Title of the panel').fill('Refused');
	await page.getByRole('button', { name: 'Add panel' }).click();
	await page.getByRole('link', { name: 'Night' }).waitFor();
	await actions.getByRole('button', { name: 'Add to a dashboard' }).click();
	await page.getByLabel('Dashboard', { exact: true }).selectOption({ label: 'Night' });
	await page.getByLabel('Title of the panel').fill('Again');
	await page.getByRole('button', { name: 'Add panel' }).click();
	await becomes(() => page.evaluate(async () => {
		const ask = async (path) => (await (await fetch(`/api/v1/dashboards${path}`, { headers: { 'X-Organization-Id': 'acme' } })).json()).data;
		const { timeRange, panels } = await ask(`/${(await ask('')).find((one) => one.name === 'Night').id}`);
		return [timeRange.earliest, timeRange.latest, ...panels.map(({ layout: { x, y, w, h } }) => `${x},${y} ${w}x${h}`)].join(' ');
	}), '-1h now 0,0 12x8 12,0 12x8', 'panels of a dashboard, which has the time of the search, beside each other');

	// ---- a list that has just come, by keys ----
	await page.goto(`${base}/o/acme/search?q=refused`);
	await row(page, 'request').waitFor();
	await page.locator('.summary').click();
	await page.keyboard.press('j');
	await page.keyboard.press('j');
	await until('the second row', async () => await page.locator('.event-row.is-active').getAttribute('aria-posinset') === '2');
	await page.keyboard.press('k');
	await until('the first row', async () => await page.locator('.event-row.is-active').getAttribute('aria-posinset') === '1');
	ok(true, 'j and k choose rows');

	// ---- Back closes an event; all of its request ----
	await call('send', [{ event: 'request begins', service: 'front', request_id: 'r-77' }, { event: 'request ends', service: 'back', request_id: 'r-77' }]);
	await run(page, 'service=front');
	await summary(page, '1 event');
	const here = url(page).search;
	await row(page, 'request begins').click();
	await page.getByRole('complementary').getByRole('button', { name: 'All events of this request' }).waitFor();
	await page.goBack();
	await page.getByRole('complementary').waitFor({ state: 'hidden' });
	is(url(page).search, here, 'Back closes the event and stays on the page');
	await row(page, 'request begins').click();
	await page.keyboard.press('Escape');
	await page.getByRole('complementary').waitFor({ state: 'hidden' });
	await page.goBack();
	await until('the query of before', () => q(page) === 'refused');
	ok(true, 'and does not come to one that was closed');
	await run(page, 'service=front');
	await row(page, 'request begins').click();
	await page.keyboard.press('Escape');
	await page.getByRole('complementary').waitFor({ state: 'hidden' });
	await page.getByRole('link', { name: 'Skip to the content' }).focus();
	await page.keyboard.press('Enter');
	await stays(() => `${q(page)} ${url(page).hash}`, 'service=front #main', 'the link to the content is not taken for Back');
	await page.keyboard.press('Control+k');
	await page.getByRole('dialog', { name: 'Go to' }).waitFor();
	await page.goBack();
	await page.getByRole('dialog').waitFor({ state: 'hidden' });
	is(`${q(page)} ${url(page).hash}`, 'service=front #main', 'Back closes a dialog and stays on the page');
	await page.keyboard.press('Control+k');
	await page.getByRole('dialog', { name: 'Go to' }).waitFor();
	await page.keyboard.press('Escape');
	await page.getByRole('dialog').waitFor({ state: 'hidden' });
	await page.goBack();
	await until('the address without the link', () => url(page).hash === '');
	ok(true, 'and does not stop at one that was closed');
	await run(page, 'service=front');
	await summary(page, '1 event');
	await row(page, 'request begins').click();
	await page.getByRole('complementary').getByRole('button', { name: 'All events of this request' }).click();
	await until('another query', () => q(page) === 'request_id=r-77');
	await summary(page, '2 events');
	ok(true, 'from an event to all of its request');

	// ---- one event ----
	await page.goto(`${base}/o/acme/search`);
	await run(page, 'service=deep');
	await summary(page, '1 event');
	await row(page, 'deep').click();
	const drawer = page.getByRole('complementary');
	await drawer.getByText('tree').first().waitFor();
	await becomes(() => inZone(drawer.locator('.json-leaf').filter({ has: page.getByText('timestamp', { exact: true }) }).locator('.time')), true, 'its time is of the zone, in its title and among its fields');
	await look(page, 'event');
	await drawer.getByRole('tab', { name: 'Context' }).click();
	await drawer.locator('.context-row.is-own').waitFor();
	await becomes(() => url(page).searchParams.get('tab'), 'context', 'what is shown of an event is in the address');
	await drawer.getByRole('tab', { name: 'JSON' }).click();
	await drawer.getByText('"event": "deep"').waitFor();
	await drawer.getByRole('button', { name: 'Copy link to this event' }).click();
	const copied = () => page.evaluate(() => navigator.clipboard.readText());
	await becomes(copied, (text) => /event=evt_/.test(text) && /earliest=2/.test(text), 'a link to the event, with fixed times');
	const link = await copied();
	await page.keyboard.press('Escape');
	await drawer.waitFor({ state: 'hidden' });
	await page.goto(link);
	await drawer.getByText('deep', { exact: true }).first().waitFor();
	await drawer.getByRole('button', { name: 'Only events with this service' }).click();
	await until('another query', () => q(page) === 'service=deep');
	ok(true, 'a filter from a leaf');

	// ---- saved queries ----
	await page.goto(`${base}/o/acme/search?q=level%3Derror`);
	await summary(page, '5,00');
	await page.keyboard.press('Control+s');
	const dialog = page.getByRole('dialog', { name: 'Save query' });
	await dialog.getByLabel('Name').fill('errors <b>now</b>');
	await dialog.getByRole('combobox', { name: /Folder/ }).fill('web');
	await dialog.getByLabel('Name').press('Enter');
	await dialog.waitFor({ state: 'hidden' });
	await run(page, 'refused');
	await page.getByRole('button', { name: 'Saved' }).click();
	await drawer.getByText('errors <b>now</b>').waitFor();
	await look(page, 'saved queries');
	await drawer.getByText('errors <b>now</b>').click();
	await until('another query', () => q(page) === 'level=error');
	await page.getByRole('button', { name: 'Saved' }).click();
	await drawer.getByRole('button', { name: /More about errors/ }).click();
	await page.getByRole('menuitem', { name: 'Delete' }).click();
	await page.getByRole('button', { name: 'Undo' }).click();
	await drawer.getByText('errors <b>now</b>').waitFor();
	ok(true, 'saved, opened, deleted, and back');
	await page.keyboard.press('Escape');

	// ---- columns ----
	await page.goto(`${base}/o/acme/search?q=refused&cols=timestamp,user.id,event&wrap=1`);
	await row(page, 'request').waitFor();
	await becomes(async () => (await page.locator('.events-head .cell').allInnerTexts()).join(' '), 'Time user.id Event', 'the address has the columns');
	await page.getByRole('button', { name: 'Columns and rows' }).click();
	await look(page, 'columns');
	await page.keyboard.press('Escape');

	// ---- patterns ----
	await page.goto(`${base}/o/acme/search?view=patterns`);
	await page.locator('.pattern-text').first().waitFor();
	await look(page, 'patterns');
	await page.getByRole('img', { name: /^Over time: at most/ }).first().waitFor();
	ok(true, 'patterns over time');
	const patterns = await page.locator('.pattern').count();
	const excluded = await page.locator('.pattern-text').first().innerText();
	await page.getByRole('button', { name: /^Exclude this pattern/ }).first().click();
	await becomes(() => page.locator('.pattern').count(), patterns - 1, 'one pattern less');
	await becomes(() => q(page), /where template_id != /, '... by the query');
	await becomes(() => page.locator('.pattern-text').allInnerTexts(), (texts) => !texts.includes(excluded), '... the one that was excluded');
	await page.goBack();
	await until('all of them', async () => await page.locator('.pattern').count() === patterns);
	// Another range: the old events are in the half before it.
	const before = Date.now() - 1000;
	await call('send', [{ event: 'the disk of node 7 is melting', level: 'error' }, { event: 'the disk of node 8 is melting', level: 'error' }]);
	await page.goto(`${base}/o/acme/search?${new URLSearchParams({ view: 'patterns', since: 'before', earliest: new Date(before - 1_800_000).toISOString(), latest: new Date(before + 60_000).toISOString() })}`);
	const melting = page.locator('.pattern').filter({ hasText: 'is melting' });
	await melting.locator('.badge', { hasText: 'new' }).waitFor();
	await becomes(() => page.locator('.pattern-change .number').count(), (n) => n > 0, 'new since the period before, others with their change');
	await page.getByRole('checkbox', { name: 'Only new ones' }).click();
	await until('only new ones', async () => await page.locator('.pattern-change .number').count() === 0);
	await becomes(() => url(page).searchParams.get('new'), '1', '... is in the address');
	await look(page, 'patterns compared');
	await melting.getByRole('button', { name: /^Only events of this pattern/ }).click();
	await until('the rows of a pattern', () => /where template_id = /.test(q(page)));
	await summary(page, /^2 events/);
	await row(page, 'is melting').waitFor();
	ok(true, 'from a pattern to its events');

	// ---- live ----
	await page.goto(`${base}/o/acme/search?view=live&q=level%3Derror`);
	await page.locator('.badge', { hasText: 'Live' }).waitFor();
	await call('send', [{ event: 'it burns', level: 'error' }, { event: 'all is well', level: 'info' }]);
	await row(page, 'it burns').waitFor();
	await stays(() => rows(page).filter({ hasText: 'all is well' }).count(), 0, 'live events are those of the head');
	await page.getByRole('button', { name: 'Pause' }).click();
	await call('send', [{ event: 'it burns more', level: 'error' }]);
	await page.getByRole('button', { name: '1 new' }).waitFor();
	await stays(() => rows(page).filter({ hasText: 'it burns more' }).count(), 0, 'a paused list holds still');
	await look(page, 'live');
	await page.getByRole('button', { name: '1 new' }).click();
	await row(page, 'it burns more').waitFor();
	ok(true, 'the pill brings the new ones');
	const quiet = page.expect.length;
	page.expect.push(/Failed to load resource|ERR_/);
	await call('restart');
	await call('send', [{ event: 'it burns after the restart', level: 'error' }]);
	await row(page, 'it burns after the restart').waitFor();
	await becomes(() => row(page, 'it burns more').count(), 1, 'it goes on after a restart of the service, with all that was there');
	await page.route('**/api/v1/logs/tail*', (route) => route.fulfill({ status: 429, headers: { 'Retry-After': '2' }, contentType: 'application/json', body: '{"error":"too many requests","code":"RATE_LIMIT_EXCEEDED"}' }), { times: 1 });
	await page.reload();
	await page.getByText(/Live views may be opened 10 times a minute/).waitFor();
	await page.locator('.badge', { hasText: 'Live' }).waitFor();
	ok(true, 'it says when too many were opened, and goes on by itself');
	page.expect.length = quiet;

	// ---- a viewer ----
	const eve = await signedIn(browser, process.env.VIEWER);
	await eve.goto(`${base}/o/acme/search`);
	await rows(eve).first().waitFor();
	await eve.getByRole('button', { name: 'What to do with this search' }).click();
	await eve.getByRole('menuitem').first().waitFor();
	await stays(async () => (await eve.getByRole('menuitem').allInnerTexts()).filter((one) => /Save|alert|dashboard|Evaluate/.test(one)).join(), '', 'a viewer is offered nothing that would be refused');
});
