import type { Attempt, Exchange, Outcome } from '../../common/core/exchange.js';
import { getHeader } from '../../common/http/headers.js';
import type { Trace, TraceContext } from '../../common/http/trace.js';
import type { Settlement } from '../../common/ledger/record.js';
import { isCharged, knownUsage } from '../../common/prices/explain-cost.js';
import { atMost } from '../../common/prices/price.js';
import { longestModel } from '../../common/vocabulary/model-name.js';
import { keepBodies } from './answer/logged-bodies.js';
import type { Parts } from './parts.js';

/** Writes the end of an exchange into the journal, and separately its bodies, if they are kept. */
export function settle(parts: Parts, x: Exchange, outcome: Outcome): void {
  if (x.principal === undefined) {
    // No caller was identified and nothing was spent: a line in the process log, no row in a tenant's ledger.
    parts.log.info(
      {
        request_id: x.id,
        status: outcome.status,
        code: outcome.error?.code,
        method: x.request.method,
        path: x.request.path,
      },
      'refused',
    );
    return;
  }
  parts.journal.settle(settlement(parts, x, outcome));
  if (parts.logBodies && wantsBodies(parts, x)) keepBodies(parts, x);
}

function settlement(parts: Parts, x: Exchange, outcome: Outcome): Settlement {
  const last = x.attempts.at(-1);
  const provider = x.provider ?? last?.provider ?? null;
  const model = x.modelUsed ?? last?.model ?? null;
  return {
    id: x.id,
    at: x.startedAt,
    org: x.principal.organisationId,
    workspace: x.principal.workspaceId,
    key: x.principal.keyId,
    user: x.metadata['_user'] ?? null,
    config: x.config?.slug ?? null,
    configVersion: x.config?.version ?? 'none',
    prompt: null,
    endpoint: x.endpoint.name,
    method: x.request.method,
    path: x.request.path,
    provider,
    slug: (x.answeredBy ?? last)?.slug ?? null,
    integration: (x.answeredBy ?? last)?.integration ?? null,
    modelAsked: x.modelAsked?.slice(0, longestModel) ?? null,
    modelUsed: model,
    status: outcome.status,
    error: outcome.error?.code ?? null,
    errorMessage: outcome.error?.message ?? null,
    stream: x.streaming,
    totalMs: round(outcome.totalMs),
    upstreamMs: round(upstreamMs(x.attempts)),
    firstByteMs: x.firstByteMs === null ? null : round(x.firstByteMs),
    attempts: x.attempts,
    retries: x.retries,
    target: x.target?.path ?? null,
    usage: x.usage,
    cost: x.saved === null ? costOf(parts, x.attempts, x.startedAt) : 0,
    cache: x.cache,
    metadata: x.metadata,
    trace: x.trace?.traceId ?? x.id,
    span: x.trace?.spanId ?? null,
    parentSpan: x.trace?.parentSpanId ?? null,
    spanName: x.trace?.spanName ?? null,
    traceContext: x.trace?.context === undefined ? null : recordedContext(x.trace, x.trace.context),
    dropped: x.allDropped,
    costSaved: x.saved?.cost ?? null,
    msSaved: x.saved === null ? null : round(x.saved.ms),
    route: x.route,
    stages: x.fields,
    charges: x.charges,
    steps: x.bodyUs === 0 ? null : [x.bodyUs, x.cacheStartUs, x.cacheUs, (x.answeredBy ?? last)?.readUs ?? 0],
  };
}

/** null: the trace id has it all, as of most calls. */
const recordedContext = ({ traceId: trace }: Trace, { traceId, isSampled }: TraceContext): string | null =>
  isSampled && traceId === trace ? null : `${traceId}-${isSampled ? '01' : '00'}`;

/**
 * Prices each attempt, in its record, and adds them up: each attempt costs, whichever one answered. `at`: Unix milliseconds
 * of the request, whose day's prices hold.
 */
export function costOf(
  { pricing }: Pick<Parts, 'pricing'>,
  attempts: readonly Attempt[],
  at: number,
): number | null {
  let sum: number | null = null;
  for (const attempt of attempts) {
    const { provider, prices } = attempt;
    const model = attempt.modelUsed ?? attempt.model;
    if (model === null || !isCharged(attempt)) continue;
    const usage = knownUsage(attempt);
    // The cost of a request with budgets was computed before, with the same usage.
    attempt.cost ??=
      prices === null
        ? pricing.cost(provider, model, usage, at)
        : prices.cost(pricing, attempt.modelUsed, attempt.model, usage, at);
    if (attempt.cost !== null) sum = atMost((sum ?? 0) + attempt.cost);
  }
  return sum;
}

/** Milliseconds in which at least one upstream was waited for. Attempts are in the order of their start. */
function upstreamMs(attempts: readonly Attempt[]): number {
  let sum = 0;
  let until = 0;
  for (const { startedAt, endedAt } of attempts) {
    if (endedAt === null || endedAt <= until) continue;
    sum += endedAt - Math.max(startedAt, until);
    until = endedAt;
  }
  return sum;
}

/** `x-gateway-debug: false` keeps this call's bodies out of the logs, `debug_log: 0` those of a whole workspace. */
function wantsBodies(parts: Parts, x: Exchange): boolean {
  if (x.principal.keepBodies === false) return false;
  for (const name of parts.debugHeaders) {
    if (getHeader(x.request.headers, name)?.toLowerCase() === 'false') return false;
  }
  return true;
}

const round = (ms: number): number => Math.round(ms * 1000) / 1000;
