# Rate limits of every class over HTTP: at their edge, for the right one, exact
# under many connections and several workers.

use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(time);

my $t = LogsvcTest->new(limits => 1, conf => "logsvc.acceptors = 3\n");
my $org = $t->organization('limited');
my $other = $t->organization('other');
my $event = { event => 'hello' };

sub set_rate
{
	my ($class, $n) = @_;
	$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = $n WHERE class = '$class'");
	return;
}

# Headers of an answer of a limited route: (limit, remaining); fails without them.
sub rate_of
{
	my ($r, $what) = @_;
	my ($limit, $left, $reset) = @{ $r->{headers} }{map { "x-ratelimit-$_" } qw(limit
		remaining reset)};
	ok(defined $limit && defined $left && defined $reset && $reset >= time - 2
		&& $reset <= time + 62,
		"$what: rate headers") or diag explain $r;
	return ($limit // -1, $left // -1);
}

sub refused
{
	my ($r, $what) = @_;
	is($r->{status}, 429, "$what: 429");
	is((rate_of($r, $what))[1], 0, "$what: nothing remains");
	my $wait = $r->{headers}{'retry-after'} // '';
	ok($wait =~ /^\d+$/ && $wait >= 1 && $wait <= 60, "$what: Retry-After $wait");
	return;
}

# ---- the figures of the specification ----

is($t->sql('SELECT class, per_minute, scope FROM logsvc_internal.rate_limit ORDER BY class'),
	join("\n", 'all_changes|600|organization', 'assist|120|caller', 'auth|5|address',
		'changes|120|credential', 'deletions|10|organization', 'evaluation|10|caller',
		'executor|60|organization', 'export|10|organization', 'forbidden|100|caller',
		'ingest|10000|organization', 'link|120|address', 'logs|100|organization', 'otlp|10000|organization',
		'password|5|user', 'public|5|address', 'reports|120|caller', 'search|10|organization',
			'sign_in|5|account', 'static|600|address',
		'tail|10|organization', 'templates|10|organization', 'unauthorized|100|address',
			'user_changes|600|user'),
	'the limits as installed');

sub get_search { return $t->http(GET => '/api/v1/search', token => $_[0]{read_key},
	query => { q => 'x' }); }
foreach my $n (1 .. 10)
{
	my $r = get_search($org);
	is($r->{status}, 200, "search $n of 10");
	is_deeply([ rate_of($r, "search $n") ], [ 10, 10 - $n ], 'counts down');
}
my $r = get_search($org);
refused($r, 'search 11');
is($r->{json}{code}, 'RATE_LIMIT_EXCEEDED', 'as a rate limit');
refused($t->http(POST => '/api/v1/search', token => $org->{token}, json => { q => 'x' }),
	'by POST, with another credential');
is(get_search($other)->{status}, 200, 'another organization is not concerned');

# ---- on a server of one's own ----

$r = get_search($org);
like($r->{json}{error}, qr/^too many requests: 10 searches a minute for this organization; try again in (?:1 second|(?!1 )\d+ seconds); an operator changes it with setting logsvc.limits or table logsvc_internal.rate_limit \(class search\)$/,
	'the refusal says with what the limit is changed');
is($r->{json}{details}[0]{message},
	'10 searches a minute for this organization; logsvc.limits or logsvc_internal.rate_limit',
	'its detail too');
sub set_limits
{
	my ($value) = @_;
	$t->sql("ALTER SYSTEM SET logsvc.limits = $value");
	$t->reload;
	return;
}
set_limits('generous');
ok(wait_until(sub { $r = get_search($org); $r->{status} == 200 }), 'more searches') or diag explain $r;
my $left;
($_, $left) = rate_of($r, 'more searches');
is($_, 600, '600 a minute');
is((rate_of($t->http(POST => '/api/v1/search', token => $org->{token}, json => { q => 'x' }),
	'another credential'))[1], 599, 'for each user and key');
is((rate_of(get_search($org), 'the first one'))[1], $left - 1, 'which count by themselves');
is_deeply([ rate_of($t->http(POST => '/v1/logs', token => $other->{ingest_key}, json => {}), 'OTLP') ],
	[ 600000, 599999 ], 'the rest in proportion');
my ($usage) = grep { $_->{name} eq 'search' } @{ $t->http(GET => '/api/v1/usage',
	token => $org->{read_key})->{json}{data}{rateLimits} };
is_deeply([ @{$usage}{qw(limit remaining)} ], [ 600, $left - 1 ], 'as the usage says');
$r = $t->http(POST => '/api/v1/auth/verify-email', json => { token => 'none' });
is((rate_of($r, 'guesses'))[0], 5, 'but no more guesses');
set_rate('templates', 3);
$r = $t->http(GET => '/api/v1/templates', token => $org->{read_key});
is_deeply([ rate_of($r, 'templates') ], [ 3, 2 ], 'a figure of the operator stays');
set_rate('search', 600);
$r = get_search($org);
is((rate_of($r, 'search of the operator'))[0], 600, 'also one that is the same');
set_rate('templates', 10);
$t->sql("DELETE FROM logsvc_internal.rate_limit WHERE class = 'search'; INSERT INTO "
	. "logsvc_internal.rate_limit (class, per_minute, scope, timed, overdraft, customized) "
	. "VALUES ('search', 10, 'organization', true, 5, false)");
set_limits('specification');
ok(wait_until(sub { $r = get_search($org); $r->{status} == 429 }), 'and back');

$r = $t->http(GET => '/api/v1/logs', token => $org->{read_key});
is($r->{status}, 200, 'queries of logs have a limit of their own');
is_deeply([ rate_of($r, 'logs') ], [ 100, 99 ], 'of 100');
$r = $t->http(GET => '/api/v1/logs', token => $org->{read_key}, query => { from => 'x' });
is($r->{status}, 400, 'a wrong one');
is((rate_of($r, 'logs'))[1], 98, 'counts');
$r = $t->http(GET => '/api/v1/logs', token => $org->{ingest_key});
is($r->{status}, 403, 'without the scope');
is((rate_of($r, 'logs'))[1], 98, 'does not');
$r = $t->http(GET => '/api/v1/logs', token => 'nothing');
is($r->{status}, 401, 'nobody');
is($r->{headers}{'x-ratelimit-limit'}, undef, 'has no limit');

# ---- events: one class for single ones and batches ----

$r = $t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => $event);
is($r->{status}, 202, 'an event');
is_deeply([ rate_of($r, 'event') ], [ 10000, 9999 ], 'of 10,000');
$r = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ $event, $event ]);
is($r->{status}, 202, 'a batch');
is_deeply([ rate_of($r, 'batch') ], [ 10000, 9998 ], 'is one request of the same limit');
$r = $t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, body => '{');
is($r->{status}, 400, 'a broken one');
is((rate_of($r, 'broken'))[1], 9997, 'counts');
my $otlp = { resourceLogs => [ { scopeLogs =>
	[ { logRecords => [ { body => { stringValue => 'x' } } ] } ] } ] };
$r = $t->http(POST => '/v1/logs', token => $org->{ingest_key}, json => $otlp);
is($r->{status}, 200, 'OTLP');
is_deeply([ rate_of($r, 'OTLP') ], [ 10000, 9999 ], 'has a limit of its own');
$r = $t->http(POST => '/v1/logs', token => $org->{ingest_key}, json => {});
is($r->{status}, 200, 'OTLP with nothing in it');
is((rate_of($r, 'OTLP with nothing'))[1], 9998, 'counts');

set_rate('otlp', 2);
$r = $t->http(POST => '/v1/logs', token => $org->{ingest_key}, json => $otlp);
refused($r, 'OTLP over the limit');
is_deeply([ sort keys %{ $r->{json} } ], [qw(code message)], 'as a google.rpc.Status');
is($r->{json}{code}, 8, 'RESOURCE_EXHAUSTED');
$r = $t->http(POST => '/v1/logs', token => $org->{ingest_key}, body => "\x0a",
	headers => { 'Content-Type' => 'application/x-protobuf' });
refused($r, 'OTLP in protobuf');
like($r->{content}, qr/\A\x08\x08\x12.{1,2}RATE_LIMIT_EXCEEDED/s, 'as a Status in protobuf');

# ---- by address ----

foreach my $n (2 .. 6)    # one was sent above
{
	$r = $t->http(POST => '/api/v1/auth/forgot-password',
		json => { email => "nobody$n\@example.org" });
	$n < 6 ? is($r->{status}, 202, "auth $n of 5") : refused($r, 'auth 6');
}
refused($t->http(POST => '/api/v1/auth/sign-in',
	json => { email => 'nobody@example.org', password => 'x' }), 'sign-in, the same class');
foreach my $n (1 .. 6)
{
	$r = $t->http(POST => '/api/v1/invitations/preview', json => { token => 'none' });
	$n < 6 ? isnt($r->{status}, 429, "public $n of 5") : refused($r, 'public 6');
}
$r = $t->http(GET => '/api/v1/config');
is_deeply([ rate_of($r, 'what a front end asks') ], [ 600, 599 ], 'a class of its own');
is($t->http(GET => '/healthz')->{status}, 200, 'health is not limited') for 1 .. 2;
$r = $t->http(GET => '/api/v1/auth/session', session => $t->session($org->{email}));
is($r->{status}, 200, 'nor is the question who one is');
is($r->{headers}{'x-ratelimit-limit'}, undef, 'and says so');

# ---- by user ----

$t->sql("SELECT logsvc.add_member('$other->{slug}', '$org->{email}', 'member')");
my @sessions = map { $t->session($org->{email}) } 1, 2;
my @organizations = map { $t->sql("SELECT logsvc_internal.public_id('org_', id)"
	  . " FROM logsvc_internal.organization WHERE slug = '$_->{slug}'") } $org, $other;
foreach my $n (1 .. 6)
{
	$r = $t->http(POST => '/api/v1/auth/change-password', session => $sessions[ $n % 2 ],
		headers => { 'X-Organization-Id' => $organizations[ $n / 2 % 2 ] },
		json => { current => 'x', password => 'y' });
	$n < 6 ? isnt($r->{status}, 429, "password $n of 5") : refused($r, 'password 6');
	is((rate_of($r, "password $n"))[1], $n < 6 ? 5 - $n : 0,
		'one count for sessions and organizations');
}
$r = $t->http(POST => '/api/v1/auth/change-password', session => $t->session($other->{email}),
	json => { current => 'x', password => 'y' });
isnt($r->{status}, 429, 'another user');

# ---- exact: 64 connections, several workers ----

my $limit = 200;
set_rate('ingest', $limit + 3);    # 3 were counted above
wait_until(sub { $t->workers('acceptor') == 3 });
my (@rounds, %status);
my $since = time;
foreach my $round (1 .. 6)
{
	my @requests = map {
		begin_request($t, POST => $_ % 2 ? '/api/v1/logs' : '/api/v1/logs/batch',
			token => $org->{ingest_key}, json => $_ % 2 ? $event : [$event]) } 1 .. 64;
	foreach my $request (@requests)
	{
		my $answer = end_request($request);
		$status{ $answer->{status} }++;
		push @rounds, $answer->{headers}{'x-ratelimit-remaining'} // -1
		  if $answer->{status} == 202;
	}
}
cmp_ok(time - $since, '<', 55, 'within the minute');
is_deeply(\%status, { 202 => $limit, 429 => 6 * 64 - $limit }, 'exactly the limit was accepted')
  or diag explain \%status;
is_deeply([ sort { $a <=> $b } @rounds ], [ 0 .. $limit - 1 ], 'each was told another remainder');
is($t->http(POST => '/api/v1/logs', token => $other->{ingest_key}, json => $event)->{status}, 202,
	'another organization sends on');
wait_until(sub { $t->sql('SELECT logsvc_internal.queue_depth()') == 0 });
# 1 event, a batch of 2, an OTLP record, and those.
is($t->sql("SELECT sum(rows) FROM logsvc_internal.part WHERE index_name = 'main'"
	  . " AND organization_id = (SELECT id FROM logsvc_internal.organization WHERE slug = "
	  . "'$org->{slug}')"),
	4 + $limit, 'what was refused is not stored');

# A refusal says when to come again; a raised limit lets one in at once.
refused($t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => $event),
	'still full');
refused($t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, body => 'x' x 11_000_000),
	'a body that is too large as well');
set_rate('ingest', $limit + 4);
is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => $event)->{status}, 202,
	'a limit that is raised lets one more in');
refused($t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => $event),
	'and no other');
set_rate('ingest', 0);
refused($t->http(POST => '/api/v1/logs', token => $other->{ingest_key}, json => $event), 'limit 0');

# ---- answers that count ----

set_rate('unauthorized', 3);
# One was refused above, less than a minute ago or more.
sub statuses { return join ' ', map { $r = $t->http(GET => '/api/v1/logs', token => $_);
	$r->{status} } @_ }
like(statuses(map { "nothing$_" } 1 .. 5), qr/^401 (401 ){1,2}(429 ?){2,3}$/,
	'unknown credentials: 3, and then no more');
is($r->{json}{code}, 'RATE_LIMIT_EXCEEDED', 'as a rate limit');
like($r->{headers}{'retry-after'} // '', qr/^([1-9]|[1-5]\d|60)$/, 'with the time to wait');
is($t->http(POST => '/v1/logs', token => 'nothing', json => $otlp)->{status}, 429,
	'on every route');
is($t->http(POST => '/api/v1/evaluations/run-adhoc', json => {})->{status}, 429,
	'and without a credential');
is($t->http(GET => '/api/v1/logs', token => $org->{read_key})->{status}, 200,
	'a good credential of the same address goes on');
is($t->http(GET => '/api/v1/logs', token => 'nothing',
	headers => { 'X-Forwarded-For' => '192.0.2.1' })->{status},
	429, 'an address that nobody vouches for is not another one');

set_rate('forbidden', 3);
like(statuses(($org->{ingest_key}) x 5), qr/^403 (403 ){1,2}(429 ?){2,3}$/,
	'forbidden: 3, and then no more');
is($t->http(GET => '/api/v1/logs', token => $other->{ingest_key})->{status}, 403,
	'another caller is not concerned');
is($t->http(POST => '/v1/logs', token => $org->{ingest_key}, json => {})->{status}, 429,
	'what the caller may do has its own limit');

# A 403 that the function of a route raises counts as well.
$t->sql("SELECT logsvc.create_user('admin\@limited.example'); "
	  . "SELECT logsvc.add_member('limited', 'admin\@limited.example', 'admin')");
my $admin = $t->session('admin@limited.example');
my ($owner) = grep { $_->{role} eq 'owner' } @{ $t->http(GET => '/api/v1/members',
	token => $org->{token})->{json}{data} };
my %tries = map { $_ => $t->http(PATCH => "/api/v1/members/$owner->{id}", session => $admin,
		headers => { 'X-Organization-Id' => $organizations[0] },
			json => { role => 'viewer' })->{status} } 1 .. 4;
is(join(' ', @tries{ 1 .. 4 }), '403 403 403 429', 'raised in SQL');
set_rate($_, 100) for 'unauthorized', 'forbidden';

# ---- time of executors ----

set_rate('executor', 1);
$t->http(GET => '/api/v1/search/fields', token => $org->{read_key}) for 1 .. 2;
is($t->http(GET => '/api/v1/search/fields', token => $org->{read_key})->{status}, 200,
	'within the time');
# A request that takes two seconds, however fast this machine is.
sub slow_request
{
	my ($key, $path) = @_;
	$t->stop_at('execute_request');
	my $request = begin_request($t, GET => $path // '/api/v1/search/fields', token => $key);
	$t->wait_held('execute_request');
	sleep 2;    # the time that it takes
	$t->let_go('execute_request');
	return end_request($request)->{status};
}
sub slow_search { return slow_request($_[0], '/api/v1/search?q=x'); }
is(slow_request($org->{read_key}), 200, 'a request that takes longer than there is time');
$r = $t->http(GET => '/api/v1/search/fields', token => $org->{read_key});
is($r->{status}, 429, 'is charged when it is over');
like($r->{json}{error},
	qr/: 1 seconds of executors a minute for this organization; try again in (?:1 second|(?!1 )\d+ seconds)/,
		'and the message says what of');
like($r->{headers}{'retry-after'} // '', qr/^([1-9]|[1-5]\d|60)$/, 'with the time to wait');
foreach my $path ('/api/v1/search/fields/level/values', '/api/v1/templates', '/api/v1/logs',
	'/api/v1/logs/tail')
{
	is($t->http(GET => $path, token => $org->{read_key}, timeout => 10)->{status}, 429,
		"$path draws on the same time");
}
is($t->http(GET => '/api/v1/audit/export', token => $org->{token})->{status}, 429, 'exports too');
is($t->http(GET => $_, token => $org->{token})->{status}, 429, "$_ too")
	foreach '/api/v1/usage/history', '/api/v1/indexes', '/api/v1/audit';
my $deletion = { q => 'index=main earliest=-1h', reason => 'test', dryRun => JSON::PP::true };
is($t->http(DELETE => '/api/v1/logs', token => $org->{token}, json => $deletion)->{status}, 429,
	'deletions too, also dry ones');
# Ten searches are promised: they go on until their time is used five times.
set_rate('search', 100);
is(get_search($org)->{status}, 200, 'a search goes on although the time is used');
is(slow_search($org->{read_key}), 200, 'and one more, that takes long') foreach 1 .. 2;
$r = get_search($org);
is($r->{status}, 429, 'but searches are charged too');
like($r->{json}{error}, qr/: 5 seconds of executors a minute/,
	'and have five times the seconds');
set_rate('search', 10);
is($t->http(GET => '/api/v1/search/fields', token => $other->{read_key})->{status}, 200,
	'another organization has its own');
is($t->http(GET => '/api/v1/members', token => $org->{token})->{status}, 200,
	'what is not timed goes on');
set_rate('executor', 60);
is($t->http(GET => '/api/v1/search/fields', token => $org->{read_key})->{status}, 200, 'more time');

# An open tail waits while there is no time, and then shows what came in meanwhile.
my $tail = begin_request($t, GET => '/api/v1/logs/tail', token => $org->{read_key});
sub tail_has { my ($re) = @_; return wait_until(sub { answered($tail); $tail->{data} =~ $re }) }
ok(tail_has(qr/retry: 2000/), 'a tail opens');
set_rate('executor', 1);    # two were used above
ok(tail_has(qr/: waiting for executor time/), 'an open tail says that it waits');
$t->http(POST => '/api/v1/logs', token => $other->{ingest_key}, json => $event);
$t->sql("SELECT logsvc.act_as('limited'); SELECT logsvc.ingest('{\"event\": \"came meanwhile\"}')");
set_rate('executor', 60);
ok(tail_has(qr/came meanwhile/), 'and then shows what came in');
close $tail->{socket};

# ---- which routes are timed ----

# What a handler calls, and what that calls, and so on: does any of it read events?
my %body = map { my ($name, $source) = split /\|/, $_, 2; ($name => $source // '') } split /\n/,
  $t->sql(q{SELECT n.nspname || '.' || p.proname || '|' || string_agg(replace(replace(
	coalesce(nullif(p.prosrc, ''), pg_get_function_sqlbody(p.oid)), E'\n', ' '), '|', ' '), ' ')
	FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
	WHERE n.nspname IN ('logsvc', 'logsvc_internal') GROUP BY n.nspname, p.proname});
my $reads = qr/\blogsvc_(search|events|query_logs|event_json|context_json|tail|part_(scan|events|fields))\b|\b(FROM|JOIN)\s+(LATERAL\s+)?logsvc_internal\.(part|queue|dead_letter|audit_entry|ingested)\b/;
my %seen;
sub reads_events
{
	my ($name) = @_;
	return 0 if !exists $body{$name} || $seen{$name}++;
	return 1 if $body{$name} =~ $reads;
	return scalar grep { reads_events($_) } $body{$name} =~ /\b(logsvc(?:_internal)?\.\w+)/g;
}
my %timed = map { $_ => 1 } split /\n/, $t->sql('SELECT class FROM logsvc_internal.rate_limit '
	. 'WHERE timed');
my $routes = PostgreSQL::Test::Utils::slurp_file('src/gateway/routes.def');
my ($n_routes, $n_reading) = (0, 0);
while ($routes
	=~ /^LS_ROUTE\((\w+),((?:\s*"[^"]*",){5})\s*"([^"]*)",\s*LS_POOL_EXECUTOR,\s*"([\w.]+)"/mg)
{
	my ($route, $class, $handler) = ($1, $3, $4);
	is($t->sql("SELECT bool_and(has_function_privilege('logsvc_reader', p.oid, 'EXECUTE')) "
		. "FROM pg_proc p"
			. " WHERE p.pronamespace::regnamespace || '.' || p.proname = '$handler'"), 't',
				"$route: executors may call its handler");
	$n_routes++;
	%seen = ();
	next unless reads_events($handler);
	$n_reading++;
	ok($timed{$class}, "$route reads events, or what grows with them: class '$class' is timed");
}
cmp_ok($n_reading, '>', 15, "$n_reading of $n_routes routes read events");
# The gateway knows these classes by name (it has no database).
my ($slow) = PostgreSQL::Test::Utils::slurp_file('src/workers/fair_queue.c')
	=~ /slow\[\] = \{(.*?)\}/s;
is(join(' ', sort $slow =~ /"(\w+)"/g), join(' ', sort keys %timed),
	'they are those that never have the last executor');

# A class without a row has no limit.
$t->sql("DELETE FROM logsvc_internal.rate_limit WHERE class = 'ingest'");
$r = $t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => $event);
is($r->{status}, 202, 'a class without a row has no limit');
is($r->{headers}{'x-ratelimit-limit'}, undef, 'and no headers');

# SQL is not limited by rates.
set_rate('search', 0);
like($t->sql("SELECT logsvc.act_as('limited');"
	  . " SELECT logsvc.ingest('{\"event\": \"x\"}')->>'accepted' FROM generate_series(1, 3);"
	  . " SELECT count(logsvc.search('nothing'))"), qr/(\n1){4}$/, 'rates do not apply to SQL');

$t->stop;
done_testing;
