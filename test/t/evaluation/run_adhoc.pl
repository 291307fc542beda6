# run_adhoc.pl: POST /api/v1/evaluations/run-adhoc over HTTP and the
# same from SQL: fields and their edges, credentials, rates, credits.
use strict;
use warnings;
use utf8;

use LogsvcTest;
use Test::More;
use Time::HiRes qw(time);



my $t = LogsvcTest->new(conf => "logsvc.model_region = 'eu-central-1'");
my $org = $t->organization('acme');
my $path = '/api/v1/evaluations/run-adhoc';
my ($true, $false, $null) = (JSON::PP::true, JSON::PP::false, JSON::PP::null);

# The rate is tested below; until then it must not stand in the way.
sub set_rate
{
	my ($n) = @_;
	$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = $n WHERE class = 'evaluation'");
	return;
}
set_rate(1_000_000);

sub run { my ($json, %opt) = @_; return $t->http(POST => $path, token => $org->{token},
	json => $json, %opt); }
sub raw { my ($body, %opt) = @_; return $t->http(POST => $path, token => $org->{token},
	body => $body, %opt); }

sub is_error
{
	my ($r, $status, $code, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is("$r->{status} " . ($r->{json}{code} // $r->{content}), "$status $code", $name);
	return;
}

# A validation error with details that name the path.
sub is_invalid
{
	my ($json, $where, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $r = run($json);
	is_error($r, 400, 'VALIDATION_ERROR', $name);
	ok(scalar(grep { ($_->{path} // '-') eq $where && length $_->{message} }
		@{ $r->{json}{details} // [] }),
		"$name: details name '$where'") or diag $r->{content};
	return;
}

my @rows = ('10:00:01 step build passed', '10:00:05 step deploy failed: timeout after 30 s',
	'10:00:07 cleanup done');
my @items = ({ id => 'build', description => 'The build step passed' },
	{ id => 'deploy', description => 'The deploy step passed' },
	{ id => 'backup', description => 'The backup step ran' });
my %good = (rows => \@rows, criteria => 'Did each step succeed?', expectedItems => \@items);

# ---- a run ----

my $r = run(\%good);
is($r->{status}, 200, 'a run') or diag $r->{content};
my $data = $r->{json}{data};
is(join(' ', sort keys %$data), 'compressed creditsSpent inputRowCount model provider region '
	. 'summary truncated usage verdict',
	'its fields');
is(join(' ', map { $_->{id} } @{ $data->{verdict} }), 'build deploy backup',
	'one finding for each item, in their order');
is(join(' ', map { $_->{status} } @{ $data->{verdict} }), 'passed failed not_found',
	'their status');
is(scalar(grep { !length($_->{explanation} // '') || length $_->{explanation} > 300 }
	@{ $data->{verdict} }), 0, 'explanations');
is("$data->{model} $data->{region} $data->{inputRowCount}", 'builtin-lexical eu-central-1 3',
	'model, region, rows');
is($data->{creditsSpent}, 0, 'the built-in evaluator costs nothing');
# It has no budget of patterns or tokens: nothing is clipped, and the last of many rows decides.
my @kinds = map { join ' ', map { chr(97 + rand 26) x 6 . chr 97 + rand 26 } 1 .. 60 } 1 .. 2000;
my $many = run({ %good, rows => [ @kinds, 'backup of db9 finished' ],
	compressionOptions => { maxTemplates => 10 },
	expectedItems => [ { id => 'last', description => 'The backup of db9 finished' } ]
		})->{json}{data};
is("$many->{inputRowCount} " . ($many->{truncated} ? 1 : 0) . " $many->{verdict}[0]{status}",
	'2001 0 passed',
	'all rows are judged, whatever maxTemplates, and nothing is called truncated');
$many = run({ %good, rows => \@kinds, logCompression => $false })->{json}{data};
is("$many->{inputRowCount} " . ($many->{truncated} ? 1 : 0), '200 1',
	'without compression the first 200, and it is said');
ok(!$data->{compressed} && !$data->{truncated}, 'the rows themselves are judged, all of them');
cmp_ok($data->{usage}{tokensIn}, '>', 0, 'tokens');
is_deeply(run(\%good)->{json}{data}{verdict}, $data->{verdict}, 'the same again');

is(run({ %good, model => $_->[0] })->{status}, 200, 'model ' . ($_->[0] // 'null'))
  && is(run({ %good, model => $_->[0], preview => $true })->{json}{data}{creditEstimate}{model},
  $_->[1], 'priced as ' . $_->[1])
  foreach [ 'model-opus-4-7', 'model-opus-4-7' ], [ 'gpt-9', 'model-haiku-4-5' ],
  [ '', 'model-haiku-4-5' ], [ $null, 'model-haiku-4-5' ];

$r = run({ %good, mode => 'generic_verdict' });
is($r->{status}, 200, 'generic_verdict');
is_deeply([ map { $_->{id} } @{ $r->{json}{data}{verdict} } ],
	[ map { "f$_" } 1 .. @{ $r->{json}{data}{verdict} } ],
	'ids f1, f2, ...');
$r = run({ rows => \@rows, criteria => 'Did the deploy fail?' });
is($r->{status}, 200, 'test_classification without items');
is($r->{json}{data}{verdict}[0]{id}, 'f1', 'answers the criteria');
$r = run({ rows => \@rows, log => { a => 1 }, criteria => 'x' });
is($r->{json}{data}{inputRowCount}, 4, 'rows and log: log is the last row');
is(run({ log => $_->[0], criteria => 'x' })->{json}{data}{inputRowCount}, 1, "log: $_->[1]")
  foreach [ '', 'an empty string' ], [ 0, '0' ], [ $false, 'false' ], [ [ 1, 2 ], 'an array' ],
  [ { a => 1 }, 'an object' ];

# ---- citations ----

$r = run({ %good, citations => $true });
is($r->{status}, 200, 'with citations') or diag $r->{content};
foreach my $f (@{ $r->{json}{data}{verdict} })
{
	is(scalar @{ $f->{rowRefs} }, scalar @{ $f->{quotes} }, "$f->{id}: a row for each quote");
	cmp_ok(scalar @{ $f->{quotes} }, '>', 0, "$f->{id}: passed and failed have quotes")
		if $f->{status} =~ /passed|failed/;
	ok(index($rows[ $f->{rowRefs}[$_] - 1 ], $f->{quotes}[$_]) >= 0,
		"$f->{id}: the row holds the quote")
	  foreach 0 .. $#{ $f->{quotes} };
}
is($r->{json}{data}{verdict}[1]{rowRefs}[0], 2, 'the row that decides');
$r = run({ rows => [ (map { "GET /orders took $_ ms" } 1 .. 50), 'worker started' ],
	criteria => 'x', citations => $true,
	expectedItems => [ { id => 'fast', description => 'No request took longer than 900 ms' },
		{ id => 'clean', description => 'No worker crashed' } ] });
is("$r->{status} " . join(' ', map { $_->{status} . @{ $_->{quotes} } } @{ $r->{json}{data}{verdict}
	}), '200 passed1 passed1',
	'what rests on the absence of something quotes a row too') or diag $r->{content};
ok(!exists run(\%good)->{json}{data}{verdict}[0]{quotes}, 'none when nobody asked');

# ---- preview ----

$r = run({ rows => \@rows, preview => $true });
is($r->{status}, 200, 'a preview needs no criteria');
my $preview = $r->{json}{data};
is(join(' ', sort keys %$preview),
	'creditEstimate droppedTemplates inputRowCount lines preview rareLineCount truncated '
		. 'uniqueTemplates',
	'its fields');
is(join(' ', sort keys %{ $preview->{creditEstimate} }), 'compressed model uncompressed',
	'its estimate');
is(scalar @{ $preview->{lines} }, 3, 'its lines');
like($preview->{lines}[0], qr/^\[1x\] /, 'their form');
$r = run({ rows => [ map { "user $_ logged in from 10.0.0.$_" } 1 .. 100 ], preview => $true });
like($r->{json}{data}{lines}[0], qr/^\[100x\] user <.+> logged in from <IP>  e\.g\. user /,
	'a pattern with its count');
is(scalar @{ run({ rows => [ map { "row $_" } 1 .. 300 ], preview => $true,
	logCompression => $false })->{json}{data}{lines} },
	200, 'without compression: the first 200 rows');
$r = run({ rows => [ ('x' x 2001) ], preview => $true });
is($r->{json}{data}{truncated}, $true, 'a row over 2,000 characters is cut, and it is said');
$r = run({ rows => [ "\x{1F600}" x 2000 ], preview => $true });
is($r->{json}{data}{truncated}, $false, '2,000 characters outside the BMP are 2,000 characters');
$r = run({ rows => [ "one\ntwo\t[99x] forged" ], preview => $true });
is($r->{json}{data}{lines}[0], '[1x] one\ntwo\t[99x] forged', 'a row with line breaks is one line');
my $estimate = run({ rows => \@rows, preview => $true,
	model => 'model-opus-4-7' })->{json}{data}{creditEstimate};
cmp_ok($estimate->{compressed}, '>', 0, 'the estimate is priced');
cmp_ok(abs($estimate->{compressed} / $preview->{creditEstimate}{compressed} - 15), '<', 1,
	'by the model: opus is 15 times haiku');

# ---- edges of the fields ----

my $u = "\x{e4}";
my @accepted = (
	[ '10,000 rows', { rows => [ map { "r $_" } 1 .. 10_000 ], preview => $true } ],
	[ 'criteria of 4,000 characters', { rows => ['x'], criteria => $u x 4000 } ],
	[ '200 items', { rows => ['x'], criteria => 'x',
		expectedItems => [ map { { id => "i$_", description => 'd' } } 1 .. 200 ] } ],
	[ 'an id of 100 and a description of 500 characters',
		{ rows => ['x'], criteria => 'x',
			expectedItems => [ { id => $u x 100, description => $u x 500 } ] } ],
	[ 'an empty list of items', { rows => ['x'], criteria => 'x', expectedItems => [] } ],
	[ 'an item twice', { rows => ['x'], criteria => 'x', expectedItems => [ $items[0], $items[0] ] }
		],
	[ 'options at their lower ends', { rows => ['x'], preview => $true,
		compressionOptions => { maxTemplates => 1, maxSamples => 0, rareThreshold => 0,
			simThreshold => 0 } } ],
	[ 'no options', { rows => ['x'], criteria => 'x', compressionOptions => {} } ],
	[ 'options at their upper ends', { rows => ['x'], preview => $true,
		compressionOptions => { maxTemplates => 500, maxSamples => 5, rareThreshold => 50,
			simThreshold => 1 } } ]);
foreach my $case (@accepted)
{
	my ($name, $json) = @$case;
	my $answer = run($json);
	is($answer->{status}, 200, $name) or diag $answer->{content};
}

is_invalid(@$_) foreach (
	[ {}, 'rows', 'neither rows nor log' ],
	[ { rows => [], criteria => 'x' }, 'rows', 'no rows' ],
	[ { rows => [ map { 'x' } 1 .. 10_001 ], preview => $true }, 'rows', '10,001 rows' ],
	[ { rows => [ 'x', 7 ], criteria => 'x' }, 'rows[1]', 'a number as row' ],
	[ { rows => [ 'x', $null ], criteria => 'x' }, 'rows[1]', 'null as row' ],
	[ { rows => 'x', criteria => 'x' }, 'rows', 'rows that are a string' ],
	[ { rows => ['x'] }, 'criteria', 'no criteria' ],
	[ { rows => ['x'], criteria => "  \n" }, 'criteria', 'blank criteria' ],
	[ { rows => ['x'], criteria => 'x' x 4001 }, 'criteria', 'criteria of 4,001 characters' ],
	[ { rows => ['x'], criteria => 'x' x 4001, preview => $true }, 'criteria',
		'the same in a preview' ],
	[ { rows => ['x'], criteria => 7, preview => $true }, 'criteria',
		'criteria that are a number, in a preview' ],
	[ { %good, mode => 'other' }, 'mode', 'an unknown mode' ],
	[ { %good, model => 7 }, 'model', 'a model that is a number' ],
	[ { %good, preview => 'yes' }, 'preview', 'preview that is a string' ],
	[ { %good, logCompression => 1 }, 'logCompression', 'logCompression that is a number' ],
	[ { %good, expectedItems => [ map { { id => "i$_", description => 'd' } } 1 .. 201 ] },
		'expectedItems', '201 items' ],
	[ { %good, expectedItems => [ { id => 'a' } ] }, 'expectedItems[0].description',
		'an item without description' ],
	[ { %good, expectedItems => [ $items[0], { description => 'a' } ] }, 'expectedItems[1].id',
		'an item without id' ],
	[ { %good, expectedItems => [ { id => 'a' x 101, description => 'd' } ] },
		'expectedItems[0].id', 'an id of 101 characters' ],
	[ { %good, expectedItems => [ { id => 'a', description => 'd' x 501 } ] },
		'expectedItems[0].description', 'a description of 501' ],
	[ { %good, compressionOptions => { maxTemplates => 0 } }, 'compressionOptions.maxTemplates',
		'maxTemplates 0' ],
	[ { %good, compressionOptions => { maxTemplates => 501 } }, 'compressionOptions.maxTemplates',
		'maxTemplates 501' ],
	[ { %good, compressionOptions => { maxTemplates => 1.5 } }, 'compressionOptions.maxTemplates',
		'maxTemplates 1.5' ],
	[ { %good, compressionOptions => { maxSamples => 6 } }, 'compressionOptions.maxSamples',
		'maxSamples 6' ],
	[ { %good, compressionOptions => { rareThreshold => 51 } }, 'compressionOptions.rareThreshold',
		'rareThreshold 51' ],
	[ { %good, logCompression => $false, compressionOptions => { simThreshold => 1.01 } },
		'compressionOptions.simThreshold', 'simThreshold 1.01, compression off' ]);
$r = run({ rows => ['x'], criteria => 'x', expectedItems => [ { id => 'a', description => 'b' },
	{ id => 'a', description => 'c' } ] });
is_error($r, 400, 'VALIDATION_ERROR', 'one id with two descriptions');
is_error(run({ log => $null, criteria => 'x' }), 400, 'VALIDATION_ERROR', 'log null alone');
$r = run({ rows => [7], criteria => '', mode => 'x', expectedItems => [ {} ] });
cmp_ok(scalar @{ $r->{json}{details} }, '>=', 4, 'all problems are listed, not the first only');

is_error(raw($_->[0]), 400, 'VALIDATION_ERROR', $_->[1])
  foreach [ '', 'an empty body' ], [ '[]', 'a list' ], [ '{"rows":["x"],', 'JSON cut off' ],
  [ 'null', 'null' ],
  [ "{\"rows\":[\"\xff\"],\"preview\":true}", 'invalid UTF-8' ],
  [ '{"log":' . '[' x 100000 . ']' x 100000 . ',"preview":true}', 'deep nesting' ];
foreach my $text ('a\u0000b', '\ud800', '\udc00x', '\ud800\ud800', '\u0000')
{
	foreach my $body
		(qq({"rows":["$text"],"criteria":"$text x","expectedItems":[{"id":"i$text","description":"d$text"}]}),
		qq({"rows":[{"$text":"$text"}],"log":"$text","preview":true}))
	{
		$r = raw($body);
		is($r->{status}, 200, "NUL and surrogates: $text") or diag $r->{content};
	}
}
$r = raw('{"rows":["a\u0000b"],"preview":true}');
is($r->{json}{data}{lines}[0], "[1x] a\x{fffd}b", 'NUL becomes U+FFFD');

$r = run({ %good, expectedItem => [], Rows => 1, preview => $true });
is(join(',', sort split /, /, $r->{headers}{'x-ignored-fields'} // ''), 'Rows,expectedItem',
	'X-Ignored-Fields');
$r = run({ %good, "bad\r\nX-Injected: 1" => 1, preview => $true });
ok($r->{status} == 200 && !exists $r->{headers}{'x-injected'},
	'a field name with a line break injects no header');

my $limit = 10 * 1024 * 1024;
my $body = '{"rows":["x"],"preview":true}';
$r = raw($body . ' ' x ($limit - length $body));
is($r->{status}, 200, 'a body of 10 MB');
$r = raw($body . ' ' x ($limit - length($body) + 1));
is_error($r, 413, 'FST_ERR_CTP_BODY_TOO_LARGE', 'one byte more');
$r = raw($body, headers => { 'Content-Type' => 'text/plain' });
is_error($r, 415, 'UNSUPPORTED_MEDIA_TYPE', 'text/plain');
is_error(raw($body, headers => { 'Content-Encoding' => 'gzip' }), 415, 'UNSUPPORTED_MEDIA_TYPE',
	'an encoded body');
is(raw($body, headers => { 'Content-Type' => 'Application/JSON; charset=utf-8' })->{status}, 200,
	'a type with a parameter');

# ---- credentials ----

sub try { my (%opt) = @_; return $t->http(POST => $path,
	json => { rows => ['x'], preview => $true }, %opt); }

sub token
{
	my ($slug, $email, $scopes, @more) = @_;
	return $t->sql_json("SELECT logsvc.create_token('$slug', '$email', 'more', ARRAY[$scopes]"
		. join('', map { ", $_" } @more) . ')');
}

is_error(try(), 401, 'UNAUTHORIZED', 'no header');
is_error(try(headers => { Authorization => 'Token x' }), 401, 'UNAUTHORIZED', 'another scheme');
is_error(try(token => $org->{full_key}), 401, 'INVALID_PAT', 'a full-access key');
is_error(try(token => $org->{ingest_key}), 401, 'INVALID_PAT', 'an ingest key');
is_error(try(headers => { 'X-API-Key' => $org->{full_key} }), 401, 'INVALID_PAT',
	'a key in X-API-Key');
is_error(try(token => 'pat_unknown'), 401, 'INVALID_PAT', 'an unknown token');
is_error(try(token => 'x'), 401, 'INVALID_PAT', 'something else');
is_error(try(token => token('acme', $org->{email}, "'logs:read'")->{token}), 403,
	'INSUFFICIENT_SCOPE', 'a token without the scope');
my $revoked = token('acme', $org->{email}, "'evaluations:run'");
is(try(token => $revoked->{token})->{status}, 200, 'a token before it is revoked');
$t->sql("SELECT logsvc.revoke_token('$revoked->{id}')");
is_error(try(token => $revoked->{token}), 401, 'PAT_REVOKED', 'and after');
my $expiring = token('acme', $org->{email}, "'evaluations:run'", "now() + interval '1 second'");
is(try(token => $expiring->{token})->{status}, 200, 'a token before it expires');
ok(wait_until(sub { try(token => $expiring->{token})->{status} == 401 }), 'a token expires');
is_error(try(token => $expiring->{token}), 401, 'PAT_EXPIRED', 'and after');
$r = $t->http(POST => $path, token => $org->{full_key}, body => 'x' x ($limit + 1));
is_error($r, 401, 'INVALID_PAT', 'the credential is checked before the size');

# ---- the region ----

$t->set('logsvc.model_region', '');
$r = run(\%good);
is_error($r, 503, 'AI_PROVIDER_NOT_EU', 'no region');
is("$r->{json}{details}[0]{code} $r->{headers}{'retry-after'}", 'region 30',
	'details and Retry-After');
is(run({ %good, preview => $true })->{status}, 200, 'a preview calls no model');
$t->set('logsvc.model_region', 'us-east-1');
is_error(run(\%good), 503, 'AI_PROVIDER_NOT_EU', 'a region outside the EU');
$t->set('logsvc.model_region', 'EU-Central-1');
is(run(\%good)->{status}, 200, 'the name of a region in capitals');
$t->set('logsvc.model_region', 'eu-central-1');

# ---- credits ----

my $poor = $t->organization('poor', plan => 'free');
$t->sql("SELECT logsvc.adjust_ai_credits('poor', -1000000, 'test')");
$r = run(\%good, token => $poor->{token});
is_error($r, 429, 'AI_CREDITS_EXHAUSTED', 'credits used up');
is(join(' ', sort keys %{ $r->{json} }), 'code error limit remaining resetsAt',
	'the body of a refusal for credits');
is("$r->{json}{remaining} $r->{json}{limit}", '0 100', 'remaining and limit');
like($r->{json}{error},
	qr/used up; the built-in evaluator takes none, but answers only while some are left/,
		'the message says why, though it costs nothing');
my (undef, $state, $message) = $t->sql_error("SELECT logsvc.act_as('poor'); SELECT "
	. "logsvc.run_adhoc(rows => '{x}', criteria => 'x')");
is($state, 'LS603', 'from SQL');
like($r->{json}{resetsAt}, qr/^\d{4}-\d\d-01T00:00:00\.000Z$/, 'the first of a month, UTC');
is(run({ %good, preview => $true }, token => $poor->{token})->{status}, 200,
	'a preview costs nothing');
is_error(run({ %good, mode => 'x' }, token => $poor->{token}), 400, 'VALIDATION_ERROR',
	'the body is checked first');
$t->set('logsvc.builtin_needs_credits', 'off');
$r = run(\%good, token => $poor->{token});
is("$r->{status} " . ($r->{json}{data}{creditsSpent} // ''), '200 0',
	'logsvc.builtin_needs_credits = off: it answers');
is($t->sql_json(q{SELECT logsvc.run_adhoc(rows => '{x}', criteria => 'x') FROM }
	. q{logsvc.act_as('poor')})->{creditsSpent}, 0, 'from SQL, too');
$t->set('logsvc.builtin_needs_credits', 'on');
is_error(run(\%good, token => $poor->{token}), 429, 'AI_CREDITS_EXHAUSTED', 'on again');
$t->sql("SELECT logsvc.set_limit('poor', 'ai_credits_per_month', NULL)");
is(run(\%good, token => $poor->{token})->{status}, 200, 'no limit for this organization');
$t->sql("SELECT logsvc.set_limit('poor', 'ai_credits_per_month', 100)");
is_error(run(\%good, token => $poor->{token}), 429, 'AI_CREDITS_EXHAUSTED', 'and its limit again');
$t->sql("SELECT logsvc.adjust_ai_credits('poor', 0.0001, 'test')");
is(run(\%good, token => $poor->{token})->{status}, 200, 'on the last fraction a call may start');

# ---- the rate ----

set_rate(10);
my $fast = $t->organization('fast');
my $second = token('fast', $fast->{email}, "'evaluations:run'")->{token};
$t->sql("SELECT logsvc.create_user('other\@fast.example', 'other'); SELECT "
	. "logsvc.add_member('fast', 'other\@fast.example', 'member')");
my $other = token('fast', 'other@fast.example', "'evaluations:run'")->{token};
my @remaining;
foreach my $n (1 .. 10)
{
	$r = $n == 3 ? run({}, token => $second)
	  : run({ %good, preview => $n % 2 ? $true : $false }, token => $n % 2
	  ? $fast->{token} : $second);
	is($r->{status}, $n == 3 ? 400 : 200, "request $n of the minute");
	push @remaining, $r->{headers}{'x-ratelimit-remaining'};
	is($r->{headers}{'x-ratelimit-limit'}, 10, 'X-RateLimit-Limit');
}
is("@remaining", '9 8 7 6 5 4 3 2 1 0', 'two tokens of a user share the limit; previews and '
	. 'errors count');
foreach my $token ($fast->{token}, $second)
{
	$r = run(\%good, token => $token);
	is_error($r, 429, 'RATE_LIMIT_EXCEEDED', 'the eleventh');
	like($r->{headers}{'retry-after'} // '', qr/^([1-9]|[1-5]\d|6[01])$/, 'Retry-After');
	is("$r->{headers}{'x-ratelimit-limit'} $r->{headers}{'x-ratelimit-remaining'}", '10 0',
		'its headers');
	cmp_ok(abs($r->{headers}{'x-ratelimit-reset'} - time - $r->{headers}{'retry-after'}), '<=', 2,
		'X-RateLimit-Reset');
}
$r = run({ %good, preview => $true }, token => $other);
is("$r->{status} $r->{headers}{'x-ratelimit-remaining'}", '200 9', 'another user has an own limit');
$r = raw('x' x ($limit + 1), token => $second);
is_error($r, 429, 'RATE_LIMIT_EXCEEDED', 'the rate is checked before the size');
is_error(try(token => 'pat_unknown'), 401, 'INVALID_PAT', 'a wrong credential counts for nobody');

# The same from SQL counts for the role.
my $calls = join ';',
	map { "SELECT logsvc.run_adhoc(rows => ARRAY['x'], preview => true)->>'inputRowCount'" } 1 ..
		11;
my ($out, $state, $message) = $t->sql_error("SELECT logsvc.use_token('$other'); $calls");
is("$state " . scalar(my @lines = $out =~ /^1$/mg), 'LS601 10', 'SQL: ten a minute for the role');
set_rate(1_000_000);

# ---- from SQL ----

sub sql_run { my ($args, $fetch) = @_; return $t->sql_json("SET client_min_messages = error; DO "
	. "\$\$BEGIN PERFORM logsvc.use_token('$org->{token}'); END\$\$; SELECT "
		. "logsvc.run_adhoc($args)"); }
sub sql_fails { my ($args) = @_; my @r =
	$t->sql_error("SELECT logsvc.use_token('$org->{token}'); SELECT logsvc.run_adhoc($args)");
		return $r[1]; }

my $literal = json_encode(\%good) =~ s/'/''/gr;
utf8::decode($literal);
is_deeply(sql_run("'$literal'::jsonb"), run(\%good)->{json}{data},
	'SQL: one request: the same answer as over HTTP');
my $rows = join ',', map { "'$_'" } @rows;
my $items = json_encode(\@items);
is_deeply(sql_run("rows => ARRAY[$rows], criteria => 'Did each step succeed?', expected_items "
	. "=> '$items'"),
	run(\%good)->{json}{data}, 'SQL: named arguments: the same');
is(sql_run("rows => ARRAY[$rows], preview => true, log_compression => false, compression_options "
	. "=> '{\"maxSamples\": 1}'")->{inputRowCount},
	3, 'SQL: preview with options');
is(sql_fails("rows => ARRAY['x']"), 'LS001', 'SQL: no criteria');
is(sql_fails("rows => ARRAY[NULL]::text[], criteria => 'x'"), 'LS001', 'SQL: a null row');
is(sql_fails("'{}'::jsonb, rows => ARRAY['x']"), 'LS001', 'SQL: both forms');
is(sql_fails("'[1]'::jsonb"), 'LS001', 'SQL: a request that is a list');
is(sql_fails(''), 'LS001', 'SQL: nothing');
($out, $state) = $t->sql_error("SELECT logsvc.run_adhoc(rows => ARRAY['x'], preview => true)");
is($state, 'LS802', 'SQL: a session that acts for nobody');
($out, $state) = $t->sql_error("SELECT logsvc.use_token('" . token('acme', $org->{email},
	"'logs:read'")->{token} . "'); SELECT logsvc.run_adhoc(rows => ARRAY['x'], preview => true)");
is($state, 'LS201', 'SQL: a token without the scope');
($out, $state) = $t->sql_error("SELECT logsvc.act_as('poor'); SELECT "
	. "logsvc.adjust_ai_credits('poor', -1000000, 'test'); SELECT logsvc.run_adhoc(rows => "
		. "ARRAY['x'], criteria => 'x')");
is($state, 'LS603', 'SQL: credits used up');

$t->stop;
done_testing;
