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
 * (in the worker threads), and the same requests without guardrails, as many a second.
 * `node dist/bench/guardrails-beside.js [rounds] [seconds] [rate] [pii|slow] [free|pinned]`.
 * `pii`: a search for personal data in 32 KB, a millisecond of a thread; the data worker has as much to do with bodies of this
 * length. `slow`: an expression that takes ten milliseconds, so that the threads are busy and the data worker is not.
 * `pinned` (Linux, two processors): the data worker's own thread, the provider and the unguarded load have the first, all else
 * has the second.
 */
const rounds = Number(process.argv[2] ?? 10);
const seconds = Number(process.argv[3] ?? 3);
/** Unguarded requests a second. */
const rate = Number(process.argv[4] ?? 300);
const check = process.argv[5] === 'slow' ? 'slow' : 'pii';
const isPinned = process.argv[6] === 'pinned';
/** Guarded requests at a time. */
const connections = 32;

const upstream = await startUpstream();
const gateway = await startHeadgate({
  providers: storedProviders({ port: upstream.port, tlsPort: null }),
});
const other = endsWithThis(fork(here('./beside-load.js')));

const path = '/v1/chat/completions';
const sentence =
  'Please look at the report of Tuesday, sum up what it says about the river, and write a reply. ';
const checks = {
  pii: {
    content: sentence.repeat(Math.ceil((32 * 1024) / sentence.length)).slice(0, 32 * 1024),
    guardrail: { 'gateway.pii': { categories: ['EMAIL_ADDRESS', 'PHONE_NUMBER', 'NAME'] } },
  },
  // Look-around: such an expression has no engine that is linear in the text.
  slow: {
    content: 'a'.repeat(3000),
    guardrail: { 'default.regexMatch': { rule: 'a+b(?!c)', not: true } },
  },
};
const { content, guardrail } = checks[check];
const body = chatBody(false, { messages: [{ role: 'user', content }] });
const guarded = clientRequest(
  path,
  headersOf(gateway.key, { provider: '@bench', input_guardrails: [guardrail] }),
  body,
);
const long = clientRequest(path, headersOf(gateway.key, { provider: '@bench' }), body);
const bare = clientRequest(path, headersOf(gateway.key, { provider: '@bench' }), chatBody(false));

const worker = gateway
  .pids()
  .find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('data-worker'))!;

/** Threads for checks are started on demand: called again once they are there. */
function pin(): void {
  if (!isPinned) return;
  for (const pid of [...gateway.pids(), ...upstream.pids(), process.pid, other.pid!])
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const isFirst = thread === String(worker) || pid === process.pid || upstream.pids().includes(pid);
      execFileSync('taskset', ['-cp', isFirst ? '0' : '1', thread], { stdio: 'ignore' });
    }
}

/** In a process of its own: a closed loop over so many connections, or so many a second. */
async function driveOther(
  request: Buffer,
  load: { readonly connections: number } | { readonly rate: number },
): Promise<LoadResult> {
  other.send({ ...load, port: gateway.port, request: request.toString('latin1'), seconds, chunked: false });
  const [result] = (await once(other, 'message')) as [LoadResult];
  if (result.errors > 0) throw new Error(`${result.errors} of ${result.requests} other requests failed`);
  return result;
}

const paced = (): Promise<LoadResult> => drivePaced({ port: gateway.port, request: bare, rate, seconds });

await driveOther(guarded, { connections });
await paced();
pin();
await Promise.all([driveOther(guarded, { connections }), paced()]);

type Beside = 'alone' | 'guarded' | 'unguarded';
const own: Record<Beside, LoadResult[]> = { alone: [], guarded: [], unguarded: [] };
const guardedRates: number[] = [];
for (let round = 0; round < rounds; round++) {
  own.alone.push(await paced());
  const [beside, result] = await Promise.all([driveOther(guarded, { connections }), paced()]);
  own.guarded.push(result);
  guardedRates.push(Math.round(beside.requests / beside.seconds));
  const [, same] = await Promise.all([driveOther(long, { rate: guardedRates.at(-1)! }), paced()]);
  own.unguarded.push(same);
}
const of = (which: Beside, figure: 'p50' | 'p95' | 'p99'): string =>
  `${figure} ${median(own[which].map((result) => result[figure])).toFixed(2)} ms`;
const ratios = own.guarded.map(({ p99 }, i) => p99 / own.alone[i]!.p99).sort((a, b) => a - b);
console.log(
  `unguarded requests, ${rate}/s, ${check}, ${isPinned ? 'pinned, ' : ''}${rounds} rounds of ${seconds} s:\n` +
    `  alone: ${of('alone', 'p50')}, ${of('alone', 'p95')}, ${of('alone', 'p99')}\n` +
    `  beside ${median(guardedRates)} guarded/s of ${content.length} characters: ${of('guarded', 'p50')}, ${of('guarded', 'p95')}, ${of('guarded', 'p99')} ` +
    `(ratio of p99 in a round: median ${median(ratios).toFixed(2)}, ${ratios[0]!.toFixed(2)} to ${ratios.at(-1)!.toFixed(2)})\n` +
    `  beside as many of these without guardrails: ${of('unguarded', 'p50')}, ${of('unguarded', 'p95')}, ${of('unguarded', 'p99')}`,
);
other.kill();
await gateway.stop();
await upstream.stop();
process.exit(0);
