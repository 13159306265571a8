import { type Attributes, type HrTime, type SpanContext, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { AttemptRecord } from '../../../common/core/exchange.js';
import type { LedgerRow } from '../../../common/ledger/record.js';
import {
  attemptSpanId,
  isSpanId,
  isTraceId,
  requestSpanId,
  stepSpanId,
  traceIdOf,
} from '../../../common/text/span-ids.js';
import { genAiOperation, genAiProvider } from '../../../common/vocabulary/genai-names.js';
import { stepsOf } from './step-spans.js';

const picodollarsPerDollar = 1e12;

/**
 * The spans of a request: one for the request itself, and below it one for each call to a provider, each guardrail and the cache
 * lookup. Their ids are derived from the request's, so that a row that is sent again has the same ones. No contents.
 */
export function spansOf(row: LedgerRow, resource: Resource): ReadableSpan[] {
  const { traceContext } = row;
  // Its client, or what called that, decided that the trace is not recorded.
  if (traceContext?.endsWith('-00') === true) return [];
  const traceId = traceContext === null ? traceIdOf(row.trace) : traceContext.slice(0, 32);
  const own = context(traceId, isSpanId(row.span) ? row.span : requestSpanId(row.id));
  const parent = isSpanId(row.parentSpan) ? context(traceId, row.parentSpan) : undefined;
  const server = span(resource, {
    ...{ name: row.spanName ?? `${row.method} ${row.path}`, kind: SpanKind.SERVER, own, parent },
    ...{
      at: row.at,
      ms: row.totalMs,
      error: row.status >= 500 || row.state === 'unknown' ? errorOf(row) : null,
    },
    attributes: requestAttributes(row),
  });
  const calls = row.attempts.map((attempt, i) =>
    span(resource, {
      ...{ name: callName(row, attempt), kind: SpanKind.CLIENT, parent: own },
      ...{ own: context(traceId, attemptSpanId(row.id, i)), at: row.at + attempt.startedAt },
      ...{ ms: callMs(row, attempt, i), error: attempt.error, attributes: callAttributes(row, attempt) },
    }),
  );
  const steps = stepsOf(row).map(({ name, ms, atMs, error, attributes }, i) =>
    span(resource, {
      ...{ name, kind: SpanKind.INTERNAL, parent: own, own: context(traceId, stepSpanId(row.id, i)) },
      ...{ at: row.at + atMs, ms, error, attributes },
    }),
  );
  return [server, ...steps, ...calls];
}

const errorOf = (row: LedgerRow): string =>
  row.error ?? (row.state === 'unknown' ? 'unknown' : String(row.status));

/** An attempt's own time ends with the head of its answer; of the one that answered the last, with the answer. */
const callMs = (row: LedgerRow, attempt: AttemptRecord, i: number): number =>
  i === row.attempts.length - 1 && attempt.error === null
    ? Math.max(attempt.durationMs, row.totalMs - attempt.startedAt)
    : attempt.durationMs;

const callName = ({ endpoint }: LedgerRow, { model, provider }: AttemptRecord): string =>
  `${genAiOperation(endpoint) ?? endpoint} ${model ?? provider}`;

function requestAttributes(row: LedgerRow): Attributes {
  return present({
    'http.request.method': row.method,
    'url.path': row.path,
    'http.route': row.endpoint,
    'http.response.status_code': row.status || null,
    'error.type': row.error,
    'gateway.request_id': row.id,
    'gateway.trace_id': row.traceContext === null && isTraceId(row.trace) ? null : row.trace,
    'gateway.workspace_id': row.workspace,
    'gateway.config': row.config,
    'gateway.cache_status': row.cache,
    'gateway.cost_usd': row.cost === null ? null : row.cost / picodollarsPerDollar,
  });
}

function callAttributes(row: LedgerRow, attempt: AttemptRecord): Attributes {
  const answered = attempt.error === null;
  const { usage } = attempt;
  return present({
    'gen_ai.operation.name': genAiOperation(row.endpoint) ?? row.endpoint,
    'gen_ai.provider.name': genAiProvider(attempt.provider),
    'gen_ai.request.model': attempt.model,
    'gen_ai.request.stream': row.stream || null,
    'gen_ai.response.model': answered ? row.modelUsed : null,
    'gen_ai.response.time_to_first_chunk':
      answered && row.stream && row.firstByteMs !== null
        ? (row.firstByteMs - attempt.startedAt) / 1000
        : null,
    'gen_ai.usage.input_tokens': usage?.input ?? null,
    'gen_ai.usage.output_tokens': usage?.output ?? null,
    'gen_ai.usage.cache_read.input_tokens': usage?.cached || null,
    'gen_ai.usage.cache_creation.input_tokens': usage?.cacheWrite || null,
    'gen_ai.usage.reasoning.output_tokens': usage?.reasoning || null,
    'error.type': attempt.error,
    'http.response.status_code': attempt.status || null,
    'gateway.target': attempt.target,
  });
}

const present = (values: Record<string, string | number | boolean | null>): Attributes =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)) as Attributes;

interface SpanFacts {
  readonly name: string;
  readonly kind: SpanKind;
  readonly own: SpanContext;
  readonly parent: SpanContext | undefined;
  /** Unix milliseconds. */
  readonly at: number;
  readonly ms: number;
  readonly error: string | null;
  readonly attributes: Attributes;
}

function span(
  resource: Resource,
  { name, kind, own, parent, at, ms, error, attributes }: SpanFacts,
): ReadableSpan {
  return {
    ...{ name, kind, attributes, resource, links: [], events: [], ended: true },
    spanContext: () => own,
    ...(parent === undefined ? {} : { parentSpanContext: parent }),
    ...{ startTime: hrTime(at), endTime: hrTime(at + ms), duration: hrTime(ms) },
    status: error === null ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error },
    instrumentationScope: { name: 'headgate' },
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  };
}

const sampled = 1;
const context = (traceId: string, spanId: string): SpanContext => ({ traceId, spanId, traceFlags: sampled });

/** Seconds and nanoseconds, exact to the microsecond. */
function hrTime(ms: number): HrTime {
  const whole = Math.floor(ms / 1000);
  return [whole, Math.round((ms - whole * 1000) * 1000) * 1000];
}
