-- Searching: what other languages have and this one leaves out: the error says what to write.
-- Where that is SQL, it runs here.
\set QUIET on
SELECT plan(50);

SELECT isnt(logsvc.create_organization('Acme', 'pro'), NULL, 'an organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;
SELECT is(logsvc.ingest('[{"event":"one","traceId":"a","attributes":{"list":[1,2],"x":1,"ip":"10.1.2.3"}},
	{"event":"two","traceId":"a","attributes":{"x":3,"ip":"192.168.0.1"}}]') ->> 'accepted', '2', 'events');

CREATE FUNCTION pg_temp.hint(q text) RETURNS text LANGUAGE sql AS $$
	SELECT logsvc.validate_query(q) #>> '{errors,0,hint}' $$;
CREATE FUNCTION pg_temp.stage(s text, expected text) RETURNS text LANGUAGE sql AS $$
	SELECT is(concat(logsvc.validate_query('x | ' || s) #>> '{errors,0,message}', ': ', pg_temp.hint('x | ' || s)), concat('unexpected ', substring(s FROM '^\w+'), ': ', expected), s) $$;
\set together '\'write both in one search, (a OR b), or in SQL: SELECT * FROM logsvc.events(\'\'...\'\') UNION ALL SELECT * FROM logsvc.events(\'\'...\'\')\''
\set joined '\'rows of a table are joined by lookup, others in SQL: SELECT * FROM logsvc.events(\'\'...\'\') a JOIN logsvc.events(\'\'...\'\') b ON a.trace_id = b.trace_id\''
\set running '\'values of the rows before are window functions of SQL: SELECT sum(...) OVER (ORDER BY "timestamp") FROM logsvc.events(\'\'...\'\')\''

-- ---- stages ----

SELECT pg_temp.stage('join id [search y]', :joined);
SELECT pg_temp.stage('selfjoin id', :joined);
SELECT pg_temp.stage('append [search y]', :together);
SELECT pg_temp.stage('appendcols [search y]', :together);
SELECT pg_temp.stage('multisearch [search y]', :together);
SELECT pg_temp.stage('union y', :together);
SELECT pg_temp.stage('streamstats sum(x)', :running);
SELECT pg_temp.stage('accum x', :running);
SELECT pg_temp.stage('delta x', :running);
SELECT pg_temp.stage('transaction id maxpause=5m', 'write stats min(timestamp), max(timestamp), count, values(event) by id; pauses are found in SQL: lag("timestamp") OVER (PARTITION BY ... ORDER BY "timestamp") FROM logsvc.events(''...'')');
SELECT pg_temp.stage('map search="y"', 'a search for each row is a join in SQL: FROM my_rows r JOIN logsvc.logs l ON l.trace_id = r.trace_id');
SELECT pg_temp.stage('set diff [search y]', 'UNION, INTERSECT and EXCEPT are written in SQL, over SELECT ... FROM logsvc.events(''...'')');
SELECT pg_temp.stage('mvexpand list', 'elements become rows in SQL: FROM logsvc.events(''...'') e, jsonb_array_elements(e.attributes -> ''list'')');
SELECT pg_temp.stage('collect index=y', 'results are stored in SQL: INSERT INTO ... SELECT ... FROM logsvc.events(''...'')');
SELECT pg_temp.stage('makeresults', 'rows of constants are written in SQL: SELECT ... FROM logsvc.events(''...'')');
SELECT pg_temp.stage('outputcsv f', 'write the results to a file in psql: \copy (SELECT ... FROM logsvc.events(''...'')) TO ...');
SELECT pg_temp.stage('delete', 'events are deleted by logsvc.delete_logs(...) in SQL, not by a search');
SELECT pg_temp.stage('iplocation ip', 'places of addresses are joined in SQL: SELECT ... FROM logsvc.events(''...'')');
SELECT pg_temp.stage('predict x', 'forecasts are made outside: timechart gives the series');
SELECT pg_temp.stage('chart count by a', 'write stats ... by a, b, or timechart for a chart over time');
SELECT pg_temp.stage('tstats count', 'write stats: it reads only the columns that it names');
SELECT pg_temp.stage('regex x="y"', 'write where field MATCHES "..."');
SELECT pg_temp.stage('makemv x', 'write eval a = split(a, ",")');
SELECT pg_temp.stage('rangemap field=x', 'write eval range = case(a < 10, "low", true(), "high")');
SELECT pg_temp.stage('addtotals', 'write eval total = a + b, or eventstats sum(a) as total');
SELECT pg_temp.stage('reverse', 'write sort timestamp, or sort with the other direction');
SELECT pg_temp.stage('foreach *', 'write eval for each field');
SELECT is(pg_temp.hint('x [search y]'), 'a search inside of a search is written in SQL: ... IN (SELECT ... FROM logsvc.events(''...''))', 'a search inside of a search');
SELECT throws_like($$ SELECT logsvc.search('x | join id') $$, 'unexpected join at line 1, column 5', 'a search says so, too');

-- ---- functions and aggregates ----

SELECT is(pg_temp.hint('| eval a = relative_time(now(), "-1h")'), 'write now() - 3600 for an hour ago, or earliest=-1h in the head', 'relative_time');
SELECT is(pg_temp.hint('| where cidrmatch("10.0.0.0/8", ip)'), 'write match(ip, "^10[.]"), or ip::inet << ''10.0.0.0/8'' in SQL', 'cidrmatch');
SELECT is(pg_temp.hint('| eval a = md5(b)'), 'md5 is a function of SQL: SELECT ... FROM logsvc.events(''...'')', 'md5');
SELECT is(pg_temp.hint('| eval a = ifnull(b, 1)'), 'did you mean coalesce?', 'ifnull');
SELECT is(pg_temp.hint('| eval a = nvl(b, 1)'), 'did you mean coalesce?', 'nvl');
SELECT is(pg_temp.hint('| stats count by a | having count > 1'), 'did you mean where?', 'having');
SELECT is(pg_temp.hint('| eval a = nullif(b, 1)'), 'write if(a = b, null, a)', 'nullif');
SELECT is(pg_temp.hint('| stats stdev(x)'), 'standard deviations are made in SQL: SELECT stddev(...) FROM logsvc.events(''...'')', 'stdev');
SELECT is(pg_temp.hint('| stats median(x)'), 'the median is p50', 'median');
SELECT is(pg_temp.hint('| stats mode(x)'), 'write top 1 a', 'mode');

-- ---- what the errors say is right ----

SELECT is((SELECT count(*) FROM logsvc.events('one') a JOIN logsvc.events('two') b ON a.trace_id = b.trace_id), 1::bigint, 'a join');
SELECT is((SELECT count(*) FROM (SELECT * FROM logsvc.events('one') UNION ALL SELECT * FROM logsvc.events('two')) t), 2::bigint, 'two searches');
SELECT is((SELECT array_agg(s) FROM (SELECT sum((attributes ->> 'x')::int) OVER (ORDER BY "timestamp", event) AS s FROM logsvc.events('*') ORDER BY "timestamp", event) t), '{1,4}', 'a running sum');
SELECT is((SELECT count(lag) FROM (SELECT lag("timestamp") OVER (PARTITION BY trace_id ORDER BY "timestamp") FROM logsvc.events('*')) t), 1::bigint, 'pauses');
SELECT is((SELECT count(*) FROM (VALUES ('a')) AS r (trace_id) JOIN logsvc.logs l ON l.trace_id = r.trace_id), 2::bigint, 'a search for each row');
SELECT is((SELECT count(*) FROM logsvc.events('*') e, jsonb_array_elements(e.attributes -> 'list')), 2::bigint, 'elements');
SELECT is((SELECT count(*) FROM logsvc.events('*') WHERE (attributes ->> 'ip')::inet << '10.0.0.0/8'), 1::bigint, 'addresses');
SELECT is((SELECT round(stddev((attributes ->> 'x')::float8)::numeric, 4) FROM logsvc.events('*')), 1.4142, 'a standard deviation');
SELECT is(logsvc.search('| stats min(timestamp), max(timestamp), count, values(event) by trace_id') #> '{data,rows,0,4}', '["one", "two"]', 'a transaction');
SELECT * FROM finish();
