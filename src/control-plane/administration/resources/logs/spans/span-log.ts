import { createHash } from 'node:crypto';
import { noUsage, type Usage } from '../../../../../common/core/usage.js';
import type { Bodies, LedgerRow } from '../../../../../common/ledger/record.js';
import { blankRow } from '../../../../../common/ledger/rows.js';
import type { PriceBook } from '../../../../../common/prices/pricing.js';
import { isSpanId, isTraceId } from '../../../../../common/text/span-ids.js';
import { attemptOf, costOfUsage, cutBodies } from '../custom-logs.js';
import type { OtlpSpan } from './otlp-request.js';
import { isEnclosing, operationOf, providerOf, SpanAttributes } from './span-attributes.js';
import { requestBody, responseBody } from './span-messages.js';
import { spanMetadata } from './span-metadata.js';

export interface SpanLogContext {
  readonly org: string;
  readonly workspace: string;
  /** Id of the caller's key. */
  readonly key: string;
  readonly pricing: Pick<PriceBook, 'quoteOf'>;
}

export interface SpanLog {
  readonly row: LedgerRow;
  /** null: the span has no contents. */
  readonly bodies: Bodies | null;
}

const endpoints: Readonly<Record<string, string>> = {
  chat: 'chat',
  text_completion: 'completions',
  embeddings: 'embeddings',
  generate_content: 'gemini-generate',
};
const longestName = 1024;
const longestModel = 256;
const longestCode = 128;
const dayMs = 86_400_000;
const highestCount = 1_000_000_000;

/** Why a span can become no log; null: it can. */
export function spanFault(span: OtlpSpan, now: number): string | null {
  if (!isTraceId(span.traceId)) return 'traceId must be 32 hexadecimal digits, not all 0';
  if (!isSpanId(span.spanId)) return 'spanId must be 16 hexadecimal digits, not all 0';
  if (span.parentSpanId !== null && !isSpanId(span.parentSpanId))
    return 'parentSpanId must be 16 hexadecimal digits';
  if (!(span.startMs > 0 && span.startMs <= now + dayMs))
    return 'startTimeUnixNano must be from 1970 on, and not in the future';
  return null;
}

/** A call of a model that went another way than through the gateway, as a row and its bodies. */
export function spanLog(span: OtlpSpan, { org, workspace, key, pricing }: SpanLogContext): SpanLog {
  const of = new SpanAttributes(span.attributes);
  const operation = operationOf(of);
  const provider = providerOf(of);
  const asked = of.text('gen_ai.request.model', 'llm.request.model', 'llm.model_name');
  const answered = of.text('gen_ai.response.model', 'llm.response.model');
  const model = (answered ?? asked)?.slice(0, longestModel) ?? null;
  const at = Math.floor(span.startMs);
  const id = idOf(span, `${org}/${workspace}`);
  const ms = Number.isNaN(span.endMs) ? 0 : Math.min(Math.max(0, span.endMs - span.startMs), dayMs);
  const usage = isEnclosing(operation) ? noUsage() : usageOf(of);
  const status = statusOf(span, of);
  const metadata = spanMetadata(span);
  const firstByte = of.number(
    'gen_ai.response.time_to_first_chunk',
    'gen_ai.server.time_to_first_token',
    'gen_ai.response.time_to_first_token',
  );
  const row: LedgerRow = {
    ...blankRow,
    id,
    at,
    org,
    workspace,
    key,
    user: metadata['_user'] ?? null,
    endpoint: endpoints[operation ?? ''] ?? 'custom',
    method: of.text('http.request.method', 'http.method')?.slice(0, 16) ?? 'POST',
    path: addressOf(of),
    provider,
    modelAsked: asked?.slice(0, longestModel) ?? null,
    modelUsed: model,
    status,
    error: span.failed ? (of.text('error.type', 'exception.type') ?? 'error').slice(0, longestCode) : null,
    errorMessage: span.failed ? (span.statusMessage?.slice(0, longestName) ?? null) : null,
    stream: of.flag('gen_ai.request.stream', 'gen_ai.is_streaming', 'llm.is_streaming'),
    totalMs: ms,
    upstreamMs: ms,
    firstByteMs: firstByte === null || firstByte < 0 ? null : Math.min(firstByte * 1000, dayMs),
    attempts: isEnclosing(operation) ? [] : [attemptOf({ provider, model, status, ms, usage })],
    usage,
    cost:
      costOfUsage(pricing, provider, model, usage, at) ?? costOfUsage(pricing, provider, asked, usage, at),
    metadata,
    trace: span.traceId,
    span: span.spanId,
    parentSpan: span.parentSpanId,
    spanName: span.name.slice(0, longestName) || null,
  };
  const request = requestBody(span, asked);
  const response = responseBody(span, answered);
  if (request === null && response === null) return { row, bodies: null };
  return { row, bodies: cutBodies({ id, at, org, workspace, request, response, cut: false }) };
}

/** The same for the same span, so that one that is sent again is not counted twice. A UUID whose time is the span's. */
function idOf({ traceId, spanId, startMs }: OtlpSpan, tenant: string): string {
  const digest = createHash('sha256').update(`${tenant}/${traceId}/${spanId}`).digest('hex');
  const time = Math.floor(startMs).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${digest.slice(0, 3)}-8${digest.slice(3, 6)}-${digest.slice(6, 18)}`;
}

function statusOf({ failed }: OtlpSpan, of: SpanAttributes): number {
  const status = of.number('http.response.status_code', 'http.status_code');
  if (status !== null && status >= 100 && status <= 599) return Math.round(status);
  return failed ? 500 : 200;
}

function addressOf(of: SpanAttributes): string {
  const url = of.text('url.full', 'http.url', 'gen_ai.openai.api_base');
  const host = of.text('server.address');
  return (url ?? (host === null ? '' : `https://${host}`)).split(/[?#]/)[0]!.slice(0, longestName);
}

function usageOf(of: SpanAttributes): Usage {
  const count = (...names: readonly string[]): number =>
    Math.min(Math.max(0, Math.round(of.number(...names) ?? 0)), highestCount);
  const input = count(
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.prompt_tokens',
    'llm.token_count.prompt',
    'llm.usage.prompt_tokens',
  );
  const output = count(
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.completion_tokens',
    'llm.token_count.completion',
    'llm.usage.completion_tokens',
  );
  if (input + output === 0) return noUsage();
  const cached = count(
    'gen_ai.usage.cache_read.input_tokens',
    'gen_ai.usage.cache_read_input_tokens',
    'llm.token_count.prompt_details.cache_read',
  );
  const cacheWrite = count(
    'gen_ai.usage.cache_creation.input_tokens',
    'gen_ai.usage.cache_creation_input_tokens',
    'llm.token_count.prompt_details.cache_write',
  );
  const reasoning = count(
    'gen_ai.usage.reasoning.output_tokens',
    'gen_ai.usage.reasoning_tokens',
    'llm.token_count.completion_details.reasoning',
  );
  return {
    ...{ input, output, source: 'provider' },
    cached: Math.min(cached, input),
    cacheWrite: Math.min(cacheWrite, Math.max(0, input - cached)),
    reasoning: Math.min(reasoning, output),
  };
}
