# unheard_node.pl: a server that follows another one takes no token and no key when it has not heard
# from that one for logsvc.standby_max_lag, whatever is in the way, and takes them again as soon as
# it hears.  The process that applies changes is killed in the middle; a slot is lost.
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new(name => 'first', conf => "wal_level = logical\nmax_wal_senders = 4\nmax_replication_slots = 4\nmin_wal_size = '32MB'\nrestart_after_crash = on");
my $f = LogsvcTest->new(name => 'second', conf => "logsvc.standby_max_lag = '10s'\nwal_retrieve_retry_interval = '200ms'\nrestart_after_crash = on");
my %org = map { $_ => $t->organization($_) } qw(acme globex);
my $acme = $org{acme};
sub connection { return 'host=' . $t->node->host . ' port=' . $t->node->port . " dbname=postgres user=$_[0]"; }

$t->sql(q{CREATE ROLE link LOGIN REPLICATION BYPASSRLS IN ROLE pg_read_all_data});
$f->sql(q{CREATE ROLE tenant LOGIN IN ROLE logsvc_tenant; CREATE ROLE operator LOGIN IN ROLE logsvc_admin; CREATE ROLE bound LOGIN IN ROLE logsvc_tenant});

my $age = 'SELECT logsvc_internal.accounts_age()';
# What a token says: the organization it is of, or an SQLSTATE.
sub with
{
	my ($token) = @_;
	my ($out, $state) = $f->sql_error("SELECT logsvc.use_token('$token') IS NULL; SELECT logsvc.whoami() #>> '{organization,slug}'", user => 'tenant');
	return $state || (split /\n/, $out)[-1];
}
# Heartbeats that were asked for before a silence come after it: accounts are just young enough,
# and then not.
sub hears { my $seconds = $f->sql($age); return $seconds ne '' && $seconds < 6 && with($acme->{token}) eq 'acme'; }
sub refuses { return with($acme->{token}) eq 'LS710'; }
sub doctor { my ($server, $check) = @_; return $server->sql(qq{SELECT state || ' ' || found FROM logsvc.doctor() WHERE "check" = '} . ($check // 'accounts') . q{'}); }
sub found { return $f->sql('SELECT found FROM logsvc.node_status()'); }
sub nodes { return $t->sql(q{SELECT string_agg(concat_ws(' ', node, answers, nullif(found, '')), '; ' ORDER BY node) FROM logsvc.node_status() WHERE node IS NOT NULL}); }
sub applies { return $f->sql(q{SELECT pid FROM pg_stat_subscription WHERE relid IS NULL}); }
sub same
{
	my ($sql) = @_;
	return wait_until(sub { my $here = $f->sql($sql); $here eq $t->sql($sql) }, 30);
}

# ---- what is not heard yet ----

# Who may not read one table: it is not copied, and what comes of the others says nothing of it.
$t->sql(q{CREATE ROLE partly LOGIN REPLICATION BYPASSRLS; GRANT USAGE ON SCHEMA logsvc_internal TO partly;
	GRANT SELECT ON ALL TABLES IN SCHEMA logsvc_internal TO partly; REVOKE SELECT ON logsvc_internal.api_key FROM partly});
$t->sql('SELECT logsvc.share_accounts()');
is($t->sql('SELECT count(*) FROM logsvc_internal.heartbeat'), 0, 'without nodes there is no heartbeat');
is($t->sql('SELECT logsvc.add_node()'), '{"node": 1, "slot": "logsvc_node_1"}', 'a node');
is($t->sql('SELECT answers::text FROM logsvc_internal.heartbeat'), '{NULL}', 'from now on there is a heartbeat, of a node that has said nothing');
$f->sql(q{CREATE DATABASE other});
$f->sql('CREATE EXTENSION logsvc', database => 'other');
like(($f->sql_error("SELECT logsvc.follow(1, '" . connection('link') . "')", database => 'other'))[2], qr/^this is not the database of the service/,
	'only the database of the service follows');
$f->sql("SELECT logsvc.follow(1, '" . connection('partly') . "')");
ok(wait_until(sub { $t->sql('SELECT answers[1] IS NOT NULL FROM logsvc_internal.heartbeat') eq 't' }), 'the node says something');
ok(wait_until(sub { $f->sql('SELECT count(*) FROM logsvc_internal.access_token') && found() =~ /^1 tables are still to be copied/ }), 'all tables come but one')
	or diag found();
my $written = $t->sql('SELECT written_at FROM logsvc_internal.heartbeat');
ok(wait_until(sub { $f->sql("SELECT written_at > timestamptz '$written' + interval '2 s' FROM logsvc_internal.heartbeat") eq 't' }), 'heartbeats come');
is(with($acme->{token}), 'LS710', 'but no token is taken');
is(with($acme->{read_key}), 'LS710', 'nor a key, of which nobody knows whether it is one');
is(found(), '1 tables are still to be copied; if that does not get on, the log says why; it is not known how old they are, so tokens and keys are refused (logsvc.standby_max_lag)', 'which is said');
is($f->sql($age), '', 'nobody knows how old the accounts are');
$t->sql('GRANT SELECT ON logsvc_internal.api_key TO partly');
ok(wait_until(\&hears), 'when all tables are there, they are') or diag found();
$f->sql('SELECT logsvc.unfollow()');
ok(wait_until(sub { $t->sql('SELECT active FROM pg_replication_slots') eq 'f' }), 'it follows no more');
$t->sql('REVOKE SELECT ON logsvc_internal.api_key FROM partly');
$f->sql("SELECT logsvc.follow(1, '" . connection('partly') . "')");
is($f->sql($age), '', 'when it follows again, it is not known how old they are');
is(with($acme->{read_key}), 'LS710', '... and no key is taken');
$t->sql('GRANT SELECT ON logsvc_internal.api_key TO partly');
ok(wait_until(\&hears), '... until all is there') or diag found();

# ---- it hears ----

cmp_ok($f->sql($age), '<', 5, 'how old the accounts are');
is($f->sql(q{SELECT age < interval '5 s' FROM logsvc.node_status()}), 't', 'node_status says so');
like(doctor($f), qr/^ok those of the server that this one follows, [\d.]+ s old; logsvc.standby_max_lag = 10s$/, 'doctor, too');
like($f->sql(q{SELECT value FROM logsvc.metrics WHERE name = 'logsvc_standby_lag_seconds'}), qr/^[0-4](?:\.\d+)?$/, 'and a figure');
is($t->sql(q{SELECT count(age) FROM logsvc.node_status()}), 0, 'nothing is old on the first');
is($t->sql(q{SELECT count(value) FROM logsvc.metrics WHERE name = 'logsvc_standby_lag_seconds'}), 0, 'nor has it such a figure');
is(with($acme->{read_key}), 'acme', 'keys are taken');
# Functions would change the organization for it.
$f->sql(q{INSERT INTO logsvc_internal.role_binding (role_oid, role_name, organization_id)
	SELECT 'bound'::regrole, 'bound', id FROM logsvc_internal.organization WHERE slug = 'globex'});

my %session = map { $_ => $f->node->background_psql('postgres', extra_params => [ '-U', $_ =~ /bound|operator/ ? $_ : 'tenant' ], on_error_stop => 0) }
	qw(token key revoked snapshot bound operator);
sub ask
{
	my ($name, $sql) = @_;
	my $out = $session{$name}->query($sql // q{SELECT coalesce(logsvc.whoami() ->> 'role', logsvc.whoami() ->> 'kind')});
	my ($error) = ($session{$name}{stderr} // '') =~ /ERROR:\s+(.*)/;
	$session{$name}{stderr} = '';
	return $error // $out;
}
ask($_->[0], "SELECT logsvc.use_token('$_->[1]')") foreach [ token => $acme->{token} ], [ key => $acme->{full_key} ], [ revoked => $acme->{read_key} ], [ snapshot => $org{globex}{token} ];
ask('operator', "SELECT logsvc.act_as('acme')");
my %before = map { $_ => ask($_) } sort keys %session;
is_deeply(\%before, { token => 'owner', key => 'key', revoked => 'key', snapshot => 'owner', bound => 'role', operator => 'operator' }, 'sessions') or diag explain \%before;
ask('snapshot', 'BEGIN ISOLATION LEVEL REPEATABLE READ');
ask('snapshot');

# ---- nothing comes, for many reasons ----

my $revoked = 0;
sub deaf
{
	my ($why, $begin, $end, $said) = @_;
	$begin->();
	ok(wait_until(\&refuses, 40), "$why: tokens are refused");
	like(ask($_), qr/^this server is too far behind the one that it follows/, "... in a session with one: $_") foreach qw(token key revoked snapshot bound);
	is(ask('operator'), 'operator', '... an operator may look');
	is(with($acme->{ingest_key}), 'LS710', '... nor is a key taken');
	is(with('pat_' . 'x' x 43), 'LS710', '... nor is one that is not known unknown: it may be new');
	is(($f->sql_error(q{SELECT logsvc.act_as('acme', 'acme@example.org')}, user => 'operator'))[1], 'LS710', '... nor does an operator act as a user');
	like(found(), qr/^$said; they are [\d.]+ s old, so tokens and keys are refused \(logsvc\.standby_max_lag\)$/, '... node_status says why');
	like(doctor($f), qr/^error they are not those of the server that this one follows: $said; they are/, '... so does doctor');
	cmp_ok($f->sql(q{SELECT value FROM logsvc.metrics WHERE name = 'logsvc_standby_lag_seconds'}), '>', 10, '... and a figure');
	$end->();
	ok(wait_until(\&hears, 30), '... and it hears again') or diag found(), doctor($f);
	if (!$revoked++) { like(ask('revoked'), qr/revoked/, '... what was revoked meanwhile is refused'); }
	is(ask('token') . ask('key') . ask('bound'), 'ownerkeyrole', '... and the others go on, without signing in');
	if (ask('snapshot') ne 'owner') { ask('snapshot', 'ROLLBACK'); }
	is(ask('snapshot'), 'owner', '... also those that had a transaction');
	ask('snapshot', 'BEGIN ISOLATION LEVEL REPEATABLE READ');
	ask('snapshot');
	return;
}
my $silent = 'the other server sends nothing: the log of this one, and node_status\(\) there, say why; if slot logsvc_node_1 is missing or lost: '
	. 'unfollow\(\) here, remove_node\(1\) and add_node\(\) there, then follow\(\)';
my $stuck = 'the service of the other server does not run, or what it sends is not applied in time';

deaf('the subscription is disabled', sub {
	$f->sql('ALTER SUBSCRIPTION logsvc_accounts DISABLE');
	$t->sql(sprintf q{UPDATE logsvc_internal.api_key SET revoked_at = now() WHERE key_hash = sha256('%s')}, $acme->{read_key});
}, sub { $f->sql('ALTER SUBSCRIPTION logsvc_accounts ENABLE') }, 'the subscription is disabled: ALTER SUBSCRIPTION logsvc_accounts ENABLE');

# A limit of 0 is none.
$f->sql('ALTER SUBSCRIPTION logsvc_accounts DISABLE');
ok(wait_until(\&refuses, 40), 'once more');
$f->set('logsvc.standby_max_lag', '0');
is(with($acme->{token}) . ask('token'), 'acmeowner', 'without a limit tokens are taken, however old the accounts are');
is(found(), 'the subscription is disabled: ALTER SUBSCRIPTION logsvc_accounts ENABLE', '... and nothing is said of it');
$f->set('logsvc.standby_max_lag', '10s');
is(with($acme->{token}), 'LS710', '... and with it they are not');
$f->sql('ALTER SUBSCRIPTION logsvc_accounts ENABLE');
ok(wait_until(\&hears, 30), '... until it hears');

deaf('the first server is stopped', sub { $t->stop }, sub { $t->start }, $silent);
deaf('the first server has crashed', sub { $t->crash }, sub { $t->start }, $silent);

# A connection that stands, and over which nothing comes: the network is cut.
my $sender = $t->sql(q{SELECT active_pid FROM pg_replication_slots});
deaf('nothing comes over the connection', sub { kill 'STOP', $sender }, sub { kill 'CONT', $sender }, $stuck);

# The node says nothing, so nobody can tell it what it had said.  Nor is it asked to.
$t->set('wal_sender_timeout', '0');
# It still says something now and then.
$f->set('wal_receiver_status_interval', '0');
my $off = qr/^wal_receiver_status_interval is 0; they are [\d.]+ s old, so tokens and keys are/;
ok(wait_until(sub { found() =~ $off }, 60),
	'status messages are switched off: tokens are refused') or diag found();
$f->sql('ALTER SYSTEM RESET wal_receiver_status_interval');
$f->reload;
ok(wait_until(\&hears, 30), '... and it hears again');
$t->set('wal_sender_timeout', '1min');

# Nobody may lock the row but who owns the server; then it is said.
my $holder = $t->node->background_psql('postgres', on_error_stop => 0);
my $log = $t->log_position;
deaf('heartbeats cannot be written', sub { $holder->query('BEGIN; LOCK TABLE logsvc_internal.heartbeat') }, sub { $holder->query('ROLLBACK') }, $stuck);
is(scalar(() = $t->log_text($log) =~ m/could not write a heartbeat for its nodes: canceling statement due to lock timeout/g), 1, 'which the log of the first says once');
$holder->quit;

# ---- what counts is when a heartbeat was asked for, not when it comes ----

my ($watcher) = $t->workers('^logsvc watcher');
sub beat
{
	my ($answers) = @_;
	my $before = $t->sql('SELECT pg_current_wal_lsn()');
	$t->sql("UPDATE logsvc_internal.heartbeat SET id = gen_random_uuid(), previous = id, written_at = clock_timestamp(), answers = $answers");
	return same('SELECT written_at FROM logsvc_internal.heartbeat');
}
kill 'STOP', $watcher;
ok(beat(q{ARRAY[clock_timestamp()]}), 'a heartbeat by hand');
is(with($acme->{token}), 'acme', '... is one');
ok(beat(q{ARRAY[clock_timestamp() - interval '1 hour']}), 'one that comes an hour late');
is(with($acme->{token}), 'LS710', '... brings accounts of an hour ago');
like($f->sql($age), qr/^36\d\d/, '... which is known');
ok(beat(q{ARRAY[clock_timestamp() + interval '1 hour']}), 'one of the future');
is(with($acme->{token}), 'LS710', '... says nothing');
ok(beat(q{ARRAY[NULL, clock_timestamp()]::timestamptz[]}), 'one for another node');
is(with($acme->{token}), 'LS710', '... nothing to this one');
ok(beat(q{'{}'}), 'one for nobody');
is(with($acme->{token}), 'LS710', '... neither');
# A session cannot do what the subscription does.
$f->sql(q{BEGIN; SET LOCAL session_replication_role = replica; UPDATE logsvc_internal.heartbeat SET id = gen_random_uuid(), previous = id, answers = ARRAY[clock_timestamp()];
	SELECT logsvc_internal.note_heartbeat(clock_timestamp()); ROLLBACK});
is(with($acme->{token}), 'LS710', 'nor what a session writes on the node, of a superuser even');
kill 'CONT', $watcher;
ok(wait_until(\&hears, 20), 'the next real one counts');
$f->stop;
$f->start;
ok(wait_until(\&hears, 30), 'after a start it hears soon');
$_->quit foreach values %session;

# ---- one row, written again and again ----

my $page = q{SELECT pg_relation_size('logsvc_internal.heartbeat') || ' ' || pg_relation_size('logsvc_internal.heartbeat_pkey') FROM logsvc_internal.heartbeat};
$t->sql('DO $$ BEGIN FOR i IN 1 .. 2000 LOOP PERFORM logsvc_internal.send_heartbeat(); COMMIT; END LOOP; END $$');
ok(same('SELECT written_at FROM logsvc_internal.heartbeat'), '2,000 more arrive');
is($_->sql($page), '8192 16384', 'it takes one page, without vacuum: ' . $_->node->name) foreach $t, $f;

# ---- the process that applies changes, in the middle ----

my $both = q{SELECT string_agg(i.description, ',') || ' ' || (SELECT string_agg(k.name, ',') FROM logsvc_internal.api_key k) FROM logsvc_internal.log_index i};
foreach my $signal (qw(TERM KILL))
{
	my $lock = $f->node->background_psql('postgres', on_error_stop => 0);
	$lock->query('BEGIN; LOCK TABLE logsvc_internal.api_key IN SHARE MODE');
	$t->sql("BEGIN; UPDATE logsvc_internal.log_index SET description = '$signal'; UPDATE logsvc_internal.api_key SET name = '$signal ' || id;
		UPDATE logsvc_internal.api_key SET revoked_at = now() WHERE key_hash = sha256('$acme->{full_key}'); COMMIT");
	my $pid;
	ok(wait_until(sub { $pid = $f->sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'logical replication worker' AND wait_event_type = 'Lock'}) }),
		"$signal: the process waits in the middle");
	ok(wait_until(\&refuses, 40), '... so tokens are refused, after a while');
	like(doctor($f), qr/they are [\d.]+ s old, so tokens and keys are refused/, '... doctor says so');
	like(doctor($f, 'lock waits'), qr/^warning process \d+ of \w+ holds ShareLock on api_key/, '... and who holds the lock');
	my $position = $f->log_position;
	$signal eq 'KILL' ? kill_process($pid) : kill($signal, $pid);
	# Who held the lock may be gone with the server's other processes.
	ok(wait_until(sub { $f->sql("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid") eq '0' }), '... it is gone');
	is($f->sql("SELECT count(*) FROM logsvc_internal.log_index WHERE description = '$signal'"), 0, '... nothing of its transaction is there')
		if $signal eq 'TERM';
	eval { $lock->query('ROLLBACK') };
	eval { $lock->quit };
	ok(wait_until(\&hears, 30), '... another one goes on') or diag found();
	ok(same($both), '... with all of the transaction') or diag $f->sql($both), $t->sql($both);
	is(with($acme->{full_key}), 'LS106', '... what was revoked is');
	ok(wait_until(sub { nodes() eq 'node 1 t' && doctor($f) =~ /^ok/ }), '... and all is well') or diag nodes(), doctor($f);
}

# ---- tenants do not hold it up ----

# What a tenant writes refers to its organization: changes of that are not applied until it commits.
$log = $f->log_position;
foreach my $user (qw(tenant operator))
{
	ok(wait_until(\&hears, 20), "$user: the node hears");
	my $in_the_way = $f->node->background_psql('postgres', extra_params => [ '-U', $user ], on_error_stop => 0);
	$in_the_way->query($user eq 'tenant' ? "SELECT logsvc.use_token('$acme->{token}')" : "SELECT logsvc.act_as('acme')");
	$in_the_way->query(q{BEGIN; SELECT logsvc.delete_logs('index=main earliest=-1h', 'x')});
	my $pid = $in_the_way->query('SELECT pg_backend_pid()');
	is($f->sql("SELECT state FROM pg_stat_activity WHERE pid = $pid"), 'idle in transaction', "$user: a session that has written something");
	$t->sql(qq{UPDATE logsvc_internal.organization SET name = '$user' WHERE slug = 'acme'});
	my $name = q{SELECT name FROM logsvc_internal.organization WHERE slug = 'acme'};
	if ($user eq 'tenant')
	{
		ok(wait_until(sub { $f->sql($name) eq $user }, 4), '... is ended when the subscription waits for it');
		like($f->log_text($log), qr/logsvc ended a session of role "tenant" \(process $pid\)\n.*The subscription that applies changes of accounts was waiting/, '... which the log says');
		is($f->sql("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid"), 0, '... so it is gone');
		is(with($acme->{token}), 'acme', '... and nobody is refused');
	}
	else
	{
		ok(wait_until(\&refuses, 40), '... is not ended');
		like(doctor($f, 'lock waits'), qr/^warning process $pid of operator holds /, '... but doctor names it');
		$in_the_way->query('ROLLBACK');
		ok(wait_until(sub { $f->sql($name) eq $user && hears() }, 20), '... and when it is over everything goes on');
	}
	eval { $in_the_way->quit };
}

# Nor do tenants who take turns: there is always a transaction in the way, and none for long.
{
	my @turns = map { $f->node->background_psql('postgres', extra_params => [ '-U', 'tenant' ], on_error_stop => 0) } 1, 2;
	my $write = q{BEGIN; SELECT logsvc.delete_logs('index=main earliest=-1h', 'x')};
	my $name = q{SELECT name FROM logsvc_internal.organization WHERE slug = 'acme'};
	$_->query("SELECT logsvc.use_token('$acme->{token}')") foreach @turns;
	$turns[0]->query($write);
	$t->sql(q{UPDATE logsvc_internal.organization SET name = 'turns' WHERE slug = 'acme'});
	my $taken = 0;
	for (; $taken < 200 && $f->sql($name) ne 'turns'; $taken++)
	{
		eval { $turns[1]->query($write); sleep 0.05; $turns[0]->query('COMMIT'); 1 } or last;
		@turns = reverse @turns;
	}
	# It came between two of them, or one was ended.
	cmp_ok($taken, '<', 200, 'tenants who take turns do not hold it up');
	ok(wait_until(sub { $f->sql($name) eq 'turns' }, 20), '... the change comes');
	eval { $_->quit } foreach @turns;
	ok(wait_until(\&hears, 20), '... and nobody is refused');
}

# ---- a slot that is lost, or is another one ----

sub anew
{
	$f->sql('SELECT logsvc.unfollow()');
	ok(wait_until(sub {
		$t->sql_error('SELECT logsvc.remove_node(1)');
		!$t->sql('SELECT count(*) FROM pg_replication_slots')
	}), 'the slot is removed');
	is($t->sql('SELECT logsvc.add_node()'), '{"node": 1, "slot": "logsvc_node_1"}', 'a slot anew');
	$f->sql("SELECT logsvc.follow(1, '" . connection('link') . "')");
	ok(wait_until(\&hears, 30), 'and all is well') or diag found();
	# Slots by which tables were copied are removed in the end.
	wait_until(sub { $t->sql('SELECT count(*) FROM pg_replication_slots') == 1 });
	return;
}

# Somebody removes the node while it is away, and makes another one of the same number: nothing
# tells the first that it is the wrong one.
$f->stop;
$t->sql(sprintf q{UPDATE logsvc_internal.api_key SET revoked_at = now() WHERE key_hash = sha256('%s')}, $org{globex}{read_key});
ok(wait_until(sub { nodes() =~ /does not read/ }), 'a node is away');
is($t->sql('SELECT logsvc.remove_node(1)') . $t->sql('SELECT logsvc.add_node()'), '{"node": 1, "removed": true}{"node": 1, "slot": "logsvc_node_1"}', 'and removed, and another one is added');
$f->start;
$written = $t->sql('SELECT clock_timestamp()');
ok(wait_until(sub { $f->sql("SELECT written_at > timestamptz '$written' + interval '3 s' FROM logsvc_internal.heartbeat") eq 't' }), 'when it is back, heartbeats come');
is(with($org{globex}{read_key}) . with($acme->{token}), 'LS710LS710', '... but it takes no key, such as one that was revoked, and no token');
like(found(), qr/^changes were missed .*: unfollow and follow again; it is not known how old they are, so tokens and keys are refused/, '... node_status says why');
like(doctor($f), qr/^error .*changes were missed/, '... so does doctor');
$f->stop;
$f->start;
ok(wait_until(sub { nodes() eq 'node 1 t' }) && stays(\&refuses, 3), '... also after another start');
anew();
is(with($org{globex}{read_key}), 'LS106', 'also what was revoked');

$t->set('max_slot_wal_keep_size', '1MB');
$f->stop;
ok(wait_until(sub { nodes() =~ /^node 1 f it does not read; \d+ \w+ of WAL wait for it$/ }), 'a node is away') or diag nodes();
$t->sql(sprintf q{UPDATE logsvc_internal.api_key SET revoked_at = now() WHERE key_hash = sha256('%s')}, $org{globex}{full_key});
ok(wait_until(sub {
	$t->sql($_) foreach 'SELECT logsvc_internal.send_heartbeat()', 'SELECT pg_switch_wal()', 'CHECKPOINT';
	nodes() eq 'node 1 f what it has not read is gone: unfollow() there, remove_node(1) and add_node() here, then follow() there'
}), 'the WAL that it has not read is removed, which node_status says') or diag nodes();
is(doctor($t, 'replication slots'), 'warning what was not read is gone: logsvc_node_1', 'so does doctor');
$f->start;
ok(wait_until(sub { $f->log_text =~ /could not start WAL streaming: .*slot "logsvc_node_1"/ }), 'the log of the node says it, too');
ok(wait_until(\&refuses), 'it takes no token');
is(with($org{globex}{full_key}), 'LS710', 'nor a key that was revoked when it was away');
like(found(), qr/^$silent; it is not known how old they are, so tokens and keys are refused/, 'node_status there says where to look');
like(doctor($f), qr/^error they are not those of the server that this one follows: the other server sends nothing/, 'doctor, too');
anew();
is(with($org{globex}{full_key}), 'LS106', 'also what was revoked');
ok(wait_until(sub { nodes() eq 'node 1 t' }), 'the first says so') or diag nodes();

# ---- nobody forges it ----

foreach my $server ($t, $f)
{
	my $name = $server->node->name;
	$server->sql(q{CREATE ROLE maker LOGIN IN ROLE logsvc_tenant, logsvc_admin; GRANT CREATE ON DATABASE postgres TO maker});
	foreach my $sql ('SELECT * FROM logsvc_internal.heartbeat', q{UPDATE logsvc_internal.heartbeat SET answers = '{}'}, 'DELETE FROM logsvc_internal.heartbeat',
		'TRUNCATE logsvc_internal.heartbeat', 'BEGIN; LOCK TABLE logsvc_internal.heartbeat IN ACCESS SHARE MODE', 'SELECT * FROM logsvc_internal.heartbeat FOR UPDATE',
		'SELECT logsvc_internal.note_heartbeat(now())', 'SELECT logsvc_internal.send_heartbeat()', 'SELECT logsvc_internal.wake_watcher()', 'SELECT logsvc_internal.accounts_age()',
		'SET session_replication_role = replica', q{ALTER SYSTEM SET logsvc.standby_max_lag = 0}, q{SET logsvc.standby_max_lag = 0},
		'CREATE TRIGGER x BEFORE UPDATE ON logsvc_internal.heartbeat EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()')
	{
		like(($server->sql_error($sql, user => 'maker'))[1], qr/^(?:42501|55P02)$/, "$name: no role may: $sql");
	}
	# A table of one's own does not help.
	is(($server->sql_error(q{CREATE SCHEMA own; CREATE TABLE own.heartbeat (answers timestamptz[]);
		CREATE TRIGGER heartbeat_arrived AFTER INSERT ON own.heartbeat FOR EACH ROW EXECUTE FUNCTION logsvc_internal.heartbeat_arrived()}, user => 'maker'))[1], '42501',
		"$name: nor may it use the trigger");
}
$f->sql('SELECT logsvc.unfollow()');
is($f->sql('SELECT count(*) FROM logsvc_internal.heartbeat'), 0, 'without a first server nothing is heard');
$f->organization('own');
$f->wait_ready;
is($f->http(GET => '/api/v1/search', token => $f->organization('more')->{read_key}, query => { q => '*' })->{status}, 200, 'and nothing need be');
is($f->sql(q{SELECT count(value) FROM logsvc.metrics WHERE name = 'logsvc_standby_lag_seconds'}), 0, 'nor is there a figure');
$t->sql('SELECT logsvc.remove_node(1)');
$t->sql('SELECT logsvc.unshare_accounts()');
is($t->sql('SELECT count(*) FROM logsvc_internal.heartbeat'), 0, 'and nothing is told');

$_->stop foreach $t, $f;
done_testing;
