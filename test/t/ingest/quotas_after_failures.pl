# quotas_after_failures.pl: what is counted is what is stored, to the byte, whoever hangs
# up or is killed when: events within a quota, beyond it, of test keys and past their
# retention; and the way out of the deferred store, killed and with a full queue.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep time);

# Noon of another day: no midnight of the real clock comes into the way.
my $shift = 86400 + 12 * 3600 - time % 86400;
$ENV{LOGSVC_DEBUG_QUOTA_CLOCK} = $shift;
my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '50ms'", 'logsvc.acceptors = 1',
	'logsvc.writers = 2', 'logsvc.compactors = 0',
	'logsvc.executors = 1', 'restart_after_crash = on');
$t->sql(q{CREATE FUNCTION quota_clock(bigint) RETURNS void LANGUAGE C STRICT
	AS '$libdir/logsvc', 'logsvc_debug_quota_clock'});
# Has the scheduler look at the deferred store.
sub look { $t->sql("SELECT quota_clock($shift)"); return; }

sub limit { my ($org, $resource, $n) = @_;
	$t->sql("SELECT logsvc.set_limit('$org->{slug}', '$resource', $n)"); return; }
sub usage { my ($org) = @_; return $t->http(GET => '/api/v1/usage',
	token => $org->{read_key})->{json}{data}{ingest}; }
sub queued { return $t->sql('SELECT count(*) FROM logsvc_internal.queue'); }
sub deferred { my ($org) = @_; return $t->sql("SELECT coalesce(sum(bytes), 0) || ' ' || "
	. "coalesce(sum(rows), 0) FROM logsvc_internal.deferred WHERE organization_id = "
		. "'$org->{uuid}'"); }

# What an organization has: bytes and events that are charged, of its test keys, and
# those that are deferred; each as the answer says, the tables, and the events there are.
sub is_counted
{
	my ($org, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $expected = "@{$org->{charged}}, test @{$org->{test}}, deferred @{$org->{deferred}}";
	my $u = usage($org);
	my $of = sub { return $t->sql("SELECT bytes || ' ' || events FROM "
		. "logsvc_internal.ingested('$org->{uuid}', logsvc_internal.quota_day(now()), $_[0])") };
	ok(wait_until(sub { queued() == 0 && $t->sql('SELECT logsvc_internal.queue_depth()') == 0 }), "$name: all is stored, and the depth is 0");
	my $stored = sub { return $t->sql("SELECT coalesce(sum(rows), 0) FROM logsvc_internal.part "
		. "WHERE organization_id = '$org->{uuid}' AND index_name = '$_[0]'") };
	is("$u->{usedBytes} $u->{usedEvents}, test $u->{test}{usedBytes} " . ($of->('true') =~ s/.* //r)
		. ", deferred $u->{deferredBytes} $u->{deferredEvents}", $expected, "$name: usage");
	is($of->('false') . ', test ' . $of->('true') . ', deferred ' . deferred($org), $expected,
		'... is what the tables say');
	is($stored->('main') . ' ' . $stored->('_test'), "$org->{charged}[1] $org->{test}[1]",
		'... and what is stored');
	return;
}

sub make
{
	my ($slug, @counted) = @_;
	my $org = $t->organization($slug, plan => 'pro');
	$org->{uuid} = $t->sql("SELECT id FROM logsvc_internal.organization WHERE slug = '$slug'");
	$org->{test_key} =
		$t->sql_json("SELECT logsvc.create_api_key('$slug', 't', 'ingest-only', 'test')")->{key};
	$org->{$_} = [ 0, 0 ] foreach qw(charged test deferred);
	return $org;
}

# So many events of 100 bytes each.
my $serial = 0;
sub events_of { return [ map { my $s = sprintf 'e%05d ', ++$serial; $s . 'x' x (98 - length $s) }
	1 .. $_[0] ]; }
sub post
{
	my ($org, $n) = @_;
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
		json => events_of($n));
	return $r->{status} . ($r->{json}{data}{status} // $r->{json}{code} // '');
}
sub add { my ($sum, $n) = @_; $sum->[0] += 100 * $n; $sum->[1] += $n; return; }

# Kills a process as the out-of-memory killer does; what had come until then is on the disk.
sub killed
{
	my ($pid, $name) = @_;
	kill_process($pid);
	ok(wait_until(sub { !kill(0, $pid) && $t->sql('SELECT 1') }), "$name: the server recovers");
	$t->wait_ready;
	return;
}

# ---- clients that hang up ----

my $old = '2020-01-01T00:00:00Z';
my $event = '{"event":"' . 'y' x 53 . qq(","timestamp":"$old"});
my $normal = make('normal');
my $over = make('over');
is(post($over, 3), '202', 'three events');
add($over->{charged}, 3);
limit($over, 'ingest_bytes_per_day', 300);

# Name; organization, key and sum; body and number of its events; status that the answer would have.
my @cases = (
	[ 'within the quota', $normal, 'ingest_key', 'charged', json_encode(events_of(5)), 5 ],
	[ 'past their retention', $normal, 'ingest_key', 'charged', "[$event,$event]", 2 ],
	[ 'of a test key', $normal, 'test_key', 'test', json_encode(events_of(4)), 4 ],
	[ 'beyond the quota', $over, 'ingest_key', 'deferred', json_encode(events_of(6)), 6 ],
	[ 'past it and beyond it', $over, 'ingest_key', 'deferred', "[$event,$event,$event]", 3 ]);
sub begin_case { my ($case) = @_; return begin_request($t, POST => '/api/v1/logs/batch',
	token => $case->[1]{ $case->[2] }, body => $case->[4]); }

# Killed with such a request in it: before the commit, and after it.
foreach my $case (@cases[ 0, 3 ])
{
	my ($name, $org, $key, $sum, $body, $n) = @$case;
	foreach my $point (qw(accept_before_commit accept_after_commit))
	{
		$t->stop_at($point);
		my $request = begin_case($case);
		my $pid = $t->wait_held($point);
		close $request->{socket};
		killed($pid, "$name, $point");
		add($org->{$sum}, $n) if $point =~ /after/;
		is_counted($org, "$name, $point");
	}
}

foreach my $case (@cases)
{
	my ($name, $org, $key, $sum, $body, $n) = @$case;

	# In the middle of the body: with its length before, and in chunks.
	foreach my $half (sprintf("Content-Length: %d\r\n\r\n%s", length $body,
		substr($body, 0, length($body) / 2)),
		sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", length $body, $body))
	{
		my $socket = $t->connect;
		$socket->print("POST /api/v1/logs/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
			. "$org->{$key}\r\nContent-Type: application/json\r\n$half");
		$socket->flush;
		# The gateway has read it when it answers the next one.
		is($t->http(GET => '/healthz')->{status}, 200, "$name: a body that ends in the middle");
		close $socket;
	}

	# After the body: what is with the acceptor is stored, and counted.
	$t->stop_at('accept_before_commit');
	my $request = begin_case($case);
	$t->wait_held('accept_before_commit');
	close $request->{socket};
	is($t->http(GET => '/healthz')->{status}, 200, "$name: who hangs up before the answer");
	$t->let_go('accept_before_commit');
	add($org->{$sum}, $n);
	# There is one acceptor, which is through with it when it answers the next one.
	is($t->http(POST => '/api/v1/logs', token => $org->{full_key}, body => '{}')->{status}, 400,
		'... keeps nobody waiting');

	# With an acceptor that ends meanwhile nothing is.
	if ($n > 4)
	{
		$t->stop_at('accept_before_commit');
		$request = begin_case($case);
		my $pid = $t->wait_held('accept_before_commit');
		close $request->{socket};
		$t->sql("SELECT pg_terminate_backend($pid, 5000)");
		$t->let_go('accept_before_commit');
		$t->wait_ready;
	}

	my $r = end_request(begin_case($case));
	is($r->{status} . ' ' . ($r->{json}{data}{accepted} // '') . ' '
		. ($r->{headers}{'x-quota-state'} // 'normal'),
		"202 $n " . ($sum eq 'deferred' ? 'throttled' : 'normal'),
			'... an answer that somebody waits for');
	is($r->{headers}{'x-past-retention-count'} // 0, $body =~ /$old/ ? $n : 0,
		'... with its warning');
	add($org->{$sum}, $n);
	is_counted($org, $name);
}

# Who is let in is decided by what is in memory: it is exact too.
limit($normal, 'ingest_bytes_per_day', $normal->{charged}[0] + 200);
limit($normal, 'test_bytes_per_day', $normal->{test}[0] + 100);
limit($normal, 'deferred_bytes', 100);
limit($over, 'deferred_bytes', $over->{deferred}[0] + 100);
is(join(' ', map { post($normal, 1) } 1 .. 4), '202 202 202deferred 429DAILY_QUOTA_EXCEEDED',
	'the quota has not moved by a byte');
is(post({ ingest_key => $normal->{test_key} }, 1) . ' '
	. post({ ingest_key => $normal->{test_key} }, 1), '202 429DAILY_QUOTA_EXCEEDED',
		'nor has that of test keys');
is(post($over, 1) . ' ' . post($over, 1), '202deferred 429DAILY_QUOTA_EXCEEDED',
	'nor what may be deferred');
add($normal->{charged}, 2);
add($normal->{test}, 1);
add($_->{deferred}, 1) foreach $normal, $over;
is_counted($_, "in the end: $_->{slug}") foreach $normal, $over;

# ---- out of the deferred store: killed, and with a full queue ----

# Each event has a number, so one that is lost or there twice is seen.
sub all_once
{
	my ($org, $name) = @_;
	my $r = $t->http(GET => '/api/v1/search', token => $org->{read_key},
		query => { q => 'index=main earliest=-1h | stats count, dc(event)' });
	is(join(' ', @{ $r->{json}{data}{rows}[0] }), join(' ', ($org->{charged}[1]) x 2),
		"$name: each event is found once") or diag $r->{content};
	return;
}
sub move { my ($org, $n) = @_; add($org->{deferred}, -$n); add($org->{charged}, $n); return; }
sub now_has { my ($org) = @_; return deferred($org) eq "@{$org->{deferred}}"; }

my $moved = make('moved');
is(post($moved, 1), '202', 'an event');
add($moved->{charged}, 1);
limit($moved, 'ingest_bytes_per_day', 100);
foreach my $point (qw(deferred_before_commit deferred_after_commit))
{
	limit($moved, 'ingest_bytes_per_day', 100);
	is(join(' ', map { post($moved, 10) } 1 .. 3), '202deferred 202deferred 202deferred',
		"$point: beyond the quota");
	add($moved->{deferred}, 30);
	$t->stop_at($point);
	# It takes in two of three, because it is not used up before the second.
	limit($moved, 'ingest_bytes_per_day', $moved->{charged}[0] + 1500);
	look();
	my $pid;
	wait_until(sub { $pid = $t->wait_held($point, 5); deferred($moved) ne '3000 30'
		|| $point =~ /before/ });
	killed($pid, $point);
	move($moved, 20);
	ok(wait_until(sub { now_has($moved) }), '... what the quota allows goes on')
		or diag deferred($moved);
	is_counted($moved, $point);
	all_once($moved, $point);
	limit($moved, 'ingest_bytes_per_day', $moved->{charged}[0] + 100);
	look();
	move($moved, 10);
	ok(wait_until(sub { now_has($moved) }), '... and so does the rest');
	is_counted($moved, "$point, all");
}

# For each of two organizations that is not alone three quarters of it are there.
# The queue is half full: nothing moves, and nothing is discarded though its hour is over.
limit($moved, 'ingest_bytes_per_day', 100);
is(join(' ', map { post($moved, 300) } 1 .. 4), '202deferred 202deferred 202deferred 202deferred',
	'beyond the quota again');
add($moved->{deferred}, 1200);
$t->set('logsvc.queue_limit', 1000);
my $big = make('big');
limit($big, 'ingest_bytes_per_day', 'NULL');
# The first use of a key is an event of its own.
is(post($big, 1), '202', 'another organization');
add($big->{charged}, 1);
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.audit_entry WHERE action = "
	. "'api_key.first_used' AND organization_id = '$big->{uuid}'") }), 'its key is in use');
is_counted($big, 'another organization');
$t->stop_at('write_before_commit');
is(post($big, 600), '202', 'the queue is more than half full, and no writer goes on');
add($big->{charged}, 600);
limit($moved, 'ingest_bytes_per_day', 'NULL');
$t->stop_at('deferred_before_commit');
$shift += 3700;
look();
my $scheduler = $t->wait_held('deferred_before_commit');
# The audit log has an entry on its way too.
my $room = 750 - $t->sql('SELECT logsvc_internal.queue_depth()');
cmp_ok($room, '>', 130, 'a scheduler that looks has taken no room');
is(post($big, $room) . ' ' . post($big, 1), '202 429QUEUE_FULL',
	'and the queue becomes full for it');
add($big->{charged}, $room);
$t->let_go('deferred_before_commit');
ok(stays(sub { deferred($moved) eq '120000 1200' }, 0.5),
	'nothing has moved, and nothing is discarded');

# It has room again; the move takes it, and is killed.  It looks often, so it is held
# until the queue is empty: while that empties it would take less.
$t->stop_at('deferred_before_rows');
look();
$t->wait_held('deferred_before_rows');
$t->stop_at('deferred_before_commit');
$t->let_go('write_before_commit');
ok(wait_until(sub { !queued() && $t->sql('SELECT logsvc_internal.queue_depth()') == 0 }),
	'the queue empties');
$t->let_go('deferred_before_rows');
$scheduler = $t->wait_held('deferred_before_commit');
is($t->sql('SELECT logsvc_internal.queue_depth()'), 600,
	'a move takes half of the queue, and the entry that is more than that');
is(post($big, 251) . ' ' . post($big, 250), '429QUEUE_FULL 202', 'others have what is left');
add($big->{charged}, 250);
killed($scheduler, 'a move into a full queue');
$t->set('logsvc.queue_limit', 1000);
move($moved, 1200);
ok(wait_until(sub { now_has($moved) }), 'all of it goes on') or diag deferred($moved);
foreach my $org ($moved, $big)
{
	is_counted($org, "after a full queue: $org->{slug}");
	all_once($org, $org->{slug});
}
is(post($big, 751) . ' ' . post($big, 750), '413BODY_TOO_LARGE 202', 'the whole share is free');
add($big->{charged}, 750);
is_counted($big, 'and used');
is($t->sql("SELECT count(*) FROM logsvc_internal.audit_entry WHERE action = "
	. "'quota.events_discarded' AND organization_id = '$moved->{uuid}'"), 0,
		'nothing was discarded');

unlike($t->log_text, qr/PANIC|TRAP|logsvc could not/, 'no PANIC, and nothing failed otherwise');
$t->stop;
done_testing;
