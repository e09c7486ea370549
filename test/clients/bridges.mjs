// Runs the TypeScript SDK through bridges written by others: mcp-remote, a server on stdio in front of
// `serve --http`, and supergateway and mcp-proxy, servers over HTTP in front of `--stdio`.
//
//   npm ci --ignore-scripts && node bridges.mjs path/to/openai-responses-mcp
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { finish } from '../runner.mjs';
import { binary, env, sdk1, session } from './lib.mjs';

const program = (name) => fileURLToPath(new URL(`node_modules/.bin/${name}`, import.meta.url));

// freePort returns a port that nothing listens on.
function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  return new Promise((found) => server.once('listening', () => {
    const { port } = server.address();
    server.close(() => found(port));
  }));
}

// withServer runs a program that serves at a port until use has ended.
async function withServer(command, args, port, use) {
  const url = `http://127.0.0.1:${port}/mcp`;
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (chunk) => { log += chunk; });
  try {
    for (let up = false; !up; await delay(50)) {
      if (child.exitCode !== null) throw new Error(log);
      up = await fetch(url).then(() => true, () => false);
    }
    await use(url);
  } finally {
    child.kill();
  }
}

// run runs the tests of a session over a transport.
async function run(name, transport) {
  const s = sdk1();
  await s.client.connect(transport);
  await session(name, s, '2025-06-18');
  await s.client.close();
}

let port = await freePort();
await withServer(binary, ['serve', '--http', `127.0.0.1:${port}`, '--offline'], port, (url) =>
  run('mcp-remote', new StdioClientTransport({
    command: process.execPath,
    args: [program('mcp-remote'), url, '--transport', 'http-only'],
    env,
    stderr: 'ignore',
  })));

const stdio = [binary, '--stdio', '--offline'];
for (const [name, ...options] of [
  ['supergateway', '--outputTransport', 'streamableHttp', '--stateful', '--stdio', stdio.join(' ')],
  ['mcp-proxy', '--server', 'stream', '--', ...stdio],
]) {
  port = await freePort();
  await withServer(process.execPath, [program(name), '--port', `${port}`, ...options], port, (url) =>
    run(name, new StreamableHTTPClientTransport(new URL(url))));
}
finish();
