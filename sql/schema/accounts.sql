-- Accounts: passwords, sessions, links that work once.

CREATE TABLE logsvc_internal.password_history (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	user_id uuid NOT NULL REFERENCES logsvc_internal.user_account ON DELETE CASCADE,
	password_hash text NOT NULL,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE logsvc_internal.password_history IS
'The last ten passwords of each user, including the current one';
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
'Sessions of browsers; token_hash: SHA-256 of the cookie, which is not stored; provider: which '
'one signed the user in, NULL: a password; ended sessions are deleted';
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
'Links in mails; token_hash: SHA-256 of the token; name, password_hash: those of the sign-up '
'that the link confirms';
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
'Work of requests about an address that is done after the answer, so that the time of the '
'answer does not reveal whether the address has an account';
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
'Links of users to identity providers; issuer: the one that the subject belongs to, so that '
'the subjects of another issuer are unknown';
CREATE INDEX oauth_identity_user_id ON logsvc_internal.oauth_identity (user_id);

CREATE TABLE logsvc_internal.known_device (
	token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
	user_id uuid NOT NULL REFERENCES logsvc_internal.user_account ON DELETE CASCADE,
	last_used_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.known_device IS
'Browsers in which a user has signed in, so that guesses by others do not lock the user out; '
'token_hash: SHA-256 of their cookie';
CREATE INDEX known_device_user_id ON logsvc_internal.known_device (user_id, last_used_at);

CREATE TABLE logsvc_internal.oauth_state (
	state_hash bytea PRIMARY KEY CHECK (length(state_hash) = 32),
	used_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.oauth_state IS
'States of recent sign-ins that a provider has sent back, so that none is used twice; '
'state_hash: SHA-256';
CREATE INDEX oauth_state_used_at ON logsvc_internal.oauth_state (used_at);

CREATE TABLE logsvc_internal.oauth_document (
	url text PRIMARY KEY,
	body text NOT NULL,
	fetched_at timestamptz NOT NULL DEFAULT now(),
	tried_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.oauth_document IS
'Documents that identity providers publish about themselves, cached for an hour; tried_at: '
'when one was last fetched before it expired';

-- Caches of sessions.  A new session cannot have been looked for, and what is
-- written by use does not count.
CREATE TRIGGER access_changed AFTER DELETE
	OR UPDATE OF id, user_id, token_hash, created_at, expires_at, provider
ON logsvc_internal.user_session FOR EACH ROW
EXECUTE FUNCTION logsvc_internal.access_changed('user_id');
CREATE TRIGGER access_changed_all AFTER TRUNCATE ON logsvc_internal.user_session
FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.access_changed();
ALTER TABLE logsvc_internal.user_session ENABLE ALWAYS TRIGGER access_changed,
	ENABLE ALWAYS TRIGGER access_changed_all;

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
