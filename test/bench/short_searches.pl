# short_searches.pl: a short search of an organization while others of it run long ones.
#
#	make bench B=short_searches		rows "metric value unit"
#
# Environment: CLIENTS (8) that run the long one, DURATION (20 s).
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $clients = $ENV{CLIENTS} || 8;
my $duration = $ENV{DURATION} || 20;
my $t = LogsvcTest->new;
my $org = $t->organization('bench');

sub metric { my $out = Test::More->builder->output; print $out "@_\n"; return; }

$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000000');
foreach my $batch (1 .. 12)
{
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
		headers => { 'Content-Type' => 'application/x-ndjson' },
		body => join "\n", map { sprintf '{"event":"request %08x took %d ms","level":"%s"}',
			($batch * 30_000 + $_) * 2654435761 % 2**32, $_, (qw(info warn error))[ $_ % 3 ] }
		  1 .. 30_000);
	$r->{status} == 202 or die $r->{content};
}
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }) or die 'queue';

my %search = (
	long => '%7C+eval+l%3Dlower(concat(event%2Cevent))+%7C+stats+count+by+l+%7C+head+5',
	short => '%7C+stats+count+by+level');

# Milliseconds.
sub took
{
	my ($which) = @_;
	my $since = time;
	my $r = end_request(begin_request($t, GET => "/api/v1/search?earliest=-1d&q=$search{$which}",
		token => $org->{token}));

	$r->{status} == 200 or die $r->{content};
	return 1000 * (time - $since);
}

metric("${_}_alone", sprintf('%.1f', (sort { $a <=> $b } map { took($_) } 1 .. 9)[4]), 'ms')
  foreach qw(short long);
my $end = time + $duration;
my @children;
foreach (1 .. $clients)
{
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		while (time < $end) { took('long'); }
		POSIX::_exit(0);
	}
	push @children, $pid;
}
sleep 2;
my @times;
while (time < $end - 1)
{
	push @times, took('short');
	sleep 0.05;
}
@times = sort { $a <=> $b } @times;
metric("short_p$_", sprintf('%.1f', $times[ $#times * $_ / 100 ]), 'ms') foreach 50, 90, 99;
waitpid $_, 0 foreach @children;
$t->stop;
ok(1, 'measured');
done_testing;
