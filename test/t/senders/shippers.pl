# shippers.pl: what docs/sending-logs.md says about curl, Python, rsyslog and syslog-ng is run:
# lines are found, each once, also those that come while the server is away or its queue is full.
use strict;
use warnings;

use LogsvcClients;
use LogsvcTest;
use Test::More;

my $port = PostgreSQL::Test::Cluster::get_free_port();
my $t = LogsvcTest->new(conf => "logsvc.queue_limit = 1000\n"
	. "logsvc.queue_wait = '100ms'\nlogsvc.flush_interval = '50ms'\n"
	. "logsvc.syslog_listeners = 'tcp:$port=acme'");
my $org = $t->organization('acme');

sub events
{
	my ($q) = @_;
	return $t->http(GET => '/api/v1/search', token => $org->{token},
		query => { q => $q, earliest => '-1h', limit => 10_000 })->{json}{data}{rows} // [];
}

sub numbers { return join ' ', sort { $a <=> $b } map { $_->{event} =~ /line (\d+)$/ } @{ events(@_) }; }

foreach my $name (qw(curl python syslog-ng syslog-ng-syslog rsyslog-elasticsearch))
{
	my $client = LogsvcClients->start($name, $t->http_port, $org->{ingest_key}, $port);
	my $tag = $name =~ s/-//gr;
	$client->log("before$tag", 20, 0);
	ok(wait_until(sub { $client->done && @{ events("before$tag") } >= 20 }), "$name: lines are found")
		or diag $client->said;
	is(numbers("before$tag"), join(' ', 1 .. 20), "$name: each once");
	my ($e) = @{ events("before$tag \"line 7\"") };
	my %expected = (python => [ 'checkout', 'info', { order => 7 } ], curl => [ undef, 'info', { order => 7 } ],
		'syslog-ng-syslog' => [ 'app', 'info',
			{ facility => 'user', procid => '7', peer => '127.0.0.1' } ],
		'syslog-ng' => [ 'app', 'info', { pid => '7' } ],
		'rsyslog-elasticsearch' => [ 'app', 'info', { tag => 'app[7]:' } ]);
	is_deeply([ $e->{event}, $e->{service}, $e->{level}, $e->{attributes} ],
		[ "before$tag line 7", @{ $expected{$name} } ], "$name: text, service, level, attributes");

	# Nobody listens while these lines are logged.
	$t->stop;
	$client->log("away$tag", 20, 0);
	if ($name ne 'curl')
	{
		ok(wait_until(sub { $client->done }), "$name: takes lines while the server is away");
	}
	$t->start;
	$t->wait_ready;
	ok(wait_until(sub { $client->done && @{ events("away$tag") } >= 20 }),
		"$name: it sends them when the server is back") or diag $client->said;
	is(numbers("away$tag"), join(' ', 1 .. 20), "$name: each of them once");

	# Without room in the queue the answer is 429: all but rsyslog try again (rsyslog.pl).
	if ($name ne 'rsyslog-elasticsearch')
	{
		wait_until(sub { $t->sql('SELECT logsvc_internal.queue_depth()') == 0 });
		$t->stop_at('write_before_commit');
		my $filler = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
			json => [ map { "filler $_" } 1 .. 1000 ]);
		is($filler->{status}, 202, 'the queue is full');
		$t->wait_held('write_before_commit');
		is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => 'x')->{status}, 429,
			'requests are refused');
		$client->log("full$tag", 20, 0);
		ok(stays(sub { !@{ events("full$tag") } }, 2), "$name: also what it sends");
		$t->let_go('write_before_commit');
		ok(wait_until(sub { $client->done && @{ events("full$tag") } >= 20 }),
			"$name: it sends again when there is room") or diag $client->said;
		is(numbers("full$tag"), join(' ', 1 .. 20), "$name: each of these once");
	}
	ok($client->close, "$name: it ends");
}

# A file of short lines is more than the queue takes at once; a refusal is not tried again for
# minutes.
{
	$t->set('logsvc.queue_limit', 20_000);
	my $client = LogsvcClients->start('curl', $t->http_port, $org->{ingest_key});
	$client->log('short', 40_000, 0);
	ok(wait_until(sub { $client->done }), 'curl: many short lines') or diag $client->said;
	is($t->http(GET => '/api/v1/search', token => $org->{token},
		query => { q => 'short | stats count', earliest => '-1h' })->{json}{data}{rows}[0][0], 40_000,
		'curl: all of them are sent') or diag substr($client->said, 0, 500);
	$client = LogsvcClients->start('curl', $t->http_port, 'ing_live_wrong');
	$client->log('wrong', 20, 0);
	ok(wait_until(sub { $client->done }), 'curl: ends with a wrong key');
	like($client->said, qr/INVALID_API_KEY/, 'curl: and says so');
}

# Output http of Fluent Bit reads 4 KB of an answer, with its headers: what has a longer one it
# sends again, without end.
sub answer
{
	my ($agent, @events) = @_;
	my $body = join '', map { json_encode($_) . "\n" } @events;
	return $t->raw("POST /api/v1/logs/batch HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
		. "Authorization: Bearer $org->{ingest_key}\r\nUser-Agent: $agent\r\n"
		. "Content-Type: application/x-ndjson\r\nContent-Length: " . length($body)
		. "\r\n\r\n$body", 20);
}

my @good = map { { log => "line $_", order => $_ } } 1 .. 500;
my @bad = map { { level => 'info' } } 1 .. 100;
my $answer = answer('Fluent-Bit', @good, @bad);
like($answer, qr/^HTTP\/1.1 202 .*"accepted":500,"rejected":100,"ids":null,"errors":\[\{"path":"events\[500\][^"]*","index":500,/s,
	'Fluent Bit is told what became of its events');
cmp_ok(length $answer, '<', 4096, 'within 4 KB');
$answer = answer('Fluent-Bit', @bad);
like($answer, qr/^HTTP\/1.1 400 .*"all 100 events were rejected"/s, 'and that all were rejected');
cmp_ok(length $answer, '<', 4096, 'within 4 KB too');
is(scalar(() = answer('curl/7.88', @good, @bad) =~ /"evt_/g), 500, 'others get the ids');

$t->stop;
done_testing;
