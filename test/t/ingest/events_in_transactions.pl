# events_in_transactions.pl: logsvc.ingest and logsvc.log in transactions: what is rolled
# back is not stored and gives its share of the queue back; what is committed is
# written, also when nothing else happens.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');

sub act { my ($query) = @_; return $t->sql("SELECT logsvc.act_as('acme'); $query"); }
sub fails { my ($query) = @_; my @r = $t->sql_error("SELECT logsvc.act_as('acme'); $query");
	return $r[1]; }
sub depth { return $t->sql('SELECT logsvc_internal.queue_depth()'); }
sub stored { return $t->sql(q{SELECT coalesce(sum(rows), 0) FROM logsvc_internal.part WHERE }
	. q{index_name <> '_audit'}); }
sub queued { return $t->sql('SELECT coalesce(sum(rows), 0) FROM logsvc_internal.queue'); }
sub list { my ($n) = @_; return "(SELECT jsonb_agg('event ' || i) FROM generate_series(1, $n) i)"; }
sub batch { my ($n) = @_; return $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ map { "e $_" } 1 .. $n ])->{status}; }

# The first use of a key is written down, which is an event too: let it be over.
$t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => []);
wait_until(sub { queued() == 0 });

like(act("SELECT logsvc.log('one event')"), qr/^evt_[0-9A-Z]{26}$/m, 'log returns an id');
ok(wait_until(sub { stored() == 1 }), 'it is written, though nothing else happens');
act('SELECT logsvc.ingest(' . list(100) . ')');
ok(wait_until(sub { stored() == 101 }), 'ingest of 100');

# Events are seen in the store a moment before the queue counts them as gone.
sub settled
{
	my ($stored, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(wait_until(sub { queued() == 0 && stored() == $stored && depth() == 0 }), $name)
		or diag(queued() . ' queued, depth ' . depth() . ', stored ' . stored());
	return;
}

# Held open: not visible, not written, but of the depth.
settled(101, 'at first');
$t->set('logsvc.queue_limit', 4000);
my $session = $t->node->background_psql('postgres');
$session->query_safe("SELECT logsvc.act_as('acme')");
$session->query_safe('BEGIN; SELECT logsvc.ingest(' . list(600) . ')');
is(queued(), 0, 'an open transaction: nobody sees its events');
is(batch(3401), 429, 'but they count');
is(batch(3400), 202, 'just they');
ok(wait_until(sub { stored() == 3501 && depth() == 600 }),
	'events of others are written meanwhile');
$session->query_safe('ROLLBACK');
is(batch(4000), 202, 'rolled back: its share is free');
settled(7501, 'nothing of it is stored');

# Subtransactions.
$session->query_safe('BEGIN; SELECT logsvc.ingest(' . list(100) . ')');
$session->query_safe('SAVEPOINT a; SELECT logsvc.ingest(' . list(200)
	. '); SAVEPOINT b; SELECT logsvc.ingest(' . list(300) . '); RELEASE b');
is(batch(3401), 429, '600 in subtransactions');
$session->query_safe('ROLLBACK TO a');
is(batch(3900), 202, '500 of them rolled back');
ok(wait_until(sub { stored() == 11401 && depth() == 100 }), 'written');
$session->query_safe('COMMIT');
settled(11501, 'the 100 are committed and written');

# A session that ends in the middle.
$session->query_safe('BEGIN; SELECT logsvc.ingest(' . list(700) . ')');
my $pid = $session->query_safe('SELECT pg_backend_pid()');
$t->sql("SELECT pg_terminate_backend($pid, 5000)");
is(batch(4000), 202, 'a terminated session: its share is free');
settled(15501, 'and nothing of it is stored');
eval { $session->quit };

# Full: of a quarter of the queue for one transaction, and of the queue.
is(fails('SELECT logsvc.ingest(' . list(1001) . ')'), 'LS510',
	'more than a quarter of the queue in one call: BATCH_TOO_LARGE');
is(fails('BEGIN; SELECT logsvc.ingest(' . list(600) . '); SELECT logsvc.ingest(' . list(401) . ')'),
	'LS510', 'and in two');
like(($t->sql_error("SELECT logsvc.act_as('acme'); BEGIN; SELECT logsvc.ingest(" . list(600)
	. '); SELECT logsvc.ingest(' . list(401) . ')'))[2] // '',
	qr/one transaction may hold 1000 events at most, a quarter of logsvc.queue_limit/,
		'... which says the limit');
is(fails("DO \$\$BEGIN FOR i IN 1..1001 LOOP PERFORM logsvc.log('x'); END LOOP; END\$\$"), 'LS510',
	'... and one by one');
act('BEGIN; SELECT logsvc.ingest(' . list(600) . '); SELECT logsvc.ingest(' . list(400)
	. '); COMMIT');
settled(16501, 'a quarter goes');
is(batch(4000), 202, 'what was refused takes nothing');
settled(20501, 'written');
my @sessions = map { $t->node->background_psql('postgres') } 1 .. 4;
$_->query_safe("SELECT logsvc.act_as('acme'); BEGIN; SELECT logsvc.ingest(" . list(1000) . ')')
	foreach @sessions;
is(fails("SELECT logsvc.log('x')"), 'LS602', 'beyond the limit: QUEUE_FULL');
eval { $_->quit } foreach @sessions;
ok(wait_until(sub { depth() == 0 }), 'all of it is given back');
is(batch(4000), 202, 'and free');
settled(24501, 'written');

# Errors.
is(fails(q{SELECT logsvc.ingest('[]')}), 'LS001', 'an empty list');
is(fails(q{SELECT logsvc.log('')}), 'LS001', 'an empty event');
is(fails(q{SELECT logsvc.log(NULL)}), 'LS001', 'no event');
is(fails(q{SELECT logsvc.log('x', index => 'nowhere')}), 'LS302', 'an unknown index');
is(fails(q{SELECT logsvc.log('x', index => '_audit')}), 'LS302', 'a reserved index');
my (undef, $state) = $t->sql_error(q{SELECT logsvc.log('x')});
is($state, 'LS802', 'a session that acts for nobody');
is(batch(4000), 202, 'errors take nothing');

$t->stop;
done_testing;
