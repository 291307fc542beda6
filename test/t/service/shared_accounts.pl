# shared_accounts.pl: a server shares its accounts, and another one follows it by logical
# replication: what is there and what changes arrives, a revocation acts there within a second,
# nobody changes accounts there, and tenants there see no more than here.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $t = LogsvcTest->new(name => 'first', conf => "wal_level = logical\nmax_wal_senders = 4\nmax_replication_slots = 4\nlogsvc.flush_interval = '10ms'");
my $f = LogsvcTest->new(name => 'second', conf => "logsvc.status_probe = on\nlog_statement = all");
my %org = map { $_ => $t->organization($_) } qw(acme globex);
my $acme = $org{acme};

my $connection = 'host=' . $t->node->host . ' port=' . $t->node->port . ' dbname=postgres user=link';
sub follow { return $f->sql_error("SELECT logsvc.follow($_[0], '" . ($_[1] // $connection) . "')"); }
sub running { return scalar grep { $_ } $f->workers('^logsvc (?!launcher|probe|watcher)'); }
sub nodes { return $t->sql(q{SELECT string_agg(concat_ws(' ', node, role, answers, nullif(found, '')), '; ' ORDER BY node) FROM logsvc.node_status() WHERE node IS NOT NULL}); }
# The same rows here and there, of all tables and columns that are shared.  The heartbeat is
# another one each second.
my $rows = q{SELECT string_agg(format('SELECT %L AS t, md5(string_agg(x::text, '','' ORDER BY x::text)) FROM (SELECT %s FROM %s) x', t.shared,
	(SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attname) FROM pg_attribute a WHERE a.attrelid = t.shared AND a.attnum > 0
		AND NOT a.attisdropped AND a.attname <> ALL (t.without)), t.shared), ' UNION ALL ') || ' ORDER BY 1' FROM logsvc_internal.shared_tables() t
	WHERE t.shared <> 'logsvc_internal.heartbeat'::regclass};
sub content { my ($server) = @_; return $server->sql($server->sql($rows)); }
sub same { return wait_until(sub { content($f) eq content($t) }, 20); }

# ---- who may, and where ----

$t->sql('CREATE ROLE link LOGIN REPLICATION IN ROLE pg_read_all_data');
foreach my $server ($t, $f)
{
	$server->sql('CREATE ROLE tenant LOGIN IN ROLE logsvc_tenant; CREATE ROLE operator LOGIN IN ROLE logsvc_admin');
}
is(($t->sql_error('SELECT logsvc.add_node()'))[2], 'this server does not share its accounts', 'a node of nothing');
is(($f->sql_error('SELECT logsvc.share_accounts()'))[2], 'wal_level is minimal, not logical', 'logical replication must be possible');
foreach my $call ('share_accounts()', 'unshare_accounts()', 'add_node()', 'remove_node(1)', "follow(1, 'host=x')", 'unfollow()')
{
	is(($t->sql_error("SELECT logsvc.$call", user => 'tenant'))[1], 'LS202', "a tenant may not: $call");
}
is(($f->sql_error("SELECT logsvc.$_", user => 'operator'))[2], 'this is for superusers only', "an operator may not: $_")
	foreach 'share_accounts()', 'unshare_accounts()', 'add_node()', 'remove_node(1)', "follow(1, 'host=x')", 'unfollow()';

$t->sql('SELECT logsvc.share_accounts()');
is($t->sql('SELECT logsvc.add_node()'), '{"node": 1, "slot": "logsvc_node_1"}', 'a node gets a number');
is($t->sql_json('SELECT logsvc.share_accounts()')->{nodes}, 1, 'sharing again changes nothing');
like(nodes(), qr/^node 1 follower f it does not read; \d+ \w+ of WAL wait for it$/, 'WAL is kept for it');

is((follow(0))[1], 'LS001', 'a number must be one');
is((follow('NULL'))[1], 'LS001', 'and be given');
is(($f->sql_error('SELECT logsvc.follow(1, NULL)'))[1], 'LS001', 'so must the connection');
like((follow(1, $_))[2], qr/^connection: must have no password/, "no secret is taken: $_")
	foreach "$connection password=secret", "$connection sslpassword = secret", 'postgresql://link:secret@localhost/postgres';
is((follow(1, 'host=/nowhere'))[1], '08006', 'nor what does not connect');
is(($t->sql_error('SELECT logsvc.unshare_accounts()'))[2], 'there are nodes', 'nobody is left alone');
is(($t->sql_error("SELECT logsvc.follow(1, '$connection')"))[2], 'this server shares its own accounts', 'two do not follow each other');
$f->organization('mine');
is((follow(1))[2], 'this server has accounts of its own', 'a server that is used does not follow');
$f->sql(q{DELETE FROM logsvc_internal.organization o WHERE o.slug = 'mine'; DELETE FROM logsvc_internal.user_account;
	DELETE FROM logsvc_internal.part; TRUNCATE logsvc_internal.queue});
ok(wait_until(sub { $f->sql(q{SELECT count(*) FROM logsvc_internal.probe_organization}) }), 'the probe has its organization there');
ok(wait_until(sub { running() }), 'the service runs there');

# ---- everything arrives ----

$t->sql(q{SELECT logsvc.create_user('bob@example.org', 'bob'); SELECT logsvc.add_member('acme', 'bob@example.org', 'admin');
	SELECT logsvc.set_limit('acme', 'kpis', 7); UPDATE logsvc_internal.user_account SET password_hash = 'x';
	INSERT INTO logsvc_internal.resource (organization_id, kind, name, content, secrets) SELECT id, 'alert_rule', 'x', '{}', '{"a": "secret"}' FROM logsvc_internal.organization;
	INSERT INTO logsvc_internal.lookup (organization_id, name, columns, rows, csv) SELECT id, 'owners', '{a}', 0, 'a' FROM logsvc_internal.organization});
is($t->http(POST => '/api/v1/pipelines', token => $acme->{token}, json => { name => 'p', order => 1, match => '*',
	processors => [ { type => 'set', field => 'x', value => 'y' } ] })->{status}, 201, 'there is something of much');
$t->session('bob@example.org');
is((follow(1))[1], '', 'it follows') or diag +(follow(1))[2];
like(nodes(), qr/BYPASSRLS/, 'a role that row security shows nothing is named') if wait_until(sub { nodes() =~ /BYPASSRLS/ }, 10);
like($f->sql(q{SELECT found FROM logsvc.doctor() WHERE "check" = 'accounts' AND state = 'error'}), qr/no accounts were copied: .*BYPASSRLS; when it has it, unfollow|still to be copied/,
	'doctor says so there');
$f->sql('SELECT logsvc.unfollow()');
$t->sql('ALTER ROLE link BYPASSRLS');
ok(wait_until(sub { nodes() =~ /does not read/ }), 'it can be taken back');
is((follow(1))[1], '', 'and done again');
ok(same(), 'all shared rows arrive') or diag content($t), "\n", content($f);
is($f->sql('SELECT count(*) FROM logsvc_internal.user_account WHERE password_hash IS NOT NULL')
	. $f->sql(q{SELECT count(*) FROM logsvc_internal.resource WHERE secrets <> '{}'}), '00', 'but no password, and no secret of a channel');
is($f->sql('SELECT count(*) FROM logsvc_internal.role_binding'), 0, 'nor a role');
ok(wait_until(sub { nodes() eq 'node 1 follower t' }), 'the first says that all is well') or diag nodes();
ok(wait_until(sub { $f->sql(q{SELECT state || ' ' || found FROM logsvc.doctor() WHERE "check" = 'accounts'})
	=~ m/^ok those of the server that this one follows, [\d.]+ s old; logsvc.standby_max_lag = 1min$/ }), 'so does doctor on the second');
is($t->sql(q{SELECT string_agg(concat_ws(' ', name, value), ', ' ORDER BY name) FROM logsvc_internal.database_figures() WHERE name ~ 'replication_(standbys|lag)'}),
	'logsvc_replication_lag_bytes, logsvc_replication_standbys 0', 'a node is no standby');
is($f->sql('SELECT role FROM logsvc.node_status()'), 'follower', 'it knows what it is');
ok(wait_until(sub { !running() && $f->log_text =~ /does not run here: database "postgres" has its accounts from another server/ }), 'the service does not run');

# ---- what it does with them ----

sub here { my ($call) = @_; return join ' ', grep { $_ ne '' } ($f->sql_error($call, user => 'tenant'))[0, 1]; }
my $whoami = q{SELECT logsvc.use_token('%s') IS NULL; SELECT logsvc.whoami() #>> '{organization,slug}'};
foreach my $name (sort keys %org)
{
	like(here(sprintf $whoami, $org{$name}{token}), qr/\b$name$/, "$name: its token is good there");
	like(here(sprintf $whoami, $org{$name}{read_key}), qr/\b$name$/, "$name: and its key");
}
is(here(sprintf $whoami, 'pat_' . 'x' x 43), 'LS102', 'another one is not');
like(here(sprintf q{SELECT logsvc.use_token('%s') IS NULL; SELECT logsvc.list_indexes()}, $acme->{token}), qr/"main"/, 'its indexes are known');
is(($f->sql_error("SELECT logsvc.use_token('$acme->{token}') IS NULL; SELECT logsvc.log('lost')"))[1], '55000', 'no event is taken where nobody would store it');
like(here(sprintf q{SELECT logsvc.use_token('%s') IS NULL; SELECT logsvc.search('*')}, $acme->{token}), qr/"rows": \[\]/, 'searches find what is there');

# Sessions that stay: what they keep must be forgotten.
my %session = map { $_ => $f->node->background_psql('postgres', extra_params => [ '-U', 'tenant' ], on_error_stop => 0) } qw(token key other);
my $who = q{SELECT coalesce(logsvc.whoami() ->> 'role', logsvc.whoami() ->> 'kind', 'someone')};
foreach ([ token => $acme->{token} ], [ key => $acme->{full_key} ],
	[ other => $org{globex}{token} ])
{
	$session{ $_->[0] }->query_safe(sprintf q{SELECT logsvc.use_token('%s')}, $_->[1]);
}
sub ask
{
	my ($name, $sql) = @_;
	my $out = $session{$name}->query($sql // $who);
	my ($error) = ($session{$name}{stderr} // '') =~ /ERROR:\s+(.*)/;
	$session{$name}{stderr} = '';
	return $error // $out;
}
# How long until it answers otherwise.
sub acts_within
{
	my ($name, $change, $answer, $sql) = @_;
	ask($name, $sql);
	$t->sql($change);
	my $begun = time;
	my $seen = wait_until(sub { ask($name, $sql) =~ $answer }, 10);
	my $took = time - $begun;
	ok($seen && $took < 1, sprintf '... within a second (%.0f ms)', 1000 * $took) or diag ask($name, $sql);
	return;
}
is(ask('token'), 'owner', 'a session with a token');
acts_within('token', q{UPDATE logsvc_internal.member SET role = 'viewer' WHERE user_id = (SELECT id FROM logsvc_internal.user_account WHERE email = 'acme@example.org')}, qr/^viewer$/);
acts_within('token', "SELECT logsvc.revoke_token('$acme->{token_id}')", qr/revoked/);
isnt(ask('key') =~ /revoked/, 1, 'a session with a key');
acts_within('key', sprintf(q{UPDATE logsvc_internal.api_key SET revoked_at = now() WHERE key_hash = sha256('%s')}, $acme->{full_key}), qr/revoked/);
is(ask('other'), 'owner', 'another organization goes on');
# Limits concern all, and had triggers of statements.
my $change = q{SELECT logsvc.create_saved_query('{"name": "x", "q": "*"}')};
like(ask('other', $change), qr/has its accounts and settings from another one/, 'a session that would change something');
acts_within('other', q{UPDATE logsvc_internal.rate_limit SET per_minute = 0 WHERE class = 'changes'}, qr/too many/, $change);
acts_within('other', q{UPDATE logsvc_internal.rate_limit SET per_minute = 1000000 WHERE class = 'changes'}, qr/from another one/, $change);
acts_within('other', q{INSERT INTO logsvc_internal.log_index (organization_id, name) SELECT id, 'extra' FROM logsvc_internal.organization}, qr/"extra"/, q{SELECT logsvc.list_indexes()});
$t->sql(q{TRUNCATE logsvc_internal.dashboard_link; INSERT INTO logsvc_internal.ip_allowlist (organization_id, network) SELECT id, '203.0.113.0/24' FROM logsvc_internal.organization});
ok(same(), 'a table that is emptied is empty');
$t->sql('TRUNCATE logsvc_internal.ip_allowlist');
acts_within('other', q{UPDATE logsvc_internal.organization SET deleted_at = now() WHERE slug = 'globex'}, qr/revoked|deleted|no longer/);
$t->sql(q{UPDATE logsvc_internal.organization SET deleted_at = NULL WHERE slug = 'globex'});
$t->sql(q{SELECT logsvc.remove_member('acme', 'bob@example.org')});
ok(same(), 'what triggers have changed arrives as such');
$_->quit foreach values %session;

# ---- nobody changes them there ----

foreach my $table (split /\n/, $f->sql('SELECT shared FROM logsvc_internal.shared_tables()'))
{
	my ($column) = split /\n/, $f->sql("SELECT attname FROM pg_attribute WHERE attrelid = '$table'::regclass AND attnum = 1");
	foreach my $change ("UPDATE $table SET $column = $column", "DELETE FROM $table", "TRUNCATE $table CASCADE", "INSERT INTO $table SELECT * FROM $table")
	{
		my (undef, $state, $text) = $f->sql_error($change);
		is("$state $text", '25006 this server has its accounts and settings from another one, and does not change them', $change)
			if $change !~ /^TRUNCATE/ || $state ne '42501';
	}
}
is(($f->sql_error("SELECT logsvc.$_"))[1], '25006', $_) foreach "create_organization('new')", "create_user('new\@example.org')",
	"revoke_token('$org{globex}{token_id}')", "set_limit('globex', 'kpis', 1)";
ok(same(), 'nothing has changed');

# ---- what tenants there learn ----

is(($f->sql_error($_, user => 'tenant'))[1], '42501', "a tenant may not: $_")
	foreach 'SELECT subconninfo FROM pg_subscription', 'SELECT * FROM logsvc_internal.api_key', 'ALTER SUBSCRIPTION logsvc_accounts DISABLE',
	'DROP TRIGGER kept_elsewhere ON logsvc_internal.member', 'SET session_replication_role = replica', 'SELECT logsvc_internal.follower_problem()';
is(($f->sql_error('SELECT subconninfo FROM pg_subscription', user => 'operator'))[1], '42501', 'nor may an operator read the connection');
is($f->sql('SET ROLE logsvc_reader; SELECT count(*) FROM logsvc_internal.organization'), 0, 'row security holds there');

# ---- an end of the connection, of a server, of it all ----

$f->stop;
ok(wait_until(sub { nodes() =~ /^node 1 follower f it does not read/ }), 'a node that is away is named');
like($t->sql(q{SELECT concat_ws(' ', state, found, change) FROM logsvc.doctor() WHERE "check" = 'replication slots'}),
	qr/^warning nobody reads from logsvc_node_1, which keeps WAL start node n of logsvc_node_n, or SELECT logsvc.remove_node/, 'doctor says that WAL is kept, and what to do');
$t->sql(q{UPDATE logsvc_internal.log_index SET description = 'new'; DELETE FROM logsvc_internal.log_index WHERE name = 'extra'});
$f->start;
ok(same(), 'it catches up');
ok(wait_until(sub { $f->log_text =~ /(?:does not run here.*){2}/s }) && !running(), 'and the service does not run after a start');
$t->restart;
$t->sql(q{UPDATE logsvc_internal.log_index SET description = 'newer'});
ok(same(), 'also when the first was away');
is(($f->sql_error('DROP EXTENSION logsvc'))[2], 'this database has its accounts from another server', 'the extension stays while it follows');
like(($t->sql_error('SELECT logsvc.remove_node(1)'))[2], qr/^node 1 follows this server/, 'a node that reads is not removed');
is($f->sql('SELECT logsvc.unfollow()'), '{"follows": false}', 'it follows no more');
is($f->sql('SELECT logsvc.unfollow()'), '{"follows": false}', 'twice is as once');
is($f->sql('SELECT count(*) FROM logsvc_internal.organization'), 0, 'it has no accounts');
is(here(sprintf $whoami, $org{globex}{token}), 'LS102', 'and knows no token');
ok(wait_until(sub { running() }), 'the service runs again');
ok(wait_until(sub { $t->sql('SELECT count(*) FROM pg_stat_replication') == 0 }), 'nobody reads');
is($t->sql('SELECT logsvc.remove_node(1)'), '{"node": 1, "removed": true}', 'now it is removed');
is(($t->sql_error('SELECT logsvc.remove_node(1)'))[1], 'LS301', 'once');
is($t->sql('SELECT logsvc.unshare_accounts()'), '{"nodes": 0, "shared": false}', 'and nothing is shared');
$f->organization('again');
$f->wait_ready;
is($f->http(POST => '/api/v1/logs', token => $f->organization('more')->{ingest_key}, json => { event => 'x' })->{status}, 202, 'the second is a server of its own');

$_->stop foreach $t, $f;
done_testing;
