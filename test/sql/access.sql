-- The way of an operator and of an application through the SQL surface.
\set VERBOSITY terse
SET client_min_messages = warning;
SELECT logsvc.create_organization('Regress Ltd', 'pro') - '{id,createdAt}'::text[] AS organization;
SELECT logsvc.create_user('ann@example.org', 'Ann') - '{id,createdAt}'::text[] AS "user";
SELECT logsvc.add_member('regress-ltd', 'ann@example.org', 'owner')->'role' AS role;
SELECT logsvc.create_token('regress-ltd', 'ann@example.org', 'ci', '{logs:read,org:write}')
	->> 'token' AS token \gset
SELECT logsvc.use_token(:'token') #> '{permissions}' AS permissions;
SELECT logsvc.create_index('web', 7)->'retentionDays' AS days;
SELECT logsvc.create_index('web');
SELECT logsvc.create_api_key('regress-ltd', 'k', 'read-only')->'scope' AS scope;
SELECT logsvc.use_token(NULL);
SELECT logsvc.create_index('web');
SELECT logsvc.act_as('regress-ltd', 'ann@example.org')->>'role' AS role;
SELECT logsvc.remove_member('regress-ltd', 'ann@example.org');
SELECT logsvc.act_as(NULL);
SET logsvc.principal = '00';
-- Who already has the name operators are told, others are not.
SET client_min_messages = notice;
SELECT logsvc.create_organization('Regress, Ltd', owner => 'ann@example.org') ->> 'slug' AS slug;
SELECT logsvc.delete_organization('regress-ltd-2', 'Regress, Ltd') ? 'deletedAt' AS deleted;
SELECT logsvc.create_organization('Other', owner => 'bob@example.org') ->> 'slug' AS slug;
SELECT logsvc.act_as('other', 'bob@example.org') ->> 'role' AS role;
SELECT logsvc.create_own_organization('Regress Ltd') ->> 'slug' AS slug;
SELECT logsvc.act_as(NULL);
-- Help: topics, and the text of one, line by line.
SELECT logsvc.help() LIMIT 3;
SELECT logsvc.help(' Limits ') LIMIT 3;
SELECT logsvc.help('limit');
