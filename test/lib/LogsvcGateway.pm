# LogsvcGateway.pm: build/unit/gateway_host_checked (the gateway alone, sanitizers on)
# and what speaks to it through raw sockets, plain and TLS.
package LogsvcGateway;
use strict;
use warnings;

use Exporter qw(import);
use File::Temp qw(tempdir);
use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Socket ();
use Test::More;
use Time::HiRes qw(time sleep);

our @EXPORT = qw(start_host stop_host host_line connect_to connect_tls read_responses request post cpu_ticks memory
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

# Starts the host program; returns { port, pid, out }.
sub start_host
{
	my (%settings) = @_;
	my $port = $settings{port} // free_port();
	$settings{port} = $port;
	my $pid = open(my $out, '-|', $program, map { "$_=$settings{$_}" } sort keys %settings)
	  or die "cannot start $program: $!";
	my $line = <$out>;
	my $host = { port => $port, pid => $pid, out => $out, line => $line // '' };
	push @hosts, $host;
	return $host;
}

# The next line that the host prints, or '' after the time.
sub host_line
{
	my ($host, $seconds) = @_;
	return '' unless IO::Select->new($host->{out})->can_read($seconds);
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
	return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $host->{port}, Timeout => 5)
	  // die "cannot connect: $!";
}

# Reads until the end, `count` complete responses, or the time.
sub read_responses
{
	my ($s, $count, $seconds, $no_body) = @_;
	my $data = delete ${*$s}{rest} // '';
	my @got;
	my $until = time + ($seconds // 5);
	my $eof = 0;

	while (1)
	{
		while ((!$count || @got < $count) && $data =~ /\A(HTTP\/1\.1 (\d+)[^\r]*\r\n(?:[^\r\n]+\r\n)*)\r\n/)
		{
			my ($head, $status) = ($1, $2);
			my ($length) = $head =~ /^Content-Length: (\d+)/mi;
			$length = 0 if $no_body || $status < 200 || !defined $length;
			last if length($data) < length($head) + 2 + $length;
			push @got,
			  { status => $status, head => $head, body => substr($data, length($head) + 2, $length) };
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

# One request on a connection of its own: (first response, was it closed, rest).
sub request
{
	my ($host, $text, $seconds) = @_;
	my $s = connect_to($host);
	syswrite($s, $text);
	my ($got, $eof, $rest) = read_responses($s, 1, $seconds);
	my $closed = $eof;
	if (!$eof && @$got)
	{
		my (undef, $later) = read_responses($s, 0, 0.3);
		$closed = $later;
	}
	return ($got->[0] // { status => 0, head => '', body => $rest }, $closed);
}

sub post
{
	my ($path, $body, @headers) = @_;
	return join("\r\n",
		"POST $path HTTP/1.1", 'Host: test', 'Content-Length: ' . length($body), @headers, '', $body);
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
		  . "-keyout $dir/key.pem -out $dir/cert.pem 2> $dir/log") == 0 or die "no certificate: see $dir/log";
	return $dir;
}

# A TLS connection, by openssl s_client: one socket for both directions.
sub connect_tls
{
	my ($host) = @_;
	socketpair(my $ours, my $theirs, Socket::AF_UNIX(), Socket::SOCK_STREAM(), 0) or die "socketpair: $!";
	my $pid = fork // die "fork: $!";
	if (!$pid)
	{
		open(STDIN, '<&', $theirs) && open(STDOUT, '>&', $theirs) && open(STDERR, '>', '/dev/null') or POSIX::_exit(1);
		close $ours;
		exec 'openssl', 's_client', '-quiet', '-nocommands', '-connect', "127.0.0.1:$host->{port}" or POSIX::_exit(1);
	}
	close $theirs;
	push @clients, $pid;
	return $ours;
}

1;
