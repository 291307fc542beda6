# delay.pl: how long after its 202 is an event found by a search?
#
#	make bench B=delay		rows "metric value unit"
#
# Environment: RATE (20000) events per second, DURATION (120).
#
# Four connections send batches of 100 events at that rate.  Meanwhile two probes, one
# after the other, post an event with a word of its own and search for it over HTTP
# until it is found.  The delay is from the 202 to the answer that has it, so the time
# of the search itself is in it.
use strict;
use warnings;

use lib 'test/bench';
use LogsvcBench;
use LogsvcTest;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $rate = $ENV{RATE} || 20_000;
my $seconds = $ENV{DURATION} || 120;
my $senders = 4;
my $batch = 100;
my $dir = PostgreSQL::Test::Utils::tempdir();
my $t = LogsvcTest->new(conf => "shared_buffers = 512MB\nmax_wal_size = 16GB");
my $org = $t->organization('bench');

my $end = time + $seconds + 1;
my $begin = time + 1;

# Sends its share on time, as long as that is possible; writes how many it sent.
sub run_sender
{
	my ($n) = @_;
	my $socket = connect_http($t);
	my $sent = 0;

	while (time < $end)
	{
		my $due = $begin + $sent / ($rate / $senders);
		sleep $due - time if $due > time;
		send_request($socket, 'POST', '/api/v1/logs/batch', $org->{ingest_key},
			'[' . join(',', map {
			sprintf '{"event":"request %d handled in %d ms by worker %d","level":"info","source":"api-%d",'
			  . '"attributes":{"user":"u%d","host":"host-%d"}}',
			  $sent + $_, rand 500, rand 8, $n, rand 1000, rand 20 } 1 .. $batch) . ']');
		$sent += $batch;
	}
	append_to_file("$dir/sent", "$sent\n");
	return;
}

sub run_probe
{
	my ($n) = @_;
	my ($post, $search) = (connect_http($t), connect_http($t));
	my $serial = 0;

	sleep $begin - time;
	while (time < $end)
	{
		my $word = 'probe' . $n . 'x' . ++$serial;
		my $tries = 0;
		send_request($post, 'POST', '/api/v1/logs', $org->{ingest_key}, qq({"event":"$word"}));
		my $since = time;
		while (1)
		{
			$tries++;
			last if send_request($search, 'GET', "/api/v1/search?q=earliest%3D-5m%20$word",
				$org->{read_key}) =~ /"$word"/;
			die "not found: $word\n" if time - $since > 60;
			sleep 0.002;
		}
		append_to_file("$dir/delays", sprintf "%.3f %d\n", 1000 * (time - $since), $tries);
		sleep 0.05 + rand 0.05;
	}
	return;
}

foreach my $job ((map { my $n = $_; sub { run_sender($n) } } 1 .. $senders),
	(map { my $n = $_; sub { run_probe($n) } } 1 .. 2))
{
	my $pid = fork // die;
	next if $pid;
	eval { $job->(); 1 } or do { print STDERR $@; POSIX::_exit(1) };
	POSIX::_exit(0);
}
while ((my $pid = wait) > 0) { die "a client failed\n" if $?; }
my $took = time - $begin;

my $sent = 0;
$sent += $_ foreach split /\n/, slurp_file("$dir/sent");
my @lines = split /\n/, slurp_file("$dir/delays");
my @delays = sort { $a <=> $b } map { (split / /)[0] } @lines;
my $again = grep { (split / /)[1] > 1 } @lines;
metric('delay_rate', sprintf('%.0f', $sent / $took), 'events/s');
metric('delay_probes', scalar @delays, 'events');
metric('delay_p50', sprintf('%.1f', $delays[ $#delays * 0.5 ]), 'ms');
metric('delay_p99', sprintf('%.1f', $delays[ $#delays * 0.99 ]), 'ms');
metric('delay_max', sprintf('%.1f', $delays[-1]), 'ms');
metric('delay_not_found_at_once', $again, 'events');
$t->stop;
