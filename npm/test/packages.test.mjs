// What is in package.json, and what `npm run packages` lays out.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';

import { NAME, TARGETS, npm } from '../scripts/files.mjs';

const json = (...path) => JSON.parse(readFileSync(join(...path), 'utf8'));
const committed = json(npm, 'package.json');
const folder = mkdtempSync(join(tmpdir(), 'npm-packages-'));
after(() => rmSync(folder, { recursive: true, force: true }));

// layout runs `npm run packages` on a dist folder whose binaries are texts.
function layout(name, targets) {
  const list = targets.map((t) => ({ type: 'Binary', goos: t.goos, goarch: t.goarch, path: `dist/binary_${t.goos}_${t.goarch}/${t.file}` }));
  list.push({ type: 'Archive', goos: 'linux', goarch: 'amd64', path: 'dist/x.tar.gz' });
  for (const { path } of list) {
    mkdirSync(join(folder, name, dirname(path)), { recursive: true });
    writeFileSync(join(folder, name, path), path);
  }
  writeFileSync(join(folder, name, 'dist/artifacts.json'), JSON.stringify(list));
  const script = join(npm, 'scripts/packages.mjs');
  return spawnSync(process.execPath, [script, '--dist', 'dist', '--out', 'out'], { env: { ...process.env, INIT_CWD: join(folder, name) }, encoding: 'utf8' });
}

test('package.json has the metadata of the specification', () => {
  const { name, description, type, bin, files, engines, license, repository, homepage, bugs, scripts } = committed;
  const url = 'https://github.com/uchimanajet7/openai-responses-mcp';
  assert.deepEqual({ name, description, type, bin, files, engines, license, repository, homepage, bugs }, {
    name: NAME,
    description: 'Lightweight MCP server (Responses API core). OpenAI integration + web_search.',
    type: 'module',
    bin: { [NAME]: 'build/index.js' },
    files: ['build', 'config/config.yaml.example', 'config/policy.md.example', 'README.md', 'LICENSE'],
    engines: { node: '>=20' },
    license: 'MIT',
    repository: { type: 'git', url: `git+${url}.git` },
    homepage: `${url}#readme`,
    bugs: { url: `${url}/issues` },
  });
  assert.equal(scripts.prepublishOnly, 'npm run build');
  // `npm ci` works before the platform packages exist.
  for (const key of ['dependencies', 'devDependencies', 'optionalDependencies']) assert.equal(committed[key], undefined);
  assert.equal(json(npm, 'package-lock.json').lockfileVersion, 3);
});

describe('npm run packages', () => {
  const r = layout('all', TARGETS);
  const out = join(folder, 'all/out');

  for (const { os, cpu, goos, goarch, name, folder, file } of TARGETS) {
    test(name, () => {
      assert.equal(r.status, 0, r.stderr);
      const pkg = json(out, folder, 'package.json');
      const path = join(out, folder, 'bin', file);
      assert.equal(readFileSync(path, 'utf8'), `dist/binary_${goos}_${goarch}/${file}`);
      if (process.platform !== 'win32') assert.equal(statSync(path).mode & 0o777, 0o755);
      assert.deepEqual([pkg.name, pkg.version, pkg.os, pkg.cpu], [name, committed.version, [os], [cpu]]);
      assert.deepEqual(pkg.bin, { [folder]: `bin/${file}` });
      assert.equal(pkg.preferUnplugged, true);
      assert.deepEqual(pkg.repository, committed.repository);
      for (const key of ['scripts', 'libc', 'dependencies']) assert.equal(pkg[key], undefined);
    });
  }
  test('the main package wants each of them at its own version', () => {
    const { optionalDependencies, scripts, ...rest } = json(out, NAME, 'package.json');
    assert.deepEqual(optionalDependencies, Object.fromEntries(TARGETS.map((t) => [t.name, committed.version])));
    assert.deepEqual(Object.keys(scripts), ['build', 'prepublishOnly']);
    const { scripts: _, ...others } = committed;
    assert.deepEqual(rest, others);
    for (const name of committed.files.filter((f) => f !== 'build')) assert.ok(existsSync(join(out, NAME, name)), name);
    assert.ok(existsSync(join(out, NAME, 'build/index.js')));
  });
  test('stops when a binary is missing or there are two', () => {
    const missing = layout('missing', TARGETS.slice(1));
    assert.match(missing.stderr, /0 binaries for linux\/amd64, want one/);
    assert.equal(missing.status, 1);
    assert.ok(!existsSync(join(folder, 'missing/out')));
    assert.match(layout('two', [...TARGETS, TARGETS[0]]).stderr, /2 binaries for linux\/amd64, want one/);
  });
});
