/*
 * snippets.js: how programs send events with a key, or read with it: commands and configurations to paste.
 */
import { html, useState } from '../view.js';
import { config } from '../session.js';
import { CopyBox } from './copy-button.js';
import { Tabs } from './tabs.js';

/** The address of the service, without a slash at its end. */
export const serviceUrl = () => config.value?.publicUrl?.replace(/\/+$/, '') || window.location.origin;

/** {id, label, text, hint} for a key of a scope; url: of the service. */
export function snippetsOf({ key, scope, url })
{
	const { hostname, port, protocol } = new URL(url);
	const tls = protocol === 'https:';
	const sends = [
		{ id: 'curl', label: 'curl', text: `curl -X POST ${url}/api/v1/logs -H 'Authorization: Bearer ${key}' -d '{"event": "payment refused", "level": "error", "service": "checkout", "attributes": {"order": 4711}}'` },
		{ id: 'otel', label: 'OTel Collector', hint: 'SDKs send to /v1/logs with the same header.', text: [
			'exporters:',
			'  otlphttp/logsvc:',
			`    endpoint: ${url}`,
			'    compression: gzip',
			'    headers:',
			`      Authorization: Bearer ${key}`,
			'    sending_queue: { enabled: true, storage: file_storage }',
			'    retry_on_failure: { enabled: true, max_elapsed_time: 0s }',
			'extensions:',
			'  file_storage: { directory: /var/lib/otelcol }',
			'service:',
			'  extensions: [file_storage]',
			'  pipelines:',
			'    logs:',
			'      receivers: [otlp]',
			'      exporters: [otlphttp/logsvc]',
		].join('\n') },
		{ id: 'fluent-bit', label: 'Fluent Bit', hint: 'The text is in $log for input tail, in $message for others.', text: [
			'[OUTPUT]',
			'    Name                     opentelemetry',
			'    Match                    *',
			`    Host                     ${hostname}`,
			`    Port                     ${port || (tls ? 443 : 80)}`,
			`    Tls                      ${tls ? 'On' : 'Off'}`,
			'    Logs_uri                 /v1/logs',
			`    Header                   Authorization Bearer ${key}`,
			'    Retry_Limit              no_limits',
			'    Logs_body_key            $log',
			'    Logs_body_key_attributes true',
		].join('\n') },
		{ id: 'pino', label: 'pino', text: [
			"import pino from 'pino';",
			'',
			'const transport = pino.transport({',
			"  target: 'pino-opentelemetry-transport',",
			'  options: {',
			"    resourceAttributes: { 'service.name': 'checkout' }, loggerName: 'pino', serviceVersion: '1',",
			"    logRecordProcessorOptions: { recordProcessorType: 'batch',",
			"      exporterOptions: { protocol: 'http/protobuf', protobufExporterOptions: {",
			`        url: '${url}/v1/logs',`,
			`        headers: { Authorization: 'Bearer ${key}' } } } },`,
			'  },',
			'});',
			'export const logger = pino({ base: {} }, transport);',
		].join('\n') },
	];
	const reads = [{ id: 'search', label: scope === 'read-only' ? 'curl' : 'curl: search', text: [
			`curl -G '${url}/api/v1/search' \\`,
			`  -H 'Authorization: Bearer ${key}' \\`,
			"  -d earliest=-1h -d limit=10 --data-urlencode 'q=level=error'",
		].join('\n') }];
	return scope === 'ingest-only' ? sends : scope === 'read-only' ? reads : [...sends, ...reads];
}

/** The snippets of a key as tabs. value: its value, or what stands for it; more: others of the same form. */
export function Snippets({ value, scope, more = [] })
{
	const list = [...snippetsOf({ key: value, scope, url: serviceUrl() }), ...more];
	const [selected, setSelected] = useState(list[0].id);
	const shown = list.find((one) => one.id === selected);
	return html`<${Tabs} label="How to use it" tabs=${list.map(({ id, label }) => ({ id, label }))} selected=${selected} onSelect=${setSelected}>
		<div class="stack-s snippets"><${CopyBox} text=${shown.text} label=${`Copy for ${shown.label}`} />${shown.hint && html`<p class="small muted">${shown.hint}</p>`}</div><//>`;
}
