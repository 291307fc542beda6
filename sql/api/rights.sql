-- What reads events runs as logsvc_reader: row security keeps it inside the organization.
-- Nobody is a member of that role, so nobody can change these functions.

DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN
    SELECT p.oid FROM pg_catalog.pg_proc p
      JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
     WHERE n.nspname IN ('logsvc', 'logsvc_internal')
       AND p.proname IN ('search_json', 'search_sample', 'query_logs_json', 'search', 'search_rows',
                         'search_rows_json', 'query_logs', 'events',
                         'explain_query', 'evaluation_rows_json', 'check_query', 'validate_query',
                         'event_json', 'context_json', 'get_log', 'get_log_context', 'tail',
                         'export', 'export_piece',
                         'searched_indexes', 'search_fields', 'search_field_values',
                         'list_templates', 'get_template', 'help', 'rule_rows',
                         'query_columns', 'query_warnings')
  LOOP
    EXECUTE pg_catalog.format('ALTER FUNCTION %s OWNER TO logsvc_reader', f);
  END LOOP;
END
$$;

-- Rights: nothing for PUBLIC; the API for tenants and operators, whose
-- functions check themselves what the session's principal may do.  What they need
-- of logsvc_internal runs with the rights of a function's owner.

REVOKE ALL ON ALL ROUTINES IN SCHEMA logsvc, logsvc_internal FROM PUBLIC;
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA logsvc TO logsvc_admin, logsvc_tenant, logsvc_reader;

-- Functions in a view run with the rights of who asks: views of operators show ids.
GRANT EXECUTE ON FUNCTION logsvc_internal.public_id(text, uuid) TO logsvc_admin;
GRANT EXECUTE ON FUNCTION logsvc_internal.metric_samples() TO logsvc_admin, pg_monitor;
