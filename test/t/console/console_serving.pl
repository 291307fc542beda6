# console_serving.pl: the console of a whole service: settings, reloads, which paths are whose.
use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use File::Path qw(make_path remove_tree);
use File::Temp qw(tempdir);
use LogsvcTest;
use Test::More;

my $folder = tempdir(CLEANUP => 1) . '/console';
my $page = '<!doctype html><title>logsvc</title>';

sub write_file
{
	my ($name, $text) = @_;
	open my $out, '>', "$folder/$name" or die "$name: $!";
	print $out $text;
	close $out;
}

sub make_folder
{
	my ($text) = @_;
	remove_tree($folder);
	make_path("$folder/assets");
	write_file('index.html', $text);
	write_file('assets/main.A.js', 'main()');
	write_file('assets.tsv', join "\n",
		join("\t", '/', 'index.html', 'text/html; charset=utf-8', substr(sha256_hex($text), 0, 32), 'index'),
		join("\t", '/assets/main.A.js', 'assets/main.A.js', 'text/javascript', substr(sha256_hex('main()'), 0, 32), 'immutable'));
}

make_folder($page);
my $t = LogsvcTest->new(conf => "logsvc.console = on\nlogsvc.console_directory = '$folder'\n"
	. "logsvc.listen_addresses = '127.0.0.2, 127.0.0.1'");
# Pages are in no description of the API.
my %browser = (headers => { Accept => 'text/html,application/xhtml+xml,*/*;q=0.8' },
	undescribed => 1);

sub content { return $t->http(GET => $_[0], %browser)->{content}; }

is(content('/'), $page, 'the page');
is(content('/o/acme/search'), $page, 'the page at the path of a screen');
is(content('/assets/main.A.js'), 'main()', 'a script');
my $r = $t->http(GET => '/sign-in', %browser);
like($r->{headers}{'content-security-policy'}, qr/require-trusted-types-for 'script'/, 'its policy');
like($t->http(GET => '/')->{content}, qr/"service":"logsvc"/, '/ for programs');

# No route is a page, whatever the client would like.
my $n = 0;
for my $path (sort keys %{ $t->http(GET => '/api/v1/openapi.json')->{json}{paths} })
{
	next if $path eq '/' || $path eq '/status';
	my $asked = $path =~ s/\{\w+\}/x/gr;
	$r = $t->http(GET => $asked, %browser);
	unlike($r->{headers}{'content-type'} // '', qr/html/, "$asked is no page") or last;
	$n++;
}
cmp_ok($n, '>', 100, 'all routes');
for my $path ('/api/v1/nothing', '/v1/nothing', '/scim/v2', '/mcp/x', '/api', '/api/o/acme')
{
	$r = $t->http(GET => $path, %browser);
	is("$r->{status} $r->{headers}{'content-type'}", '404 application/json; charset=utf-8', "no page at $path");
}

# ---- without logsvc.public_url ----

my $own = 'http://127.0.0.2:' . $t->http_port;
is($t->sql("SELECT logsvc_internal.public_link('/verify-email', 'x')"), "$own/verify-email#t=x",
	'links lead to the address that the gateway listens on');
for my $case ([ $own, 202 ], [ 'http://localhost:' . $t->http_port, 202 ], [ 'http://127.0.0.3:' . $t->http_port, 403 ],
	[ 'http://127.0.0.2', 403 ], [ "https://127.0.0.2:" . $t->http_port, 403 ])
{
	$r = $t->http(POST => '/api/v1/auth/forgot-password', json => { email => 'nobody@example.org' },
		headers => { Origin => $case->[0] });
	is($r->{status}, $case->[1], "its pages may use sessions, others not: $case->[0]");
}

# ---- reloads ----

my $start = $t->log_position;
$t->set('logsvc.console', 'off');
ok(wait_until(sub { content('/') =~ /"service":"logsvc"/ }), 'logsvc.console = off');
is($t->http(GET => '/assets/main.A.js', %browser)->{status}, 404, 'no files');
is($t->http(GET => '/sign-in', %browser)->{status}, 404, 'no pages');
$t->set('logsvc.console', 'on');
ok(wait_until(sub { content('/') eq $page }), 'logsvc.console = on');

make_folder("$page<p>changed");
is(content('/'), $page, 'another file is not read');
$t->reload;
ok(wait_until(sub { content('/') eq "$page<p>changed" }), 'before a reload');
unlike($t->log_text($start), qr/no console/, 'nothing to say');

$start = $t->log_position;
unlink "$folder/assets.tsv";
$t->reload;
ok(wait_until(sub { content('/') =~ /"service"/ }), 'without its list there is no console');
my @said = $t->log_text($start) =~ /WARNING:  (logsvc gateway serves no console: .*)/g;
is("@said", 'logsvc gateway serves no console: could not use file "assets.tsv": No such file or directory',
	'the log says so once');
is($t->http(GET => '/healthz')->{status}, 200, 'and all else works');
is(content('/healthz'), '{"status":"ok"}', 'also for browsers');
make_folder($page);
$t->restart;
is(content('/'), $page, 'there again after a restart');

# ---- who sets and sees what ----

$t->sql('CREATE ROLE visitor LOGIN');
is($t->sql("SET ROLE visitor; SELECT count(*) FROM pg_settings WHERE name = 'logsvc.console_directory' AND setting <> ''"),
	'0', 'the folder is for superusers to see');
for my $setting ('console', 'console_directory')
{
	is($t->sql("SELECT context FROM pg_settings WHERE name = 'logsvc.$setting'"), 'sighup',
		"logsvc.$setting cannot be set in a session");
}

done_testing();
