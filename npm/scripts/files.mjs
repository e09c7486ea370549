// Where things are, and what the main package is made of.
import { chmodSync, copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const npm = fileURLToPath(new URL('..', import.meta.url));
export const root = fileURLToPath(new URL('../..', import.meta.url));

const FILES = {
  'build/index.js': 'npm/src/index.js',
  'build/program.cjs': 'npm/src/program.cjs',
  'config/config.yaml.example': 'config/config.yaml.example',
  'config/policy.md.example': 'config/policy.md.example',
  'README.md': 'README.md',
  LICENSE: 'LICENSE',
};

// copy copies a file into a folder that need not be there yet.
export function copy(from, to, mode = 0o644) {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
  chmodSync(to, mode);
}

// assemble copies the files of the main package from the repository into a folder.
export function assemble(folder) {
  for (const [to, from] of Object.entries(FILES)) {
    copy(join(root, from), join(folder, to), to === 'build/index.js' ? 0o755 : 0o644);
  }
}

// clean removes what assemble made, and nothing else.
export function clean(folder) {
  for (const name of ['build', 'config', 'README.md', 'LICENSE']) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
}

// stop ends a script with what is wrong and what to do about it.
export function stop(problem, ...hints) {
  console.error([`error: ${problem}`, ...hints.map((h) => `hint: ${h}`)].join('\n'));
  process.exit(1);
}
