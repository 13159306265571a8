import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import type { Usage } from '../../../common/core/usage.js';
import { stringifyJson } from '../../../common/json/json.js';
import type { CanonicalReply, ConversionContext } from '../provider.js';
import { jsonTool } from './anthropic-request.js';
import { anthropicUsage } from './anthropic-usage.js';
import { asArray, asObject, asString } from './json-shape.js';

const finishReasons: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

/**
 * `jsonOnly`: the one tool called was the answer itself. A reason that is new to us is called `stop`; with loose
 * compliance the provider's own word is given.
 */
export function finishReason(stopReason: unknown, jsonOnly: boolean, strict: boolean): string {
  if (jsonOnly && stopReason === 'tool_use') return 'stop';
  if (typeof stopReason !== 'string') return 'stop';
  if (!strict) return stopReason;
  return Object.hasOwn(finishReasons, stopReason) ? (finishReasons[stopReason] as string) : 'stop';
}

/** OpenAI's `usage`: input with the cache's share in it, so that the figures add up. */
export function canonicalUsage(usage: Usage, strict: boolean): JsonObject {
  const out: JsonObject = {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.cacheWrite },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
  if (!strict) {
    out['cache_read_input_tokens'] = usage.cached;
    out['cache_creation_input_tokens'] = usage.cacheWrite;
  }
  return out;
}

const tiers: Readonly<Record<string, string>> = { standard: 'default', priority: 'priority' };

/** The tier that has served an answer, by OpenAI's name for it. */
export function tierOf(usage: JsonObject): JsonObject {
  const tier = asString(usage['service_tier']);
  return tier !== null && Object.hasOwn(tiers, tier) ? { service_tier: tiers[tier] } : {};
}

/** A message of the Messages API → `chat.completion`. */
export function fromMessage(body: JsonObject, context: ConversionContext): CanonicalReply {
  const content = asArray(body['content']);
  if (content === null) {
    const said = asString(asObject(body['error'])?.['message']);
    throw new GatewayError(
      'upstream_invalid_response',
      said === null
        ? `${context.provider} answered with something that is not a message.`
        : `${context.provider} answered with an error under a success status: ${said}`,
    );
  }
  let text: string | null = null;
  const toolCalls: JsonObject[] = [];
  const blocks: JsonObject[] = [];
  let answeredByTool = false;
  for (const value of content) {
    const block = asObject(value);
    if (block === null) continue;
    if (block['type'] === 'tool_use' && block['name'] === jsonTool) {
      answeredByTool = true;
      text = (text ?? '') + stringifyJson(block['input'] ?? {});
    } else if (block['type'] === 'tool_use') {
      toolCalls.push({
        id: block['id'],
        type: 'function',
        function: { name: block['name'], arguments: stringifyJson(block['input'] ?? {}) },
      });
    } else {
      if (block['type'] === 'text') text = (text ?? '') + (asString(block['text']) ?? '');
      blocks.push(block);
    }
  }
  const message: JsonObject = { role: 'assistant', content: text ?? (toolCalls.length > 0 ? null : '') };
  const refusal = asString(asObject(body['stop_details'])?.['explanation']);
  if (refusal !== null) message['refusal'] = refusal;
  if (toolCalls.length > 0) message['tool_calls'] = toolCalls;
  if (!context.strict && blocks.length > 0) message['content_blocks'] = blocks;
  const usage = asObject(body['usage']);
  return {
    id: body['id'],
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: body['model'],
    provider: context.provider,
    choices: [
      {
        index: 0,
        message,
        logprobs: null,
        finish_reason: finishReason(
          body['stop_reason'],
          answeredByTool && toolCalls.length === 0,
          context.strict || context.canonicalReasons === true,
        ),
      },
    ],
    ...(usage === null
      ? {}
      : { ...tierOf(usage), usage: canonicalUsage(anthropicUsage(usage), context.strict) }),
  };
}
