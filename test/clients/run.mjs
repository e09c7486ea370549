// Runs MCP clients written by others against the built server over stdio: the TypeScript SDK in its versions
// 1 and 2, and the command line of the Inspector.
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

import { StdioClientTransport as Transport2 } from '@modelcontextprotocol/client/stdio';
import { StdioClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/stdio.js';

import { LIMIT, finish, test } from '../runner.mjs';
import { KNOWN, TASKS, WEATHER, answered, binary, env, home, listed, sdk1, sdk2, session } from './lib.mjs';

const server = { command: binary, args: ['--stdio', '--offline'], env };

// recorded makes a transport that keeps the messages in both directions and asks for a protocol version;
// the clients ask for their newest one only.
function recorded(Transport, version) {
  return new (class extends Transport {
    sent = [];
    got = [];

    constructor(options) {
      super(options);
      this.onmessage = (message) => this.got.push(message); // the client keeps this one and adds its own
    }

    send(message, ...rest) {
      if (message.method === 'initialize') message.params.protocolVersion = version;
      this.sent.push(message);
      return super.send(message, ...rest);
    }
  })({ ...server, stderr: 'pipe' });
}

// all runs the tests of one client and protocol version.
async function all(name, s, transport, wanted, negotiated) {
  const { client, call } = s;
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
  await session(name, s, wanted);
  if (wanted < '2026') await test(`${name}: ping`, () => client.ping());
  await test(`${name}: EOF during a call, which is answered before the exit`, async () => {
    const child = transport._process;
    const closed = new Promise((done) => (client.onclose = done));
    const question = { name: 'answer', arguments: { query: WEATHER } };
    answered(await call(question, { onprogress: () => child.stdin.end() }), true);
    await closed;
    assert.deepEqual([child.exitCode, child.signalCode], [0, null]);
  });
  await test(`${name}: stdout holds the protocol only, stderr that it is offline`, async () => {
    // Progress and answers that crossed the cancellation are expected.
    assert.deepEqual(faults.filter((text) => !/unknown message ID|unknown token/.test(text)), []);
    assert.match(stderr, /^openai-responses-mcp: offline: .*\n$/);
  });
}

// Requested protocol versions: the handshake always agrees on 2025-06-18.
for (const version of ['2024-11-05', '2025-06-18', '2025-11-25']) {
  const transport = recorded(Transport1, version);
  await all(`SDK 1, ${version}`, sdk1(), transport, '2025-06-18', () => transport.got[0].result.protocolVersion);
}

// SDK 2 starts with the handshake, with the stateless version, or finds out.
for (const [name, mode, wanted] of [
  ['legacy', 'legacy', '2025-06-18'],
  ['pinned', { pin: '2026-07-28' }, '2026-07-28'],
  ['auto', 'auto', '2026-07-28'],
]) {
  const s = sdk2(mode);
  await all(`SDK 2, ${name}`, s, recorded(Transport2, '2025-11-25'), wanted, () => s.client.getNegotiatedProtocolVersion());
}

// SDK 2.4 can declare the tasks extension, but takes no task as a result. What it cannot do goes through its
// transport, with the _meta of its call.
await test('SDK 2, tasks: answer_detailed is one', async () => {
  const transport = recorded(Transport2);
  const { client, call } = sdk2('auto', { extensions: TASKS });
  await client.connect(transport);
  const result = async (id) => {
    const found = transport.got.find((message) => message.id === id);
    return found ? found.result : delay(20).then(() => result(id));
  };
  await assert.rejects(call({ name: 'answer_detailed', arguments: { query: WEATHER } }), { code: 'UNSUPPORTED_RESULT_TYPE' });
  const { id, params } = transport.sent.findLast((message) => message.method === 'tools/call');
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
  await client.close();
});

// The Inspector 0.15 is the last one for Node 20. It reads an mcpServers file.
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
finish();
