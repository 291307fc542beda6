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
	otlp => '/v1/logs', loki => '/loki/api/v1/push', hec => '/services/collector');

sub post
{
	my ($to, $body) = @_;
	my $type = $to eq 'lines' ? 'application/x-ndjson' : 'application/json';
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
	[ lines => '[{"message": "x"}]', qr/not an array.*application\/json/ ])
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
