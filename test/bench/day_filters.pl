# day_filters.pl: what a needle costs among 16, 100 and 1,000 parts of a past day, with the filter
# of the day and without; and searches that it does not serve.
#
#	make bench B=day_filters		rows "metric value unit"
#
# Environment: EVENTS (1000000) of which parts are made, PARTS (16,100,1000), RUNS (200) of each
# search.
#
# The parts are copies of those of the events, and one of them is there once: it has the needle that
# exists.  Processor time is that of the session, without parallel workers.
use strict;
use warnings;

# Of the session, in all.
BEGIN { $ENV{PG_TEST_TIMEOUT_DEFAULT} = 3600; }

use lib 'test/bench';
use LogsvcBench;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep time);

my $events = $ENV{EVENTS} || 1_000_000;
my @sizes = split /,/, $ENV{PARTS} // '16,100,1000';
my $runs = $ENV{RUNS} || 200;
my $t = LogsvcTest->new(conf => join "\n", 'shared_buffers = 2GB', 'max_wal_size = 16GB', 'synchronous_commit = off',
	'full_page_writes = off', 'checkpoint_timeout = 1h', 'logsvc.search_workers = 0', 'logsvc.compactors = 1',
	'autovacuum = off', 'logsvc.day_filters = on', 'max_parallel_workers_per_gather = 0');
my $org = $t->organization('bench', plan => 'enterprise');
my $day = int(time / 86400) * 86400 - 86400;

my $socket = connect_http($t);
open my $in, '-|', 'build/unit/event_source', 'batches', $events, $day * 1_000_000, 86_000 * 1_000_000, 0, 1, 0, $events or die $!;
binmode $in;
while (defined(my $length = <$in>))
{
	read($in, my $body, $length) == $length or die 'short batch';
	while (1)
	{
		my (undef, $status, $answer) = send_request($socket, 'POST', '/api/v1/logs/batch', $org->{ingest_key}, $body);
		last if $status == 202;
		die "status $status: $answer\n" if $status != 429;
		sleep 0.05;
	}
}
my ($last, $since) = ('', time);
wait_until(sub {
	my $now = $t->sql('SELECT count(*), max(id) FROM logsvc_internal.part');
	($last, $since) = ($now, time) if $now ne $last;
	return time - $since > 12 && $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 300) or die 'queue';
$t->set('logsvc.compactors', 0);

my $columns = 'organization_id, index_name, day, level, min_time, max_time, rows, raw_bytes, level_mask, '
	. 'min_batch, max_batch, header, body, created_at';
my $full = "index_name = 'main' AND day = to_timestamp($day)::date AND greatest(rows, raw_bytes >> 10) >= 16384";
$t->sql("CREATE TABLE kept AS SELECT row_number() OVER (ORDER BY id) AS n, $columns FROM logsvc_internal.part WHERE $full;
	ALTER TABLE kept ALTER body SET STORAGE EXTERNAL; UPDATE kept SET created_at = now() - interval '2 hours'");
my $kept = $t->sql('SELECT count(*) FROM kept');
metric('source_parts', $kept, 'parts');

my $session = $t->node->background_psql('postgres');
my $pid = $session->query_safe('SELECT pg_backend_pid()');
$session->query_safe("SELECT logsvc.act_as('bench')");
sub search { return sprintf q{logsvc.search('%s', earliest => '-3d', latest => '+1h')}, $_[0]; }

sub least_cpu
{
	my ($q) = @_;
	my $least;
	foreach my $try (1 .. 3)
	{
		$session->query_safe('DO $$ BEGIN PERFORM ' . search($q) . '; END $$') if $try == 1;
		my $before = process_cpu($pid);
		$session->query_safe("DO \$\$ BEGIN FOR i IN 1 .. $runs LOOP PERFORM " . search($q) . '; END LOOP; END $$');
		my $took = 1000 * (process_cpu($pid) - $before) / $runs;
		$least = $took if !defined $least || $took < $least;
	}
	return $least;
}

my %needle;
foreach my $size (@sizes)
{
	$t->sql("DELETE FROM logsvc_internal.day_filter; DELETE FROM logsvc_internal.part");
	$t->sql('VACUUM logsvc_internal.part');
	$t->sql("INSERT INTO logsvc_internal.part ($columns) SELECT $columns FROM kept WHERE n = 1");
	if (!%needle)
	{
		my $id = (split /\n/, $t->sql("SELECT logsvc.act_as('bench') IS NULL; SELECT " . search('request_id=* | head 1')
			. " #>> '{data,rows,0,attributes,request_id}'"))[-1];
		%needle = (id => "request_id=\"$id\" | stats count");
	}
	$t->sql("INSERT INTO logsvc_internal.part ($columns) SELECT $columns FROM kept, generate_series(1, $size) i WHERE n > 1 LIMIT $size - 1");
	$t->sql('ANALYZE logsvc_internal.part');
	my %query = (%needle, id_none => 'request_id="00000000000000000000000000000000" | stats count',
		word_none => 'zyzzyvaxq | stats count', id_events => ($needle{id} =~ s/ \| .*//r),
		by_level => '* | stats count by level', error_newest => 'level=error | head 100', common => 'failed | stats count by source');
	delete @query{qw(common)} if $size > 100;
	my %without = map { $_ => least_cpu($query{$_}) } sort keys %query;
	my $cpu = server_cpu($t);
	my $begin = time;
	$t->set('logsvc.compactors', 1);
	my $made = wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.day_filter f, logsvc_internal.day_filter_parts(f.head)') >= $size * 0.9 }, 300);
	$t->set('logsvc.compactors', 0);
	wait_until(sub { $t->workers('^logsvc compactor$') == 0 });
	metric("made_$size", sprintf('%.1f', time - $begin), 's');
	metric("made_cpu_$size", sprintf('%.1f', server_cpu($t) - $cpu), 's');
	metric("filter_bytes_$size", $t->sql("SELECT round(sum(octet_length(bits) + octet_length(head))::numeric / (SELECT sum(rows) FROM logsvc_internal.part WHERE $full), 2) FROM logsvc_internal.day_filter"), 'B/event') if $made;
	$t->sql('VACUUM ANALYZE logsvc_internal.day_filter');
	foreach my $q (sort keys %query)
	{
		my $with = least_cpu($query{$q});
		metric("${q}_$size", sprintf('%.2f without, %.2f', $without{$q}, $with), 'ms');
	}
}
$session->quit;
$t->stop;
ok(1, 'measured');
done_testing;
