// Runs MCP clients written by others against the built server: the TypeScript
// SDK in its versions 1 and 2, and the command line of the Inspector.
//
//   npm ci --ignore-scripts && node run.mjs path/to/openai-responses-mcp
//
// The server answers offline, with an empty home folder.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { Client as Client2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Transport2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';

import { LIMIT, binary, finish, home, test } from './lib.mjs';

const TOOLS = ['answer', 'answer_detailed', 'answer_quick'];
const TASKS = { 'io.modelcontextprotocol/tasks': {} };
const KNOWN = 'What does HTTP 404 mean?'; // answered without a search
const WEATHER = 'What is the weather in Tokyo today?'; // answered with one

const server = {
  command: binary,
  args: ['--stdio', '--offline'],
  env: { PATH: process.env.PATH ?? '', HOME: home, USERPROFILE: home, APPDATA: home },
};

// listed checks a tools/list result.
function listed({ tools }) {
  assert.deepEqual(tools.map((t) => t.name), TOOLS);
  for (const { description, inputSchema } of tools) {
    assert.ok(description);
    assert.deepEqual([inputSchema.type, inputSchema.required], ['object', ['query']]);
  }
}

// answered checks a tools/call result: one JSON object, with citations and a
// list of sources if there was a search.
function answered(result, search) {
  assert.ok(!result.isError, JSON.stringify(result));
  const [{ type, text }, ...more] = result.content;
  assert.deepEqual([type, more], ['text', []]);
  const { answer, used_search, citations, model, ...rest } = JSON.parse(text);
  assert.deepEqual([used_search, model, rest], [search, 'offline', {}]);
  assert.equal(citations.length > 0, search);
  assert.match(answer, search ? /\nSources:\n(- .+ \(\d{4}-\d{2}-\d{2}\)\n?)+$/ : /./);
}

// rejected checks that a request ends with a JSON-RPC error.
async function rejected(promise, code, message) {
  await assert.rejects(promise, (err) => {
    assert.deepEqual([err.code, message.test(err.message)], [code, true], `${err.code} ${err.message}`);
    return true;
  });
}

// recorded makes a transport that keeps the messages in both directions and
// asks for a protocol version; the clients ask for their newest one only.
function recorded(Transport, version) {
  return new (class extends Transport {
    wire = []; // { sent } or { got }

    constructor(options) {
      super(options);
      this.onmessage = (got) => this.wire.push({ got }); // the client keeps this one and adds its own
    }

    send(message, ...rest) {
      if (message.method === 'initialize') message.params.protocolVersion = version;
      this.wire.push({ sent: message });
      return super.send(message, ...rest);
    }
  })({ ...server, stderr: 'pipe' });
}

const lastCall = ({ wire }) => wire.findLast(({ sent }) => sent?.method === 'tools/call').sent;

async function progress({ transport, call }) {
  answered(await call({ name: 'answer', arguments: { query: WEATHER } }, { onprogress: () => {} }), true);
  const { id, params } = lastCall(transport);
  const at = transport.wire.findIndex(({ got }) => got?.id === id);
  const ofCall = ({ got }) => got?.params && got.params.progressToken === params._meta.progressToken;
  const steps = transport.wire.filter(ofCall).map(({ got }) => got.params.progress);
  assert.ok(steps.length > 0 && steps.every((n, i) => i === 0 || n > steps[i - 1]), `progress ${steps}`);
  assert.ok(transport.wire.findLastIndex(ofCall) < at, 'progress after the result');
}

async function cancel({ transport, call }) {
  const stop = new AbortController();
  const onprogress = () => stop.abort('no longer needed');
  await assert.rejects(call({ name: 'answer', arguments: { query: WEATHER } }, { signal: stop.signal, onprogress }));
  const { id } = lastCall(transport);
  assert.ok(transport.wire.some(({ sent }) => sent?.method === 'notifications/cancelled' && sent.params.requestId === id));
  // The server reads in order: once it answers this, it has seen the cancellation.
  await assert.rejects(call({ name: 'no_such_tool' }), /Unknown tool/);
  const seen = transport.wire.length;
  answered(await call({ name: 'answer', arguments: { query: KNOWN } }), false);
  assert.ok(!transport.wire.slice(seen).some(({ got }) => got?.id === id), 'the cancelled call was answered');
}

// eof closes the server's stdin during a call: it is answered before the exit.
async function eof({ client, transport, call }) {
  const child = transport._process;
  const closed = new Promise((done) => (client.onclose = done));
  answered(await call({ name: 'answer', arguments: { query: WEATHER } }, { onprogress: () => child.stdin.end() }), true);
  await closed;
  assert.deepEqual([child.exitCode, child.signalCode], [0, null]);
}

// session runs the tests of one client and protocol version.
async function session(name, { client, transport, call, negotiated, wanted, request }) {
  const s = { client, transport, call };
  const faults = [];
  let stderr = '';
  client.onerror = (err) => faults.push(err.message);
  transport.stderr.on('data', (chunk) => (stderr += chunk));

  await test(`${name}: negotiates ${wanted}`, async () => {
    await client.connect(transport);
    assert.equal(negotiated(), wanted);
    assert.deepEqual(client.getServerCapabilities(), wanted < '2026' ? { tools: {} } : { tools: {}, extensions: TASKS });
    assert.equal(client.getServerVersion().name, 'openai-responses-mcp');
  });
  await test(`${name}: tools/list`, async () => listed(await client.listTools()));
  for (const tool of TOOLS) {
    await test(`${name}: ${tool}`, async () => answered(await call({ name: tool, arguments: { query: KNOWN } }), false));
  }
  await test(`${name}: twenty calls at once`, async () => {
    const all = Array.from({ length: 20 }, (_, i) => call({ name: 'answer', arguments: { query: i % 2 ? KNOWN : WEATHER } }));
    (await Promise.all(all)).forEach((result, i) => answered(result, i % 2 === 0));
  });
  await test(`${name}: errors`, async () => {
    const invalid = call({ name: 'answer', arguments: {} });
    if (wanted < '2026') {
      await rejected(invalid, -32001, /invalid arguments/);
    } else {
      const { isError, content, _meta } = await invalid;
      assert.deepEqual([isError, _meta['openai-responses-mcp/code']], [true, -32001]);
      assert.match(content[0].text, /invalid arguments/);
    }
    await rejected(call({ name: 'no_such_tool' }), -32601, /Unknown tool/);
    if (request) await rejected(request({ method: 'no/such/method' }), -32601, /./);
  });
  await test(`${name}: progress`, () => progress(s));
  await test(`${name}: cancellation`, () => cancel(s));
  if (wanted < '2026') await test(`${name}: ping`, () => client.ping());
  await test(`${name}: EOF`, () => eof(s));
  await test(`${name}: stdout holds the protocol only, stderr that it is offline`, async () => {
    // Progress and answers that crossed the cancellation are expected.
    assert.deepEqual(faults.filter((text) => !/unknown message ID|unknown token/.test(text)), []);
    assert.match(stderr, /^openai-responses-mcp: offline: .*\n$/);
  });
}

// Requested protocol versions: the handshake always agrees on 2025-06-18.
async function sdk1() {
  for (const version of ['2024-11-05', '2025-06-18', '2025-11-25']) {
    const transport = recorded(Transport1, version);
    const client = new Client1({ name: 'test-clients', version: '1.0.0' });
    await session(`SDK 1, ${version}`, {
      client, transport, wanted: '2025-06-18',
      call: (params, options) => client.callTool(params, undefined, options),
      negotiated: () => transport.wire.find(({ got }) => got).got.result.protocolVersion,
      request: (message) => client.request(message, ResultSchema),
    });
  }
}

// SDK 2 starts with the handshake, with the stateless version, or finds out.
async function sdk2() {
  for (const [name, mode, wanted] of [
    ['legacy', 'legacy', '2025-06-18'],
    ['pinned', { pin: '2026-07-28' }, '2026-07-28'],
    ['auto', 'auto', '2026-07-28'],
  ]) {
    const transport = recorded(Transport2, '2025-11-25');
    const client = new Client2({ name: 'test-clients', version: '2.0.0' }, { versionNegotiation: { mode } });
    await session(`SDK 2, ${name}`, {
      client, transport, wanted,
      call: (params, options) => client.callTool(params, options),
      negotiated: () => client.getNegotiatedProtocolVersion(),
    });
  }
}

// SDK 2.4 can declare the tasks extension, but takes no task as a result. What it
// cannot do goes through its transport, with the _meta of its call.
async function tasks() {
  const transport = recorded(Transport2);
  const capabilities = { extensions: TASKS };
  const client = new Client2({ name: 'test-clients', version: '2.0.0' }, { capabilities, versionNegotiation: { mode: 'auto' } });
  await client.connect(transport);
  const result = async (id) => {
    for (;;) {
      const found = transport.wire.find(({ got }) => got?.id === id);
      if (found) return found.got.result;
      await delay(20);
    }
  };
  await test('SDK 2, tasks: answer_detailed is one', async () => {
    const call = client.callTool({ name: 'answer_detailed', arguments: { query: WEATHER } });
    await assert.rejects(call, { code: 'UNSUPPORTED_RESULT_TYPE' });
    const { id, params } = lastCall(transport);
    let task = await result(id);
    assert.deepEqual([task.resultType, task.status], ['task', 'working']);
    for (let n = 0; task.status === 'working'; n++) {
      await delay(50);
      const poll = { taskId: task.taskId, _meta: params._meta };
      await transport.send({ jsonrpc: '2.0', id: `poll-${n}`, method: 'tasks/get', params: poll });
      task = await result(`poll-${n}`);
    }
    assert.deepEqual([task.resultType, task.status], ['complete', 'completed']);
    answered(task.result, true);
  });
  await client.close();
}

// The Inspector 0.15 is the last one for Node 20. It reads an mcpServers file.
async function inspector() {
  const cli = fileURLToPath(new URL('node_modules/@modelcontextprotocol/inspector/cli/build/cli.js', import.meta.url));
  const config = join(home, 'mcp.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { ours: server } }));
  const inspect = async (method, ...args) => {
    const argv = [cli, '--cli', '--config', config, '--server', 'ours', '--method', method, ...args];
    return JSON.parse((await promisify(execFile)(process.execPath, argv, { timeout: LIMIT - 5_000 })).stdout);
  };
  const ask = (query) => inspect('tools/call', '--tool-name', 'answer', '--tool-arg', `query=${query}`);
  await test('Inspector: tools/list', async () => listed(await inspect('tools/list')));
  await test('Inspector: tools/call', async () => {
    answered(await ask(KNOWN), false);
    answered(await ask(WEATHER), true);
  });
  await test('Inspector: unknown tool', () => assert.rejects(inspect('tools/call', '--tool-name', 'no_such_tool'), /Unknown tool/));
}

await sdk1();
await sdk2();
await tasks();
await inspector();
finish();
