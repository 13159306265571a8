import type { EndpointName } from '../core/endpoint.js';
import type { Exchange, Outcome } from '../core/exchange.js';
import { BodyRecord } from './body-record.js';
import { runLog } from './chain.js';
import { answerRecord } from './exchange-slots.js';
import type { Pipeline } from './parts.js';

/** The end of every exchange: tokens nobody reported are counted (off this thread), then the `log` phase, once. */
export function finish(pipeline: Pipeline, x: Exchange, outcome: Outcome): void {
  const log = (): void => {
    if (pipeline.chain.log !== null) runLog(pipeline.chain.log, x, outcome, pipeline.log);
  };
  if (!needsCount(x, outcome)) return log();
  const record = x.get(answerRecord);
  const events = record instanceof BodyRecord;
  pipeline.counter
    .count({
      format: x.endpoint.format,
      model: x.modelUsed ?? x.attempts.at(-1)?.model ?? x.modelAsked,
      request: x.request.bytes,
      answer: events ? record.bytes() : (record ?? Buffer.alloc(0)),
      events,
    })
    .then((usage) => {
      if (usage !== null) x.usage = usage;
    })
    .catch((error: unknown) => pipeline.log.warn({ err: error, request_id: x.id }, 'token counting failed'))
    .then(log);
}

const counted: ReadonlySet<EndpointName> = new Set([
  'chat',
  'completions',
  'embeddings',
  'responses',
  'messages',
  'gemini-generate',
  'gemini-embed',
]);

/** An answer (or a part of one) of a model went to the client, and no provider said what it used. */
function needsCount(x: Exchange, outcome: Outcome): boolean {
  return (
    x.usage.source === 'none' &&
    counted.has(x.endpoint.name) &&
    outcome.status < 300 &&
    x.get(answerRecord) !== null
  );
}
