# pipeline_bounds.pl: pipelines at their bounds: a full queue, definitions that cannot be compiled
# any more, more limits and keys than there are counts, filters that have used up their memory.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.acceptors = 1\nlogsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');
my $other = $t->organization('other');
my $path = '/api/v1/pipelines';

sub ask
{
	my ($method, $where, $expected, $name, %options) = @_;
	my $r = $t->http($method => $path . $where, token => $org->{token}, %options);
	is($r->{status}, $expected, $name) or diag $r->{content};
	return $r->{json}{data};
}

sub post
{
	my ($who, @events) = @_;
	return $t->http(POST => '/api/v1/logs/batch', token => $who->{ingest_key}, json => \@events);
}

# Rows of SQL, as the organization.
sub rows { my ($sql) = @_; return [ map { [ split /\|/ ] } split /\n/, $t->sql("SELECT logsvc.act_as('acme') IS NULL; $sql") =~ s/\A[tf]\n?//r ]; }
sub forget { ask(DELETE => "/$_->{id}", 204, 'deleted') foreach @{ ask(GET => '?limit=100', 200, 'all')}; return; }

# ---- a queue that is full while a limit counts ----

my $limit = ask(POST => '', 201, 'a limit', json => { name => 'limit', processors =>
	[ { type => 'limit', perMinute => 3, if => 'event CONTAINS "limited"' } ] })->{id};
sub counted { my $s = ask(GET => "/$limit", 200, 'its counters')->{stats}; return join ' ', @{$s}{qw(in out dropped)}; }
my $filled = 0;
$t->set('logsvc.queue_limit', 1000);
$t->set('logsvc.queue_wait', '0');
$t->stop_at('write_before_commit');
foreach my $n (200, 20, 1) { $filled += $n while post($org, ('filler') x $n)->{status} == 202; }
cmp_ok($filled, '>', 200, "the queue is full after $filled events");
is(counted(), "$filled $filled 0", 'what was refused is in no counter');
$t->set('logsvc.queue_wait', '10s');
my $socket = $t->connect;
my $body = json_encode([ ('limited') x 3 ]);
print $socket join "\r\n", 'POST /api/v1/logs/batch HTTP/1.1', 'Host: x', 'Connection: close', "Authorization: Bearer $org->{ingest_key}",
	'Content-Type: application/json', 'Content-Length: ' . length $body, '', $body;
$socket->flush;
# The acceptor takes one after the other, so it has seen what came before.
is($t->http(POST => '/api/v1/logs', token => $other->{ingest_key}, body => '{')->{status}, 400, 'a request waits for room');
is(counted(), "$filled $filled 0", 'and is in no counter while it waits');
$t->let_go('write_before_commit');
my $answer = join '', <$socket>;
like($answer, qr{^HTTP/1.1 202 .*"accepted": ?3\b}s, 'then it is taken, as a whole: what waited has not used up the limit');
unlike($answer, qr/"dropped": ?[1-9]/, 'nothing of it is dropped');
is(counted(), join(' ', ($filled + 3) x 2, 0), 'and each event counts once');
$t->sql("ALTER SYSTEM RESET logsvc.queue_limit");
$t->reload;

# ---- a definition that cannot be compiled any more ----

ask(PATCH => "/$limit", 200, 'a pattern', json => { processors => [ { type => 'mask', field => 'event', pattern => 'zq7x' } ] });
is(post($org, 'a zq7x')->{status}, 202, 'a pipeline that works');
my $from = $t->log_position;
$t->sql("UPDATE logsvc_internal.resource SET content = jsonb_set(content, '{processors,0,pattern}', '\"zq7x(?<a\"') WHERE kind = 'pipeline'");
my $r;
ok(wait_until(sub { $r = post($org, 'b zq7x'); $r->{status} != 202 }), 'a definition that is none');
is_deeply([ map { my $r = post($org, 'b zq7x'); "$r->{status} $r->{json}{code}" } 1 .. 5 ], [ ('503 QUEUE_UNAVAILABLE') x 5 ],
	'nothing is taken that was to be masked');
is(($t->sql_error("SELECT logsvc.act_as('acme'); SELECT logsvc.log('b zq7x')"))[1] ne '', 1, 'in SQL neither');
is(post($other, 'x')->{status}, 202, 'others send as before');
my @said = grep { /could not compile the pipelines/ && !/STATEMENT|statement:/ }
	split /\n/, $t->log_text($from);
cmp_ok(scalar(grep { /LOG: / } @said), '<=', 2, 'the log says it once for each process') or diag join "\n", @said;
is($t->http(GET => '/readyz')->{status}, 200, 'the service is ready');
ask(PATCH => "/$limit", 200, 'it is mended', json => { processors => [ { type => 'mask', field => 'event', pattern => 'zq7x' } ] });
is(post($org, 'c zq7x')->{status}, 202, 'and acts on the next request');
is_deeply([ sort map { @$_ } @{ rows("SELECT event FROM logsvc.logs WHERE event ~ '^[abc] '") } ], [ 'a ***', 'c ***' ], 'as it did before');
forget();

# ---- more limits than there are places, more keys than a place has ----

# By SQL: there pipelines have no share of an acceptor's time.  A count ends with its minute.
sub minute { return $t->sql("SELECT extract(epoch FROM date_trunc('minute', clock_timestamp()))::bigint"); }
$t->sql("SELECT logsvc.set_limit('acme', 'pipelines', 100)");
foreach my $n (1 .. 6)
{
	ask(POST => '', 201, 'limits', json => { name => "limits $n", continue => JSON::PP::true, match => "service=p$n", processors =>
		[ map { { type => 'limit', perMinute => 2, if => "source=s$_" } } 1 .. 50 ] });
}
my $began = minute();
$t->sql("SELECT logsvc.act_as('acme'); SELECT logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event', 'one of many', 'service', 'p' || p, "
	. "'source', 's' || s)) FROM generate_series(1, 6) p, generate_series(1, 50) s, generate_series(1, 5))) -> 'accepted'");
my $most = minute() == $began ? 2 : 4;
my @kept = map { $_->[0] } @{ rows("SELECT count(*) FROM logsvc.logs WHERE event = 'one of many' GROUP BY service, source") };
is(scalar(grep { $_ > $most } @kept), 0, '300 limits in 256 places: each holds');
cmp_ok(scalar(grep { $_ >= 2 } @kept), '>', 290, 'and hardly any is stricter than it says');
forget();
my $keyed = ask(POST => '', 201, 'a limit by key', json => { name => 'keys', processors => [ { type => 'limit', perMinute => 1, key => 'user' } ] })->{id};
$began = minute();
$t->sql("SELECT logsvc.act_as('acme'); SELECT logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event', 'of a user', 'attributes', "
	. "jsonb_build_object('user', 'u' || u))) FROM generate_series(1, 3) n, generate_series(1, 1500) u)) -> 'accepted'");
$most = minute() == $began ? 1 : 2;
@kept = map { $_->[0] } @{ rows("SELECT count(*) FROM logsvc.logs WHERE event = 'of a user' GROUP BY attributes ->> 'user'") };
is(scalar(grep { $_ > $most } @kept), 0, '1,500 keys in 512 places: none has more than its limit');
cmp_ok(scalar @kept, '>=', 400, 'some 512 have it');
ask(DELETE => "/$keyed", 204, 'deleted');

# ---- filters that have used up their memory ----

# A text is folded for a word that is no ASCII, and each filter keeps the memory for it: 135 times
# 256 KB are more than the 32 MB of the pipelines of an organization.
my $word = "\x{f1}eedle";
my $long = "\x{e9}" x 127_000;
my $n = 135;
$t->sql("SELECT logsvc.set_limit('acme', 'pipelines', 200); SELECT logsvc.act_as('acme'); SELECT count(logsvc.create_pipeline(jsonb_build_object("
	. "'name', 'filter ' || n, 'match', 'service=f' || n, 'processors', jsonb_build_array(jsonb_build_object('type', 'mask', 'field', "
	. "'event', 'preset', 'email', 'if', 'event CONTAINS \"' || chr(241) || 'eedle\"'))))) FROM generate_series(1, $n) n");
my %codes;
$codes{ post($org, { event => "$long $word bob\@x.example", service => "f$_" })->{status} }++ foreach 1 .. $n;
is_deeply(\%codes, { 202 => $n }, 'long texts, each through a filter of its own');
%codes = ();
$codes{ post($org, { event => "short $word bob\@x.example", service => "f$_" })->{status} }++ foreach 1 .. $n;
is_deeply(\%codes, { 202 => $n }, 'and short ones');
is(rows("SELECT count(*) FROM logsvc.logs WHERE event LIKE '%bob%'")->[0][0], 0, 'masks mask');
is(rows("SELECT count(*) FROM logsvc.logs WHERE event LIKE 'short _eedle ***'")->[0][0], $n,
	'and only what they find: when a filter has no memory left, all get new one');
is(rows("SELECT count(*) FROM logsvc.logs WHERE service ~ '^f'")->[0][0], 2 * $n, 'nothing is lost');

$t->stop;
done_testing();
