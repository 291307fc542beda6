# loki_tail.pl: Loki's tail over a WebSocket, as Grafana's Live and logcli --tail use it, with a
# client of npm (ws, test/npm/websocket.js): what comes, in which form, what is refused, what
# ends it; on a standby, too.
# Takes long.
use strict;
use warnings;

use IO::Select;
use IPC::Open2 qw(open2);
use LogsvcTest;
use MIME::Base64 qw(encode_base64);
use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(time sleep);

my $t = LogsvcTest->new(streaming => 1, conf => "logsvc.flush_interval = '50ms'\nlogsvc.public_url = 'http://logs.example'");
my $org = $t->organization('acme');
my $other = $t->organization('globex');
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
$t->wait_partitions;

# ---- a client ----

my @clients;

sub escaped { my ($v) = @_; $v =~ s/([^A-Za-z0-9_.-])/sprintf '%%%02X', ord $1/ge; return $v; }

sub open_tail
{
	my ($query, %opt) = @_;
	my %parameters = (query => $query, %{ $opt{with} // {} });
	my $server = $opt{server} // $t;
	my %headers = (Authorization => 'Bearer ' . ($opt{token} // $org->{read_key}), %{ $opt{headers} // {} });
	delete @headers{ grep { !defined $headers{$_} } keys %headers };
	my $pid = open2(my $out, my $in, 'node', 'build/npm/websocket.js', ($server->url =~ s/^http/ws/r)
		. '/loki/api/v1/tail?' . join('&', map { escaped($_) . '=' . escaped($parameters{$_}) } sort keys %parameters),
		json_encode(\%headers));
	my $tail = { out => $out, in => $in, pid => $pid, bytes => '', said => [], server => $server };
	$in->autoflush;
	push @clients, $tail;
	await($tail, sub { @{ $tail->{said} } });
	return $tail;
}

# Reads what the client says until the condition holds; true: it does.
sub await
{
	my ($tail, $condition, $seconds) = @_;
	my $until = time + ($seconds // 60);
	while (1)
	{
		push @{ $tail->{said} }, json_decode($1) while $tail->{bytes} =~ s/\A(.*)\n//;
		return 1 if $condition->();
		return 0 if $tail->{ended} || time > $until;
		next unless IO::Select->new($tail->{out})->can_read(0.1);
		sysread($tail->{out}, $tail->{bytes}, 1 << 16, length $tail->{bytes}) or $tail->{ended} = 1;
	}
}

END { kill 'KILL', map { $_->{pid} } @clients }

sub messages { return map { $_->[1] } grep { $_->[0] eq 'message' } @{ $_[0]{said} } }

# All lines, by message and stream.
sub streams { return map { @{ $_->{streams} } } messages($_[0]) }
sub lines { return map { $_->[1] } map { @{ $_->{values} } } streams($_[0]) }

sub comes
{
	my ($tail, $line) = @_;
	return await($tail, sub { grep { $_ eq $line } lines($tail) }) || !diag explain $tail->{said};
}
sub closed { my ($tail) = @_; await($tail, sub { $tail->{said}[-1][0] eq 'close' }); return $tail->{said}[-1]; }
sub finish { my ($tail) = @_; close $tail->{in}; waitpid $tail->{pid}, 0; return; }

sub post
{
	my ($to, @events) = @_;
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $to->{ingest_key}, json => \@events);
	die $r->{content} unless $r->{status} == 202;
	return;
}

# ---- as logcli --tail: what was, then what comes ----

my $now = int time;
post($org, map { { timestamp => $now - 60 + $_, event => "before $_", service => 'web', level => 'info' } } 1 .. 5);
post($org, { timestamp => $now - 7200, event => 'long before', service => 'web' });
post($other, { event => 'foreign', service => 'web' });
my $tail = open_tail('{service_name="web"}', with => { limit => 3, start => ($now - 3600) . '000000000' });
is_deeply($tail->{said}[0], [ 'open', '' ], 'a WebSocket without extensions') or diag explain $tail->{said};
ok(comes($tail, 'before 5'), 'the first message');
is_deeply([ messages($tail) ], [ { streams => [ { stream => { service_name => 'web', index => 'main', level => 'info',
	detected_level => 'info' }, values => [ map { [ ($now - 60 + $_) . '000000000', "before $_" ] } 3 .. 5 ] } ] } ],
	'... has the newest lines since start, the oldest first');
post($org, { timestamp => $now + 0.25, event => 'now', service => 'web', level => 'error', attributes => { user => { id => 7 } } });
post($other, { event => 'foreign now', service => 'web' });
post($org, { event => 'of another service', service => 'pay' });
post($org, { event => 'then', service => 'web' });
ok(comes($tail, 'then'), 'then what comes in');
is(join(' ', (lines($tail))[ 3 .. 4 ]), 'now then', '... and nothing of others');
is_deeply((streams($tail))[1]{stream}, { service_name => 'web', index => 'main', level => 'error',
	detected_level => 'error', user_id => '7' }, '... with all labels');
is((streams($tail))[1]{values}[0][0], $now . '250000000', '... and its time');
print { $tail->{in} } "ping are you there\nsend a message that means nothing\n";
ok(await($tail, sub { grep { $_->[0] eq 'pong' && $_->[1] eq 'are you there' } @{ $tail->{said} } }), 'a ping is answered');

# As Grafana's Live: only the query.
my $live = open_tail('{service_name="web"} |= "status" | json | status >= 500');
ok(!await($live, sub { messages($live) }, 1.5), 'without lines no message');
post($org, { event => '{"status": 200, "path": "/a"}', service => 'web' }, { event => '{"status": 503, "path": "/b"}', service => 'web' });
ok(comes($live, '{"status": 503, "path": "/b"}'), 'filters and parsers');
is(scalar(lines($live)), 1, '... let by what matches');
is((messages($live))[0]{streams}[0]{stream}{path}, '/b', '... and what they find is a label');
print { $live->{in} } "close 1000\n";
is_deeply(closed($live), [ 'close', 1000, '' ], 'a client that closes it is answered');

my $n = 0;
for my $batch (1 .. 5)
{
	post($org, map { { event => "many $batch $_", service => 'web' } } 1 .. 60);
	sleep 0.6;    # the tail looks meanwhile: at the queue, and at the store
}
ok(comes($tail, 'many 5 60'), 'many come');
my %seen;
$seen{$_}++ foreach grep { /^many/ } lines($tail);
is_deeply([ scalar(keys %seen), scalar(grep { $_ > 1 } values %seen) ], [ 300, 0 ], '... each once');

# A message that is larger than what workers send at a time.
post($org, map { { event => "big $_ " . 'x' x 200_000, service => 'web' } } 1 .. 10);
ok(await($tail, sub { 10 == grep { /^big/ } lines($tail) }), 'a message of 2 MB');

# More than a message takes.
post($org, map { { timestamp => $now + $_ / 1000, event => "flood $_", service => 'web', level => 'warn' } } 1 .. 1400);
ok(await($tail, sub { grep { $_->{dropped_entries} } messages($tail) }), 'a flood is cut');
my ($cut) = grep { $_->{dropped_entries} } messages($tail);
is(scalar @{ $cut->{dropped_entries} }, 400, '... and what was left out is named');
is_deeply($cut->{dropped_entries}[0], { timestamp => $now . '001000000',
	labels => { service_name => 'web', index => 'main', level => 'warn', detected_level => 'warn' } }, '... with time and labels');
is($cut->{streams}[0]{values}[0][1], 'flood 401', '... the newest are there');
finish($tail);

# ---- delay_for ----

$tail = open_tail('{service_name="slow"}', with => { delay_for => 2 });
my $begin = time;
post($org, { timestamp => $now + 20, event => 'second', service => 'slow' });
sleep 0.3;    # another batch
post($org, { timestamp => $now + 10, event => 'first', service => 'slow' });
ok(comes($tail, 'second'), 'with delay_for');
cmp_ok(time - $begin, '>', 1.9, '... lines come later');
ok(comes($tail, 'first'), '... all of them');
is(join(' ', lines($tail)), 'first second', '... in the order of their times') if (messages($tail)) == 1;
finish($tail);

# ---- what is refused ----

sub is_refused
{
	my ($status, $like, $name, $query, %opt) = @_;
	my $refused = open_tail($query, %opt);
	is_deeply([ @{ $refused->{said}[0] }[ 0, 1 ] ], [ 'refused', $status ], $name) or diag explain $refused->{said};
	like($refused->{said}[0][2] // '', $like, '... with a reason');
	finish($refused);
	return $refused;
}
is_refused(400, qr/parse error/, 'a metric', 'rate({app="x"}[5m])');
is_refused(400, qr/parse error/, 'no query', '');
is_refused(400, qr/line_format/, 'what cannot be done', '{app="x"} | line_format "{{.x}}"');
is_refused(400, qr/delay_for can't be greater than 5/, 'a long delay', '{app="x"}', with => { delay_for => 6 });
is_refused(400, qr/delay_for/, 'a delay that is none', '{app="x"}', with => { delay_for => '1s' });
is_refused(400, qr/limit > max_entries/, 'a large limit', '{app="x"}', with => { limit => 5001 });
is_refused(400, qr/"start"/, 'a time that is none', '{app="x"}', with => { start => 'yesterday' });
is_refused(401, qr/^INVALID_API_KEY/, 'a key that is none', '{app="x"}', token => 'ing_live_' . 'x' x 40);
is_refused(403, qr/^INSUFFICIENT_SCOPE/, 'a key that may not read', '{app="x"}', token => $org->{ingest_key});
is_refused(401, qr/^UNAUTHORIZED/, 'a session', '{app="x"}', headers => { Authorization => undef,
	Cookie => 'logsvc_session=' . $t->session($org->{email}), 'X-Organization-Id' => 'acme' });
is_refused(403, qr/^FORBIDDEN/, 'a page of another origin', '{app="x"}', headers => { Origin => 'http://evil.example' });
my $plain = $t->http(GET => '/loki/api/v1/tail', query => { query => '{app="x"}' }, token => $org->{read_key});
is($plain->{status}, 400, 'a request that asks for no WebSocket');
like($plain->{content}, qr/WebSocket/, '... is told so');

foreach ([ 'basic', Authorization => 'Basic ' . encode_base64("acme:$org->{read_key}", '') ],
	[ 'X-API-Key', Authorization => undef, 'X-API-Key' => $org->{read_key} ], [ 'a page of ours', Origin => 'http://logs.example' ])
{
	my ($name, %headers) = @$_;
	$tail = open_tail('{app="x"}', headers => \%headers);
	is($tail->{said}[0][0], 'open', $name) or diag explain $tail->{said};
	finish($tail);
}

# ---- how many, and what ends it ----

my @open;
my $made = $t->sql_json("SELECT logsvc.create_api_key('acme', 'r', 'read-only')");
push @open, open_tail('{app="x"}', token => $made->{key}) for 1 .. 5;
is(join(' ', map { $_->{said}[0][0] } @open), 'open open open open open', 'five of a key');
my $sixth = is_refused(429, qr/^RATE_LIMIT_EXCEEDED: 5 live tails are open already/, 'a sixth', '{app="x"}', token => $made->{key});
is($sixth->{said}[0][3]{'retry-after'}, 5, '... is told when to come again');
$t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.revoke_api_key('$made->{id}') IS NULL");
is(join(' ', map { my $c = closed($_); "$c->[1] $c->[2]" } @open), join(' ', ('1008 API_KEY_REVOKED: the API key has been revoked') x 5),
	'all end when the key is revoked');

sub runs { return $t->sql("SELECT sum(calls) FROM pg_stat_user_functions WHERE funcname = 'tail_rows'") || 0; }
$t->node->append_conf('postgresql.conf', 'track_functions = all');
$t->node->reload;
$tail = open_tail('{app="x"}');
ok(wait_until(sub { runs() > 0 }), 'a tail looks');
finish($tail);
ok(wait_until(sub { my $before = runs(); stays(sub { runs() == $before }, 2.2) }), '... until its client goes');

# ---- on a standby ----

$t->node->backup('copy');
my $node = PostgreSQL::Test::Cluster->new('standby');
my $port = PostgreSQL::Test::Cluster::get_free_port();
$node->init_from_backup($t->node, 'copy', has_streaming => 1);
$node->append_conf('postgresql.conf', "logsvc.port = $port\nlogsvc.executors = 4");
$node->start;
my $s = bless { node => $node, http_port => $port, database => 'postgres', clients => {} }, 'LogsvcTest';
$s->wait_ready;
my $there = open_tail('{service_name="far"}', server => $s, with => { start => $now });
is($there->{said}[0][0], 'open', 'a standby has it, too') or diag explain $there->{said};
for my $i (1 .. 4)
{
	post($org, { event => "far $i", service => 'far' });
	ok(comes($there, "far $i"), "a line of the primary comes there: $i");
}
is(join(' ', lines($there)), 'far 1 far 2 far 3 far 4', '... each once');
my $again = open_tail('{service_name="far"}', server => $s, with => { start => $now, limit => 2 });
ok(comes($again, 'far 4'), 'what was there');
post($org, { event => 'far 5', service => 'far' });
ok(comes($again, 'far 5') && comes($there, 'far 5'), '... and what comes');
ok(!await($again, sub { lines($again) > 3 }, 2.5), '... and nothing else');
is(join(' ', lines($again)), 'far 3 far 4 far 5', '... each once');

# Numbers of servers that share accounts are far from each other, and a standby is as many ahead.
$t->sql('SELECT logsvc_internal.number_batches(0)');
post($org, { event => 'far 6', service => 'far' });
ok(comes($there, 'far 6'), 'when batches get other numbers, the tail goes on');
my $late = open_tail('{service_name="far"}', server => $s);
post($org, { event => "far $_", service => 'far' }) for 7 .. 9;
ok(comes($late, 'far 9'), 'and so does another one');

# Server-sent events there.
{
	my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or die "cannot connect: $!";
	my $got = '';
	my $read = sub {
		my ($like, $seconds) = @_;
		my $until = time + $seconds;
		while ($got !~ $like && time < $until)
		{
			sysread($socket, $got, 65536, length $got) if IO::Select->new($socket)->can_read(0.1);
		}
		return $got =~ $like;
	};
	$socket->print("GET /api/v1/logs/tail?q=service%3Dfar HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer $org->{read_key}\r\n\r\n");
	$socket->flush;
	$read->(qr/waiting for events/, 60);
	sleep 1.2;    # it looks again
	post($org, { event => "sse $_", service => 'far' }) for 1 .. 3;
	ok($read->(qr/sse 3/, 60), 'so do server-sent events') or diag $got;
	unlike($got, qr/"far \d"/, '... of nothing that was there before');
}
finish($_) foreach $there, $again;
$node->stop;

# ---- the end ----

$tail = open_tail('{app="x"}');
$t->stop;
is(closed($tail)->[1], 1001, 'a server that stops says so');
waitpid $tail->{pid}, 0;

done_testing();
