import { cpuSeconds } from './cpu.js';
import { clientRequest, drive } from './load.js';
import { type Server, startBareAnswer, startHeadgate, startUpstream } from './servers.js';

/**
 * What a hit of the cache costs, against uWebSockets.js that gives the same answer to whoever asks: real sockets, both
 * in one run, taking turns. `node dist/bench/cache.js [seconds a round] [rounds]`.
 */
const seconds = Number(process.argv[2] ?? 3);
const rounds = Number(process.argv[3] ?? 5);

const body = JSON.stringify({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'You are a helpful assistant. '.repeat(8) },
    { role: 'user', content: 'Tell me about the river and the gate that holds it. '.repeat(12) },
  ],
  temperature: 0.7,
  max_tokens: 256,
});

const request = (headers: Readonly<Record<string, string>>): Buffer =>
  clientRequest('/v1/chat/completions', headers, body);

async function askOnce(server: Server): Promise<{ cache: string | null; text: string }> {
  const response = await fetch(`http://127.0.0.1:${server.port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...server.headers },
    body,
  });
  return { cache: response.headers.get('x-gateway-cache-status'), text: await response.text() };
}

/** CPU microseconds a request of these processes. */
async function measure(server: Server, pids: readonly (readonly number[])[]): Promise<number[]> {
  const before = pids.map(cpuSeconds);
  const load = {
    port: server.port,
    request: request(server.headers),
    connections: 32,
    chunked: false,
    awake: true,
  };
  const { requests, errors } = await drive({ ...load, seconds });
  if (errors > 0) throw new Error(`${server.name}: ${errors} errors`);
  return pids.map((group, i) => ((cpuSeconds(group) - before[i]!) * 1e6) / requests);
}

const upstream = await startUpstream();
const gateway = await startHeadgate(upstream.port, { bodies: false });
const cached: Server = {
  ...gateway,
  headers: { ...gateway.headers, 'x-gateway-config': '{"provider":"@bench","cache":{"mode":"simple"}}' },
};
await askOnce(cached);
const { cache, text } = await askOnce(cached);
if (cache !== 'HIT') throw new Error(`the gateway answered with ${cache}, not with a hit`);
const bare = await startBareAnswer(text);

const [control = 0, ...workers] = gateway.pids();
await measure(bare, [bare.pids()]);
await measure(cached, [workers]);
const rows: { bare: number; worker: number; control: number }[] = [];
for (let i = 0; i < rounds; i++) {
  const [plain = 0] = await measure(bare, [bare.pids()]);
  const [worker = 0, ledger = 0] = await measure(cached, [workers, [control]]);
  rows.push({ bare: plain, worker, control: ledger });
}
const middle = (of: (row: (typeof rows)[number]) => number): number =>
  rows.map(of).sort((a, b) => a - b)[Math.floor(rounds / 2)]!;
const figure = (name: string, micros: number): void =>
  console.log(
    `${name.padEnd(44)} ${micros.toFixed(1).padStart(6)} µs  ${(micros / middle((row) => row.bare)).toFixed(2)} ×`,
  );
figure(
  'uWebSockets.js, the same answer',
  middle((row) => row.bare),
);
figure(
  'a hit, in the data worker',
  middle((row) => row.worker),
);
figure(
  '  … and its line in the ledger (control process)',
  middle((row) => row.control),
);
await Promise.all([bare.stop(), gateway.stop(), upstream.stop()]);
process.exit(0);
