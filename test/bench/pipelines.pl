# pipelines.pl: what pipelines cost ingest, and how long one organization's slow pipeline delays
# another's answers.
#
#	make bench B=pipelines		rows "metric value unit"
#
# Environment: EVENTS (200000) of each load, DURATION (10) of the fairness run.
#
# CPU is user and system time of all processes of the server.
use strict;
use warnings;

use lib 'test/bench';
use LogsvcBench;
use LogsvcTest;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $events = $ENV{EVENTS} || 200_000;
my $seconds = $ENV{DURATION} || 10;
my $dir = PostgreSQL::Test::Utils::tempdir();
my $t = LogsvcTest->new(conf => "shared_buffers = 256MB\nmax_wal_size = 8GB\nlogsvc.compactors = 0\n"
	. "logsvc.queue_limit = 10000000");
my $org = $t->organization('bench', plan => 'business');
my $slow = $t->organization('slow', plan => 'business');
my $path = '/api/v1/pipelines';

srand 1;
my @batches = map {
	'[' . join(',', map {
		sprintf '{"event":"GET /api/v1/orders/%d/items/%d returned 200 in %d ms user=u%d host=web-%d session=%08x%s","level":"info",'
		. '"source":"api-%d","attributes":{"user":"u%d","status":%d}}', rand 1e5, rand 977, rand 500, rand 1000, rand 20,
			rand 2**32, rand 10 < 1 ? ' bob@example.com 10.2.3.4' : '', rand 8, rand 1000, 200 + int(rand 4) * 100
	} 1 .. 2000) . ']' } 1 .. 20;

sub load_batches
{
	my ($name, @processors) = @_;
	my $made = @processors && $t->http(POST => $path, token => $org->{token},
		json => { name => $name, processors => \@processors })->{json}{data};
	my $socket = connect_http($t);
	my $before = server_cpu($t);

	for my $i (1 .. $events / 2000)
	{
		send_request($socket, 'POST', '/api/v1/logs/batch', $org->{ingest_key}, $batches[$i % @batches]);
	}
	my $settled = sub { $t->sql('SELECT logsvc_internal.queue_depth()') < 40_000 };
	wait_until($settled, 60);
	my $used = (server_cpu($t) - $before) / $events * 1e6;
	metric("ingest_cpu_$name", sprintf('%.2f', $used), 's/million');
	$t->http(DELETE => "$path/$made->{id}", token => $org->{token}) if $made;
	return $used;
}

my @mask = map { { type => 'mask', field => 'event', preset => $_ } } qw(email creditcard ip iban);
load_batches('warm');
my $none = load_batches('0_processors');
load_batches('1_processor', { type => 'set', field => 'env', value => 'test' });
load_batches('5_processors', { type => 'parse_kv', prefix => 'kv.' }, { type => 'set', field => 'env', value => 'test' },
	{ type => 'rename', from => 'user', to => 'who' }, { type => 'drop_if', filter => 'level=debug' }, $mask[0]);
my $masked = load_batches('mask_4_presets', @mask);
metric('mask_4_presets_to_none', sprintf('%.2f', $masked / $none), 'ratio');

# ---- fairness ----

# Single events of one organization, while another one sends events that take its pipeline long.
sub delays
{
	my ($name, $hostile) = @_;
	my @pids = map {
		my $pid = fork // die;
		if (!$pid)
		{
			my $socket = connect_http($t);
			my $body = '[' . join(',', ('"' . ('a' x 3000) . ' c"') x 200) . ']';
			my $end = time + $seconds + 2;
			while (time < $end)
			{
				my (undef, $status) = eval { send_request($socket, 'POST', '/api/v1/logs/batch', $slow->{ingest_key}, $body) };
				$socket = connect_http($t) if $@;
			}
			POSIX::_exit(0);
		}
			$pid } 1 .. $hostile;
	my $socket = connect_http($t);
	my @delays;
	sleep 1;
	my $end = time + $seconds;
	while (time < $end)
	{
		my ($ms) = send_request($socket, 'POST', '/api/v1/logs', $org->{ingest_key}, '{"event":"probe"}');
		push @delays, $ms;
		sleep 0.01;
	}
	waitpid $_, 0 foreach @pids;
	@delays = sort { $a <=> $b } @delays;
	metric("${name}_p50", sprintf('%.1f', $delays[ @delays / 2 ]), 'ms');
	metric("${name}_p99", sprintf('%.1f', $delays[ @delays * 0.99 ]), 'ms');
	return $delays[ @delays * 0.99 ];
}

my $alone = delays('answer_alone', 0);
$t->http(POST => $path, token => $slow->{token}, json => { name => 'slow', processors => [ { type => 'mask', field => 'event', pattern => '(a+)+[!?]c' } ] });
my $beside = delays('answer_beside_slow_pipeline', 8);
metric('delay_p99', sprintf('%.1f', $beside - $alone), 'ms');

$t->stop;
