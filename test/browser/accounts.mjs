/*
 * accounts.mjs: from signing up to an organization, links of mails, invitations, sessions that end, keys alone.
 */
import { base, becomes, call, is, look, mailLink, ok, open, stays, test } from './harness.mjs';

const password = 'Green-lamp-under-9-stars';
const changed = 'Blue-lamp-over-11-moons';
const heading = (page) => page.locator('h1').first().innerText();
const titled = (page, text) => page.getByRole('heading', { level: 1, name: text }).waitFor();

async function signUp(page, email)
{
	await page.fill('[name=email]', email);
	await page.fill('[name=password]', password);
	await page.getByRole('button', { name: 'Create account' }).click();
	await page.getByText('A mail is on its way').waitFor();
	return mailLink(email, '/verify-email');
}

await test(async (browser) => {
	// ---- sign up, confirm, the first organization ----
	const ann = await open(browser, { expect: [/status of 401 .*auth\/(session|change-password)/, /ERR_CONNECTION|status of 503/, /status of 410 .*verify-email/] });
	await ann.goto(`${base}/`);
	await titled(ann, 'Sign in');
	await look(ann, 'sign in');
	await ann.getByRole('link', { name: 'Create an account' }).click();
	await titled(ann, 'Create an account');
	await ann.fill('[name=email]', 'ann@example.org');
	await ann.fill('[name=password]', 'short');
	await ann.getByRole('button', { name: 'Create account' }).click();
	await ann.getByText(/It needs 12 to 128 characters/).waitFor();
	await becomes(() => ann.evaluate(() => document.activeElement.name), 'password', 'the focus is at the field that is wrong');
	await look(ann, 'sign up');
	const link = await signUp(ann, 'ann@example.org');
	await ann.goto(link);
	await titled(ann, 'Address confirmed');
	await becomes(() => new URL(ann.url()).hash, '', 'the token of the mail has left the address bar');
	await ann.goto('about:blank');
	await ann.goto(link);
	await titled(ann, 'This link was already used');
	await look(ann, 'used link');
	await ann.getByRole('link', { name: 'Sign in' }).click();
	await titled(ann, 'Sign in');
	await ann.fill('[name=email]', 'ann@example.org');
	await ann.fill('[name=password]', password);
	await ann.keyboard.press('Enter');
	await titled(ann, 'Welcome to logsvc');
	await look(ann, 'welcome');
	await ann.fill('[name=name]', 'Acme');
	await ann.getByRole('button', { name: 'Create organization' }).click();
	await ann.waitForURL(/\/o\/acme\//);
	await ann.goto(`${base}/o/acme/account`);
	await titled(ann, 'Your account');
	await ann.getByText('this one').waitFor();
	await look(ann, 'account');

	// ---- many loads of a page are no sign-ins ----
	for (let i = 0; i < 10; i++)
		await ann.reload();
	await titled(ann, 'Your account');
	ok(true, 'ten reloads');

	// ---- keys alone ----
	await ann.locator('main').focus();
	await ann.keyboard.press('?');
	await ann.getByRole('dialog', { name: 'Keys' }).waitFor();
	await look(ann, 'list of keys');
	await ann.keyboard.press('Escape');
	await ann.getByRole('dialog').waitFor({ state: 'hidden' });
	await ann.keyboard.press('Control+k');
	await ann.getByRole('dialog', { name: 'Go to' }).waitFor();
	await look(ann, 'palette');
	await ann.keyboard.type('theme dark');
	await ann.keyboard.press('Enter');
	await becomes(() => ann.evaluate(() => document.documentElement.dataset.theme), 'dark', 'the palette: another theme by keys');
	await ann.keyboard.press('Control+k');
	await ann.keyboard.type('theme system');
	await ann.keyboard.press('Enter');
	await ann.keyboard.press('Control+k');
	await ann.keyboard.type('new organization');
	await ann.keyboard.press('Enter');
	await titled(ann, 'New organization');
	await ann.goBack();
	await titled(ann, 'Your account');

	// While the palette is being loaded, what is typed waits for its field.
	const slow = await open(browser, { context: ann.context() });
	let come;
	const held = new Promise((resolve) => { come = resolve; });
	await slow.route('**/later.*', async (route) => {
		await held;
		await route.continue();
	});
	await slow.goto(`${base}/o/acme/search`);
	await slow.getByRole('navigation', { name: 'Screens' }).waitFor();
	await slow.keyboard.press('Control+k');
	await slow.keyboard.type('your acount', { delay: 5 });
	for (let letter = 0; letter < 'count'.length; letter++)
		await slow.keyboard.press('Backspace');
	await slow.keyboard.type('count');
	await slow.keyboard.press('Enter');
	await stays(() => slow.locator('dialog[open]').count(), 0, 'the palette is not there yet');
	come();
	await titled(slow, 'Your account');
	ok(true, 'then it gets what was typed');
	await slow.close();

	// ---- the service goes away and comes back ----
	ann.quiet = true;
	await call('stop');
	await ann.fill('[name=current]', 'x');
	await ann.fill('[name=password]', changed);
	await ann.getByRole('button', { name: 'Change password' }).click();
	await ann.getByText('The service does not answer. Trying again').waitFor();
	await ann.getByText('NO_ANSWER').waitFor();
	ok(true, 'a banner while the service is away, and a change is not repeated');
	await call('start');
	await ann.getByText('The service does not answer. Trying again').waitFor({ state: 'hidden' });
	await stays(() => ann.inputValue('[name=password]'), changed, 'it is back, and what was typed is there');
	ann.quiet = false;

	// ---- a wrong password; the wait after too many ----
	const bob = await open(browser, { expect: [/status of (401|429) .*sign-in/, /status of 401 .*auth\/session/, /status of 410 .*reset-password/] });
	await bob.goto(`${base}/sign-in`);
	await bob.fill('[name=email]', 'ann@example.org');
	await bob.fill('[name=password]', 'Wrong-lamp-under-9-stars');
	await bob.keyboard.press('Enter');
	await bob.getByRole('alert').waitFor();
	await stays(() => bob.getByRole('alert').count(), 1, 'one message');
	await becomes(() => bob.evaluate(() => document.activeElement.name), 'password', 'the focus stays');
	await call('limits', 5);
	let waits = false;
	// The minute may end in between: then it takes a few more.
	for (let i = 0; i < 20 && !waits; i++) {
		const answered = bob.waitForResponse(/auth\/sign-in/);
		await bob.fill('[name=password]', `Wrong-lamp-under-${i}-stars`);
		await bob.keyboard.press('Enter');
		if ((await answered).status() === 429) {
			await bob.getByText('RATE_LIMIT_EXCEEDED').waitFor();
			await bob.getByText(/Try again in \d+ s/).waitFor();
			waits = true;
		} else
			await bob.getByText('INVALID_CREDENTIALS').waitFor();
	}
	ok(waits, 'after too many it says how long to wait');
	await look(bob, 'sign in after too many');
	await call('limits', 1000000);

	// ---- a forgotten password ends the other session, and its page keeps what was typed ----
	await bob.getByRole('link', { name: 'Forgot password?' }).click();
	await titled(bob, 'Forgot your password?');
	await bob.fill('[name=email]', 'ann@example.org');
	await bob.getByRole('button', { name: 'Send the link' }).click();
	await bob.getByText('a mail is on its way').waitFor();
	const reset = await mailLink('ann@example.org', '/reset-password');
	await bob.goto(reset);
	await titled(bob, 'Choose a new password');
	await becomes(() => bob.url(), `${base}/reset-password`, 'the token has left the address bar');
	await look(bob, 'reset');
	await bob.fill('[name=password]', changed);
	await bob.getByRole('button', { name: 'Set password' }).click();
	await titled(bob, 'Password changed');
	await bob.goto('about:blank');
	await bob.goto(reset);
	await bob.fill('[name=password]', `${changed}!`);
	await bob.getByRole('button', { name: 'Set password' }).click();
	await titled(bob, 'This link was already used');

	await ann.fill('[name=current]', changed);
	await ann.fill('[name=password]', `${changed}-again`);
	await ann.getByRole('button', { name: 'Change password' }).click();
	const again = ann.getByRole('dialog', { name: 'Your session has ended' });
	await again.waitFor();
	await look(ann, 'signing in again');
	await again.getByLabel('Password', { exact: true }).fill(changed);
	await ann.keyboard.press('Enter');
	await ann.getByText(/Password changed/).waitFor();
	ok(true, 'an ended session: the same page goes on after the sign-in');

	// ---- an invitation, in another context ----
	await call('plan', 'pro');
	is(await ann.evaluate(async () => (await fetch('/api/v1/invitations', { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Organization-Id': 'acme' },
		body: JSON.stringify({ email: 'carl@example.org', role: 'viewer' }) })).status), 201, 'an invitation');
	const invitation = await mailLink('carl@example.org', '/invitations/accept');
	const carl = await open(browser);
	await carl.goto(invitation);
	await titled(carl, 'Join Acme');
	await becomes(() => carl.url(), `${base}/invitations/accept`, 'its token has left the address bar');
	await carl.locator('[name=password]').waitFor();
	await look(carl, 'invitation');
	await carl.fill('[name=password]', password);
	await carl.getByRole('button', { name: 'Create account' }).click();
	await carl.getByText('this browser keeps the invitation').waitFor();
	await look(carl, 'invitation, signed up');
	await carl.goto(await mailLink('carl@example.org', '/verify-email'));
	await titled(carl, 'Address confirmed');
	await carl.getByRole('link', { name: 'Sign in' }).click();
	await carl.fill('[name=email]', 'carl@example.org');
	await carl.fill('[name=password]', password);
	await carl.keyboard.press('Enter');
	await titled(carl, 'Join Acme');
	await carl.goto(`${base}/`);
	await titled(carl, 'Welcome to logsvc');
	await carl.getByText('Acme has invited you').waitFor();
	await look(carl, 'welcome, invited');
	await carl.getByRole('link', { name: 'Join Acme' }).click();
	await carl.getByRole('button', { name: 'Join Acme' }).click();
	await carl.waitForURL(/\/o\/acme\//);
	const kept = () => carl.evaluate(() => window.localStorage.getItem('logsvc.invitation'));
	await becomes(kept, null, 'signed up, confirmed by another mail, signed in from there, joined: the invitation was kept until then');

	// ---- another account has no use for it, and says so ----
	is(await ann.evaluate(async () => (await fetch('/api/v1/invitations', { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Organization-Id': 'acme' },
		body: JSON.stringify({ email: 'dora@example.org', role: 'viewer' }) })).status), 201, 'another invitation');
	await carl.goto(await mailLink('dora@example.org', '/invitations/accept'));
	await carl.getByRole('button', { name: 'Switch account' }).waitFor();
	await becomes(() => carl.locator('main').innerText(), (text) => text.includes('carl@example.org'), 'both addresses are shown');
	await becomes(kept, (text) => text.includes('dora@example.org'), 'it is kept');
	await carl.goto(`${base}/o/acme/account`);
	await titled(carl, 'Your account');
	await carl.goto(`${base}/welcome`);
	await titled(carl, 'New organization');
	await stays(() => carl.getByText('has invited you').count(), 0, 'and not offered to another');

	// ---- where a sign-in leads ----
	for (const target of ['/.//evil.example/', '//evil.example', '/\\evil.example', '/a/..//evil.example', '///', '/api/v1/config', '/\t/evil.example']) {
		await ann.goto(`${base}/sign-in?redirectTo=${encodeURIComponent(target)}`);
		await ann.waitForURL(/\/o\/acme\//);
	}
	ok(true, 'never to another site or a route');

	// ---- another account signs in while a change waits: it is not sent as that one ----
	await ann.route('**/api/v1/config', async (route) => {
		const answer = await route.fetch();
		const body = await answer.json();
		body.data.oauthProviders = ['github'];
		await route.fulfill({ response: answer, json: body });
	});
	await ann.goto(`${base}/o/acme/account`);
	await titled(ann, 'Your account');
	// What the page asks for by itself finds the session ended, too.
	ann.expect.push(/status of 401/);
	let writes = 0;
	ann.on('request', (request) => { writes += /change-password/.test(request.url()) ? 1 : 0; });
	await ann.evaluate(() => fetch('/api/v1/auth/sign-out', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }));
	await ann.fill('[name=current]', `${changed}-again`);
	await ann.fill('[name=password]', `${changed}-of-ann`);
	await ann.getByRole('button', { name: 'Change password' }).click();
	await again.waitFor();
	is(writes, 1, 'a change finds the session ended');
	const signInAs = async (page, email, secret) => {
		await page.goto(`${base}/sign-in`);
		await page.fill('[name=email]', email);
		await page.fill('[name=password]', secret);
		await page.keyboard.press('Enter');
		await page.waitForURL(/\/o\/acme\//);
	};
	const loads = () => ann.waitForEvent('domcontentloaded');
	const beside = await open(browser, { context: ann.context(), expect: [/status of 401 .*auth\/session/] });
	await signInAs(beside, 'carl@example.org', password);
	let begun = loads();
	await again.getByRole('button', { name: 'go on here' }).click();
	await begun;
	await stays(() => writes, 1, 'signed in as another in another tab: the change is not sent');

	// ---- and without a session that has ended: the page begins again as the other ----
	await ann.goto(`${base}/o/acme/account`);
	await ann.getByText('carl@example.org').first().waitFor();
	is(await beside.evaluate(async (secret) => (await fetch('/api/v1/auth/sign-in', { method: 'POST', headers: { 'Content-Type': 'application/json' },
		body: JSON.stringify({ email: 'ann@example.org', password: secret }) })).status, `${changed}-again`), 200, 'the first one signs in over it');
	begun = loads();
	await beside.reload();
	await begun;
	ok(true, 'an open page follows the account of the browser');
	// A page that is not in front draws nothing.
	await beside.close();
	await ann.bringToFront();

	// ---- out ----
	await ann.goto(`${base}/o/nothing/here`);
	await becomes(() => heading(ann), 'There is no such organization', 'an organization of others does not exist');
	await ann.goto(`${base}/o/acme/account`);
	await titled(ann, 'Your account');
	await ann.getByRole('button', { name: /You and settings|acme|ann@/ }).first().waitFor();
	await ann.keyboard.press('Control+k');
	await ann.keyboard.type('sign out');
	await ann.keyboard.press('Enter');
	await titled(ann, 'Sign in');
	await stays(() => ann.evaluate(() => Object.keys(window.localStorage).filter((one) => !/^logsvc\.(theme|zone|organization)$/.test(one)).join()), '',
		'nothing of the session stays in the browser');
});
