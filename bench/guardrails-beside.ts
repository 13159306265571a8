import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { chatBody } from './chat.js';
import { median } from './comparison.js';
import { headersOf, startHeadgate } from './headgate.js';
import { clientRequest, type LoadResult } from './load.js';
import { drivePaced } from './paced.js';
import { endsWithThis, here, startUpstream } from './servers.js';
import { storedProviders } from './variants.js';

/**
 * What other requests wait while guarded ones keep the threads for checks busy: a gateway with one data worker, its provider, and
 * the load in processes of their own. Unguarded requests come at a steady rate; beside them, in turns, nothing, guarded requests
 * (a search for personal data in 32 KB, in the worker threads), and unguarded requests at the same rate as the guarded ones.
 * `node dist/bench/guardrails-beside.js [rounds] [seconds] [rate] [pinned|free] [characters]`.
 * `pinned` (Linux, two processors): the data worker's own
 * thread, the provider and the unguarded load have the first, all else has the second.
 */
const rounds = Number(process.argv[2] ?? 10);
const seconds = Number(process.argv[3] ?? 3);
/** Unguarded requests a second. */
const rate = Number(process.argv[4] ?? 300);
const isPinned = process.argv[5] === 'pinned';
/** Guarded requests at a time, and characters of each. */
const connections = 32;
const length = Number(process.argv[6] ?? 32 * 1024);

const upstream = await startUpstream();
const gateway = await startHeadgate({
  providers: storedProviders({ port: upstream.port, tlsPort: null }),
});
const other = endsWithThis(fork(here('./closed-load.js')));

const path = '/v1/chat/completions';
const sentence =
  'Please look at the report of Tuesday, sum up what it says about the river, and write a reply. ';
const content = sentence.repeat(Math.ceil(length / sentence.length)).slice(0, length);
const body = chatBody(false, { messages: [{ role: 'user', content }] });
const categories = ['EMAIL_ADDRESS', 'PHONE_NUMBER', 'NAME'];
const guarded = clientRequest(
  path,
  headersOf(gateway.key, { provider: '@bench', input_guardrails: [{ 'gateway.pii': { categories } }] }),
  body,
);
const bare = clientRequest(path, headersOf(gateway.key, { provider: '@bench' }), chatBody(false));

const worker = gateway
  .pids()
  .find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('data-worker'))!;

/** Threads for checks are started on demand: called again once they are there. */
function pin(): void {
  if (!isPinned) return;
  const set = (thread: number | string, processor: number): unknown =>
    execFileSync('taskset', ['-cp', String(processor), String(thread)], { stdio: 'ignore' });
  for (const pid of [...gateway.pids(), ...upstream.pids(), process.pid, other.pid!])
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const isFirst = thread === String(worker) || pid === process.pid || upstream.pids().includes(pid);
      set(thread, isFirst ? 0 : 1);
    }
}

async function driveOther(request: Buffer, connections: number, seconds: number): Promise<LoadResult> {
  const load = {
    port: gateway.port,
    request: request.toString('latin1'),
    connections,
    seconds,
    chunked: false,
  };
  other.send(load);
  const [result] = (await once(other, 'message')) as [LoadResult];
  if (result.errors > 0) throw new Error(`${result.errors} of ${result.requests} guarded requests failed`);
  return result;
}

const paced = (request: Buffer, perSecond: number): Promise<LoadResult> =>
  drivePaced({ port: gateway.port, request, rate: perSecond, seconds });

await driveOther(guarded, connections, 3);
await paced(bare, rate);
pin();

const own: Record<'alone' | 'guarded' | 'unguarded', number[]> = { alone: [], guarded: [], unguarded: [] };
const guardedRates: number[] = [];
for (let round = 0; round < rounds; round++) {
  own.alone.push((await paced(bare, rate)).p99);
  const [beside, result] = await Promise.all([driveOther(guarded, connections, seconds), paced(bare, rate)]);
  own.guarded.push(result.p99);
  guardedRates.push(beside.requests / beside.seconds);
  // As many at a time as give about the same rate: a request takes far less than a millisecond.
  const both = await paced(bare, rate + Math.round(guardedRates.at(-1)!));
  own.unguarded.push(both.p99);
}
const ratios = own.guarded.map((value, i) => value / own.alone[i]!);
console.log(
  `unguarded requests, ${rate}/s${isPinned ? ', pinned' : ''}: p99 ${median(own.alone).toFixed(2)} ms alone, ` +
    `${median(own.guarded).toFixed(2)} beside ${median(guardedRates).toFixed(0)} guarded/s ` +
    `(ratio of each round: median ${median(ratios).toFixed(2)}, ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}), ` +
    `${median(own.unguarded).toFixed(2)} beside as many unguarded; ${rounds} rounds of ${seconds} s`,
);
other.kill();
await gateway.stop();
await upstream.stop();
process.exit(0);
