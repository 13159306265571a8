import { chatBody } from './chat.js';
import { median } from './comparison.js';
import { cpuSeconds } from './cpu.js';
import { startHeadgate } from './headgate.js';
import { clientRequest, drive } from './load.js';
import { record, summary } from './results.js';
import { type Server, startBareAnswer, startUpstream } from './servers.js';
import { storedProviders } from './variants.js';

/**
 * What a hit of the cache costs, against uWebSockets.js that gives the same answer to whoever asks: real sockets, both
 * in one run, taking turns. `node dist/bench/cache.js [seconds a round] [rounds]`.
 */
const seconds = Number(process.argv[2] ?? 3);
const rounds = Number(process.argv[3] ?? 5);

const body = chatBody(false);

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
const gateway = await startHeadgate({
  providers: storedProviders({ port: upstream.port, tlsPort: null }),
});
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
const values = { bare: [] as number[], worker: [] as number[], control: [] as number[] };
for (let i = 0; i < rounds; i++) {
  const [plain = 0] = await measure(bare, [bare.pids()]);
  const [worker = 0, ledger = 0] = await measure(cached, [workers, [control]]);
  values.bare.push(plain);
  values.worker.push(worker);
  values.control.push(ledger);
}
const names = {
  bare: 'uWebSockets.js, the same answer',
  worker: 'a hit, in the data worker',
  control: 'its line in the ledger, in the control process',
};
const kinds = ['bare', 'worker', 'control'] as const;
for (const kind of kinds) {
  const micros = median(values[kind]);
  const times = (micros / median(values.bare)).toFixed(2);
  console.log(`${names[kind].padEnd(48)} ${micros.toFixed(1).padStart(6)} µs  ${times} ×`);
}
await Promise.all([bare.stop(), gateway.stop(), upstream.stop()]);
const rows = kinds.map((kind) => ({
  work: 'cache hit',
  server: names[kind],
  isFloor: kind === 'bare',
  figures: { cpu_us: values[kind] },
}));
console.log(summary(record({ command: 'cache', options: { seconds, rounds }, rows })).join('\n'));
process.exit(0);
