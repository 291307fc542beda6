# latency.pl: what a search that burns a core for long does to others.
#
#	make bench B=latency		rows "metric value unit"
#
# Environment: EVENTS (6000000).  A search sorts all of them while one
# connection sends single events and another one searches, every 20 ms.
use strict;
use warnings;

use lib 'test/bench';
use LogsvcBench;
use LogsvcTest;
use POSIX ':sys_wait_h';
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $events = $ENV{EVENTS} || 6_000_000;
my $t = LogsvcTest->new(conf =>
	"shared_buffers = 512MB\nmax_wal_size = 16GB\nlogsvc.query_timeout = 120s");
my $org = $t->organization('bench');

sub search_path { return '/api/v1/search?q=' . join '', map { sprintf '%%%02X', ord } split //,
	$_[0]; }

# ---- events ----

my $loader = connect_http($t);
for (my $sent = 0; $sent < $events;)
{
	my $batch = '[' . join(',', map {
		sprintf '{"event":"request %d handled in %d ms by worker %d","level":"info","source":"api","attributes":{"user":"u%d"}}',
		  $sent + $_, rand 500, rand 8, rand 1000 } 1 .. 8000) . ']';
	my (undef, $status) = send_request($loader, 'POST', '/api/v1/logs/batch',
		$org->{ingest_key}, $batch);
	if ($status == 202) { $sent += 8000 } else { sleep 0.05 }
}
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 120)
	or die "not drained\n";

# ---- probes ----

sub probe
{
	my ($name, $while) = @_;
	my ($one, $two) = (connect_http($t), connect_http($t));
	my (@ingest, @search);
	while ($while->())
	{
		push @ingest, (send_request($one, 'POST', '/api/v1/logs', $org->{ingest_key},
			'{"event":"probe"}'))[0];
		push @search, (send_request($two, 'GET', search_path('level=error | head 10'),
			$org->{read_key}))[0];
		sleep 0.02;
	}
	for my $kind ([ 'ingest', \@ingest ], [ 'search', \@search ])
	{
		my @sorted = sort { $a <=> $b } @{ $kind->[1] };
		metric("latency_${name}_$kind->[0]_median", sprintf('%.1f', $sorted[ $#sorted / 2 ]), 'ms');
		metric("latency_${name}_$kind->[0]_longest", sprintf('%.1f', $sorted[-1]), 'ms');
	}
	return;
}

my $end = time + 5;
probe('alone', sub { time < $end });

my $result = PostgreSQL::Test::Utils::tempdir() . '/heavy';
my $pid = fork // die;
if (!$pid)
{
	my ($ms) = eval { send_request(connect_http($t), 'GET', search_path(
		'earliest=-1h | sort 10000000 -event, -user | dedup 10000000 id | stats count'),
			$org->{read_key}) };
	append_to_file($result, $ms // "failed: $@");
	POSIX::_exit(0);
}
sleep 0.3;
probe('beside_search', sub { waitpid($pid, WNOHANG) == 0 });
metric('latency_heavy_search', sprintf('%.1f', slurp_file($result) / 1000), 's');
$t->stop;
