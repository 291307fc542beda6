# SimulationLoad: who sends and searches how much.  All of it is assumed, none of it measured: the
# numbers are in %assumed, and the README says why they are what they are.
#
# Events and searches of an organization are a share of all, by its rank (Zipf).  What is sent
# follows the day of the organization's zone; each organization has bursts.  Same seed, same load.
#
# The first `single` ranks are entries of their own.  The others are so small that a node has many of
# each size: they are entries of COHORT organizations each, which are spread over all nodes evenly.
package SimulationLoad;

use strict;
use warnings;

use constant { MINUTES => 1440, COHORT => 5000 };

our %assumed = (
	skew => 1.0,             # exponent of Zipf's law of events
	search_power => 0.7,     # searches of an organization grow with its events to this power,
	search_noise => 1.0,     # and differ by this much (sigma of a lognormal distribution)
	searches => 5,           # a day and organization, on average
	zones => [ [ 0.5, 14 ], [ 0.3, 20 ], [ 0.2, 5 ] ], # share, hour (UTC) with the most events
	day_curve => 0.6,        # more at that hour than on average, and less 12 hours later
	bursts => 1,             # of an organization in a day,
	burst_factor => 10,      # each a minute with so many times its average
	changes => 2,            # of keys, members and sessions a day: each an epoch step
	keys => 2,               # of an organization that send or search
	# Rate of an organization, events a second, up to which its requests have so many events.
	batches => [ [ 0.2, 1 ], [ 2, 10 ], [ 500, 100 ], [ 9e99, 2500 ] ],
	# Share of searches, and how many days they cover.
	kinds => { newest => 0.35, errors => 0.2, count => 0.15, histogram => 0.1, phrase => 0.1,
		needle => 0.05, group => 0.03,
		regex => 0.01, patterns => 0.01 },
	days => [ [ 0.7, 1 / 24 ], [ 0.25, 1 ], [ 0.05, 7 ] ],
);

# Options: organizations, events (a day, of all), seed, and what is in %assumed.
sub new
{
	my ($class, %opt) = @_;
	my $self = bless { %assumed, seed => 1, single => 50_000, %opt }, $class;
	my $n = $self->{organizations};
	my (@events, @searches, @zone, @members);
	my ($sum, $searched) = (0, 0);

	srand $self->{seed};
	for my $rank (1 .. $n)
	{
		my $weight = $rank ** -$self->{skew};
		my $wanted = $weight ** $self->{search_power} * exp($self->{search_noise} * normal());
		$sum += $weight;
		$searched += $wanted;
		if ($rank > $self->{single} && ($rank - $self->{single} - 1) % COHORT)
		{
			$events[-1] += $weight;
			$searches[-1] += $wanted;
			$members[-1]++;
			next;
		}
		push @events, $weight;
		push @searches, $wanted;
		push @members, 1;
		my $at = rand;
		my $zone = 0;
		$zone++ while $zone < $#{ $self->{zones} } && ($at -= $self->{zones}[$zone][0]) >= 0;
		push @zone, $zone;
	}
	$_ *= $self->{events} / $sum foreach @events;
	my $searches = $self->{searches} * $n;
	$_ *= $searches / $searched foreach @searches;
	@$self{qw(events_of searches_of zone_of members_of)} = (\@events, \@searches, \@zone,
		\@members);
	return $self;
}

# Of the standard normal distribution, by two of `rand`.
sub normal { return sqrt(-2 * log(1 - rand)) * cos(6.28318530717959 * rand); }

# What a minute of the zone's day is, times the average; over a day 1 on average.
sub curve
{
	my ($self, $zone, $minute) = @_;
	my $days = $minute / MINUTES - $self->{zones}[$zone][1] / 24;
	return 1 + $self->{day_curve} * cos(6.28318530717959 * $days);
}

# Events of a request of an organization with so many events a day.
sub batch
{
	my ($self, $events) = @_;
	my $rate = $events / 86400;
	foreach (@{ $self->{batches} }) { return $_->[1] if $rate <= $_->[0]; }
	die;
}

# Days that a search covers, on average.
sub mean_days { my ($self) = @_; my $sum = 0; $sum += $_->[0] * $_->[1]
	foreach @{ $self->{days} }; return $sum; }

# The entry of the organization of a rank, from 0.
sub entry { my ($self, $rank) = @_; return $rank < $self->{single} ? $rank : $self->{single}
	+ int(($rank - $self->{single}) / COHORT); }

# Ranks of organizations that have a burst in a minute: as many as come of independent ones.
sub bursting
{
	my ($self) = @_;
	my $n = $self->{organizations};
	my $mean = $n * $self->{bursts} / MINUTES;
	my $count = int($mean + sqrt($mean) * normal() + 0.5);
	return map { int rand $n } 1 .. ($count > 0 ? $count : 0);
}

1;
