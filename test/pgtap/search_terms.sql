-- Searching: terms as people know them from other languages.
\set QUIET on
SELECT plan(80);

SELECT isnt(logsvc.create_organization('Acme', 'pro'), NULL, 'an organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;
SELECT is(logsvc.ingest('[
	{"event":"one conn was refused","level":"error","attributes":{"status":500,"@version":"1","kubernetes":{"pod":"p1"}}},
	{"event":"two status:404 there","level":"warn","attributes":{"status":404,"user":"ann b"}},
	{"event":"three host:8080 x","level":"info"}]') ->> 'accepted', '3', 'events');

-- The first words of the events that are found, and the codes of warnings.
CREATE FUNCTION pg_temp.found(q text) RETURNS text LANGUAGE sql AS $$
	SELECT concat((SELECT string_agg(split_part(event, ' ', 1), ',' ORDER BY event) FROM logsvc.events(q)),
		(SELECT string_agg(' ' || (w ->> 'code'), '') FROM jsonb_array_elements(logsvc.search(q) #> '{meta,warnings}') w)) $$;
CREATE FUNCTION pg_temp.warning(q text) RETURNS text LANGUAGE sql AS $$
	SELECT logsvc.search(q) #>> '{meta,warnings,0,message}' $$;

-- ---- name:value ----

SELECT is(pg_temp.found('status:500'), 'one', 'a field of events');
SELECT is(pg_temp.found('status:4*'), 'two', 'a wildcard');
SELECT is(pg_temp.found('kubernetes.pod:p1'), 'one', 'a path');
SELECT is(pg_temp.found('NOT status:500'), 'three,two', 'excluded');
SELECT is(pg_temp.found('-status:500'), 'three,two', 'excluded with a minus');
SELECT is(pg_temp.found('status:>=500'), 'one', 'a comparison');
SELECT is(pg_temp.found('status:(500 OR 404)'), 'one,two', 'one of several');
SELECT is(pg_temp.found('user:"ann b"'), 'two', 'a text in quotes');
SELECT is(pg_temp.found('level:ERROR'), 'one', 'a field that every event has, in any case');
SELECT is(pg_temp.found('@status:500'), 'one', 'another mark of a field');
SELECT is(pg_temp.found('@version:1'), 'one', 'a field whose name begins with the mark');
SELECT is(pg_temp.found('host:8080'), 'three COLON_IN_TEXT', 'a text, where no event has the field');
SELECT is(pg_temp.warning('host:8080'), 'no event of the time range has the field host: this is searched as text', 'which is said');
SELECT is(pg_temp.found('nothing:"conn was"'), ' COLON_IN_TEXT', 'a phrase, where no event has the field');
SELECT is(pg_temp.found('_exists_:user'), 'two', 'a field is there');
SELECT is(pg_temp.found('_missing_:status'), 'three', 'a field is not there');

-- Of a part with many attributes the body has the list.
SELECT is(logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event', 'wide one', 'attributes',
	(SELECT jsonb_object_agg('wide_' || n, n) FROM generate_series(e * 100, e * 100 + 99) n))) FROM generate_series(0, 9) e)) ->> 'accepted', '10', 'events with many attributes');
SELECT is((SELECT count(*) FROM logsvc_internal.queue WHERE NOT audit AND get_byte(header, 5) & 12 <> 0), 1::bigint, 'the body has their list');
SELECT is(pg_temp.found('wide_300:300'), 'wide', 'a field of a long list');
SELECT is((SELECT count(*) FROM jsonb_array_elements(logsvc.validate_query('wide_3000=1 OR statis=1') -> 'warnings')), 2::bigint, 'names are told apart in a long list');
SELECT is(pg_temp.found('wide_3000:1'), ' COLON_IN_TEXT', 'and one that is not in it');

-- What is deleted does not depend on the names that events have.
SELECT throws_like($$ SELECT * FROM logsvc_internal.plan_deletion('index=main earliest=-1h status:500') $$, 'write status= to compare the field%', 'a deletion');
SELECT lives_ok($$ SELECT * FROM logsvc_internal.plan_deletion('index=main earliest=-1h level:error') $$, 'with a name that all events have');

-- ---- other names of fields ----

CREATE FUNCTION pg_temp.table_of(q text) RETURNS text LANGUAGE sql AS $$
	SELECT concat(r #>> '{columns,0,name}', ' ', r -> 'rows') FROM (SELECT logsvc.search(q) -> 'data') AS t (r) $$;
SELECT is(pg_temp.found('message CONTAINS "was ref"'), 'one', 'the event''s text');
SELECT is(pg_temp.found('msg=~"^two" severity=warn'), 'two', 'text and level');
SELECT is(pg_temp.found('severity:error'), 'one', 'with a colon');
SELECT is(pg_temp.found('-"wide one" @timestamp>2020-01-01T00:00:00Z _time<2099-01-01T00:00:00Z'), 'one,three,two', 'times');
SELECT is(pg_temp.found('-"wide one" NOT traceId=* NOT spanId=*'), 'one,three,two', 'of traces');
SELECT is(pg_temp.table_of('-"wide one" | stats count by severity | sort severity'), 'severity [["error", 1], ["info", 1], ["warn", 1]]', 'a column has the name that was written');
SELECT is(pg_temp.table_of('-"wide one" | where severity = "warn" AND level = severity AND message CONTAINS "two" | stats count'), 'count [[1]]', 'in expressions');
SELECT is(pg_temp.table_of('one -wide* | eval message = upper(message), n = len(msg) | stats max(message), max(n)'), 'max(message) [["ONE CONN WAS REFUSED", 20]]', 'read, then made');
SELECT is(pg_temp.table_of('-"wide one" | top severity | sort severity | head 1'), 'severity [["error", 1, 33.3333]]', 'in top');
SELECT is(pg_temp.table_of('-"wide one" | dedup severity | sort severity | stats count'), 'count [[3]]', 'in dedup and sort');
SELECT is(pg_temp.table_of('one -wide* | rename message as text | stats max(text)'), 'max(text) [["one conn was refused"]]', 'in rename');
SELECT throws_like($$ SELECT * FROM logsvc_internal.plan_deletion('index=main earliest=-1h severity:debug') $$, 'write severity= to compare the field%', 'not in a deletion');
SELECT is(logsvc.ingest('{"event":"four","attributes":{"message":"own text"}}') ->> 'accepted', '1', 'an event with such an attribute');
SELECT is(pg_temp.found('message="own text"'), 'four ATTRIBUTE_OF_THAT_NAME', 'then the name is that of the attribute');
SELECT is(pg_temp.found('msg:refused OR event:"host 8080"'), 'one,three', 'others are still aliases; a word of the text');

-- ---- others ----

SELECT is(pg_temp.found('-refused -wide* -four'), 'three,two', 'words with a minus');
SELECT is(pg_temp.found('event=~"conn.*refused"'), 'one', 'a regular expression');
SELECT is(pg_temp.found('event!~"conn.*refused" -"wide one" -four'), 'three,two', 'not one');
SELECT is(pg_temp.found('/conn.*refused/'), 'one', 'between slashes');
SELECT is(pg_temp.found('level=error,warn'), 'one,two', 'a list');
SELECT is(pg_temp.found('search level=error'), 'one', 'a command');
SELECT is(pg_temp.found('last 15m'), ' RANGE_IN_TEXT', 'a range in words');
SELECT is(pg_temp.found('earliest=1h'), ' TIME_IN_FUTURE EMPTY_RANGE', 'a range without its sign');
SELECT is(pg_temp.found('earliest=-1h latest=-2h'), ' EMPTY_RANGE', 'a range that ends before it begins');

-- ---- other languages ----

-- What an error or a warning suggests, and what that finds.
CREATE FUNCTION pg_temp.suggested(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	details text;
BEGIN
	RETURN (SELECT w ->> 'suggestion' FROM jsonb_array_elements(logsvc.search(q) #> '{meta,warnings}') w
		WHERE w ? 'suggestion' LIMIT 1);
EXCEPTION WHEN SQLSTATE 'LQ001' OR SQLSTATE 'LQ002' THEN
	GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
	RETURN details::jsonb #>> '{0,suggestion}';
END $$;
SELECT is(pg_temp.suggested('{service="none"} |= "refused" | status >= 500'), 'service="none" event CONTAINS "refused" status>=500', 'LogQL');
SELECT throws_like($$ SELECT logsvc.search('{status="500"} |= "refused"') $$,
	'this is LogQL, which is written here: status="500" event CONTAINS "refused"', 'in the message');
SELECT is(logsvc.validate_query('{status="500"}') #>> '{errors,0,suggestion}', 'status="500"', 'when a query is checked');
SELECT is(pg_temp.found(pg_temp.suggested('{user=~"ann.*"} != "refused"')), 'two', 'what it finds');
SELECT is(pg_temp.found(pg_temp.suggested('{status=~".+"} |~ "conn.*refused" | status > 400')), 'one', 'with a regular expression');
SELECT is(pg_temp.table_of(pg_temp.suggested('sum by (status) (count_over_time({status=~".+"}[1d]))') || ' | stats sum(count)'), 'sum(count) [[2]]', 'a metric');
SELECT is(pg_temp.table_of(pg_temp.suggested('rate({status=~".+"}[1d]) > 0') || ' | stats count'), 'count [[1]]', 'a rate');
SELECT is(pg_temp.found(pg_temp.suggested('status:[400 TO 499]')), 'two', 'Lucene: a range');
SELECT is(pg_temp.found(pg_temp.suggested('status:{404 TO 500] && !user:x')), 'one', 'operators');
SELECT is(pg_temp.found(pg_temp.suggested('@timestamp:[now-1h TO now] && status:4*')), 'two', 'a time');
SELECT is(pg_temp.found(pg_temp.suggested('kubernetes.pod:p? || user:"ann b"')), 'one,two', 'one character');
SELECT is(pg_temp.found(pg_temp.suggested('status >= 500 and level: "error"')), 'one', 'KQL');
SELECT is(pg_temp.found('status >= 500 and level: "error"'), ' LOWERCASE_OPERATOR', 'which finds nothing, and says so');
SELECT is(pg_temp.found('status: 500'), ' OTHER_LANGUAGE', 'a space, where the field is known');
SELECT is(pg_temp.found('three: "8080"'), 'three OTHER_LANGUAGE', 'before a text in quotes');
SELECT is(pg_temp.found('host: 8080'), 'three', 'words, where it is not');
SELECT is(pg_temp.suggested('refusd~1'), 'refusd', 'similar words');
SELECT is(logsvc.ingest('{"event":"a handler gave up","level":"error","service":"shop"}') ->> 'accepted', '1', 'an event of a service');
SELECT is(pg_temp.found('service.name:shop log.level=error'), 'a', 'names of other schemas');

-- ---- names of levels as words ----

SELECT is(pg_temp.warning('refused error'), 'error is searched as a word; level=error has 2 events', 'error');
SELECT is(pg_temp.suggested('refused Error'), 'refused level=error', 'what to search instead');
SELECT is(pg_temp.warning('warning'), 'warning is searched as a word; level=warn has 1 event', 'warning');
SELECT is(pg_temp.found('fatal') || pg_temp.found('NOT error refused') || pg_temp.found('error level=info')
	|| pg_temp.found('refused') || pg_temp.found('error latest=-1h'), ' WHOLE_WORDone WHOLE_WORDone', 'not without such events, and not for other words');

-- What is deleted must not be a guess.
SELECT throws_like($$ SELECT * FROM logsvc_internal.plan_deletion('index=main earliest=-1h level: error') $$, 'write level=... to compare the field, or a text in quotes%', 'words that may be a field');
SELECT throws_like($$ SELECT * FROM logsvc_internal.plan_deletion('index=main earliest=-1h refused and error') $$, 'and is searched as a word%', 'a word that may be an operator');
SELECT lives_ok($$ SELECT * FROM logsvc_internal.plan_deletion('index=main earliest=-1h refused AND "level: error"') $$, 'in quotes they are words');
-- ---- words inside of longer ones ----

SELECT is(logsvc.ingest(jsonb_build_array(
	jsonb_build_object('event', E'\x1b[32mINFO\x1b[0m \x1b[1mqueue\x1b[0m drained', 'service', 'mail'),
	jsonb_build_object('event', E'\u4e88\u7d04 4711 \u306e\u5ea7\u5e2d\u304c\u3042\u308a\u307e\u305b\u3093', 'service', 'seats'),
	jsonb_build_object('event', 'four queue is empty', 'service', 'seats')))
	->> 'accepted', '3', 'colours of a terminal, and a text without blanks');
SELECT is(pg_temp.warning('service=mail queue'),
	'no such event has the word queue; *queue* also finds parts of words', 'a word behind a colour');
SELECT is(pg_temp.suggested('service=mail queue'), 'service=mail *queue*', 'what finds it');
SELECT is(pg_temp.suggested(E'\u5ea7\u5e2d'), E'*\u5ea7\u5e2d*', 'a word of a Japanese sentence');
SELECT is(pg_temp.found('level=warn refused'), '', 'nothing is said of a word that is no part either');

SELECT * FROM finish();
