-- Organizations, users, members, credentials, indexes, and the limits of plans.
--
-- Ids are uuid inside and "org_" with 26 characters outside.  Secrets are kept
-- as SHA-256 only.  Rows of tenants are seen through row security; writing goes
-- through the functions of schema logsvc, which check who asks.

CREATE TABLE logsvc_internal.plan_limit (
	plan text NOT NULL CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
	resource text NOT NULL,
	amount bigint CHECK (amount >= 0),
	customized boolean NOT NULL DEFAULT true,
	PRIMARY KEY (plan, resource)
);
COMMENT ON TABLE logsvc_internal.plan_limit IS
'What each plan includes (decision 82); amount NULL: unlimited';

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
	('lookups',				3, 25, 100, 1000),
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
	scope text NOT NULL CHECK (scope IN ('organization', 'caller', 'user', 'address', 'account',
		'credential')),
	timed boolean NOT NULL DEFAULT false,
	overdraft int NOT NULL DEFAULT 1 CHECK (overdraft BETWEEN 1 AND 100),
	customized boolean NOT NULL DEFAULT true
);
COMMENT ON COLUMN logsvc_internal.rate_limit.timed IS
'Requests of this class also draw on class executor, which counts seconds';
COMMENT ON COLUMN logsvc_internal.rate_limit.overdraft IS
'For a timed class: how many times the seconds of class executor may be used before its '
'requests are refused';
COMMENT ON TABLE logsvc_internal.rate_limit IS
'Requests per minute of each rate class of the route table, and whom they count';

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
	-- What is managed: tries with one token, key or session; of one user; and what was changed.
	('changes',			120,	'credential',	false,	false),
	('user_changes',	600,	'user',			false,	false),
	('all_changes',		600,	'organization',	false,	false),
	('auth',			5,		'address',		false,	false),
	('password',		5,		'user',			false,	false),
	-- Tries of a password for one e-mail address, whether it has an account or not.
	('sign_in',			5,		'account',		false,	false),
	('public',			5,		'address',		false,	false),
	('static',			600,	'address',		false,	false),
	-- Requests with one link to a dashboard.
	('link',			120,	'address',		false,	false),
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
	erasing_since timestamptz,
	first_owner uuid,
	parse_json boolean,
	read_only_since timestamptz
);
COMMENT ON TABLE logsvc_internal.organization IS
'Tenants; retention_days NULL: that of the plan; deleted_at: no longer usable, will be erased; '
'erasing_since: some of its data has been erased; first_owner: whose organizations share the '
'workers as one, without a foreign key because that stays so when the user is gone; parse_json: '
'JSON in texts of events is taken apart; NULL: it is not; read_only_since: it takes no events and no '
'changes, because it is being moved';

CREATE TABLE logsvc_internal.organization_limit (
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	resource text NOT NULL,
	amount bigint CHECK (amount >= 0),
	PRIMARY KEY (organization_id, resource)
);
COMMENT ON TABLE logsvc_internal.organization_limit IS
'Limits that operators have set for one organization in place of its plan''s; amount NULL: '
'unlimited';

CREATE TABLE logsvc_internal.user_account (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	email text NOT NULL UNIQUE CHECK (email = lower(email) AND length(email) <= 254),
	name text CHECK (length(name) <= 200),
	password_hash text,
	verified_at timestamptz,
	created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.user_account IS
'Users; password_hash: scrypt, NULL if the user has no password';

CREATE TABLE logsvc_internal.member (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	user_id uuid NOT NULL REFERENCES logsvc_internal.user_account ON DELETE CASCADE,
	role text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
	joined_at timestamptz NOT NULL DEFAULT now(),
	last_active_at timestamptz,
	ai_credit_limit int CHECK (ai_credit_limit >= 0),
	UNIQUE (organization_id, user_id)
);
COMMENT ON TABLE logsvc_internal.member IS
'Who belongs to which organization, with one role there; ai_credit_limit: AI credits that the '
'member may use in a month, NULL: as many as the organization has';
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
	revoked_at timestamptz,
	ai_credit_limit int CHECK (ai_credit_limit >= 0)
);
COMMENT ON TABLE logsvc_internal.access_token IS
'Personal access tokens; token_hash: SHA-256 of the token, which is not stored; ai_credit_limit: '
'AI credits that it may use in a month, NULL: as many as its user may';
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
'API keys; key_hash: SHA-256 of the key, which is not stored';
CREATE INDEX api_key_organization_id ON logsvc_internal.api_key (organization_id);
CREATE INDEX api_key_created_by ON logsvc_internal.api_key (created_by);

CREATE TABLE logsvc_internal.log_index (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	name text NOT NULL CHECK (name ~ '^[a-z_][a-z0-9_-]{0,63}$'),
	description text CHECK (length(description) <= 2000),
	retention_days int CHECK (retention_days >= 1),
	created_at timestamptz NOT NULL DEFAULT now(),
	parse_json boolean,
	UNIQUE (organization_id, name)
);
COMMENT ON TABLE logsvc_internal.log_index IS
'Indexes: named subsets of an organization''s events; retention_days, parse_json NULL: those of '
'the organization';

CREATE TRIGGER member_owns AFTER INSERT OR UPDATE OF role ON logsvc_internal.member
FOR EACH ROW WHEN (NEW.role = 'owner') EXECUTE FUNCTION logsvc_internal.member_owns();
CREATE TRIGGER member_removed AFTER DELETE ON logsvc_internal.member
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.member_removed();

-- ---- caches ----
--
-- A changed row concerns what the trigger's arguments name (src/access/epoch.c): mostly its organization.
-- Columns that are written by use (last_used_at, last_active_at) do not count.  Triggers are ALWAYS, so
-- that they fire when session_replication_role is replica, too.

DO $$
DECLARE
	watched record;
BEGIN
	FOR watched IN
		SELECT * FROM (VALUES
			('organization', '{id}'::text[],
				'id, slug, name, plan, timezone, retention_days, oauth_providers, deleted_at, first_owner, parse_json, read_only_since'),
			('organization_limit', '{organization_id}', NULL),
			('user_account', '{id}', NULL),
			('member', '{organization_id, user_id}', 'id, organization_id, user_id, role'),
			('access_token', '{organization_id, token_hash}',
				'id, organization_id, user_id, scopes, token_hash, expires_at, revoked_at'),
			('api_key', '{organization_id, key_hash}',
				'id, organization_id, scope, kind, key_hash, created_by, expires_at, revoked_at'),
			('log_index', '{organization_id}', NULL)
		) AS t (name, concerned, columns)
	LOOP
		EXECUTE format(
			'CREATE TRIGGER access_changed AFTER INSERT OR DELETE OR UPDATE %s'
			' ON logsvc_internal.%I FOR EACH ROW'
			' EXECUTE FUNCTION logsvc_internal.access_changed(%s)',
			'OF ' || watched.columns, watched.name,
			(SELECT string_agg(quote_literal(c), ', ' ORDER BY n) FROM unnest(watched.concerned) WITH ORDINALITY AS u (c, n)));
		EXECUTE format(
			'CREATE TRIGGER access_changed_all AFTER TRUNCATE ON logsvc_internal.%I FOR EACH STATEMENT'
			' EXECUTE FUNCTION logsvc_internal.access_changed()',
			watched.name);
		EXECUTE format('ALTER TABLE logsvc_internal.%I ENABLE ALWAYS TRIGGER access_changed,'
			' ENABLE ALWAYS TRIGGER access_changed_all', watched.name);
	END LOOP;
END
$$;

-- Which organizations there are, by which name, and whose sessions may be used in them.
CREATE TRIGGER access_changed_names
AFTER INSERT OR DELETE OR UPDATE OF id, slug, oauth_providers, deleted_at ON logsvc_internal.organization
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.access_changed('=organizations');
ALTER TABLE logsvc_internal.organization ENABLE ALWAYS TRIGGER access_changed_names;

-- What operators change concerns all.
-- For each row: replication fires no triggers of statements but TRUNCATE.
CREATE TRIGGER access_changed AFTER INSERT OR DELETE OR UPDATE ON logsvc_internal.plan_limit
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.access_changed();
CREATE TRIGGER access_changed_all AFTER TRUNCATE ON logsvc_internal.plan_limit
FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.access_changed();
ALTER TABLE logsvc_internal.plan_limit ENABLE ALWAYS TRIGGER access_changed,
	ENABLE ALWAYS TRIGGER access_changed_all;
CREATE TRIGGER access_changed AFTER INSERT OR DELETE OR UPDATE ON logsvc_internal.rate_limit
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.access_changed();
CREATE TRIGGER access_changed_all AFTER TRUNCATE ON logsvc_internal.rate_limit
FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.access_changed();
ALTER TABLE logsvc_internal.rate_limit ENABLE ALWAYS TRIGGER access_changed,
	ENABLE ALWAYS TRIGGER access_changed_all;

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
