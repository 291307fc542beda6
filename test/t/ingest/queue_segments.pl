# queue_segments.pl: the segments of the queue: they are emptied whatever other sessions
# do, and nobody misses an event or finds it twice because of that.  LOGSVC_SLOW=1:
# until all segments that are not needed are dropped, a minute more.
#
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep time);

# What a segment takes in a debug build (FULL_ENTRIES of src/ingest/segment_keep.c).
my $full = 2048;

my $t = LogsvcTest->new(conf => join "\n", 'restart_after_crash = on',
	"logsvc.flush_interval = '50ms'",
	'logsvc.writers = 2', 'logsvc.executors = 2');
my $org = $t->organization('acme');
my $as = q{SELECT logsvc.act_as('acme');};
my $sent = 0;

# So many entries of one event each, from SQL.
sub fill
{
	my ($n) = @_;
	$t->sql("$as SELECT count(logsvc.log('fill')) FROM generate_series(1, $n)");
	$sent += $n;
	return;
}

sub post
{
	my ($text) = @_;
	is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
		json => { event => $text })->{status}, 202, "$text: accepted");
	$sent++;
	return;
}

sub last_line { return (split /\n/, $_[0])[-1]; }
my $count = q{SELECT count(*) || ' ' || count(DISTINCT id) FROM logsvc.events('earliest=-1h')};
sub found { return last_line($t->sql("$as $count")); }
sub all_once { my ($name) = @_; is(found(), "$sent $sent", "$name: each event is found once");
	return; }

sub queued { return $t->sql('SELECT coalesce(sum(rows), 0) FROM logsvc_internal.queue'); }
sub depth { return $t->sql('SELECT logsvc_internal.queue_depth()'); }
sub drained { my ($name) = @_; ok(wait_until(sub { queued() == 0 && depth() == 0 }),
	"$name: the queue empties, its depth is 0"); return; }

my $segments = q{FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = }
	. q{'logsvc_internal.queue'::regclass};
sub segments { return $t->sql("SELECT count(*) $segments"); }
sub files { return $t->sql("SELECT string_agg(c.relname || '=' || c.relfilenode, ' ' ORDER BY "
	. "c.relname) $segments"); }

# Segments with anything in their files, live or dead: one is that which takes entries.
sub used { return $t->sql("SELECT count(*) FILTER (WHERE pg_relation_size(c.oid) > 0) $segments"); }

# ---- segments come and go ----

is(segments(), 4, 'four segments');
post('first');
my $before = files();
foreach (1 .. 5)
{
	fill($full);
	drained("turn $_");
}
ok(wait_until(sub { used() <= 1 }), 'those that were filled are emptied') or diag files();
isnt(files(), $before, 'into new files');
# One more is made when a transaction that has just begun holds up the others.
cmp_ok(segments(), '<=', 6, 'there are hardly more of them');
all_once('turns');

# ---- a snapshot that has never touched the queue ----

# It sees events in the queue that are in the store by now.
{
	$t->stop_at('write_after_delete');
	post('seen in the queue');
	$t->wait_held('write_after_delete');
	my $old = $t->node->background_psql('postgres');
	$old->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; $as SELECT txid_current()");
	my $snapshot = $sent;
	$t->let_go('write_after_delete');
	fill($full);
	drained('under a snapshot');
	fill($full);
	drained('under a snapshot, again');
	sleep 1;    # in which segments would be emptied
	is(last_line($old->query_safe($count)), "$snapshot $snapshot",
		'an old snapshot finds what it should, and no more');
	$old->query_safe('ROLLBACK');
	$old->quit;
	all_once('after a snapshot');
}

# Beyond logsvc.snapshot_timeout the space is given back all the same.
{
	$t->set('logsvc.snapshot_timeout', '1s');
	$t->stop_at('write_after_delete');
	post('missed');
	$t->wait_held('write_after_delete');
	my $old = $t->node->background_psql('postgres', on_error_stop => 0);
	$old->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; $as SELECT txid_current()");
	$t->let_go('write_after_delete');
	foreach (1 .. 6)
	{
		fill($full);
		drained("turn $_ under an old snapshot");
		# A fast machine would need more segments before the first one may be emptied.
		wait_until(sub { used() <= 2 });
	}
	ok(wait_until(sub { used() <= 1 }), 'segments are emptied under an old snapshot')
		or diag files();
	cmp_ok(segments(), '<=', 6, 'and hardly more are made');
	all_once('a new transaction');

	my $young = $t->node->background_psql('postgres');
	$young->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; $as SELECT txid_current()");
	is(last_line($young->query_safe($count)), "$sent $sent", 'one whose snapshot is younger');
	$old->{stderr} = '';
	$old->query($count);
	like($old->{stderr}, qr/too old to find all events/,
		'the old one is told that it would miss some');
	$old->query('ROLLBACK');
	$old->quit;

	# As long as somebody can have missed something, it is remembered.
	fill($full);
	drained('one more turn');
	is(last_line($young->query_safe($count)), ($sent - $full) . ' ' . ($sent - $full),
		'a transaction that has searched keeps what it sees');
	$young->query_safe('ROLLBACK');
	$young->quit;
	ok(wait_until(sub { used() <= 1 }), 'emptied when it has ended') or diag files();
}

# ---- one that has searched, and holds locks ----

{
	my $session = $t->node->background_psql('postgres');
	$session->query_safe("BEGIN; $as $count");
	foreach (1 .. 8)
	{
		fill($full);
		drained("turn $_ under locks");
		wait_until(sub { used() <= 5 });    # four are locked
	}
	cmp_ok(segments(), '>', 4, 'segments that are locked are replaced');
	cmp_ok(segments(), '<=', 7, 'by as many as are needed') or diag files();
	# READ COMMITTED: the next statement sees all.
	is(last_line($session->query_safe($count)), "$sent $sent", 'the session finds all');
	$session->query_safe('ROLLBACK');
	$session->quit;
	ok(wait_until(sub { used() <= 1 && segments() == 4 }),
		'afterwards they are emptied, and the new ones dropped') or diag files();
	all_once('after locks');
}

# ---- one that has sent events and not committed ----

{
	my $session = $t->node->background_psql('postgres');
	$session->query_safe("BEGIN; $as SELECT logsvc.log('late')");
	foreach (1 .. 5)
	{
		fill($full);
		ok(wait_until(sub { queued() == 0 && depth() == 1 }),
			"turn $_: one event is on its way");
	}
	all_once('before it commits');
	$session->query_safe('COMMIT');
	$session->quit;
	$sent++;
	drained('a late commit');
	all_once('a late commit');
}

# ---- killed in between ----

foreach my $point (qw(queue_after_rotation queue_before_truncate queue_after_truncate))
{
	$t->stop_at($point);
	fill($full);
	my $pid = $t->wait_held($point);
	post("during $point");
	kill_process($pid);
	delete $t->{stop_points};
	ok(wait_until(sub { $t->sql('SELECT 1') }), "$point: the server recovers");
	$t->wait_ready;
	post("after $point");
	drained($point);
	all_once($point);
	ok(wait_until(sub { used() <= 1 }), "$point: emptied") or diag files();
}

# ---- all 32 in use ----

# A session locks each of them, again and again; where nothing was, something has been.
{
	my $log = $t->log_position;
	my $full_up = qr/logsvc has no segment of its queue left: all 32 are in use/;
	$t->sql("SELECT logsvc_internal.make_queue_segment(n) FROM generate_series(4, 31) n");
	# The service finds them when it begins again.
	kill_process(($t->workers('^logsvc writer$'))[0]);
	ok(wait_until(sub { $t->sql('SELECT 1') }), 'the server recovers, with 32 segments');
	$t->wait_ready;
	my $session = $t->node->background_psql('postgres');
	$session->query_safe("BEGIN; $as $count");
	ok(wait_until(sub {
		$t->sql(join ';', map {
			"BEGIN; INSERT INTO logsvc_internal.queue_$_ (segment, id, organization_id, rows, min_time, max_time, level_mask, header, body)"
			  . " VALUES ($_, 0, gen_random_uuid(), 1, now(), now(), 0, '', ''); DELETE FROM "
			  . "logsvc_internal.queue_$_ WHERE id = 0; COMMIT"
		} $t->sql("SELECT substr(c.relname, 7) $segments") =~ /\d+/g);
		fill($full);
		drained('on the way to 32');
		$session->query_safe($count);
		return $t->log_text($log) =~ $full_up;
	}), 'all are in use, and the log says so');
	is(used(), 32, 'all have something in their files');
	is(segments(), 32, 'and there are no more');
	post('none is free');
	fill($full);
	drained('none is free');
	my @said = $t->log_text($log) =~ /$full_up/g;
	is(scalar(@said), 1, 'the log says it once');
	all_once('none is free');
	is(last_line($session->query_safe($count)), "$sent $sent",
		'the session that is in the way finds all too');
	$session->query_safe('ROLLBACK');
	$session->quit;
	ok(wait_until(sub { used() <= 1 }), 'when it has ended they are emptied') or diag files();
	my $before = files();
	fill($full);
	drained('afterwards');
	ok(wait_until(sub { used() <= 1 && files() ne $before }), 'and take turns again')
		or diag files();
	all_once('afterwards');
	# One goes every two seconds: a minute.
	ok(wait_until(sub { segments() == 4 }, 90), 'those that are not needed any more are dropped')
		or diag files() if $ENV{LOGSVC_SLOW};
}

# An acceptor that cannot insert says so.
$t->sql('ALTER TABLE logsvc_internal.queue RENAME TO away');
is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
	json => { event => 'x' })->{json}{code},
	'QUEUE_UNAVAILABLE', 'no queue');
$t->sql('ALTER TABLE logsvc_internal.away RENAME TO queue');
post('there again');
drained('there again');
unlike($t->log_text, qr/PANIC|TRAP/, 'no PANIC');
$t->stop;
done_testing;
