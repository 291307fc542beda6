// client.js NAME...: the loggers of docs/sending-logs.md, each as its block of code there sets it up
// (block-NAME.mjs, written by test/lib/LogsvcClients.pm).  Reads commands, one a line:
//   log TAG COUNT RATE   logs COUNT lines, RATE a second; 0: as fast as it can; prints "done TAG"
//   one TAG              logs a warning with attributes; prints "done TAG"
// At the end of its input it closes the loggers as the page says, and ends.
import { createInterface } from 'node:readline';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

const clients = await Promise.all(process.argv.slice(2).map(async name => {
	const { logger, close } = await import(`./block-${name}.mjs`);
	// One function for all: text and attributes.
	const write = {
		pino: level => (text, meta) => logger[level](meta, text),
		bunyan: level => (text, meta) => logger[level](meta, text),
		winston: level => (text, meta) => logger.log(level, text, meta),
		splunk: level => (text, meta) => logger.send({ message: { message: text, ...meta }, severity: level }),
		opentelemetry: level => (text, attributes) => logger.emit({
			severityNumber: level === 'warn' ? 13 : 9, body: text, attributes }),
	}[name.split('-')[0]];
	return { name, close, info: write('info'), warn: write('warn') };
}));

// Gives way to its event loop from time to time, as a program does that serves requests.
async function log(write, tag, count, rate) {
	const start = Date.now();
	for (let i = 1; i <= count; i++) {
		write(`${tag} line ${i}`, { order: i });
		if (rate > 0) {
			const ahead = start + i * 1000 / rate - Date.now();
			if (ahead > 20) await sleep(ahead);
		} else if (i % 500 === 0) await turn();
	}
}

for await (const line of createInterface({ input: process.stdin })) {
	const [command, tag, count, rate] = line.split(' ');
	for (const { name, info, warn } of clients) {
		if (command === 'log') await log(info, tag, Number(count), Number(rate));
		else warn(`${tag} payment refused by ${name}`, { order: 4711, cart: { items: 2 } });
	}
	console.log('done', tag);
}
// The threads of transports keep no process; a server would.
const alive = setInterval(() => {}, 1000);
await Promise.all(clients.map(({ close }) => close?.()));
clearInterval(alive);
console.log('closed');
// Some have timers that never end.
process.exit(0);
