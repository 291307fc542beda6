# console_files.pl: the files of the web console as the gateway serves them, in
# build/unit/gateway_host_checked (sanitizers on).
use strict;
use warnings;

use Compress::Zlib ();
use Digest::SHA qw(sha256_hex);
use File::Path qw(make_path remove_tree);
use File::Temp qw(tempdir);
use LogsvcGateway;
use Test::More;

my $folder = tempdir(CLEANUP => 1) . '/console';
my %content = (
	'index.html' => "<!doctype html><title>logsvc</title>\n" . '<p>' x 100,
	'assets/main.A1.js' => "console.log('main')\n" x 20,
	'assets/app.B2.css' => "body { margin: 0 }\n" x 20,
	'assets/deep/er/ui.C3.js' => 'export const a = 1');
my %type = (html => 'text/html; charset=utf-8', js => 'text/javascript; charset=utf-8',
	css => 'text/css; charset=utf-8');

sub write_file
{
	my ($name, $text) = @_;
	make_path("$folder/$name" =~ s{/[^/]+$}{}r);
	open my $out, '>:raw', "$folder/$name" or die "$name: $!";
	print $out $text;
	close $out;
}

sub line_of
{
	my ($name, @variants) = @_;
	my ($extension) = $name =~ /\.(\w+)$/;
	return join("\t", $name eq 'index.html' ? '/' : "/$name", $name, $type{$extension},
		substr(sha256_hex($content{$name}), 0, 32),
		$name eq 'index.html' ? 'index' : 'immutable', @variants) . "\n";
}

my $list = line_of('index.html', 'gz') . line_of('assets/main.A1.js', 'gz', 'br')
  . line_of('assets/app.B2.css') . line_of('assets/deep/er/ui.C3.js');

# The folder with all that belongs there.
sub make_folder
{
	remove_tree($folder);
	write_file($_, $content{$_}) foreach keys %content;
	write_file("$_.gz", Compress::Zlib::memGzip($content{$_})) foreach 'index.html', 'assets/main.A1.js';
	write_file('assets/main.A1.js.br', 'as if it were brotli');
	write_file('assets.tsv', $list);
	write_file('secret.txt', 'not in the list');
}

make_folder();
my $h = start_host(console => $folder, later => 1);
is($h->{line}, "ready\n", 'starts');
is(readline $h->{out}, "console\n", 'with a console');

# Another look at the folder; what is said about it.
sub reload
{
	kill 'HUP', $h->{pid};
	return host_line($h, 30) =~ s/^console ?//r =~ s/\n$//r;
}

sub ask
{
	my ($method, $path, @headers) = @_;
	my $s = connect_to($h);
	syswrite($s, join("\r\n", "$method $path HTTP/1.1", 'Host: a', @headers, '', ''));
	my ($got) = read_responses($s, 1, 20, $method eq 'HEAD');
	return $got->[0] // { status => 0, head => '', body => '' };
}

sub get { return ask('GET', @_); }
sub header { return $_[0]{head} =~ /^\Q$_[1]\E: (.*)\r$/mi ? $1 : undef; }

my $html = 'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
my $no_page = qr/\A(?!.*<!doctype)/s;

# ---- what is sent ----

my $r = get('/assets/main.A1.js');
is("$r->{status} $r->{body}", "200 $content{'assets/main.A1.js'}", 'a script');
my %said = (
	'Content-Type' => 'text/javascript; charset=utf-8',
	'Cache-Control' => 'public, max-age=31536000, immutable',
	'Vary' => 'Accept-Encoding',
	'Content-Encoding' => undef,
	'ETag' => '"' . substr(sha256_hex($content{'assets/main.A1.js'}), 0, 32) . '"',
	'X-Content-Type-Options' => 'nosniff',
	'Referrer-Policy' => 'no-referrer',
	'Cross-Origin-Opener-Policy' => 'same-origin',
	'Cross-Origin-Resource-Policy' => 'same-origin',
	'Permissions-Policy' => 'camera=(), microphone=(), geolocation=()',
	'Content-Security-Policy' => "default-src 'none'; script-src 'self'; style-src 'self'; "
	  . "img-src 'self' data:; connect-src 'self'; font-src 'self'; manifest-src 'self'; "
	  . "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
	  . "require-trusted-types-for 'script'; trusted-types 'none'");
is(header($r, $_), $said{$_}, "its $_") foreach sort keys %said;
$said{'Content-Type'} = 'text/html; charset=utf-8';
$said{'Cache-Control'} = 'no-cache';
$said{Vary} = 'Accept, Accept-Encoding';
$said{ETag} = '"' . substr(sha256_hex($content{'index.html'}), 0, 32) . '"';
for my $path ('/', '/o/acme/search', '/sign-in')
{
	$r = get($path, $html);
	is("$r->{status} $r->{body}", "200 $content{'index.html'}", "the page at $path");
	is(header($r, $_), $said{$_}, "its $_") foreach sort keys %said;
}
is(get('/assets/deep/er/ui.C3.js')->{body}, 'export const a = 1', 'a file in folders');

# ---- encodings, tags ----

my %tag;
for my $case ([ '', undef ], [ 'gzip', 'gzip' ], [ 'gzip, deflate, br', 'br' ], [ 'gzip;q=0, br', 'br' ],
	[ 'br;q=0, gzip', 'gzip' ], [ 'br;q=0.1, gzip;q=0.2', 'gzip' ], [ 'identity, br;q=0.5', undef ],
	[ '*', 'br' ], [ 'br;q=0, *', 'gzip' ], [ 'zstd', undef ])
{
	my ($accept, $coding) = @$case;
	$r = get('/assets/main.A1.js', "Accept-Encoding: $accept");
	is(header($r, 'Content-Encoding'), $coding, "the coding for '$accept'");
	my $body = !$coding ? $r->{body}
	  : $coding eq 'gzip' ? Compress::Zlib::memGunzip($r->{body}) : $r->{body};
	is($body, ($coding // '') eq 'br' ? 'as if it were brotli' : $content{'assets/main.A1.js'},
		"the content for '$accept'");
	$tag{ $coding // 'plain' } = header($r, 'ETag');
}
is(scalar(keys %{ { map { $_ => 1 } values %tag } }), 3, 'each coding has its own tag');
is(header(get('/', $html, 'Accept-Encoding: br'), 'Content-Encoding'), undef,
	'a variant that is not there');
for my $case ([ $tag{br}, 304 ], [ "W/$tag{br}", 304 ], [ "\"x\", $tag{br}", 304 ], [ '*', 304 ],
	[ $tag{gzip}, 200 ], [ $tag{plain}, 200 ], [ '"x"', 200 ])
{
	my ($known, $status) = @$case;
	$r = get('/assets/main.A1.js', 'Accept-Encoding: br', "If-None-Match: $known");
	is($r->{status}, $status, "If-None-Match: $known");
	is(header($r, 'ETag'), $tag{br}, 'its tag');
	is(header($r, 'Vary'), 'Accept-Encoding', 'its Vary');
	is($r->{body}, '', 'without a body') if $status == 304;
	ok(header($r, 'Cache-Control') =~ /immutable/, 'it may be kept');
}
is(get('/o/acme', $html, "If-None-Match: $said{ETag}")->{status}, 304, 'the page that is known');

$r = ask('HEAD', '/assets/main.A1.js', 'Accept-Encoding: br');
is("$r->{status} $r->{body}", '200 ', 'HEAD has no body');
is(header($r, 'Content-Length'), length('as if it were brotli'), 'but its length');
is(header($r, 'ETag'), $tag{br}, 'and its tag');
is(ask('HEAD', '/o/acme', $html)->{status}, 200, 'HEAD of a page');

for my $method (qw(POST PUT DELETE PATCH))
{
	$r = ask($method, '/assets/main.A1.js', 'Content-Length: 0');
	is($r->{status} . ' ' . header($r, 'Allow'), '405 GET, HEAD, OPTIONS', "$method of a file");
	is(ask($method, '/sign-in', $html, 'Content-Length: 0')->{status}, 405, "$method of a page");
}
$r = ask('OPTIONS', '/assets/main.A1.js');
is($r->{status} . ' ' . header($r, 'Allow'), '204 GET, HEAD, OPTIONS', 'OPTIONS');

# ---- who gets the page ----

for my $accept ('*/*', 'application/json', 'text/plain', 'text/html;q=0', 'application/json, text/html;q=0.5')
{
	$r = get('/', "Accept: $accept");
	like($r->{body}, qr/^\{"data":\{"service":"logsvc"/, "/ for $accept says what this is");
	is(get('/sign-in', "Accept: $accept")->{status}, 404, "/sign-in for $accept");
}
like(get('/')->{body}, qr/"service":"logsvc"/, '/ without Accept');
like(get('/', $html, 'User-Agent: elasticsearch-py/8.0')->{body}, qr/"route":"ELASTIC_INFO"/,
	'/ for clients of Elasticsearch');

for my $path ('/api', '/api/', '/api/v1', '/api/v1/', '/api/v1/nothing', '/api/v1/search', '/v1/logs',
	'/v1', '/v1/nothing', '/scim/v2/Users', '/scim', '/mcp', '/mcp/x', '/api/../o/acme', '/loki/api/v1/push',
	'/services/collector', '/services/collector/health', '/_bulk', '/o/_bulk', '/o/_doc/x', '/_cat/health',
	'/elasticsearch/', '/healthz', '/readyz', '/api/v1/openapi.json', '/api%2fv1', '/sign-in%00',
	'/index.html', '/o', '/d/', '/api/v2/logs', '/assets/', '/assets')
{
	for my $method (qw(GET POST))
	{
		$r = ask($method, $path, $html, $method eq 'POST' ? 'Content-Length: 0' : ());
		like($r->{body}, $no_page, "$method $path is no page");
		unlike(header($r, 'Content-Type') // '', qr/html/, "nor says so");
	}
}

# ---- nothing else can be read ----

my @outside = ('/secret.txt', '/assets.tsv', '/assets/../secret.txt', '/assets/main.A1.js.gz',
	'/assets/main.A1.js.br', '/../secret.txt', '/../../../../etc/passwd', '/assets/../../../etc/passwd',
	'/%2e%2e/secret.txt', '/assets/%2e%2e/secret.txt', '/assets/..%2fsecret.txt', '/assets/%2e%2e%2fsecret.txt',
	'/assets/..%5csecret.txt', '/assets/..\\secret.txt', '\\secret.txt', '//secret.txt', '//assets/main.A1.js',
	'/assets//main.A1.js', '/assets/./main.A1.js', '/assets/main.A1.js/', '/assets/main.A1.js%00',
	'/assets/main.A1.js%00.css', '/assets/main%2eA1.js', '/%61ssets/main.A1.js', '/assets/MAIN.A1.js',
	'/assets/%c0%ae%c0%ae/secret.txt', '/assets/%252e%252e/secret.txt', '/assets/deep', '/assets/deep/er/',
	'/assets/deep/er/..', '/assets/main.A1.js;x', '/proc/self/environ', '/assets/' . 'a' x 8000,
	'/' . '../' x 2000, '/assets/' . '/' x 4000);
for my $path (@outside)
{
	for my $accept ($html, 'Accept: */*')
	{
		$r = get($path, $accept);
		ok($r->{status} == 404 || $r->{status} == 400, 'not found: ' . substr $path, 0, 60)
		  or diag("$r->{status} $r->{body}");
		unlike($r->{body}, qr/not in the list|root:|console\.log|as if/, 'nor read');
	}
}
isnt(get("/assets/main.A1.js\0")->{status}, 200, 'NUL in a path');
is(get('/assets/main.A1.js?x=../../secret.txt')->{body}, $content{'assets/main.A1.js'},
	'a query says nothing');
is(get('/o/../secret.txt', $html)->{body}, $content{'index.html'}, 'below /o/ there is the page only');

# ---- the folder changes ----

$content{'assets/main.A1.js'} = 'changed';
make_folder();
is(reload(), 'could not use file "assets/main.A1.js": it has not the checksum of assets.tsv',
	'a file that is not of the list');
is(get('/assets/app.B2.css')->{status}, 404, 'then there is no console');
like(get('/', $html)->{body}, qr/"service":"logsvc"/, 'nor a page');
$list =~ s{^/assets/main.*\n}{line_of('assets/main.A1.js', 'gz', 'br')}me;
make_folder();
is(reload(), '', 'both again');
is(get('/assets/main.A1.js')->{body}, 'changed', 'the new file');

# What may be wrong with the folder, and what is said.
my @wrong = (
	[ 'no list', qr/^could not use file "assets.tsv": No such file/, sub { unlink "$folder/assets.tsv" } ],
	[ 'no folder', qr/^could not open folder "\Q$folder\E": No such file/, sub { remove_tree($folder) } ],
	[ 'an empty list', qr/is wrong in line 1: there is no file of class index/,
		sub { write_file('assets.tsv', '') } ],
	[ 'a binary list', qr/is wrong in line 1: it has less than five fields/,
		sub { write_file('assets.tsv', "\0\1\2" x 100) } ],
	[ 'a path of the API', qr/is wrong in line 5: its path is not of its class/,
		sub { write_file('assets.tsv', $list . line_of('index.html') =~ s{^/\t}{/api/v1/logs\t}r =~ s/index$/immutable/mr) } ],
	[ 'a file outside', qr/is wrong in line 5: its file is no name below/,
		sub { write_file('assets.tsv', $list . "/assets/x\t../secret\ttext/css\t" . '0' x 32 . "\timmutable\n") } ],
	[ 'a file that is not there', qr{^could not use file "assets/app.B2.css": No such file},
		sub { unlink "$folder/assets/app.B2.css" } ],
	[ 'a variant that is not there', qr{^could not use file "index.html.gz": No such file},
		sub { unlink "$folder/index.html.gz" } ],
	[ 'a file that is a link', qr{^could not use file "assets/app.B2.css": it is a symbolic link},
		sub { unlink "$folder/assets/app.B2.css"; symlink '../secret.txt', "$folder/assets/app.B2.css" } ],
	[ 'a variant that is a link', qr{^could not use file "index.html.gz": it is a symbolic link},
		sub { unlink "$folder/index.html.gz"; symlink '/etc/passwd', "$folder/index.html.gz" } ],
	[ 'a list that is a link', qr/^could not use file "assets.tsv": it is a symbolic link/,
		sub { rename "$folder/assets.tsv", "$folder/list"; symlink 'list', "$folder/assets.tsv" } ],
	[ 'a folder in it that is a link', qr{^could not use file "assets/\S+": (Not a directory|it is a symbolic link)},
		sub { rename "$folder/assets", "$folder/other"; symlink 'other', "$folder/assets" } ],
	[ 'a file that is a folder', qr{^could not use file "assets/app.B2.css": it is no regular file},
		sub { unlink "$folder/assets/app.B2.css"; mkdir "$folder/assets/app.B2.css" } ],
	[ 'a pipe', qr{^could not use file "assets/app.B2.css": it is no regular file},
		sub { unlink "$folder/assets/app.B2.css"; system('mkfifo', "$folder/assets/app.B2.css") } ],
	[ 'too much', qr/^could not use file "index.html.gz": there are more than 16 MB/,
		sub { write_file('index.html.gz', 'x' x 16_700_000) } ],
	[ 'a file that is too large', qr/^could not use file "index.html.gz": there are more than 16 MB/,
		sub { truncate("$folder/index.html.gz", 1 << 40) or die "truncate: $!" } ]);
for my $case (@wrong)
{
	my ($what, $message, $change) = @$case;
	make_folder();
	$change->();
	like(reload(), $message, $what);
	is(get('/assets/main.A1.js')->{status}, 404, "$what: no console");
	is(get('/sign-in', $html)->{status}, 404, "$what: no page");
	is(get('/healthz')->{status}, 200, "$what: all else works");
}
make_folder();
is(reload(), '', 'all is well again');

# A link to the folder is the operator's choice.
rename $folder, "$folder.real";
symlink "$folder.real", $folder;
is(reload(), '', 'the folder itself may be a link');
unlink $folder;
rename "$folder.real", $folder;

is((stop_host($h))[0], 0, 'stops');

# ---- too many requests of an address ----

my $limited = start_host(console => $folder, later => 1, trusted_proxies => '127.0.0.0/8');
is(readline $limited->{out}, "console\n", 'another host');
{
	my %count;
	my $s = connect_to($limited);
	my $asked = "GET /assets/deep/er/ui.C3.js HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 198.51.100.7\r\n\r\n";

	my $refused;
	# While it is asked, one more is due each tenth of a second, so 600 are not all.
	for (1 .. 100)
	{
		syswrite($s, $asked x 100);
		my ($got) = read_responses($s, 100, 60);
		$count{ $_->{status} }++ foreach @$got;
		($refused) = grep { $_->{status} == 429 } @$got;
		last if $refused;
	}
	cmp_ok($count{200}, '>=', 600, '600 files at once');
	is(join(' ', sort keys %count), '200 429', 'then no more');
	is($refused->{body},
		'{"error":"Too many files from this address in the last minute","code":"RATE_LIMIT_EXCEEDED"}',
		'what is said');
	like($refused->{head}, qr/^Retry-After: 1\r$/m, 'and when to come again');
	my ($other) = request($limited, $asked =~ s/198.51.100.7/198.51.100.8/r);
	is($other->{status}, 200, 'another address has its own');
	($other) = request($limited, $asked =~ s{/assets/\S+}{/healthz}r);
	is($other->{status}, 200, 'other routes do not count');
}
is((stop_host($limited))[0], 0, 'stops');

done_testing();
