# logic.pl: what screens of the console compute, run by Node without a browser
# (test/browser/logic.mjs).
use strict;
use warnings;

use File::Path qw(make_path);
use File::Temp qw(tempdir);
use LogsvcBrowser;
use Test::More;

if (my $reason = LogsvcBrowser::missing('node'))
{
	plan(skip_all => $reason);
}

# Node takes the files of the console for modules only where a package.json says so.
my $tmp = tempdir(CLEANUP => 1);
make_path("$tmp/src", "$tmp/test/browser");
system('cp', '-r', 'src/console', "$tmp/src/") == 0 or die;
system('cp', 'test/browser/logic.mjs', "$tmp/test/browser/") == 0 or die;
open my $out, '>', "$tmp/package.json" or die $!;
print $out '{"type": "module"}';
close $out;

my $planned;
foreach my $line (`node $tmp/test/browser/logic.mjs 2>&1`)
{
	if ($line =~ /^(not )?ok \d+ - (.*)/) { ok(!$1, $2); }
	elsif ($line =~ /^1\.\.\d+$/) { $planned = 1; }
	else { diag($line); }
}
ok($planned, 'it came to its end');
done_testing();
