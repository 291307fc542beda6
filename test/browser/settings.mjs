/*
 * settings.mjs: access tokens, API keys and the team: what they can do, what they show once, what they refuse.
 */
import { base, becomes, call, is, look, mailLink, ok, open, stays, test, until } from './harness.mjs';

const titled = (page, text) => page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor();
const dialog = (page, name) => page.getByRole('dialog', { name });
const row = (page, text) => page.locator('tbody tr').filter({ hasText: text });
const button = (page, name) => page.getByRole('button', { name, exact: true });
const hostile = '<img src=x onerror=alert(1)> \u05d0\u05d1\u05d2';

async function signedIn(browser, email, expect)
{
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
	await context.addCookies([{ name: 'logsvc_session', value: await call('session', email), url: base, httpOnly: true, sameSite: 'Lax' }]);
	const page = await open(browser, { context, expect });
	page.on('dialog', () => page.bad.push('a script of somebody else has run'));
	return page;
}

/** Opens the menu of a row and chooses. */
async function choose(page, text, action)
{
	await row(page, text).getByRole('button', { name: /^Actions for/ }).click();
	await page.getByRole('menuitem', { name: action }).click();
}

/** Goes to a screen by two keys; a machine that is busy between them takes them for others. */
async function goBy(page, first, second, title)
{
	await until(title, async () => {
		await page.keyboard.press(first);
		await page.keyboard.press(second);
		return page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor({ timeout: 10_000 }).then(() => true, () => false);
	});
}

/** Reads the secret of the dialog that shows it once. */
const secretOf = (page) => page.locator('dialog .copy-box code').first().innerText();

async function store(page)
{
	await page.getByRole('checkbox', { name: 'I have stored it' }).check();
	await button(page, 'Done').click();
	await page.getByRole('dialog').waitFor({ state: 'hidden' });
}

/** The status of a request with a token or key, as a program sends it. */
const status = async (path, token, body) => (await fetch(base + path, { method: body ? 'POST' : 'GET', body,
	headers: { Authorization: `Bearer ${token}`, ...(body && { 'Content-Type': 'application/json' }) } })).status;

await test(async (browser) => {
	const ann = await signedIn(browser, 'ann@example.org', [/status of 409 .*invitations/]);

	// ---- access tokens ----
	await ann.goto(`${base}/o/acme/settings/access-tokens`);
	await titled(ann, 'Access Tokens');
	await becomes(() => ann.getByRole('navigation', { name: 'Screens' }).getByRole('heading', { name: 'Settings' }).isVisible(), true, 'the navigation has a group Settings');
	await row(ann, 'test').waitFor();
	// A screen is seen a moment before it listens to keys.
	await until('the form', async () => {
		await ann.keyboard.press('c');
		return dialog(ann, 'New access token').waitFor({ timeout: 10_000 }).then(() => true, () => false);
	});
	await becomes(() => ann.evaluate(() => document.activeElement.name), 'name', 'the key c opens the form, and its first field has the focus');
	await ann.keyboard.press('Enter');
	await ann.getByText('Say what it is for.').waitFor();
	await ann.getByText('Choose at least one scope.').waitFor();
	await look(ann, 'new access token');
	await ann.fill('[name=name]', hostile);
	await becomes(() => ann.locator('[name=expiry]').inputValue(), '30', 'a token ends in 30 days unless one chooses otherwise');
	await ann.selectOption('[name=expiry]', '7');
	await ann.getByRole('checkbox', { name: 'logs:read' }).check();
	await button(ann, 'Create token').click();
	await dialog(ann, 'Access token created').waitFor();
	const token = await secretOf(ann);
	ok(/^pat_\w{20,}$/.test(token), 'the token is shown');
	await becomes(() => ann.locator('dialog .copy-box').nth(1).innerText(), (text) => text.includes(`Bearer ${token}`), 'and a command with it');
	await ann.keyboard.press('Escape');
	await button(ann, /^Done/).click({ force: true });
	await stays(() => dialog(ann, 'Access token created').isVisible(), true, 'it stays until one says that it is stored');
	await look(ann, 'access token once');
	await store(ann);
	await row(ann, '<img src=x').waitFor();
	is(await status('/api/v1/logs?limit=1', token), 200, 'a program can use it');
	await ann.reload();
	await row(ann, '<img src=x').getByText('pat_').waitFor();
	await stays(() => ann.content(), (text) => !text.includes(token), 'it is not shown again');
	await becomes(() => row(ann, '<img src=x').getByText('expires soon').isVisible(), true, 'one that ends soon says so');
	await look(ann, 'access tokens');
	await choose(ann, '<img src=x', 'Revoke');
	await dialog(ann, 'Revoke this access token?').waitFor();
	await becomes(() => ann.locator('dialog').innerText(), (text) => text.includes(hostile), 'revoking names it');
	await becomes(() => ann.locator('dialog').innerText(), /last used/, 'and says when it was last used');
	await look(ann, 'revoke access token');
	await button(ann, 'Revoke').click();
	await ann.getByRole('dialog').waitFor({ state: 'hidden' });
	is(await status('/api/v1/logs?limit=1', token), 401, 'the next request with it is refused');
	await ann.getByRole('tab', { name: /Revoked and expired/ }).click();
	await row(ann, '<img src=x').getByText('revoked').waitFor();
	await becomes(() => new URL(ann.url()).search, '?show=ended', 'the address says what is shown');

	// Who leaves may have a question about the usage under way.
	const viewer = await signedIn(browser, 'viewer@example.org', [/status of 404 .*\/usage$/]);
	await viewer.goto(`${base}/o/acme/settings/access-tokens`);
	await viewer.getByText('No access tokens').waitFor();
	await look(viewer, 'no access tokens');
	await button(viewer, 'New access token').click();
	await viewer.getByRole('checkbox', { name: 'logs:read' }).waitFor();
	await becomes(() => viewer.getByRole('checkbox', { name: 'logs:read' }).isEnabled(), true, 'a viewer can choose logs:read');
	await becomes(() => viewer.getByRole('checkbox', { name: 'evaluations:run' }).isDisabled(), true, 'and not evaluations:run');
	await becomes(() => viewer.getByText('Your role, viewer, does not allow this.').first().isVisible(), true, 'which says why');
	await viewer.keyboard.press('Escape');

	// ---- API keys ----
	await call('limit', ['api_keys', 5]);
	await goBy(ann, 'g', 'k', 'API keys');
	await ann.getByText('3 of 5 API keys').waitFor();
	await button(ann, 'New API key').click();
	await dialog(ann, 'New API key').waitFor();
	await becomes(() => ann.getByRole('radio', { name: /ingest-only/ }).locator('..').innerText(), (text) => text.includes('/v1/logs'), 'a scope lists its routes');
	await ann.fill('[name=name]', 'Shop test');
	await ann.getByRole('radio', { name: /^Test/ }).check();
	await look(ann, 'new API key');
	await button(ann, 'Create key').click();
	await dialog(ann, 'API key created').waitFor();
	const key = await secretOf(ann);
	ok(key.startsWith('ing_test_'), 'a test key');
	await becomes(() => ann.getByText('its events are in index').isVisible(), true, 'its note is there');
	for (const [name, words] of [['OTel Collector', ['otlphttp/logsvc', base]], ['Fluent Bit', ['[OUTPUT]', new URL(base).port]], ['pino', ['pino.transport', base]]]) {
		await ann.getByRole('tab', { name }).click();
		await becomes(() => ann.getByRole('tabpanel').last().innerText(), (text) => [...words, key].every((one) => text.includes(one)), `${name}: host and key are filled in`);
	}
	await look(ann, 'API key once');
	await store(ann);
	is(await status('/api/v1/logs', key, '{"event": "hello"}'), 202, 'it sends events');

	// Replacing one: both, then the old one alone is revoked.
	await choose(ann, /^ingest/, 'Rotate');
	await ann.getByRole('heading', { name: 'Rotate ingest' }).waitFor();
	await look(ann, 'rotate: begin');
	await button(ann, 'Create the new key').click();
	await dialog(ann, 'API key created').waitFor();
	const next = await secretOf(ann);
	await store(ann);
	await ann.getByText('waiting for its first use').waitFor();
	await ann.getByText('5 of 5 API keys').first().waitFor();
	await becomes(() => ann.locator('.limit-line .meter').getAttribute('class'), /is-full/, 'the limit is reached');
	await becomes(() => button(ann, /^New API key/).getAttribute('aria-disabled'), 'true', 'so there is no further key');
	await becomes(() => button(ann, /^New API key/).getAttribute('title'), (text) => text.includes('5 of 5 API keys of plan pro are used'), 'which says the number, and who can change it');
	await look(ann, 'rotate: both');
	is(await status('/api/v1/logs', next, '{"event": "hello"}'), 202, 'the new key is used');
	await ann.reload();
	await button(ann, 'Revoke the old key').click();
	await button(ann, 'Revoke').click();
	await ann.getByText('The old key is revoked.').waitFor();
	is(await status('/api/v1/logs', next, '{"event": "hello"}'), 202, 'the new key still works');
	await ann.keyboard.press('Escape');
	await ann.getByText('4 of 5 API keys').waitFor();
	await look(ann, 'API keys');

	// ---- team ----
	await goBy(ann, 'g', 't', 'Team');
	await row(ann, 'ann@example.org').getByText('The last owner').waitFor();
	await stays(() => row(ann, 'ann@example.org').getByRole('combobox').count(), 0, 'the role of the last owner cannot be changed');
	await button(ann, 'What roles may do').click();
	await dialog(ann, 'What roles may do').waitFor();
	await look(ann, 'what roles may do');
	await ann.keyboard.press('Escape');

	await row(ann, 'viewer@example.org').getByRole('combobox').selectOption('member');
	await ann.getByText('viewer@example.org is now Member.').waitFor();
	await becomes(() => call('role', 'viewer@example.org'), 'member', 'a role is changed');
	await button(ann, 'Undo').click();
	await button(ann, 'Undo').waitFor({ state: 'hidden' });
	await becomes(() => call('role', 'viewer@example.org'), 'viewer', 'and back');

	await choose(ann, 'viewer@example.org', 'Cap of AI credits');
	await ann.fill('[name=aiCreditLimit]', 'many');
	await ann.keyboard.press('Enter');
	await ann.getByText('A whole number').waitFor();
	await ann.fill('[name=aiCreditLimit]', '25');
	await ann.keyboard.press('Enter');
	await row(ann, 'viewer@example.org').getByText('0 of 25').waitFor();

	await button(ann, 'Invite').click();
	await ann.fill('[name=emails]', 'dora@example.org, eve@example.org viewer');
	await button(ann, 'Send invitations').click();
	await ann.getByText('viewer is not an e-mail address').waitFor();
	await ann.fill('[name=emails]', 'dora@example.org, eve@example.org, admin@example.org');
	await look(ann, 'invite');
	await button(ann, 'Send invitations').click();
	await ann.getByText('For admin@example.org: The user is a member already').waitFor();
	await becomes(() => ann.inputValue('[name=emails]'), 'admin@example.org', 'what went out has left the field');
	await button(ann, 'Cancel').click();
	await row(ann, 'dora@example.org').getByText(/expires in (47 h 5\d|48 h)/).waitFor();
	const first = await mailLink('dora@example.org', '/invitations/accept');
	await look(ann, 'team');
	await choose(ann, 'eve@example.org', 'Revoke');
	await button(ann, 'Revoke').click();
	await row(ann, 'eve@example.org').waitFor({ state: 'hidden' });
	await choose(ann, 'dora@example.org', 'Send again');
	await ann.getByText('A new link is on its way').waitFor();
	const link = await mailLink('dora@example.org', '/invitations/accept');
	const dora = await signedIn(browser, 'dora@example.org', [/status of 410 .*invitations\/preview/]);
	await dora.goto(`${base}/welcome`);
	await titled(dora, 'Welcome to logsvc');
	await dora.goto(first);
	await titled(dora, 'This invitation is not valid');
	await dora.goto('about:blank');
	await dora.goto(link);
	await button(dora, 'Join acme').click();
	await dora.waitForURL(/\/o\/acme\//);
	await ann.reload();
	await row(ann, 'dora@example.org').getByRole('combobox').waitFor();
	ok(true, 'invited, sent again, accepted in another browser');

	// An admin cannot touch owners; the owner, not being the last any more, can hand over.
	const admin = await signedIn(browser, 'admin@example.org');
	await row(ann, 'dora@example.org').getByRole('combobox').selectOption('owner');
	await ann.getByText('dora@example.org is now Owner.').waitFor();
	await admin.goto(`${base}/o/acme/settings/team`);
	await row(admin, 'dora@example.org').getByText('Only an owner can change an owner.').waitFor();
	await stays(() => row(admin, 'dora@example.org').getByRole('combobox').count(), 0, 'an admin sees owners locked');
	await becomes(() => row(admin, 'viewer@example.org').getByRole('combobox').locator('option[value=owner]').isDisabled(), true, 'and makes nobody an owner');
	await row(admin, 'dora@example.org').getByRole('button', { name: /^Actions/ }).click();
	await becomes(() => admin.getByRole('menuitem', { name: /Remove/ }).getAttribute('aria-disabled'), 'true', 'nor removes one');
	await look(admin, 'team of an admin');
	await viewer.goto(`${base}/o/acme/settings/team`);
	await row(viewer, 'ann@example.org').waitFor();
	await stays(async () => await viewer.getByRole('combobox').count() + await button(viewer, 'Invite').count(), 0, 'a viewer only looks');
	await choose(viewer, 'viewer@example.org', 'Leave');
	await button(viewer, 'Leave').click();
	await titled(viewer, 'Welcome to logsvc');
	await viewer.getByText('You have left acme.').waitFor();
	ok(true, 'and can leave');
	await stays(() => ann.evaluate(() => Object.keys(window.localStorage).filter((one) => !/^logsvc\.(theme|zone|organization|signedIn)$/.test(one)).join()), '',
		'no secret stays in the browser');
});
