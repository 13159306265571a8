import { GatewayError } from '../../common/core/errors.js';
import type { Attempt, Exchange, Reply } from '../../common/core/exchange.js';
import type { Target } from '../../common/core/target.js';
import { writeJsonInSlices } from '../../common/json/json-slices.js';
import type { Intent } from '../../common/ledger/record.js';
import { askThrough } from '../providers/auth/ask.js';
import { CallFields } from '../providers/call-fields.js';
import { Answer } from './answer/answer.js';
import { CountConversion } from './answer/conversion.js';
import { type Chain, runAttempt } from './chain.js';
import { type Address, resolveAddress } from './outgoing/address.js';
import { answers, maxTokens } from './outgoing/max-tokens.js';
import { countFormatOf, type Outgoing, unifiedCall } from './outgoing/outgoing.js';
import { passthroughCall } from './outgoing/passthrough-call.js';
import type { PreparedCall } from './outgoing/prepared-calls.js';
import { addTraceHeaders } from './outgoing/trace-headers.js';
import type { Pipeline } from './parts.js';
import { clientGone } from './request/abandoned-requests.js';
import { countHere } from './request/count-here.js';
import { callSecrets, withoutSecrets } from './secrets/call-secrets.js';

/**
 * One upstream attempt at `target`: resolve the address, build the call, run the `attempt` hooks, write the intent,
 * send, and read the answer's head (or, for an answer that is collected, all of it). Each attempt starts from the
 * client's own body. Rejects with a GatewayError if no answer arrived.
 *
 * No unnecessary await: one costs as much as writing the intent.
 */
export function attempt(pipeline: Pipeline, x: Exchange, target: Target): Promise<Reply> {
  if (x.aborted !== null) return Promise.reject(x.aborted);
  if (pipeline.abandoned?.has(x) === true) return Promise.reject(clientGone());
  if (target.deadlineMs !== null && x.elapsedMs() >= target.deadlineMs) {
    const passed = `The deadline of ${target.deadlineMs} ms was over before this target could be asked.`;
    return Promise.reject(new GatewayError('request_timeout', passed));
  }
  const record: Attempt = {
    target: target.path,
    slug: null,
    integration: null,
    provider: target.provider ?? target.virtualKey ?? '',
    model: x.modelAsked,
    startedAt: x.elapsedMs(),
    status: 0,
    error: null,
    durationMs: 0,
    usage: null,
    cost: null,
    modelUsed: null,
    firstByteMs: null,
    endedAt: null,
    prices: null,
    reserved: null,
    received: null,
    answer: null,
    readUs: 0,
  };
  // Only the last call is logged, so the body of an earlier one is released.
  const before = x.attempts.at(-1);
  if (before !== undefined && before.endedAt !== null) before.answer = null;
  x.attempts.push(record);
  // The answer of an earlier attempt is not used.
  x.answeredBy = null;
  x.provider = null;
  const refusal = x.judge === null ? null : x.judge.refusal(target);
  if (refusal !== null) return Promise.resolve(answered(x, record, refusal));
  try {
    const prepared = pipeline.calls.find(x, target);
    if (prepared !== null) return leave(pipeline, x, target, record, prepared.address, prepared);
    const address = resolveAddress(x, target, pipeline.directory, pipeline.providers);
    if (!(address instanceof Promise)) return leave(pipeline, x, target, record, address, null);
    return address.then(
      (found) => leave(pipeline, x, target, record, found, null),
      (thrown) => failed(x, record, thrown),
    );
  } catch (thrown) {
    return failed(x, record, thrown);
  }
}

function leave(
  pipeline: Pipeline,
  x: Exchange,
  target: Target,
  record: Attempt,
  address: Address,
  prepared: PreparedCall | null,
): Promise<Reply> {
  try {
    record.provider = address.provider.name;
    record.slug = address.slug;
    record.integration = address.integration;
    record.prices = address.prices;
    record.model = address.model;
    const isConvertedCount =
      x.endpoint.counts === true && address.provider.paths[x.endpoint.format] === undefined;
    if (isConvertedCount && (target.passthrough || countFormatOf(address.provider) === null)) {
      return countHere(pipeline, x, address).then(
        (reply) => answered(x, record, reply),
        (thrown) => failed(x, record, thrown),
      );
    }
    const { needs } = x.endpoint;
    if (needs !== undefined && address.provider.paths[needs] === undefined) {
      throw new GatewayError(
        'unsupported_by_provider',
        `${address.provider.name} has no ${x.endpoint.name} endpoint, and the gateway keeps nothing for it: choose another provider for this call.`,
      );
    }
    const outgoing =
      x.endpoint.format === 'none'
        ? passthroughCall(x, target, address, pipeline.headerPrefixes)
        : unifiedCall(x, target, address, pipeline, prepared);
    if (pipeline.sendsTraces || x.trace.context !== undefined)
      outgoing.trace = addTraceHeaders(x, record, address, outgoing.call.headers);
    if (prepared === null) pipeline.calls.keep(x, target, address, outgoing.call.url);
    const reply =
      outgoing.unwritten === null
        ? hook(pipeline, x, outgoing, record)
        : writeJsonInSlices(outgoing.unwritten).then(
            (body) => {
              outgoing.call.body = body;
              return hook(pipeline, x, outgoing, record);
            },
            (thrown) => failed(x, record, thrown),
          );
    return isConvertedCount ? countedThere(pipeline, x, outgoing, reply) : reply;
  } catch (thrown) {
    return failed(x, record, thrown);
  }
}

/** The provider's count, or the gateway's where the provider refuses to count for this model. */
async function countedThere(
  pipeline: Pipeline,
  x: Exchange,
  { conversion, address }: Outgoing,
  answer: Promise<Reply>,
): Promise<Reply> {
  const reply = await answer;
  return conversion instanceof CountConversion && conversion.isRefused
    ? countHere(pipeline, x, address)
    : reply;
}

function hook(pipeline: Pipeline, x: Exchange, outgoing: Outgoing, record: Attempt): Promise<Reply> {
  const { attempt: hooks } = (x.chain as Chain | null) ?? pipeline.chain;
  try {
    const later = hooks === null ? undefined : runAttempt(hooks, x, outgoing.call, record);
    if (later instanceof Promise) {
      return later.then(
        () => authorize(pipeline, x, outgoing, record),
        (thrown) => failed(x, record, thrown),
      );
    }
  } catch (thrown) {
    return failed(x, record, thrown);
  }
  const isSigned = outgoing.address.provider.auth.kind === 'per-call';
  return isSigned ? authorize(pipeline, x, outgoing, record) : send(pipeline, x, outgoing, record);
}

/** An answer of the gateway itself: no upstream was called. */
function answered(x: Exchange, record: Attempt, reply: Reply): Reply {
  record.status = reply.status;
  x.answeredBy = record;
  record.durationMs = round(x.elapsedMs() - record.startedAt);
  return reply;
}

/** Before anything is sent. Later failures are handled by `Answer`. */
function failed(x: Exchange, record: Attempt, thrown: unknown): Promise<never> {
  const error = GatewayError.from(thrown);
  record.error = error.code;
  record.durationMs = round(x.elapsedMs() - record.startedAt);
  return Promise.reject(error);
}

/** Last of all, since a signature covers all the rest. */
function authorize(pipeline: Pipeline, x: Exchange, outgoing: Outgoing, record: Attempt): Promise<Reply> {
  const { call, address } = outgoing;
  const { auth } = address.provider;
  if (auth.kind !== 'per-call') return send(pipeline, x, outgoing, record);
  try {
    const ready = auth.authorizer.authorize({
      call,
      credential: address.credential,
      fields: new CallFields(address.fields, call.target.fields),
      ask: askThrough(pipeline.upstream, x.principal),
      tenant: x.principal,
      ownIdentities: pipeline.ownIdentities,
    });
    if (!(ready instanceof Promise)) return send(pipeline, x, outgoing, record);
    return ready.then(
      () => send(pipeline, x, outgoing, record),
      (thrown) => refused(x, outgoing, record, thrown),
    );
  } catch (thrown) {
    return refused(x, outgoing, record, thrown);
  }
}

/** No credential was issued: the error of its issuer may quote the secret that the request carried. */
function refused(x: Exchange, outgoing: Outgoing, record: Attempt, thrown: unknown): Promise<never> {
  return failed(x, record, withoutSecrets(GatewayError.from(thrown), callSecrets(outgoing, x, true).errors));
}

function send(pipeline: Pipeline, x: Exchange, outgoing: Outgoing, record: Attempt): Promise<Reply> {
  if (x.aborted !== null) return failed(x, record, x.aborted);
  const { judge } = x;
  const answered = new Promise<Reply>((resolve, reject) => {
    const answer = new Answer(pipeline, x, outgoing, record, resolve, reject);
    // Written before the first byte is sent: every request that a provider received is in the ledger, even after a crash.
    pipeline.journal.intend(intentOf(pipeline, x, outgoing, record), answer);
  });
  return judge === null ? answered : answered.then((reply) => judge.answer(x, reply, outgoing.call.target));
}

function intentOf(pipeline: Pipeline, x: Exchange, { call, address }: Outgoing, record: Attempt): Intent {
  const { model } = address;
  if (model !== null && x.request.bytes !== null) {
    const { length } = x.request.bytes;
    const { pricing } = pipeline;
    const single = maxTokens(x, call.target);
    const most = single === null ? null : single * answers(x, call.target);
    record.reserved =
      address.prices === null
        ? pricing.reserve(address.provider.name, model, length, most)
        : address.prices.reserve(pricing, model, length, most);
  }
  return {
    id: x.id,
    at: x.startedAt,
    org: x.principal.organisationId,
    workspace: x.principal.workspaceId,
    key: x.principal.keyId,
    // The end user on whose behalf the client calls.
    user: x.metadata['_user'] ?? null,
    config: x.config.slug,
    endpoint: x.endpoint.name,
    method: x.request.method,
    path: x.request.path,
    provider: address.provider.name,
    slug: record.slug,
    integration: record.integration,
    model,
    trace: x.trace.traceId,
    reserved: x.attempts.length === 1 ? record.reserved : reservedFor(x.attempts),
    charges: x.main.charges,
  };
}

/** The sum of all possible costs: of several intents, the ledger uses the last. */
function reservedFor(attempts: readonly Attempt[]): number | null {
  let sum: number | null = null;
  for (const { reserved, endedAt, status } of attempts) {
    const isOwed = endedAt === null || (status >= 200 && status < 300);
    if (reserved !== null && isOwed) sum = (sum ?? 0) + reserved;
  }
  return sum;
}

const round = (ms: number): number => Math.round(ms * 1000) / 1000;
