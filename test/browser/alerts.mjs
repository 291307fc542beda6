/*
 * alerts.mjs: what fires, who looks after it, and rules from a query to their tests.
 */
import { base, becomes, call, is, look, ok, open, stays, test, until } from './harness.mjs';

const titled = (page, text) => page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor();
const button = (page, name) => page.getByRole('button', { name, exact: true });
const card = (page, name) => page.locator('section').filter({ has: page.getByRole('heading', { level: 2, name }) });

async function signedIn(browser, email, expect)
{
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
	await context.addCookies([{ name: 'logsvc_session', value: await call('session', email), url: base, httpOnly: true, sameSite: 'Lax' }]);
	const page = await open(browser, { context, expect });
	page.on('dialog', () => page.bad.push('a script of somebody else has run'));
	return page;
}

await test(async (browser) => {
	const hook = await call('hook');
	const token = await call('token');
	const asked = async (method, path, body) => (await fetch(`${base}/api/v1${path}`, { method, body: body && JSON.stringify(body),
		headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' } })).json();

	// ---- the list, and an alert ----
	const ann = await signedIn(browser, 'ann@example.org', [/status of (400|403|409|412)/]);
	await ann.goto(`${base}/o/acme/alerts`);
	await titled(ann, 'Alerts');
	await until('two alerts', async () => (await ann.getByRole('row').filter({ hasText: 'firing' }).count()) === 2);
	await look(ann, 'alerts');
	await ann.getByRole('link', { name: 'errors <b>everywhere</b>' }).first().click();
	const drawer = ann.getByRole('complementary');
	await drawer.getByText('What happened').waitFor();
	await drawer.getByText('alert.firing').first().waitFor();
	await look(ann, 'alert');
	await drawer.getByRole('button', { name: 'Acknowledge' }).click();
	const dialog = ann.getByRole('dialog');
	await dialog.getByLabel('Note').fill('the bank is down <img src=x onerror=alert(1)> \u202egnp');
	await ann.keyboard.press('Control+Enter');
	await drawer.getByText('Acknowledged by').waitFor();
	await becomes(() => drawer.innerText(), (text) => text.includes('the bank is down <img'), 'acknowledged, with a note that is text');
	await ann.goBack();
	await ann.getByText('What happened').waitFor({ state: 'hidden' });
	await button(ann, 'Acknowledged').click();
	await until('it is listed as such', async () => await ann.getByRole('row').filter({ hasText: 'acknowledged' }).count() === 1);
	await becomes(() => ann.url().includes('status=acknowledged'), true, 'the address is the state');
	await ann.getByRole('link', { name: 'errors <b>everywhere</b>' }).click();
	await drawer.getByRole('button', { name: 'Resolve' }).click();
	await dialog.getByRole('button', { name: 'Resolve' }).click();
	await drawer.getByText('Resolved by').waitFor();
	ok(true, 'resolved by hand');

	// ---- a rule from a search ----
	await ann.goto(`${base}/o/acme/alert-rules/new?q=${encodeURIComponent('level=error service=checkout earliest=-1h')}`);
	await titled(ann, 'New alert rule');
	await becomes(() => ann.inputValue('[name=query]'), 'level=error service=checkout', 'the query of a search, without its range');
	await ann.getByText(/It would have fired|It would not have fired/).waitFor();
	await button(ann, 'Save and enable').click();
	await ann.getByText('Enter a name.').waitFor();
	await becomes(() => ann.evaluate(() => document.activeElement.name), 'rule-name', 'a name is missing');
	const each = ann.getByRole('combobox', { name: 'An alert for each value of a field' });
	await each.fill('serv');
	await each.press('Enter');
	await button(ann, 'Not for each service').click();
	ok(true, 'Enter takes the field whose name was begun');
	await ann.fill('[name=rule-name]', 'checkout errors');
	await ann.getByLabel('Threshold').fill('2');
	await ann.getByText('The rule has changed since').waitFor();
	await card(ann, 'Preview').getByRole('button', { name: 'Run' }).click();
	await ann.getByText('The rule has changed since').waitFor({ state: 'hidden' });
	await becomes(() => ann.getByText('It would have fired').isVisible(), true, 'would-be firings, from the values of the chart');
	const then = Date.now();
	const shown = Number(/(\d+) times|once/.exec(await ann.getByText('It would have fired').innerText())?.[1] ?? 1);
	await look(ann, 'new rule');

	// ---- its tests ----
	await button(ann, 'Add a test').click();
	await ann.getByLabel('Rows', { exact: true }).fill('{"event": "payment refused", "level": "error", "service": "checkout"}\n{"event": "x", "level": "info"}');
	await ann.getByLabel('The rule cannot be enabled while a test fails').check();
	await button(ann, 'Run tests').click();
	await ann.getByText('1 of 1 fail').waitFor();
	await becomes(() => ann.locator('.failing-row').count(), (n) => n <= 1, 'a failing test is told at the test');
	await ann.getByText('Found value: 1').waitFor();
	ok(true, '... with the values that were found');
	await button(ann, 'Save without enabling').click();
	await ann.waitForURL(/alert-rules\/rule_/);
	await titled(ann, 'checkout errors');
	await button(ann, 'Enable').click();
	await ann.getByText("The rule's tests fail: it was not enabled").waitFor();
	await becomes(() => ann.locator('main').innerText(), (text) => text.includes('RULE_TESTS_FAILING'), 'failing tests block it, with the code');
	await look(ann, 'rule with failing tests');
	const three = Array(3).fill('{"event": "payment refused", "level": "error", "service": "checkout"}').join('\n');
	await ann.getByLabel('Rows', { exact: true }).fill(three);
	await button(ann, 'Run tests').click();
	await ann.getByText('it passes').waitFor();
	await button(ann, 'Add a webhook').click();
	await ann.getByLabel('URL').fill(hook);
	await button(ann, 'Save').click();
	const secret = ann.getByRole('dialog', { name: 'The secret of your webhook' });
	await secret.waitFor();
	const value = await secret.locator('code').last().innerText();
	ok(value.length >= 16, 'the secret that was made is shown');
	await look(ann, 'secret');
	await secret.getByRole('button', { name: 'I have stored it' }).click();
	await button(ann, 'Enable').click();
	await button(ann, 'Disable').waitFor();
	ok(true, 'enabled, now that its tests pass');
	await button(ann, 'Send a test').click();
	await ann.locator('ul[aria-label="Tests that were sent"]').getByText('sent').waitFor();
	await stays(() => ann.content(), (text) => !text.includes(value), 'the secret is nowhere afterwards');

	// ---- the backtest of the service agrees with the chart ----
	await card(ann, 'Preview').getByRole('button', { name: 'Run' }).click();
	await ann.getByText('Backtest of the stored rule').waitFor();
	const counted = Number(/(\d+) times|once/.exec(await ann.getByText('It would have fired').innerText())?.[1] ?? 1);
	// The hours that both look at have moved: with each minute a firing may have left them, and one come.
	const moved = 2 * Math.ceil((Date.now() - then) / 60_000);
	ok(Math.abs(counted - shown) <= moved, 'as often as the chart said', `${counted} against ${shown}, which may differ by ${moved}`);

	// ---- somebody else was quicker ----
	const id = /rule_\w+/.exec(ann.url())[0];
	await asked('PATCH', `/alert-rules/${id}`, { description: 'of somebody else', severity: 'info' });
	await ann.getByLabel('Severity').selectOption('critical');
	await ann.keyboard.press('Control+s');
	const conflict = ann.getByRole('dialog', { name: 'This rule has changed meanwhile' });
	await conflict.getByText('both changed').waitFor();
	await look(ann, 'conflict');
	await conflict.getByRole('button', { name: 'Save mine over it' }).click();
	await until('another version', async () => (await asked('GET', `/alert-rules/${id}`)).data.severity === 'critical');
	await button(ann, 'Save').and(ann.locator('[disabled]')).waitFor();
	const after = (await asked('GET', `/alert-rules/${id}`)).data;
	is(`${after.severity} ${after.description}`, 'critical of somebody else', 'mine where both changed, theirs elsewhere');

	// ---- the service does not answer ----
	ann.expect.push(/ERR_FAILED/);
	await ann.route(`**/alert-rules/${id}`, (route) => (route.request().method() === 'PATCH' ? route.abort() : route.continue()));
	await ann.getByLabel('Severity').selectOption('info');
	await ann.keyboard.press('Control+s');
	await ann.getByText('Nobody knows whether this was done').waitFor();
	await stays(() => ann.getByText('It was not saved').count(), 0, 'where nobody knows, it is not said that nothing was saved');
	await ann.unroute(`**/alert-rules/${id}`);
	await button(ann, 'Discard').click();

	// ---- leaving asks ----
	await ann.getByLabel('Runbook').fill('https://wiki.example.org/checkout');
	await ann.getByRole('link', { name: 'Alert rules' }).last().click();
	await ann.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Cancel' }).click();
	await stays(() => ann.getByLabel('Runbook').inputValue(), 'https://wiki.example.org/checkout', 'it stays when asked to');
	await button(ann, 'Discard').click();

	// ---- the list of rules ----
	await ann.getByRole('link', { name: 'Alert rules' }).last().click();
	await titled(ann, 'Alert rules');
	await ann.getByRole('row').filter({ hasText: 'checkout errors' }).waitFor();
	await look(ann, 'alert rules');
	await ann.getByRole('button', { name: 'Actions of checkout errors' }).click();
	await ann.getByRole('menuitem', { name: 'Delete' }).click();
	const sure = ann.getByRole('dialog', { name: 'Delete this alert rule?' });
	await becomes(() => sure.getByRole('button', { name: 'Delete rule' }).isDisabled(), true, 'deleting asks for the name');
	await sure.getByLabel(/Type/).fill('checkout errors');
	await sure.getByRole('button', { name: 'Delete rule' }).click();
	await ann.getByRole('row').filter({ hasText: 'checkout errors' }).waitFor({ state: 'hidden' });
	ok(true, 'deleted');
	// Reached while somebody writes a rule: the service refuses it, and nothing of it is lost.
	await button(ann, 'New alert rule').click();
	await titled(ann, 'New alert rule');
	await ann.fill('[name=query]', 'level=error');
	await ann.fill('[name=rule-name]', 'one too many');
	await call('limit', ['alert_rules', 1]);
	await button(ann, 'Save without enabling').click();
	await ann.getByText('PLAN_LIMIT_REACHED').waitFor();
	await look(ann, 'rule beyond the plan');
	await stays(() => ann.inputValue('[name=rule-name]'), 'one too many', 'a rule beyond the plan is refused, with the code, and stays as it is written');
	await ann.getByRole('link', { name: 'Alert rules' }).last().click();
	await ann.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Leave' }).click();
	await ann.getByText(/\d of 1 alert rules of plan pro are used/).first().waitFor({ state: 'attached' });
	await becomes(() => button(ann, /^New alert rule \(1 of 1 alert rules/).first().getAttribute('aria-disabled'), 'true', 'the list offers none: the limit is told with its number');

	// ---- a viewer ----
	const viewer = await signedIn(browser, 'viewer@example.org');
	await viewer.goto(`${base}/o/acme/alert-rules`);
	await viewer.getByRole('row').filter({ hasText: 'errors <b>everywhere</b>' }).waitFor();
	await stays(() => viewer.getByText('New alert rule').count(), 0, 'a viewer makes no rule');
	await viewer.getByRole('link', { name: 'errors <b>everywhere</b>' }).click();
	await titled(viewer, 'errors <b>everywhere</b>');
	await stays(() => viewer.getByRole('button', { name: /^(Save|Enable|Disable|Run tests|Send a test)$/ }).count(), 0, 'and changes none');
});
