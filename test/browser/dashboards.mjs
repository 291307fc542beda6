/*
 * dashboards.mjs: dashboards: seen, edited by keys, changed by two at once, shared by a link, made from templates and files.
 */
import { base, becomes, call, is, look, ok, open, stays, test, until } from './harness.mjs';

const id = process.env.LOGSVC_DASHBOARD;

async function signedIn(browser, cookie, options)
{
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
	await context.addCookies([{ name: 'logsvc_session', value: cookie, url: base }]);
	return open(browser, { context, ...options });
}
const panel = (page, name) => page.locator(`[data-panel="${name}"]`);
const button = (page, name) => page.getByRole('button', { name, exact: true });
const saved = () => page1.getByRole('status').filter({ hasText: 'Saved' });
let page1;

await test(async (browser) => {
	const ann = await signedIn(browser, process.env.LOGSVC_COOKIE, { expect: [/status of 412/, /status of (400|403)/] });
	page1 = ann;
	let loads = 0;
	ann.on('request', (request) => { loads += /dashboards\/[^/]+\/data$/.test(request.url()) ? 1 : 0; });

	// ---- the list, and what panels show ----
	await ann.goto(`${base}/o/acme/dashboards`);
	await ann.getByRole('link', { name: /^wall/ }).waitFor();
	await look(ann, 'dashboards');
	await ann.getByRole('link', { name: /^wall/ }).click();
	await panel(ann, 'count').getByText('60').waitFor();
	await panel(ann, 'lines').locator('canvas').first().waitFor();
	await stays(() => loads, 1, 'all panels with one request');
	await becomes(() => panel(ann, 'parts').locator('path.pie-slice').count(), 2, 'parts of a pie');
	await becomes(() => panel(ann, 'bars').innerText(), (text) => text.includes('web "x"'), 'bars');
	await becomes(() => panel(ann, 'table').getByRole('table').innerText(), (text) => text.includes('count'), 'a table');
	await becomes(() => panel(ann, 'rows').getByRole('listitem').count(), 12, 'events of the level');
	await becomes(() => panel(ann, 'broken').innerText(), (text) => text.includes('INDEX_NOT_FOUND'), 'one wrong panel does not spoil the others');
	await becomes(() => panel(ann, 'note').getByRole('link').count(), 1, 'a note has links to web sites only');
	await look(ann, 'dashboard');

	// ---- a legend that has no room for all ----
	await ann.setViewportSize({ width: 1900, height: 800 });
	await until('a wide chart', () => panel(ann, 'legend').locator('.u-wrap').evaluate((one) => one.clientWidth > 450));
	await ann.setViewportSize({ width: 390, height: 800 });
	await panel(ann, 'legend').scrollIntoViewIfNeeded();
	await becomes(() => panel(ann, 'legend').locator('.series-chart').evaluate((one) => {
		const bottom = (of) => of.getBoundingClientRect().bottom;
		return one.querySelector('.u-wrap').clientWidth < 400 && one.querySelector('.u-legend').offsetHeight > 20 && bottom(one.querySelector('.u-legend')) <= bottom(one) + 1;
	}), true, 'keeps its room where a chart gets narrow');
	await becomes(() => panel(ann, 'legend').locator('.u-legend').evaluate((legend) => {
		const bottom = legend.getBoundingClientRect().bottom;
		return [...legend.querySelectorAll('.u-series')].filter((row) => row.offsetHeight > 0 && row.getBoundingClientRect().bottom <= bottom + 1)
			.map((row) => row.querySelector('.u-label').textContent).slice(0, 3).join(', ');
	}), 'the largest of all, the second of them, the third of them', 'has the largest first');
	await ann.setViewportSize({ width: 1280, height: 800 });

	// ---- time and variables are in the address ----
	await button(ann, 'Time range: Last hour').click();
	await ann.getByRole('button', { name: 'Last 4 hours' }).click();
	await ann.waitForURL(/earliest=-4h/);
	await ann.getByRole('combobox', { name: 'level' }).click();
	await ann.getByRole('option', { name: 'info' }).click();
	await ann.waitForURL(/var-level=info/);
	await until('events of the other level', async () => await panel(ann, 'rows').getByRole('listitem').count() === 48);
	await ann.getByRole('combobox', { name: 'service' }).click();
	await ann.getByRole('option', { name: 'web "x"' }).click();
	await panel(ann, 'count').getByText('20').waitFor();
	await ann.reload();
	await panel(ann, 'count').getByText('20').waitFor();
	ok(true, 'a reload shows the same');
	await panel(ann, 'lines').getByRole('button', { name: /Actions/ }).click();
	await ann.getByRole('menuitem', { name: 'Show as a table' }).click();
	await panel(ann, 'lines').getByRole('table').waitFor();

	// ---- moved and resized by keys alone ----
	await ann.goto(`${base}/o/acme/dashboards/${id}`);
	await panel(ann, 'count').getByText('60').waitFor();
	await ann.locator('main').focus();
	const handle = panel(ann, 'lines').getByRole('button', { name: /^Move events/ });
	// A screen is seen a moment before it listens to keys.
	await until('the editor', async () => {
		await ann.keyboard.press('e');
		return handle.waitFor({ timeout: 10_000 }).then(() => true, () => false);
	});
	await handle.focus();
	await ann.keyboard.press('Shift+ArrowLeft');
	await ann.keyboard.press('Shift+ArrowLeft');
	await ann.keyboard.press('Shift+ArrowDown');
	await ann.getByText('events: column 1, row 1, 10 wide, 9 high').waitFor({ state: 'attached' });
	await ann.keyboard.press('ArrowRight');
	await becomes(() => handle.evaluate((one) => one === document.activeElement), true, 'the focus stays at what is moved');
	await look(ann, 'dashboard, edited');
	await ann.keyboard.press('Control+s');
	await saved().first().waitFor();
	const after = await call('saved');
	is(JSON.stringify(after.panels.find((one) => one.id === 'lines').layout, ['x', 'y', 'w', 'h']), '{"x":1,"y":0,"w":10,"h":9}', 'resized and moved by keys, and saved');

	// ---- a panel beside its query ----
	await button(ann, 'Edit').click();
	await button(ann, 'Add panel').click();
	await ann.getByLabel('Query', { exact: true }).waitFor();
	await ann.getByLabel('Title', { exact: true }).fill('by service');
	await ann.getByLabel('Kind', { exact: true }).selectOption('bar');
	await ann.getByLabel('Query', { exact: true }).fill('* | stat count by service');
	await button(ann, 'Run').click();
	await ann.getByText(/did you mean stats/i).first().waitFor();
	ok(true, 'an error of the query is at the query');
	await ann.getByLabel('Query', { exact: true }).fill('service=$service | stats count by service');
	await ann.keyboard.press('Control+Enter');
	await ann.getByRole('region', { name: 'Live result' }).getByText('web "x"').waitFor();
	await look(ann, 'panel editor');
	await button(ann, 'Done').click();
	await ann.getByRole('group', { name: 'by service' }).getByText('web "x"').waitFor();

	// ---- two at once ----
	const bob = await open(browser, { context: ann.context(), expect: [/status of 412/] });
	await bob.goto(`${base}/o/acme/dashboards/${id}?edit=1`);
	await panel(bob, 'note').getByRole('button', { name: /Actions/ }).click();
	await bob.getByRole('menuitem', { name: 'Remove' }).click();
	await button(bob, 'Undo').click();
	await panel(bob, 'note').waitFor();
	await panel(bob, 'note').getByRole('button', { name: /Actions/ }).click();
	await bob.getByRole('menuitem', { name: 'Remove' }).click();
	await button(bob, 'Save').click();
	await bob.getByRole('status').filter({ hasText: 'Saved' }).waitFor();
	await button(ann, 'Save').click();
	const conflict = ann.getByRole('dialog', { name: 'This dashboard has changed meanwhile' });
	await conflict.waitFor();
	await becomes(() => conflict.getByRole('region', { name: 'Yours' }).innerText(), /Added: by service/, 'what is mine');
	await becomes(() => conflict.getByRole('region', { name: 'Theirs' }).innerText(), /Removed: note/, 'what is theirs');
	await look(ann, 'dashboard, conflict');
	await button(ann, 'Back to the editor').click();
	await stays(async () => (await call('saved')).panels.some((one) => one.title === 'by service'), false, 'nothing was overwritten');
	await ann.getByRole('group', { name: 'by service' }).waitFor();
	await button(ann, 'Save').click();
	await conflict.getByRole('button', { name: 'Save mine as a copy' }).click();
	await ann.getByRole('heading', { level: 1, name: /\(copy\)$/ }).waitFor();
	ok(true, 'the second one keeps what it did, as a copy');

	// ---- leaving unsaved work asks ----
	await button(ann, 'Edit').click();
	await button(ann, 'Settings').click();
	await ann.getByRole('dialog').getByLabel('Name', { exact: true }).first().fill('renamed');
	await look(ann, 'dashboard, settings');
	await button(ann, 'Apply').click();
	await ann.keyboard.press('Control+k');
	await ann.getByRole('dialog', { name: 'Go to' }).waitFor();
	await ann.keyboard.type('your account');
	await ann.keyboard.press('Enter');
	await ann.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
	await ann.keyboard.press('Escape');
	await ann.getByRole('dialog').waitFor({ state: 'hidden' });
	await ann.getByRole('heading', { level: 1, name: /renamed/ }).waitFor();
	await ann.goBack();
	await ann.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
	await ann.keyboard.press('Escape');
	await ann.getByRole('dialog').waitFor({ state: 'hidden' });
	ok(true, 'Back asks, too');
	await ann.getByRole('heading', { level: 1, name: /renamed/ }).waitFor();
	await button(ann, 'Cancel').click();
	await button(ann, 'Discard').click();
	await button(ann, 'Edit').waitFor();

	// ---- a link ----
	await button(ann, 'More').click();
	await ann.getByRole('menuitem', { name: 'Share' }).click();
	await ann.getByText('Whoever has the link').click();
	await button(ann, 'Make a link').click();
	const link = (await ann.getByRole('dialog').locator('pre').innerText()).trim();
	await stays(() => ann.getByRole('dialog').locator('.button-primary').allInnerTexts().then((all) => all.join()), 'Done', 'after a link was made, nothing more has to be done');
	await look(ann, 'dashboard, shared');
	await ann.getByText('The old one stops working').waitFor();
	await button(ann, 'Replace the link').click();
	await becomes(() => ann.getByRole('dialog').locator('pre').innerText(), (text) => text.trim() !== link, 'a button says that it replaces the link');
	const next = (await ann.getByRole('dialog').locator('pre').innerText()).trim();
	await button(ann, 'Done').click();
	const guest = await open(browser, { expect: [/status of 404 .*shared/] });
	await guest.goto(next);
	await panel(guest, 'count').getByText('60').waitFor();
	await panel(guest, 'lines').locator('canvas').first().waitFor();
	await stays(() => guest.locator('.nav').count(), 0, 'a guest sees it without an account and without navigation');
	await becomes(() => guest.getByRole('combobox').count(), 1, 'and may choose from lists only');
	await look(guest, 'shared dashboard');
	await guest.goto(link);
	await guest.getByText('This link shows nothing').waitFor();
	await look(guest, 'shared dashboard, ended');

	// ---- TV, files, templates, the limit of the plan ----
	await button(ann, 'More').click();
	await ann.getByRole('menuitem', { name: 'TV mode' }).click();
	await ann.waitForURL(/tv=1/);
	await becomes(() => ann.locator('.nav').evaluate((one) => one.inert), true, 'in TV mode there is no navigation');
	await button(ann, 'Leave TV mode').click();
	const download = ann.waitForEvent('download');
	await button(ann, 'More').click();
	await ann.getByRole('menuitem', { name: 'Export' }).click();
	const file = await (await download).path();
	await ann.goto(`${base}/o/acme/dashboards`);
	await button(ann, 'New dashboard').click();
	await ann.getByRole('menuitem', { name: 'From a file' }).click();
	await ann.getByLabel('File', { exact: true }).setInputFiles(file);
	await button(ann, 'Import').click();
	await ann.waitForURL(/dashboards\/dash_/);
	await panel(ann, 'count').getByText('60').waitFor();
	ok(true, 'exported and imported');
	await ann.goto(`${base}/o/acme/dashboards`);
	await button(ann, 'New dashboard').click();
	await ann.getByRole('menuitem', { name: /From a template/ }).click();
	await look(ann, 'dashboard from a template');
	await button(ann, 'Create').click();
	await ann.waitForURL(/dashboards\/dash_/);
	await ann.locator('[data-panel] canvas').first().waitFor();
	await ann.goto(`${base}/o/acme/dashboards`);
	const row = ann.getByRole('row').filter({ hasText: /\(copy\)/ }).first();
	await row.getByRole('button', { name: /Actions/ }).click();
	await ann.getByRole('menuitem', { name: 'Delete' }).click();
	const sure = ann.getByRole('dialog', { name: 'Delete dashboard' });
	await sure.getByRole('textbox').fill((await sure.locator('label strong').innerText()).trim());
	await sure.getByRole('button', { name: 'Delete' }).click();
	await sure.waitFor({ state: 'hidden' });
	await call('limit', 1);
	await ann.reload();
	await ann.getByRole('button', { name: /dashboards of plan \w+ are used/ }).waitFor();
	ok(true, 'the limit of the plan is said where it counts');

	// ---- services and KPIs ----
	await call('limit', 100);
	await ann.goto(`${base}/o/acme/services`);
	await button(ann, 'New service').click();
	await ann.getByLabel('Name', { exact: true }).fill('<b>checkout</b>');
	await ann.getByLabel('Which events are its own').fill('service=api |');
	await button(ann, 'Create').click();
	await ann.locator('.field-error').first().waitFor();
	await ann.getByLabel('Which events are its own').fill('service=api');
	await button(ann, 'Create').click();
	const drawer = ann.getByRole('complementary', { name: '<b>checkout</b>' });
	await drawer.waitFor();
	await drawer.getByRole('button', { name: 'New KPI' }).click();
	await look(ann, 'KPI form');
	await ann.getByLabel('Name', { exact: true }).fill('slow requests');
	await ann.getByLabel('Query', { exact: true }).fill('service=api | stats max(ms)');
	await ann.getByLabel('Looks back').fill('1d');
	await ann.getByLabel('Warn').fill('10');
	await ann.getByLabel('Critical').fill('20');
	await button(ann, 'Create').click();
	await drawer.getByText('slow requests').waitFor();
	await until('the value of the KPI', async () => {
		await ann.reload();
		await drawer.getByText('slow requests').waitFor();
		return await drawer.getByText('critical', { exact: true }).count() > 0;
	});
	ok(true, 'a KPI of a service, computed and against its limits');
	await look(ann, 'services');

	// ---- rights ----
	const eve = await signedIn(browser, process.env.LOGSVC_VIEWER);
	await eve.goto(`${base}/o/acme/dashboards/${id}`);
	await panel(eve, 'count').getByText('60').waitFor();
	await stays(() => eve.getByRole('button', { name: /^(Edit|Share|New dashboard)/ }).count(), 0, 'a viewer has nothing to change');
	await button(eve, 'More').click();
	await eve.getByRole('menuitem').first().waitFor();
	await stays(() => eve.getByRole('menuitem', { name: /Delete|Share/ }).count(), 0, 'nor to delete or share');
});
