// npm run mcp:...: runs a command of the server through the launcher, as npx
// does. The binary is OPENAI_RESPONSES_MCP_BINARY, or is built with Go. smoke
// asks the real API if OPENAI_API_KEY is set, else the offline one. Arguments
// after `--` are passed on:
//
//   npm run mcp:answer -- "What changed in the latest Go release?"
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { NAME, assemble, npm, root, stop } from './files.mjs';

if (!process.env.OPENAI_RESPONSES_MCP_BINARY) {
  const built = join(root, 'bin', process.platform === 'win32' ? `${NAME}.exe` : NAME);
  const go = spawnSync('go', ['build', '-o', built, `./cmd/${NAME}`], { cwd: root, stdio: ['ignore', 2, 2] });
  if (go.status !== 0) {
    stop(`go build: ${go.error?.code ?? `exit ${go.status}`}`, 'install Go, or set OPENAI_RESPONSES_MCP_BINARY');
  }
  process.env.OPENAI_RESPONSES_MCP_BINARY = built;
}
assemble(npm);
await import('../build/index.js'); // runs the launcher in this process
