# settings_documented.pl: docs/settings.md and pg_settings say the same.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(extension => 0, ready => 0);

# ---- what the page says ----

my %unit = (ms => 1, s => 1000, min => 60_000, h => 3_600_000, MB => 1, GB => 1024);

# "10s" in milliseconds, other values as they are.
sub plain
{
	my ($value) = @_;
	return $value =~ /^(\d+)(ms|s|min|h|MB|GB)$/ ? $1 * $unit{$2} : $value;
}

my %page;
open my $in, '<', 'docs/settings.md' or die "docs/settings.md: $!\n";
while (my $line = <$in>)
{
	my ($name, $default, $range, $effect, $meaning) =
	  $line =~ /^\| `(logsvc\.\w+)` \| ([^|]*) \| ?([^|]*) \| (\w+) \| ([^|]+) \|$/
	  or next;
	ok(!$page{$name}, "$name has one row");
	$default =~ s/^`(.*)`$/$1/;
	$default = '' if $default eq '(empty)';
	my ($min, $max) = map { plain($_) } $range =~ /^(\S+) to (\S+?)$/;
	$page{$name} = { default => plain($default), min => $min // '', max => $max // '',
		effect => $effect };
}
close $in;
cmp_ok(scalar(keys %page), '>', 20, 'the page has its tables');

# ---- what the server says ----

my %server;
foreach my $row (split /\n/, $t->sql(
	q{SELECT concat_ws('|', name, vartype, context, min_val, max_val, boot_val)
	    FROM (SELECT name, vartype, context, coalesce(min_val, '') AS min_val,
	                 coalesce(max_val, '') AS max_val, coalesce(boot_val, '') AS boot_val
	            FROM pg_settings WHERE name LIKE 'logsvc.%') s}))
{
	my ($name, $type, $context, $min, $max, $boot) = split /\|/, $row, -1;
	$server{$name} =
	  { type => $type, context => $context, min => $min, max => $max, default => $boot };
}

is(join(' ', sort keys %page), join(' ', sort keys %server), 'the same settings');
foreach my $name (sort grep { $page{$_} } keys %server)
{
	my ($said, $is) = ($page{$name}, $server{$name});

	is($said->{default}, $is->{default}, "$name: the default");
	is("$said->{min} to $said->{max}", "$is->{min} to $is->{max}", "$name: the range")
	  if $is->{type} eq 'integer';
	like($said->{effect}, $is->{context} eq 'postmaster' ? qr/^restart$/ : qr/^(reload|gateway)$/,
		"$name: when it takes effect");
}

$t->stop;
done_testing;
