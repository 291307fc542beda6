-- What functions that answer HTTP requests use.

-- ---- the request ----

CREATE OR REPLACE FUNCTION logsvc_internal.request_id() RETURNS text
LANGUAGE C STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_request_id';
COMMENT ON FUNCTION logsvc_internal.request_id() IS
'X-Request-Id of the HTTP request; NULL in SQL sessions';

CREATE OR REPLACE FUNCTION logsvc_internal.request_address() RETURNS inet
LANGUAGE C STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_request_address';
COMMENT ON FUNCTION logsvc_internal.request_address() IS
'The address of the HTTP client, behind trusted proxies; in SQL sessions that of the database '
'client';

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
'A JSON answer with its own status and headers; NULL body: none';

-- ---- lists ----

CREATE OR REPLACE FUNCTION logsvc_internal.sign_position(scope text, "position" text) RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_sign_position';
COMMENT ON FUNCTION logsvc_internal.sign_position(text, text) IS
'A cursor: where a page of a list ended, signed together with the identity of the list';

CREATE OR REPLACE FUNCTION logsvc_internal.open_position(scope text, cursor text) RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_open_position';
COMMENT ON FUNCTION logsvc_internal.open_position(text, text) IS
'The position in a cursor of the last 24 hours; raises INVALID_CURSOR for the cursor of '
'another list';

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
'Makes a page from limit + 1 rows and their sort keys; scope: the list, the organization, the '
'filter';

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
'NULL for a new request; otherwise the answer that the same request got before; raises '
'IDEMPOTENCY_CONFLICT for a different one';

CREATE OR REPLACE FUNCTION logsvc_internal.end_idempotent(key_hash bytea, answer bytea)
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
	UPDATE logsvc_internal.idempotency i SET answer = end_idempotent.answer
	WHERE i.key_hash = end_idempotent.key_hash;
END;
COMMENT ON FUNCTION logsvc_internal.end_idempotent(bytea, bytea) IS
'Stores the answer of a request with an Idempotency-Key';
