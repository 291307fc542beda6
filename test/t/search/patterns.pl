# patterns.pl: patterns counted inside parts, by the templates that parts store, are those of the
# rows; any number of rows has room, and what has none is said.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '200ms'",
	'logsvc.compactors = 0', "logsvc.search_workers_after = '0ms'", 'logsvc.search_workers = 2');
$t->organization('acme');
my $day = "date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - interval '1 day'";

# Statements of a program, some of them rare, some alike in words only.
sub load
{
	my ($n, $begin) = @_;
	$t->sql(qq{SELECT logsvc.act_as('acme');
		SELECT sum((logsvc.ingest(events) ->> 'accepted')::int) FROM (
			SELECT jsonb_agg(jsonb_build_object('event', CASE WHEN n % 4000 = 7 THEN 'only once ' || md5(n::text)
				WHEN n % 11 = 0 THEN 'user ' || translate(left(md5((n % 97)::text), 5), '0123456789', 'ghijklmnop') || ' logged in from 10.0.'
					|| n % 5 || '.' || n % 250
				WHEN n % 7 = 0 THEN 'GET /api/v1/orders/' || n || ' 200 ' || n % 900 || 'ms'
				WHEN n % 5 = 0 THEN 'job ' || md5(n::text) || ' finished'
				WHEN n % 3 = 0 THEN 'cache miss for key k' || n % 40 || CASE WHEN n % 2 = 0 THEN ', retrying' ELSE '' END
				ELSE '{"message": "payment ' || n || ' accepted", "amount": ' || n % 100 || '.5}' END,
				'source', 's' || n % 3, 'level', (ARRAY['info', 'info', 'warn', 'error'])[n % 4 + 1],
				'timestamp', $day + interval '$begin' + (n::bigint * 7919 % 36000) * interval '1 s',
				'attributes', jsonb_build_object('n', n, 'path', '/p/' || n % 9))) AS events
			FROM generate_series(1, $n) n GROUP BY n / 900) e});
	return wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 20);
}
load(9000, '1h');
load(4500, '12h');
load(20, '13h');
is($t->sql(q{SELECT string_agg(rows::text, ' ' ORDER BY id) FROM logsvc_internal.part WHERE }
	. q{index_name = 'main'}),
	'9000 4500 20', 'parts with templates, and one without');

# Everything but the samples, once inside parts and once of rows; `head` keeps it out of parts.
$t->sql(qq{
CREATE TABLE asked AS SELECT head, stage, to_char(first, f) AS first, to_char(last, f) AS last, NULL::jsonb AS rows,
	NULL::jsonb AS expected, NULL::text AS inside, NULL::text AS outside
FROM (VALUES ('YYYY-MM-DD"T"HH24:MI:SS"Z"')) f(f),
	unnest(ARRAY['', 'level=error ', 'n<3000 ', 'cache ', 'source=s1 NOT logged ']) head,
	unnest(ARRAY['patterns max=500', 'patterns max=500 rare=20', 'patterns max=3 rare=0 samples=0', 'patterns by source', 'patterns path',
		'patterns n by level', 'patterns sim=0.9 samples=5']) stage,
	(SELECT ($day + a::interval) AT TIME ZONE 'UTC', ($day + b::interval) AT TIME ZONE 'UTC' FROM (VALUES ('0h', '24h'), ('6h17m13s', '15h33m7s'))
		r(a, b)) r(first, last);
DO \$\$ BEGIN PERFORM logsvc.act_as('acme'); END \$\$;
UPDATE asked SET rows = logsvc.search(head || '| ' || stage, earliest => first, latest => last, "limit" => 10000) #> '{data,rows}',
	expected = logsvc.search(head || '| head 1000000 | ' || stage, earliest => first, latest => last, "limit" => 10000) #> '{data,rows}',
	inside = logsvc.explain_query(head || '| ' || stage), outside = logsvc.explain_query(head || '| head 1000000 | ' || stage)});
is($t->sql(q{SELECT count(*) FROM asked WHERE inside NOT LIKE '%group_parts%' OR outside LIKE '%group_parts%'}), 0,
	'patterns are made inside parts, or of rows');
is($t->sql(q{SELECT count(*) FROM asked WHERE jsonb_array_length(rows) = 0}), 0, 'there are patterns');
my $without_samples = q{(SELECT jsonb_agg(r - -1 ORDER BY i) FROM jsonb_array_elements(%s) WITH ORDINALITY e(r, i))};
is($t->sql(sprintf q{SELECT string_agg(head || '| ' || stage || ' from ' || first, '; ') FROM asked WHERE %s IS DISTINCT FROM %s},
		sprintf($without_samples, 'rows'), sprintf($without_samples, 'expected')),
	'', 'they are the same, with counts and times');
is($t->sql(q{SELECT count(*) FROM asked, jsonb_array_elements(rows) r WHERE stage = 'patterns sim=0.9 samples=5'
	AND (r ->> 2)::int > 100 AND jsonb_array_length(r -> 6) < 5 AND NOT head = 'cache ' AND r ->> 0 NOT LIKE '%key%' }), 0,
	'with samples of frequent ones');

# Rows of which each has words of its own.
$t->sql(qq{SELECT logsvc.act_as('acme');
	SELECT sum((logsvc.ingest(events) ->> 'accepted')::int) FROM (
		SELECT jsonb_agg(jsonb_build_object('source', 'unlike', 'event', repeat(translate(md5(n::text), '0123456789', 'ghijklmnop') || ' ', 4)))
			AS events FROM generate_series(1, 3000) n GROUP BY n / 900) e});
my $warned = sub
{
	my ($memory) = @_;
	return $t->sql(qq{SET logsvc.search_memory = '$memory'; SELECT logsvc.act_as('acme');
		SELECT coalesce(jsonb_path_query_first(a, '\$.meta.warnings[*] ? (\@.code == "PATTERNS_LIMIT").message') ->> 0, '')
			|| ';' || (a #>> '{data,rows,0,0}')
		FROM logsvc.search('source=unlike | patterns max=500 rare=0 samples=0 | stats sum(count), count', earliest => '-1h') a}) =~ s/.*\n//sr;
};
is($warned->('64MB'), ';500', 'as many patterns as are asked for');
my ($left_out, $counted) = $warned->('1MB') =~ /left out (\d+) rows.*;(\d+)/;
ok(($left_out // 0) > 1000 && $left_out < 3000, 'rows for which there is no memory are said');
is(($left_out // 0) + ($counted // 0), 3000, 'the others are counted');

done_testing();
