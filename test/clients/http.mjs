// Runs clients written by others against `serve --http`: the TypeScript SDK in
// its versions 1 and 2, and the conformance suite of the protocol.
//
//   npm ci --ignore-scripts && node http.mjs path/to/openai-responses-mcp
//
// conformance.yaml lists the scenarios that do not apply.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { binary, finish, home, test } from './lib.mjs';

const QUERY = 'What is the weather in Tokyo today?'; // answered with a search
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const env = { PATH: process.env.PATH, HOME: home };

const server = spawn(binary, ['serve', '--http', '127.0.0.1:0', '--offline'], { env, stdio: ['ignore', 'inherit', 'pipe'] });
let log = '';
const url = await new Promise((found, lost) => {
  server.once('exit', () => lost(new Error(log)));
  server.stderr.on('data', (chunk) => {
    log += chunk;
    const address = /serving MCP on (\S+)/.exec(log);
    if (address) found(address[1]);
  });
});

// The same question over stdio.
const stdio = new Client1({ name: 'test-clients', version: '1.0.0' });
await stdio.connect(new StdioClientTransport({ command: binary, args: ['--stdio', '--offline'], env, stderr: 'ignore' }));
const { content } = await stdio.callTool({ name: 'answer', arguments: { query: QUERY } });
await stdio.close();

for (const [name, connect] of [
  ['SDK 1', async () => {
    const client = new Client1({ name: 'test-clients', version: '1.0.0' });
    await client.connect(new Http1(new URL(url)));
    return [client, (params, options) => client.callTool(params, undefined, options)];
  }],
  ...[['legacy', 'legacy'], ['stateless', { pin: '2026-07-28' }]].map(([kind, mode]) => [`SDK 2, ${kind}`, async () => {
    const client = new Client2({ name: 'test-clients', version: '2.0.0' }, { versionNegotiation: { mode } });
    await client.connect(new Http2(new URL(url)));
    return [client, (params, options) => client.callTool(params, options)];
  }]),
]) {
  const [client, call] = await connect();
  const ask = (options) => call({ name: 'answer', arguments: { query: QUERY } }, options);
  await test(`${name}: tools/list`, async () => assert.equal((await client.listTools()).tools.length, 3));
  await test(`${name}: the same content as over stdio`, async () => assert.deepEqual((await ask()).content, content));
  await test(`${name}: twenty calls at once`, async () => {
    for (const result of await Promise.all(Array.from({ length: 20 }, () => ask()))) assert.deepEqual(result.content, content);
  });
  await test(`${name}: progress`, async () => {
    const steps = [];
    await ask({ onprogress: ({ progress }) => steps.push(progress) });
    assert.ok(steps.length > 0 && steps.every((n, i) => i === 0 || n > steps[i - 1]), `progress ${steps}`);
  });
  await test(`${name}: cancellation`, async () => {
    const stop = new AbortController();
    await assert.rejects(ask({ signal: stop.signal, onprogress: () => stop.abort() }));
    assert.deepEqual((await ask()).content, content);
  });
  await client.close();
}

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
await test('the log has a line for each call', () => assert.match(log, /INF call tool=answer client=anonymous outcome=ok/));
finish();
