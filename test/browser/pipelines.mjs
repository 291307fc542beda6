/*
 * pipelines.mjs: pipelines in their order, and what each step does to sample events.
 */
import { base, becomes, call, is, look, ok, open, stays, test, until } from './harness.mjs';

const titled = (page, text) => page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor();
const button = (page, name) => page.getByRole('button', { name, exact: true });
const step = (page, number) => page.getByRole('article', { name: new RegExp(`^Processor ${number}:`) });

async function signedIn(browser, email, expect)
{
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
	await context.addCookies([{ name: 'logsvc_session', value: await call('session', email), url: base, httpOnly: true, sameSite: 'Lax' }]);
	const page = await open(browser, { context, expect });
	page.on('dialog', () => page.bad.push('a script of somebody else has run'));
	return page;
}

await test(async (browser) => {
	const token = await call('token');
	const asked = async (method, path, body) => (await fetch(`${base}/api/v1${path}`, { method, body: body && JSON.stringify(body),
		headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' } })).json();
	const ann = await signedIn(browser, 'ann@example.org', [/status of (400|409|412)/]);

	// ---- the order, and masks that it switches off ----
	await ann.goto(`${base}/o/acme/pipelines`);
	await titled(ann, 'Pipelines');
	await ann.getByText(/do not reach the masks of pipeline "mask mails"/).waitFor();
	ok(true, 'masks that do not run are told');
	await look(ann, 'pipelines');
	await button(ann, 'Move mask mails up').focus();
	await ann.keyboard.press('Enter');
	await until('another order', async () => (await call('stored')) === 'mask mails,tag <i>shop</i>');
	await ann.getByText(/do not reach the masks/).waitFor({ state: 'hidden' });
	ok(true, 'in another order by keys, and the warning is gone');
	await button(ann, 'Undo').click();
	await until('the order of before', async () => (await call('stored')) === 'tag <i>shop</i>,mask mails');
	ok(true, 'undone');
	await ann.getByText(/do not reach the masks/).waitFor();
	const handles = ann.locator('.sortable-handle');
	await until('handles', async () => (await handles.count()) === 2);
	await handles.nth(1).dragTo(ann.getByRole('article', { name: 'tag <i>shop</i>' }));
	await until('another order', async () => (await call('stored')) === 'mask mails,tag <i>shop</i>');
	ok(true, 'and by dragging');

	// ---- a new one, on samples ----
	await button(ann, 'New pipeline').click();
	await titled(ann, 'New pipeline');
	await ann.fill('[name=pipeline-name]', 'checkout');
	await button(ann, 'Use last 20 events').click();
	await ann.getByRole('radio').nth(2).waitFor();
	await becomes(() => ann.getByRole('radiogroup').innerText(), (text) => text.includes('<script>alert'), 'the last events are samples, and text');
	const samples = ann.getByLabel('Events, a line each: JSON or a text');
	await samples.fill('{"event": "user=ann@example.org took=12ms <b>x</b>", "service": "checkout"}\n{"event": "debug", "level": "debug", "service": "checkout"}\nplain \u202etext');
	await button(ann, 'Add a processor').click();
	await ann.getByRole('menuitem', { name: /^Mask/ }).click();
	await step(ann, 1).getByText('1 of 3 changed').waitFor();
	await becomes(() => step(ann, 1).locator('del').first().innerText(), 'ann@example.org', 'what a step takes away');
	await becomes(() => step(ann, 1).locator('ins').first().innerText(), '***', 'and what it puts there');
	await button(ann, 'Add a processor').click();
	await ann.getByRole('menuitem', { name: /^Drop events/ }).click();
	await step(ann, 2).getByLabel('Drop those that match').fill('level=debug');
	await step(ann, 2).getByText('1 of 3 dropped').waitFor();
	await ann.getByRole('radio').nth(1).click();
	await step(ann, 2).getByText('The event ends here').waitFor();
	ok(true, 'a dropped event');
	await button(ann, 'Add a processor').click();
	await ann.getByRole('menuitem', { name: /^Parse by regular expression/ }).click();
	await ann.getByText('testing').waitFor({ state: 'hidden' });
	await step(ann, 3).getByLabel('Pattern').waitFor();
	await stays(() => step(ann, 3).locator('.field-error').count(), 0, 'a new one is not wrong before something is typed');
	await step(ann, 3).getByLabel('Pattern').fill('took=(?<took');
	await step(ann, 3).locator('.field-error').waitFor();
	ok(true, 'a pattern that is wrong is told at its field');
	await step(ann, 3).getByLabel('Pattern').fill('took=(?<took>\\d+)');
	await ann.getByRole('radio').nth(0).click();
	await step(ann, 3).getByText('attributes.took').waitFor();
	ok(true, 'a field that a step has added');
	await look(ann, 'pipeline editor');
	await button(ann, 'Actions of processor 3').click();
	await ann.getByRole('menuitem', { name: 'Duplicate' }).click();
	for (const width of [390, 1440, 1280]) {
		await ann.setViewportSize({ width, height: 800 });
		await button(ann, 'Actions of processor 4').click();
		await ann.getByRole('menuitem', { name: 'Remove' }).click();
		await ann.getByText('Processor removed').waitFor();
		await ann.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
		await becomes(() => ann.evaluate(() => {
			const place = (of) => document.querySelector(of).getBoundingClientRect();
			return place('.toasts').bottom <= place('.save-bar').top;
		}), true, `what is said does not cover Save at ${width} px`);
		await button(ann, 'Undo').last().click();
	}
	await button(ann, 'Actions of processor 4').click();
	await ann.getByRole('menuitem', { name: 'Remove' }).click();
	await button(ann, 'Move processor 3, Parse by regular expression up').click();
	await step(ann, 2).getByText('Parse by regular expression').first().waitFor();
	await becomes(() => ann.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Move processor 2, Parse by regular expression up', 'moved, and the focus goes with it');
	await button(ann, 'Save').click();
	await ann.waitForURL(/pipelines\/pipe_/);
	await titled(ann, 'checkout');
	const id = /pipe_\w+/.exec(ann.url())[0];
	await becomes(async () => (await asked('GET', `/pipelines/${id}`)).data.processors.map((one) => one.type).join(), 'mask,parse_regex,drop_if', 'saved in that order');

	// ---- somebody else was quicker; counters ----
	await asked('PATCH', `/pipelines/${id}`, { continue: true });
	await ann.getByLabel('Events that match').fill('service=checkout');
	await ann.keyboard.press('Control+s');
	const conflict = ann.getByRole('dialog', { name: 'This pipeline has changed meanwhile' });
	await conflict.getByRole('button', { name: 'Save mine over it' }).click();
	await ann.getByText('Saved. It acts on the next request.', { exact: true }).waitFor();
	const after = (await asked('GET', `/pipelines/${id}`)).data;
	is(`${after.match} ${after.continue}`, 'service=checkout true', 'both changes are there');
	await asked('POST', '/pipelines/reorder', { ids: [id, ...(await asked('GET', '/pipelines')).data.map((one) => one.id).filter((one) => one !== id)] });
	is(await call('send', { event: 'payment', service: 'checkout' }), 202, 'an event');
	await until('counters', async () => (await asked('GET', `/pipelines/${id}`)).data.stats?.in === 1);
	await ann.goto(`${base}/o/acme/pipelines`);
	await ann.getByRole('article', { name: 'checkout' }).locator('.counters').waitFor();
	ok(true, 'counters');
	await button(ann, 'Actions of checkout').click();
	await ann.getByRole('menuitem', { name: 'Delete' }).click();
	const sure = ann.getByRole('dialog', { name: 'Delete this pipeline?' });
	await becomes(() => sure.innerText(), (text) => text.includes('Its masks stop'), 'deleting says what it means');
	await sure.getByLabel(/Type/).fill('checkout');
	await sure.getByRole('button', { name: 'Delete pipeline' }).click();
	await until('it is gone', async () => !(await call('stored')).includes('checkout'));

	// ---- a viewer ----
	const viewer = await signedIn(browser, 'viewer@example.org');
	await viewer.goto(`${base}/o/acme/pipelines`);
	await viewer.getByRole('link', { name: 'mask mails' }).waitFor();
	await stays(() => viewer.getByRole('button', { name: /^(New pipeline|Move|Actions)/ }).count(), 0, 'a viewer changes nothing');
	await viewer.getByRole('link', { name: 'mask mails' }).click();
	await titled(viewer, 'mask mails');
	await stays(() => viewer.getByRole('button', { name: /^(Save|Add a processor|Use last)/ }).count(), 0, 'nor inside');
});
