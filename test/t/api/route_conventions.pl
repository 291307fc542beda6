# What every route of the executors has in common: path and query parameters,
# bodies, refusals, lists, the client's address, rates, Idempotency-Key.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new;
my $org = $t->organization('acme');
my $other = $t->organization('other');

sub get { my ($path, %opt) = @_; return $t->http(GET => "/api/v1$path",
	token => $org->{token}, %opt); }

sub post { my ($path, %opt) = @_; return $t->http(POST => "/api/v1$path",
	token => $org->{token}, %opt); }

# ---- path parameters ----

my $r = get("/organizations/$org->{id}");
is($r->{status}, 200, 'an organization by its id');
is($r->{json}{data}{slug}, 'acme', 'wrapped in data');
is($r->{json}{data}{role}, 'owner', 'with the role of the caller');
is(get("/organizations/$org->{id}", token => $org->{full_key})->{status}, 200,
	'by a full-access key');
is(get("/organizations/$org->{id}", token => $org->{read_key})->{json}{code}, 'INSUFFICIENT_SCOPE',
	'not by a read-only key');
is(get("/organizations/$other->{id}")->{json}{code}, 'NOT_FOUND', 'a foreign one does not exist');
is(get("/organizations/$_")->{status}, 404, "no such id: $_")
  foreach 'org_', 'x', 'a%2Fb', '%C3%28', 'org_00000000000000000000000000';
is(get("/organizations/$org->{id}?limit=1")->{status}, 400, 'a parameter that is not known');

$r = $t->http(PUT => "/api/v1/organizations/$org->{id}");
is($r->{status}, 405, 'another method');
like($r->{headers}{allow}, qr/GET, HEAD/, 'with Allow');
is($t->http(GET => '/api/v1/organizations/a/b')->{status}, 404, 'another path');

# ---- lists ----

$t->sql("SELECT logsvc.create_user('u$_\@example.org'),"
	  . " logsvc.add_member('acme', 'u$_\@example.org', 'viewer')") foreach 1 .. 4;
$r = get('/members');
is($r->{status}, 200, 'members');
is(scalar @{ $r->{json}{data} }, 5, 'all of them');
is_deeply($r->{json}{page}, { nextCursor => undef, hasMore => JSON::PP::false }, 'in one page');

my @seen;
my $cursor;
for (1 .. 9)
{
	$r = get('/members', query => { limit => 2, defined $cursor ? (cursor => $cursor) : () });
	push @seen, map { $_->{email} } @{ $r->{json}{data} };
	$cursor = $r->{json}{page}{nextCursor};
	last unless $r->{json}{page}{hasMore};
}
is_deeply(\@seen, [ $org->{email}, map { "u$_\@example.org" } 1 .. 4 ], 'two by two');

$cursor = get('/members?limit=2')->{json}{page}{nextCursor};
$t->sql("SELECT logsvc.create_user('o$_\@example.org'),"
	  . " logsvc.add_member('other', 'o$_\@example.org', 'viewer')") foreach 1 .. 4;
is(get("/members?cursor=$cursor", token => $other->{token})->{json}{code}, 'INVALID_CURSOR',
	'a cursor of another organization');
(my $changed = $cursor) =~ s/(.)$/$1 eq '0' ? '1' : '0'/e;
is(get("/members?cursor=$_")->{json}{code}, 'INVALID_CURSOR', "a cursor that is none: $_")
  foreach $changed, 'x', '', '00', '02' . '0' x 100;
foreach my $limit (0, 101, -1, 'x', '', '1.5', '99999999999')
{
	$r = get("/members?limit=$limit");
	is($r->{json}{code}, 'VALIDATION_ERROR', "limit=$limit");
	is($r->{json}{details}[0]{path}, 'limit', 'and says where');
}
is(get('/members?limit=1&limit=2')->{status}, 400, 'given twice');
is(get('/members?x=%')->{status}, 400, 'a bad escape');
is(get('/members?organization=other')->{status}, 400, 'the organization is not for clients to say');

# ---- bodies ----

my %key = (name => 'k', scope => 'read-only');
$r = post('/api-keys', json => \%key);
is($r->{status}, 201, 'a key is made');
like($r->{json}{data}{key}, qr/^ing_live_/, 'and shown');
my $key = $r->{json}{data};

sub refused
{
	my ($what, $path, %opt) = @_;
	my $answer = post('/api-keys', %opt);
	is($answer->{json}{code}, 'VALIDATION_ERROR', $what);
	is($answer->{json}{details}[0]{path}, $path, "$what: the place");
	return $answer;
}

refused('an unknown member', 'colour', json => { %key, colour => 'red' });
refused('a member of ours', 'organization', json => { %key, organization => 'other' });
refused('a wrong type', 'name', json => { %key, name => 5 });
refused('an object for a string', 'name', json => { %key, name => {} });
refused('a number for a time', 'expiresAt', json => { %key, expiresAt => 5 });
refused('no time', 'expiresAt', json => { %key, expiresAt => 'tomorrow' });
refused('a time in the past', 'expiresAt', json => { %key, expiresAt => '2020-01-01' });
refused('a missing member', 'scope', json => { name => 'k' });
refused('a missing body', 'name');
refused('null for what is needed', 'name', json => { %key, name => undef });
refused('no object', '', body => '[]');
refused('no JSON', '', body => '{"name": "k"');
refused('text after the end', '', body => '{"name": "k", "scope": "read-only"} x');
refused('a member twice', 'name', body => '{"name": "a", "name": "b", "scope": "read-only"}');
$r = refused('two things', 'a', json => { %key, a => 1, b => 2 });
is(scalar @{ $r->{json}{details} }, 2, 'both are said');
is(scalar @{ post('/api-keys', json => { map { $_ => 1 } 1 .. 5000 })->{json}{details} }, 100,
	'but not thousands');
is(post('/api-keys', body => '{}', headers => { 'Content-Type' => 'text/plain' })->{status}, 415,
	'another content type');
$r = post('/api-keys', json => { %key, name => 'x' x (1024 * 1024) });
is($r->{json}{code}, 'FST_ERR_CTP_BODY_TOO_LARGE', 'a body over 1 MB');
is(post('/api-keys', json => { %key, name => "\0" })->{status}, 201, 'NUL is replaced');

# ---- 204 ----

$r = $t->http(DELETE => "/api/v1/api-keys/$key->{id}", token => $org->{token});
is($r->{status}, 204, 'revoked');
is($r->{content} // '', '', 'without a body');
ok(!exists $r->{headers}{'content-type'}, 'or a content type');
is($t->http(DELETE => "/api/v1/api-keys/$key->{id}", token => $org->{token})->{status},
	409, 'twice');
is($t->http(DELETE => "/api/v1/api-keys/$key->{id}", token => $other->{token})->{status}, 404,
	'a foreign one');

# ---- Idempotency-Key ----

my %once = (json => { %key, name => 'once' }, headers => { 'Idempotency-Key' => 'abc-1' });
$r = post('/api-keys', %once);
is($r->{status}, 201, 'with an idempotency key');
my $again = post('/api-keys', %once);
is($again->{status}, 201, 'again');
is_deeply($again->{json}, $r->{json}, 'the same answer');
is($again->{headers}{'idempotency-replayed'}, 'true', 'and it says so');
is($t->sql("SELECT count(*) FROM logsvc_internal.api_key WHERE name = 'once'"), 1, 'one key');
is(post('/api-keys', %once, json => { %key, name => 'more' })->{json}{code}, 'IDEMPOTENCY_CONFLICT',
	'for another body');
is(post('/api-keys', %once, token => $org->{full_key})->{json}{data}{id} ne $r->{json}{data}{id}, 1,
	'of another caller');
is(post('/api-keys', %once, token => $other->{token})->{status}, 201, 'of another organization');
is(post('/api-keys', %once, headers => { 'Idempotency-Key' => 'x' x 256 })->{status}, 400,
	'too long a key');
is(post('/api-keys', json => { name => 'k' },
	headers => { 'Idempotency-Key' => 'abc-2' })->{status}, 400,
	'a refusal');
is(post('/api-keys', json => { %key, scope => 'x' },
	headers => { 'Idempotency-Key' => 'abc-2' })->{status},
	400, 'also one of the function');
is(post('/api-keys', json => \%key, headers => { 'Idempotency-Key' => 'abc-2' })->{status}, 201,
	'is not kept');
is($t->sql(qq{SELECT count(*) FROM logsvc_internal.idempotency
	WHERE strpos(encode(answer, 'escape'), 'ing_live') > 0}), 0, 'no secret lies in the table');
$t->sql("UPDATE logsvc_internal.idempotency SET created_at = now() - interval '25 hours'");
isnt(post('/api-keys', %once)->{json}{data}{id}, $r->{json}{data}{id}, 'forgotten after a day');

# ---- a function that changes ----

is(get('/members?role=viewer')->{status}, 400, 'a parameter that is not there yet');
$t->sql(q{
	ALTER FUNCTION logsvc.list_members(text, int, text) RENAME TO list_members_before;
	CREATE FUNCTION logsvc.list_members(organization text, role text DEFAULT NULL,
		roles text[] DEFAULT NULL, given text[] DEFAULT NULL, flag boolean DEFAULT NULL,
		since timestamptz DEFAULT NULL)
	RETURNS logsvc_internal.http_response LANGUAGE sql AS $$
		SELECT ROW(299, '{"X-One": "1", "Set-Cookie": ["a=b", "c=d"]}', 'text/csv',
			convert_to(concat_ws(';', role, roles::text, given::text, flag::text,
				extract(epoch FROM since)::bigint::text,
				host(logsvc_internal.request_address()), logsvc_internal.request_user_agent(),
				logsvc_internal.request_header('origin'), logsvc_internal.is_operator()::text,
				current_user), 'UTF8'))::logsvc_internal.http_response
	$$;
	GRANT EXECUTE ON FUNCTION logsvc.list_members(text, text, text[], text[], boolean, timestamptz),
		logsvc_internal.request_address(), logsvc_internal.request_user_agent(),
		logsvc_internal.request_header(text), logsvc_internal.is_operator() TO logsvc_reader});
my %headers = ('User-Agent' => 'test/1', Origin => 'https://example.org',
	'X-Forwarded-For' => '203.0.113.7, 198.51.100.2');
$r = get('/members?role=viewer&roles=a,b&flag=true&since=2026-01-01T00:00:00Z',
	headers => \%headers);
is($r->{status}, 299, 'a status of its own');
is($r->{content}, 'viewer;{a,b};{role,roles,flag,since};true;1767225600;127.0.0.1;test/1;'
	. 'https://example.org;false;logsvc_reader', 'values, and what the request was');
is($r->{headers}{'content-type'}, 'text/csv', 'a content type of its own');
is($r->{headers}{'x-one'}, '1', 'a header');
is_deeply($r->{headers}{'set-cookie'}, [ 'a=b', 'c=d' ], 'and one with two values');

# ---- the client's address ----

$t->set('logsvc.trusted_proxies', '127.0.0.0/8, 198.51.100.0/24');
ok(wait_until(sub { get('/members', headers => \%headers)->{content} =~ /203\.0\.113\.7;test/ }),
	'behind trusted proxies');
my ($none, $state) = $t->sql_error("ALTER SYSTEM SET logsvc.trusted_proxies = 'proxy'");
is($state, '22023', 'what is no network is refused') or diag $none;
$t->sql('DROP FUNCTION logsvc.list_members(text, text, text[], text[], boolean, timestamptz);'
	  . 'ALTER FUNCTION logsvc.list_members_before(text, int, text) RENAME TO list_members');
is(get('/members')->{status}, 200, 'as before');

# ---- nothing of the request is left behind ----

is($t->sql('SELECT logsvc_internal.request_id() IS NULL'), 't', 'SQL has no request');
is($t->sql("SELECT logsvc_internal.request_user_agent() <> ''"), 't', 'but a name');
my $log = $t->log_text;
unlike($log, qr/logsvc request \w+ failed/, 'no request failed inside');

$t->stop;
done_testing;
