# webhooks.pl: notifications to a real receiver: signature, tries with one id, what is not
# followed, not called and not waited for, crashes, and where secrets must not be.
use strict;
use warnings;

use Digest::SHA qw(hmac_sha256_hex);
use LogsvcDouble;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(time);

my $t = LogsvcTest->new(conf => 'restart_after_crash = on');
my $org = $t->organization('acme', plan => 'pro');
my $other = $t->organization('other', plan => 'pro');
my %answers = (
	ok => { body => '{"ok": true}' }, refuse => { status => 503, body => "busy\0\xff later" },
	redirect => { status => 302, headers => { Location => '/elsewhere' } },
	large => { body => 'x' x 70_000 }, hold => { hold => 1 });
my $receiver = LogsvcDouble->new(answer => sub { $answers{ $_[1] } // $answers{ok} });
my $slow = LogsvcDouble->new(answer => sub { $answers{ $_[1] } // $answers{ok} });
my $secret = 'whsec_abcdefghijklmnopqrstuvwxyz';

# ---- rules, as rows ----

my $rules = 0;
sub rule
{
	my ($target, %more) = @_;
	my $channel = JSON::PP->new->canonical->encode({ kind => 'webhook', target => $target,
		format => $more{format} // 'logsvc' });
	return $t->sql("INSERT INTO logsvc_internal.resource (organization_id, kind, name, content, secrets) "
		. "SELECT id, 'alert_rule', 'rule " . ++$rules . "', jsonb_build_object('notify', jsonb_build_array('$channel'::jsonb)), "
		. "jsonb_build_object('webhook $target', '$secret') FROM logsvc_internal.organization WHERE slug = '"
		. ($more{organization} // 'acme') . "' RETURNING id");
}

my $alerts = 0;
sub queue
{
	my ($rule, $type) = @_;
	my $alert = 'alr_' . ++$alerts;
	return $t->sql("SELECT logsvc_internal.queue_delivery(r.organization_id, r.id, r.content #> '{notify,0}', "
		. "jsonb_build_object('type', '" . ($type // 'alert.firing') . "', 'alert', jsonb_build_object('id', '$alert', "
		. "'severity', 'critical', 'value', 3), 'rule', jsonb_build_object('name', r.name))) "
		. "FROM logsvc_internal.resource r WHERE r.id = '$rule'");
}

sub row { return $t->sql_json("SELECT to_jsonb(d) FROM logsvc_internal.delivery d WHERE id = '$_[0]'"); }
sub becomes
{
	my ($id, $state, $attempts, $name) = @_;
	my $r;
	wait_until(sub { $r = row($id); $r->{state} eq $state && $r->{attempts} == $attempts });
	return is("$r->{state} $r->{attempts}", "$state $attempts", $name);
}
sub try_now
{
	$t->sql("UPDATE logsvc_internal.delivery SET next_attempt_at = now() WHERE id = '$_[0]'; "
		. 'SELECT logsvc_internal.wake_notifier()');
	return;
}
sub public_id { return $t->sql("SELECT logsvc_internal.public_id('dlv_', '$_[0]')"); }

# ---- what is not called ----

# A name that passes every check of its text, and means 127.0.0.1 when it is looked up.
my $named = 'https://localhost:' . $receiver->port . '/hook';
is($t->sql("SELECT logsvc_internal.check_webhook_url('$named')"), '',
	'a name that means this machine is a good URL');
my $refused = queue(rule($named));
my $unknown = queue(rule('https://nowhere.invalid:' . $receiver->port . '/hook'));
becomes($refused, 'waiting', 1, 'but nothing is sent to it');
becomes($unknown, 'waiting', 1, 'nor to a name that there is not');
is(row($refused)->{error}, 'unreachable: the host has no address, or a private, local or reserved one', 'the log says why');
is(row($unknown)->{error}, row($refused)->{error}, 'the same of both: it does not tell which names this network has');
my @plain_names = map { queue(rule("http://$_:" . $receiver->port)) } qw(localhost nowhere.invalid);
becomes($_, 'waiting', 1, 'http:// to a name') foreach @plain_names;
is(row($plain_names[0])->{error}, row($plain_names[1])->{error}, 'also by http://');
my $plain = queue(rule($receiver->url));
becomes($plain, 'failed', 1, 'nor by http://');
like(row($plain)->{error}, qr/^forbidden: http/, 'which is refused as such');
my $mapped = queue(rule('https://[::ffff:127.0.0.1]:' . $receiver->port));
becomes($mapped, 'failed', 1, 'nor to a mapped address');
is(row($mapped)->{error}, 'forbidden: the address is private, local or reserved', 'of an address it is said what it is');
is(@{ $receiver->requests }, 0, 'the receiver has heard nothing');
# They would be sent by the next try.
$t->sql("DELETE FROM logsvc_internal.delivery WHERE state = 'waiting'");
$t->set('logsvc.webhook_networks', '127.0.0.0/8');

# ---- what arrives ----

my $log = $t->log_position;
my $sent = queue(rule('http://localhost:' . $receiver->port . '/hook?x=1'));
becomes($sent, 'sent', 1, 'a network that is open is reached, by its name');
my ($request) = @{ $receiver->requests };
is("$request->{method} $request->{path} $request->{headers}{'content-type'}",
	'POST /hook?x=1 application/json', 'the request');
is($request->{headers}{'x-logsvc-delivery'}, public_id($sent), 'its id');
sub signed
{
	my ($r) = @_;
	my ($at, $v1) = $r->{headers}{'x-logsvc-signature'} =~ /^t=(\d+),v1=([0-9a-f]{64})$/ or return 0;
	return abs(time - $at) < 300 && $v1 eq hmac_sha256_hex("$at.$r->{body}", $secret);
}
ok(signed($request), 'its signature is right');
my $body = json_decode($request->{body});
is_deeply([ @{$body}{qw(type organizationId)}, $body->{alert}{id}, $body->{rule}{name} ],
	[ 'alert.firing', $org->{id}, "alr_$alerts", "rule $rules" ], 'the body');
like($body->{sentAt}, qr/^\d{4}-\d\d-\d\dT[\d:.]+Z$/, 'and when');
is_deeply([ @{ row($sent) }{qw(status answer error body)} ], [ 200, '{"ok": true}', undef, undef ],
	'the log has the answer');

# ---- tries ----

$receiver->forget;
$receiver->mode('refuse');
my $tried = queue(rule($receiver->url));
becomes($tried, 'waiting', 1, 'a refusal is tried again');
is_deeply([ @{ row($tried) }{qw(status answer error)} ],
	[ 503, 'busy ? later', 'the answer was 503' ], 'the log has its answer, as text');
is($t->sql("SELECT next_attempt_at - clock_timestamp() < interval '1 minute' FROM logsvc_internal.delivery WHERE id = '$tried'"),
	't', 'within a minute');
$receiver->mode('ok');
try_now($tried);
becomes($tried, 'sent', 2, 'then it arrives');
my @tries = @{ $receiver->requests };
is(scalar(@tries), 2, 'two requests');
is_deeply([ map { $_->{headers}{'x-logsvc-delivery'} } @tries ], [ (public_id($tried)) x 2 ],
	'of one id');
is($tries[0]{body}, $tries[1]{body}, 'with one body');
ok(signed($_), 'signed') foreach @tries;

$receiver->forget;
$receiver->mode('redirect');
my $moved = queue(rule($receiver->url));
becomes($moved, 'waiting', 1, 'a redirect');
is(row($moved)->{error}, 'a redirect is not followed', 'is an error');
is(@{ $receiver->requests }, 1, 'and not followed');
$receiver->mode('large');
my $large = queue(rule($receiver->url));
becomes($large, 'sent', 1, 'an answer of 70 kB is cut off');
is(length row($large)->{answer}, 1024, 'a kilobyte of it is kept');
my $gone = rule($receiver->url);
$receiver->mode('refuse');
my $cancelled = queue($gone);
becomes($cancelled, 'waiting', 1, 'one that waits');
$t->sql("UPDATE logsvc_internal.resource SET content = '{\"notify\": []}', secrets = '{}' WHERE id = '$gone'");
$receiver->mode('ok');
$receiver->forget;
try_now($cancelled);
becomes($cancelled, 'failed', 2, 'is not sent when its channel is gone');
is(@{ $receiver->requests }, 0, 'really not');
my $silent = PostgreSQL::Test::Cluster::get_free_port();
my $nobody = queue(rule("http://127.0.0.1:$silent/"));
becomes($nobody, 'waiting', 1, 'nobody listens');
like(row($nobody)->{error}, qr/^unreachable: /, 'is tried again');

# ---- one who does not answer beside others ----

$slow->mode('hold');
my $slow_rule = rule($slow->url);
my @slow = map { queue($slow_rule) } 1 .. 10;
ok(wait_until(sub { $slow->open == 2 }), 'two requests to one that does not answer');
becomes(queue(rule($receiver->url)), 'sent', 1, 'another target of the organization has its turn');
becomes(queue(rule($slow->url, organization => 'other')), 'sending', 1,
	'another organization has its own places');
is($t->sql("SELECT count(*) FROM logsvc_internal.delivery WHERE state = 'sending' AND organization_id = "
	. "(SELECT id FROM logsvc_internal.organization WHERE slug = 'acme')"), 2, 'still two');
$slow->mode('ok');
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.delivery WHERE id = ANY ('{"
	. join(',', @slow) . "}') AND state = 'sent'") == 10 }), 'all arrive when it answers again');

# ---- crashes ----

my $rule = rule($receiver->url);
foreach my $point (qw(webhook_sending webhook_ended))
{
	$receiver->forget;
	$t->wait_ready;
	$t->stop_at($point);
	my $id = queue($rule);
	kill_process($t->wait_held($point));
	delete $t->{stop_points};
	wait_until(sub { $t->sql("SELECT 1") });
	$t->wait_ready;
	ok(wait_until(sub { row($id)->{state} eq 'sent' }), "$point: sent after the crash");
	my %ids = map { $_->{headers}{'x-logsvc-delivery'} => 1 } @{ $receiver->requests };
	is_deeply([ keys %ids ], [ public_id($id) ], "$point: with the same id");
	is(scalar @{ $receiver->requests }, 2, "$point: twice, as it was not written down")
		if $point eq 'webhook_ended';
}

# ---- over HTTP: a secret is shown once, a test is sent ----

my $path = '/api/v1/alert-rules';
sub ask
{
	my ($method, $where, $status, $name, %options) = @_;
	# Rules of this test have nothing but channels.
	my $r = $t->http($method => $path . $where, token => $org->{token}, undescribed => 1, %options);
	is($r->{status}, $status, $name) or diag $r->{content};
	return $r;
}
$receiver->forget;
my %rule = (name => 'errors', query => 'level=error', enabled => JSON::PP::false,
	condition => { kind => 'count', op => '>', threshold => 0 });
my $hook = { kind => 'webhook', target => $receiver->url . '/hook' };
foreach my $bad ([ { kind => 'webhook', target => 'https://10.0.0.1/' }, 'notify[0].target' ],
	[ { kind => 'email', target => 'stranger@example.org' }, 'notify[0].target' ],
	[ { %$hook, secret => 'short' }, 'notify[0].secret' ],
	[ { %$hook, format => 'pagerduty' }, 'notify[0].secret' ],
	[ { kind => 'pager', target => 'x' }, 'notify[0].kind' ])
{
	my $r = ask(POST => '', 400, "refused: $bad->[1]", json => { %rule, notify => [ $bad->[0] ] });
	is($r->{json}{details}[0]{path}, $bad->[1], 'with its path');
}
my $made = ask(POST => '', 201, 'a rule', json => { %rule,
	notify => [ $hook, { kind => 'email', target => $org->{email} } ] })->{json}{data};
$secret = $made->{notify}[0]{secret};
like($secret, qr/^whsec_\w{43}$/, 'its secret was made, and is shown');
is_deeply($made->{notify}, [ { %$hook, format => 'logsvc', secret => $secret,
	secretSet => JSON::PP::true }, { kind => 'email', target => $org->{email} } ], 'its channels');
my $one = "/$made->{id}";
sub shown { return ask(GET => $one, 200, 'the rule')->{json}{data}{notify}[0]; }
my $kept = { %$hook, format => 'logsvc', secretSet => JSON::PP::true };
is_deeply(shown(), $kept, 'later it is not shown');
unlike(ask(GET => '', 200, 'the list')->{content}, qr/whsec/, 'nor in a list');
my $r = ask(PATCH => $one, 200, 'a channel is repeated', json => { notify => [ $kept ] });
is_deeply($r->{json}{data}{notify}, [ $kept ], 'and no secret shown');
my $test = ask(POST => "$one/notify-test", 200, 'a test is sent')->{json}{data};
is_deeply([ map { "$_->{type} $_->{kind} $_->{state}" } @$test ], [ 'alert.test webhook waiting' ],
	'to its channel');
ok(wait_until(sub { @{ $receiver->requests } == 1 }), 'which hears of it');
($request) = @{ $receiver->requests };
is($request->{headers}{'x-logsvc-delivery'}, $test->[0]{id}, 'by the same id');
ok(signed($request), 'signed with the secret that was kept');
ok(wait_until(sub { my $r = $t->http(GET => "$path$one/deliveries", token => $org->{token});
	($r->{json}{data}[0]{state} // '') eq 'sent' }),
	'the log says that it was sent');
my ($entry) = @{ ask(GET => "$one/deliveries?limit=1", 200, 'the log')->{json}{data} };
is_deeply([ @{$entry}{qw(id attempts status answer error)} ],
	[ $test->[0]{id}, 1, 200, '{"ok": true}', undef ], 'with the answer');
is($t->http(GET => "$path$one/deliveries", token => $other->{token})->{status}, 404,
	'another organization sees no log');
$r = ask(PATCH => $one, 200, 'another secret', json => { notify => [ { %$hook,
	secret => 'another-secret-of-mine' } ] });
is($r->{json}{data}{version}, 3, 'is a change');
unlike($r->{content}, qr/another-secret/, 'that is not shown');
$receiver->forget;
$secret = 'another-secret-of-mine';
ask(POST => "$one/notify-test", 200, 'a test');
ok(wait_until(sub { @{ $receiver->requests } == 1 }), 'is sent');
ok(signed($receiver->requests->[0]), 'with that one');
is($t->sql("SELECT count(*) FROM logsvc_internal.audit_entry WHERE details::text ~ 'whsec|another-secret'"), 0,
	'the audit log has no secret');
is($t->sql("SELECT string_agg(DISTINCT action, ' ') FROM logsvc_internal.audit_entry WHERE resource = '$made->{id}'"),
	'alert_rule.created alert_rule.notify_tested alert_rule.updated', 'but what was done');
ask(POST => "$one/notify-test", 200, 'tests') foreach 1 .. 28;
is(ask(POST => "$one/notify-test", 429, 'not more than 30 a minute')->{json}{code},
	'RATE_LIMIT_EXCEEDED', 'which is said');

# ---- secrets ----

unlike(join("\n", grep { !/LOG:  statement:|STATEMENT:/ } split /\n/, $t->log_text($log)),
	qr/whsec_|127\.0\.0\.1:\d+\/hook/, 'the log has no secret and no target');
is($t->sql("SELECT count(*) FROM logsvc_internal.delivery d WHERE to_jsonb(d)::text LIKE '%whsec_%'"), 0,
	'the deliveries have no secret');
is(($t->sql_error('SET ROLE logsvc_reader; SELECT secrets FROM logsvc_internal.resource'))[1], '42501',
	'what runs requests reads none');

$t->stop;
done_testing;
