# revocation_wins.pl: who takes rights away does not wait for those from whom they are taken.
# Sessions of tenants that hold a lock in the way are ended; those of others never are.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;

# Long, so that a busy machine does not decide: what is not ended holds a request for that long.
my $t = LogsvcTest->new(conf => "logsvc.executors = 6\nlogsvc.lock_timeout = '30s'\n"
	. "deadlock_timeout = '60s'\nmax_prepared_transactions = 2\nmax_connections = 80");
my $org = $t->organization('acme');
my $other = $t->organization('other');
my $owner = $t->session($org->{email});
$t->sql('CREATE ROLE app LOGIN IN ROLE logsvc_tenant;'
	. 'CREATE ROLE desk LOGIN IN ROLE logsvc_tenant, logsvc_admin;'
	. 'CREATE ROLE boss LOGIN SUPERUSER IN ROLE logsvc_tenant');

my %open;

# A session of that role which has run the statements and goes on: its process.
sub holds
{
	my ($role, @statements) = @_;
	my $session = $t->node->background_psql('postgres', on_error_stop => 0,
		extra_params => [ '-U', $role ]);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	$session->query_safe(join '; ', 'BEGIN', @statements);
	$open{$pid} = $session;
	return $pid;
}

# One that runs a statement, which waits.
sub waits
{
	my ($role, $first, $statement) = @_;
	my $pid = holds($role, $first);
	$open{$pid}->query_until(qr/begun/, "\\echo begun\n$statement;\n");
	my $event = "SELECT wait_event_type FROM pg_stat_activity WHERE pid = $pid";
	wait_until(sub { $t->sql($event) eq 'Lock' }) or die "$statement does not wait";
	return $pid;
}

sub lives { return $t->sql("SELECT count(*) FROM pg_stat_activity WHERE pid = $_[0]"); }
sub is_ended { my ($pid, $name) = @_; return ok(wait_until(sub { !lives($pid) }), $name); }
sub answer { my ($r) = @_; return "$r->{status} " . ($r->{json}{code} // ''); }

# Some of them wait, and would not read that they should quit.
sub close_all
{
	$t->sql("SELECT pg_terminate_backend($_)") foreach grep { lives($_) } keys %open;
	foreach my $pid (keys %open) { eval { $open{$pid}->quit; 1 } or note "process $pid: ended"; }
	%open = ();
	return;
}
sub begin_as_owner
{
	my ($method, $path, $json) = @_;
	return begin_request($t, $method => "/api/v1$path",
		headers => { $t->session_headers($owner, 'acme') }, defined $json ? (json => $json) : ());
}
sub as_owner { return end_request(begin_as_owner(@_)); }
sub works { return $t->http(GET => '/api/v1/indexes', token => $_[0])->{status}; }

# Another user of the organization: { email, id, token, token_id }.
sub user
{
	my ($name, $role) = @_;
	my $email = "$name\@example.org";
	$t->sql("SELECT logsvc.create_user('$email', '$name')");
	my $member = $t->sql_json("SELECT logsvc.add_member('acme', '$email', '$role')");
	my $token = $t->sql_json("SELECT logsvc.create_token('acme', '$email', 'x',"
		. " ARRAY['logs:read', 'keys:write', 'members:write', 'org:write'])");
	return { email => $email, id => $member->{id}, token => $token->{token},
		token_id => $token->{id} };
}

# ---- one's own credential ----

my $ann = user('ann', 'admin');
my $pid = holds('app', "SELECT logsvc.use_token('$ann->{token}')",
	"SELECT logsvc.revoke_token('$ann->{token_id}')");
is(works($ann->{token}), 200, 'a token that its thief has locked works');
is(answer(as_owner(DELETE => "/members/$ann->{id}")), '204 ', '... its user can be removed');
is(works($ann->{token}), 401, '... it is dead');
is_ended($pid, '... and the session too');

# With others in the queue before the request, and after it.
my $bob = user('bob', 'admin');
my $use = "SELECT logsvc.use_token('$bob->{token}')";
my $revoke = "SELECT logsvc.revoke_token('$bob->{token_id}')";
my @pids = (holds('app', $use, $revoke), map { waits('app', $use, $revoke) } 1 .. 5);
my $bobs = $t->session($bob->{email});
my $request = begin_request($t, DELETE => "/api/v1/tokens/$bob->{token_id}",
	headers => { $t->session_headers($bobs, 'acme') });
is(answer(end_request($request)), '204 ',
	'a token that six sessions want can be revoked by its user');
is(works($bob->{token}), 401, '... it is dead');
is_ended($_, '... and the session') foreach $pids[0], $pids[1];

my $key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'x', 'full-access')");
$pid = holds('app', "SELECT logsvc.use_token('$key->{key}')",
	"SELECT logsvc.revoke_api_key('$key->{id}')");
is(answer(as_owner(DELETE => "/api-keys/$key->{id}")), '204 ', 'the same with a key');
is(works($key->{key}), 401, '... it is dead');
is_ended($pid, '... and the session');
close_all();

# ---- what others lock ----

# An admin has the token of a member, who sets another password.
my $cid = user('cid', 'member');
my $dan = user('dan', 'admin');
sub take_token
{
	return holds('app', "SELECT logsvc.use_token('$dan->{token}')",
		"SELECT logsvc.revoke_token('$cid->{token_id}')");
}
$pid = take_token();
$t->http(POST => '/api/v1/auth/forgot-password', json => { email => $cid->{email} });
my $link;
my $mail = "SELECT link FROM logsvc_internal.outbox"
	. " WHERE recipient = '$cid->{email}' AND template = 'reset_password'";
wait_until(sub { $link = $t->sql($mail) });
my ($secret) = $link =~ /#t=(\w+)/;
my $r = end_request(begin_request($t, POST => '/api/v1/auth/reset-password',
	json => { token => $secret, password => 'A-first-word-for-1-day',
	revokeTokens => JSON::PP::true }), 60);
is(answer($r), '200 ', 'a password is reset, with tokens that an admin has locked');
is($r->{json}{data}{tokensRevoked}, 1, '... which are revoked');
is_ended($pid, "... and the admin's session is ended");

my $again = $t->sql_json(
	"SELECT logsvc.create_token('acme', '$cid->{email}', 'x', ARRAY['logs:read'])");
$cid->{token_id} = $again->{id};
$pid = take_token();
my $cids = $t->session($cid->{email});
$r = end_request(begin_request($t, POST => '/api/v1/auth/change-password',
	headers => { $t->session_headers($cids) },
	json => { current => 'A-first-word-for-1-day', password => 'A-second-word-for-2-days',
		revokeTokens => JSON::PP::true }), 60);
is(answer($r), '200 ', 'a password is changed, with tokens that an admin has locked');
is(works($again->{token}), 401, '... which are revoked');
is_ended($pid, "... and the admin's session is ended");

# The head of the audit log's chain, for which the commit waits; and a request in between that
# takes nothing away.
sub take_head
{
	return holds($_[0], "SELECT logsvc.use_token('$dan->{token}')", 'SET CONSTRAINTS ALL IMMEDIATE',
		"SELECT logsvc.update_organization(timezone => 'Asia/Tokyo')");
}
sub waiting
{
	return $t->sql(q{SELECT count(*) FROM pg_stat_activity
		WHERE backend_type = 'logsvc executor' AND wait_event_type = 'Lock'});
}
$key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'x', 'full-access')");
$pid = take_head('app');
my $between = begin_as_owner(POST => '/invitations', { email => 'x@example.org',
	role => 'viewer' });
ok(wait_until(sub { waiting() == 1 }), 'an invitation waits for the chain of the audit log');
ok(!answered($between, 1), '... for as long as the session likes');
ok(lives($pid), '... which goes on');
is(answer(as_owner(DELETE => "/api-keys/$key->{id}")), '204 ', 'a key is revoked');
is(answer(end_request($between)), '201 ', '... and the invitation is made');
is_ended($pid, '... as the session is ended');

is(($t->sql_error("SELECT logsvc.use_token('$dan->{token}'); BEGIN; SET CONSTRAINTS ALL IMMEDIATE;"
	. " SELECT logsvc.update_organization(timezone => 'Asia/Tokyo'); PREPARE TRANSACTION 'p'",
	user => 'app'))[1],
	'42501', 'a tenant cannot prepare a transaction, which would be locked without a session');
is($t->sql('SELECT count(*) FROM pg_prepared_xacts'), 0, '... indeed');
# One that has failed is rolled back, and asks no catalog who that is.
$t->node->psql('postgres', "BEGIN; SELECT 1 / 0; PREPARE TRANSACTION 'p'; SELECT 'on'",
	on_error_stop => 0, extra_params => [ '-U', 'app' ], stdout => \my $out);
is($out, 'on', '... and one that has failed is rolled back');
close_all();

like($t->log_text, qr/logsvc ended a session of role "app" \(process $pid\)/, 'the log says so');
unlike($t->log_text =~ s/^.*statement: .*$//mgr,
	qr/(?:LOG|DETAIL):.*(?:pat_|key_\w{26}|tok_\w{26})/, '... and names no credential');

# ---- the watcher ends while a request waits for it ----

my $watcher = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'logsvc watcher'";
my $first = $t->sql($watcher);
$key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'x', 'full-access')");
$pid = holds('app', "SELECT logsvc.use_token('$key->{key}')",
	"SELECT logsvc.revoke_api_key('$key->{id}')");
kill 'STOP', $first;
$request = begin_as_owner(DELETE => "/api-keys/$key->{id}");
ok(wait_until(sub { $t->sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = }
	. q{'logsvc executor' AND wait_event_type = 'Lock'}) == 1 }), 'a request waits for the watcher');
kill 'TERM', $first;
kill 'CONT', $first;
is(answer(end_request($request)), '204 ', '... which is started again, and sees to it');
is_ended($pid, '... as ever');
ok(wait_until(sub { my $now = $t->sql($watcher); $now ne '' && $now ne $first }),
	'... it is another process');
close_all();

# ---- who is not ended ----

my @ended = $t->log_text =~ /logsvc ended a session/g;
$t->set('logsvc.lock_timeout', '2s');
$key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'x', 'full-access')");
my @others = (
	[ 'a superuser', sub { holds('boss', "SELECT logsvc.revoke_api_key('$key->{id}')") } ],
	[ 'an operator', sub { holds('desk', "SELECT logsvc.revoke_api_key('$key->{id}')") } ],
	[ 'a superuser who acts as the role of a tenant', sub { holds('boss',
		'SET SESSION AUTHORIZATION app', "SELECT logsvc.use_token('$key->{key}')",
		"SELECT logsvc.revoke_api_key('$key->{id}')") } ]);
foreach my $other (@others)
{
	my ($name, $begin) = @$other;
	$pid = $begin->();
	is(answer(as_owner(DELETE => "/api-keys/$key->{id}")), '503 SERVICE_UNAVAILABLE',
		"$name holds up a request");
	ok(lives($pid), '... and is not ended');
	close_all();
}

# Who is only in front of somebody that waits for everybody: DDL.
my $innocent = holds('app', "SELECT logsvc.use_token('$other->{token}')",
	"SELECT logsvc.update_organization(name => 'innocent')");
$pid = waits('boss', 'SELECT 1',
	'LOCK TABLE logsvc_internal.organization IN ACCESS EXCLUSIVE MODE');
is(answer(as_owner(DELETE => "/api-keys/$key->{id}")), '503 SERVICE_UNAVAILABLE',
	'DDL holds up a request');
ok(lives($innocent), '... and not those are ended for whom it waits');
ok(lives($pid), '... nor itself');
close_all();

# A request that takes nothing away.
$pid = take_head('app');
is(answer(as_owner(POST => '/invitations', { email => 'y@example.org', role => 'viewer' })),
	'503 SERVICE_UNAVAILABLE', 'a tenant holds up an invitation');
ok(lives($pid), '... and is not ended');
is(scalar(my @now = $t->log_text =~ /logsvc ended a session/g), scalar @ended,
	'no session was ended');
close_all();

$t->stop;
done_testing;
