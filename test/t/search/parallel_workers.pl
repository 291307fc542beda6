# parallel_workers.pl: searches with parallel workers answer what they answer
# alone, and end like those: limits, damaged parts, cancellation, a worker killed.
# And statements that a session has prepared see what comes later.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(time);

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '10ms'",
	'logsvc.compactors = 0',
	"logsvc.search_workers = 2", "logsvc.search_workers_after = 0", 'restart_after_crash = on');
my $org = $t->organization('acme');
my $other = $t->organization('globex');

# Seven days, so seven parts or more; values of all kinds.
my $values = "(ARRAY['1', '2.5', '-7', '\"8\"', '1e3', '0.1', '12345678901234567890', "
	. "'0.12345678901234567', '\"x\"',"
  . " 'null', 'true', '{\"a\":1}', '99999999999999.5', '1e-20', '9223372036854775807'])[n % "
  . "15 + 1]::jsonb";
foreach my $name (qw(acme globex))
{
	$t->sql("SELECT logsvc.act_as('$name'); SELECT logsvc.ingest(jsonb_agg(jsonb_build_object(
		'event', format('$name request %s of user%s', n, n % 7), 'level', (ARRAY['info', 'warn', 'error'])[n % 3 + 1],
		'source', 's' || n % 5, 'timestamp', now() - (n % 167) * interval '1 hour',
		'attributes', jsonb_build_object('n', n, 'v', $values, 'many', 'm' || n % 400, 'name', '$name'))))
		FROM generate_series(1, 3000) n GROUP BY n / 1000");
}
ok(wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }), 'events are stored');
cmp_ok($t->sql("SELECT count(*) FROM logsvc_internal.part WHERE index_name = 'main'"), '>=', 14,
	'in parts of many days');

my @queries = ('* | stats count', '* | stats count by level, source',
	'user3 | stats count by many, v, n',
	'* | stats count(v), dc(v), sum(v), avg(v), min(v), max(v), first(v), last(v)',
	'* | stats count(v), dc(v), sum(v), avg(v), min(v), max(v), first(v), last(v), p50(v), p99(n) '
		. 'by source, many',
	'level=error | stats sum(v), dc(many), first(event), last(n), p10(n) by v',
		'* | stats dc(n), dc(many) by many',
	'* | stats dc(n), dc(event)', '* | top 5 many by source', '* | rare v',
		'* | timechart span=6h count, dc(many)',
	'* | timechart span=1d limit=3 count, avg(n), dc(v), p50(n), last(event) by many',
		'nothing_of_this | stats count, dc(n)',
	'* | eval l = len(event), w = if(v > 5, "big", v) | where l > 20 OR w = "big" | stats count, dc(w), sum(l),'
		. ' p50(l * 1.5), first(w), last(n) by w, level',
	'* | where n % 7 = 3 | timechart span=1d limit=2 count, p95(len(event)), count(now()) by many',
	'* | timechart span=12h count by level', '* | stats count by name');

# Rows, columns, statistics and warnings; not the bytes, since first() reads the ids of rows only
# where they may be the first, of which each process has its own idea.
sub answers
{
	my ($slug, $settings) = @_;
	return $t->sql("$settings; SELECT logsvc.act_as('$slug');" . join ';',
		map { "SELECT (r #- '{meta,stats,tookMs}' #- '{meta,stats,bytesScanned}' #- '{meta,range}')::text FROM logsvc.search(\$q\$$_\$q\$, earliest => '-8d\@d',"
			  . " latest => '+1h\@h', \"limit\" => 10000) r" } @queries);
}
sub started { return $t->sql('SELECT started FROM logsvc_internal.search_workers()'); }

my $before = started();
my $alone = answers('acme', 'SET logsvc.search_workers = 0');
is(started(), $before, 'no workers');
my @alone = split /\n/, $alone;
my @shared = split /\n/, answers('acme', 'SET logsvc.search_workers = 3');
cmp_ok(started() - $before, '>=', @queries, 'workers');
is($shared[$_ - @queries], $alone[$_ - @queries], "the same answer: $queries[$_]")
	foreach 0 .. $#queries;
like($alone, qr/NOT_A_NUMBER/, 'warnings too');
my @lonely = split /\n/, answers('acme', 'SET max_parallel_workers = 0');
is(join("\n", @lonely[ -@queries .. -1 ]), join("\n", @alone[ -@queries .. -1 ]),
	'the same where the server has no workers left');
unlike(join('', @shared), qr/globex/, 'nothing of another organization');
like(answers('globex', ''), qr/\["\\?"?globex/, 'which has its own');

# Statements in workers of the server: row security holds there.
my ($parallel) = grep { $t->sql("SELECT count(*) FROM pg_settings WHERE name = '$_'") }
	qw(debug_parallel_query force_parallel_mode);
my $seen = $t->sql("SET SESSION AUTHORIZATION logsvc_reader; SET $parallel = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SELECT logsvc.use_token('$org->{token}') IS NULL AS nobody \\gset
	SELECT DISTINCT organization_id FROM logsvc_internal.part;
	SELECT logsvc.search('* | stats count by name', earliest => '-8d', latest => '+1h') #> '{data,rows}'");
is($seen, $t->sql("SELECT id FROM logsvc_internal.organization WHERE slug = 'acme'")
	. "\n[[\"acme\", 3000]]",
	'parts and searches of a tenant in parallel workers');

# A plan that was made before asks again: a token that is revoked has no rows, whoever looks.
my $session = $t->node->background_psql('postgres', on_error_stop => 0);
$session->query_safe("SET SESSION AUTHORIZATION logsvc_reader; SET $parallel = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0; SET plan_cache_mode = force_generic_plan;
	PREPARE parts AS SELECT count(DISTINCT organization_id) FROM logsvc_internal.part");
foreach my $leader (qw(on off))
{
	my $token = $t->sql_json("SELECT logsvc.create_token('acme', "
		. "'acme\@example.org', 'app $leader', '{logs:read}')");
	$session->query_safe("SET parallel_leader_participation = $leader; SELECT "
		. "logsvc.use_token('$token->{token}')");
	is($session->query_safe('EXECUTE parts'), 1, "a prepared plan, leader $leader");
	$t->sql("SELECT logsvc.revoke_token('$token->{id}')");
	is($session->query('EXECUTE parts'), '', 'not with a token that is revoked');
	like($session->{stderr}, qr/the token has been revoked/, 'as the error says');
	$session->{stderr} = '';
}
$session->quit;

# ---- limits ----

my $all = "logsvc.search('%s', earliest => '-8d', latest => '+1h')";
sub search_error
{
	my ($settings, $query) = @_;
	my (undef, $state, $message) = $t->sql_error("$settings; SELECT logsvc.act_as('acme'); SELECT "
		. sprintf $all, $query);
	return "$state $message";
}
like(search_error('SET logsvc.search_rows = 2', 'n>0 | stats count'), qr/^LQ103 /,
	'the limit of rows is one of all processes');
is(search_error('SET logsvc.search_rows = 3', 'n>0 | stats count'), ' ', 'and no lower');
like(search_error("SET statement_timeout = '1ms'", '* | stats dc(event), count by n, event'),
	qr/^57014 /, 'a timeout');

# ---- transactions ----

my $rows = q{logsvc.search('* | stats count, dc(n) by name', earliest => '-8d', latest => '+1h') }
	. q{#>> '{data,rows}'};
is($t->sql(qq{\\set QUIET on
	SELECT logsvc.act_as('acme') IS NULL AS nobody \\gset
	BEGIN ISOLATION LEVEL SERIALIZABLE;
	SELECT logsvc.ingest(jsonb_agg(jsonb_build_object('event', repeat(md5(n::text), 20), 'attributes',
		jsonb_build_object('n', 10000 + n, 'name', 'acme')))) IS NULL AS rejected FROM generate_series(1, 500) n \\gset
	SELECT $rows;
	DO \$\$
	BEGIN
		PERFORM set_config('logsvc.search_rows', '1', true), $rows;
	EXCEPTION WHEN SQLSTATE 'LQ103' THEN
		PERFORM set_config('logsvc.search_rows', '100', true);
	END \$\$;
	SELECT $rows;
	ROLLBACK;
	SELECT $rows;}), join("\n", '[["acme", 3500, 3500]]', '[["acme", 3500, 3500]]', '[["acme", 3000, 3000]]'),
	'workers see what the transaction has done, also behind an error in it');

# ---- a damaged part ----

my $part = $t->sql("SELECT max(id) FROM logsvc_internal.part WHERE index_name = 'main'");
$t->sql("CREATE TABLE saved AS SELECT id, body FROM logsvc_internal.part WHERE id = $part;
	UPDATE logsvc_internal.part SET body = overlay(body PLACING '\\xdeadbeefdeadbeef' FROM length(body) / 2) WHERE id = $part");
my $slug = $t->sql("SELECT slug FROM logsvc_internal.part p JOIN logsvc_internal.organization o ON "
	. "o.id = organization_id WHERE p.id = $part");
my $before_error = $t->log_position;
my @damaged = map
	{ ($t->sql_error("SET logsvc.search_workers = $_; SELECT logsvc.act_as('$slug'); SELECT "
		. sprintf $all, '* | stats dc(event), dc(n), dc(v), dc(many), sum(n), first(id), count by '
			. 'source'))[ 1, 2 ] } 0, 2;
is("$damaged[2] $damaged[3]", "$damaged[0] $damaged[1]", 'the same error with workers');
like("@damaged[2, 3]", qr/^LS803 part $part is corrupt/, 'that names the part');
is(scalar(() = $t->log_text($before_error) =~ /ERROR: .*is corrupt/g), 2,
	'and is in the log once for each search');
$t->sql("UPDATE logsvc_internal.part p SET body = s.body FROM saved s WHERE s.id = p.id");

# ---- what happens to workers that are held ----

sub idle
{
	return wait_until(sub { $t->sql('SELECT busy FROM logsvc_internal.search_workers()') == 0
		  && !$t->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel "
		  . "worker'") });
}
sub begin_search { return begin_request($t,
	GET => '/api/v1/search?q=*%20%7C%20stats%20count%20by%20name&earliest=-8d',
		token => $org->{token}); }

$t->stop_at('search_worker');
my $held = begin_search();
$t->wait_held('search_worker');
is($t->sql('SELECT busy FROM logsvc_internal.search_workers()'), 2, 'workers are counted');
my $r = end_request(begin_search());
is($r->{status}, 200, 'a search that finds none free goes on alone');
# One that has just been started has no leader yet.
kill 'INT', $t->sql("SELECT max(leader_pid) FROM pg_stat_activity WHERE backend_type = "
	. "'parallel worker'");
$r = end_request($held);
is("$r->{status} $r->{json}{code}", '408 QUERY_TIMEOUT',
	'a search that waits for workers can be cancelled');
ok(idle(), 'its workers end');

$held = begin_search();
$t->wait_held('search_worker');
close $held->{socket};
ok(idle(), 'a client that goes away ends the workers too');

$held = begin_search();
$t->wait_held('search_worker');
$t->sql("SELECT pg_terminate_backend(stop_point.held('search_worker'))");
$r = end_request($held);
cmp_ok($r->{status}, '>=', 500, 'a worker that is terminated is an error, not another answer');
ok(idle(), 'the other one ends');
$held = begin_search();
$t->wait_held('search_worker');
$t->sql("SELECT pg_terminate_backend(max(leader_pid)) FROM pg_stat_activity WHERE backend_type = "
	. "'parallel worker'");
is(end_request($held)->{status}, 503, 'an executor that is terminated');
ok(idle(), 'gives its workers back');
$held = begin_search();
$t->wait_held('search_worker');
kill_process($t->sql("SELECT stop_point.held('search_worker')"));
$r = end_request($held);
like(($held->{done} ? 'closed ' : 'open ') . $r->{status}, qr/^closed (?:0|503)$/,
	'a worker that is killed ends the search');
ok(wait_until(sub { $t->sql('SELECT 1') }), 'the server recovers');
$t->let_go('search_worker');
$t->wait_ready;
$r = end_request(begin_search());
is($r->{status}, 200, 'and the next search has workers again');
is_deeply($r->{json}{data}{rows}, [ [ 'acme', 3000 ] ], 'with all events');
ok(idle(), 'which are given back');

# ---- statements that were prepared ----

$session = $t->node->background_psql('postgres');
$session->query_safe("SELECT logsvc.act_as('acme')");
my $old = sub { $session->query_safe(q{SELECT logsvc.search('name=acme', earliest => '-25d', }
	. q{latest => '-15d') #> '{data,rows,0,event}'}) };
my $old_count = sub { $session->query_safe(q{SELECT logsvc.search('* | stats count', earliest => }
	. q{'-25d', latest => '-15d') #>> '{data,rows}'}) };
is($old->(), '', "$_: nothing yet") foreach 1 .. 3;
is($old_count->(), '[[0]]', "$_: no events") foreach 1 .. 3;
my $day = $t->sql("SELECT (now() AT TIME ZONE 'UTC')::date - 20");
(my $partition = "part_$day") =~ s/-//g;
$t->sql("CREATE TABLE logsvc_internal.$partition (LIKE logsvc_internal.part_other INCLUDING ALL);
	ALTER TABLE logsvc_internal.$partition ENABLE ROW LEVEL SECURITY;
	ALTER TABLE logsvc_internal.part ATTACH PARTITION logsvc_internal.$partition FOR VALUES FROM ('$day') TO (date '$day' + 1);
	SELECT logsvc.act_as('acme');
	SELECT logsvc.ingest(jsonb_build_array(jsonb_build_object('event', 'late', 'timestamp', '${day}T12:00:00Z',
		'attributes', jsonb_build_object('name', 'acme'))))");
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.$partition") == 1 }),
	'an event in a new partition');
is($old->(), '"late"', 'is found by a statement that was prepared before');
is($old_count->(), '[[1]]', 'and counted');
is($session->query_safe("SELECT logsvc.act_as('globex') IS NULL"), 'f', 'another organization');
is($old_count->(), '[[0]]', 'has none, in the same session');
$t->sql("DROP TABLE logsvc_internal.$partition");
$session->query_safe("SELECT logsvc.act_as('acme')");
is($old_count->(), '[[0]]', 'a partition is dropped');
$session->quit;

# An overview of large objects ends when its time is over, also in the middle of one part.
$t->sql(q{SELECT logsvc.act_as('globex'); SELECT logsvc.ingest(jsonb_agg(jsonb_build_object('event', 'large', 'attributes', jsonb_build_object('o',
	(SELECT jsonb_object_agg('k' || a, a) FROM generate_series(1, 2300) a))))) FROM generate_series(1, 560) e});
ok(wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }), 'large objects');
my $overview = sub {
	my ($timeout) = @_;
	my $begin = time;
	my (undef, $state) = $t->sql_error("SELECT logsvc.act_as('globex') \\gset _\nSET "
		. "statement_timeout = $timeout;"
		. q{SELECT logsvc.search('large', earliest => '-1h', "limit" => 1, include => }
			. q{'{fields}') IS NULL});
	return ($state, time - $begin);
};
my ($state, $all) = $overview->(0);
is($state, '', sprintf 'their members are counted in %.1f s', $all);
# The best of some tries: what the machine does beside it is not of interest.
my $some = $all;
for (1 .. 5)
{
	($state, my $took) = $overview->(40);
	$some = $took if $took < $some;
}
is($state, '57014', 'with a limit of time they are not');
cmp_ok($some, '<', 0.6 * $all, sprintf 'and it ends soon: after %.1f s', $some);
$t->stop;
done_testing;
