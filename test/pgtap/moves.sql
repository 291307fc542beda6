-- What moves with an organization: every table about it moves, or is named with the reason why not.
SELECT plan(11);

-- About organizations: with an organization_id, or with a reference to a table that is; about their
-- users too.
CREATE TEMP VIEW about AS
WITH RECURSIVE about (id) AS (
	SELECT c.oid FROM pg_class c
	WHERE c.relnamespace = 'logsvc_internal'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
		AND (c.relname IN ('organization', 'user_account') OR EXISTS (SELECT FROM pg_attribute a
			WHERE a.attrelid = c.oid AND a.attname = 'organization_id' AND NOT a.attisdropped))
	UNION
	SELECT f.conrelid FROM about b JOIN pg_constraint f ON f.confrelid = b.id AND f.contype = 'f')
SELECT c.relname::text AS name FROM about b JOIN pg_class c ON c.oid = b.id;

SELECT cmp_ok((SELECT count(*) FROM about), '>=', 45::bigint, 'tables about organizations');
SELECT is_empty('SELECT name FROM about EXCEPT (SELECT kind FROM logsvc_internal.moved_tables()
		UNION ALL SELECT name FROM logsvc_internal.unmoved_tables())',
	'each of them moves, or is named among those that stay');
SELECT is_empty('SELECT kind FROM logsvc_internal.moved_tables() EXCEPT SELECT name FROM about', 'what moves is there');
SELECT is_empty('SELECT name FROM logsvc_internal.unmoved_tables() EXCEPT SELECT name FROM about', 'what stays too');
SELECT is_empty('SELECT kind FROM logsvc_internal.moved_tables() INTERSECT SELECT name FROM logsvc_internal.unmoved_tables()',
	'nothing does both');
SELECT is_empty('SELECT name FROM logsvc_internal.unmoved_tables() WHERE coalesce(reason, '''') = ''''', 'each has its reason');
SELECT is_empty($$
	SELECT t.kind, one FROM logsvc_internal.moved_tables() t, unnest(t.without || t.users) one
	WHERE NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = to_regclass('logsvc_internal.' || t.kind)
		AND a.attname = one AND NOT a.attisdropped)$$, 'the columns that stay or change are there');
-- An id of a user is another one on the other server.
SELECT is_empty($$
	SELECT t.kind, a.attname FROM logsvc_internal.moved_tables() t
	JOIN pg_constraint f ON f.conrelid = to_regclass('logsvc_internal.' || t.kind) AND f.contype = 'f'
		AND f.confrelid = 'logsvc_internal.user_account'::regclass
	JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = ANY (f.conkey)
	WHERE a.attname <> ALL (t.users)$$, 'every reference to a user is translated');
-- Bytes of other names would be in the objects, twice as long.
SELECT is_empty($$
	SELECT t.kind, a.attname FROM logsvc_internal.moved_tables() t
	JOIN pg_attribute a ON a.attrelid = to_regclass('logsvc_internal.' || t.kind) AND a.atttypid = 'bytea'::regtype
	WHERE a.attname NOT IN ('header', 'body', 'filter', 'answer', 'key') AND a.attname !~ 'hash$|^first_previous$'$$,
	'no other column has long bytes');

-- A table that somebody adds is noticed.
CREATE TABLE logsvc_internal.new_of_organization (organization_id uuid);
CREATE TABLE logsvc_internal.new_of_resource (resource uuid REFERENCES logsvc_internal.resource);
SELECT bag_eq('SELECT name FROM about EXCEPT (SELECT kind FROM logsvc_internal.moved_tables()
		UNION ALL SELECT name FROM logsvc_internal.unmoved_tables())',
	$$SELECT unnest('{new_of_organization,new_of_resource}'::text[])$$, 'a new table is named by the test above');

-- The hash is that of all values of a row and of those before it.
SELECT is((SELECT count(DISTINCT logsvc_internal.stream_hash(before, n, kind, data::jsonb, header, body)) FROM (VALUES
	(repeat('x', 32)::bytea, 1::bigint, 'part', '{"a": 1}', NULL::bytea, NULL::bytea), (repeat('y', 32)::bytea, 1, 'part', '{"a": 1}', NULL, NULL),
	(repeat('x', 32)::bytea, 2, 'part', '{"a": 1}', NULL, NULL), (repeat('x', 32)::bytea, 1, 'parts', '{"a": 1}', NULL, NULL),
	(repeat('x', 32)::bytea, 1, 'part', '{"a": 2}', NULL, NULL), (repeat('x', 32)::bytea, 1, 'part', '{"a": 1}', '', NULL),
	(repeat('x', 32)::bytea, 1, 'part', '{"a": 1}', NULL, ''), (repeat('x', 32)::bytea, 1, 'part', '{"a": 1}', 'a', 'b'),
	(repeat('x', 32)::bytea, 1, 'part', '{"a": 1}', 'ab', ''), (repeat('x', 32)::bytea, 1, 'part', '{"a": 1}', '', 'ab'))
	AS v (before, n, kind, data, header, body)), 10::bigint, 'the hash covers each value');

SELECT * FROM finish();
