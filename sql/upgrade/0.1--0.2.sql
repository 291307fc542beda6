-- schema c3d267bd7910801d
--
-- From 0.1 to 0.2: rates of changes, and comments.

COMMENT ON TABLE logsvc_internal.password_history IS
'The last ten passwords of each user, including the current one';
COMMENT ON TABLE logsvc_internal.audit_entry IS
'Audit entries; number and hash: the place in the chain, given when the transaction commits';
COMMENT ON TABLE logsvc_internal.model IS
'Models and their prices, in micro-USD per million tokens';
COMMENT ON TABLE logsvc_internal.eu_region IS
'Regions in the European Union in which evaluations may run; operators add names for their own '
'sites';
COMMENT ON TABLE logsvc_internal.plan_limit IS
'What each plan includes (decision 82); amount NULL: unlimited';
COMMENT ON TABLE logsvc_internal.rate_limit IS
'Requests per minute of each rate class of the route table, and whom they count';

ALTER TABLE logsvc_internal.rate_limit DROP CONSTRAINT rate_limit_scope_check;
ALTER TABLE logsvc_internal.rate_limit ADD CONSTRAINT rate_limit_scope_check
	CHECK (scope IN ('organization', 'caller', 'user', 'address', 'account', 'credential'));
INSERT INTO logsvc_internal.rate_limit (class, per_minute, scope, timed, customized) VALUES
	('changes', 120, 'credential', false, false),
	('user_changes', 600, 'user', false, false),
	('all_changes', 600, 'organization', false, false)
ON CONFLICT (class) DO NOTHING;
COMMENT ON TABLE logsvc_internal.user_session IS
'Sessions of browsers; token_hash: SHA-256 of the cookie, which is not stored; provider: which '
'one signed the user in, NULL: a password; ended sessions are deleted';
COMMENT ON TABLE logsvc_internal.one_time_link IS
'Links in mails; token_hash: SHA-256 of the token; name, password_hash: those of the sign-up '
'that the link confirms';
COMMENT ON TABLE logsvc_internal.account_work IS
'Work of requests about an address that is done after the answer, so that the time of the '
'answer does not reveal whether the address has an account';
COMMENT ON TABLE logsvc_internal.oauth_identity IS
'Links of users to identity providers; issuer: the one that the subject belongs to, so that '
'the subjects of another issuer are unknown';
COMMENT ON TABLE logsvc_internal.known_device IS
'Browsers in which a user has signed in, so that guesses by others do not lock the user out; '
'token_hash: SHA-256 of their cookie';
COMMENT ON TABLE logsvc_internal.oauth_state IS
'States of recent sign-ins that a provider has sent back, so that none is used twice; '
'state_hash: SHA-256';
COMMENT ON TABLE logsvc_internal.oauth_document IS
'Documents that identity providers publish about themselves, cached for an hour; tried_at: '
'when one was last fetched before it expired';
COMMENT ON TABLE logsvc_internal.operator_log IS
'Audit events that belong to no organization, such as failed sign-ins without an account';
COMMENT ON TABLE logsvc_internal.deletion IS
'Deletions of events that match a filter, up to a batch number; parts with ids from next_part '
'to end_part are still to be processed';
COMMENT ON TABLE logsvc_internal.model_provider IS
'The provider''s name for a model; without a row the name in table model is used';
COMMENT ON TABLE logsvc_internal.ai_credit_month IS
'AI credits of an organization in a calendar month (UTC), in micro-credits: granted beyond the '
'plan, and used';
COMMENT ON TABLE logsvc_internal.ai_credit_entry IS
'Ledger of AI credits: amounts only, never rows or criteria (decision 42)';
COMMENT ON TABLE logsvc_internal.idempotency IS
'Requests with an Idempotency-Key of the last 24 hours; answer: encrypted with a key that '
'cannot be derived without the client''s';
COMMENT ON TABLE logsvc_internal.dropped_index IS
'Deleted indexes whose events are not removed yet, and the last batch that may have some; '
'until then their names cannot be used again';
COMMENT ON TABLE logsvc_internal.invitation IS
'Invitations to organizations; token_hash: SHA-256 of the token, which only the last mail has; '
'mail: that mail, in the outbox';
COMMENT ON TABLE logsvc_internal.ip_allowlist IS
'Networks from which the credentials of an organization may be used; no row: every address';
COMMENT ON TABLE logsvc_internal.outbox IS
'Waiting mails and, without their bodies, those of the last days; caused_by: the user who sent '
'the invitation; expires_at: when it is too late to send it';
COMMENT ON TABLE logsvc_internal.plan_request IS
'The open request of an organization for a larger plan; a later request replaces it, a '
'decision removes it';
COMMENT ON TABLE logsvc_internal.ingest_tally IS
'Accepted bytes and events that are not yet added up in ingest_day, one row for each acceptance';
COMMENT ON TABLE logsvc_internal.ingest_day IS
'What each organization has sent on each UTC day (decision 68); test: with test keys, which '
'have a separate quota';
COMMENT ON TABLE logsvc_internal.deferred IS
'Accepted events beyond a daily quota: they move to the queue when the quota allows it, or are '
'discarded after expires_at';
COMMENT ON TABLE logsvc_internal.quota_notice IS
'Mails about quotas that owners have received, at most one of each kind a day; about AI credits '
'a month, with its first day';
COMMENT ON TABLE logsvc_internal.scheduled_task IS
'Functions logsvc_internal.<name>(timestamptz) that the scheduler calls when a period (UTC) '
'begins; failures: consecutive ones';
COMMENT ON TABLE logsvc_internal.secret IS
'The server''s key for signing cursors; not dumped: a restored server has its own';
COMMENT ON COLUMN logsvc_internal.dead_letter.reason IS
'corrupt: the bytes cannot be read; rejected: the store refused this entry; store_unavailable: '
'the store refused everything';
COMMENT ON TABLE logsvc_internal.part_other IS
'Parts of days that have no partition of their own';
COMMENT ON COLUMN logsvc_internal.rate_limit.overdraft IS
'For a timed class: how many times the seconds of class executor may be used before its '
'requests are refused';
ALTER TABLE logsvc_internal.organization ADD COLUMN first_owner uuid;
ALTER TABLE logsvc_internal.organization ADD COLUMN parse_json boolean;
ALTER TABLE logsvc_internal.organization ADD COLUMN read_only_since timestamptz;
ALTER TABLE logsvc_internal.log_index ADD COLUMN parse_json boolean;
UPDATE logsvc_internal.organization o SET first_owner = (SELECT m.user_id
	FROM logsvc_internal.member m WHERE m.organization_id = o.id AND m.role = 'owner'
	ORDER BY m.joined_at, m.id LIMIT 1);
COMMENT ON TABLE logsvc_internal.organization IS
'Tenants; retention_days NULL: that of the plan; deleted_at: no longer usable, will be erased; '
'erasing_since: some of its data has been erased; first_owner: whose organizations share the '
'workers as one, without a foreign key because that stays so when the user is gone; parse_json: '
'JSON in texts of events is taken apart; NULL: it is not; read_only_since: it takes no events and no '
'changes, because it is being moved';
-- Changes of access data concern whom the rows name.
DO $$
DECLARE
	watched record;
BEGIN
	FOR watched IN
		SELECT * FROM (VALUES
			('organization', '{id}'::text[], 'INSERT OR DELETE OR UPDATE OF id, slug, name, plan, timezone, retention_days, '
				'oauth_providers, deleted_at, first_owner, parse_json, read_only_since'),
			('organization_limit', '{organization_id}', 'INSERT OR DELETE OR UPDATE'),
			('user_account', '{id}', 'INSERT OR DELETE OR UPDATE'),
			('member', '{organization_id, user_id}', 'INSERT OR DELETE OR UPDATE OF id, organization_id, user_id, role'),
			('access_token', '{organization_id, token_hash}', 'INSERT OR DELETE OR UPDATE OF id, organization_id, user_id, '
				'scopes, token_hash, expires_at, revoked_at'),
			('api_key', '{organization_id, key_hash}', 'INSERT OR DELETE OR UPDATE OF id, organization_id, scope, kind, '
				'key_hash, created_by, expires_at, revoked_at'),
			('log_index', '{organization_id}', 'INSERT OR DELETE OR UPDATE'),
			('ip_allowlist', '{organization_id}', 'INSERT OR DELETE OR UPDATE'),
			('user_session', '{user_id}', 'DELETE OR UPDATE OF id, user_id, token_hash, created_at, expires_at, provider')
		) AS t (name, concerned, events)
	LOOP
		EXECUTE format('DROP TRIGGER access_changed ON logsvc_internal.%I', watched.name);
		EXECUTE format('CREATE TRIGGER access_changed AFTER %s ON logsvc_internal.%I FOR EACH ROW'
			' EXECUTE FUNCTION logsvc_internal.access_changed(%s)', watched.events, watched.name,
			(SELECT string_agg(quote_literal(c), ', ' ORDER BY n) FROM unnest(watched.concerned) WITH ORDINALITY AS u (c, n)));
		EXECUTE format('CREATE TRIGGER access_changed_all AFTER TRUNCATE ON logsvc_internal.%I FOR EACH STATEMENT'
			' EXECUTE FUNCTION logsvc_internal.access_changed()', watched.name);
		EXECUTE format('ALTER TABLE logsvc_internal.%I ENABLE ALWAYS TRIGGER access_changed,'
			' ENABLE ALWAYS TRIGGER access_changed_all', watched.name);
	END LOOP;
END
$$;
CREATE TRIGGER access_changed_names
AFTER INSERT OR DELETE OR UPDATE OF id, slug, oauth_providers, deleted_at ON logsvc_internal.organization
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.access_changed('=organizations');
ALTER TABLE logsvc_internal.organization ENABLE ALWAYS TRIGGER access_changed_names;
-- api/table_functions.sql, which comes later, has what it does.
CREATE FUNCTION logsvc_internal.member_owns() RETURNS trigger
LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER member_owns AFTER INSERT OR UPDATE OF role ON logsvc_internal.member
FOR EACH ROW WHEN (NEW.role = 'owner') EXECUTE FUNCTION logsvc_internal.member_owns();
COMMENT ON TABLE logsvc_internal.organization_limit IS
'Limits that operators have set for one organization in place of its plan''s; amount NULL: '
'unlimited';
COMMENT ON TABLE logsvc_internal.user_account IS
'Users; password_hash: scrypt, NULL if the user has no password';
COMMENT ON TABLE logsvc_internal.api_key IS
'API keys; key_hash: SHA-256 of the key, which is not stored';
COMMENT ON TABLE logsvc_internal.log_index IS
'Indexes: named subsets of an organization''s events; retention_days, parse_json NULL: those of '
'the organization';

-- With parse_json.
DROP FUNCTION logsvc.create_index(text, int, text);
DROP FUNCTION logsvc.update_index(text, int, text, text[]);
DROP FUNCTION logsvc.update_organization(text, text, text, int, text[], text, text[]);

-- With who is signed in.
DROP FUNCTION logsvc_internal.oauth_account(text, text, text, text, text, boolean);

DROP FUNCTION logsvc_internal.part_fields(bigint, bytea);
DROP FUNCTION logsvc_internal.make_part_partitions();
DROP FUNCTION logsvc_internal.find_rate_limit(text);
DROP FUNCTION logsvc_internal.query_logs_json(text, text, text, text, text, text, text, text, integer,
	text, jsonb);
DROP FUNCTION logsvc.query_logs(text, text, text, text, text, text, text, text, integer, text, jsonb);
DROP FUNCTION logsvc_internal.rate_remaining(text);

-- It says the owner too, and whether the organization is read-only.
DROP FUNCTION logsvc_internal.find_ingest_quota(uuid, boolean);

-- The stages before the groups are an argument more.
DROP AGGREGATE logsvc_internal.group_parts(bigint, bytea, bytea, text, bytea, timestamptz,
	timestamptz, text[], timestamptz[], text[], text[]);
DROP FUNCTION logsvc_internal.group_add(internal, bigint, bytea, bytea, text, bytea, timestamptz,
	timestamptz, text[], timestamptz[], text[], text[]);

-- One description instead of twenty arguments.
DROP FUNCTION logsvc_internal.part_scan(bigint, bytea, bytea, text, bytea, timestamptz, timestamptz,
	text[], boolean, integer, boolean, timestamptz, bigint, integer, text[], text[], text[],
	boolean[], text[], boolean);
CREATE TYPE logsvc_internal.scan AS (
	filter			bytea,
	from_time		timestamptz,
	to_time			timestamptz,
	fields			text[],
	want_event		boolean,
	shown			text[],
	hidden			text[],
	most			integer,
	descending		boolean,
	after_time		timestamptz,
	after_batch		bigint,
	after_place		integer,
	sort			text[],
	sort_descending	boolean[],
	distinct_by		text[],
	keep_empty		boolean,
	program			bytea,
	after_keys		text[]
);
COMMENT ON TYPE logsvc_internal.scan IS
'What part_scan returns of a part: rows that match the filter (NULL: all) in [from_time, to_time) '
'and the conditions of a program (NULL: none) and come after an event, when sorted one with these values; at most the newest (or oldest) so many, or the first ones when sorted, '
'or the first of each combination of values; their fields, their event with what is shown of it';

-- Many, with no secrets in them: not in logsvc_internal.idempotency.
CREATE TABLE logsvc_internal.ingest_answer (
	key_hash bytea PRIMARY KEY CHECK (length(key_hash) = 32),
	organization_id uuid NOT NULL,
	request_hash bytea NOT NULL CHECK (length(request_hash) = 32),
	answer bytea NOT NULL,
	created_at timestamptz NOT NULL DEFAULT now()
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE logsvc_internal.ingest_answer IS
'Answers of the last 24 hours to requests with an Idempotency-Key that brought events, inserted '
'in the transaction of the events';
CREATE INDEX ingest_answer_created_at ON logsvc_internal.ingest_answer (created_at);
CREATE INDEX ingest_answer_organization
	ON logsvc_internal.ingest_answer (organization_id, created_at);
ALTER TABLE logsvc_internal.ingest_answer ENABLE ROW LEVEL SECURITY;
SELECT pg_extension_config_dump('logsvc_internal.ingest_answer', 'WHERE false');
INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_ingest_answers', 'minute')
ON CONFLICT DO NOTHING;

-- Lookup tables.
CREATE TABLE logsvc_internal.lookup (
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	name text NOT NULL CHECK (name ~ '^[a-z][a-z0-9_]{0,63}$'),
	columns text[] NOT NULL,
	rows int NOT NULL CHECK (rows BETWEEN 0 AND 10000),
	csv text NOT NULL CHECK (octet_length(csv) <= 1000000),
	created_at timestamptz NOT NULL DEFAULT now(),
	updated_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (organization_id, name)
);
COMMENT ON TABLE logsvc_internal.lookup IS
'Lookup tables of organizations, as they were uploaded; columns: their names';

ALTER TABLE logsvc_internal.lookup ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.lookup TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());
GRANT SELECT ON logsvc_internal.lookup TO logsvc_reader;

SELECT pg_extension_config_dump('logsvc_internal.lookup', '');
INSERT INTO logsvc_internal.plan_limit (plan, resource, amount, customized) VALUES
	('free', 'lookups', 3, false), ('pro', 'lookups', 25, false), ('business', 'lookups', 100, false),
	('enterprise', 'lookups', 1000, false)
ON CONFLICT (plan, resource) DO NOTHING;

-- The workspace.

CREATE TABLE logsvc_internal.resource (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	kind text NOT NULL,
	name text NOT NULL CHECK (name <> '' AND length(name) <= 200),
	content jsonb NOT NULL,
	secrets jsonb NOT NULL DEFAULT '{}',
	version int NOT NULL DEFAULT 1 CHECK (version >= 1),
	created_by uuid REFERENCES logsvc_internal.user_account ON DELETE SET NULL,
	created_at timestamptz NOT NULL DEFAULT now(),
	updated_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.resource IS
'Saved queries and other resources of organizations; kind: logsvc_internal.resource_kind; '
'content: what the client wrote, checked and completed, without name; secrets: those of its '
'channels, by logsvc_internal.channel_key';
CREATE INDEX resource_list ON logsvc_internal.resource (organization_id, kind, name COLLATE "C", id);
CREATE INDEX resource_created_by ON logsvc_internal.resource (created_by);

CREATE TABLE logsvc_internal.resource_use (
	used uuid NOT NULL REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	used_by uuid NOT NULL REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	PRIMARY KEY (used, used_by)
);
COMMENT ON TABLE logsvc_internal.resource_use IS
'Which resource names which other one in its content: the other one cannot be deleted meanwhile';
CREATE INDEX resource_use_used_by ON logsvc_internal.resource_use (used_by);

ALTER TABLE logsvc_internal.resource ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.resource TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());
ALTER TABLE logsvc_internal.resource_use ENABLE ROW LEVEL SECURITY;

SELECT pg_extension_config_dump('logsvc_internal.resource', '');
SELECT pg_extension_config_dump('logsvc_internal.resource_use', '');

-- Health of services and values of KPIs; the trigger's function is needed before the rest of sql/api.

CREATE OR REPLACE FUNCTION logsvc_internal.watch_health() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	INSERT INTO logsvc_internal.health AS h (resource_id, organization_id, search)
	VALUES (NEW.id, NEW.organization_id, md5(jsonb_build_array(NEW.kind, NEW.content -> 'match',
		NEW.content -> 'q', NEW.content -> 'window')::text)::uuid)
	ON CONFLICT (resource_id) DO UPDATE
		SET search = excluded.search, at = NULL, value = NULL, error_rate = NULL, last_seen_at = NULL,
			error = NULL, next_at = greatest(now(), h.begun_at + interval '1 minute')
		WHERE h.search <> excluded.search;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION logsvc_internal.watch_health() IS
'Trigger: has the health of a service or the value of a KPI computed';

CREATE TABLE logsvc_internal.health (
	resource_id uuid PRIMARY KEY REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	search uuid NOT NULL,
	next_at timestamptz NOT NULL DEFAULT now(),
	begun_at timestamptz,
	at timestamptz,
	value double precision,
	error_rate double precision,
	last_seen_at timestamptz,
	error text,
	deaths int NOT NULL DEFAULT 0
);
COMMENT ON TABLE logsvc_internal.health IS
'What was last computed for each service and KPI; search: the same for those of an organization that '
'need the same search; next_at: when it is due; begun_at: when that was last begun; at: when value '
'was computed (of a service: events a minute); error: why it could not be; deaths: how often in a row '
'it was begun and not ended';
CREATE INDEX health_next ON logsvc_internal.health (next_at);
CREATE INDEX health_search ON logsvc_internal.health (organization_id, search);

-- Minutes become hours after a day, so that the 90 days of a KPI are some 3,600 rows.
CREATE TABLE logsvc_internal.health_point (
	resource_id uuid NOT NULL REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	at timestamptz NOT NULL,
	minutes smallint NOT NULL DEFAULT 1,
	value double precision NOT NULL,
	error_rate double precision,
	PRIMARY KEY (resource_id, at)
);
COMMENT ON TABLE logsvc_internal.health_point IS
'What was computed for services and KPIs in the last 90 days: each minute, and of days before the '
'last the mean of each hour (minutes: 60)';
CREATE INDEX health_point_at ON logsvc_internal.health_point (minutes, at);

CREATE TRIGGER watch_health AFTER INSERT OR UPDATE OF content ON logsvc_internal.resource
FOR EACH ROW WHEN (NEW.kind IN ('service', 'kpi'))
EXECUTE FUNCTION logsvc_internal.watch_health();

ALTER TABLE logsvc_internal.health ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.health_point ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('thin_health', 'hour')
ON CONFLICT DO NOTHING;

-- The trigger makes its rows again when resources are restored.
SELECT pg_extension_config_dump('logsvc_internal.health', 'WHERE false');
SELECT pg_extension_config_dump('logsvc_internal.health_point', '');

-- Deliveries: one row for each notification and channel.  It is inserted by the transaction that
-- causes it, and sent by the notifier when that has committed.

CREATE TABLE logsvc_internal.delivery (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	resource_id uuid NOT NULL REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	kind text NOT NULL CHECK (kind IN ('email', 'webhook')),
	target text NOT NULL,
	host text NOT NULL,
	format text,
	type text NOT NULL,
	subject text,
	body jsonb,
	mail_id uuid REFERENCES logsvc_internal.outbox ON DELETE SET NULL,
	state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sending', 'sent', 'failed')),
	attempts int NOT NULL DEFAULT 0,
	next_attempt_at timestamptz NOT NULL DEFAULT now(),
	status int,
	answer text,
	error text,
	created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	finished_at timestamptz
);
COMMENT ON TABLE logsvc_internal.delivery IS
'Notifications to channels of resources, those that wait and those of the last 30 days; host: those '
'of one share places in flight; subject: what it is about, of which one goes out after the other; '
'body: of a webhook, until it is finished; mail_id: the mail that it is';
CREATE INDEX delivery_waiting ON logsvc_internal.delivery (organization_id, host, next_attempt_at)
	WHERE state = 'waiting' AND kind = 'webhook';
-- What was not tried yet is due; and no other search is to find this index good enough.
CREATE INDEX delivery_retry ON logsvc_internal.delivery (next_attempt_at)
	WHERE state = 'waiting' AND kind = 'webhook' AND attempts > 0;
CREATE INDEX delivery_sending ON logsvc_internal.delivery (organization_id, host)
	WHERE state = 'sending';
CREATE INDEX delivery_subject ON logsvc_internal.delivery (subject, target, created_at)
	WHERE state IN ('waiting', 'sending') AND kind = 'webhook';
CREATE INDEX delivery_log ON logsvc_internal.delivery (resource_id, created_at, id);
CREATE INDEX delivery_organization ON logsvc_internal.delivery (organization_id, created_at);
CREATE INDEX delivery_mail ON logsvc_internal.delivery (mail_id) WHERE mail_id IS NOT NULL;

ALTER TABLE logsvc_internal.delivery ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_deliveries', 'hour')
ON CONFLICT DO NOTHING;

-- What waits in a dump would be sent by each server that restores it.
SELECT pg_extension_config_dump('logsvc_internal.delivery', 'WHERE state IN (''sent'', ''failed'')');

-- Alerts.

CREATE TABLE logsvc_internal.alert_rule_state (
	rule_id uuid PRIMARY KEY REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	next_due timestamptz,
	state text NOT NULL DEFAULT 'ok' CHECK (state IN ('ok', 'firing', 'noData', 'error')),
	state_since timestamptz NOT NULL DEFAULT now(),
	last_tick timestamptz,
	evaluated_at timestamptz,
	took_ms int,
	missed bigint NOT NULL DEFAULT 0,
	error jsonb,
	warning text,
	condition_key text,
	worker int,
	begun_at timestamptz,
	deaths int NOT NULL DEFAULT 0,
	failed_at timestamptz
) WITH (fillfactor = 50);
COMMENT ON TABLE logsvc_internal.alert_rule_state IS
'What alert workers keep of a rule; next_due: the next tick, NULL: the rule is disabled; missed: '
'ticks at which it was not evaluated; error: of the last evaluation; condition_key: hash of what '
'the rule looked for then; worker: which one has begun a tick that is not done, at begun_at; deaths: '
'how many ticks in a row their workers did not survive; failed_at: the last tick that failed, until '
'those who were told of it are told that it is over';
CREATE INDEX alert_rule_state_due ON logsvc_internal.alert_rule_state (next_due)
	WHERE next_due IS NOT NULL;
CREATE INDEX alert_rule_state_organization ON logsvc_internal.alert_rule_state (organization_id);

CREATE TABLE logsvc_internal.alert_group (
	rule_id uuid NOT NULL REFERENCES logsvc_internal.alert_rule_state ON DELETE CASCADE,
	key text NOT NULL,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	group_key jsonb NOT NULL,
	seen_at timestamptz NOT NULL,
	holds_since timestamptz,
	muted boolean NOT NULL DEFAULT false,
	PRIMARY KEY (rule_id, key)
);
COMMENT ON TABLE logsvc_internal.alert_group IS
'Groups of a rule: those for which its condition holds, since when; the known ones of absence '
'and newTemplate; key: hash of group_key; muted: a user resolved the alert, so it is raised again '
'only after the condition was false';
CREATE INDEX alert_group_organization ON logsvc_internal.alert_group (organization_id);

CREATE TABLE logsvc_internal.alert (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	rule_id uuid NOT NULL,
	rule_name text NOT NULL,
	severity text NOT NULL,
	status text NOT NULL DEFAULT 'firing' CHECK (status IN ('firing', 'acknowledged', 'resolved')),
	key text NOT NULL,
	group_key jsonb NOT NULL,
	value jsonb,
	threshold jsonb,
	search jsonb NOT NULL,
	sample_ids text[] NOT NULL DEFAULT '{}',
	started_at timestamptz NOT NULL,
	last_seen_at timestamptz NOT NULL,
	resolved_at timestamptz,
	resolved_by text,
	acknowledged_at timestamptz,
	acknowledged_by text,
	note text,
	notified_at timestamptz,
	to_notify text CHECK (to_notify IN ('firing', 'resolved')),
	CHECK ((status = 'resolved') = (resolved_at IS NOT NULL))
);
COMMENT ON TABLE logsvc_internal.alert IS
'Alerts that rules have raised; rule_id: the rule may be deleted; search: the query and the range '
'that show it; to_notify: what the channels of the rule are still to be told';
CREATE UNIQUE INDEX alert_open ON logsvc_internal.alert (rule_id, key) WHERE resolved_at IS NULL;
CREATE INDEX alert_to_notify ON logsvc_internal.alert (rule_id) WHERE to_notify IS NOT NULL;
CREATE INDEX alert_list ON logsvc_internal.alert (organization_id, started_at, id);
CREATE INDEX alert_resolved ON logsvc_internal.alert (resolved_at) WHERE resolved_at IS NOT NULL;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_alerts', 'day');

ALTER TABLE logsvc_internal.alert_rule_state ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.alert_rule_state TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());
ALTER TABLE logsvc_internal.alert_group ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.alert_group TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());
ALTER TABLE logsvc_internal.alert ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.alert TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());

SELECT pg_extension_config_dump('logsvc_internal.alert_rule_state', '');
SELECT pg_extension_config_dump('logsvc_internal.alert_group', '');
SELECT pg_extension_config_dump('logsvc_internal.alert', '');
-- Dashboards that are shared by a link.  The dashboards themselves are resources.

CREATE TABLE logsvc_internal.dashboard_link (
	dashboard uuid PRIMARY KEY REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
	created_by uuid REFERENCES logsvc_internal.user_account ON DELETE SET NULL,
	created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.dashboard_link IS
'Links with which anybody reads a dashboard; token_hash: SHA-256 of the token, which is not stored';
CREATE INDEX dashboard_link_organization ON logsvc_internal.dashboard_link (organization_id);
CREATE INDEX dashboard_link_created_by ON logsvc_internal.dashboard_link (created_by);

CREATE UNLOGGED TABLE logsvc_internal.shared_answer (
	dashboard uuid NOT NULL REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	key bytea NOT NULL,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	answer text NOT NULL,
	made_at timestamptz NOT NULL,
	PRIMARY KEY (dashboard, key)
);
COMMENT ON TABLE logsvc_internal.shared_answer IS
'What searches of shared dashboards found in the last 5 minutes; key: of the search';
CREATE INDEX shared_answer_organization ON logsvc_internal.shared_answer (organization_id);
CREATE INDEX shared_answer_made_at ON logsvc_internal.shared_answer (made_at);

ALTER TABLE logsvc_internal.dashboard_link ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.shared_answer ENABLE ROW LEVEL SECURITY;

SELECT pg_extension_config_dump('logsvc_internal.dashboard_link', '');
SELECT pg_extension_config_dump('logsvc_internal.shared_answer', 'WHERE false');
-- Scheduled exports.
CREATE TABLE logsvc_internal.export_schedule (
	resource_id uuid PRIMARY KEY REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	period_start timestamptz NOT NULL,
	next_tick timestamptz,
	failure_told boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE logsvc_internal.export_schedule IS
'When a scheduled export runs next (NULL: it is not enabled), where the period of that run begins, '
'and whether owners know that its runs fail';
CREATE INDEX export_schedule_due ON logsvc_internal.export_schedule (next_tick);
CREATE INDEX export_schedule_organization ON logsvc_internal.export_schedule (organization_id);

CREATE TABLE logsvc_internal.export_run (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	resource_id uuid NOT NULL REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	tick timestamptz,
	from_time timestamptz NOT NULL,
	to_time timestamptz NOT NULL CHECK (to_time >= from_time),
	asked_by text,
	created_at timestamptz NOT NULL DEFAULT now(),
	status text NOT NULL DEFAULT 'waiting'
		CHECK (status IN ('waiting', 'running', 'delivering', 'succeeded', 'failed')),
	attempts int NOT NULL DEFAULT 0,
	next_attempt_at timestamptz NOT NULL DEFAULT now(),
	worker int,
	turn_at timestamptz,
	q text,
	format text,
	max_rows int,
	audit boolean NOT NULL DEFAULT false,
	cursor text,
	rows bigint NOT NULL DEFAULT 0,
	bytes bigint NOT NULL DEFAULT 0,
	pieces int NOT NULL DEFAULT 0,
	complete boolean NOT NULL DEFAULT false,
	truncated boolean NOT NULL DEFAULT false,
	upload jsonb,
	file_until timestamptz,
	started_at timestamptz,
	finished_at timestamptz,
	error_code text,
	error text,
	deaths int NOT NULL DEFAULT 0,
	UNIQUE (resource_id, tick)
);
COMMENT ON TABLE logsvc_internal.export_run IS
'Runs of scheduled exports; tick: when it was due (NULL: somebody asked for it); worker: the exporter '
'that has it; cursor: where the next piece of the file begins; upload: the state of a multipart upload; '
'deaths: how many exporters in a row did not survive a piece of it';
CREATE INDEX export_run_organization ON logsvc_internal.export_run (organization_id, turn_at);
CREATE INDEX export_run_list ON logsvc_internal.export_run (resource_id, id);
CREATE INDEX export_run_open ON logsvc_internal.export_run (next_attempt_at)
	WHERE status IN ('waiting', 'running', 'delivering');
CREATE INDEX export_run_file ON logsvc_internal.export_run (organization_id, file_until)
	WHERE file_until IS NOT NULL;
CREATE INDEX export_run_finished ON logsvc_internal.export_run (finished_at);

CREATE TABLE logsvc_internal.export_file (
	run_id uuid NOT NULL REFERENCES logsvc_internal.export_run ON DELETE CASCADE,
	number int NOT NULL,
	organization_id uuid NOT NULL,
	start bigint NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY (run_id, number)
);
COMMENT ON TABLE logsvc_internal.export_file IS
'The files of runs, in pieces; start: the offset of the piece in its file';
CREATE INDEX export_file_organization ON logsvc_internal.export_file (organization_id);

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_exports', 'hour')
ON CONFLICT DO NOTHING;

ALTER TABLE logsvc_internal.export_schedule ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.export_run ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.export_file ENABLE ROW LEVEL SECURITY;
SELECT pg_extension_config_dump('logsvc_internal.export_schedule', '');
SELECT pg_extension_config_dump('logsvc_internal.export_run', '');
-- As large as the logs they are from, and for a week: runs whose files are missing are made again.
SELECT pg_extension_config_dump('logsvc_internal.export_file', 'WHERE false');
-- Pipelines: what organizations do to their events before they are stored.

CREATE TABLE logsvc_internal.pipeline_key (
	organization_id uuid PRIMARY KEY REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	key bytea NOT NULL DEFAULT sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
		CHECK (length(key) = 32)
);
COMMENT ON TABLE logsvc_internal.pipeline_key IS
'With what masks of an organization''s pipelines hash; shown to nobody';

-- Nobody but the owner reads it.
ALTER TABLE logsvc_internal.pipeline_key ENABLE ROW LEVEL SECURITY;
SELECT pg_extension_config_dump('logsvc_internal.pipeline_key', '');

-- Acceptors keep the pipelines of organizations as they keep credentials: until these change.
CREATE TRIGGER access_changed_new AFTER INSERT ON logsvc_internal.resource
FOR EACH ROW WHEN (NEW.kind = 'pipeline')
EXECUTE FUNCTION logsvc_internal.access_changed('organization_id');
CREATE TRIGGER access_changed_old AFTER DELETE OR UPDATE ON logsvc_internal.resource
FOR EACH ROW WHEN (OLD.kind = 'pipeline')
EXECUTE FUNCTION logsvc_internal.access_changed('organization_id');
CREATE TRIGGER access_changed_kind AFTER UPDATE OF kind ON logsvc_internal.resource
FOR EACH ROW WHEN (NEW.kind = 'pipeline')
EXECUTE FUNCTION logsvc_internal.access_changed('organization_id');
CREATE TRIGGER access_changed_all AFTER TRUNCATE ON logsvc_internal.resource
FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.access_changed();
ALTER TABLE logsvc_internal.resource ENABLE ALWAYS TRIGGER access_changed_new;
ALTER TABLE logsvc_internal.resource ENABLE ALWAYS TRIGGER access_changed_old;
ALTER TABLE logsvc_internal.resource ENABLE ALWAYS TRIGGER access_changed_kind;
ALTER TABLE logsvc_internal.resource ENABLE ALWAYS TRIGGER access_changed_all;
CREATE TRIGGER access_changed AFTER INSERT OR DELETE OR UPDATE ON logsvc_internal.pipeline_key
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.access_changed('organization_id');
CREATE TRIGGER access_changed_all AFTER TRUNCATE ON logsvc_internal.pipeline_key
FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.access_changed();
ALTER TABLE logsvc_internal.pipeline_key ENABLE ALWAYS TRIGGER access_changed,
	ENABLE ALWAYS TRIGGER access_changed_all;
-- The status of the service: what the probe found, and announced maintenance.

CREATE TABLE logsvc_internal.status_minute (
	minute timestamptz PRIMARY KEY,
	failed text[] NOT NULL,
	measured boolean NOT NULL,
	write_ms int,
	searchable_ms int
);
COMMENT ON TABLE logsvc_internal.status_minute IS
'What was found each minute of the last days: the components that failed, and how long the probe '
'took; measured: it counts for the uptime. A minute without a row is one in which nothing ran';

CREATE TABLE logsvc_internal.status_day (
	day date NOT NULL,
	component text NOT NULL,
	minutes int NOT NULL,
	failed int NOT NULL,
	incidents int NOT NULL,
	PRIMARY KEY (day, component)
);
COMMENT ON TABLE logsvc_internal.status_day IS
'The minutes of each past day (UTC) that count, those in which a component failed, and how many times '
'it began to';

CREATE TABLE logsvc_internal.maintenance (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	from_time timestamptz NOT NULL,
	to_time timestamptz NOT NULL CHECK (to_time > from_time),
	text text NOT NULL CHECK (text <> '' AND length(text) <= 500),
	announced_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.maintenance IS
'Maintenance that operators have announced; 48 hours ahead, it is left out of the uptime';

-- One row.
CREATE TABLE logsvc_internal.probe_organization (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	organization_id uuid NOT NULL UNIQUE REFERENCES logsvc_internal.organization ON DELETE CASCADE
);
COMMENT ON TABLE logsvc_internal.probe_organization IS
'The organization to which the probe of the status sends events; nobody is a member';

ALTER TABLE logsvc_internal.status_minute ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.status_day ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.maintenance ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.probe_organization ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_status', 'day')
ON CONFLICT DO NOTHING;

SELECT pg_extension_config_dump('logsvc_internal.status_minute', '');
SELECT pg_extension_config_dump('logsvc_internal.status_day', '');
SELECT pg_extension_config_dump('logsvc_internal.maintenance', '');
SELECT pg_extension_config_dump('logsvc_internal.probe_organization', '');

-- ---- mails about AI credits ----

ALTER TABLE logsvc_internal.quota_notice
	DROP CONSTRAINT quota_notice_kind_check,
	ADD CONSTRAINT quota_notice_kind_check
		CHECK (kind IN ('warning', 'discarded', 'ai_credits_warning', 'ai_credits_used'));
INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('warn_ai_credits', 'minute')
ON CONFLICT DO NOTHING;
INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_shared_answers', 'minute')
ON CONFLICT DO NOTHING;

-- ---- caps of AI credits ----

ALTER TABLE logsvc_internal.member
	ADD COLUMN ai_credit_limit int CHECK (ai_credit_limit >= 0);
COMMENT ON TABLE logsvc_internal.member IS
'Who belongs to which organization, with one role there; ai_credit_limit: AI credits that the '
'member may use in a month, NULL: as many as the organization has';
ALTER TABLE logsvc_internal.access_token
	ADD COLUMN ai_credit_limit int CHECK (ai_credit_limit >= 0);
COMMENT ON TABLE logsvc_internal.access_token IS
'Personal access tokens; token_hash: SHA-256 of the token, which is not stored; ai_credit_limit: '
'AI credits that it may use in a month, NULL: as many as its user may';
ALTER TABLE logsvc_internal.ai_credit_reservation
	ADD COLUMN user_id uuid, ADD COLUMN token_id uuid;
COMMENT ON TABLE logsvc_internal.ai_credit_reservation IS
'Credits reserved for calls in flight; an expired reservation no longer counts (decision 34); '
'user_id, token_id: within whose caps, without foreign keys because users and tokens may go meanwhile';
CREATE TABLE logsvc_internal.ai_credit_use (
  organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
  month date NOT NULL,
  holder uuid NOT NULL,
  used bigint NOT NULL DEFAULT 0 CHECK (used >= 0),
  PRIMARY KEY (organization_id, month, holder)
);
COMMENT ON TABLE logsvc_internal.ai_credit_use IS
'AI credits that users and tokens (holder) have used in a month (UTC), in micro-credits; not of the '
'membership, so that a member who is removed and added again has still used them';
ALTER TABLE logsvc_internal.ai_credit_use ENABLE ROW LEVEL SECURITY;
SELECT pg_extension_config_dump('logsvc_internal.ai_credit_use', '');
-- They say whose credits, and whose cap is reached.
DROP FUNCTION logsvc_internal.begin_evaluation(uuid, text, text, bigint, bigint, boolean, interval, text);
DROP FUNCTION logsvc_internal.settle_evaluation(uuid, bigint, bigint, text, bigint, bigint);
DROP FUNCTION logsvc.update_member(text, text);
DROP FUNCTION logsvc.create_token(text, text, text, text[], timestamptz);
DROP FUNCTION logsvc.create_own_token(text, text[], timestamptz);

-- ---- links to dashboards ----

INSERT INTO logsvc_internal.rate_limit (class, per_minute, scope, timed, customized) VALUES
	('link', 120, 'address', false, false)
ON CONFLICT (class) DO NOTHING;

-- ---- database roles of organizations ----

CREATE TABLE logsvc_internal.role_binding (
	role_oid oid PRIMARY KEY,
	role_name name NOT NULL UNIQUE,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.role_binding IS
'Database roles whose sessions read the events of one organization; good for the role with this id and this name';

CREATE TRIGGER access_changed AFTER INSERT OR DELETE OR UPDATE ON logsvc_internal.role_binding
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.access_changed();
CREATE TRIGGER access_changed_all AFTER TRUNCATE ON logsvc_internal.role_binding
FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.access_changed();
ALTER TABLE logsvc_internal.role_binding ENABLE ALWAYS TRIGGER access_changed,
	ENABLE ALWAYS TRIGGER access_changed_all;

ALTER TABLE logsvc_internal.role_binding ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.role_binding TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());

SELECT pg_extension_config_dump('logsvc_internal.role_binding', '');

-- ---- moving an organization ----


-- In no WAL and on no standby: after a crash the stream is copied in again.
CREATE UNLOGGED TABLE logsvc_internal.import_row (
	transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
	number bigint NOT NULL,
	kind text NOT NULL,
	data jsonb NOT NULL,
	header bytea,
	body bytea,
	PRIMARY KEY (transaction, number)
);
ALTER TABLE logsvc_internal.import_row
	ALTER header SET STORAGE EXTERNAL,
	ALTER body SET STORAGE EXTERNAL;
COMMENT ON TABLE logsvc_internal.import_row IS
'Rows of logsvc.export_organization that were copied into logsvc.organization_stream, until '
'logsvc.import_organization takes those of its own transaction';
ALTER TABLE logsvc_internal.import_row ENABLE ROW LEVEL SECURITY;
SELECT pg_extension_config_dump('logsvc_internal.import_row', 'WHERE false');

-- ---- keys with the organization, policies without subqueries ----

DO $$
DECLARE
	keyed record;
BEGIN
	FOR keyed IN
		SELECT c.relname AS name, k.conname AS key, a.attname AS first
		FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
		JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
		WHERE k.contype = 'p' AND array_length(k.conkey, 1) = 1
			AND (c.oid IN (SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent IN
				('logsvc_internal.part'::regclass, 'logsvc_internal.queue'::regclass))
				OR c.oid IN ('logsvc_internal.dead_letter'::regclass, 'logsvc_internal.deferred'::regclass,
					'logsvc_internal.deletion'::regclass))
	LOOP
		EXECUTE format('ALTER TABLE logsvc_internal.%I DROP CONSTRAINT %I, ADD CONSTRAINT %I'
			' PRIMARY KEY (%I, organization_id)', keyed.name, keyed.key, keyed.key, keyed.first);
	END LOOP;
END
$$;
ALTER POLICY tenant ON logsvc_internal.queue
	USING (organization_id = logsvc_internal.current_organization()
		AND (NOT audit OR logsvc_internal.may_read_audit()));
ALTER POLICY tenant ON logsvc_internal.part
	USING (organization_id = logsvc_internal.current_organization()
		AND (index_name <> '_audit' OR logsvc_internal.may_read_audit()));

-- Filters of past days.
CREATE TABLE logsvc_internal.day_filter (
	organization_id uuid NOT NULL,
	day date NOT NULL,
	id bigint NOT NULL,
	head bytea NOT NULL,
	bits bytea NOT NULL,
	PRIMARY KEY (organization_id, day, id)
);
ALTER TABLE logsvc_internal.day_filter
	ALTER head SET STORAGE MAIN,
	ALTER bits SET STORAGE EXTERNAL;
COMMENT ON TABLE logsvc_internal.day_filter IS
'Which full parts of a past day can hold a word or a value, for searches to leave out the others; id: '
'the least one of its parts; made again when it is lost, so not dumped, exported or distributed';
ALTER TABLE logsvc_internal.day_filter ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON logsvc_internal.day_filter TO logsvc_reader;
CREATE POLICY tenant ON logsvc_internal.day_filter FOR SELECT TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.day_filter', 'WHERE false');

-- Copies that were made by a dump.
CREATE TABLE logsvc_internal.origin (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	database oid NOT NULL,
	secret_hash bytea NOT NULL,
	cluster bigint NOT NULL,
	noted_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.origin IS
'The database that was the original when this was noted. A dump takes it along, but not the secret: where the hash '
'is that of another one, or the oid that of another database, this is a copy. pg_upgrade keeps both; cluster: the '
'system identifier, only to be shown';
ALTER TABLE logsvc_internal.origin ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('note_origin', 'hour')
ON CONFLICT DO NOTHING;

SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.origin', '');

-- Limits that come by replication, which fires no triggers of statements but TRUNCATE.
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY '{plan_limit,rate_limit}'::text[] LOOP
		EXECUTE format('DROP TRIGGER access_changed ON logsvc_internal.%I', name);
		EXECUTE format('CREATE TRIGGER access_changed AFTER INSERT OR DELETE OR UPDATE ON logsvc_internal.%I'
			' FOR EACH ROW EXECUTE FUNCTION logsvc_internal.access_changed()', name);
		EXECUTE format('CREATE TRIGGER access_changed_all AFTER TRUNCATE ON logsvc_internal.%I'
			' FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.access_changed()', name);
		EXECUTE format('ALTER TABLE logsvc_internal.%I ENABLE ALWAYS TRIGGER access_changed,'
			' ENABLE ALWAYS TRIGGER access_changed_all', name);
	END LOOP;
END
$$;

-- What servers that share accounts tell each other.  The function is here, too, because a trigger calls it.
CREATE FUNCTION logsvc_internal.heartbeat_arrived() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$ BEGIN RETURN NULL; END $$;

-- One row, written each second and shared like the accounts.
CREATE TABLE logsvc_internal.heartbeat (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	id uuid DEFAULT gen_random_uuid(),
	previous uuid,
	written_at timestamptz NOT NULL DEFAULT now(),
	answers timestamptz[] NOT NULL,
	slots uuid[] NOT NULL DEFAULT '{}'
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_analyze_threshold = 1000000);
COMMENT ON TABLE logsvc_internal.heartbeat IS
'The server that shares its accounts is there. id: random; on a node NULL, when it has missed one. previous: id of the one '
'before. answers: the time of day of each node, by its number, when it had last said something: a node that reads it has all '
'that was committed until then. slots: a random id of the slot of each node, from when it was added';
ALTER TABLE logsvc_internal.heartbeat ENABLE ROW LEVEL SECURITY;
CREATE TRIGGER heartbeat_arrived BEFORE INSERT OR UPDATE ON logsvc_internal.heartbeat
	FOR EACH ROW EXECUTE FUNCTION logsvc_internal.heartbeat_arrived();
ALTER TABLE logsvc_internal.heartbeat ENABLE REPLICA TRIGGER heartbeat_arrived;
-- Not dumped: it is about this moment.
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.heartbeat', 'WHERE false');
