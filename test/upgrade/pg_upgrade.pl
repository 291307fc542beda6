# pg_upgrade.pl: a server with data in it becomes one of a later PostgreSQL by pg_upgrade, by the steps of
# docs/operations.md, once as a copy and once with links: everything that was stored is found as before, and
# the service goes on.
#
# logsvc must be installed in both servers.  FROM is the folder of the programs of the older one; PG_CONFIG is that
# of the later one.  test/servers pg-upgrade makes a folder that has both.
use strict;
use warnings;

use Cwd qw(getcwd);
use File::Basename qw(basename);
use File::Path qw(make_path);
use LogsvcStored;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $from = $ENV{FROM} or die "FROM is not set\n";
my $to = `$ENV{PG_CONFIG} --bindir` =~ s/\n//r;
my $events = $ENV{EVENTS} || 200_000;
my $fingerprint = slurp_file('test/upgrade/fingerprint.sql');
my %version = map { $_ => `$_/postgres --version` =~ /(\d[\d.]*)/ ? $1 : die "no server in $_\n" } $from, $to;

# logsvc is installed, and every server finds it there.
delete $ENV{TEST_CONF};

# Both have the same locale, encoding and checksums.
sub server
{
	my ($name, $programs, %opt) = @_;
	my ($major) = $version{$programs} =~ /^(\d+)/;
	return LogsvcTest->new(name => $name, install_path => $programs =~ s{/bin$}{}r,
		initdb => [ $major >= 18 ? '--no-data-checksums' : () ], %opt);
}

# What is in the tables, while nobody changes it: without the library nothing runs.
sub stored
{
	my ($t) = @_;
	my ($preloaded) = slurp_file($t->node->data_dir . '/postgresql.conf') =~ /^(shared_preload_libraries = 'logsvc')$/m;
	$t->node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
	$t->start;
	my %stored = (
		parts => $t->sql('SELECT count(*) || chr(32) || coalesce(sum(rows), 0) || chr(32) || coalesce(md5(string_agg('
			. 'md5(header || body), chr(32) ORDER BY organization_id, id)), chr(45)) FROM logsvc_internal.part'),
		tables => $t->sql(LogsvcStored->tables_sql),
		queue => $t->sql('SELECT count(*) || chr(32) || sum(rows) FROM logsvc_internal.queue'),
		settings => $t->sql('SELECT string_agg(t::text, chr(32) ORDER BY t::text) FROM logsvc_internal.plan_limit t'),
		roles => $t->sql(q{SELECT string_agg(rolname || ' ' || rolsuper || ' ' || rolcanlogin || ' ' || coalesce(shobj_description(oid,
			'pg_authid'), ''), ' ' ORDER BY rolname) FROM pg_roles WHERE rolname LIKE 'logsvc%'}));
	$t->stop;
	$t->node->append_conf('postgresql.conf', $preloaded);
	return \%stored;
}

# What HTTP shows, without when a credential was last used.
sub shown
{
	my ($t, $stored) = @_;
	my %shown;
	foreach my $name (qw(acme globex))
	{
		foreach my $path (qw(dashboards saved-queries alert-rules api-keys members dead-letters))
		{
			my $r = $t->http(GET => "/api/v1/$path", token => $stored->org($name)->{token});
			$shown{"$name $path"} = "$r->{status} $r->{content}" =~ s/"last\w+": ?"[^"]*"//gr;
			like($shown{"$name $path"}, qr/^200 /, "$name has $path") if $path ne 'dead-letters';
		}
	}
	return \%shown;
}

sub ids
{
	my ($t) = @_;
	return split / /, $t->sql(q{SELECT logsvc.act_as('acme') IS NULL AS nobody; SELECT count(*) || ' ' || count(DISTINCT id) || ' '
		|| max(id) FROM logsvc.logs WHERE "timestamp" > now() - interval '1 day'}) =~ s/.*\n//sr;
}

# Whether it went well, and the names of its logs.
sub run_pg_upgrade
{
	my ($old, $new, @more) = @_;
	my $place = $old->node->basedir . '/' . $new->node->name;
	make_path($place);
	my $here = getcwd;
	chdir $place or die;
	my $done = run_log([ "$to/pg_upgrade", '--old-bindir', $from, '--new-bindir', $to, '--old-datadir', $old->node->data_dir,
		'--new-datadir', $new->node->data_dir, '--old-port', $old->node->port, '--new-port', $new->node->port,
		'--socketdir', $new->node->host, '--jobs', 2, @more ]);
	chdir $here or die;
	my $output = $new->node->data_dir . '/pg_upgrade_output.d/*';
	return ($done, glob("$place/*.log $output/*.txt $output/log/*"));
}

# Of each log the errors and the last lines: the statement that failed may be longer than these.
sub why
{
	my @why;
	foreach my $log (@_)
	{
		my @lines = split /\n/, slurp_file($log);
		push @why, map { basename($log) . ": $lines[$_]\n" } grep { $_ >= @lines - 10 || $lines[$_] =~ /\b(?:error|ERROR|FATAL):/ } 0 .. $#lines;
	}
	return @why;
}

sub pg_upgrade
{
	my ($old, $new, @more) = @_;
	my ($done, @logs) = run_pg_upgrade($old, $new, @more);
	# Without this the next one cannot run either.
	if (!ok($done, join ' ', 'pg_upgrade', @more))
	{
		diag(why(@logs));
		BAIL_OUT('pg_upgrade failed');
	}
	return join '', map { slurp_file($_) } @logs;
}

# The settings of the older one: pg_upgrade leaves postgresql.conf, postgresql.auto.conf and pg_hba.conf alone.
sub later
{
	my ($name) = @_;
	return server($name, $to, start => 0, conf => "logsvc.flush_interval = '50ms'\nlog_statement = none");
}

# ---- two servers without logsvc ----

# A minor release may write into its catalogs what a later major version that was released before it does not
# know.  Then no cluster with a table becomes one of that version: this says nothing about logsvc.
{
	my %plain = map { $_ => server("plain_$version{$_}" =~ s/\./_/gr, $_, start => 0) } $from, $to;
	$_->node->append_conf('postgresql.conf', "shared_preload_libraries = ''") foreach values %plain;
	$plain{$from}->start;
	$plain{$from}->sql('CREATE TABLE plain (a int)');
	$plain{$from}->stop;
	my ($done, @logs) = run_pg_upgrade(@plain{$from, $to});
	if (!$done)
	{
		my @why = why(@logs);
		my ($error) = map { /^pg_upgrade_dump_\d+\.log: .*\bERROR: +(.*)/ ? $1 : () } @why;
		die 'pg_upgrade fails without logsvc: ', @why unless defined $error;
		plan skip_all => "$version{$to} takes over no table of $version{$from}, without logsvc either: $error";
	}
}

# ---- the older server, with data ----

my $old = server('old', $from, conf => "logsvc.flush_interval = '50ms'\nlog_statement = none");
my $stored = LogsvcStored->fill($old, $events);
my %token = (token => $stored->org('acme')->{token});
foreach ([ dashboards => { name => 'shop', panels => [ { title => 'errors', kind => 'stat', query => 'level=error | stats count' } ] } ],
	[ 'saved-queries' => { name => 'errors', q => 'level=error' } ],
	[ 'alert-rules' => { name => 'many', query => 'level=error', schedule => { everySeconds => 3600, lookback => '5m' },
		enabled => JSON::PP::false, condition => { kind => 'count', op => '>', threshold => 1000000 } } ])
{
	my $r = $old->http(POST => "/api/v1/$_->[0]", %token, json => $_->[1]);
	is($r->{status}, 201, "one of $_->[0]") or diag $r->{content};
}
# A queue that is not empty: the writer waits.
my $lock;
wait_until(sub {
	$lock = $old->node->background_psql('postgres');
	eval { $lock->query_safe('BEGIN; LOCK TABLE logsvc_internal.part IN SHARE ROW EXCLUSIVE MODE'); 1 };
}) or die 'the table of parts cannot be locked';
$stored->send($old, 'acme', 3000);
my $queued = 'SELECT coalesce(sum(rows), 0) FROM logsvc_internal.queue WHERE NOT audit';
cmp_ok($old->sql($queued), '>=', 3000, 'events in the queue');
$old->sql('SELECT logsvc_internal.note_origin(now())');
my $found = $stored->found($old);
my ($n, $distinct, $last) = ids($old);
is($n, $distinct, "$n events of one organization, each with an id of its own");
is($old->sql("SELECT count(*) FROM logsvc.verify_parts() WHERE problem IS NOT NULL"), 0, 'all parts are good');
my $shown = shown($old, $stored);
# The check does not need the older server to stop.
my $copied = later('copied');
my $log = pg_upgrade($old, $copied, '--check');
$old->stop('immediate');
eval { $lock->quit };
my $bytes = stored($old);

sub compare
{
	my ($new, $what) = @_;
	is_deeply(stored($new), $bytes, "$what: tables and roles are the same, and the bytes of all parts");
	$new->start;
	$new->wait_ready;
	like($new->sql('SHOW server_version'), qr/^\Q$version{$to}\E/, "$what: the service runs on $version{$to}");
	is_deeply($stored->found($new), $found, scalar(keys %$found) . ' searches find the same');
	ok(wait_until(sub { $new->sql($queued) == 0 }), 'what was in the queue is stored');
	is_deeply($stored->found($new), $found, '... and they find the same after that');
	is_deeply(shown($new, $stored), $shown, 'keys, members, dashboards, alert rules, dead letters are the same');
	is($new->sql("SELECT count(*) FROM logsvc.verify_parts() WHERE problem IS NOT NULL"), 0, 'all parts are good');
	is($new->sql_json("SELECT logsvc.act_as('acme') \\gset _\nSELECT logsvc.verify_audit()")->{valid}, JSON::PP::true(),
		'the audit chain is whole');
	my $r = $new->http(GET => '/api/v1/auth/session', session => $stored->session);
	is($r->{status}, 200, 'a session goes on');
	# More than a block of ids.
	$stored->send($new, 'acme', 20_000);
	ok(wait_until(sub { $new->sql($queued) == 0 }), 'events are accepted and stored');
	my ($n_now, $distinct_now) = ids($new);
	is("$n_now $distinct_now", ($n + 20_000) . ' ' . ($n + 20_000), 'no id repeats');
	is($new->sql("SELECT logsvc.act_as('acme') IS NULL AS nobody; SELECT count(*) FROM logsvc.logs WHERE id > '$last' AND "
		. "\"timestamp\" > now() - interval '1 day'") =~ s/.*\n//sr, 20_000, '... and those of later are greater');
	$new->sql('CREATE DATABASE fresh');
	$new->sql('CREATE EXTENSION logsvc', database => 'fresh');
	# Of constants in a query one server prints the names of their columns, the other does not.
	my @lines = map { [ map { s/ AS text\b//gr } grep { !/^(?:plan|rate) limit / } split /\n/, $new->sql("SET search_path = pg_catalog;\n$fingerprint",
		database => $_) ] } qw(postgres fresh);
	my %fresh = map { $_ => 1 } @{ $lines[1] };
	my %here = map { $_ => 1 } @{ $lines[0] };
	cmp_ok(scalar @{ $lines[1] }, '>', 1000, 'a fingerprint');
	is(join("\n", (map { "only here: $_" } grep { !$fresh{$_} } @{ $lines[0] }), map { "missing: $_" } grep { !$here{$_} }
		@{ $lines[1] }), '', 'the extension is what CREATE EXTENSION makes on this server');
	command_ok([ "$to/vacuumdb", '--analyze-only', '-q', '-h', $new->node->host, '-p', $new->node->port, 'postgres' ],
		'statistics are made again');
	# The servers of tests have fsync = off.
	is($new->sql("SELECT * FROM logsvc.doctor() WHERE state = 'error' AND \"check\" <> 'durability'"), '',
		'logsvc.doctor() sees no error');
	is($new->sql("SELECT state || ' ' || found FROM logsvc.doctor() WHERE \"check\" = 'mode'"), 'ok logsvc.mode = normal', '... and no copy');
	is($new->sql('SELECT o.cluster = h.cluster FROM logsvc_internal.origin o, logsvc_internal.here() h'), 'f',
		'... although the system identifier is another');
	$new->stop;
	return;
}

# ---- pg_upgrade ----

$log .= pg_upgrade($old, $copied, '--retain');
like($log, qr/database system is ready to accept connections/, 'the logs of both servers are there');
unlike($log, qr/logsvc \S+ is starting|logsvc is listening|logsvc is waiting/, 'no worker runs during pg_upgrade');
compare($copied, 'a copy');

# The older one as it was: a copy has not touched it.
is_deeply(stored($old), $bytes, 'the older server is as it was');

my $linked = later('linked');
pg_upgrade($old, $linked, '--link', '--retain');
compare($linked, 'links');

done_testing;
