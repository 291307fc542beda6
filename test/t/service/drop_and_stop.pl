# drop_and_stop.pl: DROP EXTENSION, DROP DATABASE and a stop of the server while the
# service is at work: each is done within 5 seconds, and no request hangs.
use strict;
use warnings;

use IO::Select;
use LogsvcAsync;
use LogsvcTest;
use POSIX ();
use Test::More;
use Time::HiRes qw(time sleep);

my $limit = 5;
my $t = LogsvcTest->new(conf =>
	"logsvc.flush_interval = '50ms'\nlogsvc.executors = 2\nlogsvc.acceptors = 2");
my $org = $t->organization('acme');

# Runs SQL in a database: the seconds that it took.
sub timed
{
	my ($database, $query) = @_;
	my $start = time;
	my ($out, $state, $message) = $t->sql_error($query, database => $database);
	diag "$query: $state $message" if $state;
	note sprintf '%s: %.2f s', $query, time - $start;
	return $state ? 1000 : time - $start;
}

# Clients that send events until told to stop: counts of what they got. Returns when the
# service has accepted an event of each.
my @load;

sub start_load
{
	foreach my $number (1 .. 3)
	{
		pipe my $read, my $write or die;
		my $pid = fork // die;
		if ($pid == 0)
		{
			my %seen = (202 => 0);
			my $stop = 0;
			my $parent = getppid;
			local $SIG{TERM} = sub { $stop = 1 };
			while (!$stop && getppid == $parent)
			{
				my $start = time;
				my $r = request($t, POST => '/api/v1/logs', token => $org->{ingest_key},
					json => { event => 'load' });
				# The parent waits for this byte: the load is accepted from here on.
				syswrite $write, '.' if $r->{status} == 202 && !$seen{202};
				$seen{ $r->{status} }++;
				$seen{slow}++ if time - $start > 5;
				sleep 0.02 if $r->{status} != 202;
			}
			print $write join(' ', %seen), "\n";
			close $write;
			POSIX::_exit(0);
		}
		close $write;
		push @load, { pid => $pid, read => $read };
	}
	foreach my $client (@load)
	{
		IO::Select->new($client->{read})->can_read(30) or die 'no event of the load was accepted';
		sysread($client->{read}, my $accepted, 1) or die 'a client of the load ended';
	}
	return;
}

sub stop_load
{
	my %seen;
	kill 'TERM', map { $_->{pid} } @load;
	foreach my $client (@load)
	{
		my %mine = split ' ', readline($client->{read}) // '';
		$seen{$_} += $mine{$_} foreach keys %mine;
		waitpid $client->{pid}, 0;
	}
	@load = ();
	return \%seen;
}

# Requests that workers hold at their stop points, one in each pool.
sub hold
{
	my @requests = (
		begin_request($t, POST => '/api/v1/evaluations/run-adhoc', token => $org->{token},
			json => { rows => ['x'], preview => JSON::PP::true }),
		begin_request($t, GET => '/api/v1/search?q=x', token => $org->{token}),
		begin_request($t, GET => '/api/v1/search?q=y', token => $org->{token}),
		# One that waits: both executors are taken.
		begin_request($t, GET => '/api/v1/search?q=z', token => $org->{token}));
	$t->wait_held($_) foreach qw(evaluate_request execute_request);
	return @requests;
}

my @points = qw(evaluate_request execute_request);

sub check_held
{
	my ($name, @requests) = @_;
	foreach my $request (@requests)
	{
		my $r = end_request($request, $limit);
		is("$r->{status} " . ($r->{json}{code} // ''), '503 SERVICE_UNAVAILABLE',
			"$name: a held request gets 503");
	}
	return;
}

sub check_load
{
	my ($name) = @_;
	my $seen = stop_load();
	cmp_ok($seen->{202}, '>', 0, "$name: events were accepted");
	is($seen->{slow} // 0, 0, "$name: no request of the load took 5 s");
	is(join(' ', sort grep { !/^(202|503|0|slow)$/ } keys %$seen), '',
		"$name: 202, 503 or no connection, nothing else")
	  or diag join ' ', %$seen;
	note "$name: ", join ' ', map { "$_: $seen->{$_}" } sort keys %$seen;
	return;
}

# ---- DROP EXTENSION ----

foreach my $how ('DROP EXTENSION logsvc', 'BEGIN; DROP EXTENSION logsvc; ROLLBACK')
{
	my $name = $how =~ /ROLLBACK/ ? 'DROP EXTENSION rolled back' : 'DROP EXTENSION';
	$t->stop_at($_) foreach @points;
	start_load();
	my @held = hold();
	my $seconds = timed('postgres', $how);
	cmp_ok($seconds, '<', $limit, sprintf '%s under load: %.2f s', $name, $seconds);
	check_held($name, @held);
	$t->let_go($_) foreach @points;
	if ($how !~ /ROLLBACK/)
	{
		check_load($name);
		is($t->sql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'logsvc%'"), 0,
			'nothing of it is left');
		is(scalar(my @workers = $t->workers), 1, 'only the launcher runs');
		$t->sql("DROP SCHEMA IF EXISTS logsvc_internal CASCADE");
		my $start = time;
		$t->create_extension;
		$t->wait_ready;
		note sprintf 'CREATE EXTENSION to ready: %.2f s', time - $start;
		$org = $t->organization('acme');
	}
	else
	{
		$t->wait_ready;
		check_load($name);
	}
	is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
		json => { event => 'after' })->{status}, 202,
		"$name: the service is back");
	ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }),
		"$name: and writes");
}

# A session that holds a lock on a table: the drop waits for it, not the service for ever.
{
	my $blocker = $t->node->background_psql('postgres');
	$blocker->query_safe('BEGIN; SELECT count(*) FROM logsvc_internal.part');
	my ($out, $state) = $t->sql_error("SET lock_timeout = '1s'; DROP EXTENSION logsvc");
	is($state, '55P03', 'DROP EXTENSION fails at the lock of a session');
	$blocker->query_safe('ROLLBACK');
	$blocker->quit;
	$t->wait_ready;
	is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
		json => { event => 'after' })->{status}, 202,
		'and the service is back');
}

# Who may not drop it cannot pause the service either.
$t->sql('CREATE ROLE nobody_special LOGIN');
my @before = sort $t->workers;
my ($out, $state) = $t->sql_error('DROP EXTENSION logsvc', user => 'nobody_special');
is($state, '42501', 'DROP EXTENSION by somebody without the right');
($out, $state) = $t->sql_error('DROP DATABASE postgres', user => 'nobody_special',
	database => 'template1');
is($state, '42501', 'DROP DATABASE by somebody without the right');
is_deeply([ sort $t->workers ], \@before, 'neither ends a worker');
$t->stop;

# ---- DROP DATABASE ----

foreach my $how ('DROP DATABASE logs', 'DROP DATABASE logs WITH (FORCE)')
{
	my $name = $how =~ /FORCE/ ? 'DROP DATABASE (FORCE)' : 'DROP DATABASE';
	$t = LogsvcTest->new(name => $how =~ /FORCE/ ? 'force' : 'drop', extension => 0,
		conf => "logsvc.database = 'logs'\nlogsvc.flush_interval = '50ms'\nlogsvc.executors = 2");
	ok(wait_until(sub { $t->log_text =~ /waiting: database "logs" does not exist/ }),
		'the log says that the database is missing');
	$t->sql('CREATE DATABASE logs');
	$t->{database} = 'logs';
	$t->create_extension;
	$t->wait_ready;
	pass('CREATE DATABASE and CREATE EXTENSION start the service');
	$org = $t->organization('acme');
	$t->stop_at($_) foreach @points;
	start_load();
	my @held = hold();
	my $seconds = timed('postgres', $how);
	cmp_ok($seconds, '<', $limit, sprintf '%s under load: %.2f s', $name, $seconds);
	check_held($name, @held);
	check_load($name);
	$t->{database} = 'postgres';
	ok(wait_until(sub { my @said = $t->log_text =~ /(waiting: database "logs" does not exist)/g;
		@said == 2 }),
		'the log says that it is gone');
	$t->sql('CREATE DATABASE logs');
	$t->{database} = 'logs';
	delete $t->{stop_points};
	$t->create_extension;
	$t->let_go($_) foreach @points;
	$t->wait_ready;
	pass('a new one starts the service again');
	$t->stop;
}

# ---- pg_ctl stop ----

$t = LogsvcTest->new(name => 'stop', conf =>
	"logsvc.flush_interval = '50ms'\nlogsvc.executors = 2");
$org = $t->organization('acme');
foreach my $mode (qw(fast smart))
{
	# A smart stop waits for sessions, not for background workers.
	$t->stop_at($_) foreach @points;
	start_load();
	my @held = hold();
	my $start = time;
	$t->stop($mode);
	my $seconds = time - $start;
	note sprintf 'pg_ctl stop -m %s: %.2f s', $mode, $seconds;
	cmp_ok($seconds, '<', $limit, sprintf 'pg_ctl stop -m %s under load: %.2f s', $mode, $seconds);
	check_held("stop -m $mode", @held);
	check_load("stop -m $mode");
	delete $t->{stop_points};
	$t->start;
	$t->wait_ready;
	is($t->sql('SELECT count(*) FROM logsvc_internal.queue WHERE rows < 0'), 0, 'it starts again');
}
unlike($t->log_text, qr/PANIC|TRAP|was terminated by signal/, 'nothing crashed');
$t->stop;

done_testing;
