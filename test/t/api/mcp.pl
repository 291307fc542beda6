# mcp.pl: the Model Context Protocol, through its public SDK (test/npm/mcp.js) and as bare messages:
# each tool answers, with the rights, rates and errors of the route that does it.
use strict;
use warnings;

use IPC::Run qw(run timeout);
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'\n"
	. "logsvc.model_region = 'eu-central-1'");
my $org = $t->organization('acme');
my $other = $t->organization('other');
my $r = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events => [
	map({ { event => "payment $_ refused: card expired", level => 'error', service => 'checkout',
		attributes => { order => $_ } } } 1 .. 20),
	map({ { event => "user $_ logged in", level => 'info', service => 'login' } } 1 .. 5) ] });
is($r->{json}{data}{accepted}, 25, 'events');
my $id = $r->{json}{data}{ids}[0];

sub client
{
	my ($secret, @calls) = @_;
	run [ 'node', 'build/npm/mcp.js', $t->url . '/mcp', $secret,
		map { ref $_ ? json_encode($_) : $_ } @calls ],
	  '>', \my $out, '2>', \my $err, timeout(60);
	my $said = eval { json_decode($out) } or diag("$out$err");
	# What a tool says is the JSON of its route.
	foreach my $call (@{ $said->{calls} })
	{
		$call->{said} = json_decode($call->{content}[0]{text}) if $call->{content};
	}
	return $said;
}

# ---- pages of others ----

foreach ([ undef, 200 ], [ 'https://evil.example', 403 ], [ 'null', 403 ])
{
	is($t->http(POST => '/mcp', token => $org->{read_key}, json => { jsonrpc => '2.0', id => 1, method => 'ping' },
		headers => { defined $_->[0] ? (Origin => $_->[0]) : () })->{status}, $_->[1], 'from ' . ($_->[0] // 'no page'));
}

# ---- the SDK ----

my $said = client($org->{token},
	search => { q => 'service=checkout | stats count by level', earliest => '-1h' },
	search => { q => 'level=error', limit => 3 },
	search => { q => '*' },
	patterns => { q => 'level=error' },
	fields => { earliest => '-1h' },
	field_values => { name => 'service' },
	templates => { q => 'level=info' },
	context => { id => $id, before => 0, after => 2 },
	evaluate => { rows => [ 'ERROR: payment refused' ], criteria => 'No payment was refused.' },
	evaluate => { query => 'level=error', criteria => 'No payment was refused.' },
	search => { q => 'level=error | stats' },
	search => { q => '*', rows => 3 },
	evaluate => { rows => ['x'] },
	context => { id => 'evt_x' },
	context => { before => 1 },
	nothing => {}, alerts => {});
is($said->{server}{name}, 'logsvc', 'the SDK connects');
like($said->{instructions}, qr/templates/, '... and gets instructions');
is(join(' ', sort map { $_->{name} } @{ $said->{tools} }),
	'alerts context evaluate field_values fields patterns search templates', 'tools');
is_deeply([ map { $_->{uri} } @{ $said->{resources} } ],
	[ 'logsvc://docs/language', 'logsvc://docs/evaluation' ], 'resources');
like($said->{resources}[0]{text}, qr/timechart/, 'the language can be read');

my @calls = @{ $said->{calls} };
is_deeply($calls[0]{said}{data}{rows}, [ [ 'error', 20 ] ], 'search: a table');
is(scalar @{ $calls[1]{said}{data}{rows} }, 3, '... with a limit');
ok($calls[1]{said}{page}{hasMore}, '... and a next page');
is(scalar @{ $calls[2]{said}{data}{rows} }, 25, '... without one');
like(json_encode($calls[3]{said}{data}{rows}), qr/payment <\*>|payment/, 'patterns');
is($calls[3]{said}{data}{kind}, 'table', '... as a table');
ok((grep { $_->{name} eq 'order' } @{ $calls[4]{said}{data} }), 'fields')
  or diag(json_encode($calls[4]));
is_deeply([ sort map { $_->{value} } @{ $calls[5]{said}{data} } ], [ 'checkout', 'login' ],
	'field_values');
is($calls[6]{said}{data}[0]{count}, 5, 'templates') or diag(json_encode($calls[6]));
ok(@{ $calls[7]{said}{data} } >= 1, 'context') or diag(json_encode($calls[7]));
is(json_encode($calls[8]{isError}), 'false', 'evaluate with rows') or diag(json_encode($calls[8]));
ok($calls[8]{said}{data}, '... has a verdict');
is($calls[9]{said}{data}{inputRowCount}, 20, 'evaluate with a query: its rows')
  or diag(json_encode($calls[9]));
is(join(' ', map { json_encode($_->{isError}) } @calls[ 0 .. 9 ]), join(' ', ('false') x 10),
	'no errors');
is_deeply([ map { [ json_encode($_->{isError}), $_->{said}{code} ] } @calls[ 10 .. 13 ] ],
	[ [ 'true', 'QUERY_SYNTAX_ERROR' ], [ 'true', 'VALIDATION_ERROR' ],
		[ 'true', 'VALIDATION_ERROR' ], [ 'true', 'NOT_FOUND' ] ], 'errors of tools are for the model')
  or diag(json_encode([ @calls[ 10 .. 13 ] ]));
is($calls[11]{said}{details}[0]{path}, 'rows', '... and say what is wrong');
is_deeply([ map { $_->{code} } @calls[ 14, 15 ] ], [ -32602, -32602 ],
	'errors of the protocol for the program');

is_deeply($calls[16]{said}{data}, [], 'alerts: none') or diag(json_encode($calls[16]));
my ($alerts_tool) = grep { $_->{name} eq 'alerts' } @{ $said->{tools} };
is_deeply([ map { $t->http(GET => "/api/v1/alerts?status=$_", token => $org->{token})->{status} }
		@{ $alerts_tool->{inputSchema}{properties}{status}{enum} } ], [ (200) x 5 ],
	'its schema names the statuses that the route takes');

# ---- rights ----

my %tools;
foreach my $key (qw(read_key full_key))
{
	$said = client($org->{$key}, search => { q => 'level=info' },
		evaluate => { rows => ['x'], criteria => 'y' });
	ok(!(grep { $_->{name} eq 'evaluate' } @{ $said->{tools} }), "$key: evaluate is not listed");
	is(scalar @{ $said->{calls}[0]{said}{data}{rows} }, 5, '... it searches');
	is($said->{calls}[1]{said}{code}, 'INVALID_PAT', '... and does not evaluate')
	  or diag(json_encode($said->{calls}[1]));
}
is(scalar @{ client($other->{token}, search => { q => '*' })->{calls}[0]{said}{data}{rows} }, 0,
	'another organization finds nothing');

sub post
{
	my ($body, %more) = @_;
	return $t->http(POST => '/mcp', token => $org->{token},
		body => ref $body ? json_encode($body) : $body,
		headers => { 'Content-Type' => 'application/json',
			Accept => 'application/json, text/event-stream' }, %more);
}

sub call
{
	my ($name, $arguments, %more) = @_;
	return post({ jsonrpc => '2.0', id => 'x', method => 'tools/call',
		params => { name => $name, arguments => $arguments } }, %more);
}

is(post('{}', token => undef)->{status}, 401, 'nobody');
is(post('{}', token => $org->{ingest_key})->{status}, 403, 'a key that only sends');
is(call('search', { q => '*' }, token => 'pat_' . 'x' x 40)->{status}, 401, 'a made up token');

# ---- messages ----

is(call('serach', {})->{json}{error}{message}, 'unknown tool: expected search, patterns, fields, field_values, templates, '
	. 'context, alerts or evaluate', 'an unknown tool: those that there are');
like(post({ jsonrpc => '2.0', id => 1, method => 'tools/run' })->{json}{error}{message},
	qr{^unknown method: expected initialize, ping, tools/list, tools/call, .* or resources/read$}, 'an unknown method too');
is_deeply([ map { [ $_->{status}, $_->{json}{error}{code},
				exists $_->{json}{id} ? $_->{json}{id} : 'none' ] }
		post('{'), post('[]'), post({ id => 1, method => 'ping' }),
		post('{"jsonrpc":"2.0","id":1.5,"method":"ping"}'),
		post('{"jsonrpc":"2.0","id":"a\"b","method":"none"}'),
		post('{"jsonrpc":"2.0","id":2,"method":"tools/call"}'),
		post('{"jsonrpc":"2.0","id":2,"method":"tools/call",'
				. '"params":{"name":"search","arguments":[]}}'),
		post('{"jsonrpc":"2.0","id":3,"method":"resources/read",'
				. '"params":{"uri":"file:///etc/passwd"}}'),
		post('{"jsonrpc":"2.0","id":4,"method":"tools/call",'
				. '"params":{"name":"fields","arguments":{"index":["a"]}}}') ],
	[ [ 200, -32700, undef ], [ 200, -32600, undef ], [ 200, -32600, undef ],
		[ 200, -32600, undef ],
		[ 200, -32601, 'a"b' ], [ 200, -32602, 2 ], [ 200, -32602, 2 ], [ 200, -32002, 3 ],
		[ 200, -32602, 4 ] ], 'what is no message');
$r = post({ jsonrpc => '2.0', method => 'notifications/initialized' });
is_deeply([ $r->{status}, $r->{content} ], [ 202, '' ], 'a notification');
is($t->http(GET => '/mcp', token => $org->{token})->{status}, 405, 'no stream');
$r = post({ jsonrpc => '2.0', id => 0, method => 'initialize',
	params => { protocolVersion => '1999-01-01' } });
is($r->{json}{result}{protocolVersion}, '2025-11-25', 'an unknown version gets the newest');

$r = json_decode(call('search', { query => 'x' })->{json}{result}{content}[0]{text});
is_deeply([ $r->{error}, $r->{details}[0]{path} ],
	[ 'unknown argument of search: it takes q, earliest, latest, limit, cursor', 'query' ], 'an argument that the tool has not');
is(json_decode(call('search', { q => 'x', timeoutMs => 5 })->{json}{result}{content}[0]{text})->{code}, 'VALIDATION_ERROR',
	'one that only the route has');

# Arguments stay arguments: no parameter or path can be smuggled in.
$r = call('field_values', { name => 'service', prefix => 'check&limit=1&prefix=' });
is_deeply(json_decode($r->{json}{result}{content}[0]{text})->{data}, [], 'a value with &');
$r = call('context', { id => '../search/fields' });
is(json_decode($r->{json}{result}{content}[0]{text})->{code}, 'NOT_FOUND', 'an id with a path');

# ---- rates ----

$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 2 WHERE class = 'search'");
my @codes = map {
	json_decode(call('search', { q => '*' })->{json}{result}{content}[0]{text})->{code} // 'found'
} 1 .. 4;
is($codes[3], 'RATE_LIMIT_EXCEEDED', 'a search by a tool is a search');

$t->stop;
done_testing;
