# spilled_rows.pl: more rows than work_mem holds, from the view logsvc.logs and from every
# function that returns rows; scans of the view that end early, are read again, fail in the middle,
# go on behind a rollback, or whose session becomes another meanwhile.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $rows = 18000;
my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '10ms'",
	'logsvc.compactors = 0',
	'restart_after_crash = on', "work_mem = '64kB'", "logsvc.model_region = 'eu-central-1'");
my $org = $t->organization('acme');
my $other = $t->organization('globex');
$t->sql(q{CREATE ROLE app LOGIN; GRANT logsvc_tenant TO app; GRANT TEMP ON DATABASE postgres TO app;
	CREATE ROLE hasty LOGIN; GRANT logsvc_tenant TO hasty; ALTER ROLE hasty SET logsvc.search_rows = 4});

# Six days of 3,000 events; what is stored of one is a part or more, none with more than these.
$t->sql("SELECT logsvc.act_as('acme'); SELECT logsvc.ingest(jsonb_agg(jsonb_build_object(
	'event', format('request %s of user%s took %s ms', n, n % 7, n % 900), 'level', (ARRAY['info', 'warn', 'error'])[n % 3 + 1],
	'source', 'web' || n % 5, 'timestamp', now() - (n / 3000) * interval '1 day',
	'attributes', jsonb_build_object('n', n, 'customer', 'c' || n % 2500, 'text', repeat('x', n % 100)))))
	FROM generate_series(0, $rows - 1) n GROUP BY n / 3000");
$t->sql("SELECT logsvc.act_as('globex'); SELECT logsvc.log('foreign')");
# Many attributes, and many of them in each part.
$t->sql("SELECT logsvc.act_as('globex'); SELECT logsvc.ingest(jsonb_agg(jsonb_build_object('event', 'wide ' || e, 'index', 'main',
	'attributes', (SELECT jsonb_object_agg('attribute_of_event_' || e || '_' || repeat('y', 20) || '_' || a, a) FROM generate_series(1, 100) a))))
	FROM generate_series(1, 30) e");
ok(wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }), 'events are stored');

# ---- the view ----

my $crashes = $t->log_position;
my $use = "SELECT logsvc.use_token('$org->{read_key}') \\gset _\n";
sub app { my ($sql, %opt) = @_; return $t->sql($use . $sql, user => 'app', %opt); }
sub app_error { my ($sql, %opt) = @_; return $t->sql_error($use . $sql, user => 'app', %opt); }
is(app('SHOW work_mem'), '64kB', 'little memory');
is(app(q{SELECT sum(n), max(source) FROM (SELECT source, count(*) AS n FROM logsvc.logs WHERE }
	. q{"timestamp" > now() - interval '2 day' GROUP BY source) g}),
	'6000|web4', 'the line of the README');
is(app('SELECT count(*), count(DISTINCT id), count(DISTINCT event), sum(length(attributes ->> '
	. '\'text\')) FROM logsvc.logs'),
	"$rows|$rows|$rows|" . (180 * 4950), 'all columns');
is(app('SELECT count(l::text) FROM logsvc.logs l'), $rows, 'whole rows');
is(app('CREATE TEMP TABLE copy AS SELECT * FROM logsvc.logs; SELECT count(*) FROM copy JOIN '
	. 'logsvc.logs USING (id, event, attributes)'),
	$rows, 'a table of them, joined with them');
is(app('SELECT DISTINCT current_user::text FROM logsvc.logs'), 'app', 'whoever the search runs as');
is(app("SELECT count(*) FROM logsvc.logs a JOIN logsvc.logs b ON b.id = a.id AND b.source = "
	. "'web1'"), $rows / 5, 'two scans at a time');

# Read again: rows that are kept, and a search that begins again.
my $loops = 'SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; SET '
	. 'enable_memoize = off;';
is(app("$loops SELECT count(*), count(DISTINCT l.id) FROM generate_series(1, 3) g LEFT JOIN "
	. "logsvc.logs l ON l.id IS NOT NULL"),
	3 * $rows . "|$rows", 'three times');
is(app("$loops SELECT string_agg(n::text, ',') FROM generate_series(1, 3) g, LATERAL "
	. "(SELECT count(*) + 0 * g AS n FROM logsvc.logs l WHERE l.source = 'web' || g) x"),
	join(',', ($rows / 5) x 3), 'with other values');
is(app("SELECT count(DISTINCT x.id) FROM generate_series(1, 20) g, LATERAL (SELECT id FROM "
	. "logsvc.logs l WHERE (l.attributes ->> 'n')::int % 3000 = g * 140 LIMIT 1) x"),
	20, 'each time until a row is found');
is(app("SELECT count(*) FROM generate_series(1, 3) g WHERE EXISTS (SELECT FROM logsvc.logs l WHERE "
	. "l.event LIKE 'request ' || g || ' of %')"),
	3, '... in a subplan');
is(app("BEGIN; DECLARE c SCROLL CURSOR FOR SELECT id FROM logsvc.logs; MOVE 5000 FROM c; MOVE "
	. "BACKWARD 4000 FROM c; MOVE ALL FROM c; MOVE BACKWARD ALL FROM c;"
	  . ' CREATE TEMP TABLE first (id text); COMMIT; SELECT count(*) FROM logsvc.logs'),
	  $rows, 'backwards');

# LIMIT: rows of all parts are more than this role may scan.
is($t->sql("${use}SELECT count(*) FROM (SELECT id FROM logsvc.logs LIMIT 10) l", user => 'hasty'),
	10, 'a LIMIT ends the scan early');
is($t->sql("${use}SELECT count(*) FROM "
	. "(SELECT id FROM logsvc.logs WHERE event LIKE '% of user%' LIMIT 1000) l", user => 'hasty'),
		1000,
	'... of rows that the server has still to check');
is($t->sql("${use}SELECT EXISTS (SELECT FROM logsvc.logs)", user => 'hasty'), 't',
	'the first row is enough');
is(($t->sql_error("${use}SELECT count(*) FROM logsvc.logs", user => 'hasty'))[1], 'LQ103',
	'all of them are too many');

# Errors in the middle: of the statement, and of the search.
is(app(q{DO $$
	DECLARE r record; n int := 0; m int := 0;
	BEGIN
		BEGIN
			FOR r IN SELECT 1 / (5000 - (attributes ->> 'n')::int) FROM logsvc.logs LOOP n := n + 1; END LOOP;
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
		FOR r IN SELECT id FROM logsvc.logs LOOP
			n := n + 1;
			BEGIN
				PERFORM id FROM logsvc.logs WHERE source = 'web1' LIMIT 1;
				RAISE 'again';
			EXCEPTION WHEN raise_exception THEN m := m + 1;
			END;
			EXIT WHEN m = 30;
		END LOOP;
		ASSERT m = 30 AND current_user = 'app' AND n >= 30;
		ASSERT (SELECT count(*) FROM logsvc.logs) = 18000;
	END $$;
	SELECT current_user || current_setting('search_path') || current_setting('jit')}), 'app"$user", publicon', 'errors in the middle');
is($t->sql($use . q{SET search_path = public; DO $$
	DECLARE c CURSOR FOR SELECT id FROM logsvc.logs; r record; n int := 0; state text;
	BEGIN
		FOR i IN 1 .. 3 LOOP
			BEGIN
				FOR r IN c LOOP n := n + 1; END LOOP;
			EXCEPTION WHEN OTHERS THEN state := SQLSTATE;
			END;
			ASSERT state = 'LQ103' AND current_user = 'hasty' AND current_setting('search_path') = 'public', state;
		END LOOP;
		ASSERT n > 0, n;
	END $$;
	SELECT (logsvc.search('* earliest=-1h | stats count') #>> '{data,rows,0,0}')::int > 0}, user => 'hasty'), 't',
	'the search fails in the middle, and is not in the way of the next');

# Cursors outlive the subtransaction in which they were read.
is(app(q{BEGIN; DECLARE c CURSOR FOR SELECT id FROM logsvc.logs; CREATE TEMP TABLE seen (id text);
	CREATE FUNCTION pg_temp.take(n int) RETURNS void LANGUAGE plpgsql AS $$
		DECLARE c refcursor := 'c'; row text;
		BEGIN
			FOR i IN 1 .. n LOOP FETCH c INTO row; EXIT WHEN NOT FOUND; INSERT INTO seen VALUES (row); END LOOP;
		END $$;
	SAVEPOINT s; MOVE 20 FROM c; ROLLBACK TO s; SELECT pg_temp.take(2000) \gset _
	SAVEPOINT s; MOVE 100 FROM c; ROLLBACK TO s; SELECT pg_temp.take(1000000) \gset _
	SELECT count(*), count(DISTINCT id) FROM seen; COMMIT}), join('|', ($rows - 120) x 2), 'a cursor and rollbacks');
is(app(q{BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT id FROM logsvc.logs; MOVE 10 FROM c; COMMIT; CREATE TEMP TABLE held (id text);
	DO $$ DECLARE c refcursor := 'c'; row text; n int := 0;
		BEGIN LOOP FETCH c INTO row; EXIT WHEN NOT FOUND; n := n + 1; END LOOP; INSERT INTO held VALUES (n); END $$;
	CLOSE c; SELECT id FROM held}), $rows - 10, 'a cursor that is held');
is(app(q{BEGIN; DECLARE a CURSOR FOR SELECT id FROM logsvc.logs; DECLARE b CURSOR FOR SELECT event FROM logsvc.logs; MOVE 1000 FROM a; MOVE 1000 FROM b;
	MOVE 5000 FROM a; CLOSE a; MOVE 5000 FROM b; SELECT count(*) FROM logsvc.logs; ROLLBACK}), $rows, 'two cursors in turn');
is(app(q{CREATE FUNCTION pg_temp.f() RETURNS SETOF text LANGUAGE sql AS 'SELECT id FROM logsvc.logs';
	SELECT count(*) FROM (SELECT pg_temp.f() LIMIT 3000) f}), 3000, 'a function of SQL that is asked for row after row');

# A scan sees what its snapshot sees, however late its rows are asked for.
$t->sql("SELECT logsvc.act_as('globex'); SELECT "
	. "logsvc.ingest(jsonb_agg(jsonb_build_object('event', 'before', 'source', 'snapshot'))) FROM "
		. "generate_series(1, 3000)");
ok(wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }),
	'more events are stored');
is($t->sql(qq{SELECT logsvc.use_token('$other->{full_key}') \\gset _
	BEGIN; DECLARE c CURSOR FOR SELECT id FROM logsvc.logs WHERE source = 'snapshot'; MOVE 10 FROM c;
	SELECT logsvc.log('later', source => 'snapshot') \\gset _
	CREATE TEMP TABLE taken (n int);
	DO \$\$ DECLARE c refcursor := 'c'; row text; n int := 0;
		BEGIN LOOP FETCH c INTO row; EXIT WHEN NOT FOUND; n := n + 1; END LOOP; INSERT INTO taken VALUES (n); END \$\$;
	SELECT n FROM taken; COMMIT}, user => 'app'), 2990, 'no event that came later');

# Who asks must stay who it is, and may read.
sub becomes
{
	my ($token) = @_;
	return (app_error("SELECT id, CASE WHEN random() < 2 THEN logsvc.use_token($token) END FROM "
		. "logsvc.logs"))[1];
}
is(becomes("'$other->{read_key}'"), '55000', 'another credential in the middle');
is(becomes('NULL'), 'LS802', 'no credential');
is(becomes("'$org->{ingest_key}'"), 'LS201', 'a key that may not read');
is((app_error("BEGIN; DECLARE c CURSOR FOR SELECT event FROM logsvc.logs; MOVE 10 FROM c; SELECT "
	. "logsvc.use_token('$other->{full_key}'); MOVE ALL FROM c"))[1],
	'34000', 'a cursor is closed with another credential');

# ---- every function that returns rows ----

my %sets = (
	events => sub
		{ is(app("SELECT count(*), count(DISTINCT id), count(attributes) FROM "
			. "logsvc.events('earliest=-30d')"), "$rows|$rows|$rows", 'events');
		is(app("SELECT count(*) FROM (SELECT (logsvc.events('earliest=-30d')).* LIMIT 5000) e"),
			5000, '... in a list of targets') },
	patterns => sub
		{ is(app(q{SELECT count(*) FROM logsvc.patterns(ARRAY(SELECT repeat(translate(md5((n / 2)::text), '0123456789', 'ghijklmnop') || ' ', 1 + n / 2 % 40) FROM generate_series(2, 1601) n),
		'{"maxTemplates": 500}')}), 500, 'patterns') },
	pattern_of => sub
		{ is(app("SELECT count(*), count(template_id), max(row_number) FROM "
			. "logsvc.pattern_of(ARRAY(SELECT 'row ' || n FROM generate_series(1, 10000) n))"),
		'10000|10000|10000', 'pattern_of') },
	evaluate => sub { is($t->sql(qq{SELECT logsvc.use_token('$org->{token}') \\gset _
		SELECT count(*), bool_and(length(explanation) > 0) FROM logsvc.evaluate(ARRAY(SELECT 'health check ' || n || ' answered 200' FROM generate_series(1, 200) n), 'Was it healthy?',
		(SELECT jsonb_agg(jsonb_build_object('id', 'i' || n || repeat('x', 90), 'description', 'health check ' || n || ' answered 200')) FROM generate_series(1, 200) n))}, user => 'app'), '200|t', 'evaluate') },
	verify_parts => sub { is($t->sql('SELECT count(*) FROM logsvc.verify_parts()'), 0,
		'verify_parts');
		$t->sql("UPDATE logsvc_internal.part SET rows = rows + 1");
		is($t->sql('SELECT count(*) > 0 FROM logsvc.verify_parts()'), 't', '... finds all of them');
		$t->sql("UPDATE logsvc_internal.part SET rows = rows - 1") },
	part_scan => sub
		{ is($t->sql(q{SELECT count(*), count(DISTINCT r.event), count(DISTINCT r.values), count(DISTINCT (p.id, r.row)) FROM logsvc_internal.part p JOIN logsvc_internal.organization o ON o.id = organization_id AND slug = 'acme',
		LATERAL logsvc_internal.part_scan(p.id, header, body, index_name,
			jsonb_populate_record(NULL::logsvc_internal.scan,
			'{"from_time": "0002-01-01", "to_time": "9999-01-01", "fields": ["event", ".n"], "want_event": true, "descending": true}')) r WHERE index_name = 'main'}), join('|', ($rows) x 4), 'part_scan') },
	part_events => sub
		{ is($t->sql(q{SELECT count(*), count(DISTINCT e.event) FROM logsvc_internal.part p JOIN logsvc_internal.organization o ON o.id = organization_id AND slug = 'acme',
		LATERAL logsvc_internal.part_events(p.id, header, body, index_name, ARRAY(SELECT generate_series(0, p.rows - 1)), NULL, NULL) e WHERE index_name = 'main'}),
		"$rows|$rows", 'part_events') },
	# What is in a header is never more than fits; longer lists are in the body, and callers leave
	# those parts out.
	part_fields => sub
		{ is($t->sql(q{SELECT string_agg(DISTINCT f.name || ' ' || f.type, ',' ORDER BY f.name || ' ' || f.type) FROM logsvc_internal.part p JOIN logsvc_internal.organization o ON o.id = organization_id AND slug = 'acme',
		LATERAL logsvc_internal.part_fields(p.id, header, body) f WHERE index_name = 'main'}), 'customer string,n number,source builtin,text string', 'part_fields');
		is($t->sql("SELECT logsvc.act_as('globex') \\gset _\nSELECT "
			. "jsonb_array_length(logsvc.search_fields() -> 'data') > 100"), 't',
				'fields of events with many') },
	group_rows => sub
		{ is($t->sql(q{SELECT count(*), sum(r.count), count(DISTINCT r.keys) FROM (SELECT logsvc_internal.group_parts(p.id, header, body, index_name, NULL, '0002-01-01', '9999-01-01', '{.n}', NULL, '{"sum 0 .n"}', NULL, NULL, NULL) AS groups
		FROM logsvc_internal.part p JOIN logsvc_internal.organization o ON o.id = organization_id AND slug = 'acme' WHERE index_name = 'main') g, logsvc_internal.group_rows(groups) r}),
		join('|', ($rows) x 3), 'group_rows') },
	debug_part_events => sub {
		$t->sql(q{CREATE FUNCTION public.debug_part_events(header bytea, body bytea) RETURNS TABLE }
			. q{(id text, event text) LANGUAGE C AS '$libdir/logsvc', 'logsvc_debug_part_events'});
		is($t->sql(q{SELECT count(*), count(DISTINCT e.event) FROM logsvc_internal.part p JOIN }
			. q{logsvc_internal.organization o ON o.id = organization_id AND slug = 'acme', }
				. q{LATERAL public.debug_part_events(header, body) e WHERE index_name = 'main'}),
			"$rows|$rows", 'debug_part_events') },
	permissions => sub
		{ is($t->sql('SELECT count(*) > 10, count(DISTINCT permission) = count(*) FROM '
			. 'logsvc_internal.permissions()'), 't|t', 'permissions') },
	scopes => sub { is($t->sql('SELECT count(*) FROM (SELECT logsvc_internal.scopes()) s'),
		scalar(@{ [ $t->scopes ] }), 'scopes') },
	take_mails => sub
		{ is($t->sql(q{BEGIN; INSERT INTO logsvc_internal.outbox SELECT (jsonb_populate_record(NULL::logsvc_internal.outbox, jsonb_build_object('id', gen_random_uuid(), 'state', 'waiting',
		'recipient', n || '@example.org', 'template', 'invitation', 'subject', 'x', 'body_text', repeat('x', 100), 'body_html', 'x', 'attempts', 0, 'created_at', now(), 'next_attempt_at', now()))).*
		FROM generate_series(1, 2000) n; SELECT count(*) FROM logsvc_internal.take_mails(2000); ROLLBACK}), 2000, 'take_mails') },
	flat_attributes => sub
		{ is($t->sql(q{SELECT count(*) FROM logsvc_internal.flat_attributes((SELECT }
			. q{jsonb_object_agg('k' || n, n) FROM generate_series(1, 20000) n))}), 20000,
				'flat_attributes') },
	# At most 256 rows; day_filters.pl reads those of a filter.
	day_filter_parts => sub { is($t->sql(q{SELECT count(*) FROM logsvc_internal.day_filter_parts('\x01')}), 0,
		'day_filter_parts') },
	find_ip_allowlist => sub
		{ is($t->sql("SELECT count(*) FROM logsvc_internal.find_ip_allowlist((SELECT id FROM "
			. "logsvc_internal.organization WHERE slug = 'acme'))"), 0, 'find_ip_allowlist') },
	run_scheduled => sub
		{ is($t->sql('BEGIN; SELECT count(*) FROM logsvc_internal.run_scheduled(); ROLLBACK')
			=~ /^\d+$/, 1, 'run_scheduled') },
	given_part => sub
		{ is($t->sql(q{SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.search_rows((SELECT }
			. q{jsonb_agg('row ' || n) FROM generate_series(1, 10000) n), '* | stats count') }
				. q{#>> '{data,rows,0,0}'}), "f\n10000", 'given_part') },
	metric_samples => sub { is($t->sql('SELECT count(*) > 100, count(DISTINCT (name, labels)) = count(*) '
		. 'FROM logsvc_internal.metric_samples()'), 't|t', 'metric_samples') },
	server_facts => sub { is($t->sql('SELECT count(*) > 0, count(DISTINCT name) = count(*) '
		. 'FROM logsvc_internal.server_facts()'), 't|t', 'server_facts') },
	# Materialized, so that the rows of parts go to a file.
	export_organization => sub { is($t->sql(q{SELECT count(*) = max(number), sum(length(body)) > 65536, }
		. q{(SELECT count(*) FROM logsvc_internal.part p JOIN logsvc_internal.organization o ON o.id = p.organization_id }
		. q{WHERE o.slug = 'acme') = count(*) FILTER (WHERE kind = 'part') }
		. q{FROM (SELECT * FROM logsvc.export_organization('acme') OFFSET 0) s}), 't|t|t', 'export_organization') },
	part_options => sub { is($t->sql('SELECT count(*) > 0 FROM logsvc_internal.part_options()'),
		't', 'part_options') });

is($t->sql("SELECT string_agg(proname, ',') FROM pg_proc WHERE proretset AND prolang = (SELECT oid "
	. "FROM pg_language WHERE lanname = 'c') AND pronamespace::regnamespace::text IN ('logsvc', "
		. "'logsvc_internal') AND proname <> ALL ('{"
	  . join(',', keys %sets) . "}')"), '', 'no function returns rows that is not looked at here');
$sets{$_}->() foreach sort keys %sets;

# ---- searches and lists whose statements sort, group and join more than fits ----

sub search
{
	my ($q, $limit) = @_;
	return app("SELECT jsonb_array_length(coalesce(r -> 'data' -> 'rows', r -> 'data')) FROM "
		. "logsvc.search(\$q\$$q\$q\$, earliest => '-30d', \"limit\" => "
			. ($limit // 10000) . ') r');
}
is(search('*'), 10000, 'a page of events');
is(search('* | sort -n', 10000), 10000, 'sorted');
is(search('* | dedup customer'), 2500, 'without those that are alike');
is(search('* | stats count, dc(event), first(event), last(n) by customer, source'), 2500, 'groups');
is(search('* | stats count by n | stats count as groups by count'), 1, 'groups of groups');
is(search('* | eval k = n % 4000 | stats count by k'), 4000, 'groups by a value that is made');
is(search('* | patterns mode=label | sort n', 10000), 10000, 'patterns of rows');
is(app("SELECT jsonb_array_length(logsvc.query_logs(\"from\" => '-30d', \"limit\" => 10000) -> "
	. "'data')"), 10000, 'events by simple conditions');
my $id = app("SELECT id FROM logsvc.logs WHERE event LIKE 'request 9000 %'");
is(app("SELECT logsvc.get_log('$id') ->> 'event' LIKE 'request 9000 %'"), 't', 'one event');
is(app("SELECT jsonb_array_length(logsvc.search_fields('*', '-30d') -> 'data') > 5"),
	't', 'fields');

$t->sql(q{INSERT INTO logsvc_internal.dead_letter (organization_id, batch, rows, min_time, max_time, level_mask, audit,
		reason, attempts, first_failed_at, last_failed_at, sqlstate, last_error, header, body)
	SELECT id, n, 1, now(), now(), 0, false, 'corrupt', 1, now(), now(), 'LS803', repeat('x', 200), '', ''
	FROM logsvc_internal.organization, generate_series(1, 500) n WHERE slug = 'acme';
	SELECT logsvc.create_api_key('acme', 'key ' || n, 'read-only') IS NULL FROM generate_series(1, 150) n});
my $owner = "SELECT logsvc.act_as('acme', '$org->{email}') \\gset _\n";
foreach my $list ('list_dead_letters', 'list_api_keys', 'audit_log', 'list_members', 'list_indexes',
	'list_tokens', 'list_deletions', 'list_invitations')
{
	my %pages;
	my ($n, $cursor) = (0, 'NULL');
	while (defined $cursor)
	{
		my $page = $t->sql("${owner}SELECT logsvc.$list(\"limit\" => 100, cursor => $cursor)");
		my $json = json_decode($page);
		$n += @{ $json->{data} };
		$pages{ json_encode($_) }++ foreach @{ $json->{data} };
		$cursor = $json->{page}{nextCursor};
		$cursor = "'$cursor'" if defined $cursor;
	}
	is(scalar(keys %pages), $n, "$list: $n rows, each once");
}
unlike($t->log_text($crashes), qr/terminated by signal|TRAP|server process .* exited/,
	'no process ended');
$t->stop;
done_testing;
