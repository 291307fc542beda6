# What belongs to another organization does not exist: each route that names
# something, asked for another organization's by an owner of one's own, in every
# way that the owner has.  Nothing is shown, nothing is changed.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

# Without alert workers, whose ticks would resolve the alert that is made below.
my $t = LogsvcTest->new(conf => 'logsvc.alert_workers = 0');
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
my $acme = $t->organization('acme', plan => 'enterprise');
my $other = $t->organization('other', plan => 'enterprise');
$t->sql("SELECT logsvc.create_user('ann\@acme.org', 'Ann'); SELECT "
	. "logsvc.add_member('acme', 'ann\@acme.org', 'viewer')");

# ---- what acme has ----

my @owner = (token => $acme->{token});
my ($member) = grep { $_->{email} eq 'ann@acme.org' } @{ $t->http(GET => '/api/v1/members',
	@owner)->{json}{data} };
my $invitation = $t->http(POST => '/api/v1/invitations', @owner,
	json => { email => 'x@acme.org', role => 'viewer' })->{json}{data};
my $key = $t->http(GET => '/api/v1/api-keys', @owner)->{json}{data}[0];
my $index = $t->http(POST => '/api/v1/indexes', @owner,
	json => { name => 'secrets' })->{json}{data};
my $cookie = $t->session($acme->{email});
my $session = $t->http(GET => '/api/v1/auth/sessions', session => $cookie)->{json}{data}[0];
my ($letter) = $t->sql(q{
	INSERT INTO logsvc_internal.dead_letter (organization_id, batch, rows, min_time, max_time, level_mask, audit,
		reason, attempts, first_failed_at, last_failed_at, sqlstate, last_error, header, body)
	SELECT id, 1, 1, now(), now(), 0, false, 'corrupt', 1, now(), now(), 'LS803', 'x', '', ''
	FROM logsvc_internal.organization WHERE slug = 'acme'
	RETURNING logsvc_internal.public_id('dl_', id)}) =~ /(dl_\w+)/;
my $event = $t->http(POST => '/api/v1/logs', token => $acme->{ingest_key},
	json => { event => 'Ann of acme' })->{json}{data};
my $template = $t->http(GET => '/api/v1/templates', token => $acme->{token})->{json}{data}[0];
my $deletion = $t->http(DELETE => '/api/v1/logs', @owner,
	json => { q => 'index=main nothing earliest=-1h', reason => 'test' })->{json}{data};
my $saved = $t->http(POST => '/api/v1/saved-queries', @owner,
	json => { name => 'secrets', q => 'acme' })->{json}{data};
my $export = $t->http(POST => '/api/v1/scheduled-exports', @owner,
	json => { name => 'secrets', q => 'acme', cron => '@yearly', delivery => { kind => 'download' } })->{json}{data};
my $run = $t->http(POST => "/api/v1/scheduled-exports/$export->{id}/run", @owner)->{json}{data};
my $service = $t->http(POST => '/api/v1/services', @owner,
	json => { name => 'secrets', match => 'acme' })->{json}{data};
my $kpi = $t->http(POST => '/api/v1/kpis', @owner, json => { name => 'secrets', serviceId => $service->{id},
	q => 'acme | stats count', direction => 'lowerIsBetter', warn => 1, critical => 2 })->{json}{data};
my $rule = $t->http(POST => '/api/v1/alert-rules', @owner, json => { name => 'secrets', query => 'acme',
	condition => { kind => 'absence' } })->{json}{data};
my ($alert) = $t->sql(q{
	INSERT INTO logsvc_internal.alert (organization_id, rule_id, rule_name, severity, key, group_key, search, started_at, last_seen_at)
	SELECT organization_id, id, 'Ann of acme', 'info', '', '{}', '{"q": "acme"}', now(), now()
	FROM logsvc_internal.resource WHERE kind = 'alert_rule' RETURNING logsvc_internal.public_id('alr_', id)}) =~ /(alr_\w+)/;
$t->http(PUT => '/api/v1/lookups/secrets', @owner, json => { csv => "word,means\nacme,Ann\n" });
ok($_->{id} // $_->{name} // $_->{runId}, 'something of acme') foreach $deletion, $event, $template,
	$saved, $rule, $service, $kpi, $member, $invitation, $key, $index, $session;
my $dashboard = $t->http(POST => '/api/v1/dashboards', @owner, json => { name => 'secrets',
	panels => [ { kind => 'stat', query => 'acme | stats count' } ] })->{json}{data};
ok($dashboard->{id}, 'and a dashboard');
	$saved, $export, $run, $rule, $service, $kpi, $member, $invitation, $key, $index, $session;
my $pipeline = $t->http(POST => '/api/v1/pipelines', @owner,
	json => { name => 'secrets', processors => [] })->{json}{data};
ok($pipeline->{id}, 'and a pipeline');

# Each route that names something, with a request that would be right.
my %request = (
	'GET /api/v1/organizations/{id}' => [ $acme->{id} ],
	'PATCH /api/v1/organizations/{id}' => [ $acme->{id}, { name => 'taken' } ],
	'DELETE /api/v1/organizations/{id}' => [ $acme->{id}, { confirm => 'acme' } ],
	'GET /api/v1/members/{id}' => [ $member->{id} ],
	'PATCH /api/v1/members/{id}' => [ $member->{id}, { role => 'member' } ],
	'DELETE /api/v1/members/{id}' => [ $member->{id} ],
	'POST /api/v1/invitations/{id}/resend' => [ $invitation->{id} ],
	'DELETE /api/v1/invitations/{id}' => [ $invitation->{id} ],
	'DELETE /api/v1/api-keys/{id}' => [ $key->{id} ],
	'PATCH /api/v1/tokens/{id}' => [ $acme->{token_id}, { aiCreditLimit => 1 } ],
	'DELETE /api/v1/tokens/{id}' => [ $acme->{token_id} ],
	'GET /api/v1/indexes/{name}' => [ 'secrets' ],
	'PATCH /api/v1/indexes/{name}' => [ 'secrets', { description => 'taken' } ],
	'DELETE /api/v1/indexes/{name}' => [ 'secrets' ],
	'GET /api/v1/dead-letters/{id}' => [ $letter ],
	'GET /api/v1/log-deletions/{id}' => [ $deletion->{runId} ],
	'GET /api/v1/logs/{id}' => [ $event->{id} ],
	'GET /api/v1/logs/{id}/context' => [ $event->{id} ],
	'GET /api/v1/saved-queries/{id}' => [ $saved->{id} ],
	'PATCH /api/v1/saved-queries/{id}' => [ $saved->{id}, { q => 'taken' } ],
	'DELETE /api/v1/saved-queries/{id}' => [ $saved->{id} ],
	'GET /api/v1/services/{id}' => [ $service->{id} ],
	'GET /api/v1/services/{id}/health' => [ $service->{id} ],
	'PATCH /api/v1/services/{id}' => [ $service->{id}, { match => 'taken' } ],
	'DELETE /api/v1/services/{id}' => [ $service->{id} ],
	'GET /api/v1/kpis/{id}' => [ $kpi->{id} ],
	'GET /api/v1/kpis/{id}/series' => [ $kpi->{id} ],
	'PATCH /api/v1/kpis/{id}' => [ $kpi->{id}, { warn => 2 } ],
	'DELETE /api/v1/kpis/{id}' => [ $kpi->{id} ],
	'GET /api/v1/alert-rules/{id}' => [ $rule->{id} ],
	'PATCH /api/v1/alert-rules/{id}' => [ $rule->{id}, { query => 'taken' } ],
	'DELETE /api/v1/alert-rules/{id}' => [ $rule->{id} ],
	'POST /api/v1/alert-rules/{id}/enable' => [ $rule->{id} ],
	'POST /api/v1/alert-rules/{id}/disable' => [ $rule->{id} ],
	'GET /api/v1/alert-rules/{id}/deliveries' => [ $rule->{id} ],
	'POST /api/v1/alert-rules/{id}/notify-test' => [ $rule->{id} ],
	'POST /api/v1/alert-rules/{id}/backtest' => [ $rule->{id}, {} ],
	'GET /api/v1/alerts/{id}' => [ $alert ],
	'POST /api/v1/alerts/{id}/acknowledge' => [ $alert, { note => 'taken' } ],
	'POST /api/v1/alerts/{id}/resolve' => [ $alert, { note => 'taken' } ],
	'GET /api/v1/dashboards/{id}' => [ $dashboard->{id} ],
	'PATCH /api/v1/dashboards/{id}' => [ $dashboard->{id}, { name => 'taken' } ],
	'DELETE /api/v1/dashboards/{id}' => [ $dashboard->{id} ],
	'POST /api/v1/dashboards/{id}/data' => [ $dashboard->{id}, {} ],
	'GET /api/v1/dashboards/{id}/export' => [ $dashboard->{id} ],
	'POST /api/v1/dashboards/{id}/share' => [ $dashboard->{id}, { kind => 'link' } ],
	'GET /api/v1/scheduled-exports/{id}' => [ $export->{id} ],
	'PATCH /api/v1/scheduled-exports/{id}' => [ $export->{id}, { q => 'taken' } ],
	'DELETE /api/v1/scheduled-exports/{id}' => [ $export->{id} ],
	'POST /api/v1/scheduled-exports/{id}/run' => [ $export->{id} ],
	'GET /api/v1/scheduled-exports/{id}/runs' => [ $export->{id} ],
	'GET /api/v1/exports/{id}/download' => [ $run->{id} ],
	'GET /api/v1/pipelines/{id}' => [ $pipeline->{id} ],
	'PATCH /api/v1/pipelines/{id}' => [ $pipeline->{id}, { name => 'taken' } ],
	'DELETE /api/v1/pipelines/{id}' => [ $pipeline->{id} ],
	'GET /api/v1/lookups/{name}' => [ 'secrets' ],
	'DELETE /api/v1/lookups/{name}' => [ 'secrets' ],
	'GET /api/v1/templates/{templateId}' => [ $template->{id} ],
	'DELETE /api/v1/auth/sessions/{id}' => [ $session->{id} ]);

my %who = (
	token => sub { (token => $other->{token}) },
	'full key' => sub { (token => $other->{full_key}) },
	session => sub { (session => $other->{cookie}, organization => 'other') });
$other->{cookie} = $t->session($other->{email});

my $definitions = slurp_file('src/gateway/routes.def');
my @named;
while ($definitions
	=~ /^LS_ROUTE\(\w+,\s*"(\w+)",\s*"([^"]*\{\w+\}[^"]*)",\s*"(\w+)",.*?LS_POOL_\w+,\s*"([\w.]*)",\s*(\d+)/gms)
{
	# The name of a field belongs to nobody; shippers name indexes that need not be there; what is
	# PUT is one's own.
	push @named, { route => "$1 $2", credentials => $3 }
		if $5 != 501 && $1 ne 'PUT' && $2 !~ m{/(?:fields|label)/\{name\}|\{index\}/_|/shared/};
}
is(join("\n", sort map { $_->{route} } @named), join("\n", sort keys %request),
	'every route that names something');

# All that acme has, as the tables say.
sub belongings
{
	return $t->sql("SELECT set_config('search_path', 'logsvc_internal', false) IS NULL;"
	  . join ' UNION ALL ',
	  map { "SELECT '$_->[0]', md5(string_agg(r, ',' ORDER BY r COLLATE \"C\")) FROM (SELECT (to_jsonb(t)"
		  . " - '{last_used_at,last_seen_at,last_active_at,created_at}'::text[])::text AS r FROM "
		  . "$_->[0] AS t WHERE $_->[1]) AS t" }
	  ( map { [ $_, "organization_id = (SELECT id FROM organization WHERE slug = 'acme')" ] }
		  qw(member access_token api_key log_index invitation ip_allowlist organization_limit
		  resource lookup export_schedule) ),
	  [ 'organization', "slug = 'acme'" ], [ 'user_account', "email LIKE '%acme%'" ],
	  [ 'user_session', "user_id IN (SELECT user_id FROM member WHERE organization_id = (SELECT id "
	  . "FROM organization WHERE slug = 'acme'))" ]);
}

my $before = belongings();
like($before, qr/^\Q$_\E\|\w{32}$/m, "there are rows in $_")
  foreach qw(member access_token api_key log_index invitation organization user_account
  user_session resource lookup export_schedule);
my $tried = 0;
foreach my $route (sort { $a->{route} cmp $b->{route} } @named)
{
	my ($method, $path) = split / /, $route->{route};
	my ($id, $body) = @{ $request{ $route->{route} } };
	$path =~ s/\{\w+\}/$id/;
	foreach my $name (sort keys %who)
	{
		# Who may not ask at all is the business of another test.
		next if $name eq 'full key' && $route->{credentials} !~ /F/ || $name eq 'token'
			&& $route->{credentials} !~ /T/;
		my $r = $t->http($method, $path, $who{$name}->(), defined $body ? (json => $body) : ());
		is($r->{status}, 404, "$route->{route} by a $name of another organization")
			or diag $r->{content};
		unlike($r->{content}, qr/acme|Ann|secrets"/, '... which tells nothing');
		$tried++;
	}
}
cmp_ok($tried, '>', 30, "$tried requests");
is(belongings(), $before, 'nothing has changed');

# ---- naming the organization does not help ----

foreach my $organization ('acme', $acme->{id})
{
	my $r = $t->http(GET => '/api/v1/members', session => $other->{cookie},
		organization => $organization);
	is($r->{status}, 404, 'a session in an organization of others');
	$r = $t->http(GET => '/api/v1/members', headers => { 'X-Organization-Id' => $organization },
		token => $other->{token});
	is_deeply([ map { $_->{email} } @{ $r->{json}{data} } ], [ $other->{email} ],
		'a token is of one organization');
}

# ---- events ----

$t->http(POST => '/api/v1/logs', token => $acme->{ingest_key}, json => { event => "from acme in $_",
	index => $_ })
  foreach qw(main secrets);
is(@{ $t->http(GET => '/api/v1/search?q=acme', @owner)->{json}{data}{rows} } > 0, 1,
	'acme finds its events');
foreach my $path ('/api/v1/search?q=acme', '/api/v1/search?q=index%3D*', '/api/v1/logs?q=acme',
	'/api/v1/search?q=index%3Dsecrets',
	'/api/v1/logs?index=secrets', '/api/v1/search?q=index%3D_audit')
{
	my $r = $t->http(GET => $path, token => $other->{token});
	unlike($r->{content}, qr/from acme|ann\@acme/, "$path shows nothing foreign");
}
is($t->http(POST => '/api/v1/logs', token => $other->{ingest_key},
	json => { event => 'x', index => 'secrets' })->{status}, 404,
	'nor can one write there');

# A cursor is of one organization.
$t->http(POST => '/api/v1/invitations', @owner, json => { email => "n$_\@acme.org",
	role => 'viewer' }) foreach 1 .. 2;
my $cursor = $t->http(GET => '/api/v1/invitations?limit=1', @owner)->{json}{page}{nextCursor};
ok($cursor, 'a cursor');
is($t->http(GET => '/api/v1/invitations', query => { limit => 1, cursor => $cursor },
	token => $other->{token})->{json}{code},
	'INVALID_CURSOR', '... is not good elsewhere');

$t->stop;
done_testing;
