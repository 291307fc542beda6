# tail.pl: live tails, GET /api/v1/logs/tail, as clients of server-sent
# events see them: what comes in, what ends them, what they may cost.
#
# Takes long.
use strict;
use warnings;

use IO::Socket::INET;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '100ms'");
my $org = $t->organization('acme');
my $other = $t->organization('globex');

$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');

# ---- a client ----

sub open_tail
{
	my ($query, %opt) = @_;
	my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $t->http_port)
		or die "cannot connect: $!";
	my $headers = join '', map { "$_: $opt{headers}{$_}\r\n" } sort keys %{ $opt{headers} // {} };
	my $token = $opt{token} // $org->{read_key};
	$socket->print("GET /api/v1/logs/tail$query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
		. "$token\r\n$headers\r\n");
	$socket->flush;
	my $tail = { socket => $socket, bytes => '', text => '', ended => 0 };
	read_tail($tail, sub { $tail->{head} });
	return $tail;
}

# Takes chunks apart; text is what a client would read.
sub decode
{
	my ($tail) = @_;
	if (!$tail->{head} && $tail->{bytes} =~ s/\A(HTTP.*?\r\n\r\n)//s)
	{
		$tail->{head} = $1;
		($tail->{status}) = $tail->{head} =~ /^HTTP\S+ (\d+)/;
		$tail->{plain} = $tail->{head} !~ /^Transfer-Encoding: chunked/mi;
	}
	return unless $tail->{head};
	if ($tail->{plain})
	{
		$tail->{text} .= $tail->{bytes};
		$tail->{bytes} = '';
	}
	while ($tail->{bytes} =~ /\A([0-9a-fA-F]+)\r\n/
		&& length($tail->{bytes}) >= length($1) + 4 + hex $1)
	{
		my $size = hex $1;
		$tail->{text} .= substr($tail->{bytes}, length($1) + 2, $size);
		substr($tail->{bytes}, 0, length($1) + 4 + $size) = '';
		$tail->{ended} = 1 if $size == 0;
	}
	return;
}

# Reads until the condition holds; seconds that it took, or undef.
sub read_tail
{
	my ($tail, $condition, $timeout) = @_;
	my $start = time;
	while (1)
	{
		my $bits = '';
		decode($tail);
		return time - $start if $condition->();
		return undef if $tail->{ended} || time - $start > ($timeout // 60);
		vec($bits, fileno($tail->{socket}), 1) = 1;
		next unless select($bits, undef, undef, 0.1);
		sysread($tail->{socket}, $tail->{bytes}, 65536, length $tail->{bytes})
			or $tail->{ended} = 1;
	}
}

sub events { return map { json_decode($_) } $_[0]{text} =~ /^id: evt_\w+\ndata: (.*)\n\n/mg; }
sub texts { return join ' ', map { $_->{event} } events($_[0]); }

sub send_event
{
	my ($to, %event) = @_;
	my $r = $t->http(POST => '/api/v1/logs', token => $to->{ingest_key}, json => {%event});
	die $r->{content} unless $r->{status} == 202;
	return $r->{json}{data}{id};
}

# ---- what comes in ----

send_event($org, event => 'before');
my $all = open_tail('');
is($all->{status}, 200, 'a tail opens');
like($all->{head}, qr{^Content-Type: text/event-stream\r$}m, '... as server-sent events');
like($all->{head}, qr/^X-RateLimit-Limit: /m, '... counted as a search');
my $errors = open_tail('?q=level%3Derror+timeout');
send_event($org, event => 'first timeout', level => 'error');
send_event($org, event => 'second', level => 'error');
send_event($other, event => 'foreign timeout', level => 'error');
my $last = send_event($org, event => 'third timeout', level => 'error', attributes => { n => 3 });
my $took = read_tail($all, sub { texts($all) =~ /third/ });
ok(defined $took && $took < 20, 'events arrive soon') or diag $all->{text};
is(texts($all), 'first timeout second third timeout',
	'in the order in which they came, none of before');
ok(defined read_tail($errors, sub { texts($errors) =~ /third/ }), 'a filter');
is(texts($errors), 'first timeout third timeout', '... lets by what matches, nothing of others');
is((events($errors))[-1]{attributes}{n}, 3, 'events are whole');

my $n = 2000;
for my $batch (1 .. 4)
{
	$t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
		json => [ map { { event => "many $batch " . $_ } } 1 .. $n / 20 ]);
	sleep 0.7;    # tails look meanwhile: at the queue, and at the store
}
ok(defined read_tail($all, sub { texts($all) =~ /many 4 100/ }), 'many arrive');
my %seen;
$seen{ $_->{id} }++ foreach events($all);
is(scalar(grep { $_ > 1 } values %seen), 0, '... none twice, in the queue and in the store');
is(scalar(keys %seen), 403, '... none lost');

# ---- a transaction that commits later ----

my $session = $t->node->background_psql('postgres');
$session->query_safe("SELECT logsvc.use_token('$org->{token}')");
$session->query_safe("BEGIN; SELECT logsvc.log('late', level => 'info')");
send_event($org, event => 'between');
ok(defined read_tail($all, sub { texts($all) =~ /between/ }), 'an event arrives');
sleep 1.2;    # the tail looks again, and does not find it
$session->query_safe('COMMIT');
ok(defined read_tail($all, sub { texts($all) =~ /late/ }),
	'and an earlier one whose transaction ended after it');
$session->quit;

# ---- going on after a break ----

close $all->{socket};
send_event($org, event => 'meanwhile 1');
send_event($org, event => 'meanwhile 2');
my $again = open_tail('', headers => { 'Last-Event-ID' => $last });
ok(defined read_tail($again, sub { texts($again) =~ /meanwhile 2/ }), 'with Last-Event-ID');
like(texts($again), qr/^many 1 1 .*between meanwhile 1 meanwhile 2$/,
	'... comes all that came after that event');

# More than a client can read at once.
$t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ map { { event => "flood $_" } } 1 .. 1500 ]);
ok(defined read_tail($again, sub { $again->{text} =~ /^event: skipped\ndata: \{"events":500\}$/m }),
	'a flood is cut, and it is said');

# ---- refusals ----

sub is_refused
{
	my ($tail, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	read_tail($tail, sub { $tail->{text} =~ /\}$/ });
	my ($code) = $tail->{text} =~ /"code":"(\w+)"/;
	is("$tail->{status} " . ($code // ''), $expected, $name);
	return;
}
is_refused(open_tail('?q=error+|+head+5'), '400 QUERY_SEMANTIC_ERROR', 'a query with stages');
is_refused(open_tail('?q=error+earliest%3D-1h'), '400 QUERY_SEMANTIC_ERROR', 'a query with a time');
is_refused(open_tail('?q=level%3D'), '400 QUERY_SYNTAX_ERROR', 'a query that is none');
is_refused(open_tail('?q=index%3Dnowhere'), '404 INDEX_NOT_FOUND', 'an index that is not there');
is_refused(open_tail('?x=1'), '400 VALIDATION_ERROR', 'an unknown parameter');
is_refused(open_tail('', headers => { 'Last-Event-ID' => 'evt_1' }), '400 VALIDATION_ERROR',
	'an id that is none');
is_refused(open_tail('', token => $org->{ingest_key}), '403 INSUFFICIENT_SCOPE',
	'a key that may not read');
is_refused(open_tail('', token => 'ing_live_' . 'x' x 40), '401 INVALID_API_KEY',
	'a key that is none');

# ---- how many ----

my @open = map { open_tail('', token => $org->{token}) } 1 .. 5;
is(join(' ', map { $_->{status} } @open), '200 200 200 200 200', 'five tails of a user');
my $sixth = open_tail('', token => $org->{token});
like($sixth->{head}, qr/^Retry-After: 5\r$/m, 'a sixth is told when to come again');
is_refused($sixth, '429 RATE_LIMIT_EXCEEDED', '... and refused');

# One that does not read is not fed.
my $stuck = open_tail('');
for (1 .. 11)
{
	$t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
		json => [ map { { event => "big $_ " . 'x' x 200_000 } } 1 .. 20 ]);
	# The others read: one that does not for 5 seconds has its place no longer.
	foreach my $tail (@open)
	{
		read_tail($tail, sub { 0 }, 0.1);
		$tail->{text} = '';
	}
}
my $gateway = $t->sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'logsvc gateway'");
my ($rss) = slurp_file("/proc/$gateway/status") =~ /^VmRSS:\s+(\d+) kB/m;
cmp_ok($rss, '<', 150_000, "the gateway keeps little for a client that does not read ($rss kB)");
close $stuck->{socket};

is_refused(open_tail('', token => $org->{token}), '429 RATE_LIMIT_EXCEEDED',
	'also later: tails keep their places');
close $_->{socket} foreach @open;
ok(wait_until(sub { open_tail('', token => $org->{token})->{status} == 200 }),
	'the places of closed ones come free');

# Tails that are not read lose their places, and must not come back beside those that got them.
{
	my $key = $t->sql_json("SELECT logsvc.create_api_key('globex', 'r', 'read-only')")->{key};
	my @unread = map { open_tail('', token => $key) } 1 .. 5;
	$t->http(POST => '/api/v1/logs/batch', token => $other->{ingest_key},
		json => [ map { { event => "big $_ " . 'x' x 200_000 } } 1 .. 20 ]) for 1 .. 2;
	my @later;
	ok(wait_until(sub { push @later, open_tail('', token => $key); pop @later
		if $later[-1]{status} != 200; @later == 5 }),
		'places of tails that are not read come free');
	my $ended = 0;
	foreach my $tail (@unread)
	{
		read_tail($tail, sub { $tail->{ended}
			|| $tail->{text} =~ /^event: error\ndata: .*"code":"RATE_LIMIT_EXCEEDED"/m }, 10);
		$ended++ if $tail->{text} =~ /^event: error\ndata: .*"code":"RATE_LIMIT_EXCEEDED"/m;
		read_tail($_, sub { 0 }, 0.1) for @later;
	}
	is($ended, 5, '... and when they are read again they end, for five others are open');
	close $_->{socket} foreach @unread, @later;
}

# ---- what ends a tail ----

my $made = $t->sql_json("SELECT logsvc.create_api_key('acme', 'r', 'read-only')");
my $doomed = open_tail('', token => $made->{key});
is($doomed->{status}, 200, 'a tail of a key');
$t->sql("SELECT logsvc.use_token('$org->{token}'); SELECT logsvc.revoke_api_key('$made->{id}')");
ok(defined read_tail($doomed, sub { $doomed->{ended}
	|| $doomed->{text} =~ /^event: error\ndata: .*"code":"API_KEY_REVOKED"/m }, 5),
	'ends when the key is revoked') or diag $doomed->{text};
read_tail($doomed, sub { $doomed->{ended} });
is($doomed->{ended}, 1, '... and the answer is complete');

# Clients that go away leave nothing behind.
sub tail_runs { return $t->sql("SELECT sum(calls) FROM pg_stat_user_functions WHERE funcname = "
	. "'tail'") || 0; }
$t->node->append_conf('postgresql.conf', 'track_functions = all');
$t->node->reload;
close $_->{socket} foreach $again, $errors, $doomed;
my @gone = map { open_tail('') } 1 .. 4;
close $_->{socket} foreach @gone;
# A tail looks each second.
ok(wait_until(sub { my $runs = tail_runs(); stays(sub { tail_runs() == $runs }, 2.2) }),
	'no search goes on for clients that have gone');

# A worker that is killed politely ends the tail; the client comes again.
my $cut;
ok(wait_until(sub { $cut = open_tail(''); $cut->{status} == 200 }), 'a place is free again');
foreach my $pid ($t->workers('^logsvc executor')) { $t->sql("SELECT pg_terminate_backend($pid)"); }
$t->wait_ready;
send_event($org, event => 'after the change of guard');
read_tail($cut, sub { $cut->{ended} || texts($cut) =~ /guard/ });
ok($cut->{ended} || texts($cut) =~ /guard/, 'a tail either goes on or ends when executors do');

my $stopping = open_tail('', token => $org->{full_key});
$t->stop;
read_tail($stopping, sub { $stopping->{ended} });
is($stopping->{ended}, 1, 'a server that stops ends it');

done_testing();
