// The official TypeScript SDK, version 2, in each of its ways to begin: the
// handshake of 2025, the stateless revision 2026-07-28, and asking which.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { recorded, session } from './session.mjs';

// A mode, the version that is asked for, and the one that comes of it.
const MODES = [
  ['legacy', '2024-11-05', '2025-06-18'],
  ['legacy', '2025-06-18', '2025-06-18'],
  ['legacy', '2025-11-25', '2025-06-18'],
  [{ pin: '2026-07-28' }, '2026-07-28', '2026-07-28'],
  ['auto', '2026-07-28', '2026-07-28'],
];

export async function sdk2(server, proof) {
  for (const [mode, wanted, agreed] of MODES) {
    const transport = recorded(StdioClientTransport, server, wanted);
    const client = new Client({ name: 'test-clients', version: '2.0.0' }, { versionNegotiation: { mode } });
    await session(proof, `sdk 2, ${mode.pin ? 'pinned' : mode} ${wanted}`, {
      client,
      transport,
      connect: async () => {
        await client.connect(transport);
        return client.getNegotiatedProtocolVersion();
      },
      call: (query, options) => client.callTool({ name: 'answer', arguments: { query } }, options),
      wanted,
      agreed,
    });
  }
}
