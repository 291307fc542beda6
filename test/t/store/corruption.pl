# corruption.pl: a part with damaged bytes gives an error that names it, or the
# answer that it gave before: never another one, never a crash.
# Nor may it take long: a statement_timeout ends what does.
#	make corruption FLIPS=5000 SEED=7
#	make corruption SEED=7 FIRST=311 FLIPS=1	# one of them again
use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin/../../differential";
use LogsvcDifferential;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $seed = $ENV{SEED} || 1;
my $first = $ENV{FIRST} || 0;
my $flips = $ENV{FLIPS} || 40;
my $d = LogsvcDifferential->new(seed => $seed, events => 500);
my $t = $d->t;

# Answers without what differs from run to run; damage happens in a subtransaction.
$t->sql(q{
CREATE TABLE damage_query (q text, beside text[], answer text);
CREATE FUNCTION damage_answer(q text, beside text[]) RETURNS text LANGUAGE sql AS $$
	SELECT md5(concat(r -> 'data', r #> '{meta,histogram,buckets}', r #> '{meta,fields}'))
	FROM logsvc_internal.search_json(q, '-70d@d', '+1d@d', 10000, include => beside) r $$;
CREATE FUNCTION damaged(bytes bytea) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
	size int := length(bytes);
	at int := floor(random() * size);
	bit bigint := at::bigint * 8 + floor(random() * 8)::int;
	kind float8 := random();
BEGIN
	IF size = 0 THEN
		RETURN '\x00';
	ELSIF kind < 0.5 THEN
		RETURN set_bit(bytes, bit, 1 - get_bit(bytes, bit));
	ELSIF kind < 0.7 THEN
		RETURN set_byte(bytes, at, floor(random() * 256)::int);
	ELSIF kind < 0.8 THEN
		RETURN substring(bytes FROM 1 FOR at);
	ELSIF kind < 0.85 THEN
		RETURN substring(bytes FROM 1 FOR at) || substring(bytes FROM at + 2);
	ELSIF kind < 0.9 THEN
		RETURN bytes || substring(bytes FROM at + 1 FOR 20);
	ELSIF kind < 0.95 THEN
		RETURN overlay(bytes PLACING decode(repeat('ff', least(8, size - at)), 'hex') FROM at + 1);
	END IF;
	RETURN ''::bytea;
END $$;
-- One part is damaged, all queries asked, and the damage undone.
CREATE FUNCTION damage(flip int, OUT broken int, OUT same int, OUT wrong text) LANGUAGE plpgsql AS $$
DECLARE
	began timestamptz;
	problem text;
	victim bigint;
	in_queue boolean := random() < 0.2;
	in_header boolean := random() < 0.35;
	one record;
	got text;
BEGIN
	broken := 0;
	same := 0;
	BEGIN
		IF in_queue THEN
			-- The writer that is held has locked some of them.
			SELECT id INTO STRICT victim FROM logsvc_internal.queue ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED;
			UPDATE logsvc_internal.queue q SET header
				= CASE WHEN in_header THEN damaged(header) ELSE header END,
				body = CASE WHEN in_header THEN body ELSE damaged(body) END WHERE id = victim;
		ELSE
			SELECT id INTO victim FROM logsvc_internal.part ORDER BY random() LIMIT 1;
			UPDATE logsvc_internal.part p SET header
				= CASE WHEN in_header THEN damaged(header) ELSE header END,
				body = CASE WHEN in_header THEN body ELSE damaged(body) END WHERE id = victim;
		END IF;
		FOR one IN SELECT * FROM damage_query LOOP
			began := clock_timestamp();
			BEGIN
				got := damage_answer(one.q, one.beside);
				IF got <> one.answer THEN
					wrong := 'another answer: ' || one.q;
				END IF;
				same := same + 1;
			EXCEPTION WHEN query_canceled THEN
				-- The timer of a statement goes off once, so this flip is over.
				wrong := format('%s: too slow, took %s', one.q, clock_timestamp() - began);
				EXIT;
			WHEN OTHERS THEN
				broken := broken + 1;
				IF SQLSTATE <> 'LS803' OR SQLERRM NOT LIKE '% ' || victim || ' is corrupt: %' THEN
					wrong := format('%s: %s %s', one.q, SQLSTATE, SQLERRM);
				END IF;
			END;
		END LOOP;
		-- What a search cannot read verify_parts() finds.
		IF NOT in_queue THEN
			SELECT logsvc_internal.part_problem(id, header, body, day, min_time, max_time, rows, level_mask, min_batch, max_batch)
			INTO problem FROM logsvc_internal.part WHERE id = victim;
			IF broken > 0 AND problem IS NULL THEN
				wrong := 'verify_parts finds nothing';
			END IF;
		END IF;
		RAISE EXCEPTION USING ERRCODE = 'ZZ999';
	EXCEPTION WHEN SQLSTATE 'ZZ999' THEN NULL;
	END;
	wrong := CASE WHEN wrong IS NOT NULL THEN format('FIRST=%s, %s %s: %s', flip, CASE WHEN in_queue THEN 'entry' ELSE 'part' END, victim, wrong) END;
END $$;
INSERT INTO damage_query (q) VALUES (''), ('error'), ('"connection reset"'), ('ti*'), ('event CONTAINS "user="'), ('event MATCHES "\d+ ms"'),
	('status>=500'), ('user.id=42'), ('user.id:42'), ('request_id:x | head 1'), ('level=error NOT source=api'), ('request_id=*0a'), ('timestamp>2026-01-01'), ('| head 3'), ('| sort -duration_ms, host | head 5'),
	('| dedup host'), ('| stats count'), ('| stats count by level, index'), ('level=error | stats count, dc(request_id), sum(duration_ms), p95(n), min(path), first(event) by service'),
	('| timechart span=1w count by level'), ('| top 5 path by host'), ('| eval x = len(event) | where x > 40 | fields x'), ('| rex "user=(?<who>\w+)" | stats count by who'),
	('| patterns max=20 | fields template, count'), ('| fields - user.id | eval x = user | head 20');
INSERT INTO damage_query (q, beside) VALUES ('| stats count', '{fields}'), ('request | head 1', '{histogram}'), ('level=error | head 1', '{histogram,fields}');
SELECT logsvc.act_as('acme');
UPDATE damage_query SET answer = damage_answer(q, beside);
});

my ($broken, $same, @wrong) = (0, 0);
for (my $done = $first; $done < $first + $flips; $done += 20)
{
	my $last = $done + 20 < $first + $flips ? $done + 20 : $first + $flips;
	my $out = $t->sql(join '; ', "SELECT logsvc.act_as('acme'); SET statement_timeout = '30s'",
		map { sprintf 'SELECT setseed(%.9f); SELECT * FROM damage(%d)',
			($seed * 7919 + $_) * 7907 % 1_000_003 / 1_000_003, $_ } $done .. $last - 1);
	foreach my $line (grep { /^\d+\|\d+\|/ } split /\n/, $out)
	{
		my ($b, $s, $w) = split /\|/, $line, 3;
		$broken += $b;
		$same += $s;
		push @wrong, "SEED=$seed $w" if $w ne '';
	}
}
note "$broken errors, $same answers as before";
is(join("\n", @wrong[ 0 .. ($#wrong > 4 ? 4 : $#wrong) ]), '',
	"an error that names the part, or the same answer (SEED=$seed)");
cmp_ok($broken, '>', $flips, 'damage is found') if $flips >= 40;

# ---- merges, deletions and retention among damaged parts ----

# In each of twelve indexes are parts of the same events; some of them are damaged.
# Another organization has parts too, and they are as they should be.
my @indexes = map { "z$_" } 1 .. 12;
my $globex = $t->organization('globex');
my $uuid = $t->sql(q{SELECT id FROM logsvc_internal.organization WHERE slug = 'acme'});
my $mine = "organization_id = '$uuid' AND index_name ~ '^z[0-9]+\$'";

sub compactors
{
	my ($n) = @_;
	$t->set('logsvc.compactors', $n);
	return wait_until(sub { $t->workers('^logsvc compactor$') == $n });
}
# So many more parts of each index, and of an index of the other organization.
sub copies
{
	my ($n) = @_;
	$t->sql(qq{INSERT INTO logsvc_internal.part (organization_id, index_name, day, level, min_time, max_time, rows, raw_bytes, level_mask,
			min_batch, max_batch, header, body)
		SELECT o.id, i, p.day, 1, p.min_time, p.max_time, p.rows, p.raw_bytes, p.level_mask, p.min_batch, p.max_batch, p.header, p.body
		FROM (SELECT * FROM logsvc_internal.part WHERE organization_id = '$uuid' AND index_name = 'main' AND level >= 1
			ORDER BY day DESC, rows DESC LIMIT 1) p, generate_series(1, $n) k,
			(SELECT '$uuid'::uuid AS id, i FROM unnest('{@{[ join ',', @indexes ]}}'::text[]) i
			 UNION ALL SELECT id, 'main' FROM logsvc_internal.organization WHERE slug = 'globex') o});
	return;
}
# Damages one part of each index; ids of those that verify_parts finds.
sub damage_some
{
	my ($round) = @_;
	$t->sql(qq{SELECT setseed(@{[ (($seed + $round) * 7919 % 1_000_003) / 1_000_003 ]});
		UPDATE logsvc_internal.part p SET header
			= CASE WHEN v.n % 3 = 0 THEN damaged(p.header) ELSE p.header END,
			body = CASE WHEN v.n % 3 = 0 THEN p.body ELSE damaged(p.body) END
		FROM (SELECT min(id) AS id, row_number() OVER (ORDER BY index_name) AS n FROM logsvc_internal.part
			WHERE $mine AND level > 0 GROUP BY index_name) v
		WHERE p.id = v.id});
	return split /\n/, $t->sql("SELECT part_id FROM logsvc.verify_parts('acme') WHERE index_name ~ "
		. "'^z[0-9]+\$' AND level > 0 ORDER BY 1");
}
sub sum { my ($what, $where) = @_; return $t->sql("SELECT coalesce(sum($what), 0) FROM "
	. "logsvc_internal.part WHERE $where"); }
sub failures { my ($r) = @_; return "$r->{status} " . ($r->{json}{code} // ''); }

# A deletion waits for what is in the queue.
$t->let_go('write_after_delete');
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }),
	'everything is stored');
ok(compactors(0), 'no compactor');
$t->sql("SELECT logsvc.act_as('acme');" . join ';',
	map { "SELECT logsvc.create_index('$_', retention_days => 100)" } @indexes);
copies(2);
my $size = sum('rows', "$mine") / 24;

# A deletion goes around what it cannot read.
my %token = (token => $d->{org}{token});
my $run = $t->http(DELETE => '/api/v1/logs', %token,
	json => { q => 'index=z* earliest=-100d latest=+1d event=*', reason => 'x' });
is($run->{status}, 202, 'a deletion of what can be read yet') or diag $run->{content};
my @bad = damage_some(1);
cmp_ok(scalar(@bad), '>', 6, 'damaged: ' . @bad);
my $r = $t->http(GET => '/api/v1/search', %token,
	query => { q => 'index=z* earliest=-100d event=* | stats count, dc(event), min(n)' });
like(failures($r), qr/^500 /, 'a search of damaged parts is an error');
$r = $t->http(DELETE => '/api/v1/logs', %token, json => { q => 'index=z* earliest=-100d event=*',
	reason => 'x' });
like(failures($r), qr/^500 /, 'and so is another deletion');
is($t->http(GET => '/api/v1/search', token => $globex->{token},
	query => { q => 'earliest=-100d | stats count' })->{json}{data}{rows}[0][0],
	2 * $size, 'another organization searches');
is($t->http(GET => '/api/v1/search', %token,
	query => { q => 'index=web earliest=-100d | head 1' })->{status}, 200, 'as do other indexes');
my $log = $t->log_position;
ok(compactors(1), 'a compactor');
my ($compactor) = $t->workers('^logsvc compactor$');
my $deletion;
ok(wait_until(sub { $deletion = $t->http(GET => "/api/v1/log-deletions/$run->{json}{data}{runId}",
	%token)->{json}{data}; $deletion->{finishedAt} }),
	'the deletion ends');
my $left = sum('1', $mine);
is("$deletion->{status} $deletion->{skippedParts}", ($left ? 'incomplete' : 'done') . " $left",
	'it says how many parts it could not read');
is($deletion->{deleted}, (24 - $left) * $size, 'everything else is deleted');
is($t->sql("SELECT count(*) FROM logsvc_internal.part WHERE $mine AND id NOT IN "
	. "(@{[ join ',', 0, @bad ]})"), 0, 'only damaged parts are left');

my @left = split /\n/, $t->sql("SELECT id FROM logsvc_internal.part WHERE $mine ORDER BY id");
# At most ten of each slice.
sub is_named
{
	my %left = map { $_ => 1 } @_;
	my @named = $t->log_text($log)
		=~ /logsvc part (\d+) cannot be read, and a deletion leaves it: ./g;
	is(join(' ', grep { !$left{$_} } @named), '', 'the log names no others');
	cmp_ok(scalar(@named), '>=', @_ > 10 ? 10 : @_, 'but them: ' . @named . ' of ' . @_);
	return;
}
is_named(@left);
my $silent = $t->log_position;

# Merges go around it too: each part is tried once.
ok(compactors(0), 'no compactor');
$t->sql("DELETE FROM logsvc_internal.part WHERE $mine");
copies(9);
@bad = damage_some(2);
is($t->log_text($silent) =~ s/^.* statement: .*\n//mgr =~ /logsvc part|could not/, '',
	'and says nothing more about it');
$log = $t->log_position;
ok(compactors(1), 'a compactor');
($compactor) = $t->workers('^logsvc compactor$');
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.part WHERE $mine AND level = 1")
	== 0 }), 'all that can be read is merged')
  or diag $t->sql("SELECT index_name, level, count(*) FROM logsvc_internal.part WHERE $mine "
  . "GROUP BY 1, 2");
is($t->sql("SELECT string_agg(id::text, ' ' ORDER BY id) FROM logsvc_internal.part WHERE $mine AND "
	. "level = -1"), join(' ', @bad), 'and nothing else is set aside');
is(sum('rows', "$mine AND level > 1"), (12 * 9 - @bad) * $size, 'no other event is lost');
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.part p JOIN "
	. "logsvc_internal.organization o ON o.id = p.organization_id"
	. " WHERE o.slug = 'globex' AND level > 1") > 0 }),
		'another organization is merged as well');
is($t->sql("SELECT string_agg(part_id::text, ' ' ORDER BY part_id) FROM "
	. "logsvc.verify_parts('acme') WHERE index_name ~ '^z'"), join(' ', @bad),
		'verify_parts finds them, and no merged part');
my $busy = sub { (split ' ', slurp_file("/proc/$compactor/stat"))[13] + (split ' ',
	slurp_file("/proc/$compactor/stat"))[14] };
my $ticks = $busy->();
sleep 1.5;    # in which it could compute
cmp_ok($busy->() - $ticks, '<', 40, 'the compactor rests');
my $said = $t->log_text($log);
is(join(' ', sort { $a <=> $b } $said =~
	/logsvc part (\d+) cannot be read and stays as it is: part \1 is corrupt: /g), join(' ', @bad),
		'the log names each part once');
unlike($said, qr/logsvc could not/, 'and nothing failed otherwise');

# What is past its retention goes, whatever its bytes are.
my $partition = $t->sql("SELECT DISTINCT tableoid::regclass FROM logsvc_internal.part WHERE $mine");
$t->sql("UPDATE logsvc_internal.part SET max_time = now() - interval '1000 days' WHERE $mine "
	. "AND level = -1");
is($t->sql("SELECT logsvc_internal.expire_parts('$partition', now(), 1000)"), scalar(@bad),
	'retention removes damaged parts');
is($t->sql("SELECT count(*) FROM logsvc.verify_parts('acme') WHERE index_name ~ '^z'"), 0,
	'then all is well');
is(join(' ', $t->workers('^logsvc compactor$')), $compactor, 'the same compactor runs as before');

# ---- bytes that the disk has lost ----

# Pages of the table in which bodies lie out of line are full of zeros.
ok(compactors(0), 'no compactor');
$t->sql("DELETE FROM logsvc_internal.part WHERE $mine");
copies(4);
$size = sum('rows', "$mine") / 48;
$run = $t->http(DELETE => '/api/v1/logs', %token,
	json => { q => 'index=z* earliest=-100d latest=+1d event=*', reason => 'x' });
is($run->{status}, 202, 'a deletion of what can be read yet') or diag $run->{content};
my ($path, $pages) = split /\|/, $t->sql("CHECKPOINT; SELECT pg_relation_filepath(reltoastrelid), "
	. "pg_relation_size(reltoastrelid) / 8192"
	. " FROM pg_class WHERE oid = '$partition'::regclass");
cmp_ok($pages, '>', 10, "$pages pages");
$t->stop;
open my $file, '+<', $t->node->data_dir . "/$path" or die "$path: $!";
foreach my $tenth (1 .. 10)
{
	seek $file, 8192 * int($pages * (0.6 + 0.039 * $tenth)), 0;
	print $file "\0" x 8192;
}
close $file or die $!;
$t->start;
$t->wait_ready;
@bad = split /\n/, $t->sql("SELECT part_id FROM logsvc.verify_parts('acme') WHERE index_name ~ "
	. "'^z' ORDER BY 1");
cmp_ok(scalar(@bad), '>', 0, 'damaged: ' . @bad);
$log = $t->log_position;
ok(compactors(1), 'a compactor');
ok(wait_until(sub { $deletion = $t->http(GET => "/api/v1/log-deletions/$run->{json}{data}{runId}",
	%token)->{json}{data}; $deletion->{finishedAt} }),
	'the deletion ends');
# One of which no lost byte is needed to say that all of it goes is gone too.
@left = split /\n/, $t->sql("SELECT id FROM logsvc_internal.part WHERE $mine ORDER BY id");
is(join(' ', grep { my $id = $_; !grep { $_ == $id } @bad } @left), '',
	'only damaged parts are left: ' . @left);
is("$deletion->{status} $deletion->{skippedParts} $deletion->{deleted}",
	(@left ? 'incomplete ' : 'done ') . @left . ' ' . (48 - @left) * $size, 'it says so');
is_named(@left);
unlike($t->log_text($log), qr/logsvc could not/, 'and nothing failed otherwise');
$t->sql("UPDATE logsvc_internal.part SET max_time = now() - interval '1000 days' WHERE $mine");
is($t->sql("SELECT logsvc_internal.expire_parts('$partition', now(), 1000)"), scalar(@left),
	'retention removes them');
is($t->sql("SELECT count(*) FROM logsvc.verify_parts() WHERE index_name ~ '^z'"), 0,
	'then all is well');

unlike($t->log_text, qr/was terminated by signal|PANIC/, 'no process crashed');
$d->stop;
done_testing;
