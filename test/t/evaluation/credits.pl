# credits.pl: AI credits under concurrency, the scheduler, and a dump of
# what an operator has set.
use strict;
use warnings;

use IPC::Run ();
use LogsvcAsync;
use LogsvcDouble;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $t = LogsvcTest->new(conf =>
	"logsvc.model_region = 'eu'\nmax_connections = 260\nmax_locks_per_transaction = 128");
my $org = $t->organization('acme', plan => 'free');
my $id = $t->sql("SELECT id FROM logsvc_internal.organization WHERE slug = 'acme'");

sub balance
{
	return $t->sql("SELECT used, reserved, remaining FROM logsvc_internal.credit_balance('$id')");
}

# ---- 200 calls of one organization at once ----

# 95 credits are left, each call takes 10: the tenth starts on the last fraction,
# and no other one (decision 35).  Half of the callers are as an evaluator is, in
# transactions of their own; half as SQL callers are, in one.
$t->sql("SELECT logsvc.adjust_ai_credits('acme', -5, 'test')");
my $begin = "SELECT credits_left::int AS ok, coalesce(reservation, 0) AS r FROM "
	. "logsvc_internal.begin_evaluation('$id', 'model-haiku-4-5', 'eu', 100000, 0, false, '2 minutes', 'anthropic') \\gset\n";
my $settle = "\\if :ok\n\\sleep 30 ms\nSELECT "
	. "logsvc_internal.settle_evaluation('$id', :r, 10000000, 'm', 100000, 0) AS d "
		. "\\gset\n\\endif\n";
my $dir = $t->node->basedir;
append_to_file("$dir/http.sql", $begin . $settle);
append_to_file("$dir/sql.sql", "BEGIN;\n$begin${settle}COMMIT;\n");
command_ok([ 'pgbench', '-n', '-c', 200, '-j', 4, '-t', 1, '-f', "$dir/http.sql", '-f',
	"$dir/sql.sql",
		'-h', $t->node->host, '-p', $t->node->port, 'postgres' ], '200 calls at once');
is($t->sql("SELECT count(*) FROM logsvc_internal.ai_credit_entry WHERE kind = 'run'"), 10,
	'ten of them may start');
is(balance(), '100000000|0|0', 'the bundle is used up, and nothing is reserved');

# The same with a model in another process: 150 calls over HTTP, 50 from SQL.
my $double = LogsvcDouble->new(answer => sub {
	my ($request, $mode) = @_;
	return { status => 200, delay => $mode eq 'slow' ? 5 : 0.05,
		headers => { 'Content-Type' => 'application/json' }, body => json_encode({ model => 'm',
		choices => [ { finish_reason => 'stop', message => { role => 'assistant',
			content => '{"verdict":[{"explanation":"e","status":"passed"}],"summary":null}' } } ],
		usage => { prompt_tokens => 900, completion_tokens => 100 } }) };
});
$t->set('logsvc.model_endpoint', $double->url . '/v1');
$t->set('logsvc.model_endpoint_region', 'eu-central-1');
$t->set('logsvc.model_provider', 'openai');
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1000000 WHERE class = 'evaluation'");
my $busy = $t->organization('busy', plan => 'free');
# 900 tokens in and 100 out at 15 and 75 USD a million: 2.1 credits a call.  20 credits are left.
$t->sql("SELECT logsvc.adjust_ai_credits('busy', -80, 'test')");
my %request = (rows => ['x'], criteria => 'y', model => 'model-opus-4-7');
append_to_file("$dir/run.sql", "SELECT logsvc.use_token('$busy->{token}');\nSELECT "
	. "logsvc.run_adhoc(rows => ARRAY['x'], criteria => 'y', model => 'model-opus-4-7');\n");
my $output = '';
my @calls = map { begin_request($t, POST => '/api/v1/evaluations/run-adhoc',
	token => $busy->{token}, json => \%request) } 1 .. 150;
my $callers = IPC::Run::start([ 'pgbench', '-n', '-c', 50, '-j', 2, '-t', 1, '-f', "$dir/run.sql",
	'-h', $t->node->host, '-p', $t->node->port, 'postgres' ], '<', \undef, '>&', \$output);
my %answers;
$answers{ end_request($_)->{status} }++ foreach @calls;
$callers->finish;
is(join(' ', sort keys %answers), $answers{200} ? '200 429' : '429',
	'each call over HTTP is answered, or refused with 429');
my @others = grep { !/AI credits of this month are used up/ } $output
	=~ /^pgbench: error: client \d+ .*ERROR: +(.*)$/mg;
is("@others", '', 'so are those from SQL');
my $made = @{ $double->requests };
my ($used, $reserved, $left) = split /\|/,
	$t->sql("SELECT used, reserved, remaining FROM logsvc_internal.credit_balance(
	(SELECT id FROM logsvc_internal.organization WHERE slug = 'busy'))");
cmp_ok($made, '>=', 1, "$made calls were made");
cmp_ok($made * 2.1, '<=', 20 + 2.1, 'they cost at most one call more than was left');
is("$reserved " . ($used + $left), '0 100000000',
	'nothing is reserved, and no more is used than there was');
is($t->sql("SELECT sum(micro_credits) FROM logsvc_internal.ai_credit_entry e JOIN logsvc_internal.organization o ON o.id = e.organization_id
	WHERE slug = 'busy'"), $used, 'the ledger agrees');

# ---- what a session has spent is spent, whatever becomes of its transaction ----

my $rich = $t->organization('rich', plan => 'pro');
sub spent { return
	$t->sql("SELECT count(*) || ' ' || coalesce(sum(micro_credits), 0) FROM logsvc_internal.ai_credit_entry e
	JOIN logsvc_internal.organization o ON o.id = e.organization_id WHERE slug = 'rich'"); }
sub reserved { return $t->sql("SELECT count(*) FROM logsvc_internal.ai_credit_reservation"); }
my $act = "SET client_min_messages = error; SELECT logsvc.act_as('rich')";
my $call = "logsvc.run_adhoc(rows => ARRAY['x'], criteria => 'y', model => 'model-opus-4-7')";
$t->sql("$act; SELECT $call");
is(spent(), '1 2100000', 'a call in SQL is debited');
$t->sql("$act; BEGIN; SELECT $call; ROLLBACK");
is(spent(), '2 4200000', 'one that is rolled back too');
my (undef, $state) = $t->sql_error("$act; SELECT "
	. "logsvc.assert_verdict(ARRAY['x'], 'y', allow => '{failed}', model => 'model-opus-4-7')");
is("$state " . spent(), 'LS804 3 6300000', 'and one whose assertion fails');
$t->sql("$act; BEGIN; SELECT logsvc.create_organization('Fresh', 'pro'); SELECT "
	. "logsvc.act_as('fresh'); SELECT $call; COMMIT");
is($t->sql("SELECT count(*) FROM logsvc_internal.ai_credit_entry e JOIN "
	. "logsvc_internal.organization o ON o.id = e.organization_id WHERE slug = 'fresh'"),
	1, 'an organization made in the same transaction');

# A transaction that stays open after a call keeps no other one waiting.
my $open = $t->node->background_psql('postgres');
$open->query_safe("$act; BEGIN; SELECT $call");
my $answer = $t->http(POST => '/api/v1/evaluations/run-adhoc', token => $rich->{token},
	json => \%request, timeout => 10);
is("$answer->{status} " . spent(), '200 5 10500000', 'while one is open, others are answered');
$t->sql("$act; SELECT $call");
is(spent(), '6 12600000', 'in SQL as well');
$open->quit;

# A session that ends in the midst of a call gives back what it had reserved.
$double->mode('slow');
(undef, $state) = $t->sql_error("$act; SET statement_timeout = '500ms'; SELECT $call");
is($state, '57014', 'a call that is cancelled');
ok(wait_until(sub { reserved() == 0 }), 'gives its reservation back');
is(spent(), '6 12600000', 'and costs nothing');
$double->mode('');

# A server that takes no changes: no call begins, and one that runs cannot be debited.
my $writing = 'SET default_transaction_read_only = off; ';
$t->organization('still', plan => 'pro');
$t->set('default_transaction_read_only', 'on');
(undef, $state) = $t->sql_error("$writing $act; SELECT $call");
is("$state " . spent(), 'LS706 6 12600000', 'on a server that takes no changes no call begins');
$t->sql("$writing ALTER SYSTEM RESET default_transaction_read_only");
$t->reload;
ok(wait_until(sub { $t->sql('SHOW default_transaction_read_only') eq 'off' }), '... until it takes them');
$double->mode('slow');
my $running = IPC::Run::start([ 'psql', '-X', '-q', '-v', 'VERBOSITY=sqlstate', '-c',
	$act =~ s/rich/still/r, '-c', "SELECT $call", '-h', $t->node->host, '-p', $t->node->port,
	'postgres' ], '<', \undef, '>&', \my $refused);
ok(wait_until(sub { reserved() == 1 }), 'a call runs');
$t->set('default_transaction_read_only', 'on');
$running->finish;
like($refused, qr/ERROR:  LS706/, '... and fails when the server takes no changes meanwhile');
$t->sql("$writing ALTER SYSTEM RESET default_transaction_read_only");
$t->reload;
ok(wait_until(sub { $t->sql('SHOW default_transaction_read_only') eq 'off' }), '... as it does again');
$t->sql('DELETE FROM logsvc_internal.ai_credit_reservation');
$double->mode('');

# Credits that somebody holds: the call waits.
$open = $t->node->background_psql('postgres');
$open->query_safe("BEGIN; SELECT logsvc.adjust_ai_credits('rich', 1, 'test')");
my $waiting = begin_request($t, POST => '/api/v1/evaluations/run-adhoc', token => $rich->{token},
	json => \%request);
my $sql = IPC::Run::start([ 'psql', '-X', '-q', '-c', $act, '-c', "SELECT $call", '-h',
	$t->node->host, '-p', $t->node->port, 'postgres' ], '<', \undef, '>&', \my $out);
ok(!answered($waiting, 0.5), 'while credits are locked, calls wait');
$open->query_safe('COMMIT');
$open->quit;
is(end_request($waiting)->{status}, 200, 'then go on, over HTTP');
ok($sql->finish, 'and in SQL') or diag $out;
is(spent(), '9 15800000', 'and are debited');

# Of each organization one asks again, so those who wait keep nobody else waiting.
my @held = ($rich, $t->organization('held', plan => 'pro'));
$open = $t->node->background_psql('postgres');
$open->query_safe("BEGIN; SELECT logsvc.adjust_ai_credits('rich', 9000, 'test'), "
	. "logsvc.adjust_ai_credits('held', 9000, 'test')");
my @waiting = map { begin_request($t, POST => '/api/v1/evaluations/run-adhoc',
	token => $held[ $_ % 2 ]{token}, json => \%request) } 1 .. 100;
sleep 1;    # in which each asks for its credits, again and again
my $began = time;
is($t->http(POST => '/api/v1/evaluations/run-adhoc', token => $org->{token},
	json => { %request, preview => JSON::PP::true })->{status}, 200,
	'a preview of another organization') foreach 1 .. 10;
cmp_ok(time - $began, '<', 30, 'while 100 calls of two others wait for their credits');
$open->query_safe('COMMIT');
$open->quit;
is(join(' ', grep { $_ != 200 } map { end_request($_)->{status} } @waiting), '',
	'which are answered then');
$t->set('logsvc.model_provider', 'builtin');

# ---- the scheduler ----

is(scalar($t->workers('^logsvc scheduler$')), 1, 'one scheduler runs');
$t->sql("INSERT INTO logsvc_internal.ai_credit_reservation (organization_id, month, micro_credits, expires_at)
	VALUES ('$id', logsvc_internal.credit_month(), 1, now() - interval '1 second')");
# It looks when it starts, and at each full minute.
my ($scheduler) = $t->workers('^logsvc scheduler$');
$t->sql("UPDATE logsvc_internal.scheduled_task SET next_run_at = '-infinity'");
kill 'TERM', $scheduler;
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.ai_credit_reservation') == 0 }),
	'a reservation that nobody settles lapses');
my $position = $t->log_position;
$t->sql("INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES "
	. "('no_such_task', 'minute')");
($scheduler) = $t->workers('^logsvc scheduler$');
kill 'TERM', $scheduler;
ok(wait_until(sub { $t->log_text($position)
	=~ /LOG:  logsvc task no_such_task failed with SQLSTATE 42883/ }),
		'a task that fails is in the log');
is($t->sql("SELECT count(*) FROM logsvc_internal.scheduled_task WHERE failures > 0"), 1,
	'the others have run');
$t->sql("DELETE FROM logsvc_internal.scheduled_task WHERE name = 'no_such_task'");

# ---- prices and names in a dump ----

$t->sql("UPDATE logsvc_internal.model SET is_default = id = 'model-opus-4-7' WHERE id <> 'model-sonnet-4-6';
	UPDATE logsvc_internal.model SET input_rate = 123 WHERE id = 'model-opus-4-7';
	UPDATE logsvc_internal.model_provider SET provider_model = 'ours' WHERE model = 'model-haiku-4-5' AND provider = 'bedrock';
	INSERT INTO logsvc_internal.model VALUES ('model-own', 4, false, 1, 2)");
command_ok([ 'pg_dump', '-h', $t->node->host, '-p', $t->node->port, '-f', "$dir/dump.sql",
	'postgres' ], 'a dump');
$t->sql('CREATE DATABASE restored TEMPLATE template0');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', $t->node->host, '-p',
	$t->node->port, '-f', "$dir/dump.sql", 'restored' ], 'is restored');
foreach my $table (qw(model model_provider ai_credit_month ai_credit_entry))
{
	my $all = "SELECT string_agg(x::text, ' ' ORDER BY x::text) FROM logsvc_internal.$table x";
	is($t->sql($all, database => 'restored'), $t->sql($all), "table $table is as it was");
}

$t->stop;
done_testing;
