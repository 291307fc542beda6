-- logsvc: schemas and roles.

\echo Use "CREATE EXTENSION logsvc" to load this file. \quit

-- Roles belong to the cluster: another database's logsvc may have made them.
-- They own nothing and log in nowhere; DROP EXTENSION leaves them.
DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'logsvc_admin') THEN
		CREATE ROLE logsvc_admin NOLOGIN;
		COMMENT ON ROLE logsvc_admin IS 'logsvc: operators, who act for every organization';
	END IF;
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'logsvc_tenant') THEN
		CREATE ROLE logsvc_tenant NOLOGIN;
		COMMENT ON ROLE logsvc_tenant IS 'logsvc: requests, which see their organization only';
	END IF;
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

GRANT USAGE ON SCHEMA logsvc TO logsvc_admin, logsvc_tenant;
GRANT USAGE ON SCHEMA logsvc_internal TO logsvc_admin, logsvc_tenant;
