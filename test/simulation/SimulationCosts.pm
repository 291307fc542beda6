# SimulationCosts: the measured costs of costs.tsv, by name.  A name that is not there is an error,
# so that no figure is made up.
package SimulationCosts;

use strict;
use warnings;

sub read_file
{
	my ($class, $file) = @_;
	my $self = bless { machine => '', of => {} }, $class;
	open my $in, '<', $file or die "$file: $!\n";
	while (<$in>)
	{
		chomp;
		if (/^# (.*)/) { $self->{machine} ||= $1; next; }
		my ($name, $value) = split /\t/;
		die "$file: $_\n" unless defined $value && $value =~ /^-?[\d.]+(e[-+]?\d+)?$/;
		$self->{of}{$name} = $value;
	}
	return $self;
}

sub machine { return $_[0]{machine}; }
sub of
{
	my ($self, $name) = @_;
	return $self->{of}{$name} // die "there is no cost $name: make simulation-costs\n";
}

1;
