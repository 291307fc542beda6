# splunk.pl: /services/collector, as Splunk's HTTP Event Collector takes it: events as Docker's
# driver and the Collector send them, raw lines, errors with Splunk's numbers.
use strict;
use warnings;

use IO::Compress::Gzip qw(gzip);
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');
my $other = $t->organization('other');
$t->http(POST => '/api/v1/indexes', token => $org->{token}, json => { name => 'web' });

sub hec
{
	my ($body, %opt) = @_;
	return $t->http(POST => $opt{path} // '/services/collector/event/1.0', body => $body,
		query => $opt{query} // {},
		headers => { exists $opt{auth} ? (length $opt{auth} ? (Authorization => $opt{auth}) : ())
			: (Authorization => 'Splunk ' . ($opt{token} // $org->{ingest_key})),
			%{ $opt{headers} // {} } });
}

sub events
{
	my ($q, $token) = @_;
	my $r = $t->http(GET => '/api/v1/search', token => $token // $org->{token},
		query => { q => $q, earliest => '-1h' });
	return $r->{json}{data}{rows} // die "$r->{status} $r->{content}\n";
}

sub is_error
{
	my ($r, $status, $number, $text, $reason, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_deeply([ $r->{status}, @{ $r->{json} // {} }{qw(code text)} ], [ $status, $number, $text ],
		$name) or diag($r->{content});
	like($r->{json}{reason} // '', $reason, "$name: says why");
	return;
}

sub part
{
	my ($e) = @_;
	return { map { $_ => $e->{$_} } grep { exists $e->{$_} }
		qw(index level service source traceId attributes) };
}

# ---- Docker's driver ----

# It asks before it sends.
my $r = $t->http(OPTIONS => '/services/collector/event/1.0');
is("$r->{status} $r->{content}", '200 ', 'Docker finds a server');
is($t->http(OPTIONS => '/_bulk')->{status}, 204, 'elsewhere OPTIONS is 204');

my $now = time;
my $docker = sprintf '{"event":{"line":"GET / 200","source":"stdout","tag":"b4","attrs":{"env":"dev"}},'
  . '"time":"%d.250000","host":"node1"}{"event":"b4 hello","time":"%d.500000","host":"node1",'
  . '"source":"web","sourcetype":"httpd","index":"web"}', $now - 10, $now - 9;
gzip(\$docker => \my $packed);
$r = hec($packed, headers => { 'Content-Type' => 'application/json', 'Content-Encoding' => 'gzip' });
is_deeply([ $r->{status}, $r->{json} ], [ 200, { text => 'Success', code => 0 } ], 'its batch');
my ($e) = @{ events('"GET / 200"') };
is_deeply(part($e), { index => 'main', source => 'stdout',
	attributes => { tag => 'b4', attrs => { env => 'dev' }, host => 'node1' } }, 'a line');
is($e->{timestamp}, POSIX::strftime('%Y-%m-%dT%H:%M:%S.250Z', gmtime($now - 10)), 'at its time');
is_deeply(part(events('"b4 hello"')->[0]), { index => 'web', source => 'web',
	attributes => { host => 'node1', sourcetype => 'httpd' } }, 'a line in raw form');

# ---- the Collector's exporter ----

$r = hec(json_encode({ time => $now - 5 + 0.125, host => 'unknown', source => 'otel',
	sourcetype => 'otel', index => 'web', event => 'payment refused',
	fields => { 'otel.log.severity.text' => 'ERROR', 'service.name' => 'shop', trace_id => '4bf9' }
	}), path => '/services/collector', headers => { 'X-Splunk-Request-Channel' => 'x' });
is($r->{json}{code}, 0, 'a record');
is_deeply(part(events('"payment refused"')->[0]), { index => 'web', level => 'error',
	service => 'shop', source => 'otel', traceId => '4bf9', attributes => { host => 'unknown',
		'otel.log.severity.text' => 'ERROR', 'service.name' => 'shop', sourcetype => 'otel',
		trace_id => '4bf9' } }, 'with its fields');

# ---- raw lines ----

$r = hec("raw one\nraw two\n", path => '/services/collector/raw', query => { source => '/var/log/x',
	host => 'h2', channel => 'c' });
is($r->{json}{code}, 0, 'raw lines');
is_deeply([ map { [ $_->{event}, $_->{source}, $_->{attributes} ] }
	sort { $a->{event} cmp $b->{event} } @{ events('raw') } ],
	[ map { [ "raw $_", '/var/log/x', { host => 'h2' } ] } qw(one two) ], 'are events');
is(hec('raw three', path => '/services/collector/raw/1.0')->{json}{code}, 0, 'without a newline');

# ---- health ----

foreach my $path ('/services/collector/health', '/services/collector/health/1.0')
{
	$r = $t->http(GET => $path);
	is_deeply([ $r->{status}, $r->{json} ], [ 200, { text => 'HEC is healthy', code => 17 } ], $path);
}

# ---- what is refused ----

is_error(hec('{"event":"x"}', auth => ''), 401, 2, 'Token is required', qr/^UNAUTHORIZED: /,
	'no token');
is_error(hec('{"event":"x"}', auth => 'Splunk !'), 401, 2, 'Token is required', qr/^UNAUTHORIZED: /,
	'a broken header');
is_error(hec('{"event":"x"}', token => 'ing_live_' . 'x' x 40), 403, 4, 'Invalid token',
	qr/^INVALID_API_KEY: /, 'an unknown token');
is_error(hec('{"event":"x"}', token => $org->{read_key}), 403, 4, 'Invalid token',
	qr/^INSUFFICIENT_SCOPE: /, 'a read key');
is(hec('{"event":"as bearer"}', auth => "Bearer $org->{ingest_key}")->{json}{code}, 0,
	'other ways to show a key work too');
is($t->http(GET => '/api/v1/search', query => { q => '*' },
	headers => { Authorization => "Splunk $org->{token}" })->{status}, 401,
	'Splunk\'s way is for sending only');
is_error(hec(''), 400, 5, 'No data', qr/no data/, 'nothing');
is_error(hec('{"event":"half"}{"event":'), 400, 6, 'Invalid data format', qr/event 1: invalid JSON/,
	'a body that is cut off');
is(hec('{"event":"half"}{"event":')->{json}{'invalid-event-number'}, 1, '... and the number of it');
is_deeply(events('half'), [], 'nothing of that is stored');
is_error(hec('{"event":"x","index":"nope"}'), 400, 7, 'Incorrect index', qr/^INDEX_NOT_FOUND: event 0:/,
	'an unknown index');
is_error(hec('{"host":"h"}'), 400, 12, 'Event field is required', qr/event: required/, 'no event');
is_error(hec('{"event":""}'), 400, 13, 'Event field cannot be blank', qr/blank/, 'a blank event');
$r = hec('{"event":"kept"}{"event":"x","fields":1}');
is_error($r, 400, 15, 'Error in handling indexed fields', qr/the others are stored/,
	'fields that are none');
is(scalar @{ events('kept') }, 1, 'the others are stored, as it says');
is_error(hec('{"event":"' . 'x' x (1024 * 1024) . '"}'), 413, 6, 'Invalid data format',
	qr/^EVENT_TOO_LARGE: event 0:/, 'an event of more than 1 MB');
is_error(hec('x' x (10 * 1024 * 1024 + 1)), 413, 6, 'Invalid data format', qr/too large|Too Large/,
	'a body over 10 MB');
is_error(hec('{"event":"x"}', headers => { 'Content-Encoding' => 'br' }), 415, 6,
	'Invalid data format', qr/^UNSUPPORTED_MEDIA_TYPE: /, 'an unknown encoding');
is(hec('{"event":"x"}', path => '/services/collector/ack')->{status}, 404, 'no acknowledgement');

# A full queue: Splunk's clients send again after a 503.
$t->set('logsvc.queue_limit', 1333);
my @sessions = map { $t->node->background_psql('postgres') } 1 .. 2;
$_->query_safe("SELECT logsvc.act_as('acme'); BEGIN;"
	  . " SELECT logsvc.ingest((SELECT jsonb_agg('x'::text) FROM generate_series(1, 300)))")
	  foreach @sessions;
$r = hec('{"event":"x"}' x 401);
is_error($r, 503, 9, 'Server is busy', qr/^QUEUE_FULL: /, 'a full queue');
like($r->{headers}{'retry-after'} // '', qr/^\d+$/, 'with Retry-After');
$_->query_safe('ROLLBACK') foreach @sessions;
$_->quit foreach @sessions;

is_deeply(events('*', $other->{token}), [], 'another organization sees nothing');

$t->stop;
done_testing;
