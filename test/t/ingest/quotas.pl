# Daily quotas over HTTP and SQL: counted to the byte, across workers, crashes and
# midnight; mails; the deferred store, in, out and past its time.

use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

# Noon of another day: no midnight of the real clock comes into the way.
my $shift = 86400 + 12 * 3600 - time % 86400;
$ENV{LOGSVC_DEBUG_QUOTA_CLOCK} = $shift;
my $t = LogsvcTest->new(conf => "logsvc.acceptors = 3\n");
my $dir = PostgreSQL::Test::Utils::tempdir();

# ---- a mail server ----

my $server = fork // die $!;
if ($server == 0)
{
	open my $out, '>', "$dir/mode" or die $!;
	close $out;
	exec '/usr/bin/python3', 'test/lib/smtp_server.py', $dir or POSIX::_exit(1);
}
END { local $?; if ($server) { kill 'KILL', $server; waitpid $server, 0; } }
my $port = wait_until(sub { -f "$dir/port" && slurp_file("$dir/port") })
	or die "no mail server\n";
$t->set('logsvc.smtp_from', 'logsvc <logs@example.test>');
$t->set('logsvc.smtp_url', "smtp://127.0.0.1:$port");

sub mails { my ($to) = @_; return grep { "@{$_->{to}}" =~ /\Q$to\E/ } map
	{ json_decode(slurp_file($_)) } glob "$dir/mail.*"; }

# ---- what is sent and what is counted ----

sub send_event
{
	my ($org, $bytes, %opt) = @_;
	my $body = '{"event":"' . 'x' x ($bytes - 12) . '"}';
	die 'wrong size' unless length $body == $bytes;
	return $t->http(POST => '/api/v1/logs', token => $opt{token} // $org->{ingest_key},
		body => $body);
}
sub usage { my ($org) = @_; return $t->http(GET => '/api/v1/usage',
	token => $org->{read_key})->{json}{data}{ingest}; }
sub limit { my ($org, $resource, $n) = @_;
	$t->sql("SELECT logsvc.set_limit('$org->{slug}', '$resource', $n)"); return; }
sub id_of { return "(SELECT id FROM logsvc_internal.organization WHERE slug = '$_[0]{slug}')"; }
sub tables
{
	my ($org, $test) = @_;
	$test //= 'false';
	return $t->sql("SELECT bytes || ' ' || events FROM logsvc_internal.ingested(" . id_of($org)
		  . ", logsvc_internal.quota_day(now()), $test)");
}
sub run_tasks { $t->sql('SELECT logsvc_internal.run_quotas(clock_timestamp())'); return; }
sub stored { my ($org) = @_; return $t->sql("SELECT coalesce(sum(rows), 0) FROM "
	. "logsvc_internal.part WHERE index_name = 'main' AND organization_id = " . id_of($org)); }

$t->sql(q{CREATE FUNCTION quota_clock(bigint) RETURNS void LANGUAGE C STRICT
	AS '$libdir/logsvc', 'logsvc_debug_quota_clock'});
# Puts the clock forward, and has the scheduler look at the deferred store.
sub clock { $ENV{LOGSVC_DEBUG_QUOTA_CLOCK} = $shift += $_[0]; $t->sql("SELECT quota_clock($shift)");
	return; }

my $free = $t->organization('free', plan => 'free');
my $pro = $t->organization('pro', plan => 'pro');
my $big = $t->organization('big');
limit($free, 'members', 3);
$t->sql("SELECT logsvc.create_user('second\@free.example', 'x'); SELECT "
	. "logsvc.add_member('free', 'second\@free.example', 'owner');"
	  . "SELECT logsvc.create_user('viewer\@free.example', 'x'); SELECT "
	  . "logsvc.add_member('free', 'viewer\@free.example', 'viewer')");

is(usage($free)->{limitBytes}, 1 << 30, 'Free: 1 GB');
is(usage($pro)->{limitBytes}, 10 << 30, 'Pro: 10 GB');
is(usage($big)->{limitBytes}, undef, 'Enterprise: none');
is_deeply(usage($free), { usedBytes => 0, usedEvents => 0, limitBytes => 1 << 30, percent => 0,
		state => 'normal', resetsAt => usage($free)->{resetsAt}, deferredBytes => 0,
			deferredEvents => 0,
		deferredUntil => undef, test => { usedBytes => 0, limitBytes => 100 << 20 } },
			'nothing used');

# Every format, of what was accepted only.
my $r = $t->http(POST => '/api/v1/logs/batch', token => $big->{ingest_key},
	body => '[{"event":"a"}, {"event":""} ,"bb"]');
is("$r->{status} $r->{json}{data}{accepted}", '202 2', 'a batch, one of it rejected');
is(tables($big), '17 2', 'the bytes of the events, without what is between them');
$t->http(POST => '/api/v1/logs/batch', token => $big->{ingest_key},
	body => qq({"event":"a"}\n\n"bb"\n),
	headers => { 'Content-Type' => 'application/x-ndjson' });
is(tables($big), '34 4', 'lines');
$t->sql("SELECT logsvc.act_as('big'); SELECT logsvc.ingest('\"cc\"')");
is(tables($big), '38 5', 'SQL');
my $shipped = $t->organization('shipped', plan => 'free');
my $entry = '["' . int(time) . '000000000","loki"]';
my $document = '{"message":"bulk"}';
my $push = sub { return $t->http(POST => '/loki/api/v1/push', token => $shipped->{ingest_key},
		body => qq({"streams": [{"stream": {"app": "x"}, "values": [$entry, ["yesterday", "no time"], ["1", ""]]}]})); };
my $bulk = sub { return $t->http(POST => '/_bulk', token => $shipped->{ingest_key},
		body => qq({"index": {}}\n$document\n{"index": {}}\n{broken}\n{"delete": {"_id": "1"}}\n));
			};
is($push->()->{status}, 400, 'Loki, one of two entries rejected');
my $shipped_bytes = length("appx$entry");
is(tables($shipped), "$shipped_bytes 1", 'the entry with its labels');
is($bulk->()->{status}, 200, 'a bulk request, two of its items rejected');
$shipped_bytes += length $document;
is(tables($shipped), "$shipped_bytes 2", 'the document');
limit($shipped, 'ingest_bytes_per_day', $shipped_bytes);
$r = $push->();
like("$r->{status} $r->{headers}{'retry-after'} $r->{content}",
	qr/^429 \d{4,} DAILY_QUOTA_EXCEEDED: /, 'Loki beyond the quota');
$r = $bulk->();
like("$r->{status} $r->{headers}{'retry-after'} $r->{json}{error}{reason}",
	qr/^429 \d{4,} DAILY_QUOTA_EXCEEDED: /, 'bulk too');
limit($shipped, 'overage_queue_seconds', 3600);
limit($shipped, 'deferred_bytes', 1000);
is($push->()->{headers}{'x-quota-state'} . ' ' . $bulk->()->{headers}{'x-quota-state'},
	'throttled throttled', 'or deferred');
is_deeply([ @{ usage($shipped) }{qw(deferredBytes deferredEvents)} ], [ $shipped_bytes, 2 ],
	'with as many bytes');
is(tables($shipped), "$shipped_bytes 2", 'which are not charged yet');
limit($shipped, 'ingest_bytes_per_day', 'NULL');
ok(wait_until(sub { tables($shipped) eq 2 * $shipped_bytes . ' 4' }), 'but when they come out')
	or diag tables($shipped);

my $session = $t->node->background_psql('postgres');
$session->query_safe("SELECT logsvc.act_as('big')");
$session->query_safe("BEGIN; SELECT logsvc.log('x'); ROLLBACK");
$session->query_safe("BEGIN; SAVEPOINT a; SELECT logsvc.log('x'); ROLLBACK TO a; SELECT "
	. "logsvc.ingest('\"dd\"'); COMMIT");
is(tables($big), '42 6', 'what is rolled back does not count');
is($t->http(POST => '/api/v1/logs', token => $big->{ingest_key}, body => '{"event":""}')->{status},
	400, 'nor what is refused');
is(tables($big), '42 6', 'at all');
is(tables($free) . tables($pro), '0 00 0', 'and nobody else is charged');

# ---- Free: warned, then paused ----

limit($free, 'ingest_bytes_per_day', 10000);
is(send_event($free, 7900)->{status}, 202, 'to 79%');
is(usage($free)->{state}, 'normal', 'normal');
run_tasks();
is(send_event($free, 100)->{status}, 202, 'to 80%');
is_deeply([ @{ usage($free) }{qw(state percent usedBytes)} ], [ 'warned', 80, 8000 ], 'warned');
run_tasks();
ok(wait_until(sub { mails('second@free.example') == 1 && mails($free->{email}) == 1 }),
	'both owners got a mail')
  or diag $t->sql('SELECT to_jsonb(o) FROM logsvc.outbox o');
is(scalar(my @none = mails('viewer@free.example')), 0, 'a viewer none');
my ($mail) = mails('second@free.example');
like(json_encode($mail), qr/80% of its daily ingestion/, 'that says so');
is(send_event($free, 1900)->{status}, 202, 'to 99%');
run_tasks();
is(send_event($free, 3000)->{status}, 202, 'what begins below the quota is taken whole');
is(tables($free), '12900 4', 'and counted');
$r = send_event($free, 100);
is("$r->{status} $r->{json}{code}", '429 DAILY_QUOTA_EXCEEDED', 'then it is paused');
ok($r->{headers}{'retry-after'} > 42900 && $r->{headers}{'retry-after'} <= 43200, 'until midnight')
  or diag $r->{headers}{'retry-after'};
is(usage($free)->{state}, 'paused', 'paused');
$r = $t->http(POST => '/v1/logs', token => $free->{ingest_key}, json => {});
is("$r->{status} $r->{json}{code}", '429 8', 'OTLP: RESOURCE_EXHAUSTED');
like($r->{json}{message}, qr/^DAILY_QUOTA_EXCEEDED/, 'as a Status');
ok($r->{headers}{'retry-after'} > 42900, 'with Retry-After');
is(($t->sql_error("SELECT logsvc.act_as('free'); SELECT logsvc.log('x')"))[1], 'LS604',
	'SQL: a SQLSTATE of its own');
is(send_event($big, 100)->{status}, 202, 'another organization sends on');
is(tables($free), '12900 4', 'refused ones are not counted');
run_tasks();
ok(stays(sub { (my @once = mails('second@free.example')) == 1 }, 0.5), 'one mail a day');

# Test keys have a quota of their own.
my $test_key = $t->sql_json("SELECT logsvc.create_api_key('free', 't', 'ingest-only', "
	. "'test')")->{key};
limit($free, 'test_bytes_per_day', 1000);
is(send_event($free, 1000, token => $test_key)->{status}, 202, 'a test key');
is(send_event($free, 100, token => $test_key)->{status}, 429, 'has its own quota');
is(tables($free, 'true') . ' ' . tables($free), '1000 1 12900 4', 'of its own count');
is(usage($free)->{test}{usedBytes}, 1000, 'which is told');

# ---- raised, lowered ----

limit($free, 'ingest_bytes_per_day', 20000);
is(send_event($free, 100)->{status}, 202, 'a raised limit counts at once');
limit($free, 'ingest_bytes_per_day', 13000);
is(send_event($free, 100)->{status}, 429, 'a lowered one too');
limit($free, 'ingest_bytes_per_day', 'NULL');
is(send_event($free, 100)->{status}, 202, 'and none');

# ---- exact: 64 connections, several workers, a crash ----

limit($free, 'ingest_bytes_per_day', 13100 + 100 * 100);
my %status;
foreach my $round (1 .. 3)
{
	my @requests = map { begin_request($t, POST => '/api/v1/logs', token => $free->{ingest_key},
			body => '{"event":"' . 'y' x 88 . '"}') } 1 .. 64;
	$status{ end_request($_)->{status} }++ foreach @requests;
}
is_deeply(\%status, { 202 => 100, 429 => 92 }, '64 connections: exactly what the quota holds')
  or diag explain \%status;
is(tables($free), '23100 106', 'and the table says the same');

limit($free, 'ingest_bytes_per_day', 1 << 30);
my $accepted = 0;
my $held = 0;
foreach my $round (1 .. 3)
{
	my @requests = map { begin_request($t, POST => '/api/v1/logs', token => $free->{ingest_key},
			body => '{"event":"' . 'z' x 88 . '"}') } 1 .. 64;
	my $some = 8 * $round;
	$accepted += grep { end_request($_)->{status} == 202 } splice @requests, 0, $some;
	$t->crash;
	$accepted += grep { (end_request($_, 1)->{status} // 0) == 202 } @requests;
	$held += @requests;
	$t->start;
	$t->wait_ready;
}
my ($bytes, $events) = split ' ', tables($free);
cmp_ok($events - 106, '>=', $accepted, "crashes: no acknowledged event is uncounted ($accepted)");
is($bytes, 23100 + 100 * ($events - 106), 'bytes as events');
is(usage($free)->{usedBytes}, $bytes, 'and usage the same');
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 });
# 4 were sent one by one, 2 after the limit was raised.
is(stored($free), $events, 'every stored event is counted, and every counted event is stored');
limit($free, 'ingest_bytes_per_day', $bytes + 100);
is(send_event($free, 100)->{status} . send_event($free, 100)->{status}, '202429',
	'after a crash the quota is where it was');
$bytes += 100;

# A failed commit gives everything back.
limit($free, 'ingest_bytes_per_day', $bytes + 100);
$t->sql('ALTER TABLE logsvc_internal.queue RENAME TO queue_away');
is(send_event($free, 100)->{status}, 503, 'the queue is away');
$t->sql('ALTER TABLE logsvc_internal.queue_away RENAME TO queue');
is(send_event($free, 100)->{status} . send_event($free, 100)->{status}, '202429',
	'what failed is not charged');
$bytes += 100;

# ---- Pro: throttled ----

limit($pro, 'ingest_bytes_per_day', 1000);
limit($pro, 'deferred_bytes', 2500);
is(send_event($pro, 1000)->{status}, 202, 'up to the quota');
$r = send_event($pro, 1000);
is("$r->{status} $r->{json}{data}{status}", '202 deferred', 'beyond it: deferred');
like($r->{json}{data}{id}, qr/^evt_/, 'with an id');
is($r->{headers}{'x-quota-state'}, 'throttled', 'and a header');
$r = $t->http(POST => '/api/v1/logs/batch', token => $pro->{ingest_key}, body => '["'
	. 'b' x 998 . '"]');
is("$r->{status} $r->{json}{data}{status} $r->{json}{data}{accepted}", '202 deferred 1', 'a batch');
$r = $t->sql_json("SELECT logsvc.act_as('pro') IS NULL; SELECT logsvc.ingest(to_jsonb(repeat('c', 998)))"
	  =~ s/^SELECT (.*?);/DO \$\$BEGIN PERFORM $1; END\$\$;/r);
is($r->{status}, 'deferred', 'SQL');
is(tables($pro), '1000 1', 'none of them is charged');
my $u = usage($pro);
is_deeply([ @$u{qw(state deferredBytes deferredEvents)} ], [ 'throttled', 3000, 3 ], 'usage tells');
ok($u->{deferredUntil} gt '2', "with the deadline $u->{deferredUntil}");
$r = send_event($pro, 100);
is("$r->{status} $r->{json}{code}", '429 DAILY_QUOTA_EXCEEDED',
	'the deferred store of the organization is full');
cmp_ok($r->{headers}{'retry-after'}, '<=', 3600, 'it comes again within the hour');
limit($pro, 'deferred_bytes', 1 << 30);
$t->set('logsvc.deferred_limit', '0');
is(send_event($pro, 100)->{status}, 429, 'and so may be that of the node');
$t->set('logsvc.deferred_limit', '10GB');
is($t->http(GET => '/api/v1/logs', token => $pro->{read_key})->{json}{data}[0]{event} =~ /^x+$/, 1,
	'what is deferred is not found yet');
ok(wait_until(sub { stored($pro) == 1 }), 'what was charged is stored');
is($t->sql('SELECT count(*) FROM logsvc_internal.deferred'), 3, 'the rest is not');

# A crash keeps it; a raised quota lets it in, once.
$t->crash;
$t->start;
$t->wait_ready;
is(usage($pro)->{deferredBytes}, 3000, 'a crash keeps it');
is(send_event($pro, 500)->{json}{data}{status}, 'deferred', 'and the state');
limit($pro, 'ingest_bytes_per_day', 3000);
$t->stop_at('deferred_before_commit');
clock(0);
my $scheduler = $t->wait_held('deferred_before_commit');
kill 'TERM', $scheduler;
ok(wait_until(sub { !kill 0, $scheduler }), 'the scheduler is told to end in the middle');
is(tables($pro) . ' ' . usage($pro)->{deferredBytes}, '1000 1 3500', 'then nothing has moved');
$t->let_go('deferred_before_commit');
ok(wait_until(sub { tables($pro) eq '3000 3' }, 90), 'a raised quota takes in as much as it allows')
	or diag tables($pro);
ok(wait_until(sub { $t->sql('SELECT logsvc_internal.queue_depth()') == 0 }),
	'and the depth is exact');
is(usage($pro)->{deferredBytes}, 1500, 'the rest waits');

# Its time is over.
clock(3580);
ok(stays(sub { usage($pro)->{deferredBytes} == 1500 }, 0.5),
	'before the hour nothing is discarded');
clock(60);
ok(wait_until(sub { usage($pro)->{deferredBytes} == 0 }), 'after the hour it is');
my $entries = $t->sql_json("SELECT jsonb_agg(details ORDER BY at) FROM logsvc_internal.audit_entry "
	. "WHERE action = 'quota.events_discarded'");
my ($gone, $of) = (0, 0);
$gone += $_->{events}, $of += $_->{bytes} foreach @$entries;
is("$gone $of", '2 1500', 'loudly: in the audit log');
is($t->sql("SELECT actor FROM logsvc_internal.audit_entry WHERE action = 'quota.events_discarded' "
	. "LIMIT 1"), 'service:logsvc', 'as of the service');
run_tasks();
ok(wait_until(sub { (grep { json_encode($_) =~ /were discarded/ } mails($pro->{email})) == 1 }),
	'and one mail to the owner');
my $history = $t->http(GET => '/api/v1/usage/history', token => $pro->{read_key})->{json}{data};
is(scalar @$history, 30, 'a history of 30 days');
is_deeply([ @{ $history->[0] }{qw(bytes events discardedBytes discardedEvents)} ],
	[ 3000, 3, 1500, 2 ], 'of what was sent and what was lost');
is($t->http(GET => '/api/v1/usage/history', token => $pro->{read_key},
	query => { days => 401 })->{status}, 400, 'of 400 days at most');

# ---- midnight, with the server down ----

is(send_event($pro, 700)->{json}{data}{status}, 'deferred', 'before midnight');
# More organizations than one pass of the scheduler looks at.
my $many = '(SELECT id FROM logsvc_internal.organization WHERE name = \'many\')';
$t->sql("INSERT INTO logsvc_internal.organization (slug, name, plan) SELECT 'many-' || i, 'many', "
	. "'pro' FROM generate_series(1, 300) i;"
	  . "INSERT INTO logsvc_internal.log_index (organization_id, name) SELECT id, 'main' "
	  . "FROM $many o;"
	  . "INSERT INTO logsvc_internal.deferred SELECT nextval('logsvc_internal.batch_number'), "
	  . "o.id, d.bytes, d.rows, d.min_time,"
	  . " d.max_time, d.level_mask, d.header, d.body, d.deferred_at, d.expires_at FROM $many o, "
	  . "logsvc_internal.deferred d");
$t->stop;
$ENV{LOGSVC_DEBUG_QUOTA_CLOCK} = $shift += 43200;
$t->start;
$t->wait_ready;
ok(wait_until(sub { tables($pro) eq '700 1' }, 90), 'what waited goes into it')
	or diag tables($pro);
is(usage($pro)->{deferredBytes}, 0, 'though its hour was over');
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.deferred') == 0 }),
	'and so does that of 300 others');
is($t->sql("SELECT count(*) || ' ' || sum(bytes) FROM (SELECT t.organization_id, t.bytes FROM "
	. "logsvc_internal.ingest_tally t"
	  . " UNION ALL SELECT d.organization_id, d.bytes FROM logsvc_internal.ingest_day d) s WHERE "
	  . "organization_id IN $many"),
	'300 210000', 'each charged once');
is(send_event($free, 100)->{status}, 202, 'paused no more');
is(tables($free), '100 1', 'from 0 on');
is($t->sql('SELECT count(*) FROM logsvc_internal.audit_entry WHERE action = '
	. '\'quota.events_discarded\''), scalar @$entries, 'nothing was discarded');
$history = $t->http(GET => '/api/v1/usage/history', token => $free->{read_key},
	query => { days => 2 })->{json}{data};
is_deeply([ map { $_->{bytes} } @$history ], [ 100, $bytes ], 'yesterday is in the history');
is(tables($big), '0 0', 'and nobody else was charged');
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 });
is(stored($pro), 4, 'every event that was let in is stored once');
is($t->sql("SELECT count(*) || ' ' || sum(rows) FROM logsvc_internal.part WHERE organization_id IN "
	. "$many"), '300 300', 'of the others too');
is($t->sql('SELECT logsvc_internal.queue_depth()'), 0, 'the depth is exact');

# ---- more than ever fits ----

$t->set('logsvc.queue_limit', 1000);
$r = $t->http(POST => '/api/v1/logs/batch', token => $big->{ingest_key}, json => [ ('x') x 1001 ]);
is("$r->{status} $r->{json}{code}", '413 BODY_TOO_LARGE', 'more events than the queue may hold');
like($r->{json}{error}, qr/750 events/, 'with the figure: three quarters, as there are other '
	. 'organizations');
is(tables($big), '0 0', 'are not charged');

eval { $session->quit };
$t->stop;
done_testing;
