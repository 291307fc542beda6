# rows_from_search.pl: evaluations whose rows come from a search, over HTTP
# and from SQL: permissions, errors, limits, isolation, and that a search keeps
# no other evaluation waiting.
use strict;
use warnings;
use utf8;

use LogsvcAsync;
use LogsvcTest;
use Socket ();
use Test::More;
use Time::HiRes qw(time);

my $t = LogsvcTest->new(conf => "logsvc.model_region = 'eu'\nlogsvc.evaluators = 1");
my $org = $t->organization('acme');
my $other = $t->organization('other');
my $path = '/api/v1/evaluations/run-adhoc';
my ($true, $false) = (JSON::PP::true, JSON::PP::false);

$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1000000 WHERE class = 'evaluation'");

sub run
{
	my ($json, %opt) = @_;
	return $t->http(POST => $path, token => $org->{token}, defined $json
		? (json => $json) : (), %opt);
}

sub is_error
{
	my ($r, $status, $code, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is("$r->{status} " . ($r->{json}{code} // $r->{content}), "$status $code", $name);
	return;
}

my @events = ('10:00:01 step build passed', '10:00:05 step deploy failed: timeout after 30 s',
	'10:00:07 cleanup done');
my $second = 0;
foreach my $event (@events)
{
	my $r = $t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
		json => { event => $event, source => 'ci', timestamp => sprintf('2026-01-01T00:00:%02dZ',
			$second++) });
	is($r->{status}, 202, 'an event');
}
$t->http(POST => '/api/v1/logs', token => $other->{ingest_key},
	json => { event => 'a quokka of another organization', source => 'ci' });

my @items = ({ id => 'build', description => 'The build step passed' },
	{ id => 'deploy', description => 'The deploy step passed' },
	{ id => 'backup', description => 'The backup step ran' });
my %good = (query => 'source=ci earliest=2025-12-31T00:00:00Z',
	criteria => 'Did each step succeed?', expectedItems => \@items);

# ---- a run ----

my $r = run({ %good, citations => $true });
is($r->{status}, 200, 'a run') or diag $r->{content};
is(join(' ', map { $_->{status} } @{ $r->{json}{data}{verdict} }), 'passed failed not_found',
	'judges the events that the search finds');
is($r->{json}{data}{inputRowCount}, 3, 'all of them, and of no other organization');
is($r->{json}{data}{verdict}[1]{rowRefs}[0], 2, 'rows are numbered newest first');
is($r->{json}{data}{verdict}[0]{rowRefs}[0], 3, 'to the oldest');
ok(!exists $r->{headers}{'x-ignored-fields'}, 'query is a known field');
is("$r->{headers}{'x-ratelimit-limit'}", 1000000, 'its headers survive the search');
$r = run({ %good, Query => 1 });
is($r->{headers}{'x-ignored-fields'}, 'Query', 'unknown fields are told');
$r = run({ query => 'source=ci earliest=2025-12-31T00:00:00Z', preview => $true,
	logCompression => $false });
is_deeply($r->{json}{data}{lines}, [ reverse @events ], 'a preview shows them');

$r = run({ %good, query => 'source=ci nowhere earliest=2025-12-31T00:00:00Z', citations => $true });
is($r->{status}, 200, 'a search that finds nothing');
is(join(' ', map { $_->{status} } @{ $r->{json}{data}{verdict} }), 'not_found not_found not_found',
	'proves nothing');
is("$r->{json}{data}{inputRowCount} $r->{json}{data}{creditsSpent}", '0 0',
	'of no rows, for nothing');
$r = run({ query => 'nowhere', criteria => 'No errors occurred' });
is("$r->{json}{data}{verdict}[0]{id} $r->{json}{data}{verdict}[0]{status}", 'f1 not_found',
	'nor by the criteria');

# ---- what is refused ----

is_error(run({ %good, rows => ['x'] }), 400, 'VALIDATION_ERROR', 'query and rows');
is_error(run({ %good, log => 'x' }), 400, 'VALIDATION_ERROR', 'query and log');
is_error(run({ %good, query => ' ' }), 400, 'VALIDATION_ERROR', 'a blank query');
is_error(run({ %good, query => 7 }), 400, 'VALIDATION_ERROR', 'a query that is a number');
is_error(run({ query => 'source=ci' }), 400, 'VALIDATION_ERROR', 'no criteria');
$r = run({ %good, query => 'source=(' });
is_error($r, 400, 'QUERY_SYNTAX_ERROR', 'a syntax error');
is($r->{json}{details}[0]{path}, 'query', 'details name the field');
is_error(run({ %good, query => 'source=ci | stats count' }), 400, 'QUERY_SEMANTIC_ERROR',
	'a query that gives a table');
is_error(run({ %good, query => 'index=nowhere x' }),
	$t->http(GET => '/api/v1/search', token => $org->{token},
	query => { q => 'index=nowhere x' })->{status}, 'INDEX_NOT_FOUND',
		'an unknown index, as in a search');
my $narrow = $t->sql_json("SELECT logsvc.create_token('acme', "
	. "'$org->{email}', 'n', ARRAY['evaluations:run'])")->{token};
is_error(run(\%good, token => $narrow), 403, 'INSUFFICIENT_SCOPE', 'a token without logs:read');
is(run({ rows => ['x'], preview => $true }, token => $narrow)->{status}, 200,
	'which may judge rows');
is_error(run(\%good, token => $other->{full_key}), 401, 'INVALID_PAT', 'a key');
my $reader = $t->sql_json("SELECT logsvc.create_token('acme', "
	. "'$org->{email}', 'r', ARRAY['logs:read'])")->{token};
is_error(run(\%good, token => $reader), 403, 'INSUFFICIENT_SCOPE',
	'a token without evaluations:run');
is_error(run({ %good, query => 'source=(' }, token => $reader), 403, 'INSUFFICIENT_SCOPE',
	'... which no error of the search comes before');
$r = run({ %good, criteria => 7, Query => 1 });
is_error($r, 400, 'VALIDATION_ERROR', 'criteria that are a number');
is($r->{headers}{'x-ignored-fields'}, 'Query', '... and what is unknown is told too');
$r = run({ %good, query => 'source=(', Query => 1 });
is($r->{json}{code}, 'QUERY_SYNTAX_ERROR', 'a search that fails, with an unknown member');
is_error(run(undef, body => '{"query":"x", broken'), 400, 'VALIDATION_ERROR',
	'a body that is not JSON');
is_error(run(undef, body => json_encode(\%good), headers => { 'Content-Type' => 'text/plain' }),
	415, 'UNSUPPORTED_MEDIA_TYPE', 'another media type');
is(scalar(grep { $_ eq '' } keys %{ $t->http(GET => '/api/v1/openapi.json')->{json}{paths} }), 0,
	'nor is it in the description');

# ---- which worker comes first ----

# Without a query an evaluator only, also when a row or a name says "query".
$r = run({ rows => [ 'query', 'step one passed' ], criteria => 'Did step one pass?',
	expectedItems => [ { id => 'query', description => 'step one passed' } ] });
is("$r->{status} $r->{json}{data}{verdict}[0]{status} $r->{json}{data}{inputRowCount}",
	'200 passed 2', 'a row that is the word query');

# A name with an escape, and a body that the gateway does not look into: an evaluator finds the
# query.
my $escaped = json_encode(\%good);
$escaped =~ s/"query"/"\\u0071uery"/ or die;
my $padded = json_encode(\%good) . (' ' x 2_200_000);
my $left = run(\%good)->{headers}{'x-ratelimit-remaining'};
foreach my $case ([ $escaped, 'a name with an escape' ], [ $padded, 'a body of 2.2 MB' ])
{
	my ($content, $name) = @$case;
	$r = run(undef, body => $content);
	is("$r->{status} " . join(' ', map { $_->{status} } @{ $r->{json}{data}{verdict} // [] }),
		'200 passed failed not_found', $name);
	is($r->{headers}{'x-ratelimit-remaining'}, --$left, '... is counted once');
}

# The one evaluator takes no part in a search that fails.
$t->stop_at('evaluate_request');
my $held = begin_request($t, POST => $path, token => $org->{token},
	json => { rows => ['x'], criteria => 'x' });
$t->wait_held('evaluate_request');
is_error(run({ %good, query => 'source=(' }, timeout => 60), 400, 'QUERY_SYNTAX_ERROR',
	'while the evaluator is held');
$t->let_go('evaluate_request');
is(end_request($held)->{status}, 200, 'which goes on');

# A client that hangs up when its rows have been found and wait for the evaluator.
sub reserved { return $t->sql('SELECT count(*) FROM logsvc_internal.ai_credit_reservation'); }
$t->stop_at('evaluate_request');
$held = begin_request($t, POST => $path, token => $org->{token},
	json => { rows => ['x'], criteria => 'x' });
$t->wait_held('evaluate_request');
my $reserved = reserved();
$t->stop_at('execute_request');
my @gone = map { begin_request($t, POST => $path, token => $org->{token}, json => \%good) } 1 .. 2;
$t->wait_held('execute_request');
$t->let_go('execute_request');
ok(wait_until(sub { $t->sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = }
	. q{'logsvc executor' AND xact_start IS NOT NULL}) == 0 }), 'two have their rows');
foreach my $request (@gone)
{
	setsockopt($request->{socket}, Socket::SOL_SOCKET(), Socket::SO_LINGER(), pack('ii', 1, 0));
	close $request->{socket};
}
is($t->http(GET => '/healthz')->{status}, 200, '... and their clients go away');
$t->let_go('evaluate_request');
is(end_request($held)->{status}, 200, 'who was before them is judged');
is(run(\%good)->{status}, 200, '... and who comes after them');
ok(wait_until(sub { reserved() <= $reserved }), '... and no credits stay reserved');

# ---- a search keeps nobody waiting, and can be cancelled ----

$t->stop_at('execute_request');
$held = begin_request($t, POST => $path, token => $org->{token}, json => \%good);
$t->wait_held('execute_request');
is(run({ rows => ['x'], preview => $true })->{status}, 200, 'while one searches, others are answered');
$t->let_go('execute_request');
is(end_request($held)->{status}, 200, 'then it goes on');

# A search for rows takes executor time, and is refused when there is none left.
$t->sql("UPDATE logsvc_internal.rate_limit SET overdraft = 1 WHERE class = 'search'; UPDATE "
	. "logsvc_internal.rate_limit SET per_minute = 1 WHERE class = 'executor'");
$t->stop_at('execute_request');
$held = begin_request($t, POST => $path, token => $org->{token}, json => \%good);
$t->wait_held('execute_request');
sleep 2;
$t->let_go('execute_request');
is(end_request($held)->{status}, 200, 'a search that takes longer than there is time');
$r = run(\%good);
is_error($r, 429, 'RATE_LIMIT_EXCEEDED', 'is charged when it is over');
like($r->{json}{error}, qr/class executor/, '... as executor time');
is(run({ rows => ['x'], preview => $true })->{status}, 200,
	'an evaluation without a query needs none');
$t->sql("UPDATE logsvc_internal.rate_limit SET overdraft = 5 WHERE class = 'search'; UPDATE "
	. "logsvc_internal.rate_limit SET per_minute = 100000 WHERE class = 'executor'");

$t->set('logsvc.query_timeout', '100ms');
$t->stop_at('execute_request');
$held = begin_request($t, POST => $path, token => $org->{token}, json => \%good);
my $executor = $t->wait_held('execute_request');
kill 'TERM', $executor;
is(end_request($held)->{status}, 503, 'an executor that ends: 503');
$t->let_go('execute_request');
$t->wait_ready;
$t->set('logsvc.query_timeout', '30s');
is(run(\%good)->{status}, 200, 'and the next one works');

# ---- many rows ----

$t->sql("SET client_min_messages = error; SELECT logsvc.act_as('acme');
	SELECT logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event', repeat('é', 1990) || ' row ' || n, 'source', 'big',
		'timestamp', to_timestamp(1767225600 + n / 1000.0))) FROM generate_series(1, 5001) n));
	SELECT logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event', repeat('e', 2001), 'source', 'big',
		'timestamp', to_timestamp(1767225700 + n / 1000.0))) FROM generate_series(1, 5000) n));");
$r = run({ query => 'source=big earliest=2025-12-31T00:00:00Z', preview => $true });
is($r->{status}, 200, '10,001 events of 2,000 characters') or diag substr $r->{content}, 0, 300;
is($r->{json}{data}{inputRowCount}, 10000, 'the newest 10,000 count');
is($r->{json}{data}{truncated}, $true, 'rows that are cut are told');

# ---- from SQL ----

is($t->sql("SET client_min_messages = error; DO \$\$BEGIN PERFORM logsvc.use_token('$org->{token}'); END\$\$;
	SELECT logsvc.run_adhoc(query => 'source=ci earliest=2025-12-31T00:00:00Z', criteria => 'Did each step succeed?',
		expected_items => '[{\"id\":\"deploy\",\"description\":\"The deploy step passed\"}]') #>> '{verdict,0,status}'"), 'failed', 'SQL: the same');
my (undef, $state) = $t->sql_error("SELECT logsvc.use_token('$narrow'); SELECT "
	. "logsvc.run_adhoc(query => 'source=ci', criteria => 'x')");
is($state, 'LS201', 'SQL: a token without logs:read');
(undef, $state) = $t->sql_error("SELECT logsvc.use_token('$org->{token}'); SELECT "
	. "logsvc.run_adhoc(query => 'source=ci', rows => ARRAY['x'], criteria => 'x')");
is($state, 'LS001', 'SQL: rows and query');

$t->stop;
done_testing;
