// What is in the packages, and that nothing of it is left to chance.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { npm, root } from '../scripts/files.mjs';
import { NAME, TARGETS } from '../scripts/targets.mjs';
import { SOURCE, end, temporary, windows } from './help.mjs';
import { committed, dist, json, script } from './scripts.mjs';

const text = (...path) => readFileSync(join(...path), 'utf8');

// npmRun runs npm without a network and without the user's cache.
function npmRun(args, cwd) {
  const env = { ...process.env, npm_config_offline: 'true', npm_config_cache: join(cwd, '.cache') };
  return end(spawn('npm', args, { cwd, env, shell: windows })); // npm is a .cmd on Windows
}

describe('package.json', () => {
  test('is what spec §15 says', () => {
    const { description, type, bin, files, engines, license, repository, homepage, bugs, scripts } = committed;
    assert.equal(committed.name, 'openai-responses-mcp');
    assert.match(committed.version, /^\d+\.\d+\.\d+(-[\w.]+)?$/);
    assert.equal(description, 'Lightweight MCP server (Responses API core). OpenAI integration + web_search.');
    assert.equal(type, 'module');
    assert.deepEqual(bin, { 'openai-responses-mcp': 'build/index.js' });
    assert.deepEqual(files, ['build', 'config/config.yaml.example', 'config/policy.md.example', 'README.md', 'LICENSE']);
    assert.deepEqual(engines, { node: '>=20' });
    assert.equal(license, 'MIT');
    assert.equal(scripts.prepublishOnly, 'npm run build');
    const url = 'https://github.com/uchimanajet7/openai-responses-mcp';
    assert.deepEqual(repository, { type: 'git', url: `git+${url}.git` });
    assert.equal(homepage, `${url}#readme`);
    assert.deepEqual(bugs, { url: `${url}/issues` });
  });
  test('names the server as the MCP registry does', () => {
    assert.equal(committed.mcpName, 'io.github.uchimanajet7/openai-responses-mcp');
  });
  test('needs nothing, so that npm ci works before the packages are there', async (t) => {
    for (const key of ['dependencies', 'devDependencies', 'optionalDependencies']) assert.equal(committed[key], undefined);
    const folder = temporary(t);
    for (const name of ['package.json', 'package-lock.json']) cpSync(join(npm, name), join(folder, name));
    const r = await npmRun(['ci'], folder);
    assert.equal(r.code, 0, r.stderr);
  });
  test('is in step with its lock file', () => {
    const lock = json(join(npm, 'package-lock.json'));
    assert.equal(lock.lockfileVersion, 3);
    assert.equal(lock.version, committed.version);
  });
  test('the lock files name no place to download from', () => {
    for (const folder of [npm, join(npm, 'test/registry')]) {
      assert.doesNotMatch(text(folder, 'package-lock.json'), /"resolved"/);
    }
  });
  test('npm test runs every test', () => {
    for (const name of readdirSync(join(npm, 'test')).filter((n) => n.endsWith('.test.mjs'))) {
      assert.ok(committed.scripts.test.includes(`test/${name}`), `${name} is not run`);
    }
  });
});

describe('what npm run packages lays out', () => {
  let out;
  before(async () => {
    out = mkdtempSync(join(tmpdir(), 'npm-packages-'));
    const r = await script('packages', ['--dist', dist(out), '--out', join(out, 'out')]);
    assert.equal(r.code, 0, r.stderr);
    out = join(out, 'out');
  });
  after(() => rmSync(join(out, '..'), { recursive: true, force: true }));

  test('is a folder for each package', () => {
    assert.deepEqual(readdirSync(out).sort(), [NAME, ...TARGETS.map((x) => x.folder)].sort());
  });
  for (const { os, cpu, goos, goarch, name, folder, file } of TARGETS) {
    test(name, () => {
      const pkg = json(join(out, folder, 'package.json'));
      const path = join(out, folder, 'bin', file);
      assert.equal(text(path), `binary dist/binary_${goos}_${goarch}_v1/${file}\n`);
      if (!windows) assert.equal(statSync(path).mode & 0o777, 0o755);
      assert.equal(pkg.name, name);
      assert.equal(pkg.version, committed.version);
      assert.deepEqual([pkg.os, pkg.cpu], [[os], [cpu]]);
      assert.equal(pkg.preferUnplugged, true);
      assert.deepEqual(Object.values(pkg.bin), [`bin/${file}`]);
      assert.ok(!(NAME in pkg.bin), 'the command is the main package');
      assert.deepEqual(pkg.repository, committed.repository);
      for (const key of ['scripts', 'libc', 'dependencies']) assert.equal(pkg[key], undefined);
    });
  }
  test('the main package wants each of them at its own version', () => {
    const { optionalDependencies: wanted, scripts, ...rest } = json(join(out, NAME, 'package.json'));
    assert.deepEqual(wanted, Object.fromEntries(TARGETS.map((x) => [x.name, committed.version])));
    assert.deepEqual(Object.keys(scripts).sort(), ['build', 'prepublishOnly']);
    const { scripts: _, ...others } = committed;
    assert.deepEqual(rest, others);
  });
  test('the main package holds what spec §17.5 lists, in less than 60 kB', async () => {
    const folder = join(out, NAME);
    assert.equal(text(folder, 'build/index.js'), text(SOURCE));
    assert.equal(text(folder, 'README.md'), text(root, 'README.md'));
    const r = await npmRun(['pack', '--dry-run', '--json'], folder);
    assert.equal(r.code, 0, r.stderr);
    const said = JSON.parse(r.stdout);
    const [packed] = Array.isArray(said) ? said : Object.values(said); // npm 12 has an object
    assert.deepEqual(
      packed.files.map((f) => f.path).sort(),
      ['LICENSE', 'README.md', 'build/index.js', 'build/program.cjs', 'config/config.yaml.example', 'config/policy.md.example', 'package.json'],
    );
    assert.ok(packed.size < 60_000, `${packed.size} bytes`);
  });
  test('build does nothing in the main package', async () => {
    const folder = join(out, NAME);
    const list = () => readdirSync(folder, { recursive: true }).filter((n) => !n.startsWith('.cache')).sort();
    const before = list();
    const r = await npmRun(['run', 'build'], folder);
    assert.equal(r.code, 0, r.stderr);
    assert.deepEqual(list(), before);
  });
});

describe('npm run packages', () => {
  test('takes a dist folder that has moved', async (t) => {
    const folder = temporary(t);
    renameSync(dist(folder), join(folder, 'elsewhere'));
    const r = await script('packages', ['--dist', join(folder, 'elsewhere'), '--out', join(folder, 'out')]);
    assert.equal(r.code, 0, r.stderr);
  });
  test('relative folders are those of the shell', async (t) => {
    const folder = temporary(t);
    dist(folder);
    const r = await script('packages', ['--dist', 'dist', '--out', 'out'], { INIT_CWD: folder });
    assert.equal(r.code, 0, r.stderr);
    assert.ok(existsSync(join(folder, 'out', NAME, 'package.json')));
  });
  test('replaces what an older run laid out', async (t) => {
    const folder = temporary(t);
    const args = ['--dist', dist(folder), '--out', join(folder, 'out')];
    await script('packages', args);
    const stale = join(folder, 'out', NAME, 'build/stale.js');
    writeFileSync(stale, '');
    assert.equal((await script('packages', args)).code, 0);
    assert.ok(!existsSync(stale));
  });
});

describe('npm run packages stops', () => {
  const stops = async (t, prepare, want) => {
    const folder = temporary(t);
    const from = prepare(folder);
    const out = join(folder, 'out');
    const r = await script('packages', ['--dist', from, '--out', out]);
    assert.equal(r.code, 1);
    assert.match(r.stderr, want);
    assert.ok(!existsSync(out), 'something was laid out all the same');
  };
  test('without a list of artifacts', (t) => stops(t, (f) => f, /^error: reading .*artifacts\.json/));
  for (const missing of TARGETS) {
    test(`without the binary of ${missing.goos}/${missing.goarch}`, (t) =>
      stops(
        t,
        (f) => dist(f, TARGETS.filter((x) => x !== missing)),
        new RegExp(`0 binaries ${missing.file} for ${missing.goos}/${missing.goarch}, want one`),
      ));
  }
  test('with two binaries for one system', (t) =>
    stops(t, (f) => dist(f, [...TARGETS, TARGETS[0]]), /2 binaries openai-responses-mcp for linux\/amd64/));
  test('when a listed binary is not there', (t) =>
    stops(t, (f) => (dist(f), rmSync(join(f, 'dist/binary_linux_arm64_v1'), { recursive: true }), join(f, 'dist')),
      /binary_linux_arm64_v1.* does not exist/));
  test('without its two folders', async () => {
    const r = await script('packages', ['--dist', 'dist']);
    assert.equal(r.code, 1);
    assert.match(r.stderr, /--dist and --out are needed\nhint: npm run packages/);
  });
});
