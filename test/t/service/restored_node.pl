# restored_node.pl: a server that follows another one notices when what arrives does not continue
# what it has: either server is restored from an older copy, or its slot is another one, or missing.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new(name => 'first', conf => "wal_level = logical\nmax_wal_senders = 4\nmax_replication_slots = 4");
my $f = LogsvcTest->new(name => 'second', conf => "logsvc.standby_max_lag = '10s'\nwal_retrieve_retry_interval = '200ms'");
my $acme = $t->organization('acme');
my $connection = 'host=' . $t->node->host . ' port=' . $t->node->port . ' dbname=postgres user=link';
sub with { return ($f->sql_error("SELECT logsvc.use_token('$_[0]')"))[1]; }
# Heartbeats that were asked for before a silence come after it: accounts are just young enough,
# and then not.
sub hears { my $age = $f->sql('SELECT logsvc_internal.accounts_age()'); return $age ne '' && $age < 6 && with($acme->{token}) eq ''; }
sub found { return $f->sql('SELECT found FROM logsvc.node_status()'); }
sub reads { return $t->sql('SELECT count(*) FROM pg_replication_slots WHERE active'); }
sub follow
{
	$f->sql("SELECT logsvc.follow(1, '$connection')");
	ok(wait_until(\&hears, 30), 'it follows') or diag found();
	return;
}
sub revoke { return $t->sql(sprintf q{UPDATE logsvc_internal.api_key SET revoked_at = now() WHERE key_hash = sha256('%s')}, $acme->{ $_[0] }); }
# The server that is stopped is copied, or is its copy.
my $copy = PostgreSQL::Test::Utils::tempdir() . '/copy';
sub copy
{
	my ($from, $to) = @_;
	system_or_bail('rm', '-rf', $to);
	system_or_bail('cp', '-a', $from, $to);
	return;
}
sub missed
{
	my ($why, $key) = @_;
	ok(wait_until(sub { found() =~ /^changes were missed/ && with($acme->{token}) eq 'LS710' }, 30), "$why: it notices") or diag found();
	is(with($acme->{$key}) . with($acme->{token}), 'LS710LS710', '... and takes no key, such as one that was revoked, and no token');
	like($f->sql(q{SELECT state || ' ' || found FROM logsvc.doctor() WHERE "check" = 'accounts'}), qr/^error .*changes were missed/, '... doctor says so');
	ok(stays(sub { with($acme->{token}) eq 'LS710' }, 3), '... which stays so');
	$f->sql('SELECT logsvc.unfollow()');
	ok(wait_until(sub { !reads() }), '... it follows no more');
	follow();
	is(with($acme->{$key}), 'LS106', '... and what was revoked is');
	return;
}

$t->sql('CREATE ROLE link LOGIN REPLICATION BYPASSRLS IN ROLE pg_read_all_data');
$t->sql('SELECT logsvc.share_accounts()');
$t->sql('SELECT logsvc.add_node()');
follow();

# The slot is beyond what a copy of the node has.
$f->stop;
copy($f->node->data_dir, $copy);
$f->start;
revoke('read_key');
ok(wait_until(sub { with($acme->{read_key}) eq 'LS106' }, 30), 'a key is revoked');
# Only what the node has confirmed is not sent again.
my $written = $t->sql('SELECT pg_current_wal_lsn()');
ok(wait_until(sub { $t->sql("SELECT confirmed_flush_lsn >= '$written' FROM pg_replication_slots") eq 't' }, 30), '... which the node has confirmed');
$f->stop;
copy($copy, $f->node->data_dir);
$f->start;
missed('the node is restored', 'read_key');

# Another slot of that number, while no heartbeat is written.
my ($watcher) = $t->workers('^logsvc watcher');
kill 'STOP', $watcher;
my $last = $t->sql('SELECT id FROM logsvc_internal.heartbeat');
ok(wait_until(sub { $f->sql('SELECT id FROM logsvc_internal.heartbeat') eq $last }), 'the last heartbeat is there');
$f->sql('ALTER SUBSCRIPTION logsvc_accounts DISABLE');
ok(wait_until(sub { !reads() }), 'a node is away');
revoke('full_key');
is($t->sql('SELECT logsvc.remove_node(1)') . $t->sql('SELECT logsvc.add_node()'), '{"node": 1, "removed": true}{"node": 1, "slot": "logsvc_node_1"}',
	'it is removed, and another one is added');
kill 'CONT', $watcher;
$f->sql('ALTER SUBSCRIPTION logsvc_accounts ENABLE');
missed('it reads the slot of another node', 'full_key');

# A copy of the first server goes on where it was, with other changes.
$t->stop;
copy($t->node->data_dir, $copy);
$t->start;
ok(wait_until(\&hears, 30), 'it goes on');
$t->sql('SELECT pg_switch_wal()');
$t->sql(q{UPDATE logsvc_internal.organization SET name = 'lost'});
ok(wait_until(sub { $f->sql('SELECT name FROM logsvc_internal.organization') eq 'lost' }), 'a change that the copy has not');
$t->stop;
copy($copy, $t->node->data_dir);
$t->start;
$t->wait_ready;
revoke('ingest_key');
$t->sql('BEGIN; CREATE TABLE x (); DROP TABLE x; COMMIT; SELECT pg_switch_wal()') foreach 1, 2;
missed('the first server is restored', 'ingest_key');
is($f->sql('SELECT name FROM logsvc_internal.organization'), $t->sql('SELECT name FROM logsvc_internal.organization'), 'both have the same');

# Without a slot it cannot go on, which follow() does not see.
$f->sql('SELECT logsvc.unfollow()');
ok(wait_until(sub { !reads() }), 'it follows no more');
$t->sql('SELECT logsvc.remove_node(1)');
$f->sql("SELECT logsvc.follow(1, '$connection')");
ok(wait_until(sub { $f->log_text =~ /slot "logsvc_node_1" does not exist/ }, 30), 'it follows with a slot that is missing');
like(found(), qr/^the other server sends nothing: .* if slot logsvc_node_1 is missing or lost: unfollow\(\) here, remove_node\(1\) and add_node\(\) there, then follow\(\);/,
	'... which node_status says, and what to do');
is(with($acme->{token}), 'LS710', '... and takes no token');
$f->sql('SELECT logsvc.unfollow()');
is(($t->sql_error('SELECT logsvc.remove_node(1)'))[1], 'LS301', 'there is none to be removed');
$t->sql('SELECT logsvc.add_node()');
follow();

$f->sql('SELECT logsvc.unfollow()');
$_->stop foreach $t, $f;
done_testing;
