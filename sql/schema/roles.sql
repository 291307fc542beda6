-- Schemas and roles.

\echo Use "CREATE EXTENSION logsvc" to load this file. \quit
-- Roles belong to the cluster: another database's logsvc may have made them, and
-- DROP EXTENSION leaves them.
--
-- logsvc_admin and logsvc_tenant are there to be granted, and own nothing.
-- logsvc_reader is granted to nobody: functions that only read belong to it, and
-- row security is about it.  LOGIN, because on PostgreSQL 15 and 16 a background
-- worker cannot connect as a role without; CONNECTION LIMIT 0, which counts no
-- background workers, keeps everybody else from connecting as it.
--
-- Who made a role before may have members in it that nobody expects.  Ours have
-- the comment that is set here.
DO $$
DECLARE
	found_role record;
	wanted record;
BEGIN
	FOR wanted IN SELECT * FROM (VALUES
		('logsvc_admin', 'logsvc: operators, who act for every organization'),
		('logsvc_tenant', 'logsvc: tenants in SQL, who act by tokens'),
		('logsvc_reader', 'logsvc: reads within an organization; nobody can be a member of it'))
		AS t (name, comment)
	LOOP
		SELECT r.oid, pg_catalog.shobj_description(r.oid, 'pg_authid') AS comment,
			(SELECT pg_catalog.string_agg(pg_catalog.quote_ident(m.rolname), ', ' ORDER BY m.rolname)
			 FROM pg_catalog.pg_auth_members a JOIN pg_catalog.pg_roles m ON m.oid = a.member
			 WHERE a.roleid = r.oid) AS members,
			(SELECT pg_catalog.string_agg(pg_catalog.quote_ident(g.rolname), ', ' ORDER BY g.rolname)
			 FROM pg_catalog.pg_auth_members a JOIN pg_catalog.pg_roles g ON g.oid = a.roleid
			 WHERE a.member = r.oid) AS groups
		INTO found_role FROM pg_catalog.pg_roles r WHERE r.rolname = wanted.name;
		IF found_role.oid IS NULL THEN
			EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', wanted.name);
		ELSIF found_role.members IS NOT NULL AND wanted.name = 'logsvc_reader'
			OR found_role.members IS NOT NULL AND NOT starts_with(coalesce(found_role.comment, ''), 'logsvc: ') THEN
			RAISE EXCEPTION 'role % exists and has members: %', wanted.name, found_role.members
				USING ERRCODE = '42710', DETAIL = 'They would have rights in logsvc that nobody gave them there.',
				HINT = pg_catalog.format('Take them out of it (REVOKE %I FROM ...), or rename it; grant it when the extension is there.', wanted.name);
		ELSIF found_role.groups IS NOT NULL AND wanted.name = 'logsvc_reader' THEN
			RAISE EXCEPTION 'role % exists and is a member of: %', wanted.name, found_role.groups
				USING ERRCODE = '42710', HINT = 'Revoke these roles from it, or rename it.';
		ELSIF found_role.members IS NOT NULL THEN
			RAISE NOTICE 'role % is there already, and has members: %', wanted.name, found_role.members;
		END IF;
		EXECUTE pg_catalog.format('COMMENT ON ROLE %I IS %L', wanted.name, wanted.comment);
	END LOOP;
	ALTER ROLE logsvc_reader LOGIN NOINHERIT CONNECTION LIMIT 0 PASSWORD NULL
		NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
	EXECUTE pg_catalog.format('GRANT CONNECT ON DATABASE %I TO logsvc_reader',
		pg_catalog.current_database());
END
$$;

DO $$
BEGIN
  IF pg_catalog.getdatabaseencoding() <> 'UTF8' THEN
    RAISE EXCEPTION 'logsvc needs a database with encoding UTF8, not %',
      pg_catalog.getdatabaseencoding()
      USING HINT = 'CREATE DATABASE ... ENCODING ''UTF8'' TEMPLATE template0', ERRCODE = '0A000';
  END IF;
END
$$;

CREATE SCHEMA logsvc;
COMMENT ON SCHEMA logsvc IS 'logsvc: the API';

CREATE SCHEMA logsvc_internal;
COMMENT ON SCHEMA logsvc_internal IS 'logsvc: tables and functions of the service itself';

GRANT USAGE ON SCHEMA logsvc TO logsvc_admin, logsvc_tenant, logsvc_reader;
GRANT USAGE ON SCHEMA logsvc_internal TO logsvc_reader;
