import type { Awaitable } from '../../src/common/core/directory.js';
import type { Exchange, JsonObject, Reply } from '../../src/common/core/exchange.js';
import { jsonBytes } from '../../src/common/json/json-bytes.js';
import { writeJsonInSlices } from '../../src/common/json/json-slices.js';
import { definePlugin, type HostWith, type NeedsOf } from '../../src/common/plugin-host/plugin.js';
import { bodyDigest, guardrailVersion } from '../../src/common/plugin-host/slots.js';
import { factsOf } from './facts.js';
import { GuardedExchange, type GuardParts } from './guarded.js';
import { PassthroughBodies } from './passthrough/bodies.js';
import { CheckPool } from './pool/pool.js';
import { type ExchangeGuardrails, resolveGuardrails } from './resolve.js';
import { VerdictRecorder } from './run/record.js';
import { GuardrailRunner } from './run/runner.js';
import { Subject } from './run/subject.js';
import { UnredactedBodies } from './run/unredacted.js';
import stage from './stage.js';
import { mayBeReadOtherwise } from './texts/other-reading.js';
import type { BodyTexts } from './texts/parts.js';
import { requestTexts } from './texts/request-parts.js';
import { judgeTexts } from './trial.js';

export interface GuardrailOptions {
  readonly checkMs?: number;
  readonly threads?: number;
  readonly threadHeapMegabytes?: number;
  readonly queue?: number;
  readonly queueBytes?: number;
  readonly streamHoldMs?: number;
}

const mebibyte = 1024 * 1024;
/** Milliseconds that a text waits for its turn in a thread. */
const waitMs = 5000;
/** A check that takes long delays no others while there is a spare thread. */
const spareThreads = 1;
/** Bytes of a body that is written in one turn of the event loop. */
const writeAtMost = mebibyte;

/**
 * Guardrails of requests and answers (docs/guardrails.md).
 *
 *   check.ts    what a check is; checks/ has them
 *   resolve.ts  which guardrails an exchange has
 *   texts/      where the texts of bodies are
 *   run/        runs guardrails over a request or an answer
 *   pool/       worker threads for the checks of texts
 *   streams/    judges streams while they come
 *   guarded.ts  what follows from their verdicts; replies.ts: how the client gets them
 */
export default definePlugin<GuardrailOptions, NeedsOf<typeof stage>>({
  ...stage,
  setup(options, host) {
    const { checkMs = 1000, threads = 1, threadHeapMegabytes = 128 } = options;
    const { queue = 256, queueBytes = 128 * mebibyte, streamHoldMs = 1000 } = options;
    const pool = new CheckPool({
      ...{ deadlineMs: checkMs, waitMs, threads, spareThreads, heapMb: threadHeapMegabytes },
      ...{ maxQueue: queue, maxQueueBytes: queueBytes },
    });
    const runner = new GuardrailRunner(host, pool);
    const recorder = new VerdictRecorder(host);
    const unredacted = new UnredactedBodies(host);
    const passthrough = new PassthroughBodies(host, runner, unredacted);
    const parts = { host, runner, recorder, passthrough, unredacted, heldMs: streamHoldMs };
    host.metrics.show(() => [
      ...parts.recorder.metrics(),
      ...unredacted.metrics(),
      ...[...runner.errors].map(([reason, value]) => ({
        ...{ name: 'gateway_guardrails_check_errors_total', labels: { reason }, value },
      })),
      { name: 'gateway_guardrails_queued', labels: {}, value: pool.queued },
    ]);
    return {
      request(x) {
        if (x.principal.guardrails === undefined && x.config.guarded === undefined) return;
        return meet(parts, x);
      },
      async explain(x, plan) {
        if (plan.judge !== undefined) plan.judged = await judgeTexts(parts, x, plan.judge);
      },
      reply(x, reply) {
        if (x.judge instanceof GuardedExchange) return x.judge.reply(x, reply);
      },
      close() {
        runner.moderations.close();
        return pool.close();
      },
    };
  },
});

type Host = HostWith<NeedsOf<typeof stage>>;

function meet(parts: GuardParts & { readonly host: Host }, x: Exchange): Awaitable<Reply | undefined> {
  if (x.endpoint.name === 'passthrough') return passThrough(parts, x);
  const { json } = x.request;
  const texts = json === null ? null : requestTexts(x.endpoint.format, json);
  if (json === null || texts === null) return;
  const found = resolveGuardrails(parts.host, x);
  if (found instanceof Promise) return found.then((guardrails) => judge(parts, x, guardrails, json, texts));
  return judge(parts, x, found, json, texts);
}

async function passThrough(parts: GuardParts, x: Exchange): Promise<Reply | undefined> {
  const guardrails = await resolveGuardrails(parts.host, x);
  if (guardrails.isEmpty) return;
  const guarded = new GuardedExchange(parts, guardrails);
  guarded.attach(x);
  return guarded.passThrough(x);
}

function judge(
  parts: GuardParts,
  x: Exchange,
  guardrails: ExchangeGuardrails,
  json: JsonObject,
  texts: BodyTexts,
): Awaitable<Reply | undefined> {
  if (guardrails.isEmpty) return;
  const guarded = new GuardedExchange(parts, guardrails);
  guarded.attach(x);
  const read = (one: JsonObject): BodyTexts => requestTexts(x.endpoint.format, one)!;
  const subject = new Subject('before', () => factsOf(x), json, null, read, texts);
  const found = guarded.request(x, subject);
  return found instanceof Promise
    ? found.then((refused) => made(parts, x, guarded, subject, refused))
    : made(parts, x, guarded, subject, found);
}

function made(
  parts: GuardParts,
  x: Exchange,
  guarded: GuardedExchange,
  subject: Subject,
  refused: Reply | undefined,
): Awaitable<Reply | undefined> {
  x.set(guardrailVersion, guarded.version);
  if (subject.isChanged) {
    parts.unredacted.keep(x, 'request', x.request.bytes!);
    return edit(x, subject.body!).then(() => refused);
  }
  if (refused !== undefined || !mayBeReadOtherwise(x.request.bytes!, x.request.json!, x.bodyTokens))
    return refused;
  return edit(x, x.request.json!).then(() => refused);
}

async function edit(x: Exchange, json: JsonObject): Promise<void> {
  const isLong = x.request.bytes!.length > writeAtMost;
  x.edit(json, isLong ? await writeJsonInSlices(json) : jsonBytes(json));
  // It was the digest of the client's bytes.
  x.set(bodyDigest, null);
}
