# Dashboards over HTTP: what is refused, what panels find, variables and attacks, sharing, files.
use strict;
use warnings;

use LogsvcTest;
use JSON::PP;
use Test::More;

my $t = LogsvcTest->new;
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
my $org = $t->organization('acme', plan => 'pro');
my $other = $t->organization('other', plan => 'pro');
$t->sql("SELECT logsvc.create_user('eve\@acme.example'); SELECT logsvc.add_member('acme', 'eve\@acme.example', 'member')");
my $eve = $t->sql_json("SELECT logsvc.create_token('acme', 'eve\@acme.example', 'x', "
	. "ARRAY['dashboards:read', 'dashboards:write', 'logs:read'])")->{token};
my $path = '/api/v1/dashboards';

sub ask
{
	my ($method, $where, $expected, $name, %options) = @_;
	my $r = $t->http($method => $path . $where, token => $org->{token}, %options);
	is($r->{status} . ($r->{json}{code} ? " $r->{json}{code}" : ''), $expected, $name) or diag $r->{content};
	return $r->{json};
}

sub create
{
	my (%dashboard) = @_;
	return ask(POST => '', 201, $dashboard{name}, json => \%dashboard)->{data};
}

# The panels of a load; `body` as the request has it.
sub load
{
	my ($dashboard, $body, %options) = @_;
	my $r = ask(POST => "/$dashboard->{id}/data", 200, 'a load', json => $body // {}, %options);
	return $r->{data}{panels};
}

my @events;
push @events, { event => "request $_ answered", level => $_ % 4 ? 'info' : 'error', service => $_ % 2 ? 'api' : 'web "x"',
	attributes => { status => $_ % 5 ? 200 : 500, ms => $_, path => $_ % 3 ? '/a' : '/b|c' } } foreach 1 .. 60;
is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events => \@events })->{status}, 202,
	'events');
is($t->http(POST => '/api/v1/logs/batch', token => $other->{ingest_key}, json => { events => [{ event => 'foreign', service => 'api' }] })
		->{status}, 202, 'of another organization');

# ---- create ----

my $d = create(name => 'one', tags => ['web'], variables => [
		{ name => 'service', kind => 'query', query => '* | stats count by service', multi => JSON::PP::true, default => ['api'] },
		{ name => 'level', kind => 'list', values => [ 'info', 'error' ], default => 'error' },
		{ name => 'low', kind => 'text', default => '50' } ],
	panels => [
		{ title => 'requests', kind => 'stat', query => 'service=$service | stats count' },
		{ title => 'levels', kind => 'table', query => 'level=$level | stats count by service | sort service' },
		{ title => 'slow', kind => 'logs', query => '* | where ms > $low', layout => { x => 0, y => 0, w => 24, h => 4 } },
		{ id => 'p2', title => 'all', kind => 'stat', query => 'service=$service | stats count',
			options => { unit => 'req', thresholds => [ { value => 10, color => 'red' } ] } },
		{ kind => 'markdown', options => { text => '# hello' } } ]);
like($d->{id}, qr/^dash_\w{26}$/, 'its id');
is_deeply([ map { $_->{id} } @{ $d->{panels} } ], [qw(p1 p3 p4 p2 p5)], 'panels get ids');
is_deeply($d->{panels}[0]{layout}, { x => 0, y => 4, w => 12, h => 8 }, 'and a place below the others');
is_deeply($d->{shared}, { kind => 'org' }, 'the organization sees it');
# A chart has a row for each time and series, more than a page of events.
my $chart = create(name => 'chart', panels => [ map { { kind => 'timeseries', query => $_ } }
	'* | timechart span=1m count by level', '* | timechart span=1m limit=9 count by ms' ]);
my $found = load($chart, { range => { earliest => '-20h@m', latest => '+1m@m' } });
is(scalar @{ $found->{p1}{rows} }, 2402, 'all times of two series');
ok(!$found->{p1}{truncated}, 'nothing is left out');
is(scalar @{ $found->{p2}{rows} }, 10000, 'at most 10,000 rows');
is_deeply([ map { $_->{code} } @{ $found->{p2}{warnings} } ], ['SERIES_LIMIT'], 'and a warning');
ask(DELETE => "/$chart->{id}", 204, 'it goes');
my %wrong = (
	'no panels of that kind' => [ { panels => [ { kind => 'map' } ] }, 'panels[0].kind' ],
	'a panel without a query' => [ { panels => [ { kind => 'stat' } ] }, 'panels[0].query' ],
	'a query that is none' => [ { panels => [ { kind => 'stat', query => '* | stat count' } ] }, 'panels[0].query' ],
	'a variable that is not there' => [ { panels => [ { kind => 'stat', query => 'a=$b' } ] }, 'panels[0].query' ],
	'a variable as a name' => [ { variables => [ { name => 'b', kind => 'text' } ],
			panels => [ { kind => 'stat', query => '$b=1' } ] }, 'panels[0].query' ],
	'an id twice' => [ { panels => [ map { { id => 'a', kind => 'stat', query => '*' } } 1, 2 ] }, 'panels[1].id' ],
	'beyond 24 columns' => [ { panels => [ { kind => 'stat', query => '*',
					layout => { x => 20, y => 0, w => 5, h => 1 } } ] }, 'panels[0].layout' ],
	'51 panels' => [ { panels => [ map { { kind => 'stat', query => '*' } } 1 .. 51 ] }, 'panels' ],
	'a saved query that is not there' => [ { panels => [ { kind => 'stat', savedQueryId => 'sq_x' } ] },
		'panels[0].savedQueryId' ],
	'a list without values' => [ { variables => [ { name => 'a', kind => 'list' } ] }, 'variables[0].values' ],
	'a default that is not in its list' => [ { variables => [ { name => 'a', kind => 'list', values => ['x'],
					default => 'y' } ] }, 'variables[0].default' ],
	'a name that is none' => [ { variables => [ { name => 'a b', kind => 'text' } ] }, 'variables[0].name' ],
	'a name twice' => [ { variables => [ map { { name => 'a', kind => 'text' } } 1, 2 ] }, 'variables[1].name' ],
	'a time that is none' => [ { timeRange => { earliest => 'x' } }, 'timeRange.earliest' ],
	'a range that ends before it begins' => [ { timeRange => { earliest => 'now', latest => '-1h' } }, 'timeRange' ],
	'that of a panel' => [ { panels => [ { kind => 'stat', query => '*', timeRange => { earliest => '-1h', latest => '-2h' } } ] },
		'panels[0].timeRange' ],
	'a link before it is there' => [ { shared => { kind => 'link' } }, 'shared.kind' ],
	'markdown with a query' => [ { panels => [ { kind => 'markdown', query => '*' } ] }, 'panels[0].query' ]);
foreach my $name (sort keys %wrong)
{
	my $r = ask(POST => '', '400 VALIDATION_ERROR', $name, json => { name => 'x', %{ $wrong{$name}[0] } });
	is($r->{details}[0]{path}, $wrong{$name}[1], '... and where');
}
my $all = ask(POST => '', '400 VALIDATION_ERROR', 'all that is wrong', json => { name => 'x', shared => { kind => 'private' },
	timeRange => { earliest => 'now', latest => '-1h' },
	variables => [ { name => 'a b', kind => 'text' }, { name => 'l', kind => 'list' } ],
	panels => [ { kind => 'stat' }, { kind => 'markdown', query => '*' }, { kind => 'stat', query => '* | stat' } ] }, token => $org->{full_key});
is(join(' ', map { $_->{path} } @{ $all->{details} }), 'shared.kind timeRange variables[0].name variables[1].values '
	. 'panels[0].query panels[1].query', 'is said at once, but for queries whose variables are wrong');
$all = ask(POST => '', '400 VALIDATION_ERROR', 'queries', json => { name => 'x', panels => [ map { { kind => 'stat', query => $_ } } '* | stat', '*', 'a=$b' ] });
is(join(' ', map { $_->{path} } @{ $all->{details} }), 'panels[0].query panels[2].query', 'each of them');
is(ask(POST => "/$d->{id}/share", '400 VALIDATION_ERROR', 'private by another', json => { kind => 'private' }, token => $org->{full_key})
	->{details}[0]{path}, 'kind', 'its path');
is(scalar @{ create(name => 'fifty', panels => [ map { { kind => 'stat', query => '*' } } 1 .. 50 ])->{panels} }, 50,
	'fifty panels');

# ---- what panels find ----

my $p = load($d);
is_deeply($p->{p1}{rows}, [ [30] ], 'the default of a variable');
is_deeply($p->{p1}{columns}, [ { name => 'count', type => 'number' } ], 'columns as in a search');
is_deeply($p->{p3}{rows}, [ [ 'web "x"', 15 ] ], 'a value of a list');
is(scalar @{ $p->{p4}{rows} }, 10, 'a number');
is($p->{p4}{kind}, 'events', 'events');
ok(!exists $p->{p5}, 'markdown has no rows');
my $r = ask(POST => "/$d->{id}/data", 200, 'values of variables', json => { include => ['variables'], panelIds => [] });
is_deeply([ sort @{ $r->{data}{variables}{service}{values} } ], [ 'api', 'web "x"' ], 'of the one with a query');
is_deeply($r->{data}{panels}, {}, 'and no panel');
is_deeply(load($d, { variables => { service => [ 'api', 'web "x"' ] }, panelIds => ['p1'] })->{p1}{rows}, [ [60] ],
	'several values');
is_deeply(load($d, { variables => { service => '*' }, panelIds => ['p1'] })->{p1}{rows}, [ [60] ], 'any value');
is_deeply(load($d, { range => { earliest => '-2d', latest => '-1d' }, panelIds => ['p1'] })->{p1}{rows}, [ [0] ],
	'a range');
ask(POST => "/$d->{id}/data", '400 VALIDATION_ERROR', $_->[0], json => $_->[1])
  foreach [ 'a panel that is not there', { panelIds => ['p9'] } ], [ 'two values for one', { variables => { low => [ 1, 2 ] } } ],
  [ 'a variable that is not there', { variables => { x => 1 } } ], [ 'a range that is none', { range => { earliest => 'x' } } ],
  [ 'an object as value', { variables => { low => {} } } ], [ 'an unknown member', { panel => 'p1' } ];

# Equal queries run once; errors are each panel's own.
my $errors = create(name => 'errors', variables => [ { name => 'n', kind => 'text', default => '5' }, { name => 'none', kind => 'text' } ],
	panels => [ { kind => 'stat', query => '* | stats count' }, { kind => 'stat', query => 'index=nowhere | stats count' },
		{ kind => 'logs', query => '* | head $n' }, { kind => 'stat', query => 'service=$none | stats count' },
		{ kind => 'stat', query => '* | stats count', timeRange => { earliest => '-3d', latest => '-2d' } } ]);
$p = load($errors, { variables => { n => 'x' } });
is_deeply($p->{p1}{rows}, [ [60] ], 'a panel without an error');
is($p->{p2}{error}{code}, 'INDEX_NOT_FOUND', 'an index that is not there');
is($p->{p3}{error}{code}, 'QUERY_SEMANTIC_ERROR', 'a value that does not fit');
is($p->{p3}{error}{details}[0]{position}{offset}, 9, 'and where it stands');
like($p->{p4}{error}{message}, qr/no value/, 'a variable without a value');
is_deeply($p->{p5}{rows}, [ [0] ], 'a range of its own');

# ---- a panel that takes all the time that it has ----

is($t->http(PUT => '/api/v1/lookups/names', token => $org->{token}, body => "service,name\napi,API\n", headers => { 'Content-Type' => 'text/csv' })
	->{status}, 200, 'a lookup table');
my $waits = create(name => 'waits', panels => [ { kind => 'stat', query => '* | stats count' },
		{ kind => 'table', query => '* | lookup names service | stats count by name' }, { kind => 'stat', query => 'level=error | stats count' } ]);
is(scalar @{ load($waits)->{p2}{rows} }, 2, 'three panels');
# Somebody holds the table: longer than any panel waits.
my $holder = $t->node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE logsvc_internal.lookup IN ACCESS EXCLUSIVE MODE');
$t->set('logsvc.lock_timeout', '5min');
$t->set('logsvc.query_timeout', '4s');
$p = load($waits);
is($p->{p2}{error}{code}, 'QUERY_TIMEOUT', 'one that waits is cancelled at the end of its slice');
is_deeply([ $p->{p1}{rows}, $p->{p3}{rows} ], [ [ [60] ], [ [15] ] ], 'the one before and the one after have their rows');
$holder->query_safe('ROLLBACK');
$holder->quit;
$t->sql('ALTER SYSTEM RESET logsvc.query_timeout');
$t->set('logsvc.lock_timeout', '1s');
is(scalar @{ load($waits)->{p2}{rows} }, 2, 'later it has rows, too');
ask(DELETE => "/$waits->{id}", 204, 'deleted');

# ---- attacks by values ----

my $attack = create(name => 'attack', variables => [ { name => 'v', kind => 'text' }, { name => 'w', kind => 'text', multi => JSON::PP::true } ],
	panels => [ { kind => 'stat', query => 'service=$v | stats count' }, { kind => 'stat', query => '* | where service = $v | stats count' },
		{ kind => 'stat', query => 'service IN ($w) | stats count' }, { kind => 'stat', query => '* | where service = $w | stats count' } ]);
foreach my $value ('api" OR service="web', 'x" | head 1 | stats count', '\\', '\\" OR *', '$v', '$w', '*" OR "', 'api) OR (*', '"', "\n| stats count",
	'x" index=_audit "', '`', '| stats count')
{
	$p = load($attack, { variables => { v => $value, w => [ $value, "$value\"" ] } });
	is_deeply([ map { $p->{"p$_"}{rows} // $p->{"p$_"}{error}{message} } 1 .. 4 ], [ ([ [0] ]) x 4 ], "a value only: " . $value =~ s/\n/ /r);
}
$p = load($attack, { variables => { v => 'web "x"', w => [ 'web "x"', 'api' ] } });
is_deeply([ map { $p->{"p$_"}{rows}[0][0] } 1 .. 4 ], [ 30, 30, 60, 60 ], 'the right values find what they say');

# ---- saved queries, versions, who ----

my $saved = $t->http(POST => '/api/v1/saved-queries', token => $org->{token}, json => { name => 's', q => 'service=$v | stats count' })
  ->{json}{data}{id};
my $uses = create(name => 'uses', variables => [ { name => 'v', kind => 'text', default => 'api' } ],
	panels => [ { kind => 'stat', savedQueryId => $saved } ]);
is_deeply(load($uses)->{p1}{rows}, [ [30] ], 'a panel with a saved query');
is($t->http(DELETE => "/api/v1/saved-queries/$saved", token => $org->{token})->{json}{code}, 'IN_USE', 'which cannot be deleted');
my $hidden = $t->http(POST => '/api/v1/saved-queries', token => $eve, json => { name => 'h', q => '*', visibility => 'private' })
  ->{json}{data}{id};
is($t->http(POST => $path, token => $eve, json => { name => 'x', panels => [ { kind => 'stat', savedQueryId => $hidden } ] })->{status},
	400, 'a private query is not for a dashboard that others see');
my $own = $t->http(POST => $path, token => $eve, json => { name => 'own', shared => { kind => 'private' },
		panels => [ { kind => 'stat', savedQueryId => $hidden } ] })->{json}{data}{id};
ok($own, 'but for a private one');
foreach my $request ([ GET => "/$own" ], [ PATCH => "/$own", { name => 'x' } ], [ DELETE => "/$own" ], [ POST => "/$own/data", {} ],
	[ GET => "/$own/export" ], [ POST => "/$own/share", { kind => 'org' } ])
{
	ask($request->[0] => $request->[1], '404 NOT_FOUND', "$request->[0] of a private one by its owner's owner",
		$request->[2] ? (json => $request->[2]) : ());
}
ok(!(grep { $_->{id} eq $own } @{ ask(GET => '', 200, 'a list')->{data} }), 'which is not in lists of others');
is($t->http(PATCH => "$path/$own", token => $eve, json => { shared => { kind => 'org' } })->{status}, 400,
	'it is not shown while it has a private query');
ask(PATCH => "/$d->{id}", '412 VERSION_CONFLICT', 'an old version', json => { name => 'x' }, headers => { 'If-Match' => '7' });
$r = ask(PATCH => "/$d->{id}", 200, 'a change', json => { refreshSeconds => 30 }, headers => { 'If-Match' => '1' });
is($r->{data}{version}, 2, 'is a version');
is_deeply([ @{ $r->{data} }{qw(panels variables)} ], [ @$d{qw(panels variables)} ], 'and changes nothing else');
ask(PATCH => "/$d->{id}", '400 VALIDATION_ERROR', 'a link by PATCH', json => { shared => { kind => 'link' } });
is($t->http(PATCH => "$path/$d->{id}", token => $eve, json => { shared => { kind => 'private' } })->{status}, 400,
	'only its author makes it private');
my ($in_list) = grep { $_->{id} eq $d->{id} } @{ ask(GET => '?tag=web', 200, 'by tag')->{data} };
is($in_list->{panelCount}, 5, 'lists have the number of panels');
ok(!exists $in_list->{panels}, 'and no panels');
is($t->http(POST => "$path/$d->{id}/data", token => $other->{token}, json => {})->{status}, 404, 'another organization');

# ---- as a file ----

my $file = ask(GET => "/$d->{id}/export", 200, 'exported')->{data};
my $again = ask(POST => '/import', 201, 'imported', json => $file)->{data};
is_deeply(ask(GET => "/$again->{id}/export", 200, 'and exported')->{data}, $file, 'it is the same');
is(ask(GET => "/$uses->{id}/export", 200, 'with a saved query')->{data}{panels}[0]{query}, 'service=$v | stats count', 'written out');
is(ask(POST => '/import', 201, 'the whole answer of an export', json => { data => $file })->{data}{name}, $file->{name}, 'is imported too');
ask(POST => "/$d->{id}/data", '400 VALIDATION_ERROR', 'a value that is not in the list', json => { variables => { level => 'nonsense' } });
ask(POST => '/import', '400 VALIDATION_ERROR', 'not such a file', json => { name => 'x' });

# ---- templates, alerts in the range ----

foreach my $case ([ { template => 'index' }, qw(service status path) ], [ { template => 'http-service', service => 'api' }, qw(status ms path) ],
	[ { template => 'usage' } ])
{
	my ($body, @fields) = @$case;
	my $made = ask(POST => '/from-template', 201, "template $body->{template}", json => $body)->{data};
	my $queries = join "\n", map { $_->{query} // '' } @{ $made->{panels} };
	like($queries, qr/\b$_\b/, "with what was found: $_") foreach @fields;
	my $found = load($made);
	is_deeply([ grep { $found->{$_}{error} } sort keys %$found ], [], 'its panels find something') or diag encode_json($found);
	is($found->{p1}{rows}[0][0] // $found->{p2}{rows}[0][0], $body->{service} ? 30 : 60, 'that is right');
	ask(DELETE => "/$made->{id}", 204, 'deleted');
}
ask(POST => '/from-template', '400 VALIDATION_ERROR', "not a template: @{[ %$_ ]}", json => $_)
  foreach { template => 'x' }, { template => 'index', index => 'a b' }, { template => 'index', index => 'main | stats count' };
ask(POST => '/from-template', '404 INDEX_NOT_FOUND', 'an index that is not there', json => { template => 'index', index => 'nowhere' });
is($t->http(POST => "$path/from-template", token => $other->{token}, json => { template => 'http-service' })->{status}, 400,
	'no fields of requests');
$t->sql(q{INSERT INTO logsvc_internal.alert (organization_id, rule_id, rule_name, severity, key, group_key, search, started_at, last_seen_at)
	SELECT o.id, logsvc_internal.new_id(), o.slug || n, 'info', n::text, '{}', '{}', now() - n * interval '1 hour', now()
	FROM logsvc_internal.organization o, generate_series(1, 30, 29) AS n WHERE o.slug IN ('acme', 'other')});
is_deeply([ map { "$_->{ruleName} $_->{severity} $_->{status}" } @{ ask(POST => "/$d->{id}/data", 200, 'with alerts', json => {})
	  ->{data}{annotations} } ], ['acme1 info firing'], 'those that fired in the range');

# ---- more statements than an executor keeps: that of the request is among them ----

my $wide = create(name => 'wide', panels => [ map { { kind => 'table', query => '* | stats count'
		. join('', map { ", max(ms) AS m$_" } 1 .. $_) } } 1 .. 45 ]);
foreach my $round (1 .. 12)
{
	my $found = load($wide);
	is_deeply([ grep { $found->{"p$_"}{rows}[0][$_] != 60 } 1 .. 45 ], [],
		"load $round of 45 panels that differ");
}
ask(DELETE => "/$wide->{id}", 204, 'deleted');

# ---- limits, audit ----

$t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.set_limit('acme', 'dashboards', 8)");
my $count = $t->sql("SELECT count(*) FROM logsvc_internal.resource WHERE kind = 'dashboard'");
is($count, 8, 'eight dashboards');
ask(POST => '', '403 PLAN_LIMIT_REACHED', 'and no ninth', json => { name => 'x' });
ask(DELETE => "/$again->{id}", 204, 'one is deleted');
ask(GET => "/$again->{id}", '404 NOT_FOUND', 'and gone');
is($t->sql("SELECT string_agg(DISTINCT action, ' ') FROM logsvc_internal.audit_entry WHERE resource_type = 'dashboard'"),
	'dashboard.created dashboard.deleted dashboard.updated', 'the audit log has it');

$t->stop;
done_testing();
