-- The tables of events can be distributed over servers by their organization: what
-- Citus would refuse is refused here, without Citus.
SELECT plan(19);

CREATE TEMP TABLE distributed (name regclass);
INSERT INTO distributed SELECT t FROM unnest(logsvc_internal.event_tables()) AS t;
SELECT is((SELECT string_agg(name::text, ' ' ORDER BY name::text) FROM distributed),
	(SELECT string_agg('logsvc_internal.' || t, ' ' ORDER BY t) FROM
		unnest('{part,queue,deferred,dead_letter,deletion,ingest_tally,ingest_day}'::text[]) AS t),
	'the tables of events');
INSERT INTO distributed SELECT i.inhrelid::regclass FROM pg_inherits i JOIN distributed d ON d.name = i.inhparent;
-- Those that are made later.
SELECT ok(logsvc_internal.make_part_partition('2020-02-29'), 'a day gets a partition');
SELECT lives_ok($$ SELECT logsvc_internal.make_queue_segment(4) $$, 'the queue gets a segment');
INSERT INTO distributed VALUES ('logsvc_internal.part_20200229'), ('logsvc_internal.queue_4');

SELECT is_empty($$
	SELECT d.name FROM distributed d WHERE NOT EXISTS (SELECT FROM pg_attribute a
		WHERE a.attrelid = d.name AND a.attname = 'organization_id' AND a.atttypid = 'uuid'::regtype AND a.attnotnull)
$$, 'each row has an organization');

SELECT is_empty($$
	SELECT i.indexrelid::regclass FROM distributed d JOIN pg_index i ON i.indrelid = d.name
	WHERE (i.indisunique OR i.indisexclusion) AND NOT EXISTS (SELECT FROM pg_attribute a
		WHERE a.attrelid = d.name AND a.attname = 'organization_id' AND a.attnum = ANY (i.indkey::int2[]))
$$, 'each unique index has the organization');

-- Rows that move to another server are found by their keys there.
SELECT is_empty($$
	SELECT d.name FROM distributed d JOIN pg_class c ON c.oid = d.name
	WHERE c.relkind = 'r' AND d.name <> 'logsvc_internal.ingest_tally'::regclass
		AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = d.name AND k.contype = 'p')
$$, 'each table that can be large has a primary key');

SELECT is_empty($$
	SELECT d.name, t.tgname FROM distributed d JOIN pg_trigger t ON t.tgrelid = d.name WHERE NOT t.tgisinternal
$$, 'none has a trigger');

SELECT is_empty($$
	SELECT k.conrelid::regclass, k.conname FROM pg_constraint k
	WHERE k.contype = 'f' AND (k.confrelid IN (SELECT name FROM distributed)
		OR k.conrelid IN (SELECT name FROM distributed) AND k.confrelid <> 'logsvc_internal.organization'::regclass)
$$, 'none is referred to, and none refers to another table than that of organizations');

SELECT is_empty($$
	SELECT d.name, p.polname FROM distributed d JOIN pg_policy p ON p.polrelid = d.name
	WHERE coalesce(p.polqual::text, '') || coalesce(p.polwithcheck::text, '') LIKE '%SUBLINK%'
$$, 'no policy has a subquery');

SELECT is_empty($$
	SELECT d.name, a.attname FROM distributed d JOIN pg_attribute a ON a.attrelid = d.name
	WHERE a.attnum > 0 AND NOT a.attisdropped AND (a.attidentity <> '' OR a.attgenerated <> '')
$$, 'no column numbers itself');

-- ---- what changes while they are distributed ----

CREATE TEMP VIEW referring AS SELECT k.conrelid::regclass AS name, k.conname,
	pg_get_constraintdef(k.oid) AS definition
FROM pg_constraint k JOIN distributed d ON d.name = k.conrelid WHERE k.contype = 'f';
CREATE TEMP TABLE referred AS SELECT * FROM referring;
INSERT INTO logsvc_internal.organization (slug, name) VALUES ('kept', 'Kept');
SELECT lives_ok($$ SELECT logsvc_internal.refer_to_organizations(false) $$, 'before');
SELECT is_empty($$ SELECT * FROM referring $$, 'none refers to its organization');
INSERT INTO logsvc_internal.ingest_day (organization_id, day, test)
SELECT o.id, current_date, false FROM logsvc_internal.organization o WHERE o.slug = 'kept'
UNION ALL SELECT logsvc_internal.new_id(), current_date, false;
SELECT lives_ok($$ SELECT logsvc_internal.refer_to_organizations(true) $$,
	'and back, with a row of an organization that is gone');
SELECT set_eq('SELECT * FROM referring', 'SELECT * FROM referred', 'all do as before');
SELECT is((SELECT count(*) FROM logsvc_internal.ingest_day), 1::bigint, 'nothing else is gone');

-- ---- without Citus ----

SELECT throws_ok($$ SELECT logsvc.distribute() $$, '55000', 'Citus is not in this database',
	'nothing is distributed without Citus');
SELECT throws_ok($$ SELECT logsvc.distribute("check" => true) $$, '55000', 'Citus is not in this database',
	'nor would it be');
INSERT INTO logsvc_internal.queue (id, organization_id, rows, min_time, max_time, level_mask, header, body)
SELECT n, logsvc_internal.new_id(), 3, now(), now(), 0, '', '' FROM generate_series(1, 2) n;
SELECT is((SELECT concat_ws(' ', coalesce(node, '-'), role, answers, version, runs, organizations, events, shards, bytes > 0)
	FROM logsvc.node_status()), '- server t ' || (SELECT extversion FROM pg_extension WHERE extname = 'logsvc') || ' f 2 6 0 t',
	'a server alone is its only node');
SELECT is_empty($$ SELECT name FROM distributed WHERE logsvc_internal.stored_in(name) <> name $$, 'each table has its rows itself');

SELECT * FROM finish();
