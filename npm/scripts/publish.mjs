// npm run packages:publish -- DIR [NPM PUBLISH FLAGS]: publishes the folders
// that `npm run packages` laid out. npm's own configuration says where to.
//
// The main package is last, so that its platform packages exist when it
// appears. Published versions are skipped: a run that failed can be repeated.
// A prerelease goes to the tag next.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

import { NAME, stop } from './files.mjs';

const [given, ...flags] = process.argv.slice(2);
if (!given || given.startsWith('-')) stop('which folder?', 'npm run packages:publish -- DIR [--provenance ...]');
const dir = resolve(process.env.INIT_CWD ?? process.cwd(), given);

// read reads the package that is laid out under this name.
function read(name) {
  const folder = join(dir, basename(name));
  try {
    return { ...JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')), folder };
  } catch (err) {
    return stop(`reading the package ${name}: ${err.message}`, 'npm run packages lays it out');
  }
}

// npm runs the npm that started this script. Its current folder is dir: the
// .npmrc and package.json of the caller's folder do not apply.
function npm(args, stdio) {
  return spawnSync(process.execPath, [process.env.npm_execpath, ...args], { cwd: dir, encoding: 'utf8', stdio });
}

// published asks the registry whether it has the version. An answer that is
// neither yes nor no ends the run.
function published({ name, version }) {
  const r = npm(['view', `${name}@${version}`, 'version', '--json', '--prefer-online'], ['ignore', 'pipe', 'pipe']);
  let output = null;
  try {
    output = JSON.parse(r.stdout || 'null');
  } catch {
    // reported below
  }
  if (r.status === 0) return [output].flat().includes(version); // npm 12 prints a list
  if (output?.error?.code === 'E404') return false;
  return stop(`npm view ${name}@${version}:\n${r.error?.message ?? r.stderr}`);
}

function publish(pkg) {
  const id = `${pkg.name}@${pkg.version}`;
  if (published(pkg)) return console.log(`${id}: already published`);
  const tag = pkg.version.includes('-') ? ['--tag', 'next'] : [];
  const r = npm(['publish', pkg.folder, '--access', 'public', ...tag, ...flags], ['inherit', 'inherit', 'inherit']);
  if (r.status !== 0) stop(`publishing ${id} failed`, 'run the same command again: published packages are skipped');
  console.log(`${id}: published${tag.length ? ' as next' : ''}`);
}

if (!process.env.npm_execpath) stop('run this with npm', 'npm run packages:publish -- DIR');
const main = read(NAME);
const platforms = Object.entries(main.optionalDependencies ?? {}).map(([name, version]) => ({ ...read(name), wanted: version }));
if (platforms.length === 0) stop(`${main.folder} names no platform package`, 'publish what npm run packages laid out');
for (const { name, version, wanted } of platforms) {
  if (version !== wanted) stop(`${name} is laid out at ${version}, and ${NAME} wants ${wanted}`);
}
for (const pkg of [...platforms, main]) publish(pkg);
