# rolling_upgrade.pl: a primary of the version before and its standby get the library of today one
# after the other, under load.  While library and extension differ, the gateway says so, and no SQL
# of the version before brings the server down; what was accepted is found, once, on both.
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $old = '0.1';
my $released = "build/released/$old";
my ($new) = slurp_file('logsvc.control') =~ /^default_version = '(.*)'/m;
plan skip_all => slurp_file("$released/missing") =~ s/\n//r if -f "$released/missing";

my $new_conf = $ENV{TEST_CONF};
my $first;
{
	# Not the cluster that the tests share: it has the extension of today.
	delete local $ENV{TEST_CLUSTER};
	local $ENV{TEST_CONF} = $new_conf =~ s{/build/tmp_install}{/$released/tmp_install}gr;
	$first = LogsvcTest->new(name => 'a', streaming => 1,
		conf => "logsvc.flush_interval = '50ms'\nlog_statement = none");
}
my $org = $first->organization('acme');
my @sent = map { { event => "before $_", level => 'info', attributes => { n => $_ } } } 1 .. 5000;
is($first->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => \@sent)->{status}, 202,
	"$old is the primary");
ok(wait_until(sub { $first->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }), 'events are stored');
$first->node->backup('copy');

my $second = bless { http_port => PostgreSQL::Test::Cluster::get_free_port(), database => 'postgres',
	clients => {}, node => PostgreSQL::Test::Cluster->new('b') }, 'LogsvcTest';
$second->node->init_from_backup($first->node, 'copy', has_streaming => 1);
$second->node->append_conf('postgresql.conf', "logsvc.port = $second->{http_port}");
$second->start;

# ---- a sender that tries both, and each event until it is accepted ----

my $file = $first->node->data_dir . '/../accepted';
append_to_file($file, '');
my $sender = fork;
if ($sender == 0)
{
	my @to = ($first, $second);
	open my $out, '>', $file or POSIX::_exit(1);
	$out->autoflush(1);
	for (my $n = 0; kill 0, getppid; $n++)
	{
		my $answer;
		until ($answer && $answer->{status} == 202 || !kill 0, getppid)
		{
			$answer = eval { $to[0]->http(POST => '/api/v1/logs', token => $org->{ingest_key}, client => 'sender',
				timeout => 5, json => { event => "load number$n", level => 'info' }) };
			next if $answer && $answer->{status} == 202;
			print $out "refused ", $answer ? "$answer->{status} " . ($answer->{headers}{'retry-after'} // '') : 'nothing',
				"\n";
			push @to, shift @to;
			sleep 0.05;
		}
		print $out "$n " . time . "\n";
	}
	POSIX::_exit(0);
}

# How many it has sent by now, and that it goes on.
sub accepted { return [ slurp_file($file) =~ /^(\d+) /mg ]; }
sub goes_on
{
	my ($name) = @_;
	my $n = @{ accepted() };
	ok(wait_until(sub { @{ accepted() } > $n + 5 }), $name);
	return;
}

goes_on('events are accepted');

# ---- the standby first: the library of today, the SQL of before ----

my $answer;

sub waits
{
	my ($server, $name, $role) = @_;
	ok(wait_until(sub { ($answer = $server->http(GET => '/readyz', timeout => 5))->{status} == 503 }), "$name: not ready")
	  or diag $answer->{content};
	like($answer->{content}, qr/not of version \Q$new\E.*ALTER EXTENSION logsvc UPDATE/, '... and says why');
	is($answer->{headers}{'x-logsvc-role'}, $role, '... in its role');
	is($server->http(GET => '/healthz')->{status}, 200, '... though the gateway runs');
	foreach ([ POST => '/api/v1/logs', json => { event => 'x' } ], [ GET => '/api/v1/search', query => { q => '*' } ],
		[ POST => '/v1/logs', json => { resourceLogs => [] } ], [ GET => '/api/v1/members' ])
	{
		my ($method, $path, %more) = @$_;
		$answer = $server->http($method => $path, token => $org->{$path =~ /logs$/ ? 'ingest_key' : 'token'}, %more);
		is("$answer->{status} $answer->{headers}{'retry-after'}", '503 1', "... $method $path is to come again");
		like($answer->{content}, qr/ALTER EXTENSION logsvc UPDATE/, '... for that reason');
	}
	is($server->sql("SELECT string_agg(DISTINCT backend_type, ', ') FROM pg_stat_activity WHERE backend_type LIKE "
		. "'logsvc %' AND backend_type <> 'logsvc probe'"), 'logsvc gateway, logsvc launcher', '... nothing else runs');
	return;
}

$second->stop;
$second->node->append_conf('postgresql.conf', "\n$new_conf");
my $log = $second->log_position;
$second->start;
waits($second, 'a standby with the library of today', 'standby');
goes_on('the primary goes on');

# The C functions of before, with a value of each type.  Those that take other types today refuse:
# what they would read was not passed.
my %value = (bigint => 1, integer => 1, smallint => 1, text => "'x'", bytea => "'\\x00'::bytea", boolean => 'true', jsonb => "'{}'",
	json => "'{}'", uuid => "'00000000-0000-0000-0000-000000000001'", 'timestamp with time zone' => 'now()',
	date => 'current_date', interval => "'1 s'", inet => "'127.0.0.1'", 'text[]' => "'{x}'", 'integer[]' => "'{1}'",
	'double precision' => 1, numeric => 1, 'bytea[]' => "ARRAY['\\x00'::bytea]", 'timestamp with time zone[]' => 'ARRAY[now()]',
	'boolean[]' => 'ARRAY[true]', 'bigint[]' => 'ARRAY[1]', cstring => "'x'", name => "'x'", 'real' => 1, '"char"' => "'x'");
my (@gone, $called);

sub call_functions
{
	my ($server) = @_;
	($called, @gone) = (0);
	foreach (split /\n/, $server->sql(q{SELECT p.oid::regproc || chr(9) || p.prokind::text || chr(9) || coalesce((SELECT
		string_agg(CASE WHEN i <= p.pronargs THEN format_type(t, NULL) END, ';' ORDER BY i)
		FROM unnest(p.proargtypes) WITH ORDINALITY u(t, i)), '') FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
		WHERE (l.lanname = 'c' AND p.probin LIKE '%logsvc%'
			OR p.prokind = 'a' AND p.pronamespace = 'logsvc_internal'::regnamespace)
		AND p.prorettype NOT IN ('internal'::regtype, 'trigger'::regtype, 'event_trigger'::regtype) ORDER BY 1}))
	{
		my ($name, $kind, $types) = split /\t/, $_, 3;
		next if grep { $_ eq 'internal' } split /;/, $types;
		my @values = map { ($value{$_} // 'NULL') . "::$_" } split /;/, $types;
		my $sql = "SELECT * FROM $name(" . join(', ', @values) . ')';
		$sql = "SELECT $name(" . join(', ', @values) . ')' if $kind eq 'a';
		my (undef, $state, $message) = $server->sql_error("SET statement_timeout = '5s'; $sql");
		$called++;
		push @gone, $name if $message =~ /of a former version/;
		fail("$name: $message") if $message =~ /terminated|closed the connection|lost/;
	}
	return;
}
call_functions($second);
cmp_ok($called, '>', 60, "$called functions of before are called");
cmp_ok(scalar @gone, '>', 2, 'those with other arguments say so: ' . join ' ', @gone);
like(($second->node->psql('postgres', "SELECT logsvc.act_as('acme') \\gset _\nSELECT logsvc.search('*')"))[2],
	qr/ALTER EXTENSION logsvc UPDATE|read-only/, 'a search in SQL says what to do');
unlike($second->log_text($log), qr/terminated by signal/, 'none brings the server down');

# ---- the two change places ----

$first->stop;
my $left = time;
$second->node->promote;
waits($second, 'the new primary', undef);
like($second->http(GET => '/readyz?role=standby')->{content}, qr/is the primary/, '... is one');
# Both with the library of today, and the extension of before.
$first->node->append_conf('postgresql.conf', "\n$new_conf");
$first->node->append_conf('postgresql.conf', "primary_conninfo = '" . $second->node->connstr . "'");
$first->node->set_standby_mode;
$first->start;
waits($first, 'the former primary as standby', 'standby');
is(() = $second->log_text($log) =~ /logsvc is waiting/g, 1, 'the log says once what is to be done');
my $gateway = $second->sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'logsvc gateway'");
call_functions($second);
unlike($second->log_text($log), qr/terminated by signal/, 'there too the SQL of before does not bring it down');
my $refused = () = slurp_file($file) =~ /^refused 503 1$/mg;
ok(wait_until(sub { (() = slurp_file($file) =~ /^refused 503 1$/mg) > $refused }), 'the sender is told to come again');
$second->sql('ALTER EXTENSION logsvc UPDATE');
$second->wait_ready;
note sprintf 'no events from the stop of the first primary until the upgrade of the extension: %.1f s', time - $left;
goes_on('the new primary takes events');
is($second->sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'logsvc gateway'"), $gateway,
	'its gateway is the same process: its port was never closed');
ok(wait_until(sub { $first->http(GET => '/readyz?role=standby')->{status} == 200 }), 'the standby follows by itself')
  or diag $first->http(GET => '/readyz')->{content};

# ---- a standby whose library is older than the extension ----

$second->sql("UPDATE pg_extension SET extversion = 'later' WHERE extname = 'logsvc'");
waits($first, 'a standby with an older library', 'standby');
goes_on('the primary does not care');
$second->sql("UPDATE pg_extension SET extversion = '$new' WHERE extname = 'logsvc'");
ok(wait_until(sub { $first->http(GET => '/readyz')->{status} == 200 }), 'it answers again when they are of one version');

# ---- nothing is lost ----

kill 'KILL', $sender;
waitpid $sender, 0;
my $accepted = accepted();
cmp_ok(scalar @$accepted, '>', 50, scalar(@$accepted) . ' events were accepted meanwhile');
$second->node->wait_for_catchup($first->node, 'replay', $second->node->lsn('insert'));
foreach ([ 'the primary', $second ], [ 'the standby', $first ])
{
	my ($name, $server) = @$_;
	my %found;
	$found{$_}++ foreach $server->sql("SELECT logsvc.act_as('acme') IS NULL AS nobody; SELECT string_agg(event, ' ') FROM "
		. "logsvc.events('\"load\" earliest=-1h')") =~ /number(\d+)/g;
	is_deeply([ grep { !$found{$_} } @$accepted ], [], "$name has all that was accepted");
	my $r = $server->http(GET => '/api/v1/search', token => $org->{token}, query => { q => 'before | stats count as n' });
	is($r->{json}{data}{rows}[0][0], 5000, '... and what was there before, once') or diag $r->{content};
}
is($second->sql('SELECT count(*) FROM logsvc.verify_parts() WHERE problem IS NOT NULL'), 0, 'no part has a problem');
$first->stop;
$second->stop;
done_testing;
