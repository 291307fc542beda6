# retention.pl: events go when their index has kept them long enough, by
# parts and by partitions, and nobody has to wait for it.
use strict;
use warnings;

use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep time);

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '20ms'",
	'logsvc.compactors = 0',
	'restart_after_crash = on');
my %org = map { $_ => $t->organization($_, plan => $_) } qw(free pro enterprise);
my %uuid = map { $_ => $t->sql("SELECT id FROM logsvc_internal.organization WHERE slug = '$_'") }
	keys %org;

sub ingest
{
	my ($name, @times) = @_;
	$t->sql("SELECT logsvc.act_as('$name');" . join '', map {
		"SELECT logsvc.ingest(jsonb_build_object('event', 'old', 'timestamp', (extract(epoch FROM ($_)) * 1000)::bigint));" } @times);
	wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 })
		or die 'queue';
	return;
}
sub days { return map { "now() - interval '$_ days'" } @_; }
# Ages in days of what an organization still has.
sub ages
{
	my ($name, $index) = @_;
	return $t->sql("SELECT coalesce(string_agg(round(extract(epoch FROM now() - max_time) / "
		. "86400)::text, ' ' ORDER BY max_time DESC), '')"
		. " FROM logsvc_internal.part WHERE organization_id = '$uuid{$name}' AND index_name = '"
			. ($index // 'main') . "'"
		. " AND (index_name <> '_audit' OR max_time < now() - interval '1 day')");
}
sub compactors
{
	my ($n) = @_;
	$t->set('logsvc.compactors', $n);
	return wait_until(sub { $t->workers('^logsvc compactor$') == $n });
}
# One pass: a compactor begins with what is due.
sub pass
{
	my ($until, $what) = @_;
	compactors(1);
	ok(wait_until($until), $what);
	compactors(0);
	return;
}
sub index_of { $t->sql("UPDATE logsvc_internal.part SET index_name = '$_[1]' WHERE organization_id "
	. "= '$uuid{$_[0]}' AND max_time < now() - interval '$_[2] days'"); return; }

# ---- each organization and index its own ----

is($t->sql("SELECT string_agg(o.slug || ' ' || r.name || ' ' || coalesce(r.days::text, '-'), ', ' "
	. "ORDER BY o.slug, r.name)"
	. " FROM logsvc_internal.index_retention r JOIN logsvc_internal.organization o ON o.id = "
		. "r.organization_id"),
	'enterprise _audit 365, enterprise _test 1, enterprise main -, free _audit 365, free _test 1, '
		. 'free main 3, pro _audit 365, pro _test 1, pro main 30',
	'what is kept how long');
ingest('pro', days(400, 364));
index_of('pro', '_audit', 300);
ingest('enterprise', days(2));
index_of('enterprise', '_test', 1);
ingest('free', days(1, 2, 5, 40));
ingest('pro', days(1, 5, 29, 31, 40));
ingest('enterprise', days(2, 40, 700));
pass(sub { ages('pro') eq '1 5 29' && ages('free') eq '1 2' && ages('pro', '_audit') eq '364'
	&& ages('enterprise', '_test') eq '' },
	'what is past goes');
is(join('; ', ages('free'), ages('pro'), ages('enterprise'), ages('pro', '_audit'),
	ages('enterprise', '_test')),
	'1 2; 1 5 29; 2 40 700; 364; ', 'and nothing else');

# A part goes when its newest event does.
ingest('free', "date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - "
	. "interval '3 days'");
my $edge = "organization_id = '$uuid{free}' AND day = (now() AT TIME ZONE 'UTC')::date - 3";
$t->sql("UPDATE logsvc_internal.part SET max_time = (day + 1)::timestamp AT TIME ZONE 'UTC' - "
	. "interval '1 s' WHERE $edge");
ingest('free', "date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - "
	. "interval '4 days'");
pass(sub { ages('free') !~ /[45]/ }, 'a day before that goes');
is($t->sql("SELECT count(*) FROM logsvc_internal.part WHERE $edge"), 1,
	'a part whose newest event is to be kept stays');

# A shorter retention holds at once; organizations that are gone leave nothing.
$t->sql("SELECT logsvc.act_as('pro'); SELECT logsvc.update_index('main', retention_days => 4)");
$t->sql("INSERT INTO logsvc_internal.part (organization_id, index_name, day, level, min_time, "
	. "max_time, rows, raw_bytes, level_mask, min_batch, max_batch, header, body)"
	. " SELECT gen_random_uuid(), index_name, day, level, min_time, max_time, rows, raw_bytes, "
		. "level_mask, min_batch, max_batch, header, body"
	. " FROM logsvc_internal.part WHERE organization_id = '$uuid{enterprise}' AND "
		. "index_name = 'main'");
pass(sub { ages('pro') eq '1' && $t->sql('SELECT count(DISTINCT organization_id) FROM '
	. 'logsvc_internal.part') == 3 },
	'a shorter retention, and parts of nobody');

# An index that is not there: as one without a setting of its own.
ingest('free', days(2, 6));
$t->sql("UPDATE logsvc_internal.part SET index_name = 'gone' WHERE organization_id = '$uuid{free}' "
	. "AND id > (SELECT max(id) - 2 FROM logsvc_internal.part)");
is(ages('free', 'gone'), '2 6', 'events of an index that is not there');
pass(sub { ages('free', 'gone') eq '2' }, 'are kept as long as the organization says');

# ---- partitions ----

# The partition of a day so many days ago, as it would have been made then.
sub partition
{
	my ($age) = @_;
	my $name = $t->sql("SELECT 'part_' || to_char((now() AT TIME ZONE 'UTC')::date - "
		. "$age, 'YYYYMMDD')");
	$t->sql("SELECT logsvc_internal.make_part_partition((now() AT TIME ZONE 'UTC')::date - $age)");
	return $name;
}
sub there { return $t->sql("SELECT to_regclass('logsvc_internal.$_[0]') IS NOT NULL") eq 't'; }

$t->sql("SELECT logsvc.act_as('pro'); SELECT logsvc.update_index('main', retention_days => 20)");
my $shared = partition(10);
my $dead = partition(12);
my $empty = partition(14);
my $young = $t->sql("SELECT 'part_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')");
ingest('free', days(10, 12));
ingest('pro', days(10));
my $log = $t->log_position;
pass(sub { !there($dead) && !there($empty) && ages('free') !~ /1[02]/ },
	'partitions go in which nothing is to be kept');
ok(there($shared) && there($young), 'others stay');
is(ages('pro'), '1 10', 'with what others keep');
like($t->log_text($log), qr/logsvc dropped partition logsvc_internal.$dead/, 'the log says so');

# A transaction that stays open: events go, the partition waits, nobody else does.
my $held = partition(16);
ingest('free', days(16));
my $reader = $t->node->background_psql('postgres');
$reader->query_safe('BEGIN; SELECT count(*) FROM logsvc_internal.part');
pass(sub { ages('free') !~ /16/ }, 'an open transaction does not keep events');
ok(there($held), 'but the partition');
my $begin = time;
is($t->http(POST => '/api/v1/logs', token => $org{free}{ingest_key},
	json => { event => 'now' })->{status}, 202, 'events come in');
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }),
	'and are stored');
$reader->query_safe('COMMIT');
$reader->quit;
pass(sub { !there($held) }, 'the partition goes when it can');

# ---- killed in the middle ----

foreach my $kill (qw(worker server))
{
	my $name = partition(18);
	ingest('free', days(18));
	$t->stop_at('retention_before_drop');
	compactors(1);
	my $pid = $t->wait_held('retention_before_drop');
	if ($kill eq 'worker')
	{
		$t->sql("SELECT stop_point.reset('retention_before_drop'); SELECT "
			. "pg_terminate_backend($pid)");
	}
	else
	{
		$t->crash;
		$t->start;
		$t->wait_ready;
	}
	ok(wait_until(sub { !there($name) }), "$kill killed: the partition goes all the same");
	compactors(0);
	ingest('free', days(1));
}
unlike($t->log_text, qr/logsvc could not/, 'nothing failed');

# ---- a restored copy ----

# What its original has removed since may be what it was restored for.
my $kept = partition(19);
ingest('free', days(19, 22));
my $gone = $t->organization('gone', plan => 'free');
ingest('gone', days(1));
is($t->http(DELETE => '/api/v1/logs', token => $org{pro}{token}, json => { q => 'index=main earliest=-60d', reason => 'test' })->{status}, 202, 'a deletion');
$t->sql("UPDATE logsvc_internal.organization SET deleted_at = now() - interval '8 days' WHERE slug = 'gone'");
$t->set('logsvc.mode', 'restored');
compactors(1);
$t->sql("UPDATE logsvc_internal.scheduled_task SET next_run_at = '-infinity'");
$t->restart;
my $copy_pro = ages('pro');
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.scheduled_task WHERE next_run_at > now()") > 3 }), 'tasks run');
ok(stays(sub { there($kept) && ages('free') =~ /19 22/ && ages('pro') eq $copy_pro && $copy_pro ne ''
	&& $t->sql("SELECT count(*) FROM logsvc_internal.part p JOIN logsvc_internal.organization o ON o.id = p.organization_id WHERE o.slug = 'gone'") }, 3),
	'a restored copy removes nothing');
is($t->sql("SELECT string_agg(name, ' ' ORDER BY name) FROM logsvc_internal.scheduled_task WHERE last_run_at IS NULL OR next_run_at = '-infinity'"),
	'erase_organizations purge_accounts purge_alerts purge_audit purge_dead_letters purge_deletions purge_deliveries purge_exports purge_mails purge_status remove_dropped_indexes thin_health',
	'these tasks wait');
$t->set('logsvc.mode', 'normal');
ok(wait_until(sub { !there($kept) && ages('free') !~ /19|22/ && ages('pro') eq '' }, 90), 'until it is the original');
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.organization WHERE slug = 'gone'") == 0 }, 90), 'the organization, too');
like($t->log_text, qr/LOG:  logsvc erased organization org_\w+, which was deleted 7 days ago/, 'which the log says');
compactors(0);

# ---- a server that is read-only ----

my $last = partition(20);
ingest('free', days(20, 21));
$t->set('default_transaction_read_only', 'on');
$log = $t->log_position;
compactors(1);
ok(wait_until(sub { my $said = $t->log_text($log);
	$said =~ /logsvc could not drop partition .*read-only/
		&& $said =~ /logsvc could not remove expired events: .*read-only/ }),
			'is told in the log');
compactors(0);
$t->set('default_transaction_read_only', 'off');
is(ages('free') =~ s/.* (?=20)//r, '20 21', 'and nothing is gone');
pass(sub { !there($last) && ages('free') !~ /2[01]/ }, 'until it is not any more');

$t->stop;
done_testing;
