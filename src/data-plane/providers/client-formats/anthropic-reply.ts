import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { noUsage, type Usage } from '../../../common/core/usage.js';
import { googleSignature } from '../formats/google-signature.js';
import { asArray, asObject, asString } from '../formats/json-shape.js';
import { openAiUsage } from '../formats/openai-usage.js';
import { InnerJson } from '../inner-json.js';
import type { CanonicalReply } from '../provider.js';
import type { ClientFormatContext } from './client-format.js';
import { markedSignature, signatureBlock, signedThought } from './google-signatures.js';

const stopReasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
};

/** How an answer ended, as it is known at its end. */
export interface Ending {
  readonly finish: string | null;
  /**
   * The stop sequence that ended it, where the server reports it (vLLM's `stop_reason`); true: one of them, and the server does
   * not report which.
   */
  readonly stopped: unknown;
  readonly calledTools: boolean;
  readonly refused: boolean;
}

/** `stop_reason` and `stop_sequence`. Some servers call the end of a tool call `stop`. */
export function stopFields(
  { finish, stopped, calledTools, refused }: Ending,
  context: ClientFormatContext,
): JsonObject {
  if (refused) return { stop_reason: 'refusal', stop_sequence: null };
  if (calledTools && (finish === 'stop' || finish === null))
    return { stop_reason: 'tool_use', stop_sequence: null };
  const sequences = asArray(context.body['stop_sequences']) ?? [];
  if (finish === 'stop' && sequences.includes(stopped))
    return { stop_reason: 'stop_sequence', stop_sequence: stopped };
  if (finish === 'stop' && stopped === true)
    return { stop_reason: 'stop_sequence', stop_sequence: sequences.length === 1 ? sequences[0] : null };
  const reason = finish !== null && Object.hasOwn(stopReasons, finish) ? stopReasons[finish] : 'end_turn';
  return { stop_reason: reason, stop_sequence: null };
}

/** Service tiers by Anthropic's name for them; it has none for others. */
const tiers: Readonly<Record<string, string>> = { default: 'standard', priority: 'priority' };

/** OpenAI's usage counts cache reads and writes as input, Anthropic's beside it. */
export function messagesUsage(known: Usage | null, tier: unknown = null): JsonObject {
  const usage = known ?? noUsage();
  return {
    input_tokens: usage.input - usage.cached - usage.cacheWrite,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cached,
    output_tokens: usage.output,
    ...(usage.reasoning > 0 ? { output_tokens_details: { thinking_tokens: usage.reasoning } } : {}),
    ...(typeof tier === 'string' && Object.hasOwn(tiers, tier) ? { service_tier: tiers[tier] } : {}),
  };
}

/** Did the client ask to see the model think? Without, this API answers with a provider's own signed thinking alone. */
export function wantsThinking({ body }: ClientFormatContext): boolean {
  const type = asObject(body['thinking'])?.['type'];
  return typeof type === 'string' && type !== 'disabled';
}

/** Thinking as OpenAI-compatible servers put it beside the content (DeepSeek, vLLM; OpenRouter). */
export function reasoningOf(message: JsonObject): string | null {
  return asString(message['reasoning_content']) ?? asString(message['reasoning']);
}

/** A `chat.completion` → the answer of `POST /v1/messages`. */
export function writeMessage(reply: CanonicalReply, context: ClientFormatContext): JsonObject {
  const choice = asObject(asArray(reply['choices'])?.[0]);
  const message = asObject(choice?.['message']);
  if (choice === null || message === null) {
    throw new GatewayError('upstream_invalid_response', 'The provider answered without a message.');
  }
  const finish = asString(choice['finish_reason']);
  const content = thinkingOf(message, context);
  const text = textOf(message['content']);
  if (text !== '') content.push({ type: 'text', text });
  const refusal = asString(message['refusal']);
  if (refusal !== null && refusal !== '') content.push({ type: 'text', text: refusal });
  const calls = asArray(message['tool_calls']) ?? [];
  const inner = new InnerJson();
  const ofText = googleSignature(message);
  if (ofText !== null && wantsThinking(context)) content.push(signatureBlock('text', ofText));
  for (const value of calls) {
    const call = asObject(value);
    signCall(content, googleSignature(call));
    content.push(toolUse(call, finish, inner));
  }
  const ending: Ending = {
    finish,
    stopped: choice['stop_reason'],
    calledTools: calls.length > 0,
    refused: refusal !== null && refusal !== '',
  };
  return {
    id: asString(reply['id']) ?? `msg_${context.requestId}`,
    type: 'message',
    role: 'assistant',
    model: reply['model'] ?? context.asked.model,
    content,
    ...stopFields(ending, context),
    usage: messagesUsage(openAiUsage(reply), reply['service_tier']),
  };
}

function thinkingOf(message: JsonObject, context: ClientFormatContext): JsonObject[] {
  const blocks = (asArray(message['content_blocks']) ?? []).flatMap((value) => {
    const block = asObject(value);
    if (block?.['type'] === 'thinking') return [withSignature(signedThought(block))];
    return block?.['type'] === 'redacted_thinking' ? [block] : [];
  });
  if (blocks.length > 0 || !wantsThinking(context)) return blocks;
  const thinking = reasoningOf(message);
  return thinking === null || thinking === '' ? [] : [{ type: 'thinking', thinking, signature: '' }];
}

const withSignature = (block: JsonObject): JsonObject => ({ ...block, signature: block['signature'] ?? '' });

/** The signature of the call that follows: in the thought before it, or else in a block of its own. */
function signCall(content: JsonObject[], signature: string | null): void {
  if (signature === null) return;
  const last = content.at(-1);
  if (last?.['type'] === 'thinking' && last['signature'] === '')
    last['signature'] = markedSignature('call', signature);
  else content.push(signatureBlock('call', signature));
}

/** A string, or parts of text as some servers answer. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return (asArray(content) ?? []).map((part) => asString(asObject(part)?.['text']) ?? '').join('');
}

function toolUse(call: JsonObject | null, finish: string | null, inner: InnerJson): JsonObject {
  const fn = asObject(call?.['function']);
  return {
    type: 'tool_use',
    id: call?.['id'],
    name: fn?.['name'],
    input: toolInput(fn?.['arguments'], finish, inner),
  };
}

function toolInput(text: unknown, finish: string | null, inner: InnerJson): JsonObject {
  if (typeof text !== 'string' || text.trim() === '') return {};
  let input: JsonObject | null = null;
  try {
    input = asObject(inner.parse(text));
  } catch {
    // Reported below.
  }
  if (input !== null) return input;
  // What was cut off by max_tokens is no call yet.
  if (finish === 'length') return {};
  throw new GatewayError(
    'upstream_invalid_response',
    'The provider answered with a tool call whose arguments are not a JSON object.',
  );
}
