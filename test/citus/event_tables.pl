# event_tables.pl: all tables of events are distributed together: queue, store, deferred events,
# dead letters, deletions, and what is counted for quotas.  Their rows are there after
# logsvc.distribute(), after moves of the shard and after logsvc.undistribute(), while senders send;
# what writes and reads them works in each of these states; what is counted is exact.
#
# Takes long.
use strict;
use warnings;

use LogsvcCitus;
use LogsvcSender;
use LogsvcTest;
use Test::More;

# Noon of another day: no midnight of the real clock comes into the way.
$ENV{LOGSVC_DEBUG_QUOTA_CLOCK} = 86400 + 12 * 3600 - time % 86400;
my $cluster = LogsvcCitus->new(conf => join "\n", "logsvc.flush_interval = '50ms'",
	'logsvc.writers = 1', 'max_wal_senders = 20', 'max_replication_slots = 20');
my $t = $cluster->coordinator;
my @workers = $cluster->workers;
my @tables = qw(dead_letter deferred deletion ingest_day ingest_tally part queue);
my %org = map { $_ => $t->organization($_) } qw(acme keeps waits works);
my $round = 0;
my $launcher;
# A test that dies leaves no process stopped.
END { local $?; kill 'CONT', $launcher if $launcher; }

sub http
{
	my ($method, $path, $name, %opt) = @_;
	return $t->http($method => "/api/v1/$path", token => $org{$name}{token}, %opt);
}
sub send_events
{
	my ($name, @texts) = @_;
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $org{$name}{ingest_key},
		json => [ map { { event => $_ } } @texts ]);
	die "$r->{status} $r->{content}" unless $r->{status} == 202;
	return $r->{json}{data}{status} // 'queued';
}
sub found
{
	my ($name, $q) = @_;
	my $r = $t->http(GET => '/api/v1/search', token => $org{$name}{read_key},
		query => { q => "$q | stats count", earliest => '-1h', latest => '+2d' });
	die "$r->{status} $r->{content}" unless $r->{status} == 200;
	return $r->{json}{data}{rows}[0][0];
}
sub usage { return http(GET => 'usage', $_[0])->{json}{data}{ingest}; }
sub history { return http(GET => 'usage/history', $_[0], query => { days => 1 })->{json}{data}[0]; }
sub id_of { return "(SELECT id FROM logsvc_internal.organization WHERE slug = '$_[0]')"; }
sub limit
{
	my ($name, $n) = @_;
	$t->sql("SELECT logsvc.set_limit('$name', 'ingest_bytes_per_day', $n)");
	return;
}
# All that comes now is beyond the quota.
sub fill { limit($_[0], usage($_[0])->{usedBytes}); return; }
sub stored { return wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }); }
sub add_up
{
	$t->sql('SELECT logsvc_internal.run_quotas(clock_timestamp())');
	return;
}
sub dead { return $t->sql('SELECT count(*) FROM logsvc_internal.dead_letter WHERE '
	. 'organization_id = ' . id_of($_[0]) . " AND status = '$_[1]'"); }
# Changes a byte of the header of a row, or changes it back.
sub flip { return 'SET header = set_byte(header, octet_length(header) - 3, 255 - '
	. 'get_byte(header, octet_length(header) - 3))'; }

# Makes dead letters of events that are damaged while they wait in the queue.
sub bury
{
	my ($name, @texts) = @_;
	my $before = dead($name, 'dead');
	$t->stop_at('write_after_delete');
	send_events($name, 'before');
	$t->wait_held('write_after_delete');
	foreach my $text (@texts)
	{
		send_events($name, $text);
		$t->sql('UPDATE logsvc_internal.queue ' . flip()
			. ' WHERE id = (SELECT max(id) FROM logsvc_internal.queue)');
	}
	$t->let_go('write_after_delete');
	ok(wait_until(sub { dead($name, 'dead') == $before + @texts }), "$name: dead letters");
	return;
}

# ---- what must be there whatever happens ----

foreach my $name (qw(keeps waits works))
{
	$t->sql("SELECT logsvc.set_limit('$name', 'overage_queue_seconds', 3600);
		SELECT logsvc.set_limit('$name', 'deferred_bytes', 1 << 30)");
	send_events($name, "first of $name");
}
my $test_key = $t->sql_json(
	"SELECT logsvc.create_api_key('keeps', 't', 'ingest-only', 'test')")->{key};
is($t->http(POST => '/api/v1/logs', token => $test_key, json => { event => 'of a test' })->{status},
	202, 'a test key');
bury('keeps', 'damaged one', 'damaged two');
send_events('keeps', map { "unwanted $_" } 1 .. 5);
ok(stored(), 'events are stored');
is(http(DELETE => 'logs', 'keeps', json => { q => 'index=main unwanted earliest=-1h latest=+2d',
	reason => 'test' })->{status}, 202, 'a deletion');
ok(wait_until(sub { found('keeps', 'unwanted') == 0 }), 'ends');
add_up();
fill('keeps');
is(send_events('keeps', map { "late $_" } 1 .. 4), 'deferred', 'events beyond a quota');
fill('waits');

# All that an organization has in the tables that do not change by themselves, and its sums.
sub kept
{
	my $id = id_of('keeps');
	my $rows = join "\n", map { $t->sql("SELECT '$_ ' || count(*) || ' '
		|| md5(string_agg(md5(t::text), '' ORDER BY md5(t::text)))
		FROM logsvc_internal.$_ t WHERE organization_id = $id") } qw(deferred dead_letter deletion);
	return "$rows\n" . json_encode([ usage('keeps'), history('keeps'),
			http(GET => 'dead-letters', 'keeps')->{json}{data},
			http(GET => 'log-deletions', 'keeps')->{json}{data} ]);
}
my $kept = kept();
like($kept, qr/^deferred 1 \w+\ndead_letter 2 \w+\ndeletion 1 .*"deferredEvents":4/s,
	'there is something to keep') or diag $kept;

# ---- what writes and reads them ----

sub deferred_works
{
	my ($when, $word) = @_;
	my $before = usage('works');

	fill('works');
	is(send_events('works', map { "$word later $_" } 1 .. 3), 'deferred', "$when: deferred");
	my $waits = usage('works');
	is("$waits->{deferredEvents} $waits->{usedEvents}", "3 $before->{usedEvents}", 'not charged');
	is(found('works', "$word later"), 0, 'nor found');
	limit('works', 'NULL');
	ok(wait_until(sub { found('works', "$word later") == 3 }), 'until the quota allows them');
	my $after = usage('works');
	is("$after->{deferredEvents} $after->{usedEvents} $after->{usedBytes}", join(' ', 0,
		$before->{usedEvents} + 3, $before->{usedBytes} + $waits->{deferredBytes}), 'exactly');

	my $discarded = history('works')->{discardedEvents};
	fill('works');
	send_events('works', map { "$word never $_" } 1 .. 2);
	$t->sql('UPDATE logsvc_internal.deferred SET expires_at = deferred_at WHERE organization_id = '
		. id_of('works'));
	ok(wait_until(sub { usage('works')->{deferredEvents} == 0 }), 'or not in time: they go');
	is(history('works')->{discardedEvents}, $discarded + 2, 'and are counted');
	limit('works', 'NULL');
	return;
}

sub dead_letters_work
{
	my ($when, $word) = @_;
	bury('works', "$word returns", "$word goes");
	my @dead = reverse @{ http(GET => 'dead-letters', 'works', query => { status => 'dead' })
		->{json}{data} };
	is(scalar @dead, 2, "$when: two are listed");
	my $r = http(POST => 'dead-letters/discard', 'works',
		json => { ids => [ $dead[1]{id} ], reason => 'test' });
	is("$r->{status} $r->{json}{data}{count}", '200 1', 'one is discarded');
	$t->sql('UPDATE logsvc_internal.dead_letter ' . flip() . " WHERE status = 'dead'
		AND organization_id = " . id_of('works'));
	$r = http(POST => 'dead-letters/replay', 'works', json => { ids => [ $dead[0]{id} ] });
	is("$r->{status} $r->{json}{data}{count}", '202 1', 'one returns');
	ok(wait_until(sub { found('works', "$word (returns OR goes)") == 1 && stored() }), 'is stored');
	is(dead('works', 'dead'), 0, 'and dead no more');
	$t->sql("UPDATE logsvc_internal.dead_letter SET closed_at = now() - interval '31 days'
		WHERE closed_at IS NOT NULL; SELECT logsvc_internal.purge_dead_letters(now())");
	is($t->sql('SELECT count(*) FROM logsvc_internal.dead_letter WHERE closed_at IS NOT NULL'), 0,
		'closed ones go after 30 days');
	return;
}

sub deletions_work
{
	my ($when, $word) = @_;
	send_events('works', map { "$word unwanted $_" } 1 .. 5);
	# As a tenant, too.
	$t->sql("SELECT logsvc.act_as('works') IS NULL; SET ROLE tenant; SELECT logsvc.delete_logs(
		'index=main $word unwanted 5 earliest=-1h latest=+2d', 'test')");
	my $r = http(DELETE => 'logs', 'works', json => { reason => 'test',
		q => "index=main $word unwanted earliest=-1h latest=+2d" });
	is($r->{status}, 202, "$when: a deletion");
	my $run;
	ok(wait_until(sub { $run = http(GET => "log-deletions/$r->{json}{data}{runId}", 'works')
		->{json}{data}; $run->{status} eq 'done' }), 'ends') or diag json_encode($run);
	is(found('works', "$word unwanted"), 0, 'nothing of it is left');
	is($t->sql("SELECT sum(deleted) FROM logsvc_internal.deletion WHERE status = 'done'
		AND q LIKE '%$word%'"), 5, 'each is deleted once');
	$t->sql("UPDATE logsvc_internal.deletion SET finished_at = now() - interval '31 days'
		WHERE q LIKE '%$word%'; SELECT logsvc_internal.purge_deletions(now())");
	is(http(GET => "log-deletions/$r->{json}{data}{runId}", 'works')->{status}, 404,
		'it goes after 30 days');
	return;
}

sub counts_work
{
	my ($when) = @_;
	my $before = json_encode(history('works'));
	add_up();
	is($t->sql('SELECT count(*) FROM logsvc_internal.ingest_tally WHERE organization_id = '
		. id_of('works')), 0, "$when: counts are added up");
	is(json_encode(history('works')), $before, 'and the same');
	$t->sql("INSERT INTO logsvc_internal.ingest_day (organization_id, day, test, bytes)
		SELECT id, '2020-01-01', false, 1 FROM logsvc_internal.organization WHERE slug = 'works';
		SELECT logsvc_internal.purge_quotas(now())");
	is($t->sql("SELECT count(*) FROM logsvc_internal.ingest_day WHERE day < '2021-01-01'"), 0,
		'old ones go');
	return;
}

# An organization is erased with all that it has in these tables.
sub erasing_works
{
	my ($when, $word) = @_;
	my $gone = $t->organization("gone-$word");
	my $id = $t->sql('SELECT ' . id_of("gone-$word"));
	$t->sql(qq{INSERT INTO logsvc_internal.deferred SELECT (jsonb_populate_record(d,
			jsonb_build_object('organization_id', '$id'))).* FROM logsvc_internal.deferred d;
		INSERT INTO logsvc_internal.dead_letter SELECT (jsonb_populate_record(d,
			jsonb_build_object('organization_id', '$id'))).* FROM logsvc_internal.dead_letter d;
		INSERT INTO logsvc_internal.deletion SELECT (jsonb_populate_record(d,
			jsonb_build_object('organization_id', '$id'))).* FROM logsvc_internal.deletion d;
		INSERT INTO logsvc_internal.ingest_day SELECT '$id', now(), false, 1, 1, 1, 1;
		INSERT INTO logsvc_internal.ingest_tally SELECT '$id', now(), false, 1, 1;
		UPDATE logsvc_internal.organization SET deleted_at = now() - interval '8 days'
			WHERE id = '$id'});
	my $rows = sub { return join ' ', map { $t->sql("SELECT count(*) > 0
		FROM logsvc_internal.$_ WHERE organization_id = '$id'") } grep { !/part|queue/ } @tables };
	is($rows->(), 't t t t t', "$when: an organization has something in each");
	ok(wait_until(sub { $t->sql('SELECT logsvc_internal.erase_organizations(now())');
		!$t->sql("SELECT count(*) FROM logsvc_internal.organization WHERE id = '$id'") }),
		'it is erased');
	is($rows->(), 'f f f f f', 'with all of it');
	return;
}

sub works
{
	my ($when) = @_;
	my $word = 'round' . ++$round;
	my $before = usage('works')->{usedEvents};
	my $there = found('works', '*');
	deferred_works($when, $word);
	dead_letters_work($when, $word);
	counts_work($when);
	deletions_work($when, $word);
	erasing_works($when, $word);
	# 3 deferred, 'before' and two damaged ones, 5 deleted; one damaged and the deleted are gone.
	is(usage('works')->{usedEvents} - $before, 11, "$when: as many are charged as were accepted");
	is(found('works', '*') - $there, 5, 'and as many found as there should be');
	is(kept(), $kept, "$when: what was there is there");
	return;
}
$t->sql('CREATE ROLE tenant LOGIN IN ROLE logsvc_tenant');
works('on one server');

# ---- while senders send ----

my ($acme, $waits, $taken);
sub senders
{
	$round++;
	$acme = LogsvcSender->start($t, $org{acme}, "word$round");
	$waits = LogsvcSender->start($t, $org{waits}, "late$round", unseen => 1);
	return;
}
# Each acknowledged event is there once, deferred ones after they may be; what is charged is exact.
sub senders_are_right
{
	my ($what) = @_;
	$acme->goes_on("$what: a sender goes on");
	$_->stop foreach $acme, $waits;
	ok(stored(), 'all is stored');
	$acme->check($what);
	is(found('waits', "late$round"), 0, "$what: nothing is found beyond the quota");
	my $deferred = usage('waits')->{deferredEvents};
	cmp_ok($deferred, '>=', scalar @{ $waits->{taken} }, 'which waits');
	cmp_ok(scalar @{ $waits->{taken} }, '>', 20, 'while it was sent');
	limit('waits', 'NULL');
	ok(wait_until(sub { usage('waits')->{deferredEvents} == 0 && stored() }), 'and comes out')
		or diag json_encode(usage('waits'));
	is(found('waits', "late$round"), $deferred, 'all of it');
	$waits->check("$what: deferred");
	foreach my $name (qw(acme waits))
	{
		add_up() if $name eq 'waits';
		is(usage($name)->{usedEvents}, found($name, '*'), "$what: what is charged is what is there");
	}
	fill('waits');
	is(kept(), $kept, "$what: what was there is there");
	return;
}
sub placed { return $t->sql(q{SELECT string_agg(DISTINCT c.relname || ' ' || p.groupid, ', '
	ORDER BY c.relname || ' ' || p.groupid) FROM pg_dist_shard s
	JOIN pg_dist_placement p USING (shardid)
	JOIN pg_class c ON c.oid = s.logicalrelid AND NOT c.relispartition}); }
sub all_in { my ($group) = @_; return join ', ', map { "$_ $group" } @tables; }

senders();
ok($t->sql_json('SELECT logsvc.distribute()')->{changed}, 'the tables are distributed');
$t->wait_ready;
senders_are_right('distributed');
is(placed(), all_in(0), 'each table has a shard on the coordinator');
is($t->sql('SELECT count(DISTINCT colocationid) FROM pg_dist_partition'), 1, 'in one group');
works('distributed');

# ---- shards: rules, statements ----

foreach my $table (grep { !/part|queue/ } @tables)
{
	my $shard = $t->sql("SELECT logsvc_internal.stored_in('logsvc_internal.$table')");
	isnt($shard, "logsvc_internal.$table", "$table has its rows in a shard");
	like($t->sql("EXPLAIN SELECT * FROM logsvc_internal.$table"), qr/Seq Scan on \w+_\d{6}|Index/,
		'statements are planned over it');
	my $rules = sub { return $t->sql("SET citus.override_table_visibility = off;
		SELECT c.relrowsecurity || ' ' || coalesce((SELECT
		string_agg(concat_ws(' ', p.polname, p.polroles::text, pg_get_expr(p.polqual, c.oid)), ',')
		FROM pg_policy p WHERE p.polrelid = c.oid), 'none') FROM pg_class c
		WHERE c.oid = '$_[0]'::regclass") };
	is($rules->($shard), $rules->("logsvc_internal.$table"), 'it has the same policies');
	is($rules->($shard), 'true none', 'under row security, for nobody');
	foreach my $name ($shard, "logsvc_internal.$table")
	{
		is(($t->sql_error("SELECT count(*) FROM $name", user => 'tenant'))[1], '42501',
			"a tenant may not read $name");
		is(($t->sql_error("SET ROLE logsvc_reader; SELECT count(*) FROM $name"))[1], '42501',
			'nor may a search');
	}
}

# ---- moves of the shard ----

my ($shard) = split / /, $t->sql(
	q{SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'logsvc_internal.part'::regclass});
sub move
{
	my ($from, $to, $how) = @_;
	return sprintf q{SELECT citus_move_shard_placement(%d, '%s', %d, '%s', %d, '%s')}, $shard,
	  (map { ($_->node->host, $_->node->port) } $from, $to), $how;
}
$_->set('citus.local_hostname', $_->node->host) foreach $t, @workers;
$t->sql(sprintf q{SELECT citus_set_node_property('%s', %d, 'shouldhaveshards', true)},
	$workers[0]->node->host, $workers[0]->node->port);

# A plan that was made before takes the lock of a move, too.
my %write = (
	deferred => 'DELETE FROM logsvc_internal.deferred WHERE organization_id = $1',
	dead_letter => 'UPDATE logsvc_internal.dead_letter SET attempts = 1 WHERE organization_id = $1',
	deletion => 'WITH d AS (DELETE FROM logsvc_internal.deletion WHERE organization_id = $1
		RETURNING 1) SELECT count(*) FROM d',
	ingest_tally => q{INSERT INTO logsvc_internal.ingest_tally SELECT $1, '2020-01-01', false, 0, 0},
	ingest_day => q{INSERT INTO logsvc_internal.ingest_day (organization_id, day, test)
		VALUES ($1, '2020-01-01', false) ON CONFLICT (organization_id, day, test)
		DO UPDATE SET bytes = 0});
my %session;
my $nobody = '00000000-0000-0000-0000-000000000000';
sub waits_for_lock
{
	my ($session) = @_;
	my $pid = $session->{pid};
	return wait_until(sub { $t->sql("SELECT count(*) FROM pg_locks WHERE pid = $pid
		AND locktype = 'advisory' AND NOT granted") });
}
foreach my $table (sort keys %write)
{
	my $session = $t->node->background_psql('postgres', on_error_stop => 0);
	$session{$table} = { psql => $session, pid => $session->query_safe('SELECT pg_backend_pid()') };
	$session->query_safe("SET plan_cache_mode = force_generic_plan;
		PREPARE w (uuid) AS $write{$table}; EXECUTE w ('$nobody'); EXECUTE w ('$nobody')");
	my $mover = $t->node->background_psql('postgres');
	$mover->query_safe("BEGIN; SELECT lock_shard_metadata(7, ARRAY[$shard])");
	$session->query_until(qr/begun/, "\\echo begun\nEXECUTE w ('$nobody');\n");
	ok(waits_for_lock($session{$table}), "$table: a kept plan waits for a move");
	$mover->query_safe('ROLLBACK');
	$mover->quit;
	is($session->query("SELECT 'done'") =~ /done/, 1, 'and goes on when there is none');
}

# ... so that nothing is written to a shard that has gone: not what waits for the move, nor later.
# The launcher, which would end the service, is kept from it.
senders();
($launcher) = $t->workers('^logsvc launcher');
kill 'STOP', $launcher;
my $writer = $t->node->background_psql('postgres');
$writer->query_safe("BEGIN; INSERT INTO logsvc_internal.ingest_tally
	SELECT '$nobody', '2020-01-01', false, 0, 0");
my $moving = $t->node->background_psql('postgres');
$moving->query_until(qr/begun/, "\\echo begun\n" . move($t, $workers[0], 'block_writes') . ";\n");
ok(wait_until(sub { $t->sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
	AND mode = 'ExclusiveLock' AND objsubid = 8 AND NOT granted") }), 'a move waits for who writes');
foreach my $table (sort keys %session)
{
	$session{$table}{psql}->query_until(qr/begun/, "\\echo begun\nEXECUTE w ('$nobody');\n");
	ok(waits_for_lock($session{$table}), "$table: a kept plan waits for the move");
}
$writer->query_safe('COMMIT');
$writer->quit;
$moving->quit;
is(placed(), all_in($t->sql('SELECT groupid FROM pg_dist_node WHERE nodeport = '
	. $workers[0]->node->port . " AND nodename = '" . $workers[0]->node->host . "'")),
	'all tables are on another node');
foreach my $table (sort keys %session)
{
	my $psql = $session{$table}{psql};
	$psql->query("SELECT 'done'");
	like($psql->{stderr}, qr/the tables of events have moved to another server/,
		"$table: then it writes nothing here");
	$psql->quit;
}
is($t->sql(q{SELECT state FROM logsvc.doctor() WHERE "check" = 'shards'}), 'error',
	'doctor says so');
# Through Citus each statement of a worker would be a transaction of its own.
my $there = sub { return join ' ', map { $workers[0]->sql("SELECT count(*) || ' ' || sum(rows)
	FROM logsvc_internal.$_") } qw(queue part deferred) };
my $then = $there->();
my %refused = (
	'/api/v1/logs' => [ POST => ingest_key => json => { event => 'too late' } ],
	'/api/v1/search' => [ GET => read_key => query => { q => '*' } ],
	'/api/v1/usage/history' => [ GET => read_key => query => { days => 1 } ]);
foreach my $path (sort keys %refused)
{
	my ($method, $key, %with) = @{ $refused{$path} };
	foreach my $name (qw(acme waits))
	{
		my $r = $t->http($method => $path, token => $org{$name}{$key}, %with);
		is("$r->{status} $r->{json}{code}", $path =~ /logs/ ? '503 QUEUE_UNAVAILABLE'
			: '503 STORE_UNAVAILABLE', "$name: $path: 503");
	}
}
ok(stays(sub { $there->() eq $then }, 2), 'nothing is changed there');
kill 'CONT', $launcher;
ok(wait_until(sub { !$t->workers('^logsvc (?!launcher|probe)') }), 'the service ends');
is(($t->sql_error("SELECT logsvc.$_()"))[1], '55000', "$_ refuses")
	foreach qw(distribute undistribute);
sub come_back
{
	$t->sql(move($workers[0], $t, 'block_writes'));
	is(placed(), all_in(0), 'all tables are back');
	ok(wait_until(sub { ($t->http(GET => '/readyz', timeout => 5)->{status} // 0) == 200 }),
		'the service begins again');
	return;
}
come_back();
senders_are_right('moved there and back');

# By logical replication, while rows come, change and go: each needs to be found on the other node.
senders();
$moving = $t->node->background_psql('postgres');
$moving->query_until(qr/begun/, "\\echo begun\n" . move($t, $workers[0], 'force_logical') . ";\n");
my $changes = 0;
my $used = usage('works')->{usedEvents};
ok(wait_until(sub { $t->sql('SELECT count(*) FROM pg_replication_slots') }),
	'rows are replicated');
ok(wait_until(sub { eval { add_up(); send_events('works', 'meanwhile'); $changes++ };
	$t->sql('SELECT groupid FROM pg_dist_placement LIMIT 1') != 0 }), 'until the move is done');
cmp_ok($changes, '>', 0, "rows have changed meanwhile: $changes times");
$moving->quit;
come_back();
is(found('works', 'meanwhile'), $changes, 'each event that was sent meanwhile is there');
is(usage('works')->{usedEvents}, $used + $changes, 'and is charged');
senders_are_right('replicated and back');
works('moved');

# ---- and back ----

# Made while its organization was erased.
$t->sql("INSERT INTO logsvc_internal.ingest_day (organization_id, day, test)
	SELECT '$nobody', '2020-01-02', false");
senders();
ok($t->sql_json('SELECT logsvc.undistribute()')->{changed}, 'the tables are ordinary ones again');
$t->wait_ready;
senders_are_right('undistributed');
is(placed(), '', 'Citus knows none of them');
is($t->sql("SELECT count(*) FROM logsvc_internal.ingest_day WHERE organization_id = '$nobody'"), 0,
	'nothing is left of who is gone');
is($t->sql(q{SELECT string_agg(conrelid::regclass::text, ' ' ORDER BY conrelid::regclass::text)
	FROM pg_constraint WHERE contype = 'f' AND conrelid = ANY (logsvc_internal.event_tables())
		AND convalidated}),
	join(' ', map { "logsvc_internal.$_" } qw(deferred deletion ingest_day)),
	'which refer to organizations');
works('undistributed');

$cluster->stop;
done_testing;
