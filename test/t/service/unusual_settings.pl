# What a server, a database or a role has as defaults changes nothing: formats of values,
# isolation of transactions, timeouts.  The service has settings of its own, and functions of SQL do
# not depend on those of their caller, who may be hostile.  Any other test can run with such
# settings, too (make check-tap SETTINGS=test/settings/formats.conf).
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my @ordinary = map { [ split ' ', $_, 2 ] } split /\n/, slurp_file('test/settings/ordinary');
my $unusual = join '', map { slurp_file("test/settings/$_.conf") } qw(formats transactions);
my %has = map { $_ => 1 } `postgres --describe-config` =~ /^(\w+)/mg;

# The sessions of this test have ordinary settings where they ask for no others.
$ENV{PGOPTIONS} = join ' ', map { "-c $_->[0]=$_->[1]" } @ordinary,
  [ row_security => 'on' ], [ 'auto_explain.log_min_duration' => -1 ], map { [ $_ => 0 ] } grep { $has{$_} } qw(statement_timeout lock_timeout transaction_timeout);
my $t = LogsvcTest->new(streaming => 1, conf => join "\n", $unusual, 'row_security = off',
	"shared_preload_libraries = 'logsvc, auto_explain'", 'auto_explain.log_min_duration = 0',
	'auto_explain.log_verbose = on', 'auto_explain.log_nested_statements = on',
	"statement_timeout = '300ms'", "lock_timeout = '10ms'",
	$has{transaction_timeout} ? "transaction_timeout = '1s'" : (), "logsvc.flush_interval = '200ms'", "logsvc.model_region = 'eu'");
my $org = $t->organization('acme', plan => 'enterprise');

# ---- the service ----

# Many at once, which transactions that are serializable do not bear.
my @senders = map {
	my $n = $_;
	my $pid = fork // die;
	if (!$pid)
	{
		my $taken = 0;
		$taken += $t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
			json => { event => "order $n-$_ took 0.1 s", level => 'error', attributes => { ms => 0.1234567890123 } })->{status} == 202
		  foreach 1 .. 50;
		POSIX::_exit($taken == 50 ? 0 : 1);
	}
	$pid;
} 1 .. 6;
my @answers = map { $t->http(GET => '/api/v1/search', token => $org->{token},
	query => { q => 'level=error ms=0.1234567890123 | stats count by ms' }) } 1 .. 20;
waitpid($_, 0), is($?, 0, 'all of a sender are taken') foreach @senders;
is_deeply([ grep { $_->{status} != 200 } @answers ], [], 'searches meanwhile');
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }), 'they are stored');
my $r = $t->http(GET => '/api/v1/search', token => $org->{token},
	query => { q => 'level=error | stats count, max(timestamp) as last by ms' });
is_deeply([ @{ $r->{json}{data}{rows}[0] }[ 0, 1 ] ], [ 0.1234567890123, 300 ], 'and found, with all digits')
  or diag $r->{content};
like($r->{json}{data}{rows}[0][2], qr/^20\d\d-\d\d-\d\dT[\d:.]+Z$/, 'times are ISO 8601');
my $log = $t->log_text;
unlike($log, qr/could not serialize|due to (statement|lock|transaction) timeout/, 'nothing was tried again');

# Now that the database has the role of a user, and plans are parallel where they can be.
my $parallel = $t->sql(q{SELECT name FROM pg_settings WHERE name IN ('debug_parallel_query', 'force_parallel_mode')});
$t->sql("CREATE ROLE somebody; ALTER DATABASE $t->{database} SET role = 'somebody'; "
	  . "ALTER DATABASE $t->{database} SET $parallel = on; ALTER DATABASE $t->{database} SET debug_print_plan = on");
$ENV{PGOPTIONS} .= ' -c role=none';
$t->restart;

# Text that SQL functions take apart.
my $rule = $t->http(POST => '/api/v1/alert-rules', token => $org->{token}, json => { name => 'slow', query => 'level=error', schedule => { everySeconds => 10 },
	condition => { kind => 'count', op => '>', threshold => 5 }, groupBy => ['a "b" c'] })->{json}{data};
is($t->http(PATCH => "/api/v1/alert-rules/$rule->{id}", token => $org->{token}, headers => { 'If-Match' => '"1"' },
	json => { severity => 'critical' })->{status}, 200, 'a version in quotes');
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.alert") > 0 }), 'the rule fires');

unlike($t->log_text, qr/\[\d+\] LOG:  (?:duration: [\d.]+ ms  )?plan:/, 'no plan of the service is in the log, with what is searched');

# ---- a primary that takes no changes ----

$ENV{PGOPTIONS} .= ' -c default_transaction_read_only=off';
$t->sql('ALTER SYSTEM SET default_transaction_read_only = on');
$t->reload;
my $write = sub { $t->http(PATCH => "/api/v1/alert-rules/$rule->{id}", token => $org->{token}, json => { severity => 'warning' }) };
ok(wait_until(sub { $write->()->{status} >= 500 }), 'changes are refused');
my $evaluation = $t->http(POST => '/api/v1/evaluations/run-adhoc', token => $org->{token},
	json => { rows => [ { event => 'GET /health 200' } ], criteria => 'Are there no errors?' });
is_deeply([ map { "$_->{status} $_->{json}{code}" } $write->(), $evaluation ], [ ('503 SERVICE_UNAVAILABLE') x 2 ],
	'for a time, not as an error of the service') or diag $evaluation->{content};
is($t->http(GET => '/api/v1/search', token => $org->{token}, query => { q => 'level=error | stats count' })->{json}{data}{rows}[0][0],
	300, 'searches go on');
like($t->log_text, qr/\[\d+\] LOG:  logsvc [^\n]*cannot execute [A-Z ]+ in a read-only transaction/, 'the log says what could not be done');
$t->sql('ALTER SYSTEM RESET default_transaction_read_only');
$t->reload;
ok(wait_until(sub { $write->()->{status} == 200 }), 'then it takes them again');

# ---- sessions ----

# With a role's, a database's or their own settings, sessions get the same answers.
my @hostile = map { /^(\w+ = .+)/ ? "SET $1;" : () } split /\n/, $unusual;
my $who = "SELECT logsvc.use_token('$org->{token}') IS NULL;";
my @calls = (
	q{SELECT logsvc.search('level=error | stats count, avg(ms) by ms', "limit" => 5) #> '{data,rows}'},
	q{SELECT logsvc.search('nowhere=1') #> '{meta,warnings}'},
	q{SELECT template FROM logsvc.patterns(ARRAY['took 12 ms', 'took 7 ms', E'a\\\\b'])},
	q{SELECT logsvc.list_alert_rules() #> '{data,0,condition}'},
	q{SELECT logsvc.log(E'a\\\\b "c" \'d\'', 'info', 'said') IS NOT NULL},
	q{SELECT event FROM logsvc.events('source=said') LIMIT 1},
	q{SELECT logsvc.help('search')},
	q{SELECT count(*) FROM logsvc.logs WHERE "timestamp" > now() - interval '1 hour' AND level = 'error'},
	(map { qq{SELECT logsvc.create_alert_rule(jsonb_build_object('name', $_, 'query', '*', 'condition', '{"kind": "count"}'::jsonb))} }
		q{E'\\u0001'}, q{E'x\\u202ey'}, q{'plain'}),
	(map { qq{SELECT logsvc.set_ip_allowlist('["$_"]')} } '10.0.0.0/33', '1a2.0.0.1', '10.0.0.1.2', '10a0.0.1'),
	(map { qq{SELECT logsvc.invite('acme', '$_', 'viewer')} } 'axb', 'a@b..c', 'a..b@c.example', 'a@-b.example'));
foreach my $call (@calls)
{
	my ($ordinary, $changed) = map { join "\n", map { $_ // '' } $t->sql_error("$_ $who\n$call") } '', "@hostile";
	is($changed =~ s/\d+ ms//gr, $ordinary =~ s/\d+ ms//gr, $call);
}

# ---- a standby ----

# Its defaults forbid any transaction to those who do not choose another isolation.
$t->node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($t->node, 'copy', has_streaming => 1);
my $port = PostgreSQL::Test::Cluster::get_free_port();
$standby->append_conf('postgresql.conf', "logsvc.port = $port");
$standby->start;
my $copy = bless { %$t, node => $standby, http_port => $port }, ref $t;
ok(wait_until(sub { $copy->http(GET => '/readyz?role=standby')->{status} == 200 }), 'the service of a standby');
is($copy->http(GET => '/api/v1/search', token => $org->{token}, query => { q => 'level=error | stats count' })->{json}{data}{rows}[0][0],
	300, 'it finds what is there');
$standby->stop;

$t->stop;
done_testing;
