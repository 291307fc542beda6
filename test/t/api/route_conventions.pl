# What every route of the executors has in common: path and query parameters,
# bodies, refusals, lists, the client's address, rates, Idempotency-Key.
use strict;
use warnings;

use IO::Uncompress::Gunzip;
use LogsvcTest;
use Test::More;

# Without health workers, whose results would change what is asked for again.
my $t = LogsvcTest->new(conf => "logsvc.health_workers = 0");
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

# ---- names of parameters ----

sub problem_of { my ($answer) = @_; my $d = $answer->{json}{details}[0] // {};
	return "$answer->{status} $d->{path}: " . ($d->{message} // ''); }
my $unknown = 'this parameter is not known here';
is(problem_of(get('/members?limt=5')), "400 limt: $unknown: did you mean limit?",
	'an unknown parameter: the nearest one');
is(problem_of(get('/search?q=x&earlyest=-1h')), "400 earlyest: $unknown: did you mean earliest?",
	'of a range too');
is(problem_of(get('/members?nonsense=5')), "400 nonsense: $unknown: it takes limit, cursor",
	'far from all: which there are');
is(problem_of(get("/organizations/$org->{id}?limit=1")), "400 limit: $unknown: it takes none",
	'the one of the path is none');
is(post('/search', json => { query => 'x' })->{status}, 200, 'query is q');
is(problem_of(post('/search', json => { query => 'x', q => 'y' })), '400 query: given twice', 'but not both');
is(problem_of(post('/search', json => { expression => 'x' })),
	"400 expression: $unknown: it takes q, earliest, latest, limit, cursor, explain, timeoutMs, include",
	'members of a body too');
is(problem_of(get('/members?%22%0D%0AX-Evil:%201=2')), "400 \"\r\nX-Evil: 1: $unknown: it takes limit, "
	. 'cursor', 'whatever they are');
is(get('/members?%22%0D%0AX-Evil:%201=2')->{headers}{'x-evil'}, undef, 'no header of theirs');

# ---- time ranges ----

$t->http(POST => '/api/v1/logs/batch', token => $org->{full_key}, json => [
	{ event => 'one', level => 'info', traceId => '0af7651916cd43dd8448eb211c80319c',
		attributes => { order => 1, 'a-b' => { c => 2 } } },
	{ event => '=two', level => 'error', attributes => { order => 2 } },
	{ event => 'three', level => 'info', timestamp => '2020-01-01T00:00:00Z' } ]);
foreach my $names ([ 'earliest', 'latest' ], [ 'from', 'to' ])
{
	my $range = "$names->[0]=-1h&$names->[1]=now";
	my $times = "$names->[0]=2020-01-01T00:00:00Z&$names->[1]=2100-01-01T00:00:00Z";
	is(scalar @{ get("/search?$range")->{json}{data}{rows} // [] }, 2, "search by @$names");
	is(scalar @{ get("/logs?$range")->{json}{data} // [] }, 2, "logs by @$names");
	is(get("/$_")->{status}, 200, $_)
	  foreach "search/fields?$range", "search/fields/level/values?$range", "templates?$range",
	  "audit?$times", "audit/export?$times", "dead-letters?$times";
	is(scalar @{ post('/search', json => { $names->[0] => '2019-01-01T00:00:00Z',
		$names->[1] => '2021-01-01T00:00:00Z' })->{json}{data}{rows} // [] }, 1, 'in a body');
}
# Relative times are taken everywhere.
foreach my $list (qw(audit audit/export dead-letters))
{
	is(get("/$list?$_")->{status}, 200, "$list?$_") foreach 'earliest=-24h&latest=now', 'from=-1d@d&to=%2B1h@h', 'earliest=-1y';
	is(problem_of(get("/$list?earliest=$_")), '400 earliest: expected a time as 2026-01-31T12:00:00Z, -24h or now', "$list?earliest=$_")
	  foreach 'soon', '-24', '-99999y', '1700000000';
}
is(scalar @{ get('/audit?latest=-10y')->{json}{data} }, 0, 'nothing is so old');
my $recent = get('/audit?earliest=-1h&limit=1')->{json};
is(scalar @{ $recent->{data} }, 1, 'this is not');
is(get('/audit', query => { earliest => '-1h', limit => 1, cursor => $recent->{page}{nextCursor} })->{status}, 200,
	'and the next page goes on, although now is later');
is(post('/dead-letters/discard', json => { filter => { earliest => '-24h', latest => 'now' }, reason => 'none' })->{status}, 200, 'also in a body');
is(problem_of(get('/search?from=-1h&earliest=-1h')), '400 earliest: given twice', 'not both');
is(problem_of(get('/logs?from=-1h&earliest=-1h')), '400 earliest: given twice', 'nowhere');
is(get("/audit?$_=member")->{status}, 200, $_) foreach 'resourceType', 'resource_type';

# ---- fields and trace_id of logs ----

sub logs { my ($query) = @_; return get('/logs', query => $query)->{json}{data}; }
my $trace = '0af7651916cd43dd8448eb211c80319c';
is_deeply([ map { $_->{event} } @{ logs({ trace_id => $trace }) } ], ['one'], 'logs of a trace');
is_deeply([ map { $_->{event} } @{ logs({ traceId => uc $trace }) } ], ['one'],
	'in capitals, by the name that events have');
is_deeply(logs({ trace_id => 'x' }), [], 'of no trace');
is_deeply(logs({ fields => 'event,attributes.order,traceId', order => 'asc' }), [
	{ event => 'one', traceId => $trace, attributes => { order => 1 } },
	{ event => '=two', attributes => { order => 2 } } ], 'chosen fields');
is_deeply(logs({ fields => 'a-b,level', level => 'info' }),
	[ { level => 'info', attributes => { 'a-b' => { c => 2 } } } ], 'by any name');
is_deeply(logs({ fields => 'order' }), [ { attributes => { order => 2 } },
	{ attributes => { order => 1 } } ], 'of attributes');
is_deeply(logs({ fields => 'message' }), [ { event => '=two' }, { event => 'one' } ],
	'an alias of the language');
is(problem_of(get('/logs', query => { fields => $_ })), '400 fields: expected names of fields',
	"no field: $_") foreach '`', 'event,`| delete', ',event';
is(get('/logs', query => { fields => $_ })->{status}, 200, "a name only: $_")
  foreach 'x | stats count', '"', 'count()', "a\\", 'x' x 1000;
$r = get('/logs?fields=event&limit=1&order=asc');
is_deeply($r->{json}{data}, [ { event => 'one' } ], 'a page of them');
$cursor = $r->{json}{page}{nextCursor};
is_deeply(get("/logs?fields=event&limit=1&order=asc&cursor=$cursor")->{json}{data},
	[ { event => '=two' } ], 'and the next');
is(get("/logs?fields=level&limit=1&order=asc&cursor=$cursor")->{json}{code}, 'INVALID_CURSOR',
	'which is of these fields');
like($t->sql("SELECT logsvc.act_as('acme'); SELECT logsvc.query_logs(trace_id => '$trace', "
	. "fields => ARRAY['event'])->'data'"), qr/\n\Q[{"event": "one"}]\E\z/, 'in SQL too');

# ---- a slash at the end, and HEAD ----

is(get('/members/')->{status}, 200, 'a slash at the end');
is(post('/search/', json => { q => 'x' })->{status}, 200, 'of any method');
is(get('/members//')->{status}, 404, 'two are another path');
is($t->http(GET => '/api/v1/')->{json}{data}{service}, 'logsvc', 'the root of the API');
is($t->http(PUT => '/api/v1/members/', token => $org->{token})->{status}, 405, 'not all methods');

my $routes = PostgreSQL::Test::Utils::slurp_file('src/gateway/routes.def');
my $n = 0;
while ($routes =~ /^LS_ROUTE\((\w+), "GET", "([^"]+)"/mg)
{
	my ($name, $path) = ($1, $2);
	$path =~ s/\{[^}]*\}/x/g;
	$n++;
	my $head = $t->http(HEAD => $path, token => $org->{token}, timeout => 10);
	is($head->{content} // '', '', "HEAD $path: no body");
	if ($name eq 'TAIL')
	{
		is($head->{status}, 200, "HEAD $path: an answer at once");
		next;
	}
	my $get = $t->http(GET => $path, token => $org->{token});
	is($head->{status}, $get->{status}, "HEAD $path: as GET");
	is($head->{headers}{'content-type'}, $get->{headers}{'content-type'}, 'its type');
}
cmp_ok($n, '>', 40, "$n routes");
is($t->http(HEAD => '/api/v1/members', token => 'nothing')->{status}, 401, 'HEAD needs rights');

# ---- CSV and lines of JSON ----

sub as { my ($type, $path, %opt) = @_;
	return get($path, headers => { Accept => $type, %{ $opt{headers} // {} } }, %opt{'token'}); }
$r = as('text/csv', '/logs?fields=event,level,order&order=asc', token => $org->{token});
is($r->{headers}{'content-type'}, 'text/csv; charset=utf-8; header=present', 'logs as CSV');
is($r->{content}, qq{"event","level","attributes"\r\n"one","info","{""order"":1}"\r\n}
	. qq{"'=two","error","{""order"":2}"\r\n}, 'without formulas');
$r = as('text/csv', '/search?q=' . '%7C%20stats%20count%20by%20level%20%7C%20sort%20level',
	token => $org->{read_key});
is($r->{content}, qq{"level","count"\r\n"error",1\r\n"info",1\r\n}, 'a search as CSV');
$r = as('application/x-ndjson', '/search?limit=1', token => $org->{read_key});
is($r->{headers}{'content-type'}, 'application/x-ndjson', 'as lines');
like($r->{content}, qr/\A\{"id":"evt_[^\n]*\}\n\z/, 'one for each row');
like($r->{headers}{'x-next-cursor'} // '', qr/^\w+$/, 'with the cursor of the next page');
is($r->{headers}{'x-truncated'}, 'true', 'and that there is one');
is(scalar(() = as('application/x-ndjson', "/search?limit=1&cursor=$r->{headers}{'x-next-cursor'}",
	token => $org->{read_key})->{content} =~ /\n/g), 1, 'which is good for it');
$r = as('text/csv', '/search?q=nonsense%3D1%20earliest%3D-1h', token => $org->{read_key});
is($r->{headers}{'x-warnings'}, 'UNKNOWN_FIELD', 'warnings are not lost');
is($r->{content}, '"' . join('","', qw(id timestamp ingestedAt event level source service index traceId spanId attributes))
	. qq{"\r\n}, 'no rows, but their names');
is(as('text/csv', '/search?q=nonsense%3D1%20%7C%20fields%20event%2C%20level', token => $org->{read_key})->{content},
	qq{"event","level"\r\n}, 'those of the query');
is(as('text/csv', '/logs?service=nobody&fields=event,level', token => $org->{token})->{content},
	qq{"event","level"\r\n}, 'of logs too');
is(as('application/x-ndjson', '/logs?service=nobody', token => $org->{token})->{content}, '', 'no lines');
like(as('text/csv', '/members', token => $org->{token})->{content},
	qr/\A"[^\n]*"email"[^\n]*\r\n.*"u1\@example.org"/s, 'a list as CSV');
is(as('text/csv', "/organizations/$org->{id}", token => $org->{token})->{json}{data}{slug}, 'acme',
	'what has no rows is JSON');
is(as('text/csv', '/members?limit=0', token => $org->{token})->{json}{code}, 'VALIDATION_ERROR',
	'as errors are');
$r = $t->http(POST => '/api/v1/search', token => $org->{read_key}, json => { q => 'one' },
	headers => { Accept => 'text/csv;q=0.9, application/json;q=0.1' });
like($r->{content}, qr/\A"id",/, 'POST too');
is(as($_, '/members', token => $org->{token})->{headers}{'content-type'},
	'application/json; charset=utf-8', 'JSON: ' . substr $_, 0, 20)
  foreach '*/*', 'text/html', 'text/csv;q=0', ',;q=', 'a/b,' x 2000;

# ---- compression ----

sub packed
{
	my ($path, $encoding, %opt) = @_;
	return $t->http(GET => "/api/v1$path", token => $org->{token}, %opt,
		headers => { 'Accept-Encoding' => $encoding, %{ $opt{headers} // {} } });
}
$t->http(POST => '/api/v1/logs/batch', token => $org->{full_key},
	json => [ map { { event => "a text to compress, number $_" } } 1 .. 200 ]);
my $whole = get('/logs?limit=200&fields=event')->{content};
$whole =~ s/"page".*//;
$r = packed('/logs?limit=200&fields=event', 'gzip');
is($r->{headers}{'content-encoding'}, 'gzip', 'compressed');
like($r->{headers}{vary}, qr/Accept-Encoding.*Authorization/, 'and says on what that depends');
my $plain;
ok(IO::Uncompress::Gunzip::gunzip(\$r->{content} => \$plain), 'with gzip');
cmp_ok(length $r->{content}, '<', length($plain) / 3, 'and smaller');
$plain =~ s/"page".*//;
is($plain, $whole, 'the same');
is(packed('/logs?limit=200', $_)->{headers}{'content-encoding'}, undef, "not: $_")
  foreach 'identity', 'gzip;q=0', 'br', 'identity, gzip;q=0.5', 'identity;q=0';
is(packed('/logs?limit=1&fields=event', 'gzip')->{headers}{'content-encoding'}, undef,
	'a short answer is not');
is(packed('/logs?limit=1&fields=event', 'gzip, identity;q=0')->{headers}{'content-encoding'}, 'gzip',
	'unless it must be');
is(packed('/logs?limit=200&fields=event', 'gzip', headers => { Accept => 'text/csv' })
	  ->{headers}{'content-encoding'}, 'gzip', 'CSV is');
$r = $t->http(HEAD => '/api/v1/logs?limit=200&fields=event', token => $org->{token},
	headers => { 'Accept-Encoding' => 'gzip' });
is($r->{headers}{'content-encoding'}, 'gzip', 'HEAD says so');
# Nothing that may hold a secret: its length would tell.
$r = post('/api-keys', json => { name => 'n' x 200, scope => 'read-only' },
	headers => { 'Accept-Encoding' => 'gzip, identity;q=0', 'Idempotency-Key' => 'zip' });
is($r->{status}, 201, 'a new key');
is($r->{headers}{'content-encoding'}, undef, 'is not compressed');
my $session = $t->session($org->{email});
is($t->http(GET => '/api/v1/auth/session', session => $session,
	headers => { 'Accept-Encoding' => 'gzip, identity;q=0' })->{headers}{'content-encoding'}, undef,
	'nor is a session');

# ---- ETag ----

foreach my $path ('/api/v1/openapi.json', '/api/v1/config', '/api/v1/roles')
{
	my %as = $path =~ /roles/ ? (token => $org->{token}) : ();
	$r = $t->http(GET => $path, %as);
	my $tag = $r->{headers}{etag} // '';
	like($tag, qr{^W/"[0-9a-f]{32}"$}, "$path: a tag");
	unlike($r->{headers}{'cache-control'}, qr/no-store/, 'which may be kept');
	$r = $t->http(GET => $path, %as, headers => { 'If-None-Match' => qq{"x", $tag} });
	is($r->{status}, 304, '304 for who has it');
	is($r->{content} // '', '', 'without a body');
	is($r->{headers}{'content-length'}, undef, 'or a length');
	is($r->{headers}{etag}, $tag, 'with the tag');
	is($t->http(HEAD => $path, %as, headers => { 'If-None-Match' => $tag })->{status}, 304, 'HEAD too');
	is($t->http(GET => $path, %as, headers => { 'If-None-Match' => '"x"' })->{status}, 200,
		'200 for others');
}
my $roles_tag = get('/roles')->{headers}{etag};
like(get('/roles')->{headers}{'cache-control'}, qr/private/, 'for its caller only');
is($t->http(GET => '/api/v1/roles', headers => { 'If-None-Match' => $roles_tag, %$_ })->{status}, 401,
	'a tag is no credential') foreach {}, { Authorization => 'Bearer nothing' };

like($t->http(GET => '/api/v1/roles', headers => { Authorization => 'Bearer nope' })->{json}{error},
	qr/^this is neither a token \(pat_\.\.\.\) nor an API key/, 'what is no credential');

# Of each that the description says may be 304.
sub made { my ($path, @body) = @_; my $m = post("/$path", @body); is($m->{status}, 201, "one of $path") or diag $m->{content}; return $m->{json}{data}{id}; }
my %made = map { $_->[0] => made($_->[0], json => $_->[1]) } (
	[ 'saved-queries', { name => 'q', q => 'level=error' } ], [ services => { name => 's', match => 'service=s' } ],
	[ 'alert-rules', { name => 'r', query => '*', enabled => JSON::PP::false,
		condition => { kind => 'count', op => '>', threshold => 1 } } ],
	[ dashboards => { name => 'd', panels => [] } ], [ pipelines => { name => 'p', processors => [] } ],
	[ 'scheduled-exports', { name => 'e', q => '*', format => 'csv', delivery => { kind => 'download' }, cron => '0 0 1 1 *', enabled => JSON::PP::false } ]);
$made{kpis} = made('kpis', json => { name => 'k', q => '* | stats count', serviceId => $made{services}, direction => 'lowerIsBetter', warn => 5, critical => 20 });
$t->http(PUT => '/api/v1/lookups/owners', token => $org->{token}, body => "service,team\nshop,a\n", headers => { 'Content-Type' => 'text/csv' });
my $paths = $t->http(GET => '/api/v1/openapi.json')->{json}{paths};
my @tagged = grep { $paths->{$_}{get}{responses}{304} && !m{/(?:openapi\.json|config|roles|status)$} } sort keys %$paths;
is(scalar @tagged, 16, 'resources and their lists');
foreach my $path (@tagged)
{
	my ($kind, $one) = $path =~ m{^/api/v1/([\w-]+)(/\{)?};
	my $id = $kind eq 'lookups' ? 'owners' : $made{$kind};
	my $asked = $path =~ s/\{\w+\}/$id/r;
	my %as = (token => $org->{token});
	$r = $t->http(GET => $asked, %as);
	my $tag = $r->{headers}{etag} // '';
	my $version = $one && $kind ne 'lookups' ? '1-' : '';
	like($tag, qr{^W/"$version[0-9a-f]{32}"$}, "$path: a tag");
	is($r->{headers}{'cache-control'}, 'no-store', 'no cache keeps it');
	is($t->http($_ => $asked, %as, headers => { 'If-None-Match' => $tag, 'Accept-Encoding' => 'gzip' })->{status}, 304, "304: $_") foreach qw(GET HEAD);
	is($t->http(GET => $asked, %as, headers => { 'If-None-Match' => '"x"' })->{status}, 200, '200 for another tag');
	is($t->http(GET => $asked, token => $org->{ingest_key}, headers => { 'If-None-Match' => $tag })->{status}, 403, 'a tag is no right');
	next unless $version;
	is($t->http(PATCH => $asked, %as, json => { name => 'other' }, headers => { 'If-Match' => $tag })->{status}, 200, 'the tag is an If-Match');
	is($t->http(PATCH => $asked, %as, json => { name => 'third' }, headers => { 'If-Match' => $tag })->{status}, 412, 'of one version');
	is($t->http(GET => $asked, %as, headers => { 'If-None-Match' => $tag })->{status}, 200, 'which is no more');
}
# A gzip answer has the tag of the plain one, which is weak.
post('/saved-queries', json => { name => "query $_", q => 'level=error ' . 'x' x 300 }) foreach 1 .. 5;
my @both = map { $t->http(GET => '/api/v1/saved-queries', token => $org->{token}, headers => { 'Accept-Encoding' => $_ }) } 'gzip', 'identity';
is($both[0]{headers}{'content-encoding'}, 'gzip', 'a long list is compressed');
is($both[0]{headers}{etag}, $both[1]{headers}{etag}, 'its tag is that of the plain one');
like($both[0]{headers}{vary}, qr/Accept-Encoding/, 'which the header Vary says');
isnt($t->http(GET => '/api/v1/saved-queries', token => $org->{token}, headers => { Accept => 'text/csv' })->{headers}{etag},
	$both[1]{headers}{etag}, 'as CSV it has another');

is(get('/members')->{headers}{etag}, undef, 'what changes by itself has none');
is(get('/members')->{headers}{'cache-control'}, 'no-store', 'and is not kept');

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
	headers => \%headers, undescribed => 1);
is($r->{status}, 299, 'a status of its own');
is($r->{content}, 'viewer;{a,b};{role,roles,flag,since};true;1767225600;127.0.0.1;test/1;'
	. 'https://example.org;false;logsvc_reader', 'values, and what the request was');
is($r->{headers}{'content-type'}, 'text/csv', 'a content type of its own');
is($r->{headers}{'x-one'}, '1', 'a header');
is_deeply($r->{headers}{'set-cookie'}, [ 'a=b', 'c=d' ], 'and one with two values');

# ---- the client's address ----

$t->set('logsvc.trusted_proxies', '127.0.0.0/8, 198.51.100.0/24');
ok(wait_until(sub { get('/members', headers => \%headers, undescribed => 1)->{content} =~ /203\.0\.113\.7;test/ }),
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
