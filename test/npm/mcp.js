// mcp.js URL SECRET [NAME ARGUMENTS]...: an assistant's client, the public SDK of the Model Context
// Protocol: connects, lists tools and resources, reads each resource and calls tools.  Prints one
// line of JSON.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [url, secret, ...calls] = process.argv.slice(2);
const client = new Client({ name: 'test', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL(url), {
	requestInit: { headers: { Authorization: `Bearer ${secret}` } },
}));
const said = {
	server: client.getServerVersion(),
	instructions: client.getInstructions(),
	tools: (await client.listTools()).tools,
	resources: [],
	calls: [],
};
await client.ping();
for (const { uri } of (await client.listResources()).resources)
	said.resources.push((await client.readResource({ uri })).contents[0]);
for (let i = 0; i < calls.length; i += 2)
	said.calls.push(await client.callTool({ name: calls[i], arguments: JSON.parse(calls[i + 1]) })
		.catch(error => ({ code: error.code, message: error.message })));
await client.close();
console.log(JSON.stringify(said));
