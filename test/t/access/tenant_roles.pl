# The statements of docs/operations.md for database users of tenants: they run,
# are those of make quickstart, and then a tenant cannot fill the lock table.
use strict;
use warnings;

use LogsvcConnection;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new(name => 'tenant_roles', conf => "max_locks_per_transaction = 64\nmax_pred_locks_per_transaction = 10");
my $org = $t->organization('acme');

my ($section) = slurp_file('docs/operations.md') =~ /^### Database users of tenants$(.*?)^## /ms;
my ($rights, $role) = $section =~ /^```sql\n(.*?)^```/gms;
is($rights, slurp_file('docker/tenant-rights.sql'),
	'the statements of the document are those of make quickstart');
like(slurp_file('docker/quickstart.sh'), qr/^psql_db -f "\$here\/tenant-rights\.sql"$/m,
	'which runs them');

# As role app: the SQLSTATE, or "done".
sub as_app
{
	my ($sql) = @_;
	my (undef, $state) = $t->sql_error("SET SESSION AUTHORIZATION app; $sql");
	return defined $state && $state ne "" ? $state : "done";
}
# Nothing is forbidden before: this is what the statements are for.
$t->sql('CREATE ROLE app LOGIN; GRANT logsvc_tenant TO app');
my @tries = (
	'SELECT count(pg_advisory_lock(n)) FROM generate_series(1, 10) AS n',
	'SELECT pg_try_advisory_lock(1)', 'SELECT pg_advisory_xact_lock_shared(1, 2)',
		'SELECT pg_try_advisory_xact_lock(1)',
	"SELECT lo_from_bytea(0, 'x')", 'SELECT lo_create(0)', 'SELECT lo_creat(-1)',
		'CREATE TEMP TABLE x (a int)',
	q{SELECT pg_logical_emit_message(false, 'x', 'y') IS NULL},
		'BEGIN; SELECT pg_export_snapshot() IS NULL; COMMIT',
			'DO $$ BEGIN RAISE LOG $m$x$m$; END $$',
	'BEGIN; LOCK TABLE pg_settings IN ACCESS EXCLUSIVE MODE; COMMIT',
	# Exact figures of what all tenants do.
	(map { "SELECT count(*) FROM $_" } 'pg_stat_all_tables WHERE n_tup_ins >= 0', 'pg_stat_all_indexes WHERE idx_scan >= 0',
		'pg_statio_all_tables WHERE heap_blks_read >= 0', 'pg_stat_xact_all_tables WHERE n_tup_ins >= 0', 'pg_stat_database WHERE xact_commit >= 0'),
	'SELECT pg_stat_get_tuples_inserted(oid) FROM pg_class LIMIT 1', 'SELECT pg_stat_get_live_tuples(oid) FROM pg_class LIMIT 1',
	(map { "SELECT $_(oid) FROM pg_class WHERE relkind = 'r' LIMIT 1" } qw(pg_relation_size pg_table_size pg_indexes_size pg_total_relation_size)),
	'SELECT pg_database_size(current_database())', q{SELECT pg_tablespace_size('pg_default')}, q{SELECT pg_tablespace_size(oid) FROM pg_tablespace WHERE spcname = 'pg_default'},
	# Of the whole server.
	(map { "SELECT count(*) FROM $_" } 'pg_stat_wal WHERE wal_bytes >= 0', 'pg_stat_slru WHERE blks_hit >= 0', 'pg_stat_bgwriter WHERE buffers_alloc >= 0',
		'pg_stat_archiver WHERE archived_count >= 0', 'pg_replication_slots WHERE restart_lsn IS NULL', 'pg_control_checkpoint() WHERE checkpoint_lsn IS NULL'),
	(map { "SELECT $_() IS NULL" } qw(pg_current_wal_lsn pg_current_wal_insert_lsn pg_current_wal_flush_lsn pg_last_wal_replay_lsn)));
is(as_app($_), 'done', "allowed before: $_") foreach @tries;
is(as_app('SELECT count(pg_advisory_lock(n)) FROM generate_series(1, 200000) AS n'), '53200',
	'and it fills the lock table');
# Its session still has the locks while it ends, after psql is gone: until then others fail too.
ok(wait_until(sub { ($t->sql_error("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"))[0]
	eq '0' }), 'until its session is gone');
$t->sql('DROP OWNED BY app; DROP ROLE app');

$t->sql($rights);
pass('the rights are taken away');
$t->sql($role);
pass('the role is made');
is(as_app($_), '42501', "refused: $_") foreach @tries,
	'SELECT count(pg_advisory_lock(n)) FROM generate_series(1, 200000) AS n';
is($t->sql(q{SELECT string_agg(p.oid::regprocedure::text, ' ') FROM pg_proc p WHERE proname ~ 'advisory'
	AND has_function_privilege('app', p.oid, 'EXECUTE')}), '', 'no function of advisory locks is left');
is($t->sql(q{SELECT string_agg(p.oid::regprocedure::text, ' ') FROM pg_proc p WHERE proname ~ '^lo'
	AND prosrc ~ '^(be_lo|lo)' AND pronamespace = 'pg_catalog'::regnamespace AND proname ~ '^(lo_|loread|lowrite)'
	AND has_function_privilege('app', p.oid, 'EXECUTE')}), '', 'nor one of large objects');
is(as_app("SET temp_file_limit = '2GB'"), '42501', 'temp_file_limit is not its to raise');
is($t->sql("SELECT rolconnlimit FROM pg_roles WHERE rolname = 'app'"), '20',
	'its connections are limited');
is($t->sql("SELECT cardinality(setconfig) FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = "
	. "s.setrole WHERE rolname = 'app'"), '5', 'and five settings');

# What a session writes into the server's log: its errors, their details, plans.
sub logged
{
	my ($sql) = @_;
	my $before = length $t->log_text;
	$t->node->psql('postgres', $sql, extra_params => ['-U', 'app']);
	return length($t->log_text) - $before;
}
my $connection = logged('SELECT 1');
foreach my $sql ("SELECT repeat('x', 3000000)::int", 'ANALYZE', 'VACUUM',
	"SET debug_print_plan = on; SET debug_print_rewritten = on; SET debug_print_parse = on; SELECT "
		. "count(*) FROM information_schema.columns",
	"SELECT set_config('search_path', repeat('x', 1000000), false)",
		'SET trace_sort = on; SELECT n FROM generate_series(1, 10000) AS n ORDER BY -n',
			'SELECT a_syntax_error FROM')
{
	cmp_ok(logged($sql), '<', $connection + 1000, 'not into the log: ' . substr $sql, 0, 60);
}
is(as_app("SET log_min_messages = 'debug5'"), '42501', 'log_min_messages is not its to lower');
is(as_app("SET work_mem = '8MB'; SELECT set_config('TimeZone', 'UTC', false)"), 'done',
	'other settings are');

# Savepoints, one inside the other: each that has written holds a lock, and its rows are slow to
# judge.
sub nested
{
	my ($n, $role) = @_;
	my (undef, $state) = $t->sql_error("SET SESSION AUTHORIZATION $role; BEGIN; "
		. 'SAVEPOINT s; ' x $n . 'COMMIT');
	return defined $state && $state ne '' ? $state : 'done';
}
$t->sql('CREATE ROLE somebody LOGIN');
is(nested(64, 'app'), 'done', '64 savepoints are nested by a tenant');
is(nested(65, 'app'), '54000', 'not more');
# A block with an exception handler is a savepoint, too.
$t->sql(q{CREATE FUNCTION public.blocks(n int) RETURNS int LANGUAGE plpgsql AS $$
	BEGIN
		RETURN CASE WHEN n = 0 THEN 0 ELSE 1 + public.blocks(n - 1) END;
	EXCEPTION WHEN OTHERS THEN
		RETURN -1000;
	END $$});
my $own = LogsvcConnection->new(host => $t->node->host, port => $t->node->port, database => 'postgres', user => 'app');
is($own->query('SELECT public.blocks(63)')->{rows}, "63\n", '64 blocks with a handler, too');
is($own->query('SELECT public.blocks(64)')->{error}{state}, '57014', 'not more, whatever they handle');
is($own->query('SELECT public.blocks(0)')->{rows}, "0\n", 'and the session goes on');
is(nested(500, 'somebody'), 'done', 'other users of the database are not concerned');
is($t->sql("SET SESSION AUTHORIZATION app; SELECT logsvc.use_token('$org->{token}') IS NULL; BEGIN;"
	. 'SAVEPOINT s; RELEASE SAVEPOINT s; ' x 500 . "COMMIT; SELECT 1"), "f\n1",
		'one after the other there may be many');

# What would change no right, but write rows of the catalogs again: each other session then drops
# what it has cached of them, and an update of the extension waits for the transaction.
$t->sql('CREATE ROLE owner LOGIN; GRANT logsvc_tenant TO owner; CREATE ROLE crew; GRANT crew TO '
	. 'owner; CREATE SCHEMA own; CREATE TABLE own.mine (a int);'
	. 'ALTER TABLE own.mine OWNER TO crew; GRANT USAGE ON SCHEMA own TO owner');
my @rewrites = (
	'GRANT EXECUTE ON FUNCTION pg_catalog.now() TO app',
		'REVOKE EXECUTE ON FUNCTION pg_catalog.now() FROM app',
	'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_catalog TO app', 'GRANT SELECT ON pg_class TO app',
	'GRANT EXECUTE ON FUNCTION logsvc.use_token(text) TO app',
		'REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA logsvc FROM logsvc_tenant',
	'GRANT USAGE ON SCHEMA logsvc TO app', 'GRANT CONNECT ON DATABASE postgres TO app',
		'GRANT USAGE ON TYPE int4 TO app',
	'ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC', 'DROP OWNED BY app',
		'DROP OWNED BY logsvc_tenant',
	'REASSIGN OWNED BY app TO logsvc_tenant', 'GRANT app TO somebody',
		"ALTER ROLE app SET work_mem = '1MB'", 'ALTER ROLE app RESET ALL',
	'SET ROLE logsvc_tenant; GRANT EXECUTE ON FUNCTION pg_catalog.now() TO app');
my $catalogs = q{SELECT md5(string_agg(x, ' ' ORDER BY x)) FROM (
	SELECT 'proc' || oid || xmin::text || ctid::text FROM pg_proc UNION ALL SELECT 'class' || oid || ctid::text FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace
	UNION ALL SELECT 'schema' || oid || ctid::text FROM pg_namespace UNION ALL SELECT 'setting' || setrole || ctid::text FROM pg_db_role_setting
	UNION ALL SELECT 'member' || member || roleid FROM pg_auth_members UNION ALL SELECT 'acl' || ctid::text FROM pg_default_acl) AS c (x)};
my $before = $t->sql($catalogs);
is(as_app($_), '42501', "refused: $_") foreach @rewrites;
is($t->sql($catalogs), $before, 'no row of the catalogs was written');
is($t->sql('SET SESSION AUTHORIZATION owner; GRANT SELECT ON own.mine TO app; REVOKE SELECT ON '
	. 'own.mine FROM app;'
	. "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO app; SELECT 'done'"), 'done',
		'who owns something has rights to give');
$t->sql('CREATE ROLE maker CREATEROLE LOGIN; GRANT logsvc_tenant TO maker;'
	. 'GRANT app TO maker WITH ADMIN OPTION');
is($t->sql("SET SESSION AUTHORIZATION maker; ALTER ROLE app SET work_mem = '2MB'; SELECT 'done'"),
	'done', 'who makes roles sets their settings');
is($t->sql("SET SESSION AUTHORIZATION somebody; ALTER ROLE somebody SET work_mem = '1MB'; SELECT "
	. "'done'"), 'done', 'who is no tenant is not concerned');

# The service is not concerned.
is($t->sql("SET SESSION AUTHORIZATION app; SELECT logsvc.use_token('$org->{token}') ->> 'kind'"),
	'token', 'it acts by its token');
like($t->sql("SET SESSION AUTHORIZATION app; SELECT logsvc.use_token('$org->{token}') IS NULL; "
	. "SELECT logsvc.log('from sql')"), qr/evt_/, 'sends');
is($t->http(GET => '/api/v1/search', token => $org->{read_key}, query => { q => 'from' })->{status},
	200, 'and all goes on over HTTP');
$t->sql('CREATE ROLE op LOGIN IN ROLE logsvc_admin; CREATE ROLE watcher LOGIN IN ROLE pg_monitor');
is($t->sql(q{SELECT count(*) FROM logsvc.metrics WHERE name IN ('logsvc_queue_bytes', 'logsvc_partitions') AND value > 0}, user => 'op'), 2,
	'operators have their figures');
is($t->sql(q{SELECT count(*) > 0 FROM pg_stat_all_tables WHERE pg_relation_size(relid) > 0}, user => 'watcher'), 't', 'as does monitoring');

# Room for predicate locks: who fills it are sessions of SERIALIZABLE, and only such fail then.
$t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.ingest(jsonb_agg(jsonb_build_object('event', 'old', 'timestamp',"
	. " (extract(epoch FROM now() - d * interval '1 day') * 1000)::bigint))) ->> 'accepted' FROM generate_series(1, 360) AS d");
ok(wait_until(sub { $t->sql(q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'logsvc_internal.part'::regclass}) > 300
	&& $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }), 'a year of partitions');
my (@sessions, $full);
foreach (1 .. 15)
{
	my $session = LogsvcConnection->new(host => $t->node->host, port => $t->node->port, database => 'postgres', user => 'app');
	push @sessions, $session;
	$session->query("SELECT logsvc.use_token('$org->{token}') IS NULL");
	$session->query('BEGIN ISOLATION LEVEL SERIALIZABLE');
	my $r = $session->query('SELECT count(*) FROM logsvc.logs');
	$full = $r->{error}{state} if $r->{error};
	last if $full;
}
is($full, '53200', 'some sessions fill it');
is($t->http(GET => '/api/v1/search', token => $org->{read_key}, query => { q => 'old earliest=-400d | stats count' })->{json}{data}{rows}[0][0], 360,
	'... searches go on');
is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'meanwhile' })->{status}, 202, '... events are taken');
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }), '... and stored');
is($t->http(POST => '/api/v1/saved-queries', token => $org->{token}, json => { name => 'q', q => '*' })->{status}, 201, '... changes are made');
is($t->sql("SELECT logsvc.use_token('$org->{token}') IS NULL; SELECT count(*) > 300 FROM logsvc.logs", user => 'app') =~ s/.*\n//sr, 't', '... other sessions read');
undef @sessions;

# When a function has failed, nothing may look into the catalogs to see whose the transaction is
# that ends.
my $session = LogsvcConnection->new(host => $t->node->host, port => $t->node->port, database => 'postgres', user => 'app');
$session->query("SELECT logsvc.use_token('$org->{token}') IS NULL");
foreach my $call ("logsvc.search('| where')", "logsvc.create_api_key('acme', 'x', 'nothing')", "logsvc.use_token('pat_x')")
{
	foreach my $end ([ 'BEGIN', 'ROLLBACK' ], [ 'BEGIN', 'COMMIT' ], [ 'BEGIN', 'SAVEPOINT a', 'ROLLBACK TO a', 'RELEASE a', 'COMMIT' ])
	{
		my @statements = @$end;
		my $r = $session->query(shift @statements);
		$r = $session->query(shift @statements) if $statements[0] eq 'SAVEPOINT a';
		ok($session->query("SELECT $call")->{error}, "$call fails in a transaction");
		foreach my $statement (@statements)
		{
			$r = $session->query($statement);
			is($r->{error}{text} // '', '', "... $statement");
		}
		$session->query('ROLLBACK');
	}
}

done_testing();
