# reclaim.pl: the space of merged parts is given back when their day is over:
# parts are moved, autovacuum cuts the file off, every event is there exactly once
# meanwhile, and nothing moves that need not.
#
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep time);

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '20ms'",
	'logsvc.compactors = 0',
	'autovacuum = off', 'autovacuum_naptime = 1s', 'restart_after_crash = on');
my $waves = $ENV{WAVES} || 6;
my $events = 4 * $waves; # of each organization
my @orgs = map { "org$_" } 1 .. 12;
$t->organization($_) foreach @orgs;

sub compactors
{
	my ($n) = @_;
	$t->set('logsvc.compactors', $n);
	return wait_until(sub { $t->workers('^logsvc compactor$') == $n }) || die 'compactors';
}
my $log = 0;
# What has been moved since the last call.
sub moved { my @n = $t->log_text($log) =~ /logsvc moved (\d+) parts/g;
	$log = $t->log_position; return @n; }
# A new compactor looks at everything; it has had the time when it waits again.
sub look
{
	compactors(0);
	moved();
	compactors(1);
	sleep 1;    # the time for which it would move parts
	return scalar(my @n = moved());
}

my $name = $t->sql(q{DO $$ DECLARE d date := (now() AT TIME ZONE 'UTC')::date - 2; name text := 'part_' || to_char(d, 'YYYYMMDD'); BEGIN
	EXECUTE format('CREATE TABLE logsvc_internal.%I (LIKE logsvc_internal.part_other INCLUDING ALL) WITH (%s)', name,
		(SELECT string_agg(o, ', ') FROM logsvc_internal.part_options() AS o));
	EXECUTE format('ALTER TABLE logsvc_internal.%I ENABLE ROW LEVEL SECURITY', name);
	EXECUTE format('ALTER TABLE logsvc_internal.part ATTACH PARTITION logsvc_internal.%I FOR VALUES FROM (%L) TO (%L)', name, d, d + 1);
END $$; SELECT 'logsvc_internal.part_' || to_char((now() AT TIME ZONE 'UTC')::date - 2, 'YYYYMMDD')});
my $today = $t->sql("SELECT 'logsvc_internal.part_' || to_char((now() AT TIME ZONE 'UTC')::date, "
	. "'YYYYMMDD')");
sub toast { return $t->sql("SELECT reltoastrelid::regclass FROM pg_class WHERE oid = "
	. "'$_[0]'::regclass"); }
sub size { return $t->sql("SELECT pg_relation_size('" . toast($_[0]) . "')"); }
sub live { return $t->sql("SELECT sum(octet_length(body)) FROM $_[0]"); }
# When rows were last written, and where.
sub rows { return $t->sql("SELECT md5(string_agg(id || ' ' || xmin, ',' ORDER BY id)) FROM $name");
	}

# Some parts of each organization, of events that hardly compress.
sub load
{
	my ($waves, $days) = @_;
	foreach my $wave (1 .. $waves)
	{
		$t->sql(join '', map { "SELECT logsvc.act_as('$_');"
			. "SELECT logsvc.ingest(jsonb_build_object('event', (SELECT "
				. "string_agg(md5(random()::text), '') FROM generate_series(1, 3000) WHERE k > 0),"
			. " 'attributes', jsonb_build_object('n', k + 10 * $wave),"
			. " 'timestamp', (extract(epoch FROM now() - interval "
				. "'$days days') * 1000)::bigint)) FROM generate_series(1, 4) k;" } @orgs);
		wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 })
			or die 'queue';
	}
	return;
}
# All that searches find, by organization.
my $find = join ';',
	map { "SELECT logsvc.act_as('$_') IS NULL; SELECT md5(string_agg(concat(e.id, e.event, e.attributes), ',' ORDER BY e.id)),"
	. " count(*), count(DISTINCT e.attributes ->> 'n') FROM logsvc.events('earliest=-72h "
		. "latest=-24h') e" } @orgs;
sub found { return join ' ', grep { !/^[tf]?$/ } split /\n/, $_[0] // $t->sql($find); }
sub healthy
{
	my ($all, $what) = @_;
	is(found(), $all, "$what: every event is there once");
	is($t->sql('SELECT count(*) FROM logsvc.verify_parts()'), 0,
		"$what: and every part is as it should be");
	return;
}
sub age { $t->sql("UPDATE $_[0] SET created_at = now() - interval '2 hours' WHERE created_at > "
	. "now() - interval '1 hour'"); return; }

# ---- a day that was loaded in small pieces ----

load($waves, 2);
age($name);
my $parts = $t->sql("SELECT count(*) FROM $name");
cmp_ok($parts, '>=', ($waves < 8 ? $waves : 1) * @orgs, "$parts small parts");
compactors(2);
ok(wait_until(sub { $t->sql("SELECT count(*) FROM $name") == @orgs }),
	'become one for each organization');
compactors(0);
$t->sql("VACUUM $name");
my $live = live($name);
my $full = size($name);
cmp_ok($full, '>', 1.6 * $live, 'and leave as much free space');
my $all = found();
like($all, qr/^(\w{32}\|$events\|$events ?){12}$/, 'all events can be found');

# ---- when nothing is to be moved ----

load(2, 0);
$t->sql("DELETE FROM $today WHERE min_time = (SELECT min(min_time) FROM $today); VACUUM $today");
age($today);
my $rows = rows();
is(look(), 0, 'nothing moves in a day that is not over, and in one with parts of this hour');
is(rows(), $rows, 'no row was written');

# ---- killed in the middle ----

age($name);
$rows = rows();
compactors(0);
my $toast = toast($name);
my $last = $t->sql("SELECT id FROM $name WHERE md5(body) = "
	. "(SELECT md5(string_agg(chunk_data, '' ORDER BY chunk_seq)) FROM $toast"
	. " WHERE chunk_id = (SELECT chunk_id FROM $toast ORDER BY ctid DESC LIMIT 1))");
my $locker = $t->node->background_psql('postgres');
$locker->query_safe("BEGIN; DELETE FROM $name WHERE id = $last");
$t->stop_at('reclaim_before_commit');
compactors(1);
$t->wait_held('reclaim_before_commit');
is($t->sql("SELECT count(*), bool_or(id = $last) FROM $name WHERE id NOT IN "
	. "(SELECT id FROM $name FOR UPDATE SKIP LOCKED)"), '2|t',
	'a part that somebody is deleting is left, the next one moves');
$locker->query_safe('ROLLBACK');
$locker->quit;
is(found(), $all, 'a move under way is not seen');
$t->sql('ALTER SYSTEM SET logsvc.compactors = 0'); # from the next start on
$t->crash;
$t->start;
$t->wait_ready;
healthy($all, 'after a crash');
is(rows(), $rows, 'and nothing has moved');
$t->sql("VACUUM $name");

# ---- beside others, with a snapshot that stays ----

my $old = $t->node->background_psql('postgres');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT');
is(found($old->query_safe($find)), $all, 'a session has a snapshot');
$t->stop_at('reclaim_before_commit');
moved();
my $moved;
my $wal = $t->sql('SELECT pg_current_wal_insert_lsn()');
compactors(1);
$t->wait_held('reclaim_before_commit');
my $held = $t->sql("SELECT id FROM $name WHERE id NOT IN "
	. "(SELECT id FROM $name FOR UPDATE SKIP LOCKED)");
like($held, qr/^\d+$/, 'the part that is moved');

# Who merges or deletes waits for the row, takes it as it is then, and has all of it.
my $bytes = $t->sql("SELECT md5(body) FROM $name WHERE id = $held");
my $taker = $t->node->background_psql('postgres');
$taker->query_until(qr/go/, "\\echo go\nBEGIN; WITH small AS MATERIALIZED (SELECT id FROM $name), "
	. "picked AS (SELECT id, sum(id) OVER (ORDER BY id) FROM small)"
	. " DELETE FROM $name p USING picked WHERE p.id = picked.id AND p.id = $held RETURNING 'taken "
		. "' || md5(p.body);\n");
ok(wait_until(sub { $t->sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
	. "AND query ~ 'taken'") }), 'somebody waits for the row');
$t->let_go('reclaim_before_commit');
like($taker->query_safe("SELECT 'done'"), qr/taken $bytes/, 'and gets it');
$taker->query_safe('ROLLBACK');
$taker->quit;
ok(wait_until(sub { ($moved) = $t->log_text($log) =~ /logsvc moved \d+ parts with (\d+) MB/ }),
	'the pass ends');
$wal = $t->sql("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$wal')");
is(found($old->query_safe($find)), $all, 'the old snapshot finds everything');
healthy($all, 'after moving');
$rows = rows();
$t->sql("VACUUM $name");
is(look(), 0, 'a snapshot that keeps vacuum from freeing does not make them move again');
$t->sql("VACUUM $name");
is(look(), 0, 'nor later');
is(rows(), $rows, 'no row was written');
is(found($old->query_safe($find)), $all, 'the old snapshot finds everything still');
$t->set('autovacuum', 'on');
$old->query_safe('COMMIT');
$old->quit;
ok(wait_until(sub { size($name) < 1.3 * $live }),
	'autovacuum cuts the file off when it has gone')
	or diag sprintf "%d bytes live: %d in the file before, %d after, %d of WAL, %d of what moved",
		$live, $full, size($name), $wal, $moved << 20;
healthy($all, 'after vacuum');
$rows = rows();
is(look(), 0, 'nothing is left to be gained');
is(rows(), $rows, 'no row was written');
diag sprintf "%d bytes live: %d in the file before, %d after, %d of WAL, %d of what moved", $live,
	$full, size($name), $wal, $moved << 20;

unlike($t->log_text, qr/logsvc could not/, 'nothing failed');

# ---- after retention; a part that cannot be read ----

# What is at the begin of the file goes.
$t->set('autovacuum', 'off');
@orgs = split /\n/, $t->sql("SELECT o.slug FROM $name p JOIN logsvc_internal.organization o ON "
	. "o.id = p.organization_id"
	. " JOIN (SELECT min(ctid) AS at, md5(string_agg(chunk_data, '' ORDER BY chunk_seq)) AS hash "
		. "FROM $toast GROUP BY chunk_id) c ON c.hash = md5(p.body) ORDER BY c.at");
is(scalar @orgs, 12, 'organizations by place');
my @rest = splice @orgs, 6;
$t->sql(join '',
	map { "SELECT logsvc.act_as('$_'); SELECT logsvc.update_index('main', retention_days => 1);" }
		@orgs);
@orgs = @rest;
compactors(0);
compactors(1);
ok(wait_until(sub { $t->sql("SELECT count(*) FROM $name") == @orgs }),
	'parts that are past their retention go');
compactors(0);
$t->sql("VACUUM (TRUNCATE false) $name");
$t->sql("SET allow_system_table_mods = on; BEGIN; UPDATE pg_class SET relkind = 'r' WHERE oid = "
	. "'$toast'::regclass;"
	. "DELETE FROM $toast WHERE ctid = (SELECT max(ctid) FROM $toast WHERE chunk_seq = 3);"
	. "UPDATE pg_class SET relkind = 't' WHERE oid = '$toast'::regclass; COMMIT");
my $bad = $t->sql('SELECT part_id FROM logsvc.verify_parts()');
like($bad, qr/^\d+$/, 'a part loses a chunk');
$rows = rows();
my $from = $t->log_position;
compactors(1);
my $said = qr/logsvc could not move part (\d+) of $name: unexpected chunk/;
ok(wait_until(sub { $t->log_text($from) =~ $said }), 'which is said');
my @said;
ok(stays(sub { @said = $t->log_text($from) =~ /$said/g; "@said" eq $bad }, 0.5),
	'a part that cannot be read is named, once');
is($t->sql("SELECT count(*) FROM $name WHERE id = $bad"), 1, 'and stays');
compactors(0);
$t->sql("DELETE FROM $name WHERE id = $bad; VACUUM (TRUNCATE false) $name");

# ---- beside a deletion ----

is($t->sql("SELECT sum(rows) FROM $name"), $events * $#orgs, 'the others are there');
$t->stop_at('reclaim_before_commit');
compactors(1);
$t->wait_held('reclaim_before_commit');
$t->sql(join '',
	map { "SELECT logsvc.act_as('$_'); SELECT logsvc.delete_logs('index=main attributes.n=11 earliest=-72h latest=-24h', 'test');" } @orgs);
$t->let_go('reclaim_before_commit');
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.deletion WHERE status = 'done'")
	== @orgs }), 'and is done');
is($t->sql("SELECT sum(rows), (SELECT sum(deleted) FROM logsvc_internal.deletion) FROM $name"),
	($events - 1) * $#orgs . '|' . $#orgs, 'these events are gone');
is($t->sql('SELECT count(*) FROM logsvc.verify_parts()'), 0, 'and every part is as it should be');
# ---- what is cold is frozen ----

# The options came when there was nothing more to move; vacuum comes with the next rows, or when the
# transaction ids get old.
compactors(0);
is($t->sql("SELECT bool_and(reloptions @> '{autovacuum_freeze_min_age=0,autovacuum_freeze_max_age=10000000}') "
	. "FROM pg_class WHERE oid IN ('$name'::regclass, '$toast'::regclass)"), 't', 'a day that is over is to be frozen');
is($t->sql("SELECT coalesce(reloptions::text, '') !~ 'freeze' FROM pg_class WHERE oid = '$today'::regclass"), 't',
	'but not one that is not');
load(1, 2);
$t->sql('CREATE EXTENSION pg_visibility');
$t->set('autovacuum', 'on');
ok(wait_until(sub { $t->sql("SELECT bool_and(pg_relation_size(r) / 8192 = (pg_visibility_map_summary(r)).all_frozen) FROM "
	. "unnest(ARRAY['$name', '$toast']::regclass[]) r") eq 't' }), 'autovacuum freezes it');

# ---- a small day after its retention ----

# What is left is at the end of the file, as parts of the audit log are.
age($name);
compactors(1);
ok(wait_until(sub { $t->sql("SELECT count(*) FROM $name WHERE level < 9") == @orgs }), 'the day is merged');
compactors(0);
$t->sql("DELETE FROM $name WHERE id NOT IN (SELECT id FROM $name ORDER BY octet_length(body) LIMIT 3)");
$t->sql("VACUUM FULL $name");
my $last_part = $t->sql("SELECT p.id FROM $name p JOIN (SELECT max(ctid) AS at, md5(string_agg(chunk_data, '' ORDER BY chunk_seq)) AS hash "
	. "FROM $toast GROUP BY chunk_id) c ON c.hash = md5(p.body) ORDER BY c.at DESC LIMIT 1");
age($name);
my $before = size($name);
cmp_ok($before, '<', 4 << 20, 'a day of less than 4 MB');
$t->sql("DELETE FROM $name WHERE id <> $last_part");
ok(wait_until(sub { $t->sql("SELECT n_dead_tup = 0 AND n_tup_del > 0 FROM pg_stat_all_tables WHERE relid = '$toast'::regclass") eq 't' }),
	'its space is vacuumed soon');
ok($before > 512 << 10 && size($name) > 0.9 * $before, 'but what is left keeps the file') or diag size($name), " of $before";
look();
ok(wait_until(sub { size($name) < 0.5 * $before }), 'until it has moved') or diag size($name), " of $before";
is($t->sql("SELECT string_agg(id::text, ' ') FROM $name"), $last_part, 'it is still there');
is($t->sql('SELECT count(*) FROM logsvc.verify_parts()'), 0, 'and as it should be');

$t->stop;
done_testing;
