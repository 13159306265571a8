import { connectAdmin } from '../src/client/index.js';
import { chatBody } from './chat.js';
import { type BenchRow, median } from './comparison.js';
import { headersOf, startHeadgate } from './headgate.js';
import { clientRequest } from './load.js';
import { drivePaced, Lane } from './paced.js';
import { record, summary } from './results.js';
import { startUpstream } from './servers.js';
import { storedProviders } from './variants.js';

/**
 * What a request waits for that names a key, a config or a provider which the data worker has not met: it asks the
 * control process, which reads its SQLite database. The same requests are sent twice over one connection, to a gateway
 * with default settings; the first of each has to be looked up. `node dist/bench/lookups.js [names] [rounds]`.
 */
const names = Number(process.argv[2] ?? 300);
const rounds = Number(process.argv[3] ?? 3);
/** Requests a second that the gateway serves meanwhile, where it is not idle. */
const rate = 300;

const upstream = await startUpstream();
const providers = storedProviders({ port: upstream.port, tlsPort: null });
const gateway = await startHeadgate({ providers });
const client = connectAdmin({ address: `127.0.0.1:${gateway.grpcPort}`, key: gateway.key });
const url = `http://127.0.0.1:${upstream.port}/v1`;
const body = chatBody(false);
const request = (headers: Readonly<Record<string, string>>): Buffer =>
  clientRequest('/v1/chat/completions', headers, body);
const known = request(headersOf(gateway.key, { provider: '@bench' }));

/** Each stores one more of a kind, and returns a request that names it. */
const kinds = {
  async key(name: string): Promise<Buffer> {
    const { key } = await client.keys.create({
      name,
      type: 'workspace',
      sub_type: 'service',
      scopes: ['completions.write'],
    });
    return request(headersOf(key, { provider: '@bench' }));
  },
  async config(name: string): Promise<Buffer> {
    const { data } = await client.configs.create({ name, config: { provider: '@bench' } });
    return request({ 'x-gateway-api-key': gateway.key, 'x-gateway-config': data.slug });
  },
  async provider(name: string): Promise<Buffer> {
    await client.providers.create({ slug: name, name, provider: 'openai', base_url: url, key: 'sk-bench' });
    return request({ 'x-gateway-api-key': gateway.key, 'x-gateway-provider': `@${name}` });
  },
};

let answered: (isGood: boolean) => void = () => {};
const lane = new Lane(gateway.port, known, (_, isGood) => answered(isGood));

/** Milliseconds of one request. */
function ask(asked: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    answered = (isGood) => {
      if (isGood) resolve(performance.now() - lane.sentAt);
      else reject(new Error(`refused: ${asked.toString('latin1', 0, 400)}`));
    };
    lane.send(asked);
  });
}

async function askAll(all: readonly Buffer[]): Promise<number[]> {
  const times: number[] = [];
  for (const one of all) times.push(await ask(one));
  return times.sort((a, b) => a - b);
}

const share = (sorted: readonly number[], part: number): number =>
  sorted[Math.floor(sorted.length * part)] ?? 0;

async function measure(
  kind: keyof typeof kinds,
  name: string,
): Promise<{ first: number[]; again: number[] }> {
  const all: Buffer[] = [];
  for (let i = 0; i < names; i++) all.push(await kinds[kind](`${name}-${kind}-${i}`));
  for (let i = 0; i < 500; i++) await ask(known);
  return { first: await askAll(all), again: await askAll(all) };
}

const rows: BenchRow[] = [];
for (const state of ['idle', `beside ${rate} requests a second`]) {
  for (const kind of ['key', 'config', 'provider'] as const) {
    const figures = {
      lookup_p50_ms: [] as number[],
      first_p99_ms: [] as number[],
      known_p50_ms: [] as number[],
      known_p99_ms: [] as number[],
    };
    for (let round = 0; round < rounds; round++) {
      let isOver = false;
      const beside = (async () => {
        while (state !== 'idle' && !isOver)
          await drivePaced({ port: gateway.port, request: known, rate, seconds: 1 });
      })();
      const { first, again } = await measure(kind, `${state === 'idle' ? 'i' : 'b'}${round}`);
      isOver = true;
      await beside;
      figures.lookup_p50_ms.push(share(first, 0.5) - share(again, 0.5));
      figures.first_p99_ms.push(share(first, 0.99));
      figures.known_p50_ms.push(share(again, 0.5));
      figures.known_p99_ms.push(share(again, 0.99));
    }
    rows.push({ work: `lookup, ${state}`, server: kind, isFloor: false, figures });
  }
}
console.table(
  rows.map(({ work, server, figures }) => ({
    work,
    what: server,
    ...Object.fromEntries(
      Object.entries(figures).map(([name, values]) => [name, Number(median(values).toFixed(3))]),
    ),
  })),
);
lane.end();
client.close();
await gateway.stop();
await upstream.stop();
console.log(summary(record({ command: 'lookups', options: { names, rounds }, rows })).join('\n'));
process.exit(0);
