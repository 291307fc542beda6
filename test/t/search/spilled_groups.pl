# spilled_groups.pl: groups that memory does not hold go to temporary files. The answers are those
# of a search with memory, with parallel workers too; the limit of the files acts, none is left.
#
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use POSIX ();
use Test::More;

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '10ms'",
	'logsvc.compactors = 0', 'logsvc.search_workers = 0', 'log_temp_files = 0', "work_mem = '64MB'");
my $org = $t->organization('acme');

# Six days; each request has one to three events, and some fields are missing or no numbers.
my $n = 40000;
foreach my $i (0 .. 3)
{
	$t->sql("SELECT logsvc.act_as('acme'); SELECT logsvc.ingest(jsonb_agg(jsonb_build_object(
	'event', format('request %s took %s ms', n, n % 977), 'level', (ARRAY['info', 'warn', 'error'])[n % 3 + 1],
	'source', 's' || n % 5, 'timestamp', now() - (n % 143) * interval '1 hour',
	'attributes', jsonb_build_object('n', n, 'request', md5((n % 23003)::text), 'ms', n % 977 + 0.25)
		|| CASE WHEN n % 7 = 0 THEN '{}' ELSE jsonb_build_object('user', 'u' || n % 10007) END
		|| jsonb_build_object('v', (ARRAY['1', '2.5', '\"x\"', '12345678901234567890', 'null'])[n % 5 + 1]::jsonb))))
	FROM generate_series($i * 10000 + 1, $i * 10000 + 10000) n GROUP BY n / 5000");
	wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }) or die 'the store is slow';
}
is($t->sql("SELECT logsvc.act_as('acme') IS NULL AS nobody \\gset\nSELECT logsvc.search('* | stats count', earliest => '-8d') "
	. "#>> '{data,rows}'"), "[[$n]]", 'events are stored');

my @queries = (
	'* | stats count by request | where count > 2 | sort request | head 500',
	'* | stats count, sum(ms) as total, avg(ms), min(n), max(v), dc(user), count(user) by request'
		. ' | sort -total, request | head 1000',
	'* | stats p50(ms), p95(n), first(event), last(n), min(event) by request | sort request | head 1000',
	'* | stats values(user), count by request | where count > 1 | sort request | head 300',
	'* | stats dc(request) as requests, sum(v), avg(v), count by user, source | sort -requests, user, source | head 2000',
	'* | stats count by event, n, source | sort -n | head 500',
	'* | stats sum(ms) as total by request | stats count, sum(total), max(total), min(total)',
	'* | eval k = concat(request, "/", level) | stats count, dc(k), p90(ms) by k | sort -count, k | head 700',
	'* | stats count by request, user | head 500', '* | top 700 request', '* | top 20 request by source',
	'* | rare 300 request', '* | rare user', '* | dedup request | stats count, dc(request)',
	'* | dedup request, user | sort -n | head 500 | fields n, request',
	'* | sort n | head 300 | fields n, user', '* | stats avg(ms) as mean by request | sort -mean | head 100',
	'* | timechart span=6h count, dc(request) by user', '* | timechart span=1h count by request',
	'* | timechart span=12h limit=3 avg(ms), p50(ms), dc(user) by request',
	'* | bin span=1h timestamp | stats count as c by timestamp, request | stats count, sum(c)',
	'* | eventstats count as c by request | where c > 2 | stats count, dc(request)');

# The range is the same for all answers, also when an hour or a day ends meanwhile.
my ($first, $last) = map { POSIX::strftime('%Y-%m-%dT%H:00:00Z', gmtime(time + $_ * 3600)) } -9 * 24, 2;

# Rows, columns, statistics and warnings.
sub answers
{
	my ($settings) = @_;
	return map { [ $t->sql_error("$settings; SELECT logsvc.act_as('acme') IS NULL AS nobody \\gset\n"
			. "SELECT (r #- '{meta,stats,tookMs}' #- '{meta,stats,bytesScanned}' #- '{meta,range}')::text"
			. " FROM logsvc.search(\$q\$$_\$q\$, earliest => '$first', latest => '$last', \"limit\" => 10000) r") ] } @queries;
}

sub left
{
	return $t->sql("SELECT count(*) FROM pg_ls_tmpdir()");
}

my @whole = answers("SET logsvc.search_memory = '1GB'");
is($whole[$_][1] // '', '', "answered: $queries[$_]") foreach 0 .. $#queries;
# With memory of a search, or of its groups alone; with parallel workers, which spill too.
my $started = $t->sql('SELECT started FROM logsvc_internal.search_workers()');
foreach my $settings (
	"SET logsvc.search_memory = '3MB'",
	"SET logsvc.search_memory = '1GB'; SET logsvc.debug_groups = '60kB'",
	"SET logsvc.search_memory = '1GB'; SET logsvc.debug_groups = '100kB'; SET logsvc.search_workers = 2;"
		. ' SET logsvc.search_workers_after = 0')
{
	my $position = $t->log_position;
	my @spilled = answers($settings);

	is_deeply($spilled[$_], $whole[$_], "$settings: $queries[$_]") foreach 0 .. $#queries;
	like($t->log_text($position), qr/temporary file: path.*\n.*STATEMENT:.*\Q$_\E/, "spilled: $_")
		foreach '* | stats count by request | where', '* | top 700 request', '* | stats p50(ms)';
}
cmp_ok($t->sql('SELECT started FROM logsvc_internal.search_workers()') - $started, '>=', 10,
	'there were workers');

# The memory of a search, without any other limit.
my $count = '* | stats count by request | where count > 1 | stats count, sum(count)';
sub search
{
	my ($settings, $q) = @_;
	return join ' ', grep { $_ ne '' } $t->sql_error("$settings; SELECT logsvc.act_as('acme') IS NULL AS nobody \\gset\n"
		. "SELECT logsvc.search('$q', earliest => '-8d') #>> '{data,rows}'");
}
is(search("SET logsvc.search_memory = '3MB'", $count), search('SET logsvc.search_workers = 0', $count),
	'more groups than memory');

# ---- the limit of the files ----

like(search("SET logsvc.search_memory = '3MB'; SET logsvc.search_temp_limit = '300kB'", $count),
	qr/^LQ102 the query needs more than 300 kB of temporary files, the limit logsvc\.search_temp_limit/,
	'a limit of temporary files');
is(left(), 0, 'which are removed');
like(search("SET logsvc.search_memory = '3MB'; SET temp_file_limit = '200kB'", $count),
	qr/^LQ102 the query needs more than 200 kB of temporary files, the limit temp_file_limit/,
	'that of the server');
like(search("SET logsvc.search_memory = '3MB'; SET logsvc.search_temp_limit = -1; SET temp_file_limit = -1", $count),
	qr/^\[\[/, 'without a limit');
is($t->sql('SELECT current_setting(\'temp_file_limit\')'), '-1', 'only searches have one');
$t->set('logsvc.search_memory', '3MB');
$t->set('logsvc.search_temp_limit', '320kB');
ok(wait_until(sub { $t->sql('SHOW logsvc.search_temp_limit') eq '320kB' }), 'for all searches');
my $get = sub { return $t->http(GET => '/api/v1/search?earliest=-8d&q=*%20%7C%20stats%20count%20by%20request%20'
	. '%7C%20where%20count%20%3E%201%20%7C%20stats%20count', token => $org->{token}); };
my $r;
ok(wait_until(sub { ($r = $get->())->{status} == 422 }), 'HTTP answers 422');
is($r->{json}{code}, 'QUERY_MEMORY_LIMIT', 'as for memory');
like($r->{json}{error}, qr/320 kB of temporary files, the limit logsvc\.search_temp_limit/, 'and says the setting');
$t->set('logsvc.search_temp_limit', '1GB');
ok(wait_until(sub { ($r = $get->())->{status} == 200 }), 'or has an answer');
is(left(), 0, 'no files are left');

# ---- a search that ends in the middle ----

my $session = $t->node->background_psql('postgres', on_error_stop => 0);
$session->query_safe("SET logsvc.debug_groups = 0; SELECT logsvc.act_as('acme') IS NULL");
$session->query("SET statement_timeout = 30; SELECT logsvc.search('$queries[1]', earliest => '-8d')");
like($session->{stderr}, qr/statement timeout/, 'a timeout');
is(left(), 0, 'leaves no files');
$session->{stderr} = '';
like($session->query_safe("SET statement_timeout = 0; RESET logsvc.debug_groups; SELECT logsvc.search('$count', earliest => '-8d') #>> '{data,rows}'"),
	qr/^\[\[/, 'the session goes on');
$session->quit;

# Bytes that no group_parts made.
like(join(' ', $t->sql_error("SELECT * FROM logsvc_internal.group_rows('\\xffffffff0102030405060708')")),
	qr/the bytes are not groups/, 'an invented name of files');
unlike($t->log_text, qr/temporary file leak|TRAP/, 'all files are closed');
$t->stop;
done_testing();
