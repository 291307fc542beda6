# log_routes.pl: an event by its id, its neighbours, the fields and values
# of events, and their templates, over HTTP and in SQL.
use strict;
use warnings;

use LogsvcTest;
use POSIX qw(strftime WNOHANG);
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');
my $other = $t->organization('globex');
my $base = time() - 3600;

$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');

sub ask
{
	my ($path, %opt) = @_;
	return $t->http(GET => "/api/v1/$path", token => $org->{read_key}, %opt);
}

sub is_error
{
	my ($r, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is("$r->{status} " . ($r->{json}{code} // '(no code)'), $expected, $name) or diag $r->{content};
	return $r;
}

sub iso { return strftime('%Y-%m-%dT%H:%M:%S.000Z', gmtime($_[0])); }

sub send_events
{
	my ($to, @events) = @_;
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $to->{ingest_key}, json => \@events);
	is($r->{status}, 202, scalar(@events) . ' events') or diag $r->{content};
	return @{ $r->{json}{data}{ids} // [] };    # none of many
}

# Two sources by turns, two of each at the same second; one event in another index.
my @ids = send_events($org, map { {
	event => "request $_ took " . 3 * $_ . " ms", source => $_ % 2 ? 'web' : 'db',
	level => $_ % 10 == 0 ? 'error' : 'info', timestamp => iso($base + int($_ / 4)),
	attributes => { n => $_, host => 'h' . $_ % 3, user => { id => $_ % 5, name => "u$_" },
		$_ == 7 ? (odd => "\x{e9}t\x{e9} a.b`c") : (), mixed => $_ % 2 ? "$_" : $_ } } } 0 .. 99);
$t->http(POST => '/api/v1/indexes', token => $org->{token}, json => { name => 'edge' });
my ($edge) = send_events($org, { event => 'in another index', index => 'edge', source => 'web',
	timestamp => iso($base + 5), attributes => { colour => 'red' } });
my ($foreign) = send_events($other, { event => 'of another organization' });

# ---- an event ----

my $check_reading = sub {
	my ($when) = @_;
	my $r = ask("logs/$ids[42]");
	is($r->{status}, 200, "$when: an event by its id") or diag $r->{content};
	is($r->{json}{data}{id}, $ids[42], '... that one');
	is($r->{json}{data}{attributes}{n}, 42, '... with its attributes');
	is(ask('logs/' . lc $ids[42])->{json}{data}{id}, $ids[42], '... its id in lower case');
	is(ask("logs/$edge")->{json}{data}{index}, 'edge', '... and one of another index');
	is_error(ask("logs/$foreign"), '404 NOT_FOUND', '... none of another organization');
};
$check_reading->('at once');
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 });
$check_reading->('when stored');

(my $unknown = $ids[0]) =~ s/.{6}$/ZZZZZZ/;
is_error(ask("logs/$unknown"), '404 NOT_FOUND', 'an id that no event has');
is_error(ask('logs/evt_1'), '404 NOT_FOUND', 'no id');
is_error(ask("logs/$ids[0]", token => $org->{ingest_key}), '403 INSUFFICIENT_SCOPE',
	'not with an ingest key');
is_error(ask("logs/$ids[0]", token => undef), '401 UNAUTHORIZED', 'nor without credential');
is_error(ask("logs/$ids[0]", query => { x => 1 }), '400 VALIDATION_ERROR', 'an unknown parameter');
is($t->sql("SELECT logsvc.use_token('$org->{token}'); SELECT logsvc.get_log('$ids[3]') ->> 'event'")
	=~ /request 3 took 9 ms/,
	1, 'in SQL');
like($t->sql_error("SELECT logsvc.use_token('$org->{token}'); SELECT logsvc.get_log('$foreign')"),
	qr/not found/, 'in SQL none of another organization');

# Whoever may not read the audit log finds no entry of it by its id.
my $entry = wait_until(sub {
	my $r = $t->http(GET => '/api/v1/search', token => $org->{token},
		query => { q => 'index=_audit | head 1' });
	$r->{json}{data}{rows}[0]{id}
});
like($entry, qr/^evt_/, 'an entry of the audit log');
is_error(ask("logs/$entry"), '404 NOT_FOUND', '... is not read in this way');

# ---- its neighbours ----

sub numbers { return join ' ', map { $_->{attributes}{n} // '-' } @{ $_[0]{json}{data} }; }

my $r = ask("logs/$ids[42]/context", query => { before => 3, after => 2 });
is(numbers($r), '36 38 40 42 44 46', 'three before and two after, of its source, the oldest first');
is_deeply($r->{json}{meta}, { before => 3, after => 2 }, '... counted');
is(numbers(ask("logs/$ids[42]/context", query => { before => 3, after => 2, scope => 'index' })),
	'39 40 41 42 43 44', 'of its index');
is(numbers(ask("logs/$ids[21]/context", query => { before => 0, after => 3, scope => 'index' })),
	'21 22 23 24', 'none before; the edge index is another one');
is(numbers(ask("logs/$ids[1]/context", query => { before => 5, after => 0 })), '1',
	'the first has none before');
is(numbers(ask("logs/$edge/context", query => { scope => 'index' })), '-', 'alone in its index');
is(scalar @{ ask("logs/$ids[50]/context")->{json}{data} }, 21, 'ten and ten by default');
is(scalar @{ ask("logs/$ids[50]/context", query => { before => 100, after => 100,
	scope => 'index' })->{json}{data} },
	100, 'a hundred at most, here all');
is_error(ask("logs/$ids[50]/context", query => { before => 101 }), '400 VALIDATION_ERROR',
	'101 before');
is_error(ask("logs/$ids[50]/context", query => { after => -1 }),
	'400 VALIDATION_ERROR', '-1 after');
is_error(ask("logs/$ids[50]/context", query => { scope => 'all' }), '400 VALIDATION_ERROR',
	'an unknown scope');
is_error(ask("logs/$foreign/context"), '404 NOT_FOUND', 'of another organization');

# ---- fields ----

$r = ask('search/fields');
is($r->{status}, 200, 'fields') or diag $r->{content};
my %field = map { $_->{name} => $_ } @{ $r->{json}{data} };
is_deeply([ sort keys %field ],
	[ sort qw(index level source colour n host user.id user.name odd mixed) ], '... all of them')
  or diag join ' ', sort keys %field;
is_deeply($field{level}, { name => 'level', builtin => JSON::PP::true, types => ['string'],
	events => 100,
	cardinality => 2, examples => [ 'info', 'error' ] }, '... a field of the service');
is_deeply($field{'user.id'}, { name => 'user.id', builtin => JSON::PP::false, types => ['number'],
	events => 100, cardinality => 5, examples => [ 0 .. 4 ] }, '... a member of an object');
is_deeply($field{mixed}{types}, [ 'number', 'string' ], '... one of two types');
is_deeply($r->{json}{meta}{complete}, JSON::PP::true, '... of all events');
is($r->{json}{meta}{sampledEvents}, 101, '... which were that many');
is_deeply([ map { $_->{name} } @{ ask('search/fields', query => { index => 'edge' })->{json}{data} }
	],
	[qw(index source colour)], 'of one index');
is(scalar @{ ask('search/fields', query => { latest => '-1d', earliest => '-2d' })->{json}{data} },
	0,
	'of a time without events');
is_error(ask('search/fields', query => { index => 'nowhere' }), '404 INDEX_NOT_FOUND',
	'of no index');
is_error(ask('search/fields', query => { index => '"x" | head' }), '404 INDEX_NOT_FOUND',
	'of no name');
is_error(ask('search/fields', query => { earliest => 'last week' }), '400 VALIDATION_ERROR',
	'of no time');
is(scalar @{ $t->http(GET => '/api/v1/search/fields', token => $other->{read_key})->{json}{data} },
	1,
	'another organization sees its own: the index');

# ---- fields with very many values ----

# 120,000 events: as many ids, 60,000 sessions in pairs, 20,000 users, 300 hosts, numbers.
{
	my $many = $t->organization('many');
	foreach my $b (0 .. 11)
	{
		wait_until(sub { $t->sql('SELECT coalesce(sum(rows), 0) FROM logsvc_internal.queue')
			< 50_000 }) or die 'the queue stays full';
		$t->sql("SELECT logsvc.act_as('many');" . q{
		SELECT logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event', 'e', 'timestamp', now() - n * interval '10 ms',
			'traceId', md5(n::text), 'source', 's' || n % 4,
			'attributes', jsonb_build_object('request_id', md5(n::text), 'session', md5((n / 2)::text), 'user', 'u' || abs(hashint4(n)) % 20000,
				'host', 'h' || n % 300, 'bytes', n, 'rare', CASE WHEN n % 200 = 0 THEN md5(n::text) END)))
			FROM generate_series(} . ($b * 10_000 + 1) . ', ' . ($b * 10_000 + 10_000) . ') n))');
	}
	my $answer = $t->http(GET => '/api/v1/search/fields', token => $many->{read_key})->{json};
	my %warned = map { $_->{field} => $_ } @{ $answer->{meta}{warnings} };
	is_deeply($answer->{meta}{complete}, JSON::PP::false, 'a sample');
	is(join(' ', sort keys %warned), 'request_id',
		'the one field of over 100,000 values, of eight');
	is($warned{request_id}{code}, 'HIGH_CARDINALITY', '... a warning')
		or diag explain $answer->{meta};
	is($warned{request_id}{estimate}, 120_000, '... with how many there are');
	like($warned{request_id}{message},
		qr/^request_id seems to have some \d+ different values, more than 100,000: keep/,
			'... says what to do');
	is_deeply(ask('search/fields')->{json}{meta}{warnings}, [], 'few events have none');
}

# ---- beside the rows: histogram, fields ----

sub beside
{
	my (%query) = @_;
	my $answer = ask('search', query => { include => 'histogram,fields', %query });
	is($answer->{status}, 200, 'beside: ' . ($query{q} // 'all')) or diag $answer->{content};
	return $answer->{json};
}

sub total { my ($h, $of) = @_; my $sum = 0; $sum += $_->[$of] foreach @{ $h->{buckets} };
	return $sum; }
sub by_name { return map { ($_->{builtin} ? '' : '.') . $_->{name} => $_ } @{ $_[0]{meta}{fields} };
	}

$r = beside(limit => 5);
is(scalar @{ $r->{data}{rows} }, 5, '... a page of rows');
is($r->{meta}{histogram}{span}, '30m', '... the span of a day');
cmp_ok(scalar @{ $r->{meta}{histogram}{buckets} }, '<=', 50, '... in few buckets');
is(total($r->{meta}{histogram}, 1), 101, '... in which all events are');
is(total($r->{meta}{histogram}, 2), 10, '... and the errors');
my $levels = $r->{meta}{histogram}{levels};
is(join(' ', map { my $level = $_; join ' ', $level, grep { $_ } @{ $levels->{$level} } }
	sort keys %$levels),
	'error 10 info 90 none 1', '... and all levels') if $base % 1800 < 1775;
is_deeply([ map { scalar @$_ } values %$levels ],
	[ (scalar @{ $r->{meta}{histogram}{buckets} }) x 3 ], '... in each bucket');
is_deeply([ grep { $_->[1] > 0 } @{ $r->{meta}{histogram}{buckets} } ]->[0],
	[ iso($base - $base % 1800), 101, 10 ], '... where they are')
  if $base % 1800 < 1775;
is($r->{meta}{stats}{rowsMatched}, 101, '... counted as found');
is_deeply($r->{meta}{allFields}, JSON::PP::true, '... all fields');
my %beside = by_name($r);
is_deeply([ sort keys %beside ], [ sort qw(index level source .colour .n .host .user.id .user.name
	.odd .mixed) ], '... by name');
is_deeply($beside{level}, { name => 'level', builtin => JSON::PP::true, count => 100,
	complete => JSON::PP::true,
	top => [ [ 'info', 90 ], [ 'error', 10 ] ] }, '... with their values');
is_deeply($beside{'.user.id'}{top}, [ map { [ $_, 20 ] } 0 .. 4 ], '... of members of objects');
is_deeply([ map { $_->[1] } @{ $beside{'.n'}{top} } ], [ (1) x 10 ], '... ten of them');
is($beside{index}{top}[0][1], 100, '... and of the index');

my $next = ask('search', query => { include => 'histogram,fields', limit => 5,
	cursor => $r->{page}{nextCursor} })->{json};
is_deeply($next->{meta}{histogram}, $r->{meta}{histogram}, 'the next page has the same histogram');
is_deeply($next->{meta}{fields}, $r->{meta}{fields}, '... and fields');
isnt($next->{data}{rows}[0]{id}, $r->{data}{rows}[0]{id}, '... beside other rows');
$r = beside(q => 'level=error | stats count by host');
is($r->{data}{kind}, 'table', 'beside a table');
is(total($r->{meta}{histogram}, 1), 10, '... are the events that the head finds');
is_deeply({ by_name($r) }->{level}{top}, [ [ 'error', 10 ] ], '... and their fields');
$r = ask('search', query => { include => 'histogram', q => 'index=edge' })->{json};
is(total($r->{meta}{histogram}, 1), 1, 'a histogram alone');
is($r->{meta}{fields}, undef, '... without fields');
$r = ask('search', query => { include => 'fields', q => 'index=edge' })->{json};
is_deeply([ map { $_->{name} } @{ $r->{meta}{fields} } ], [ 'index', 'source', 'colour' ],
	'fields alone');
is($r->{meta}{histogram}, undef, '... without a histogram');
$r = beside(q => 'nothing_at_all');
is(total($r->{meta}{histogram}, 1), 0, 'of nothing there are times without events');
is_deeply($r->{meta}{histogram}{levels}, {}, '... and without levels');
is_deeply($r->{meta}{fields}, [], '... and no fields');
is(scalar @{ beside(q => 'index=zzz*')->{meta}{histogram}{buckets} }, 49, 'also of no index')
  if time % 1800 > 5;
is(ask('search', query => { include => '' })->{status}, 200, 'nothing is asked for');
foreach my $bad ('nonsense', 'histogram,,fields', 'Fields')
{
	my $answer = is_error(ask('search', query => { include => $bad }), '400 VALIDATION_ERROR',
		"include=$bad");
	is_deeply($answer->{json}{details}, [ { path => 'include', code => 'invalid',
		message => 'expected histogram, fields or both' } ],
		'... says what was expected') or diag $answer->{content};
}
is($t->http(POST => '/api/v1/search', token => $org->{read_key},
	json => { include => ['fields'] })->{json}{meta}{allFields}, JSON::PP::true,
		'as a list of a body');
is_error($t->http(POST => '/api/v1/search', token => $org->{read_key},
	json => { include => 'fields' }), '400 VALIDATION_ERROR', 'no text of a body');
is_error(ask('logs', query => { include => 'fields' }), '400 VALIDATION_ERROR',
	'not beside the list of events');
$r = $t->http(GET => '/api/v1/search', token => $other->{read_key},
	query => { include => 'histogram,fields' })->{json};
is(total($r->{meta}{histogram}, 1) . ' ' . join(',', map { $_->{name} } @{ $r->{meta}{fields} }),
	'1 index', 'another organization sees its own');
my $left = ask('search')->{headers}{'x-ratelimit-remaining'};
is(ask('search', query => { include => 'histogram,fields' })->{headers}{'x-ratelimit-remaining'},
	$left - 1, 'one search counts once');
like($t->sql("SELECT logsvc.use_token('$org->{token}'); SELECT "
	. "logsvc.search('colour=red', include => '{fields}') #> '{meta,fields,0,name}'"),
	qr/^"(?:colour|index)"$/m, 'in SQL');
like($t->sql("SELECT logsvc.use_token('$org->{token}'); SELECT "
	. "logsvc.search('', explain => true, include => '{histogram}') #>> '{meta,sql}'"),
	qr/part_scan.*overview_parts/s, 'and its SQL');

# More values and more fields than are kept: what is said is right all the same.
my $many = q{SELECT logsvc.act_as('acme'); SELECT logsvc.create_index('many');};
$t->sql($many . join ';',
	map { "SELECT logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event', 'x', 'index', 'many', 'attributes',"
	  . " jsonb_build_object('unique', 'u' || n, 'three', n / 3, 'few', n % 20) || CASE WHEN n % "
	  . "100 = 0 THEN jsonb_build_object('long', repeat('y', 1001)) ELSE '{}' END))"
	  . " FROM generate_series($_ * 11000, $_ * 11000 + 10999) n)) ->> 'accepted'" } 0 .. 2);
%beside = by_name(beside(q => 'index=many', limit => 1));
is_deeply([ @{ $beside{'.unique'} }{qw(count complete top)} ], [ 33000, JSON::PP::false, [] ],
	'values that hardly repeat');
is_deeply([ @{ $beside{'.few'} }{qw(count complete)} ], [ 33000, JSON::PP::true ], 'few values');
is_deeply($beside{'.few'}{top}, [ map { [ $_, 1650 ] } 0, 1, 10 .. 17 ], '... with their counts');
is_deeply([ $beside{'.three'}{complete}, scalar @{ $beside{'.three'}{top} },
	grep { $_->[1] != 3 } @{ $beside{'.three'}{top} } ],
	[ JSON::PP::false, 10 ], 'more values than are kept: what is shown is exact');
is_deeply([ @{ $beside{'.long'} }{qw(count complete top)} ], [ 330, JSON::PP::false, [] ],
	'long values');
$t->sql(q{SELECT logsvc.act_as('acme'); SELECT logsvc.create_index('wide');}
	. q{SELECT logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event', 'x', 'index', 'wide', }
		. q{'attributes',}
	. q{ (SELECT jsonb_object_agg('f' || n * 110 + i, i) || '{"common": 1}' FROM }
		. q{generate_series(1, 110) i))) FROM generate_series(1, 12) n))});
$r = beside(q => 'index=wide', limit => 1);
is(scalar @{ $r->{meta}{fields} }, 100, 'a hundred fields are shown');
is_deeply($r->{meta}{allFields}, JSON::PP::false, '... and that there are more');
is_deeply([ map { "$_->{name} $_->{count}" } @{ $r->{meta}{fields} }[ 0, 1 ] ],
	[ 'index 12', 'common 12' ], '... the most frequent first');

# One snapshot, while events come in.
my $sender = fork // die;
if (!$sender)
{
	$t->sql(q{SELECT logsvc.act_as('acme'); DO $$ BEGIN FOR i IN 1 .. 300 LOOP
		PERFORM logsvc.log('race', 'error', index => 'many'); COMMIT; PERFORM pg_sleep(0.003); END LOOP; END $$});
	POSIX::_exit(0);
}
my ($looks, $differ) = (0, 0);
do
{
	my $answer = ask('search', query => { q => 'race', limit => 10000,
		include => 'histogram,fields' })->{json};
	my $rows = @{ $answer->{data}{rows} };
	my %of = by_name($answer);
	$looks++;
	$differ++ if grep { $_ != $rows } total($answer->{meta}{histogram}, 1),
		total($answer->{meta}{histogram}, 2), $of{level}{count} // 0;
} while (waitpid($sender, WNOHANG) == 0);
is($differ, 0, "rows, histogram and fields of $looks searches are of one snapshot");

# A field that only older events have is known from the headers of parts.
send_events($org, map { { event => "filler $_", attributes => { filler => $_ } } } 1 .. 5001);
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 });
$r = ask('search/fields');
%field = map { $_->{name} => $_ } @{ $r->{json}{data} };
is_deeply($r->{json}{meta}{complete}, JSON::PP::false, 'more events than are looked at');
is_deeply($field{host}, { name => 'host', builtin => JSON::PP::false,
	types => ['string'], events => 0,
	cardinality => undef, examples => [] }, 'an older field is named all the same');
is($field{filler}{cardinality}, 5000, 'a newer one is counted');

# ---- values ----

sub values_of
{
	my ($name, %query) = @_;
	my $answer = ask("search/fields/$name/values", query => \%query);
	is($answer->{status}, 200, "values of $name") or diag $answer->{content};
	return $answer->{json};
}

my $v = values_of('host');
is_deeply($v->{data}, [ { value => 'h0', count => 34 }, { value => 'h1', count => 33 },
	{ value => 'h2', count => 33 } ],
	'... with their counts');
is_deeply($v->{meta}{complete}, JSON::PP::true, '... all of them');
$v = values_of('host', limit => 2);
is(scalar @{ $v->{data} }, 2, 'two of them');
is_deeply($v->{meta}{complete}, JSON::PP::false, '... are not all');
is(scalar @{ values_of('user.name', prefix => 'U9')->{data} }, 11, 'by their begin, without case');
is(values_of('odd', prefix => "\x{c9}t\x{e9} a.b`")->{data}[0]{count}, 1, 'by an odd begin');
is(scalar @{ values_of('odd', prefix => '.*')->{data} }, 0, 'no pattern');
is(scalar @{ values_of('odd', prefix => '"\\')->{data} }, 0, 'nor quotes');
is_deeply([ map { $_->{value} } @{ values_of('level', index => 'main')->{data} } ],
	[ 'info', 'error' ], 'of a field of the service');
is(values_of('n', index => 'main', prefix => '99')->{data}[0]{value}, 99, 'of a number');
is(scalar @{ values_of('nothing')->{data} }, 0, 'of a field that no event has');
$v = values_of('few', index => 'many', limit => 100);
is_deeply([ @{ $v->{meta} }{qw(approximate complete)}, map { "$_->{value} $_->{count}" } @{ $v->{data} } ],
	[ JSON::PP::false, JSON::PP::true, map { "$_ 1650" } 0 .. 19 ],
	'few values are counted over all events');
ok($v->{meta}{events} >= 33000, "... over $v->{meta}{events}");
$v = values_of('unique', index => 'many');
is_deeply([ @{ $v->{meta} }{qw(approximate complete)}, scalar @{ $v->{data} } ],
	[ JSON::PP::true, JSON::PP::false, 50 ], 'many values are those of the newest events');
ok($v->{meta}{events} >= 4096 && $v->{meta}{events} <= 20000, "... of $v->{meta}{events} events");
is_deeply([ grep { $_->{count} != 1 } @{ $v->{data} } ], [], '... with their counts');
$v = values_of('unique', index => 'many', prefix => 'u1');
is_deeply([ grep { $_->{value} !~ /^u1/ } @{ $v->{data} } ], [], '... that begin with a text');

# ---- extremes of times ----

sub rows_of { return ask('search', query => { q => $_[0] })->{json}; }
for my $by ('', ' by index', ' by index, level')
{
	my $short = rows_of("index=many | stats min(timestamp), max(timestamp), count$by");
	my $long = rows_of("index=many | eval t = timestamp | stats min(t) as a, max(t) as b, count$by");
	is_deeply($short->{data}{rows}, $long->{data}{rows}, "extremes of times$by");
	is($short->{meta}{stats}{rowsScanned}, 0, '... without reading rows') if $by !~ /level/;
}
is_error(ask('search/fields/event/values'), '400 VALIDATION_ERROR', 'of the text');
is_error(ask('search/fields/a%60b/values'), '400 VALIDATION_ERROR', 'of no name');
is_error(ask('search/fields/host/values', query => { limit => 1001 }), '400 VALIDATION_ERROR',
	'more than 1,000');
is_error(ask('search/fields/host/values', query => { prefix => 'x' x 201 }), '400 VALIDATION_ERROR',
	'a long begin');

# ---- templates ----

$r = ask('templates');
is($r->{status}, 200, 'templates') or diag $r->{content};
my ($template) = grep { $_->{template} eq 'request <NUM> took <NUM> ms' } @{ $r->{json}{data} };
is($template->{count}, 100, '... with their counts');
is(scalar @{ $template->{samples} }, 3, '... and samples');
is($template->{firstSeen}, iso($base), '... since when');
my $one = ask("templates/$template->{id}");
is_deeply($one->{json}{data}, $template, 'one by its id');
is(ask("templates/$template->{id}", query => { q => 'level=error' })->{json}{data}{count}, 10,
	'... among those that a query finds');
is(scalar @{ ask('templates', query => { limit => 1 })->{json}{data} }, 1, 'one of them');
is_error(ask('templates/0'), '404 NOT_FOUND', 'an id that none has');
is_error(ask('templates', query => { q => 'level=' }), '400 QUERY_SYNTAX_ERROR',
	'a query that is none');
unlike(ask('templates', query => { q => 'level=' })->{content}, qr/patterns|\|/,
	'... of which the error speaks, and of nothing else');
is_error(ask('templates', query => { limit => 0 }), '400 VALIDATION_ERROR', 'none of them');
is_deeply([ map { $_->{count} } @{ $t->http(GET => '/api/v1/templates',
	token => $other->{read_key})->{json}{data} } ],
	[1], 'another organization has its own');

done_testing();
