-- Every object of the extension keeps the laws of the house.
SELECT plan(15);

CREATE TEMP VIEW functions AS
SELECT p.oid::regprocedure AS name, p.*, l.lanname
FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace
JOIN pg_language l ON l.oid = p.prolang
WHERE n.nspname IN ('logsvc', 'logsvc_internal');

CREATE TEMP VIEW relations AS
SELECT c.oid::regclass AS name, c.*
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname IN ('logsvc', 'logsvc_internal');

-- ---- functions ----

SELECT is_empty($$
	SELECT name FROM functions WHERE obj_description(oid, 'pg_proc') IS NULL
$$, 'every function has a comment');

-- Of the API it is one line, as \df+ shows it, and names the arguments that must be passed.
SELECT is_empty($$
	SELECT name, length(comment), comment
	FROM (SELECT name, obj_description(oid, 'pg_proc') AS comment FROM functions
		WHERE pronamespace = 'logsvc'::regnamespace) AS f
	WHERE comment !~ '^[A-Z]' OR comment ~ '\n|\.$' OR length(comment) > 120
$$, 'the comment of an API function is one line of at most 120 characters');
SELECT is_empty($$
	SELECT c.oid::regclass, length(obj_description(c.oid, 'pg_class')) FROM pg_class c
	WHERE c.relnamespace = 'logsvc'::regnamespace AND c.relkind = 'v'
		AND (obj_description(c.oid, 'pg_class') ~ '\n|\.$'
			OR length(obj_description(c.oid, 'pg_class')) > 120)
$$, 'that of a view too');
SELECT is_empty($$
	SELECT f.name, a.name FROM functions f,
		unnest(f.proargnames[:f.pronargs - f.pronargdefaults]) AS a (name)
	WHERE f.pronamespace = 'logsvc'::regnamespace AND a.name <> ''
		AND obj_description(f.oid, 'pg_proc') !~ ('\m' || a.name || '\M')
$$, 'it names each argument that has no default');

SELECT is_empty($$
	SELECT name FROM functions
	WHERE prosecdef AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false)
$$, 'every SECURITY DEFINER function pins its search_path');

-- A body in text (an aggregate has none) is parsed when it is called, by the caller's search_path
-- unless one is pinned.  Bodies of the SQL standard are bound when they are
-- made, and stay inlinable.
SELECT is_empty($$
	SELECT name FROM functions
	WHERE lanname <> 'c' AND prokind <> 'a' AND prosqlbody IS NULL
		AND NOT coalesce(array_to_string(proconfig, ';') LIKE '%search_path=%', false)
$$, 'every function with a body in text pins its search_path');

SELECT is_empty($$
	SELECT name, privilege_type
	FROM functions, aclexplode(coalesce(proacl, acldefault('f', proowner)))
	WHERE grantee = 0
$$, 'PUBLIC may execute nothing');

SELECT is_empty($$
	SELECT name FROM functions
	WHERE proparallel = 'u' AND provolatile <> 'v'
$$, 'every stable or immutable function says whether it is parallel safe');

-- A parallel worker has no client, whose address must be allowed, and may have an old snapshot.
SELECT is_empty($$
	SELECT name FROM functions
	WHERE proparallel = 's' AND provolatile <> 'i'
		AND (pronamespace = 'logsvc'::regnamespace OR proname LIKE 'require\_%'
			OR prosrc ~ '\mrequire_(access|permission|worker|operator)\M')
$$, 'what checks rights does not run in a parallel worker');

-- ---- relations ----

SELECT is_empty($$
	SELECT name FROM relations
	WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT relispartition
		AND obj_description(oid, 'pg_class') IS NULL
$$, 'every table and view has a comment');

SELECT is_empty($$
	SELECT name FROM relations
	WHERE relkind IN ('r', 'p', 'S') AND NOT relispartition
		AND NOT EXISTS (SELECT FROM pg_extension
			WHERE extname = 'logsvc' AND relations.oid = ANY (extconfig))
$$, 'pg_dump takes the content of every table and sequence');

SELECT is_empty($$
	SELECT name, privilege_type
	FROM relations, aclexplode(relacl)
	WHERE relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND grantee = 0
$$, 'PUBLIC may touch no table');

-- Row security without a policy shows nothing; partitions are reached through
-- their table only.
SELECT is_empty($$
	SELECT name
	FROM relations JOIN pg_attribute a ON a.attrelid = relations.oid
	WHERE relkind IN ('r', 'p') AND attname = 'organization_id' AND NOT attisdropped
		AND (NOT relrowsecurity AND NOT relispartition
			OR has_any_column_privilege('logsvc_reader', relations.oid, 'SELECT, INSERT, UPDATE')
			AND NOT EXISTS (SELECT FROM pg_policy
				WHERE polrelid = relations.oid
					AND polroles = ARRAY['logsvc_reader'::regrole::oid]))
$$, 'every table with an organization_id is under row security, with a policy if tenants may touch it');

SELECT is_empty($$
	SELECT nspname FROM pg_namespace, aclexplode(nspacl)
	WHERE nspname IN ('logsvc', 'logsvc_internal') AND grantee = 0
$$, 'PUBLIC may not use the schemas');

SELECT is_empty($$
	SELECT nspname FROM pg_namespace
	WHERE nspname IN ('logsvc', 'logsvc_internal') AND obj_description(oid, 'pg_namespace') IS NULL
$$, 'both schemas have a comment');

SELECT * FROM finish();
