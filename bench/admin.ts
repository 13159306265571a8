import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { connectAdmin } from '../src/client/index.js';
import { type BenchRow, median } from './comparison.js';
import type { Gateway } from './headgate.js';
import { drive } from './load.js';
import { OwnTimes } from './own-times.js';
import { drivePaced } from './paced.js';
import { stepBack, stepForward } from './processor-classes.js';
import type { Server } from './servers.js';

interface Second {
  readonly changes: number;
  readonly lists: number;
  readonly failed: number;
}

/**
 * `npm run bench -- --admin`: what a busy administration costs the data plane. Model requests at a steady rate, quiet
 * and under the load of admin-load.ts, taking turns. `requests`: by when the provider answers them.
 */
export async function compareAdmin(
  gateway: Gateway,
  upstream: Server,
  requests: ReadonlyMap<string, Buffer>,
  { seconds, rounds, rate }: { seconds: number; rounds: number; rate: number },
): Promise<BenchRow[]> {
  const { port, grpcPort, key } = gateway;
  const load = fork(
    fileURLToPath(new URL('./admin-load.js', import.meta.url)),
    [String(grpcPort), String(port), key],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  await new Promise((ready, failed) => {
    load.once('message', ready);
    load.once('exit', () => failed(new Error('the load of the administration did not start')));
  });
  stepBack(load.pid ?? 0);
  stepForward([process.pid, ...upstream.pids()]);
  const client = connectAdmin({ address: `127.0.0.1:${grpcPort}`, key });
  const ownTimes = new OwnTimes(client);
  const perSecond: Second[] = [];
  load.on('message', (second: Second) => void perSecond.push(second));
  const figures = new Map(
    [...requests.keys()].map((name) => [name, { quiet: noFigures(), busy: noFigures() }]),
  );
  let errors = 0;
  load.kill('SIGSTOP');
  // At 300 requests a second it would take V8 half a minute to compile what they use.
  for (const request of requests.values())
    await drive({ port, request, connections: 16, seconds: 3, chunked: false });
  await ownTimes.read(Date.now());
  for (let round = 0; round < rounds; round++) {
    for (const [name, request] of requests) {
      for (const state of ['quiet', 'busy'] as const) {
        load.kill(state === 'quiet' ? 'SIGSTOP' : 'SIGCONT');
        await drivePaced({ port, request, rate, seconds: 1 });
        const began = Date.now();
        const result = await drivePaced({ port, request, rate, seconds });
        const figure = figures.get(name)![state];
        figure.p50.push(result.p50);
        figure.p99.push(result.p99);
        errors += result.errors;
        // What reads the ledger is no part of what is measured.
        load.kill('SIGSTOP');
        const own = await ownTimes.read(began);
        figure.own.push(own[Math.floor(own.length * 0.99)] ?? 0);
      }
    }
  }
  load.kill('SIGKILL');
  client.close();
  const whole = perSecond.filter(({ changes }) => changes > 0);
  const done = (what: keyof Second): number => median(whole.map((second) => second[what]));
  console.log(`\n${rate} model requests a second, ${rounds} rounds of ${seconds} s, ${errors} errors;`);
  console.log(
    `busy: ${done('changes')} changes and ${done('lists')} lists a second (${done('failed')} failed)`,
  );
  console.table(
    [...figures].map(([provider, { quiet, busy }]) => ({
      provider,
      quiet_p50_ms: Number(median(quiet.p50).toFixed(2)),
      busy_p50_ms: Number(median(busy.p50).toFixed(2)),
      quiet_p99_ms: Number(median(quiet.p99).toFixed(2)),
      busy_p99_ms: Number(median(busy.p99).toFixed(2)),
      quiet_own_p99_ms: Number(median(quiet.own).toFixed(2)),
      busy_own_p99_ms: Number(median(busy.own).toFixed(2)),
      p99_times: Number((median(busy.p99) / median(quiet.p99)).toFixed(2)),
    })),
  );
  return [...figures].flatMap(([provider, states]) =>
    (['quiet', 'busy'] as const).map((state) => ({
      work: `${rate} requests a second, answered ${provider}`,
      server: state,
      isFloor: false,
      figures: { p50_ms: states[state].p50, p99_ms: states[state].p99, own_p99_ms: states[state].own },
    })),
  );
}

/** Milliseconds of each round, as the client measures them, and the gateway's own part by its ledger. */
interface Figures {
  readonly p50: number[];
  readonly p99: number[];
  readonly own: number[];
}

const noFigures = (): Figures => ({ p50: [], p99: [], own: [] });
