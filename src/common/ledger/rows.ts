import type { Charge } from '../core/charges.js';
import type { Decision } from '../core/decision.js';
import type { AttemptRecord } from '../core/exchange.js';
import { noUsage, type Usage, type UsageKinds } from '../core/usage.js';
import {
  type ContextColumns,
  columnFields,
  type FileColumns,
  type LedgerField,
  type RowColumns,
} from './fields.js';
import type { Intent, LedgerRow, RowState, StepTimes } from './record.js';

/** A row's values as they are stored, by the names of the fields: durations in microseconds, booleans as 0 and 1. */
export type StoredValues = Readonly<Record<string, unknown>>;

/** What the column `rest` has. */
export interface Rest {
  readonly attempts?: readonly RestAttempt[];
  readonly error_message?: string;
  readonly span?: string;
  readonly parent_span?: string;
  readonly span_name?: string;
  readonly trace_context?: string;
  readonly dropped?: readonly string[];
  readonly route?: readonly Decision[];
  readonly stages?: Readonly<Record<string, unknown>>;
  readonly usage_kinds?: UsageKinds;
  readonly charges?: readonly Charge[];
  readonly steps?: StepTimes;
}

interface RestAttempt {
  readonly target: string;
  readonly slug?: string;
  readonly integration?: string;
  readonly provider: string;
  readonly model?: string;
  readonly started_us: number;
  readonly status: number;
  readonly error?: AttemptRecord['error'];
  readonly duration_us: number;
  readonly cost?: number;
  readonly usage?: Omit<Usage, 'cacheWrite'> & { readonly cache_write: number };
}

/** A field's value as it is stored. */
export function storedValue(field: LedgerField, row: LedgerRow): unknown {
  const value = field.of(row);
  if (value === null) return null;
  if (field.type === 'duration') return Math.round((value as number) * 1000);
  return field.type === 'boolean' ? Number(value) : value;
}

/** A row from its stored values. */
export function rowOf(values: StoredValues, rest: Rest, state: RowState): LedgerRow {
  const given: Record<string, unknown> = {};
  for (const field of columnFields) given[field.name] = programValue(field, values[field.name] ?? null);
  const columns = given as unknown as ContextColumns & RowColumns & FileColumns;
  const usage: Usage = {
    input: columns.input_tokens,
    output: columns.output_tokens,
    cached: columns.cached_tokens,
    cacheWrite: columns.cache_write_tokens,
    reasoning: columns.reasoning_tokens,
    source: columns.usage_source,
    ...(rest.usage_kinds !== undefined && { kinds: rest.usage_kinds }),
  };
  const attempts = rest.attempts ?? [];
  const { cost } = columns;
  const whole =
    attempts.length > 1
      ? null
      : {
          cost,
          usage: usage.source === 'none' ? null : usage,
          slug: columns.provider_slug,
          integration: columns.integration,
        };
  return {
    state,
    node: columns.node_id,
    id: columns.id,
    at: columns.at,
    org: columns.org,
    workspace: columns.workspace,
    key: columns.key,
    user: columns.user,
    config: columns.config,
    configVersion: columns.config_version,
    prompt: columns.prompt,
    endpoint: columns.endpoint,
    method: columns.method,
    path: columns.path,
    provider: columns.provider,
    slug: columns.provider_slug,
    integration: columns.integration,
    modelAsked: columns.model_asked,
    modelUsed: columns.model,
    status: columns.status,
    error: columns.error,
    errorMessage: rest.error_message ?? null,
    stream: columns.stream,
    totalMs: columns.total_us,
    upstreamMs: columns.upstream_us,
    firstByteMs: columns.first_byte_us,
    attempts: attempts.map((attempt) => attemptOf(attempt, whole)),
    retries: columns.retries,
    target: columns.target,
    usage,
    cost,
    cache: columns.cache,
    metadata: columns.metadata,
    trace: columns.trace ?? columns.id,
    span: rest.span ?? null,
    parentSpan: rest.parent_span ?? null,
    spanName: rest.span_name ?? null,
    traceContext: rest.trace_context ?? null,
    dropped: rest.dropped ?? [],
    costSaved: columns.cost_saved,
    msSaved: columns.saved_us,
    route: rest.route ?? null,
    stages: rest.stages ?? null,
    charges: rest.charges ?? null,
    steps: rest.steps ?? null,
  };
}

function programValue({ type }: LedgerField, value: unknown): unknown {
  if (value === null) return type === 'json' ? {} : null;
  if (type === 'duration') return (value as number) / 1000;
  if (type === 'boolean') return value === 1;
  return type === 'json' && typeof value === 'string' ? JSON.parse(value) : value;
}

/** `whole`: what the row has, where this was its only attempt. */
function attemptOf(
  {
    target,
    slug,
    integration,
    provider,
    model,
    started_us,
    status,
    error,
    duration_us,
    cost,
    usage,
  }: RestAttempt,
  whole: Pick<AttemptRecord, 'cost' | 'usage' | 'slug' | 'integration'> | null,
): AttemptRecord {
  return {
    target,
    provider,
    model: model ?? null,
    startedAt: started_us / 1000,
    status,
    error: error ?? null,
    durationMs: duration_us / 1000,
    ...(whole ?? {
      slug: slug ?? null,
      integration: integration ?? null,
      cost: cost ?? null,
      usage: usage === undefined ? null : usageOf(usage),
    }),
  };
}

const usageOf = ({ cache_write: cacheWrite, ...usage }: NonNullable<RestAttempt['usage']>): Usage => ({
  ...usage,
  cacheWrite,
});

/** What the column `rest` of a row has. */
export function restOf(row: LedgerRow): Rest {
  const { attempts, route, dropped } = row;
  return {
    attempts: attempts.map((attempt) => restAttempt(attempt, attempts.length > 1)),
    ...(row.errorMessage !== null && { error_message: row.errorMessage }),
    ...(row.span !== null && { span: row.span }),
    ...(row.parentSpan !== null && { parent_span: row.parentSpan }),
    ...(row.spanName !== null && { span_name: row.spanName }),
    ...(row.traceContext !== null && { trace_context: row.traceContext }),
    ...(dropped.length > 0 && { dropped }),
    ...(route !== null && route.length > 0 && { route }),
    ...(row.stages !== null && { stages: row.stages }),
    ...(row.usage.kinds !== undefined && { usage_kinds: row.usage.kinds }),
    ...(row.charges !== null && row.charges.length > 0 && { charges: row.charges }),
    ...(row.steps !== null && { steps: row.steps }),
  };
}

/** `isOneOf`: there are others, so that it has what is the row's otherwise. */
function restAttempt(attempt: AttemptRecord, isOneOf: boolean): RestAttempt {
  const { target, slug, integration, provider, model, startedAt, status, error, durationMs, cost, usage } =
    attempt;
  const own = isOneOf && usage !== null ? usage : null;
  return {
    target,
    ...(isOneOf && slug !== null && { slug }),
    ...(isOneOf && integration !== null && { integration }),
    provider,
    ...(model !== null && { model }),
    started_us: Math.round(startedAt * 1000),
    status,
    ...(error !== null && { error }),
    duration_us: Math.round(durationMs * 1000),
    ...(own !== null && cost !== null && { cost }),
    ...(own !== null && { usage: restUsage(own) }),
  };
}

const restUsage = ({ input, output, cached, cacheWrite, reasoning, source, kinds }: Usage) => ({
  input,
  output,
  cached,
  cache_write: cacheWrite,
  reasoning,
  source,
  ...(kinds !== undefined && { kinds }),
});

/** A row of which nothing is known. */
export const blankRow: LedgerRow = {
  state: 'settled',
  node: null,
  id: '',
  at: 0,
  org: '',
  workspace: null,
  key: null,
  user: null,
  config: null,
  configVersion: null,
  prompt: null,
  endpoint: '',
  method: '',
  path: '',
  provider: null,
  slug: null,
  integration: null,
  modelAsked: null,
  modelUsed: null,
  status: 0,
  error: null,
  errorMessage: null,
  stream: false,
  totalMs: 0,
  upstreamMs: 0,
  firstByteMs: null,
  attempts: [],
  retries: 0,
  target: null,
  usage: noUsage(),
  cost: null,
  cache: 'DISABLED',
  metadata: {},
  trace: '',
  span: null,
  parentSpan: null,
  spanName: null,
  traceContext: null,
  dropped: [],
  costSaved: null,
  msSaved: null,
  route: null,
  stages: null,
  charges: null,
  steps: null,
};

/** The row of an intent that is never settled. */
export const unknownRow = (intent: Intent, node: string | null): LedgerRow => ({
  ...blankRow,
  state: 'unknown',
  node,
  id: intent.id,
  at: intent.at,
  org: intent.org,
  workspace: intent.workspace,
  key: intent.key,
  user: intent.user,
  config: intent.config,
  endpoint: intent.endpoint,
  method: intent.method,
  path: intent.path,
  provider: intent.provider,
  slug: intent.slug,
  integration: intent.integration,
  modelAsked: intent.model,
  modelUsed: intent.model,
  cost: intent.reserved,
  trace: intent.trace,
  charges: intent.charges,
});
