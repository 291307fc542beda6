# ingest.pl: what ingest costs, beside PostgreSQL doing the same in the same run.
#
#	make bench B=ingest		rows "metric value unit"
#
# Environment: EVENTS (1000000), DURATION (10) of each load of single events,
# COMPACTORS (1); with 0 nothing is merged, so batch_* and merged_* are alike.
#
# CPU is user and system time of all processes of the server (the load
# generators are not counted).  The disk under a test machine may not really
# flush, so compare CPU and rates, never what durability costs.
use strict;
use warnings;

use lib 'test/bench';
use IO::Socket::INET;
use LogsvcBench;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $events = $ENV{EVENTS} || 1_000_000;
my $seconds = $ENV{DURATION} || 10;
my $clients = 4;
$| = 1;
my $dir = PostgreSQL::Test::Utils::tempdir();

my $t = LogsvcTest->new(conf => join "\n",
	'shared_buffers = 512MB', 'max_wal_size = 16GB', 'checkpoint_timeout = 1h',
	'fsync = on', 'synchronous_commit = on', 'full_page_writes = on', 'autovacuum = on',
	'max_connections = 100', 'logsvc.compactors = ' . ($ENV{COMPACTORS} // 1));
my $org = $t->organization('bench');
my $key = $org->{ingest_key};
my $port = $t->http_port;

sub wal { return $t->sql("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"); }

# ---- single events: one request each, 64 connections ----

my $line = '{"event":"' . substr('GET /api/v1/items 200 in 12 ms from worker 3; ' x 5, 0, 150)
  . '","level":"info","source":"api"}';
append_to_file("$dir/post.lua", <<"LUA");
wrk.method = "POST"
wrk.body = '$line'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer $key"
done = function(summary, latency)
	local e = summary.errors
	io.write(string.format("RESULT %d %d %d %.3f %.3f\\n", summary.requests, summary.duration,
		e.connect + e.read + e.write + e.status + e.timeout,
		latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
LUA

sub load_single
{
	my ($name, $at, $cpu) = @_;
	my $before = $cpu->();
	my ($out) = run_command([ 'wrk', '-t1', '-c64', "-d${seconds}s", '-s', "$dir/post.lua",
		"http://127.0.0.1:$at/api/v1/logs" ]);
	my ($requests, $us, $errors, $p50, $p99) = $out =~ /RESULT (\d+) (\d+) (\d+) ([\d.]+) ([\d.]+)/
	  or die "wrk: $out\n";
	sleep 2;    # for what the writers still do
	my $used = $cpu->() - $before;
	metric("${name}_rate", sprintf('%.0f', $requests / $us * 1e6), 'events/s');
	metric("${name}_p50", $p50, 'ms');
	metric("${name}_p99", $p99, 'ms');
	metric("${name}_errors", $errors, 'requests');
	metric("${name}_cpu", sprintf('%.2f', $used / $requests * 1e6), 'us/event');
	return ($requests / $us * 1e6, $used / $requests * 1e6);
}

my ($rate, $cpu) = load_single('single', $port, sub { server_cpu($t) });

# The same gateway answering 202 at once: what HTTP alone costs.
my $host_port = PostgreSQL::Test::Cluster::get_free_port();
my $host = fork // die;
if (!$host) { open STDOUT, '>', '/dev/null'; exec 'build/unit/gateway_host', "port=$host_port"; }
sleep 0.5;
my ($null_rate, $null_cpu) = load_single('gateway_only', $host_port, sub {
	my $stat = slurp_file("/proc/$host/stat");
	$stat =~ s/.*\) //;
	my @f = split ' ', $stat;
	return ($f[11] + $f[12]) / 100;
});
kill 'TERM', $host;
waitpid $host, 0;

# pgbench: one row a transaction.
$t->sql('CREATE TABLE plain_single (id bigserial, organization_id uuid DEFAULT gen_random_uuid(),'
	. ' ts timestamptz DEFAULT now(), level text, source text, event text)');
append_to_file("$dir/insert.sql", 'INSERT INTO plain_single (level, source, event) VALUES '
	. "('info', 'api', '" . substr('GET /api/v1/items 200 in 12 ms from worker 3; ' x 5, 0,
		150) . "');\n");
my $before = server_cpu($t);
my ($out, $err) = run_command([ 'pgbench', '-n', '-M', 'prepared', '-c', '64', '-j', '1', '-T',
	$seconds, '-f', "$dir/insert.sql", '-h', $t->node->host, '-p', $t->node->port, 'postgres' ]);
my ($tps) = $out =~ /tps = ([\d.]+)/ or die "pgbench: $out $err\n";
my ($done) = $out =~ /actually processed: (\d+)/;
sleep 1;
my $pg_cpu = (server_cpu($t) - $before) / $done * 1e6;
metric('pgbench_rate', sprintf('%.0f', $tps), 'rows/s');
metric('pgbench_cpu', sprintf('%.2f', $pg_cpu), 'us/row');
metric('single_rate_to_pgbench', sprintf('%.2f', $rate / $tps), 'ratio');
metric('single_cpu_to_pgbench', sprintf('%.3f', $cpu / $pg_cpu), 'ratio');
metric('single_cpu_to_gateway_only', sprintf('%.2f', $cpu / $null_cpu), 'ratio');
$t->sql('DROP TABLE plain_single');

# ---- a million events of event_source.c in batches of 2,500, 4 clients ----

my $start = int((time - 3600) * 1e6);

# Writes the batches and, for COPY, the same rows as text.
sub generate
{
	my $source = "build/unit/event_source";
	my @files;

	open my $in, '-|', "$source batches $events $start 3600000000 0 1" or die;
	binmode $in;
	while (defined(my $length = <$in>))
	{
		read($in, my $body, $length) == $length or die 'short batch';
		push @files, "$dir/batch." . @files;
		append_to_file($files[-1], $body);
	}
	close $in or die 'no events';
	system("$source copy $events $start 3600000000 $events > $dir/copy.txt") == 0 or die;
	return @files;
}
my @files = generate();
my $json_bytes = 0;
$json_bytes += -s $_ for @files;
metric('batch_json', sprintf('%.0f', $json_bytes / $events), 'bytes/event');

sub send_files
{
	my ($n) = @_;
	my $socket;
	for my $i (grep { $_ % $clients == $n } 0 .. $#files)
	{
		my $body = slurp_file($files[$i]);
		while (1)
		{
			$socket ||= IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or die $!;
			print $socket
				"POST /api/v1/logs/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer $key\r\n"
			  . "Content-Type: application/json\r\nContent-Length: " . length($body)
			  . "\r\n\r\n", $body;
			$socket->flush;
			my ($status, $length, $retry) = (0, 0, 1);
			while (my $header = <$socket>)
			{
				$status = $1 if $header =~ m{^HTTP/1.1 (\d+)};
				$length = $1 if $header =~ /^Content-Length: (\d+)/i;
				$retry = $1 if $header =~ /^Retry-After: (\d+)/i;
				last if $header =~ /^\r\n/;
			}
			my $answer;
			read $socket, $answer, $length;
			last if $status == 202;
			die "status $status: $answer\n" if $status != 429;
			append_to_file("$dir/retries.$n", '.');
			sleep 0.05;    # the queue is full: as soon as there is room
		}
	}
	return;
}

sub disk
{
	return $t->sql('SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0) FROM pg_inherits'
		. " WHERE inhparent = 'logsvc_internal.part'::regclass");
}

my $stored = $t->sql('SELECT coalesce(sum(rows), 0) FROM logsvc_internal.part');
my $parts = $t->sql('SELECT count(*) FROM logsvc_internal.part');
my $disk = disk();
my $wal = wal();
$before = server_cpu($t);
my $begin = time;
for my $n (0 .. $clients - 1)
{
	my $pid = fork // die;
	next if $pid;
	eval { send_files($n); 1 } or do { print STDERR $@; POSIX::_exit(1) };
	POSIX::_exit(0);
}
while ((my $pid = wait) > 0) { die "a client failed\n" if $?; }
my $accepted = time - $begin;
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 60)
  or die "the queue did not drain\n";
my $wall = time - $begin;
my $used = server_cpu($t) - $before;
my $wal_used = wal() - $wal;
# Merging goes on for a while: until it comes to rest.
wait_until(sub {
	sleep 1;
	($ENV{COMPACTORS} // 1) == 0 || merges_due($t) == 0;
}, 120) or die "merging does not come to rest\n";
my $merged_cpu = server_cpu($t) - $before;
my $merged_wal = wal() - $wal;
die "events are missing\n"
  if $t->sql('SELECT sum(rows) FROM logsvc_internal.part') - $stored != $events;
metric('batch_cpu', sprintf('%.2f', $used / $events * 1e6), 's/million');
metric('batch_accept_wall', sprintf('%.2f', $accepted / $events * 1e6), 's/million');
metric('batch_wall', sprintf('%.2f', $wall / $events * 1e6), 's/million');
my $retries = 0;
$retries += -s $_ for glob "$dir/retries.*";
metric('batch_retries', $retries, 'answers 429');
metric('batch_wal', sprintf('%.1f', $wal_used / $events), 'bytes/event');
$disk = disk() - $disk;
metric('batch_disk', sprintf('%.1f', $disk / $events), 'bytes/event');
metric('batch_parts', $t->sql('SELECT count(*) FROM logsvc_internal.part') - $parts, 'parts');

$t->sql('CREATE TABLE plain (ts timestamptz, level text, source text, event text, '
	. 'attributes jsonb)');
$wal = wal();
$before = server_cpu($t);
$begin = time;
$t->node->safe_psql('postgres', "\\copy plain FROM '$dir/copy.txt'");
my $copy_wall = time - $begin;
my $copy_cpu = server_cpu($t) - $before;
metric('copy_cpu', sprintf('%.2f', $copy_cpu / $events * 1e6), 's/million');
metric('copy_wall', sprintf('%.2f', $copy_wall / $events * 1e6), 's/million');
metric('copy_wal', sprintf('%.1f', (wal() - $wal) / $events), 'bytes/event');
my $copy_disk = $t->sql("SELECT pg_total_relation_size('plain')");
metric('copy_disk', sprintf('%.1f', $copy_disk / $events), 'bytes/event');
metric('batch_cpu_to_copy', sprintf('%.2f', $used / $copy_cpu), 'ratio');
metric('merged_cpu', sprintf('%.2f', $merged_cpu / $events * 1e6), 's/million');
metric('merged_wal', sprintf('%.1f', $merged_wal / $events), 'bytes/event');
metric('merged_cpu_to_copy', sprintf('%.2f', $merged_cpu / $copy_cpu), 'ratio');
metric('batch_disk_to_copy', sprintf('%.3f', $disk / $copy_disk), 'ratio');

# ---- searches of the same events, beside scans of the plain table ----
#
# The plain table has no index: what indexes cost at ingest is in the notes of
# docs/benchmarks.md.  Times are of the server (tookMs; EXPLAIN ANALYZE).
$t->sql('VACUUM ANALYZE plain');
sub median { my @v = sort { $a <=> $b } @_; return $v[ $#v / 2 ]; }

sub search
{
	my ($name, $q, $plain) = @_;
	my (@ours, @theirs);
	my $path = '/api/v1/search?limit=1000&q=' . join '', map { sprintf '%%%02X', ord } split //, $q;
	for (1 .. 5)
	{
		my $r = $t->http(GET => $path, token => $org->{read_key} // $org->{token});
		die "$name: $r->{status} $r->{content}\n" if $r->{status} != 200;
		push @ours, json_decode($r->{content})->{meta}{stats}{tookMs};
		my ($ms) = $t->sql("EXPLAIN (ANALYZE, TIMING OFF) $plain") =~ /Execution Time: ([\d.]+)/;
		push @theirs, $ms;
	}
	metric("search_$name", median(@ours), 'ms');
	metric("search_${name}_plain", median(@theirs), 'ms');
	return;
}
search('newest_errors', 'earliest=-2h level=error',
	"SELECT * FROM plain WHERE level = 'error' ORDER BY ts DESC LIMIT 1000");
search('phrase_count', 'earliest=-2h "connection refused" | stats count',
	"SELECT count(*) FROM plain WHERE event ~* '\\mconnection refused\\M'");
search('substring_count', 'earliest=-2h event CONTAINS "ateway" | stats count',
	"SELECT count(*) FROM plain WHERE event ILIKE '%ateway%'");
my $needle = $t->sql("SELECT attributes->>'request_id' FROM plain OFFSET $events / 2 LIMIT 1");
search('request_id', "earliest=-2h request_id=$needle",
	"SELECT * FROM plain WHERE attributes->>'request_id' = '$needle'");
search('count_by_level', 'earliest=-2h | stats count by level',
	'SELECT level, count(*) FROM plain GROUP BY 1');
search('count_by_source', 'earliest=-2h event CONTAINS "failed" | stats count by source',
	"SELECT source, count(*) FROM plain WHERE event ILIKE '%failed%' GROUP BY 1");

$t->stop;
