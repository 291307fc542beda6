# evaluation.pl: what the service adds to an evaluation of 10,000 mixed rows.
#
#	make bench B=evaluation		rows "metric value unit"
#
# Environment: REQUESTS (200) of each kind, in turns on one connection:
#	transfer	a request of the same size that is refused at its last member:
#				the way through the gateway and the evaluator, and its JSON
#	preview
#	run			with a model that answers at once
#	model		the same request to the model, sent to it directly
# "besides" is the time less the median of transfer (and, for a run, of model).
use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use LogsvcTest;
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $requests = $ENV{REQUESTS} || 200;

sub metric { my $out = Test::More->builder->output; print $out "@_\n"; return; }

# ---- a model that answers at once; the last request is in a file ----

my $dir = PostgreSQL::Test::Utils::tempdir();
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 64) or die $!;
my $verdict = json_encode({ id => 'msg_1', type => 'message', role => 'assistant',
	model => 'claude-haiku-4-5', stop_reason => 'tool_use',
	content => [ { type => 'tool_use', id => 'toolu_1', name => 'verdict',
		input => { verdict => [ map { { id => "item-$_", status => 'passed',
			explanation => "the rows show item $_", confidence => 0.9 } } 1 .. 20 ] } } ],
	usage => { input_tokens => 20000, output_tokens => 900 } });
my $answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
	. length($verdict) . "\r\n\r\n$verdict";
my $model = fork // die $!;
if (!$model)
{
	my $select = IO::Select->new($listener);
	my (%data, $saved);
	$SIG{TERM} = sub { require POSIX; POSIX::_exit(0) };
	while (1)
	{
		foreach my $socket ($select->can_read)
		{
			if ($socket == $listener) 
			{
				my $new = $listener->accept;
				setsockopt $new, IPPROTO_TCP, TCP_NODELAY, 1;
				$select->add($new);
				next;
			}
			my $fd = fileno $socket;
			if (!sysread $socket, $data{$fd}, 1 << 20, length($data{$fd} // ''))
				{ $select->remove($socket); delete $data{$fd}; close $socket; next; }
			my $head = index $data{$fd}, "\r\n\r\n";
			next if $head < 0;
			my ($length) = substr($data{$fd}, 0, $head) =~ /^Content-Length: (\d+)/mi;
			next if length $data{$fd} < $head + 4 + $length;
			syswrite $socket, $answer;
			if (!$saved++) { open my $out, '>', "$dir/request.new"; print $out $data{$fd};
				close $out; rename "$dir/request.new", "$dir/request"; }
			$data{$fd} = '';
		}
	}
}
END { if ($model) { local $?; kill 'TERM', $model; waitpid $model, 0; } }

$ENV{ANTHROPIC_API_KEY} = 'sk-bench';
my $t = LogsvcTest->new(conf =>
	"shared_buffers = 256MB\nfsync = on\nlogsvc.model_region = 'eu-central-1'\nlogsvc.model_provider = anthropic\nlogsvc.model_endpoint_region = 'eu-central-1'\n"
	  . "logsvc.model_endpoint = 'http://127.0.0.1:" . $listener->sockport . "'");
my $org = $t->organization('bench');
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1000000 WHERE class = 'evaluation'");

# ---- rows: eight kinds of logs ----

srand 7;
sub n { return int rand $_[0]; }
sub word { my @w = qw(alpha beta gamma delta orders payments users search cache queue mailer
	billing); return $w[ rand @w ]; }
my @kinds = (
	sub { sprintf
		'10.%d.%d.%d - - [21/Nov/2026:10:%02d:%02d +0000] "GET /api/%s/%d HTTP/1.1" %d %d "-" "curl/8.%d"', n(9), n(256), n(256), n(60), n(60), word(), n(99999), (200, 200, 404, 500)[ rand 4 ], n(50000), n(9) },
	sub { sprintf
		'{"ts":"2026-11-21T10:%02d:%02d.%03dZ","level":"%s","service":"%s","msg":"request done","duration_ms":%d,"trace":"%08x%08x"}', n(60), n(60), n(1000), (qw(info warn error))[ rand 3 ], word(), n(900), n(2**31), n(2**31) },
	sub { sprintf
		'I1121 10:%02d:%02d.%06d       1 controller.go:%d] "Reconciled object" controller="%s" namespace="ns-%d" name="pod-%x"', n(60), n(60), n(1e6), n(400), word(), n(20), n(65536) },
	sub { sprintf
		'2026-11-21 10:%02d:%02d.%03d UTC [%d] LOG:  duration: %d.%03d ms  statement: SELECT * FROM %s WHERE id = %d', n(60), n(60), n(1000), n(30000), n(900), n(1000), word(), n(99999) },
	sub { sprintf
		'level=%s ts=2026-11-21T10:%02d:%02dZ caller=%s.go:%d component=%s msg="flush finished" bytes=%d', (qw(info warn))[ rand 2 ], n(60), n(60), word(), n(300), word(), n(1e7) },
	sub { sprintf
		'Nov 21 10:%02d:%02d host%d sshd[%d]: Failed password for user%d from 192.168.%d.%d port %d ssh2', n(60), n(60), n(40), n(30000), n(500), n(256), n(256), n(65536) },
	sub { sprintf "\tat org.example.%s.Handler\$%d.run(Handler.java:%d)", word(), n(9), n(900) },
	sub { sprintf 'worker %d finished job %d of %s in %d ms after %d retries', n(64), n(1e6),
		word(), n(5000), n(4) });
my @rows = map { $kinds[ rand @kinds ]->() } 1 .. 10_000;
my %request = (criteria => 'Does each step succeed?',
	expectedItems => [ map { { id => "item-$_", description => "step $_ of the run succeeds" } } 1
		.. 20 ], rows => \@rows);

# The members at the end are what differs: the server has read the rows when it comes to them.
my $start = substr json_encode(\%request), 0, -1;
my %body = (transfer => "$start,\"zzz\":0,\"mode\":\"none\"}",
	preview => "$start,\"preview\":true}", run => "$start,\"preview\":false}");

# ---- requests ----

sub http_connection
{
	my ($port) = @_;
	my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or die $!;
	setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
	return $socket;
}

my $service = http_connection($t->http_port);
my $direct = http_connection($listener->sockport);

# Milliseconds of a request and its status.
sub ask
{
	my ($socket, $bytes) = @_;
	my ($begin, $got, $sent, $status, $length) = (time, '', 0);

	while ($sent < length $bytes) { $sent += syswrite($socket, $bytes, length($bytes) - $sent,
		$sent) // die $!; }
	while (1)
	{
		sysread($socket, $got, 1 << 18, length $got) or die 'the connection is closed';
		my $head = index $got, "\r\n\r\n";
		next if $head < 0;
		($status) = $got =~ m{^HTTP/1.1 (\d+)};
		($length) = $got =~ /^Content-Length: (\d+)/mi;
		last if length $got >= $head + 4 + $length;
	}
	return (1000 * (time - $begin), $status);
}

sub service_bytes
{
	my ($body) = @_;
	return "POST /api/v1/evaluations/run-adhoc HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
		. "$org->{token}\r\n"
	  . "Content-Type: application/json\r\nContent-Length: " . length($body) . "\r\n\r\n$body";
}

my %bytes = map { $_ => service_bytes($body{$_}) } keys %body;
my %want = (transfer => 400, preview => 200, run => 200, model => 200);
ask($service, $bytes{run}) foreach 1 .. 3;
$bytes{model} = slurp_file("$dir/request");

my %ms;
foreach my $i (1 .. $requests)
{
	foreach my $kind (qw(transfer preview run model))
	{
		my ($ms, $status) = ask($kind eq 'model' ? $direct : $service, $bytes{$kind});
		die "$kind: $status\n" if $status != $want{$kind};
		push @{ $ms{$kind} }, $ms;
	}
}

sub percentile { my ($p, @v) = @_; @v = sort { $a <=> $b } @v;
	return $v[ int($p * $#v / 100 + 0.5) ]; }

metric('evaluation_request', sprintf '%.2f MB', length($body{run}) / 1e6);
metric('evaluation_prompt', sprintf '%.2f MB', length($bytes{model}) / 1e6);
foreach my $kind (qw(transfer preview run model))
{
	metric("evaluation_${kind}_p50", sprintf '%.1f ms', percentile(50, @{ $ms{$kind} }));
	metric("evaluation_${kind}_p95", sprintf '%.1f ms', percentile(95, @{ $ms{$kind} }));
}
my ($transfer, $own) = map { percentile(50, @{ $ms{$_} }) } qw(transfer model);
metric("evaluation_preview_besides_p95", sprintf '%.1f ms',
	percentile(95, @{ $ms{preview} }) - $transfer);
metric("evaluation_run_besides_p50", sprintf '%.1f ms',
	percentile(50, @{ $ms{run} }) - $transfer - $own);
metric("evaluation_run_besides_p95", sprintf '%.1f ms',
	percentile(95, @{ $ms{run} }) - $transfer - $own);

$t->stop;
ok(1, 'measured');
done_testing;
