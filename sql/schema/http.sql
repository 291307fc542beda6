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
'Requests with an Idempotency-Key of the last 24 hours; answer: encrypted with a key that '
'cannot be derived without the client''s';
CREATE INDEX idempotency_created_at ON logsvc_internal.idempotency (created_at);
SELECT pg_extension_config_dump('logsvc_internal.idempotency', 'WHERE false');
