# interrupted.pl: logsvc.distribute() and undistribute() that end in the middle, because the session
# is terminated, its client hangs up or it rolls back, leave everything as it was: the tables, what
# Citus knows of them on each node, and the events.  The service begins again by itself.
use strict;
use warnings;

use IPC::Run ();
use LogsvcCitus;
use LogsvcSender;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $cluster = LogsvcCitus->new(conf => "logsvc.flush_interval = '50ms'");
my $t = $cluster->coordinator;
my @workers = $cluster->workers;
my $org = $t->organization('acme');
my $first;
my $fingerprint = slurp_file('test/upgrade/fingerprint.sql');

# What the extension is made of, and what Citus knows of it; not partitions, which days make.
sub made_of
{
	my $known = join "\n", map { $_->sql(q{
		SELECT concat_ws(' ', 'table', d.logicalrelid, d.partmethod) FROM pg_dist_partition d
		WHERE d.logicalrelid NOT IN (SELECT i.inhrelid FROM pg_inherits i)
		UNION ALL SELECT 'shards ' || count(*) FROM pg_dist_shard s WHERE s.logicalrelid NOT IN (SELECT i.inhrelid FROM pg_inherits i)
		UNION ALL SELECT concat_ws(' ', 'object', o.classid::regclass, i.identity) FROM pg_dist_object o,
			pg_identify_object(o.classid, o.objid, o.objsubid) i WHERE i.identity LIKE 'logsvc_internal.%' AND i.identity !~ 'part_\d{8}'
		ORDER BY 1}) } $t, @workers;
	return "$known\n" . $t->sql("SET search_path = pg_catalog;\n$fingerprint");
}
sub same
{
	my ($expected, $what) = @_;
	my $now = made_of();
	my %is = map { $_ => 1 } split /\n/, $now;
	my %was = map { $_ => 1 } split /\n/, $expected;
	ok($now eq $expected, $what) or diag join "\n", map { substr $_, 0, 300 } (map { "only now: $_" } grep { !$was{$_} } sort keys %is),
		(map { "missing: $_" } grep { !$is{$_} } sort keys %was);
	return;
}
sub shards { return $t->sql(q{SET citus.override_table_visibility = off; SELECT count(*) FROM pg_class WHERE relnamespace = 'logsvc_internal'::regnamespace
	AND relkind IN ('r', 'p') AND relname ~ '_\d{6}$'}); }

# Runs a call in a psql of its own until it waits in the middle, for a lock that somebody holds on a
# node; the session's pid and the psql.
sub begin_call
{
	my ($call) = @_;
	my ($out, $err) = ('', '');
	# A server that runs a statement looks for its client only when it is told to.
	my $psql = IPC::Run::start([ 'psql', '-XAtq', '-h', $t->node->host, '-p', $t->node->port, 'postgres',
		'-c', "SET client_connection_check_interval = '100ms'", '-c', $call ], '>', \$out, '2>', \$err);
	my $pid;
	ok(wait_until(sub { $pid = $t->sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'
		AND query LIKE '%distribute()%' AND pid <> pg_backend_pid()}) }), "$call begins");
	return ($psql, $pid);
}
sub gone { my ($pid) = @_; return wait_until(sub { !$t->sql("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid") }); }

my %ways = (
	'the session is terminated' => sub { $t->sql("SELECT pg_terminate_backend($_[1])"); },
	'the client hangs up' => sub { $_[0]->kill_kill(grace => 0); },
	'the statement is cancelled' => sub { $t->sql("SELECT pg_cancel_backend($_[1])"); });

# Where each waits when it has done much of its work: on a worker node, which is told of the second
# table when the first one has been copied, and here, when the last shard is to be dropped.
my %middle = (
	distribute => sub { return ($workers[0], 'logsvc_internal.queue', 'ACCESS EXCLUSIVE'); },
	undistribute => sub { return ($t, $t->sql("SELECT logsvc_internal.stored_in('logsvc_internal.part')"), 'ACCESS SHARE'); });

foreach my $call (qw(distribute undistribute))
{
	my $before = made_of();
	$first //= $before;
	my ($node, $table, $mode) = $middle{$call}->();
	my $shards = shards();
	foreach my $way (sort keys %ways)
	{
		my $sender = LogsvcSender->start($t, $org, "$call" . length $way);
		my $holder = $node->node->background_psql('postgres');
		$holder->query_safe('SET citus.enable_manual_changes_to_shards = on');
		$holder->query_safe("BEGIN; LOCK TABLE $table IN $mode MODE");
		my ($psql, $pid) = begin_call("SELECT logsvc.$call()");
		ok(wait_until(sub { $node->sql("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '$table'::regclass") }),
			'and waits in the middle');
		$ways{$way}->($psql, $pid);
		ok(gone($pid), "$way: the session ends");
		$holder->query_safe('ROLLBACK');
		$holder->quit;
		eval { $psql->finish };
		$t->wait_ready;
		$sender->goes_on("$way: the service begins again");
		$sender->stop;
		$sender->check("$call: $way");
		same($before, 'everything is as before');
		is(shards(), $shards, 'no shard is left, none is missing');
		is($t->sql('SELECT count(*) FROM logsvc.verify_parts()'), 0, 'all parts are whole');
	}

	my $sender = LogsvcSender->start($t, $org, "${call}undone");
	$t->sql("BEGIN; SELECT logsvc.$call(); ROLLBACK");
	$sender->goes_on('what is rolled back ends, too');
	$sender->stop;
	$sender->check("$call rolled back");
	same($before, 'and leaves everything as before');

	# Nothing that was left keeps it from being done.
	ok($t->sql_json("SELECT logsvc.$call()")->{changed}, "$call: done");
	$t->wait_ready;
}
same($first, 'undistribute takes back what distribute has made');
is(shards(), 0, 'there are no shards');

$cluster->stop;
done_testing;
