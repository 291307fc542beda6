// resend.js URL KEY N: N log records through OpenTelemetry's own SDK, whose exporter
// sends a batch again when it is told to.  Prints "status Retry-After" of each answer
// and, in the end, the code of the export's result: 0 is success.
import { subscribe } from 'node:diagnostics_channel';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';

const [url, key, n] = process.argv.slice(2);
subscribe('http.client.response.finish', ({ response }) =>
	console.log(response.statusCode, response.headers['retry-after'] ?? '-'));
const exporter = new OTLPLogExporter({ url, headers: { Authorization: `Bearer ${key}` } });
const send = exporter.export.bind(exporter);
exporter.export = (records, done) => send(records, result => {
	console.log('result', result.code);
	done(result);
});
const provider = new LoggerProvider({
	processors: [new BatchLogRecordProcessor({ exporter, maxExportBatchSize: Number(n), maxQueueSize: Number(n) })],
});
const logger = provider.getLogger('resend');
for (let i = 1; i <= Number(n); i++) logger.emit({ body: `record ${i}` });
await provider.shutdown();
