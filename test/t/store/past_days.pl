# past_days.pl: events of past days get the partitions of their days, within bounds, without waits.
use strict;
use warnings;

use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep time);

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '20ms'\nlogsvc.compactors = 0\nrestart_after_crash = on\n"
	. "logsvc.writers = 4");
my %org = map { $_ => $t->organization($_, plan => $_) } qw(free pro);

sub stored
{
	return wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 })
		or die 'the queue does not drain';
}

# Each of the days: so many events, at noon.
sub ingest
{
	my ($name, $n, @days) = @_;
	my $list = join ',', @days;
	$t->sql("SELECT logsvc.act_as('$name'); SELECT logsvc.ingest(jsonb_agg(jsonb_build_object('event', 'old ' || i, "
		. "'timestamp', (extract(epoch FROM date_trunc('day', now(), 'UTC') - d * interval '1 day' + "
		. "interval '1 hour') * 1000)::bigint))) FROM generate_series(1, $n) i, unnest('{$list}'::int[]) d");
	return stored();
}

# Days, as their age, that have a partition; of the past.
sub partitions
{
	return $t->sql(q{SELECT coalesce(string_agg(age::text, ' ' ORDER BY age), '') FROM (
		SELECT (now() AT TIME ZONE 'UTC')::date - to_date(substr(c.relname, 6), 'YYYYMMDD') AS age
		FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'logsvc_internal.part'::regclass AND c.relname ~ '^part_[0-9]{8}$') d
		WHERE age > 0});
}
sub others
{
	return $t->sql(q{SELECT coalesce(string_agg(d, ' ' ORDER BY length(d), d), '') FROM (SELECT DISTINCT
		((now() AT TIME ZONE 'UTC')::date - day)::text AS d FROM logsvc_internal.part_other) s});
}
sub found
{
	my ($name) = @_;
	return $t->sql("SELECT logsvc.act_as('$name') IS NULL; SELECT count(*) FROM logsvc.events("
		. "'old earliest=2000-01-01T00:00:00Z')") =~ s/.*\n//sr;
}

# ---- which days ----

is(partitions() . others(), '', 'no day of the past at first');
ingest('pro', 3, 1, 5, 29);
is(partitions(), '1 5 29', 'past days have partitions');
is(others(), '', 'and nothing is elsewhere');
ingest('pro', 2, 5, 29, 40);
ingest('free', 2, 2, 5, 7, 50);
is(partitions(), '1 2 5 7 29', 'a day that is past the retention of all has none');
is(others(), '40 50', 'its events are where they are deleted');
is(found('pro'), 15, 'all are found');
is($t->sql("SELECT string_agg(c.relrowsecurity::text || c.reloptions::text, ' ') = string_agg((SELECT "
	. "d.relrowsecurity::text || d.reloptions::text FROM pg_class d WHERE d.oid = "
	. "('logsvc_internal.part_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD'))::regclass), ' ')"
	. " FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = "
	. "'logsvc_internal.part'::regclass AND c.relname ~ '^part_[0-9]{8}\$'"), 't',
	'partitions of past days are as those of others');

# ---- a bound, whatever is sent ----

$org{enterprise} = $t->organization('enterprise', plan => 'enterprise');
ingest('enterprise', 1, 300 .. 450);
is((split ' ', partitions())[-1], 365, 'no partition of a day more than a year ago');
is((split ' ', others())[-1], 450, 'such events are kept all the same');
is(found('enterprise'), 151, 'and found');
my $before = partitions();
ingest('enterprise', 1, map { 1000 + 40 * $_ } 1 .. 200);
is(partitions(), $before, 'hostile timestamps make none');
is(found('enterprise'), 351, 'but are stored');

# ---- many writers at once ----

my @children;
foreach my $n (1 .. 4)
{
	my $pid = fork // die;
	if (!$pid)
	{
		my $org = $org{ (qw(free pro enterprise pro))[ $n - 1 ] };
		foreach my $day (10 .. 27)
		{
			my $ms = int((time - 86400 * $day) * 1000);
			my $r = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
				json => [ map { { event => "old $_", timestamp => $ms } } 1 .. 50 ]);
			POSIX::_exit(1) if $r->{status} != 202;
		}
		POSIX::_exit(0);
	}
	push @children, $pid;
}
foreach my $pid (@children) { waitpid $pid, 0; is($?, 0, 'a sender'); }
stored();
my %other = map { $_ => 1 } split ' ', others();
ok(!(grep { $other{$_} } 10 .. 27), 'no day of those is elsewhere') or diag(others());
is(found('pro'), 15 + 2 * 18 * 50, 'and all is found');
is(found('enterprise'), 351 + 18 * 50, 'of each');

# ---- a transaction that keeps the lock from us ----

my $reader = $t->node->background_psql('postgres');
$reader->query_safe('BEGIN; SELECT count(*) FROM logsvc_internal.part_other');
my $log = $t->log_position;
my $longest = 0;
ingest('pro', 2, 20);
my $begin = time;
$t->sql("SELECT logsvc.act_as('pro'); SELECT logsvc.ingest(jsonb_build_object('event', 'old', 'timestamp', "
	. "(extract(epoch FROM now() - interval '28 days') * 1000)::bigint))");
# Nobody queues up behind us for long meanwhile.
while ($t->sql('SELECT count(*) FROM logsvc_internal.queue') > 0 && time - $begin < 60)
{
	my $since = time;
	$t->sql('SELECT count(*) FROM logsvc_internal.part_other');
	$longest = time - $since if time - $since > $longest;
}
is(others() =~ /\b28\b/ ? 1 : 0, 1, 'events of a new day are stored all the same');
like($t->log_text($log), qr/could not make partitions of its store/, 'the log says why');
cmp_ok($longest, '<', 5, 'no reader waits for the lock of a writer') or diag($longest);
is(found('pro'), 15 + 2 * 18 * 50 + 3, 'they are found');
$reader->query_safe('COMMIT');
ok($reader->quit, 'the transaction ends');

# ---- the partition of the day after tomorrow does not wait either ----

my $ahead = $t->sql("SELECT 'part_' || to_char((now() AT TIME ZONE 'UTC')::date + 2, 'YYYYMMDD')");
$t->sql("DROP TABLE logsvc_internal.$ahead");
$reader = $t->node->background_psql('postgres');
$reader->query_safe('BEGIN; SELECT count(*) FROM logsvc_internal.part_other');
$log = $t->log_position;
my ($writer) = $t->sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'logsvc writer' ORDER BY "
	. 'backend_start, pid LIMIT 1');
$t->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'logsvc writer'");
ok(wait_until(sub { $t->log_text($log) =~ /could not make partitions of its store/ }),
	'a writer that begins gives up soon');
ingest('pro', 1, 0);
is(found('pro'), 15 + 2 * 18 * 50 + 4, 'and goes on to store events');
$reader->query_safe('COMMIT');
$reader->quit;
$t->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'logsvc writer'");
ok(wait_until(sub { $t->sql("SELECT to_regclass('logsvc_internal.$ahead') IS NOT NULL") eq 't' }),
	'it is made when it can');

# ---- a writer that is killed before or after it has made the partition of a day ----

sub killed
{
	my ($point, $day, $made, $how) = @_;
	my $had = found('enterprise');
	$t->stop_at($point);
	$t->sql("SELECT logsvc.act_as('enterprise'); SELECT logsvc.ingest(jsonb_agg(jsonb_build_object('event', 'old ' || i, 'timestamp', "
		. "(extract(epoch FROM now() - interval '$day days') * 1000)::bigint))) FROM generate_series(1, 20) i");
	my $pid = $t->wait_held($point);
	is(partitions() =~ /\b$day\b/ ? 1 : 0, $made, "a writer is at $point: the partition " . ($made ? 'is there, without events' : 'is not there yet'));
	if ($how eq 'killed')
	{
		kill_process($pid);
		# The server has ended all processes, and with them what they were held at.
		wait_until(sub { $t->sql('SELECT 1') }) or die 'the server does not come back';
		$t->let_go($point);
		$t->wait_ready;
	}
	else
	{
		$t->sql("SELECT pg_terminate_backend($pid)");
		$t->let_go($point);
	}
	stored();
	is(found('enterprise'), $had + 20, "... and is $how: its events are stored, once");
	like(partitions(), qr/\b$day\b/, '... in a partition of the day');
	unlike(others(), qr/\b$day\b/, '... and nowhere else');
	return;
}
killed('partition_before_commit', 71, 0, 'ended');
killed('write_before_commit', 72, 1, 'ended');
killed('partition_before_commit', 73, 0, 'killed');
killed('write_before_commit', 74, 1, 'killed');

# ---- retention takes the partition as a whole ----

$t->sql("SELECT logsvc.act_as('enterprise'); SELECT logsvc.update_index('main', retention_days => 200)");
$t->set('logsvc.compactors', 1);
ok(wait_until(sub { partitions() !~ /\b3\d\d\b/ }, 120), 'days past their retention go')
	or diag(partitions());
like($t->log_text, qr/logsvc dropped partition logsvc_internal.part_/, '... as partitions');
$t->stop;
done_testing;
