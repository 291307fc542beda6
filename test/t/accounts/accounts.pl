# accounts.pl: sign-up, confirmation, sign-in, passwords, sessions and links
# over HTTP, with their errors and races.
#
# Takes long.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcDouble;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $t = LogsvcTest->new(conf => "log_statement = 'none'");
my $origin = 'http://localhost:' . $t->http_port;

$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');

# ---- a browser ----

# A request with a session, as its front end sends it.
sub as
{
	my ($cookie, $method, $path, %opt) = @_;
	my $organization = delete $opt{organization};
	my $prefix = delete $opt{prefix} // '';
	my %headers = (Cookie => "theme=dark; ${prefix}logsvc_session=$cookie", Origin => $origin,
		defined $organization ? ('X-Organization-Id' => $organization) : (),
			%{ delete $opt{headers} // {} });
	delete $headers{$_} foreach grep { !defined $headers{$_} } keys %headers;
	return $t->http($method => $path, %opt, headers => \%headers);
}

sub auth { my ($what, $json) = @_; return $t->http(POST => "/api/v1/auth/$what",
	json => $json // {}); }

sub cookies { my ($r) = @_; my $set = $r->{headers}{'set-cookie'} // ''; return ref $set
	? @$set : $set; }
sub first_cookie { return (cookies(@_))[0]; }

sub cookie_of
{
	my ($r) = @_;
	return first_cookie($r) =~ /^logsvc_session=(\w{43});/ ? $1 : undef;
}

sub sign_in
{
	my ($email, $password) = @_;
	return cookie_of(auth('sign-in', { email => $email, password => $password }));
}

sub is_answer
{
	my ($r, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $got = $r->{status} . ($r->{json}{code} ? " $r->{json}{code}" : '');
	is($got, $expected, $name) or diag $r->{content};
	return;
}

# The token of the newest mail of a template, which is sent after the answer.
my %seen;
sub mailed
{
	my ($email, $template) = @_;
	my $key = "$email/$template";
	my $n = ($seen{$key} //= 0) + 1;
	wait_until(sub { $t->sql("SELECT count(*) FROM logsvc.outbox WHERE recipient = '$email' AND "
		. "template = '$template'") >= $n })
	  or return undef;
	$seen{$key} = $n;
	return $t->sql("SELECT link FROM logsvc_internal.outbox WHERE recipient = '$email' AND "
		. "template = '$template' ORDER BY id DESC LIMIT 1");
}
sub token_in { return ($_[0] // '') =~ m{/([\w-]+)#t=(\w{43})$} ? $2 : undef; }

my $password = 'Blue-kettle-and-7-spoons';

# ---- signing up ----

my $r = auth('sign-up', { email => ' Ann@Example.org ', password => $password, name => 'Ann' });
is_answer($r, '202', 'sign-up');
my $accepted = $r->{content};
my $link = mailed('ann@example.org', 'verify_email');
like($link, qr{^http://127\.0\.0\.1:\d+/verify-email#t=\w{43}$},
	'the link has its token in the fragment');
is($t->sql('SELECT count(*) FROM logsvc_internal.account_work'), 0, 'no work is left');
is($t->sql("SELECT count(*) FROM logsvc_internal.one_time_link WHERE token_hash = sha256('"
	. token_in($link) . "')"), 1,
	'a link is stored as a hash');

is_answer(auth('sign-in', { email => 'ann@example.org', password => $password }),
	'403 EMAIL_NOT_VERIFIED', 'not confirmed');
is_answer(auth('sign-in', { email => 'ann@example.org', password => "$password!" }),
	'401 INVALID_CREDENTIALS',
	'not confirmed and a wrong password');

foreach my $case (
	[ { email => 'x', password => $password }, '400 VALIDATION_ERROR', 'no address' ],
	[ { password => $password }, '400 VALIDATION_ERROR', 'without an address' ],
	[ { email => 'b@example.org' }, '400 VALIDATION_ERROR', 'without a password' ],
	[ { email => 'b@example.org', password => 12 }, '400 VALIDATION_ERROR', 'a number' ],
	[ { email => 'b@example.org', password => $password, admin => JSON::PP::true },
		'400 VALIDATION_ERROR', 'another field' ],
	[ { email => 'b@example.org', password => 'short1A' }, '422 WEAK_PASSWORD', 'short' ],
	[ { email => 'b@example.org', password => 'A1' . 'b' x 127 }, '422 WEAK_PASSWORD', 'long' ],
	[ { email => 'b@example.org', password => 'Aa1' . "\x{301}\x{327}" x 15_000 },
		'422 WEAK_PASSWORD', 'of many marks, at once' ],
	[ { email => 'b@example.org', password => 'Password1234' }, '422 BREACHED_PASSWORD', 'common' ],
	[ { email => 'b@example.org', password => 'Liverpool1892' }, '422 BREACHED_PASSWORD',
		'a common word and a year' ],
	[ { email => 'ann@example.org', password => 'Password1234' }, '422 BREACHED_PASSWORD',
		'common, of a known address' ])
{
	is_answer(auth('sign-up', $case->[0]), $case->[1], "sign-up: $case->[2]");
}
$r = auth('sign-up', { email => 'b@example.org', password => 'lower' });
is(join(',', map { "$_->{path}:$_->{code}" } @{ $r->{json}{details} }),
	join(',', ('password:weak_password') x 3),
	'details say each rule that is broken');

# Each link confirms its own sign-up.
is(auth('sign-up', { email => 'ann@example.org', password => 'Somebody-elses-1-word',
	name => 'Eve' })->{content},
	$accepted, 'signing up again: the same answer');
my $other = mailed('ann@example.org', 'verify_email');
$r = auth('verify-email', { token => token_in($link) });
is_answer($r, '200', 'confirmed');
is($r->{json}{data}{user}{name}, 'Ann', 'as the one who asked');
is_answer(auth('verify-email', { token => token_in($link) }), '410 LINK_USED', 'a link works once');
is_answer(auth('verify-email', { token => token_in($other) }), '410 LINK_EXPIRED',
	'the other one is void');
is_answer(auth('verify-email', { token => 'x' x 43 }), '410 LINK_EXPIRED', 'a link that never was');
is_answer(auth('verify-email', {}), '400 VALIDATION_ERROR', 'no token');
is_answer(auth('reset-password', { token => token_in($link), password => $password }),
	'410 LINK_EXPIRED',
	'a link is for one purpose');
ok(!sign_in('ann@example.org', 'Somebody-elses-1-word'),
	'the password of the other sign-up is none');

is(auth('sign-up', { email => 'ann@example.org', password => $password })->{content}, $accepted,
	'signing up with an account: the same answer');
like(mailed('ann@example.org', 'account_exists'), qr{/forgot-password$}, 'and a mail that says so');
is(auth('resend-verification', { email => 'ann@example.org' })->{content}, $accepted,
	'again, when it is confirmed');
is(auth('resend-verification', { email => 'nobody@example.org' })->{content}, $accepted,
	'again, for nobody');

is_answer(auth('sign-up', { email => 'carl@example.org', password => $password }), '202',
	'another one');
mailed('carl@example.org', 'verify_email');
is_answer(auth('resend-verification', { email => 'CARL@example.org' }), '202', 'again');
is_answer(auth('verify-email', { token => token_in(mailed('carl@example.org', 'verify_email')) }),
	'200', 'by the second mail');
ok(sign_in('carl@example.org', $password), 'and in');

# Of several sign-ups nobody knows whose the next mail would confirm.
is_answer(auth('sign-up', { email => 'finn@example.org', password => $password }), '202',
	'one signs up');
mailed('finn@example.org', 'verify_email');
is_answer(auth('sign-up', { email => 'finn@example.org', password => 'Somebody-elses-1-word' }),
	'202', 'and somebody else');
mailed('finn@example.org', 'verify_email');
is_answer(auth('resend-verification', { email => 'finn@example.org' }), '202',
	'the first asks for the mail again');
$link = mailed('finn@example.org', 'reset_password');
is($t->sql("SELECT count(*) FROM logsvc.outbox WHERE recipient = 'finn\@example.org' AND template "
	. "= 'verify_email'"), 2,
	'which confirms no password');
is_answer(auth('reset-password', { token => token_in($link), password => 'A-third-word-of-7' }),
	'200', 'a new one is chosen');
ok(!sign_in('finn@example.org', 'Somebody-elses-1-word'), 'the other password is none');
ok(sign_in('finn@example.org', 'A-third-word-of-7'), 'and the address is confirmed');

auth('resend-verification', { email => 'dora@example.org' });
auth('sign-up', { email => 'dora@example.org', password => $password }) foreach 1 .. 7;
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.account_work') == 0 });
is($t->sql("SELECT count(*) FROM logsvc.outbox WHERE recipient = 'dora\@example.org'"), 5,
	'five mails an hour');

$t->set('logsvc.sign_up', 'off');
is_answer(auth('sign-up', { email => 'e@example.org', password => $password }), '403 FORBIDDEN',
	'sign-up is closed');
$r = $t->http(GET => '/api/v1/config');
is_answer($r, '200', 'config');
ok(!$r->{json}{data}{signUp}, 'which says so');
is($r->{json}{data}{password}{minLength}, 12, 'and the rules');
like($r->{headers}{'cache-control'}, qr/max-age=60/, 'and may be cached');
$t->set('logsvc.sign_up', 'on');

# ---- signing in ----

my $acme = $t->organization('Acme');
my $other_org = $t->organization('Other');
$t->sql("SELECT logsvc.add_member('acme', 'ann\@example.org', 'viewer')");

$r = auth('sign-in', { email => 'Ann@Example.ORG', password => $password });
is_answer($r, '200', 'sign-in');
my $ann = cookie_of($r);
like(first_cookie($r), qr{^logsvc_session=\w{43}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax$},
	'the cookie on loopback');
is($r->{headers}{'cache-control'}, 'no-store', 'kept by no cache');
is($r->{json}{data}{user}{email}, 'ann@example.org', 'the user');
my ($place) = @{ $r->{json}{data}{organizations} };
is("$place->{slug} $place->{role} $place->{plan} $place->{timezone}", 'acme viewer enterprise UTC',
	'the organization');
is(join(',', sort @{ $place->{permissions} }),
	'dashboards:read,logs:read,pipelines:read,roles:read', 'the permission keys');
my $expires = $t->sql("SELECT '$r->{json}{data}{expiresAt}'::timestamptz - now() BETWEEN '6 days "
	. "23:59' AND '7 days'");
is($expires, 't', 'seven days');
is($t->sql("SELECT count(*) FROM logsvc_internal.user_session WHERE token_hash = sha256('$ann')"),
	1, 'stored as a hash');

my %answers;
foreach my $try ([ 'ann@example.org', "${password}x" ], [ 'ann@example.org', '' ],
	[ 'nobody@example.org', $password ],
	[ 'ann@example.org', 'x' x 60_000 ])
{
	$r = auth('sign-in', { email => $try->[0], password => $try->[1] });
	is_answer($r, '401 INVALID_CREDENTIALS', 'wrong: ' . substr("$try->[0] $try->[1]", 0, 60));
	my %h = %{ $r->{headers} };
	delete @h{qw(date x-request-id x-ratelimit-remaining x-ratelimit-reset)};
	$answers{ join ' ', $r->{content}, map { "$_=$h{$_}" } sort keys %h }++;
}
is(scalar(keys %answers), 1, 'one answer for all of them');
is_answer(auth('sign-in', { email => 'ann@example.org' }), '400 VALIDATION_ERROR', 'no password');
is_answer(auth('sign-in', { email => 'ann', password => 'x' }), '400 VALIDATION_ERROR',
	'no address');
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.account_work') == 0 });
is($t->sql(q{SELECT string_agg(DISTINCT actor || ' ' || resource, ',') FROM logsvc.operator_log
	WHERE action = 'user.login_failed' AND actor LIKE 'nobody%' AND ip_address = '127.0.0.1'}),
	'nobody@example.org nobody@example.org',
		'a failed login without an account is in the operator log');
cmp_ok($t->sql(q{SELECT count(*) FROM logsvc_internal.audit_entry e JOIN logsvc_internal.organization o ON o.id = e.organization_id
	WHERE o.slug = 'acme' AND action = 'user.login_failed' AND actor = 'ann@example.org' AND ip_address = '127.0.0.1'}), '==', 3,
	'one with an account in the audit log');
is($t->sql(q{SELECT count(*) FROM logsvc_internal.audit_entry e JOIN logsvc_internal.organization o ON o.id = e.organization_id
	WHERE o.slug = 'acme' AND action = 'user.login' AND details ? 'session'}), 1, 'and a login');

$r = $t->http(POST => '/api/v1/auth/sign-in', json => { email => 'ann@example.org',
	password => $password },
	headers => { Origin => 'https://evil.example' });
is_answer($r, '403 FORBIDDEN', 'a foreign page cannot sign in');

# ---- sessions ----

is_answer(as($ann, GET => '/api/v1/auth/session'), '200', 'the session');
is_answer($t->http(GET => '/api/v1/auth/session'), '401 UNAUTHORIZED', 'without one');
is_answer(as('x' x 43, GET => '/api/v1/auth/session'), '401 SESSION_EXPIRED', 'unknown');
is_answer(as('short', GET => '/api/v1/auth/session'), '401 SESSION_EXPIRED', 'not a session');
is_answer($t->http(GET => '/api/v1/auth/session',
	headers => { Cookie => "logsvc_session=$ann; logsvc_session=" . 'x' x 43 }),
	'401 SESSION_EXPIRED', 'two cookies are none');
is_answer($t->http(GET => '/api/v1/auth/session', token => $acme->{token}),
	'403 INSUFFICIENT_SCOPE', 'a token is no session');
is_answer($t->http(GET => '/api/v1/auth/session', token => 'pat_' . 'x' x 40,
	headers => { Cookie => "logsvc_session=$ann" }),
	'401 INVALID_PAT', 'a header goes before the cookie');

is_answer(as($ann, GET => '/api/v1/search', query => { q => 'x' }, organization => 'acme'), '200',
	'a search, by slug');
is_answer(as($ann, GET => '/api/v1/search', query => { q => 'x' }, organization => $acme->{id}),
	'200', 'by id');
is_answer(as($ann, GET => '/api/v1/search', query => { q => 'x' }), '400 VALIDATION_ERROR',
	'without an organization');
is_answer(as($ann, GET => '/api/v1/search', query => { q => 'x' }, organization => 'other'),
	'404 NOT_FOUND', 'a foreign one');
is_answer(as($ann, GET => '/api/v1/search', query => { q => 'x' },
	organization => $other_org->{id}), '404 NOT_FOUND', 'by its id');
is_answer(as($ann, GET => '/api/v1/search', query => { q => 'x' }, organization => 'none'),
	'404 NOT_FOUND', 'none');
is_answer(as($ann, GET => '/api/v1/search', query => { q => 'x' }, organization => 'x' x 500),
	'404 NOT_FOUND', 'a long one');
is_answer(as($ann, POST => '/api/v1/logs', json => { event => 'x' }, organization => 'acme'),
	'403 FORBIDDEN', 'a viewer does not write');
$t->sql("SELECT logsvc.set_member_role('acme', 'ann\@example.org', 'member')");
is_answer(as($ann, POST => '/api/v1/logs', json => { event => 'x' }, organization => 'acme'), '202',
	'a member does, at once');
foreach my $case ([ undef, 'no' ], [ 'null', 'the null' ], [ 'https://evil.example', 'a foreign' ],
	[ "$origin.evil.example", 'a longer' ])
{
	is_answer(as($ann, POST => '/api/v1/logs', json => { event => 'x' }, organization => 'acme',
		headers => { Origin => $case->[0] }),
		'403 FORBIDDEN', "$case->[1] origin");
	is_answer(as($ann, POST => '/api/v1/auth/sign-out', json => {},
		headers => { Origin => $case->[0] }),
		'403 FORBIDDEN', "$case->[1] origin signs nobody out");
}
is_answer(as($ann, GET => '/api/v1/auth/session', headers => { Origin => undef }), '200',
	'reading needs none');
$t->set('logsvc.allowed_origins', 'https://one.example, https://two.example');
is_answer(as($ann, POST => '/api/v1/logs', json => { event => 'x' }, organization => 'acme',
	headers => { Origin => 'https://two.example' }),
	'202', 'one of the list');
$t->set('logsvc.public_url', 'https://logs.example/app');
my @https = (organization => 'acme', prefix => '__Host-');
is_answer(as($ann, POST => '/api/v1/logs', json => { event => 'x' }, @https,
	headers => { Origin => 'https://logs.example' }),
	'202', 'that of the public URL');
is_answer(as($ann, POST => '/api/v1/logs', json => { event => 'x' }, @https), '403 FORBIDDEN',
	'then localhost is none');
$r = auth('sign-in', { email => 'ann@example.org', password => $password });
like(first_cookie($r),
	qr/^__Host-logsvc_session=\w{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/,
	'https: a Secure cookie of this host only');
is($r->{headers}{'strict-transport-security'}, 'max-age=31536000', 'and HSTS');
is_answer(as($ann, GET => '/api/v1/auth/session'), '401 SESSION_EXPIRED',
	'one that another host may have set is not taken');
is_answer(as($ann, GET => '/api/v1/auth/session', prefix => '__Host-'), '200',
	'one with the prefix is');
$t->set('logsvc.public_url', 'http://logs.example');
unlike(first_cookie(auth('sign-in', { email => 'ann@example.org', password => $password })),
	qr/Secure/, 'http: not');
$t->set('logsvc.public_url', '');

is_answer(as($ann, POST => '/api/v1/evaluations/run-adhoc',
	json => { log => 'x', preview => JSON::PP::true }, organization => 'acme'),
	'401 UNAUTHORIZED', 'no session evaluates');

$r = as($ann, GET => '/api/v1/auth/sessions', headers => { 'User-Agent' => 'other' });
is_answer($r, '200', 'the list');
is(scalar(@{ $r->{json}{data} }), 3, 'three sessions');
is(scalar(grep { $_->{current} } @{ $r->{json}{data} }), 1, 'one is this');
my ($current, $old) = ((grep { $_->{current} } @{ $r->{json}{data} })[0],
	(grep { !$_->{current} } @{ $r->{json}{data} })[0]);
is($current->{address}, '127.0.0.1', 'the address');
like($current->{userAgent}, qr/HTTP-Tiny/, 'the browser');
is(join(',', grep { !defined $current->{$_} } qw(id createdAt lastSeenAt expiresAt)),
	'', 'the times');
my $page = as($ann, GET => '/api/v1/auth/sessions', query => { limit => 2 })->{json};
is(scalar(@{ $page->{data} }) . $page->{page}{hasMore}, '21', 'a page');
is(scalar(@{ as($ann, GET => '/api/v1/auth/sessions',
	query => { limit => 2, cursor => $page->{page}{nextCursor} })->{json}{data} }), 1,
	'the next page');
my $carl = sign_in('carl@example.org', $password);
is_answer(as($carl, DELETE => "/api/v1/auth/sessions/$old->{id}"), '404 NOT_FOUND',
	'not those of others');
is_answer(as($ann, DELETE => '/api/v1/auth/sessions/ses_x'), '404 NOT_FOUND', 'none');
is_answer(as($ann, DELETE => "/api/v1/auth/sessions/$old->{id}"), '204', 'ended');
is_answer(as($ann, DELETE => "/api/v1/auth/sessions/$old->{id}"), '404 NOT_FOUND', 'and gone');

$r = as($ann, POST => '/api/v1/auth/sign-out', json => {});
is_answer($r, '204', 'sign-out');
like($r->{headers}{'set-cookie'}, qr/^logsvc_session=; Path=\/; Max-Age=0;/,
	'takes the cookie back');
is_answer(as($ann, GET => '/api/v1/auth/session'), '401 SESSION_EXPIRED', 'and is over at once');
my @many = map { sign_in('ann@example.org', $password) } 1 .. 3;
is_answer(as($many[0], GET => '/api/v1/auth/session'), '200', 'a new one');
is_answer(as($many[1], POST => '/api/v1/auth/sign-out', json => { all => JSON::PP::true }), '204',
	'sign-out of all');
is_answer(as($_, GET => '/api/v1/auth/session'), '401 SESSION_EXPIRED', 'is over') foreach @many;
is_answer(as($carl, GET => '/api/v1/auth/session'), '200', 'those of others are not');

# The end of a session moves with its use, up to thirty days.
sub age
{
	my ($cookie, $begun, $ends) = @_;
	$t->sql("UPDATE logsvc_internal.user_session SET created_at = now() - interval '$begun', "
		. "expires_at = now() + interval '$ends',"
		  . " last_seen_at = now() - interval '1 day' WHERE token_hash = sha256('$cookie')");
	my $status = as($cookie, GET => '/api/v1/auth/session')->{status};
	return $status . $t->sql("SELECT ' ' || round(extract(epoch FROM expires_at - now()) / 86400, "
		. "1) || ' ' || (last_seen_at > now() - interval '1 minute')"
		  . " FROM logsvc_internal.user_session WHERE token_hash = sha256('$cookie')");
}
$ann = sign_in('ann@example.org', $password);
is(age($ann, '12 hours', '6.5 days'), '200 6.5 true', 'used within a day: the end stays');
is(age($ann, '2 days', '5 days'), '200 7.0 true', 'used after a day: seven days from now');
is(age($ann, '25 days', '2 days'), '200 5.0 true', 'thirty days are the most');
is(age($ann, '30 days', '1 second'), '200 0.0 true', 'and then');
is(age($ann, '30 days', '-1 second'), '401 0.0 false', 'it is over');

# ---- passwords ----

$ann = sign_in('ann@example.org', $password);
my $second = sign_in('ann@example.org', $password);
sub change { my ($current, $new) = @_; return as($ann, POST => '/api/v1/auth/change-password',
	json => { current => $current, password => $new }); }
is_answer(change('wrong', 'Another-good-1-thing'), '401 INVALID_CREDENTIALS',
	'the current one is wrong');
is_answer(change($password, 'weak'), '422 WEAK_PASSWORD', 'weak');
is_answer(change($password, 'Welcome12345'), '422 BREACHED_PASSWORD', 'common');
is_answer(change($password, $password), '422 PASSWORD_REUSED', 'the same');
$r = change($password, 'Number-0-of-many-words');
is_answer($r, '200', 'changed');
cmp_ok($r->{json}{data}{sessionsEnded}, '>=', 1, 'others end');
is_answer(as($ann, GET => '/api/v1/auth/session'), '200', 'this one stays');
is_answer(as($second, GET => '/api/v1/auth/session'), '401 SESSION_EXPIRED', 'the others are over');
ok(mailed('ann@example.org', 'password_changed'), 'a mail says so');
ok(!sign_in('ann@example.org', $password), 'the old one is none');
ok(sign_in('ann@example.org', 'Number-0-of-many-words'), 'the new one is');
is_answer(change("Number-$_-of-many-words", 'Number-' . ($_ + 1) . '-of-many-words'), '200',
	'changed again') foreach 0 .. 8;
is_answer(change('Number-9-of-many-words', 'Number-0-of-many-words'), '422 PASSWORD_REUSED',
	'the tenth before is remembered');
is_answer(change('Number-9-of-many-words', $password), '200', 'the eleventh is not');
is($t->sql("SELECT count(*) FROM logsvc_internal.password_history h JOIN "
	. "logsvc_internal.user_account u ON u.id = h.user_id WHERE email = 'ann\@example.org'"),
	10, 'ten are kept');

# A higher cost: rehashed at the next sign-in, and the history still holds.
$t->set('logsvc.password_cost', '16');
ok(sign_in('ann@example.org', $password), 'in, with an older hash');
is($t->sql("SELECT left(password_hash, 13) FROM logsvc_internal.user_account WHERE email = "
	. "'ann\@example.org'"), '$scrypt$ln=16', 'which is renewed');
is_answer(change($password, 'Number-9-of-many-words'), '422 PASSWORD_REUSED',
	'one of the older cost');
is_answer(change($password, $password), '422 PASSWORD_REUSED', 'the present one');
is_answer(change($password, 'Something-that-is-4-new'), '200', 'a new one');
is_answer(change('Something-that-is-4-new', $password), '422 PASSWORD_REUSED', 'the one of before');
$t->set('logsvc.password_cost', '15');
$password = 'Something-that-is-4-new';

# A hash of one pass, as older versions made them, is renewed as well.
my $hash_of_ann = "SELECT substr(password_hash, 1, position('p=' IN password_hash) + 2) FROM "
	. "logsvc_internal.user_account WHERE email = 'ann\@example.org'";
$t->sql("UPDATE logsvc_internal.user_account SET password_hash = "
	. "logsvc_internal.password_hash_like('$password', '\$scrypt\$ln=15,r=8,p=1\$'"
	  . " || repeat('5', 32) || '\$' || repeat('0', 64)) WHERE email = 'ann\@example.org'");
is($t->sql($hash_of_ann), '$scrypt$ln=15,r=8,p=1', 'an older hash');
ok(!sign_in('ann@example.org', "$password!"), 'a wrong password');
is($t->sql($hash_of_ann), '$scrypt$ln=15,r=8,p=1', 'renews nothing');
ok(sign_in('ann@example.org', $password), 'the right one');
is($t->sql($hash_of_ann), '$scrypt$ln=15,r=8,p=3', 'does');

# ---- forgotten ----

is(auth('forgot-password', { email => 'ann@example.org' })->{content}, $accepted, 'forgot');
is(auth('forgot-password', { email => 'nobody@example.org' })->{content}, $accepted,
	'forgot, nobody');
is_answer(auth('forgot-password', { email => 'x' }), '400 VALIDATION_ERROR', 'forgot, no address');
$link = mailed('ann@example.org', 'reset_password');
like($link, qr{/reset-password#t=\w{43}$}, 'the link');
my $token = token_in($link);
is_answer(auth('reset-password', { token => $token, password => 'weak' }), '422 WEAK_PASSWORD',
	'a weak one');
is_answer(auth('reset-password', { token => $token, password => $password }), '422 PASSWORD_REUSED',
	'the old one');
is_answer(auth('reset-password', { token => $token }), '400 VALIDATION_ERROR', 'no password');
$t->sql("UPDATE logsvc_internal.one_time_link SET expires_at = now() - interval '1 second' WHERE "
	. "token_hash = sha256('$token')");
is_answer(auth('reset-password', { token => $token, password => 'A-new-word-for-8-days' }),
	'410 LINK_EXPIRED', 'after an hour');
$t->sql("UPDATE logsvc_internal.one_time_link SET expires_at = now() + interval '1 minute' WHERE "
	. "token_hash = sha256('$token')");

# 32 at once: one of them wins.
$ann = sign_in('ann@example.org', $password);
my @requests = map { begin_request($t, POST => '/api/v1/auth/reset-password',
	json => { token => $token, password => "A-new-word-for-$_-days" }) } 1 .. 32;
my (%results, @won);
foreach my $n (1 .. 32)
{
	my $answer = end_request($requests[ $n - 1 ]);
	push @won, $n if $answer->{status} == 200;
	my ($code) = ($answer->{content} // '') =~ /"code": ?"(\w+)"/;
	$results{ $answer->{status} . ($code ? " $code" : '') }++;
}
is($results{200}, 1, 'of 32 uses of one link one wins');
is(join(',', grep { !/^(200|410 LINK_USED|503 SERVICE_UNAVAILABLE)$/ } keys %results), '',
	'the others see that it is used')
  or diag explain \%results;
# An account has one hash, so with the winner's in it none of the other 31 is good; three are tried.
ok(sign_in('ann@example.org', "A-new-word-for-$won[0]-days"), 'its password holds');
is(scalar(grep { sign_in('ann@example.org', "A-new-word-for-$_-days") }
	(grep { $_ != $won[0] } 1 .. 32)[ 0, 15, 30 ]), 0,
	'and no other');
is_answer(as($ann, GET => '/api/v1/auth/session'), '401 SESSION_EXPIRED', 'all sessions are over');
is_answer(auth('reset-password', { token => $token, password => 'One-more-try-for-7' }),
	'410 LINK_USED', 'used for good');
is($t->sql(q{SELECT count(*) FROM logsvc_internal.audit_entry WHERE action = }
	. q{'user.password_reset'}), 1, 'audited once');
$password = "A-new-word-for-$won[0]-days";

auth('sign-up', { email => 'fred@example.org', password => $password });
$token = token_in(mailed('fred@example.org', 'verify_email'));
@requests = map { begin_request($t, POST => '/api/v1/auth/verify-email',
	json => { token => $token }) } 1 .. 32;
%results = ();
$results{ end_request($_)->{status} }++ foreach @requests;
is(join(' ', map { "$_:$results{$_}" } sort keys %results), '200:1 410:31',
	'of 32 confirmations one wins');

# Two sessions end one of each other's, and both their own, in a burst of requests.
my @burst = map { sign_in('fred@example.org', $password) } 1 .. 8;
@requests = map { my $c = $burst[ $_ % 8 ]; begin_request($t, GET => '/api/v1/auth/session',
	headers => { Cookie => "logsvc_session=$c" }) } 1 .. 64;
is($t->sql("SELECT logsvc.end_sessions('fred\@example.org') ->> 'ended'"), 8,
	'the operator ends all');
is(scalar(grep { as($_, GET => '/api/v1/auth/session')->{status} == 200 } @burst), 0,
	'no session outlives the COMMIT');
%results = ();
$results{ end_request($_)->{status} }++ foreach @requests;
is(join(',', grep { !/^(200|401)$/ } keys %results), '', 'those on their way got one or the other');

# ---- tokens that somebody else may have made ----

$t->sql("SELECT logsvc.create_user('gus\@example.org', 'Gus', '$password'); SELECT "
	. "logsvc.add_member('acme', 'gus\@example.org', 'admin')");
my $gus = sign_in('gus@example.org', $password);
sub token_of_gus
{
	return as($gus, POST => '/api/v1/tokens', organization => 'acme',
		json => { name => 'x', scopes => ['logs:read'] })->{json}{data}{token};
}
sub works { return $t->http(GET => '/api/v1/indexes', token => $_[0])->{status}; }
sub reset_gus
{
	my ($new, %more) = @_;
	auth('forgot-password', { email => 'gus@example.org' });
	my $answer = auth('reset-password', { token => token_in(mailed('gus@example.org',
		'reset_password')), password => $new, %more });
	$gus = sign_in('gus@example.org', $new);
	return $answer;
}
my @tokens = (token_of_gus(), token_of_gus());
$t->sql("INSERT INTO logsvc_internal.oauth_identity (issuer, subject, user_id, provider) SELECT "
	. "'https://id.example', 'gus', id, 'google' FROM logsvc_internal.user_account WHERE email = "
		. "'gus\@example.org'");
$r = reset_gus('A-first-word-for-1-day');
is_deeply($r->{json}{data}, { sessionsEnded => 1, tokensRevoked => 0 }, 'a reset leaves tokens');
is(works($tokens[0]), 200, 'which work on');
is($t->sql("SELECT count(*) FROM logsvc_internal.oauth_identity WHERE subject = 'gus'"), 1,
	'as identities do');
is_answer(as($gus, POST => '/api/v1/auth/change-password',
	json => { current => 'A-first-word-for-1-day', password => 'x',
		revokeTokens => JSON::PP::true }), '422 WEAK_PASSWORD', 'a password that is refused');
is(works($tokens[0]), 200, 'revokes nothing');
$r = reset_gus('A-second-word-for-2-days', revokeTokens => JSON::PP::true);
is_deeply($r->{json}{data}, { sessionsEnded => 1, tokensRevoked => 2 }, 'unless it is asked to');
is(join(' ', map { works($_) } @tokens), '401 401', 'then they end at once');
is($t->sql("SELECT count(*) FROM logsvc_internal.oauth_identity WHERE subject = 'gus'"), 0,
	'with identities');
is($t->sql("SELECT count(*) FROM logsvc_internal.audit_entry WHERE action = 'token.revoked' AND "
	. "details ->> 'by' = 'password'"), 2, 'audited');
$tokens[0] = token_of_gus();
$r = as($gus, POST => '/api/v1/auth/change-password',
	json => { current => 'A-second-word-for-2-days', password => 'A-third-word-for-3-days',
		revokeTokens => JSON::PP::true });
is_deeply($r->{json}{data}, { sessionsEnded => 0, tokensRevoked => 1 },
	'a change of the password too');
is(works($tokens[0]), 401, 'at once');
is_answer(auth('reset-password', { token => 'x', password => 'x', revokeTokens => 'yes' }),
	'400 VALIDATION_ERROR', 'yes is no boolean');

# ---- guesses from many addresses ----

$t->set('logsvc.trusted_proxies', '127.0.0.1');
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 5 WHERE class = 'sign_in'");
my $guesser = 0;
sub guess
{
	my ($email, $with, $device) = @_;
	$guesser++;
	return $t->http(POST => '/api/v1/auth/sign-in', json => { email => $email, password => $with },
		headers => { 'X-Forwarded-For' => '198.51.100.' . ($guesser % 250), $device
			? (Cookie => "logsvc_device=$device") : () });
}
sub device_in { my ($r) = @_; return (map
	{ /^logsvc_device=(\w{43}); Path=\/; Max-Age=15552000; HttpOnly; SameSite=Lax$/ ? $1 : () }
		cookies($r))[0]; }
$t->sql("SELECT logsvc.create_user('hugo\@example.org', 'Hugo', '$password'); SELECT "
	. "logsvc.create_user('ivan\@example.org', 'Ivan', '$password')");
my $hugo_password = $password;
my $device = device_in(guess('hugo@example.org', $hugo_password));
ok($device, 'a sign-in makes the browser known');
my %answers;
foreach my $email ('hugo@example.org', 'nobody-there@example.org')
{
	$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 5 WHERE class = 'sign_in'");
	my @got = map { guess($email, 'wrong-Password-' . $_) } 1 .. 7;
	my $last = $got[-1];
	$answers{$email} = join ' ', $last->{status},
		$last->{content} =~ s/in \d+ seconds/in some seconds/r,
			map { $last->{headers}{$_} // 'none' } qw(content-type cache-control set-cookie);
	cmp_ok($last->{headers}{'retry-after'}, '>', 30, "$email: and when to come again");
	is(scalar(grep { $_->{status} == 401 } @got), $email =~ /hugo/ ? 4 : 5,
		"$email: five tries a minute, from wherever they come");
}
is($answers{'hugo@example.org'}, $answers{'nobody-there@example.org'},
	'the same answer, account or not');
like($answers{'hugo@example.org'}, qr/^429 .*RATE_LIMIT_EXCEEDED/, 'too many requests');
is_answer(guess('hugo@example.org', $hugo_password), '429 RATE_LIMIT_EXCEEDED',
	'the right password is none of them, in another browser');
is_answer(guess(' Hugo@Example.ORG ', $hugo_password), '429 RATE_LIMIT_EXCEEDED',
	'nor in another spelling');
is_answer($r = guess('hugo@example.org', $hugo_password, $device), '200',
	'the browser that the owner has used is not kept out');
is(device_in($r), undef, 'and stays as it is');
is_answer(guess('hugo@example.org', 'wrong-Password-1', $device), '401 INVALID_CREDENTIALS',
	'it has tries') foreach 1 .. 4;
is_answer(guess('hugo@example.org', $hugo_password, $device), '429 RATE_LIMIT_EXCEEDED',
	'but not more of them');
is_answer(guess('ivan@example.org', 'wrong-Password-1', $device), '401 INVALID_CREDENTIALS',
	'for another account it is nobody\'s') foreach 1 .. 5;
is_answer(guess('ivan@example.org', 'wrong-Password-1', $device), '429 RATE_LIMIT_EXCEEDED',
	'and makes no difference');
is_answer(guess('hugo@example.org', $hugo_password, 'x' x 43), '429 RATE_LIMIT_EXCEEDED',
	'nor does one that never was');
# By mail one gets in at any time.
auth('forgot-password', { email => 'hugo@example.org' });
$r = auth('reset-password', { token => token_in(mailed('hugo@example.org', 'reset_password')),
	password => 'A-fourth-word-for-4-days' });
is_answer($r, '200', 'a reset');
is_answer(guess('hugo@example.org', 'A-fourth-word-for-4-days', device_in($r)), '200',
	'makes its browser known');
is_answer(guess('hugo@example.org', 'A-fourth-word-for-4-days', $device), '429 RATE_LIMIT_EXCEEDED',
	'and forgets the others');
is($t->sql("SELECT count(*) FROM logsvc_internal.known_device d JOIN logsvc_internal.user_account "
	. "u ON u.id = d.user_id WHERE email = 'hugo\@example.org'"), 1, 'one is known');
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1000000 WHERE class = 'sign_in'");
sign_in('hugo@example.org', 'A-fourth-word-for-4-days') foreach 1 .. 21;
is($t->sql("SELECT count(*) FROM logsvc_internal.known_device d JOIN logsvc_internal.user_account "
	. "u ON u.id = d.user_id WHERE email = 'hugo\@example.org'"), 20, 'twenty at most');
$t->set('logsvc.trusted_proxies', '');

# ---- breached passwords ----

my $file = $t->node->data_dir . '/breached';
sub sha1 { return uc unpack 'H*', pack 'H*', Digest::SHA::sha1_hex($_[0]); }
require Digest::SHA;
append_to_file($file, join '', map { "$_:3\r\n" } sort +(map { sha1("filler $_") } 1 .. 2000),
	sha1('In-a-list-of-2-words'));
$t->set('logsvc.breached_passwords_file', $file);
sub checks { return join ' ',
	@{ $t->http(GET => '/api/v1/config')->{json}{data}{password}{breachChecks} }; }
is(checks(), 'bundled file', 'a front end can see that the file is looked at');
is_answer(auth('sign-up', { email => 'g@example.org', password => 'In-a-list-of-2-words' }),
	'422 BREACHED_PASSWORD', 'in the file');
is_answer(auth('sign-up', { email => 'g@example.org', password => 'In-no-list-of-2-words' }), '202',
	'not in the file');
my ($before) = ($t->log_position);
unlink $file;
append_to_file($file, "damaged\n" x 5000);
is_answer(auth('sign-up', { email => 'g@example.org', password => 'In-a-list-of-2-words' }), '202',
	'a damaged file stops nobody');
like($t->log_text($before), qr/could not look for a password in logsvc.breached_passwords_file/,
	'and the log says so');
is(checks(), 'bundled', 'and the configuration');
$t->set('logsvc.breached_passwords_file', '');
sub change_of
{
	my ($cookie, $new) = @_;
	return as($cookie, POST => '/api/v1/auth/change-password',
		json => { current => 'Blue-kettle-and-7-spoons', password => $new });
}

# The range protocol: five digits go out, the rest is compared here.
my $in_range = sha1('Known-to-a-service-4-us');
my $service = LogsvcDouble->new(answer => sub {
	my ($request, $mode) = @_;
	return { status => 500, body => 'no' } if $mode eq 'broken';
	return { hang => 1 } if $mode eq 'hangs';
	return { status => 200, note => "$request->{path} $request->{headers}{'add-padding'}",
		body => sha1('other') =~ s/^.{5}//r . ":5\r\n"
			. ($request->{path} eq '/range/' . lc substr($in_range, 0, 5)
			? substr($in_range, 5) . ":12\r\n" : '') . '0' x 35 . ":0\r\n" };
});
$t->set('logsvc.breached_passwords_url', $service->url . '/range');
is(checks(), 'bundled url', 'a service is set');
sub sign_up { return auth('sign-up', { email => 'h@example.org', password => $_[0] }); }
is_answer(sign_up('Known-to-a-service-4-us'), '422 BREACHED_PASSWORD', 'in the range');
is_answer(sign_up('Unknown-to-a-service-4-us'), '202', 'not in the range');
is_answer(sign_up('Password1234'), '422 BREACHED_PASSWORD', 'in the built-in list');
is_answer(change_of($carl, 'Known-to-a-service-4-us'), '422 BREACHED_PASSWORD',
	'a change of password');
is(join(',', map { $_->{note} } @{ $service->requests }),
	join(',', map { '/range/' . lc(substr(sha1($_), 0, 5)) . ' true' }
	'Known-to-a-service-4-us', 'Unknown-to-a-service-4-us', 'Known-to-a-service-4-us'),
		'five digits are all that goes out');
auth('sign-in', { email => 'h@example.org', password => 'Known-to-a-service-4-us' });
is(scalar(@{ $service->requests }), 3, 'a sign-in asks nobody');
$service->mode('broken');
is_answer(sign_up('Known-to-a-service-4-us'), '202', 'a broken service stops nobody');
$service->mode('hangs');
my $asked = time;
is_answer(sign_up('Known-to-a-service-4-us'), '202', 'one that hangs stops nobody');
cmp_ok(time - $asked, '<', 30, 'for long');
$service->stop;
is_answer(sign_up('Known-to-a-service-4-us'), '202', 'nor one that is gone');
$t->set('logsvc.breached_passwords_url', '');

# ---- who may hash ----

# One executor hashes at a time when there are two, and one is left.
@requests = map { begin_request($t, POST => '/api/v1/auth/sign-in',
	json => { email => "x$_\@example.org", password => $password }) } 1 .. 40;
is_answer(as($carl, GET => '/api/v1/auth/session'), '200', 'other requests are answered');
%results = ();
$results{ end_request($_)->{status} }++ foreach @requests;
is(join(',', grep { !/^(401|503)$/ } keys %results), '', 'a burst of sign-ins: 401 or 503');
# One place of two to hash is kept for browsers that are known, and one more may wait.
cmp_ok($results{401}, '>=', 2, 'some are tried');

# ---- rates ----

$t->sql("SELECT logsvc.create_user('zoe\@example.org', NULL, 'Blue-kettle-and-7-spoons')");
my $zoe = sign_in('zoe@example.org', 'Blue-kettle-and-7-spoons');
$t->sql(q{UPDATE logsvc_internal.rate_limit SET per_minute = 5 WHERE class IN ('auth', }
	. q{'password')});
$t->set('logsvc.trusted_proxies', '127.0.0.1');
sub from { my ($address, $what, $json) = @_; return $t->http(POST => "/api/v1/auth/$what",
	json => $json, headers => { 'X-Forwarded-For' => $address }); }
my @statuses = map { from('192.0.2.1', 'forgot-password',
	{ email => 'nobody@example.org' })->{status} } 1 .. 6;
is(join(' ', @statuses), '202 202 202 202 202 429', 'five a minute and address')
	or diag join ' ', @statuses;
is_answer(from('192.0.2.2', 'forgot-password', { email => 'nobody@example.org' }), '202',
	'another address');
is_answer(from('192.0.2.1', 'verify-email', { token => 'x' }), '429 RATE_LIMIT_EXCEEDED',
	'for all of them together');
is_answer(as($carl, GET => '/api/v1/auth/session'), '200', 'but not for the session');
@statuses = map { as($zoe, POST => '/api/v1/auth/change-password',
	json => { current => 'x', password => 'y' })->{status} } 1 .. 6;
is(join(' ', @statuses), '401 401 401 401 401 429', 'five changes of password a minute and user');

# ---- nothing secret is in the log ----

my $log = slurp_file($t->node->logfile);
is(scalar(() = $log =~ /\Q$password\E|\Q$ann\E|\Q$token\E/g), 0,
	'no password, cookie or token is in the log');

$t->stop;
done_testing();
