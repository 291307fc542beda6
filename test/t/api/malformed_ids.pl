# malformed_ids.pl: an id or name in a path that cannot be one is answered as one that is not there:
# 404 on each route, and nothing is changed.  A path with a NUL is no well-formed request: 400.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.listen_addresses = '127.0.0.1'\nlogsvc.limits = 'generous'");
my $org = $t->organization('acme');
my %session = (session => $t->session($org->{email}), organization => $org->{slug});

my $uuid = '01890a5d-ac96-774b-bcce-b302099a805';
my @odd = ('abc', '0', '-1', '9223372036854775808', '1%00', '%00', '%20', '%2e%2e', '%ff%fe', '%27%3B--', $uuid, "${uuid}7",
	'x' x 2000, 'null', '%F0%9F%90%98');
# One character more, less, another prefix, small letters, beyond 128 bits.
my %prefix = ('organizations' => 'org', members => 'usr', 'api-keys' => 'key', tokens => 'tok', logs => 'evt',
	'saved-queries' => 'sq', services => 'svc', kpis => 'kpi', 'alert-rules' => 'rule', alerts => 'alr',
	dashboards => 'dash', 'scheduled-exports' => 'exp', exports => 'run', pipelines => 'pipe');
sub near
{
	my ($path) = @_;
	my $p = $prefix{ ($path =~ m{^/api/v1/([\w-]+)})[0] // '' } // 'x';
	return ("${p}_", "${p}_" . '0' x 25, "${p}_" . '0' x 27, "${p}_" . 'Z' x 26, "${p}_" . 'u' x 26, 'nope_' . '0' x 26,
		"${p}_0%00" . '0' x 24);
}

# What a route needs beside the id, so that the id is what is wrong.
my %body = (
	'/api/v1/lookups/{name}' => { csv => 'a,b' }, '/api/v1/members/{id}' => { role => 'viewer' }, '/api/v1/tokens/{id}' => { aiCreditLimit => 5 },
	'/api/v1/dashboards/{id}/share' => { kind => 'org' },
	'/api/v1/dashboards/{id}' => { name => 'x' }, '/api/v1/organizations/{id}' => { name => 'x' },
	'/api/v1/saved-queries/{id}' => { name => 'x' }, '/api/v1/services/{id}' => { name => 'x' },
	'/api/v1/kpis/{id}' => { name => 'x' }, '/api/v1/alert-rules/{id}' => { name => 'x' },
	'/api/v1/scheduled-exports/{id}' => { name => 'x' }, '/api/v1/pipelines/{id}' => { name => 'x' });

sub said
{
	my ($r) = @_;
	my $d = ($r->{json}{details} // [])->[0] // {};
	return join ' ', $r->{status}, $r->{json}{code} // '-', map { $_ // () } @{$d}{qw(path code)};
}
sub uri_unescape { my ($s) = @_; $s =~ s/%([0-9a-fA-F]{2})/chr hex $1/ge; utf8::decode($s); return $s; }
my %others;
my $n = 0;
my $routes = slurp_file('src/gateway/routes.def');
while ($routes =~ /^LS_ROUTE\(\w+,\s*"(\w+)",\s*"([^"]*\{(\w+)\}[^"]*)",\s*"([^"]*)"/mg)
{
	my ($method, $path, $credentials) = ($1, $2, $4);
	# Ids of Elasticsearch's routes and names of new tables are the client's own, names of fields any text; SCIM is not there yet.
	next if "$method $path" =~ m{^PUT .*/lookups|\{index\}| /scim/|/fields/|/label/|/oauth/};
	my $query = $method eq 'DELETE' && $path =~ /organizations/ ? '?confirm=acme' : '';
	my @who = $credentials =~ /T/ ? (token => $org->{token}) : %session;
	my %answers;
	foreach my $id (@odd, near($path))
	{
		my $asked = $path =~ s/\{\w+\}/$id/r;
		my $r = $t->http($method => "$asked$query", @who, $method eq 'GET' || $method eq 'DELETE' ? () : (json => $body{$path} // {}));
		$r->{json}{code} =~ s/^INDEX_(?=NOT_FOUND)// if $path =~ /indexes/ && $r->{json}{code};
		my $d = ($r->{json}{details} // [])->[0] // {};
		push @{ $answers{ $id =~ /%00/ ? 'NUL' : 'other' }{ join ' ', $r->{status}, $r->{json}{code} // '-', map { $_ // () } @{$d}{qw(path code)} } }, substr $id, 0, 40;
	}
	is(join(', ', sort keys %{ $answers{other} }), '404 NOT_FOUND', "$method $path") or diag explain $answers{other};
	is(join(', ', keys %{ $answers{NUL} }), '400 VALIDATION_ERROR', "$method $path with a NUL");
	$n++;
}
# Ids in a query string or a body are arguments: what is wrong with them is named.
foreach my $id (map { uri_unescape($_) } grep { !/%(?:00|ff)/ } @odd, near('/api/v1/alert-rules'))
{
	push @{ $others{ruleId}{ said($t->http(GET => '/api/v1/alerts', token => $org->{token}, query => { ruleId => $id })) } }, $id;
	push @{ $others{savedQueryId}{ said($t->http(POST => '/api/v1/alert-rules', token => $org->{token},
		json => { name => 'x', savedQueryId => $id, condition => { kind => 'absence' } })) } }, $id;
}
is(join(', ', sort keys %{ $others{ruleId} }), '404 NOT_FOUND', 'ruleId');
is(join(', ', sort keys %{ $others{savedQueryId} }), '400 VALIDATION_ERROR savedQueryId invalid', 'savedQueryId');
cmp_ok($n, '>', 50, 'routes with an id');
is($t->sql("SELECT count(*) FROM logsvc_internal.organization WHERE deleted_at IS NULL AND slug = 'acme'"), 1, 'the organization is still there');

$t->stop;
done_testing;
