# console_size.pl: how large the files of the console are, and what their bytes are spent on.
#
#	make bench B=console_size
#
# test/browser/sizes.mjs says how the bytes of a file are divided among its parts.  It needs
# esbuild, brotli and Node, and no server.
use strict;
use warnings;

use File::Temp qw(tempdir);
use LogsvcBrowser;
use Test::More;

my $out = Test::More->builder->output;
if (my $reason = LogsvcBrowser::missing(qw(esbuild brotli node)))
{
	print $out "console_size: not measured, $reason\n";
	exit 0;
}

# A bundler that writes source maps, too: elsewhere, because they are not served.
my $dir = tempdir(CLEANUP => 1);
my $esbuild = LogsvcBrowser::program('esbuild');
open my $script, '>', "$dir/esbuild" or die $!;
print $script "#!/bin/sh\n$esbuild \"\$@\" --sourcemap=external --outdir=$dir/maps && exec $esbuild \"\$@\"\n";
close $script or die $!;
chmod 0755, "$dir/esbuild";
{
	local $ENV{ESBUILD} = "$dir/esbuild";
	system('tools/console-pack', 'src/console', "$dir/console") == 0 or die "console-pack failed\n";
}
open my $in, '-|', 'node', 'test/browser/sizes.mjs', "$dir/maps" or die $!;
print $out $_ while <$in>;
close $in or die "sizes.mjs failed\n";
