import type { LogMetrics } from '../../../../../proto/messages.js';
import { type Decision, describeDecision } from '../../../../common/core/decision.js';
import type { Bodies, LedgerRow } from '../../../../common/ledger/record.js';
import { dollarsOf } from '../../../../common/vocabulary/money.js';
import type { Store } from '../../../store/store.js';
import { timeOf } from '../../grpc/wire.js';

const dollars = (picos: number | null): number | undefined => (picos === null ? undefined : dollarsOf(picos));

/** A condition that held reveals the metadata. */
const unquoted = (decision: Decision): Decision =>
  decision.kind === 'branch' && decision.query !== null ? { ...decision, query: 'a condition' } : decision;

/** Names of the organisation, and of the workspaces of some rows. */
export interface LogNames {
  readonly organisation: string | null;
  readonly workspaces: ReadonlyMap<string, string>;
}

const noNames: LogNames = { organisation: null, workspaces: new Map() };

export async function namesOf(store: Store, org: string, rows: readonly LedgerRow[]): Promise<LogNames> {
  const ids = [...new Set(rows.flatMap(({ workspace }) => workspace ?? []))];
  const organisation = await store.organisations.get(org);
  const page = { offset: 0, limit: ids.length };
  const { rows: found } =
    ids.length === 0
      ? { rows: [] }
      : await store.workspaces.list(org, page, { ids, status: ['active', 'archived'] });
  return {
    organisation: organisation?.name ?? null,
    workspaces: new Map(found.map(({ id, slug }) => [id, slug])),
  };
}

const cacheTypeOf = ({ cache }: LedgerRow): string | undefined =>
  cache === 'DISABLED' ? undefined : cache.startsWith('SEMANTIC') ? 'semantic' : 'simple';

const optionIndex = (target: string | null): number | undefined => {
  const index = /targets\[(\d+)\]/.exec(target ?? '')?.[1];
  return index === undefined ? undefined : Number(index);
};

const roundedToMicros = (ms: number): number => Math.round(ms * 1000) / 1000;

/** Milliseconds with fractions, by the names of the fields that have them as whole numbers. */
const timesOf = (row: LedgerRow) => ({
  response_time: row.totalMs,
  upstream_response_time: row.upstreamMs,
  gateway_processing_time: Math.max(0, roundedToMicros(row.totalMs - row.upstreamMs)),
  ...stepTimes(row),
});

/** The same as whole numbers. */
const wholeTimes = <Times extends Readonly<Record<string, number>>>(times: Times): Times =>
  Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, Math.round(ms)])) as Times;

/** Milliseconds of the gateway's steps; a step that did not run is absent. */
function stepTimes({ steps, attempts, totalMs }: LedgerRow) {
  if (steps === null) return {};
  const [body, , cache, answer] = steps;
  // Up to the first call to a provider, or to the end if there was none.
  const beforeUs = Math.round((attempts[0]?.startedAt ?? totalMs) * 1000);
  return {
    request_parsing_time: body / 1000,
    pre_processing_time: Math.max(0, beforeUs - body - cache) / 1000,
    ...(cache > 0 && { cache_processing_time: cache / 1000 }),
    ...(answer > 0 && { response_parsing_time: answer / 1000 }),
  };
}

export const isSuccess = ({ state, error, status }: LedgerRow): boolean =>
  state === 'settled' && error === null && status >= 200 && status < 400;

/** A row as the administration answers it. */
export function toMetrics(row: LedgerRow, seesLogMetadata: boolean, names: LogNames): LogMetrics {
  const { usage } = row;
  const times = timesOf(row);
  const metadata = seesLogMetadata ? row.metadata : {};
  return {
    id: row.id,
    organisation_id: row.org,
    workspace_id: row.workspace,
    api_key_id: row.key,
    created_at: timeOf(row.at),
    is_success: isSuccess(row),
    ai_org: row.provider,
    virtual_key: row.slug,
    ai_model: row.modelUsed ?? row.modelAsked,
    req_units: usage.input,
    res_units: usage.output,
    total_units: usage.input + usage.output,
    cost: dollars(row.cost),
    cost_currency: 'USD',
    request_url: row.path,
    request_method: row.method,
    response_status_code: row.status,
    ...wholeTimes(times),
    exact_times: times,
    cache_status: row.cache,
    stream_mode: row.stream ? 1 : 0,
    retry_success_count: row.retries,
    trace_id: row.trace,
    span_id: row.span,
    parent_span_id: row.parentSpan,
    span_name: row.spanName,
    config: row.config,
    config_version_id: row.configVersion,
    mode: row.endpoint,
    metadata,
    metadata_keys: Object.keys(metadata),
    metadata_values: Object.values(metadata),
    state: row.state,
    organisation_name: names.organisation,
    workspace_slug: row.workspace === null ? null : names.workspaces.get(row.workspace),
    cache_type: cacheTypeOf(row),
    prompt_slug: row.prompt,
    is_proxy_call: row.endpoint === 'passthrough',
    internal_trace_id: row.trace,
    last_used_option_index: optionIndex(row.target),
    node_id: row.node,
    error: row.error,
    error_message: row.errorMessage,
    attempts: row.attempts.map((attempt) => ({
      target: attempt.target,
      provider: attempt.provider,
      model: attempt.model,
      status: attempt.status,
      error: attempt.error,
      started_at_ms: attempt.startedAt,
      duration_ms: attempt.durationMs,
      req_units: attempt.usage?.input,
      res_units: attempt.usage?.output,
      cost: dollars(attempt.cost),
      usage_source: attempt.usage?.source,
    })),
    model_asked: row.modelAsked,
    target: row.target,
    cached_units: usage.cached,
    reasoning_units: usage.reasoning,
    first_byte_time: row.firstByteMs,
    usage_source: usage.source,
    cost_saved: dollars(row.costSaved),
    time_saved: row.msSaved,
    // Callers choose the names of their metadata.
    dropped_fields: row.dropped.filter((path) => seesLogMetadata || !/^metadata(?:\.|$)/.test(path)),
    stage_fields: row.stages ?? undefined,
    decisions: (row.route ?? []).map((decision) =>
      describeDecision(seesLogMetadata ? decision : unquoted(decision)),
    ),
  };
}

/** A row as a line of JSON for other systems: as `GET /v1/logs` gives it, its bodies as texts. */
export function sentLine({
  row,
  bodies,
}: {
  readonly row: LedgerRow;
  readonly bodies: Bodies | null;
}): string {
  const record = { ...toMetrics(row, true, noNames), created_at: new Date(row.at).toISOString() };
  return JSON.stringify(
    bodies === null ? record : { ...record, request_body: bodies.request, response_body: bodies.response },
  );
}
