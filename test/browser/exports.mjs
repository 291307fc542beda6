/*
 * exports.mjs: files of searches, now and by a schedule; saved queries.
 */
import fs from 'node:fs';
import { base, becomes, call, is, look, ok, open, stays, test, until } from './harness.mjs';

const titled = (page, text) => page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor();
const button = (page, name) => page.getByRole('button', { name, exact: true });

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
	const ann = await signedIn(browser, 'ann@example.org', [/status of (400|403|409|412)/]);

	// ---- a file, now ----
	await ann.goto(`${base}/o/acme/exports?export=now&q=${encodeURIComponent('level=error')}&earliest=-1h`);
	const dialog = ann.getByRole('dialog', { name: 'Export' });
	await dialog.waitFor();
	await becomes(() => dialog.getByLabel('Query').inputValue(), 'level=error', 'the query of the address');
	await becomes(() => dialog.getByLabel('Time').inputValue(), '-1h', 'and its range');
	await dialog.getByLabel('Fields').fill('level, event');
	await look(ann, 'export dialog');
	const coming = ann.waitForEvent('download');
	await dialog.getByRole('button', { name: 'Export' }).click();
	const file = await coming;
	ok(/\.csv$/.test(file.suggestedFilename()), `a file: ${file.suggestedFilename()}`);
	is(fs.readFileSync(await file.path(), 'utf8').trim().split('\n').length, 21, 'with a line for each row, and one of names');
	await dialog.getByText('It came whole').waitFor();
	await dialog.getByLabel('Query').fill('level=error | stat count');
	await dialog.getByText('did you mean stats?').waitFor();
	ok(true, 'a query that is wrong is told while it is written');
	await dialog.getByRole('button', { name: 'Export' }).click();
	await dialog.getByText('QUERY_SYNTAX_ERROR').waitFor();
	await dialog.getByRole('button', { name: 'Close' }).last().click();
	await dialog.waitFor({ state: 'hidden' });
	await becomes(() => !ann.url().includes('export=now'), true, 'the address is the state');

	// ---- by a schedule ----
	await button(ann, 'New scheduled export').click();
	await titled(ann, 'New scheduled export');
	await ann.fill('[name=export-name]', 'errors <b>of</b> the day');
	await ann.fill('[name=q]', 'level=error');
	await ann.fill('[name=cron]', '0 6 * * mon-fri');
	await ann.getByText('At 06:00, Monday to Friday').waitFor();
	await becomes(() => ann.getByRole('list', { name: 'Next runs' }).getByRole('listitem').count(), 3, 'the next three runs');
	await ann.fill('[name=cron]', '61 * * * *');
	await ann.getByText('minute: expected 0 to 59').waitFor();
	await ann.fill('[name=cron]', '@daily');
	await ann.getByRole('radio', { name: /Object store/ }).check();
	await ann.getByRole('textbox', { name: 'Endpoint' }).fill('https://127.0.0.1');
	await ann.getByRole('textbox', { name: 'Bucket', exact: true }).fill('acme-logs');
	await ann.getByLabel('Access key id').fill('AKIA');
	await ann.getByLabel('Secret access key').fill('not-a-secret');
	await look(ann, 'new scheduled export');
	await button(ann, 'Save').click();
	await ann.getByText('VALIDATION_ERROR').waitFor();
	await becomes(() => ann.locator('.field-error').count(), (n) => n > 0, 'an address that may not be called is told at its field');
	await ann.getByRole('radio', { name: /Download/ }).check();
	await ann.getByLabel('Events of').selectOption('own');
	await ann.getByRole('textbox', { name: 'From' }).fill('-1h');
	await ann.getByRole('textbox', { name: 'To', exact: true }).fill('now');
	await button(ann, 'Save').click();
	await ann.waitForURL(/exports\/exp_/);
	await titled(ann, 'errors <b>of</b> the day');
	const made = (await asked('GET', `/scheduled-exports/${/exp_\w+/.exec(ann.url())[0]}`)).data;
	await becomes(() => ann.locator('header .time').first().getAttribute('datetime'), made.nextRunAt, 'when it runs next');
	await button(ann, 'Run now').click();
	await ann.getByRole('row').filter({ hasText: 'succeeded' }).waitFor();
	await look(ann, 'runs');
	const loading = ann.waitForEvent('download');
	await button(ann, 'Download').click();
	is(fs.readFileSync(await (await loading).path(), 'utf8').trim().split('\n').length, 21, 'its file');
	await ann.getByRole('tab', { name: 'Settings' }).click();
	await ann.getByLabel('Format').selectOption('json');
	await ann.keyboard.press('Control+s');
	await ann.getByText('Saved.', { exact: true }).waitFor();
	await becomes(async () => (await asked('GET', `/scheduled-exports/${made.id}`)).data.format, 'json', 'changed');
	await ann.getByRole('link', { name: 'Exports' }).last().click();
	await ann.getByRole('row').filter({ hasText: 'errors <b>of</b> the day' }).waitFor();
	await look(ann, 'exports');
	await button(ann, 'Actions of errors <b>of</b> the day').click();
	await ann.getByRole('menuitem', { name: 'Disable' }).click();
	await ann.getByText('is disabled.').waitFor();
	await button(ann, 'Undo').click();
	await until('enabled again', async () => (await asked('GET', `/scheduled-exports/${made.id}`)).data.enabled);
	ok(true, 'disabled, and undone');
	await call('limit', ['scheduled_exports', 1]);
	await ann.reload();
	await ann.getByText(/\d of 1 scheduled exports of plan \w+ are used/).first().waitFor({ state: 'attached' });
	ok(true, 'the limit of the plan, with its number');

	// ---- saved queries ----
	await ann.goto(`${base}/o/acme/saved-queries`);
	await titled(ann, 'Saved queries');
	await button(ann, 'New saved query').click();
	const editor = ann.getByRole('dialog', { name: 'New saved query' });
	await editor.getByLabel('Name').fill('errors \u202eby service');
	await editor.getByLabel('Query').fill('level=error | stats count by service');
	await editor.getByRole('combobox', { name: 'Folder' }).fill('web');
	await look(ann, 'saved query');
	await editor.getByRole('button', { name: 'Save' }).click();
	await editor.getByText('direction characters').waitFor();
	ok(true, 'a name that would turn the text around is told at its field');
	await editor.getByLabel('Name').fill('errors by <i>service</i>');
	await editor.getByRole('button', { name: 'Save' }).click();
	await ann.getByRole('row').filter({ hasText: 'stats count by service' }).waitFor();
	const query = (await asked('GET', '/saved-queries')).data[0];
	is(query.folder, 'web', 'saved in its folder');
	await asked('POST', '/saved-queries', { name: 'other', q: 'level=info', folder: 'infra' });
	await ann.reload();
	await ann.getByRole('button', { name: /^infra/ }).click();
	await until('one row', async () => (await ann.getByRole('row').count()) === 2);
	await becomes(() => ann.url().includes('folder=infra'), true, 'a folder, in the address');
	await look(ann, 'saved queries');
	await asked('POST', '/alert-rules', { name: 'uses it', savedQueryId: query.id, enabled: false, condition: { kind: 'count', op: '>', threshold: 1 } });
	await ann.getByRole('button', { name: /^All/ }).click();
	await ann.getByRole('row').filter({ hasText: 'stats count' }).getByRole('button').click();
	await ann.getByRole('menuitem', { name: 'Delete' }).click();
	const sure = ann.getByRole('dialog', { name: 'Delete this saved query?' });
	await sure.getByLabel(/Type/).fill(query.name);
	await sure.getByRole('button', { name: 'Delete query' }).click();
	await sure.getByText('IN_USE').waitFor();
	await becomes(() => sure.innerText(), (text) => text.includes('uses it'), 'what names it keeps it, by its name');
	await sure.getByRole('button', { name: 'Cancel' }).click();
	await ann.getByRole('row').filter({ hasText: 'other' }).getByRole('button').click();
	await ann.getByRole('menuitem', { name: 'Make an alert rule' }).click();
	await titled(ann, 'New alert rule');
	await becomes(() => ann.inputValue('[name=query]'), 'level=info', 'an alert rule of it');

	// ---- a member exports nothing ----
	const member = await signedIn(browser, 'member@example.org');
	await member.goto(`${base}/o/acme/exports`);
	await member.getByText('This needs a permission that your role does not have').waitFor();
	await stays(() => member.getByRole('link', { name: 'Exports' }).count(), 0, 'a member exports nothing');
});
