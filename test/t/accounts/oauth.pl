# oauth.pl: signing in by an identity provider, of both kinds: accounts,
# switches of organizations, and providers, browsers and tokens that are not
# what they seem.  What the provider does is written in the code that it
# "issued": its double reads it there.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcDouble;
use LogsvcTest;
use Digest::SHA qw(sha256);
use HTTP::Tiny;
use IPC::Run ();
use MIME::Base64 qw(decode_base64 decode_base64url encode_base64url);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $dir = PostgreSQL::Test::Utils::tempdir();

# ---- keys ----

sub run_openssl
{
	my ($in, @arguments) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'openssl', @arguments ], '<', \$in, '>', \$out, '2>', \$err)
		or die "openssl @arguments: $err\n";
	return $out;
}

sub rsa_key
{
	my ($kid) = @_;
	run_openssl('', 'genrsa', '-out', "$dir/$kid.pem", '2048');
	my ($n) = run_openssl('', 'rsa', '-in', "$dir/$kid.pem", '-noout', '-modulus')
		=~ /Modulus=(\w+)/;
	return { kty => 'RSA', kid => $kid, use => 'sig', alg => 'RS256',
		n => encode_base64url(pack 'H*', $n), e => 'AQAB' };
}
my %keys = map { $_ => rsa_key($_) } qw(first second foreign);

sub id_token
{
	my ($kid, $header, $claims) = @_;
	my $text = join '.', map { encode_base64url(json_encode($_)) } { alg => 'RS256', kid => $kid,
		%$header }, $claims;
	return "$text." . encode_base64url(run_openssl($text, 'dgst', '-sha256', '-sign', "$dir/"
		. ($header->{signer} // $kid) . '.pem'));
}

# ---- the providers ----

my $issuer;
sub answer
{
	my ($request, $mode) = @_;
	my ($path) = $request->{path} =~ /^([^?]*)/;
	my %form = map { my ($k, $v) = split /=/; $v =~ s/%(..)/chr hex $1/ge; ($k => $v) } split /&/,
		$request->{body};
	my $given = $form{code} // ($request->{headers}{authorization} // '') =~ s/^Bearer //r;
	my $plan = eval { json_decode(decode_base64url($given)) } // {};

	return { hang => 1 } if $mode eq 'hang';
	return { status => 502, body => 'sorry' } if $mode eq 'broken';
	if ($path eq '/oidc/.well-known/openid-configuration')
	{
		my $i = $mode eq 'foreign' ? 'https://id.evil.example' : $issuer;
		return { body => json_encode({ issuer => $i,
			authorization_endpoint => ($mode =~ /^browser (.*)/)[0] // "$issuer/authorize?theme=1",
				token_endpoint => "$issuer/token",
			jwks_uri => $mode eq 'elsewhere' ? 'http://192.0.2.1/jwks' : "$issuer/jwks",
				userinfo_endpoint => "$issuer/userinfo" }) };
	}
	return { body => json_encode({ keys => [ $keys{first}, $mode eq 'rotated' ? $keys{second} : () ]
		}) } if $path eq '/oidc/jwks';
	return { status => 400, body => '{"error":"invalid_grant"}' } if $path =~ m{/token$}
		&& $plan->{refuse};
	return { body => ' ' x 100_000 } if $path =~ m{/token$} && $plan->{large};
	return { status => 302, headers => { Location => "$issuer/jwks" }, body => '' }
		if $path =~ m{/token$} && $plan->{redirect};
	if ($path eq '/oidc/token')
	{
		my $now = time;
		my %claims = (iss => $issuer, aud => 'our-id', exp => int $now + 300, iat => int $now,
			sub => 'sub-1', %{ $plan->{claims} // {} });
		return { delay => $plan->{delay},
			body => json_encode({ access_token => $given, token_type => 'Bearer',
			id_token => id_token($plan->{kid} // 'first', $plan->{header} // {}, \%claims) }) };
	}
	return { body => json_encode($plan->{userinfo} // {}) } if $path eq '/oidc/userinfo';
	return { body => json_encode($plan->{error} ? { error => $plan->{error} }
		: { access_token => $given }) } if $path eq '/plain/token';
	return { body => json_encode($plan->{user}) } if $path eq '/plain/user';
	return { body => json_encode($plan->{emails}) } if $path eq '/plain/user/emails';
	return { status => 404, body => '{}' };
}
my $double = LogsvcDouble->new(answer => sub { my ($request) = @_;
	$issuer = "http://$request->{headers}{host}/oidc"; answer(@_); });
$issuer = $double->url . '/oidc';

# ---- the service ----

my $t = LogsvcTest->new(conf => "log_statement = 'none'\nlogsvc.executors = 4");
my $own = $t->url;
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');

my $secret = 'A-secret/of the client: 100%';
$secret =~ s/ //g;
PostgreSQL::Test::Utils::append_to_file("$dir/secret", "$secret\n");
chmod 0600, "$dir/secret";

sub is_answer
{
	my ($r, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $got = $r->{status} . ($r->{json}{code} ? " $r->{json}{code}" : '');
	is($got, $expected, $name) or diag $r->{content};
	return;
}

sub cookies { my ($r) = @_; my $c = $r->{headers}{'set-cookie'} // []; return ref $c ? @$c : $c; }
sub cookie { my ($r, $name) = @_; return (map { /^(?:__Host-)?\Q$name\E=([^;]*)/ ? $1 : () }
	cookies($r))[0]; }
sub parameters { my ($url) = @_; return map { my ($k, $v) = split /=/; $v =~ s/%(..)/chr hex $1/ge;
	($k => $v) } split /&/, $url =~ s/^[^?]*\?//r; }

sub start
{
	my ($provider, %query) = @_;
	my $r = $t->http(GET => "/api/v1/auth/oauth/$provider/start", query => \%query);
	return { r => $r, provider => $provider, cookie => cookie($r, 'logsvc_oauth'),
		parameters($r->{headers}{location} // '?') };
}

sub callback
{
	my ($s, $query, %opt) = @_;
	my $cookie = exists $opt{cookie} ? $opt{cookie} : $s->{cookie};
	return $t->http(GET => "/api/v1/auth/oauth/$s->{provider}/callback", query => $query,
		headers => { defined $cookie ? (Cookie => "a=b; logsvc_oauth=$cookie") : () });
}

# A whole sign-in; claims with the nonce of the start unless there is one.
sub google
{
	my ($plan, %query) = @_;
	my $s = start('google', %query);
	$plan->{claims}{nonce} = $s->{nonce} unless exists $plan->{claims}{nonce};
	return callback($s, { code => encode_base64url(json_encode($plan)), state => $s->{state} });
}
sub google_as { my ($sub, $email, %more) = @_;
	return google({ claims => { sub => $sub, email => $email,
		email_verified => JSON::PP::true, %more } }); }
sub github_as
{
	my ($id, @emails) = @_;
	my $s = start('github');
	return callback($s, { state => $s->{state},
		code => encode_base64url(json_encode({ user => { id => $id, login => "user$id",
			name => undef }, emails => \@emails })) });
}
sub address { my ($email, $primary, $verified) = @_; return { email => $email, primary => $primary
	? JSON::PP::true : JSON::PP::false, verified => $verified ? JSON::PP::true : JSON::PP::false };
		}
sub user { my ($r) = @_; return $t->http(GET => '/api/v1/auth/session',
	headers => { Cookie => 'logsvc_session=' . (cookie($r, 'logsvc_session') // '')
		})->{json}{data}; }

# ---- off ----

is_answer(start('google')->{r}, '404 NOT_FOUND', 'google is off');
is_answer(start('github')->{r}, '404 NOT_FOUND', 'github is off');
is_answer(start('other')->{r}, '404 NOT_FOUND', 'no such provider');
is_answer($t->http(GET => '/api/v1/auth/oauth/google/callback?code=x&state=y'), '404 NOT_FOUND',
	'nor does anybody come back');
is_deeply($t->http(GET => '/api/v1/config')->{json}{data}{oauthProviders}, [],
	'the configuration says so');

$t->set('logsvc.public_url', $own);
$t->set('logsvc.allowed_origins', 'https://app.example');
$t->set('logsvc.oauth_google_issuer', $issuer);
$t->set('logsvc.oauth_google_client_id', 'our-id');
is_answer(start('google')->{r}, '503 SERVICE_UNAVAILABLE', 'without a secret');
$t->set('logsvc.oauth_google_client_secret_file', "$dir/secret");
$t->set('logsvc.oauth_github_authorize_url', $double->url . '/plain/authorize');
$t->set('logsvc.oauth_github_token_url', $double->url . '/plain/token');
$t->set('logsvc.oauth_github_user_url', $double->url . '/plain/user');
$t->set('logsvc.oauth_github_client_secret_file', "$dir/secret");
$t->set('logsvc.oauth_github_client_id', 'our-hub-id');
is_deeply($t->http(GET => '/api/v1/config')->{json}{data}{oauthProviders}, [ 'google', 'github' ],
	'both are on');

# What follows is of providers that know whose an address is; of others see below.
$t->set("logsvc.oauth_${_}_authority_domains", '*') foreach qw(google github);

# ---- a start ----

my $s = start('google');
is_answer($s->{r}, '302', 'a start');
like($s->{r}{headers}{location}, qr{^\Q$issuer\E/authorize\?theme=1&response_type=code&},
	'goes to the provider');
is("$s->{client_id} $s->{redirect_uri} $s->{scope} $s->{code_challenge_method}",
	"our-id $own/api/v1/auth/oauth/google/callback openid email profile S256",
		'with what it needs');
is(join(' ', map { length $s->{$_} } qw(state nonce code_challenge)), '43 43 43',
	'and three random texts');
like((cookies($s->{r}))[0], qr{^logsvc_oauth=[\w-]+; Path=/; Max-Age=600; HttpOnly; SameSite=Lax$},
	'the cookie');
unlike(decode_base64url($s->{cookie}), qr/\Q$s->{state}\E|\Q$s->{nonce}\E|\Q$own\E/, 'is sealed');
is($s->{r}{headers}{'cache-control'}, 'no-store', 'and nobody keeps it');
$t->set('logsvc.public_url', 'https://logs.example/');
like((cookies(start('google')->{r}))[0], qr/^__Host-logsvc_oauth=[\w-]+; Path=\/; .*; Secure$/,
	'https: a Secure cookie of this host only');
is({ %{ start('google') } }->{redirect_uri},
	'https://logs.example/api/v1/auth/oauth/google/callback', 'the URL under which users come');
$t->set('logsvc.public_url', $own);
$s = start('github');
is("$s->{client_id} $s->{scope} " . ($s->{nonce} // 'none'), 'our-hub-id read:user user:email none',
	'the plain one');

foreach my $bad ('https://evil.example/', '//evil.example', 'http://127.0.0.1.evil.example/',
	"$own.evil.example", "$own\@evil.example/", 'javascript:alert(1)',
	'/\\evil.example', "$own\\\@evil.example", "https://app.example\\.evil.example",
		"https://app.example\t.evil.example/", 'https://app.example:444/',
	'http://app.example/', "$own/\r\nX-Evil: 1", "$own/" . 'x' x 2000, 'evil.example',
		"$own/\xc3\xa4")
{
	my $r = start('google', redirectTo => $bad)->{r};
	is_answer($r, '400 VALIDATION_ERROR', "not sent to: " . substr($bad, 0, 40) =~ s/[^ -~]/?/gr);
	is($r->{headers}{location}, undef, 'really not');
}
is_answer($t->http(GET => '/api/v1/auth/oauth/google/start?redirectTo=/a&redirectTo=/b'),
	'400 VALIDATION_ERROR', 'two targets');
is_answer($t->http(GET => '/api/v1/auth/oauth/google/start?next=/a'), '400 VALIDATION_ERROR',
	'an unknown parameter');

# ---- new accounts ----

my $r = google({ claims => { sub => 'ann-1', email => 'Ann@Example.org',
	email_verified => JSON::PP::true, name => "Ann \t Lee" } }, redirectTo => '/logs?x=1#y');
is_answer($r, '302', 'signed in');
is($r->{headers}{location}, "$own/logs?x=1#y", 'and sent to the page');
like((grep { /^logsvc_session/ } cookies($r))[0],
	qr{^logsvc_session=\w{43}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax$},
		'with a session like any other');
like((grep { /^logsvc_oauth/ } cookies($r))[0], qr{^logsvc_oauth=; Path=/; Max-Age=0},
	'the state is gone');
my $user = user($r);
is("$user->{user}{email} $user->{user}{emailVerified} $user->{provider}",
	'ann@example.org 1 google', 'a new account, verified');
like($user->{user}{name}, qr/^Ann\s+Lee$/, 'with a name');
is($t->sql("SELECT password_hash IS NULL FROM logsvc_internal.user_account WHERE email = "
	. "'ann\@example.org'"), 't', 'without a password');
is($t->sql("SELECT count(*) FROM logsvc.operator_log WHERE action = 'user.oauth_login' AND actor = "
	. "'ann\@example.org' AND details ->> 'account' = 'created' AND ip_address = '127.0.0.1'"), '1',
		'written down');
my ($token_request) = grep { $_->{path} eq '/oidc/token' } @{ $double->requests };
like(decode_base64(($token_request->{headers}{authorization} =~ /^Basic (.*)/)[0]),
	qr/^our-id:A-secret%2Fofthe/, 'the secret goes into a header');
my ($verifier) = $token_request->{body} =~ /code_verifier=([\w.~-]{43})(&|$)/;
unlike($token_request->{body}, qr/secret/, 'and nowhere else');
is(scalar(grep { $_->{path} =~ /well-known|jwks/ } @{ $double->requests }), 2,
	'discovery and keys are asked for once');

is_answer(google_as('ann-1', 'ann@example.org'), '302', 'again');
is($t->sql('SELECT count(*) FROM logsvc_internal.user_account'), '1', 'the same account');
is_answer($r = google_as('ann-1', 'ann-new@example.org'), '302', 'with another address there');
is(user($r)->{user}{email}, 'ann@example.org', 'is the same person here');
is_answer($r = google({ claims => { sub => 'bob-1' },
	userinfo => { sub => 'bob-1', email => 'bob@example.org', email_verified => JSON::PP::true } }),
		'302', 'an address from the userinfo endpoint');
is(user($r)->{user}{email}, 'bob@example.org', 'taken');
is_answer($r = github_as(42, address('spare@example.org', 0, 1), address('carl@example.org', 1, 1)),
	'302', 'by the plain one');
is(user($r)->{user}{email} . ' ' . user($r)->{user}{name}, 'carl@example.org user42',
	'the primary address');
is(($double->requests->[-3]{body} =~ /client_secret=([^&]*)/)[0], 'A-secret%2Fofthe'
	. 'client%3A100%25', 'the secret goes into the body');
is_answer($r = github_as(43, address('bob@example.org', 1, 1)), '302', 'the address of an account');
is(user($r)->{user}{email}, 'bob@example.org', 'is linked to it');
is($t->sql("SELECT string_agg(i.provider, ' ' ORDER BY i.provider) FROM "
	. "logsvc_internal.oauth_identity i JOIN logsvc_internal.user_account u ON u.id = i.user_id "
		. "WHERE u.email = 'bob\@example.org'"), 'github google', 'one account, two identities');

# PKCE: the challenge of the start is the hash of what the code was redeemed with.
$double->forget;
$s = start('google');
callback($s, { code => encode_base64url(json_encode({ claims => { nonce => $s->{nonce},
	sub => 'ann-1', email => 'ann@example.org', email_verified => JSON::PP::true } })),
		state => $s->{state} });
($verifier) = $double->requests->[0]{body} =~ /code_verifier=([\w.~-]{43})(&|$)/;
is(encode_base64url(sha256($verifier)), $s->{code_challenge}, 'PKCE');

# ---- accounts that are there ----

my $password = 'Blue-kettle-and-7-spoons';
$t->sql("SELECT logsvc.create_user('dora\@example.org', 'Dora', '$password')");
is_answer($r = google_as('dora-1', 'dora@example.org', name => 'Other'), '302',
	'an account with a password');
is(user($r)->{user}{name}, 'Dora', 'is linked as it is');
sub sign_in { return $t->http(POST => '/api/v1/auth/sign-in',
	json => { email => $_[0], password => $password }); }
is_answer(sign_in('dora@example.org'), '200', 'and keeps its password');

# Somebody else signed up with the address, and waits for its owner.
is_answer($t->http(POST => '/api/v1/auth/sign-up', json => { email => 'eve@example.org',
	password => $password, name => 'Mallory' }), '202', 'a sign-up of somebody else');
wait_until(sub { $t->sql("SELECT count(*) FROM logsvc.outbox WHERE recipient = 'eve\@example.org'")
	== 1 });
my $waiting = $t->session('eve@example.org');
my ($link) = $t->sql("SELECT link FROM logsvc_internal.outbox WHERE recipient = 'eve\@example.org'")
	=~ /#t=(\w+)/;
is_answer($r = google_as('eve-1', 'eve@example.org', name => 'Eve'), '302',
	'the owner of the address comes');
is(user($r)->{user}{name}, 'Eve', 'and gets the account');
is_answer(sign_in('eve@example.org'), '401 INVALID_CREDENTIALS', 'its password is none any more');
is_answer($t->http(GET => '/api/v1/auth/session',
	headers => { Cookie => "logsvc_session=$waiting" }), '401 SESSION_EXPIRED',
		'its sessions are over');
is_answer($t->http(POST => '/api/v1/auth/verify-email', json => { token => $link }),
	'410 LINK_EXPIRED', 'its link is void');
is($t->sql("SELECT password_hash IS NULL AND verified_at IS NOT NULL FROM "
	. "logsvc_internal.user_account WHERE email = 'eve\@example.org'"), 't',
		'nothing is left of it');

# ---- providers that are no authority for an address ----

$t->set("logsvc.oauth_google_authority_domains", 'example.com, example.net');
$t->set("logsvc.oauth_github_authority_domains", '');
$t->sql("SELECT logsvc.create_user('gil\@example.org', 'Gil', '$password'); SELECT "
	. "logsvc.create_user('hal\@example.net', 'Hal', '$password')");
sub linked { return $t->sql("SELECT count(*) FROM logsvc_internal.oauth_identity i JOIN "
	. "logsvc_internal.user_account u ON u.id = i.user_id WHERE u.email = '$_[0]'"); }
is_answer(google_as('gil-1', 'gil@example.org'), '403 IDENTITY_NOT_LINKED',
	'an address of another domain is not enough for an account');
is_answer(google_as('gil-1', 'gil@example.org', hd => 'example.org'), '403 IDENTITY_NOT_LINKED',
	'whatever that provider says of the domain');
is_answer(github_as(60, address('gil@example.org', 1, 1)), '403 IDENTITY_NOT_LINKED',
	'nor is the word of the plain one');
is(linked('gil@example.org'), 0, 'nothing is linked');
is($t->sql("SELECT count(*) FROM logsvc.operator_log WHERE action = 'user.login_failed' AND "
	. "details ->> 'reason' = 'not_linked'"), 3, 'which is written down');
is_answer(google_as('hal-1', 'hal@example.net'), '302', 'one of a domain of the list is');
is_answer(google_as('ann-1', 'ann@example.org'), '302', 'who was linked before comes in');
# Signed in to the account in that browser.
sub google_with
{
	my ($session, $sub, $email, $from) = @_;
	my $begun = $t->http(GET => '/api/v1/auth/oauth/google/start',
		headers => { $from ? ('Sec-Fetch-Site' => $from) : () });
	my $start = { provider => 'google', cookie => cookie($begun, 'logsvc_oauth'),
		parameters($begun->{headers}{location}) };
	my $plan = { claims => { nonce => $start->{nonce}, sub => $sub, email => $email,
		email_verified => JSON::PP::true } };
	return callback($start, { code => encode_base64url(json_encode($plan)),
		state => $start->{state} }, cookie => "$start->{cookie}; logsvc_session=$session");
}
is_answer(google_with('x' x 43, 'gil-1', 'gil@example.org'), '403 IDENTITY_NOT_LINKED',
	'a session that is none');
is_answer(google_with($t->session('hal@example.net'), 'gil-1', 'gil@example.org'),
	'403 IDENTITY_NOT_LINKED', 'that of somebody else');
my $old_session = $t->session('gil@example.org');
$t->sql("UPDATE logsvc_internal.user_session SET expires_at = now() - interval '1 s' WHERE "
	. "token_hash = sha256('$old_session')");
is_answer(google_with($old_session, 'gil-1', 'gil@example.org'), '403 IDENTITY_NOT_LINKED',
	'one that is over');
my $own_session = $t->session('gil@example.org');
is_answer(google_with("$own_session; logsvc_session=" . 'y' x 43, 'gil-1', 'gil@example.org'),
	'403 IDENTITY_NOT_LINKED', 'two cookies of one name');
# A link on any page leads to a start, and a provider may send the browser back without a question.
is_answer(google_with($own_session, 'gil-1', 'gil@example.org', 'cross-site'),
	'403 IDENTITY_NOT_LINKED', 'nor is that of the account, if a page of another site began it');
is(linked('gil@example.org'), 0, 'nothing is linked');
is_answer(google_with($own_session, 'gil-1', 'gil@example.org', 'same-origin'), '302',
	'a page of our own may');
$t->sql("DELETE FROM logsvc_internal.oauth_identity WHERE subject = 'gil-1'");
is_answer($r = google_with($own_session, 'gil-1', 'gil@example.org'), '302',
	'the session of the account proves it');
is(user($r)->{user}{email} . ' ' . linked('gil@example.org'), 'gil@example.org 1',
	'and the identity is linked');
is_answer(google_as('gil-1', 'gil@example.org'), '302', 'from then on it is enough');
# An address that waits for its confirmation has nothing that one could steal, unless somebody gave
# it something.
$t->sql("SELECT logsvc.create_user('$_\@example.org') FROM (SELECT 1) x; UPDATE "
	. "logsvc_internal.user_account SET verified_at = NULL WHERE email = '$_\@example.org'")
		foreach qw(ida joe);
$t->organization('waits');
$t->sql("SELECT logsvc.add_member('waits', 'joe\@example.org', 'admin')");
is_answer(google_as('ida-1', 'ida@example.org'), '302',
	'an account that waits is given to who comes');
is_answer(google_as('joe-1', 'joe@example.org'), '403 IDENTITY_NOT_LINKED',
	'but not one that is a member');
is_answer(google_as('kim-1', 'kim@example.org'), '302', 'a new one is made');
$t->set("logsvc.oauth_${_}_authority_domains", '*') foreach qw(google github);

# ---- addresses that are not verified ----

my $accounts = $t->sql('SELECT count(*) FROM logsvc_internal.user_account');
is_answer(google({ claims => { sub => 'x-1', email => 'dora@example.org',
	email_verified => JSON::PP::false } }), '403 EMAIL_NOT_VERIFIED',
		'an address that is not verified');
is_answer(google({ claims => { sub => 'x-1', email => 'dora@example.org' } }),
	'403 EMAIL_NOT_VERIFIED', 'one of which nothing is said');
is_answer(google({ claims => { sub => 'x-1', email => 'dora@example.org', email_verified => 'yes' }
	}), '403 EMAIL_NOT_VERIFIED', 'or something else');
is_answer(google({ claims => { sub => 'x-1' } }), '401 INVALID_CREDENTIALS',
	'a userinfo of nobody');
is_answer(google({ claims => { sub => 'x-1' },
	userinfo => { sub => 'dora-1', email => 'dora@example.org', email_verified => JSON::PP::true }
		}), '401 INVALID_CREDENTIALS', 'of somebody else');
is_answer(github_as(44, address('dora@example.org', 1, 0)), '403 EMAIL_NOT_VERIFIED',
	'the plain one: not verified');
is_answer(github_as(44), '403 EMAIL_NOT_VERIFIED', 'none at all');
is_answer(github_as('44x', address('dora@example.org', 1, 1)), '401 INVALID_CREDENTIALS',
	'a user without an id');
is($t->sql('SELECT count(*) FROM logsvc_internal.user_account'), $accounts, 'nobody came of that');
is($t->sql("SELECT count(*) FROM logsvc_internal.oauth_identity WHERE subject IN ('x-1', '44')"),
	'0', 'nor is anything linked');
is($t->sql("SELECT count(*) FROM logsvc.operator_log WHERE action = 'user.login_failed' AND "
	. "details ->> 'reason' = 'email_not_verified' AND details ->> 'provider' = 'google'"), '3',
		'the failures are written down');

# ---- who may have an account ----

$t->set('logsvc.sign_up', 'off');
is_answer(google_as('fay-1', 'fay@example.org'), '403 FORBIDDEN', 'sign-up is closed');
my $acme = $t->organization('Acme');
$t->http(POST => '/api/v1/invitations', token => $acme->{token},
	json => { email => 'fay@example.org', role => 'member' });
is_answer(google_as('fay-1', 'fay@example.org'), '302', 'but not for who is invited');
is_answer(google_as('dora-1', 'dora@example.org'), '302', 'nor for who is there');
$t->set('logsvc.sign_up', 'on');

# ---- the switch of an organization ----

$t->sql("SELECT logsvc.add_member('acme', 'dora\@example.org', 'admin')");
my $by_google = cookie(google_as('dora-1', 'dora@example.org'), 'logsvc_session');
my $by_password = cookie(sign_in('dora@example.org'), 'logsvc_session');
sub members { my ($cookie) = @_; return $t->http(GET => '/api/v1/members', session => $cookie,
	organization => 'acme'); }
is_answer(members($by_google), '200', 'both are on: may act');
my $patched = $t->http(PATCH => '/api/v1/organizations/acme', token => $acme->{token},
	json => { oauthProviders => ['github'] });
is_answer($patched, '200', 'google is switched off');
is_answer(members($by_google), '404 NOT_FOUND', 'the session acts there no more, at once');
is_answer(members($by_password), '200', 'one by a password does');
my $by_github = cookie(github_as(50, address('dora@example.org', 1, 1)), 'logsvc_session');
is_answer(members($by_github), '200', 'one by the other provider does');
my $seen = $t->http(GET => '/api/v1/auth/session', session => $by_google)->{json}{data};
is_deeply([ map { [ $_->{slug}, $_->{signInAllowed} ? 1 : 0, scalar @{ $_->{permissions} } ] }
	@{ $seen->{organizations} } ], [ [ 'acme', 0, 0 ] ], 'the session says so');
is($t->http(GET => '/api/v1/auth/session',
	session => $by_password)->{json}{data}{organizations}[0]{signInAllowed} ? 1 : 0, 1,
		'the other one too');
is_answer($t->http(POST => '/api/v1/tokens', session => $by_google, organization => 'acme',
	json => { name => 'x', scopes => ['logs:read'] }), '404 NOT_FOUND',
		'no token can be made by it');
$t->http(PATCH => '/api/v1/organizations/acme', token => $acme->{token},
	json => { oauthProviders => [ 'github', 'google' ] });
is_answer(members($by_google), '200', 'switched on again');
is($t->sql("SELECT count(*) FROM logsvc_internal.audit_entry e JOIN logsvc_internal.organization o "
	. "ON o.id = e.organization_id WHERE o.slug = 'acme' AND e.action = 'user.oauth_login'"), '2',
		'sign-ins of members are in the audit log');

# ---- browsers that are not the one ----

my $mine = start('google');
my $other = start('google');
my $code = encode_base64url(json_encode({ claims => { sub => 'ann-1', email => 'ann@example.org',
	email_verified => JSON::PP::true, nonce => $mine->{nonce} } }));
is_answer(callback($mine, { code => $code, state => $mine->{state} }, cookie => undef),
	'400 VALIDATION_ERROR', 'without the cookie');
is_answer(callback($mine, { code => $code, state => $mine->{state} }, cookie => $other->{cookie}),
	'400 VALIDATION_ERROR', 'with the cookie of another browser');
is_answer(callback($mine, { code => $code, state => $other->{state} }), '400 VALIDATION_ERROR',
	'with the state of another one');
is_answer(callback($mine, { code => $code }), '400 VALIDATION_ERROR', 'without a state');
is_answer(callback($mine, { code => $code, state => $mine->{state} },
	cookie => substr($mine->{cookie}, 0, -1) . ($mine->{cookie} =~ /A$/ ? 'B' : 'A')),
		'400 VALIDATION_ERROR', 'a cookie that was changed');
is_answer(callback($mine, { code => $code, state => $mine->{state} }, cookie => 'x'),
	'400 VALIDATION_ERROR', 'one that is none');
is_answer(callback({ %$mine, provider => 'github' }, { code => $code, state => $mine->{state} }),
	'400 VALIDATION_ERROR', 'a state of the other provider');
is_answer($t->http(GET =>
	"/api/v1/auth/oauth/google/callback?code=$code&state=$mine->{state}&state=$other->{state}",
		headers => { Cookie => "logsvc_oauth=$mine->{cookie}" }), '400 VALIDATION_ERROR',
			'two states');
is_answer(callback($mine, { code => $code, state => $mine->{state},
	iss => 'https://id.evil.example' }), '400 VALIDATION_ERROR', 'from another issuer');
is_answer(callback($mine, { code => $code, state => $mine->{state} }), '400 VALIDATION_ERROR',
	'which has used the state up');
$mine = start('google');
$code = encode_base64url(json_encode({ claims => { sub => 'ann-1', email => 'ann@example.org',
	email_verified => JSON::PP::true, nonce => $mine->{nonce} } }));
is_answer(callback($mine, { code => $code, state => $mine->{state}, iss => $issuer,
	scope => 'openid', authuser => 0 }), '302', 'the right one, with what providers add');
is_answer(callback($mine, { code => $code, state => $mine->{state} }), '400 VALIDATION_ERROR',
	'a second time');
$double->forget;
$mine = start('google');
my @race = map { begin_request($t, GET => "/api/v1/auth/oauth/google/callback?code="
	. encode_base64url(json_encode({ claims => { sub => 'ann-1', email => 'ann@example.org',
	email_verified => JSON::PP::true, nonce => $mine->{nonce} } })) . "&state=$mine->{state}",
		headers => { Cookie => "logsvc_oauth=$mine->{cookie}" }) } 1 .. 8;
my %statuses;
$statuses{ end_request($_)->{status} }++ foreach @race;
is($statuses{302}, 1, 'eight at once: one signs in') or diag join ' ', %statuses;
is(scalar(grep { $_->{path} eq '/oidc/token' } @{ $double->requests }), 1,
	'and one asks the provider');
$mine = start('google');
is_answer(callback($mine, { error => 'access_denied', state => $mine->{state} }),
	'401 INVALID_CREDENTIALS', 'the user says no');
$mine = start('google');
is_answer(callback($mine, { state => $mine->{state} }), '400 VALIDATION_ERROR', 'no code');
$mine = start('google');
$t->set('logsvc.oauth_google_client_id', 'other-id');
is_answer(callback($mine, { code => $code, state => $mine->{state} }), '401 INVALID_CREDENTIALS',
	'a token for another client');
$t->set('logsvc.oauth_google_client_id', 'our-id');

# ---- tokens that are not what they seem ----

my %good = (sub => 'dora-1', email => 'dora@example.org', email_verified => JSON::PP::true);
foreach my $case (
	[ { claims => { nonce => 'x' x 43 } }, 'another nonce' ],
	[ { claims => { nonce => undef } }, 'no nonce' ],
	[ { claims => { exp => time - 3600 } }, 'expired' ],
	[ { claims => { iat => time - 3600 } }, 'old' ],
	[ { claims => { aud => 'their-id' } }, 'for another client' ],
	[ { claims => { aud => [ 'our-id', 'their-id' ], azp => 'their-id' } },
		'made for another client' ],
	[ { claims => { iss => 'https://id.evil.example' } }, 'of another issuer' ],
	[ { kid => 'foreign', header => { kid => 'first', signer => 'foreign' } },
		'signed by somebody else' ],
	[ { kid => 'foreign' }, 'signed with an unknown key' ],
	[ { header => { alg => 'none' } }, 'alg none' ],
	[ { header => { alg => 'HS256' } }, 'alg HS256' ],
	[ { refuse => 1 }, 'a code that is refused' ],
	[ { redirect => 1 }, 'a token endpoint that sends elsewhere' ])
{
	my ($plan, $name) = @$case;
	is_answer(google({ %$plan, claims => { %good, %{ $plan->{claims} // {} } } }),
		'401 INVALID_CREDENTIALS', "a token: $name");
}
is_answer(google({ large => 1 }), '503 SERVICE_UNAVAILABLE', 'an answer without end');
$s = start('github');
is_answer(callback($s, { state => $s->{state},
	code => encode_base64url(json_encode({ error => 'bad_verification_code' })) }),
		'401 INVALID_CREDENTIALS', 'the plain one: a code that is refused');

# ---- keys that change ----

$double->mode('rotated');
$double->forget;
is_answer(google({ kid => 'second', claims => {%good} }), '401 INVALID_CREDENTIALS',
	'a new key, within a minute of the last look');
$t->sql("UPDATE logsvc_internal.oauth_document SET tried_at = now() - interval '61 seconds'");
is_answer(google({ kid => 'second', claims => {%good} }), '302', 'a minute later');
is(scalar(grep { $_->{path} eq '/oidc/jwks' } @{ $double->requests }), 1, 'after one look');
is_answer(google({ kid => 'first', claims => {%good} }), '302', 'the old one is good still');
google({ kid => 'foreign', claims => {%good} }) foreach 1 .. 5;
is(scalar(grep { $_->{path} eq '/oidc/jwks' } @{ $double->requests }), 1,
	'unknown keys do not make it look again and again');
$double->mode('');
$t->sql("UPDATE logsvc_internal.oauth_document SET fetched_at = now() - interval '61 minutes'");
is_answer(google({ kid => 'second', claims => {%good} }), '401 INVALID_CREDENTIALS',
	'a key that was withdrawn, an hour later');

# ---- providers that are not well ----

sub forget_documents { $t->sql('DELETE FROM logsvc_internal.oauth_document'); return; }
foreach my $mode ('foreign', 'broken')
{
	forget_documents();
	$double->mode($mode);
	is_answer(start('google')->{r}, '503 SERVICE_UNAVAILABLE', "a discovery document: $mode");
}
foreach my $url ('http://192.0.2.1/authorize', 'javascript:alert(1)', "$issuer/a#b", "$issuer/a b",
	"$issuer/a\r", 'http://127.0.0.1@192.0.2.1/', 'https://id.example\\@192.0.2.1/')
{
	forget_documents();
	$double->mode("browser $url");
	my $begun = start('google')->{r};
	is_answer($begun, '503 SERVICE_UNAVAILABLE', 'no browser is sent to ' . $url =~ s/\s/?/gr);
	is_deeply([ $begun->{headers}{location}, cookies($begun) ], [undef], 'nor gets a cookie');
}
forget_documents();
$double->mode('elsewhere');
is_answer(google({ claims => {%good} }), '503 SERVICE_UNAVAILABLE',
	'keys by http from another machine');
$double->mode('');
forget_documents();
start('google');
my @held = map { start($_) } ('google', 'github') x 3;
$double->mode('hang');
my $since = time;
my @waiting = map { begin_request($t, GET =>
	"/api/v1/auth/oauth/$_->{provider}/callback?code=x&state=$_->{state}",
		headers => { Cookie => "logsvc_oauth=$_->{cookie}" }) } @held;
my @late = grep { !answered($_, 2) } @waiting;
is(scalar @late, 2, 'a provider that does not answer holds half of the executors');
my $asked = time;
is_answer($t->http(GET => '/api/v1/search?q=x', token => $acme->{token}), '200', 'searches go on');
cmp_ok(time - $asked, '<', 8, 'at once');
is($t->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type ~ 'logsvc' AND xact_start IS "
	. "NOT NULL AND wait_event = 'LogsvcNetwork'"), '0', 'no transaction is open meanwhile');
is(join(' ', map { end_request($_)->{status} } @waiting), '503 503 503 503 503 503',
	'all get 503');
my $took = time - $since;
ok($took > 8 && $took < 40, 'after ten seconds') or diag $took;
$double->mode('');
is_answer(google({ claims => {%good} }), '302', 'when it is back, so are sign-ins');
is_answer(google({ claims => {%good}, delay => 1 }), '302', 'a slow one will do');
$double->stop;
is_answer(start('google')->{r}, '302', 'a start needs no provider while its documents are kept');
my $gone = start('github');
is_answer(callback($gone, { code => 'x', state => $gone->{state} }), '503 SERVICE_UNAVAILABLE',
	'a provider that is gone');

# ---- TLS ----

my $files = LogsvcDouble::certificates();
my $tls = LogsvcDouble->new(answer => \&answer,
	tls => { cert => $files->{cert}, key => $files->{key} });
$t->set('logsvc.oauth_github_authorize_url', $tls->url . '/plain/authorize');
$t->set('logsvc.oauth_github_token_url', $tls->url . '/plain/token');
$t->set('logsvc.oauth_github_user_url', $tls->url . '/plain/user');
is_answer(github_as(60, address('tom@example.org', 1, 1)), '503 SERVICE_UNAVAILABLE',
	'TLS: a certificate of nobody who is known');
is(scalar @{ $tls->requests }, 0, 'nothing was sent');
$t->set('logsvc.ca_file', $files->{ca});
is_answer(github_as(60, address('tom@example.org', 1, 1)), '302', 'TLS: of logsvc.ca_file');

# ---- settings ----

$t->set('logsvc.oauth_github_user_url', 'http://198.51.100.1/user');
is_answer(start('github')->{r}, '503 SERVICE_UNAVAILABLE', 'http to another machine is not spoken');
chmod 0644, "$dir/secret";
is_answer(start('google')->{r}, '503 SERVICE_UNAVAILABLE',
	'a secret that others can read is not used');
$t->set('logsvc.oauth_github_client_id', '');
is_answer(start('github')->{r}, '404 NOT_FOUND', 'off again');

# ---- SQL callers ----

my (undef, $state) = $t->sql_error("SET ROLE logsvc_tenant; SELECT "
	. "logsvc_internal.auth_oauth_callback('google')");
is($state, '42501', 'a tenant gets no session by SQL');
(undef, $state) = $t->sql_error("SELECT logsvc_internal.auth_oauth_callback('google')");
is($state, 'LS202', 'nor does an operator');

# ---- rates ----

chmod 0600, "$dir/secret";
$t->set('logsvc.trusted_proxies', '127.0.0.1');
$t->sql(q{UPDATE logsvc_internal.rate_limit SET per_minute = 5 WHERE class = 'auth'});
my @from = (headers => { 'X-Forwarded-For' => '192.0.2.1' });
is(join(' ', map { $t->http(GET => '/api/v1/auth/oauth/google/start', @from)->{status} } 1 .. 6),
	'302 302 302 302 302 429', 'five starts a minute and address');
is_answer($t->http(GET => '/api/v1/auth/oauth/google/callback', @from), '400 VALIDATION_ERROR',
	'a return is not counted');

my $log = slurp_file($t->node->logfile);
is(scalar(() = $log =~ /\Q$secret\E|\Q$mine->{state}\E|\Q$code\E|dora\@example/g), 0,
	'no secret, state, code or address is in the log');

$t->stop;
done_testing();
