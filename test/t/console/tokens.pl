# tokens.pl: the colours of the console are legible in both themes, and its libraries are as
# they were fetched.
use strict;
use warnings;

use Digest::SHA;
use List::Util qw(max min);
use PostgreSQL::Test::Utils;
use Test::More;

my $console = 'src/console';
my %color;    # name => [light, dark]

foreach (split /\n/, slurp_file("$console/ui/tokens.css"))
{
	$color{$1} = [ $2, $3 ] if /^\s*--([\w-]+):\s*light-dark\(#(\w{6}), #(\w{6})\);/;
}

# Relative luminance and contrast as WCAG defines them.
sub luminance
{
	my @part = map { $_ <= 0.04045 ? $_ / 12.92 : (($_ + 0.055) / 1.055)**2.4 }
	  map { hex($_) / 255 } $_[0] =~ /(..)(..)(..)/;
	return 0.2126 * $part[0] + 0.7152 * $part[1] + 0.0722 * $part[2];
}

sub contrast
{
	my @l = map { luminance($_) } @_;
	return (max(@l) + 0.05) / (min(@l) + 0.05);
}

is(sprintf('%.2f', contrast('000000', 'ffffff')), '21.00', 'black on white is 21');
is(sprintf('%.2f', contrast('777777', 'ffffff')), '4.48', 'and the usual grey 4.48');

my @surfaces = qw(bg surface raised hover selected);
my @texts = (qw(text text-muted text-faint accent ok warn danger), map { "level-$_" }
	qw(trace debug info warn error fatal other));
my @pairs = map { my $text = $_; map { [ $text, $_, 4.5 ] } @surfaces } @texts;
push @pairs, map { [ $_, "$_-soft", 4.5 ] } qw(ok warn danger);
foreach my $soft (qw(ok-soft warn-soft danger-soft))
{
	push @pairs, map { [ $_, $soft, 4.5 ] } qw(text text-muted);
}
push @pairs, map { [ 'on-accent', $_, 4.5 ] }
  qw(accent-fill accent-fill-hover danger-fill danger-fill-hover);
# What is not text: the frames of fields, the ring of the focus, areas of charts.
push @pairs, map { my $shape = $_; map { [ $shape, $_, 3 ] } qw(bg surface raised) }
  'border-strong', 'accent', map { "series-$_" } 1 .. 6;

foreach my $theme (0, 1)
{
	my @bad;
	foreach (@pairs)
	{
		my ($front, $back, $least) = @$_;
		die "no colour $front or $back\n" unless $color{$front} && $color{$back};
		my $is = contrast($color{$front}[$theme], $color{$back}[$theme]);
		push @bad, sprintf('%s on %s: %.2f of %.1f', $front, $back, $is, $least) if $is < $least;
	}
	is("@bad", '', (qw(light dark))[$theme] . ': ' . @pairs . ' pairs are legible');
}

my $sums = 0;
foreach (split /\n/, slurp_file("$console/vendor/SHA256SUMS"))
{
	my ($sum, $file) = /^(\w{64})  (?:\.\/)?([\w.-]+)$/ or next;
	is(Digest::SHA->new(256)->addfile("$console/vendor/$file")->hexdigest, $sum, "$file is as it was fetched");
	$sums++;
}
is($sums, scalar(grep { !/(?:README\.md|SHA256SUMS|update)$/ } glob "$console/vendor/*"), 'and there is no other file');

done_testing;
