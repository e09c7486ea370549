#!/usr/bin/env node
// The npm entry of openai-responses-mcp. It finds the binary that the package
// for this system brought, and becomes it.
//
// stdout belongs to the protocol: nothing here writes to it. process.stdin is
// not touched, for bytes read here would be missing in the server.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const NAME = 'openai-responses-mcp';
const VARIABLE = 'OPENAI_RESPONSES_MCP_BINARY';
const PARENT = 'OPENAI_RESPONSES_MCP_PARENT';
const HOME = 'github.com/uchimanajet7/openai-responses-mcp';

const require = createRequire(import.meta.url);
const { flaw, sure } = require('./program.cjs');
const windows = process.platform === 'win32';
const system = `${process.platform}-${process.arch}`;

// fail tells what is wrong and the ways out, and lets the process end with 1.
function fail(problem, ...hints) {
  console.error([`${NAME}: error: ${problem}`, ...hints.map((h) => `hint: ${h}`)].join('\n'));
  process.exitCode = 1;
}

// chosen is the binary that the environment names.
function chosen(value) {
  const path = resolve(value);
  const wrong = flaw(path);
  if (!wrong) return path;
  fail(`${VARIABLE}: ${path} ${wrong}`, `set it to the path of an ${NAME} binary, or unset it`);
}

// installed is the binary of the package for this system.
function installed() {
  const elsewhere = [
    `or set ${VARIABLE} to a binary, e.g. from https://${HOME}/releases`,
    `or do without npm: docker run -i --rm -e OPENAI_API_KEY ghcr.io/uchimanajet7/${NAME}`,
  ];
  if (!/^(linux|darwin|win32)-(x64|arm64)$/.test(system)) {
    return fail(`there is no package for ${system}`, `go install ${HOME}/cmd/${NAME}@latest`, ...elsewhere);
  }
  const name = `@uchimanajet7/${NAME}-${system}`;
  // It is missing after --omit=optional, and after an install from a lock file
  // or a node_modules folder of another system.
  const again = `delete node_modules and package-lock.json, then: npm install --include=optional ${NAME}`;
  let path;
  try {
    path = require.resolve(`${name}/bin/${NAME}${windows ? '.exe' : ''}`);
  } catch {
    return fail(`the package ${name} is not installed`, again, ...elsewhere);
  }
  const wrong = flaw(path);
  if (!wrong) return path;
  fail(`${path} ${wrong}`, again, ...elsewhere);
}

function run(binary, args) {
  // A variable that names this launcher would otherwise go round for ever.
  const { [VARIABLE]: _, ...env } = process.env;
  // npx that is killed takes nobody with it, and its client may keep the pipes
  // open: the server is told who stands between them. npm, pnpm, yarn and bun
  // set this variable; who starts us otherwise may go without ending anything.
  const above = process.env.npm_config_user_agent ? [process.ppid] : [];
  if (process.execve && !windows && sure(binary)) {
    process.execve(binary, [binary, ...args], { ...env, [PARENT]: above.join() }); // does not come back
  }
  env[PARENT] = [process.pid, ...above].join();
  let child;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // A console of Windows tells the child itself, and kill would end it at once.
    process.on(signal, () => windows || child.kill(signal));
  }
  const failed = (err) => fail(`starting ${binary}: ${err.code ?? err.message}`);
  try {
    child = require('node:child_process').spawn(binary, args, { env, stdio: 'inherit', windowsHide: true });
  } catch (err) {
    return failed(err);
  }
  child.on('error', failed);
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code);
    process.exitCode = 128 + require('node:os').constants.signals[signal]; // for a signal that Node ignores
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

const override = process.env[VARIABLE];
const binary = override ? chosen(override) : installed();
if (binary) run(binary, process.argv.slice(2));
