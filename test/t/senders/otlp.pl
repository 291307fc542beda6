# otlp.pl: POST /v1/logs over HTTP in both encodings, compressed bodies on
# every ingest route, and errors as OTLP's clients expect them.
use strict;
use warnings;

use IO::Compress::Gzip qw(gzip);
use LogsvcAsync;
use LogsvcProtobuf;
use LogsvcTest;
use MIME::Base64 qw(encode_base64);
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');
my $key = $org->{ingest_key};
my $otlp = '/v1/logs';
my $protobuf = 'application/x-protobuf';

# ---- bytes of protobuf ----

sub nanos { my ($number, $seconds) = @_; return varint($number << 3 | 1)
	. pack('Q<', $seconds * 1_000_000_000); }
sub string { return bytes(1, $_[0]); }
sub pair { my ($name, $value) = @_; return bytes(1, $name) . bytes(2, $value); }

# A request of records with a resource.
sub request_of
{
	my @records = @_;
	return bytes(1, bytes(1, bytes(1, pair('service.name', string('shop'))))
		  . bytes(2, bytes(1, bytes(1, 'lib')) . join('', map { bytes(2, $_) } @records)));
}

# The fields of a message: number => value.
sub fields
{
	my ($message) = @_;
	my %found;
	my $read = sub {
		my ($n, $shift) = (0, 0);
		while ($message =~ s/^(.)//s)
		{
			$n |= (ord($1) & 127) << $shift;
			return $n if ord($1) < 128;
			$shift += 7;
		}
		die "cut off\n";
	};
	while (length $message)
	{
		my $tag = $read->();
		if (($tag & 7) == 0) { $found{ $tag >> 3 } = $read->(); next; }
		die "wire type of $tag\n" unless ($tag & 7) == 2;
		my $len = $read->();
		die "cut off\n" if $len > length $message;
		$found{ $tag >> 3 } = substr($message, 0, $len, '');
	}
	return \%found;
}

sub post
{
	my ($body, %opt) = @_;
	my $type = delete $opt{type} // $protobuf;
	return $t->http(POST => $opt{path} // $otlp, token => $key, body => $body, %opt,
		headers => { 'Content-Type' => $type, %{ $opt{headers} // {} } });
}

sub packed { my ($plain) = @_; gzip(\$plain => \my $out) or die; return $out; }

# An error in both encodings: HTTP status, code of google.rpc, code of ours.
sub is_status
{
	my ($r, $status, $code, $name, $ours) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $type = $r->{headers}{'content-type'} // '';
	my $got = $type eq $protobuf ? eval { fields($r->{content}) } : $r->{json};
	my ($number, $message) = $type eq $protobuf ? @{ $got // {} }{ 1, 2 }
		: @{ $got // {} }{qw(code message)};
	is("$r->{status} " . ($number // '-') . ' ' . join(',', sort keys %{ $got // {} }),
		"$status $code " . ($type eq $protobuf ? '1,2' : 'code,message'), $name)
	  or diag($r->{content});
	like($message // '', qr/^$ours: ./, "$name: its message");
	ok(length($r->{headers}{'x-request-id'} // ''), "$name: X-Request-Id");
	return;
}

sub events
{
	my ($q) = @_;
	my $r = $t->http(GET => '/api/v1/search', token => $org->{token},
		query => { q => $q, earliest => '-1h' });
	return $r->{json}{data}{rows} // die "$r->{status} $r->{content}\n";
}

my $now = int(time);
my $record = nanos(1, $now) . number(2, 17) . bytes(5, string('payment refused'))
  . bytes(6, pair('order', number(3, 4711)))
  . bytes(9, pack('H*', '5b8efff798038103d269b633813fc60c'));

# ---- success ----

my $r = post(request_of($record));
is("$r->{status} $r->{headers}{'content-type'} " . length $r->{content}, "200 $protobuf 0",
	'protobuf: 200 and an empty message');
my $found = events('order=4711');
is(scalar @$found, 1, 'the event is found');
is_deeply({ map { $_ => $found->[0]{$_} } qw(event level service traceId attributes index) },
	{ event => 'payment refused', level => 'error', service => 'shop', index => 'main',
		traceId => '5b8efff798038103d269b633813fc60c',
		attributes => { order => 4711, 'scope.name' => 'lib' } }, 'with its fields');

sub json_request
{
	my @records = @_;
	return { resourceLogs => [ { resource => { attributes => [
		{ key => 'service.name', value => { stringValue => 'shop' } },
		{ key => 'host.name', value => { stringValue => 'h1' } } ] },
		scopeLogs => [ { scope => { name => 'lib' }, logRecords => \@records } ] } ] };
}
my $json_record = { timeUnixNano => "${now}000000000", severityNumber => 9,
	body => { stringValue => 'in json' },
	attributes => [ { key => 'order', value => { intValue => '4712' } } ] };
foreach my $type ('application/json', 'application/json; charset=utf-8')
{
	$r = post(json_encode(json_request($json_record)), type => $type);
	is("$r->{status} $r->{headers}{'content-type'} $r->{content}",
		'200 application/json {}', $type);
}
$found = events('order=4712');
is_deeply([ map { $_->{attributes}{'resource.host.name'} } @$found ], [ 'h1', 'h1' ],
	'both are found');
is_deeply([ map { $_->{source} } @$found ], [ 'h1', 'h1' ], 'the host is the source');
is(post('')->{status}, 200, 'an empty message');
is(post('{}', type => 'application/json')->{content}, '{}', 'an empty object');
is(post(request_of())->{status}, 200, 'a request without records');

# ---- compressed, chunked ----

my $body = request_of($record) x 3;
is(post(packed($body), headers => { 'Content-Encoding' => 'gzip' })->{status}, 200, 'gzip');
is(post(packed(json_encode(json_request($json_record))), type => 'application/json',
	headers => { 'Content-Encoding' => 'GZIP' })->{status}, 200, 'gzip of JSON');
is(post($body, headers => { 'Content-Encoding' => 'identity' })->{status}, 200, 'identity');
my @chunks = unpack('(a7)*', packed($body));
is(post(sub { return shift @chunks }, headers => { 'Content-Encoding' => 'gzip',
	'Transfer-Encoding' => 'chunked' })->{status}, 200, 'gzip in chunks');
is(scalar @{ events('order=4711') }, 10, 'all are found');

my $bomb = packed("\0" x (200 * 1024 * 1024));
cmp_ok(length $bomb, '<', 300_000, 'a bomb of 200 MB');
my $limit = 10 * 1024 * 1024;
foreach my $route ([ '/api/v1/logs', '{"event":"zip 1"}', 'application/json' ],
	[ '/api/v1/logs/batch', '["zip 2","zip 2"]', 'application/json' ],
	[ '/api/v1/logs/batch', "\"zip 3\"\n\"zip 3\"\n\"zip 3\"", 'application/x-ndjson' ])
{
	my ($path, $plain, $type) = @$route;
	my %to = (path => $path, type => $type, headers => { 'Content-Encoding' => 'gzip' });
	is(post(packed($plain), %to)->{status}, 202, "$path as $type: gzip");
	$r = post($plain, %to);
	is("$r->{status} $r->{json}{code}", '400 VALIDATION_ERROR', "$path as $type: no gzip");
	$r = post(packed($plain) . 'x', %to);
	is("$r->{status} $r->{json}{code}", '400 VALIDATION_ERROR',
		"$path as $type: gzip and something else");
	$r = post($bomb, %to);
	is("$r->{status} $r->{json}{code}", '413 FST_ERR_CTP_BODY_TOO_LARGE', "$path as $type: a bomb");
	$r = post($plain, %to, headers => { 'Content-Encoding' => 'br' });
	is("$r->{status} $r->{json}{code} $r->{headers}{'accept-encoding'}",
		'415 UNSUPPORTED_MEDIA_TYPE gzip, identity', "$path as $type: br");
}
is_deeply([ map { scalar @{ events("\"zip $_\"") } } 1 .. 3 ], [ 1, 2, 3 ], 'all are found');
my $line = '"' . 'y' x 1000 . "\"\n";
$body = $line x int($limit / length $line);
$body .= "\n" x ($limit - length $body);
my %ndjson = (path => '/api/v1/logs/batch', type => 'application/x-ndjson',
	headers => { 'Content-Encoding' => 'gzip' });
is(post(packed($body), %ndjson)->{status}, 202, 'just 10 MB when unpacked');
is(post(packed("$body\n"), %ndjson)->{status}, 413, 'one byte more');

# ---- partial success ----

my $large = bytes(5, string('x' x (1024 * 1024)));
my $ahead = nanos(1, $now + 25 * 3600) . bytes(5, string('ahead'));
$r = post(request_of($record, $large, $ahead));
is($r->{status}, 200, 'a request with bad records');
my $partial = fields(fields($r->{content})->{1});
is($partial->{1}, 2, 'says how many');
is($partial->{2}, '2 of 3 log records were rejected; record 1: EVENT_TOO_LARGE: the event is '
	. 'larger than 1 MB; '
	. 'record 2: VALIDATION_ERROR: timestamp: too far ahead: expected a time at most 24 hours from '
		. 'now', 'and why');
$r = post(json_encode(json_request($json_record, { %$json_record, severityText => 5 })),
	type => 'application/json');
is_deeply($r->{json}, { partialSuccess => { rejectedLogRecords => '1', errorMessage =>
	'1 of 2 log records were rejected; record 1: VALIDATION_ERROR: severityText: expected a string'
		} }, 'in JSON');
is_status(post(request_of($large)), 413, 3, 'all too large', 'EVENT_TOO_LARGE');
is_status(post(request_of($large, $ahead)), 400, 3, 'all rejected', 'VALIDATION_ERROR');

# ---- errors ----

is_status(post("\x0a\x05x"), 400, 3, 'broken protobuf', 'VALIDATION_ERROR');
is_status(post('{"resourceLogs":', type => 'application/json'), 400, 3, 'broken JSON',
	'VALIDATION_ERROR');
is_status(post('x', headers => { 'Content-Encoding' => 'gzip' }), 400, 3, 'broken gzip',
	'VALIDATION_ERROR');
is_status(post($bomb, headers => { 'Content-Encoding' => 'gzip' }), 413, 3, 'a bomb',
	'FST_ERR_CTP_BODY_TOO_LARGE');
is_status(post('x', headers => { 'Content-Encoding' => 'deflate' }), 415, 3, 'another encoding',
	'UNSUPPORTED_MEDIA_TYPE');
is_status(post('x', type => 'text/plain'), 415, 3, 'another type', 'UNSUPPORTED_MEDIA_TYPE');
foreach my $type ($protobuf, 'application/json')
{
	my %as = (type => $type);
	$r = post('', %as, token => undef);
	is_status($r, 401, 16, "$type: no credential", 'UNAUTHORIZED');
	is($r->{headers}{'www-authenticate'}, 'Bearer', 'WWW-Authenticate stays');
	is_status(post('', %as, token => 'ing_live_' . 'x' x 32), 401, 16, "$type: an unknown key",
		'INVALID_API_KEY');
	is_status(post('', %as, token => $org->{read_key}), 403, 7, "$type: a read-only key",
		'INSUFFICIENT_SCOPE');
	is_status(post('x' x ($limit + 1), %as), 413, 3, "$type: a body too large",
		'FST_ERR_CTP_BODY_TOO_LARGE');
}

# ---- credentials ----

is(post('', token => $org->{full_key})->{status}, 200, 'a full-access key');
is(post('', token => $org->{token})->{status}, 200, 'a personal access token with logs:write');
is(post('', token => undef, headers => { 'X-API-Key' => $key })->{status}, 200, 'X-API-Key');
sub basic { return (token => undef, headers => { Authorization => 'Basic '
	. encode_base64($_[0], '') }); }
is(post('', basic("acme:$key"))->{status}, 200, 'Basic with the key as password');
is(post('', basic(":$org->{token}"))->{status}, 200, 'or a token, without a name');
is_status(post('', basic('acme:ing_live_' . 'x' x 32)), 401, 16, 'Basic with an unknown key',
	'INVALID_API_KEY');
is_status(post('', basic($key)), 401, 16, 'Basic without a colon', 'UNAUTHORIZED');
is_status(post('', basic('x' x 1000 . ":$key")), 401, 16, 'Basic of a name too long',
	'UNAUTHORIZED');
is_status(post('', token => undef, headers => { Authorization => 'Basic ?' }), 401, 16,
	'Basic of nonsense', 'UNAUTHORIZED');
is($t->http(GET => '/api/v1/search', headers => { Authorization => 'Basic '
	. encode_base64("x:$org->{token}", '') })->{status},
	401, 'Basic is for those who send events');
my $test_key = $t->sql_json("SELECT logsvc.create_api_key('acme', 't', 'ingest-only', "
	. "'test')")->{key};
is(post(request_of(bytes(5, string('from a test')), bytes(5, string('key'))),
	token => $test_key)->{status}, 200, 'a test key');
is_deeply([ map { $_->{index} } @{ events('index=_test') } ], [ '_test', '_test' ],
	'its events go to _test');

# ---- whose events they are ----

# What is in the queue, in the store and beside them, by organization; of no audit log.
my $other = $t->organization('globex');
sub landed
{
	my ($o) = @_;
	return $t->sql("SELECT coalesce(sum(rows), 0) FROM (SELECT organization_id, rows FROM "
		. "logsvc_internal.queue WHERE NOT audit"
		  . " UNION ALL SELECT organization_id, rows FROM logsvc_internal.part WHERE "
		  . "index_name <> '_audit'"
		  . " UNION ALL SELECT organization_id, rows FROM logsvc_internal.deferred UNION ALL "
		  . "SELECT organization_id, rows FROM logsvc_internal.dead_letter) e"
		  . " WHERE organization_id = (SELECT id FROM logsvc_internal.organization WHERE slug = "
		  . "'$o->{slug}')");
}
my $api_key = sub { return $t->http(POST => '/api/v1/api-keys', token => $other->{token},
	json => { name => $_[0], scope => 'ingest-only' })->{json}{data} };
my ($revoked, $expired) = map { $api_key->($_) } qw(revoked expired);
my $cookie = $t->session($other->{email});
my %bodies = ($protobuf => request_of($record, $record),
	'application/json' => json_encode(json_request($json_record, $json_record)));
is(post($bodies{$protobuf}, token => $_->{key})->{status}, 200, "$_->{name}: a key that is good")
	foreach $revoked, $expired;
is($t->http(DELETE => "/api/v1/api-keys/$revoked->{id}", token => $other->{token})->{status}, 204,
	'... is revoked');
$t->sql("UPDATE logsvc_internal.api_key SET expires_at = now() - interval '1 s' WHERE name "
	. "= 'expired'");
foreach my $type (sort keys %bodies)
{
	my @counts = map { landed($_) } $org, $other;
	my $body = $bodies{$type};
	foreach my $of ([ $revoked, 'API_KEY_REVOKED' ], [ $expired, 'API_KEY_EXPIRED' ])
	{
		my ($one, $code) = @$of;
		foreach my $with ([ token => $one->{key} ],
			[ token => undef, headers => { 'X-API-Key' => $one->{key} } ],
				[ basic("globex:$one->{key}") ],
			[ token => $one->{key}, headers => { 'X-Organization-Id' => 'acme' } ])
		{
			my %with = @$with;
			is_status(post($body, type => $type, %with), 401, 16,
				"$type: a key that is $one->{name}", $code);
		}
	}
	is_status(post($body, type => $type, token => $key,
		headers => { 'X-API-Key' => $other->{ingest_key} }), 401, 16,
			"$type: keys of two organizations", 'UNAUTHORIZED');
	is_status(post($body, type => $type, token => undef, headers => { 'Content-Type' => $type,
		$t->session_headers($cookie, 'acme') }), 404, 5,
		"$type: a session of another organization", 'NOT_FOUND');
	is_deeply([ map { landed($_) } $org, $other ], \@counts, '... nothing lands with either');

	# A key is of one organization, whatever else the request says.
	foreach my $name ('acme', $org->{id})
	{
		is(post($body, type => $type, token => $other->{ingest_key},
				headers => { 'X-Organization-Id' => $name, 'X-Scope-OrgID' => $name,
					'X-Organization' => $name })->{status}, 200,
						"$type: a key of another organization than $name");
	}
	is_deeply([ map { landed($_) } $org, $other ], [ $counts[0], $counts[1] + 4 ],
		'... all lands with its own');
}

# ---- overload and ends of workers: never 500 ----

sub is_retryable
{
	my ($r, $status, $code, $name, $ours) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_status($r, $status, $code, $name, $ours);
	like($r->{headers}{'retry-after'} // '', qr/^[1-9]\d*$/, "$name: Retry-After");
	return;
}

# There are other organizations, for which a quarter is kept: this one may have 1,000.
$t->set('logsvc.queue_limit', 1333);
my @sessions = map { $t->node->background_psql('postgres') } 1 .. 2;
$_->query_safe("SELECT logsvc.act_as('acme'); BEGIN;"
	  . " SELECT logsvc.ingest((SELECT jsonb_agg('x'::text) FROM generate_series(1, 300)))")
	  foreach @sessions;
is_retryable(post(request_of(($record) x 401)), 429, 8, 'more than the queue takes now',
	'QUEUE_FULL');
is_retryable(post(json_encode(json_request(($json_record) x 401)), type => 'application/json'), 429,
	8,
	'the same in JSON', 'QUEUE_FULL');
$_->query_safe('ROLLBACK') foreach @sessions;
$_->quit foreach @sessions;
is_status(post(request_of(($record) x 1001)), 413, 3, 'more than it ever takes', 'BODY_TOO_LARGE');
$t->set('logsvc.queue_limit', 100000);

$t->sql('ALTER TABLE logsvc_internal.queue RENAME TO queue_away');
is_retryable(post(request_of($record)), 503, 14, 'the queue cannot be written',
	'QUEUE_UNAVAILABLE');
$t->sql('ALTER TABLE logsvc_internal.queue_away RENAME TO queue');
$t->sql('ALTER FUNCTION logsvc_internal.find_secret(bytea) RENAME TO find_secret_away');
is_retryable(post(request_of($record), token => 'ing_live_' . 'y' x 32), 503, 14,
	'a credential cannot be looked up', 'SERVICE_UNAVAILABLE');
$t->sql('ALTER FUNCTION logsvc_internal.find_secret_away(bytea) RENAME TO find_secret');

foreach my $type ($protobuf, 'application/json')
{
	$t->stop_at('accept_before_commit');
	my $held = begin_request($t, POST => $otlp, token => $key,
		headers => { 'Content-Type' => $type },
		body => $type eq $protobuf ? request_of($record) : json_encode(json_request($json_record)));
	my $pid = $t->wait_held('accept_before_commit');
	$t->sql("SELECT pg_terminate_backend($pid)");
	is_retryable(end_request($held), 503, 14, "an acceptor ends: $type", 'SERVICE_UNAVAILABLE');
	$t->let_go('accept_before_commit');
	$t->wait_ready;
}

$t->stop;
done_testing();
