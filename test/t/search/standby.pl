# standby.pl: searches in sessions on a standby: alone and
# with parallel workers, as an operator and with a token; and verify_parts().
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $t = LogsvcTest->new(streaming => 1, conf => join "\n", "logsvc.flush_interval = '10ms'",
	'logsvc.compactors = 0',
	'logsvc.search_workers = 2', 'logsvc.search_workers_after = 0');
my $org = $t->organization('acme');

$t->sql("SELECT logsvc.act_as('acme'); SELECT logsvc.ingest(jsonb_agg(jsonb_build_object('event', format('request %s', n),
	'timestamp', now() - (n % 167) * interval '1 hour', 'attributes', jsonb_build_object('n', n, 'name', 'acme'))))
	FROM generate_series(1, 3000) n GROUP BY n / 1000");
ok(wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }), 'events are stored');
$t->sql("CREATE ROLE bound LOGIN IN ROLE logsvc_tenant; SELECT logsvc.bind_role('bound', 'acme')");
$t->node->backup('copy');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($t->node, 'copy', has_streaming => 1);
$standby->start;
$t->node->wait_for_catchup($standby);

my $search = q{SELECT logsvc.search('* | stats count, dc(n) by name', earliest => '-8d', latest => }
	. q{'+1h') #>> '{data,rows}';};
my $started = 'SELECT started FROM logsvc_internal.search_workers();';
my ($parallel) = grep { $t->sql("SELECT count(*) FROM pg_settings WHERE name = '$_'") }
	qw(debug_parallel_query force_parallel_mode);
is($standby->safe_psql('postgres', "SELECT logsvc.act_as('acme') IS NULL AS nobody \\gset
	SET logsvc.search_workers = 0; $search $started"), qq([["acme", 3000, 3000]]\n0), 'alone');
is($standby->safe_psql('postgres', "SELECT logsvc.act_as('acme') IS NULL AS nobody \\gset
	$search $started"), qq([["acme", 3000, 3000]]\n2), 'with workers');
is($standby->safe_psql('postgres',
	"SELECT logsvc.use_token('$org->{token}') IS NULL AS nobody \\gset
	SET $parallel = on; $search SELECT count(DISTINCT organization_id) FROM logsvc_internal.part"),
	qq([["acme", 3000, 3000]]\n1), 'with a token, and all of it parallel');
is($standby->safe_psql('postgres', "SET $parallel = on; $search SELECT count(*) FROM logsvc.logs", extra_params => [ '-U', 'bound' ]),
	qq([["acme", 3000, 3000]]\n3000), 'as a role that is bound to the organization');
my $bad = $t->sql("UPDATE logsvc_internal.part SET rows = rows + 1 WHERE id = (SELECT min(id) FROM "
	. "logsvc_internal.part WHERE index_name = 'main') RETURNING id");
my $verify = q{SELECT string_agg(part_id || ': ' || problem, ' ') FROM logsvc.verify_parts('acme')};
$t->node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $verify), "$bad: the number of rows differs from column rows",
	'verify_parts finds a damaged part');
is($standby->safe_psql('postgres', $verify), $t->sql($verify), 'as the primary does');
$t->sql("SELECT logsvc.revoke_token('$org->{token_id}') IS NULL");
$t->node->wait_for_catchup($standby);
my (undef, undef, $error) = $standby->psql('postgres', "SELECT logsvc.use_token('$org->{token}')");
like($error, qr/the token has been revoked/,
	'a token that is revoked on the primary is on the standby, too');

$standby->stop;
$t->stop;
done_testing;
