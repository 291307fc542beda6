# dead_letters.pl: what happens to accepted events that cannot be stored.  After
# each fault every event with a 202 is stored once or a dead letter, none twice, and
# the depth of the queue is exact.
#
# Takes long.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep time);

my $t = LogsvcTest->new(conf => join "\n", 'restart_after_crash = on',
	"logsvc.flush_interval = '50ms'",
	'logsvc.writers = 1', 'logsvc.executors = 2');
my @orgs = map { $t->organization($_) } qw(acme globex);
my %by_slug = map { $_->{slug} => $_ } @orgs;

$t->sql(q{
	CREATE FUNCTION part_events(header bytea, body bytea, OUT id text, OUT event text)
		RETURNS SETOF record LANGUAGE C STRICT AS '$libdir/logsvc', 'logsvc_debug_part_events';
	CREATE FUNCTION readable(header bytea, body bytea) RETURNS boolean LANGUAGE plpgsql AS $$
		BEGIN PERFORM part_events(header, body); RETURN true;
		EXCEPTION WHEN OTHERS THEN RETURN false; END $$;
	CREATE VIEW found AS
		SELECT e.id, e.event, 'queue' AS place
		  FROM (SELECT * FROM logsvc_internal.queue WHERE readable(header, body) OFFSET 0) q,
			LATERAL part_events(q.header, q.body) e
		UNION ALL
		SELECT e.id, e.event, 'store' FROM logsvc_internal.part p, LATERAL part_events(p.header, p.body) e
		UNION ALL
		SELECT e.id, e.event, 'dead'
		  FROM (SELECT * FROM logsvc_internal.dead_letter WHERE readable(header, body) OFFSET 0) d,
			LATERAL part_events(d.header, d.body) e;
	-- What the store does not take, or with what it refuses everything.
	CREATE TABLE refused (index_name text, state text);
	CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
	DECLARE
		r public.refused;
	BEGIN
		SELECT * INTO r FROM public.refused f WHERE f.index_name IN ('*', NEW.index_name);
		IF FOUND AND r.state = 'file' THEN
			PERFORM pg_read_file('/no/such/file');
		ELSIF FOUND THEN
			RAISE EXCEPTION 'refused: secret %', NEW.index_name USING ERRCODE = r.state;
		END IF;
		RETURN NEW;
	END $$;
});
# On its shard, where Citus distributes it.
$t->sql('CREATE TRIGGER refuse BEFORE INSERT ON '
	. $t->sql("SELECT logsvc_internal.stored_in('logsvc_internal.part')")
	. ' FOR EACH ROW EXECUTE FUNCTION refuse()');
$t->sql(q{SELECT logsvc.act_as('acme'); SELECT logsvc.create_index('bad')});

my %expected;    # id -> event, of all that got a 202 and can be read

# Sends events as one request, [text, index] each; returns the ids.
sub send_events
{
	my ($slug, @events) = @_;
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $by_slug{$slug}{ingest_key}, json => [
		map { { event => $_->[0], index => $_->[1] // 'main' } } @events ]);
	die "not accepted: $r->{status} $r->{content}" unless $r->{status} == 202;
	my @ids = @{ $r->{json}{data}{ids} };
	$expected{ $ids[$_] } = $events[$_][0] foreach 0 .. $#ids;
	return @ids;
}

sub queued { return $t->sql('SELECT coalesce(sum(rows), 0) FROM logsvc_internal.queue'); }
sub depth { return $t->sql('SELECT logsvc_internal.queue_depth()'); }
sub place { my ($text) = @_; return $t->sql("SELECT string_agg(place, ',' ORDER BY place) FROM "
	. "found WHERE event = '$text'"); }
sub dead { my ($where) = @_; return $t->sql("SELECT count(*) FROM logsvc_internal.dead_letter "
	. "WHERE $where"); }
sub refuse_with { my ($index, $state) = @_;
	$t->sql("INSERT INTO refused VALUES ('$index', '$state')"); return; }
sub refuse_nothing { $t->sql('DELETE FROM refused'); return; }

# Every event is where it was accepted for, once.
sub check_all
{
	my ($name) = @_;
	ok(wait_until(sub { queued() == 0 && depth() == 0 }),
		"$name: the queue is empty, its depth 0")
	  or diag 'queued ' . queued() . ', depth ' . depth();
	my %seen;
	my @wrong;
	foreach my $line (split /\n/, $t->sql(q{SELECT id || ' ' || event FROM found}))
	{
		my ($id, $event) = split / /, $line, 2;
		push @wrong, "$id twice" if $seen{$id}++;
		push @wrong, "$id is another" if exists $expected{$id} && $expected{$id} ne $event;
	}
	push @wrong, map { "$_ $expected{$_} is lost" } grep { !$seen{$_} } keys %expected;
	is("@wrong", '', "$name: every accepted event is there once");
	return;
}

# ---- what the log says of the operating system's errors ----

{
	my $from = $t->log_position;
	refuse_with('*', 'file');
	send_events('acme', ['no file']);
	ok(wait_until(sub { $t->log_text($from) =~ /could not open file "%s" for reading: / }),
		'the log names no file');
	like($t->log_text($from), qr/could not open file "%s" for reading: No such file or directory/,
		'but the error, as that of a full disk');
	refuse_nothing();
	check_all('a file that there was not');
}

# ---- corrupt bytes ----

{
	# A writer is held with one event, so that what follows is one batch.
	$t->stop_at('write_after_delete');
	send_events('acme', ['first']);
	$t->wait_held('write_after_delete');
	foreach my $n (1 .. 20)
	{
		my ($id) = send_events($n % 2 ? 'acme' : 'globex', [ "entry $n" ]);
		next unless $n == 7 || $n == 12;
		# One in its header, one in its body.
		my $column = $n == 7 ? 'header' : 'body';
		$t->sql("UPDATE logsvc_internal.queue SET $column = "
			. "set_byte($column, octet_length($column) - 3,"
			  . " 255 - get_byte($column, octet_length($column) - 3)) WHERE id = (SELECT max(id) "
			  . "FROM logsvc_internal.queue)");
		delete $expected{$id};
	}
	my $start = time;
	$t->let_go('write_after_delete');
	check_all('corrupt entries');
	cmp_ok(time - $start, '<', 30, 'at once, without retries');
	is(dead("status = 'dead' AND reason = 'corrupt' AND sqlstate = 'LS803'"), 2,
		'the corrupt ones are dead letters');
	is(place('entry 8'), 'store', 'the others are stored');
	my $list = $t->http(GET => '/api/v1/dead-letters', token => $by_slug{acme}{full_key});
	is(scalar @{ $list->{json}{data} }, 1, 'an organization sees its own');
	my $letter = $list->{json}{data}[0];
	is($letter->{reason} . $letter->{status} . ($letter->{event} // '-'), 'corruptdead-',
		'corrupt, dead, without an event');
	is($t->http(GET => "/api/v1/dead-letters/$letter->{id}",
		token => $by_slug{acme}{full_key})->{json}{data}{id},
		$letter->{id}, 'by its id');
	is($t->http(GET => "/api/v1/dead-letters/$letter->{id}",
		token => $by_slug{globex}{full_key})->{status}, 404, 'not by others');
	is($t->sql("SELECT count(*) FROM logsvc.dead_letters WHERE organization = 'acme'"), 1,
		'the view for operators');

	# By hand it comes back, and is a dead letter again.
	my $r = $t->http(POST => '/api/v1/dead-letters/replay', token => $by_slug{acme}{token},
		json => { ids => [ $letter->{id} ] });
	is($r->{status} . $r->{json}{data}{count}, '2021', 'replayed by hand');
	ok(wait_until(sub { dead("status = 'replayed'") == 1
		&& dead("status = 'dead' AND attempts = 2") == 1 }),
		'and found corrupt again: attempts are counted on')
			or diag $t->sql('SELECT * FROM logsvc.dead_letters');
	$r = $t->http(POST => '/api/v1/dead-letters/replay', token => $by_slug{acme}{token},
		json => { ids => [ $letter->{id} ] });
	is($r->{status}, 404, 'a replayed one cannot be replayed');
	foreach my $later ('earliest', 'from')
	{
		$r = $t->http(POST => '/api/v1/dead-letters/discard', token => $by_slug{acme}{token},
			json => { filter => { $later => '2100-01-01T00:00:00Z' }, reason => 'none' });
		is("$r->{status} $r->{json}{data}{count}", '200 0', "none is of a later time: $later");
	}
	$r = $t->http(POST => '/api/v1/dead-letters/discard', token => $by_slug{acme}{token},
		json => { filter => { reason => 'corrupt', earliest => '2020-01-01T00:00:00Z',
			to => '2100-01-01T00:00:00Z' }, reason => 'broken disk' });
	is($r->{status} . $r->{json}{data}{count}, '2001', 'discarded');
	is(dead("status = 'discarded' AND header IS NULL AND body IS NULL"), 1, 'its bytes are gone');
	is($t->sql(q{SELECT string_agg(action || ' ' || (details->>'count'), ',' ORDER BY number)
		FROM logsvc_internal.audit_entry WHERE action LIKE 'dead\_letter%'}),
		'dead_letter.replayed 1,dead_letter.discarded 1', 'both are in the audit log');
	foreach my $bad ({}, { ids => [] }, { ids => ['x'], filter => {} }, { filter => { x => 1 } },
		{ filter => { from => 'soon' } }, { filter => { latest => 'soon' } },
		{ filter => { from => '2026-01-01T00:00:00Z', earliest => '2026-01-02T00:00:00Z' } })
	{
		is($t->http(POST => '/api/v1/dead-letters/replay', token => $by_slug{acme}{token},
			json => $bad)->{status}, 400,
			'refused: ' . json_encode($bad));
	}
}

# ---- one event of a batch, which the store refuses as data ----

{
	refuse_with('bad', '23514');
	my @ids = send_events('acme', map { [ "mixed $_", $_ =~ /^(30|31|977)$/ ? 'bad' : 'main' ] } 1
		.. 1000);
	send_events('globex', ['beside']);
	check_all('bad events of a batch');
	is($t->sql("SELECT string_agg(event, ',' ORDER BY event) FROM found WHERE place = 'dead' AND "
		. "event LIKE 'mixed%'"),
		'mixed 30,mixed 31,mixed 977', 'just they are dead letters');
	my $list = $t->http(GET => '/api/v1/dead-letters', token => $by_slug{acme}{full_key},
		query => { reason => 'rejected', limit => 2 });
	is(scalar @{ $list->{json}{data} }, 2, 'a page of them');
	diag $list->{content} unless $list->{json}{data}[0]{event};
	unlike($list->{content}, qr/secret/, 'without what the server said');
	my $next = $t->http(GET => '/api/v1/dead-letters', token => $by_slug{acme}{full_key},
		query => { reason => 'rejected', limit => 2, cursor => $list->{json}{page}{nextCursor} });
	is(scalar @{ $next->{json}{data} }, 1, 'and the rest');
	is(join(',', sort map { $_->{event}{id} // 'none' } map { @{ $_->{json}{data} } } $list, $next),
		join(',', @ids[ 29, 30, 976 ]), 'with their events, under their ids');
	unlike($t->log_text, qr/LOG:.*secret/, 'nor does the log tell');

	refuse_nothing();
	my $r = $t->http(POST => '/api/v1/dead-letters/replay', token => $by_slug{acme}{token},
		json => { filter => {} });
	is($r->{json}{data}{count}, 3, 'all replayed');
	check_all('replayed by hand');
	is(place('mixed 30'), 'store', 'they are stored');
	is(dead("status IN ('dead', 'replaying') AND organization_id = (SELECT id FROM "
		. "logsvc_internal.organization WHERE slug = 'acme')"),
		0, 'and no dead letters any more');
}

# ---- killed in the middle of a move and of a replay ----

foreach my $point (qw(dead_letter_before_commit dead_letter_after_commit replay_before_commit
	replay_after_commit))
{
	refuse_with('bad', '23514');
	if ($point =~ /^replay/)
	{
		send_events('acme', [ "$point bad", 'bad' ], [ "$point good" ]);
		ok(wait_until(sub { place("$point bad") eq 'dead' }), "$point: dead");
		refuse_nothing();
		$t->stop_at($point);
		$t->http(POST => '/api/v1/dead-letters/replay', token => $by_slug{acme}{token},
			json => { filter => {} });
	}
	else
	{
		$t->stop_at($point);
		send_events('acme', [ "$point bad", 'bad' ], [ "$point good" ]);
	}
	kill_process($t->wait_held($point));
	delete $t->{stop_points};
	ok(wait_until(sub { $t->sql('SELECT 1') }), "$point: the server recovers");
	$t->wait_ready;
	ok(wait_until(sub { place("$point bad") eq ($point =~ /^replay/ ? 'store' : 'dead') }),
		"$point: it goes on");
	check_all($point);
	refuse_nothing();
	$t->http(POST => '/api/v1/dead-letters/replay', token => $by_slug{acme}{token},
		json => { filter => {} });
	ok(wait_until(sub { place("$point bad") eq 'store' }), "$point: stored in the end");
}

# ---- what is not the data's fault for sure: after the retries ----

{
	refuse_with('bad', 'P0001');
	send_events('acme', [ 'retried', 'bad' ]);
	ok(wait_until(sub { $t->log_text =~ /set an entry of its queue aside/ }), 'set aside');
	send_events('acme', ['not held up']);
	send_events('globex', ['nor is another']);
	ok(wait_until(sub { place('not held up') eq 'store' && place('nor is another') eq 'store' }),
		'nothing else waits for it');
	is(place('retried'), 'queue', 'it waits');
	refuse_nothing();
	ok(wait_until(sub { place('retried') eq 'store' }), 'a later attempt stores it');
	check_all('set aside');
}

# ---- the store takes nothing ----

sub outage
{
	my ($name, $begin, $end) = @_;
	my $from = $t->log_position;

	$t->set('logsvc.store_timeout', '5min');
	$begin->();
	send_events('acme', [ "$name 1" ]);
	send_events('globex', [ "$name 2" ]);
	ok(wait_until(sub { $t->log_text($from) =~ /attempt 2/ }), "$name: tried again");
	is(place("$name 1"), 'queue', "$name: buffered in the queue");
	is($t->http(POST => '/api/v1/logs', token => $by_slug{acme}{ingest_key},
		json => { event => 'x' })->{status},
		202, "$name: events are accepted");
	$end->();
	ok(wait_until(sub { place("$name 1") eq 'store' && place("$name 2") eq 'store' }),
		"$name: stored when it is over");
	check_all($name);
	is(dead("status = 'dead' AND reason = 'store_unavailable'"), 0, "$name: no dead letters");
	return;
}

outage('read-only', sub { refuse_with('*', '25006') }, sub { refuse_nothing() });

# Longer than logsvc.store_timeout.
{
	$t->set('logsvc.store_timeout', '1s');
	my $from = $t->log_position;
	refuse_with('*', '42501');
	send_events($_ % 2 ? 'acme' : 'globex', [ "outage $_" ]) foreach 1 .. 10;
	ok(wait_until(sub { place('outage 1') eq 'dead' && place('outage 10') eq 'dead' }),
		'events move to the dead letters');
	ok(wait_until(sub { queued() == 0 && depth() == 0 }), 'the depth is 0');
	my $r = $t->http(POST => '/api/v1/logs', token => $by_slug{acme}{ingest_key},
		json => { event => 'x' });
	is("$r->{status} $r->{json}{code}", '503 STORE_UNAVAILABLE', 'new ones are refused');
	like($r->{headers}{'retry-after'}, qr/^\d+$/, 'with Retry-After');
	my ($out, $state) = $t->sql_error("SELECT logsvc.act_as('acme'); SELECT logsvc.log('x')");
	is($state, 'LS705', 'in SQL too');
	is(dead("status = 'dead' AND reason = 'store_unavailable'"), 10, 'ten dead letters');
	check_all('an outage');
	$t->stop_at('replay_before_commit');
	refuse_nothing();
	my $writer = $t->wait_held('replay_before_commit');
	kill 'TERM', $writer;
	ok(wait_until(sub { !kill 0, $writer }), 'told to end in the replay');
	cmp_ok(depth(), '<=', 10, 'the writer gives back what it had reserved, whether or not another '
		. 'one is there');
	kill_process(wait_until(sub { my $next = $t->wait_held('replay_before_commit');
		$next != $writer && $next }));
	delete $t->{stop_points};
	ok(wait_until(sub { $t->sql('SELECT 1') }), 'killed in the replay: the server recovers');
	$t->wait_ready;
	ok(wait_until(sub { dead("status = 'dead' AND reason = 'store_unavailable'") == 0 }),
		'they come back by themselves');
	ok(wait_until(sub { $t->sql("SELECT count(*) FROM found WHERE event LIKE 'outage %' AND place "
		. "= 'store'") == 10 }),
		'all are stored');
	is(join(',', map { /outage (\d+)/ } split /\n/,
			$t->sql("SELECT e.event FROM found e WHERE e.event LIKE 'outage %' ORDER BY e.id")),
		join(',', 1 .. 10), 'under their ids');
	check_all('after the outage');
	is($t->http(POST => '/api/v1/logs', token => $by_slug{acme}{ingest_key},
		json => { event => 'x' })->{status}, 202,
		'events are accepted again');
	like($t->log_text($from), qr/has taken nothing for 1 s: events are refused/,
		'the log says when');
}

# A lock on the store: waiting for it is a failure too, but nothing is lost.
{
	$t->set('logsvc.store_timeout', '5min');
	my $from = $t->log_position;
	my $session = $t->node->background_psql('postgres');
	$session->query_safe('BEGIN; LOCK TABLE logsvc_internal.part IN ACCESS EXCLUSIVE MODE');
	send_events($_ % 2 ? 'acme' : 'globex', [ "locked $_" ]) foreach 1 .. 4;
	ok(wait_until(sub { $t->log_text($from)
		=~ /could not write events to its store: canceling statement due to lock timeout/ }),
		'a lock that is held for long is a failure');
	$session->query_safe('ROLLBACK');
	$session->quit;
	check_all('a lock');
	is(place('locked 3'), 'store', 'stored when it is free');
}

# ---- the limits of the queue ----

{
	my $from = $t->log_position;
	$t->set('logsvc.queue_limit', 1000);
	$t->stop_at('write_after_delete');
	send_events('acme', ['held']);
	$t->wait_held('write_after_delete');
	send_events('acme', map { ["much $_"] } 1 .. 749);
	send_events('globex', map { ["much $_"] } 750 .. 789);
	unlike($t->log_text($from), qr/at 80%/, 'below 80% the log says nothing');
	send_events('globex', ["much $_"]) foreach 790 .. 829;
	is(scalar(() = $t->log_text($from) =~
		/the ingest queue of logsvc is at 80% of its limit of 1000 events/g), 1,
		'at 80% it does, once');
	send_events('globex', map { ["much $_"] } 830 .. 999);
	my $r = $t->http(POST => '/api/v1/logs', token => $by_slug{globex}{ingest_key},
		json => { event => 'x' });
	is("$r->{status} $r->{json}{code}", '429 QUEUE_FULL', 'at 100% events are refused');
	like($r->{headers}{'retry-after'}, qr/^([1-9]|[1-5][0-9]|60)$/,
		'with the seconds after which there should be room');
	$t->let_go('write_after_delete');
	check_all('the full queue');
	like($t->log_text($from), qr/the ingest queue of logsvc is back to normal/,
		'and the log says that it is over');
	is(scalar(() = $t->log_text($from) =~ /at 80%/g), 1, 'all in all once');
}

$t->stop;
done_testing;
