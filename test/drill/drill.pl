# drill.pl: backup and restore with pgBackRest, under load: what is lost, and how long does it take?
#
#	make drill                  needs Debian's package pgbackrest
#	make drill EVENTS=200000    more rows before the backups
#
# A full backup, an incremental one, a restore to a point in time beside the running server, then
# the loss of the server with its disk and a restore of all that is in the repository.  A client
# sends events all the time and writes down each one that was accepted.  Each copy is checked: every
# accepted event is there exactly once, parts and audit log are whole, and no mail leaves it before
# the operator says so.
#
# Rows "metric value unit".  Environment: EVENTS (20000), ARCHIVE_TIMEOUT (5), in seconds.
use strict;
use warnings;

use IO::Socket::INET;
use LogsvcTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $events = $ENV{EVENTS} || 20_000;
my $archive_timeout = $ENV{ARCHIVE_TIMEOUT} || 5;
my $dir = PostgreSQL::Test::Utils::tempdir();
my $config = "$dir/pgbackrest.conf";

sub row { my $out = Test::More->builder->output; print $out "# @_\n"; return; }

sub backrest
{
	my (@arguments) = @_;
	my $begin = time;
	my ($out, $err);
	IPC::Run::run([ 'pgbackrest', "--config=$config", '--stanza=logsvc', @arguments ], '>', \$out, '2>', \$err)
	  or die "pgbackrest @arguments: $out$err";
	return ($out, time - $begin);
}

# ---- the server, and a place for mails ----

my $mail = IO::Socket::INET->new(Listen => 20, LocalAddr => '127.0.0.1', Blocking => 0) or die $!;
my $mail_port = $mail->sockport;
my $push = "pgbackrest --config=$config --stanza=logsvc archive-push %p";
my $t = LogsvcTest->new(streaming => 1, conf => join "\n", 'archive_mode = on', "archive_command = '$push'",
	"archive_timeout = $archive_timeout", 'log_statement = none', "logsvc.model_region = 'eu-central-1'",
	"logsvc.smtp_url = 'smtp://127.0.0.1:$mail_port'", "logsvc.smtp_from = 'logs\@example.org'", 'logsvc.mode = restored');
my $node = $t->node;

sub configure
{
	my ($data, $port) = @_;
	open my $out, '>', $config or die "$config: $!";
	print $out <<"CONF";
[global]
repo1-path=$dir/repository
repo1-retention-full=2
repo1-bundle=y
compress-type=lz4
start-fast=y
log-level-file=off
log-level-console=warn
lock-path=$dir/lock
spool-path=$dir/spool
[logsvc]
pg1-path=$data
pg1-port=$port
pg1-socket-path=@{[ $node->host ]}
pg1-user=@{[ scalar getpwuid $< ]}
CONF
	close $out or die "$config: $!";
	return;
}
configure($node->data_dir, $node->port);
backrest('stanza-create');
my $org = $t->organization('acme');
foreach my $batch (0 .. $events / 500 - 1)
{
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
		json => { events => [ map { { event => 'old event ' . ($batch * 500 + $_), level => 'info' } } 1 .. 500 ] });
	die "$r->{status} $r->{content}" if $r->{status} != 202;
}

# ---- the load: "number time" of each event that was accepted ----

my $accepted = "$dir/accepted";
my $client = fork // die $!;
if (!$client)
{
	my $number = 0;
	open my $out, '>', $accepted or die $!;
	$out->autoflush(1);
	while (1)
	{
		$number++;
		my $r = eval { $t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, timeout => 5,
				json => { event => "load $number", level => 'error' }) };
		print $out "$number " . time . "\n" if $r && $r->{status} == 202;
		sleep 0.02;
	}
}
END { kill KILL => $client if $client; }

sub accepted_events { return map { [ split ' ' ] } grep { /\n/ } split /(?<=\n)/, slurp_file($accepted); }

# ---- backups ----

row('full_backup', sprintf('%.1f', (backrest('backup', '--type=full'))[1]), 's');
ok(wait_until(sub { accepted_events() > 100 }), 'events are accepted');
row('incremental_backup', sprintf('%.1f', (backrest('backup', '--type=incr'))[1]), 's');

# All that was accepted before the mark must be in any copy that reaches it.
my $before = (accepted_events())[-1][0];
my $target = $t->sql("SELECT clock_timestamp()");
ok(wait_until(sub { (accepted_events())[-1][0] > $before + 50 }), 'more events are accepted');
$t->sql("SELECT logsvc.revoke_token('$org->{token_id}')");
my $segment = $t->sql('SELECT pg_walfile_name(pg_switch_wal())');
ok(wait_until(sub { $t->sql("SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver") eq 't' }), 'WAL is archived');

# ---- copies ----

my $http_port;

# An empty place for a copy: restore_command names it.
sub place
{
	my $copy = PostgreSQL::Test::Cluster->new($_[0]);
	mkdir $_ foreach $copy->basedir, $copy->data_dir;
	chmod 0700, $copy->data_dir or die $!;
	return $copy;
}

# Starts a copy, waits until it answers searches, and checks it: (copy, time, numbers of events).
sub check
{
	my ($copy, $must) = @_;
	my $name = $copy->name;
	$http_port = PostgreSQL::Test::Cluster::get_free_port();
	open my $out, '>>', $copy->data_dir . '/postgresql.conf' or die $!;
	print $out "\nport = @{[ $copy->port ]}\nlogsvc.port = $http_port\narchive_mode = off\n"
	  . "unix_socket_directories = '@{[ $copy->host ]}'\nlogsvc.mode = restored\n";
	close $out or die $!;
	$copy->start;
	$copy->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die "$name has not recovered";
	my $c = bless { node => $copy, http_port => $http_port, database => 'postgres', clients => {}, running => 1 }, 'LogsvcTest';
	$c->wait_ready;
	my $r = $c->http(GET => '/api/v1/search', token => $org->{read_key}, query => { q => 'load | stats count' });
	is($r->{status}, 200, "$name: it answers searches") or diag $r->{content};
	my $ready = time;

	ok(wait_until(sub { !$c->sql('SELECT count(*) FROM logsvc_internal.queue') }), 'the queue is written');
	my %times;
	foreach (split /\n/, $c->sql("SELECT logsvc.use_token('$org->{read_key}'); SELECT event FROM logsvc.logs WHERE level = 'error'"))
	{
		$times{$1}++ if /^load (\d+)$/;
	}
	is(join(' ', grep { $_ <= $must && !$times{$_} } map { $_->[0] } accepted_events()), '',
		'every event that was accepted before the mark is there');
	is(join(' ', grep { $times{$_} > 1 } keys %times), '', 'none is there twice');
	$c->wait_ready;
	is($c->sql("SELECT count(*) FROM logsvc.verify_parts() WHERE problem IS NOT NULL"), 0, 'parts are whole');
	is($c->sql("SELECT logsvc.verify_audit('acme')->>'valid'"), 'true', 'the audit log is whole');
	is($c->sql("SELECT sum(rows) FROM logsvc_internal.part WHERE index_name = 'main'"), $events + keys %times, 'the old events too');
	like($c->sql("SELECT found FROM logsvc.doctor() WHERE \"check\" = 'mode'"), qr/looks like a restored copy/, 'it says that it is a copy');
	# Mails of the copy wait.
	$c->sql("SELECT logsvc.invite('acme', '$name\@acme.example', 'viewer')");
	ok(stays(sub { !$mail->accept }, 2), 'no mail leaves');
	return ($c, $ready, sort { $a <=> $b } keys %times);
}

my $copy = place('point');
my $begin = time;
my $took = (backrest('restore', '--pg1-path=' . $copy->data_dir, '--type=time', "--target=$target", '--target-action=promote'))[1];
my ($c, $ready, @found) = check($copy, $before);
row('point_in_time_copying', sprintf('%.1f', $took), 's');
row('point_in_time_rto', sprintf('%.1f', $ready - $begin), 's');
is($c->sql("SELECT revoked_at IS NULL FROM logsvc_internal.access_token t WHERE name = 'test'"), 't', 'the revoked token is good again');
$c->sql('SELECT * FROM logsvc.after_restore(kinds => \'{token}\')');
is($c->sql("SELECT count(*) FROM logsvc_internal.access_token t WHERE revoked_at IS NULL"), 0, '... until after_restore()');
$c->set('logsvc.mode', 'normal');
ok(wait_until(sub { $mail->accept }), 'the mail leaves when the operator says so');
$c->stop;
1 while $mail->accept;

# ---- the server and its disk are lost ----

my $last = (accepted_events())[-1][0];
ok(wait_until(sub { (accepted_events())[-1][0] > $last + 50 }), 'the load goes on');
my $mark = (accepted_events())[-1][0];
$segment = $t->sql('SELECT pg_walfile_name(pg_switch_wal())');
ok(wait_until(sub { $t->sql("SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver") eq 't' }), 'WAL is archived');
sleep 0.8 * $archive_timeout;   # what is written now is in no archive, or in its last file
$t->crash;
kill KILL => $client;
waitpid $client, 0;
$client = undef;
my @all = accepted_events();
my $lost_at = $all[-1][1];
PostgreSQL::Test::Utils::system_or_bail('rm', '-rf', $node->data_dir);
$begin = time;
$copy = place('all');
$took = (backrest('restore', '--pg1-path=' . $copy->data_dir))[1];
($c, $ready, @found) = check($copy, $mark);
row('total_loss_copying', sprintf('%.1f', $took), 's');
row('total_loss_rto', sprintf('%.1f', $ready - $begin), 's');
my ($kept) = grep { $_->[0] == $found[-1] } @all;
row('total_loss_rpo', sprintf('%.2f', $kept ? $lost_at - $kept->[1] : 0), "s; archive_timeout is $archive_timeout s");
row('total_loss_events', scalar(@all) - @found, 'of ' . @all . ' accepted ones lost, all of the last seconds');
ok(!$kept || $lost_at - $kept->[1] < 2 * $archive_timeout + 60, 'what is lost is of the time since the last WAL file');
is($c->sql('SELECT * FROM logsvc.after_restore()') =~ /^acme\|api_key\|3$/m, 1, 'all keys end');
$c->stop;
my $verified = (backrest('verify', '--output=text'))[0];
unlike($verified, qr/status: error/, 'the repository is whole');
done_testing;
