import { GatewayError } from '../core/errors.js';
import type { Attempt, Exchange, Reply } from '../core/exchange.js';
import type { Target } from '../core/target.js';
import type { Intent } from '../ledger/record.js';
import { type Address, resolveAddress } from './address.js';
import { Answer } from './answer.js';
import { runAttempt } from './chain.js';
import { type Outgoing, passthroughCall, unifiedCall } from './outgoing.js';
import type { Pipeline } from './parts.js';

/**
 * One upstream try of `target`: resolve the address, build the call, let `attempt` hooks edit it, write the intent,
 * send, and read the answer's head (or, for an answer that is collected, all of it). Each try starts from the
 * client's own body. Rejects with a GatewayError where no answer came.
 */
export async function attempt(pipeline: Pipeline, x: Exchange, target: Target): Promise<Reply> {
  if (x.aborted !== null) throw x.aborted;
  const record: Attempt = {
    target: target.path,
    provider: target.provider ?? target.virtualKey ?? '',
    model: x.modelAsked,
    startedAt: round(x.elapsedMs()),
    status: 0,
    error: null,
    durationMs: 0,
  };
  x.attempts.push(record);
  try {
    const found = resolveAddress(x, target, pipeline.directory, pipeline.providers);
    const address = found instanceof Promise ? await found : found;
    record.provider = address.provider.name;
    record.model = address.model;
    const outgoing =
      x.endpoint.format === 'none'
        ? passthroughCall(x, target, address, pipeline.headerPrefixes)
        : unifiedCall(x, target, address, pipeline.formats);
    if (pipeline.chain.attempt !== null) await runAttempt(pipeline.chain.attempt, x, outgoing.call);
    if (x.aborted !== null) throw x.aborted;
    const reply = await send(pipeline, x, outgoing, record);
    x.provider = address.provider.name;
    x.dropped = outgoing.dropped;
    return reply;
  } catch (thrown) {
    const error = GatewayError.from(thrown);
    record.error = error.code;
    record.durationMs = round(x.elapsedMs() - record.startedAt);
    throw error;
  }
}

function send(pipeline: Pipeline, x: Exchange, outgoing: Outgoing, record: Attempt): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const answer = new Answer(pipeline, x, outgoing, record, resolve, reject);
    // On file before the first byte leaves: whatever an upstream has seen is in the ledger, even if we die now.
    pipeline.journal.intend(intentOf(pipeline, x, outgoing.call.target, outgoing.address));
    answer.ask();
  });
}

function intentOf(pipeline: Pipeline, x: Exchange, target: Target, address: Address): Intent {
  const model = address.model;
  return {
    id: x.id,
    at: x.startedAt,
    org: x.principal.organisationId,
    workspace: x.principal.workspaceId ?? '',
    key: x.principal.keyId,
    config: x.config.slug,
    endpoint: x.endpoint.name,
    method: x.request.method,
    path: x.request.path,
    provider: address.provider.name,
    model,
    trace: x.trace.traceId,
    reserved:
      model === null || x.request.bytes === null
        ? null
        : pipeline.pricing.reserve(
            address.provider.name,
            model,
            x.request.bytes.length,
            maxTokens(x, target),
          ),
  };
}

function maxTokens(x: Exchange, target: Target): number | null {
  const asked =
    target.overrideParams?.['max_completion_tokens'] ??
    target.overrideParams?.['max_tokens'] ??
    x.request.json?.['max_completion_tokens'] ??
    x.request.json?.['max_tokens'];
  return typeof asked === 'number' ? asked : null;
}

const round = (ms: number): number => Math.round(ms * 1000) / 1000;
