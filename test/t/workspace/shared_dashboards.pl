# Dashboards that are shared by a link: what viewers see, what they may choose, for how long answers
# are kept, and that nothing else is reached by a link.
use strict;
use warnings;

use LogsvcTest;
use JSON::PP;
use Test::More;

my $t = LogsvcTest->new;
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
my $org = $t->organization('acme', plan => 'pro');
my $other = $t->organization('other', plan => 'pro');
my $path = '/api/v1/dashboards';

sub owner
{
	my ($method, $where, $expected, $name, %options) = @_;
	my $r = $t->http($method => $path . $where, token => $org->{token}, %options);
	is($r->{status}, $expected, $name) or diag $r->{content};
	return $r->{json}{data};
}

# A viewer, without any credential.
sub viewer
{
	my ($token, $body) = @_;
	return defined $body ? $t->http(POST => "/api/v1/shared/$token/data", json => $body)
	  : $t->http(GET => "/api/v1/shared/$token");
}

sub refused
{
	my ($token, $expected, $name, $body) = @_;
	my $r = viewer($token, $body);
	is("$r->{status} $r->{json}{code}", $expected, $name) or diag $r->{content};
	return $r->{json};
}

sub send_events
{
	my ($to, @events) = @_;
	return $t->http(POST => '/api/v1/logs/batch', token => $to->{ingest_key}, json => \@events)->{status};
}

is(send_events($org, map { { event => "e $_", service => $_ % 2 ? 'api' : 'web' } } 1 .. 20), 202, 'events');
is(send_events($other, { event => 'foreign', service => 'api' }), 202, 'of another organization');
my $d = owner(POST => '', 201, 'a dashboard', json => { name => 'wall', timeRange => { earliest => '-1h' },
		variables => [ { name => 'service', kind => 'list', values => [ 'api', 'web' ], default => 'api', multi => JSON::PP::true },
			{ name => 'free', kind => 'text', default => 'e' },
			{ name => 'found', kind => 'query', query => 'secret_of_queries | stats count by service', default => 'api' } ],
		panels => [ { kind => 'stat', query => 'service=$service | stats count' },
			{ kind => 'stat', query => '$free | stats count' },
			{ kind => 'logs', query => 'index=_audit earliest=-1d' }, { kind => 'stat', query => '* | stats count' },
			{ kind => 'markdown', options => { text => 'hello' } } ] });

# ---- what a link shows ----

my $shared = owner(POST => "/$d->{id}/share", 200, 'shared by a link', json => { kind => 'link' });
my $token = $shared->{token};
like($token, qr/^shl_[A-Za-z0-9]{43}$/, 'its token has 256 bits');
unlike($t->sql('SELECT l::text FROM logsvc_internal.dashboard_link l'), qr/$token/, 'which is not stored');
unlike($t->http(GET => "$path/$d->{id}", token => $org->{token})->{content}, qr/shl_/, 'nor shown again');
my $seen = viewer($token)->{json}{data};
is_deeply([ map { $_->{kind} } @{ $seen->{panels} } ], [qw(stat stat logs stat markdown)], 'a viewer sees the panels');
unlike(viewer($token)->{content}, qr/stats count|secret_of_queries|usr_|dash_/, 'but no query, id or author');
my $r = viewer($token, {});
is($r->{status}, 200, 'and what they find') or diag $r->{content};
my $p = $r->{json}{data}{panels};
is_deeply($p->{p1}{rows}, [ [10] ], 'a value of a list');
is_deeply($p->{p2}{rows}, [ [20] ], 'the default of a text');
is_deeply($p->{p4}{rows}, [ [20] ], 'events of the organization alone');
ok($p->{p3}{error} || !@{ $p->{p3}{rows} }, 'nothing of the audit log') or diag $r->{content};
is_deeply(viewer($token, { variables => { service => [ 'api', 'web' ] }, panelIds => ['p1'] })->{json}{data}{panels}{p1}{rows},
	[ [20] ], 'other values of the list');

# ---- what a viewer may not choose ----

refused($token, '400 VALIDATION_ERROR', $_->[0], $_->[1])
  foreach [ 'a value that is not in the list', { variables => { service => 'db' } } ],
  [ 'any value', { variables => { service => '*' } } ], [ 'a free text', { variables => { free => 'password' } } ],
  [ 'the default of a text', { variables => { free => 'e' } } ], [ 'a value that a query finds', { variables => { found => 'web' } } ],
  [ 'a range', { range => { earliest => '-30d' } } ], [ 'the values of a query', { include => ['variables'] } ],
  [ 'another panel', { panelIds => ['x'] } ];

# ---- answers are kept ----

is(send_events($org, { event => 'later', service => 'api' }), 202, 'another event');
is_deeply(viewer($token, { panelIds => ['p4'] })->{json}{data}{panels}{p4}{rows}, [ [20] ], 'within half a minute nothing is searched again');
is_deeply($t->http(POST => "$path/$d->{id}/data", token => $org->{token}, json => { panelIds => ['p4'] })
	  ->{json}{data}{panels}{p4}{rows}, [ [21] ], 'which members do not notice');
$t->sql("UPDATE logsvc_internal.shared_answer SET made_at = made_at - interval '31 seconds'");
is_deeply(viewer($token, { panelIds => ['p4'] })->{json}{data}{panels}{p4}{rows}, [ [21] ], 'then it is');

# While another viewer's load runs, what was found before is shown, and nothing is searched.
$t->sql("UPDATE logsvc_internal.shared_answer SET made_at = made_at - interval '31 seconds'");
is(send_events($org, { event => 'latest', service => 'web' }), 202, 'one more');
my $holder = $t->node->background_psql('postgres');
is($holder->query_safe('BEGIN; SELECT logsvc_internal.hold_load(logsvc_internal.load_place('
	. "organization_id, id)) FROM logsvc_internal.resource WHERE name = 'wall'"), 't', 'a load runs');
$p = viewer($token, { variables => { service => 'web' } })->{json}{data}{panels};
is_deeply($p->{p4}{rows}, [ [21] ], 'another one shows what was found before');
is($p->{p1}{error}{code}, 'SERVICE_UNAVAILABLE', 'and what was not found before, not');
$holder->query_safe('COMMIT');
$holder->quit;
is_deeply(viewer($token, { panelIds => ['p4'] })->{json}{data}{panels}{p4}{rows}, [ [22] ], 'after it, it is searched');
$t->sql("INSERT INTO logsvc_internal.shared_answer SELECT dashboard, sha256(n::text::bytea), organization_id, '{}', now() "
	. 'FROM logsvc_internal.dashboard_link, generate_series(1, 200) AS n');
is(viewer($token, { variables => { service => ['web'] }, panelIds => ['p1'] })->{json}{data}{panels}{p1}{error}{code},
	'RATE_LIMIT_EXCEEDED', 'no more than 200 searches are kept');
$t->sql('DELETE FROM logsvc_internal.shared_answer');

# ---- how often ----

# As they are shipped: a page of two requests may be opened again and again.
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = CASE class WHEN 'static' THEN 600 WHEN 'link' THEN 120 "
	. "WHEN 'public' THEN 5 ELSE 10 END WHERE class IN ('static', 'link', 'public', 'search')");
my @opened = map { (viewer($token)->{status}, viewer($token, {})->{status}) } 1 .. 10;
is("@opened", join(' ', (200) x 20), 'a page is opened ten times in a row');
is($t->http(GET => '/api/v1/search?q=later', token => $org->{token})->{status}, 200, 'which are no searches of the organization');
my $busy = owner(POST => '', 201, 'another dashboard', json => { name => 'busy', panels => [] });
my $busy_token = owner(POST => "/$busy->{id}/share", 200, 'shared too', json => { kind => 'link' })->{token};
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1 WHERE class = 'link'");
is(viewer($busy_token)->{status}, 200, 'each link has a window of its own');
my $refusal = viewer($busy_token, {});
is("$refusal->{status} $refusal->{json}{code}", '429 RATE_LIMIT_EXCEEDED', 'beyond which it is refused');
cmp_ok($refusal->{headers}{'retry-after'} // 0, '>', 0, 'for a while');
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
owner(DELETE => "/$busy->{id}", 204, 'it is deleted');

# ---- a right that the link would go around ----

my $writer = $t->sql("SELECT logsvc.create_token('acme', '$org->{email}', 'writer', "
	. "ARRAY['dashboards:read', 'dashboards:write']) ->> 'token'");
foreach ([ POST => "/$d->{id}/share", { kind => 'link' } ], [ PATCH => "/$d->{id}", { name => 'wall 2' } ])
{
	my ($method, $where, $json) = @$_;
	is($t->http($method => $path . $where, token => $writer, json => $json)->{json}{code},
		'INSUFFICIENT_SCOPE', "who may not read events does not decide what a link shows: $method");
}

# ---- when a link ends ----

refused($_, '404 NOT_FOUND', 'no such link') foreach 'x', 'shl_' . 'x' x 43, $d->{id}, "$token'";
my $second = owner(POST => "/$d->{id}/share", 200, 'another link', json => { kind => 'link' })->{token};
refused($token, '404 NOT_FOUND', 'the first one has ended', $_) foreach undef, {};
is(viewer($second)->{status}, 200, 'the second works');
owner(PATCH => "/$d->{id}", 200, 'a change', json => { refreshSeconds => 60 });
is(viewer($second)->{status}, 200, 'does not end it');
$t->sql("SELECT logsvc.set_ip_allowlist('[{\"network\": \"10.0.0.0/8\"}]', force => true, organization => 'acme')");
refused($second, '403 IP_NOT_ALLOWED', 'the organization does not allow the address');
$t->sql("SELECT logsvc.set_ip_allowlist('[]', organization => 'acme')");
$t->sql('ALTER SYSTEM SET logsvc.shared_links = off');
$t->reload;
ok(wait_until(sub { viewer($second)->{status} == 404 }), 'links are turned off');
refused($second, '404 NOT_FOUND', 'no data either', {});
is($t->http(POST => "$path/$d->{id}/share", token => $org->{token}, json => { kind => 'link' })->{status}, 403, 'nor new ones');
$t->sql('ALTER SYSTEM RESET logsvc.shared_links');
$t->reload;
ok(wait_until(sub { viewer($second)->{status} == 200 }), 'and on');
owner(PATCH => "/$d->{id}", 200, 'back to the organization by PATCH', json => { shared => { kind => 'org' } });
refused($second, '404 NOT_FOUND', 'ends the link', $_) foreach undef, {};
my $third = owner(POST => "/$d->{id}/share", 200, 'a third', json => { kind => 'link' })->{token};
owner(POST => "/$d->{id}/share", 200, 'made private', json => { kind => 'private' });
refused($third, '404 NOT_FOUND', 'ends it', {});
my $fourth = owner(POST => "/$d->{id}/share", 200, 'a fourth', json => { kind => 'link' })->{token};
is(viewer($fourth, {})->{status}, 200, 'works');
owner(DELETE => "/$d->{id}", 204, 'the dashboard is deleted');
refused($fourth, '404 NOT_FOUND', 'and its link', $_) foreach undef, {};
is($t->sql('SELECT count(*) FROM logsvc_internal.shared_answer'), 0, 'with what was kept');
is($t->sql("SELECT string_agg(details ->> 'kind', ' ' ORDER BY number) FROM logsvc_internal.audit_entry "
		. "WHERE action = 'dashboard.shared'"), 'link link link link private link', 'the audit log has each sharing');

# ---- its functions are for requests with a link ----

is(($t->sql_error("SELECT logsvc_internal.act_for_link(id) FROM logsvc_internal.organization"))[1], 'LS202',
	'no SQL session acts by a link, not even an operator');

$t->stop;
done_testing();
