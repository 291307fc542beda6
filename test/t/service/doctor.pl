# logsvc.doctor: each check fails for a server that is as it should not be, and says what to change.
# Takes long.
use strict;
use warnings;

use LogsvcConnection;
use LogsvcTest qw(wait_until);
use Test::More;

# What is normal in tests, but not in production, is set right where a check would see it.
my $t = LogsvcTest->new(initdb => [], conf => <<'CONF');
fsync = on
full_page_writes = on
autovacuum = on
max_locks_per_transaction = 12
max_parallel_workers = 2
max_connections = 20
wal_level = replica
max_replication_slots = 4
logsvc.public_url = 'http://localhost'
logsvc.model_region = 'eu-central-1'
logsvc.console = off
CONF
$t->sql('CREATE ROLE tenant LOGIN IN ROLE logsvc_tenant; CREATE ROLE operator LOGIN IN ROLE logsvc_admin');
$t->wait_partitions;
my $version = $t->sql("SELECT current_setting('server_version_num')::int / 10000");
my $folder = $t->node->basedir;
my %tried;

# The rows of doctor, by check, as after statements whose changes are taken back.
sub doctor
{
	my ($before, %opt) = @_;
	my $text = $t->node->safe_psql($opt{database} // 'postgres', join "\n", "SET client_min_messages = error; BEGIN;",
		$before ? "$before;" : (), 'SELECT jsonb_object_agg(d."check", to_jsonb(d)) FROM logsvc.doctor() d; ROLLBACK');
	$text =~ s/\A.*?^\{/{/ms;
	return LogsvcTest::json_decode($text);
}

# What a row says.
sub says
{
	my ($rows, $check, $state, $found, $change) = @_;
	$tried{$check} = 1 if $state ne 'ok';
	my $row = $rows->{$check};
	is($row->{state}, $state, "$check: $state") or diag $row->{found};
	like($row->{found}, $found, '... what was found') if $found;
	like($row->{change}, $state eq 'ok' ? qr/^$/ : $change, '... what to change') if $change || $state eq 'ok';
	return;
}

sub write_file
{
	my ($name, $content, $mode) = @_;
	open my $out, '>', "$folder/$name" or die "$name: $!";
	print {$out} $content;
	close $out;
	chmod $mode, "$folder/$name";
	return "$folder/$name";
}

is(($t->sql_error('SELECT * FROM logsvc.doctor()', user => 'tenant'))[1], 'LS202', 'not for a tenant');
my $all = doctor();
is($t->sql('SELECT count(*) FROM logsvc.doctor()', user => 'operator'), scalar keys %$all, 'an operator gets all rows');
my $preload = q{SELECT d.found FROM logsvc.doctor() d WHERE d."check" = 'preload'};
is($t->sql($preload, user => 'operator'), 'logsvc is in shared_preload_libraries', '... without settings that PostgreSQL keeps from them');
is_deeply([ map { "$_: $all->{$_}{found}" } grep { $all->{$_}{state} eq 'error' } sort keys %$all ], [],
	'a server that works has no errors');
is_deeply([ grep { $all->{$_}{state} eq 'warning' } sort keys %$all ],
	[ 'archive', $version < 18 ? 'checksums' : (), 'mail' ], '... and warnings of what is not set up');
says($all, 'archive', 'warning', qr/archive_mode = off/, qr/archive_mode = on/);
says($all, 'checksums', 'warning', qr/off/, qr/pg_checksums --enable/) if $version < 18;
says($all, 'mail', 'warning', qr/no mail server/, qr/logsvc\.smtp_url = /);

# ---- what statements bring about ----

my $part = <<'SQL';
INSERT INTO logsvc_internal.part (organization_id, index_name, day, level, min_time, max_time, rows, raw_bytes,
	level_mask, min_batch, max_batch, header, body, created_at)
SELECT '00000000-0000-0000-0000-000000000001', 'main', current_date - 3, %d, now() - interval '3 days',
	now() - interval '3 days', 1, 1, 0, n, n, '', '', now() - interval '4 hours' FROM generate_series(1, %d) AS n
SQL
my $locale = $version < 17 ? 'daticulocale' : 'datlocale';
foreach (
	[ "UPDATE pg_extension SET extversion = '0.1' WHERE extname = 'logsvc'", 'version', 'error', qr/library 0\.2, extension 0\.1/,
		qr/ALTER EXTENSION logsvc UPDATE TO '0\.2'/ ],
	[ "UPDATE pg_database SET encoding = 0 WHERE datname = current_database()", 'encoding', 'error', qr/SQL_ASCII/, qr/UTF8/ ],
	[ "UPDATE pg_database SET datlocprovider = 'i', $locale = 'en', datcollversion = '0' WHERE datname = current_database()",
		'collation', 'warning', qr/version 0, that of the operating system is \d/, qr/REINDEX DATABASE postgres/ ],
	(map { [ "UPDATE pg_database SET datfrozenxid = ((txid_current() - $_->[0] + 4294967296) % 4294967296)::text::xid "
			. "WHERE datname = 'template1'", 'transaction ids', $_->[1], qr/template1 is \d{9,10}/, qr/template1: VACUUM/ ] }
		[ 1600000000, 'error' ], [ 600000000, 'warning' ]),
	# test/citus/distribute.pl brings it about.
	[ 'CREATE OR REPLACE FUNCTION logsvc_internal.events_elsewhere() RETURNS boolean LANGUAGE sql AS $$SELECT true$$',
		'shards', 'error', qr/elsewhere/, qr/citus_move_shard_placement/ ],
	# shared_accounts.pl has a server that follows another one.
	[ "CREATE SUBSCRIPTION logsvc_accounts CONNECTION '' PUBLICATION x WITH (connect = false)",
		'accounts', 'error', qr/subscription is disabled: .*ENABLE/, qr/what is found says/ ],
	[ 'ALTER ROLE logsvc_tenant LOGIN', 'rights of roles', 'error', qr/logsvc_tenant/, qr/ALTER ROLE logsvc_tenant NOSUPERUSER/ ],
	[ "INSERT INTO logsvc_internal.status_minute (minute, failed, measured) VALUES (now() + interval '1 hour', '{}', true)",
		'clock', 'error', qr/3\d\d\d s ahead/, qr/chrony/ ],
	[ "INSERT INTO logsvc_internal.status_minute (minute, failed, measured) VALUES (now(), '{search}', true)",
		'status', 'warning', qr/search/, qr/log of the server/ ],
	[ 'ALTER DATABASE postgres SET default_transaction_read_only = true', 'read only', 'error',
		qr/cannot write.*: ALTER DATABASE postgres SET default_transaction_read_only = on$/,
		qr/^SET default_transaction_read_only = off; ALTER DATABASE postgres RESET default_transaction_read_only; then SELECT pg_terminate/ ],
	[ 'ALTER ROLE logsvc_reader IN DATABASE postgres SET default_transaction_read_only = on', 'read only', 'error',
		qr/: ALTER ROLE logsvc_reader IN DATABASE postgres SET/, qr/ALTER ROLE logsvc_reader IN DATABASE postgres RESET/ ],
	[ 'ALTER ROLE ALL SET default_transaction_read_only = on', 'read only', 'error', qr/: ALTER ROLE ALL SET/, qr/ALTER ROLE ALL RESET/ ],
	[ 'ALTER ROLE ALL SET default_transaction_read_only = on; ALTER DATABASE postgres SET default_transaction_read_only = off',
		'read only', 'ok' ],
	[ 'SET default_transaction_read_only = on', 'read only', 'ok', qr/= off/ ],
	# What takes too long, or fails, leaves the other rows.
	[ 'CREATE OR REPLACE FUNCTION logsvc_internal.restored_from() RETURNS text LANGUAGE sql AS $$SELECT pg_sleep(100)::text$$',
		'mode', 'warning', qr/^could not be looked at: it took longer than 5 s$/, qr/look again/ ],
	[ 'ALTER TABLE logsvc_internal.outbox RENAME TO inbox', 'mail', 'warning', qr/^could not be looked at: .*outbox.* does not exist/, qr/look again/ ],
	[ "INSERT INTO logsvc_internal.dead_letter (organization_id, batch, rows, min_time, max_time, level_mask, audit, reason, "
		. "attempts, first_failed_at, last_failed_at, sqlstate, last_error, header, body) VALUES "
		. "('00000000-0000-0000-0000-000000000001', 1, 7, now(), now(), 0, false, 'corrupt', 1, now(), now(), '22000', 'x', '', '')",
		'dead letters', 'warning', qr/^7 events/, qr/replay_dead_letters\(filter => '\{\}', organization => '\.\.\.'\).*discard_dead_letters\('REASON'/ ],
	[ sprintf($part, 1, 1001), 'merging', 'warning', qr/^1001 parts/, qr/logsvc\.compactors = 2/ ],
	[ sprintf($part, -1, 2), 'damaged parts', 'error', qr/^2 parts/, qr/verify_parts/ ],
	[ "SELECT logsvc.create_organization('acme', 'free') ->> 'x'; "
		. "UPDATE logsvc_internal.organization SET read_only_since = '2026-01-02 03:04+00'", 'organizations', 'warning',
		qr/acme since 2026-01-02 03:04/, qr/set_organization_state\('acme', 'active'\).*delete_organization\('acme'/ ],
	[ "DO 'BEGIN EXECUTE format(''DROP TABLE logsvc_internal.part_%s'', to_char((now() AT TIME ZONE ''UTC'')::date, ''YYYYMMDD'')); END'",
		'partitions', 'error', qr/\d{4}-\d\d-\d\d/, qr/log of the server/ ],
	[ "DO 'BEGIN FOR n IN 10..73 LOOP EXECUTE format(''CREATE TABLE logsvc_internal.part_%s PARTITION OF logsvc_internal.part "
		. "FOR VALUES FROM (%L) TO (%L)'', n, current_date + n, current_date + n + 1); END LOOP; END'", 'locks', 'warning',
		qr/room for \d+ locks/, qr/max_locks_per_transaction = [2-9]\d;/ ])
{
	my ($before, @row) = @$_;
	says(doctor($before), @row);
}

$t->sql("SELECT pg_create_physical_replication_slot('forgotten')");
says(doctor(), 'replication slots', 'warning', qr/forgotten/, qr/pg_drop_replication_slot/);
$t->sql("SELECT pg_drop_replication_slot('forgotten')");

$t->sql('CREATE DATABASE other');
$t->sql('CREATE EXTENSION logsvc', database => 'other');
says(doctor(undef, database => 'other'), 'database', 'error', qr/runs in database postgres; this is other/, qr/logsvc\.database = 'other'/);

# ---- sessions ----

my @to = (host => $t->node->host, port => $t->node->port, database => 'postgres', user => scalar getpwuid($>));
{
	my @sessions = map { LogsvcConnection->new(@to) } 1 .. 15;
	$_->query('SELECT 1') foreach @sessions;
	says(doctor(), 'connections', 'warning', qr/^1\d of 20 sessions/, qr/max_connections = 40/);
}
{
	my $session = LogsvcConnection->new(@to);
	$session->query('BEGIN');
	$t->set('logsvc.snapshot_timeout' => '1s');
	wait_until(sub { doctor()->{'old transactions'}{state} eq 'warning' });
	says(doctor(), 'old transactions', 'warning', qr/process \d+ is 1\d+ s old|process \d+ is \d\d s old/, qr/pg_terminate_backend\(\d+\)/);
}

# ---- locks ----

{
	my $unseen = sub {
		my ($all) = @_;
		my $why = 'could not be looked at: others have locked what it reads';
		return join ', ', grep { $all->{$_}{found} eq $why } sort keys %$all;
	};
	my $start = sub {
		my ($sql) = @_;
		my $waiting = $t->node->background_psql('postgres');
		$waiting->query_until(qr/started/, "\\echo started\n$sql;\n");
		return $waiting;
	};
	my $session = LogsvcConnection->new(@to);
	chomp(my $pid = $session->query('SELECT pg_backend_pid()')->{rows});
	my $holder = qr/^process $pid of \S+ holds AccessExclusiveLock on part, in a transaction that is \d+ s old/;
	$session->query('BEGIN; LOCK TABLE logsvc_internal.part');
	my $rows = doctor('SET lock_timeout = 10');
	is(scalar keys %$rows, scalar keys %$all, 'while a table is locked, all rows are there');
	is($unseen->($rows), 'damaged parts, merging', '... and say what could not be looked at');
	says($rows, 'merging', 'warning', qr/locked/, qr/lock waits/);
	says($rows, 'lock waits', 'error', $holder, qr/^SELECT pg_terminate_backend\($pid\)$/);
	{
		my $other = $start->('SELECT count(*) FROM logsvc_internal.part');
		ok(wait_until(sub { doctor()->{'lock waits'}{found} =~ /$holder; [1-9] wait for it$/ }), 'another waits, too');
		$session->query('ROLLBACK');
		$other->quit;
	}
	says(doctor(), 'lock waits', 'ok', qr/nobody/);

	# Rows are locked, too.
	$session->query('BEGIN; UPDATE logsvc_internal.eu_region SET name = name');
	my $other = $start->('UPDATE logsvc_internal.eu_region SET name = name');
	ok(wait_until(sub { doctor()->{'lock waits'}{state} eq 'warning' }), 'one waits for a row');
	says(doctor(), 'lock waits', 'warning', qr/^process $pid .*RowExclusiveLock.* on eu_region.*; 1 wait/, qr/\($pid\)/);
	$session->query('ROLLBACK');
	$other->quit;

	# All tables.
	$session->query("BEGIN; DO 'DECLARE t regclass; BEGIN FOR t IN SELECT oid FROM pg_class WHERE relkind IN (''r'', ''p'') "
		. "AND relnamespace = ''logsvc_internal''::regnamespace LOOP EXECUTE ''LOCK TABLE '' || t; END LOOP; END'");
	$rows = doctor();
	is($unseen->($rows),
		'clock, damaged parts, dead letters, mail, merging, mode, model provider, organizations, status', 'all tables are locked');
	says($rows, 'lock waits', 'error', qr/^process $pid .* on \w+, \w+, \w+ and \d+ other tables, /, qr/\($pid\)/);
	$session->query('ROLLBACK');
}

# ---- the queue ----

{
	my $org = $t->organization('acme');
	$t->set('logsvc.queue_limit' => 1000);
	$t->stop_at('write_before_commit');
	$t->sql("SELECT logsvc.act_as('acme'); SELECT count(logsvc.log('x')) FROM generate_series(1, 200)") foreach 1 .. 3;
	says(doctor(), 'queue', 'warning', qr/^6\d\d of 1000/, qr/logsvc\.writers/);
	$t->let_go('write_before_commit');
}

# ---- settings that a reload changes ----

foreach (
	[ 'default_transaction_read_only', 'on', 'read only', 'error', qr/the server has default_transaction_read_only = on/,
		qr/ALTER SYSTEM RESET default_transaction_read_only, or/ ],
	[ 'default_transaction_read_only', 'off', 'read only', 'ok' ],
	[ 'fsync', 'off', 'durability', 'error', qr/fsync = off/, qr/fsync = on/ ],
	[ 'autovacuum', 'off', 'autovacuum', 'error', qr/autovacuum = off/, qr/autovacuum = on/ ],
	[ 'logsvc.public_url', 'http://logs.example.org', 'public url', 'warning', qr/http:/, qr/https:/ ],
	[ 'logsvc.limits', 'generous', 'limits', 'warning', qr/generous/, qr/'specification' or logsvc\.sign_up = off/ ],
	[ 'logsvc.console_directory', $folder, 'console', 'ok' ],
	[ 'logsvc.console', 'on', 'console', 'warning', qr/assets\.tsv/, qr/make install/ ],
	[ 'logsvc.model_region', '', 'model provider', 'warning', qr/region is not known/, qr/logsvc\.model_region = 'eu-central-1'/ ],
	[ 'logsvc.model_provider', 'openai', 'model provider', 'error', qr/logsvc\.model_endpoint is not set/, qr/base URL/ ],
	[ 'logsvc.model_key_file', "$folder/none", 'files', 'error', qr/^the file of logsvc\.model_key_file does not exist$/, qr/chown/ ],
	[ 'logsvc.model_key_file', write_file('key', 'secret', 0644), 'files', 'error', qr/can be read by others$/, qr/chmod 600/ ],
	[ 'logsvc.model_key_file', write_file('empty', '', 0600), 'files', 'error', qr/is empty$/, qr/chmod 600/ ],
	[ 'logsvc.model_key_file', write_file('good', 'secret', 0600), 'files', 'ok' ],
	[ 'logsvc.smtp_url', 'smtp://127.0.0.1:9', 'mail', 'error', qr/smtp_from is empty/, qr/logsvc\.smtp_from = / ],
	[ 'logsvc.smtp_from', 'logs@example.org', 'mail', 'ok' ])
{
	my ($name, $value, @row) = @$_;
	$t->set($name => $value);
	says(doctor(), @row);
}
says(doctor("INSERT INTO logsvc_internal.outbox (recipient, template, subject, state, last_error, finished_at) "
	. "VALUES ('ann\@acme.example', 'x', 'x', 'failed', '535 no', now())"), 'mail', 'error', qr/535 no/, qr/smtp_password_file/);

system("openssl req -x509 -newkey rsa:2048 -nodes -days 5 -subj /CN=localhost -keyout '$folder/tls.key' "
	. "-out '$folder/tls.crt' 2> /dev/null") == 0 or die 'openssl';
$t->set('logsvc.tls_certificate' => "$folder/tls.crt");
says(doctor(), 'tls', 'error', qr/logsvc\.tls_key/, qr/renew or correct/);
$t->set('logsvc.tls_key' => "$folder/tls.key");
says(doctor(), 'tls', 'warning', qr/good until \d{4}-/, qr/renew/);

{
	my $dir = $t->node->data_dir;
	write_file('more.conf', "work_mem = 'no'\n", 0600);
	$t->sql('ALTER SYSTEM SET max_connections = 21');
	$t->reload;
	ok(wait_until(sub { doctor()->{'settings file'}{state} eq 'warning' }), 'a setting waits for a restart');
	says(doctor(), 'settings file', 'warning', qr/max_connections/, qr/restart/);
	$t->sql('ALTER SYSTEM RESET max_connections');
	$t->node->append_conf('postgresql.conf', "include '$folder/more.conf'");
	says(doctor(), 'settings file', 'error', qr/in line 1 of more\.conf \(work_mem\)/, qr/correct the line/);
	write_file('more.conf', '', 0600);
}

# The probe does not run, since the server started some time ago.
{
	my $since = sub { return 'DELETE FROM logsvc_internal.status_minute; CREATE OR REPLACE FUNCTION logsvc_internal.metric_samples('
		. 'OUT name text, OUT labels jsonb, OUT value double precision, OUT type text, OUT unit text, OUT help text) '
		. "RETURNS SETOF record LANGUAGE sql AS 'SELECT ''logsvc_start_time_seconds'', ''{}''::jsonb, extract(epoch FROM now())::float8 "
		. "- $_[0], '''', '''', '''''" };
	says(doctor($since->(400)), 'status', 'ok', qr/not looked at in the last 5 minutes/);
	$t->set('logsvc.status_probe' => 'on');
	says(doctor($since->(400)), 'status', 'warning', qr/not looked at in the last 5 minutes/, qr/the probe does not run/);
	says(doctor($since->(200)), 'status', 'ok', qr/not looked at/);
	$t->set('logsvc.status_probe' => 'off');
}

SKIP:
{
	skip 'no small file system', 0 unless $ENV{SMALL_DISK};
	$t->sql("CREATE TABLESPACE small LOCATION '" . $t->small_disk('queue') . "'");
	says(doctor(), 'disk', 'error', qr/tablespace small: \d+ [kM]B of 64 MB free/, qr/make room/);
	$t->sql('DROP TABLESPACE small');
}

# ---- settings that a restart changes ----

$t->node->append_conf('postgresql.conf', <<'CONF');
archive_mode = on
archive_command = 'false'
max_worker_processes = 12
logsvc.mode = restored
logsvc.max_pool_workers = 2
logsvc.listen_addresses = '0.0.0.0'
CONF
$t->sql('ALTER SYSTEM RESET logsvc.tls_certificate');
$t->sql('ALTER SYSTEM RESET logsvc.tls_key');
$t->node->restart;
$t->sql('SELECT pg_switch_wal()');
ok(wait_until(sub { doctor()->{archive}{state} eq 'error' }), 'archiving fails');
my $wrong = doctor();
says($wrong, 'archive', 'error', qr/failed/, qr/archive_command/);
says($wrong, 'archive timeout', 'warning', qr/archive_timeout = 0/, qr/archive_timeout = 60s/);
says($wrong, 'workers', 'error', qr/not all of their workers run: \w/, qr/log of the server/);
says($wrong, 'worker slots', 'error', qr/max_worker_processes = 12; logsvc needs \d\d/, qr/max_worker_processes = \d\d;/);
says($wrong, 'mode', 'warning', qr/restored: no alerts, mails/, qr/logsvc\.mode = normal/);
says($wrong, 'pool sizes', 'warning', qr/= 2/, qr/logsvc\.max_pool_workers/);
says($wrong, 'tls', 'warning', qr/0\.0\.0\.0/, qr/proxy with TLS/);

$t->node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$t->node->restart;
says(doctor(), 'preload', 'error', qr/= ''/, qr/shared_preload_libraries = 'logsvc'; then restart/);
$t->sql('GRANT pg_read_all_settings TO operator');
is($t->sql($preload, user => 'operator'), "shared_preload_libraries = ''", 'who may read all settings sees that one');
$t->sql('REVOKE pg_read_all_settings FROM operator');
is($t->sql($preload, user => 'operator'), 'logsvc is not in shared_preload_libraries',
	'... other operators do not');

# standby_server.pl has a standby, active_organizations.pl too many of those.  Nothing here can make
# /dev/shm small; file systems can be small where they may be mounted.
delete $all->{$_} foreach 'standby', 'active organizations', 'shared memory', $ENV{SMALL_DISK} ? () : 'disk', $version < 18 ? () : 'checksums';
is_deeply([ grep { !$tried{$_} } sort keys %$all ], [], 'every check has failed');

$t->stop;
done_testing;
