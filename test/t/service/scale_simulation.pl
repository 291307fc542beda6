# scale_simulation.pl: the model of several servers (test/simulation) neither loses nor makes
# events,
# gives what is known without it, and says the same twice.
use strict;
use warnings;

use lib 'test/simulation';
use SimulationChange;
use SimulationCosts;
use SimulationLoad;
use SimulationPlacement;
use SimulationUsage;
use Test::More;

my $costs = SimulationCosts->read_file('test/simulation/costs.tsv');

sub near { my ($is, $wanted, $name, $part) = @_;
	return ok(abs($is - $wanted) <= ($part // 1e-9) * abs $wanted, $name) || diag("$is instead of $wanted"); }
sub total { return SimulationUsage::total(@_); }

# ---- the load ----

my $load = SimulationLoad->new(organizations => 5000, events => 1e9);
near(total(@{ $load->{events_of} }), 1e9, 'organizations send all events together');
near(total(@{ $load->{searches_of} }), 5 * 5000, 'and search as often as all of them');
my $harmonic = 0;
$harmonic += 1 / $_ foreach 1 .. 5000;
near($load->{events_of}[0], 1e9 / $harmonic, 'the first has the share of Zipf');
near($load->{events_of}[0] / $load->{events_of}[99], 100, 'a hundred times that of the hundredth');
foreach my $zone (0 .. 2)
{
	near(total(map { $load->curve($zone, $_) } 0 .. 1439), 1440, "zone $zone: the curve moves events within the day");
}
is_deeply(SimulationLoad->new(organizations => 5000, events => 1e9), $load, 'the same seed is the same load');
isnt(SimulationLoad->new(organizations => 5000, events => 1e9, seed => 2)->{searches_of}[0],
	$load->{searches_of}[0], 'another seed is another one');
srand 3;
near(total(map { scalar(my @b = $load->bursting) } 1 .. 1440), 5000, 'as many bursts in a day as there should be', 0.1);

# ---- placement and usage ----

foreach my $kind (@SimulationPlacement::kinds)
{
	my $placement = SimulationPlacement->new(kind => $kind, nodes => 10,
		size => $load->{events_of});
	my $usage = SimulationUsage->new(costs => $costs, load => $load, placement => $placement);
	near(total(@{ $usage->{sum}{organizations} }), 5000, "$kind: each organization is somewhere, once");
	near(total(@{ $usage->{sum}{events} }), 1e9, "$kind: no event is lost or made");
	near(total(@{ $usage->{sum}{searches} }), 25_000, "$kind: and no search");
	my $day = $usage->day;
	near($day->{cpu} - $day->{bursts},
		total(map { @{ $usage->{sum}{$_} } } qw(ingest search lookup hop)) / 1e6,
		"$kind: the minutes of the day are the day");
	is_deeply(SimulationUsage->new(costs => $costs, load => $load, placement => $placement)->day,
		$day, "$kind: the same twice");
	my $most = SimulationUsage::most(@{ $usage->{sum}{events} });
	cmp_ok($most, '>=', 1e8, "$kind: the fullest node has the average at least");
	cmp_ok($most, '>=', $load->{events_of}[0], "$kind: and the largest organization") if $kind ne 'divided';
	cmp_ok($most, '<=', 1.1e8, "$kind: nearly the average") if $kind eq 'divided';
	my @piece = map { $load->{events_of}[ $_->[0] ] * $_->[1] } @{ $placement->{pieces} };
	cmp_ok(SimulationUsage::most(@piece), '<=', 1e7, 'no piece is more than a tenth of a node')
	  if $kind eq 'divided';
}
# Small organizations by the thousand, instead of one by one.
my %many = (organizations => 20_000, events => 1e9);
my ($one_by_one, $cohorts) = map {
	my $l = SimulationLoad->new(%many, single => $_);
	SimulationUsage->new(costs => $costs, load => $l, placement => SimulationPlacement->new(kind => 'apart', nodes => 10, size => $l->{events_of}, members => $l->{members_of}));
} 20_000, 5_000;
foreach my $what (qw(events organizations searches ingest search lookup active))
{
	near(total(@{ $cohorts->{sum}{$what} }), total(@{ $one_by_one->{sum}{$what} }), "cohorts: the same of $what", 0.1);
}
near(total(@{ $cohorts->{sum}{organizations} }), 20_000, 'cohorts: each organization once');

my @least = SimulationPlacement::least_loaded([ 7, 5, 4, 3, 3, 2 ], 2);
is_deeply(\@least, [ 0, 1, 1, 0, 1, 0 ], 'the largest first, each where least is');

my $alone = SimulationUsage->new(costs => $costs, load => $load,
	placement => SimulationPlacement->new(kind => 'hash', nodes => 1, size => $load->{events_of}));
is(total(@{ $alone->{sum}{bytes} }, @{ $alone->{sum}{hop} }), 0, 'one node passes nothing on');
my $even = SimulationLoad->new(organizations => 20_000, events => 1e9, skew => 0);
my $hash = SimulationUsage->new(costs => $costs, load => $even,
	placement => SimulationPlacement->new(kind => 'hash', nodes => 10, size => $even->{events_of}));
near(SimulationUsage::most(@{ $hash->{sum}{events} }), 1e8, 'equal organizations are spread by a hash', 0.05);
my $direct = SimulationUsage->new(costs => $costs, load => $even, gateway => 'owner', placement => $hash->{placement});
is(total(@{ $direct->{sum}{bytes} }), 0, 'nothing travels between nodes when senders reach the right one');
my $hundred = SimulationUsage->new(costs => $costs, load => $even,
	placement => SimulationPlacement->new(kind => 'hash', nodes => 100, size => $even->{events_of}));
near(total(@{ $hundred->{sum}{bytes} }) / total(@{ $hash->{sum}{bytes} }), 0.99 / 0.9, 'of 10 nodes nine tenths are passed on, of 100 nodes 99 of 100');

near(SimulationUsage::lookups(10, 1e12), 10, 'when all changes all the time, each request looks up', 1e-6);
near(SimulationUsage::lookups(1e12, 3), 3, 'one that asks all the time looks up once for each change', 1e-6);
is(SimulationUsage::lookups(10, 0), 0, 'when nothing changes, none does');

# ---- what comes and goes ----

foreach ([ 60, 0.5 ], [ 60, 0.9 ], [ 600, 0.7 ], [ 10, 0.3 ])
{
	my ($away, $used) = @$_;
	my $outage = SimulationChange::outage(away => $away, load => $used);
	cmp_ok(abs($outage->{over} - $away * $used / (1 - $used)), '<=', 2, "away $away s at $used: over after away * load / (1 - load)");
	cmp_ok(abs($outage->{most} - $away * $used), '<=', 1, '... and that much waits');
}
is(SimulationChange::outage(away => 60, load => 1)->{over}, undef, 'a node without room never catches up');
my $change = SimulationChange::rebalance(costs => $costs, server => \%SimulationUsage::server,
	nodes => 90, more => 10, events => 1e9, organizations => 1000, sessions => 1);
near($change->{events} * 10, 1e9 * $SimulationUsage::server{retention} / 10, 'a tenth of the nodes gets a tenth of what is stored');

# ---- the program, with the costs of the tree ----

$ENV{ORGANIZATIONS} = 1000;
$ENV{NODES} = '1 10';
my @said = map { scalar `$^X test/simulation/simulation.pl 2>&1` } 1 .. 2;
is($?, 0, 'it has each cost that it needs');
is($said[0], $said[1], 'and prints the same twice');
ok(!eval { $costs->of('nonsense'); 1 }, 'a cost that is not there is an error');
done_testing;
