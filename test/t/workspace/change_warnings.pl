# change_warnings.pl: the search for warnings about queries holds up no other change of the
# organization, is charged as executor time, and is not run for who may not read events.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '20ms'\nlogsvc.lock_timeout = '50ms'\nlogsvc.executors = 4");
my $org = $t->organization('acme');
my $blind = $t->sql_json("SELECT logsvc.create_token('acme', '$org->{email}', 'blind', ARRAY['dashboards:read', 'dashboards:write'])")->{token};
is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'one', service => 'shop', attributes => { n => 1 } })->{status}, 202, 'an event');

sub query { return { name => 'slow', q => "servce=shop $_[0]" }; }
sub codes { return join ' ', map { $_->{code} } @{ $_[0]{json}{data}{warnings} }; }

# ---- beside others ----

my $made = $t->http(POST => '/api/v1/saved-queries', token => $org->{token}, json => query('a'));
is($made->{status}, 201, 'a query');
is(codes($made), 'UNKNOWN_FIELD', '... with its warning');
my $path = "/api/v1/saved-queries/$made->{json}{data}{id}";
foreach my $case ([ 'made', POST => '/api/v1/saved-queries', query('b') ], [ 'changed', PATCH => $path, { q => 'servce=shop c' } ],
	[ 'left as it was', PATCH => $path, { name => 'slow' } ])
{
	my ($name, $method, $target, $body) = @$case;
	$t->stop_at('query_warnings');
	my $request = begin_request($t, $method, $target, token => $org->{token}, json => $body);
	$t->wait_held('query_warnings');
	my $key = $t->http(POST => '/api/v1/api-keys', token => $org->{token}, json => { name => $name, scope => 'ingest-only' });
	is($key->{status}, 201, "while a query is $name, a key is made");
	is($t->http(PATCH => '/api/v1/organizations/acme', token => $org->{token}, json => { timezone => 'UTC' })->{status}, 200, '... and a setting is changed');
	$t->let_go('query_warnings');
	like(end_request($request)->{status}, qr/^20[01]$/, '... the query is');
}

is(codes($t->http(PATCH => $path, token => $org->{token}, json => { description => 'x' })), 'UNKNOWN_FIELD', 'a change has the warning');

# ---- a change of the same, meanwhile ----

$t->stop_at('query_warnings');
my $request = begin_request($t, PATCH => $path, token => $org->{token}, json => { folder => 'web' });
$t->wait_held('query_warnings');
is($t->http(PATCH => $path, token => $blind, json => { q => 'service=shop' })->{status}, 200, 'somebody who sees no events changes the same query');
$t->let_go('query_warnings');
my $r = end_request($request);
is("$r->{status} $r->{json}{data}{q} $r->{json}{data}{folder}", '200 service=shop web', 'both changes are made');
is(codes($r), '', '... without warnings about what is there no more');

# ---- who may not read events ----

$t->stop_at('query_warnings');
my @panels = map { { kind => 'table', query => "servce=shop $_" } } 1 .. 20;
$r = $t->http(POST => '/api/v1/dashboards', token => $blind, json => { name => 'd', panels => \@panels }, timeout => 20);
is("$r->{status} " . codes($r), '201 ', 'twenty queries of who may not read events have no warnings');
my $dashboard = "/api/v1/dashboards/$r->{json}{data}{id}";
is(codes($t->http(PATCH => $dashboard, token => $blind, json => { tags => ['x'] })), '', '... nor changed');
is(codes($t->http(GET => $dashboard, token => $blind)), '', '... nor read');
is($t->sql("SELECT stop_point.held('query_warnings')"), 0, '... and nothing was searched');
$t->let_go('query_warnings');
is($t->http(DELETE => $dashboard, token => $blind)->{status}, 204, 'it goes');

# ---- executor time ----

$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1 WHERE class = 'executor'");
my $rates = 0;
foreach (1 .. 3)
{
	$t->stop_at('query_warnings');
	$request = begin_request($t, POST => '/api/v1/saved-queries', token => $org->{token}, json => query('d'));
	last unless wait_until(sub { $t->sql("SELECT stop_point.held('query_warnings')") > 0 }, 3);
	$rates++;
	sleep 1; # of executor time
	$t->let_go('query_warnings');
	is(end_request($request)->{status}, 201, 'a query is made');
}
cmp_ok($rates, '<', 3, 'the time is charged, and warnings are not looked for when it is used up');
$t->let_go('query_warnings');
$r = end_request($request);
is("$r->{status} " . codes($r), '201 ', '... a query is made all the same');
is($t->http(GET => $path, token => $org->{token})->{status}, 429, '... and reading one waits as after searches');
$t->stop;
done_testing;
