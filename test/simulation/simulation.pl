#!/usr/bin/perl
# simulation.pl: what several servers would do under a skewed load, from the measured costs of one.
#
#	make simulation			tables, some minutes
#	perl test/simulation/simulation.pl		the same, without make
#
# Environment: NODES (10 100 1000), ORGANIZATIONS (1000000), EVENTS a day and node (1e9), SKEW
# (1.0),
# SEED (1).  README.md says what is measured, assumed and calculated.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use SimulationChange;
use SimulationCosts;
use SimulationLoad;
use SimulationPlacement;
use SimulationUsage;

my @nodes = split ' ', $ENV{NODES} || '10 100 1000';
my $organizations = $ENV{ORGANIZATIONS} || 1_000_000;
my $each = $ENV{EVENTS} || 1e9;
my $skew = $ENV{SKEW} || 1.0;
my $seed = $ENV{SEED} || 1;
my $costs = SimulationCosts->read_file("$FindBin::Bin/costs.tsv");
my %server = %SimulationUsage::server;
$| = 1;

# Numbers as people read them.
sub amount
{
	my ($value, $unit) = @_;
	return '-' unless defined $value;
	foreach ([ 1e15, 'P' ], [ 1e12, 'T' ], [ 1e9, 'G' ], [ 1e6, 'M' ], [ 1e4, 'k' ])
	{
		my $by = $_->[1] eq 'k' ? 1e3 : $_->[0];
		return sprintf('%.3g %s%s', $value / $by, $_->[1], $unit // '') =~ s/ $//r if abs $value >= $_->[0];
	}
	return sprintf('%.3g %s', $value, $unit // '') =~ s/ $//r;
}
sub row { print '| ', join(' | ', @_), " |\n"; return; }
sub table { my ($title, @head) = @_; print "\n$title\n\n"; row(@head); row(map { '---' } @head); return; }

sub load_of
{
	my ($nodes, %opt) = @_;
	return SimulationLoad->new(organizations => $organizations, events => $each * $nodes,
		seed => $seed, skew => $skew, %opt);
}

# What an organization takes of a node, for placing it: CPU of its events and searches.
sub sizes_of
{
	my ($load) = @_;
	my %cpu = map { $_->[1] => $costs->of("ingest_cpu_$_->[1]") } @{ $load->{batches} };
	my $search = SimulationUsage->search_costs_of($costs, $load);
	return [ map {
		my $events = $load->{events_of}[$_];
		my $one = $events / $load->{members_of}[$_];
		$events * $cpu{ $load->batch($one) } + $load->{searches_of}[$_] * ($search->{fixed}
			+ $search->{each} * $one / 1e6)
	} 0 .. $#{ $load->{events_of} } ];
}

print "costs: ", $costs->machine, "\n";
print amount($organizations), " organizations, ", amount($each), " events a day and node, skew $skew, seed $seed; a node has $server{cores} cores, ",
  amount($server{memory}, 'B'), " of memory, ", amount($server{disk}, 'B'), " of disk, ", amount(8 * $server{network}, 'bit/s'), ", retention $server{retention} days\n";

my (%usage, %day, %load);
table('Placement: CPU of a node at the busiest minute, relative to the average of all nodes and the day',
	'nodes', 'placement', 'busiest node', '95th percentile of nodes and minutes', 'most events on a node, to the average', 'shards with one organization or a piece');
foreach my $nodes (@nodes)
{
	my $load = $load{$nodes} = load_of($nodes);
	my $sizes = sizes_of($load);
	foreach my $kind (@SimulationPlacement::kinds)
	{
		my $placement = SimulationPlacement->new(kind => $kind, nodes => $nodes, size => $sizes,
			members => $load->{members_of});
		my $usage = SimulationUsage->new(costs => $costs, load => $load, placement => $placement);
		my $day = $usage->day;
		row($nodes, $kind, map({ sprintf '%.2f', $_ / $day->{mean} } SimulationUsage::most(@{ $day->{peak} }), $day->{p95}),
			sprintf('%.2f', SimulationUsage::most(@{ $usage->{sum}{events} }) / ($load->{events} / $nodes)), scalar @{ $placement->{pieces} });
		next unless $kind eq 'divided' || $kind eq 'hash';
		($usage{$nodes}{$kind}, $day{$nodes}{$kind}) = ($usage, $day);
	}
}

foreach my $kind (qw(hash divided))
{
	table("What is full first, placement `$kind`: share of what there is, on the node with the most",
		'resource', map { ("$_ nodes", 'full at events a day') } @nodes);
	my %resources = map { $_ => [ $usage{$_}{$kind}->resources($day{$_}{$kind}) ] } @nodes;
	foreach my $i (0 .. $#{ $resources{ $nodes[0] } })
	{
		row($resources{ $nodes[0] }[$i][0], map {
			my ($name, $used, $most, $unit, $grows) = @{ $resources{$_}[$i] };
			(sprintf('%.3g %%', 100 * $used / $most), $grows && $used > 0 ? amount($load{$_}{events} * $most / $used) : '')
		} @nodes);
	}
}

table('Access data that changes: requests that look their credential up, and CPU of that on a node',
	'nodes', 'a change empties the caches of', 'senders reach', 'requests/s of all', 'looked up', 'cores of a node');
my $middle = $nodes[ $#nodes / 2 ];
foreach my $nodes ($middle)
{
	my $load = $load{$nodes};
	my $placement = $usage{$nodes}{divided}{placement};
	my $requests = 0;
	foreach my $i (0 .. $#{ $load->{events_of} })
	{
		my $events = $load->{events_of}[$i];
		$requests += $events / $load->batch($events / $load->{members_of}[$i]);
		$requests += $load->{searches_of}[$i];
	}
	foreach my $gateway (qw(any owner))
	{
		foreach my $epochs (qw(all node organization))
		{
			my $usage = SimulationUsage->new(costs => $costs, load => $load,
				placement => $placement, gateway => $gateway, epochs => $epochs);
			my $cpu = SimulationUsage::total(@{ $usage->{sum}{lookup} }) / 86400e6;
			row($nodes, { all => 'all nodes', node => 'the node', organization => 'the organization' }->{$epochs}, { any => 'any node', owner => 'the node of their organization' }->{$gateway},
				amount($requests / 86400), sprintf('%.1f %%', 100 * $cpu * 1e6 / $costs->of('lookup_cpu') / ($requests / 86400)), sprintf('%.2f', $cpu / $nodes));
		}
	}
}

table('Bytes between nodes, all of a day', 'nodes', 'requests passed on as they came', 'decoded first', 'WAL to standbys', 'of the node with the most, at its peak');
foreach my $nodes (@nodes)
{
	my $sum = $usage{$nodes}{divided}{sum};
	row($nodes, (map { amount(SimulationUsage::total(@{ $sum->{$_} }), 'B') } qw(bytes decoded wal)),
		amount(1.6 * SimulationUsage::most(map { $sum->{bytes}[$_]
			+ $sum->{wal}[$_] } 0 .. $nodes - 1) / 86400, 'B/s'));
}

table('Catalogs, by shards of a node (partitions of ' . ($server{retention} + 4) . ' days for each shard)',
	'nodes', 'shards of a node', 'rows of pg_class and pg_attribute on a node', 'catalogs of a node', "caches of $server{sessions} sessions", 'shards of partitions that each coordinator knows', 'their metadata');
foreach my $nodes (@nodes)
{
	foreach my $shards (1, 8, 32, 128)
	{
		my $partitions = $shards * ($server{retention} + 4);
		row($nodes, $shards, amount($partitions * ($costs->of('partition_pg_class') + $costs->of('partition_pg_attribute'))), amount($partitions * $costs->of('partition_catalog'), 'B'),
			amount($partitions * $costs->of('partition_memory') * $server{sessions}, 'B'), amount($partitions * $nodes), amount($partitions * $nodes * $costs->of('shard_metadata'), 'B'));
	}
}

table('A tenth more nodes: what each new one receives, and how long it takes with 4 sessions a node (organizations moved by export and import)',
	'nodes', 'organizations', 'events', 'bytes', 'hours', 'cores for an hour', 'hours if only the network counted');
foreach my $nodes (@nodes)
{
	my $change = SimulationChange::rebalance(costs => $costs, server => \%server, nodes => $nodes,
		more => $nodes / 10, events => $load{$nodes}{events}, organizations => $organizations,
			sessions => 4);
	row($nodes, amount($change->{organizations}), amount($change->{events}),
		amount($change->{bytes}, 'B'), sprintf('%.1f', $change->{hours}), sprintf('%.1f', $change->{cores} / 3600), sprintf('%.2f', $change->{network}));
}

table('A node is away, for its share of the organizations; senders try again', 'away, s', 'load of the node', 'waits, seconds of work', 'until it is done, s');
foreach my $away (10, 60, 600)
{
	foreach my $used (0.3, 0.5, 0.7, 0.9)
	{
		my $outage = SimulationChange::outage(away => $away, load => $used);
		row($away, $used, sprintf('%.0f', $outage->{most}), sprintf('%.0f', $outage->{over}));
	}
}

table('The largest organization that one node can have, alone there, in batches of 2,500', 'bound', 'events a day');
{
	my $load = load_of(1, organizations => 1);
	my $cpu = $costs->of('ingest_cpu_2500');
	my $peak = 1 + $load->{day_curve};
	row('CPU of events at the peak', amount(86400 * 1e6 / $cpu / $peak * $server{cores} * $server{cores_used}));
	row('one writer: the events of an organization are stored by one', amount(86400 * 1e6 / $costs->of('ingest_cpu_2500_store') / $peak));
	row("disk, $server{retention} days", amount($server{disk} * $server{disk_used} / $server{retention} / $costs->of('part_bytes')));
	row('a count of a phrase over a day within 1 s of CPU', amount(1e6 * (1000 - $costs->of('search_phrase_fixed')) / $costs->of('search_phrase_each')));
	row('a regular expression without a literal over a day within 10 s of CPU', amount(1e6 * (10_000 - $costs->of('search_regex_fixed')) / $costs->of('search_regex_each')));
}

table("Skew, $middle nodes: what the largest organization is, and the busiest node relative to the average", 'exponent', 'largest, share of all events', 'of one node', 'hash', 'divided');
foreach my $exponent (0.8, 1.0, 1.2)
{
	my $load = load_of($middle, skew => $exponent);
	my $sizes = sizes_of($load);
	my @busiest = map {
		my $usage = SimulationUsage->new(costs => $costs, load => $load,
			placement => SimulationPlacement->new(kind => $_, nodes => $middle, size => $sizes,
				members => $load->{members_of}));
		my $day = $usage->day;
		sprintf '%.2f', SimulationUsage::most(@{ $day->{peak} }) / $day->{mean};
	} qw(hash divided);
	my $share = $load->{events_of}[0] / $load->{events};
	row($exponent, sprintf('%.1f %%', 100 * $share), sprintf('%.1f', $middle * $share), @busiest);
}
