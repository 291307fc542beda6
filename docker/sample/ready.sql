-- Is there what incidents.sql is about?
SELECT (SELECT count(DISTINCT rule_name) FROM logsvc_internal.alert
	 WHERE rule_name IN ('Checkout fails', 'Slow payments', 'No backup since yesterday')) = 3
	AND EXISTS (SELECT FROM logsvc_internal.part WHERE index_name = 'imports');
