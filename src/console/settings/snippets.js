/*
 * snippets.js: how programs send events with a key, or read with it: commands and configurations to paste.
 */
import { html, useState } from '../view.js';
import { Button } from '../ui/button.js';
import { CopyBox } from '../ui/copy-button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { Tabs } from '../ui/tabs.js';
import { serviceUrl } from './new-token.js';

/** {id, label, text} for a key of a scope; url: of the service. */
export function snippetsOf({ key, scope, url })
{
	const { hostname, port, protocol } = new URL(url);
	const tls = protocol === 'https:';
	const sends = [
		{ id: 'curl', label: 'curl', text: [
			`curl -X POST '${url}/api/v1/logs' \\`,
			`  -H 'Authorization: Bearer ${key}' \\`,
			"  -H 'Content-Type: application/json' \\",
			`  -d '{"event": "hello from curl", "level": "info", "service": "shell"}'`,
		].join('\n') },
		{ id: 'otel', label: 'OTel Collector', text: [
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
		{ id: 'fluent-bit', label: 'Fluent Bit', text: [
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

/** The snippets of a key as tabs. key: its value, or what stands for it. */
export function Snippets({ value, scope })
{
	const list = snippetsOf({ key: value, scope, url: serviceUrl() });
	const [selected, setSelected] = useState(list[0].id);
	const shown = list.find((one) => one.id === selected);
	return html`<${Tabs} label="How to use it" tabs=${list.map(({ id, label }) => ({ id, label }))} selected=${selected} onSelect=${setSelected}>
		<${CopyBox} text=${shown.text} label=${`Copy for ${shown.label}`} /><//>`;
}

/** Shows how to use a key that exists; its value is not known any more, so something stands for it. */
export const showSnippets = (key) => openDialog((close) => html`<${Dialog} title="How to use this key" onClose=${() => close()} footer=${html`<${Button} onClick=${() => close()}>Close<//>`}>
	<div class="stack"><p class="muted break">Put the value of <strong><bdi>${key.name}</bdi></strong> (<code>${key.prefix}…</code>) in the place of <code>YOUR_KEY</code>. It was shown when the key was created.</p>
		<${Snippets} value="YOUR_KEY" scope=${key.scope} /></div><//>`);
