# credit_caps.pl: how many AI credits one member or one token may use in a month.
use strict;
use warnings;

use JSON::PP ();
use LogsvcAsync;
use LogsvcDouble;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.model_region = 'eu'");
my $org = $t->organization('acme', plan => 'pro');

# 900 tokens in and 100 out at 15 and 75 USD a million: 2.1 credits a call.
my $double = LogsvcDouble->new(answer => sub {
	return { status => 200, delay => 0.1, headers => { 'Content-Type' => 'application/json' },
		body => json_encode({ model => 'm', choices => [ { finish_reason => 'stop', message => {
			role => 'assistant',
			content => '{"verdict":[{"explanation":"e","status":"passed"}],"summary":null}' } } ],
		usage => { prompt_tokens => 900, completion_tokens => 100 } }) };
});
$t->set('logsvc.model_endpoint', $double->url . '/v1');
$t->set('logsvc.model_endpoint_region', 'eu-central-1');
$t->set('logsvc.model_provider', 'openai');
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1000000 WHERE class = 'evaluation'");

sub member
{
	my ($name, $role) = @_;
	$t->sql("SELECT logsvc.create_user('$name\@acme.example', '$name')");
	my $m = $t->sql_json("SELECT logsvc.add_member('acme', '$name\@acme.example', '$role')");
	return { id => $m->{id}, cookie => $t->session("$name\@acme.example"), name => $name };
}
my ($ann, $bob, $eve) = (member('ann', 'member'), member('bob', 'admin'), member('eve', 'admin'));
my $owner = { cookie => $t->session($org->{email}),
	id => $t->sql("SELECT logsvc_internal.public_id('mem_', m.id) FROM logsvc_internal.member m "
		. "WHERE role = 'owner' AND organization_id = logsvc_internal.parse_public_id('org_', '$org->{id}')") };

sub ask
{
	my ($who, $method, $path, $body) = @_;
	return $t->http($method => "/api/v1/$path", session => $who->{cookie},
		organization => $org->{id}, $body ? (json => $body) : ());
}
sub said { my ($r) = @_; return join ' ', $r->{status}, $r->{json}{code} // (); }
sub cap { my ($who, $whom, $credits) = @_;
	return said(ask($who, PATCH => "members/$whom->{id}", { aiCreditLimit => $credits })); }
sub token { my ($who, %more) = @_;
	return ask($who, POST => 'tokens', { name => 't', scopes => [ 'evaluations:run', 'logs:read' ], %more }); }
my %request = (rows => ['x'], criteria => 'y', model => 'model-opus-4-7');
sub evaluate { my ($token, %more) = @_;
	return $t->http(POST => '/api/v1/evaluations/run-adhoc', token => $token,
		json => { %request, %more }); }
sub exhausted { my ($r) = @_; return join ' ', $r->{status}, map { $r->{json}{$_} // '-' } qw(code limitOf limit remaining); }

# ---- who sets the cap of a member ----

is(cap($ann, $ann, 1000), '403 FORBIDDEN', 'a member does not set it');
is(cap($bob, $owner, 0), '403 FORBIDDEN', 'an admin does not set that of an owner');
is(cap($owner, $bob, 100), '200', 'an owner sets that of an admin');
is(cap($bob, $bob, undef), '403 FORBIDDEN', 'who does not lift it');
my $key = ask($bob, POST => 'api-keys', { name => 'k', scope => 'full-access' })->{json}{data}{key};
is(said($t->http(PATCH => "/api/v1/members/$bob->{id}", token => $key, json => { aiCreditLimit => undef })),
	'403 FORBIDDEN', 'nor with a key of his');
is(cap($eve, $bob, 200), '200', 'another admin does');
is(cap($bob, $ann, 5), '200', 'an admin sets that of a member');
foreach my $bad (-1, 1_000_000_001, 1.5, 'x', JSON::PP::true)
{
	is(cap($owner, $ann, $bad), '400 VALIDATION_ERROR', "not to $bad");
}
my $r = ask($owner, PATCH => "members/$ann->{id}", {});
is(said($r), '400 VALIDATION_ERROR', 'and not to nothing');
$r = ask($owner, PATCH => "members/$ann->{id}", { role => 'admin', aiCreditLimit => 5 });
is(join(' ', @{ $r->{json}{data} }{qw(role aiCreditLimit aiCreditsUsed)}), 'admin 5 0', 'with the role');
is(said(ask($owner, PATCH => "members/$ann->{id}", { role => 'member' })), '200', 'the role alone');
my ($listed) = grep { $_->{id} eq $ann->{id} } @{ ask($bob, GET => 'members')->{json}{data} };
is("$listed->{role} $listed->{aiCreditLimit}", 'member 5', 'leaves the cap as it is; lists show it');
is($t->sql("SELECT string_agg(coalesce(details ->> 'from', '-') || '>' || (details ->> 'to'), ' ' ORDER BY number) "
	. "FROM logsvc_internal.audit_entry WHERE action = 'member.ai_credits_limited'"), '->100 100>200 ->5',
	'changes are audited');

# ---- of a token ----

is(said(token($ann, aiCreditLimit => 6)), '400 VALIDATION_ERROR', 'a token gets no more than its user');
my $small = token($ann, aiCreditLimit => 2)->{json}{data};
is($small->{aiCreditLimit}, 2, 'less than that');
my @tokens = map { token($ann)->{json}{data} } 1 .. 2;
is(said(ask($ann, PATCH => "tokens/$small->{id}", { aiCreditLimit => 6 })), '400 VALIDATION_ERROR',
	'it is not raised beyond either');
is(said(ask($ann, PATCH => "tokens/$small->{id}", {})), '400 VALIDATION_ERROR', 'nor by nothing');
is(said(ask($owner, PATCH => "tokens/$small->{id}", { aiCreditLimit => 1 })), '404 NOT_FOUND',
	'that of somebody else');
$r = ask($ann, PATCH => "tokens/$small->{id}", { aiCreditLimit => 1 });
is("$r->{status} $r->{json}{data}{aiCreditLimit}", '200 1', 'and one of one\'s own');
$t->sql('CREATE ROLE app LOGIN; GRANT logsvc_tenant TO app');
(undef, my $state) = $t->sql_error("SELECT logsvc.use_token('$small->{token}') IS NULL; "
	. "SELECT logsvc.update_token('$small->{id}', NULL)", user => 'app');
is($state, 'LS201', 'a token does not lift its own');

# ---- evaluations ----

is(evaluate($small->{token})->{status}, 200, 'a call may start while any of the cap is left');
is(exhausted(evaluate($small->{token})), '429 AI_CREDITS_EXHAUSTED token 1 0', 'then no other');
$r = $t->http(GET => '/api/v1/usage', token => $small->{token})->{json}{data}{aiCredits};
is(join(' ', map { "$_->{of} $_->{used} $_->{limit} $_->{remaining}" } @{ $r->{caps} }),
	'member 2.1 5 2.9 token 2.1 1 0', 'usage shows both caps of the caller');
($listed) = grep { $_->{id} eq $small->{id} } @{ ask($ann, GET => 'tokens')->{json}{data} };
is($listed->{aiCreditsUsed}, 2.1, 'lists of tokens what they used');

# 2.9 are left to the member: with both tokens at once, and with rows of a search.
$double->forget;
my @calls = map { begin_request($t, POST => '/api/v1/evaluations/run-adhoc',
	token => $tokens[ $_ % 2 ]{token}, json => \%request) } 1 .. 20;
my %answers;
$answers{ end_request($_)->{status} }++ foreach @calls;
my $made = @{ $double->requests };
cmp_ok($made, '>=', 1, "of 20 calls at once $made are made");
cmp_ok($made, '<=', 2, 'which together pass the cap by at most what one costs');
is(($answers{200} // 0) . ' ' . ($answers{429} // 0), "$made " . (20 - $made), 'the others are refused');
evaluate($tokens[0]{token}) if $made < 2;
is(exhausted(evaluate($tokens[0]{token})), '429 AI_CREDITS_EXHAUSTED member 5 0', 'all is used');
delete $request{rows};
is(exhausted(evaluate($tokens[1]{token}, query => 'index=main')),
	'429 AI_CREDITS_EXHAUSTED member 5 0', 'for rows that a search finds, too');
$request{rows} = ['x'];
(undef, $state, my $message) = $t->sql_error("SELECT logsvc.use_token('$tokens[0]{token}') IS NULL; "
	. "SELECT logsvc.evaluate(ARRAY['x'], 'y')");
is($state, 'LS603', 'and in SQL');
like($message, qr/this member may use this month are used up/, '... which says whose they are');
is(evaluate($org->{token})->{status}, 200, 'others go on');
$t->set('logsvc.model_provider', 'builtin');
is(exhausted(evaluate($tokens[0]{token})), '429 AI_CREDITS_EXHAUSTED member 5 0',
	'the built-in evaluator answers no more either');
$t->set('logsvc.model_provider', 'openai');

# Who comes back has used what was used.
$t->sql("SELECT logsvc.remove_member('acme', 'ann\@acme.example'); "
	. "SELECT logsvc.add_member('acme', 'ann\@acme.example', 'member')");
my ($again) = grep { $_->{email} eq 'ann@acme.example' } @{ ask($bob, GET => 'members')->{json}{data} };
is($again->{aiCreditsUsed}, 6.3, 'a member who comes back');
$ann->{id} = $again->{id};
is(cap($bob, $ann, 6), '200', 'and gets a cap');
my $new = token($ann)->{json}{data};
is(exhausted(evaluate($new->{token})), '429 AI_CREDITS_EXHAUSTED member 6 0', 'does not begin with nothing used');
is(cap($bob, $ann, undef), '200', 'without a cap');
is(evaluate($new->{token})->{status}, 200, 'there is what the organization has');
is($t->sql("SELECT sum(used) FROM logsvc_internal.ai_credit_month"), 5 * 2_100_000,
	'which has paid each call in full');
is($t->sql("SELECT count(*) FROM logsvc_internal.ai_credit_reservation"), 0, 'nothing stays reserved');

# The use of past months goes.
$t->sql("SELECT logsvc_internal.open_ai_credit_month(now() + interval '1 month')");
cmp_ok($t->sql("SELECT count(*) FROM logsvc_internal.ai_credit_use"), '>', 0, 'last month is kept');
$t->sql("SELECT logsvc_internal.open_ai_credit_month(now() + interval '2 months')");
is($t->sql("SELECT count(*) FROM logsvc_internal.ai_credit_use"), 0, 'and no longer');

$double->stop;
$t->stop;
done_testing;
