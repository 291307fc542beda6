# body_places.pl: slices of bodies are read where their chunks are expected, without the index of
# TOAST; where that is wrong, because a body has moved or lies in pieces, searches find the same.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '50ms'", 'logsvc.compactors = 0',
	'autovacuum = off', 'logsvc.search_workers = 0');
$t->organization('acme');
my $day = "date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'";

# Events that hardly compress: a body has hundreds of chunks.
sub load
{
	my ($n, $name) = @_;
	$t->sql(qq{SELECT logsvc.act_as('acme');
		SELECT count(logsvc.ingest(events)) FROM (
			SELECT jsonb_agg(jsonb_build_object('event', name || ' ' || n || ' asked for ' || md5(n::text || name),
				'timestamp', $day + n * interval '1 ms',
				'attributes', jsonb_build_object('request_id', md5(name || n), 'host', 'h' || n % 30))) AS events
			FROM generate_series(1, $n) n, (VALUES ('$name')) v(name) GROUP BY n / 900) e});
	return wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 20);
}
load(9000, $_) foreach 'one', 'two', 'three';
my $parts = "FROM logsvc_internal.part WHERE index_name = 'main'";
is($t->sql("SELECT string_agg(rows::text, ' ') $parts"), '9000 9000 9000', 'three parts');
my ($table, $toast) = split /\|/, $t->sql(
	"SELECT c.oid::regclass, reltoastrelid::regclass FROM pg_class c WHERE c.oid = (SELECT DISTINCT tableoid $parts)");

# Slices from all over the bodies, and whole columns.
my $ask = "SELECT logsvc.act_as('acme') IS NULL;" . join '', map { "SELECT md5((logsvc.search('$_', '-1d\@d', '+1d\@d') -> 'data')::text);" }
	'request_id=' . $t->sql("SELECT md5('two4711')"), 'request_id=' . $t->sql("SELECT md5('three17')"), '| stats count by host',
	'three 4242', '| stats dc(request_id)', '| sort event | head 20', '| patterns';
sub descents
{
	return "SELECT pg_stat_force_next_flush();"
	  . "SELECT sum(idx_scan) FROM pg_stat_all_tables WHERE relid = '$toast'::regclass;";
}
sub answers { return join ' ', grep { /^[0-9a-f]{32}$/ } split /\n/, $_[0]; }

my @answer = split /\n/, $t->sql($ask . descents() . $ask . descents());
my ($first, $second) = grep { /^\d+$/ } @answer;
cmp_ok($first, '>=', 3, 'the first search finds the bodies by the index');
is($second, $first, 'the next one in this process needs no index');
my @found = grep { /^[0-9a-f]{32}$/ } @answer;
is(scalar @found, 14, 'answers');
my $found = join ' ', @found[ 0 .. 6 ];
is("@found[ 7 .. 13 ]", $found, 'the same again');

# One process asks before and after; what it knows is wrong then.
sub still
{
	my ($statements, $what) = @_;
	my $found_now = answers($t->sql("$ask $statements; $ask"));
	is($found_now, "$found $found", $what);
	return;
}
still("UPDATE $table SET body = body || ''::bytea", 'bodies that were written again');
still("VACUUM $table", 'the space of the old ones is free');
still("VACUUM FULL $table", 'the table was written again');

# Bodies in pieces: each of the values that are deleted leaves room for a chunk.
$t->sql(qq{INSERT INTO $table SELECT -n, gen_random_uuid(), 'main', day, level, min_time, max_time, rows, raw_bytes, level_mask, min_batch,
		max_batch, header, substring(body FOR 1960)
	FROM (SELECT * $parts LIMIT 1) p, generate_series(1, 3000) n;
	DELETE FROM $table WHERE id < 0 AND id % 2 = 0});
still("VACUUM $table", 'holes');
still("UPDATE $table SET body = body || ''::bytea WHERE id > 0", 'bodies in pieces');
cmp_ok($t->sql("SELECT count(*) FROM (SELECT (at[0] * 4 + at[1]) - lag(at[0] * 4 + at[1]) OVER (PARTITION BY chunk_id ORDER BY chunk_seq) AS step "
	. "FROM (SELECT chunk_id, chunk_seq, ctid::text::point AS at FROM $toast) c) s WHERE step <> 1"), '>', 100, 'they are in pieces');

done_testing();
