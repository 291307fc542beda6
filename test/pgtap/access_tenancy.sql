-- Organizations, users, members, tokens, keys, indexes: as the operator.
SELECT plan(109);

-- ---- organizations ----

CREATE TEMP TABLE acme AS SELECT logsvc.create_organization('Acme & Söhne GmbH', 'business') AS j;
SELECT matches(j->>'id', '^org_.{26}$', 'an id') FROM acme;
SELECT is(j - '{id,createdAt}'::text[], '{"name": "Acme & Söhne GmbH", "slug": "acme-s-hne-gmbh",
	"plan": "business", "timezone": "UTC", "retentionDays": 90, "parseJson": false,
	"oauthProviders": ["google", "github"], "role": null}', 'an organization') FROM acme;
SELECT matches(j->>'createdAt', '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$', 'ISO time') FROM acme;
SELECT is(logsvc.create_organization('Acme & Söhne GmbH')->>'slug', 'acme-s-hne-gmbh-2',
	'a slug that is taken gets a number');
SELECT is(logsvc.create_organization('!!!')->>'slug', 'organization', 'a slug of nothing');
SELECT is(logsvc.create_organization('Free')->>'plan', 'free', 'the plan is free unless said');
SELECT throws_ok($$SELECT logsvc.create_organization('')$$, 'LS001',
	'name: must not be empty', 'no name');
SELECT throws_ok($$SELECT logsvc.create_organization(NULL)$$, 'LS001', NULL, 'NULL name');
SELECT throws_ok($$SELECT logsvc.create_organization(repeat('x', 201))$$, 'LS001', NULL,
	'long name');
SELECT throws_ok($$SELECT logsvc.create_organization('x', 'gold')$$, 'LS001', NULL, 'no such plan');
SELECT results_eq($$
	SELECT i.name, logsvc_internal.retention_days_of(o.id, i.name)
	FROM logsvc_internal.log_index i JOIN logsvc_internal.organization o ON o.id = i.organization_id
	WHERE o.slug = 'acme-s-hne-gmbh' ORDER BY i.name COLLATE "C"
$$, $$VALUES ('_audit', 365), ('_test', 1), ('main', 90)$$, 'the indexes it begins with');
SELECT is(logsvc.set_plan('free', 'pro')->>'retentionDays', '30', 'a plan is changed');
SELECT is(logsvc.set_plan('free', 'free')->>'plan', 'free', 'and back');
SELECT throws_ok($$SELECT logsvc.set_plan('free', NULL)$$, 'LS001', NULL, 'not to nothing');
SELECT throws_ok($$SELECT logsvc.set_plan('nope', 'pro')$$, 'LS301', 'no such organization',
	'an unknown organization');

-- ---- users ----

SELECT is(logsvc.create_user(' Ann@Example.ORG ', 'Ann') - '{id,createdAt}'::text[],
	'{"email": "ann@example.org", "name": "Ann", "emailVerified": true}', 'a user');
SELECT throws_ok($$SELECT logsvc.create_user('ANN@example.org')$$, 'LS401', NULL, 'exists already');
SELECT throws_ok($$SELECT logsvc.create_user('ann')$$, 'LS001', NULL, 'no address');
SELECT throws_ok($$SELECT logsvc.create_user(NULL)$$, 'LS001', NULL, 'NULL address');
SELECT throws_ok($$SELECT logsvc.create_user('a b@example.org')$$, 'LS001', NULL, 'blanks');
SELECT is(logsvc.create_user(n || '@example.org')->'name', 'null', n)
FROM unnest('{bob,cyd,dan,eve}'::text[]) AS n;
SELECT throws_ok(format('SELECT logsvc.create_user(%L, NULL, %L)', 'x@example.org', p), 'LS504',
	NULL, 'password: ' || left(p, 20))
FROM unnest(ARRAY['Short1Short', 'alllowercase1', 'ALLUPPERCASE1', 'NoDigitsAtAll',
	repeat('aA1', 43)]) AS p;
SELECT lives_ok($$SELECT logsvc.create_user('pw@example.org', NULL, 'Twelve chars1')$$,
	'a good one');
SELECT ok(logsvc_internal.password_matches('Twelve chars1', password_hash), 'is kept as a hash')
FROM logsvc_internal.user_account WHERE email = 'pw@example.org';

-- ---- members ----

SELECT is(logsvc.add_member('free', 'Ann@example.org', 'owner') - '{id,userId,joinedAt}'::text[],
	'{"email": "ann@example.org", "name": "Ann", "role": "owner", "lastActiveAt": null, "aiCreditLimit": null, "aiCreditsUsed": 0}',
		'a member');
SELECT throws_ok($$SELECT logsvc.add_member('free', 'ann@example.org', 'viewer')$$, 'LS401', NULL,
	'once only');
SELECT throws_ok($$SELECT logsvc.add_member('free', 'nobody@example.org', 'viewer')$$, 'LS301',
	'no such user', 'unknown user');
SELECT throws_ok($$SELECT logsvc.add_member('free', 'bob@example.org', 'king')$$, 'LS001', NULL,
	'unknown role');
SELECT throws_ok($$SELECT logsvc.set_member_role('free', 'ann@example.org', 'admin')$$,
	'LS402', NULL,
	'the last owner keeps the role');
SELECT throws_ok($$SELECT logsvc.remove_member('free', 'ann@example.org')$$, 'LS402', NULL,
	'and stays');
SELECT is(logsvc.set_member_role('free', 'ann@example.org', 'owner')->>'role', 'owner',
	'owner to owner is no change');
SELECT lives_ok($$SELECT logsvc.add_member('free', 'bob@example.org', 'viewer')$$,
	'a second member');
SELECT throws_ok($$SELECT logsvc.add_member('free', 'cyd@example.org', 'viewer')$$, 'LS203',
	'the plan allows 2 members', 'the plan''s limit');
SELECT is(logsvc.set_limit('free', 'members', 3), '{"limit": 3, "resource": "members"}',
	'the operator gives more');
SELECT lives_ok($$SELECT logsvc.add_member('free', 'cyd@example.org', 'admin')$$, 'a third');
SELECT throws_ok($$SELECT logsvc.add_member('free', 'dan@example.org', 'admin')$$, 'LS203', NULL,
	'no fourth');
SELECT lives_ok($$SELECT logsvc.set_limit('free', 'members', NULL)$$, 'unlimited');
SELECT lives_ok($$SELECT logsvc.set_limit('free', 'members_total', 4)$$,
	'but for the general rule');
SELECT lives_ok($$SELECT logsvc.add_member('free', 'dan@example.org', 'member')$$, 'a fourth');
SELECT throws_ok($$SELECT logsvc.add_member('free', 'eve@example.org', 'admin')$$, 'LS203', NULL,
	'the general rule holds beside the plan (decision 49)');
SELECT throws_ok($$SELECT logsvc.set_limit('free', 'moons', 4)$$, 'LS001', NULL,
	'nothing of that name');
SELECT throws_ok($$SELECT logsvc.set_limit('free', 'kpis', -1)$$, 'LS001', NULL,
	'less than nothing');
SELECT is(logsvc.set_member_role('free', 'bob@example.org', 'owner')->>'role', 'owner',
	'a new owner');
SELECT is(logsvc.set_member_role('free', 'ann@example.org', 'member')->>'role', 'member',
	'now the first may step back');
SELECT throws_ok($$SELECT logsvc.set_member_role('free', 'eve@example.org', 'admin')$$, 'LS301',
	'no such member', 'who is no member');
SELECT is(logsvc.remove_member('free', 'dan@example.org')->>'email', 'dan@example.org', 'removed');
SELECT throws_ok($$SELECT logsvc.remove_member('free', 'dan@example.org')$$, 'LS301', NULL, 'once');

-- ---- tokens ----

CREATE TEMP TABLE token AS SELECT logsvc.create_token('free', 'ann@example.org', 'ci',
	'{logs:read,evaluations:run,logs:read}', now() + interval '1 day') AS j;
SELECT matches(j->>'token', '^pat_[0-9A-Za-z]{40}$', 'a token') FROM token;
SELECT matches(j->>'id', '^tok_.{26}$', 'with an id') FROM token;
SELECT is(j->>'prefix', left(j->>'token', 8), 'and a prefix to know it by') FROM token;
SELECT is(j->'scopes', '["logs:read", "evaluations:run"]', 'scopes once each') FROM token;
SELECT is(count(*), 0::bigint, 'the token is in no column')
FROM logsvc_internal.access_token t, token WHERE t::text LIKE '%' || right(j->>'token', 30) || '%';
SELECT is(token_hash, sha256((j->>'token')::bytea), 'its hash is')
FROM logsvc_internal.access_token, token;
SELECT throws_ok($$SELECT logsvc.create_token('free', 'ann@example.org', 'x', '{}')$$,
	'LS001', NULL,
	'no scope');
SELECT throws_ok($$SELECT logsvc.create_token('free', 'ann@example.org', 'x', NULL)$$,
	'LS001', NULL,
	'NULL scopes');
SELECT throws_ok($$SELECT logsvc.create_token('free', 'ann@example.org', 'x', '{logs:read,root}')$$,
	'LS001', 'scopes: "root" is not a scope; there are '
		|| (SELECT string_agg(s, ', ') FROM logsvc_internal.scopes() s), 'unknown scope: which there are');
SELECT throws_ok($$SELECT logsvc.create_token('free', 'eve@example.org', 'x', '{logs:read}')$$,
	'LS301', NULL, 'only for members');
SELECT throws_ok($$SELECT logsvc.create_token('free', 'ann@example.org', 'x', '{logs:read}', now())$$,
	'LS001', NULL, 'expired from the first');
SELECT throws_ok($$SELECT logsvc.create_token('free', 'ann@example.org', ' ', '{logs:read}')$$,
	'LS001', NULL, 'no name');
SELECT isnt(logsvc.revoke_token(j->>'id')->>'revokedAt', NULL, 'revoked') FROM token;
SELECT throws_ok(format('SELECT logsvc.revoke_token(%L)', j->>'id'), 'LS401', NULL, 'once')
	FROM token;
SELECT throws_ok($$SELECT logsvc.revoke_token('tok_00000000000000000000000000')$$, 'LS301', NULL,
	'unknown token');
SELECT throws_ok($$SELECT logsvc.revoke_token('key_00000000000000000000000000')$$, 'LS301', NULL,
	'no token at all');

-- ---- API keys ----

CREATE TEMP TABLE key AS SELECT logsvc.create_api_key('free', 'shipper', 'ingest-only') AS j;
SELECT matches(j->>'key', '^ing_live_[0-9A-Za-z]{40}$', 'a key') FROM key;
SELECT is(j->>'prefix', left(j->>'key', 13), 'its prefix') FROM key;
SELECT is(j - '{id,key,prefix,createdAt}'::text[], '{"name": "shipper", "scope": "ingest-only",
	"kind": "live", "createdBy": null, "expiresAt": null, "lastUsedAt": null, "revokedAt": null}',
	'the rest') FROM key;
SELECT matches(logsvc.create_api_key('free', 't', 'read-only', 'test')->>'key', '^ing_test_',
	'a test key');
SELECT throws_ok($$SELECT logsvc.create_api_key('free', 'x', 'all')$$, 'LS001', NULL,
	'unknown scope');
SELECT throws_ok($$SELECT logsvc.create_api_key('free', 'x', 'read-only', 'dev')$$, 'LS001', NULL,
	'unknown kind');
SELECT throws_ok($$SELECT logsvc.create_api_key('free', '', 'read-only')$$, 'LS001',
	NULL, 'no name');
SELECT lives_ok($$SELECT logsvc.create_api_key('free', 'x', 'full-access') FROM generate_series(1, 3)$$,
	'five keys');
SELECT throws_ok($$SELECT logsvc.create_api_key('free', 'x', 'read-only')$$, 'LS203',
	NULL, 'no sixth');
SELECT isnt(logsvc.revoke_api_key(j->>'id')->>'revokedAt', NULL, 'revoked') FROM key;
SELECT throws_ok(format('SELECT logsvc.revoke_api_key(%L)', j->>'id'), 'LS401', NULL, 'once')
	FROM key;
SELECT throws_ok($$SELECT logsvc.revoke_api_key('nonsense')$$, 'LS301', NULL, 'unknown key');
SELECT lives_ok($$SELECT logsvc.create_api_key('free', 'x', 'read-only')$$,
	'a revoked one does not count (decision 83)');

-- ---- indexes ----

SELECT throws_ok($$SELECT logsvc.create_index('web')$$, 'LS802', NULL, 'for whom?');
SELECT is(logsvc.act_as('acme-s-hne-gmbh')->>'kind', 'operator', 'acting for one');
SELECT is(logsvc.create_index('web', 7), '{"name": "web", "description": null, "retentionDays": 7,
	"parseJson": false,
	"sizeBytes": 0, "events": 0, "oldest": null, "newest": null, "protected": false}', 'an index');
SELECT is(logsvc.create_index('web-2')->>'retentionDays', '90', 'the organization''s retention');
SELECT throws_ok($$SELECT logsvc.create_index('web')$$, 'LS401', NULL, 'once');
SELECT throws_ok(format('SELECT logsvc.create_index(%L)', n), 'LS001', NULL, 'name: ' || left(n, 9))
FROM unnest(ARRAY['', 'Web', '9web', 'a b', repeat('x', 65)]) AS n;
SELECT throws_ok($$SELECT logsvc.create_index('_web')$$, 'LS401', NULL, 'reserved');
SELECT throws_ok($$SELECT logsvc.create_index('x', 0)$$, 'LS001', NULL, 'no retention');
SELECT throws_ok($$SELECT logsvc.create_index('x', 91)$$, 'LS203', NULL, 'more than the plan''s');
SELECT isnt(logsvc.act_as('free'), NULL, 'acting for another');
SELECT throws_ok($$SELECT logsvc.create_index('web')$$, 'LS203', 'the plan allows 1 indexes',
	'a free organization has main only');

-- ---- time zones ----

SELECT lives_ok($$SELECT logsvc_internal.check_timezone(n.name) FROM pg_timezone_names n WHERE n.name ~ '^[A-Za-z_/-]+/'
	AND n.name !~ '[0-9]'$$, 'places are time zones');
SELECT lives_ok(format('SELECT logsvc_internal.check_timezone(%L)', name), name || ' is one')
FROM unnest('{UTC,europe/berlin,GMT,Etc/GMT+5}'::text[]) AS name;
SELECT throws_ok(format('SELECT logsvc_internal.check_timezone(%L)', name), 'LS001', NULL, coalesce(name, 'NULL') || ' is none')
FROM unnest('{Europe/Nowhere,Mars/X5,CEST,CET+1,../UTC,NULL}'::text[]) AS name;

SELECT * FROM finish();
