# IP allow-lists: every credential of an organization on every route is refused
# from an address that is not in its list, and nobody locks himself out by mistake.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf =>
	"listen_addresses = '127.0.0.1'\nlogsvc.trusted_proxies = '127.0.0.1'\n"
	  . "logsvc.model_region = 'eu-central-1'");
my $org = $t->organization('acme', plan => 'pro');
my $other = $t->organization('other', plan => 'pro');
my $session = $t->session($org->{email});
my @rows = (rows => ['ok'], criteria => 'Errors.',
	expectedItems => [ { id => 'a', description => 'Errors.' } ]);

# A request that comes from an address, behind our proxy: status and code.
sub from
{
	my ($address, $method, $path, %opt) = @_;
	$opt{headers} = { %{ $opt{headers} // {} }, 'X-Forwarded-For' => $address } if defined $address;
	my $r = $t->http($method, $path, %opt);
	$t->{last} = $r;
	return $r->{status} . ($r->{json} && $r->{json}{code} ? " $r->{json}{code}" : '');
}

my $path = '/api/v1/ip-allowlist';
my @owner = (token => $org->{token});
sub entries { return { entries => [ map { { network => $_ } } @_ ] } }
sub networks { return join ',', map { $_->{network} } @{ $t->{last}{json}{data}{entries} } }

# ---- the list itself ----

is(from('198.51.100.7', GET => $path, @owner), '200', 'the list');
is_deeply($t->{last}{json}, { data => { entries => [], callerAddress => '198.51.100.7' } },
	'is empty at first');
is(from(undef, GET => $path, token => $org->{$_}), '403 INSUFFICIENT_SCOPE', "not with the $_")
  foreach qw(read_key ingest_key);
is(from(undef, GET => $path, token => $org->{full_key}), '200',
	'a key with full access manages it');

foreach my $bad (
	[ {}, 'entries' ],
	[ { entries => {} }, 'entries' ],
	[ { entries => ['192.0.2.0/24'] }, 'entries[0]' ],
	[ { entries => [ { network => '192.0.2.0/24', x => 1 } ] }, 'entries[0].x' ],
	[ { entries => [ {} ] }, 'entries[0].network' ],
	[ { entries => [ { network => '192.0.2.0/24', note => 1 } ] }, 'entries[0].note' ],
	[ { entries => [ { network => '192.0.2.0/24', note => 'x' x 201 } ] }, 'entries[0].note' ],
	[ entries('127.0.0.1', '127.0.0.1/32'), 'entries[1].network' ],
	[ entries('127.0.0.1', '::ffff:127.0.0.1'), 'entries[1].network' ],
	[ entries(map { "10.0.0.$_" } 1 .. 101), 'entries' ],
	(map { [ entries($_), 'entries[0].network' ] }
		'', '10', '10/8', '10.1', '192.0.2.0/33', '192.0.2.7/24', '192.0.2.256', '010.0.0.1',
			'2001:db8::/129',
		'2001:db8::1/32', 'example.org', '192.0.2.1-192.0.2.9', '::ffff:0.0.0.1/96'))
{
	my ($body, $where) = @$bad;
	is(from(undef, PUT => $path, @owner, json => $body), '400 VALIDATION_ERROR', 'refused: '
		. json_encode($body));
	is($t->{last}{json}{details}[0]{path}, $where, '... and says where');
}

# ---- nobody locks himself out by mistake ----

is(from('198.51.100.7', PUT => $path, @owner, json => entries('192.0.2.0/24')),
	'400 VALIDATION_ERROR',
	'a list without one\'s own address is refused');
is($t->{last}{json}{details}[0]{code}, 'excludes_caller', '... for that');
like($t->{last}{json}{error}, qr/198\.51\.100\.7/, '... and names the address');
is($t->sql('SELECT count(*) FROM logsvc_internal.ip_allowlist'), '0', '... and sets nothing');

is(from('192.0.2.7', PUT => $path, @owner, json => { entries => [
		{ network => '192.0.2.0/24', note => ' Office ' }, { network => '2001:DB8::/32' },
		{ network => '::ffff:203.0.113.0/121', note => undef } ] }), '200',
			'a list with it is taken');
is(networks(), '192.0.2.0/24,203.0.113.0/25,2001:db8::/32', 'networks as they are written');
is($t->{last}{json}{data}{entries}[0]{note}, 'Office', 'a note');
like($t->{last}{json}{data}{entries}[0]{createdAt}, qr/^\d{4}-.*Z$/, 'a time');
is($t->sql("SELECT e.details::text FROM logsvc_internal.audit_entry e WHERE action = "
	. "'organization.settings_updated'"),
	'{"ipAllowlist": {"to": ["192.0.2.0/24", "2001:db8::/32", "203.0.113.0/25"], "from": []}}',
		'audited');
is(from('192.0.2.7', PUT => $path, @owner, json => { entries => $t->{last}{json}{data}{entries} }),
	'200',
	'what was shown can be sent back');
is($t->sql("SELECT count(*) FROM logsvc_internal.audit_entry e WHERE action = "
	. "'organization.settings_updated'"),
	'1', '... which is no change');

# ---- every credential, on every kind of route ----

my @everything = (
	[ 'token: search', GET => '/api/v1/search?q=*', @owner ],
	[ 'token: ingest', POST => '/api/v1/logs', @owner, json => { event => 'x' } ],
	[ 'token: batch', POST => '/api/v1/logs/batch', @owner, json => [ { event => 'x' } ] ],
	[ 'token: evaluation', POST => '/api/v1/evaluations/run-adhoc', @owner, json => {@rows} ],
	[ 'token: evaluation of a search', POST => '/api/v1/evaluations/run-adhoc', @owner,
		json => { @rows[ 2 .. 5 ], query => '*' } ],
	[ 'token: its organizations', GET => '/api/v1/organizations', @owner ],
	[ 'token: planned', GET => '/scim/v2/Users', @owner ],
	[ 'full key: search', GET => '/api/v1/search?q=*', token => $org->{full_key} ],
	[ 'read key: indexes', GET => '/api/v1/indexes', token => $org->{read_key} ],
	[ 'ingest key: ingest', POST => '/api/v1/logs', token => $org->{ingest_key},
		json => { event => 'x' } ],
	[ 'X-API-Key', GET => '/api/v1/usage', headers => { 'X-API-Key' => $org->{read_key} } ],
	[ 'session: members', GET => '/api/v1/members', session => $session, organization => 'acme' ],
	[ 'session: by id', GET => '/api/v1/usage', session => $session, organization => $org->{id} ],
	[ 'session: itself, in the organization', GET => '/api/v1/auth/session', session => $session,
		organization => 'acme' ],
	[ 'the list', GET => $path, @owner ],
	[ 'mending the list', PUT => $path, @owner, json => { entries => [], force => \1 } ],
);
foreach my $case (@everything)
{
	my ($name, @request) = @$case;
	is(from('198.51.100.7', @request), '403 IP_NOT_ALLOWED', "$name: refused from elsewhere");
}
foreach my $case (grep { $_->[0] ne 'mending the list' } @everything)
{
	my ($name, @request) = @$case;
	like(from('192.0.2.200', @request), qr/^(20\d|501)/, "$name: from the list");
}
is(from('198.51.100.7', GET => '/api/v1/auth/session', session => $session), '200',
	'a session that acts in no organization comes from everywhere');
is(from('198.51.100.7', GET => '/api/v1/search?q=*', token => $other->{token}), '200',
	'other organizations do not mind');
is(from('198.51.100.7', GET => '/healthz', @owner), '200', 'nor public routes');
is(from('198.51.100.7', GET => '/api/v1/usage', token => 'pat_' . 'x' x 40), '401 INVALID_PAT',
	'an unknown credential is unknown first');
is(from('198.51.100.7', GET => '/api/v1/members', token => $org->{read_key}), '403 IP_NOT_ALLOWED',
	'the address comes before the scope');

# ---- addresses ----

my @search = (GET => '/api/v1/usage', @owner);
is(from($_, @search), '200', "in the list: $_")
  foreach '192.0.2.0', '192.0.2.255', '::ffff:192.0.2.1', '[::ffff:c000:0201]:4711',
  '2001:db8:ffff::1',
  '203.0.113.9:80', '203.0.113.127', '198.51.100.7, 192.0.2.1',
  '198.51.100.7, 192.0.2.1, 127.0.0.1';
is(from($_, @search), '403 IP_NOT_ALLOWED', "not in the list: $_")
  foreach '192.0.1.255', '192.0.3.0', '203.0.113.128', '::ffff:198.51.100.7', '2001:db9::1',
  '::192.0.2.1', '127.0.0.1',
  '192.0.2.1, 198.51.100.7', 'nonsense', '192.0.2.1, nonsense';
is(from(undef, @search), '403 IP_NOT_ALLOWED', 'nor the proxy itself');

# Who is no trusted proxy may say what he likes.
$t->set('logsvc.trusted_proxies', '10.0.0.0/8');
ok(wait_until(sub { from('192.0.2.1', @search) eq '403 IP_NOT_ALLOWED' }),
	'a forged header is not believed');
is(from('192.0.2.1', POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'x' }),
	'403 IP_NOT_ALLOWED', '... for ingest neither');
$t->sql("SELECT logsvc.set_ip_allowlist('[{\"network\": \"127.0.0.1\"}]', organization => 'acme')");
is(from('192.0.2.1', @search), '200', 'without a proxy the peer counts, at once after a change');

# ---- SQL sessions ----

# What it prints, or its SQLSTATE; over a local socket, or TCP from $host.
sub in_sql
{
	my ($sql, $host) = @_;
	my ($out, $err);
	$t->node->psql('postgres', "\\set VERBOSITY sqlstate\n$sql", stdout => \$out, stderr => \$err,
		$host ? (connstr => $t->node->connstr('postgres') =~ s/host=\S+/host=$host/r) : (),
			on_error_stop => 1);
	return $err =~ /ERROR:\s+(\w{5})/ ? $1 : $out;
}
my $use = "SELECT logsvc.use_token('$org->{token}') ->> 'kind';";
is(in_sql($use, '127.0.0.1'), 'token', 'a token in an SQL session from the list');
$t->sql("SELECT logsvc.set_ip_allowlist('[{\"network\": \"192.0.2.0/24\"}]', "
	. "organization => 'acme')");
is(in_sql($use, '127.0.0.1'), 'LS205', '... and from elsewhere');
is(in_sql($use), 'token', 'a local socket has no address: it is on the server');
is(in_sql("SELECT logsvc.act_as('acme') ->> 'kind'", '127.0.0.1'), 'operator',
	'operators act from everywhere');
is(in_sql("SELECT logsvc.act_as('acme', '$org->{email}') ->> 'kind'; SELECT logsvc.usage() IS NULL",
	'127.0.0.1'),
	"user\nf", '... also as a member');
$t->sql("SELECT logsvc.set_ip_allowlist('[]', organization => 'acme')");
is(in_sql("BEGIN; $use SET ROLE logsvc_tenant; SELECT "
	. "logsvc.set_ip_allowlist('[{\"network\": \"192.0.2.0/24\"}]')",
	'127.0.0.1'), 'LS001', 'the guard knows the SQL client\'s address');
is(in_sql("$use RESET ROLE; INSERT INTO logsvc_internal.ip_allowlist SELECT id, '192.0.2.0/24' "
	. "FROM logsvc_internal.organization"
	  . " WHERE slug = 'acme'; SELECT logsvc_internal.current_organization()", '127.0.0.1'),
	  'LS205',
	'a list that is changed ends what a session may do');

# ---- force, the operator, deletion ----

is(from(undef, @search), '403 IP_NOT_ALLOWED', 'locked out');
$t->sql("SELECT logsvc.set_ip_allowlist('[]', organization => 'acme')");
is(from(undef, @search), '200', 'the operator mends it');
is(from(undef, PUT => $path, @owner, json => { %{ entries('192.0.2.0/24') }, force => \1 }),
	'200', 'by force');
is(from(undef, @search), '403 IP_NOT_ALLOWED', '... one locks oneself out');

$t->stop;
done_testing;
