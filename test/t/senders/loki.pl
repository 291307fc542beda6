# loki.pl: POST /loki/api/v1/push, as Grafana Loki takes it: JSON and protobuf
# packed with snappy, labels and structured metadata, and what is refused.
use strict;
use warnings;

use IO::Compress::Gzip qw(gzip);
use LogsvcProtobuf;
use LogsvcTest;
use MIME::Base64 qw(encode_base64);
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');
my $other = $t->organization('other');
my $path = '/loki/api/v1/push';
my $now = int(time);
$t->http(POST => '/api/v1/indexes', token => $org->{token}, json => { name => 'web' });

# Snappy without copies: literals of at most 60 and of at most 65,536 bytes.
sub snappy
{
	my ($plain) = @_;
	my $out = varint(length $plain);
	while (length $plain)
	{
		my $part = substr($plain, 0, 65536, '');
		$out .= chr(61 << 2) . pack('v', length($part) - 1) . $part;
	}
	return $out;
}

sub entry
{
	my ($line, %pairs) = @_;
	return bytes(2, bytes(1, number(1, $now) . number(2, 5000000)) . bytes(2, $line)
		  . join('', map { bytes(3, bytes(1, $_) . bytes(2, $pairs{$_})) } sort keys %pairs));
}
sub stream { my ($labels, @entries) = @_; return bytes(1, bytes(1, $labels) . join '', @entries); }

sub push_proto
{
	my ($body, %opt) = @_;
	return $t->http(POST => $path, token => $org->{ingest_key}, body => $body, %opt,
		headers => { 'Content-Type' => 'application/x-protobuf', %{ $opt{headers} // {} } });
}

sub push_json
{
	my ($json, %opt) = @_;
	return $t->http(POST => $path, token => $org->{ingest_key}, json => $json, %opt);
}

sub json_stream
{
	my ($labels, @lines) = @_;
	return { streams => [ { stream => $labels,
		values => [ map { [ "${now}005000000", ref $_ ? @$_ : $_ ] } @lines ] } ] };
}

sub events
{
	my ($q, $token) = @_;
	my $r = $t->http(GET => '/api/v1/search', token => $token // $org->{token},
		query => { q => $q, earliest => '-1h' });
	return $r->{json}{data}{rows} // die "$r->{status} $r->{content}\n";
}

sub is_text
{
	my ($r, $status, $like, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is("$r->{status} " . ($r->{headers}{'content-type'} // ''), "$status text/plain; charset=utf-8",
		$name)
	  or diag($r->{content});
	like($r->{content}, $like, "$name: says why");
	return;
}

# ---- both encodings ----

my $labels = '{app="shop", level="Warning", filename="/var/log/shop.log", note="a \"b\" '
	. '\u00e9\n", raw=`\d`}';
my $r = push_proto(snappy(stream($labels, entry('refused', trace_id => 'abc', user => '7'),
	entry('', user => '8'))));
is("$r->{status} $r->{content}", '204 ', 'protobuf: 204 without a body') or diag($r->{content});
$r = push_json({ streams => [ { values => [ [ "${now}005000000", 'refused',
	{ trace_id => 'abc', user => '7' } ], [ "${now}005000000", '' ] ],
	stream => { app => 'shop', level => 'Warning', filename => '/var/log/shop.log',
		note => "a \"b\" \x{e9}\n", raw => '\d' } } ] },
	headers => { 'X-Scope-OrgID' => 'tenant' });
is("$r->{status} $r->{content}", '204 ', 'JSON: the same, with the labels behind the values');

my $found = events('service=shop');
is(scalar @$found, 3, 'both are found, without the blank line that has nothing else');
is_deeply([ map { $_->{event} } grep { $_->{event} ne 'refused' } @$found ], ['{"user":"8"}'],
	'a blank line with metadata has these as its text');
foreach my $event (grep { $_->{event} eq 'refused' } @$found)
{
	is_deeply({ map { $_ => $event->{$_} } qw(event level service source traceId index
		attributes) },
		{ event => 'refused', level => 'warn', service => 'shop', source => '/var/log/shop.log',
			traceId => 'abc',
			index => 'main', attributes => { user => '7', trace_id => 'abc', app => 'shop',
				filename => '/var/log/shop.log', note => "a \"b\" \x{e9}\n", raw => '\d' } },
		'with its fields and labels');
	is($event->{timestamp}, POSIX::strftime('%Y-%m-%dT%H:%M:%S', gmtime $now) . '.005Z',
		'and its time');
}

is(push_json(json_stream({ job => 'packed' }, 'gzip'), headers => { 'Content-Encoding' => 'gzip' },
	body => do { gzip(\json_encode(json_stream({ job => 'packed' }, 'gzip')) => \my $z);
		$z })->{status}, 400,
	'what says gzip and is not is refused');
{
	gzip(\json_encode(json_stream({ job => 'packed' }, 'a gzip line')) => \my $packed);
	$r = $t->http(POST => $path, token => $org->{ingest_key}, body => $packed,
		headers => { 'Content-Type' => 'application/json', 'Content-Encoding' => 'gzip' });
	is($r->{status}, 204, 'JSON in gzip');
	gzip(\stream('{job="packed"}', entry('a gzip line too')) => \$packed);
	is(push_proto($packed, headers => { 'Content-Encoding' => 'gzip' })->{status}, 204,
		'protobuf in gzip');
	is(push_proto(snappy(stream('{job="packed"}', entry('snappy'))),
		headers => { 'Content-Encoding' => 'snappy' })->{status},
		204, 'protobuf that says it is snappy');
	is(scalar @{ events('job=packed service=packed') }, 3, 'are found');
}
is(push_proto(snappy(''))->{status}, 204, 'nothing at all is good');
is(push_json({ streams => [] })->{status}, 204, 'in JSON too');

# ---- credentials and indexes ----

foreach my $good ([ 'X-API-Key' => $org->{ingest_key} ],
	[ Authorization => 'Basic ' . encode_base64("12345:$org->{ingest_key}", '') ])
{
	$r = $t->http(POST => $path, json => json_stream({ app => 'auth' }, 'x'),
		headers => { @$good, 'X-Logsvc-Index' => 'web' });
	is($r->{status}, 204, "by $good->[0]");
}
is(scalar @{ events('index=web service=auth') }, 2, 'into the index of X-Logsvc-Index');
is_text(push_json(json_stream({}, 'x'), headers => { 'X-Logsvc-Index' => 'nope' }), 404,
	qr/^INDEX_NOT_FOUND: .*\n\z/,
	'an index that is not there');
is_text(push_json(json_stream({}, 'x'), headers => { 'X-Logsvc-Index' => '_audit' }), 404,
	qr/^INDEX_NOT_FOUND: /,
	'an index of the service');
is_text(push_json(json_stream({}, 'x'), token => undef), 401, qr/^UNAUTHORIZED: /, 'no key');
is_text(push_json(json_stream({}, 'x'), token => 'ing_live_' . 'x' x 40), 401,
	qr/^INVALID_API_KEY: /, 'an unknown key');
is_text(push_json(json_stream({}, 'x'), token => $org->{read_key}), 403, qr/^INSUFFICIENT_SCOPE: /,
	'a read key');
my $dead = $t->sql_json(q{SELECT logsvc.create_api_key('acme', 'dead', 'ingest-only')});
$t->sql("SELECT logsvc.revoke_api_key('$dead->{id}')");
is_text(push_json(json_stream({}, 'x'), token => $dead->{key}), 401, qr/^API_KEY_REVOKED: /,
	'a revoked key');
is_deeply(events('*', $other->{token}), [], "another organization sees nothing");
is($t->http(GET => '/ready')->{status}, 200, '/ready answers without a key');

# ---- what is refused ----

is_text(push_proto("\xff\xff\xff\xff\x7fxx"), 400, qr/snappy/, 'a length that is none');
is_text(push_proto(varint(9 * 1024 * 1024) . "\0x"), 400, qr/snappy/, 'nine MB from two bytes');
is_text(push_proto(varint(4_000_000_000) . "\0x"), 413, qr/too large/, 'four GB from two bytes');
is_text(push_proto(snappy('a') . 'x'), 400, qr/snappy/, 'something behind the block');
my $whole = snappy(stream('{a="b"}', entry('line' x 50)));
is_text(push_proto(substr($whole, 0, -9)), 400, qr/snappy/, 'a block that is cut off');
is_text(push_proto(snappy(substr(stream('{a="b"}', entry('line')), 0, -2))), 400,
	qr/^VALIDATION_ERROR: invalid protobuf at byte/,
	'protobuf that is cut off');
is_text(push_proto(snappy(stream('{a=b}', entry('line')))), 400, qr/expected a value in quotes/,
	'labels that are none');
is_text(push_json({ streams => [ { stream => {}, values => [ [ 'yesterday', 'x' ] ] } ] }), 400,
	qr/all 1 events were rejected/,
	'a time that is none');
is_text(push_json({ streams => [ { stream => {}, values => [ [ '1' ] ] } ] }), 400,
	qr/expected a line/, 'an entry without a line');
is_text($t->http(POST => $path, token => $org->{ingest_key}, body => '{"streams": [{'), 400,
	qr/invalid JSON/, 'JSON that is cut off');
is_text(push_json(json_stream({}, 'x'), headers => { 'Content-Type' => 'text/plain' }), 415,
	qr/^UNSUPPORTED_MEDIA_TYPE: /,
	'another media type');
is_text(push_proto('x', headers => { 'Content-Encoding' => 'br' }), 415,
	qr/^UNSUPPORTED_MEDIA_TYPE: /, 'another encoding');
gzip(\('x' x (11 * 1024 * 1024)) => \my $bomb);
is_text(push_proto($bomb, headers => { 'Content-Encoding' => 'gzip' }), 413, qr/too large/,
	'a gzip bomb');

# ---- limits ----

my $big = 'x' x (1024 * 1024);
is_text(push_proto(snappy(stream('{app="partly"}', entry('one'), entry($big), entry('two')))), 400,
	qr/^VALIDATION_ERROR: 1 of 3 log entries were rejected; entry 1: EVENT_TOO_LARGE: .*; the others are stored\n\z/,
	'some entries are too large');
is(scalar @{ events('service=partly') }, 2, 'the others are stored');
is_text(push_proto(snappy(stream('{app="x"}', entry($big)))), 413, qr/^EVENT_TOO_LARGE: /,
	'all are too large');

my $many = '{' . join(',', map { "l$_=\"$_\"" } 1 .. 5000) . '}';
is(push_proto(snappy(stream($many, entry('many labels'))))->{status}, 204, '5,000 labels');
my ($event) = @{ events('"many labels"') };
is(scalar keys %{ $event->{attributes} }, 128, '128 of them are kept');
is_deeply($event->{truncatedFields}, ['attributes'], 'and it says so');
my $wide = '{' . join(',', map { "l$_=\"" . 'v' x 20000 . '"' } 1 .. 40) . '}';
is_text(push_proto(snappy(stream($wide, (entry('x')) x 200))), 413, qr/share/,
	'a label set that 200 entries make huge');

# Beyond the queue: 429, as a whole, to be sent again.
# There are other organizations, for which a quarter is kept: this one may have 1,000.
$t->set('logsvc.queue_limit', 1333);
my @sessions = map { $t->node->background_psql('postgres') } 1 .. 2;
$_->query_safe("SELECT logsvc.act_as('acme'); BEGIN;"
	  . " SELECT logsvc.ingest((SELECT jsonb_agg('x'::text) FROM generate_series(1, 300)))")
	  foreach @sessions;
$r = push_json(json_stream({ app => 'full' }, map { "line $_" } 1 .. 401));
is_text($r, 429, qr/^QUEUE_FULL: /, 'more than the queue holds');
like($r->{headers}{'retry-after'} // '', qr/^\d+$/, 'with Retry-After');
$_->query_safe('ROLLBACK') foreach @sessions;
$_->quit foreach @sessions;
is_text(push_json(json_stream({ app => 'full' }, map { "line $_" } 1 .. 1001)), 413,
	qr/^BODY_TOO_LARGE: /,
	'more than it ever holds');
is_deeply(events('service=full'), [], 'and nothing is stored');

$t->stop;
done_testing;
