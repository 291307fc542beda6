-- schema 8feb38d060c19079
--
-- From 0.1 to 0.2: rates of changes; some comments cited what readers do not have.

COMMENT ON TABLE logsvc_internal.password_history IS
'The last ten passwords of each user, the present one among them';
COMMENT ON TABLE logsvc_internal.audit_entry IS
'Audit entries; number and hash: the place in the chain, given when the transaction commits';
COMMENT ON TABLE logsvc_internal.model IS
'model catalogue: prices in micro-USD for a million tokens';
COMMENT ON TABLE logsvc_internal.eu_region IS
'regions in the European Union in which evaluations may run; an operator adds the name of a place of its own';
COMMENT ON TABLE logsvc_internal.plan_limit IS
'What each plan includes (decision 82); amount NULL: unlimited';
COMMENT ON TABLE logsvc_internal.rate_limit IS
'Requests per minute of each rate class of the route table, and whom they count';

ALTER TABLE logsvc_internal.rate_limit DROP CONSTRAINT rate_limit_scope_check;
ALTER TABLE logsvc_internal.rate_limit ADD CONSTRAINT rate_limit_scope_check
	CHECK (scope IN ('organization', 'caller', 'user', 'address', 'account', 'credential', 'owner'));
INSERT INTO logsvc_internal.rate_limit (class, per_minute, scope, timed, customized) VALUES
	('changes', 120, 'credential', false, false),
	('all_changes', 600, 'owner', false, false)
ON CONFLICT (class) DO NOTHING;
