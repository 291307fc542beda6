# node_clocks.pl: a server that follows another one knows how old its accounts are whatever the two
# clocks say, also when its own is set meanwhile.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

# The clock of the second server, in seconds ahead of the first one's (test/year/clock.c).
my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
sub set_clock
{
	my ($ahead) = @_;
	# Written in place: the server has mapped the file.
	open my $out, -e $clock ? '+<' : '>', $clock or die "$clock: $!";
	syswrite $out, pack 'q', $ahead or die "$clock: $!";
	close $out or die "$clock: $!";
	return;
}

my $t = LogsvcTest->new(name => 'first', conf => "wal_level = logical\nmax_wal_senders = 4\nmax_replication_slots = 4");
set_clock(600);
my $f;
{
	local $ENV{LD_PRELOAD} = "$ENV{PWD}/build/unit/clock.so";
	local $ENV{CLOCK_FILE} = $clock;
	# One that has ended begins again when the clock is where it was: it must not end.
	$f = LogsvcTest->new(name => 'second', conf => "logsvc.standby_max_lag = '10s'\nwal_receiver_timeout = 0");
}
my $acme = $t->organization('acme');
my $connection = 'host=' . $t->node->host . ' port=' . $t->node->port . ' dbname=postgres user=link';
sub with { return ($f->sql_error("SELECT logsvc.use_token('$acme->{token}')"))[1]; }
sub hears { return with() eq ''; }
sub refuses { return with() eq 'LS710'; }

cmp_ok($f->sql('SELECT extract(epoch FROM clock_timestamp())') - $t->sql('SELECT extract(epoch FROM clock_timestamp())'), '>', 590, 'the second server is ten minutes ahead');
$t->sql('CREATE ROLE link LOGIN REPLICATION BYPASSRLS IN ROLE pg_read_all_data; SELECT logsvc.share_accounts()');
$t->sql('SELECT logsvc.add_node()');
$f->sql("SELECT logsvc.follow(1, '$connection')");
ok(wait_until(\&hears, 30), 'it hears all the same');
cmp_ok($f->sql('SELECT logsvc_internal.accounts_age()'), '<', 5, '... and what it has is new');

my $sender = $t->sql('SELECT active_pid FROM pg_replication_slots');
sub silent { my ($sub) = @_; kill 'STOP', $sender; $sub->(); return; }
sub again { kill 'CONT', $sender; return wait_until(\&hears, 30); }
foreach ([ 'ten minutes behind', -600 ], [ 'as it should be', 0 ])
{
	my ($what, $ahead) = @$_;
	set_clock($ahead);
	ok(wait_until(\&hears, 30), "its clock is set: $what");
	silent(sub { ok(wait_until(\&refuses, 40), '... when nothing comes it refuses') });
	ok(again(), '... and hears again');
}
silent(sub { set_clock(-3600); ok(wait_until(\&refuses, 40), 'set back while nothing comes: it refuses') });
ok(again(), '... and hears again');
silent(sub { set_clock(3600); is(with(), 'LS710', 'set on while nothing comes: it refuses at once, because the machine may have slept') });
ok(again(), '... and hears again');

$f->sql('SELECT logsvc.unfollow()');
$_->stop foreach $t, $f;
done_testing;
