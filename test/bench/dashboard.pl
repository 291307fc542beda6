# dashboard.pl: how long a load of a dashboard of twelve panels takes.
#
#	make bench B=dashboard		rows "metric value unit"
#
# Environment: EVENTS (5000000, a million to a day, ending now), RUNS (40).
#
# The panels are those of an overview: totals, errors, levels and sources over time, tops, and the
# latest errors, over all events; two of them have the same query.  Times are those of the
# client, over HTTP, one load after the other.  "alone" is each panel's search by itself, and "searches"
# the sum of their medians, which a front end without loads would wait for.
use strict;
use warnings;

use lib 'test/bench';
use LogsvcBench;
use LogsvcTest;
use JSON::PP;
use Test::More;
use Time::HiRes qw(sleep time);

my $events = $ENV{EVENTS} || 5_000_000;
my $runs = $ENV{RUNS} || 40;
my $span = int($events * 86400);
my $start = int((time - 600) * 1e6) - $span;
$| = 1;

my $t = LogsvcTest->new(conf => join "\n", 'shared_buffers = 2GB', 'max_wal_size = 16GB',
	'checkpoint_timeout = 1h', 'synchronous_commit = off', "logsvc.query_timeout = '60s'");
my $org = $t->organization('bench', plan => 'enterprise');
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');

# ---- events ----

open my $in, '-|', 'build/unit/event_source', 'batches', $events, $start, $span, 0, 1 or die $!;
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

# ---- the dashboard ----

my @panels = (
	[ stat => '* | stats count' ], [ stat => 'level=error | stats count' ],
	[ timeseries => '* | timechart span=1h count by level' ],
	[ timeseries => 'level=error | timechart span=1h count' ],
	[ bar => '* | stats count by level' ], [ bar => '* | top 10 source' ],
	[ table => 'level=error | top 10 source' ], [ timeseries => '* | timechart span=1h count by source' ],
	[ stat => 'source=$source | stats count' ], [ timeseries => 'source=$source | timechart span=1h count by level' ],
	[ logs => 'level=error' ], [ stat => '* | stats count' ]);
my $dashboard = $t->http(POST => '/api/v1/dashboards', token => $org->{token}, json => { name => 'overview',
	timeRange => { earliest => int($start / 1e6 - 60) . '', latest => int(($start + $span) / 1e6 + 60) . '' },
	variables => [ { name => 'source', kind => 'text', default => 'block-store' } ],
	panels => [ map { { kind => $_->[0], query => $_->[1] } } @panels ] })->{json}{data};
die "no dashboard\n" unless $dashboard->{id};

sub percentile
{
	my ($share, @times) = @_;
	@times = sort { $a <=> $b } @times;
	return sprintf '%.1f', $times[ int($share * $#times + 0.5) ];
}

my $http = connect_http($t);
my (@times, $answer);
foreach my $run (1 .. $runs + 3)
{
	my ($ms, $status, $body) = send_request($http, 'POST', "/api/v1/dashboards/$dashboard->{id}/data",
		$org->{token}, '{}');
	$answer = decode_json($body)->{data}{panels};
	push @times, $ms if $run > 3;
}
my @wrong = grep { $answer->{$_}{error} } sort keys %$answer;
die "panel $_: $answer->{$_}{error}{message}\n" foreach @wrong;
die "not all events\n" unless $answer->{p1}{rows}[0][0] == $events;
metric('load_p50', percentile(0.5, @times), 'ms');
metric('load_p95', percentile(0.95, @times), 'ms');
metric('events', $events, 'events');
metric('parts', $t->sql('SELECT count(*) FROM logsvc_internal.part'), 'parts');
my $sum = 0;
foreach my $i (0 .. $#panels)
{
	my $body = encode_json({ q => $panels[$i][1] =~ s/\$source/block-store/r,
		earliest => $dashboard->{timeRange}{earliest}, latest => $dashboard->{timeRange}{latest},
		limit => $panels[$i][0] eq 'logs' ? 200 : 1000 });
	my $median = percentile(0.5, map { (send_request($http, 'POST', '/api/v1/search', $org->{token}, $body))[0] } 1 .. 9);
	metric('alone_' . ($i + 1), $median, 'ms');
	$sum += $median;
}
metric('searches', $sum, 'ms');
$t->stop;
