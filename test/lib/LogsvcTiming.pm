# LogsvcTiming: do two things take the same time?
#
#	my $client = timing_client($t);
#	my $status = $client->('/api/v1/auth/sign-in', { email => ... });    # POST, kept connection
#
# A request goes out in one piece: of two, the second one would wait for the
# delayed acknowledgment of the first, and 40 ms hide much.
#
#	my $result = compare_times(300, $known, $unknown);
#	# { a => median ms, b => median ms, z => of the rank sum test }
#
# The two are called in random order, $n times each.  z is how many standard
# deviations the ranks of the first are from what chance gives: beyond 4 or so
# (once in 16,000) it is not chance.  Ranks do not mind the outliers of a busy
# machine.
package LogsvcTiming;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(shuffle);
use LogsvcTest;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(compare_times timing_client);

sub timing_client
{
	my ($t) = @_;
	my $socket = $t->connect or die "cannot connect: $!\n";

	$socket->autoflush(1);
	return sub {
		my ($path, $json) = @_;
		my $body = json_encode($json);
		my ($status, $length, $answer) = (0, 0);

		print $socket
			"POST $path HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: "
		  . length($body) . "\r\n\r\n$body";
		while (my $line = <$socket>)
		{
			$status = $1 if $line =~ m{^HTTP/1.1 (\d+)};
			$length = $1 if $line =~ /^Content-Length: (\d+)/i;
			last if $line =~ /^\r\n/;
		}
		read $socket, $answer, $length;
		return $status;
	};
}

sub median { my @v = sort { $a <=> $b } @_; return ($v[ $#v / 2 ] + $v[ @v / 2 ]) / 2; }

sub compare_times
{
	my ($n, @what) = @_;
	my @times = ([], []);

	foreach my $which (shuffle((0, 1) x $n))
	{
		# What the last one left to be done is done.
		sleep 0.005 + rand 0.01;
		my $begin = time;
		$what[$which]->();
		push @{ $times[$which] }, 1000 * (time - $begin);
	}
	my @ranked = sort { $a->[0] <=> $b->[0] } map
		{ my $w = $_; map { [ $_, $w ] } @{ $times[$w] } } 0, 1;
	my $sum = 0;
	$sum += $ranked[$_][1] == 0 ? $_ + 1 : 0 foreach 0 .. $#ranked;
	my $mean = $n * (2 * $n + 1) / 2;
	return {
		a => median(@{ $times[0] }),
		b => median(@{ $times[1] }),
		z => ($sum - $mean) / sqrt($n * $n * (2 * $n + 1) / 12),
	};
}

1;
