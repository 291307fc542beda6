-- What a beginner's mistakes are answered: what is wrong, and in the hint what to call.
SELECT plan(9);

CREATE FUNCTION pg_temp.says(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE hint text;
BEGIN
	EXECUTE statement;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', SQLERRM, nullif(hint, ''));
END
$$;

SELECT isnt(logsvc.create_organization('Acme', 'pro', owner => 'ann@acme.example'), NULL,
	'an organization');
SELECT is(pg_temp.says($$SELECT logsvc.act_as('acmee')$$),
	'no such organization | Name a slug or an id of logsvc.list_organizations().', 'a slug that there is not');
SELECT is(pg_temp.says(
		$$SELECT logsvc.create_token('acme', 'bob@acme.example', 'x', '{logs:read}')$$),
	'no such member | Pass the e-mail address of a member, as logsvc.list_members() shows it; '
	'logsvc.invite() asks somebody to join.', 'an address that is no member');
SELECT matches(pg_temp.says(
		$$SELECT logsvc.create_token('acme', 'ann@acme.example', 'x', '{log:read}')$$),
	'^scopes: "log:read" is not a scope; there are .*\mlogs:read\M.*\mdashboards:write\M',
	'a scope that there is not');

DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;
SELECT is(pg_temp.says($$SELECT logsvc.log('')$$), 'event: required: expected a non-empty string',
	'an event without a text');
SELECT is(pg_temp.says($$SELECT logsvc.ingest('[{"level": "warn"}]')$$),
	'events[0].event: required: expected a non-empty string', 'one of a list');
SELECT is(pg_temp.says($$SELECT logsvc.ingest('[{"event": "x", "index": "web"}]')$$),
	'events[0].index: there is no index of this name in the organization; create it first, '
	'or leave it out',
	'an index that there is not');
SELECT is(pg_temp.says($$SELECT * FROM logsvc.events('level=error | stats count by source')$$),
	'the query gives a table, not events | Call logsvc.search(): its answer has the table, '
	'in columns and rows.',
	'events() of a table');

-- A tenant learns nothing of other organizations.
CREATE TEMP TABLE said AS SELECT NULL::text AS text;
GRANT ALL ON said TO PUBLIC;
SELECT logsvc.create_token('acme', 'ann@acme.example', 'x', '{logs:read,members:read}')
	->> 'token' AS token \gset
SET ROLE logsvc_tenant;
SELECT logsvc.use_token(:'token') ->> 'kind' AS kind \gset
UPDATE said SET text = pg_temp.says($$SELECT logsvc.list_members('other')$$);
RESET ROLE;
SELECT is(text, 'no such organization', 'no hint for a tenant') FROM said;
