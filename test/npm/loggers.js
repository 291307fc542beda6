// loggers.js URL KEY: the loggers pino and winston with transports of Loki,
// Elasticsearch and OpenTelemetry, each as its documentation sets it up.  Each
// logs a warning with a number and a nested object, service NAME.  It ends with its input:
// not every transport tells when it is through.
import { finished } from 'node:stream/promises';
import api from '@opentelemetry/api-logs';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { OpenTelemetryTransportV3 } from '@opentelemetry/winston-transport';
import pino from 'pino';
import pinoElasticsearch from 'pino-elasticsearch';
import winston from 'winston';
import { ElasticsearchTransport } from 'winston-elasticsearch';
import LokiTransport from 'winston-loki';

const [url, key] = process.argv.slice(2);
// Threads of transports do not keep the process.
setInterval(() => {}, 1000);
const meta = { order: 4711, cart: { items: 2 } };
const bearer = { Authorization: `Bearer ${key}` };

// A transport in a thread of its own: it sends what it has when it ends.
async function pinoWith(transport) {
	const stream = pino.transport(transport);
	const logger = pino({ base: {} }, stream);
	await new Promise(resolve => stream.on('ready', resolve));
	logger.warn(meta, 'payment refused');
	await new Promise(resolve => logger.flush(resolve));
	stream.end();
	await new Promise(resolve => stream.on('close', resolve));
}

async function winstonWith(name, transport, close) {
	const logger = winston.createLogger({ transports: [transport] });
	transport.on('warn', error => console.error(name, error));
	transport.on('error', error => console.error(name, error));
	logger.warn('payment refused', { ...meta, service: name });
	if (close) await close(transport);
	logger.end();
	await finished(transport).catch(error => console.error(name, error));
}

process.stdin.on('end', () => process.exit(0)).resume();
await Promise.all([
	pinoWith({ target: 'pino-loki', options: { host: url, headers: bearer, labels: { app: 'pino-loki' } } }),
	(async () => {
		const stream = pinoElasticsearch({ node: url, auth: { apiKey: key }, index: 'pino', esVersion: 8, flushBytes: 1000 });
		const inserted = new Promise(resolve => stream.on('insert', resolve));
		stream.on('insertError', error => console.error('pino-elasticsearch', error));
		pino({ base: { service: 'pino-elasticsearch' } }, stream).warn(meta, 'payment refused');
		stream.end();
		await inserted;
	})(),
	pinoWith({ target: 'pino-opentelemetry-transport', options: {
		resourceAttributes: { 'service.name': 'pino-opentelemetry' }, loggerName: 'pino', serviceVersion: '1',
		logRecordProcessorOptions: { recordProcessorType: 'batch', exporterOptions: { protocol: 'http',
			httpExporterOptions: { url: url + '/v1/logs', headers: bearer } } } } }),
	winstonWith('winston-loki', new LokiTransport({ host: url, basicAuth: `me:${key}`, json: false, interval: 0.1,
		labels: { app: 'winston-loki' }, gracefulShutdown: false, onConnectionError: error => console.error('winston-loki', error) }),
		transport => transport.flush()),
	winstonWith('winston-elasticsearch', new ElasticsearchTransport({ level: 'info', ensureIndexTemplate: false, flushInterval: 100,
		clientOpts: { node: url, auth: { username: 'me', password: key } } }), transport => transport.flush()),
	(async () => {
		const provider = new LoggerProvider({ resource: resourceFromAttributes({ 'service.name': 'winston-opentelemetry' }),
			processors: [new BatchLogRecordProcessor({ exporter: new OTLPLogExporter({ url: url + '/v1/logs', headers: bearer }) })] });
		api.logs.setGlobalLoggerProvider(provider);
		await winstonWith('winston-opentelemetry', new OpenTelemetryTransportV3());
		await provider.shutdown();
	})(),
]);
