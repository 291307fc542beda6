# upgrade.pl: the version before, with data in it, is upgraded: it becomes what CREATE EXTENSION
# makes, and everything that was stored is found as before.  Also: the parts of the SQL that are
# said to be replayable change nothing when they are run again.
use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use LogsvcStored;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $old = '0.1';
my $released = "build/released/$old";
my $events = $ENV{EVENTS} || 200_000;
my ($new) = slurp_file('logsvc.control') =~ /^default_version = '(.*)'/m;

# ---- what is released stays as it was ----

foreach (split /\n/, slurp_file('sql/released/versions'))
{
	my ($version, undef, $sum) = split ' ';
	is(sha256_hex(slurp_file("sql/released/logsvc--$version.sql")), $sum,
		"the script of $version is the released one");
}

# ---- fingerprints ----

my $fingerprint = slurp_file('test/upgrade/fingerprint.sql');

# The lines of a database's extension; dies when there is nothing to compare.
sub lines_of
{
	my ($t, $database) = @_;
	my @lines = split /\n/, $t->sql("SET search_path = pg_catalog;\n$fingerprint",
		database => $database);
	die "no fingerprint of $database\n" unless @lines > 1000;
	return \@lines;
}

# What only one of two fingerprints has.
sub differences
{
	my ($is, $expected) = @_;
	my (%is, %expected);
	@is{@$is} = ();
	@expected{@$expected} = ();
	return ((map { "only here: $_" } grep { !exists $expected{$_} } @$is),
		(map { "missing: $_" } grep { !exists $is{$_} } @$expected));
}

sub is_same
{
	my ($is, $expected, $name) = @_;
	my @differences = differences($is, $expected);
	ok(!@differences, $name) or diag join "\n",
		map { substr $_, 0, 400 } @differences[0 .. ($#differences < 9 ? $#differences : 9)];
	return;
}

# ---- without data: the scripts alone ----

my $t = LogsvcTest->new(name => 'scripts', extension => 0, ready => 0);
$t->sql("CREATE DATABASE $_") foreach qw(fresh upgraded empty);
$t->sql('CREATE EXTENSION logsvc', database => 'fresh');
$t->sql("CREATE EXTENSION logsvc VERSION '$old'", database => 'upgraded');
my $fresh = lines_of($t, 'fresh');
note scalar(@$fresh), ' lines';
is_same(lines_of($t, 'fresh'), $fresh, 'the same twice');
ok(!eval { lines_of($t, 'empty'); 1 }, 'nothing to compare is an error');
$t->sql('ALTER EXTENSION logsvc UPDATE', database => 'upgraded');
is($t->sql("SELECT extversion FROM pg_extension WHERE extname = 'logsvc'", database => 'upgraded'),
	$new, 'upgraded');
is_same(lines_of($t, 'upgraded'), $fresh, "$old upgraded is what is installed afresh");

# What is replayable.
my $api = join '', map { m{^(api/\S+)} ? slurp_file("sql/$1") : () } split /\n/,
	slurp_file('sql/load_order');
$api =~ s/'MODULE_PATHNAME'/'\$libdir\/logsvc'/g;
unlike($api, qr/^(?:CREATE (?!OR REPLACE)|DROP|INSERT|UPDATE|DELETE|ALTER (?!FUNCTION))/m,
	'statements that can be run again');
append_to_file("$ENV{TESTDIR}/api.sql", "BEGIN;\n$api\nCOMMIT;\n");
my ($stdout, $stderr);
is($t->node->psql('fresh', "\\set ON_ERROR_STOP 1\n\\i $ENV{TESTDIR}/api.sql", stdout => \$stdout,
	stderr => \$stderr), 0,
	'the functions and views can be made again') or diag $stderr;
is_same(lines_of($t, 'fresh'), $fresh, 'and are the same then');

# The comparison sees what an upgrade could leave out.
foreach ([ 'a default', q{ALTER TABLE logsvc_internal.organization ALTER timezone SET DEFAULT 'CET'}
	],
	[ 'storage', 'ALTER TABLE logsvc_internal.part ALTER body SET STORAGE MAIN' ],
	[ 'an index', 'CREATE INDEX ON logsvc_internal.member (role)' ],
	[ 'a grant', 'GRANT SELECT ON logsvc_internal.api_key TO logsvc_tenant' ],
	[ 'row security', 'ALTER TABLE logsvc_internal.outbox DISABLE ROW LEVEL SECURITY' ],
	[ 'a policy', 'ALTER POLICY tenant ON logsvc_internal.queue USING (true)' ],
	[ 'an option', 'ALTER TABLE logsvc_internal.ingest_day SET (fillfactor = 70)' ],
	[ 'a comment', "COMMENT ON COLUMN logsvc_internal.part.level IS 'other'" ],
	[ 'a trigger', 'ALTER TABLE logsvc_internal.audit_entry DISABLE TRIGGER keep_audit' ],
	[ 'a constraint', 'ALTER TABLE logsvc_internal.member DROP CONSTRAINT member_role_check' ],
	[ 'rights of a function', 'GRANT EXECUTE ON FUNCTION '
		. 'logsvc_internal.run_scheduled(timestamptz) TO PUBLIC' ],
	[ 'an owner', 'ALTER FUNCTION logsvc.roles() OWNER TO logsvc_tenant' ],
	[ 'a body', q{CREATE OR REPLACE FUNCTION logsvc_internal.part_options() RETURNS SETOF text }
		. q{LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 'x'::text} ],
	[ 'a row that comes with it', q{DELETE FROM logsvc_internal.rate_limit WHERE class = 'auth'} ])
{
	my ($what, $statement) = @$_;
	$t->sql("CREATE DATABASE planted TEMPLATE upgraded");
	$t->sql($statement, database => 'planted');
	isnt(scalar(my @seen = differences(lines_of($t, 'planted'), $fresh)), 0, "seen: $what");
	$t->sql('DROP DATABASE planted');
}
$t->stop;

# ---- a server of the version before, with data ----

SKIP:
{
	skip slurp_file("$released/missing") =~ s/\n//r, 1 if -f "$released/missing";
	my $new_conf = $ENV{TEST_CONF};
	my $server;
	{
		# Not the cluster that the tests share: it has the extension of today.
		delete local $ENV{TEST_CLUSTER};
		local $ENV{TEST_CONF} = $new_conf =~ s{/build/tmp_install}{/$released/tmp_install}gr;
		local $ENV{TEST_CLUSTER};    # which has today's version
		$server = LogsvcTest->new(name => 'upgraded',
			conf => "logsvc.flush_interval = '50ms'\nlogsvc.writers = 1");
	}
	is($server->sql("SELECT extversion FROM pg_extension WHERE extname = 'logsvc'"), $old,
		"$old is running");
	my $stored = LogsvcStored->fill($server, $events);

	# A queue that is not empty: the writer waits, and the server is killed.
	# Whoever takes a lock of all partitions may meet the writer in a deadlock, and lose.
	my $lock;
	wait_until(sub {
		$lock = $server->node->background_psql('postgres');
		eval { $lock->query_safe(
				'BEGIN; LOCK TABLE logsvc_internal.part IN SHARE ROW EXCLUSIVE MODE'); 1 };
	}) or die 'the table of parts cannot be locked';
	$stored->send($server, 'acme', 3000);
	my $queued = $server->sql("SELECT sum(rows) FROM logsvc_internal.queue q WHERE NOT audit");
	cmp_ok($queued, '>=', 3000, "$queued events in the queue");
	my $looks = LogsvcStored->tables_sql;
	# What the old library finds.
	my $before = $stored->found($server);
	$server->stop('immediate');
	eval { $lock->quit };

	# The library of today and the tables of before: the service waits for the upgrade.
	$server->node->append_conf('postgresql.conf', "\n$new_conf\n");
	$server->start;
	ok(wait_until(sub { $server->http(GET => '/readyz', timeout => 5)->{content} =~ /ALTER EXTENSION logsvc UPDATE/ }),
		'the service waits for the upgrade');
	is($server->http(POST => '/api/v1/logs', token => $stored->org('acme')->{ingest_key}, json => { event => 'too early' })->{status}, 503,
		'and takes no events');
	ok(wait_until(sub { $server->log_text =~ /ALTER EXTENSION logsvc UPDATE/ }), 'and says how')
		or diag substr $server->log_text, -2000;

	my $query = "SELECT logsvc.act_as('acme') \\gset _\nSELECT logsvc.search('error')";
	like(($server->node->psql('postgres', $query))[2], qr/ALTER EXTENSION logsvc UPDATE/,
		'so does a search in SQL');
	# Both looks in the transaction of the upgrade: when it ends, workers begin to write.
	my @looks = split /\n/, $server->sql("BEGIN ISOLATION LEVEL REPEATABLE READ; $looks; "
		. "ALTER EXTENSION logsvc UPDATE; $looks; COMMIT");
	is_deeply([ @looks[ @looks / 2 .. $#looks ] ], [ @looks[ 0 .. @looks / 2 - 1 ] ],
		'accounts, credentials, dead letters, deferred events, audit entries and mails are as they were');
	is(scalar @looks, 28, 'in each of 14 tables, twice');
	is($server->sql('SELECT count(*) FROM logsvc_internal.organization o JOIN '
		. 'logsvc_internal.member m ON (m.organization_id, m.user_id, m.role) = (o.id, '
			. 'o.first_owner, \'owner\')'),
		2, 'whose organizations count as one is known');
	# Rows that an operator has changed are his.
	my @both = map { [ grep { !/^(?:plan|rate) limit / } @$_ ] } lines_of($server, 'postgres'),
		lines_of_fresh($server);
	is_same(@both, 'the upgraded extension, with data in it, is what is installed afresh');
	is_deeply($stored->found($server), $before, scalar(keys %$before) . ' searches find the same');
	$server->wait_ready;
	ok(wait_until(sub { $server->sql('SELECT count(*) FROM logsvc_internal.queue WHERE NOT audit')
		== 0 }), 'what was in the queue is stored');
	is_deeply($stored->found($server), $before, 'searches find the same after that');
	is($server->sql('SELECT sum(rows) FROM logsvc_internal.part p WHERE index_name = \'main\''),
		$events + 3000, 'each event once');
	is($server->sql('SELECT count(*) FROM logsvc.verify_parts() WHERE problem IS NOT NULL'), 0,
		'no part has a problem');
	is($server->sql_json("SELECT logsvc.act_as('acme') \\gset _\nSELECT "
		. "logsvc.verify_audit()")->{valid}, JSON::PP::true(), 'the audit chain is whole');
	is($server->http(GET => '/api/v1/auth/session', session => $stored->session)->{status}, 200,
		'the session goes on');
	is($server->sql("SELECT amount FROM logsvc_internal.plan_limit WHERE plan = 'pro' AND resource "
		. "= 'dashboards'"), 7, "the operator's limit stays");
	is($server->http(POST => '/api/v1/logs', token => $stored->org('acme')->{ingest_key},
		json => { event => 'after the upgrade' })->{status}, 202, 'events are accepted');
	$server->stop;
}

sub lines_of_fresh
{
	my ($server) = @_;
	$server->sql('CREATE DATABASE other');
	$server->sql('CREATE EXTENSION logsvc', database => 'other');
	return lines_of($server, 'other');
}

done_testing;
