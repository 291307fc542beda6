# LogsvcGateway.pm: build/unit/gateway_host_checked (the gateway alone, sanitizers on)
# and what speaks to it through raw sockets, plain and TLS.
package LogsvcGateway;
use strict;
use warnings;

use Exporter qw(import);
use File::Temp qw(tempdir);
use IO::Select;
use IO::Socket::INET;
use JSON::PP ();
use POSIX ();
use Socket ();
use Test::More;
use Time::HiRes qw(time sleep);

our @EXPORT =
	qw(start_host stop_host host_line connect_to connect_tls read_responses request request_and_end
	at_once post
	connections wait_for wait_taken wait_left cpu_ticks memory
	certificate);

my $program = 'build/unit/gateway_host_checked';
plan skip_all => "$program is not built" unless -x $program;

$SIG{PIPE} = 'IGNORE';

sub free_port
{
	my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1', ReuseAddr => 1)
	  or die "no free port: $!";
	return $s->sockport;
}

my @hosts;
my @clients;

# Starts the host program; returns { port, pid, out }.  Between the choice of a free port and its
# use a connection of another test may get it: then another one is chosen.
sub start_host
{
	my (%settings) = @_;
	my $host;
	for (1 .. 10)
	{
		my $port = $settings{port} // free_port();
		my %all = (%settings, port => $port);
		my $pid = open(my $out, '-|', $program, map { "$_=$all{$_}" } sort keys %all)
		  or die "cannot start $program: $!";
		my $line = <$out>;
		$host = { port => $port, pid => $pid, out => $out, line => $line // '' };
		last if $settings{port} || $host->{line} !~ /Address already in use/;
		close $out;
	}
	push @hosts, $host;
	return $host;
}

# The next line that the host prints, or '' after the time.
sub host_line
{
	my ($host, $seconds) = @_;
	return '' unless IO::Select->new($host->{out})->can_read($seconds // 30);
	return readline($host->{out}) // '';
}

sub stop_host
{
	my ($host) = @_;
	kill 'TERM', $host->{pid};
	my @rest = readline($host->{out});
	close $host->{out};
	$host->{stopped} = 1;
	return ($? >> 8, join('', @rest));
}

END
{
	kill 'KILL', @clients;
	for (grep { !$_->{stopped} } @hosts)
	{
		kill 'TERM', $_->{pid};
	}
}

sub connect_to
{
	my ($host) = @_;
	return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $host->{port}, Timeout => 30)
	  // die "cannot connect: $!";
}

# Reads until the end, `count` complete responses, or the time: half a minute, or less for what must
# not come.
sub read_responses
{
	my ($s, $count, $seconds, $no_body) = @_;
	my $data = delete ${*$s}{rest} // '';
	my @got;
	my $until = time + ($seconds // 30);
	my $eof = 0;

	while (1)
	{
		while ((!$count || @got < $count)
			&& $data =~ /\A(HTTP\/1\.1 (\d+)[^\r]*\r\n(?:[^\r\n]+\r\n)*)\r\n/)
		{
			my ($head, $status) = ($1, $2);
			my ($length) = $head =~ /^Content-Length: (\d+)/mi;
			$length = 0 if $no_body || $status < 200 || !defined $length;
			last if length($data) < length($head) + 2 + $length;
			push @got,
			  { status => $status, head => $head,
			  body => substr($data, length($head) + 2, $length) };
			substr($data, 0, length($head) + 2 + $length) = '';
		}
		last if @got >= $count && $count > 0;
		last if $eof || time > $until;
		if (IO::Select->new($s)->can_read(0.2))
		{
			my $n = sysread($s, my $part, 65536);
			if   (!$n) { $eof = 1; $got[-1]{reset} = 1 if !defined $n && @got; }
			else       { $data .= $part }
		}
	}
	${*$s}{rest} = $data;
	return (\@got, $eof, $data);
}

# One request on a connection of its own: the response.
sub request
{
	my ($host, $text, $seconds) = @_;
	return (request_and_end($host, $text, $seconds, 0))[0];
}

# The response, and whether the connection ends, for which it waits a moment.
sub request_and_end
{
	my ($host, $text, $seconds, $wait) = @_;
	my $s = connect_to($host);
	syswrite($s, $text);
	my ($got, $closed, $rest) = read_responses($s, 1, $seconds);
	(undef, $closed) = read_responses($s, 0, $wait // 2) if !$closed && @$got && ($wait // 1);
	return ($got->[0] // { status => 0, head => '', body => $rest }, $closed);
}

sub post
{
	my ($path, $body, @headers) = @_;
	return join("\r\n",
		"POST $path HTTP/1.1", 'Host: test', 'Content-Length: ' . length($body),
			@headers, '', $body);
}

# The connections of a host as the kernel sees them, established (01) or half-closed (08):
# { unread bytes, accepted }.  One that has not been accepted has no inode.
sub connections
{
	my ($host) = @_;
	open(my $table, '<', '/proc/net/tcp') or die "/proc/net/tcp: $!";
	my $line = sprintf '^\s*\d+: \w+:%04X \S+ 0[18] \w+:(\w+) \S+ \w+ +\d+ +\d+ (\d+) ',
		$host->{port};
	return map { /$line/ ? { unread => hex $1, accepted => $2 } : () } readline $table;
}

sub wait_for
{
	my ($condition, $seconds) = @_;
	my $end = time + ($seconds // 60);
	while (!$condition->()) { return 0 if time > $end; sleep 0.03 }
	return 1;
}

# Waits until the host has accepted all connections and read all that they have sent.
sub wait_taken { my ($host) = @_; return wait_for(sub
	{ !grep { $_->{unread} || !$_->{accepted} } connections($host) }) }

# Waits until no more connections than so many are left.
sub wait_left { my ($host, $n) = @_; return wait_for(sub { connections($host) <= $n }) }

# Runs subs at once, each in a process of its own: what each returns, as array references.
sub at_once
{
	my @subs = @_;
	my @results = map {
		pipe(my $in, my $out) or die "pipe: $!";
		my $pid = fork // die "fork: $!";
		if (!$pid)
		{
			@hosts = ();    # those of the parent are not this one's to end
			my @result = eval { $_->() };
			print $out JSON::PP::encode_json($@ ? { died => "$@" } : \@result);
			close $out;
			kill 'TERM', map { $_->{pid} } grep { !$_->{stopped} } @hosts;
			POSIX::_exit(0);
		}
		[ $pid, $in ];
	} @subs;
	return map {
		my ($pid, $in) = @$_;
		my $result = JSON::PP::decode_json(do { local $/; readline $in } || '{"died":"no result"}');
		waitpid $pid, 0;
		die $result->{died} if ref $result eq 'HASH';
		$result;
	} @results;
}

# Processor time of the host in clock ticks.
sub cpu_ticks
{
	my ($host) = @_;
	open(my $f, '<', "/proc/$host->{pid}/stat") or return 0;
	my @fields = split ' ', <$f>;
	return $fields[13] + $fields[14];
}

# Memory of the host in KB.
sub memory
{
	my ($host) = @_;
	open(my $f, '<', "/proc/$host->{pid}/status") or return 0;
	my ($kb) = join('', <$f>) =~ /^VmRSS:\s+(\d+)/m;
	return $kb;
}

# A directory with cert.pem and key.pem, of a host called localhost.
sub certificate
{
	my $dir = tempdir(CLEANUP => 1);
	system("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
		  . "-keyout $dir/key.pem -out $dir/cert.pem 2> $dir/log") == 0
		  or die "no certificate: see $dir/log";
	return $dir;
}

# A TLS connection, by openssl s_client: one socket for both directions.
sub connect_tls
{
	my ($host) = @_;
	socketpair(my $ours, my $theirs, Socket::AF_UNIX(), Socket::SOCK_STREAM(), 0)
		or die "socketpair: $!";
	my $pid = fork // die "fork: $!";
	if (!$pid)
	{
		open(STDIN, '<&', $theirs) && open(STDOUT, '>&', $theirs) && open(STDERR, '>', '/dev/null')
			or POSIX::_exit(1);
		close $ours;
		exec 'openssl', 's_client', '-quiet', '-nocommands', '-connect', "127.0.0.1:$host->{port}"
			or POSIX::_exit(1);
	}
	close $theirs;
	push @clients, $pid;
	return $ours;
}

1;
