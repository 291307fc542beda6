// provider.js PORT REDIRECT_URI SIGNING_ALG: an OpenID Connect provider on
// loopback for tests, with its own pages for login and consent.  Whoever logs in
// as NAME is NAME@example.org; the address is verified unless NAME begins with
// "un".  Prints "ready" when it listens.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const [port, redirectUri, alg] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const pair = alg === 'ES256'
	? generateKeyPairSync('ec', { namedCurve: 'P-256' })
	: generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = { ...pair.privateKey.export({ format: 'jwk' }), alg, use: 'sig' };

// What it says for people (and warnings) goes to the test's log, not among its TAP.
console.info = console.warn = (...words) => console.error(...words);

const provider = new Provider(issuer, {
	clients: [{
		client_id: 'logsvc',
		client_secret: 'a secret / of 100% + more',
		redirect_uris: [redirectUri],
		id_token_signed_response_alg: alg,
	}],
	jwks: { keys: [key] },
	cookies: { keys: ['only for tests'] },
	claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
	pkce: { methods: ['S256'], required: () => true },
	findAccount: (ctx, id) => ({
		accountId: id,
		claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: !id.startsWith('un'), name: `Name of ${id}` }),
	}),
});
createServer(provider.callback()).listen(Number(port), '127.0.0.1', () => console.log('ready'));
