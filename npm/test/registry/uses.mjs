// The ways to run the published server: by npx, and installed in a project.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, readlinkSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';

import { NAME, TARGETS } from '../../scripts/targets.mjs';
import { below, over, user } from './user.mjs';

const NPX = ['-y', `${NAME}@latest`];
const target = TARGETS.find((t) => t.os === process.platform && t.cpu === process.arch);
const line = (message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
const hello = line({
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'npm-registry', version: '1' } },
});
const call = line({ id: 2, method: 'tools/call', params: { name: 'answer', arguments: { query: 'What does HTTP 404 mean?' } } });

const versionIn = (dir) => JSON.parse(readFileSync(join(dir, NAME, 'package.json'), 'utf8')).version;

// greeted is the one line that answers initialize.
function greeted(r, version) {
  assert.equal(r.code, 0, `code ${r.code} ${r.signal}: ${r.stderr}`);
  const lines = r.stdout.split('\n');
  assert.equal(lines.length, 2, r.stdout);
  const { id, result } = JSON.parse(lines[0]);
  assert.deepEqual([id, result.serverInfo.name, result.serverInfo.version], [1, NAME, version]);
}

// server waits for the answer to initialize and is the process of the binary.
async function server(child, write = (text) => child.stdin.write(text)) {
  write(hello);
  await once(child.stdout, 'data');
  const tree = below(child.pid);
  const [found] = tree.filter((p) => p.exe.endsWith(join(target.name, 'bin', target.file)));
  assert.ok(found, `no process is the binary: ${tree.map((p) => p.exe)}`);
  return { ...found, tree, launchers: tree.filter((p) => p.line[1]?.endsWith(NAME) && p.exe !== found.exe) };
}

// held starts npx for a client that keeps the pipes open when npx has ended, as
// Node does not with a pipe of its own, and hands its processes to end. They
// have to be over then, whoever of them is left by that.
async function held(person, end) {
  const path = join(person.folder, `held-${held.count = (held.count ?? 0) + 1}`);
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, 'r+');
  const child = person.start('npx', [...NPX, '--stdio'], { stdio: [fd, 'pipe', 'ignore'] });
  const over = once(child, 'close', { signal: AbortSignal.timeout(30_000) }); // stdout is open while one of them runs
  over.catch(() => {});
  let tree = [];
  try {
    ({ tree } = await server(child, (text) => writeSync(fd, text)));
    await end(child, tree);
    await over;
  } finally {
    for (const { pid, exe } of tree) {
      if (existsSync(`/proc/${pid}/exe`) && readlinkSync(`/proc/${pid}/exe`) === exe) process.kill(pid, 'SIGKILL');
    }
    closeSync(fd);
  }
}

export async function npx({ node, execve, dir, folder, npmrc, proof }) {
  const version = versionIn(dir);
  const { stdout: label } = await user(join(folder, 'nobody'), node, npmrc).run(node, ['--version']);
  const name = `npx, Node ${label.trim()}`;
  const person = user(join(folder, `npx-${label.trim()}`), node, npmrc);

  await proof(`${name}: with an empty cache, one line answers initialize`, async () => {
    assert.ok(!existsSync(join(person.folder, 'cache')));
    greeted(await over(person.start('npx', [...NPX, '--stdio']), hello), version);
  });
  await proof(`${name}: --version`, async () => {
    const r = await person.run('npx', [...NPX, '--version']);
    assert.deepEqual([r.code, r.stdout.trim().split(' ').at(-1)], [0, version], r.stderr);
  });
  await proof(`${name}: a call, offline`, async () => {
    const r = await over(person.start('npx', [...NPX, '--stdio', '--offline']), hello + call);
    const { id, result } = JSON.parse(r.stdout.trim().split('\n').at(-1));
    assert.deepEqual([id, JSON.parse(result.content[0].text).model], [2, 'offline']);
  });
  await proof(`${name}: exit codes pass`, async () => {
    assert.equal((await person.run('npx', [...NPX, '--no-such-flag'])).code, 2);
  });
  await proof(`${name}: the process is ${execve ? 'the binary' : 'a launcher with the binary below'}`, async () => {
    const child = person.start('npx', [...NPX, '--stdio']);
    const { launchers } = await server(child);
    assert.equal(launchers.length, execve ? 0 : 1, JSON.stringify(launchers));
    assert.equal((await over(child)).code, 0);
  });
  await proof(`${name}: a client that ends npx ends the server`, async () => {
    const child = person.start('npx', [...NPX, '--stdio']);
    const { pid } = await server(child);
    child.kill('SIGTERM');
    await once(child, 'close'); // the server has stdout open while it runs
    // Nobody may have fetched its exit code yet; what has ended has no program.
    assert.ok(!existsSync(`/proc/${pid}/exe`), 'the server still runs');
  });
  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGHUP']) {
    await proof(`${name}: ${signal} to npx ends the server, though the pipes stay open`, () =>
      held(person, (child) => child.kill(signal)),
    );
  }
  await proof(`${name}: SIGINT to npx, which dash keeps to itself, and then SIGTERM`, () =>
    held(person, (child) => child.kill('SIGINT') && child.kill('SIGTERM')),
  );
  const others = [['the shell of npm, where it stays,', /^(sh|dash|bash|busybox)$/], ...(execve ? [] : [['the launcher', /^node$/]])];
  for (const [who, which] of others) {
    await proof(`${name}: SIGKILL to ${who} ends the server too`, () =>
      held(person, (child, tree) => {
        const found = tree.find((p) => p.pid !== child.pid && which.test(basename(p.exe)));
        process.kill((found ?? tree.at(-1)).pid, 'SIGKILL');
      }),
    );
  }
}

export async function installed({ node, execve, dir, folder, npmrc, proof }) {
  const version = versionIn(dir);
  const label = execve ? 'with execve' : 'without execve';
  const person = user(join(folder, `installed-${label.replace(' ', '-')}`), node, npmrc);
  const project = person.project('project');
  const command = join(project, 'node_modules/.bin', NAME);
  const binary = join(project, 'node_modules', target.name, 'bin', target.file);

  await proof(`npm install, ${label}: one platform package, which answers`, async () => {
    const r = await person.run('npm', ['install', NAME], { cwd: project });
    assert.equal(r.code, 0, r.stderr);
    for (const t of TARGETS) assert.equal(existsSync(join(project, 'node_modules', t.name)), t === target, t.name);
    greeted(await over(person.start(command, ['--stdio']), hello), version);
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
    await proof(`npm install, ${label}: ${signal} ends it as it ends the binary`, async () => {
      const ends = [];
      for (const path of [binary, command]) {
        const child = person.start(path, ['--stdio']);
        await server(child);
        child.kill(signal);
        const [code, by] = await once(child, 'close');
        ends.push({ code, by });
      }
      assert.deepEqual(ends[1], ends[0]);
    });
  }
  await proof(`npm install, ${label}: the process that was started is ${execve ? 'the binary' : 'the launcher'}`, async () => {
    const child = person.start(command, ['--stdio']);
    const { pid } = await server(child);
    assert.equal(pid === child.pid, execve);
    assert.equal((await over(child)).code, 0);
  });
  await proof(`npm install --omit=optional, ${label}: exit 1 and three ways out, the first of which works`, async () => {
    const bare = person.project('bare');
    const r = await person.run('npm', ['install', '--omit=optional', NAME], { cwd: bare });
    assert.equal(r.code, 0, r.stderr);
    const path = join(bare, 'node_modules/.bin', NAME);
    const said = await person.run(path, ['--stdio']);
    assert.deepEqual([said.code, said.stdout], [1, '']);
    assert.ok(said.stderr.trimEnd().split('\n').length <= 6, said.stderr);
    assert.equal(said.stderr.match(/^hint: /gm)?.length, 3, said.stderr);
    const [, rest] = said.stderr.match(/^hint: delete node_modules and package-lock\.json, then: npm (.*)$/m);
    await person.run('rm', ['-r', 'node_modules', 'package-lock.json'], { cwd: bare });
    const again = await person.run('npm', rest.split(' '), { cwd: bare });
    assert.equal(again.code, 0, again.stderr);
    greeted(await over(person.start(path, ['--stdio']), hello), version);
  });
}
