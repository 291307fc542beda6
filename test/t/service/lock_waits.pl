# lock_waits.pl: locks that a session keeps hold up the requests that need them for a
# moment, and nobody else: neither those who manage nor those who search or send events.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf =>
	"logsvc.executors = 4\nlogsvc.acceptors = 1\nlog_statement = 'none'");
my @held = map { $t->organization("held$_") } 1 .. 3;
my $other = $t->organization('other');
my $org = $held[0];
my $unavailable = '503 SERVICE_UNAVAILABLE';

sub answer { my ($r) = @_; return "$r->{status} " . ($r->{json}{code} // ''); }
sub path_of { my ($of) = @_; return '/api/v1/organizations/'
	. $t->sql("SELECT logsvc_internal.public_id('org_', id) FROM logsvc_internal.organization "
		. "WHERE slug = '$of->{slug}'"); }
sub waiting { return $t->sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE }
	. q{'logsvc %' AND wait_event_type = 'Lock'}); }

sub holder
{
	my (@statements) = @_;
	my $session = $t->node->background_psql('postgres');
	$session->query_safe(join '; ', 'BEGIN', @statements);
	return $session;
}

sub others_are_served
{
	my ($name) = @_;
	is(end_request(begin_request($t, GET => '/api/v1/members', token => $other->{token}),
		20)->{status}, 200, "$name: others manage");
	is(end_request(begin_request($t, GET => '/api/v1/search?q=x', token => $other->{token}),
		20)->{status}, 200, '... search');
	is(end_request(begin_request($t, POST => '/api/v1/logs', token => $other->{ingest_key},
		json => { event => 'x' }), 20)->{status}, 202, '... and send events');
	return;
}

# Credentials are known, and their use is noted.
$_->{status} < 300 or die $_->{content} foreach
  map { ($t->http(GET => '/api/v1/members', token => $_->{token}),
  $t->http(POST => '/api/v1/logs', token => $_->{ingest_key}, json => { event => 'x' })) } @held,
  $other;

# ---- rows of organizations ----

my %path = map { $_->{slug} => path_of($_) } @held;
my $before = $t->sql('SELECT string_agg(name, $$ $$ ORDER BY slug) || count(*) FROM '
	. 'logsvc_internal.organization');
my $entries = $t->sql('SELECT count(*) FROM logsvc_internal.audit_entry');
my $session = holder('SELECT FROM logsvc_internal.organization FOR UPDATE');
my @requests = map { my $n = $_; map { begin_request($t, PATCH => $path{ $_->{slug} },
	token => $_->{token}, json => { name => "changed $n" }) } @held } 1 .. 4;
others_are_served('changes of three organizations wait for locks');
foreach my $request (@requests)
{
	my $r = end_request($request);
	is(answer($r), $unavailable, 'a change that waits for a lock is refused');
	is($r->{headers}{'retry-after'}, 1, '... and may be sent again');
	like($r->{json}{error}, qr/another transaction holds a lock.*nothing was changed/,
		'... it says why');
}

# What makes something, as a request that is sent again: of a class with a rate, and without.
my @makes = (
	[ '/api/v1/api-keys', { name => 'once', scope => 'read-only' } ],
	[ '/api/v1/indexes', { name => 'once' } ]);
sub make { my ($path, $body) = @{ $_[0] };
	return end_request(begin_request($t, POST => $path, token => $org->{token}, json => $body,
		headers => { 'Idempotency-Key' => "key of $path" =~ s/\W/-/gr }), 60); }
is(answer(make($_)), $unavailable, "POST $_->[0] is refused too") foreach @makes;
is($t->sql('SELECT string_agg(name, $$ $$ ORDER BY slug) || count(*) FROM '
	. 'logsvc_internal.organization'), $before, 'nothing was changed');
is($t->sql('SELECT count(*) FROM logsvc_internal.audit_entry'), $entries,
	'... as the audit log says');
is($t->sql('SELECT count(*) FROM logsvc_internal.idempotency'), 0, '... and no answer is kept');
$session->query_safe('ROLLBACK');
foreach my $make (@makes)
{
	my $r = make($make);
	is("$r->{status} " . ($r->{headers}{'idempotency-replayed'} // 'new'), '201 new',
		"POST $make->[0] goes on when the lock is free");
	is(make($make)->{headers}{'idempotency-replayed'}, 'true', '... and is not done twice');
}
is(answer($t->http(PATCH => $path{held1}, token => $org->{token}, json => { name => 'changed' })),
	'200 ', 'and so does a change');

# Two with the same key: the second waits for the first.
$session->query_safe('BEGIN; SELECT FROM logsvc_internal.organization FOR UPDATE');
@requests = map { begin_request($t, POST => '/api/v1/api-keys', token => $org->{token},
	json => { name => 'two', scope => 'read-only' }, headers => { 'Idempotency-Key' => 'two' }) } 1,
		2;
is(answer(end_request($_)), $unavailable, 'one of two with the same key') foreach @requests;
$session->query_safe('ROLLBACK');

# ---- at the commit ----

# A tenant in SQL may have the chain of its audit log before its commit.
$t->sql('CREATE ROLE app LOGIN IN ROLE logsvc_tenant');
my $new = $t->sql_json("SELECT logsvc.create_api_key('held1', 'fresh', 'ingest-only')")->{key};
my $tenant = $t->node->background_psql('postgres', extra_params => [ '-U', 'app' ]);
$tenant->query_safe("SELECT logsvc.use_token('$org->{token}'); BEGIN; SET CONSTRAINTS ALL "
	. "IMMEDIATE; SELECT logsvc.update_organization(timezone => 'Asia/Tokyo')");
is(($t->sql_error("SET lock_timeout = '100ms'; SELECT FROM logsvc_internal.audit_head h JOIN "
	. "logsvc_internal.organization o ON o.id = h.organization_id WHERE slug = 'held1' FOR "
		. "UPDATE OF h"))[1],
	'55P03', 'a tenant holds the head of its chain');
@requests = map { begin_request($t, POST => '/api/v1/invitations', token => $org->{token},
	json => { email => "x$_\@example.org", role => 'viewer' }) } 1 .. 6;
push @requests, begin_request($t, DELETE => '/api/v1/logs', token => $org->{token},
	json => { q => 'index=main earliest=-1h', reason => 'x' });
# An acceptor notes the first use of a key; a worker that has answered notes what failed.
my $first = begin_request($t, POST => '/api/v1/logs', token => $new, json => { event => 'x' });
my @tries = map { begin_request($t, POST => '/api/v1/auth/sign-in',
	json => { email => $org->{email}, password => 'wrong wrong wrong' }) } 1, 2;
others_are_served('commits wait for the head of a chain');
is(answer(end_request($first)), '202 ', 'the first use of a key waits for nobody');
is(end_request($_)->{status}, 401, 'a sign-in is refused') foreach @tries;
is(answer(end_request($_)), $unavailable, 'what cannot be in the audit log is not done')
	foreach @requests;
is($t->sql(q{SELECT count(*) FROM logsvc_internal.invitation}), 0, '... indeed');
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.account_work WHERE attempts > 0')
	> 0 }), 'what follows a sign-in is put off');

# The scheduler: one task that cannot write its entry, and all the others.  Rolled back, so that the
# worker sees nothing of it.
is($t->sql(q{SET statement_timeout = '60s'; BEGIN;
	CREATE FUNCTION logsvc_internal.noted(at timestamptz) RETURNS void LANGUAGE sql
	AS $$SELECT logsvc_internal.audit(id, 'test.noted', 'x') FROM logsvc_internal.organization WHERE slug = 'held1'$$;
	UPDATE logsvc_internal.scheduled_task SET next_run_at = 'infinity', last_run_at = NULL;
	INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('noted', 'minute');
	SELECT task || ' ' || coalesce(failure, 'done') FROM logsvc_internal.run_scheduled(); ROLLBACK}), 'noted 55P03', 'a scheduled task fails alone');
$tenant->query_safe('ROLLBACK');
$tenant->quit;

# ---- many owners whose rows are locked ----

# More than executors.  Those who wait share nothing with each other, and with nobody else.
my @locked = map { $t->organization("locked$_") } 1 .. 6;
sub invite { my ($name) = @_; return map { begin_request($t, POST => '/api/v1/invitations',
	token => $_->{token}, json => { email => "$name.$_->{id}\@example.org", role => 'viewer' }) }
	@locked; }
sub waited { my ($r) = @_;
	return ($r->{json}{error} // '') =~ /for more than (\d+) ms/ ? $1 : answer($r); }
$session->query_safe(q{BEGIN; SELECT FROM logsvc_internal.audit_head h JOIN }
	. q{logsvc_internal.organization o ON o.id = h.organization_id WHERE slug LIKE 'locked%' FOR }
	. q{UPDATE OF h});
is(answer(end_request($_)), $unavailable, 'a change of an organization that is locked')
	foreach invite('first');
@requests = invite('second');
others_are_served('six locked organizations have all executors');
is(join(' ', map { waited(end_request($_)) } @requests), join(' ', (100) x 6),
	'they wait a tenth of the time while locks hold up the executors');
@requests = invite('third');
is(waited(end_request(begin_request($t, PATCH => path_of($locked[0]),
	token => $locked[0]{token}, json => { name => 'x' }), 60)), 1000,
	'what takes rights away waits for the watcher as long as ever');
end_request($_) foreach @requests;
$session->query_safe('ROLLBACK');
is(end_request($_)->{status}, 201, 'when the locks are gone they go on') foreach invite('last');

# ---- searches ----

$session->query_safe('BEGIN; LOCK TABLE logsvc_internal.part IN ACCESS EXCLUSIVE MODE');
my $search = begin_request($t, GET => '/api/v1/search?q=x', token => $other->{token});
ok(wait_until(sub { waiting() > 0 }), 'a search waits for a lock');
ok(!answered($search, 2.5), '... for longer than a change');
$session->query_safe('ROLLBACK');
is(end_request($search)->{status}, 200, '... and is answered');

# ---- tables of credentials ----

$session->query_safe('BEGIN; LOCK TABLE logsvc_internal.access_token IN ACCESS EXCLUSIVE MODE');
my $r = end_request(begin_request($t, GET => '/api/v1/members', token => 'pat_' . 'x' x 40));
is(answer($r), $unavailable, 'a credential that cannot be looked up');
$session->query_safe('ROLLBACK');
$session->quit;
is(answer($t->http(GET => '/api/v1/members', token => $other->{token})), '200 ', 'it is over');

unlike($t->log_text, qr/logsvc request \w+ failed/, 'none of them failed inside');
$t->stop;
done_testing;
