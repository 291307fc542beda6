-- fingerprint.sql: what the extension is made of in this database, a line for each property
-- that an upgrade could get wrong.  Two databases with the same lines have the same extension.
--
-- Nothing of it depends on oids, on the order of columns, or on what was stored since.
WITH member AS (
	SELECT d.classid, d.objid
	FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	WHERE e.extname = 'logsvc' AND d.deptype = 'e'
), relation AS (
	SELECT c.*, c.oid::regclass::text AS name
	FROM member m JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
), owned AS (
	-- The relations and what comes with them.
	SELECT r.oid, r.name FROM relation r
	UNION ALL
	SELECT i.indexrelid, r.name || ' index ' || c.relname
	FROM relation r JOIN pg_index i ON i.indrelid = r.oid JOIN pg_class c ON c.oid = i.indexrelid
	UNION ALL
	SELECT c.oid, r.name || ' toast' FROM relation r JOIN pg_class c ON c.oid = r.reltoastrelid
), line AS (
	SELECT format('member %s', i.type || ' ' || i.identity) AS line
	FROM member m, pg_identify_object(m.classid, m.objid, 0) AS i
	UNION ALL
	SELECT format('comment %s %s %s: %s', i.type, i.identity, d.objsubid, d.description)
	FROM pg_description d, pg_identify_object(d.classoid, d.objoid, d.objsubid) AS i
	WHERE (d.classoid, d.objoid) IN (SELECT classid, objid FROM member)
	UNION ALL
	-- ---- functions ----
	SELECT format('function %s owner %s rights %s: %s', p.oid::regprocedure, p.proowner::regrole,
		(SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(p.proacl) a),
		CASE WHEN p.prokind = 'a' THEN to_jsonb(g) - 'aggfnoid' || '{}' #>> '{}'
			ELSE pg_get_functiondef(p.oid) END)
	FROM member m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
		LEFT JOIN LATERAL (SELECT a.aggfnoid, a.aggkind, a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn,
			a.aggdeserialfn, a.aggfinalextra, a.aggfinalmodify, a.aggtranstype::regtype, a.aggtransspace,
			a.agginitval FROM pg_aggregate a WHERE a.aggfnoid = p.oid) g ON true
	UNION ALL
	-- ---- relations ----
	SELECT format('relation %s kind %s persistence %s owner %s rights %s options %s row security %s forced %s partition %s of %s replica %s',
		o.name, c.relkind, c.relpersistence, c.relowner::regrole,
		(SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(c.relacl) a),
		(SELECT string_agg(a, ' ' ORDER BY a) FROM unnest(c.reloptions) a),
		c.relrowsecurity, c.relforcerowsecurity, pg_get_expr(c.relpartbound, c.oid),
		(SELECT string_agg(i.inhparent::regclass::text, ' ') FROM pg_inherits i
			WHERE i.inhrelid = c.oid AND o.name !~ ' '), c.relreplident)
	FROM owned o JOIN pg_class c ON c.oid = o.oid
	UNION ALL
	SELECT format('column %s.%s %s not null %s default %s storage %s compression %s collation %s identity %s generated %s rights %s statistics %s comment %s',
		r.name, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
		a.attstorage, a.attcompression, a.attcollation::regcollation, a.attidentity, a.attgenerated,
		(SELECT string_agg(x::text, ' ' ORDER BY x::text) FROM unnest(a.attacl) x),
		nullif(a.attstattarget, -1), col_description(a.attrelid, a.attnum))
	FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	WHERE r.relkind <> 'S'
	UNION ALL
	SELECT format('constraint %s %s %s validated %s', r.name, c.conname, pg_get_constraintdef(c.oid), c.convalidated)
	FROM relation r JOIN pg_constraint c ON c.conrelid = r.oid
	-- From PostgreSQL 18 on NOT NULL is one too, with a name that pg_upgrade makes; columns have it above.
	WHERE c.contype <> 'n'
	UNION ALL
	SELECT format('index %s valid %s clustered %s', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisclustered)
	FROM relation r JOIN pg_index i ON i.indrelid = r.oid
	UNION ALL
	SELECT format('policy %s %s permissive %s command %s roles %s using %s check %s', r.name, p.polname,
		p.polpermissive, p.polcmd,
		(SELECT string_agg(CASE x WHEN 0 THEN 'public' ELSE x::regrole::text END, ' ' ORDER BY x::regrole::text)
			FROM unnest(p.polroles) x),
		pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
	FROM relation r JOIN pg_policy p ON p.polrelid = r.oid
	UNION ALL
	SELECT format('trigger %s %s enabled %s', r.name, pg_get_triggerdef(t.oid), t.tgenabled)
	FROM relation r JOIN pg_trigger t ON t.tgrelid = r.oid WHERE NOT t.tgisinternal
	UNION ALL
	SELECT format('view %s: %s', r.name, pg_get_viewdef(r.oid)) FROM relation r WHERE r.relkind = 'v'
	UNION ALL
	SELECT format('sequence %s %s', r.name, to_jsonb(s) - 'seqrelid' - 'seqtypid' || jsonb_build_object('type', s.seqtypid::regtype))
	FROM relation r JOIN pg_sequence s ON s.seqrelid = r.oid
	UNION ALL
	SELECT format('foreign table %s server %s options %s', r.name, s.srvname, f.ftoptions)
	FROM relation r JOIN pg_foreign_table f ON f.ftrelid = r.oid JOIN pg_foreign_server s ON s.oid = f.ftserver
	UNION ALL
	-- ---- types, schemas, wrappers ----
	SELECT format('type %s kind %s base %s not null %s default %s owner %s rights %s', t.oid::regtype, t.typtype,
		t.typbasetype::regtype, t.typnotnull, t.typdefault, t.typowner::regrole,
		(SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(t.typacl) a))
	FROM member m JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
	UNION ALL
	SELECT format('type %s attribute %s %s', t.oid::regtype, a.attname, format_type(a.atttypid, a.atttypmod))
	FROM member m JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid AND t.typtype = 'c'
		JOIN pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
	UNION ALL
	SELECT format('type %s constraint %s %s', t.oid::regtype, c.conname, pg_get_constraintdef(c.oid))
	FROM member m JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
		JOIN pg_constraint c ON c.contypid = t.oid
	UNION ALL
	SELECT format('schema %s owner %s rights %s', n.nspname, n.nspowner::regrole,
		(SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(n.nspacl) a))
	FROM member m JOIN pg_namespace n ON m.classid = 'pg_namespace'::regclass AND n.oid = m.objid
	UNION ALL
	SELECT format('wrapper %s handler %s validator %s options %s rights %s', w.fdwname, w.fdwhandler::regproc,
		w.fdwvalidator::regproc, w.fdwoptions, w.fdwacl)
	FROM member m JOIN pg_foreign_data_wrapper w ON m.classid = 'pg_foreign_data_wrapper'::regclass AND w.oid = m.objid
	UNION ALL
	SELECT format('server %s options %s rights %s', s.srvname, s.srvoptions, s.srvacl)
	FROM member m JOIN pg_foreign_server s ON m.classid = 'pg_foreign_server'::regclass AND s.oid = m.objid
	UNION ALL
	-- ---- what a dump takes, and the rows that come with the extension ----
	SELECT format('dump %s %s', t.oid::regclass, c.condition)
	FROM pg_extension e, unnest(e.extconfig, e.extcondition) AS c (relation, condition)
		JOIN pg_class t ON t.oid = c.relation
	WHERE e.extname = 'logsvc'
	UNION ALL
	SELECT format('plan limit %s', to_jsonb(l)) FROM logsvc_internal.plan_limit l WHERE NOT customized
	UNION ALL
	SELECT format('rate limit %s', to_jsonb(l)) FROM logsvc_internal.rate_limit l WHERE NOT customized
	UNION ALL
	SELECT format('model %s', to_jsonb(m)) FROM logsvc_internal.model m WHERE NOT customized
	UNION ALL
	SELECT format('model provider %s', to_jsonb(m)) FROM logsvc_internal.model_provider m WHERE NOT customized
	UNION ALL
	SELECT format('region %s', to_jsonb(r)) FROM logsvc_internal.eu_region r WHERE NOT customized
	UNION ALL
	SELECT format('task %s every %s', t.name, t.period) FROM logsvc_internal.scheduled_task t
	UNION ALL
	-- ---- roles ----
	SELECT format('role %s %s', r.rolname, to_jsonb(r) - 'oid' - 'rolname')
	FROM pg_roles r WHERE r.rolname LIKE 'logsvc\_%'
)
SELECT replace(line, E'\n', E'\\n') FROM line ORDER BY line COLLATE "C";
