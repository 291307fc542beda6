# judge_turns.pl: large evaluations of one organization do not hold up a small one of another.
#
# One token sends nine of 9.3 MB at once; meanwhile another organization asks for small ones.  None
# of these may take a third of the time of the large ones, and half of them must take less than a
# tenth.  Before there were turns of organizations a small one waited for all nine.
#
# Runs alone: it measures times.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;

my $path = '/api/v1/evaluations/run-adhoc';
my $t = LogsvcTest->new(conf => "logsvc.evaluators = 1\nlogsvc.model_region = 'eu-central-1'");
my $greedy = $t->organization('greedy', plan => 'enterprise');
my $small = $t->organization('small', plan => 'enterprise');
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1000000 WHERE class = 'evaluation'");

# No identifier tells rows apart, and no two rows are alike.
srand(7);
my @words = qw(payment authorized queue worker timeout session cache refreshed request
	status duration);
my @rows = map { my $n = $_; join ' ', map { $words[ rand @words ] . '=' . int rand 1e6 } 1 .. 62
	} 1 .. 10_000;
my @wants = ('Payment is authorized', 'No timeouts in the queue worker',
	'Every request takes less than 200 ms', 'The session cache is refreshed');
my @items = map { { id => "i$_", description => $wants[ $_ % 4 ] } } 1 .. 200;
my $large = json_encode({ rows => \@rows, criteria => 'Judge each item.',
	expectedItems => \@items });
note sprintf 'a large request has %.1f MB', length($large) / 1e6;

sub ask
{
	return request($t, POST => $path, token => $small->{token},
		json => { rows => ['backup of db1 finished'], criteria => 'Judge it.',
			expectedItems => [{ id => 'b', description => 'The backup of db1 finished' }] });
}

is(ask()->{json}{data}{verdict}[0]{status}, 'passed', 'a small one alone');
my @held = map { begin_request($t, POST => $path, token => $greedy->{token}, body => $large) } 1 ..
	9;
my ($overtaken, @took) = (0);
while (@took < 60 && grep { !answered($_, 0) } @held)
{
	my $r = ask();

	is($r->{json}{data}{verdict}[0]{status}, 'passed', 'a small one beside them') or last;
	$overtaken++ if grep { !answered($_, 0) } @held;
	push @took, $r->{seconds};
}
cmp_ok($overtaken, '>', 0, "small ones ($overtaken) are answered while large ones are judged");
my $all = 0;
foreach my $r (map { end_request($_, 200) } @held)
{
	is($r->{status}, 200, 'a large one');
	is(scalar @{ $r->{json}{data}{verdict} // [] }, 200, 'a finding for each item');
	$all = $r->{seconds} if ($r->{seconds} // 0) > $all;
}
@took = sort { $a <=> $b } @took;
note sprintf 'large ones %.2f s; %d small ones beside them: median %.2f s, longest %.2f s',
  $all, scalar @took, $took[ $#took / 2 ], $took[-1];
cmp_ok($took[-1], '<', $all / 3, 'none waits for the large ones of another organization');
cmp_ok($took[ $#took / 2 ], '<', $all / 10, 'most wait for a slice or two');

done_testing();
