# soak.pl: whatever happens to the server, an event that was accepted is stored once
# or a dead letter, none is there twice, and the depth of the queue is exact; what pipelines mask or
# drop is stored nowhere; each alert is raised and told once, each period exported once.
#
#	make soak                          60 rounds, some 20 minutes
#	make soak ROUNDS=10 SEED=7         other faults; the seed of a run is printed
#	make soak FAULTS=full,lock         only faults whose names match, one after the other
#	make soak DURATION=3600            no faults: load for that time, what searches find, memory of
#	each worker
#
# Each round sends events of all kinds from four clients, does something bad at a
# random moment, waits until the service has recovered, and compares.  SECONDS: how
# long a fault that lasts is held; LOCK_SECONDS: the same of locks.
use strict;
use warnings;

use lib 'test/soak';
use LogsvcSoak;
use LogsvcSoakWorkspace;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $rounds = $ENV{ROUNDS} || 60;
my $seed = $ENV{SEED} || time % 100_000;
my $hold = $ENV{SECONDS} || 6;
my $lock_hold = $ENV{LOCK_SECONDS} || 60;
my $duration = $ENV{DURATION} || 0;
my $dir = PostgreSQL::Test::Utils::tempdir();
my $disk = $ENV{SMALL_DISK};    # test/run: small file systems, when it may mount them

$seed = int $seed;
srand $seed;
my $t = LogsvcTest->new(conf => join "\n", 'restart_after_crash = on',
	"logsvc.flush_interval = '200ms'", "logsvc.webhook_networks = '127.0.0.0/8'",
	'logsvc.alert_workers = 2', 'logsvc.exporters = 2',
	'logsvc.status_probe = ' . ($ENV{WORKSPACE} // 1 ? 'on' : 'off'),
	'logsvc.acceptors = 2', 'logsvc.executors = 2', 'logsvc.store_timeout = 5min',
		'log_min_messages = warning',
	'log_checkpoints = off', "logsvc.model_region = 'eu-central-1'");
my @orgs = map { $t->organization($_) } qw(acme globex initech masked);
$orgs[-1]{pipeline} = 1;
my $load = LogsvcSoak->new($t, orgs => \@orgs, dir => $dir);
my $work = $ENV{WORKSPACE} // 1 ? LogsvcSoakWorkspace->new($t, dir => $dir) : undef;

sub say_it { my $out = Test::More->builder->output; print $out "# @_\n"; return; }

# ---- faults ----

sub partitions
{
	my ($parent) = @_;
	return split /\n/, $t->sql("SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = "
		. "'$parent'::regclass");
}

# Statements that wait for no worker for long; a lock that is not to be had now is later.
sub change
{
	my ($sql) = @_;
	wait_until(sub { $t->sql("SET lock_timeout = '2s'; $sql"); 1 }, 60) or die "could not: $sql\n";
	return;
}

# For the time of a fault; the load goes on.
sub hold_for { sleep $_[0] // $hold * (0.5 + rand); return; }

sub locked
{
	my ($table) = @_;
	my $session = $t->node->background_psql($t->{database});
	$session->query_safe("BEGIN; LOCK TABLE $table IN ACCESS EXCLUSIVE MODE");
	hold_for($lock_hold);
	$session->query_safe('ROLLBACK');
	$session->quit;
	return;
}

sub fill
{
	my ($file) = @_;
	open my $out, '>', $file or die "$file: $!";
	binmode $out;
	foreach my $size (1 << 20, 4096) { 1 while syswrite $out, "\0" x $size; }
	close $out;
	return;
}

sub full
{
	my ($which, $seconds) = @_;
	$load->repack('true') if $which eq 'store';
	fill("$disk/$which/filler");
	hold_for($seconds);
	unlink "$disk/$which/filler" or die;
	return;
}

# An event that nobody can tell the fault of: tried after 1, 2, 4, 8 and 16 s, then a
# dead letter, and stored when it is replayed; the load goes on meanwhile.
sub poison
{
	my $letters = q{SELECT count(*) FROM logsvc_internal.dead_letter WHERE reason = 'rejected' AND }
		. q{sqlstate = 'P0001'};
	my $began = time;
	change('CREATE TRIGGER refuse_one BEFORE INSERT ON logsvc_internal.part FOR EACH ROW'
		. q{ WHEN (NEW.index_name = 'poison') EXECUTE FUNCTION public.refuse('P0001')});
	$t->http(POST => '/api/v1/logs', token => $orgs[0]{ingest_key},
		json => { event => 'refused', index => 'poison' })->{status} == 202
	  or die "not accepted\n";
	ok(wait_until(sub { $t->sql("$letters AND status = 'dead' AND attempts = 6") }, 60),
		'after 5 retries it is a dead letter');
	cmp_ok(time - $began, '>', 30, 'which took 31 s');
	change('DROP TRIGGER refuse_one ON logsvc_internal.part');
	$t->http(POST => '/api/v1/dead-letters/replay', token => $orgs[0]{token},
		json => { filter => {} });
	ok(wait_until(sub { $t->sql("$letters AND status = 'replayed'")
			&& $t->sql("SELECT count(*) FROM logsvc_internal.part WHERE index_name = 'poison'")
				== 1 }, 20), 'and stored when it is replayed');
	return;
}

my @workers = qw(gateway acceptor writer executor evaluator scheduler notifier launcher
	compactor watcher alerter exporter health prober);

# A worker of a kind that is chosen first: there are more writers than launchers.
sub some_worker
{
	my $kind = $workers[ rand @workers ];
	my @pids = $t->workers("^logsvc $kind");
	return $pids[ rand @pids ] || some_worker();
}

sub all_processes
{
	my $postmaster = $t->node->{_pid};
	return grep { $_ ne $postmaster } split ' ', `ps -o pid= --ppid $postmaster`;
}

sub wait_recovered
{
	wait_until(sub { $t->sql('SELECT 1') }, 60) or die "the server does not recover\n";
	$t->wait_ready(60);
	return;
}

my %faults = (
	# name => [weight, sub, what the log must say]
	'SIGKILL of the postmaster' => [ 10, sub { $t->crash; $t->start; } ],
	'SIGKILL of one worker' => [ 14, sub { kill 'KILL', some_worker(); sleep 0.2; } ],
	'SIGKILL of two workers' => [ 3, sub { kill 'KILL', some_worker(); sleep rand;
		eval { kill 'KILL', some_worker(); }; sleep 0.2; } ],
	'SIGKILL at a stop point' => [ 10, sub { $work->at_stop_point(\&kill_process); } ],
	'SIGKILL of the postmaster at a stop point' => [ 5, sub {
		$work->at_stop_point(sub { $t->crash; $t->start; }); } ],
	'SIGKILL of any process' => [ 4, sub { my @p = all_processes(); kill 'KILL', $p[ rand @p ];
		sleep 0.2; } ],
	'SIGTERM of one worker' => [ 3, sub { kill 'TERM', some_worker(); } ],
	'pg_ctl stop -m immediate' => [ 6, sub { $t->stop('immediate'); $t->start; } ],
	'pg_ctl stop -m fast' => [ 2, sub { $t->stop('fast'); $t->start; } ],
	'full disk of the store' => [ 3, sub { full('store') }, qr/could not extend file/ ],
	'full disk of the queue' => [ 3, sub { full('queue') }, qr/could not extend file/ ],
	'full disk of the store for long' => [ 1, sub {
		$t->set('logsvc.store_timeout', '3s'); full('store', 14);
		$t->set('logsvc.store_timeout', '5min'); },
			qr/moved \d+ events to the dead letters: its store/ ],
	'read-only' => [ 2, sub {
		$t->sql('ALTER SYSTEM SET default_transaction_read_only = on'); $t->reload; hold_for();
		$t->sql('SET default_transaction_read_only = off; ALTER SYSTEM RESET '
			. 'default_transaction_read_only'); $t->reload; }, qr/read-only transaction/ ],
	'store renamed' => [ 2, sub {
		change('ALTER TABLE logsvc_internal.part RENAME TO away'); hold_for();
			change('ALTER TABLE logsvc_internal.away RENAME TO part'); } ],
	'queue renamed' => [ 1, sub {
		change('ALTER TABLE logsvc_internal.queue RENAME TO away'); hold_for();
			change('ALTER TABLE logsvc_internal.away RENAME TO queue'); } ],
	'store refuses' => [ 2, sub {
		change('CREATE TRIGGER refuse BEFORE INSERT ON logsvc_internal.part FOR EACH ROW EXECUTE '
			. 'FUNCTION public.refuse()');
		hold_for(); change('DROP TRIGGER refuse ON logsvc_internal.part'); } ],
	'store refuses, and SIGKILL' => [ 2, sub {
		change('CREATE TRIGGER refuse BEFORE INSERT ON logsvc_internal.part FOR EACH ROW EXECUTE '
			. 'FUNCTION public.refuse()');
		hold_for(); kill 'KILL', some_worker(); sleep 1; wait_recovered();
			change('DROP TRIGGER refuse ON logsvc_internal.part'); } ],
	'permissions revoked' => [ 1, sub {
		# Of the workers only executors notice: the others are superusers.
		change('REVOKE ALL ON logsvc_internal.part, logsvc_internal.queue FROM PUBLIC, '
			. 'CURRENT_USER, logsvc_reader'); hold_for(1);
		change('GRANT ALL ON logsvc_internal.part, logsvc_internal.queue TO CURRENT_USER;'
			. ' GRANT SELECT ON logsvc_internal.part, logsvc_internal.queue TO logsvc_reader'); } ],
	'old snapshot, and SIGKILL' => [ 2, sub {
		my $session = $t->node->background_psql($t->{database}, on_error_stop => 0);
		$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current()');
		hold_for(); kill 'KILL', some_worker(); sleep 0.2; eval { $session->quit; }; } ],
	# One round each of those that take long.
	'an event that is refused to the end' => [ 0, \&poison ],
	'lock on the store' => [ 0, sub { locked('logsvc_internal.part') } ],
	'lock on the queue' => [ 0, sub { locked('logsvc_internal.queue') } ],
);

if ($disk && !$duration)
{
	$t->sql("CREATE TABLESPACE small_$_ LOCATION '" . $t->small_disk($_) . "'")
		foreach qw(store queue);
	change("ALTER TABLE $_ SET TABLESPACE small_store") foreach partitions('logsvc_internal.part');
	change("ALTER TABLE $_ SET TABLESPACE small_queue") foreach partitions('logsvc_internal.queue');
}
else
{
	say_it('no small file system here (root mounts them): no rounds with a full disk')
		unless $duration;
	delete @faults{ grep { /full/ } keys %faults };
}
delete @faults{ grep { /stop point/ } keys %faults } unless $work;
if ($ENV{FAULTS})
{
	my $wanted = join '|', map { quotemeta } split /,/, $ENV{FAULTS};
	delete @faults{ grep { !/$wanted/ } keys %faults };
	die "no fault matches\n" unless %faults;
}
$t->sql(q{CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN RAISE 'refused' USING ERRCODE = coalesce(TG_ARGV[0], '42501'); END $$});
$t->sql(q{SELECT logsvc.act_as('acme'); SELECT logsvc.create_index('poison')});

# Each once, in any order, and then by their weights.
my @schedule = sort keys %faults;
@schedule = map { splice @schedule, rand @schedule, 1 } 1 .. @schedule unless $ENV{FAULTS};
sub choose
{
	my ($round) = @_;
	return $schedule[ $round - 1 ] if $round <= @schedule;
	my @names = map { ($_) x ($ENV{FAULTS} ? 1 : $faults{$_}[0]) } sort keys %faults;
	return $names[ $ENV{FAULTS} ? ($round - 1) % @names : rand @names ];
}

# ---- rounds ----

my %sum = map { $_ => 0 } qw(accepted missing twice strange dead unmasked dropped);
my %status;
my $start = time;

sub run_round
{
	my ($round, $name) = @_;
	my $began = time;
	my $from = $t->log_position;

	$work->begin($round, dead_letters => scalar $name =~ /for long/) if $work;
	$load->start("round $round", clients => 4, seed => $seed + $round);
	# At stop points it begins when workers are held.
	$work->start_export if $work && $name !~ /stop point/;
	sleep 0.3 + rand 1.5;
	$faults{$name}[1]->();
	wait_recovered();
	sleep 0.3;
	$load->stop;
	$work->end if $work;
	my $left = $load->settle(180);
	my %result = $load->check;
	my $codes = $load->statuses;
	my $strange = join ' ', map { "$codes->{$_} x $_" } grep { !/^(202|429|503|599)$/ }
		sort keys %$codes;

	# Its counters are right when one event more goes through.
	my $r = $t->http(POST => '/api/v1/logs', token => $orgs[0]{ingest_key},
		json => { event => "round $round probe" });
	my $probed = $r->{status} == 202 && $load->settle(10) eq '';
	my $good = $left eq '' && $probed && $strange eq '' && !grep { $result{$_} } qw(missing twice
		strange dead unmasked);

	# A round in which nothing was accepted shows nothing.
	$good = 0 if !$result{accepted};

	if ($faults{$name}[2] && $t->log_text($from) !~ $faults{$name}[2])
	{
		diag("nothing happened: the log does not say $faults{$name}[2]");
		$good = 0;
	}
	ok($good, sprintf '%s: %d accepted, %d missing, %d twice', $name,
		@result{qw(accepted missing twice)});
	say_it(sprintf
		'round %d, %s: accepted %d, found %d, missing %d, twice %d, depth %s; %s; %.1f s',
			$round, $name,
		@result{qw(accepted found missing twice)}, $load->depth,
		join(', ', map { "$codes->{$_} x $_" } sort keys %$codes), time - $began);
	diag("left: $left") if $left ne '';
	diag('nothing was accepted') if !$result{accepted};
	diag("unexpected answers: $strange") if $strange ne '';
	diag("$result{unmasked} that were to be masked or dropped") if $result{unmasked};
	diag("$result{strange} under another id, $result{dead} in the dead letters") if $result{strange}
		|| $result{dead};
	diag('an event after that is not stored: ' . $load->queued . ' queued, depth ' . $load->depth)
		if !$probed;
	$sum{$_} += $result{$_} foreach keys %result;
	$sum{dropped} += $load->dropped;
	$status{$_} += $codes->{$_} foreach keys %$codes;
	$load->clear if $good;
	return;
}

sub check_workspace
{
	return unless $work;
	my @wrong = $work->check;
	is(scalar @wrong, 0, 'alerts, exports, KPIs and the probe');
	diag($_) foreach map { substr $_, 0, 500 } grep { defined } @wrong[ 0 .. 19 ];
	say_it($work->figures);
	return;
}

sub run_rounds
{
	say_it("seed $seed, $rounds rounds");
	foreach my $round (1 .. $rounds)
	{
		run_round($round, choose($round));
	}
	check_workspace();
	say_it(sprintf 'rounds %d, events accepted %d, missing %d, twice %d, dropped by pipelines %d; answers %s; %.0f s',
		$rounds,
		@sum{qw(accepted missing twice dropped)}, join(', ', map { "$status{$_} x $_" } sort keys %status),
			time - $start);
	# A full disk while the server recovers would be one, so there is none of that.
	unlike($t->log_text, qr/PANIC|TRAP/, 'no PANIC, no failed assertion');
	return;
}

# ---- memory over time ----

# kB of memory that is its own, of each worker by its name and number.
sub memory
{
	my %kb;
	foreach (split /\n/,
		$t->sql(q{SELECT pid || ' ' || coalesce(nullif(application_name, ''), backend_type) FROM pg_stat_activity
			WHERE backend_type ~ '^logsvc' AND backend_type <> 'logsvc probe'}))
	{
		my ($pid, $name) = split / /, $_, 2;
		my $status = eval { slurp_file("/proc/$pid/status") } or next;
		$kb{"$name ($pid)"} = $1 if $status =~ /^RssAnon:\s+(\d+)/m;
	}
	return \%kb;
}

# Events of a day that is past the retention.
sub old_events
{
	my ($org, $n) = @_;
	my $time = POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time - 3 * 86400));
	return $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
		json => [ map { { event => "old $_", index => 'short', timestamp => $time } } 1 ..
			$n ])->{status};
}

# A search that must succeed: its rows.
my @wrong;
sub rows_of
{
	my ($org, $q) = @_;
	my $r = $t->http(GET => '/api/v1/search', token => $org->{token}, query => { q => $q });

	push @wrong, "$q: $r->{status} $r->{content}" if $r->{status} != 200;
	return $r->{status} == 200 ? $r->{json}{data}{rows} : undef;
}

# Counts that never become smaller, while nothing is older than the hour that is counted.
my %total;
sub no_less
{
	my ($org, $q, @counts) = @_;
	my $sum = 0;

	$sum += $_ foreach @counts;
	my $good = time - $start > 3500 || $sum >= ($total{ $org->{slug} } // 0);
	$total{ $org->{slug} } = $sum;
	return $good && $sum > 0;
}

# Searches of all kinds, and what their rows must be.  All texts are different, so groups of
# them are those of a minute: in an hour there are millions.
my %searches = (
	'earliest=-15m client | head 20' => sub {
		my ($org, $q, @rows) = @_;
		my @times = map { $_->{timestamp} } @rows;
		return @rows == 20 && !(grep { $_->{event} !~ /\bclient\b/ } @rows) && "@times" eq join ' ',
			reverse sort @times; },
	'earliest=-1h | stats count by level' => sub {
		my ($org, $q, @rows) = @_;
		return @rows == 2 && no_less($org, $q, map { $_->[1] } @rows); },
	# Numbers count up, so that what they end with is always there.
	'earliest=-5m event CONTAINS "77"' => sub {
		my ($org, $q, @rows) = @_;
		my %different = map { $_->{event} => 1 } @rows;
		return @rows > 0 && keys %different == @rows && !grep { $_->{event} !~ /77/ } @rows; },
	'earliest=-1h | timechart span=1m count' => sub {
		my ($org, $q, @rows) = @_;
		return @rows > 59 && @rows < 63 && no_less($org, $q, map { $_->[1] } @rows); },
	'index=* earliest=-1h | top 5 level' => sub {
		my ($org, $q, @rows) = @_;
		return @rows == 1 && $rows[0][0] eq 'info' && $rows[0][2] == 100; },
	'earliest=-1m | top 5 event' => sub {
		my ($org, $q, @rows) = @_;
		return @rows == 5 && !grep { $_->[1] != 1 } @rows; },
);

# An event is found as soon as it is accepted, once, later too, and by its organization alone.
my @probes;
sub probe
{
	my ($org) = @_;
	my $text = 'probe number ' . @probes;
	my $r = $t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
		json => { event => $text });

	push @wrong, "$text: $r->{status} $r->{content}" if $r->{status} != 202;
	push @probes, [ $org, $text, int time ];
	foreach my $probe ($probes[-1], $probes[ rand @probes ])
	{
		my $q = qq("$probe->[1]" earliest=) . ($probe->[2] - 60);
		my $found = join ',', map { $_->{event} } @{ rows_of($probe->[0], $q) // [] };
		my ($other) = grep { $_ != $probe->[0] } @orgs;

		push @wrong, "$q: found '$found'" if $found ne $probe->[1];
		push @wrong, "$q: found by $other->{slug}" if @{ rows_of($other, $q) // [] };
	}
	return;
}

# By the built-in evaluator; evaluators have something to do, too.
sub evaluate
{
	my ($org) = @_;
	my $r = $t->http(POST => '/api/v1/evaluations/run-adhoc', token => $org->{token}, json => {
		rows => [ '10:00:01 step build passed', '10:00:05 step deploy failed: timeout after 30 s',
			('10:00:07 cleanup done') x 200 ],
		criteria => 'Did each step succeed?',
			expectedItems => [ { id => 'build', description => 'The build step passed' },
			{ id => 'deploy', description => 'The deploy step passed' } ] });
	my $verdict = $r->{json} && $r->{json}{data} ? join ' ',
		map { $_->{status} } @{ $r->{json}{data}{verdict} } : '';

	push @wrong, "evaluation: $r->{status} $r->{content}"
		if "$r->{status} $verdict" ne '200 passed failed';
	return 1;
}

sub run_duration
{
	my (%first, %last, %largest);
	my ($n_searches, $n_evaluations, $old_sent, $samples, $next) = (0, 0, 0, 0, 0);
	my ($n_rounds, $next_round) = (0, 0);
	my $warm = time + ($duration > 600 ? 120 : $duration / 5);
	my $sample = sub {
		my $now = memory();
		%first = %$now unless %first;
		%last = %$now;
		foreach (keys %$now) { $largest{$_} = $now->{$_} if $now->{$_} > ($largest{$_} // 0); }
		$next = time + 30;
		$samples++;
	};

	foreach my $org (@orgs)
	{
		$t->sql("SELECT logsvc.act_as('$org->{slug}'); SELECT "
			. "logsvc.create_index('short', retention_days => 1)");
	}
	$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1000000 WHERE class = "
		. "'evaluation'");
	$load->start('duration', clients => 4, seed => $seed, pause => 0.05);
	sleep 10;
	while (time - $start < $duration)
	{
		if ($work && time > $next_round)
		{
			$work->end if $n_rounds;
			$work->begin(++$n_rounds);
			$work->start_export;
			$next_round = time + 60;
		}
		my $org = $orgs[ rand @orgs ];
		my $q = (sort keys %searches)[ rand keys %searches ];
		my $rows = rows_of($org, $q);
		$n_searches++;
		push @wrong, "$q: " . json_encode($rows) if $rows && !$searches{$q}->($org, $q, @$rows);
		probe($org);
		$n_evaluations += evaluate($org) if rand() < 0.2;
		$old_sent += 100 if rand() < 0.1 && old_events($org, 100) == 202;
		sleep 0.5;
		$sample->() if time > $next && time > $warm;
	}
	$load->stop;
	$work->end if $work;
	my $left = $load->settle(60);
	$sample->();
	check_workspace();
	my %result = $load->check;
	my $codes = $load->statuses;
	ok($result{accepted}, "$result{accepted} events were accepted");
	is(join(' ', $left, @result{qw(missing twice strange dead)},
		$result{found} - $result{accepted}), ' 0 0 0 0 0',
		'each is stored once, as it was answered, and no other');
	is(join(' ', grep { !/^(202|429)$/ } sort keys %$codes), '',
		'no other answers than 202 and 429');
	foreach my $org (@orgs)
	{
		my $accepted = $t->sql("SELECT count(*) FROM accepted WHERE organization = '$org->{id}'");
		my $rows = rows_of($org, 'index=main "duration client" earliest=' . (int($start) - 60)
			. ' | stats count');
		is($rows && $rows->[0][0], $accepted, "a search of $org->{slug} counts its events");
	}
	is(scalar @wrong, 0, "$n_searches searches, $n_evaluations evaluations and " . @probes
		. ' events that were looked for');
	diag($_) foreach map { substr $_, 0, 500 } grep { defined } @wrong[ 0 .. 9 ];
	unlike($t->log_text, qr/PANIC|TRAP|terminated by signal/, 'nothing crashed');
	say_it(sprintf
		'%.0f s, events accepted %d, missing %d, twice %d, searches %d, parts %d, past the retention %d of %d; answers %s',
		time - $start, @result{qw(accepted missing twice)}, $n_searches,
			$t->sql('SELECT count(*) FROM logsvc_internal.part'),
		$t->sql(q{SELECT coalesce(sum(rows), 0) FROM logsvc_internal.part WHERE index_name = }
			. q{'short'}), $old_sent,
		join(', ', map { "$codes->{$_} x $_" } sort keys %$codes));
	say_it(sprintf 'memory, kB: %-26s first %7s  last %7s  largest %7s', $_, $first{$_} // '-',
		$last{$_} // '-', $largest{$_})
	  foreach sort keys %largest;
	cmp_ok($samples, '>', 1, "memory was looked at $samples times");
	is(join(' ', grep { my $kind = $_; !grep { /\b$kind\b/ } keys %first } @workers), '',
		'of workers of each kind');
	is(join(' ', sort keys %first), join(' ', sort keys %last),
		'the same workers from the beginning to the end');
	# What grows with time would grow by far more than this in an hour.
	is(join(', ', map { "$_: $first{$_} to $last{$_} kB" } grep
		{ ($last{$_} // 0) > 2 * $first{$_} + 65536 } sort keys %first), '',
		'no worker grows');
	return;
}

if ($duration) { run_duration() } else { run_rounds() }
$t->stop;
done_testing;
