# export.pl: how fast a search is exported as a file, and the memory of who makes it.
#
#	make bench B=export		rows "metric value unit"
#
# Environment: EVENTS (1000000), RUNS (3; the median counts).
#
# Memory is the most private memory that a process had while it exported (RssAnon, looked at
# every 20 ms), beside what it had before.  The client only counts bytes and lines.
use strict;
use warnings;

use lib 'test/bench';
use IO::Socket::INET;
use LogsvcBench;
use LogsvcTest;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $events = $ENV{EVENTS} || 1_000_000;
my $runs = $ENV{RUNS} || 3;
my $start = int((time - 7200) * 1e6);
$| = 1;

my $t = LogsvcTest->new(conf => join "\n", 'shared_buffers = 512MB', 'max_wal_size = 16GB',
	'checkpoint_timeout = 1h', "logsvc.query_timeout = '60s'");
my $org = $t->organization('bench');
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');

# ---- events ----

open my $in, '-|', 'build/unit/event_source', 'batches', $events, $start, 3600 * 1e6, 0, 1 or die $!;
binmode $in;
while (defined(my $length = <$in>))
{
	my $body;
	read($in, $body, $length) == $length or die 'short batch';
	while (1)
	{
		my $r = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, body => $body);
		last if $r->{status} == 202;
		die $r->{content} if $r->{status} != 429;
		sleep 0.05;
	}
}
close $in;
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 300)
  or die "the queue did not drain\n";
# All is merged when two looks see the same parts.
my $parts = '';
wait_until(sub {
	my $now = $t->sql('SELECT count(*), max(id) FROM logsvc_internal.part');
	my $same = $now eq $parts;
	$parts = $now;
	sleep 5 unless $same;
	return $same;
}, 180);

# ---- exports ----

sub private_memory
{
	my ($pid) = @_;
	open my $status, '<', "/proc/$pid/status" or return 0;
	my ($kb) = join('', <$status>) =~ /^RssAnon:\s+(\d+)/m;
	return $kb // 0;
}

# Lines, bytes, seconds, and the memory of executors and gateway in kB beside that of before.
sub export
{
	my ($parameters, $headers) = @_;
	my %pids = map { split /\|/ } split /\n/, $t->sql(q{SELECT pid, split_part(backend_type, ' ', 2)
		FROM pg_stat_activity WHERE backend_type ~ 'logsvc (executor|gateway)'});
	my %before = map { $_ => private_memory($_) } keys %pids;
	my %most;
	my ($bytes, $lines, $looked) = (0, 0, 0);
	my $cpu = server_cpu($t);
	my $begin = time;
	my $http = connect_http($t);
	my $end = '';

	print $http "GET /api/v1/search/export?$parameters HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	  . "Authorization: Bearer $org->{full_key}\r\n$headers\r\n";
	$http->flush;
	while (sysread $http, my $data, 1 << 18)
	{
		$bytes += length $data;
		$lines += $data =~ tr/\n//;
		$end = substr $end . $data, -200;
		next if time - $looked < 0.02;
		$looked = time;
		foreach my $pid (keys %pids)
		{
			my $more = private_memory($pid) - $before{$pid};
			$most{ $pids{$pid} } = $more if $more > ($most{ $pids{$pid} } // 0);
		}
	}
	my $seconds = time - $begin;
	die "not complete: $end\n" if $end !~ /X-Rows: (\d+)/ || $1 != $events && $parameters !~ /stats/;
	return { rows => $1, bytes => $bytes, seconds => $seconds,
		cpu => server_cpu($t) - $cpu, memory => \%most };
}

foreach (
	[ ndjson => 'q=*&earliest=-4h&format=ndjson', '' ],
	[ csv => 'q=*&earliest=-4h&format=csv', '' ],
	[ csv_columns => 'q=*&earliest=-4h&format=csv&fields=timestamp,level,service,event', '' ],
	[ ndjson_gzip => 'q=*&earliest=-4h&format=ndjson', "Accept-Encoding: gzip\r\n" ])
{
	my ($name, $parameters, $headers) = @$_;
	my @results = map { export($parameters, $headers) } 1 .. $runs;
	my ($median) = (sort { $a->{seconds} <=> $b->{seconds} } @results)[ $runs / 2 ];
	metric(sprintf '%s_rows_per_second %.0f rows/s', $name, $median->{rows} / $median->{seconds});
	metric(sprintf '%s_cpu_per_million %.2f s', $name,
		(sort { $a <=> $b } map { $_->{cpu} } @results)[ $runs / 2 ] / $median->{rows} * 1e6);
	metric(sprintf '%s_size %.0f MB', $name, $median->{bytes} / 1e6);
	foreach my $kind (qw(executor gateway))
	{
		my ($most) = sort { $b <=> $a } map { $_->{memory}{$kind} // 0 } @results;
		metric(sprintf '%s_%s_memory %.1f MB', $name, $kind, $most / 1024);
	}
}

$t->stop;
