# bound_roles.pl: database roles that are bound to an organization read its events and nothing else,
# whatever their sessions try; and who is not bound gets nothing by one who is.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '20ms'");
my %org = map { $_ => $t->organization($_) } qw(acme other);
foreach my $name (sort keys %org)
{
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $org{$name}{ingest_key}, json => { events => [
		map { { event => "$name $_", service => $name, attributes => { n => $_ } } } 1 .. 50 ] });
	is($r->{status}, 202, "events of $name");
}
$t->sql('CREATE ROLE grafana LOGIN IN ROLE logsvc_tenant; CREATE ROLE app LOGIN IN ROLE logsvc_tenant;
	CREATE ROLE ops LOGIN IN ROLE logsvc_admin; CREATE ROLE plain LOGIN; CREATE ROLE helper NOLOGIN IN ROLE logsvc_tenant;
	GRANT helper TO grafana; CREATE ROLE member LOGIN; CREATE SCHEMA shop; GRANT USAGE, CREATE ON SCHEMA shop TO grafana, ops, app');

# What a statement answers, or the SQLSTATE of its error.
sub as
{
	my ($user, $sql) = @_;
	my ($output, $state) = $t->sql_error($sql, user => $user);
	return $state ne '' ? $state : $output;
}

my $services = "SELECT coalesce(string_agg(DISTINCT service, ' '), 'none') FROM logsvc.logs";

# ---- who can be bound, by whom ----

is(as(grafana => $services), 'LS802', 'before it is bound, a role acts for no one');
is(as(grafana => "SELECT logsvc.bind_role('grafana', 'acme')"), 'LS202', 'nobody binds himself');
is(as(ops => "SELECT logsvc.bind_role('nobody_there', 'acme')"), 'LS301', 'a role that is not there');
is(as(ops => "SELECT logsvc.bind_role('grafana', 'nowhere')"), 'LS301', 'an organization that is not there');
foreach my $bad ([ plain => '', qr/GRANT logsvc_tenant TO plain/ ], [ ops => '', qr/member of logsvc_admin/ ],
	[ helper => '', qr/cannot log in/ ], [ logsvc_reader => '', qr/roles of logsvc/ ],
	[ app => 'SUPERUSER', qr/superuser/ ], [ app => 'BYPASSRLS', qr/BYPASSRLS/ ], [ app => 'CREATEROLE', qr/CREATEROLE/ ])
{
	my ($role, $attribute, $like) = @$bad;
	$t->sql("ALTER ROLE $role $attribute") if $attribute;
	my (undef, undef, $error) = $t->node->psql('postgres', "SELECT logsvc.bind_role('$role', 'acme')", extra_params => [ '-U', 'ops' ]);
	like($error, $like, "$role $attribute cannot be bound");
	$t->sql("ALTER ROLE $role NO$attribute") if $attribute;
}
$t->sql('GRANT pg_read_all_data TO app');
my (undef, undef, $refused) = $t->node->psql('postgres', "SELECT logsvc.bind_role('app', 'acme')");
like($refused, qr/member of pg_read_all_data/, 'nor can who reads all tables');
$t->sql('REVOKE pg_read_all_data FROM app');
is(as(ops => "SELECT logsvc.bind_role('grafana', 'acme') ->> 'organization'"), 'acme', 'an operator binds');
is(as(ops => 'SELECT role, organization, problem IS NULL FROM logsvc.role_bindings()'), 'grafana|acme|t', '... and sees it');
is(as(grafana => 'SELECT logsvc.role_bindings()'), 'LS202', '... alone');

# ---- what it reads ----

is(as(grafana => $services), 'acme', 'its organization');
is(as(grafana => q{SELECT logsvc.search('* | stats count by service') #>> '{data,rows}'}), '[["acme", 50]]', '... by a search');
is(as(grafana => q{SELECT count(*) FROM logsvc.events('*')}), 50, '... as events');
is(as(grafana => q{SELECT logsvc.whoami() ->> 'kind' || ' ' || (logsvc.whoami() #>> '{organization,slug}') || ' ' || (logsvc.whoami() ->> 'permissions')}),
	'role acme ["logs:read"]', '... as which it knows itself');
is(as(grafana => "SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0; $services"), 'acme', '... in parallel');
my ($parallel) = grep { $t->sql("SELECT count(*) FROM pg_settings WHERE name = '$_'") } qw(debug_parallel_query force_parallel_mode);
is(as(grafana => "SET $parallel = on; SELECT logsvc.search('* | stats count by service') #>> '{data,rows}'"), '[["acme", 50]]', '... all of it parallel');

# ---- what it tries ----

my $other = $org{other}{token};
my %tries = (
	'a token' => ["SELECT logsvc.use_token('$other')", 'LS202'],
	'a key' => ["SELECT logsvc.use_token('$org{other}{read_key}')", 'LS202'],
	'to be an operator' => ["SELECT logsvc.act_as('other')", 'LS202'],
	'to write' => ["SELECT logsvc.log('x')", 'LS201'],
	'to make a key' => ["SELECT logsvc.create_api_key('acme', 'x', 'read-only')", 'LS201'],
	'the setting' => ["SET logsvc.principal = '01'", '42501'],
	'the table' => ["UPDATE logsvc_internal.role_binding SET organization_id = organization_id", '42501'],
	'another session_user' => ['SET SESSION AUTHORIZATION app', '42501'],
	'the reader' => ['SET ROLE logsvc_reader', '42501']);
foreach my $name (sort keys %tries)
{
	my ($sql, $expected) = @{ $tries{$name} };
	is(as(grafana => $sql), $expected, "$name: refused");
}
foreach my $before ('SELECT logsvc.use_token(NULL)', 'RESET ALL', 'DISCARD ALL', 'SET ROLE helper', 'SET ROLE logsvc_tenant', 'RESET ROLE',
	'RESET SESSION AUTHORIZATION', "SET search_path = shop", 'BEGIN; SAVEPOINT a; ROLLBACK TO a', 'BEGIN READ ONLY ISOLATION LEVEL SERIALIZABLE',
	"PREPARE p AS $services; EXECUTE p; DISCARD PLANS", 'SET row_security = off')
{
	my $got = as(grafana => "$before; $services");
	like($got, qr/(?:^|\n)acme$/, "after $before it reads its organization") unless $before =~ /row_security/;
	isnt($got =~ /other/, 1, '... and no other');
}
is(as(grafana => "PREPARE p AS $services; EXECUTE p"), 'acme', 'prepared');

# A role with the operators' rights is none while it is bound.
$t->sql('GRANT logsvc_admin TO grafana');
is(as(grafana => "SELECT logsvc.act_as('other')"), 'LS202', 'a bound role that becomes an operator is none');
is(as(grafana => "SET ROLE logsvc_admin; SELECT logsvc.act_as('other')"), 'LS202', '... nor as logsvc_admin');
is(as(grafana => "SET ROLE logsvc_admin; SELECT logsvc.unbind_role('grafana')"), 'LS202', '... and does not unbind itself');
like(as(ops => "SELECT problem FROM logsvc.role_bindings()"), qr/member of logsvc_admin/, '... which operators are told');
$t->sql('REVOKE logsvc_admin FROM grafana');

# Functions of others: whom they act for is the session's, whoever they belong to.
$t->sql("CREATE FUNCTION shop.of_ops() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS
	\$\$ BEGIN PERFORM logsvc.act_as('other'); RETURN (SELECT min(service) FROM logsvc.logs); END \$\$;
	ALTER FUNCTION shop.of_ops() OWNER TO ops;
	CREATE FUNCTION shop.of_grafana() RETURNS text LANGUAGE sql SECURITY DEFINER AS \$\$ $services \$\$;
	ALTER FUNCTION shop.of_grafana() OWNER TO grafana;
	GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA shop TO grafana, app, member;
	GRANT USAGE ON SCHEMA shop TO member");
is(as(grafana => 'SELECT shop.of_ops()'), 'LS202', "an operator's function does not make it one");
is(as(app => 'SELECT shop.of_grafana()'), 'LS802', "who is not bound gets nothing by the bound role's function");
is(as(app => "SELECT logsvc.use_token('$other') IS NULL; SELECT shop.of_grafana()"), "f\nother", '... but his own');

# Members, and superusers who become it for a while.
$t->sql('GRANT grafana TO member');
is(as(member => $services), 'LS802', 'a member of a bound role acts for no one');
is(as(member => "SET ROLE grafana; $services"), 'LS802', '... also when it has become it');
is($t->sql("SELECT logsvc.act_as('other') IS NULL; SET ROLE grafana; $services"), "f\nother", 'a superuser with SET ROLE acts as before');
is($t->sql("SET SESSION AUTHORIZATION grafana; $services"), 'acme', '... with SET SESSION AUTHORIZATION as the role');
is($t->sql("SELECT logsvc.act_as('other') IS NULL; SET SESSION AUTHORIZATION grafana; $services"), "f\nacme", '... whatever the session was before');

# ---- its login ----

# In the database of the service, another one, and of one that owns something in it.
my $login = "SELECT rolpassword FROM pg_authid WHERE rolname = 'grafana'";
$t->sql("SET password_encryption = 'md5'; ALTER ROLE grafana PASSWORD 'of the operator'; CREATE DATABASE elsewhere");
my $password = $t->sql($login);
sub elsewhere
{
	my ($user, $sql) = @_;
	my (undef, undef, $error) = $t->node->psql('elsewhere', $sql, extra_params => [ '-U', $user ]);
	return $error =~ /ERROR:  (.*)/ ? $1 : 'done';
}
foreach my $try ("ALTER ROLE grafana PASSWORD 'x'", 'ALTER ROLE grafana PASSWORD NULL', "ALTER USER CURRENT_USER ENCRYPTED PASSWORD 'x'",
	"DO \$\$ BEGIN EXECUTE 'ALTER ROLE grafana PASSWORD NULL'; END \$\$", "ALTER ROLE grafana SET work_mem = '1MB'")
{
	is(as(grafana => $try), '42501', "refused: $try");
	like(elsewhere(grafana => $try), qr/cannot change/, '... in another database');
	is(as(member => "SET ROLE grafana; $try"), '42501', '... to a member of it');
	like(elsewhere(member => "SET ROLE grafana; $try"), qr/cannot change/, '... there too');
}
$t->sql('CREATE TABLE shop.own (n int); ALTER TABLE shop.own OWNER TO grafana');
is(as(grafana => "ALTER ROLE grafana SET statement_timeout = '0'"), '42501', 'its settings are not its to change, also when it owns something');
$t->sql('DROP TABLE shop.own');
is($t->sql($login), $password, 'the password is the old one');
is($t->sql("SELECT count(*) FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole WHERE rolname = 'grafana'"), 0, 'and there are no settings');
is(as(app => "ALTER ROLE app PASSWORD 'mine'"), '', 'a tenant that is not bound changes its own password');
like(elsewhere(app => "ALTER ROLE app PASSWORD 'mine'"), qr/cannot change/, '... in the database of the service');
is(elsewhere(plain => "ALTER ROLE plain PASSWORD 'mine'"), 'done', 'others change theirs anywhere');
$t->sql('CREATE ROLE maker LOGIN CREATEROLE IN ROLE logsvc_tenant');
is(as(maker => "ALTER ROLE app PASSWORD 'new'"), '', 'who makes roles changes passwords') if $t->sql('SHOW server_version_num') < 160000;
isnt($t->sql("ALTER ROLE grafana PASSWORD 'other'; $login"), $password, 'so does a superuser');

# ---- open sessions ----

my $session = $t->node->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'app' ]);
$session->query_safe("SELECT logsvc.use_token('$other')");
$session->query_safe("PREPARE p AS $services");
is($session->query_safe('EXECUTE p'), 'other', 'a session with a token');
$t->sql("SELECT logsvc.bind_role('app', 'acme')");
is($session->query_safe('EXECUTE p'), 'acme', '... acts for the organization at once when its role is bound');
$t->sql("SELECT logsvc.bind_role('app', 'other')");
is($session->query_safe('EXECUTE p'), 'other', '... for another when that is changed');
$t->sql('ALTER ROLE app RENAME TO app2');
is(as(app2 => $services), 'LS202', 'a role with another name than the bound one may do nothing');
like(as(ops => "SELECT problem FROM logsvc.role_bindings() WHERE role = 'app'"), qr/it is app2 now/, '... which operators are told');
$t->sql('ALTER ROLE app2 RENAME TO app');
$t->sql("SELECT logsvc.unbind_role('app'); SELECT logsvc.use_token(NULL)");
is($session->query_safe('EXECUTE p'), 'other', 'unbound, it acts as its token does again');
$session->quit;

# ---- a role that is made anew, and an organization that is deleted ----

my $rows = 'SELECT count(*) FROM logsvc_internal.role_binding';
$t->sql('DROP OWNED BY grafana; REVOKE grafana FROM member; DROP ROLE grafana');
$t->sql('CREATE ROLE grafana LOGIN IN ROLE logsvc_tenant');
is($t->sql($rows), 1, 'the row of a dropped role is there');
is(as(grafana => $services), 'LS802', '... and not for another of the same name');
like(as(ops => 'SELECT problem FROM logsvc.role_bindings()'), qr/no such role any more/, '... which operators are told');
is(as(ops => "SELECT logsvc.bind_role('grafana', 'acme') ->> 'role'"), 'grafana', 'bound again');
is($t->sql($rows), 1, '... in place of that row');
is(as(grafana => $services), 'acme', '... it reads');
$t->sql("SELECT logsvc.set_ip_allowlist('[{\"network\": \"192.0.2.0/24\"}]', organization => 'acme')");
is(as(grafana => $services), 'acme', 'local sockets are on the server, whatever addresses are allowed');
$t->sql("SELECT logsvc.set_ip_allowlist('[]', organization => 'acme')");
$t->sql("UPDATE logsvc_internal.organization SET deleted_at = now() WHERE slug = 'acme'");
is(as(grafana => $services), 'LS202', 'the organization is deleted');
$t->sql("UPDATE logsvc_internal.organization SET deleted_at = NULL WHERE slug = 'acme'");
is(as(ops => "SELECT logsvc.unbind_role('grafana') ->> 'role'"), 'grafana', 'unbound');
is(as(ops => "SELECT logsvc.unbind_role('grafana')"), 'LS301', '... once');
is(as(grafana => $services), 'LS802', '... it acts for no one');
is($t->sql(q{SELECT logsvc.act_as('acme') IS NULL; SELECT string_agg(e ->> 'action', ' ') FROM
	jsonb_array_elements(logsvc.audit_log('acme') -> 'data') e WHERE e ->> 'action' LIKE 'database_role.%'}) =~ s/\n/ /r,
	'f database_role.unbound database_role.bound database_role.bound database_role.bound', 'all of it is in the audit log');
$t->stop;
done_testing;
