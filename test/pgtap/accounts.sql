-- Passwords, links, sessions and what operators do with accounts, in SQL.
SELECT plan(99);

CREATE TEMP TABLE made AS
SELECT logsvc.create_organization('Acme', 'business') AS acme,
	logsvc.create_user('ann@acme.test', 'Ann', 'Blue-kettle-and-7-spoons') AS ann,
	logsvc.create_user('bob@acme.test') AS bob;
SELECT logsvc.add_member('acme', 'ann@acme.test', 'owner'),
	logsvc.add_member('acme', 'bob@acme.test', 'admin') \g /dev/null
CREATE FUNCTION pg_temp.id_of(email text) RETURNS uuid LANGUAGE sql AS
$$SELECT id FROM logsvc_internal.user_account u WHERE u.email = id_of.email$$;
CREATE FUNCTION pg_temp.status(r logsvc_internal.http_response) RETURNS text LANGUAGE sql AS
$$SELECT concat_ws(' ', r.status, convert_from(r.body, 'UTF8')::jsonb->>'code')$$;
CREATE FUNCTION pg_temp.hint(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE call;
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN hint;
END
$$;

-- ---- hashes ----

SELECT matches(password_hash, '^\$scrypt\$ln=15,r=8,p=3\$[0-9a-f]{32}\$[0-9a-f]{64}$',
	'a hash says what it is')
FROM logsvc_internal.user_account WHERE email = 'ann@acme.test';
SELECT ok(logsvc_internal.password_matches('Blue-kettle-and-7-spoons', password_hash),
	'the password')
FROM logsvc_internal.user_account WHERE email = 'ann@acme.test';
SELECT ok(NOT logsvc_internal.password_matches(p, password_hash), format('not %L', p))
FROM logsvc_internal.user_account, unnest(ARRAY['', 'blue-kettle-and-7-spoons',
	'Blue-kettle-and-7-spoons ', NULL]) AS p
WHERE email = 'ann@acme.test';
SELECT is(logsvc_internal.password_matches('x', NULL), false, 'no hash, no match');
SELECT throws_ok(format('SELECT logsvc_internal.password_matches(''x'', %L)', h), 'XX001', NULL,
	format('malformed: %L', h))
FROM unnest(ARRAY['', 'x', '$scrypt$ln=15,r=8,p=1$00$00', '$scrypt$ln=30,r=8,p=1$'
	|| repeat('0', 32) || '$' || repeat('0', 64),
	'$scrypt$ln=15,r=8,p=17$' || repeat('0', 32) || '$' || repeat('0', 64),
	'$scrypt$ln=15,r=9,p=1$' || repeat('0', 32) || '$' || repeat('0', 64)]) AS h;
-- RFC 7914 gives no vector with N = 2^15; this one is of Python's hashlib.scrypt.
SELECT is(logsvc_internal.password_hash_like('Blue-kettle-and-7-spoons',
		'$scrypt$ln=15,r=8,p=1$' || repeat('0', 32) || '$' || repeat('0', 64)),
	'$scrypt$ln=15,r=8,p=1$' || repeat('0', 32)
		|| '$1bb5ba8371346b962d3c9e37258fd4ba9ebf85b0aa5e67d55b8610978bbe4646', 'a known hash');
SELECT ok(logsvc_internal.password_matches(U&'Gru\0308ne Bu\0308cher 12',
	logsvc_internal.password_hash(U&'Gr\00FCne B\00FCcher 12')),
	'one letter typed in two ways');
SELECT isnt(logsvc_internal.password_hash('x'), logsvc_internal.password_hash('x'), 'salted');
SELECT is(logsvc_internal.password_hash_like('x', '$scrypt$ln=15,r=8,p=3$' || repeat('0', 32) || '$'
	|| repeat('0', 64)),
	'$scrypt$ln=15,r=8,p=3$' || repeat('0', 32)
		|| '$fee130a993070ea2f23fb8f91a1fdc669780bec2d034b5614a59e0a2021ae355',
			'and one of three passes');
SELECT is(logsvc_internal.password_outdated(cost || '$' || repeat('0', 32) || '$'
	|| repeat('0', 64)), cost <> '$scrypt$ln=15,r=8,p=3',
	cost || ': as weak as it says')
FROM unnest(ARRAY['$scrypt$ln=14,r=8,p=1', '$scrypt$ln=15,r=8,p=1', '$scrypt$ln=16,r=8,p=1',
	'$scrypt$ln=15,r=8,p=3']) AS cost;

-- ---- rules ----

SELECT throws_ok(format('SELECT logsvc.set_password(''bob@acme.test'', %L)', p), state, NULL,
	format('%s: %s', state, left(p, 30)))
FROM (VALUES ('Short-1', 'LS504'), (repeat('Aa1-', 33), 'LS504'), ('no-upper-case-1', 'LS504'),
	('NO-LOWER-CASE-1', 'LS504'),
	('No-digit-in-here', 'LS504'), ('Password1234', 'LS505'), ('P@ssw0rd!2024', 'LS505'),
		('Qwertyuiop123', 'LS505'),
	(NULL, 'LS001')) AS t (p, state);
SELECT is(logsvc.set_password('bob@acme.test', repeat('Aa1-', 32)) ->> 'email', 'bob@acme.test',
	'128 characters');
SELECT lives_ok(format('SELECT logsvc.set_password(''bob@acme.test'', %L)',
	'Aa1' || repeat(U&'\00FC', 9)), '12 characters of more bytes');
SELECT throws_ok('SELECT logsvc.set_password(''nobody@acme.test'', ''Blue-kettle-and-7-spoons'')',
	'LS301', NULL, 'no such user');
SELECT throws_ok('SELECT logsvc.create_user(''carl@acme.test'', ''Carl'', ''weak'')', 'LS504', NULL,
	'a weak one');
SELECT is(count(*), 0::bigint, 'makes no user') FROM logsvc_internal.user_account
	WHERE email = 'carl@acme.test';
SELECT throws_ok(format('SELECT logsvc.create_user(%L)', e), 'LS001', NULL,
	format('no address: %L', e))
FROM unnest(ARRAY['', 'x', 'a@b c', E'a@b\nc', NULL]) AS e;

-- ---- history ----

SELECT throws_ok('SELECT logsvc.set_password(''ann@acme.test'', ''Blue-kettle-and-7-spoons'')',
	'LS506', NULL, 'the present one');
SELECT logsvc.set_password('ann@acme.test', 'Red-kettle-and-7-spoons') \g /dev/null
SELECT throws_ok('SELECT logsvc.set_password(''ann@acme.test'', ''Blue-kettle-and-7-spoons'')',
	'LS506', NULL, 'the one before');
SELECT is(count(DISTINCT left(password_hash, -64)), 1::bigint, 'one salt for a history')
FROM logsvc_internal.password_history WHERE user_id = pg_temp.id_of('ann@acme.test');

-- ---- links ----

SELECT logsvc_internal.mail_link(a, 'reset_password', '/reset-password', interval '1 hour')
	FROM logsvc_internal.user_account a WHERE email = 'ann@acme.test' \g /dev/null
CREATE TEMP TABLE link AS SELECT right(link, 43) AS token, link FROM logsvc_internal.outbox
	WHERE template = 'reset_password';
SELECT matches(link, '/reset-password#t=[0-9A-Za-z]{43}$', 'a link') FROM link;
SELECT results_eq('SELECT token_hash FROM logsvc_internal.one_time_link',
	'SELECT sha256(convert_to(token, ''UTF8'')) FROM link', 'is stored as a hash');
SELECT throws_ok(format('SELECT logsvc_internal.open_link(%L, ''verify_email'')', token), 'LS405',
	NULL, 'for another purpose') FROM link;
SELECT is((logsvc_internal.open_link(token, 'reset_password')).user_id,
	pg_temp.id_of('ann@acme.test'), 'opened') FROM link;
SELECT throws_ok(format('SELECT logsvc_internal.open_link(%L, ''reset_password'')', token), 'LS406',
	NULL, 'used') FROM link;
SELECT throws_ok('SELECT logsvc_internal.open_link(''none'', ''reset_password'')', 'LS405',
	NULL, 'none');

-- ---- sessions ----

CREATE TEMP TABLE answer AS SELECT * FROM logsvc_internal.auth_sign_in('ann@acme.test',
	'Red-kettle-and-7-spoons');
SELECT matches(headers->'Set-Cookie'->>0,
	'^logsvc_session=[0-9A-Za-z]{43}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax', 'a cookie')
		FROM answer;
SELECT is(convert_from(body, 'UTF8')::jsonb #>> '{data,organizations,0,role}', 'owner',
	'who that is') FROM answer;
SELECT is(pg_temp.status(logsvc_internal.auth_sign_in(e, p)), '401 INVALID_CREDENTIALS',
	format('not %s %s', e, p))
FROM (VALUES ('ann@acme.test', 'Blue-kettle-and-7-spoons'),
	('none@acme.test', 'Red-kettle-and-7-spoons')) AS t (e, p);
UPDATE logsvc_internal.account_work SET next_attempt_at = now();
SELECT is(logsvc_internal.do_account_work(), true, 'work is done') FROM generate_series(1, 2);
SELECT is(logsvc_internal.do_account_work(), false, 'and done');
SELECT results_eq($$SELECT actor, resource FROM logsvc.operator_log WHERE action = 'user.login_failed'$$,
	$$VALUES ('none@acme.test', 'none@acme.test')$$, 'who is nobody is in the operator log');
SELECT is(count(*), 1::bigint, 'who is somebody in the audit log') FROM logsvc_internal.audit_entry
WHERE action = 'user.login_failed' AND actor = 'ann@acme.test';
SELECT is(logsvc.end_sessions('ann@acme.test'), '{"ended": 1}', 'sessions end');

-- What fails is tried again, and does not stop the rest.
INSERT INTO logsvc_internal.account_work (kind, email) VALUES ('sign_up', 'Not An Address'),
	('forgot_password', 'ann@acme.test');
SELECT is(logsvc_internal.do_account_work(), true, 'work') FROM generate_series(1, 2);
SELECT results_eq('SELECT kind, attempts, next_attempt_at > now() FROM logsvc_internal.account_work', $$VALUES ('sign_up', 1, true)$$, 'what failed waits');

UPDATE logsvc_internal.account_work SET next_attempt_at = now() - interval '1 minute', attempts = 5;
SELECT logsvc_internal.finish_account_work(now()) \g /dev/null
SELECT is(count(*), 0::bigint, 'for the last time') FROM logsvc_internal.account_work;

-- Sessions and links that are over, and sign-ups that nobody confirms, go.
INSERT INTO logsvc_internal.user_account (email, created_at) VALUES ('new@acme.test', now()),
	('old@acme.test', now() - interval '8 days');
SELECT logsvc_internal.auth_sign_in('ann@acme.test', 'Red-kettle-and-7-spoons') \g /dev/null
SELECT logsvc_internal.purge_accounts(now()) \g /dev/null
SELECT is(count(*), 1::bigint, 'a session that is not over stays')
	FROM logsvc_internal.user_session;
SELECT is(array_agg(email), '{new@acme.test}', 'a new sign-up stays, an old one goes')
	FROM logsvc_internal.user_account WHERE verified_at IS NULL;
SELECT logsvc_internal.purge_accounts(now() + interval '15 days') \g /dev/null
SELECT is(count(*), 0::bigint, 'sessions go') FROM logsvc_internal.user_session;
SELECT is(count(*), 0::bigint, 'links go') FROM logsvc_internal.one_time_link;

-- ---- other operators' functions, and nobody else's ----

INSERT INTO logsvc_internal.user_account (email, password_hash)
	VALUES ('dora@acme.test', logsvc_internal.password_hash('Red-kettle-and-7-spoons'));
SELECT is(pg_temp.status(logsvc_internal.auth_sign_in('dora@acme.test', 'Red-kettle-and-7-spoons')),
	'403 EMAIL_NOT_VERIFIED', 'not verified');
SELECT throws_like('SELECT logsvc.create_user(''dora@acme.test'')', '%exists already%', 'she is there already');
SELECT is(pg_temp.hint('SELECT logsvc.create_user(''dora@acme.test'')') ~ 'not confirmed it.*verify_user.*set_password', true, 'and what to do is said');
SELECT is(pg_temp.hint('SELECT logsvc.create_user(''ann@acme.test'')') ~ '^logsvc.set_password', true, 'of who is verified, too');
SELECT is(logsvc.verify_user('dora@acme.test') - 'id' - 'createdAt' @> '{"emailVerified": true, "passwordRemoved": true}', true,
	'verified by an operator');
SELECT is(pg_temp.status(logsvc_internal.auth_sign_in('dora@acme.test', 'Red-kettle-and-7-spoons')),
	'401 INVALID_CREDENTIALS', 'who signed up, maybe somebody else, does not get in');
SELECT logsvc.set_password('dora@acme.test', 'Blue-kettle-and-7-spoons') \g /dev/null
SELECT is((logsvc_internal.auth_sign_in('dora@acme.test', 'Blue-kettle-and-7-spoons')).status,
	200, 'who has the password of the operator does');
SELECT is(logsvc.verify_user('dora@acme.test') ->> 'passwordRemoved', 'false', 'who is verified keeps it');
-- One that an operator has set before stays, but not one of a later sign-up.
UPDATE logsvc_internal.user_account SET verified_at = NULL WHERE email = 'dora@acme.test';
SELECT is(logsvc.verify_user('dora@acme.test') ->> 'passwordRemoved', 'false', 'set by an operator, then verified');
SELECT is((logsvc_internal.auth_sign_in('dora@acme.test', 'Blue-kettle-and-7-spoons')).status, 200, 'it stays');
UPDATE logsvc_internal.user_account SET verified_at = NULL WHERE email = 'dora@acme.test';
SELECT logsvc_internal.auth_sign_up('dora@acme.test', 'Red-kettle-and-7-spoons') \g /dev/null
UPDATE logsvc_internal.account_work SET next_attempt_at = now() - interval '1 minute';
SELECT cmp_ok(count(*), '>=', 1::bigint, 'a later sign-up') FROM generate_series(1, 9) WHERE logsvc_internal.do_account_work();
SELECT is(logsvc.verify_user('dora@acme.test') ->> 'passwordRemoved', 'true', 'replaces it, and is removed');
SELECT is(count(*), 0::bigint, 'with the sessions') FROM logsvc_internal.user_session;
SELECT throws_ok('SELECT logsvc.delete_user(''ann@acme.test'')', 'LS402', NULL,
	'the last owner stays');
SELECT is(logsvc.delete_user('dora@acme.test') ->> 'email', 'dora@acme.test', 'others go');
SELECT is(count(*), 0::bigint, 'with their sessions') FROM logsvc_internal.user_session;

SET ROLE logsvc_tenant;
SELECT throws_ok(format('SELECT count(*) FROM logsvc_internal.%I', name), '42501', NULL,
	format('tenants do not read %s', name))
FROM unnest('{user_session,one_time_link,password_history,account_work}'::text[]) AS name;
SELECT throws_ok(call, 'LS202', NULL, call)
FROM unnest(ARRAY['SELECT logsvc.set_password(''bob@acme.test'', ''x'')',
	'SELECT logsvc.end_sessions(''bob@acme.test'')',
	'SELECT logsvc.verify_user(''bob@acme.test'')', 'SELECT logsvc.delete_user(''bob@acme.test'')'])
		AS call;
RESET ROLE;
CREATE ROLE app_of_accounts LOGIN;
GRANT logsvc_tenant TO app_of_accounts;
CREATE TEMP TABLE account_call AS SELECT call
	FROM unnest(ARRAY['SELECT logsvc_internal.auth_sign_in(''ann@acme.test'', ''x'')',
		'SELECT logsvc_internal.auth_sign_up(''x@acme.test'', ''x'')',
	'SELECT logsvc_internal.auth_forgot_password(''ann@acme.test'')',
		'SELECT logsvc_internal.auth_reset_password(''x'', ''x'')']) AS call;
GRANT SELECT ON account_call TO PUBLIC;
SET SESSION AUTHORIZATION app_of_accounts;
SELECT throws_ok(call, '42501', NULL, 'an application: ' || call) FROM account_call;
RESET SESSION AUTHORIZATION;
-- And nobody outside of a request.
SET SESSION AUTHORIZATION logsvc_reader;
SELECT throws_ok(call, 'LS202', NULL, call) FROM account_call;
RESET SESSION AUTHORIZATION;
DROP ROLE app_of_accounts;

SELECT * FROM finish();
