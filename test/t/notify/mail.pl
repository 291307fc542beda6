# mail.pl: the notifier against a mail server (smtp_server.py): what arrives,
# STARTTLS and login, a server that is down, defers or refuses, a crash in the middle.
use strict;
use warnings;

use LogsvcDouble;
use LogsvcTest;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $t = LogsvcTest->new;
my $org = $t->organization('acme');
my $dir = PostgreSQL::Test::Utils::tempdir();
my $certificates = LogsvcDouble::certificates();
my $server;
my $port = '';

# ---- the mail server ----

sub mode
{
	open my $out, '>', "$dir/mode.new" or die $!;
	print $out $_[0];
	close $out;
	rename "$dir/mode.new", "$dir/mode" or die $!;
	return;
}

sub server_up
{
	unlink "$dir/port";
	$server = fork // die $!;
	if ($server == 0)
	{
		my $script = 'test/lib/smtp_server.py';
		exec '/usr/bin/python3', $script, $dir, $port ? $port : () or POSIX::_exit(1);
	}
	$port = wait_until(sub { -f "$dir/port" && slurp_file("$dir/port") })
		or die "no mail server\n";
	return;
}

sub server_down { kill 'KILL', $server; waitpid $server, 0; $server = undef; return; }
END { local $?; server_down() if $server; }

sub arrived { my @files = glob "$dir/mail.*"; return map { json_decode(slurp_file($_)) } sort
	{ ($a =~ /(\d+)$/)[0] <=> ($b =~ /(\d+)$/)[0] } grep { /\d$/ } @files; }
sub forget { unlink glob "$dir/mail.*"; return; }

# ---- the outbox ----

my $n = 0;
sub send_mail
{
	my (%with) = @_;
	my $to = $with{to} // 'user' . ++$n . '@example.test';
	my $expires = $with{expires} // "now() + interval '1 hour'";
	return $t->sql("SELECT logsvc_internal.send_mail(o.id, "
		. "'$to', 'reset_password', jsonb_build_object("
		. "'link', 'https://logs.example.test/reset-password#t=secret$n', 'expires', $expires)) "
		. "FROM logsvc_internal.organization o WHERE slug = 'acme'");
}

sub state_of { return $t->sql("SELECT state FROM logsvc.outbox WHERE id = '$_[0]'"); }
sub is_state { my ($id, $state, $name) = @_; wait_until(sub { state_of($id) eq $state });
	return is(state_of($id), $state, $name); }
sub row { return $t->sql_json("SELECT to_jsonb(o) FROM logsvc_internal.outbox o WHERE id "
	. "= '$_[0]'"); }
sub tried { my ($id, $times) = @_; return wait_until(sub { my $r = row($id);
	$r->{attempts} == $times && $r->{state} ne 'sending' }); }
sub try_now { $t->sql("SELECT logsvc.retry_mail('$_[0]')"); return; }

# ---- without a mail server ----

my $first = send_mail(to => 'ann@example.test');
is(scalar($t->workers('^logsvc notifier$')), 1, 'one notifier runs');
$t->sql('CREATE ROLE operator LOGIN; GRANT logsvc_admin TO operator');
is($t->sql("SELECT state || ' ' || has_link || ' ' || attempts FROM logsvc.outbox WHERE recipient "
	. "= 'ann\@example.test'", user => 'operator'),
	'waiting true 0', 'a mail stays in the outbox');
is($t->sql("SELECT to_jsonb(o) ::text ~ 'secret0' FROM logsvc.outbox o", user => 'operator'), 'f',
	'where an operator does not see its link');
is($t->sql("SELECT logsvc.mail_link('$first')", user => 'operator'),
	'https://logs.example.test/reset-password#t=secret0', 'but can read it');
is($t->sql(q{SELECT actor || ' ' || resource || ' ' || details::text FROM }
	. q{logsvc_internal.audit_entry WHERE action = 'mail.link_read'}),
	'operator:operator ann@example.test {"template": "reset_password"}',
		'which the audit log says');
like(($t->sql_error("SET ROLE logsvc_tenant; SELECT logsvc.mail_link('$first')"))[2],
	qr/operators only/, 'a tenant cannot');
# One that is of no organization, but of a user.
$t->sql("SELECT logsvc.create_user('reader\@example.test', 'reader')");
my $own = $t->sql("SELECT logsvc_internal.send_mail(NULL, "
	. "'reader\@example.test', 'reset_password', jsonb_build_object("
	. "'link', 'https://logs.example.test/reset-password#t=own', 'expires', now() + "
		. "interval '1 hour'))");
like($t->sql("SELECT logsvc.mail_link('$own')", user => 'operator'), qr/#t=own$/,
	'a mail of a user is read');
is($t->sql(q{SELECT actor || ' ' || (details ->> 'recipient') FROM logsvc_internal.operator_log }
	. q{WHERE action = 'mail.link_read'}),
	'operator:operator reader@example.test', 'which the operator log says');
$t->sql("DELETE FROM logsvc_internal.outbox WHERE id = '$own'");

# A dump is no key to accounts.
{
	my $file = PostgreSQL::Test::Utils::tempdir() . '/dump';
	$t->sql("SELECT logsvc_internal.send_mail(NULL, "
		. "'kept\@example.test', 'account_exists', "
			. "'{\"link\": \"https://logs.example.test/forgot-password\"}')");
	system_or_bail('pg_dump', '-f', $file, $t->node->connstr('postgres'));
	my $dump = slurp_file($file);
	like($dump, qr/kept\@example\.test/, 'a dump has mails');
	unlike($dump, qr/#t=|secret0/, 'but none with a live link');
	$t->sql("DELETE FROM logsvc_internal.outbox WHERE recipient = 'kept\@example.test'");
}
is(($t->sql_error('SET ROLE logsvc_tenant; SELECT * FROM logsvc.outbox'))[1], '42501',
	'a tenant does not');
is(($t->sql_error("ALTER SYSTEM SET logsvc.smtp_url = 'smtp://me:secret\@127.0.0.1'"))[1], '22023',
	'no password in the URL');

# ---- STARTTLS and login ----

mode('starttls auth');
append_to_file("$dir/password", "open sesame\n");
append_to_file("$dir/client", "open sesame\n");
chmod 0644, "$dir/client";
system("cp $certificates->{cert} $dir/server.crt; cp $certificates->{key} $dir/server.key") == 0
	or die;
server_up();
my $log = $t->log_position;
$t->set('logsvc.smtp_from', "L\x{c3}\x{b6}gs, \"Inc\" <logs\@example.test>");
$t->set('logsvc.smtp_user', 'logsvc');
$t->set('logsvc.smtp_password_file', "$dir/client");
$t->set('logsvc.smtp_tls', 'required');
$t->set('logsvc.ca_file', $certificates->{ca});
$t->set('logsvc.smtp_url', "smtp://127.0.0.1:$port");
ok(wait_until(sub { $t->log_text($log) =~
	/cannot send mail: the file of logsvc.smtp_password_file can be read by others/ }),
		'a password that others can read is not used');
is(row($first)->{attempts}, 0, 'and nothing was tried');
chmod 0600, "$dir/client";
$t->reload;
is_state($first, 'sent', 'the mail that waited is sent');

my ($mail) = arrived();
is_deeply([ @$mail{qw(from to tls login)} ], [ 'logs@example.test', ['ann@example.test'],
	JSON::PP::true, JSON::PP::true ], 'envelope, TLS, login');
is_deeply($mail->{defects}, [], 'a parser finds no defect');
is($mail->{type}, 'multipart/alternative', 'two forms');
is(join(' ', map { $_->[0] } @{ $mail->{parts} }), 'text/plain text/html', 'text and HTML');
is($mail->{parts}[0][1],
	$t->sql("SELECT 'Somebody, most likely you, has asked to reset the password of ann\@example.test.'
	|| E'\\n\\nTo choose a new password, open this link. It works once, until ' || to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC.'
	|| E'\\n\\nhttps://logs.example.test/reset-password#t=secret0\\n\\nIf it was not you, ignore this mail: your password stays as it is.'
	FROM logsvc.outbox WHERE id = '$first'") . "\n", 'the text');
like($mail->{parts}[1][1],
	qr{<a href="https://logs.example.test/reset-password\#t=secret0">Choose a new password</a>},
		'the HTML');
my %header = map { lc $_->[0] => $_->[1] } @{ $mail->{headers} };
is($header{subject}, 'Reset your password', 'subject');
is($mail->{from_name}, "L\x{f6}gs, \"Inc\"", 'the sender\'s name');
is_deeply($mail->{to_addresses}, ['ann@example.test'], 'to');
is($header{'message-id'}, '<' . ($first =~ s/-//gr) . '@example.test>', 'Message-ID');
is($header{'auto-submitted'}, 'auto-generated', 'no answers from machines');
cmp_ok(abs($mail->{date} - time), '<', 60, 'date');
ok($mail->{ascii} && $mail->{longest_line} <= 78 && !$mail->{bare_lf}, 'ASCII in short lines');
is_deeply([ @{ row($first) }{qw(link body_text attempts last_error)} ], [ undef, undef, 1, undef ],
	'the link and the text are gone');
is($t->sql("SELECT count(*) FROM logsvc_internal.outbox WHERE state = 'sent' AND (body_text IS NOT "
	. "NULL OR body_html IS NOT NULL OR link IS NOT NULL)"), 0, 'in the table too');

# ---- woken by the commit ----

forget();
my $begin = time;
my $quick = send_mail();
is_state($quick, 'sent', 'a mail');
cmp_ok(time - $begin, '<', 30, 'at once');
$t->sql("BEGIN; SELECT logsvc_internal.send_mail(NULL, "
	. "'nobody\@example.test', 'account_exists', '{\"link\": \"https://x.test/\"}'); ROLLBACK");
my @many = map { send_mail() } 1 .. 30;
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc.outbox WHERE state <> 'sent'") == 0 }),
	'30 mails');
is(scalar(arrived()), 31, 'each once, and none that was rolled back');

# Names that want to be headers.
forget();
$t->sql(q{SELECT logsvc_internal.send_mail(NULL, 'bob@example.test', 'plan_approved', jsonb_build_object('link', 'https://x.test/', 'expires', '2999-01-01',
	'organization', E'\u00dcber\r\nBcc: eve@example.test ' || repeat(E'\u00e4', 60), 'plan', repeat('p', 40)))});
ok(wait_until(sub { arrived() }), 'a mail about a plan');
($mail) = arrived();
%header = map { lc $_->[0] => $_->[1] } @{ $mail->{headers} };
is($header{subject}, "Plan " . 'p' x 40 . " was approved: organization \"\x{dc}ber Bcc: eve\@ "
	. "example. test " . "\x{e4}" x 10 . "\x{2026}\"", 'a long subject that is not ASCII');
ok(!exists $header{bcc} && "@{$mail->{to}}" eq 'bob@example.test' && !@{ $mail->{defects} }
	&& $mail->{ascii} && $mail->{longest_line} <= 78, 'and no header of its own');

# ---- no TLS, no password ----

# A connection that is kept has its TLS and its login: each case begins with none.
sub other_server { my ($how) = @_; server_down(); mode($how); server_up(); return; }

other_server('auth');
my $plain = send_mail();
ok(tried($plain, 1), 'a server without STARTTLS');
like(row($plain)->{last_error}, qr/^tls: /, 'gets no mail');
other_server('starttls auth');
append_to_file("$dir/password.new", "other\n");
rename "$dir/password.new", "$dir/password";
try_now($plain);
ok(wait_until(sub { my $r = row($plain); $r->{state} eq 'waiting'
	&& $r->{last_error} =~ /^refused: / }), 'a login that is refused');
is(row($plain)->{state}, 'waiting', 'is tried again');
system("cp $dir/client $dir/password") == 0 or die;
system("cp $certificates->{other_cert} $dir/server.crt; cp $certificates->{other_key} "
	. "$dir/server.key") == 0 or die;
other_server('starttls auth');
try_now($plain);
ok(wait_until(sub { row($plain)->{last_error} =~ /^tls: / }),
	'a certificate that nobody trusts');
system("cp $certificates->{cert} $dir/server.crt; cp $certificates->{key} $dir/server.key") == 0
	or die;
other_server('starttls auth');
try_now($plain);
is_state($plain, 'sent', 'all is well again');

# ---- down, deferred, refused ----

server_down();
$log = $t->log_position;
my $down = send_mail();
my $down2 = send_mail();
ok(tried($down, 1) && tried($down2, 1), 'no server');
my $r = row($down);
is_deeply([ @$r{qw(state)} ], ['waiting'], 'the mail waits');
like($r->{last_error}, qr/^unreachable: /, 'and says why');
is($t->sql("SELECT next_attempt_at - now() BETWEEN interval '40 s' AND interval '60 s' FROM "
	. "logsvc.outbox WHERE id = '$down'"), 't', 'for a minute');
is(scalar(() = $t->log_text($log) =~ /cannot send mail: unreachable/g), 1, 'the log says it once');
is(scalar(grep { /user\d+\@example/ && !/LOG:  statement:/ } split /\n/, $t->log_text($log)), 0,
	'without addresses');
forget();
server_up();
$t->sql("UPDATE logsvc_internal.outbox SET next_attempt_at = now() WHERE state = 'waiting'; SELECT "
	. "logsvc_internal.wake_notifier()");
is_state($down, 'sent', 'the server is up again');
is_state($down2, 'sent', 'for both');
is(scalar(arrived()), 2, 'each once');

mode('starttls defer');
my $deferred = send_mail();
ok(tried($deferred, 1), 'deferred');
like(row($deferred)->{last_error}, qr/^refused: .*451/, 'the server\'s code');
is(row($deferred)->{state}, 'waiting', 'it waits');
$t->sql("UPDATE logsvc_internal.outbox SET attempts = 8 WHERE id = '$deferred'");
$t->sql("UPDATE logsvc_internal.outbox SET next_attempt_at = now() WHERE id = '$deferred'; SELECT "
	. "logsvc_internal.wake_notifier()");
is_state($deferred, 'failed', 'after the ninth attempt it is given up');
is(row($deferred)->{link} =~ /secret/ ? 1 : 0, 1, 'and can still be read');
mode('starttls refuse-bad');
$log = $t->log_position;
my $bad = send_mail(to => 'bad@example.test');
my $good = send_mail(to => 'good@example.test');
is_state($bad, 'failed', 'refused for good');
is_state($good, 'sent', 'that mailbox only');
is_deeply([ @{ row($bad) }{qw(attempts)}, row($bad)->{last_error} =~ /550/ ? 1 : 0 ],
	[ 1, 1 ], 'at once');
like($t->log_text($log), qr/logsvc gave up a mail: refused: .*550/, 'the log tells');
mode('starttls');
try_now($deferred);
try_now($bad);
is_state($deferred, 'sent', 'an operator has it sent after all');
is_state($bad, 'sent', 'and the other');

# ---- past its purpose ----

my $late = send_mail(expires => "now() - interval '1 s'");
is_state($late, 'expired', 'a mail whose link has expired is not sent');
is(row($late)->{link}, undef, 'and its link is gone');

# ---- a crash while mails are on their way ----

forget();
mode('starttls hold');
$t->sql('BEGIN; '
	. join(' ', map
		{ "SELECT logsvc_internal.send_mail(NULL, 'crash$_\@example.test', 'account_exists', '{\"link\": \"https://x.test/\"}');" } 1 .. 3) . ' COMMIT');
ok(wait_until(sub { arrived() == 1 }), 'a mail is at the server, which has not answered');
is($t->sql("SELECT count(*) FROM logsvc.outbox WHERE state = 'sending'"), 3,
	'and two more are on their way');
$t->crash;
mode('starttls');
$t->start;
$t->wait_ready;
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc.outbox WHERE state = 'sent' AND recipient "
	. "LIKE 'crash%'") == 3 }), 'sent after the crash');
my %times;
foreach my $one (arrived())
{
	my ($id) = map { $_->[1] } grep { lc $_->[0] eq 'message-id' } @{ $one->{headers} };
	$times{$id}++;
}
is_deeply([ sort values %times ], [ 1, 1, 2 ], 'the one again, with the same Message-ID');

# ---- the end of a mail's row ----

$t->sql("UPDATE logsvc_internal.outbox SET finished_at = now() - interval '8 days' WHERE "
	. "id = '$first'");
$t->sql('SELECT logsvc_internal.purge_mails(now())');
is($t->sql("SELECT count(*) FROM logsvc.outbox WHERE id = '$first'"), 0,
	'a row of a week ago goes');
is(state_of($quick), 'sent', 'another stays');

# ---- a stop while the server considers a mail ----

forget();
mode('starttls hold');
send_mail();
ok(wait_until(sub { arrived() == 1 }), 'a mail is at the server, which has not answered');
$begin = time;
$t->stop;
cmp_ok(time - $begin, '<', 10, 'the server stops all the same');
done_testing;
