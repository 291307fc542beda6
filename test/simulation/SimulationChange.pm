# SimulationChange: what happens when nodes come and go.
package SimulationChange;

use strict;
use warnings;

# A node is away and comes back, or its standby does, after `away` seconds; senders try again until
# then.  `load`: what comes, as a share of what the node can do.  Second by second: the most that
# waits, in seconds of the node's work, and how long it takes until nothing waits.
sub outage
{
	my (%opt) = @_;
	my ($waits, $most, $second) = (0, 0, 0);
	return { most => $opt{away} * $opt{load}, over => undef } if $opt{load} >= 1;
	while (1)
	{
		$waits += $opt{load};
		$waits -= $waits < 1 ? $waits : 1 if $second >= $opt{away};
		$most = $waits if $waits > $most;
		$second++;
		last if $second > $opt{away} && $waits <= 0;
		return { most => $most, over => undef } if $second > 10_000_000;
	}
	return { most => $most, over => $second - $opt{away} };
}

# `more` nodes are added to `nodes`: each new one gets what a node has on average, as exported and
# imported organizations (SQL, one after the other in `sessions` sessions a node).
sub rebalance
{
	my (%opt) = @_;
	my ($costs, $server) = @opt{qw(costs server)};
	my $all = $opt{nodes} + $opt{more};
	my $events = $opt{events} * $server->{retention} / $all;   # of a new node
	my $organizations = $opt{organizations} / $all;
	my $import = $events / 1e6 * $costs->of('move_import_wall');
	my $export = $events / 1e6 * $costs->of('move_export_wall') * $opt{more} / $opt{nodes};
	my $small = $organizations * $costs->of('move_export_organization') / 1000;
	my $bytes = $events * $costs->of('move_stream');
	return {
		events => $events, organizations => $organizations, bytes => $bytes,
		hours => (($import > $export ? $import : $export) + $small) / $opt{sessions} / 3600,
		network => $bytes / ($server->{network} * $server->{network_used}) / 3600,
		cores => $events / 1e6 * $costs->of('move_import_cpu') };
}

1;
