# queue_depth.pl: the depth of the queue is exact, whatever sessions do while the
# service starts and counts it.
use strict;
use warnings;

use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep time);

my $t = LogsvcTest->new(conf =>
	"logsvc.flush_interval = '50ms'\nlogsvc.queue_limit = 1000\nlogsvc.reservation_timeout = '1h'");
my $org = $t->organization('acme');
my $as = q{SELECT logsvc.act_as('acme');};

sub depth { return $t->sql('SELECT logsvc_internal.queue_depth()'); }
sub queued { return $t->sql('SELECT coalesce(sum(rows), 0) FROM logsvc_internal.queue'); }
sub stored { return $t->sql("SELECT coalesce(sum(rows), 0) FROM logsvc_internal.part WHERE "
	. "index_name = 'main'"); }
sub post { return $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ ('x') x $_[0] ])->{status}; }

sub settled
{
	my ($depth, $stored, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(wait_until(sub { queued() == 0 && depth() == $depth && stored() == $stored }), $name)
	  or diag(queued() . ' queued, depth ' . depth() . ', stored ' . stored());
	return;
}

# A session with a transaction that has sent events.
sub session_with
{
	my ($n) = @_;
	my $session = $t->node->background_psql('postgres');
	$session->query_safe("$as BEGIN; SELECT "
		. "logsvc.ingest((SELECT jsonb_agg('x'::text) FROM generate_series(1, $n))) -> 'accepted'");
	return $session;
}

# Has the service begin again, in the same shared memory: its workers end for the
# DROP, which then fails.  The queue is counted when they have ended.
sub begin_again
{
	is(($t->sql_error("SET lock_timeout = '200ms'; DROP EXTENSION logsvc"))[1], '55P03',
		'an attempt to drop the extension');
	return;
}

# ---- sessions that send while it is counted ----

# The first use of a key is an event of the audit log.
is(post(1), 202, 'one event');
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.audit_entry WHERE action = "
	. "'api_key.first_used'") }), 'the key is in use');
settled(0, 1, 'nothing at first');
my $open = session_with(250);
my $rolled_back = session_with(200);
my $committed = session_with(100);
is(depth(), 550, 'what is about to be committed counts');

$t->stop_at('queue_counted');
begin_again();
$t->wait_held('queue_counted');
$t->sql("$as SELECT logsvc.log('during')");
$committed->query_safe('COMMIT');
$rolled_back->query_safe('ROLLBACK');
$t->let_go('queue_counted');
$t->wait_ready;
settled(250, 102, 'what was committed during the count is stored, and what is open still counts');
is(post(751) . post(750), '429202', 'so the limit is exact');
settled(250, 852, 'and stays so');
$open->query_safe('ROLLBACK');
settled(0, 852, 'nothing in the end');

# ---- a session that is seen but has not counted itself ----

$committed->query_safe("BEGIN; SELECT logsvc.log('just now')");
$t->stop_at('queue_before_counting');
$committed->query_until(qr/committing/, "\\echo committing\nCOMMIT;\n");
$t->wait_held('queue_before_counting');
is(queued(), 1, 'a transaction is visible before it has counted its events');
begin_again();
ok(stays(sub { $t->http(GET => '/readyz', timeout => 2)->{status} != 200 }, 0.5),
	'the count waits for that moment to pass');
$t->let_go('queue_before_counting');
$t->wait_ready;
settled(0, 853, 'then each is counted once');
is(post(1000), 202, 'and all of the queue is free');
settled(0, 1853, 'as before');
$committed->query_safe("BEGIN; SELECT logsvc.log('x'); SAVEPOINT a; SELECT logsvc.log('y'); "
	. "ROLLBACK TO a; COMMIT");
settled(0, 1854, 'the session goes on');
is(($t->sql_error("$as BEGIN; SELECT logsvc.log('x'); PREPARE TRANSACTION 'p'"))[1], '0A000',
	'a prepared transaction is refused');
settled(0, 1854, 'and gives everything back');

# ---- a small queue is drained before it is full ----

# Writers would wait for 36,864 events or 5 s: here for half of the limit, but no fewer than 8,192.
$t->set('logsvc.flush_interval', '5s');
$t->set('logsvc.queue_limit', 20000);
my $stored = stored();
my %status;
# At a rate that writers can follow, as long as they need not be waited for.
my $patience = time + 3;
foreach (1 .. 25)
{
	$status{ post(1000) }++;
	sleep 0.02 while depth() > 15_000 && time < $patience;
}
is_deeply(\%status, { 202 => 25 }, '25,000 events through a queue of 20,000 at a steady rate')
	or diag explain \%status;
cmp_ok(depth(), '<', 20000, 'which is not full after them');
cmp_ok(stored() - $stored, '>', 5000, 'because they are stored meanwhile');
$t->set('logsvc.flush_interval', '50ms');
settled(0, $stored + 25000, 'in the end it is empty');
$stored += 25000;
$t->set('logsvc.flush_interval', '5s');
$t->set('logsvc.queue_limit', 10000);
# A busy machine may delay one try.
my ($waits, $took);
foreach my $try (1 .. 5)
{
	is(post(8191), 202, 'one event less than the writers begin with');
	$waits = stays(sub { depth() . ' ' . stored() eq "8191 $stored" }, 0.7);
	is(post(1), 202, 'that one more');
	my $since = time;
	$stored += 8192;
	ok(wait_until(sub { stored() == $stored }), 'and all are stored');
	$took = time - $since;
	last if $waits && $took < 3;
}
ok($waits, 'one event less than the writers begin with waits');
cmp_ok($took, '<', 3, 'with it all are stored, long before the interval is over');
settled(0, $stored, 'exactly');
$t->stop_at('write_before_commit');
is(post(9999) . post(2) . post(1) . post(1), '202429202429', 'and the limit is where it is');
$t->set('logsvc.flush_interval', '50ms');
$t->let_go('write_before_commit');
settled(0, $stored + 10000, 'nothing in the end');

eval { $_->quit } foreach $open, $rolled_back, $committed;
$t->stop;
done_testing;
