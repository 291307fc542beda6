// openapi_client.ts URL KEY: a client whose types openapi-typescript has made of the API description
// (openapi.d.ts): sends an event and finds it.  What is marked must not compile.
import createClient from 'openapi-fetch';
import type { components, paths } from './openapi.d.ts';

declare const process: { argv: string[] };
const [url, key] = process.argv.slice(2);
const client = createClient<paths, 'application/json'>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });

const sent = await client.POST('/api/v1/logs', { body: { event: 'typed', level: 'error', source: 'client' } });
const q = 'level=error | stats count by source';
const found = await client.GET('/api/v1/search', { params: { query: { q, limit: 10 } } });
const events = await client.GET('/api/v1/logs', { params: { query: { level: 'error' } } });
const first: components['schemas']['Event'] | undefined = events.data?.data[0];
const made = await client.POST('/api/v1/saved-queries', { body: { name: 'errors', q } });
const version: number | undefined = made.data?.data.version;
const wrong = await client.GET('/api/v1/search', { params: { query: { q: '| nonsense' } } });

export function never() {
	// @ts-expect-error: a parameter that there is not
	client.GET('/api/v1/search', { params: { query: { qq: '*' } } });
	// @ts-expect-error: a parameter of another type
	client.GET('/api/v1/search', { params: { query: { limit: 'ten' } } });
	// @ts-expect-error: a route that there is not
	client.GET('/api/v1/searches');
	// @ts-expect-error: a member that is required
	client.POST('/api/v1/saved-queries', { body: { name: 'errors' } });
	// @ts-expect-error: a member that there is not
	const body: components['schemas']['SavedQuery'] = { name: 'errors', q, colour: 'red' };
	client.POST('/api/v1/saved-queries', { body });
	// @ts-expect-error: a value that there is not
	client.POST('/api/v1/api-keys', { body: { name: 'ci', scope: 'everything' } });
	// @ts-expect-error: a member that answers do not have
	return found.data?.data.lines;
}

console.log(JSON.stringify({ sent: sent.response.status, rows: found.data?.data.rows, kind: found.data?.data.kind,
	event: first?.event, version, error: wrong.error?.code }));
