import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { chatBody } from './chat.js';
import { type BenchAnswer, type BenchRequest, openInProcess } from './in-process.js';

/**
 * What guardrails cost: 20 simple checks on a prompt of 4 KB, in CPU time of the data worker's own thread (its other threads
 * not counted) and in time of the request; and the delay of its event loop while the threads for checks have more than
 * they can do. `node dist/bench/guardrails.js [rounds] [requests] [pinned]`. `pinned`: for that, the data worker's own thread has the
 * first processor to itself, and all other threads have the second (Linux).
 */
const rounds = Number(process.argv[2] ?? 7);
const requests = Number(process.argv[3] ?? 4000);

const isPinned = process.argv[4] === 'pinned';

const answer: BenchAnswer = {
  contentType: 'application/json',
  pieces: [
    Buffer.from(
      JSON.stringify({
        id: 'chatcmpl-bench',
        object: 'chat.completion',
        created: 1_700_000_000,
        model: 'gpt-4o-mini',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 900, completion_tokens: 2, total_tokens: 902 },
      }),
    ),
  ],
};

const sentence =
  'Please look at the report of Tuesday, sum up what it says about the river, and write a reply. ';
const prompt = sentence.repeat(Math.ceil(4096 / sentence.length)).slice(0, 4096);
const body = Buffer.from(chatBody(false, { messages: [{ role: 'user', content: prompt }] }));

/** Each kind of check that needs no other service and no list of detectors, as people write them. */
const simple: readonly object[] = [
  { 'default.wordCount': { maxWords: 2000 } },
  { 'default.sentenceCount': { maxSentences: 500 } },
  { 'default.characterCount': { maxCharacters: 8000 } },
  { 'default.alluppercase': { not: true } },
  { 'default.alllowercase': { not: true } },
  { 'default.endsWith': { suffix: 'thanks', not: true } },
  { 'default.regexMatch': { rule: '\\b\\d{3}-\\d{2}-\\d{4}\\b', not: true } },
  { 'default.regexMatch': { rule: '(?:secret|confidential|internal) project', not: true } },
  { 'default.regexMatch': { rule: 'TICKET-[0-9]{6}', not: true } },
  { 'default.regexMatch': { rule: '^Please', not: false } },
  { 'default.modelWhitelist': { models: ['gpt-4o-mini', 'gpt-4o'] } },
  { 'default.allowedRequestTypes': { allowedTypes: ['chatComplete'] } },
  { 'default.requestParams': { params: { blockedKeys: ['logit_bias'] } } },
  { 'default.requiredMetadataKeys': { metadataKeys: ['team'], operator: 'none' } },
];
/** 20 checks in two guardrails: a guardrail that is written out has each check once. */
const guardrails = [simple.slice(0, 7), simple.slice(7)].map((some) => ({
  id: `bench-${some.length}`,
  type: 'guardrail',
  deny: true,
  checks: [...some, ...some.slice(0, 3)].map((one) => {
    const [id, parameters] = Object.entries(one)[0]!;
    return { id, parameters, is_enabled: true };
  }),
}));

const request = (more: object): BenchRequest => ({
  ...{ path: '/v1/chat/completions', query: '', body },
  config: JSON.stringify({ provider: '@bench', ...more }),
});
const bare = request({});
const guarded = request({ input_guardrails: guardrails });
const heavy = request({
  input_guardrails: [{ 'gateway.pii': { categories: ['EMAIL_ADDRESS', 'PHONE_NUMBER', 'NAME'] } }],
});

/** CPU time of this thread so far, in microseconds. */
const ownMicros = (): number =>
  Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]) / 1000;

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

const gateway = await openInProcess(new Map([['bench', 'openai']]), () => answer);

async function ownTime(one: BenchRequest): Promise<number> {
  const from = ownMicros();
  await gateway.run(one, requests);
  return (ownMicros() - from) / requests;
}

for (const one of [bare, guarded, bare, guarded]) await gateway.run(one, requests);
const without: number[] = [];
const withChecks: number[] = [];
const added: number[] = [];
for (let round = 0; round < rounds; round++) {
  without.push(await ownTime(bare));
  withChecks.push(await ownTime(guarded));
  added.push(withChecks.at(-1)! - without.at(-1)!);
}
const count = guardrails.reduce((sum, { checks }) => sum + checks.length, 0);
console.log(
  `${count} simple checks on ${prompt.length} characters: ${median(added).toFixed(1)} µs of the data worker's own thread ` +
    `(${median(without).toFixed(1)} without, ${median(withChecks).toFixed(1)} with; medians of ${rounds} × ${requests})`,
);

async function latency(one: BenchRequest, times: number): Promise<number[]> {
  const taken: number[] = [];
  for (let i = 0; i < times; i++) {
    const from = performance.now();
    await gateway.run(one, 1);
    taken.push(performance.now() - from);
  }
  return taken.sort((a, b) => a - b);
}
const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
const [plain, checked] = [await latency(bare, 1000), await latency(guarded, 1000)];
console.log(
  `one request at a time: p50 ${at(plain, 0.5).toFixed(2)} → ${at(checked, 0.5).toFixed(2)} ms, ` +
    `p99 ${at(plain, 0.99).toFixed(2)} → ${at(checked, 0.99).toFixed(2)} ms`,
);

/** Unguarded requests, one at a time, beside `load`. */
async function beside(load: Promise<unknown> | null): Promise<readonly number[]> {
  let isOver = load === null;
  void load?.then(() => {
    isOver = true;
  });
  const taken: number[] = [];
  while (!isOver || (load === null && taken.length < 2000)) {
    taken.push(...(await latency(bare, 20)));
    // As many a second as a worker that has time left.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return taken.sort((a, b) => a - b);
}
await gateway.run(heavy, 64);
if (isPinned) {
  for (const thread of readdirSync('/proc/self/task'))
    execFileSync('taskset', ['-cp', thread === String(process.pid) ? '0' : '1', thread], { stdio: 'ignore' });
}
const alone = await beside(null);
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const loaded = await beside(gateway.run(heavy, 1500));
delay.disable();
console.log(
  `beside 32 guarded requests at a time that wait for threads${isPinned ? ' of another processor' : ''}: event loop delay p99.9 ${(delay.percentile(99.9) / 1e6).toFixed(1)} ms, ` +
    `unguarded p99 ${at(alone, 0.99).toFixed(2)} → ${at(loaded, 0.99).toFixed(2)} ms`,
);
gateway.close();
process.exit(0);
