/*
 * logic.mjs: what screens compute, without a browser.
 */
import { checkNetwork, isInside, networkOf } from '../../src/console/settings/addresses.js';
import { isSilent, replacementOf } from '../../src/console/settings/rotation.js';
import { addressesIn } from '../../src/console/settings/address-list.js';
import { projectionOf } from '../../src/console/usage/projection.js';

import { partOf } from '../../src/console/dashboards/answer.js';
import { freePlace } from '../../src/console/dashboards/layout.js';
import { withValues } from '../../src/console/dashboards/query-values.js';
import { displayOf, usualColumns } from '../../src/console/search/display.js';
import { earlierRange, patternRows, seriesById } from '../../src/console/search/pattern-rows.js';
import { eventsOf } from '../../src/console/search/group-rows.js';
import { addFilter, groupBy, writeStageField } from '../../src/console/search/query-edit.js';
import { contextAt, suggestions } from '../../src/console/search/completion.js';
import { filterState, patternQuery, termPattern, withoutTimes, writeField } from '../../src/console/search/query-text.js';

let count = 0;
const is = (got, expected, name) => console.log(`${JSON.stringify(got) === JSON.stringify(expected) ? 'ok' : 'not ok'} ${++count} - ${name}${
	JSON.stringify(got) === JSON.stringify(expected) ? '' : `\n# got ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`}`);

// ---- networks: as logsvc_internal.read_network reads them ----
for (const [text, good] of [['192.0.2.7', true], ['192.0.2.0/24', true], ['192.0.2.1/24', false], ['0.0.0.0/0', true], ['10', false], ['10/8', false], ['256.0.0.1', false],
	['01.2.3.4', false], ['192.0.2.0/33', false], ['192.0.2.0/-1', false], ['', false], ['x', false], ['::', true], ['::/0', true], ['2001:db8::/32', true], ['2001:db8::1/32', false],
	['2001:db8:0:0:0:0:0:1', true], ['2001:db8::1::2', false], ['1:2:3:4:5:6:7', false], ['1:2:3:4:5:6:7:8:9', false], ['12345::', false], ['::ffff:192.0.2.1', true], ['::ffff:192.0.2.0/120', true],
	['::ffff:192.0.2.1/120', false], ['192.0.2.0/24/24', false]])
	is(checkNetwork(text) === undefined, good, `network ${text || 'nothing'}`);
is(networkOf('::ffff:192.0.2.0/120').size, 24, 'IPv4 inside of IPv6 is IPv4');
is(isInside('192.0.2.77', ['10.0.0.0/8', '192.0.2.0/24']), true, 'inside');
is(isInside('::ffff:192.0.2.77', ['192.0.2.0/24']), true, 'inside, as IPv6');
is(isInside('192.0.3.1', ['192.0.2.0/24']), false, 'outside');
is(isInside('2001:db8:1::1', ['2001:db8::/32']), true, 'inside of IPv6');
is(isInside('2001:db9::1', ['2001:db8::/32', '0.0.0.0/0']), false, 'IPv4 has no IPv6');
is(isInside('127.0.0.1', ['0.0.0.0/0']), true, 'everything');
is(isInside(null, ['0.0.0.0/0']), false, 'no address');

// ---- keys that replace others ----
const now = Date.parse('2026-11-23T12:00:00Z');
const key = (id, more) => ({ id, name: 'n', scope: 'ingest-only', kind: 'live', createdAt: `2026-11-0${id}T00:00:00Z`, expiresAt: null, revokedAt: null, lastUsedAt: null, ...more });
const old = key(1, { lastUsedAt: '2026-11-23T11:45:00Z' });
is(replacementOf(old, [old, key(2)])?.id, 2, 'a newer one of the same name replaces it');
is(replacementOf(key(2), [key(1), key(2)]), null, 'an older one does not');
for (const other of [{ name: 'm' }, { scope: 'read-only' }, { kind: 'test' }, { revokedAt: '2020-11-20T00:00:00Z' }, { expiresAt: '2020-11-20T00:00:00Z' }])
	is(replacementOf(old, [old, key(2, other)]), null, `nor one with ${JSON.stringify(other)}`);
const used = key(2, { lastUsedAt: '2026-11-23T11:59:00Z' });
is(isSilent(old, null, now), false, 'silent: not without a replacement');
is(isSilent(old, key(2), now), false, 'not before that is used');
is(isSilent(old, used, now), false, 'not after fifteen minutes, because uses are noted every ten');
is(isSilent(old, used, now + 6 * 60_000), true, 'after twenty-one');
is(isSilent(key(1), used, now), true, 'one that was never used is');

// ---- addresses of people ----
is(addressesIn(' Ann@example.org,bob@example.org;\n ann@example.org '), ['ann@example.org', 'bob@example.org'], 'addresses: once each, in lower case');
is(addressesIn(' ,; '), [], 'none');
is(addressesIn('Dana Night <Dana@night.example>, "Ann, of Acme" <ann@example.org>; bob@example.org\ncarl@example.org <dora@example.org>'),
	['dana@night.example', 'ann@example.org', 'bob@example.org', 'carl@example.org', 'dora@example.org'], '... without the names before them');
is(addressesIn('Dana Night'), ['dana', 'night'], 'what is none stays');

// ---- series whose ends are not complete ----
const range = { earliest: '2026-11-23T10:02:00Z', latest: '2026-11-23T10:13:00Z' };
const minutes = (...list) => list.map((one) => Date.parse(`2026-11-23T10:${one}:00Z`) / 1000);
is(partOf({ kind: 'series', range }, minutes('00', '05', '10')), { first: true, last: true }, 'a range that cuts both ends');
is(partOf({ kind: 'series', range: { earliest: '2026-11-23T10:00:00Z', latest: '2026-11-23T10:15:00Z' } }, minutes('00', '05', '10')), { first: false, last: false }, 'a range of whole times');
is(partOf({ kind: 'series', range: { ...range, earliest: '2026-11-23T10:00:00Z' } }, minutes('00', '10')), { first: false, last: true }, 'a time without events between');
is(partOf({ kind: 'table', range }, minutes('00', '05', '10')), { first: false, last: false }, 'times that are no series');
is(partOf({ kind: 'series' }, minutes('00', '05', '10')), { first: false, last: false }, 'no range is known');

// ---- when a limit is reached ----
const period = { begins: 0, ends: 1000, now: 250 };
is(projectionOf({ used: 50, limit: 100, ...period }), { atEnd: 200, reachedAt: 500 }, 'at this pace');
is(projectionOf({ used: 20, limit: 100, ...period }), { atEnd: 80, reachedAt: null }, 'not in this period');
is(projectionOf({ used: 100, limit: 100, ...period }), { atEnd: 400, reachedAt: null }, 'it is reached');
is(projectionOf({ used: 50, limit: null, ...period }), { atEnd: 200, reachedAt: null }, 'no limit');
is(projectionOf({ used: 0, limit: 100, ...period }), { atEnd: null, reachedAt: null }, 'nothing used');
is(projectionOf({ used: 50, limit: 100, begins: 0, ends: 1000, now: 5 }), { atEnd: null, reachedAt: null }, 'too early to say');

// ---- patterns beside those of an earlier time ----
const template = (id, n) => ({ id, count: n });
const beside = { now: [template('a', 90), template('b', 9), template('c', 3)], before: [template('a', 100), template('c', 12), template('z', 4)] };
is(patternRows(beside).rows.map((one) => [one.id, one.old, one.change]), [['a', 100, -0.1], ['b', 0, null], ['c', 12, -0.75]], 'patterns: what was there before');
is(patternRows(beside).gone.map((one) => one.id), ['z'], 'what is gone');
is(patternRows({ ...beside, order: 'change' }).rows.map((one) => one.id).join(''), 'bca', 'new ones first, then by how much they changed');
is(patternRows({ ...beside, order: 'rare' }).rows.map((one) => one.id).join(''), 'cba', 'the least frequent first');
is(patternRows({ ...beside, onlyNew: true }).rows.map((one) => one.id).join(''), 'b', 'only new ones');
is(patternRows({ now: beside.now, before: null, onlyNew: true }).rows.length, 3, 'without a comparison nothing is new');
const hour = { earliest: '2026-11-23T10:00:00.000Z', latest: '2026-11-23T11:00:00.000Z' };
is(earlierRange(hour, 'before'), { earliest: '2026-11-23T09:00:00.000Z', latest: '2026-11-23T10:00:00.000Z' }, 'the period before');
is(earlierRange(hour, 'day').latest, '2026-11-22T11:00:00.000Z', 'a day earlier');
is(earlierRange({ ...hour, earliest: '2026-11-21T10:00:00.000Z' }, 'day').latest, '2026-11-20T11:00:00.000Z', 'more than a day: as many whole ones as do not overlap');
is(earlierRange(hour, ''), null, 'no comparison');
is(['a | where b = 1', 'a | where b = 1 | stats count', '"a | b" c', ' x |'].map(patternQuery), ['a | where b = 1', 'a', '"a | b" c', 'x'], 'conditions stay, other stages do not');
is([...seriesById({ columns: [{ name: 'time' }, { name: 'template_id' }, { name: 'count' }], rows: [['2', 'a', 5], ['1', 'a', 3], ['1', 'b', 1]] })], [['a', [3, 5]], ['b', [1, 0]]], 'counts over time');

// ---- columns that nobody has chosen ----
is(usualColumns([{ name: 'service', builtin: true, count: 60 }], 100)[2], 'service', 'where events come from: the service');
is(usualColumns([{ name: 'service', builtin: true, count: 1 }, { name: 'service', builtin: false, count: 99 }], 100)[2], 'attributes.service', 'an attribute of that name');
is(usualColumns([{ name: 'source', builtin: true, count: 100 }], 100)[2], 'source', 'or the source');
is([usualColumns(undefined, 0)[2], usualColumns([], 5)[2]], ['service', 'service'], 'nothing known');

// ---- columns of an address: of any that somebody sends ----
const columnsOf = (cols) => displayOf(new URLSearchParams({ cols })).columns;
is(columnsOf('timestamp,user%2Cid,event'), ['timestamp', 'user,id', 'event'], 'a name with a comma');
is(columnsOf(Array.from({ length: 3000 }, (_, i) => `c${i}`).join(',')).length, 50, 'not more than a screen can show');
is(columnsOf(',,a,a,b,'), ['a', 'b'], 'each once, none without a name');
is(columnsOf('100%,a%zz'), ['100%', 'a%zz'], 'a bare percent sign');
is([columnsOf(''), displayOf(new URLSearchParams()).columns], [null, null], 'none');

// ---- filters that are added to a query ----
const not = { exclude: true };
for (const [text, field, value, options, expected] of [
	['error', 'status', '500', {}, 'error status=500'], ['a OR b | head', 'status', '500', {}, '(a OR b) status=500 | head'],
	// What was asked for is taken back, with the AND that joined it; one of several alternatives stays.
	['status=500 AND a', 'status', '500', not, 'a NOT status=500'], ['a AND NOT status=500 AND b', 'status', '500', {}, 'a AND b status=500'], ['a AND -status=500', 'status', '500', {}, 'a status=500'],
	['status=500 OR status=502', 'status', '500', not, '(status=500 OR status=502) NOT status=500'], ['a OR NOT status=500', 'status', '500', {}, '(a OR NOT status=500) status=500'],
	// Where and when come before alternatives in brackets.
	['index=a error OR warn latest=now', 'status', '500', {}, 'index=a latest=now (error OR warn) status=500'], ['index IN (a, "b") error OR warn', 'x', 'y', {}, 'index IN (a, "b") (error OR warn) x=y'],
	// Indexes are named once, and only as those to search in.
	['index=main error', 'index', 'web', {}, 'error index=web'], ['index IN (a, b) x OR y', 'index', 'web', {}, '(x OR y) index=web'], ['index=main x OR y', 'index', 'main', {}, 'index=main x OR y'],
	['index=main error', 'index', 'main', not, 'error | where index != "main"'], ['error | stats count', 'index', 'a', not, 'error | where index != "a" | stats count'], ['', 'index', '"a b"', not, '| where index != "a b"'],
	['index IN (a', 'index', 'b', {}, 'index IN (a index=b']])
	is(addFilter(text, field, value, options), expected, `${text || 'nothing'}, ${options.exclude ? 'not ' : ''}${field}=${value}`);
is(filterState('a status=500', 'status', '500'), 'include', 'asked for');
is(filterState('a OR status=500', 'status', '500'), null, 'not by an alternative');
is(['user-agent', 'k8s.pod-name', 'a..b', 'a b', 'level', 'ctx.by', 'a.0', 'a`b'].map((one) => writeField(one, false)),
	['user-agent', 'k8s.pod-name', '`a..b`', '`a b`', 'attributes.level', 'ctx.by', 'a.0', null], 'fields in the head');
is(['user-agent', 'k8s.pod-name', '`a..b`', '`a b`', '`ctx.a b`', 'attributes.level', 'ctx.by', 'a.0'].map(writeStageField),
	['`user-agent`', 'k8s.`pod-name`', '`a..b`', '`a b`', 'ctx.`a b`', 'attributes.level', 'ctx.`by`', 'a.`0`'], '... and in stages, where a minus subtracts');
const offered = (text) => suggestions(contextAt(text, text.length), { fields: [{ name: 'user-agent', builtin: false, hint: '' }] })[0]?.insert;
is([offered('user'), offered('x | stats count by user'), offered('x | where user')], ['user-agent=', '`user-agent`', '`user-agent`'], '... as they are offered');
is(groupBy('a | head 5', 'user-agent'), 'a | stats count by `user-agent` | sort -count', '... and grouped by');
is([...'an exceptional day'.matchAll(termPattern('*cept*'))].map((one) => one[0]), ['exceptional'], 'what is marked');
is(termPattern('*a*a*a*a*b'), null, 'not what would take minutes to look for');
is(withoutTimes('earliest=-1h AND x'), 'x', 'without its range, nor the AND after it');
is(withoutTimes('x AND earliest=-1h AND y AND latest=now'), 'x AND y', 'nor the one before it');

// ---- from a row of groups to its events ----
const events = (q, row, ...names) => eventsOf(q, names.map((name) => ({ name })))?.(row) ?? null;
is([events('level=error | stats count by user', ['ann', 3], 'user', 'count'), events('a OR b | stats count, max(n) by user.id, path', [7, '/x y', 3, 4], 'user.id', 'path', 'count', 'max(n)'),
	events('a | where n > 3 | top 5 `user-agent` by host', ['h', 'Moz "x"', 3, 50], 'host', 'user-agent', 'count', 'percent'), events('user=ann | stats count by user | sort -count | head 3', ['ann', 1], 'user', 'count'),
	events('* | stats count by user', [null, 2], 'user', 'count'), events('| rare user', ['x', 1, 1], 'user', 'count', 'percent')],
	['level=error user=ann', '(a OR b) user.id=7 path="/x y"', 'a host=h `user-agent`="Moz \\"x\\"" | where n > 3', 'user=ann', '* NOT user=*', 'user=x'], 'groups lead to their events');
is([events('* | eval user=lower(u) | stats count by user', ['x', 1], 'user', 'count'), events('* | stats count', [1], 'count'), events('* | stats count by user | rename user as u', ['x', 1], 'u', 'count'),
	events('* | stats count by user | eval n=1', ['x', 1], 'user', 'count'), events('* | timechart count by user', ['2026', 'x', 1], 'timestamp', 'user', 'count'), events('* | stats count by user', [{}, 1], 'user', 'count'),
	events('* | stats count by bin(n, 5)', [5, 1], 'bin(n, 5)', 'count'), events('* | stats count by timestamp', ['x', 1], 'timestamp', 'count'), events('*', ['x'], 'event')], Array(9).fill(null), '... others do not');

// ---- places of panels ----
const panel = (x, y, w, h) => ({ layout: { x, y, w, h } });
is([freePlace([], 'timeseries'), freePlace([panel(0, 0, 12, 8)], 'table'), freePlace([panel(0, 0, 12, 8), panel(12, 0, 12, 8)], 'bar'), freePlace([panel(0, 0, 12, 8)], 'stat'), freePlace([panel(0, 0, 12, 8), panel(12, 0, 6, 4)], 'stat'),
	freePlace([panel(0, 0, 6, 4), panel(12, 0, 12, 8)], 'stat')].map(({ x, y, w, h }) => `${x} ${y} ${w} ${h}`),
	['0 0 12 8', '12 0 12 8', '0 8 12 8', '12 0 6 4', '18 0 6 4', '0 8 6 4'], 'a new panel is beside the last one, where there is room');

// ---- variables of dashboards ----
is(withValues('a=$constructor b=$x c=$y', { x: ['1'], y: ['2', '3'] }), 'a=$constructor b=1 c IN (2, 3)', 'names that are no variables stay');

console.log(`1..${count}`);
