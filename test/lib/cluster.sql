-- What LogsvcTest has in its clusters, unless a test wants the limits that users get.
CREATE EXTENSION logsvc;
UPDATE logsvc_internal.rate_limit SET per_minute = 1000000000
WHERE class IN ('ingest', 'otlp', 'logs', 'search', 'templates', 'tail', 'export', 'deletions',
	'reports', 'executor', 'unauthorized', 'forbidden');
