# Pipelines: the resource, what each processor does, that masked and dropped data are nowhere on
# disk whatever door they came through, when a change acts, quotas, limits of time.
use strict;
use warnings;

use IO::Socket::INET;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $gelf = PostgreSQL::Test::Cluster::get_free_port();
my $syslog = PostgreSQL::Test::Cluster::get_free_port();
my $t = LogsvcTest->new(conf => "logsvc.acceptors = 2\nlogsvc.flush_interval = '50ms'\n"
	. "logsvc.syslog_listeners = 'tcp:$syslog=acme, gelf:$gelf=acme'");
my $org = $t->organization('acme', plan => 'pro');
my $other = $t->organization('other', plan => 'free');
my $path = '/api/v1/pipelines';

sub ask
{
	my ($method, $where, $expected, $name, %options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $r = $t->http($method => $path . $where, token => $org->{token}, %options);
	is($r->{status} . ($r->{json}{code} ? " $r->{json}{code}" : ''), $expected, $name) or diag $r->{content};
	return $r->{json}{data};
}

sub rows
{
	my ($q) = @_;
	my $r = $t->http(GET => '/api/v1/search', token => $org->{token}, query => { q => $q, earliest => '-1h' });
	return $r->{json}{data}{rows} // die "$r->{status} $r->{content}\n";
}

# What processors make of one event.
sub try
{
	my ($processors, $event) = @_;
	my $r = $t->http(POST => "$path/test", token => $org->{token},
		json => { pipeline => { processors => $processors },
			events => [ ref $event ? $event : { event => $event } ] });
	return $r->{json}{data}{events}[0] // die "$r->{status} $r->{content}\n";
}

sub send_one
{
	my ($event, %options) = @_;
	my $r = $t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => $event, %options);
	die "$r->{status} $r->{content}\n" if $r->{status} != 202;
	return $r->{json}{data};
}

# ---- the resource ----

my $made = ask(POST => '', 201, 'a pipeline is made',
	json => { name => 'first', processors => [ { type => 'set', field => 'seen', value => 'first' } ] });
like($made->{id}, qr/^pipe_\w{26}$/, 'its id');
is_deeply([ @{$made}{qw(order enabled match continue version)} ], [ 1, JSON::PP::true, '*', JSON::PP::false, 1 ], 'completed');
is(send_one({ event => 'one' })->{status}, 'queued', 'an event');
is(rows('event="one"')->[0]{attributes}{seen}, 'first', 'has gone through it: a change acts on the next request');
my $second = ask(POST => '', 201, 'another one', json => { name => 'second', match => 'source=web',
	processors => [ { type => 'set', field => 'seen', value => 'second' } ] });
is($second->{order}, 2, 'comes last');
my $third = ask(POST => '', 201, 'a third', json => { name => 'third', order => 1, enabled => JSON::PP::false, processors => [] });
ask(POST => '/reorder', '409 STALE_ORDER', 'not all of them', json => { ids => [ $made->{id} ] });
ask(POST => '/reorder', '409 STALE_ORDER', 'one twice', json => { ids => [ map { $_->{id} } $made, $second, $second ] });
is_deeply([ map { $_->{name} } @{ ask(POST => '/reorder', 200, 'another order',
	json => { ids => [ map { $_->{id} } $second, $third, $made ] }) } ], [qw(second third first)], 'is theirs');
send_one({ event => 'two', source => 'web' });
is(rows('event="two"')->[0]{attributes}{seen}, 'second', 'the first that matches wins');
ask(PATCH => "/$second->{id}", '412 VERSION_CONFLICT', 'an old version', json => { continue => JSON::PP::true }, headers => { 'If-Match' => '1' });
ask(PATCH => "/$second->{id}", 200, 'unless it goes on', json => { continue => JSON::PP::true });
send_one({ event => 'three', source => 'web' });
is(rows('event="three"')->[0]{attributes}{seen}, 'first', 'then the last one does');
my $stats = ask(GET => "/$made->{id}", 200, 'it counts')->{stats};
is_deeply([ @{$stats}{qw(in out dropped failed)} ], [ 1, 1, 0, 0 ], 'since its last version') or diag explain $stats;
is($stats->{processors}[0]{in}, 1, 'each processor too');
for ([ 'match', 'level=', 'processors', [] ], [ 'processors[0].type', undef, 'processors', [ { type => 'nonsense' } ] ],
	[ 'processors[0].pattern', undef, 'processors', [ { type => 'parse_regex', pattern => '(?<a>' } ] ],
	[ 'processors[0].pattern', undef, 'processors', [ { type => 'parse_grok', pattern => '%{NONSENSE:a}' } ] ],
	[ 'processors[0].index', undef, 'processors', [ { type => 'route', index => 'nowhere' } ] ],
	[ 'processors[0].index', undef, 'processors', [ { type => 'route', index => '_audit' } ] ],
	[ 'processors[1].field', undef, 'processors', [ { type => 'remove', fields => ['x'] }, { type => 'set', field => 'index', value => 'x' } ] ],
	[ 'processors[0].pattern', undef, 'processors', [ { type => 'mask', field => 'event' } ] ])
{
	my ($where, $match, %body) = @$_;
	my $r = $t->http(POST => $path, token => $org->{token}, json => { name => 'x', %body, defined $match ? (match => $match) : () });
	is("$r->{status} " . ($r->{json}{details}[0]{path} // ''), "400 $where", "what is wrong: $where") or diag $r->{content};
}
is($t->http(POST => "$path/test", token => $org->{token}, json => { events => [ { event => 'x' } ],
		pipeline => { processors => [ { type => 'mask', field => 'event' } ] } })->{json}{details}[0]{path},
	'pipeline.processors[0].pattern', 'in a test it is inside of the body');
ask(DELETE => "/$_->{id}", 204, 'deleted') foreach $made, $second, $third;

# ---- masks that others switch off ----

sub shadows { return join ' ', map { "$_->{code} $_->{pipelineId}" } @{ $_[0]{warnings} }; }
my $mask = ask(POST => '', 201, 'a mask', json => { name => 'masks', match => 'service=checkout',
	processors => [ { type => 'mask', field => '*', preset => 'creditcard' } ] });
is(shadows($mask), '', 'runs');
my %set = (processors => [ { type => 'set', field => 'team', value => 'pay' } ]);
my $front = ask(POST => '', 201, 'one before it', json => { name => 'add team', order => 0, %set });
is(shadows($front), "MASKS_SHADOWED $mask->{id}", 'says that the mask does not run');
is(shadows(ask(GET => "/$mask->{id}", 200, 'the mask')), "MASKS_SHADOWED $front->{id}", 'says it too');
is(shadows(ask(PATCH => "/$front->{id}", 200, $_->[0], json => $_->[1])), $_->[2] ? "MASKS_SHADOWED $mask->{id}" : '', '... ' . $_->[0])
	foreach [ 'another service', { match => 'service=web' } ], [ 'perhaps the same', { match => 'service=web OR level=error' }, 1 ],
	[ 'it goes on', { continue => JSON::PP::true } ], [ 'it does not', { continue => JSON::PP::false, match => 'source=x' }, 1 ],
	[ 'disabled', { enabled => JSON::PP::false } ], [ 'enabled', { enabled => JSON::PP::true }, 1 ],
	[ 'with the same mask', { processors => [ { type => 'mask', field => '*', preset => 'creditcard', replacement => '#' } ] } ],
	[ 'with another one', { %set, match => '*' }, 1 ];
my $tried = $t->http(POST => "$path/test", token => $org->{token}, json => { events => [ { event => 'x', service => 'checkout' }, { event => 'y' } ] })->{json}{data};
is_deeply([ map { $_->{shadowedMasks} } @{ $tried->{events} } ], [ [ $mask->{id} ], [] ], 'a trial says which events are not masked');
$tried = $t->http(POST => "$path/test", token => $org->{token}, json => { pipeline => { %set, order => 0 }, events => ['x'] })->{json}{data};
is(shadows($tried), "MASKS_SHADOWED $mask->{id}", 'a trial of one pipeline says what it would switch off');
is_deeply([ map { shadows($_) } @{ ask(POST => '/reorder', 200, 'the mask first', json => { ids => [ $mask->{id}, $front->{id} ] }) } ],
	[ '', '' ], 'is right');
is_deeply([ map { shadows($_) } @{ ask(POST => '/reorder', 200, 'the mask last', json => { ids => [ $front->{id}, $mask->{id} ] }) } ],
	[ map { "MASKS_SHADOWED $_->{id}" } $mask, $front ], 'is told');
my $stale = $t->http(POST => "$path/reorder", token => $org->{token}, json => { ids => [ $mask->{id}, 'pipe_x', $mask->{id} ] })->{json};
is(join(' ', sort map { $_->{code} } @{ $stale->{details} }), 'missing twice unknown', 'what is wrong with an order');
ask(DELETE => "/$_->{id}", 204, 'deleted') foreach $mask, $front;
send_one({ event => 'four' });
is_deeply(rows('event="four"')->[0]{attributes} // {}, {}, 'nothing is done any more');
is($t->http(POST => $path, token => $other->{token}, json => { name => 'p', processors => [] })->{status}, $_ <= 3 ? 201 : 403,
	"pipeline $_ of the plan") foreach 1 .. 4;

# ---- processors ----

for (
	[ 'parse_json', [ { type => 'parse_json' } ], '{"a":1,"b":{"c":"x"},"d":"t"}', { a => 1, b => { c => 'x' }, d => 't' } ],
	[ 'parse_json into a field', [ { type => 'parse_json', target => 'in' } ], '[1,2]', { in => [ 1, 2 ] } ],
	[ 'parse_regex', [ { type => 'parse_regex', pattern => 'user=(?<user>\w+)' } ], 'login user=ann ok', { user => 'ann' } ],
	[ 'parse_grok', [ { type => 'parse_grok', pattern => '%{IP:client} %{WORD:verb} %{NUMBER:ms:float} %{CODE:code:int}', customPatterns => { CODE => '[0-9]{3}' } } ],
		'10.0.0.7 GET 1.5 503', { client => '10.0.0.7', verb => 'GET', ms => 1.5, code => 503 } ],
	[ 'parse_kv', [ { type => 'parse_kv', prefix => 'kv.' } ], 'word a=1 b="two words" c=', { 'kv.a' => '1', 'kv.b' => 'two words', 'kv.c' => '' } ],
	[ 'set from a template', [ { type => 'set', field => 'x', value => '${service}-${level}' } ],
		{ event => 'x', service => 'web', level => 'warn' }, { x => 'web-warn' } ],
	[ 'rename, copy, remove', [ { type => 'rename', from => 'a', to => 'b' }, { type => 'copy', from => 'b', to => 'c' }, { type => 'remove', fields => ['d'] } ],
		{ event => 'x', attributes => { a => 1, d => 2 } }, { b => 1, c => 1 } ],
	[ 'convert', [ map { { type => 'convert', field => $_->[0], to => $_->[1], $_->[2] ? (format => $_->[2]) : () } }
			[ 'n', 'number' ], [ 's', 'string' ], [ 'b', 'boolean' ], [ 't', 'timestamp', '%d/%b/%Y:%H:%M:%S %z' ] ],
		{ event => 'x', attributes => { n => '42', s => 7, b => 'yes', t => '10/Oct/2000:13:55:36 -0700' } },
		{ n => 42, s => '7', b => JSON::PP::true, t => '2000-10-10T20:55:36.000Z' } ],
	[ 'inside JSON', [ { type => 'mask', field => 'user.mail', preset => 'email' } ],
		{ event => 'x', attributes => { user => { mail => 'a@x.example', name => 'b@x.example' } } },
		{ user => { mail => '***', name => 'b@x.example' } } ],
	[ 'a whole object', [ { type => 'mask', field => 'user', preset => 'creditcard', replacement => '#' } ],
		{ event => 'x', attributes => { user => { cards => [ 4111111111111111, '5500 0000 0000 0004', 1234 ] } } },
		{ user => { cards => [ '#', '#', 1234 ] } } ],
	[ 'a failure', [ { type => 'parse_json' } ], 'no JSON', { _pipelineError => 'test: processors[0] parse_json: not a JSON object' } ],
	[ 'a failure that is kept', [ { type => 'parse_json', onFailure => 'keep' } ], 'no JSON', {} ],
	[ 'only if', [ { type => 'set', field => 'x', value => 1, if => 'level=error' }, { type => 'set', field => 'y', value => 1, if => 'NOT level=error' } ], 'z', { y => 1 } ])
{
	my ($name, $processors, $event, $expected) = @$_;
	my $r = try($processors, $event);
	is_deeply($r->{after}{attributes}, $expected, $name) or diag explain $r;
}
for (
	[ email => 'see bob.o+x@mail.example.com now', 'see *** now' ], [ email => 'u=bob%40example.com&x', 'u=***&x' ],
	[ creditcard => 'card 4111 1111 1111 1111, 5500-0000-0000-0004 and 1234567890123', 'card ***, *** and 1234567890123' ],
	[ ip => 'from 10.1.2.3:80 to [2001:db8::1]:443 at 12:30:45 v1.2.3',
		'from ***:80 to [***]:443 at 12:30:45 v1.2.3' ],
	[ ip => 'fe80::1%eth0 ::ffff:10.0.0.1 x::y', '*** *** x::y' ],
	[ jwt => 'Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1 end', 'Bearer *** end' ],
	[ iban => 'to DE89 3704 0044 0532 0130 00 or GB82WEST12345698765432, not DE88370400440532013000', 'to *** or ***, not DE88370400440532013000' ])
{
	my ($preset, $in, $out) = @$_;
	is(try([ { type => 'mask', field => 'event', preset => $preset } ], $in)->{after}{event}, $out, "mask $preset");
}
my @hashed = map { try([ { type => 'mask', field => 'event', pattern => '\d+', hash => JSON::PP::true } ], $_)->{after}{event} } 'n 17 17', 'n 17 18';
like($hashed[0], qr/^n ([0-9a-f]{32}) \1$/, 'a hash, the same for the same value');
unlike($hashed[1], qr/ ([0-9a-f]{32}) \1$/, 'and another one for another');
isnt(try([ { type => 'mask', field => 'event', pattern => '\d+', hash => JSON::PP::true } ], 'n 17 17')->{after}{event}, $hashed[0],
	'another test hashes with another key: nobody can ask whose hash that is');
is_deeply(try([ { type => 'mask', field => 'source', pattern => 'x', replacement => 'y' x 100 } ],
	{ event => 'e', source => 'x' x 1000 })->{after}{truncatedFields}, 'source', 'a replacement that had to be cut is told');
ok(try([ { type => 'drop_if', filter => 'level=debug' } ], { event => 'x', level => 'debug' })->{dropped}, 'drop_if');
ok(!try([ { type => 'sample', rate => 1 } ], 'x')->{dropped}, 'sample 1');
ok(try([ { type => 'sample', rate => 0 } ], 'x')->{dropped}, 'sample 0');
my @steps = @{ try([ { type => 'set', field => 'a', value => 1 }, { type => 'remove', fields => ['a'] } ], 'x')->{steps} };
is_deeply([ map { [ $_->{before}{attributes}{a}, $_->{after}{attributes}{a} ] } @steps ],
	[ [ undef, 1 ], [ 1, undef ] ], 'before and after of each');

# ---- closed when it is not certain ----

my $slow = q{(a+)+[!?]c};
my $hard = ("a" x 3000) . " bob\@x.example c";
my $r = try([ { type => 'mask', field => 'event', pattern => $slow } ], $hard);
is($r->{after}{event}, '***', 'a pattern that takes too long: the field is replaced as a whole');
like($r->{after}{attributes}{_pipelineError}, qr/^test: processors\[0\] mask: /, 'and the event says so');
$r = try([ { type => 'mask', field => 'event', pattern => $slow, onFailure => 'keep' } ], $hard);
is_deeply([ $r->{after}{event}, $r->{after}{attributes} ], [ '***', {} ], 'replaced also when failures are kept');
$r = try([ { type => 'parse_regex', pattern => "(?<x>$slow)", onFailure => 'keep' }, { type => 'mask', field => 'event', preset => 'email', if => "event MATCHES \"$slow\"" } ], $hard);
unlike($r->{after}{event}, qr/bob/, 'so when its condition cannot be decided');

# ---- together ----

# Each of them can be compiled; all together are more than acceptors have room for.
$t->sql("SELECT logsvc.set_limit('acme', 'pipelines', 100)");
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1000 WHERE class = 'changes'");
my $large = ask(POST => '', 201, 'a large pipeline', json => { name => 'large', match => 'source=nothing', enabled => JSON::PP::false,
	processors => [ map { { type => 'parse_grok', pattern => '%{P1}' x 7 . '%{P2:f}', customPatterns => { map { ("P$_" => 'x' x 1900) } 1 .. 4 } } } 1 .. 50 ] });
ask(PATCH => "/$large->{id}", 200, 'runs', json => { enabled => JSON::PP::true });
ask(PATCH => "/$large->{id}", 200, 'and not', json => { enabled => JSON::PP::false });
$t->sql("INSERT INTO logsvc_internal.resource (organization_id, kind, name, content) SELECT organization_id, kind, name || n, "
	. "content || '{\"enabled\": true}' FROM logsvc_internal.resource, generate_series(1, 40) AS n WHERE name = 'large'");
ask(PATCH => "/$large->{id}", '422 PIPELINES_TOO_LARGE', 'beside forty others it cannot be enabled', json => { enabled => JSON::PP::true });
ask(POST => '', '422 PIPELINES_TOO_LARGE', 'nor another one be made', json => { name => 'x', processors => [] });
ask(POST => '', 201, 'but one that does not run', json => { name => 'x', processors => [], enabled => JSON::PP::false });
$t->sql("DELETE FROM logsvc_internal.resource WHERE name ~ '^(large|x\$)'");
is(send_one({ event => 'all the same' })->{status}, 'queued', 'events are taken');

# Without its key a mask hides, and tells nothing.
my $hashing = ask(POST => '', 201, 'a pipeline that hashes', json => { name => 'hash', match => 'source=hashed', order => 0,
	processors => [ { type => 'mask', field => 'event', pattern => 'bob', hash => JSON::PP::true } ] });
send_one({ event => 'by bob', source => 'hashed' });
like(rows('source=hashed')->[0]{event}, qr/^by [0-9a-f]{32}$/, 'it hashes');
$t->sql('DELETE FROM logsvc_internal.pipeline_key');
send_one({ event => 'again bob', source => 'hashed' });
is(rows('source=hashed again')->[0]{event}, 'again ***', 'without a key it only replaces');
ask(DELETE => "/$hashing->{id}", 204, 'gone');

# ---- nothing on disk ----

my $secret = 'zq7xsecret';
my $word = "4111111111111111 $secret";
my $masks = ask(POST => '', 201, 'a pipeline that masks', json => { name => 'mask', processors => [
	{ type => 'drop_if', filter => 'event CONTAINS "gone"' },
	{ type => 'mask', field => '*', pattern => "(?i)$secret" }, { type => 'mask', field => '*', preset => 'creditcard' } ] });
my @key = (token => $org->{ingest_key});
my $now = time;
my %door = (
	json => sub { $t->http(POST => '/api/v1/logs', @key, json => { event => $_[0], attributes => { a => { b => $_[0] } } }, headers => { 'Idempotency-Key' => 'k1' }) },
	batch => sub { $t->http(POST => '/api/v1/logs/batch', @key, json => [ { event => $_[0] }, { event => $_[0], $_[0] => 1 } ]) },
	otlp => sub { $t->http(POST => '/v1/logs', @key, json => { resourceLogs => [ { resource => { attributes => [ { key => 'k', value => { stringValue => $_[0] } } ] },
		scopeLogs => [ { logRecords => [ { body => { stringValue => $_[0] } } ] } ] } ] }) },
	loki => sub { $t->http(POST => '/loki/api/v1/push', @key, json => { streams => [ { stream => { job => $_[0] }, values => [ [ "${now}000000000", $_[0] ] ] } ] }) },
	bulk => sub { $t->http(POST => '/_bulk', @key, body => qq({"index":{"_index":"$secret","_id":"$_[0]"}}\n{"message":"$_[0]"}\n),
		headers => { 'Content-Type' => 'application/x-ndjson', 'Idempotency-Key' => 'k2' }) },
	refused => sub { $t->http(POST => '/_bulk', @key, body => qq({"index":{"_index":"_$secret","_id":"$_[0]"}}\n{"message":"$_[0]"}\n),
		headers => { 'Content-Type' => 'application/x-ndjson', 'Idempotency-Key' => 'k3' . length $_[0] }) },
	document => sub { $t->http(POST => '/web/_doc', @key, json => { message => $_[0] }) },
	splunk => sub { $t->http(POST => '/services/collector/event', @key, json => { event => $_[0], fields => { f => $_[0] } }) },
	raw => sub { $t->http(POST => '/services/collector/raw', @key, body => "$_[0]\n") });
for my $name (sort keys %door)
{
	my $r = $door{$name}->($word);
	like($r->{status}, qr/^20[0-4]$/, "door $name") or diag $r->{content};
	unlike($r->{content} // '', qr/$secret/, '... and its answer');
	$r = $door{$name}->("gone $word");
	like($r->{status}, qr/^20[0-4]$/, "... and what is dropped") or diag $r->{content} if $name !~ /^(?:json|bulk)$/;
}
for ([ $syslog, "<13>1 2026-01-01T00:00:00Z h app - - - $word\n" ], [ $gelf, qq({"version":"1.1","host":"h","short_message":"$word","_x":"$word"}\0) ])
{
	my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $_->[0]) or die "listener: $!";
	print $socket $_->[1];
	close $socket;
}
# The log would have the statements themselves.
my $quiet = 'SET log_statement = none; SET log_min_duration_statement = -1';
$t->sql("$quiet; SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.log('$word', attributes => '{\"a\": \"$word\"}'); "
	. "SELECT logsvc.ingest('[{\"event\": \"$word\"}, {\"event\": \"gone $word\"}]')");
is($t->sql("$quiet; SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.log('gone $word') IS NULL") =~ s/.*\n//sr, 't', 'log() of what is dropped gives no id');
is(send_one({ event => 'gone' })->{status}, 'dropped', 'nor does HTTP');
$r = $t->http(POST => '/api/v1/logs/batch', @key, json => [ 'x', 'gone', 'y' ])->{json}{data};
is_deeply([ $r->{accepted}, $r->{dropped}, map { defined ? 1 : 0 } @{ $r->{ids} } ],
	[ 3, 1, 1, 0, 1 ], 'a batch says which');
$r = $t->http(POST => '/_bulk', @key, body => qq({"index":{}}\n{"message":"gone"}\n), headers => { 'Content-Type' => 'application/x-ndjson' })->{json};
is_deeply([ $r->{errors}, $r->{items}[0]{index}{result} ], [ JSON::PP::false, 'noop' ], 'and so does bulk');
ok(wait_until(sub { @{ rows('event CONTAINS "***"') } >= 12 }), 'all but what was dropped is there') or diag scalar @{ rows('event CONTAINS "***"') };
is(scalar @{ rows('gone') }, 0, 'and that is not');
# The deferred store, and dead letters.
$t->sql("SELECT logsvc.set_limit('acme', 'ingest_bytes_per_day', 1)");
is($door{splunk}->($word)->{status}, 200, 'an event beyond the quota');
$t->sql("SELECT logsvc.set_limit('acme', 'ingest_bytes_per_day', NULL); CHECKPOINT");
my $data = $t->node->data_dir;
is(scalar(grep { JSON::PP->new->encode([$_]) =~ /4111111111111111|$secret/i } @{ rows('*') }), 0, 'the secret is in no event');
my @found = grep { length } split /\n/, `grep -rlaiE '$secret|4111111111111111' '$data' 2>/dev/null`;
# The definition of the mask has the word; it is of the organization itself.
my @files = map { s/^\s+//r } $t->sql("SELECT pg_relation_filepath('logsvc_internal.resource') || E'\\n' || pg_relation_filepath('logsvc_internal.audit_entry')");
ok(!(grep { my $f = $_; !m{/pg_wal/} && !grep { $f =~ /\Q$_\E/ } map { split /\n/ } @files } @found), 'the secret is in no file') or diag join "\n", @found;
is(`grep -rlaE '4111111111111111' '$data' 2>/dev/null`, '', 'the card number not in WAL either');
unlike($t->log_text, qr/4111111111111111/, 'nor in the log');
ask(DELETE => "/$masks->{id}", 204, 'the mask is deleted');

# ---- route, limit, quota ----

$t->http(POST => '/api/v1/indexes', token => $org->{token}, json => { name => 'web' });
my $limit = ask(POST => '', 201, 'a route and a limit', json => { name => 'l', processors => [ { type => 'route', index => 'web', if => 'service=web' },
	{ type => 'limit', perMinute => 3, key => 'user', if => 'user=*' }, { type => 'drop_if', filter => 'event=counted' } ] });
send_one({ event => 'routed', service => 'web' });
is(rows('index=web routed')->[0]{index}, 'web', 'an event in another index');
send_one({ event => "limited $_", attributes => { user => $_ % 2 ? 'ann' : 'bob' } }) foreach 1 .. 12;
cmp_ok(scalar @{ rows('limited') }, '>=', 6, 'three a minute for each key');
cmp_ok(scalar @{ rows('limited') }, '<', 12, 'but not all');
# What was refused does not count: a body whose end is no JSON.
my $cat = JSON::PP->new->encode({ event => 'limited cat', attributes => { user => 'cat' } });
is($t->http(POST => '/api/v1/logs/batch', @key, body => "[$cat,$cat,$cat,",
	headers => { 'Content-Type' => 'application/json' })->{status}, 400, 'a body that ends too early');
send_one({ event => 'limited cat', attributes => { user => 'cat' } });
is(scalar @{ rows('limited cat') }, 1, 'has not used up the limit');
my $before = $t->http(GET => '/api/v1/usage', token => $org->{token})->{json}{data}{ingest}{usedBytes};
send_one({ event => 'counted', attributes => { filler => 'x' x 10000 } });
cmp_ok($t->http(GET => '/api/v1/usage', token => $org->{token})->{json}{data}{ingest}{usedBytes} - $before, '>=', 10000,
	'what is dropped counts in the quota');
ask(PATCH => "/$limit->{id}", 200, 'a change', json => { processors => [ { type => 'set', field => 'new', value => JSON::PP::true } ] });
send_one({ event => "changed $_" }) foreach 1 .. 8;
is(scalar @{ rows('changed new=true') }, 8, 'acts on the next request, in every acceptor');
$r = $t->http(POST => "$path/test?last=5", token => $org->{token}, json => {});
is(scalar @{ $r->{json}{data}{events} }, 5, 'the latest events go through what is there') or diag $r->{content};
is_deeply($r->{json}{data}{events}[0]{matched}, [ $limit->{id} ], 'which says what matched');
is($t->sql("SELECT string_agg(DISTINCT action, ' ' ORDER BY action) FROM logsvc_internal.audit_entry WHERE action LIKE 'pipeline.%'"),
	'pipeline.created pipeline.deleted pipeline.updated', 'the audit log has it all');

$t->stop;
done_testing();
