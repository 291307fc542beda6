-- Searching: stages as people know them from other languages.
\set QUIET on
SELECT plan(52);

SELECT isnt(logsvc.create_organization('Acme', 'pro'), NULL, 'an organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;
SELECT is(logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event', 'event ' || n, 'level', CASE n % 2 WHEN 0 THEN 'info' ELSE 'error' END,
	'timestamp', now() - interval '10 minutes' + n * interval '1 second',
	'attributes', jsonb_build_object('n', n, 'bytes', n * 70, 'host', CASE WHEN n > 1 THEN 'h' || n % 3 END) || CASE WHEN n = 4 THEN '{"extra":{"a":1}}' ELSE '{}'::jsonb END))
	FROM generate_series(1, 6) n)) ->> 'accepted', '6', 'events');

CREATE FUNCTION pg_temp.rows(q text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT logsvc.search(q) #> '{data,rows}' $$;
CREATE FUNCTION pg_temp.columns(q text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg((c ->> 'name') || ':' || (c ->> 'type'), ' ' ORDER BY i) FROM jsonb_array_elements(logsvc.search(q) #> '{data,columns}') WITH ORDINALITY AS t (c, i) $$;
-- Which events: their n, in order.
CREATE FUNCTION pg_temp.ns(q text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(r #>> '{attributes,n}', ',' ORDER BY i) FROM jsonb_array_elements(pg_temp.rows(q)) WITH ORDINALITY AS t (r, i) $$;
-- An attribute of each event.
CREATE FUNCTION pg_temp.of(field text, q text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(coalesce(r #>> ARRAY['attributes', field], '-'), ',' ORDER BY i) FROM jsonb_array_elements(pg_temp.rows(q)) WITH ORDINALITY AS t (r, i) $$;
CREATE FUNCTION pg_temp.error(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE hint text;
BEGIN PERFORM logsvc.search(q); RETURN NULL;
EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT; RETURN concat_ws(' | ', SQLERRM, nullif(hint, '')); END $$;

-- ---- table ----

SELECT is(pg_temp.rows('| table n, level, event'), '[[6, "info", "event 6"], [5, "error", "event 5"], [4, "info", "event 4"], [3, "error", "event 3"], [2, "info", "event 2"], [1, "error", "event 1"]]', 'columns in the order of the list');
SELECT is(pg_temp.columns('| table timestamp n level extra.a nothing'), 'timestamp:time n:number level:string extra.a:number nothing:string', 'their types');
SELECT is(pg_temp.columns('| table _time n n'), '_time:time n:number', 'another name, and one that is named twice');
SELECT is(pg_temp.rows('| sort n | head 2 | table n, host'), '[[1, null], [2, "h2"]]', 'it keeps the order of rows');
SELECT is(pg_temp.rows('| eval x = n * 2 | table x | where x > 8 | sort x'), '[[10], [12]]', 'other stages follow');
SELECT is(pg_temp.rows('| table n, level | stats count by level | sort level'), '[["error", 3], ["info", 3]]', 'also those that group');
SELECT is(pg_temp.rows('| stats count, max(n) as m by level | table m, level, x | sort m'), '[[5, "error", null], [6, "info", null]]', 'columns of a table');
SELECT is(pg_temp.rows('| table n | eval b = n | fields - n | head 1'), '[[6]]', 'fields of it');
SELECT is(logsvc.search('| table n', "limit" => 2) #> '{data,rows}', '[[6], [5]]', 'a page');
SELECT is(pg_temp.rows('| table n ' || repeat('| where n > 0 | eval n = n + 1 ', 20) || '| head 1'), '[[26]]', 'a long chain after it');
SELECT is(pg_temp.rows('| table n, level ' || repeat('| where n > 2 | sort n ', 10) || '| head 1'), '[[3, "error"]]', 'that does not change its columns');
SELECT alike(pg_temp.error('| table n | timechart count'), 'timechart needs events, this is a table%', 'not by time');
SELECT alike(pg_temp.error('| table attributes'), 'attributes is not one field%', 'not all attributes');

-- ---- tail ----

SELECT is(pg_temp.ns('| tail 2'), '2,1', 'the last rows, in their order');
SELECT is(pg_temp.ns('| sort n | tail 3'), '4,5,6', 'of sorted ones');
SELECT is(pg_temp.ns('| head 4 | tail 2'), '4,3', 'of the first');
SELECT is(pg_temp.ns('| tail'), '6,5,4,3,2,1', '10');
SELECT is(pg_temp.rows('| stats count by n | tail 2'), '[[5, 1], [6, 1]]', 'of a table');
SELECT is(pg_temp.ns('| tail 4 | sort -bytes | tail 1'), '1', 'twice');

-- ---- bin ----

SELECT is(pg_temp.of('bytes', '| bin span=100 bytes'), '400,300,200,200,100,0', 'numbers');
SELECT is(pg_temp.of('b', '| bucket bytes span=100 as b'), '400,300,200,200,100,0', 'its other name and order, as another field');
SELECT is(pg_temp.of('bytes', '| bin span=100 bytes as b'), '420,350,280,210,140,70', 'the field stays');
SELECT is(pg_temp.rows('| bin span=1d _time | stats count by _time | eval ok = (_time = strftime(now() - 600, "%FT00:00:00.000Z")) | fields ok, count'), '[[true, 6]]', 'times');
SELECT is(pg_temp.rows('| table timestamp | bin span=1h timestamp as h | stats count by h | eval z = substr(h, 15, 9) | fields z'), '[["00:00.000"]]', 'in a table');
SELECT is(pg_temp.error('| bin bytes'), 'bin needs a span at line 1, column 7 | bin span=5m timestamp, bin span=100 bytes', 'without a span');
SELECT is(pg_temp.error('| bin span=300 timestamp'), 'the span of a time needs a unit: span=5m at line 1, column 12', 'a time without a unit');
SELECT alike(pg_temp.error('| bin span=300 _time as x'), 'the span of a time needs a unit%', 'by another name');
SELECT is(split_part(pg_temp.error('| bin span=5m span=6m bytes'), ' at', 1), 'span is given twice', 'two spans');
SELECT is(split_part(pg_temp.error('| bin span=5m bytes span=6m'), ' at', 1), 'span is given twice', 'on both sides');
SELECT alike(pg_temp.error('| bin span=0 bytes'), 'expected a number above 0, or a duration%', 'nothing');

-- ---- fillnull ----

SELECT is(pg_temp.of('host', '| fillnull value="none" host'), 'h0,h2,h1,h0,h2,none', 'a text');
SELECT is(pg_temp.of('host', '| fillnull host | where host = 0'), '0', '0 by default');
SELECT is(pg_temp.of('x', '| fillnull value=-1.5 host x | head 1'), '-1.5', 'a number, several fields');
SELECT is(pg_temp.of('host', '| fillnull value=007 host | tail 1'), '7', 'a number as JSON has it');
SELECT is(pg_temp.rows('| stats max(host) as h, count by n | where n < 3 | fillnull value=unknown | sort n'), '[[1, "unknown", 1], [2, "h2", 1]]', 'all columns of a table');
SELECT is(pg_temp.rows('| stats max(host) as h, sum(x) as s by n | where n < 2 | fillnull s'), '[[1, null, 0]]', 'one of them');
SELECT alike(pg_temp.error('| fillnull value=0'), 'name the fields to fill, because events can have any%', 'events have any fields');

-- ---- eventstats ----

SELECT is(pg_temp.of('m', '| eventstats max(n) as m'), '6,6,6,6,6,6', 'of all rows');
SELECT is(pg_temp.of('c', '| eventstats count as c by host'), '2,2,1,2,2,1', 'of a group; rows without the field are one');
SELECT is(pg_temp.ns('| eventstats avg(bytes) as a | where bytes > a'), '6,5,4', 'compared with its rows');
SELECT matches(logsvc.search('n>1 | eval half = n * 0.25 | eventstats sum(half) as s | head 1')::text, '"s": ?5[,}]', 'a sum has no zeros at its end');
SELECT is(pg_temp.of('count', '| eventstats count, dc(host) as d, p50(n) as p, values(level) as v, first(n) as f by level | where f = 6 AND d = 3 AND p = 4 AND mvcount(v) = 1'), '3,3,3', 'all aggregates');
SELECT is(pg_temp.rows('| stats count as c by level, host | eventstats sum(c) as total by level | eval share = c / total | sort share, level, host | head 2 | fields level, host, c, total'), '[["error", "h0", 1, 3], ["error", "h2", 1, 3]]', 'in a table');
SELECT is(pg_temp.of('b', '| eventstats max(n) as a | eval a = a + 1 | eventstats min(a) as b by level | where n = 3'), '7', 'twice');
SELECT is(pg_temp.ns('| sort n | eventstats count | head 2'), '1,2', 'rows keep their order');
SELECT is((SELECT count(*) FROM jsonb_array_elements(logsvc.search('| eventstats count as c | timechart span=1d max(c)') #> '{data,rows}') r WHERE r -> 1 = '6'), 1::bigint, 'then by time');
SELECT is(logsvc.search('| eventstats sum(host) as s') #>> '{meta,warnings,0,code}', 'NOT_A_NUMBER', 'its warnings');
SELECT alike(pg_temp.error(repeat('| eventstats count ', 5)), 'a query has at most 4 stages eventstats%', 'how many');
SELECT is((SELECT count(*) FROM logsvc.events('| eventstats max(n) as m | where n = m')), 1::bigint, 'as rows of SQL');
SELECT is(logsvc.explain_query('| eventstats count by host | fillnull value="x;--" host | bin span=5 n | tail 3 | table n') ~ 'x;--' AND logsvc.explain_query('| fillnull value="x;--" host') !~ 'x;--[^\n]*FROM', true, 'what the user writes is a parameter');
SELECT * FROM finish();
