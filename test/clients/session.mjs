// What every session is put through, whichever client begins it and whichever
// protocol version it asks for.
import assert from 'node:assert/strict';

import { KNOWN, WEATHER, listed, plain, searched } from './expect.mjs';

// recorded makes of a transport's class one that keeps what goes over the wire
// and, given a version, asks for that: the clients ask for their newest alone.
export function recorded(Transport, server, version) {
  return new (class extends Transport {
    wire = []; // { sent } or { got }

    constructor(options) {
      super(options);
      this.onmessage = (got) => this.wire.push({ got }); // clients call it before their own
    }

    send(message, ...rest) {
      if (version && message.method === 'initialize') {
        message = { ...message, params: { ...message.params, protocolVersion: version } };
      }
      this.wire.push({ sent: message });
      return super.send(message, ...rest);
    }
  })({ ...server, stderr: 'pipe' });
}

// asked is the version that the client's first message asks for.
function asked({ wire }) {
  const { method, params } = wire[0].sent;
  return method === 'initialize' ? params.protocolVersion : params._meta['io.modelcontextprotocol/protocolVersion'];
}

// lastCall is the last tools/call.
const lastCall = ({ wire }) => wire.findLast(({ sent }) => sent?.method === 'tools/call').sent;

// answerTo is where on the wire a request was answered.
const answerTo = ({ wire }, id) => wire.findIndex(({ got }) => got?.id === id);

// session runs the proofs of one session: connect begins it and returns the
// version that the client says it got, if it does; call asks a question.
export async function session(proof, label, { client, transport, connect, call, wanted, agreed }) {
  const faults = [];
  client.onerror = (err) => faults.push(err.message);
  let noise = '';
  transport.stderr.on('data', (chunk) => (noise += chunk));

  await proof(`${label}: asks for ${wanted} and gets ${agreed}`, async () => {
    const got = await connect();
    assert.equal(asked(transport), wanted);
    assert.equal(got ?? transport.wire[1].got.result.protocolVersion, agreed);
    assert.deepEqual(client.getServerCapabilities(), { tools: {} });
  });
  await proof(`${label}: tools/list`, async () => listed(await client.listTools()));
  await proof(`${label}: tools/call`, async () => {
    plain(await call(KNOWN));
    searched(await call(WEATHER));
  });
  await proof(`${label}: progress grows, and ends before the result`, () => progress(transport, call));
  await proof(`${label}: a cancelled call is not answered`, () => cancel(transport, call, client));
  if (agreed < '2026-07-28') {
    await proof(`${label}: ping`, () => client.ping());
  } else {
    await proof(`${label}: has no ping, as the client knows`, () => assert.rejects(client.ping(), /not supported/));
  }
  await proof(`${label}: EOF ends the server, all being answered`, () => eof(transport, call, client));
  await proof(`${label}: nothing but the protocol on stdout, nothing on stderr`, async () => {
    // What was on its way when the client forgot a call is no fault.
    assert.deepEqual(faults.filter((text) => !/unknown message ID|for an unknown token/.test(text)), []);
    assert.equal(noise, '');
  });
}

async function progress(transport, call) {
  const heard = [];
  searched(await call(WEATHER, { onprogress: (p) => heard.push(p.progress) }));
  const { id, params } = lastCall(transport);
  const told = transport.wire.filter(({ got }) => got?.params?.progressToken === params._meta.progressToken);
  assert.ok(told.length > 0, 'no progress came');
  const steps = told.map(({ got }) => got.params.progress);
  steps.forEach((step, i) => assert.ok(i === 0 || step > steps[i - 1], `progress ${steps}`));
  // The client forgets a call at its result, and then drops what came just before.
  assert.deepEqual(heard, steps.slice(0, Math.max(1, heard.length)));
  assert.ok(transport.wire.indexOf(told.at(-1)) < answerTo(transport, id), 'progress came after the result');
}

async function cancel(transport, call, client) {
  const stop = new AbortController();
  await assert.rejects(call(WEATHER, { signal: stop.signal, onprogress: () => stop.abort('not wanted any more') }));
  const { id, params } = lastCall(transport);
  const told = transport.wire.find(({ sent }) => sent?.method === 'notifications/cancelled');
  assert.equal(told?.sent.params.requestId, id);
  // The server reads in order: from this answer on it knows of the cancellation.
  await assert.rejects(client.callTool({ name: 'no_such_tool' }), /Unknown tool/);
  const knows = transport.wire.length;
  plain(await call(KNOWN)); // takes longer than the cancelled one had left
  const late = transport.wire.slice(knows).filter(
    ({ got }) => got?.id === id || (got?.params && got.params.progressToken === params._meta.progressToken),
  );
  assert.deepEqual(late, []);
}

// eof closes the server's input and nothing else, with a call in flight.
async function eof(transport, call, client) {
  const child = transport._process;
  const closed = new Promise((done) => (client.onclose = done));
  searched(await call(WEATHER, { onprogress: () => child.stdin.end() }));
  await closed;
  assert.equal(child.exitCode, 0);
  assert.equal(child.signalCode, null);
}
