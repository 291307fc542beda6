/*
 * measure.mjs: how quick the search screen is. Prints rows "metric value unit"; test/bench/console.pl starts it.
 *
 * A time begins with the navigation or the key, as the page's own clock has it, and ends with the frame after the last
 * change of the page that the answer has caused: what somebody sees.
 */
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';

const { chromium } = createRequire(path.resolve('build/browser/package.json'))('playwright-core');
const { LOGSVC_URL: base, SESSION, CHROMIUM } = process.env;
const searches = JSON.parse(process.env.SEARCHES);
const span = Number(process.env.SPAN); // Seconds back to the oldest event.
const runs = Number(process.env.RUNS ?? 10);
const most = Number(process.env.ROWS ?? 100_000);
const frames = Number(process.env.FRAMES ?? 300);
const throttle = Number(process.env.THROTTLE ?? 4);

const measured = new Map();
function metric(name, value, unit)
{
	measured.set(name, value);
	console.log(`${name} ${typeof value === 'number' ? Number(value.toFixed(value < 10 ? 1 : 0)) : value} ${unit}`);
}
const load = (name) => console.log(`${name}_load ${os.loadavg()[0].toFixed(1)} on_${os.cpus().length}_cores`);
const at = (list, share) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.ceil(list.length * share) - 1)];
function times(name, list)
{
	metric(`${name}_median`, at(list, 0.5), 'ms');
	metric(`${name}_p95`, at(list, 0.95), 'ms');
}

/** Runs in the page before its scripts: notes when the query box and the first row are there. */
function watchOpening()
{
	window.opened = {};
	const painted = (name) => requestAnimationFrame(() => requestAnimationFrame(() => { window.opened[name] ??= performance.now(); }));
	const observer = new MutationObserver(() => {
		if (document.querySelector('.query-area'))
			painted('interactive');
		if (document.querySelector('.rows .event-row .cell-event')?.textContent) {
			painted('rows');
			observer.disconnect();
		}
	});
	observer.observe(document, { childList: true, subtree: true, characterData: true });
}

/** In the page: presses Run by its key, and answers how long it took until the page had changed for the last time. */
function runSearch()
{
	return new Promise((resolve) => {
		let changed = 0;
		let answered = 0;
		let size = 0;
		const observer = new MutationObserver(() => { changed = performance.now(); });
		observer.observe(document.querySelector('.search'), { childList: true, subtree: true, characterData: true, attributes: true });
		const read = window.fetch;
		window.fetch = async (...given) => {
			const answer = await read(...given);
			if (new URL(given[0], window.location.href).pathname === '/api/v1/search') {
				const text = answer.text.bind(answer);
				answer.text = async () => {
					const body = await text();
					answered = performance.now();
					size = body.length;
					return body;
				};
			}
			return answer;
		};
		const box = document.querySelector('.query-area');
		box.focus();
		const began = performance.now();
		box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
		let seen = 0;
		let frame = 0;
		let still = 0;
		const look = () => {
			const now = performance.now();
			if (answered && changed >= answered) {
				if (changed > seen) {
					seen = changed;
					frame = now;
					still = 0;
				} else if (++still >= 10) {
					observer.disconnect();
					window.fetch = read;
					resolve({ painted: frame - began, answered: answered - began, size });
					return;
				}
			}
			requestAnimationFrame(look);
		};
		requestAnimationFrame(look);
	});
}

/** In the page: scrolls the list by some pixels in each frame; answers the lengths of frames and of long tasks. */
async function scroll({ step, count })
{
	const box = document.querySelector('.rows');
	const long = [];
	const observer = new PerformanceObserver((list) => long.push(...list.getEntries().map((one) => one.duration)));
	observer.observe({ entryTypes: ['longtask'] });
	box.scrollTop = 0;
	await new Promise((resolve) => setTimeout(resolve, 300));
	const lengths = [];
	let direction = 1;
	await new Promise((resolve) => {
		let last = 0;
		const next = (now) => {
			if (last)
				lengths.push(now - last);
			last = now;
			if (lengths.length >= count) {
				resolve();
				return;
			}
			if (box.scrollTop + box.clientHeight >= box.scrollHeight - step)
				direction = -1;
			else if (box.scrollTop <= 0)
				direction = 1;
			box.scrollTop += direction * step;
			requestAnimationFrame(next);
		};
		requestAnimationFrame(next);
	});
	observer.disconnect();
	return { lengths, long };
}

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--js-flags=--expose-gc', '--enable-precise-memory-info'] });
async function fresh(script)
{
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US' });
	await context.addCookies([{ name: 'logsvc_session', value: SESSION, url: base }]);
	const page = await context.newPage();
	page.setDefaultTimeout(120_000);
	if (script)
		await page.addInitScript(script);
	return page;
}
const address = (params) => `${base}/o/bench/search?${new URLSearchParams(params)}`;

// ---- opening, nothing in the cache of the browser ----
{
	const interactive = [];
	const rows = [];
	let sizes = null;
	load('open');
	for (let run = 0; run <= runs; run++) {
		const page = await fresh(watchOpening);
		await page.goto(`${base}/o/bench/search`);
		const opened = await page.waitForFunction(() => window.opened.rows && window.opened.interactive && window.opened).then((found) => found.jsonValue());
		// The first one warms up what has just been started.
		if (run) {
			interactive.push(opened.interactive);
			rows.push(opened.rows);
		}
		sizes = await page.evaluate(() => performance.getEntriesByType('resource').filter((one) => one.name.includes('/assets/')).map((one) => [one.encodedBodySize, performance.getEntriesByType('navigation')[0].encodedBodySize]));
		await page.context().close();
	}
	times('open_interactive', interactive);
	times('open_first_rows', rows);
	metric('open_files', sizes.length, 'files');
	metric('open_transfer', (sizes.reduce((sum, [size]) => sum + size, 0) + sizes[0][1]) / 1000, 'kB_compressed');
}

// ---- searches: rows, histogram and fields ----
{
	const all = [];
	const others = [];
	load('search');
	for (const { name, q, width } of searches) {
		const page = await fresh();
		await page.goto(address({ q, earliest: `-${Math.min(width ?? span, span)}s`, latest: 'now' }));
		await page.locator('.rows .event-row, .table, .empty').first().waitFor();
		await page.locator('.summary strong').waitFor();
		const painted = [];
		const answered = [];
		for (let run = 0; run < runs; run++) {
			const took = await page.evaluate(runSearch);
			painted.push(took.painted);
			answered.push(took.answered);
		}
		times(`search_${name}`, painted);
		times(`search_${name}_answer`, answered);
		all.push(...painted);
		if (!/\| patterns/.test(q))
			others.push(...painted);
		await page.context().close();
	}
	times('search_all', all);
	times('search_all_but_patterns', others);
}

// ---- many rows ----
{
	const page = await fresh();
	const session = await page.context().newCDPSession(page);
	await page.goto(address({ earliest: `-${span}s`, latest: 'now' }));
	await page.locator('.rows .event-row').first().waitFor();
	const list = page.getByRole('listbox', { name: 'Events, newest first' });
	// CPU time of the page's own thread: what does not depend on what else the machine does.
	await session.send('Performance.enable', { timeDomain: 'threadTicks' });
	const busy = async () => (await session.send('Performance.getMetrics')).metrics.find((one) => one.name === 'TaskDuration').value * 1000;
	load('rows');
	const began = performance.now();
	let ten = 0;
	for (let loaded = 0; loaded < most;) {
		const before = loaded;
		await list.press('End');
		loaded = await page.waitForFunction((than) => {
			const count = Number(document.querySelector('.rows .event-row')?.getAttribute('aria-setsize'));
			return count > than ? count : 0;
		}, before).then((found) => found.jsonValue());
		if (!ten && loaded >= 10_000)
			ten = performance.now() - began;
	}
	metric('rows_10000_loaded_and_drawn', ten, 'ms');
	metric(`rows_${most}_loaded_and_drawn`, performance.now() - began, 'ms');
	for (const slow of [1, throttle]) {
		await session.send('Emulation.setCPUThrottlingRate', { rate: slow });
		for (const step of [600, 4000]) {
			const name = `scroll_${step}px${slow > 1 ? `_cpu_${slow}_times_slower` : ''}`;
			load(name);
			const before = await busy();
			const { lengths, long } = await page.evaluate(scroll, { step, count: frames });
			if (slow === 1)
				metric(`${name}_cpu_of_a_frame`, (await busy() - before) / lengths.length, 'ms');
			metric(`${name}_rate`, 1000 * lengths.length / lengths.reduce((sum, one) => sum + one, 0), 'frames_per_second');
			metric(`${name}_frame_p95`, at(lengths, 0.95), 'ms');
			metric(`${name}_frame_p99`, at(lengths, 0.99), 'ms');
			metric(`${name}_long_tasks`, long.length, 'tasks_over_50_ms');
		}
	}
	await session.send('Emulation.setCPUThrottlingRate', { rate: 1 });
	metric('rows_nodes', await page.evaluate(() => document.getElementsByTagName('*').length), 'elements_in_the_page');
	metric('rows_heap', await page.evaluate(() => { window.gc?.(); return performance.memory.usedJSHeapSize; }) / 1e6, 'MB');
}

// ---- what it should be ----
for (const [name, limit, least] of [['open_interactive_p95', 500], ['open_first_rows_p95', 1000], ['open_transfer', 40], ['search_all_p95', 500], ['rows_10000_loaded_and_drawn', 3000],
	[`scroll_600px_cpu_${throttle}_times_slower_rate`, 55, true], [`scroll_4000px_cpu_${throttle}_times_slower_rate`, 55, true], ['rows_nodes', 1000], ['rows_heap', 150]])
	if (measured.has(name))
		console.log(`budget_${name} ${(least ? measured.get(name) >= limit : measured.get(name) <= limit) ? 'kept' : 'missed'} ${least ? 'at_least' : 'at_most'}_${limit}`);
await browser.close();
