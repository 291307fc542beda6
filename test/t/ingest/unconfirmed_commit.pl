# unconfirmed_commit.pl: with synchronous replication, events that no standby has confirmed when the
# server stops are not acknowledged, and workers whose commits wait for one do not hold up the stop.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;

my $t = LogsvcTest->new(streaming => 1, conf => 'logsvc.acceptors = 1');
my $org = $t->organization('acme');
my $answer = PostgreSQL::Test::Utils::tempdir . '/answer';

sub post
{
	my (%opt) = @_;
	return $t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'e' },
		%opt)->{status};
}

# Workers of a kind whose commits wait for a standby.
sub waiting
{
	my ($kind) = @_;
	return $t->sql('SELECT count(*) FROM pg_stat_activity WHERE '
		. "backend_type ~ '^logsvc $kind' AND wait_event = 'SyncRep'");
}

is(post(), 202, 'without standbys an event is acknowledged');
$t->set('synchronous_standby_names', 'nobody');
my $sender = fork;
if ($sender == 0)
{
	# It waits for longer than all that comes before the stop.
	append_to_file($answer, post(client => 'sender', timeout => 300));
	POSIX::_exit(0);
}
ok(wait_until(sub { waiting('acceptor') }), 'an acceptor waits for a standby');
ok(wait_until(sub { waiting('(scheduler|notifier)') }, 90), 'a worker does that sleeps for long');
# So long that the acceptor's time is over when the stop comes, while the gateway still answers;
# and not so late in a minute that the scheduler is about to wake.
wait_until(sub { time % 60 < 35 }, 90);
sleep 3;
my $begun = time;
$t->stop;
cmp_ok(time - $begun, '<', 15, 'the server stops soon');
waitpid $sender, 0;
is(slurp_file($answer), 503, 'what no standby has confirmed is not acknowledged');

$t->start;
$t->set('synchronous_standby_names', '');
$t->wait_ready;
is(post(), 202, 'then events are taken again');

done_testing();
