// The official TypeScript SDK, version 1: what most clients of today are made of.
import assert from 'node:assert/strict';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';

import { KNOWN, TOOLS, WEATHER, answered, listed, plain, searched } from './expect.mjs';
import { recorded, session } from './session.mjs';

// rejected is the JSON-RPC error that a call must end in.
async function rejected(promise, code) {
  try {
    await promise;
  } catch (err) {
    assert.equal(err.code, code, `code ${err.code}: ${err.message}`);
    return err;
  }
  assert.fail(`the call was answered, want error ${code}`);
}

// gone waits until no process has this id.
async function gone(pid) {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((done) => setTimeout(done, 20));
  }
}

export async function sdk1(server, proof) {
  const transport = new StdioClientTransport({ ...server, stderr: 'pipe' });
  const client = new Client({ name: 'test-clients', version: '1.0.0' });
  const faults = [];
  client.onerror = (err) => faults.push(err.message);
  let noise = '';
  transport.stderr.on('data', (chunk) => (noise += chunk));

  const ask = (query, name = 'answer', options) =>
    client.callTool({ name, arguments: { query } }, undefined, options);

  await proof('sdk 1: initialize names the server, version and capabilities', async () => {
    await client.connect(transport);
    assert.equal(client.getServerVersion().name, 'openai-responses-mcp');
    assert.match(client.getServerVersion().version, /^\d+\.\d+\.\d+$/);
    assert.deepEqual(client.getServerCapabilities(), { tools: {} });
  });
  await proof('sdk 1: ping', () => client.ping());
  await proof('sdk 1: tools/list', async () => listed(await client.listTools()));
  await proof('sdk 1: an answer without a search', async () => plain(await ask(KNOWN)));
  await proof('sdk 1: an answer with citations and Sources:', async () => searched(await ask(WEATHER)));
  for (const name of TOOLS) {
    await proof(`sdk 1: ${name} answers`, async () => void answered(await ask(KNOWN, name)));
  }
  await proof('sdk 1: twenty calls at once', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(i % 2 ? KNOWN : WEATHER)));
    all.forEach((result, i) => (i % 2 ? plain(result) : searched(result)));
  });
  await proof('sdk 1: no query is -32001 and says why', async () => {
    const err = await rejected(client.callTool({ name: 'answer', arguments: {} }), -32001);
    assert.ok(err.data?.reason && err.data?.message, `data: ${JSON.stringify(err.data)}`);
  });
  await proof('sdk 1: an unknown tool is -32601', () =>
    rejected(client.callTool({ name: 'no_such_tool', arguments: { query: KNOWN } }), -32601));
  await proof('sdk 1: a method we do not offer is -32601', async () => {
    await rejected(client.request({ method: 'no/such/method' }, ResultSchema), -32601);
    await rejected(client.request({ method: 'resources/list' }, ResultSchema), -32601);
  });
  await proof('sdk 1: a cancelled call leaves the session alive', async () => {
    const stop = new AbortController();
    const call = ask(WEATHER, 'answer', { signal: stop.signal });
    stop.abort('not wanted any more');
    await assert.rejects(call);
    plain(await ask(KNOWN));
  });
  await proof('sdk 1: closing ends the process', async () => {
    const { pid } = transport;
    assert.ok(pid, 'no process runs');
    await client.close();
    await gone(pid);
  });
  await proof('sdk 1: nothing but the protocol on stdout, nothing on stderr', async () => {
    // The answer of the cancelled call may have been on its way already.
    assert.deepEqual(faults.filter((text) => !text.includes('unknown message ID')), []);
    assert.equal(noise, '');
  });

  for (const wanted of ['2024-11-05', '2025-06-18', '2025-11-25']) {
    const transport = recorded(StdioClientTransport, server, wanted);
    const client = new Client({ name: 'test-clients', version: '1.0.0' });
    await session(proof, `sdk 1, ${wanted}`, {
      client,
      transport,
      connect: () => client.connect(transport),
      call: (query, options) => client.callTool({ name: 'answer', arguments: { query } }, undefined, options),
      wanted,
      agreed: '2025-06-18',
    });
  }
}
