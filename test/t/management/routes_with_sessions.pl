# Management routes that are for people: with sessions.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;

use constant CLIENTS => 32;

my $t = LogsvcTest->new(conf =>
	"logsvc.executors = 12\nlogsvc.lock_timeout = '1min'\nmax_worker_processes = 40\nlogsvc.plan_changes = self");
my $org = $t->organization('acme', plan => 'pro', email => 'owner@acme.org');
my $other = $t->organization('other', plan => 'pro', email => 'owner@other.org');
my %session;
foreach my $role (qw(admin member viewer))
{
	$t->sql("SELECT logsvc.create_user('$role\@acme.org', '$role');"
		  . "SELECT logsvc.add_member('acme', '$role\@acme.org', '$role')");
}
$session{$_} = $t->session("$_\@acme.org") foreach qw(owner admin member viewer);
$session{other} = $t->session('owner@other.org');
$t->sql("SELECT logsvc.create_user('$_\@new.org')") foreach qw(new late);
$t->sql("UPDATE logsvc_internal.user_account SET verified_at = NULL WHERE email = 'late\@new.org'");
$session{$_} = $t->session("$_\@new.org") foreach qw(new late);

sub answers
{
	my ($who, $organization, $method, $path, $body, $expected, $what) = @_;
	my $r = $t->http($method => "/api/v1$path", session => $session{$who},
		organization => $organization,
		defined $body ? (json => $body) : ());
	my $got = $r->{status} . ($r->{json} && $r->{json}{code} ? " $r->{json}{code}" : '');
	is($got, $expected, $what // "$who: $method $path") or diag $r->{content};
	return $r->{json} // {};
}

sub at_once
{
	my %count;
	my @requests = map { begin_request($t, @$_) } @_;
	$count{ end_request($_)->{status} }++ foreach @requests;
	return \%count;
}

# ---- organizations of a user ----

is_deeply([ map { "$_->{slug} $_->{role}" } @{ answers(admin => undef, GET => '/organizations',
	undef, 200)->{data} } ],
	['acme admin'], 'a user lists the own organizations');
is_deeply(answers(new => undef, GET => '/organizations', undef, 200)->{data}, [], 'none yet');
answers(late => undef, POST => '/organizations', { name => 'Late' }, '403 EMAIL_NOT_VERIFIED');
my $made = answers(new => undef, POST => '/organizations',
	{ name => 'New One', timezone => 'Asia/Tokyo' }, 201)->{data};
is_deeply([ @$made{qw(slug timezone plan role)} ], [qw(new-one Asia/Tokyo free owner)],
	'an own one');
answers(new => 'new-one', GET => '/members', undef, 200, 'where its maker is a member');
answers(new => undef, GET => '/members', undef, '400 VALIDATION_ERROR', 'which must be named');
answers(new => 'acme', GET => '/members', undef, '404 NOT_FOUND', 'another one does not exist');
answers(new => undef, POST => '/organizations', $_, '400 VALIDATION_ERROR')
  foreach {}, { name => '' }, { name => 'x', timezone => 'x' }, { name => 'x', plan => 'pro' };

# Five for each user, also at once.
my $count = at_once(map { [ POST => '/api/v1/organizations', json => { name => "Race $_" },
		headers => { $t->session_headers($session{new}) } ] } 1 .. CLIENTS);
is_deeply($count, { 201 => 4, 403 => CLIENTS - 4 }, 'a user owns five') or diag explain $count;
answers(new => undef, POST => '/organizations', { name => 'Sixth' }, '403 PLAN_LIMIT_REACHED');
is(scalar @{ answers(new => undef, GET => '/organizations', undef, 200)->{data} }, 5,
	'five are listed');
answers(new => 'new-one', DELETE => "/organizations/$made->{id}", { confirm => 'x' },
	'400 VALIDATION_ERROR');
answers(new => 'new-one', DELETE => "/organizations/$made->{id}", undef, '400 VALIDATION_ERROR',
	'the name is needed');
my $gone = answers(new => 'new-one', DELETE => "/organizations/$made->{id}",
	{ confirm => 'New One' }, 202)->{data};
like($gone->{erasedAt}, qr/^20/, 'says when it is erased');
answers(new => 'new-one', GET => '/members', undef, '404 NOT_FOUND', 'it is gone');
answers(new => undef, POST => '/organizations', { name => 'Sixth' }, 201,
	'a deleted one makes room');
answers(admin => 'acme', DELETE => "/organizations/$org->{id}", { confirm => 'acme' },
	'403 FORBIDDEN', 'for owners');
answers(owner => 'acme', DELETE => "/organizations/$other->{id}", { confirm => 'other' },
	'404 NOT_FOUND');

# ---- billing ----

is(answers(owner => 'acme', GET => '/billing', undef, 200)->{data}{limits}{indexes}, 25,
	'the plan\'s limits');
is(answers(owner => 'acme', POST => '/billing/plan', { plan => 'business' }, 200)->{data}{plan},
	'business', 'another plan');
answers(owner => 'acme', POST => '/billing/plan', { plan => 'gold' }, '400 VALIDATION_ERROR');
is(answers(owner => 'acme', PATCH => "/organizations/acme", { plan => 'pro', name => 'Acme' },
	200)->{data}{plan},
	'pro', 'as a setting, too');
answers($_ => 'acme', GET => '/billing', undef, '403 FORBIDDEN') foreach qw(admin member viewer);
answers(admin => 'acme', PATCH => '/organizations/acme', { plan => 'free', name => 'X' },
	'403 FORBIDDEN');
is($t->sql("SELECT name || plan FROM logsvc_internal.organization WHERE slug = 'acme'"), 'Acmepro',
	'a refused change changes nothing');
is($t->sql("SELECT string_agg(details->>'to', ',' ORDER BY number) FROM logsvc_internal.audit_entry"
		  . " WHERE action = 'organization.plan_changed'"), 'business,pro', 'audited');

# ---- tokens ----

my $token = answers(viewer => 'acme', POST => '/tokens', { name => 't', scopes => ['logs:read'] },
	201)->{data};
like($token->{token}, qr/^pat_/, 'a token');
is($t->http(GET => '/api/v1/indexes', token => $token->{token})->{status}, 200, 'that works');
answers(viewer => 'acme', POST => '/tokens', { name => 't', scopes => ['evaluations:run'] },
	'403 FORBIDDEN',
	'no scope above the role');
answers(member => 'acme', POST => '/tokens', { name => 't', scopes => ['evaluations:run'] }, 201);
answers(member => 'acme', POST => '/tokens', { name => 't', scopes => ['audit:read'] },
	'403 FORBIDDEN');
answers(viewer => 'acme', POST => '/tokens', $_, '400 VALIDATION_ERROR')
  foreach { name => 't', scopes => [] }, { name => 't', scopes => ['x'] },
  { name => 't', scopes => 'logs:read' },
  { name => '', scopes => ['logs:read'] }, { scopes => ['logs:read'] },
  { name => 't', scopes => ['logs:read'], expiresAt => '2020-01-01' };
is_deeply([ map { $_->{name} } @{ answers(viewer => 'acme', GET => '/tokens', undef, 200)->{data} }
	], ['t'],
	'only one\'s own are listed');
answers(member => 'acme', DELETE => "/tokens/$token->{id}", undef, '403 FORBIDDEN', 'another\'s');
answers(other => 'other', DELETE => "/tokens/$token->{id}", undef, '404 NOT_FOUND');
answers(admin => 'acme', DELETE => "/tokens/$token->{id}", undef, 204, 'an admin may');
is($t->http(GET => '/api/v1/indexes', token => $token->{token})->{json}{code},
	'PAT_REVOKED', 'at once');
answers(viewer => 'acme', DELETE => "/tokens/$token->{id}", undef, '409 ALREADY_EXISTS');

# ---- accepting ----

sub token_of
{
	my ($email) = @_;
	return ($t->sql("SELECT link FROM logsvc_internal.outbox WHERE recipient = '$email' AND "
		. "template = 'invitation'"
			  . ' ORDER BY created_at DESC LIMIT 1') =~ /#t=(.*)/)[0];
}

my $invitation = answers(owner => 'acme', POST => '/invitations',
	{ email => 'late@new.org', role => 'admin' }, 201)->{data};
is($t->sql("SELECT body_text ~ 'by \"owner\@ acme[.] org\" to logsvc.*Who invites: .acme user.' "
	. "FROM logsvc_internal.outbox WHERE recipient = 'late\@new.org'"), 't',
		'the mail says who invites');
answers(new => undef, POST => '/invitations/accept', { token => token_of('late@new.org') },
	'403 FORBIDDEN', 'for another address');
answers(late => undef, POST => '/invitations/accept', { token => token_of('late@new.org') },
	'403 EMAIL_NOT_VERIFIED');
answers(late => undef, POST => '/invitations/accept', { token => 'x' }, '410 LINK_EXPIRED');
answers(late => undef, POST => '/invitations/accept', {}, '400 VALIDATION_ERROR');
$t->sql("UPDATE logsvc_internal.user_account SET verified_at = now() WHERE email = "
	. "'late\@new.org'");
$count = at_once(map { [ POST => '/api/v1/invitations/accept',
	json => { token => token_of('late@new.org') },
		headers => { $t->session_headers($session{late}) } ] } 1 .. CLIENTS);
is_deeply($count, { 200 => 1, 410 => CLIENTS - 1 }, 'an invitation is accepted once')
	or diag explain $count;
is(answers(late => undef, POST => '/invitations/accept', { token => token_of('late@new.org') },
	'410 LINK_USED')->{code},
	'LINK_USED', 'and says so');
is(answers(late => 'acme', GET => '/organizations/acme', undef, 200)->{data}{role}, 'admin',
	'with the role');
answers(owner => 'acme', POST => "/invitations/$invitation->{id}/resend", undef,
	'409 INVITATION_NOT_PENDING');
$t->sql("SELECT logsvc.add_member('acme', 'new\@new.org', 'viewer')");
answers(owner => 'acme', POST => '/invitations', { email => 'new@new.org', role => 'viewer' },
	'409 ALREADY_EXISTS');

# The plan's limit is looked at again.
$t->sql("SELECT logsvc.create_user('x\@new.org')");
$session{x} = $t->session('x@new.org');
answers(owner => 'acme', POST => '/invitations', { email => 'x@new.org', role => 'viewer' }, 201);
$t->sql("SELECT logsvc.set_limit('acme', 'members', 6)");
answers(x => undef, POST => '/invitations/accept', { token => token_of('x@new.org') },
	'403 PLAN_LIMIT_REACHED');
$t->sql("SELECT logsvc.set_limit('acme', 'members', 7)");
my $joined = answers(x => undef, POST => '/invitations/accept', { token => token_of('x@new.org') },
	200)->{data};
is($joined->{role}, 'viewer', 'when there is room it is accepted');

# ---- leaving ----

answers(x => 'acme', DELETE => "/members/$joined->{id}", undef, 204, 'everybody may leave');
answers(x => 'acme', GET => '/members', undef, '404 NOT_FOUND', 'and is out');
answers(x => undef, GET => '/organizations', undef, 200, 'but still a user');
my ($self) = grep { $_->{role} eq 'owner' } @{ answers(owner => 'acme', GET => '/members', undef,
	200)->{data} };
answers(owner => 'acme', DELETE => "/members/$self->{id}", undef, '409 LAST_OWNER');

unlike($t->log_text, qr/logsvc request \w+ failed|deadlock/, 'no request failed inside');
$t->stop;
done_testing;
