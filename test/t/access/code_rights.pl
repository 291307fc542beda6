# Whose rights things run with: what a role that was granted can change of the
# extension (nothing), what code in an executor can become (nothing else), and that
# nobody gets into role logsvc_reader.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new;
my $org = $t->organization('acme');
$t->sql(q{
	CREATE ROLE app LOGIN; GRANT logsvc_tenant TO app;
	CREATE ROLE ops LOGIN; GRANT logsvc_admin TO ops;
	CREATE ROLE boss LOGIN CREATEROLE;
	CREATE SCHEMA own AUTHORIZATION app; GRANT CREATE, USAGE ON SCHEMA own TO ops});
my $superuser = $t->sql('SELECT current_user');

# ---- a function that executors call, turned around ----

$t->sql(q{
	CREATE FUNCTION own.jsonb_array_elements(jsonb) RETURNS SETOF jsonb LANGUAGE plpgsql AS
		$$BEGIN CREATE TABLE own.loot AS SELECT current_user AS who; RETURN; END$$}, user => 'app');
my (undef, $state) =
	$t->sql_error(q{ALTER FUNCTION logsvc.search_fields(text, text, text) SECURITY INVOKER
	SET role = 'none' SET search_path = own, pg_catalog}, user => 'app');
$t->http(GET => '/api/v1/search/fields', token => $org->{token});
is($state, '42501', 'a tenant alters no function that executors run');
is($t->sql(q{SELECT count(*) FROM pg_class WHERE relname = 'loot'}), 0,
	'... and nothing of it is run');

# ---- who owns what ----

my $objects = q{SELECT d.classid, d.objid, o.type, o.identity FROM pg_depend d,
	LATERAL pg_identify_object(d.classid, d.objid, 0) o
	WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'logsvc')};
is($t->sql(qq{SELECT string_agg(format('%s %s: %s', o.type, o.identity, s.refobjid::regrole), ', ')
	FROM ($objects) o JOIN pg_shdepend s ON s.classid = o.classid AND s.objid = o.objid AND s.deptype = 'o'
		AND s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
	WHERE s.refobjid <> 'logsvc_reader'::regrole}), '', 'all belongs to the superuser who made it, or to logsvc_reader');
is($t->sql(q{SELECT string_agg(p.oid::regproc::text, ' ' ORDER BY 1) FROM pg_proc p
	WHERE proowner = 'logsvc_reader'::regrole AND NOT prosecdef}), '', 'what belongs to that is SECURITY DEFINER');
is($t->sql(q{SELECT count(*) FROM pg_class WHERE relowner = 'logsvc_reader'::regrole}), 0,
	'no table does');
is($t->sql(q{SELECT string_agg(r.rolname, ' ') FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member
	WHERE m.roleid = 'logsvc_reader'::regrole}), '', 'nobody is a member of it');
is($t->sql(q{SELECT count(*) FROM pg_auth_members WHERE member = 'logsvc_reader'::regrole}), 0,
	'nor it of anything');
is($t->sql(q{SELECT concat_ws(' ', rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolconnlimit,
	(SELECT rolpassword FROM pg_authid a WHERE a.oid = r.oid)) FROM pg_roles r WHERE rolname = 'logsvc_reader'}),
	'f f f f f f 0', 'and it may do nothing');

# ---- every way to change every object ----

# Of the kinds that the extension has; a new one fails the test.
my %ways = (
	(map { ($_ => [ "ALTER $_ %s OWNER TO %%ROLE", "ALTER $_ %s RENAME TO x",
		"ALTER $_ %s SET SCHEMA own",
			"ALTER $_ %s SECURITY INVOKER", "ALTER $_ %s SET role = 'none'",
				"ALTER $_ %s SET search_path = own, pg_catalog", "ALTER $_ %s RESET ALL",
			"ALTER $_ %s DEPENDS ON EXTENSION plpgsql", "DROP $_ %s", "COMMENT ON $_ %s IS 'x'",
			"GRANT ALL ON $_ %s TO PUBLIC", "REVOKE ALL ON $_ %s FROM logsvc_tenant CASCADE" ])
				} 'function'),
	aggregate => [ 'ALTER aggregate %s OWNER TO %%ROLE', 'ALTER aggregate %s RENAME TO x',
		'ALTER aggregate %s SET SCHEMA own',
		'DROP aggregate %s', "COMMENT ON aggregate %s IS 'x'",
			'GRANT ALL ON FUNCTION %s TO PUBLIC' ],
	(map { ($_ => [ "ALTER $_ %s OWNER TO %%ROLE", "ALTER $_ %s RENAME TO x",
		"ALTER $_ %s SET SCHEMA own", "DROP $_ %s",
			"COMMENT ON $_ %s IS 'x'", "GRANT ALL ON %s TO PUBLIC",
				"REVOKE ALL ON %s FROM logsvc_reader, logsvc_tenant, logsvc_admin CASCADE",
			$_ eq 'table' ? ("ALTER $_ %s DISABLE ROW LEVEL SECURITY",
				"ALTER $_ %s NO FORCE ROW LEVEL SECURITY", "CREATE POLICY x ON %s",
				"DROP POLICY tenant ON %s", "ALTER POLICY tenant ON %s USING (true)", "TRUNCATE %s",
					"DELETE FROM %s", "INSERT INTO %s DEFAULT VALUES",
				"LOCK TABLE %s", "CREATE TRIGGER x BEFORE INSERT ON %s EXECUTE FUNCTION own.t()",
					"ALTER $_ %s DISABLE TRIGGER ALL",
				"CREATE RULE x AS ON SELECT TO %s DO INSTEAD NOTHING", "VACUUM %s",
					"SELECT * FROM %s") : () ]) }
		'table', 'view', 'foreign table'),
	sequence => [ 'ALTER sequence %s OWNER TO %%ROLE', 'ALTER sequence %s RESTART',
		'DROP sequence %s', "COMMENT ON sequence %s IS 'x'",
		'GRANT ALL ON sequence %s TO PUBLIC', "SELECT nextval('%s')", "SELECT setval('%s', 1)" ],
	(map { ($_ => [ "ALTER $_ %s OWNER TO %%ROLE", "ALTER $_ %s RENAME TO x", "DROP $_ %s CASCADE",
		"COMMENT ON $_ %s IS 'x'",
			$_ eq 'schema' ? ("GRANT ALL ON SCHEMA %s TO PUBLIC",
				"REVOKE ALL ON SCHEMA %s FROM logsvc_tenant CASCADE", "CREATE TABLE %s.x ()",
				"CREATE FUNCTION %s.x() RETURNS int LANGUAGE sql AS 'SELECT 1'")
			: $_ eq 'type' ? ("ALTER TYPE %s SET SCHEMA own", "GRANT ALL ON TYPE %s TO PUBLIC")
				: ("GRANT ALL ON FOREIGN $_ %s TO PUBLIC") ]) }
		'schema', 'type', 'server', 'foreign-data wrapper'),
);
$ways{'foreign-data wrapper'} = [ map { s/foreign-data wrapper/FOREIGN DATA WRAPPER/gr
	=~ s/ON FOREIGN FOREIGN/ON FOREIGN/r } @{ $ways{'foreign-data wrapper'} } ];
$ways{'composite type'} = [ map { s/composite type/type/r } @{ $ways{type} } ];
my @objects = map { [ split /\t/ ] } split /\n/,
	$t->sql("SELECT type || E'\\t' || identity FROM ($objects) o");
cmp_ok(@objects, '>', 350, @objects . ' objects');
is(join(' ', grep { !$ways{$_} } keys %{ { map { $_->[0] => 1 } @objects } }), '',
	'of kinds that this test knows');

# All that the catalogue says about them.  From 16 on a GRANT that grants nothing writes the default
# rights of a type where there were none.
sub snapshot
{
	return $t->sql(q{SELECT md5(string_agg(t, ',' ORDER BY t)) FROM (
		SELECT p::text FROM pg_proc p WHERE pronamespace IN ('logsvc'::regnamespace, 'logsvc_internal'::regnamespace)
		UNION ALL SELECT (oid, relname, relowner, relacl, relrowsecurity, relforcerowsecurity, relkind)::text FROM pg_class
			WHERE relnamespace IN ('logsvc'::regnamespace, 'logsvc_internal'::regnamespace) AND relkind <> 'i'
		UNION ALL SELECT p::text FROM pg_policy p UNION ALL SELECT t::text FROM pg_trigger t
		UNION ALL SELECT (to_jsonb(t) || jsonb_build_object('typacl', coalesce(typacl, acldefault('T', typowner))))::text FROM pg_type t WHERE typnamespace IN ('logsvc'::regnamespace, 'logsvc_internal'::regnamespace)
		UNION ALL SELECT n::text FROM pg_namespace n WHERE nspname LIKE 'logsvc%' UNION ALL SELECT e::text FROM pg_extension e
		UNION ALL SELECT s::text FROM pg_foreign_server s UNION ALL SELECT w::text FROM pg_foreign_data_wrapper w
		UNION ALL SELECT r::text FROM pg_roles r UNION ALL SELECT m::text FROM pg_auth_members m
		UNION ALL SELECT d::text FROM pg_description d UNION ALL SELECT d::text FROM pg_shdescription d) AS s (t)});
}
$t->sql(q{CREATE FUNCTION own.t() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$},
	user => 'app');
$t->wait_partitions;
my $before = snapshot();
foreach my $role (qw(app ops logsvc_tenant logsvc_admin logsvc_reader))
{
	my @statements;
	foreach my $o (@objects)
	{
		my ($type, $identity) = @$o;
		push @statements, map { s/%%ROLE/$role/gr =~ s/%s/$identity/gr } @{ $ways{$type} };
	}
	push @statements, map { "CREATE OR REPLACE $_" } map { s/^CREATE OR REPLACE //r } split /\x01/,
	  $t->sql(qq{SELECT string_agg(pg_get_functiondef(objid), E'\\x01') FROM ($objects) o WHERE }
	  . qq{type = 'function'});
	push @statements, 'DROP EXTENSION logsvc CASCADE', 'ALTER EXTENSION logsvc UPDATE',
		'ALTER EXTENSION logsvc SET SCHEMA own',
	  'ALTER EXTENSION logsvc ADD FUNCTION own.t()', 'ALTER EXTENSION logsvc DROP SCHEMA logsvc',
	  "GRANT logsvc_admin TO $role", "GRANT logsvc_tenant TO boss",
	  "ALTER ROLE logsvc_tenant SUPERUSER", 'DROP ROLE logsvc_admin',
	  "COMMENT ON ROLE logsvc_tenant IS 'x'";
	$t->sql('CREATE TABLE statements (n serial, statement text); GRANT SELECT ON statements TO '
		. 'PUBLIC; GRANT USAGE ON SCHEMA public TO PUBLIC');
	$t->sql("INSERT INTO statements (statement) VALUES " . join ', ',
		map { my $s = $_; $s =~ s/'/''/g; "('$s')" } @statements);
	# As one who was granted the role; nobody can be that of the reader, so as itself.
	my $done = $t->sql(qq{
		SET client_min_messages = error;
		SET SESSION AUTHORIZATION $role;
		DO \$\$
		DECLARE
			s text;
			done text := '';
			denied int := 0;
		BEGIN
			FOR s IN SELECT statement FROM public.statements x ORDER BY x.n LOOP
				BEGIN
					EXECUTE s;
					done := done || left(s, 200) || E'\\n';
				EXCEPTION WHEN insufficient_privilege THEN
					denied := denied + 1;
				WHEN OTHERS THEN
					NULL;
				END;
			END LOOP;
			PERFORM set_config('test.done', done, false), set_config('test.refused', denied::text, false);
		END
		\$\$;
		SELECT 'refused ' || current_setting('test.refused') || E'\\n' || current_setting('test.done')});
	my ($refused) = $done =~ /refused (\d+)/;
	# Of GRANT and REVOKE without a right to grant PostgreSQL only warns; the snapshot tells.  The
	# reader reads.
	my @done = grep { !/^(|refused \d+|GRANT .*|REVOKE .*)$/
		&& !($role eq 'logsvc_reader' && /^(SELECT \* FROM|LOCK TABLE)/) } split /\n/,
			$done =~ s/.*?(?=refused)//sr;
	is(join("\n", @done), '', "$role: of " . @statements . " statements none succeeds")
		or diag "refused: $refused";
	cmp_ok($refused, '>', 0.6 * @statements, "$role: $refused are refused for want of rights");
	is(snapshot(), $before, "$role: and all is as it was");
	$t->sql('DROP TABLE statements');
}

# ---- nobody gets into the role ----

sub refused
{
	my ($user, $statement, $what) = @_;
	my (undef, $state, $message) = $t->sql_error("BEGIN; $statement; ROLLBACK", defined $user
		? (user => $user) : ());
	is($state, '42501', ($user // 'a superuser') . ": $statement") or diag $message // '';
	return $message // '';
}
like(refused(undef, $_), qr/nobody can be a member of role logsvc_reader/, '... as the error says')
  foreach 'GRANT logsvc_reader TO app', "GRANT logsvc_reader TO $superuser",
  'GRANT logsvc_reader TO boss WITH ADMIN OPTION', 'GRANT app, logsvc_reader TO ops',
  'ALTER GROUP logsvc_reader ADD USER app', 'CREATE ROLE x IN ROLE logsvc_reader',
  'CREATE ROLE x IN GROUP logsvc_reader';
foreach my $user (qw(app boss))
{
	refused($user, $_)
	  foreach 'GRANT logsvc_reader TO app', 'CREATE ROLE x IN ROLE logsvc_reader',
	  "GRANT $user TO logsvc_reader", 'ALTER ROLE logsvc_reader CONNECTION LIMIT 9',
	  "ALTER ROLE logsvc_reader PASSWORD 'x'", "ALTER ROLE logsvc_reader SET search_path = own",
	  'ALTER ROLE logsvc_reader RENAME TO x', 'DROP ROLE logsvc_reader',
	  "COMMENT ON ROLE logsvc_reader IS 'x'", 'SET ROLE logsvc_reader',
	  'SET SESSION AUTHORIZATION logsvc_reader', 'CREATE ROLE x ROLE logsvc_reader',
	  'ALTER DEFAULT PRIVILEGES FOR ROLE logsvc_reader GRANT ALL ON FUNCTIONS TO PUBLIC',
	  'DROP OWNED BY logsvc_reader', "REASSIGN OWNED BY logsvc_reader TO $user";
}
my (undef, undef, $message) = $t->sql_error('SELECT 1', user => 'logsvc_reader');
like($message, qr/too many connections for role "logsvc_reader"/,
	'nobody connects as it, though pg_hba.conf trusts everybody here');
is($t->sql("SET ROLE logsvc_tenant; RESET ROLE; SELECT current_user"), $superuser,
	'other roles are as they were');
is(join('|', ($t->sql_error("ALTER ROLE logsvc_reader SET work_mem = '5MB'; ALTER ROLE "
	. "logsvc_reader RESET work_mem"))[1] // ''), '', 'a superuser gives it settings');

# ---- code in an executor ----

is($t->sql(q{SELECT string_agg(DISTINCT usename, ' ') FROM pg_stat_activity WHERE backend_type = }
	. q{'logsvc executor'}), 'logsvc_reader', 'executors connect as it');
is($t->sql(q{SELECT string_agg(DISTINCT backend_type, ' ') FROM pg_stat_activity WHERE }
	. q{backend_type LIKE 'logsvc %' AND usename = 'logsvc_reader'}),
	'logsvc alerter logsvc executor logsvc exporter logsvc health',
	'and so do all workers that act for organizations, and nobody else');
my %attempts = (
	'RESET ROLE' => 'RESET ROLE', 'SET ROLE' => "SET ROLE $superuser",
		'SET ROLE NONE' => 'SET ROLE NONE', 'SET LOCAL ROLE' => 'SET LOCAL ROLE logsvc_admin',
	'RESET SESSION AUTHORIZATION' => 'RESET SESSION AUTHORIZATION',
		'SET SESSION AUTHORIZATION' => "SET SESSION AUTHORIZATION $superuser",
	'SET SESSION AUTHORIZATION DEFAULT' => 'SET SESSION AUTHORIZATION DEFAULT',
	'set_config role' => "SELECT set_config('role', '$superuser', false)",
		'set_config role none' => "SELECT set_config('role', 'none', true)",
	'set_config session_authorization' =>
		"SELECT set_config('session_authorization', '$superuser', false)",
	'RESET ALL' => 'RESET ALL', 'a function with SET role' => 'SELECT own.as_none()',
		'a function with SET to another' => 'SELECT own.as_super()',
	'COPY TO PROGRAM' => "COPY (SELECT 1) TO PROGRAM 'true'",
		'COPY FROM PROGRAM' => 'COPY own.line FROM PROGRAM ' . "'echo x'",
	'pg_read_file' => "SELECT pg_read_file('PG_VERSION')",
		'lo_export' => "SELECT lo_export(1, '/tmp/x')",
			'pg_reload_conf' => 'SELECT pg_reload_conf()',
	'DDL of its own functions' =>
		"ALTER FUNCTION logsvc.search(text, text, text, integer, text, boolean, integer, text[]) SECURITY INVOKER", 'CREATE TEMP TABLE' => 'CREATE TEMP TABLE x ()',
	'CREATE ROLE' => 'CREATE ROLE stolen SUPERUSER',
		'ALTER SYSTEM' => "ALTER SYSTEM SET work_mem = '5MB'",
			'a secret' => 'SELECT key FROM logsvc_internal.secret',
	'hashes' => 'SELECT key_hash FROM logsvc_internal.api_key',
		'writing' => "UPDATE logsvc_internal.member SET role = 'owner'",
			'the password file' => 'SELECT rolpassword FROM pg_authid',
	'LOAD' => "LOAD 'plpgsql'", 'to be an operator' =>
		"SELECT logsvc.create_user('stolen\@example.org')",
);
$t->sql(qq{
	CREATE TABLE own.line (x text); GRANT USAGE ON SCHEMA own TO logsvc_reader; GRANT ALL ON own.line TO logsvc_reader;
	CREATE FUNCTION own.as_none() RETURNS text LANGUAGE sql SET role = 'none' AS 'SELECT current_user::text';
	ALTER FUNCTION logsvc.roles() RENAME TO roles_before;
	CREATE TABLE own.attempt (name text, statement text); GRANT SELECT ON own.attempt TO logsvc_reader;
	CREATE FUNCTION logsvc.roles() RETURNS jsonb LANGUAGE plpgsql AS \$\$
	DECLARE
		a record;
		result jsonb := '{}';
		said text;
	BEGIN
		FOR a IN SELECT * FROM own.attempt LOOP
			said := '';
			BEGIN
				EXECUTE a.statement;
			EXCEPTION WHEN OTHERS THEN
				said := SQLSTATE || ' ';
			END;
			result := result || jsonb_build_object(a.name, said || current_user || ' ' || session_user
				|| ' ' || (SELECT count(DISTINCT organization_id) FROM logsvc_internal.member));
		END LOOP;
		RETURN result;
	END
	\$\$;
	GRANT EXECUTE ON FUNCTION logsvc.roles(), own.as_none() TO logsvc_reader});
# A function that sets a role cannot even be made for another one than oneself's, but a superuser
# can.
$t->sql(qq{CREATE FUNCTION own.as_super() RETURNS text LANGUAGE sql SET role = '$superuser' AS 'SELECT current_user::text';
	GRANT EXECUTE ON FUNCTION own.as_super() TO logsvc_reader});
$t->sql('INSERT INTO own.attempt VALUES ' . join ', ', map { my $s = $attempts{$_}; $s =~ s/'/''/g;
	"('$_', '$s')" } sort keys %attempts);
my $other = $t->organization('other');
foreach my $round (1 .. 8)
{
	my $r = $t->http(GET => '/api/v1/roles', token => $org->{token}, undescribed => 1);
	is($r->{status}, 200, 'planted') or diag $r->{content};
	my %became = %{ $r->{json}{data} // {} };
	is(scalar(keys %became), scalar(keys %attempts), 'all attempts were made') if $round == 1;
	is(join(', ', map { "$_: $became{$_}" } grep
		{ $became{$_} !~ /^(\w{5} )?logsvc_reader logsvc_reader [01]$/ } sort keys %became), '',
			'code in an executor stays logsvc_reader');
	my %harmless = map { $_ => 1 } 'RESET ROLE', 'SET ROLE NONE', 'RESET SESSION AUTHORIZATION',
		'SET SESSION AUTHORIZATION DEFAULT', 'set_config role none', 'RESET ALL',
	  'a function with SET role';
	is(join(', ', grep { !$harmless{$_} && $became{$_} !~ /^(42501|55P02|LS202|22023|54000) / }
		sort keys %became), '', 'and is refused') or diag explain \%became;
}
is($t->sql(q{SELECT count(*) FROM pg_roles WHERE rolname = 'stolen'}), 0, 'no role was made');
$t->sql('DROP FUNCTION logsvc.roles(); ALTER FUNCTION logsvc.roles_before() RENAME TO roles');
is($t->http(GET => '/api/v1/roles', token => $org->{token})->{status}, 200, 'as before');

# ---- executors come back whatever the database allows everybody ----

$t->sql('REVOKE ALL ON DATABASE postgres FROM PUBLIC');
my $pids = $t->sql(q{SELECT string_agg(pid::text, ',' ORDER BY pid) FROM pg_stat_activity WHERE }
	. q{backend_type = 'logsvc executor'});
$t->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = }
	. q{'logsvc executor'});
ok(wait_until(sub
	{ $t->sql(qq{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'logsvc executor'
	AND usename = 'logsvc_reader' AND pid NOT IN ($pids)}) == split /,/, $pids }), 'new executors without CONNECT for PUBLIC');
is($t->http(GET => '/api/v1/roles', token => $org->{token})->{status}, 200, 'which answer');
$t->sql('GRANT CONNECT, TEMP ON DATABASE postgres TO PUBLIC');

# ---- roles that are there before the extension ----

$t->sql("CREATE DATABASE second; CREATE DATABASE third");
is(($t->sql_error('CREATE EXTENSION logsvc', database => 'second'))[1] // '', '',
	'a second database, with members that were granted the roles');
$t->sql('COMMENT ON ROLE logsvc_tenant IS NULL');
my ($out, $error);
($out, $error, $message) = $t->sql_error('CREATE EXTENSION logsvc', database => 'third');
is($error, '42710', 'a role of that name that somebody else made');
like($message, qr/role logsvc_tenant exists and has members: app/, 'who put somebody into it');
$t->sql("COMMENT ON ROLE logsvc_tenant IS 'logsvc: as before'");
$t->sql('CREATE ROLE planted ROLE app; ALTER ROLE logsvc_reader RENAME TO away; ALTER ROLE planted '
	. 'RENAME TO logsvc_reader;'
	. "COMMENT ON ROLE logsvc_reader IS 'logsvc: looks like ours'");
($out, $error, $message) = $t->sql_error('CREATE EXTENSION logsvc', database => 'third');
is($error, '42710', 'a logsvc_reader with a member, whatever its comment');
like($message, qr/role logsvc_reader exists and has members: app/, '... as the error says');
$t->sql('REVOKE logsvc_reader FROM app; GRANT pg_read_all_data TO logsvc_reader');
($out, $error, $message) = $t->sql_error('CREATE EXTENSION logsvc', database => 'third');
like($message, qr/role logsvc_reader exists and is a member of: pg_read_all_data/,
	'one that may do more');
$t->sql('REVOKE pg_read_all_data FROM logsvc_reader; ALTER ROLE logsvc_reader SUPERUSER CONNECTION '
	. 'LIMIT 9 INHERIT');
is(($t->sql_error('CREATE EXTENSION logsvc', database => 'third'))[1] // '', '',
	'without members it is taken');
is($t->sql(q{SELECT concat_ws(' ', rolsuper, rolinherit, rolconnlimit) FROM pg_roles WHERE rolname }
	. q{= 'logsvc_reader'}), 'f f 0', 'and made what it should be');

$t->stop;
done_testing;
