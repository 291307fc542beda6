# 091_docs.pl: the tables of the documents that repeat tables of the source.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

# ---- errors.def and the codes of docs/api.md ----

# [SQLSTATE, status, code, message] of each line of the table of errors.
sub errors
{
	my ($text) = @_;
	my @errors;
	push @errors, [ $1, $2, $3, $4 ]
	  while $text =~ /^LS_ERROR\(\w+,\s*"(\w+)",\s*(\d+),\s*"(\w+)",\s*"(.*)"\)$/mg;
	return @errors;
}

my $source = join "\n", map { "$_->[2] $_->[1] $_->[0] $_->[3]" } errors(slurp_file('src/base/errors.def'));

my ($codes) = slurp_file('docs/api.md') =~ /^## Codes$(.*?)(?=^## |\z)/ms;
my $page = join "\n",
  map { /^\| `(\w+)` \| (\d+) \| `(\w+)` \| (.*) \|$/ ? "$1 $2 $3 $4" : () } split /\n/, $codes;

cmp_ok(scalar(split /\n/, $source), '>', 30, 'errors.def is read');
is($page, $source, 'docs/api.md lists the errors of errors.def');

# ---- links between documents ----

foreach my $file (sort(glob('docs/*.md src/*/README.md test/README.md test/*/README.md test/data/*/README.md')), 'sql/README.md', 'README.md',
	'CONTRIBUTING.md', 'CHANGELOG.md')
{
	my $text = slurp_file($file);
	my ($folder) = $file =~ m{^(.*/)};
	my @broken;

	while ($text =~ /\]\(((?:[^)#:\s]+\.md)?)(?:#([\w-]+))?\)/g)
	{
		my ($target, $anchor) = (length $1 ? ($folder // '') . $1 : $file, $2);
		push @broken, $target unless -e $target;
		push @broken, "$target#$anchor"
		  if -e $target && defined $anchor && !grep { $_ eq $anchor } anchors(slurp_file($target));
	}
	is("@broken", '', "$file: links lead somewhere");
}

# The anchors of the headings, as they are made from them.
sub anchors
{
	my ($text) = @_;
	return map { my $a = lc; $a =~ s/[^\w\- ]//g; $a =~ tr/ /-/; $a } $text =~ /^#+ (.+)$/mg;
}

done_testing;
