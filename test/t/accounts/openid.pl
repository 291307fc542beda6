# openid.pl: the whole way through a real OpenID Connect provider
# (test/npm/provider.js), with a browser that follows links, fills in forms and
# keeps cookies.
use strict;
use warnings;

use HTTP::Tiny;
use IPC::Run ();
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $dir = PostgreSQL::Test::Utils::tempdir();
my $t = LogsvcTest->new(conf => "log_statement = 'none'");
my $own = $t->url;
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $issuer = "http://127.0.0.1:$port";

$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');

# ---- the provider ----

my $provider;
my $provider_output;
sub stop_provider
{
	my $pid = $provider or return;
	local $?;
	undef $provider;
	kill 'TERM', $pid;
	close $provider_output;
	return;
}

sub start_provider
{
	my ($algorithm) = @_;
	stop_provider();
	$provider = open($provider_output, '-|') // die "cannot fork: $!\n";
	if ($provider == 0)
	{
		$SIG{$_} = 'DEFAULT' foreach qw(TERM INT HUP);
		open STDERR, '>>', "$dir/provider.log";
		exec 'node', 'build/npm/provider.js', $port, "$own/api/v1/auth/oauth/google/callback",
			$algorithm;
		require POSIX;
		POSIX::_exit(1);
	}
	my $line = <$provider_output>;
	die 'the provider does not start: ' . slurp_file("$dir/provider.log")
		unless ($line // '') eq "ready\n";
	return;
}
END { stop_provider(); }

# ---- the browser ----

# Goes to a URL and on, as `login` and with consent, to the page that is not the
# provider's.  Named: stop (the URL where not to go), abort (no consent).
sub browse
{
	my ($jar, $url, $login, %opt) = @_;
	my $client = HTTP::Tiny->new(max_redirect => 0, timeout => 30);
	my ($method, $form) = ('GET', undef);

	foreach (1 .. 20)
	{
		my ($path) = $url =~ m{^http://[^/]*([^?#]*)} or die "not a URL: $url\n";
		my $cookies = join '; ', map { my ($name, $at) = split / /; index($path, $at) == 0
			? "$name=$jar->{$_}" : () } sort keys %$jar;
		my %headers = (Cookie => $cookies);
		$headers{'Content-Type'} = 'application/x-www-form-urlencoded' if $form;
		return { url => $url } if $opt{stop} && index($url, $opt{stop}) == 0;
		my $r = $client->request($method, $url,
			{ headers => \%headers, $form ? (content => $client->www_form_urlencode($form)) : () });
		my $set = $r->{headers}{'set-cookie'} // [];
		foreach (ref $set ? @$set : $set)
		{
			my ($name, $value) = /^([^=]+)=([^;]*)/;
			my ($at) = /; *path=([^;]*)/i;
			my $key = "$name " . ($at // '/');
			if (/max-age=0|expires=Thu, 01 Jan 1970/i) { delete $jar->{$key}; }
			else { $jar->{$key} = $value; }
		}
		($method, $form) = ('GET', undef);
		if ($r->{status} =~ /^30[237]$/)
		{
			my $from = $url;
			$url = $r->{headers}{location};
			$url = ($from =~ m{^(http://[^/]*)})[0] . $url if $url =~ m{^/};
			return { url => $url, from => $from, status => $r->{status} } if index($from, $own) == 0
				&& index($url, $issuer) != 0;
			next;
		}
		my ($prompt) = ($r->{content} // '') =~ /name="prompt" value="(\w+)"/;
		return { url => $url, status => $r->{status}, json => eval { json_decode($r->{content}) },
			content => $r->{content} } unless $prompt;
		if ($opt{abort} && $prompt eq 'consent') { $url .= '/abort'; next; }
		($method, $form) = ('POST', { prompt => $prompt, $prompt eq 'login'
			? (login => $login, password => 'any') : () });
	}
	die "in circles\n";
}

my $start = "$own/api/v1/auth/oauth/google/start";
sub session { my ($jar) = @_; return $t->http(GET => '/api/v1/auth/session',
	headers => { Cookie => 'logsvc_session=' . ($jar->{'logsvc_session /'} // '') })->{json}{data};
		}
sub code { my ($r) = @_; return $r->{status} . ($r->{json}{code} ? " $r->{json}{code}" : ''); }

# ---- sign-ins ----

start_provider('RS256');
PostgreSQL::Test::Utils::append_to_file("$dir/secret", "a secret / of 100% + more\n");
chmod 0600, "$dir/secret";
$t->set('logsvc.public_url', $own);
$t->set('logsvc.oauth_google_issuer', $issuer);
$t->set('logsvc.oauth_google_client_secret_file', "$dir/secret");
$t->set('logsvc.oauth_google_client_id', 'logsvc');

my %ann;
my $r = browse(\%ann, "$start?redirectTo=/welcome", 'ann');
is("$r->{status} $r->{url}", "302 $own/welcome",
	'authorize, login, consent, callback, and to the page') or diag $r->{content};
like($r->{from}, qr{^\Q$own\E/api/v1/auth/oauth/google/callback\?}, 'from the callback');
my $s = session(\%ann);
is("$s->{user}{email} $s->{user}{name} $s->{provider}", 'ann@example.org Name of ann google',
	'a session of the user');
ok(!exists $ann{'logsvc_oauth /'}, 'the cookie of the start is gone');
my $first = $s->{user}{id};
is(browse(\%ann, $start, 'ann')->{url}, "$own/", 'again, now without forms');
is(session(\%ann)->{user}{id}, $first, 'the same account');
my %elsewhere;
browse(\%elsewhere, $start, 'ann');
is(session(\%elsewhere)->{user}{id}, $first, 'in another browser too');
my %bob;
browse(\%bob, $start, 'bob');
isnt(session(\%bob)->{user}{id}, $first, 'another person is another one');

# An account that is there: this provider is no authority until the operator says so.
$t->sql("SELECT logsvc.create_user('$_\@example.org', '$_', 'Blue-kettle-and-7-spoons')")
	foreach qw(finn gwen);
my %finn;
is(code(browse(\%finn, $start, 'finn')), '403 IDENTITY_NOT_LINKED',
	'an account with the address is not linked by the provider\'s word');
ok(!exists $finn{'logsvc_session /'}, 'no session');
$r = $t->http(POST => '/api/v1/auth/sign-in', json => { email => 'finn@example.org',
	password => 'Blue-kettle-and-7-spoons' });
my ($password_session) = join(';', map { ref $_ ? @$_ : $_ } $r->{headers}{'set-cookie'})
	=~ /logsvc_session=(\w{43})/;
$finn{'logsvc_session /'} = $password_session;
is(browse(\%finn, $start, 'finn')->{url}, "$own/", 'who is signed in to it by password links it');
is((session(\%finn) // {})->{user}{name} . ' ' . (session(\%finn) // {})->{provider},
	'finn google', 'and is in');
is(browse({}, $start, 'finn')->{url}, "$own/", 'from then on in any browser');
my %gwen;
is(code(browse(\%gwen, $start, 'gwen')), '403 IDENTITY_NOT_LINKED', 'another one is not');
$t->set('logsvc.oauth_google_authority_domains', 'example.org');
is(browse(\%gwen, $start, 'gwen')->{url}, "$own/",
	'until the provider is the authority for the domain');
is((session(\%gwen) // {})->{user}{name}, 'gwen', 'the account');

# ---- what must not work ----

my %unverified;
is(code(browse(\%unverified, $start, 'unverified')), '403 EMAIL_NOT_VERIFIED',
	'an address that is not verified');
ok(!exists $unverified{'logsvc_session /'}, 'no session');
is(code(browse({}, $start, 'carl', abort => 1)), '401 INVALID_CREDENTIALS', 'no consent');

my %victim;
my $stopped = browse(\%victim, $start, 'dora', stop => "$own/api/v1/auth/oauth/google/callback");
like($stopped->{url}, qr/[?&]code=/, 'a code on its way');
is(code(browse({}, $stopped->{url}, 'x')), '400 VALIDATION_ERROR', 'in another browser');
my ($stolen) = $stopped->{url} =~ /[?&]code=([^&]*)/;
my %thief;
my $own_callback = browse(\%thief, $start, 'eve',
	stop => "$own/api/v1/auth/oauth/google/callback")->{url};
is(code(browse(\%thief, $own_callback =~ s/([?&]code=)[^&]*/$1$stolen/r, 'x')),
	'401 INVALID_CREDENTIALS', 'a stolen code with the state of the thief: PKCE');
my %copy = %victim;
is(browse(\%victim, $stopped->{url}, 'x')->{url}, "$own/", 'whose owner comes in');
is(code(browse(\%copy, $stopped->{url}, 'x')), '400 VALIDATION_ERROR', 'its state works once');
my ($used) = $stopped->{url} =~ /[?&]code=([^&]*)/;
my $again = browse(\%victim, $start, 'dora',
	stop => "$own/api/v1/auth/oauth/google/callback")->{url};
is(code(browse(\%victim, $again =~ s/([?&]code=)[^&]*/$1$used/r, 'x')), '401 INVALID_CREDENTIALS',
	'and so does the code');

# ---- an old start ----

# The cookie, opened and sealed again with another end of its life.
sub reseal
{
	my ($cookie, $seconds) = @_;
	my $program = q{
		const c = require('crypto'), [cookie, secret, seconds] = process.argv.slice(1);
		const key = c.createHmac('sha256', secret).update('logsvc oauth state google').digest();
		const b = Buffer.from(cookie, 'base64url'), nonce = b.subarray(0, 12);
		const d = c.createDecipheriv('aes-256-gcm', key, nonce).setAuthTag(b.subarray(-16));
		const plain = Buffer.concat([d.update(b.subarray(12, -16)), d.final()]);
		plain.writeBigUInt64LE(plain.readBigUInt64LE(0) + BigInt(seconds) * 1000000n, 0);
		const e = c.createCipheriv('aes-256-gcm', key, nonce);
		process.stdout.write(Buffer.concat([nonce, e.update(plain), e.final(),
			e.getAuthTag()]).toString('base64url'));
	};
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'node', '-e', $program, '--', $cookie, 'a secret / of 100% + more', $seconds ],
		'>', \$out, '2>', \$err) or die $err;
	return $out;
}
foreach my $case ([ -605, '400 VALIDATION_ERROR', 'older than ten minutes' ],
	[ -590, '302', 'not quite' ])
{
	my %old;
	my $url = browse(\%old, $start, 'ann', stop => "$own/api/v1/auth/oauth/google/callback")->{url};
	$old{'logsvc_oauth /'} = reseal($old{'logsvc_oauth /'}, $case->[0]);
	is(code(browse(\%old, $url, 'x')), $case->[1], "a start: $case->[2]");
}

# ---- other keys ----

foreach my $algorithm ('RS256', 'ES256')
{
	start_provider($algorithm);
	my %jar;
	$t->sql('UPDATE logsvc_internal.oauth_document SET tried_at = now()');
	is(code(browse(\%jar, $start, 'ann')), '401 INVALID_CREDENTIALS',
		"a new $algorithm key, within a minute");
	$t->sql("UPDATE logsvc_internal.oauth_document SET tried_at = now() - interval '61 seconds'");
	is(browse(\%jar, $start, 'ann')->{url}, "$own/", 'a minute later');
	is((session(\%jar) // {})->{user}{id}, $first, 'the account');
}

# ---- no provider ----

my %late;
$stopped = browse(\%late, $start, 'ann', stop => "$own/api/v1/auth/oauth/google/callback");
stop_provider();
is(code(browse(\%late, $stopped->{url}, 'x')), '503 SERVICE_UNAVAILABLE',
	'a provider that is gone');

unlike($t->log_text, qr/PANIC|FATAL|terminated by signal|a secret|\@example/,
	'nothing ended by it, and no secret is in the log');
$t->stop;
done_testing();
