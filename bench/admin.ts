import { fork, spawnSync } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { drivePaced } from './paced.js';
import type { Server } from './servers.js';

interface Second {
  readonly changes: number;
  readonly lists: number;
  readonly failed: number;
}

/**
 * The administration's client, which in life runs on another machine, must not take the processors from what is
 * measured. The lowest priority alone does not see to that: whoever wakes waits for the end of its slice, some
 * milliseconds. The idle class gives way at once; `chrt` is in util-linux.
 */
function stepBack(pid: number): void {
  if (spawnSync('chrt', ['--all-tasks', '--idle', '--pid', '0', String(pid)]).status === 0) return;
  console.log('chrt is missing: the administration takes time from what is measured, which is not its fault');
  setPriority(pid, constants.priority.PRIORITY_LOW);
}

/**
 * Client and provider of the model requests are on other machines too: they never wait for the gateway here. Again it takes
 * a class of its own, whoever has the processor would keep it to the end of its slice.
 */
function stepForward(pids: readonly number[]): void {
  const classed = (pid: number): boolean =>
    spawnSync('chrt', ['--all-tasks', '--fifo', '--pid', '1', String(pid)]).status === 0;
  if (!pids.every(classed))
    console.log('no root, or no chrt: client and provider of the model requests wait here');
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/**
 * `npm run bench -- --admin`: what a busy administration costs the data plane. Model requests at a steady rate, quiet
 * and under the load of admin-load.ts, taking turns. `requests`: by when the provider answers them.
 */
export async function compareAdmin(
  server: Server,
  upstream: Server,
  requests: ReadonlyMap<string, Buffer>,
  { seconds, rounds, rate }: { seconds: number; rounds: number; rate: number },
): Promise<void> {
  const { port, grpcPort = 0, headers } = server;
  const load = fork(
    fileURLToPath(new URL('./admin-load.js', import.meta.url)),
    [String(grpcPort), String(port), headers['x-gateway-api-key'] ?? ''],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  await new Promise((ready, failed) => {
    load.once('message', ready);
    load.once('exit', () => failed(new Error('the load of the administration did not start')));
  });
  stepBack(load.pid ?? 0);
  stepForward([process.pid, ...upstream.pids()]);
  const perSecond: Second[] = [];
  load.on('message', (second: Second) => void perSecond.push(second));
  const figures = new Map(
    [...requests.keys()].map((name) => [name, { quiet: p50AndP99(), busy: p50AndP99() }]),
  );
  let errors = 0;
  for (let round = 0; round < rounds; round++) {
    for (const [name, request] of requests) {
      for (const state of ['quiet', 'busy'] as const) {
        load.kill(state === 'quiet' ? 'SIGSTOP' : 'SIGCONT');
        await drivePaced({ port, request, rate, seconds: 1 });
        const result = await drivePaced({ port, request, rate, seconds });
        const figure = figures.get(name)![state];
        figure.p50.push(result.p50);
        figure.p99.push(result.p99);
        errors += result.errors;
      }
    }
  }
  load.kill('SIGKILL');
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
      p99_times: Number((median(busy.p99) / median(quiet.p99)).toFixed(2)),
    })),
  );
}

const p50AndP99 = (): { p50: number[]; p99: number[] } => ({ p50: [], p99: [] });
