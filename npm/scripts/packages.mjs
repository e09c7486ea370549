// npm run packages -- --dist DIR --out DIR: lays out the main package and one
// package per system, ready for `npm publish`, from the binaries in
// goreleaser's dist folder.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

import { NAME, TARGETS, assemble, copy, npm, root, stop } from './files.mjs';

const { scripts, ...meta } = JSON.parse(readFileSync(join(npm, 'package.json'), 'utf8'));

// folders are the two arguments, relative to the folder that npm was started in.
function folders() {
  const { values } = parseArgs({ options: { dist: { type: 'string' }, out: { type: 'string' } } });
  if (!values.dist || !values.out) stop('--dist and --out are needed', 'npm run packages -- --dist DIR --out DIR');
  const from = process.env.INIT_CWD ?? process.cwd();
  return [resolve(from, values.dist), resolve(from, values.out)];
}

// binaries finds the binary of each target in goreleaser's list of artifacts.
function binaries(dist) {
  const list = join(dist, 'artifacts.json');
  let all;
  try {
    all = JSON.parse(readFileSync(list, 'utf8')).filter((a) => a.type === 'Binary');
  } catch (err) {
    stop(`reading ${list}: ${err.message}`, 'goreleaser release --snapshot --clean --skip=docker,sign,sbom writes it');
  }
  return TARGETS.map(({ goos, goarch, file }) => {
    const found = all.filter((a) => a.goos === goos && a.goarch === goarch && basename(a.path) === file);
    if (found.length !== 1) stop(`${list}: ${found.length} binaries for ${goos}/${goarch}, want one`);
    return join(dist, basename(dirname(found[0].path)), file);
  });
}

// fresh makes a folder with a package.json, without what an earlier run left.
function fresh(folder, pkg) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(pkg, null, 2)}\n`);
}

// platform lays out the package of one binary. npm keeps the run bit of files
// in bin; the name there must not be that of the main package's command.
function platform(target, binary, folder) {
  const { name, os, cpu, file } = target;
  const { version, homepage, bugs, repository, license, author } = meta;
  fresh(folder, {
    name, version, description: `The ${os}-${cpu} binary of ${NAME}.`, homepage, bugs, repository, license, author,
    bin: { [target.folder]: `bin/${file}` }, files: ['bin'],
    os: [os], cpu: [cpu], preferUnplugged: true, publishConfig: { access: 'public' },
  });
  copy(binary, join(folder, 'bin', file), 0o755);
  copy(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'README.md'), `# ${name}\n\nThe ${os}-${cpu} binary of [${NAME}](${meta.homepage}). Install ${NAME} instead: it depends on this package.\n`);
}

const [dist, out] = folders();
const found = binaries(dist);
TARGETS.forEach((target, i) => platform(target, found[i], join(out, target.folder)));
fresh(join(out, NAME), {
  ...meta,
  scripts: { build: 'node -e 0', prepublishOnly: scripts.prepublishOnly }, // everything is assembled already
  optionalDependencies: Object.fromEntries(TARGETS.map((t) => [t.name, meta.version])),
});
assemble(join(out, NAME));
console.log(`${TARGETS.length + 1} packages at ${meta.version} in ${out}`);
