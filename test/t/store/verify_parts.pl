# verify_parts.pl: verify_parts() cancelled, terminated and killed while it reads, among
# the locks of others and in a read-only transaction.  standby.pl has a standby.
use strict;
use warnings;

use LogsvcTest;
use Test::More;
use Time::HiRes qw(time);

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '50ms'",
	'logsvc.compactors = 0', 'restart_after_crash = on',
	'autovacuum = off');
$t->organization($_) foreach qw(acme globex);
my $day = "date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + interval '1 s'";
foreach my $n (1 .. 15)
{
	$t->sql("SELECT logsvc.act_as('acme'); SELECT logsvc.ingest((SELECT "
		. "jsonb_agg(jsonb_build_object('event', 'request ' || n % 100,"
		  . " 'timestamp', $day, 'attributes', "
		  . "jsonb_build_object('n', n))) FROM generate_series(1, 1000) n)) ->> 'accepted'");
}
$t->sql("SELECT logsvc.act_as('globex'); SELECT logsvc.log('other')");
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }),
	'events are stored');

# So many copies of them that reading them all takes seconds; one is damaged.
my $columns = 'organization_id, index_name, day, level, min_time, max_time, rows, raw_bytes, '
	. 'level_mask, min_batch, max_batch, header, body';
my $acme = "organization_id = (SELECT id FROM logsvc_internal.organization WHERE slug = 'acme') "
	. "AND index_name = 'main'";
my $rows = $t->sql("SELECT sum(rows) FROM logsvc_internal.part WHERE $acme");
is($rows, 15000, '15,000 events');
my @parts = split /\n/, $t->sql("SELECT id FROM logsvc_internal.part WHERE $acme");
my $bad = $t->sql("INSERT INTO logsvc_internal.part ($columns) SELECT $columns FROM "
	. "logsvc_internal.part WHERE id = $parts[0] RETURNING id");
$t->sql("UPDATE logsvc_internal.part SET body = set_byte(body, length(body) / 2, get_byte(body, "
	. "length(body) / 2) # 255) WHERE id = $bad");
my $partition = $t->sql("SELECT tableoid::regclass FROM logsvc_internal.part WHERE id = $bad");
my $verify = "SELECT string_agg(part_id::text, ' ') FROM logsvc.verify_parts()";
my ($began, $whole) = (time, 0);
foreach (1 .. 10)
{
	$t->sql("INSERT INTO logsvc_internal.part ($columns) SELECT $columns FROM "
		. "logsvc_internal.part, generate_series(1, 1000) WHERE id IN (@{[ join ',', @parts ]})");
	$began = time;
	is($t->sql($verify), $bad, 'it finds the damaged one');
	$whole = time - $began;
	last if $whole > 1;
}
cmp_ok($whole, '>', 1, sprintf 'reading all takes %.1f s', $whole);
my $state = "SELECT md5(string_agg(id || header::text || md5(body), ' ' ORDER BY id)) FROM "
	. "logsvc_internal.part";
my $before = $t->sql($state);

# A session that verifies; its pid when it has begun to read.
sub begin_verify
{
	my $session = $t->node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	$session->query_until(qr/begin/, "\\echo begin\n$verify;\n\\echo ended\n");
	wait_until(sub { $t->sql("SELECT state FROM pg_stat_activity WHERE pid = $pid") eq 'active' });
	# Into the midst of it, where it has the partition.
	ok(wait_until(sub { $t->sql("SELECT count(*) FROM pg_locks WHERE pid = $pid AND relation = "
		. "'$partition'::regclass AND granted") == 1 }), 'it reads');
	return ($session, $pid);
}

# ---- cancelled, terminated, killed ----

# A busy machine may delay one try.
my $took;
foreach my $try (1 .. 5)
{
	$began = time;
	my $state = ($t->sql_error("SET statement_timeout = '@{[ int($whole * 250) ]}ms'; $verify"))[1];
	$took = time - $began;
	is($state, '57014', 'a timeout') if $try == 1;
	last if $took < $whole * 0.75;
}
cmp_ok($took, '<', $whole * 0.75, '... ends it at once');

my ($session, $pid);
foreach my $try (1 .. 5)
{
	eval { $session->quit } if $session;
	($session, $pid) = begin_verify();
	$began = time;
	is($t->sql("SELECT pg_cancel_backend($pid)"), 't', 'cancelled');
	ok(wait_until(sub { $t->sql("SELECT state FROM pg_stat_activity WHERE pid = $pid") eq 'idle' }),
		'... it ends');
	$took = time - $began;
	last if $took < $whole * 0.6;
}
cmp_ok($took, '<', $whole * 0.6, '... at once');
$session->{stderr} = $session->{stdout} = '';
is(($session->query("SELECT 'there'"))[0] =~ s/.*\n//sr, 'there', '... and the session goes on');
is($t->sql("SELECT count(*) FROM pg_locks WHERE pid = $pid AND relation IS NOT NULL"), 0,
	'... without locks');
$session->quit;

($session, $pid) = begin_verify();
is($t->sql("SELECT pg_terminate_backend($pid, 5000)"), 't', 'terminated');
is($t->sql("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid"), 0, '... at once');
eval { $session->quit };

($session, $pid) = begin_verify();
kill_process($pid);
ok(wait_until(sub { !kill(0, $pid) && $t->sql('SELECT 1') }), 'killed: the server recovers');
eval { $session->quit };
$t->wait_ready;
is($t->sql($state), $before, '... nothing has changed');
is($t->sql($verify), $bad, '... and it finds what it found');

# ---- among others ----

# One of another organization is damaged too, and those of this one take too long.
my $globex = "organization_id = (SELECT id FROM logsvc_internal.organization WHERE slug = "
	. "'globex') AND index_name = 'main'";
$t->sql("SELECT logsvc.act_as('globex'); SELECT logsvc.log('second')");
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.part WHERE $globex") == 2 }),
	'two parts of another organization');
$bad = $t->sql("UPDATE logsvc_internal.part SET header = set_byte(header, 9, "
	. "get_byte(header, 9) # 255)"
	  . " WHERE id = (SELECT min(id) FROM logsvc_internal.part WHERE $globex) RETURNING id");
$verify = "SELECT string_agg(part_id::text, ' ') FROM logsvc.verify_parts('globex')";
is($t->sql($verify), $bad, 'it finds the damaged one of another organization');

my $other = $t->node->background_psql('postgres');
$other->query_safe("BEGIN; SELECT id FROM logsvc_internal.part WHERE $globex FOR UPDATE");
is($t->sql("SET lock_timeout = '1s'; $verify"), $bad, 'parts that somebody has locked are read');
$other->query_safe('ROLLBACK');

$other->query_safe("BEGIN; LOCK TABLE $partition IN ACCESS EXCLUSIVE MODE");
is(($t->sql_error("SET lock_timeout = '100ms'; $verify"))[1], '55P03',
	'a partition that somebody has locked: an error after lock_timeout');
$session = $t->node->background_psql('postgres');
$pid = $session->query_safe('SELECT pg_backend_pid()');
$session->query_until(qr/begin/, "\\echo begin\n$verify;\n");
ok(wait_until(sub { $t->sql("SELECT wait_event_type FROM pg_stat_activity WHERE pid = $pid")
	eq 'Lock' }), '... or it waits');
$other->query_safe("DELETE FROM logsvc_internal.part WHERE id = $bad; COMMIT");
my $found = $session->query_safe('SELECT 1');
unlike($found, qr/$bad/, '... and reads what is there then: the damaged one is gone');
$session->quit;
$other->quit;

$bad = $t->sql("UPDATE logsvc_internal.part SET rows = 2 WHERE $globex RETURNING id");
foreach my $begin ('BEGIN READ ONLY', 'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY',
	'BEGIN ISOLATION LEVEL REPEATABLE READ')
{
	is($t->sql("$begin; $verify; COMMIT"), $bad, $begin);
}
is($t->sql("SELECT string_agg(part_id || ': ' || problem, ' ') FROM logsvc.verify_parts('globex', "
	. "current_date - 1, current_date + 1)"),
	"$bad: the number of rows differs from column rows", 'of some days');

# Events come in and are stored while it reads.
$verify = 'SELECT string_agg(part_id::text, $$ $$) FROM logsvc.verify_parts()';
($session, $pid) = begin_verify();
$t->sql("SELECT logsvc.act_as('globex'); SELECT logsvc.log('meanwhile')");
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }),
	'events are stored meanwhile');
unlike($t->log_text, qr/PANIC|TRAP/, 'no PANIC');
$session->quit;
$t->stop;
done_testing;
