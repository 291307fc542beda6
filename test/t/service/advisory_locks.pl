# advisory_locks.pl: locks that everybody may take, advisory ones, are in no worker's way, and
# tenants cannot take those that workers need.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');
$t->sql('CREATE ROLE app LOGIN IN ROLE logsvc_tenant');

sub held_by { my ($mode) = @_; return $t->sql("SELECT count(*) FROM pg_locks WHERE locktype = "
	. "'advisory'"); }

# Every advisory lock that could be meant: of the table of parts and of the organization.
my $oid = $t->sql(q{SELECT 'logsvc_internal.part'::regclass::oid});
my $hash = $t->sql("SELECT uuid_hash(id) FROM logsvc_internal.organization WHERE slug = 'acme'");
my $session = $t->node->background_psql('postgres', extra_params => [ '-U', 'app' ]);
$session->query_safe("SELECT pg_advisory_lock($oid); SELECT pg_advisory_lock($oid, $hash)");
is(held_by(), 2, 'a tenant holds advisory locks');

is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ map { "e $_" } 1 .. 20 ])->{status}, 202, 'events');
ok(wait_until(sub { $t->sql(q{SELECT sum(rows) FROM logsvc_internal.part WHERE index_name = 'main'})
	== 20 }), 'are stored');
my $id = $t->sql(q{SELECT logsvc.act_as('acme'); SELECT logsvc.delete_logs('index=main }
	. q{earliest=-1h', 'test') ->> 'id'}) =~ s/.*\n//sr;
ok(wait_until(sub { $t->sql(q{SELECT coalesce(sum(rows), 0) FROM logsvc_internal.part WHERE }
	. q{index_name = 'main'}) == 0 }), 'and deleted: no advisory lock keeps a deletion waiting')
  or diag($t->sql('SELECT status FROM logsvc_internal.deletion'));

# Eight small parts are merged.
foreach my $i (1 .. 8)
{
	is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
		json => ["merged $i"])->{status}, 202, "event $i");
	ok(wait_until(sub { $t->sql(q{SELECT sum(rows) FROM logsvc_internal.part WHERE index_name = }
		. q{'main'}) == $i }), 'is a part');
}
ok(wait_until(sub { $t->sql(q{SELECT count(*) FROM logsvc_internal.part WHERE index_name = 'main' }
	. q{AND level > 1}) >= 1 }), 'merges go on too');

my $tomorrow = $t->sql(q{SELECT to_char((now() AT TIME ZONE 'UTC')::date + 2, 'YYYYMMDD')});
$t->sql("DROP TABLE logsvc_internal.part_$tomorrow");
is(($t->sql_error("SET lock_timeout = '2s'; "
	. "SELECT logsvc_internal.make_part_partition('$tomorrow')"))[1], '', 'a partition is made');
is($t->sql("SELECT to_regclass('logsvc_internal.part_$tomorrow') IS NOT NULL"), 't',
	'... again');

foreach my $table (qw(part queue queue_0 part_other))
{
	foreach my $mode ('SHARE UPDATE EXCLUSIVE', 'EXCLUSIVE', 'ROW EXCLUSIVE')
	{
		is(($t->sql_error("BEGIN; LOCK TABLE logsvc_internal.$table IN $mode MODE",
			user => 'app'))[1], '42501', "a tenant cannot lock $table in $mode mode");
	}
}
$session->quit;

# A row that a session keeps locked holds up the one scheduled task that needs it, not the others.
$session = $t->node->background_psql('postgres');
$session->query_safe(q{BEGIN; LOCK TABLE logsvc_internal.one_time_link IN EXCLUSIVE MODE});
is($t->sql(q{UPDATE logsvc_internal.scheduled_task SET next_run_at = now(); SET statement_timeout = '60s';
	SELECT string_agg(task || coalesce(' ' || failure, ''), ', ') FROM logsvc_internal.run_scheduled() WHERE failure IS NOT NULL}),
	'purge_accounts 55P03', 'the one fails, and is tried again later');
is($t->sql(q{SELECT count(*) FROM logsvc_internal.scheduled_task WHERE failures = 0 AND }
	. q{last_run_at IS NOT NULL}),
	$t->sql('SELECT count(*) - 1 FROM logsvc_internal.scheduled_task'),
		'... and the others have run');
$session->quit;
$t->stop;
done_testing;
