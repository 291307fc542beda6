# Alert rules over HTTP: what a rule may say, enabling and disabling, tests that it requires, who
# may do what; alerts as they are listed, acknowledged and resolved.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

# Without alert workers, whose ticks would resolve the alerts that are made below.
my $t = LogsvcTest->new(conf => 'logsvc.alert_workers = 0');
my $org = $t->organization('acme', plan => 'enterprise');
my $other = $t->organization('other', plan => 'pro');
my $path = '/api/v1/alert-rules';

sub ask
{
	my ($method, $where, $expected, $name, %options) = @_;
	my $r = $t->http($method => $where, token => $org->{token}, %options);
	is($r->{status} . ($r->{json}{code} ? " $r->{json}{code}" : ''), $expected, $name) or diag $r->{content};
	return $r->{json}{data} // $r->{json};
}

sub rule
{
	my (%more) = @_;
	return { name => 'errors', query => 'level=error', condition => { kind => 'count', op => '>', threshold => 5 }, %more };
}

# ---- a rule ----

my $made = ask(POST => $path, 201, 'a rule is made', json => rule());
like($made->{id}, qr/^rule_\w{26}$/, 'its id');
my @shown = qw(enabled severity state schedule groupBy notify repeatSeconds missed version);
is_deeply({ map { $_ => $made->{$_} } @shown },
	{ enabled => JSON::PP::true, severity => 'warning', state => 'ok', groupBy => [], notify => [], repeatSeconds => undef,
		schedule => { everySeconds => 60, lookback => '5m', delaySeconds => 0 }, missed => 0, version => 1 }, 'defaults');
ok($made->{nextEvaluationAt}, 'it is due');
my $one = "$path/$made->{id}";
is_deeply(ask(GET => $one, 200, 'it is read'), $made, 'as it was made');
is(ask(PATCH => $one, 200, 'it is changed', json => { schedule => { everySeconds => 10 } },
		headers => { 'If-Match' => '"1"' })->{schedule}{lookback}, '5m', 'member by member');
ask(PATCH => $one, '412 VERSION_CONFLICT', 'an old version', json => { severity => 'info' }, headers => { 'If-Match' => '1' });
foreach my $list ($path, '/api/v1/alerts')
{
	my $details = ask(GET => "$list?severity=high", '400 VALIDATION_ERROR', "$list of no severity")->{details};
	is_deeply([ map { "$_->{path}: $_->{message}" } @{ $details // [] } ], ['severity: must be info, warning or critical'], 'which they are');
}
ask(POST => $path, 201, "condition $_->{kind}", json => rule(condition => $_)) foreach { kind => 'absence' },
	{ kind => 'newTemplate', days => 3 }, { kind => 'value', column => 'ms', op => '>=', threshold => 1.5, forSeconds => 60 };
ask(POST => $path, 201, 'with all that there is', json => rule(description => 'd', groupBy => [ 'service', 'user.id', 'a b' ],
	severity => 'critical', repeatSeconds => 600, labels => { team => 'web' }, runbookUrl => 'https://wiki.example/r?x=1#y',
	notify => [ { kind => 'email', target => $org->{email} }, { kind => 'webhook', target => 'https://hooks.example/x' } ],
	schedule => { everySeconds => 30, lookback => '90s', delaySeconds => 5 }));
my $saved = ask(POST => '/api/v1/saved-queries', 201, 'a saved query', json => { name => 's', q => 'level=error' })->{id};
my $by = ask(POST => $path, 201, 'a rule names it', json => { %{ rule() }, query => undef, savedQueryId => $saved });
ask(DELETE => "/api/v1/saved-queries/$saved", '409 IN_USE', 'and it stays');

# ---- what can never match ----

$t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'one', service => 'checkout', level => 'info', attributes => { ms => 1 } });
sub codes { return join ' ', map { "$_->{path} $_->{code}" } @{ $_[0]{warnings} } }
my $never = ask(POST => $path, 201, 'a rule that never matches', json => rule(query => 'servce=checkout level=eror'));
is(codes($never), 'query UNKNOWN_FIELD query UNKNOWN_LEVEL', 'is warned about');
is_deeply(ask(GET => "$path/$never->{id}", 200, 'it is read'), $never, 'with the same warnings');
is(codes(ask(PATCH => "$path/$never->{id}", 200, 'sent back and mended', json => { %$never, query => 'service=checkout level=error' })), '', 'none are left');
is(codes(ask(POST => $path, 201, 'one row', json => rule(query => 'service=checkout | stats count'))), 'query ALWAYS_ONE_ROW', 'is said');
my $typo = ask(POST => '/api/v1/saved-queries', 201, 'a saved query', json => { name => 't', q => 'level="custom typo"' })->{id};
is(codes(ask(POST => $path, 201, 'a rule with it', json => { %{ rule() }, query => undef, savedQueryId => $typo })), 'savedQueryId UNKNOWN_LEVEL', 'that of a saved query');
ok(!(grep { $_->{warnings} } @{ ask(GET => $path, 200, 'a list') }), 'lists look at nothing');
is_deeply($t->http(GET => '/api/v1/logs?level=eror', token => $org->{token})->{json}{meta}{warnings},
	[ { code => 'UNKNOWN_LEVEL', message => 'no event has level eror: did you mean error?' } ], 'events by level say so, too');

# ---- what is refused ----

foreach my $case (
	[ 'query', query => 'level=error | stat count' ], [ 'query', query => 'x earliest=-1h' ],
	[ 'query', query => 'x latest=now' ], [ 'query', query => 'index=_audit *' ], [ 'query', query => 'index=_test' ],
	[ 'query', query => 'index IN (main, _audit)' ], [ 'query', query => 'index=nowhere' ], [ 'query', query => undef ],
	[ 'query', savedQueryId => $saved ],
	[ 'schedule.lookback', schedule => { lookback => '' } ], [ 'schedule.everySeconds', schedule => { everySeconds => 9 } ],
	[ 'schedule.delaySeconds', schedule => { delaySeconds => -1 } ],
	[ 'condition.kind', condition => { kind => 'x' } ], [ 'condition.op', condition => { kind => 'count', threshold => 1 } ],
	[ 'condition.threshold', condition => { kind => 'count', op => '>' } ],
	[ 'condition.op', condition => { kind => 'count', op => '~', threshold => 1 } ],
	[ 'condition.column', condition => { kind => 'value', op => '>', threshold => 1 } ],
	[ 'condition.column', query => '* | stats count by service', condition => { kind => 'value', column => 'ms', op => '>', threshold => 1 } ],
	[ 'groupBy', query => '* | stats count', groupBy => ['service'] ],
	[ 'groupBy', groupBy => [ 1 .. 6 ] ], [ 'groupBy', groupBy => [ 'a', 'a' ] ], [ 'groupBy', groupBy => ['a`b'] ],
	[ 'groupBy', groupBy => ['service'], condition => { kind => 'newTemplate' } ],
	[ 'notify[0].kind', notify => [ { kind => 'sms', target => '123' } ] ],
	[ 'notify[0].target', notify => [ { kind => 'email', target => 'nobody' } ] ],
	[ 'notify[1].target', notify => [ { kind => 'email', target => $org->{email} }, { kind => 'webhook', target => 'ftp://x' } ] ],
	[ 'runbookUrl', runbookUrl => 'javascript:alert(1)' ], [ 'labels', labels => { 'a b' => 'x' } ],
	[ 'labels.a', labels => { a => 1 } ], [ 'repeatSeconds', repeatSeconds => 5 ], [ 'severity', severity => 'high' ],
	[ 'surprise', surprise => 1 ])
{
	my ($where, %change) = @$case;
	my $lookbacks = $change{schedule} && exists $change{schedule}{lookback};
	foreach my $lookback ($lookbacks ? qw(0s 31d 5 m 1.5h -5m 5m5) : 'none')
	{
		$change{schedule}{lookback} = $lookback if $lookback ne 'none';
		my $r = ask(POST => $path, '400 VALIDATION_ERROR', "refused: $where " . json_encode($change{ (split /[.\[]/, $where)[0] }),
			json => rule(%change));
		is(($r->{details} // [])->[0]{path} =~ s/^groupBy\[.*/groupBy/r, $where, 'with its path');
	}
}

# All that is wrong is said at once.
sub wrong_paths { my ($body, @to) = @_; return join ' ', map { $_->{path} } @{ ask(POST => $to[0] // $path, '400 VALIDATION_ERROR', 'refused', json => $body)->{details} }; }
is(wrong_paths({ name => 'x' }), 'condition query', 'a rule with a name only');
is(wrong_paths(rule(condition => { kind => 'count' })), 'condition.op condition.threshold', 'members of a condition');
is(wrong_paths(rule(query => '* | stat', schedule => { lookback => '5' }, labels => { 'a b' => 'x' }, condition => { kind => 'value', op => '>' },
	notify => [ { kind => 'webhook', target => 'ftp://x' }, { kind => 'email', target => 'nobody@else.example' } ])),
	'query', 'what the schema says comes first');
is(wrong_paths(rule(query => 'index=nowhere', schedule => { lookback => '5' }, labels => { 'a b' => 'x' }, condition => { kind => 'value', op => '>' },
	savedQueryId => $saved, notify => [ { kind => 'webhook', target => 'ftp://x' }, { kind => 'email', target => 'nobody@else.example' } ])),
	'notify[0].target notify[1].target condition.column condition.threshold schedule.lookback labels query', 'then all the rest');
is(ask(POST => $path, '400 VALIDATION_ERROR', 'a misspelt member', json => rule(serverity => 'info'))->{details}[0]{message},
	'this member is not known here: did you mean severity?', 'gets the nearest name');
is(wrong_paths({ rule => { query => '*' }, tests => [] }, "$path/test"), 'rule.condition', 'the rule of a test is inside of the body');
is(wrong_paths({ rule => { query => '*', condition => { kind => 'count' } }, tests => [ { name => 'x' } ] }, "$path/test"),
	'tests[0].expect', 'and tests are beside it');
is($t->http(POST => $path, token => $org->{token}, json => [])->{json}{error} // '', 'expected a JSON object of at most 50,000 values on 24 levels, '
	. 'with numbers that a double holds', 'no path: no colon');
my $index_key = $t->sql_json("SELECT logsvc.create_token('acme', '$org->{email}', 'only alerts', '{alerts:write}')")->{token};
is($t->http(POST => $path, token => $index_key, json => rule(query => 'index=nowhere'))->{status}, 201,
	'who may not read events learns nothing of indexes');

# ---- enable, disable ----

my $off = ask(POST => "$one/disable", 200, 'it is disabled');
is_deeply([ @{$off}{qw(enabled nextEvaluationAt version)} ], [ JSON::PP::false, undef, 3 ], 'and never due');
is(ask(POST => "$one/disable", 200, 'again')->{version}, 3, 'changes nothing');
ok(ask(POST => "$one/enable", 200, 'it is enabled')->{nextEvaluationAt}, 'and due');
is($t->sql("SELECT string_agg(a.action, ' ' ORDER BY number) FROM logsvc_internal.audit_entry a WHERE a.resource = '$made->{id}'"),
	'alert_rule.created alert_rule.updated alert_rule.updated alert_rule.disabled alert_rule.updated alert_rule.enabled',
	'the audit log has it');
ask(GET => "$path?enabled=false", 200, 'those that are disabled');

# ---- alerts ----

sub alert
{
	my ($severity, $seconds) = @_;
	my ($id) = $t->sql("INSERT INTO logsvc_internal.alert (organization_id, rule_id, rule_name, severity, key, group_key,
			value, threshold, search, started_at, last_seen_at)
		SELECT organization_id, id, name, '$severity', gen_random_uuid(), '{\"service\": \"web\"}', '7', '5',
			'{\"q\": \"level=error | where a = \\\"b c\\\"\", \"earliest\": \"2026-01-01T00:00:00.000Z\", \"latest\": \"2026-01-01T00:05:00.000Z\"}',
			now() - interval '$seconds s', now()
		FROM logsvc_internal.resource WHERE logsvc_internal.public_id('rule_', id) = '$made->{id}'
		RETURNING logsvc_internal.public_id('alr_', id)") =~ /(alr_\w+)/;
	return $id;
}
my @alerts = map { alert($_ % 2 ? 'warning' : 'critical', 100 - $_) } 1 .. 5;
my $alerts = '/api/v1/alerts';
my $list = ask(GET => $alerts, 200, 'alerts are listed');
is_deeply([ map { $_->{id} } @$list ], [ reverse @alerts ], 'the newest first');
@shown = qw(ruleId ruleName severity status value threshold resolvedAt acknowledgedBy);
is_deeply([ @{ $list->[0] }{@shown} ],
	[ $made->{id}, 'errors', 'warning', 'firing', 7, 5, undef, undef ], 'with what they are');
is($list->[0]{search}{url}, '/api/v1/search?q=level%3Derror%20%7C%20where%20a%20%3D%20%22b%20c%22'
	. '&earliest=2026-01-01T00%3A00%3A00.000Z&latest=2026-01-01T00%3A05%3A00.000Z', 'and a link to the search');
my ($page, @seen) = ("$alerts?limit=2");
while ($page)
{
	my $r = $t->http(GET => $page, token => $org->{token})->{json};
	push @seen, map { $_->{id} } @{ $r->{data} };
	$page = $r->{page}{nextCursor} && "$alerts?limit=2&cursor=$r->{page}{nextCursor}";
}
is_deeply(\@seen, [ reverse @alerts ], 'page by page');
is(scalar @{ ask(GET => "$alerts?severity=critical", 200, 'of one severity') }, 2, 'two');
is(scalar @{ ask(GET => "$alerts?ruleId=$by->{id}", 200, 'of another rule') }, 0, 'none');
ask(GET => "$alerts?status=open&severity=$_", '400 VALIDATION_ERROR', "severity $_") foreach 'x';
ask(GET => "$alerts?status=x", '400 VALIDATION_ERROR', 'a status that there is not');
is($t->http(GET => "$alerts/$alerts[0]", token => $org->{read_key})->{status}, 200, 'read-only keys read alerts');
is($t->http(GET => $path, token => $org->{read_key})->{status}, 403, 'and no rules');
is($t->http(GET => "$alerts/$alerts[0]", token => $other->{token})->{status}, 404, 'another organization does not');
my $acknowledged = ask(POST => "$alerts/$alerts[0]/acknowledge", 200, 'one is acknowledged', json => { note => 'mine' });
like($acknowledged->{acknowledgedBy}, qr/^usr_/, 'by somebody');
is($acknowledged->{note}, 'mine', 'with a note');
is(scalar @{ ask(GET => $alerts, 200, 'it fires no more') }, 4, 'for the list');
is_deeply([ map { $_->{id} } @{ ask(GET => "$alerts?status=acknowledged", 200, 'but is there') } ], [ $alerts[0] ], 'as such');
my $resolved = ask(POST => "$alerts/$alerts[0]/resolve", 200, 'it is resolved');
is_deeply([ @{$resolved}{qw(status note)} ], [ 'resolved', 'mine' ], 'as such');
ask(POST => "$alerts/$alerts[0]/acknowledge", '409 ALERT_RESOLVED', 'too late to acknowledge it');
is(ask(POST => "$alerts/$alerts[0]/resolve", 200, 'again')->{resolvedAt}, $resolved->{resolvedAt}, 'changes nothing');
is(ask(POST => "$alerts/$alerts[0]/resolve", 200, 'a note comes later', json => { note => 'done' })->{note}, 'done', 'and is kept');
is($t->sql("SELECT string_agg(a.action, ' ' ORDER BY number) FROM logsvc_internal.audit_entry a WHERE a.resource = '$alerts[0]'"),
	'alert.acknowledged alert.resolved alert.noted', 'the audit log has them');
ask(POST => "$one/disable", 200, 'the rule is disabled');
is_deeply(ask(GET => "$alerts?status=open", 200, 'and its alerts'), [], 'are resolved');
$t->sql("UPDATE logsvc_internal.alert SET resolved_at = now() - interval '91 days' WHERE status = 'resolved' AND severity = 'critical'");
$t->sql('SELECT logsvc_internal.purge_alerts(now())');
is(scalar @{ ask(GET => "$alerts?status=all", 200, 'after 90 days') }, 3, 'they are gone');

# ---- the plan, deletion ----

$t->sql("SELECT logsvc.set_limit('acme', 'alert_rules', (SELECT count(*)::int FROM logsvc_internal.resource WHERE kind = 'alert_rule') + 1)");
my $last = ask(POST => $path, 201, 'the last of the plan', json => rule());
ask(POST => $path, '403 PLAN_LIMIT_REACHED', 'one more', json => rule());
my $open = alert('info', 1);
ask(DELETE => $one, 204, 'a rule is deleted');
is(ask(GET => "$alerts/$open", 200, 'its alert stays')->{status}, 'resolved', 'resolved');
ask(GET => $one, '404 NOT_FOUND', 'the rule is gone');

$t->stop;
done_testing();
