# What a credential makes has at most the rights and the life of its maker: keys,
# invitations, roles.  And a test key is a key for index _test and nothing else.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new;
my $org = $t->organization('acme');

sub token
{
	my ($email, $scopes, $expires) = @_;
	my $list = join ',', map { "'$_'" } @$scopes;
	return $t->sql_json("SELECT logsvc.create_token('acme', '$email', 't', ARRAY[$list]::text[], "
		  . ($expires ? "'$expires'" : 'NULL') . ')')->{token};
}

sub key
{
	my ($scope, $kind, $expires) = @_;
	return $t->sql_json("SELECT logsvc.create_api_key('acme', 'k', '$scope', '$kind', "
		  . ($expires ? "'$expires'" : 'NULL') . ')')->{key};
}

# Status and code of a request as the holder of a credential.
sub answer
{
	my ($token, $method, $path, $body) = @_;
	my $r = $t->http($method => "/api/v1$path", token => $token, defined $body
		? (json => $body) : ());
	return $r->{status} . ($r->{json} && $r->{json}{code} ? " $r->{json}{code}" : '');
}

# The same from SQL, where no gateway comes first: '' or the SQLSTATE.
sub in_sql
{
	my ($token, $statement) = @_;
	return ($t->sql_error("SELECT FROM (SELECT logsvc.use_token('$token')) AS u; SET ROLE "
		. "logsvc_tenant; $statement"))[1]
	  // '';
}

my $number = 0;

sub makes_key
{
	my ($token, $scope, $kind, $expires) = @_;
	my $by_http = answer($token, POST => '/api-keys', { name => 'k' . $number++, scope => $scope,
		kind => $kind,
			defined $expires ? (expiresAt => $expires) : () });
	my $by_sql = in_sql($token, "SELECT logsvc.create_api_key('acme', 'k', '$scope', '$kind', "
		  . (defined $expires ? "'$expires'" : 'NULL') . ')');
	return "$by_http $by_sql" =~ s/ $//r;
}

my %email = (owner => $org->{email});
foreach my $role (qw(admin viewer))
{
	$email{$role} = "$role\@acme.org";
	$t->sql("SELECT logsvc.create_user('$email{$role}'); SELECT "
		. "logsvc.add_member('acme', '$email{$role}', '$role')");
}

# ---- keys have at most the maker's rights ----

my $few = '403 INSUFFICIENT_SCOPE LS201';
my $alone = token($email{owner}, ['keys:write']);
foreach my $scope (qw(ingest-only read-only full-access))
{
	is(makes_key($alone, $scope, $_), $few, "keys:write alone makes no $_ key of scope $scope")
		foreach qw(live test);
}
my $reader = token($email{owner}, [qw(keys:write logs:read)]);
is(makes_key($reader, 'read-only', 'live'), '201', 'with logs:read it makes those that read');
is(makes_key($reader, 'read-only', 'test'), '201', 'test keys too');
is(makes_key($reader, 'ingest-only', 'live'), $few, 'and none that write');
my $all = token($email{admin}, [ $t->scopes ]);
is(makes_key($all, $_, 'live'), '201', "who has all scopes makes $_ keys")
	foreach qw(ingest-only read-only full-access);
my $r = $t->http(POST => '/api/v1/api-keys', token => $reader,
	json => { name => 'x', scope => 'full-access' });
like($r->{content}, qr/alerts:write/, 'the answer says which rights are too many');
is(makes_key($org->{full_key}, 'full-access', 'live'), '201', 'a key makes its like');

# ---- and at most its life ----

my $end = '2031-01-01T00:00:00Z';
foreach my $maker ([ 'a token' => token($email{owner}, [ $t->scopes ], $end) ],
	[ 'a key' => key('full-access', 'live', $end) ])
{
	my ($name, $token) = @$maker;
	is(makes_key($token, 'read-only', 'live'), '400 VALIDATION_ERROR LS001',
		"$name that ends makes no key that does not");
	is(makes_key($token, 'read-only', 'live', '2031-01-01T00:00:01Z'), '400 VALIDATION_ERROR LS001',
		'... nor one that ends later');
	is(makes_key($token, 'read-only', 'live', $end), '201', '... but one that ends with it');
	my $answer = $t->http(POST => '/api/v1/api-keys', token => $token,
		json => { name => 'x', scope => 'read-only' })->{json};
	is($answer->{details}[0]{path}, 'expiresAt', '... the answer names the member');
	like($answer->{error}, qr/2031-01-01T00:00:00/, '... and the limit');
}
my $session = $t->session($email{admin});
is($t->http(POST => '/api/v1/api-keys', session => $session, organization => 'acme',
		json => { name => 'by a person', scope => 'full-access' })->{status}, 201,
			'people are bound by their role alone');

# ---- roles that are given ----

sub invites
{
	my ($token, $role) = @_;
	my $address = 'i' . $number++ . '@example.org';
	my $by_http = answer($token, POST => '/invitations', { email => $address, role => $role });
	my $by_sql = in_sql($token, "SELECT logsvc.invite('acme', 'x$address', '$role')");
	return "$by_http $by_sql" =~ s/ $//r;
}
my $inviter = token($email{owner}, [qw(members:read members:write)]);
is(invites($inviter, $_), $few, "members:write alone invites no $_")
	foreach qw(owner admin member viewer);
is(invites(token($email{admin}, [ $t->scopes ]), 'owner'), '403 FORBIDDEN LS202',
	'an admin invites no owner');
is(invites($all, $_), '201', "... but a $_") foreach qw(admin member viewer);
is(invites($org->{token}, 'owner'), '201', 'an owner does');
is(invites($org->{full_key}, $_), '403 FORBIDDEN LS202', "a key invites no $_")
	foreach qw(owner admin);
is(invites($org->{full_key}, $_), '201', "... but a $_") foreach qw(member viewer);
my ($viewer) = map { $_->{id} } grep { $_->{email} eq $email{viewer} }
  @{ $t->http(GET => '/api/v1/members', token => $org->{token})->{json}{data} };
is(answer($inviter, PATCH => "/members/$viewer", { role => 'admin' }), '403 INSUFFICIENT_SCOPE',
	'nor does it change a role to that');
is(answer($org->{full_key}, PATCH => "/members/$viewer", { role => 'admin' }), '403 FORBIDDEN',
	'a key does not');
is(answer($all, PATCH => "/members/$viewer", { role => 'member' }), '200', 'an admin does');
my $invitation = $t->http(POST => '/api/v1/invitations', token => $all,
	json => { email => 'again@example.org', role => 'admin' })->{json}{data}{id};
is(answer($inviter, POST => "/invitations/$invitation/resend"), '403 INSUFFICIENT_SCOPE',
	'nor sends one again');
is(answer($all, POST => "/invitations/$invitation/resend"), '200', 'who may, does');

# ---- test keys ----

my $test = key('full-access', 'test');
is(in_sql($test, "SELECT $_->[0]"), $_->[1], "a full-access test key: $_->[0]")
  foreach [ "logsvc.create_api_key('acme', 'k', 'ingest-only')", 'LS201' ],
  [ "logsvc.update_index('main', 1)", 'LS201' ],
  [ "logsvc.invite('acme', 'y\@example.org', 'viewer')", 'LS201' ],
  [ 'logsvc.list_members()', 'LS201' ],
  [ 'logsvc.usage()', 'LS201' ], [ 'logsvc.usage_history()', 'LS201' ],
  [ "logsvc.get_index('main')", 'LS302' ],
  [ "logsvc.get_index('_test')", '' ], [ 'logsvc.list_dead_letters()', 'LS201' ],
  [ "logsvc.discard_dead_letters('x', filter => '{}')", 'LS201' ], [ "logsvc.log('x')", '' ],
  [ "logsvc.search('*')", '' ], [ "logsvc.delete_logs('index=_test earliest=-1h', 'x', true)", '' ];
is($t->sql("SELECT FROM (SELECT logsvc.use_token('$test')) AS u;"
		  . "SELECT logsvc.whoami() ->> 'permissions'"),
		  '["logs:read", "logs:write", "logs:export"]', 'that is all of its rights');
is(join(' ', map { $_->{name} } @{ $t->http(GET => '/api/v1/indexes', token => $test)->{json}{data}
	}), '_test', 'it sees its index only');
is(answer($test, GET => '/indexes/main'), '404 INDEX_NOT_FOUND', 'there is no other');
my $live = $t->http(DELETE => '/api/v1/logs', token => $org->{token},
	json => { q => 'index=main earliest=-1h', reason => 'x' })->{json}{data}{runId};
my $own = $t->http(DELETE => '/api/v1/logs', token => $test,
	json => { q => 'index=_test earliest=-1h', reason => 'x' })->{json}{data}{runId};
is(join(' ', map { $_->{runId} } @{ $t->http(GET => '/api/v1/log-deletions',
	token => $test)->{json}{data} }), $own, 'and deletions of its own');
is(answer($test, GET => "/log-deletions/$live"), '404 NOT_FOUND', 'others are none');
is(answer($test, DELETE => '/logs', { q => 'index=main earliest=-1h', reason => 'x' }),
	'404 INDEX_NOT_FOUND', 'what is live it cannot delete');

# ---- a right that the service lacks ----

my $function = 'logsvc.list_members(text, integer, text)';
my $position = $t->log_position;
$t->sql("REVOKE EXECUTE ON FUNCTION $function FROM logsvc_reader");
is(answer($org->{token}, GET => '/members'), '500 INTERNAL_ERROR', 'its caller learns nothing of it');
like($t->log_text($position), qr/logsvc request \w+ failed: permission denied for function list_members/,
	'the log names the function');

$t->stop;
done_testing;
