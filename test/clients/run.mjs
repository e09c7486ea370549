// Drives the built server with MCP clients that others wrote: what they accept,
// the clients of our users accept.
//
//   npm ci --ignore-scripts && node run.mjs path/to/openai-responses-mcp
//
// Each proof is one line; the last line counts them. The server runs with
// --offline and an empty home folder, so neither a key nor anybody's
// configuration has a part in it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { inspector } from './inspector.mjs';
import { sdk1 } from './sdk1.mjs';
import { sdk2 } from './sdk2.mjs';

const LIMIT = 60_000; // ms for one proof: a client that hangs must not hang CI

if (process.argv.length !== 3) {
  console.error('usage: node run.mjs SERVER_BINARY');
  process.exit(2);
}

const home = mkdtempSync(join(tmpdir(), 'mcp-clients-'));
const server = {
  command: resolve(process.argv[2]),
  args: ['--stdio', '--offline'],
  env: { PATH: process.env.PATH ?? '', HOME: home, USERPROFILE: home, APPDATA: home },
};

const count = { passed: 0, failed: 0 };

async function proof(name, run) {
  const begin = performance.now();
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing after ${LIMIT} ms`)), LIMIT);
  });
  try {
    await Promise.race([run(), limit]);
    count.passed++;
    console.log(`ok    ${name} (${Math.round(performance.now() - begin)} ms)`);
  } catch (err) {
    count.failed++;
    console.log(`FAIL  ${name}: ${err?.message ?? err}`);
  } finally {
    clearTimeout(timer);
  }
}

try {
  for (const suite of [sdk1, sdk2, inspector]) {
    await suite(server, proof, home);
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
console.log(`${count.passed} passed, ${count.failed} failed`);
process.exit(count.failed > 0 || count.passed === 0 ? 1 : 0);
