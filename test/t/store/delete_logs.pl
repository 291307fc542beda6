# delete_logs.pl: events that somebody wants deleted are gone, and no others.
#
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep time);

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '20ms'",
	'logsvc.compactors = 2',
	'restart_after_crash = on');
my $org = $t->organization('acme');
my $other = $t->organization('other');
my $uuid = $t->sql(q{SELECT id FROM logsvc_internal.organization WHERE slug = 'acme'});

sub ingest
{
	my ($o, @events) = @_;
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $o->{ingest_key}, json => \@events);
	is($r->{status}, 202, scalar(@events) . ' events') or diag $r->{content};
	return;
}
sub stored { return wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }); }
sub count
{
	my ($q, $o) = @_;
	my $r = $t->http(GET => '/api/v1/search', token => ($o // $org)->{read_key},
		query => { q => "$q | stats count" });
	die "$r->{status} $r->{content}" if $r->{status} != 200;
	return $r->{json}{data}{rows}[0][0];
}
sub delete_logs { my ($json, %opt) = @_; return $t->http(DELETE => '/api/v1/logs',
	token => $org->{token}, json => $json, %opt); }
sub run_of { return $t->http(GET => "/api/v1/log-deletions/$_[0]",
	token => $org->{token})->{json}{data}; }
sub finished
{
	my ($id, $status) = @_;
	my $run;
	wait_until(sub { $run = run_of($id); $run->{finishedAt} });
	is($run->{status}, $status // 'done', 'the run ends') or diag json_encode($run);
	return $run;
}

# ---- who and what ----

$t->sql("SELECT logsvc.act_as('acme'); SELECT logsvc.create_index('web')");
ingest($org, map { { event => "request $_", level => $_ % 2 ? 'error' : 'info',
	attributes => { n => $_ } } } 1 .. 100);
ingest($org, map { { event => "page $_", index => 'web' } } 1 .. 10);
ingest($other, map { { event => "request $_", level => 'error' } } 1 .. 5);
stored();
my $errors = 'index=main earliest=-1h level=error';

foreach my $case ([ 422, 'UNBOUNDED_DELETION', q => 'earliest=-1h level=error' ],
	[ 422, 'UNBOUNDED_DELETION', q => 'index=main level=error' ],
	[ 422, 'UNBOUNDED_DELETION', q => '' ],
		[ 400, 'QUERY_SEMANTIC_ERROR', q => "$errors | head 3" ],
	[ 400, 'QUERY_SYNTAX_ERROR', q => "$errors (" ],
		[ 404, 'INDEX_NOT_FOUND', q => 'index=nowhere earliest=-1h' ],
	[ 400, 'VALIDATION_ERROR', q => $errors, reason => ' ' ],
		[ 409, 'PROTECTED', q => 'index=_audit earliest=-1h' ])
{
	my ($status, $code, %json) = @$case;
	my $r = delete_logs({ reason => 'test', %json });
	is("$r->{status} $r->{json}{code}", "$status $code", "$code: $json{q}") or diag $r->{content};
}
is(delete_logs({ q => $errors })->{status}, 400, 'a reason is required');
is($t->http(DELETE => '/api/v1/logs', token => $org->{read_key},
	json => { q => $errors, reason => 'x' })->{status}, 403, 'not with a key that only reads');

my $r = delete_logs({ q => $errors, reason => 'try', dryRun => JSON::PP::true });
is($r->{status}, 202, 'a dry run');
is_deeply($r->{json}{data}, { runId => undef, matched => 50 }, 'counts only');
ok(stays(sub { count('index=main earliest=-1h') == 100 }, 1.2), 'and deletes nothing');

# ---- some rows of parts, and those that wait in the queue ----

$t->stop_at('write_before_commit');
ingest($org, { event => 'waits', level => 'error' }, { event => 'waits', level => 'info' });
$t->wait_held('write_before_commit');
$r = delete_logs({ q => $errors, reason => 'they are noise' });
is($r->{status}, 202, 'a deletion');
is($r->{json}{data}{matched}, 51, 'counts what waits too');
my $id = $r->{json}{data}{runId};
ok(stays(sub { run_of($id)->{status} eq 'waiting' }, 1.2), 'and waits for it');
$t->let_go('write_before_commit');
my $run = finished($id);
is($run->{deleted}, 51, 'as many as it found');
is_deeply([ @$run{qw(q reason matched skippedParts error createdBy)} ],
	[ $errors, 'they are noise', 51, 0, undef, $org->{email} ], 'the run says what was asked');
is(count($errors), 0, 'they are gone');
is(count('index=main earliest=-1h'), 51, 'others are not');
is(count('index=main earliest=-1h attributes.n=42'), 1, 'with their attributes');
is(count('index=web earliest=-1h'), 10, 'nor those of another index');
is(count($errors, $other), 5, 'nor those of another organization');
is($t->sql("SELECT string_agg(details->>'q' || ' ' || (details->>'count') || ' ' || "
	. "(details->>'reason'), ',') FROM logsvc_internal.audit_entry WHERE action = 'logs.deleted'"),
	"$errors 51 they are noise", 'the audit log has it, once');
is($t->http(GET => "/api/v1/log-deletions/$id", token => $other->{token})->{status}, 404,
	'nobody else sees the run');
is(scalar(@{ $t->http(GET => '/api/v1/log-deletions', token => $org->{full_key})->{json}{data} }),
	1, 'a list of runs');

# ---- whole parts; what comes later stays ----

$r = delete_logs({ q => 'index=web earliest=-1h latest=+1h', reason => 'all' });
ingest($org, { event => 'later', index => 'web' });
finished($r->{json}{data}{runId});
stored();
is(count('index=web earliest=-1h'), 1, 'an event that came in after it stays');
is($t->sql("SELECT count(*) FROM logsvc_internal.part WHERE organization_id = '$uuid' AND "
	. "index_name = 'web'"), 1, 'no empty parts are left');
is($t->sql("SELECT logsvc.act_as('acme'); SELECT logsvc.delete_logs('index=web earliest=-1h', "
	. "'sql', true)->>'matched'") =~ /^1$/m, 1, 'from SQL');

# ---- killed in the middle, among merges ----

my $n = 0;
sub small_parts
{
	my ($count) = @_;
	$t->sql(qq{SELECT logsvc.act_as('acme');
		DO \$\$ BEGIN FOR i IN $n .. $n + $count - 1 LOOP
			PERFORM logsvc.ingest(jsonb_build_array(
				jsonb_build_object('event', 'keep', 'source', 'kill', 'attributes', jsonb_build_object('n', i)),
				jsonb_build_object('event', 'drop', 'source', 'kill', 'attributes', jsonb_build_object('n', i))));
			COMMIT;
			WHILE EXISTS (SELECT FROM logsvc_internal.queue) LOOP PERFORM pg_sleep(0.002); COMMIT; END LOOP;
		END LOOP; END \$\$});
	$n += $count;
	return;
}
my $drops = 'index=main earliest=-1h source=kill drop';
foreach my $kill (qw(worker server))
{
	small_parts(30);
	$t->stop_at('delete_before_commit');
	$r = delete_logs({ q => $drops, reason => 'crash' });
	my $pid = $t->wait_held('delete_before_commit');
	is(count($drops), 30, "$kill: a slice that is not committed is not seen");
	if ($kill eq 'worker')
	{
		$t->sql("SELECT stop_point.reset('delete_before_commit'); SELECT "
			. "pg_terminate_backend($pid)");
	}
	else
	{
		$t->crash;
		$t->start;
		$t->wait_ready;
	}
	$run = finished($r->{json}{data}{runId});
	is($run->{deleted}, 30, "$kill: each was deleted once");
	is(count($drops), 0, "$kill: none is left");
	is(count('index=main earliest=-1h source=kill keep'), $n, "$kill: all others are there");
}
# Merges and a deletion at the same time.
$t->stop_at('compact_before_commit');
small_parts(9);
$t->wait_held('compact_before_commit');
$r = delete_logs({ q => $drops, reason => 'merge' });
ok(stays(sub { run_of($r->{json}{data}{runId})->{status} eq 'waiting' }, 1.5),
	'a deletion waits for a merge under way');
$t->let_go('compact_before_commit');
$run = finished($r->{json}{data}{runId});
is($run->{deleted}, 9, 'and finds what was merged');
is(count('index=main earliest=-1h source=kill'), $n, 'all others are there');

# Two deletions of an organization: the second one writes parts anew that the first one
# has yet to come to, so it has to wait.
small_parts(25);
my $from = $n - 5;
$t->stop_at('delete_before_commit');
$r = delete_logs({ q => $drops, reason => 'first' });
$t->wait_held('delete_before_commit');
my $second = delete_logs({ q => "index=main earliest=-1h source=kill keep n>=$from",
	reason => 'second' });
is($second->{json}{data}{matched}, 5, 'a second deletion');
ok(stays(sub { run_of($second->{json}{data}{runId})->{status} eq 'waiting' }, 1.5),
	'... waits for the first');
$t->let_go('delete_before_commit');
is(finished($r->{json}{data}{runId})->{deleted}, 25, '... which deletes what it found');
is(finished($second->{json}{data}{runId})->{deleted}, 5, '... and then deletes its own');
is(count($drops) . ' ' . count('index=main earliest=-1h source=kill'), '0 ' . ($n - 5),
	'of both nothing is left, and all others are there');

# ---- a part that cannot be read ----

$t->set('logsvc.compactors', 0);
wait_until(sub { $t->workers('^logsvc compactor$') == 0 });
small_parts(3);
my $bad = $t->sql("SELECT max(id) FROM logsvc_internal.part WHERE organization_id = '$uuid' AND "
	. "index_name = 'main'");
# Counting must succeed: corrupt only after it.
$r = delete_logs({ q => $drops, reason => 'corrupt' });
$t->sql("UPDATE logsvc_internal.part SET body = set_byte(body, length(body) / 2, get_byte(body, "
	. "length(body) / 2) # 255) WHERE id = $bad");
$t->set('logsvc.compactors', 1);
$run = finished($r->{json}{data}{runId}, 'incomplete');
is("$run->{deleted} $run->{skippedParts}", '2 1', 'says that a part could not be read');
unlike($t->log_text, qr/logsvc could not delete/, 'nothing failed');

# ---- what keeps a deletion from being done ----

$t->sql("DELETE FROM logsvc_internal.part WHERE id = $bad");
$t->set('logsvc.compactors', 0);
wait_until(sub { $t->workers('^logsvc compactor$') == 0 });
small_parts(3);
$r = delete_logs({ q => $drops, reason => 'later' });
my $session = $t->node->background_psql('postgres');
$session->query_safe("BEGIN; SELECT id FROM logsvc_internal.part WHERE organization_id = '$uuid' "
	. "AND index_name = 'main' ORDER BY id DESC LIMIT 1 FOR UPDATE");
my $log = $t->log_position;
$t->set('logsvc.compactors', 1);
ok(wait_until(sub { $t->log_text($log) =~ /logsvc could not delete events: .*lock timeout/ }),
	'a part that is locked: the log says so');
is_deeply([ @{ run_of($r->{json}{data}{runId}) }{qw(status deleted)} ], [ 'running', 0 ],
	'and the run goes on later');
is(count($drops), 3, 'nothing is gone');
$session->query_safe('ROLLBACK');
$session->quit;
$t->set('logsvc.compactors', 0);
wait_until(sub { $t->workers('^logsvc compactor$') == 0 });
$t->set('default_transaction_read_only', 'on');
$log = $t->log_position;
$t->set('logsvc.compactors', 1);
ok(wait_until(sub { $t->log_text($log) =~ /logsvc could not delete events: .*read-only/ }),
	'a server that is read-only');
$t->set('logsvc.compactors', 0);
wait_until(sub { $t->workers('^logsvc compactor$') == 0 });
$t->set('default_transaction_read_only', 'off');
is(count($drops), 3, 'deletes nothing');
# One that fails at once, again and again.  Of a shard, where Citus distributes the table.
my $part = $t->sql("SELECT logsvc_internal.stored_in('logsvc_internal.part')");
$t->sql(qq{CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN RAISE 'not this one'; END \$\$;
	CREATE TRIGGER refuse BEFORE DELETE ON $part FOR EACH ROW WHEN (OLD.organization_id = '$uuid') EXECUTE FUNCTION refuse()});
my $theirs = $t->http(DELETE => '/api/v1/logs', token => $other->{token},
	json => { q => $errors, reason => 'beside' })->{json}{data}{runId};
$log = $t->log_position;
$t->set('logsvc.compactors', 1);
ok(wait_until(sub { $t->http(GET => "/api/v1/log-deletions/$theirs",
	token => $other->{token})->{json}{data}{status} eq 'done' }),
	'one that fails keeps that of another organization not waiting');
like($t->log_text($log), qr/logsvc could not delete events: an error of SQL code/,
	'... but failed before it');
$t->set('logsvc.compactors', 0);
wait_until(sub { $t->workers('^logsvc compactor$') == 0 });
$t->sql("DROP TRIGGER refuse ON $part; DROP FUNCTION refuse()");
$t->set('logsvc.compactors', 1);
$run = finished($r->{json}{data}{runId});
is($run->{deleted}, 3, 'and the deletion is done when that is over');

# ---- runs are forgotten a month after their end ----

my $runs = $t->sql('SELECT count(*) FROM logsvc_internal.deletion');
$t->sql("UPDATE logsvc_internal.deletion SET finished_at = finished_at - interval '31 days' WHERE "
	. "id = logsvc_internal.parse_public_id('del_', '$id');"
	. "INSERT INTO logsvc_internal.deletion (organization_id, created_at, created_by, q, reason, "
		. "indexes, from_time, to_time, level_mask, batch, matched)"
	. " SELECT organization_id, '2020-01-01', 'x', 'x', 'open', '{main}', now(), now(), 0, "
		. "9223372036854775807, 0 FROM logsvc_internal.deletion LIMIT 1;"
	. "UPDATE logsvc_internal.scheduled_task SET next_run_at = '-infinity' WHERE name = "
		. "'purge_deletions'");
is($t->sql("SELECT failure IS NULL FROM logsvc_internal.run_scheduled() WHERE task = "
	. "'purge_deletions'"), 't', 'the scheduled task');
is($t->http(GET => "/api/v1/log-deletions/$id", token => $org->{token})->{status}, 404,
	'forgets what ended long ago');
is($t->sql('SELECT count(*) FROM logsvc_internal.deletion'), $runs, 'and nothing else');

$t->stop;
done_testing;
