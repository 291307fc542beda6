# standby_server.pl: a hot standby answers over HTTP what only reads, as its primary does, refuses
# what writes, and refuses what has been revoked; promoted under load it takes writes with the same
# processes, and nothing that was accepted is lost.
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes qw(time);

my $t = LogsvcTest->new(streaming => 1, conf => join "\n", "logsvc.flush_interval = '10ms'",
	"logsvc.model_region = 'eu'", 'wal_log_hints = on', "wal_keep_size = '128MB'");
my $org = $t->organization('acme');
my $limited = $t->organization('limited');
my $session = $t->session($org->{email});
my $other = $t->session($org->{email});
$t->wait_partitions;

sub post
{
	my ($server, $event) = @_;
	return $server->http(POST => '/api/v1/logs', token => $org->{ingest_key},
		json => { event => $event, level => 'error', service => 'shop' });
}

is(post($t, "order $_")->{status}, 202, 'an event') foreach 1 .. 3;
my %made;
foreach (
	[ 'saved-queries', { name => 'errors', q => 'level=error' } ],
	[ 'dashboards', { name => 'shop', panels => [ { title => 'errors', kind => 'stat',
		query => 'level=error | stats count' } ] } ])
{
	my $r = $t->http(POST => "/api/v1/$_->[0]", token => $org->{token}, json => $_->[1]);
	is($r->{status}, 201, "one of $_->[0]") or diag $r->{content};
	$made{ $_->[0] } = $r->{json}{data}{id};
}
my $link = $t->http(POST => "/api/v1/dashboards/$made{dashboards}/share", token => $org->{token},
	json => { kind => 'link' });
is($link->{status}, 200, 'a link to the dashboard') or diag $link->{content};
$link = $link->{json}{data}{token};
# What is noted of their first use is noted now.
$t->http(GET => '/api/v1/members', token => $org->{$_}) foreach qw(token read_key full_key);
$t->http(GET => '/api/v1/auth/session', session => $_) foreach $session, $other;
ok(wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }), 'events are stored');
$t->node->backup('copy');

my $node = PostgreSQL::Test::Cluster->new('standby');
my $port = PostgreSQL::Test::Cluster::get_free_port();
$node->init_from_backup($t->node, 'copy', has_streaming => 1);
$node->append_conf('postgresql.conf', "logsvc.port = $port\nlog_statement = none\n"
	. "archive_mode = on\narchive_command = true");
$node->start;
my $s = bless { node => $node, http_port => $port, database => 'postgres', clients => {} },
  'LogsvcTest';
$s->wait_ready;

sub caught_up
{
	$t->node->wait_for_catchup($node, 'replay', $t->node->lsn('insert'));
	return;
}

caught_up();

# ---- what runs ----

sub running
{
	return $s->sql("SELECT string_agg(DISTINCT substr(backend_type, 8), ' ') FROM pg_stat_activity "
		. "WHERE backend_type LIKE 'logsvc %' AND backend_type <> 'logsvc probe'");
}

ok(wait_until(sub { running() eq 'evaluator executor gateway launcher prober' }), 'who runs on it')
  or diag running();
my $pids = "SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity WHERE backend_type"
  . " IN ('logsvc gateway', 'logsvc executor', 'logsvc evaluator', 'logsvc launcher')";
my $before = $s->sql($pids);
my $r = $s->http(GET => '/readyz?role=standby');
is($r->{status}, 200, 'it is a standby');
is($r->{headers}{'x-logsvc-role'}, 'standby', '... and says so');
is($s->http(GET => '/readyz?role=primary')->{status}, 503, 'it is no primary');
$r = $t->http(GET => '/readyz?role=primary');
is($r->{status}, 200, 'the primary is one');
is($r->{headers}{'x-logsvc-role'}, undef, '... and says nothing of it');

# ---- what reads is answered as by the primary, what writes is refused ----

my $api = $t->http(GET => '/api/v1/openapi.json')->{json};
# Bodies of what reads though it is no GET.
my %reads = ('POST /api/v1/search' => { q => 'service=shop | stats count' },
	'POST /api/v1/search/rows' => { q => '* | stats count', rows => [ { event => 'a' } ] },
	'POST /api/v1/search/validate' => { q => 'level=error' },
	'POST /api/v1/evaluations/run-adhoc' =>
	  { rows => ['order 1'], criteria => 'Is all well?', preview => JSON::PP::true },
	(map { ("POST /loki/api/v1/$_" => {}) } qw(labels query query_range series)),
	'POST /mcp' => { jsonrpc => '2.0', id => 1, method => 'tools/list' },
	'POST /api/v1/dashboards/{id}/data' => {},
	'POST /api/v1/shared/{token}/data' => {},
	'POST /api/v1/pipelines/test' => { definition => { steps => [] }, events => [ { event => 'a' } ] },
	'POST /api/v1/alert-rules/test' => {}, 'POST /api/v1/alert-rules/{id}/backtest' => {},
	'POST /api/v1/invitations/preview' => { token => 'x' x 43 });
my %query = ('/api/v1/search' => { q => 'service=shop' });
my $writes = qr{^/(?:_|[^/]+/_|elasticsearch)|^/api/v1/search/export$};
my ($n_read, $n_refused) = (0, 0);

# Without what differs from one answer to the next.
sub stable
{
	my $text = $_[0]{content};
	$text =~ s/"(?:requestId|cursor|next_?cursor|took\w*|elapsed\w*|durationMs|updated_?at|generated_?at|latest|earliest|percent|now|from|to|cpu\w*)" ?: ?(?:"[^"]*"|[\d.]+)//gi;
	$text =~ s/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\+00//g;
	return "$_[0]{status} $text";
}

foreach my $path (sort keys %{ $api->{paths} })
{
	foreach my $method (map { uc } sort keys %{ $api->{paths}{$path} })
	{
		next if $method eq 'PARAMETERS' || $path =~ m{^/(metrics|healthz|readyz|ready|status|services/)}
		  || $path =~ m{^/api/v1/(status|openapi.json|logs/tail|auth/oauth)} || $path =~ m{^/(api/v1)?$} || $path eq '/api/v1/usage';
		my $to = $path;
		$to =~ s/\{id\}/$made{ ($path =~ m{v1\/([^\/]+)})[0] } || 'none'/e;
		$to =~ s/\{\w+\}/none/g;
		my $reads = $reads{"$method $path"};
		if (($method eq 'GET' && $path !~ $writes) || $reads)
		{
			foreach my $who ([ token => $org->{token} ], [ session => $session, organization => 'acme' ])
			{
				my @arguments = ($method => $to, @$who, undescribed => 1,
					$reads ? (json => $reads) : $query{$path} ? (query => $query{$path}) : ());
				my ($on_primary, $on_standby) = ($t->http(@arguments), $s->http(@arguments));
				is(stable($on_standby), stable($on_primary), "$method $path by $who->[0]");
				$n_read += $on_primary->{status} == 200;
			}
		}
		else
		{
			$r = $s->http($method => $to, token => $org->{token}, json => {}, undescribed => 1);
			is($r->{status}, 503, "$method $path is refused");
			like($r->{content}, qr/READ_ONLY_STANDBY/, '... with the code');
			is($r->{headers}{'x-logsvc-role'}, 'standby', '... and the role');
			$n_refused++;
		}
	}
}
cmp_ok($n_read, '>', 50, "$n_read answers were read");
cmp_ok($n_refused, '>', 100, "$n_refused routes were refused");
$r = post($s, 'too early');
is($r->{json}{code}, 'READ_ONLY_STANDBY', 'no events');
$r = $s->http(POST => '/api/v1/evaluations/run-adhoc', token => $org->{token},
	json => { rows => ['order 1'], criteria => 'Is all well?' });
is("$r->{status} $r->{json}{code}", '503 READ_ONLY_STANDBY', 'no evaluation but a preview');
$r = $s->http(GET => '/api/v1/search', token => $org->{token}, query => { q => 'order 3' });
is(scalar @{ $r->{json}{data}{rows} }, 1, 'a search finds') or diag $r->{content};
is($s->http(GET => '/api/v1/usage', token => $org->{token})->{status}, 200, 'the usage');
is($s->http(GET => '/api/v1/status')->{status}, 200, 'the status');
is($s->http(GET => '/status')->{status}, 200, '... as a page');
like($s->http(GET => '/metrics')->{content}, qr/^logsvc_in_recovery 1$/m, 'figures');
unlike($s->log_text, qr/read-only transaction|during recovery/, 'nothing there tried to write');
is($s->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL"), 0,
	'nobody has a transaction id');

# ---- new events and revocations ----

post($t, 'order 4');
ok(wait_until(sub {
		my $found = $s->http(GET => '/api/v1/search', token => $org->{read_key},
			query => { q => '"order 4"' });
		return $found->{json} && @{ $found->{json}{data}{rows} } == 1;
	}), 'a new event is found');
is($s->http(GET => '/api/v1/search', token => $org->{full_key}, query => { q => '*' })->{status}, 200,
	'a key');
is($s->http(GET => '/api/v1/auth/session', session => $other)->{status}, 200, 'a session');
my $list = $t->http(GET => '/api/v1/api-keys', token => $org->{token})->{json}{data};
my ($full) = map { $_->{id} } grep { $_->{name} eq 'full' } @$list;
is($t->http(DELETE => "/api/v1/api-keys/$full", token => $org->{token})->{status}, 204, 'revoked');
is($t->http(POST => '/api/v1/auth/sign-out', session => $other)->{status}, 204, 'signed out');
caught_up();
is($s->http(GET => '/api/v1/search', token => $org->{full_key}, query => { q => '*' })->{status}, 401,
	'what is revoked is refused as soon as that is replayed');
is($s->http(GET => '/api/v1/auth/session', session => $other)->{status}, 401, '... a session, too');

my (undef, undef, $said) = $node->psql('postgres',
	"SELECT logsvc.use_token('$org->{token}') IS NULL; SELECT logsvc.log('here')", on_error_stop => 0);
like($said, qr/this server is a standby: it answers what only reads, send this to the primary/, 'log() in SQL says why not');

# ---- limits hold while they cannot be looked up ----

$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 5 WHERE class = 'search'");
caught_up();
sub search_status { return $s->http(GET => '/api/v1/search', token => $org->{token}, query => { q => '"order 3"' })->{status}; }
$node->append_conf('postgresql.conf', "logsvc.lock_timeout = '50ms'");
$node->reload;
search_status();
{
	my $lock = $t->node->background_psql('postgres');
	$lock->query_safe('BEGIN; LOCK TABLE logsvc_internal.rate_limit');
	caught_up();
	my %got;
	$got{ $s->http(GET => '/api/v1/search', token => $limited->{token}, query => { q => '*' })->{status} }++ foreach 1 .. 10;
	is_deeply(\%got, { 200 => 5, 429 => 5 }, 'limits hold while they cannot be looked up');
	like($s->log_text, qr/could not look up a rate limit/, '... which the log says');
	$lock->query_safe('ROLLBACK');
	$lock->quit;
}
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1000000 WHERE class = 'search'");
caught_up();

# ---- a standby that is behind answers nothing ----

sub ready { return $s->http(GET => '/readyz?role=standby')->{status}; }
sub doctor_row { return $s->sql(q{SELECT d.state || ' ' || d.found FROM logsvc.doctor() d WHERE d."check" = 'standby'}); }
like(doctor_row(), qr/^ok \d.* s behind the primary; logsvc\.standby_max_lag = 1min/, 'doctor says how far it is behind');
like($s->http(GET => '/metrics')->{content}, qr/^logsvc_standby_lag_seconds [\d.e-]+$/m, '... and a figure');
unlike($t->http(GET => '/metrics')->{content}, qr/^logsvc_standby_lag_seconds \d/m, '... which a primary has not');
# It has the settings of its primary, and archives nothing.
like($s->sql(q{SELECT state || ' ' || found FROM logsvc.doctor() WHERE "check" = 'archive'}),
	qr/^ok the primary archives WAL/, 'doctor knows that it does not archive');
my $archive_age = "SELECT count(value) FROM logsvc_internal.database_figures() WHERE name = 'logsvc_wal_archive_age_seconds'";
is($s->sql($archive_age), 0, '... and there is no age of what was archived');
$node->append_conf('postgresql.conf', "logsvc.standby_max_lag = '4s'");
$node->reload;
ok(wait_until(sub { $s->sql('SHOW logsvc.standby_max_lag') eq '4s' }), 'a limit');
ok(wait_until(sub { ready() == 200 }), 'it is ready');
$s->sql('SELECT pg_wal_replay_pause()');
ok(wait_until(sub { $s->sql('SELECT pg_get_wal_replay_pause_state()') eq 'paused' }), 'replay is paused');
my $key = $t->http(POST => '/api/v1/api-keys', token => $org->{token}, json => { name => 'late', scope => 'read-only' });
is($key->{status}, 201, 'something happens on the primary') or diag $key->{content};
ok(wait_until(sub { ready() == 503 }), 'a standby that is behind is not ready');
$r = $s->http(GET => '/readyz');
is($r->{status}, 503, '... whatever role is asked for');
like($r->{content}, qr/too far behind the one that it follows/, '... and says why');
$r = $s->http(GET => '/api/v1/search', token => $org->{token}, query => { q => '*' });
is("$r->{status} $r->{json}{code}", '503 STANDBY_BEHIND', 'it answers no search');
ok($r->{headers}{'retry-after'}, '... with a time to try again');
is($s->http(POST => "/api/v1/shared/$link/data", json => {})->{json}{code}, 'STANDBY_BEHIND', '... nor a link');
is(post($s, 'behind')->{json}{code}, 'READ_ONLY_STANDBY', '... and events get the code that they get otherwise');
(undef, undef, $said) = $node->psql('postgres', "SELECT logsvc.use_token('$org->{read_key}')");
like($said, qr/too far behind the one that it follows/, 'nor is a key taken in SQL');
is($s->sql("SELECT logsvc.act_as('acme') ->> 'kind'"), 'operator', '... but operators look');
like(doctor_row(), qr/^error \d/, '... and see it');
cmp_ok(($s->http(GET => '/metrics')->{content} =~ /^logsvc_standby_lag_seconds ([\d.e-]+)$/m)[0], '>', 4, '... in figures, too');
$node->append_conf('postgresql.conf', 'logsvc.standby_max_lag = 0');
$node->reload;
ok(wait_until(sub { ready() == 200 }), 'without a limit it answers all the same');
$node->append_conf('postgresql.conf', "logsvc.standby_max_lag = '4s'");
$node->reload;
ok(wait_until(sub { ready() == 503 }), '... and with it no more');
$s->sql('SELECT pg_wal_replay_resume()');
ok(wait_until(sub { ready() == 200 }), 'it has caught up');
is(search_status(), 200, '... and answers');

# A connection that is lost may hide a revocation as well.
my $conninfo = $s->sql('SHOW primary_conninfo');
$s->set(primary_conninfo => 'host=/nowhere port=1');
ok(wait_until(sub { ready() == 503 }), 'a standby that has lost its primary');
is(search_status(), 503, '... answers nothing');
$s->set(primary_conninfo => $conninfo);
ok(wait_until(sub { ready() == 200 }), '... until it has found it again');
$node->append_conf('postgresql.conf', "logsvc.standby_max_lag = '1h'");
$node->reload;

# ---- a search in the way of the replay is tried again ----

$node->append_conf('postgresql.conf', 'max_standby_streaming_delay = 0');
$node->reload;
$t->sql('CREATE TABLE replayed AS SELECT 1 AS n');
$t->_stop_points;
caught_up();
$s->{stop_points} = 1;
ok(wait_until(sub { $s->sql('SHOW max_standby_streaming_delay') eq '0' }), 'replay does not wait');
$s->stop_at('execute_request');
my $answer = $t->node->data_dir . '/answer';
my $reader = fork;
if ($reader == 0)
{
	my $got = $s->http(GET => '/api/v1/search', token => $org->{token}, query => { q => '"order 4"' },
		client => 'reader');
	append_to_file($answer, "$got->{status} " . ($got->{json} && $got->{json}{data}
		? scalar @{ $got->{json}{data}{rows} } : $got->{content}));
	POSIX::_exit(0);
}
my $held = $s->wait_held('execute_request');
my $begun = "SELECT xact_start FROM pg_stat_activity WHERE pid = $held AND xact_start IS NOT NULL";
my $first = $s->sql($begun);
$t->sql('DELETE FROM replayed');
$t->sql('VACUUM replayed');
ok(wait_until(sub { my $now = $s->sql($begun); $now && $now ne $first }),
	'a search that is in the way of the replay is cancelled, and begun again');
$s->let_go('execute_request');
waitpid $reader, 0;
is(slurp_file($answer), '200 1', '... and answered at the second try');

# ---- promotion under load ----

$t->set('synchronous_standby_names', '*');
my $file = $t->node->data_dir . '/accepted';
my $sender = fork;
if ($sender == 0)
{
	open my $out, '>', $file or die;
	$out->autoflush(1);
	for (my $n = 0; ; $n++)
	{
		my $answer = eval { post($t, "load number$n") } or next;
		last if $answer->{status} != 202 && !kill 0, getppid;
		print $out "$n\n" if $answer->{status} == 202;
	}
	POSIX::_exit(0);
}
ok(wait_until(sub { -s $file > 500 }), 'events are accepted');
$t->node->stop('immediate');
$t->{running} = 0;
kill 'KILL', $sender;
waitpid $sender, 0;
open my $in, '<', $file or die;
my @accepted = grep { /^\d+\n\z/ } <$in>;
close $in;
chomp @accepted;
$node->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$node->reload;
# A request that begins on a standby and writes on a primary: of a link, whose answers are kept.
$s->stop_at('execute_request');
unlink $answer;
$reader = fork;
if ($reader == 0)
{
	my $got = $s->http(POST => "/api/v1/shared/$link/data", json => {}, client => 'viewer');
	append_to_file($answer, "$got->{status} $got->{json}{code} " . ($got->{headers}{'retry-after'} // ''));
	POSIX::_exit(0);
}
$s->wait_held('execute_request');
$node->promote;
my $promoted = time;
$s->let_go('execute_request');
waitpid $reader, 0;
is(slurp_file($answer), '503 SERVICE_UNAVAILABLE 1', 'a request across the promotion is to come again');
is($s->http(POST => "/api/v1/shared/$link/data", json => {})->{status}, 200, '... and is answered then');
ok(wait_until(sub { post($s, 'after the promotion')->{status} == 202 }), 'it takes events');
my $taken = time - $promoted;
note sprintf 'the first event was accepted %.2f s after the promotion', $taken;
cmp_ok($taken, '<', 30, 'soon');
ok(wait_until(sub { $s->http(GET => '/readyz?role=primary')->{status} == 200 }), 'it is the primary');
is($s->http(GET => '/readyz')->{headers}{'x-logsvc-role'}, undef, '... and says no more that it is a standby');
is($s->sql($pids), $before, 'the same processes answer');
my $found = $s->sql("SELECT logsvc.act_as('acme') IS NULL AS nobody; SELECT string_agg(event, ' ') FROM "
	. "logsvc.events('\"load\" earliest=-1h')");
my %found = map { $_ => 1 } $found =~ /number(\d+)/g;
cmp_ok(scalar @accepted, '>', 50, scalar(@accepted) . ' events were accepted before');
is_deeply([ grep { !$found{$_} } @accepted ], [], 'none of them is lost');
is($s->http(GET => '/api/v1/search', token => $org->{full_key}, query => { q => '*' })->{status}, 401,
	'what was revoked stays so');
$r = $s->http(POST => '/api/v1/saved-queries', token => $org->{token},
	json => { name => 'later', q => '*' });
is($r->{status}, 201, 'it takes what manages');
is($s->http(DELETE => "/api/v1/tokens/$org->{token_id}", token => $org->{token})->{status}, 204,
	'it revokes');
is($s->http(GET => '/api/v1/search', token => $org->{token}, query => { q => '*' })->{status}, 401,
	'... at once');

# ---- the way back of the old primary, as docs/operations.md has it ----

my $old = $t->node;
$node->safe_psql('postgres', 'CHECKPOINT');
my $settings = slurp_file($old->data_dir . '/postgresql.conf');
command_ok([ 'pg_rewind', '-D', $old->data_dir, '--source-server', $node->connstr('postgres'), '-R' ],
	'pg_rewind takes back what only the old primary has');
# It takes files of the data directory from the other server, settings too.
unlink $old->data_dir . '/postgresql.conf';
append_to_file($old->data_dir . '/postgresql.conf', $settings);
$old->start;
$t->{running} = 1;
ok(wait_until(sub { $t->http(GET => '/readyz?role=standby')->{status} == 200 }), 'it is a standby now') or diag $t->log_text;
ok(wait_until(sub {
		my $got = $t->http(GET => '/api/v1/search', token => $org->{read_key}, query => { q => '"after the promotion"' });
		return $got->{json} && @{ $got->{json}{data}{rows} // [] } > 0;
	}), '... and has what the new primary has taken');
is(post($t, 'to the old one')->{json}{code}, 'READ_ONLY_STANDBY', '... and takes nothing itself');
is($t->http(GET => '/api/v1/search', token => $org->{token}, query => { q => '*' })->{status}, 401,
	'... nor who was revoked since');
$old->stop;
$node->stop;
done_testing;
