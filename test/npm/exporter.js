// exporter.js URL KEY http|proto none|gzip: log records through OpenTelemetry's
// own SDK and exporter.  Prints the code of each export's result: 0 is success.
import { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter as HttpExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter as ProtoExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';

const [url, key, kind, compression] = process.argv.slice(2);
const Exporter = kind === 'http' ? HttpExporter : ProtoExporter;
const exporter = new Exporter({ url, compression, headers: { Authorization: `Bearer ${key}` } });
const send = exporter.export.bind(exporter);
exporter.export = (records, done) => send(records, result => {
	console.log(result.code);
	if (result.error) console.error(result.error.message);
	done(result);
});
const provider = new LoggerProvider({
	resource: resourceFromAttributes({ 'service.name': `sdk-${kind}-${compression}`, 'host.name': 'h1' }),
	processors: [new BatchLogRecordProcessor({ exporter })],
});
const logger = provider.getLogger('checkout', '1.2.3');
logger.emit({
	severityNumber: SeverityNumber.WARN, severityText: 'WARN', body: 'payment refused', timestamp: Date.now(),
	attributes: { order: 4711, ratio: 0.25, paid: false, tags: ['a', 'b'], raw: new Uint8Array([0, 1, 2]) },
});
logger.emit({ severityNumber: SeverityNumber.INFO2, body: { message: 'hi', nested: { n: 1 } } });
logger.emit({ eventName: 'user.login', attributes: { user: 'ann' } });
await provider.shutdown();
