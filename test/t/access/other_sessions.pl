# Access between sessions: races, caches of other processes, dump and restore,
# and a server that does not preload logsvc.
use strict;
use warnings;

use IPC::Open2;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new(ready => 0, conf => 'max_prepared_transactions = 2');

# A psql that stays: statements are sent and answered one by one.
sub session
{
	my (@options) = @_;
	my ($out, $in);
	my $pid = open2($out, $in, 'psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-d',
		$t->node->connstr('postgres'), @options);
	return { in => $in, out => $out, pid => $pid };
}

sub send_sql
{
	my ($s, $sql) = @_;
	# An error goes to stderr of psql: its state is asked for afterwards.
	print { $s->{in} } "$sql;\n\\echo end :LAST_ERROR_SQLSTATE :ERROR\n";
	$s->{in}->flush;
}

sub answer
{
	my ($s) = @_;
	my @lines;
	while (defined(my $line = readline $s->{out}))
	{
		chomp $line;
		return wantarray ? ($2 eq 'true' ? $1 : '', join "\n", @lines) : join("\n", @lines)
		  if $line =~ /^end (\w+) (\w+)$/;
		push @lines, $line;
	}
	die "psql ended\n";
}

sub do_sql { my ($s, $sql) = @_; send_sql($s, $sql); return answer($s); }

# Waits until a session waits for a lock.
sub wait_blocked
{
	return wait_until(sub {
		$t->sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") > 0;
	}) // die "nobody waits\n";
}

my ($one, $two) = (session(), session());

$t->sql(q{
	SELECT logsvc.create_organization('Race', 'free');
	SELECT logsvc.create_user('a@example.org');
	SELECT logsvc.create_user('b@example.org');
	SELECT logsvc.add_member('race', 'a@example.org', 'owner');
	SELECT logsvc.add_member('race', 'b@example.org', 'owner');
	SELECT logsvc.create_api_key('race', 'k', 'read-only') FROM generate_series(1, 4);});

# ---- two owners leave at once (decision 54) ----

foreach my $isolation ('READ COMMITTED', 'REPEATABLE READ')
{
	do_sql($_, "BEGIN ISOLATION LEVEL $isolation; SELECT count(*) FROM logsvc_internal.member")
	  foreach $one, $two;
	do_sql($one, "SELECT logsvc.set_member_role('race', 'a\@example.org', 'viewer')");
	send_sql($two, "SELECT logsvc.set_member_role('race', 'b\@example.org', 'viewer')");
	wait_blocked();
	do_sql($one, 'COMMIT');
	my ($state) = answer($two);
	is($state, $isolation eq 'READ COMMITTED' ? 'LS402' : '40001',
		"$isolation: the second of two owners stays");
	do_sql($two, 'ROLLBACK');
	is($t->sql("SELECT count(*) FROM logsvc_internal.member WHERE role = 'owner'"), 1, 'one owner');
	$t->sql("SELECT logsvc.set_member_role('race', 'a\@example.org', 'owner')");
}

# ---- room for one key, two that create ----

do_sql($one, "BEGIN; SELECT logsvc.create_api_key('race', 'x', 'read-only')");
send_sql($two, "SELECT logsvc.create_api_key('race', 'x', 'read-only')");
wait_blocked();
do_sql($one, 'COMMIT');
my ($state) = answer($two);
is($state, 'LS203', 'the second finds the limit reached');

# ---- a revocation in one process counts in the next statement of another ----

my $token = $t->sql_json(
	"SELECT logsvc.create_token('race', 'a\@example.org', 't', '{logs:read}')");
do_sql($two, "SELECT logsvc.use_token('$token->{token}')");
is((do_sql($two, "SELECT logsvc.whoami()->>'role'"))[1], 'owner', 'a session acts');
do_sql($one, "BEGIN; SELECT logsvc.revoke_token('$token->{id}')");
is((do_sql($two, "SELECT logsvc.whoami()->>'role'"))[1], 'owner', 'until the revocation');
do_sql($one, 'COMMIT');
is((do_sql($two, "SELECT logsvc.whoami()->>'role'"))[0], 'LS103', 'is committed');
do_sql($two, 'SELECT logsvc.use_token(NULL)');

# Also in the middle of a REPEATABLE READ transaction.
$token = $t->sql_json("SELECT logsvc.create_token('race', 'a\@example.org', 't', '{logs:read}')");
do_sql($two, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT logsvc.use_token('$token->{token}')");
$t->sql("SELECT logsvc.revoke_token('$token->{id}')");
is((do_sql($two, 'SELECT logsvc.whoami()'))[0], 'LS103', 'an old snapshot is no excuse');
do_sql($two, 'ROLLBACK');

# ---- two-phase commit would bump nothing ----

is(($t->sql_error("BEGIN; UPDATE logsvc_internal.member SET role = 'owner'; PREPARE "
	. "TRANSACTION 'p'"))[1],
	'0A000', 'a transaction that changed access data is not prepared');
is(($t->sql_error("BEGIN; SELECT 1; PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'"))[1], '',
	'others are');

close $_->{in} foreach $one, $two;
waitpid $_->{pid}, 0 foreach $one, $two;

# ---- a role that may do no more than connect ----

# Who waits for an exclusive lock on a catalog lets nobody connect: no right, no wait.
$t->sql('CREATE ROLE passer LOGIN; CREATE DATABASE another TEMPLATE template0');
my $reader = session('-U', 'passer');
is((do_sql($reader, 'BEGIN; SELECT (SELECT count(*) FROM pg_class) + (SELECT count(*) FROM pg_roles) '
	. '+ (SELECT count(*) FROM pg_database) > 0'))[1], 't', 'a reader of catalogs');
foreach my $database (qw(postgres another))
{
	foreach my $statement ('CREATE RULE r AS ON UPDATE TO pg_database DO INSTEAD NOTHING',
		'CREATE RULE r AS ON UPDATE TO pg_authid DO INSTEAD NOTHING',
		'CREATE RULE r AS ON UPDATE TO pg_catalog.pg_class DO INSTEAD NOTHING',
		'ALTER INDEX pg_database_oid_index DEPENDS ON EXTENSION plpgsql',
		'ALTER TRIGGER t ON pg_class DEPENDS ON EXTENSION plpgsql',
		'CREATE TRIGGER t AFTER INSERT ON pg_class EXECUTE FUNCTION suppress_redundant_updates_trigger()',
		'CREATE STATISTICS s ON relname, relkind FROM pg_class',
		q{COMMENT ON TABLE pg_class IS 'x'}, q{COMMENT ON COLUMN pg_class.relname IS 'x'},
		q{SECURITY LABEL ON TABLE pg_class IS 'x'})
	{
		my ($state, $message) = ($t->sql_error("SET lock_timeout = '2s'; SET role = passer; $statement", database => $database))[1, 2];
		is("$state $message" =~ s/ (relation|table|index|view) \S+$//r, '42501 ' . ($statement =~ /TRIGGER t AFTER/
			? 'permission denied for' : 'must be owner of'), "$database: $statement");
	}
}
$t->sql('CREATE TABLE own (n int) PARTITION BY LIST (n); ALTER TABLE own OWNER TO passer; CREATE INDEX own_n ON own (n);'
	. 'CREATE TABLE own_1 (n int); ALTER TABLE own_1 OWNER TO passer');
foreach my $statement ('TABLE own ATTACH PARTITION pg_class FOR VALUES IN (1)', 'TABLE own DETACH PARTITION pg_class',
	'INDEX own_n ATTACH PARTITION pg_class_oid_index')
{
	is(($t->sql_error("SET lock_timeout = '2s'; SET role = passer; ALTER $statement"))[1], '42501', "with tables of its own: $statement");
}
is(($t->sql_error('SET role = passer; ALTER TABLE own ATTACH PARTITION own_1 FOR VALUES IN (1); '
	. q{CREATE RULE r AS ON UPDATE TO own DO INSTEAD NOTHING; COMMENT ON COLUMN own.n IS 'x'; ALTER TABLE own DETACH PARTITION own_1}))[1],
	'', 'an owner may');
close $reader->{in};
waitpid $reader->{pid}, 0;
$t->sql('DROP TABLE own, own_1; DROP DATABASE another; DROP ROLE passer');

# ---- dump and restore ----

$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 77 WHERE class = 'logs';"
	  . "UPDATE logsvc_internal.plan_limit SET amount = 3 WHERE plan = 'free' AND "
	  . "resource = 'kpis'");
my $counts = q{SELECT string_agg(c::text, ',') FROM (
	SELECT count(*) AS c FROM logsvc_internal.organization UNION ALL
	SELECT count(*) FROM logsvc_internal.member UNION ALL
	SELECT count(*) FROM logsvc_internal.api_key UNION ALL
	SELECT count(*) FROM logsvc_internal.log_index UNION ALL
	SELECT count(*) FROM logsvc_internal.rate_limit UNION ALL
	SELECT count(*) FROM logsvc_internal.plan_limit) AS t};
my $before = $t->sql($counts);
my $dump = "$ENV{TESTDATADIR}/access.sql";
$t->node->command_ok([ 'pg_dump', '-f', $dump, 'postgres' ], 'pg_dump');
$t->sql('CREATE DATABASE restored TEMPLATE template0');
$t->node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'restored', '-f', $dump ],
	'restore');
is($t->sql($counts, database => 'restored'), $before, 'every row is back');
is($t->sql("SELECT per_minute FROM logsvc_internal.rate_limit WHERE class = 'logs'",
	database => 'restored'), 77, 'with what the operator changed');

# ---- without shared_preload_libraries ----

$t->stop;
$t->node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$t->start;
my $made = $t->sql_json(q{SELECT logsvc.create_organization('Later')});
is($made->{slug}, 'later', 'organizations are made');
is($t->sql(q{SELECT logsvc.act_as('later'); SELECT logsvc.whoami()->>'kind'}) =~ /operator$/, 1,
	'and acted for');
$t->stop;

done_testing;
