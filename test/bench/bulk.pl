# bulk.pl: how fast clients load that obey Retry-After, while the queue is full.
#
#	make bench B=bulk		rows "metric value unit"
#
# Environment: EVENTS (2000000), CLIENTS (4), BATCH (10000: events of a request, 2,500 or a
# multiple), LIMITS (100000,1000000: of the queue), WRITERS (4).  Events are those of
# event_source.c, made before the clock starts.  The last 202 ends a run; until then all of the
# server's CPU counts.
use strict;
use warnings;

use lib 'test/bench';
use LogsvcBench;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $events = $ENV{EVENTS} || 2_000_000;
my $clients = $ENV{CLIENTS} || 4;
my $join = ($ENV{BATCH} || 10_000) / 2500;
my $dir = PostgreSQL::Test::Utils::tempdir();
my $t = LogsvcTest->new(conf => join "\n", 'shared_buffers = 512MB', 'max_wal_size = 16GB',
	'checkpoint_timeout = 1h',
	'logsvc.writers = ' . ($ENV{WRITERS} || 4));
my $org = $t->organization('bench');

my $start = int((time - 7200) * 1e6);
foreach my $n (0 .. $clients - 1)
{
	system("build/unit/event_source batches $events $start 3600000000 $n $clients > $dir/$n") == 0
	  or die "no events\n";
}

# Sends what a client has; a 429 costs as long as its Retry-After says.
sub load
{
	my ($n, $report) = @_;
	my $socket = connect_http($t);
	my ($refused, $waited) = (0, 0);
	open my $in, '<', "$dir/$n" or die;
	binmode $in;
	while (!eof $in)
	{
		my $body = '';
		foreach (1 .. $join)
		{
			my $length = <$in> // last;
			read($in, my $array, $length) == $length or die 'short batch';
			$body .= ($body eq '' ? '[' : ',') . substr $array, 1, -1;
		}
		$body .= ']';
		while (1)
		{
			my (undef, $status, $answer, $after) =
				send_request($socket, 'POST', '/api/v1/logs/batch', $org->{ingest_key}, $body);
			last if $status == 202;
			die "status $status: $answer\n" if $status != 429;
			$refused++;
			$waited += $after;
			sleep $after;
		}
	}
	append_to_file($report, "$refused $waited\n");
	return;
}

foreach my $limit (split /,/, $ENV{LIMITS} // '100000,1000000')
{
	my $report = "$dir/report.$limit";
	my ($refused, $waited) = (0, 0);
	$t->set('logsvc.queue_limit', $limit);
	my $before = server_cpu($t);
	my $begin = time;
	foreach my $n (0 .. $clients - 1)
	{
		my $pid = fork // die;
		next if $pid;
		eval { load($n, $report); 1 } or do { print STDERR $@; POSIX::_exit(1) };
		POSIX::_exit(0);
	}
	while ((my $pid = wait) > 0) { die "a client failed\n" if $?; }
	my $wall = time - $begin;
	my $cpu = server_cpu($t) - $before;
	foreach my $line (split /\n/, slurp_file($report))
	{
		my ($r, $w) = split ' ', $line;
		$refused += $r;
		$waited += $w;
	}
	metric("bulk_rate_$limit", sprintf('%.0f', $events / $wall), 'events/s');
	metric("bulk_refused_$limit", $refused, 'answers 429');
	metric("bulk_waited_$limit", $waited, 's of Retry-After, all clients');
	metric("bulk_cpu_$limit", sprintf('%.2f', $cpu / $events * 1e6), 's/million');
	wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 120)
	  or die "the queue did not drain\n";
}
$t->stop;
