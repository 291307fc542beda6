# outgoing_calls.pl: the client for calls to other services (src/server/curl.h): HTTP,
# TLS, mail, limits, and what must never be followed, trusted or sent.
use strict;
use warnings;

use LogsvcDouble;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(time);

# What an environment says about proxies must not count.
$ENV{http_proxy} = $ENV{https_proxy} = $ENV{all_proxy} = 'http://127.0.0.1:9';
my $t = LogsvcTest->new(name => 'calls', extension => 0);
$t->sql(q{CREATE FUNCTION call(url text, protocols int DEFAULT NULL, body text DEFAULT NULL, method text DEFAULT NULL,
	header text DEFAULT NULL, timeout int DEFAULT NULL, reply_limit int DEFAULT NULL, mail_from text DEFAULT NULL,
	recipient text DEFAULT NULL, username text DEFAULT NULL, password text DEFAULT NULL, starttls int DEFAULT NULL)
	RETURNS text LANGUAGE c AS '$libdir/logsvc', 'logsvc_debug_call'});

sub call
{
	my ($url, $more) = @_;
	return $t->sql("SELECT call('$url'" . ($more ? ", $more" : '') . ')');
}

my $double = LogsvcDouble->new(answer => sub {
	my ($request) = @_;
	my $path = $request->{path};
	return { status => 302, headers => { Location => '/hello' }, body => 'there' }
		if $path eq '/redirect';
	return { body => 'x' x 1000 } if $path eq '/thousand';
	return { raw => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" . "3e8\r\n" . 'x' x 1000
		. "\r\n" . "3e8\r\n" . 'x' x 1000 . "\r\n0\r\n\r\n" } if $path eq '/chunked';
	return { raw => "HTTP/1.1 200 OK\r\n" . join('', map { "X-$_: " . 'y' x 1000 . "\r\n" } 1 .. 80)
		. "\r\n" } if $path eq '/headers';
	return { raw =>
		"HTTP/1.1 103 Early Hints\r\nX-Answer: early\r\n\r\nHTTP/1.1 200 OK\r\nx-ANSWER:  late \r\nContent-Length: 2\r\n\r\nok" } if $path eq '/early';
	return { raw => 'nonsense' x 10, close => 1 } if $path eq '/garbage';
	return { close => 1 } if $path eq '/close';
	return { hang => 1 } if $path eq '/hang';
	return { status => 418, headers => { 'X-Answer' => 'tea' },
		body => "$request->{method} $request->{body}" };
});
my $url = $double->url;

is(call("$url/hello"), 'ok 418 [tea] GET ', 'a GET: status, header, body');
is(call("$url/hello", "body => 'some'"), 'ok 418 [tea] POST some', 'a POST');
is(call("$url/hello", "body => 'some', method => 'PUT'"), 'ok 418 [tea] PUT some',
	'another method');
my ($last) = reverse @{ $double->requests };
is(join("\n", map { s/:.*//r } sort @{ $last->{lines} }),
	"Accept\nContent-Length\nContent-Type\nHost\nUser-Agent\nX-Test", 'no header but those');
is(call("$url/early"), 'ok 200 [late] ok', 'headers of an interim reply do not count');
is(call("$url/redirect"), 'ok 302 [] there', 'a redirect is not followed');
is(call("$url/thousand", 'reply_limit => 1000') =~ /^ok 200/ ? 1 : 0, 1,
	'a reply of the largest size');
like(call("$url/thousand", 'reply_limit => 999'), qr/^too large/, 'one byte more');
like(call("$url/chunked", 'reply_limit => 1999'), qr/^too large/, 'the same in chunks');
like(call("$url/headers"), qr/^too large/, 'too many headers');
like(call("$url/close"), qr/^unreachable 0/, 'a connection that breaks');
my $port = PostgreSQL::Test::Cluster::get_free_port();
like(call("http://127.0.0.1:$port/"), qr/^unreachable 0/, 'nobody listens');
like(call('http://no-such-host.invalid/'), qr/^(unreachable|timeout) 0/, 'no such name');
my $start = time;
like(call("$url/hang", 'timeout => 300'), qr/^timeout 0/, 'no answer in time');
cmp_ok(time - $start, '<', 20, 'in time');

foreach my $bad ([ "$url/a b" ], [ "$url/x", "header => E'a\\r\\nX-Evil: 1'" ],
	[ "$url/x", "method => E'GET / HTTP/1.1\\r\\n'" ],
	[ 'https://127.0.0.1/' ], [ 'file:///etc/passwd' ], [ 'ftp://127.0.0.1/' ],
		[ 'nonsense://x' ], [ '' ],
	[ "http://user:word\@127.0.0.1:" . $double->port . '/hello' ])
{
	my $n = @{ $double->requests };
	my $out = call(@$bad);
	unlike($out, qr/^ok/, "not sent: @$bad");
	unlike($out, qr/word/, 'the reason does not show the URL') if $bad->[0] =~ /word/;
	is(scalar @{ $double->requests }, $n, 'really not');
}

# ---- interrupts ----

$double->forget;
my (undef, $state) = $t->sql_error("SET statement_timeout = '300ms'; SELECT call('$url/hang')");
is($state, '57014', 'statement_timeout ends the wait');
ok(wait_until(sub { $double->gone == 1 }), 'and the connection');
is($t->sql("SET statement_timeout = '300ms'; DO \$\$ BEGIN PERFORM call('$url/hang'); EXCEPTION "
	. "WHEN query_canceled THEN NULL; END \$\$; SELECT call('$url/hello')"),
	'ok 418 [tea] GET ', 'the next call of the same session works');
is($t->sql("SELECT count(*) FROM (SELECT call('$url/hello') FROM generate_series(1, 200)) x"),
	'200', '200 calls of one session');

# ---- TLS ----

my $files = LogsvcDouble::certificates();
my $tls = LogsvcDouble->new(answer => sub { { body => 'secure' } },
	tls => { cert => $files->{cert}, key => $files->{key} });
my $self_signed = LogsvcDouble->new(answer => sub { { body => 'secure' } },
	tls => { cert => $files->{other_cert}, key => $files->{other_key} });
like(call($tls->url, 'protocols => 2'), qr/^tls 0/, 'TLS: a CA that is not known');
$t->set('logsvc.ca_file', $files->{ca});
is(call($tls->url, 'protocols => 2'), 'ok 200 [] secure', 'TLS: a CA of the settings');
is(call('https://localhost:' . $tls->port, 'protocols => 2') =~ /^tls 0/ ? 1 : 0, 1,
	'TLS: a certificate of another name');
like(call($self_signed->url, 'protocols => 2'), qr/^tls 0/,
	'TLS: a certificate that nobody signed');
$t->set('logsvc.ca_file', '/nonexistent');
like(call($tls->url, 'protocols => 2'), qr/^tls 0/, 'TLS: no such file');
$t->set('logsvc.ca_file', $files->{ca});

# ---- mail ----

my $mail = LogsvcDouble->new(smtp => 1, answer => sub { return { refuse => $_[1] } });
like(call($mail->url =~ s/smtp/https/r, 'protocols => 2'), qr/^tls 0/,
	'TLS: no TLS at the other end');
my $arguments = "protocols => 4, body => E'Subject: hello\\r\\n\\r\\nline\\r\\n.dot\\r\\n', "
	. "mail_from => 'a\@example.org', recipient => 'b\@example.org'";
like(call($mail->url, $arguments), qr/^tls 0|^tls 250/,
	'mail: STARTTLS is required and not offered');
is(scalar @{ $mail->requests }, 0, 'mail: so nothing is sent');
like(call($mail->url, "$arguments, starttls => 1"), qr/^ok 250/, 'mail: sent');
($last) = @{ $mail->requests };
is($last->{body}, "Subject: hello\r\n\r\nline\r\n..dot\r\n", 'mail: as it was given');
is(join(',', grep { /^(MAIL|RCPT)/ } @{ $last->{commands} }) =~ s/ SIZE=\d+//r,
	'MAIL FROM:<a@example.org>,RCPT TO:<b@example.org>', 'mail: from and to');
$mail->forget;
like(call($mail->url, "$arguments, starttls => 2, username => 'me', password => 'word'"),
	qr/^ok 250/, 'mail: with a login');
like(join(',', @{ $mail->requests->[0]{commands} }), qr/AUTH PLAIN/, 'mail: the login');
foreach my $verb (qw(MAIL RCPT AUTH))
{
	$mail->mode($verb);
	like(call($mail->url, "$arguments, starttls => 2, username => 'me', password => 'word'"),
		qr/^refused/, "mail: $verb is refused");
}
$mail->mode('');
like(call($mail->url, "protocols => 4, body => 'x', mail_from => 'a\@example.org', recipient => "
	. "E'b>\\r\\nRCPT TO:<c', starttls => 2"), qr/^invalid/,
	'mail: an address that is more than one');

unlike($t->log_text, qr/PANIC|FATAL|terminated by signal/, 'no process ended by it');
$t->stop;
done_testing;
