-- Rights: nothing for PUBLIC; the API for tenants and operators, whose
-- functions check themselves what the session's principal may do.

REVOKE ALL ON ALL ROUTINES IN SCHEMA logsvc, logsvc_internal FROM PUBLIC;
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA logsvc TO logsvc_admin, logsvc_tenant;
