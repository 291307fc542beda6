# SimulationPlacement: which node has which organization.
#
#	hash      an organization is in a shard by hash, shards are dealt to nodes in turn
# size      the same shards, but the largest ones are placed first, each on the node with the
# least
#	apart     an organization that is large for a node has a shard of its own, then as `size`
#	divided   and one that is larger still is divided into pieces, which are placed one by one
#
# A placement is a list of pieces [organization, share of it, node] for those that have a shard of
# their own, and for all others the node of their shard.
package SimulationPlacement;

use strict;
use warnings;

use constant { APART => 0.05, PIECE => 0.1 };

our @kinds = qw(hash size apart divided);

# `size`: a list with the size of each entry of the load; `members`: of how many organizations it is,
# 1 without it.  Those of several are everywhere.  `shards`: of each node.
sub new
{
	my ($class, %opt) = @_;
	my $self = bless { shards => 32, seed => 7, %opt }, $class;
	my ($kind, $size, $nodes) = @$self{qw(kind size nodes)};
	my $shards = $nodes * $self->{shards};
	my $members = $self->{members} // [];
	my ($sum, @shard_of, @shard_size, @pieces, @everywhere) = (0);

	$sum += $_ foreach @$size;
	my $mean = $sum / $nodes;
	srand $self->{seed};
	@shard_size = (0) x $shards;
	for my $i (0 .. $#$size)
	{
		if (($members->[$i] // 1) > 1)
		{
			push @everywhere, $i;
			push @shard_of, -1;
			next;
		}
		my $shard = int rand $shards;
		if ($kind =~ /apart|divided/ && $size->[$i] > APART * $mean)
		{
			my $n = $kind eq 'divided' && $size->[$i] > PIECE * $mean ? int($size->[$i] / (PIECE * $mean)) + 1 : 1;
			push @pieces, map { [ $i, 1 / $n ] } 1 .. $n;
			$shard = -1;
		}
		else
		{
			$shard_size[$shard] += $size->[$i];
		}
		push @shard_of, $shard;
	}
	foreach my $i (@everywhere) { $_ += $size->[$i] / $shards foreach @shard_size; }
	my @node_of_shard;
	if ($kind eq 'hash')
	{
		@node_of_shard = map { $_ % $nodes } 0 .. $shards - 1;
	}
	else
	{
		# What is placed: shards by number, pieces after them.
		my @what = (@shard_size, map { $size->[ $_->[0] ] * $_->[1] } @pieces);
		my @node = least_loaded(\@what, $nodes);
		@node_of_shard = @node[0 .. $shards - 1];
		$pieces[$_][2] = $node[ $shards + $_ ] foreach 0 .. $#pieces;
	}
	@$self{qw(shard_of node_of_shard pieces everywhere)} = (\@shard_of, \@node_of_shard, \@pieces,
		\@everywhere);
	return $self;
}

# Places the largest first, each on the node that has the least: the node of each.  A heap of nodes.
sub least_loaded
{
	my ($sizes, $nodes) = @_;
	my @heap = map { [ 0, $_ ] } 0 .. $nodes - 1;
	my @node;
	foreach my $i (sort { $sizes->[$b] <=> $sizes->[$a] || $a <=> $b } 0 .. $#$sizes)
	{
		my $top = $heap[0];
		$node[$i] = $top->[1];
		$top->[0] += $sizes->[$i];
		my $at = 0;
		while ((my $child = 2 * $at + 1) < @heap)
		{
			$child++ if $child + 1 < @heap && $heap[ $child + 1 ][0] < $heap[$child][0];
			last if $heap[$child][0] >= $top->[0];
			$heap[$at] = $heap[$child];
			$at = $child;
		}
		$heap[$at] = $top;
	}
	return @node;
}

# Calls the sub with (entry of the load, share, node) for all of it.
sub each_piece
{
	my ($self, $call) = @_;
	my ($shard_of, $node_of_shard) = @$self{qw(shard_of node_of_shard)};
	for my $i (0 .. $#$shard_of)
	{
		$call->($i, 1, $node_of_shard->[ $shard_of->[$i] ]) if $shard_of->[$i] >= 0;
	}
	$call->(@$_) foreach @{ $self->{pieces} };
	foreach my $i (@{ $self->{everywhere} })
	{
		$call->($i, 1 / $self->{nodes}, $_) foreach 0 .. $self->{nodes} - 1;
	}
	return;
}

# Shards of all nodes: Citus has that many, pieces included.
sub shards { my ($self) = @_; return $self->{nodes} * $self->{shards} + @{ $self->{pieces} }; }

1;
