# GET /metrics and the view logsvc.metrics: the form of the text, what is counted, who may read it,
# and that nothing makes it grow.
use strict;
use warnings;

use LogsvcOpenmetrics;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $accept = 'application/openmetrics-text; version=1.0.0';
my $t = LogsvcTest->new(streaming => 1, conf => "restart_after_crash = on\nlogsvc.acceptors = 2");
my $acme = $t->organization('acme', plan => 'enterprise');
$t->sql('CREATE ROLE tenant LOGIN IN ROLE logsvc_tenant; CREATE ROLE watcher LOGIN IN ROLE pg_monitor;'
	. 'CREATE ROLE operator LOGIN IN ROLE logsvc_admin');

sub scrape
{
	my $r = $t->http(GET => '/metrics', headers => { Accept => $accept });
	is($r->{status}, 200, 'a scrape') or diag $r->{content};
	my ($families, @wrong) = read_openmetrics($r->{content});
	is(join("\n", @wrong), '', '... that is OpenMetrics');
	my %value;
	foreach my $f (values %$families)
	{
		foreach my $s (@{ $f->{samples} })
		{
			my $labels = join ',', map { "$_=$s->{labels}{$_}" } sort keys %{ $s->{labels} };
			$value{"$f->{name}$s->{suffix}" . ($labels eq '' ? '' : "{$labels}")} = $s->{value};
		}
	}
	return \%value;
}

# What has been added, without what is not asked for: names are given without logsvc_.
sub added
{
	my ($before, $after, @names) = @_;
	return join ' ', map { my $n = "logsvc_$_"; "$_=" . (($after->{$n} // 0) - ($before->{$n} // 0)) } @names;
}

# ---- the reader itself ----

foreach ([ "# TYPE a counter\n# HELP a b\na 1\n# EOF\n", 'a counter without _total' ],
	[ "# TYPE a gauge\n# HELP a b\na 1\n", 'no end' ],
	[ "# TYPE a gauge\n# HELP a b\na{x=\"y\"z\"} 1\n# EOF\n", 'a quote in a label' ],
	[ "# TYPE a_seconds gauge\n# HELP a_seconds b\na_seconds 1\n# EOF\n", 'no unit' ],
	[ "# TYPE a gauge\n# UNIT a bytes\n# HELP a b\na 1\n# EOF\n", 'another unit' ],
	[ "# TYPE a gauge\na 1\n# EOF\n", 'no help' ],
	[ "# TYPE a gauge\n# HELP a b\na 1\na 2\n# EOF\n", 'twice' ],
	[ "# TYPE a histogram\n# HELP a b\na_bucket{le=\"+Inf\"} 2\na_sum 1\na_count 1\n# EOF\n", 'a count' ])
{
	my (undef, @wrong) = read_openmetrics($_->[0]);
	cmp_ok(scalar(@wrong), '>', 0, "the reader notices $_->[1]");
}

# ---- the form ----

my $first = scrape();
my $r = $t->http(GET => '/metrics', headers => { Accept => $accept });
is($r->{headers}{'content-type'}, 'application/openmetrics-text; version=1.0.0; charset=utf-8', 'its type');
my ($families) = read_openmetrics($r->{content});
my $old = $t->http(GET => '/metrics');
is($old->{headers}{'content-type'}, 'text/plain; version=0.0.4; charset=utf-8', 'the older format');
unlike($old->{content}, qr/# (EOF|UNIT)/, '... has no units and no end');
like($old->{content}, qr/^# TYPE logsvc_http_requests_total counter$/m, '... and another name of counters');
is($t->http(HEAD => '/metrics')->{content} // '', '', 'HEAD');
cmp_ok(scalar(keys %$families), '>=', 37, 'families');
is($first->{"logsvc_build_info{postgres=" . $t->sql("SELECT split_part(version(), ' ', 2)") . ",version="
	. $t->sql("SELECT extversion FROM pg_extension WHERE extname = 'logsvc'") . '}'}, 1, 'versions');
is($first->{logsvc_in_recovery}, 0, 'a primary');

# What Prometheus' own tool says of the text, and of the alert rules, which name families that are
# there.
my $promtool = 'build/prometheus/promtool';
my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/metrics.txt", $old->{content});
is(`$promtool check metrics < $dir/metrics.txt 2>&1` . $?, '0', 'promtool check metrics');
like(`$promtool check rules dist/prometheus/alerts.yml 2>&1` . $?, qr/SUCCESS: 26 rules found\s+0$/,
	'promtool check rules');
like(`$promtool test rules dist/prometheus/alerts_test.yml 2>&1` . $?, qr/SUCCESS\s+0$/, 'promtool test rules');
my $rules = slurp_file('dist/prometheus/alerts.yml');
my %known = map { my $n = $_; map { ("$n$_->{suffix}" => 1) } @{ $families->{$n}{samples} } } keys %$families;
my %late = map { $_ => 1 } qw(logsvc_wal_archive_age_seconds logsvc_replication_slot_retained_bytes
	logsvc_replication_lag_bytes logsvc_standby_lag_seconds
	logsvc_probe_success logsvc_rate_limited_total);
is(join(' ', grep { !$known{$_} && !$late{$_} } $rules =~ /\b(logsvc_\w+)/g), '', 'rules name families that are there');
my $metrics_page = slurp_file('docs/metrics.md');
is(join(' ', grep { $metrics_page !~ /^### $_$/m } $rules =~ /alert: (\w+)/g), '', 'each has a section');
my ($with_urls) = $metrics_page =~ /^\$ (sed .*) > \S+$/m;
my @urls = `$with_urls` =~ m{^\s+runbook_url: https://[\w./]+/metrics\.md#logsvc\w+$}mg;
is(scalar @urls, 26, '... and can have a URL');

# ---- docs/metrics.md ----

my %page = map { /^\| `(logsvc_\w+)` \| (\w+) \| / ? ($1 => $2) : () }
	split /\n/, $metrics_page;
my %is;
foreach my $f (values %$families)
{
	$is{ $f->{name} . ($f->{type} eq 'counter' ? '_total' : '') } = $f->{type};
}
is(join("\n", map { "$_ $page{$_}" } sort keys %page), join("\n", map { "$_ $is{$_}" } sort keys %is),
	'docs/metrics.md lists the families and their types');

# ---- what is counted ----

sub events
{
	my ($path, @requests) = @_;
	my $bytes = 0;
	foreach (@requests)
	{
		my $r = $t->http(POST => $path, token => $acme->{ingest_key}, body => $_->[0]);
		is($r->{status}, $_->[1], "$path answers $_->[1]") or diag $r->{content};
		$bytes += length $_->[0];
	}
	return $bytes;
}
sub quiet { return $t->sql('SELECT count(*) = 0 FROM logsvc_internal.queue') eq 't' }

my $before = scrape();
my $bytes = events('/api/v1/logs', ([ '{"event": "one", "level": "error"}', 202 ]) x 7);
$bytes += events('/api/v1/logs/batch', [ '[' . join(',', ('{"event": "x"}') x 1000) . ']', 202 ],
	[ '[{"event": "good"}, {"event": 5}, {"event": "a", "index": "nowhere"}]', 202 ], [ '[{"level": "info"}]', 400 ]);
$bytes += events('/v1/logs', [ '{"resourceLogs": [{"scopeLogs": [{"logRecords": '
	. '[{"severityNumber": 9, "body": {"stringValue": "hello"}}]}]}]}', 200 ]);
$t->http(POST => '/api/v1/logs', token => 'ing_live_' . 'x' x 40, json => { event => 'x' }) foreach 1 .. 3;
is($t->sql("SELECT logsvc.act_as('acme') IS NOT NULL; SELECT count(logsvc.log('from SQL')) FROM generate_series(1, 4)"),
	"t\n4", 'events in SQL');
$t->sql_error("BEGIN; SELECT logsvc.act_as('acme'); SELECT logsvc.log('rolled back'); ROLLBACK");
my $after = scrape();
is(added($before, $after, map { "ingest_events_total{door=$_}" } qw(json batch otlp loki sql)),
	'ingest_events_total{door=json}=7 ingest_events_total{door=batch}=1001 ingest_events_total{door=otlp}=1 '
	. 'ingest_events_total{door=loki}=0 ingest_events_total{door=sql}=4', 'events, by door');
is(added($before, $after, map { "ingest_rejected_events_total{code=$_}" } qw(VALIDATION_ERROR INDEX_NOT_FOUND)),
	'ingest_rejected_events_total{code=VALIDATION_ERROR}=2 '
	. 'ingest_rejected_events_total{code=INDEX_NOT_FOUND}=1', 'rejected events');
is(added($before, $after, map { "http_requests_total{class=ingest,code=$_}" } 202, 200, 400, 401),
	'http_requests_total{class=ingest,code=202}=9 http_requests_total{class=ingest,code=200}=1 '
	. 'http_requests_total{class=ingest,code=400}=1 http_requests_total{class=ingest,code=401}=3', 'requests');
is(added($before, $after, 'auth_failures_total{code=INVALID_API_KEY}', 'errors_total{code=VALIDATION_ERROR}'),
	'auth_failures_total{code=INVALID_API_KEY}=3 errors_total{code=VALIDATION_ERROR}=1', 'refusals');
is(added($before, $after, 'http_request_body_bytes_total{class=ingest}'),
	'http_request_body_bytes_total{class=ingest}=' . ($bytes + 3 * length '{"event":"x"}'), 'bytes of bodies');
is(added($before, $after, 'searchable_lag_seconds_count', 'http_request_duration_seconds_count{class=ingest}',
	'http_requests_total{class=service,code=200}'),
	'searchable_lag_seconds_count=10 http_request_duration_seconds_count{class=ingest}=14 '
	. 'http_requests_total{class=service,code=200}=1', 'histograms, and the scrape before');
cmp_ok($after->{'logsvc_ingest_bytes_total{door=json}'} - ($before->{'logsvc_ingest_bytes_total{door=json}'}), '>', 7 * 20,
	'bytes of events');
ok(wait_until(sub { quiet() }, 30), 'the writers store them');
my $written;
my $counter = 'logsvc_writer_events_total';
ok(wait_until(sub { $written = scrape()->{$counter} - $before->{$counter}; $written >= 1013 }, 30), 'events that writers have stored') or diag $written;
is(scrape()->{logsvc_queue_events}, 0, 'the queue is empty');

$before = scrape();
$t->http(GET => '/api/v1/search', token => $acme->{read_key}, query => { q => 'level=error' }) foreach 1 .. 5;
$t->http(GET => '/api/v1/search', token => $acme->{read_key}, query => { q => 'level=' }) foreach 1 .. 2;
$after = scrape();
is(added($before, $after, 'search_duration_seconds_count{outcome=ok}', 'search_duration_seconds_count{outcome=refused}',
	'http_requests_total{class=search,code=200}', 'http_requests_total{class=search,code=400}',
	'errors_total{code=QUERY_SYNTAX_ERROR}'),
	'search_duration_seconds_count{outcome=ok}=5 search_duration_seconds_count{outcome=refused}=2 '
	. 'http_requests_total{class=search,code=200}=5 http_requests_total{class=search,code=400}=2 '
	. 'errors_total{code=QUERY_SYNTAX_ERROR}=2', 'searches, by outcome');
cmp_ok($after->{logsvc_search_rows_scanned_total}, '>', $before->{logsvc_search_rows_scanned_total} // 0, 'rows');

# Figures that the scheduler looks up.
ok($after->{logsvc_database_figures_timestamp_seconds} > time - 3600, 'figures of the database');
cmp_ok($after->{$_}, '>=', 0, $_) foreach map { "logsvc_$_" } qw(parts stored_bytes partitions queue_bytes
	dead_letter_events{status=dead} alert_rules{state=firing} waiting_mails replication_standbys);
ok(!exists $after->{$_}, "$_ is absent") foreach qw(logsvc_wal_archive_age_seconds logsvc_replication_lag_bytes
	logsvc_probe_success);

# A base backup streams for a time, and is no standby.
foreach ([ 'pg_basebackup', 0 ], [ 'standby', 1 ])
{
	my ($name, $standbys) = @$_;
	local $ENV{PGAPPNAME} = $name;
	my $to = PostgreSQL::Test::Utils::tempdir();
	my $out = '';
	my $receiver = IPC::Run::start([ 'pg_receivewal', '-D', $to, '-h', $t->node->host, '-p', $t->node->port ],
		'>', '/dev/null', '2>', \$out);
	ok(wait_until(sub { $t->sql("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") }), "$name streams") or diag $out;
	is($t->sql("SELECT value FROM logsvc_internal.database_figures() WHERE name = 'logsvc_replication_standbys'"), $standbys, '... and counts');
	$receiver->kill_kill;
	ok(wait_until(sub { !$t->sql('SELECT count(*) FROM pg_stat_replication') }), 'it has ended');
}

# What becomes worse slowly: disks, transaction ids, sessions, open transactions.
{
	my $figures = sub { return map { split /=/ } split /\n/, $t->sql("SELECT name || '=' || value "
		. "FROM logsvc_internal.database_figures() WHERE value IS NOT NULL") };
	my %f = $figures->();
	cmp_ok($f{logsvc_disk_free_ratio}, '>', 0, 'free disk space');
	cmp_ok($f{logsvc_disk_free_ratio}, '<', 1, '... is a share');
	cmp_ok($f{logsvc_transaction_id_age}, '>', 0, 'age of transaction ids');
	is($f{logsvc_sessions_limit}, $t->sql('SHOW max_connections'), 'the limit of sessions');
	my $session = $t->node->background_psql('postgres');
	$session->query_safe('BEGIN; SELECT 1');
	$t->sql('SELECT pg_sleep(1.1)');
	my %then = $figures->();
	cmp_ok($then{logsvc_oldest_transaction_seconds}, '>', 1, 'the oldest transaction');
	cmp_ok($then{logsvc_sessions}, '>', $f{logsvc_sessions} - 1, 'sessions');
	$session->quit;
	ok(wait_until(sub { my %now = $figures->(); $now{logsvc_oldest_transaction_seconds} < 1 }), '... that has ended');
}

# ---- the view ----

my %view = map { split /=/, $_, 2 } split /\n/, $t->sql(q{SELECT DISTINCT name || '=' || type FROM logsvc.metrics},
	user => 'watcher');
my %http = map { my $f = $families->{$_}; my $n = $_;
	map { ("$n$_->{suffix}" => $f->{type}) } @{ $f->{samples} } } keys %$families;
is(join(' ', grep { ($view{$_} // '') ne $http{$_} } sort keys %http), '', 'the view has what HTTP has');
is($t->sql("SELECT value FROM logsvc.metrics WHERE name = 'logsvc_ingest_events_total' AND labels->>'door' = 'json'",
	user => 'operator'), 7, 'a value, for an operator');
is(($t->sql_error('SELECT * FROM logsvc.metrics', user => 'tenant'))[1], '42501', 'not for a tenant');
is(($t->sql_error('SELECT * FROM logsvc_internal.metric_samples()', user => 'tenant'))[1], '42501',
	'nor the function');
is(($t->sql_error('SELECT logsvc_internal.database_figures()', user => 'watcher'))[1], '42501',
	'nor what the scheduler looks up, for monitoring');

# ---- who may read ----

sub answer { my $r = $t->http(GET => '/metrics', @_); return "$r->{status} " . ($r->{json}{code} // '') }
is(answer(token => $acme->{$_}), '403 FORBIDDEN', "not by the $_ of a tenant") foreach qw(ingest_key read_key full_key token);
is(answer(headers => { 'X-API-Key' => $acme->{full_key} }), '403 FORBIDDEN', 'in another header');
is(answer(session => $t->session($acme->{email}), organization => 'acme'), '403 FORBIDDEN', 'a session');
is(answer(headers => { 'X-Forwarded-For' => '127.0.0.1' }), '403 FORBIDDEN', 'through a proxy that is not trusted');
is(answer(headers => { 'X-Forwarded-For' => '' }), '403 FORBIDDEN', '... also one that does not say for whom');
my @of_proxies = map { [ %$_ ] } { 'X-Real-IP' => '127.0.0.1' }, { 'Forwarded' => 'for=127.0.0.1' }, { 'via' => '1.1 nginx' },
	{ 'X-Forwarded-Host' => 'logs.example' };
is(answer(headers => {@$_}), '403 FORBIDDEN', "... nor one that says it by $_->[0]") foreach @of_proxies;
$t->set('logsvc.trusted_proxies', '127.0.0.1');
ok(wait_until(sub { answer(headers => { 'X-Forwarded-For' => '203.0.113.5, 127.0.0.1' }) eq '403 FORBIDDEN'
	&& answer(headers => { 'X-Forwarded-For' => '127.0.0.1, 203.0.113.5' }) eq '403 FORBIDDEN' }, 10),
	'a client of a trusted proxy, whatever it says');
$t->set('logsvc.operator_networks', '127.0.0.0/8, 203.0.113.0/24');
ok(wait_until(sub { answer(headers => { 'X-Forwarded-For' => '203.0.113.5' }) eq '200 ' }, 10),
	'one of an operator, behind it');
is(answer(headers => { @$_, 'X-Forwarded-For' => '203.0.113.5' }), '200 ', "... also with $_->[0]") foreach @of_proxies;
is(answer(headers => {@$_}), '403 FORBIDDEN', "... not when it says by $_->[0] only that it is a proxy") foreach @of_proxies;
$t->set('logsvc.operator_networks', '');
ok(wait_until(sub { answer() eq '403 FORBIDDEN' }, 10), 'no network: nobody');
$t->set('logsvc.operator_networks', '127.0.0.1');
my $file = "$dir/token";
my $token = 'metrics-' . 'a' x 32;
append_to_file($file, "$token\n");
chmod 0600, $file;
chown +(stat $t->{node}->data_dir)[ 4, 5 ], $file;
chmod 0755, $file =~ s{/token$}{}r;
$t->set('logsvc.metrics_token_file', $file);
ok(wait_until(sub { answer() eq '401 UNAUTHORIZED' }, 10), 'a token is required');
is(answer(token => $token), '200 ', 'this one');
is(answer(token => $_), '401 UNAUTHORIZED', 'another one')
	foreach substr($token, 1), "${token}x", $acme->{full_key}, '';
chmod 0644, $file;
my $from = $t->log_position;
$t->reload;
ok(wait_until(sub { answer(token => $token) eq '401 UNAUTHORIZED' }, 10), 'a file that others can read is no secret');
ok(wait_until(sub { $t->log_text($from) =~ /metrics_token_file can be read by others/ }, 10), '... as the log says');
unlike($t->log_text($from), qr/\Q$token/, '... without the token');
$t->set('logsvc.metrics_token_file', '');
ok(wait_until(sub { answer() eq '200 ' }, 10), 'none is required');

# ---- /readyz?role= ----

is($t->http(GET => '/readyz?role=primary')->{status}, 200, 'a primary is ready as such');
$r = $t->http(GET => '/readyz?role=standby');
is("$r->{status} $r->{json}{error}", '503 this server is the primary', 'and not as a standby');
$r = $t->http(GET => '/readyz?role=other');
is("$r->{status} $r->{json}{code}", '400 VALIDATION_ERROR', 'another role');
is($t->http(GET => '/readyz?x=1&role=primary')->{status}, 200, 'beside another parameter');

# ---- it does not grow ----

srand 7;
my @methods = qw(GET POST PUT DELETE PATCH HEAD OPTIONS);
my @paths = ('/api/v1/logs/', '/api/v1/', '/', '/api/v1/dashboards/', '/loki/', '/api/v1/members/');
foreach my $i (1 .. 500)
{
	my $path = $paths[ rand @paths ] . join '', map { ('a' .. 'z', 0 .. 9, '-')[ rand 37 ] } 1 .. 1 + rand 30;
	$t->http($methods[ rand @methods ] => $path, token => $acme->{full_key}, undescribed => 1);
}
my $text = $t->http(GET => '/metrics', headers => { Accept => $accept })->{content};
my $series = () = $text =~ /^[^#]/mg;
cmp_ok($series, '<', 2000, "$series series");
unlike($text, qr/acme/, 'no name of an organization');

# ---- workers that end ----

$before = scrape();
my ($acceptor) = $t->workers('^logsvc acceptor');
$t->sql("SELECT pg_terminate_backend($acceptor)");
ok(wait_until(sub { my @now = $t->workers('^logsvc acceptor'); @now == 2 && !grep { $_ == $acceptor } @now }, 30),
	'another acceptor');
ok(wait_until(sub { $t->http(GET => '/readyz')->{status} == 200 }, 30), 'ready');
$after = scrape();
is(added($before, $after, 'ingest_events_total{door=json}', 'ingest_events_total{door=batch}',
	'worker_restarts_total{worker=acceptor}', 'worker_restarts_total{worker=writer}'),
	'ingest_events_total{door=json}=0 ingest_events_total{door=batch}=0 '
	. 'worker_restarts_total{worker=acceptor}=1 worker_restarts_total{worker=writer}=0', 'counts stay, and the restart is one');
is($after->{'logsvc_worker_up{worker=acceptor}'}, 2, 'workers that run');
events('/api/v1/logs', ([ '{"event": "after"}', 202 ]) x 20);
is(added($after, scrape(), 'ingest_events_total{door=json}'), 'ingest_events_total{door=json}=20', 'counts go on');

# A killed worker takes the server with it: all counters begin again, and the time says so.
my ($writer) = $t->workers('^logsvc writer');
kill_process($writer);
ok(wait_until(sub { $t->sql('SELECT true'); $t->http(GET => '/readyz')->{status} == 200 }, 60), 'the server is back');
$after = scrape();
cmp_ok($after->{logsvc_start_time_seconds}, '>', $before->{logsvc_start_time_seconds}, 'it says when it started');
is($after->{'logsvc_ingest_events_total{door=json}'}, 0, 'and counts from 0');

$t->stop;
done_testing;
