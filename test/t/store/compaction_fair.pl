# compaction_fair.pl: what one organization has to merge, or may not merge, keeps no other
# waiting; nor does a partition that somebody has locked keep a compactor.
#
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use POSIX ();
use Test::More;
use Time::HiRes qw(time);

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '10ms'",
	'logsvc.compactors = 0', 'logsvc.executors = 1',
	'logsvc.writers = 1', 'autovacuum = off');
$t->organization($_) foreach 'greedy', 'acme';
my $stored = sub { wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }) };

# More keys than a look finds: 80 days, too old for partitions of their own, of 7 indexes, 9 small
# parts in each.
$t->sql(q{INSERT INTO logsvc_internal.log_index (organization_id, name)
	SELECT id, 'i' || n FROM logsvc_internal.organization, generate_series(1, 6) n WHERE slug = 'greedy'});
foreach my $wave (1 .. 9)
{
	$t->sql(q{SELECT logsvc.act_as('greedy'); SELECT logsvc.ingest(jsonb_agg(jsonb_build_object('event', 'old',
		'index', i, 'timestamp', (extract(epoch FROM now() - d * interval '1 day') * 1000)::bigint)))
		FROM generate_series(404, 483) d, unnest('{main,i1,i2,i3,i4,i5,i6}'::text[]) i});
	$stored->();
}
foreach my $wave (1 .. 8)
{
	$t->sql(q{SELECT logsvc.act_as('acme'); SELECT logsvc.ingest(jsonb_agg(jsonb_build_object('event', 'few',
		'timestamp', (extract(epoch FROM now() - d * interval '1 day') * 1000)::bigint))) FROM unnest('{0,404}'::int[]) d});
	$stored->();
}
cmp_ok($t->sql(q{SELECT count(*) FROM (SELECT FROM logsvc_internal.part_other WHERE index_name IN ('main', 'i1', 'i2', 'i3', 'i4', 'i5', 'i6')
	GROUP BY organization_id, index_name, day HAVING count(*) = 9) k}), '>', 500, 'one organization has much to merge');
# A session that has done something and keeps its transaction open.
sub hold
{
	my ($sql) = @_;
	my $child = fork // die;
	if (!$child)
	{
		eval { $t->sql("BEGIN; $sql; SELECT pg_sleep(600)") };
		POSIX::_exit(0);
	}
	wait_until(sub { $t->sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
		}) or die 'no session';
	return $child;
}
sub let_go
{
	$t->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
	waitpid $_[0], 0;
	return;
}
sub parts { return $t->sql("SELECT string_agg(n::text, ',') FROM (SELECT count(*) AS n FROM "
	. "logsvc_internal.part p"
	  . " JOIN logsvc_internal.organization o ON o.id = organization_id AND slug = '$_[0]' AND "
	  . "index_name = 'main' GROUP BY day) k"); }
is(parts('acme'), '8,8', 'another has a little, today and in the same partition');

# A deletion that never ends, since somebody has locked it: until then no part of its organization
# is merged.
$t->sql(q{INSERT INTO logsvc_internal.deletion (organization_id, created_by, q, reason, indexes, from_time, to_time, level_mask, batch, matched, status)
	SELECT id, 'x', 'x', 'x', '{main}', now(), now(), 0, 0, 0, 'running' FROM logsvc_internal.organization WHERE slug = 'greedy'});
my $holder = hold('SELECT FROM logsvc_internal.deletion FOR UPDATE');
$t->set('logsvc.compactors', 1);
ok(wait_until(sub { parts('acme') eq '1,1' }), 'they are merged');
is($t->sql(q{SELECT count(*) FROM logsvc_internal.part p JOIN logsvc_internal.organization o ON }
	. q{o.id = organization_id AND slug = 'greedy' AND index_name <> '_audit'}), 9 * 560,
	'nothing of an organization with a deletion is');
let_go($holder);
ok(wait_until(sub { $t->sql(q{SELECT count(*) FROM logsvc_internal.part p JOIN }
	. q{logsvc_internal.organization o ON o.id = organization_id AND slug = 'greedy' AND }
		. q{index_name <> '_audit'}) == 560 }, 120),
	'all is when it has ended');

# A partition that somebody has locked: what looks at it gives up, and comes again later.
$t->set('logsvc.compactors', 0);
ok(wait_until(sub { !$t->workers('^logsvc compactor$') }), 'no compactor');
$holder = hold('LOCK TABLE logsvc_internal.part_other');
$t->set('logsvc.compactors', 1);
ok(wait_until(sub { $t->log_text =~ /could not look for parts to merge/ }),
	'merges wait for it a while');
ok(wait_until(sub { $t->log_text =~ /could not remove expired events/ }), 'so does retention');
# It rests as long as it has waited, and then looks for free space.
my $since;
ok(wait_until(sub {
	$since = time if !$since || $t->sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type }
		. q{= 'logsvc compactor' AND wait_event_type = 'Lock'});
	return time > $since + 18;
}), 'and nothing waits without end');
let_go($holder);
$t->stop;
done_testing;
