# Alert workers: rules over events that are really sent; groups, forSeconds, repeats, no data,
# errors, missed ticks; two workers; what is killed loses and doubles nothing.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => 'restart_after_crash = on');
my $org = $t->organization('acme', plan => 'enterprise');
my $other = $t->organization('other', plan => 'enterprise');
my $rules = '/api/v1/alert-rules';

sub ask
{
	my ($method, $path, %options) = @_;
	my $r = $t->http($method => $path, token => $org->{token}, %options);
	$r->{status} < 300 or die "$method $path: $r->{status} $r->{content}";
	return $r->{json}{data};
}

# Most rules here have a tick an hour, and events of two hours ago: so no tick comes by itself.
sub send_events
{
	my ($key, @events) = @_;
	$_->{timestamp} //= (time - 2 * 3600) * 1000 foreach @events;
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $key, json => { events => \@events });
	is($r->{json}{data}{accepted}, scalar @events, scalar(@events) . ' events are sent');
	return;
}

sub rule
{
	my (%more) = @_;
	return ask(POST => $rules, json => { name => 'rule', schedule => { everySeconds => 3600, lookback => '1d' }, %more })->{id};
}

# Rules are made due at once: a tick is then the latest one that there was.
sub due
{
	my (@ids) = @_;
	my $list = join ',', map { "'$_'" } @ids;
	$t->sql("UPDATE logsvc_internal.alert_rule_state SET next_due = now() - interval '1 ms', last_tick = NULL
		WHERE logsvc_internal.public_id('rule_', rule_id) IN ($list) AND next_due IS NOT NULL");
	$t->sql('SELECT logsvc_internal.wake_alert_workers()');
	return;
}

sub ticks { return $t->sql("SELECT evaluated_at FROM logsvc_internal.alert_rule_state
	WHERE logsvc_internal.public_id('rule_', rule_id) = '$_[0]'"); }

# Evaluates a rule once more; its state then.
sub evaluate
{
	my ($id) = @_;
	my $before = ticks($id);
	due($id);
	wait_until(sub { ticks($id) ne $before }) or die 'not evaluated';
	return ask(GET => "$rules/$id")->{state};
}

sub alerts { my ($id, $status) = @_; return @{ ask(GET => "/api/v1/alerts?limit=100&ruleId=$id&status=" . ($status // 'open')) }; }

sub deliveries
{
	my ($id) = @_;
	return $t->sql("SELECT coalesce(string_agg(d.type, ' ' ORDER BY d.created_at), '') FROM logsvc_internal.delivery d
		WHERE logsvc_internal.public_id('rule_', resource_id) = '$id'");
}

my %hook = (notify => [ { kind => 'webhook', target => 'https://hooks.example/x' } ]);
sub over { return { condition => { kind => 'count', op => '>', threshold => $_[0] } }; }

# ---- a rule that fires ----

send_events($org->{ingest_key}, map { { event => "payment refused $_", level => 'error', service => $_ % 2 ? 'web' : 'api' } } 1 .. 8);
send_events($other->{ingest_key}, map { { event => "payment refused $_", level => 'error' } } 1 .. 20);
my $count = rule(query => 'level=error', %{ over(7) }, %hook, schedule => { everySeconds => 10, lookback => '1d' });
ok(wait_until(sub { ask(GET => "$rules/$count")->{state} eq 'firing' }), 'it fires by itself')
  or BAIL_OUT('nothing will fire');
my ($alert) = alerts($count);
is_deeply([ @{$alert}{qw(value threshold status groupKey)} ], [ 8, 7, 'firing', {} ],
	'with the events of its own organization');
is(scalar @{ $alert->{sampleEventIds} }, 5, 'and some events');
my $found = $t->http(GET => $alert->{search}{url}, token => $org->{token})->{json}{data}{rows};
is(scalar @$found, 8, 'its search finds them all');
ok((grep { $_->{id} eq $alert->{sampleEventIds}[0] } @$found), 'and the samples');
is(deliveries($count), 'alert.firing', 'the channel is told');
like($t->sql("SELECT body #>> '{alert,sampleText}' FROM logsvc_internal.delivery d WHERE d.type = 'alert.firing'
	AND logsvc_internal.public_id('rule_', resource_id) = '$count'"), qr/^(?:payment refused \d)?$/, 'with a text');
# What people press is a page of the console.
my @links = split /\|/, $t->sql("SELECT body ->> 'url', body #>> '{alert,search,consoleUrl}'"
	  . " FROM logsvc_internal.delivery WHERE type = 'alert.firing' ORDER BY created_at LIMIT 1");
foreach my $link (@links)
{
	my ($place) = $link =~ m{^http://127\.0\.0\.1:\d+(/o/acme/(?:alerts\?alert=alr_|search\?q=)\S+)$};
	my $r = $t->http(GET => $place // '/none', headers => { Accept => 'text/html' });
	like("$r->{status} $r->{headers}{'content-type'}", qr{^200 text/html}, "a page: $link");
}
is(evaluate($count), 'firing', 'it goes on');
is(alerts($count), 1, 'as one alert');
is(deliveries($count), 'alert.firing', 'told once');
ask(PATCH => "$rules/$count", json => { condition => { threshold => 8 } });
is(evaluate($count), 'ok', 'it ends');
is(deliveries($count), 'alert.firing alert.resolved', 'which the channel is told');
is_deeply([ map { "$_->{status} $_->{resolvedBy}" } alerts($count, 'all') ], ['resolved rule'], 'and the alert');

# ---- groups, a rule of a value, groups with odd names ----

send_events($org->{ingest_key},
	map { { event => 'took', attributes => { ms => $_ * 100, 'a b' => $_ == 3 ? undef : qq(x"\\$_), user => { id => $_ } } } } 1 .. 4);
my $groups = rule(query => 'took', groupBy => ['a b'], condition => { kind => 'value', column => 'ms', op => '>=', threshold => 200 });
is(evaluate($groups), 'firing', 'by group');
is_deeply({ map { (json_encode($_->{groupKey}) => $_->{value}) } alerts($groups) },
	{ '{"a b":"x\\"\\\\2"}' => 200, '{"a b":null}' => 300, '{"a b":"x\\"\\\\4"}' => 400 }, 'an alert for each');
is_deeply([ map { scalar @{ $_->{sampleEventIds} } } alerts($groups) ], [ 1, 1, 1 ], 'each with its events');
my $table = rule(query => 'took | stats max(ms) as slow by user.id', groupBy => ['user.id'],
	condition => { kind => 'value', column => 'slow', op => '<', threshold => 200 });
is(evaluate($table), 'firing', 'of a table');
is_deeply([ map { @{$_}{qw(value groupKey)} } alerts($table) ], [ 100, { 'user.id' => 1 } ], 'by its columns');
my $nothing = rule(query => 'nowhere', condition => { kind => 'value', column => 'ms', op => '>', threshold => 1 });
is(evaluate($nothing), 'noData', 'no value');
send_events($org->{ingest_key}, { event => 'nowhere', attributes => { ms => 'x' } });
is(evaluate($nothing), 'noData', 'nor a number');
send_events($org->{ingest_key}, { event => 'nowhere', attributes => { ms => 2 } });
is(evaluate($nothing), 'firing', 'one at last');

# Sums that no double can hold are large all the same.
send_events($org->{ingest_key}, map { { event => 'huge', attributes => { b => 1e308 } } } 1 .. 2);
foreach my $q ('huge', 'huge | where true')
{
	my $sum = rule(query => "$q | stats sum(b) as s", condition => { kind => 'value', column => 's', op => '>', threshold => 1000 });
	is(evaluate($sum), 'firing', "$q: a sum beyond all doubles");
	ask(POST => "$rules/$sum/disable");
}

# ---- groups with long names ----

send_events($org->{ingest_key}, map { my $n = $_; { event => 'long', attributes => { map { ($_ => "$n " . 'x' x 31990) } qw(a b c) } } } 1 .. 90);
my $long = rule(query => 'long', groupBy => [qw(a b c)], %{ over(0) });
is(evaluate($long), 'firing', 'groups with 8 MB of names do not end the rule');
like(ask(GET => "$rules/$long")->{warning}, qr/8 MB/, 'which has a warning');
my ($named) = alerts($long);
cmp_ok(length $named->{search}{q}, '<', 16000, 'the search of an alert is not longer than a query may be');
my $finds = $t->http(GET => $named->{search}{url}, token => $org->{token})->{json}{data}{rows};
is(scalar @$finds, 1, 'and finds its event');
ask(POST => "$rules/$long/disable");

# ---- many groups ----

send_events($org->{ingest_key}, map { { event => 'crowd', source => "s$_" } } 1 .. 1100);
my $crowd = rule(query => 'crowd', groupBy => ['source'], %{ over(0) }, %hook);
is(evaluate($crowd), 'firing', 'more groups than there may be');
is($t->sql("SELECT count(*) FROM logsvc_internal.alert WHERE logsvc_internal.public_id('rule_', rule_id) = '$crowd'"), 1000,
	'a thousand fire');
like(ask(GET => "$rules/$crowd")->{warning}, qr/more than 1,000 groups/, 'with a warning');
is(scalar(split / /, deliveries($crowd)), 50, 'fifty are told at a time');
evaluate($crowd);
is(scalar(split / /, deliveries($crowd)), 100, 'then fifty more');
ask(POST => "$rules/$crowd/disable");

# ---- for a while, repeats, acknowledge, resolve ----

my $slow = rule(query => 'level=error', condition => { kind => 'count', op => '>', threshold => 1, forSeconds => 60 });
is(evaluate($slow), 'ok', 'not yet');
is(alerts($slow), 0, 'no alert');
$t->sql("UPDATE logsvc_internal.alert_group SET holds_since = holds_since - interval '60 s'");
is(evaluate($slow), 'firing', 'after a minute');
my $again = rule(query => 'level=error', %{ over(1) }, %hook, repeatSeconds => 600);
evaluate($again);
evaluate($again);
is(deliveries($again), 'alert.firing', 'not repeated at once');
my $past = "UPDATE logsvc_internal.alert SET notified_at = notified_at - interval '11 min' WHERE resolved_at IS NULL";
$t->sql($past);
evaluate($again);
is(deliveries($again), 'alert.firing alert.firing', 'but later');
my ($one) = alerts($again);
ask(POST => "/api/v1/alerts/$one->{id}/acknowledge");
$t->sql($past);
is(evaluate($again), 'firing', 'it is acknowledged');
is(deliveries($again), 'alert.firing alert.firing', 'and not repeated');
ask(POST => "/api/v1/alerts/$one->{id}/resolve");
is(deliveries($again), 'alert.firing alert.firing alert.resolved', 'it is resolved');
is(evaluate($again), 'ok', 'and not raised again');
ask(PATCH => "$rules/$again", json => { condition => { threshold => 100 } });
evaluate($again);
ask(PATCH => "$rules/$again", json => { condition => { threshold => 1 } });
is(evaluate($again), 'firing', 'until it was well');

# ---- to and fro ----

# So long nothing has failed, or was seen.
sub later { my ($id) = @_; return $t->sql("UPDATE logsvc_internal.alert_rule_state SET failed_at = failed_at - interval '2 h'
	WHERE logsvc_internal.public_id('rule_', rule_id) = '$id'; UPDATE logsvc_internal.alert SET last_seen_at = last_seen_at - interval '2 h'
	WHERE logsvc_internal.public_id('rule_', rule_id) = '$id' AND resolved_at IS NULL"); }

my $flaps = rule(query => 'level=error', condition => { kind => 'count', op => '>', threshold => 7, keepFiringSeconds => 600 }, %hook);
is(evaluate($flaps), 'firing', 'it fires');
my ($first) = alerts($flaps);
foreach my $threshold (100, 7, 100, 7, 100)
{
	ask(PATCH => "$rules/$flaps", json => { condition => { threshold => $threshold } });
	is(evaluate($flaps), 'firing', "and goes on at threshold $threshold");
}
is_deeply([ map { $_->{id} } alerts($flaps, 'all') ], [ $first->{id} ], 'as one alert');
is(deliveries($flaps), 'alert.firing', 'told once');
later($flaps);
is(evaluate($flaps), 'ok', 'after ten minutes it ends');
is(deliveries($flaps), 'alert.firing alert.resolved', 'told once too');

# ---- absence ----

my $absent = rule(query => 'heartbeat', condition => { kind => 'absence' });
is(evaluate($absent), 'firing', 'there is none');
send_events($org->{ingest_key}, { event => 'heartbeat' });
is(evaluate($absent), 'ok', 'there is one');
my $beats = rule(query => 'beat', groupBy => ['source'], condition => { kind => 'absence' });
send_events($org->{ingest_key}, { event => 'beat', source => 'a' }, { event => 'beat', source => 'b' });
is(evaluate($beats), 'ok', 'both groups');
$t->sql("UPDATE logsvc_internal.resource SET content = jsonb_set(content, '{query}', '\"beat source=a\"') WHERE "
	. "logsvc_internal.public_id('rule_', id) = '$beats'; UPDATE logsvc_internal.alert_rule_state SET condition_key = NULL; "
	. "UPDATE logsvc_internal.alert_group SET seen_at = seen_at - interval '1 h'");
is(evaluate($beats), 'firing', 'one of them is missing');
is_deeply([ map { $_->{groupKey} } alerts($beats) ], [ { source => 'b' } ], 'the one');

send_events($org->{ingest_key}, { event => 'pulse', source => 'a', timestamp => (time - 10 * 3600) * 1000 },
	{ event => 'pulse', source => 'b' }, { event => 'pulse', source => 'c', timestamp => (time - 40 * 3600) * 1000 });
my $silent = rule(query => 'pulse', groupBy => ['source'], condition => { kind => 'absence' },
	schedule => { everySeconds => 3600, lookback => '4h' });
is(evaluate($silent), 'firing', 'a group that was silent before there was a rule');
is_deeply([ map { $_->{groupKey} } alerts($silent) ], [ { source => 'a' } ], 'of the last day');
ask(POST => "$rules/$silent/disable");
ask(POST => "$rules/$silent/enable");
is(evaluate($silent), 'firing', 'it is known again after the rule was disabled');
my $silent_table = rule(query => 'pulse | stats count by source', groupBy => ['source'], condition => { kind => 'absence' },
	schedule => { everySeconds => 3600, lookback => '4h' });
is(evaluate($silent_table), 'firing', 'a group of a table');
is_deeply([ map { $_->{groupKey} } alerts($silent_table) ], [ { source => 'a' } ], 'which it was');

# ---- new patterns ----

my $old = time - 30 * 3600;
send_events($org->{ingest_key}, map { { event => "user $_ logged in from 10.0.0.$_", service => 'auth', timestamp => $old * 1000 } } 1 .. 20);
send_events($org->{ingest_key}, map { { event => "user $_ logged in from 10.0.1.$_", service => 'auth' } } 30 .. 40);
my $new = rule(query => 'service=auth', condition => { kind => 'newTemplate', days => 2 });
is(evaluate($new), 'ok', 'what was there before is known');
send_events($org->{ingest_key}, map { { event => "disk sd$_ failed to spin up", service => 'auth' } } 'a' .. 'e');
is(evaluate($new), 'firing', 'a new pattern');
my ($template) = alerts($new);
like($template->{groupKey}{template}, qr/^disk .*failed to spin up/, 'which it names');
is($template->{value}, 5, 'with how many there are');
is(scalar @{ $template->{sampleEventIds} }, 5, 'and which');
is(evaluate($new), 'firing', 'as long as it is seen');
is(alerts($new, 'all'), 1, 'as one alert');
send_events($org->{ingest_key}, map { { event => $_, service => 'volumes', timestamp => $old * 1000 } } 'volume attached to node') foreach 1 .. 2;
send_events($org->{ingest_key}, map { { event => $_, service => 'volumes' } } 'volume attached', 'volume attached to node', 'volume attached');
my $words = rule(query => 'service=volumes', condition => { kind => 'newTemplate', days => 2 });
is(evaluate($words), 'firing', 'a new pattern whose words are in a known one');
my @like = alerts($words);
is_deeply([ map { "$_->{value} $_->{groupKey}{template}" } @like ], ['2 volume attached'], 'and no other');
is_deeply([ map { $_->{event} } @{ ask(GET => $like[0]{search}{url})->{rows} } ],
	[ ('volume attached') x 2 ], 'its search finds its events only');
is(scalar @{ $like[0]{sampleEventIds} }, 2, 'and so do its samples');

# Searches for earlier events that fail: the rule says so, and asks again.
my $history = $t->sql("SELECT pg_get_functiondef('logsvc_internal.template_history'::regproc)");
$t->sql("CREATE OR REPLACE FUNCTION logsvc_internal.template_history(q text, template text, began timestamptz, total numeric) "
	. "RETURNS text LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS "
	. "'SELECT ''index=gone x'' '");
send_events($org->{ingest_key}, { event => 'fan stopped in rack nine', service => 'fans' }, { event => 'cable pulled out of switch', service => 'fans' });
my $unsure = rule(query => 'service=fans', condition => { kind => 'newTemplate', days => 2 });
is(evaluate($unsure), 'ok', 'patterns whose history cannot be searched raise nothing');
like(ask(GET => "$rules/$unsure")->{warning}, qr/^patterns of which it is not known yet whether they are new: 2;/, 'the rule says so');
$t->sql($history);
is(evaluate($unsure), 'firing', 'they are asked for again');
is(scalar alerts($unsure), 2, 'all of them');
is(ask(GET => "$rules/$unsure")->{warning}, undef, 'and the warning is over');

# ---- errors ----

my $broken = rule(query => 'level=error', %{ over(0) });
$t->sql("UPDATE logsvc_internal.resource SET content = jsonb_set(content, '{query}', '\"index=gone x\"') WHERE "
	. "logsvc_internal.public_id('rule_', id) = '$broken'");
is(evaluate($broken), 'error', 'a rule that cannot be evaluated');
is(ask(GET => "$rules/$broken")->{lastError}{code}, 'INDEX_NOT_FOUND', 'says why');
is(deliveries($broken), 'alert.error', 'its author is told');
evaluate($broken);
is(deliveries($broken), 'alert.error', 'once');
ask(PATCH => "$rules/$broken", json => { query => 'level=error' });
later($broken);
is(evaluate($broken), 'firing', 'it is well again');

# Objects with the same members in another order are two rows of a search, and one group.
my $sent = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	body => sprintf('{"events":[%s]}', join ',', map { sprintf '{"event":"dupobj","timestamp":%d,"attributes":{"a":%s}}',
		(time - 7200) * 1000, $_ } '{"x":1,"y":2}', '{"y":2,"x":1}', '{"y":2,"x":1}'));
is($sent->{json}{data}{accepted}, 3, 'objects in another order');
my $twins = rule(query => 'dupobj', groupBy => ['a'], %{ over(2) });
is(evaluate($twins), 'firing', 'are one group');
is_deeply([ map { @{$_}{qw(groupKey value)} } alerts($twins) ],
	[ { a => { x => 1, y => 2 } }, 3 ], 'whose rows are counted together');

# What nobody foresaw.
my $fails = rule(query => 'level=error', %{ over(0) });
$t->sql("CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN RAISE 'a bug'; END \$\$;
	CREATE TRIGGER refuse BEFORE INSERT ON logsvc_internal.alert FOR EACH ROW
	WHEN (logsvc_internal.public_id('rule_', NEW.rule_id) = '$fails') EXECUTE FUNCTION public.refuse()");
my $before_failure = ask(GET => "$rules/$fails")->{missed};
is(evaluate($fails), 'error', 'an error that is ours is in the state of the rule');
my $failed = ask(GET => "$rules/$fails");
is($failed->{lastError}{code}, 'INTERNAL_ERROR', 'with its code');
unlike($failed->{lastError}{message}, qr/a bug/, 'but not its text');
cmp_ok($failed->{missed}, '>', $before_failure, 'the tick counts as missed');
ok($failed->{nextEvaluationAt} gt $failed->{lastEvaluatedAt}, 'and the rule is not late');
is(deliveries($fails), 'alert.error', 'its author is told');
$t->sql('DROP TRIGGER refuse ON logsvc_internal.alert; DROP FUNCTION public.refuse()');
is(evaluate($fails), 'firing', 'then it is well again');
ask(PATCH => "$rules/$broken", json => { %hook });
$t->sql("UPDATE logsvc_internal.resource SET content = jsonb_set(content, '{query}', '\"index=_audit x\"') WHERE "
	. "logsvc_internal.public_id('rule_', id) = '$broken'");
is(evaluate($broken), 'error', 'and not: nobody sees the audit log by a rule');
is(deliveries($broken), 'alert.error alert.error alert.error', 'which its channel is told too');
$t->sql("UPDATE logsvc_internal.resource SET content = jsonb_set(content, '{query}', '\"level=error\"') WHERE "
	. "logsvc_internal.public_id('rule_', id) = '$broken'");
is(evaluate($broken), 'firing', 'it is well once more');
foreach my $q ('index=gone x', 'level=error')
{
	$t->sql("UPDATE logsvc_internal.resource SET content = jsonb_set(content, '{query}', '\"$q\"') WHERE "
		. "logsvc_internal.public_id('rule_', id) = '$broken'");
	is(evaluate($broken), $q =~ /gone/ ? 'error' : 'firing', "$q: to and fro");
}
is(deliveries($broken), 'alert.error alert.error alert.error', 'of which nobody is told');
later($broken);
is(evaluate($broken), 'firing', 'for some time');
like(deliveries($broken), qr/error alert\.recovered$/, 'which the channel is told');
$t->sql("UPDATE logsvc_internal.resource SET content = jsonb_set(content, '{query}', '\"index=gone x\"') WHERE "
	. "logsvc_internal.public_id('rule_', id) = '$broken'");
is(evaluate($broken), 'error', 'and broken again');
is(alerts($broken), 1, 'its alert stays');

$t->sql("UPDATE logsvc_internal.resource SET content = jsonb_set(content, '{query}', '\"index=gone x\"') WHERE "
	. "logsvc_internal.public_id('rule_', id) = '$broken'");
is(ask(POST => "$rules/$broken/disable")->{state}, 'ok', 'it can be disabled');

# ---- missed ticks ----

$t->sql("UPDATE logsvc_internal.alert_rule_state SET next_due = last_tick - interval '10 h', last_tick = last_tick - interval '11 h'
	WHERE logsvc_internal.public_id('rule_', rule_id) = '$absent'");
my $missed = ask(GET => "$rules/$absent")->{missed};
$t->sql('SELECT logsvc_internal.wake_alert_workers()');
ok(wait_until(sub { ask(GET => "$rules/$absent")->{missed} >= $missed + 10 }),
	'ticks that were missed are counted');
cmp_ok(ask(GET => "$rules/$absent")->{missed}, '<=', $missed + 11, 'and not made up for');

# ---- workers that are killed ----

ask(POST => "$rules/$_->{id}/disable") foreach grep { $_->{enabled} } @{ ask(GET => "$rules?limit=100") };
my $killed = rule(query => 'level=error', groupBy => ['service'], %{ over(3) }, %hook);
foreach my $point (qw(alert_taken alert_searched alert_applied alert_before_commit))
{
	$t->sql("DELETE FROM logsvc_internal.alert; DELETE FROM logsvc_internal.delivery; DELETE FROM logsvc_internal.alert_group");
	$t->stop_at($point);
	due($killed);
	my $pid = $t->wait_held($point);
	kill_process($pid);
	$t->wait_ready;
	ok(wait_until(sub { deliveries($killed) ne '' }), "killed at $point: the tick is done");
	is(alerts($killed), 2, 'two alerts');
	is(deliveries($killed), 'alert.firing alert.firing', 'each told once');
}

# ---- a rule of which workers die ----

sub state_of { return $t->sql("SELECT $_[1] FROM logsvc_internal.alert_rule_state WHERE logsvc_internal.public_id('rule_', rule_id) = '$_[0]'"); }

my $deadly = rule(query => 'level=error', name => 'deadly', %{ over(3) }, %hook);
my $harmless = rule(query => 'level=error', name => 'harmless', %{ over(3) });
ask(POST => "$rules/$killed/disable");
is(state_of($killed, 'deaths'), 0, 'a tick that is done ends the count');
$t->sql("UPDATE logsvc_internal.alert_rule_state SET deaths = 1 WHERE logsvc_internal.public_id('rule_', rule_id) = '$deadly'");
$t->stop_at('alert_taken');
due($deadly);
kill_process($t->wait_held('alert_taken'));
$t->wait_ready;
ok(wait_until(sub { state_of($deadly, 'deaths') == 2 }, 60), 'a second worker has died of it');
is(state_of($deadly, "next_due - now() BETWEEN '30 s' AND '61 s'"), 't', 'it is put off by a minute');
my $shown = ask(GET => "$rules/$deadly");
is("$shown->{state} $shown->{lastError}{code}", 'error INTERNAL_ERROR', 'its author sees that');
like($shown->{lastError}{message}, qr/has died 2 times in a row; it is evaluated again at 2/, 'and when it is tried again');
ok(wait_until(sub { deliveries($deadly) eq 'alert.error alert.error' }, 30), 'and is told, with the channel') or diag deliveries($deadly);
is($t->sql("SELECT count(*) FROM logsvc_internal.audit_entry WHERE action = 'alert_rule.put_off' AND resource = '$deadly'"), 1,
	'the audit log says so');
is(evaluate($harmless), 'firing', 'meanwhile others are evaluated');
is(state_of($deadly, 'deaths'), 2, 'and it is not');
foreach my $wait ([ 3, '10 min' ], [ 4, '1 h' ], [ 5, '6 h' ], [ 6, '6 h' ])
{
	$t->sql("UPDATE logsvc_internal.alert_rule_state SET worker = 99 WHERE logsvc_internal.public_id('rule_', rule_id) = '$deadly'");
	$t->sql('SELECT logsvc_internal.recover_alert_rules(99)');
	is(state_of($deadly, "deaths || ' ' || (next_due - now() BETWEEN '$wait->[1]'::interval - interval '1 min' AND '$wait->[1]')"),
		"$wait->[0] true", "the $wait->[0]th time by $wait->[1]");
}
is(deliveries($deadly), 'alert.error alert.error', 'they are told once');

# Its author cannot make it due by a change.
my $put_off = state_of($deadly, 'next_due');
ask(PATCH => "$rules/$deadly", json => { query => 'level=error refused', schedule => { everySeconds => 1800, lookback => '1d' } });
is(state_of($deadly, "next_due || ' ' || deaths"), "$put_off 6", 'a change of the rule leaves it put off');
later($deadly);
is(evaluate($deadly), 'firing', 'it can be evaluated again');
is(state_of($deadly, 'deaths'), 0, 'which ends the count');
like(deliveries($deadly), qr/^(?:alert\.error ){2}alert\.(?:recovered alert\.firing|firing alert\.recovered)$/, 'and is told');

$t->sql("UPDATE logsvc_internal.alert_rule_state SET deaths = 6, begun_at = now() WHERE logsvc_internal.public_id('rule_', rule_id) = '$deadly'");
ask(POST => "$rules/$deadly/disable");
ask(POST => "$rules/$deadly/enable");
is(state_of($deadly, "next_due - now() BETWEEN '5 h' AND '6 h'"), 't', 'disabling and enabling it leaves it put off, too');

# ---- two workers ----

$t->set('logsvc.alert_workers', 2);
wait_until(sub { $t->workers('^logsvc alerter$') == 2 }) or die 'two workers';
my @many = map { rule(query => "level=error $_ OR payment", %{ over(1) }, %hook) } 1 .. 20;
due(@many);
ok(wait_until(sub { !grep { deliveries($_) eq '' } @many }), 'twenty rules of two workers');
is(join(' ', map { deliveries($_) } @many), join(' ', ('alert.firing') x 20), 'each tick once');
$t->stop_at('alert_before_commit');
due($many[0]);
my $holder = $t->wait_held('alert_before_commit');
# Hundredths of a second that a process has used.
sub used
{
	my ($pid) = @_;
	open my $in, '<', "/proc/$pid/stat" or return 0;
	local $/;
	my @fields = split ' ', <$in> =~ s/^.*\) //sr;
	return $fields[11] + $fields[12];
}
my ($free) = grep { $_ != $holder } $t->workers('^logsvc alerter$');
ok(wait_until(sub {
		my $start = used($free);
		sleep 1;
		return used($free) - $start <= 10;
	}), 'a worker does not ask all the time for the rule that another one evaluates');
ask(PATCH => "$rules/$many[0]", json => { severity => 'info' });
is(ask(GET => "$rules/$many[0]")->{severity}, 'info', 'a rule that is being evaluated can be changed');
$t->let_go('alert_before_commit');

# ---- slow rules of several organizations, two workers ----

sub others_rule
{
	my ($who, $query) = @_;
	my $r = $t->http(POST => $rules, token => $who->{token}, json => { name => 'x', query => $query, %{ over(0) },
		schedule => { everySeconds => 86400, lookback => '1d' } });
	return $r->{json}{data}{id} // die $r->{content};
}
# A search that takes half a second.
$t->sql(q{ALTER FUNCTION logsvc_internal.rule_rows RENAME TO real_rule_rows;
	CREATE FUNCTION logsvc_internal.rule_rows(q text, earliest timestamptz, latest timestamptz, most int) RETURNS jsonb
	LANGUAGE plpgsql AS $$ BEGIN
		IF q LIKE '%slowly%' THEN PERFORM pg_sleep(0.5); END IF;
		RETURN logsvc_internal.real_rule_rows(q, earliest, latest, most);
	END $$; GRANT EXECUTE ON FUNCTION logsvc_internal.rule_rows TO logsvc_reader});
my $third = $t->organization('third', plan => 'enterprise');
my @slow = map { (others_rule($org, "slowly $_"), others_rule($other, "slowly $_")) } 1 .. 6;
my $quick = others_rule($third, 'quickly');
# All of them at the same moment.
$t->sql('UPDATE logsvc_internal.alert_rule_state SET evaluated_at = NULL');
due(@slow, $quick);
ok(wait_until(sub { !grep { ticks($_) eq '' } @slow, $quick }), 'twelve slow ones and one that is not');
my $these = join ',', map { "'$_'" } @slow, $quick;
my @order = split / /, $t->sql("SELECT string_agg(o.slug, ' ' ORDER BY s.evaluated_at) FROM logsvc_internal.alert_rule_state s "
	. "JOIN logsvc_internal.organization o ON o.id = s.organization_id WHERE logsvc_internal.public_id('rule_', s.rule_id) IN ($these)");
is(scalar @order, 13, 'each is evaluated');
my ($before_quick) = grep { $order[$_] eq 'third' } 0 .. $#order;
# Each worker may have had a rule of both of the others.
cmp_ok($before_quick, '<=', 4, 'the one that is not slow comes after at most four') or diag "@order";
cmp_ok(scalar(grep { $_ eq 'other' } @order[ 0 .. 6 ]), '>=', 2, 'the other organizations take turns') or diag "@order";
$t->sql('DROP FUNCTION logsvc_internal.rule_rows; ALTER FUNCTION logsvc_internal.real_rule_rows RENAME TO rule_rows');

# ---- an organization that locks its rows holds up nobody ----

my $session = $t->node->background_psql('postgres');
$session->query_safe("BEGIN; SELECT 1 FROM logsvc_internal.alert WHERE resolved_at IS NULL FOR UPDATE");
my $before = ticks($many[5]);
due($many[5]);
send_events($other->{ingest_key}, { event => 'x' });
my $theirs = $t->http(POST => $rules, token => $other->{token}, json => { name => 'x', query => '*', %{ over(0) },
	schedule => { everySeconds => 3600, lookback => '1d' } })->{json}{data}{id};
due($theirs);
ok(wait_until(sub { $t->http(GET => "$rules/$theirs", token => $other->{token})->{json}{data}{state} eq 'firing' }),
	'rules of others are evaluated');
is(ticks($many[5]), $before, 'while rows are locked');
$session->query_safe('COMMIT');

# ---- a tick that is handed back ----

$session->query_safe("BEGIN; SELECT 1 FROM logsvc_internal.alert WHERE resolved_at IS NULL FOR UPDATE");
sub handed_back
{
	my ($id, $how) = @_;
	$t->sql("UPDATE logsvc_internal.alert_rule_state SET begun_at = NULL WHERE logsvc_internal.public_id('rule_', rule_id) = '$id'");
	due($id);
	ok(wait_until(sub { state_of($id, 'begun_at IS NOT NULL AND worker IS NULL') eq 't' }), "nobody has a tick $how");
	return;
}
handed_back($many[6], 'that waits for rows of a tenant');
$session->query_safe('COMMIT');
foreach my $fault ([ 'that was not to be had', 'RETURN NULL' ], [ 'of which not even the end could be written down', q{RAISE 'no'} ])
{
	$t->sql(qq{ALTER FUNCTION logsvc_internal.take_alert_rule RENAME TO real_take_alert_rule;
		CREATE FUNCTION logsvc_internal.take_alert_rule(rule uuid) RETURNS jsonb LANGUAGE plpgsql AS \$\$ BEGIN $fault->[1]; END \$\$;
		GRANT EXECUTE ON FUNCTION logsvc_internal.take_alert_rule TO logsvc_reader});
	handed_back($many[7], $fault->[0]);
	$t->sql('DROP FUNCTION logsvc_internal.take_alert_rule; ALTER FUNCTION logsvc_internal.real_take_alert_rule RENAME TO take_alert_rule');
}

# Nor a worker that starts, and looks for what the one before it died of.
my @marked = map { "logsvc_internal.public_id('rule_', rule_id) = '$many[$_]'" } 4, 5;
$t->sql("UPDATE logsvc_internal.alert_rule_state SET worker = $_ WHERE $marked[$_]") foreach 0, 1;
$session->query_safe("BEGIN; SELECT 1 FROM logsvc_internal.alert_rule_state WHERE $marked[0] OR $marked[1] FOR UPDATE");
my $evaluated = state_of($theirs, 'evaluated_at');
$t->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'logsvc alerter'");
due($theirs);
ok(wait_until(sub { state_of($theirs, 'evaluated_at') ne $evaluated }), 'a worker starts beside locked rows');
$session->query_safe('COMMIT');
$session->quit;
ok(wait_until(sub { ticks($many[5]) ne $before }), 'and then that rule');

$t->set('logsvc.alert_workers', 0);
ok(wait_until(sub { $t->workers('^logsvc alerter$') == 0 }), 'no worker');
is($t->http(GET => '/readyz')->{status}, 200, 'is ready all the same');

$t->stop;
done_testing();
