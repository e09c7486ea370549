#!/usr/bin/env node
// The npm entry of openai-responses-mcp: finds the server's binary and runs it.
//
// stdout belongs to the protocol, so nothing here writes to it. process.stdin
// is not touched: bytes read here would be missing in the server.
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const NAME = 'openai-responses-mcp';
const VARIABLE = 'OPENAI_RESPONSES_MCP_BINARY';
const REPOSITORY = `github.com/uchimanajet7/${NAME}`;

const require = createRequire(import.meta.url);
const windows = process.platform === 'win32';
const system = `${process.platform}-${process.arch}`;

// fail reports an error with its hints; the process ends with exit code 1.
function fail(problem, ...hints) {
  console.error([`${NAME}: error: ${problem}`, ...hints.map((h) => `hint: ${h}`)].join('\n'));
  process.exitCode = 1;
}

// installed is the path of the binary that the package for this system holds.
// It is undefined, with the error reported, when the binary cannot be used:
// after --omit=optional, with a lock file or a node_modules folder from another
// system, or on a system without a package.
function installed() {
  const name = `@uchimanajet7/${NAME}-${system}`;
  const known = /^(linux|darwin|win32)-(x64|arm64)$/.test(system);
  const hints = [
    known ? reinstall() : `go install ${REPOSITORY}/cmd/${NAME}@latest`,
    `or set ${VARIABLE} to a binary, e.g. from https://${REPOSITORY}/releases`,
    `or use the image: docker run -i --rm -e OPENAI_API_KEY ghcr.io/uchimanajet7/${NAME}`,
  ];
  if (!known) return fail(`there is no package for ${system}`, ...hints);
  let path;
  try {
    path = require.resolve(`${name}/bin/${NAME}${windows ? '.exe' : ''}`);
  } catch {
    return fail(`the package ${name} is not installed`, ...hints);
  }
  try {
    accessSync(path, constants.X_OK); // an execve that fails aborts Node
    return path;
  } catch (err) {
    return fail(`${path} cannot be run: ${err.code ?? err.message}`, ...hints);
  }
}

// reinstall is how the package for this system gets installed. npx keeps what it has installed in a folder
// of its cache, and adds nothing to it later.
function reinstall() {
  const [folder] = fileURLToPath(import.meta.url).match(/^.*[/\\]_npx[/\\][^/\\]+/) ?? [];
  if (folder) return `delete ${folder}, then start it with: npx --include=optional -y ${specifier(folder)}`;
  return `in a project delete node_modules and package-lock.json, then: npm install --include=optional ${NAME}; `
    + `installed with -g: npm uninstall -g ${NAME}, then: npm install -g --include=optional ${NAME}`;
}

// specifier is what npx was asked for, such as openai-responses-mcp@1.3.0: each has a folder of its own, where
// npm 11 writes it.
function specifier(folder) {
  try {
    const { packages } = require(resolve(folder, 'package.json'))._npx;
    return packages.find((name) => name.startsWith(NAME)) ?? NAME;
  } catch {
    return NAME;
  }
}

// spawn runs the binary as a child and ends as it ends.
function spawn(binary, args) {
  // Without the variable, a value that names this launcher does not recurse.
  const { [VARIABLE]: value, ...env } = process.env;
  const failed = (err) => fail(`starting ${binary}: ${err.code ?? err.message}`, ...(value ? [`check ${VARIABLE}`] : []));
  let child;
  try {
    child = require('node:child_process').spawn(binary, args, { env, stdio: 'inherit', windowsHide: true });
  } catch (err) {
    return failed(err);
  }
  child.on('error', failed);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // A Windows console signals the child itself, and kill would end it at once.
    process.on(signal, () => windows || child.kill(signal));
  }
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code);
    process.exitCode = 128 + require('node:os').constants.signals[signal]; // if Node ignores the signal
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

const args = process.argv.slice(2);
const chosen = process.env[VARIABLE];
const binary = chosen ? resolve(chosen) : installed();
if (binary && !chosen && process.execve && !windows) {
  process.execve(binary, [binary, ...args]); // replaces this process
} else if (binary) {
  spawn(binary, args);
}
