# sockets.pl: WebSockets (RFC 6455) of the gateway alone, with frames made by hand: the
# handshake, what a client may say and what ends the connection, clients that do not read, do
# not answer or say too much.
use strict;
use warnings;

use Digest::SHA qw(sha1_base64);
use IO::Select;
use LogsvcGateway;
use Test::More;
use Time::HiRes qw(time sleep);

my $dir = certificate();
my $key = 'dGhlIHNhbXBsZSBub25jZQ==';
my $h = start_host(idle_timeout => 60000, body_timeout => 2000, connection_limit => 300);
my $impatient = start_host(idle_timeout => 2000, body_timeout => 2000);

# ---- a client ----

sub asking
{
	my ($query, %fields) = @_;
	my %all = (Host => 'a', Upgrade => 'websocket', Connection => 'Upgrade', 'Sec-WebSocket-Version' => 13,
		'Sec-WebSocket-Key' => $key, %fields);
	return "GET /loki/api/v1/tail$query HTTP/1.1\r\n"
	  . join('', map { "$_: $all{$_}\r\n" } grep { defined $all{$_} } sort keys %all) . "\r\n";
}

# Opens a WebSocket; `more` is sent together with the request.
sub open_socket
{
	my ($host, $query, $more, $s) = @_;
	$s //= connect_to($host);
	syswrite($s, asking($query) . ($more // ''));
	my $client = { socket => $s, bytes => '' };
	read_on($client, sub { $client->{bytes} =~ s/\A(HTTP.*?\r\n\r\n)//s && ($client->{head} = $1) });
	return $client;
}

# Reads until the condition holds; true: it does.
sub read_on
{
	my ($c, $condition, $seconds) = @_;
	my $until = time + ($seconds // 30);
	while (!$condition->())
	{
		return 0 if $c->{ended} || time > $until;
		next if !($c->{socket}->can('pending') && $c->{socket}->pending)
		  && !IO::Select->new($c->{socket})->can_read(0.1);
		sysread($c->{socket}, $c->{bytes}, 1 << 16, length $c->{bytes}) or $c->{ended} = 1;
	}
	return 1;
}

# The next frame: [final, opcode, payload]; undef: the connection has ended, or nothing came.
sub next_frame
{
	my ($c, $seconds) = @_;
	my $frame;
	read_on($c, sub {
		return 0 if length $c->{bytes} < 2;
		my ($first, $second) = unpack 'CC', $c->{bytes};
		die 'a server masks nothing' if $second & 0x80;
		my ($size, $head) = ($second, 2);
		return 0 if $second >= 126 && length $c->{bytes} < ($second == 126 ? 4 : 10);
		($size, $head) = (unpack('x2 n', $c->{bytes}), 4) if $second == 126;
		($size, $head) = (unpack('x2 Q>', $c->{bytes}), 10) if $second == 127;
		return 0 if length $c->{bytes} < $head + $size;
		$frame = [ $first >> 7, $first & 0x7f, substr $c->{bytes}, $head, $size ];
		substr($c->{bytes}, 0, $head + $size) = '';
		return 1;
	}, $seconds);
	return $frame;
}

sub frame
{
	my ($first, $payload, $mask) = @_;
	my $len = length $payload;
	$mask //= "\x12\xfe\x00\x81";
	return pack('C', $first)
	  . ($len < 126 ? pack('C', 0x80 | $len) : $len < 65536 ? pack('Cn', 0xfe, $len) : pack('CQ>', 0xff, $len))
	  . $mask . ($payload ^ substr($mask x ($len / 4 + 1), 0, $len));
}

sub code_of { my ($f) = @_; return !$f ? 'nothing' : $f->[1] != 8 ? "opcode $f->[1]" : length $f->[2] ? unpack('n', $f->[2]) : 'none'; }

# The code of the frame that closes; other frames before are passed over.
sub closing
{
	my ($c) = @_;
	my $f;
	1 while ($f = next_frame($c)) && $f->[1] != 8;
	return code_of($f);
}

sub is_served
{
	my ($name) = @_;
	is(request($h, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")->{status}, 200, "$name: others are served");
}

# ---- the handshake ----

my $c = open_socket($h, '?size=5');
like($c->{head}, qr/\AHTTP\/1\.1 101 Switching Protocols\r\n/, 'a handshake');
my $accept = sha1_base64($key . '258EAFA5-E914-47DA-95CA-C5AB0DC85B11') . '=';
like($c->{head}, qr/^Sec-WebSocket-Accept: \Q$accept\E\r$/m, '... with the accepted key');
like($c->{head}, qr/^Upgrade: websocket\r$/m, '... and Upgrade');
like($c->{head}, qr/^Connection: Upgrade\r$/m, '... for this connection');
unlike($c->{head}, qr/^(?:Sec-WebSocket-(?:Extensions|Protocol)|Content-Length|Transfer-Encoding|Content-Type)/mi,
	'... without extensions, protocol or length');
is_deeply(next_frame($c), [ 1, 1, 'x' x 5 ], 'a message');

foreach ([ 'HTTP/1.0', 200, sub { $_[0] =~ s{HTTP/1\.1}{HTTP/1.0}r } ], [ 'POST', 405, sub { $_[0] =~ s/\AGET/POST/r } ])
{
	my ($name, $status, $change) = @$_;
	is(request($h, $change->(asking('')))->{status}, $status, "$name is no handshake");
}
# An answer to HEAD has no body.
$c = { socket => connect_to($h), bytes => '' };
syswrite($c->{socket}, asking('') =~ s/\AGET/HEAD/r);
read_on($c, sub { $c->{bytes} =~ /\r\n\r\n/ });
like($c->{bytes}, qr/\AHTTP\/1\.1 400 /, 'HEAD is no handshake');
foreach ([ 'no Upgrade', 200, Upgrade => undef ], [ 'Upgrade to h2c', 200, Upgrade => 'h2c' ],
	[ 'no Connection: Upgrade', 400, Connection => 'keep-alive' ], [ 'no version', 426, 'Sec-WebSocket-Version' => undef ],
	[ 'version 8', 426, 'Sec-WebSocket-Version' => 8 ], [ 'no key', 400, 'Sec-WebSocket-Key' => undef ],
	[ 'a bad key', 400, 'Sec-WebSocket-Key' => 'x' ], [ 'a body', 400, 'Content-Length' => 3 ],
	[ 'chunks', 400, 'Transfer-Encoding' => 'chunked' ])
{
	my ($name, $status, %fields) = @$_;
	my $r = request($h, asking('', %fields));
	is($r->{status}, $status, "$name: $status");
	like($r->{head}, qr/^Sec-WebSocket-Version: 13\r$/m, '... and says which') if $status == 426;
	like($r->{body}, qr/LOKI_TAIL.*"flags":0/s, '... as any request') if $status == 200;
}
is(request($h, asking('?status=403'))->{status}, 403, 'a refusal is an ordinary answer');
like(request($h, asking('') =~ s{/loki/api/v1/tail}{/healthz}r)->{head}, qr/\AHTTP\/1\.1 200 /,
	'other routes have no WebSocket');

# ---- frames of the server ----

foreach my $size (0, 125, 126, 65535, 65536, 3_000_000)
{
	my $f = next_frame(open_socket($h, "?size=$size"), $size == 0 ? 0.5 : 30);
	is($f ? "$f->[0] $f->[1] " . length $f->[2] : 'nothing', $size == 0 ? 'nothing' : "1 1 $size", "a message of $size bytes");
}
$c = open_socket($h, '?size=1000&slices=3');
is(join(' ', map { my $f = next_frame($c); "$f->[0]$f->[1]:" . length $f->[2] } 1 .. 3), '01:1000 00:1000 10:1000',
	'a message in slices is fragments of one');
$c = open_socket($h, '?size=5&ends=401');
is(next_frame($c)->[2], 'x' x 5, 'a worker ends it: what came before');
my $f = next_frame($c);
is(code_of($f) . substr($f->[2], 2), '1008API_KEY_REVOKED: the key was revoked', '... and the reason');
syswrite($c->{socket}, frame(0x88, pack('n', 1008)));
read_on($c, sub { $c->{ended} });
ok($c->{ended}, '... and the connection ends');
is(closing(open_socket($h, "?size=5&ends=$_->[0]")), $_->[1], "ended with $_->[0]: $_->[1]")
  foreach [ 200, 1000 ], [ 503, 1013 ], [ 500, 1011 ], [ 429, 1008 ];

# ---- frames of clients ----

$c = open_socket($h, '?size=1', frame(0x89, 'early'));
is_deeply([ next_frame($c), next_frame($c) ], [ [ 1, 1, 'x' ], [ 1, 10, 'early' ] ], 'a ping with the request is answered');
syswrite($c->{socket}, frame(0x89, 'z' x 125));
is_deeply(next_frame($c), [ 1, 10, 'z' x 125 ], 'the largest ping');
syswrite($c->{socket}, frame(0x8a, 'nobody asked') . frame(0x81, 'hello') . frame(0x01, 'a') . frame(0x89, 'between') . frame(0x80, 'b')
	. frame(0x82, "\0\xff"));
is_deeply(next_frame($c), [ 1, 10, 'between' ], 'pongs and messages mean nothing, a ping between fragments does');
foreach my $byte (split //, frame(0x89, 'slow')) { syswrite($c->{socket}, $byte); sleep 0.01 }
is_deeply(next_frame($c), [ 1, 10, 'slow' ], 'a frame byte by byte');
syswrite($c->{socket}, frame(0x88, pack('n', 4321) . 'bye'));
is(closing($c), 4321, 'a close is answered with its code');
read_on($c, sub { $c->{ended} });
ok($c->{ended}, '... and the connection ends');
like(host_line($h), qr/^cancel$/, '... and its request');
$c = open_socket($h, '?size=1');
syswrite($c->{socket}, frame(0x88, ''));
is(closing($c), 'none', 'a close without a code is answered with none');
like(host_line($h), qr/^cancel$/, '... and ends its request');

my @bad = ([ 'a frame without a mask', 1002, "\x81\x02hi" ], [ 'a reserved bit', 1002, "\xc1\x80\0\0\0\0" ],
	[ 'a reserved opcode', 1002, "\x83\x80\0\0\0\0" ], [ 'a ping in fragments', 1002, "\x09\x80\0\0\0\0" ],
	[ 'a long ping', 1002, frame(0x89, 'x' x 126) ], [ 'a continuation of nothing', 1002, frame(0x80, 'x') ],
	[ 'a message in a message', 1002, frame(0x01, 'x') . frame(0x81, 'x') ],
	[ 'a length of 64 bits', 1009, "\x82\xff\x7f" . "\xff" x 7 . "\0\0\0\0" ],
	[ 'a negative one', 1002, "\x82\xff" . "\xff" x 8 . "\0\0\0\0" ],
	[ 'a length that is not the shortest', 1002, "\x81\xfe\0\x01\0\0\0\0x" ],
	[ 'a large message', 1009, frame(0x81, 'x' x 1025) ],
	[ 'a message that grows', 1009, frame(0x01, 'x' x 1024) . frame(0x00, 'x') ],
	[ 'a text that is none', 1007, frame(0x81, "\xc3\x28") ], [ 'half a code', 1002, frame(0x88, "\x03") ],
	[ 'a code that nobody may send', 1002, frame(0x88, pack('n', 1006)) ], [ 'HTTP', 1002, "GET / HTTP/1.1\r\n\r\n" ]);
foreach (@bad)
{
	my ($name, $code, $bytes) = @$_;
	my $client = open_socket($h, '?size=1');
	syswrite($client->{socket}, $bytes);
	is(closing($client), $code, "$name: $code");
	like(host_line($h), qr/^cancel$/, '... and its request ends');
	close $client->{socket};
}

# ---- clients that go, wait, or want too much ----

$c = open_socket($h, '?size=1');
close $c->{socket};
like(host_line($h), qr/^cancel$/, 'a client that goes ends its request');
$c = open_socket($h, '?size=1');
shutdown($c->{socket}, 1);
like(host_line($h), qr/^cancel$/, 'so does one that says no more');

# Many pings at once: few answers, of which the last one is the last.
$c = open_socket($h, '?size=1');
next_frame($c);
my $before = memory($h);
my $flood = join '', map { frame(0x89, sprintf '%05d', $_) } 1 .. 10_000;
my $pid = fork // die "fork: $!";
if (!$pid)
{
	syswrite($c->{socket}, $flood, 1 << 16, $_ << 16) for 0 .. length($flood) >> 16;
	POSIX::_exit(0);
}
is_served('10,000 pings');
my ($pongs, $last) = (0, '');
while ($last ne '10000' && ($f = next_frame($c))) { $pongs++; $last = $f->[2]; }
waitpid $pid, 0;
is($last, '10000', 'the last of many pings is answered');
cmp_ok($pongs, '<', 2_000, "... and few others: $pongs");

# Far more than anybody has to say: each frame costs time of the gateway.
foreach ([ 'pings', frame(0x89, '') ], [ 'empty messages', frame(0x81, '') ], [ 'messages', frame(0x82, 'x' x 1024) ])
{
	my ($name, $one) = @$_;
	my $client = open_socket($h, '?size=1');
	my $much = $one x (2_000_000 / length $one);
	local $SIG{PIPE} = 'IGNORE';
	$client->{socket}->blocking(0);
	my ($sent, $until) = (0, time + 20);
	while ($sent < length $much && time < $until)
	{
		next if !IO::Select->new($client->{socket})->can_write(0.1);
		$sent += syswrite($client->{socket}, $much, 1 << 16, $sent) // last;
	}
	is(closing($client), 1008, "2 MB of $name: 1008");
	like(host_line($h), qr/^cancel$/, '... and its request ends');
	close $client->{socket};
}

# Nobody reads the answers to pings: nothing gathers.
$c = open_socket($h, '?size=3000000');
my $at = 0;
$c->{socket}->blocking(0);
while ($at < length $flood && IO::Select->new($c->{socket})->can_write(0.5))
{
	$at += syswrite($c->{socket}, $flood, 1 << 16, $at) // last;
}
cmp_ok(memory($h) - $before, '<', 20_000, 'pings of a client that reads nothing cost no memory');
is_served('meanwhile');
# It has not read for the time of a body.
like(host_line($h), qr/^cancel$/, '... and it is cut off');

# A client that says nothing is asked, and given up.
$c = open_socket($impatient, '?size=1');
next_frame($c);
my $begin = time;
my @frames;
while (my $one = next_frame($c)) { push @frames, $one }
is_deeply([ (map { $_->[1] } @frames)[ 0 .. 1 ] ], [ 9, 9 ], 'a silent client is pinged') or diag explain \@frames;
ok($c->{ended}, '... and given up');
cmp_ok(time - $begin, '>', 1.5, '... not at once');
like(host_line($impatient), qr/^cancel$/, '... and its request ends');
$c = open_socket($impatient, '?size=1');
next_frame($c);
for (1 .. 8) { $f = next_frame($c, 10) or last; syswrite($c->{socket}, frame(0x8a, $f->[2])) }
ok(!$c->{ended}, 'one that answers stays');

# ---- TLS, as many at once, the end ----

my $tls = start_host(tls_certificate => "$dir/cert.pem", tls_key => "$dir/key.pem");
$c = open_socket($tls, '?size=100000', frame(0x89, 'tls'), connect_tls($tls, $dir));
is_deeply([ length next_frame($c)->[2], next_frame($c)->[2] ], [ 100000, 'tls' ], 'over TLS');
syswrite($c->{socket}, frame(0x88, pack('n', 1000)));
is(closing($c), 1000, '... and its end');

my @many = map { open_socket($h, '?size=10') } 1 .. 100;
is(scalar(grep { $_->{head} =~ / 101 / && next_frame($_)->[2] eq 'x' x 10 } @many), 100, 'a hundred');
is_served('beside them');
my $ended = 0;
kill 'TERM', $h->{pid};
foreach my $one (@many) { $ended++ if closing($one) eq '1001'; close $one->{socket}; }
is($ended, 100, 'a gateway that stops says so to each');
my ($status, $said) = stop_host($h);
is($status, 0, 'no complaint of the sanitizers');
like($said, qr/drained/, 'all connections ended');
is((stop_host($_))[0], 0, '... of the others') foreach $impatient, $tls;

done_testing();
