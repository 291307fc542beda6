# alerts.pl: what alert rules cost, how late they are, and how long an event takes to the webhook.
#
#	make bench B=alerts		rows "metric value unit"
#
# Environment: EVENTS (5000000, over a day that ends now), RULES (1000, of one minute; 0: only the
# webhooks), SECONDS (180, for which they are watched), SENT (20 events whose webhooks are waited
# for).
#
# cpu_share is that of the alert worker, in one core.  Lateness is from the tick to the end of its
# evaluation.
use strict;
use warnings;

use lib 'test/bench';
use LogsvcBench;
use LogsvcDouble;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep time);

my $events = $ENV{EVENTS} || 5_000_000;
my $rules = $ENV{RULES} // 1000;
my $seconds = $rules == 0 ? 0 : $ENV{SECONDS} || 180;
my $sent = $ENV{SENT} || 20;
my $start = int((time - 86400) * 1e6);
$| = 1;

my $receiver = LogsvcDouble->new(answer => sub { return { status => 200, body => 'ok', note => time }; });
my $t = LogsvcTest->new(conf => join "\n", 'shared_buffers = 1GB', 'max_wal_size = 16GB',
	'checkpoint_timeout = 1h', "logsvc.webhook_networks = '127.0.0.0/8'");
my $org = $t->organization('bench', plan => 'enterprise');
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');

# ---- events ----

open my $in, '-|', 'build/unit/event_source', 'batches', $events, $start, 86400 * 1e6, 0, 1 or die $!;
binmode $in;
while (defined(my $length = <$in>))
{
	my $body;
	read($in, $body, $length) == $length or die 'short batch';
	while (1)
	{
		my $r = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, body => $body);
		last if $r->{status} == 202;
		die $r->{content} if $r->{status} != 429;
		sleep 0.05;
	}
}
close $in;
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 300)
  or die "the queue did not drain\n";
my $parts = '';
wait_until(sub {
	my $now = $t->sql('SELECT count(*), max(id) FROM logsvc_internal.part');
	my $same = $now eq $parts;
	$parts = $now;
	sleep 5 unless $same;
	return $same;
}, 180);

# ---- rules ----

sub rule
{
	my (%rule) = @_;
	my $r = $t->http(POST => '/api/v1/alert-rules', token => $org->{token}, json => { name => 'bench', %rule });
	$r->{status} == 201 or die $r->{content};
	return $r->{json}{data}{id};
}

my @queries = ('level=error', 'level>=warn', 'level=error timeout', '"connection"');
foreach my $n (1 .. $rules)
{
	rule(query => $queries[ $n % @queries ], ($n % 4 ? () : (groupBy => ['service'])),
		condition => { kind => 'count', op => '>', threshold => 1_000_000_000 + $n });
}
my $worker = $t->sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'logsvc alerter'});
sleep 65 if $rules;    # each has been evaluated once
my ($cpu, $all, $begun) = (process_cpu($worker), server_cpu($t), time);
my $evaluated = q{SELECT count(*) FROM logsvc_internal.alert_rule_state WHERE evaluated_at > now() - interval '60 s'};
my @late;
my $fewest = $rules;
while (time < $begun + $seconds)
{
	sleep 15;
	my $n = $t->sql($evaluated);
	$fewest = $n if $n < $fewest;
	push @late, split /\n/, $t->sql(q{SELECT 1000 * extract(epoch FROM evaluated_at - last_tick)
		FROM logsvc_internal.alert_rule_state WHERE evaluated_at > now() - interval '15 s'});
}
my $passed = time - $begun;
sub share { return sprintf '%.1f', 100 * $_[0] / ($passed || 1); }

sub quantile
{
	my ($q, @v) = @_;
	@v = sort { $a <=> $b } @v;
	return @v ? sprintf('%.0f', $v[ int($q * $#v) ]) : 'none';
}
metric('events', $events, 'events');
metric('rules', $rules, 'rules');
metric('cpu_share', share(process_cpu($worker) - $cpu), '%');
metric('cpu_share_server', share(server_cpu($t) - $all), '%');
metric('evaluated_within_minute', $fewest, 'rules');
metric('missed', $t->sql('SELECT sum(missed) FROM logsvc_internal.alert_rule_state'), 'ticks');
metric('lateness_p50', quantile(0.5, @late), 'ms');
metric('lateness_p95', quantile(0.95, @late), 'ms');
metric('lateness_max', quantile(1, @late), 'ms');

# ---- from an event to its webhook ----

my $any = { kind => 'count', op => '>', threshold => 0 };
my $hook = { kind => 'webhook', target => $receiver->url };
rule(query => "marker$_", schedule => { everySeconds => 10 }, condition => $any, notify => [$hook])
  foreach 1 .. $sent;
my %posted;
foreach my $n (1 .. $sent)
{
	my $r = $t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => "marker$n" });
	$r->{status} == 202 or die $r->{content};
	$posted{$n} = time;
	sleep 0.7;
}
my %told;
wait_until(sub {
	foreach my $request (@{ $receiver->requests })
	{
		$told{$1} //= $request->{note} if $request->{body} =~ /"marker(\d+)"/;
	}
	return keys %told == $sent;
}, 60);
my @took = map { 1000 * ($told{$_} - $posted{$_}) } keys %told;
metric('webhooks', scalar @took, 'webhooks');
metric('event_to_webhook_p50', quantile(0.5, @took), 'ms');
metric('event_to_webhook_p95', quantile(0.95, @took), 'ms');
$t->stop;
ok(@took == $sent, 'each was told');
done_testing();
