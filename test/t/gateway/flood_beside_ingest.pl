# flood_beside_ingest.pl: a client without a credential, or with one key, holds connections and
# sends large bodies while others send events.  (client_limits.pl has the gateway alone.)
#
# Runs alone: it measures times.
use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');
$SIG{PIPE} = 'IGNORE';

sub connect_from
{
	my ($from) = @_;
	return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $t->http_port,
		LocalAddr => $from, Timeout => 5)
	  // die "cannot connect from $from: $!";
}

# The status of the next answer; 0: none.
sub status_of
{
	my ($s, $seconds) = @_;
	my $until = time + ($seconds // 10);
	my $data = '';
	while (time < $until && IO::Select->new($s)->can_read($until - time))
	{
		sysread($s, $data, 65536, length $data) or last;
		next unless $data =~ /\AHTTP\/1\.1 (\d+)[^\n]*\n(.*?)\r\n\r\n/s;
		my ($status, $head, $length) = ($1, $2, $+[0]);
		return $status if $head !~ /^Content-Length: (\d+)/mi || length($data) >= $length + $1;
	}
	return 0;
}

sub event
{
	my ($key) = @_;
	my $body = '{"event": "x"}';
	return "POST /api/v1/logs HTTP/1.1\r\nHost: a\r\nX-API-Key: $key\r\nContent-Length: "
		. length($body) . "\r\n\r\n$body";
}

sub others_are_served
{
	my ($name) = @_;
	my $begin = time;
	my %status;
	$status{ $t->http(GET => $_)->{status} }++ for ('/healthz', '/readyz') x 3;
	$status{ $t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
		json => { event => 'x' })->{status} }++ for 1 .. 20;
	is_deeply(\%status, { 200 => 6, 202 => 20 }, "$name: others are served");
	cmp_ok(time - $begin, '<', 30, 'and need not wait long');
}

my @held = map {
	my $s = connect_from('127.0.0.2');
	syswrite($s, "POST /api/v1/logs HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc");
	$s } 1 .. 1000;
others_are_served('1,000 connections with an unfinished body');
close $_ for @held;

# One key, from 1,000 addresses, that other organizations do not share.
my $flooder = $t->organization('flooder');
foreach my $length (10, 70_000)
{
	my $text = "POST /api/v1/logs HTTP/1.1\r\nHost: a\r\nX-API-Key: $flooder->{ingest_key}\r\n"
		. 'Content-Length: ' . ($length + 1000) . "\r\n\r\n" . 'x' x $length;
	my $n = 0;
	my $open = sub { grep { !IO::Select->new($_)->can_read(0) } @held };
	@held = ();
	# Some are refused because too many wait to be looked at: others take their place.
	foreach my $try (1 .. 50)
	{
		@held = $open->();
		last if @held == 1000;
		push @held, map { my $s = connect_from('127.1.' . int(++$n / 200) . '.' . (1 + $n % 200));
			syswrite($s, $text);
			$s } @held + 1 .. 1000;
		sleep 0.3;
	}
	is(scalar $open->(), 1000, "1,000 bodies of $length bytes of one key are not complete");
	others_are_served("1,000 bodies of $length bytes of one key, from as many addresses");
	is($t->http(GET => '/api/v1/search?q=x', token => $org->{read_key})->{status}, 200,
		'... and search');
	cmp_ok(scalar $open->(), '>', 800, '... while nearly all of them are there');
	close $_ for @held;
}

my $megabytes = 'x' x (10 * 1024 * 1024 - 100);
# An address has 100 answers 401 a minute: each kind comes from its own.
foreach ([ '127.0.0.4', 'Content-Length: ' . length $megabytes ],
	[ '127.0.0.5', 'Transfer-Encoding: chunked' ])
{
	my ($from, $head) = @$_;
	@held = map {
		my $s = connect_from($from);
		syswrite($s, "POST /api/v1/logs/batch HTTP/1.1\r\nHost: a\r\nX-API-Key: ing_live_"
			. 'x' x 40 . "\r\n$head\r\n\r\n"
			  . ($head =~ /chunked/ ? sprintf("%x\r\n", length $megabytes) : ''));
		$s->blocking(0);
		syswrite($s, substr($megabytes, 0, 100_000));
		$s } 1 .. 60;
	others_are_served("60 bodies of 10 MB, $head");
	my %status;
	$status{ status_of($_) }++ for @held;
	is_deeply(\%status, { 401 => 60 }, 'which are refused before they are sent');
	close $_ for @held;
}

# Large answers that nobody reads.  (unread_answers.pl reaches the limit of memory.)
$t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ map { { event => "large $_ " . 'z' x 4000 } } 1 .. 2000 ]);
my $query = '/api/v1/logs?limit=1000&q=large';
my $large = $t->http(GET => $query, token => $org->{read_key});
cmp_ok(length $large->{content}, '>', 300_000, 'a large answer')
	or diag substr $large->{content}, 0, 300;
my $gateway = $t->sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'logsvc gateway'");
sub resident { my ($kb) = slurp_file("/proc/$gateway/status") =~ /^VmRSS:\s+(\d+)/m; return $kb }
my $before = resident();
@held = map {
	my $s = connect_from('127.0.0.6');
	syswrite($s, ($_ % 4 ? "GET /api/v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n"
		: "GET $query HTTP/1.1\r\nHost: a\r\nX-API-Key: $org->{read_key}\r\n\r\n") x 20);
	$s } 1 .. 400;
others_are_served('400 connections that read no answer');
my $most = 400 * (length($large->{content}) + 500_000) / 1024;
cmp_ok(resident() - $before, '<', $most < 600_000 ? $most : 600_000,
	'... and of each one answer waits at most');
close $_ for @held;

# Many agents behind one address.
@held = map { connect_from('127.0.0.3') } 1 .. 500;
my %status;
for my $round (1 .. 2)
{
	syswrite($_, event($org->{ingest_key})) for @held;
	$status{ status_of($_) }++ for @held;
}
is_deeply(\%status, { 202 => 1000 }, '500 agents of one address send events');
close $_ for @held;

# Who is known to the gateway is judged by a worker all the same.
my $key = $t->http(POST => '/api/v1/api-keys', token => $org->{full_key},
	json => { name => 'k', scope => 'ingest-only' })->{json}{data};
my $batch = '[' . join(',', ('{"event": "' . 'y' x 1000 . '"}') x 200) . ']';
for (1 .. 3)
{
	is($t->http(POST => '/api/v1/logs/batch', token => $key->{key}, body => $batch)->{status}, 202,
		'a large batch');
}
is($t->http(DELETE => "/api/v1/api-keys/$key->{id}", token => $org->{full_key})->{status}, 204,
	'its key is revoked');
is($t->http(POST => '/api/v1/logs/batch', token => $key->{key}, body => $batch)->{status}, 401,
	'the next one is refused');
is($t->http(POST => '/api/v1/logs/batch', token => $org->{read_key}, body => $batch)->{status}, 403,
	'so is one without the right');

# The look before a body counts no request.
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 5, customized = true WHERE "
	. "class = 'ingest'");
my $fresh = $t->organization('fresh');
my @statuses = map {
	$t->http(POST => '/api/v1/logs/batch', token => $fresh->{ingest_key}, body => $batch,
		headers => { 'X-Organization-Id' => "x$_" })->{status} } 1 .. 6;
is("@statuses", '202 202 202 202 202 429',
	'five requests of a limit of five, each looked at before its body');

$t->stop;
done_testing;
