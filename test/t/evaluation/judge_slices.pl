# judge_slices.pl: the built-in evaluator judges in slices, so a large request does not hold
# up the small ones of the same evaluator.
#
# The limit is 100 ms more than without the large one; LATENCY_LIMIT changes it.
#
# Runs alone: it measures times.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;

my $limit = $ENV{LATENCY_LIMIT} // 0.1;
my $path = '/api/v1/evaluations/run-adhoc';
my $t = LogsvcTest->new(conf => "logsvc.evaluators = 1\nlogsvc.model_region = 'eu-central-1'");
my $org = $t->organization('acme', plan => 'enterprise');
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1000000 WHERE class = 'evaluation'");
my @token = (token => $org->{token});

# No identifier tells rows apart: each item has to be compared with most rows.
my @rows = map { "request status=200 duration_ms=" . $_ % 400
	. " session cache refreshed payment authorized queue worker timeout" } 1 .. 10_000;
my @wants = ('Payment is authorized', 'No timeouts in the queue worker',
	'Every request takes less than 200 ms', 'The session cache is refreshed');
my @items = map { { id => "i$_", description => $wants[ $_ % 4 ] } } 1 .. 200;
my $large = json_encode({ rows => \@rows, criteria => 'Judge each item.',
	expectedItems => \@items });

sub preview { return request($t, POST => $path, @token, json => { rows => ['one'], preview => \1 });
	}

my $alone;
for (1 .. 5)
{
	my $r = preview();
	is($r->{status}, 200, 'a preview');
	$alone = $r->{seconds} if !defined $alone || $r->{seconds} > $alone;
}

my ($longest, $overtaken);
foreach my $round (1 .. 3)
{
	my $held = begin_request($t, POST => $path, @token, body => $large);
	my $n = 0;

	# Some 20 ms for the request to arrive and be mined.
	answered($held, 0.02);
	$longest = 0;
	while (!answered($held, 0))
	{
		my $r = preview();

		is($r->{status}, 200, 'a preview beside it') or last;
		$overtaken++ unless answered($held, 0);
		$longest = $r->{seconds} if $r->{seconds} > $longest;
		last if ++$n > 200;
	}
	my $r = end_request($held);
	is($r->{status}, 200, 'the large request');
	is(scalar @{ $r->{json}{data}{verdict} // [] }, 200, 'a finding for each item');
	note sprintf 'large %.0f ms; longest preview beside it %.1f ms, alone %.1f ms',
		$r->{seconds} * 1000, $longest * 1000, $alone * 1000;
	last if $longest - $alone < $limit && $overtaken;
}
ok($overtaken, 'previews are answered while it is judged');
cmp_ok($longest - $alone, '<', $limit, 'none waits 100 ms more');

done_testing();
