# distribute.pl: logsvc.distribute() makes the tables of events tables of Citus, with their shard on
# the coordinator, while senders send; nothing is lost or doubled, and the service goes on over the
# shard: ingest, segments of the queue, searches, row security, merging, partitions, retention,
# deletions, a crash, and a worker node that is away.
use strict;
use warnings;

use LogsvcCitus;
use LogsvcTest;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $cluster = LogsvcCitus->new(conf => "logsvc.flush_interval = '50ms'\nrestart_after_crash = on");
my $t = $cluster->coordinator;
my @workers = $cluster->workers;
my %org = map { $_ => $t->organization($_) } qw(acme globex);
my %senders;

sub send_events
{
	my ($name, @events) = @_;
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $org{$name}{ingest_key}, json => \@events);
	die "$r->{status} $r->{content}" unless $r->{status} == 202;
	return;
}
sub search
{
	my ($name, $q, %query) = @_;
	my $r = $t->http(GET => '/api/v1/search', token => $org{$name}{read_key}, query => { q => $q, %query });
	return $r->{status} == 200 ? json_encode($r->{json}{data}{rows})
		: "$r->{status} $r->{content}";
}
sub found { return search($_[0], "$_[1] | stats count", earliest => '-30d', latest => '+1d') =~ s/^\[\[(\d+)\]\]$/$1/r; }
sub stored { return wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }); }
sub days_ago { return sprintf '%d', (time - $_[0] * 86400) * 1000; }
# Of a cluster, by node: answers, runs, events > 0, shards.
sub nodes
{
	return $t->sql(q{SELECT string_agg(concat_ws(' ', role, answers, runs, organizations, events, shards, bytes > 0), '; '
		ORDER BY role, node) FROM logsvc.node_status()});
}
my @searches = ('request', 'level=error', 'request n>390 | head 5', '* | stats count by level', '* | stats count, dc(n), p95(n) by source',
	'* | timechart span=1d count', '* | top 3 source', '* | where n % 100 = 7 | table n', '* | patterns', '* | sort -n | head 3');
sub all_searches { return map { my $name = $_; map { "$name $_: " . search($name, $_, earliest => '-30d', latest => '+1d') } @searches } sort keys %org; }

foreach my $name (sort keys %org)
{
	send_events($name, map { { event => "request $_ of $name", level => (qw(info warn error))[$_ % 3], source => 's' . $_ % 4,
		attributes => { n => $_ }, timestamp => days_ago($_ % 5) } } 1 .. 400);
}
ok(stored(), 'there are events');
my @before = all_searches();
is(scalar(grep { !/: \[./ || /: \[\]/ } @before), 0, 'which searches find') or diag join "\n", @before;

# ---- who may not, and where not ----

is(nodes(), sprintf('coordinator t t 2 %d 0 t; worker t f 0 0 0 t; worker t f 0 0 0 t',
	$t->sql('SELECT sum(rows) FROM logsvc_internal.part')), 'the coordinator has everything');
is(($workers[0]->sql_error('SELECT logsvc.distribute()'))[1], '55000', 'not on a worker node');
$t->sql('CREATE ROLE tenant LOGIN IN ROLE logsvc_tenant');
foreach my $call ('distribute()', 'undistribute()', 'node_status()')
{
	is(($t->sql_error("SELECT logsvc.$call", user => 'tenant'))[1], 'LS202',
		"a tenant may not: $call");
}
{
	my $alone = LogsvcCitus->server('alone');
	is(($alone->sql_error('SELECT logsvc.distribute()'))[2], 'Citus does not know the coordinator', 'other nodes must be able to reach it');
	$alone->stop;
}
$workers[1]->stop;
is(($t->sql_error('SELECT logsvc.distribute()'))[2], 'not all nodes are ready', 'not while a node is away');
is($t->sql(q{SELECT count(*) FROM logsvc.node_status() WHERE NOT answers AND found <> ''}), 1, 'which node_status says');
$workers[1]->start;
is($t->sql_json('SELECT logsvc.distribute("check" => true)')->{distributed}, JSON::PP::false, 'a check only tells');
is($t->sql('SELECT count(*) FROM pg_dist_partition'), 0, 'and changes nothing');

# ---- while events come in ----

# A process that sends events with a word and a number until it is stopped; stopping it returns the
# numbers that were acknowledged.
sub start_sender
{
	my ($word) = @_;
	pipe my $from, my $to or die;
	my $pid = fork // die;
	if (!$pid)
	{
		my %answers;
		my @taken;
		my $stop = 0;
		$SIG{TERM} = sub { $stop = 1 };
		for (my $n = 1; !$stop; $n++)
		{
			my $r = $t->http(POST => '/api/v1/logs', token => $org{acme}{ingest_key}, client => $word,
				json => { event => $word, attributes => { number => $n } }, timeout => 10);
			push @taken, $n if $r->{status} == 202;
			$answers{ $r->{status} == 599 ? "$r->{status} " . substr $r->{content}, 0, 60 : $r->{status} }++;
			sleep 0.01;
		}
		syswrite $to, json_encode({ taken => \@taken, answers => \%answers });
		POSIX::_exit(0);
	}
	close $to;
	$senders{$pid} = 1;
	return { pid => $pid, from => $from, word => $word };
}
sub stop_sender
{
	my ($sender) = @_;
	kill 'TERM', $sender->{pid};
	my $said = json_decode(readline $sender->{from});
	waitpid $sender->{pid}, 0;
	delete $senders{ $sender->{pid} };
	diag join ', ', map { "$_: $said->{answers}{$_}" } sort keys %{ $said->{answers} };
	return $said->{taken};
}
# Is each acknowledged event there, and none twice?
sub right
{
	my ($word, $taken, $what) = @_;
	my $rows = json_decode(search('acme', "$word | stats count by number | sort number | head 10000",
		earliest => '-1h', latest => '+1d'));
	my %count = map { $_->[0] => $_->[1] } @$rows;
	is(join(' ', grep { !$count{$_} } @$taken), '', "$what: each event that was acknowledged");
	is(join(' ', grep { $count{$_} > 1 } sort keys %count), '', "$what: none twice");
	return;
}
# A test that dies leaves none behind.
END { kill 'KILL', keys %senders; }

my $sender = start_sender('meanwhile');
ok(wait_until(sub { found('acme', 'meanwhile') > 20 }), 'a sender sends');
my $begun = time;
my $made = $t->sql_json('SELECT logsvc.distribute()');
diag sprintf 'distribute: %.2f s', time - $begun;
is_deeply([ @$made{qw(distributed changed)} ], [ JSON::PP::true, JSON::PP::true ], 'the tables are distributed');
$t->wait_ready;
my $then = found('acme', 'meanwhile');
ok(wait_until(sub { found('acme', 'meanwhile') > $then + 20 }), 'and the sender goes on');
my $taken = stop_sender($sender);
right('meanwhile', $taken, 'after it');
ok(stored(), 'all is stored');
right('meanwhile', $taken, 'stored');

# ---- over the shard ----

is($t->sql_json('SELECT logsvc.distribute()')->{changed}, JSON::PP::false, 'a second time changes nothing');
is($t->sql(q{SELECT count(*) FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) WHERE p.groupid <> 0
	AND s.logicalrelid::text LIKE 'logsvc_internal.%'}), 0, 'every shard is on the coordinator');
is($t->sql(q{SELECT count(DISTINCT colocationid) FROM pg_dist_partition WHERE logicalrelid IN ('logsvc_internal.part'::regclass,
	'logsvc_internal.queue'::regclass)}), 1, 'in one group');
like(nodes(), qr/^coordinator t t 2 \d{3,4} 1 t; worker t f 0 0 0 f; worker t f 0 0 0 f$/, 'which node_status says');
my @after = all_searches();
is(join("\n", grep { /globex/ } @after), join("\n", grep { /globex/ } @before), 'searches find the same');
like($t->sql('EXPLAIN SELECT count(*) FROM logsvc_internal.part WHERE level = 1'), qr/ on part_\d{8}_\d+/, 'statements are planned over shards');
unlike($t->sql('EXPLAIN SELECT count(*) FROM logsvc_internal.part WHERE level = 1'), qr/Citus/, 'and not by Citus');
{
	my $both = sub { return $t->sql("SELECT logsvc.act_as('$_[0]') IS NULL AS nobody \\gset
		SET ROLE logsvc_reader; SELECT count(*), count(DISTINCT organization_id) FROM logsvc_internal.$_[1]", ) };
	foreach my $name (sort keys %org)
	{
		like($both->($name, 'part'), qr/^[1-9]\d*\|1$/, "row security shows $name its own parts");
		is(found($name, $name eq 'acme' ? 'globex' : 'acme'), 0, 'a search finds nothing of another organization');
	}
	is($t->sql('SET ROLE logsvc_reader; SELECT count(*) FROM logsvc_internal.part'), 0, 'and who is nobody sees nothing');
	is(($t->sql_error('SELECT count(*) FROM logsvc_internal.part', user => 'tenant'))[1], '42501', 'nor may a tenant read the table');
	my $shard = $t->sql("SELECT logsvc_internal.stored_in('logsvc_internal.part')");
	is(($t->sql_error("SELECT count(*) FROM $shard", user => 'tenant'))[1], '42501', 'nor its shard');
}

# ---- ingest: segments fill, are drained and emptied ----

{
	my $from = $t->log_position;
	local $LogsvcTest::kept = {};
	for my $round (1 .. 3)
	{
		$t->sql("SELECT logsvc.act_as('globex') IS NULL; " . q{SELECT count(logsvc.ingest(jsonb_build_object('event', 'one of many ' || n))) FROM
			generate_series(1, 1000) n; } x 1) foreach 1 .. 3;
	}
	is(found('globex', 'many'), 9000, 'nine thousand batches');
	ok(stored(), 'are stored');
	is(found('globex', 'many'), 9000, 'each once');
	ok(wait_until(sub { $t->sql(q{SELECT sum(pg_relation_size(logsvc_internal.stored_in(inhrelid))) FROM pg_inherits
		WHERE inhparent = 'logsvc_internal.queue'::regclass}) < 1000000 }), 'the segments of the queue are emptied');
	unlike($t->log_text($from), qr/could not|ERROR/, 'nothing fails');
}

# ---- days: made, dropped ----

sub partition { return $t->sql("SELECT 'part_' || to_char((now() AT TIME ZONE 'UTC')::date - $_[0], 'YYYYMMDD')"); }
my $old = partition(20);
is($t->sql("SELECT to_regclass('logsvc_internal.$old') IS NULL"), 't', 'a day has no partition');
send_events('acme', { event => 'long ago', timestamp => days_ago(20) });
ok(wait_until(sub { $t->sql("SELECT to_regclass('logsvc_internal.$old') IS NOT NULL") eq 't' }), 'its first event makes one');
ok(stored(), 'and is stored');
is($t->sql("SELECT count(*) FROM logsvc_internal.$old"), 1, 'in it');
is($t->sql("SELECT logsvc_internal.stored_in('logsvc_internal.$old') <> 'logsvc_internal.$old'::regclass"), 't', 'in its shard');
is(found('acme', 'ago'), 1, 'a search finds it');
is($workers[0]->sql("SELECT count(*) FROM pg_inherits WHERE inhrelid = to_regclass('logsvc_internal.$old')"), 1, 'a worker node knows the partition');
$t->sql("SELECT logsvc.set_limit('$_', 'retention_days', 10)") foreach sort keys %org;
$t->sql('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = $$logsvc compactor$$');
ok(wait_until(sub { $t->sql("SELECT to_regclass('logsvc_internal.$old') IS NULL") eq 't' }), 'when all of it is past its retention, it goes');
is($t->sql(qq{SELECT count(*) FROM pg_class WHERE relname LIKE '$old%'}), 0, 'with its shard');
is(found('acme', 'ago'), 0, 'and its events');

# ---- merging, deletions ----

ok(wait_until(sub { $t->sql(q{SELECT max(level) > 1 FROM logsvc_internal.part WHERE index_name = 'main'}) eq 't' }), 'parts are merged');
is($t->sql('SELECT count(*) FROM logsvc.verify_parts()'), 0, 'and whole');
my $r = $t->http(DELETE => '/api/v1/logs', token => $org{globex}{token}, json => { q => 'index=main many earliest=-1d latest=+1d', reason => 'test' });
is($r->{status}, 202, 'a deletion is requested') or diag $r->{content};
ok(wait_until(sub { found('globex', 'many') == 0 }), 'events are deleted');
is(found('globex', 'request'), 400, 'and no others');

# ---- a crash; a node that is away ----

send_events('acme', map { { event => "before the crash $_" } } 1 .. 50);
$t->crash;
$t->start;
$t->wait_ready;
is(found('acme', 'crash'), 50, 'what was acknowledged is there after a crash');
ok(stored(), 'and is stored');
is(found('acme', 'crash'), 50, 'once');
$workers[0]->stop;
send_events('acme', map { { event => "alone $_" } } 1 .. 50);
ok(stored(), 'without a worker node events are stored');
is(found('acme', 'alone'), 50, 'and found');
$workers[0]->start;
is($t->sql(q{SELECT string_agg("check" || ' ' || found, '; ') FROM logsvc.doctor()
	WHERE "check" IN ('workers', 'partitions', 'shards', 'queue', 'merging') AND state <> 'ok'}), '', 'doctor is content');
is(scalar(grep { $_->{name} eq 'logsvc_stored_bytes' && $_->{value} > 100000 } @{ $t->sql_json(
	"SELECT jsonb_agg(jsonb_build_object('name', name, 'value', value)) FROM logsvc_internal.database_figures()") }), 1, 'figures are of the shards');

# ---- Citus moves the shard away, and back ----

sub move_statement
{
	my ($from, $to) = @_;
	return (sprintf q{SELECT citus_move_shard_placement(s.shardid, '%s', %d, '%s', %d, 'block_writes')
		FROM pg_dist_shard s WHERE s.logicalrelid = 'logsvc_internal.part'::regclass},
		map { ($_->node->host, $_->node->port) } $from, $to);
}
{
	my $at = $t->log_position;
	my $mover = start_sender('mover');
	ok(wait_until(sub { found('acme', 'mover') > 20 }), 'a sender sends');
	is(($t->sql_error(move_statement($t, $workers[0])))[2],
		"Moving shards to a node that shouldn't have a shard is not supported",
		'Citus itself moves it to no other node');
	# A node that moves shards connects to itself.
	$_->set('citus.local_hostname', $_->node->host) foreach $t, @workers;
	$t->sql(sprintf q{SELECT citus_set_node_property('%s', %d, 'shouldhaveshards', true)},
		$workers[0]->node->host, $workers[0]->node->port);
	$t->sql(move_statement($t, $workers[0]));
	ok(wait_until(sub { $t->log_text($at) =~ /does not run: Citus has its events not in one shard/
		&& !$t->workers('^logsvc (?!launcher|probe)') }),
		'when the shard is elsewhere the service ends');
	is(($t->sql_error("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.log('lost')"))[1], '55000', 'and SQL sends nothing');
	is($t->sql(q{SELECT state FROM logsvc.doctor() WHERE "check" = 'shards'}), 'error', 'doctor says so');
	is(($t->sql_error("SELECT logsvc.$_()"))[1], '55000', "$_ refuses")
		foreach qw(distribute undistribute);
	$t->sql(move_statement($workers[0], $t));
	ok(wait_until(sub { ($t->http(GET => '/readyz', timeout => 5)->{status} // 0) == 200 }), 'when it is back the service begins again');
	my $before = found('acme', 'mover');
	ok(wait_until(sub { found('acme', 'mover') > $before + 20 }), 'and takes events');
	my $acknowledged = stop_sender($mover);
	right('mover', $acknowledged, 'moved there and back');
	ok(stored(), 'all is stored');
	right('mover', $acknowledged, 'stored');
	is($t->sql('SELECT count(*) FROM logsvc_internal.dead_letter'), 0, 'none is a dead letter');
}

# ---- and back to ordinary tables ----

{
	my @here = all_searches();
	is($t->sql_json('SELECT logsvc.undistribute()')->{changed}, JSON::PP::true, 'the tables are of this server alone again');
	$t->wait_ready;
	is(join("\n", all_searches()), join("\n", @here), 'searches find the same');
	is($t->sql(q{SELECT count(*) FROM pg_dist_partition}), 0, 'Citus knows none of them');
	is($t->sql(q{SET citus.override_table_visibility = off; SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'p') AND relname ~ '^(part|queue).*_\d{6}$'}), 0, 'no shard is left');
	is($workers[0]->sql(q{SELECT count(*) FROM pg_dist_partition}), 0, 'nor on worker nodes');
	send_events('acme', map { { event => "again $_" } } 1 .. 10);
	ok(stored(), 'events are stored');
	is(found('acme', 'again'), 10, 'and found');
	is($t->sql_json('SELECT logsvc.undistribute()')->{changed}, JSON::PP::false, 'a second time changes nothing');
	ok($t->sql_json('SELECT logsvc.distribute()')->{changed}, 'and distributed once more');
	$t->wait_ready;
	is(found('acme', 'again'), 10, 'they are there');
	is($t->sql('SELECT count(*) FROM logsvc.verify_parts()'), 0, 'all parts are whole');
}

# ---- without the extension ----

is(($t->sql_error('DROP EXTENSION logsvc CASCADE'))[2], 'the tables of events of logsvc are distributed',
	'the extension is not dropped before');
ok($t->sql_json('SELECT logsvc.undistribute()')->{changed}, 'not distributed');
$t->sql('DROP EXTENSION logsvc CASCADE');
is($t->sql(q{SET citus.override_table_visibility = off; SELECT count(*) FROM pg_class WHERE relnamespace::regnamespace::text LIKE 'logsvc%'}), 0,
	'DROP EXTENSION leaves nothing');

$cluster->stop;
done_testing;
