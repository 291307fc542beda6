# SimulationUsage: what the load takes of each node, resource by resource.
#
# All of it but shared memory and catalogs grows in proportion to the load, so the load at which a
# resource is full on the node that has most of it is known at once: today's, divided by the share
# that is used.
package SimulationUsage;

use strict;
use warnings;

use SimulationLoad;

# A server, and how much of each resource may be used.
our %server = (
	cores => 16, cores_used => 0.7,
	memory => 64e9,
	disk => 4e12, disk_used => 2 / 3,    # merging needs room
	network => 1.25e9, network_used => 0.5, # bytes a second, in one direction
	retention => 30,                      # days
	sessions => 24,                       # processes that plan searches
	acceptors => 4,
);

# Options: costs, load (SimulationLoad), placement, gateway: `owner` when senders reach the node of
# their organization at once, `any` when each reaches any node; epochs: what a change of access data
# makes unknown: `organization`, as it is, what is known of the organization, and of those that
# share its counter; `node`, all that its node knows; `all`, what all nodes know.
sub new
{
	my ($class, %opt) = @_;
	my $self = bless { gateway => 'any', epochs => 'organization', %opt }, $class;
	$self->{server} = { %server, %{ $opt{server} // {} } };
	$self->{cost_of_search} = $class->search_costs_of(@$self{qw(costs load)});
	$self->count;
	return $self;
}

# CPU in us of a search with no events in its range, of each million a day, and bytes of the answer.
sub search_costs_of
{
	my ($class, $costs, $load) = @_;
	my ($fixed, $each, $bytes) = (0, 0, 0);
	foreach my $kind (sort keys %{ $load->{kinds} })
	{
		my $share = $load->{kinds}{$kind};
		$fixed += $share * 1000 * $costs->of("search_${kind}_fixed");
		$each += $share * 1000 * $costs->of("search_${kind}_each") * $load->mean_days;
		$bytes += $share * $costs->of("search_${kind}_answer");
	}
	return { fixed => $fixed, each => $each, bytes => $bytes };
}

# Requests a second that find their credential's cache emptied: a request looks up when a step has
# come since the last one of its credential in the same process.
sub lookups
{
	my ($rate, $steps) = @_;
	return $rate + $steps > 0 ? $rate * $steps / ($rate + $steps) : 0;
}

# Sums of a day on average, for each node.
sub count
{
	my ($self) = @_;
	my ($costs, $load, $placement) = @$self{qw(costs load placement)};
	my $nodes = $placement->{nodes};
	my ($events_of, $searches_of, $zone_of,
		$members_of) = @$load{qw(events_of searches_of zone_of members_of)};
	my $hop = $self->{gateway} eq 'any' ? ($nodes - 1) / $nodes : 0;
	my $search = $self->{cost_of_search};
	my %batch = map { my $b = $_; $b => {
		cpu => $costs->of("ingest_cpu_$b"), gateway => $costs->of("ingest_cpu_${b}_gateway"),
		wal => $costs->of("ingest_wal_$b"), bytes => $costs->of("ingest_request_$b") + $costs->of("ingest_answer_$b"),
		decoded => $costs->of("queue_entry_$b") } } map { $_->[1] } @{ $load->{batches} };
	my ($lookup_cpu, $gateway_cpu) = map { $costs->of($_) } qw(lookup_cpu ingest_cpu_1_gateway);
	my $steps_all = $load->{organizations} * $load->{changes} / 86400;
	my %sum = map { $_ => [ (0) x $nodes ] }
	  qw(events searches ingest search lookup hop wal bytes decoded organizations active);
	my @zone = map { [ map { 0 } @{ $load->{zones} } ] } 1 .. $nodes;
	my @everywhere = map { 0 } @{ $load->{zones} };
	my %spread = (lookup => 0, hop => 0);

	# First how many organizations each node has, for the steps of its own.
	$placement->each_piece(sub { $sum{organizations}[ $_[2] ] += $_[1] * $members_of->[ $_[0] ] });
	$placement->each_piece(sub {
		my ($i, $share, $node) = @_;
		# One organization or a piece of it; or several whole ones.
		my $several = $members_of->[$i] > 1 ? $members_of->[$i] * $share : 1;
		my $part = $several == 1 ? $share : 1 / $members_of->[$i];
		my $events = $events_of->[$i] * $share;
		my $searches = $searches_of->[$i] * $share;
		my $size = $load->batch($events_of->[$i] / $members_of->[$i]);
		my $batch = $batch{$size};
		# Requests a second of each.
		my $asked = ($events_of->[$i] / $size + $searches_of->[$i]) * $part / 86400;
		my $steps_node = $steps_all * $sum{organizations}[$node] / $load->{organizations};
		my $steps = $self->{epochs} eq 'all' ? $steps_all
		  : $self->{epochs} eq 'node' ? $steps_node
		  : $load->{changes} / 86400 + $steps_node / $costs->of('epoch_counters');
		# Each process of each node that a request may reach knows credentials by itself.
		my $processes = $load->{keys} * $self->{server}{acceptors} * ($self->{gateway} eq 'any' ? $nodes : 1);
		my $lookups = $several * $processes * lookups($asked / $processes, $steps);

		$sum{events}[$node] += $events;
		$sum{searches}[$node] += $searches;
		my $ingest = $events * $batch->{cpu};
		# A search of what is divided asks each piece.
		my $searching = ($several == 1 ? $searches_of->[$i] : $searches) * ($search->{fixed}
			+ $search->{each} * $events_of->[$i] * $part / 1e6);
		my $looking = 86400 * $lookups * $lookup_cpu;
		# The node that was reached reads the request and passes it on: its gateway's work once
		# more.
		my $passing = $hop * ($events * $batch->{gateway} + $searches * $gateway_cpu);
		$sum{ingest}[$node] += $ingest;
		$sum{search}[$node] += $searching;
		$zone[$node][ $zone_of->[$i] ] += $ingest + $searching;
		if ($self->{gateway} eq 'any')
		{
			# The node that a request reaches looks up whose it is, and that may be any node.
			$everywhere[ $zone_of->[$i] ] += ($looking + $passing) / $nodes;
			$spread{lookup} += $looking / $nodes;
			$spread{hop} += $passing / $nodes;
		}
		else
		{
			$zone[$node][ $zone_of->[$i] ] += $looking;
			$sum{lookup}[$node] += $looking;
		}
		$sum{wal}[$node] += $events * $batch->{wal};
		$sum{bytes}[$node] += $hop * ($events * $batch->{bytes} + $searches * (500
			+ $search->{bytes}));
		$sum{decoded}[$node] += $hop * ($events * $batch->{decoded} + $searches * (500
			+ $search->{bytes}));
		$sum{active}[$node] += $several * $load->{keys} * (1 - exp(-60 * $asked / $load->{keys}));
	});
	foreach my $node (0 .. $nodes - 1)
	{
		$zone[$node][$_] += $everywhere[$_] foreach 0 .. $#everywhere;
		$sum{$_}[$node] += $spread{$_} foreach keys %spread;
	}
	@$self{qw(sum zone)} = (\%sum, \@zone);
	return;
}

# A day, minute by minute: for each node the CPU seconds a second of its busiest minute, and the
# 95th
# percentile over nodes and minutes.  Bursts come on top of the curve, for the events alone.
sub day
{
	my ($self) = @_;
	my ($costs, $load, $placement) = @$self{qw(costs load placement)};
	my $nodes = $placement->{nodes};
	my (@where, @peak, %histogram);
	my ($sum, $extra, $n) = (0, 0, 0);

	# Where the events of an organization go, when it has a burst.
	$placement->each_piece(sub { my ($i, $share, $node) = @_; push @{ $where[$i] }, [ $node,
		$share ] if ref $where[$i] || $share < 1;
		$where[$i] = $node if !ref $where[$i]; });
	$where[$_] = undef foreach @{ $placement->{everywhere} };
	my %cpu = map { $_->[1] => $costs->of("ingest_cpu_$_->[1]") } @{ $load->{batches} };
	@peak = (0) x $nodes;
	srand $load->{seed} + 1;
	my $mean = 0;
	$mean += $_ foreach map { @$_ } @{ $self->{zone} };
	$mean /= 86400e6 * $nodes;
	for my $minute (0 .. SimulationLoad::MINUTES - 1)
	{
		my @curve = map { $load->curve($_, $minute) } 0 .. $#{ $load->{zones} };
		my @now;
		foreach my $zone (@{ $self->{zone} })
		{
			my $used = 0;
			$used += $zone->[$_] * $curve[$_] foreach 0 .. $#curve;
			push @now, $used / 86400e6;
		}
		foreach my $rank ($load->bursting)
		{
			my $i = $load->entry($rank);
			my $events = $load->{events_of}[$i] / $load->{members_of}[$i];
			my $more = ($load->{burst_factor} - 1) * $events / 86400e6
			  * $cpu{ $load->batch($events) };
			$extra += 60 * $more;
			if (ref $where[$i]) { $now[ $_->[0] ] += $more * $_->[1] foreach @{ $where[$i] }; }
			else { $now[ $where[$i] // int rand $nodes ] += $more; }
		}
		foreach my $node (0 .. $nodes - 1)
		{
			$sum += 60 * $now[$node];
			$peak[$node] = $now[$node] if $now[$node] > $peak[$node];
			$histogram{ int(100 * $now[$node] / $mean) }++;
			$n++;
		}
	}
	my ($p95, $seen) = (0, 0);
	foreach (sort { $a <=> $b } keys %histogram)
	{
		$seen += $histogram{$_};
		if ($seen >= 0.95 * $n) { $p95 = ($_ + 1) / 100 * $mean; last; }
	}
	return { peak => \@peak, p95 => $p95, mean => $mean, cpu => $sum, bursts => $extra };
}

sub most { my $most = 0; foreach (@_) { $most = $_ if $_ > $most; } return $most; }
sub total { my $sum = 0; $sum += $_ foreach @_; return $sum; }

# Each resource: [name, used, of what there is, unit, grows with the load], on the node with the
# most.
sub resources
{
	my ($self, $day) = @_;
	my ($costs, $load, $placement, $server, $sum) = @$self{qw(costs load placement server sum)};
	my $nodes = $placement->{nodes};
	my $peak = most(@{ $day->{peak} });
	my ($busiest) = grep { $day->{peak}[$_] == $peak } 0 .. $nodes - 1;
	my $cpu = total(map { $sum->{$_}[$busiest] } qw(ingest search lookup hop));
	# Parts of its peak as in its day.
	my $part = sub { return $peak * $sum->{ $_[0] }[$busiest] / $cpu };
	my $cores = $server->{cores} * $server->{cores_used};
	my $partitions = $server->{retention} + 4;
	my $pieces_of_node = $placement->shards / $nodes;
	my $curve = 1 + $load->{day_curve};
	return (
		[ 'CPU, all', $peak, $cores, 'cores', 1 ],
		(map { [ "CPU, $_", $part->($_), $cores, 'cores', 1 ] } qw(ingest search lookup hop)),
		[ 'disk', $server->{retention} * $costs->of('part_bytes') * most(@{ $sum->{events} }), $server->{disk} * $server->{disk_used}, 'bytes', 1 ],
		[ 'network, requests passed on', $curve * most(@{ $sum->{bytes} }) / 86400, $server->{network} * $server->{network_used}, 'bytes/s', 1 ],
		[ 'network, WAL to a standby', $curve * most(@{ $sum->{wal} }) / 86400, $server->{network} * $server->{network_used}, 'bytes/s', 1 ],
		[ 'memory of catalog caches', $pieces_of_node * $partitions * $costs->of('partition_memory') * $server->{sessions}, $server->{memory} / 4, 'bytes', 0 ],
		[ 'catalogs of a node', $pieces_of_node * $partitions * $costs->of('partition_catalog'), $server->{memory} / 10, 'bytes', 0 ],
		[ 'shards that a coordinator knows', $placement->shards * $partitions * $costs->of('shard_metadata'), $server->{memory} / 10, 'bytes', 0 ],
		[ 'accounts and keys on each node', $load->{organizations} * reference_bytes($costs), $server->{memory} / 4, 'bytes', 0 ],
		[ 'shared memory for active organizations', most(@{ $sum->{active} }) / $load->{keys} * $costs->of('active_organization'), $server->{memory} / 10, 'bytes', 0 ],
		[ 'active keys, rates', most(@{ $sum->{active} }), $costs->of('limit_rate_keys'), 'keys/min', 0 ],
		[ 'organizations, quotas', most(@{ $sum->{organizations} }), $costs->of('limit_quota_entries'), 'organizations', 0 ],
		[ 'credentials of a process', $self->{gateway} eq 'any' ? total(@{ $sum->{active} }) : most(@{ $sum->{active} }), $costs->of('limit_cached_credentials'), 'keys/min', 0 ],
	);
}

# What each node must know of each organization: who may do what, whatever node it is on.
sub reference_bytes
{
	my ($costs) = @_;
	return $costs->of('row_organization') + $costs->of('row_log_index') + 2 * ($costs->of('row_user_account') + $costs->of('row_member') + $costs->of('row_api_key'));
}

1;
