# access.pl: what sign-ins and the checks of credentials cost.
#
#	make bench B=access		rows "metric value unit"
#
# Environment: TRIES (1000), DURATION (10 s of sign-ins), CHECKS (1000000).
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use LogsvcTiming;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $tries = $ENV{TRIES} || 1000;
my $duration = $ENV{DURATION} || 10;
my $checks = $ENV{CHECKS} || 1_000_000;
my $t = LogsvcTest->new;
my $org = $t->organization('bench');
my $password = 'Blue-kettle-and-7-spoons';

sub metric { my $out = Test::More->builder->output; print $out "@_\n"; return; }

$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000000');
$t->sql("SELECT logsvc.create_user('known\@example.org', 'Known', '$password');"
	  . "SELECT logsvc.add_member('bench', 'known\@example.org', 'member')");

sub sign_in
{
	my ($email, $word) = @_;
	return $t->http(POST => '/api/v1/auth/sign-in', json => { email => $email, password => $word });
}

# ---- checks ----

my ($cookie) = map { /^logsvc_session=(\w{43});/ } map { ref $_ ? @$_ : $_ }
	sign_in('known@example.org', $password)->{headers}{'set-cookie'};
$t->sql(q{CREATE FUNCTION public.measure_access(what text, secret text, organization text, n int) RETURNS float8
	LANGUAGE C STRICT AS '$libdir/logsvc', 'logsvc_measure_access'});
my %secret = (token => $org->{token}, key => $org->{read_key}, session => $cookie);
foreach my $what (qw(token key session))
{
	metric("${what}_check_cpu", sprintf('%.2f',
		$t->sql("SELECT public.measure_access('$what', '$secret{$what}', 'bench', $checks)")
			/ 1000), 'us');
}
# 100 networks, of which the last is the client's; then none.
my $list = join ',', map { "{\"network\": \"10.0.$_.0/24\"}" } 0 .. 98;
foreach my $networks (100, 0)
{
	$t->sql("SELECT logsvc.set_ip_allowlist('["
		. ($networks ? "$list,{\"network\": \"192.0.2.0/24\"}" : '')
		  . "]', organization => 'bench')");
	metric("token_check_${networks}_networks_cpu", sprintf('%.2f',
		$t->sql("SELECT public.measure_access('token_address', '$secret{token}', 'bench', $checks)")
			/ 1000), 'us');
}
metric("${_}_check_uncached_cpu", sprintf('%.0f',
	$t->sql("SELECT public.measure_access('${_}_uncached', '$secret{$_}', 'bench', "
		. int($checks / 500) . ')') / 1000), 'us')
  foreach qw(token session);

# ---- sign-ins: as many at once as strangers may hash, of four executors ----

sub cpu
{
	my $sum = 0;
	foreach my $pid ($t->workers('logsvc executor'))
	{
		my @stat = split ' ', slurp_file("/proc/$pid/stat") =~ s/^.*\) //sr;
		$sum += $stat[11] + $stat[12];
	}
	return $sum / POSIX::sysconf(&POSIX::_SC_CLK_TCK);
}

foreach my $case ([ 'sign_in', $password, 200 ], [ 'failed_sign_in', 'wrong', 401 ])
{
	my ($name, $word, $expected) = @$case;
	my ($begin, $cpu, $done, @running) = (time, cpu(), 0);
	while (time < $begin + $duration)
	{
		push @running, begin_request($t, POST => '/api/v1/auth/sign-in',
			json => { email => 'known@example.org', password => $word }) while @running < 2;
		my $r = end_request(shift @running, 30);
		die "$r->{status} $r->{content}\n" unless $r->{status} == $expected;
		$done++;
	}
	my $elapsed = time - $begin;
	end_request($_, 30), $done++ foreach @running;
	metric("${name}_rate", sprintf('%.1f', $done / $elapsed), '1/s');
	metric("${name}_cpu", sprintf('%.1f', 1000 * (cpu() - $cpu) / $done), 'ms');
}

# ---- the time does not tell ----

my $client = timing_client($t);
my $n = 0;
my $r = compare_times($tries,
	sub { $client->('/api/v1/auth/sign-in', { email => 'known@example.org', password => 'wrong' })
		},
	sub { $n++; $client->('/api/v1/auth/sign-in',
		{ email => "known$n\@example.org", password => 'wrong' }) });
metric('sign_in_known_p50', sprintf('%.2f', $r->{a}), 'ms');
metric('sign_in_unknown_p50', sprintf('%.2f', $r->{b}), 'ms');
metric('sign_in_difference_z', sprintf('%.2f', $r->{z}), 'sigma');

$t->stop;
ok(1, 'access');
done_testing();
