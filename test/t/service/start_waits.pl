# start_waits.pl: a worker that cannot connect to its database, because somebody holds a lock, can
# be ended all the same.
use strict;
use warnings;

use LogsvcConnection;
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.acceptors = 1\nautovacuum = off");
my $org = $t->organization('acme');
# Nobody else can connect meanwhile.
my $session = LogsvcConnection->new(host => $t->node->host, port => $t->node->port, database => 'postgres', user => scalar getpwuid $>)
	or die $LogsvcConnection::error;
sub value { return $session->query($_[0])->{rows} =~ s/\n\z//r; }
# Who waits for it.
sub starting { return value(q{SELECT pid FROM pg_locks WHERE relation = 'pg_db_role_setting'::regclass AND NOT granted}); }

my ($acceptor) = $t->workers('acceptor');
$session->query('BEGIN');
$session->query('LOCK TABLE pg_db_role_setting IN ACCESS EXCLUSIVE MODE');
is(value("SELECT pg_terminate_backend($acceptor)"), 't', 'an acceptor is ended');
ok(wait_until(sub { starting() =~ /^\d+$/ }), 'another one starts, and waits for a lock');
my $waiting = starting();
is(value("SELECT pg_terminate_backend($waiting)"), 't', 'it is told to end');
ok(wait_until(sub { !kill 0, $waiting }, 20), 'and ends');
$session->query('COMMIT');
$t->wait_ready;
is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'e' })->{status}, 202, 'then events are taken again');

done_testing();
