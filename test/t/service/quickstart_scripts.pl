# quickstart_scripts.pl: what make quickstart looks at before it starts anything, and what
# make stop stops.
use strict;
use warnings;

use IO::Socket::INET;
use LogsvcTest;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = PostgreSQL::Test::Utils::tempdir;
my ($free, $free_too) = map { PostgreSQL::Test::Cluster::get_free_port() } 1 .. 2;

# Exit status and output of a script, with these variables.
sub run_script
{
	my ($script, %variables) = @_;
	local @ENV{ keys %variables } = values %variables;
	my $output = `docker/$script 2>&1`;
	return ($? >> 8, $output);
}

# ---- ports ----

sub ports { return run_script('check-ports.sh', DATA => "$folder/none", HTTP_PORT => $_[0],
	PG_PORT => $_[1]); }

my $squatter = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1')
  or die "cannot listen: $!";
my $taken = $squatter->sockport;
my ($status, $output) = ports($free, $free_too);
is("$status $output", '0 ', 'two free ports');
($status, $output) = ports($taken, $free);
is($status, 1, 'the port of HTTP is taken');
like($output, qr/^port $taken of 127\.0\.0\.1 cannot be used \(Address already in use\); add HTTP_PORT=(\d+) to make quickstart$/,
	'says which setting to give');
my ($other) = $output =~ /HTTP_PORT=(\d+)/;
is((ports($other, $free))[0], 0, 'the one that it proposes will do');
($status, $output) = ports($free, $taken);
like("$status $output", qr/^1 port $taken .*; add PG_PORT=\d+ to make quickstart$/, 'the port of PostgreSQL is taken');
($status, $output) = ports($taken, $taken);
is(scalar(() = $output =~ /^port $taken /mg), 2, 'both are looked at');
like($output, qr/are the same/, 'they must be two');
foreach (qw(0 65536 x -1 8080;true), '')
{
	($status, $output) = ports($_, $free);
	like("$status $output", qr/^1 HTTP_PORT=.* is not a port/, "'$_' is no port");
}
ok(!-e "$folder/none", 'nothing is made');

# Its own cluster may have the ports while it runs, and no longer.
mkdir $_ or die foreach "$folder/own", "$folder/own/cluster";
append_to_file("$folder/own/cluster/logsvc.conf", "port = $taken\nlogsvc.port = $free\n");
append_to_file("$folder/own/cluster/postmaster.pid", "$$\n");
sub own_ports { return run_script('check-ports.sh', DATA => "$folder/own", HTTP_PORT => $free,
	PG_PORT => $taken); }
is(join(' ', own_ports()), '0 ', 'the ports of the cluster that is to be started again');
my $ended = fork // die;
POSIX::_exit(0) unless $ended;
waitpid $ended, 0;
unlink "$folder/own/cluster/postmaster.pid" or die;
append_to_file("$folder/own/cluster/postmaster.pid", "$ended\n");
is((own_ports())[0], 1, 'not when it has ended without removing its file');

# ---- make stop ----

my $t = LogsvcTest->new(extension => 0);
mkdir "$folder/data" or die;
symlink $t->node->data_dir, "$folder/data/cluster" or die;
sub stop { return run_script('stop.sh', DATA => $_[0] // ''); }

($status, $output) = stop("$folder/none");
is($status, 1, 'a folder without a cluster');
like($output, qr{^there is no cluster in $folder/none; .*DATA=}, 'is said');
mkdir 'build';
unlink 'build/quickstart';
like(join(' ', stop()), qr{^0 there is no cluster in \S+/\.quickstart; }, 'none was ever made');
append_to_file('build/quickstart', "$folder/data\n");
($status, $output) = stop();
is($status, 0, 'without DATA it stops the last cluster');
like($output, qr/server stopped/, 'which it says');
unlink 'build/quickstart' or die;
like(join(' ', stop("$folder/data")), qr{^0 the cluster in $folder/data is not running$},
	'and by its folder it says that it is not running');
$t->{running} = 0;
$t->node->_update_pid(0);

done_testing;
