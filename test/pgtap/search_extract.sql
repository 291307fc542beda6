-- Searching: fields in texts: json, spath, logfmt, kv.
\set QUIET on
SELECT plan(62);

SELECT isnt(logsvc.create_organization('Acme', 'pro'), NULL, 'an organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;
CREATE FUNCTION pg_temp.send(n int, event text, attributes jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
	SELECT logsvc.ingest(jsonb_build_object('event', event, 'level', 'info', 'attributes', attributes || jsonb_build_object('n', n))) ->> 'accepted' $$;
SELECT is(pg_temp.send(1, '{"level":"error","msg":"no","user":{"id":7,"name":"ann"},"tags":["a","b"],"status":500,"service":"cart","id":"x","ms":1.50,"user.zip":"12"}'), '1', 'JSON');
SELECT is(pg_temp.send(2, '{"level":"warn","user":{"id":8},"status":404,"items":[{"sku":"A","q":2},{"sku":"B"}]}', '{"status":1,"keep":"me","user":{"id":1,"role":"r"}}'), '1', 'JSON with attributes');
SELECT is(pg_temp.send(3, 'plain words', '{"status":3,"payload":"{\"p\":{\"q\":9},\"status\":33}"}'), '1', 'a text, with JSON in an attribute');
SELECT is(pg_temp.send(4, 'level=debug msg="two words" status=204 took=12ms'), '1', 'logfmt');
SELECT is(pg_temp.send(5, 'request user=bob, code=7; path=/a (retry=true)'), '1', 'pairs');

CREATE FUNCTION pg_temp.rows(q text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT logsvc.search(q) #> '{data,rows}' $$;
CREATE FUNCTION pg_temp.ns(q text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(r #>> '{attributes,n}', ',' ORDER BY r #>> '{attributes,n}') FROM jsonb_array_elements(pg_temp.rows(q)) r $$;
CREATE FUNCTION pg_temp.attributes(q text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT pg_temp.rows(q) #> '{0,attributes}' $$;
CREATE FUNCTION pg_temp.warnings(q text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(w ->> 'message', '; ') FROM jsonb_array_elements(logsvc.search(q) #> '{meta,warnings}') w $$;

-- ---- json ----

SELECT is(pg_temp.attributes('n=1 | json'), '{"n":1,"id":"x","ms":1.50,"msg":"no","tags":["a","b"],"user":{"id":7,"name":"ann"},"status":500,"user.zip":"12"}', 'all members are attributes');
SELECT is(pg_temp.rows('n=1 | json') #>> '{0,level}', 'error', 'level is the level of the event');
SELECT is(pg_temp.rows('n=1 | json') #>> '{0,service}', 'cart', 'also where the event had none');
SELECT isnt(pg_temp.rows('n=1 | json') #>> '{0,id}', 'x', 'the id stays');
SELECT is(pg_temp.attributes('n=2 | json'), '{"n":2,"keep":"me","user":{"id":8},"items":[{"sku":"A","q":2},{"sku":"B"}],"status":404}', 'they replace attributes of the event');
SELECT is(pg_temp.attributes('n=3 | json')->>'status', '3', 'a text that is not JSON changes nothing');
SELECT is(pg_temp.ns('| json | where status >= 400'), '1,2', 'a condition');
SELECT is(pg_temp.ns('| json | where level = "error" OR level = "warn"'), '1,2', 'on the level');
SELECT is(pg_temp.ns('| json | where user.id > 6 AND isnull(user.role)'), '1,2', 'inside an object');
SELECT is(pg_temp.ns('| json | where user.zip = 12'), '1', 'a name with a dot');
SELECT is(pg_temp.ns('| json | where user.id = 7 | head'), '1', 'the others are looked up as before');
SELECT is(pg_temp.attributes('n=1 | json | where user.id = 7') -> 'user', '{"id":7,"name":"ann"}', 'an object that is looked into stays whole');
SELECT is(pg_temp.rows('n<3 | json | stats sum(status), values(level), max(user.id)'), '[[904, ["error", "warn"], 8]]', 'aggregates');
SELECT is(pg_temp.rows('n<3 | json | sort -status | table n, status, user.name, items'), '[[1, 500, "ann", null], [2, 404, null, [{"sku":"A","q":2},{"sku":"B"}]]]', 'columns');
SELECT is(pg_temp.attributes('n=1 | json | fields status, user.id'), '{"status":500,"user.id":7}', 'fields');
SELECT is(pg_temp.attributes('n=1 | json | fields - status, msg, user.name, tags, attributes.id'), '{"n":1,"ms":1.50,"user":{"id":7},"user.zip":"12"}', 'all but these');
SELECT is(pg_temp.attributes('n=1 | json | fields - attributes'), NULL, 'no attributes');
SELECT is(pg_temp.attributes('n=1 | json | eval status = status + 1, user = "x" | fields status, user, user.id'), '{"user":"x","status":501}', 'made from them');
SELECT is(pg_temp.attributes('n=1 | json | rename status as code | fields - user, tags'), '{"n":1,"id":"x","ms":1.50,"msg":"no","code":500,"user.zip":"12"}', 'renamed');
SELECT is(pg_temp.attributes('n=2 | eval status = 0, x = 1 | fields - keep | json') - 'items', '{"n":2,"x":1,"user":{"id":8},"status":404}', 'they replace what a stage made before');
SELECT is(pg_temp.attributes('n=2 | fields status, event | json') - 'items', '{"user":{"id":8},"status":404}', 'after fields');
SELECT is(pg_temp.attributes('n=3 | json field=payload | json field=p') - 'payload', '{"n":3,"p":{"q":9},"q":9,"status":33}', 'JSON in a field, then in what was found');
SELECT is(pg_temp.attributes('n=1 | json | dedup status | sort status | eval a = 1 | head 1') -> 'ms', '1.50', 'after other stages');
SELECT is(pg_temp.rows('n=1 | json ' || repeat('| eval x = 1 | where x = 1 | sort n ', 20)) #>> '{0,attributes,msg}', 'no', 'after many stages');
SELECT is(pg_temp.warnings('n=3 | json'), 'json found JSON in none of 1 texts', 'no JSON at all');
SELECT is(pg_temp.warnings('| json'), NULL, 'some JSON');
SELECT is((SELECT attributes ->> 'status' FROM logsvc.events('n=1 | json')), '500', 'as rows of SQL');
SELECT throws_like($$ SELECT logsvc.search('| stats count by event | json field=event') $$, 'a table has the columns that it has%', 'a table');
SELECT is(pg_temp.rows('n=1 | stats values(event) as v | eval e = mvindex(v, 0) | spath input=e path=user.name | fields `user.name`'), '[["ann"]]', 'with a path in a table');
SELECT is(pg_temp.ns('| spath | where _raw CONTAINS "plain"'), '3', 'other names of the text');

SELECT is(logsvc.set_lookup('owners', E'status,owner\n500,carol\n') IS NULL, false, 'a lookup table');
SELECT is(pg_temp.attributes('n=1 | json | lookup owners status | where status = 500') ->> 'owner', 'carol', 'is joined with what was found');

SELECT is(logsvc.set_lookup('words', E'status,msg\n404,missing\n') IS NULL, false, 'a table with a column that texts have');
SELECT is(pg_temp.attributes('n=1 | json | lookup words status') ->> 'msg', 'no', 'a field of the text stays where the table has no row');
SELECT is(pg_temp.attributes('n=2 | json | lookup words status') ->> 'msg', 'missing', 'and is replaced where it has one');

-- ---- paths ----

SELECT is(pg_temp.attributes('n=2 | spath input=event path=user.id output=x') ->> 'x', '8', 'a path');
SELECT is(pg_temp.attributes('n=2 | spath path="items{}.sku"') -> 'items{}.sku', '["A", "B"]', 'of all elements');
SELECT is(pg_temp.attributes('n=2 | spath "items{0}.q" output=q | where q = 2') -> 'q', '2', 'of the first');
SELECT is(pg_temp.ns('| spath status | where status = 404 OR status = 3'), '2,3', 'where a text has no such path the field stays');
SELECT is(pg_temp.rows('n=1 | spath level') #>> '{0,level}', 'error', 'a field of every event');
SELECT is(pg_temp.warnings('n>2 | spath path=a.b'), 'json found JSON in none of 3 texts', 'no JSON at all');

-- ---- logfmt and kv ----

SELECT is(pg_temp.rows('n=4 | logfmt') #>> '{0,level}', 'debug', 'logfmt');
SELECT is(pg_temp.attributes('n=4 | logfmt'), '{"n":4,"msg":"two words","took":"12ms","status":"204"}', 'its fields');
SELECT is(pg_temp.ns('| logfmt | where status < 300 AND status > 100'), '4', 'numbers in texts');
SELECT is(pg_temp.attributes('n=5 | kv'), '{"n":5,"code":"7","path":"/a","user":"bob","retry":"true"}', 'pairs');
SELECT is(pg_temp.attributes('n=5 | eval t = "a:1|b:2" | extract field=t pairdelim="|" kvdelim=":"') - 't', '{"a":"1","b":"2","n":5}', 'with delimiters');
SELECT is(pg_temp.warnings('n=3 | kv'), 'kv found name=value in none of 1 texts', 'no pairs at all');
SELECT is(pg_temp.attributes('n=5 | json | logfmt | kv | where code = 7') ->> 'user', 'bob', 'all of them');

-- ---- hostile texts ----

SELECT is(pg_temp.send(10, '{"a":"\u0000\ud800","b":' || repeat('[', 40) || repeat(']', 40) || ',"' || repeat('k', 200) || '":1,"a":2,"level":5,"attributes":1,"__proto__":{},"*":3,"-n":4,".x":5}'), '1', 'odd JSON');
SELECT is(pg_temp.attributes('n=10 | json') - 'b' - repeat('k', 200), '{"n":10,"a":2,"level":5,"attributes":1,"__proto__":{},"*":3,"-n":4,".x":5}', 'is read');
SELECT is((SELECT string_agg(pg_temp.send(11, e), '') FROM (VALUES ('{"a":' || repeat('[', 60) || repeat(']', 60) || '}'), ('{"a":1e999999}'),
	((SELECT json_object_agg('k' || i, i)::text FROM generate_series(1, 10000) i)), ('{"a":' || repeat('[', 100000))) AS t (e)), '1111', 'deep JSON, a large number, 10,000 members');
SELECT is(pg_temp.warnings('n=11 | json'), 'json reads at most 1000 fields, 1 MB and 50 levels of a text: 4 texts were not read', 'is not read, which is said');
SELECT is(pg_temp.warnings('n=11 | eval x = "' || (SELECT string_agg('a' || i || '=1', ' ') FROM generate_series(1, 1100) i) || '" | kv field=x'), 'kv reads at most 1000 fields, 1 MB and 50 levels of a text: 4 texts were not read', 'many pairs');
SELECT is(pg_temp.warnings(format('n=1 | eval x = "%s", y = "%s" | kv field=x | kv field=y', (SELECT string_agg('a' || i || '=1', ' ') FROM generate_series(1, 600) i), (SELECT string_agg('b' || i || '=1', ' ') FROM generate_series(1, 600) i))),
	'kv reads at most 1000 fields, 1 MB and 50 levels of a text: 1 text was not read', 'too many in two steps');
SELECT is(logsvc.explain_query('| json path="x;--" output=`y;--`') ~ 'x;--', true, 'what the user writes');
SELECT is(split_part(logsvc.explain_query('| json path="x;--" output=`y;--` | where `y;--` = 1'), E'\n--', 1) ~ ';--', false, 'is in parameters only');
SELECT * FROM finish();
