# 32 clients at once: owners who leave, creations at a plan's limit, one
# invitation accepted many times, a key that is revoked in a burst of requests.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(time);

use constant CLIENTS => 32;

my $t = LogsvcTest->new(conf =>
	"logsvc.executors = 12\nlogsvc.lock_timeout = '1min'\nmax_worker_processes = 40");
my $scopes = join ',', map { "'$_'" } $t->scopes;

# Sends all requests at once: how many of each status.
sub at_once
{
	my %count;
	my @requests = map { begin_request($t, @$_) } @_;
	$count{ end_request($_)->{status} }++ foreach @requests;
	return \%count;
}

sub token_of
{
	my ($org, $email) = @_;
	return $t->sql_json("SELECT logsvc.create_token('$org', '$email', 't', ARRAY[$scopes])")->{token};
}

sub count_of { my ($what) = @_; return $t->sql("SELECT count(*) FROM logsvc_internal.$what"); }

# ---- owners who leave at once ----

my $org = $t->organization('leave');
my @owners;
foreach my $n (1 .. CLIENTS - 1)
{
	my $email = "o$n\@leave.org";
	$t->sql("SELECT logsvc.create_user('$email'); SELECT "
		. "logsvc.add_member('leave', '$email', 'owner')");
	push @owners, token_of('leave', $email);
}
push @owners, $org->{token};
my %id = map { $_->{email} => $_->{id} }
  @{ $t->http(GET => '/api/v1/members?limit=100', token => $org->{token})->{json}{data} };
my @emails = ((map { "o$_\@leave.org" } 1 .. CLIENTS - 1), $org->{email});

# Half of them leave, the other half become viewers.
my $count = at_once(map { $_ % 2
		? [ DELETE => "/api/v1/members/$id{$emails[$_]}", token => $owners[$_] ]
		: [ PATCH => "/api/v1/members/$id{$emails[$_]}", token => $owners[$_],
			json => { role => 'viewer' } ] }
	0 .. CLIENTS - 1);
is($count->{409}, 1, 'one owner of 32 stays') or diag explain $count;
is(($count->{200} // 0) + ($count->{204} // 0), CLIENTS - 1, 'the others go');
is(count_of("member m JOIN logsvc_internal.organization o ON o.id = m.organization_id"
		  . " WHERE o.slug = 'leave' AND role = 'owner'"), 1, 'there is one owner');

# Two owners, each of whom removes the other, again and again.
foreach my $round (1 .. 5)
{
	my $pair = $t->organization("pair$round");
	$t->sql("SELECT logsvc.create_user('second$round\@pair.org');"
		  . "SELECT logsvc.add_member('pair$round', 'second$round\@pair.org', 'owner')");
	my @token = ($pair->{token}, token_of("pair$round", "second$round\@pair.org"));
	my @member = map { $_->{id} } @{ $t->http(GET => '/api/v1/members',
		token => $pair->{token})->{json}{data} };
	at_once(map { [ DELETE => "/api/v1/members/$member[1 - $_ % 2]", token => $token[ $_ % 2 ] ] }
		1 .. CLIENTS);
	is(count_of("member m JOIN logsvc_internal.organization o ON o.id = m.organization_id"
			  . " WHERE o.slug = 'pair$round' AND role = 'owner'"), 1,
			  "round $round: one of two owners is left");
}

# ---- creations at the plan's limit ----

$org = $t->organization('limit', plan => 'free');    # 3 of 5 keys, 1 of 2 members, 1 of 1 indexes
$count = at_once(map { [ POST => '/api/v1/api-keys', token => $org->{token},
		json => { name => "k$_", scope => 'read-only' } ] } 1 .. CLIENTS);
is_deeply($count, { 201 => 2, 403 => CLIENTS - 2 }, 'room for two keys') or diag explain $count;
$count = at_once(map { [ POST => '/api/v1/invitations', token => $org->{token},
		json => { email => "i$_\@limit.org", role => 'viewer' } ] } 1 .. CLIENTS);
is_deeply($count, { 201 => 1, 403 => CLIENTS - 1 }, 'room for one invitation')
	or diag explain $count;
is(count_of("outbox WHERE template = 'invitation'"), 1, 'and one mail');
$t->sql("SELECT logsvc.set_plan('limit', 'pro')");
$count = at_once(map { [ POST => '/api/v1/indexes', token => $org->{token},
	json => { name => 'web' } ] }
	1 .. CLIENTS);
is_deeply($count, { 201 => 1, 409 => CLIENTS - 1 }, 'one index of a name') or diag explain $count;

# ---- one idempotency key ----

my @same = map { begin_request($t, POST => '/api/v1/api-keys', token => $org->{token},
		headers => { 'Idempotency-Key' => 'once' },
			json => { name => 'once', scope => 'read-only' }) }
  1 .. CLIENTS;
my %keys = map { ($_->{json}{data}{key} // $_->{status}) => 1 } map { end_request($_) } @same;
is(scalar keys %keys, 1, 'all get the same key') or diag explain \%keys;
is(count_of("api_key WHERE name = 'once'"), 1, 'of which there is one');

# ---- a key that is revoked in a burst ----

foreach my $round (1 .. 3)
{
	my $key = $t->http(POST => '/api/v1/api-keys', token => $org->{token},
		json => { name => "burst $round", scope => 'read-only' })->{json}{data};
	my @burst;
	my $accepted_after = 0;
	my $accepted_before = 0;
	my $revocation;
	my $revoked;

	# Requests are sent before and after the revocation has answered; those sent after must fail.
	while (@burst < 400)
	{
		push @burst, { sent_after => $revoked ? 1 : 0,
			request => begin_request($t, GET => '/api/v1/indexes', token => $key->{key}) };
		$revocation = begin_request($t, DELETE => "/api/v1/api-keys/$key->{id}",
			token => $org->{token})
		  if @burst == 64;
		if ($revocation && !$revoked && answered($revocation))
		{
			$revoked = end_request($revocation);
			is($revoked->{status}, 204, "round $round: revoked");
		}
		# At most 32 at a time.
		while (grep({ !$_->{status} } @burst) >= CLIENTS)
		{
			foreach my $b (grep { !$_->{status} } @burst)
			{
				next unless answered($b->{request}, 0.001);
				$b->{status} = end_request($b->{request})->{status};
			}
		}
	}
	$_->{status} //= end_request($_->{request})->{status} foreach @burst;
	$accepted_after += grep { $_->{sent_after} && $_->{status} != 401 } @burst;
	$accepted_before += grep { !$_->{sent_after} && $_->{status} == 200 } @burst;
	is($accepted_after, 0, "round $round: none that was sent after the answer is accepted");
	cmp_ok($accepted_before, '>=', 32, "round $round: those before were");
	is(scalar(grep { $_->{status} != 200 && $_->{status} != 401 } @burst), 0,
		"round $round: 200 or 401");
	cmp_ok(scalar(grep { $_->{sent_after} } @burst), '>', 50, "round $round: enough came after");
}

# ---- credentials whose rows somebody else holds ----

{
	my $held = $t->organization('held');
	open my $holder, '|-', 'psql', '-X', '-q', '-d', $t->node->connstr('postgres'), '-o',
		'/dev/null' or die "psql: $!";
	$holder->autoflush(1);
	print $holder
		"SET application_name = 'holder'; BEGIN; SELECT FROM logsvc_internal.member FOR UPDATE;",
	  " SELECT FROM logsvc_internal.access_token FOR UPDATE; SELECT FROM logsvc_internal.api_key "
	  . "FOR UPDATE;\n";
	ok(wait_until(sub { $t->sql("SELECT count(*) FROM pg_locks l JOIN pg_stat_activity "
		. "a USING (pid)"
				  . " WHERE application_name = 'holder' AND state = 'idle in transaction' AND "
				  . "relation = 'logsvc_internal.api_key'::regclass") > 0 }),
		'members, tokens and keys are locked');
	foreach my $what (qw(token read_key))
	{
		my $status = eval { end_request(begin_request($t, GET => '/api/v1/search/fields',
			token => $held->{$what}), 10)->{status} };
		is($status, 200, "$what: nobody waits to note its use");
		is($t->sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
			. "backend_type LIKE 'logsvc%'"), 0, 'not even later');
	}
	print $holder "ROLLBACK;\n";
	close $holder;
}

unlike($t->log_text, qr/logsvc request \w+ failed|deadlock/, 'no request failed inside');
$t->stop;
done_testing;
