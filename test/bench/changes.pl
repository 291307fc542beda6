# changes.pl: what changes of access data cost those who send events.
#
#	make bench B=changes	rows "metric value unit"
#
# A request with one event after the other, each with the key of the next of KEYS organizations,
# while RATE times a second nothing changes, or a key of another organization, or something that
# concerns all.
#
# Environment: DURATION (10 s of each, three times), KEYS (200), RATE (20).
use strict;
use warnings;

use lib 'test/bench';
use LogsvcBench;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(time);

my $duration = $ENV{DURATION} || 10;
my $keys = $ENV{KEYS} || 200;
my $rate = $ENV{RATE} || 20;
my $t = LogsvcTest->new(conf => "logsvc.queue_limit = 2000000\nlogsvc.limits = 'generous'");
my $other = $t->organization('other');
$t->sql("INSERT INTO logsvc_internal.organization (slug, name, plan) SELECT 'org-' || n, 'o', 'enterprise' FROM generate_series(1, $keys) n");
$t->sql("INSERT INTO logsvc_internal.log_index (organization_id, name) SELECT id, 'main' FROM logsvc_internal.organization WHERE slug LIKE 'org-%'");
$t->sql("INSERT INTO logsvc_internal.api_key (organization_id, name, scope, key_hash, prefix)
	SELECT id, 'k', 'ingest-only', sha256(convert_to('ing_live_' || slug, 'UTF8')), 'ing' FROM logsvc_internal.organization WHERE slug LIKE 'org-%'");
$t->sql('ANALYZE');

my %change = (
	nothing => 'SELECT 1',
	another => "UPDATE logsvc_internal.api_key SET expires_at = NULL
		WHERE organization_id = (SELECT id FROM logsvc_internal.organization WHERE slug = 'other') AND name = 'read'",
	all => "UPDATE logsvc_internal.rate_limit SET customized = customized WHERE class = 'public'");
my @pids = $t->workers('^logsvc (acceptor|gateway)$');
sub cpu { my $sum = 0; $sum += process_cpu($_) foreach @pids; return $sum; }
sub lookups { return $t->sql(q{SELECT coalesce(max(value), 0) FROM logsvc.metrics WHERE name = 'logsvc_access_lookups_total'}); }

# Microseconds of CPU and lookups of a request, and requests a second.
sub run
{
	my ($change) = @_;
	my $http = connect_http($t);
	# What the run before has made unknown is no matter of this one.
	send_request($http, 'POST', '/api/v1/logs', "ing_live_org-$_", '{"event":"a"}') foreach 1 .. $keys;
	my ($n, $changes) = (0, 0);
	my ($begin, $cpu, $looked) = (time, cpu(), lookups());
	local $LogsvcTest::kept = {};
	while ((my $now = time) < $begin + $duration)
	{
		if ($now > $begin + $changes / $rate) { $t->sql($change{$change}); $changes++; }
		send_request($http, 'POST', '/api/v1/logs', 'ing_live_org-' . (1 + $n++ % $keys), '{"event":"a"}');
	}
	return (1e6 * (cpu() - $cpu) / $n, (lookups() - $looked) / $n, $n / (time - $begin));
}

my %result;
foreach (1 .. 3)
{
	push @{ $result{$_} }, [ run($_) ] foreach qw(nothing another all);
}
foreach my $change (qw(nothing another all))
{
	my @unit = ([ cpu => '%.0f', 'us' ], [ lookups => '%.2f', '' ], [ requests => '%.0f', '1/s' ]);
	foreach my $i (0 .. 2)
	{
		my ($middle) = (sort { $a <=> $b } map { $_->[$i] } @{ $result{$change} })[1];
		metric("changes_of_${change}_request_$unit[$i][0]", sprintf($unit[$i][1], $middle), $unit[$i][2]);
	}
}

$t->stop;
ok(1, 'changes');
done_testing;
