/*
 * evaluation.mjs: the evaluation playground: previews that cost nothing, verdicts, errors, and that nothing is kept.
 */
import { base, becomes, call, is, look, ok, open, stays, test, until } from './harness.mjs';

await test(async (browser) => {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
	await context.addCookies([{ name: 'logsvc_session', value: process.env.LOGSVC_COOKIE, url: base }]);
	await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: base });
	const page = await open(browser, { context, expect: [/status of (400|401|403|429|502|503) .*run-adhoc/] });
	const sent = [];
	page.on('request', (request) => {
		if (request.url().endsWith('/run-adhoc'))
			sent.push(JSON.parse(request.postData()));
	});
	const button = (name) => page.getByRole('button', { name, exact: true });
	const rows = page.locator('[name=rows]');
	const criteria = page.locator('[name=criteria]');
	const title = page.getByRole('heading', { level: 1, name: 'Evaluate' });

	await page.goto(`${base}/evaluate`);
	await page.waitForURL(`${base}/o/acme/evaluate`);
	await title.waitFor();
	await look(page, 'evaluation, empty');

	// ---- a preview costs nothing ----
	await button('Preview').click();
	await page.getByText('There are no rows yet.').waitFor();
	await becomes(() => page.evaluate(() => document.activeElement.name), 'rows', 'without rows the focus goes to them');
	await rows.fill('took 12 ms\ntook 7 ms\ntook 9 ms\n\n<script>alert(1)</script> \u202egnp.exe\nmigration 42 applied');
	await page.getByText('5 of 10,000 rows').waitFor();
	await button('Preview').click();
	await page.getByText('No credits spent').waitFor();
	ok(sent.length === 1 && sent[0].preview === true && !('criteria' in sent[0]), 'a preview is one request, without criteria');
	const packed = page.getByRole('list', { name: 'Lines that a model would be sent' });
	await becomes(() => packed.innerText(), /3x\s*took <NUM> ms/, 'its lines, with counts');
	await becomes(() => page.getByRole('list', { name: 'Raw rows' }).getByRole('listitem').count(), 5, 'beside the rows as they are');
	await becomes(() => page.getByRole('table', { name: /Estimated credits/ }).getByRole('row').count(), 4, 'an estimate for three models');
	await stays(() => call('spent'), '0', 'no credit was spent');
	await page.getByText(/\d+ of 1,000 left/).waitFor();
	await look(page, 'evaluation, preview');

	// ---- criteria and items, counted in characters as the service counts them ----
	await criteria.fill('\u{1F600}'.repeat(4001));
	await page.getByText('4001/4000').waitFor();
	await criteria.fill('\u{1F600}'.repeat(3));
	await page.getByText('3/4000').waitFor();
	await button('Paste CSV').click();
	await page.getByLabel('CSV, or cells of a spreadsheet').fill('id,description\nmigrated,the migration was applied\nspace,"the disk has space, still"\nbackup,a backup was made');
	await button('Add 3 items').click();
	await becomes(() => page.getByLabel('Description of item 2').inputValue(), 'the disk has space, still', 'items from CSV');
	await button('Remove item backup').click();
	await page.getByText('Item backup removed').waitFor();
	await button('Undo').click();
	await page.getByLabel('Id of item 3').waitFor();
	await criteria.fill('Was the deployment healthy?');

	// ---- a verdict, and its rows ----
	await criteria.focus();
	await page.keyboard.press('Control+Enter');
	const findings = page.getByRole('table', { name: 'Findings' });
	await findings.waitFor();
	await becomes(() => findings.getByRole('row').count(), 4, 'a finding for each item');
	is(sent.at(-1).citations, true, 'with citations');
	await page.locator('.row-line.is-cited').first().waitFor();
	const chosen = findings.getByRole('button').first();
	await chosen.click();
	await becomes(() => chosen.getAttribute('aria-pressed'), 'true', 'a finding is chosen');
	await becomes(() => page.locator('.row-line.is-cited').count(), (n) => n >= 1, 'its rows are marked');
	await becomes(() => page.locator('mark').count(), (n) => n >= 1, '... and what is quoted of them');
	await look(page, 'evaluation, verdict');
	await rows.fill(`${await rows.inputValue()}\nmore`);
	await page.getByText('The inputs have changed since.').waitFor();

	// ---- elsewhere ----
	await criteria.fill("Isn't ${{ secrets.X }} here?");
	await button('Copy as').click();
	const code = page.getByRole('dialog').locator('pre');
	await becomes(() => code.innerText(), (text) => text.includes('/api/v1/evaluations/run-adhoc'), 'as curl');
	await stays(() => code.innerText(), (text) => !text.includes('"model"'), 'without a model, where there is none to choose');
	await page.getByRole('tab', { name: 'SQL' }).click();
	await becomes(() => code.innerText(), (text) => text.includes("criteria => 'Isn''t ${{"), 'as SQL, quoted');
	await page.getByRole('tab', { name: 'CI step' }).click();
	await becomes(() => code.innerText(), (text) => text.startsWith('- name: Judge the log') && !/\$\{\{ secrets\.X/.test(text), 'as a step, in which nothing of the text is replaced');
	await look(page, 'evaluation, elsewhere');
	await button('Copy as CI step').click();
	await becomes(() => page.evaluate(() => navigator.clipboard.readText()), /^- name: Judge the log/, 'copied');
	await button('Done').click();
	await criteria.fill('Did it work?');

	// ---- rows from a search ----
	await button('From a search').click();
	await page.locator('[name=rows-query]').fill('source=shop');
	await button('Take the rows').click();
	await page.getByText('3 of 10,000 rows').waitFor();
	await becomes(() => rows.inputValue(), (text) => text.includes('two\\nlines'), 'an event of two lines stays one row');

	// ---- a revoked token is replaced ----
	const before = await call('tokens');
	ok(before.live === 1 && before.short && JSON.stringify(before.scopes) === '[["evaluations:run"]]', 'one token, for 15 minutes and for evaluations only',
		JSON.stringify(before));
	await call('revoke', process.env.LOGSVC_COOKIE);
	await button('Evaluate').click();
	await findings.waitFor();
	await becomes(async () => (await call('tokens')).made, before.made + 1, 'another token was made in the place of one that was revoked');

	// ---- errors, each with its text ----
	const fails = async (name, text, code) => {
		await button('Evaluate').click();
		const alert = page.getByRole('alert').filter({ hasText: code });
		await alert.filter({ hasText: text }).waitFor();
		await becomes(() => alert.innerText(), (said) => /request\s+\S+/.test(said) || code.startsWith('FST'), `${name}: its text, code and request`);
	};
	await page.locator('summary').click();
	await page.getByLabel('Patterns', { exact: true }).fill('900');
	await fails('400', 'The request is not valid', 'VALIDATION_ERROR');
	await look(page, 'evaluation, error');
	await page.getByLabel('Patterns', { exact: true }).fill('200');
	await page.route(/run-adhoc/, (route) => route.fulfill({ status: 401, contentType: 'application/json', headers: { 'X-Request-Id': 'req_x' },
		body: '{"error":"this credential is not known","code":"INVALID_PAT"}' }));
	await fails('401', 'The token of this page was not accepted', 'INVALID_PAT');
	await page.unroute(/run-adhoc/);
	await button('Preview').click();
	await page.getByText('No credits spent').waitFor();
	await call('role', 'viewer');
	await fails('403', 'Your role may not evaluate', 'FORBIDDEN');
	await call('role', 'owner');
	const text = await rows.inputValue();
	// What nobody sees is not drawn: millions of characters would take long.
	await rows.evaluate((area) => {
		area.hidden = true;
		area.value = Array.from({ length: 900 }, () => '\u0001'.repeat(2000)).join('\n');
		area.dispatchEvent(new Event('input', { bubbles: true }));
	});
	await fails('413', 'That is more than 10 MB', 'FST_ERR_CTP_BODY_TOO_LARGE');
	await rows.evaluate((area, before) => {
		area.value = before;
		area.dispatchEvent(new Event('input', { bubbles: true }));
		area.hidden = false;
	}, text);
	await call('rate', 1);
	await until('a limit', async () => {
		await button('Evaluate').click();
		await page.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden' });
		return page.getByText('Too many evaluations in a minute').isVisible();
	});
	await becomes(() => page.getByText(/Try again in \d+ s/).isVisible(), true, '429 of the rate: its text and the wait');
	await call('rate', 100000);
	await call('credits', -1000000);
	await fails('429 of credits', 'The AI credits are used up', 'AI_CREDITS_EXHAUSTED');
	await becomes(() => page.getByRole('alert').innerText(), /0 of 2,500 are left/, 'with what is left and the limit');
	await call('credits', 1000000);
	await call('set', ['model_provider', 'openai']);
	await fails('502', 'The model gave no valid verdict', 'EVALUATION_SCHEMA_ERROR');
	await call('set', ['model_provider', 'builtin']);
	await call('set', ['model_region', '']);
	await fails('503', 'No model in the European Union can judge now', 'AI_PROVIDER_NOT_EU');
	await stays(() => rows.inputValue(), text, 'nothing of what was typed is lost by errors');

	// ---- nothing is kept ----
	await page.goto(`${base}/o/acme/account`);
	await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor();
	await until('the token of the page to be revoked', async () => (await call('tokens')).live === 0);
	ok(true, 'when the page is closed, its token ends');
	await page.goto(`${base}/o/acme/evaluate`);
	await title.waitFor();
	await stays(() => rows.inputValue(), '', 'rows are gone');
	await rows.fill('one row');
	await button('Preview').click();
	await page.getByText('No credits spent').waitFor();
	await page.getByRole('button', { name: /You and settings/ }).or(page.locator('.switcher').last()).first().waitFor();
	await page.keyboard.press('Control+k');
	await page.getByRole('dialog', { name: 'Go to' }).waitFor();
	await page.keyboard.type('your account');
	await page.keyboard.press('Enter');
	await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor();
	await until('the token of the screen to be revoked', async () => (await call('tokens')).live === 0);
	ok(true, 'when the screen is left, its token ends');
	const kept = await page.evaluate(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, await caches.keys(), await indexedDB.databases(), history.state, document.cookie]));
	ok(!/took|Did it work|pat_|one row|payment/.test(kept), 'nothing of it is in the storage of the browser', kept);

	// ---- rows of a link ----
	await page.goto(`${base}/o/acme/evaluate?q=${encodeURIComponent('source=shop payment')}&earliest=-1h`);
	await page.getByText('1 of 10,000 rows').waitFor();
	await becomes(() => rows.inputValue(), 'payment refused', 'a link of a search brings its rows');

	// ---- rights ----
	await call('role', 'viewer');
	await page.reload();
	await page.getByText('This needs a permission that your role does not have').waitFor();
	await stays(() => page.locator('.nav a').filter({ hasText: 'Evaluate' }).count(), 0, 'a viewer does not find it');
});
