/*
 * administration.mjs: settings of an organization, usage, audit log, indexes, dead letters, the plan; and what each role
 * sees of them.
 */
import { base, becomes, call, is, look, ok, open, stays, test, until } from './harness.mjs';

const titled = (page, text) => page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor();
const dialog = (page, name) => page.getByRole('dialog', { name });
const row = (page, text) => page.locator('tbody tr').filter({ hasText: text });
const button = (page, name) => page.getByRole('button', { name, exact: true });
const section = (page, name) => page.getByRole('region', { name });

async function signedIn(browser, email, expect)
{
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
	await context.addCookies([{ name: 'logsvc_session', value: await call('session', email), url: base, httpOnly: true, sameSite: 'Lax' }]);
	const page = await open(browser, { context, expect });
	page.on('dialog', () => page.bad.push('a script of somebody else has run'));
	return page;
}

async function go(page, path, title)
{
	await page.goto(`${base}/o/acme${path}`);
	await titled(page, title);
}

async function choose(page, text, action)
{
	await row(page, text).getByRole('button', { name: /^Actions for/ }).click();
	await page.getByRole('menuitem', { name: action }).click();
}

/** What each role may see: screens by the permission that they need, and controls of them: [name, permission, menu that has it]. */
const walk = [
	['/search', 'Search', 'logs:read', [['New alert rule', 'alerts:write'], ['Add to a dashboard', 'dashboards:write'], ['Evaluate these rows', 'evaluations:run'], ['Export all rows', 'logs:export'],
		['Saved', 'dashboards:read']]],
	['/evaluate', 'Evaluate', 'evaluations:run', [['Evaluate', 'evaluations:run']]],
	['/dashboards', 'Dashboards', 'dashboards:read', [['New dashboard', 'dashboards:write'], ['Edit', 'dashboards:write', 'Actions of ours'], ['Delete', 'dashboards:delete', 'Actions of ours']]],
	['/saved-queries', 'Saved queries', 'dashboards:read', [['New saved query', 'dashboards:write'], ['Change', 'dashboards:write', 'Actions of ours'],
		['Make an alert rule', 'alerts:write', 'Actions of ours'], ['Export', 'logs:export', 'Actions of ours'], ['Delete', 'dashboards:delete', 'Actions of ours']]],
	['/alert-rules', 'Alert rules', 'logs:read', [['New alert rule', 'alerts:write'], ['Enable', 'alerts:write', 'Actions of ours'], ['Duplicate', 'alerts:write', 'Actions of ours'],
		['Delete', 'alerts:delete', 'Actions of ours']]],
	['/services', 'Services', 'dashboards:read', [['New service', 'dashboards:write']]],
	['/pipelines', 'Pipelines', 'pipelines:read', [['New pipeline', 'pipelines:manage'], ['Actions of ours', 'pipelines:manage'], ['Move ours down', 'pipelines:manage']]],
	['/exports', 'Exports', 'logs:export', [['Export now', 'logs:export'], ['New scheduled export', 'logs:export']]],
	['/settings/organization', 'Organization', 'org:manage', [['Delete organization', 'billing:manage']]],
	['/settings/team', 'Team', 'roles:read', [['Invite', 'users:invite']]],
	['/settings/access-tokens', 'Access Tokens', null, [['New access token', null]]],
	['/settings/api-keys', 'API keys', 'keys:manage', [['New API key', 'keys:manage']]],
	['/settings/security', 'Security', 'org:manage', [['Add', 'org:manage']]],
	['/settings/billing', 'Billing', 'billing:manage', [['Choose Business', 'billing:manage']]],
	['/indexes', 'Indexes', 'logs:read', [['New index', 'org:manage'], ['Actions for main', 'org:manage']]],
	['/usage', 'Usage and credits', 'logs:read', []],
	['/audit', 'Audit log', 'audit:read', [['Export', 'audit:read']]],
	['/dead-letters', 'Dead letters', 'pipelines:manage', [['Replay all', 'pipelines:manage'], ['Discard all', 'logs:export']]],
];

await test(async (browser) => {
	const owner = await signedIn(browser, 'owner@example.org', [/status of 403 .*organizations/, /status of 400 .*ip-allowlist/]);

	// ---- organization ----
	await go(owner, '/settings/organization', 'Organization');
	await section(owner, 'General').getByLabel('Name', { exact: true }).fill('Acme <b>&amp;</b>');
	await owner.getByRole('combobox', { name: 'Time zone' }).fill('tokyo');
	await owner.getByRole('option', { name: 'Asia/Tokyo' }).click();
	await owner.getByText(/There it is .*UTC\+9/).waitFor();
	await section(owner, 'General').getByRole('button', { name: 'Save', exact: true }).click();
	await owner.getByRole('button', { name: 'Organization: Acme <b>&amp;</b>' }).waitFor();
	ok(true, 'another name, and another time zone with what its clock shows');
	await section(owner, 'Events').getByLabel('Retention in days').fill('900');
	await section(owner, 'Events').getByRole('button', { name: 'Save', exact: true }).click();
	await section(owner, 'Events').getByText('Must be at most 30').waitFor();
	ok(true, 'a retention beyond the plan is refused at its field');
	await look(owner, 'organization');
	await section(owner, 'Events').getByLabel('Retention in days').fill('20');
	await section(owner, 'Events').getByRole('button', { name: 'Save', exact: true }).click();
	await dialog(owner, 'Keep events for a shorter time?').waitFor();
	await button(owner, 'Keep 20 days').click();
	await row(owner, 'main').getByText('20 days').waitFor();
	await button(owner, 'Delete organization').first().click();
	await becomes(() => dialog(owner, /^Delete Acme/).getByRole('button', { name: 'Delete organization' }).isDisabled(), true, 'deleting it needs its name');
	await look(owner, 'delete organization');
	await owner.keyboard.press('Escape');

	// ---- security ----
	await go(owner, '/settings/security', 'Security');
	await owner.getByRole('checkbox', { name: 'GitHub' }).uncheck();
	await owner.getByText('GitHub is off for this organization.').waitFor();
	await button(owner, 'Undo').click();
	await until('GitHub to be on again', () => owner.getByRole('checkbox', { name: 'GitHub' }).isChecked());
	await owner.fill('[name=network]', '192.0.2.1/24');
	await button(owner, 'Add').click();
	await owner.getByText('It has bits after its prefix of 24.').waitFor();
	await owner.fill('[name=network]', '192.0.2.0/24');
	await owner.fill('[name=note]', 'Office');
	await button(owner, 'Add').click();
	await owner.getByText('Your address is not in this list.').waitFor();
	await button(owner, 'Save the list').click();
	await dialog(owner, 'Lock yourself out?').waitFor();
	await look(owner, 'locked out');
	await button(owner, 'Cancel').click();
	await owner.getByRole('link', { name: 'Team' }).click();
	await dialog(owner, 'Leave without saving?').waitFor();
	await button(owner, 'Cancel').click();
	await button(owner, 'Add my address').click();
	await button(owner, 'Save the list').click();
	await owner.getByText('The list is in force.').waitFor();
	await row(owner, '127.0.0.1').getByText('you are here').waitFor();
	await look(owner, 'security');

	// ---- indexes ----
	await go(owner, '/indexes', 'Indexes');
	await row(owner, '_audit').waitFor();
	await stays(() => row(owner, '_audit').getByRole('button').count(), 0, 'an index of the service cannot be changed');
	await button(owner, 'New index').click();
	await owner.fill('[name=name]', 'Web');
	await button(owner, 'Create index').click();
	await owner.getByText('A letter from a to z').waitFor();
	await owner.fill('[name=name]', 'web');
	await owner.fill('[name=days]', '7');
	await look(owner, 'new index');
	await button(owner, 'Create index').click();
	await row(owner, 'web').getByText('7 days').waitFor();
	await choose(owner, 'main', 'Change');
	await owner.fill('[name=days]', '5');
	await owner.getByText(/About .* on disk at .* a day/).waitFor();
	await look(owner, 'change index');
	await button(owner, 'Save').click();
	await row(owner, 'main').getByText('5 days').waitFor();
	await look(owner, 'indexes');
	await choose(owner, 'web', 'Delete');
	await owner.fill('[name=confirm-name]', 'web');
	await dialog(owner, 'Delete this index?').getByRole('button', { name: 'Delete index' }).click();
	await row(owner, 'web').waitFor({ state: 'hidden' });
	ok(true, 'an index is made, changed and, with its name typed, deleted');

	// ---- usage ----
	await call('limit', ['ingest_bytes_per_day', 1500]);
	await go(owner, '/usage', 'Usage and credits');
	await section(owner, 'Events of today').getByText('of 1.5 kB').waitFor();
	await becomes(() => section(owner, 'Events of today').getByRole('img', { name: /of 1.5 kB today/ }).isVisible(), true, 'the bar of the day says what it shows');
	await becomes(() => section(owner, /^Limits of plan/).getByText('API keys').isVisible(), true, 'the limits of the plan');
	await look(owner, 'usage');

	// ---- audit log ----
	await go(owner, '/audit', 'Audit log');
	await owner.getByRole('combobox', { name: 'Action' }).fill('index.c');
	await owner.getByRole('option', { name: 'index.created' }).click();
	await owner.waitForURL(/action=index\.created/);
	await until('its entries', async () => await owner.locator('tbody tr').count() === 2);
	await button(owner, 'Details of index.created').first().click();
	await owner.getByRole('heading', { name: 'index.created' }).waitFor();
	await becomes(() => owner.getByRole('group', { name: 'Entry', exact: true }).innerText(), (text) => text.includes('"retentionDays": 7'), 'an entry as JSON');
	await look(owner, 'audit entry');
	await go(owner, '/audit?action=organization.settings_updated', 'Audit log');
	await row(owner, 'retention_days: none to 20').getByRole('button').click();
	await until('what was and what is', async () => (await owner.getByRole('table', { name: 'What was changed' }).locator('tbody tr').allInnerTexts()).some((one) => /^retention_days\s+none\s+20$/.test(one)));
	ok(true, 'an entry shows old and new values');
	await go(owner, '/audit?action=index.created', 'Audit log');
	await until('one entry', async () => await owner.locator('tbody tr').count() === 2);
	await button(owner, 'Details of index.created').first().click();
	await owner.keyboard.press('Escape');
	await becomes(() => !owner.url().includes('entry='), true, 'Escape closes it');
	await becomes(() => owner.evaluate(() => document.querySelector('a[href*="/search?"]')?.href ?? ''),
		(query) => !query || new URL(query).searchParams.get('q') === 'index=_audit action="index.created"', 'the same as a query');
	await owner.selectOption('[name=range]', 'days');
	await owner.fill('[name=from]', '2020-01-01');
	await owner.fill('[name=to]', '2020-01-02');
	await owner.getByText('No entries').waitFor();
	await button(owner, 'Clear the filters').click();
	await row(owner, 'organization.settings_updated').first().waitFor();
	const saving = owner.waitForEvent('download');
	await button(owner, 'Export').click();
	await owner.getByRole('menuitem', { name: 'CSV' }).click();
	is((await saving).suggestedFilename(), 'audit-acme.csv', 'the log as a file');
	await look(owner, 'audit log');

	// ---- dead letters ----
	await go(owner, '/dead-letters', 'Dead letters');
	await section(owner, 'The store did not take them').waitFor();
	await look(owner, 'dead letters');
	await owner.getByRole('button', { name: '<script>alert' }).first().click();
	await owner.getByRole('group', { name: 'The first event', exact: true }).waitFor();
	await look(owner, 'dead letter');
	await owner.keyboard.press('Escape');
	await section(owner, 'The bytes are damaged').getByRole('button', { name: 'Discard all' }).click();
	await dialog(owner, 'Discard for good?').waitFor();
	await owner.keyboard.press('Enter');
	await owner.getByText('Say why').waitFor();
	await owner.fill('[name=reason]', 'of a test');
	await owner.keyboard.press('Enter');
	await section(owner, 'The bytes are damaged').waitFor({ state: 'hidden' });
	await owner.getByRole('tab', { name: 'Discarded' }).click();
	await row(owner, 'discarded').waitFor();
	ok(true, 'dead letters are discarded, for a reason');

	// ---- each role: what it may do, and nothing that would be refused ----
	for (const role of ['owner', 'admin', 'member', 'viewer']) {
		const page = await signedIn(browser, `${role}@example.org`);
		let pending = 0;
		page.on('request', () => { pending++; });
		page.on('requestfinished', () => { pending--; });
		page.on('requestfailed', () => { pending--; });
		// As a link of the page does it: without loading the console each time.
		const visit = (path) => page.evaluate((to) => {
			history.pushState(null, '', to);
			dispatchEvent(new PopStateEvent('popstate'));
		}, `/o/acme${path}`);
		await page.goto(`${base}/o/acme/settings/access-tokens`);
		await titled(page, 'Access Tokens');
		const mine = await page.evaluate(async () => (await (await fetch('/api/v1/auth/session')).json()).data.organizations[0].permissions);
		const may = (permission) => !permission || mine.includes(permission);
		const listed = await page.getByRole('navigation', { name: 'Screens' }).getByRole('link').allInnerTexts();
		const wrong = walk.filter(([, title, permission]) => listed.includes(title) !== may(permission)).map(([path]) => path);
		for (const [path, title, permission, controls] of walk) {
			if (!may(permission)) {
				await visit(path);
				await page.getByText('This needs a permission that your role does not have').waitFor();
				continue;
			}
			await visit(path);
			await titled(page, title);
			await page.locator('main table, main .empty, main section.card, main .event-row, main article').first().waitFor();
			const control = (name, role = 'button') => page.locator('main').getByRole(role, { name, exact: true });
			for (const [name] of controls.filter(([, needed, menu]) => may(needed) && !menu))
				await control(name).or(control(name, 'link')).first().waitFor().catch(() => wrong.push(`${path}: no ${name}`));
			await until('the answers', () => pending === 0);
			for (const [name] of controls.filter(([, needed, menu]) => !may(needed) && !menu))
				if (await control(name).or(control(name, 'link')).count() > 0)
					wrong.push(`${path}: ${name}`);
			for (const menu of new Set(controls.map(([, , of]) => of).filter(Boolean))) {
				await control(menu).click();
				const items = await page.getByRole('menuitem').allInnerTexts();
				wrong.push(...controls.filter(([name, needed, of]) => of === menu && items.includes(name) !== may(needed)).map(([name]) => `${path}: ${name} in ${menu}`));
				await page.keyboard.press('Escape');
			}
		}
		is(wrong.join(), '', `${role}: every screen and control that the role may use, and no other`);
	}

	// A replay, when all have looked.
	await owner.getByRole('tab', { name: 'Waiting' }).click();
	await section(owner, 'The store did not take them').getByRole('button', { name: 'Replay all' }).click();
	await owner.getByText('Everything that was accepted is stored.').waitFor();
	await owner.getByRole('tab', { name: 'Replayed' }).click();
	await row(owner, 'replayed').waitFor();
	ok(true, 'dead letters are replayed');

	// ---- the team, where the service sends no mails ----
	await go(owner, '/settings/team', 'Team');
	await button(owner, 'Invite').click();
	await owner.getByText('This service sends no mails: you get a link for each of them to pass on.').waitFor();
	await owner.fill('[name=emails]', 'new@example.org');
	await dialog(owner, 'Invite people').getByRole('button', { name: 'Invite', exact: true }).click();
	await dialog(owner, 'Pass the link on').waitFor();
	await look(owner, 'invitation link');
	is(await dialog(owner, 'Pass the link on').locator('pre').innerText(), await call('link', 'new@example.org'), 'who invites gets the link');
	await button(owner, 'Done').click();
	await choose(owner, 'new@example.org', 'Make a new link');
	await dialog(owner, 'Pass the link on').waitFor();
	is(await dialog(owner, 'Pass the link on').locator('pre').innerText(), await call('link', 'new@example.org'), 'and another one');
	await button(owner, 'Done').click();
	await choose(owner, 'new@example.org', 'Revoke');
	await button(owner, 'Revoke').click();
	await row(owner, 'new@example.org').waitFor({ state: 'hidden' });

	// ---- plan ----
	await go(owner, '/settings/billing', 'Billing');
	await look(owner, 'billing');
	await button(owner, 'Choose Business').click();
	await button(owner, 'Ask for Business').click();
	await owner.getByText('Plan Business is asked for', { exact: true }).waitFor();
	await stays(() => call('plan'), 'pro', 'a larger plan is asked for');
	await button(owner, 'Withdraw').click();
	await dialog(owner, 'Withdraw the request?').getByRole('button', { name: 'Withdraw' }).click();
	await owner.getByText('The request is withdrawn.').waitFor();
	await button(owner, 'Choose Free').click();
	await owner.getByText(/Members: 4 used, 2 allowed/).waitFor();
	await owner.getByText('3 events are deleted within an hour, for good.').waitFor();
	await dialog(owner, 'Go back to plan Free?').getByText(/^old: 3 of /).waitFor();
	ok(await button(owner, 'Change to Free').isDisabled(), 'a plan that deletes events asks for the name of the organization');
	await look(owner, 'smaller plan');
	await owner.fill('[name=confirm-name]', 'Acme <b>&amp;</b>');
	await button(owner, 'Change to Free').click();
	await owner.getByText('The plan is Free now.').waitFor();
	await becomes(() => call('plan'), 'free', 'a smaller one is there at once');

	// ---- the end ----
	await go(owner, '/settings/organization', 'Organization');
	await button(owner, 'Delete organization').click();
	await owner.fill('[name=confirm-name]', 'Acme <b>&amp;</b>');
	await dialog(owner, /^Delete Acme/).getByRole('button', { name: 'Delete organization' }).click();
	await titled(owner, 'Welcome to logsvc');
	ok(true, 'an organization is deleted');
});
