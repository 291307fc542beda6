# Scheduled exports: what they may be, who may have them, when they run, what their runs
# make and who gets it; workers that are killed.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "restart_after_crash = on\nlogsvc.public_url = 'https://logs.example'");
my $org = $t->organization('acme', plan => 'pro');
my $other = $t->organization('other', plan => 'pro');
my $free = $t->organization('poor', plan => 'free');
my $path = '/api/v1/scheduled-exports';
my %export = (name => 'errors', q => 'level=error', cron => '0 6 * * mon-fri',
	delivery => { kind => 'download' });

sub ask
{
	my ($method, $where, $expected, $name, %options) = @_;
	my $r = $t->http($method => $where =~ m{^/api} ? $where : $path . $where,
		token => $org->{token}, %options);
	my $code = ref $r->{json} eq 'HASH' ? $r->{json}{code} : undef;
	is($r->{status} . ($code ? " $code" : ''), $expected, $name) or diag $r->{content};
	return $r;
}

sub refused
{
	my ($where, $name, %members) = @_;
	my $r = ask(POST => '', '400 VALIDATION_ERROR', $name, json => { %export, %members });
	is(join(' ', map { $_->{path} } @{ $r->{json}{details} }), $where, "... $where");
	return;
}

# ---- what it may be ----

my $made = ask(POST => '', 201, 'an export', json => \%export)->{json}{data};
like($made->{id}, qr/^exp_\w{26}$/, 'its id');
is_deeply([ @$made{qw(timezone range format maxRows enabled readsAudit lastRun)} ],
	[ 'UTC', 'previousPeriod', 'ndjson', 1000000, JSON::PP::true, JSON::PP::false, undef ], 'what it has by default');
like($made->{nextRunAt}, qr/T06:00:00\.000Z$/, 'when it runs');
refused('cron', "no cron: $_", cron => $_) foreach '', '* * * *', '61 * * * *', '0 0 31 2 *', '@reboot';
refused('cron', "too often: $_", cron => $_) foreach '* * * * *', '*/4 * * * *', '0,58 * * * *', '1-2 3 * * *';
refused('timezone', "no time zone: $_", timezone => $_) foreach 'Mars', '<+05>-5', 'CET+1', 'UTC; DROP TABLE x';
refused('q', 'an index that is not there', q => 'index=nowhere x');
refused('maxRows', "rows: $_", maxRows => $_) foreach 0, 1000001, -1;
refused('q', 'no query', q => undef);
refused('q', 'two queries', savedQueryId => 'sq_00000000000000000000000000');
refused('savedQueryId', 'a saved query that is not there', q => undef, savedQueryId => 'sq_00000000000000000000000000');
refused('range', 'a range that ends before it begins', range => { earliest => '-1h', latest => '-2h' });
refused('range.earliest', 'no time', range => { earliest => 'yesterday' });
refused('delivery.kind', 'a delivery that is not known', delivery => { kind => 'fax' });
refused('delivery.target', 'mail to a stranger', delivery => { kind => 'email', target => 'eve@evil.example' });
refused('format', 'a format', format => 'xml');
my $berlin = ask(POST => '', 201, 'by the clock of Berlin', json => { %export, name => 'berlin', cron => '@daily',
	timezone => 'Europe/Berlin' })->{json}{data};
is($t->sql("SELECT ('$berlin->{nextRunAt}'::timestamptz AT TIME ZONE 'Europe/Berlin')::time"), '00:00:00', 'at its midnight');
my $saved = $t->http(POST => '/api/v1/saved-queries', token => $org->{token},
	json => { name => 'kept', q => 'service=api' })->{json}{data}{id};
my $named = ask(POST => '', 201, 'of a saved query', json => { %export, name => 'saved', q => undef,
	savedQueryId => $saved })->{json}{data}{id};
ask(DELETE => "/api/v1/saved-queries/$saved", '409 IN_USE', 'which stays');
my $private = $t->http(POST => '/api/v1/saved-queries', token => $org->{token},
	json => { name => 'own', q => '*', visibility => 'private' })->{json}{data}{id};
refused('savedQueryId', 'a private saved query', q => undef, savedQueryId => $private);
is($t->http(PATCH => "/api/v1/saved-queries/$saved", token => $org->{token},
	json => { visibility => 'private' })->{status}, 409, 'nor is one that an export names made private');
is(ask(PATCH => "/$made->{id}", 200, 'switched off', json => { enabled => JSON::PP::false })->{json}{data}{nextRunAt},
	undef, 'it does not run');
my $on = ask(PATCH => "/$made->{id}", 200, 'and on', json => { enabled => JSON::PP::true, cron => '@hourly' })->{json}{data};
like($on->{nextRunAt}, qr/:00:00\.000Z$/, 'it does');
is($t->sql("SELECT next_tick - period_start FROM logsvc_internal.export_schedule WHERE resource_id = "
	. "logsvc_internal.parse_public_id('exp_', '$made->{id}')"), '01:00:00', 'for the hour before');

# ---- who ----

is($t->http(POST => $path, token => $free->{token}, json => \%export)->{json}{code}, 'PLAN_LIMIT_REACHED',
	'not in plan Free');
ask(POST => '', 201, "export $_", json => { %export, name => "export $_" }) foreach 4 .. 5;
ask(POST => '', '403 PLAN_LIMIT_REACHED', 'five in plan Pro', json => \%export);
my $test_key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'test', 'full-access', 'test')")->{key};
is($t->http(GET => $path, token => $test_key)->{status}, 403, 'test keys see none');
is($t->http(GET => "$path/$made->{id}", token => $other->{token})->{status}, 404, 'other organizations neither');
is($t->http(GET => "$path/$made->{id}", token => $org->{full_key})->{status}, 200, 'full-access keys do');
ask(PATCH => "/$made->{id}", '412 VERSION_CONFLICT', 'an old version', json => { name => 'x' }, headers => { 'If-Match' => 1 });

# ---- the audit log ----

my $audited = ask(PATCH => "/$berlin->{id}", 200, 'an owner exports the audit log',
	json => { q => 'index=_AUDIT' })->{json}{data};
ok($audited->{readsAudit}, 'which it says');
foreach my $what ([ PATCH => '', { name => 'x' } ], [ PATCH => '', { q => '*' } ], [ POST => '/run', undef ])
{
	is($t->http($what->[0] => "$path/$berlin->{id}$what->[1]", token => $org->{full_key},
		$what->[2] ? (json => $what->[2]) : ())->{status}, 403, 'an API key has no part in it');
}
is($t->http(PATCH => "$path/$made->{id}", token => $org->{full_key}, json => { q => 'index=_audit' })->{status}, 403,
	'nor makes one');

ask(DELETE => "/$_->{id}", 204, 'away with it') foreach @{ ask(GET => '', 200, 'all')->{json}{data} };

# ---- runs ----

$t->sql("SELECT logsvc.set_plan('acme', 'enterprise')");

sub events
{
	my ($n, $service, $text) = @_;
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $org->{token},
		json => [ map { { event => "$_ $text", service => $service } } 1 .. $n ]);
	is($r->{json}{data}{accepted}, $n, "$n events");
	return;
}

sub runs_of
{
	my ($id) = @_;
	return @{ $t->http(GET => "$path/$id/runs?limit=100", token => $org->{token})->{json}{data} };
}

# Runs it, and waits for its end.
sub run
{
	my ($id, $status) = @_;
	my $run = ask(POST => "/$id/run", 202, 'a run')->{json}{data};
	my $ended = wait_until(sub {
		my ($r) = grep { $_->{id} eq $run->{id} } runs_of($id);
		return $r->{finishedAt} ? $r : undef;
	});
	is($ended->{status}, $status, "it has $status") or diag explain $ended;
	return $ended;
}

# A link as somebody without a credential follows it.
sub follow
{
	my ($url) = @_;
	$url =~ s{^https://logs\.example}{};
	return $t->http(GET => $url);
}

events(5, 'api', 'took "3" ms');
my %whole = (%export, q => 'service=api', cron => '@hourly', range => { earliest => '-1h', latest => '+1h' });
my %id = map { $_ => ask(POST => '', 201, "as $_", json => { %whole, name => "Ours, as $_", format => $_ })->{json}{data}{id} }
  qw(csv ndjson json);
my %made = map { $_ => run($id{$_}, 'succeeded') } sort keys %id;
is_deeply([ @{ $made{csv} }{qw(rows truncated error scheduledFor)} ],
	[ 5, JSON::PP::false, undef, undef ], 'what it says');
my %file = map { $_ => ask(GET => "/api/v1/exports/$made{$_}{id}/download", 200, "its file, $_") } sort keys %made;
like($file{csv}{content}, qr/^"id","timestamp",.*\n(.*\n){5}\z/, 'a line of names and five rows');
like($file{csv}{headers}{'content-disposition'}, qr/^attachment; filename="ours-as-csv-\w+Z-\w+Z\.csv"$/, 'its name');
is(length $file{csv}{content}, $made{csv}{bytes}, 'its size');
is_deeply([ @{ $file{csv}{headers} }{qw(x-rows x-truncated x-part-count)} ], [ 5, 'false', 1 ], 'its headers');
is(ask(GET => "/api/v1/exports/$made{csv}{id}/download?part=0", 200, 'its first part')->{content},
	$file{csv}{content}, 'which is all of it');
ask(GET => "/api/v1/exports/$made{csv}{id}/download?part=1", '400 VALIDATION_ERROR', 'there is no other');
is_deeply([ sort map { json_decode($_)->{event} } split /\n/, $file{ndjson}{content} ],
	[ map { "$_ took \"3\" ms" } 1 .. 5 ], 'lines of JSON');
is(@{ json_decode($file{json}{content}) }, 5, 'a JSON array');
is(ask(GET => "/$id{csv}", 200, 'the export')->{json}{data}{lastRun}{id}, $made{csv}{id}, 'names its last run');
is($t->sql("SELECT details ->> 'rows' FROM logsvc_internal.audit_entry WHERE action = 'export.created' AND resource = '$made{csv}{id}'"),
	5, 'it is in the audit log');
my $few = run(ask(POST => '', 201, 'two rows', json => { %whole, name => 'few', maxRows => 2 })->{json}{data}{id}, 'succeeded');
is_deeply([ @$few{qw(rows truncated)} ], [ 2, JSON::PP::true ], 'and it says that there were more');

$t->sql("UPDATE logsvc_internal.export_run SET bytes = 65 * 1048576 WHERE id = "
	. "logsvc_internal.parse_public_id('run_', '$made{ndjson}{id}')");
ask(GET => "/api/v1/exports/$made{ndjson}{id}/download", '422 EXPORT_TOO_LARGE', 'a large file comes in parts');
ask(GET => "/api/v1/exports/$made{ndjson}{id}/download?part=0", 200, 'only');

# ---- links ----

my $link = $made{csv}{downloadUrl};
like($link, qr/^https:.*run_\w{26}.download\?expires=\d{10}&holder=tok_\w{26}&signature=[0-9a-f]{64}$/, 'a link');
is(follow($link)->{content}, $file{csv}{content}, 'needs no credential');
(my $of_another = $link) =~ s/run_\w+/$made{json}{id}/;
(my $later = $link) =~ s/expires=(\d+)/'expires=' . ($1 + 1)/e;
(my $changed = $link) =~ s/(signature=)(.)/$1 . ($2 eq '0' ? '1' : '0')/e;
(my $cut = $link) =~ s/[0-9a-f]{32}$//;
(my $zeros = $link) =~ s{expires=}{expires=00};
(my $unsigned = $link) =~ s/&signature=.*//;
is(follow($of_another)->{status}, 404, 'of another run');
is(follow($later)->{status}, 404, 'with a later end');
is(follow($changed)->{status}, 404, 'with another signature');
is(follow($cut)->{status}, 404, 'with half of it');
(my $of_all = $link) =~ s/holder=\w+/holder=organization/;
is(follow($of_all)->{status}, 404, 'for another holder');
is(follow($zeros)->{status}, 404, 'with the same end, written otherwise');
is(follow($unsigned)->{status}, 401, 'without one a credential is needed');
my $past = int(time) - 1;
my $old = $t->sql("SELECT logsvc_internal.export_signature('$made{csv}{id}', $past, 'organization')");
is(follow("/api/v1/exports/$made{csv}{id}/download?expires=$past&holder=organization&signature=$old")->{json}{code}, 'LINK_EXPIRED', 'over');
$t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.set_ip_allowlist('[{\"network\": \"192.0.2.0/24\"}]') IS NULL");
is(follow($link)->{json}{code}, 'IP_NOT_ALLOWED', 'from a network that is not allowed');
$t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.set_ip_allowlist('[{\"network\": \"127.0.0.0/8\"}]') IS NULL");
is(follow($link)->{status}, 200, 'and from one that is');
$t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.set_ip_allowlist('[]') IS NULL");
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 0 WHERE class = 'executor'");
is(follow($link)->{status}, 429, 'without executor time there is no file');
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 60 WHERE class = 'executor'");
is($t->http(GET => "/api/v1/exports/$made{csv}{id}/download", token => $_)->{status}, 403, 'others may not')
  foreach $org->{read_key}, $test_key;
is($t->http(GET => "/api/v1/exports/$made{csv}{id}/download", token => $other->{token})->{status}, 404, 'nor see it');
$t->sql("UPDATE logsvc_internal.export_run SET file_until = now() WHERE id = "
	. "logsvc_internal.parse_public_id('run_', '$made{json}{id}'); SELECT logsvc_internal.purge_exports(now())");
is($t->http(GET => "/api/v1/exports/$made{json}{id}/download", token => $org->{token})->{json}{code}, 'LINK_EXPIRED',
	'after 7 days there is no file');
is($t->sql("SELECT count(*) FROM logsvc_internal.export_file WHERE run_id = "
	. "logsvc_internal.parse_public_id('run_', '$made{json}{id}')"), 0, 'nothing of it');

# Who may export but not read events gets none by an export.
my $blind = $t->sql_json("SELECT logsvc.create_token('acme', '$org->{email}', 'blind', '{logs:export}')")->{token};
foreach ([ GET => '/api/v1/search/export?q=*' ], [ GET => $path ], [ GET => "$path/$id{csv}" ],
	[ POST => $path, json => \%whole ], [ PATCH => "$path/$id{csv}", json => { name => 'x' } ],
	[ POST => "$path/$id{csv}/run" ], [ GET => "$path/$id{csv}/runs" ],
	[ GET => "/api/v1/exports/$made{csv}{id}/download" ], [ DELETE => "$path/$id{csv}" ])
{
	my ($method, $where, @body) = @$_;
	my $r = $t->http($method => $where, token => $blind, @body);
	is("$r->{status} " . ($r->{json}{code} // ''), '403 INSUFFICIENT_SCOPE', "$method $where without logs:read");
}

# ---- the schedule ----

my $hourly = ask(POST => '', 201, 'each hour', json => { %export, name => 'hourly', cron => '@hourly', q => '*' })->{json}{data}{id};
my $uuid = "logsvc_internal.parse_public_id('exp_', '$hourly')";
$t->sql("UPDATE logsvc_internal.export_schedule SET next_tick = date_trunc('hour', now()) - interval '3 hours', "
	. "period_start = date_trunc('hour', now()) - interval '4 hours' WHERE resource_id = $uuid");
$t->sql('SELECT logsvc_internal.wake_exporters()');
my @runs = wait_until(sub {
	my @all = runs_of($hourly);
	return @all >= 4 && !grep({ $_->{status} ne 'succeeded' } @all) ? [ reverse @all ] : undef;
});
@runs = @{ $runs[0] };
is_deeply([ map { $_->{scheduledFor} } @runs ], [ map { $_->{range}{latest} } @runs ], 'each until it was due');
is_deeply([ map { $_->{range}{earliest} } @runs[ 1 .. $#runs ] ],
	[ map { $_->{range}{latest} } @runs[ 0 .. $#runs - 1 ] ],
	'from the end of the one before');
$t->sql("UPDATE logsvc_internal.export_schedule SET next_tick = '2020-01-01', period_start = '2019-12-31' WHERE resource_id = $uuid");
$t->sql('SELECT logsvc_internal.plan_export_runs()');
is($t->sql("SELECT max(to_time) > now() - interval '8 days' AND bool_and(from_time = '2019-12-31') AND count(*) = 1 "
	. "FROM logsvc_internal.export_run WHERE resource_id = $uuid AND from_time < '2020-01-02'"), 't',
	'after years the time before the last 7 days is one period');
ask(DELETE => "/$hourly", 204, 'it is deleted, with its runs');

# ---- somebody presses the button ----

$t->set('logsvc.exporters', 0);
wait_until(sub { my @n = $t->workers('^logsvc exporter'); !@n });
my %pressed = map { ask(POST => "/$id{csv}/run", 202, 'pressed')->{json}{data}{id} => 1 } 1 .. 5;
is(keys %pressed, 1, 'one run at a time');
$t->set('logsvc.exporters', 1);
ok(wait_until(sub { !grep { !$_->{finishedAt} } runs_of($id{csv}) }), 'which runs');

# ---- workers that are killed ----

events(9000, 'big', 'x' x 400);
my $big = ask(POST => '', 201, 'a file of pieces', json => { %whole, name => 'big', q => 'service=big' })->{json}{data}{id};
foreach my $point (qw(exporter_taken exporter_piece exporter_finished))
{
	$t->stop_at($point);
	my $run = ask(POST => "/$big/run", 202, "killed at $point")->{json}{data}{id};
	kill_process($t->wait_held($point));
	$t->wait_ready;
	wait_until(sub { grep { $_->{id} eq $run && $_->{finishedAt} } runs_of($big) });
	my ($ended) = grep { $_->{id} eq $run } runs_of($big);
	is_deeply([ @$ended{qw(status rows attempts)} ], [ 'succeeded', 9000, 1 ], 'it ends all the same');
	my $content = $t->http(GET => "/api/v1/exports/$run/download", token => $org->{token})->{content};
	my %seen = map { json_decode($_)->{event} =~ /^(\d+)/ => 1 } split /\n/, $content;
	is(($content =~ tr/\n//) . ' ' . keys %seen, '9000 9000', 'each row once');
	is($t->sql("SELECT count(*) FROM logsvc_internal.audit_entry WHERE action = 'export.created' AND resource = '$run'"),
		1, 'and it was made once');
}

# A table whose events are deleted meanwhile begins again.
$t->set('logsvc.exporters', 0);
wait_until(sub { my @n = $t->workers('^logsvc exporter'); !@n }, 20);
my $again = ask(POST => "/$id{csv}/run", 202, 'a run')->{json}{data}{id};
my $of_again = "WHERE id = logsvc_internal.parse_public_id('run_', '$again')";
$t->sql("UPDATE logsvc_internal.export_run SET worker = 99, pieces = 1, bytes = 5, rows = 77, q = 'x', cursor = 'x' $of_again");
$t->sql("INSERT INTO logsvc_internal.export_file (run_id, number, organization_id, start, data) SELECT id, 0, organization_id, 0, 'stale' "
	. "FROM logsvc_internal.export_run $of_again");
$t->sql("SELECT logsvc_internal.fail_export_run(logsvc_internal.parse_public_id('run_', '$again'), 99, 'EXPORT_CHANGED', 'changed', false)");
is($t->sql("SELECT concat_ws(' ', status, error_code, attempts, pieces, rows) FROM logsvc_internal.export_run $of_again"),
	'waiting EXPORT_CHANGED 1 0 0', 'what was made is away');
$t->sql("UPDATE logsvc_internal.export_run SET next_attempt_at = now() $of_again");
$t->set('logsvc.exporters', 1);
ok(wait_until(sub { grep { $_->{id} eq $again && $_->{status} eq 'succeeded' } runs_of($id{csv}) }, 60), 'it succeeds');
is($t->http(GET => "/api/v1/exports/$again/download", token => $org->{token})->{content}, $file{csv}{content}, 'with the whole file');

# A run of which exporters die is put off, and given up at last.
$t->set('logsvc.exporters', 0);
wait_until(sub { my @n = $t->workers('^logsvc exporter'); !@n }, 20);
my $deadly = ask(POST => "/$id{csv}/run", 202, 'a run that nobody makes')->{json}{data}{id};
my $of_deadly = "FROM logsvc_internal.export_run WHERE id = logsvc_internal.parse_public_id('run_', '$deadly')";
foreach my $wait ([ '5 s', 'none' ], [ '1 min', 'INTERNAL_ERROR' ], [ '10 min', 'INTERNAL_ERROR' ], [ '1 h', 'INTERNAL_ERROR' ],
	[ '6 h', 'INTERNAL_ERROR' ])
{
	$t->sql("UPDATE logsvc_internal.export_run SET worker = 99, status = 'running' WHERE id = logsvc_internal.parse_public_id('run_', '$deadly')");
	$t->sql('SELECT logsvc_internal.recover_export_runs(99)');
	is($t->sql("SELECT (next_attempt_at - now() BETWEEN 0.8 * '$wait->[0]'::interval - interval '3 s' AND '$wait->[0]') || ' ' "
		. "|| coalesce(error_code, 'none') $of_deadly"), "true $wait->[1]", "an exporter has died of it: put off by $wait->[0]");
}
$t->sql("UPDATE logsvc_internal.export_run SET next_attempt_at = now() WHERE id = logsvc_internal.parse_public_id('run_', '$deadly')");
$t->set('logsvc.exporters', 1);
ok(wait_until(sub { $t->sql("SELECT status || ' ' || error_code $of_deadly") eq 'failed INTERNAL_ERROR' }, 60),
	'the fifth time it has failed');

# ---- room ----

$t->set('logsvc.export_space', '2MB');
is(run($big, 'failed')->{error}{code}, 'EXPORT_TOO_LARGE', 'no room for a file of 4 MB');
my $small = run($id{csv}, 'succeeded');
is(ask(GET => "/api/v1/exports/$small->{id}/download", 200, 'a small one')->{content}, $file{csv}{content},
	'takes the place of the large ones');
$t->set('logsvc.export_space', '1GB');

# ---- the audit log ----

$t->sql("SELECT logsvc.create_user('ann\@acme.example'); SELECT logsvc.add_member('acme', 'ann\@acme.example', 'admin')");
my $ann = $t->sql_json("SELECT logsvc.create_token('acme', 'ann\@acme.example', 'a', '{logs:export,logs:read,audit:read}')")->{token};
my $audit = $t->http(POST => $path, token => $ann, json => { %whole, name => 'audit', q => 'index=_audit' })->{json}{data}{id};
my $entries = run($audit, 'succeeded');
cmp_ok($entries->{rows}, '>', 10, 'an export of the audit log');
my $key_sees = $t->http(GET => "$path/$audit/runs", token => $org->{full_key})->{json}{data}[0];
is_deeply([ $key_sees->{id}, $key_sees->{downloadUrl} ], [ $entries->{id}, undef ], 'an API key gets no link to it');
is($t->http(GET => "/api/v1/exports/$entries->{id}/download", token => $org->{full_key})->{status}, 403, 'nor the file');
is(follow($entries->{downloadUrl})->{status}, 200, 'who may read the audit log gets a link to it');
$t->sql("SELECT logsvc.set_member_role('acme', 'ann\@acme.example', 'member')");
is(follow($entries->{downloadUrl})->{json}{code}, 'LINK_EXPIRED', 'which dies with the right of the author');
is(run($audit, 'failed')->{error}{code}, 'FORBIDDEN', 'not any more when its author may not') foreach 1 .. 2;
is($t->sql("SELECT count(*) FROM logsvc_internal.outbox WHERE template = 'export_failed' AND subject LIKE '%acme%' "
	. "AND body_text LIKE '%audit%'"), 1, 'owners are told, once');
is(run(ask(POST => '', 201, 'a saved query', json => { %whole, name => 'sly', q => undef, savedQueryId =>
	$t->http(POST => '/api/v1/saved-queries', token => $org->{token}, json => { name => 'sly', q => '*' })->{json}{data}{id} })
	->{json}{data}{id}, 'succeeded')->{error}, undef, 'of events') ;
$t->sql("UPDATE logsvc_internal.resource SET content = content || '{\"q\": \"index=_audit\"}' WHERE name = 'sly' AND kind = 'saved_query'");
my ($sly) = grep { $_->{name} eq 'sly' } @{ $t->http(GET => "$path?limit=100", token => $org->{token})->{json}{data} };
like(run($sly->{id}, 'failed')->{error}{code}, qr/^(FORBIDDEN|INSUFFICIENT_SCOPE)$/,
	'a query that somebody changes later reads no audit log');

# ---- deliveries ----

$t->sql("UPDATE logsvc_internal.user_account SET verified_at = now() WHERE email = '$org->{email}'");
my $mailed = run(ask(PATCH => "/$sly->{id}", 200, 'by mail', json => { q => 'service=api', savedQueryId => undef,
	delivery => { kind => 'email', target => $org->{email} } })->{json}{data}{id}, 'succeeded');
my ($url) = $t->sql("SELECT link FROM logsvc_internal.outbox WHERE template = 'export'");
like($url, qr{/\Q$mailed->{id}\E/download\?expires=}, 'a mail has the link');
is(follow($url)->{status}, 200, 'which is good');

# ---- a range that leaves the calendar ----

$t->sql(q{UPDATE logsvc_internal.resource SET content = jsonb_set(content, '{range}',
	'{"earliest": "-1d", "latest": "+99999999999m"}') WHERE kind = 'scheduled_export' AND name = 'sly'});
$t->sql("UPDATE logsvc_internal.export_schedule SET next_tick = now() - interval '1 minute' "
	. 'WHERE next_tick IS NOT NULL');
ok(wait_until(sub { $t->sql('SELECT count(*) = 0 FROM logsvc_internal.export_schedule '
	. 'WHERE next_tick < now()') eq 't' }), 'no export holds up the others');

# ---- a link ends with who was given it ----

$t->sql("SELECT logsvc.create_user('bob\@acme.example'); SELECT logsvc.add_member('acme', 'bob\@acme.example', 'admin')");
my $bob_scopes = '{logs:export,logs:read,org:write}';
my $bob = $t->sql_json("SELECT logsvc.create_token('acme', 'bob\@acme.example', 'b', '$bob_scopes')");
my $given = run($id{csv}, 'succeeded')->{id};

# A link to that file as the credential is shown it.
sub given
{
	my ($token) = @_;
	my ($run) = grep { $_->{id} eq $given } @{ $t->http(GET => "$path/$id{csv}/runs?limit=100", token => $token)->{json}{data} };
	return $run->{downloadUrl};
}

sub link_is
{
	my ($expected, $url, $name) = @_;
	my $r = follow($url);
	is($r->{status} . ' ' . ($r->{json}{code} // ''), $expected, $name) or diag $r->{content};
	return;
}

my $of_owner = given($org->{token});
my $of_bob = given($bob->{token});
link_is('200 ', $of_bob, 'a link of an admin');
$t->sql("SELECT logsvc.set_member_role('acme', 'bob\@acme.example', 'member')");
link_is('410 LINK_EXPIRED', $of_bob, 'ends when the role may not export');
$t->sql("SELECT logsvc.set_member_role('acme', 'bob\@acme.example', 'admin')");
link_is('200 ', $of_bob, 'not longer than that');
my $token_2 = $t->sql_json("SELECT logsvc.create_token('acme', 'bob\@acme.example', 'c', '$bob_scopes')");
my $by_token_2 = given($token_2->{token});
$t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.revoke_token('$token_2->{id}') IS NULL");
link_is('410 LINK_EXPIRED', $by_token_2, 'one that a token was given, when it is revoked');
my $other_key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'links', 'full-access')");
my $by_key = given($other_key->{key});
link_is('200 ', $by_key, 'a link of a key');
$t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.revoke_api_key('$other_key->{id}') IS NULL");
link_is('410 LINK_EXPIRED', $by_key, 'ends with the key');
my $bobs = $t->http(POST => $path, token => $bob->{token}, json => { %whole, name => 'by mail',
	delivery => { kind => 'email', target => $org->{email} } })->{json}{data}{id};
run($bobs, 'succeeded');
my ($mailed_link) = $t->sql("SELECT link FROM logsvc_internal.outbox WHERE template = 'export' ORDER BY created_at DESC LIMIT 1");
link_is('200 ', $mailed_link, 'a link that was mailed');
$t->sql("SELECT logsvc.remove_member('acme', 'bob\@acme.example')");
link_is('410 LINK_EXPIRED', $_, 'both end when the member is removed') foreach $of_bob, $mailed_link;
link_is('200 ', $of_owner, 'and those of others do not');
run($bobs, 'succeeded');
($mailed_link) = $t->sql("SELECT link FROM logsvc_internal.outbox WHERE template = 'export' ORDER BY created_at DESC LIMIT 1");
link_is('200 ', $mailed_link, 'what is sent later is of the organization');

# ---- the organization is deleted ----

$link = run($id{csv}, 'succeeded')->{downloadUrl};
$t->sql("SELECT logsvc.act_as('acme', '$org->{email}') IS NULL; SELECT logsvc.delete_organization('acme', 'acme') IS NULL");
is(follow($link)->{json}{code}, 'LINK_EXPIRED', 'links to its files are over');

$t->stop;
done_testing();
