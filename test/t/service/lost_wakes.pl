# lost_wakes.pl: what comes while a transaction of a worker waits is served when the wait is over.
# Waits for locks and for standbys reset the latch, so that the wake-up is gone.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcConnection;
use LogsvcDouble;
use LogsvcModel;
use LogsvcTest;
use POSIX ();
use Test::More;

$ENV{OPENAI_API_KEY} = $LogsvcModel::key;
my $receiver = LogsvcDouble->new(answer => sub { $_[1] eq 'hold' ? { hold => 1 } : {} });
my $mails = LogsvcDouble->new(smtp => 1, answer => sub { return; });
my $model = LogsvcModel::double('openai');
my $t = LogsvcTest->new(streaming => 1, conf => join "\n", 'logsvc.executors = 1', 'logsvc.evaluators = 1', "logsvc.lock_timeout = '1min'",
	"logsvc.model_provider = 'openai'", "logsvc.model_endpoint = '" . $model->url . "/v1'", "logsvc.model_region = 'eu-central-1'",
	"logsvc.model_endpoint_region = 'eu-central-1'", "logsvc.webhook_networks = '127.0.0.0/8'", "logsvc.smtp_from = 'logs\@example.test'");
my $org = $t->organization('acme', plan => 'pro');

sub session
{
	return LogsvcConnection->new(host => $t->node->host, port => $t->node->port, database => 'postgres', user => scalar getpwuid $>)
		|| die $LogsvcConnection::error;
}

# Locks a table, until the function that it answers is called.
sub lock_table
{
	my ($table) = @_;
	my $session = session();
	$session->query('BEGIN');
	$session->query("LOCK TABLE logsvc_internal.$table IN SHARE ROW EXCLUSIVE MODE");
	return sub { return $session->query('COMMIT'); };
}

sub waits
{
	my ($kind) = @_;
	return wait_until(sub { $t->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'logsvc $kind' "
		. "AND (wait_event_type = 'Lock' OR wait_event = 'SyncRep')") });
}

# ---- an executor: the work on accounts after an answer ----

my $unlock = lock_table('outbox');
is($t->http(POST => '/api/v1/auth/forgot-password', json => { email => $org->{email} })->{status}, 202, 'a link is asked for');
ok(waits('executor'), 'the executor waits with the mail');
my $request = begin_request($t, GET => '/api/v1/members', token => $org->{token});
sleep 1;    # until the gateway has handed it over
$unlock->();
is(end_request($request, 10)->{status}, 200, 'a request that came meanwhile is answered');

# ---- the notifier: what has become of a webhook ----

my $channel = '{"kind": "webhook", "target": "' . $receiver->url . '/hook", "format": "logsvc"}';
my $rule = $t->sql("INSERT INTO logsvc_internal.resource (organization_id, kind, name, content, secrets) "
	. "SELECT id, 'alert_rule', 'rule', jsonb_build_object('notify', jsonb_build_array('$channel'::jsonb)), "
	. "jsonb_build_object('webhook " . $receiver->url . "/hook', 'whsec_abcdefghijklmnopqrstuvwxyz') "
	. "FROM logsvc_internal.organization WHERE slug = 'acme' RETURNING id");

# Holds the notifier while it writes down that a webhook was sent; answers the function that lets it
# go.
sub hold_notifier
{
	my $before = @{ $receiver->requests };
	$receiver->mode('hold');
	$t->sql("SELECT logsvc_internal.queue_delivery(r.organization_id, r.id, r.content #> '{notify,0}', "
		. q{'{"type": "alert.firing", "alert": {"id": "alr_1", "severity": "critical", "value": 3}, "rule": {"name": "rule"}}') }
		. "FROM logsvc_internal.resource r WHERE r.id = '$rule'");
	ok(wait_until(sub { @{ $receiver->requests } == $before + 1 }), 'a webhook is on its way');
	my $unlock = lock_table('delivery');
	$receiver->mode('');
	ok(waits('notifier'), 'the notifier waits with what has become of it');
	return $unlock;
}

# It would look again after a minute.
sub sent_soon
{
	my ($mails_before, $name) = @_;
	ok(wait_until(sub { @{ $mails->requests } > $mails_before }, 30), $name);
	return;
}

is(@{ $mails->requests }, 0, 'no mail is sent without a server');
$unlock = hold_notifier();
$t->set('logsvc.smtp_url', $mails->url);
sleep 2;    # so long that it has nothing else to look at soon
$unlock->();
sent_soon(0, 'a reload that came meanwhile is done: the mail is sent');

$unlock = hold_notifier();
sleep 2;
$t->sql("SELECT logsvc_internal.send_mail(id, 'user\@example.test', 'reset_password', "
	. "jsonb_build_object('link', 'https://logs.example.test/reset-password#t=x', 'expires', now() + interval '1 hour')) FROM logsvc_internal.organization WHERE slug = 'acme'");
$unlock->();
sent_soon(1, 'and so is one that was written meanwhile');

# ---- an evaluator: the credits of a session in SQL ----

my %rows = (rows => ['item one done'], criteria => 'Is each item done?');
$t->sql("INSERT INTO logsvc_internal.model_provider (model, provider, provider_model) VALUES ('model-haiku-4-5', 'openai', 'test-model')");
$model->mode('hold');
my $evaluation = fork // die $!;
if ($evaluation == 0)
{
	my $own = session();
	$own->query("SELECT logsvc.act_as('acme') IS NULL");
	POSIX::_exit($own->query("SELECT logsvc.run_adhoc('" . json_encode(\%rows) . "')")->{error} ? 1 : 0);
}
ok(wait_until(sub { $model->open == 1 }), 'a model is asked');
$t->set('synchronous_standby_names', 'nobody');
$model->mode('');
ok(waits('evaluator'), 'the evaluator waits for a standby, with what it costs');
$request = begin_request($t, POST => '/api/v1/evaluations/run-adhoc', token => $org->{token}, json => { %rows, preview => JSON::PP::true });
sleep 1;    # until the gateway has handed it over
$t->set('synchronous_standby_names', '');
is(end_request($request, 10)->{status}, 200, 'a request that came meanwhile is answered');
waitpid $evaluation, 0;
is($?, 0, 'and so is the session');

done_testing();
