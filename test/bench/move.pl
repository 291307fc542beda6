# move.pl: how long an organization takes to another server, and the memory of the two sessions.
#
#	make bench B=move		rows "metric value unit"
#
# Environment: EVENTS (5000000).
#
# Memory is the most private memory that the session had (RssAnon, looked at every 10 ms).
use strict;
use warnings;

use lib 'test/bench';
use IPC::Run ();
use LogsvcBench;
use LogsvcTest;
use PostgreSQL::Test::Utils qw(slurp_file);
use Test::More;
use Time::HiRes qw(sleep time);

my $events = $ENV{EVENTS} || 5_000_000;
my $conf = "shared_buffers = 256MB\nmax_wal_size = 16GB\ncheckpoint_timeout = 1h";
my ($source, $target) = map { LogsvcTest->new(name => $_, conf => $conf) } qw(source target);
$_->sql('CREATE ROLE op LOGIN; GRANT logsvc_admin TO op') foreach $source, $target;
my $org = $source->organization('bench');

open my $in, '-|', 'build/unit/event_source', 'batches', $events, int((time - 7200) * 1e6), 3600 * 1e6, 0, 1 or die $!;
binmode $in;
while (defined(my $length = <$in>))
{
	my $body;
	read($in, $body, $length) == $length or die 'short batch';
	while (1)
	{
		my $r = $source->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, body => $body);
		last if $r->{status} == 202;
		die $r->{content} if $r->{status} != 429;
		sleep 0.05;
	}
}
close $in;
$source->sql("SELECT logsvc.set_organization_state('bench', 'read_only')");
wait_until(sub { $source->sql_json("SELECT logsvc.set_organization_state('bench')")->{underWay} == 0 }, 300) or die "the queue did not drain\n";
metric('parts ' . $source->sql('SELECT round(sum(octet_length(header) + octet_length(body)) / 1e6) FROM logsvc_internal.part') . ' MB');

# Runs psql; the most memory of its session is the first line that it prints.
sub run
{
	my ($server, $name, $input, $output, @commands) = @_;
	my $begin = time;
	my $most = 0;
	my $pid = 0;
	my $psql = IPC::Run::start([ 'psql', '-XqAt1', '-v', 'ON_ERROR_STOP=1', '-U', 'op', '-d', $server->node->connstr('postgres'),
		map { ('-c', $_) } @commands ], '<', $input, '>', $output);
	local $LogsvcTest::kept = {};
	while (1)
	{
		eval { $psql->pump_nb; 1 } or last;
		$pid ||= $server->sql("SELECT pid FROM pg_stat_activity WHERE usename = 'op'");
		my ($kb) = (eval { slurp_file("/proc/$pid/status") } // '') =~ /^RssAnon:\s+(\d+)/m;
		last if $pid && !defined $kb;
		$most = $kb if defined $kb && $kb > $most;
		sleep 0.01;
	}
	$psql->finish or die "$name failed\n";
	metric(sprintf '%s_time %.1f s', $name, time - $begin);
	metric(sprintf '%s_memory %.0f MB', $name, $most / 1024);
	return;
}

my $stream = $source->node->basedir . '/stream';
run($source, 'export', '/dev/null', $stream, "COPY (SELECT (row).* FROM (SELECT logsvc.export_organization('bench') AS row) AS stream) TO STDOUT (FORMAT binary)");
metric(sprintf 'stream %.0f MB', (-s $stream) / 1e6);
my $wal = $target->sql('SELECT pg_current_wal_lsn()');
run($target, 'import', $stream, '/dev/null', 'COPY logsvc.organization_stream FROM STDIN (FORMAT binary)', 'SELECT * FROM logsvc.import_organization()');
metric('import_wal ' . $target->sql("SELECT round((pg_current_wal_lsn() - '$wal'::pg_lsn) / 1e6)") . ' MB');
my $begin = time;
$target->sql("SELECT count(*) FROM logsvc.verify_parts('bench')") == 0 or die "damaged parts\n";
metric(sprintf 'verify_parts_time %.1f s', time - $begin);
$_->stop foreach $source, $target;
