import type { CacheStatus } from '../core/cache.js';
import type { Decision } from '../core/decision.js';
import type { AttemptRecord } from '../core/exchange.js';
import type { Usage, UsageSource } from '../core/usage.js';
import { picosPerMicro } from '../vocabulary/money.js';
import type { Intent, LedgerRow, RowState } from './record.js';

/**
 * Records as versions 1 and 2 wrote them, in journals and in the database: one JSON array each, costs in micro-dollars.
 * Only read. Nothing is ever added here.
 */

type IntentPositions = [
  id: string,
  at: number,
  org: string,
  workspace: string,
  key: string,
  provider: string,
  model: string | null,
  reserved: number | null,
  trace: string,
  config: string | null,
  endpoint: string,
  method: string,
  path: string,
];

type UsagePositions = [
  input: number,
  output: number,
  cached: number,
  cacheWrite: number,
  reasoning: number,
  source: UsageSource,
];

type AttemptPositions = [
  target: string,
  provider: string,
  model: string | null,
  startedAt: number,
  status: number,
  error: AttemptRecord['error'],
  durationMs: number,
  cost?: number | null,
  ...usage: UsagePositions | [],
];

type SettlementPositions = [
  id: string,
  at: number,
  org: string,
  workspace: string | null,
  key: string | null,
  provider: string | null,
  modelUsed: string | null,
  status: number,
  trace: string,
  cost: number | null,
  ...usage: UsagePositions,
  config: string | null,
  configVersion: string | null,
  endpoint: string,
  method: string,
  path: string,
  modelAsked: string | null,
  error: string | null,
  errorMessage: string | null,
  stream: 0 | 1,
  totalMs: number,
  upstreamMs: number,
  firstByteMs: number | null,
  attempts: AttemptPositions[],
  retries: number,
  target: string | null,
  cache: CacheStatus,
  metadata: Record<string, string>,
  span: string | null,
  parentSpan: string | null,
  spanName: string | null,
  dropped: string[],
  costSaved?: number | null,
  msSaved?: number | null,
  route?: Decision[] | null,
  slug?: string | null,
];

const picos = (micros: number | null | undefined): number | null =>
  micros === null || micros === undefined ? null : micros * picosPerMicro;

const usageOf = ([input, output, cached, cacheWrite, reasoning, source]: UsagePositions): Usage => ({
  input,
  output,
  cached,
  cacheWrite,
  reasoning,
  source,
});

/** `whole`: what the request has, where this was its only attempt. */
function attemptOf(
  [target, provider, model, startedAt, status, error, durationMs, cost, ...usage]: AttemptPositions,
  whole: Pick<AttemptRecord, 'slug' | 'cost' | 'usage'> | null,
): AttemptRecord {
  const own = { cost: picos(cost), usage: usage.length === 0 ? null : usageOf(usage) };
  const stored = { slug: null, integration: null };
  return { target, ...stored, provider, model, startedAt, status, error, durationMs, ...(whole ?? own) };
}

/** Figures of `least_cost` are money. */
function decisionOf(decision: Decision): Decision {
  if (decision.kind !== 'pick' || decision.by !== 'cost') return decision;
  const { score, nextScore } = decision;
  return {
    ...decision,
    ...(score !== undefined && { score: picos(score) }),
    ...(nextScore !== undefined && { nextScore: picos(nextScore) }),
  };
}

function settlement(given: SettlementPositions, state: RowState): LedgerRow {
  const [id, at, org, workspace, key, provider, modelUsed, status, trace, micros, ...more] = given;
  const [input, output, cached, cacheWrite, reasoning, source, ...others] = more;
  const [config, configVersion, endpoint, method, path, modelAsked, error, errorMessage, ...figures] = others;
  const [stream, totalMs, upstreamMs, firstByteMs, attempts, retries, target, cache, ...last] = figures;
  const [metadata, span, parentSpan, spanName, dropped, costSaved, msSaved, route, slug] = last;
  const cost = picos(micros);
  const usage = usageOf([input, output, cached, cacheWrite, reasoning, source]);
  const whole =
    attempts.length > 1 ? null : { slug: slug ?? null, cost, usage: source === 'none' ? null : usage };
  return {
    state,
    node: null,
    id,
    at,
    org,
    workspace,
    key,
    user: metadata['_user'] ?? null,
    config,
    configVersion,
    prompt: null,
    endpoint,
    method,
    path,
    provider,
    slug: slug ?? null,
    integration: null,
    modelAsked,
    modelUsed,
    status,
    error,
    errorMessage,
    stream: stream === 1,
    totalMs,
    upstreamMs,
    firstByteMs,
    attempts: attempts.map((attempt) => attemptOf(attempt, whole)),
    retries,
    target,
    usage,
    cost,
    cache,
    metadata,
    trace,
    span,
    parentSpan,
    spanName,
    traceContext: null,
    dropped,
    costSaved: picos(costSaved),
    msSaved: msSaved ?? null,
    route: route?.map(decisionOf) ?? null,
    stages: null,
    charges: null,
    steps: null,
  };
}

function intent(given: IntentPositions): Intent {
  const [id, at, org, workspace, key, provider, model, reserved, trace, config, endpoint, method, path] =
    given;
  return {
    id,
    at,
    org,
    workspace: workspace === '' ? null : workspace,
    key,
    user: null,
    config,
    endpoint,
    method,
    path,
    provider,
    slug: null,
    integration: null,
    model,
    trace,
    reserved: picos(reserved),
    charges: null,
  };
}

export const positions = { settlement, intent };
