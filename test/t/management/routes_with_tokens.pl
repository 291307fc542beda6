# Routes of organizations, members, invitations, keys, indexes, roles and usage,
# with tokens and keys: success, wrong role, foreign ids, validation, limits.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.public_url = 'https://logs.example.org'");
my $org = $t->organization('acme', plan => 'pro');
my $other = $t->organization('other', plan => 'pro');
my %token = (owner => $org->{token}, other => $other->{token}, full => $org->{full_key},
	read => $org->{read_key}, ingest => $org->{ingest_key});
my %member;

foreach my $role (qw(admin member viewer))
{
	my $scopes = join ',', map { "'$_'" } $t->scopes;
	$t->sql("SELECT logsvc.create_user('$role\@acme.org', '$role');"
		  . "SELECT logsvc.add_member('acme', '$role\@acme.org', '$role')");
	$token{$role} = $t->sql_json(
		"SELECT logsvc.create_token('acme', '$role\@acme.org', 't', ARRAY[$scopes])")->{token};
}
$member{ $_->{email} =~ s/@.*//r } = $_->{id}
  foreach @{ $t->http(GET => '/api/v1/members', token => $token{owner})->{json}{data} };
$member{owner} = $member{acme};
my $foreign_member = $t->http(GET => '/api/v1/members',
	token => $other->{token})->{json}{data}[0]{id};

# One request as somebody: its answer.
sub as
{
	my ($who, $method, $path, $body) = @_;
	return $t->http($method => $path =~ m{^/scim} ? $path : "/api/v1$path", token => $token{$who},
		defined $body ? (json => $body) : ());
}

# The same, and what it must answer: a status, or a status and a code.
sub answers
{
	my ($who, $method, $path, $body, $expected, $what) = @_;
	my $r = as($who, $method, $path, $body);
	my $got = $r->{status} . ($r->{json} && $r->{json}{code} ? " $r->{json}{code}" : '');
	is($got, $expected, $what // "$who: $method $path") or diag $r->{content};
	return $r->{json} // {};
}

sub audited
{
	my ($action, $count) = @_;
	is($t->sql("SELECT count(*) FROM logsvc_internal.audit_entry e JOIN "
		. "logsvc_internal.organization o"
			  . " ON o.id = e.organization_id WHERE o.slug = 'acme' AND e.action = '$action'"),
		$count, "audited: $action");
}

# ---- organizations ----

my $mine = "/organizations/$org->{id}";
is_deeply([ map { $_->{slug} } @{ answers(owner => GET => '/organizations', undef, 200)->{data} } ],
	['acme'], 'a token lists the organization that it belongs to');
answers(full => GET => '/organizations', undef, '403 INSUFFICIENT_SCOPE');
answers(owner => POST => '/organizations', { name => 'New' }, '403 INSUFFICIENT_SCOPE');
answers($_ => GET => $mine, undef, 200) foreach qw(owner admin member viewer full);
answers(other => GET => $mine, undef, '404 NOT_FOUND');

my $r = answers(admin => PATCH => $mine, { name => ' Acme Ltd ', timezone => 'Europe/Berlin',
		retentionDays => 14, oauthProviders => ['google'] }, 200);
is_deeply([ @{ $r->{data} }{qw(name timezone retentionDays)} ], [ 'Acme Ltd', 'Europe/Berlin', 14 ],
	'settings are changed');
is_deeply($r->{data}{oauthProviders}, ['google'], 'providers too');
is(answers(full => PATCH => $mine, { retentionDays => undef }, 200)->{data}{retentionDays}, 30,
	'null takes the plan\'s retention again');
is(answers(owner => PATCH => $mine, {}, 200)->{data}{name}, 'Acme Ltd',
	'nothing given, nothing changed');
answers(owner => PATCH => $mine, $_->[0], $_->[1])
  foreach [ { name => '' }, '400 VALIDATION_ERROR' ], [ { name => undef }, '400 VALIDATION_ERROR' ],
  [ { name => 'x' x 201 }, '400 VALIDATION_ERROR' ],
  [ { timezone => 'Mars' }, '400 VALIDATION_ERROR' ],
  [ { timezone => undef }, '400 VALIDATION_ERROR' ],
  [ { timezone => '<+05>-5' }, '400 VALIDATION_ERROR' ],
  [ { timezone => 'CET+1' }, '400 VALIDATION_ERROR' ],
  [ { timezone => 'Europe/Nowhere' }, '400 VALIDATION_ERROR' ],
  [ { retentionDays => 0 }, '400 VALIDATION_ERROR' ],
  [ { retentionDays => 31 }, '403 PLAN_LIMIT_REACHED' ],
  [ { oauthProviders => ['other'] }, '400 VALIDATION_ERROR' ],
  [ { slug => 'x' }, '400 VALIDATION_ERROR' ];
answers($_ => PATCH => $mine, { name => 'x' }, '403 FORBIDDEN') foreach qw(member viewer);
answers(read => PATCH => $mine, { name => 'x' }, '403 INSUFFICIENT_SCOPE');
answers(other => PATCH => $mine, { name => 'x' }, '404 NOT_FOUND');
answers($_ => PATCH => $mine, { plan => 'business' }, '403 INSUFFICIENT_SCOPE')
	foreach qw(owner full);
answers(admin => PATCH => $mine, { plan => 'business' }, '403 FORBIDDEN');
audited('organization.settings_updated', 2);

answers(owner => DELETE => $mine, { confirm => 'Acme Ltd' }, '403 INSUFFICIENT_SCOPE',
	'deletion is for people');
answers(owner => GET => '/billing', undef, '403 INSUFFICIENT_SCOPE');
answers(owner => POST => '/billing/plan', { plan => 'free' }, '403 INSUFFICIENT_SCOPE');

# ---- roles ----

$r = answers(viewer => GET => '/roles', undef, 200);
is_deeply($r->{data}{roles}, [qw(owner admin member viewer)], 'the roles');
my %matrix = map { $_->{permission} => join '',
	map { $_ ? 1 : 0 } @$_{qw(owner admin member viewer)} }
  @{ $r->{data}{permissions} };
is_deeply([ @matrix{qw(logs:read logs:write org:manage billing:manage pipelines:read)} ],
	[qw(1111 1110 1100 1000 1111)], 'and what they may do');
answers(read => GET => '/roles', undef, '403 INSUFFICIENT_SCOPE');

# ---- members ----

is(answers(viewer => GET => "/members/$member{admin}", undef, 200)->{data}{role},
	'admin', 'a member');
answers(owner => GET => "/members/$foreign_member", undef, '404 NOT_FOUND');
answers(owner => GET => '/members/mem_x', undef, '404 NOT_FOUND');
is(answers(admin => PATCH => "/members/$member{member}", { role => 'viewer' }, 200)->{data}{role},
	'viewer',
	'another role');
answers(member => PATCH => "/members/$member{viewer}", { role => 'admin' }, '403 FORBIDDEN');
is(answers(full => PATCH => "/members/$member{member}", { role => 'member' }, 200)->{data}{role},
	'member',
	'and back, by a key');
answers($_ => PATCH => "/members/$member{owner}", { role => 'viewer' }, '403 FORBIDDEN',
	"$_: not an owner's")
  foreach qw(admin full);
answers($_ => PATCH => "/members/$member{member}", { role => 'owner' }, '403 FORBIDDEN',
	"$_: grants no owner")
  foreach qw(admin full);
answers(owner => PATCH => "/members/$member{owner}", { role => 'admin' }, '409 LAST_OWNER');
answers(owner => PATCH => "/members/$member{member}", $_, '400 VALIDATION_ERROR')
  foreach { role => 'king' }, {}, { role => undef }, { role => 'viewer', name => 'x' };
answers(other => PATCH => "/members/$member{member}", { role => 'viewer' }, '404 NOT_FOUND');
answers(owner => PATCH => "/members/$foreign_member", { role => 'viewer' }, '404 NOT_FOUND');
audited('member.role_changed', 2);

answers(member => DELETE => "/members/$member{viewer}", undef, '403 FORBIDDEN');
answers(admin => DELETE => "/members/$member{owner}", undef, '403 FORBIDDEN');
answers(owner => DELETE => "/members/$member{owner}", undef, '409 LAST_OWNER');
answers(other => DELETE => "/members/$member{viewer}", undef, '404 NOT_FOUND');
answers(owner => DELETE => "/members/$foreign_member", undef, '404 NOT_FOUND');
answers(viewer => DELETE => "/members/$member{viewer}", undef, 204, 'everybody may leave');
answers(viewer => GET => '/members', undef, '401 PAT_REVOKED', 'and the tokens end');
answers(admin => DELETE => "/members/$member{member}", undef, 204, 'an admin removes');
answers(member => GET => '/members', undef, '401 PAT_REVOKED', 'with the tokens');
answers(admin => DELETE => "/members/$member{member}", undef, '404 NOT_FOUND', 'once');
audited('member.removed', 2);

# ---- invitations ----

sub link_of
{
	my ($email) = @_;
	return $t->sql("SELECT link FROM logsvc_internal.outbox WHERE recipient = '$email' AND "
		. "template = 'invitation'"
		  . ' ORDER BY created_at DESC LIMIT 1');
}

$r = answers(admin => POST => '/invitations', { email => ' New@Example.org ', role => 'member' },
	201);
my $invitation = $r->{data};
is_deeply([ @$invitation{qw(email role status)} ], [qw(new@example.org member pending)],
	'an invitation');
ok(!exists $invitation->{token}, 'without its token');
like(link_of('new@example.org'), qr{^https://logs\.example\.org/invitations/accept#t=\w{40}$},
	'which goes by mail');
is($invitation->{link}, link_of('new@example.org'), 'and where no mail is sent, who invites gets it');
is($t->http(GET => '/api/v1/config')->{json}{data}{mail} ? 1 : 0, 0, 'which everybody can know before');
is(scalar(grep { exists $_->{link} } @{ answers(admin => GET => '/invitations', undef, 200)->{data} }), 0, 'lists have no links');
my ($first) = link_of('new@example.org') =~ /t=(.*)/;
$r = $t->http(POST => '/api/v1/invitations/preview', json => { token => $first });
is($r->{status}, 200, 'whoever has it sees what it is about');
is_deeply([ $r->{json}{data}{organization}{name}, @{ $r->{json}{data} }{qw(email role)},
		$r->{json}{data}{accountExists} ? 1 : 0 ], [ 'Acme Ltd', 'new@example.org', 'member', 0 ],
			'all of it');
is($r->{headers}{'x-ratelimit-limit'}, 5, 'five times a minute');
answers(admin => POST => '/invitations', { email => 'new@example.org', role => 'viewer' },
	'409 ALREADY_EXISTS');
answers(admin => POST => '/invitations', { email => 'admin@acme.org', role => 'viewer' },
	'409 ALREADY_EXISTS');
answers(admin => POST => '/invitations', { email => 'x@example.org', role => 'owner' },
	'403 FORBIDDEN');
answers(admin => POST => '/invitations', $_, '400 VALIDATION_ERROR')
  foreach { email => 'x', role => 'viewer' }, { email => "a\@b\nc", role => 'viewer' },
  { email => 'x@example.org' }, { email => 'x@example.org', role => 'x' };
answers(ingest => POST => '/invitations', { email => 'x@example.org', role => 'viewer' },
	'403 INSUFFICIENT_SCOPE');
is(scalar @{ answers(full => GET => '/invitations?status=pending', undef, 200)->{data} }, 1,
	'one is pending');
is(scalar @{ answers(full => GET => '/invitations?status=expired', undef, 200)->{data} }, 0,
	'none expired');
answers(full => GET => '/invitations?status=x', undef, '400 VALIDATION_ERROR');
answers(other => GET => '/invitations', undef, 200);
answers(other => POST => "/invitations/$invitation->{id}/resend", undef, '404 NOT_FOUND');
answers(other => DELETE => "/invitations/$invitation->{id}", undef, '404 NOT_FOUND');

$t->sql("UPDATE logsvc_internal.invitation SET expires_at = now() - interval '1 s'");
is(answers(admin => GET => '/invitations', undef, 200)->{data}[0]{status}, 'expired',
	'after 48 hours');
answers(admin => POST => '/invitations/preview', { token => $first }, '410 LINK_EXPIRED');
$r = answers(admin => POST => "/invitations/$invitation->{id}/resend", undef, 200);
is($r->{data}{status}, 'pending', 'sent again');
my ($second) = link_of('new@example.org') =~ /t=(.*)/;
isnt($second, $first, 'with another link');
answers(admin => POST => '/invitations/preview', { token => $first }, '410 LINK_EXPIRED',
	'the first is dead');
answers(admin => POST => '/invitations/preview', { token => $second }, 200, 'the second lives');
answers(admin => DELETE => "/invitations/$invitation->{id}", undef, 204, 'revoked');
answers(admin => DELETE => "/invitations/$invitation->{id}", undef, '409 INVITATION_NOT_PENDING');
answers(admin => POST => "/invitations/$invitation->{id}/resend", undef,
	'409 INVITATION_NOT_PENDING');
answers(admin => POST => '/invitations/preview', { token => $second }, '410 LINK_EXPIRED');
answers(admin => POST => '/invitations/preview', { token => $second },
	'429 RATE_LIMIT_EXCEEDED', 'the sixth');
answers(owner => POST => '/invitations/accept', { token => $second }, '403 INSUFFICIENT_SCOPE',
	'people accept');
audited($_->[0], $_->[1]) foreach [ 'member.invited', 1 ], [ 'invitation.resent', 1 ],
	[ 'invitation.revoked', 1 ];

# Nobody has an address flooded.
my $often = answers(admin => POST => '/invitations',
	{ email => 'often@example.org', role => 'viewer' }, 201)->{data}{id};
answers(admin => POST => "/invitations/$often/resend", undef, 200) foreach 2 .. 5;
answers(admin => POST => "/invitations/$often/resend", undef, '429 RATE_LIMIT_EXCEEDED',
	'the sixth within an hour');
answers(admin => DELETE => "/invitations/$often", undef, 204);
answers(admin => POST => '/invitations', { email => 'often@example.org', role => 'viewer' },
	'429 RATE_LIMIT_EXCEEDED',
	'nor by another invitation');
is($t->sql("SELECT count(*) FROM logsvc_internal.outbox WHERE recipient = 'often\@example.org'"), 5,
	'five mails');

# Pro: 10 members, with those who are invited; acme has 2.
answers(admin => POST => '/invitations', { email => "i$_\@example.org", role => 'viewer' }, 201)
	foreach 1 .. 8;
answers(admin => POST => '/invitations', { email => 'i9@example.org', role => 'viewer' },
	'403 PLAN_LIMIT_REACHED');
$t->sql("UPDATE logsvc_internal.invitation SET expires_at = now() WHERE email = 'i8\@example.org'");
answers(admin => POST => '/invitations', { email => 'i9@example.org', role => 'viewer' }, 201,
	'an expired one makes room');
my ($i8) = map { $_->{id} } grep { $_->{email} eq 'i8@example.org' }
  @{ answers(admin => GET => '/invitations?status=expired', undef, 200)->{data} };
answers(admin => POST => "/invitations/$i8/resend", undef, '403 PLAN_LIMIT_REACHED',
	'and has none to come back');

# A mail that waits is taken back with its invitation, and by the next one.
sub mails_of
{
	my ($email) = @_;
	return $t->sql("SELECT string_agg(state || ' ' || (link IS NULL AND body_text IS NULL), ', ' "
		. "ORDER BY created_at)"
		  . " FROM logsvc_internal.outbox WHERE recipient = '$email'");
}
is(mails_of('new@example.org'), 'cancelled true, cancelled true',
	'the mails of a revoked invitation are not sent');
is(mails_of('i8@example.org'), 'waiting false', 'one that was not');
$t->sql("SELECT logsvc.create_organization('gone', 'free'); SELECT logsvc.invite('gone', "
	. "'d\@example.org', 'viewer');"
	  . "SELECT logsvc.delete_organization('gone', 'gone')");
is(mails_of('d@example.org'), 'cancelled true', 'nor those of an organization that is deleted');

# ---- API keys ----

$r = answers(admin => POST => '/api-keys', { name => 'ci', scope => 'ingest-only', kind => 'test',
		expiresAt => '2099-01-01T00:00:00Z' }, 201);
like($r->{data}{key}, qr/^ing_test_/, 'a test key');
is($r->{data}{expiresAt}, '2099-01-01T00:00:00.000Z', 'with an end');
my ($listed) = grep { $_->{id} eq $r->{data}{id} } @{ answers(full => GET => '/api-keys', undef,
	200)->{data} };
is($listed->{name}, 'ci', 'listed');
ok(!exists $listed->{key}, 'without the key');
answers(member => GET => '/api-keys', undef, '401 PAT_REVOKED');
answers(admin => POST => '/api-keys', { name => 'k', scope => 'x' }, '400 VALIDATION_ERROR');
answers(other => DELETE => "/api-keys/$listed->{id}", undef, '404 NOT_FOUND');
answers(admin => DELETE => "/api-keys/$listed->{id}", undef, 204);
audited('api_key.created', 4);
audited('api_key.revoked', 1);

# ---- tokens: for people ----

answers(owner => GET => '/tokens', undef, '403 INSUFFICIENT_SCOPE');
answers(owner => POST => '/tokens', { name => 't', scopes => ['logs:read'] },
	'403 INSUFFICIENT_SCOPE');
answers(full => GET => '/tokens', undef, '403 INSUFFICIENT_SCOPE');
answers(other => DELETE => "/tokens/$org->{token_id}", undef, '404 NOT_FOUND');
answers(admin => DELETE => "/tokens/$org->{token_id}", undef, '403 FORBIDDEN', 'an owner\'s token');
answers(admin => DELETE => '/tokens/x', undef, '404 NOT_FOUND');

# ---- indexes ----

$t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'hello' });
wait_until(sub { answers(read => GET => '/indexes/main', undef, 200)->{data}{events} == 1 });
$r = answers(read => GET => '/indexes/main', undef, 200)->{data};
is_deeply([ $r->{name}, $r->{events}, $r->{retentionDays}, $r->{protected} ? 1 : 0 ],
	[ 'main', 1, 30, 1 ], 'an index');
cmp_ok($r->{sizeBytes}, '>', 50, 'has a size');
like($r->{newest}, qr/^20\d\d-/, 'and times');
$r = answers(admin => POST => '/indexes', { name => 'web', retentionDays => 7,
	description => 'Shops' }, 201);
is_deeply([ @{ $r->{data} }{qw(name retentionDays description events)} ],
	[ 'web', 7, 'Shops', 0 ], 'a new one');
is_deeply([ map { $_->{name} } @{ answers(viewer2 => GET => '/indexes', undef,
	'401 UNAUTHORIZED')->{data} // [] } ],
	[], 'for nobody without a credential');
is_deeply([ map { $_->{name} } @{ answers(read => GET => '/indexes', undef, 200)->{data} } ],
	[qw(_audit _test main web)], 'listed by name');
answers(admin => POST => '/indexes', $_->[0], $_->[1])
  foreach [ { name => 'web' }, '409 ALREADY_EXISTS' ], [ { name => '_web' }, '409 ALREADY_EXISTS' ],
  [ { name => 'Web' }, '400 VALIDATION_ERROR' ], [ { name => 'web2', retentionDays => 31 },
  '403 PLAN_LIMIT_REACHED' ],
  [ { name => 'x' x 65 }, '400 VALIDATION_ERROR' ], [ {}, '400 VALIDATION_ERROR' ];
answers(ingest => POST => '/indexes', { name => 'x' }, '403 INSUFFICIENT_SCOPE');
is(answers(full => PATCH => '/indexes/web', { retentionDays => undef }, 200)->{data}{retentionDays},
	30,
	'null takes the organization\'s retention');
is(answers(full => PATCH => '/indexes/web', { description => 'x' }, 200)->{data}{description}, 'x',
	'a description');
is(answers(full => PATCH => '/indexes/main', { retentionDays => 3 }, 200)->{data}{retentionDays}, 3,
	'of main too');
answers(full => PATCH => '/indexes/_audit', { retentionDays => 3 }, '409 PROTECTED');
answers(full => PATCH => '/indexes/none', { retentionDays => 3 }, '404 INDEX_NOT_FOUND');
answers(full => DELETE => "/indexes/$_", undef, '409 PROTECTED') foreach qw(main _audit _test);
answers(other => DELETE => '/indexes/web', undef, '404 INDEX_NOT_FOUND');

$t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
	json => { event => 'bye', index => 'web' });
wait_until(sub { answers(read => GET => '/indexes/web', undef, 200)->{data}{events} == 1 });
answers(admin => DELETE => '/indexes/web', undef, 202);
answers(admin => GET => '/indexes/web', undef, '404 INDEX_NOT_FOUND', 'gone at once');
answers(read => GET => '/search?q=index%3Dweb', undef, '404 INDEX_NOT_FOUND', 'for searches too');
answers(ingest => POST => '/logs', { event => 'x', index => 'web' }, '404 INDEX_NOT_FOUND',
	'and for events');
answers(admin => POST => '/indexes', { name => 'web' }, '409 ALREADY_EXISTS',
	'its name is not free yet');
$t->sql('SELECT logsvc_internal.remove_dropped_indexes(now())');
is($t->sql("SELECT count(*) FROM logsvc_internal.part WHERE index_name = 'web'"), 0,
	'its events are removed');
$t->sql("SELECT logsvc_internal.remove_dropped_indexes(now() + interval '3 minutes')");
answers(admin => POST => '/indexes', { name => 'web' }, 201, 'then it is');
audited('index.created', 2);
audited('index.deleted', 1);

# ---- lookup tables ----

sub put_csv
{
	my ($name, $body, $type) = @_;
	return $t->http(PUT => "/api/v1/lookups/$name", token => $org->{token}, body => $body,
		headers => { 'Content-Type' => $type // 'text/csv; charset=utf-8' });
}

$r = put_csv('owners', "\xef\xbb\xbfservice,team\r\nshop,\"a, \"\"b\"\"\"\r\n");
is_deeply([ $r->{status}, @{ $r->{json}{data} }{qw(rows columns)} ],
	[ 200, 1, [qw(service team)] ], 'a table is sent as CSV');
is(put_csv('owners', "service,team\nshop,money\n")->{status}, 200, 'and sent again');
is(answers(full => GET => '/lookups/owners', undef, 200)->{data}{csv},
	"service,team\nshop,money\n", 'which replaces it');
answers(admin => PUT => '/lookups/codes', { csv => "code,text\n7,seven\n" }, 200);
is_deeply([ map { $_->{name} } @{ answers(full => GET => '/lookups', undef, 200)->{data} } ],
	[qw(codes owners)], 'the list');
answers(read => GET => '/lookups', undef, '403 INSUFFICIENT_SCOPE');
answers(other => GET => '/lookups/owners', undef, '404 NOT_FOUND');
answers(other => DELETE => '/lookups/owners', undef, '404 NOT_FOUND');
$r = put_csv('bad', "a,b\n1\n");
is("$r->{status} $r->{json}{details}[0]{path} $r->{json}{details}[0]{message}",
	'400 csv line 2: 1 cell, but the table has 2 columns', 'a mistake has its line');
is(put_csv('bad', "a\n\xff\n")->{status}, 400, 'what is no UTF-8');
is(put_csv('bad', "a\n\0\n")->{status}, 400, 'nor text');
is(put_csv('bad', '')->{status}, 400, 'nothing');
is(put_csv('Bad.Name', 'a')->{status}, 400, 'a name that no search can write');
is(put_csv('bad', 'a', 'text/plain')->{status}, 415, 'another type');
is(put_csv('bad', "a\n" . "x\n" x 600_000)->{status}, 413, 'too many bytes');
is($t->http(POST => '/api/v1/search', token => $org->{token}, body => 'a,b',
	headers => { 'Content-Type' => 'text/csv' })->{status}, 415, 'no other route takes CSV');
answers(admin => DELETE => '/lookups/codes', undef, 204);
answers(admin => DELETE => '/lookups/codes', undef, '404 NOT_FOUND');
audited('lookup.created', 2);
audited('lookup.updated', 1);
audited('lookup.deleted', 1);

# ---- usage ----

$r = answers(read => GET => '/usage', undef, 200)->{data};
is_deeply($r->{resources}{indexes}, { used => 2, limit => 25 }, 'indexes');
is_deeply($r->{resources}{members}, { used => 10, limit => 10 }, 'members');
is($r->{resources}{apiKeys}{limit}, 20, 'API keys, by the name that answers use');
is($r->{aiCredits}{limit}, 2500, 'credits');
is($r->{queue}{state}, 'normal', 'the queue');
is_deeply($r->{resources}{savedQueries}, { used => 0, limit => 100 }, 'what is in the workspace, too');
is_deeply($r->{nextLimit}, { name => 'members', etaSeconds => 0 }, 'what is short');
my ($rate) = grep { $_->{name} eq 'logs' } @{ $r->{rateLimits} };
is("$rate->{remaining} of $rate->{limit}", '1000000000 of 1000000000', 'a rate');
answers(ingest => GET => '/usage', undef, '403 INSUFFICIENT_SCOPE');

# ---- what is planned ----

answers(owner => $_->[0] => $_->[1], $_->[2], '501 NOT_IMPLEMENTED')
  foreach [ GET => '/scim/v2/Users?filter=x' ], [ POST => '/scim/v2/Users', { userName => 'x' } ],
  [ DELETE => '/scim/v2/Groups/1' ], [ GET => '/access-requests' ],
  [ POST => '/encryption-keys', {} ];
is($t->http(GET => '/scim/v2/Users')->{status}, 401, 'for nobody without a credential');

# ---- a smaller plan keeps what is there (decision 47) ----

$t->sql("SELECT logsvc.set_plan('acme', 'free')");
is(scalar @{ answers(owner => GET => '/indexes', undef, 200)->{data} }, 4, 'all indexes stay');
answers(owner => POST => '/indexes', { name => 'more' }, '403 PLAN_LIMIT_REACHED',
	'but no more are made');
answers(owner => POST => '/invitations', { email => 'z@example.org', role => 'viewer' },
	'403 PLAN_LIMIT_REACHED');

# ---- an organization that is erased ----

my $doomed = $t->organization('doomed');
$t->http(POST => '/api/v1/logs', token => $doomed->{ingest_key}, json => { event => 'x' });
$t->sql("SELECT logsvc.delete_organization('doomed', 'doomed')");
$token{doomed} = $doomed->{token};
answers(doomed => GET => '/members', undef, '401 PAT_REVOKED', 'its credentials end');
$t->sql("SELECT logsvc.restore_organization('doomed')");
answers(doomed => GET => '/members', undef, 200, 'an operator may take it back');
$t->sql("SELECT logsvc.delete_organization('doomed', 'doomed')");
$t->sql("SELECT logsvc_internal.erase_organizations(now() + interval '6 days')");
is($t->sql("SELECT count(*) FROM logsvc_internal.organization WHERE slug = 'doomed'"), 1,
	'there for 7 days');
$t->sql("SELECT logsvc_internal.audit(id, 'test.one', 'x') FROM logsvc_internal.organization,"
	  . " generate_series(1, 100) WHERE slug = 'doomed'");
my $entries = "SELECT count(*) FROM logsvc_internal.audit_entry a JOIN "
	. "logsvc_internal.organization o"
  . " ON o.id = a.organization_id WHERE o.slug = 'doomed'";
my $slice = "SELECT logsvc_internal.erase_organizations(now() + interval '8 days', 60)";
my $before = $t->sql($entries);
is(($t->sql_error("BEGIN; $slice; SELECT pg_terminate_backend(pg_backend_pid())"))[1], '57P01',
	'a slice is cut off');
is($t->sql($entries), $before, 'a slice that is cut off has removed nothing');
$t->sql($slice);
is(($t->sql_error("SELECT logsvc.restore_organization('doomed')"))[1], 'LS301',
	'too late to take it back');
# The last one waits until writers have taken its events out of the queue.
my ($slices, $most, $left) = (1, 0, $t->sql($entries));
wait_until(sub {
		$t->sql($slice);
		my $now = $t->sql($entries);
		$most = $left - $now if $left - $now > $most;
		$slices++ if $now < $left;
		$left = $now;
		return $t->sql("SELECT count(*) FROM logsvc_internal.organization WHERE slug = 'doomed'") == 0;
	});
cmp_ok($most, '<=', 60, 'a slice has no more rows than it may');
cmp_ok($slices, '>=', 2, 'erased in slices');
is($t->sql("SELECT (SELECT count(*) FROM logsvc_internal.part p WHERE NOT EXISTS"
		  . ' (SELECT FROM logsvc_internal.organization o WHERE o.id = p.organization_id))'
		  . ' + (SELECT count(*) FROM logsvc_internal.queue q WHERE NOT EXISTS'
		  . ' (SELECT FROM logsvc_internal.organization o WHERE o.id = q.organization_id))'), 0,
		  'with its events');

unlike($t->log_text, qr/logsvc request \w+ failed/, 'no request failed inside');

# ---- limits of invitations ----

# An organization is no mail relay: limits an hour and a day, of it and of each user.
$t->sql("SELECT logsvc.set_plan('acme', 'pro'); UPDATE logsvc_internal.invitation SET revoked_at = "
	. "now() WHERE accepted_at IS NULL;"
	  . "UPDATE logsvc_internal.outbox SET created_at = created_at - interval '2 days'");
my $count = 0;
sub invites { my ($who) = @_; $count++; return as($who, POST => '/invitations',
	{ email => "relay$count\@example.org", role => 'viewer' }); }
sub limited
{
	my ($resource, $who, $what, $seconds) = @_;
	$t->sql("SELECT logsvc.set_limit('acme', '$resource', 2)");
	invites($who) foreach 1 .. 2;
	my $refused = invites($who);
	is("$refused->{status} " . ($refused->{json}{code} // ''), '429 RATE_LIMIT_EXCEEDED',
		"$what: the third") or diag $refused->{content};
	like($refused->{json}{error}, qr/^2 invitations .*are allowed/, "$what: says why");
	my $after = $refused->{headers}{'retry-after'};
	ok($after > $seconds - 60 && $after <= $seconds, "$what: and when one fits again")
		or diag $after;
	my (undef, $state, $message) = $t->sql_error("SELECT logsvc.use_token('$token{$who}'); SELECT "
		. "logsvc.invite(NULL, 'sql\@example.org', 'viewer')");
	is($state, 'LS601', "$what: in SQL") or diag $message;
	like($message, qr/^2 invitations .*are allowed/, "$what: with the reason");
	$t->sql("UPDATE logsvc_internal.outbox SET created_at = created_at - interval "
		. "'$seconds seconds'");
	is(invites($who)->{status}, 201, "$what: it does");
	$t->sql("SELECT logsvc.set_limit('acme', '$resource', NULL);"
		  . "UPDATE logsvc_internal.invitation SET revoked_at = now() WHERE accepted_at IS NULL;"
		  . "UPDATE logsvc_internal.outbox SET created_at = created_at - interval '2 days'");
	return;
}
limited('invitations_per_hour', 'full', 'organization, hour', 3600);
limited('invitations_per_day', 'full', 'organization, day', 86400);
limited('invitations_per_user_per_hour', 'admin', 'user, hour', 3600);
limited('invitations_per_user_per_day', 'admin', 'user, day', 86400);
# Sending again is a mail as well; another user, and a key, have their own.
$t->sql("SELECT logsvc.set_limit('acme', 'invitations_per_user_per_hour', 2)");
my $again = invites('admin')->{json}{data}{id};
answers(admin => POST => "/invitations/$again/resend", undef, 200);
answers(admin => POST => "/invitations/$again/resend", undef, '429 RATE_LIMIT_EXCEEDED',
	'sending again counts');
is(invites('owner')->{status}, 201, 'another user has a limit of his or her own');
is(invites('full')->{status}, 201, 'a key counts for the organization');
# A transaction that was begun long ago is no way around.
$t->sql("SELECT logsvc.set_limit('acme', 'invitations_per_user_per_hour', NULL); SELECT "
	. "logsvc.set_limit('acme', 'invitations_per_hour', 0)");
is(invites('full')->{status}, 429, 'none at all');
$t->sql("SELECT logsvc.set_limit('acme', 'invitations_per_hour', NULL)");

# Names that could break out of a line are none.
foreach my $name ("Acme\nBcc: x", "Acme \x{202e}moc", "Acme \x{2066}x", "Acme\x{85}x")
{
	answers(owner => PATCH => "/organizations/$org->{id}", { name => $name },
		'400 VALIDATION_ERROR', 'a name with control characters');
}
answers(owner => PATCH => "/organizations/$org->{id}",
	{ name => "Acme \x{645}\x{6cc}\x{200c}\x{62e} Ltd" }, 200,
		'but joiners are letters of some scripts');
answers(owner => PATCH => "/organizations/$org->{id}", { name => 'Acme Ltd' }, 200);

$t->stop;
done_testing;
