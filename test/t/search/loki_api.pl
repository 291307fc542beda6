# Loki's read API, as Grafana and logcli ask it: labels, series, logs, metrics, and what is refused.
use strict;
use warnings;

use LogsvcTest;
use MIME::Base64 qw(encode_base64);
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'");
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
my $org = $t->organization('acme');
my $other = $t->organization('other');

# An hour of six events a minute from a whole hour on, that is over.
my $start = 3600 * int((time - 7200) / 3600);
my @events = map {
	{ timestamp => $start + 10 * $_ + 5, level => $_ % 3 ? 'info' : 'error', service => $_ % 2 ? 'web' : 'pay',
		event => "Request $_ took=" . ($_ % 7) . 'ms',
		attributes => { env => 'prod', host => "h" . $_ % 2, 'k8s.pod.name' => 'pod-1', user => "u$_" } }
} 0 .. 359;
my $sent = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events => \@events });
is($sent->{status}, 202, 'events are sent') or diag $sent->{content};
$t->http(POST => '/loki/api/v1/push', token => $org->{ingest_key}, json => { streams => [
	{ stream => { app => 'agent', level => 'warn' },
		values => [ [ "${start}000000001", '{"status": 500, "path": "/a.b", "user": {"id": 7}}', { order => '4711' } ],
			[ ($start + 1) . '000000000', 'status=404 path=/c' ] ] } ] });
$t->http(POST => '/api/v1/logs', token => $other->{ingest_key},
	json => { timestamp => $start + 30, event => 'of another', service => 'secret' });

sub escaped { my ($v) = @_; $v =~ s/([^A-Za-z0-9_.-])/sprintf '%%%02X', ord $1/ge; return $v; }

sub form { my @p = @_; my @out; while (my ($n, $v) = splice @p, 0, 2) { push @out, escaped($n) . '=' . escaped($v); } return join '&', @out; }

sub loki
{
	my ($path, @parameters) = @_;
	return $t->http(GET => "/loki/api/v1/$path?" . form(@parameters), token => $org->{read_key});
}
my @range = (start => "${start}000000000", end => ($start + 3600) . '000000000');

sub result
{
	my ($path, %parameters) = @_;
	my $r = loki($path, %parameters);
	is($r->{status}, 200, "$path $parameters{query}") or diag $r->{content};
	return $r->{json}{data}{result};
}

sub lines
{
	my ($query, %more) = @_;
	return [ map { $_->[1] } sort { $a->[0] <=> $b->[0] } map { @{ $_->{values} } }
		  @{ result('query_range', query => $query, @range, %{ { limit => 5000, %more } }) } ];
}

sub refused
{
	my ($like, $path, @parameters) = @_;
	# A long one is sent as a form: header fields have a limit of their own.
	my $r = length form(@parameters) < 8000 ? loki($path, @parameters)
	  : $t->http(POST => "/loki/api/v1/$path", token => $org->{read_key}, body => form(@parameters),
		headers => { 'Content-Type' => 'application/x-www-form-urlencoded' });
	is($r->{status}, 400, "$path is refused");
	like($r->{content}, $like, '... ' . substr($r->{content}, 0, 90));
	like($r->{headers}{'content-type'} // 'text/plain', qr{^text/plain}, '... as a text');
	return;
}

# ---- the data source's own check, as Grafana's pkg/tsdb/loki/healthcheck.go ----

is_deeply(result('query', query => 'vector(1)+vector(1)', time => '4', limit => 100),
	[ { metric => {}, value => [ 4, '2' ] } ], "Grafana's check of a data source");

# ---- labels ----

my $labels = loki('labels', @range)->{json};
is_deeply($labels->{data}, [qw(app env host index k8s_pod_name level service_name)], 'labels');
is_deeply(loki('label/service_name/values', @range)->{json}{data}, [qw(agent pay web)], 'values');
is_deeply(loki('label/service_name/values', @range, query => '{host="h1"}')->{json}{data}, ['web'],
	'... of a selector');
is_deeply(loki('label/detected_level/values', @range)->{json}{data}, [qw(error info warn)], '... of levels');
is_deeply(loki('label/none/values', @range)->{json}{data}, [], '... of nothing');
is_deeply(loki('series', @range, 'match[]' => '{host="h1", level="error"}', 'match[]' => '{app="agent"}')->{json}{data},
	[ { app => 'agent', index => 'main', level => 'warn', service_name => 'agent' },
		{ env => 'prod', host => 'h1', index => 'main', k8s_pod_name => 'pod-1', level => 'error', service_name => 'web' } ],
	'series of two selectors');

# ---- logs ----

is(scalar @{ lines('{service_name=~".+"}') }, 362, 'all lines');
# The head of a query takes index=name as where to look; here it is a label like others.
is(scalar @{ lines($_) }, 362, $_)
	foreach '{index="main"}', '{index=~"ma.+", service_name=~".+"}', '{service_name=~".+"} | index="main"',
	'{index!="other"}', '{service_name=~".+", index=~"main|other"} |~ ".*" | index != "other"';
is(scalar @{ lines($_) }, 0, $_)
	foreach '{index!="main"}', '{index=""}', '{index!~"m.*"}', '{service_name=~".+"} | index="other"';
is_deeply(lines('{service_name=~".+", index="main"} | index="other" or app="agent"'), lines('{app="agent"}'),
	'the index in a condition with or');
is_deeply(lines('{index="main"} | json | app="agent"'), lines('{app="agent"} | json'), '... before a stage');
is_deeply(loki('series', @range, 'match[]' => '{index="main", app="agent"}')->{json}{data},
	[ { app => 'agent', index => 'main', level => 'warn', service_name => 'agent' } ], '... of series');
is(scalar @{ lines('{service_name="pay", level!="error"}') }, 120, 'labels');
is(scalar @{ lines('{service_name=~"pa.|x"} | detected_level="error"') }, 60, 'a label filter');
is(scalar @{ lines('{k8s_pod_name="pod-1", host!~"h[1-9]"}') }, 180, 'a label with another name');
is(scalar @{ lines('{app!~"ag.*"}') }, 360, 'a label that is missing');
is(scalar @{ lines('{app=~"(agent)?"}') }, 362, '... and an expression that matches nothing');
is_deeply(lines('{env="prod"} |= "Request 35 "'), ['Request 35 took=0ms'], '|=');
is_deeply(lines('{env="prod"} |= "request 35 "'), [], '... counts case');
is(scalar @{ lines('{env="prod"} != "Request 1"') }, 360 - 1 - 10 - 100, '!=');
is(scalar @{ lines('{env="prod"} != "request 1"') }, 360, '... counts case');
is(scalar @{ lines('{env="prod"} |~ "took=[12]ms" !~ "1ms"') }, 52, '|~ and !~');
is(scalar @{ lines('{env="prod"} |= "k=1" or "k=2"') }, 104, 'or');
is(scalar @{ lines('{env="prod"} | level="error", service_name="pay" or service_name="web"') }, 120,
	'a comma joins all that follows');
is_deeply(lines('{app="agent"} |= `"/a.b"` | json | status >= 500 | user_name=""'),
	['{"status": 500, "path": "/a.b", "user": {"id": 7}}'], 'json');
is_deeply(lines('{app="agent"} | logfmt | status = "404" | path="/c"'), ['status=404 path=/c'], 'logfmt');
is_deeply(lines('{app="agent"} | json | logfmt | drop __error__, __error_details__ | status=~"4.."'),
	['status=404 path=/c'], 'what Logs Drilldown writes');

my $r = loki('query_range', query => '{app="agent"} | json', @range, limit => 1, direction => 'forward')->{json};
is($r->{status}, 'success');
is($r->{data}{resultType}, 'streams');
is_deeply($r->{data}{result}, [ { stream => { app => 'agent', index => 'main', level => 'warn', detected_level => 'warn',
		service_name => 'agent', order => '4711', status => '500', path => '/a.b', user_id => '7' },
	values => [ [ "${start}000000000", '{"status": 500, "path": "/a.b", "user": {"id": 7}}' ] ] } ],
	'the oldest line, as a stream');
cmp_ok($r->{data}{stats}{summary}{totalEntriesReturned}, '==', 1, '... with figures');
is_deeply(lines('{env="prod"}', limit => 2), [ 'Request 358 took=1ms', 'Request 359 took=2ms' ], 'the newest first');

# ---- metrics ----

# The 60 events of each 10 minutes.
my @steps = (step => '10m', start => $start + 600, end => $start + 3600);
is_deeply(result('query_range', query => 'sum(count_over_time({env="prod"}[10m]))', @steps),
	[ { metric => {}, values => [ map { [ $start + 600 * $_, '60' ] } 1 .. 6 ] } ], 'a count');
is_deeply(result('query_range', query => 'sum by (service_name, detected_level) (rate({env="prod"}[1000s]))', @steps,
		start => $start + 1000, end => $start + 1000)->[0],
	{ metric => { service_name => 'pay', detected_level => 'error' }, values => [ [ $start + 1000, '0.017' ] ] },
	'a rate by labels');
is_deeply([ map { scalar @{ $_->{values} } } @{ result('query_range', query => 'count_over_time({env="prod"}[10m])', @steps) } ],
	[ 6, 6, 6, 6 ], 'a series for each stream');
is_deeply(result('query_range', query => 'sum(count_over_time({env="prod"}[7m]))', start => $start, end => $start + 1260,
		step => 180),
	[ { metric => {}, values => [ map { [ $start + 180 * $_, $_ < 3 ? 18 * $_ : 42 ] } 1 .. 7 ] } ],
	'windows that overlap');
is_deeply(result('query_range', query => 'sum(count_over_time({env="prod"}[1m]))', start => $start + 5, end => $start + 605,
		step => 300),
	[ { metric => {}, values => [ [ $start + 5, '1' ], [ $start + 305, '6' ], [ $start + 605, '6' ] ] } ],
	'a window has its end and not its start');
is_deeply(result('query', query => 'sum by (level) (count_over_time({env="prod"}[1h]))', time => $start + 3600),
	[ { metric => { level => 'error' }, value => [ $start + 3600, '120' ] },
		{ metric => { level => 'info' }, value => [ $start + 3600, '240' ] } ], 'at one time');
is_deeply(result('query', query => 'topk(1, sum by (level) (count_over_time({env="prod"}[1h])))', time => $start + 3600),
	[ { metric => { level => 'info' }, value => [ $start + 3600, '240' ] } ], 'topk');
is_deeply(result('query', query => 'count(sum by (host, level) (rate({env="prod"}[1h])))', time => $start + 3600),
	[ { metric => {}, value => [ $start + 3600, '4' ] } ], 'count');
is_deeply(result('query', query => 'avg(sum by (level) (count_over_time({env="prod"}[1h]))) > 0100', time => $start + 3600),
	[ { metric => {}, value => [ $start + 3600, '180' ] } ], 'an average, and a comparison');
is_deeply(result('query', query => 'sum without (index, env, host, k8s_pod_name, level) (count_over_time({env="prod"}[1h]))',
		time => $start + 3600),
	[ map { { metric => { service_name => $_ }, value => [ $start + 3600, '180' ] } } qw(pay web) ], 'without');
is_deeply(result('query', query => 'max_over_time({app="agent"} | json | unwrap status [1h]) by (app)', time => $start + 60),
	[ { metric => { app => 'agent' }, value => [ $start + 60, '500' ] } ], 'unwrap');
my $bytes = 0;
$bytes += length $_->{event} foreach @events;
# Numbers are those of float8, however many digits or zeros they have in JSON.
$t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, body => '{"events": [' . join(',', map {
	sprintf '{"timestamp": %d, "event": "n", "service": "numbers", "attributes": {"n": %s, "m": %s}}', $start + 60 * $_->[0], @$_[ 1, 2 ]
} [ 1, '1e307', '0.1' ], [ 2, '9e307', '0.2' ], [ 3, '9e307', '12345678901234567' ], [ 4, '1' . '0' x 400, '1e-400' ]) . ']}');
is_deeply(result('query_range', query => 'sum_over_time({service_name="numbers"} | unwrap n [1m]) by (app)', step => 60,
		start => $start + 60, end => $start + 180)->[0]{values},
	[ [ $start + 60, '1e+307' ], [ $start + 120, '9e+307' ], [ $start + 180, '9e+307' ] ], 'large numbers');
is_deeply(result('query', query => 'sum(sum_over_time({service_name="numbers"} | unwrap n [3m]))', time => $start + 180)->[0]{value},
	[ $start + 180, '+Inf' ], '... together are beyond all');
is_deeply(result('query', query => 'sum(sum_over_time({service_name="numbers"} | unwrap m [1m])) == 12345678901234568', time => $start + 180)->[0]{value},
	[ $start + 180, '1.2345678901234568e+16' ], 'many digits');
is_deeply(result('query', query => 'sum(sum_over_time({service_name="numbers"} | unwrap m [2m]))', time => $start + 120)->[0]{value},
	[ $start + 120, '0.3' ], 'small numbers');
is_deeply(result('query', query => 'sum(bytes_over_time({env="prod"}[1h]))', time => $start + 3600),
	[ { metric => {}, value => [ $start + 3600, "$bytes" ] } ], 'bytes');
is_deeply(result('index/volume', query => '{env="prod"}', @range, targetLabels => 'env'),
	[ { metric => { env => 'prod' }, value => [ $start + 3600, "$bytes" ] } ], 'volume');
my $stats = loki('index/stats', query => '{env="prod"}', @range)->{json};
is_deeply([ @$stats{qw(entries bytes)} ], [ 360, $bytes ], 'stats');
like(loki('status/buildinfo')->{json}{revision}, qr/^logsvc /, 'buildinfo');

# ---- parameters and credentials ----

foreach my $at ([ $start + 0.5, $start + 60 ], [ map { strftime_iso($_) } $start, $start + 60 ])
{
	is(scalar @{ result('query_range', query => '{env="prod"}', start => $at->[0], end => $at->[1])->[0]{values} }, 1,
		"from $at->[0]");
}

sub strftime_iso { my @g = gmtime $_[0]; return sprintf '%d-%02d-%02dT%02d:%02d:%02dZ', 1900 + $g[5], $g[4] + 1, @g[ 3, 2, 1, 0 ]; }
$r = $t->http(POST => '/loki/api/v1/query_range', body => form(query => '{env="prod"}', @range, limit => 3),
	headers => { 'Content-Type' => 'application/x-www-form-urlencoded', 'X-Scope-OrgID' => 'other',
		Authorization => 'Basic ' . encode_base64("grafana:$org->{read_key}", '') });
is(scalar(map { @{ $_->{values} } } @{ $r->{json}{data}{result} }), 3, 'a form, with Basic, and another tenant in X-Scope-OrgID');
is_deeply([ map { $_->{stream}{env} } @{ $r->{json}{data}{result} } ], [ ('prod') x 3 ], '... which sees its own');
is($t->http(GET => '/loki/api/v1/labels')->{status}, 401, 'nobody sees nothing');
foreach my $bad ('Basic ' . encode_base64('grafana:password', ''), 'Basic !', 'Digest x')
{
	$r = $t->http(GET => '/loki/api/v1/labels', headers => { Authorization => $bad });
	is($r->{status}, 401, "$bad is refused");
	like($r->{content}, qr/Bearer and a token or key, or Basic with any user and the token or key as password/, '... with what is taken');
}
is($t->http(GET => '/loki/api/v1/labels', token => $org->{ingest_key})->{status}, 403, 'nor does who only sends');
unlike(loki('label/service_name/values', @range)->{content}, qr/secret/, 'labels of others are not seen');
is_deeply(lines('{service_name="secret"}'), [], '... nor are their lines');

# ---- what is refused ----

refused(qr/11,000 points per time series/, 'query_range', query => 'rate({a="b"}[1m])',
	start => $start - 365 * 86400, end => $start, step => '1ns');
refused(qr/only label matchers/, $_, query => '{a="b"} |~ "x"', 'match[]' => '{a="b"} |~ "x"') foreach qw(index/stats index/volume series);
is_deeply(result('query', query => 'min_over_time({env="prod"} | unwrap service_name [1h])', time => $start + 3600), [], 'texts are no points');
refused(qr/end timestamp must not be before/, 'query_range', query => '{a="b"}', start => $start, end => $start - 1);
refused(qr/max_entries_limit_per_query \(999999999 > 5000\)/, 'query_range', query => '{a="b"}', limit => 999999999);
refused(qr/limit must be a positive/, 'query_range', query => '{a="b"}', limit => $_) foreach qw(0 -1 x 00);
refused(qr/max_entries_limit_per_query \(99999999999999999999 > 5000\)/, 'query_range', query => '{a="b"}', limit => '99999999999999999999');
refused(qr/\(9{40}\.\.\. > 5000\)/, 'query_range', query => '{a="b"}', limit => '9' x 400);
refused(qr/zero or negative/, 'query_range', query => 'rate({a="b"}[1m])', step => $_) foreach qw(0 -5 x 0s);
refused(qr/parse error/, 'query_range', query => $_)
  foreach '', '{', '{a}', '{a="b"', '{a="b"} |', 'rate({a="b"})', 'rate({a="b"}[0s])', 'sum(', '{a=~"("})',
  'x' x 20000, '{a="' . 'b' x 20000 . '"}', '(' x 5000 . '{a="b"}';
refused(qr/line_format is not supported/, 'query_range', query => '{a="b"} | line_format "{{.x}}"');
refused(qr/offset is not supported/, 'query_range', query => 'rate({a="b"}[5m] offset 1h)');
refused(qr/arithmetic with metrics is not supported/, 'query_range', query => 'rate({a="b"}[5m]) * 2');
refused(qr/ip\(\) is not supported/, 'query_range', query => '{a="b"} |= ip("10.0.0.0/8")');
refused(qr/not supported as an instant query/, 'query', query => '{a="b"}');
refused(qr/as a time/, 'query_range', query => '{a="b"}', start => $_)
  foreach qw(yesterday 99999999999999999999 -5 2026-99-99T00:00:00Z);
refused(qr/invalid direction/, 'query_range', query => '{a="b"}', direction => 'up');
refused(qr/label name/, 'label/a%22b/values');
refused(qr/names of labels/, 'index/volume', query => '{a="b"}', targetLabels => 'a) | stats count');
refused(qr/number of series \(500\)/, 'query', query => 'sum by (user) (count_over_time({}[1h]))', time => $start + 3600)
  if push_users();
refused(qr/VALIDATION_ERROR/, 'labels', map { ("p$_" => 1) } 1 .. 200);
refused(qr/regular expression/, 'query_range', query => '{a=~"(b"}');
refused(qr/longer than 16384 bytes/, 'query_range', query => '{a=~"' . 'a|' x 9000 . '"}');

# ---- lines with newlines ----

# RE2 without (?s): . is no newline, and $ is the end of the text.
# Selectors are Prometheus's, where . is any character.
$sent = $t->http(POST => '/loki/api/v1/push', token => $org->{ingest_key}, json => { streams => [ { stream => { app => 'multi', host => "one\ntwo" },
	values => [ [ ($start + 2) . '000000000', "first\nsecond end" ], [ ($start + 3) . '000000000', "first\rsecond end\n" ],
		[ ($start + 4) . '000000000', '', { order => '4711' } ] ] } ] });
is($sent->{status}, 204, 'lines with newlines');
is(scalar @{ lines("{app=\"multi\"} $_->[0]") }, $_->[1], $_->[0]) foreach [ '', 3 ],
	[ '|~ "first.second"', 1 ], [ '|~ "(?s)first.second"', 2 ], [ '|~ "first.*end"', 1 ], [ '|~ "first$"', 0 ], [ '|~ "(?m)first$"', 1 ],
	[ '|~ "end$"', 1 ], [ '|~ "^second"', 0 ], [ '!~ "first.second"', 2 ], [ '| host=~"one.two"', 0 ], [ '| host=~"one\\\\stwo"', 3 ],
	[ '| regexp "^first(?P<gap>.)second" | gap != ""', 1 ], [ '| pattern "fi<rest>end" | rest != ""', 2 ];
is(scalar @{ lines($_->[0]) }, $_->[1], $_->[0]) foreach [ '{host=~"one.two"}', 3 ], [ '{host=~"one.+"}', 3 ], [ '{host=~"one.*"}', 3 ],
	[ '{app="multi", host!~"one.two"}', 0 ];
is_deeply(lines('{app="multi"} |= "4711"'), ['{"order":"4711"}'], 'an entry without a line has its metadata as text');

# Answers are copied some times on their way, so they are bounded: 36 MB of lines.
foreach (1 .. 20)
{
	$sent = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events => [
		map { { timestamp => $start + 7200, service => 'large', event => "$_ " . 'large ' x 40_000 } } 1 .. 8 ] });
	is($sent->{status}, 202, 'long lines are sent') or diag $sent->{content};
}
my @large = (query => '{service_name="large"}', start => $start + 7000, end => $start + 7300);
$r = loki('query_range', @large, limit => 5000);
is($r->{status}, 422, 'an answer of more than 32 MB is refused');
like($r->{content}, qr/^QUERY_MEMORY_LIMIT: .*larger than 32 MB: use more specific stream selectors, a shorter time range, or a smaller limit/,
	'... and says what to narrow');
is(scalar @{ result('query_range', @large, limit => 100)->[0]{values} }, 100, 'with a smaller limit it is answered');
is(loki('labels', start => $start + 7000, end => $start + 7300)->{status}, 200, 'labels of long lines');

# More users than a metric has series.
sub push_users
{
	return $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events => [
		map { { timestamp => $start + 60, event => 'x', attributes => { user => "v$_" } } } 1 .. 500 ] })->{status} == 202;
}

done_testing;
