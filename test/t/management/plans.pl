# plans.pl: who gives an organization a larger plan.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;
use Time::Local ();

my $t = LogsvcTest->new(conf => "logsvc.operator_email = 'ops\@example.org, root\@example.org'");
my $org = $t->organization('acme', plan => 'free', email => 'owner@acme.org');
my $other = $t->organization('other', plan => 'free', email => 'owner@other.org');
$t->sql("SELECT logsvc.create_user('admin\@acme.org'), logsvc.create_user('second\@acme.org')");
$t->sql("SELECT logsvc.set_limit('acme', 'members', 10)");
$t->sql("SELECT logsvc.add_member('acme', 'admin\@acme.org', 'admin'), "
	. "logsvc.add_member('acme', 'second\@acme.org', 'owner')");
my %session = map { $_ => $t->session("$_\@acme.org") } qw(owner second admin);
$session{other} = $t->session('owner@other.org');

sub ask
{
	my ($who, $plan, $organization) = @_;
	return $t->http(POST => '/api/v1/billing/plan', session => $session{$who},
		organization => $organization // 'acme', json => { plan => $plan });
}
sub billing { return $t->http(GET => '/api/v1/billing', session => $session{owner},
	organization => 'acme')->{json}{data}; }
sub plan { return $t->sql("SELECT plan FROM logsvc_internal.organization WHERE slug = 'acme'"); }
sub mails { my ($template) = @_; return $t->sql("SELECT coalesce(string_agg(recipient || ': ' || "
	. "subject, '; ' ORDER BY recipient), '') FROM logsvc.outbox WHERE template = '$template'"); }
sub audited { return $t->sql("SELECT coalesce(string_agg(action || ' ' || actor || ' ' || (details "
	. "- 'reason')::text, '; ' ORDER BY number), '') FROM logsvc_internal.audit_entry WHERE action "
		. "LIKE 'organization.plan%' AND organization_id = (SELECT id FROM "
			. "logsvc_internal.organization WHERE slug = 'acme')"); }
sub timestamp_of { my ($y, $mo, $d, $h, $mi, $s) = $_[0] =~ /^(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)/;
	return Time::Local::timegm($s, $mi, $h, $d, $mo - 1, $y); }
sub credits { return $t->sql("SELECT credit_limit / 1000000 FROM "
	. "logsvc_internal.credit_balance((SELECT id FROM logsvc_internal.organization WHERE slug "
		. "= 'acme'))"); }

# ---- a request ----

my $r = ask(owner => 'enterprise');
is($r->{status}, 202, 'a larger plan is asked for') or diag $r->{content};
is("$r->{json}{data}{plan} $r->{json}{data}{planRequest}{plan}", 'free enterprise',
	'the plan is the old one');
is(plan() . ' ' . credits(), 'free 100', 'with its credits');
is(mails('plan_request'), 'ops@example.org: An organization asks for plan enterprise; '
	. 'root@example.org: An organization asks for plan enterprise', 'the operators are told');
like($t->sql("SELECT body_text FROM logsvc_internal.outbox WHERE template = 'plan_request' LIMIT "
	. "1"), qr/"owner\@ acme\. org".*SELECT logsvc\.approve_plan_request\('acme', 'enterprise'\);/s,
		'how to approve');
is(audited(), 'organization.plan_requested owner@acme.org {"to": "enterprise", "from": "free"}',
	'it is audited');
my $shown = billing();
is("$shown->{plan} $shown->{planRequest}{plan}", 'free enterprise', 'billing shows it');
like($shown->{planRequest}{requestedAt}, qr/^20.*Z$/, 'since when');
like($shown->{planRequest}{requestedBy}, qr/^usr_/, 'by whom');
is(ask(second => 'enterprise')->{status}, 202, 'the same once more');
is(billing()->{planRequest}{requestedAt}, $shown->{planRequest}{requestedAt},
	'is no other request');

# ---- another one replaces it; nobody else may; the ways around ----

is(ask(second => 'pro')->{json}{data}{planRequest}{plan}, 'pro', 'another plan');
is($t->sql('SELECT string_agg(organization || requested || requested_by, \',\') FROM '
	. 'logsvc.plan_requests'), 'acmeprosecond@acme.org', 'replaces the first');
is(mails('plan_request') =~ tr/;//, 1, 'the operators get one mail an hour');
is(ask(admin => 'pro')->{json}{code}, 'FORBIDDEN', 'an admin may not ask');
is($t->http(POST => '/api/v1/billing/plan', token => $org->{token},
	json => { plan => 'pro' })->{json}{code}, 'INSUFFICIENT_SCOPE', 'nor a token');
is(ask(other => 'pro')->{status}, 404, 'nor an owner of another organization');
is(ask(owner => 'gold')->{status}, 400, 'no such plan');
$r = $t->http(PATCH => '/api/v1/organizations/acme', session => $session{owner},
	organization => 'acme', json => { plan => 'business', name => 'Acme Inc' });
is("$r->{status} $r->{json}{data}{plan} $r->{json}{data}{planRequest}{plan} $r->{json}{data}{name}",
	'200 free business Acme Inc', 'as a setting it is a request, too');
is(plan(), 'free', 'nothing has changed');
is($t->http(POST => '/api/v1/organizations', session => $session{owner},
	json => { name => 'New', plan => 'enterprise' })->{status}, 400,
		'a new organization has no other plan');
my @many = map { begin_request($t, POST => '/api/v1/billing/plan',
	json => { plan => $_ % 2 ? 'pro' : 'business' },
		headers => { $t->session_headers($session{owner}, 'acme') }) } 1 .. 20;
is(join(' ', keys %{ { map { end_request($_)->{status} => 1 } @many } }), '202',
	'many at once');
is($t->sql("SELECT count(*) FROM logsvc_internal.plan_request"), 1, 'are one request');
is(mails('plan_request') =~ tr/;//, 1, 'and no more mails');

# ---- decisions ----

ask(owner => 'pro');
sub refused { my ($sql) = @_; my (undef, $state, $message) = $t->sql_error($sql);
	return ($state // 'done') . ($message ? " $message" : ''); }
like(refused("SELECT logsvc.approve_plan_request('acme', 'enterprise')"), qr/^LS407 /,
	'what is approved is what is asked for now');
like(refused("SELECT logsvc.approve_plan_request('other', 'pro')"), qr/^LS301 /,
	'who asks for nothing');
like(refused("SELECT logsvc.approve_plan_request('acme', NULL)"), qr/^LS407 /, 'no plan');
foreach my $call ("approve_plan_request('acme', 'pro')", "decline_plan_request('acme')")
{
	is($t->http(POST => "/api/v1/billing/plan", session => $session{owner}, organization => 'acme',
		json => { plan => 'pro' })->{status}, 202, 'asked');
	like(refused("CREATE ROLE tenant_$$; GRANT logsvc_tenant TO tenant_$$; SELECT "
		. "logsvc.use_token('$org->{token}'); SET ROLE tenant_$$; SELECT logsvc.$call"),
			qr/^LS202 /, "a tenant may not: $call");
	like(refused("BEGIN; CREATE ROLE tenant_x; GRANT logsvc_tenant TO tenant_x; SET ROLE tenant_x; "
		. "SELECT * FROM logsvc.plan_requests"), qr/^42501 /, 'nor see the requests');
	$t->sql("DROP OWNED BY tenant_$$; DROP ROLE tenant_$$")
		if $t->sql("SELECT count(*) FROM pg_roles WHERE rolname = 'tenant_$$'");
}
is($t->sql("SELECT logsvc.decline_plan_request('acme', 'pay first') ->> 'plan'"),
	'free', 'declined');
is(billing()->{planRequest}, undef, 'nothing is open');
is(mails('plan_declined'), join('; ', map
	{ qq($_\@acme.org: Plan pro was declined: organization "Acme Inc") } qw(owner second)),
		'the owners are told');
like($t->sql("SELECT body_text FROM logsvc_internal.outbox WHERE template = 'plan_declined' LIMIT "
	. "1"), qr/pay first/, 'why');
like(audited(), qr/organization\.plan_request_declined operator:\S+ \{"plan": "pro"\}$/, 'audited');
ask(owner => 'pro');
is($t->sql("SELECT logsvc.approve_plan_request('acme', 'pro') ->> 'plan'"), 'pro', 'approved');
is(plan() . ' ' . credits(), 'pro 2500', 'with its credits');
is(mails('plan_approved') =~ tr/;//, 1, 'the owners are told');
like(audited(),
	qr/organization\.plan_changed operator:\S+ \{"to": "pro", "from": "free", "request": "approved"\}$/, 'audited');
is($t->sql('SELECT count(*) FROM logsvc.plan_requests'), 0, 'nothing is open');

# ---- a smaller plan at once; taking a request back ----

is(ask(owner => 'business')->{status}, 202, 'asked for');
$r = ask(owner => 'free');
is("$r->{status} $r->{json}{data}{plan}", '200 free', 'a smaller plan is there at once');
is(billing()->{planRequest}, undef, 'and the request is gone');
like(audited(),
	qr/plan_request_withdrawn owner\@acme\.org \{"plan": "business"\}; organization\.plan_changed owner\@acme\.org \{"to": "free", "from": "pro"\}$/, 'both audited');
ask(owner => 'business');
is(ask(owner => 'free')->{status} . ' ' . (billing()->{planRequest} // 'none'), '200 none',
	'the plan that it has takes the request back');
ask(owner => 'business');
is($t->sql("SELECT logsvc.set_plan('acme', 'business') ->> 'plan'"), 'business',
	'an operator changes plans at once');
like(audited(), qr/"request": "approved"\}$/, 'which answers the request');

# ---- the operator's cap holds in every plan ----

$t->sql("SELECT logsvc.set_limit('acme', 'ai_credits_per_month', 7)");
is(credits(), 7, 'a limit of the operator');
$t->sql("SELECT logsvc.set_plan('acme', 'enterprise')");
is(credits(), 7, 'holds in a larger plan');
is(billing()->{limits}{ai_credits_per_month}, 7, 'and is shown');

# ---- what a smaller plan deletes ----

$t->sql("DELETE FROM logsvc_internal.organization_limit WHERE resource = 'ai_credits_per_month'");
sub days_ago
{
	my ($days, @texts) = @_;
	return map { { event => $_, timestamp => (time - $days * 86400) * 1000 } } @texts;
}
is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events =>
	[ days_ago(20, 'one', 'two'), days_ago(60, 'three'), days_ago(1, 'four') ] })->{status},
	202, 'events of 1, 20 and 60 days ago');
ok(wait_until(sub { $t->sql(q{SELECT sum(rows) FROM logsvc_internal.part WHERE index_name = 'main'}) == 4 }), 'are stored');
sub deletes
{
	my ($plan) = @_;
	return join ' ', map { "$_->{index} $_->{retentionDays} $_->{events}" }
	  @{ billing()->{deletes}{$plan} };
}
is(join('|', map { deletes($_) } qw(free pro business enterprise)),
	'main 3 3|main 30 1||', 'what each plan would delete');
my ($doomed) = @{ billing()->{deletes}{free} };
my @ago = map { int((time - timestamp_of($_)) / 86400 + 0.5) } @$doomed{qw(oldest newest)};
is("@ago", '60 20', 'of when');
$t->sql("SELECT logsvc.set_limit('acme', 'retention_days', 90)");
is(deletes('free'), '', 'a limit of the operator holds in every plan, so nothing');
$t->sql("SELECT logsvc.set_limit('acme', 'retention_days', 40)");
is(deletes('pro'), '', 'nor what that has made too old already');
$t->sql("DELETE FROM logsvc_internal.organization_limit WHERE resource = 'retention_days'");
$t->sql("UPDATE logsvc_internal.organization SET retention_days = 30 WHERE slug = 'acme'");
is(join('|', map { deletes($_) } qw(free pro)), 'main 3 2|', 'nor what its own setting does not keep');
is(billing()->{limits}{members}, 10, 'the members that an operator has allowed');
is(billing()->{plans}{enterprise}{members}, 50,
	'and those of a plan without a limit of its own: the general rule');

# ---- a deleted organization ----

is(ask(other => 'pro', 'other')->{status}, 202, 'asked for');
is($t->http(DELETE => '/api/v1/organizations/other', session => $session{other},
	organization => 'other', json => { confirm => 'other' })->{status}, 202, 'deleted');
is($t->sql('SELECT count(*) FROM logsvc.plan_requests'), 0, 'its request is not shown');
like(refused("SELECT logsvc.approve_plan_request('other', 'pro')"), qr/^LS301 /, 'nor approved');
$t->sql("SELECT logsvc.restore_organization('other')");
is($t->sql('SELECT string_agg(organization, \',\') FROM logsvc.plan_requests'), 'other',
	'until it is restored');
$t->sql("DELETE FROM logsvc_internal.organization WHERE slug = 'other'");
is($t->sql('SELECT count(*) FROM logsvc_internal.plan_request'), 0,
	'it goes with the organization');

# ---- logsvc.plan_changes = self; addresses that are none ----

$t->sql("SELECT logsvc.set_plan('acme', 'free')");
$t->set('logsvc.plan_changes', 'self');
$r = ask(owner => 'enterprise');
is("$r->{status} $r->{json}{data}{plan}", '200 enterprise',
	'owners change the plan themselves when the operator says so');
my (undef, $state) = $t->sql_error("ALTER SYSTEM SET logsvc.operator_email = 'nobody'");
is($state, '22023', 'an address that is none is refused');
is($t->log_text =~ /TRAP:|terminated by signal/ ? 1 : 0, 0, 'no process broke');
$t->stop;
done_testing;
