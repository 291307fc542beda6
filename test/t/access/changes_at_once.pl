# changes_at_once.pl: each kind of change of access data, also one by hand, acts on the next request
# and the next statement; a change of another organization makes nobody look anything up again; and
# no table or column that a lookup reads has been forgotten.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

# One process of each kind, so that what is kept is known.
my $t = LogsvcTest->new(conf => "logsvc.acceptors = 1\nlogsvc.executors = 1\nlogsvc.alert_workers = 0\n"
	. "logsvc.exporters = 0\nlogsvc.health_workers = 0");
my $acme = $t->organization('acme');
my $other = $t->organization('other');
my $bob = 'bob@example.org';
$t->sql("INSERT INTO logsvc_internal.log_index (organization_id, name) SELECT id, 'theirs' FROM logsvc_internal.organization WHERE slug = 'other'; SELECT logsvc.create_user('$bob', 'bob'); SELECT logsvc.add_member('acme', '$bob', 'admin')");
my $token = $t->sql_json("SELECT logsvc.create_token('acme', '$bob', 'x', ARRAY['logs:read', 'dashboards:read'])")->{token};
my $cookie = $t->session($bob);

sub value { my ($sql) = @_; return $t->sql("SELECT $sql"); }
sub id_of { my ($table, $where) = @_; return "'" . value("id FROM logsvc_internal.$table WHERE $where") . "'"; }
my ($us, $them) = map { id_of('organization', "slug = '$_'") } qw(acme other);
my $user = id_of('user_account', "email = '$bob'");
my $owner = id_of('user_account', "email = '$acme->{email}'");

# A session in SQL that stays.
my $session = $t->node->background_psql('postgres', on_error_stop => 0);
$session->query_safe(q{CREATE FUNCTION pg_temp.who() RETURNS text LANGUAGE plpgsql AS $$
	BEGIN RETURN (logsvc.whoami() ->> 'role') || ' of ' || (logsvc.whoami() #>> '{organization,slug}');
	EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$});
$session->query_safe("SELECT logsvc.use_token('$token')");

# ---- what is asked ----

sub status { my ($r) = @_; return join ' ', $r->{status}, $r->{json}{code} // (); }
sub names { my ($r) = @_; return $r->{status} == 200 ? join ' ', sort map { $_->{name} } @{ $r->{json}{data} } : status($r); }
sub ingest { my ($key, %event) = @_; return status($t->http(POST => '/api/v1/logs', token => $key, json => { event => 'one', %event })); }
my %asked = (
	'a key that sends' => sub { return ingest($acme->{ingest_key}); },
	'a key that reads' => sub { return names($t->http(GET => '/api/v1/indexes', token => $acme->{read_key})); },
	'a token' => sub { return names($t->http(GET => '/api/v1/indexes', token => $token)); },
	'a browser' => sub { return names($t->http(GET => '/api/v1/indexes', session => $cookie, organization => 'acme')); },
	'a browser that names no organization' => sub {
		return status($t->http(GET => '/api/v1/organizations', session => $cookie)); },
	'a session in SQL' => sub { return scalar $session->query('SELECT pg_temp.who()'); },
	'a new key' => sub { return ingest('ing_live_new'); },
	'a new token' => sub { return status($t->http(GET => '/api/v1/indexes', token => 'pat_new')); },
	'an event for index extra' => sub { return ingest($acme->{ingest_key}, index => 'extra'); },
	'the limit of ingest' => sub { return $t->http(POST => '/api/v1/logs', token => $acme->{ingest_key}, json => { event => 'one' })
		->{headers}{'x-ratelimit-limit'}; },
	'what a pipeline sets' => sub {
		my $r = $t->http(POST => '/api/v1/logs', token => $acme->{ingest_key}, json => { event => 'piped' });
		return status($r) if $r->{status} != 202;
		$r = $t->http(GET => '/api/v1/search', token => $acme->{token}, query => { q => 'piped', earliest => '-1h', limit => 1 });
		return $r->{json}{data}{rows}[0]{attributes}{hash} // 'none';
	},
);

# ---- every kind of change ----

# table => [ change, what takes it back, { who is asked => what it gets meanwhile } ]...
my $refused = { 'a key that sends' => '401 API_KEY_REVOKED', 'a token' => '401 PAT_REVOKED', 'a session in SQL' => 'LS103', 'a browser' => '404 NOT_FOUND' };
my $pipeline = q{{"order": 1, "enabled": true, "match": "*", "continue": false, "processors": [{"type": "set", "field": "hash", "value": "a"}]}};
my %changes = (
	organization => [
		[ "UPDATE organization SET deleted_at = now() WHERE id = $us", "UPDATE organization SET deleted_at = NULL WHERE id = $us", $refused ],
		[ "UPDATE organization SET slug = 'acme-2' WHERE id = $us", "UPDATE organization SET slug = 'acme' WHERE id = $us",
			{ 'a browser' => '404 NOT_FOUND', 'a session in SQL' => 'admin of acme-2' } ],
		[ "UPDATE organization SET read_only_since = now() WHERE id = $us", "UPDATE organization SET read_only_since = NULL WHERE id = $us",
			{ 'a key that sends' => '503 SERVICE_UNAVAILABLE' } ],
	],
	organization_limit => [
		[ "INSERT INTO organization_limit VALUES ($us, 'ingest_bytes_per_day', 0), ($us, 'overage_queue_seconds', 0)",
			"DELETE FROM organization_limit WHERE organization_id = $us", { 'a key that sends' => '429 DAILY_QUOTA_EXCEEDED' } ],
		[ "INSERT INTO organization_limit VALUES ($them, 'ingest_bytes_per_day', 0), ($them, 'overage_queue_seconds', 0);
			UPDATE organization_limit SET organization_id = $us", "UPDATE organization_limit SET organization_id = $them; DELETE FROM organization_limit",
			{ 'a key that sends' => '429 DAILY_QUOTA_EXCEEDED' } ],
	],
	plan_limit => [
		[ "UPDATE plan_limit SET amount = 0 WHERE plan = 'enterprise' AND resource IN ('ingest_bytes_per_day', 'overage_queue_seconds')",
			"UPDATE plan_limit SET amount = NULL WHERE plan = 'enterprise' AND resource IN ('ingest_bytes_per_day', 'overage_queue_seconds')",
			{ 'a key that sends' => '429 DAILY_QUOTA_EXCEEDED' } ],
	],
	rate_limit => [
		[ "UPDATE rate_limit SET per_minute = per_minute - 1 WHERE class = 'ingest'", "UPDATE rate_limit SET per_minute = per_minute + 1 WHERE class = 'ingest'",
			{ 'the limit of ingest' => sub { return $_[0] - 1 } } ],
	],
	user_account => undef, # at the end
	member => [
		[ "UPDATE member SET role = 'viewer' WHERE user_id = $user", "UPDATE member SET role = 'admin' WHERE user_id = $user",
			{ 'a session in SQL' => 'viewer of acme' } ],
		[ "UPDATE member SET organization_id = $them WHERE user_id = $user", "UPDATE member SET organization_id = $us WHERE user_id = $user",
			{ 'a token' => '401 PAT_REVOKED', 'a session in SQL' => 'LS103', 'a browser' => '404 NOT_FOUND' } ],
		[ "UPDATE member SET user_id = $owner, organization_id = $them WHERE user_id = $user", "UPDATE member SET user_id = $user, organization_id = $us WHERE user_id = $owner AND organization_id = $them",
			{ 'a token' => '401 PAT_REVOKED', 'a session in SQL' => 'LS103', 'a browser' => '404 NOT_FOUND' } ],
		[ "DELETE FROM member WHERE user_id = $user", "INSERT INTO member (organization_id, user_id, role) VALUES ($us, $user, 'admin'); UPDATE access_token SET revoked_at = NULL WHERE user_id = $user",
			{ 'a token' => '401 PAT_REVOKED', 'a session in SQL' => 'LS103', 'a browser' => '404 NOT_FOUND' } ],
	],
	access_token => [
		[ "UPDATE access_token SET revoked_at = now() WHERE user_id = $user", "UPDATE access_token SET revoked_at = NULL WHERE user_id = $user",
			{ 'a token' => '401 PAT_REVOKED', 'a session in SQL' => 'LS103' } ],
		[ "UPDATE access_token SET expires_at = now() WHERE user_id = $user", "UPDATE access_token SET expires_at = NULL WHERE user_id = $user",
			{ 'a token' => '401 PAT_EXPIRED', 'a session in SQL' => 'LS104' } ],
		[ "UPDATE access_token SET scopes = '{dashboards:read}' WHERE user_id = $user", "UPDATE access_token SET scopes = '{logs:read,dashboards:read}' WHERE user_id = $user",
			{ 'a token' => '403 INSUFFICIENT_SCOPE' } ],
		[ "UPDATE access_token SET token_hash = sha256('pat_new') WHERE user_id = $user", "UPDATE access_token SET token_hash = sha256('$token') WHERE user_id = $user",
			{ 'a token' => '401 INVALID_PAT', 'a new token' => '200' } ],
		[ "INSERT INTO access_token (organization_id, user_id, name, scopes, token_hash, prefix) VALUES ($us, $user, 'new', '{logs:read,dashboards:read}', sha256('pat_new'), 'pat_new')",
			"DELETE FROM access_token WHERE name = 'new'", { 'a new token' => '200' } ],
		[ "INSERT INTO member (organization_id, user_id, role) VALUES ($them, $user, 'viewer'); UPDATE access_token SET organization_id = $them WHERE user_id = $user",
			"UPDATE access_token SET organization_id = $us WHERE user_id = $user; DELETE FROM member WHERE organization_id = $them AND user_id = $user",
			{ 'a token' => '_audit _test main theirs', 'a session in SQL' => 'viewer of other' } ],
	],
	api_key => [
		[ "UPDATE api_key SET revoked_at = now() WHERE organization_id = $us", "UPDATE api_key SET revoked_at = NULL WHERE organization_id = $us",
			{ 'a key that sends' => '401 API_KEY_REVOKED', 'a key that reads' => '401 API_KEY_REVOKED' } ],
		[ "UPDATE api_key SET expires_at = now() WHERE organization_id = $us", "UPDATE api_key SET expires_at = NULL WHERE organization_id = $us",
			{ 'a key that sends' => '401 API_KEY_EXPIRED' } ],
		[ "UPDATE api_key SET scope = 'read-only' WHERE organization_id = $us AND name = 'ingest'", "UPDATE api_key SET scope = 'ingest-only' WHERE organization_id = $us AND name = 'ingest'",
			{ 'a key that sends' => '403 INSUFFICIENT_SCOPE' } ],
		[ "UPDATE api_key SET key_hash = sha256('ing_live_new') WHERE organization_id = $us AND name = 'ingest'", "UPDATE api_key SET key_hash = sha256('$acme->{ingest_key}') WHERE organization_id = $us AND name = 'ingest'",
			{ 'a key that sends' => '401 INVALID_API_KEY', 'a new key' => '202' } ],
		[ "INSERT INTO api_key (organization_id, name, scope, key_hash, prefix) VALUES ($us, 'new', 'ingest-only', sha256('ing_live_new'), 'ing')",
			"DELETE FROM api_key WHERE name = 'new'", { 'a new key' => '202' } ],
		[ "UPDATE api_key SET organization_id = $them, name = 'moved' WHERE organization_id = $us AND name = 'read'", "UPDATE api_key SET organization_id = $us, name = 'read' WHERE name = 'moved'",
			{ 'a key that reads' => '_audit _test main theirs' } ],
	],
	log_index => [
		[ "INSERT INTO log_index (organization_id, name) VALUES ($us, 'extra')", "DELETE FROM log_index WHERE organization_id = $us AND name = 'extra'",
			{ 'an event for index extra' => '202' } ],
		[ "INSERT INTO log_index (organization_id, name) VALUES ($them, 'extra'); UPDATE log_index SET organization_id = $us WHERE name = 'extra'",
			"UPDATE log_index SET organization_id = $them WHERE name = 'extra'; DELETE FROM log_index WHERE name = 'extra'",
			{ 'an event for index extra' => '202' } ],
	],
	ip_allowlist => [
		[ "INSERT INTO ip_allowlist (organization_id, network) VALUES ($us, '203.0.113.0/24')", "DELETE FROM ip_allowlist WHERE organization_id = $us",
			{ 'a key that sends' => '403 IP_NOT_ALLOWED', 'a token' => '403 IP_NOT_ALLOWED', 'a browser' => '403 IP_NOT_ALLOWED' } ],
		[ "INSERT INTO ip_allowlist (organization_id, network) VALUES ($them, '203.0.113.0/24'); UPDATE ip_allowlist SET organization_id = $us", 'TRUNCATE ip_allowlist',
			{ 'a key that sends' => '403 IP_NOT_ALLOWED' } ],
	],
	user_session => [
		[ "UPDATE user_session SET expires_at = now() WHERE user_id = $user", "UPDATE user_session SET expires_at = now() + interval '7 days' WHERE user_id = $user",
			{ 'a browser' => '401 SESSION_EXPIRED', 'a browser that names no organization' => '401 SESSION_EXPIRED' } ],
		[ "UPDATE user_session SET user_id = $owner WHERE user_id = $user; DELETE FROM member WHERE organization_id = $us AND user_id = $owner",
			"INSERT INTO member (organization_id, user_id, role) VALUES ($us, $owner, 'owner'); UPDATE user_session SET user_id = $user WHERE user_id = $owner",
			{ 'a browser' => '404 NOT_FOUND' } ],
		[ "UPDATE user_session SET provider = 'google' WHERE user_id = $user; UPDATE organization SET oauth_providers = '{}' WHERE id = $us",
			"UPDATE organization SET oauth_providers = '{google,github}' WHERE id = $us; UPDATE user_session SET provider = NULL WHERE user_id = $user",
			{ 'a browser' => '404 NOT_FOUND' } ],
		[ "DELETE FROM user_session WHERE user_id = $user",
			"INSERT INTO user_session (user_id, token_hash, expires_at) VALUES ($user, sha256('$cookie'), now() + interval '7 days')",
			{ 'a browser' => '401 SESSION_EXPIRED' } ],
	],
	resource => [
		[ "INSERT INTO resource (organization_id, kind, name, content) VALUES ($us, 'pipeline', 'p', '$pipeline')", "DELETE FROM resource WHERE kind = 'pipeline'",
			{ 'what a pipeline sets' => 'a' } ],
		[ "INSERT INTO resource (organization_id, kind, name, content) VALUES ($them, 'pipeline', 'p', '$pipeline'); UPDATE resource SET organization_id = $us WHERE kind = 'pipeline'",
			"UPDATE resource SET kind = 'view' WHERE kind = 'pipeline'", { 'what a pipeline sets' => 'a' } ],
		[ "UPDATE resource SET kind = 'pipeline' WHERE kind = 'view' AND organization_id = $us", "DELETE FROM resource WHERE kind = 'pipeline'",
			{ 'what a pipeline sets' => 'a' } ],
	],
	pipeline_key => undef, # test/t/ingest/pipelines.pl
	role_binding => undef, # test/t/access/bound_roles.pl
);

# In one transaction each, as the catalog's tables are named.
sub change { my ($sql) = @_; return $t->sql("SET search_path = logsvc_internal, public; BEGIN; $sql; COMMIT"); }

my %usual = map { $_ => $asked{$_}->() } sort keys %asked;
is_deeply(\%usual, { 'a key that sends' => '202', 'a key that reads' => '_audit _test main', 'a token' => '_audit _test main',
	'a browser' => '_audit _test main', 'a browser that names no organization' => '200', 'a session in SQL' => 'admin of acme',
	'a new key' => '401 INVALID_API_KEY', 'a new token' => '401 INVALID_PAT', 'an event for index extra' => $usual{'an event for index extra'},
	'the limit of ingest' => $usual{'the limit of ingest'}, 'what a pipeline sets' => 'none' }, 'what everybody gets usually');
foreach my $table (sort keys %changes)
{
	foreach my $kind (@{ $changes{$table} // [] })
	{
		my ($do, $undo, $meanwhile) = @$kind;
		$asked{$_}->() foreach sort keys %$meanwhile; # so that it is kept
		change($do);
		foreach my $who (sort keys %$meanwhile)
		{
			my $expected = $meanwhile->{$who};
			is($asked{$who}->(), ref $expected ? $expected->($usual{$who}) : $expected, "$table: $who after " . $do =~ s/\s+/ /gr);
		}
		change($undo);
		is($asked{$_}->(), $usual{$_}, "$table: $_ when it is taken back") foreach sort keys %$meanwhile;
	}
}

# Also what is rolled back, and what a savepoint takes back.
foreach my $end ('ROLLBACK', 'ROLLBACK TO a; COMMIT')
{
	$t->sql("BEGIN; SAVEPOINT a; UPDATE logsvc_internal.api_key SET revoked_at = now(); $end");
	is($asked{'a key that sends'}->(), '202', "after $end a key is as good as before");
}

# ---- what a lookup reads is watched ----

# Tables, and columns where the server knows them, on which the functions that lookups call depend.
my (%functions, @tables);
foreach my $file (glob 'src/access/*.c')
{
	my $text = slurp_file($file);
	while ($text =~ /ls_lookup \w+ = \{((?:"[^"]*"\s*)+)/g)
	{
		my $sql = $1;
		$functions{$_} = 1 foreach $sql =~ /logsvc_internal\.(\w+)\(/g;
		push @tables, $1 if $sql =~ /"(SELECT \* FROM logsvc_internal\.[^"]*)"/;
	}
}
delete $functions{touch_credential}; # which writes
cmp_ok(scalar keys %functions, '>', 12, 'functions of lookups: ' . join ' ', sort keys %functions);
my @read = split /\n/, $t->sql(q{
	WITH RECURSIVE used (classid, objid, column_number) AS (
		SELECT 'pg_proc'::regclass, p.oid, 0 FROM pg_proc p WHERE p.pronamespace = 'logsvc_internal'::regnamespace
			AND p.proname = ANY ('} . '{' . join(',', sort keys %functions) . '}' . q{')
		UNION
		SELECT d.refclassid, d.refobjid, d.refobjsubid
		FROM used u
		JOIN pg_depend d ON (d.classid = u.classid AND d.objid = u.objid AND u.classid = 'pg_proc'::regclass)
			OR (u.classid = 'pg_class'::regclass AND d.classid = 'pg_rewrite'::regclass
				AND d.objid IN (SELECT r.oid FROM pg_rewrite r WHERE r.ev_class = u.objid))
		WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_class'::regclass))
	SELECT DISTINCT c.relname || ' ' || coalesce(a.attname, '')
	FROM used u JOIN pg_class c ON u.classid = 'pg_class'::regclass AND c.oid = u.objid
		AND c.relkind IN ('r', 'p') AND c.relnamespace = 'logsvc_internal'::regnamespace
	LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.column_number AND a.attnum > 0
	ORDER BY 1});
my %watched = map { my ($table, $columns) = split /\|/; ($table => $columns) } split /\n/, $t->sql(q{
	SELECT c.relname || '|' || CASE WHEN bool_or(cardinality(t.tgattr::int2[]) = 0 AND t.tgtype & 16 <> 0) THEN '*'
		ELSE coalesce(string_agg(DISTINCT a.attname, ' '), '') END
	FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
	LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (t.tgattr)
	WHERE t.tgfoid = 'logsvc_internal.access_changed'::regproc
	GROUP BY c.relname});
# An organization of the probe is made together with its row there.
my %unwatched = (probe_organization => 1);
foreach (@read)
{
	my ($table, $column) = split / /;
	next if $unwatched{$table};
	ok(defined $watched{$table}, "$table, which a lookup reads, has a trigger") or next;
	ok(!defined $column || $watched{$table} eq '*' || " $watched{$table} " =~ / $column /, "... for $column") if defined $column;
}
is_deeply([ sort keys %watched ], [ sort keys %changes ], 'each table with a trigger is in this test');
is($t->sql(q{SELECT string_agg(c.relname, ' ' ORDER BY 1) FROM pg_class c WHERE EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid
		AND t.tgfoid = 'logsvc_internal.access_changed'::regproc)
	AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid
		AND t.tgfoid = 'logsvc_internal.access_changed'::regproc AND t.tgtype & 32 <> 0)}), '', '... and is watched for TRUNCATE');
is($t->sql(q{SELECT count(*) FROM pg_trigger t WHERE t.tgfoid = 'logsvc_internal.access_changed'::regproc AND t.tgenabled <> 'A'}), 0,
	'... also for those who replicate');
# A row names with its arguments columns that are there and never empty.
is($t->sql(q{SELECT string_agg(format('%s(%s)', t.tgrelid::regclass, a.argument), ' ')
	FROM pg_trigger t, LATERAL unnest(string_to_array(encode(t.tgargs, 'escape'), '\000')) WITH ORDINALITY AS a (argument, n)
	WHERE t.tgfoid = 'logsvc_internal.access_changed'::regproc AND a.n <= t.tgnargs AND a.argument <> '=organizations' AND NOT EXISTS (
		SELECT FROM pg_attribute c WHERE c.attrelid = t.tgrelid AND c.attname = a.argument AND c.attnotnull
			AND c.atttypid IN ('uuid'::regtype, 'bytea'::regtype))}), '', '... by columns with ids or hashes');

# ---- what a lookup costs ----

# The statement of such a function becomes part of the lookup's, which is planned once in a process.
# Else the server plans it at each call, which takes a lookup from some 20 us to a millisecond.
cmp_ok(scalar @tables, '>', 7, 'lookups of rows');
foreach my $statement (@tables)
{
	my $nulls = join ', ', ('NULL') x (() = $statement =~ /\$\d/g);
	my $plan = $t->sql("SET plan_cache_mode = force_generic_plan; PREPARE l AS $statement; EXPLAIN EXECUTE l($nulls)");
	unlike($plan, qr/Function Scan/, "$statement is planned once");
}

# ---- other organizations ----

sub lookups { return $t->sql(q{SELECT value FROM logsvc.metrics WHERE name = 'logsvc_access_lookups_total'}); }

# How many lookups it takes to ask everybody; of what is not known, as before.
sub ask_all
{
	my $before = lookups();
	foreach my $who (grep { !/limit of|pipeline/ } sort keys %asked)
	{
		my $got = $asked{$who}->();
		is($got, $usual{$who}, $who) if $got ne $usual{$who};
	}
	return lookups() - $before;
}
wait_until(sub { ask_all() == 0 }) // fail('nobody is looked up who is known');
my $their_user = id_of('user_account', "email = '$other->{email}'");
my %elsewhere = (
	organization => "UPDATE organization SET name = 'another', timezone = 'Asia/Tokyo' WHERE id = $them",
	organization_limit => "DELETE FROM organization_limit; INSERT INTO organization_limit VALUES ($them, 'indexes', 7)",
	user_account => "UPDATE user_account SET name = 'somebody' WHERE id = $their_user",
	member => "UPDATE member SET role = 'admin' WHERE organization_id = $them",
	access_token => "UPDATE access_token SET revoked_at = now() WHERE organization_id = $them",
	api_key => "INSERT INTO api_key (organization_id, name, scope, key_hash, prefix) VALUES ($them, 'theirs', 'ingest-only', sha256(uuid_send(gen_random_uuid())), 'ing');
		UPDATE api_key SET revoked_at = now() WHERE organization_id = $them",
	log_index => "INSERT INTO log_index (organization_id, name) VALUES ($them, 'extra'); DELETE FROM log_index WHERE name = 'extra'",
	ip_allowlist => "DELETE FROM ip_allowlist; INSERT INTO ip_allowlist (organization_id, network) VALUES ($them, '203.0.113.0/24')",
	user_session => "INSERT INTO user_session (user_id, token_hash, expires_at) VALUES ($their_user, sha256('theirs'), now()); DELETE FROM user_session WHERE user_id = $their_user",
	resource => "INSERT INTO resource (organization_id, kind, name, content) VALUES ($them, 'pipeline', 'p', '$pipeline'); DELETE FROM resource WHERE organization_id = $them",
	pipeline_key => "DELETE FROM pipeline_key; INSERT INTO pipeline_key (organization_id) VALUES ($them)",
);
# What operators change concerns all.
my @all = qw(plan_limit rate_limit role_binding);
is_deeply([ sort keys %elsewhere, @all ], [ sort keys %watched ], 'each table is tried');
foreach my $table (sort keys %elsewhere)
{
	# Something else may happen in the same moment, such as a task of the minute, but not each time.
	my $n = 1;
	for (my $try = 0; $n > 0 && $try < 3; $try++)
	{
		ask_all();
		change($elsewhere{$table});
		$n = ask_all();
	}
	is($n, 0, "$table: a change in another organization makes nobody look anything up again");
}
foreach my $table (@all)
{
	change($table eq 'role_binding' ? "INSERT INTO role_binding (role_oid, role_name, organization_id) VALUES (1, 'nobody', $them)"
		: "UPDATE $table SET customized = customized");
	cmp_ok(ask_all(), '>', 0, "$table: a change concerns all");
	ask_all();
}

# ---- what is looked up again ----

# A transaction that writes has an id.
sub transactions { return $t->sql('SELECT pg_snapshot_xmax(pg_current_snapshot())'); }
foreach my $who ('a key that reads', 'a token', 'a browser')
{
	$asked{$who}->();
	ok(wait_until(sub {
		$t->sql("UPDATE logsvc_internal.rate_limit SET customized = customized WHERE class = 'logs'");
		my ($looked, $n) = (lookups(), transactions());
		is($asked{$who}->(), $usual{$who}, "$who, looked up again") if $asked{$who}->() ne $usual{$who};
		return lookups() > $looked && transactions() == $n;
	}, 10), "$who: to look up one that has just been used writes nothing");
}

is($t->sql("SELECT count(*) FROM logsvc_internal.$_"), 1, 'its use is noted: ' . s/ .*//r)
  foreach "api_key WHERE organization_id = $us AND name = 'read' AND last_used_at IS NOT NULL",
	"access_token WHERE user_id = $user AND last_used_at IS NOT NULL", "member WHERE user_id = $user AND last_active_at IS NOT NULL";

# ---- the end of a user ----

$t->sql("DELETE FROM logsvc_internal.user_account WHERE id = $user");
is($asked{'a token'}->(), '401 INVALID_PAT', 'the token of a deleted user');
is($asked{'a browser'}->(), '401 SESSION_EXPIRED', '... and the session');
is($asked{'a session in SQL'}->(), 'LS102', '... and that in SQL');
$session->quit;
unlike($t->log_text, qr/logsvc could not/, 'no lookup has failed');
$t->stop;
done_testing;
