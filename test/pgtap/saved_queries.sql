-- Saved queries, and with them what all resources of the workspace have in common.
SELECT plan(68);

DO $$
BEGIN
	PERFORM logsvc.create_organization(n, 'pro') FROM unnest('{acme,other}'::text[]) AS n;
	PERFORM logsvc.create_user(n || '@acme.org') FROM unnest('{owner,member,viewer,stranger}'::text[]) AS n;
	PERFORM logsvc.add_member('acme', n || '@acme.org', n) FROM unnest('{owner,member,viewer}'::text[]) AS n;
	PERFORM logsvc.add_member('other', 'stranger@acme.org', 'owner');
END
$$;
CREATE FUNCTION pg_temp.by(who text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM logsvc.act_as(CASE who WHEN 'stranger' THEN 'other' ELSE 'acme' END, who || '@acme.org');
	EXECUTE statement INTO result;
	PERFORM logsvc.act_as(NULL);
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
-- The details of an error: "path code: message", one a line.
CREATE FUNCTION pg_temp.wrong(document jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	details text;
BEGIN
	RETURN 'nothing is wrong: ' || logsvc_internal.check_document('SavedQuery', document)::text;
EXCEPTION WHEN SQLSTATE 'LS001' THEN
	GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
	RETURN (SELECT string_agg(format('%s %s: %s', d ->> 'path', d ->> 'code', d ->> 'message'), E'\n')
		FROM jsonb_array_elements(details::jsonb) AS d);
END
$$;

-- ---- documents ----

SELECT is(logsvc_internal.check_document('SavedQuery', '{"name": "errors", "q": "level=error"}'),
	'{"name": "errors", "q": "level=error", "description": null, "folder": null, "visibility": "org",
		"defaultRange": null}', 'defaults are filled in');
SELECT is(logsvc_internal.check_document('SavedQuery', '{"id": "sq_1", "version": 7, "createdBy": "usr_1",
	"name": "a", "q": "*", "createdAt": 5}') - '{description,folder,visibility,defaultRange}'::text[],
	'{"name": "a", "q": "*"}', 'what is read only is left out');
SELECT is(logsvc_internal.check_document('SavedQuery', '{"name": "a", "q": "*", "folder": "f",
	"defaultRange": {"earliest": "-1h"}}', '{"folder": null, "defaultRange": {"latest": "-5m"}}'),
	'{"name": "a", "q": "*", "description": null, "folder": null, "visibility": "org",
		"defaultRange": {"earliest": "-1h", "latest": "-5m"}}', 'a merge patch');
SELECT is(pg_temp.wrong('{}'), E'name required: is required\nq required: is required', 'what is missing');
SELECT is(pg_temp.wrong('{"name": "", "q": "*"}'), 'name invalid: must not be empty', 'empty');
SELECT is(pg_temp.wrong(jsonb_build_object('name', repeat(U&'\00e9', 201), 'q', '*')),
	'name invalid: must have at most 200 characters', 'characters are counted, not bytes');
SELECT is(pg_temp.wrong('{"name": 1, "q": ["*"]}'),
	E'q invalid: must be of type string\nname invalid: must be of type string', 'types');
SELECT is(pg_temp.wrong('{"name": "a", "q": "*", "folder": 1}'),
	'folder invalid: must be of type string or null', 'one of several types');
SELECT is(pg_temp.wrong('{"name": "a", "q": "*", "visibility": "all"}'),
	'visibility invalid: must be "private" or "org"', 'choices');
SELECT is(pg_temp.wrong('{"name": "a", "q": "*", "qq": 1, "defaultRange": {"since": 1}}'),
	E'qq unknown: this member is not known here: it has name, q, description, folder, visibility, defaultRange\ndefaultRange.since unknown: this member is not known here: it has earliest, latest\n'
	'defaultRange.earliest required: is required', 'names that are not known, with their path');
SELECT matches(pg_temp.wrong('{"name": "a", "q": "level=error | stat count"}'),
	'^q invalid: is not a valid query: .*\(line 1, column 15\)', 'a query that cannot be parsed');
SELECT is(pg_temp.wrong('{"name": "a", "q": "*", "defaultRange": {"earliest": "yesterday"}}'),
	'defaultRange.earliest invalid: is not a time; expected now, -1h, -7d@d or an ISO 8601 time; yesterday is earliest=-1d@d latest=@d', 'a time');
SELECT matches(pg_temp.wrong(d), ' (invalid|required|unknown): ', left(d::text, 40))
FROM unnest(ARRAY['[]', 'null', '1', '"x"', '{"name": {"a": 1e999}}', '{"name": null}',
	'{"name": "\u0001", "q": ""}']::text[]) AS t, LATERAL (SELECT t::jsonb AS d) AS j;
SELECT is((SELECT count(*) FROM regexp_matches(pg_temp.wrong((
		SELECT jsonb_object_agg('m' || i, i) FROM generate_series(1, 5000) i)), E'\n', 'g')), 99::bigint,
	'a hundred problems are described');
SELECT matches(pg_temp.wrong(jsonb_build_object('name', repeat('x', 600000))), 'larger than 512 kB', 'large');
SELECT matches(pg_temp.wrong(('{"name": ' || repeat('[', 40) || repeat(']', 40) || '}')::jsonb),
	'on 24 levels', 'deep');
SELECT throws_ok($$SELECT logsvc_internal.check_document('SavedQuery', NULL)$$, 'LS001', NULL, 'none');

-- ---- create, read ----

CREATE TEMP TABLE saved AS SELECT pg_temp.by('member',
	$$SELECT logsvc.create_saved_query('{"name": "errors", "q": "level=error", "folder": "web"}')$$)::jsonb AS j;
SELECT matches(j ->> 'id', '^sq_[0-9A-Z]{26}$', 'an id') FROM saved;
SELECT is(j - '{id,createdAt,updatedAt,createdBy}'::text[], '{"name": "errors", "q": "level=error",
	"folder": "web", "description": null, "visibility": "org", "defaultRange": null, "warnings": [], "version": 1}',
	'what was saved') FROM saved;
SELECT is(pg_temp.by('viewer', format('SELECT logsvc.get_saved_query(%L)', j ->> 'id'))::jsonb, j, 'a viewer reads it')
FROM saved;
SELECT is(pg_temp.by('stranger', format('SELECT logsvc.get_saved_query(%L)', j ->> 'id')), 'LS301',
	'another organization does not') FROM saved;
SELECT is(pg_temp.by('member', format('SELECT logsvc.get_saved_query(%L)', x)), 'LS301', 'no such id: ' || x)
FROM unnest('{sq_00000000000000000000000000,dash_00000000000000000000000000,x,""}'::text[]) AS x;
SELECT is(pg_temp.by('viewer', $$SELECT logsvc.create_saved_query('{"name": "x", "q": "*"}')$$), 'LS202',
	'a viewer saves none');

-- ---- change ----

SELECT is(pg_temp.by('owner', format($$SELECT logsvc.update_saved_query(%L, '{"q": "level=warn"}', 1)
	- '{id,createdAt,updatedAt,createdBy}'::text[]$$, j ->> 'id'))::jsonb, '{"name": "errors",
	"q": "level=warn", "folder": "web", "description": null, "visibility": "org", "defaultRange": null, "warnings": [],
	"version": 2}', 'one member is changed') FROM saved;
SELECT is(pg_temp.by('owner', format($$SELECT logsvc.update_saved_query(%L, '{"q": "level=info"}', 1)$$,
	j ->> 'id')), 'LS407', 'not from an old version') FROM saved;
SELECT is(pg_temp.by('owner', format($$SELECT logsvc.update_saved_query(%L, '{"version": 1, "q": "*"}')$$,
	j ->> 'id')), 'LS407', 'nor with what was read then') FROM saved;
SELECT is(pg_temp.by('owner', format($$SELECT logsvc.update_saved_query(%L, '{"name": "errors"}') -> 'version'$$,
	j ->> 'id')), '2', 'what changes nothing makes no version') FROM saved;
SELECT is(pg_temp.by('owner', format($$SELECT logsvc.update_saved_query(%L, '{"q": null}')$$, j ->> 'id')),
	'LS001', 'what is required cannot be removed') FROM saved;
SELECT is(pg_temp.by('stranger', format($$SELECT logsvc.update_saved_query(%L, '{"q": "*"}')$$, j ->> 'id')),
	'LS301', 'not that of another organization') FROM saved;
SELECT is(pg_temp.by('viewer', format($$SELECT logsvc.update_saved_query(%L, '{"q": "*"}')$$, j ->> 'id')),
	'LS202', 'a viewer changes none') FROM saved;
SELECT is(j -> 'details', '{"name": "errors", "version": 2, "changed": ["q"]}', 'the audit log says what')
FROM logsvc_internal.audit_entry a, LATERAL to_jsonb(a) AS j WHERE a.action = 'saved_query.updated';

-- ---- private ones ----

CREATE TEMP TABLE own AS SELECT pg_temp.by('member',
	$$SELECT logsvc.create_saved_query('{"name": "mine", "q": "*", "visibility": "private"}')$$)::jsonb ->> 'id' AS id;
SELECT is(pg_temp.by(who, format('SELECT logsvc.get_saved_query(%L) ->> ''name''', id)), expected, who || ' and a private one')
FROM own, (VALUES ('member', 'mine'), ('owner', 'LS301'), ('viewer', 'LS301')) AS v (who, expected);
SELECT is(pg_temp.by('owner', 'SELECT jsonb_array_length(to_jsonb(logsvc.list_saved_queries()) -> ''data'')'), '1',
	'nor in a list');
SELECT is(pg_temp.by('member', 'SELECT jsonb_array_length(to_jsonb(logsvc.list_saved_queries()) -> ''data'')'), '2',
	'except its author''s');
SELECT is(pg_temp.by('member', 'SELECT jsonb_array_length(to_jsonb(logsvc.list_saved_queries(''web'')) -> ''data'')'),
	'1', 'of a folder');

-- ---- queries of other resources ----

SELECT is(pg_temp.by('member', format('SELECT logsvc_internal.query_of(%L)', c)), expected, 'the query of ' || left(c, 20))
FROM saved, LATERAL (VALUES ('{"q": "a"}', 'a'), ('{"query": "b", "savedQueryId": null}', 'b'),
	(format('{"savedQueryId": "%s"}', j ->> 'id'), 'level=warn')) AS v (c, expected);
SELECT is(pg_temp.by('stranger', format('SELECT logsvc_internal.query_of(%L)', jsonb_build_object('savedQueryId', j ->> 'id'))),
	NULL, 'not that of another organization') FROM saved;
SELECT is(pg_temp.by(who, format('SELECT logsvc_internal.check_query_of(%L, %L)', c, 'panels[2].')), expected,
	format('%s: %s', who, left(c, 24)))
FROM saved, own, LATERAL (VALUES ('member', '{"q": "a"}', ''), ('member', '{}', 'LS001'),
	('member', format('{"q": "a", "savedQueryId": "%s"}', j ->> 'id'), 'LS001'),
	('member', format('{"savedQueryId": "%s"}', j ->> 'id'), ''),
	('stranger', format('{"savedQueryId": "%s"}', j ->> 'id'), 'LS001'),
	('member', '{"savedQueryId": "sq_x"}', 'LS001'),
	('member', format('{"savedQueryId": "%s"}', id), 'LS001')) AS v (who, c, expected);
SELECT is(pg_temp.by('member', format('SELECT logsvc_internal.check_query_of(%L, %L, logsvc_internal.current_user_id())',
	jsonb_build_object('savedQueryId', id), '')), '', 'a private one in what only its author sees') FROM own;

-- ---- delete, limits ----

SELECT is(pg_temp.by('member', format('SELECT logsvc.update_saved_query(%L, %L) ->> ''name''', id,
	'{"name": "mine alone"}')), 'mine alone', 'it has another name') FROM own;
SELECT is(pg_temp.by('member', format('SELECT logsvc.delete_saved_query(%L)', id)), '', 'its author may')
FROM own;
SELECT is_empty($$SELECT action FROM logsvc_internal.audit_entry WHERE details::text LIKE '%mine%'$$,
	'the audit log does not name it');
SELECT is(array_agg(a.action || ' ' || a.details ORDER BY a.number), ARRAY['saved_query.created {"private": true}',
	'saved_query.updated {"changed": ["name"], "private": true, "version": 2}', 'saved_query.deleted {"private": true}'],
	'it says that something private changed')
FROM logsvc_internal.audit_entry a, own WHERE a.resource = own.id;
SELECT is(pg_temp.by('member', $$SELECT logsvc.delete_saved_query(logsvc.create_saved_query(
	'{"name": "x", "q": "*"}') ->> 'id')$$), '', 'also of those for all');
DO $$
DECLARE
	a uuid;
	b uuid;
BEGIN
	INSERT INTO logsvc_internal.resource (organization_id, kind, name, content)
	SELECT organization_id, 'saved_query', 'panel', content FROM logsvc_internal.resource LIMIT 1 RETURNING id INTO b;
	SELECT id INTO a FROM logsvc_internal.resource WHERE name = 'errors';
	INSERT INTO logsvc_internal.resource_use (used, used_by) VALUES (a, b);
END
$$;
SELECT is(pg_temp.by('owner', format('SELECT logsvc.delete_saved_query(%L)', j ->> 'id')), 'LS411', 'not while it is used')
FROM saved;
SELECT is(pg_temp.by('owner', format($$SELECT logsvc.update_saved_query(%L, '{"visibility": "private"}')$$, j ->> 'id')),
	'LS411', 'nor hidden from those who see what uses it') FROM saved;
DELETE FROM logsvc_internal.resource WHERE name = 'panel';
SELECT is(pg_temp.by('owner', format('SELECT logsvc.delete_saved_query(%L, 1)', j ->> 'id')), 'LS407', 'nor an old version')
FROM saved;
SELECT logsvc.set_limit('acme', 'saved_queries', 2);
SELECT isnt(pg_temp.by('member', $$SELECT logsvc.create_saved_query('{"name": "x", "q": "*"}') ->> 'id'$$), 'LS203', 'the second');
SELECT is(pg_temp.by('member', $$SELECT logsvc.create_saved_query('{"name": "x", "q": "*"}') ->> 'id'$$), 'LS203', 'not the third');

SELECT * FROM finish();
