# hostile_clients.pl: what a hostile client does to a server of HTTP, beyond framing
# (request_framing.pl), limits (client_limits.pl) and slow reading (unread_answers.pl):
# very many requests on a connection, answers that nobody reads, promises that are not
# kept, half-open TLS.  Each time others are served at once, and nothing is left over.
use strict;
use warnings;

use IO::Select;
use IO::Socket::SSL ();
use LogsvcGateway;
use Test::More;
use Time::HiRes qw(time sleep);

my $dir = certificate();
my $h = start_host(later => 1, header_timeout => 2000, body_timeout => 2000, idle_timeout => 60000,
	connection_limit => 1500);
my $t = start_host(later => 1, header_timeout => 3000, body_timeout => 2000, idle_timeout => 60000,
	connection_limit => 1500,
	tls_certificate => "$dir/cert.pem", tls_key => "$dir/key.pem");
my $get = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
my $curl = "curl -sS -m 10 --cacert $dir/cert.pem -w ' %{http_code}'";

sub is_served
{
	my ($name) = @_;
	my $begin = time;
	is((request($h, $get))[0]{status}, 200, "$name: others are served");
	cmp_ok(time - $begin, '<', 20, '... soon');
}

# Writes while it reads nothing, until the server takes no more; bytes that it took.
sub push_all
{
	my ($s, $text) = @_;
	my $at = 0;
	$s->blocking(0);
	while ($at < length $text && IO::Select->new($s)->can_write(0.5))
	{
		my $n = syswrite($s, $text, 65536, $at) // last;
		$at += $n;
	}
	$s->blocking(1);
	return $at;
}

# ---- pipelining ----

{
	my $s = connect_to($h);
	my $pid = fork // die "fork: $!";
	if (!$pid)
	{
		for my $n (1 .. 100) { syswrite($s, ($get x 98) . post('/api/v1/logs', "x$n")
			. "HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n") }
		POSIX::_exit(0);
	}
	my ($n, $data, %status) = (0, '');
	is_served('10,000 pipelined requests');
	my $until = time + 60;
	while ($n < 10_000 && time < $until && IO::Select->new($s)->can_read(5))
	{
		sysread($s, $data, 65536, length $data) or last;
		# The answer to HEAD is the only one of its length without a body.
		while ($data =~ /\AHTTP\/1\.1 (\d+)[^\r]*\r\n((?:[^\r\n]+\r\n)*)\r\n/)
		{
			my ($status, $end) = ($1, $+[0]);
			my $length = $n % 100 == 99 ? 0 : ($2 =~ /^Content-Length: (\d+)/mi)[0];
			last if length($data) < $end + $length;
			substr($data, 0, $end + $length) = '';
			$status{$status}++;
			$n++;
		}
	}
	is_deeply(\%status, { 200 => 9900, 202 => 100 },
		'each is answered, in its order, HEAD without a body');
	is($data, '', '... and nothing else');
	waitpid $pid, 0;

	# Nobody reads: the server stops to read too.
	$s = connect_to($h);
	my $before = memory($h);
	my $took = push_all($s, $get x 500_000);
	cmp_ok($took, '<', 500_000 * length $get,
		"pipelined requests whose answers are not read: $took bytes are taken, no more");
	cmp_ok(memory($h) - $before, '<', 5_000, '... and cost no memory');
	is_served('meanwhile');
	my ($none, $eof);
	my $begin = time;
	sleep 5;    # more than the time of a body
	my $read = 0;
	while (my $n = sysread($s, my $part, 1 << 20)) { $read += $n }
	cmp_ok($read, '<', 30_000_000, '... and after a while they are cut');
}

# ---- promises ----

{
	my $s = connect_to($h);
	my $begin = time;
	syswrite($s, "POST /api/v1/logs HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: "
		. "100-continue\r\n\r\n");
	my ($got, $eof) = read_responses($s, 0);
	is(join(' ', map { $_->{status} } @$got), '100 408', '100-continue that no body follows');
	cmp_ok(time - $begin, '>', 1.5, '... ends with the time of a body');
	ok($eof, '... and the connection');

	foreach ([ 'Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Key: x',
		'Sec-WebSocket-Version: 13' ],
		[ 'Upgrade: h2c', 'Connection: Upgrade, HTTP2-Settings',
			'HTTP2-Settings: AAMAAABkAAQAAP__' ], [ 'Upgrade: TLS/1.0', 'Connection: Upgrade' ])
	{
		$s = connect_to($h);
		syswrite($s, join("\r\n", 'GET /healthz HTTP/1.1', 'Host: a', @$_, '', '') . $get);
		($got) = read_responses($s, 2);
		is(join(' ', map { $_->{status} } @$got), '200 200',
			"$_->[0] changes nothing, what follows is HTTP/1.1");
	}
	foreach ([ 'GET http://other/healthz HTTP/1.1', 200 ], [ 'GET HTTPS://a:1/healthz?x HTTP/1.1',
		200 ], [ 'GET http:///healthz HTTP/1.1', 200 ],
		[ 'GET ftp://a/healthz HTTP/1.1', 400 ], [ 'GET //healthz HTTP/1.1', 404 ],
			[ 'GET a:80/healthz HTTP/1.1', 400 ], [ 'CONNECT a:80 HTTP/1.1', 400 ],
		[ 'OPTIONS * HTTP/1.1', 404 ], [ 'TRACE /healthz HTTP/1.1', 405 ],
			[ 'GET /../healthz HTTP/1.1', 404 ], [ 'GET /%68ealthz HTTP/1.1', 404 ],
		[ 'GET http://a HTTP/1.1', 200 ], [ 'GET /healthz HTTP/1.10', 400 ],
			[ 'GET /healthz HTTP/01.1', 400 ], [ 'GET /healthz http/1.1', 400 ],
				[ 'GET /healthz HTTP/3.0', 505 ])
	{
		my ($line, $status) = @$_;
		$s = connect_to($h);
		syswrite($s, "$line\r\nHost: a\r\n\r\n");
		($got) = read_responses($s, 0, 0.2);
		is(join(' ', map { $_->{status} } @$got), $status, $line);
	}
	# HTTP/1.0 that asks to be kept, with a body and without, and with what only 1.1 knows.
	$s = connect_to($h);
	syswrite($s, "GET /healthz HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\nPOST /api/v1/logs "
		. "HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}"
		  . "GET /healthz HTTP/1.0\r\n\r\n$get");
	($got, $eof) = read_responses($s, 0);
	is(join(' ', map { $_->{status} } @$got), '200 202 200', 'HTTP/1.0 kept, then not');
	ok($eof, '... and what comes behind is not read');
	is((request($h, "POST /api/v1/logs HTTP/1.0\r\nTransfer-Encoding: "
		. "chunked\r\n\r\n0\r\n\r\n"))[0]{status}, 400, 'chunks in HTTP/1.0');
}

# ---- long headers cost no more than their length ----

{
	my $s = connect_to($h);
	my $before = cpu_ticks($h);
	for (1 .. 100)
	{
		syswrite($s, "GET /healthz HTTP/1.1\r\nHost: a\r\nUser-Agent: " . ('e' x 16_000)
			. "\r\n\r\n");
		read_responses($s, 1);
	}
	cmp_ok(cpu_ticks($h) - $before, '<', 40, '100 requests with a User-Agent of 16 KB');
}

# ---- uploads behind a refusal, as fast as they come ----

{
	my @pids;
	foreach (1 .. 4)
	{
		my $pid = fork // die "fork: $!";
		if (!$pid)
		{
			my $block = 'x' x (1 << 20);
			my $end = time + 5;
			while (time < $end)
			{
				my $s = connect_to($h);
				syswrite($s, "POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: "
					. "90000000\r\n\r\n") or next;
				for (1 .. 70) { syswrite($s, $block) // last }
			}
			POSIX::_exit(0);
		}
		push @pids, $pid;
	}
	wait_for(sub { connections($h) >= 4 });
	is_served('four uploads that are thrown away') for 1 .. 3;
	waitpid $_, 0 foreach @pids;
}

# ---- TLS ----

sub is_served_by_tls
{
	my ($name) = @_;
	my $begin = time;
	is(`$curl https://localhost:$t->{port}/healthz`, '{"status":"ok"} 200',
		"$name: others are served");
	cmp_ok(time - $begin, '<', 20, '... soon');
}
{
	my $before = memory($t);
	my @held = map { my $s = connect_to($t);
		syswrite($s, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" . 'r' x 20); $s } 1 .. 1000;
	is_served_by_tls('1,000 half-open handshakes');
	my $open = sub { scalar grep { !IO::Select->new($_)->can_read(0) } @held };
	wait_for(sub { !$open->() });
	is($open->(), 0, '... all are cut with the time of a header');
	close $_ for @held;
	# Silent ones, and such as speak something else.
	@held = map { my $s = connect_to($t); syswrite($s, $get) if $_ % 2; $s } 1 .. 200;
	is_served_by_tls('plain HTTP and silence where TLS is spoken');
	wait_for(sub { !$open->() });
	is($open->(), 0, '... all are cut');
	close $_ for @held;

	# The connection ends within a record: of a handshake, and of a request.
	foreach my $n (1, 4, 5, 6, 40)
	{
		my $s = connect_to($t);
		syswrite($s, substr("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" . 'r' x 100, 0, $n));
		close $s;
	}
	foreach my $junk ("\x17\x03\x03\x40", "\x17\x03\x03\x00\x20" . 'j' x 32, "\x17\x03\x03\xff\xff"
		. 'j' x 100, "\x14\x03\x03\x00\x01\x01" x 100)
	{
		my $s = IO::Socket::SSL->new(PeerAddr => '127.0.0.1', PeerPort => $t->{port},
			SSL_verify_mode => IO::Socket::SSL::SSL_VERIFY_NONE())
		  or die "no handshake: $IO::Socket::SSL::SSL_ERROR\n";
		$s->syswrite("POST /api/v1/logs HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc");
		open(my $raw, '+<&', fileno $s) or die "dup: $!";
		syswrite($raw, $junk);
		wait_taken($t);
		close $raw;
		$s->close(SSL_no_shutdown => 1);
	}
	is_served_by_tls('records that are cut, broken or too long');
}
foreach ([ plain => $h ], [ TLS => $t ])
{
	my ($status, $said) = stop_host($_->[1]);
	is($status, 0, "$_->[0]: the sanitizers have nothing to report");
	unlike($said, qr/unknown|stopped/, '... and nothing was left');
}
done_testing;
