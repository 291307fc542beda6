# year.pl: a year of a service within the hour: what grows without end, what gets slower?
#
#	make year                   365 days, 50 organizations
#	make year DAYS=40 TENANTS=5
#
# The server runs with a clock that the test moves on (clock.c): three steps a day.  In each,
# organizations send events and search.  Each day some of them add and drop indexes, make and revoke
# keys, invite and remove people, write alert rules and exports.  Retention is RETENTION (90) days.
# All that the service does by the clock (partitions, merges, retention, erasure, vacuum)
# happens when it is due.
#
# Rows "metric value unit", twelve times a year; then, for each table, its size at half of the year and at its end.
#
# Environment: DAYS (365), TENANTS (50), EVENTS a day of all (20000), RETENTION (90).
use strict;
use warnings;

use lib 'test/bench';
use LogsvcBench;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $days = $ENV{DAYS} || 365;
my $tenants = $ENV{TENANTS} || 50;
my $daily = $ENV{EVENTS} || 20_000;
my $retention = $ENV{RETENTION} || 90;
my $steps = 3;

sub row { my $out = Test::More->builder->output; print $out "# @_\n"; return; }

# ---- the clock ----

my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
my $offset = 0;

# Written in place: the server has mapped the file.
sub set_clock
{
	open my $out, -e $clock ? '+<' : '>', $clock or die "$clock: $!";
	syswrite $out, pack 'q', $offset or die "$clock: $!";
	close $out or die "$clock: $!";
	return;
}

sub now { return time + $offset; }

set_clock();
my $t;
{
	# Of the server only: this program's own clock runs on.
	local $ENV{LD_PRELOAD} = "$ENV{PWD}/build/unit/clock.so";
	local $ENV{CLOCK_FILE} = $clock;
	$t = LogsvcTest->new(conf => join "\n", 'autovacuum_naptime = 1s', 'shared_buffers = 256MB',
		'log_statement = none', 'log_min_messages = warning', 'log_checkpoints = off', 'max_wal_size = 2GB',
		"logsvc.flush_interval = '200ms'", 'logsvc.alert_workers = 1', "logsvc.model_region = 'eu-central-1'");
}

# Moves the clock to the next of the day's steps, and lets everybody see it.
my $begin = (int(time / 86_400) + 1) * 86_400;

sub step_to
{
	my ($at) = @_;
	$offset = int($at - time);
	set_clock();
	$t->reload;   # wakes workers that wait for a time of the clock
	sleep 0.5;
	wait_until(sub { abs($t->sql('SELECT extract(epoch FROM now())') - now()) < 60 }, 60)
		or die "the server's clock does not follow\n";
	return;
}

# ---- organizations, with shares of a long tail ----

my @orgs = map { $t->organization("org$_") } 1 .. $tenants;
my $whole = 0;
$whole += 1 / $_ foreach 1 .. $tenants;
foreach my $i (0 .. $#orgs)
{
	$orgs[$i]{share} = 1 / ($i + 1) / $whole;
	$orgs[$i]{sent} = 0;
	my $r = $t->http(PATCH => '/api/v1/indexes/main', token => $orgs[$i]{token},
		json => { retentionDays => int $retention });
	die "retention: $r->{status} $r->{content}" if $r->{status} != 200;
}
my %did;
my $socket = connect_http($t);

# A request of the load.  What is refused is counted, and does not end the year.
sub ask
{
	my ($what, $method, $path, $org, %opt) = @_;
	my $r = $t->http($method => $path, token => $org->{token}, timeout => 120, %opt);
	$did{$what}++;
	if ($r->{status} >= 400)
	{
		$did{"$what refused"}++;
		diag("$what: $r->{status} " . substr($r->{content}, 0, 300))
			if $did{"$what refused"} < 3;
	}
	return $r->{json} // {};
}

sub send_events
{
	my ($org, $from, $to) = @_;
	my $n = $org->{share} * $daily / $steps;
	$n = int $n + (rand() < $n - int $n);
	return unless $n;
	my $total = int($org->{share} * $daily * $days) + 10;
	my $first = $org->{sent};
	$org->{sent} += $n;
	# Events are spread over the step; their texts go on where the last step ended.
	my $span = ($to - $from) * 1e6 / $n * $total;
	open(my $in, '-|', 'build/unit/event_source', 'batches', $total,
		sprintf('%.0f', $from * 1e6 - $span * $first / $total), sprintf('%.0f', $span), 0, 1, $first, $first + $n)
		or die $!;
	while (my $length = <$in>)
	{
		read $in, my $body, $length;
		my ($ms, $status) = send_request($socket, 'POST', '/api/v1/logs/batch', $org->{ingest_key}, $body);
		$did{ $status == 202 ? 'ingest' : 'ingest refused' }++;
	}
	close $in or die "event_source failed\n";
	return;
}

# ---- what people do in a day ----

my @people;    # [day of removal, organization, id]
my @keys;      # [day of revocation, organization, id]
my @indexes;   # [day of removal, organization, name]
my @rules;     # [day of removal, organization, id]

sub a_day
{
	my ($day) = @_;
	my $org = $orgs[$day % @orgs];

	my $key = ask('key', POST => '/api/v1/api-keys', $org,
		json => { name => "key of day $day", scope => 'ingest-only' });
	push @keys, [ $day + 30, $org, $key->{data}{id} // $key->{id} ];
	my $rule = ask('rule', POST => '/api/v1/alert-rules', $org, json => { name => "rule of day $day",
		query => 'level=error', condition => { kind => 'count', op => '>', threshold => 100_000 },
		schedule => { everySeconds => 3600, lookback => '1h' } });
	push @rules, [ $day + 60, $org, $rule->{data}{id} // $rule->{id} ];
	if ($day % 3 == 0)
	{
		ask('index', POST => '/api/v1/indexes', $org, json => { name => "day$day",
			retentionDays => 30 });
		push @indexes, [ $day + 21, $org, "day$day" ];
		ask('ingest', POST => '/api/v1/logs', $org, query => { index => "day$day" }, token => $org->{full_key},
			json => { event => "first event of index day$day" });
	}
	if ($day % 2 == 0)
	{
		my $email = "person$day\@example.org";
		$t->sql("SELECT logsvc.create_user('$email', 'Person $day');"
			. "SELECT logsvc.add_member('$org->{slug}', '$email', 'member')");
		$did{person}++;
		push @people, [ $day + 45, $org, $email ];
		ask('invitation', POST => '/api/v1/invitations', $org,
			json => { email => "guest$day\@example.org", role => 'member' });
	}
	ask('evaluation', POST => '/api/v1/evaluations/run-adhoc', $org, json => {
		rows => [ map { { event => "GET /health 200 $_" } } 1 .. 5 ], criteria => 'Are there no errors?' });

	foreach (grep { $_->[0] == $day } @keys)
	{
		ask('key revoked', DELETE => "/api/v1/api-keys/$_->[2]", $_->[1]);
	}
	foreach (grep { $_->[0] == $day } @rules)
	{
		ask('rule deleted', DELETE => "/api/v1/alert-rules/$_->[2]", $_->[1]);
	}
	foreach (grep { $_->[0] == $day } @indexes)
	{
		ask('index deleted', DELETE => "/api/v1/indexes/$_->[2]", $_->[1]);
	}
	foreach (grep { $_->[0] == $day } @people)
	{
		$t->sql("SELECT logsvc.remove_member('$_->[1]{slug}', '$_->[2]')");
		$did{'person removed'}++;
	}
	@$_ = grep { $_->[0] > $day } @$_ foreach \@keys, \@rules, \@indexes, \@people;
	return;
}

my @searches = (
	[ 'count an hour', 'level=error | stats count', '-1h' ],
	[ 'count a day', '* | stats count by level', '-24h' ],
	[ 'word of 7 days', 'failed | stats count by source', '-7d' ],
	[ 'count of all', '* | stats count by level', '-90d' ],
	[ 'needle of all', 'request_id=nothing-has-this', '-90d' ]);

sub search
{
	my ($org, $q, $from) = @_;
	my ($ms, $status) = send_request($socket, 'POST', '/api/v1/search', $org->{token},
		json_encode({ q => $q, earliest => $from }));
	$did{ $status == 200 ? 'search' : 'search refused' }++;
	return $ms;
}

# ---- what is measured ----

my @seen;

# Rows "name bytes rows" of all tables, partitions together; catalogs too.
sub tables
{
	return map { [ split /\|/ ] } split /\n/, $t->sql(q{
		SELECT CASE WHEN n.nspname = 'pg_catalog' THEN 'pg_catalog.' ELSE '' END
			|| regexp_replace(c.relname, '_(\d{8}|other)$', '_*'),
			sum(pg_total_relation_size(c.oid)), sum(greatest(c.reltuples, 0))::bigint, count(*)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind = 'r' AND (n.nspname IN ('logsvc_internal', 'logsvc') OR n.nspname = 'pg_catalog')
		GROUP BY 1 ORDER BY 1});
}

sub anonymous_memory
{
	my $sum = 0;
	foreach my $pid ($t->workers)
	{
		my $status = eval { slurp_file("/proc/$pid/status") } // '';
		$sum += $1 if $status =~ /^RssAnon:\s+(\d+)/m;
	}
	return $sum / 1024;
}

my $xid_before;

sub measure
{
	my ($day) = @_;
	my %s = (day => $day);

	$s{table}{ $_->[0] } = $_ foreach tables();
	$socket = connect_http($t);
	foreach my $search (@searches)
	{
		my @ms;
		foreach (1 .. 7)
		{
			push @ms, search($orgs[0], @$search[1, 2]);
		}
		@ms = sort { $a <=> $b } @ms;
		$s{ms}{ $search->[0] } = $ms[3];
	}
	my ($xid, $age, $oldest, $partitions, $cold, $frozen) = split /\|/, $t->sql(q{
		SELECT (SELECT next_xid::text::bigint FROM (SELECT pg_snapshot_xmax(pg_current_snapshot()) AS next_xid) x),
			(SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()),
			max(age(c.relfrozenxid)), count(*) FILTER (WHERE c.relname ~ '^part_\d'),
			coalesce(sum(v.pages) FILTER (WHERE c.old), 0), coalesce(sum(v.frozen) FILTER (WHERE c.old), 0)
		FROM (SELECT c.oid, c.relname, c.relfrozenxid, c.relname ~ '^part_\d{8}$'
				AND to_date(right(c.relname, 8), 'YYYYMMDD') < now() - interval '7 days' AS old, c.reltoastrelid
			FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relkind = 'r' AND n.nspname = 'logsvc_internal') c
		LEFT JOIN LATERAL (SELECT sum(pg_relation_size(r) / 8192) AS pages,
				sum((pg_visibility_map_summary(r)).all_frozen) AS frozen
			FROM unnest(ARRAY[c.oid, c.reltoastrelid]::regclass[]) r WHERE c.old) v ON c.old});
	@s{qw(xid age oldest partitions cold frozen)} = ($xid, $age, $oldest, $partitions, $cold, $frozen);
	$s{memory} = anonymous_memory();
	$s{database} = $t->sql('SELECT pg_database_size(current_database())') / 1048576;
	$s{events} = $t->sql('SELECT sum(rows) FROM logsvc_internal.part') || 0;
	$s{parts} = $t->sql('SELECT count(*) FROM logsvc_internal.part');
	$s{queue} = $t->sql('SELECT count(*) FROM logsvc_internal.queue');
	push @seen, \%s;

	my $label = "day_$day";
	row("${label}_partitions", $s{partitions}, 'partitions');
	row("${label}_parts", $s{parts}, 'parts');
	row("${label}_events", $s{events}, 'events');
	row("${label}_database", sprintf('%.1f', $s{database}), 'MB');
	row("${label}_worker_memory", sprintf('%.1f', $s{memory}), 'MB');
	row("${label}_xid", $s{xid}, 'transactions');
	row("${label}_oldest_xid_age", $s{oldest}, 'transactions');
	row("${label}_cold_frozen", sprintf('%.1f', $s{cold} ? 100 * $s{frozen} / $s{cold} : 100), '% of pages');
	row("${label}_search_" . $_->[0] =~ s/ /_/gr, sprintf('%.1f', $s{ms}{ $_->[0] }), 'ms') foreach @searches;
	return;
}

$t->sql('CREATE EXTENSION pg_visibility');

# ---- the year ----

my $started = time;
my $every = int($days / 12) || 1;
step_to($begin + 60);
foreach my $day (0 .. $days - 1)
{
	my $midnight = $begin + 86_400 * $day;
	foreach my $step (1 .. $steps)
	{
		my $to = $midnight + 86_400 * $step / $steps - 30;
		my $from = $midnight + 86_400 * ($step - 1) / $steps;
		step_to($to);
		send_events($_, $from, $to - 60) foreach @orgs;
		search($orgs[ rand @orgs ], @{ $searches[ rand @searches ] }[1, 2]) foreach 1 .. 3;
		a_day($day) if $step == 2;
	}
	measure($day + 1) if ($day + 1) % $every == 0;
}
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 60);

# ---- what has grown ----

my $last = $seen[-1];
my ($half) = grep { $_->{day} >= $days * 0.6 } @seen;
my @growing;
row('year', sprintf('%.0f', time - $started), 's');
row("did_" . s/ /_/gr, $did{$_}, 'times') foreach sort keys %did;
foreach my $name (sort keys %{ $last->{table} })
{
	my ($end, $middle) = ($last->{table}{$name}, $half->{table}{$name} // [ $name, 0, 0, 0 ]);
	next if $end->[1] < 128 * 1024;
	my $ratio = $middle->[1] ? $end->[1] / $middle->[1] : 99;
	row("table_$name", sprintf('%.2f MB at day %d, %.2f MB at day %d, rows %d to %d,', $middle->[1] / 1048576, $half->{day},
		$end->[1] / 1048576, $last->{day}, $middle->[2], $end->[2]), sprintf 'ratio %.2f', $ratio);
	push @growing, $name if $ratio > 1.2;
}
row('grows', join(' ', @growing) || 'nothing', "from day $half->{day} to $last->{day}");
my %complaint;
foreach (split /\n/, $t->log_text)
{
	next unless /(WARNING|ERROR|LOG|FATAL|PANIC):\s+(.*)/;
	$complaint{"$1: " . $2 =~ s/\d+/N/gr}++;
}
row("log", $complaint{$_}, substr $_, 0, 150) foreach sort { $complaint{$b} <=> $complaint{$a} } keys %complaint;

is($last->{queue} < 1000, 1, 'the queue is drained');
$t->stop;
done_testing;
