-- Help in psql.  The texts are those of docs/help.md (help_texts.sql is made of it).

CREATE OR REPLACE FUNCTION logsvc.help(topic text DEFAULT NULL) RETURNS SETOF text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 40
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_body text;
BEGIN
	IF help.topic IS NULL THEN
		RETURN QUERY SELECT format('SELECT logsvc.help(%L);', t.topic)
				|| repeat(' ', greatest(0, 12 - length(t.topic))) || '-- ' || t.title
			FROM logsvc_internal.help_texts() AS t;
		RETURN;
	END IF;
	SELECT t.body INTO found_body FROM logsvc_internal.help_texts() AS t
	WHERE t.topic = lower(btrim(help.topic) COLLATE "C") COLLATE "default";
	IF NOT FOUND THEN
		PERFORM logsvc_internal.invalid('topic', 'must be one of '
			|| (SELECT string_agg(t.topic, ', ') FROM logsvc_internal.help_texts() AS t));
	END IF;
	RETURN QUERY SELECT string_to_table(found_body, E'\n');
END
$$;
COMMENT ON FUNCTION logsvc.help(text) IS
'Help, one line a row: without an argument the topics, else the text of that topic, such as search';
GRANT EXECUTE ON FUNCTION logsvc_internal.help_texts() TO logsvc_reader;
