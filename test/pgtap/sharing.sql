-- Tables that other servers have by logical replication: what it needs, and what acts there.
-- Numbers of batches of several servers.
SELECT plan(44);

CREATE TEMP VIEW shared AS SELECT c.oid, c.oid::regclass AS name, s.without, c.relreplident, c.relpersistence, c.relkind, c.relforcerowsecurity
FROM logsvc_internal.shared_tables() s JOIN pg_class c ON c.oid = s.shared;

-- ---- logical replication ----

SELECT is_empty($$
	SELECT name FROM shared WHERE relkind <> 'r' OR relpersistence <> 'p' OR relreplident <> 'd'
		OR NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = shared.oid AND k.contype = 'p')
$$, 'each is a table with a primary key, by which changes find their rows');
SELECT is_empty($$ SELECT name FROM shared WHERE relforcerowsecurity $$, 'the owner may write to each');
SELECT is_empty($$
	SELECT name, a.attname FROM shared JOIN pg_attribute a ON a.attrelid = shared.oid
	WHERE a.attnum > 0 AND NOT a.attisdropped AND (a.attgenerated <> '' OR a.attidentity <> ''
		OR a.attname = ANY (without) AND a.attnotnull AND NOT a.atthasdef)
$$, 'no column numbers itself, and what is left out can be');
SELECT is_empty($$
	SELECT name, w FROM shared, unnest(without) w
	WHERE NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = shared.oid AND a.attname = w AND NOT a.attisdropped)
$$, 'what is left out is there');
SELECT is_empty($$
	SELECT k.conrelid::regclass, k.confrelid::regclass FROM shared JOIN pg_constraint k ON k.conrelid = shared.oid
	WHERE k.contype = 'f' AND k.confrelid NOT IN (SELECT oid FROM shared)
$$, 'none refers to a table that is not there');
SELECT is_empty($$
	SELECT name, a.attname FROM shared JOIN pg_attribute a ON a.attrelid = shared.oid
	WHERE a.attname ~ 'secret|password' AND a.attname <> ALL (without)
$$, 'secrets in clear are left out');

-- Events of one organization could be replicated too: rows are chosen by columns of their keys.
SET client_min_messages = error;
CREATE PUBLICATION of_one FOR TABLE logsvc_internal.part WHERE (organization_id = '00000000-0000-0000-0000-000000000000'),
	logsvc_internal.queue WHERE (organization_id = '00000000-0000-0000-0000-000000000000'),
	logsvc_internal.deferred WHERE (organization_id = '00000000-0000-0000-0000-000000000000'),
	logsvc_internal.dead_letter WHERE (organization_id = '00000000-0000-0000-0000-000000000000'),
	logsvc_internal.deletion WHERE (organization_id = '00000000-0000-0000-0000-000000000000'),
	logsvc_internal.ingest_day WHERE (organization_id = '00000000-0000-0000-0000-000000000000')
	WITH (publish_via_partition_root = true);
RESET client_min_messages;
SELECT lives_ok(format('UPDATE %s SET organization_id = organization_id; DELETE FROM %1$s', t), t || ' can be published for one organization')
FROM unnest('{logsvc_internal.part,logsvc_internal.queue}'::regclass[]) t;
DROP PUBLICATION of_one;

-- ---- triggers ----

-- A trigger that changes other rows would do so twice: its changes come by replication, too.
SELECT is_empty($$
	SELECT name, t.tgname FROM shared JOIN pg_trigger t ON t.tgrelid = shared.oid
	WHERE NOT t.tgisinternal AND t.tgenabled <> 'O'
		AND t.tgfoid NOT IN ('logsvc_internal.access_changed'::regproc, 'logsvc_internal.heartbeat_arrived'::regproc)
$$, 'where they are copied, only caches are told, and a heartbeat is noted');
SELECT is(t.tgenabled::text || t.tgtype, 'R' || (1 + 2 + 4 + 16), 'which only a copy does, for each row that is inserted or updated')
FROM pg_trigger t WHERE t.tgfoid = 'logsvc_internal.heartbeat_arrived'::regproc;
-- Bits of tgtype: 1 row, 32 TRUNCATE.
SELECT is_empty($$
	SELECT name, t.tgname FROM shared JOIN pg_trigger t ON t.tgrelid = shared.oid
	WHERE t.tgfoid = 'logsvc_internal.access_changed'::regproc
		AND (t.tgenabled <> 'A' OR t.tgtype & 33 NOT IN (1, 32))
$$, 'these always, and for each row: replication fires no triggers of statements but TRUNCATE');
SELECT set_eq($$
	SELECT DISTINCT t.tgrelid::regclass FROM pg_trigger t WHERE t.tgfoid = 'logsvc_internal.access_changed'::regproc
		AND t.tgrelid NOT IN (SELECT oid FROM shared)
$$, ARRAY['logsvc_internal.role_binding'::regclass], 'what lookups read is shared, but for roles, which are those of a server');

-- ---- who is asked ----

SELECT throws_ok('SELECT logsvc.add_node()', '55000', 'this server does not share its accounts', 'no node of nothing');
SELECT throws_ok('SELECT logsvc.remove_node(1)', 'LS301', 'no such node', 'no node is there');
SELECT throws_ok('SELECT logsvc.remove_node(NULL)', 'LS301', 'no such node', 'nor that one');
SELECT is(logsvc.unfollow(), '{"follows": false}', 'a server alone follows none');
SELECT is(logsvc.unshare_accounts(), '{"nodes": 0, "shared": false}', 'and shares nothing');
SELECT is(logsvc_internal.follower_problem(), NULL, 'so nothing is wrong with it');
SELECT is(logsvc_internal.accounts_too_old(), false, 'nor is it too old');
SELECT is(logsvc_internal.accounts_age(), NULL, 'it has no age');
SELECT lives_ok($$ SELECT logsvc_internal.note_heartbeat(now()) $$, 'a heartbeat of a session');
SELECT is(logsvc_internal.accounts_age(), NULL, 'is none');
SELECT logsvc_internal.send_heartbeat() \g /dev/null
SELECT results_eq('SELECT answers FROM logsvc_internal.heartbeat', $$ VALUES ('{}'::timestamptz[]) $$, 'without nodes nobody has answered');

-- From PostgreSQL 16 on others than superusers make subscriptions.
SET client_min_messages = error;
CREATE ROLE maker;
CREATE PUBLICATION nothing;
CREATE SUBSCRIPTION logsvc_accounts CONNECTION 'host=/nowhere' PUBLICATION nothing WITH (connect = false, slot_name = NONE, enabled = false);
RESET client_min_messages;
SELECT ok(logsvc_internal.follows() AND logsvc_internal.accounts_too_old(), 'a superuser''s subscription makes a follower, which has heard nothing');
-- What a subscription applies: is it what comes after what was there?
CREATE FUNCTION pg_temp.beat(id uuid, previous uuid, slots uuid[]) RETURNS boolean LANGUAGE sql AS $$
	UPDATE logsvc_internal.heartbeat SET id = $1, previous = $2, slots = $3 RETURNING id IS NOT NULL
$$;
CREATE FUNCTION pg_temp.u(n int) RETURNS uuid LANGUAGE sql AS $$ SELECT lpad($1::text, 32, '0')::uuid $$;
UPDATE logsvc_internal.heartbeat SET id = pg_temp.u(1), slots = ARRAY[pg_temp.u(7), pg_temp.u(8)];
SET session_replication_role = replica;
UPDATE pg_subscription SET subslotname = 'logsvc_node_2' WHERE subname = 'logsvc_accounts';
SELECT ok(pg_temp.beat(pg_temp.u(2), pg_temp.u(1), ARRAY[pg_temp.u(7), pg_temp.u(8)]), 'the next heartbeat');
SELECT ok(pg_temp.beat(pg_temp.u(3), pg_temp.u(2), ARRAY[pg_temp.u(9), pg_temp.u(8)]), 'the slot of another node is made anew');
SELECT ok(NOT pg_temp.beat(pg_temp.u(4), pg_temp.u(3), ARRAY[pg_temp.u(9), pg_temp.u(6)]), 'that of this one is');
SELECT ok(NOT pg_temp.beat(pg_temp.u(5), pg_temp.u(4), ARRAY[pg_temp.u(9), pg_temp.u(6)]), 'what was missed stays so');
SET session_replication_role = origin;
UPDATE logsvc_internal.heartbeat SET id = pg_temp.u(1);
SET session_replication_role = replica;
SELECT ok(NOT pg_temp.beat(pg_temp.u(3), pg_temp.u(2), ARRAY[pg_temp.u(9), pg_temp.u(6)]), 'one that does not follow the one before');
SET session_replication_role = origin;
UPDATE logsvc_internal.heartbeat SET id = pg_temp.u(1), slots = '{}';
SET session_replication_role = replica;
SELECT ok(NOT pg_temp.beat(pg_temp.u(2), pg_temp.u(1), '{}'), 'a slot that add_node() has not made');
RESET session_replication_role;
UPDATE pg_subscription SET subslotname = NULL WHERE subname = 'logsvc_accounts';
UPDATE pg_subscription SET subowner = 'maker'::regrole WHERE subname = 'logsvc_accounts';
SELECT ok(NOT logsvc_internal.follows() AND NOT logsvc_internal.accounts_too_old(), 'that of somebody else makes none');
ALTER SCHEMA logsvc_internal OWNER TO maker;
SELECT ok(logsvc_internal.follows(), 'the owner of the extension may be no superuser any more');
ALTER SCHEMA logsvc_internal OWNER TO CURRENT_USER;
SELECT is(logsvc_internal.follows(), false, 'it is the owner that counts');
DROP SUBSCRIPTION logsvc_accounts;
SELECT is(logsvc_internal.follows(), false, 'and without one there is none');
DROP PUBLICATION nothing;
DROP ROLE maker;

-- ---- numbers ----

CREATE FUNCTION pg_temp.next() RETURNS bigint LANGUAGE sql AS $$
	SELECT nextval('logsvc_internal.batch_number') $$;
SELECT setval('logsvc_internal.batch_number', 1000000), setval('logsvc_internal.part_id', 500) \g /dev/null
SELECT logsvc_internal.number_batches(5) \g /dev/null
SELECT pg_temp.next() AS first, nextval('logsvc_internal.part_id') AS part \gset
SELECT ok(:first > 1000000 + 1024 AND :first % 1024 = 5, 'a node''s numbers are larger than those before, and say which node it is');
SELECT ok(:part > 500 + 1024 AND :part % 1024 = 5, 'those of parts too');
SELECT is(pg_temp.next(), :first + 1024, 'the next one');
SELECT logsvc_internal.number_batches(5) \g /dev/null
SELECT is(pg_temp.next(), :first + 2048, 'to number again changes nothing');
SELECT logsvc_internal.raise_batch_number(:first) \g /dev/null
SELECT is(pg_temp.next(), :first + 3072, 'what is below is no reason');
SELECT logsvc_internal.raise_batch_number(:first + 999999999) \g /dev/null
SELECT pg_temp.next() AS raised \gset
SELECT ok(:raised > :first + 999999999 AND :raised % 1024 = 5, 'a moved organization raises them, and it is the same node');
SELECT logsvc_internal.number_batches(1023) \g /dev/null
SELECT pg_temp.next() AS other \gset
SELECT ok(:other > :raised AND :other % 1024 = 1023, 'another node');
SELECT logsvc_internal.number_batches(NULL) \g /dev/null
SELECT ok(pg_temp.next() = :other + 1, 'no node any more');
SELECT logsvc_internal.raise_batch_number(:other + 10) \g /dev/null
SELECT ok(pg_temp.next() > :other + 10, 'that can be raised, too');
-- No number that says so was drawn before: searches that follow events would leave it out.
SELECT logsvc_internal.number_batches(7) \g /dev/null
SELECT b.last_value AS last FROM logsvc_internal.batch_number b \gset
SELECT ok(pg_temp.next() > :last, 'the last one is of nobody');

SELECT * FROM finish();
