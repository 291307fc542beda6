#!/usr/bin/perl
# common_passwords.pl LIST > src/identity/common_passwords.bin
#
# Makes the filter of common passwords from a list with the most used one first.
# Of the 100,000 most used that have a letter (no other can be in a password that
# meets the rules) it keeps the lower-case form, and the word in it without the
# digits and signs around; of each the first 6 bytes of its SHA-256, in order.
# The same list gives the same bytes.  Which list: src/access/README.md.
use strict;
use warnings;

use Digest::SHA qw(sha256);

my $most = 100_000;
my $bytes_of_hash = 6;

my (%listed, %hash);
while (defined(my $entry = <>) and keys %listed < $most)
{
	$entry =~ s/\r?\n\z//;
	$entry = lc $entry;
	next if $entry !~ /[a-z]/ || length $entry > 40;
	$listed{$entry} = 1;
}
keys %listed == $most or die "the list has too few passwords\n";
foreach my $entry (keys %listed)
{
	my ($word) = $entry =~ /([a-z](?:.*[a-z])?)/;
	$hash{ substr sha256($_), 0, $bytes_of_hash } = 1 foreach $entry, length $word > 2 ? $word : ();
}
binmode STDOUT;
print join '', sort keys %hash;
