import type { CustomLog } from '../../../../../proto/messages.js';
import type { Usage } from '../../../../common/core/usage.js';
import { loggedHeaders, sensitiveNames } from '../../../../common/http/logged-headers.js';
import type { Bodies, LedgerRow } from '../../../../common/ledger/record.js';
import { blankRow } from '../../../../common/ledger/rows.js';
import { costOfCall } from '../../../../common/prices/price.js';
import type { PriceBook } from '../../../../common/prices/pricing.js';
import { uuidv7 } from '../../../../common/text/id.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { bodyModel, bodyUsage, providerOf } from './logged-body.js';

export interface CustomLogContext {
  readonly caller: Caller;
  readonly workspace: string;
  readonly pricing: Pick<PriceBook, 'quoteOf'>;
  /** For refusals: `logs[3]`. */
  readonly path: string;
}

const spanNames = ['trace_id', 'span_id', 'span_name', 'parent_span_id'] as const;
/** Characters of a body that are kept, and of an id or a name of a span. */
const longestBody = 1_000_000;
const longestName = 1024;
/** Characters of all metadata of a log, as JSON: pages of logs and analytics have many of them in memory. */
const longestMetadata = 16_384;

/** Throws AB01 for more metadata than a log may have. */
export function boundedMetadata(metadata: object, path: string): void {
  if (JSON.stringify(metadata).length > longestMetadata)
    throw AdminError.field(path, `must have at most ${longestMetadata} characters of JSON.`);
}

function textsOf(metadata: object | null | undefined, path: string): Record<string, string> {
  const entries = Object.entries(metadata ?? {});
  const wrong = entries.find(([, value]) => typeof value !== 'string' || value.length > longestName);
  if (wrong !== undefined)
    throw AdminError.field(
      `${path}.metadata.${wrong[0].slice(0, 80)}`,
      `must be text of at most ${longestName} characters.`,
    );
  boundedMetadata(metadata ?? {}, `${path}.metadata`);
  return Object.fromEntries(entries);
}

/** A request that went another way, as a row and its bodies. */
export function customLog(
  { request, response, metadata }: CustomLog,
  { caller, workspace, pricing, path }: CustomLogContext,
): { readonly row: LedgerRow; readonly bodies: Bodies } {
  if (!request || !response) throw AdminError.field(path, 'needs a request and a response.');
  const texts = textsOf(metadata, path);
  const own = Object.fromEntries(
    Object.entries(texts).filter(([name]) => !(spanNames as readonly string[]).includes(name)),
  );
  const id = uuidv7();
  const at = Date.now();
  const { key } = caller;
  const headers = request.headers ?? {};
  const asked = bodyModel(request.body);
  const answered = bodyModel(response.body);
  const usage = bodyUsage(response.body);
  const provider = providerOf(request.url, headers);
  const model = answered ?? asked;
  const status = response.status ?? 200;
  const ms = response.response_time ?? 0;
  const bodies: Bodies = {
    id,
    at,
    org: caller.organisationId,
    workspace,
    request: textOf(request.body),
    response: textOf(response.body),
    cut: false,
    headers: { request: headersOf(headers), response: headersOf(response.headers ?? {}) },
  };
  const row: LedgerRow = {
    ...blankRow,
    id,
    at,
    org: caller.organisationId,
    workspace,
    key: key.keyId,
    user: own['_user'] ?? null,
    endpoint: 'custom',
    method: request.method || 'POST',
    path: request.url,
    provider,
    modelAsked: asked,
    modelUsed: answered,
    status,
    totalMs: ms,
    upstreamMs: ms,
    attempts: [attemptOf({ provider, model, status, ms, usage })],
    usage,
    cost: costOfUsage(pricing, provider, model, usage, at),
    metadata: own,
    trace: texts['trace_id'] ?? id,
    span: texts['span_id'] ?? null,
    parentSpan: texts['parent_span_id'] ?? null,
    spanName: texts['span_name'] ?? null,
  };
  return { row, bodies: cutBodies(bodies) };
}

const headersOf = (headers: Readonly<Record<string, string>>): Record<string, string> => {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const sensitive = entries.filter(([name]) => name.endsWith('-sensitive-headers'));
  return loggedHeaders(entries.flat(), sensitiveNames(sensitive.map(([, value]) => value)));
};

const textOf = (body: unknown): string | null =>
  body === undefined || body === null ? null : typeof body === 'string' ? body : JSON.stringify(body);

/** As many characters as are kept. */
export function cutBodies(bodies: Bodies): Bodies {
  const { request, response } = bodies;
  const cut = (request?.length ?? 0) > longestBody || (response?.length ?? 0) > longestBody;
  return cut
    ? {
        ...bodies,
        cut,
        request: request?.slice(0, longestBody) ?? null,
        response: response?.slice(0, longestBody) ?? null,
      }
    : bodies;
}

/** Picodollars; null: no price is known. */
export function costOfUsage(
  pricing: Pick<PriceBook, 'quoteOf'>,
  provider: string | null,
  model: string | null,
  usage: Usage,
  at: number,
): number | null {
  if (provider === null || model === null || usage.source === 'none') return null;
  const quote = pricing.quoteOf(provider, model, at);
  return quote === null ? null : costOfCall(usage, quote.price);
}

/** The one call that a request without the gateway made. */
interface Answered {
  readonly provider: string | null;
  readonly model: string | null;
  readonly status: number;
  readonly ms: number;
  readonly usage: Usage;
}

export const attemptOf = ({
  provider,
  model,
  status,
  ms,
  usage,
}: Answered): LedgerRow['attempts'][number] => ({
  target: 'config',
  slug: null,
  integration: null,
  provider: provider ?? 'custom',
  model,
  startedAt: 0,
  status,
  error: null,
  durationMs: ms,
  usage: usage.source === 'none' ? null : usage,
  cost: null,
});
