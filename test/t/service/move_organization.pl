# move_organization.pl: an organization moves to another server with all that it has, and a stream
# that is damaged, cut, of somebody else or sent by somebody else leaves nothing behind.
#
# Takes long.
use strict;
use warnings;

use IPC::Run ();
use LogsvcConnection;
use LogsvcTest;
use PostgreSQL::Test::Utils qw(slurp_file);
use Test::More;

my $conf = "shared_buffers = 16MB\nlogsvc.model_region = 'eu-central-1'\nlogsvc.writers = 1\nlogsvc.flush_interval = '50ms'\nlogsvc.alert_workers = 0";
my $s = LogsvcTest->new(name => 'source', conf => $conf);
my $t = LogsvcTest->new(name => 'target', conf => $conf);
$_->sql('CREATE ROLE op LOGIN; GRANT logsvc_admin TO op; CREATE ROLE app LOGIN; GRANT logsvc_tenant TO app') foreach $s, $t;

# ---- two organizations on the source, and one that is on the target already ----

my %org = map { $_ => $s->organization($_) } qw(acme globex);
my $there = $t->organization('there');
# A user of both servers, with ids of their own.
$_->sql("SELECT logsvc.create_user('both\@example.org', 'Both')") foreach $s, $t;
$s->sql("SELECT logsvc.add_member('acme', 'both\@example.org', 'admin')");
my $both = $s->sql_json("SELECT logsvc.create_token('acme', 'both\@example.org', 'b', '{logs:read}')");
$t->sql("SELECT logsvc.add_member('there', 'both\@example.org', 'viewer')");

sub post
{
	my ($server, $token, $path, $json, $status) = @_;
	my $r = $server->http(POST => "/api/v1/$path", token => $token, json => $json);
	is($r->{status}, $status // 201, "POST $path") or diag $r->{content};
	return $r->{json}{data};
}
my $acme = $org{acme};
post($s, $acme->{token}, 'indexes', { name => 'web', retentionDays => 30 });
post($s, $acme->{token}, 'pipelines', { name => 'mask', processors => [
	{ type => 'mask', field => 'event', preset => 'email', hash => JSON::PP::true } ] });
is($s->http(PUT => '/api/v1/lookups/hosts', token => $acme->{token},
	json => { csv => "host,team\nh1,red\nh2,blue" })->{status}, 200, 'a lookup table');

# Of three days, so that there are partitions that the target has, and a day that it has not.
my $now = time;
my @levels = qw(debug info info warn error);
foreach my $name (sort keys %org)
{
	my $n = 0;
	for (1 .. 5)
	{
		my $body = join "\n", map {
			$n++;
			json_encode({ event => "$name request $n of user" . $n % 97 . '@example.com took ' . $n % 1009 . ' ms',
				level => $levels[$n % 5], source => 's' . $n % 7, service => 'v' . $n % 3,
				timestamp => ($now - $n % 3 * 86400 - $n % 3600) * 1000, ($n % 4 || $name ne 'acme' ? () : (index => 'web')),
				attributes => { host => 'h' . $n % 5, ms => $n % 1009, path => "/p/$n" } });
		} 1 .. 2000;
		my $r = $s->http(POST => '/api/v1/logs/batch', token => $org{$name}{ingest_key}, body => $body,
			headers => { 'Content-Type' => 'application/x-ndjson' });
		is($r->{status}, 202, "2,000 events of $name") or diag $r->{content};
	}
}
ok(wait_until(sub { $s->sql('SELECT logsvc_internal.ingest_under_way(id) FROM logsvc_internal.organization ORDER BY 1 DESC LIMIT 1') == 0 }),
	'they are stored');

my $saved = post($s, $acme->{token}, 'saved-queries', { name => 'errors', q => 'level=error' });
my $dashboard = post($s, $acme->{token}, 'dashboards', { name => 'shop', panels => [
	{ title => 'errors', kind => 'stat', query => 'level=error | stats count' } ] });
my $link = post($s, $acme->{token}, "dashboards/$dashboard->{id}/share", { kind => 'link' }, 200)->{token};
my $service = post($s, $acme->{token}, 'services', { name => 'v1', match => 'service=v1' });
my $kpi = post($s, $acme->{token}, 'kpis', { name => 'requests', serviceId => $service->{id}, q => 'service=v1 | stats count',
	direction => 'lowerIsBetter', warn => 1, critical => 2 });
my $rule = post($s, $acme->{token}, 'alert-rules', { name => 'many', query => 'level=error',
	condition => { kind => 'count', op => '>', threshold => 5 },
	notify => [ { kind => 'webhook', target => 'https://hooks.example.org/x', format => 'logsvc', secret => 'a-secret-of-24-characters' } ] });
my $export = post($s, $acme->{token}, 'scheduled-exports', { name => 'all', q => '*', cron => '@yearly', delivery => { kind => 'download' } });
post($s, $acme->{token}, 'invitations', { email => 'guest@example.org', role => 'viewer' });
$s->sql(q{SELECT logsvc.create_user('guest@example.org');
	UPDATE logsvc_internal.invitation SET token_hash = sha256('inv-for-a-test')});
$s->sql("SELECT logsvc.set_limit('acme', 'kpis', 7); SELECT logsvc.adjust_ai_credits('acme', 500, 'trial');"
	. " SELECT logsvc.bind_role('app', 'globex')");
$s->sql(q{INSERT INTO logsvc_internal.health_point (resource_id, at, value)
	SELECT id, now() - interval '1 hour' * n, n + 0.1 FROM logsvc_internal.resource, generate_series(1, 50) n WHERE kind = 'kpi'});
$s->sql(q{INSERT INTO logsvc_internal.alert (organization_id, rule_id, rule_name, severity, key, group_key, search, started_at, last_seen_at)
	SELECT organization_id, id, name, 'info', '', '{}', '{}', now(), now() FROM logsvc_internal.resource WHERE kind = 'alert_rule'});
$s->sql(q{INSERT INTO logsvc_internal.dead_letter (organization_id, batch, rows, min_time, max_time, level_mask, audit,
		reason, attempts, first_failed_at, last_failed_at, sqlstate, last_error, header, body)
	SELECT id, 1, 1, now(), now(), 0, false, 'corrupt', 1, now(), now(), 'LS803', 'x', '\xff00', '\x00'
	FROM logsvc_internal.organization WHERE slug = 'acme'});
my $revoked = $s->sql_json("SELECT logsvc.create_api_key('acme', 'old', 'ingest-only')");
$s->sql("SELECT logsvc.revoke_api_key('$revoked->{id}')");

# What waits: of one key in the queue, of another beyond the quota.
$s->stop_at('write_before_commit');
my $waiting = post($s, $acme->{ingest_key}, 'logs', { event => 'it waits in the queue for user5@example.com' }, 202)->{id};
$s->wait_held('write_before_commit');
post($s, $acme->{ingest_key}, 'logs', { event => 'it waits in the queue too' }, 202);
$s->sql("SELECT logsvc.set_limit('acme', 'ingest_bytes_per_day', 1); SELECT logsvc.set_limit('acme', 'overage_queue_seconds', 3600);"
	. " SELECT logsvc.set_limit('acme', 'deferred_bytes', 1000000)");
my $deferred = post($s, $acme->{ingest_key}, 'logs', { event => 'it is beyond the quota' }, 202);
is($deferred->{status}, 'deferred', 'an event is deferred');

# ---- read-only ----

sub state_of { return $s->sql_json("SELECT logsvc.set_organization_state('acme'" . (@_ ? ", '$_[0]'" : '') . ')', user => 'op') }
is(state_of()->{state}, 'active', 'it takes events');
my $state = state_of('read_only');
is($state->{state}, 'read_only', 'it does not any more');
cmp_ok($state->{underWay}, '>=', 2, 'some are on their way');
my $r = $s->http(POST => '/api/v1/logs', token => $acme->{ingest_key}, json => { event => 'late' });
is($r->{status}, 503, 'events get 503');
is($r->{json}{code}, 'SERVICE_UNAVAILABLE', 'and the code');
cmp_ok($r->{headers}{'retry-after'} // 0, '>', 0, 'and when to try again');
is($s->http(POST => '/v1/logs', token => $acme->{ingest_key}, json => { resourceLogs => [ { scopeLogs => [ { logRecords =>
	[ { body => { stringValue => 'late' } } ] } ] } ] })->{status}, 503, 'by OTLP too');
like($s->node->safe_psql('postgres', qq{
	SET client_min_messages = error;
	SELECT logsvc.use_token('$acme->{token}') ->> 'kind';
	DO \$\$ BEGIN PERFORM logsvc.log('late'); EXCEPTION WHEN OTHERS THEN RAISE WARNING '%', SQLERRM; PERFORM set_config('a.b', SQLERRM, false); END \$\$;
	SELECT current_setting('a.b');}), qr/is being moved/, 'in SQL too');
$r = $s->http(POST => '/api/v1/saved-queries', token => $acme->{token}, json => { name => 'late', q => '*' });
is($r->{status}, 503, 'nothing is changed either') or diag $r->{content};
is($s->http(DELETE => "/api/v1/tokens/$both->{id}", token => $acme->{token})->{status}, 503, 'nor revoked: the copy would not know');
my $guest = $s->session('guest@example.org');
$r = $s->http(POST => '/api/v1/invitations/accept', session => $guest, json => { token => 'inv-for-a-test' });
is($r->{status}, 503, 'nobody joins it') or diag $r->{content};
is($s->http(GET => '/api/v1/search', token => $acme->{token}, query => { q => 'level=error | stats count' })->{status}, 200, 'searches go on');
is($s->http(POST => '/api/v1/evaluations/run-adhoc', token => $acme->{token}, json => { rows => ['migration applied'], criteria => 'applied?',
	expectedItems => [ { id => 'a', description => 'the migration was applied' } ] })->{status}, 200, 'and evaluations');
is($s->http(POST => '/api/v1/logs', token => $org{globex}{ingest_key}, json => { event => 'on time' })->{status}, 202, 'as do others');
my (undef, $sqlstate) = $s->sql_error("SELECT logsvc.set_organization_state('acme', 'active')", user => 'app');
is($sqlstate, 'LS202', 'operators only change the state');

# ---- the stream ----

my $file = $s->node->basedir . '/acme.stream';
sub psql_command
{
	my ($server, $user, @arguments) = @_;
	return ('psql', '-XqAt', '-U', $user, '-d', $server->node->connstr('postgres'), @arguments);
}
sub export
{
	my ($organization, $user, $to) = @_;
	my ($error) = ('');
	my $good = IPC::Run::run([ psql_command($s, $user, '-c', "COPY (SELECT (row).* FROM (SELECT "
		. "logsvc.export_organization('$organization') AS row) AS stream) TO STDOUT (FORMAT binary)") ], '>', $to, '2>', \$error);
	return ($good, $error);
}
# With two statements in one transaction, as docs/operations.md shows it.
sub import
{
	my ($user, $from, $arguments) = @_;
	my ($result, $error) = ('', '');
	my $good = IPC::Run::run([ psql_command($t, $user, '-1', '-v', 'ON_ERROR_STOP=1',
		'-c', 'COPY logsvc.organization_stream FROM STDIN (FORMAT binary)',
		'-c', 'SELECT kind, rows FROM logsvc.import_organization(' . ($arguments // '') . ')') ], '<', $from, '>', \$result, '2>', \$error);
	return ($good, $result, $error);
}

my ($good, $error) = export('acme', 'op', $file);
ok($good, 'an operator exports it') or diag $error;
like($error, qr/still on their way/, 'what is on its way is said');
($good, $error) = export('acme', 'app', '/dev/null');
ok(!$good, 'a tenant does not');
like($error, qr/operators only/, 'and is told');
(undef, $sqlstate) = $s->sql_error("SELECT count(*) FROM logsvc.export_organization('nobody')", user => 'op');
is($sqlstate, 'LS301', 'nor anybody what is not there');
is($s->sql(q{SELECT count(*) FROM logsvc_internal.audit_entry WHERE action = 'organization.exported'}), 1, 'the audit log has it');
# The same as a relation.
is($s->sql(q{SELECT count(*) = max(number) AND count(*) FILTER (WHERE kind = 'queue') >= 1 AND count(*) FILTER (WHERE kind = 'deferred') = 1
		AND bool_and(kind <> 'part' OR body IS NOT NULL) FROM logsvc.export_organization('acme')}), 't', 'its rows have numbers');

# ---- what is refused; rows of a stream are changed in a table of the target ----

$t->sql('CREATE TABLE public.stream (number bigint, kind text, data jsonb, header bytea, body bytea)');
IPC::Run::run([ psql_command($t, scalar getpwuid($>), '-c', 'COPY public.stream FROM STDIN (FORMAT binary)') ], '<', $file) or die;
# Counts and hashes that fit, as who makes a stream by hand would write them.
$t->sql(q{CREATE FUNCTION public.seal() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE r record; h jsonb := '{}'; n bigint := 0; k text;
	BEGIN
		FOR k IN SELECT c FROM public.stream, jsonb_object_keys(data -> 'columns') c WHERE kind = 'format' UNION ALL SELECT 'format' LOOP
			h := h || jsonb_build_object(k, jsonb_build_object('rows', 0, 'sha256', repeat('00', 32)));
		END LOOP;
		UPDATE public.stream t SET number = p.n FROM (SELECT ctid AS id, row_number() OVER (ORDER BY number, kind) AS n FROM public.stream) p WHERE t.ctid = p.id;
		FOR r IN SELECT * FROM public.stream WHERE kind <> 'manifest' ORDER BY number LOOP
			h := jsonb_set(h, ARRAY[r.kind], jsonb_build_object('rows', (h #>> ARRAY[r.kind, 'rows'])::int + 1, 'sha256',
				encode(logsvc_internal.stream_hash(decode(h #>> ARRAY[r.kind, 'sha256'], 'hex'), r.number, r.kind, r.data, r.header, r.body), 'hex')));
		END LOOP;
		UPDATE public.stream SET data = jsonb_build_object('kinds', h) WHERE kind = 'manifest';
	END $$});
my $import = q{INSERT INTO logsvc.organization_stream SELECT * FROM public.stream; SELECT count(*) FROM logsvc.import_organization()};
sub everything
{
	# Parts are merged as always: their events are counted.
	return join ' ', $t->sql('SELECT sum(rows) FROM (SELECT rows FROM logsvc_internal.part UNION ALL SELECT rows FROM logsvc_internal.queue) e'),
		map { $t->sql("SELECT count(*) FROM logsvc_internal.$_") } qw(organization user_account member resource access_token api_key
			dead_letter audit_entry alert health_point import_row);
}
my $before = everything();
my $last_batch = $t->sql('SELECT last_value FROM logsvc_internal.batch_number');
sub refused
{
	my ($what, $change, $expected, %opt) = @_;
	my $seal = $opt{seal} ? 'SELECT public.seal();' : '';
	my ($stdout, $state, $text) = $t->sql_error("BEGIN; $change; $seal $import; COMMIT");
	like("$state $text", $expected, $what);
	is(everything(), $before, "$what: nothing is kept");
}
my $acme_id = $t->sql(q{SELECT data ->> 'id' FROM public.stream WHERE kind = 'organization'});
my $there_id = $t->sql(q{SELECT id FROM logsvc_internal.organization WHERE slug = 'there'});
refused('a byte of a part', q{UPDATE public.stream SET body = set_byte(body, 60, get_byte(body, 60) # 1) WHERE number = (SELECT max(number) FROM public.stream WHERE kind = 'part')},
	qr/22P04 .*hash of these rows is wrong: part/);
refused('a byte of a header', q{UPDATE public.stream SET header = set_byte(header, 5, get_byte(header, 5) # 1) WHERE number = (SELECT min(number) FROM public.stream WHERE kind = 'part')},
	qr/22P04 .*wrong: part/);
refused('another name', q{UPDATE public.stream SET data = data || '{"name": "x"}' WHERE kind = 'organization'}, qr/22P04 .*wrong: organization/);
refused('another role', q{UPDATE public.stream SET data = data || '{"role": "owner"}' WHERE kind = 'member'}, qr/22P04 .*wrong: member/);
refused('a row less', q{DELETE FROM public.stream WHERE number = 20}, qr/22P04 .*row 20 is missing/);
refused('a row less, and its number', q{DELETE FROM public.stream WHERE kind = 'api_key' AND number = (SELECT min(number) FROM public.stream WHERE kind = 'api_key');
	UPDATE public.stream s SET number = n.n FROM (SELECT ctid AS id, row_number() OVER (ORDER BY number) AS n FROM public.stream) n WHERE s.ctid = n.id}, qr/22P04 .*wrong/);
refused('a row twice', q{INSERT INTO public.stream SELECT * FROM public.stream WHERE number = 20}, qr/23505 /);
refused('the end cut off', q{DELETE FROM public.stream WHERE number > (SELECT max(number) - 3 FROM public.stream)}, qr/22P04 .*has no manifest/);
refused('the manifest cut off', q{DELETE FROM public.stream WHERE kind = 'manifest'}, qr/22P04 .*has no manifest/);
refused('rows after the end', q{INSERT INTO public.stream SELECT max(number) + 1, 'member', '{}' FROM public.stream}, qr/22P04 .*after its end/);
refused('no rows', q{DELETE FROM public.stream}, qr/55000 no rows of a stream/);
refused('a newer format', q{UPDATE public.stream SET data = data || '{"format": 2}' WHERE kind = 'format'}, qr/0A000 the stream has format 2/, seal => 1);
refused('a column that is not known', q{UPDATE public.stream SET data = jsonb_set(data, '{columns,member}', data #> '{columns,member}' || '"colour"') WHERE kind = 'format'},
	qr/0A000 .*does not know: member/, seal => 1);
refused('a table that is not known', q{UPDATE public.stream SET data = jsonb_set(data, '{columns,plan_limit}', '["plan"]') WHERE kind = 'format';
	INSERT INTO public.stream SELECT number + 0, 'plan_limit', '{"plan": "free"}' FROM public.stream WHERE kind = 'format';
	UPDATE public.stream SET number = number + 1 WHERE kind <> 'format'; UPDATE public.stream SET number = 2 WHERE kind = 'plan_limit'},
	qr/0A000 .*does not know: plan_limit/, seal => 1);
# Hostile, and with hashes that fit.
refused('a member of another organization', qq{UPDATE public.stream SET data = data || '{"organization_id": "$there_id"}' WHERE kind = 'member'},
	qr/22P04 .*is of another organization/, seal => 1);
refused('a part of another organization', qq{UPDATE public.stream SET data = data || '{"organization_id": "$there_id"}' WHERE number = (SELECT max(number) FROM public.stream WHERE kind = 'part')},
	qr/22P04 .*is of another organization/, seal => 1);
refused('a part of no organization', q{UPDATE public.stream SET data = data - 'organization_id' WHERE kind = 'part'}, qr/22P04 .*is of another organization/, seal => 1);
refused('a key of another organization, that the format hides', qq{UPDATE public.stream SET data = data || '{"organization_id": "$there_id"}' WHERE kind = 'api_key';
	UPDATE public.stream SET data = jsonb_set(data, '{columns,api_key}', (data #> '{columns,api_key}') - 'organization_id') WHERE kind = 'format'},
	qr/22P04 .*is of another/, seal => 1);
refused('an entry of the queue of another organization, that the format hides', qq{UPDATE public.stream SET data = data || '{"organization_id": "$there_id"}' WHERE kind = 'queue';
	UPDATE public.stream SET data = jsonb_set(data, '{columns,queue}', (data #> '{columns,queue}') - 'organization_id') WHERE kind = 'format'},
	qr/22P04 .*is of another/, seal => 1);
refused('the organization of others', qq{UPDATE public.stream SET data = data || '{"id": "$there_id"}' WHERE kind = 'organization'}, qr/22P04 .*is of another/, seal => 1);
refused('all of it as that of others', qq{UPDATE public.stream SET data = replace(data::text, '$acme_id', '$there_id')::jsonb}, qr/LS401 the organization is here already, as "there"/, seal => 1);
$t->http(POST => '/api/v1/saved-queries', token => $there->{token}, json => { name => 'q', q => '*' });
my $foreign_id = $t->sql("SELECT id FROM logsvc_internal.resource WHERE organization_id = '$there_id'");
$before = everything();
foreach my $of (qw(resource_use.used health_point.resource_id dashboard_link.dashboard
	alert_rule_state.rule_id alert.rule_id export_schedule.resource_id))
{
	my ($kind, $column) = split /\./, $of;
	refused("$of of another organization", qq{UPDATE public.stream SET data = data || '{"$column": "$foreign_id"}' WHERE number = (SELECT max(number) FROM public.stream WHERE kind = '$kind')},
		qr/22P04 .*names a resource of another/, seal => 1);
}
refused('a resource of another organization', qq{UPDATE public.stream SET data = data || '{"id": "$foreign_id"}' WHERE number = (SELECT max(number) FROM public.stream WHERE kind = 'resource')},
	qr/^(23505|23503|22P04) /, seal => 1);
refused('a batch number from the end of the world', q{UPDATE public.stream SET data = data || '{"max_batch": 9223372036854775806}' WHERE kind = 'part'},
	qr/22P04 .*batch number/, seal => 1);
refused('all batch numbers', q{UPDATE public.stream SET data = data || '{"lastBatch": 9223372036854775806}' WHERE kind = 'format'}, qr/22P04 /, seal => 1);
refused('an audit entry out of the chain', q{UPDATE public.stream SET data = data || '{"number": null}' WHERE number = (SELECT max(number) FROM public.stream WHERE kind = 'audit_entry')},
	qr/22P04 .*without a place/, seal => 1);
foreach my $odd ([ rows => 2000000000 ], [ rows => 0 ], [ raw_bytes => '9000000000000000000' ], [ raw_bytes => -1 ], [ level => -7 ], [ level_mask => 4096 ],
	[ min_time => '"-infinity"' ], [ max_time => '"infinity"' ], [ day => '"5000-01-01"' ], [ day => '"infinity"' ], [ max_time => '"5000-01-01T00:00:00Z"' ])
{
	refused("a part with $odd->[0] = $odd->[1]", qq{UPDATE public.stream SET data = data || '{"$odd->[0]": $odd->[1]}' WHERE number = (SELECT max(number) FROM public.stream WHERE kind = 'part')},
		qr/22P04 .*row \d+ has (numbers or times that no part can have|a time that is not finite)/, seal => 1);
}
refused('an entry of the queue with too many rows', q{UPDATE public.stream SET data = data || '{"rows": 2000000000}' WHERE kind = 'queue'}, qr/22P04 .*no part can have/, seal => 1);
refused('more bytes than a day has', q{UPDATE public.stream SET data = data || '{"bytes": 9000000000000000000}' WHERE kind = 'ingest_day'}, qr/22P04 .*a day can have/, seal => 1);
refused('a name with control characters', q{UPDATE public.stream SET data = data || '{"name": "\u0001<script>"}' WHERE kind = 'organization'},
	qr/22P04 .*of organization, is not one that the API takes: .*control/, seal => 1);
refused('a time zone that is none', q{UPDATE public.stream SET data = data || jsonb_build_object('timezone', 'UTC''; drop table z') WHERE kind = 'organization'},
	qr/22P04 .*of organization, .*time zone database/, seal => 1);
refused('an alert rule without anything', q{UPDATE public.stream SET data = data || '{"content": {}}' WHERE data ->> 'kind' = 'alert_rule'}, qr/22P04 .*of resource alert_rule, /, seal => 1);
refused('a kind that is none', q{UPDATE public.stream SET data = data || '{"kind": "nokind"}' WHERE data ->> 'kind' = 'alert_rule'}, qr/22P04 .*of resource nokind, /, seal => 1);
refused('an order that is none', q{UPDATE public.stream SET data = jsonb_set(data, '{content,order}', '"a"') WHERE data ->> 'kind' = 'pipeline'}, qr/22P04 .*of resource pipeline, /, seal => 1);
# Whatever comes to be in a part's row: operators see the rest.
is($t->sql("BEGIN; UPDATE logsvc_internal.part SET raw_bytes = 9000000000000000000; SELECT count(*) > 0 FROM logsvc.parts; ROLLBACK"), 't', 'odd numbers do not break the view');
is($t->sql('SELECT last_value FROM logsvc_internal.batch_number') - $last_batch < 1000, 1, 'no batch number was skipped');

# The file itself: a byte, and its end.
{
	my $bytes = slurp_file($file);
	my %variants = ('a byte' => $bytes, 'the last half' => substr($bytes, 0, length($bytes) / 2), 'the last row' => $bytes);
	substr($variants{'a byte'}, int(length($bytes) * 0.7), 1) ^= "\x01";
	# Whole rows of COPY, without the last.
	my $manifest = rindex($bytes, 'manifest') - 4 - 12 - 2;
	$variants{'the last row'} = substr($bytes, 0, $manifest) . "\xff\xff";
	foreach my $what (sort keys %variants)
	{
		open my $out_file, '>:raw', "$file.bad" or die;
		print $out_file $variants{$what};
		close $out_file;
		my ($done, undef, $why) = import('op', "$file.bad");
		ok(!$done, "the file without or with another $what is refused") or diag $why;
		like($why, qr/is not valid|COPY|invalid|unexpected|hash/, 'with a reason');
		is(everything(), $before, 'nothing is kept');
	}
}

# What is copied does not stay in memory, a row at a time.
SKIP:
{
	skip 'no /proc/self/status', 1 unless -e '/proc/self/status';
	my $memory = q{SELECT (regexp_match(pg_read_file('/proc/self/status', 0, 10000), 'VmHWM:\s+(\d+)'))[1]};
	my ($least, $most) = split /\s+/, $t->sql(qq{BEGIN; $memory; INSERT INTO logsvc.organization_stream
		SELECT n, 'part', '{}', '', decode(repeat('00', 1000000), 'hex') FROM generate_series(1, 150) n; $memory; ROLLBACK});
	cmp_ok($most - $least, '<', 80000, '150 rows of 1 MB take little memory');
}

# Who may.
foreach my $as ('app', 'op')
{
	my $use = "SELECT logsvc.use_token('$there->{token}') ->> 'kind';";
	my (undef, $state) = $t->sql_error($as eq 'app' ? 'INSERT INTO logsvc.organization_stream SELECT 1, \'format\', \'{}\'' : 'SELECT 1 FROM logsvc_internal.import_row', user => $as);
	is($state, '42501', "$as has no rights on the rows");
	next if $as eq 'op';
	(undef, $state) = $t->sql_error('SELECT * FROM logsvc.import_organization()', user => $as);
	is($state, 'LS202', "$as does not import");
	(undef, $state) = $t->sql_error("SELECT logsvc.use_token('$there->{token}') ->> 'kind'; SELECT * FROM logsvc.import_organization()", user => $as);
	is($state, 'LS202', 'nor as an owner');
	(undef, $state) = $t->sql_error("SELECT logsvc.use_token('$there->{token}') ->> 'kind'; SELECT * FROM logsvc.export_organization('there')", user => $as);
	is($state, 'LS202', 'who does not export either');
}

# ---- the move ----

my $answers = sub {
	my ($server, $token) = @_;
	my %range = (from => '2020-01-01T00:00:00Z', to => '2099-01-01T00:00:00Z');
	return map { my $q = $_;
		my $a = $server->http(GET => '/api/v1/search', token => $token, query => { q => "$q", %range, limit => 50 });
		[ $q, $a->{status}, json_encode([ @{ $a->{json}{data} }{qw(columns rows)} ]) ] } (
		'level=error | stats count by source | sort source', 'service=* | stats count', 'index=* service=* | stats count by index | sort index',
		'"request 4711"', 'event CONTAINS "st 471"', 'service=v1 level=warn', 'ms>=1000 | stats count by host | sort host',
		'service=* | stats avg(ms), max(ms), min(ms), dc(path) by service | sort service', 'host=h3 source=s2 | sort path',
		'index=web level=debug', '"it waits in the queue"', '"beyond the quota"', 'service=* | timechart span=1d count by level',
		'level IN (error, warn) NOT service=v2 | stats count', 'service=* | top 3 source', 'service=* | lookup hosts host | stats count by team | sort team',
		'index=_audit | stats count by action | where action != "organization.imported" AND action != "organization.exported" | sort action', '"user5"',
		'service=* | stats count by level, service | sort level, service', 'path="/p/42" | table event, host, ms', 'service=* | dedup source | sort source');
};
# What waits on the source is stored there meanwhile, as in life; it was exported before.
my @expected = $answers->($s, $acme->{token});
my ($done, $result, $notes) = import('op', $file);
ok($done, 'an operator imports it') or diag $notes;
like($result, qr/^organization\|1$/m, 'one organization');
like($result, qr/^part\|\d+$/m, 'its parts');
is($t->sql("SELECT count(*) FROM logsvc_internal.part_other"), 0, 'days that had no partition have one');
is($t->sql("SELECT count(DISTINCT p.tableoid) FROM logsvc_internal.part p JOIN logsvc_internal.organization o ON o.id = p.organization_id
	WHERE o.slug = 'acme' AND p.index_name = 'main'"), 3, '... each of its own');
like($notes, qr/1 users were made who have no password/, 'who has no password is said');
is($t->sql("SELECT count(*) FROM logsvc_internal.import_row"), 0, 'no rows are left');
ok(wait_until(sub { $t->sql(q{SELECT count(*) FROM logsvc_internal.dead_letter WHERE status = 'replaying'}) == 0
	&& $t->sql("SELECT logsvc_internal.queue_held('$acme_id')") == 0 }), 'what waited is stored');
is($t->sql("SELECT count(*) FROM logsvc.verify_parts('acme')"), 0, 'its parts are whole');
is($t->sql_json("SELECT logsvc.verify_audit('acme')")->{valid}, JSON::PP::true, 'so is its audit log');

# ---- a stream is of one moment ----

{
	my $of = 'x JOIN logsvc_internal.organization o ON o.id = x.organization_id WHERE o.slug = $$globex$$';
	my $queued = $s->sql("SELECT sum(rows) FROM logsvc_internal.queue $of");
	my $stored = $s->sql("SELECT sum(rows) FROM logsvc_internal.part $of");
	cmp_ok($queued, '>', 0, 'some of its events are in the queue');
	my $session = LogsvcConnection->new(host => $s->node->host, port => $s->node->port, database => 'postgres', user => 'op');
	$session->query($_) foreach 'BEGIN', "DECLARE c CURSOR FOR SELECT (row).kind, (row).data ->> 'rows', (row).data #>> '{kinds,part,rows}' "
		. "FROM (SELECT logsvc.export_organization('globex') AS row) AS stream";
	is($session->query('FETCH 1 FROM c')->{rows} =~ s/\|.*//sr, 'format', 'its first row');
	$s->let_go('write_before_commit');
	$s->http(POST => '/api/v1/logs', token => $org{globex}{ingest_key}, json => { event => 'meanwhile' });
	ok(wait_until(sub { $s->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }), 'all that waited is stored meanwhile');
	my @rows = map { [ split /\|/ ] } split /\n/, $session->query('FETCH ALL FROM c')->{rows};
	$session->query('COMMIT');
	my $sum = 0;
	$sum += $_->[1] foreach grep { $_->[0] =~ /^(part|queue)$/ } @rows;
	is($sum, $queued + $stored, 'the other rows are of the moment of the first');
	is($rows[-1][0], 'manifest', 'the last one is the manifest');
	is($rows[-1][2], scalar(grep { $_->[0] eq 'part' } @rows), 'with the number of parts');
}

my @found = $answers->($t, $acme->{token});
my $same = 0;
foreach my $i (0 .. $#expected)
{
	my ($query, $status, $was) = @{ $expected[$i] };
	is($status, 200, "$query: it is answered") or diag $was;
	# Deferred events are searchable on the target at once, and counted there.
	if ($query eq '"beyond the quota"')
	{
		unlike($was, qr/evt_/, 'not on the source');
		like($found[$i][2], qr/\Q$deferred->{id}\E/, 'found on the target, with the id that its sender has');
		next;
	}
	$same += is($found[$i][2], $was, "$query: the same");
}
is($same, 20, 'the same answers of 20 searches');
like($found[10][2], qr/\Q$waiting\E/, 'and what waited has its id');

# ---- all else is as it was ----

foreach my $name (qw(token ingest_key read_key full_key))
{
	my ($method, @what) = $name eq 'ingest_key' ? ('POST', '/api/v1/logs') : ('GET', '/api/v1/search');
	my %more = $method eq 'POST' ? (json => { event => 'first on the target, by user5@example.com' }) : (query => { q => '* | stats count' });
	my $answer = $t->http($method => @what, token => $acme->{$name}, %more);
	# The day's quota is used up; that moved too.
	is($answer->{status}, $method eq 'POST' ? 202 : 200, "its $name works on the target") or diag $answer->{content};
}
is($t->http(POST => '/api/v1/logs', token => $revoked->{key}, json => { event => 'x' })->{status}, 401, 'a revoked key does not');
is($t->http(GET => '/api/v1/search', token => $both->{token}, query => { q => 'level=error | stats count' })->{status}, 200,
	'the token of somebody who was there already works');
is($t->sql(q{SELECT count(*) FROM logsvc_internal.user_account WHERE email = 'both@example.org'}), 1, 'who is one user still');
is($t->sql(q{SELECT string_agg(o.slug || ' ' || m.role, ', ' ORDER BY o.slug) FROM logsvc_internal.member m JOIN logsvc_internal.user_account u
	ON u.id = m.user_id JOIN logsvc_internal.organization o ON o.id = m.organization_id WHERE u.email = 'both@example.org'}),
	'acme admin, there viewer', 'in both organizations');
is($t->sql(q{SELECT count(*) FROM logsvc_internal.user_account WHERE email = 'acme@example.org' AND password_hash IS NULL AND verified_at IS NOT NULL}),
	1, 'the owner has a verified address and no password');
foreach my $path ('saved-queries', "dashboards/$dashboard->{id}", 'services', 'kpis', "kpis/$kpi->{id}", 'alert-rules', 'scheduled-exports', 'pipelines', 'lookups', 'indexes',
	'members', 'invitations', 'api-keys', 'alerts')
{
	my @both = map {
		my $a = $_->http(GET => "/api/v1/$path", token => $acme->{token});
		is($a->{status}, 200, "GET $path");
		if ($path eq 'pipelines') { delete $_->{stats} foreach @{ $a->{json}{data} } }
		# What is computed each minute, and what grows.
		json_encode($a->{json}{data}) =~ s/"(lastUsedAt|lastActiveAt|health|current|state|counts|sizeBytes|events|newest|oldest|stats|value|lastSeenAt|userId|id|createdBy|matched|dropped|errors|since|sparkline|nextRunAt|\w*At)":("[^"]*"|[\d.]+|null|\{[^{}]*\}|\[[^\[\]]*\])//gr } $s, $t;
	is($both[1], $both[0], "$path: the same");
}
is($t->sql(q{SELECT string_agg(amount::text, ' ' ORDER BY resource) FROM logsvc_internal.organization_limit l JOIN logsvc_internal.organization o ON o.id = l.organization_id WHERE slug = 'acme'}),
	$s->sql(q{SELECT string_agg(amount::text, ' ' ORDER BY resource) FROM logsvc_internal.organization_limit l JOIN logsvc_internal.organization o ON o.id = l.organization_id WHERE slug = 'acme'}),
	'its limits');
foreach my $table (qw(health_point pipeline_key ai_credit_entry ai_credit_month ingest_answer
	dashboard_link))
{
	# Others are computed each minute, on both servers.
	my $of = $table eq 'health_point' ? "value::text LIKE '%.1' AND at < now() - interval '30 min'" : "organization_id = '$acme_id'";
	my $rows = "SELECT md5(string_agg((to_jsonb(x) - 'id')::text, ' ' ORDER BY to_jsonb(x) - 'id')) FROM logsvc_internal.$table x WHERE $of";
	is($t->sql($rows), $s->sql($rows), "rows of $table");
}
is($t->sql('SELECT secrets FROM logsvc_internal.resource WHERE secrets <> $${}$$'), $s->sql('SELECT secrets FROM logsvc_internal.resource WHERE secrets <> $${}$$'),
	'the secret of its webhook');
is($t->sql(q{SELECT count(*) FROM logsvc_internal.dead_letter WHERE status = 'dead' AND reason = 'corrupt'}), 1, 'its dead letter');
is($t->http(GET => "/api/v1/shared/dashboards/$link")->{status}, $s->http(GET => "/api/v1/shared/dashboards/$link")->{status}, 'its link');
is($t->sql("SELECT count(*) FROM logsvc_internal.part WHERE organization_id = '$there_id' AND index_name = 'main'"), 0, 'nothing of others');
ok($t->sql('SELECT last_value FROM logsvc_internal.batch_number') > $s->sql('SELECT last_value FROM logsvc_internal.batch_number'),
	'batch numbers go on after those of the source');
is($t->http(GET => '/api/v1/search', token => $there->{token}, query => { q => 'acme | stats count' })->{json}{data}{rows}[0][0], 0,
	'and it sees nothing of it');

# ---- a second time, by another name, and the end of the source ----

($done, undef, $notes) = import('op', $file);
ok(!$done, 'a second import is refused');
like($notes, qr/is here already, as "acme"/, 'and says why');
$s->let_go('write_before_commit');
ok(wait_until(sub { state_of()->{underWay} == 0 }), 'the source has stored what waited');
($good, $error) = export('acme', 'op', "$file.again");
unlike($error, qr/still on their way/, 'and says nothing any more');
is(state_of('active')->{state}, 'active', 'a move can be called off');
is($s->http(POST => '/api/v1/saved-queries', token => $acme->{token}, json => { name => 'late', q => '*' })->{status}, 201, 'then changes are taken again');
($good, $error) = export('acme', 'op', "$file.again");
like($error, qr/goes on taking events/, 'a copy of an active one says what it lacks');
($good, $error) = export('globex', 'op', "$file.globex");
($done, undef, $notes) = import('op', "$file.globex", "slug => 'there'");
ok(!$done, 'a slug that is taken is refused');
like($notes, qr/another organization has the slug "there".*slug =>/s, 'and says what to do');
($done, undef, $notes) = import('op', "$file.globex", "slug => 'globex-eu', name => 'Globex (Europe)'");
ok($done, 'with another slug and name') or diag $notes;
is($t->sql_json("SELECT logsvc.get_organization('globex-eu')")->{name}, 'Globex (Europe)', 'which it has');
is($t->sql_json("SELECT logsvc.verify_audit('globex-eu')")->{valid}, JSON::PP::true, 'and its audit log');
is($t->sql('SELECT count(*) FROM logsvc.role_bindings()'), 0, 'database roles stay');
$s->sql("SELECT logsvc.delete_organization('acme', 'acme')");
is($s->http(GET => '/api/v1/search', token => $acme->{token}, query => { q => '*' })->{status}, 401, 'the source has it no more');
$_->stop foreach $s, $t;
done_testing;
