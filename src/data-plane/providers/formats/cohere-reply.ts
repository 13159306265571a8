import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { numberOf } from '../../../common/json/json.js';
import type { CanonicalReply, ConversionContext } from '../provider.js';
import { canonicalUsage } from './anthropic-reply.js';
import { cohereUsage } from './cohere-usage.js';
import { asArray, asObject, asString } from './json-shape.js';
import { stoppedBy } from './stopped-by.js';

const finishReasons: Readonly<Record<string, string>> = {
  COMPLETE: 'stop',
  STOP_SEQUENCE: 'stop',
  MAX_TOKENS: 'length',
  TOOL_CALL: 'tool_calls',
};

/** Reasons for which an answer ended without being one. */
const failures: ReadonlySet<unknown> = new Set(['ERROR', 'TIMEOUT', 'ERROR_LIMIT', 'ERROR_TOXIC']);

/** The error that this reason reports; null where it reports none. */
export function failureOf(reason: unknown, error: unknown, { provider }: ConversionContext): string | null {
  if (!failures.has(reason) && typeof error !== 'string') return null;
  const said = typeof error === 'string' ? error : `it ended with ${String(reason)}`;
  return `${provider} error: ${said}`;
}

/** A reason that is new to us is called `stop`; with loose compliance the provider's own word is given. */
export function cohereFinish(reason: unknown, { strict, canonicalReasons }: ConversionContext): string {
  if (typeof reason !== 'string') return 'stop';
  if (!strict && canonicalReasons !== true) return reason;
  return Object.hasOwn(finishReasons, reason) ? (finishReasons[reason] as string) : 'stop';
}

/** Cohere counts by chunks of one token or more: a chunk is as likely as all of its tokens together. */
export function canonicalLogprobs(items: readonly unknown[]): JsonObject | null {
  const content = items.flatMap((value) => {
    const item = asObject(value);
    const text = asString(item?.['text']);
    const logs = asArray(item?.['logprobs']);
    if (text === null || logs === null) return [];
    const logprob =
      logs.length === 1 ? logs[0] : logs.reduce((sum: number, log) => sum + (numberOf(log) ?? 0), 0);
    return [{ token: text, logprob, bytes: [...Buffer.from(text)], top_logprobs: [] }];
  });
  return content.length === 0 ? null : { content, refusal: null };
}

/** An answer of `POST /v2/chat` → `chat.completion`. */
export function fromCohereReply(body: JsonObject, context: ConversionContext): CanonicalReply {
  const said = asObject(body['message']);
  if (said === null) {
    throw new GatewayError(
      'upstream_invalid_response',
      `${context.provider} answered with something that is not a chat reply.`,
    );
  }
  const failure = failureOf(body['finish_reason'], null, context);
  if (failure !== null) throw new GatewayError('upstream_invalid_response', failure);
  const toolCalls = (asArray(said['tool_calls']) ?? []).map(canonicalCall);
  const blocks = asArray(said['content']) ?? [];
  const text = blocks.map((block) => asString(asObject(block)?.['text']) ?? '').join('');
  const plan = asString(said['tool_plan']) ?? '';
  const message: JsonObject = {
    role: 'assistant',
    content: plan + text === '' && toolCalls.length > 0 ? null : plan + text,
  };
  if (toolCalls.length > 0) message['tool_calls'] = toolCalls;
  if (!context.strict) {
    if (blocks.length > 0) message['content_blocks'] = blocks;
    for (const own of ['tool_plan', 'citations']) if (said[own] !== undefined) message[own] = said[own];
  }
  const usage = asObject(body['usage']);
  return {
    id: body['id'],
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: context.model ?? null,
    provider: context.provider,
    choices: [
      {
        index: 0,
        message,
        logprobs: canonicalLogprobs(asArray(body['logprobs']) ?? []),
        finish_reason: cohereFinish(body['finish_reason'], context),
        ...stoppedBy(body['finish_reason'] === 'STOP_SEQUENCE', context),
      },
    ],
    ...(usage === null ? {} : { usage: canonicalUsage(cohereUsage(usage), true) }),
  };
}

function canonicalCall(value: unknown): JsonObject {
  const call = asObject(value);
  const fn = asObject(call?.['function']);
  return {
    id: call?.['id'],
    type: 'function',
    function: { name: fn?.['name'], arguments: asString(fn?.['arguments']) || '{}' },
  };
}
