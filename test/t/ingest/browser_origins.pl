# browser_origins.pl: pages of logsvc.ingest_origins may send events with an ingest-only key (CORS),
# and nothing else: no other route, no other credential, no cookie.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => 'logsvc.acceptors = 1');
my $org = $t->organization('acme');
my $shop = 'https://shop.example.org';

# An answer's headers about origins, and its status.
sub cors
{
	my ($method, $path, %opt) = @_;
	my $origin = delete $opt{origin};
	my $r = $t->http($method => $path, %opt,
		headers => { %{ $opt{headers} // {} }, defined $origin ? (Origin => $origin) : () });
	my @about = grep { /^access-control/ || ($_ eq 'vary' && $r->{headers}{$_} =~ /Origin/) }
		sort keys %{ $r->{headers} };
	return ($r, join ', ', $r->{status}, map { s/access-control-//r } @about);
}

sub preflight
{
	my ($path, $origin, $wanted) = @_;
	return cors(OPTIONS => $path, origin => $origin, headers => {
		'Access-Control-Request-Method' => $wanted // 'POST',
		'Access-Control-Request-Headers' => 'authorization,content-type' });
}

sub send_from
{
	my ($origin, %opt) = @_;
	return cors(POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'x' },
		origin => $origin, %opt);
}

# Sets the origins, and waits until the gateway and the acceptor know.
sub share_with
{
	my ($origins) = @_;
	my $shared = $origins ne '';
	$t->set('logsvc.ingest_origins' => $origins);
	ok(wait_until(sub { ((preflight('/api/v1/logs', $shop))[1] ne '204') == $shared
		&& ((send_from($shop, token => $org->{full_key}))[0]{status} == 403) == $shared }),
		"origins: $origins");
	return;
}

# ---- off by default ----

my ($r, $says) = preflight('/api/v1/logs', $shop);
is($says, 204, 'by default a preflight says nothing about origins');
($r, $says) = send_from($shop);
is($says, 202, 'nor does an answer');

# ---- one origin ----

share_with("http://other.example.org:8000, $shop/");
($r, $says) = preflight('/api/v1/logs', $shop);
is($says, '204, allow-headers, allow-methods, allow-origin, max-age, vary', 'a preflight');
is_deeply([ @{ $r->{headers} }{qw(access-control-allow-origin access-control-allow-methods vary)} ],
	[ $shop, 'POST', 'Origin' ], 'says which origin and method');
like($r->{headers}{'access-control-allow-headers'}, qr/\b$_\b/i, "and $_")
  foreach qw(Authorization X-API-Key Content-Type Content-Encoding Idempotency-Key X-Logsvc-Index);
is((preflight($_, $shop))[0]{headers}{'access-control-allow-origin'}, $shop, "$_ too")
  foreach qw(/api/v1/logs/batch /v1/logs /loki/api/v1/push /_bulk /web/_bulk);
($r, $says) = send_from($shop);
is($says, '202, allow-origin, expose-headers, vary', 'an answer');
is($r->{headers}{'access-control-allow-origin'}, $shop, 'to that origin');
is((send_from('http://other.example.org:8000'))[1], '202, allow-origin, expose-headers, vary',
	'to the other one');
is((send_from($shop, json => { event => '' }))[1], '400, allow-origin, expose-headers, vary',
	'pages read refusals');
is((send_from($shop, token => 'ing_live_x'))[1], '401, allow-origin, expose-headers, vary',
	'also of who is unknown');
is((cors(POST => '/api/v1/logs', token => $org->{ingest_key}, origin => $shop,
	body => 'x' x (10 * 1024 * 1024 + 1)))[1], '413, allow-origin, expose-headers, vary', 'and of the gateway');

# ---- other origins, other routes ----

foreach my $origin ('https://evil.example.org', "$shop.evil.org", 'http://shop.example.org',
	"$shop:8443", 'null', "$shop/x", 'https://shop.example.org@evil.org', '*', 'https://')
{
	is((preflight('/api/v1/logs', $origin))[1], 204, "$origin: nothing");
	is((send_from($origin))[1], 202, "$origin: nothing in an answer");
}
foreach my $path (qw(/api/v1/search /api/v1/api-keys /api/v1/auth/sign-in
	/api/v1/evaluations/run-adhoc /api/v1/organizations /healthz /nowhere))
{
	is((preflight($path, $shop))[1] =~ s/^\d+//r, '', "$path is not shared");
}
is((cors(GET => '/api/v1/logs', token => $org->{read_key}, origin => $shop))[1], 200,
	'reading is not shared, on the path of a shared route either');
is((cors(POST => '/api/v1/search', token => $org->{read_key}, json => { q => 'x' },
	origin => $shop))[1], 200, 'nor on a route of its own');

# ---- other credentials ----

foreach my $who (qw(full_key token))
{
	($r, $says) = send_from($shop, token => $org->{$who});
	is("$says $r->{json}{code}", '403, allow-origin, expose-headers, vary FORBIDDEN',
		"$who in a page of another origin");
	is((send_from('https://evil.example.org', token => $org->{$who}))[1], 202,
		"$who: an origin that is not shared means nothing");
	is((send_from(undef, token => $org->{$who}))[1], 202, "$who without an origin");
}
my $session = $t->session($org->{email});
my %cookie = $t->session_headers($session, $org->{id});
delete $cookie{Origin};
($r, $says) = send_from($shop, token => undef, headers => \%cookie);
is("$says $r->{json}{code}", '403, allow-origin, expose-headers, vary FORBIDDEN',
	'a cookie does not count for a page of another origin');
is($r->{headers}{'access-control-allow-credentials'}, undef, 'which is never told that it does');
is((cors(POST => '/api/v1/logs', json => { event => 'x' }, headers => \%cookie,
	origin => 'http://127.0.0.1:' . $t->http_port))[1], 202, 'a page of ours may go on');
my $test_key = $t->sql_json("SELECT logsvc.create_api_key('acme', 't', 'ingest-only', 'test')")->{key};
is((send_from($shop, token => $test_key))[1], '202, allow-origin, expose-headers, vary', 'a test key');

# ---- all origins ----

share_with('*');
foreach my $origin ('null', 'https://evil.example.org', 'garbage " \\ x')
{
	($r, $says) = send_from($origin);
	is("$says $r->{headers}{'access-control-allow-origin'}",
		'202, allow-origin, expose-headers, vary *', "*: $origin");
}
is((send_from($shop, token => $org->{full_key}))[0]{status}, 403, '*: ingest-only keys only');
is((send_from($shop, token => undef, headers => \%cookie))[0]{status}, 403, '*: and no cookies');
share_with('');
is((send_from($shop))[1], 202, 'off again');

$t->stop;
done_testing;
