-- Ingest from SQL.

CREATE OR REPLACE FUNCTION logsvc.ingest(events jsonb) RETURNS jsonb
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_ingest';
COMMENT ON FUNCTION logsvc.ingest(jsonb) IS
'Accepts events: one object, an array or {"events": [...]}; they commit with the transaction';

CREATE OR REPLACE FUNCTION logsvc.log(
  event text, level text DEFAULT 'info', source text DEFAULT NULL,
  attributes jsonb DEFAULT NULL, index text DEFAULT 'main')
RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_log';
COMMENT ON FUNCTION logsvc.log(text, text, text, jsonb, text) IS
'Accepts one event (its text), which commits with the transaction; returns its id';

-- ---- Idempotency-Key of requests that ingest (src/ingest/accept_key.c) ----

-- Of an organization whose keys come faster only the last are kept, so that it cannot fill the
-- disk.  Only those that have sent keys lately can have too many.
CREATE OR REPLACE FUNCTION logsvc_internal.purge_ingest_answers(
	at timestamptz, most_answers int DEFAULT 100000, most_bytes bigint DEFAULT 67108864)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	sender uuid;
	too_old timestamptz;
BEGIN
	-- A row that an acceptor is about to write anew is skipped: neither waits for the other.
	DELETE FROM logsvc_internal.ingest_answer a
	WHERE a.key_hash IN (SELECT old.key_hash FROM logsvc_internal.ingest_answer old
		WHERE old.created_at < at - interval '24 hours'
		ORDER BY old.created_at LIMIT 100000 FOR UPDATE SKIP LOCKED);
	FOR sender IN SELECT DISTINCT r.organization_id FROM logsvc_internal.ingest_answer r
		WHERE r.created_at > at - interval '10 minutes'
	LOOP
		SELECT k.created_at INTO too_old FROM (
			SELECT i.created_at, row_number() OVER latest AS place,
				sum(octet_length(i.answer)) OVER latest AS bytes
			FROM logsvc_internal.ingest_answer i WHERE i.organization_id = sender
			WINDOW latest AS (ORDER BY i.created_at DESC ROWS UNBOUNDED PRECEDING)) AS k
		WHERE k.place > most_answers OR k.bytes > most_bytes
		ORDER BY k.created_at DESC LIMIT 1;
		CONTINUE WHEN too_old IS NULL;
		DELETE FROM logsvc_internal.ingest_answer a
		WHERE a.key_hash IN (SELECT old.key_hash FROM logsvc_internal.ingest_answer old
			WHERE old.organization_id = sender AND old.created_at <= too_old
			FOR UPDATE SKIP LOCKED);
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.purge_ingest_answers(timestamptz, int, bigint) IS
'Scheduled: removes answers older than 24 hours, and of each organization those beyond its last '
'100,000 or 64 MB';
