/*
 * harness.mjs: what the tests in a browser share. LOGSVC_URL is the service, LOGSVC_MAILS the folder of mails.
 */
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { createRequire } from 'node:module';

const packages = createRequire(path.resolve('build/browser/package.json'));
const { chromium } = packages('playwright-core');
const axe = fs.readFileSync(packages.resolve('axe-core/axe.min.js'), 'utf8');

export const base = process.env.LOGSVC_URL;
const wait = 60_000;
let count = 0;

export function ok(good, name, said = '')
{
	console.log(`${good ? 'ok' : 'not ok'} ${++count} - ${name.replace(/#/g, '')}`);
	if (!good && said)
		console.log(String(said).replace(/^/gm, '# '));
	return good;
}

export const is = (got, expected, name) => ok(got === expected, name, `got ${JSON.stringify(got)}\nexpected ${JSON.stringify(expected)}`);

// Calls of the Perl test: a line to it, a line of JSON back.
const answers = [];
readline.createInterface({ input: process.stdin }).on('line', (line) => answers.shift()?.(JSON.parse(line)));
export const call = (name, argument = null) => new Promise((resolve) => {
	answers.push(resolve);
	// In ASCII: what Perl reads are bytes.
	console.log(`@call ${name} ${JSON.stringify(argument).replace(/[\u0080-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)}`);
});

/** Asks until the answer is true; fails with the name after a minute. */
export async function until(what, ask)
{
	for (const end = Date.now() + wait; Date.now() < end;) {
		const answer = await ask();
		if (answer)
			return answer;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	throw new Error(`waited for ${what}`);
}

const fits = (got, expected) => (typeof expected === 'function' ? expected(got) : expected instanceof RegExp ? expected.test(got) : got === expected);
const wanted = (expected) => (typeof expected === 'function' || expected instanceof RegExp ? String(expected) : JSON.stringify(expected));

/**
 * A check after an action: passes when what ask() returns is as expected (a value, a pattern, or a function of it), at once
 * or within half a minute. Fails then; what it throws meanwhile counts as not yet.
 */
export async function becomes(ask, expected, name)
{
	let got;
	for (const end = Date.now() + wait / 2; ;) {
		try {
			got = await ask();
			if (fits(got, expected))
				return ok(true, name);
		} catch (error) {
			got = String(error);
		}
		if (Date.now() > end)
			return ok(false, name, `got ${JSON.stringify(got)}\nexpected ${wanted(expected)}`);
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
}

/** A check of what must not happen: looks for half a second whether what ask() returns is always as expected. */
export async function stays(ask, expected, name)
{
	for (const end = Date.now() + 500; ;) {
		const got = await ask();
		if (!fits(got, expected))
			return ok(false, name, `got ${JSON.stringify(got)}\nexpected ${wanted(expected)}, all the time`);
		if (Date.now() > end)
			return ok(true, name);
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
}

const seen = new Set();

/** The link in the next mail to an address that has not been read yet, with this path. */
export const mailLink = (to, screen) => until(`a mail to ${to}`, () => {
	for (const name of fs.readdirSync(process.env.LOGSVC_MAILS)) {
		if (!/^mail\.\d+$/.test(name) || seen.has(name))
			continue;
		const mail = JSON.parse(fs.readFileSync(path.join(process.env.LOGSVC_MAILS, name), 'utf8'));
		const link = JSON.stringify(mail.parts).match(new RegExp(`${base}${screen}#t=\\w+`));
		if (mail.to.includes(to) && link) {
			seen.add(name);
			return link[0];
		}
	}
	return null;
});

/** A page in a context (a new one without), whose errors fail the test. expect: patterns of errors that are meant. */
export async function open(browser, { context, expect = [] } = {})
{
	const own = context ?? await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
	own.setDefaultTimeout(wait);
	const page = await own.newPage();
	// What moves has to come to rest before it can be pressed.
	await page.emulateMedia({ reducedMotion: 'reduce' });
	const bad = [];
	const note = (text) => {
		if (!page.quiet && !expect.some((one) => one.test(text)))
			bad.push(text);
	};
	page.on('console', (message) => {
		if (message.type() === 'error' || /Content Security Policy|TrustedHTML/.test(message.text()))
			note(`console: ${message.text()} ${message.location().url}`);
	});
	page.on('pageerror', (error) => note(`error: ${error.stack}`));
	page.on('request', (request) => {
		if (!request.url().startsWith(`${base}/`) && !/^(data|blob|about):/.test(request.url()))
			note(`a request to ${request.url()}`);
	});
	page.bad = bad;
	page.expect = expect;
	pages.push(page);
	return page;
}
const pages = [];

// All that axe knows; of another theme only what colours decide.
const everything = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'];
const colours = ['color-contrast', 'link-in-text-block'];

async function runAxe(page, rules)
{
	// What axe itself does to the page is not the page's fault.
	page.quiet = true;
	const session = await page.context().newCDPSession(page);
	const { result: { value: there } } = await session.send('Runtime.evaluate', { expression: 'Boolean(window.axe)' });
	if (!there)
		await session.send('Runtime.evaluate', { expression: `${axe};0` });
	const { result } = await session.send('Runtime.evaluate', { awaitPromise: true, returnByValue: true, expression: `axe.run(document, { preload: false,
		resultTypes: ['violations'], runOnly: ${JSON.stringify(rules)} }).then((r) => JSON.stringify(r.violations.map((v) => v.id + ': '
		+ v.nodes.map((n) => n.html.slice(0, 160)).join(' | '))))` });
	await session.detach();
	page.quiet = false;
	return JSON.parse(result.value);
}

/** Is what is on the page usable by all, light and dark, and does nothing stick out at 320 px? */
export async function look(page, name)
{
	const bad = [];
	for (const colorScheme of ['light', 'dark']) {
		await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
		// A colour that is still changing is none.
		await page.evaluate(() => Promise.allSettled(document.getAnimations().filter((one) => one.effect?.getComputedTiming().iterations !== Infinity).map((one) => one.finished)));
		bad.push(...(await runAxe(page, colorScheme === 'light' ? everything : colours)).map((one) => `${colorScheme}: ${one}`));
		if (process.env.SCREENSHOTS)
			for (const width of [1440, 390]) {
				await page.setViewportSize({ width, height: 844 });
				await page.screenshot({ path: path.join(process.env.SCREENSHOTS, `${name.replace(/\W+/g, '-')}-${colorScheme}-${width}.png`) });
			}
	}
	await page.setViewportSize({ width: 320, height: 640 });
	const over = await page.evaluate(() => document.documentElement.scrollWidth);
	if (over > 320)
		bad.push(`at 320 px it is ${over} px wide`);
	await page.setViewportSize({ width: 1280, height: 800 });
	await page.emulateMedia({ colorScheme: 'light' });
	ok(bad.length === 0, `${name}: usable by all, light and dark, at 320 px`, bad.join('\n'));
}

/** Runs a script: a browser, its tests, what pages have noted, the plan. */
export async function test(run)
{
	const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] });
	try {
		await run(browser);
	} catch (error) {
		ok(false, 'the script ran to its end', error.stack);
		for (const page of pages)
			if (!page.isClosed())
				console.log(`# ${page.url()}: ${(await page.locator('body').innerText({ timeout: 2000 }).catch(() => '')).slice(0, 400).replace(/\s+/g, ' ')}`);
	}
	const bad = pages.flatMap((page) => page.bad);
	ok(bad.length === 0, `${pages.length} pages: nothing that the policy refused, no error, no other host`, bad.slice(0, 20).join('\n'));
	await browser.close();
	console.log(`1..${count}`);
	process.exit(0);
}
