// What run.mjs, http.mjs and bridges.mjs share: the server, and the tests of a client over any transport.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { Client as Client2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';

import { LIMIT, test } from '../runner.mjs';

export const TASKS = { 'io.modelcontextprotocol/tasks': {} };
export const KNOWN = 'What does HTTP 404 mean?'; // answered without a search
export const WEATHER = 'What is the weather in Tokyo today?'; // answered with one
const schema = JSON.parse(readFileSync(new URL('../../config/config.schema.json', import.meta.url)));
const TOOLS = Object.keys(schema.properties.model_profiles.properties);

export const binary = resolve(process.argv[2]);
export const home = mkdtempSync(join(tmpdir(), 'mcp-clients-')); // empty
export const env = { PATH: process.env.PATH ?? '', HOME: home, USERPROFILE: home, APPDATA: home };
process.on('exit', () => rmSync(home, { recursive: true, force: true }));

// sdk1 and sdk2 are clients of the TypeScript SDK, and how they call a tool, without the SDK's limit of a minute.
export function sdk1() {
  const client = new Client1({ name: 'test-clients', version: '1.0.0' });
  return { client, call: (params, options) => client.callTool(params, undefined, { timeout: LIMIT, ...options }) };
}

export function sdk2(mode, capabilities = {}) {
  const client = new Client2({ name: 'test-clients', version: '2.0.0' }, { capabilities, versionNegotiation: { mode } });
  return { client, call: (params, options) => client.callTool(params, { timeout: LIMIT, ...options }) };
}

// listed checks a tools/list result.
export function listed({ tools }) {
  assert.deepEqual(tools.map((t) => t.name), TOOLS);
  for (const { description, inputSchema } of tools) {
    assert.ok(description);
    assert.deepEqual([inputSchema.type, inputSchema.required], ['object', ['query']]);
  }
}

// answered checks a tools/call result: one JSON object, with citations and a list of sources if there was a search.
export function answered(result, search) {
  assert.ok(!result.isError, JSON.stringify(result));
  const [{ type, text }, ...more] = result.content;
  assert.deepEqual([type, more], ['text', []]);
  const { answer, used_search, citations, model, ...rest } = JSON.parse(text);
  assert.deepEqual([used_search, model, rest], [search, 'offline', {}]);
  assert.equal(citations.length > 0, search);
  assert.match(answer, search ? /\nSources:\n(- .+ \((accessed )?\d{4}-\d{2}-\d{2}\)\n?)+$/ : /./);
}

// session runs the tests of a connected client, which has agreed on a protocol version.
export async function session(name, { client, call }, version) {
  const ask = (query, options) => call({ name: 'answer', arguments: { query } }, options);
  await test(`${name}: tools/list`, async () => listed(await client.listTools()));
  for (const tool of TOOLS) {
    await test(`${name}: ${tool}`, async () => answered(await call({ name: tool, arguments: { query: KNOWN } }), false));
  }
  await test(`${name}: twenty calls at once`, async () => {
    const all = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(i % 2 ? KNOWN : WEATHER)));
    all.forEach((result, i) => answered(result, i % 2 === 0));
  });
  await test(`${name}: errors`, async () => {
    const invalid = call({ name: 'answer', arguments: {} });
    if (version < '2026') {
      await assert.rejects(invalid, { code: -32001, message: /invalid arguments/ });
    } else {
      const { isError, content, _meta } = await invalid;
      assert.deepEqual([isError, _meta['openai-responses-mcp/code']], [true, -32001]);
      assert.match(content[0].text, /invalid arguments/);
    }
    await assert.rejects(call({ name: 'no_such_tool' }), /Unknown tool/);
  });
  await test(`${name}: progress`, async () => {
    const steps = [];
    answered(await ask(WEATHER, { onprogress: ({ progress }) => steps.push(progress) }), true);
    assert.ok(steps.length > 0 && steps.every((n, i) => i === 0 || n > steps[i - 1]), `progress ${steps}`);
  });
  await test(`${name}: cancellation`, async () => {
    const stop = new AbortController();
    await assert.rejects(ask(WEATHER, { signal: stop.signal, onprogress: () => stop.abort('no longer needed') }));
    answered(await ask(KNOWN), false);
  });
}
