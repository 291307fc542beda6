# hostile_lines.pl: listeners without HTTP (syslog, GELF) under attack: unfinished messages, lines
# without an end, more senders than places, more than the host takes.  Others are served
# meanwhile, nothing of theirs is lost over TCP, and memory stays bounded.
use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use IO::Socket::SSL ();
use LogsvcGateway;
use Test::More;
use Time::HiRes qw(time sleep);

my %port;

sub start_listening
{
	my (%settings) = @_;
	my %taken;
	foreach my $kind (qw(tcp udp gelf))
	{
		do { $port{$kind} = LogsvcGateway::free_port() } while $taken{ $port{$kind} }++;
	}
	return start_host(later => 1, listeners => "tcp:127.0.0.1:$port{tcp}=acme/web,"
		. "udp:127.0.0.1:$port{udp}=acme,gelf:127.0.0.1:$port{gelf}=other", %settings);
}

sub sender
{
	my ($kind, $from) = @_;
	return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port{$kind}, Timeout => 5,
		$from ? (LocalAddr => $from) : (), Proto => $kind eq 'udp' ? 'udp' : 'tcp')
	  // die "cannot connect: $!";
}

sub ask
{
	my ($h, $query) = @_;
	my $r = (request($h, "GET /api/v1/search?$query HTTP/1.1\r\nHost: a\r\n\r\n"))[0];
	return JSON::PP::decode_json($r->{body});
}

# Waits until the host has so many messages; what it has.
sub has
{
	my ($h, $n, $name, $seconds) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $got;
	wait_for(sub { ($got = ask($h, 'lines=1'))->{messages} >= $n }, $seconds // 20);
	is($got->{messages}, $n, $name);
	return $got;
}

sub is_served
{
	my ($h, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is((request($h, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"))[0]{status}, 200,
		"$name: HTTP is served");
}

# ---- messages ----

my $h = start_listening();
my $s = sender('tcp');
syswrite($s, "5 <1>ab<2>line\n<3>cd");
my $got = has($h, 2, 'a message with its length and a line');
is_deeply([ @$got{qw(organization index peer text cut)} ], [ 'acme', 'web', '127.0.0.1', '<2>line',
	0 ], 'come for the organization of the listener');
close $s;
is(has($h, 3, 'the last line needs no end')->{text}, '<3>cd', 'if the sender goes');
syswrite(sender('udp', '127.0.0.5'), "<4>datagram\n");
$got = has($h, 4, 'a datagram');
is_deeply([ @$got{qw(index peer text)} ], [ '', '127.0.0.5', '<4>datagram' ], 'and its sender');
syswrite(sender('gelf'), "{\"a\":\n1}\0");
is_deeply([ @{ has($h, 5, 'GELF') }{qw(organization text)} ], [ 'other', "{\"a\":\n1}" ],
	'ends with NUL');
$s = sender('tcp');
foreach my $byte (split //, "7 <1>slow<2>slower\n") { syswrite($s, $byte); sleep 0.005 }
is(has($h, 7, 'byte by byte')->{text}, '<2>slower', 'the same');

# ---- what has no end ----

my $memory = memory($h);
my $line = 'x' x 65536;
foreach my $begin ('<1>', '9999999999 <1>', '1000000 <1>')
{
	my $hostile = sender('tcp');
	$hostile->blocking(0);
	syswrite($hostile, $begin);
	my $sent = 0;
	while ($sent < 30_000_000 && IO::Select->new($hostile)->can_write(2))
	{
		$sent += syswrite($hostile, $line) // last;
	}
	is_served($h, "30 MB after '$begin'");
}
cmp_ok(memory($h) - $memory, '<', 50_000, 'and take no memory');
$got = ask($h, 'lines=1');
cmp_ok($got->{messages}, '<=', 7 + 3, 'they are a message each at most');
cmp_ok($got->{cut}, '>=', 1, 'which is cut');
is((stop_host($h))[0], 0, 'the sanitizers have nothing to report');

# ---- more senders than places ----

$h = start_listening(connection_limit => 100, idle_timeout => 60000);
my @held = map { my $c = sender('tcp', '127.0.0.2'); syswrite($c, '<1>unfinished'); $c } 1 .. 150;
is_served($h, 'unfinished messages on all connections');
syswrite(sender('tcp', '127.0.0.3'), "<1>other\n");
is(wait_for(sub { ask($h, 'lines=1')->{peer} eq '127.0.0.3' }), 1,
	'a sender with another address has a place');
is((request($h, post('/api/v1/logs', '{"event":"x"}', 'Authorization: good')))[0]{status}, 202,
	'and so has HTTP');
@held = ();
is((stop_host($h))[0], 0, 'the sanitizers have nothing to report');

# ---- more than the host takes ----

$h = start_listening();
ask($h, 'lines_status=503');
$s = sender('tcp');
$s->blocking(0);
my ($n, $at) = (0, 0);
my $text = '';
while ($n < 400_000)
{
	$text = sprintf("<13>%06d %s\n", $n, 'y' x 200) if $at == length $text || $text eq '';
	$at = 0 if $at == length $text;
	my $written = IO::Select->new($s)->can_write(1) ? syswrite($s, $text, length($text) - $at, $at)
		: undef;
	last unless defined $written;
	$at += $written;
	$n++ if $at == length $text;
}
cmp_ok($n, '<', 400_000, "after $n messages the sender has to wait");
is_served($h, 'a listener that is full');
is(ask($h, 'lines=1')->{messages}, 0, 'nothing was taken');
ok(wait_for(sub { ask($h, 'lines=1')->{log}
	=~ /^listener tcp:\S+: messages wait, because they are refused: 503/ }), 'the log says so');
my $udp = sender('udp');
my $datagrams = 0;
# The kernel may drop some too.
ok(wait_for(sub { syswrite($udp, '<1>datagram ' . $datagrams++) foreach 1 .. 300;
	ask($h, 'lines=1')->{log} =~ /^listener udp:\S+: \d+ messages? (?:was|were) dropped/ }),
	'datagrams that there is no room for are dropped, and the log counts them');
is_served($h, 'datagrams');
ask($h, 'lines_status=200');
ok(wait_for(sub { ask($h, 'lines=1')->{messages} >= $n }), 'then it goes on');
$s->blocking(1);
syswrite($s, substr($text, $at) . "<13>the end\n") if $at < length $text;
syswrite($s, "<13>the end\n") if $at == length $text;
close $s;
# A datagram that was kept may come after it.
ok(wait_for(sub { ask($h, 'lines=1')->{ends} == 1 }), 'to the last message');
$got = ask($h, 'lines=1');
cmp_ok($got->{messages}, '>=', $n + 1, 'and nothing that came over TCP is lost');
cmp_ok($got->{messages}, '<', $n + 2 + $datagrams, 'of the datagrams some are');
cmp_ok($got->{largest}, '<=', 600, 'in requests of a limited size');

# ---- the end ----

# Datagrams that wait are sent again each second; then nothing but what follows makes requests.
ok(wait_for(sub {
		$n = ask($h, 'lines=1')->{requests};
		sleep 1.5;    # longer than that
		ask($h, 'lines=1')->{requests} == $n;
	}), 'all datagrams are handed over');
# A request that can never be taken is given up, and what comes after it is not held up.
$n = ask($h, 'lines_status=413&lines=1')->{requests};
my $last = sender('tcp');
syswrite($last, "<1>never\n");
ok(wait_for(sub { ask($h, 'lines=1')->{requests} > $n }), 'a request is refused for good');
my $before = ask($h, 'lines_status=200&lines=1')->{messages};
syswrite($last, "<1>after it\n");
is(has($h, $before + 1, 'what comes after it is taken')->{text}, '<1>after it', 'and nothing else');
# All that has reached the sockets is handed over.
kill 'STOP', $h->{pid};
syswrite($last, "<1>last\n<1>without an end");
syswrite($udp, '<1>datagram');
kill 'TERM', $h->{pid};
kill 'CONT', $h->{pid};
my ($status, $out) = stop_host($h);
is($status, 0, 'the sanitizers have nothing to report');
like($out, qr/drained/, 'it ends');
is(($out =~ /(\d+) messages/)[0] // 0, $before + 4, 'after it has handed over what came');

# ---- ports ----

my $first = start_listening();
my $second = start_host(later => 1, listeners => "tcp:127.0.0.1:$port{tcp}=acme");
is_served($second, 'a port that is taken');
is((stop_host($first))[0], 0, 'the sanitizers have nothing to report');
ok(wait_for(sub { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port{tcp}) }),
	'it is bound when it is free');
is((stop_host($second))[0], 0, 'the sanitizers have nothing to report');

# ---- TLS ----

my $dir = certificate();
my $tls = LogsvcGateway::free_port();
$h = start_host(later => 1, listeners => "tls:127.0.0.1:$tls=acme",
	tls_certificate => "$dir/cert.pem", tls_key => "$dir/key.pem", header_timeout => 1000);
my $plain = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $tls);
syswrite($plain, "<1>plain\n");
my $rest = '';
sysread($plain, $rest, 7);    # an alert
ok(!sysread($plain, $rest, 1), 'a sender without TLS is cut off');
my $silent = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $tls);
ok(!sysread($silent, $rest, 1), 'so is one that does not begin');
my $good = IO::Socket::SSL->new(PeerAddr => '127.0.0.1', PeerPort => $tls,
	SSL_ca_file => "$dir/cert.pem", SSL_verifycn_name => 'localhost') // die $IO::Socket::SSL::SSL_ERROR;
print $good "8 <1>first<2>second\n";
$good->flush;
my $curl = "curl -sS -m 10 --cacert $dir/cert.pem https://localhost:$h->{port}/api/v1/search?lines=1";
ok(wait_for(sub { `$curl` =~ /"messages":2/ }), 'with TLS messages come');
is((stop_host($h))[0], 0, 'the sanitizers have nothing to report');

done_testing;
