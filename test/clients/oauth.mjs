// Signs in to `serve --http` with a real authorization server, oidc-provider: the TypeScript SDK in its
// versions 1 and 2 is told the URL of the MCP server and nothing else.
//
//   npm ci --ignore-scripts && node oauth.mjs path/to/openai-responses-mcp
//
// It needs Node.js 22 or newer. People sign in with the forms that oidc-provider has for development.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

import { StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import Provider from 'oidc-provider';

import { finish, test } from '../runner.mjs';
import { WEATHER, answered, binary, env, sdk1, sdk2 } from './lib.mjs';

const REDIRECT = 'http://127.0.0.1:9/callback'; // read from the redirect, never opened
const CLIENT = 'https://client.example.com/metadata.json'; // the id of a client that does not register
const SCOPE = 'mcp';

// listen returns a server on a free port, and its origin.
async function listen(handler) {
  const server = createServer(handler);
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return [server, `http://127.0.0.1:${server.address().port}`];
}

// The metadata of a client, as it registers or as the document at its id says.
const metadata = {
  client_name: 'test-clients',
  redirect_uris: [REDIRECT],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

// The origin of the issuer is known before its configuration is.
let callback;
const [, issuer] = await listen((req, res) => callback(req, res));
const idp = new Provider(issuer, {
  scopes: ['openid', 'offline_access', SCOPE],
  features: {
    registration: { enabled: true },
    clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({ scope: SCOPE, audience: resource, accessTokenFormat: 'jwt' }),
    },
  },
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
  fetch: async (url) => {
    assert.equal(String(url), CLIENT);
    return Response.json({ ...metadata, client_id: CLIENT });
  },
});
callback = idp.callback();

// What clients did at the issuer since the last call of happened.
let events = [];
idp.on('registration_create.success', () => events.push('registration'));
idp.on('authorization.success', ({ oidc }) => events.push(`authorization ${oidc.params.code_challenge_method}`));
idp.on('grant.success', ({ oidc }) => events.push(oidc.params.grant_type));
function happened() {
  const all = events;
  events = [];
  return all;
}

// browse signs a person in and agrees to what the client asks for. It returns where the browser ends.
async function browse(url, person) {
  const cookies = new Map();
  let form;
  for (let pages = 0; pages < 20; pages++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const page = await fetch(url, { redirect: 'manual', headers: { cookie }, ...(form && { method: 'POST', body: form }) });
    for (const line of page.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      value ? cookies.set(name, value) : cookies.delete(name);
    }
    const location = page.headers.get('location');
    if (location?.startsWith(REDIRECT)) return new URL(location);
    const html = await page.text();
    const action = /action="([^"]+)"/.exec(html)?.[1];
    assert.ok(location ?? action, `HTTP ${page.status}: ${html}`);
    url = new URL(location ?? action, url);
    const prompt = /name="prompt" value="(\w+)"/.exec(html)?.[1];
    form = location ? undefined : new URLSearchParams({ prompt, login: person, password: 'x' });
  }
  throw new Error('the sign-in does not end');
}

// Account is what a client keeps of a person's account at the issuer.
class Account {
  redirectUrl = REDIRECT;
  clientMetadata = metadata;
  redirected = []; // the pages that the client opened

  constructor(clientMetadataUrl) { this.clientMetadataUrl = clientMetadataUrl; }
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.saved; }
  saveTokens(tokens) { this.saved = tokens; }
  codeVerifier() { return this.verifier; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  discoveryState() { return this.discovered; }
  saveDiscoveryState(state) { this.discovered = state; }
  redirectToAuthorization(url) { this.redirected.push(url); }
}

// The public URL has the port that the server listens on.
const [free, origin] = await listen();
await new Promise((done) => free.close(done));
const url = new URL('/mcp', origin);
const args = ['serve', '--http', url.host, '--offline', '--public-url', url.href, '--oauth-issuer', issuer, '--oauth-scope', SCOPE];
const server = spawn(binary, args, { env, stdio: ['ignore', 'inherit', 'pipe'] });
let log = '';
server.stderr.on('data', (chunk) => { log += chunk; });
for (let ready = false; !ready;) {
  assert.equal(server.exitCode, null, log);
  await pause(20);
  ready = await fetch(new URL('/readyz', origin)).then((page) => page.ok, () => false);
}

const resource = `${origin}/.well-known/oauth-protected-resource/mcp`;
const challenge = `Bearer resource_metadata="${resource}", scope="${SCOPE}"`;

await test('a request without a token is challenged', async () => {
  for (const method of ['POST', 'GET', 'DELETE']) {
    const { status, headers } = await fetch(url, { method });
    assert.deepEqual([status, headers.get('www-authenticate')], [401, challenge], method);
  }
});

await test('the metadata of the resource', async () => {
  const page = await fetch(resource, { headers: { origin: 'https://app.example.com' } });
  assert.equal(page.headers.get('access-control-allow-origin'), '*');
  assert.deepEqual(await page.json(), {
    resource: url.href,
    authorization_servers: [issuer],
    scopes_supported: [SCOPE],
    bearer_methods_supported: ['header'],
    resource_name: 'openai-responses-mcp',
  });
});

const secrets = [];
for (const [name, Transport, session, document] of [
  ['SDK 1, registers', Http1, sdk1],
  ['SDK 1, has a document', Http1, sdk1, CLIENT],
  ['SDK 2, legacy, registers', Http2, () => sdk2('legacy')],
  ['SDK 2, stateless, registers', Http2, () => sdk2({ pin: '2026-07-28' })],
  ['SDK 2, stateless, has a document', Http2, () => sdk2({ pin: '2026-07-28' }), CLIENT],
]) {
  const account = new Account(document);
  const transport = () => new Transport(url, { authProvider: account });
  const ask = async ({ call }) => answered(await call({ name: 'answer', arguments: { query: WEATHER } }), true);

  await test(`${name}: signs in and calls`, async () => {
    const first = transport();
    await assert.rejects(session().client.connect(first), /unauthorized/i);
    const end = await browse(account.redirected[0], 'alice');
    await first.finishAuth(Transport === Http1 ? end.searchParams.get('code') : end.searchParams);

    const s = session();
    await s.client.connect(transport());
    await ask(s);
    await s.client.close();
    const registration = document ? [] : ['registration'];
    assert.deepEqual(happened(), [...registration, 'authorization S256', 'authorization_code']);
  });

  await test(`${name}: refreshes its token`, async () => {
    secrets.push(account.saved.access_token);
    account.saved = { ...account.saved, access_token: `${account.saved.access_token.slice(0, -4)}AAAA` };
    const s = session();
    await s.client.connect(transport());
    await ask(s);
    await s.client.close();
    assert.deepEqual([happened(), account.redirected.length], [['refresh_token'], 1]);
    secrets.push(account.saved.access_token);
  });
}

await test('an opaque token is refused', async () => {
  const { status, headers } = await fetch(url, { method: 'POST', headers: { authorization: 'Bearer opaque' } });
  assert.equal(status, 401);
  assert.ok(headers.get('www-authenticate').startsWith(`${challenge}, error="invalid_token", error_description="`));
});

server.kill();
await new Promise((done) => server.once('exit', done));
await test('the log has the calls and no token', () => {
  assert.match(log, /call .*client=alice/);
  for (const secret of secrets) assert.ok(!log.includes(secret.split('.')[2]));
});
finish();
