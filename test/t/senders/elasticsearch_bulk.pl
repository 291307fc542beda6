# elasticsearch_bulk.pl: POST /_bulk, as Elasticsearch takes it: its answers item by item,
# where events go, what its clients ask before they send, and what is refused.
use strict;
use warnings;

use IO::Compress::Gzip qw(gzip);
use LogsvcTest;
use MIME::Base64 qw(encode_base64);
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');
my $other = $t->organization('other');
$t->http(POST => '/api/v1/indexes', token => $org->{token}, json => { name => 'web' });

sub bulk
{
	my ($lines, %opt) = @_;
	my $body = ref $lines ? join('', map { (ref $_ ? json_encode($_) : $_) . "\n" } @$lines)
		: $lines;
	my $r = $t->http(POST => $opt{path} // '/_bulk', exists $opt{auth} ? ()
		: (token => $opt{token} // $org->{ingest_key}),
		body => $body,
		headers => { 'Content-Type' => 'application/x-ndjson', exists $opt{auth}
			? (Authorization => $opt{auth}) : (),
			%{ $opt{headers} // {} } });
	is($r->{headers}{'x-elastic-product'}, 'Elasticsearch', '  X-Elastic-Product')
		unless $opt{quiet};
	return $r;
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
	my ($r, $status, $type, $like, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $e = $r->{json}{error} // {};
	is_deeply([ $r->{status}, $r->{json}{status}, $e->{type}, $e->{root_cause}[0]{type},
		sort keys %{ $r->{json} } ],
		[ $status, $status, $type, $type, 'error', 'status' ], $name) or diag($r->{content});
	like($e->{reason} // '', $like, "$name: says why");
	return;
}

# ---- the answer ----

my $time = POSIX::strftime('%Y-%m-%dT%H:%M:%S.123Z', gmtime(time - 5));
my $r = bulk([
	{ index => { _index => 'web', _id => 'one' } },
		{ '@timestamp' => $time, message => 'first', n => 1 },
	{ create => { _index => 'web-2026.11.21' } },
		{ message => 'second', log => { level => 'WARNING', file => 'f' } },
	{ index => { _index => 'logstash-2026.11.21' } }, { message => 'third', severity => 3,
		event => { kind => 'state' }, source => { ip => '::1' } },
	{ index => {} }, { 'service.name' => 'shop', up => JSON::PP::true },
	{ delete => { _index => 'web', _id => 'one' } },
	{ update => { _index => 'web', _id => 'one' } }, { doc => {} },
	{ index => { _index => '_audit' } }, { message => 'no' },
	{ index => { _index => 'web' } }, '{"message": broken}',
	{ index => { _index => 'web' } }, { message => 'big', x => 'x' x (1024 * 1024) },
	'{"index": {"_index": "web", "pipeline": null}, "attempts": 1}', { message => 'last' },
]);
is($r->{status}, 200, 'a bulk request');
my $a = $r->{json};
is_deeply([ sort keys %$a ], [qw(errors items took)], 'has an answer of its shape');
ok($a->{errors}, 'that says there are errors');
like($a->{took}, qr/^\d+$/, 'and how long it took');
my @brief = map { my ($op) = keys %$_; my $i = $_->{$op};
	join ' ', $op, $i->{_index}, $i->{status}, $i->{result} // $i->{error}{type} } @{ $a->{items} };
is_deeply(\@brief, [
	'index web 201 created', 'create web-2026.11.21 201 created',
		'index logstash-2026.11.21 201 created',
	'index main 201 created', 'delete web 400 document_parsing_exception',
		'update web 400 document_parsing_exception',
	'index _audit 400 document_parsing_exception', 'index web 400 document_parsing_exception',
	'index web 413 illegal_argument_exception', 'index web 201 created' ],
		'with an item for each action');
is($a->{items}[0]{index}{_id}, 'one', 'the id of the client');
like($a->{items}[1]{create}{_id}, qr/^evt_\w{26}$/, 'or that of the event');
like($a->{items}[7]{index}{error}{reason}, qr/invalid JSON in line 15 at byte \d+/,
	'and what is wrong in which line');

my %found = map { $_->{event} => $_ } @{ events('*') };
is_deeply([ sort keys %found ], [ 'first', 'last', 'second', 'third',
	'{"service.name":"shop","up":true}' ],
	'what was created is found');
is($found{second}{id}, $a->{items}[1]{create}{_id}, 'under the id of the answer');
is($found{last}{id}, $a->{items}[9]{index}{_id}, 'the last too');
sub part { my ($e) = @_; return { map { $_ => $e->{$_} } grep { exists $e->{$_} } qw(index level
	service source attributes) }; }
is_deeply(part($found{first}), { index => 'web', attributes => { n => 1, _id => 'one' } },
	'a known index');
is($found{first}{timestamp}, $time, 'its time');
is_deeply(part($found{second}), { index => 'web', level => 'warn',
		attributes => { log => { level => 'WARNING', file => 'f' }, _index => 'web-2026.11.21' } },
			'one with a date');
is_deeply(part($found{third}), { index => 'main', level => 'error',
	attributes => { event => { kind => 'state' },
		source => { ip => '::1' }, _index => 'logstash-2026.11.21' } },
			'one that is not there: main, with its name kept');
is_deeply(part($found{'{"service.name":"shop","up":true}'}), { index => 'main', service => 'shop',
	attributes => { up => JSON::PP::true } },
	'no text: the document is it');

$r = bulk([ { index => { _index => 'web' } }, { message => 'a' } ]);
is($r->{json}{errors}, JSON::PP::false, 'without errors: errors is false');

# ---- paths, headers, credentials ----

my @one = ({ index => {} }, { message => 'x' });
$r = bulk([@one], path => '/web/_bulk?refresh=true');
is($r->{json}{items}[0]{index}{_index}, 'web', 'the index of the path');
$r = bulk([@one], path => '/elasticsearch/_bulk');
is($r->{json}{items}[0]{index}{_index}, 'main', 'under the prefix');
$r = bulk([@one], path => '/elasticsearch/web%2D2026.11/_bulk');
is($r->{json}{items}[0]{index}{_index}, 'web-2026.11', 'under the prefix with an index');
$r = bulk([ { create => { _index => 'nope' } }, { message => 'by header' } ],
	headers => { 'X-Logsvc-Index' => 'web' });
is($r->{json}{items}[0]{create}{status}, 201, 'X-Logsvc-Index says where unknown names lead');
is(events('"by header"')->[0]{index}, 'web', 'and there it is');
foreach my $auth ("ApiKey " . encode_base64("id:$org->{ingest_key}", ''),
	"ApiKey $org->{ingest_key}",
	'Basic ' . encode_base64("elastic:$org->{full_key}", ''))
{
	is(bulk([@one], auth => $auth)->{status}, 200, 'by ' . substr $auth, 0, 12);
}
foreach my $type ('application/json', 'application/vnd.elasticsearch+x-ndjson; compatible-with=8')
{
	is(bulk([@one], headers => { 'Content-Type' => $type })->{status}, 200, $type);
}
gzip(\join('', map { json_encode($_) . "\n" } @one) => \my $packed);
is(bulk($packed, headers => { 'Content-Encoding' => 'gzip' })->{status}, 200, 'gzip');

# What is on this address is told to clients of Elasticsearch only, whichever way they show it.
my %elastic =
	('User-Agent' => 'elasticsearch-js/8.11.0 (linux 6.1; Node.js 18.19.0; Transport 8.4.1)');
foreach my $headers (\%elastic, { Accept => 'application/vnd.elasticsearch+json; compatible-with=8'
	},
	{ 'X-Elastic-Client-Meta' => 'es=8.11.0,js=18.19.0' },
		{ 'X-Elastic-Product-Origin' => 'beats' },
	{ Authorization => "ApiKey $org->{ingest_key}" },
	map { { 'User-Agent' => $_ } } 'Elastic-filebeat/8.11.0 (linux; amd64)',
		'Filebeat/7.10.2 (linux; amd64)', 'Vector/0.34.1 (x86_64)',
	'elasticsearch-py/8.11.0 (Python/3.11.2; elastic-transport/8.10.0)',
		'logstash/8.11.0 (OS=Linux) logstash-output-elasticsearch/11.22.1',
	'Fluent-Bit', 'go-elasticsearch/8.11.0', 'opensearch-py/2.4.0')
{
	my ($how) = values %$headers;
	$r = $t->http(GET => '/', headers => { Authorization => "Bearer $org->{ingest_key}",
		%$headers });
	is("$r->{status} $r->{headers}{'x-elastic-product'} $r->{json}{tagline}",
		'200 Elasticsearch You Know, for Search', "GET / by $how");
}
foreach my $agent ('curl/8.5.0', 'Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 '
	. 'Firefox/121.0', 'python-requests/2.31.0', '')
{
	foreach my $path ('/', '/api/v1')
	{
		$r = $t->http(GET => $path, headers => { 'User-Agent' => $agent });
		is_deeply([ $r->{status}, $r->{headers}{'x-elastic-product'}, $r->{json} ],
			[ 200, undef, { data => { service => 'logsvc', version => '0.2',
				api => '/api/v1/openapi.json' } } ], "GET $path by '$agent'");
	}
	foreach my $path ('/nothing', '/web', '/web/_source/1', '/_search', '/_nodes')
	{
		$r = $t->http(GET => $path, headers => { 'User-Agent' => $agent });
		is_deeply([ $r->{status}, $r->{headers}{'x-elastic-product'}, $r->{json}{code} ],
			[ 404, undef, 'NOT_FOUND' ], "GET $path by '$agent'");
	}
}

foreach my $path ('/', '/elasticsearch', '/elasticsearch/')
{
	$r = $t->http(GET => $path, token => $org->{ingest_key}, headers => \%elastic);
	like("$r->{status} $r->{json}{version}{number} $r->{headers}{'x-elastic-product'} "
		. "$r->{json}{tagline}",
		qr/^200 8\.\d+\.\d+ Elasticsearch You Know, for Search$/, "GET $path");
	is($t->http(GET => $path, headers => \%elastic)->{status}, 401, 'not without a key');
}
foreach my $probe ([ GET => '/_cluster/health?wait_for_status=yellow' ],
	[ GET => '/elasticsearch/_cluster/health' ],
	[ GET => '/_license' ], [ GET => '/_cat/health' ], [ POST => '/pino/_refresh' ],
	[ GET => '/pino/_refresh' ], [ GET => '/elasticsearch/pino/_refresh' ])
{
	$r = $t->http(@$probe, token => $org->{ingest_key});
	is("$r->{status} " . ref $r->{json}, $probe->[1] =~ /_cat/ ? '200 ARRAY'
		: '200 HASH', "@$probe");
}
is($t->http(HEAD => '/', token => $org->{ingest_key}, headers => \%elastic)->{status},
	200, 'HEAD /');
is($t->http(HEAD => '/')->{status}, 200, 'HEAD / by others');

is_error(bulk([@one], auth => ''), 401, 'security_exception', qr/^UNAUTHORIZED: /, 'no key');
is_error(bulk([@one], auth => 'ApiKey !'), 401, 'security_exception', qr/^UNAUTHORIZED: /,
	'a broken ApiKey');
is_error(bulk([@one], token => 'ing_live_' . 'x' x 40), 401, 'security_exception',
	qr/^INVALID_API_KEY: /, 'an unknown key');
is_error(bulk([@one], token => $org->{read_key}), 403, 'security_exception',
	qr/^INSUFFICIENT_SCOPE: /, 'a read key');
is_error(bulk([@one], headers => { 'X-Logsvc-Index' => 'nope' }), 404, 'index_not_found_exception',
	qr/^INDEX_NOT_FOUND: /,
	'a header with an unknown index');
is_deeply(events('*', $other->{token}), [], 'another organization sees nothing');
$r = bulk([ { index => { _index => 'web' } }, { message => 'mine' } ],
	token => $other->{ingest_key});
is(events('mine', $other->{token})->[0]{index}, 'main', "nor is another's index one");

# ---- what is refused as a whole ----

my $before = scalar @{ events('*') };
is_error(bulk(''), 400, 'illegal_argument_exception', qr/at least one action/, 'nothing');
is_error(bulk([ @one, { message => 'no action' }, {} ]), 400, 'illegal_argument_exception',
	qr/line 3: expected index, create/,
	'a line that is no action');
is_error(bulk([ @one, '{"index": {' ]), 400, 'illegal_argument_exception',
	qr/line 3: malformed action/, 'a body that is cut off');
is_error(bulk([ @one, { index => {} } ]), 400, 'illegal_argument_exception',
	qr/document of the last action is missing/,
	'an action without its document');
is_error(bulk([@one], headers => { 'Content-Type' => 'text/plain' }), 415,
	'illegal_argument_exception',
	qr/^UNSUPPORTED_MEDIA_TYPE: /, 'another media type');
gzip(\("\n" x (11 * 1024 * 1024)) => \my $bomb);
is_error(bulk($bomb, headers => { 'Content-Encoding' => 'gzip' }), 413,
	'illegal_argument_exception', qr/too large/, 'a gzip bomb');
is_error(bulk('x' x (10 * 1024 * 1024 + 1)), 413, 'illegal_argument_exception',
	qr/too large|Too Large/, 'a body over 10 MB');
is_error(bulk("{\"delete\":{}}\n" x 700_000), 400, 'illegal_argument_exception',
	qr/10000 of the first 10000 events were rejected/,
	'ten thousand refused documents');
# A tenth of them is good, so it goes on.
my $mostly_refused = "{\"delete\":{}}\n" x 8 . qq({"index":{}}\n{"message":"x"}\n);
is_error(bulk($mostly_refused x 70_000), 413, 'illegal_argument_exception',
	qr/too many actions for one answer/,
	'more actions than an answer may tell of');
# There are other organizations, for which a quarter is kept: this one may have 1,000.
$t->set('logsvc.queue_limit', 1333);
my @sessions = map { $t->node->background_psql('postgres') } 1 .. 2;
$_->query_safe("SELECT logsvc.act_as('acme'); BEGIN;"
	  . " SELECT logsvc.ingest((SELECT jsonb_agg('x'::text) FROM generate_series(1, 300)))")
	  foreach @sessions;
$r = bulk([ map { @one } 1 .. 401 ]);
is_error($r, 429, 'es_rejected_execution_exception', qr/^QUEUE_FULL: /,
	'more than the queue holds');
like($r->{headers}{'retry-after'} // '', qr/^\d+$/, 'with Retry-After');
$_->query_safe('ROLLBACK') foreach @sessions;
$_->quit foreach @sessions;
is_error(bulk([ map { @one } 1 .. 1001 ]), 413, 'illegal_argument_exception', qr/^BODY_TOO_LARGE: /,
	'more than it ever holds');
is(scalar @{ events('*') }, $before, 'nothing of all that is stored');
$r = bulk([ { delete => { _id => 1 } } ]);
is($r->{status} . ' ' . $r->{json}{items}[0]{delete}{status}, '200 400',
	'when no item is good the answer still has all');

$t->stop;
done_testing;
