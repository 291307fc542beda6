# workers.pl: the background workers one by one: killed, in want of slots,
# of the port, of the extension; pools resized; nothing preloaded.
#
# Takes long.
use strict;
use warnings;

use IO::Socket::INET;
use LogsvcAsync;
use LogsvcGateway ();
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf =>
	"logsvc.flush_interval = '50ms'\nlogsvc.executors = 2\nlogsvc.writers = 2");
my $org = $t->organization('acme');
my $search = '/api/v1/search?q=x';

sub ingest { return $t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
	json => { event => 'x' }, client => 'side', @_); }

sub count_workers { return scalar(my @pids = $t->workers("^logsvc $_[0]\$")); }

# Sends a worker a signal and waits until another one has its place.
sub replace_worker
{
	my ($pid, $signal) = @_;
	my $type = $t->sql("SELECT backend_type FROM pg_stat_activity WHERE pid = $pid");
	my $count = count_workers($type =~ s/^logsvc //r);

	kill $signal, $pid;
	return wait_until(sub {
		my @pids = $t->workers("^$type\$");
		@pids == $count && !grep { $_ == $pid } @pids;
	});
}

sub stored { return $t->sql(q{SELECT coalesce(sum(rows), 0) FROM logsvc_internal.part WHERE }
	. q{index_name <> '_audit'}); }
sub queued { return $t->sql('SELECT coalesce(sum(rows), 0) FROM logsvc_internal.queue'); }

is(join(' ', map { count_workers($_) } qw(launcher gateway acceptor executor evaluator writer
	compactor scheduler notifier watcher prober alerter exporter
	health)),
	'1 1 1 2 1 2 1 1 1 1 1 1 1 1', 'every pool has its size');

# With nothing to do they rest: none wakes up 30 times a second.
sub wake_ups
{
	my ($pid) = @_;
	open my $in, '<', "/proc/$pid/status" or return 0;
	local $/;
	return <$in> =~ /^voluntary_ctxt_switches:\s+(\d+)/m ? $1 : 0;
}

my @restless;
ok(wait_until(sub {
		my %before = map { $_ => wake_ups($_) } $t->workers;
		sleep 1;
		@restless = grep { wake_ups($_) - $before{$_} >= 30 } keys %before;
		return !@restless;
	}), 'workers without work rest')
	or diag($t->sql('SELECT backend_type FROM pg_stat_activity WHERE pid IN ('
		. join(',', @restless) . ')'));

# ---- SIGTERM to each kind, with a request in it ----

# A request that its worker holds at a stop point; what else is asked meanwhile.
my %kinds = (
	acceptor => {
		point => 'accept_before_commit',
		begin => sub { begin_request($t, POST => '/api/v1/logs', token => $org->{ingest_key},
			json => { event => 'held' }) },
		others => [ executor => sub { $t->http(GET => '/api/v1/search', token => $org->{ingest_key},
			client => 'o') }, 403 ] },
	executor => {
		point => 'execute_request',
		begin => sub { begin_request($t, GET => $search, token => $org->{token}) },
		others => [ acceptor => sub { ingest() }, 202,
			'other executor' => sub { $t->http(GET => '/api/v1/members',
				token => $org->{ingest_key}, client => 'o') }, 403 ] },
	evaluator => {
		point => 'evaluate_request',
		begin => sub { begin_request($t, POST => '/api/v1/evaluations/run-adhoc',
			token => $org->{token},
				json => { rows => ['x'], preview => JSON::PP::true }) },
		others => [ acceptor => sub { ingest() }, 202 ] });

foreach my $kind (sort keys %kinds)
{
	my $k = $kinds{$kind};

	$t->stop_at($k->{point});
	my $request = $k->{begin}->();
	my $pid = $t->wait_held($k->{point});
	is($t->sql("SELECT backend_type FROM pg_stat_activity WHERE pid = $pid"), "logsvc $kind",
		"a request is in the $kind");
	my @before = grep { $_ != $pid } $t->workers('^logsvc (?!launcher)');
	ok(replace_worker($pid, 'TERM'), "$kind: SIGTERM, and another one comes");
	my $r = end_request($request);
	is("$r->{status} $r->{json}{code}", '503 SERVICE_UNAVAILABLE', "$kind: its request gets 503");
	ok($r->{headers}{'retry-after'}, "$kind: with Retry-After");
	$t->let_go($k->{point});
	my %now = map { $_ => 1 } $t->workers;
	is(scalar(grep { !$now{$_} } @before), 0, "$kind: the other workers stay");
	$t->wait_ready;
	my @others = @{ $k->{others} };
	while (my ($name, $ask, $status) = splice @others, 0, 3)
	{
		is($ask->()->{status}, $status, "$kind: the $name goes on");
	}
	$r = end_request($k->{begin}->());
	isnt($r->{status}, 503, "$kind: the new one serves");
}

# Another request meanwhile: of another organization, as one alone may not have both executors, and
# no search, as searches may not have both either.
my $other = $t->organization('other');
$t->stop_at('execute_request');
my $held = begin_request($t, GET => $search, token => $org->{token});
my $pid = $t->wait_held('execute_request');
is(ingest()->{status}, 202, 'an event is accepted while an executor is held');
is($t->http(GET => '/api/v1/members', token => $other->{ingest_key}, client => 'o')->{status}, 403,
	'the other executor answers meanwhile');
kill 'INT', $pid;
my $r = end_request($held);
is("$r->{status} $r->{json}{code}", '408 QUERY_TIMEOUT',
	'SIGINT cancels the request that an executor runs');
$t->let_go('execute_request');

# A client that goes away cancels its query.
$t->stop_at('execute_request');
$held = begin_request($t, GET => $search, token => $org->{token});
$pid = $t->wait_held('execute_request');
close $held->{socket};
ok(wait_until(sub { !$t->sql("SELECT stop_point.held('execute_request')") }),
	'a client that goes away cancels its query');
$t->let_go('execute_request');

# SIGINT without anything to cancel ends nobody.
my @before = $t->workers;
kill 'INT', grep { $_ } $t->workers('^logsvc (acceptor|executor|evaluator|writer)$');
is(ingest()->{status}, 202, 'SIGINT to idle workers: events are accepted');
is($t->http(GET => '/api/v1/search', token => $org->{ingest_key}, client => 'o')->{status}, 403,
	'and requests executed');
ok(wait_until(sub { queued() == 0 }), 'and written');
is_deeply([ sort $t->workers ], [ sort @before ], 'the workers are the same');

# Writers: before and after their commit.
foreach my $point (qw(write_after_delete write_before_commit write_after_commit))
{
	my $stored = stored();
	$t->stop_at($point);
	is(ingest()->{status}, 202, "$point: an event");
	$pid = $t->wait_held($point);
	ok(replace_worker($pid, 'TERM'), "$point: SIGTERM, and another writer comes");
	$t->let_go($point);
	ok(wait_until(sub { queued() == 0 && stored() == $stored + 1 }),
		"$point: the event is stored once");
}

# After all that the depth is right: all that one of two organizations may have can be taken.
$t->set('logsvc.queue_limit', 1000);
ok(wait_until(sub { $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
				json => [ map { "x $_" } 1 .. 750 ])->{status} == 202 }), 'the depth is exact');
ok(wait_until(sub { queued() == 0 }), 'written');
$t->set('logsvc.queue_limit', 100000);

# ---- the gateway and the launcher ----

$t->stop_at('execute_request');
$held = begin_request($t, GET => $search, token => $org->{token});
$t->wait_held('execute_request');
my ($gateway) = $t->workers('^logsvc gateway$');
kill 'TERM', $gateway;
$r = end_request($held);
is($r->{status}, 503, 'gateway: SIGTERM, and what is in flight gets 503');
$t->let_go('execute_request');
ok(wait_until(sub { my @pids = $t->workers('^logsvc gateway$'); @pids == 1
	&& $pids[0] != $gateway }),
	'another gateway comes');
$t->wait_ready;
is(ingest()->{status}, 202, 'and finds the workers');

my ($launcher) = $t->workers('^logsvc launcher$');
my @others = grep { $_ != $launcher } $t->workers;
# Events that are on their way into the queue must not be forgotten by the new one.
$t->set('logsvc.queue_limit', 1000);
$t->stop_at('accept_before_commit');
$held = begin_request($t, POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ map { "x $_" } 1 .. 600 ]);
$t->wait_held('accept_before_commit');
kill 'TERM', $launcher;
# Before PostgreSQL 16 a postmaster that goes to sleep just then does not see the end of a worker
# until something wakes it up, such as a new connection.
ok(wait_until(sub {
		my @pids = split /\n/, $t->node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity"
			. " WHERE backend_type = 'logsvc launcher'");
		@pids == 1 && $pids[0] != $launcher;
	}),
	'launcher: SIGTERM, and another one comes');
is_deeply([ sort grep { my $p = $_; !grep { $_ == $p } $t->workers('^logsvc launcher$') }
	$t->workers ],
	[ sort @others ], 'the other workers stay');
# It knows the workers: one that ends is replaced.
ok(replace_worker(($t->workers('^logsvc evaluator$'))[0], 'TERM'),
	'the new launcher replaces a worker');
ok(wait_until(sub { $t->log_text =~ /is starting in database.*is starting in database/s }),
	'it has looked for the extension');
my @full = $t->sql_error("SELECT logsvc.act_as('acme'); SELECT logsvc.ingest((SELECT "
	. "jsonb_agg('x'::text) FROM generate_series(1, 151)))");
is($full[1], 'LS602', 'the depth outlives the launcher');
@full = $t->sql_error("SELECT logsvc.act_as('acme'); SELECT logsvc.ingest((SELECT "
	. "jsonb_agg('x'::text) FROM generate_series(1, 150)))");
is($full[1], '', 'as it was');
$t->let_go('accept_before_commit');
is(end_request($held)->{status}, 202, 'the events on their way are accepted');
ok(wait_until(sub { queued() == 0 }), 'written');
$t->set('logsvc.queue_limit', 100000);

# ---- an error inside ----

# The store refuses: events stay in the queue, the writer tries again.
my $position = $t->log_position;
my $stored = stored();
$t->sql('ALTER TABLE logsvc_internal.part ADD CONSTRAINT closed CHECK (false) NOT VALID');
is(ingest()->{status}, 202, 'an event while the store refuses');
ok(wait_until(sub { $t->log_text($position) =~ /could not write events to its store/ }),
	'the log says that it could not be written');
is(queued(), 1, 'it stays in the queue');
$t->sql('ALTER TABLE logsvc_internal.part DROP CONSTRAINT closed');
ok(wait_until(sub { queued() == 0 && stored() == $stored + 1 }), 'and is written later');

# The queue refuses: 503, and the acceptor stays.
my ($acceptor) = $t->workers('^logsvc acceptor$');
$t->sql('ALTER TABLE logsvc_internal.queue ADD CONSTRAINT closed CHECK (false) NOT VALID');
$r = ingest();
is("$r->{status} $r->{json}{code}", '503 QUEUE_UNAVAILABLE', 'the queue refuses: 503');
$t->sql('ALTER TABLE logsvc_internal.queue DROP CONSTRAINT closed');
is(ingest()->{status}, 202, 'and later not');
is(($t->workers('^logsvc acceptor$'))[0], $acceptor, 'the acceptor is the same');

# FATAL inside a transaction.
$t->stop_at('accept_before_commit');
$held = begin_request($t, POST => '/api/v1/logs', token => $org->{ingest_key},
	json => { event => 'x' });
$pid = $t->wait_held('accept_before_commit');
$t->sql("SELECT pg_terminate_backend($pid)");
is(end_request($held)->{status}, 503, 'FATAL in an acceptor: 503');
$t->let_go('accept_before_commit');
$t->wait_ready;
is(ingest()->{status}, 202, 'and the next one accepts');

# An acceptor that ends while it answers a failed transaction gives back its share once.
$t->set('logsvc.queue_limit', 1000);
sub batch { return $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ map { "x $_" } 1 .. $_[0] ], client => 'side'); }
ok(wait_until(sub { queued() == 0 }), 'the queue is empty');
$t->stop_at('write_after_delete');
is(ingest()->{status}, 202, 'an event for a writer to hold');
$t->wait_held('write_after_delete');
is(batch(599)->{status}, 202, '600 of 750 in the queue');
$t->stop_at($_) foreach qw(accept_before_commit accept_after_failure);
$held = begin_request($t, POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ map { "x $_" } 1 .. 100 ]);
$t->sql('SELECT pg_cancel_backend(' . $t->wait_held('accept_before_commit') . ')');
kill 'TERM', $t->wait_held('accept_after_failure');
is(end_request($held)->{status}, 503, 'SIGTERM while it answers a failed transaction: 503');
$t->let_go($_) foreach qw(accept_before_commit accept_after_failure);
$t->wait_ready;
is(batch(151)->{status}, 429, 'still 600 of 750');
is(batch(150)->{status}, 202, 'just 600 of 750');
$t->let_go('write_after_delete');
ok(wait_until(sub { queued() == 0 }), 'written');
$t->set('logsvc.queue_limit', 100000);

# ---- sizes ----

foreach my $pool (qw(acceptor executor evaluator writer))
{
	my $setting = "logsvc.${pool}s";
	my $was = $t->sql("SHOW $setting");
	$t->set($setting, 4);
	ok(wait_until(sub { count_workers($pool) == 4 }), "$setting grows to 4");
	$t->set($setting, 1);
	ok(wait_until(sub { count_workers($pool) == 1 }), "and shrinks to 1");
	$t->wait_ready;
	is(ingest()->{status}, 202, 'events are accepted') ;
	ok(wait_until(sub { queued() == 0 }), 'and written');
	$t->set($setting, $was);
}

$t->set('logsvc.compactors', 0);
ok(wait_until(sub { count_workers('compactor') == 0 }), 'no compactors');
is($t->http(GET => '/readyz')->{status}, 200, 'is ready, as that was asked for');
$t->set('logsvc.compactors', 1);

# Two acceptors at once: what they commit is written without a further event.
$t->set('logsvc.acceptors', 3);
ok(wait_until(sub { count_workers('acceptor') == 3 }), 'three acceptors');
$t->wait_ready;
foreach my $round (1 .. 5)
{
	my @requests = map { begin_request($t, POST => '/api/v1/logs', token => $org->{ingest_key},
		json => { event => 'x' }) } 1 .. 12;
	is(scalar(grep { end_request($_)->{status} == 202 } @requests), 12,
		'events by three acceptors');
	ok(wait_until(sub { queued() == 0 }), 'are written');
}
$t->stop;

# ---- in want of slots ----

my @workers;
my $few = LogsvcTest->new(name => 'few', ready => 0, conf => 'max_worker_processes = 6');
ok(wait_until(sub { $few->log_text =~ /cannot start all of its workers/ }),
	'too few max_worker_processes');
ok(stays(sub { 1 == (my @lines = $few->log_text =~ /(cannot start all of its workers)/g) }, 2.5),
	'is said once');
like($few->log_text, qr/HINT:  Set max_worker_processes to at least 20/,
	'with the setting to change');
unlike($few->log_text, qr/WARNING|ERROR|FATAL|PANIC/, 'and no other complaint');
ok(wait_until(sub { ($r = $few->http(GET => '/readyz', timeout => 5))->{status} == 503 })
	&& $r->{json}{code} eq 'SERVICE_UNAVAILABLE', 'the service is not ready')
	or diag "$r->{status} $r->{content}";
like($r->{json}{error}, qr/^not running: (?:\w+, )*writer, scheduler, notifier, compactor, watcher, prober, alerter, exporter, health$/,
	'and says which workers are missing');
is($few->http(GET => '/healthz', timeout => 5)->{status}, 200, 'but alive');
$few->stop;

# With slots for one of four writers the events of every organization are written.
my $one = LogsvcTest->new(name => 'one', ready => 0,
	conf => "max_worker_processes = 10\nlogsvc.flush_interval = '50ms'");
ok(wait_until(sub { $one->log_text =~ /cannot start all of its workers/ }),
	'too few slots for the writers');
ok(wait_until(sub { $r = $one->http(GET => '/readyz', timeout => 5);
	($r->{json}{error} // '') eq 'not running: scheduler, notifier, compactor, watcher, prober, alerter, exporter, health' }),
	'not ready without those that no request needs at once') or diag $r->{content};
ok(wait_until(sub { @workers = $one->workers('^logsvc writer$'); @workers == 1 }), 'one runs');
foreach my $n (1 .. 12)
{
	my $sender = $one->organization("org$n");
	is($one->http(POST => '/api/v1/logs', token => $sender->{ingest_key},
		json => { event => 'x' })->{status}, 202, "an event of organization $n");
}
ok(wait_until(sub { $one->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }),
	'all are written');
$one->set('logsvc.executors', 1);
ok(wait_until(sub { my @writers = $one->workers('^logsvc writer$'); @writers == 4 }),
	'slots that become free are used');
$one->stop;

# ---- the port is in use ----

my $port = LogsvcTest->new(name => 'port', start => 0);
my $squatter = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1',
	LocalPort => $port->http_port)
  or die "cannot listen: $!";
$port->start;
$port->create_extension;
ok(wait_until(sub { $port->log_text =~ /cannot listen for HTTP: .*in use/i }),
	'the port is in use: the log says so')
  or diag $port->log_text;
like($port->log_text, qr/HINT:  Change logsvc.listen_addresses and logsvc.port/,
	'with the setting');
ok(stays(sub { 1 == (my @lines = $port->log_text =~ /(cannot listen for HTTP)/g) }, 2.5),
	'once');
close $squatter;
$port->wait_ready;
pass('the port is free again: the service comes up');
$port->stop;

# ---- the extension is missing, or of another version ----

my $bare = LogsvcTest->new(name => 'bare', extension => 0);
ok(wait_until(sub { $bare->log_text =~ /waiting: its extension is not in database "postgres"/ }),
	'without the extension the log says so');
is(scalar(@workers = $bare->workers), 1, 'and only the launcher runs');
$bare->sql('CREATE DATABASE elsewhere');
$bare->sql("CREATE EXTENSION logsvc; SELECT logsvc.create_organization('early')",
	database => 'elsewhere');
{
	my $stderr;
	$bare->node->psql('elsewhere', "SELECT logsvc.act_as('early'); SELECT logsvc.log('x'); SELECT "
		. "logsvc.log('y')", stderr => \$stderr);
	my $warning = qr/WARNING:  logsvc does not run, and not in this database: events wait in the queue of "elsewhere"\nHINT:  /;
	is(scalar(() = $stderr =~ /$warning/g), 1, 'events in a database where it will not run: a warning, once')
		or diag $stderr;
}
$bare->create_extension;
$bare->wait_ready;
pass('CREATE EXTENSION starts the workers');
is(scalar(my @said = $bare->log_text =~ /(waiting: its extension)/g), 1, 'it was said once');

$bare->stop;
$bare->start;
$bare->wait_ready;
$bare->sql("UPDATE pg_extension SET extversion = '0.0.1' WHERE extname = 'logsvc'");
$bare->stop;
$position = $bare->log_position;
$bare->start;
ok(wait_until(sub { $bare->log_text($position) =~ /is not of version \S+, that of the library/ }),
	'another version: the log says so');
like($bare->log_text($position), qr/HINT:  Run ALTER EXTENSION logsvc UPDATE/, 'with what to do');
ok(wait_until(sub { $bare->sql(q{SELECT string_agg(backend_type, ', ' ORDER BY backend_type) FROM }
	. q{pg_stat_activity WHERE backend_type ~ '^logsvc'}) eq 'logsvc gateway, logsvc launcher' }),
	'and only the launcher and the gateway run, which says why');
ok(stays(sub { $bare->workers == 2 }, 1), 'no other');
$bare->stop;

# ---- settings of the gateway ----
{
	my $t = LogsvcTest->new(name => 'reload');
	my $pid = sub { $t->sql("SELECT pid FROM pg_stat_activity WHERE backend_type = "
		. "'logsvc gateway'") };
	my $before = $pid->();

	$t->set('logsvc.flush_interval', '500ms');
	is($t->http(GET => '/readyz')->{status}, 200, 'a reload of another setting');
	is($pid->(), $before, 'leaves the gateway alone');
	$t->set('logsvc.idle_timeout', '50s');
	ok(wait_until(sub { my $now = $pid->(); $now && $now ne $before }),
		'a reload of its own settings restarts it');
	$t->wait_ready;
	like($t->log_text, qr/gateway is restarting with changed settings/, 'and is logged');

	# A certificate that cannot be used does not cost the service its port.
	$before = $pid->();
	my $position = $t->log_position;
	my $dir = LogsvcGateway::certificate();
	$t->set('logsvc.tls_certificate', "$dir/cert.pem");
	ok(wait_until(sub { $t->log_text($position) =~ /keeps its former settings: .*/ }),
		'a certificate without a key');
	like($t->log_text($position), qr/logsvc\.tls_certificate is set, but logsvc\.tls_key is not.*\n.*HINT:  Correct the setting or the file, then reload/,
		'says what is missing');
	is($t->http(GET => '/readyz')->{status}, 200, 'the gateway still listens');
	is($pid->(), $before, 'the same one');
	$t->set('logsvc.tls_key', "$dir/key.pem");
	my $url = 'https://localhost:' . $t->http_port;
	ok(wait_until(sub { `curl -sS -m 5 --cacert $dir/cert.pem $url/healthz 2> /dev/null` =~ /ok/ }),
		'with the key it speaks TLS');

	# At a start there is nothing to keep.
	$t->stop;
	unlink "$dir/key.pem" or die;
	$position = $t->log_position;
	$t->start;
	ok(wait_until(sub { $t->log_text($position) =~
		/cannot listen for HTTP: could not open the file of logsvc\.tls_key: .*\n.*HINT:  Correct the setting or the file/ }), 'a start without the key file says so');
	$t->stop;
}

# ---- events from SQL in a database without the service ----
{
	my $t = LogsvcTest->new(name => 'elsewhere');

	$t->sql('CREATE DATABASE elsewhere');
	my $stderr;
	$t->node->psql('elsewhere', 'CREATE EXTENSION logsvc', stderr => \$stderr);
	like($stderr, qr/NOTICE:  logsvc runs in database "postgres" \(logsvc\.database\), not in "elsewhere".*\nDETAIL:  .*\nHINT:  Create the extension in database "postgres" instead, or set logsvc\.database = 'elsewhere'/,
		'CREATE EXTENSION there says where the service runs');
	$t->sql("SELECT logsvc.create_organization('other')", database => 'elsewhere');
	my (undef, $state, $message) = $t->sql_error("SELECT logsvc.act_as('other'); SELECT "
		. "logsvc.log('x')",
		database => 'elsewhere');
	is($state, '55000', 'events that no writer would see are refused');
	like($message, qr/does not run in this database/, 'and why');
	$t->organization('acme');
	is(($t->sql_error("BEGIN; SELECT logsvc.act_as('acme'); SELECT logsvc.log('x'); PREPARE "
		. "TRANSACTION 'p'"))[1],
		'0A000', 'a transaction with events is not prepared');
	($t->sql_error("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"));
	is(($t->sql_error('CREATE EXTENSION logsvc', database => 'latin'))[1], '0A000',
		'a database of another encoding is refused');
	$t->stop;
}

# ---- not preloaded ----

my $plain = LogsvcTest->new(name => 'plain', start => 0);
my $conf = join "\n", grep { !/^logsvc\.|shared_preload_libraries/ }
  split /\n/, PostgreSQL::Test::Utils::slurp_file($plain->node->data_dir . '/postgresql.conf');
open my $file, '>', $plain->node->data_dir . '/postgresql.conf' or die;
print $file "$conf\n";
close $file;
$plain->start;
{
	my ($stdout, $stderr);
	$plain->node->psql('postgres', 'CREATE EXTENSION logsvc', stderr => \$stderr);
	like($stderr, qr/WARNING:  logsvc is not in shared_preload_libraries.*\nDETAIL:  .*\nHINT:  Add logsvc/,
		'not preloaded: CREATE EXTENSION says so');
}
is($plain->sql(q{SELECT count FROM logsvc.patterns(ARRAY['a 1', 'a 2', 'a 3'])}), 3,
	'not preloaded: patterns');
my $free = $plain->sql_json(q{SELECT logsvc.create_organization('acme', 'pro')});
is($free->{slug}, 'acme', 'create_organization');
is($plain->sql(q{SELECT logsvc.act_as('acme'); SELECT logsvc.run_adhoc(rows => ARRAY['a', 'b'], }
	. q{preview => true)->>'inputRowCount'}) =~ s/.*\n//sr,
	2, 'run_adhoc');
foreach my $call (q{logsvc.ingest('["x"]')}, q{logsvc.log('x')})
{
	my ($stdout, $stderr);
	$plain->node->psql('postgres', "SELECT logsvc.act_as('acme');\n\\set VERBOSITY verbose\nSELECT "
		. "$call", stderr => \$stderr);
	like($stderr, qr/LS801: .*\nHINT:  Add logsvc to shared_preload_libraries/,
		"$call raises with a hint");
}
is($plain->sql(q{SELECT logsvc.act_as('acme'); SELECT count(*) FROM logsvc.events('x')})
	=~ s/.*\n//sr, 0, 'a search needs no worker');
my ($stdout, $stderr);
$plain->node->psql('postgres', q{
	CREATE FUNCTION held(text) RETURNS int LANGUAGE C STRICT AS '$libdir/logsvc', 'logsvc_stop_point_held';
	\set VERBOSITY verbose
	SELECT held('x');}, stderr => \$stderr);
like($stderr, qr/ERROR:  LS801: logsvc is not in shared_preload_libraries/,
	'what needs shared memory raises');
like($stderr, qr/HINT:  Add logsvc to shared_preload_libraries/, 'with a hint');
$plain->stop;

done_testing;
