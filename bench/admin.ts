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

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

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

/** Client and provider of the model requests are on other machines too: they never wait for the gateway here. */
function stepForward(pids: readonly number[]): void {
  try {
    for (const pid of pids) setPriority(pid, constants.priority.PRIORITY_HIGHEST);
  } catch {
    console.log('not root: the client and the provider of the model requests wait for the gateway here');
  }
}

/**
 * `npm run bench -- --admin`: what a busy administration costs the data plane. Model requests at a steady rate, quiet
 * and under the load of admin-load.ts, taking turns.
 */
export async function compareAdmin(
  server: Server,
  upstream: Server,
  request: Buffer,
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
  const figures = { quiet: [] as number[], busy: [] as number[] };
  const medians = { quiet: [] as number[], busy: [] as number[] };
  let errors = 0;
  for (let round = 0; round < rounds * 2; round++) {
    const state = round % 2 === 0 ? 'quiet' : 'busy';
    load.kill(state === 'quiet' ? 'SIGSTOP' : 'SIGCONT');
    await drivePaced({ port, request, rate, seconds: 1 });
    const result = await drivePaced({ port, request, rate, seconds });
    figures[state].push(result.p99);
    medians[state].push(result.p50);
    errors += result.errors;
  }
  load.kill('SIGKILL');
  const ratio = median(figures.busy) / median(figures.quiet);
  const whole = perSecond.filter(({ changes }) => changes > 0);
  console.log(`\n${rate} model requests a second, ${rounds} rounds of ${seconds} s, ${errors} errors`);
  console.table([
    { administration: 'quiet', p50_ms: median(medians.quiet), p99_ms: median(figures.quiet) },
    { administration: 'busy', p50_ms: median(medians.busy), p99_ms: median(figures.busy) },
  ]);
  const done = (what: keyof Second): number => median(whole.map((second) => second[what]));
  console.log(
    `p99 ${ratio.toFixed(2)} times the quiet one, under ${done('changes')} changes and ${done('lists')} lists a second (${done('failed')} failed)`,
  );
}
