-- Created, dropped and created again: nothing is left behind.
\set VERBOSITY terse
SELECT extname, extrelocatable FROM pg_extension WHERE extname = 'logsvc';
DROP EXTENSION logsvc;
SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'logsvc%';
CREATE EXTENSION logsvc;
SELECT nspname FROM pg_namespace WHERE nspname LIKE 'logsvc%' ORDER BY 1;
