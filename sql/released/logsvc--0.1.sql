-- logsvc: schemas and roles.

\echo Use "CREATE EXTENSION logsvc" to load this file. \quit

-- Roles belong to the cluster: another database's logsvc may have made them, and
-- DROP EXTENSION leaves them.
--
-- logsvc_admin and logsvc_tenant are there to be granted, and own nothing.
-- logsvc_reader is granted to nobody: functions that only read belong to it, and
-- row security is about it.  LOGIN, because on PostgreSQL 15 and 16 a background
-- worker cannot connect as a role without; CONNECTION LIMIT 0, which counts no
-- background workers, keeps everybody else from connecting as it.
--
-- Who made a role before may have members in it that nobody expects.  Ours have
-- the comment that is set here.
DO $$
DECLARE
	found_role record;
	wanted record;
BEGIN
	FOR wanted IN SELECT * FROM (VALUES
		('logsvc_admin', 'logsvc: operators, who act for every organization'),
		('logsvc_tenant', 'logsvc: tenants in SQL, who act by tokens'),
		('logsvc_reader', 'logsvc: reads within an organization; nobody can be a member of it'))
		AS t (name, comment)
	LOOP
		SELECT r.oid, pg_catalog.shobj_description(r.oid, 'pg_authid') AS comment,
			(SELECT pg_catalog.string_agg(pg_catalog.quote_ident(m.rolname), ', ' ORDER BY m.rolname)
			 FROM pg_catalog.pg_auth_members a JOIN pg_catalog.pg_roles m ON m.oid = a.member
			 WHERE a.roleid = r.oid) AS members,
			(SELECT pg_catalog.string_agg(pg_catalog.quote_ident(g.rolname), ', ' ORDER BY g.rolname)
			 FROM pg_catalog.pg_auth_members a JOIN pg_catalog.pg_roles g ON g.oid = a.roleid
			 WHERE a.member = r.oid) AS groups
		INTO found_role FROM pg_catalog.pg_roles r WHERE r.rolname = wanted.name;
		IF found_role.oid IS NULL THEN
			EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', wanted.name);
		ELSIF found_role.members IS NOT NULL AND wanted.name = 'logsvc_reader'
			OR found_role.members IS NOT NULL AND NOT starts_with(coalesce(found_role.comment, ''), 'logsvc: ') THEN
			RAISE EXCEPTION 'role % exists and has members: %', wanted.name, found_role.members
				USING ERRCODE = '42710', DETAIL = 'They would have rights in logsvc that nobody gave them there.',
				HINT = pg_catalog.format('Take them out of it (REVOKE %I FROM ...), or rename it; grant it when the extension is there.', wanted.name);
		ELSIF found_role.groups IS NOT NULL AND wanted.name = 'logsvc_reader' THEN
			RAISE EXCEPTION 'role % exists and is a member of: %', wanted.name, found_role.groups
				USING ERRCODE = '42710', HINT = 'Revoke these roles from it, or rename it.';
		ELSIF found_role.members IS NOT NULL THEN
			RAISE NOTICE 'role % is there already, and has members: %', wanted.name, found_role.members;
		END IF;
		EXECUTE pg_catalog.format('COMMENT ON ROLE %I IS %L', wanted.name, wanted.comment);
	END LOOP;
	ALTER ROLE logsvc_reader LOGIN NOINHERIT CONNECTION LIMIT 0 PASSWORD NULL
		NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
	EXECUTE pg_catalog.format('GRANT CONNECT ON DATABASE %I TO logsvc_reader',
		pg_catalog.current_database());
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

GRANT USAGE ON SCHEMA logsvc TO logsvc_admin, logsvc_tenant, logsvc_reader;
GRANT USAGE ON SCHEMA logsvc_internal TO logsvc_reader;
-- Organizations, users, members, credentials, indexes, and the limits of plans.
--
-- Ids are uuid inside and "org_" with 26 characters outside.  Secrets are kept
-- as SHA-256 only.  Rows of tenants are seen through row security; writing goes
-- through the functions of schema logsvc, which check who asks.

-- ---- what tables need ----

CREATE FUNCTION logsvc_internal.new_id() RETURNS uuid
LANGUAGE C VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_new_id';
COMMENT ON FUNCTION logsvc_internal.new_id() IS
'A new id: milliseconds and random bits, so that ids sort by time';

CREATE FUNCTION logsvc_internal.current_organization() RETURNS uuid
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_organization';
COMMENT ON FUNCTION logsvc_internal.current_organization() IS
'The organization that the session acts for; NULL for none; an error when the credential is valid no more';

CREATE FUNCTION logsvc_internal.may_read_audit() RETURNS boolean
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_may_read_audit';
COMMENT ON FUNCTION logsvc_internal.may_read_audit() IS
'Has the session''s principal the permission audit:read?';

CREATE FUNCTION logsvc_internal.access_changed() RETURNS trigger
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_access_changed';
COMMENT ON FUNCTION logsvc_internal.access_changed() IS
'Statement trigger: caches of access data are dropped when the transaction commits';

-- ---- limits ----
--
-- Rows that the extension brings are not customized, and not dumped.  A change
-- by the operator customizes a row: it is dumped, takes the place of the brought
-- one on restore, and an update of the extension leaves it alone.

CREATE FUNCTION logsvc_internal.customize() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		NEW.customized := true;
	ELSIF NEW.customized AND TG_TABLE_NAME = 'plan_limit' THEN
		DELETE FROM logsvc_internal.plan_limit
		WHERE plan = NEW.plan AND resource = NEW.resource AND NOT customized;
	ELSIF NEW.customized AND TG_TABLE_NAME = 'rate_limit' THEN
		DELETE FROM logsvc_internal.rate_limit WHERE class = NEW.class AND NOT customized;
	ELSIF NEW.customized AND TG_TABLE_NAME = 'model_provider' THEN
		DELETE FROM logsvc_internal.model_provider
		WHERE model = NEW.model AND provider = NEW.provider AND NOT customized;
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION logsvc_internal.customize() IS
'Row trigger of tables that come with rows: tells the operator''s rows from those';

CREATE TABLE logsvc_internal.plan_limit (
	plan text NOT NULL CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
	resource text NOT NULL,
	amount bigint CHECK (amount >= 0),
	customized boolean NOT NULL DEFAULT true,
	PRIMARY KEY (plan, resource)
);
COMMENT ON TABLE logsvc_internal.plan_limit IS
'What each plan includes (specification 8.2, 8.4, 8.7; decision 82); amount NULL: unlimited';

INSERT INTO logsvc_internal.plan_limit (plan, resource, amount, customized)
SELECT plan, resource, amount, false
FROM (VALUES
	-- resource,			free, pro, business, enterprise
	('indexes',				1, 25, 100, NULL),
	('members',				2, 10, NULL, NULL),
	('members_total',		50, 50, 50, 50),	-- the general rule beside the plan's
	('api_keys',			5, 20, 50, NULL),
	('alert_rules',			5, 50, 200, NULL),
	('pipelines',			3, 10, 100, NULL),
	('dashboards',			1, 20, 100, NULL),
	('saved_queries',		5, 100, 500, NULL),
	('scheduled_exports',	0, 5, 20, NULL),
	('services',			3, 25, 200, NULL),
	('kpis',				15, 150, 1500, NULL),
	('organizations_per_user', 5, 5, 5, 5),
	('invitations_per_hour', 10, 50, 100, 100),	-- mails, those sent again among them
	('invitations_per_day',	20, 100, 300, 300),
	('invitations_per_user_per_hour', 10, 30, 50, 50),	-- of one user, in all organizations
	('invitations_per_user_per_day', 20, 60, 150, 150),
	('ai_credits_per_month', 100, 2500, 10000, 100000),	-- enterprise: until the operator sets it
	('ingest_bytes_per_day', 1073741824, 10737418240, 53687091200, NULL),
	('overage_queue_seconds', 0, 3600, 3600, NULL),	-- 0: paused (decision 65)
	('deferred_bytes',		0, 1073741824, 5368709120, 5368709120),	-- beyond the quota, that may wait
	('test_bytes_per_day',	104857600, 104857600, 104857600, 104857600),	-- decision 48
	('retention_days',		3, 30, 90, NULL)
) AS figures (resource, free, pro, business, enterprise),
LATERAL (VALUES
	('free', free::bigint), ('pro', pro), ('business', business), ('enterprise', enterprise)
) AS plans (plan, amount);

CREATE TRIGGER customize BEFORE INSERT OR UPDATE ON logsvc_internal.plan_limit
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.customize();

CREATE TABLE logsvc_internal.rate_limit (
	class text PRIMARY KEY CHECK (length(class) BETWEEN 1 AND 31),
	per_minute int NOT NULL CHECK (per_minute >= 0),
	scope text NOT NULL CHECK (scope IN ('organization', 'caller', 'user', 'address', 'account')),
	timed boolean NOT NULL DEFAULT false,
	overdraft int NOT NULL DEFAULT 1 CHECK (overdraft BETWEEN 1 AND 100),
	customized boolean NOT NULL DEFAULT true
);
COMMENT ON COLUMN logsvc_internal.rate_limit.timed IS
'Requests of this class also draw on class executor, which counts seconds';
COMMENT ON COLUMN logsvc_internal.rate_limit.overdraft IS
'Of a timed class: refused when so many times the seconds of class executor are used';
COMMENT ON TABLE logsvc_internal.rate_limit IS
'Requests per minute of each rate class of the route table, and whom they count (specification 8.1, 8.3)';

INSERT INTO logsvc_internal.rate_limit (class, per_minute, scope, timed, customized) VALUES
	('ingest',			10000,	'organization',	false,	false),
	('otlp',			10000,	'organization',	false,	false),
	('logs',			100,	'organization',	true,	false),
	('search',			10,		'organization',	true,	false),
	('templates',		10,		'organization',	true,	false),
	('tail',			10,		'organization',	true,	false),
	('export',			10,		'organization',	true,	false),
	('deletions',		10,		'organization',	true,	false),
	('assist',			120,	'caller',		true,	false),
	('reports',			120,	'caller',		true,	false),
	-- Seconds of executors that the timed classes may take together.
	('executor',		60,		'organization',	false,	false),
	('evaluation',		10,		'caller',		false,	false),
	('auth',			5,		'address',		false,	false),
	('password',		5,		'user',			false,	false),
	-- Tries of a password for one e-mail address, whether it has an account or not.
	('sign_in',			5,		'account',		false,	false),
	('public',			5,		'address',		false,	false),
	('static',			600,	'address',		false,	false),
	-- Answers, not routes: 401s and 403s, beyond which there is 429.
	('unauthorized',	100,	'address',		false,	false),
	('forbidden',		100,	'caller',		false,	false);

-- Ten searches of 30 seconds fit into it: nobody gets fewer than the count promises.
UPDATE logsvc_internal.rate_limit SET overdraft = 5 WHERE class = 'search';

CREATE TRIGGER customize BEFORE INSERT OR UPDATE ON logsvc_internal.rate_limit
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.customize();

-- ---- tenants ----

CREATE TABLE logsvc_internal.organization (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	slug text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9](-?[a-z0-9])*$' AND length(slug) <= 64),
	name text NOT NULL CHECK (name <> '' AND length(name) <= 200),
	plan text NOT NULL DEFAULT 'free' CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
	timezone text NOT NULL DEFAULT 'UTC',
	retention_days int CHECK (retention_days >= 1),
	oauth_providers text[] NOT NULL DEFAULT '{google,github}',
	created_at timestamptz NOT NULL DEFAULT now(),
	deleted_at timestamptz,
	erasing_since timestamptz
);
COMMENT ON TABLE logsvc_internal.organization IS
'Tenants; retention_days NULL: what the plan includes; deleted_at: not usable any more, to be erased; erasing_since: part of its data is gone';

CREATE TABLE logsvc_internal.organization_limit (
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	resource text NOT NULL,
	amount bigint CHECK (amount >= 0),
	PRIMARY KEY (organization_id, resource)
);
COMMENT ON TABLE logsvc_internal.organization_limit IS
'Limits that the operator has given to one organization in place of its plan''s; amount NULL: unlimited';

CREATE TABLE logsvc_internal.user_account (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	email text NOT NULL UNIQUE CHECK (email = lower(email) AND length(email) <= 254),
	name text CHECK (length(name) <= 200),
	password_hash text,
	verified_at timestamptz,
	created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.user_account IS
'People; password_hash: scrypt, NULL when they sign in otherwise';

CREATE TABLE logsvc_internal.member (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	user_id uuid NOT NULL REFERENCES logsvc_internal.user_account ON DELETE CASCADE,
	role text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
	joined_at timestamptz NOT NULL DEFAULT now(),
	last_active_at timestamptz,
	UNIQUE (organization_id, user_id)
);
COMMENT ON TABLE logsvc_internal.member IS 'Who belongs to which organization, with one role there';
CREATE INDEX member_user_id ON logsvc_internal.member (user_id);

CREATE TABLE logsvc_internal.access_token (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	user_id uuid NOT NULL REFERENCES logsvc_internal.user_account ON DELETE CASCADE,
	name text NOT NULL CHECK (name <> '' AND length(name) <= 200),
	scopes text[] NOT NULL,
	token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
	prefix text NOT NULL,
	created_at timestamptz NOT NULL DEFAULT now(),
	expires_at timestamptz,
	last_used_at timestamptz,
	revoked_at timestamptz
);
COMMENT ON TABLE logsvc_internal.access_token IS
'Personal access tokens; token_hash: SHA-256 of the token, which is kept nowhere';
CREATE INDEX access_token_member ON logsvc_internal.access_token (organization_id, user_id);
CREATE INDEX access_token_user_id ON logsvc_internal.access_token (user_id);

CREATE TABLE logsvc_internal.api_key (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	name text NOT NULL CHECK (name <> '' AND length(name) <= 200),
	scope text NOT NULL CHECK (scope IN ('ingest-only', 'read-only', 'full-access')),
	kind text NOT NULL DEFAULT 'live' CHECK (kind IN ('live', 'test')),
	key_hash bytea NOT NULL UNIQUE CHECK (length(key_hash) = 32),
	prefix text NOT NULL,
	created_by uuid REFERENCES logsvc_internal.user_account ON DELETE SET NULL,
	created_at timestamptz NOT NULL DEFAULT now(),
	expires_at timestamptz,
	last_used_at timestamptz,
	revoked_at timestamptz
);
COMMENT ON TABLE logsvc_internal.api_key IS
'API keys; key_hash: SHA-256 of the key, which is kept nowhere';
CREATE INDEX api_key_organization_id ON logsvc_internal.api_key (organization_id);
CREATE INDEX api_key_created_by ON logsvc_internal.api_key (created_by);

CREATE TABLE logsvc_internal.log_index (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	name text NOT NULL CHECK (name ~ '^[a-z_][a-z0-9_-]{0,63}$'),
	description text CHECK (length(description) <= 2000),
	retention_days int CHECK (retention_days >= 1),
	created_at timestamptz NOT NULL DEFAULT now(),
	UNIQUE (organization_id, name)
);
COMMENT ON TABLE logsvc_internal.log_index IS
'Indexes: named parts of an organization''s events; retention_days NULL: the organization''s';

-- A person who comes back does not bring the old tokens back (decision 61).
CREATE FUNCTION logsvc_internal.member_removed() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	UPDATE logsvc_internal.access_token SET revoked_at = now()
	WHERE organization_id = OLD.organization_id AND user_id = OLD.user_id AND revoked_at IS NULL;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION logsvc_internal.member_removed() IS
'Row trigger: removing a member revokes the member''s tokens of that organization';

CREATE TRIGGER member_removed AFTER DELETE ON logsvc_internal.member
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.member_removed();

-- ---- caches ----
--
-- Columns that are written by use (last_used_at, last_active_at) do not count.

DO $$
DECLARE
	watched record;
BEGIN
	FOR watched IN
		SELECT * FROM (VALUES
			('organization', 'id, slug, name, plan, timezone, retention_days, oauth_providers, deleted_at'),
			('organization_limit', NULL),
			('plan_limit', NULL),
			('rate_limit', NULL),
			('user_account', NULL),
			('member', 'id, organization_id, user_id, role'),
			('access_token', 'id, organization_id, user_id, scopes, token_hash, expires_at, revoked_at'),
			('api_key', 'id, organization_id, scope, kind, key_hash, expires_at, revoked_at'),
			('log_index', NULL)
		) AS t (name, columns)
	LOOP
		EXECUTE format(
			'CREATE TRIGGER access_changed AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE %s'
			' ON logsvc_internal.%I FOR EACH STATEMENT'
			' EXECUTE FUNCTION logsvc_internal.access_changed()',
			'OF ' || watched.columns, watched.name);
		-- Also when session_replication_role is replica.
		EXECUTE format('ALTER TABLE logsvc_internal.%I ENABLE ALWAYS TRIGGER access_changed',
			watched.name);
	END LOOP;
END
$$;

-- ---- row security, rights, dump ----

ALTER TABLE logsvc_internal.organization ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.organization TO logsvc_reader
	USING (id = logsvc_internal.current_organization());
ALTER TABLE logsvc_internal.user_account ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.user_account TO logsvc_reader
	USING (EXISTS (SELECT FROM logsvc_internal.member m
		WHERE m.user_id = user_account.id
			AND m.organization_id = logsvc_internal.current_organization()));

DO $$
DECLARE
	tenant_table text;
BEGIN
	FOREACH tenant_table IN ARRAY
		'{organization_limit,member,access_token,api_key,log_index}'::text[]
	LOOP
		EXECUTE format('ALTER TABLE logsvc_internal.%I ENABLE ROW LEVEL SECURITY', tenant_table);
		EXECUTE format('CREATE POLICY tenant ON logsvc_internal.%I TO logsvc_reader'
			' USING (organization_id = logsvc_internal.current_organization())', tenant_table);
	END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION logsvc_internal.current_organization(),
	logsvc_internal.may_read_audit() TO logsvc_reader;
GRANT SELECT ON logsvc_internal.plan_limit, logsvc_internal.rate_limit TO logsvc_reader;
GRANT SELECT ON logsvc_internal.organization, logsvc_internal.organization_limit,
	logsvc_internal.member, logsvc_internal.log_index TO logsvc_reader;
-- Not the hashes.
GRANT SELECT (id, email, name, verified_at, created_at)
	ON logsvc_internal.user_account TO logsvc_reader;
GRANT SELECT (id, organization_id, user_id, name, scopes, prefix, created_at, expires_at,
	last_used_at, revoked_at) ON logsvc_internal.access_token TO logsvc_reader;
GRANT SELECT (id, organization_id, name, scope, kind, prefix, created_by, created_at, expires_at,
	last_used_at, revoked_at) ON logsvc_internal.api_key TO logsvc_reader;

SELECT pg_extension_config_dump('logsvc_internal.plan_limit', 'WHERE customized');
SELECT pg_extension_config_dump('logsvc_internal.rate_limit', 'WHERE customized');
SELECT pg_extension_config_dump('logsvc_internal.organization', '');
SELECT pg_extension_config_dump('logsvc_internal.organization_limit', '');
SELECT pg_extension_config_dump('logsvc_internal.user_account', '');
SELECT pg_extension_config_dump('logsvc_internal.member', '');
SELECT pg_extension_config_dump('logsvc_internal.access_token', '');
SELECT pg_extension_config_dump('logsvc_internal.api_key', '');
SELECT pg_extension_config_dump('logsvc_internal.log_index', '');
-- What HTTP requests need of SQL: answers that are more than JSON, lists, and
-- requests that are sent again.

CREATE TYPE logsvc_internal.http_response AS (
	status int,
	headers jsonb,
	content_type text,
	body bytea
);
COMMENT ON TYPE logsvc_internal.http_response IS
'An answer: status (NULL: the route''s), headers {"Name": "value" or ["values"]}, content type (NULL: JSON), body';

CREATE DOMAIN logsvc_internal.list AS jsonb;
COMMENT ON DOMAIN logsvc_internal.list IS
'A page of a list: {"data": [...], "page": {"nextCursor", "hasMore"}}';
REVOKE ALL ON TYPE logsvc_internal.http_response, logsvc_internal.list FROM PUBLIC;
GRANT USAGE ON TYPE logsvc_internal.http_response, logsvc_internal.list
	TO logsvc_reader;

CREATE TABLE logsvc_internal.idempotency (
	key_hash bytea PRIMARY KEY CHECK (length(key_hash) = 32),
	request_hash bytea NOT NULL CHECK (length(request_hash) = 32),
	answer bytea,
	created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.idempotency IS
'Requests with an Idempotency-Key of the last 24 hours; answer: encrypted with a key that needs the client''s';
CREATE INDEX idempotency_created_at ON logsvc_internal.idempotency (created_at);
SELECT pg_extension_config_dump('logsvc_internal.idempotency', 'WHERE false');
-- What the scheduler does, and when.

CREATE TABLE logsvc_internal.scheduled_task (
  name text PRIMARY KEY,
  period text NOT NULL CHECK (period IN ('minute', 'hour', 'day', 'month')),
  next_run_at timestamptz NOT NULL DEFAULT '-infinity',
  last_run_at timestamptz,
  failures integer NOT NULL DEFAULT 0
);
COMMENT ON TABLE logsvc_internal.scheduled_task IS
  'functions logsvc_internal.<name>(timestamptz) that the scheduler calls when a period (UTC) '
  'begins; failures: in a row';
-- Not dumped: a restored server finds everything due, and the functions do no more than is needed.
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.scheduled_task', 'WHERE false');
-- Accounts: passwords, sessions, links that work once.

CREATE TABLE logsvc_internal.password_history (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	user_id uuid NOT NULL REFERENCES logsvc_internal.user_account ON DELETE CASCADE,
	password_hash text NOT NULL,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE logsvc_internal.password_history IS
'The last ten passwords of each user, the present one among them (specification 5.3)';
CREATE INDEX password_history_user_id ON logsvc_internal.password_history (user_id, set_at);

CREATE TABLE logsvc_internal.user_session (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	user_id uuid NOT NULL REFERENCES logsvc_internal.user_account ON DELETE CASCADE,
	token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
	created_at timestamptz NOT NULL DEFAULT now(),
	last_seen_at timestamptz NOT NULL DEFAULT now(),
	expires_at timestamptz NOT NULL,
	address text,
	user_agent text,
	provider text CHECK (provider IN ('google', 'github'))
);
COMMENT ON TABLE logsvc_internal.user_session IS
'Sessions of browsers; token_hash: SHA-256 of the cookie, which is kept nowhere; provider: who signed the user in, NULL: a password; one that is ended is deleted';
CREATE INDEX user_session_user_id ON logsvc_internal.user_session (user_id);

CREATE TABLE logsvc_internal.one_time_link (
	token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
	purpose text NOT NULL CHECK (purpose IN ('verify_email', 'reset_password')),
	user_id uuid NOT NULL REFERENCES logsvc_internal.user_account ON DELETE CASCADE,
	created_at timestamptz NOT NULL DEFAULT now(),
	expires_at timestamptz NOT NULL,
	used_at timestamptz,
	name text,
	password_hash text
);
COMMENT ON TABLE logsvc_internal.one_time_link IS
'Links in mails; token_hash: SHA-256 of the token; name, password_hash: of the sign-up that a link confirms';
CREATE INDEX one_time_link_user_id ON logsvc_internal.one_time_link (user_id, purpose, created_at);

CREATE TABLE logsvc_internal.account_work (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	kind text NOT NULL
		CHECK (kind IN ('sign_up', 'resend_verification', 'forgot_password', 'login_failed')),
	email text NOT NULL,
	name text,
	password_hash text,
	reason text,
	address text,
	user_agent text,
	created_at timestamptz NOT NULL DEFAULT now(),
	attempts int NOT NULL DEFAULT 0,
	next_attempt_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.account_work IS
'What is left to do of requests about an address, done after their answer so that its time does not tell whether there is an account';
CREATE INDEX account_work_due ON logsvc_internal.account_work (next_attempt_at);

CREATE TABLE logsvc_internal.oauth_identity (
	issuer text NOT NULL,
	subject text NOT NULL CHECK (subject <> ''),
	user_id uuid NOT NULL REFERENCES logsvc_internal.user_account ON DELETE CASCADE,
	provider text NOT NULL CHECK (provider IN ('google', 'github')),
	created_at timestamptz NOT NULL DEFAULT now(),
	last_used_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (issuer, subject)
);
COMMENT ON TABLE logsvc_internal.oauth_identity IS
'Who is whom at identity providers; issuer: whose subjects these are, so that another one behind the same name is nobody known';
CREATE INDEX oauth_identity_user_id ON logsvc_internal.oauth_identity (user_id);

CREATE TABLE logsvc_internal.known_device (
	token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
	user_id uuid NOT NULL REFERENCES logsvc_internal.user_account ON DELETE CASCADE,
	last_used_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.known_device IS
'Browsers in which a user has signed in, so that guesses of others do not keep the user out; token_hash: SHA-256 of their cookie';
CREATE INDEX known_device_user_id ON logsvc_internal.known_device (user_id, last_used_at);

CREATE TABLE logsvc_internal.oauth_state (
	state_hash bytea PRIMARY KEY CHECK (length(state_hash) = 32),
	used_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.oauth_state IS
'Sign-ins by a provider that came back within the last minutes: none does twice; state_hash: SHA-256';
CREATE INDEX oauth_state_used_at ON logsvc_internal.oauth_state (used_at);

CREATE TABLE logsvc_internal.oauth_document (
	url text PRIMARY KEY,
	body text NOT NULL,
	fetched_at timestamptz NOT NULL DEFAULT now(),
	tried_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.oauth_document IS
'What identity providers publish about themselves, for an hour; tried_at: when it was last fetched out of turn';

-- Caches of sessions.  A new session cannot have been looked for, and what is
-- written by use does not count.
CREATE TRIGGER access_changed AFTER DELETE OR TRUNCATE
	OR UPDATE OF id, user_id, token_hash, created_at, expires_at, provider
ON logsvc_internal.user_session FOR EACH STATEMENT
EXECUTE FUNCTION logsvc_internal.access_changed();
ALTER TABLE logsvc_internal.user_session ENABLE ALWAYS TRIGGER access_changed;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES
	('finish_account_work', 'minute'), ('purge_accounts', 'hour');

ALTER TABLE logsvc_internal.password_history ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.user_session ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.one_time_link ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.account_work ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.oauth_identity ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.known_device ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.oauth_state ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.oauth_document ENABLE ROW LEVEL SECURITY;

SELECT pg_extension_config_dump('logsvc_internal.password_history', '');
SELECT pg_extension_config_dump('logsvc_internal.user_session', '');
SELECT pg_extension_config_dump('logsvc_internal.one_time_link', '');
SELECT pg_extension_config_dump('logsvc_internal.account_work', '');
SELECT pg_extension_config_dump('logsvc_internal.oauth_identity', '');
SELECT pg_extension_config_dump('logsvc_internal.known_device', '');
SELECT pg_extension_config_dump('logsvc_internal.oauth_state', '');
SELECT pg_extension_config_dump('logsvc_internal.oauth_document', 'WHERE false');
-- Invitations, and indexes whose events are still to be removed.

CREATE TABLE logsvc_internal.invitation (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	email text NOT NULL CHECK (email = lower(email) AND length(email) <= 254),
	role text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
	token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
	invited_by uuid REFERENCES logsvc_internal.user_account ON DELETE SET NULL,
	created_at timestamptz NOT NULL DEFAULT now(),
	expires_at timestamptz NOT NULL,
	accepted_at timestamptz,
	revoked_at timestamptz,
	mail uuid
);
COMMENT ON TABLE logsvc_internal.invitation IS
'Invitations to organizations; token_hash: SHA-256 of the token of the last mail, which is kept nowhere else; mail: that mail, in the outbox';
CREATE INDEX invitation_organization_id ON logsvc_internal.invitation (organization_id, id);
CREATE INDEX invitation_invited_by ON logsvc_internal.invitation (invited_by);
-- Of one address at most one is open in an organization; expired ones are open
-- until they are sent again, revoked, or another one takes their place.
CREATE UNIQUE INDEX invitation_open ON logsvc_internal.invitation (organization_id, email)
	WHERE accepted_at IS NULL AND revoked_at IS NULL;

CREATE TABLE logsvc_internal.dropped_index (
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	name text NOT NULL,
	dropped_at timestamptz NOT NULL DEFAULT now(),
	batch bigint NOT NULL,
	PRIMARY KEY (organization_id, name)
);
COMMENT ON TABLE logsvc_internal.dropped_index IS
'Deleted indexes with events that are not removed yet, and the last batch that may have some; their names are not free until then';

ALTER TABLE logsvc_internal.invitation ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.dropped_index ENABLE ROW LEVEL SECURITY;
SELECT pg_extension_config_dump('logsvc_internal.invitation', '');
SELECT pg_extension_config_dump('logsvc_internal.dropped_index', '');
-- The addresses from which an organization may be used.

CREATE TABLE logsvc_internal.ip_allowlist (
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	network cidr NOT NULL,
	note text CHECK (length(note) <= 200),
	created_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (organization_id, network)
);
COMMENT ON TABLE logsvc_internal.ip_allowlist IS
'Networks that may use the credentials of an organization; no row: every address may';

CREATE TRIGGER access_changed AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE
ON logsvc_internal.ip_allowlist FOR EACH STATEMENT
EXECUTE FUNCTION logsvc_internal.access_changed();
ALTER TABLE logsvc_internal.ip_allowlist ENABLE ALWAYS TRIGGER access_changed;

ALTER TABLE logsvc_internal.ip_allowlist ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.ip_allowlist TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());
GRANT SELECT ON logsvc_internal.ip_allowlist TO logsvc_reader;

SELECT pg_extension_config_dump('logsvc_internal.ip_allowlist', '');
-- Plans that organizations ask for, when operators decide about plans.

CREATE TABLE logsvc_internal.plan_request (
	organization_id uuid PRIMARY KEY REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	plan text NOT NULL CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
	requested_by uuid REFERENCES logsvc_internal.user_account ON DELETE SET NULL,
	requested_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.plan_request IS
'The open request of an organization for a larger plan; a later one replaces it, a decision removes it';
CREATE INDEX plan_request_requested_by ON logsvc_internal.plan_request (requested_by);

ALTER TABLE logsvc_internal.plan_request ENABLE ROW LEVEL SECURITY;

SELECT pg_extension_config_dump('logsvc_internal.plan_request', '');
-- The store: the durable queue and the parts.

-- What acceptors have accepted and no writer has stored yet.  A row is a part
-- of level 0 with the events of one organization of one group commit; its id
-- is the batch number in the ids of those events.
CREATE SEQUENCE logsvc_internal.batch_number;
COMMENT ON SEQUENCE logsvc_internal.batch_number IS
  'numbers of accepted batches: the first half of event ids';

-- Its partitions are segments, see src/ingest/segment.c: one takes entries, the
-- others are drained and emptied.
CREATE TABLE logsvc_internal.queue (
  id bigint NOT NULL,
  organization_id uuid NOT NULL,
  rows integer NOT NULL,
  min_time timestamptz NOT NULL,
  max_time timestamptz NOT NULL,
  level_mask integer NOT NULL,
  header bytea NOT NULL,
  body bytea NOT NULL,
  audit boolean NOT NULL DEFAULT false,
  batch bigint,
  attempts integer NOT NULL DEFAULT 0,
  failed_at timestamptz,
  segment smallint NOT NULL DEFAULT 0
) PARTITION BY LIST (segment);
ALTER TABLE logsvc_internal.queue
  ALTER header SET STORAGE MAIN,
  ALTER body SET STORAGE EXTERNAL;
COMMENT ON TABLE logsvc_internal.queue IS
  'accepted events that wait for a writer, as parts of level 0';
COMMENT ON COLUMN logsvc_internal.queue.audit IS
  'entries of the audit log, and no other events, for readers with audit:read';

COMMENT ON COLUMN logsvc_internal.queue.batch IS
  'of what comes back from the dead letters: the batch number in the ids; else it is id';
COMMENT ON COLUMN logsvc_internal.queue.attempts IS
  'of what comes back from the dead letters: failed attempts to store it before';
COMMENT ON COLUMN logsvc_internal.queue.failed_at IS
  'of what comes back from the dead letters: the first of them';

COMMENT ON COLUMN logsvc_internal.queue.segment IS
  'the partition; rows that are put in by hand may go into any';

-- Segments are emptied by TRUNCATE before there is much for vacuum to do.  It has
-- work only when one cannot be emptied.
CREATE FUNCTION logsvc_internal.make_queue_segment(number integer) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name text := 'queue_' || number;
BEGIN
  IF to_regclass('logsvc_internal.' || name) IS NOT NULL THEN
    RETURN;
  END IF;
  -- CREATE and ATTACH: PARTITION OF would lock out every reader.
  EXECUTE format('CREATE TABLE logsvc_internal.%I (LIKE logsvc_internal.queue INCLUDING ALL,'
    ' PRIMARY KEY (id), CHECK (segment = %s)) WITH (fillfactor = 100,'
    ' autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000,'
    ' autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_threshold = -1,'
    ' autovacuum_analyze_threshold = 2147483647,'
    ' toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 200000,'
    ' toast.autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_insert_threshold = -1)',
    name, number);
  EXECUTE format('ALTER TABLE logsvc_internal.%I ENABLE ROW LEVEL SECURITY', name);
  EXECUTE format('COMMENT ON TABLE logsvc_internal.%I IS %L', name, 'a segment of the queue');
  EXECUTE format('ALTER TABLE logsvc_internal.queue ATTACH PARTITION logsvc_internal.%I'
    ' FOR VALUES IN (%s)', name, number);
END
$$;
COMMENT ON FUNCTION logsvc_internal.make_queue_segment(integer) IS
  'makes the segment of that number of the queue';
REVOKE ALL ON FUNCTION logsvc_internal.make_queue_segment(integer) FROM PUBLIC;
SELECT logsvc_internal.make_queue_segment(n) FROM pg_catalog.generate_series(0, 3) n;

-- What could not be stored.  A row is what an entry of the queue is: a part of
-- level 0, or bytes that should be one.
CREATE TABLE logsvc_internal.dead_letter (
  id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
  organization_id uuid NOT NULL,
  batch bigint NOT NULL,
  rows integer NOT NULL,
  min_time timestamptz NOT NULL,
  max_time timestamptz NOT NULL,
  level_mask integer NOT NULL,
  audit boolean NOT NULL,
  reason text NOT NULL CHECK (reason IN ('corrupt', 'rejected', 'store_unavailable')),
  status text NOT NULL DEFAULT 'dead'
    CHECK (status IN ('dead', 'replaying', 'replayed', 'discarded')),
  attempts integer NOT NULL,
  first_failed_at timestamptz NOT NULL,
  last_failed_at timestamptz NOT NULL,
  sqlstate text NOT NULL,
  last_error text NOT NULL,
  closed_at timestamptz,
  header bytea,
  body bytea,
  CHECK ((status IN ('dead', 'replaying')) = (header IS NOT NULL AND body IS NOT NULL)),
  CHECK ((status IN ('dead', 'replaying')) = (closed_at IS NULL))
);
ALTER TABLE logsvc_internal.dead_letter ALTER body SET STORAGE EXTERNAL;
CREATE INDEX dead_letter_organization ON logsvc_internal.dead_letter (organization_id, id);
CREATE INDEX dead_letter_replay ON logsvc_internal.dead_letter (batch, id)
  WHERE status = 'replaying' OR status = 'dead' AND reason = 'store_unavailable';
CREATE INDEX dead_letter_closed_at ON logsvc_internal.dead_letter (closed_at);
COMMENT ON TABLE logsvc_internal.dead_letter IS
  'accepted events that could not be stored; closed ones (replayed, discarded) hold no events';
COMMENT ON COLUMN logsvc_internal.dead_letter.reason IS
  'corrupt: the bytes cannot be read; rejected: the store refuses just this; store_unavailable: '
  'it refused everything';
INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_dead_letters', 'day');

-- The store proper.  Columns beside header and body are what the planner can
-- prune by; the header repeats them for itself.
CREATE SEQUENCE logsvc_internal.part_id;
COMMENT ON SEQUENCE logsvc_internal.part_id IS 'ids of parts';

CREATE TABLE logsvc_internal.part (
  id bigint NOT NULL DEFAULT pg_catalog.nextval('logsvc_internal.part_id'),
  organization_id uuid NOT NULL,
  index_name text NOT NULL,
  day date NOT NULL,
  level smallint NOT NULL,
  min_time timestamptz NOT NULL,
  max_time timestamptz NOT NULL,
  rows integer NOT NULL,
  raw_bytes bigint NOT NULL,
  level_mask integer NOT NULL,
  min_batch bigint NOT NULL,
  max_batch bigint NOT NULL,
  header bytea NOT NULL,
  body bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT pg_catalog.now()
) PARTITION BY RANGE (day);
ALTER TABLE logsvc_internal.part
  ALTER header SET STORAGE MAIN,
  ALTER body SET STORAGE EXTERNAL;
COMMENT ON TABLE logsvc_internal.part IS
  'parts: up to 65,536 events of one organization, index and UTC day as compressed columns';
COMMENT ON COLUMN logsvc_internal.part.level IS
  'level of merging: 1 as written, up to 8 merged, 9 full, -1 cannot be read';
COMMENT ON COLUMN logsvc_internal.part.level_mask IS
  'bit n is set when an event has level n of trace, debug, info, warn, error, fatal, other, none';

-- Keys and indexes belong to the partitions: indexes of the parent would come
-- back twice when a dump is restored, with the parent by CREATE EXTENSION and
-- with each daily partition, which is an ordinary table to pg_dump.
CREATE TABLE logsvc_internal.part_other PARTITION OF logsvc_internal.part DEFAULT;
ALTER TABLE logsvc_internal.part_other ADD PRIMARY KEY (id);
CREATE INDEX part_other_time ON logsvc_internal.part_other (organization_id, max_time);
ALTER TABLE logsvc_internal.part_other
  ALTER header SET STORAGE MAIN,
  ALTER body SET STORAGE EXTERNAL;

-- Merging leaves a dead row for each small part, and their bodies in TOAST:
-- space that the next parts of the day should find again.  A chunk of TOAST is
-- 2 KB.
CREATE FUNCTION logsvc_internal.part_options() RETURNS SETOF text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN unnest('{autovacuum_vacuum_scale_factor=0.1,autovacuum_vacuum_threshold=500,'
  'autovacuum_vacuum_cost_delay=1,toast.autovacuum_vacuum_scale_factor=0.1,'
  'toast.autovacuum_vacuum_threshold=5000,toast.autovacuum_vacuum_cost_delay=1,'
  'toast.autovacuum_vacuum_insert_scale_factor=1}'::text[]);
COMMENT ON FUNCTION logsvc_internal.part_options() IS
  'storage parameters of the partitions of the store';
DO $$
BEGIN
  EXECUTE format('ALTER TABLE logsvc_internal.part_other SET (%s)',
                 (SELECT string_agg(o, ', ') FROM logsvc_internal.part_options() AS o));
END
$$;
COMMENT ON TABLE logsvc_internal.part_other IS 'parts of days that have no partition of their own';

SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.queue', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.queue_0', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.queue_1', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.queue_2', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.queue_3', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.dead_letter', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.batch_number', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.part', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.part_other', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.part_id', '');

ALTER TABLE logsvc_internal.queue ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.dead_letter ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.part ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.part_other ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON logsvc_internal.queue, logsvc_internal.part TO logsvc_reader;
-- The audit log needs a permission of its own, whatever door is taken.
CREATE POLICY tenant ON logsvc_internal.queue FOR SELECT TO logsvc_reader
  USING (organization_id = logsvc_internal.current_organization()
    AND (NOT audit OR (SELECT logsvc_internal.may_read_audit())));
CREATE POLICY tenant ON logsvc_internal.part FOR SELECT TO logsvc_reader
  USING (organization_id = logsvc_internal.current_organization()
    AND (index_name <> '_audit' OR (SELECT logsvc_internal.may_read_audit())));
-- Evaluation: models, regions, AI credits.

CREATE TABLE logsvc_internal.model (
  id text PRIMARY KEY,
  position integer NOT NULL,
  is_default boolean NOT NULL DEFAULT false,
  input_rate bigint NOT NULL CHECK (input_rate >= 0),
  output_rate bigint NOT NULL CHECK (output_rate >= 0),
  customized boolean NOT NULL DEFAULT true,
  -- Deferred, so that the rows of a dump may come in any order.
  CONSTRAINT model_default EXCLUDE (is_default WITH OPERATOR(pg_catalog.=)) WHERE (is_default)
    DEFERRABLE INITIALLY DEFERRED
);
COMMENT ON TABLE logsvc_internal.model IS
  'model catalogue: prices in micro-USD for a million tokens (specification 2.1)';
INSERT INTO logsvc_internal.model
    (id, position, is_default, input_rate, output_rate, customized) VALUES
  ('model-haiku-4-5', 1, true, 1000000, 5000000, false),
  ('model-sonnet-4-6', 2, false, 3000000, 15000000, false),
  ('model-opus-4-7', 3, false, 15000000, 75000000, false);

-- As customize(), but a row that takes the place of a brought one becomes it:
-- deleting that one would take what refers to it.
CREATE FUNCTION logsvc_internal.customize_model() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    NEW.customized := true;
    RETURN NEW;
  END IF;
  UPDATE logsvc_internal.model m
     SET position = NEW.position, is_default = NEW.is_default, input_rate = NEW.input_rate,
         output_rate = NEW.output_rate
   WHERE m.id = NEW.id AND NOT m.customized AND NEW.customized;
  IF FOUND THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION logsvc_internal.customize_model() IS
  'Row trigger: a model that an operator changes or restores from a dump is customized';
CREATE TRIGGER customize BEFORE INSERT OR UPDATE ON logsvc_internal.model
  FOR EACH ROW EXECUTE FUNCTION logsvc_internal.customize_model();

CREATE TABLE logsvc_internal.model_provider (
  model text NOT NULL REFERENCES logsvc_internal.model ON UPDATE CASCADE ON DELETE CASCADE,
  provider text NOT NULL CHECK (provider IN ('anthropic', 'bedrock', 'openai')),
  provider_model text NOT NULL CHECK (provider_model <> ''),
  customized boolean NOT NULL DEFAULT true,
  PRIMARY KEY (model, provider)
);
COMMENT ON TABLE logsvc_internal.model_provider IS
  'what a provider calls a model of the catalogue; without a row it is asked for by the id of the '
  'catalogue';
INSERT INTO logsvc_internal.model_provider (model, provider, provider_model, customized) VALUES
  ('model-haiku-4-5', 'anthropic', 'claude-haiku-4-5', false),
  ('model-sonnet-4-6', 'anthropic', 'claude-sonnet-4-6', false),
  ('model-opus-4-7', 'anthropic', 'claude-opus-4-7', false),
  -- Inference profiles that stay within the European Union.
  ('model-haiku-4-5', 'bedrock', 'eu.anthropic.claude-haiku-4-5-20251001-v1:0', false),
  ('model-sonnet-4-6', 'bedrock', 'eu.anthropic.claude-sonnet-4-6', false),
  ('model-opus-4-7', 'bedrock', 'eu.anthropic.claude-opus-4-7', false);
CREATE TRIGGER customize BEFORE INSERT OR UPDATE ON logsvc_internal.model_provider
  FOR EACH ROW EXECUTE FUNCTION logsvc_internal.customize();

CREATE TABLE logsvc_internal.eu_region (
  name text PRIMARY KEY CHECK (name = pg_catalog.lower(name)),
  customized boolean NOT NULL DEFAULT true
);
COMMENT ON TABLE logsvc_internal.eu_region IS
  'regions in the European Union in which evaluations may run (specification 8.10); '
  'an operator adds the name of a place of its own';
INSERT INTO logsvc_internal.eu_region (name, customized)
SELECT name, false FROM (VALUES
  ('eu'),
  ('eu-central-1'), ('eu-west-1'), ('eu-west-3'), ('eu-north-1'), ('eu-south-1'), ('eu-south-2'),
  ('europe-west1'), ('europe-west3'), ('europe-west4'), ('europe-west8'), ('europe-west9'),
  ('europe-west10'), ('europe-west12'), ('europe-north1'), ('europe-central2'),
  ('europe-southwest1'),
  ('westeurope'), ('northeurope'), ('francecentral'), ('germanywestcentral'), ('swedencentral'),
  ('polandcentral'), ('italynorth'), ('spaincentral')
) AS regions (name);

-- Amounts are micro-credits: 1 credit is 0.01 USD.
CREATE TABLE logsvc_internal.ai_credit_month (
  organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
  month date NOT NULL,
  granted bigint NOT NULL DEFAULT 0 CHECK (granted >= 0),
  used bigint NOT NULL DEFAULT 0 CHECK (used >= 0),
  PRIMARY KEY (organization_id, month)
);
COMMENT ON TABLE logsvc_internal.ai_credit_month IS
  'AI credits of an organization in a calendar month (UTC), in micro-credits: what was granted '
  'beyond the plan, what is used up';

CREATE TABLE logsvc_internal.ai_credit_reservation (
  id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
  month date NOT NULL,
  micro_credits bigint NOT NULL CHECK (micro_credits >= 0),
  expires_at timestamptz NOT NULL
);
CREATE INDEX ai_credit_reservation_expires_at
  ON logsvc_internal.ai_credit_reservation (expires_at);
CREATE INDEX ai_credit_reservation_organization
  ON logsvc_internal.ai_credit_reservation (organization_id, expires_at);
COMMENT ON TABLE logsvc_internal.ai_credit_reservation IS
  'credits set aside for calls in flight; one that expires lapses (decision 34)';

CREATE TABLE logsvc_internal.ai_credit_entry (
  id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
  at timestamptz NOT NULL DEFAULT pg_catalog.now(),
  kind text NOT NULL CHECK (kind IN ('run', 'adjustment')),
  micro_credits bigint NOT NULL,
  model text,
  tokens_in bigint,
  tokens_out bigint,
  reason text
);
CREATE INDEX ai_credit_entry_organization
  ON logsvc_internal.ai_credit_entry (organization_id, at);
COMMENT ON TABLE logsvc_internal.ai_credit_entry IS
  'ledger of AI credits: amounts only, never rows or criteria (decision 42)';

SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.model', 'WHERE customized');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.model_provider', 'WHERE customized');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.eu_region', 'WHERE customized');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.ai_credit_month', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.ai_credit_reservation', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.ai_credit_reservation_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.ai_credit_entry', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.ai_credit_entry_id_seq', '');

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES
  ('lapse_ai_reservations', 'minute'), ('open_ai_credit_month', 'month');

ALTER TABLE logsvc_internal.ai_credit_month ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.ai_credit_reservation ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.ai_credit_entry ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON logsvc_internal.ai_credit_month, logsvc_internal.ai_credit_reservation,
  logsvc_internal.ai_credit_entry TO logsvc_reader;
CREATE POLICY tenant ON logsvc_internal.ai_credit_month FOR SELECT TO logsvc_reader
  USING (organization_id = logsvc_internal.current_organization());
CREATE POLICY tenant ON logsvc_internal.ai_credit_reservation FOR SELECT TO logsvc_reader
  USING (organization_id = logsvc_internal.current_organization());
CREATE POLICY tenant ON logsvc_internal.ai_credit_entry FOR SELECT TO logsvc_reader
  USING (organization_id = logsvc_internal.current_organization());
-- Which organizations a user has made or owned when they were deleted.  Without
-- a foreign key: it outlives the organization, so that deleting one and making
-- another does not give the credits of the month, or the quota of the day, again.
CREATE TABLE logsvc_internal.past_organization (
	user_id uuid NOT NULL REFERENCES logsvc_internal.user_account ON DELETE CASCADE,
	organization_id uuid NOT NULL,
	month date,
	micro_credits bigint NOT NULL DEFAULT 0 CHECK (micro_credits >= 0),
	PRIMARY KEY (user_id, organization_id)
);
CREATE INDEX past_organization_organization ON logsvc_internal.past_organization (organization_id);
COMMENT ON TABLE logsvc_internal.past_organization IS
'Organizations that a user has made, or owned when they were deleted; month, micro_credits: what one had used in the month in which it was erased';
ALTER TABLE logsvc_internal.past_organization ENABLE ROW LEVEL SECURITY;
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.past_organization', '');
-- The search: the key that cursors are signed with.

CREATE TABLE logsvc_internal.secret (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  key bytea NOT NULL CHECK (pg_catalog.length(key) = 32)
);
COMMENT ON TABLE logsvc_internal.secret IS
  'the key of the server that cursors are signed with; not dumped: a restored server has its own';
INSERT INTO logsvc_internal.secret (key)
  VALUES (pg_catalog.sha256(pg_catalog.uuid_send(pg_catalog.gen_random_uuid())
                            || pg_catalog.uuid_send(pg_catalog.gen_random_uuid())));
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.secret', 'WHERE false');
-- The audit log: one chain of entries for each organization, and what happened
-- outside of any organization.
--
-- An entry is written without its place in the chain; a deferred trigger gives
-- it one when the transaction commits, so that the chain is locked from there
-- to the commit and not from the change on.

CREATE TABLE logsvc_internal.audit_head (
	organization_id uuid PRIMARY KEY
		REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	number bigint NOT NULL,
	hash bytea NOT NULL CHECK (length(hash) = 32),
	first_number bigint NOT NULL DEFAULT 1,
	first_previous bytea NOT NULL CHECK (length(first_previous) = 32)
);
COMMENT ON TABLE logsvc_internal.audit_head IS
'The end of each chain of audit entries; first_number: the oldest entry that is kept, first_previous: the hash before it';

CREATE TABLE logsvc_internal.audit_entry (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL
		REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	number bigint,
	at timestamptz NOT NULL,
	actor text NOT NULL,
	action text NOT NULL CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
	resource text NOT NULL,
	resource_type text NOT NULL,
	ip_address text,
	user_agent text,
	details jsonb NOT NULL,
	hash bytea CHECK (length(hash) = 32),
	UNIQUE (organization_id, number)
);
COMMENT ON TABLE logsvc_internal.audit_entry IS
'Audit entries (specification 2.8, 6); number and hash: the place in the chain, given when the transaction commits';
CREATE INDEX audit_entry_at ON logsvc_internal.audit_entry (organization_id, at, id);
CREATE INDEX audit_entry_expiry ON logsvc_internal.audit_entry (at);

CREATE TABLE logsvc_internal.operator_log (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	at timestamptz NOT NULL,
	actor text NOT NULL,
	action text NOT NULL CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
	resource text NOT NULL,
	resource_type text NOT NULL,
	ip_address text,
	user_agent text,
	details jsonb NOT NULL
);
COMMENT ON TABLE logsvc_internal.operator_log IS
'Events as in the audit log that belong to no organization, such as failed logins without an account';
CREATE INDEX operator_log_at ON logsvc_internal.operator_log (at);

ALTER TABLE logsvc_internal.audit_head ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.audit_entry ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_audit', 'day');

SELECT pg_extension_config_dump('logsvc_internal.audit_head', '');
SELECT pg_extension_config_dump('logsvc_internal.audit_entry', '');
SELECT pg_extension_config_dump('logsvc_internal.operator_log', '');
-- Mail: the outbox.  A mail is put into it by the transaction that causes it,
-- and sent by the notifier when that has committed.

CREATE TABLE logsvc_internal.outbox (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	caused_by uuid REFERENCES logsvc_internal.user_account ON DELETE SET NULL,
	recipient text NOT NULL,
	template text NOT NULL,
	subject text NOT NULL,
	body_text text,
	body_html text,
	link text,
	state text NOT NULL DEFAULT 'waiting'
		CHECK (state IN ('waiting', 'sending', 'sent', 'failed', 'expired', 'cancelled')),
	created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	expires_at timestamptz,
	attempts int NOT NULL DEFAULT 0,
	next_attempt_at timestamptz NOT NULL DEFAULT now(),
	last_error text,
	finished_at timestamptz
);
COMMENT ON TABLE logsvc_internal.outbox IS
'Mails to be sent and, without their bodies, those of the last days; caused_by: the user whose invitations these are; expires_at: not sent any more after it';
CREATE INDEX outbox_due ON logsvc_internal.outbox (next_attempt_at) WHERE state = 'waiting';
CREATE INDEX outbox_finished ON logsvc_internal.outbox (finished_at);
CREATE INDEX outbox_recipient ON logsvc_internal.outbox (recipient, template, created_at);
CREATE INDEX outbox_organization_id ON logsvc_internal.outbox (organization_id, created_at);
CREATE INDEX outbox_caused_by ON logsvc_internal.outbox (caused_by, created_at);

ALTER TABLE logsvc_internal.outbox ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_mails', 'hour');

-- A link with a token is good for whoever has it.  Such mails are in no dump: who
-- restores one sends invitations again, and people ask for other links anew.
SELECT pg_extension_config_dump('logsvc_internal.outbox',
	'WHERE coalesce(position(''#t='' IN link), 0) = 0');
-- Daily quotas: what organizations have sent, and what is beyond.

-- Transactions that accept events append here, so that none waits for another
-- one's row; each minute the rows are summed up into ingest_day.
CREATE TABLE logsvc_internal.ingest_tally (
	organization_id uuid NOT NULL,
	day date NOT NULL,
	test boolean NOT NULL,
	bytes bigint NOT NULL,
	events bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
	autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_scale_factor = 0,
	autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 10);
COMMENT ON TABLE logsvc_internal.ingest_tally IS
'What was accepted and is not summed up in ingest_day yet: JSON bytes and events of each acceptance';

CREATE TABLE logsvc_internal.ingest_day (
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	day date NOT NULL,
	test boolean NOT NULL,
	bytes bigint NOT NULL DEFAULT 0,
	events bigint NOT NULL DEFAULT 0,
	discarded_bytes bigint NOT NULL DEFAULT 0,
	discarded_events bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (organization_id, day, test)
) WITH (fillfactor = 80);
COMMENT ON TABLE logsvc_internal.ingest_day IS
'What each organization has sent on each UTC day (decision 68); test: by test keys, outside of the quota';
CREATE INDEX ingest_day_day ON logsvc_internal.ingest_day (day);

-- Rows as those of the queue, but of events beyond a quota.
CREATE TABLE logsvc_internal.deferred (
	id bigint PRIMARY KEY,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	bytes bigint NOT NULL,
	rows integer NOT NULL,
	min_time timestamptz NOT NULL,
	max_time timestamptz NOT NULL,
	level_mask integer NOT NULL,
	header bytea NOT NULL,
	body bytea NOT NULL,
	deferred_at timestamptz NOT NULL,
	expires_at timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
	autovacuum_vacuum_cost_delay = 0);
ALTER TABLE logsvc_internal.deferred
	ALTER header SET STORAGE MAIN,
	ALTER body SET STORAGE EXTERNAL;
CREATE INDEX deferred_organization ON logsvc_internal.deferred (organization_id, id);
COMMENT ON TABLE logsvc_internal.deferred IS
'Accepted events beyond a daily quota: they go into the queue when the quota allows it, or are discarded after expires_at';

CREATE TABLE logsvc_internal.quota_notice (
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	day date NOT NULL,
	kind text NOT NULL CHECK (kind IN ('warning', 'discarded')),
	PRIMARY KEY (organization_id, day, kind)
);
COMMENT ON TABLE logsvc_internal.quota_notice IS
'Mails about quotas that the owners have got, at most one of each kind a day';

ALTER TABLE logsvc_internal.ingest_tally ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.ingest_day ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.deferred ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.quota_notice ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period)
VALUES ('run_quotas', 'minute'), ('purge_quotas', 'day');

SELECT pg_extension_config_dump('logsvc_internal.ingest_tally', '');
SELECT pg_extension_config_dump('logsvc_internal.ingest_day', '');
SELECT pg_extension_config_dump('logsvc_internal.deferred', '');
SELECT pg_extension_config_dump('logsvc_internal.quota_notice', '');
-- Deletions of events that somebody has asked for; compactors do the work.

CREATE TABLE logsvc_internal.deletion (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	created_at timestamptz NOT NULL DEFAULT now(),
	created_by text NOT NULL,
	q text NOT NULL,
	reason text NOT NULL,
	indexes text[] NOT NULL,
	from_time timestamptz NOT NULL,
	to_time timestamptz NOT NULL,
	filter bytea,
	level_mask int NOT NULL,
	batch bigint NOT NULL,
	matched bigint NOT NULL,
	status text NOT NULL DEFAULT 'waiting'
		CHECK (status IN ('waiting', 'running', 'done', 'incomplete', 'failed')),
	deleted bigint NOT NULL DEFAULT 0,
	skipped_parts int NOT NULL DEFAULT 0,
	next_part bigint NOT NULL DEFAULT 0,
	end_part bigint,
	error text,
	finished_at timestamptz
);
COMMENT ON TABLE logsvc_internal.deletion IS
'Deletions of events: matching a filter, of batches up to one; parts with ids from next_part to end_part are still to be done';
CREATE INDEX deletion_organization ON logsvc_internal.deletion (organization_id, id);
CREATE INDEX deletion_open ON logsvc_internal.deletion (created_at)
	WHERE status IN ('waiting', 'running');

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_deletions', 'day');
ALTER TABLE logsvc_internal.deletion ENABLE ROW LEVEL SECURITY;
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.deletion', '');
-- Who acts, what they may do, and what every part's SQL uses.

-- ---- ids, secrets, errors ----

CREATE OR REPLACE FUNCTION logsvc_internal.public_id(prefix text, id uuid) RETURNS text
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_public_id';
COMMENT ON FUNCTION logsvc_internal.public_id(text, uuid) IS
'The id that clients see: a prefix such as org_ and 26 characters';

CREATE OR REPLACE FUNCTION logsvc_internal.parse_public_id(prefix text, public_id text) RETURNS uuid
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_parse_public_id';
COMMENT ON FUNCTION logsvc_internal.parse_public_id(text, text) IS
'The id inside a public id; error NOT_FOUND when it is none with that prefix';

CREATE OR REPLACE FUNCTION logsvc_internal.new_secret(prefix text, length int DEFAULT 40)
RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_new_secret';
COMMENT ON FUNCTION logsvc_internal.new_secret(text, int) IS
'A prefix and random characters of 62: 40 are 238 bits, 43 are 256';

CREATE OR REPLACE FUNCTION logsvc_internal.secret_hash(secret text) RETURNS bytea
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sha256(convert_to(secret, 'UTF8'));
COMMENT ON FUNCTION logsvc_internal.secret_hash(text) IS 'What is stored of a secret: its SHA-256';

CREATE OR REPLACE FUNCTION logsvc_internal.raise_error(
	name text, message text DEFAULT NULL, details jsonb DEFAULT NULL, hint text DEFAULT NULL)
RETURNS void
LANGUAGE C VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_raise_error';
COMMENT ON FUNCTION logsvc_internal.raise_error(text, text, jsonb, text) IS
'Raises an error of errors.def by its name; details: an array of {path, code, message}';

CREATE OR REPLACE FUNCTION logsvc_internal.invalid(path text, message text, code text DEFAULT 'invalid')
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.raise_error('VALIDATION', path || ': ' || message,
		jsonb_build_array(jsonb_build_object('path', path, 'code', code, 'message', message)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.invalid(text, text, text) IS
'Raises VALIDATION_ERROR with one detail';

CREATE OR REPLACE FUNCTION logsvc_internal.iso_time(t timestamptz) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
COMMENT ON FUNCTION logsvc_internal.iso_time(timestamptz) IS
'ISO 8601, UTC, milliseconds';

-- ---- lookups, for C ----
--
-- Bodies of the SQL standard: their names and operators were bound when they
-- were created, and a caller's search_path cannot change them.

CREATE OR REPLACE FUNCTION logsvc_internal.provider_allowed(provider text, providers text[])
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN provider IS NULL OR provider = ANY (providers);
COMMENT ON FUNCTION logsvc_internal.provider_allowed(text, text[]) IS
'May a session that this provider began act in an organization that has these switched on?  NULL: a password began it';

DROP FUNCTION IF EXISTS logsvc_internal.find_secret(bytea);
CREATE FUNCTION logsvc_internal.find_secret(secret_hash bytea)
RETURNS TABLE (kind int, credential_id uuid, organization_id uuid, user_id uuid, role text,
	scopes text[], key_scope text, test boolean, expires_at timestamptz, revoked boolean)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT 1, t.id, t.organization_id, t.user_id, m.role, t.scopes, NULL::text, false,
		t.expires_at,
		t.revoked_at IS NOT NULL OR m.id IS NULL OR o.deleted_at IS NOT NULL
	FROM logsvc_internal.access_token t
	JOIN logsvc_internal.organization o ON o.id = t.organization_id
	LEFT JOIN logsvc_internal.member m
		ON m.organization_id = t.organization_id AND m.user_id = t.user_id
	WHERE t.token_hash = secret_hash
	UNION ALL
	SELECT 2, k.id, k.organization_id, NULL::uuid, NULL::text, NULL::text[], k.scope,
		k.kind = 'test', k.expires_at,
		k.revoked_at IS NOT NULL OR o.deleted_at IS NOT NULL
	FROM logsvc_internal.api_key k
	JOIN logsvc_internal.organization o ON o.id = k.organization_id
	WHERE k.key_hash = secret_hash;
END;
COMMENT ON FUNCTION logsvc_internal.find_secret(bytea) IS
'Whom a secret stands for, by its SHA-256; no row when it is unknown';

DROP FUNCTION IF EXISTS logsvc_internal.find_principal(int, uuid, uuid, uuid);
CREATE FUNCTION logsvc_internal.find_principal(
	kind int, organization uuid, user_account uuid, credential uuid)
RETURNS TABLE (principal_kind int, credential_id uuid, organization_id uuid, user_id uuid,
	role text, scopes text[], key_scope text, test boolean, expires_at timestamptz,
	revoked boolean)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT 1, t.id, t.organization_id, t.user_id, m.role, t.scopes, NULL::text, false,
		t.expires_at,
		t.revoked_at IS NOT NULL OR m.id IS NULL OR o.deleted_at IS NOT NULL
	FROM logsvc_internal.access_token t
	JOIN logsvc_internal.organization o ON o.id = t.organization_id
	LEFT JOIN logsvc_internal.member m
		ON m.organization_id = t.organization_id AND m.user_id = t.user_id
	WHERE find_principal.kind = 1 AND t.id = credential
	UNION ALL
	SELECT 2, k.id, k.organization_id, NULL::uuid, NULL::text, NULL::text[], k.scope,
		k.kind = 'test', k.expires_at,
		k.revoked_at IS NOT NULL OR o.deleted_at IS NOT NULL
	FROM logsvc_internal.api_key k
	JOIN logsvc_internal.organization o ON o.id = k.organization_id
	WHERE find_principal.kind = 2 AND k.id = credential
	UNION ALL
	SELECT 3, NULL::uuid, m.organization_id, m.user_id, m.role, NULL::text[], NULL::text, false,
		NULL::timestamptz, o.deleted_at IS NOT NULL
	FROM logsvc_internal.member m
	JOIN logsvc_internal.organization o ON o.id = m.organization_id
	WHERE find_principal.kind = 3 AND m.organization_id = organization
		AND m.user_id = user_account AND credential = '00000000-0000-0000-0000-000000000000'::uuid
	UNION ALL
	-- By a session, in an organization or in none.
	SELECT 3, s.id, m.organization_id, s.user_id, m.role, NULL::text[], NULL::text, false,
		s.expires_at,
		organization <> '00000000-0000-0000-0000-000000000000'::uuid AND o.id IS NULL
	FROM logsvc_internal.user_session s
	LEFT JOIN (logsvc_internal.member m
		JOIN logsvc_internal.organization o ON o.id = m.organization_id AND o.deleted_at IS NULL)
		ON m.organization_id = organization AND m.user_id = s.user_id
			AND logsvc_internal.provider_allowed(s.provider, o.oauth_providers)
	WHERE find_principal.kind = 3 AND s.id = credential
	UNION ALL
	SELECT 4, NULL::uuid, o.id, NULL::uuid, NULL::text, NULL::text[], NULL::text, false,
		NULL::timestamptz, o.deleted_at IS NOT NULL
	FROM logsvc_internal.organization o
	WHERE find_principal.kind = 4 AND o.id = organization;
END;
COMMENT ON FUNCTION logsvc_internal.find_principal(int, uuid, uuid, uuid) IS
'A principal as it is now, by its ids; no row when it is gone';

DROP FUNCTION IF EXISTS logsvc_internal.find_session(bytea, text);
CREATE FUNCTION logsvc_internal.find_session(session_hash bytea, organization text)
RETURNS TABLE (kind int, credential_id uuid, organization_id uuid, user_id uuid, role text,
	scopes text[], key_scope text, test boolean, expires_at timestamptz, revoked boolean)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT 3, s.id, m.organization_id, s.user_id, m.role, NULL::text[], NULL::text, false,
		s.expires_at, false
	FROM logsvc_internal.user_session s
	LEFT JOIN (logsvc_internal.member m
		JOIN logsvc_internal.organization o ON o.id = m.organization_id AND o.deleted_at IS NULL)
		ON m.user_id = s.user_id
			AND (o.slug = organization OR logsvc_internal.public_id('org_', o.id) = organization)
			AND logsvc_internal.provider_allowed(s.provider, o.oauth_providers)
	WHERE s.token_hash = session_hash;
END;
COMMENT ON FUNCTION logsvc_internal.find_session(bytea, text) IS
'Whose session that is, by the SHA-256 of its cookie, in the organization of that slug or id when the user is a member';

-- A session that is used ends seven days later, once a day, but never later
-- than thirty days after it began (decision 56).
DROP FUNCTION IF EXISTS logsvc_internal.touch_credential(int, uuid, uuid);
CREATE FUNCTION logsvc_internal.touch_credential(kind int, credential uuid, organization uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account uuid;
	first_prefix text;
BEGIN
	IF kind = 1 THEN
		UPDATE logsvc_internal.access_token t SET last_used_at = now()
		WHERE t.id = (SELECT l.id FROM logsvc_internal.access_token l WHERE l.id = credential
				FOR NO KEY UPDATE SKIP LOCKED)
			AND t.last_used_at > now() - interval '10 minutes' IS NOT TRUE
		RETURNING t.user_id INTO account;
	ELSIF kind = 2 THEN
		PERFORM FROM logsvc_internal.api_key k WHERE k.id = credential FOR NO KEY UPDATE SKIP LOCKED;
		IF NOT FOUND THEN
			RETURN;
		END IF;
		UPDATE logsvc_internal.api_key k SET last_used_at = now()
		WHERE k.id = credential AND k.last_used_at IS NULL
		RETURNING k.prefix INTO first_prefix;
		IF FOUND THEN
			PERFORM logsvc_internal.audit(organization, 'api_key.first_used',
				logsvc_internal.public_id('key_', credential),
				jsonb_build_object('prefix', first_prefix),
				logsvc_internal.public_id('key_', credential));
		ELSE
			UPDATE logsvc_internal.api_key SET last_used_at = now()
			WHERE id = credential AND last_used_at < now() - interval '10 minutes';
		END IF;
	ELSIF kind = 3 THEN
		PERFORM FROM logsvc_internal.user_session s WHERE s.id = credential FOR NO KEY UPDATE SKIP LOCKED;
		IF NOT FOUND THEN
			RETURN;
		END IF;
		UPDATE logsvc_internal.user_session s SET last_seen_at = now()
		WHERE s.id = credential AND s.last_seen_at < now() - interval '5 minutes';
		IF EXISTS (SELECT FROM logsvc_internal.user_session s WHERE s.id = credential
			AND s.expires_at < least(now() + interval '6 days', s.created_at + interval '30 days')) THEN
			UPDATE logsvc_internal.user_session s
			SET expires_at = least(now() + interval '7 days', s.created_at + interval '30 days')
			WHERE s.id = credential AND s.expires_at > now();
		END IF;
		SELECT s.user_id INTO account FROM logsvc_internal.user_session s WHERE s.id = credential;
	END IF;
	UPDATE logsvc_internal.member m SET last_active_at = now()
	WHERE (m.organization_id, m.user_id) = (SELECT l.organization_id, l.user_id
			FROM logsvc_internal.member l WHERE l.organization_id = organization AND l.user_id = account
			FOR NO KEY UPDATE SKIP LOCKED)
		AND m.last_active_at > now() - interval '5 minutes' IS NOT TRUE;
END
$$;
COMMENT ON FUNCTION logsvc_internal.touch_credential(int, uuid, uuid) IS
'Notes that a credential is in use, at most every few minutes; moves the end of a session';

CREATE OR REPLACE FUNCTION logsvc_internal.index_exists(organization uuid, index_name text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN EXISTS (SELECT FROM logsvc_internal.log_index i
	WHERE i.organization_id = organization AND i.name = index_name);
COMMENT ON FUNCTION logsvc_internal.index_exists(uuid, text) IS
'Has the organization an index of that name?';

DROP FUNCTION IF EXISTS logsvc_internal.find_rate_limit(text);
CREATE FUNCTION logsvc_internal.find_rate_limit(rate_class text)
RETURNS TABLE (per_minute int, scope text, timed boolean, overdraft int)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT r.per_minute, r.scope, r.timed, r.overdraft
	FROM logsvc_internal.rate_limit r WHERE r.class = rate_class;
END;
COMMENT ON FUNCTION logsvc_internal.find_rate_limit(text) IS 'The limit of a rate class';

CREATE OR REPLACE FUNCTION logsvc_internal.find_owner(organization uuid) RETURNS uuid
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT m.user_id FROM logsvc_internal.member m
	WHERE m.organization_id = organization AND m.role = 'owner'
	ORDER BY m.joined_at, m.id LIMIT 1;
END;
COMMENT ON FUNCTION logsvc_internal.find_owner(uuid) IS
'The first of an organization''s owners; NULL: it has none';

-- ---- the session's principal ----

CREATE OR REPLACE FUNCTION logsvc_internal.current_user_id() RETURNS uuid
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_user_id';
COMMENT ON FUNCTION logsvc_internal.current_user_id() IS
'The user that the session acts as; NULL for API keys and operators';

CREATE OR REPLACE FUNCTION logsvc_internal.current_credential() RETURNS uuid
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_credential';
COMMENT ON FUNCTION logsvc_internal.current_credential() IS
'The token or API key that the session acts by';

CREATE OR REPLACE FUNCTION logsvc_internal.current_role_name() RETURNS text
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_role';
COMMENT ON FUNCTION logsvc_internal.current_role_name() IS
'The role of the session''s user: owner, admin, member, viewer';

CREATE OR REPLACE FUNCTION logsvc_internal.current_kind() RETURNS text
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_kind';
COMMENT ON FUNCTION logsvc_internal.current_kind() IS
'What the session acts as: none, token, key, user, operator';

CREATE OR REPLACE FUNCTION logsvc_internal.current_permissions() RETURNS text[]
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_permissions';
COMMENT ON FUNCTION logsvc_internal.current_permissions() IS
'What the session''s principal may do now';

CREATE OR REPLACE FUNCTION logsvc_internal.current_expiry() RETURNS timestamptz
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_expiry';
COMMENT ON FUNCTION logsvc_internal.current_expiry() IS
'When the token or API key that the session acts by ends; NULL: never, or it acts by none';

CREATE OR REPLACE FUNCTION logsvc_internal.rights_beyond(role text, key_scope text, test boolean)
RETURNS text[]
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_rights_beyond';
COMMENT ON FUNCTION logsvc_internal.rights_beyond(text, text, boolean) IS
'What a member with that role (NULL: a key of that scope) may do and the session''s principal may not';

CREATE OR REPLACE FUNCTION logsvc_internal.may_use_index(name text) RETURNS boolean
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_may_use_index';
COMMENT ON FUNCTION logsvc_internal.may_use_index(text) IS
'Is that an index for the session''s principal?  For test keys there is _test alone';

CREATE OR REPLACE FUNCTION logsvc_internal.require_live() RETURNS void
LANGUAGE C VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_require_live';
COMMENT ON FUNCTION logsvc_internal.require_live() IS
'An error for test keys: what their permissions are good for, but is not about index _test';

CREATE OR REPLACE FUNCTION logsvc_internal.require_permission(permission text) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_require_permission';
COMMENT ON FUNCTION logsvc_internal.require_permission(text) IS
'An error unless the session''s principal has the permission';

CREATE OR REPLACE FUNCTION logsvc_internal.is_operator() RETURNS boolean
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_is_operator';
COMMENT ON FUNCTION logsvc_internal.is_operator() IS
'Is the caller a member of role logsvc_admin or a superuser, outside of requests?';

CREATE OR REPLACE FUNCTION logsvc_internal.require_operator() RETURNS void
LANGUAGE C VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_require_operator';
COMMENT ON FUNCTION logsvc_internal.require_operator() IS 'An error unless the caller is an operator';

CREATE OR REPLACE FUNCTION logsvc_internal.set_token(token text) RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_use_token';
COMMENT ON FUNCTION logsvc_internal.set_token(text) IS
'Makes the session act as the owner of a token; NULL: as no one';

CREATE OR REPLACE FUNCTION logsvc_internal.set_principal(organization uuid, user_account uuid)
RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_act_as';
COMMENT ON FUNCTION logsvc_internal.set_principal(uuid, uuid) IS
'Makes an operator''s session act for an organization, or as one of its members';

DROP FUNCTION IF EXISTS logsvc_internal.permissions();
CREATE FUNCTION logsvc_internal.permissions()
RETURNS TABLE (permission text, owner boolean, admin boolean, member boolean, viewer boolean,
	token_scope text, key_scopes text)
LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_permissions';
COMMENT ON FUNCTION logsvc_internal.permissions() IS
'The permission table (specification 5.6), with what tokens and keys need';

CREATE OR REPLACE FUNCTION logsvc_internal.scopes() RETURNS SETOF text
LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_scopes';
COMMENT ON FUNCTION logsvc_internal.scopes() IS 'The scopes that a token can carry';

-- Is the caller an operator, or does the session's principal have the
-- permission in that organization?  A foreign organization does not exist.
CREATE OR REPLACE FUNCTION logsvc_internal.require_access(organization uuid, permission text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF logsvc_internal.is_operator() THEN
		RETURN;
	END IF;
	PERFORM logsvc_internal.require_permission(permission);
	IF organization <> logsvc_internal.current_organization() IS NOT FALSE THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such organization');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_access(uuid, text) IS
'An error unless the caller is an operator or has the permission in that organization';

-- ---- what a credential makes ----
--
-- A credential that leaks must not be good for one that may do more, or that
-- lives longer.  People are bound by their role alone.

CREATE OR REPLACE FUNCTION logsvc_internal.check_made_rights(what text, beyond text[]) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF cardinality(beyond) > 0 THEN
		PERFORM logsvc_internal.raise_error(CASE WHEN logsvc_internal.current_kind() = 'user'
				THEN 'FORBIDDEN' ELSE 'INSUFFICIENT_SCOPE' END,
			format('%s may do more than who makes it: %s', what, array_to_string(beyond, ', ')));
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_made_rights(text, text[]) IS
'An error when there are rights that a new credential or member would have beyond those of its maker';

CREATE OR REPLACE FUNCTION logsvc_internal.check_made_key(
	scope text, kind text, expires_at timestamptz)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	until timestamptz;
BEGIN
	IF logsvc_internal.is_operator() THEN
		RETURN;
	END IF;
	PERFORM logsvc_internal.check_made_rights(format('a %s %s key', kind, scope),
		logsvc_internal.rights_beyond(NULL, scope, kind = 'test'));
	until := logsvc_internal.current_expiry();
	IF until IS NOT NULL AND (expires_at IS NULL OR expires_at > until) THEN
		PERFORM logsvc_internal.invalid('expiresAt', format(
			'must be %s or before, when the credential that makes the key expires',
			logsvc_internal.iso_time(until)));
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_made_key(text, text, timestamptz) IS
'An error when an API key would have more rights than the session''s principal, or live longer than its credential';

CREATE OR REPLACE FUNCTION logsvc_internal.check_made_role(role text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF logsvc_internal.is_operator() THEN
		RETURN;
	END IF;
	-- A key has no role.  What owners and admins may do beyond it no key may.
	IF logsvc_internal.current_kind() = 'key' AND role IN ('owner', 'admin') THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN', 'an API key makes no owners and no admins');
	END IF;
	PERFORM logsvc_internal.check_made_rights('a member with role ' || role,
		logsvc_internal.rights_beyond(role, NULL, NULL));
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_made_role(text) IS
'An error when a member with that role may do more than the session''s principal';

-- ---- limits of plans ----

CREATE OR REPLACE FUNCTION logsvc_internal.plan_limit_of(organization uuid, wanted text)
RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN l.organization_id IS NOT NULL THEN l.amount ELSE p.amount END
	FROM logsvc_internal.organization o
	LEFT JOIN logsvc_internal.organization_limit l
		ON l.organization_id = o.id AND l.resource = wanted
	LEFT JOIN logsvc_internal.plan_limit p ON p.plan = o.plan AND p.resource = wanted
	WHERE o.id = organization;
END;
COMMENT ON FUNCTION logsvc_internal.plan_limit_of(uuid, text) IS
'What an organization may have of a resource, by its plan or the operator''s grant; NULL: unlimited';

-- One function per limited resource, count_NAME(organization): what counts
-- against the limit (decision 83).

CREATE OR REPLACE FUNCTION logsvc_internal.count_indexes(organization uuid) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT count(*) FROM logsvc_internal.log_index i
	WHERE i.organization_id = organization AND NOT starts_with(i.name, '_'));
COMMENT ON FUNCTION logsvc_internal.count_indexes(uuid) IS
'Indexes that count against the plan: those with _ do not';

CREATE OR REPLACE FUNCTION logsvc_internal.count_api_keys(organization uuid) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT count(*) FROM logsvc_internal.api_key k
	WHERE k.organization_id = organization AND k.revoked_at IS NULL
		AND (k.expires_at > now()) IS NOT FALSE);
COMMENT ON FUNCTION logsvc_internal.count_api_keys(uuid) IS
'API keys that count against the plan: those that work';

-- An update that changes nothing, not a row lock: a REPEATABLE READ transaction
-- that waited for it must not go on with its old snapshot.
CREATE OR REPLACE FUNCTION logsvc_internal.lock_organization(organization uuid) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	UPDATE logsvc_internal.organization o SET created_at = created_at
	WHERE o.id = lock_organization.organization AND o.deleted_at IS NULL;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such organization');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.lock_organization(uuid) IS
'Until the end of the transaction nobody else changes what is counted in the organization';

CREATE OR REPLACE FUNCTION logsvc_internal.allowed_of(organization uuid, resource text)
RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN CASE WHEN resource = 'members'
	-- min(the plan's, the general rule's), decision 49; NULL is unlimited.
	THEN least(logsvc_internal.plan_limit_of(organization, resource),
		logsvc_internal.plan_limit_of(organization, 'members_total'))
	ELSE logsvc_internal.plan_limit_of(organization, resource) END;
COMMENT ON FUNCTION logsvc_internal.allowed_of(uuid, text) IS
'How many of a resource an organization may have; NULL: unlimited';

-- Two that create at once are serialized by the lock, so that both cannot see
-- room for one.
CREATE OR REPLACE FUNCTION logsvc_internal.check_plan_limit(organization uuid, resource text)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	allowed bigint;
	used bigint;
BEGIN
	PERFORM logsvc_internal.lock_organization(organization);
	allowed := logsvc_internal.allowed_of(organization, resource);
	IF allowed IS NULL THEN
		RETURN;
	END IF;
	EXECUTE format('SELECT logsvc_internal.%I($1)', 'count_' || resource)
		INTO used USING organization;
	IF used >= allowed THEN
		PERFORM logsvc_internal.raise_error('PLAN_LIMIT_REACHED',
			format('the plan allows %s %s', allowed, replace(resource, '_', ' ')),
			jsonb_build_array(jsonb_build_object('path', resource, 'code', 'plan_limit',
				'message', format('%s of %s used', used, allowed))),
			'Delete what is not needed, or change the plan.');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_plan_limit(uuid, text) IS
'An error unless the organization may have one more of the resource; locks the organization';

-- ---- arguments ----

CREATE OR REPLACE FUNCTION logsvc_internal.find_organization(organization text) RETURNS uuid
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_id uuid;
BEGIN
	IF organization IS NULL THEN
		found_id := logsvc_internal.current_organization();
		IF found_id IS NULL THEN
			PERFORM logsvc_internal.raise_error('NO_ORGANIZATION', hint =>
				'Name an organization, or call logsvc.use_token() or logsvc.act_as().');
		END IF;
		RETURN found_id;
	END IF;
	IF starts_with(organization, 'org_') THEN
		found_id := logsvc_internal.parse_public_id('org_', organization);
	END IF;
	SELECT o.id INTO found_id FROM logsvc_internal.organization o
	WHERE (o.id = found_id OR (found_id IS NULL AND o.slug = find_organization.organization))
		AND o.deleted_at IS NULL;
	IF found_id IS NULL OR NOT (logsvc_internal.is_operator()
		OR found_id = logsvc_internal.current_organization() IS TRUE) THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such organization');
	END IF;
	RETURN found_id;
END
$$;
COMMENT ON FUNCTION logsvc_internal.find_organization(text) IS
'The organization of a slug or id, NULL: the session''s; a foreign one does not exist';

CREATE OR REPLACE FUNCTION logsvc_internal.find_member(organization uuid, email text)
RETURNS logsvc_internal.member
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_member logsvc_internal.member;
BEGIN
	SELECT m.* INTO found_member
	FROM logsvc_internal.member m JOIN logsvc_internal.user_account u ON u.id = m.user_id
	WHERE m.organization_id = find_member.organization
		AND u.email = lower(btrim(find_member.email));
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such member');
	END IF;
	RETURN found_member;
END
$$;
COMMENT ON FUNCTION logsvc_internal.find_member(uuid, text) IS
'The member with that e-mail address';

CREATE OR REPLACE FUNCTION logsvc_internal.check_name(path text, name text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	name := btrim(name);
	IF coalesce(name, '') = '' THEN
		PERFORM logsvc_internal.invalid(path, 'must not be empty');
	ELSIF length(name) > 200 THEN
		PERFORM logsvc_internal.invalid(path, 'must not be longer than 200 characters');
	ELSIF name ~ '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]' THEN
		PERFORM logsvc_internal.invalid(path, 'must not have control or direction characters');
	END IF;
	RETURN name;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_name(text, text) IS
'A name without blanks around, 1 to 200 characters, none of them control or direction characters';

CREATE OR REPLACE FUNCTION logsvc_internal.check_expiry(expires_at timestamptz) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF expires_at <= now() THEN
		PERFORM logsvc_internal.invalid('expiresAt', 'must be in the future');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_expiry(timestamptz) IS
'An error unless the time is in the future or NULL';
-- The API of organizations, users, members, credentials and indexes.  Each
-- function returns what its REST twin does.

-- ---- shapes ----

CREATE OR REPLACE FUNCTION logsvc_internal.organization_json(o logsvc_internal.organization)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('org_', o.id), 'name', o.name, 'slug', o.slug,
	'timezone', o.timezone,
	'retentionDays', coalesce(o.retention_days,
		logsvc_internal.plan_limit_of(o.id, 'retention_days')),
	'oauthProviders', to_jsonb(o.oauth_providers), 'plan', o.plan,
	'createdAt', logsvc_internal.iso_time(o.created_at),
	'role', CASE WHEN o.id = logsvc_internal.current_organization()
		THEN logsvc_internal.current_role_name() END);
COMMENT ON FUNCTION logsvc_internal.organization_json(logsvc_internal.organization) IS
'An organization as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.user_json(u logsvc_internal.user_account)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('usr_', u.id), 'email', u.email, 'name', u.name,
	'emailVerified', u.verified_at IS NOT NULL,
	'createdAt', logsvc_internal.iso_time(u.created_at));
COMMENT ON FUNCTION logsvc_internal.user_json(logsvc_internal.user_account) IS
'A user as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.member_json(m logsvc_internal.member)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT jsonb_build_object(
		'id', logsvc_internal.public_id('mem_', m.id),
		'userId', logsvc_internal.public_id('usr_', u.id), 'email', u.email, 'name', u.name,
		'role', m.role, 'joinedAt', logsvc_internal.iso_time(m.joined_at),
		'lastActiveAt', logsvc_internal.iso_time(m.last_active_at))
	FROM logsvc_internal.user_account u WHERE u.id = m.user_id);
COMMENT ON FUNCTION logsvc_internal.member_json(logsvc_internal.member) IS
'A member as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.token_json(t logsvc_internal.access_token)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('tok_', t.id), 'name', t.name,
	'scopes', to_jsonb(t.scopes), 'prefix', t.prefix,
	'createdBy', logsvc_internal.public_id('usr_', t.user_id),
	'createdAt', logsvc_internal.iso_time(t.created_at),
	'expiresAt', logsvc_internal.iso_time(t.expires_at),
	'lastUsedAt', logsvc_internal.iso_time(t.last_used_at),
	'revokedAt', logsvc_internal.iso_time(t.revoked_at));
COMMENT ON FUNCTION logsvc_internal.token_json(logsvc_internal.access_token) IS
'A personal access token as the API shows it, without the secret';

CREATE OR REPLACE FUNCTION logsvc_internal.api_key_json(k logsvc_internal.api_key)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('key_', k.id), 'name', k.name, 'scope', k.scope,
	'kind', k.kind, 'prefix', k.prefix,
	'createdBy', logsvc_internal.public_id('usr_', k.created_by),
	'createdAt', logsvc_internal.iso_time(k.created_at),
	'expiresAt', logsvc_internal.iso_time(k.expires_at),
	'lastUsedAt', logsvc_internal.iso_time(k.last_used_at),
	'revokedAt', logsvc_internal.iso_time(k.revoked_at));
COMMENT ON FUNCTION logsvc_internal.api_key_json(logsvc_internal.api_key) IS
'An API key as the API shows it, without the secret';

-- ---- organizations and users ----

CREATE OR REPLACE FUNCTION logsvc_internal.check_plan(plan text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF plan IN ('free', 'pro', 'business', 'enterprise') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('plan', 'must be free, pro, business or enterprise');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_plan(text) IS 'An error unless it is a plan';

CREATE OR REPLACE FUNCTION logsvc_internal.check_timezone(timezone text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	-- Names such as Europe/Berlin, no rules such as <+05>-5.
	IF timezone ~ '^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$' IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('timezone', 'must be a time zone as Europe/Berlin');
	END IF;
	PERFORM now() AT TIME ZONE timezone;
EXCEPTION WHEN invalid_parameter_value THEN
	PERFORM logsvc_internal.invalid('timezone', 'must be a time zone as Europe/Berlin');
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_timezone(text) IS
'An error unless it is the name of a time zone';

CREATE OR REPLACE FUNCTION logsvc_internal.make_organization(
	name text, plan text, timezone text DEFAULT 'UTC')
RETURNS logsvc_internal.organization
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	base_slug text;
	created logsvc_internal.organization;
	attempt int := 1;
BEGIN
	name := logsvc_internal.check_name('name', name);
	PERFORM logsvc_internal.check_plan(plan);
	PERFORM logsvc_internal.check_timezone(timezone);

	-- From the name; a number when that is taken, also by one who is quicker.
	base_slug := btrim(left(regexp_replace(lower(name), '[^a-z0-9]+', '-', 'g'), 50), '-');
	IF base_slug = '' THEN
		base_slug := 'organization';
	END IF;
	LOOP
		INSERT INTO logsvc_internal.organization AS o (slug, name, plan, timezone)
		VALUES (base_slug || CASE WHEN attempt > 1 THEN '-' || attempt ELSE '' END,
			make_organization.name, make_organization.plan, make_organization.timezone)
		ON CONFLICT (slug) DO NOTHING
		RETURNING * INTO created;
		EXIT WHEN FOUND;
		attempt := attempt + 1;
	END LOOP;

	-- main: the default; _audit: specification 6; _test: decision 48.
	INSERT INTO logsvc_internal.log_index (organization_id, name, description, retention_days)
	VALUES
		(created.id, 'main', 'The default index', NULL),
		(created.id, '_audit', 'Administrative and security-relevant actions', 365),
		(created.id, '_test', 'Events sent with test keys', 1);
	PERFORM logsvc_internal.audit(created.id, 'organization.created',
		logsvc_internal.public_id('org_', created.id),
		jsonb_build_object('name', created.name, 'slug', created.slug, 'plan', created.plan));
	RETURN created;
END
$$;
COMMENT ON FUNCTION logsvc_internal.make_organization(text, text, text) IS
'A new organization with its indexes main, _audit and _test';

DROP FUNCTION IF EXISTS logsvc.create_organization(text, text);
CREATE OR REPLACE FUNCTION logsvc.create_organization(
	name text, plan text DEFAULT 'free', owner text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	created logsvc_internal.organization;
BEGIN
	PERFORM logsvc_internal.require_operator();
	created := logsvc_internal.make_organization(name, plan);
	IF owner IS NULL THEN
		RAISE NOTICE 'organization "%" has no owner yet', created.slug
			USING HINT = format('Make a user and then the owner: SELECT logsvc.create_user(''ann@acme.example''); '
				'SELECT logsvc.add_member(%L, ''ann@acme.example'', ''owner''). Or name one at once: '
				'logsvc.create_organization(%L, %L, owner => ''ann@acme.example'').',
				created.slug, created.name, created.plan);
	ELSE
		owner := logsvc_internal.check_email(owner);
		IF NOT EXISTS (SELECT FROM logsvc_internal.user_account u WHERE u.email = owner) THEN
			PERFORM logsvc.create_user(owner);
		END IF;
		PERFORM logsvc.add_member(created.slug, owner, 'owner');
	END IF;
	RETURN logsvc_internal.organization_json(created);
END
$$;
COMMENT ON FUNCTION logsvc.create_organization(text, text, text) IS
'Operators: creates an organization with its indexes main, _audit and _test; owner: the address of its first owner, who is made a user if there is none';

CREATE OR REPLACE FUNCTION logsvc.set_limit(organization text, resource text, amount bigint)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
BEGIN
	PERFORM logsvc_internal.require_operator();
	target := logsvc_internal.find_organization(organization);
	IF NOT EXISTS (SELECT FROM logsvc_internal.plan_limit p
		WHERE p.resource = set_limit.resource) THEN
		PERFORM logsvc_internal.invalid('resource', 'must be one of ' || (
			SELECT string_agg(DISTINCT p.resource, ', ' ORDER BY p.resource)
			FROM logsvc_internal.plan_limit p));
	END IF;
	IF amount < 0 THEN
		PERFORM logsvc_internal.invalid('amount', 'must not be negative');
	END IF;
	INSERT INTO logsvc_internal.organization_limit AS l (organization_id, resource, amount)
	VALUES (target, set_limit.resource, set_limit.amount)
	ON CONFLICT ON CONSTRAINT organization_limit_pkey DO UPDATE SET amount = excluded.amount;
	PERFORM logsvc_internal.audit(target, 'organization.limit_changed',
		logsvc_internal.public_id('org_', target),
		jsonb_build_object('resource', resource, 'limit', amount));
	RETURN jsonb_build_object('resource', resource, 'limit', amount);
END
$$;
COMMENT ON FUNCTION logsvc.set_limit(text, text, bigint) IS
'Operators: gives an organization another limit than its plan''s; NULL: unlimited';

-- ---- members ----

CREATE OR REPLACE FUNCTION logsvc_internal.check_role(role text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF role IN ('owner', 'admin', 'member', 'viewer') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('role', 'must be owner, admin, member or viewer');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_role(text) IS 'An error unless it is a role';

-- Only Owners grant, demote or remove an Owner (decision 53).
CREATE OR REPLACE FUNCTION logsvc_internal.check_owner_change(roles text[]) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF 'owner' = ANY (roles) AND NOT logsvc_internal.is_operator()
		AND logsvc_internal.current_role_name() = 'owner' IS NOT TRUE THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN',
			'only an owner may grant, demote or remove an owner');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_owner_change(text[]) IS
'An error when owner is among the roles touched and the caller is none';

-- The organization is locked, so two owners cannot leave at once (decision 54).
CREATE OR REPLACE FUNCTION logsvc_internal.check_last_owner(m logsvc_internal.member) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF m.role = 'owner' AND NOT EXISTS (SELECT FROM logsvc_internal.member other
		WHERE other.organization_id = m.organization_id AND other.role = 'owner'
			AND other.id <> m.id) THEN
		PERFORM logsvc_internal.raise_error('LAST_OWNER');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_last_owner(logsvc_internal.member) IS
'An error when that member is the organization''s only owner';

CREATE OR REPLACE FUNCTION logsvc.add_member(organization text, email text, role text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	account uuid;
	created logsvc_internal.member;
BEGIN
	PERFORM logsvc_internal.require_operator();
	target := logsvc_internal.find_organization(organization);
	PERFORM logsvc_internal.check_role(role);
	SELECT u.id INTO account FROM logsvc_internal.user_account u
	WHERE u.email = lower(btrim(add_member.email));
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such user');
	END IF;
	IF EXISTS (SELECT FROM logsvc_internal.member m
		WHERE m.organization_id = target AND m.user_id = account) THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the user is a member already');
	END IF;
	PERFORM logsvc_internal.check_plan_limit(target, 'members');
	INSERT INTO logsvc_internal.member AS m (organization_id, user_id, role)
	VALUES (target, account, add_member.role)
	ON CONFLICT ON CONSTRAINT member_organization_id_user_id_key DO NOTHING
	RETURNING * INTO created;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the user is a member already');
	END IF;
	PERFORM logsvc_internal.audit(target, 'member.added',
		logsvc_internal.public_id('mem_', created.id),
		jsonb_build_object('email', lower(btrim(email)), 'role', created.role));
	RETURN logsvc_internal.member_json(created);
END
$$;
COMMENT ON FUNCTION logsvc.add_member(text, text, text) IS
'Operators: makes a user a member without an invitation; role: owner, admin, member, viewer';

CREATE OR REPLACE FUNCTION logsvc.set_member_role(organization text, email text, role text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	old_role text;
	changed logsvc_internal.member;
BEGIN
	target := logsvc_internal.find_organization(organization);
	PERFORM logsvc_internal.require_access(target, 'members:role');
	PERFORM logsvc_internal.check_role(role);
	PERFORM logsvc_internal.lock_organization(target);
	changed := logsvc_internal.find_member(target, email);
	PERFORM logsvc_internal.check_owner_change(ARRAY[changed.role, role]);
	PERFORM logsvc_internal.check_made_role(role);
	IF role <> 'owner' THEN
		PERFORM logsvc_internal.check_last_owner(changed);
	END IF;
	old_role := changed.role;
	UPDATE logsvc_internal.member m SET role = set_member_role.role WHERE m.id = changed.id
	RETURNING * INTO changed;
	IF old_role <> changed.role THEN
		PERFORM logsvc_internal.audit(target, 'member.role_changed',
			logsvc_internal.public_id('mem_', changed.id),
			jsonb_build_object('email', lower(btrim(email)), 'from', old_role, 'to', changed.role));
	END IF;
	RETURN logsvc_internal.member_json(changed);
END
$$;
COMMENT ON FUNCTION logsvc.set_member_role(text, text, text) IS
'Gives a member another role; the last owner keeps it';

CREATE OR REPLACE FUNCTION logsvc.remove_member(organization text, email text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	removed logsvc_internal.member;
	shown jsonb;
BEGIN
	target := logsvc_internal.find_organization(organization);
	PERFORM logsvc_internal.lock_organization(target);
	-- Oneself always; a token needs the scope all the same.
	IF NOT logsvc_internal.is_operator() AND NOT EXISTS (
		SELECT FROM logsvc_internal.user_account u
		WHERE u.id = logsvc_internal.current_user_id()
			AND target = logsvc_internal.current_organization()
			AND u.email = lower(btrim(remove_member.email))
			AND (logsvc_internal.current_kind() = 'user'
				OR EXISTS (SELECT FROM logsvc_internal.access_token t
					WHERE t.id = logsvc_internal.current_credential()
						AND 'members:write' = ANY (t.scopes)))) THEN
		PERFORM logsvc_internal.require_access(target, 'users:invite');
		removed := logsvc_internal.find_member(target, email);
		PERFORM logsvc_internal.check_owner_change(ARRAY[removed.role]);
	END IF;
	removed := logsvc_internal.find_member(target, email);
	PERFORM logsvc_internal.check_last_owner(removed);
	shown := logsvc_internal.member_json(removed);
	DELETE FROM logsvc_internal.member m WHERE m.id = removed.id;
	PERFORM logsvc_internal.audit(target, 'member.removed',
		logsvc_internal.public_id('mem_', removed.id),
		jsonb_build_object('email', lower(btrim(email)), 'role', removed.role));
	RETURN shown;
END
$$;
COMMENT ON FUNCTION logsvc.remove_member(text, text) IS
'Removes a member; the member''s tokens of the organization are revoked at once';

-- ---- tokens and keys ----

CREATE OR REPLACE FUNCTION logsvc.create_token(
	organization text, email text, name text, scopes text[], expires_at timestamptz DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	owner logsvc_internal.member;
	unknown text;
	secret text;
	created logsvc_internal.access_token;
BEGIN
	target := logsvc_internal.find_organization(organization);
	-- Or a member who is being removed would keep this one for a comeback.
	PERFORM logsvc_internal.lock_organization(target);
	owner := logsvc_internal.find_member(target, email);
	IF NOT logsvc_internal.is_operator() THEN
		-- People make their own; a token makes no tokens.
		IF logsvc_internal.current_kind() <> 'user' THEN
			PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'a token cannot create tokens');
		ELSIF owner.user_id <> logsvc_internal.current_user_id() THEN
			PERFORM logsvc_internal.raise_error('FORBIDDEN',
				'only the user and operators may create a user''s tokens');
		END IF;
	END IF;
	name := logsvc_internal.check_name('name', name);
	PERFORM logsvc_internal.check_expiry(expires_at);
	IF coalesce(cardinality(scopes), 0) = 0 OR array_position(scopes, NULL) IS NOT NULL THEN
		PERFORM logsvc_internal.invalid('scopes', 'must name at least one scope');
	END IF;
	SELECT s INTO unknown FROM unnest(scopes) AS s
	WHERE s NOT IN (SELECT logsvc_internal.scopes()) LIMIT 1;
	IF FOUND THEN
		PERFORM logsvc_internal.invalid('scopes', format('"%s" is not a scope', unknown));
	END IF;
	IF NOT logsvc_internal.is_operator() THEN
		SELECT s INTO unknown FROM unnest(scopes) AS s
		WHERE EXISTS (SELECT FROM logsvc_internal.permissions() p WHERE p.token_scope = s)
			AND NOT EXISTS (SELECT FROM logsvc_internal.permissions() p WHERE p.token_scope = s
				AND CASE owner.role WHEN 'owner' THEN p.owner WHEN 'admin' THEN p.admin
					WHEN 'member' THEN p.member ELSE p.viewer END)
		LIMIT 1;
		IF FOUND THEN
			PERFORM logsvc_internal.raise_error('FORBIDDEN',
				format('the role does not permit scope "%s"', unknown));
		END IF;
	END IF;

	secret := logsvc_internal.new_secret('pat_');
	INSERT INTO logsvc_internal.access_token AS t
		(organization_id, user_id, name, scopes, token_hash, prefix, expires_at)
	VALUES (target, owner.user_id, create_token.name,
		ARRAY(SELECT s FROM unnest(create_token.scopes) WITH ORDINALITY AS u (s, n)
			GROUP BY s ORDER BY min(n)),
		logsvc_internal.secret_hash(secret), left(secret, 8), create_token.expires_at)
	RETURNING * INTO created;
	PERFORM logsvc_internal.audit(target, 'token.created',
		logsvc_internal.public_id('tok_', created.id),
		jsonb_build_object('name', created.name, 'email', lower(btrim(email)),
			'scopes', to_jsonb(created.scopes),
			'expiresAt', logsvc_internal.iso_time(created.expires_at)));
	RETURN logsvc_internal.token_json(created) || jsonb_build_object('token', secret);
END
$$;
COMMENT ON FUNCTION logsvc.create_token(text, text, text, text[], timestamptz) IS
'Creates a personal access token of a member; the token is shown this once';

CREATE OR REPLACE FUNCTION logsvc.create_api_key(
	organization text, name text, scope text, kind text DEFAULT 'live',
	expires_at timestamptz DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	secret text;
	created logsvc_internal.api_key;
BEGIN
	target := logsvc_internal.find_organization(organization);
	PERFORM logsvc_internal.require_access(target, 'keys:manage');
	name := logsvc_internal.check_name('name', name);
	IF scope IN ('ingest-only', 'read-only', 'full-access') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('scope', 'must be ingest-only, read-only or full-access');
	END IF;
	IF kind IN ('live', 'test') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('kind', 'must be live or test');
	END IF;
	PERFORM logsvc_internal.check_expiry(expires_at);
	PERFORM logsvc_internal.check_made_key(scope, kind, expires_at);
	PERFORM logsvc_internal.check_plan_limit(target, 'api_keys');

	secret := logsvc_internal.new_secret('ing_' || kind || '_');
	INSERT INTO logsvc_internal.api_key AS k
		(organization_id, name, scope, kind, key_hash, prefix, created_by, expires_at)
	VALUES (target, create_api_key.name, create_api_key.scope, create_api_key.kind,
		logsvc_internal.secret_hash(secret), left(secret, 13),
		CASE WHEN target = logsvc_internal.current_organization()
			THEN logsvc_internal.current_user_id() END,
		create_api_key.expires_at)
	RETURNING * INTO created;
	PERFORM logsvc_internal.audit(target, 'api_key.created',
		logsvc_internal.public_id('key_', created.id),
		jsonb_build_object('name', created.name, 'scope', created.scope, 'kind', created.kind,
			'prefix', created.prefix, 'expiresAt', logsvc_internal.iso_time(created.expires_at)));
	RETURN logsvc_internal.api_key_json(created) || jsonb_build_object('key', secret);
END
$$;
COMMENT ON FUNCTION logsvc.create_api_key(text, text, text, text, timestamptz) IS
'Creates an API key; the key is shown this once';

CREATE OR REPLACE FUNCTION logsvc.revoke_token(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target logsvc_internal.access_token;
BEGIN
	IF logsvc_internal.current_kind() = 'key' THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'a key cannot revoke tokens');
	END IF;
	SELECT t.* INTO target FROM logsvc_internal.access_token t
	WHERE t.id = logsvc_internal.parse_public_id('tok_', revoke_token.id)
		AND (logsvc_internal.is_operator()
			OR t.organization_id = logsvc_internal.current_organization())
	FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such token');
	END IF;
	-- One's own, also the one in use; those of others as who removes members.
	IF NOT logsvc_internal.is_operator()
		AND target.user_id = logsvc_internal.current_user_id() IS NOT TRUE THEN
		PERFORM logsvc_internal.require_permission('users:invite');
		PERFORM logsvc_internal.check_owner_change(ARRAY(
			SELECT m.role FROM logsvc_internal.member m
			WHERE m.organization_id = target.organization_id AND m.user_id = target.user_id));
	END IF;
	IF target.revoked_at IS NOT NULL THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the token is revoked already');
	END IF;
	UPDATE logsvc_internal.access_token t SET revoked_at = now() WHERE t.id = target.id
	RETURNING * INTO target;
	PERFORM logsvc_internal.audit(target.organization_id, 'token.revoked',
		logsvc_internal.public_id('tok_', target.id),
		jsonb_build_object('name', target.name,
			'userId', logsvc_internal.public_id('usr_', target.user_id)));
	RETURN logsvc_internal.token_json(target);
END
$$;
COMMENT ON FUNCTION logsvc.revoke_token(text) IS
'Revokes a personal access token, at once and for good';

CREATE OR REPLACE FUNCTION logsvc.revoke_api_key(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target logsvc_internal.api_key;
BEGIN
	IF NOT logsvc_internal.is_operator() THEN
		PERFORM logsvc_internal.require_permission('keys:revoke');
	END IF;
	SELECT k.* INTO target FROM logsvc_internal.api_key k
	WHERE k.id = logsvc_internal.parse_public_id('key_', revoke_api_key.id)
		AND (logsvc_internal.is_operator()
			OR k.organization_id = logsvc_internal.current_organization())
	FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such API key');
	ELSIF target.revoked_at IS NOT NULL THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the API key is revoked already');
	END IF;
	UPDATE logsvc_internal.api_key k SET revoked_at = now() WHERE k.id = target.id
	RETURNING * INTO target;
	PERFORM logsvc_internal.audit(target.organization_id, 'api_key.revoked',
		logsvc_internal.public_id('key_', target.id),
		jsonb_build_object('name', target.name, 'prefix', target.prefix));
	RETURN logsvc_internal.api_key_json(target);
END
$$;
COMMENT ON FUNCTION logsvc.revoke_api_key(text) IS
'Revokes an API key, at once and for good';

CREATE OR REPLACE VIEW logsvc_internal.organization_retention AS
SELECT o.id AS organization_id, CASE WHEN d.days <= 1000000 THEN d.days END AS days, m.days AS most
FROM logsvc_internal.organization o
LEFT JOIN logsvc_internal.organization_limit l
	ON l.organization_id = o.id AND l.resource = 'retention_days'
LEFT JOIN logsvc_internal.plan_limit p ON p.plan = o.plan AND p.resource = 'retention_days',
-- A million days and more are for ever: one organization's figure, however large, must not
-- be a time out of range for all.
LATERAL (SELECT CASE WHEN l.organization_id IS NOT NULL THEN l.amount ELSE p.amount END)
	AS a (amount),
LATERAL (SELECT CASE WHEN a.amount <= 1000000 THEN a.amount::int END) AS m (days),
LATERAL (SELECT least(o.retention_days, m.days)) AS d (days);
COMMENT ON VIEW logsvc_internal.organization_retention IS
'For how many days each organization keeps events of indexes without a setting of their own, and at most; NULL: for ever';

-- What is kept longest of an index: its own setting, else the organization's,
-- else the plan's; never more than the plan's, but for the reserved ones.
CREATE OR REPLACE VIEW logsvc_internal.index_retention AS
SELECT i.organization_id, i.name, CASE WHEN d.days <= 1000000 THEN d.days END AS days
FROM logsvc_internal.log_index i
JOIN logsvc_internal.organization_retention o USING (organization_id),
LATERAL (SELECT CASE
		WHEN starts_with(i.name, '_') THEN i.retention_days
		WHEN i.retention_days IS NULL THEN o.days
		ELSE least(i.retention_days, o.most)
	END) AS d (days);
COMMENT ON VIEW logsvc_internal.index_retention IS
'For how many days each index keeps events (decision 82); NULL: for ever';

CREATE OR REPLACE FUNCTION logsvc_internal.retention_days_of(organization uuid, index_name text)
RETURNS int
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT r.days FROM logsvc_internal.index_retention r
	WHERE r.organization_id = organization AND r.name = index_name;
END;
COMMENT ON FUNCTION logsvc_internal.retention_days_of(uuid, text) IS
'For how many days an index keeps events (decision 82); NULL: for ever';

-- ---- who the session acts as ----

CREATE OR REPLACE FUNCTION logsvc.whoami() RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	organization logsvc_internal.organization;
	account logsvc_internal.user_account;
	member_id uuid := logsvc_internal.current_user_id();
BEGIN
	IF logsvc_internal.current_kind() = 'none' THEN
		RETURN NULL;
	END IF;
	SELECT o.* INTO organization FROM logsvc_internal.organization o
	WHERE o.id = logsvc_internal.current_organization();
	SELECT u.* INTO account FROM logsvc_internal.user_account u WHERE u.id = member_id;
	RETURN jsonb_build_object(
		'kind', logsvc_internal.current_kind(),
		'organization', CASE WHEN logsvc_internal.current_kind() = 'key'
			THEN jsonb_build_object('id', logsvc_internal.public_id('org_', organization.id),
				'name', organization.name, 'slug', organization.slug)
			ELSE logsvc_internal.organization_json(organization) END,
		'user', CASE WHEN account.id IS NOT NULL THEN logsvc_internal.user_json(account) END,
		'role', logsvc_internal.current_role_name(),
		'permissions', to_jsonb(logsvc_internal.current_permissions()));
END
$$;
COMMENT ON FUNCTION logsvc.whoami() IS
'Who the session acts as, and what that one may do; NULL: no one';

-- Operators are asked for by the outer user, whoever the function belongs to.
CREATE OR REPLACE FUNCTION logsvc.use_token(token text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.set_token(token);
	RETURN logsvc.whoami();
END
$$;
COMMENT ON FUNCTION logsvc.use_token(text) IS
'The session acts as the owner of the token from now on; NULL: as no one; a rollback brings back who acted before, as with SET';

CREATE OR REPLACE FUNCTION logsvc_internal.find_act_as(
	organization text, email text, OUT organization_id uuid, OUT user_id uuid)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_operator();
	IF organization IS NULL THEN
		RETURN;
	END IF;
	organization_id := logsvc_internal.find_organization(organization);
	IF email IS NOT NULL THEN
		user_id := (logsvc_internal.find_member(organization_id, email)).user_id;
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.find_act_as(text, text) IS
'Operators: the ids of an organization and one of its members';

CREATE OR REPLACE FUNCTION logsvc.act_as(organization text, email text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	ids record;
BEGIN
	SELECT * INTO ids FROM logsvc_internal.find_act_as(organization, email);
	PERFORM logsvc_internal.set_principal(ids.organization_id, ids.user_id);
	RETURN logsvc.whoami();
END
$$;
COMMENT ON FUNCTION logsvc.act_as(text, text) IS
'Operators: the session acts for the organization, or as that member of it; NULL: for no one';
-- The audit log: writing entries, and the chain.

-- ---- who acts ----

CREATE OR REPLACE FUNCTION logsvc_internal.acting(
	OUT kind text, OUT user_id uuid, OUT credential_id uuid)
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_acting';
COMMENT ON FUNCTION logsvc_internal.acting() IS
'Who acts, also one whose credential this transaction has revoked; kind: none, token, key, user, operator, and service for workers without a principal';

-- People by their address, API keys by their id.  Operators and the service are
-- marked by a prefix that no address has.
CREATE OR REPLACE FUNCTION logsvc_internal.audit_actor() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT CASE a.kind
		WHEN 'token' THEN u.email
		WHEN 'user' THEN u.email
		WHEN 'key' THEN logsvc_internal.public_id('key_', a.credential_id)
		WHEN 'service' THEN 'service:logsvc'
		ELSE 'operator:' || session_user
	END
	FROM logsvc_internal.acting() a
	LEFT JOIN logsvc_internal.user_account u ON u.id = a.user_id);
COMMENT ON FUNCTION logsvc_internal.audit_actor() IS
'The actor of audit entries: a user''s e-mail, an API key''s id, operator:ROLE or service:logsvc';

-- ---- entries ----

-- Texts of clients are cut, and secrets are masked, should one ever get here.
CREATE OR REPLACE FUNCTION logsvc_internal.audit_text(t text, most int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(left(t, coalesce(most, length(t))),
	'(pat_|ing_live_|ing_test_|\$scrypt\$)[0-9A-Za-z=,$]{20,}', '\1***', 'g');
COMMENT ON FUNCTION logsvc_internal.audit_text(text, int) IS
'A text as audit entries hold it: cut (NULL: not), without tokens, keys and password hashes';

CREATE OR REPLACE FUNCTION logsvc_internal.audit(
	organization uuid, action text, resource text, details jsonb DEFAULT '{}',
	actor text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	who text := coalesce(actor, logsvc_internal.audit_actor());
	-- Milliseconds, as entries are shown: the hash can be computed from what is seen.
	moment timestamptz := date_trunc('milliseconds', clock_timestamp());
	kind text := split_part(action, '.', 1);
	address text := host(logsvc_internal.request_address());
	agent text := logsvc_internal.audit_text(logsvc_internal.request_user_agent(), 512);
BEGIN
	IF jsonb_typeof(details) = 'object' IS NOT TRUE THEN
		details := '{}';
	ELSIF octet_length(details::text) > 16384 THEN
		details := jsonb_build_object('truncated', true, 'bytes', octet_length(details::text));
	ELSE
		details := logsvc_internal.audit_text(details::text, NULL)::jsonb;
	END IF;
	resource := logsvc_internal.audit_text(coalesce(resource, ''), 1000);
	who := logsvc_internal.audit_text(who, 300);
	IF organization IS NULL THEN
		INSERT INTO logsvc_internal.operator_log
			(at, actor, action, resource, resource_type, ip_address, user_agent, details)
		VALUES (moment, who, audit.action, audit.resource, kind, address, agent, audit.details);
	ELSE
		INSERT INTO logsvc_internal.audit_entry
			(organization_id, at, actor, action, resource, resource_type, ip_address, user_agent,
			details)
		VALUES (organization, moment, who, audit.action, audit.resource, kind, address, agent,
			audit.details);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.audit(uuid, text, text, jsonb, text) IS
'Writes an audit entry in the caller''s transaction; organization NULL: into the operator log; actor NULL: who acts';

-- ---- the chain ----

-- What the hash of an entry covers, besides the hash before it.
CREATE OR REPLACE FUNCTION logsvc_internal.audit_content(
	e logsvc_internal.audit_entry, number bigint)
RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN convert_to(jsonb_build_array(number, logsvc_internal.iso_time(e.at), e.actor, e.action,
	e.resource, e.resource_type, e.ip_address, e.user_agent, e.details)::text, 'UTF8');
COMMENT ON FUNCTION logsvc_internal.audit_content(logsvc_internal.audit_entry, bigint) IS
'The canonical content of an audit entry: a JSON array in UTF-8';

-- A chain begins with its organization: no chain can stand in for another.
CREATE OR REPLACE FUNCTION logsvc_internal.audit_genesis(organization uuid) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(convert_to('logsvc audit ' || logsvc_internal.public_id('org_', organization), 'UTF8'));
COMMENT ON FUNCTION logsvc_internal.audit_genesis(uuid) IS
'The hash before the first audit entry of an organization';

CREATE OR REPLACE FUNCTION logsvc_internal.store_audit(organization uuid, event jsonb) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_store_audit';
COMMENT ON FUNCTION logsvc_internal.store_audit(uuid, jsonb) IS
'Puts an event into the index _audit of an organization, whatever waits in the queue';

CREATE OR REPLACE FUNCTION logsvc_internal.audit_event(e logsvc_internal.audit_entry) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'event', e.action || ' ' || e.resource || ' by ' || e.actor,
	'timestamp', logsvc_internal.iso_time(e.at),
	'level', CASE WHEN e.action LIKE '%\_failed' THEN 'warn' ELSE 'info' END,
	'source', 'audit',
	'attributes', jsonb_strip_nulls(jsonb_build_object('actor', e.actor, 'action', e.action,
		'resource', e.resource, 'resource_type', e.resource_type, 'ip_address', e.ip_address,
		'user_agent', e.user_agent, 'number', e.number, 'hash', encode(e.hash, 'hex')))
		|| jsonb_build_object('details', e.details));
COMMENT ON FUNCTION logsvc_internal.audit_event(logsvc_internal.audit_entry) IS
'An audit entry as an event of index _audit';

-- The trigger of the first entry takes all that the transaction has written to the
-- chain, in their order.  One by one, each would find the head of the chain behind
-- as many dead versions as there are entries before it.
CREATE OR REPLACE FUNCTION logsvc_internal.chain_audit() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	head logsvc_internal.audit_head;
	entry logsvc_internal.audit_entry;
BEGIN
	IF NOT EXISTS (SELECT FROM logsvc_internal.audit_entry e WHERE e.id = NEW.id AND e.number IS NULL) THEN
		RETURN NULL; -- it has its place, or the organization was deleted meanwhile
	END IF;
	-- From here to the end of the transaction the chain is ours.
	LOOP
		SELECT h.* INTO head FROM logsvc_internal.audit_head h
		WHERE h.organization_id = NEW.organization_id FOR UPDATE;
		EXIT WHEN FOUND;
		INSERT INTO logsvc_internal.audit_head (organization_id, number, hash, first_previous)
		VALUES (NEW.organization_id, 0, logsvc_internal.audit_genesis(NEW.organization_id),
			logsvc_internal.audit_genesis(NEW.organization_id))
		ON CONFLICT DO NOTHING;
	END LOOP;
	FOR entry IN
		SELECT e.* FROM logsvc_internal.audit_entry e
		WHERE e.organization_id = NEW.organization_id AND e.number IS NULL
		ORDER BY e.cmin::text::bigint, e.ctid
	LOOP
		head.number := head.number + 1;
		head.hash := sha256(head.hash || logsvc_internal.audit_content(entry, head.number));
		UPDATE logsvc_internal.audit_entry e SET number = head.number, hash = head.hash
		WHERE e.id = entry.id RETURNING e.* INTO entry;
		PERFORM logsvc_internal.store_audit(entry.organization_id, logsvc_internal.audit_event(entry));
	END LOOP;
	UPDATE logsvc_internal.audit_head h SET number = head.number, hash = head.hash
	WHERE h.organization_id = head.organization_id;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION logsvc_internal.chain_audit() IS
'Deferred row trigger: gives the audit entries of a transaction their places in the chain';

DROP TRIGGER IF EXISTS chain_audit ON logsvc_internal.audit_entry;
CREATE CONSTRAINT TRIGGER chain_audit AFTER INSERT ON logsvc_internal.audit_entry
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.number IS NULL) -- not when a dump is restored
EXECUTE FUNCTION logsvc_internal.chain_audit();

-- Nobody changes entries, and nobody removes them before their time.  Who may
-- disable a trigger can do both: the chain shows it, as long as somebody knows
-- a hash of it (logsvc.audit_head).
CREATE OR REPLACE FUNCTION logsvc_internal.keep_audit() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		IF OLD.number IS NULL AND OLD.hash IS NULL
			AND (to_jsonb(NEW) - '{number,hash}'::text[]) = (to_jsonb(OLD) - '{number,hash}'::text[]) THEN
			RETURN NEW;
		END IF;
	ELSIF TG_OP = 'DELETE' THEN
		IF OLD.at < now() - interval '365 days'
			OR NOT EXISTS (SELECT FROM logsvc_internal.organization o
				WHERE o.id = OLD.organization_id AND o.erasing_since IS NULL) THEN
			RETURN OLD;
		END IF;
	END IF;
	RAISE EXCEPTION 'audit entries cannot be changed or removed' USING ERRCODE = '42501';
END
$$;
COMMENT ON FUNCTION logsvc_internal.keep_audit() IS
'Trigger: audit entries stay as they are for 365 days, or until their organization is erased';

DROP TRIGGER IF EXISTS keep_audit ON logsvc_internal.audit_entry;
CREATE TRIGGER keep_audit BEFORE UPDATE OR DELETE ON logsvc_internal.audit_entry
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.keep_audit();
DROP TRIGGER IF EXISTS keep_audit_all ON logsvc_internal.audit_entry;
CREATE TRIGGER keep_audit_all BEFORE TRUNCATE ON logsvc_internal.audit_entry
FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.keep_audit();
-- Also when session_replication_role is replica.
ALTER TABLE logsvc_internal.audit_entry ENABLE ALWAYS TRIGGER keep_audit;
ALTER TABLE logsvc_internal.audit_entry ENABLE ALWAYS TRIGGER keep_audit_all;
ALTER TABLE logsvc_internal.audit_entry ENABLE ALWAYS TRIGGER chain_audit;

-- ---- for operators ----

CREATE OR REPLACE VIEW logsvc.operator_log AS
SELECT at AS "timestamp", actor, action, resource, resource_type, ip_address, user_agent, details
FROM logsvc_internal.operator_log;
COMMENT ON VIEW logsvc.operator_log IS
'Operators: what happened outside of any organization, such as failed logins without an account';
GRANT SELECT ON logsvc.operator_log TO logsvc_admin;
-- What functions that answer HTTP requests use.

-- ---- the request ----

CREATE OR REPLACE FUNCTION logsvc_internal.request_id() RETURNS text
LANGUAGE C STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_request_id';
COMMENT ON FUNCTION logsvc_internal.request_id() IS
'X-Request-Id of the HTTP request; NULL in SQL sessions';

CREATE OR REPLACE FUNCTION logsvc_internal.request_address() RETURNS inet
LANGUAGE C STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_request_address';
COMMENT ON FUNCTION logsvc_internal.request_address() IS
'Who sent the HTTP request, behind trusted proxies; in SQL sessions the client''s address';

CREATE OR REPLACE FUNCTION logsvc_internal.request_user_agent() RETURNS text
LANGUAGE C STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_request_user_agent';
COMMENT ON FUNCTION logsvc_internal.request_user_agent() IS
'User-Agent of the HTTP request, 512 characters; in SQL sessions application_name';

CREATE OR REPLACE FUNCTION logsvc_internal.request_header(name text) RETURNS text
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_request_header';
COMMENT ON FUNCTION logsvc_internal.request_header(text) IS
'A header of the HTTP request: cookie, origin, x-organization-id, if-match, idempotency-key, content-type';

-- ---- answers ----

CREATE OR REPLACE FUNCTION logsvc_internal.respond(
	status int, body jsonb DEFAULT NULL, headers jsonb DEFAULT NULL)
RETURNS logsvc_internal.http_response
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW(status, headers, NULL, convert_to(body::text, 'UTF8'))::logsvc_internal.http_response;
COMMENT ON FUNCTION logsvc_internal.respond(int, jsonb, jsonb) IS
'An answer of JSON with a status and headers of its own; NULL body: none';

-- ---- lists ----

CREATE OR REPLACE FUNCTION logsvc_internal.sign_position(scope text, "position" text) RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_sign_position';
COMMENT ON FUNCTION logsvc_internal.sign_position(text, text) IS
'A cursor: where a page of the list ended, signed together with what the list is';

CREATE OR REPLACE FUNCTION logsvc_internal.open_position(scope text, cursor text) RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_open_position';
COMMENT ON FUNCTION logsvc_internal.open_position(text, text) IS
'The position in a cursor of the last 24 hours; INVALID_CURSOR for another list''s';

CREATE OR REPLACE FUNCTION logsvc_internal.page_limit("limit" int) RETURNS int
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF "limit" NOT BETWEEN 1 AND 100 THEN
		PERFORM logsvc_internal.invalid('limit', 'must be from 1 to 100');
	END IF;
	RETURN coalesce("limit", 50);
END
$$;
COMMENT ON FUNCTION logsvc_internal.page_limit(int) IS
'How many rows a page has: 1 to 100, 50 by default';

-- The caller selects one row more than the page has: it says whether there are more.
CREATE OR REPLACE FUNCTION logsvc_internal.page(
	items jsonb[], positions text[], "limit" int, scope text)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	more boolean := coalesce(cardinality(items), 0) > "limit";
BEGIN
	RETURN jsonb_build_object(
		'data', coalesce(to_jsonb(items[:"limit"]), '[]'),
		'page', jsonb_build_object(
			'nextCursor', CASE WHEN more
				THEN logsvc_internal.sign_position(scope, positions["limit"]) END,
			'hasMore', more));
END
$$;
COMMENT ON FUNCTION logsvc_internal.page(jsonb[], text[], int, text) IS
'A page of limit + 1 rows and of what the list is sorted by; scope: the list, the organization, the filter';

CREATE OR REPLACE FUNCTION logsvc_internal.list_scope(
	name text, organization uuid, VARIADIC filter text[] DEFAULT '{}')
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_build_array(name, organization, filter)::text;
COMMENT ON FUNCTION logsvc_internal.list_scope(text, uuid, text[]) IS
'What a cursor is bound to: a list, an organization and a filter';

-- ---- Idempotency-Key ----

-- The insertion waits for a request with the same key that is under way.
CREATE OR REPLACE FUNCTION logsvc_internal.begin_idempotent(key_hash bytea, request_hash bytea)
RETURNS bytea
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	known logsvc_internal.idempotency;
BEGIN
	DELETE FROM logsvc_internal.idempotency i
	WHERE i.key_hash IN (SELECT old.key_hash FROM logsvc_internal.idempotency old
		WHERE old.created_at < now() - interval '24 hours'
		LIMIT 100 FOR UPDATE SKIP LOCKED);
	INSERT INTO logsvc_internal.idempotency AS i (key_hash, request_hash)
	VALUES (begin_idempotent.key_hash, begin_idempotent.request_hash)
	ON CONFLICT ON CONSTRAINT idempotency_pkey DO NOTHING;
	IF FOUND THEN
		RETURN NULL;
	END IF;
	SELECT * INTO known FROM logsvc_internal.idempotency i
	WHERE i.key_hash = begin_idempotent.key_hash;
	IF known.request_hash IS DISTINCT FROM begin_idempotent.request_hash THEN
		PERFORM logsvc_internal.raise_error('IDEMPOTENCY_CONFLICT');
	END IF;
	RETURN known.answer;
END
$$;
COMMENT ON FUNCTION logsvc_internal.begin_idempotent(bytea, bytea) IS
'NULL: a new request, go on; else the answer that the same one got; IDEMPOTENCY_CONFLICT for another one';

CREATE OR REPLACE FUNCTION logsvc_internal.end_idempotent(key_hash bytea, answer bytea)
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
	UPDATE logsvc_internal.idempotency i SET answer = end_idempotent.answer
	WHERE i.key_hash = end_idempotent.key_hash;
END;
COMMENT ON FUNCTION logsvc_internal.end_idempotent(bytea, bytea) IS
'Keeps the answer of a request with an Idempotency-Key';
-- Mail: addresses, templates, the outbox.

-- ---- addresses and links ----

-- Stricter than RFC 5321: no quoted local parts, no address literals, ASCII.
-- What passes has no character that means something in a header.
CREATE OR REPLACE FUNCTION logsvc_internal.is_mail_address(address text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(length(address) <= 254 AND length(split_part(address, '@', 1)) <= 64
	AND address ~ ('^[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+)*'
		|| '@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$'),
	false);
COMMENT ON FUNCTION logsvc_internal.is_mail_address(text) IS
'Is this an e-mail address that mail can be sent to?';

-- The token travels in the fragment, so that it reaches no access log and no
-- Referer.  Without logsvc.public_url the link is good on this machine.
CREATE OR REPLACE FUNCTION logsvc_internal.public_link(path text, token text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(nullif(rtrim(current_setting('logsvc.public_url', true), '/'), ''),
		CASE WHEN current_setting('logsvc.tls_certificate', true) <> '' THEN 'https' ELSE 'http' END
		|| '://localhost:' || current_setting('logsvc.port', true), 'http://localhost')
	|| path || coalesce('#t=' || token, '');
COMMENT ON FUNCTION logsvc_internal.public_link(text, text) IS
'The link of a mail: a path under logsvc.public_url, with a token in its fragment';

-- ---- templates ----
--
-- One source for both forms: a subject, paragraphs before the link, the label
-- of the link, paragraphs after it.  {name} is a parameter.
--
-- A name that users choose can be a sentence: "Your account is locked".  So it
-- begins no text, stands in quotation marks and is cut; and what strangers and
-- operators get has none in the subject.

CREATE OR REPLACE FUNCTION logsvc_internal.mail_template(
	name text, OUT subject text, OUT opening text[], OUT label text, OUT closing text[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT t.subject, t.opening, t.label, t.closing
	FROM (VALUES
		('verify_email', 'Confirm your e-mail address',
			ARRAY['Somebody, most likely you, has signed up with the address {email}.',
				'To confirm that the address is yours, open this link. It works once, until {expires}.'],
			'Confirm the address',
			ARRAY['If it was not you, ignore this mail: without the confirmation nothing happens.']),
		('reset_password', 'Reset your password',
			ARRAY['Somebody, most likely you, has asked to reset the password of {email}.',
				'To choose a new password, open this link. It works once, until {expires}.'],
			'Choose a new password',
			ARRAY['If it was not you, ignore this mail: your password stays as it is.']),
		('password_changed', 'Your password was changed',
			ARRAY['The password of {email} was changed at {time}. All other sessions were ended.',
				'If it was not you, reset your password at once:'],
			'Reset the password',
			ARRAY[]::text[]),
		('account_exists', 'You have an account already',
			ARRAY['Somebody, most likely you, has tried to sign up with the address {email}. There is an account with it already.',
				'If you have forgotten the password, you can reset it:'],
			'Reset the password',
			ARRAY['If it was not you, ignore this mail: nothing has changed.']),
		('invitation', 'Invitation to an organization in logsvc',
			ARRAY['This mail comes from an invitation by {by} to logsvc, a log service.',
				'Organization: "{organization}". Who invites: "{inviter}". Your role: {role}. These names were chosen by users; they are no message of the service.',
				'To accept, open this link. It works once, until {expires}.'],
			'Accept the invitation',
			ARRAY['If you do not know who invites you or do not want to join, ignore this mail: nothing happens.']),
		('quota_warning', 'Daily ingestion at {percent}%: organization "{organization}"',
			ARRAY['The organization "{organization}" has used {percent}% of its daily ingestion quota: {used} of {limit}.',
				'{consequence}',
				'The quota starts anew at {resets}.'],
			'See the usage',
			ARRAY['You get this mail because you are an owner of the organization; at most once a day.']),
		('quota_discarded', 'Events were discarded: organization "{organization}"',
			ARRAY['The organization "{organization}" is over its daily ingestion quota, and {events} events ({size}) that had waited for the longest time allowed were discarded.',
				'The quota starts anew at {resets}. Until then more events may be discarded; the audit log has an entry each time.'],
			'See the usage',
			ARRAY['You get this mail because you are an owner of the organization; at most once a day.']),
		('plan_request', 'An organization asks for plan {plan}',
			ARRAY['An owner, {requester}, of the organization "{organization}" ({slug}) asks to change its plan from {from} to {plan}.',
				'To approve: SELECT logsvc.approve_plan_request(''{slug}'', ''{plan}'');',
				'To decline: SELECT logsvc.decline_plan_request(''{slug}'', ''the reason'');'],
			'Open the service',
			ARRAY['You get this mail because logsvc.operator_email names your address; of each organization at most once an hour. View logsvc.plan_requests has what is open.']),
		('plan_approved', 'Plan {plan} was approved: organization "{organization}"',
			ARRAY['The organization "{organization}" has plan {plan} now, as was asked for.'],
			'See the plan',
			ARRAY['You get this mail because you are an owner of the organization.']),
		('plan_declined', 'Plan {plan} was declined: organization "{organization}"',
			ARRAY['The operator of the service has declined plan {plan} for the organization "{organization}"; its plan stays as it is.',
				'The reason given: {reason}'],
			'See the plan',
			ARRAY['You get this mail because you are an owner of the organization.']),
		('alert', 'Alert "{title}"', ARRAY['An alert rule of the organization "{organization}" says:', '{text}'], 'Open',
			ARRAY['You get this mail because that rule names your address.'])
	) AS t (name, subject, opening, label, closing)
	WHERE t.name = mail_template.name;
END;
COMMENT ON FUNCTION logsvc_internal.mail_template(text) IS
'A mail template: subject, paragraphs, the label of its link; NULL when there is none of that name';

CREATE OR REPLACE FUNCTION logsvc_internal.escape_html(t text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN replace(replace(replace(replace(replace(t, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'),
	'"', '&quot;'), '''', '&#39;');
COMMENT ON FUNCTION logsvc_internal.escape_html(text) IS 'A text as HTML text or attribute value';

-- One pass: what a value brings is not looked at for parameters again.
CREATE OR REPLACE FUNCTION logsvc_internal.fill_template(t text, parameters jsonb, html boolean)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	filled text := '';
	place text[];
	value text;
BEGIN
	LOOP
		place := regexp_match(t, '^([^{]*)\{([a-z]+)\}(.*)$');
		EXIT WHEN place IS NULL;
		value := parameters->>place[2];
		IF value IS NULL THEN
			RAISE EXCEPTION 'mail parameter "%" is missing', place[2] USING ERRCODE = '22023';
		END IF;
		filled := filled || place[1]
			|| CASE WHEN html THEN logsvc_internal.escape_html(value) ELSE value END;
		t := place[3];
	END LOOP;
	RETURN filled || t;
END
$$;
COMMENT ON FUNCTION logsvc_internal.fill_template(text, jsonb, boolean) IS
'A text of a template with the values of its parameters, escaped for HTML';

-- What a reader does not see, or what turns the direction of writing.
CREATE OR REPLACE FUNCTION logsvc_internal.one_line(t text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN btrim(regexp_replace(t,
	'[\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f'
		|| '\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb'
		|| '\U000e0000-\U000e0fff]+', ' ', 'g'));
COMMENT ON FUNCTION logsvc_internal.one_line(text) IS
'A text with blanks, control, direction and invisible characters as one blank';

-- Programs that show mails make links of what looks like one: evil.example/login,
-- www.evil.example, mailto:..., \\evil\share.  A blank behind each dot, colon and at
-- sign, and single strokes, leave a name that reads the same and is no link.
CREATE OR REPLACE FUNCTION logsvc_internal.no_link(t text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN logsvc_internal.one_line(regexp_replace(
	regexp_replace(logsvc_internal.one_line(t), '[/\\\u2044\u2215\uff0f\uff3c]+', ' / ', 'g'),
	'([.:@\u2024\u3002\ufe52\ufe55\ufe6b\uff0e\uff1a\uff20\uff61])', '\1 ', 'g'));
COMMENT ON FUNCTION logsvc_internal.no_link(text) IS
'A text in which no mail program sees a link or an address';

-- It stands in quotation marks, so it has none of its own.
CREATE OR REPLACE FUNCTION logsvc_internal.quoted_name(t text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT CASE WHEN length(n) > 40 THEN rtrim(left(n, 39)) || '…' ELSE n END
	FROM regexp_replace(logsvc_internal.no_link(t),
		'["\u00ab\u00bb\u201c-\u201f\u2033\u2036\u2039\u203a\u275d\u275e\u300c-\u300f\u301d-\u301f\uff02]', '''', 'g') AS n);
COMMENT ON FUNCTION logsvc_internal.quoted_name(text) IS
'A name as it stands in quotation marks in mails: no link, no quotation mark, at most 40 characters';

-- A value is one line without control and direction characters, so it can break
-- out of nothing.  What is not of the service itself is short, and no link.
CREATE OR REPLACE FUNCTION logsvc_internal.mail_value(key text, value text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
	WHEN key IN ('expires', 'time', 'resets')
		THEN to_char(value::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')
	WHEN key IN ('email', 'role', 'percent', 'used', 'limit', 'consequence', 'events', 'size',
		'slug', 'plan', 'from', 'reason')
		THEN left(logsvc_internal.one_line(value), 2000)
	-- Who has no name is shown by the address, which is his or hers.
	WHEN key IN ('by', 'inviter', 'requester') AND value ~ '^[a-z0-9_+-]+(\.[a-z0-9_+-]+)*@[a-z0-9.-]+$'
		AND value !~ '^www\.' AND logsvc_internal.is_mail_address(value) THEN value
	WHEN key IN ('organization', 'inviter', 'title') THEN logsvc_internal.quoted_name(value)
	WHEN key IN ('by', 'requester') THEN left(logsvc_internal.no_link(value), 254)
	ELSE left(logsvc_internal.no_link(value), 2000)
END;
COMMENT ON FUNCTION logsvc_internal.mail_value(text, text) IS
'The value of a mail parameter as it appears: one line, times in UTC, names without links';

-- ---- the outbox ----

CREATE OR REPLACE FUNCTION logsvc_internal.wake_notifier() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_wake_notifier';
COMMENT ON FUNCTION logsvc_internal.wake_notifier() IS
'Has the notifier look at the outbox when the transaction has committed';

CREATE OR REPLACE FUNCTION logsvc_internal.send_mail(
	organization uuid, recipient text, template text, parameters jsonb, caused_by uuid DEFAULT NULL)
RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	t record;
	texts jsonb;
	url text := parameters->>'link';
	title text;
	plain text := '';
	html text := '';
	paragraph text;
	new_mail uuid;
BEGIN
	SELECT m.* INTO t FROM logsvc_internal.mail_template(template) m;
	IF t.subject IS NULL THEN
		RAISE EXCEPTION 'there is no mail template "%"', template USING ERRCODE = '22023';
	END IF;
	IF NOT logsvc_internal.is_mail_address(recipient) THEN
		PERFORM logsvc_internal.invalid('email', 'must be an e-mail address');
	END IF;
	IF url ~ '^https?://[!-~]+$' IS NOT TRUE OR length(url) > 2000 THEN
		RAISE EXCEPTION 'mail parameter "link" is not an absolute URL' USING ERRCODE = '22023';
	END IF;

	SELECT jsonb_object_agg(p.key, logsvc_internal.mail_value(p.key, p.value)) INTO texts
	FROM jsonb_each_text(jsonb_build_object('email', recipient) || parameters) AS p
	WHERE p.value IS NOT NULL;

	title := left(logsvc_internal.fill_template(t.subject, texts, false), 200);
	FOREACH paragraph IN ARRAY t.opening LOOP
		plain := plain || logsvc_internal.fill_template(paragraph, texts, false) || E'\n\n';
		html := html || '<p>' || logsvc_internal.fill_template(paragraph, texts, true) || E'</p>\n';
	END LOOP;
	plain := plain || url || E'\n\n';
	html := html || format(E'<p><a href="%1$s">%2$s</a></p>\n<p>%1$s</p>\n',
		logsvc_internal.escape_html(url), logsvc_internal.escape_html(t.label));
	FOREACH paragraph IN ARRAY t.closing LOOP
		plain := plain || logsvc_internal.fill_template(paragraph, texts, false) || E'\n\n';
		html := html || '<p>' || logsvc_internal.fill_template(paragraph, texts, true) || E'</p>\n';
	END LOOP;

	INSERT INTO logsvc_internal.outbox
		(organization_id, caused_by, recipient, template, subject, body_text, body_html, link,
			expires_at)
	VALUES (organization, send_mail.caused_by, send_mail.recipient, send_mail.template, title,
		rtrim(plain, E'\n') || E'\n',
		E'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>'
			|| logsvc_internal.escape_html(title) || E'</title></head><body>\n'
			|| html || E'</body></html>\n',
		url, (parameters->>'expires')::timestamptz)
	RETURNING id INTO new_mail;
	PERFORM logsvc_internal.wake_notifier();
	RETURN new_mail;
END
$$;
COMMENT ON FUNCTION logsvc_internal.send_mail(uuid, text, text, jsonb, uuid) IS
'Puts a mail into the outbox in the caller''s transaction; parameters: link (a URL), the template''s texts, expires (a time after which it is not sent)';

-- One that is on its way cannot be stopped, but is not tried again.
CREATE OR REPLACE FUNCTION logsvc_internal.cancel_mail(mail uuid) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	UPDATE logsvc_internal.outbox o
	SET state = 'cancelled', body_text = NULL, body_html = NULL, link = NULL, finished_at = now()
	WHERE o.id = mail AND o.state IN ('waiting', 'failed');
	UPDATE logsvc_internal.outbox o SET expires_at = now()
	WHERE o.id = mail AND o.state = 'sending';
END;
COMMENT ON FUNCTION logsvc_internal.cancel_mail(uuid) IS
'Takes a mail back that has not been sent, with its texts';

CREATE OR REPLACE FUNCTION logsvc_internal.mail_owners(
	organization uuid, template text, parameters jsonb)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT logsvc_internal.send_mail(organization, u.email, template, parameters)
	FROM logsvc_internal.member m JOIN logsvc_internal.user_account u ON u.id = m.user_id
	WHERE m.organization_id = organization AND m.role = 'owner'
		AND logsvc_internal.is_mail_address(u.email);
END;
COMMENT ON FUNCTION logsvc_internal.mail_owners(uuid, text, jsonb) IS
'Puts a mail for each owner of an organization into the outbox';

-- ---- for the notifier ----

CREATE OR REPLACE FUNCTION logsvc_internal.take_mails(most int)
RETURNS SETOF logsvc_internal.outbox
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	UPDATE logsvc_internal.outbox o
	SET state = 'expired', body_text = NULL, body_html = NULL, link = NULL, finished_at = now()
	WHERE o.state = 'waiting' AND o.expires_at <= now();

	UPDATE logsvc_internal.outbox o SET state = 'sending', attempts = o.attempts + 1
	WHERE o.id IN (SELECT due.id FROM logsvc_internal.outbox due
		WHERE due.state = 'waiting' AND due.next_attempt_at <= now()
			AND (due.expires_at <= now()) IS NOT TRUE
		ORDER BY due.next_attempt_at LIMIT most FOR UPDATE SKIP LOCKED)
	RETURNING o.*;
END;
COMMENT ON FUNCTION logsvc_internal.take_mails(int) IS
'Marks mails that are due as being sent and returns them; those past their purpose expire';

CREATE OR REPLACE FUNCTION logsvc_internal.next_mail_at() RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT min(o.next_attempt_at) FROM logsvc_internal.outbox o WHERE o.state = 'waiting');
COMMENT ON FUNCTION logsvc_internal.next_mail_at() IS
'When the next mail is due; NULL: none waits';

CREATE OR REPLACE FUNCTION logsvc_internal.recover_mails() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	UPDATE logsvc_internal.outbox o SET state = 'waiting' WHERE o.state = 'sending';
END;
COMMENT ON FUNCTION logsvc_internal.recover_mails() IS
'Takes back what a notifier that is gone was sending; only when no other runs';

-- 1, 5, 15 minutes, 1, 2, 4, 8, 8 hours: a day, less what attempts take.
CREATE OR REPLACE FUNCTION logsvc_internal.finish_mail(mail uuid, outcome text, reason text)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	delays CONSTANT interval[] := '{1 min,5 min,15 min,1 h,2 h,4 h,8 h,8 h}';
	result text;
BEGIN
	UPDATE logsvc_internal.outbox o SET
		state = CASE WHEN outcome = 'sent' THEN 'sent'
			WHEN outcome = 'refused' OR o.attempts > cardinality(delays) THEN 'failed'
			ELSE 'waiting' END,
		next_attempt_at = clock_timestamp() + coalesce(delays[o.attempts], '0'),
		last_error = reason
	WHERE o.id = mail AND o.state = 'sending'
	RETURNING o.state INTO result;
	-- Links are secrets: a mail that has arrived needs them no more.
	IF result = 'sent' THEN
		UPDATE logsvc_internal.outbox o
		SET body_text = NULL, body_html = NULL, link = NULL, finished_at = now() WHERE o.id = mail;
	ELSIF result = 'failed' THEN
		UPDATE logsvc_internal.outbox o SET finished_at = now() WHERE o.id = mail;
	END IF;
	RETURN result;
END
$$;
COMMENT ON FUNCTION logsvc_internal.finish_mail(uuid, text, text) IS
'What became of an attempt: sent, refused (for good) or retry; returns the state of the mail';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_mails(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	DELETE FROM logsvc_internal.outbox o WHERE o.finished_at < at - interval '7 days';
	-- What was given up keeps its texts for another try, but not for longer than they are good.
	UPDATE logsvc_internal.outbox o SET body_text = NULL, body_html = NULL, link = NULL
	WHERE o.state = 'failed' AND o.expires_at <= at AND o.link IS NOT NULL;
END;
COMMENT ON FUNCTION logsvc_internal.purge_mails(timestamptz) IS
'Scheduled: removes mails that ended more than 7 days ago, however they ended';

-- ---- for operators ----

CREATE OR REPLACE FUNCTION logsvc.retry_mail(id uuid) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	mail logsvc_internal.outbox;
BEGIN
	PERFORM logsvc_internal.require_operator();
	UPDATE logsvc_internal.outbox o
	SET state = 'waiting', attempts = 0, next_attempt_at = now(), finished_at = NULL
	WHERE o.id = retry_mail.id AND o.state IN ('waiting', 'failed') AND o.link IS NOT NULL
	RETURNING o.* INTO mail;
	IF mail.id IS NULL THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such mail that waits or has failed');
	END IF;
	PERFORM logsvc_internal.wake_notifier();
	RETURN mail.state;
END
$$;
COMMENT ON FUNCTION logsvc.retry_mail(uuid) IS
'Operators: sends a mail that waits or has failed at once, and begins to count its attempts anew';

-- Who has a link can act for its recipient: it is read one at a time, and that is
-- in the audit log of whom it concerns.
CREATE OR REPLACE FUNCTION logsvc.mail_link(id uuid) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	mail logsvc_internal.outbox;
	account uuid;
BEGIN
	PERFORM logsvc_internal.require_operator();
	SELECT o.* INTO mail FROM logsvc_internal.outbox o
	WHERE o.id = mail_link.id AND o.state IN ('waiting', 'sending', 'failed') AND o.link IS NOT NULL
		AND (o.expires_at <= clock_timestamp()) IS NOT TRUE;
	IF mail.id IS NULL THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such mail that has not been sent');
	END IF;
	IF mail.organization_id IS NOT NULL THEN
		PERFORM logsvc_internal.audit(mail.organization_id, 'mail.link_read', mail.recipient,
			jsonb_build_object('template', mail.template));
	ELSE
		SELECT u.id INTO account FROM logsvc_internal.user_account u WHERE u.email = mail.recipient;
		PERFORM logsvc_internal.audit_user(account, NULL, 'mail.link_read',
			jsonb_build_object('template', mail.template, 'recipient', mail.recipient));
	END IF;
	RETURN mail.link;
END
$$;
COMMENT ON FUNCTION logsvc.mail_link(uuid) IS
'Operators: the link of a mail that has not been sent, to be passed on by other means; audited';

DROP VIEW IF EXISTS logsvc.outbox;
CREATE VIEW logsvc.outbox AS
SELECT o.id, s.slug AS organization, o.recipient, o.template, o.subject, o.state,
	o.link IS NOT NULL AS has_link, o.created_at, o.expires_at, o.attempts, o.next_attempt_at,
	o.last_error, o.finished_at
FROM logsvc_internal.outbox o
LEFT JOIN logsvc_internal.organization s ON s.id = o.organization_id;
COMMENT ON VIEW logsvc.outbox IS
'Operators: mails that wait to be sent, and what became of the last days''; links: logsvc.mail_link(id)';
GRANT SELECT ON logsvc.outbox TO logsvc_admin;
-- Organizations as the REST API shows them: list, settings, plan, roles, deletion.

CREATE OR REPLACE FUNCTION logsvc.get_organization(id text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(id);
	found_organization logsvc_internal.organization;
BEGIN
	-- Of keys those that may change its settings; the others are for events.
	IF logsvc_internal.current_kind() = 'key' THEN
		PERFORM logsvc_internal.require_access(target, 'org:manage');
	END IF;
	SELECT o.* INTO found_organization FROM logsvc_internal.organization o WHERE o.id = target;
	RETURN logsvc_internal.organization_json(found_organization);
END
$$;
COMMENT ON FUNCTION logsvc.get_organization(text) IS
'An organization, by id or slug; NULL: the session''s';

-- A user sees all of his or her organizations; a token, which belongs to one,
-- that one only.
CREATE OR REPLACE FUNCTION logsvc.list_organizations(
	"limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	kind text := logsvc_internal.current_kind();
	account uuid := logsvc_internal.current_user_id();
	acting uuid := logsvc_internal.current_organization();
	operator boolean := kind = 'none' AND logsvc_internal.is_operator();
	scope text := logsvc_internal.list_scope('organizations', acting, account::text);
	size int := logsvc_internal.page_limit("limit");
	after uuid := logsvc_internal.open_position(scope, cursor)::uuid;
BEGIN
	IF kind = 'none' AND NOT operator THEN
		PERFORM logsvc_internal.raise_error('NO_ORGANIZATION');
	ELSIF kind = 'key' THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'a key has no list of organizations');
	END IF;
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.organization_json(o)
				|| jsonb_build_object('role', m.role) ORDER BY o.id),
			array_agg(o.id::text ORDER BY o.id), size, scope)
		FROM (SELECT o.id, m.role AS role
			FROM logsvc_internal.organization o
			LEFT JOIN logsvc_internal.member m
				ON m.organization_id = o.id AND m.user_id = account
			WHERE o.deleted_at IS NULL AND (after IS NULL OR o.id > after)
				AND CASE WHEN operator THEN true WHEN kind = 'user' THEN m.id IS NOT NULL
					ELSE o.id = acting END
			ORDER BY o.id LIMIT size + 1) AS m
		JOIN logsvc_internal.organization o ON o.id = m.id);
END
$$;
COMMENT ON FUNCTION logsvc.list_organizations(int, text) IS
'The organizations of the session''s user, a page at a time; for operators who act for no one all';

-- Two creations at once are serialized by the user's row.
CREATE OR REPLACE FUNCTION logsvc_internal.check_user_limit(account uuid) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	allowed bigint;
	used bigint;
BEGIN
	UPDATE logsvc_internal.user_account u SET created_at = created_at WHERE u.id = account;
	-- What one of the organizations allows its owner, by its plan or the operator's grant, counts.
	SELECT CASE WHEN bool_and(l.amount IS NOT NULL) THEN max(l.amount) END INTO allowed
	FROM (SELECT logsvc_internal.plan_limit_of(o.id, 'organizations_per_user') AS amount
		FROM logsvc_internal.member m JOIN logsvc_internal.organization o ON o.id = m.organization_id
		WHERE m.user_id = account AND m.role = 'owner' AND o.deleted_at IS NULL
		UNION ALL
		SELECT p.amount FROM logsvc_internal.plan_limit p
		WHERE p.resource = 'organizations_per_user' AND p.plan = 'free'
			AND NOT EXISTS (SELECT FROM logsvc_internal.member m
				JOIN logsvc_internal.organization o ON o.id = m.organization_id
				WHERE m.user_id = account AND m.role = 'owner' AND o.deleted_at IS NULL)) AS l;
	SELECT count(*) INTO used
	FROM logsvc_internal.member m JOIN logsvc_internal.organization o ON o.id = m.organization_id
	WHERE m.user_id = account AND m.role = 'owner' AND o.deleted_at IS NULL;
	IF used >= allowed THEN
		PERFORM logsvc_internal.raise_error('PLAN_LIMIT_REACHED',
			format('a user may own %s organizations', allowed),
			jsonb_build_array(jsonb_build_object('path', 'organizations_per_user',
				'code', 'plan_limit', 'message', format('%s of %s used', used, allowed))));
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_user_limit(uuid) IS
'An error unless the user may own one more organization; locks the user';

-- Whoever deletes an organization, or hands it on, and makes another begins with
-- what the one that is left has used: of several the one that used most, so who
-- makes five again has no more than five had.  The user is locked.
CREATE OR REPLACE FUNCTION logsvc_internal.carry_usage(account uuid, made uuid) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	this_month date := logsvc_internal.credit_month();
	today date := (logsvc_internal.quota_time(clock_timestamp()) AT TIME ZONE 'UTC')::date;
	left_ones uuid[];
	carried bigint;
	test boolean;
BEGIN
	DELETE FROM logsvc_internal.past_organization p
	WHERE p.user_id = account AND p.month < this_month;
	left_ones := ARRAY(SELECT p.organization_id FROM logsvc_internal.past_organization p
		WHERE p.user_id = account AND NOT EXISTS (SELECT FROM logsvc_internal.member m
			JOIN logsvc_internal.organization o ON o.id = m.organization_id
			WHERE m.organization_id = p.organization_id AND m.user_id = account
				AND m.role = 'owner' AND o.deleted_at IS NULL));
	INSERT INTO logsvc_internal.past_organization (user_id, organization_id) VALUES (account, made);

	-- least() passes over NULL: a plan without a limit.
	SELECT least(coalesce(max(u.used), 0), logsvc_internal.plan_limit_of(made, 'ai_credits_per_month') * 1000000) INTO carried
	FROM (SELECT m.used + coalesce((SELECT sum(r.micro_credits)
				FROM logsvc_internal.ai_credit_reservation r
				WHERE r.organization_id = m.organization_id AND r.month = this_month
					AND r.expires_at > clock_timestamp()), 0)
			FROM logsvc_internal.ai_credit_month m
			WHERE m.organization_id = ANY (left_ones) AND m.month = this_month
		UNION ALL
		SELECT p.micro_credits FROM logsvc_internal.past_organization p
		WHERE p.user_id = account AND p.month = this_month) AS u (used);
	IF carried > 0 THEN
		INSERT INTO logsvc_internal.ai_credit_month (organization_id, month, used)
		VALUES (made, this_month, carried);
		INSERT INTO logsvc_internal.ai_credit_entry (organization_id, kind, micro_credits, reason)
		VALUES (made, 'adjustment', carried, 'used this month by an organization that its owner has left or deleted');
	END IF;

	FOREACH test IN ARRAY '{false,true}'::boolean[] LOOP
		SELECT least(coalesce(max(i.bytes), 0), logsvc_internal.plan_limit_of(made,
			CASE WHEN test THEN 'test_bytes_per_day' ELSE 'ingest_bytes_per_day' END)) INTO carried
		FROM unnest(left_ones) AS l (id), logsvc_internal.ingested(l.id, today, test) AS i;
		IF carried > 0 THEN
			INSERT INTO logsvc_internal.ingest_day (organization_id, day, test, bytes)
			VALUES (made, today, test, carried);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.carry_usage(uuid, uuid) IS
'A new organization begins with the AI credits of the month and the bytes of the day that those its maker has left or deleted have used';

CREATE OR REPLACE FUNCTION logsvc.create_own_organization(name text, timezone text DEFAULT 'UTC')
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
	created logsvc_internal.organization;
	plan text := 'free';
BEGIN
	SELECT u.* INTO account FROM logsvc_internal.user_account u
	WHERE u.id = logsvc_internal.current_user_id();
	IF logsvc_internal.current_kind() IN ('token', 'key') THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE',
			'only a person can create organizations');
	ELSIF account.id IS NULL THEN
		PERFORM logsvc_internal.raise_error('UNAUTHORIZED');
	ELSIF account.verified_at IS NULL THEN
		PERFORM logsvc_internal.raise_error('EMAIL_NOT_VERIFIED');
	END IF;
	PERFORM logsvc_internal.check_user_limit(account.id);
	created := logsvc_internal.make_organization(name, plan, coalesce(timezone, 'UTC'));
	INSERT INTO logsvc_internal.member (organization_id, user_id, role)
	VALUES (created.id, account.id, 'owner');
	PERFORM logsvc_internal.carry_usage(account.id, created.id);
	RETURN logsvc_internal.organization_json(created) || '{"role": "owner"}';
END
$$;
COMMENT ON FUNCTION logsvc.create_own_organization(text, text) IS
'Creates an organization on plan free, whose owner is the session''s user';

CREATE OR REPLACE FUNCTION logsvc_internal.check_retention(organization uuid, days int) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	most bigint := logsvc_internal.plan_limit_of(organization, 'retention_days');
BEGIN
	IF days < 1 THEN
		PERFORM logsvc_internal.invalid('retentionDays', 'must be at least 1');
	ELSIF days > most THEN
		PERFORM logsvc_internal.raise_error('PLAN_LIMIT_REACHED',
			format('the plan keeps events for %s days', most),
			jsonb_build_array(jsonb_build_object('path', 'retentionDays', 'code', 'plan_limit',
				'message', format('must be at most %s', most))));
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_retention(uuid, int) IS
'An error unless the plan keeps events for so many days; NULL: the default, which it does';

-- What was given: by name over HTTP, where null is a value; in SQL what is not NULL.
CREATE OR REPLACE FUNCTION logsvc_internal.is_given(
	given text[], name text, has_value boolean)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN given IS NULL THEN has_value ELSE name = ANY (given) END;
COMMENT ON FUNCTION logsvc_internal.is_given(text[], text, boolean) IS
'Is a setting to be changed? given: the names over HTTP, where null is a value; NULL in SQL';

CREATE OR REPLACE FUNCTION logsvc.update_organization(
	id text DEFAULT NULL, name text DEFAULT NULL, timezone text DEFAULT NULL,
	retention_days int DEFAULT NULL, oauth_providers text[] DEFAULT NULL,
	plan text DEFAULT NULL, given text[] DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(id);
	before logsvc_internal.organization;
	after logsvc_internal.organization;
	changes jsonb;
	asked jsonb;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'org:manage');
	PERFORM logsvc_internal.lock_organization(target);
	SELECT o.* INTO before FROM logsvc_internal.organization o WHERE o.id = target;
	after := before;
	IF logsvc_internal.is_given(given, 'name', name IS NOT NULL) THEN
		after.name := logsvc_internal.check_name('name', name);
	END IF;
	IF logsvc_internal.is_given(given, 'timezone', timezone IS NOT NULL) THEN
		PERFORM logsvc_internal.check_timezone(timezone);
		after.timezone := timezone;
	END IF;
	IF logsvc_internal.is_given(given, 'retentionDays', retention_days IS NOT NULL) THEN
		PERFORM logsvc_internal.check_retention(target, retention_days);
		after.retention_days := retention_days;
	END IF;
	IF logsvc_internal.is_given(given, 'oauthProviders', oauth_providers IS NOT NULL) THEN
		IF oauth_providers <@ '{google,github}'::text[] IS NOT TRUE THEN
			PERFORM logsvc_internal.invalid('oauthProviders', 'must be a list of google and github');
		END IF;
		after.oauth_providers := ARRAY(SELECT DISTINCT p FROM unnest(oauth_providers) AS p ORDER BY p);
	END IF;
	IF logsvc_internal.is_given(given, 'plan', plan IS NOT NULL) THEN
		asked := logsvc.set_plan(logsvc_internal.public_id('org_', target), plan) -> 'planRequest';
	END IF;
	UPDATE logsvc_internal.organization o
	SET name = after.name, timezone = after.timezone, retention_days = after.retention_days,
		oauth_providers = after.oauth_providers
	WHERE o.id = target
	RETURNING o.* INTO after;
	SELECT jsonb_object_agg(n.key, jsonb_build_object('from', b.value, 'to', n.value)) INTO changes
	FROM jsonb_each(to_jsonb(after) - 'plan') AS n JOIN jsonb_each(to_jsonb(before)) AS b USING (key)
	WHERE n.value <> b.value;
	IF changes IS NOT NULL THEN
		PERFORM logsvc_internal.audit(target, 'organization.settings_updated',
			logsvc_internal.public_id('org_', target), changes);
	END IF;
	RETURN logsvc_internal.organization_json(after)
		|| CASE WHEN asked IS NULL THEN '{}' ELSE jsonb_build_object('planRequest', asked) END;
END
$$;
COMMENT ON FUNCTION logsvc.update_organization(text, text, text, int, text[], text, text[]) IS
'Changes settings of an organization; what is NULL stays, unless given names it';

-- ---- roles ----

CREATE OR REPLACE FUNCTION logsvc.roles() RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF NOT logsvc_internal.is_operator() THEN
		PERFORM logsvc_internal.require_permission('roles:read');
	END IF;
	RETURN jsonb_build_object(
		'roles', '["owner", "admin", "member", "viewer"]'::jsonb,
		'permissions', (SELECT jsonb_agg(jsonb_build_object('permission', p.permission,
				'owner', p.owner, 'admin', p.admin, 'member', p.member, 'viewer', p.viewer,
				'tokenScope', nullif(p.token_scope, '')))
			FROM logsvc_internal.permissions() AS p));
END
$$;
COMMENT ON FUNCTION logsvc.roles() IS
'Which role has which permission (specification 5.6), and the scope that a token needs for it';

-- ---- deletion ----

CREATE OR REPLACE FUNCTION logsvc.delete_organization(id text, confirm text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(id);
	doomed logsvc_internal.organization;
BEGIN
	IF NOT logsvc_internal.is_operator() THEN
		IF logsvc_internal.current_kind() <> 'user' THEN
			PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE',
				'only a person can delete an organization');
		ELSIF logsvc_internal.current_role_name() = 'owner' IS NOT TRUE THEN
			PERFORM logsvc_internal.raise_error('FORBIDDEN');
		END IF;
	END IF;
	PERFORM logsvc_internal.lock_organization(target);
	SELECT o.* INTO doomed FROM logsvc_internal.organization o WHERE o.id = target;
	IF confirm IS DISTINCT FROM doomed.name THEN
		PERFORM logsvc_internal.invalid('confirm', 'must be the name of the organization');
	END IF;
	PERFORM logsvc_internal.audit(target, 'organization.deleted',
		logsvc_internal.public_id('org_', target), jsonb_build_object('name', doomed.name));
	INSERT INTO logsvc_internal.past_organization (user_id, organization_id)
	SELECT m.user_id, target FROM logsvc_internal.member m
	WHERE m.organization_id = target AND m.role = 'owner' ON CONFLICT DO NOTHING;
	-- Invitations are good no more.
	PERFORM logsvc_internal.cancel_mail(i.mail) FROM logsvc_internal.invitation i
	WHERE i.organization_id = target AND i.accepted_at IS NULL AND i.revoked_at IS NULL;
	UPDATE logsvc_internal.organization o SET deleted_at = now() WHERE o.id = target
	RETURNING * INTO doomed;
	RETURN jsonb_build_object('id', logsvc_internal.public_id('org_', target),
		'deletedAt', logsvc_internal.iso_time(doomed.deleted_at),
		'erasedAt', logsvc_internal.iso_time(doomed.deleted_at + interval '7 days'));
END
$$;
COMMENT ON FUNCTION logsvc.delete_organization(text, text) IS
'Deletes an organization: its credentials end at once, its data is erased after 7 days; confirm: its name';

CREATE OR REPLACE FUNCTION logsvc.restore_organization(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	restored logsvc_internal.organization;
BEGIN
	PERFORM logsvc_internal.require_operator();
	UPDATE logsvc_internal.organization o SET deleted_at = NULL
	WHERE o.deleted_at IS NOT NULL AND o.erasing_since IS NULL AND (o.slug = restore_organization.id
		OR logsvc_internal.public_id('org_', o.id) = restore_organization.id)
	RETURNING * INTO restored;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such organization was deleted');
	END IF;
	PERFORM logsvc_internal.audit(restored.id, 'organization.restored',
		logsvc_internal.public_id('org_', restored.id));
	RETURN logsvc_internal.organization_json(restored);
END
$$;
COMMENT ON FUNCTION logsvc.restore_organization(text) IS
'Operators: takes the deletion of an organization back, within the 7 days';

-- A slice at each call: a large organization is no long transaction.  What was
-- removed stays removed, whatever ends a call; the next one goes on.
DROP FUNCTION IF EXISTS logsvc_internal.erase_organizations(timestamptz);
CREATE OR REPLACE FUNCTION logsvc_internal.erase_organizations(
	at timestamptz, most_rows int DEFAULT 10000)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	doomed uuid;
	name text;
	weight int;
	removed int;
	budget int := most_rows;
BEGIN
	FOR doomed IN SELECT o.id FROM logsvc_internal.organization o
		WHERE o.deleted_at <= at - interval '7 days'
		ORDER BY o.deleted_at, o.id FOR UPDATE SKIP LOCKED
	LOOP
		UPDATE logsvc_internal.organization o SET erasing_since = at
		WHERE o.id = doomed AND o.erasing_since IS NULL;
		-- What can be much; the rest goes with the organization.
		FOREACH name IN ARRAY '{dead_letter,part,audit_entry,ai_credit_entry,outbox,invitation,access_token,api_key}'::text[]
		LOOP
			-- A part has up to a megabyte of its own.
			weight := CASE name WHEN 'part' THEN 10 ELSE 1 END;
			EXECUTE format('DELETE FROM logsvc_internal.%1$I WHERE organization_id = $1 AND ctid = ANY '
				'(ARRAY(SELECT t.ctid FROM logsvc_internal.%1$I t WHERE t.organization_id = $1 LIMIT $2))', name)
			USING doomed, (budget + weight - 1) / weight;
			GET DIAGNOSTICS removed = ROW_COUNT;
			budget := budget - removed * weight;
			EXIT WHEN budget <= 0;
		END LOOP;
		EXIT WHEN budget <= 0;
		-- Rows that were moved to another table or merged meanwhile were waited for; so is what
		-- is in the queue, which writers take out and count.
		IF NOT EXISTS (SELECT FROM logsvc_internal.queue q WHERE q.organization_id = doomed)
			AND NOT EXISTS (SELECT FROM logsvc_internal.dead_letter d WHERE d.organization_id = doomed)
			AND NOT EXISTS (SELECT FROM logsvc_internal.part p WHERE p.organization_id = doomed) THEN
			UPDATE logsvc_internal.past_organization p
			SET month = logsvc_internal.credit_month(at), micro_credits = coalesce((
				SELECT m.used FROM logsvc_internal.ai_credit_month m
				WHERE m.organization_id = doomed AND m.month = logsvc_internal.credit_month(at)), 0)
			WHERE p.organization_id = doomed;
			DELETE FROM logsvc_internal.organization o WHERE o.id = doomed;
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.erase_organizations(timestamptz, int) IS
'Scheduled: removes the data of organizations that were deleted 7 days ago, a bounded number of rows at each call';
-- Invitations: 48 hours, by mail, for the address that they name.

CREATE OR REPLACE FUNCTION logsvc_internal.invitation_status(i logsvc_internal.invitation)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN i.accepted_at IS NOT NULL THEN 'accepted'
	WHEN i.revoked_at IS NOT NULL THEN 'revoked'
	WHEN i.expires_at <= now() THEN 'expired'
	ELSE 'pending' END;
COMMENT ON FUNCTION logsvc_internal.invitation_status(logsvc_internal.invitation) IS
'pending, accepted, expired or revoked';

CREATE OR REPLACE FUNCTION logsvc_internal.invitation_json(i logsvc_internal.invitation)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('inv_', i.id), 'email', i.email, 'role', i.role,
	'status', logsvc_internal.invitation_status(i),
	'invitedBy', logsvc_internal.public_id('usr_', i.invited_by),
	'createdAt', logsvc_internal.iso_time(i.created_at),
	'expiresAt', logsvc_internal.iso_time(i.expires_at));
COMMENT ON FUNCTION logsvc_internal.invitation_json(logsvc_internal.invitation) IS
'An invitation as the API shows it, without its token';

-- Members count, and who may become one by accepting (decision 49).  The one
-- that is being accepted is marked so first, and counts no more.
CREATE OR REPLACE FUNCTION logsvc_internal.count_members(organization uuid) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT count(*) FROM logsvc_internal.member m WHERE m.organization_id = organization)
	+ (SELECT count(*) FROM logsvc_internal.invitation i WHERE i.organization_id = organization
		AND i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > now());
COMMENT ON FUNCTION logsvc_internal.count_members(uuid) IS
'Members that count against the plan, with those who are invited';

CREATE OR REPLACE FUNCTION logsvc_internal.is_member_address(organization uuid, email text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN EXISTS (SELECT FROM logsvc_internal.member m
	JOIN logsvc_internal.user_account u ON u.id = m.user_id
	WHERE m.organization_id = is_member_address.organization AND u.email = is_member_address.email);
COMMENT ON FUNCTION logsvc_internal.is_member_address(uuid, text) IS
'Has a member of the organization that address?';

CREATE OR REPLACE FUNCTION logsvc.list_invitations(
	organization text DEFAULT NULL, status text DEFAULT NULL, "limit" int DEFAULT NULL,
	cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	scope text := logsvc_internal.list_scope('invitations', target, status);
	size int := logsvc_internal.page_limit("limit");
	after uuid := logsvc_internal.open_position(scope, cursor)::uuid;
BEGIN
	-- Those who may invite, but who only looks needs the scope for looking only.
	PERFORM logsvc_internal.require_access(target, 'roles:read');
	IF NOT logsvc_internal.is_operator()
		AND logsvc_internal.current_role_name() IN ('member', 'viewer') THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN');
	END IF;
	IF status NOT IN ('pending', 'accepted', 'expired', 'revoked') THEN
		PERFORM logsvc_internal.invalid('status', 'must be pending, accepted, expired or revoked');
	END IF;
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.invitation_json(i) ORDER BY i.id),
			array_agg(i.id::text ORDER BY i.id), size, scope)
		FROM (SELECT * FROM logsvc_internal.invitation AS i
			WHERE organization_id = target AND (after IS NULL OR id > after)
				AND (list_invitations.status IS NULL
					OR logsvc_internal.invitation_status(i) = list_invitations.status)
			ORDER BY id LIMIT size + 1) AS i);
END
$$;
COMMENT ON FUNCTION logsvc.list_invitations(text, text, int, text) IS
'The invitations of an organization, a page at a time; status: only those';

-- Whoever invites decides who gets mail from this service.  The limits are the
-- plan's; the organization is locked by the caller, the user here, so that two at
-- once are counted one after the other.  The clock's time, not the transaction's:
-- one that was begun long ago must not count as long ago.
CREATE OR REPLACE FUNCTION logsvc_internal.check_invitation_rate(organization uuid, email text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	inviter uuid := logsvc_internal.current_user_id();
	moment timestamptz := clock_timestamp();
	rule record;
	allowed bigint;
	used bigint;
	first timestamptz;
BEGIN
	PERFORM FROM logsvc_internal.user_account u WHERE u.id = inviter FOR NO KEY UPDATE;
	FOR rule IN
		SELECT r.* FROM (VALUES
			(NULL, interval '1 hour', 'address', 'the address has got five invitations within an hour'),
			('invitations_per_hour', '1 hour', 'organization', '%s invitations an hour are allowed'),
			('invitations_per_day', '1 day', 'organization', '%s invitations a day are allowed'),
			('invitations_per_user_per_hour', '1 hour', 'user',
				'%s invitations an hour by one user are allowed'),
			('invitations_per_user_per_day', '1 day', 'user',
				'%s invitations a day by one user are allowed')
		) AS r (resource, period, counted, message)
		WHERE r.counted <> 'user' OR inviter IS NOT NULL
	LOOP
		allowed := CASE WHEN rule.resource IS NULL THEN 5
			ELSE logsvc_internal.plan_limit_of(organization, rule.resource) END;
		CONTINUE WHEN allowed IS NULL;
		-- Of the newest that fill the limit the oldest makes room when it leaves the period.
		SELECT count(*), min(o.created_at) INTO used, first
		FROM (SELECT o.created_at FROM logsvc_internal.outbox o
			WHERE o.template = 'invitation' AND o.created_at > moment - rule.period
				AND CASE rule.counted WHEN 'address' THEN o.recipient = email
					WHEN 'organization' THEN o.organization_id = organization
					ELSE o.caused_by = inviter END
			ORDER BY o.created_at DESC LIMIT allowed) AS o;
		IF used >= allowed THEN
			PERFORM logsvc_internal.raise_error('RATE_LIMIT_EXCEEDED', format(rule.message, allowed),
				hint => format('Try again in %s seconds.', greatest(1,
					ceil(extract(epoch FROM coalesce(first, moment) + rule.period - moment)))));
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_invitation_rate(uuid, text) IS
'An error when the organization, the caller or the address has had its invitations of the hour or the day';

-- A new token and 48 hours; the mail goes with the transaction.
CREATE OR REPLACE FUNCTION logsvc_internal.send_invitation(invitation uuid)
RETURNS logsvc_internal.invitation
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	token text := logsvc_internal.new_secret('');
	sent logsvc_internal.invitation;
	team text;
	inviter logsvc_internal.user_account;
	inviter_is text;
	expires timestamptz := now() + interval '48 hours';
BEGIN
	SELECT i.* INTO sent FROM logsvc_internal.invitation i WHERE i.id = invitation;
	PERFORM logsvc_internal.check_invitation_rate(sent.organization_id, sent.email);
	PERFORM logsvc_internal.cancel_mail(sent.mail); -- its link is good no more
	SELECT o.name INTO team FROM logsvc_internal.organization o WHERE o.id = sent.organization_id;
	SELECT u.* INTO inviter FROM logsvc_internal.user_account u
	WHERE u.id = logsvc_internal.current_user_id();
	inviter_is := coalesce(inviter.email, CASE logsvc_internal.current_kind()
		WHEN 'key' THEN 'an API key of the organization' ELSE 'the operator of the service' END);
	UPDATE logsvc_internal.invitation i
	SET token_hash = logsvc_internal.secret_hash(token), expires_at = expires,
		mail = logsvc_internal.send_mail(sent.organization_id, sent.email, 'invitation',
			jsonb_build_object('organization', team, 'by', inviter_is,
				'inviter', coalesce(inviter.name, inviter_is),
				'role', sent.role, 'expires', expires,
				'link', logsvc_internal.public_link('/invitations/accept', token)),
			logsvc_internal.current_user_id())
	WHERE i.id = invitation
	RETURNING i.* INTO sent;
	RETURN sent;
END
$$;
COMMENT ON FUNCTION logsvc_internal.send_invitation(uuid) IS
'Gives an invitation a new token for 48 hours and mails it; the one before is good no more';

CREATE OR REPLACE FUNCTION logsvc.invite(organization text, email text, role text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	made uuid := logsvc_internal.new_id();
	sent logsvc_internal.invitation;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'users:invite');
	email := lower(btrim(email));
	IF NOT logsvc_internal.is_mail_address(email) THEN
		PERFORM logsvc_internal.invalid('email', 'must be an e-mail address');
	END IF;
	PERFORM logsvc_internal.check_role(role);
	PERFORM logsvc_internal.lock_organization(target);
	PERFORM logsvc_internal.check_owner_change(ARRAY[role]);
	PERFORM logsvc_internal.check_made_role(role);
	IF logsvc_internal.is_member_address(target, email) THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the user is a member already');
	ELSIF EXISTS (SELECT FROM logsvc_internal.invitation i
		WHERE i.organization_id = target AND i.email = invite.email
			AND logsvc_internal.invitation_status(i) = 'pending') THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the user is invited already');
	END IF;
	PERFORM logsvc_internal.check_plan_limit(target, 'members');
	-- One that has expired makes room for this one.
	PERFORM logsvc_internal.cancel_mail(i.mail) FROM logsvc_internal.invitation i
	WHERE i.organization_id = target AND i.email = invite.email
		AND i.accepted_at IS NULL AND i.revoked_at IS NULL;
	UPDATE logsvc_internal.invitation i SET revoked_at = now()
	WHERE i.organization_id = target AND i.email = invite.email
		AND i.accepted_at IS NULL AND i.revoked_at IS NULL;
	INSERT INTO logsvc_internal.invitation
		(id, organization_id, email, role, token_hash, invited_by, expires_at)
	VALUES (made, target, invite.email, invite.role,
		logsvc_internal.secret_hash(logsvc_internal.new_secret('')),
		CASE WHEN target = logsvc_internal.current_organization()
			THEN logsvc_internal.current_user_id() END, now());
	sent := logsvc_internal.send_invitation(made);
	PERFORM logsvc_internal.audit(target, 'member.invited',
		logsvc_internal.public_id('inv_', made),
		jsonb_build_object('email', sent.email, 'role', sent.role));
	RETURN logsvc_internal.invitation_json(sent);
END
$$;
COMMENT ON FUNCTION logsvc.invite(text, text, text) IS
'Invites an address to an organization, by mail, for 48 hours';

-- Locks the organization, so that its invitations stay as they are seen.
CREATE OR REPLACE FUNCTION logsvc_internal.invitation_by_id(id text)
RETURNS logsvc_internal.invitation
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	found_invitation logsvc_internal.invitation;
BEGIN
	SELECT i.organization_id INTO target FROM logsvc_internal.invitation i
	WHERE i.id = logsvc_internal.parse_public_id('inv_', invitation_by_id.id)
		AND (i.organization_id = logsvc_internal.current_organization()
			OR logsvc_internal.is_operator());
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such invitation');
	END IF;
	PERFORM logsvc_internal.require_access(target, 'users:invite');
	PERFORM logsvc_internal.lock_organization(target);
	SELECT i.* INTO found_invitation FROM logsvc_internal.invitation i
	WHERE i.id = logsvc_internal.parse_public_id('inv_', invitation_by_id.id)
		AND i.organization_id = target;
	PERFORM logsvc_internal.check_owner_change(ARRAY[found_invitation.role]);
	RETURN found_invitation;
END
$$;
COMMENT ON FUNCTION logsvc_internal.invitation_by_id(text) IS
'An invitation that the caller may send again or revoke, with its organization locked';

CREATE OR REPLACE FUNCTION logsvc.resend_invitation(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target logsvc_internal.invitation := logsvc_internal.invitation_by_id(id);
	status text := logsvc_internal.invitation_status(target);
BEGIN
	IF status NOT IN ('pending', 'expired') THEN
		PERFORM logsvc_internal.raise_error('INVITATION_NOT_PENDING');
	ELSIF logsvc_internal.is_member_address(target.organization_id, target.email) THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the user is a member already');
	END IF;
	-- It would live longer by this.
	PERFORM logsvc_internal.check_made_role(target.role);
	-- An expired one counts again.
	IF status = 'expired' THEN
		PERFORM logsvc_internal.check_plan_limit(target.organization_id, 'members');
	END IF;
	target := logsvc_internal.send_invitation(target.id);
	PERFORM logsvc_internal.audit(target.organization_id, 'invitation.resent',
		logsvc_internal.public_id('inv_', target.id),
		jsonb_build_object('email', target.email, 'role', target.role));
	RETURN logsvc_internal.invitation_json(target);
END
$$;
COMMENT ON FUNCTION logsvc.resend_invitation(text) IS
'Sends an invitation again, with a new token and another 48 hours; also one that has expired';

CREATE OR REPLACE FUNCTION logsvc.revoke_invitation(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target logsvc_internal.invitation := logsvc_internal.invitation_by_id(id);
BEGIN
	IF logsvc_internal.invitation_status(target) NOT IN ('pending', 'expired') THEN
		PERFORM logsvc_internal.raise_error('INVITATION_NOT_PENDING');
	END IF;
	UPDATE logsvc_internal.invitation i SET revoked_at = now() WHERE i.id = target.id
	RETURNING * INTO target;
	PERFORM logsvc_internal.cancel_mail(target.mail);
	PERFORM logsvc_internal.audit(target.organization_id, 'invitation.revoked',
		logsvc_internal.public_id('inv_', target.id),
		jsonb_build_object('email', target.email, 'role', target.role));
	RETURN logsvc_internal.invitation_json(target);
END
$$;
COMMENT ON FUNCTION logsvc.revoke_invitation(text) IS
'Takes an invitation back, and its mail if that has not been sent';

-- A token that was replaced is as unknown as one that never was: both are told
-- that the link is good no more.
CREATE OR REPLACE FUNCTION logsvc_internal.invitation_by_token(token text)
RETURNS logsvc_internal.invitation
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_invitation logsvc_internal.invitation;
BEGIN
	SELECT i.* INTO found_invitation FROM logsvc_internal.invitation i
	JOIN logsvc_internal.organization o ON o.id = i.organization_id AND o.deleted_at IS NULL
	WHERE i.token_hash = logsvc_internal.secret_hash(token);
	IF found_invitation.accepted_at IS NOT NULL THEN
		PERFORM logsvc_internal.raise_error('LINK_USED');
	ELSIF found_invitation.id IS NULL
		OR logsvc_internal.invitation_status(found_invitation) <> 'pending' THEN
		PERFORM logsvc_internal.raise_error('LINK_EXPIRED', 'the invitation is not valid any more');
	END IF;
	RETURN found_invitation;
END
$$;
COMMENT ON FUNCTION logsvc_internal.invitation_by_token(text) IS
'The pending invitation of a token; LINK_USED, or LINK_EXPIRED also for an unknown one';

CREATE OR REPLACE FUNCTION logsvc_internal.preview_invitation(token text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target logsvc_internal.invitation := logsvc_internal.invitation_by_token(token);
BEGIN
	RETURN jsonb_build_object('data', jsonb_build_object(
		'organization', (SELECT jsonb_build_object('name', o.name, 'slug', o.slug)
			FROM logsvc_internal.organization o WHERE o.id = target.organization_id),
		'role', target.role, 'email', target.email,
		'expiresAt', logsvc_internal.iso_time(target.expires_at),
		'accountExists', EXISTS (SELECT FROM logsvc_internal.user_account u
			WHERE u.email = target.email)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.preview_invitation(text) IS
'What an invitation is about, for whoever has its token';
GRANT EXECUTE ON FUNCTION logsvc_internal.preview_invitation(text) TO logsvc_reader;

CREATE OR REPLACE FUNCTION logsvc.accept_invitation(token text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
	target logsvc_internal.invitation;
	created logsvc_internal.member;
BEGIN
	SELECT u.* INTO account FROM logsvc_internal.user_account u
	WHERE u.id = logsvc_internal.current_user_id();
	IF logsvc_internal.current_kind() IN ('token', 'key') THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'only a person can accept invitations');
	ELSIF account.id IS NULL THEN
		PERFORM logsvc_internal.raise_error('UNAUTHORIZED');
	END IF;
	target := logsvc_internal.invitation_by_token(token);
	PERFORM logsvc_internal.lock_organization(target.organization_id);
	-- Again: whoever was quicker has changed it.
	target := logsvc_internal.invitation_by_token(token);
	IF account.verified_at IS NULL THEN
		PERFORM logsvc_internal.raise_error('EMAIL_NOT_VERIFIED');
	ELSIF account.email <> target.email THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN', 'the invitation is for another address');
	ELSIF EXISTS (SELECT FROM logsvc_internal.member m
		WHERE m.organization_id = target.organization_id AND m.user_id = account.id) THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'you are a member already');
	END IF;
	UPDATE logsvc_internal.invitation i SET accepted_at = now() WHERE i.id = target.id;
	PERFORM logsvc_internal.check_plan_limit(target.organization_id, 'members');
	INSERT INTO logsvc_internal.member AS m (organization_id, user_id, role)
	VALUES (target.organization_id, account.id, target.role)
	RETURNING * INTO created;
	PERFORM logsvc_internal.audit(target.organization_id, 'invitation.accepted',
		logsvc_internal.public_id('inv_', target.id),
		jsonb_build_object('email', target.email, 'role', target.role,
			'member', logsvc_internal.public_id('mem_', created.id)));
	RETURN logsvc_internal.member_json(created);
END
$$;
COMMENT ON FUNCTION logsvc.accept_invitation(text) IS
'Makes the session''s user a member, by the token of an invitation to the user''s verified address';
-- Members as the REST API shows them: by their id.

CREATE OR REPLACE FUNCTION logsvc.list_members(
	organization text DEFAULT NULL, "limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	scope text := logsvc_internal.list_scope('members', target);
	size int := logsvc_internal.page_limit("limit");
	after uuid := logsvc_internal.open_position(scope, cursor)::uuid;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'roles:read');
	RETURN (SELECT logsvc_internal.page(array_agg(logsvc_internal.member_json(m) ORDER BY m.id),
			array_agg(m.id::text ORDER BY m.id), size, scope)
		FROM (SELECT * FROM logsvc_internal.member
			WHERE organization_id = target AND (after IS NULL OR id > after)
			ORDER BY id LIMIT size + 1) AS m);
END
$$;
COMMENT ON FUNCTION logsvc.list_members(text, int, text) IS
'The members of an organization, a page at a time: {data, page}';

-- Operators who act for no one see all; everybody else the own organization's.
CREATE OR REPLACE FUNCTION logsvc_internal.member_by_id(
	id text, OUT member_id uuid, OUT organization_id uuid, OUT organization text, OUT email text)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	SELECT m.id, m.organization_id, logsvc_internal.public_id('org_', m.organization_id), u.email
	INTO member_id, organization_id, organization, email
	FROM logsvc_internal.member m JOIN logsvc_internal.user_account u ON u.id = m.user_id
	WHERE m.id = logsvc_internal.parse_public_id('mem_', member_by_id.id)
		AND (m.organization_id = logsvc_internal.current_organization()
			OR logsvc_internal.is_operator());
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such member');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.member_by_id(text) IS
'A member of the session''s organization by its id; a foreign one does not exist';

CREATE OR REPLACE FUNCTION logsvc.get_member(id text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target record;
	found_member logsvc_internal.member;
BEGIN
	SELECT * INTO target FROM logsvc_internal.member_by_id(id);
	PERFORM logsvc_internal.require_access(target.organization_id, 'roles:read');
	SELECT m.* INTO found_member FROM logsvc_internal.member m
	WHERE m.id = target.member_id AND m.organization_id = target.organization_id;
	RETURN logsvc_internal.member_json(found_member);
END
$$;
COMMENT ON FUNCTION logsvc.get_member(text) IS 'A member by its id';

CREATE OR REPLACE FUNCTION logsvc.update_member(id text, role text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target record;
BEGIN
	SELECT * INTO target FROM logsvc_internal.member_by_id(id);
	RETURN logsvc.set_member_role(target.organization, target.email, role);
END
$$;
COMMENT ON FUNCTION logsvc.update_member(text, text) IS
'Gives a member another role, by its id; the last owner keeps it';

CREATE OR REPLACE FUNCTION logsvc.delete_member(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target record;
BEGIN
	SELECT * INTO target FROM logsvc_internal.member_by_id(id);
	RETURN logsvc.remove_member(target.organization, target.email);
END
$$;
COMMENT ON FUNCTION logsvc.delete_member(text) IS
'Removes a member, by its id; the member''s tokens of the organization are revoked at once';
-- Plans: what an organization has, and who changes it.
--
-- A plan costs its operator money (credits, storage), so by default an owner only
-- asks for a larger one; logsvc.plan_changes = self lets owners change it.

CREATE OR REPLACE FUNCTION logsvc_internal.limits_json(organization uuid) RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT jsonb_object_agg(p.resource,
		logsvc_internal.plan_limit_of(limits_json.organization, p.resource))
	FROM logsvc_internal.plan_limit p WHERE p.plan = 'free');
COMMENT ON FUNCTION logsvc_internal.limits_json(uuid) IS
'Every limit of an organization by its name; null: unlimited';

CREATE OR REPLACE FUNCTION logsvc_internal.plan_request_json(organization uuid) RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT jsonb_build_object('plan', r.plan,
		'requestedBy', logsvc_internal.public_id('usr_', r.requested_by),
		'requestedAt', logsvc_internal.iso_time(r.requested_at))
	FROM logsvc_internal.plan_request r
	WHERE r.organization_id = plan_request_json.organization);
COMMENT ON FUNCTION logsvc_internal.plan_request_json(uuid) IS
'The open request for another plan as the API shows it; NULL: there is none';

CREATE OR REPLACE FUNCTION logsvc.get_billing(organization text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
BEGIN
	PERFORM logsvc_internal.require_access(target, 'billing:manage');
	RETURN jsonb_build_object(
		'plan', (SELECT o.plan FROM logsvc_internal.organization o WHERE o.id = target),
		'planRequest', logsvc_internal.plan_request_json(target),
		'limits', logsvc_internal.limits_json(target),
		'plans', (SELECT jsonb_object_agg(plan, limits) FROM (
			SELECT p.plan, jsonb_object_agg(p.resource, p.amount) AS limits
			FROM logsvc_internal.plan_limit p GROUP BY p.plan) AS plans));
END
$$;
COMMENT ON FUNCTION logsvc.get_billing(text) IS
'The plan of an organization, the larger one it asks for, what it includes, and what the other plans would';

-- ---- changes ----

CREATE OR REPLACE FUNCTION logsvc_internal.plan_rank(plan text) RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN array_position('{free,pro,business,enterprise}'::text[], plan);
COMMENT ON FUNCTION logsvc_internal.plan_rank(text) IS 'Plans in order: 1 is the smallest';

CREATE OR REPLACE FUNCTION logsvc_internal.plans_are_requested() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(current_setting('logsvc.plan_changes', true), '') <> 'self'
	AND NOT logsvc_internal.is_operator();
COMMENT ON FUNCTION logsvc_internal.plans_are_requested() IS
'Does the caller ask for a larger plan only, and an operator decides?';

-- Once an hour for each organization, however often its owners change their mind.
CREATE OR REPLACE FUNCTION logsvc_internal.mail_plan_request(
	asking logsvc_internal.organization, plan text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF EXISTS (SELECT FROM logsvc_internal.outbox m
		WHERE m.organization_id = asking.id AND m.template = 'plan_request'
			AND m.created_at > now() - interval '1 hour') THEN
		RETURN;
	END IF;
	PERFORM logsvc_internal.send_mail(asking.id, address, 'plan_request', jsonb_build_object(
		'organization', asking.name, 'slug', asking.slug, 'from', asking.plan,
		'plan', mail_plan_request.plan, 'requester', logsvc_internal.audit_actor(),
		'expires', now() + interval '7 days', 'link', logsvc_internal.public_link('/', NULL)))
	FROM (SELECT DISTINCT btrim(a) AS address
		FROM string_to_table(current_setting('logsvc.operator_email', true), ',') AS a) AS operators
	WHERE logsvc_internal.is_mail_address(address);
END
$$;
COMMENT ON FUNCTION logsvc_internal.mail_plan_request(logsvc_internal.organization, text) IS
'Tells the operators of logsvc.operator_email that an organization asks for a larger plan';

CREATE OR REPLACE FUNCTION logsvc_internal.request_plan(
	asking logsvc_internal.organization, wanted text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	INSERT INTO logsvc_internal.plan_request AS r (organization_id, plan, requested_by)
	VALUES (asking.id, wanted, logsvc_internal.current_user_id())
	ON CONFLICT (organization_id) DO UPDATE SET plan = excluded.plan,
		requested_by = excluded.requested_by, requested_at = excluded.requested_at
	WHERE r.plan <> excluded.plan;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	PERFORM logsvc_internal.audit(asking.id, 'organization.plan_requested',
		logsvc_internal.public_id('org_', asking.id),
		jsonb_build_object('from', asking.plan, 'to', wanted));
	PERFORM logsvc_internal.mail_plan_request(asking, wanted);
END
$$;
COMMENT ON FUNCTION logsvc_internal.request_plan(logsvc_internal.organization, text) IS
'Keeps the request for a larger plan in place of an earlier one; the same again changes nothing';

-- The organization is locked.
CREATE OR REPLACE FUNCTION logsvc_internal.change_plan(
	before logsvc_internal.organization, wanted text)
RETURNS logsvc_internal.organization
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	requested text;
	changed logsvc_internal.organization;
BEGIN
	DELETE FROM logsvc_internal.plan_request r WHERE r.organization_id = before.id
	RETURNING r.plan INTO requested;
	UPDATE logsvc_internal.organization o SET plan = wanted WHERE o.id = before.id
	RETURNING * INTO changed;
	IF requested <> wanted THEN
		PERFORM logsvc_internal.audit(before.id, 'organization.plan_request_withdrawn',
			logsvc_internal.public_id('org_', before.id), jsonb_build_object('plan', requested));
	END IF;
	IF before.plan <> wanted THEN
		PERFORM logsvc_internal.audit(before.id, 'organization.plan_changed',
			logsvc_internal.public_id('org_', before.id),
			jsonb_build_object('from', before.plan, 'to', wanted)
			|| CASE WHEN requested = wanted AND logsvc_internal.is_operator() THEN '{"request": "approved"}' ELSE '{}' END::jsonb);
	END IF;
	RETURN changed;
END
$$;
COMMENT ON FUNCTION logsvc_internal.change_plan(logsvc_internal.organization, text) IS
'Gives an organization another plan; an open request has been answered or taken back by that';

CREATE OR REPLACE FUNCTION logsvc.set_plan(organization text, plan text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	found_organization logsvc_internal.organization;
BEGIN
	target := logsvc_internal.find_organization(organization);
	PERFORM logsvc_internal.require_access(target, 'billing:manage');
	PERFORM logsvc_internal.check_plan(plan);
	PERFORM logsvc_internal.lock_organization(target);
	SELECT o.* INTO found_organization FROM logsvc_internal.organization o WHERE o.id = target;
	IF logsvc_internal.plan_rank(plan) > logsvc_internal.plan_rank(found_organization.plan)
		AND logsvc_internal.plans_are_requested() THEN
		PERFORM logsvc_internal.request_plan(found_organization, plan);
		RETURN logsvc_internal.organization_json(found_organization)
			|| jsonb_build_object('planRequest', logsvc_internal.plan_request_json(target));
	END IF;
	found_organization := logsvc_internal.change_plan(found_organization, plan);
	RETURN logsvc_internal.organization_json(found_organization);
END
$$;
COMMENT ON FUNCTION logsvc.set_plan(text, text) IS
'Changes the plan, or asks for it when it is larger and operators decide; what is beyond a smaller one''s limits stays (decision 47)';

CREATE OR REPLACE FUNCTION logsvc_internal.set_plan_json(organization text, plan text)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	answer jsonb := logsvc.set_plan(organization, plan);
BEGIN
	RETURN logsvc_internal.respond(CASE WHEN answer ? 'planRequest' THEN 202 ELSE 200 END,
		jsonb_build_object('data', answer));
END
$$;
COMMENT ON FUNCTION logsvc_internal.set_plan_json(text, text) IS
'logsvc.set_plan over HTTP: 202 when it was kept as a request';
GRANT EXECUTE ON FUNCTION logsvc_internal.set_plan_json(text, text) TO logsvc_reader;

-- ---- decisions ----

CREATE OR REPLACE VIEW logsvc.plan_requests AS
SELECT o.slug AS organization, o.name, o.plan, r.plan AS requested, u.email AS requested_by,
	r.requested_at
FROM logsvc_internal.plan_request r
JOIN logsvc_internal.organization o ON o.id = r.organization_id AND o.deleted_at IS NULL
LEFT JOIN logsvc_internal.user_account u ON u.id = r.requested_by;
COMMENT ON VIEW logsvc.plan_requests IS
'Operators: organizations that ask for a larger plan; approve_plan_request() and decline_plan_request() answer';
GRANT SELECT ON logsvc.plan_requests TO logsvc_admin;

-- With the plan, so that nobody approves another one than was looked at.
CREATE OR REPLACE FUNCTION logsvc.approve_plan_request(organization text, plan text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	requested text;
	changed logsvc_internal.organization;
BEGIN
	PERFORM logsvc_internal.require_operator();
	target := logsvc_internal.find_organization(organization);
	PERFORM logsvc_internal.lock_organization(target);
	SELECT r.plan INTO requested FROM logsvc_internal.plan_request r
	WHERE r.organization_id = target;
	IF requested IS NULL THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'the organization asks for no plan');
	ELSIF requested IS DISTINCT FROM plan THEN
		PERFORM logsvc_internal.raise_error('VERSION_CONFLICT',
			format('the organization asks for plan %s', requested));
	END IF;
	SELECT o.* INTO changed FROM logsvc_internal.organization o WHERE o.id = target;
	changed := logsvc_internal.change_plan(changed, requested);
	PERFORM logsvc_internal.mail_owners(target, 'plan_approved', jsonb_build_object(
		'organization', changed.name, 'plan', changed.plan,
		'expires', now() + interval '7 days', 'link', logsvc_internal.public_link('/billing', NULL)));
	RETURN logsvc_internal.organization_json(changed);
END
$$;
COMMENT ON FUNCTION logsvc.approve_plan_request(text, text) IS
'Operators: gives an organization the plan that it asks for; an error when it asks for another one by now';

CREATE OR REPLACE FUNCTION logsvc.decline_plan_request(organization text, reason text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	requested text;
	found_organization logsvc_internal.organization;
BEGIN
	PERFORM logsvc_internal.require_operator();
	target := logsvc_internal.find_organization(organization);
	IF length(reason) > 500 THEN
		PERFORM logsvc_internal.invalid('reason', 'must not be longer than 500 characters');
	END IF;
	PERFORM logsvc_internal.lock_organization(target);
	DELETE FROM logsvc_internal.plan_request r WHERE r.organization_id = target
	RETURNING r.plan INTO requested;
	IF requested IS NULL THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'the organization asks for no plan');
	END IF;
	SELECT o.* INTO found_organization FROM logsvc_internal.organization o WHERE o.id = target;
	PERFORM logsvc_internal.audit(target, 'organization.plan_request_declined',
		logsvc_internal.public_id('org_', target),
		jsonb_build_object('plan', requested, 'reason', reason));
	PERFORM logsvc_internal.mail_owners(target, 'plan_declined', jsonb_build_object(
		'organization', found_organization.name, 'plan', requested,
		'reason', coalesce(nullif(btrim(reason), ''), 'none'),
		'expires', now() + interval '7 days', 'link', logsvc_internal.public_link('/billing', NULL)));
	RETURN logsvc_internal.organization_json(found_organization);
END
$$;
COMMENT ON FUNCTION logsvc.decline_plan_request(text, text) IS
'Operators: an organization keeps its plan; its owners are told the reason';
-- Accounts: passwords, links that work once, sessions, and what operators do
-- with them.

-- ---- passwords ----

CREATE OR REPLACE FUNCTION logsvc_internal.password_hash(password text) RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_password_hash';
COMMENT ON FUNCTION logsvc_internal.password_hash(text) IS
'The scrypt hash of a password, with a new salt';

CREATE OR REPLACE FUNCTION logsvc_internal.password_hash_like(password text, hash text) RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_password_hash_like';
COMMENT ON FUNCTION logsvc_internal.password_hash_like(text, text) IS
'The hash of a password with salt and cost of another hash: the same when the password is';

CREATE OR REPLACE FUNCTION logsvc_internal.password_matches(password text, hash text) RETURNS boolean
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_password_matches';
COMMENT ON FUNCTION logsvc_internal.password_matches(text, text) IS
'Is this the password of the hash?  False takes as long without a hash as with one';

CREATE OR REPLACE FUNCTION logsvc_internal.prefer_password() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_prefer_password';
COMMENT ON FUNCTION logsvc_internal.prefer_password() IS
'Passwords of this request are hashed before those of others, in a place that only such requests may take';

CREATE OR REPLACE FUNCTION logsvc_internal.password_outdated(hash text) RETURNS boolean
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_password_outdated';
COMMENT ON FUNCTION logsvc_internal.password_outdated(text) IS
'Was it hashed with another cost than that of logsvc.password_cost?';

CREATE OR REPLACE FUNCTION logsvc_internal.password_breached(password text) RETURNS boolean
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_password_breached';
COMMENT ON FUNCTION logsvc_internal.password_breached(text) IS
'Is it a common password, one in logsvc.breached_passwords_file, or one that the range service knew?';

CREATE OR REPLACE FUNCTION logsvc_internal.breach_checks() RETURNS text[]
LANGUAGE C VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_breach_checks';
COMMENT ON FUNCTION logsvc_internal.breach_checks() IS
'Which checks for breached passwords are active: bundled, file, url';

CREATE OR REPLACE FUNCTION logsvc_internal.check_password(password text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	problems text[] := '{}';
	-- Sorting combining marks takes the square of their number and no interrupt; what
	-- is cut off here is of a password that is too long in any case.
	same text := normalize(left(password, 1024), NFC);
BEGIN
	IF password IS NULL THEN
		PERFORM logsvc_internal.invalid('password', 'is required', 'required');
	END IF;
	IF length(same) < 12 THEN
		problems := problems || 'must have at least 12 characters'::text;
	END IF;
	IF length(same) > 128 THEN
		problems := problems || 'must not have more than 128 characters'::text;
	END IF;
	IF same !~ '[[:upper:]]' THEN
		problems := problems || 'must have an upper-case letter'::text;
	END IF;
	IF same !~ '[[:lower:]]' THEN
		problems := problems || 'must have a lower-case letter'::text;
	END IF;
	IF same !~ '[0-9]' THEN
		problems := problems || 'must have a digit'::text;
	END IF;
	IF problems <> '{}' THEN
		PERFORM logsvc_internal.raise_error('WEAK_PASSWORD',
			'the password ' || array_to_string(problems, ', '),
			(SELECT jsonb_agg(jsonb_build_object('path', 'password', 'code', 'weak_password',
				'message', p)) FROM unnest(problems) AS p));
	END IF;
	IF logsvc_internal.password_breached(password) THEN
		PERFORM logsvc_internal.raise_error('BREACHED_PASSWORD', NULL,
			jsonb_build_array(jsonb_build_object('path', 'password', 'code', 'breached_password',
				'message', 'is one of the passwords that are tried first, or was in a data breach; '
					'three or more words that have nothing to do with each other are long and easy to keep in mind')));
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_password(text) IS
'An error unless the password meets the rules of specification 5.3 on length, classes and breaches';

-- All passwords of a history have one salt, so that one hash is compared with
-- all of them and then stored; those of another cost have another.
CREATE OR REPLACE FUNCTION logsvc_internal.set_password(account uuid, password text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	old record;
	hash text;
	new_hash text;
BEGIN
	PERFORM logsvc_internal.check_password(password);
	-- Two changes at once would each miss the other's.
	PERFORM FROM logsvc_internal.user_account u WHERE u.id = account FOR NO KEY UPDATE;
	FOR old IN
		SELECT min(h.password_hash) AS password_hash, array_agg(h.password_hash) AS hashes
		FROM (SELECT h.password_hash, left(h.password_hash, -64) AS salt
			FROM logsvc_internal.password_history h WHERE h.user_id = account
			ORDER BY h.set_at DESC, h.id DESC LIMIT 10) AS h
		GROUP BY h.salt
	LOOP
		hash := logsvc_internal.password_hash_like(password, old.password_hash);
		IF hash = ANY (old.hashes) THEN
			PERFORM logsvc_internal.raise_error('PASSWORD_REUSED', NULL,
				jsonb_build_array(jsonb_build_object('path', 'password',
					'code', 'password_reused', 'message', 'is one of the last 10')));
		END IF;
		IF NOT logsvc_internal.password_outdated(hash) THEN
			new_hash := hash;
		END IF;
	END LOOP;
	new_hash := coalesce(new_hash, logsvc_internal.password_hash(password));
	UPDATE logsvc_internal.user_account u SET password_hash = new_hash WHERE u.id = account;
	PERFORM logsvc_internal.remember_password(account, new_hash);
END
$$;
COMMENT ON FUNCTION logsvc_internal.set_password(uuid, text) IS
'Gives a user another password, when it meets the rules and is none of the last ten';

CREATE OR REPLACE FUNCTION logsvc_internal.remember_password(account uuid, hash text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	INSERT INTO logsvc_internal.password_history (user_id, password_hash) VALUES (account, hash);
	DELETE FROM logsvc_internal.password_history h
	WHERE h.user_id = account AND h.id NOT IN (SELECT n.id
		FROM logsvc_internal.password_history n WHERE n.user_id = account
		ORDER BY n.set_at DESC, n.id DESC LIMIT 10);
END
$$;
COMMENT ON FUNCTION logsvc_internal.remember_password(uuid, text) IS
'Adds a password to the history of a user, which has ten';

-- The password is right and its hash is of another cost.
CREATE OR REPLACE FUNCTION logsvc_internal.rehash_password(account uuid, password text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	old_hash text;
	new_hash text := logsvc_internal.password_hash(password);
BEGIN
	SELECT u.password_hash INTO old_hash FROM logsvc_internal.user_account u
	WHERE u.id = account FOR NO KEY UPDATE;
	IF NOT logsvc_internal.password_outdated(old_hash) THEN
		RETURN; -- by another sign-in
	END IF;
	UPDATE logsvc_internal.user_account u SET password_hash = new_hash WHERE u.id = account;
	UPDATE logsvc_internal.password_history h SET password_hash = new_hash
	WHERE h.user_id = account AND h.password_hash = old_hash;
END
$$;
COMMENT ON FUNCTION logsvc_internal.rehash_password(uuid, text) IS
'Hashes the password of a user anew, with the present cost';

-- ---- addresses ----

CREATE OR REPLACE FUNCTION logsvc_internal.check_email(email text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	email := lower(btrim(email));
	IF NOT logsvc_internal.is_mail_address(email) THEN
		PERFORM logsvc_internal.invalid('email', 'must be an e-mail address');
	END IF;
	RETURN email;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_email(text) IS
'An e-mail address as it is stored: lower case, without blanks around';

-- Somebody else may be the one who asks for them.
CREATE OR REPLACE FUNCTION logsvc_internal.may_mail(email text, template text) RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN (SELECT count(*) < 5 FROM logsvc_internal.outbox o
	WHERE o.recipient = email AND o.template = may_mail.template
		AND o.created_at > clock_timestamp() - interval '1 hour');
COMMENT ON FUNCTION logsvc_internal.may_mail(text, text) IS
'Has the address got less than five mails of that template within an hour?';

-- ---- links that work once ----

CREATE OR REPLACE FUNCTION logsvc_internal.mail_link(
	account logsvc_internal.user_account, purpose text, path text, life interval,
	name text DEFAULT NULL, password_hash text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	token text := logsvc_internal.new_secret('', 43);
	expires timestamptz := now() + life;
BEGIN
	IF NOT logsvc_internal.may_mail(account.email, purpose) THEN
		RETURN;
	END IF;
	-- Kept for some days, so that an old link is told from no link.
	DELETE FROM logsvc_internal.one_time_link l
	WHERE l.user_id = account.id AND l.expires_at < now() - interval '7 days';
	INSERT INTO logsvc_internal.one_time_link AS l
		(token_hash, purpose, user_id, expires_at, name, password_hash)
	VALUES (logsvc_internal.secret_hash(token), mail_link.purpose, account.id, expires,
		mail_link.name, mail_link.password_hash);
	PERFORM logsvc_internal.send_mail(NULL, account.email, purpose, jsonb_build_object(
		'link', logsvc_internal.public_link(path, token), 'expires', expires));
END
$$;
COMMENT ON FUNCTION logsvc_internal.mail_link(
	logsvc_internal.user_account, text, text, interval, text, text) IS
'Sends a user a link that works once; purpose: also the template of the mail';

-- The row is locked: of several uses at once the first one wins, and the others
-- see that it has.
CREATE OR REPLACE FUNCTION logsvc_internal.open_link(token text, purpose text)
RETURNS logsvc_internal.one_time_link
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	link logsvc_internal.one_time_link;
BEGIN
	IF coalesce(token, '') = '' THEN
		PERFORM logsvc_internal.invalid('token', 'is required', 'required');
	END IF;
	SELECT l.* INTO link FROM logsvc_internal.one_time_link l
	WHERE l.token_hash = logsvc_internal.secret_hash(token) AND l.purpose = open_link.purpose
	FOR UPDATE;
	IF link.used_at IS NOT NULL THEN
		PERFORM logsvc_internal.raise_error('LINK_USED');
	ELSIF link.token_hash IS NULL OR link.expires_at <= clock_timestamp() THEN
		PERFORM logsvc_internal.raise_error('LINK_EXPIRED');
	END IF;
	UPDATE logsvc_internal.one_time_link l SET used_at = now()
	WHERE l.token_hash = link.token_hash;
	-- What was sent for the same purpose before is void now.
	UPDATE logsvc_internal.one_time_link l SET expires_at = least(l.expires_at, now())
	WHERE l.user_id = link.user_id AND l.purpose = open_link.purpose AND l.used_at IS NULL;
	RETURN link;
END
$$;
COMMENT ON FUNCTION logsvc_internal.open_link(text, text) IS
'Uses a link, whose row is locked until the end of the transaction; LINK_USED, LINK_EXPIRED (also for one that never was)';

-- ---- audit ----

CREATE OR REPLACE FUNCTION logsvc_internal.audit_user(
	account uuid, email text, action text, details jsonb DEFAULT '{}')
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	resource text := coalesce(logsvc_internal.public_id('usr_', account), email);
	place uuid;
BEGIN
	FOR place IN
		SELECT m.organization_id FROM logsvc_internal.member m
		JOIN logsvc_internal.organization o ON o.id = m.organization_id
		WHERE m.user_id = account AND o.deleted_at IS NULL
		ORDER BY m.organization_id
	LOOP
		PERFORM logsvc_internal.audit(place, action, resource, details, email);
	END LOOP;
	IF place IS NULL THEN
		PERFORM logsvc_internal.audit(NULL, action, resource, details, email);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.audit_user(uuid, text, text, jsonb) IS
'Audits what a user did in each of the user''s organizations; in none or without an account: in the operator log';

-- ---- sessions ----

-- Only servers that nobody else reaches do without Secure.  By https the name begins with __Host-, so that a browser
-- takes the cookie from this host only (ls_cookie_name looks for the same).
CREATE OR REPLACE FUNCTION logsvc_internal.cookie(name text, value text, seconds int) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
		WHEN current_setting('logsvc.public_url') ~* '^https:' THEN '__Host-'
		WHEN current_setting('logsvc.public_url') = ''
			AND current_setting('logsvc.tls_certificate') <> '' THEN '__Host-'
		ELSE '' END || name || '=' || value || '; Path=/; Max-Age=' || seconds::text
	|| '; HttpOnly; SameSite=Lax' || CASE
		WHEN current_setting('logsvc.public_url') ~* '^http:' THEN ''
		WHEN current_setting('logsvc.public_url') = ''
			AND current_setting('logsvc.tls_certificate') = ''
			AND coalesce(current_setting('logsvc.listen_addresses', true), '')
				~ '^[ ,]*((localhost|127[0-9.]*|::1)[ ,]*)*$' THEN ''
		ELSE '; Secure' END;
COMMENT ON FUNCTION logsvc_internal.cookie(text, text, int) IS
'A Set-Cookie header';

CREATE OR REPLACE FUNCTION logsvc_internal.session_cookie(secret text, seconds int) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN logsvc_internal.cookie('logsvc_session', secret, seconds);
COMMENT ON FUNCTION logsvc_internal.session_cookie(text, int) IS
'The Set-Cookie header of a session';

CREATE OR REPLACE FUNCTION logsvc_internal.session_json(
	account uuid, expires_at timestamptz, provider text)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT jsonb_build_object(
		'user', logsvc_internal.user_json(u),
		'organizations', coalesce((
			SELECT jsonb_agg(jsonb_build_object(
				'id', logsvc_internal.public_id('org_', o.id), 'slug', o.slug, 'name', o.name,
				'role', m.role, 'plan', o.plan, 'timezone', o.timezone,
				'signInAllowed', logsvc_internal.provider_allowed(
					session_json.provider, o.oauth_providers),
				'permissions', coalesce((SELECT jsonb_agg(p.permission ORDER BY p.permission)
					FROM logsvc_internal.permissions() p
					WHERE logsvc_internal.provider_allowed(
							session_json.provider, o.oauth_providers)
						AND CASE m.role WHEN 'owner' THEN p.owner WHEN 'admin' THEN p.admin
							WHEN 'member' THEN p.member ELSE p.viewer END), '[]'))
				ORDER BY o.name, o.id)
			FROM logsvc_internal.member m
			JOIN logsvc_internal.organization o ON o.id = m.organization_id
			WHERE m.user_id = u.id AND o.deleted_at IS NULL), '[]'),
		'provider', session_json.provider,
		'expiresAt', logsvc_internal.iso_time(session_json.expires_at))
	FROM logsvc_internal.user_account u WHERE u.id = account;
END;
COMMENT ON FUNCTION logsvc_internal.session_json(uuid, timestamptz, text) IS
'A session as its front end sees it: the user, what he or she may do in which organizations, who signed in, the end';

-- A session for whoever has proven to be that user.  Used by every way to sign in.
CREATE OR REPLACE FUNCTION logsvc_internal.begin_session(
	account uuid, action text, provider text DEFAULT NULL, details jsonb DEFAULT '{}')
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	secret text := logsvc_internal.new_secret('', 43);
	session logsvc_internal.user_session;
	email text := (SELECT u.email FROM logsvc_internal.user_account u WHERE u.id = account);
BEGIN
	-- A DELETE of nothing would empty the caches of all processes.
	IF EXISTS (SELECT FROM logsvc_internal.user_session s
		WHERE s.user_id = account AND s.expires_at < now()) THEN
		DELETE FROM logsvc_internal.user_session s
		WHERE s.user_id = account AND s.expires_at < now();
	END IF;
	INSERT INTO logsvc_internal.user_session AS s
		(user_id, token_hash, expires_at, address, user_agent, provider)
	VALUES (account, logsvc_internal.secret_hash(secret), now() + interval '7 days',
		host(logsvc_internal.request_address()), logsvc_internal.request_user_agent(),
		begin_session.provider)
	RETURNING * INTO session;
	PERFORM logsvc_internal.audit_user(account, email, action, details
		|| jsonb_build_object('session', logsvc_internal.public_id('ses_', session.id)));
	-- The cookie lives as long as a session can; its end is the server's business.
	RETURN logsvc_internal.respond(200,
		jsonb_build_object('data',
			logsvc_internal.session_json(account, session.expires_at, provider)),
		jsonb_build_object('Set-Cookie',
			logsvc_internal.session_cookie(secret, 30 * 86400), 'Cache-Control', 'no-store'));
END
$$;
COMMENT ON FUNCTION logsvc_internal.begin_session(uuid, text, text, jsonb) IS
'Begins a session of a user: the answer with its cookie; action, details: how, for the audit log; provider: who signed the user in';

CREATE OR REPLACE FUNCTION logsvc_internal.end_sessions(account uuid, but uuid DEFAULT NULL)
RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	ended int;
BEGIN
	DELETE FROM logsvc_internal.user_session s
	WHERE s.user_id = account AND s.id IS DISTINCT FROM but;
	GET DIAGNOSTICS ended = ROW_COUNT;
	RETURN ended;
END
$$;
COMMENT ON FUNCTION logsvc_internal.end_sessions(uuid, uuid) IS
'Ends the sessions of a user, but for one; returns how many';

-- ---- for operators ----

CREATE OR REPLACE FUNCTION logsvc_internal.find_user(email text) RETURNS logsvc_internal.user_account
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
BEGIN
	SELECT u.* INTO account FROM logsvc_internal.user_account u
	WHERE u.email = lower(btrim(find_user.email));
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such user');
	END IF;
	RETURN account;
END
$$;
COMMENT ON FUNCTION logsvc_internal.find_user(text) IS 'The user with that e-mail address';

CREATE OR REPLACE FUNCTION logsvc.create_user(
	email text, name text DEFAULT NULL, password text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	created logsvc_internal.user_account;
BEGIN
	PERFORM logsvc_internal.require_operator();
	email := logsvc_internal.check_email(email);
	IF name IS NOT NULL THEN
		name := logsvc_internal.check_name('name', name);
	END IF;
	INSERT INTO logsvc_internal.user_account AS u (email, name, verified_at)
	VALUES (create_user.email, create_user.name, now())
	ON CONFLICT ON CONSTRAINT user_account_email_key DO NOTHING
	RETURNING * INTO created;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS',
			'a user with this e-mail address exists already');
	END IF;
	IF password IS NOT NULL THEN
		PERFORM logsvc_internal.set_password(created.id, password);
	END IF;
	PERFORM logsvc_internal.audit(NULL, 'user.created',
		logsvc_internal.public_id('usr_', created.id), jsonb_build_object('email', created.email));
	RETURN logsvc_internal.user_json(created);
END
$$;
COMMENT ON FUNCTION logsvc.create_user(text, text, text) IS
'Operators: creates a user, whose address counts as verified';

CREATE OR REPLACE FUNCTION logsvc.set_password(email text, password text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
BEGIN
	PERFORM logsvc_internal.require_operator();
	account := logsvc_internal.find_user(email);
	PERFORM logsvc_internal.set_password(account.id, password);
	PERFORM logsvc_internal.end_sessions(account.id);
	PERFORM logsvc_internal.audit_user(account.id, NULL, 'user.password_reset',
		'{"by": "operator"}');
	RETURN logsvc_internal.user_json(account);
END
$$;
COMMENT ON FUNCTION logsvc.set_password(text, text) IS
'Operators: gives a user another password and ends the user''s sessions; the rules hold';

CREATE OR REPLACE FUNCTION logsvc.verify_user(email text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
BEGIN
	PERFORM logsvc_internal.require_operator();
	account := logsvc_internal.find_user(email);
	IF account.verified_at IS NULL THEN
		UPDATE logsvc_internal.user_account u SET verified_at = now() WHERE u.id = account.id
		RETURNING * INTO account;
		IF account.password_hash IS NOT NULL THEN
			PERFORM logsvc_internal.remember_password(account.id, account.password_hash);
		END IF;
		PERFORM logsvc_internal.audit_user(account.id, NULL, 'user.email_verified',
			'{"by": "operator"}');
	END IF;
	RETURN logsvc_internal.user_json(account);
END
$$;
COMMENT ON FUNCTION logsvc.verify_user(text) IS
'Operators: from now on the user''s address counts as verified';

CREATE OR REPLACE FUNCTION logsvc.end_sessions(email text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_operator();
	RETURN jsonb_build_object('ended',
		logsvc_internal.end_sessions((logsvc_internal.find_user(email)).id));
END
$$;
COMMENT ON FUNCTION logsvc.end_sessions(text) IS
'Operators: ends all sessions of a user, at once';

CREATE OR REPLACE FUNCTION logsvc.delete_user(email text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
	place uuid;
BEGIN
	PERFORM logsvc_internal.require_operator();
	account := logsvc_internal.find_user(email);
	FOR place IN
		SELECT m.organization_id FROM logsvc_internal.member m
		JOIN logsvc_internal.organization o ON o.id = m.organization_id
		WHERE m.user_id = account.id AND o.deleted_at IS NULL
		ORDER BY m.organization_id
	LOOP
		PERFORM logsvc_internal.lock_organization(place);
		PERFORM logsvc_internal.check_last_owner(m) FROM logsvc_internal.member m
		WHERE m.organization_id = place AND m.user_id = account.id;
	END LOOP;
	PERFORM logsvc_internal.audit_user(account.id, NULL, 'user.deleted');
	DELETE FROM logsvc_internal.user_account u WHERE u.id = account.id;
	RETURN logsvc_internal.user_json(account);
END
$$;
COMMENT ON FUNCTION logsvc.delete_user(text) IS
'Operators: erases a user with memberships, tokens and sessions; not the last owner of an organization';
-- API keys and personal access tokens as the REST API lists them.

CREATE OR REPLACE FUNCTION logsvc.list_api_keys(
	organization text DEFAULT NULL, "limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	cursor_scope text := logsvc_internal.list_scope('api-keys', target);
	size int := logsvc_internal.page_limit("limit");
	after uuid := logsvc_internal.open_position(cursor_scope, cursor)::uuid;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'keys:manage');
	RETURN (SELECT logsvc_internal.page(array_agg(logsvc_internal.api_key_json(k) ORDER BY k.id),
			array_agg(k.id::text ORDER BY k.id), size, cursor_scope)
		FROM (SELECT * FROM logsvc_internal.api_key
			WHERE organization_id = target AND (after IS NULL OR id > after)
			ORDER BY id LIMIT size + 1) AS k);
END
$$;
COMMENT ON FUNCTION logsvc.list_api_keys(text, int, text) IS
'The API keys of an organization, revoked ones too, without the keys themselves';

CREATE OR REPLACE FUNCTION logsvc.list_tokens("limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(NULL);
	account uuid := logsvc_internal.current_user_id();
	cursor_scope text := logsvc_internal.list_scope('tokens', target, account::text);
	size int := logsvc_internal.page_limit("limit");
	after uuid := logsvc_internal.open_position(cursor_scope, cursor)::uuid;
BEGIN
	IF logsvc_internal.current_kind() <> 'user' THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'only a person has tokens');
	END IF;
	RETURN (SELECT logsvc_internal.page(array_agg(logsvc_internal.token_json(t) ORDER BY t.id),
			array_agg(t.id::text ORDER BY t.id), size, cursor_scope)
		FROM (SELECT * FROM logsvc_internal.access_token
			WHERE organization_id = target AND user_id = account AND (after IS NULL OR id > after)
			ORDER BY id LIMIT size + 1) AS t);
END
$$;
COMMENT ON FUNCTION logsvc.list_tokens(int, text) IS
'The tokens of the session''s user in the organization, revoked ones too';

CREATE OR REPLACE FUNCTION logsvc.create_own_token(
	name text, scopes text[], expires_at timestamptz DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	address text;
BEGIN
	SELECT u.email INTO address FROM logsvc_internal.user_account u
	WHERE u.id = logsvc_internal.current_user_id();
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'only a person has tokens');
	END IF;
	RETURN logsvc.create_token(NULL, address, name, scopes, expires_at);
END
$$;
COMMENT ON FUNCTION logsvc.create_own_token(text, text[], timestamptz) IS
'Creates a token of the session''s user; the token is shown this once';
-- Scheduled tasks.

-- Runs the tasks that are due.  Each function is told the time, so that tests
-- can tell it another one.  One that fails undoes its own work only, and is
-- tried again after a minute.  A clock that was set back makes all due.  One that
-- waits for a row that some session has locked fails too: the others come after it.
CREATE FUNCTION logsvc_internal.run_scheduled(at timestamptz DEFAULT clock_timestamp())
RETURNS TABLE (task text, failure text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s'
AS $$
DECLARE
  t logsvc_internal.scheduled_task;
BEGIN
  FOR t IN
    SELECT * FROM logsvc_internal.scheduled_task s
     WHERE s.next_run_at <= at OR s.last_run_at > at
     ORDER BY s.name FOR UPDATE SKIP LOCKED
  LOOP
    task := t.name;
    failure := NULL;
    BEGIN
      EXECUTE format('SELECT logsvc_internal.%I($1)', t.name) USING at;
      UPDATE logsvc_internal.scheduled_task s
         SET next_run_at = (date_trunc(t.period, at AT TIME ZONE 'UTC')
                            + ('1 ' || t.period)::interval) AT TIME ZONE 'UTC',
             last_run_at = at, failures = 0
       WHERE s.name = t.name;
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS failure = RETURNED_SQLSTATE;
      UPDATE logsvc_internal.scheduled_task s
         SET next_run_at = at + interval '1 minute', last_run_at = at, failures = s.failures + 1
       WHERE s.name = t.name;
    END;
    RETURN NEXT;
  END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.run_scheduled(timestamptz) IS
  'runs the scheduled tasks that are due at that time; failure: null, or its SQLSTATE';
-- Signing up, in and out: what the routes under /api/v1/auth call.
--
-- Neither an answer nor its time tells whether an address has an account: what
-- is done for known addresses only is put into account_work, by the same INSERT
-- for all, and done after the answer.

-- ---- requests ----

-- These functions are limited by the address of an HTTP client; SQL callers
-- would go around that.
CREATE OR REPLACE FUNCTION logsvc_internal.require_request() RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF logsvc_internal.request_id() IS NULL AND NOT logsvc_internal.is_operator() THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN', 'this is for HTTP requests only');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_request() IS
'An error outside of HTTP requests, but for operators';

CREATE OR REPLACE FUNCTION logsvc_internal.require_user() RETURNS uuid
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF logsvc_internal.current_kind() <> 'user' THEN
		PERFORM logsvc_internal.raise_error('UNAUTHORIZED', 'a session is required');
	END IF;
	RETURN logsvc_internal.current_user_id();
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_user() IS
'The user of the session; an error for tokens, keys and operators';

CREATE OR REPLACE FUNCTION logsvc_internal.find_error(
	name text, OUT status int, OUT code text, OUT message text)
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_find_error';
COMMENT ON FUNCTION logsvc_internal.find_error(text) IS
'The HTTP status, code and message of an error of errors.def by its name';

CREATE OR REPLACE FUNCTION logsvc_internal.refuse(error text) RETURNS logsvc_internal.http_response
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT logsvc_internal.respond(e.status, jsonb_build_object('error', e.message, 'code', e.code))
	FROM logsvc_internal.find_error(error) e;
END;
COMMENT ON FUNCTION logsvc_internal.refuse(text) IS
'The answer that an error gives, without raising it: what the transaction did stays';

-- Two cookies of a name with different values are none, as in C.
CREATE OR REPLACE FUNCTION logsvc_internal.request_cookie(name text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
RETURN (SELECT CASE WHEN count(DISTINCT c.found[1]) = 1 THEN min(c.found[1]) END
	FROM regexp_matches(logsvc_internal.request_header('cookie'),
		'(?:^|; *)(?:__Host-)?' || name || '=([0-9A-Za-z]{43})(?=;|$)', 'g') AS c (found));
COMMENT ON FUNCTION logsvc_internal.request_cookie(text) IS
'The secret in a cookie of the request; NULL without one';

-- ---- tries ----

CREATE OR REPLACE FUNCTION logsvc_internal.take_rate(class text, key text) RETURNS int
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_take_rate';
COMMENT ON FUNCTION logsvc_internal.take_rate(text, text) IS
'Counts one use of a key in a rate class: 0, or in how many seconds one fits';

CREATE OR REPLACE FUNCTION logsvc_internal.known_device(email text) RETURNS bytea
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
RETURN (SELECT d.token_hash FROM logsvc_internal.known_device d
	JOIN logsvc_internal.user_account u ON u.id = d.user_id
	WHERE d.token_hash = logsvc_internal.secret_hash(
			logsvc_internal.request_cookie('logsvc_device'))
		AND u.email = known_device.email);
COMMENT ON FUNCTION logsvc_internal.known_device(text) IS
'The browser of the request, if the account of that address has been signed in to there';

-- An address is tried so often a minute, from wherever, and whether it has an
-- account or not.  Somebody could use that to keep the owner out; so a browser in
-- which the owner has been before has a window of its own, and a place to hash that
-- strangers cannot take.  All browsers of an account together have that place five times a
-- minute: one account, with as many browsers as it likes, cannot fill it.
CREATE OR REPLACE FUNCTION logsvc_internal.check_sign_in_rate(email text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	device bytea := logsvc_internal.known_device(email);
	wait int := logsvc_internal.take_rate('sign_in', coalesce(
		'device ' || encode(device, 'hex'), 'address ' || email));
BEGIN
	IF wait > 0 THEN
		PERFORM logsvc_internal.raise_error('RATE_LIMIT_EXCEEDED',
			format('too many attempts to sign in with this e-mail address (rate class sign_in): try again in '
				'%s seconds, or set a new password by mail', wait),
			hint => format('Try again in %s seconds.', wait));
	END IF;
	IF device IS NOT NULL AND logsvc_internal.take_rate('sign_in', 'place ' || email) = 0 THEN
		PERFORM logsvc_internal.prefer_password();
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_sign_in_rate(text) IS
'An error when an address, or the known browser of the request, has had its tries of the minute; a known browser is preferred';

CREATE OR REPLACE FUNCTION logsvc_internal.remember_device(account uuid) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	secret text := logsvc_internal.new_secret('', 43);
BEGIN
	UPDATE logsvc_internal.known_device d SET last_used_at = now()
	WHERE d.user_id = account AND d.token_hash = logsvc_internal.secret_hash(
		logsvc_internal.request_cookie('logsvc_device'));
	IF FOUND THEN
		RETURN '[]';
	END IF;
	INSERT INTO logsvc_internal.known_device (token_hash, user_id)
	VALUES (logsvc_internal.secret_hash(secret), account);
	DELETE FROM logsvc_internal.known_device d
	WHERE d.user_id = account AND d.token_hash NOT IN (SELECT n.token_hash
		FROM logsvc_internal.known_device n WHERE n.user_id = account
		ORDER BY n.last_used_at DESC, n.token_hash LIMIT 20);
	RETURN jsonb_build_array(
		logsvc_internal.cookie('logsvc_device', secret, 180 * 86400));
END
$$;
COMMENT ON FUNCTION logsvc_internal.remember_device(uuid) IS
'Knows the browser of the request from now on as one of the user''s: the Set-Cookie headers for it, none when it is known';

-- ---- work after the answer ----

CREATE OR REPLACE FUNCTION logsvc_internal.account_work_added() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_account_work_added';
COMMENT ON FUNCTION logsvc_internal.account_work_added() IS
'Tells this worker that there is account_work to do after its answer';

CREATE OR REPLACE FUNCTION logsvc_internal.act_for_request(address text, user_agent text)
RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_act_for_request';
COMMENT ON FUNCTION logsvc_internal.act_for_request(text, text) IS
'Until the end of the work, request_address() and request_user_agent() are these; both NULL: of no request';

CREATE OR REPLACE FUNCTION logsvc_internal.add_account_work(
	kind text, email text, name text DEFAULT NULL, password_hash text DEFAULT NULL,
	reason text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	-- Not at once, when the processor has the answer to carry out; and by chance,
	-- so that the next request cannot tell either.
	INSERT INTO logsvc_internal.account_work
		(kind, email, name, password_hash, reason, address, user_agent, next_attempt_at)
	VALUES (kind, email, name, password_hash, reason,
		host(logsvc_internal.request_address()), logsvc_internal.request_user_agent(),
		clock_timestamp() + interval '20 milliseconds' * (1 + random()));
	PERFORM logsvc_internal.account_work_added();
END
$$;
COMMENT ON FUNCTION logsvc_internal.add_account_work(text, text, text, text, text) IS
'Notes what is to be done about an address when the answer is out';

CREATE OR REPLACE FUNCTION logsvc_internal.work_sign_up(w logsvc_internal.account_work)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
BEGIN
	INSERT INTO logsvc_internal.user_account AS u (email, name, password_hash)
	VALUES (w.email, w.name, w.password_hash)
	ON CONFLICT ON CONSTRAINT user_account_email_key DO NOTHING;
	SELECT u.* INTO account FROM logsvc_internal.user_account u
	WHERE u.email = w.email FOR NO KEY UPDATE;
	IF account.verified_at IS NOT NULL THEN
		IF logsvc_internal.may_mail(w.email, 'account_exists') THEN
			PERFORM logsvc_internal.send_mail(NULL, w.email, 'account_exists',
				jsonb_build_object('link', logsvc_internal.public_link('/forgot-password', NULL)));
		END IF;
	ELSIF logsvc_internal.may_mail(w.email, 'verify_email') THEN
		-- Each link confirms its own sign-up: who opens the one he or she asked
		-- for does not confirm a password that somebody else has chosen.
		UPDATE logsvc_internal.user_account u
		SET name = w.name, password_hash = w.password_hash WHERE u.id = account.id;
		PERFORM logsvc_internal.mail_link(account, 'verify_email', '/verify-email',
			interval '24 hours', w.name, w.password_hash);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.work_sign_up(logsvc_internal.account_work) IS
'An account that waits for its confirmation, or a mail that there is one already';

CREATE OR REPLACE FUNCTION logsvc_internal.work_on(w logsvc_internal.account_work) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
BEGIN
	IF w.kind = 'sign_up' THEN
		PERFORM logsvc_internal.work_sign_up(w);
		RETURN;
	END IF;
	SELECT u.* INTO account FROM logsvc_internal.user_account u WHERE u.email = w.email;
	IF w.kind = 'login_failed' THEN
		PERFORM logsvc_internal.audit_user(account.id, w.email, 'user.login_failed',
			jsonb_build_object('reason', w.reason));
	ELSIF account.id IS NULL THEN
		NULL; -- nobody to write to
	ELSIF w.kind = 'forgot_password' THEN
		PERFORM logsvc_internal.mail_link(account, 'reset_password', '/reset-password',
			interval '1 hour');
	ELSIF w.kind = 'resend_verification' AND account.verified_at IS NULL
		AND EXISTS (SELECT FROM logsvc_internal.one_time_link l
			WHERE l.user_id = account.id AND l.purpose = 'verify_email' AND l.expires_at > now()
				AND l.password_hash IS DISTINCT FROM account.password_hash) THEN
		-- More than one has signed up with the address.  Whose password would this one
		-- confirm?  The owner of the address chooses a new one, which confirms it too.
		PERFORM logsvc_internal.mail_link(account, 'reset_password', '/reset-password',
			interval '1 hour');
	ELSIF w.kind = 'resend_verification' AND account.verified_at IS NULL THEN
		PERFORM logsvc_internal.mail_link(account, 'verify_email', '/verify-email',
			interval '24 hours', account.name, account.password_hash);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.work_on(logsvc_internal.account_work) IS
'Does what was noted about an address';

CREATE OR REPLACE FUNCTION logsvc_internal.do_account_work() RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	w logsvc_internal.account_work;
	state text;
	again boolean := false;
BEGIN
	SELECT * INTO w FROM logsvc_internal.account_work
	WHERE next_attempt_at <= clock_timestamp()
	ORDER BY next_attempt_at, id LIMIT 1
	FOR UPDATE SKIP LOCKED;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM logsvc_internal.act_for_request(w.address, w.user_agent);
	BEGIN
		PERFORM logsvc_internal.work_on(w);
	EXCEPTION WHEN OTHERS THEN
		-- Neither the message nor the address: the log is not for them.
		GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE;
		RAISE LOG 'logsvc: work "%" about an account failed with SQLSTATE %', w.kind, state;
		UPDATE logsvc_internal.account_work
		SET attempts = attempts + 1, next_attempt_at = now() + interval '1 minute' * 2 ^ attempts
		WHERE id = w.id AND attempts < 5;
		again := FOUND;
	END;
	PERFORM logsvc_internal.act_for_request(NULL, NULL);
	IF NOT again THEN
		DELETE FROM logsvc_internal.account_work WHERE id = w.id;
	END IF;
	RETURN true;
END
$$;
COMMENT ON FUNCTION logsvc_internal.do_account_work() IS
'Does one piece of account_work; false when there is none.  What fails is tried again five times';

CREATE OR REPLACE FUNCTION logsvc_internal.finish_account_work(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	FOR i IN 1 .. 100 LOOP
		EXIT WHEN NOT EXISTS (SELECT FROM logsvc_internal.account_work w
			WHERE w.next_attempt_at < at - interval '10 seconds')
			OR NOT logsvc_internal.do_account_work();
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.finish_account_work(timestamptz) IS
'Scheduled: does account_work that no worker has done';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_accounts(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	-- A DELETE of nothing would empty the caches of all processes.
	IF EXISTS (SELECT FROM logsvc_internal.user_session s WHERE s.expires_at < at) THEN
		DELETE FROM logsvc_internal.user_session s WHERE s.expires_at < at;
	END IF;
	DELETE FROM logsvc_internal.one_time_link l WHERE l.expires_at < at - interval '7 days';
	DELETE FROM logsvc_internal.known_device d WHERE d.last_used_at < at - interval '180 days';
	IF EXISTS (SELECT FROM logsvc_internal.user_account u
		WHERE u.verified_at IS NULL AND u.created_at < at - interval '7 days') THEN
		DELETE FROM logsvc_internal.user_account u
		WHERE u.verified_at IS NULL AND u.created_at < at - interval '7 days'
			AND NOT EXISTS (SELECT FROM logsvc_internal.member m WHERE m.user_id = u.id)
			AND NOT EXISTS (SELECT FROM logsvc_internal.one_time_link l
				WHERE l.user_id = u.id AND l.expires_at > at);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.purge_accounts(timestamptz) IS
'Scheduled: erases sessions that are over, old links, browsers not used for 180 days, and sign-ups that nobody has confirmed for seven days';

-- ---- routes ----

CREATE OR REPLACE FUNCTION logsvc_internal.auth_sign_up(
	email text, password text, name text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_request();
	IF NOT current_setting('logsvc.sign_up')::boolean THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN', 'sign-up is closed; ask for an invitation');
	END IF;
	email := logsvc_internal.check_email(email);
	IF name IS NOT NULL THEN
		name := logsvc_internal.check_name('name', name);
	END IF;
	PERFORM logsvc_internal.check_password(password);
	PERFORM logsvc_internal.add_account_work('sign_up', email, name,
		logsvc_internal.password_hash(password));
	RETURN '{"data": {"status": "accepted"}}';
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_sign_up(text, text, text) IS
'Signs up; what follows comes by mail, whether there is an account or not';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_resend_verification(email text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_request();
	PERFORM logsvc_internal.add_account_work('resend_verification',
		logsvc_internal.check_email(email));
	RETURN '{"data": {"status": "accepted"}}';
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_resend_verification(text) IS
'Sends the mail with the confirmation link again';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_verify_email(token text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	link logsvc_internal.one_time_link;
	account logsvc_internal.user_account;
BEGIN
	PERFORM logsvc_internal.require_request();
	link := logsvc_internal.open_link(token, 'verify_email');
	UPDATE logsvc_internal.user_account u
	SET verified_at = now(), name = coalesce(link.name, u.name),
		password_hash = coalesce(link.password_hash, u.password_hash)
	WHERE u.id = link.user_id AND u.verified_at IS NULL
	RETURNING * INTO account;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('LINK_EXPIRED'); -- verified otherwise meanwhile
	END IF;
	IF account.password_hash IS NOT NULL THEN
		PERFORM logsvc_internal.remember_password(account.id, account.password_hash);
	END IF;
	PERFORM logsvc_internal.audit_user(account.id, account.email, 'user.email_verified');
	RETURN jsonb_build_object('data',
		jsonb_build_object('user', logsvc_internal.user_json(account)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_verify_email(text) IS
'Confirms an address with the token of a mail';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_sign_in(email text, password text)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
	answer logsvc_internal.http_response;
BEGIN
	PERFORM logsvc_internal.require_request();
	email := logsvc_internal.check_email(email);
	IF password IS NULL THEN
		PERFORM logsvc_internal.invalid('password', 'is required', 'required');
	END IF;
	PERFORM logsvc_internal.check_sign_in_rate(email);
	SELECT u.* INTO account FROM logsvc_internal.user_account u
	WHERE u.email = auth_sign_in.email;
	IF NOT logsvc_internal.password_matches(password, account.password_hash) THEN
		PERFORM logsvc_internal.add_account_work('login_failed', email,
			reason => 'invalid_credentials');
		RETURN logsvc_internal.refuse('INVALID_CREDENTIALS');
	END IF;
	IF account.verified_at IS NULL THEN
		PERFORM logsvc_internal.add_account_work('login_failed', email,
			reason => 'email_not_verified');
		RETURN logsvc_internal.refuse('EMAIL_NOT_VERIFIED');
	END IF;
	IF logsvc_internal.password_outdated(account.password_hash) THEN
		PERFORM logsvc_internal.rehash_password(account.id, password);
	END IF;
	answer := logsvc_internal.begin_session(account.id, 'user.login');
	answer.headers := jsonb_set(answer.headers, '{Set-Cookie}',
		jsonb_build_array(answer.headers -> 'Set-Cookie')
			|| logsvc_internal.remember_device(account.id));
	RETURN answer;
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_sign_in(text, text) IS
'Begins a session; one answer for a wrong password and for no account';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_sign_out("all" boolean DEFAULT false)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account uuid := logsvc_internal.require_user();
	session uuid := logsvc_internal.current_credential();
BEGIN
	DELETE FROM logsvc_internal.user_session s
	WHERE s.user_id = account AND (s.id = session OR auth_sign_out."all");
	RETURN logsvc_internal.respond(204, NULL,
		jsonb_build_object('Set-Cookie', logsvc_internal.session_cookie('', 0)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_sign_out(boolean) IS
'Ends the session, or all of the user';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_session() RETURNS logsvc_internal.http_response
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account uuid := logsvc_internal.require_user();
	session uuid := logsvc_internal.current_credential();
BEGIN
	RETURN logsvc_internal.respond(200, jsonb_build_object('data',
		(SELECT logsvc_internal.session_json(account, s.expires_at, s.provider)
			FROM logsvc_internal.user_session s WHERE s.id = session)),
		'{"Cache-Control": "no-store"}');
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_session() IS
'The user of the session, the organizations and what the user may do there';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_sessions(
	"limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account uuid := logsvc_internal.require_user();
	session uuid := logsvc_internal.current_credential();
	size int := logsvc_internal.page_limit("limit");
	scope text := logsvc_internal.list_scope('sessions', account);
	after uuid := logsvc_internal.open_position(scope, cursor)::uuid;
	items jsonb[];
	positions text[];
BEGIN
	SELECT array_agg(jsonb_build_object(
			'id', logsvc_internal.public_id('ses_', s.id),
			'current', s.id = session IS TRUE,
			'createdAt', logsvc_internal.iso_time(s.created_at),
			'lastSeenAt', logsvc_internal.iso_time(s.last_seen_at),
			'expiresAt', logsvc_internal.iso_time(s.expires_at),
			'address', s.address, 'userAgent', s.user_agent, 'provider', s.provider)
			ORDER BY s.id DESC),
		array_agg(s.id::text ORDER BY s.id DESC)
	INTO items, positions
	FROM (SELECT * FROM logsvc_internal.user_session u
		WHERE u.user_id = account AND u.expires_at > now() AND (after IS NULL OR u.id < after)
		ORDER BY u.id DESC LIMIT size + 1) AS s;
	RETURN logsvc_internal.page(items, positions, size, scope);
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_sessions(int, text) IS
'The user''s sessions, the newest first';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_end_session(id text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account uuid := logsvc_internal.require_user();
BEGIN
	DELETE FROM logsvc_internal.user_session s
	WHERE s.id = logsvc_internal.parse_public_id('ses_', auth_end_session.id)
		AND s.user_id = account;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such session');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_end_session(text) IS
'Ends one of the user''s sessions, at once';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_forgot_password(email text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_request();
	PERFORM logsvc_internal.add_account_work('forgot_password',
		logsvc_internal.check_email(email));
	RETURN '{"data": {"status": "accepted"}}';
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_forgot_password(text) IS
'Sends a link to set another password, if there is an account';

-- Whoever had the old password may have made tokens, or come in by a provider
-- since.  Tokens are in use by programs: the user says whether they end.
CREATE OR REPLACE FUNCTION logsvc_internal.revoke_access(account uuid) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	token logsvc_internal.access_token;
	revoked int := 0;
BEGIN
	FOR token IN
		UPDATE logsvc_internal.access_token t SET revoked_at = now()
		WHERE t.user_id = account AND t.revoked_at IS NULL
		RETURNING t.*
	LOOP
		revoked := revoked + 1;
		PERFORM logsvc_internal.audit(token.organization_id, 'token.revoked',
			logsvc_internal.public_id('tok_', token.id),
			jsonb_build_object('name', token.name, 'by', 'password',
				'userId', logsvc_internal.public_id('usr_', account)));
	END LOOP;
	DELETE FROM logsvc_internal.oauth_identity i WHERE i.user_id = account;
	RETURN revoked;
END
$$;
COMMENT ON FUNCTION logsvc_internal.revoke_access(uuid) IS
'Revokes all tokens of a user, in all organizations, and forgets the identities at providers; returns how many tokens';

-- The other sessions end, whoever began them, and the user hears of it.
CREATE OR REPLACE FUNCTION logsvc_internal.password_was_set(
	account logsvc_internal.user_account, session uuid, action text, revoke_tokens boolean)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	done jsonb := jsonb_build_object(
		'sessionsEnded', logsvc_internal.end_sessions(account.id, session),
		'tokensRevoked', CASE WHEN revoke_tokens
			THEN logsvc_internal.revoke_access(account.id) ELSE 0 END);
BEGIN
	UPDATE logsvc_internal.one_time_link l SET expires_at = least(l.expires_at, now())
	WHERE l.user_id = account.id AND l.used_at IS NULL;
	PERFORM logsvc_internal.audit_user(account.id, account.email, action, done);
	PERFORM logsvc_internal.send_mail(NULL, account.email, 'password_changed',
		jsonb_build_object('time', now(),
			'link', logsvc_internal.public_link('/forgot-password', NULL)));
	RETURN done;
END
$$;
COMMENT ON FUNCTION logsvc_internal.password_was_set(
	logsvc_internal.user_account, uuid, text, boolean) IS
'What follows a change of password; session: the one that goes on; returns how many sessions and tokens ended';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_reset_password(
	token text, password text, revoke_tokens boolean DEFAULT false)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	link logsvc_internal.one_time_link;
	account logsvc_internal.user_account;
	done jsonb;
BEGIN
	PERFORM logsvc_internal.require_request();
	link := logsvc_internal.open_link(token, 'reset_password');
	-- A password that is refused leaves the link as it was.
	PERFORM logsvc_internal.set_password(link.user_id, password);
	-- Who got the mail has the address.
	UPDATE logsvc_internal.user_account u SET verified_at = coalesce(u.verified_at, now())
	WHERE u.id = link.user_id
	RETURNING * INTO account;
	done := logsvc_internal.password_was_set(account, NULL, 'user.password_reset',
		coalesce(revoke_tokens, false));
	-- Who has the mail is the owner: guesses of others do not keep him or her out.
	DELETE FROM logsvc_internal.known_device d WHERE d.user_id = account.id;
	RETURN logsvc_internal.respond(200, jsonb_build_object('data', done),
		jsonb_build_object('Cache-Control', 'no-store',
			'Set-Cookie', logsvc_internal.remember_device(account.id)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_reset_password(text, text, boolean) IS
'Sets another password with the token of a mail, and ends all sessions; revoke_tokens: tokens and identities too';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_change_password(
	"current" text, password text, revoke_tokens boolean DEFAULT false)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
	session uuid := logsvc_internal.current_credential();
BEGIN
	SELECT u.* INTO account FROM logsvc_internal.user_account u
	WHERE u.id = logsvc_internal.require_user();
	IF NOT logsvc_internal.password_matches("current", account.password_hash) THEN
		PERFORM logsvc_internal.raise_error('INVALID_CREDENTIALS',
			'the current password is wrong');
	END IF;
	PERFORM logsvc_internal.set_password(account.id, password);
	RETURN jsonb_build_object('data', logsvc_internal.password_was_set(account, session,
		'user.password_changed', coalesce(revoke_tokens, false)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_change_password(text, text, boolean) IS
'Sets another password, and ends the other sessions; revoke_tokens: tokens and identities too';

CREATE OR REPLACE FUNCTION logsvc_internal.public_config() RETURNS logsvc_internal.http_response
LANGUAGE sql VOLATILE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN logsvc_internal.respond(200, jsonb_build_object('data', jsonb_build_object(
		'version', (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'logsvc'),
		'publicUrl', nullif(current_setting('logsvc.public_url'), ''),
		'signUp', current_setting('logsvc.sign_up')::boolean,
		'oauthProviders', to_jsonb(array_remove(ARRAY[
			CASE WHEN current_setting('logsvc.oauth_google_client_id') <> '' THEN 'google' END,
			CASE WHEN current_setting('logsvc.oauth_github_client_id') <> '' THEN 'github' END],
			NULL)),
		'password', jsonb_build_object('minLength', 12, 'maxLength', 128,
			'requires', '["uppercase", "lowercase", "digit"]'::jsonb, 'history', 10,
			'breachChecks', to_jsonb(logsvc_internal.breach_checks())))),
	'{"Cache-Control": "public, max-age=60"}');
COMMENT ON FUNCTION logsvc_internal.public_config() IS
'What a front end must know before anybody has signed in';

GRANT EXECUTE ON FUNCTION
	logsvc_internal.auth_sign_up(text, text, text),
	logsvc_internal.auth_resend_verification(text),
	logsvc_internal.auth_verify_email(text),
	logsvc_internal.auth_sign_in(text, text),
	logsvc_internal.auth_sign_out(boolean),
	logsvc_internal.auth_session(),
	logsvc_internal.auth_sessions(int, text),
	logsvc_internal.auth_end_session(text),
	logsvc_internal.auth_forgot_password(text),
	logsvc_internal.auth_reset_password(text, text, boolean),
	logsvc_internal.auth_change_password(text, text, boolean),
	logsvc_internal.public_config()
TO logsvc_reader;
-- The audit log: reading, exporting, verifying, and its end.

-- ---- shapes ----

CREATE OR REPLACE FUNCTION logsvc_internal.audit_json(e logsvc_internal.audit_entry) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'timestamp', logsvc_internal.iso_time(e.at), 'actor', e.actor, 'action', e.action,
	'resource', e.resource, 'resource_type', e.resource_type, 'ip_address', e.ip_address,
	'user_agent', e.user_agent, 'details', e.details);
COMMENT ON FUNCTION logsvc_internal.audit_json(logsvc_internal.audit_entry) IS
'An audit entry as the API shows it (specification 2.8)';

-- What a spreadsheet would take for a formula gets an apostrophe before it; some
-- take full-width and small signs for the usual ones.
CREATE OR REPLACE FUNCTION logsvc_internal.csv_cell(t text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '"' || CASE WHEN t ~ '^[\s\ufeff]*[=+@|\u2212\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20\uff5c-]' THEN '''' ELSE '' END
	|| replace(coalesce(t, ''), '"', '""') || '"';
COMMENT ON FUNCTION logsvc_internal.csv_cell(text) IS
'A cell of a CSV file, in quotes; one that begins like a formula gets an apostrophe';

-- ---- reading ----

CREATE OR REPLACE FUNCTION logsvc.audit_log(
	organization text DEFAULT NULL, actor text DEFAULT NULL, action text DEFAULT NULL,
	resource_type text DEFAULT NULL, "from" timestamptz DEFAULT NULL,
	"to" timestamptz DEFAULT NULL, "limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	scope text := logsvc_internal.list_scope('audit', target, actor, action, resource_type,
		"from"::text, "to"::text);
	size int := logsvc_internal.page_limit("limit");
	before bigint := logsvc_internal.open_position(scope, cursor)::bigint;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'audit:read');
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.audit_json(e) ORDER BY e.number DESC),
			array_agg(e.number::text ORDER BY e.number DESC), size, scope)
		FROM (SELECT * FROM logsvc_internal.audit_entry a
			WHERE a.organization_id = target AND a.number IS NOT NULL
				AND (before IS NULL OR a.number < before)
				AND (audit_log.actor IS NULL OR a.actor = audit_log.actor)
				AND (audit_log.action IS NULL OR a.action = audit_log.action)
				AND (audit_log.resource_type IS NULL OR a.resource_type = audit_log.resource_type)
				AND ("from" IS NULL OR a.at >= "from") AND ("to" IS NULL OR a.at < "to")
			ORDER BY a.number DESC LIMIT size + 1) AS e);
END
$$;
COMMENT ON FUNCTION logsvc.audit_log(text, text, text, text, timestamptz, timestamptz, int, text) IS
'Entries of the audit log, the latest first, a page at a time: {data, page}; from inclusive, to exclusive';

-- At most 50,000 entries and 32 MB; a header says where the next part begins.
CREATE OR REPLACE FUNCTION logsvc_internal.export_audit(
	organization text, format text DEFAULT 'ndjson', "from" timestamptz DEFAULT NULL,
	"to" timestamptz DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	most_entries CONSTANT int := 50000;
	most_bytes CONSTANT int := 32 * 1024 * 1024;
	target uuid := logsvc_internal.find_organization(organization);
	scope text := logsvc_internal.list_scope('audit export', target, "from"::text, "to"::text);
	after bigint := logsvc_internal.open_position(scope, cursor)::bigint;
	content text;
	entries bigint;
	last_number bigint;
	more boolean;
	headers jsonb;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'audit:read');
	IF format IN ('csv', 'ndjson') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('format', 'must be csv or ndjson');
	END IF;
	SELECT string_agg(c.line, '' ORDER BY c.number) FILTER (WHERE c.fits),
		count(*) FILTER (WHERE c.fits), max(c.number) FILTER (WHERE c.fits), bool_or(NOT c.fits)
	INTO content, entries, last_number, more
	FROM (SELECT l.number, l.line, l.place = 1
				OR l.place <= most_entries
					AND sum(octet_length(l.line)) OVER (ORDER BY l.number) <= most_bytes AS fits
		FROM (SELECT e.number, row_number() OVER (ORDER BY e.number) AS place,
				CASE format WHEN 'csv' THEN concat_ws(',',
						logsvc_internal.csv_cell(logsvc_internal.iso_time(e.at)),
						logsvc_internal.csv_cell(e.actor), logsvc_internal.csv_cell(e.action),
						logsvc_internal.csv_cell(e.resource),
						logsvc_internal.csv_cell(e.resource_type),
						logsvc_internal.csv_cell(e.ip_address),
						logsvc_internal.csv_cell(e.user_agent),
						logsvc_internal.csv_cell(e.details::text), e.number,
						encode(e.hash, 'hex')) || E'\r\n'
					ELSE (logsvc_internal.audit_json(e) || jsonb_build_object('number', e.number,
						'hash', encode(e.hash, 'hex')))::text || E'\n' END AS line
			FROM (SELECT * FROM logsvc_internal.audit_entry a
				WHERE a.organization_id = target AND a.number IS NOT NULL
					AND (after IS NULL OR a.number > after)
					AND ("from" IS NULL OR a.at >= "from") AND ("to" IS NULL OR a.at < "to")
				ORDER BY a.number LIMIT most_entries + 1) AS e) AS l) AS c;
	headers := jsonb_build_object(
		'Content-Disposition', format('attachment; filename="audit.%s"', format),
		'Cache-Control', 'no-store', 'X-Entry-Count', entries::text);
	IF more THEN
		headers := headers || jsonb_build_object('X-Next-Cursor',
			logsvc_internal.sign_position(scope, last_number::text));
	END IF;
	RETURN ROW(NULL, headers,
		CASE format WHEN 'csv' THEN 'text/csv; charset=utf-8' ELSE 'application/x-ndjson' END,
		convert_to(CASE WHEN format = 'csv' THEN 'timestamp,actor,action,resource,resource_type,'
				|| E'ip_address,user_agent,details,number,hash\r\n' ELSE '' END
			|| coalesce(content, ''), 'UTF8'))::logsvc_internal.http_response;
END
$$;
COMMENT ON FUNCTION logsvc_internal.export_audit(text, text, timestamptz, timestamptz, text) IS
'The audit log as a file, the oldest entries first: csv or ndjson, at most 50,000 entries and 32 MB; X-Next-Cursor: where the next part begins';
GRANT EXECUTE ON FUNCTION
	logsvc_internal.export_audit(text, text, timestamptz, timestamptz, text) TO logsvc_reader;

-- ---- verifying ----

CREATE OR REPLACE FUNCTION logsvc.audit_head(organization text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
BEGIN
	PERFORM logsvc_internal.require_access(target, 'audit:read');
	RETURN (SELECT jsonb_build_object('number', h.number, 'hash', encode(h.hash, 'hex'))
		FROM logsvc_internal.audit_head h WHERE h.organization_id = target);
END
$$;
COMMENT ON FUNCTION logsvc.audit_head(text) IS
'The last audit entry''s number and hash, to be kept elsewhere; NULL: there is no entry yet';

-- One statement reads head and entries, so both are of one moment.
CREATE OR REPLACE FUNCTION logsvc.verify_audit(
	organization text DEFAULT NULL, known_number bigint DEFAULT NULL, known_hash text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	e logsvc_internal.audit_entry;
	h logsvc_internal.audit_head;
	found_row record;
	last_hash bytea;
	last_number bigint;
	checked bigint := 0;
	problem text;
	known boolean := known_number IS NULL;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'audit:read');
	FOR found_row IN
		SELECT head, entry FROM logsvc_internal.audit_head head
		LEFT JOIN logsvc_internal.audit_entry entry
			ON entry.organization_id = head.organization_id
				AND (entry.number IS NOT NULL OR entry.at < now())
		WHERE head.organization_id = target ORDER BY entry.number NULLS FIRST
	LOOP
		h := found_row.head;
		e := found_row.entry;
		IF last_number IS NULL THEN
			last_number := h.first_number - 1;
			last_hash := h.first_previous;
			IF h.first_number = 1 AND last_hash <> logsvc_internal.audit_genesis(target) THEN
				problem := 'the chain does not begin with its organization';
			END IF;
		END IF;
		IF e.id IS NULL THEN
			EXIT;
		ELSIF problem IS NOT NULL THEN
			EXIT;
		ELSIF e.number IS NULL OR e.hash IS NULL THEN
			problem := 'the entry is not in the chain';
		ELSIF e.number <> last_number + 1 THEN
			problem := format('entry %s is missing', last_number + 1);
		ELSIF e.hash <> sha256(last_hash || logsvc_internal.audit_content(e, e.number)) THEN
			problem := 'the entry was changed, or one before it';
		ELSIF e.number = known_number THEN
			known := encode(e.hash, 'hex') = lower(known_hash);
			IF known IS NOT TRUE THEN
				problem := 'the entry does not have the known hash: the chain was written anew';
			END IF;
		END IF;
		EXIT WHEN problem IS NOT NULL;
		checked := checked + 1;
		last_number := e.number;
		last_hash := e.hash;
	END LOOP;
	IF problem IS NULL AND h.organization_id IS NOT NULL
		AND (last_number <> h.number OR last_hash <> h.hash) THEN
		problem := 'the last entries are missing';
		e := NULL;
	ELSIF problem IS NULL AND NOT known
		AND (h.organization_id IS NULL OR known_number >= h.first_number) THEN
		problem := 'the known entry is missing';
		e := NULL;
	END IF;
	RETURN jsonb_build_object('valid', problem IS NULL, 'checked', checked,
		'first', h.first_number,
		'head', CASE WHEN h.organization_id IS NOT NULL
			THEN jsonb_build_object('number', h.number, 'hash', encode(h.hash, 'hex')) END,
		'broken', CASE WHEN problem IS NOT NULL THEN jsonb_build_object(
			'number', coalesce(e.number, last_number + 1), 'problem', problem,
			'entry', CASE WHEN e.id IS NOT NULL THEN logsvc_internal.audit_json(e) END) END);
END
$$;
COMMENT ON FUNCTION logsvc.verify_audit(text, bigint, text) IS
'Checks the chain of audit entries: {valid, checked, first, head, broken: the first entry that is not right}; known: a head that was kept';

-- ---- the end of entries ----

-- Only from the beginning of a chain; the hash before what is left is kept.
CREATE OR REPLACE FUNCTION logsvc_internal.purge_audit(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	oldest timestamptz := least(at, now()) - interval '365 days';
	chain uuid;
	last_number bigint;
BEGIN
	FOR chain IN SELECT DISTINCT e.organization_id FROM logsvc_internal.audit_entry e
		WHERE e.at < oldest LOOP
		PERFORM FROM logsvc_internal.audit_head h WHERE h.organization_id = chain FOR UPDATE;
		SELECT coalesce(min(e.number) FILTER (WHERE e.at >= oldest), max(e.number) + 1) - 1
		INTO last_number
		FROM logsvc_internal.audit_entry e WHERE e.organization_id = chain;
		UPDATE logsvc_internal.audit_head h
		SET first_number = last_number + 1, first_previous = e.hash
		FROM logsvc_internal.audit_entry e
		WHERE h.organization_id = chain AND e.organization_id = chain AND e.number = last_number;
		DELETE FROM logsvc_internal.audit_entry e
		WHERE e.organization_id = chain AND e.number <= last_number;
	END LOOP;
	DELETE FROM logsvc_internal.operator_log l WHERE l.at < oldest;
END
$$;
COMMENT ON FUNCTION logsvc_internal.purge_audit(timestamptz) IS
'Scheduled: removes audit entries of more than 365 days ago';
-- IP allow-lists: from where the credentials of an organization may be used.

-- For C, as the lookups of 40_access.sql.
DROP FUNCTION IF EXISTS logsvc_internal.find_ip_allowlist(uuid);
CREATE FUNCTION logsvc_internal.find_ip_allowlist(organization uuid) RETURNS SETOF cidr
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT l.network FROM logsvc_internal.ip_allowlist l WHERE l.organization_id = organization;
END;
COMMENT ON FUNCTION logsvc_internal.find_ip_allowlist(uuid) IS
'The networks that may use the credentials of an organization; none: every address may';

-- Not the short forms of PostgreSQL, in which "10" is 10.0.0.0/8.
CREATE OR REPLACE FUNCTION logsvc_internal.read_network(path text, network text) RETURNS cidr
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	given inet;
BEGIN
	network := btrim(network);
	BEGIN
		IF network !~ ':' AND network !~ '^((0|[1-9][0-9]{0,2})\.){3}(0|[1-9][0-9]{0,2})(/[0-9]{1,2})?$' THEN
			RAISE invalid_text_representation;
		END IF;
		given := network::inet;
	EXCEPTION WHEN invalid_text_representation OR numeric_value_out_of_range THEN
		PERFORM logsvc_internal.invalid(path,
			'must be an address or a network, as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32');
	END;
	IF given <> network(given) THEN
		PERFORM logsvc_internal.invalid(path,
			format('has bits behind its prefix; the network is %s', network(given)));
	END IF;
	-- What is written as IPv4 inside of IPv6 is IPv4.
	IF given <<= '::ffff:0.0.0.0/96'::inet THEN
		given := (replace(host(given), '::ffff:', '') || '/' || masklen(given) - 96)::inet;
	END IF;
	RETURN given::cidr;
END
$$;
COMMENT ON FUNCTION logsvc_internal.read_network(text, text) IS
'A network that a client has written: an address, or CIDR notation of IPv4 or IPv6';

CREATE OR REPLACE FUNCTION logsvc_internal.ip_allowlist_json(organization uuid) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN jsonb_build_object(
	'entries', coalesce((SELECT jsonb_agg(jsonb_build_object(
			'network', l.network::text, 'note', l.note,
			'createdAt', logsvc_internal.iso_time(l.created_at)) ORDER BY l.network)
		FROM logsvc_internal.ip_allowlist l
		WHERE l.organization_id = ip_allowlist_json.organization), '[]'),
	'callerAddress', host(logsvc_internal.request_address()));
COMMENT ON FUNCTION logsvc_internal.ip_allowlist_json(uuid) IS
'The allow-list of an organization as the API shows it';

CREATE OR REPLACE FUNCTION logsvc.get_ip_allowlist(organization text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
BEGIN
	PERFORM logsvc_internal.require_access(target, 'org:manage');
	RETURN logsvc_internal.ip_allowlist_json(target);
END
$$;
COMMENT ON FUNCTION logsvc.get_ip_allowlist(text) IS
'The networks from which the organization may be used, and the caller''s address';

CREATE OR REPLACE FUNCTION logsvc.set_ip_allowlist(
	entries jsonb, force boolean DEFAULT false, organization text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	caller inet := logsvc_internal.request_address();
	entry jsonb;
	place text;
	unknown text;
	allowed cidr;
	networks cidr[] := '{}';
	notes text[] := '{}';
	before jsonb;
	after jsonb;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'org:manage');
	IF jsonb_typeof(entries) = 'array' IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('entries', 'must be a list');
	ELSIF jsonb_array_length(entries) > 100 THEN
		PERFORM logsvc_internal.invalid('entries', 'must have at most 100 entries');
	END IF;
	FOR entry, place IN SELECT e.value, format('entries[%s]', e.ordinality - 1)
		FROM jsonb_array_elements(entries) WITH ORDINALITY AS e
	LOOP
		IF jsonb_typeof(entry) <> 'object' THEN
			PERFORM logsvc_internal.invalid(place, 'must be an object with network and note');
		END IF;
		-- createdAt may come back as it was shown.
		SELECT k INTO unknown FROM jsonb_object_keys(entry) AS k
		WHERE k NOT IN ('network', 'note', 'createdAt') LIMIT 1;
		IF FOUND THEN
			PERFORM logsvc_internal.invalid(place || '.' || unknown, 'is not known', 'unknown');
		ELSIF jsonb_typeof(entry -> 'network') = 'string' IS NOT TRUE THEN
			PERFORM logsvc_internal.invalid(place || '.network', 'must be a string');
		ELSIF jsonb_typeof(entry -> 'note') IN ('string', 'null') IS FALSE THEN
			PERFORM logsvc_internal.invalid(place || '.note', 'must be a string or null');
		ELSIF length(entry ->> 'note') > 200 THEN
			PERFORM logsvc_internal.invalid(place || '.note',
				'must not be longer than 200 characters');
		END IF;
		allowed := logsvc_internal.read_network(place || '.network', entry ->> 'network');
		IF allowed = ANY (networks) THEN
			PERFORM logsvc_internal.invalid(place || '.network', format('%s is there twice', allowed));
		END IF;
		networks := networks || allowed;
		notes := notes || nullif(btrim(entry ->> 'note'), '');
	END LOOP;
	-- Mapped addresses of SQL clients count as IPv4, as those of requests do.
	IF caller <<= '::ffff:0.0.0.0/96'::inet THEN
		caller := replace(host(caller), '::ffff:', '')::inet;
	END IF;
	IF cardinality(networks) > 0 AND NOT coalesce(force, false)
		AND NOT logsvc_internal.is_operator()
		AND NOT coalesce((SELECT bool_or(caller <<= n) FROM unnest(networks) AS n), true) THEN
		PERFORM logsvc_internal.invalid('entries',
			format('would lock you out: your address is %s; force sets them all the same', host(caller)),
			'excludes_caller');
	END IF;

	PERFORM logsvc_internal.lock_organization(target);
	SELECT jsonb_object_agg(l.network, l.note) INTO before
	FROM logsvc_internal.ip_allowlist l WHERE l.organization_id = target;
	DELETE FROM logsvc_internal.ip_allowlist l
	WHERE l.organization_id = target AND l.network <> ALL (networks);
	INSERT INTO logsvc_internal.ip_allowlist AS l (organization_id, network, note)
	SELECT target, u.network, u.note FROM unnest(networks, notes) AS u (network, note)
	ON CONFLICT (organization_id, network) DO UPDATE SET note = EXCLUDED.note
		WHERE l.note IS DISTINCT FROM EXCLUDED.note;
	SELECT jsonb_object_agg(l.network, l.note) INTO after
	FROM logsvc_internal.ip_allowlist l WHERE l.organization_id = target;
	IF before IS DISTINCT FROM after THEN
		-- The notes stay out: an entry holds 16 KB.
		PERFORM logsvc_internal.audit(target, 'organization.settings_updated',
			logsvc_internal.public_id('org_', target),
			jsonb_build_object('ipAllowlist', jsonb_build_object(
				'from', ARRAY(SELECT jsonb_object_keys(before)),
				'to', ARRAY(SELECT jsonb_object_keys(after)))));
	END IF;
	RETURN logsvc_internal.ip_allowlist_json(target);
END
$$;
COMMENT ON FUNCTION logsvc.set_ip_allowlist(jsonb, boolean, text) IS
'Sets the networks from which the organization may be used, [{network, note}]; [] is every address; force: also when the caller''s is not in them';
-- Signing in by an identity provider: what src/access/oauth.c asks of SQL, and
-- what follows when it has found out who somebody is there.

-- ---- for C ----

CREATE OR REPLACE FUNCTION logsvc_internal.claim_oauth_state(hash bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	-- A state is refused by its age before it is forgotten here.
	DELETE FROM logsvc_internal.oauth_state s WHERE s.used_at < now() - interval '1 hour';
	INSERT INTO logsvc_internal.oauth_state (state_hash) VALUES (hash)
	ON CONFLICT DO NOTHING;
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION logsvc_internal.claim_oauth_state(bytea) IS
'Uses a state up; false when it was used before';

CREATE OR REPLACE FUNCTION logsvc_internal.find_oauth_document(url text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT d.body FROM logsvc_internal.oauth_document d
	WHERE d.url = find_oauth_document.url AND d.fetched_at > now() - interval '1 hour';
END;
COMMENT ON FUNCTION logsvc_internal.find_oauth_document(text) IS
'A document that was fetched from that URL within the last hour';

CREATE OR REPLACE FUNCTION logsvc_internal.keep_oauth_document(url text, body text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	DELETE FROM logsvc_internal.oauth_document d WHERE d.fetched_at < now() - interval '1 day';
	INSERT INTO logsvc_internal.oauth_document AS d (url, body)
	VALUES (keep_oauth_document.url, keep_oauth_document.body)
	ON CONFLICT ON CONSTRAINT oauth_document_pkey DO UPDATE
	SET body = excluded.body, fetched_at = now(), tried_at = now();
	RETURN true;
END
$$;
COMMENT ON FUNCTION logsvc_internal.keep_oauth_document(text, text) IS
'Keeps a document that was fetched';

-- Of several who ask at once one may: the row is locked.
CREATE OR REPLACE FUNCTION logsvc_internal.may_refetch_oauth_document(url text) RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	UPDATE logsvc_internal.oauth_document d SET tried_at = clock_timestamp()
	WHERE d.url = may_refetch_oauth_document.url
		AND d.tried_at < clock_timestamp() - interval '1 minute';
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION logsvc_internal.may_refetch_oauth_document(text) IS
'May a document be fetched before its time is over?  Once a minute';

-- The only way from a provider's answer to a session: no caller can make these up.
CREATE OR REPLACE FUNCTION logsvc_internal.oauth_facts() RETURNS jsonb
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_oauth_facts';
COMMENT ON FUNCTION logsvc_internal.oauth_facts() IS
'What this process has found out for the request that it answers, once; an error when that is nothing';

-- ---- accounts ----

CREATE OR REPLACE FUNCTION logsvc_internal.invited(email text) RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN EXISTS (SELECT FROM logsvc_internal.invitation i
	JOIN logsvc_internal.organization o ON o.id = i.organization_id
	WHERE i.email = invited.email AND i.accepted_at IS NULL AND i.revoked_at IS NULL
		AND i.expires_at > now() AND o.deleted_at IS NULL);
COMMENT ON FUNCTION logsvc_internal.invited(text) IS 'Is there an invitation to that address?';

-- Somebody may have signed up with an address that is not his or hers, and wait
-- for its owner.  What such an account has is not the owner's.
CREATE OR REPLACE FUNCTION logsvc_internal.take_unverified_account(
	account logsvc_internal.user_account, name text, provider text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	UPDATE logsvc_internal.user_account u
	SET verified_at = now(), password_hash = NULL, name = take_unverified_account.name
	WHERE u.id = account.id;
	DELETE FROM logsvc_internal.password_history h WHERE h.user_id = account.id;
	DELETE FROM logsvc_internal.one_time_link l WHERE l.user_id = account.id;
	DELETE FROM logsvc_internal.oauth_identity i WHERE i.user_id = account.id;
	UPDATE logsvc_internal.access_token t SET revoked_at = now()
	WHERE t.user_id = account.id AND t.revoked_at IS NULL;
	PERFORM logsvc_internal.end_sessions(account.id);
	PERFORM logsvc_internal.audit_user(account.id, account.email, 'user.email_verified',
		jsonb_build_object('by', provider));
END
$$;
COMMENT ON FUNCTION logsvc_internal.take_unverified_account(logsvc_internal.user_account, text, text) IS
'Gives an account that waits for its confirmation to the owner of the address: without password, sessions and links';

-- Who is signed in to the account has proven to be its user.
CREATE OR REPLACE FUNCTION logsvc_internal.request_user() RETURNS uuid
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN (SELECT s.user_id FROM logsvc_internal.user_session s
	WHERE s.token_hash = logsvc_internal.secret_hash(
			logsvc_internal.request_cookie('logsvc_session'))
		AND s.expires_at > now());
COMMENT ON FUNCTION logsvc_internal.request_user() IS
'The user of the session whose cookie the request has, also on routes that need none';

CREATE OR REPLACE FUNCTION logsvc_internal.oauth_account(
	provider text, issuer text, subject text, email text, name text, authority boolean,
	OUT account uuid, OUT how text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	known logsvc_internal.user_account;
BEGIN
	UPDATE logsvc_internal.oauth_identity i SET last_used_at = now()
	WHERE i.issuer = oauth_account.issuer AND i.subject = oauth_account.subject
	RETURNING i.user_id, 'known' INTO account, how;
	IF account IS NOT NULL THEN
		RETURN;
	END IF;
	email := logsvc_internal.check_email(email);
	SELECT u.* INTO known FROM logsvc_internal.user_account u
	WHERE u.email = oauth_account.email FOR NO KEY UPDATE;
	IF known.id IS NULL THEN
		IF NOT current_setting('logsvc.sign_up')::boolean AND NOT logsvc_internal.invited(email) THEN
			PERFORM logsvc_internal.raise_error('FORBIDDEN',
				'sign-up is closed; ask for an invitation');
		END IF;
		INSERT INTO logsvc_internal.user_account AS u (email, name, verified_at)
		VALUES (oauth_account.email, oauth_account.name, now())
		ON CONFLICT ON CONSTRAINT user_account_email_key DO NOTHING
		RETURNING u.id, 'created' INTO account, how;
		IF account IS NULL THEN
			-- Made at the same moment, by whomever.
			PERFORM logsvc_internal.raise_error('SERVICE_UNAVAILABLE');
		END IF;
	ELSIF NOT authority AND logsvc_internal.request_user() = known.id IS NOT TRUE
		AND (known.verified_at IS NOT NULL
			OR EXISTS (SELECT FROM logsvc_internal.member m WHERE m.user_id = known.id)) THEN
		-- That somebody could once read mail at the address is no right to the account.
		how := 'refused';
		RETURN;
	ELSIF known.verified_at IS NULL THEN
		PERFORM logsvc_internal.take_unverified_account(known, name, provider);
		account := known.id;
		how := 'taken';
	ELSE
		account := known.id;
		how := 'linked';
	END IF;
	INSERT INTO logsvc_internal.oauth_identity AS i (issuer, subject, user_id, provider)
	VALUES (oauth_account.issuer, oauth_account.subject, account, oauth_account.provider)
	ON CONFLICT ON CONSTRAINT oauth_identity_pkey DO NOTHING
	RETURNING i.user_id INTO account;
	IF account IS NULL THEN
		PERFORM logsvc_internal.raise_error('SERVICE_UNAVAILABLE'); -- as above
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.oauth_account(text, text, text, text, text, boolean) IS
'The account of somebody at a provider, whose address is verified there; authority: the provider has the last word on whose it is; how: known, linked (to the account with the address), taken (one that waited for confirmation), created, refused (no account: it takes more to get that one)';

-- ---- routes ----

CREATE OR REPLACE FUNCTION logsvc_internal.auth_oauth_start(provider text)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	facts jsonb := logsvc_internal.oauth_facts();
BEGIN
	RETURN logsvc_internal.respond(302, NULL, jsonb_build_object(
		'Location', facts ->> 'location', 'Cache-Control', 'no-store',
		'Set-Cookie', logsvc_internal.cookie('logsvc_oauth', facts ->> 'cookie', 600)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_oauth_start(text) IS
'Sends the browser to an identity provider';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_oauth_callback(provider text)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	facts jsonb := logsvc_internal.oauth_facts();
	failure text := facts ->> 'failure';
	found_account uuid;
	how text;
	answer logsvc_internal.http_response;
BEGIN
	IF failure IS NOT NULL THEN
		-- An address that is not verified says nothing about who that is.
		PERFORM logsvc_internal.audit(NULL, 'user.login_failed', coalesce(facts ->> 'email', ''),
			jsonb_build_object('reason', failure, 'provider', provider), facts ->> 'email');
		RETURN logsvc_internal.refuse(CASE failure
			WHEN 'email_not_verified' THEN 'EMAIL_NOT_VERIFIED' ELSE 'OAUTH_FAILED' END);
	END IF;
	SELECT a.account, a.how INTO found_account, how
	FROM logsvc_internal.oauth_account(provider, facts ->> 'issuer', facts ->> 'subject',
		facts ->> 'email', nullif(left(logsvc_internal.one_line(facts ->> 'name'), 200), ''),
		(facts ->> 'authority')::boolean) AS a;
	IF how = 'refused' THEN
		PERFORM logsvc_internal.audit(NULL, 'user.login_failed', facts ->> 'email',
			jsonb_build_object('reason', 'not_linked', 'provider', provider), facts ->> 'email');
		RETURN logsvc_internal.refuse('IDENTITY_NOT_LINKED');
	END IF;
	answer := logsvc_internal.begin_session(found_account, 'user.oauth_login', provider,
		jsonb_build_object('provider', provider, 'account', how));
	RETURN logsvc_internal.respond(302, NULL, answer.headers || jsonb_build_object(
		'Location', facts ->> 'location',
		'Set-Cookie', jsonb_build_array(answer.headers -> 'Set-Cookie',
			logsvc_internal.cookie('logsvc_oauth', '', 0))));
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_oauth_callback(text) IS
'Begins a session for whom an identity provider has sent back';

GRANT EXECUTE ON FUNCTION
	logsvc_internal.auth_oauth_start(text),
	logsvc_internal.auth_oauth_callback(text)
TO logsvc_reader;
-- Daily quotas (specification 8.4, decisions 64 to 68).

CREATE OR REPLACE FUNCTION logsvc_internal.quota_time(at timestamptz) RETURNS timestamptz
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_quota_time';
COMMENT ON FUNCTION logsvc_internal.quota_time(timestamptz) IS
'The time by which quotas tell days: the same; only debug builds can shift it, for tests';

CREATE OR REPLACE FUNCTION logsvc_internal.quota_day(at timestamptz) RETURNS date
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (logsvc_internal.quota_time(at) AT TIME ZONE 'UTC')::date;
COMMENT ON FUNCTION logsvc_internal.quota_day(timestamptz) IS 'The quota day of a time: UTC';

-- ---- for the workers ----

CREATE OR REPLACE FUNCTION logsvc_internal.find_ingest_quota(
	organization uuid, test boolean,
	OUT day_limit bigint, OUT overage_seconds bigint, OUT deferred_limit bigint, OUT alone boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN test THEN logsvc_internal.allowed_of(organization, 'test_bytes_per_day')
			ELSE logsvc_internal.allowed_of(organization, 'ingest_bytes_per_day') END,
		CASE WHEN test THEN 0
			ELSE coalesce(logsvc_internal.allowed_of(organization, 'overage_queue_seconds'), 0) END,
		logsvc_internal.allowed_of(organization, 'deferred_bytes'),
		NOT EXISTS (SELECT FROM logsvc_internal.organization o
			WHERE o.id <> organization AND o.deleted_at IS NULL);
END;
COMMENT ON FUNCTION logsvc_internal.find_ingest_quota(uuid, boolean) IS
'The daily quota of an organization, or of its test keys, in bytes (NULL: none); how long what is beyond waits, and how much of it may; is the organization the only one';

-- One statement: a row that moves from the tally to the day is seen once.
CREATE OR REPLACE FUNCTION logsvc_internal.ingested(
	organization uuid, day date, test boolean, OUT bytes bigint, OUT events bigint,
	OUT deferred bigint)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT coalesce(sum(s.bytes), 0)::bigint, coalesce(sum(s.events), 0)::bigint,
		CASE WHEN ingested.test THEN 0 ELSE (SELECT coalesce(sum(w.bytes), 0)
			FROM logsvc_internal.deferred w WHERE w.organization_id = organization) END::bigint
	FROM (SELECT t.bytes, t.events FROM logsvc_internal.ingest_tally t
		WHERE t.organization_id = organization AND t.day = ingested.day AND t.test = ingested.test
		UNION ALL
		SELECT d.bytes, d.events FROM logsvc_internal.ingest_day d
		WHERE d.organization_id = organization AND d.day = ingested.day AND d.test = ingested.test) s;
END;
COMMENT ON FUNCTION logsvc_internal.ingested(uuid, date, boolean) IS
'What an organization has sent on a day: JSON bytes and events; and the bytes that are deferred now';

CREATE OR REPLACE FUNCTION logsvc_internal.deferred_until(organization uuid, at timestamptz)
RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN at + make_interval(secs =>
	coalesce(logsvc_internal.allowed_of(organization, 'overage_queue_seconds'), 0));
COMMENT ON FUNCTION logsvc_internal.deferred_until(uuid, timestamptz) IS
'Until when events wait that are deferred at that time';

-- ---- mails ----

CREATE OR REPLACE FUNCTION logsvc_internal.notify_quota(
	organization uuid, day date, kind text, template text, parameters jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	resets timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
	INSERT INTO logsvc_internal.quota_notice (organization_id, day, kind)
	VALUES (organization, notify_quota.day, notify_quota.kind) ON CONFLICT DO NOTHING;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	PERFORM logsvc_internal.mail_owners(organization, template, parameters
		|| jsonb_build_object('organization', o.name, 'resets', resets,
			'expires', clock_timestamp() + interval '1 day',
			'link', logsvc_internal.public_link('/usage', NULL)))
	FROM logsvc_internal.organization o WHERE o.id = organization;
END
$$;
COMMENT ON FUNCTION logsvc_internal.notify_quota(uuid, date, text, text, jsonb) IS
'Mails to the owners about the quota of a day, once of each kind';

CREATE OR REPLACE FUNCTION logsvc_internal.warn_quotas(of_day date) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	near record;
BEGIN
	FOR near IN
		SELECT d.organization_id, d.bytes, q.most,
			coalesce(logsvc_internal.allowed_of(o.id, 'overage_queue_seconds'), 0) AS overage
		FROM logsvc_internal.ingest_day d
		JOIN logsvc_internal.organization o ON o.id = d.organization_id
		LEFT JOIN logsvc_internal.organization_limit l
			ON l.organization_id = o.id AND l.resource = 'ingest_bytes_per_day'
		LEFT JOIN logsvc_internal.plan_limit p
			ON p.plan = o.plan AND p.resource = 'ingest_bytes_per_day',
		LATERAL (SELECT CASE WHEN l.organization_id IS NULL THEN p.amount ELSE l.amount END AS most) q
		WHERE d.day = of_day AND NOT d.test AND o.deleted_at IS NULL
			AND d.bytes > 0 AND d.bytes >= q.most * 0.8
			AND NOT EXISTS (SELECT FROM logsvc_internal.quota_notice n
				WHERE n.organization_id = o.id AND n.day = d.day AND n.kind = 'warning')
	LOOP
		PERFORM logsvc_internal.notify_quota(near.organization_id, of_day, 'warning',
			'quota_warning', jsonb_build_object(
				'percent', coalesce(floor(100.0 * near.bytes / nullif(near.most, 0)), 100)::text,
				'used', pg_size_pretty(near.bytes), 'limit', pg_size_pretty(near.most),
				'consequence', CASE near.overage
					WHEN 0 THEN 'At 100% no more events are accepted until it starts anew.'
					ELSE format('Events beyond 100%% wait for up to %s minutes, and are discarded '
						'if the quota is not raised or started anew by then.',
						ceil(near.overage / 60.0)) END));
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.warn_quotas(date) IS
'Mails to the owners of organizations that have used 80% of the quota of a day';

-- ---- scheduled ----

CREATE OR REPLACE FUNCTION logsvc_internal.run_quotas(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	today date := logsvc_internal.quota_day(at);
	before date := logsvc_internal.quota_day(at - interval '10 minutes');
BEGIN
	WITH gone AS (DELETE FROM logsvc_internal.ingest_tally t RETURNING t.*)
	INSERT INTO logsvc_internal.ingest_day AS d (organization_id, day, test, bytes, events)
	SELECT g.organization_id, g.day, g.test, sum(g.bytes), sum(g.events)
	FROM gone g JOIN logsvc_internal.organization o ON o.id = g.organization_id
	GROUP BY 1, 2, 3
	ON CONFLICT ON CONSTRAINT ingest_day_pkey DO UPDATE
		SET bytes = d.bytes + excluded.bytes, events = d.events + excluded.events;
	-- Of the last minute of a day the next day tells.
	IF before < today THEN
		PERFORM logsvc_internal.warn_quotas(before);
	END IF;
	PERFORM logsvc_internal.warn_quotas(today);
END
$$;
COMMENT ON FUNCTION logsvc_internal.run_quotas(timestamptz) IS
'Scheduled: sums up what was accepted, and warns owners at 80% of a quota';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_quotas(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	DELETE FROM logsvc_internal.ingest_day d WHERE d.day < (at AT TIME ZONE 'UTC')::date - 400;
	DELETE FROM logsvc_internal.quota_notice n WHERE n.day < (at AT TIME ZONE 'UTC')::date - 7;
END;
COMMENT ON FUNCTION logsvc_internal.purge_quotas(timestamptz) IS
'Scheduled: forgets the usage of days more than 400 days ago';

CREATE OR REPLACE FUNCTION logsvc_internal.discard_deferred(organization uuid, at timestamptz)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	gone record;
	of_day date := (at AT TIME ZONE 'UTC')::date;
BEGIN
	WITH expired AS (
		DELETE FROM logsvc_internal.deferred w
		WHERE w.organization_id = organization AND w.expires_at <= at
		RETURNING w.bytes, w.rows, w.deferred_at)
	SELECT coalesce(sum(e.rows), 0)::bigint AS events, coalesce(sum(e.bytes), 0)::bigint AS bytes,
		min(e.deferred_at) AS first, max(e.deferred_at) AS last INTO gone
	FROM expired e;
	IF gone.events = 0 THEN
		RETURN 0;
	END IF;
	INSERT INTO logsvc_internal.ingest_day AS d
		(organization_id, day, test, discarded_bytes, discarded_events)
	VALUES (organization, of_day, false, gone.bytes, gone.events)
	ON CONFLICT ON CONSTRAINT ingest_day_pkey DO UPDATE
		SET discarded_bytes = d.discarded_bytes + excluded.discarded_bytes,
			discarded_events = d.discarded_events + excluded.discarded_events;
	PERFORM logsvc_internal.audit(organization, 'quota.events_discarded',
		logsvc_internal.public_id('org_', organization),
		jsonb_build_object('events', gone.events, 'bytes', gone.bytes,
			'deferredFrom', logsvc_internal.iso_time(gone.first),
			'deferredTo', logsvc_internal.iso_time(gone.last)));
	PERFORM logsvc_internal.notify_quota(organization, of_day, 'discarded', 'quota_discarded',
		jsonb_build_object('events', gone.events::text, 'size', pg_size_pretty(gone.bytes)));
	RETURN gone.bytes;
END
$$;
COMMENT ON FUNCTION logsvc_internal.discard_deferred(uuid, timestamptz) IS
'Discards the deferred events of an organization that have waited too long, with an audit entry and a mail to the owners; returns their bytes';

-- ---- for answers ----

CREATE OR REPLACE FUNCTION logsvc_internal.ingest_usage(organization uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	today date := logsvc_internal.quota_day(clock_timestamp());
	quota record;
	live record;
	test record;
	waits record;
BEGIN
	SELECT * INTO quota FROM logsvc_internal.find_ingest_quota(organization, false);
	SELECT * INTO live FROM logsvc_internal.ingested(organization, today, false);
	SELECT * INTO test FROM logsvc_internal.ingested(organization, today, true);
	SELECT coalesce(sum(w.rows), 0) AS events, min(w.expires_at) AS until INTO waits
	FROM logsvc_internal.deferred w WHERE w.organization_id = organization;
	RETURN jsonb_build_object(
		'usedBytes', live.bytes,
		'usedEvents', live.events,
		'limitBytes', quota.day_limit,
		'percent', round(100.0 * live.bytes / nullif(quota.day_limit, 0), 1),
		'state', CASE
			WHEN live.bytes >= quota.day_limit THEN
				CASE quota.overage_seconds WHEN 0 THEN 'paused' ELSE 'throttled' END
			WHEN live.bytes >= quota.day_limit * 0.8 THEN 'warned'
			ELSE 'normal' END,
		'resetsAt', logsvc_internal.iso_time((today + 1)::timestamp AT TIME ZONE 'UTC'),
		'deferredBytes', live.deferred,
		'deferredEvents', waits.events,
		'deferredUntil', logsvc_internal.iso_time(waits.until),
		'test', jsonb_build_object('usedBytes', test.bytes,
			'limitBytes', logsvc_internal.allowed_of(organization, 'test_bytes_per_day')));
END
$$;
COMMENT ON FUNCTION logsvc_internal.ingest_usage(uuid) IS
'What an organization has sent today, of its quota; deferredUntil: when the first of what waits is discarded';

CREATE OR REPLACE FUNCTION logsvc.usage_history(days int DEFAULT 30) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	today date := logsvc_internal.quota_day(clock_timestamp());
BEGIN
	PERFORM logsvc_internal.require_permission('logs:read');
	PERFORM logsvc_internal.require_live();
	IF days BETWEEN 1 AND 400 IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('days', 'must be 1 to 400');
	END IF;
	target := logsvc_internal.current_organization();
	RETURN (SELECT jsonb_agg(jsonb_build_object('date', g.day,
			'bytes', live.bytes, 'events', live.events,
			'testBytes', test.bytes, 'testEvents', test.events,
			'discardedBytes', coalesce(d.discarded_bytes, 0),
			'discardedEvents', coalesce(d.discarded_events, 0)) ORDER BY g.day DESC)
		FROM (SELECT today - n AS day FROM generate_series(0, days - 1) AS n) AS g
		CROSS JOIN LATERAL logsvc_internal.ingested(target, g.day, false) AS live
		CROSS JOIN LATERAL logsvc_internal.ingested(target, g.day, true) AS test
		LEFT JOIN logsvc_internal.ingest_day d
			ON d.organization_id = target AND d.day = g.day AND NOT d.test);
END
$$;
COMMENT ON FUNCTION logsvc.usage_history(int) IS
'What the session''s organization has sent on each of the last days (UTC), today first';
-- The store as it ages: what compactors call, and what operators look at.

-- ---- retention ----

-- A part goes as a whole when its newest event is past the retention of its
-- index, so an event may stay up to a day longer.  An index that is not there
-- counts as one without a setting of its own; what belongs to nobody any more
-- goes at once.  Bounded: so many parts, and bytes of bodies.
CREATE OR REPLACE FUNCTION logsvc_internal.expire_parts(
	partition regclass, at timestamptz, most int)
RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	removed int;
BEGIN
	EXECUTE format('WITH expired AS MATERIALIZED (
		SELECT p.id, p.body FROM %1$s p
		LEFT JOIN logsvc_internal.organization_retention o USING (organization_id)
		LEFT JOIN logsvc_internal.index_retention r
			ON r.organization_id = p.organization_id AND r.name = p.index_name
		WHERE o.organization_id IS NULL OR p.max_time < $1
			- make_interval(days => CASE WHEN r.name IS NULL THEN o.days ELSE r.days END)
		LIMIT $2
	), sized AS (
		SELECT id, sum(octet_length(body)) OVER (ORDER BY id) - octet_length(body) AS before
		FROM expired
	) DELETE FROM %1$s p USING sized s WHERE p.id = s.id AND s.before < 268435456', partition)
	USING at, most;
	GET DIAGNOSTICS removed = ROW_COUNT;
	RETURN removed;
END
$$;
COMMENT ON FUNCTION logsvc_internal.expire_parts(regclass, timestamptz, int) IS
'Deletes parts of a partition whose events are all past their retention at that time, at most so many; returns how many';

-- Nobody waits for us longer than the lock timeout of the caller: ACCESS
-- EXCLUSIVE on the store makes searches and writers queue up.
CREATE OR REPLACE FUNCTION logsvc_internal.drop_expired_partition(
	partition regclass, at timestamptz)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	last_id bigint;
	now_last bigint;
	alive boolean;
BEGIN
	EXECUTE format('SELECT max(id) FROM %s', partition) INTO last_id;
	IF last_id IS NOT NULL THEN
		EXECUTE format('SELECT EXISTS (SELECT FROM %s p
			LEFT JOIN logsvc_internal.organization_retention o USING (organization_id)
			LEFT JOIN logsvc_internal.index_retention r
				ON r.organization_id = p.organization_id AND r.name = p.index_name
			WHERE (o.organization_id IS NULL OR p.max_time < $1 - make_interval(days =>
				CASE WHEN r.name IS NULL THEN o.days ELSE r.days END)) IS NOT TRUE)', partition)
		INTO alive USING at;
		IF alive THEN
			RETURN false;
		END IF;
	END IF;
	LOCK TABLE ONLY logsvc_internal.part IN ACCESS EXCLUSIVE MODE;
	EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', partition);
	EXECUTE format('SELECT max(id) FROM %s', partition) INTO now_last;
	IF now_last IS DISTINCT FROM last_id THEN
		RETURN false; -- something has come in
	END IF;
	EXECUTE format('ALTER TABLE logsvc_internal.part DETACH PARTITION %s', partition);
	EXECUTE format('DROP TABLE %s', partition);
	RETURN true;
END
$$;
COMMENT ON FUNCTION logsvc_internal.drop_expired_partition(regclass, timestamptz) IS
'Drops the partition of a day that has no events, or only such as are past their retention at that time; false: it has others';

-- ---- deletions ----

CREATE OR REPLACE FUNCTION logsvc_internal.plan_deletion(
	q text, OUT indexes text[], OUT from_time timestamptz, OUT to_time timestamptz,
	OUT filter bytea, OUT level_mask int)
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_plan_deletion';
COMMENT ON FUNCTION logsvc_internal.plan_deletion(text) IS
'What a query without stages means, for the session''s principal; an error unless it names indexes and the begin of its time range';

CREATE OR REPLACE FUNCTION logsvc_internal.deletion_json(d logsvc_internal.deletion) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'runId', logsvc_internal.public_id('del_', d.id),
	'q', d.q,
	'reason', d.reason,
	'indexes', to_jsonb(d.indexes),
	'from', logsvc_internal.iso_time(d.from_time),
	'to', logsvc_internal.iso_time(d.to_time),
	'status', d.status,
	'matched', d.matched,
	'deleted', d.deleted,
	'skippedParts', d.skipped_parts,
	'error', d.error,
	'createdBy', d.created_by,
	'createdAt', logsvc_internal.iso_time(d.created_at),
	'finishedAt', logsvc_internal.iso_time(d.finished_at));
COMMENT ON FUNCTION logsvc_internal.deletion_json(logsvc_internal.deletion) IS
'A deletion as the API shows it';

-- Counts in the statement of a search, which sees stored and waiting events.
-- Whatever was acknowledged before has a batch number up to the last one given.
CREATE OR REPLACE FUNCTION logsvc.delete_logs(q text, reason text, dry_run boolean DEFAULT false)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	plan record;
	found_events bigint;
	made logsvc_internal.deletion;
BEGIN
	PERFORM logsvc_internal.require_permission('logs:export');
	target := logsvc_internal.current_organization();
	IF coalesce(btrim(reason), '') = '' OR length(reason) > 1000 THEN
		PERFORM logsvc_internal.invalid('reason', 'must have 1 to 1,000 characters');
	END IF;
	SELECT p.* INTO plan FROM logsvc_internal.plan_deletion(q) AS p;
	IF '_audit' = ANY (plan.indexes) THEN
		PERFORM logsvc_internal.raise_error('PROTECTED', 'entries of the audit log stay');
	END IF;
	found_events := logsvc.search(q || E'\n| stats count') #>> '{data,rows,0,0}';
	IF coalesce(dry_run, false) THEN
		RETURN jsonb_build_object('runId', NULL, 'matched', coalesce(found_events, 0));
	END IF;
	INSERT INTO logsvc_internal.deletion AS d (organization_id, created_by, q, reason, indexes,
		from_time, to_time, filter, level_mask, batch, matched)
	SELECT target, logsvc_internal.audit_actor(), delete_logs.q, delete_logs.reason, plan.indexes,
		plan.from_time, plan.to_time, plan.filter, plan.level_mask, s.last_value,
		coalesce(found_events, 0)
	FROM logsvc_internal.batch_number s
	RETURNING * INTO made;
	PERFORM logsvc_internal.audit(target, 'logs.deleted',
		logsvc_internal.public_id('del_', made.id),
		jsonb_build_object('q', q, 'reason', reason, 'count', made.matched));
	RETURN jsonb_build_object('runId', logsvc_internal.public_id('del_', made.id),
		'matched', made.matched);
END
$$;
COMMENT ON FUNCTION logsvc.delete_logs(text, text, boolean) IS
'Deletes the events of the session''s organization that a query without stages finds; it must name indexes and a time range; compactors do it within seconds';

CREATE OR REPLACE FUNCTION logsvc.list_deletions("limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(NULL);
	scope text := logsvc_internal.list_scope('deletions', target);
	size int := logsvc_internal.page_limit("limit");
	before uuid := logsvc_internal.open_position(scope, cursor)::uuid;
BEGIN
	PERFORM logsvc_internal.require_permission('logs:export');
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.deletion_json(l) ORDER BY l.id DESC),
			array_agg(l.id::text ORDER BY l.id DESC), size, scope)
		FROM (SELECT * FROM logsvc_internal.deletion d
			WHERE d.organization_id = target AND (before IS NULL OR d.id < before)
				AND NOT EXISTS (SELECT FROM unnest(d.indexes) AS n WHERE NOT logsvc_internal.may_use_index(n))
			ORDER BY d.id DESC LIMIT size + 1) AS l);
END
$$;
COMMENT ON FUNCTION logsvc.list_deletions(int, text) IS
'Deletions of events of the session''s organization, the latest first, a page at a time';

CREATE OR REPLACE FUNCTION logsvc.get_deletion(id text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_deletion logsvc_internal.deletion;
BEGIN
	PERFORM logsvc_internal.require_permission('logs:export');
	SELECT d.* INTO found_deletion FROM logsvc_internal.deletion d
	WHERE d.id = logsvc_internal.parse_public_id('del_', get_deletion.id)
		AND d.organization_id = logsvc_internal.current_organization()
		AND NOT EXISTS (SELECT FROM unnest(d.indexes) AS n WHERE NOT logsvc_internal.may_use_index(n));
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND');
	END IF;
	RETURN logsvc_internal.deletion_json(found_deletion);
END
$$;
COMMENT ON FUNCTION logsvc.get_deletion(text) IS
'A deletion of events of the session''s organization, and how far it is';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_deletions(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	DELETE FROM logsvc_internal.deletion d WHERE d.finished_at < at - interval '30 days';
END;
COMMENT ON FUNCTION logsvc_internal.purge_deletions(timestamptz) IS
'Scheduled: forgets deletions that ended 30 days ago; the audit log has them longer';

-- ---- for operators ----

CREATE OR REPLACE FUNCTION logsvc_internal.part_problem(
	id bigint, header bytea, body bytea, day date, min_time timestamptz, max_time timestamptz,
	rows int, level_mask int, min_batch bigint, max_batch bigint)
RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000
AS 'MODULE_PATHNAME', 'logsvc_part_problem';
COMMENT ON FUNCTION logsvc_internal.part_problem(bigint, bytea, bytea, date, timestamptz,
	timestamptz, int, int, bigint, bigint) IS
'What is wrong with a stored part; NULL: nothing';

CREATE OR REPLACE FUNCTION logsvc.verify_parts(
	organization text DEFAULT NULL, from_day date DEFAULT NULL, to_day date DEFAULT NULL)
RETURNS TABLE (part_id bigint, organization_id text, index_name text, day date, level smallint,
	rows int, problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
BEGIN
	IF NOT logsvc_internal.is_operator() THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN', 'only operators can verify parts');
	END IF;
	IF organization IS NOT NULL THEN
		target := logsvc_internal.find_organization(organization);
	END IF;
	RETURN QUERY
	SELECT p.id, logsvc_internal.public_id('org_', p.organization_id), p.index_name, p.day,
		p.level, p.rows, v.problem
	FROM logsvc_internal.part p,
		LATERAL (SELECT logsvc_internal.part_problem(p.id, p.header, p.body, p.day, p.min_time,
			p.max_time, p.rows, p.level_mask, p.min_batch, p.max_batch) OFFSET 0) AS v (problem)
	WHERE (target IS NULL OR p.organization_id = target)
		AND (from_day IS NULL OR p.day >= from_day) AND (to_day IS NULL OR p.day <= to_day)
		AND v.problem IS NOT NULL;
END
$$;
COMMENT ON FUNCTION logsvc.verify_parts(text, date, date) IS
'Operators: reads every part, of one organization and of days if they are given, and returns those that are not as they should be';

CREATE OR REPLACE VIEW logsvc.parts AS
SELECT logsvc_internal.public_id('org_', p.organization_id) AS organization_id, o.slug AS organization,
	p.index_name, p.day, p.level, count(*) AS parts, sum(p.rows)::bigint AS events,
	sum(p.raw_bytes)::bigint AS text_bytes,
	sum(octet_length(p.header) + octet_length(p.body))::bigint AS stored_bytes,
	min(p.min_time) AS oldest, max(p.max_time) AS newest
FROM logsvc_internal.part p
LEFT JOIN logsvc_internal.organization o ON o.id = p.organization_id
GROUP BY p.organization_id, o.slug, p.index_name, p.day, p.level;
COMMENT ON VIEW logsvc.parts IS
'Operators: parts of the store by organization, index, day and level of merging (1 as written, 9 full, -1 cannot be read)';
GRANT SELECT ON logsvc.parts TO logsvc_admin;
-- The store: functions.

-- Makes the partitions of today and of the two days that events may already
-- name (timestamps up to 24 hours ahead are accepted).  Days that have none
-- share the default partition.
CREATE FUNCTION logsvc_internal.make_part_partitions() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  today date := (now() AT TIME ZONE 'UTC')::date;
  d date;
  name text;
BEGIN
  IF NOT EXISTS (SELECT FROM generate_series(0, 2) n
                  WHERE to_regclass('logsvc_internal.part_' || to_char(today + n, 'YYYYMMDD')) IS NULL) THEN
    RETURN;
  END IF;
  -- One at a time, by the lock that ATTACH takes too; tenants cannot have it.
  LOCK TABLE ONLY logsvc_internal.part IN SHARE UPDATE EXCLUSIVE MODE;
  FOR d IN SELECT today + n FROM generate_series(0, 2) n LOOP
    name := 'part_' || to_char(d, 'YYYYMMDD');
    CONTINUE WHEN to_regclass('logsvc_internal.' || name) IS NOT NULL;
    -- CREATE and ATTACH: PARTITION OF would lock out every reader.
    EXECUTE format('CREATE TABLE logsvc_internal.%I (LIKE logsvc_internal.part_other INCLUDING ALL)'
                   ' WITH (%s)', name,
                   (SELECT string_agg(o, ', ') FROM logsvc_internal.part_options() AS o));
    EXECUTE format('ALTER TABLE logsvc_internal.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE logsvc_internal.part ATTACH PARTITION logsvc_internal.%I'
                   ' FOR VALUES FROM (%L) TO (%L)', name, d, d + 1);
  END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.make_part_partitions() IS
  'makes the daily partitions of the store for today and the two days after';
REVOKE ALL ON FUNCTION logsvc_internal.make_part_partitions() FROM PUBLIC;
-- Scanning parts: what the statements of searches are made of.

CREATE FUNCTION logsvc_internal.part_scan(
  part_id bigint, header bytea, body bytea, index_name text, filter bytea,
  from_time timestamptz, to_time timestamptz, fields text[], want_event boolean, most integer,
  descending boolean, after_time timestamptz DEFAULT NULL, after_batch bigint DEFAULT NULL,
  after_place integer DEFAULT NULL, shown text[] DEFAULT NULL, hidden text[] DEFAULT NULL,
  sort text[] DEFAULT NULL, sort_descending boolean[] DEFAULT NULL,
  distinct_by text[] DEFAULT NULL, keep_empty boolean DEFAULT NULL)
RETURNS TABLE (ts timestamptz, batch bigint, place integer, "values" text[], event text,
               "row" integer)
LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 1000
AS 'MODULE_PATHNAME', 'logsvc_part_scan';
COMMENT ON FUNCTION logsvc_internal.part_scan(bigint, bytea, bytea, text, bytea, timestamptz,
  timestamptz, text[], boolean, integer, boolean, timestamptz, bigint, integer, text[], text[],
  text[], boolean[], text[], boolean) IS
  'the rows of a part that match a filter (NULL: all) in [from_time, to_time), behind an event; at '
  'most the newest (or oldest) so many, or the first ones when sorted, or the first of each '
  'combination of values; fields as JSON texts, the event as a JSON object, the number of the row';

CREATE FUNCTION logsvc_internal.part_events(
  part_id bigint, header bytea, body bytea, index_name text, rows integer[], shown text[],
  hidden text[])
RETURNS TABLE ("row" integer, event text)
LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 100
AS 'MODULE_PATHNAME', 'logsvc_part_events';
COMMENT ON FUNCTION logsvc_internal.part_events(bigint, bytea, bytea, text, integer[], text[], text[])
  IS 'the events of rows of a part, by the numbers that part_scan gave them';

CREATE FUNCTION logsvc_internal.group_add(
  state internal, part_id bigint, header bytea, body bytea, index_name text, filter bytea,
  from_time timestamptz, to_time timestamptz, fields text[], starts timestamptz[], measures text[],
  kept text[])
RETURNS internal
LANGUAGE c STABLE PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'logsvc_group_add';
COMMENT ON FUNCTION logsvc_internal.group_add(internal, bigint, bytea, bytea, text, bytea,
  timestamptz, timestamptz, text[], timestamptz[], text[], text[]) IS
  'step of the aggregate group_parts: adds the rows of a part';

CREATE FUNCTION logsvc_internal.group_finish(state internal) RETURNS bytea
LANGUAGE c STABLE PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'logsvc_group_finish';
COMMENT ON FUNCTION logsvc_internal.group_finish(internal) IS
  'end of the aggregate group_parts: the groups as bytes';

CREATE AGGREGATE logsvc_internal.group_parts(
  part_id bigint, header bytea, body bytea, index_name text, filter bytea,
  from_time timestamptz, to_time timestamptz, fields text[], starts timestamptz[], measures text[],
  kept text[]) (
  SFUNC = logsvc_internal.group_add, STYPE = internal,
  FINALFUNC = logsvc_internal.group_finish, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);
COMMENT ON AGGREGATE logsvc_internal.group_parts(bigint, bytea, bytea, text, bytea, timestamptz,
  timestamptz, text[], timestamptz[], text[], text[]) IS
  'the rows of parts that match a filter, grouped by the values (JSON texts) of fields and by the '
  'begins of buckets of time, with aggregates of fields ("sum 0 .ms": kind, counter, field); with '
  'kept only those combinations of values, and all others together, have groups; see group_rows; '
  'what filter to kept are in the first row holds for all';

CREATE FUNCTION logsvc_internal.group_rows(groups bytea)
RETURNS TABLE (bucket integer, place integer, keys text[], count bigint, "values" text[])
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 100
AS 'MODULE_PATHNAME', 'logsvc_group_rows';
COMMENT ON FUNCTION logsvc_internal.group_rows(bytea) IS
  'the groups that group_parts made: bucket of time from 1 (0: none were asked for), place among '
  'the kept from 1 (0), keys (NULL: missing), rows, results of the aggregates as JSON texts';

CREATE FUNCTION logsvc_internal.search_memory() RETURNS bigint
LANGUAGE c VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_search_memory';
COMMENT ON FUNCTION logsvc_internal.search_memory() IS
  'bytes that one search may use: setting logsvc.search_memory, or a share of the node''s memory';

CREATE FUNCTION logsvc_internal.search_workers(OUT busy integer, OUT started bigint)
LANGUAGE c VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_search_workers';
COMMENT ON FUNCTION logsvc_internal.search_workers() IS
  'parallel workers that searches have now, and have had since the server started';

CREATE FUNCTION logsvc_internal.overview_add(
  state internal, part_id bigint, header bytea, body bytea, index_name text, filter bytea,
  from_time timestamptz, to_time timestamptz, starts timestamptz[], fields boolean)
RETURNS internal
LANGUAGE c STABLE PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'logsvc_overview_add';
COMMENT ON FUNCTION logsvc_internal.overview_add(internal, bigint, bytea, bytea, text, bytea,
  timestamptz, timestamptz, timestamptz[], boolean) IS
  'step of the aggregate overview_parts: adds the rows of a part';

CREATE FUNCTION logsvc_internal.overview_finish(state internal) RETURNS text[]
LANGUAGE c STABLE PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'logsvc_overview_finish';
COMMENT ON FUNCTION logsvc_internal.overview_finish(internal) IS
  'end of the aggregate overview_parts';

CREATE AGGREGATE logsvc_internal.overview_parts(
  part_id bigint, header bytea, body bytea, index_name text, filter bytea,
  from_time timestamptz, to_time timestamptz, starts timestamptz[], fields boolean) (
  SFUNC = logsvc_internal.overview_add, STYPE = internal,
  FINALFUNC = logsvc_internal.overview_finish, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);
COMMENT ON AGGREGATE logsvc_internal.overview_parts(bigint, bytea, bytea, text, bytea, timestamptz,
  timestamptz, timestamptz[], boolean) IS
  'the rows of parts that match a filter, as three JSON texts: [time, rows, errors] of each bucket of '
  'time (starts NULL: of none), the most frequent fields with their most frequent values (if asked for), '
  'whether these are all fields; NULL when there is no part';

CREATE FUNCTION logsvc_internal.sort_number(value text) RETURNS numeric
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_sort_number';
COMMENT ON FUNCTION logsvc_internal.sort_number(text) IS
  'the number that a JSON text is, also as a string; NULL for others';

CREATE FUNCTION logsvc_internal.sort_text(value text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_sort_text';
COMMENT ON FUNCTION logsvc_internal.sort_text(text) IS 'a JSON text as comparisons see it';

CREATE FUNCTION logsvc_internal.value_member(value text, path text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_value_member';
COMMENT ON FUNCTION logsvc_internal.value_member(text, text) IS
  'the member of a JSON text that has the path (as part_scan takes it); NULL when there is none';

CREATE FUNCTION logsvc_internal.value_without(value text, path text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_value_without';
COMMENT ON FUNCTION logsvc_internal.value_without(text, text) IS
  'a JSON text without the member that has the path (as part_scan takes it)';

CREATE FUNCTION logsvc_internal.value_eval(stage text, expression integer, fields text[])
RETURNS text
LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'logsvc_value_eval';
COMMENT ON FUNCTION logsvc_internal.value_eval(text, integer, text[]) IS
  'an expression of a stage of the query language, by its number, for the values (JSON texts) of '
  'the fields that it names';

CREATE FUNCTION logsvc_internal.value_test(stage text, expression integer, fields text[])
RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'logsvc_value_test';
COMMENT ON FUNCTION logsvc_internal.value_test(text, integer, text[]) IS
  'is the condition of a stage true for the values (JSON texts) of the fields that it names?';

CREATE FUNCTION logsvc_internal.rex_groups(stage text, value text) RETURNS text[]
LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'logsvc_rex_groups';
COMMENT ON FUNCTION logsvc_internal.rex_groups(text, text) IS
  'what the named groups of a stage rex hold, as JSON texts; NULL when nothing matches';

CREATE FUNCTION logsvc_internal.event_set(event text, names text[], "values" text[]) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'logsvc_event_set';
COMMENT ON FUNCTION logsvc_internal.event_set(text, text[], text[]) IS
  'an event (JSON) with more members; names that begin with a dot are attributes';

CREATE FUNCTION logsvc_internal.aggregate_number(value text, counter integer) RETURNS numeric
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_aggregate_number';
COMMENT ON FUNCTION logsvc_internal.aggregate_number(text, integer) IS
  'as sort_number; a search counts the values that are no numbers';

CREATE FUNCTION logsvc_internal.pattern_in_window(
  value text, max integer, samples integer, rare integer, sim double precision, once boolean)
RETURNS text[]
LANGUAGE c STABLE WINDOW PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'logsvc_pattern_in_window';
COMMENT ON FUNCTION logsvc_internal.pattern_in_window(text, integer, integer, integer, double precision,
  boolean) IS
  'the pattern of a row among the rows of its window: id, template, samples, place, count; with '
  'once only for one row of each pattern, the place alone for the others';

CREATE FUNCTION logsvc_internal.later_of(a text, b text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_later_of';
COMMENT ON FUNCTION logsvc_internal.later_of(text, text) IS 'the second of two';

CREATE FUNCTION logsvc_internal.earlier_of(a text, b text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_earlier_of';
COMMENT ON FUNCTION logsvc_internal.earlier_of(text, text) IS 'the first of two';

CREATE AGGREGATE logsvc_internal.first_known(text) (
  SFUNC = logsvc_internal.earlier_of, STYPE = text, PARALLEL = SAFE);
COMMENT ON AGGREGATE logsvc_internal.first_known(text) IS
  'the first value that is not NULL, in the order of the rows';

CREATE AGGREGATE logsvc_internal.last_known(text) (
  SFUNC = logsvc_internal.later_of, STYPE = text, PARALLEL = SAFE);
COMMENT ON AGGREGATE logsvc_internal.last_known(text) IS
  'the last value that is not NULL, in the order of the rows';
-- Searching.  These run as logsvc_reader: row security keeps them inside the
-- organization of the session.

CREATE FUNCTION logsvc_internal.search_json(
  q text DEFAULT NULL, earliest text DEFAULT NULL, latest text DEFAULT NULL,
  "limit" integer DEFAULT NULL, cursor text DEFAULT NULL, explain boolean DEFAULT NULL,
  timeout_ms integer DEFAULT NULL, include text[] DEFAULT NULL)
RETURNS json
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_search_json';
COMMENT ON FUNCTION logsvc_internal.search_json(text, text, text, integer, text, boolean, integer, text[])
  IS 'a search in the query language: the body of GET /api/v1/search';

CREATE FUNCTION logsvc_internal.query_logs_json(
  "from" text DEFAULT NULL, "to" text DEFAULT NULL, index text DEFAULT NULL,
  level text DEFAULT NULL, source text DEFAULT NULL, service text DEFAULT NULL,
  q text DEFAULT NULL, "order" text DEFAULT NULL, "limit" integer DEFAULT NULL,
  cursor text DEFAULT NULL, attributes jsonb DEFAULT NULL)
RETURNS json
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_query_logs_json';
COMMENT ON FUNCTION logsvc_internal.query_logs_json(text, text, text, text, text, text, text, text,
  integer, text, jsonb) IS
  'events by simple conditions: the body of GET /api/v1/logs; q is free text';

CREATE FUNCTION logsvc.search(
  q text DEFAULT NULL, earliest text DEFAULT NULL, latest text DEFAULT NULL,
  "limit" integer DEFAULT NULL, cursor text DEFAULT NULL, explain boolean DEFAULT NULL,
  timeout_ms integer DEFAULT NULL, include text[] DEFAULT NULL)
RETURNS jsonb
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_search';
COMMENT ON FUNCTION logsvc.search(text, text, text, integer, text, boolean, integer, text[])
  IS 'a search in the query language: {data, page, meta} as GET /api/v1/search';

CREATE FUNCTION logsvc.query_logs(
  "from" text DEFAULT NULL, "to" text DEFAULT NULL, index text DEFAULT NULL,
  level text DEFAULT NULL, source text DEFAULT NULL, service text DEFAULT NULL,
  q text DEFAULT NULL, "order" text DEFAULT NULL, "limit" integer DEFAULT NULL,
  cursor text DEFAULT NULL, attributes jsonb DEFAULT NULL)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT logsvc_internal.query_logs_json("from", "to", index, level, source, service, q, "order",
                                         "limit", cursor, attributes)::jsonb
$$;
COMMENT ON FUNCTION logsvc.query_logs(text, text, text, text, text, text, text, text, integer,
  text, jsonb) IS
  'events by simple conditions: {data, page, meta} as GET /api/v1/logs; q is free text';

CREATE FUNCTION logsvc.events(q text, "limit" integer DEFAULT NULL)
RETURNS TABLE (id text, "timestamp" timestamptz, ingested_at timestamptz, event text, level text,
               source text, service text, index text, trace_id text, span_id text,
               attributes jsonb)
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_events';
COMMENT ON FUNCTION logsvc.events(text, integer) IS
  'the events of a search as rows, newest first; all of them unless limit is given';

-- The newest 10,000 (specification 8.1).  Of each the 2,000 characters that an
-- evaluation considers, and one more, so that it is seen that there were more.
CREATE FUNCTION logsvc_internal.evaluation_rows_json(q text) RETURNS json
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT coalesce(json_agg(left(e.event, 2001)), '[]') FROM logsvc.events(q, 10000) e $$;
COMMENT ON FUNCTION logsvc_internal.evaluation_rows_json(text) IS
  'the rows of an evaluation that come from a search: event texts, newest first';

CREATE FUNCTION logsvc_internal.check_query(q text) RETURNS json
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_check_query';
COMMENT ON FUNCTION logsvc_internal.check_query(text) IS
  'warnings and SQL of a query that can be run; raises what the search would';

CREATE FUNCTION logsvc.explain_query(q text) RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT logsvc_internal.check_query(q) ->> 'sql' $$;
COMMENT ON FUNCTION logsvc.explain_query(text) IS
  'the SQL that a search becomes, with the values of its parameters';

CREATE FUNCTION logsvc.validate_query(q text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  checked jsonb;
  what text;
  details text;
BEGIN
  checked := logsvc_internal.check_query(q);
  RETURN jsonb_build_object('valid', true, 'errors', jsonb_build_array(),
    'warnings', checked -> 'warnings', 'sql', checked -> 'sql');
EXCEPTION WHEN SQLSTATE 'LQ001' OR SQLSTATE 'LQ002' OR SQLSTATE 'LS302' THEN
  GET STACKED DIAGNOSTICS what = MESSAGE_TEXT, details = PG_EXCEPTION_DETAIL;
  RETURN jsonb_build_object('valid', false,
    'errors', CASE WHEN details LIKE '[%' THEN details::jsonb
                   ELSE jsonb_build_array(jsonb_build_object('path', 'q', 'message', what)) END,
    'warnings', jsonb_build_array(), 'sql', NULL);
END
$$;
COMMENT ON FUNCTION logsvc.validate_query(text) IS
  'can the query be run? {valid, errors, warnings, sql}: errors as a search raises them, warnings '
  'also of fields that no event of its time range has';

GRANT EXECUTE ON FUNCTION
  logsvc_internal.part_scan(bigint, bytea, bytea, text, bytea, timestamptz, timestamptz, text[],
    boolean, integer, boolean, timestamptz, bigint, integer, text[], text[], text[], boolean[],
    text[], boolean),
  logsvc_internal.part_events(bigint, bytea, bytea, text, integer[], text[], text[]),
  logsvc_internal.group_add(internal, bigint, bytea, bytea, text, bytea, timestamptz, timestamptz,
    text[], timestamptz[], text[], text[]),
  logsvc_internal.group_finish(internal),
  logsvc_internal.group_parts(bigint, bytea, bytea, text, bytea, timestamptz, timestamptz, text[],
    timestamptz[], text[], text[]),
  logsvc_internal.group_rows(bytea),
  logsvc_internal.overview_add(internal, bigint, bytea, bytea, text, bytea, timestamptz, timestamptz,
    timestamptz[], boolean),
  logsvc_internal.overview_finish(internal),
  logsvc_internal.overview_parts(bigint, bytea, bytea, text, bytea, timestamptz, timestamptz,
    timestamptz[], boolean),
  logsvc_internal.sort_number(text), logsvc_internal.sort_text(text),
  logsvc_internal.value_member(text, text), logsvc_internal.value_without(text, text),
  logsvc_internal.value_eval(text, integer, text[]), logsvc_internal.value_test(text, integer, text[]),
  logsvc_internal.rex_groups(text, text), logsvc_internal.event_set(text, text[], text[]),
  logsvc_internal.aggregate_number(text, integer),
  logsvc_internal.pattern_in_window(text, integer, integer, integer, double precision, boolean),
  logsvc_internal.earlier_of(text, text), logsvc_internal.later_of(text, text),
  logsvc_internal.first_known(text), logsvc_internal.last_known(text)
TO logsvc_reader;
-- Ingest from SQL.

CREATE FUNCTION logsvc.ingest(events jsonb) RETURNS jsonb
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_ingest';
COMMENT ON FUNCTION logsvc.ingest(jsonb) IS
  'accepts events for the organization of the session: one event, an array or {"events": [...]}; '
  'they commit with the transaction; returns accepted, rejected, ids (null beyond 1,000), errors, '
  'and warnings when events are older than what their index keeps';

CREATE FUNCTION logsvc.log(
  event text, level text DEFAULT 'info', source text DEFAULT NULL,
  attributes jsonb DEFAULT NULL, index text DEFAULT 'main')
RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_log';
COMMENT ON FUNCTION logsvc.log(text, text, text, jsonb, text) IS
  'accepts one event, which commits with the transaction; returns its id';
-- Dead letters: what was accepted and could not be stored.

CREATE OR REPLACE FUNCTION logsvc_internal.wake_replayer() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_wake_replayer';
COMMENT ON FUNCTION logsvc_internal.wake_replayer() IS
'Has dead letters with status replaying put back into the queue, once the transaction has committed';

-- The first event: most dead letters have one.
CREATE OR REPLACE FUNCTION logsvc_internal.dead_letter_event(d logsvc_internal.dead_letter)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF d.header IS NULL OR d.reason = 'corrupt' THEN
		RETURN NULL;
	END IF;
	RETURN (SELECT s.event::jsonb FROM logsvc_internal.part_scan(0, d.header, d.body, NULL, NULL,
		d.min_time, d.max_time + interval '1 second', NULL, true, 1, false) AS s);
EXCEPTION WHEN OTHERS THEN
	RETURN NULL; -- bytes that cannot be read are why it is here
END
$$;
COMMENT ON FUNCTION logsvc_internal.dead_letter_event(logsvc_internal.dead_letter) IS
'The (first) event of a dead letter; NULL when it cannot be read or is not kept any more';

-- Messages of the server may name its insides: they are for the DBA.
CREATE OR REPLACE FUNCTION logsvc_internal.dead_letter_json(d logsvc_internal.dead_letter)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('dl_', d.id),
	'event', logsvc_internal.dead_letter_event(d),
	'events', d.rows,
	'reason', d.reason,
	'attempts', d.attempts,
	'firstFailedAt', logsvc_internal.iso_time(d.first_failed_at),
	'lastFailedAt', logsvc_internal.iso_time(d.last_failed_at),
	'lastError', CASE d.reason
		WHEN 'corrupt' THEN 'the stored bytes are corrupt'
		WHEN 'rejected' THEN 'the log store does not take the event'
		ELSE 'the log store was unavailable' END || ' (' || d.sqlstate || ')',
	'status', d.status,
	'closedAt', logsvc_internal.iso_time(d.closed_at));
COMMENT ON FUNCTION logsvc_internal.dead_letter_json(logsvc_internal.dead_letter) IS
'A dead letter as the API shows it';

CREATE OR REPLACE FUNCTION logsvc.list_dead_letters(
	reason text DEFAULT NULL, "from" timestamptz DEFAULT NULL, "to" timestamptz DEFAULT NULL,
	status text DEFAULT NULL, "limit" int DEFAULT NULL, cursor text DEFAULT NULL,
	organization text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	scope text := logsvc_internal.list_scope('dead letters', target, reason, "from"::text,
		"to"::text, status);
	size int := logsvc_internal.page_limit("limit");
	before uuid := logsvc_internal.open_position(scope, cursor)::uuid;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'pipelines:manage');
	IF reason NOT IN ('corrupt', 'rejected', 'store_unavailable') THEN
		PERFORM logsvc_internal.invalid('reason', 'must be corrupt, rejected or store_unavailable');
	ELSIF status NOT IN ('dead', 'replaying', 'replayed', 'discarded') THEN
		PERFORM logsvc_internal.invalid('status',
			'must be dead, replaying, replayed or discarded');
	END IF;
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.dead_letter_json(l) ORDER BY l.id DESC),
			array_agg(l.id::text ORDER BY l.id DESC), size, scope)
		FROM (SELECT * FROM logsvc_internal.dead_letter d
			WHERE d.organization_id = target AND (before IS NULL OR d.id < before)
				AND (NOT d.audit OR logsvc_internal.is_operator())
				AND (list_dead_letters.reason IS NULL OR d.reason = list_dead_letters.reason)
				AND ("from" IS NULL OR d.first_failed_at >= "from")
				AND ("to" IS NULL OR d.first_failed_at < "to")
				AND CASE WHEN list_dead_letters.status IS NULL
					THEN d.status IN ('dead', 'replaying')
					ELSE d.status = list_dead_letters.status END
			ORDER BY d.id DESC LIMIT size + 1) AS l);
END
$$;
COMMENT ON FUNCTION logsvc.list_dead_letters(text, timestamptz, timestamptz, text, int, text, text) IS
'Events that could not be stored, the latest first, a page at a time; from (inclusive) and to are of the first failure; status NULL: dead and replaying';

CREATE OR REPLACE FUNCTION logsvc.get_dead_letter(id text, organization text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	letter logsvc_internal.dead_letter;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'pipelines:manage');
	SELECT d.* INTO letter FROM logsvc_internal.dead_letter d
	WHERE d.id = logsvc_internal.parse_public_id('dl_', get_dead_letter.id)
		AND d.organization_id = target AND (NOT d.audit OR logsvc_internal.is_operator());
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND');
	END IF;
	RETURN logsvc_internal.dead_letter_json(letter);
END
$$;
COMMENT ON FUNCTION logsvc.get_dead_letter(text, text) IS
'A dead letter; organization NULL: the session''s';

-- The dead letters that a request means, locked.  Those that are closed, or on
-- their way back, are passed over in a filter and refused by name.
CREATE OR REPLACE FUNCTION logsvc_internal.choose_dead_letters(
	organization uuid, ids text[], filter jsonb)
RETURNS uuid[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	unknown text;
	named uuid[];
	chosen uuid[];
	wanted_reason text := filter ->> 'reason';
	wanted_from timestamptz;
	wanted_to timestamptz;
BEGIN
	IF (ids IS NULL) = (filter IS NULL) THEN
		PERFORM logsvc_internal.invalid('ids', 'must be given, or filter, and not both');
	ELSIF cardinality(ids) NOT BETWEEN 1 AND 1000 THEN
		PERFORM logsvc_internal.invalid('ids', 'must be 1 to 1,000');
	ELSIF filter IS NOT NULL AND jsonb_typeof(filter) <> 'object' THEN
		PERFORM logsvc_internal.invalid('filter', 'must be an object');
	END IF;
	IF filter IS NOT NULL THEN
		SELECT k INTO unknown FROM jsonb_object_keys(filter) AS k
		WHERE k NOT IN ('reason', 'from', 'to') LIMIT 1;
		IF FOUND THEN
			PERFORM logsvc_internal.invalid('filter.' || unknown, 'is not known', 'unknown');
		ELSIF wanted_reason NOT IN ('corrupt', 'rejected', 'store_unavailable') THEN
			PERFORM logsvc_internal.invalid('filter.reason',
				'must be corrupt, rejected or store_unavailable');
		END IF;
		BEGIN
			wanted_from := (filter ->> 'from')::timestamptz;
			wanted_to := (filter ->> 'to')::timestamptz;
		EXCEPTION WHEN data_exception THEN
			PERFORM logsvc_internal.invalid('filter', 'from and to must be times');
		END;
	ELSE
		named := ARRAY(SELECT DISTINCT logsvc_internal.parse_public_id('dl_', i)
			FROM unnest(ids) AS i);
	END IF;
	SELECT coalesce(array_agg(l.id), '{}') INTO chosen
	FROM (SELECT d.id FROM logsvc_internal.dead_letter d
		WHERE d.organization_id = choose_dead_letters.organization AND d.status = 'dead'
			AND (NOT d.audit OR logsvc_internal.is_operator())
			AND (named IS NULL OR d.id = ANY (named))
			AND (wanted_reason IS NULL OR d.reason = wanted_reason)
			AND (wanted_from IS NULL OR d.first_failed_at >= wanted_from)
			AND (wanted_to IS NULL OR d.first_failed_at < wanted_to)
		ORDER BY d.id FOR UPDATE) AS l;
	IF cardinality(chosen) < cardinality(named) THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such dead letter, or not any more');
	END IF;
	RETURN chosen;
END
$$;
COMMENT ON FUNCTION logsvc_internal.choose_dead_letters(uuid, text[], jsonb) IS
'Locks the dead letters of an organization that ids or filter {reason, from, to} name; NOT_FOUND for an id that is none';

CREATE OR REPLACE FUNCTION logsvc_internal.audit_dead_letters(
	organization uuid, action text, chosen uuid[], details jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.audit(organization, action,
		CASE WHEN cardinality(chosen) = 1
			THEN logsvc_internal.public_id('dl_', chosen[1]) ELSE '' END,
		details || jsonb_build_object('count', cardinality(chosen),
			'ids', (SELECT jsonb_agg(logsvc_internal.public_id('dl_', i))
				FROM unnest(chosen[:100]) AS i)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.audit_dead_letters(uuid, text, uuid[], jsonb) IS
'Writes down what was done to dead letters, with how many and the ids of the first 100';

CREATE OR REPLACE FUNCTION logsvc.replay_dead_letters(
	ids text[] DEFAULT NULL, filter jsonb DEFAULT NULL, organization text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	chosen uuid[];
	events bigint;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'pipelines:manage');
	PERFORM logsvc_internal.lock_organization(target);
	IF EXISTS (SELECT FROM logsvc_internal.dead_letter d
		WHERE d.organization_id = target AND d.status = 'replaying') THEN
		PERFORM logsvc_internal.raise_error('REPLAY_IN_PROGRESS');
	END IF;
	chosen := logsvc_internal.choose_dead_letters(target, ids, filter);
	WITH marked AS (UPDATE logsvc_internal.dead_letter d SET status = 'replaying'
		WHERE d.id = ANY (chosen) RETURNING d.rows)
	SELECT coalesce(sum(rows), 0) INTO events FROM marked;
	IF cardinality(chosen) > 0 THEN
		PERFORM logsvc_internal.audit_dead_letters(target, 'dead_letter.replayed', chosen,
			jsonb_build_object('events', events));
		PERFORM logsvc_internal.wake_replayer();
	END IF;
	RETURN jsonb_build_object('status', 'replaying', 'count', cardinality(chosen),
		'events', events);
END
$$;
COMMENT ON FUNCTION logsvc.replay_dead_letters(text[], jsonb, text) IS
'Has dead letters put back into the queue, after the transaction: ids, or filter {reason, from, to}; organization NULL: the session''s';

CREATE OR REPLACE FUNCTION logsvc.discard_dead_letters(
	reason text, ids text[] DEFAULT NULL, filter jsonb DEFAULT NULL,
	organization text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	chosen uuid[];
	events bigint;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'logs:export');
	PERFORM logsvc_internal.require_live();
	IF coalesce(btrim(reason), '') = '' OR length(reason) > 1000 THEN
		PERFORM logsvc_internal.invalid('reason', 'must have 1 to 1,000 characters');
	END IF;
	chosen := logsvc_internal.choose_dead_letters(target, ids, filter);
	IF EXISTS (SELECT FROM logsvc_internal.dead_letter d WHERE d.id = ANY (chosen) AND d.audit) THEN
		PERFORM logsvc_internal.raise_error('PROTECTED', 'entries of the audit log stay');
	END IF;
	WITH marked AS (UPDATE logsvc_internal.dead_letter d
		SET status = 'discarded', closed_at = now(), header = NULL, body = NULL
		WHERE d.id = ANY (chosen) RETURNING d.rows)
	SELECT coalesce(sum(rows), 0) INTO events FROM marked;
	IF cardinality(chosen) > 0 THEN
		PERFORM logsvc_internal.audit_dead_letters(target, 'dead_letter.discarded', chosen,
			jsonb_build_object('events', events, 'reason', reason));
	END IF;
	RETURN jsonb_build_object('count', cardinality(chosen), 'events', events);
END
$$;
COMMENT ON FUNCTION logsvc.discard_dead_letters(text, text[], jsonb, text) IS
'Gives dead letters up for good, with a reason for the audit log: ids, or filter {reason, from, to}; organization NULL: the session''s';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_dead_letters(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	DELETE FROM logsvc_internal.dead_letter d WHERE d.closed_at < at - interval '30 days';
END;
COMMENT ON FUNCTION logsvc_internal.purge_dead_letters(timestamptz) IS
'Scheduled: forgets dead letters that were replayed or discarded 30 days ago';

-- ---- for operators ----

CREATE OR REPLACE VIEW logsvc.dead_letters AS
SELECT logsvc_internal.public_id('dl_', d.id) AS id, o.slug AS organization, d.status, d.reason,
	d.rows AS events, octet_length(d.header) + octet_length(d.body) AS bytes, d.attempts,
	d.first_failed_at, d.last_failed_at, d.sqlstate, d.last_error, d.closed_at, d.audit, d.batch
FROM logsvc_internal.dead_letter d
LEFT JOIN logsvc_internal.organization o ON o.id = d.organization_id;
COMMENT ON VIEW logsvc.dead_letters IS
'Operators: accepted events that could not be stored, of all organizations, and what became of them';
GRANT SELECT ON logsvc.dead_letters TO logsvc_admin;
-- Indexes as the REST API shows them.

-- Sizes and times are of what writers have stored: events of the last second
-- may still wait.  Those of the audit log tell when something happened: they are
-- for who may read it.
CREATE OR REPLACE FUNCTION logsvc_internal.index_json(i logsvc_internal.log_index) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT jsonb_build_object('name', i.name, 'description', i.description,
		'retentionDays', logsvc_internal.retention_days_of(i.organization_id, i.name),
		'sizeBytes', CASE WHEN shown THEN coalesce(sum(octet_length(p.header) + octet_length(p.body)), 0) END,
		'events', CASE WHEN shown THEN coalesce(sum(p.rows), 0) END,
		'oldest', logsvc_internal.iso_time(min(p.min_time)),
		'newest', logsvc_internal.iso_time(max(p.max_time)),
		'protected', i.name = 'main' OR starts_with(i.name, '_'))
	FROM (SELECT i.name <> '_audit' OR logsvc_internal.may_read_audit()) AS m (shown)
	LEFT JOIN logsvc_internal.part p
		ON shown AND p.organization_id = i.organization_id AND p.index_name = i.name
	GROUP BY shown);
COMMENT ON FUNCTION logsvc_internal.index_json(logsvc_internal.log_index) IS
'An index as the API shows it; sizeBytes: on disk, compressed; of _audit NULL for who may not read it';

CREATE OR REPLACE FUNCTION logsvc.list_indexes("limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(NULL);
	scope text := logsvc_internal.list_scope('indexes', target);
	size int := logsvc_internal.page_limit("limit");
	after text := logsvc_internal.open_position(scope, cursor);
BEGIN
	PERFORM logsvc_internal.require_permission('logs:read');
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.index_json(i) ORDER BY i.name COLLATE "C"),
			array_agg(i.name ORDER BY i.name COLLATE "C"), size, scope)
		FROM (SELECT * FROM logsvc_internal.log_index
			WHERE organization_id = target AND (after IS NULL OR name COLLATE "C" > after)
				AND logsvc_internal.may_use_index(name)
			ORDER BY name COLLATE "C" LIMIT size + 1) AS i);
END
$$;
COMMENT ON FUNCTION logsvc.list_indexes(int, text) IS
'The indexes of the session''s organization by name, a page at a time';

CREATE OR REPLACE FUNCTION logsvc_internal.index_by_name(name text) RETURNS logsvc_internal.log_index
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_index logsvc_internal.log_index;
BEGIN
	SELECT i.* INTO found_index FROM logsvc_internal.log_index i
	WHERE i.organization_id = logsvc_internal.current_organization() AND i.name = index_by_name.name
		AND logsvc_internal.may_use_index(i.name);
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('INDEX_NOT_FOUND');
	END IF;
	RETURN found_index;
END
$$;
COMMENT ON FUNCTION logsvc_internal.index_by_name(text) IS
'An index of the session''s organization';

CREATE OR REPLACE FUNCTION logsvc.get_index(name text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_permission('logs:read');
	RETURN logsvc_internal.index_json(logsvc_internal.index_by_name(name));
END
$$;
COMMENT ON FUNCTION logsvc.get_index(text) IS 'An index of the session''s organization';

CREATE OR REPLACE FUNCTION logsvc_internal.check_description(description text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF length(description) > 2000 THEN
		PERFORM logsvc_internal.invalid('description', 'must not be longer than 2000 characters');
	END IF;
	RETURN nullif(btrim(description), '');
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_description(text) IS
'A description, at most 2,000 characters; empty is none';

CREATE OR REPLACE FUNCTION logsvc.create_index(
	name text, retention_days int DEFAULT NULL, description text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	created logsvc_internal.log_index;
BEGIN
	PERFORM logsvc_internal.require_permission('org:manage');
	target := logsvc_internal.current_organization();
	IF name ~ '^[a-z_][a-z0-9_-]{0,63}$' IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('name',
			'must be 1 to 64 of a-z, 0-9, _ and -, beginning with a letter');
	ELSIF starts_with(name, '_') THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'names with _ are reserved');
	END IF;
	PERFORM logsvc_internal.check_retention(target, retention_days);
	description := logsvc_internal.check_description(description);
	PERFORM logsvc_internal.lock_organization(target);
	IF EXISTS (SELECT FROM logsvc_internal.log_index i
		WHERE i.organization_id = target AND i.name = create_index.name) THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the index exists already');
	ELSIF EXISTS (SELECT FROM logsvc_internal.dropped_index d
		WHERE d.organization_id = target AND d.name = create_index.name) THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS',
			'the events of an index of this name are still being removed');
	END IF;
	PERFORM logsvc_internal.check_plan_limit(target, 'indexes');
	INSERT INTO logsvc_internal.log_index AS i (organization_id, name, retention_days, description)
	VALUES (target, create_index.name, create_index.retention_days, create_index.description)
	RETURNING * INTO created;
	PERFORM logsvc_internal.audit(target, 'index.created', created.name,
		jsonb_build_object('retentionDays', created.retention_days));
	RETURN logsvc_internal.index_json(created);
END
$$;
COMMENT ON FUNCTION logsvc.create_index(text, int, text) IS
'Creates an index in the session''s organization; retention NULL: the organization''s';

CREATE OR REPLACE FUNCTION logsvc.update_index(
	name text, retention_days int DEFAULT NULL, description text DEFAULT NULL,
	given text[] DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	changed logsvc_internal.log_index;
BEGIN
	PERFORM logsvc_internal.require_permission('org:manage');
	PERFORM logsvc_internal.lock_organization(logsvc_internal.current_organization());
	changed := logsvc_internal.index_by_name(name);
	IF starts_with(name, '_') THEN
		PERFORM logsvc_internal.raise_error('PROTECTED', 'indexes with _ belong to the service');
	END IF;
	IF logsvc_internal.is_given(given, 'retentionDays', retention_days IS NOT NULL) THEN
		PERFORM logsvc_internal.check_retention(changed.organization_id, retention_days);
		changed.retention_days := retention_days;
	END IF;
	IF logsvc_internal.is_given(given, 'description', description IS NOT NULL) THEN
		changed.description := logsvc_internal.check_description(description);
	END IF;
	UPDATE logsvc_internal.log_index i
	SET retention_days = changed.retention_days, description = changed.description
	WHERE i.id = changed.id AND i.organization_id = changed.organization_id;
	PERFORM logsvc_internal.audit(changed.organization_id, 'index.updated', changed.name,
		jsonb_build_object('retentionDays', changed.retention_days));
	RETURN logsvc_internal.index_json(changed);
END
$$;
COMMENT ON FUNCTION logsvc.update_index(text, int, text, text[]) IS
'Changes an index of the session''s organization; what is NULL stays, unless given names it';

CREATE OR REPLACE FUNCTION logsvc.delete_index(name text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	doomed logsvc_internal.log_index;
BEGIN
	PERFORM logsvc_internal.require_permission('org:manage');
	PERFORM logsvc_internal.lock_organization(logsvc_internal.current_organization());
	doomed := logsvc_internal.index_by_name(name);
	IF doomed.name = 'main' OR starts_with(doomed.name, '_') THEN
		PERFORM logsvc_internal.raise_error('PROTECTED', 'this index cannot be deleted');
	END IF;
	DELETE FROM logsvc_internal.log_index i
	WHERE i.id = doomed.id AND i.organization_id = doomed.organization_id;
	INSERT INTO logsvc_internal.dropped_index (organization_id, name, batch)
	SELECT doomed.organization_id, doomed.name, s.last_value FROM logsvc_internal.batch_number s;
	PERFORM logsvc_internal.audit(doomed.organization_id, 'index.deleted', doomed.name);
	RETURN jsonb_build_object('name', doomed.name, 'status', 'deleting');
END
$$;
COMMENT ON FUNCTION logsvc.delete_index(text) IS
'Deletes an index of the session''s organization: it takes no events any more, those it has are removed within minutes';

-- Events that were accepted before may still be in the queue, or on their way
-- into it: the name is free when none of that time waits any more.
CREATE OR REPLACE FUNCTION logsvc_internal.remove_dropped_indexes(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	dropped logsvc_internal.dropped_index;
	removed bigint;
BEGIN
	FOR dropped IN SELECT * FROM logsvc_internal.dropped_index d ORDER BY d.dropped_at
		FOR UPDATE SKIP LOCKED
	LOOP
		DELETE FROM logsvc_internal.part p
		WHERE p.organization_id = dropped.organization_id AND p.index_name = dropped.name
			AND p.id IN (SELECT q.id FROM logsvc_internal.part q
				WHERE q.organization_id = dropped.organization_id
					AND q.index_name = dropped.name LIMIT 10000);
		GET DIAGNOSTICS removed = ROW_COUNT;
		IF removed = 0 AND dropped.dropped_at < at - interval '2 minutes'
			AND NOT EXISTS (SELECT FROM logsvc_internal.queue q
				WHERE q.organization_id = dropped.organization_id AND coalesce(q.batch, q.id) <= dropped.batch) THEN
			DELETE FROM logsvc_internal.dropped_index d
			WHERE d.organization_id = dropped.organization_id AND d.name = dropped.name;
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.remove_dropped_indexes(timestamptz) IS
'Scheduled: removes the events of deleted indexes, then frees their names';

INSERT INTO logsvc_internal.scheduled_task (name, period)
VALUES ('remove_dropped_indexes', 'minute'), ('erase_organizations', 'minute')
ON CONFLICT DO NOTHING;
-- Events by id, the fields and values that events have, and their templates:
-- what a person looks at before and after a search.  All run as logsvc_reader.

CREATE OR REPLACE FUNCTION logsvc_internal.event_json(id text) RETURNS json
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_event_json';
COMMENT ON FUNCTION logsvc_internal.event_json(text) IS
  'the event of an id, in any index whose name does not begin with _: the body of '
  'GET /api/v1/logs/{id}';

CREATE OR REPLACE FUNCTION logsvc_internal.context_json(
  id text, before integer DEFAULT NULL, after integer DEFAULT NULL, scope text DEFAULT NULL)
RETURNS json
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_context_json';
COMMENT ON FUNCTION logsvc_internal.context_json(text, integer, integer, text) IS
  'an event among its neighbours in time, oldest first: up to 100 (default 10) before and after it, '
  'of its index and its source (scope ''source'') or of its index (''index''): the body of '
  'GET /api/v1/logs/{id}/context';

CREATE OR REPLACE FUNCTION logsvc.get_log(id text) RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT logsvc_internal.event_json(id)::jsonb -> 'data' $$;
COMMENT ON FUNCTION logsvc.get_log(text) IS
  'the event of an id; NOT_FOUND when there is none that the session may see';

CREATE OR REPLACE FUNCTION logsvc.get_log_context(
  id text, before integer DEFAULT NULL, after integer DEFAULT NULL, scope text DEFAULT NULL)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT logsvc_internal.context_json(id, before, after, scope)::jsonb $$;
COMMENT ON FUNCTION logsvc.get_log_context(text, integer, integer, text) IS
  'an event among its neighbours in time, oldest first: {data, page, meta} as '
  'GET /api/v1/logs/{id}/context';

-- Takes part of its arguments from the request, which is sent back to it each second.
CREATE OR REPLACE FUNCTION logsvc_internal.tail(q text DEFAULT NULL)
RETURNS logsvc_internal.http_response
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_tail';
COMMENT ON FUNCTION logsvc_internal.tail(text) IS
  'the events that came in since the last call for this request, as server-sent events: '
  'GET /api/v1/logs/tail';

-- ---- fields ----

CREATE OR REPLACE FUNCTION logsvc_internal.part_fields(part_id bigint, header bytea)
RETURNS TABLE (name text, type text)
LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 20 COST 100
AS 'MODULE_PATHNAME', 'logsvc_part_fields';
COMMENT ON FUNCTION logsvc_internal.part_fields(bigint, bytea) IS
  'the attributes of the events of a part and the types of their values (string, number, boolean, '
  'null, json), from its header alone';

CREATE OR REPLACE FUNCTION logsvc_internal.searched_indexes(index text) RETURNS text[]
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_searched_indexes';
COMMENT ON FUNCTION logsvc_internal.searched_indexes(text) IS
  'the indexes that a search with index=... looks into; NULL: that it looks into by itself';

-- The members of objects too, as a.b, down to 5 levels; more than that, and lists, are values.
CREATE OR REPLACE FUNCTION logsvc_internal.flat_attributes(attributes jsonb)
RETURNS TABLE (name text, value jsonb)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
  WITH RECURSIVE member(name, value, depth) AS (
    SELECT key, value, 1 FROM jsonb_each(attributes)
    UNION ALL
    SELECT m.name || '.' || e.key, e.value, m.depth + 1
      FROM member m CROSS JOIN LATERAL
           jsonb_each(CASE WHEN jsonb_typeof(m.value) = 'object' THEN m.value ELSE '{}' END) e
     WHERE m.depth < 5)
  SELECT name, value FROM member
   WHERE jsonb_typeof(value) <> 'object' OR value = '{}' OR depth = 5
$$;
COMMENT ON FUNCTION logsvc_internal.flat_attributes(jsonb) IS
  'attributes by their paths as the query language names them';

CREATE OR REPLACE FUNCTION logsvc_internal.index_scope(index text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF index !~ '^[A-Za-z0-9_*-]{1,64}$' THEN
    PERFORM logsvc_internal.raise_error('INDEX_NOT_FOUND');
  END IF;
  RETURN coalesce('index=' || index || ' ', '');
END
$$;
COMMENT ON FUNCTION logsvc_internal.index_scope(text) IS
  'the begin of a query that looks into an index (* is a wildcard); NULL: into all';

CREATE OR REPLACE FUNCTION logsvc.search_fields(
  index text DEFAULT NULL, earliest text DEFAULT NULL, latest text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  answer jsonb := logsvc_internal.search_json(
    logsvc_internal.index_scope(index) || '| fields - event', earliest, latest, 5000);
  from_time timestamptz := (answer #>> '{meta,range,earliest}')::timestamptz;
  to_time timestamptz := (answer #>> '{meta,range,latest}')::timestamptz;
  found jsonb;
  size integer := jsonb_array_length(answer #> '{data,rows}');
  many jsonb;
BEGIN
  WITH sample AS MATERIALIZED (
    SELECT row, place <= size / 2 AS newer
      FROM jsonb_array_elements(answer #> '{data,rows}') WITH ORDINALITY r(row, place)),
  value AS (
    SELECT n.name, sample.row -> n.member AS value, true AS builtin, newer
      FROM sample CROSS JOIN (VALUES ('index', 'index'), ('level', 'level'), ('service', 'service'),
        ('source', 'source'), ('span_id', 'spanId'), ('trace_id', 'traceId')) n(name, member)
     WHERE sample.row ? n.member
    UNION ALL
    SELECT f.name, f.value, false, newer
      FROM sample CROSS JOIN LATERAL logsvc_internal.flat_attributes(sample.row -> 'attributes') f
     WHERE sample.row ? 'attributes'),
  each AS (
    SELECT name, builtin, value, count(*) AS n, bool_or(newer) AS newer, bool_or(NOT newer) AS older
      FROM value GROUP BY name, builtin, value),
  ranked AS (
    SELECT *, row_number() OVER (PARTITION BY name, builtin
                                 ORDER BY n DESC, value::text COLLATE "C") AS rank
      FROM each),
  sampled AS (
    SELECT name, builtin, array_agg(DISTINCT jsonb_typeof(value)) AS types, sum(n) AS n,
           count(*) AS different,
           -- Of all values, by those seen once and twice (Chao), and by those that both halves of
           -- the sample have (capture and recapture, Chapman); both are low where values come in bursts.
           greatest(
             count(*) + count(*) FILTER (WHERE n = 1) * (count(*) FILTER (WHERE n = 1) - 1)
                        / (2.0 * (count(*) FILTER (WHERE n = 2) + 1)),
             (count(*) FILTER (WHERE newer) + 1) * (count(*) FILTER (WHERE older) + 1)
               / (count(*) FILTER (WHERE newer AND older) + 1.0) - 1) AS estimate,
           jsonb_agg(CASE WHEN length(value::text) > 200 THEN to_jsonb(left(value #>> '{}', 200))
                          ELSE value END ORDER BY rank) FILTER (WHERE rank <= 5) AS examples
      FROM ranked GROUP BY name, builtin),
  total AS (
    SELECT coalesce(sum(rows), 0) AS rows FROM (
      SELECT p.rows FROM logsvc_internal.part p
       WHERE p.organization_id = logsvc_internal.current_organization()
         AND p.index_name = ANY (logsvc_internal.searched_indexes(search_fields.index))
         AND p.day BETWEEN (from_time AT TIME ZONE 'UTC')::date AND (to_time AT TIME ZONE 'UTC')::date
         AND p.max_time >= from_time AND p.min_time < to_time
      UNION ALL
      SELECT q.rows FROM logsvc_internal.queue q
       WHERE q.organization_id = logsvc_internal.current_organization()
         AND q.max_time >= from_time AND q.min_time < to_time) r),
  -- Among all events a value is at least as frequent as among those of a short time.
  high AS (
    SELECT s.name, s.builtin, round(least(s.estimate, t.rows * s.different / size), -3) AS estimate
      FROM sampled s CROSS JOIN total t
     WHERE (answer #>> '{page,hasMore}')::boolean AND 'string' = ANY (s.types)
       AND NOT (s.builtin AND s.name IN ('trace_id', 'span_id'))),
  header AS (
    SELECT p.id, p.header FROM logsvc_internal.part p
     WHERE p.organization_id = logsvc_internal.current_organization()
       AND p.index_name = ANY (logsvc_internal.searched_indexes(search_fields.index))
       AND p.day BETWEEN (from_time AT TIME ZONE 'UTC')::date AND (to_time AT TIME ZONE 'UTC')::date
       AND p.max_time >= from_time AND p.min_time < to_time
       -- A part with many attributes or shapes has the lists of them in its body.
       AND CASE WHEN octet_length(p.header) > 5 THEN get_byte(p.header, 5) & 12 = 0 ELSE true END),
  stored AS (
    SELECT f.name, array_agg(DISTINCT f.type) AS types
      FROM header h CROSS JOIN LATERAL logsvc_internal.part_fields(h.id, h.header) f
     WHERE f.type <> 'json'
       AND NOT EXISTS (SELECT FROM sampled s WHERE NOT s.builtin AND s.name = f.name)
     GROUP BY f.name)
  SELECT jsonb_agg(f.field ORDER BY f.builtin DESC, f.name COLLATE "C"),
         (SELECT jsonb_agg(jsonb_build_object('code', 'HIGH_CARDINALITY', 'field', h.name,
                   'builtin', h.builtin, 'estimate', h.estimate, 'message', format(
                     '%s seems to have some %s different values, more than 100,000: keep such values '
                     'in the text of the event and search for them as words', h.name, h.estimate))
                   ORDER BY h.estimate DESC, h.name COLLATE "C")
            FROM high h WHERE h.estimate > 100000)
    INTO found, many FROM (
    SELECT builtin, name, jsonb_build_object('name', name, 'builtin', builtin,
             'types', to_jsonb(types), 'events', n, 'cardinality', different,
             'examples', coalesce(examples, '[]')) AS field
      FROM sampled
    UNION ALL
    SELECT false, name, jsonb_build_object('name', name, 'builtin', false, 'types', to_jsonb(types),
             'events', 0, 'cardinality', null, 'examples', jsonb_build_array())
      FROM stored) f;
  RETURN jsonb_build_object('data', coalesce(found, '[]'),
    'page', jsonb_build_object('nextCursor', null, 'hasMore', false),
    'meta', jsonb_build_object('range', answer #> '{meta,range}',
      'sampledEvents', size, 'warnings', coalesce(many, '[]'),
      'complete', NOT (answer #>> '{page,hasMore}')::boolean));
END
$$;
COMMENT ON FUNCTION logsvc.search_fields(text, text, text) IS
  'the fields of the events of an index (default: all) and a time range: names, types, and of the '
  'newest 5,000 events how many have it (events), how many values there are (cardinality) and the '
  'five most frequent (examples). A field that older events alone have is there with 0 events. '
  'meta.warnings names texts of which there seem to be over 100,000, estimated from that sample.';

-- A path of plain names stands for itself; every other name goes in backticks, which none can hold.
CREATE OR REPLACE FUNCTION logsvc_internal.quoted_field(name text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF name IN ('index', 'level', 'service', 'source', 'span_id', 'trace_id') THEN
    RETURN name;
  ELSIF name = '' OR length(name) > 1000 OR strpos(name, '`') > 0 THEN
    PERFORM logsvc_internal.invalid('name', 'not the name of a field that has values to list');
  ELSIF name IN ('event', 'timestamp', 'ingested_at', 'id', 'template_id') THEN
    PERFORM logsvc_internal.invalid('name', 'every event has another value of this field');
  END IF;
  RETURN CASE WHEN name ~ '^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$' THEN name ELSE '`' || name || '`' END;
END
$$;
COMMENT ON FUNCTION logsvc_internal.quoted_field(text) IS
  'the name of a field as the query language takes it';

CREATE OR REPLACE FUNCTION logsvc.search_field_values(
  name text, prefix text DEFAULT NULL, index text DEFAULT NULL, earliest text DEFAULT NULL,
  latest text DEFAULT NULL, "limit" integer DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  field text := logsvc_internal.quoted_field(name);
  size integer := coalesce("limit", 50);
  answer jsonb;
BEGIN
  IF size NOT BETWEEN 1 AND 1000 THEN
    PERFORM logsvc_internal.invalid('limit', 'must be between 1 and 1000');
  ELSIF length(prefix) > 200 THEN
    PERFORM logsvc_internal.invalid('prefix', 'must not be longer than 200 characters');
  END IF;
  answer := logsvc_internal.search_json(
    logsvc_internal.index_scope(index)
    || CASE WHEN coalesce(prefix, '') = '' THEN field || '=*'
            ELSE field || ' MATCHES "^(?i)' || regexp_replace(prefix, '(\W)', '\\\1', 'g') || '"'
       END
    || ' | top ' || size + 1 || ' ' || field, earliest, latest, size + 1);
  RETURN jsonb_build_object(
    'data', coalesce((SELECT jsonb_agg(jsonb_build_object('value', row -> 0, 'count', row -> 1)
                                       ORDER BY n)
       FROM jsonb_array_elements(answer #> '{data,rows}') WITH ORDINALITY r(row, n)
      WHERE n <= size), '[]'),
    'page', jsonb_build_object('nextCursor', null, 'hasMore', false),
    'meta', jsonb_build_object('range', answer #> '{meta,range}',
      'complete', jsonb_array_length(answer #> '{data,rows}') <= size));
END
$$;
COMMENT ON FUNCTION logsvc.search_field_values(text, text, text, text, text, integer) IS
  'the values of a field that begin with a prefix (upper or lower case), the most frequent first, '
  'with their counts: up to 1,000 (default 50); meta.complete tells whether these are all';

-- ---- templates ----

CREATE OR REPLACE FUNCTION logsvc_internal.find_templates(
  q text, earliest text, latest text, size integer, OUT templates jsonb, OUT meta jsonb)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  answer jsonb := logsvc_internal.search_json(
    coalesce(q, '') || ' | patterns max=' || size || ' samples=3', earliest, latest, size);
BEGIN
  SELECT coalesce(jsonb_agg(jsonb_build_object('id', r.row -> c.id, 'template', r.row -> c.template,
           'count', r.row -> c.count, 'share', r.row -> c.share, 'firstSeen', r.row -> c.first_seen,
           'lastSeen', r.row -> c.last_seen, 'samples', r.row -> c.samples) ORDER BY r.n), '[]')
    INTO templates
    FROM jsonb_array_elements(answer #> '{data,rows}') WITH ORDINALITY r(row, n),
         (SELECT (max(n) FILTER (WHERE name = 'template_id'))::int AS id,
                 (max(n) FILTER (WHERE name = 'template'))::int AS template,
                 (max(n) FILTER (WHERE name = 'count'))::int AS count,
                 (max(n) FILTER (WHERE name = 'share'))::int AS share,
                 (max(n) FILTER (WHERE name = 'first_seen'))::int AS first_seen,
                 (max(n) FILTER (WHERE name = 'last_seen'))::int AS last_seen,
                 (max(n) FILTER (WHERE name = 'samples'))::int AS samples
            FROM (SELECT c.value ->> 'name' AS name, c.n - 1 AS n
                    FROM jsonb_array_elements(answer #> '{data,columns}') WITH ORDINALITY c(value, n)) x
         ) c;
  meta := answer -> 'meta';
END
$$;
COMMENT ON FUNCTION logsvc_internal.find_templates(text, text, text, integer) IS
  'the templates of the events that a query finds, as the API shows them, and meta of the search';

CREATE OR REPLACE FUNCTION logsvc.list_templates(
  q text DEFAULT NULL, earliest text DEFAULT NULL, latest text DEFAULT NULL,
  "limit" integer DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  size integer := coalesce("limit", 200);
  found record;
BEGIN
  IF size NOT BETWEEN 1 AND 500 THEN
    PERFORM logsvc_internal.invalid('limit', 'must be between 1 and 500');
  END IF;
  found := logsvc_internal.find_templates(q, earliest, latest, size);
  RETURN jsonb_build_object('data', found.templates,
    'page', jsonb_build_object('nextCursor', null, 'hasMore', false), 'meta', found.meta);
END
$$;
COMMENT ON FUNCTION logsvc.list_templates(text, text, text, integer) IS
  'the templates of the events that a query finds (default: all of the last 24 hours), the most '
  'frequent first: up to 500 (default 200)';

CREATE OR REPLACE FUNCTION logsvc.get_template(
  template_id text, q text DEFAULT NULL, earliest text DEFAULT NULL, latest text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  found jsonb := jsonb_path_query_first(
    (logsvc_internal.find_templates(q, earliest, latest, 500)).templates,
    '$[*] ? (@.id == $id)', jsonb_build_object('id', template_id));
BEGIN
  IF found IS NULL THEN
    PERFORM logsvc_internal.raise_error('NOT_FOUND');
  END IF;
  RETURN found;
END
$$;
COMMENT ON FUNCTION logsvc.get_template(text, text, text, text) IS
  'one of the 500 most frequent templates of the events that a query finds, by its id';

GRANT EXECUTE ON FUNCTION
  logsvc_internal.part_fields(bigint, bytea), logsvc_internal.flat_attributes(jsonb),
  logsvc_internal.index_scope(text), logsvc_internal.quoted_field(text),
  logsvc_internal.find_templates(text, text, text, integer),
  logsvc_internal.raise_error(text, text, jsonb, text), logsvc_internal.invalid(text, text, text)
TO logsvc_reader;
-- The events of the session's organization as a relation, for joins with other tables.

CREATE OR REPLACE FUNCTION logsvc_internal.logs_handler() RETURNS fdw_handler
LANGUAGE c PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'logsvc_logs_handler';
COMMENT ON FUNCTION logsvc_internal.logs_handler() IS
  'scans of logsvc.logs as searches';

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_foreign_data_wrapper WHERE fdwname = 'logsvc_logs') THEN
    CREATE FOREIGN DATA WRAPPER logsvc_logs HANDLER logsvc_internal.logs_handler;
    COMMENT ON FOREIGN DATA WRAPPER logsvc_logs IS 'events of logsvc as rows';
    CREATE SERVER logsvc_logs FOREIGN DATA WRAPPER logsvc_logs;
    COMMENT ON SERVER logsvc_logs IS 'the store of logsvc in this database';
    CREATE FOREIGN TABLE logsvc_internal.logs (
      id text, "timestamp" timestamptz, ingested_at timestamptz, event text, level text,
      source text, service text, index text, trace_id text, span_id text, attributes jsonb
    ) SERVER logsvc_logs;
    COMMENT ON FOREIGN TABLE logsvc_internal.logs IS 'what the view logsvc.logs shows';
  END IF;
END
$$;

CREATE OR REPLACE VIEW logsvc.logs AS
SELECT id, "timestamp", ingested_at, event, level, source, service, index, trace_id, span_id,
       attributes
  FROM logsvc_internal.logs;
COMMENT ON VIEW logsvc.logs IS
  'the events of the session''s organization in all indexes that a search looks into by itself. '
  'Comparisons of timestamp, index, level, source and service (=, IN; timestamp also < <= > >=) '
  'narrow what is read';
GRANT SELECT ON logsvc.logs TO logsvc_admin, logsvc_tenant;
-- Evaluation: functions.

-- The first of the month, UTC: bundles reset then (specification 8.2).
CREATE FUNCTION logsvc_internal.credit_month(at timestamptz DEFAULT now()) RETURNS date
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT date_trunc('month', at AT TIME ZONE 'UTC')::date $$;
COMMENT ON FUNCTION logsvc_internal.credit_month(timestamptz) IS
  'the first day of the month of that time, UTC';

-- What an organization has in the month of that time, in micro-credits.  The limit is the
-- bundle, by the plan or by the operator, and what was granted (NULL: unlimited, and so is what
-- remains); credits that an operator took count as used.
CREATE FUNCTION logsvc_internal.credit_balance(
  organization uuid, at timestamptz DEFAULT now(),
  OUT credit_limit bigint, OUT used bigint, OUT reserved bigint, OUT remaining bigint,
  OUT resets_at timestamptz)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  this_month date := logsvc_internal.credit_month(at);
BEGIN
  -- Far beyond any real limit, but within bigint.
  SELECT CASE WHEN l.amount IS NOT NULL
           THEN least(l.amount::numeric * 1000000 + coalesce(m.granted, 0), 4e18)::bigint END,
         coalesce(m.used, 0)
    INTO credit_limit, used
    FROM logsvc_internal.organization o
    CROSS JOIN LATERAL (SELECT logsvc_internal.plan_limit_of(o.id, 'ai_credits_per_month')) l (amount)
    LEFT JOIN logsvc_internal.ai_credit_month m
      ON m.organization_id = o.id AND m.month = this_month
   WHERE o.id = credit_balance.organization;
  SELECT coalesce(sum(r.micro_credits), 0) INTO reserved
    FROM logsvc_internal.ai_credit_reservation r
   WHERE r.organization_id = credit_balance.organization AND r.month = this_month
     AND r.expires_at > clock_timestamp();
  IF credit_limit IS NOT NULL THEN
    remaining := greatest(credit_limit - used, 0);
  END IF;
  resets_at := (this_month + interval '1 month') AT TIME ZONE 'UTC';
END
$$;
COMMENT ON FUNCTION logsvc_internal.credit_balance(uuid, timestamptz) IS
  'AI credits of an organization in the month of that time, in micro-credits; limit and remaining '
  'NULL: unlimited';

-- Everything that must be known and reserved before a call to a model, in one
-- statement of the caller: the model that will be used (decision 8), whether
-- the region is allowed, whether credits are left, and the reservation.  A
-- call may start on the last remaining fraction (decision 35).
CREATE FUNCTION logsvc_internal.begin_evaluation(
  organization uuid, wanted_model text, region text, tokens_in bigint, tokens_out bigint,
  free boolean, lifetime interval, provider text,
  OUT model text, OUT provider_model text, OUT input_rate bigint, OUT output_rate bigint, OUT region_allowed boolean,
  OUT credits_left boolean, OUT reservation bigint, OUT credit_limit bigint,
  OUT remaining bigint, OUT resets_at timestamptz)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  balance record;
  cost bigint;
BEGIN
  SELECT m.id, m.input_rate, m.output_rate INTO model, input_rate, output_rate
    FROM logsvc_internal.model m
   WHERE m.id = wanted_model OR m.is_default
   ORDER BY m.id = wanted_model DESC LIMIT 1;
  provider_model := coalesce((SELECT p.provider_model FROM logsvc_internal.model_provider p
                               WHERE p.model = begin_evaluation.model
                                 AND p.provider = begin_evaluation.provider), model);
  region_allowed := EXISTS (SELECT FROM logsvc_internal.eu_region r
                             WHERE r.name = lower(begin_evaluation.region));

  IF NOT free THEN
    -- The month's row is the lock of the organization's credits.
    INSERT INTO logsvc_internal.ai_credit_month (organization_id, month)
      VALUES (organization, logsvc_internal.credit_month())
      ON CONFLICT DO NOTHING;
    PERFORM FROM logsvc_internal.ai_credit_month m
      WHERE m.organization_id = organization AND m.month = logsvc_internal.credit_month()
        FOR UPDATE;
    DELETE FROM logsvc_internal.ai_credit_reservation r
      WHERE r.organization_id = organization AND r.expires_at <= clock_timestamp();
  END IF;
  SELECT * INTO balance FROM logsvc_internal.credit_balance(organization);
  credit_limit := balance.credit_limit;
  remaining := balance.remaining;
  resets_at := balance.resets_at;
  credits_left := balance.remaining IS NULL OR balance.remaining - balance.reserved > 0;

  IF credits_left AND region_allowed AND NOT free THEN
    cost := ceil((tokens_in::numeric * input_rate + tokens_out::numeric * output_rate)
                 / 10000)::bigint;
    INSERT INTO logsvc_internal.ai_credit_reservation
        (organization_id, month, micro_credits, expires_at)
      VALUES (organization, logsvc_internal.credit_month(), cost, clock_timestamp() + lifetime)
      RETURNING id INTO reservation;
  END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.begin_evaluation(uuid, text, text, bigint, bigint, boolean,
  interval, text) IS 'chooses the model of an evaluation, checks region and credits and reserves them';

-- Debits a call and drops its reservation.  The month that pays is the one in
-- which the call began.  The debit stops at the limit (decision 35), and one of more than was
-- reserved takes nothing that other calls in flight have reserved; returns what was really debited.
CREATE FUNCTION logsvc_internal.settle_evaluation(
  organization uuid, reservation bigint, micro_credits bigint, model text, tokens_in bigint,
  tokens_out bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  balance record;
  debit bigint := 0;
  own bigint := 0;
  its_month date := logsvc_internal.credit_month();
BEGIN
  SELECT r.month, r.micro_credits INTO its_month, own
    FROM logsvc_internal.ai_credit_reservation r
   WHERE r.id = reservation AND r.organization_id = organization;
  IF NOT FOUND THEN -- none was needed, or it has lapsed
    its_month := logsvc_internal.credit_month();
    own := 0;
  END IF;
  IF micro_credits > 0 THEN
    INSERT INTO logsvc_internal.ai_credit_month (organization_id, month)
      VALUES (organization, its_month)
      ON CONFLICT DO NOTHING;
    PERFORM FROM logsvc_internal.ai_credit_month m
      WHERE m.organization_id = organization AND m.month = its_month
        FOR UPDATE;
    SELECT * INTO balance
      FROM logsvc_internal.credit_balance(organization, its_month::timestamp AT TIME ZONE 'UTC');
    debit := least(micro_credits, balance.remaining,
      -- Its own reservation is among what is reserved, unless that has lapsed.
      greatest(own, balance.remaining - greatest(balance.reserved - own, 0)));
    UPDATE logsvc_internal.ai_credit_month m SET used = m.used + debit
      WHERE m.organization_id = organization AND m.month = its_month;
  END IF;
  DELETE FROM logsvc_internal.ai_credit_reservation r
    WHERE r.id = reservation AND r.organization_id = organization;
  INSERT INTO logsvc_internal.ai_credit_entry
      (organization_id, kind, micro_credits, model, tokens_in, tokens_out)
    VALUES (organization, 'run', debit, model, tokens_in, tokens_out);
  RETURN debit;
END
$$;
COMMENT ON FUNCTION logsvc_internal.settle_evaluation(uuid, bigint, bigint, text, bigint, bigint)
  IS 'debits an evaluation in micro-credits and drops its reservation';

CREATE FUNCTION logsvc_internal.release_evaluation(organization uuid, reservation bigint)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
  DELETE FROM logsvc_internal.ai_credit_reservation r
   WHERE r.id = reservation AND r.organization_id = organization
$$;
COMMENT ON FUNCTION logsvc_internal.release_evaluation(uuid, bigint) IS
  'drops the reservation of an evaluation that failed (decision 36)';

-- The tasks of the scheduler.  A bundle needs no reset at midnight: it is
-- counted by month, and the balance of a month without a row is the plan's.
CREATE FUNCTION logsvc_internal.open_ai_credit_month(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
  INSERT INTO logsvc_internal.ai_credit_month (organization_id, month)
  SELECT o.id, logsvc_internal.credit_month(at)
    FROM logsvc_internal.organization o WHERE o.deleted_at IS NULL
  ON CONFLICT DO NOTHING
$$;
COMMENT ON FUNCTION logsvc_internal.open_ai_credit_month(timestamptz) IS
  'scheduled, on the first of a month (UTC): every organization gets the account of its bundle';

CREATE FUNCTION logsvc_internal.lapse_ai_reservations(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
  DELETE FROM logsvc_internal.ai_credit_reservation r WHERE r.expires_at <= at
$$;
COMMENT ON FUNCTION logsvc_internal.lapse_ai_reservations(timestamptz) IS
  'scheduled, each minute: reservations of calls that never ended lapse (decision 34)';

-- Operator: grants credits of this month (delta > 0) or takes some (delta < 0;
-- at most what is left).
CREATE FUNCTION logsvc.adjust_ai_credits(organization text, delta numeric, reason text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  org uuid;
  micro bigint := round(delta * 1000000);
  balance record;
BEGIN
  PERFORM logsvc_internal.require_operator();
  org := logsvc_internal.find_organization(organization);
  IF delta IS NULL OR coalesce(trim(reason), '') = '' THEN
    RAISE EXCEPTION 'delta and reason must be given' USING ERRCODE = 'LS001';
  END IF;
  INSERT INTO logsvc_internal.ai_credit_month (organization_id, month)
    VALUES (org, logsvc_internal.credit_month()) ON CONFLICT DO NOTHING;
  PERFORM FROM logsvc_internal.ai_credit_month m
    WHERE m.organization_id = org AND m.month = logsvc_internal.credit_month() FOR UPDATE;
  SELECT * INTO balance FROM logsvc_internal.credit_balance(org);
  micro := greatest(micro, -balance.remaining);
  UPDATE logsvc_internal.ai_credit_month m
     SET granted = m.granted + greatest(micro, 0), used = m.used + greatest(-micro, 0)
   WHERE m.organization_id = org AND m.month = logsvc_internal.credit_month();
  INSERT INTO logsvc_internal.ai_credit_entry (organization_id, kind, micro_credits, reason)
    VALUES (org, 'adjustment', -micro, reason);
  SELECT * INTO balance FROM logsvc_internal.credit_balance(org);
  RETURN jsonb_build_object(
    'used', trim_scale(balance.used / 1000000.0),
    'reserved', trim_scale(balance.reserved / 1000000.0),
    'remaining', trim_scale(balance.remaining / 1000000.0),
    'limit', trim_scale(balance.credit_limit / 1000000.0),
    'resetsAt', to_char(balance.resets_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
END
$$;
COMMENT ON FUNCTION logsvc.adjust_ai_credits(text, numeric, text) IS
  'operator: grants (delta > 0) or takes (delta < 0) AI credits of this month of an organization; '
  'never below zero remaining; returns used, reserved, remaining, limit and resetsAt';

-- The evaluation (specification 2.1): as one request, or with named arguments.
CREATE FUNCTION logsvc.run_adhoc(
  request jsonb DEFAULT NULL, rows text[] DEFAULT NULL, criteria text DEFAULT NULL,
  expected_items jsonb DEFAULT NULL, mode text DEFAULT NULL, model text DEFAULT NULL,
  log_compression boolean DEFAULT NULL, compression_options jsonb DEFAULT NULL,
  preview boolean DEFAULT NULL, query text DEFAULT NULL, citations boolean DEFAULT NULL)
RETURNS jsonb
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_run_adhoc';
COMMENT ON FUNCTION logsvc.run_adhoc(jsonb, text[], text, jsonb, text, text, boolean, jsonb,
  boolean, text, boolean) IS
  'runs an ad-hoc evaluation for the organization of the session: either a request as its HTTP '
  'body, or named arguments; query takes the rows from a search; returns the response or preview '
  'object';

-- expectedItems, also in the short form {"id": "description", ...}.
CREATE FUNCTION logsvc_internal.expected_items(items jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN jsonb_typeof(items) = 'object' AND NOT items ?& '{id,description}' THEN
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', i.key, 'description', i.value)), '[]')
       FROM jsonb_each(items) i)
  ELSE items END
$$;
COMMENT ON FUNCTION logsvc_internal.expected_items(jsonb) IS
  'expectedItems of an evaluation from the short form {"id": "description"} or as they are';

CREATE FUNCTION logsvc.evaluate(
  rows text[] DEFAULT NULL, criteria text DEFAULT NULL, items jsonb DEFAULT NULL,
  mode text DEFAULT NULL, model text DEFAULT NULL, log_compression boolean DEFAULT NULL,
  compression_options jsonb DEFAULT NULL, query text DEFAULT NULL, citations boolean DEFAULT NULL)
RETURNS TABLE (id text, status text, explanation text, confidence numeric, entity_type text,
               entity_key text, score numeric, tags text[], row_refs integer[], quotes text[])
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT f ->> 'id', f ->> 'status', f ->> 'explanation', (f ->> 'confidence')::numeric,
         f #>> '{entity,type}', f #>> '{entity,key}', (f ->> 'score')::numeric,
         CASE WHEN f ? 'tags' THEN ARRAY(SELECT jsonb_array_elements_text(f -> 'tags')) END,
         CASE WHEN f ? 'rowRefs' THEN
           ARRAY(SELECT jsonb_array_elements_text(f -> 'rowRefs')::integer) END,
         CASE WHEN f ? 'quotes' THEN ARRAY(SELECT jsonb_array_elements_text(f -> 'quotes')) END
    FROM jsonb_array_elements(logsvc.run_adhoc(
           rows => rows, criteria => criteria,
           expected_items => logsvc_internal.expected_items(items), mode => mode, model => model,
           log_compression => log_compression, compression_options => compression_options,
           query => query, citations => citations) -> 'verdict') WITH ORDINALITY AS v (f, position)
   ORDER BY position
$$;
COMMENT ON FUNCTION logsvc.evaluate(text[], text, jsonb, text, text, boolean, jsonb, text, boolean)
  IS 'runs an ad-hoc evaluation and returns its findings as rows; items as expectedItems or as '
  '{"id": "description"}; query takes the rows from a search';

CREATE FUNCTION logsvc_internal.raise_verdict(message text, findings text) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_raise_verdict';
COMMENT ON FUNCTION logsvc_internal.raise_verdict(text, text) IS
  'raises the error of assert_verdict';

-- A gate: raises unless the findings have the statuses that are allowed.  No
-- finding at all, and one without a status, proves nothing and is no pass.
CREATE FUNCTION logsvc.assert_verdict(
  rows text[] DEFAULT NULL, criteria text DEFAULT NULL, items jsonb DEFAULT NULL,
  allow text[] DEFAULT '{passed}', mode text DEFAULT NULL, model text DEFAULT NULL,
  log_compression boolean DEFAULT NULL, compression_options jsonb DEFAULT NULL,
  query text DEFAULT NULL, citations boolean DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  answer jsonb;
  total bigint;
  bad bigint;
  findings text;
BEGIN
  IF allow IS NULL OR NOT allow <@ '{passed,failed,not_found,skipped}'::text[]
     OR array_position(allow, NULL) IS NOT NULL OR cardinality(allow) = 0 THEN
    RAISE EXCEPTION 'allow must be a list of passed, failed, not_found, skipped'
      USING ERRCODE = 'LS001';
  END IF;
  answer := logsvc.run_adhoc(
    rows => rows, criteria => criteria, expected_items => logsvc_internal.expected_items(items),
    mode => mode, model => model, log_compression => log_compression,
    compression_options => compression_options, query => query, citations => citations);
  SELECT count(*), count(*) FILTER (WHERE v.f ->> 'status' = ANY (allow) IS NOT TRUE),
         string_agg(format('%s: %s: %s', v.f ->> 'id', coalesce(v.f ->> 'status', 'no status'),
                           v.f ->> 'explanation'), E'\n' ORDER BY v.position)
           FILTER (WHERE v.f ->> 'status' = ANY (allow) IS NOT TRUE)
    INTO total, bad, findings
    FROM jsonb_array_elements(answer -> 'verdict') WITH ORDINALITY AS v (f, position);
  IF total = 0 THEN
    PERFORM logsvc_internal.raise_verdict('the verdict has no finding', 'Nothing was concluded.');
  ELSIF bad > 0 THEN
    PERFORM logsvc_internal.raise_verdict(
      format('%s of %s findings are not %s', bad, total, array_to_string(allow, ' or ')), findings);
  END IF;
  RETURN answer;
END
$$;
COMMENT ON FUNCTION logsvc.assert_verdict(text[], text, jsonb, text[], text, text, boolean, jsonb,
  text, boolean) IS
  'runs an ad-hoc evaluation and raises LS804 unless each finding has a status in allow; DETAIL has '
  'those that have not; returns what run_adhoc returns';

CREATE FUNCTION logsvc.patterns(rows text[], options jsonb DEFAULT '{}')
RETURNS TABLE (template_id text, count bigint, template text, samples text[])
LANGUAGE c STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_patterns';
COMMENT ON FUNCTION logsvc.patterns(text[], jsonb) IS
  'groups log rows into patterns, highest count first; options as compressionOptions of an '
  'evaluation (maxTemplates, maxSamples, rareThreshold, simThreshold)';

CREATE FUNCTION logsvc.pattern_of(rows text[], options jsonb DEFAULT '{}')
RETURNS TABLE (row_number bigint, template_id text)
LANGUAGE c STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_pattern_of';
COMMENT ON FUNCTION logsvc.pattern_of(text[], jsonb) IS
  'the pattern that each row fell into; rows are numbered from 1';
-- What an organization uses of what it may use.

CREATE OR REPLACE FUNCTION logsvc_internal.queue_held(organization uuid) RETURNS bigint
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_queue_held';
COMMENT ON FUNCTION logsvc_internal.queue_held(uuid) IS
'Events of an organization that are in the queue or about to be: its part of the depth';

CREATE OR REPLACE FUNCTION logsvc_internal.queue_depth() RETURNS bigint
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_queue_depth';
COMMENT ON FUNCTION logsvc_internal.queue_depth() IS
'Events that are in the ingest queue or about to be, of all organizations';

CREATE OR REPLACE FUNCTION logsvc_internal.rate_remaining(
	class text, OUT remaining int, OUT resets_at timestamptz)
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_rate_remaining';
COMMENT ON FUNCTION logsvc_internal.rate_remaining(text) IS
'How many requests of a rate class the session''s principal may still send now; NULL for classes that count addresses';

-- Every resource that plans limit and that is there: see check_plan_limit.
CREATE OR REPLACE FUNCTION logsvc_internal.resources_json(organization uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	name text;
	words text;
	used bigint;
	shown jsonb := '{}';
BEGIN
	FOR name IN SELECT p.resource FROM logsvc_internal.plan_limit p WHERE p.plan = 'free'
		AND to_regprocedure(format('logsvc_internal.%I(uuid)', 'count_' || p.resource)) IS NOT NULL
		ORDER BY p.resource
	LOOP
		EXECUTE format('SELECT logsvc_internal.%I($1)', 'count_' || name) INTO used
			USING organization;
		-- api_keys is apiKeys in answers.
		words := replace(initcap(replace(name, '_', ' ')), ' ', '');
		shown := shown || jsonb_build_object(lower(left(words, 1)) || substr(words, 2),
			jsonb_build_object('used', used,
				'limit', logsvc_internal.allowed_of(organization, name)));
	END LOOP;
	RETURN shown;
END
$$;
COMMENT ON FUNCTION logsvc_internal.resources_json(uuid) IS
'What is used of each limited resource, and the limit; null: unlimited';

CREATE OR REPLACE FUNCTION logsvc.usage() RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	resources jsonb;
	ingest jsonb;
	credits record;
	depth bigint := logsvc_internal.queue_depth();
	moment timestamptz := logsvc_internal.quota_time(clock_timestamp());
	most bigint := current_setting('logsvc.queue_limit')::bigint;
	passed numeric := extract(epoch FROM moment - date_trunc('day', moment, 'UTC'));
	next_limit record;
BEGIN
	PERFORM logsvc_internal.require_permission('logs:read');
	PERFORM logsvc_internal.require_live();
	target := logsvc_internal.current_organization();
	resources := logsvc_internal.resources_json(target);
	SELECT * INTO credits FROM logsvc_internal.credit_balance(target);
	ingest := logsvc_internal.ingest_usage(target);
	SELECT n.name, n.eta INTO next_limit FROM (
		-- At the pace of today, if that is before the quota starts anew.
		SELECT 'ingest', used / nullif(most_bytes, 0), CASE WHEN used > 0
			AND passed + greatest(most_bytes - used, 0) / used * passed < 86400
			THEN ceil(greatest(most_bytes - used, 0) / used * passed)::bigint END
		FROM (SELECT (ingest->>'usedBytes')::numeric, (ingest->>'limitBytes')::numeric)
			AS i (used, most_bytes)
		UNION ALL
		SELECT r.key, (r.value->>'used')::numeric / nullif((r.value->>'limit')::numeric, 0), NULL
		FROM jsonb_each(resources) AS r
		UNION ALL
		SELECT 'aiCredits', credits.used::numeric / nullif(credits.credit_limit, 0), NULL
	) AS n (name, share, eta)
	WHERE n.share IS NOT NULL ORDER BY n.share DESC, n.name LIMIT 1;
	RETURN jsonb_build_object(
		'ingest', ingest,
		'aiCredits', jsonb_build_object(
			'used', round(credits.used / 1000000.0, 4),
			'reserved', round(credits.reserved / 1000000.0, 4),
			'remaining', round(credits.remaining / 1000000.0, 4),
			'limit', round(credits.credit_limit / 1000000.0, 4),
			'resetsAt', logsvc_internal.iso_time(credits.resets_at)),
		'queue', jsonb_build_object('depth', depth, 'max', most,
			'state', CASE WHEN depth >= most THEN 'backpressure'
				WHEN depth >= most * 0.8 THEN 'warning' ELSE 'normal' END),
		'resources', resources,
		'rateLimits', (SELECT coalesce(jsonb_agg(jsonb_build_object('name', r.class,
				'limit', r.per_minute, 'remaining', s.remaining,
				'resetsAt', logsvc_internal.iso_time(s.resets_at)) ORDER BY r.class), '[]')
			FROM logsvc_internal.rate_limit r, logsvc_internal.rate_remaining(r.class) AS s
			WHERE s.remaining IS NOT NULL),
		'nextLimit', CASE WHEN next_limit.name IS NOT NULL
			THEN jsonb_build_object('name', next_limit.name, 'etaSeconds', next_limit.eta) END);
END
$$;
COMMENT ON FUNCTION logsvc.usage() IS
'What the session''s organization uses: ingestion of today, AI credits, queue, resources, rates; and which limit is next';
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
       AND p.proname IN ('search_json', 'query_logs_json', 'search', 'query_logs', 'events',
                         'explain_query', 'evaluation_rows_json', 'check_query', 'validate_query',
                         'event_json', 'context_json', 'get_log', 'get_log_context', 'tail',
                         'searched_indexes', 'search_fields', 'search_field_values',
                         'list_templates', 'get_template')
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
