import { BodyRecord } from '../../common/bytes/body-record.js';
import type { EndpointName } from '../../common/core/endpoint.js';
import type { Attempt, Exchange, Outcome } from '../../common/core/exchange.js';
import type { Usage } from '../../common/core/usage.js';
import { chainOf, leaveChain, runLog } from './chain.js';
import type { Pipeline } from './parts.js';

/** Milliseconds that the end of an exchange waits for guardrails beside it. */
const judgedWithinMs = 2000;

/**
 * The end of every exchange: guardrails beside it have their results, tokens that no provider reported are counted (off
 * this thread), then the `log` phase, once.
 */
export function finish(pipeline: Pipeline, x: Exchange, outcome: Outcome): void {
  const pending = x.judge?.pending ?? null;
  if (pending === null) return settleUsage(pipeline, x, outcome);
  over(x);
  void within(judgedWithinMs, pending).then(() => settleUsage(pipeline, x, outcome));
}

/** The `log` phase comes later: what waits for the end of the answer must not wait for that. */
function over(x: Exchange): void {
  x.onOver?.();
  x.onOver = null;
}

async function within(ms: number, pending: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([pending, late]);
  clearTimeout(timer);
}

function settleUsage(pipeline: Pipeline, x: Exchange, outcome: Outcome): void {
  if (!counted.has(x.endpoint.name) || !x.attempts.some(isUnreported)) return log(pipeline, x, outcome);
  over(x);
  void countFirst(pipeline, x, outcome);
}

async function countFirst(pipeline: Pipeline, x: Exchange, outcome: Outcome): Promise<void> {
  await Promise.all(x.attempts.filter(isUnreported).map((attempt) => count(pipeline, x, attempt)));
  log(pipeline, x, outcome);
}

function log(pipeline: Pipeline, x: Exchange, outcome: Outcome): void {
  const answered = x.answeredBy ?? x.attempts.at(-1);
  if (answered !== undefined) {
    x.firstByteMs = answered.firstByteMs;
    x.modelUsed = answered.modelUsed;
    if (answered.usage !== null) x.usage = answered.usage;
  }
  const hooks = chainOf(pipeline, x).log;
  if (hooks !== null) runLog(hooks, x, outcome, pipeline.log);
  leaveChain(x);
}

const counted: ReadonlySet<EndpointName> = new Set([
  'chat',
  'completions',
  'embeddings',
  'responses',
  'messages',
  'gemini-generate',
  'gemini-embed',
]);

/** It answered, or was cancelled before it could, and no provider reported the usage. */
function isUnreported({ usage, received, status }: Attempt): boolean {
  return usage === null && received !== null && status < 300;
}

async function count(pipeline: Pipeline, x: Exchange, attempt: Attempt): Promise<void> {
  const { received, unseen } = attempt;
  const events = received instanceof BodyRecord;
  try {
    const usage = await pipeline.counter.count({
      format: x.endpoint.format,
      model: attempt.modelUsed ?? attempt.model ?? x.modelAsked,
      request: x.request.bytes,
      answer: events ? received.bytes() : (received ?? Buffer.alloc(0)),
      events,
    });
    attempt.usage =
      unseen === undefined || usage === null
        ? countedOnward(attempt.usageSoFar ?? null, usage)
        : { ...usage, output: unseen, source: 'counted' };
  } catch (error) {
    pipeline.log.warn({ err: error, request_id: x.id }, 'token counting failed');
  }
}

/**
 * Of a stream that broke off: the prompt as the provider has reported it, which may have been read from its cache, and of the
 * answer what was counted, if that is more than had been reported.
 */
function countedOnward(soFar: Usage | null, counted: Usage | null): Usage | null {
  if (soFar === null) return counted;
  const output = Math.max(soFar.output, counted?.output ?? 0);
  const { input, cached, cacheWrite } = soFar.input === 0 && counted !== null ? counted : soFar;
  return { ...soFar, input, cached, cacheWrite, output, source: 'counted' };
}
