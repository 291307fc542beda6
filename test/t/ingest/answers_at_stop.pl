# answers_at_stop.pl: clients that send while the server stops. What was acknowledged is stored
# once; what was refused is not stored, so that its sender may send it again.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

my $clients = 8;
my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'\nlogsvc.acceptors = 2");
my $org = $t->organization('acme');
my $dir = PostgreSQL::Test::Utils::tempdir;

# Sends numbered events until one is not accepted; writes the number of each and its status.
sub send_until_refused
{
	my ($name) = @_;
	open my $out, '>', "$dir/$name" or POSIX::_exit(1);
	$out->autoflush(1);
	for (my $n = 1; ; $n++)
	{
		my $status = $t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, client => $name,
			json => { event => "e$name-$n" }, timeout => 20)->{status};
		print $out "e$name-$n $status\n";
		POSIX::_exit(0) if $status != 202;
	}
}

foreach my $round (1 .. 3)
{
	my @names = map { "${round}x$_" } 1 .. $clients;
	my @pids;
	foreach my $name (@names)
	{
		my $pid = fork // die "cannot fork: $!";
		send_until_refused($name) if $pid == 0;
		push @pids, $pid;
	}
	wait_until(sub { !grep { (-s "$dir/$_" // 0) < 100 } @names }) or die 'the clients do not send';
	sleep 0.3;
	$t->stop;
	waitpid $_, 0 foreach @pids;
	$t->start;
	$t->wait_ready;
	ok(wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }), "round $round: all is stored");

	my %status = map { split ' ' } map { split /\n/, slurp_file("$dir/$_") } @names;
	my %stored;
	$stored{$_}++ foreach split /\n/, $t->sql("SELECT logsvc.act_as('acme') IS NULL;
		SELECT event FROM logsvc.logs WHERE \"timestamp\" > now() - interval '1 hour' AND event ~ '^e${round}x'") =~ s/^f\n//r;
	my @accepted = grep { $status{$_} == 202 } keys %status;
	cmp_ok(scalar @accepted, '>', 50, scalar(@accepted) . ' were acknowledged');
	is(scalar(grep { !$stored{$_} } @accepted), 0, '... each of them is stored');
	is(scalar(grep { $stored{$_} > 1 } keys %stored), 0, '... once');
	is_deeply([ sort grep { !defined $status{$_} } keys %stored ], [], 'and nothing that nobody sent');
	is_deeply([ grep { $status{$_} == 503 && $stored{$_} } keys %status ], [], 'nor what was refused with 503');
}

$t->stop;
done_testing;
