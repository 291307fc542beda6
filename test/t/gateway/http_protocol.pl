# http_protocol.pl: the HTTP gateway alone, driven through raw sockets.  It runs in
# build/unit/gateway_host_checked (sanitizers on), so it needs no server.
#
# Takes long.
use strict;
use warnings;

use File::Temp qw(tempdir);
use IO::Select;
use IO::Socket::INET;
use IPC::Open2;
use LogsvcGateway;
use Socket qw(SOL_SOCKET SO_LINGER SHUT_WR);
use Test::More;
use Time::HiRes qw(time sleep);

my $get = "GET /healthz HTTP/1.1\r\nHost: test\r\n";
my $echo = '/api/v1/logs?echo=1';

my $h = start_host(later => 1, header_timeout => 30_000, body_timeout => 30_000,
	idle_timeout => 30_000, body_limit => 1000000, memory_limit => 4000000);
is($h->{line}, "ready\n", 'starts');

# Sends each text to openssl s_client once what the one before asks for has come.  Returns all that
# it printed, and whether the last one was answered before the connection ended.
sub tls_dialog
{
	my ($host, $version, @steps) = @_;
	my $pid = open2(my $out, my $in, "exec openssl s_client $version -connect 127.0.0.1:$host->{port} 2>&1");
	my $ready = IO::Select->new($out);
	my ($all, $from) = ('', 0);
	local $SIG{PIPE} = 'IGNORE';

	foreach my $step ([ '', qr/Verify return code|read R BLOCK/ ], @steps)
	{
		my ($text, $expected) = @$step;

		syswrite $in, $text if length $text;
		while (substr($all, $from) !~ /$expected/g)
		{
			if (!$ready->can_read(60) || !sysread($out, $all, 65536, length $all))
			{
				close $in;
				kill 'TERM', $pid;
				waitpid $pid, 0;
				return ($all, 0);
			}
		}
		$from = length $all;
	}
	close $in;
	kill 'TERM', $pid;
	waitpid $pid, 0;
	return ($all, 1);
}

# ---- answers of its own ----

my ($r, $closed) = request_and_end($h, "$get\r\n");
is($r->{status}, 200, '/healthz');
is($r->{body}, '{"status":"ok"}', 'body of /healthz');
ok(!$closed, 'the connection is kept');
like($r->{head}, qr/^Content-Type: application\/json; charset=utf-8\r$/m, 'content type');
like($r->{head}, qr/^X-Request-Id: [0-9a-z]{26}\r$/m, 'a request id is made');
like($r->{head}, qr/^X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r$/m,
	'what browsers must not do');
like($r->{head}, qr/^Cache-Control: no-store\r$/m, 'nor keep');
unlike($r->{head}, qr/^Strict-Transport/m, 'plain HTTP says nothing of HTTPS');
like($r->{head}, qr/^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r$/m, 'the date');
($r) = request($h, "${get}X-Request-Id: abc-123\r\n\r\n");
like($r->{head}, qr/^X-Request-Id: abc-123\r$/m, 'the request id of the client is kept');
($r) = request($h, "${get}X-Request-Id: " . ('x' x 129) . "\r\n\r\n");
like($r->{head}, qr/^X-Request-Id: [0-9a-z]{26}\r$/m, 'a long request id is replaced');
($r) = request($h, "GET /api/v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n");
like($r->{body}, qr/\A\{"openapi":"3\.1\.0".*"\/api\/v1\/logs\/batch"/s, 'the API description');
($r) = request($h, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
is("$r->{status} $r->{body}", '404 {"error":"No such path: GET /api/v1/openapi.json lists those there are","code":"NOT_FOUND"}',
	'no such path: where those are that there are');
for my $case ([ '/', 405 ], [ '/logs', 404 ])
{
	my ($path, $status) = @$case;
	($r) = request($h, "POST $path HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}");
	like("$r->{status} $r->{body}", qr{^$status .*are sent to /api/v1/logs, OpenTelemetry's to /v1/logs},
		"an event for $path: where events go");
}
foreach my $method ('DELETE', 'TRACE', 'PATCH')
{
	($r) = request($h, "$method / HTTP/1.1\r\nHost: a\r\n\r\n");
	like("$r->{status} $r->{body}", qr/^405 .*The path does not allow this method/,
		"$method / is no event");
}
($r) = request($h, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}");
like("$r->{status} $r->{body}", qr/^405 .*are sent to/, 'PUT / may be one');
($r) = request($h, "PATCH /api/v1/logs HTTP/1.1\r\nHost: a\r\n\r\n");
is($r->{status}, 405, 'no such method');
like($r->{body}, qr/"code":"METHOD_NOT_ALLOWED"/, 'its code');
like($r->{head}, qr/^Allow: POST, GET, HEAD, DELETE, OPTIONS\r$/m, 'Allow names the methods');
($r) = request($h, "OPTIONS /api/v1/logs HTTP/1.1\r\nHost: a\r\n\r\n");
is($r->{status}, 204, 'OPTIONS');
like($r->{head}, qr/^Allow: POST, GET, HEAD, DELETE, OPTIONS\r$/m, 'OPTIONS names the methods');
{
	my $s = connect_to($h);
	syswrite($s, "HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
	my ($got, undef, $rest) = read_responses($s, 1, 2, 1);
	is($got->[0]{status}, 200, 'HEAD');
	like($got->[0]{head}, qr/^Content-Length: 15\r$/m, 'HEAD has the length of GET');
	is($rest, '', 'HEAD has no body');
}

# ---- requests that reach a worker ----

($r, $closed) = request_and_end($h, post($echo, '{"event":"x"}', 'Authorization: Bearer pat_1',
		'Content-Type: application/json', 'Content-Encoding: gzip', 'X-API-Key:   ing_2  '));
is($r->{status}, 202, 'a worker answers');
ok(!$closed, 'and the connection is kept');
like($r->{head}, qr/^X-Answered-By: host\r$/m, 'its headers are sent');
like($r->{body}, qr/"body":"\{\\"event\\":\\"x\\"\}"/, 'the body arrives');
like($r->{body}, qr/"route":"INGEST"/, 'the route');
like($r->{body}, qr/"authorization":"Bearer pat_1","apiKey":"ing_2"/, 'credentials, trimmed');
like($r->{body}, qr/"contentType":"application\/json","contentEncoding":"gzip"/, 'content headers');
like($r->{body},
	qr/"path":"\/api\/v1\/logs","parameter":"","query":"echo=1","remote":"127\.0\.0\.1"/,
	'path, query and address');
($r) = request($h, "GET /api/v1/search?q=a%20b&x HTTP/1.1\r\nHost: a\r\n\r\n");
like($r->{body}, qr/"query":"q=a%20b&x"/, 'the query string is not decoded');
($r) = request($h, "GET http://test:80/api/v1/search?q=1 HTTP/1.1\r\nHost: a\r\n\r\n");
like($r->{body}, qr/"path":"\/api\/v1\/search"/, 'the absolute form of a target');
($r) = request($h, post("$echo&refuse=1", '{}'));
is("$r->{status} $r->{body}", '503 {"error":"busy","code":"QUEUE_UNAVAILABLE"}',
	'refused by the hook');
($r) = request($h, post("$echo&delay_ms=300", '{}'));
is($r->{status}, 202, 'a late answer');
($r) = request($h, "GET /api/v1/search?size=3000000 HTTP/1.1\r\nHost: a\r\n\r\n", 10);
is(length($r->{body}), 3000000, 'a long answer');
($r) = request($h, "POST $echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	  . "5\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: 1\r\n\r\n");
like($r->{body}, qr/"bodyLength":11.*"body":"hello world"/, 'a chunked body');
for my $chunks ("5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: 1\r\n\r\n",
	"5;x\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "5\r\nhello\r\n6\r\n world\r\n0;x\r\n\r\n")
{
	($r) = request($h, "POST $echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
		. "chunked\r\n\r\n$chunks");

	like($r->{body}, qr/"bodyLength":11.*"body":"hello world"/, 'a chunk extension is passed over');
}
{
	my $body = join('', map { chr(33 + $_ % 90) } 1 .. 900000);
	($r) = request($h, post($echo, $body, 'Authorization: x'));
	like($r->{body}, qr/"bodyLength":900000/, 'a long body');
}
{
	my $s = connect_to($h);
	syswrite($s, "POST $echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: "
		. "100-continue\r\n\r\n");
	my ($got) = read_responses($s, 1);
	is($got->[0]{status}, 100, 'Expect: 100-continue');
	syswrite($s, '{}');
	($got) = read_responses($s, 1);
	is($got->[0]{status}, 202, 'and then the answer');
}
($r, $closed) = request_and_end($h, "GET /healthz HTTP/1.0\r\n\r\n");
is($r->{status}, 200, 'HTTP/1.0');
ok($closed, 'HTTP/1.0 closes');
($r, $closed) = request_and_end($h, "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
ok(!$closed, 'HTTP/1.0 with keep-alive does not');

{
	# Such a client takes the first status line for the answer.
	my $s = connect_to($h);
	syswrite($s, "POST $echo HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\nExpect: "
		. "100-continue\r\n\r\n{}");
	my ($got) = read_responses($s, 0, 0.5);
	is(join(' ', map { $_->{status} } @$got), '202', 'HTTP/1.0 knows no 100: one status line');
}

# ---- pipelining ----

{
	my $s = connect_to($h);
	syswrite($s, post("$echo&delay_ms=200", 'one') . post($echo, 'two') . "$get\r\n"
		. post($echo, 'four'));
	my ($got) = read_responses($s, 4);
	is(join(' ', map { $_->{body} =~ /"body":"(\w+)"/ ? $1 : $_->{status} } @$got),
		'one two 200 four', 'pipelined requests are answered in order');

	# In small pieces, cut anywhere.
	my $all = join('', map { post($echo, "body$_") } 1 .. 5);
	for (my $i = 0; $i < length($all); $i += 7)
	{
		syswrite($s, substr($all, $i, 7));
		sleep 0.001;
	}
	($got) = read_responses($s, 5);
	is(join(' ', map { $_->{body} =~ /"body":"(\w+)"/ ? $1 : $_->{status} } @$got),
		'body1 body2 body3 body4 body5', 'pipelined in pieces');
}

# ---- refused: what two readers could understand differently ----

my @refused = (
	[ 'Content-Length with Transfer-Encoding',
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n" ],
	[ 'Transfer-Encoding with Content-Length',
		"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n" ],
	[ 'two Content-Lengths', "Content-Length: 5\r\nContent-Length: 6\r\n" ],
	[ 'two equal Content-Lengths', "Content-Length: 0\r\nContent-Length: 0\r\n" ],
	[ 'Content-Length not a number', "Content-Length: 5x\r\n" ],
	[ 'negative Content-Length', "Content-Length: -5\r\n" ],
	[ 'signed Content-Length', "Content-Length: +5\r\n" ],
	[ 'list of Content-Lengths', "Content-Length: 5, 5\r\n" ],
	[ 'empty Content-Length', "Content-Length:\r\n" ],
	[ 'Transfer-Encoding: gzip', "Transfer-Encoding: gzip\r\n" ],
	[ 'Transfer-Encoding: gzip, chunked', "Transfer-Encoding: gzip, chunked\r\n" ],
	[ 'Transfer-Encoding: identity', "Transfer-Encoding: identity\r\n" ],
	[ 'two Transfer-Encodings', "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" ],
	[ 'NUL in a value', "X-A: a\0b\r\n" ],
	[ 'NUL at the end of a value', "X-A: a\0\r\n" ],
	[ 'two NULs that look like a line end', "X-A: a\0\0X-B: b\r\n" ],
	[ 'NUL in a name', "X\0A: a\r\n" ],
	[ 'a control character', "X-A: a\x01b\r\n" ],
	[ 'DEL', "X-A: a\x7fb\r\n" ],
	[ 'a bare CR', "X-A: a\rb\r\n" ],
	[ 'a bare LF', "X-A: a\nX-B: b\r\n" ],
	[ 'NUL LF as line end', "X-A: a\0\nX-B: b\r\n", 1 ],
	[ 'a folded line', "X-A: a\r\n b\r\n" ],
	[ 'a line folded with a tab', "X-A: a\r\n\tb\r\n" ],
	[ 'white space before the colon', "X-A : a\r\n" ],
	[ 'no colon', "X-A\r\n" ],
	[ 'no name', ": a\r\n" ],
	[ 'two Hosts', "Host: b\r\n" ],
	[ 'two Authorizations', "Authorization: a\r\nAuthorization: b\r\n" ],
	[ 'two Origins', "Origin: a\r\nOrigin: b\r\n" ],
);
for (@refused)
{
	my ($name, $header, $first_only) = @$_;
	my $bad = "POST $echo HTTP/1.1\r\nHost: a\r\n$header\r\n";

	my ($r, $closed) = request_and_end($h, $bad);
	is($r->{status}, 400, "refused: $name");
	ok($closed, 'and closed');
	like($r->{body}, qr/\A\{"error":"[^"]+","code":"VALIDATION_ERROR"\}\z/, 'with the reason');
	like($r->{body}, qr/Header Origin was sent twice/, 'by its name') if $name eq 'two Origins';
	like($r->{head}, qr/^X-Request-Id: \w{26}\r$/m, 'and a request id');

	# Behind a good request on the same connection, in the same read and later.
	next if $first_only;
	for my $together (1, 0)
	{
		my $s = connect_to($h);
		my $good = post($echo, 'abc');
		syswrite($s, $together ? $good . $bad : $good);
		my ($got) = read_responses($s, 1);
		is($got->[0]{status}, 202, 'a good request first');
		syswrite($s, $bad) unless $together;
		my ($second, $eof) = read_responses($s, 0);
		is(join(' ', map { $_->{status} } @$second),
			'400', "refused, " . ($together ? 'pipelined' : 'later') . ": $name");
		ok($eof, 'and closed');
	}

	# In two pieces, the cut inside the header.
	my $s = connect_to($h);
	syswrite($s, post($echo, 'abc'));
	read_responses($s, 1);
	my $cut = length("POST $echo HTTP/1.1\r\nHost: a\r\n") + int(length($header) / 2);
	syswrite($s, substr($bad, 0, $cut));
	wait_taken($h);
	syswrite($s, substr($bad, $cut));
	my ($split, $eof) = read_responses($s, 0);
	is(join(' ', map { $_->{status} } @$split), '400', "refused, split: $name");
}
for (
	[ 'no Host', "GET /healthz HTTP/1.1\r\n\r\n" ],
	[ 'bare LF after the request line', "GET /healthz HTTP/1.1\nHost: a\r\n\r\n" ],
	[ 'bare LF everywhere', "GET /healthz HTTP/1.1\nHost: a\n\n" ],
	[ 'two spaces', "GET  /healthz HTTP/1.1\r\nHost: a\r\n\r\n" ],
	[ 'a space in the target', "GET /health z HTTP/1.1\r\nHost: a\r\n\r\n" ],
	[ 'NUL in the target', "GET /healthz\0 HTTP/1.1\r\nHost: a\r\n\r\n" ],
	[ 'a target without slash', "GET healthz HTTP/1.1\r\nHost: a\r\n\r\n" ],
	[ 'no version', "GET /healthz\r\nHost: a\r\n\r\n" ],
	[ 'a strange version', "GET /healthz HTTP/1.1x\r\nHost: a\r\n\r\n" ],
	[ 'junk', "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" ],
	[ 'a strange method', "GE(T /healthz HTTP/1.1\r\nHost: a\r\n\r\n" ])
{
	my ($name, $text) = @$_;
	my ($r, $closed) = request_and_end($h, $text);
	is($r->{status}, 400, "refused: $name");
	ok($closed, 'and closed');
}
($r) = request($h, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
is($r->{status}, 505, 'HTTP/2 by prior knowledge');
($r) = request($h, "GET /healthz HTTP/1.1\r\nHost: a\r\nX: " . ('x' x 40000) . "\r\n\r\n");
is($r->{status}, 431, 'a header too large');

# ---- 413 ----

my $too_long = 'Content-Length: 2000000';
{
	my $s = connect_to($h);
	syswrite($s, "POST $echo HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\n$too_long\r\n\r\n");
	my ($got) = read_responses($s, 1);
	is($got->[0]{status}, 413, 'Content-Length over the limit: 413 before any byte of body');
	like($got->[0]{head}, qr/^Connection: close\r$/m, 'and the connection ends');
}
($r) = request($h, "POST $echo HTTP/1.1\r\nHost: a\r\n$too_long\r\n\r\n");
is($r->{status}, 401, 'without a credential: 401, not 413');
($r) = request($h, "POST $echo&delay_ms=200 HTTP/1.1\r\nHost: a\r\nAuthorization: "
	. "x\r\n$too_long\r\n\r\n");
is($r->{status}, 413, 'the same from a slow worker');
{
	my $s = connect_to($h);
	syswrite($s, "POST $echo HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nExpect: "
		. "100-continue\r\n$too_long\r\n\r\n");
	my ($got) = read_responses($s, 1);
	is($got->[0]{status}, 413, 'no 100 for a body that is refused');
}

# Uploads that go on while the answer comes: it must be readable, not lost to a reset.
for my $chunked (0, 1)
{
	my $name = $chunked ? 'chunked' : 'Content-Length';
	my $s = connect_to($h);
	my $block = 'x' x 50000;
	$block = sprintf("%x\r\n%s\r\n", length($block), $block) if $chunked;
	syswrite($s, "POST $echo&delay_ms=50 HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\n"
		  . ($chunked ? 'Transfer-Encoding: chunked' : 'Content-Length: 20000000') . "\r\n\r\n");
	my $sent = 0;
	for (1 .. 200)
	{
		my $n = syswrite($s, $block);
		last unless defined $n;
		$sent += $n;
	}
	my ($got, $eof) = read_responses($s, 1);
	is($got->[0]{status}, 413, "$name: 413 is read after $sent bytes of upload");
	cmp_ok($sent, '>', 5000000, 'all of which could be sent');
}
{
	my $s = connect_to($h);
	syswrite($s, "GET /healthz HTTP/1.1\r\nHost: a\r\n$too_long\r\n\r\n" . ('x' x 100000));
	my ($got) = read_responses($s, 1);
	is($got->[0]{status}, 413, 'a large body on a route that takes none');
}

# ---- slow clients ----

# After a first request or none: a byte each 0.1 s until there is an answer.  Its status, the
# seconds.
sub drip
{
	my ($first, $text) = @_;
	my $s = connect_to($h);
	if ($first)
	{
		syswrite($s, $first);
		read_responses($s, 1);
	}
	my $begin = time;
	my ($got, $eof) = ([], 0);
	syswrite($s, $text);
	while (time - $begin < 30)
	{
		syswrite($s, 'x') or last;
		($got, $eof) = read_responses($s, 1, 0.1);
		last if @$got || $eof;
	}
	return ($got->[0]{status}, time - $begin);
}

# After a first request or none: nothing.  Is the connection closed without a word, after how many
# seconds?
sub silent
{
	my ($first) = @_;
	my $s = connect_to($h);
	if ($first)
	{
		syswrite($s, $first);
		read_responses($s, 1);
	}
	my $begin = time;
	my ($none, $end) = read_responses($s, 1);
	return ($end && !@$none, time - $begin);
}

# Reads nothing of a long answer until it must have been cut: the bytes that are there then.
sub unread
{
	my $s = connect_to($h);
	syswrite($s, "GET /api/v1/search?size=3000000 HTTP/1.1\r\nHost: a\r\n\r\n");
	sleep 4.5;    # three times the time of a body
	my $read = 0;
	while (my $n = sysread($s, my $part, 1 << 20)) { $read += $n }
	return $read;
}

{
	my $patient = $h;
	$h = start_host(later => 1, header_timeout => 1000, body_timeout => 1500, idle_timeout => 2000,
		body_limit => 1000000, memory_limit => 4000000);
	my $header = "GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ";
	my $body = "POST $echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n";
	my ($first, $second, $slow_body, $silent, $kept, $unread) = at_once(sub { drip('', $header) },
		sub { drip(post($echo, 'abc'), $header) }, sub { drip('', $body) },
		sub { silent('') }, sub { silent("$get\r\n") }, sub { unread() });

	is($first->[0], 408, 'dripping a header: 408');
	cmp_ok($first->[1], '>', 0.8, 'after header_timeout in total');
	is($second->[0], 408, 'the second header of a connection dripped: 408');
	cmp_ok($second->[1], '>', 0.8, 'after header_timeout in total');
	is($slow_body->[0], 408, 'dripping a body: 408');
	cmp_ok($slow_body->[1], '>', 1.2, 'after body_timeout in total');
	ok($silent->[0], 'a silent connection is closed');
	cmp_ok($silent->[1], '>', 1.7, 'after idle_timeout');
	ok($kept->[0], 'a kept connection too');
	cmp_ok($kept->[1], '>', 1.7, 'after idle_timeout');
	cmp_ok($unread->[0], '<', 3000000, 'a client that does not read its answer is cut');
	is((stop_host($h))[0], 0, 'the sanitizers have nothing to report');
	$h = $patient;
}

# ---- clients that go away ----

{
	my $s = connect_to($h);
	syswrite($s, post("$echo&delay_ms=3000", 'x'));
	wait_taken($h);
	close $s;
	is(host_line($h), "cancel\n", 'close while waiting cancels the request');

	$s = connect_to($h);
	syswrite($s, post("$echo&delay_ms=3000", 'x'));
	wait_taken($h);
	setsockopt($s, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0));
	close $s;
	is(host_line($h), "cancel\n", 'a reset too');

	$s = connect_to($h);
	syswrite($s, post("$echo&delay_ms=3000", 'x'));
	shutdown($s, SHUT_WR);
	my ($got, $eof) = read_responses($s, 2);
	# Without the 100 when the end came together with the request.
	like(join(' ', map { $_->{status} } @$got), qr/^(100 )?202$/,
		'a half-closed client gets its answer');
	is(host_line($h, 0.2), '', 'and nothing is cancelled');

	# Here it comes together with the request, in one event.
	$s = connect_to($h);
	syswrite($s, post($echo, 'x'));
	read_responses($s, 1);
	kill 'STOP', $h->{pid};
	syswrite($s, post("$echo&delay_ms=3000", 'x'));
	close $s;
	kill 'CONT', $h->{pid};
	is(host_line($h), "cancel\n", 'one that sends its request and has gone in the same moment');

	$s = connect_to($h);
	syswrite($s, "GET /api/v1/search?delay_ms=300 HTTP/1.0\r\n\r\n");
	shutdown($s, SHUT_WR);
	($got) = read_responses($s, 1);
	is($got->[0]{status}, 200, 'one of HTTP/1.0 gets only its answer');

	$s = connect_to($h);
	syswrite($s, "GET /healthz HTT");
	close $s;
	$s = connect_to($h);
	syswrite($s, "POST $echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc");
	close $s;
	is((request($h, "$get\r\n"))[0]{status}, 200, 'incomplete requests leave no trace');
}

# ---- whatever connections wait for, waiting is free ----

{
	my @open = map {
		my ($first, $kept) = @$_;
		my $s = connect_to($h);
		if ($kept) { syswrite($s, post($echo, 'x')); read_responses($s, 1) }
		syswrite($s, $first);
		$s;
	} (
		[ "GET /hea" ],
		[ "GET /hea", 1 ],
		[ "GET /healthz HTTP/1.1\r\nHo", 1 ],
		[ "POST $echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc" ],
		[ "POST $echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab" ],
		[ "POST $echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n"
			],
		[ "POST $echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n" ],
		[ post("$echo&delay_ms=2000", 'x') ],
		[ post("$echo&delay_ms=2000", 'x') . "$get\r\n" ],
		[ "POST $echo HTTP/1.1\r\nHost: a\r\n$too_long\r\n\r\nabc" ],
		[ "POST $echo&delay_ms=2000 HTTP/1.1\r\nHost: a\r\n$too_long\r\n\r\nabc" ],
		[ "GET /api/v1/search?size=3000000 HTTP/1.1\r\nHost: a\r\n\r\n" ],
		[ "nonsense\r\n\r\n" ]);
	wait_for(sub { IO::Select->new($open[11])->can_read(0) });    # the long answer is made
	my $before = cpu_ticks($h);
	sleep 0.6;    # in which it could compute
	cmp_ok(cpu_ticks($h) - $before, '<', 30, 'waiting connections do not keep the processor busy');
	close $_ for @open;
	1 while host_line($h, 0.3);
}

# ---- answers in pieces ----

{
	# The sanitizer keeps what has been freed; here it must not.
	local $ENV{ASAN_OPTIONS} = 'quarantine_size_mb=8';
	my $p = start_host(later => 1);
	my $s = connect_to($p);
	my $before = memory($p);
	my $read = 0;
	my $most = 0;
	my $end = '';
	syswrite($s, "GET /api/v1/search?pieces=1500 HTTP/1.1\r\nHost: a\r\n\r\n");
	# It reads all the time, and there is always more: the buffer is never empty.
	while (IO::Select->new($s)->can_read(5))
	{
		my $n = sysread($s, my $part, 65536) or last;
		$end = substr($end . $part, -5);
		$read += $n;
		$most = memory($p) if memory($p) > $most;
		last if $end eq "0\r\n\r\n";
	}
	cmp_ok($read, '>', 150000000, 'an answer in pieces');
	cmp_ok($most - $before, '<', 60000, 'which the gateway does not keep once it is read');

	$s = connect_to($p);
	syswrite($s, "GET /api/v1/search?pieces=1500 HTTP/1.1\r\nHost: a\r\n\r\n");
	read_responses($s, 1, 0.3);
	close $s;
	is(host_line($p), "cancel\n", 'close in the midst of it cancels it');
	is((stop_host($p))[0], 0, 'the sanitizers have nothing to report');
}

# ---- memory of all bodies ----

{
	my @open = map {
		my $s = connect_to($h);
		syswrite($s, "POST $echo HTTP/1.1\r\nHost: a\r\nContent-Length: 950000\r\nAuthorization: "
			. "x\r\n\r\n" . ('x' x 900000));
		$s;
	} 1 .. 4;
	wait_taken($h);
	($r) = request($h, post($echo, 'x' x 900000, 'Authorization: x'));
	is($r->{status}, 503, 'bodies beyond memory_limit: 503');
	like($r->{head}, qr/^Retry-After: 1\r$/m, 'with Retry-After');
	is((request($h, "$get\r\n"))[0]{status}, 200, 'requests without a body go on');
	close $_ for @open;
	wait_left($h, 0);
	is((request($h, post($echo, 'x' x 900000, 'Authorization: x')))[0]{status}, 202,
		'and bodies when there is room again');
}

# ---- many idle connections and slow ones do not delay others ----

{
	my @idle = map { connect_to($h) } 1 .. 100;
	my @slow = map { my $s = connect_to($h); syswrite($s, "GET /heal"); $s } 1 .. 20;
	my $s = connect_to($h);
	my @took;
	for (1 .. 200)
	{
		my $begin = time;
		syswrite($s, post('/api/v1/logs', '{"event":"x"}'));
		my ($got) = read_responses($s, 1);
		die "no answer" unless @$got;
		push @took, time - $begin;
		syswrite($slow[ $_ % 20 ], 't') if $_ % 10 == 0;
	}
	# The scheduler of a busy machine delays a single one now and then.
	@took = sort { $a <=> $b } @took;
	# One that waits for another connection waits for a timeout of that: seconds.
	cmp_ok($took[150], '<', 0.5, sprintf('150 of 200 requests among 120 others: %.1f ms', $took[150] * 1000));
}

# ---- readiness ----

is((request($h, "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"))[0]{status}, 200, 'ready');
kill 'USR1', $h->{pid};
wait_for(sub { ($r) = request($h, "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n");
	$r->{status} != 200 });
is("$r->{status} $r->{body}",
	'503 {"error":"the \"queue\" is full","code":"SERVICE_UNAVAILABLE"}', 'not ready, and why');

# ---- a port in use, other addresses ----

{
	my $second = start_host(port => $h->{port});
	is($second->{line},
		"error could not bind 127.0.0.1:$h->{port}: Address already in use (change logsvc.port)\n",
		'a port in use');
	$second = start_host(listen_addresses => 'no.such.host.invalid');
	like($second->{line},
		qr/\Aerror could not resolve "no\.such\.host\.invalid": .*listen_addresses/,
		'an unknown address');
	$second = start_host(listen_addresses => '');
	like($second->{line}, qr/\Aerror no address to listen on/, 'no address');
	$second = start_host(listen_addresses => '*');
	is((request($second, "$get\r\n"))[0]{status}, 200, 'listen on "*"');
	$second = start_host(listen_addresses => '127.0.0.1, 127.0.0.2');
	is((request($second, "$get\r\n"))[0]{status}, 200, 'listen on two addresses');
	$second = start_host(tls_certificate => '/nonexistent.pem', tls_key => '/nonexistent.pem');
	like($second->{line},
		qr/\Aerror could not open the file of logsvc\.tls_certificate: No such file or directory: "\/nonexistent\.pem"/,
		'a certificate that is not there');
}

# ---- TLS files that are missing, wrong or not of one kind ----

{
	my ($dir, $other) = (certificate(), certificate());
	my ($certificate, $key) = ("$dir/cert.pem", "$dir/key.pem");
	system("openssl rsa -aes128 -passout pass:secret -in $key -out $dir/locked.pem 2>> $dir/log"
		. " && openssl genpkey -algorithm ED25519 -out $dir/ed25519.pem 2>> $dir/log"
		. " && cp $key $dir/closed.pem && chmod 0 $dir/closed.pem") == 0 or die "see $dir/log";
	my $mismatch = qr/the key of logsvc\.tls_key does not belong to the first certificate in the file of logsvc\.tls_certificate\n/;
	my @cases = (
		[ 'a certificate without a key', $certificate, '',
			qr/logsvc\.tls_certificate is set, but logsvc\.tls_key is not/ ],
		[ 'a key without a certificate', '', $key,
			qr/logsvc\.tls_key is set, but logsvc\.tls_certificate is not/ ],
		[ 'no such key', $certificate, '/nonexistent.pem',
			qr/could not open the file of logsvc\.tls_key: No such file or directory: "\/nonexistent\.pem"/ ],
		[ 'a folder', $certificate, $dir, qr/the file of logsvc\.tls_key is not a PEM file: "\Q$dir\E"/ ],
		[ 'a certificate that is none', 'Makefile', $key,
			qr/the file of logsvc\.tls_certificate has no usable certificate in PEM format: no start line/ ],
		[ 'a key that is none', $certificate, 'Makefile',
			qr/the file of logsvc\.tls_key has no private key in PEM format without a passphrase: / ],
		[ 'the files swapped', $key, $certificate, qr/the file of logsvc\.tls_key has no private key/ ],
		[ 'a key with a passphrase', $certificate, "$dir/locked.pem",
			qr/the file of logsvc\.tls_key has no private key in PEM format without a passphrase: / ],
		[ 'the key of another certificate', $certificate, "$other/key.pem", $mismatch ],
		[ 'a key of another kind', $certificate, "$dir/ed25519.pem", $mismatch ]);
	push @cases, [ 'a key that cannot be read', $certificate, "$dir/closed.pem",
		qr/could not open the file of logsvc\.tls_key: Permission denied/ ] if $> != 0;
	foreach (@cases)
	{
		my ($name, $c, $k, $says) = @$_;
		my $second = start_host(tls_certificate => $c, tls_key => $k);
		like($second->{line}, qr/\Aerror $says/, $name);
	}
}

# ---- connection limit ----

{
	my $small = start_host(connection_limit => 4, idle_timeout => 60_000);
	my @open = map { connect_to($small) } 1 .. 4;
	for (@open) { syswrite($_, "$get\r\n"); read_responses($_, 1) }
	my ($health) = request($small, "$get\r\n");
	is($health->{status}, 200, 'beyond the connection limit a health check is answered');
	my $search = "GET /api/v1/search HTTP/1.1\r\nHost: test\r\n\r\n";
	my $next = connect_to($small);
	syswrite($next, $search);
	my ($got) = read_responses($next, 1, 0.5);
	is(scalar(@$got), 0, 'any other client waits');
	close $open[0];
	($got) = read_responses($next, 1);
	is($got->[0]{status}, 200, 'until there is room');
	my $begin = time;
	my @more = map { connect_to($small) } 1 .. 4;
	my $served = 0;
	for (@more)
	{
		syswrite($_, $search);
		($got) = read_responses($_, 1);
		$served++ if @$got;
	}
	is($served, 4, 'or until others have been idle for a while');
	cmp_ok(time - $begin, '<', 40, 'which is before they are closed for it');
	my $busy = connect_to($small);
	syswrite($busy, post("$echo&delay_ms=2500", 'x'));
	$_ = connect_to($small) for @more;
	($got) = read_responses($busy, 1);
	is($got->[0]{status}, 202, 'who is being served keeps its place');
	is((stop_host($small))[0], 0, 'stops with connections open');
}

# ---- drain ----

{
	my $d = start_host();
	my $idle = connect_to($d);
	syswrite($idle, "$get\r\n");
	read_responses($idle, 1);
	my $fresh = connect_to($d);
	my $busy = connect_to($d);
	syswrite($busy, post("$echo&delay_ms=10000", 'x'));
	my $body = connect_to($d);
	syswrite($body, "POST $echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
	my $header = connect_to($d);
	syswrite($header, "GET /hea");
	wait_taken($d);
	my $begin = time;
	kill 'TERM', $d->{pid};
	for ([ 'a waiting request', $busy ], [ 'half a body', $body ], [ 'half a header', $header ])
	{
		my ($name, $s) = @$_;
		my ($got, $eof) = read_responses($s, 0);
		is($got->[0]{status}, 503, "drain: $name gets 503");
		like($got->[0]{body}, qr/"code":"SERVICE_UNAVAILABLE"/, 'its code');
		like($got->[0]{head}, qr/^Connection: close\r$/m, 'and the connection ends');
		ok($eof, 'really');
		close $s;
	}
	my ($none, $eof) = read_responses($idle, 0);
	ok($eof && !@$none, 'drain: idle connections are closed');
	($none, $eof) = read_responses($fresh, 0);
	ok($eof && !@$none, 'drain: silent ones too');
	ok(!IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $d->{port}),
		'no new connections');
	my ($status, $said) = stop_host($d);
	is($status, 0, 'stops');
	is($said, "cancel\ndrained\n", 'after all have been answered, the request cancelled');
	cmp_ok(time - $begin, '<', 9, 'without the 10 s of the request');
}

# ---- TLS ----

{
	my $dir = certificate();
	my $t = start_host(tls_certificate => "$dir/cert.pem", tls_key => "$dir/key.pem", later => 1,
		body_limit => 1000000, header_timeout => 1000, body_timeout => 1500);
	my $curl = "curl -sS -m 5 --cacert $dir/cert.pem -w ' %{http_code}'";
	my $url = "https://localhost:$t->{port}";

	is(`$curl $url/healthz`, '{"status":"ok"} 200', 'TLS');
	like(`$curl -d abc '$url$echo&delay_ms=50'`, qr/"body":"abc".* 202\z/, 'a body over TLS');
	is(`curl -sS -m 5 -w ' %{http_code}' http://localhost:$t->{port}/healthz`,
		'{"error":"this port speaks HTTPS: write https:// for it","code":"VALIDATION_ERROR"} 400',
		'http:// for https://');
	my $old = "--ciphers 'ALL:\@SECLEVEL=0' --tls-max";
	is(`$curl $old $_ $url/healthz`, '{"status":"ok"} 200', "TLS $_") foreach qw(1.2 1.3);
	is(`$curl --tlsv1.0 $old $_ $url/healthz 2> $dir/log`, ' 000', "no TLS $_") foreach qw(1.0 1.1);

	# Of TLS 1.2 only what is ephemeral and authenticated; 1.3 has nothing else.
	my $client = "openssl s_client -connect 127.0.0.1:$t->{port} < /dev/null 2>&1";
	foreach my $cipher (qw(ECDHE-RSA-AES128-GCM-SHA256 ECDHE-RSA-AES256-GCM-SHA384
		ECDHE-RSA-CHACHA20-POLY1305))
	{
		like(`$client -tls1_2 -cipher $cipher`, qr/Cipher is \Q$cipher\E/, "TLS 1.2: $cipher");
	}
	foreach my $cipher
		(qw(AES128-GCM-SHA256 AES256-SHA256 AES128-SHA ECDHE-RSA-AES256-SHA384
		ECDHE-RSA-AES128-SHA256
		ECDHE-RSA-AES256-SHA DHE-RSA-AES256-SHA256 DHE-RSA-AES128-GCM-SHA256 AECDH-AES128-SHA
		NULL-SHA256))
	{
		like(`$client -tls1_2 -cipher '$cipher:\@SECLEVEL=0'`, qr/Cipher is \(NONE\)/,
			"TLS 1.2: not $cipher");
	}
	like(`$client -tls1_2 -sigalgs RSA+SHA1 -cipher 'DEFAULT:\@SECLEVEL=0'`, qr/Cipher is \(NONE\)/,
		'no signature with SHA-1');
	foreach my $cipher (qw(TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384
		TLS_CHACHA20_POLY1305_SHA256))
	{
		like(`$client -tls1_3 -ciphersuites $cipher`, qr/Cipher is \Q$cipher\E/,
			"TLS 1.3: $cipher");
	}
	like(`$client -alpn h2,http/1.1`, qr/ALPN protocol: http\/1\.1/, 'ALPN: HTTP/1.1');
	like(`$client -alpn h2`, qr/no application protocol|Cipher is \(NONE\)/, 'and nothing else');
	unlike(`$client -tls1_2`, qr/Reused|TLS session ticket:/, 'no session to resume');
	# A client at a slow machine takes its time.
	my $patient = start_host(tls_certificate => "$dir/cert.pem", tls_key => "$dir/key.pem",
		header_timeout => 30000);
	my ($renegotiation) = tls_dialog($patient, '-tls1_2', [ "R\n", qr/no renegotiation|error/ ]);
	like($renegotiation, qr/RENEGOTIATING.*(no renegotiation|error)/s, 'nothing is renegotiated');
	foreach my $updates (10, 100)
	{
		my ($out, $done) = tls_dialog($patient, '-tls1_3', ([ "K\n", qr/KEYUPDATE/ ]) x $updates,
			[ "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", qr/"status":"ok"/ ]);
		is($done ? 'served' : 'cut', $updates < 64 ? 'served' : 'cut', "$updates key updates");
	}
	is((stop_host($patient))[0], 0, 'the sanitizers have nothing to report');
	like(`$curl -D - -o /dev/null $url/healthz`,
		qr/^Strict-Transport-Security: max-age=31536000\r$/m, 'HSTS');
	system("head -c 2000000 /dev/zero > $dir/big");
	for my $how (('Expect:') x 5, 'Transfer-Encoding: chunked', 'Expect: 100-continue')
	{
		like(`$curl -H '$how' -H 'Authorization: x' --data-binary \@$dir/big $url/api/v1/logs`,
			qr/ 413\z/, "a body too large over TLS ($how)");
	}
	like(`$curl -H 'Transfer-Encoding: chunked' -H 'Content-Length: 3' -d abc $url/api/v1/logs`,
		qr/VALIDATION_ERROR.* 400\z/, 'a malformed header over TLS');
	like(`$curl -H 'Authorization: a' -H 'Authorization: b' -d abc $url/api/v1/logs`,
		qr/VALIDATION_ERROR.* 400\z/, 'two credentials over TLS');
	`curl -sk -m 0.3 -d x '$url/api/v1/logs?delay_ms=3000'`;
	is(host_line($t), "cancel\n", 'a client of TLS that goes away');

	# In the midst of a body over TLS, which never ends.
	my $upload = connect_tls($t);
	syswrite($upload, "POST $echo HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nTransfer-Encoding: "
		. "chunked\r\n\r\n"
		  . sprintf("%x\r\n%s\r\n", 100000, 'x' x 100000) x 12);
	my ($got) = read_responses($upload, 1);
	is($got->[0]{status}, 413, 'a body that is too large and never ends is refused over TLS');
	close $upload;

	# Slow ones get an answer over TLS too.
	for ([ "GET /hea", 'a header' ], [ "POST $echo HTTP/1.1\r\nHost: a\r\nContent-Length: "
		. "10\r\n\r\nabc", 'a body' ])
	{
		my $slow = connect_tls($t);
		syswrite($slow, $_->[0]);
		my ($got, $eof) = read_responses($slow, 0);
		is($got->[0]{status}, 408, "half of $_->[1] over TLS: 408");
		ok($eof, 'and closed');
	}

	my $s = connect_to($t);
	my $before = cpu_ticks($t);
	syswrite($s, "\x16\x03\x01");
	my ($none, $eof) = read_responses($s, 0);
	ok($eof, 'half a handshake is cut');
	cmp_ok(cpu_ticks($t) - $before, '<', 60, 'and does not keep the processor busy');
	is((stop_host($t))[0], 0, 'stops');
}

my ($status, $said) = stop_host($h);
unlike($said, qr/unknown/, 'no request was cancelled that had been answered');
is($status, 0, 'the sanitizers have nothing to report');
done_testing();
