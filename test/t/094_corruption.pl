# 094_corruption.pl: a part with damaged bytes gives an error that names it, or the
# answer that it gave before: never another one, never a crash.
# Nor may it take long: a statement_timeout ends what does.
#	make corruption FLIPS=5000 SEED=7
#	make corruption SEED=7 FIRST=311 FLIPS=1	# one of them again
use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin/../differential";
use LogsvcDifferential;
use LogsvcTest;
use Test::More;

my $seed = $ENV{SEED} || 1 + int rand 1_000_000;
my $first = $ENV{FIRST} || 0;
my $flips = $ENV{FLIPS} || 40;
my $d = LogsvcDifferential->new(seed => $seed, events => 500);
my $t = $d->t;

# Answers without what differs from run to run; damage happens in a subtransaction.
$t->sql(q{
CREATE TABLE damage_query (q text, answer text);
CREATE FUNCTION damage_answer(q text) RETURNS text LANGUAGE sql AS $$
	SELECT md5((r -> 'data')::text) FROM logsvc_internal.search_json(q, '-70d', 'now', 10000) r $$;
CREATE FUNCTION damaged(bytes bytea) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
	size int := length(bytes);
	at int := floor(random() * size);
	kind float8 := random();
BEGIN
	IF size = 0 THEN
		RETURN '\x00';
	ELSIF kind < 0.5 THEN
		RETURN set_bit(bytes, at::bigint * 8 + floor(random() * 8)::int, 1 - get_bit(bytes, at::bigint * 8 + floor(random() * 8)::int));
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
			UPDATE logsvc_internal.queue q SET header = CASE WHEN in_header THEN damaged(header) ELSE header END,
				body = CASE WHEN in_header THEN body ELSE damaged(body) END WHERE id = victim;
		ELSE
			SELECT id INTO victim FROM logsvc_internal.part ORDER BY random() LIMIT 1;
			UPDATE logsvc_internal.part p SET header = CASE WHEN in_header THEN damaged(header) ELSE header END,
				body = CASE WHEN in_header THEN body ELSE damaged(body) END WHERE id = victim;
		END IF;
		FOR one IN SELECT * FROM damage_query LOOP
			began := clock_timestamp();
			BEGIN
				got := damage_answer(one.q);
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
	('status>=500'), ('user.id=42'), ('level=error NOT source=api'), ('request_id=*0a'), ('timestamp>2026-01-01'), ('| head 3'), ('| sort -duration_ms, host | head 5'),
	('| dedup host'), ('| stats count'), ('| stats count by level, index'), ('level=error | stats count, dc(request_id), sum(duration_ms), p95(n), min(path), first(event) by service'),
	('| timechart span=1w count by level'), ('| top 5 path by host'), ('| eval x = len(event) | where x > 40 | fields x'), ('| rex "user=(?<who>\w+)" | stats count by who'),
	('| patterns max=20 | fields template, count');
SELECT logsvc.act_as('acme');
UPDATE damage_query SET answer = damage_answer(q);
});

my ($broken, $same, @wrong) = (0, 0);
for (my $done = $first; $done < $first + $flips; $done += 20)
{
	my $last = $done + 20 < $first + $flips ? $done + 20 : $first + $flips;
	my $out = $t->sql(join '; ', "SELECT logsvc.act_as('acme'); SET statement_timeout = '30s'",
		map { sprintf 'SELECT setseed(%.9f); SELECT * FROM damage(%d)', ($seed * 7919 + $_) * 7907 % 1_000_003 / 1_000_003, $_ } $done .. $last - 1);
	foreach my $line (grep { /^\d+\|\d+\|/ } split /\n/, $out)
	{
		my ($b, $s, $w) = split /\|/, $line, 3;
		$broken += $b;
		$same += $s;
		push @wrong, "SEED=$seed $w" if $w ne '';
	}
}
note "$broken errors, $same answers as before";
is(join("\n", @wrong[ 0 .. ($#wrong > 4 ? 4 : $#wrong) ]), '', "an error that names the part, or the same answer (SEED=$seed)");
cmp_ok($broken, '>', $flips, 'damage is found') if $flips >= 40;
unlike($t->log_text, qr/was terminated by signal|PANIC/, 'no process crashed');
$d->stop;
done_testing;
