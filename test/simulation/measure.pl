# measure.pl: what the simulation (README.md) has to know of one server, measured here and now.
#
#	make simulation-costs		writes test/simulation/costs.tsv
#
# Environment: ORGANIZATIONS (4000, at least 1500) that are made and then idle, EVENTS (1000000)
# that are searched
# and moved, DURATION (3) seconds of each load of events, IDLE (60) seconds of looking at an idle
# server.
#
# Rows "name value unit, what it is".  CPU is user and system time of processes of the server, which
# a busy machine changes by a third, not by a factor.
use strict;
use warnings;

use lib 'test/bench';
use LogsvcBench;
use LogsvcTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $organizations = $ENV{ORGANIZATIONS} || 4000;
my $events = $ENV{EVENTS} || 1_000_000;
my $seconds = $ENV{DURATION} || 3;
my $idle = $ENV{IDLE} || 60;
my $dir = PostgreSQL::Test::Utils::tempdir();
my $out = Test::More->builder->output;
my $source = 'build/unit/event_source';

sub cost
{
	my ($name, $value, $unit, $what) = @_;
	$value = sprintf '%.4g', $value if $value != int $value;
	print $out join("\t", $name, $value, $unit, $what), "\n";
	return;
}

my $conf = join "\n", 'shared_buffers = 1GB', 'max_wal_size = 16GB', 'checkpoint_timeout = 1h',
  'max_connections = 150', 'max_locks_per_transaction = 1024', 'logsvc.queue_limit = 2000000', 'logsvc.search_workers = 0', 'log_statement = none';
my $t = LogsvcTest->new(conf => $conf);
my ($model) = slurp_file('/proc/cpuinfo') =~ /^model name\s*: (.*)/m;
my $cores = () = slurp_file('/proc/cpuinfo') =~ /^processor/mg;
print $out '# make simulation-costs, on ' . $cores . ' cores of ' . ($model // 'an unknown model') . ', PostgreSQL '
  . $t->sql('SHOW server_version_num') . "\n";

# CPU seconds of the processes of the server that stay, by kind and all together; not of the
# sessions
# of this program, which asks all the time.
sub cpu
{
	my %cpu = (all => 0);
	foreach (split /\n/, $t->sql(q{SELECT pid || ' ' || replace(backend_type, 'logsvc ', '') FROM pg_stat_activity WHERE backend_type <> 'client backend'}))
	{
		my ($pid, $kind) = split / /, $_, 2;
		my $used = process_cpu($pid);
		$cpu{$kind} += $used;
		$cpu{all} += $used;
	}
	return \%cpu;
}
sub cpu_since { my ($before) = @_; my $now = cpu();
	return { map { $_ => $now->{$_} - ($before->{$_} // 0) } keys %$now }; }
sub wal { return $t->sql("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"); }
sub stored { return $t->sql(q{SELECT coalesce(sum(rows), 0) FROM logsvc_internal.part WHERE index_name = 'main'}); }

sub at_rest
{
	wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') && !merges_due($t) }, 180)
	  or die "writers or compactors do not come to rest\n";
	return;
}

# So many events as JSON, of an hour that ends now.
sub event_texts
{
	my ($n) = @_;
	open my $in, '-|', $source, 'batches', $n, int((time - 3600) * 1e6), int(3600e6), 0, 1 or die $!;
	binmode $in;
	my @texts;
	while (defined(my $length = <$in>))
	{
		read($in, my $body, $length) == $length or die 'short batch';
		push @texts, split /(?<=\}\}),(?=\{"timestamp")/, substr($body, 1, -1);
	}
	return @texts;
}

# ---- events ----

sub measure_ingest
{
	my ($org) = @_;
	my @texts = event_texts(20_000);
	foreach my $batch (1, 10, 100, 2500)
	{
		my $bodies = "$dir/bodies.$batch";
		my $n = $batch < 100 ? 200 : $batch < 1000 ? 100 : 8;
		append_to_file($bodies, join '', map { my $i = $_; '[' . join(',', map { $texts[($i * $batch + $_) % @texts] } 0 .. $batch - 1) . "]\n" } 0 .. $n - 1);
		append_to_file("$dir/post.$batch.lua", <<"LUA");
local requests = {}
local n = 0
wrk.method = "POST"
wrk.path = "/api/v1/logs/batch"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer $org->{ingest_key}"
init = function(args)
	for line in io.lines("$bodies") do requests[#requests + 1] = wrk.format(nil, nil, nil, line) end
end
request = function()
	n = n % #requests + 1
	return requests[n]
end
done = function(summary, latency)
	io.write(string.format("RESULT %d %d %d\\n", summary.requests, summary.bytes, summary.errors.status))
end
LUA
		at_rest();
		my ($had, $wal, $before) = (stored(), wal(), cpu());
		my ($result, $said) = run_command([ 'wrk', '-t1', '-c' . ($batch < 1000 ? 64 : 4), "-d${seconds}s", '-s', "$dir/post.$batch.lua",
			'http://127.0.0.1:' . $t->http_port ]);
		my ($requests, $answered) = $result =~ /RESULT (\d+) (\d+) 0\b/ or die "wrk: $result$said\n";
		at_rest();
		my $used = cpu_since($before);
		my $took = stored() - $had;
		my $size = (-s $bodies) / $n - 1;
		cost("ingest_cpu_$batch", 1e6 * $used->{all} / $took, 'us/event', "CPU of the server, requests of $batch events, until merged");
		cost("ingest_cpu_${batch}_gateway", 1e6 * $used->{gateway} / $took, 'us/event', 'of which the gateway');
		cost("ingest_cpu_${batch}_acceptor", 1e6 * $used->{acceptor} / $took, 'us/event', 'of which acceptors');
		cost("ingest_cpu_${batch}_store", 1e6 * ($used->{writer} + $used->{compactor}) / $took, 'us/event', 'of which writers and compactors');
		cost("ingest_wal_$batch", (wal() - $wal) / $took, 'bytes/event', 'WAL, until merged; what a standby receives');
		# The head of a request of a common client is some 250 bytes.
		cost("ingest_request_$batch", ($size + 250) / $batch, 'bytes/event', 'of a request on the wire');
		cost("ingest_answer_$batch", $answered / $requests / $batch, 'bytes/event', 'of its answer');
	}

	# An entry of the queue: what would travel when the node that accepts has decoded the events.
	$t->set('logsvc.flush_interval', '5s');
	foreach my $batch (1, 10, 100, 2500)
	{
		at_rest();
		my $body = '[' . join(',', @texts[0 .. $batch - 1]) . ']';
		my $answer = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, body => $body);
		die "$answer->{status}\n" if $answer->{status} != 202;
		cost("queue_entry_$batch", $t->sql('SELECT sum(octet_length(header) + octet_length(body))::float8 / sum(rows) FROM logsvc_internal.queue'),
			'bytes/event', 'of an entry of the queue: events that have been decoded');
	}
	$t->set('logsvc.flush_interval', '1s');
	at_rest();
	return;
}

# ---- searches ----

my %search = (
	newest => [ 100, '*' ],
	errors => [ 100, 'level=error' ],
	count => [ 100, '* | stats count by level' ],
	histogram => [ 100, '* | timechart span=1h count' ],
	needle => [ 100, 'request_id=%s' ],
	phrase => [ 100, '"connection refused" | stats count' ],
	group => [ 100, '* | stats count by host' ],
	regex => [ 100, 'event MATCHES "[0-9]+ [a-z]+ [a-z]+ing" | stats count' ],
	patterns => [ 100, '* | patterns max=50' ]);

# CPU of a search in ms, and the bytes of its answer.
sub search_cpu
{
	my ($http, $key, $limit, $q, $earliest) = @_;
	my $json = json_encode({ q => $q, limit => $limit, earliest => $earliest });
	my $ask = sub { return length send_request($http, 'POST', '/api/v1/search', $key, $json); };
	$ask->() for 1 .. 3;
	my ($n, $bytes, $begin, $used) = (0, 0, cpu(), 0);
	while ($n < 2000 && $used < 0.8)
	{
		$bytes = $ask->() for 1 .. 20;
		$n += 20;
		my $since = cpu_since($begin);
		$used = $since->{executor} + $since->{gateway};
	}
	return (1000 * $used / $n, $bytes);
}

sub measure_searches
{
	my ($org) = @_;
	my $begin = int((time - 86400) * 1e6);
	open my $in, '-|', $source, 'batches', $events, $begin, int(86400e6), 0, 1 or die $!;
	binmode $in;
	my $http = connect_http($t);
	while (defined(my $length = <$in>))
	{
		read($in, my $body, $length) == $length or die 'short batch';
		send_request($http, 'POST', '/api/v1/logs/batch', $org->{ingest_key}, $body);
	}
	at_rest();
	$t->sql('VACUUM ANALYZE logsvc_internal.part');
	my ($disk, $rows) = split /\|/, $t->sql(q{SELECT sum(octet_length(header) + octet_length(body)), sum(rows)
		FROM logsvc_internal.part p JOIN logsvc_internal.organization o ON o.id = p.organization_id WHERE slug = 'searched' AND index_name = 'main'});
	cost('part_bytes', $disk / $rows, 'bytes/event', 'of parts, merged as far as they are');
	chomp(my $id = do { my $i = int($events / 2); `$source request_id $i` });
	my ($bytes_sum, $n) = (0, 0);
	foreach my $name (sort keys %search)
	{
		my ($limit, $q) = @{ $search{$name} };
		$q =~ s/%s/$id/;
		my ($hour) = search_cpu($http, $org->{read_key}, $limit, $q, '-1h');
		my ($day, $bytes) = search_cpu($http, $org->{read_key}, $limit, $q, '-25h');
		my $each = ($day - $hour) / ($events * 23 / 24) * 1e6;
		$each = 0 if $each < 0;
		my $fixed = $hour - $each * $events / 24 / 1e6;
		cost("search_${name}_fixed", $fixed > 0.05 ? $fixed : 0.05, 'ms', "CPU of $search{$name}[1], whatever it reads");
		cost("search_${name}_each", $each, 'ms/million', 'and for each million events in its time range');
		cost("search_${name}_answer", $bytes, 'bytes', 'of its answer, a page of at most 100 rows');
	}
	return;
}

# What 100 more days cost: rows and bytes of the catalogs, memory of a session, CPU of a search.
sub measure_catalog
{
	my ($org) = @_;
	my $http = connect_http($t);
	my @catalogs = qw(pg_class pg_attribute pg_index pg_constraint pg_type pg_depend);
	my $look = sub {
		my ($memory) = $t->node->safe_psql('postgres', q{EXPLAIN (COSTS off) SELECT FROM logsvc_internal.part;
			SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE 'CacheMemoryContext' IN (name, parent)}) =~ /(\d+)\s*\z/;
		my ($plan) = sort { $a <=> $b } map { /Planning Time: ([\d.]+)/ ? $1 : () } split /\n/,
			$t->node->safe_psql('postgres',
			q{EXPLAIN (SUMMARY on) SELECT FROM logsvc_internal.part;} x 20);
		return { memory => $memory, plan => $plan,
			search => (search_cpu($http, $org->{read_key}, 100, '* | stats count by level', '-150d'))[0],
			narrow => (search_cpu($http, $org->{read_key}, 100, '* | stats count by level', '-1h'))[0],
			bytes => $t->sql(q{SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r'}),
			files => $t->sql(q{SELECT count(*) FROM pg_class WHERE relfilenode <> 0}),
			map { $_ => $t->sql("SELECT count(*) FROM $_") } @catalogs };
	};
	my $before = $look->();
	$t->sql("SELECT logsvc_internal.make_part_partition(current_date - n) FROM generate_series(30, 129) n");
	my $after = $look->();
	my %each = map { $_ => ($after->{$_} - $before->{$_}) / 100 } keys %$before;
	cost("partition_$_", $each{$_}, 'rows', "in $_ for one partition of a day") foreach @catalogs;
	cost('partition_files', $each{files}, 'files', 'of one partition');
	cost('partition_catalog', $each{bytes}, 'bytes', 'of all catalogs for one partition');
	cost('partition_memory', $each{memory}, 'bytes', 'of the caches of a session that has planned over all partitions');
	cost('partition_plan', $each{plan}, 'ms', 'planning, for one partition in the range');
	cost('partition_search', $each{search} > 0 ? $each{search} : 0, 'ms', 'CPU of a search of all days, for one partition without events');
	cost('partition_narrow', $each{narrow} > 0 ? $each{narrow} : 0, 'ms', 'CPU of a search of the last hour, for one partition');
	return;
}

# ---- organizations ----

# Bytes of the tables and indexes of the extension, by table, without events.
sub table_sizes
{
	return map { split /\|/ } split /\n/, $t->sql(q{SELECT relname, pg_total_relation_size(oid) FROM pg_class
		WHERE relnamespace = 'logsvc_internal'::regnamespace AND relkind = 'r' AND relname !~ '^(part|queue)_'});
}

# CPU of what looks after an idle server, for a time with at least one full minute in it.
sub idle_cpu
{
	my $before = cpu();
	sleep $idle;
	return cpu_since($before);
}

my @keys;
sub measure_organizations
{
	at_rest();
	my $empty = idle_cpu();
	my %size = table_sizes();
	my ($before, $wal) = (server_cpu($t), wal());
	# An owner, a member, and two keys for each.
	$t->sql(q{CREATE TABLE public.made (n int, slug text, ingest text, key_id text);
		CREATE FUNCTION public.make(n int) RETURNS void LANGUAGE plpgsql AS $$
		DECLARE
			slug text := 'org-' || n;
			key jsonb;
		BEGIN
			PERFORM logsvc.create_organization(slug, 'pro', slug || '@example.org');
			PERFORM logsvc.create_user('m-' || slug || '@example.org', 'member');
			PERFORM logsvc.add_member(slug, 'm-' || slug || '@example.org', 'member');
			PERFORM logsvc.create_api_key(slug, 'read', 'read-only');
			key := logsvc.create_api_key(slug, 'ingest', 'ingest-only');
			INSERT INTO public.made VALUES (n, slug, key ->> 'key', key ->> 'id');
		END $$});
	for (my $n = 0; $n < $organizations; $n += 250)
	{
		my $last = $n + 249 < $organizations ? $n + 249 : $organizations - 1;
		$t->sql("SET client_min_messages = warning; SELECT count(public.make(n)) FROM generate_series($n, $last) n");
	}
	cost('organization_made_cpu', 1000 * (server_cpu($t) - $before) / $organizations, 'ms', 'CPU of making an organization with two people and two keys');
	cost('organization_made_wal', (wal() - $wal) / $organizations, 'bytes', 'WAL of that, with its entries of the audit log');
	$t->sql('VACUUM ANALYZE');
	my %now = table_sizes();
	my $all = 0;
	my %named = (organization => 1, user_account => 2, member => 2, api_key => 2, log_index => 1);
	foreach my $table (sort keys %now)
	{
		my $grown = ($now{$table} - ($size{$table} // 0)) / $organizations;
		$all += $grown;
		cost("row_$table", $grown / $named{$table}, 'bytes', "of a row of $table with its indexes") if $named{$table};
	}
	cost('organization_tables', $all, 'bytes', 'of all tables for an organization with two people and two keys, without events');
	at_rest();
	my $full = idle_cpu();
	foreach my $kind (sort grep { $_ ne 'all' } keys %$full)
	{
		my $more = 100 * ($full->{$kind} - ($empty->{$kind} // 0)) / $idle / $organizations * 1000;
		cost('idle_cpu_more_' . $kind =~ s/\W/_/gr, $more, '% of a core', "of which $kind") if $more > 0.01;
	}
	cost('idle_cpu', 100 * $empty->{all} / $idle, '% of a core', 'idle server with three organizations');
	cost('idle_cpu_more', 100 * ($full->{all} - $empty->{all}) / $idle / $organizations * 1000, '% of a core', 'more for each 1,000 idle organizations; below 0: less than chance');
	@keys = split /\n/, $t->sql('SELECT ingest FROM public.made ORDER BY n LIMIT 1000');
	return;
}

# ---- credentials ----

# A single event with each key, over one connection: microseconds of CPU a request.
sub round_of_keys
{
	my $http = connect_http($t);
	my $before = cpu();
	send_request($http, 'POST', '/api/v1/logs/batch', $_, '[{"event":"a"}]') foreach @keys;
	my $used = cpu_since($before);
	return 1e6 * ($used->{acceptor} + $used->{gateway}) / @keys;
}

sub measure_credentials
{
	$t->set('logsvc.acceptors', 1);
	wait_until(sub { $t->workers('^logsvc acceptor$') == 1 });
	round_of_keys() for 1 .. 2;
	my (@warm, @stepped);
	for (1 .. 3)
	{
		push @warm, round_of_keys();
		# A change that concerns all.
		$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = per_minute WHERE class = 'public'");
		push @stepped, round_of_keys();
	}
	my $middle = sub { return (sort { $a <=> $b } @_)[1] };
	cost('lookup_cpu', $middle->(@stepped) - $middle->(@warm), 'us', 'CPU of looking up what a request needs after a change that concerns all: key, index, limits, pipelines');
	cost('credential_request_cpu', $middle->(@warm), 'us', 'CPU of a request with one event of its own organization, nothing looked up');
	my ($before, $wal) = (server_cpu($t), wal());
	my $n = $t->sql(q{SELECT count(logsvc.revoke_api_key(key_id)) FROM public.made WHERE n >= 1000 AND n < 1300});
	cost('revoke_cpu', 1000 * (server_cpu($t) - $before) / $n, 'ms', 'CPU of a revocation, with its entry of the audit log');
	cost('revoke_wal', (wal() - $wal) / $n, 'bytes', 'WAL of that');
	return;
}

# ---- memory ----

sub defined_number
{
	my ($file, $name) = @_;
	my ($value) = slurp_file($file) =~ /^#define $name (\d+)/m or die "$file has no $name\n";
	return $value;
}

sub measure_memory
{
	foreach (split /\n/, $t->sql(q{SELECT name || '|' || allocated_size FROM pg_shmem_allocations WHERE name ~ '^logsvc (rate limits|quotas|accounts|reservations)$'}))
	{
		my ($name, $size) = split /\|/;
		$name =~ s/^logsvc //;
		cost('shared_' . $name =~ s/ /_/gr, $size, 'bytes', "of shared memory: $name");
	}
	# What src/server/server.h (LS_ACTIVE_KEYS) and the tables make of the setting.
	my $active = $t->sql('SHOW logsvc.max_active_organizations');
	cost('limit_active_organizations', $active, 'organizations', 'for which tables have room, by default (logsvc.max_active_organizations)');
	cost('active_organization', $t->sql(q{SELECT sum(allocated_size) FROM pg_shmem_allocations WHERE name IN ('logsvc rate limits', 'logsvc quotas')}) / $active,
		'bytes', 'of shared memory for each of them');
	cost('epoch_counters', defined_number('src/access/epoch.c', 'COUNTERS'), 'counters', 'that organizations share by their hash');
	cost('limit_rate_keys', 2 * $active, 'keys', 'whose rate is counted in a minute');
	cost('limit_quota_entries', 4 * $active, 'organizations', 'whose sum of the day is in memory');
	cost('limit_queue_accounts', int(0.75 * defined_number('src/ingest/account.c', 'LS_TABLE_FIXED')), 'organizations', 'that have events in the queue at once');
	cost('limit_cached_credentials', 2 * $active, 'credentials', 'that a process keeps');
	cost('limit_groups', $active / 2, 'owners', 'that take turns by themselves at a gateway');
	cost('limit_senders', 2 * $active, 'credentials', 'that a gateway knows the owner of');
	# What Citus keeps of a shard, in tables of the same columns and indexes.
	$t->sql(q{CREATE TABLE public.shard (logicalrelid oid NOT NULL, shardid int8 PRIMARY KEY, shardstorage "char" NOT NULL, shardminvalue text, shardmaxvalue text);
		CREATE INDEX ON public.shard (logicalrelid);
		CREATE TABLE public.placement (placementid int8 PRIMARY KEY, shardid int8 NOT NULL, shardstate int NOT NULL, shardlength int8 NOT NULL, groupid int NOT NULL);
		CREATE INDEX ON public.placement (shardid); CREATE INDEX ON public.placement (groupid);
		INSERT INTO public.shard SELECT n / 32 + 16384, n, 't', '-2147483648', '-2013265921' FROM generate_series(1, 100000) n;
		INSERT INTO public.placement SELECT n, n, 1, 0, n % 32 FROM generate_series(1, 100000) n});
	cost('shard_metadata', $t->sql(q{SELECT (pg_total_relation_size('public.shard') + pg_total_relation_size('public.placement')) / 100000.0}), 'bytes',
		'of what a coordinator keeps of a shard of a partition (tables of the columns of pg_dist_shard and pg_dist_placement)');
	return;
}

# ---- moving ----

sub measure_move
{
	my $target = LogsvcTest->new(name => 'target', conf => $conf);
	my $stream = $dir . '/stream';
	$t->sql("SELECT logsvc.set_organization_state('searched', 'read_only')");
	wait_until(sub { $t->sql_json("SELECT logsvc.set_organization_state('searched')")->{underWay} == 0 }, 60) or die "the queue did not drain\n";
	my $psql = sub {
		my ($server, $input, $output, @commands) = @_;
		my ($begin, $cpu) = (time, server_cpu($server));
		system('psql -XqAt1 -v ON_ERROR_STOP=1 -d "' . $server->node->connstr('postgres') . "\" < $input > $output" . join '', map { " -c '$_'" } @commands) == 0
		  or die "@commands failed\n";
		sleep 0.2;
		return (time - 0.2 - $begin, server_cpu($server) - $cpu);
	};
	my ($wall, $cpu) = $psql->($t, '/dev/null', $stream,
		q{COPY (SELECT (row).* FROM (SELECT logsvc.export_organization($$searched$$) AS row) AS stream) TO STDOUT (FORMAT binary)});
	my $scale = $events / 1e6;
	cost('move_export_cpu', $cpu / $scale, 's/million', 'CPU of exporting an organization');
	cost('move_export_wall', $wall / $scale, 's/million', 'and its time, one session');
	cost('move_stream', (-s $stream) / $events, 'bytes/event', 'of the stream');
	($wall, $cpu) = $psql->($target, $stream, '/dev/null', 'COPY logsvc.organization_stream FROM STDIN (FORMAT binary)', 'SELECT * FROM logsvc.import_organization()');
	cost('move_import_cpu', $cpu / $scale, 's/million', 'CPU of importing it');
	cost('move_import_wall', $wall / $scale, 's/million', 'and its time, one session');
	$target->stop;

	# One with nothing in it: what each of many small ones takes.
	($wall, $cpu) = $psql->($t, '/dev/null', $stream, q{SELECT count(logsvc.set_organization_state(slug, $$read_only$$)) FROM public.made WHERE n BETWEEN 1400 AND 1499},
		q{SELECT count(row) FROM (SELECT logsvc.export_organization(slug) AS row FROM public.made WHERE n BETWEEN 1400 AND 1499) s});
	cost('move_export_organization', 1000 * $cpu / 100, 'ms', 'CPU of exporting an organization without events');
	return;
}

# What goes wrong is said where rows are: the harness keeps standard error to itself.
eval {
	my $first = $t->organization('first');
	my $searched = $t->organization('searched');
	measure_ingest($first);
	measure_searches($searched);
	measure_catalog($searched);
	measure_organizations();
	measure_credentials();
	measure_memory();
	measure_move();
	1;
} or do { print $out "# failed: $@"; die $@ };
$t->stop;
