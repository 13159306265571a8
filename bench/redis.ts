import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { BenchRow } from './comparison.js';
import { startHeadgate } from './headgate.js';
import { type Rounds, runRounds } from './rounds.js';
import { ended, endsWithThis, freePort, type Server, untilOpen } from './servers.js';
import { storedProviders } from './variants.js';

/** What a request costs with Redis set, and set but away, beside one without: the same gateway, in turns. */
export async function compareRedis(upstreamPort: number, rounds: Rounds): Promise<BenchRow[]> {
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
  const servers: Server[] = [
    { ...(await startHeadgate({ providers })), isFloor: true },
    await withRedis('headgate, Redis set', redisPort),
    await withRedis('headgate, Redis away', awayPort),
  ];
  const rows = await runRounds({ name: 'chat', stream: false, connections: 32, servers }, rounds);
  for (const server of servers) await server.stop();
  await ended(redis, 'SIGTERM');
  return rows;
}
