# LogsvcOpenmetrics.pm: reads OpenMetrics 1.0 strictly, as its specification has it, and says what
# is wrong with a text.
package LogsvcOpenmetrics;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(read_openmetrics);

my $name = qr/[a-zA-Z_][a-zA-Z0-9_]*/;
my $number = qr/[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|Inf)|NaN/;
my %suffixes = (counter => [qw(_total)], gauge => [''], histogram => [qw(_bucket _sum _count)]);

sub _labels
{
	my ($text, $wrong) = @_;
	my %labels;
	while ($text ne '')
	{
		$text =~ s/^($name)="((?:[^"\\\n]|\\[\\"n])*)"(?:,(?=$name)|\z)// or do
		{
			push @$wrong, "labels: $text";
			return {};
		};
		push @$wrong, "label $1 twice" if exists $labels{$1};
		$labels{$1} = $2 =~ s/\\(.)/$1 eq 'n' ? "\n" : $1/ger;
	}
	return \%labels;
}

sub _check_histogram
{
	my ($family, $wrong) = @_;
	my %series;
	foreach my $s (@{ $family->{samples} })
	{
		my %rest = %{ $s->{labels} };
		my $le = delete $rest{le};
		my $key = join ',', map { "$_=$rest{$_}" } sort keys %rest;
		if ($s->{suffix} eq '_bucket') { push @{ $series{$key}{buckets} }, [ $le, $s->{value} ]; }
		else { $series{$key}{ $s->{suffix} } = $s->{value}; }
	}
	foreach my $key (sort keys %series)
	{
		my @buckets = @{ $series{$key}{buckets} // [] };
		my $at = "$family->{name}\{$key}";
		push(@$wrong, "$at: no buckets"), next if !@buckets;
		push @$wrong, "$at: the last bucket is $buckets[-1][0]" if $buckets[-1][0] ne '+Inf';
		push @$wrong, "$at: the count is not that of the last bucket"
		  if ($series{$key}{_count} // -1) != $buckets[-1][1];
		push @$wrong, "$at: no sum" unless defined $series{$key}{_sum};
		foreach my $i (1 .. $#buckets)
		{
			push @$wrong, "$at: bounds do not grow"
			  if $i < $#buckets && $buckets[$i][0] <= $buckets[ $i - 1 ][0];
			push @$wrong, "$at: counts do not grow" if $buckets[$i][1] < $buckets[ $i - 1 ][1];
		}
	}
	return;
}

# ({ name => { name, type, unit, help, samples => [{ suffix, labels, value }] } }, what is wrong)
sub read_openmetrics
{
	my ($text) = @_;
	my (%families, @wrong, $current, %seen);

	push @wrong, 'it does not end with # EOF and a line end' unless $text =~ s/# EOF\n\z//;
	push @wrong, 'characters other than printable ASCII' if $text =~ /[^\x20-\x7e\n]/;
	foreach my $line (split /\n/, $text)
	{
		if ($line =~ /^# (TYPE|UNIT|HELP) ($name) (.+)$/)
		{
			my ($what, $family, $value) = ($1, $2, $3);
			if (!$current || $current->{name} ne $family)
			{
				push @wrong, "family $family is there twice" if $families{$family};
				$current = $families{$family} = { name => $family, samples => [] };
			}
			push @wrong, "$what of $family twice" if defined $current->{ lc $what };
			push @wrong, "$what of $family after its samples" if @{ $current->{samples} };
			push @wrong, "help of $family: an escape" if $what eq 'HELP' && $value =~ /\\(?![\\n"])/;
			$current->{ lc $what } = $value;
			next;
		}
		my ($sample, $labels, $value) = $line =~ /^($name)(?:\{(.+)\})? ($number)$/;
		if (!defined $sample || !$current)
		{
			push @wrong, "not a line of OpenMetrics: $line";
			next;
		}
		my ($suffix) = $sample =~ /^\Q$current->{name}\E(.*)$/;
		if (!defined $suffix || !grep { $_ eq $suffix } @{ $suffixes{ $current->{type} // '' } // [] })
		{
			push @wrong, "sample $sample in family $current->{name}";
			next;
		}
		push @wrong, "$line is there twice" if $seen{ $sample . ($labels // '') }++;
		push @wrong, "$line: a count that is none"
		  if $suffix =~ /^_(total|bucket|count)$/ && $value !~ /^\d+(\.\d+)?$/;
		push @{ $current->{samples} }, { suffix => $suffix, value => $value,
			labels => _labels($labels // '', \@wrong) };
	}
	foreach my $family (map { $families{$_} } sort keys %families)
	{
		my ($type, $unit) = @$family{qw(type unit)};
		push @wrong, "$family->{name}: no type or no help"
		  unless defined $type && defined $family->{help};
		push @wrong, "$family->{name}: it does not end with its unit"
		  if defined $unit && $family->{name} !~ /_\Q$unit\E$/;
		push @wrong, "$family->{name}: its name says a unit that it does not declare"
		  if !defined $unit && $family->{name} =~ /_(seconds|bytes)$/;
		push @wrong, "$family->{name}: a suffix is part of its name"
		  if $family->{name} =~ /_(total|bucket|count|sum|created|info)$/ && $type ne 'gauge';
		_check_histogram($family, \@wrong) if ($type // '') eq 'histogram';
	}
	return (\%families, @wrong);
}

1;
