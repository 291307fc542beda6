# brought_bodies.pl: bodies as people bring them from other products and loggers: each is kept with
# its text, level and time, or refused with what to change.  None is accepted and kept only in
# part without a word.
use strict;
use warnings;

use IO::Compress::Gzip qw(gzip);
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new;
my $org = $t->organization('acme');

my %paths = (one => '/api/v1/logs', batch => '/api/v1/logs/batch', lines => '/api/v1/logs/batch',
	text => '/api/v1/logs', texts => '/api/v1/logs/batch', otlp => '/v1/logs', loki => '/loki/api/v1/push', hec => '/services/collector');

sub post
{
	my ($to, $body) = @_;
	my $type = $to eq 'lines' ? 'application/x-ndjson' : $to =~ /^text/ ? 'text/plain' : 'application/json';
	return $t->http(POST => $paths{$to}, token => $org->{ingest_key}, body => $body,
		headers => { 'Content-Type' => $type });
}

my $number = 0;

# Sends a body, in which TEXT is a word of its own; the events that it has become.
sub kept
{
	my ($to, $body) = @_;
	my $text = 'word' . ++$number . 'x';
	my $r = post($to, $body =~ s/TEXT/$text/gr);
	like($r->{status}, qr/^20/, "$to: $body") or diag $r->{content};
	return @{ $t->http(GET => '/api/v1/search', token => $org->{token},
		query => { q => $text, earliest => '2020-01-01', latest => '2099-01-01' })->{json}{data}{rows} };
}

# ---- the text, the level and the service are found ----

foreach my $case (
	[ one => '{"short_message": "TEXT", "level": 3, "host": "h"}', 'error', undef ],
	[ one => '{"textPayload": "TEXT", "severity": "ERROR", "logName": "l"}', 'error', undef ],
	[ one => '{"jsonPayload": {"message": "TEXT"}, "severity": "WARNING", "insertId": "i"}', 'warn', undef ],
	[ one => '{"message": "TEXT", "log": {"level": "error"}, "service": {"name": "pay"}}', 'error', 'pay' ],
	[ batch => '[{"ddsource": "nginx", "ddtags": "env:prod", "message": "TEXT", "service": "pay", "status": "error"}]', 'error', 'pay' ],
	[ one => '{"message": "TEXT", "status": "error"}', undef, undef ],
	[ one => '{"message": "TEXT", "loglevel": "ERROR"}', 'error', undef ],
	[ one => '{"message": "TEXT", "log_level": "warning"}', 'warn', undef ],
	[ one => '{"message": "TEXT", "Severity": "Error"}', 'error', undef ],
	[ one => '{"message": "TEXT", "lvl": "error"}', 'error', undef ],
	[ one => '{"message": "TEXT", "lvl": 7}', undef, undef ],
	[ otlp => '{"resourceLogs": [{"instrumentationLibraryLogs": [{"logRecords": [{"body": {"stringValue": "TEXT"}}]}]}]}', undef, undef ])
{
	my ($to, $body, $level, $service) = @$case;
	my @events = kept($to, $body);
	is_deeply([ map { [ $_->{level}, $_->{service} ] } @events ], [ [ $level, $service ] ],
		'its level and service');
}
is(scalar kept(lines => qq({"message": "TEXT"},\n{"message": "TEXT"} , \r\n{"message": "TEXT"}\n)), 3,
	'lines of an array keep its commas');

# ---- lists in objects, lines of text ----

foreach my $case (
	[ one => '{"logs": [{"message": "TEXT"}, {"message": "TEXT", "level": "error"}]}', 2 ],
	[ batch => '{"logs": [{"message": "TEXT"}]}', 1 ],
	[ one => '{"events": ["TEXT", "TEXT"]}', 2 ],
	[ batch => '[{"common": {"attributes": {"service": "pay", "zone": "z"}}, "logs": [{"message": "TEXT"}, {"message": "TEXT"}]}]', 2 ],
	[ one => '{"messageType": "DATA_MESSAGE", "owner": "1", "logGroup": "g", "logStream": "s", "subscriptionFilters": ["f"], '
		. '"logEvents": [{"id": "1", "timestamp": 1769853600000, "message": "TEXT"}]}', 1 ],
	[ batch => '{"records": [{"value": {"message": "TEXT"}, "key": "k"}, {"value": "TEXT"}]}', 2 ],
	[ one => '{"message": "TEXT", "logs": [1, 2]}', 1 ],
	[ text => "TEXT one\r\n\nTEXT two\n", 2 ], [ texts => "TEXT\n[TEXT\n{ TEXT", 3 ],
	[ text => '{"message": "TEXT", "level": "error"}', 1 ])
{
	my ($to, $body, $n) = @$case;
	my @events = kept($to, $body);
	is(scalar @events, $n, "$n events");
}
my ($paid) = kept(batch => '[{"common": {"attributes": {"service": "pay", "zone": "z"}}, "logs": [{"message": "TEXT"}]}]');
is("$paid->{service} $paid->{attributes}{zone}", 'pay z', 'what they share is in each');
my ($watched) = kept(one => '{"logGroup": "g", "logEvents": [{"message": "TEXT", "timestamp": 1769853600000}]}');
is("$watched->{timestamp} $watched->{attributes}{logGroup}", '2026-01-31T10:00:00.000Z g', 'of a subscription too');
my ($line) = kept(text => '{"message": "TEXT", "level": "error", "n": 1}');
is("$line->{level} $line->{attributes}{n}", 'error 1', 'a line that is JSON is taken apart');
my $partly = post(one => '{"logs": [{"message": "x"}, {"message": "y", "timestamp": "soon"}, 7]}');
is_deeply([ $partly->{status}, $partly->{json}{data}{accepted}, map { "$_->{path} $_->{index}" } @{ $partly->{json}{data}{errors} } ],
	[ 202, 1, 'logs[1].timestamp 1', 'logs[2] 2' ], 'what is refused is named by its place') or diag $partly->{content};
$partly = post(batch => '[{"logs": ["x"]}, {"logs": [{}, "y"]}]');
is($partly->{json}{data}{errors}[0]{path}, '[1].logs[0].event', 'in an array by that of its object too');
$partly = post(one => '{"logs": [{}, {}]}');
is_deeply([ $partly->{status}, $partly->{json}{error},
		map { $_->{path} } @{ $partly->{json}{details} } ],
	[ 400, 'all 2 events were rejected', 'logs[0].event', 'logs[1].event' ], 'all of them')
  or diag $partly->{content};
is($t->sql(q{SELECT logsvc.act_as('acme') IS NULL;
	SELECT logsvc.ingest('{"logs": ["a", "b"]}') ->> 'accepted'}) =~ s/.*\n//sr, 2, 'in SQL too');

# ---- times ----

my $at = '2026-01-31T10:00:00.000Z';
foreach my $time ('"2026/01/31 10:00:00"', '"2026-01-31 11:00:00 +0100"', '"2026-01-31 10:00:00 UTC"',
	'"2026-01-31 10:00:00.000 GMT"', '"20260131T100000Z"', '"31/Jan/2026:11:00:00 +0100"',
	'"Sat, 31 Jan 2026 10:00:00 GMT"', '"Sat Jan 31 10:00:00 2026"', '"Sat Jan 31 10:00:00 UTC 2026"',
	'"31 Jan 2026 10:00:00"')
{
	foreach my $name ('timestamp', '@timestamp')
	{
		is(join(' ', map { $_->{timestamp} } kept(one => qq({"message": "TEXT", "$name": $time}))), $at,
			"$name: $time");
	}
}
is(join(' ', map { $_->{timestamp} } kept(one => '{"message": "TEXT", "timeMillis": 1769853600000}')), $at, 'timeMillis');
is(join(' ', map { $_->{timestamp} } kept(one => '{"message": "TEXT", "TimeGenerated": "2026-01-31T10:00:00Z"}')), $at, 'TimeGenerated');
is(join(' ', map { $_->{timestamp} } kept(one => '{"message": "TEXT", "instant": {"epochSecond": 1769853600, "nanoOfSecond": 0}}')),
	$at, 'instant');
foreach my $time ('"01/31/2026 10:00:00"', '"yesterday"', '"99/Jan/2026:10:00:00 +0100"', '"31/Foo/2026:10:00:00"',
	'"2026/13/31 10:00:00"', '{"seconds": 1}')
{
	my $r = post(one => qq({"message": "x", "timestamp": $time}));
	is("$r->{status} $r->{json}{details}[0]{path}", '400 timestamp', "$time is no time");
}

# ---- what is refused says what to change ----

my ($plain, $zipped) = ('{"message": "x"}');
gzip(\$plain => \$zipped);
foreach my $case (
	[ otlp => '{"message": "x"}', qr/expected resourceLogs.*\/api\/v1\/logs/ ],
	[ otlp => '{"resourceSpans": []}', qr/expected resourceLogs/ ],
	[ otlp => '{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": "x"}]}]}]}', qr/rejected; events\[0\]/ ],
	[ loki => '{"message": "x"}', qr/expected streams/ ],
	[ loki => '{"streams": [{"labels": "{a=\"b\"}", "entries": [{"ts": "2026-01-31T10:00:00Z", "line": "x"}]}]}',
		qr/expected stream and values/ ],
	[ loki => '{"streams": [{"stream": {"a": "b"}, "values": [["2026-01-31T10:00:00Z", "x"]]}]}',
		qr/rejected; events\[0\].timestamp: expected nanoseconds/ ],
	[ one => $zipped, qr/the body is gzip: send it with Content-Encoding: gzip/ ],
	[ lines => '[{"message": "x"}]', qr/not an array.*application\/json/ ],
	[ one => '{"logs": []}', qr/expected at least one event/ ],
	[ one => '{"common": {"timestamp": "soon"}, "logs": ["x"]}', qr/common.timestamp.*expected an ISO/ ],
	[ text => qq({\n"message": "x"\n}), qr/this is JSON.*application\/json/ ],
	[ texts => '[{"message": "x"}]', qr/this is JSON.*application\/json/ ])
{
	my ($to, $body, $says) = @$case;
	my $r = post($to, $body);
	is($r->{status}, 400, "$to: is refused");
	like($r->{content}, $says, "$to: $says");
}
is(post(otlp => '{}')->{status}, 200, 'an empty request of OTLP is good');
is(post(loki => '{"streams": []}')->{status}, 204, 'and of Loki');

my $r = post(hec => '{"event": "x", "severity": "error", "host": "h"}');
is("$r->{status} $r->{headers}{'x-ignored-fields'}", '200 severity', 'what a collector ignores is named');

$t->stop;
done_testing;
