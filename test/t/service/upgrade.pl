# upgrade.pl: the version before, with data in it, is upgraded: it becomes what CREATE EXTENSION
# makes, and everything that was stored is found as before.  Also: the parts of the SQL that are
# said to be replayable change nothing when they are run again.
use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
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
	my %org = map { $_ => $server->organization($_, plan => 'pro') } qw(acme globex);
	my @levels = (('info') x 8, 'warn', 'error');
	my $sent = 0;

	# Sends that many events; they differ by their number.
	my $send = sub {
		my ($org, $n) = @_;
		while ($n > 0)
		{
			my $size = $n < 10_000 ? $n : 10_000;
			my @batch = map {
				my $i = $sent + $_;
				{ event => "request $i of client " . $i % 97 . " took " . $i % 1013 . " ms",
					level => $levels[ $i % 10 ],
					source => 'web-' . $i % 7, service => 'shop',
						attributes => { duration_ms => $i % 1013, path => "/p/" . $i % 31 } }
			} 1 .. $size;
			my $r = $server->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
				json => \@batch);
			die "$r->{status} $r->{content}\n" unless $r->{status} == 202;
			$sent += $size;
			$n -= $size;
		}
		return;
	};
	$send->($org{acme}, $events * 0.7);
	$send->($org{globex}, $events * 0.3);
	ok(wait_until(sub { $server->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 120),
		'all are stored');

	# Dead letters, deferred events, a session, an invitation, audit entries, an operator's own
	# limits.
	$server->sql(q{CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN IF NEW.index_name = 'bad' THEN RAISE EXCEPTION 'refused' USING ERRCODE = '23514'; END IF; RETURN NEW; END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON logsvc_internal.part FOR EACH ROW EXECUTE FUNCTION refuse();
		SELECT logsvc.act_as('acme'); SELECT logsvc.create_index('bad')});
	is($server->http(POST => '/api/v1/logs', token => $org{acme}{ingest_key},
			json => { event => 'not stored', index => 'bad' })->{status}, 202,
				'an event that the store refuses');
	ok(wait_until(sub { $server->sql("SELECT count(*) FROM logsvc_internal.dead_letter WHERE "
		. "status = 'dead'") == 1 }), 'is a dead letter');
	$server->sql(q{DROP TRIGGER refuse ON logsvc_internal.part; DROP FUNCTION refuse();
		SELECT logsvc.set_limit('globex', 'ingest_bytes_per_day', 1); SELECT logsvc.set_limit('globex', 'overage_queue_seconds', 3600);
		UPDATE logsvc_internal.plan_limit SET amount = 7 WHERE plan = 'pro' AND resource = 'dashboards'});
	ok(wait_until(sub {
		$server->http(POST => '/api/v1/logs', token => $org{globex}{ingest_key},
			json => { event => 'beyond the quota' });
		$server->sql('SELECT count(*) FROM logsvc_internal.deferred') > 0 }),
			'deferred events');
	my $session = $server->session('acme@example.org');
	is($server->http(POST => '/api/v1/invitations', session => $session,
		organization => $org{acme}{id},
			json => { email => 'new@example.org', role => 'viewer' })->{status}, 201,
				'a session, and what it did is audited');

	# A queue that is not empty: the writer waits, and the server is killed.
	# Whoever takes a lock of all partitions may meet the writer in a deadlock, and lose.
	my $lock;
	wait_until(sub {
		$lock = $server->node->background_psql('postgres');
		eval { $lock->query_safe(
				'BEGIN; LOCK TABLE logsvc_internal.part IN SHARE ROW EXCLUSIVE MODE'); 1 };
	}) or die 'the table of parts cannot be locked';
	$send->($org{acme}, 3000);
	my $queued = $server->sql("SELECT sum(rows) FROM logsvc_internal.queue q WHERE NOT audit");
	cmp_ok($queued, '>=', 3000, "$queued events in the queue");
	# What the old library finds.
	my @queries = ('error', 'request 4711', '"client 42"', 'level=error | stats count',
		'* | stats count by source',
		'* | stats count by level', '* | stats avg(duration_ms) as a by path | sort path',
			'duration_ms > 1000 | stats count',
		'source=web-3 level=warn | stats count', '* | top 5 path',
			'* | stats max(duration_ms) as m, min(duration_ms) as n by service',
		'request NOT level=info | stats count by level', 'path="/p/7" | stats count',
			'* | stats dc(path) as d',
		'* | where duration_ms % 100 = 7 | stats count',
			'* | eval slow = duration_ms > 500 | stats count by slow',
		'* | timechart span=1h count', 'took* | stats count',
			'"took 12 ms" | stats count by source', 'index=_audit | stats count');
	# The same times before and after: an hour may begin meanwhile.
	my ($from, $to) = map { $server->sql("SELECT to_char(now() AT TIME ZONE 'UTC' + interval '$_', "
		. "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')") } '-2 days', '1 hour';
	my $answer = sub {
		my ($organization, $query) = @_;
		$query =~ s/'/''/g;
		my $r = $server->sql_json("SELECT logsvc.act_as('$organization') \\gset _\n"
			  . "SELECT logsvc.search('$query', earliest => '$from', latest => '$to', \"limit\" => 50)");
		return json_encode($r->{data});
	};
	my $found = sub { return { map { my $o = $_; map { ("$o: $_" => $answer->($o, $_)) } @queries }
		keys %org }; };
	# A line for each table: how many rows, and a sum of all that is in them.
	my $looks = join ' UNION ALL ',
		map { "SELECT '$_ ' || count(*) || ':' || coalesce(sum(hashtext((to_jsonb(t) - "
			. "'{first_owner,parse_json,ai_credit_limit}'::text[])::text)::numeric), 0) FROM logsvc_internal.$_ t" }
		qw(organization organization_limit user_account member access_token api_key log_index
			user_session invitation dead_letter deferred audit_entry audit_head outbox);

	my $before = $found->();
	$server->stop('immediate');
	eval { $lock->quit };

	# The library of today and the tables of before: the service waits for the upgrade.
	$server->node->append_conf('postgresql.conf', "\n$new_conf\n");
	$server->start;
	isnt($server->http(GET => '/healthz', timeout => 5)->{status}, 200,
		'the library waits for the upgrade');
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
		scalar(keys %org), 'whose organizations count as one is known');
	# Rows that an operator has changed are his.
	my @both = map { [ grep { !/^(?:plan|rate) limit / } @$_ ] } lines_of($server, 'postgres'),
		lines_of_fresh($server);
	is_same(@both, 'the upgraded extension, with data in it, is what is installed afresh');
	is_deeply($found->(), $before, scalar(keys %$before) . ' searches find the same');
	$server->wait_ready;
	ok(wait_until(sub { $server->sql('SELECT count(*) FROM logsvc_internal.queue WHERE NOT audit')
		== 0 }), 'what was in the queue is stored');
	is_deeply($found->(), $before, 'searches find the same after that');
	is($server->sql('SELECT sum(rows) FROM logsvc_internal.part p WHERE index_name = \'main\''),
		$events + 3000, 'each event once');
	is($server->sql('SELECT count(*) FROM logsvc.verify_parts() WHERE problem IS NOT NULL'), 0,
		'no part has a problem');
	is($server->sql_json("SELECT logsvc.act_as('acme') \\gset _\nSELECT "
		. "logsvc.verify_audit()")->{valid}, JSON::PP::true(), 'the audit chain is whole');
	is($server->http(GET => '/api/v1/auth/session', session => $session)->{status}, 200,
		'the session goes on');
	is($server->sql("SELECT amount FROM logsvc_internal.plan_limit WHERE plan = 'pro' AND resource "
		. "= 'dashboards'"), 7, "the operator's limit stays");
	is($server->http(POST => '/api/v1/logs', token => $org{acme}{ingest_key},
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
