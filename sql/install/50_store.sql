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
