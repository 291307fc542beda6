-- Lookup tables: uploads, the stage `lookup`, limits, who sees them.
\set QUIET on
SELECT plan(55);

SELECT isnt(logsvc.create_organization('Acme', 'free'), NULL, 'an organization');
SELECT isnt(logsvc.create_organization('Other', 'free'), NULL, 'another one');
SELECT logsvc.create_api_key('acme', 'read', 'read-only') ->> 'key' AS read_key,
	logsvc.create_api_key('acme', 'test', 'read-only', 'test') ->> 'key' AS test_key \gset
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;
UPDATE logsvc_internal.rate_limit SET per_minute = 1000000;
SELECT is(logsvc.ingest('[
	{"event":"one","service":"shop","attributes":{"code":7}},
	{"event":"two","service":"pay","attributes":{"code":"8","team":"from the event"}},
	{"event":"three","service":"Shop"}, {"event":"four","attributes":{"team":"own"}}]') ->> 'accepted', '4', 'events');

CREATE FUNCTION pg_temp.rows(q text) RETURNS text LANGUAGE sql AS $$
	SELECT (logsvc.search(q) #> '{data,rows}')::text $$;
CREATE FUNCTION pg_temp.upload(csv text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN logsvc.set_lookup('t', csv) ->> 'rows';
EXCEPTION WHEN SQLSTATE 'LS001' THEN
	RETURN SQLERRM;
END $$;

-- ---- uploads ----

SELECT is(logsvc.set_lookup('owners', E'service,team,"pager no"\nshop,checkout,1\npay,,2\nshop,second,3\n,nobody,4\n') - 'createdAt' - 'updatedAt',
	'{"name": "owners", "columns": ["service", "team", "pager no"], "rows": 4, "sizeBytes": 71}', 'a table');
SELECT is(logsvc.get_lookup('owners') ->> 'columns', '["service", "team", "pager no"]', 'it can be read');
SELECT is(logsvc.get_lookup('owners') ->> 'csv', E'service,team,"pager no"\nshop,checkout,1\npay,,2\nshop,second,3\n,nobody,4\n', 'as it was sent');
SELECT is((SELECT jsonb_path_query_array(to_jsonb(l), '$.data[*].name') FROM logsvc.list_lookups() l)::text, '["owners"]', 'it is in the list');
SELECT ok(NOT (to_jsonb(l) #> '{data,0}' ? 'csv'), 'without its rows') FROM logsvc.list_lookups() l;
SELECT is(pg_temp.upload(E'a,b\n1\n'), 'csv: line 2: 1 cell, but the table has 2 columns', 'a mistake has its line');
SELECT is(pg_temp.upload(''), 'csv: line 1: expected a line with the names of the columns', 'nothing');
SELECT is(pg_temp.upload(NULL), 'csv: is required', 'NULL');
SELECT is(pg_temp.upload('a' || repeat(E'\nx', 10001)), 'csv: line 10002: more than 10000 rows', 'too many rows');
SELECT is(pg_temp.upload('a' || repeat(E'\nx', 10000)), '10000', 'as many as are allowed');
SELECT is(pg_temp.upload(E'a\n' || repeat('x', 1000000)), 'csv: 1000002 bytes; at most 1000000 are allowed', 'too many bytes');
SELECT is(pg_temp.upload(E'a,"b ""x"""\n1,2\n3,' || repeat('x', 4097)), 'csv: row 2, column "b "x"": the cell has 4097 bytes; at most 4096', 'a cell that is too long');
SELECT is((logsvc.get_lookup('t') ->> 'rows')::int, 10000, 'what is refused changes nothing');
SELECT throws_ok($$ SELECT logsvc.set_lookup('My-Table', 'a') $$, 'LS001', NULL, 'a bad name');
SELECT throws_ok($$ SELECT logsvc.set_lookup(NULL, 'a') $$, 'LS001', NULL, 'no name');
SELECT throws_ok($$ SELECT logsvc.get_lookup('none') $$, 'LS301', NULL, 'none of that name');
SELECT throws_ok($$ SELECT logsvc.delete_lookup('none') $$, 'LS301', NULL, 'none to delete');
SELECT lives_ok($$ SELECT logsvc.set_lookup('third', 'a') $$, 'a third table');
SELECT throws_ok($$ SELECT logsvc.set_lookup('fourth', 'a') $$, 'LS203', NULL, 'the plan allows no fourth');
SELECT is(pg_temp.upload(E'code,meaning\n7,seven\n8,eight\n'), '2', 'but a new content');
SELECT lives_ok($$ SELECT logsvc.delete_lookup('third') $$, 'one is deleted');
SELECT is((SELECT string_agg(e.action || ' ' || e.resource, ',' ORDER BY e.id) FROM logsvc_internal.audit_entry e WHERE e.resource_type = 'lookup'),
	'lookup.created owners,lookup.created t,lookup.created third,lookup.updated t,lookup.deleted third', 'entries of the audit log');
SELECT is((SELECT count(*) FROM logsvc_internal.audit_entry e WHERE e.details::text ~ 'checkout|seven'), 0::bigint, 'which have no cells');
SELECT is(logsvc.usage() #> '{resources,lookups}', '{"used": 2, "limit": 3}', 'they are counted');

SELECT is(logsvc.set_lookup('wide', E'a\n' || repeat('x', 4096)) ->> 'rows', '1', 'a cell that is as long as is allowed');
UPDATE logsvc_internal.lookup l SET csv = E'service,note\nshop,' || repeat('x', 5000), columns = '{service,note}' WHERE l.name = 'wide';
SELECT is(length(logsvc.get_lookup('wide') ->> 'csv'), 5018, 'a table from before that limit can be read');
SELECT is(logsvc.search('service=shop | lookup wide service | eval n = len(note) | stats max(n)') #>> '{data,rows,0,0}', '5000', 'and searched');
SELECT logsvc.delete_lookup('wide');

-- ---- the stage ----

SELECT is(pg_temp.rows('| lookup owners service output team | sort event | fields event, team | eval x = concat(event, " ", team) | top x | sort x | fields x'),
	'[["four own"], ["one checkout"], ["three "], ["two from the event"]]', 'the first row of a key; an empty cell and an unknown key change nothing');
SELECT is(pg_temp.rows('| lookup owners service | stats count by team, `pager no` | where `pager no` != null | sort team'),
	'[["checkout", "1", 1], ["from the event", "2", 1]]', 'all columns');
SELECT is(pg_temp.rows('| lookup t code output meaning as m | stats count by m | sort m'), '[["eight", 1], ["seven", 1], [null, 2]]', 'numbers and texts');
SELECT is(pg_temp.rows('| stats count by service | lookup owners service OUTPUT team | where team != null'), '[["shop", 1, "checkout"]]', 'in a table');
SELECT is(pg_temp.rows('| eval s = lower(service) | lookup owners service as s output `pager no` as p | stats count by p | sort p'), '[["1", 2], ["2", 1], [null, 1]]', 'a field with another name');
SELECT is(pg_temp.rows('service=shop | lookup owners service output team | lookup owners team output `pager no` | stats max(`pager no`)'), '[[1]]', 'one after the other');
SELECT is(pg_temp.rows('| lookup owners service as nothing | stats count by `pager no`'), '[[null, 4]]', 'a missing field');
SELECT is(logsvc.search('one | lookup owners service output team | fields event, team') #> '{data,rows,0,attributes}', '{"team": "checkout"}', 'attributes of events');
SELECT throws_like($$ SELECT logsvc.search('| lookup nothing service') $$, 'there is no lookup table nothing at line 1, column 10', 'no such table');
SELECT throws_like($$ SELECT logsvc.search('| lookup owners service output tea') $$, 'the lookup table owners has no column tea; it has service, team, pager no at%', 'no such column');
SELECT throws_like($$ SELECT logsvc.search('| lookup owners user') $$, 'the lookup table owners has no column user%', 'no such key');
SELECT throws_like($$ SELECT logsvc.search(repeat('| lookup t code ', 11)) $$, 'a query has at most 10 stages lookup%', 'too many stages');
SELECT is(pg_temp.rows(repeat('| lookup t code ', 10) || '| stats count'), '[[4]]', 'as many as are allowed');
SELECT is(jsonb_array_length(logsvc.validate_query('| lookup owners service | where teem = "x"') -> 'warnings'), 0, 'fields of a table are no unknown ones');
SELECT ok(logsvc.explain_query('| lookup t code') !~ 'seven', 'a statement that is shown has no cells');

-- ---- others ----

SELECT ok(logsvc.use_token(:'read_key') IS NOT NULL, 'a read-only key');
SELECT is(pg_temp.rows('one | lookup owners service output team | stats count by team'), '[["checkout", 1]]', 'searches with them');
SELECT throws_ok($$ SELECT logsvc.get_lookup('owners') $$, 'LS201', NULL, 'but does not read them');
SELECT ok(logsvc.use_token(:'test_key') IS NOT NULL, 'a test key');
SELECT throws_like($$ SELECT logsvc.search('index=_test | lookup owners service') $$, 'there is no lookup table owners%', 'sees none');
SELECT isnt(logsvc.act_as('other'), NULL, 'another organization');
SELECT throws_like($$ SELECT logsvc.search('| lookup owners service') $$, 'there is no lookup table owners%', 'neither');
SELECT throws_ok($$ SELECT logsvc.get_lookup('owners') $$, 'LS301', NULL, 'nor reads one');
SELECT throws_ok($$ SELECT logsvc.delete_lookup('owners') $$, 'LS301', NULL, 'nor deletes one');
SELECT is((SELECT count(*) FROM logsvc_internal.lookup), 2::bigint, 'they are still there');
SELECT * FROM finish();
