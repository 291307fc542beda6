# queue_share.pl: who may have how much of the queue: one organization alone all of
# it; with others there, its last quarter is for those that hold less than a quarter, over
# HTTP and SQL; open transactions keep room for a limited time. What each holds is
# counted exactly, through crashes, dead letters and sessions that end.
#
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep);

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '50ms'",
	'logsvc.queue_limit = 4000', 'logsvc.acceptors = 2', 'logsvc.writers = 2',
	"logsvc.store_timeout = '1h'", "logsvc.reservation_timeout = '1h'", 'restart_after_crash = on');
my %org = (loud => $t->organization('loud'));

sub depth { return $t->sql('SELECT logsvc_internal.queue_depth()'); }
sub list { my ($n) = @_; return "(SELECT jsonb_agg('event ' || i) FROM generate_series(1, $n) i)"; }
sub post { my ($slug, $n) = @_; return $t->http(POST => '/api/v1/logs/batch',
	token => $org{$slug}{ingest_key}, json => [ map { "e $_" } 1 .. $n ])->{status}; }
sub fails { my ($slug, $query) = @_; my @r = $t->sql_error("SELECT logsvc.act_as('$slug'); $query");
	return $r[1]; }
sub stored { my ($slug) = @_; return $t->sql("SELECT coalesce(sum(rows), 0) FROM "
	. "logsvc_internal.part p JOIN logsvc_internal.organization o ON o.id = p.organization_id "
		. "WHERE o.slug = '$slug' AND index_name = 'main'"); }

# What each holds, as shared memory and as the table have it.
sub held { return $t->sql(q{SELECT string_agg(slug || ' ' || logsvc_internal.queue_held(id), ', ' }
	. q{ORDER BY slug) FROM logsvc_internal.organization}); }
sub queued { return $t->sql(q{SELECT string_agg(slug || ' ' || (SELECT coalesce(sum(rows), 0) FROM }
	. q{logsvc_internal.queue q WHERE q.organization_id = o.id), ', ' ORDER BY slug) FROM }
		. q{logsvc_internal.organization o}); }
sub empty { my ($name) = @_; local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(wait_until(sub { depth() == 0 && held() !~ / [1-9]/ && queued() !~ / [1-9]/ }), $name)
		or diag(depth() . ': ' . held() . '; ' . queued()); return; }

sub session_with
{
	my ($slug, $n) = @_;
	my $session = $t->node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe("SELECT logsvc.act_as('$slug'); BEGIN; SELECT logsvc.ingest(" . list($n)
		. q{) -> 'accepted'});
	return $session;
}
sub end { eval { $_->quit } foreach @_; return; }

# The store takes nothing: what is accepted stays in the queue, whatever is restarted.
sub close_store { $t->sql('ALTER TABLE logsvc_internal.part RENAME TO part_away'); return; }
sub open_store { $t->sql('ALTER TABLE logsvc_internal.part_away RENAME TO part'); return; }
sub refused { my ($slug, $n, $name) = @_; local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(post($slug, $n), 429, $name); return; }

# The first use of a key is an event of the audit log: let it be over.
sub first_use { my ($slug) = @_; post($slug, 1);
	wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.audit_entry a JOIN "
		. "logsvc_internal.organization o ON o.id = a.organization_id WHERE o.slug = '$slug' AND "
			. "action = 'api_key.first_used'") }); empty("$slug is in use"); return; }

# ---- alone ----

first_use('loud');
close_store();
is(post('loud', 4000), 202, 'an organization that is alone may fill the queue');
refused('loud', 1, 'and no more');
is(held(), 'loud 4000', 'it holds all of it');
open_store();
empty('stored');

# ---- two of them, over HTTP ----

$org{quiet} = $t->organization('quiet');
first_use('quiet');
close_store();
is(post('loud', 3001), 413, 'with another one there, three quarters are the most for one request');
is(post('loud', 3000), 202, 'which go');
refused('loud', 1, 'the last quarter is not for who holds more than a quarter');
is(post('quiet', 400) . post('quiet', 600), '202202', 'it is for the other one');
is(held(), 'loud 3000, quiet 1000', 'each holds what is its own');
refused('quiet', 1, 'and then the queue is full');

# ---- a crash: the table is counted again ----

kill_process($t->sql('SELECT pid FROM pg_stat_activity WHERE backend_type = $$logsvc '
	. 'writer$$ LIMIT 1'));
ok(wait_until(sub { eval { $t->sql('SELECT 1') } && eval { depth() } == 4000 }),
	'a crash: the queue is counted again');
$t->wait_ready;
is(held(), 'loud 3000, quiet 1000', '... and whose it is');
refused('loud', 1, '... so the same is refused');
open_store();
empty('all is stored, of each');
is(stored('loud') . ' ' . stored('quiet'), '7001 1001', 'and nothing is lost');

# A little of one and much of the other: the quarter is of what one holds and sends together.
close_store();
is(post('quiet', 3000), 202, 'whoever comes first has three quarters');
is(post('loud', 999) . post('loud', 1) . post('quiet', 1), '202202429',
	'and the last one is for the other');
open_store();
empty('stored');

# ---- SQL ----

$t->set('logsvc.flush_interval', '50ms');
my @open = map { session_with('loud', 1000) } 1 .. 3;
is(held(), 'loud 3000, quiet 0', 'three open transactions, each with a quarter');
is(fails('loud', "SELECT logsvc.log('x')"), 'LS602', 'a fourth has no room');
refused('loud', 1, 'nor has a request');
is(fails('quiet', "SELECT logsvc.log('x')"), '', 'the other organization has, in SQL');
is(post('quiet', 900), 202, 'and over HTTP');
ok(wait_until(sub { stored('quiet') == 4902 }), 'whose events are stored meanwhile');
is(fails('quiet', 'SELECT logsvc.ingest(' . list(1001) . ')'), 'LS510',
	'one transaction has a quarter at most');
is(fails('loud', 'SELECT logsvc.ingest(' . list(1001) . ')'), 'LS510', '... whoever it is');
end(@open);
empty('sessions that end give back what they held');

# ---- time ----

my $long = session_with('loud', 900);
$long->query_safe(q{SAVEPOINT a; SELECT logsvc.log('one more') IS NULL; ROLLBACK TO a});
is(held(), 'loud 900, quiet 0', 'a transaction that stays open');
$t->set('logsvc.reservation_timeout', '5s');
my @late = map { session_with('loud', 700) } 1 .. 2;
is(held(), 'loud 2300, quiet 0', 'and two more');
# Errors do not stop the clock.
$late[0]->query('SAVEPOINT a');
$late[0]->query('SELECT 1 / 0');
$late[0]->query('SELECT 1');
ok(wait_until(sub { depth() == 900 }), 'after logsvc.reservation_timeout they hold nothing');
is(held(), 'loud 900, quiet 0', '... which is a reload, not for what was taken before');
$late[0]->query('ROLLBACK TO a');
my $stored = stored('loud');
$late[0]->{stderr} = '';
like($late[0]->query_safe('COMMIT; SELECT 12345'), qr/12345/,
	'a transaction that was late commits, as there is room');
ok(wait_until(sub { stored('loud') == $stored + 700 }), 'and all of it is stored');
is(held(), 'loud 900, quiet 0', '... and counted');
close_store();
is(post('quiet', 2000), 202, 'another organization fills up what was given back');
$late[1]->query('COMMIT');
$late[1]->{stderr} =~ /(ERROR.*)/;
like($1 // '', qr/the ingest queue is full/, 'then the late one fails at its commit');
like($late[1]->{stderr}, qr/for 700 events for longer than logsvc\.reservation_timeout/,
	'... and says why');
is(held(), 'loud 900, quiet 2000', '... with nothing counted twice');
open_store();
end($long, @late);
empty('in the end nothing is held');
is(stored('loud'), $stored + 700, 'and what failed is not stored');

# What is late can take its room again before the commit too.
my $again = session_with('loud', 500);
ok(wait_until(sub { depth() == 0 }), 'late again');
$again->query_safe(q{SELECT logsvc.log('more') IS NULL});
is(held(), 'loud 501, quiet 0', 'who sends more takes all of it again');
$again->query_safe('COMMIT');
ok(wait_until(sub { stored('loud') == $stored + 1201 }), 'and it is stored');
end($again);
empty('exactly');

# ---- dead letters, and back ----

$t->set('logsvc.store_timeout', '1s');
close_store();
is(post('loud', 300) . post('quiet', 200), '202202', 'the store takes nothing');
ok(wait_until(sub { $t->sql(q{SELECT coalesce(sum(rows), 0) FROM logsvc_internal.dead_letter WHERE }
	. q{status = 'dead'}) == 500 }), 'what waited becomes dead letters');
empty('and holds nothing of the queue');
my ($loud, $quiet) = (0, 0);
open_store();
ok(wait_until(sub { $loud = stored('loud'); $quiet = stored('quiet');
	$t->sql(q{SELECT count(*) FROM logsvc_internal.dead_letter WHERE status = 'dead'}) == 0
		&& $loud == $stored + 1501 }), 'they come back by themselves');
empty('and are counted in and out');

# ---- several organizations of one owner ----

$t->set('logsvc.store_timeout', '1h');
$org{more} = $t->organization('more');
first_use('more');
$t->sql(q{UPDATE logsvc_internal.organization SET first_owner = (SELECT first_owner FROM }
	. q{logsvc_internal.organization WHERE slug = 'loud') WHERE slug = 'more'});
close_store();
is(post('loud', 2000) . post('more', 900) . post('quiet', 100), '202202202', 'three quarters are full');
is(held(), 'loud 2000, more 900, quiet 100', 'most of it with organizations of one owner');
refused('more', 100, 'the last quarter is not for an owner who holds more than a quarter in all of them');
is(fails('more', 'SELECT logsvc.ingest(' . list(100) . ')'), 'LS602', '... in SQL neither');
kill_process($t->sql('SELECT pid FROM pg_stat_activity WHERE backend_type = $$logsvc '
	. 'writer$$ LIMIT 1'));
ok(wait_until(sub { eval { $t->sql('SELECT 1') } && eval { depth() } == 3000 }),
	'a crash: the queue is counted again');
$t->wait_ready;
refused('more', 100, '... and the same is refused');
is(post('quiet', 900), 202, 'it is for the organization of another owner');
open_store();
empty('stored');
my $open = session_with('loud', 1000);
my @others = map { session_with('more', 1000) } 1 .. 2;
is(fails('more', "SELECT logsvc.log('x')"), 'LS602', 'open transactions of one owner count together');
is(fails('quiet', "SELECT logsvc.log('x')"), '', 'another owner has room');
$open->query_safe('ROLLBACK');
is(fails('more', "SELECT logsvc.log('x')"), '', 'what is rolled back does not count');
end($open, @others);
empty('in the end nothing is held');
$t->sql(q{UPDATE logsvc_internal.organization SET first_owner = NULL WHERE slug = 'more'});
close_store();
is(post('loud', 1000) . post('more', 2000) . post('loud', 1) . post('quiet', 999), '202202429202', 'and the sums are exact');
open_store();
empty('stored again');

unlike($t->log_text, qr/PANIC|TRAP/, 'no assertion failed');
$t->stop;
done_testing;
