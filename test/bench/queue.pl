# queue.pl: does ingest go on as fast while another session keeps a transaction open?
#
#	make bench B=queue		rows "metric value unit"
#
# Environment: HOLD (120), the seconds for which each kind of transaction is held;
# DURATION (15), of each measurement; KINDS (snapshot,searched).
#
# Single events over 64 connections, which make the most entries of the queue.
# Without a transaction, at the end of one that has a snapshot, without, at the end
# of one that has also searched (and so has locks), without.  What counts are ratios
# within one run; on a machine that is busy otherwise, those of CPU.
use strict;
use warnings;

use lib 'test/bench';
use LogsvcBench;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $hold = $ENV{HOLD} || 120;
my $seconds = $ENV{DURATION} || 15;
$hold = $seconds if $hold < $seconds;
my $dir = PostgreSQL::Test::Utils::tempdir();

my $t = LogsvcTest->new(conf => join "\n",
	'shared_buffers = 512MB', 'max_wal_size = 16GB', 'checkpoint_timeout = 1h',
		'max_connections = 100');
my $org = $t->organization('bench');

append_to_file("$dir/post.lua", <<"LUA");
wrk.method = "POST"
wrk.body = '{"event":"GET /api/v1/items 200 in 12 ms from worker 3","level":"info","source":"api"}'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer $org->{ingest_key}"
done = function(summary, latency)
	local e = summary.errors
	io.write(string.format("RESULT %d %d %d\\n", summary.requests, summary.duration,
		e.connect + e.read + e.write + e.status + e.timeout))
end
LUA

# Events per second, and microseconds of CPU of each; those refused do not count.
sub load
{
	my ($for) = @_;
	my $cpu = server_cpu($t);
	my ($out) = run_command([ 'wrk', '-t1', '-c64', "-d${for}s", '-s', "$dir/post.lua", $t->url
		. '/api/v1/logs' ]);
	my ($requests, $us, $errors) = $out =~ /RESULT (\d+) (\d+) (\d+)/ or die "wrk: $out\n";
	return [ ($requests - $errors) / $us * 1e6,
		(server_cpu($t) - $cpu) / ($requests - $errors) * 1e6 ];
}

sub size
{
	return $t->sql(q{SELECT sum(pg_total_relation_size(c)) FROM
		(SELECT inhrelid FROM pg_inherits WHERE inhparent = 'logsvc_internal.queue'::regclass
			UNION ALL SELECT 'logsvc_internal.queue'::regclass) AS q(c)}) / 1e6;
}

sub segments { return $t->sql(q{SELECT count(*) FROM pg_inherits WHERE inhparent = }
	. q{'logsvc_internal.queue'::regclass}); }

sub alone
{
	my $load = load($seconds);
	metric('rate', sprintf('%.0f', $load->[0]), 'events/s');
	metric('cpu', sprintf('%.1f', $load->[1]), 'us/event');
	return $load;
}

sub with_transaction
{
	my ($name, $begin) = @_;
	my $session = $t->node->background_psql('postgres', timeout => $hold + 600);
	my ($first, $largest, $load) = (undef, 0);
	my $end = time + $hold;

	$session->query_safe($begin);
	while (1)
	{
		$load = load($seconds);
		my $size = size();
		$largest = $size if $size > $largest;
		$first //= $size;
		last if time >= $end;
	}
	metric("rate_$name", sprintf('%.0f', $load->[0]), 'events/s');
	metric("cpu_$name", sprintf('%.1f', $load->[1]), 'us/event');
	metric("size_${name}_first", sprintf('%.1f', $first), 'MB');
	metric("size_${name}_largest", sprintf('%.1f', $largest), 'MB');
	metric("segments_$name", segments(), 'tables');
	$session->query_safe('ROLLBACK');
	$session->quit;
	my $start = time;
	wait_until(sub { size() < 20 }, 120);
	metric("size_${name}_after", sprintf('%.1f', size()), 'MB');
	metric("given_back_$name", sprintf('%.1f', time - $start), 's');
	return $load;
}

my $snapshot = 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current();';
my %begin = (snapshot => $snapshot, searched => "$snapshot SELECT logsvc.act_as('bench');"
	  . q{ SELECT logsvc.search('earliest=-1h | stats count')});
load(3);
my $before = alone();
foreach my $kind (split /,/, $ENV{KINDS} || 'snapshot,searched')
{
	my $held = with_transaction($kind, $begin{$kind} // die "no transaction is called $kind\n");
	my $after = alone();
	foreach my $i (0, 1)
	{
		metric((qw(rate cpu))[$i] . "_${kind}_to_alone",
			sprintf('%.2f', 2 * $held->[$i] / ($before->[$i] + $after->[$i])), 'ratio');
	}
	$before = $after;
}
metric('segments_in_the_end', segments(), 'tables') if wait_until(sub { segments() <= 4 }, 120);
$t->stop;
