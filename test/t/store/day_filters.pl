# day_filters.pl: filters of past days leave out parts that cannot match, and change no answer:
# after a deletion, a merge, damage, a restart, on a standby, and while they are made.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(sleep);

my $t = LogsvcTest->new(streaming => 1, conf => join "\n", "logsvc.flush_interval = '20ms'", 'logsvc.compactors = 0',
	'logsvc.writers = 1', 'autovacuum = off',
	'logsvc.day_filters = on');
my $org = $t->organization('acme', plan => 'pro');
$t->organization('globex', plan => 'pro');

my $columns = 'organization_id, index_name, day, level, min_time, max_time, rows, raw_bytes, '
	. 'level_mask, min_batch, max_batch, header, body, created_at';
my $parts = 40;

# A part for each number, of yesterday, that counts as full.
sub store
{
	my ($organization, @numbers) = @_;
	foreach my $n (@numbers)
	{
		$t->sql("SELECT logsvc.act_as('$organization'); SELECT logsvc.ingest((SELECT jsonb_agg(jsonb_build_object("
			. "'event', format('request %s of user word%s done in %s ms', i, $n, i % 77), 'level', 'info', 'trace_id', md5('trace' || $n || i), "
			. "'source', 'web-' || i % 3, 'timestamp', (extract(epoch FROM date_trunc('day', now(), 'UTC') - interval '1 hour') * 1000)::bigint, "
			. "'attributes', jsonb_build_object('request_id', md5($n || '-' || i), 'few', 'v' || $n % 5, 'n', $n * 1000 + i, "
			. "'mixed', CASE WHEN $n = 7 THEN to_jsonb(i) ELSE to_jsonb('m' || $n) END, 'object', jsonb_build_object('member', 'x' || $n))"
			. ")) FROM generate_series(1, 300) i))");
		wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }) or die;
	}
	return $t->sql("UPDATE logsvc_internal.part SET raw_bytes = 1 << 24, created_at = now() - interval '2 hours' "
		. "WHERE index_name = 'main' AND day < (now() AT TIME ZONE 'UTC')::date");
}




# Rows of a search, and the bytes that it read.
sub search
{
	my ($q, $node) = @_;
	my ($rows, $bytes) = split /\|/, (split /\n/, ($node // $t->node)->safe_psql('postgres', "SELECT logsvc.act_as('acme') IS NULL; "
		. "SELECT r #>> '{data,rows}', r #>> '{meta,stats,bytesScanned}' FROM logsvc.search('$q', earliest => '-3d', "
		. "latest => '+1h') r"))[-1];
	return ($rows, $bytes);
}

sub filters { return $t->sql('SELECT count(*) FROM logsvc_internal.day_filter'); }

sub compact
{
	my ($done, $what) = @_;
	$t->set('logsvc.compactors', 1);
	ok(wait_until($done, 60), $what);
	$t->set('logsvc.compactors', 0);
	wait_until(sub { $t->workers('^logsvc compactor$') == 0 }) or die;
	return;
}

store('acme', 1 .. $parts);
store('globex', 1 .. 3);

my $id = $t->sql("SELECT md5('9-5')");
my $none = $t->sql("SELECT md5('nothing')");
my $trace = $t->sql("SELECT md5('trace' || 12 || 9)");
my @needles = ("request_id=\"$id\"", "request_id=\"$none\"", "trace_id=\"$trace\"", 'word13', 'wordnone', '"user word17 done"',
	'"word3 of"', 'few=v3 word3', 'few=v9', 'mixed=5', 'mixed=m8', 'object.member=x4', 'object.member=y', 'n=9005', 'n=\"9005\"',
	'request_id IN ("' . $id . '", "' . $none . '")', 'event=*word1*', 'NOT word13', 'word13 OR word14', 'word13 NOT few=v3',
	'source=web-9', 'source=WEB-1 word2', 'event MATCHES "word2[0-9]"', 'level=error', '*');
s/\\"/"/g foreach @needles;
my @queries = map { "$_ | stats count" } @needles;
my %expected = map { $_ => (search($_))[0] } @queries;
is($expected{"word13 | stats count"}, '[[300]]', 'a word of one part');
is($expected{"mixed=5 | stats count"}, '[[1]]', 'an integer among texts');
my %bytes = map { $_ => (search($_))[1] } 'word13 | stats count', '"user word13 done" | stats count', 'few=v9';
my (undef, $whole) = search("request_id=\"$none\"");

sub same
{
	my ($what, $node) = @_;
	my @wrong = grep { (search($_, $node))[0] ne $expected{$_} } @queries;
	return is("@wrong", '', "$what: the same answers");
}

# ---- made ----

compact(sub { filters() == 1 }, 'a filter is made');
is($t->sql("SELECT count(*) FROM logsvc_internal.day_filter f, logsvc_internal.day_filter_parts(f.head)"), $parts,
	'... of the full parts of one organization; few parts get none');
same('with filters');
my (undef, $pruned) = search("request_id=\"$none\"");
cmp_ok($pruned, '<', $whole / 10, "... a needle that nothing holds reads $pruned instead of $whole bytes");
foreach my $q (sort keys %bytes)
{
	cmp_ok((search($q))[1], '<', $bytes{$q} / 4, "... and so does $q");
}
is((search("request_id=\"$id\" | fields n"))[0], '[{"attributes": {"n": 9005}}]', 'one that is there is found');
is($t->sql('SELECT count(*) FROM logsvc.verify_parts()'), 0, 'it is whole');

# ---- who may read it ----

$t->sql("CREATE ROLE bound LOGIN IN ROLE logsvc_tenant; SELECT logsvc.bind_role('bound', 'globex')");
like(($t->node->psql('postgres', 'SELECT count(*) FROM logsvc_internal.day_filter', extra_params => [ '-U', 'bound' ]))[2],
	qr/permission denied/, 'tenants cannot read it');

# ---- a standby ----

$t->node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($t->node, 'copy', has_streaming => 1);
$standby->start;
$t->node->wait_for_catchup($standby);
same('on a standby', $standby);
cmp_ok((search("request_id=\"$none\"", $standby))[1], '<', $whole / 10, '... which uses it');
$standby->stop;

# ---- late events ----

store('acme', $parts + 1);
$expected{$_} = do { $t->sql('CREATE TABLE kept AS SELECT * FROM logsvc_internal.day_filter; DELETE FROM logsvc_internal.day_filter');
	my $rows = (search($_))[0]; $t->sql('INSERT INTO logsvc_internal.day_filter SELECT * FROM kept; DROP TABLE kept'); $rows }
	foreach @queries;
same('with a part that it does not name');
is((search("word" . ($parts + 1) . " | stats count"))[0], '[[300]]', '... which is found');

# ---- damage ----

my $log = -s $t->node->logfile;
$t->sql('UPDATE logsvc_internal.day_filter SET bits = substr(bits, 1, 100)');
same('with a filter that is cut');
$t->sql('UPDATE logsvc_internal.day_filter SET head = set_byte(head, 12, get_byte(head, 12) # 255)');
same('with a damaged head');
like(PostgreSQL::Test::Utils::slurp_file($t->node->logfile, $log), qr/logsvc day filter \d+ is damaged and not used/,
	'... and the log says so');
is($t->sql("SELECT count(*) FROM logsvc.verify_parts() WHERE part_id IS NULL AND problem LIKE '%day filter is wrong'"), 1,
	'... and verify_parts');
compact(sub { $t->sql("SELECT count(*) FROM logsvc_internal.day_filter f, logsvc_internal.day_filter_parts(f.head)")
	== $parts + 1 }, 'it is made again');
same('made again');
cmp_ok((search("request_id=\"$none\""))[1], '<', $whole / 10, '... and used');

# ---- deletion ----

my $before = $t->sql('SELECT min(id) FROM logsvc_internal.day_filter');
is($t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.delete_logs('index=main earliest=-3d latest=now word20', reason => 'test') IS NOT NULL")
	=~ s/.*\n//sr, 't', 'a deletion is asked for');
compact(sub { $t->sql("SELECT count(*) FROM logsvc_internal.deletion WHERE status = 'done'") == 1
	&& $t->sql("SELECT count(*) FROM logsvc_internal.day_filter f, logsvc_internal.day_filter_parts(f.head) n
		WHERE NOT EXISTS (SELECT FROM logsvc_internal.part p WHERE p.id = n)") == 0 && filters() == 1 },
	'the filter that named a deleted part has gone');
is((search('word20 | stats count'))[0], '[[0]]', 'deleted events are not found');
is((search('word21 | stats count'))[0], '[[300]]', 'others are');

# ---- what explain_query shows ----

like($t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.explain_query('word21 earliest=-3d | stats count')"),
	qr/ruled_out\(p\.id, \$(\d+)\).*-- \$\1 = \{[\d,]{1,99}\.\.\., \d+ in all\n/s, 'the first parts that are ruled out, and how many there are');

# ---- while it is made ----

$t->sql('DELETE FROM logsvc_internal.day_filter');
$expected{$_} = (search($_))[0] foreach @queries;
$t->stop_at('day_filter_before_commit');
$t->set('logsvc.compactors', 1);
my $pid = $t->wait_held('day_filter_before_commit');
same('while it is made');
is(filters(), 0, '... it is not there yet');
# A compactor that is ended leaves nothing, and its successor begins again.
$t->sql("SELECT pg_terminate_backend($pid)");
ok(wait_until(sub { my $held = $t->sql("SELECT stop_point.held('day_filter_before_commit')"); $held && $held != $pid }, 60),
	'another one makes it');
is(filters(), 0, '... from the beginning');
same('after a compactor has ended');
$t->let_go('day_filter_before_commit');
ok(wait_until(sub { filters() == 1 }, 60), 'then it is');
same('after that');
$t->restart;
$t->wait_ready;
same('after a restart');

# ---- by choice ----

$t->set('logsvc.day_filters', 'off');
same('where they are not used');
ok(wait_until(sub { filters() == 0 }, 60), '... they are removed');
$t->set('logsvc.day_filters', 'on');
ok(wait_until(sub { filters() == 1 }, 60), 'and made where they are');

# ---- a day that is gone ----

$t->sql("DELETE FROM logsvc_internal.part WHERE day < (now() AT TIME ZONE 'UTC')::date");
ok(wait_until(sub { filters() == 0 }, 60), 'without its parts it goes');

$t->stop;
done_testing;
