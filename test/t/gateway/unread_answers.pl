# unread_answers.pl: answers that are not read, or slowly: how long the gateway
# keeps them, how much memory they have, and who loses it when it runs short.
#
# Takes long.
use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use LogsvcGateway;
use Socket qw(IPPROTO_TCP SOL_SOCKET SO_RCVBUF inet_aton pack_sockaddr_in);
use Test::More;
use Time::HiRes qw(time sleep);

# The sanitizer keeps what has been freed; here it must not.
$ENV{ASAN_OPTIONS} = join ':', grep { defined } $ENV{ASAN_OPTIONS}, 'quarantine_size_mb=1';

# A connection from an address, with a receive buffer so small that what is not read shows.
sub connect_small
{
	my ($host, $from, $buffer) = @_;
	socket(my $s, Socket::AF_INET(), Socket::SOCK_STREAM(), IPPROTO_TCP) or die "socket: $!";
	setsockopt($s, SOL_SOCKET, SO_RCVBUF, pack('i', $buffer // 2304)) or die "SO_RCVBUF: $!";
	bind($s, pack_sockaddr_in(0, inet_aton($from))) or die "bind: $!";
	connect($s, pack_sockaddr_in($host->{port}, inet_aton('127.0.0.1'))) or die "connect: $!";
	return bless $s, 'IO::Socket::INET';
}

# Is there something to read?
sub has_answer { my ($s) = @_; return IO::Select->new($s)->can_read(0) }

sub get { my ($path) = @_; return "GET $path HTTP/1.1\r\nHost: a\r\n\r\n" }

sub ask
{
	my ($host, $from, $text, $seconds) = @_;
	my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $host->{port},
		LocalAddr => $from) // die "connect: $!";
	syswrite($s, $text);
	my ($got) = read_responses($s, 1, $seconds // 60);
	return $got->[0] // { status => 0, head => '', body => '' };
}

# Reads so many bytes each 0.1 s until the end or the time: seconds, bytes, was there an end?
sub read_slowly
{
	my ($s, $step, $seconds) = @_;
	my $begin = time;
	my $bytes = 0;
	while (time - $begin < $seconds)
	{
		if (IO::Select->new($s)->can_read(0))
		{
			my $n = sysread($s, my $part, $step);
			return (time - $begin, $bytes, 1) if !$n;
			$bytes += $n;
		}
		sleep 0.1;
	}
	return ($seconds, $bytes, 0);
}

# ---- time ----

my $dir = certificate();
my $h = start_host(later => 1, body_timeout => 2000);
my $t = start_host(later => 1, body_timeout => 2000, tls_certificate => "$dir/cert.pem",
	tls_key => "$dir/key.pem");
sub slow_reader
{
	my ($path, $buffer, $step) = @_;
	my $s = connect_small($h, '127.0.0.2', $buffer);
	syswrite($s, get($path));
	return read_slowly($s, $step, 30);
}
my ($answer, $stream, $fast, $tls) = at_once(sub
	{ slow_reader('/api/v1/search?size=3000000', 2304, 200) },
	sub { slow_reader('/api/v1/search?pieces=1500', 2304, 200) },
		sub { slow_reader('/api/v1/search?size=400000', 8192, 5000) },
	sub {
		# s_client reads all that comes, unless its own output is not read.
		my $s = connect_tls($t);
		syswrite($s, get('/api/v1/search?size=20000000'));
		my ($seconds, $bytes, $end) = read_slowly($s, 200, 12);
		# What s_client has read already still comes out of it.
		my $n;
		do { $n = sysread($s, my $part, 1 << 20); $bytes += $n // 0 } while $n;
		return $bytes;
	});
foreach my $case ([ 'an answer', $answer ], [ 'a stream', $stream ])
{
	my ($name, $result) = @$case;
	my ($seconds, $bytes, $end) = @$result;
	ok($end, "$name that is read with 2,000 bytes a second is cut")
	  or diag "$bytes bytes in $seconds seconds";
	cmp_ok($seconds, '<', 20, '... when it is late by its rate');
}
is(host_line($h), "cancel\n", '... and the worker is told of the end of the stream');
# Above the rate nobody is cut, however long it takes.
cmp_ok($fast->[1], '>', 400_000, 'an answer of 400 KB that is read with 50 KB a second is whole');
cmp_ok($fast->[0], '>', 5, '... after several times the time of a body');
cmp_ok($tls->[0], '<', 20_000_000, 'over TLS an answer that is read too slowly is cut too');
is((stop_host($t))[0], 0, 'the sanitizers have nothing to report');
is((stop_host($h))[0], 0, 'the sanitizers have nothing to report');

# ---- memory ----

my $limit = 36_000_000;
$h = start_host(later => 1, memory_limit => $limit, body_timeout => 30_000,
	connection_limit => 600);
ask($h, '127.0.0.3', get('/api/v1/search?size=5000000')); # the host's own memory has its size
my $before = memory($h);
foreach my $case ([ 'answers', 30, get('/api/v1/search?size=8000000'), 1 ],
	[ 'API descriptions', 500, get('/api/v1/openapi.json'), 0 ],
	[ 'pipelined answers', 30, get('/api/v1/search?size=8000000') x 20, 1 ])
{
	my ($name, $n, $text, $short) = @$case;
	my @held = map { my $s = connect_small($h, '127.0.0.2'); syswrite($s, $text); $s } 1 .. $n;
	wait_for(sub { @held == grep { has_answer($_) } @held });
	# The host itself has copies until those that are refused have stopped asking.
	wait_for(sub { (memory($h) - $before) * 1024 < 1.6 * $limit });
	cmp_ok((memory($h) - $before) * 1024, '<', 1.6 * $limit,
		"$n $name that nobody reads stay within the memory of bodies and answers");
	my $r = ask($h, '127.0.0.3', get('/api/v1/search?size=5000000'), 60);
	is("$r->{status} " . length $r->{body}, '200 5000000',
		'... another address gets a large answer');
	is(ask($h, '127.0.0.3', post('/api/v1/logs', 'x' x 8_000_000, 'Authorization: good'),
		60)->{status}, 202, '... and sends a large body');
	is(ask($h, '127.0.0.3', get('/healthz'))->{status}, 200, '... and asks for health');
	if ($short)
	{
		$r = ask($h, '127.0.0.2', get('/api/v1/search?size=34000000'));
		is("$r->{status} " . ($r->{head} =~ /^Retry-After: 1\r$/m ? 'later' : ''), '503 later',
			'... the same address is refused what is larger than all that it leaves');
		is(length ask($h, '127.0.0.2', get('/api/v1/search?size=1000000'))->{body}, 1_000_000,
			'... and gets what is smaller');
	}
	close $_ for @held;
	wait_for(sub { memory($h) - $before < 25_000 });
	cmp_ok(memory($h) - $before, '<', 25_000, '... and the memory comes back');
}

# Bodies give way to an answer, and the answer is the right one.
{
	my $head = "POST /api/v1/logs HTTP/1.1\r\nHost: a\r\nAuthorization: good\r\nContent-Length: "
		. "9500000\r\n\r\n";
	my @held = map { my $s = connect_small($h, '127.0.0.2'); syswrite($s, $head . 'x' x 9_000_000);
		$s } 1 .. 3;
	wait_taken($h);
	my $r = ask($h, '127.0.0.3', get('/api/v1/search?size=12000000'), 60);
	is("$r->{status} " . length $r->{body}, '200 12000000',
		'unfinished bodies of the address that has most give way to an answer');
	is(scalar(grep { !IO::Select->new($_)->can_read(0) } @held), 2, '... as many as it takes');
	close $_ for @held;
	wait_for(sub { memory($h) - $before < 25_000 });
}

# A stream counts too.
{
	my $s = connect_small($h, '127.0.0.2');
	syswrite($s, get('/api/v1/search?pieces=1500'));
	wait_for(sub { has_answer($s) });
	sleep 0.5;    # time in which it would be fed
	cmp_ok(memory($h) - $before, '<', 25_000, 'a stream that is not read is not fed');
	my @held = map { my $s = connect_small($h, '127.0.0.2');
		syswrite($s, get('/api/v1/search?size=3000000')); $s } 1 .. 20;
	wait_for(sub { @held == grep { has_answer($_) } @held });
	is(ask($h, '127.0.0.3', get('/healthz'))->{status}, 200, '... beside large answers');
	close $_ for $s, @held;
	host_line($h);
}

# The body of a request whose answer is not read does not count.
{
	my @held = map {
		my $s = connect_small($h, '127.0.0.2');
		syswrite($s, get('/api/v1/openapi.json') . post('/api/v1/logs', 'x' x 60_000,
			'Authorization: good'));
		$s } 1 .. 100;
	wait_for(sub { @held == grep { has_answer($_) } @held });
	is(ask($h, '127.0.0.2', post('/api/v1/logs', 'x' x 9_000_000, 'Authorization: good'),
		60)->{status}, 202, 'bodies behind answers that are not read');
	close $_ for @held;
}
is((stop_host($h))[0], 0, 'the sanitizers have nothing to report');
done_testing;
