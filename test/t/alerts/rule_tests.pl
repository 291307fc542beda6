# Searches over rows, tests and backtests of alert rules over HTTP; requireTests; what hostile rows
# and little memory do.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.model_region = 'eu'");
my $org = $t->organization('acme', plan => 'pro');
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1000 WHERE class IN ('search', 'changes', 'executor')");
my $rows = '/api/v1/search/rows';
my $rules = '/api/v1/alert-rules';

sub ask
{
	my ($method, $path, $expected, $name, %options) = @_;
	my $r = $t->http($method => $path, token => $org->{token}, %options);
	is($r->{status} . ($r->{json}{code} ? " $r->{json}{code}" : ''), $expected, $name) or diag $r->{content};
	return $r->{json};
}

# ---- rows ----

my $answer = ask(POST => $rows, 200, 'rows are searched', json => { q => 'level=error | stats count by source',
	rows => [ { event => 'a', level => 'error', source => 'web' }, { event => 'b', source => 'web' } ] });
is_deeply($answer->{data}{rows}, [ [ 'web', 1 ] ], 'as events are');
is($t->http(POST => $rows, token => $org->{read_key}, json => { rows => ['x'] })->{json}{data}{rows}[0]{event}, 'x',
	'with a read-only key');
is($t->http(POST => $rows, token => $org->{token}, json => { rows => [ 'x', 'y' ] }, headers => { Accept => 'application/x-ndjson' })
	->{content} =~ tr/\n//, 2, 'as lines');
# Lists of one batch that do not fit into its memory.
foreach my $list (q{mvindex(split(concat(event, "%s"), "a"), 1)}, q{mvjoin(split(concat(event, "%s"), "a"), "b")})
{
	my $r = $t->http(POST => $rows, token => $org->{read_key}, json => { rows => [ map { "x$_" } 1 .. 3000 ],
		q => '* | eval b = ' . sprintf($list, 'a' x 8000) . ' | stats dc(b)' });
	like("$r->{status} " . ($r->{json}{code} // ''), qr/\A(?:200 |422 QUERY_MEMORY_LIMIT)\z/, 'long lists');
}
is($t->http(GET => '/readyz')->{status}, 200, 'the service has survived them');
$answer = ask(POST => $rows, '400 VALIDATION_ERROR', 'a bad row', json => { rows => [ 'x', { event => 'y', timestamp => 'soon' } ] });
is($answer->{details}[0]{path}, 'rows[1].timestamp', 'is named');
ask(POST => $rows, '400 VALIDATION_ERROR', 'no rows', json => { q => '*' });
ask(POST => $rows, 200, 'an index of nobody', json => { rows => ['x'], q => 'index=_audit' });
ask(POST => $rows, '408 QUERY_TIMEOUT', 'a search that takes long is ended', json => { timeoutMs => 1,
	rows => [ map { { event => 'x' x 60, n => $_ } } 1 .. 8000 ], q => '* | eval a = concat(event, event) | sort a | dedup n | sort n' });

# 30,000 numbers of 100,000 digits each would need gigabytes wherever they become a text.
my $numbers = join ',', ('1E+100000') x 30000;
foreach ([ $rows => qq({"rows": ["x"], "x": [$numbers]}) ], [ $rules => qq({"name": "x", "x": [$numbers]}) ],
	[ $rows => '{"rows": [{"event": "x", "n": 5e-401}]}' ], [ $rows => '{"rows": ["x"], "x": ' . '1' x 2001 . '}' ])
{
	$answer = ask(POST => $_->[0], '400 VALIDATION_ERROR', 'numbers that grow', body => $_->[1]);
	like($answer->{details}[0]{message}, qr/exponents/, 'are refused');
}
is(ask(POST => $rows, 200, 'other numbers', body => '{"rows": [{"event": "e401 \\" 1e500", "n": 1e-400}]}')
	->{data}{rows}[0]{event}, 'e401 " 1e500', 'are not');

# Nothing was stored.
is(scalar @{ ask(GET => '/api/v1/search?q=*', 200, 'the organization')->{data}{rows} }, 0, 'has no events');

# Many blocks of memory do not fit: the part of the rows is on disk while the search runs.
is($t->sql(qq{SET work_mem = '64kB'; SELECT logsvc.act_as('acme') IS NULL;
	SELECT logsvc.search_rows((SELECT jsonb_agg(jsonb_build_object('event', md5(n::text) || md5((n + 1)::text), 'n', n))
		FROM generate_series(1, 10000) AS n), '* | sort -n | stats max(n) as m, count, dc(event) as d') #>> '{data,rows}'}),
	"f\n[[10000, 10000, 10000]]", '10,000 rows with little memory');
is(($t->sql_error(q{SET statement_timeout = '100ms'; SELECT logsvc.act_as('acme') IS NULL;
	SELECT logsvc.search_rows((SELECT jsonb_agg(jsonb_build_object('event', repeat('ab ', 300), 'n', n)) FROM generate_series(1, 10000) AS n),
		'* | patterns mode=label | sort event | dedup n | eventstats count by event | sort n')}))[1], '57014', 'a search is cancelled');

# ---- tests ----

my %rule = (query => 'level=error', condition => { kind => 'count', op => '>', threshold => 0 });
my @tests = ({ name => 'fires', rows => [ { event => 'x', level => 'error' } ], expect => { firing => JSON::PP::true } },
	{ name => 'is quiet', rows => [ { event => 'x' } ], expect => { firing => JSON::PP::false } });
$answer = ask(POST => "$rules/test", 200, 'tests are run', json => { rule => \%rule, tests => \@tests })->{data};
ok($answer->{passed}, 'they pass');
is_deeply([ map { "$_->{name} $_->{passed}" } @{ $answer->{tests} } ], [ 'fires 1', 'is quiet 1' ], 'each of them');
$answer = ask(POST => "$rules/test", 200, 'a test that fails', json => { rule => \%rule,
	tests => [ { %{ $tests[0] }, expect => { firing => JSON::PP::false } } ] })->{data};
ok(!$answer->{passed}, 'does not pass');
is($answer->{tests}[0]{row}, 0, 'because of its row');
$answer = ask(POST => "$rules/test", 200, 'one that does not fire', json => { rule => { %rule, condition => { kind => 'count', op => '>', threshold => 2 }, groupBy => ['source'] },
	tests => [ { name => 'x', expect => { firing => JSON::PP::true }, rows => [ map { { event => 'x', level => 'error', source => $_ } } qw(a a b) ] } ] })->{data}{tests}[0]{details};
is_deeply([ @$answer{qw(groups found)} ], [ [], [ { groupKey => { source => 'a' }, value => 2 }, { groupKey => { source => 'b' }, value => 1 } ] ],
	'says what was found');
$answer = ask(POST => "$rules/test", '400 VALIDATION_ERROR', 'a rule that cannot be run',
	json => { rule => { %rule, query => 'level=error | stat' }, tests => \@tests });
is($answer->{details}[0]{path}, 'rule.query', 'is refused');
is($t->http(POST => "$rules/test", token => $org->{full_key}, json => { rule => \%rule, tests => [ { name => 'judged', rows => ['x'],
	expect => { criteria => 'ok?', expectedItems => [ { id => 'a', description => 'x' } ] } } ] })
	->{json}{data}{tests}[0]{details}{message} =~ /evaluations:run/, 1, 'a key has nothing judged');

# With a model, a request does not ask it.
my $judged = { name => 'judged', rows => ['started'], expect => { criteria => 'ok?', expectedItems => [ { id => 'a', description => 'started' } ] } };
sub judge { return $t->http(POST => "$rules/test", token => $org->{token}, json => { rule => { %rule, query => '*' }, tests => [$judged] })
	->{json}{data}{tests}[0]; }
is(judge()->{got}{verdict}{a}, 'passed', 'the built-in evaluator judges criteria');
$t->set('logsvc.model_provider', 'openai');
ok(wait_until(sub { (judge()->{details}{message} // '') =~ /in SQL/ }), 'a model does that in SQL only');

# ---- requireTests ----

my $name = 0;
sub named { return (name => 'rule ' . ++$name, %rule, @_); }
my $good = ask(POST => $rules, 201, 'a rule whose tests pass', json => { named(tests => \@tests, requireTests => JSON::PP::true) })->{data};
$answer = ask(POST => $rules, '409 RULE_TESTS_FAILING', 'one whose tests fail',
	json => { named(query => 'level=fatal', tests => \@tests, requireTests => JSON::PP::true) });
is_deeply([ @{ $answer->{details}[0] }{qw(path test row)} ], [ 'tests[0]', 'fires', 0 ], 'test and row are named');
$answer = ask(POST => $rules, '409 RULE_TESTS_FAILING', 'one that requires tests and has none', json => { named(requireTests => JSON::PP::true) });
is($answer->{details}[0]{path}, 'tests', 'which is said');
my $off = ask(POST => $rules, 201, 'it can be made disabled', json => { named(query => 'level=fatal', tests => \@tests,
	requireTests => JSON::PP::true, enabled => JSON::PP::false) })->{data};
ask(POST => "$rules/$off->{id}/enable", '409 RULE_TESTS_FAILING', 'but not enabled');
ask(PATCH => "$rules/$off->{id}", 200, 'until it is right', json => { query => 'level=error' });
ask(POST => "$rules/$off->{id}/enable", 200, 'then it can');
ask(PATCH => "$rules/$good->{id}", '409 RULE_TESTS_FAILING', 'an enabled rule cannot be made wrong', json => { query => 'level=fatal' });

# A saved query is changed only as the tests of its rules allow.
my $query = $t->http(POST => '/api/v1/saved-queries', token => $org->{token}, json => { name => 'q', q => 'level=error' })->{json}{data}{id};
my %saved = (name => 'saved', query => undef, savedQueryId => $query, condition => $rule{condition}, tests => \@tests,
	requireTests => JSON::PP::true);
my $saved = ask(POST => $rules, 201, 'a rule with a saved query', json => \%saved)->{data};
sub change_query { return $t->http(PATCH => "/api/v1/saved-queries/$query", token => $org->{token}, json => { q => $_[0] }); }
$answer = change_query('level=fatal');
is("$answer->{status} $answer->{json}{code}", '409 RULE_TESTS_FAILING', 'with which its tests would fail');
like($answer->{json}{error}, qr/^alert rule "saved" \($saved->{id}\) requires its tests: test "fires" fails/, 'the rule is named');
is(change_query('level=error OR level=fatal')->{status}, 200, 'they pass with another one');
ask(POST => "$rules/$saved->{id}/disable", 200, 'while the rule is disabled');
is(change_query('level=fatal')->{status}, 200, 'any will do');
ask(POST => "$rules/$saved->{id}/enable", '409 RULE_TESTS_FAILING', 'but it cannot be enabled then');
ask(DELETE => "$rules/$saved->{id}", 204, 'it is not needed any more');

# The tests run before the organization is locked, and for what they were run is what is stored.
$t->set('logsvc.lock_timeout', '5min');
my $holder = $t->node->background_psql('postgres');
my $lock = "SELECT logsvc_internal.lock_organization((SELECT id FROM logsvc_internal.organization WHERE slug = 'acme'))";
$holder->query_safe("BEGIN; $lock");
ask(PATCH => "$rules/$good->{id}", '409 RULE_TESTS_FAILING', 'tests wait for no lock', json => { query => 'level=fatal' });
my $waiting = begin_request($t, PATCH => "$rules/$good->{id}", token => $org->{token}, json => { description => 'mine' });
ok(wait_until(sub { $t->sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND backend_type LIKE 'logsvc executor%'") > 0 }),
	'a change whose tests passed waits for one');
$holder->query_safe("UPDATE logsvc_internal.resource SET version = version + 1, content = content || '{\"query\": \"level=fatal\"}' "
	. "WHERE logsvc_internal.public_id('rule_', id) = '$good->{id}'; COMMIT");
$answer = end_request($waiting);
is("$answer->{status} $answer->{json}{code}", '412 VERSION_CONFLICT', 'and is refused: the rule is another one now');
$holder->quit;
$t->set('logsvc.lock_timeout', '1s');
ask(PATCH => "$rules/$good->{id}", 200, 'with its own query again', json => { query => 'level=error' });

# Their rows, their time, and who pays for it.
my @long = map { { name => "long $_", rows => [ ('x') x 6000 ], expect => { firing => JSON::PP::false } } } 1 .. 2;
$answer = ask(POST => $rules, '409 RULE_TESTS_FAILING', 'more rows than tests may have in all', json => { named(tests => \@long, requireTests => JSON::PP::true) });
like($answer->{details}[0]{message}, qr/^test "long 2" fails: .*10,000 rows in all/, 'is said of the test');
is(scalar @{ $answer->{details} }, 1, 'which is the second');
my $slow = json_encode({ %rule, schedule => { lookback => '5m', everySeconds => 60 }, groupBy => [], enabled => JSON::PP::true,
	condition => { %{ $rule{condition} }, forSeconds => 0 }, tests => \@long });
is(($t->sql_error("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc_internal.run_rule_tests('$slow', 1)"))[1], 'LS412', 'tests that take too long');
my $limit = "UPDATE logsvc_internal.rate_limit SET per_minute = %s WHERE class = 'executor'";
sub try_to_enable
{
	return $t->http(POST => $rules, token => $org->{token},
		json => { named(query => 'x', tests => [ $long[0] ], requireTests => JSON::PP::true) });
}
is(try_to_enable()->{status}, 409, 'tests that fail');
$t->sql(sprintf $limit, 1);
ok(wait_until(sub { try_to_enable()->{status} == 429 }), 'use the time of the organization up');
$t->sql(sprintf $limit, 1000);
ok(wait_until(sub { try_to_enable()->{status} == 409 }), 'until it has more');

# ---- backtest ----

my $past = int(time / 3600) * 3600 - 7200;
$t->http(POST => '/api/v1/logs/batch', token => $org->{token}, json => [ map { { event => 'failed', level => 'error',
	host => 'h' . $_ % 2, timestamp => $past + 60 * $_ } } 1 .. 6 ]);
my $grouped = ask(POST => $rules, 201, 'a rule by groups', json => { named(groupBy => ['host'], schedule => { everySeconds => 60, lookback => '2m' },
	condition => { kind => 'count', op => '>=', threshold => 1 }) })->{data};
$answer = ask(POST => "$rules/$grouped->{id}/backtest", 200, 'a backtest', json => { from => '-4h', to => 'now' })->{data};
is_deeply([ map { "$_->{groupKey}{host} $_->{value}" } @{ $answer->{firings} } ], [ 'h1 1', 'h0 1' ], 'finds both groups');
is($answer->{firings}[0]{startedAt}, $t->sql("SELECT logsvc_internal.iso_time(to_timestamp($past + 120))"), 'when one began');
is($answer->{firings}[0]{endedAt}, $t->sql("SELECT logsvc_internal.iso_time(to_timestamp($past + 480))"), 'and when it ended');
ask(POST => "$rules/$grouped->{id}/backtest", '400 VALIDATION_ERROR', 'the wrong way round', json => { from => 'now', to => '-1h' });
is(ask(POST => "$rules/$grouped->{id}/backtest", '400 VALIDATION_ERROR', 'no time', json => { from => 'blah' })->{details}[0]{path}, 'from',
	'is named as the caller did');
ask(POST => "$rules/$grouped->{id}/backtest", '400 VALIDATION_ERROR', 'too long', json => { from => '-200d' });
is_deeply(ask(POST => "$rules/$grouped->{id}/backtest", 200, 'a time without events', json => { from => '-30d', to => '-20d' })
	->{data}{firings}, [], 'has no firings');

$t->stop;
done_testing();
