import { connectAdmin } from '../src/client/index.js';
import { chatBody } from './chat.js';
import { type BenchRow, median } from './comparison.js';
import { threadMicroseconds } from './cpu.js';
import { headersOf, startHeadgate } from './headgate.js';
import { clientRequest, drive } from './load.js';
import { drivePaced, Lane } from './paced.js';
import { stepForward } from './processor-classes.js';
import { record, summary } from './results.js';
import { startUpstream } from './servers.js';
import { storedProviders } from './variants.js';

/**
 * What a request waits for that names a key, a config or a provider which the data worker does not have: it asks the
 * control process, which reads its database. Each record is changed first, so that the worker forgets it, and its provider's
 * connection is open. Then the same requests are sent twice over one connection, to a gateway with default settings; the
 * first of each needs a lookup. `node dist/bench/lookups.js [names] [rounds]`; with `BENCH_DATABASE_URL`, the gateway's
 * database is that of PostgreSQL.
 */
const names = Number(process.argv[2] ?? 300);
const rounds = Number(process.argv[3] ?? 3);
/** Requests a second that the gateway serves meanwhile, where it is not idle. */
const rate = 300;

const databaseUrl = process.env['BENCH_DATABASE_URL'];
const upstream = await startUpstream();
const providers = storedProviders({ port: upstream.port, tlsPort: null });
const gateway = await startHeadgate({
  providers,
  env: databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl },
});
const client = connectAdmin({ address: `127.0.0.1:${gateway.grpcPort}`, key: gateway.key });
const url = `http://127.0.0.1:${upstream.port}/v1`;
const body = chatBody(false);
const request = (headers: Readonly<Record<string, string>>): Buffer =>
  clientRequest('/v1/chat/completions', headers, body);
const known = request(headersOf(gateway.key, { provider: '@bench' }));
const [controlProcess = 0] = gateway.pids();

/** A record that was stored. */
interface Stored {
  /** Names it. */
  readonly request: Buffer;
  /** Changes it: workers forget it. */
  change(): Promise<unknown>;
}

const scopes = ['completions.write'];

/** Each stores one more of a kind. */
const kinds = {
  async key(name: string): Promise<Stored> {
    const { id, key } = await client.keys.create({ name, type: 'workspace', sub_type: 'service', scopes });
    return {
      request: request(headersOf(key, { provider: '@bench' })),
      change: () => client.api.apiKeys.updateApiKey({ id, scopes, description: 'changed' }),
    };
  },
  async config(name: string): Promise<Stored> {
    const { data } = await client.configs.create({ name, config: { provider: '@bench' } });
    return {
      request: request({ 'x-gateway-api-key': gateway.key, 'x-gateway-config': data.slug }),
      change: () =>
        client.configs.update(data.slug, { config: { provider: '@bench', retry: { attempts: 1 } } }),
    };
  },
  async provider(slug: string): Promise<Stored> {
    await client.providers.create({ slug, name: slug, provider: 'openai', base_url: url, key: 'sk-bench' });
    return {
      request: request({ 'x-gateway-api-key': gateway.key, 'x-gateway-provider': `@${slug}` }),
      change: () => client.api.providers.updateProvider({ slug, note: 'changed' }),
    };
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

interface Measured {
  /** Milliseconds of each request, the shortest first. */
  readonly times: number[];
  /** Microseconds of the processor for each, of the control process. */
  readonly controlUs: number;
}

async function timed(all: readonly Buffer[]): Promise<Measured> {
  const before = threadMicroseconds(controlProcess);
  const times = await askAll(all);
  return { times, controlUs: (threadMicroseconds(controlProcess) - before) / all.length };
}

async function measure(
  kind: keyof typeof kinds,
  name: string,
): Promise<{ first: Measured; again: Measured }> {
  const all: Stored[] = [];
  for (let i = 0; i < names; i++) all.push(await kinds[kind](`${name}-${kind}-${i}`));
  const requests = all.map((stored) => stored.request);
  await askAll(requests);
  for (const stored of all) await stored.change();
  for (let i = 0; i < 500; i++) await ask(known);
  return { first: await timed(requests), again: await timed(requests) };
}

stepForward([process.pid, ...upstream.pids()]);
// One at a time, it would take V8 long to compile what requests use.
await drive({ port: gateway.port, request: known, connections: 16, seconds: 3, chunked: false });
const rows: BenchRow[] = [];
for (const state of ['idle', `beside ${rate} requests a second`]) {
  for (const kind of ['key', 'config', 'provider'] as const) {
    const figures = {
      lookup_p50_ms: [] as number[],
      lookup_control_us: [] as number[],
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
      figures.lookup_p50_ms.push(share(first.times, 0.5) - share(again.times, 0.5));
      figures.lookup_control_us.push(first.controlUs - again.controlUs);
      figures.first_p99_ms.push(share(first.times, 0.99));
      figures.known_p50_ms.push(share(again.times, 0.5));
      figures.known_p99_ms.push(share(again.times, 0.99));
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
