// What the launcher finds, and what it says when it finds nothing.
import assert from 'node:assert/strict';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, test } from 'node:test';

import { TARGETS } from '../scripts/targets.mjs';
import { as, here, end, modes, program, project, refused, run, server, start, temporary, windows } from './help.mjs';

const VARIABLE = 'OPENAI_RESPONSES_MCP_BINARY';
const WHERE = ['-p', 'process.execPath'];

describe('the package for this system', () => {
  for (const target of TARGETS) {
    const { os, cpu, name } = target;
    const foreign = windows && os !== 'win32' && 'Windows runs no file without .exe';
    test(`${os}-${cpu}: ${name} is run`, { skip: foreign }, async (t) => {
      const p = project(t);
      const path = program(p.at(target));
      const r = await run(WHERE, { launcher: p.launcher, before: as(target) });
      assert.equal(r.stderr, '');
      assert.equal(r.stdout.trim(), realpathSync(path));
    });
    test(`${os}-${cpu}: ${name} is missing`, async (t) => {
      const r = await run(['--stdio'], { launcher: project(t).launcher, before: as(target) });
      refused(r, new RegExp(`^openai-responses-mcp: error: the package ${name} is not installed$`), 3);
      assert.match(r.stderr, /npm install --include=optional/);
      assert.match(r.stderr, new RegExp(VARIABLE));
      assert.match(r.stderr, /docker run -i/);
    });
  }
  for (const other of [{ os: 'freebsd', cpu: 'x64' }, { os: 'linux', cpu: 'ia32' }, { os: 'android', cpu: 'arm64' }]) {
    test(`${other.os}-${other.cpu} has none`, async (t) => {
      const r = await run(['--stdio'], { launcher: project(t).launcher, before: as(other) });
      refused(r, new RegExp(`error: there is no package for ${other.os}-${other.cpu}$`), 3);
    });
  }
  test('a binary without its run bit', { skip: windows && 'Windows has no run bit' }, async (t) => {
    const p = project(t);
    const path = p.at(TARGETS.find((x) => x.os === 'linux' && x.cpu === 'x64'));
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, '', { mode: 0o644 });
    const r = await run(['--stdio'], { launcher: p.launcher, before: as({ os: 'linux', cpu: 'x64' }) });
    refused(r, /is not executable$/, 3);
  });
});

describe(VARIABLE, () => {
  const set = (value, options) => run(WHERE, { ...options, env: { [VARIABLE]: value } });

  test('names the binary, and no package is needed', async (t) => {
    const path = program(join(temporary(t), server));
    assert.equal((await set(path)).stdout.trim(), realpathSync(path));
  });
  test('goes before the package', async (t) => {
    const p = project(t);
    for (const target of TARGETS) program(p.at(target));
    const path = program(join(p.folder, server));
    assert.equal((await set(path, { launcher: p.launcher })).stdout.trim(), realpathSync(path));
  });
  test('may be relative to the current folder', async (t) => {
    const cwd = realpathSync(temporary(t));
    const path = program(join(cwd, 'bin', server));
    assert.equal((await set(relative(cwd, path), { cwd })).stdout.trim(), path);
    assert.equal((await set(server, { cwd: join(cwd, 'bin') })).stdout.trim(), path);
  });
  test('counts as unset when it is empty', async (t) => {
    const p = project(t);
    const { stdout } = await set('', { launcher: p.launcher, before: as({ os: 'linux', cpu: 'x64' }) });
    assert.equal(stdout, '');
    const path = program(p.at(TARGETS.find((x) => x.os === here.os && x.cpu === here.cpu)));
    assert.equal((await set('', { launcher: p.launcher })).stdout.trim(), realpathSync(path));
  });
  test('names a file that is not there', async (t) => {
    refused(await set(join(temporary(t), 'none')), /BINARY: .*none does not exist$/, 1);
  });
  test('names a folder', async (t) => {
    refused(await set(temporary(t)), /BINARY: .* is not a file$/, 1);
  });
  test('names a file that may not be run', { skip: windows && 'Windows has no run bit' }, async (t) => {
    const path = join(temporary(t), 'text');
    writeFileSync(path, 'no program\n', { mode: 0o644 });
    refused(await set(path), /BINARY: .*text is not executable$/, 1);
  });
  for (const { mode, skip, ...way } of modes) {
    test(`names the launcher itself (${mode})`, { skip: skip || (windows && 'Windows runs no script') }, async (t) => {
      const p = project(t);
      const path = program(p.at(TARGETS.find((x) => x.os === here.os && x.cpu === here.cpu)));
      const r = await set(p.launcher, { launcher: p.launcher, ...way });
      assert.equal(r.stdout.trim(), realpathSync(path), r.stderr);
    });
  }
});

for (const { mode, skip, ...way } of modes) {
  describe(`the process, by ${mode}`, { skip }, () => {
    const env = { [VARIABLE]: process.execPath };
    const js = (code, ...args) => run(['-e', code, ...args], { ...way, env });

    for (const code of [0, 1, 2, 42, 255]) {
      test(`exit code ${code}`, async () => {
        assert.deepEqual(await js(`process.exit(${code})`), { stdout: '', stderr: '', code, signal: null });
      });
    }
    test('arguments arrive as they are', async () => {
      const args = ['', 'two words', '"quoted"', '$HOME', '天気', '--', '-x'];
      const r = await js('console.log(JSON.stringify(process.argv.slice(1)))', '--', ...args);
      assert.deepEqual(JSON.parse(r.stdout), args);
    });
    test('the environment arrives, without the variable', async () => {
      const code = `console.log(process.env.COLOUR, '${VARIABLE}' in process.env)`;
      const r = await run(['-e', code], { ...way, env: { ...env, COLOUR: '青' } });
      assert.equal(r.stdout, '青 false\n');
    });
    test('stdin arrives whole, stdout and stderr leave whole', async () => {
      const child = start(['-e', 'process.stdin.pipe(process.stdout); process.stdin.pipe(process.stderr)'], { ...way, env });
      const text = 'a line\n'.repeat(150_000);
      child.stdin.end(text);
      const r = await end(child);
      assert.equal(r.stdout, text);
      assert.equal(r.stderr, text);
    });
    test(mode === 'execve' ? 'is the binary' : 'has the binary as its child', async () => {
      const child = start(['-p', 'process.pid'], { ...way, env });
      const r = await end(child);
      assert.equal(Number(r.stdout) === child.pid, mode === 'execve');
    });
  });
}
