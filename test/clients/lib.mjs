// The server that run.mjs and http.mjs test, and the runner of their tests. One
// line per test; the last line counts them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export const LIMIT = 60_000; // ms for one test
const count = { passed: 0, failed: 0 };

if (process.argv.length !== 3) {
  console.error(`usage: node ${process.argv[1]} SERVER_BINARY`);
  process.exit(2);
}
export const binary = resolve(process.argv[2]);
export const home = mkdtempSync(join(tmpdir(), 'mcp-clients-')); // empty
process.on('exit', () => rmSync(home, { recursive: true, force: true }));

export async function test(name, run) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no result after ${LIMIT} ms`)), LIMIT);
  });
  try {
    await Promise.race([run(), limit]);
    count.passed++;
    console.log(`ok    ${name}`);
  } catch (err) {
    count.failed++;
    console.log(`FAIL  ${name}: ${err?.message ?? err}`);
  } finally {
    clearTimeout(timer);
  }
}

// finish prints the counts and ends the process.
export function finish() {
  console.log(`${count.passed} passed, ${count.failed} failed`);
  process.exit(count.failed > 0 || count.passed === 0 ? 1 : 0);
}
