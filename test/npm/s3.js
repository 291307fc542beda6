// s3.js DIRECTORY CONTROL KEY SECRET: s3rver, a store that speaks the protocol of S3, on loopback
// with bucket "logs".  It knows no signatures of version 4, and cannot list and abort multipart
// uploads.  So each request is signed again by aws4, and must have the same signature and a body
// of the hash that it names; and the two requests are added.  Each request is a line of file CONTROL.log:
// method, URL, status.  What CONTROL says happens to requests whose method and URL it matches, a
// line each: "hang REGEX", "503 REGEX", "lie REGEX" (an error in a body of status 200).
// Prints the port when it listens.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const [directory, control, key, secret] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const Account = require('s3rver/lib/models/account');
const S3rver = require('s3rver');
const S3Error = require('s3rver/lib/models/error');
const aws4 = require('aws4');
const router = require('s3rver/lib/routes');

Account.DUMMY_ACCOUNT.createKeyPair(key, secret);

// After the check of the signature, before what the router has itself.
function add(method, url, handler) {
	router[method](url, handler);
	const layer = router.stack.pop();
	const at = router.stack.findIndex((l) => l.path === '/' && l.methods.includes('GET'));
	router.stack.splice(at, 0, layer);
}
const uploadsOf = (ctx) => ctx.store.getResourcePath(ctx.params.bucket, undefined, 'uploads');
add('all', '/:bucket/:key+', async (ctx, next) => {
	if ('uploadId' in ctx.query && !fs.existsSync(path.join(uploadsOf(ctx), path.basename(ctx.query.uploadId))))
		throw new S3Error('NoSuchUpload', 'The specified upload does not exist.');
	await next();
});
add('delete', '/:bucket/:key+', async (ctx, next) => {
	if (!('uploadId' in ctx.query))
		return next();
	fs.rmSync(path.join(uploadsOf(ctx), path.basename(ctx.query.uploadId)), { recursive: true });
	ctx.status = 204;
});
add('get', '/:bucket', async (ctx, next) => {
	if (!('uploads' in ctx.query))
		return next();
	const all = fs.existsSync(uploadsOf(ctx)) ? fs.readdirSync(uploadsOf(ctx)) : [];
	ctx.body = { ListMultipartUploadsResult: { Upload: all.map((UploadId) => (
		{ Key: fs.readFileSync(path.join(uploadsOf(ctx), UploadId, 'key'), 'utf8'), UploadId }))
		.filter((u) => u.Key.startsWith(ctx.query.prefix)) } };
});

const app = new S3rver({ address: '127.0.0.1', port: 0, silent: true, serviceEndpoint: 'localhost', directory, configureBuckets: [{ name: 'logs' }] });
app.middleware.unshift(async (ctx, next) => {
	const request = `${ctx.method} ${ctx.url}`;
	const rules = fs.existsSync(control) ? fs.readFileSync(control, 'utf8').split('\n') : [];
	const rule = rules.map((l) => l.split(' ', 2)).find(([what, re]) => what && new RegExp(re).test(request));
	if (rule && rule[0] === 'hang')
		await new Promise(() => {});
	else if (rule) {
		ctx.status = rule[0] === 'lie' ? 200 : Number(rule[0]);
		ctx.type = 'application/xml';
		ctx.body = `<?xml version="1.0"?><Error><Code>${rule[0] === '307' ? 'Other' : 'InternalError'}</Code><Message>secret words</Message></Error>`;
	} else
		await next();
	fs.appendFileSync(`${control}.log`, `${request} ${ctx.status}\n`);
});

// The signature, and that what was signed is what came.
function signed(ctx) {
	const given = ctx.get('authorization');
	const [, id, region, names] = /Credential=([^/]*)\/\d{8}\/([^/]*)\/s3\/aws4_request, SignedHeaders=([^,]*), /.exec(given) ?? [];
	const headers = Object.fromEntries((names ?? '').split(';').map((n) => [n, ctx.get(n)]));
	if (id !== key)
		throw new S3Error('InvalidAccessKeyId', 'The AWS Access Key Id you provided does not exist in our records.');
	const again = aws4.sign({ service: 's3', region, method: ctx.method, path: ctx.originalUrl, headers },
		{ accessKeyId: key, secretAccessKey: secret }).headers.Authorization;
	if (again !== given || !names.includes('host') || !names.includes('x-amz-content-sha256'))
		throw new S3Error('SignatureDoesNotMatch', 'The request signature we calculated does not match.');
}
app.middleware.splice(app.middleware.length - 1, 0, async (ctx, next) => {
	const hash = createHash('sha256');
	const emit = ctx.req.emit;
	ctx.req.emit = function (event, chunk, ...more) {
		if (event === 'data')
			hash.update(chunk);
		return emit.call(this, event, chunk, ...more);
	};
	signed(ctx);
	await next();
	if (hash.digest('hex') !== ctx.get('x-amz-content-sha256'))
		throw new S3Error('XAmzContentSHA256Mismatch', 'The body does not have the hash that was signed.');
});
const { port } = await app.run();
console.log(port);
