# LogsvcBench: what benchmarks against a server share.
package LogsvcBench;

use strict;
use warnings;

use Exporter 'import';
use IO::Socket::INET;
use PostgreSQL::Test::Utils;
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Test::More;
use Time::HiRes qw(time);

our @EXPORT = qw(metric process_cpu server_cpu merges_due connect_http send_request);

# A row "metric value unit".  The harness sends standard output to its log; results
# go where TAP would.
sub metric { my $out = Test::More->builder->output; print $out "@_\n"; return; }

# CPU seconds of a process; with `dead` also of its children that have ended.
sub process_cpu
{
	my ($pid, $dead) = @_;
	my $stat = eval { slurp_file("/proc/$pid/stat") } or return 0;
	$stat =~ s/.*\) //;
	my @f = split ' ', $stat;
	return ($f[11] + $f[12] + ($dead ? $f[13] + $f[14] : 0)) / 100;
}

# Of the postmaster, its dead children and its living ones; again when one died meanwhile.
sub server_cpu
{
	my ($t) = @_;
	my $postmaster = (split /\n/, slurp_file($t->node->data_dir . '/postmaster.pid'))[0];
	my ($dead, $living);
	do
	{
		$dead = process_cpu($postmaster, 1);
		$living = 0;
		$living += process_cpu($_) foreach split ' ', `ps -o pid= --ppid $postmaster`;
	} while (process_cpu($postmaster, 1) - $dead > 0.015);
	return $dead + $living;
}

# How many merges of small parts of one size are to be done.
sub merges_due
{
	my ($t) = @_;
	return $t->sql(q{SELECT count(*) FROM (SELECT FROM (
		SELECT organization_id, index_name, day, greatest(rows, raw_bytes >> 10) AS size
		FROM logsvc_internal.part WHERE level BETWEEN 1 AND 8) s WHERE size < 16384
		GROUP BY organization_id, index_name, day, width_bucket(size, '{8,64,512,4096}'::bigint[])
		HAVING count(*) >= 8) k});
}

sub connect_http
{
	my ($t) = @_;
	my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $t->http_port)
		or die $!;
	$socket->autoflush(1);
	setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
	return $socket;
}

# Sends a request on a kept connection: its body; in list context (milliseconds, status,
# body, Retry-After).  Dies of an error, of 429 only where nobody asks for the status.
sub send_request
{
	my ($socket, $method, $path, $key, $body) = @_;
	my ($begin, $length, $status, $answer, $after) = (time, 0, 0, '', 0);

	print $socket "$method $path HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer $key\r\n"
	  . (defined $body ? "Content-Type: application/json\r\nContent-Length: " . length($body)
	  . "\r\n" : '')
	  . "\r\n" . ($body // '');
	while (my $line = <$socket>)
	{
		$status = $1 if $line =~ m{^HTTP/1.1 (\d+)};
		$length = $1 if $line =~ /^Content-Length: (\d+)/i;
		$after = $1 if $line =~ /^Retry-After: (\d+)/i;
		last if $line =~ /^\r\n/;
	}
	read $socket, $answer, $length;
	die "$method $path: $status $answer\n" if $status >= 400 && !($status == 429 && wantarray);
	return wantarray ? (1000 * (time - $begin), $status, $answer, $after) : $answer;
}

1;
