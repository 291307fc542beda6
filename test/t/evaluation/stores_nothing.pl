# stores_nothing.pl: nothing of an evaluation is kept, logged or shown: rows,
# criteria, items, queries, replies of a model; of HTTP callers at all, of SQL
# callers what the documents promise.
use strict;
use warnings;
use utf8;

use LogsvcAsync;
use LogsvcDouble;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new(conf => join "\n",
	"shared_preload_libraries = 'pg_stat_statements, logsvc'",
	'pg_stat_statements.track = all', 'track_activity_query_size = 65536',
		"logsvc.model_region = 'eu'",
	"log_statement = 'all'", 'log_min_duration_statement = 0', 'log_duration = on',
		"log_min_messages = 'debug1'",
	"log_min_error_statement = 'debug5'", "log_error_verbosity = 'verbose'",
		'log_parameter_max_length = -1',
	'log_parameter_max_length_on_error = -1', 'autovacuum = off',
		"log_line_prefix = '%m [%p] %b '");
my $path = '/api/v1/evaluations/run-adhoc';
my ($true, $false) = (JSON::PP::true, JSON::PP::false);
$t->sql('CREATE EXTENSION pg_stat_statements');
my $org = $t->organization('acme');
my $poor = $t->organization('poor', plan => 'free');
$t->sql("SELECT logsvc.adjust_ai_credits('poor', -1000000, 'test');
	UPDATE logsvc_internal.rate_limit SET per_minute = 1000000 WHERE class = 'evaluation'");

# What must appear nowhere, in whatever spelling it would.
my $secret = 'quokka7731';
my $marks = qr/quokka|71756f6b6b61/i;

sub run { my ($json, %opt) = @_; return $t->http(POST => $path, token => $org->{token},
	json => $json, %opt); }
sub raw { my ($body) = @_; return $t->http(POST => $path, token => $org->{token}, body => $body); }

# Every table, materialized view and sequence of the database, core ones too, with a hash of its
# content.
sub contents
{
	return map { my ($name, $hash) = split /\|/; $name => $hash } split /\n/, $t->sql(q{
		SELECT c.oid::regclass, md5(query_to_xml(format('SELECT * FROM %s', c.oid::regclass), true, true, '')::text)
		FROM pg_class c WHERE c.relkind IN ('r', 'm', 'S') AND c.relpersistence <> 't' ORDER BY 1});
}

# All views of statistics and of settings, as text.
sub views
{
	return $t->sql(q{
		SELECT string_agg(query_to_xml(format('SELECT * FROM %s', c.oid::regclass), true, true, '')::text, '')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind = 'v' AND c.relname ~ '^pg_(stat|settings|locks|prepared|file_settings|cursors)'
		  AND c.relname !~ '^pg_stats'});
}

sub tables_text
{
	return $t->sql(q{
		SELECT string_agg(query_to_xml(format('SELECT * FROM %s', c.oid::regclass), true, true, '')::text, '')
		FROM pg_class c WHERE c.relkind IN ('r', 'm')});
}

# An event for the searches: its text may be in the store, nothing else of them anywhere.
is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
	json => { event => 'a wombat slept', source => 'zoo' })->{status}, 202, 'an event');
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }),
	'is written');
$t->http(GET => '/api/v1/search', token => $org->{token}, query => { q => 'source=zoo' });

my %rows = (rows => [ "the $secret row", { key => $secret, "$secret-key" => 1 } ],
	log => "the $secret log",
	criteria => "the $secret criteria", expectedItems => [ { id => "$secret-id",
		description => "the $secret item" } ]);
my %query = (query => "wombat OR \"$secret\"", criteria => "the $secret criteria",
	expectedItems => $rows{expectedItems});

my $answer;    # of the double, what it says as a model
my $double = LogsvcDouble->new(answer => sub {
	my ($request, $mode) = @_;
	return { status => 500, body => "{\"error\":\"$secret\"}" } if $mode eq 'error';
	return { status => 200, body => "not JSON: $secret" } if $mode eq 'garbage';
	return { close => 1 } if $mode eq 'close';
	return { hang => 1 } if $mode eq 'hang';
	my $quote = $mode eq 'invented' ? "an invented $secret" : "$secret row";
	my $verdict = json_encode({ verdict => [ { id => "$secret-id", status => $mode eq 'invalid'
		? $secret : 'passed',
		explanation => "a $secret", quotes => [$quote] } ], summary => "all $secret" });
	return { status => 200, headers => { 'Content-Type' => 'application/json' },
		body => json_encode({ id => 'x', object => 'chat.completion', model => 'm',
		choices => [ { index => 0, finish_reason => 'stop',
			message => { role => 'assistant', content => $verdict } } ],
		usage => { prompt_tokens => 100, completion_tokens => 10, total_tokens => 110 } }) };
});

# ---- over HTTP: runs and errors of every kind ----

my $position = $t->log_position;
$t->sql('SELECT pg_stat_statements_reset()');
$t->wait_partitions;
my %before = contents();
my %seen;
sub note_status { my ($r) = @_; $seen{ $r->{status} }++; return $r; }

note_status(run($_)) foreach \%rows, \%query, { %rows, citations => $true },
	{ %query, citations => $true },
  { %rows, preview => $true }, { %query, preview => $true }, { %rows, logCompression => $false },
  { %rows, mode => $secret }, { %rows, $secret => 1 }, { %rows, model => $secret },
  { rows => [ $secret, 1 ] },
  { criteria => $secret }, { %rows, query => $secret }, { %query, query => "($secret" },
  { %query, query => "$secret | stats count by $secret" }, { %query, query => "index=$secret x" },
  { %query, query => "$secret=1 | where $secret > 2" };
note_status(raw($_)) foreach "{\"rows\":[\"$secret \xff\"]}", "{\"rows\":[\"$secret\"",
	"$secret", '';
note_status(run(\%rows, token => "pat_$secret"));
note_status(run(\%rows, token => $poor->{token}));
note_status(run({ rows => ["$secret " x 1_400_000] }));
$t->set('logsvc.model_region', '');
note_status(run(\%rows));
$t->set('logsvc.model_region', 'eu');

# A model in another process, its replies and its failures.
$t->set('logsvc.model_endpoint', $double->url . '/v1');
$t->set('logsvc.model_endpoint_region', 'eu-central-1');
$t->set('logsvc.model_provider', 'openai');
my $r = note_status(run({ %rows, citations => $true }));
is("$r->{status} " . ($r->{json}{data}{verdict}[0]{explanation} // $r->{content}), "200 a $secret",
	'a model answers');
foreach my $mode (qw(invalid garbage error close))
{
	$double->mode($mode);
	note_status(run(\%rows));
}
$double->mode('invented');
is(note_status(run({ %rows, citations => $true }))->{status}, 502, 'what it invents is no verdict');
$double->mode('hang');
$double->forget;
my $gone = begin_request($t, POST => $path, token => $org->{token}, json => \%rows);
ok(wait_until(sub { $double->open > 0 }), 'a call is in flight');
unlike($t->sql("SELECT string_agg(coalesce(query, ''), ' ') FROM pg_stat_activity WHERE pid <> "
	. "pg_backend_pid()"), $marks, 'pg_stat_activity meanwhile');
close $gone->{socket};
ok(wait_until(sub { $double->gone == 1 }), 'a client that hangs up ends it');
$t->set('logsvc.model_provider', 'builtin');
$double->mode('');

# Held in the midst of its way through the processes, and their ends.
foreach my $case ([ evaluate_request => \%rows ], [ execute_request => \%query ])
{
	my ($point, $json) = @$case;
	$t->stop_at($point);
	my $held = begin_request($t, POST => $path, token => $org->{token}, json => $json);
	my $pid = $t->wait_held($point);
	unlike($t->sql('SELECT string_agg(x::text, chr(10)) FROM pg_stat_activity x WHERE pid <> '
		. 'pg_backend_pid()'), $marks, "pg_stat_activity at $point");
	kill 'TERM', $pid;
	is(note_status(end_request($held))->{status}, 503, "a worker ended at $point");
	$t->let_go($point);
	$t->wait_ready;
}
# An error inside: the ledger refuses.
$t->sql('ALTER TABLE logsvc_internal.ai_credit_entry ADD CONSTRAINT closed CHECK '
	. '(false) NOT VALID');
$r = note_status(run(\%rows));
is("$r->{status} $r->{json}{code}", '500 INTERNAL_ERROR', 'an error inside');
unlike($r->{content}, qr/closed|quokka/, 'tells the client nothing of it');
$t->sql('ALTER TABLE logsvc_internal.ai_credit_entry DROP CONSTRAINT closed');

is(join(' ', sort keys %seen), '200 400 401 404 413 429 500 502 503',
	'runs and errors of every kind');

# ---- what is left of them ----

my %after = contents();
my %may = map { $_ => 1 } map { "logsvc_internal.$_" }
	qw(ai_credit_entry ai_credit_entry_id_seq ai_credit_month ai_credit_use
  ai_credit_reservation_id_seq access_token member scheduled_task);
# Events that were sent before are counted some time later.
$may{"logsvc_internal.$_"} = 1 foreach qw(ingest_tally ingest_day);
# Once a minute an owner whose credits are used up is told so.
$may{"logsvc_internal.$_"} = 1 foreach qw(quota_notice outbox);
# Each minute the status of the service is noted, and in the first one where it is.
$may{"logsvc_internal.$_"} = 1 foreach qw(status_minute status_day origin);
# The helpers of this test, and what its ALTER TABLE and stop points changed.
$may{$_} = 1 foreach
	qw(pg_class pg_attribute pg_proc pg_namespace pg_depend pg_constraint pg_type pg_shdepend
	pg_init_privs
  pg_statistic pg_description);
is(join(' ', grep { ($before{$_} // '') ne ($after{$_} // '') && !$may{$_} } sort keys
	%{ { %before, %after } }), '',
	'no table has changed but those of credits');
cmp_ok(scalar(keys %before), '>', 80, 'core tables are among those compared');
my ($columns, $values) = split /\n/,
	$t->sql("SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute
	WHERE attrelid = 'logsvc_internal.ai_credit_entry'::regclass AND attnum > 0;
	SELECT string_agg(DISTINCT concat_ws(' ', kind, model, reason), ', ' ORDER BY concat_ws(' ', kind, model, reason)) FROM logsvc_internal.ai_credit_entry");
is($columns, 'id organization_id at kind micro_credits model tokens_in tokens_out reason',
	'the ledger has amounts');
is($values, 'adjustment test, run builtin-lexical, run model-haiku-4-5', 'and the names of models');
is($t->sql('SELECT count(*) FROM logsvc_internal.ai_credit_reservation'), 0,
	'no reservation is left');
unlike(tables_text(), $marks, 'no table holds a word');
unlike(views(), $marks, 'no view of statistics or settings shows one');
cmp_ok(length views(), '>', 100_000, 'all of them were read');
unlike($t->log_text($position), $marks, 'nothing of it in the server log');
like($t->log_text($position), qr/LOG:  XX000|LOG:  \w+: logsvc could not account for an evaluation/,
	'which says that there was an error');
like($t->log_text($position), qr/DEBUG/, 'and is verbose');
$t->sql('CHECKPOINT');
my $data = $t->node->data_dir;
is(`grep -rlia quokka $data --exclude=postmaster.pid 2>/dev/null`, '',
	'no file of the server holds a word, WAL and all');

# ---- from SQL ----

# Rows that are passed as parameters are in no log; a failed assertion shows its findings to the
# client only.
$t->set('log_parameter_max_length', 0);
$t->set('log_parameter_max_length_on_error', 0);
my $script = $t->node->basedir . '/parameters.sql';
append_to_file($script, "SELECT logsvc.use_token(:token);\nSELECT count(*) FROM "
	. "logsvc.evaluate(ARRAY[:r, 'x'], :r);\nSELECT logsvc.assert_verdict(ARRAY[:r], :r);\n");
$position = $t->log_position;
my ($out, $err) = run_command([ 'pgbench', '-n', '-M', 'extended', '-t', 1, '-D', "r=$secret row",
	'-D', "token=$org->{token}", '-f', $script,
	'-h', $t->node->host, '-p', $t->node->port, 'postgres' ]);
like($err, qr/1 of 1 findings are not passed/, 'a gate that is closed');
like($t->log_text($position), qr/ARRAY\[\$1, 'x'\]/, 'statements with parameters are logged');
unlike($t->log_text($position), $marks, 'their values are not');

# Without log_statement, literals in a call that fails are not logged either (by messages
# for debugging the server logs them, and from 17 on it has one for calls like these).
$t->set('log_min_error_statement', 'error');
$t->set('log_statement', 'none');
$t->set('log_min_duration_statement', '-1');
$t->set('log_duration', 'off');
$position = $t->log_position;
foreach my $call ("logsvc.assert_verdict(ARRAY['$secret row'], '$secret')",
	"logsvc.run_adhoc('{\"rows\": [\"$secret\"]}')",
	"logsvc.run_adhoc(rows => ARRAY['$secret'], criteria => '$secret', mode => '$secret')")
{
	my (undef, $state) = $t->sql_error("SET client_min_messages = error; SELECT "
		. "logsvc.act_as('acme'); SELECT $call");
	like($state, qr/^LS(804|001)$/, "SQL: $state");
}
like($t->log_text($position), qr/ERROR:  LS804: 1 of 1 findings are not passed/,
	'the error is logged');
unlike($t->log_text($position), $marks, 'the statement and the findings are not');

$t->stop;
done_testing;
