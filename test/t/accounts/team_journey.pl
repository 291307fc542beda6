# team_journey.pl: one team from the first sign-up on, over HTTP alone: accounts,
# an organization, invitations, tokens, events, roles, and the end of it.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new;
my $origin = 'http://127.0.0.1:' . $t->http_port;
my $password = 'Green-lamp-under-9-stars';

$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');

sub ask
{
	my ($who, $method, $path, %opt) = @_;
	my %headers = (Origin => $origin, defined $who->{cookie}
		? (Cookie => "logsvc_session=$who->{cookie}") : (),
		defined $who->{organization} ? ('X-Organization-Id' => $who->{organization}) : ());
	return $t->http($method => $path, %opt,
		headers => { %headers, %{ delete $opt{headers} // {} } });
}

sub is_answer
{
	my ($r, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($r->{status} . ($r->{json}{code} ? " $r->{json}{code}" : ''), $expected, $name)
		or diag $r->{content};
	return $r;
}

sub token_mailed
{
	my ($email, $template) = @_;
	return wait_until(sub {
		$t->sql("SELECT substring(link FROM '#t=(\\w+)') FROM logsvc_internal.outbox WHERE "
			. "recipient = '$email' AND template = '$template' ORDER BY id DESC LIMIT 1")
	});
}

sub signed_in
{
	my ($email) = @_;
	my $r = $t->http(POST => '/api/v1/auth/sign-in',
		json => { email => $email, password => $password });
	my ($cookie) = join(' ', map { ref $_ ? @$_ : $_ } $r->{headers}{'set-cookie'} // '')
		=~ /^logsvc_session=(\w{43});/;
	return { email => $email, cookie => $cookie };
}

sub newcomer
{
	my ($email) = @_;
	is_answer($t->http(POST => '/api/v1/auth/sign-up',
		json => { email => $email, password => $password, name => $email }), '202',
			"$email signs up");
	is_answer($t->http(POST => '/api/v1/auth/verify-email',
		json => { token => token_mailed($email, 'verify_email') }), '200', 'confirms');
	return signed_in($email);
}

my $ann = newcomer('ann@team.test');
my $bob = newcomer('bob@team.test');

# ---- an organization ----

is_answer(ask($ann, GET => '/api/v1/organizations'), '200', 'no organization yet');
my $r = is_answer(ask($ann, POST => '/api/v1/organizations', json => { name => 'Team' }),
	'201', 'makes one');
my $id = $r->{json}{data}{id};
is(ask($ann, GET => '/api/v1/auth/session')->{json}{data}{organizations}[0]{role},
	'owner', 'owns it');
$ann->{organization} = $id;
$bob->{organization} = 'team';
$t->sql("SELECT logsvc.set_plan('team', 'pro')");
is_answer(ask($bob, GET => '/api/v1/members'), '404 NOT_FOUND', 'it does not exist for others');

# ---- an invitation, accepted by 32 requests at once ----

is_answer(ask($ann, POST => '/api/v1/invitations',
	json => { email => $bob->{email}, role => 'member' }), '201', 'invites');
my $invitation = token_mailed($bob->{email}, 'invitation');
my $carl = newcomer('carl@team.test');
is_answer(ask($carl, POST => '/api/v1/invitations/accept', json => { token => $invitation }),
	'403 FORBIDDEN', 'not for another address');
my @requests = map { begin_request($t, POST => '/api/v1/invitations/accept',
	json => { token => $invitation },
	headers => { Origin => $origin, Cookie => "logsvc_session=$bob->{cookie}" }) } 1 .. 32;
my %results;
$results{ end_request($_)->{status} }++ foreach @requests;
is($results{200}, 1, 'accepted once') or diag explain \%results;
is(join(',', grep { !/^(200|409|410)$/ } keys %results), '', 'the others hear why not')
	or diag explain \%results;
is(scalar(@{ is_answer(ask($bob, GET => '/api/v1/members'), '200', 'a member')->{json}{data} }), 2,
	'of two');

# ---- tokens and events ----

is_answer(ask($bob, POST => '/api/v1/logs', json => { event => 'hello from a session' }), '202',
	'an event by a session');
is(ask($ann, GET => '/api/v1/search', query => { q => 'hello' })->{json}{data}{rows}[0]{event},
	'hello from a session', 'is found by another');
my $token = is_answer(ask($bob, POST => '/api/v1/tokens',
	json => { name => 'laptop', scopes => [ 'logs:read', 'logs:write' ] }), '201',
		'a token')->{json}{data}{token};
is_answer($t->http(GET => '/api/v1/search', token => $token, query => { q => 'hello' }),
	'200', 'works');
is_answer(ask($bob, POST => '/api/v1/tokens', json => { name => 'x', scopes => ['org:write'] }),
	'403 FORBIDDEN', 'none above the role');
is_answer(ask($bob, POST => '/api/v1/api-keys', json => { name => 'x', scope => 'ingest-only' }),
	'403 FORBIDDEN', 'a member makes no keys');
is_answer(ask($ann, POST => '/api/v1/api-keys', json => { name => 'x', scope => 'ingest-only' }),
	'201', 'an owner does');

# ---- roles count at once ----

my ($membership) = map { $_->{id} } grep { $_->{email} eq $bob->{email} }
	@{ ask($ann, GET => '/api/v1/members')->{json}{data} };
is_answer(ask($ann, PATCH => "/api/v1/members/$membership", json => { role => 'viewer' }), '200',
	'a viewer from now on');
is_answer(ask($bob, POST => '/api/v1/logs', json => { event => 'x' }), '403 FORBIDDEN',
	'by session');
is_answer($t->http(POST => '/api/v1/logs', token => $token, json => { event => 'x' }),
	'403 FORBIDDEN', 'by token');
is_answer(ask($ann, DELETE => "/api/v1/members/$membership"), '204', 'a member no more');
is_answer(ask($bob, GET => '/api/v1/members'), '404 NOT_FOUND',
	'the organization is gone for the session');
is_answer($t->http(GET => '/api/v1/search', token => $token, query => { q => 'x' }),
	'401 PAT_REVOKED', 'and for the token');
is_answer(ask($bob, GET => '/api/v1/auth/session'), '200', 'the session itself goes on');

# ---- what was recorded ----

my $audit = $t->sql(q{SELECT string_agg(DISTINCT e.action, ' ' ORDER BY e.action) FROM logsvc_internal.audit_entry e
	JOIN logsvc_internal.organization o ON o.id = e.organization_id WHERE o.slug = 'team'});
like($audit, qr/\b\Q$_\E\b/, "$_ is in the audit log")
  foreach qw(member.invited member.role_changed member.removed api_key.created token.created);
is($t->sql(q{SELECT DISTINCT actor FROM logsvc_internal.audit_entry WHERE action = }
	. q{'member.removed'}), $ann->{email}, 'by whom');

# ---- work that a crash left is done when the service starts again ----

$t->sql(q{INSERT INTO logsvc_internal.account_work (kind, email) VALUES ('forgot_password', }
	. q{'carl@team.test')});
$t->restart;
my $reset = token_mailed('carl@team.test', 'reset_password');
ok($reset, 'a link that was asked for before a restart is sent after it');
is_answer(ask($carl, GET => '/api/v1/auth/session'), '200', 'and sessions outlive it');
is_answer($t->http(POST => '/api/v1/auth/reset-password',
	json => { token => $reset, password => 'Other-lamp-under-9-stars' }), '200', 'the link works');

$t->stop;
done_testing();
