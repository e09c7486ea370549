// Runs Codex, Claude Code, Gemini CLI and opencode. Each has a stand-in for its model, which calls `answer`,
// then `answer_result` as long as the result is that it works, and quotes the last result.
//
//     npm ci --ignore-scripts && node agents.mjs path/to/openai-responses-mcp
//
// It runs on Linux on amd64. Each run begins with an empty home, and stays on this machine.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { LIMIT, finish, test } from '../runner.mjs';

const KEY = 'sk-test-0123456789';
const ANSWER = 'A page of example.com says: yes.';
const SERVER = 'openai-responses'; // its name in the files of the clients
const WITHIN = 1000; // ms, of a call with late answers; the API takes ten times as long
const WORKING = 6; // results at least until then; Gemini CLI ends a loop of five identical calls

const binary = resolve(process.argv[2]);
const here = fileURLToPath(new URL('.', import.meta.url));
const packages = JSON.parse(readFileSync(join(here, 'package.json')));
const versions = { ...packages.dependencies, ...packages.optionalDependencies };
const folder = mkdtempSync(join(tmpdir(), 'mcp-agents-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

// seen is what arrived since the client started: the questions at the API, and, at the stand-in, the
// results that the client shows it and the ids of those that say working.
let seen;

// next is the turn of the stand-in: a text, or the tool that it calls. tools and results are those of the request.
function next(tools, results) {
  const call = (name, args) => ({ ...tools.find((t) => t.name.endsWith(name)), args, id: `call_${results.length}` });
  if (!tools.some((t) => t.name.endsWith('answer'))) return { says: 'A title' }; // outside of the conversation
  seen.results = results;
  if (results.length === 0) return call('answer', { query: 'Is it so?' });
  const last = results.at(-1).replace(/\\+"/g, '"'); // some clients show JSON inside of JSON
  const id = /"status":"working","id":"([^"]+)"/.exec(last)?.[1];
  if (!id) return { says: `The tool says: ${last}` };
  seen.ids.push(id);
  return call('answer_result', { id });
}

const words = (content) => [content].flat().map((c) => c.text ?? c).join(''); // of a list of blocks, or a string
const events = (all) => all.map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`).join('');

// responses is a stream of the Responses API with one item.
function responses(item) {
  const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'stand-in', output: [] };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  return events([
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } },
  ]);
}

function message(says) {
  const content = [{ type: 'output_text', text: says, annotations: [] }];
  return { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content };
}

// models are the APIs of the clients' models: each takes a request and returns the stream with the next turn.
const models = {
  codex({ tools = [], input }) {
    const all = tools.flatMap(({ name = '', tools: members }) => (
      members?.map((t) => ({ name: t.name, namespace: name })) ?? { name }
    ));
    const results = input.filter((i) => i.type === 'function_call_output').map((i) => words(i.output));
    const { says, name, namespace, args, id } = next(all, results);
    if (says) return responses(message(says));
    const call = { type: 'function_call', id: `fc_${id}`, call_id: id, name, namespace };
    return responses({ ...call, arguments: JSON.stringify(args) });
  },

  // Claude Code loads the tools of a server when its model asks for them.
  claude({ tools = [], messages }) {
    const blocks = messages.flatMap((m) => m.content).filter((c) => c.type === 'tool_result');
    const query = `select:mcp__${SERVER}__answer,mcp__${SERVER}__answer_result`;
    const load = { name: 'ToolSearch', id: 'load', args: { query } };
    const results = blocks.filter((c) => c.tool_use_id !== load.id).map((c) => words(c.content));
    const isFirst = blocks.length === 0 && tools.some((t) => t.name === load.name);
    const { says, name, args, id } = isFirst ? load : next(tools, results);
    const [block, delta] = says
      ? [{ type: 'text', text: '' }, { type: 'text_delta', text: says }]
      : [{ type: 'tool_use', id, name, input: {} }, { type: 'input_json_delta', partial_json: JSON.stringify(args) }];
    const usage = { input_tokens: 1, output_tokens: 1 };
    const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'stand-in', content: [], usage };
    return events([
      { type: 'message_start', message: head },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: says ? 'end_turn' : 'tool_use' }, usage },
      { type: 'message_stop' },
    ]);
  },

  gemini({ tools = [], contents }) {
    const results = contents.flatMap((c) => c.parts).flatMap((p) => p.functionResponse ?? []);
    const all = tools.flatMap((t) => t.functionDeclarations ?? []);
    const { says, name, args } = next(all, results.map((r) => JSON.stringify(r.response)));
    const parts = [says ? { text: says } : { functionCall: { name, args } }];
    const candidates = [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }];
    return `data: ${JSON.stringify({ candidates })}\n\n`;
  },

  opencode({ tools = [], messages }) {
    const results = messages.filter((m) => m.role === 'tool').map((m) => words(m.content));
    const { says, name, args, id } = next(tools.map((t) => t.function), results);
    const call = { index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
    const delta = { role: 'assistant', ...(says ? { content: says } : { tool_calls: [call] }) };
    const choices = [{ index: 0, delta, finish_reason: says ? 'stop' : 'tool_calls' }];
    const chunk = { id: 'chat_1', object: 'chat.completion.chunk', created: 1, model: 'stand-in', choices };
    return `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
  },
};

// api is the Responses API for openai-responses-mcp.
async function api({ method, headers }) {
  if (headers.authorization !== `Bearer ${KEY}`) return;
  if (method === 'GET') return JSON.stringify({ id: 'gpt-5.2', object: 'model' });
  seen.questions++;
  if (seen.isSlow) await pause(10 * WITHIN);
  while (seen.isSlow && seen.ids.length < WORKING) await pause(WITHIN); // on a slow machine
  return responses(message(ANSWER));
}

const server = createServer(async (req, res) => {
  const [, first] = req.url.split('/');
  const model = models[first];
  const answer = first === 'v1' ? await api(req) : model && req.method === 'POST' && model(await json(req));
  const type = req.method === 'GET' ? 'application/json' : 'text/event-stream';
  res.writeHead(answer ? 200 : 404, { 'Content-Type': type });
  res.end(answer);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${server.address().port}`;
const proxy = { HTTPS_PROXY: origin, NO_PROXY: '127.0.0.1' }; // which closes them, as it takes no CONNECT

// merge adds settings to a file of JSON, and limits to its entry, in the member with the variables.
const merge = (settings, member) => (file, limits) => {
  const content = JSON.parse(file);
  const entry = Object.values(content)[0][SERVER];
  entry[member] = { ...entry[member], ...limits };
  return JSON.stringify({ ...content, ...settings });
};

// toml does the same for Codex, whose entry has a limit.
const toml = (entry, { ANSWER_WITHIN_MS: ms = '$1' } = {}) => `model = "stand-in"
model_provider = "local"
model_providers.local = { name = "local", base_url = "${origin}/codex", wire_api = "responses" }

${entry.replace(/(?<=ANSWER_WITHIN_MS = ")(\d+)/, ms)}`;

const local = {
  npm: '@ai-sdk/openai-compatible',
  options: { baseURL: `${origin}/opencode` },
  models: { 'stand-in': {} },
};

// clients: where an entry goes, what else is in that file, and the command, which asks for no approval.
const clients = {
  codex: {
    package: '@openai/codex',
    path: '.codex/config.toml',
    file: toml,
    command: ['.bin/codex', 'exec', '--skip-git-repo-check'],
  },
  'claude-code': {
    package: '@anthropic-ai/claude-code',
    path: 'project/.mcp.json',
    file: merge({}, 'env'),
    command: ['@anthropic-ai/claude-code-linux-x64/claude', '--settings', '{"enableAllProjectMcpServers":true}',
      '--allowedTools', `mcp__${SERVER}`, '-p'],
    variables: {
      ANTHROPIC_BASE_URL: `${origin}/claude`,
      ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
  },
  'gemini-cli': {
    package: '@google/gemini-cli',
    path: '.gemini/settings.json',
    file: merge({
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
    }, 'env'),
    command: ['.bin/gemini', '--skip-trust', '--approval-mode', 'yolo', '-m', 'gemini-2.5-flash', '-p'],
    variables: { GOOGLE_GEMINI_BASE_URL: `${origin}/gemini`, GEMINI_API_KEY: 'none' },
  },
  opencode: {
    package: 'opencode-linux-x64',
    path: '.config/opencode/opencode.json',
    file: merge({ provider: { local } }, 'environment'),
    command: ['opencode-linux-x64/bin/opencode', 'run', '--model', 'local/stand-in'],
    variables: { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' },
  },
};

// user has an empty home. What run starts gets the given variables only, and no way out of this machine.
function user(home) {
  const write = (path, content) => {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), content);
  };
  const run = async (program, args, { input = '', variables } = {}) => {
    const cwd = join(home, 'project');
    mkdirSync(cwd, { recursive: true });
    const env = { PATH: `${join(home, 'bin')}:${dirname(process.execPath)}:/usr/bin:/bin`, HOME: home, ...proxy, ...variables };
    const child = spawn(program, args, { cwd, env, detached: true });
    const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), LIMIT - 30_000); // with its children
    child.stdin.on('error', () => {}); // it may have ended
    child.stdin.end(input);
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    clearTimeout(timer);
    assert.equal(code, 0, `exit ${code} of ${program} ${args.join(' ')}\n${stdout}${stderr}`);
    return { stdout, stderr };
  };
  return { write, run };
}

// ask stores the key, adds the entry of setup to the file of the client, and gives the client a question.
// With --via npx a program of that name starts the server in 6 s, as a cold cache or a slow registry does.
async function ask(id, limits, via = 'binary') {
  const { path, file, command: [program, ...args], variables } = clients[id];
  const { write, run } = user(mkdtempSync(join(folder, `${id}-`)));
  seen = { questions: 0, results: [], ids: [], isSlow: limits !== undefined };

  write('.config/openai-responses-mcp/config.yaml', `openai: {base_url: ${origin}/v1}\n`);
  await run(binary, ['login'], { input: `${KEY}\n` });
  const { stdout: entry } = await run(binary, ['setup', id, '--via', via]);
  assert.ok(!entry.includes('OPENAI_API_KEY'), entry);
  write(path, file(entry, limits));
  write('bin/npx', `#!/bin/sh\nsleep 6\nexec '${binary}' --stdio\n`);
  await run('chmod', ['+x', '../bin/npx']);

  const command = join(here, 'node_modules', program);
  const { stdout, stderr } = await run(command, [...args, 'Ask whether it is so.'], { variables });
  assert.ok(seen.results.at(-1)?.includes(ANSWER), `the model saw ${seen.results}\n${stdout}${stderr}`);
  assert.ok(stdout.includes(ANSWER), stdout);
  assert.equal(seen.questions, 1);
}

for (const [id, { package: name }] of Object.entries(clients)) {
  const client = `${id} ${versions[name]}`;
  await test(`${client}: an answer, with a stored key and no variables`, () => ask(id));
  await test(`${client}: an answer of a server that starts in 6 s`, () => ask(id, undefined, 'npx'));
  await test(`${client}: an answer that takes ten times the limit of a call`, async () => {
    await ask(id, { ANSWER_WITHIN_MS: String(WITHIN) });
    assert.ok(seen.ids.length >= WORKING, `${seen.ids.length} results say working`);
    assert.equal(new Set(seen.ids).size, seen.ids.length, 'ids differ');
  });
}
finish();
