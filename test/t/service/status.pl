# The public status: what the prober finds over HTTP, how it is shown, what it tells of
# organizations (nothing), and that asking for it costs nobody anything.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

# The gateway has TLS with a certificate that nobody has signed: the prober must do with it.
my $dir = PostgreSQL::Test::Utils::tempdir;
system_or_bail('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
	'-keyout', "$dir/key.pem", '-out', "$dir/cert.pem", '-subj', '/CN=logs.example', '-days', '2');
chmod 0600, "$dir/key.pem";
my $tls = LogsvcTest->new(name => 'tls', ready => 0, conf => "logsvc.status_probe = on\n"
	. "logsvc.tls_certificate = '$dir/cert.pem'\nlogsvc.tls_key = '$dir/key.pem'");
my $t = LogsvcTest->new(limits => 1, conf => "logsvc.status_probe = on\nrestart_after_crash = on");
my $acme = $t->organization('acme', plan => 'pro');
my $path = '/api/v1/status';

# The document, when it is as the sub wants it.
sub status_when
{
	my ($wanted, $name) = @_;
	my $data;
	ok(wait_until(sub { $data = $t->http(GET => $path)->{json}{data};
		$data && $wanted->($data) }), $name) or diag json_encode($data);
	return $data;
}
# A probe at once, as if a minute were over: one begins when it is switched on.
sub probe_again
{
	$t->sql('DELETE FROM logsvc_internal.status_minute');
	$t->set('logsvc.status_probe', 'off');
	status_when(sub { !$_[0]{probe} }, 'without a probe');
	$t->sql('DELETE FROM logsvc_internal.status_minute');
	$t->set('logsvc.status_probe', 'on');
	return;
}
sub component
{
	my ($data, $name) = @_;
	return (grep { $_->{name} eq $name } @{ $data->{components} })[0];
}

# ---- what is found ----

my $data = status_when(sub { $_[0]{probe} && $_[0]{probe}{ok} }, 'an event was sent and found');
is($data->{status}, 'operational', 'all works');
is(join(' ', map { "$_->{name} $_->{status} $_->{uptime30d}" } @{ $data->{components} }),
	join(' ', map { "$_ operational 1" } qw(ingest search evaluation alerts mail)), 'each component');
cmp_ok($data->{probe}{$_}, '>=', 0, "$_ of the probe") foreach qw(writeMs searchableMs);
is(scalar @{ $data->{components}[0]{history} }, 30, 'history of 30 days');

my $probe = "(SELECT organization_id FROM logsvc_internal.probe_organization)";
$t->sql("UPDATE logsvc_internal.organization SET plan = 'pro' WHERE id = $probe");
$t->sql("INSERT INTO logsvc_internal.organization_limit (organization_id, resource, amount) "
	. "VALUES ($probe, 'ingest_bytes_per_day', 0), ($probe, 'overage_queue_seconds', 0)");
probe_again();
$data = status_when(sub { $_[0]{probe} }, 'a probe whose event is refused');
is_deeply([ map { component($data, $_)->{status} } qw(ingest search evaluation) ],
	[ qw(degraded degraded operational) ], 'says what does not work');
ok(!$data->{probe}{ok}, 'the probe failed');
is($data->{status}, 'degraded', 'so does the service');
cmp_ok(component($data, 'ingest')->{uptime30d}, '<', 1, 'it counts');
is(component($data, 'ingest')->{history}[29]{incidents}, 1, 'as an incident');
$t->sql("DELETE FROM logsvc_internal.organization_limit WHERE organization_id = $probe");

# ---- the probe's organization ----

my $keys = "SELECT count(*) FROM logsvc_internal.api_key WHERE organization_id = $probe";
is($t->sql($keys), 2, 'two keys');
is($t->sql("SELECT count(*) FROM logsvc_internal.member WHERE organization_id = $probe"), 0, 'no member');
$t->sql("UPDATE logsvc_internal.api_key SET revoked_at = now() WHERE organization_id = $probe");
probe_again();
status_when(sub { $_[0]{probe} && $_[0]{probe}{ok} }, 'keys that were taken away are replaced');
is($t->sql($keys), 2, 'not added to');
is($t->sql('SELECT count(*) FROM logsvc_internal.probe_organization'), 1, 'one organization');
my ($id, $slug) = split /\|/, $t->sql("SELECT logsvc_internal.public_id('org_', id), slug FROM logsvc_internal.organization WHERE id = $probe");
is($t->http(GET => "/api/v1/organizations/$id", token => $acme->{token})->{status}, 404, 'nobody sees it');
unlike($t->http(GET => '/api/v1/organizations', session => $t->session($acme->{email}))->{content}, qr/$slug/, 'in no list');
unlike($t->sql('SELECT logsvc.list_organizations()'), qr/$slug/, 'also of operators');
is($t->sql("SELECT logsvc_internal.only_organization()"), $t->sql("SELECT logsvc_internal.find_organization('acme')"),
	'others do not share the queue with it');
unlike($t->log_text, qr/ing_live_/, 'its keys are not in the log');

# ---- mail ----

# Mails that nobody has tried to send: the next try is tomorrow.
$t->sql("INSERT INTO logsvc_internal.outbox (template, recipient, subject, body_text, body_html, created_at, next_attempt_at) "
	. "SELECT 'verify', 'late\@' || n || '.example', 's', 't', 'h', now() - interval '1 hour', now() + interval '1 day' FROM generate_series(1, 3) AS n");
probe_again();
status_when(sub { $_[0]{probe} && component($_[0], 'mail')->{status} eq 'operational' }, 'without a mail server mails may wait');
$t->set('logsvc.smtp_url', 'smtp://127.0.0.1:1');
probe_again();
status_when(sub { $_[0]{probe} && component($_[0], 'mail')->{status} ne 'operational' }, 'with one they may not');
$t->set('logsvc.smtp_url', '');
$t->sql("DELETE FROM logsvc_internal.outbox WHERE recipient LIKE 'late\@%'");

# ---- killed with what it has found ----

$t->sql('DELETE FROM logsvc_internal.status_minute');
$t->set('logsvc.status_probe', 'off');
status_when(sub { !$_[0]{probe} }, 'without a probe');
$t->sql('DELETE FROM logsvc_internal.status_minute');
$t->stop_at('prober_note');
$t->set('logsvc.status_probe', 'on');
kill_process($t->wait_held('prober_note'));
ok(wait_until(sub { $t->sql('SELECT 1') }), 'a prober is killed');
$t->wait_ready;
status_when(sub { $_[0]{probe} && $_[0]{probe}{ok} }, 'another one looks again');
is($t->sql($keys), 2, 'with two keys');
is($t->sql('SELECT count(*) FROM logsvc_internal.probe_organization'), 1, 'of one organization');
my $twice = $t->sql("SELECT logsvc.act_as('$slug') IS NULL; SELECT count(*) - count(DISTINCT event) FROM logsvc.logs WHERE event LIKE 'probe %'");
like($twice, qr/^0\z/m, 'no event is there twice');

# ---- maintenance ----

$t->sql("SELECT logsvc.announce_maintenance(now() + interval '3 days', now() + interval '3 days 1 hour', "
	. "'<script>new</script> disks & more')");
$t->set('logsvc.status_probe', 'off');
$data = status_when(sub { @{ $_[0]{maintenance} } }, 'announced maintenance is shown');
is($data->{maintenance}[0]{text}, '<script>new</script> disks & more', 'as it was written');

# ---- how it is answered ----

my $r = $t->http(GET => $path);
like($r->{content}, qr/^(?!.*(?:acme|Status probe|$slug|$id|org_|ing_|evt_))/s, 'nothing of any organization');
is($r->{headers}{'cache-control'}, 'public, max-age=60', 'it may be cached');
my $tag = $r->{headers}{etag};
is($t->http(GET => $path, headers => { 'If-None-Match' => $tag })->{status}, 304, 'who has it is told so');
my $page = $t->http(GET => '/status');
is($page->{status}, 200, 'a page');
is($page->{headers}{'content-type'}, 'text/html; charset=utf-8', 'for browsers');
like($page->{headers}{'content-security-policy'}, qr/^default-src 'none'; style-src 'sha256-[\w+\/=]{44}';/, 'which may do nothing');
unlike($page->{content}, qr/<script|javascript:|src=|https?:|url\(|\@import| on\w+=|style="/, 'and tries nothing');
like($page->{content}, qr/&lt;script&gt;new&lt;\/script&gt; disks &amp; more/, 'texts are escaped');
my ($style) = $page->{content} =~ m{<style>(.*)</style>};
require Digest::SHA;
my $hash = Digest::SHA::sha256_base64($style) . '=';
like($page->{headers}{'content-security-policy'}, qr/\Q'sha256-$hash'/, 'its own style sheet works');
is($t->http(HEAD => '/status')->{content} // '', '', 'HEAD');
is($t->http(POST => $path, json => {})->{status}, 405, 'nothing else');
my %answers;
$answers{ $t->http(GET => $_)->{status} }++ foreach ($path, '/status') x 200;
is_deeply(\%answers, { 200 => 400 }, '400 requests of one address are answered: none counts against its 5 a minute');
is($t->http(POST => '/api/v1/invitations/preview', json => { token => 'x' })->{status}, 410, 'and other public routes still are');

# ---- TLS ----

ok(wait_until(sub { $tls->sql("SELECT failed = '{}' AND measured FROM logsvc_internal.status_minute LIMIT 1") eq 't' }),
	'a certificate that nobody has signed does not matter');

$_->stop foreach $t, $tls;
done_testing();
