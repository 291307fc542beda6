# random_requests.pl: sequences of requests made at random, good and bad, cut
# anywhere, pipelined, half-closed or broken off, plain and over TLS, against the
# gateway alone under sanitizers.  Every answer must be the one that belongs there.
#	GATEWAY_SEED=n GATEWAY_ROUNDS=n
use strict;
use warnings;

use IO::Select;
use IO::Socket::SSL;
use LogsvcGateway;
use Socket qw(SHUT_WR);
use Test::More;
use Time::HiRes qw(sleep time);

my $seed = $ENV{GATEWAY_SEED} // 1;
my $rounds = $ENV{GATEWAY_ROUNDS} // 150;
my $dir = certificate();
my %host = (plain => start_host(later => 1),
	TLS => start_host(later => 1, tls_certificate => "$dir/cert.pem", tls_key => "$dir/key.pem"));
diag("GATEWAY_SEED=$seed");

sub any { my (@of) = @_; return $of[ rand @of ] }
sub size { return int any(rand 10, rand 300, rand 5000, rand 40_000, rand 150_000) }

# A body of that length in chunks.
sub in_chunks
{
	my ($body) = @_;
	my $text = '';
	for (my $at = 0; $at < length $body;)
	{
		my $n = 1 + size();
		my $piece = substr($body, $at, $n);
		$text .= any('%x', '%X', '00%x') =~ s/(%.)/sprintf $1, length $piece/er
			. any('', '', ';a=b', ';x="y z"') . "\r\n$piece\r\n";
		$at += $n;
	}
	return $text . any('0', '000', '0;e') . "\r\n" . any('', '', "X-Trailer: a\r\n") . "\r\n";
}

# A request and what its answer must match; the last of a connection may be bad.
sub request_of
{
	my ($last) = @_;
	my $kind = any('get', 'get', 'post', 'post', 'chunked', 'chunked', 'head', 'lost', 'continue',
		$last ? ('bad', 'bad', 'close') : ());
	my $body = join '', map { any('a' .. 'f', "\r\n", '0', ' ') } 1 .. 50;
	$body = substr($body x (1 + size() / 50), 0, size());
	my $post = any('', "\r\n") . "POST /api/v1/logs?echo=1" . any('', '', '&delay_ms=3')
		. " HTTP/1.1\r\nHost: a\r\nAuthorization: " . any('x', 'y' . rand) . "\r\n";
	my $answer = qr/\A202 .*"bodyLength":@{[length $body]},/s;

	return ("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", qr/\A200 \{"status":"ok"\}\z/)
		if $kind eq 'get';
	return ("HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n", qr/\A200 \z/, 'head') if $kind eq 'head';
	return ("${post}Content-Length: @{[length $body]}\r\n\r\n$body", $answer) if $kind eq 'post';
	return ("${post}Transfer-Encoding: chunked\r\n\r\n" . in_chunks($body), $answer)
		if $kind eq 'chunked';
	return ("POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\nabcdefg", qr/\A404 /)
		if $kind eq 'lost';
	return ("${post}Expect: 100-continue\r\nContent-Length: 5\r\n\r\nabcde",
		qr/\A202 .*"bodyLength":5,/s) if $kind eq 'continue';
	return ("${post}Connection: close\r\nContent-Length: @{[length $body]}\r\n\r\n$body", $answer)
		if $kind eq 'close';
	return (any("${post}Transfer-Encoding: chunked\r\n\r\n" . any("5\nhello\r\n0\r\n\r\n",
		"5\r\nhello\n0\r\n\r\n", "5 \r\nhello\r\n", "\r\n"),
			"${post}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
				"GET / HTTP/1.1\nHost: a\r\n\r\n",
			"${post}X-A: b\0\nContent-Length: 0\r\n\r\n",
				"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), qr/\A400 /);
}

# Reads the answers as far as they are there: "status body" of each, and whether the end came.
sub answers
{
	my ($s, $data, $heads, $seconds, $want) = @_;
	my @got;
	my $until = time + $seconds;
	my $end = 0;
	while (1)
	{
		while ($$data =~ /\AHTTP\/1\.1 (\d+)[^\r]*\r\n((?:[^\r\n]+\r\n)*)\r\n/)
		{
			my ($status, $head, $at) = ($1, $2, $+[0]);
			my $length = $head =~ /^Content-Length: (\d+)/mi && !($heads->[ scalar @got ]) ? $1 : 0;
			last if length($$data) < $at + $length;
			# Interim answers are not counted: those of the gateway's own ask whether a half-closed
			# client is still there.
			push @got, "$status " . substr($$data, $at, $length) if $status >= 200;
			substr($$data, 0, $at + $length) = '';
		}
		last if $end || @got >= $want || time > $until;
		next if !(ref $s eq 'IO::Socket::SSL' && $s->pending)
			&& !IO::Select->new($s)->can_read(0.1);
		my $n = sysread($s, my $part, 65536);
		if   ($n)                                        { $$data .= $part }
		elsif (defined $n || !$!{EAGAIN} && !$!{EWOULDBLOCK}) { $end = 1 }
	}
	return (\@got, $end);
}

my %count;
my $wrong = 0;
sub round
{
	my ($how) = @_;
	my $s = $how eq 'TLS'
	  ? IO::Socket::SSL->new(PeerAddr => '127.0.0.1', PeerPort => $host{TLS}{port},
	  SSL_verify_mode => SSL_VERIFY_NONE)
	  : connect_to($host{plain});
	my (@expected, @heads);
	my $text = '';
	my $n = 1 + int rand 6;
	foreach my $i (1 .. $n)
	{
		my ($request, $like, $what) = request_of($i == $n);
		$text .= $request;
		push @expected, $like;
		push @heads, ($what // '') eq 'head';
	}
	my $end = any('read', 'read', 'read', 'half', 'break');
	$end = 'read' if $end eq 'half' && $how eq 'TLS';
	my $stop = $end eq 'break' ? int rand length $text : length $text;
	my $data = '';

	# Answers are read while it writes, or both sides could wait for each other.
	for (my $at = 0; $at < $stop;)
	{
		my $piece = substr($text, $at, 1 + (rand() < 0.3 ? int rand 5 : size()));
		$piece = substr($piece, 0, $stop - $at);
		my $done = syswrite($s, $piece) // last;
		$at += $done;
		sleep 0.0005 if rand() < 0.2;
		if (IO::Select->new($s)->can_read(0) && sysread($s, my $part, 65536)) { $data .= $part }
	}
	shutdown($s, SHUT_WR) if $end eq 'half';
	if ($end eq 'break')
	{
		$how eq 'TLS' ? $s->close(SSL_no_shutdown => int rand 2) : close $s;
		$count{$end}++;
		return;
	}
	my ($got) = answers($s, \$data, \@heads, 10, scalar @expected);
	my $same = @$got == @expected;
	for my $i (0 .. $#$got) { $same &&= defined $expected[$i] && $got->[$i] =~ $expected[$i] }
	if (!$same && !$wrong++)
	{
		diag("$how, $end: expected " . scalar(@expected) . ' answers, got '
			. join(' | ', map { substr $_, 0, 200 } @$got));
		diag(substr($text, 0, 2000) =~ s/[^ -~\n]/?/gr);
	}
	$count{$end}++;
	close $s;
}

# Four at a time, so that connections meet.
my @children;
foreach my $child (0 .. 3)
{
	my $pid = fork // die "fork: $!";
	if (!$pid)
	{
		srand($seed + $child);
		round(any('plain', 'plain', 'TLS')) for 1 .. $rounds;
		POSIX::_exit($wrong ? 1 : 0);
	}
	push @children, $pid;
}
foreach my $child (@children)
{
	waitpid($child, 0);
	is($? >> 8, 0, "$rounds random sequences: each answer belongs to its request");
}
foreach my $how (sort keys %host)
{
	is((request($host{plain}, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"))[0]{status}, 200,
		'it goes on') if $how eq 'plain';
	my ($status, $said) = stop_host($host{$how});
	is($status, 0, "$how: the sanitizers have nothing to report");
	unlike($said, qr/unknown/, 'and no request was cancelled that had been answered');
}
done_testing;
