# after_restore.pl: a copy of a server says that it is one, and ends the credentials that it brought
# along, once, and only those; the mails with their links are not sent.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $t = LogsvcTest->new(streaming => 1, conf => "logsvc.model_region = 'eu-central-1'");
my $org = $t->organization('acme');
my $other = $t->organization('other');
my $session = $t->session($org->{email});
my $second = $t->session($other->{email});
my $r = $t->http(POST => '/api/v1/dashboards', token => $org->{token},
	json => { name => 'shop', panels => [ { title => 'errors', kind => 'stat', query => 'level=error | stats count' } ] });
is($r->{status}, 201, 'a dashboard');
my $dashboard = $r->{json}{data}{id};
$r = $t->http(POST => "/api/v1/dashboards/$dashboard/share", token => $org->{token}, json => { kind => 'link' });
my $link = $r->{json}{data}{token};
$t->sql("CREATE ROLE grafana LOGIN; GRANT logsvc_tenant TO grafana; SELECT logsvc.bind_role('grafana', 'acme')");
is($t->http(POST => '/api/v1/invitations', token => $org->{token},
	json => { email => 'bob@acme.example', role => 'viewer' })->{status}, 201, 'an invitation');
$t->sql("UPDATE logsvc_internal.user_account SET password_hash = 'x'");
is($t->http(POST => '/api/v1/pipelines', token => $_->{token}, json => { name => 'mask', processors => [
	{ type => 'mask', field => 'event', preset => 'email', hash => JSON::PP::true } ] })->{status}, 201, 'a mask that hashes') foreach $org, $other;
$t->sql("SELECT logsvc_internal.mail_link(u, 'reset_password', '/reset-password', interval '1 hour')"
	. " FROM logsvc_internal.user_account u WHERE email = '$org->{email}'");
my $mode = "SELECT state || ': ' || found FROM logsvc.doctor() WHERE \"check\" = 'mode'";
is($t->sql($mode), 'ok: logsvc.mode = normal', 'the original is no copy');

# ---- a copy, by a base backup and recovery to a point ----

$t->node->backup('copy');
$t->sql("SELECT pg_create_restore_point('target')");
$t->sql("SELECT logsvc.revoke_token('$org->{token_id}')");
is($t->http(GET => '/api/v1/members', token => $org->{token})->{status}, 401, 'a token is revoked later');
$t->sql('SELECT pg_switch_wal()');
my $wal = $t->node->data_dir . '/pg_wal';

sub copy
{
	my ($name, $conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	$node->init_from_backup($t->node, 'copy');
	$node->append_conf('postgresql.conf', "logsvc.port = $port\nlog_statement = none\n$conf");
	open my $out, '>', $node->data_dir . '/recovery.signal' or die $! if $conf =~ /restore_command/;
	$node->start;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not recovered';
	my $copy = bless { node => $node, http_port => $port, database => 'postgres', clients => {} }, 'LogsvcTest';
	$copy->wait_ready;
	return $copy;
}

my $c = copy('pitr', "logsvc.mode = restored\nrestore_command = 'cp $wal/%f %p'\n"
	. "recovery_target_name = 'target'\nrecovery_target_action = promote");
is($c->http(GET => '/api/v1/members', token => $org->{token})->{status}, 200, 'the copy takes it');
like($c->sql($mode), qr/^warning: .*restored: no alerts.*looks like a restored copy: recovery_target_name is set$/,
	'it says that it is a copy');
$c->node->adjust_conf('postgresql.conf', 'recovery_target_name', undef);
$c->node->restart;
$c->wait_ready;
like($c->sql($mode), qr/its recovery ended at restore point "target"$/, 'also without the setting');

like($c->sql_error("SELECT * FROM logsvc.after_restore(kinds => '{token,cookie}')"), qr/kinds.*must be of token/s,
	'an unknown kind is refused');
like($c->sql_error("SELECT * FROM logsvc.after_restore(kinds => ARRAY[NULL])"), qr/must be of token/, 'NULL too');
like($c->sql_error("SELECT * FROM logsvc.after_restore(organization => 'nobody')"), qr/no such organization/,
	'an unknown organization');
$c->sql('CREATE ROLE app LOGIN; GRANT logsvc_tenant TO app');
ok($c->sql_error('SELECT * FROM logsvc.after_restore()', user => 'app'), 'only operators');
is($c->http(GET => '/api/v1/members', token => $org->{token})->{status}, 200, '... and nothing has ended');

is($c->sql("SELECT * FROM logsvc.after_restore(organization => 'other', kinds => '{api_key,session}')"),
	"other|api_key|3\n|session|1", 'keys and sessions of one organization');
is($c->http(GET => '/api/v1/members', token => $other->{token})->{status}, 200, 'its token is good');
is($c->http(GET => '/api/v1/auth/session', session => $second)->{status}, 401, 'the session has ended');
is($c->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'x' })->{status}, 202,
	'a key of another organization is good');
is($c->sql("SELECT string_agg(DISTINCT o.slug, ' ') FROM logsvc_internal.audit_entry e"
	. " JOIN logsvc_internal.organization o ON o.id = e.organization_id WHERE e.details->>'by' = 'restore'"), 'other',
	'only its audit log says so');
like($c->sql($mode), qr/looks like/, 'the warning stays');

# What is made on the copy stays.
my $since = $c->sql('SELECT clock_timestamp()');
my $new = $c->sql_json("SELECT logsvc.create_api_key('acme', 'new', 'ingest-only')")->{key};
is($c->sql("SELECT * FROM logsvc.after_restore('$since')"), join("\n", 'acme|api_key|3', 'acme|database_role|1',
	'acme|invitation|1', 'acme|share_link|1', 'acme|token|1', 'other|token|1', '|mail_link|1', '|session|1'), 'all that is older');
is($c->http(GET => '/api/v1/members', token => $_->{token})->{status}, 401, 'a token') foreach $org, $other;
is($c->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'x' })->{status}, 401, 'a key');
is($c->http(POST => '/api/v1/logs', token => $new, json => { event => 'x' })->{status}, 202, 'the new key is good');
is($c->http(GET => '/api/v1/auth/session', session => $session)->{status}, 401, 'a session');
is($c->http(GET => "/api/v1/shared/$link")->{status}, 404, 'a link to a dashboard');
is($c->sql("SELECT content->'shared'->>'kind' FROM logsvc_internal.resource WHERE kind = 'dashboard'"), 'org',
	'the dashboard is shared with members only');
is($c->sql("SELECT count(*) FROM logsvc_internal.outbox WHERE state = 'waiting' AND position('#t=' IN link) > 0"), 0,
	'no mail with a link waits');
is($c->sql('SELECT count(*) FROM logsvc_internal.one_time_link WHERE expires_at > now()'), 0, 'no link in a mail is good');
is($c->sql('SELECT count(*) FROM logsvc.role_bindings()'), 0, 'no database role is bound');
is($c->sql('SELECT count(*) FROM logsvc_internal.user_account WHERE password_hash IS NULL'), 0, 'passwords stay');
is($c->sql("SELECT string_agg(DISTINCT action, ' ' ORDER BY action) FROM logsvc_internal.audit_entry e"
	. " JOIN logsvc_internal.organization o ON o.id = e.organization_id"
	. " WHERE o.slug = 'acme' AND e.details->>'by' = 'restore'"),
	'api_key.revoked dashboard.shared database_role.unbound invitation.revoked token.revoked user.access_ended', 'audited');
is($c->sql("SELECT logsvc.verify_audit('acme')->>'valid'"), 'true', 'the chain is whole');
like($c->sql($mode), qr/^warning: logsvc\.mode = restored: no alerts[^;]*$/, 'it no longer asks');
is($c->sql("SELECT * FROM logsvc.after_restore('$since')"), '', 'a second call finds nothing');
is($c->sql("SELECT * FROM logsvc.after_restore('$since', kinds => '{password}')"), '|password|2', 'passwords, for who asks');

# Who has the dump could find what a mask has hashed by trying: for who asks, another key.
my @keys = map { $c->sql("SELECT encode(key, 'hex') FROM logsvc_internal.pipeline_key k JOIN logsvc_internal.organization o"
	. " ON o.id = k.organization_id WHERE slug = '$_'") } qw(acme other);
is($c->sql("SELECT * FROM logsvc.after_restore(organization => 'acme', kinds => '{pipeline_key}')"), 'acme|pipeline_key|1', 'a key of masks');
my @after = map { $c->sql("SELECT encode(key, 'hex') FROM logsvc_internal.pipeline_key k JOIN logsvc_internal.organization o"
	. " ON o.id = k.organization_id WHERE slug = '$_'") } qw(acme other);
isnt($after[0], $keys[0], 'is another one');
like($after[0], qr/^[0-9a-f]{64}$/, '... as long');
is($after[1], $keys[1], '... of that organization only');
is($c->sql("SELECT count(*) FROM logsvc_internal.audit_entry WHERE action = 'pipeline_key.changed'"), 1, 'in its audit log');
$c->stop;

# ---- other copies ----

$c = copy('all', "restore_command = 'cp $wal/%f %p'");
like($c->sql($mode), qr/^warning: .*recovered by restore_command/, 'recovered to the end of WAL');
is($c->sql("SELECT * FROM logsvc.after_restore(kinds => '{}')"), '', 'nothing is to end');
is($c->sql($mode), 'ok: logsvc.mode = normal', 'the operator has looked');
$c->stop;
# ---- a dump ----

$t->sql('SELECT logsvc_internal.note_origin(now())');
my $origin = 'SELECT count(*), min(noted_at) FROM logsvc_internal.origin';
my $noted = $t->sql($origin);
is($t->sql("SELECT logsvc_internal.note_origin(now()); $origin"), "\n$noted", 'the original is noted once');
is($t->sql($mode), 'ok: logsvc.mode = normal', '... and knows itself');
my @at = ('-h', $t->node->host, '-p', $t->node->port);
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
$t->node->command_ok([ 'pg_dump', @at, '-Fc', '-f', $dump, 'postgres' ], 'a dump');
$t->sql('CREATE DATABASE beside');
$t->node->command_ok([ 'pg_restore', @at, '--exit-on-error', '-d', 'beside', $dump ], '... is restored beside its original');
my @beside = (database => 'beside');
my $made = "SELECT logsvc_internal.note_origin(now()); $mode";
like($t->sql($made, @beside), qr/^\nwarning: .*its rows were made in another database of this cluster, postgres$/, 'it is a copy');
is($t->sql($mode), 'ok: logsvc.mode = normal', 'the other is none');
$t->sql("SELECT logsvc.after_restore(organization => 'acme', kinds => '{}')", @beside);
like($t->sql($mode, @beside), qr/^warning/, '... also when one organization was looked at');
$t->sql("SELECT logsvc.after_restore(kinds => '{}')", @beside);
is($t->sql($mode, @beside), 'ok: logsvc.mode = normal', '... until the operator says what it is');
$c = copy('elsewhere', '');
$c->sql("SELECT logsvc.after_restore(kinds => '{}')");
$c->sql('CREATE DATABASE dumped');
$t->node->command_ok([ 'pg_restore', '-h', $c->node->host, '-p', $c->node->port, '--exit-on-error', '-d', 'dumped', $dump ], 'elsewhere');
# A base backup has the system identifier of its original.
$c->sql('UPDATE logsvc_internal.origin SET cluster = 17', database => 'dumped');
like($c->sql($mode, database => 'dumped'), qr/^warning: .*its rows were made in database \d+ of cluster 17$/, 'in another cluster');
# pg_upgrade makes a cluster with another identifier, and keeps the rest.
$c->sql('SELECT logsvc_internal.note_origin(now()); UPDATE logsvc_internal.origin SET cluster = 17');
is($c->sql($mode), 'ok: logsvc.mode = normal', 'what pg_upgrade has made is no copy');
$c->stop;
# A copy of the files of a database has the secret, too.
$t->sql('CREATE DATABASE cloned TEMPLATE beside');
like($t->sql($mode, database => 'cloned'), qr/^warning: .*another database of this cluster, beside$/, 'a database made of another');

$c = copy('base', '');
like($c->sql($mode), qr/^warning: .*started from a backup/, 'a base backup without more');
$c->stop;
$t->stop;
done_testing;
