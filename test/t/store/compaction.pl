# compaction.pl: small parts become larger ones, and every event is there
# exactly once meanwhile: with two compactors under load, when one is killed,
# when the server crashes in the middle, when a part cannot be read.
#
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '20ms'", 'logsvc.writers = 2',
	'logsvc.executors = 2', 'logsvc.compactors = 2', 'autovacuum_naptime = 1s',
	'restart_after_crash = on');
my $org = $t->organization('acme');
my $uuid = $t->sql(q{SELECT id FROM logsvc_internal.organization WHERE slug = 'acme'});
my $main = "organization_id = '$uuid' AND index_name = 'main'";

sub parts { return $t->sql("SELECT count(*) FROM logsvc_internal.part WHERE $main AND "
	. ($_[0] // 'true')); }

# Events and different numbers of events of one search.
sub count
{
	my ($q) = @_;
	my $r = $t->http(GET => '/api/v1/search', token => $org->{read_key},
		query => { q => ($q // 'earliest=-48h') . ' | stats count as n, dc(attributes.n) as d' });
	die "$r->{status} $r->{content}" if $r->{status} != 200;
	my $row = $r->{json}{data}{rows}[0];
	return @$row;
}

my $number = 0;
# Stores parts of one event each, past the queue's batching.
sub small_parts
{
	my ($n, %opt) = @_;
	my $at = $opt{at} // 0;
	$t->sql(qq{SELECT logsvc.act_as('acme');
		DO \$\$ BEGIN FOR i IN $number .. $number + $n - 1 LOOP
			PERFORM logsvc.ingest(jsonb_build_object('event', 'small', 'attributes', jsonb_build_object('n', i),
				'timestamp', (extract(epoch FROM now() - interval '$at s') * 1000)::bigint));
			COMMIT;
			WHILE EXISTS (SELECT FROM logsvc_internal.queue) LOOP PERFORM pg_sleep(0.002); COMMIT; END LOOP;
		END LOOP; END \$\$});
	$number += $n;
	return;
}

# No key has 8 parts of a class any more.
sub at_rest
{
	return wait_until(sub { $t->sql(q{SELECT count(*) FROM (
		SELECT organization_id, index_name, day, width_bucket(greatest(rows, raw_bytes >> 10), '{8,64,512,4096,16384}'::bigint[]) AS c
		FROM logsvc_internal.part WHERE level BETWEEN 1 AND 8 GROUP BY 1, 2, 3, 4 HAVING count(*) >= 8) s}) == 0 });
}

is(scalar(my @workers = $t->workers('^logsvc compactor$')), 2, 'two compactors run');

# ---- under load: one sender, one reader ----

pipe my $reader, my $writer or die;
my $sender = fork // die;
if (!$sender)
{
	my $sent = $t->sql(q{SELECT logsvc.act_as('acme');
		DO $$ BEGIN FOR i IN 0 .. 899 LOOP
			PERFORM logsvc.log('load ' || i, 'info', 's' || i % 3, jsonb_build_object('n', i));
			COMMIT;
			PERFORM pg_sleep(0.001);
		END LOOP; END $$;
		SELECT 900});
	syswrite $writer, (split /\n/, $sent)[-1] . "\n";
	POSIX::_exit(0);
}
close $writer;
my ($searches, $wrong, $last) = (0, 0, 0);
while (waitpid($sender, POSIX::WNOHANG()) == 0)
{
	my ($n, $d) = count();
	$wrong++ if $n != $d || $n < $last;
	$last = $n;
	$searches++;
}
chomp($number = <$reader>);
is($wrong, 0, "each of $searches searches saw every event once");
is_deeply([ count() ], [ $number, $number ], "all $number are there once");
ok(at_rest(), 'merging comes to rest');
cmp_ok(parts('level > 1'), '>', 0, 'parts were merged');
cmp_ok(parts(), '<', 30, 'few parts are left');
is_deeply([ count() ], [ $number, $number ], 'and all events once');
is($t->sql("SELECT sum(rows) FROM logsvc_internal.part WHERE $main"), $number,
	'so say the columns');
cmp_ok($t->sql("SELECT max(level) FROM logsvc_internal.part WHERE $main"), '<=', 6,
	'no event was rewritten more than five times');
is($t->sql("SELECT count(*) FROM logsvc_internal.part WHERE min_batch > max_batch OR min_time > "
	. "max_time"), 0,
	'batches and times of merged parts');

# ---- killed in the middle ----

foreach my $point (qw(compact_after_delete compact_before_commit))
{
	$t->set('logsvc.compactors', 0);
	ok(wait_until(sub { $t->workers('^logsvc compactor$') == 0 }), 'no compactor');
	small_parts(8);
	$t->stop_at($point);
	$t->set('logsvc.compactors', 1);
	my $pid = $t->wait_held($point);
	is_deeply([ count() ], [ $number, $number ], "$point: a merge under way is not seen");
	if ($point eq 'compact_after_delete')
	{
		kill_process($pid);
		ok(wait_until(sub { $t->http(GET => '/readyz')->{status} == 200
			&& $t->sql('SELECT pg_postmaster_start_time() IS NOT NULL') }),
			'the server comes back');
	}
	else
	{
		$t->crash;
		$t->start;
		$t->wait_ready;
	}
	is_deeply([ count() ], [ $number, $number ], "$point: nothing is lost or doubled");
	ok(at_rest(), "$point: the merge is done after all");
	is_deeply([ count() ], [ $number, $number ], 'all once');
}

# SIGTERM in a merge: it ends at once, and another takes over.
$t->set('logsvc.compactors', 0);
ok(wait_until(sub { $t->workers('^logsvc compactor$') == 0 }), 'no compactor');
small_parts(8);
$t->stop_at('compact_before_commit');
$t->set('logsvc.compactors', 1);
my $held = $t->wait_held('compact_before_commit');
$t->sql("SELECT pg_terminate_backend($held)");
ok(wait_until(sub { ($t->workers('^logsvc compactor$'))[0] // $held != $held }),
	'another compactor');
$t->let_go('compact_before_commit');
ok(at_rest(), 'merges');

# ---- parts that are taken away meanwhile, and one that cannot be read ----

$t->set('logsvc.compactors', 0);
ok(wait_until(sub { $t->workers('^logsvc compactor$') == 0 }), 'no compactor');
small_parts(9);
my $bad = $t->sql("SELECT max(id) FROM logsvc_internal.part WHERE $main");
$t->sql("UPDATE logsvc_internal.part SET body = set_byte(body, length(body) / 2, get_byte(body, "
	. "length(body) / 2) # 255) WHERE id = $bad");
my $log = $t->log_position;
$t->set('logsvc.compactors', 2);
ok(wait_until(sub { $t->sql("SELECT level FROM logsvc_internal.part WHERE id = $bad") == -1 }),
	'a part that cannot be read is set aside');
ok(at_rest(), 'the others are merged');
my @said;
ok(stays(sub { @said = $t->log_text($log)
	=~ /logsvc part $bad cannot be read and stays as it is: part $bad is corrupt: (.*)/g;
		@said == 1 },
	1.5), 'that is said once');
is($t->sql("SELECT sum(value) FROM logsvc.metrics WHERE name = 'logsvc_unreadable_parts_total'"), 1,
	'... and counted');
is($t->sql("SELECT sum(rows) FROM logsvc_internal.part WHERE $main AND id <> $bad"), $number - 1,
	'no other event is lost');
is($t->sql('SELECT part_id, organization_id, index_name, level, rows, problem FROM '
	. 'logsvc.verify_parts()'),
	"$bad|$org->{id}|main|-1|1|$said[0]", 'and found by verify_parts, with what is wrong');
# Every other column that searches prune by, a byte of each part of the bytes, and TOAST.
my $one = $t->sql("SELECT min(id) FROM logsvc_internal.part WHERE $main AND level > 1");
foreach my $change ('rows = rows + 1', "min_time = min_time - interval '1 us'",
	"max_time = max_time + interval '1 s'",
	'level_mask = level_mask | 64', 'min_batch = max_batch + 1',
		'header = set_byte(header, 7, get_byte(header, 7) # 1)',
	'header = set_byte(header, length(header) - 1, get_byte(header, length(header) - 1) # 1)',
		'body = substr(body, 2)', "body = ''")
{
	is($t->sql("BEGIN; UPDATE logsvc_internal.part SET $change WHERE id = $one; SELECT count(*) "
		. "FROM logsvc.verify_parts('acme') WHERE part_id = $one AND problem <> ''"),
		1, "verify_parts finds $change");
}
is(($t->sql_error("SET ROLE logsvc_tenant; SELECT * FROM logsvc.verify_parts()"))[1], 'LS202',
	'tenants may not');
is($t->sql("SELECT sum(parts) FROM logsvc.parts WHERE organization = 'acme' AND index_name = "
	. "'main'"), parts(), 'the view logsvc.parts');
$t->sql("DELETE FROM logsvc_internal.part WHERE id = $bad");
is($t->sql('SELECT count(*) FROM logsvc.verify_parts()'), 0, 'no part is bad without it');
is_deeply([ count() ], [ $number - 1, $number - 1 ], 'searches work without it');

# ---- a day that is over ----

$t->set('logsvc.compactors', 0);
ok(wait_until(sub { $t->workers('^logsvc compactor$') == 0 }), 'no compactor');
small_parts(3, at => 86400);
my $day = "day = (now() AT TIME ZONE 'UTC')::date - 1";
is(parts($day), 3, 'three parts of yesterday');
$t->sql("UPDATE logsvc_internal.part SET created_at = now() - interval '2 hours' WHERE "
	. "$main AND $day");
$t->set('logsvc.compactors', 1);
ok(wait_until(sub { parts($day) == 1 }), 'become one');
is_deeply([ count() ], [ $number - 1, $number - 1 ], 'with all events');

# New parts of such a day are seen at once, and merged as they come: no minute between.
$day = "day = (now() AT TIME ZONE 'UTC')::date - 2";
foreach my $wave (1, 2)
{
	small_parts(8, at => 2 * 86400);
	ok(wait_until(sub { parts($day) == $wave }), "wave $wave into a day that is over");
}
is_deeply([ count('earliest=-72h') ], [ $number - 1, $number - 1 ], 'with all events');

# ... also when there are a thousand newer ones of today.
my $columns = 'organization_id, index_name, day, level, min_time, max_time, rows, raw_bytes, '
	. 'level_mask, min_batch, max_batch, header, body';
sub copies
{
	my ($index, $where, $n) = @_;
	return "INSERT INTO logsvc_internal.part ($columns) SELECT "
		. ($columns =~ s/index_name/$index/r)
	  . " FROM (SELECT * FROM logsvc_internal.part WHERE "
	  . "$main AND level > 0 AND $where ORDER BY id LIMIT 1) p, generate_series(1, $n) i;";
}
$t->sql('BEGIN; ' . copies("'copied'", $day, 8)
	. copies("'copy' || i", "day = (now() AT TIME ZONE 'UTC')::date", 1100) . 'COMMIT');
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.part WHERE index_name = 'copied'")
	== 1 }),
	'they are seen beside many of today');
$t->sql("DELETE FROM logsvc_internal.part WHERE index_name LIKE 'cop%'");

unlike($t->log_text, qr/logsvc could not (merge|look)/, 'no merge failed');

# ---- what keeps a merge from being done ----

sub no_compactor
{
	$t->set('logsvc.compactors', 0);
	return ok(wait_until(sub { $t->workers('^logsvc compactor$') == 0 }), 'no compactor');
}
no_compactor();
small_parts(8);
my $parts = parts();
my $session = $t->node->background_psql('postgres');
$session->query_safe("BEGIN; SELECT id FROM logsvc_internal.part WHERE $main ORDER BY id DESC "
	. "LIMIT 1 FOR UPDATE");
$log = $t->log_position;
$t->set('logsvc.compactors', 1);
ok(wait_until(sub { $t->log_text($log) =~ /logsvc could not merge parts: .*lock timeout/ }),
	'a part that is locked: it says so after 5 s');
is(parts(), $parts, 'and leaves everything as it was');
is_deeply([ count('earliest=-72h') ], [ $number - 1, $number - 1 ], 'all events');
$session->query_safe('ROLLBACK');
$session->quit;

no_compactor();
$t->set('default_transaction_read_only', 'on');
$log = $t->log_position;
$t->set('logsvc.compactors', 1);
ok(wait_until(sub { $t->log_text($log) =~ /logsvc could not merge parts: .*read-only/ }),
	'a server that is read-only');
is($t->sql("SELECT count(*) FROM logsvc_internal.part WHERE $main"), $parts,
	'leaves everything as it was');
no_compactor();
$t->set('default_transaction_read_only', 'off');
$t->set('logsvc.compactors', 1);
ok(wait_until(sub { parts() < $parts }), 'they are merged when that is over');
is_deeply([ count('earliest=-72h') ], [ $number - 1, $number - 1 ], 'all events');

is(($t->sql_error("SELECT * FROM logsvc.verify_parts('nobody')"))[1], 'LS301',
	'verify_parts of an organization that is not there');
$t->stop;
done_testing;
