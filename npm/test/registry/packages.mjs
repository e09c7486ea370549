// What is in the packages, and that publishing them can be repeated.
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { NAME, TARGETS } from '../../scripts/targets.mjs';
import { user } from './user.mjs';

const MAIN = 60_000; // bytes, packed
const PLATFORM = 7_000_000;
const AT_INSTALL = ['preinstall', 'install', 'postinstall', 'prepare', 'preprepare', 'postprepare', 'dependencies'];
const PUBLISH = fileURLToPath(new URL('../../scripts/publish.mjs', import.meta.url));

const json = (path) => JSON.parse(readFileSync(path, 'utf8'));

// packed is what npm would send.
async function packed(npm, cwd) {
  const r = await npm.run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd });
  assert.equal(r.code, 0, r.stderr);
  const said = JSON.parse(r.stdout);
  return Array.isArray(said) ? said[0] : Object.values(said)[0]; // npm 12 has an object
}

export async function packages({ dir, folder, npmrc, registry, proof }) {
  const npm = user(join(folder, 'publisher'), process.execPath, npmrc);
  const { version } = json(join(dir, NAME, 'package.json'));
  const publish = (from) => npm.run(process.execPath, [PUBLISH, from]);
  const about = async (name) => (await fetch(registry.url + name.replace('/', '%2f'))).json();
  const names = [...TARGETS.map((t) => t.name), NAME];

  for (const { folder: name, file } of TARGETS) {
    await proof(`${name}: packed below 7 MB, the binary may be run`, async () => {
      const { size, files } = await packed(npm, join(dir, name));
      assert.ok(size < PLATFORM, `${size} bytes packed, less than ${PLATFORM} wanted`);
      assert.equal(files.find((f) => f.path === `bin/${file}`)?.mode & 0o111, 0o111);
      return `${(size / 1e6).toFixed(1)} MB`;
    });
  }
  await proof(`${NAME}: packed below 60 kB`, async () => {
    const { size } = await packed(npm, join(dir, NAME));
    assert.ok(size < MAIN, `${size} bytes packed, less than ${MAIN} wanted`);
    return `${(size / 1e3).toFixed(0)} kB`;
  });
  await proof('no package runs anything when it is installed', () => {
    for (const name of [...TARGETS.map((t) => t.folder), NAME]) {
      const { scripts = {} } = json(join(dir, name, 'package.json'));
      assert.deepEqual(AT_INSTALL.filter((s) => s in scripts), [], name);
    }
  });
  await proof('publishing: the main package last', async () => {
    const r = await publish(dir);
    assert.equal(r.code, 0, r.stderr);
    assert.equal(r.stdout, names.map((n) => `${n}@${version}: published\n`).join(''));
  });
  await proof('publishing again: everything is there already', async () => {
    const r = await publish(dir);
    assert.equal(r.code, 0, r.stderr);
    assert.equal(r.stdout, names.map((n) => `${n}@${version}: is there already\n`).join(''));
  });
  await proof('the published package names the MCP server', async () => {
    const { versions } = await about(NAME);
    assert.equal(versions[version].mcpName, 'io.github.uchimanajet7/openai-responses-mcp');
  });
  await proof('a prerelease becomes next and leaves latest alone', async () => {
    const next = join(folder, 'next');
    const rc = `${version.split('-')[0]}-rc.99`;
    cpSync(dir, next, { recursive: true });
    for (const { folder: name, file } of TARGETS) {
      writeFileSync(join(next, name, 'bin', file), 'small\n');
      rewrite(join(next, name), (p) => ({ ...p, version: rc }));
    }
    const wanted = Object.fromEntries(TARGETS.map((t) => [t.name, rc]));
    rewrite(join(next, NAME), (p) => ({ ...p, version: rc, optionalDependencies: wanted }));
    const r = await publish(next);
    assert.equal(r.code, 0, r.stderr);
    for (const name of names) assert.deepEqual((await about(name))['dist-tags'], { latest: version, next: rc }, name);
  });
}

function rewrite(folder, change) {
  const path = join(folder, 'package.json');
  writeFileSync(path, JSON.stringify(change(json(path))));
}
