# console.pl: how quick the search screen of the console is, in Chromium.
#
#	make bench B=console
#
# Environment:
#	EVENTS    1000000: events, a million to a day, ending now
#	RUNS      10 of each search, and of opening the screen
#	ROWS      100000: rows that are loaded and scrolled
#	FRAMES    300 of each scroll
#	THROTTLE  4: how many times slower the processor is, in the second half of the scrolling
#	REST      60: seconds that merging may take at most before it is measured
#
# Events come from test/bench/event_source.c, the searches are like those of search.pl.  Chromium is
# headless and paints without a graphics card, beside the service on the same machine.  Rate
# limits are lifted: a person is allowed 10 searches a minute.  test/browser/measure.mjs says what
# begins and ends each time; its last rows, "budget_...", say which figures are what they should
# be.  "load" is that of the machine when a part began: beside other work the figures are those
# of the other work.
use strict;
use warnings;

use lib 'test/bench';
use LogsvcBench;
use LogsvcBrowser;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep time);

# The searches: name, query (%s is a request_id), and how many of the newest seconds; without, all.
my @searches = (
	[ newest_errors => 'level=error', 3600 ],
	[ rare_phrase => '"connection refused"' ],
	[ rare_phrase_count => '"connection refused" | stats count' ],
	[ substring_count => 'event CONTAINS "nnection refu" | stats count' ],
	[ frequent_substring_count => 'event CONTAINS "uthenticat" | stats count' ],
	[ request_id => 'request_id=%s' ],
	[ request_id_absent => 'request_id=00000000000000000000000000000000' ],
	[ count_by_level => '* | stats count by level' ],
	[ hourly_histogram => '* | timechart span=1h count' ],
	[ five_minutes_of_a_day => '* | timechart span=5m count', 86400 ],
	[ hourly_errors => 'level=error | timechart span=1h count' ],
	[ word_by_source => 'failed | stats count by source' ],
	[ count_by_service => '* | stats count by attributes.service' ],
	[ dc_request_id => '* | stats dc(request_id)' ],
	[ patterns_of_a_day => '* | patterns max=50', 86400 ]);
my $events = $ENV{EVENTS} || 1_000_000;
my $out = Test::More->builder->output;
$| = 1;

if (my $reason = LogsvcBrowser::missing(qw(browser node)))
{
	print $out "console: not measured, $reason\n";
	exit 0;
}
my $conf = join "\n", 'shared_buffers = 1GB', 'max_wal_size = 16GB', 'synchronous_commit = off',
  'work_mem = 64MB', 'effective_cache_size = 4GB', '';
my $t = LogsvcTest->new(conf => $conf);
my $org = $t->organization('bench');
my $span = int($events * 86400);
my $start = int((time - 60) * 1e6) - $span;

# Sends them, and waits until they are stored and merged.
my $source = 'build/unit/event_source';
my $socket = connect_http($t);
open my $batches, '-|', $source, 'batches', $events, $start, $span, 0, 1, 0, $events or die $!;
binmode $batches;
while (defined(my $length = <$batches>))
{
	read($batches, my $body, $length) == $length or die 'short batch';
	while (1)
	{
		my (undef, $status, $answer) =
		  send_request($socket, 'POST', '/api/v1/logs/batch', $org->{ingest_key}, $body);
		last if $status == 202;
		die "status $status: $answer\n" if $status != 429;
		sleep 0.05;    # the queue is full: as soon as there is room
	}
}
close $batches or die "event_source failed\n";
my $sent = time;
wait_until(sub {
	return $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0
	  && (!merges_due($t) || time - $sent > ($ENV{REST} // 60));
}, 900) or die "the queue did not drain\n";
$t->sql('VACUUM ANALYZE logsvc_internal.part');
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
chomp(my $id = `$source request_id @{[ int($events / 2) ]}`);
my @wanted = map { { name => $_->[0], q => $_->[1] =~ s/%s/$id/r,
	  width => $_->[2] } } @searches;
{
	local %ENV = (%ENV, LOGSVC_URL => $t->url, SESSION => $t->session('bench@example.org'),
		CHROMIUM => LogsvcBrowser::chromium(),
		SEARCHES => JSON::PP::encode_json(\@wanted), SPAN => int($span / 1e6) + 120);
	open my $in, '-|', 'node', 'test/browser/measure.mjs' or die $!;
	print $out $_ while <$in>;
	close $in or die "measure.mjs failed\n";
}
$t->stop;
