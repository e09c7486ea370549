// Files that are no program of this system, or not a whole one: one clear error
// instead of a stack trace of Node or what a shell makes of them.
import assert from 'node:assert/strict';
import { closeSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { as, here, modes, refused, run, server, temporary, windows } from './help.mjs';

const CPUS = { x64: 0x01000007, arm64: 0x0100000c };

// elf is a program of one part that is the file, and of an interpreter.
function elf({ bits = 2, machine = { x64: 62, arm64: 183 }[here.cpu], needs = '' } = {}) {
  const b = Buffer.alloc(64 + 2 * 56 + needs.length + 1);
  b.write('\x7fELF', 'latin1');
  b.set([bits, 1, 1], 4);
  b.writeUInt16LE(machine, 18);
  b.writeBigUInt64LE(64n, 32);
  b.writeUInt16LE(needs ? 2 : 1, 56);
  b.writeUInt32LE(1, 64); // PT_LOAD
  b.writeBigUInt64LE(BigInt(b.length), 64 + 32);
  b.writeUInt32LE(3, 120); // PT_INTERP
  b.writeBigUInt64LE(176n, 120 + 8);
  b.writeBigUInt64LE(BigInt(needs.length + 1), 120 + 32);
  b.write(needs, 176);
  return b;
}

// thin is a Mach-O program of one segment that is the file.
function thin(cpu) {
  const b = Buffer.alloc(32 + 72);
  b.writeUInt32LE(0xfeedfacf, 0);
  b.writeUInt32LE(CPUS[cpu], 4);
  b.writeUInt32LE(1, 16);
  b.writeUInt32LE(0x19, 32); // LC_SEGMENT_64
  b.writeUInt32LE(72, 36);
  b.writeBigUInt64LE(BigInt(b.length), 32 + 48);
  return b;
}

// universal is what lipo makes of thin ones.
function universal(...cpus) {
  const b = Buffer.alloc(8 + 20 * cpus.length);
  b.writeUInt32BE(0xcafebabe, 0);
  b.writeUInt32BE(cpus.length, 4);
  const all = [b];
  for (const [i, cpu] of cpus.entries()) {
    const at = 8 + 20 * i;
    b.writeUInt32BE(CPUS[cpu], at);
    b.writeUInt32BE(Buffer.concat(all).length, at + 8);
    b.writeUInt32BE(thin(cpu).length, at + 12);
    all.push(thin(cpu));
  }
  return Buffer.concat(all);
}

// beginning is the first bytes of Node's own program.
function beginning(length) {
  const [b, file] = [Buffer.alloc(length), openSync(process.execPath)];
  readSync(file, b);
  closeSync(file);
  return b;
}

// put writes a file that may be run.
function put(t, content, name = server) {
  const path = join(temporary(t), name);
  writeFileSync(path, content, { mode: 0o755 });
  return path;
}

const set = (path, way) => run(['--version'], { ...way, env: { OPENAI_RESPONSES_MCP_BINARY: path } });
const foreign = new RegExp(`BINARY: .* is not a program for ${here.os}-${here.cpu}$`);
const linux = here.os !== 'linux' && 'ELF is what Linux runs';
const mac = here.os === 'darwin' && 'macOS has ways to run it';
const unix = windows && 'Windows runs no script';

for (const { mode, skip, ...way } of modes) {
  describe(`a file that cannot be run, by ${mode}`, { skip }, () => {
    for (const { name, content, error = foreign, skip } of [
      { name: 'ELF for another processor', content: elf({ machine: 22 }) },
      { name: 'ELF of 32 bits', content: elf({ bits: 1 }) },
      { name: 'Mach-O', content: thin(here.cpu), skip: mac },
      { name: 'Mach-O for two processors', content: universal('x64', 'arm64'), skip: mac },
      { name: 'a program of Windows', content: 'MZ\x90\0', skip: windows && 'it is one of this system' },
      { name: 'a text', content: '<html>\n' },
      { name: 'nothing', content: '' },
      ...[40, 200, 1000, 5000, 1_000_000].map((length) => (
        { name: `the first ${length} bytes of a program`, content: beginning(length), error: /is not whole/, skip: linux }
      )),
      { name: 'ELF without its loader', content: elf({ needs: '/no/ld.so' }), error: /needs \/no\/ld\.so, which/, skip: linux },
      { name: 'a script without its shell', content: '#! /no/sh -e\n', error: /needs \/no\/sh, which does not/, skip: unix },
      { name: 'a script with line ends of Windows', content: '#!/bin/sh\r\n', error: /needs \/bin\/sh/, skip: unix },
    ]) {
      test(name, { skip }, async (t) => {
        refused(await set(put(t, content), way), error, 1);
      });
    }
    test('a script runs', { skip: unix }, async (t) => {
      const r = await set(put(t, '#!/bin/sh\necho "ran $1"\n'), way);
      assert.deepEqual(r, { stdout: 'ran --version\n', stderr: '', code: 0, signal: null });
    });
  });
}

// Another system is put on: Node's program, execve and spawn are stand-ins that
// tell what would happen.
describe('on macOS', { skip: unix }, () => {
  const mac = (t, cpu) => `
    import child from 'node:child_process';
    ${as({ os: 'darwin', cpu })}
    process.execPath = ${JSON.stringify(put(t, thin(cpu), 'node'))};
    process.execve = () => { console.error('execve'); process.exit(0); };
    child.spawn = () => { throw Object.assign(new Error('no'), { code: 'EBADARCH' }); };
  `;
  const cut = (b) => b.subarray(0, -1);
  for (const { name, content, error } of [
    { name: 'a program for this processor', content: thin('arm64') },
    { name: 'one for two processors', content: universal('x64', 'arm64') },
    { name: 'one for another processor, which the system decides on', content: thin('x64'), error: /starting .*: EBADARCH$/ },
    { name: 'one for two processors, not these', content: universal('x64', 'x64'), error: /starting .*: EBADARCH$/ },
    { name: 'a cut one', content: cut(thin('arm64')), error: /is not whole/ },
    { name: 'a cut one for two processors', content: cut(universal('x64', 'arm64')), error: /is not whole/ },
    { name: 'one whose description is cut', content: thin('arm64').subarray(0, 40), error: /is not whole/ },
    { name: 'one for Linux', content: elf(), error: /is not a program for darwin-arm64$/ },
  ]) {
    test(name, async (t) => {
      const r = await set(put(t, content), { before: mac(t, 'arm64') });
      if (error) refused(r, error, /starting/.test(error) ? 0 : 1);
      else assert.deepEqual(r, { stdout: '', stderr: 'execve\n', code: 0, signal: null });
    });
  }
});
