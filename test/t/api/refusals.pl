# What refusals say: which scope, kind of credential, permission or limit it is
# about, for people in the message and for programs in the details.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(name => 'refusals', conf => "logsvc.listen_addresses = '127.0.0.1'");
my $org = $t->organization('acme');
my $narrow = $t->organization('narrow', scopes => ['logs:read']);
my $viewer = $t->organization('viewed', role => 'viewer');
my $test_key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'test', 'full-access', "
	. "'test')")->{key};

sub said
{
	my ($r) = @_;
	my $d = $r->{json}{details}[0] // {};
	return join ' | ', $r->{status}, $r->{json}{code}, $r->{json}{error},
		map { $_ // '-' } @{$d}{qw(path code message)};
}

# ---- scopes, over HTTP ----

is(said($t->http(POST => '/api/v1/logs', token => $narrow->{token}, json => { event => 'x' })),
	'403 | INSUFFICIENT_SCOPE | the token lacks the scope "logs:write" | scope | missing_scope | '
		. 'logs:write', 'a token');
is(said($t->http(GET => '/api/v1/search?q=x', token => $org->{ingest_key})),
	'403 | INSUFFICIENT_SCOPE | the scope of the API key, ingest-only, is not enough: this takes a '
		. 'token with scope logs:read, '
	  . 'an API key with scope read-only or full-access or the session of a user who has signed in '
	  . '| scope | missing_scope | '
	  . 'read-only or full-access', 'a key');
is(said($t->http(GET => '/api/v1/members', token => $test_key)),
	'403 | INSUFFICIENT_SCOPE | a test key may only read, write and delete events of the index '
		. '"_test" | credential | test_key | '
	  . 'a test key is not enough', 'a test key');
is(said($t->http(POST => '/api/v1/billing/plan', token => $org->{token},
	json => { plan => 'pro' })),
	'403 | INSUFFICIENT_SCOPE | a token is not enough: this takes the session of a user who has '
		. 'signed in | credential | '
	  . 'credential_kind | the session of a user who has signed in', 'what takes a session');
like(said($t->http(GET => '/api/v1/audit', token => $org->{full_key})),
	qr/\Q| an API key is not enough: this takes a token with scope audit:read or the session of/,
		'what takes no key');
is(said($t->http(POST => '/api/v1/logs', token => $viewer->{token}, json => { event => 'x' })),
	'403 | FORBIDDEN | the role viewer does not permit this: it takes the permission "logs:write" '
		. '| permission | '
	  . 'missing_permission | logs:write', 'a role');
# What the function of the route asks for, in the executor.
like(said($t->http(GET => '/api/v1/organizations/acme', token => $org->{read_key})),
	qr/\Q| INSUFFICIENT_SCOPE | the scope of the API key, read-only, is not enough\E.*\Q| scope | missing_scope | full-access\E/,
	'a key on a route');

# ---- credentials that are not known, and what a route takes ----

my $kinds = 'a token with scope logs:read, an API key with scope read-only or full-access or the '
  . 'session of a user who has signed in';
foreach my $secret ('pat_' . 'x' x 40, 'hunter2', 'ing_live_' . 'x' x 40)
{
	my $is = $secret =~ /_/ ? 'this credential is not known'
	  : 'this is neither a token (pat_...) nor an API key (ing_live_... or ing_test_...)';
	like(said($t->http(GET => '/api/v1/search?q=x', token => $secret)),
		qr/^401 \| INVALID_(PAT|API_KEY) \| \Q$is: this takes $kinds | credential | credential_kind | $kinds\E$/,
		"an unknown credential: $secret");
}
foreach my $placeholder ('ing_live_...', 'pat_...')
{
	like(said($t->http(GET => '/api/v1/search?q=x', token => $placeholder)),
		qr/^401 \| INVALID_(PAT|API_KEY) \| this is the placeholder of an example: make a key with logsvc\.create_api_key\(\) in SQL, or in the console: \Qthis takes $kinds\E/,
		"what documents write: $placeholder");
}
is(said($t->http(GET => '/api/v1/search?q=x')),
	"401 | UNAUTHORIZED | a credential is required: this takes $kinds | credential | "
	  . "credential_kind | $kinds", 'none');
my %evaluation = (json => { rows => ['x'], preview => JSON::PP::true });
foreach my $key ($org->{full_key}, 'ing_live_' . 'x' x 40)
{
	is(said($t->http(POST => '/api/v1/evaluations/run-adhoc', token => $key, %evaluation)),
		'401 | INVALID_PAT | API keys are not taken here: this takes a token with scope '
		  . 'evaluations:run | credential | credential_kind | a token with scope evaluations:run',
		'a key for evaluations, known or not');
}
like(said($t->http(GET => '/api/v1/search?q=x', headers => { 'X-API-Key' => $org->{token} })),
	qr/INVALID_API_KEY \| \QX-API-Key is for API keys: send a token as Authorization: Bearer\E/,
	'a token in the header of keys');
like(said($t->http(GET => '/api/v1/search?q=x', headers => { Authorization => $org->{token} })),
	qr/UNAUTHORIZED \| the Authorization header must be Bearer and a token or key/, 'without Bearer');

# ---- bodies ----

is(said($t->http(POST => '/api/v1/search', token => $org->{read_key}, body => ' ' x 1_048_577)),
	'413 | FST_ERR_CTP_BODY_TOO_LARGE | Request body is too large: this takes at most 1 MB | body '
	  . '| too_large | at most 1 MB', 'a body says how large it may be');
is(said($t->http(POST => '/api/v1/auth/sign-in', body => ' ' x 65_537)),
	'413 | FST_ERR_CTP_BODY_TOO_LARGE | Request body is too large: this takes at most 64 kB | body '
	  . '| too_large | at most 64 kB', 'without a credential too');

like(said($t->http(POST => '/api/v1/search', token => $org->{read_key}, body => 'q=level%3Derror',
	headers => { 'Content-Type' => 'application/x-www-form-urlencoded' })),
	qr/^400 .*the body is not JSON.*; parameters such as q=\.\.\. go into the query string of a GET request \(curl -G\)/, 'curl -d without -G');

# ---- in SQL ----

sub sql_said
{
	my ($token, $sql) = @_;
	my (undef, $state, $text) = $t->sql_error("SELECT logsvc.use_token('$token'); $sql");
	return "$state $text";
}
like(sql_said($narrow->{token}, "SELECT logsvc.log('x')"),
	qr/LS201 .*the token lacks the scope "logs:write"/s, 'SQL: a token');
my ($out, $err, $text) = ('', '', '');
$t->node->psql('postgres', "SELECT logsvc.use_token('$narrow->{token}'); SELECT logsvc.log('x')",
	stdout => \$out, stderr => \$err);
like($err, qr/DETAIL: .*\Q{"path":"scope","code":"missing_scope","message":"logs:write"}\E/,
	'and its detail');
unlike($err, qr/CONTEXT/, 'nothing about functions of ours');
foreach my $sql ("SELECT logsvc.create_organization('acme', 'nonsense')",
	"SELECT logsvc.use_token('nothing')",
	"SELECT logsvc.act_as('acme'); SELECT logsvc.search('level=error | nonsense')",
	"SELECT logsvc.act_as('acme'); SELECT count(*) FROM logsvc.events('| stats count')",
	"SELECT logsvc.act_as('acme'); SELECT logsvc.create_api_key('acme', '', 'x')",
	"SELECT logsvc.act_as('acme'); SELECT logsvc.query_logs(\"order\" => 'x')",
	"SELECT logsvc.act_as('acme'); SELECT logsvc.log('')")
{
	$t->node->psql('postgres', $sql, stdout => \$out, stderr => \$err);
	like($err, qr/ERROR:/, "an error: $sql");
	unlike($err, qr/CONTEXT/, 'without lines of context');
}
like(sql_said($org->{ingest_key}, "SELECT logsvc.search('x')"),
	qr/LS201 .*API key, ingest-only, is not enough.*read-only or full-access/s,
	'SQL: a key');
like(sql_said($viewer->{token}, "SELECT logsvc.log('x')"),
	qr/LS202 .*the role viewer does not permit this: .*"logs:write"/s, 'SQL: a role');
like(sql_said($test_key, "SELECT logsvc.usage()"), qr/LS201 .*a test key may only/s,
	'SQL: a test key');

# ---- limits ----

$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = CASE class WHEN 'auth' THEN 2 ELSE 0 "
	. "END WHERE class IN ('auth', 'search')");
my $r;
$r = $t->http(POST => '/api/v1/auth/sign-in', json => { email => 'x@example.org', password => 'y' },
	headers => { Origin => 'http://localhost:' . $t->http_port }) for 1 .. 3;
like(said($r),
	qr/^429 \| RATE_LIMIT_EXCEEDED \| too many requests: 2 requests a minute for this address; try again in (?:1 second|(?!1 )\d+ seconds); an operator changes it with table logsvc_internal.rate_limit \(class auth\) \| auth \| rate_limit \| 2 requests a minute for this address; logsvc_internal.rate_limit$/,
	'a rate says class, limit, time and where it is set');
like(said($t->http(GET => '/api/v1/search?q=x', token => $org->{read_key})),
	qr/: 0 searches a minute for this organization; try again in 60 seconds; .*\(class search\)/,
		'a class that is switched off');
(undef, undef, $text) = $t->sql_error("SELECT logsvc.set_limit('acme', 'no_such', 1)");
like($text, qr/resource: must be one of ai_credits_per_month, .*indexes.*, test_bytes_per_day/s,
	'a limit that there is not: which there are');

# ---- what else a newcomer needs to be told ----

$t->node->psql('postgres', "SELECT logsvc.create_organization('Alone', 'pro')", stdout => \$out,
	stderr => \$err);
like($err, qr/has no owner yet.*logsvc\.create_user\('ann.*logsvc\.add_member\('alone'.*owner => 'ann/s, 'an organization without an owner: how to make one');
$t->sql("SELECT logsvc.create_user('reader\@example.org')");
$t->sql("SELECT logsvc.add_member('acme', 'reader\@example.org', 'viewer')");
my $make = "SELECT logsvc.create_token('acme', 'reader\@example.org', 'x', '{logs:read,%s}') ->> 'name'";
$t->node->psql('postgres', sprintf($make, 'logs:write,alerts:write'), stdout => \$out, stderr => \$err);
is($out, 'x', 'an operator makes a token whose scopes go beyond the role, which may change');
like($err, qr/role viewer does not permit the scope "alerts:write", "logs:write".*set_member_role\('acme', 'reader/s,
	'and is told so');
$t->node->psql('postgres', sprintf($make, 'dashboards:read'), stdout => \$out, stderr => \$err);
is($err, '', 'not of scopes that the role permits');
$t->sql("SELECT logsvc.invite('acme', 'new\@example.org', 'viewer') FROM "
	. "logsvc.act_as('acme', '$org->{email}')");
my $link = $t->sql("SELECT link FROM logsvc_internal.outbox WHERE template = 'invitation'");
like($link, qr{^http://127\.0\.0\.1:@{[ $t->http_port ]}/invitations/accept#t=},
	'without logsvc.public_url a link has the address and the port');
(undef, undef, $text) =
	$t->sql_error("SELECT logsvc.set_password('$org->{email}', 'Password1234')");
like($text, qr/three or more unrelated words/, 'a common password: what to take instead');

# Which setting an evaluation lacks.
%evaluation = (token => $org->{token}, json => { rows => ['x'], criteria => 'c',
		expectedItems => [ { id => 'a', description => 'x' } ] });
sub lacks
{
	my ($region) = @_;
	$t->sql("ALTER SYSTEM SET logsvc.model_region = '$region'");
	$t->reload;
	my $said = '';
	wait_until(sub { my $before = $said; $r = $t->http(POST => '/api/v1/evaluations/run-adhoc',
		%evaluation); $said = $r->{json}{details}[0]{message} // '-'; $said eq $before
		&& $said ne '-' });
	return $said;
}
is(lacks(''), 'logsvc.model_region is not set', 'an evaluation without logsvc.model_region');
is($r->{json}{code}, 'AI_PROVIDER_NOT_EU', 'as before');
ok(wait_until(sub { lacks('moon') =~ /^logsvc.model_region names no region/ }),
	'with one that is not in the European Union');
$t->sql($_) foreach "ALTER SYSTEM SET logsvc.model_region = 'eu'",
	"ALTER SYSTEM SET logsvc.model_provider = 'openai'";
$t->reload;
ok(wait_until(sub
{
	$r = $t->http(POST => '/api/v1/evaluations/run-adhoc', token => $org->{token},
		json => { rows => ['x'], criteria => 'c',
			expectedItems => [ { id => 'a', description => 'x' } ] });
	return ($r->{json}{details}[0]{message} // '') eq 'logsvc.model_endpoint is not set';
}), 'an evaluation without logsvc.model_endpoint says so') or diag said($r);

done_testing();
