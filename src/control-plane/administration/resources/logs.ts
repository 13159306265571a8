import type { LogMetrics } from '../../../../proto/messages.js';
import { type Decision, describeDecision } from '../../../common/core/decision.js';
import { type Bodies, isCursor, type LedgerRow } from '../../../common/ledger/record.js';
import { pricing as builtIn } from '../../../common/prices/pricing.js';
import { dollarsOf } from '../../../common/vocabulary/money.js';
import type { Caller } from '../access/caller.js';
import { AdminError } from '../admin-error.js';
import { timeOf } from '../grpc/wire.js';
import type { AdminParts, Service } from '../service.js';
import { costExplanation, pricesOfRow } from './log-costs.js';

const dollars = (picos: number | null): number | undefined => (picos === null ? undefined : dollarsOf(picos));

/** A condition that held reveals the metadata. */
const unquoted = (decision: Decision): Decision =>
  decision.kind === 'branch' && decision.query !== null ? { ...decision, query: 'a condition' } : decision;

function toMetrics(row: LedgerRow, { seesLogMetadata }: Pick<Caller, 'seesLogMetadata'>): LogMetrics {
  const { usage } = row;
  return {
    id: row.id,
    organisation_id: row.org,
    workspace_id: row.workspace,
    api_key_id: row.key,
    created_at: timeOf(row.at),
    is_success: row.state === 'settled' && row.error === null && row.status >= 200 && row.status < 400,
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
    response_time: row.totalMs,
    upstream_response_time: row.upstreamMs,
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
    metadata: seesLogMetadata ? row.metadata : {},
    state: row.state,
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
  const record = { ...toMetrics(row, { seesLogMetadata: true }), created_at: new Date(row.at).toISOString() };
  return JSON.stringify(
    bodies === null ? record : { ...record, request_body: bodies.request, response_body: bodies.response },
  );
}

function cursorOf(text: string): string {
  if (isCursor(text)) return text;
  throw new AdminError('AB01', 'after must be the cursor of an earlier answer, or 0.');
}

/** What passed through the gateway. */
export function logsService({ store, ledger, pricing = builtIn }: AdminParts): Service<'Logs'> {
  /** Throws AB08 where the caller sees no such row. */
  async function seen(caller: Caller, id: string): Promise<LedgerRow> {
    const row = await ledger.get(caller.organisationId, id);
    const keys = await caller.keysInSight();
    const isSeen =
      row !== null && caller.sees(row.workspace) && (keys === null || keys.includes(row.key ?? ''));
    if (!isSeen) throw new AdminError('AB08', 'There is no such log.');
    return row;
  }
  return {
    async ListLogs(caller, request) {
      const isNarrow = caller.workspaceId !== null || Boolean(request.workspace_id);
      const limit = request.limit || 50;
      if (limit < 0) throw new AdminError('AB01', 'limit must not be negative.');
      const { rows, cursor } = await ledger.recent({
        org: caller.organisationId,
        workspace: isNarrow
          ? (await caller.place(request.workspace_id, { archived: true })).workspaceId
          : undefined,
        keys: (await caller.keysInSight()) ?? undefined,
        trace: request.trace_id || undefined,
        after: request.after ? cursorOf(request.after) : undefined,
        limit: Math.min(limit, 1000),
      });
      return { object: 'list', data: rows.map((row) => toMetrics(row, caller)), cursor };
    },

    async GetLog(caller, { id }) {
      const row = await seen(caller, id);
      const bodies = await ledger.bodies(caller.organisationId, id);
      return {
        id: row.id,
        request: { url: row.path, method: row.method, body: bodies?.request },
        response: {
          status: row.status,
          body: bodies?.response,
          response_time: row.totalMs,
          last_used_option_json_path: row.target,
        },
        organisation_id: row.org,
        created_at: timeOf(row.at),
        metrics: toMetrics(row, caller),
        bodies_cut: bodies?.cut ?? false,
      };
    },

    async GetUnredactedText(caller, { id }) {
      const row = await seen(caller, id);
      const text = await store.unredactedTexts.get(caller.organisationId, row.id);
      if (text === null) throw new AdminError('AB08', 'No unredacted text of this log is kept.');
      return { id: row.id, ...text };
    },

    async ExplainCost(caller, { id }) {
      const row = await seen(caller, id);
      return costExplanation(row, pricing, await pricesOfRow(store, row));
    },
  };
}
