import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import pg from 'pg';
import { FaultyProxy } from '../test/support/faulty-proxy.js';
import type { BenchRow } from './comparison.js';
import { startHeadgate } from './headgate.js';
import { type Rounds, runRounds } from './rounds.js';
import { ended, endsWithThis, freePort, type Server, untilOpen } from './servers.js';
import { storedProviders } from './variants.js';

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

/** Counts its data worker alone: the control process, PostgreSQL and Redis share the processors with it. */
const workerOf = (server: Server): Server => ({ ...server, pids: () => server.pids().slice(1) });

/**
 * What a request costs the data worker with PostgreSQL and Redis set, and set but away, beside a gateway that has neither: the
 * same program, in turns.
 */
export async function compareStores(upstreamPort: number, rounds: Rounds): Promise<BenchRow[]> {
  const providers = storedProviders({ port: upstreamPort, tlsPort: null });
  const [redisPort, awayPort] = [await freePort(), await freePort()];
  const redis = spawn('redis-server', ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', ''], {
    stdio: 'ignore',
  });
  await once(redis, 'spawn');
  endsWithThis(redis);
  await untilOpen(redisPort);
  const withRedis = async (name: string, port: number): Promise<Server> => ({
    ...(await startHeadgate({ providers, env: { REDIS_URL: `redis://127.0.0.1:${port}` } })),
    name,
  });
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  const names = ['headgate_bench_set', 'headgate_bench_away'];
  const [set, away] = [await openDatabase(admin, names[0]!), await openDatabase(admin, names[1]!)];
  const withBoth = async (name: string, databaseUrl: string, port: number): Promise<Server> => ({
    ...(await startHeadgate({
      providers,
      env: {
        DATABASE_URL: databaseUrl,
        REDIS_URL: `redis://127.0.0.1:${port}`,
        HEADGATE_MASTER_KEY: randomBytes(32).toString('hex'),
      },
    })),
    name,
  });
  const servers: Server[] = [
    { ...(await startHeadgate({ providers })), isFloor: true },
    await withRedis('headgate, Redis set', redisPort),
    await withRedis('headgate, Redis away', awayPort),
    await withBoth('headgate, PostgreSQL and Redis set', set.url, redisPort),
    await withBoth('headgate, PostgreSQL and Redis away', away.url, awayPort),
  ];
  const chat = { name: 'chat', stream: false, connections: 32, servers };
  // What a node has looked up before, it serves without PostgreSQL.
  await runRounds(chat, { seconds: 1, rounds: 1 });
  away.proxy.refuse();
  const rows = await runRounds({ ...chat, servers: servers.map(workerOf) }, rounds);
  for (const one of servers) await one.stop();
  for (const { proxy } of [set, away]) await proxy.close();
  for (const name of names) await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
  await admin.end();
  await ended(redis, 'SIGTERM');
  return rows;
}
