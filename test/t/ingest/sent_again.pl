# sent_again.pl: Idempotency-Key of requests that ingest. A batch that is sent again is answered
# as before and stored once: at once, concurrently, and after a crash.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => join "\n", 'restart_after_crash = on', 'logsvc.acceptors = 1',
	"logsvc.flush_interval = '50ms'", "logsvc.queue_wait = '10s'");
my $org = $t->organization('acme');
my $other = $t->organization('other');
my $ndjson = { 'Content-Type' => 'application/x-ndjson' };

sub stored
{
	my ($slug) = @_;
	return $t->sql('SELECT coalesce(sum(e.rows), 0) FROM (SELECT organization_id, rows FROM '
		. "logsvc_internal.queue WHERE NOT audit UNION ALL SELECT organization_id, rows FROM "
		. "logsvc_internal.part WHERE index_name <> '_audit') AS e JOIN logsvc_internal.organization "
		. "o ON o.id = e.organization_id WHERE o.slug = '" . ($slug // 'acme') . q{'});
}

sub kept { return $t->sql('SELECT count(*) FROM logsvc_internal.ingest_answer'); }

sub post
{
	my ($path, $key, %opt) = @_;
	return $t->http(POST => $path, token => $opt{token} // $org->{ingest_key}, %opt,
		headers => { %{ $opt{headers} // {} }, defined $key ? ('Idempotency-Key' => $key) : () });
}

# Status, code of an error, and whether it is the answer of a request before.
sub says
{
	my ($r) = @_;
	return join ' ', $r->{status}, $r->{json} && ref $r->{json} eq 'HASH' ? $r->{json}{code} // () : (),
	  $r->{headers}{'idempotency-replayed'} ? 'again' : ();
}

# ---- every format ----

my $n = 0;
my %doors = (
	'/api/v1/logs' => { json => { event => 'one' } },
	'/api/v1/logs/batch' => { json => [ 'a', { event => '' }, 'c' ] },
	'/api/v1/logs/batch?lines' => { body => "\"a\"\nnot JSON\n", headers => $ndjson },
	'/loki/api/v1/push' => { json => { streams => [ { stream => { app => 'x' },
		values => [ [ time . '000000000', 'line' ] ] } ] } },
	'/_bulk' => { body => qq({"create":{"_id":"x1"}}\n{"message":"m"}\n{"update":{}}\n{}\n),
		headers => $ndjson },
	'/web/_bulk' => { body => qq({"create":{}}\n{"message":"m"}\n), headers => $ndjson },
	'/v1/logs' => { json => { resourceLogs => [ { scopeLogs => [ { logRecords => [
		{ body => { stringValue => 'r' } }, { timeUnixNano => '9000000000000000000',
			body => { stringValue => 'far' } } ] } ] } ] } });
foreach my $door (sort keys %doors)
{
	my $path = $door =~ s/\?.*//r;
	my $before = stored();
	my $first = post($path, $door, %{ $doors{$door} });
	cmp_ok($first->{status}, '<', 300, "$door: accepted");
	is($first->{headers}{'idempotency-replayed'}, undef, "$door: for the first time");
	my $between = stored();
	cmp_ok($between, '>', $before, "$door: stored");
	my $again = post($path, $door, %{ $doors{$door} });
	is_deeply([ @$again{qw(status content)} ], [ @$first{qw(status content)} ],
		"$door: the same answer");
	is($again->{headers}{'idempotency-replayed'}, 'true', "$door: which says so");
	my %differ = map { $_ => 1 } qw(date x-request-id idempotency-replayed),
		grep { /^x-ratelimit/ } keys %{ $first->{headers} };
	my $same = sub { my ($r) = @_; return { map { $_ => $r->{headers}{$_} }
		grep { !$differ{$_} } keys %{ $r->{headers} } } };
	is_deeply($same->($again), $same->($first), "$door: the same headers");
	cmp_ok($again->{headers}{'x-ratelimit-remaining'}, '<',
		$first->{headers}{'x-ratelimit-remaining'}, "$door: but the rate is that of now");
	is(stored(), $between, "$door: nothing is stored again");
}
is(kept(), scalar keys %doors, 'a row for each key');
is(says(post('/api/v1/logs', undef, json => { event => 'one' })), 202, 'without a key');
is(kept(), scalar keys %doors, 'none is kept');

# ---- whose key it is ----

my $one = { json => { event => 'one' } };
is(says(post('/api/v1/logs', '/api/v1/logs', json => { event => 'two' })),
	'409 IDEMPOTENCY_CONFLICT', 'another body');
is(says(post('/api/v1/logs', '/api/v1/logs', %$one, headers => { 'X-Logsvc-Parse' => 'json' })),
	'409 IDEMPOTENCY_CONFLICT', 'another header that matters');
is(says(post('/api/v1/logs/batch', '/api/v1/logs', json => ['one'])), 202, 'of another route');
is(says(post('/api/v1/logs', '/api/v1/logs', %$one, token => $other->{ingest_key})), 202,
	'of another organization');
is(says(post('/api/v1/logs', '/api/v1/logs', %$one, token => $other->{ingest_key})), '202 again',
	'which has its own');
is(stored('other'), 1, 'and one event');
is(says(post('/api/v1/logs', '/api/v1/logs', %$one, token => $org->{full_key})), 202,
	'of another caller');
is(says(post('/api/v1/logs', 'Other', %$one)) . ' ' . says(post('/api/v1/logs', 'other', %$one)),
	'202 202', 'keys differ by case');

# ---- keys that are none, answers that are not kept ----

is(says(post('/api/v1/logs', $_->[1], %$one)), $_->[2], $_->[0]) foreach
  [ '255 characters', 'k' x 255, 202 ], [ '256 characters', 'k' x 256, '400 VALIDATION_ERROR' ],
  [ 'a space', 'a b', '400 VALIDATION_ERROR' ],
  [ '8 kB', 'k' x 8000, '400 VALIDATION_ERROR' ], [ 'empty: none', '', 202 ];
like(says(post('/api/v1/logs', 'k' x 100_000, %$one)), qr/^431/, '100 kB: a header that is too large');
is(says(post('/api/v1/logs', 'bad', json => { event => '' })), '400 VALIDATION_ERROR', 'refused');
is(says(post('/api/v1/logs', 'bad', json => { event => 'good' })), 202, 'mended: the key is free');
is(says(post('/_bulk', 'many', headers => $ndjson, body => "{\"create\":{}}\n{\"a\":1}\n" x 12_000)),
	'413', 'an answer that is too long to be kept') or diag 'says too much';
my $before = stored();
is(says(post('/_bulk', 'many', headers => $ndjson, body => "{\"create\":{}}\n{\"a\":1}\n" x 5_000)),
	'200', 'a shorter one');
is(stored() - $before, 5000, 'only its events are there');
is(says(post('/_bulk', 'many', headers => $ndjson, body => "{\"create\":{}}\n{\"a\":1}\n" x 5_000)),
	'200 again', 'and it is kept');

# ---- at the same time ----

sub begin
{
	my ($key, $text) = @_;
	return begin_request($t, POST => '/api/v1/logs', token => $org->{ingest_key},
		json => { event => $text }, headers => { 'Idempotency-Key' => $key });
}

$before = stored();
$t->stop_at('accept_before_commit');
my @requests = begin('first', 'first');
$t->wait_held('accept_before_commit');
# The first two are of one group, the others find what that group or the one before committed.
push @requests, begin('same', 'same') foreach 1 .. 4;
push @requests, begin('first', 'first'), begin('free', 'free');
$t->http(GET => '/healthz');
$t->let_go('accept_before_commit');
my @answers = map { end_request($_) } @requests;
is(join(', ', map { says($_) } @answers[ 0, 5, 6 ]), '202, 202 again, 202',
	'a request during the commit of another one with its key');
is(join(', ', sort map { says($_) } @answers[ 1 .. 4 ]), '202, 202 again, 202 again, 202 again',
	'four at once with one key');
is(scalar(keys %{ { map { $_->{content} => 1 } @answers[ 1 .. 4 ] } }), 1, 'have one answer');
is(stored() - $before, 3, 'and one event');

$t->set('logsvc.queue_wait' => '0');
$t->stop_at('accept_before_commit');
@requests = begin('blocks', 'blocks');
$t->wait_held('accept_before_commit');
push @requests, begin('impatient', 'x') foreach 1 .. 2;
$t->http(GET => '/healthz');
$t->let_go('accept_before_commit');
@answers = map { end_request($_) } @requests;
is(join(', ', sort map { says($_) } @answers), '202, 202, 503 SERVICE_UNAVAILABLE',
	'where requests do not wait the second one is sent away');
like((grep { $_->{status} == 503 } @answers)[0]{json}{error}, qr/Idempotency-Key is on its way/,
	'and told why');
ok((grep { $_->{status} == 503 } @answers)[0]{headers}{'retry-after'}, 'and when to come again');
ok(wait_until(sub { $t->sql(q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
	AND objsubid = 19539}) == 0 }), 'no lock is left');

# ---- crashes ----

sub crash_at
{
	my ($point, $key) = @_;
	$t->stop_at($point);
	my $request = begin($key, $key);
	$t->wait_held($point);
	$t->crash;
	eval { end_request($request, 1) };
	$t->start;
	$t->wait_ready;
	return post('/api/v1/logs', $key, json => { event => $key });
}

$before = stored();
is(says(crash_at('accept_after_commit', 'lost-answer')), '202 again',
	'a crash between commit and answer: sent again, it is answered');
is(stored() - $before, 1, 'and stored once');
is(says(crash_at('accept_before_commit', 'lost-events')), 202, 'a crash before the commit');
is(stored() - $before, 2, 'stored once too');

# ---- the life of an answer ----

$t->sql("UPDATE logsvc_internal.ingest_answer SET created_at = now() - interval '24 hours 1 second'");
is(says(post('/api/v1/logs', 'Other', %$one)), 202, 'after 24 hours a key is free');
is(says(post('/api/v1/logs', 'Other', %$one)), '202 again', 'and can be used again');
$t->sql('SELECT logsvc_internal.purge_ingest_answers(now())');
is(kept(), 1, 'what is too old is removed');
post('/api/v1/logs', "n$_", json => { event => 'x' x 100 }) foreach 1 .. 5;
post('/api/v1/logs', 'o', %$one, token => $other->{ingest_key});
$t->sql('SELECT logsvc_internal.purge_ingest_answers(now(), 3)');
is(kept(), 4, 'and what an organization has beyond its number');
is(join(' ', map { says(post('/api/v1/logs', "n$_", json => { event => 'x' x 100 })) } 5, 3),
	'202 again 202 again', 'its last ones stay');
$t->sql('SELECT logsvc_internal.purge_ingest_answers(now(), 100, 1)');
is(kept(), 0, 'or beyond its bytes');
is($t->sql("SELECT period FROM logsvc_internal.scheduled_task WHERE name = 'purge_ingest_answers'"),
	'minute', 'each minute');

$t->stop;
done_testing;
