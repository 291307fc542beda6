# accounts.pl: worker nodes of Citus have the accounts of the coordinator by logical replication: a
# revocation acts on both within a second, and nobody changes accounts there.
use strict;
use warnings;

use LogsvcCitus;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(time);

my $cluster = LogsvcCitus->new(conf => "logsvc.flush_interval = '50ms'\nmax_wal_senders = 10\nmax_replication_slots = 20");
my $t = $cluster->coordinator;
my @workers = $cluster->workers;
my %org = map { $_ => $t->organization($_) } qw(acme globex);
my $connection = 'host=' . $t->node->host . ' port=' . $t->node->port . ' dbname=postgres user=link';
sub whoami
{
	my ($server, $token) = @_;
	my ($out, $state) = $server->sql_error("SELECT logsvc.use_token('$token') IS NULL; SELECT logsvc.whoami() #>> '{organization,slug}'");
	return $state || (split /\n/, $out)[-1];
}

$t->sql('CREATE ROLE link LOGIN REPLICATION BYPASSRLS IN ROLE pg_read_all_data');
$t->sql('SELECT logsvc.share_accounts()');
foreach my $worker (@workers)
{
	my $name = $worker->node->name;
	my $node = $t->sql_json('SELECT logsvc.add_node()')->{node};
	is(($worker->sql_error("SELECT logsvc.follow($node, '$connection')"))[1], '', "$name follows") or BAIL_OUT('it does not');
	ok(wait_until(sub { whoami($worker, $org{acme}{token}) eq 'acme' && whoami($worker, $org{globex}{read_key}) eq 'globex' }),
		"$name: tokens and keys are good there");
	is($worker->sql('SELECT count(*) FROM logsvc_internal.user_account WHERE password_hash IS NOT NULL'), 0, "$name: without passwords");
	is(($worker->sql_error(q{UPDATE logsvc_internal.member SET role = 'viewer'}))[1], '25006', "$name: nobody changes accounts");
}
my $before = time;
$t->sql("SELECT logsvc.revoke_token('$org{acme}{token_id}')");
foreach my $worker (@workers)
{
	ok(wait_until(sub { whoami($worker, $org{acme}{token}) eq 'LS103' }) && time - $before < 1,
		sprintf '%s: what is revoked is refused within a second (%.0f ms)', $worker->node->name, 1000 * (time - $before));
}
is($t->sql(q{SELECT count(*) FROM logsvc.node_status() WHERE role = 'follower' AND answers AND found = ''}), 2, 'the coordinator sees both');
ok(!(grep { $_ } map { $_->workers('^logsvc (?!launcher|probe|watcher)') } @workers), 'the service runs on none of them');

# Numbers and distributed tables do not get in each other's way.
$t->sql('SELECT logsvc.distribute()');
$t->wait_ready;
is($t->http(POST => '/api/v1/logs/batch', token => $org{globex}{ingest_key}, json => [ map { { event => "request $_" } } 1 .. 500 ])->{status}, 202, 'events are taken');
ok(wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }), 'and stored');
is($t->sql('SELECT count(*) FROM logsvc_internal.part WHERE index_name = \'main\' AND (id % 1024 <> 0 OR max_batch % 1024 <> 0)'), 0, 'numbers say that they are of the first server');
is(join(' ', @{ $t->http(GET => '/api/v1/search', token => $org{globex}{read_key}, query => { q => 'request | stats count' })->{json}{data}{rows}[0] }), 500, 'and found');
{
	# A compactor waited without end, where it has no limit of time yet.
	my $holder = $t->node->background_psql('postgres', on_error_stop => 0);
	$holder->query('BEGIN; LOCK TABLE logsvc_internal.part_other');
	is(($t->sql_error(q{SET lock_timeout = '1s'; SELECT logsvc_internal.stored_in(oid) FROM pg_class WHERE relname = 'part_other'}))[1], '',
		'who asks where a table is waits for nobody');
	$holder->query('ROLLBACK');
	$holder->quit;
}
is($t->sql_json('SELECT logsvc.undistribute()')->{changed}, JSON::PP::true, 'taken back');

foreach my $worker (@workers)
{
	$worker->sql('SELECT logsvc.unfollow()');
	is(whoami($worker, $org{globex}{token}), 'LS102', $worker->node->name . ': without it nobody is known');
}
ok(wait_until(sub { $t->sql(q{SELECT count(*) FROM pg_stat_replication WHERE application_name LIKE 'logsvc%'}) == 0 }), 'nobody reads');
$t->sql("SELECT logsvc.remove_node($_)") foreach 1, 2;
is($t->sql('SELECT logsvc.unshare_accounts()'), '{"nodes": 0, "shared": false}', 'and nothing is shared');

$cluster->stop;
done_testing;
