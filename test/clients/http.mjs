// Runs clients written by others against `serve --http`: the TypeScript SDK in its versions 1 and 2, and
// the conformance suite of the protocol.
//
//   npm ci --ignore-scripts && node http.mjs path/to/openai-responses-mcp
//
// conformance.yaml lists the scenarios that do not apply.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { finish, test } from '../runner.mjs';
import { WEATHER, binary, env, home, sdk1, sdk2, session } from './lib.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
let log = '';

// serve starts a server, whose URL it returns.
async function serve(more, ...args) {
  const server = spawn(binary, ['serve', '--http', '127.0.0.1:0', ...args], { env: { ...env, ...more }, stdio: ['ignore', 'inherit', 'pipe'] });
  const url = await new Promise((found, lost) => {
    server.once('exit', () => lost(new Error(log)));
    let own = '';
    server.stderr.on('data', (chunk) => {
      log += chunk;
      own += chunk;
      const address = /serving MCP on (\S+)/.exec(own);
      if (address) found(address[1]);
    });
  });
  return { server, url };
}

const { server, url } = await serve({}, '--offline');

// The content of an answer over stdio.
const question = { name: 'answer', arguments: { query: WEATHER } };
const stdio = sdk1();
await stdio.client.connect(new StdioClientTransport({ command: binary, args: ['--stdio', '--offline'], env, stderr: 'ignore' }));
const { content } = await stdio.call(question);
await stdio.client.close();

for (const [name, Transport, version, s] of [
  ['SDK 1', Http1, '2025-06-18', sdk1()],
  ['SDK 2, legacy', Http2, '2025-06-18', sdk2('legacy')],
  ['SDK 2, stateless', Http2, '2026-07-28', sdk2({ pin: '2026-07-28' })],
]) {
  await s.client.connect(new Transport(new URL(url)));
  await session(name, s, version);
  await test(`${name}: the same content as over stdio`, async () => assert.deepEqual((await s.call(question)).content, content));
  await s.client.close();
}

// An API that answers no question, and a server in front of it.
const requests = [];
const api = createServer((_, response) => requests.shift()({ closed: once(response, 'close') })).listen(0, '127.0.0.1');
await once(api, 'listening');
const silent = await serve({ OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: `http://127.0.0.1:${api.address().port}/v1` });
for (const [name, Transport, s] of [
  ['SDK 1', Http1, sdk1()],
  ['SDK 2, legacy', Http2, sdk2('legacy')],
  ['SDK 2, stateless', Http2, sdk2({ pin: '2026-07-28' })],
]) {
  await s.client.connect(new Transport(new URL(silent.url)));
  await test(`${name}: a stop ends the request to the API`, async () => {
    const stop = new AbortController();
    const asked = new Promise((received) => requests.push(received));
    const rejected = assert.rejects(s.call(question, { signal: stop.signal }));
    const { closed } = await asked;
    stop.abort('no longer needed');
    await rejected;
    assert.ok(await Promise.race([closed.then(() => true), setTimeout(30_000, false)]), 'it goes on');
  });
  await s.client.close();
}
silent.server.kill();
api.close();

for (const scope of [['--requirements', '2026-07-28'], ['--spec-version', '2025-06-18']]) {
  await test(`conformance ${scope.join(' ')}`, () => {
    const suite = here('node_modules/@modelcontextprotocol/conformance/dist/index.js');
    const argv = [suite, 'server', '--url', url, ...scope, '--expected-failures', here('conformance.yaml')];
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { cwd: home, encoding: 'utf8' });
    assert.equal(status, 0, stdout.slice(stdout.indexOf('=== SUMMARY')) + stderr);
  });
}

server.kill();
await new Promise((done) => server.once('exit', done));
await test('the log has a line for each call', () => assert.match(log, /INF call .*tool=answer client=anonymous .*outcome=ok/));
finish();
