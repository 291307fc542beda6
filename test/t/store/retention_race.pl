# retention_race.pl: what commits while retention waits for the lock of a partition is not dropped.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '20ms'\nlogsvc.compactors = 0\n");
my %org = map { $_ => $t->organization($_, plan => $_) } qw(free pro);
my $partition = $t->sql("SELECT 'logsvc_internal.part_'"
	. " || to_char((now() AT TIME ZONE 'UTC')::date - 20, 'YYYYMMDD')");
my $is_there = "to_regclass('$partition') IS NOT NULL";

$t->sql("SELECT logsvc.act_as('pro'); SELECT logsvc.ingest(jsonb_build_object('event', 'old', "
	. "'timestamp', (extract(epoch FROM now() - interval '20 days') * 1000)::bigint))");
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.part WHERE tableoid = "
	. "to_regclass('$partition')") == 1 }), 'a past day has a partition');

# A day with the part of an organization that no longer keeps it, and in a transaction that began
# before it one of another that does.
my $free = $t->sql("SELECT id FROM logsvc_internal.organization WHERE slug = 'free'");
$t->sql("CREATE TABLE kept AS SELECT * FROM $partition; DELETE FROM $partition");
sub store
{
	my ($change) = @_;
	return 'INSERT INTO logsvc_internal.part SELECT '
		. '(jsonb_populate_record(NULL::logsvc_internal.part, '
		. "to_jsonb(k) || '$change')).* FROM kept k";
}
my $writer = $t->node->background_psql('postgres');
$writer->query_safe('BEGIN; ' . store('{"id": 1}'));
$t->sql(store(qq({"id": 2, "organization_id": "$free"})));
my $retention = $t->node->background_psql('postgres');
$retention->query_until(qr/begun/,
	"\\echo begun\nSELECT 'dropped', logsvc_internal.drop_expired_partition('$partition', now());\n");
ok(wait_until(sub { $t->sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
	. " AND query LIKE '%drop_expired_partition%'") == 1 }), 'retention waits for the lock');
$writer->query_safe('COMMIT');
$writer->quit;
like($retention->query(''), qr/dropped\|f/, 'and finds what has come in meanwhile');
$retention->quit;
is($t->sql("SELECT $is_there AND (SELECT count(*) FROM logsvc_internal.part"
	. " WHERE day < now() - interval '10 days') = 2"), 't', 'nothing is lost');

$t->stop;
done_testing;
