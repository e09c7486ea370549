// Names, folders and the files of the main package.
import { chmodSync, copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const NAME = 'openai-responses-mcp';
export const npm = fileURLToPath(new URL('..', import.meta.url));
export const root = fileURLToPath(new URL('../..', import.meta.url));

const systems = { linux: 'linux', darwin: 'darwin', win32: 'windows' };
const cpus = { x64: 'amd64', arm64: 'arm64' };

// TARGETS are the systems that have a binary, in npm's terms and in Go's.
export const TARGETS = Object.entries(systems).flatMap(([os, goos]) =>
  Object.entries(cpus).map(([cpu, goarch]) => ({
    os, cpu, goos, goarch,
    folder: `${NAME}-${os}-${cpu}`,
    name: `@uchimanajet7/${NAME}-${os}-${cpu}`,
    file: os === 'win32' ? `${NAME}.exe` : NAME,
  })),
);

const FILES = {
  'build/index.js': 'npm/src/index.js',
  'config/config.yaml.example': 'config/config.yaml.example',
  'config/policy.md.example': 'config/policy.md.example',
  'README.md': 'README.md',
  LICENSE: 'LICENSE',
};

// copy copies a file and makes the folders above it.
export function copy(from, to, mode = 0o644) {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
  chmodSync(to, mode);
}

// assemble copies the files of the main package from the repository to a folder.
export function assemble(folder) {
  for (const [to, from] of Object.entries(FILES)) {
    copy(join(root, from), join(folder, to), to === 'build/index.js' ? 0o755 : 0o644);
  }
}

// clean removes what assemble made.
export function clean(folder) {
  for (const name of ['build', 'config', 'README.md', 'LICENSE']) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
}

// stop ends a script with an error and hints.
export function stop(problem, ...hints) {
  console.error([`error: ${problem}`, ...hints.map((h) => `hint: ${h}`)].join('\n'));
  process.exit(1);
}
