// websocket.js URL HEADERS: opens a WebSocket with the client ws, as Grafana's and Loki's clients do, and
// prints what happens as lines of JSON: [event, ...].  A line on its input is what it does: ping TEXT,
// send TEXT, close CODE.
import { createInterface } from 'node:readline';
import WebSocket from 'ws';

const [url, headers] = process.argv.slice(2);
const socket = new WebSocket(url, { headers: JSON.parse(headers ?? '{}'), handshakeTimeout: 60000 });
const say = (...what) => process.stdout.write(JSON.stringify(what) + '\n');

socket.on('open', () => say('open', socket.extensions));
socket.on('message', (data) => say('message', JSON.parse(data.toString())));
socket.on('pong', (data) => say('pong', data.toString()));
socket.on('error', (error) => say('error', error.message));
socket.on('close', (code, reason) => {
	say('close', code, reason.toString());
	process.exit(0);
});
socket.on('unexpected-response', (request, response) => {
	let body = '';
	response.on('data', (data) => { body += data; });
	response.on('end', () => {
		say('refused', response.statusCode, body, response.headers);
		process.exit(0);
	});
});
createInterface({ input: process.stdin }).on('line', (line) => {
	const [, what, text] = /^(\w+) (.*)$/.exec(line);
	if (what === 'ping') socket.ping(text);
	else if (what === 'send') socket.send(text);
	else socket.close(Number(text));
}).on('close', () => socket.terminate());
