# search.pl: what searches take and what an event takes on disk, beside plain PostgreSQL.
#
#	make bench B=search		a table of medians, p95 and ratios
#
# Environment:
#	EVENTS           5000000: events, a million to a day, ending now
#	BASELINE         0: without the baseline
#	BASELINE_EVENTS  1000000: how many of them, the oldest, are in the baseline
#	RUNS             20 of each query
#	REST             180: seconds that merging may take at most before it is measured
#	WORKERS          parallel workers of searches; without it as the server decides
#	ONLY             a regular expression: only queries of that name
#	KEEP             a directory that TEST_USER (nobody) may write: the loaded cluster is kept
#	                 there, and another run with the same KEEP takes it as it is, with the
#	                 library of today and with the functions of sql/api created again.
#	                 When the part format or a table has changed, empty it first.
#
# Events come from test/bench/event_source.c.  They are sent over HTTP; when all are stored and the
# compactors have come to rest, or REST is over, the store is measured.  The baseline is a table
# partitioned by day with btree(organization_id, ts), GIN (attributes jsonb_path_ops) and GIN
# (event gin_trgm_ops), loaded by COPY, with the indexes made afterwards.  Sending a million events
# takes some 6 s, merging as long as REST, and the baseline some 30 s a million, which is
# why that has fewer of them by default.
#
# Times are those of the client (psql over a socket), the rows of the answer included.  "same" is
# the search over the events that the baseline has, and what the ratio is of; both must give the
# same result.  Parts and bytes are what the search opened and read (meta.stats).
use strict;
use warnings;

use IO::Socket::INET;
use LogsvcTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX qw(floor strftime);
use Test::More;
use Time::HiRes qw(sleep time);

my $events = $ENV{EVENTS} || 5_000_000;
my $baseline = defined $ENV{BASELINE} && !$ENV{BASELINE} ? 0 : $ENV{BASELINE_EVENTS} || 1_000_000;
my $runs = $ENV{RUNS} || 20;
my $most = $ENV{REST} // 180;
my $only = $ENV{ONLY} // '';
my $keep = $ENV{KEEP} // '';
my $clients = 3;
my $source = 'build/unit/event_source';
my $psql = PostgreSQL::Test::Utils::tempdir() . '/run.sql';

# The harness sends standard output to its log; results go where TAP would.
sub out { my $out = Test::More->builder->output; print $out @_; return; }
$| = 1;

# ---- the cluster ----

my $conf = join "\n", 'shared_buffers = 2GB', 'max_wal_size = 16GB', 'checkpoint_timeout = 1h',
  'synchronous_commit = off', 'full_page_writes = off', 'wal_level = minimal',
  'max_wal_senders = 0',
  'work_mem = 64MB', 'maintenance_work_mem = 1GB', 'autovacuum = on', 'random_page_cost = 1.1',
  'effective_cache_size = 8GB', '';

my $old = $keep && -f "$keep/state";
my $t = LogsvcTest->new(conf => $conf, start => $old ? 0 : 1, ready => $old ? 0 : 1);
my ($start, $organization);
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
measure();
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
	my ($n, $key) = @_;
	my $socket;
	open my $in, '-|', $source, 'batches', $events, $start, span(), $n, $clients or die $!;
	binmode $in;
	while (defined(my $length = <$in>))
	{
		my $body;
		read($in, $body, $length) == $length or die 'short batch';
		while (1)
		{
			$socket ||= IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $t->http_port)
			  or die $!;
			print $socket
				"POST /api/v1/logs/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer $key\r\n"
			  . 'Content-Type: application/json' . "\r\nContent-Length: " . length($body)
			  . "\r\n\r\n", $body;
			$socket->flush;
			my ($status, $bytes, $answer) = (0, 0);
			while (my $header = <$socket>)
			{
				$status = $1 if $header =~ m{^HTTP/1.1 (\d+)};
				$bytes = $1 if $header =~ /^Content-Length: (\d+)/i;
				last if $header =~ /^\r\n/;
			}
			read $socket, $answer, $bytes;
			last if $status == 202 && $answer !~ /"rejected":[1-9]/;
			die "status $status: $answer\n" if $status != 429;
			sleep 0.05;    # the queue is full: as soon as there is room
		}
	}
	return;
}

sub load
{
	my $org = $t->organization('bench');
	my $begin = time;

	$organization = $org->{slug};
	# Partitions as the scheduler would have made them, when those days were today.
	my ($first, $last) = map { strftime '%Y-%m-%d', gmtime($_ / 1e6) } $start,
		$start + span() + 1e6;
	$t->sql(qq{DO \$\$
		DECLARE d date; name text;
		BEGIN
			FOR d IN SELECT generate_series('$first'::date, '$last', interval '1 day') LOOP
				name := 'part_' || to_char(d, 'YYYYMMDD');
				CONTINUE WHEN to_regclass('logsvc_internal.' || name) IS NOT NULL;
				EXECUTE format('CREATE TABLE logsvc_internal.%I (LIKE logsvc_internal.part_other '
					'INCLUDING ALL)', name);
				EXECUTE format('ALTER TABLE logsvc_internal.%I ENABLE ROW LEVEL SECURITY', name);
				EXECUTE format('ALTER TABLE logsvc_internal.part ATTACH PARTITION logsvc_internal.%I '
					'FOR VALUES FROM (%L) TO (%L)', name, d, d + 1);
			END LOOP;
		END \$\$});
	for my $n (0 .. $clients - 1)
	{
		my $pid = fork // die;
		next if $pid;
		eval { send_batches($n, $org->{ingest_key}); 1 } or do { print STDERR $@; POSIX::_exit(1) };
		POSIX::_exit(0);
	}
	while ((my $pid = wait) > 0) { die "a client failed\n" if $?; }
	# All stored, and no merging any more: a compactor that finds nothing looks every 10 s.
	my ($last_parts, $since) = ('', time);
	my $rest = $t->sql("SELECT current_setting('logsvc.compactors', true)::int > 0")
		eq 't' ? 25 : 5;
	out(sprintf "sent %d events in %.0f s\n", $events, time - $begin);
	wait_until(sub {
		my $parts = $t->sql("SELECT count(*), max(id) FROM logsvc_internal.part WHERE "
			. "index_name = 'main'");
		($last_parts, $since) = ($parts, time) if $parts ne $last_parts;
		return $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0
		  && (time - $since > $rest || time - $begin > $most);
	}, 900) or die "the queue did not drain\n";
	out(sprintf "measured after %.0f s%s\n", time - $begin, time - $since > $rest ? ''
		: ', still merging');
	my $stored = $t->sql("SELECT sum(rows) FROM logsvc_internal.part WHERE index_name = 'main'");
	die "$stored events are stored\n" if $stored != $events;
	$t->sql('VACUUM ANALYZE logsvc_internal.part');
	load_baseline() if $baseline;
	$t->sql('CHECKPOINT');
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
	my $id = $t->sql("SELECT id FROM logsvc_internal.organization WHERE slug = '$organization'");
	$t->sql("ALTER TABLE plain ALTER organization_id SET DEFAULT '$id'");
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

# Runs a statement of one line often in one session: (ms each).
sub run_times
{
	my ($prepare, $statement, $n) = @_;
	my ($output, $errors);

	unlink $psql;
	append_to_file($psql, "\\set ON_ERROR_STOP on\n$prepare\n\\o /dev/null\n$statement\n"
		. "\\timing on\n" . "$statement\n" x $n);
	$t->node->psql('postgres', undef, stdout => \$output, stderr => \$errors,
		extra_params => [ '-f', $psql ], on_error_die => 1);
	my @times = $output =~ /^Time: ([\d.]+) ms/mg;
	die "$statement: $errors\n" if @times != $n;
	return sort { $a <=> $b } @times;
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

sub median { my @v = @_; return ($v[ $#v / 2 ] + $v[ ($#v + 1) / 2 ]) / 2; }
sub p95 { return $_[ int($#_ * 0.95 + 0.5) ]; }
sub quote { my ($s) = @_; $s =~ s/'/''/g; return "'$s'"; }

# Figures of a time go from 0.1 to thousands of ms.
sub ms { return $_[0] < 10 ? sprintf '%.2f', $_[0] : sprintf '%.0f', $_[0]; }

sub measure
{
	my $org = quote($organization);
	my $acting = "SELECT logsvc.act_as($org);";
	$acting .= " SET logsvc.search_workers = $ENV{WORKERS};" if defined $ENV{WORKERS};
	my $id = $t->sql("SELECT id FROM logsvc_internal.organization WHERE slug = $org");
	my $all = $start + span() + 2e6;                       # behind the last event
	my $same = $baseline && $baseline < $events ? $start + int($baseline * 86400) : $all;
	my $needle = sub { my $n = int($_[0] / 2); my $id = `$source request_id $n`; chomp $id; $id };
	my $failures = 0;

	my $parts = $t->sql("SELECT count(*) || ' parts, levels ' || string_agg(DISTINCT "
		. "level::text, ', ')"
		. " FROM logsvc_internal.part WHERE index_name = 'main'");
	my ($disk, $free) = disk('logsvc_internal.part');
	out(sprintf "%-20s %7.1f bytes/event in relations, of these %.1f dead or free (%s)\n", 'store',
		$disk / $events, $free / $events, $parts);
	out(sprintf "%-20s %7.1f bytes/event\n", 'header and body',
		$t->sql('SELECT sum(length(header) + length(body)) FROM logsvc_internal.part') / $events);
	($disk) = $baseline ? disk('plain') : ();
	out(sprintf "%-20s %7.1f bytes/event in relations\n", 'baseline', $disk / $baseline)
		if $baseline;
	out(sprintf "%-24s %9s %9s %7s %10s%s\n", "$events events", 'median', 'p95', 'parts', 'bytes',
		$baseline ? sprintf(' %9s %9s %7s %s', 'same', "of " . $baseline / 1e6 . "M", 'ratio',
			'result') : '');

	# name, search, rows wanted, statement of the baseline, and how a row of the answer reads
	my $by_key = sub { "SELECT x->>0, x->>1 FROM json_array_elements($_[0]->'rows') x" };
	my $by_id = sub
		{ "SELECT x->'attributes'->>'request_id' FROM json_array_elements($_[0]->'rows') x" };
	my $where = "organization_id = '$id'";
	my $bucket = sub { "date_bin('$_[0]', ts, '2000-01-01')" };
	my $iso = sub { "to_char($_[0] AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')" };
	my @queries = (
		[ newest_errors => 'level=error', 1000, $by_id, sub {
			"SELECT * FROM plain WHERE $where AND level = 'error' AND $_[0] ORDER BY ts DESC LIMIT 1000" }, 3600e6 ],
		[ rare_phrase => '"connection refused"', 1000, $by_id, sub {
			"SELECT * FROM plain WHERE $where AND event ILIKE '%connection refused%' AND $_[0] ORDER BY ts DESC LIMIT 1000" } ],
		[ rare_phrase_count => '"connection refused" | stats count', 1000, $by_key, sub {
			"SELECT count(*), NULL FROM plain WHERE $where AND event ILIKE '%connection refused%' AND $_[0]" } ],
		[ substring_count => 'event CONTAINS "nnection refu" | stats count', 1000, $by_key, sub {
			"SELECT count(*), NULL FROM plain WHERE $where AND event ILIKE '%nnection refu%' AND $_[0]" } ],
		[ frequent_substring_count => 'event CONTAINS "uthenticat" | stats count', 1000,
			$by_key, sub {
			"SELECT count(*), NULL FROM plain WHERE $where AND event ILIKE '%uthenticat%' AND $_[0]"
				} ],
		[ request_id => 'request_id=%s', 1000, $by_id, sub {
			"SELECT * FROM plain WHERE $where AND attributes @> '{\"request_id\": \"%s\"}' AND $_[0]" } ],
		[ request_id_absent => 'request_id=00000000000000000000000000000000', 1000, $by_id, sub {
			"SELECT * FROM plain WHERE $where AND attributes @> '{\"request_id\": \"00000000000000000000000000000000\"}' AND $_[0]" } ],
		[ count_by_level => '* | stats count by level', 1000, $by_key, sub {
			"SELECT level, count(*) FROM plain WHERE $where AND $_[0] GROUP BY 1" } ],
		[ hourly_histogram => '* | timechart span=1h count', 1000, $by_key, sub {
			'SELECT ' . $iso->($bucket->('1 hour'))
				. ", count(*) FROM plain WHERE $where AND $_[0] GROUP BY 1" } ],
		[ five_minutes_of_a_day => '* | timechart span=5m count', 1000, $by_key, sub {
			'SELECT ' . $iso->($bucket->('5 minutes'))
				. ", count(*) FROM plain WHERE $where AND $_[0] GROUP BY 1" }, 86400e6 ],
		[ hourly_errors => 'level=error | timechart span=1h count', 1000, $by_key, sub {
			'SELECT ' . $iso->($bucket->('1 hour'))
				. ", count(*) FROM plain WHERE $where AND level = 'error' AND $_[0] GROUP BY 1" } ],
		[ word_by_source => 'failed | stats count by source', 1000, $by_key, sub {
			"SELECT source, count(*) FROM plain WHERE $where AND event ILIKE '%failed%' AND event ~* '\\mfailed\\M' AND $_[0] GROUP BY 1" } ],
		[ count_by_service => '* | stats count by attributes.service', 1000, $by_key, sub {
			"SELECT attributes->>'service', count(*) FROM plain WHERE $where AND $_[0] GROUP BY 1" }
				],
		[ dc_request_id => '* | stats dc(request_id)', 1000, $by_key, sub {
			"SELECT count(DISTINCT attributes->>'request_id'), NULL FROM plain WHERE $where AND $_[0]" } ],
		[ patterns_of_a_day => '* | patterns max=50', 1000, undef, undef, 86400e6 ]);
	for my $query (@queries)
	{
		my ($name, $q, $limit, $rows, $plain, $width) = @$query;
		next if $name !~ /(?:$only)/;
		my $n = $name =~ /patterns|dc_/ ? ($runs > 5 ? 5 : $runs) : $runs;
		my $statement = sub {
			my ($to, $id) = @_;
			my $from = $width && $to - $width > $start ? $to - $width : $start;
			# Whole seconds; a bucket that the range cuts off is so in both.
			$from -= $from % 1e6;
			(my $search = $q) =~ s/%s/$id/;
			return sprintf 'SELECT logsvc_internal.search_json(%s, %s, %s, %d)', quote($search),
			  quote(time_text($from)), quote(time_text($to)), $limit;
		};
		my $ours = $statement->($all, $needle->($events));
		my @times = run_times($acting, "$ours;", $n);
		my $stats = $t->sql("$acting SELECT ($ours)->'meta'->>'stats'");
		$stats =~ s/^.*\n(?=\{)//s;
		$stats = json_decode($stats);
		my $line = sprintf '%-24s %9s %9s %7d %10d', $name, ms(median(@times)), ms(p95(@times)),
		  $stats->{partsScanned}, $stats->{bytesScanned};
		if ($baseline && $plain)
		{
			my $same_search = $statement->($same, $needle->($baseline));
			my $from = $width && $same - $width > $start ? $same - $width : $start;
			$from -= $from % 1e6;
			(my $plain_sql = $plain->(sprintf "ts >= '%s' AND ts < '%s'", time_text($from),
				time_text($same))) =~ s/%s/$needle->($baseline)/e;
			my @same_times = $same == $all ? @times : run_times($acting, "$same_search;", $n);
			my @plain_times = run_times('', "$plain_sql;", $n);
			my $result = $t->sql("$acting " . $rows->("($same_search)->'data'"));
			$result =~ s/^[^\n]*\n?//;
			my $expected = $t->sql($rows == $by_id
				? "SELECT attributes->>'request_id' FROM ($plain_sql) p"
				: "SELECT * FROM ($plain_sql) p ORDER BY 1, 2");
			my $equal = join("\n", sort split /\n/, $result) eq join("\n",
				sort split /\n/, $expected);
			if (!$equal)
			{
				$failures++;
				out(substr("$name: $result", 0, 1000), "\n-- expected\n",
					substr($expected, 0, 1000), "\n");
			}
			$line .= sprintf ' %9s %9s %7s %s', ms(median(@same_times)), ms(median(@plain_times)),
			  sprintf('%.3g', median(@same_times) / median(@plain_times)), $equal ? 'equal'
			  : 'DIFFERENT';
		}
		out("$line\n");
	}
	die "$failures results differ from the baseline's\n" if $failures;
	return;
}
