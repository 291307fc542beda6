# tenants.pl: many organizations that send little: do writers and compactors
# keep up, and how many parts does a day of it leave?
#
#	make bench B=tenants		rows "metric value unit"
#
# Environment: TENANTS (10000) organizations, each with one event a minute, for
# SECONDS (60); and DAY_TENANTS (20) organizations for the 1,440 minutes of a
# day, an event and a flush a minute, as fast as it goes.
#
# Events come in through SQL, an organization each, a transaction for each
# twentieth of a second: the queue gets one entry for each event.
use strict;
use warnings;

use lib 'test/bench';
use LogsvcBench;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $tenants = $ENV{TENANTS} || 10_000;
my $seconds = $ENV{SECONDS} || 60;
my $day_tenants = $ENV{DAY_TENANTS} || 20;

my $t = LogsvcTest->new(conf => join "\n",
	'shared_buffers = 512MB', 'max_wal_size = 16GB', 'checkpoint_timeout = 1h', 'autovacuum = on');

sub cpu_of
{
	my ($kind) = @_;
	my $cpu = 0;
	$cpu += process_cpu($_) foreach $t->workers("^logsvc $kind\$");
	return $cpu;
}

# Organizations as the service makes them, without their mails and audit entries.
sub organizations
{
	my ($n, $slug) = @_;
	$t->sql("INSERT INTO logsvc_internal.organization (slug, name, plan) SELECT '$slug-' || i, "
		. "'$slug', 'pro' FROM generate_series(1, $n) i;"
		. "INSERT INTO logsvc_internal.log_index (organization_id, name) SELECT id, 'main' FROM "
			. "logsvc_internal.organization WHERE name = '$slug';"
		. "CREATE TABLE public.$slug AS SELECT row_number() OVER () - 1 AS n, "
			. "logsvc_internal.public_id('org_', id) AS id, id AS uuid"
		. " FROM logsvc_internal.organization WHERE name = '$slug'; CREATE INDEX ON "
			. "public.$slug (n)");
	return;
}

# One event of an organization; act_as is what it costs to be another one.
$t->sql(q{CREATE FUNCTION public.send(organization text, number int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM logsvc.act_as(organization);
	PERFORM logsvc.log('GET /api/v1/items/' || number || ' 200 in ' || number % 97 || ' ms', 'info', 'api',
		jsonb_build_object('request_id', md5(number::text), 'status', 200));
END $$});

sub parts
{
	my ($slug) = @_;
	return split /\|/, $t->sql("SELECT count(*), coalesce(sum(rows), 0), coalesce(max(n), 0) FROM "
		. "(SELECT p.rows, count(*) OVER (PARTITION BY organization_id) AS n"
		. " FROM logsvc_internal.part p JOIN public.$slug o ON o.uuid = p.organization_id) s");
}

# ---- a minute of many ----

organizations($tenants, 'many');
my %before = map { $_ => cpu_of($_) } qw(writer compactor);
my $begin = time;
my $deepest = 0;
my $sender = fork // die;
if (!$sender)
{
	my $each = $tenants / 60 / 20;
	$t->sql("DO \$\$ DECLARE began timestamptz := clock_timestamp(); done int := 0; due "
		. "int; BEGIN LOOP"
		. " due := least(extract(epoch FROM clock_timestamp() - began) * "
			. "$tenants / 60, $tenants / 60.0 * $seconds);"
		. " PERFORM public.send(id, (done + n)::int) FROM public.many WHERE n >= done % $tenants "
			. "AND n < done % $tenants + due - done;"
		. " COMMIT; done := least(due, done + $tenants - done % $tenants);"
		. " EXIT WHEN done >= floor($tenants / 60.0 * $seconds); PERFORM pg_sleep(0.05); END "
			. "LOOP; END \$\$");
	require POSIX;
	POSIX::_exit(0);
}
while (waitpid($sender, 1) == 0)
{
	my $waiting = $t->sql('SELECT count(*) FROM logsvc_internal.queue');
	$deepest = $waiting if $waiting > $deepest;
	sleep 1;
}
my $sent = time - $begin;
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 60)
	or die "the queue did not drain\n";
my $drained = time - $begin - $sent;
my ($parts, $events, $most) = parts('many');
metric('tenants', $tenants, 'organizations');
metric('tenants_events', $events, 'events');
metric('tenants_rate', sprintf('%.0f', $events / $sent), 'events/s');
metric('tenants_queue_deepest', $deepest, 'events');
metric('tenants_drained_after', sprintf('%.1f', $drained), 's');
metric('tenants_parts', $parts, 'parts');
metric('tenants_parts_most', $most, 'parts/organization');
metric("tenants_${_}_cpu", sprintf('%.1f', 100 * (cpu_of($_) - $before{$_}) / $sent), '% of a core')
	foreach qw(writer compactor);

# ---- a day of a few ----

organizations($day_tenants, 'day');
$t->set('logsvc.flush_interval', '10ms');
%before = map { $_ => cpu_of($_) } qw(writer compactor);
my $written_before = $t->sql('SELECT last_value FROM logsvc_internal.part_id');
my ($highest, $minute) = (0, 0);
while ($minute < 1440)
{
	# Each minute's events become parts of their own, as if it had passed.
	$t->sql("DO \$\$ BEGIN FOR i IN $minute .. $minute + 47 LOOP PERFORM public.send(id, i) FROM "
		. "public.day; COMMIT;"
		. " WHILE EXISTS (SELECT FROM logsvc_internal.queue) LOOP PERFORM pg_sleep(0.002); COMMIT; "
			. "END LOOP; END LOOP; END \$\$");
	$minute += 48;
	my (undef, undef, $now) = parts('day');
	$highest = $now if $now > $highest;
}
my $at_rest = wait_until(sub {
	sleep 1;
	$t->sql(q{SELECT count(*) FROM (SELECT FROM (
		SELECT organization_id, index_name, day, greatest(rows, raw_bytes >> 10) AS size
		FROM logsvc_internal.part WHERE level BETWEEN 1 AND 8) s WHERE size < 16384
		GROUP BY organization_id, index_name, day, width_bucket(size, '{8,64,512,4096}'::bigint[])
		HAVING count(*) >= 8) k}) == 0;
}, 120);
($parts, $events, $most) = parts('day');
my $written = $t->sql('SELECT last_value FROM logsvc_internal.part_id') - $written_before;
metric('day_minutes', $minute, 'flushes');
metric('day_events', $events, 'events');
metric('day_merges', $written - $minute * $day_tenants, 'merges');
metric('day_parts', sprintf('%.1f', $parts / $day_tenants), 'parts/organization');
metric('day_parts_most', $most, 'parts/organization');
metric('day_parts_highest', $highest, 'parts/organization');
metric('day_bytes', $t->sql("SELECT round(sum(octet_length(header) + octet_length(body)) / "
	. "sum(rows), 1) FROM logsvc_internal.part p JOIN public.day o ON o.uuid = p.organization_id"),
		'bytes/event');
metric("day_${_}_cpu", sprintf('%.1f', 1e6 * (cpu_of($_) - $before{$_}) / $events), 'us/event')
	foreach qw(writer compactor);
die "merging does not come to rest\n" unless $at_rest;
die "events are missing\n" if $events != $minute * $day_tenants;
$t->stop;
