# client_limits.pl: what one client without a credential can take from the
# others: connections and memory of bodies run short, and the address that has the
# most loses first.  Clients are told apart by addresses of 127.0.0.0/8.
use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use LogsvcGateway;
use Test::More;
use Time::HiRes qw(time sleep);

sub connect_from
{
	my ($host, $from) = @_;
	return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $host->{port},
		LocalAddr => $from, Timeout => 5)
	  // die "cannot connect from $from: $!";
}

# One request from an address: its answer.
sub ask
{
	my ($host, $from, $text, $seconds) = @_;
	my $s = connect_from($host, $from);
	syswrite($s, $text);
	my ($got) = read_responses($s, 1, $seconds);
	return $got->[0] // { status => 0, head => '', body => '' };
}

# Nothing has been answered to its request, which is not complete.
sub is_open { my ($s) = @_; return !IO::Select->new($s)->can_read(0) }

my $health = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
my $ready = "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n";
my $event = post('/api/v1/logs', '{"event":"x"}', 'Authorization: good');
my $unfinished = "POST /api/v1/logs HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc";
my $large = 'POST /api/v1/logs HTTP/1.1';

# ---- connections ----

my $h = start_host(later => 1, connection_limit => 300, idle_timeout => 60000);
foreach my $attack ([ 'nothing', '' ], [ 'half a header', "POST /api/v1/logs HTTP/1.1\r\nHo" ],
	[ 'an unfinished body', $unfinished ],
	[ 'half a chunk', "$large\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab" ],
	[ 'an answer that is not read', "GET /api/v1/search?size=3000000 HTTP/1.1\r\nHost: a\r\n\r\n" ])
{
	my ($name, $text) = @$attack;
	my @held = map { my $s = connect_from($h, '127.0.0.2'); syswrite($s, $text) if length $text;
		$s } 1 .. ($name =~ /read/ ? 30 : 300);
	push @held, map { my $s = connect_from($h, '127.0.0.2'); syswrite($s, $unfinished);
		$s } @held + 1 .. 300;
	wait_taken($h);
	my $begin = time;
	is(ask($h, '127.0.0.3', $_)->{status}, 200,
		"$name on all connections: a health check is answered") for $health, $ready;
	is(ask($h, '127.0.0.2', $health)->{status}, 200, 'one of the same address too');
	my @agents = map { my $s = connect_from($h, '127.0.0.' . (10 + $_ % 5)); $s } 1 .. 20;
	my @answers;
	for my $round (1 .. 3)
	{
		syswrite($_, $event) for @agents;
		push @answers, map { (read_responses($_, 1))[0][0]{status} // 0 } @agents;
	}
	is("@answers", join(' ', (202) x 60), 'others send events');
	cmp_ok(time - $begin, '<', 20, 'at once');
	# It goes on: whatever it opens now takes from itself.
	# Agents send meanwhile: who has been idle for a second gives way.
	@answers = ();
	for my $n (1 .. 100)
	{
		my $s = connect_from($h, '127.0.0.2');
		syswrite($s, $text) if length $text;
		push @held, $s;
		next if $n % 10;
		syswrite($_, $event) for @agents;
		push @answers, map { (read_responses($_, 1))[0][0]{status} // 0 } @agents;
	}
	is("@answers", join(' ', (202) x 200), 'while it opens more');
	is(ask($h, '127.0.0.3', $health)->{status}, 200, 'and health checks are answered');
	close $_ for @held, @agents;
	wait_left($h, 0);
}

# Many agents behind one address have all the room there is.
{
	my @agents = map { connect_from($h, '127.0.0.4') } 1 .. 300;
	my $bad = 0;
	for my $round (1 .. 3)
	{
		syswrite($_, $event) for @agents;
		for (@agents) { $bad++ unless ((read_responses($_, 1))[0][0]{status} // 0) == 202 }
	}
	is($bad, 0, '300 agents of one address, each with a connection');
	syswrite($_, $event) for @agents;
	is(ask($h, '127.0.0.5', $event)->{status}, 202, 'another one gets in');
	my $lost = 0;
	for (@agents) { $lost++ unless ((read_responses($_, 1))[0][0]{status} // 0) == 202 }
	cmp_ok($lost, '<=', 1, 'at the cost of one of them at most');
	close $_ for @agents;
	wait_left($h, 0);
}

# Requests that are being served are never cut off.
{
	my $served = post('/api/v1/logs?delay_ms=5000', 'x', 'Authorization: good');
	my @held = map { my $s = connect_from($h, '127.0.0.2'); syswrite($s, $served); $s } 1 .. 300;
	wait_taken($h);
	is(ask($h, '127.0.0.3', $health)->{status}, 200, 'all are served: a health check is answered');
	my $late = connect_from($h, '127.0.0.3');
	my $begin = time;
	syswrite($late, $event);
	my ($got) = read_responses($late, 1);
	is($got->[0]{status}, 503, 'another request is refused');
	like($got->[0]{head}, qr/^Retry-After: 1\r$/m, 'with Retry-After');
	cmp_ok(time - $begin, '>', 1.5, 'after it has waited');
	my $bad = 0;
	for (@held) { $bad++ unless ((read_responses($_, 1))[0][0]{status} // 0) == 202 }
	is($bad, 0, 'nobody who was served was cut off');
}
is((stop_host($h))[0], 0, 'the sanitizers have nothing to report');

# ---- many addresses, each with a request that it does not finish ----

# What 98 such clients see, and what others see of them.
sub many_addresses
{
	my ($text) = @_;
	my %saw;
	my $h = start_host(later => 1, connection_limit => 100, idle_timeout => 60000,
		body_timeout => 60000,
		header_timeout => 60000);
	# Older than all of them: one that a worker has said may go on, and one that a worker has.
	my $upload = connect_from($h, '127.0.0.4');
	syswrite($upload, "$large\r\nHost: a\r\nAuthorization: upload\r\nContent-Length: "
		. "200000\r\n\r\n" . 'x' x 100_000);
	my $served = connect_from($h, '127.0.0.5');
	syswrite($served, post('/api/v1/logs?delay_ms=8000', 'x', 'Authorization: good'));
	my @held = map { my $s = connect_from($h, "127.1.0.$_"); syswrite($s, $text); $s } 1 .. 98;
	sleep 1.5;    # who has been incomplete for a second gives way
	$saw{health} = ask($h, '127.0.0.3', $health)->{status};
	my @agents = map { connect_from($h, "127.0.0.$_") } 10 .. 29;
	for my $round (1 .. 2)
	{
		syswrite($_, $event) for @agents;
		push @{ $saw{agents} }, join(' ',
			map { (read_responses($_, 1))[0][0]{status} // 0 } @agents);
	}
	my @gone = grep { !is_open($_) } @held;
	$saw{gone} = @gone;
	$saw{told} = @gone ? (read_responses($gone[0], 1))[0][0]{status} : 'nobody has gone';
	$saw{upload} = is_open($upload);
	syswrite($upload, 'x' x 100_000);
	$saw{answers} = join ' ', map { (read_responses($_, 1))[0][0]{status} // 0 } $upload,
		$served;
	close $_ for @held, @agents, $upload, $served;
	($saw{end}) = stop_host($h);
	return \%saw;
}

my @attacks = ([ 'sign-ins without the end of their bodies',
	$unfinished =~ s{/logs}{/auth/sign-in}r ],
	[ 'bodies with a credential that nobody has looked at',
		$unfinished =~ s/Host/Authorization: good\r\nHost/r ],
	[ 'half headers', "POST /api/v1/logs HTTP/1.1\r\nHo" ]);
my @seen = at_once(map { my $text = $_->[1]; sub { many_addresses($text) } } @attacks);
foreach my $attack (@attacks)
{
	my $saw = (shift @seen)->[0];
	is($saw->{health}, 200, "98 addresses, $attack->[0]: a health check is answered");
	is($saw->{agents}[$_], join(' ', (202) x 20), 'others are let in') foreach 0, 1;
	ok($saw->{gone} >= 20 && $saw->{gone} <= 22, 'at the cost of as many of these as it takes')
		or diag $saw->{gone};
	is($saw->{told}, 503, 'which are told');
	ok($saw->{upload}, 'an upload that may go on keeps its place');
	is($saw->{answers}, '202 202', '... and is answered, as is who was being served');
	is($saw->{end}, 0, 'the sanitizers have nothing to report');
}

# ---- one sender behind many addresses ----

# Requests that wait for their client, with a credential.
sub unfinished_of
{
	my ($key, $length) = @_;
	return "$large\r\nHost: a\r\nAuthorization: $key\r\nContent-Length: " . ($length + 1000)
		. "\r\n\r\n" . 'x' x $length;
}
sub unread_of { return "GET /api/v1/search?size=1000000 HTTP/1.1\r\nHost: a\r\nAuthorization: "
	. "$_[0]\r\n\r\n"; }

# 70 connections of one sender: where they come from, and what they do.
@attacks = (
	[ 'large bodies with one key', sub { "127.1.0.$_[0]" }, sub { unfinished_of('bad guy', 70_000) } ],
	[ 'large bodies with many keys of one owner', sub { "127.1.0.$_[0]" },
		sub { unfinished_of("owner/$_[0]", 70_000) } ],
	[ 'small bodies with one key', sub { "127.1.0.$_[0]" }, sub { unfinished_of('bad guy', 10) } ],
	[ 'answers that are not read', sub { "127.1.0.$_[0]" }, sub { unread_of('owner/' . $_[0]) } ],
	[ 'large bodies from the address of others', sub { '127.0.0.9' },
		sub { unfinished_of('bad guy', 70_000) } ],
	[ 'half of them with keys that do not exist', sub { $_[0] % 2 ? "127.1.0.$_[0]" : '127.0.0.9' },
		sub { unfinished_of($_[0] % 2 ? 'bad guy' : "made up $_[0]", $_[0] % 2 ? 70_000 : 10) } ]);
foreach my $attack (@attacks)
{
	my ($name, $from, $text) = @$attack;
	my $h = start_host(later => 1, connection_limit => 100, memory_limit => 400_000_000,
		idle_timeout => 60000, body_timeout => 60000);
	# Other organizations behind one address: it has most connections of all.
	my @innocent = map { my $s = connect_from($h, '127.0.0.9');
		syswrite($s, unfinished_of("innocent/$_ of $_", $_ % 2 ? 10 : 70_000)); $s } 1 .. 10;
	my @held = map { my $s = connect_from($h, $from->($_)); syswrite($s, $text->($_)); $s } 1 .. 70;
	push @innocent, map { my $s = connect_from($h, '127.0.0.9');
		syswrite($s, unfinished_of("other $_", 10)); $s } 11 .. 30;
	wait_taken($h);
	is(ask($h, '127.0.0.3', $health)->{status}, 200, "one sender, $name: a health check");
	my @agents = map { connect_from($h, "127.2.0.$_") } 1 .. 20;
	syswrite($_, $event) for @agents;
	is(join(' ', map { (read_responses($_, 1))[0][0]{status} // 0 } @agents), join(' ', (202) x 20),
		'others get in');
	is(scalar(grep { is_open($_) } @innocent), 30, '... at no cost of others, not of one address');
	close $_ for @held, @agents, @innocent;
	is((stop_host($h))[0], 0, 'the sanitizers have nothing to report');
}

# Several owners have all places, none of them more than its part.
{
	my $h = start_host(later => 1, connection_limit => 100, idle_timeout => 60000,
		body_timeout => 60000);
	my @held = map { my $s = connect_from($h, "127.1.0.$_");
		syswrite($s, unfinished_of('owner ' . $_ % 10, 70_000)); $s } 1 .. 100;
	wait_taken($h);
	is(ask($h, '127.2.0.1', $event)->{status}, 202, 'ten owners: another one gets in');
	close $_ for @held;
	is((stop_host($h))[0], 0, 'the sanitizers have nothing to report');
}

# ---- behind a trusted proxy the client counts ----

$h = start_host(later => 1, connection_limit => 100, trusted_proxies => '127.0.0.9');
{
	my $via = sub { my ($client, $text) = @_;
		return $text =~ s/Host: (?:a|test)\r\n/Host: a\r\nX-Forwarded-For: $client\r\n/r };
	my @held = map { my $s = connect_from($h, '127.0.0.9');
		syswrite($s, $via->('203.0.113.7', $unfinished)); $s } 1 .. 90;
	my @agents = map { my $s = connect_from($h, '127.0.0.9');
		syswrite($s, $via->("198.51.100.$_", $unfinished)); $s } 1 .. 10;
	wait_taken($h);
	is(ask($h, '127.0.0.9', $via->('192.0.2.1', $event))->{status}, 202,
		'a proxy: another client gets in') for 1 .. 20;
	is(scalar(grep { is_open($_) } @agents), 10, 'and its other clients keep their place');
	cmp_ok(scalar(grep { !is_open($_) } @held), '>', 0, 'the one with most connections loses');
	close $_ for @held, @agents;
	wait_left($h, 0);
	# Whom nobody trusts cannot hide behind others.
	@held = map { my $s = connect_from($h, '127.0.0.8');
		syswrite($s, $via->("203.0.113.$_", $unfinished)); $s } 1 .. 100;
	wait_taken($h);
	is(ask($h, '127.0.0.3', $event)->{status}, 202, 'X-Forwarded-For of others tells nothing');
}
is((stop_host($h))[0], 0, 'the sanitizers have nothing to report');

# ---- IPv6: a network of 64 bits is one client ----

# They are told by a proxy: no IPv6 is needed here.
{
	$h = start_host(later => 1, connection_limit => 50, trusted_proxies => '127.0.0.9');
	my @held = map {
		my $s = connect_from($h, '127.0.0.9');
		syswrite($s, $unfinished
			=~ s/\r\n\r\n/sprintf("\r\nX-Forwarded-For: 2001:db8:1:1::%x\r\n\r\n", $_)/re);
		$s } 1 .. 50;
	wait_taken($h);
	is(ask($h, '127.0.0.3', $event)->{status}, 202, 'addresses of one IPv6 network are one client');
	is((stop_host($h))[0], 0, 'the sanitizers have nothing to report');
}

# ---- memory of bodies ----

$h = start_host(later => 1, memory_limit => 36_000_000, body_timeout => 5000);
my $body = 'x' x 9_500_000;
my $length = length $body;
foreach my $framing ('Content-Length', 'chunked')
{
	my $head = "$large\r\nHost: a\r\nAuthorization: bad\r\n"
	  . ($framing eq 'chunked' ? "Transfer-Encoding: chunked\r\n\r\n"
	  : "Content-Length: $length\r\n\r\n");
	my $before = memory($h);
	my @held = map { my $s = connect_from($h, '127.0.0.2'); syswrite($s, $head); $s } 1 .. 60;
	my %status;
	foreach my $s (@held)
	{
		my $piece = $framing eq 'chunked' ? sprintf("%x\r\n", 100_000) . ('x' x 100_000) . "\r\n"
			: 'x' x 100_000;
		$s->blocking(0);
		syswrite($s, $piece);
		$s->blocking(1);
	}
	$status{ (read_responses($_, 1))[0][0]{status} // 0 }++ for @held;
	is_deeply(\%status, { 401 => 60 }, "$framing: large bodies of who has no credential get 401 "
		. "before they are sent");
	cmp_ok(memory($h) - $before, '<', 30_000, 'and take no memory');
}
is(ask($h, '127.0.0.2', "$large\r\nHost: a\r\nContent-Length: 65536\r\n\r\n"
	. ('x' x 65536))->{status}, 202, '64 KB are read without a look');

# Who may send, and does not go on.
{
	my $slow = "$large\r\nHost: a\r\nAuthorization: good\r\nContent-Length: $length\r\n\r\n"
		. substr($body, 0, 9_000_000);
	my @held = map { my $s = connect_from($h, '127.0.0.2'); syswrite($s, $slow); $s } 1 .. 3;
	wait_taken($h);
	is(ask($h, '127.0.0.3', post('/api/v1/logs', $body, 'Authorization: good'))->{status}, 202,
		'memory is short: who sends most bodies loses one to others');
	is(scalar(grep { is_open($_) } @held), 2, 'one is enough');
	is(ask($h, '127.0.0.2', post('/api/v1/logs', $body, 'Authorization: good'))->{status}
		=~ /^(202|503)$/ ? 1 : 0, 1,
		'its own next one waits for nobody');
}
# A body that may be sent is asked about once.
{
	my $checks = ask($h, '127.0.0.3', "GET /api/v1/search?checks=1&status=202 HTTP/1.1\r\nHost: "
		. "a\r\n\r\n")->{body};
	my $s = connect_from($h, '127.0.0.3');
	for (1 .. 5)
	{
		syswrite($s, post('/api/v1/logs', 'x' x 200_000, 'Authorization: good'));
		my ($got) = read_responses($s, 1);
		is($got->[0]{status}, 202, 'a large body');
	}
	is(ask($h, '127.0.0.3', "GET /api/v1/search?checks=1&status=202 HTTP/1.1\r\nHost: "
		. "a\r\n\r\n")->{body}, $checks, 'a known sender is not asked about');
	syswrite($s, post('/api/v1/logs?echo=1', 'y' x 200_000, 'Authorization: another'));
	my ($got) = read_responses($s, 1);
	like($got->[0]{body}, qr/"bodyLength":200000/,
		'the body of one that is asked about arrives as a whole');
	is(ask($h, '127.0.0.3', "GET /api/v1/search?checks=1&status=202 HTTP/1.1\r\nHost: "
		. "a\r\n\r\n")->{body}, $checks + 1, 'once');
	my $chunks = join('', map { sprintf("%x\r\n%s\r\n", 7000, 'z' x 7000) } 1 .. 40) . "0\r\n\r\n";
	syswrite($s, "POST /api/v1/logs?echo=1 HTTP/1.1\r\nHost: a\r\nAuthorization: "
		. "third\r\nTransfer-Encoding: chunked\r\n\r\n$chunks" . $health);
	($got) = read_responses($s, 2);
	like($got->[0]{body}, qr/"bodyLength":280000/, 'a chunked one too');
	is($got->[1]{status}, 200, 'with what follows it');
	syswrite($s, "$large\r\nHost: a\r\nAuthorization: fourth\r\nExpect: "
		. "100-continue\r\nContent-Length: 200000\r\n\r\n");
	($got) = read_responses($s, 1);
	is($got->[0]{status}, 100, 'who waits for 100 gets it after the look');
	close $s;
	is(ask($h, '127.0.0.3', "$large\r\nHost: a\r\nAuthorization: bad\r\nExpect: "
		. "100-continue\r\nContent-Length: 200000\r\n\r\n")->{status}, 401, 'or 401');
	is(ask($h, '127.0.0.3', post('/api/v1/auth/sign-in', 'x' x 70_000))->{status}, 401,
		'a route without credentials reads no large body');
}
is((stop_host($h))[0], 0, 'the sanitizers have nothing to report');

# One owner from many addresses, each with less than those whose address is shared.
{
	my $h = start_host(later => 1, memory_limit => 36_000_000, body_timeout => 60_000);
	my @innocent = map { my $s = connect_from($h, '127.0.0.9');
		syswrite($s, unfinished_of("innocent $_", 3_000_000)); $s } 1 .. 3;
	my @held = map { my $s = connect_from($h, "127.1.0.$_");
		syswrite($s, unfinished_of("owner/$_", 1_000_000)); $s } 1 .. 24;
	wait_taken($h);
	my $much = 'y' x 5_000_000;
	is(ask($h, '127.0.0.3', post('/api/v1/logs', $much, 'Authorization: other'))->{status}, 202,
		'memory is short: the owner loses who has most, from many addresses');
	cmp_ok(scalar(grep { is_open($_) } @held), '<', 24, 'some bodies of its own');
	is(ask($h, '127.1.1.1', post('/api/v1/logs', $much . 'y' x 1_000_000, 'Authorization: owner/99'))->{status}, 503,
		'... and gets none of others');
	is(scalar(grep { is_open($_) } @innocent), 3, '... although one address has more');
	close $_ for @held, @innocent;
	is((stop_host($h))[0], 0, 'the sanitizers have nothing to report');
}
done_testing;
