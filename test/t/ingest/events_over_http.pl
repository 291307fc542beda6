# events_over_http.pl: POST /api/v1/logs and /logs/batch over HTTP: every shape,
# every refusal, the queue's limit, and what reaches the store.
use strict;
use warnings;

use IO::Compress::Gzip ();
use LogsvcAsync;
use LogsvcTest;
use POSIX qw(strftime);
use Test::More;
use Time::HiRes qw(time);

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'\nlogsvc.writers = 2");
my $org = $t->organization('acme');
my $key = $org->{ingest_key};

my $single = '/api/v1/logs';
my $batch = '/api/v1/logs/batch';
my $ndjson = { 'Content-Type' => 'application/x-ndjson' };

sub post { my ($path, %opt) = @_; return $t->http(POST => $path, token => $key, %opt); }

# Events of an organization: (in the queue, in the store).
sub stored
{
	my ($slug, $where) = @_;
	$where = defined $where ? "AND $where" : '';
	return $t->sql("SELECT coalesce(sum(p.rows), 0) FROM logsvc_internal.part p
		JOIN logsvc_internal.organization o ON o.id = p.organization_id
		WHERE o.slug = '$slug' AND p.index_name <> '_audit' $where");
}

sub queued { return $t->sql('SELECT coalesce(sum(rows), 0) FROM logsvc_internal.queue'); }

sub wait_written { return wait_until(sub { queued() == 0 }); }

sub is_error
{
	my ($r, $status, $code, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is("$r->{status} " . ($r->{json}{code} // '(no code)'), "$status $code", $name);
	ok(length($r->{json}{error} // ''), "$name: has a message");
	return;
}

# The event that free text finds.
sub event_of
{
	my ($q) = @_;
	my $r = $t->http(GET => '/api/v1/logs', token => $org->{token}, query => { q => $q });
	is(scalar @{ $r->{json}{data} // [] }, 1, "$q is found once") or diag $r->{content};
	return $r->{json}{data}[0] // {};
}

my $sent = 0;    # events that got a 202

# ---- shapes ----

my $id = qr/^evt_[0-9A-HJKMNP-TV-Z]{26}$/;

my $r = post($single, json => { event => 'hello' });
is($r->{status}, 202, 'a single event');
like($r->{json}{data}{id}, $id, 'has an id');
is_deeply($r->{json}, { data => { id => $r->{json}{data}{id}, status => 'queued' } },
	'and nothing else in the answer');
ok(length($r->{headers}{'x-request-id'} // ''), 'X-Request-Id');
$sent++;

$r = post($single, body => '"a bare string"');
is($r->{status}, 202, 'a bare string is an event');
$sent++;

$r = post($single, json => { event => 'x', timestamp => '2026-01-02T03:04:05.678Z',
	level => 'WARNING',
		source => 's', service => 'v', index => 'main', traceId => 't', spanId => 'p',
		attributes => { a => 1, b => { c => [ 1, 2 ] }, d => undef } });
is($r->{status}, 202, 'an event with every field');
$sent++;

$r = post($single, body => '{"event":"x"}',
	headers => { 'Content-Type' => 'application/json; charset=utf-8' });
is($r->{status}, 202, 'content type with a parameter');
$r = $t->http(POST => $single, body => '{"event":"x"}', headers => { 'X-API-Key' => $key });
is($r->{status}, 202, 'X-API-Key');
$r = $t->http(POST => $single, token => $org->{token}, json => { event => 'x' });
is($r->{status}, 202, 'a personal access token with logs:write');
$r = $t->http(POST => $single, token => $org->{full_key}, json => { event => 'x' });
is($r->{status}, 202, 'a full-access key');
$sent += 4;

foreach my $shape (
	[ 'an object with events', json => { events => [ { event => 'a' }, { event => 'b' }, 'c' ] } ],
	[ 'a bare array', json => [ { event => 'a' }, 'b', { event => 'c' } ] ],
	[ 'NDJSON', body => "{\"event\":\"a\"}\n\n\"b\"\r\n{\"event\":\"c\"}", headers => $ndjson ])
{
	my ($name, @body) = @$shape;
	$r = post($batch, @body);
	is($r->{status}, 202, $name);
	my $data = $r->{json}{data};
	is("$data->{accepted} $data->{rejected} " . @{ $data->{ids} } . ' ' . @{ $data->{errors} },
		'3 0 3 0', "$name: counts");
	is($r->{headers}{'x-rejected-count'}, 0, "$name: X-Rejected-Count");
	$sent += 3;
}

$r = post($batch, json => [ map { "event $_" } 1 .. 1001 ]);
is("$r->{status} $r->{json}{data}{accepted}", '202 1001', 'a batch of more than 1,000');
is($r->{json}{data}{ids}, undef, 'its ids are not listed');
$sent += 1001;

# ---- partial success ----

my $ahead = strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time + 25 * 3600));
$r = post($batch, json => [ { event => 'good' }, { event => '' }, { message => 'good too' }, 7,
		{ event => 'x', index => 'nowhere' }, { event => 'x', timestamp => $ahead },
		{ event => 'x', timestamp => 'yesterday' } ]);
my $data = $r->{json}{data};
is("$r->{status} $data->{accepted} $data->{rejected}", '202 2 5', 'a batch with bad events');
is($r->{headers}{'x-rejected-count'}, 5, 'X-Rejected-Count');
is(join(' ', map { $_->{index} } @{ $data->{errors} }), '1 3 4 5 6',
	'the positions of the bad ones');
is(join(' ', map { "$_->{status}:$_->{code}" } @{ $data->{errors} }),
	'400:VALIDATION_ERROR 400:VALIDATION_ERROR 404:INDEX_NOT_FOUND 400:VALIDATION_ERROR '
		. '400:VALIDATION_ERROR',
	'their codes');
is(scalar(grep { !length $_->{message} } @{ $data->{errors} }), 0, 'each has a message');
is(scalar @{ $data->{ids} }, 2, 'ids of the good ones');
$sent += 2;

$r = post($batch, json => [ (map { { event => '' } } 1 .. 150), 'good' ]);
is("$r->{json}{data}{rejected} " . @{ $r->{json}{data}{errors} }, '150 100',
	'the first 100 errors are listed');
$sent++;

$r = post($batch, body => "{\"event\":\"a\"}\nnot json\n{\"event\":\"b\"}\n", headers => $ndjson);
is("$r->{status} $r->{json}{data}{accepted} $r->{json}{data}{errors}[0]{index}", '202 2 1',
	'a bad line of NDJSON is rejected by itself');
is($r->{json}{data}{errors}[0]{path}, 'events[1]', 'with its path');
$sent += 2;

$r = post($batch, json => [ { event => '' }, { event => 'x', index => 'nowhere' } ]);
is_error($r, 400, 'VALIDATION_ERROR', 'all rejected');
is($r->{json}{details}[1]{code}, 'INDEX_NOT_FOUND', 'details say why');
is($r->{json}{details}[0]{path}, 'events[0].event', 'and where');
my $some = post($batch, json => [ { event => '' }, 'good' ])->{json}{data}{errors}[0];
$sent++;
is_deeply($r->{json}{details}[0], $some, 'an error is the same when others are accepted');

my $big = 'x' x (1024 * 1024);
$r = post($batch, json => [ $big, { event => $big } ]);
is_error($r, 413, 'EVENT_TOO_LARGE', 'all rejected because of their size');
$r = post($batch, json => [ $big, 'small' ]);
is("$r->{status} $r->{json}{data}{accepted} $r->{json}{data}{errors}[0]{code} "
	. "$r->{json}{data}{errors}[0]{status}",
	'202 1 EVENT_TOO_LARGE 413', 'one event over 1 MB in a batch');
$sent++;
$r = post($single, json => { event => $big });
is_error($r, 413, 'EVENT_TOO_LARGE', 'a single event over 1 MB');
my $almost = '"' . 'x' x (1024 * 1024 - 2) . '"';
$r = post($single, body => $almost);
is($r->{status}, 202, 'an event of just 1 MB');
$sent++;

# ---- members without a place ----

$r = post($single, json => { event => 'flat fields', colour => 'red', Event => 'y', host => 'h1',
	organization_id => 'other', __proto__ => { polluted => 1 }, attributes => { colour => 'blue' } });
is("$r->{status} " . ($r->{headers}{'x-ignored-fields'} // 'none'), '202 colour',
	'what stands beside an event');
is_deeply(event_of('"flat fields"')->{attributes}, { colour => 'blue', Event => 'y', host => 'h1',
	organization_id => 'other', __proto__ => { polluted => 1 } },
	'are attributes; those of `attributes` count before them');

# A value that is lost because its name is there twice: the answer says so.
my $twice = 'sent more than once in this event, and only one value is kept: ';
$r = post($single, body => '{"event": "twice", "event": "two", "n": 1, "n": 2}');
is_deeply([ $r->{status}, $r->{headers}{'x-ignored-fields'}, $r->{json}{data}{warnings} ],
	[ 202, 'event, n', [ { code => 'REPEATED_NAME', message => $twice . 'event, n' } ] ],
		'two members with one name');
is(event_of('twice')->{attributes}{n}, 1, 'the first one counts');
$r = post($batch, body => '["a", {"event": "b", "level": "info", "level": "warn"}]');
is_deeply([ $r->{headers}{'x-ignored-fields'}, $r->{json}{data}{warnings} ], [ 'level',
	[ { index => 1, code => 'REPEATED_NAME', message => "${twice}level" } ] ], 'in a batch');
$sent += 3;
$r = post($single, json => { event => 'early', timestamp => 1 });
is($r->{headers}{'x-unlikely-time-count'}, 1, 'a header counts early events');
is_deeply($r->{json}{data}{warnings}, [ { code => 'UNLIKELY_TIME', message => 'the time is before 1980; '
	. 'a number is seconds, milliseconds, microseconds or nanoseconds since 1970' } ],
		'a number that is no time');
$sent += 1;
my $form = { 'Content-Type' => 'application/x-www-form-urlencoded' };
$r = post($single, body => 'event=x', headers => $form);
like("$r->{status} $r->{json}{error}",
	qr/^400 .*a form \(curl -d event=\.\.\.\) is not taken: send \{"event": "\.\.\."\}, or text with/,
	'a form says what to send instead');
is(post($single, body => '{"event": "curl"}', headers => $form)->{status}, 202, 'JSON is no form');
$sent += 1;
$r = post($single, json => { event => 'many fields', map { ("f$_" => $_) } 1 .. 10_000 });
is($r->{status}, 202, '10,000 flat fields');
my $many = event_of('"many fields"');
is(keys(%{ $many->{attributes} }) . " @{ $many->{truncatedFields} }", '128 attributes',
	'128 are kept, and the event says so');
$r = post($batch, json => { events => [ { event => 'x', a => 1 } ], extra => 1,
	"bad\r\nX-Injected: 1" => 1, 'gr\x{fc}n' => 2 });
is(join(',', sort split /, /, $r->{headers}{'x-ignored-fields'} // ''),
	'bad%0D%0AX-Injected:%201,extra,gr\x{fc}n',
	'X-Ignored-Fields of what stands beside events');
ok(!exists $r->{headers}{'x-injected'}, 'injects no header');
$sent += 3;

# ---- levels and times of loggers ----

my $at = int(time) - 60;
foreach my $case (
	[ { message => 'from python', levelno => 40, levelname => 'ERROR', created => "$at.25" },
		'error', 250 ],
	[ { message => 'from pino', level => 40, time => $at * 1000 + 250, pid => 1, hostname => 'h' },
		'warn', 250 ],
	[ { event => 'in microseconds', level => 3, timestamp => $at * 1_000_000 + 250_000 },
		'error', 250 ],
	[ { event => 'in nanoseconds', level => 'Critical', timestamp => $at . '250000000' },
		'fatal', 250 ],
	[ { event => 'in seconds', level => 'NOTICE', timestamp => $at }, 'info', 0 ])
{
	my ($event, $level, $ms) = @$case;
	my $text = $event->{event} // $event->{message};

	$event->{created} += 0 if exists $event->{created};
	is(post($single, json => $event)->{status}, 202, $text);
	my $found = event_of("\"$text\"");
	is("$found->{level} $found->{timestamp}", sprintf('%s %s.%03dZ', $level,
		POSIX::strftime('%Y-%m-%dT%H:%M:%S', gmtime $at), $ms), "$text: its level and its time");
	$sent++;
}

# ---- bad bodies ----

foreach my $bad (
	[ 'not JSON', $single, '{"event":' ],
	[ 'an empty body', $single, '' ],
	[ 'a number', $single, '7' ],
	[ 'an array where one event is expected', $single, '["a"]' ],
	[ 'text after the end', $single, '{"event":"x"} y' ],
	[ 'invalid UTF-8', $single, "{\"event\":\"\xff\xfe\"}" ],
	[ 'deep nesting', $single, '{"event":"x","attributes":' . '{"a":' x 100000 . '1'
		. '}' x 100000 . '}' ],
	[ 'an empty batch', $batch, '[]' ],
	[ 'an object without events', $batch, '{"rows":[]}' ],
	[ 'events that are no array', $batch, '{"events":{}}' ],
	[ 'a batch that is a string', $batch, '"x"' ],
	[ 'a batch cut off', $batch, '[{"event":"x"},{"event":"y"' ])
{
	my ($name, $path, $body) = @$bad;
	is_error(post($path, body => $body), 400, 'VALIDATION_ERROR', $name);
}
$r = post($single, json => { event => 'x', index => 'nowhere' });
is_error($r, 404, 'INDEX_NOT_FOUND', 'an unknown index');
is($r->{json}{error},
	'index: there is no index of this name in the organization; create it first, or leave it out',
	'whose message names the member, and what to do');
is(post($single, json => { level => 'warn' })->{json}{error},
	'event: required: expected a non-empty string', 'so does that of a member that is missing');
is_error(post($single, json => { event => 'x', index => '_audit' }), 404, 'INDEX_NOT_FOUND',
	'a reserved index');
$r = post($single, body => '{"event":"a\u0000b\ud800c"}');
is($r->{status}, 202, 'NUL and a lone surrogate are no error');
$sent++;

is_error(post($single, body => 'event=x', headers => { 'Content-Type' => 'text/html' }), 415,
	'UNSUPPORTED_MEDIA_TYPE', 'text/html');
is_error(post($batch, body => '[]', headers => { 'Content-Type' => 'application/jsonp' }), 415,
	'UNSUPPORTED_MEDIA_TYPE', 'a type that only begins like a known one');

# Nothing at all, from keys that are known: where it is in memory must not matter.
foreach my $path ($single, $batch, '/_bulk')
{
	foreach my $body ('', "\n", "\xEF\xBB\xBF")
	{
		is(post($path, body => $body, headers => $ndjson)->{status}, 400,
			length($body) . " bytes of lines to $path");
	}
}

# ---- the body limit ----

my $limit = 10 * 1024 * 1024;
my $line = '{"event":"' . 'y' x 1000 . '"}';
my $lines = int($limit / (length($line) + 1));
my $body = join("\n", ($line) x $lines);
$body .= "\n" x ($limit - length $body);
is(length $body, $limit, 'a body of just 10 MB');
$r = post($batch, body => $body, headers => $ndjson);
is("$r->{status} " . ($r->{json}{data}{accepted} // $r->{content}), "202 $lines", 'is accepted');
$sent += $lines;
$r = post($batch, body => "$body\n", headers => $ndjson);
is_error($r, 413, 'FST_ERR_CTP_BODY_TOO_LARGE', 'one byte more');
is("$r->{json}{statusCode} " . ($r->{json}{message} // ''), "413 $r->{json}{error}",
	'with the members that clients of the body limit know');

my @chunks = (substr($body, 0, $limit / 2), substr($body, $limit / 2), "\n");
$r = $t->http(POST => $batch, token => $key, body => sub { return shift @chunks },
	headers => { %$ndjson, 'Transfer-Encoding' => 'chunked' });
is_error($r, 413, 'FST_ERR_CTP_BODY_TOO_LARGE', 'the same in chunks');
@chunks = (substr($body, 0, 5000), substr($body, 5000, 100_000 - 5000));
$r = $t->http(POST => $batch, token => $key, body => sub { return shift @chunks },
	headers => { %$ndjson, 'Transfer-Encoding' => 'chunked' });
is($r->{status}, 202, 'a chunked body within the limit');
$sent += $r->{json}{data}{accepted};

# ---- credentials ----

sub key_of
{
	my ($slug, $scope, @more) = @_;
	return $t->sql_json("SELECT logsvc.create_api_key('$slug', 'k', '$scope'"
		. join('', map { ", $_" } @more) . ')');
}

sub try { my (%opt) = @_; return $t->http(POST => $single, json => { event => 'x' }, %opt); }

is_error(try(), 401, 'UNAUTHORIZED', 'no credential');
is(try()->{headers}{'www-authenticate'}, 'Bearer', 'WWW-Authenticate');
is_error(try(headers => { Authorization => 'Basic eA==' }), 401, 'UNAUTHORIZED', 'Basic');
is_error(try(headers => { Authorization => 'Bearer' }), 401, 'UNAUTHORIZED', 'Bearer alone');
is_error(try(token => $key, headers => { 'X-API-Key' => $org->{full_key} }), 401, 'UNAUTHORIZED',
	'two credentials that differ');
is(try(token => $key, headers => { 'X-API-Key' => $key })->{status}, 202, 'the same one twice');
$sent++;
is_error(try(token => 'ing_live_' . 'x' x 32), 401, 'INVALID_API_KEY', 'an unknown key');
is_error(try(token => 'pat_' . 'x' x 32), 401, 'INVALID_PAT', 'an unknown token');
is_error(try(token => 'nonsense'), 401, 'INVALID_PAT', 'something else');
is_error(try(token => $org->{read_key}), 403, 'INSUFFICIENT_SCOPE', 'a read-only key');

my $revoked = key_of('acme', 'ingest-only');
is(try(token => $revoked->{key})->{status}, 202, 'a key before it is revoked');
$sent++;
$t->sql("SELECT logsvc.revoke_api_key('$revoked->{id}')");
is_error(try(token => $revoked->{key}), 401, 'API_KEY_REVOKED',
	'the next request after it is revoked');
my $expiring = key_of('acme', 'ingest-only', "'live'", "now() + interval '1 second'");
is(try(token => $expiring->{key})->{status}, 202, 'a key before it expires');
$sent++;
ok(wait_until(sub { try(token => $expiring->{key})->{status} == 401 or do { $sent++; 0 } }),
	'a key expires');
is_error(try(token => $expiring->{key}), 401, 'API_KEY_EXPIRED', 'an expired key');

my $viewer = $t->organization('viewers', role => 'viewer');
is_error(try(token => $viewer->{token}), 403, 'FORBIDDEN', 'a viewer has no logs:write');
my $narrow = $t->organization('narrow', scopes => ['logs:read']);
is_error(try(token => $narrow->{token}), 403, 'INSUFFICIENT_SCOPE', 'a token without logs:write');
my $removed = $t->organization('tokens');
is(try(token => $removed->{token})->{status}, 202, 'a token before it is revoked');
$t->sql("SELECT logsvc.revoke_token('$removed->{token_id}')");
is_error(try(token => $removed->{token}), 401, 'PAT_REVOKED',
	'the next request after it is revoked');

$r = $t->http(POST => $batch, token => 'ing_live_' . 'x' x 32, body => "$body\n",
	headers => $ndjson);
is_error($r, 401, 'INVALID_API_KEY', 'the credential is checked before the size');
$r = $t->http(POST => $batch, token => $org->{read_key}, body => 'x',
	headers => { 'Content-Type' => 'text/plain' });
is_error($r, 403, 'INSUFFICIENT_SCOPE', 'and the scope before the media type');
$r = post($batch, body => "$body\n", headers => { 'Content-Type' => 'text/plain' });
is_error($r, 413, 'FST_ERR_CTP_BODY_TOO_LARGE', 'the size before the media type');
is_error($t->http(DELETE => $batch), 405, 'METHOD_NOT_ALLOWED', 'the route before the credential');

# ---- what is in the store ----

ok(wait_written(), 'the writers empty the queue');
is(stored('acme'), $sent, "each of the $sent accepted events is there, no refused one");
is(stored('acme', "p.index_name <> 'main'"), 0, 'all in index main');

my $test_key = key_of('acme', 'ingest-only', "'test'")->{key};
is($t->http(POST => $single, token => $test_key, json => { event => 'x' })->{status}, 202,
	'a test key');
$r = $t->http(POST => $batch, token => $test_key,
	json => [ { event => 'x', index => 'main' }, 'y' ]);
is($r->{status}, 202, 'a test key that names an index');
ok(wait_written(), 'its events are written');
is(stored('acme', "p.index_name = '_test'"), 3, 'to index _test');
is(stored('acme', "p.index_name = 'main'"), $sent, 'and not to main');

# ---- ids ----

my @ids;
foreach my $n (1 .. 20)
{
	push @ids, $n % 3
	  ? post($single, json => { event => "n $n" })->{json}{data}{id}
	  : @{ post($batch, json => [ map { "n $n.$_" } 1 .. 50 ])->{json}{data}{ids} };
}
is_deeply([ sort @ids ], \@ids, 'ids sort as the events were accepted');
my %unique = map { $_ => 1 } @ids;
is(scalar(keys %unique), scalar(@ids), 'and are unique');
ok(wait_written(), 'written');

# Many requests of one group commit: each event has the id that its sender was told.
$t->sql(q{CREATE FUNCTION part_events(header bytea, body bytea, OUT id text, OUT event text)
	RETURNS SETOF record LANGUAGE C STRICT AS '$libdir/logsvc', 'logsvc_debug_part_events'});
$t->stop_at('accept_before_commit');
my @group = begin_request($t, POST => $single, token => $key, json => { event => 'group 0' });
$t->wait_held('accept_before_commit');
push @group, map {
	begin_request($t, POST => $_ % 2 ? $single : $batch, token => $key,
		json => $_ % 2 ? { event => "group $_" } : [ map { { event => $_ } } '', "group $_",
			"group $_ too" ])
} 1 .. 10;
ok(stays(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 1),
	'requests wait while one commits');
$t->let_go('accept_before_commit');
@ids = map { $_->{json}{data}{id} // @{ $_->{json}{data}{ids} } } map
	{ end_request($_) } @group;
is(scalar(@ids), 16, 'all are accepted');
ok(wait_written(), 'written');
is($t->sql(q{SELECT string_agg(DISTINCT e.id, ' ') FROM logsvc_internal.part p, LATERAL part_events(p.header, p.body) e
		WHERE e.event LIKE 'group %'}), join(' ', sort @ids), 'each is stored under the id that its sender was told');

# ---- events that are older than what their index keeps: taken, and said ----

my $keeper = $t->organization('keeper');
my $stranger = $t->organization('stranger');
$t->http(POST => '/api/v1/indexes', token => $keeper->{token},
	json => { name => 'short', retentionDays => 2 });
$t->http(POST => '/api/v1/indexes', token => $stranger->{token}, json => { name => 'short' });
sub days_ago { return strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time - 86400 * $_[0])); }
sub old { my ($days, %more) = @_; return { event => "$days days", index => 'short',
	timestamp => days_ago($days), %more }; }
sub keep { my ($path, %opt) = @_; return $t->http(POST => $path,
	token => $keeper->{ingest_key}, %opt); }
my $past = 'x-past-retention-count';
my $says = 'the event is older than what its index keeps, and will be removed soon';

$r = keep($single, json => old(3));
is_deeply([ $r->{status}, $r->{headers}{$past}, $r->{json}{data}{warnings} ],
	[ 202, 1, [ { code => 'PAST_RETENTION', message => $says } ] ],
		'an event that is past its retention');
foreach my $event (old(1), old(3, index => 'main'))
{
	$r = keep($single, json => $event);
	is("$r->{status} " . join(',', sort keys %{ $r->{json}{data} }) . ($r->{headers}{$past} // ''),
		'202 id,status',
		"$event->{event} in $event->{index}: nothing");
}
$r = keep($batch, json => [ 'x', old(3), '', old(1), old(400) ]);
is_deeply([ $r->{json}{data}{accepted}, $r->{headers}{$past}, $r->{json}{data}{warnings} ],
	[ 4, 2, [ map { { index => $_, code => 'PAST_RETENTION', message => $says } } 1, 4 ] ],
		'some of a batch');
$r = keep($single, body => join("\n", map { json_encode($_) } 'x', old(3)), headers => $ndjson);
is_deeply($r->{json}{data}{warnings}, [ { index => 1, code => 'PAST_RETENTION', message => $says }
	], 'one of two lines');
$r = keep($batch, json => [ map { old(3) } 1 .. 150 ]);
is(scalar @{ $r->{json}{data}{warnings} } . " $r->{headers}{$past}", '100 150',
	'the first 100 of many, and how many');
my $nanos = int(time - 3 * 86400) . '000000000';
$r = keep('/v1/logs', json => { resourceLogs =>
	[ { resource => { attributes => [ { key => 'logsvc.index',
		value => { stringValue => 'short' } } ] },
		scopeLogs => [ { logRecords => [ { timeUnixNano => $nanos,
			body => { stringValue => 'old' } }, { body => { stringValue => 'new' } } ] } ] } ] });
is_deeply([ $r->{status}, $r->{headers}{$past}, $r->{json} ],
	[ 200, 1, { partialSuccess => { rejectedLogRecords => '0',
			errorMessage =>
				'1 of 2 log records are older than what their index keeps, and will be removed soon'
					} } ],
	'OTLP: a warning, with nothing rejected');
$r = keep('/loki/api/v1/push', json => {
	streams => [ { stream => {}, values => [ [ $nanos, 'old' ] ] } ] },
	headers => { 'X-Logsvc-Index' => 'short' });
is("$r->{status} $r->{headers}{$past}", '204 1', 'Loki: the header');
$r = keep('/_bulk',
	body => qq({"index": {"_index": "short"}}\n{"message": "old", "\@timestamp": "@{[days_ago(3)]}"}\n));
is("$r->{status} $r->{headers}{$past} $r->{json}{items}[0]{index}{status}", '200 1 201',
	'_bulk: the header');
is($t->sql("SELECT logsvc.act_as('keeper'); SELECT logsvc.ingest('" . json_encode([ 'x', old(3) ])
	. "') #>> '{warnings,0,index}'") =~ /^(\d)$/m && $1, 1, 'SQL');

$r = $t->http(POST => $batch, token => $stranger->{ingest_key}, json => [ old(3) ]);
is_deeply([ $r->{status}, $r->{json}{data}{warnings} ], [ 202, undef ],
	'an index of that name of another organization keeps more');
my $test = $t->sql_json("SELECT logsvc.create_api_key('keeper', 't', 'ingest-only', "
	. "'test')")->{key};
is($t->http(POST => $single, token => $test, json => old(1.5, index => 'main'))->{headers}{$past},
	1, 'a test key writes into _test, which keeps a day');
$t->http(PATCH => '/api/v1/indexes/short', token => $keeper->{token},
	json => { retentionDays => 30 });
is(keep($single, json => old(3))->{headers}{$past}, undef, 'another retention counts at once');
ok(wait_written(), 'all of them are written');

# ---- the limit of the queue ----

# Small enough to fill it, large enough for one batch; all writers held.
# There are other organizations, for which a quarter is kept: this one may have 1,000.
$t->set('logsvc.queue_limit', 1333);
$t->stop_at('write_after_delete');
is(post($single, json => { event => 'first' })->{status}, 202, 'one event for the writers to hold');
$t->wait_held('write_after_delete');
$r = post($batch, json => [ map { "fill $_" } 1 .. 990 ]);
is($r->{status}, 202, 'the organization fills its share to 991 of 1,000');
my $position = $t->log_position;

$r = post($batch, json => [ map { "over $_" } 1 .. 10 ]);
is_error($r, 429, 'QUEUE_FULL', 'a batch that does not fit as a whole');
like($r->{headers}{'retry-after'} // '', qr/^([1-9]|[1-5][0-9]|60)$/, 'Retry-After');
is(queued(), 991, 'nothing of it is stored');
is_error(post($batch, body => '[' . join(',', ('""') x 20) . ']'), 400, 'VALIDATION_ERROR',
	'a refused batch takes nothing of the depth');
is(post($batch, json => [ ('') x 20, map { "exact $_" } 1 .. 9 ])->{status}, 202,
	'just as much as fits, beside 20 rejected ones');
is_error(post($single, json => { event => 'x' }), 429, 'QUEUE_FULL', 'now it is full');
foreach my $body (
	[ $single, 'application/json', '{"logs": [{"message": "a wrapped one"}, {"message": "b"}]}' ],
	[ $batch, 'application/json', '[{"common": {}, "logs": [{"message": "a wrapped one"}]}]' ],
	[ $single, 'text/plain', "a line\nanother" ], [ $batch, 'text/plain', "a line\nanother" ])
{
	my ($to, $type, $text) = @$body;
	is_error(post($to, body => $text, headers => { 'Content-Type' => $type }), 429, 'QUEUE_FULL', "also for $type to $to: $text");
}
is(queued(), 1000, 'nothing of these is stored');
sleep 6;    # the time that Retry-After is to tell
cmp_ok(post($single, json => { event => 'x' })->{headers}{'retry-after'}, '>=', 6,
	'Retry-After is no less than the time for which nothing has moved');
$t->let_go('write_after_delete');
ok(wait_written(), 'the writers go on');
ok(wait_until(sub { post($batch, json => [ map { "again $_" } 1 .. 1000 ])->{status} == 202 }),
	'then there is room for 1,000 again, and for exactly 1,000');
ok(wait_written(), 'written');

# A failed commit gives its share back and answers 503; nothing is stored.
my $before = stored('acme');
$t->stop_at('accept_before_commit');
my @held = map { begin_request($t, POST => $batch, token => $key,
	json => [ map { "lost $_" } 1 .. 100 ]) } 1 .. 3;
my $pid = $t->wait_held('accept_before_commit');
$t->sql("SELECT pg_cancel_backend($pid)");
$t->let_go('accept_before_commit');
my @answers = map { end_request($_) } @held;
my @failed = grep { $_->{status} == 503 } @answers;
my @good = grep { $_->{status} == 202 } @answers;
is(@failed + @good, 3, 'each request is answered');
cmp_ok(scalar(@failed), '>=', 1, 'those of the failed transaction with 503');
is($failed[0]{json}{code}, 'QUEUE_UNAVAILABLE', 'QUEUE_UNAVAILABLE');
ok($failed[0]{headers}{'retry-after'}, 'Retry-After');
ok(wait_written(), 'written');
is(stored('acme') - $before, 100 * @good, 'their events are not stored');
ok(wait_until(sub { post($batch, json => [ map { "full $_" } 1 .. 1000 ])->{status} == 202 }),
	'and their share of the depth is free');
ok(wait_written(), 'written');
unlike($t->log_text($position), qr/lost 1|full 1|over 1/, 'no event text in the server log');

$t->stop;
done_testing;
