# move_interrupted.pl: an export or import whose session or client ends in the middle, two imports
# at once, a crash: nothing is kept of them; and a full queue while imported events return.
#
# Takes long.
use strict;
use warnings;

use IPC::Run ();
use LogsvcConnection;
use LogsvcTest;
use PostgreSQL::Test::Utils qw(append_to_file);
use Test::More;
use Time::HiRes qw(sleep);

my $conf = "shared_buffers = 16MB\nlogsvc.writers = 1\nlogsvc.alert_workers = 0\n";
my $s = LogsvcTest->new(name => 'source', conf => "$conf\nlogsvc.flush_interval = '20ms'");
my $t = LogsvcTest->new(name => 'target', conf => "$conf\nlogsvc.flush_interval = '50ms'\nlogsvc.queue_limit = 1000\nlogsvc.queue_wait = 0");
my $acme = $s->organization('acme');
my $there = $t->organization('there');
my $third = $t->organization('third');

# More than a socket holds: texts that do not compress.
foreach (1 .. 5)
{
	my $body = join "\n", map { json_encode({ event => "stored $_ " . join '', map { chr 33 + rand 90 } 1 .. 400 }) } 1 .. 4000;
	is($s->http(POST => '/api/v1/logs/batch', token => $acme->{ingest_key}, body => $body, headers => { 'Content-Type' => 'application/x-ndjson' })->{status},
		202, '4,000 events');
}
ok(wait_until(sub { $s->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }), 'they are stored');
# What waits, in two batches.
$s->stop_at('write_before_commit');
is($s->http(POST => '/api/v1/logs', token => $acme->{ingest_key}, json => { event => "waiting $_" })->{status}, 202, 'an event that waits') foreach 1 .. 3;
$s->wait_held('write_before_commit');

sub command { my ($server, @arguments) = @_; return ('psql', '-XqAt', '-d', $server->node->connstr('postgres'), @arguments); }
my @export = ('-c', "COPY (SELECT (row).* FROM (SELECT logsvc.export_organization('acme') AS row) AS stream) TO STDOUT (FORMAT binary)");
my @import = ('-1', '-v', 'ON_ERROR_STOP=1', '-c', 'COPY logsvc.organization_stream FROM STDIN (FORMAT binary)',
	'-c', 'SELECT kind, rows FROM logsvc.import_organization()');
# Sessions that run it.
sub pids { my ($server, $like) = @_; return split /\n/, $server->sql("SELECT pid FROM pg_stat_activity WHERE query LIKE '$like%' AND state <> 'idle' AND pid <> pg_backend_pid()"); }
sub exports { return $s->sql(q{SELECT count(*) FROM logsvc_internal.audit_entry WHERE action = 'organization.exported'}); }
sub changes { my ($name) = @_; return $s->http(POST => '/api/v1/saved-queries', token => $acme->{token}, json => { name => $name, q => '*' })->{status}; }

# ---- an export ----

my $session = LogsvcConnection->new(host => $s->node->host, port => $s->node->port, database => 'postgres', user => scalar getpwuid $>);
my ($pid) = $session->query('SELECT pg_backend_pid()')->{rows} =~ /(\d+)/;
$session->query($_) foreach 'BEGIN', "DECLARE c CURSOR FOR SELECT (row).kind FROM (SELECT logsvc.export_organization('acme') AS row) AS stream";
is($session->query('FETCH 3 FROM c')->{rows} =~ s/\n.*//sr, 'format', 'an export has begun');
is(changes('beside'), 201, 'changes do not wait for it');
$s->sql("SELECT pg_terminate_backend($pid)");
ok(wait_until(sub { $s->sql("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid") == 0 }), 'its session is terminated');
is(exports(), 0, '... and nothing says that it was exported');

$session = LogsvcConnection->new(host => $s->node->host, port => $s->node->port, database => 'postgres', user => scalar getpwuid $>);
$session->_send(pack('a N Z*', 'Q', 5 + length $export[1], $export[1]));
my $cut = '';
sysread($session->{socket}, $cut, 100000, length $cut) or die until length $cut > 200000;
ok(pids($s, 'COPY (SELECT (row)') == 1, 'a client reads a part of the stream');
close $session->{socket};
ok(wait_until(sub { !pids($s, 'COPY (SELECT (row)') }), '... and hangs up: its session ends');
is(exports(), 0, '... and nothing says that it was exported');
is(changes('after'), 201, '... all goes on');

my $stream = '';
ok(IPC::Run::run([ command($s, @export) ], '>', \$stream, '2>', '/dev/null'), 'the next export is whole');
is(exports(), 1, '... and in the audit log');
cmp_ok(length $stream, '>', 4_000_000, '... of some megabytes');
$s->let_go('write_before_commit');
my $file = $s->node->basedir . '/acme.stream';
append_to_file($file, $stream);

# ---- an import ----

sub everything
{
	return join ' ', (map { "$_ " . $t->sql("SELECT count(*) FROM logsvc_internal.$_") } qw(organization user_account member resource
		access_token api_key dead_letter import_row log_index pipeline_key)),
		map { "$_ " . $t->sql("SELECT coalesce(sum(rows), 0) FROM logsvc_internal.$_ x JOIN logsvc_internal.organization o ON o.id = x.organization_id WHERE slug = 'acme'") } qw(part queue);
}
my $before = everything();
sub refused_whole { my ($what) = @_; is(everything(), $before, "$what: nothing is kept"); return; }

{
	my $half = substr $stream, 0, length($stream) / 2;
	my $run = IPC::Run::start([ command($t, @import) ], '<', \$half, '>', '/dev/null', '2>', '/dev/null');
	$run->finish;
	refused_whole('half of the stream');
}
# It waits for a lock in the middle, where some tables are filled.
sub held_import
{
	my ($do) = @_;
	my $holder = LogsvcConnection->new(host => $t->node->host, port => $t->node->port, database => 'postgres', user => scalar getpwuid $>);
	$holder->query($_) foreach 'BEGIN', 'LOCK TABLE logsvc_internal.part_other IN SHARE MODE', 'LOCK TABLE logsvc_internal.dead_letter IN SHARE MODE';
	my $error = '';
	my $run = IPC::Run::start([ command($t, @import) ], '<', $file, '>', '/dev/null', '2>', \$error);
	my $import;
	wait_until(sub { ($import) = split /\n/, $t->sql("SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT kind, rows%' AND wait_event_type = 'Lock'");
		$import }) or die "the import does not wait: $error";
	is(everything(), $before, 'nobody sees what it has made so far');
	$do->($run, $import);
	$holder->query('COMMIT');
	eval { $run->finish };
	wait_until(sub { !pids($t, 'SELECT kind, rows') }) or die 'it does not end';
	return;
}
held_import(sub { $t->sql("SELECT pg_terminate_backend($_[1])") });
refused_whole('an import whose session is terminated');
held_import(sub { $_[0]->signal('KILL') });
refused_whole('an import whose client hangs up');
held_import(sub { $t->sql("SELECT pg_cancel_backend($_[1])") });
refused_whole('an import that is cancelled');
{
	my $run = IPC::Run::start([ command($t, '-c', 'BEGIN', @import[3 .. 4], '-c', 'SELECT pg_sleep(60)') ], '<', $file, '>', '/dev/null', '2>', '/dev/null');
	wait_until(sub { pids($t, 'SELECT pg_sleep(60)') }) or die 'the rows are not copied';
	$t->crash;
	$t->start;
	$t->wait_ready;
	eval { $run->finish };
	refused_whole('a crash of the server after the rows were copied');
}

# ---- two at once, into a full queue ----

sub count { my ($token, $q) = @_; return $t->http(GET => '/api/v1/search', token => $token, query => { q => "$q | stats count" })->{json}{data}{rows}[0][0]; }

$t->stop_at('write_before_commit');
my %sent;
# One organization may have three quarters of it, another the rest.
foreach my $of ([ theirs => $there ], [ others => $third ])
{
	my ($name, $org) = @$of;
	foreach my $n (50, 1)
	{
		my $r;
		do
		{
			$r = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => [ map { { event => "$name $_" } } 1 .. $n ]);
			$sent{$name} += $n if $r->{status} == 202;
		} while $r->{status} == 202;
		is($r->{status}, 429, "the queue takes no $n more of $name") or diag $r->{content};
	}
}
my @error = ('', '');
my @runs = map { IPC::Run::start([ command($t, @import) ], '<', $file, '>', '/dev/null', '2>', \$error[$_]) } 0, 1;
my $good = grep { $_->finish } @runs;
is($good, 1, 'of two imports at once one succeeds');
like("@error", qr/is here already|duplicate key/, '... the other is told');
ok(stays(sub { $t->sql(q{SELECT count(*) FROM logsvc_internal.dead_letter WHERE status NOT IN ('replaying', 'replayed')}) == 0 }, 3), 'what waited has its letters, none is dead');
is(count($acme->{token}, 'stored'), 20000, 'what was stored is found at once');
is(count($acme->{token}, 'waiting'), 0, '... what waited is not there yet');
is($t->sql(q{SELECT sum(rows) FROM logsvc_internal.dead_letter WHERE status = 'replaying' AND NOT audit}), 3, '... and waits for room');
is($t->http(POST => '/api/v1/logs', token => $_->{ingest_key}, json => { event => 'no room' })->{status}, 429, 'the queue is full still') foreach $there, $third, $acme;
$t->let_go('write_before_commit');
ok(wait_until(sub { count($acme->{token}, 'waiting') == 3 }), 'what waited returns when there is room');
ok(stays(sub { count($acme->{token}, 'waiting') == 3 }, 2), '... once');
is(count($there->{token}, 'theirs'), $sent{theirs}, '... and nothing of others is lost');
is(count($third->{token}, 'others'), $sent{others}, '... of none');
is($t->sql(q{SELECT count(*) FROM logsvc_internal.dead_letter WHERE status <> 'replayed'}), 0, '... and no letter is left');
is($t->sql("SELECT count(*) FROM logsvc.verify_parts('acme')"), 0, 'its parts are whole');
is($t->sql('SELECT count(*) FROM logsvc_internal.import_row'), 0, 'no rows of streams are left');
$_->stop foreach $s, $t;
done_testing;
