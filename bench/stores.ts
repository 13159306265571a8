import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { FaultyProxy } from '../test/support/faulty-proxy.js';
import { chatRequest } from './chat.js';
import { type BenchRow, median } from './comparison.js';
import { threadMicroseconds } from './cpu.js';
import { startHeadgate } from './headgate.js';
import { drive } from './load.js';
import { ratioOf } from './ratio.js';
import { ended, endsWithThis, freePort, type Server, untilOpen } from './servers.js';
import { storedProviders } from './variants.js';

/** For V8 to compile what is measured. */
const warmUpSeconds = 2;
const server = process.env['TEST_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';

/** A database of one gateway's own, behind a proxy that can cut it off. */
async function openDatabase(admin: pg.Client, name: string) {
  await admin.query(`DROP DATABASE IF EXISTS ${name}`);
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const proxy = await FaultyProxy.start(Number(url.port || 5432), url.hostname);
  return { proxy, url: proxy.through(url.href) };
}

/** The process that serves requests: the control process, PostgreSQL and Redis share the processors with it. */
function workerOf(server: Server): number {
  const worker = server
    .pids()
    .find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('data-worker'));
  if (worker === undefined) throw new Error(`${server.name} has no data worker`);
  return worker;
}

export interface StoreRounds {
  /** Of one stretch of load. */
  readonly seconds: number;
  /** How often all take turns. */
  readonly rounds: number;
  /** How often all are started anew: two processes of the same program never cost quite the same. */
  readonly starts: number;
}

const alone = 'neither set';
const twin = 'neither set, once more';

/** Gateways that have neither PostgreSQL nor Redis, twice, that have both, and that have lost both. */
async function startAll(upstreamPort: number, admin: pg.Client) {
  const providers = storedProviders({ port: upstreamPort, tlsPort: null });
  const redisPort = await freePort();
  const redis = spawn('redis-server', ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', ''], {
    stdio: 'ignore',
  });
  await once(redis, 'spawn');
  endsWithThis(redis);
  await untilOpen(redisPort);
  const names = ['headgate_bench_set', 'headgate_bench_away'];
  const databases = [await openDatabase(admin, names[0]!), await openDatabase(admin, names[1]!)] as const;
  const redisAway = await FaultyProxy.start(redisPort);
  const start = async (name: string, env: Readonly<Record<string, string>> = {}): Promise<Server> => ({
    ...(await startHeadgate({ providers, env })),
    name,
  });
  const withBoth = (name: string, { url }: { readonly url: string }, port: number): Promise<Server> =>
    start(name, {
      DATABASE_URL: url,
      REDIS_URL: `redis://127.0.0.1:${port}`,
      HEADGATE_MASTER_KEY: randomBytes(32).toString('hex'),
    });
  const servers = [
    await start(alone),
    await start(twin),
    await withBoth('both set', databases[0], redisPort),
    await withBoth('both set, and away', databases[1], redisAway.port),
  ];
  return {
    servers,
    /** What a node has looked up before, it serves without PostgreSQL. */
    cutOff(): void {
      databases[1].proxy.refuse();
      redisAway.refuse();
    },
    async stop(): Promise<void> {
      for (const server of servers) await server.stop();
      for (const { proxy } of databases) await proxy.close();
      await redisAway.close();
      for (const name of names) await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await ended(redis, 'SIGTERM');
    },
  };
}

/**
 * What a request costs the data worker with PostgreSQL and Redis set, and set but away, beside a gateway that has neither:
 * short stretches in turns, and the ratio of each to the one without of the same round.
 */
export async function compareStores(
  upstreamPort: number,
  { seconds, rounds, starts }: StoreRounds,
): Promise<BenchRow[]> {
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  const costs = new Map<string, number[]>();
  for (let begun = 1; begun <= starts; begun++) {
    const all = await startAll(upstreamPort, admin);
    const loadOf = (server: Server, forSeconds: number) =>
      drive({
        ...{ port: server.port, request: chatRequest(server, false), connections: 8, chunked: false },
        seconds: forSeconds,
      });
    for (const server of all.servers) await loadOf(server, warmUpSeconds);
    all.cutOff();
    for (const server of all.servers) await loadOf(server, warmUpSeconds);
    for (let round = 0; round < rounds; round++) {
      const turns = round % 2 === 0 ? all.servers : [...all.servers].reverse();
      for (const server of turns) {
        const worker = workerOf(server);
        const before = threadMicroseconds(worker);
        const { requests, errors } = await loadOf(server, seconds);
        if (errors > 0) throw new Error(`${server.name}: ${errors} requests failed`);
        const cost = (threadMicroseconds(worker) - before) / requests;
        const of = costs.get(server.name);
        if (of === undefined) costs.set(server.name, [cost]);
        else of.push(cost);
      }
    }
    await all.stop();
    console.error(`start ${begun} of ${starts}: ${rounds} rounds`);
  }
  await admin.end();
  return [...costs].map(([name, figures]) => ({
    work: 'chat',
    server: name,
    isFloor: name === alone,
    figures: { cpu_us: figures },
  }));
}

/** How they compare with those that have neither. */
export function storesTable(rows: readonly BenchRow[]): object[] {
  const of = (name: string): readonly number[] =>
    rows.find(({ server }) => server === name)?.figures['cpu_us'] ?? [];
  const [one, other] = [of(alone), of(twin)];
  const bases = one.map((cost, i) => (cost + other[i]!) / 2);
  return rows.map(({ server, figures: { cpu_us: costs = [] } }) => {
    const ratio = ratioOf(costs, server === alone ? other : server === twin ? one : bases);
    return {
      server,
      cpu_us_per_request: Number(median(costs).toFixed(1)),
      ratio: Number(ratio.median.toFixed(3)),
      from: Number(ratio.from.toFixed(3)),
      to: Number(ratio.to.toFixed(3)),
    };
  });
}
