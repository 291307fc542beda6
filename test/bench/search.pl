# search.pl: what searches take and what an event takes on disk, beside plain PostgreSQL.
#
#	make bench B=search		tables of medians, p95 and ratios
#
# Environment:
#	EVENTS           5000000: events, a million to a day, ending now
#	BASELINE         0: without the baseline
#	BASELINE_EVENTS  1000000: how many of them, the oldest, are in the baseline
#	RUNS             11 of each search; fewer of one that takes more than BUDGET (10) seconds in all
#	REST             180: seconds that merging may take at most before it is measured
#	WORKERS          parallel workers of searches; without it as the server decides
#	ONLY             a regular expression: only searches of that name
#	GROWTH           1000000,5000000,20000000: numbers of events on the way at which it is
#	                 measured how some searches grow
#	DURATION         10: seconds of each load of 8 clients; 0: none
#	KEEP             a directory that TEST_USER (nobody) may write: the loaded cluster is kept
#	                 there, and another run with the same KEEP takes it as it is, with the
#	                 library of today and with the functions of sql/api created again.
#	                 When the part format or a table has changed, empty it first.
#
# Events come from test/bench/event_source.c, and SearchRows.pm has the searches.  Events are sent
# over HTTP; when all are stored and the compactors have come to rest, or REST is over, they are
# searched.  The baseline is a table partitioned by day with btree(organization_id, ts), GIN
# (attributes jsonb_path_ops) and GIN (event gin_trgm_ops), loaded by COPY, with the indexes made
# afterwards, which takes some 60 s a million: that is why it has fewer events by default.
#
# Times are those of one client over HTTP, with all of the answer, and for the baseline of psql
# over a socket.  "same" is the search over the events that the baseline has, and what the ratio is
# of; both must give the same result.  Parts and bytes are what the search opened and read
# (meta.stats).  Where a search is refused, the status is in the place of its time.
use strict;
use warnings;

use lib 'test/bench';
use LogsvcBench;
use LogsvcTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX qw(floor strftime);
use SearchRows;
use Test::More;
use Time::HiRes qw(sleep time);

my $events = $ENV{EVENTS} || 5_000_000;
my $baseline = defined $ENV{BASELINE} && !$ENV{BASELINE} ? 0 : $ENV{BASELINE_EVENTS} || 1_000_000;
my $runs = $ENV{RUNS} || 11;
my $budget = 1000 * ($ENV{BUDGET} || 10);
my $seconds = $ENV{DURATION} // 10;
my @sizes = split /,/, $ENV{GROWTH} // '1000000,5000000,20000000';
my $most = $ENV{REST} // 180;
my $only = $ENV{ONLY} // '';
my $keep = $ENV{KEEP} // '';
my $clients = 3;
my $source = 'build/unit/event_source';
my $dir = PostgreSQL::Test::Utils::tempdir();
my $psql = "$dir/run.sql";

# The harness sends standard output to its log; results go where TAP would.
sub out { my $out = Test::More->builder->output; print $out @_; return; }
$| = 1;

# ---- the cluster ----

my $conf = join "\n", 'shared_buffers = 2GB', 'max_wal_size = 16GB', 'checkpoint_timeout = 1h',
  'synchronous_commit = off', 'full_page_writes = off', 'wal_level = minimal',
  'max_wal_senders = 0',
  'work_mem = 64MB', 'maintenance_work_mem = 1GB', 'autovacuum = on', 'random_page_cost = 1.1',
  'effective_cache_size = 8GB', "logsvc.query_timeout = '5min'",
  defined $ENV{WORKERS} ? "logsvc.search_workers = $ENV{WORKERS}" : (), '';

my $old = $keep && -f "$keep/state";
my $t = LogsvcTest->new(conf => $conf, start => $old ? 0 : 1, ready => $old ? 0 : 1);
my ($start, $organization, $organization_id, $read_key, $http);
if ($old)
{
	my $data = $t->node->data_dir;
	my $settings = slurp_file("$data/postgresql.conf");
	($events, $baseline, $start, $organization) = split ' ', slurp_file("$keep/state");
	system('rm', '-rf', $data) == 0 or die;
	symlink "$keep/data", $data or die "$data: $!\n";
	unlink "$keep/data/postgresql.conf";
	append_to_file("$keep/data/postgresql.conf", $settings);
	$t->start;
	# The functions as they are now; what only the first run can create fails.
	my $sql = '';
	for my $file (map { m{^(api/\S+)} ? "sql/$1" : () } split /\n/, slurp_file('sql/load_order'))
	{
		$sql .= slurp_file($file) . "\n";
	}
	$sql =~ s/'MODULE_PATHNAME'/'\$libdir\/logsvc'/g;
	my $last = $t->sql('SELECT max(oid) FROM pg_proc');
	$t->node->psql('postgres', "SET client_min_messages = fatal;\n$sql", on_error_stop => 0);
	# Those that take other arguments now: what has a newer namesake.
	$t->sql(qq{DO \$\$
		DECLARE f regprocedure;
		BEGIN
			FOR f IN SELECT p.oid FROM pg_proc p
				WHERE p.pronamespace IN ('logsvc'::regnamespace, 'logsvc_internal'::regnamespace)
					AND p.oid <= $last AND EXISTS (SELECT FROM pg_proc q
						WHERE q.pronamespace = p.pronamespace AND q.proname = p.proname AND q.oid > $last)
			LOOP
				EXECUTE format('ALTER EXTENSION logsvc DROP FUNCTION %s', f);
				EXECUTE format('DROP FUNCTION %s CASCADE', f);
			END LOOP;
		END \$\$});
	$t->wait_ready;
}
else
{
	die "KEEP=$keep must be a directory that " . getpwuid($>) . " may write\n"
	  if $keep && !(-d $keep && -w $keep);
	$start = int((time - 600) * 1e6) - span();
	load();
}
$baseline = 0 if defined $ENV{BASELINE} && !$ENV{BASELINE};
client();
measure();
mixed_load() if $seconds;
if ($keep && !$old)
{
	$t->stop;
	system('cp', '-a', $t->node->data_dir, "$keep/data") == 0 or die "could not keep the cluster\n";
	append_to_file("$keep/state", "$events $baseline $start $organization\n");
}
$t->stop;

sub span { return int($events * 86400); }    # a million in a day

# ---- loading ----

# Sends the batches of one of the clients.
sub send_batches
{
	my ($n, $key, $first, $last) = @_;
	my $socket = connect_http($t);
	open my $in, '-|', $source, 'batches', $events, $start, span(), $n, $clients, $first,
	  $last or die $!;
	binmode $in;
	while (defined(my $length = <$in>))
	{
		my $body;
		read($in, $body, $length) == $length or die 'short batch';
		while (1)
		{
			my (undef, $status, $answer) = send_request($socket, 'POST', '/api/v1/logs/batch', $key, $body);
			last if $status == 202 && $answer !~ /"rejected":[1-9]/;
			die "status $status: $answer\n" if $status != 429;
			sleep 0.05;    # the queue is full: as soon as there is room
		}
	}
	return;
}

# Sends events until there are `last`, and waits until all of them are stored and merged.
sub load_events
{
	my ($key, $first, $last) = @_;
	my $begin = time;
	my $merging = ($ENV{COMPACTORS} // 1) > 0;

	for my $n (0 .. $clients - 1)
	{
		my $pid = fork // die;
		next if $pid;
		eval { send_batches($n, $key, $first, $last); 1 }
		  or do { print STDERR $@; POSIX::_exit(1) };
		POSIX::_exit(0);
	}
	while ((my $pid = wait) > 0) { die "a client failed\n" if $?; }
	out(sprintf "sent events %d to %d in %.0f s\n", $first, $last, time - $begin);
	# No merging any more: a compactor that finds nothing looks every 10 s.
	my ($last_parts, $since) = ('', time);
	wait_until(sub {
		my $parts = $t->sql('SELECT count(*), max(id) FROM logsvc_internal.part '
			. "WHERE index_name = 'main'");
		($last_parts, $since) = ($parts, time) if $parts ne $last_parts;
		return $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0
		  && ((time - $since > 12 && !merges_due($t)) || time - $begin > $most);
	}, 900) or die "the queue did not drain\n";
	out(sprintf "measured after %.0f s%s\n", time - $begin, time - $since > 12 ? ''
		: ', still merging');
	my $stored = $t->sql("SELECT sum(rows) FROM logsvc_internal.part WHERE index_name = 'main'");
	die "$stored events are stored\n" if $stored != $last;
	$t->sql('VACUUM ANALYZE logsvc_internal.part');
	return;
}

sub load
{
	my $org = $t->organization('bench');

	$organization = $org->{slug};
	my $loaded = 0;
	foreach my $size ((grep { $_ < $events } @sizes), $events)
	{
		load_events($org->{ingest_key}, $loaded, $size);
		$loaded = $size;
		client();
		growth($size) if $size < $events;
	}
	load_baseline() if $baseline;
	$t->sql('CHECKPOINT');
	return;
}

sub key
{
	my ($name, $scope) = @_;
	return $t->sql_json("SELECT logsvc.create_api_key('$organization', '$name', '$scope')")->{key};
}

# A key to search with, and a connection.
sub client
{
	$organization_id = $t->sql('SELECT id FROM logsvc_internal.organization '
		. "WHERE slug = '$organization'");
	$read_key ||= key('searches', 'read-only');
	$http = connect_http($t);
	return;
}

sub load_baseline
{
	my $begin = time;

	$baseline = $events if $baseline > $events;
	$t->sql(qq{
		CREATE EXTENSION IF NOT EXISTS pg_trgm;
		CREATE TABLE plain (organization_id uuid NOT NULL, ts timestamptz NOT NULL, level text,
			source text, event text, attributes jsonb) PARTITION BY RANGE (ts);});
	for (my $day = floor($start / 86400e6); $day <= ($start + span()) / 86400e6; $day++)
	{
		my ($name, $from, $to) = map { strftime $_->[0], gmtime(86400 * $_->[1]) }
		  [ '%Y%m%d', $day ], [ '%Y-%m-%d 00:00:00+00', $day ],
		  [ '%Y-%m-%d 00:00:00+00', $day + 1 ];
		$t->sql("CREATE TABLE plain_$name PARTITION OF plain FOR VALUES FROM ('$from') TO ('$to')");
	}
	$t->sql("ALTER TABLE plain ALTER organization_id SET DEFAULT '$organization_id'");
	system("$source copy $events $start " . span() . " $baseline | psql -qXd '"
		. $t->node->connstr('postgres') .
			"' -c '\\copy plain (ts, level, source, event, attributes) from stdin'")
	  == 0 or die "COPY failed\n";
	$t->sql('CREATE INDEX ON plain (organization_id, ts)');
	$t->sql('CREATE INDEX ON plain USING gin (attributes jsonb_path_ops)');
	$t->sql('CREATE INDEX ON plain USING gin (event gin_trgm_ops)');
	$t->sql('VACUUM ANALYZE plain');
	out(sprintf "loaded %d events into the baseline in %.0f s\n", $baseline, time - $begin);
	return;
}

# ---- measuring ----

sub time_text { return strftime('%Y-%m-%dT%H:%M:%SZ', gmtime($_[0] / 1e6)); }

# Runs a statement of one line often in one psql session: (ms each).
sub plain_times
{
	my ($statement, $n) = @_;
	my ($output, $errors);

	unlink $psql;
	append_to_file($psql, "\\set ON_ERROR_STOP on\n\\o /dev/null\n\\timing on\n"
		. "$statement;\n" x $n);
	$t->node->psql('postgres', undef, stdout => \$output, stderr => \$errors,
		extra_params => [ '-f', $psql ], on_error_die => 1);
	my @times = $output =~ /^Time: ([\d.]+) ms/mg;
	die "$statement: $errors\n" if @times != $n;
	return @times;
}

# Runs a search as often as the budget allows, once before that: (answer, ms each).  An answer that
# is an error has its status in {refused}.
sub search_times
{
	my ($row, $end, $id) = @_;
	my $from = $row->{width} && $end - $row->{width} > $start ? $end - $row->{width} : $start;
	my ($sum, @times, $answer, $cursor, $last) = (0);
	# Whole seconds; a bucket that the range cuts off is so in both.
	my %range = (earliest => time_text($from - $from % 1e6), latest => time_text($end));
	my $request = sub {
		return ('GET', "$row->{route}?earliest=$range{earliest}&latest=$range{latest}") if $row->{route};
		(my $q = $row->{q}) =~ s/%s/$id/;
		return ('POST', '/api/v1/search', json_encode({ q => $q, limit => $row->{limit}, %range,
			$cursor ? (cursor => $cursor) : () }));
	};
	my $ask = sub {
		my ($method, $path, $json) = $request->();
		my ($ms, undef, $text) = eval { send_request($http, $method, $path, $read_key, $json) };
		return ($ms, $text) if defined $ms;
		my ($status) = $@ =~ /: (4\d\d) / or die $@;
		$answer = { refused => $status };
		return;
	};
	foreach my $page (2 .. $row->{page} // 1)
	{
		my (undef, $text) = $ask->() or return $answer;
		($cursor) = $text =~ /"nextCursor":"([^"]+)"/ or die "$row->{name}: there is no page $page\n";
	}
	while (@times < $runs + 1 && (@times < 2 || $sum < $budget))
	{
		(my $ms, $last) = $ask->() or return $answer;
		push @times, $ms;
		$sum += $ms;
	}
	shift @times;
	return (json_decode($last), @times);
}

# The request id of an event in the middle of the first `n`.
sub needle
{
	my ($n) = @_;
	chomp(my $id = do { my $i = int($n / 2); `$source request_id $i` });
	return $id;
}

# Bytes of the partitions of a table with TOAST and indexes, and how many of them merging has
# left behind: rows for VACUUM and space for the next ones, in a day that was loaded in seconds.
sub disk
{
	my ($table) = @_;
	return split /\|/, $t->sql(qq{
		CREATE EXTENSION IF NOT EXISTS pgstattuple;
		SELECT sum(pg_total_relation_size(c.oid)), sum((SELECT sum(s.free_space + s.dead_tuple_len)
			FROM unnest(ARRAY[c.oid, nullif(c.reltoastrelid, 0)]) r, pgstattuple(r) s WHERE r IS NOT NULL))
		FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = '$table'::regclass});
}

sub median { my @v = sort { $a <=> $b } @_; return ($v[ $#v / 2 ] + $v[ ($#v + 1) / 2 ]) / 2; }
sub p95 { my @v = sort { $a <=> $b } @_; return $v[ int($#v * 0.95 + 0.5) ]; }

# Figures of a time go from 0.1 to thousands of ms.
sub ms { return $_[0] < 10 ? sprintf '%.2f', $_[0] : sprintf '%.0f', $_[0]; }
sub load_average { return (split ' ', slurp_file('/proc/loadavg'))[0]; }

sub bytes
{
	my ($size) = @_;
	my $parts = $t->sql("SELECT count(*) || ' parts, levels ' || string_agg(DISTINCT "
		. "level::text, ', ') FROM logsvc_internal.part WHERE index_name = 'main'");
	my ($disk, $free) = disk('logsvc_internal.part');
	out(sprintf "%-42s %7.1f bytes/event in relations, of these %.1f dead or free (%s)\n", 'store',
		$disk / $size, $free / $size, $parts);
	out(sprintf "%-42s %7.1f bytes/event\n", 'header and body',
		$t->sql('SELECT sum(length(header) + length(body)) FROM logsvc_internal.part') / $size);
	return;
}

# The searches that show how the store grows, over the first `size` events.
sub growth
{
	my ($size) = @_;
	my $end = $start + int($size / $events * span()) + 2e6;

	bytes($size);
	foreach my $row (grep { $_->{grows} } search_rows('', $size, 0))
	{
		next if $row->{name} !~ /(?:$only)/;
		my ($answer, @times) = search_times($row, $end, needle($size));
		out(sprintf "%-42s %9s ms at %d events\n", $row->{name}, @times ? ms(median(@times))
			: $answer->{refused}, $size);
	}
	return;
}

sub measure
{
	my $all = $start + span() + 2e6;                       # after the last event
	my $same = $baseline && $baseline < $events ? $start + int($baseline * 86400) : $all;
	my $failures = 0;

	bytes($events);
	out(sprintf "%-42s %7.1f bytes/event in relations\n", 'baseline', (disk('plain'))[0] / $baseline)
		if $baseline;
	my ($errors) = search_times({ q => 'level=error | stats count', limit => 1 }, $all, '');
	$errors = $errors->{data}{rows}[0][0];
	out(sprintf "%d events, %d of them errors; load average %s\n", $events, $errors, load_average());
	out(sprintf "%-42s %9s %9s %7s %10s%s\n", '', 'median', 'p95', 'parts', 'bytes',
		$baseline ? sprintf(' %9s %9s %7s %s', 'same', 'of ' . $baseline / 1e6 . 'M', 'ratio',
			'result') : '');
	foreach my $row (search_rows("organization_id = '$organization_id'", $events, $errors))
	{
		next if $row->{name} !~ /(?:$only)/;
		my ($answer, @times) = search_times($row, $all, needle($events));
		my $stats = $answer->{meta}{stats} // {};
		my $line = sprintf '%-42s %9s %9s %7s %10s', $row->{name}, @times
		  ? (ms(median(@times)), ms(p95(@times))) : ($answer->{refused}, ''),
		  $stats->{partsScanned} // '', $stats->{bytesScanned} // '';
		if ($baseline && $row->{plain})
		{
			# Pages are as far in the baseline as they are in all events.
			my ($same_answer, @same_times) = $same == $all || $row->{page} ? ($answer, @times)
			  : search_times($row, $same, needle($baseline));
			my $from = $row->{width} && $same - $row->{width} > $start ? $same - $row->{width}
			  : $start;
			(my $plain = $row->{plain}->(sprintf "ts >= '%s' AND ts < '%s'", time_text($from - $from % 1e6),
				time_text($same))) =~ s/%s/needle($baseline)/e;
			my ($first) = plain_times($plain, 1);
			my $n = $first > $budget / $runs ? int($budget / $first) || 1 : $runs;
			my @plain_times = plain_times($plain, $n);
			$line .= sprintf ' %9s %9s %7s %s', @same_times ? ms(median(@same_times))
			  : $same_answer->{refused}, ms(median(@plain_times)), @same_times
			  ? sprintf('%.3g', median(@same_times) / median(@plain_times)) : '',
			  !$row->{rows} || !@same_times ? '-' : equal($row, $same_answer, $plain) ? 'equal'
			  : do { $failures++; 'DIFFERENT' };
		}
		out("$line\n");
	}
	out('load average ' . load_average() . "\n");
	die "$failures results differ from the baseline's\n" if $failures;
	return;
}

# Has the baseline the same rows, in any order?
sub equal
{
	my ($row, $answer, $plain) = @_;
	my $ours = join "\n", sort $row->{rows}->($answer->{data});
	my $theirs = join "\n", sort split /\n/, $t->sql($plain);
	return 1 if $ours eq $theirs;
	out(substr("$row->{name}: $ours", 0, 1000), "\n-- expected\n", substr($theirs, 0, 1000), "\n");
	return 0;
}

# ---- clients at the same time ----

# 8 clients that search as fast as they can, alone and while events come in.
sub mixed_load
{
	my $all = $start + span() + 2e6;
	my @bodies;
	foreach my $search (mixed_searches())
	{
		my ($q, $width) = @$search;
		foreach my $n (1 .. 16)
		{
			(my $text = $q) =~ s/%s/needle($events * $n \/ 16)/e;
			push @bodies, json_encode({ q => $text, limit => 100, latest => time_text($all),
				earliest => time_text($width && $all - $width > $start ? $all - $width : $start) });
		}
	}
	my $list = join ",\n", map { "[==[$_]==]" } @bodies;
	append_to_file("$dir/mixed.lua", <<"LUA");
local bodies = {$list}
local i = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer $read_key"
request = function()
	i = i * 29 % 131 + 1
	return wrk.format(nil, nil, nil, bodies[i % #bodies + 1])
end
done = function(summary, latency)
	local e = summary.errors
	io.write(string.format("RESULT %d %d %d %.3f %.3f\\n", summary.requests, summary.duration,
		e.connect + e.read + e.write + e.status + e.timeout,
		latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
LUA
	foreach my $rate (0, 20_000)
	{
		my $sender = $rate && start_sender($rate);
		my ($out) = run_command([ 'wrk', '-t1', '-c8', "-d${seconds}s", '--timeout', '60s', '-s',
			"$dir/mixed.lua", $t->url . '/api/v1/search' ]);
		my ($requests, $us, $wrong, $p50, $p99) =
		  $out =~ /RESULT (\d+) (\d+) (\d+) ([\d.]+) ([\d.]+)/ or die "wrk: $out\n";
		my $sent = $sender ? end_sender($sender) : 0;
		die "$wrong of $requests searches failed\n" if $wrong;
		out(sprintf "8 clients, mixed%s: %.0f searches/s, p50 %.1f ms, p99 %.1f ms; load average %s\n",
			$rate ? sprintf(', with %.0f events/s coming in', $sent / $us * 1e6) : '', $requests / $us * 1e6,
			$p50, $p99, load_average());
	}
	return;
}

# A process that sends that many events a second, of now; it says how many it has sent.
sub start_sender
{
	my ($rate) = @_;
	my $key = key('sender', 'ingest-only');
	pipe my $told, my $tell or die $!;
	my $pid = fork // die;
	return [ $pid, $told ] if $pid;
	my $stopped = 0;
	local $SIG{TERM} = sub { $stopped = 1 };
	my $sent = 0;
	eval {
		my $socket = connect_http($t);
		my $n = $rate * ($seconds + 5);
		my $begin = time;
		open my $in, '-|', $source, 'batches', $n, int($begin * 1e6),
		  int($n / $rate * 1e6), 0, 1 or die $!;
		while (!$stopped && defined(my $length = <$in>))
		{
			my $body;
			read($in, $body, $length) == $length or die 'short batch';
			my $due = $begin + $sent / $rate;
			sleep $due - time if $due > time;
			my (undef, $status) = send_request($socket, 'POST', '/api/v1/logs/batch', $key, $body);
			$sent += 2500 if $status == 202;
		}
		1;
	} or print STDERR $@;
	syswrite $tell, "$sent\n";
	POSIX::_exit(0);
}

sub end_sender
{
	my ($pid, $told) = @{ $_[0] };
	kill 'TERM', $pid;
	waitpid $pid, 0;
	my $sent = <$told>;
	return $sent // 0;
}
