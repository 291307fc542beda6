# time_counts.pl: histograms from the headers of parts, and counts by the values of a field, are
# what counting the rows gives, whatever the range, buckets and filter; and they read no rows.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '200ms'",
	'logsvc.compactors = 0');
$t->organization('acme');
my $day = "date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - interval '1 day'";

# Events of yesterday become a part of their own.
sub load
{
	my ($n, $begin, $seconds) = @_;
	$t->sql(qq{SELECT logsvc.act_as('acme');
		SELECT sum((logsvc.ingest(events) ->> 'accepted')::int) FROM (
			SELECT jsonb_agg(jsonb_build_object('event', 'request ' || n, 'source', 's' || n % 3,
				'level', (ARRAY['info', 'info', 'info', 'warn', 'error', 'debug', NULL])[n % 7 + 1],
				'timestamp', $day + interval '$begin' + (n::bigint * 7919 * 1009 % ($seconds * 1000)) * interval '1 ms',
				'attributes', jsonb_build_object('n', n, 'host', 'h' || n % 20, 'code', 200 + n % 4)
					|| CASE n % 5 WHEN 0 THEN jsonb_build_object('zone', 'z' || n % 3, 'mixed', n % 2) WHEN 1
						THEN '{"mixed": "a"}' WHEN 2 THEN '{"mixed": null}' WHEN 3 THEN '{"deep": {"a": 1}}' ELSE '{}' END)) AS events
			FROM generate_series(1, $n) n GROUP BY n / 900) e});
	return wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 });
}
load(9000, '2h', 36000);
load(4500, '15h20m', 1200);
is($t->sql(q{SELECT string_agg(rows::text, ' ' ORDER BY id) FROM logsvc_internal.part WHERE }
	. q{index_name = 'main'}),
	'9000 4500', 'parts that are large enough');
is($t->sql(q{SELECT logsvc.act_as('acme'); SELECT count(*) FROM logsvc.verify_parts() WHERE }
	. q{problem IS NOT NULL}) =~ s/.*\n//sr, 0,
	'all is well with them');

# Each search once more with a stage that keeps the grouping out of the parts.
$t->sql(qq{
CREATE TABLE asked (head text, stage text, first text, last text, even boolean, rows text, expected text, bytes bigint);
INSERT INTO asked SELECT head, stage, to_char(first, f), to_char(last, f), even
FROM (VALUES ('YYYY-MM-DD"T"HH24:MI:SS"Z"')) f(f),
	unnest(ARRAY['', 'level=error ', 'level!=info ', 'NOT level=error ', 'level=err* ', '(level=warn OR level=debug) ',
		'level=nothing ', 'level=error n>0 ']) head,
	unnest(ARRAY['timechart span=1h count', 'timechart span=30m count by level', 'timechart span=15m limit=2 count by level, index',
		'timechart span=7m count', 'timechart span=1h count by source', 'stats count', 'stats count by level',
		'timechart span=1d count, max(n)']) stage,
	(SELECT ($day + a::interval) AT TIME ZONE 'UTC', ($day + b::interval) AT TIME ZONE 'UTC', even FROM (VALUES ('0h', '24h', true), ('3h', '7h', true),
		('6h30m', '15h30m', true), ('6h17m13s', '15h33m7s', false), ('16h', '18h', true)) r(a, b, even)) r(first, last, even);
DO \$\$ BEGIN PERFORM logsvc.act_as('acme'); END \$\$;
UPDATE asked SET (rows, bytes) = (SELECT r #>> '{data,rows}', (r #>> '{meta,stats,bytesScanned}')::bigint
	FROM logsvc.search(head || '| ' || stage, earliest => first, latest => last, "limit" => 10000) r),
	expected = logsvc.search(head || '| where true | ' || stage, earliest => first, latest => last, "limit" => 10000) #>> '{data,rows}'});
is($t->sql(q{SELECT head || '| ' || stage || ' from ' || first || ' to ' || last FROM asked
	WHERE rows IS DISTINCT FROM expected}), '', 'histograms are what counting gives');
is($t->sql(q{SELECT count(DISTINCT rows) > 100 FROM asked}), 't', 'and differ');
# The same for values: the range has parts that are entirely in it, and others.
$t->sql(qq{
CREATE TABLE counted AS SELECT head, stage, to_char(first, f) AS first, to_char(last, f) AS last, even, NULL::text AS rows,
	NULL::text AS expected, NULL::int AS scanned
FROM (VALUES ('YYYY-MM-DD"T"HH24:MI:SS"Z"')) f(f), unnest(ARRAY['', 'level=error ', 'level!=info ', 'host=h7 ', 'index=main ', 'host IN (h1, h2) level=error ', 'NOT zone=z1 ',
		'code>=202 OR level=warn ', 'NOT (host=h3 OR level=error) ', 'mixed=1 ', 'zone=* ', 'NOT nothing=1 ']) head,
	unnest(ARRAY['stats count by source', 'stats count by host, level', 'stats count by level, zone', 'stats count by code',
		'stats count by mixed', 'stats count by zone, index, nothing', 'top 30 host', 'rare 2 source', 'top zone by level',
		'timechart span=1d limit=5 count by host', 'stats count by host, code', 'stats count by deep.a', 'stats count by n | head 50',
		'stats count, max(timestamp) by index', 'stats min(timestamp) as a, count by source']) stage,
	(SELECT ($day + a::interval) AT TIME ZONE 'UTC', ($day + b::interval) AT TIME ZONE 'UTC', even
		FROM (VALUES ('0h', '24h', true), ('2h', '7h', false), ('5h', '16h', false)) r(a, b, even)) r(first, last, even);
DO \$\$ BEGIN PERFORM logsvc.act_as('acme'); END \$\$;
UPDATE counted SET (rows, scanned) = (SELECT r #>> '{data,rows}', (r #>> '{meta,stats,rowsScanned}')::int
	FROM logsvc.search(head || '| ' || stage, earliest => first, latest => last, "limit" => 10000) r),
	expected = logsvc.search(head || '| where true | ' || stage, earliest => first, latest => last, "limit" => 10000) #>> '{data,rows}'});
is($t->sql(q{SELECT head || '| ' || stage || ' from ' || first || ' to ' || last FROM counted
	WHERE rows IS DISTINCT FROM expected}), '', 'counts by value are what counting gives');
is($t->sql(q{SELECT count(DISTINCT rows) > 60 FROM counted}), 't', 'and differ');
is($t->sql(q{SELECT head || '| ' || stage || ' reads ' || scanned FROM counted WHERE even AND scanned > 0
	AND head IN ('', 'level=error ', 'level!=info ', 'index=main ') AND stage !~ 'host, code|deep|by n|min'
	AND (head !~ 'level' OR stage !~ 'max')}), '', 'and no rows are read');
is($t->sql(q{SELECT head || '| ' || stage || ' reads ' || scanned FROM counted WHERE even AND scanned > 0
	AND (head ~ 'host' AND stage ~ '^(stats|timechart).* (host|host, level)$|top 30' OR head ~ 'zone' AND stage ~ 'level, zone'
		OR head ~ 'code' AND stage ~ '^stats.*by code$')}),
	'', 'nor with a filter on values of the field that is counted');
# The fields beside rows: `event=*` is true for all rows, but not known from counts.
$t->sql(qq{
CREATE TABLE sidebar AS SELECT head, to_char(first, f) AS first, to_char(last, f) AS last, NULL::jsonb AS found, NULL::jsonb AS expected
FROM (VALUES ('YYYY-MM-DD"T"HH24:MI:SS"Z"')) f(f), unnest(ARRAY['', 'level=error ', 'level!=info ', 'host=h7 ', 'index=main ']) head,
	(SELECT ($day + a::interval) AT TIME ZONE 'UTC', ($day + b::interval) AT TIME ZONE 'UTC'
		FROM (VALUES ('0h', '24h'), ('2h', '7h'), ('14h', '20h'), ('15h', '20h')) r(a, b)) r(first, last);
DO \$\$ BEGIN PERFORM logsvc.act_as('acme'); END \$\$;
UPDATE sidebar SET found = logsvc.search(head, earliest => first, latest => last, "limit" => 1, include => '{histogram,fields}'),
	expected = logsvc.search(head || 'event=* ', earliest => first, latest => last, "limit" => 1, include => '{histogram,fields}')});
is($t->sql(q{SELECT head || ' from ' || first FROM sidebar WHERE (found -> 'meta') - '{stats,timing,tookMs,query,nextCursor,warnings}'::text[] IS DISTINCT FROM (expected -> 'meta') - '{stats,timing,tookMs,query,nextCursor,warnings}'::text[] OR found -> 'data' IS DISTINCT FROM expected -> 'data'
	OR found #> '{meta,stats,eventsMatched}' IS DISTINCT FROM expected #> '{meta,stats,eventsMatched}'
	OR found #> '{meta,stats,rowsMatched}' IS DISTINCT FROM expected #> '{meta,stats,rowsMatched}'}), '',
	'fields and their values are those of the rows, and no row counts twice');
is($t->sql(q{SELECT count(DISTINCT found #>> '{meta,fields}') > 10 FROM sidebar}), 't', '... and differ');
# A header takes some 300 bytes, and the larger part has intervals of 15 minutes.
is($t->sql(q{SELECT head || '| ' || stage || ' from ' || first || ' to ' || last || ' reads ' || bytes FROM asked
	WHERE even AND bytes > 2000 AND head !~ 'n>0|err\*' AND stage !~ '7m|source|max'}), '',
	'where buckets and range begin as intervals do, no rows are read');
is($t->sql(q{SELECT string_agg(format('%s %s: %s %s', head, first, a.bytes, b.bytes), E'\n') FROM asked a JOIN asked b USING (head, first)
	WHERE a.stage LIKE '%7m count' AND b.stage LIKE '%1h count' AND a.even AND head !~ 'n>0|nothing|err\*'
	AND first !~ '16:00' AND a.bytes <= b.bytes}), '', 'elsewhere they are');
$t->stop;
done_testing;
