import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { googleSignature } from '../formats/google-signature.js';
import { asArray, asObject, asString } from '../formats/json-shape.js';
import { openAiUsage } from '../formats/openai-usage.js';
import type { CanonicalReply } from '../provider.js';
import type { ClientFormatContext } from './client-format.js';
import { type Signed, signatureBlock, signedThought } from './google-signatures.js';
import { reasoningText, sealThinking, thinkingWanted } from './sealed-thinking.js';

/** How far an answer is, or how it ended. */
export type Status = 'in_progress' | 'completed' | 'incomplete';

/** What of a Response comes from the provider; the rest repeats the request. */
export interface Answered {
  readonly status: Status;
  /** Why it is incomplete. */
  readonly reason: string | null;
  readonly output: readonly JsonObject[];
  readonly created: unknown;
  readonly model: unknown;
  readonly serviceTier: unknown;
  readonly usage: JsonObject | null;
}

/** The ids of an answer and its items are those of the exchange: the same, however often it is written. */
export function answerId(
  prefix: 'resp' | 'msg' | 'fc' | 'rs',
  context: ClientFormatContext,
  item?: number,
): string {
  const id = `${prefix}_${context.requestId.replaceAll('-', '')}`;
  return item === undefined ? id : `${id}${item.toString(16).padStart(4, '0')}`;
}

/** A Response as the official client types it (openai 6.49, resources/responses). Nothing of it is kept. */
export function responseObject(answered: Answered, context: ClientFormatContext): JsonObject {
  const { body } = context;
  const said = (field: string, otherwise: unknown = null): unknown => body[field] ?? otherwise;
  return {
    id: answerId('resp', context),
    object: 'response',
    created_at: answered.created,
    status: answered.status,
    background: false,
    error: null,
    incomplete_details: answered.reason === null ? null : { reason: answered.reason },
    instructions: said('instructions'),
    max_output_tokens: said('max_output_tokens'),
    max_tool_calls: said('max_tool_calls'),
    metadata: said('metadata', {}),
    model: answered.model,
    output: answered.output,
    parallel_tool_calls: said('parallel_tool_calls', true),
    previous_response_id: null,
    prompt_cache_key: said('prompt_cache_key'),
    reasoning: { effort: null, summary: null, ...asObject(body['reasoning']) },
    safety_identifier: said('safety_identifier'),
    service_tier: answered.serviceTier ?? null,
    store: false,
    temperature: said('temperature'),
    text: { format: { type: 'text' }, ...asObject(body['text']) },
    tool_choice: said('tool_choice', 'auto'),
    tools: said('tools', []),
    top_logprobs: said('top_logprobs', 0),
    top_p: said('top_p'),
    truncation: 'disabled',
    usage: answered.usage,
    user: said('user'),
  };
}

/** null: the provider reported nothing. */
export function responsesUsage(body: JsonObject): JsonObject | null {
  const usage = openAiUsage(body);
  if (usage === null) return null;
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  };
}

const reasons: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};

/** How an answer with this `finish_reason` ended. */
export function endOf(finish: string | null): { status: Status; reason: string | null } {
  const reason = finish !== null && Object.hasOwn(reasons, finish) ? (reasons[finish] as string) : null;
  return { status: reason === null ? 'completed' : 'incomplete', reason };
}

/** A `chat.completion` → the answer of `POST /v1/responses`. */
export function writeResponse(reply: CanonicalReply, context: ClientFormatContext): JsonObject {
  const choice = asObject(asArray(reply['choices'])?.[0]);
  const message = asObject(choice?.['message']);
  if (choice === null || message === null) {
    throw new GatewayError('upstream_invalid_response', 'The provider answered without a message.');
  }
  const end = endOf(asString(choice['finish_reason']));
  const output = reasoningItems(message, context);
  const content = contentParts(message, choice);
  const calls = asArray(message['tool_calls']) ?? [];
  if (content.length > 0 || calls.length === 0) {
    if (content.length === 0) content.push(textPart('', []));
    output.push(messageItem(answerId('msg', context, output.length), end.status, content));
  }
  const { sealed } = thinkingWanted(context.body);
  const sign = (of: Signed, signature: string | null): void => {
    if (!sealed || signature === null) return;
    const seal = sealThinking(signatureBlock(of, signature));
    output.push(reasoningItem(answerId('rs', context, output.length), null, seal));
  };
  sign('text', googleSignature(message));
  for (const value of calls) {
    const call = asObject(value);
    const fn = asObject(call?.['function']);
    sign('call', googleSignature(call));
    const id = answerId('fc', context, output.length);
    output.push(callItem(id, end.status, call?.['id'], fn?.['name'], asString(fn?.['arguments']) || '{}'));
  }
  return responseObject(
    {
      status: end.status,
      reason: end.reason,
      output,
      created: reply['created'] ?? Math.floor(Date.now() / 1000),
      model: reply['model'] ?? context.asked.model,
      serviceTier: reply['service_tier'],
      usage: responsesUsage(reply),
    },
    context,
  );
}

export function messageItem(id: string, status: Status, content: readonly JsonObject[]): JsonObject {
  return { id, type: 'message', status, role: 'assistant', content };
}

export function callItem(
  id: string,
  status: Status,
  callId: unknown,
  name: unknown,
  given: string,
): JsonObject {
  return { id, type: 'function_call', status, arguments: given, call_id: callId, name };
}

/** `summary`: what is shown; null: nothing is. */
export function reasoningItem(id: string, summary: string | null, sealed: string | null): JsonObject {
  return {
    id,
    type: 'reasoning',
    summary: summary === null || summary === '' ? [] : [summaryPart(summary)],
    ...(sealed === null ? {} : { encrypted_content: sealed }),
  };
}

export function summaryPart(text: string): JsonObject {
  return { type: 'summary_text', text };
}

export function textPart(text: string, annotations: readonly unknown[], logprobs: unknown = []): JsonObject {
  return { type: 'output_text', annotations, logprobs, text };
}

export function refusalPart(refusal: string): JsonObject {
  return { type: 'refusal', refusal };
}

function contentParts(message: JsonObject, choice: JsonObject): JsonObject[] {
  const parts: JsonObject[] = [];
  const text = textOf(message['content']);
  const logprobs = asArray(asObject(choice['logprobs'])?.['content']) ?? [];
  if (text !== '') parts.push(textPart(text, flatAnnotations(message['annotations']), logprobs));
  const refusal = asString(message['refusal']);
  if (refusal !== null && refusal !== '') parts.push(refusalPart(refusal));
  return parts;
}

/** A string, or parts of text as some servers answer. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return (asArray(content) ?? []).map((part) => asString(asObject(part)?.['text']) ?? '').join('');
}

/** Chat has `{type: "url_citation", url_citation: {…}}` where this API has `{type: "url_citation", …}`. */
export function flatAnnotations(annotations: unknown): unknown[] {
  return (asArray(annotations) ?? []).map((value) => {
    const annotation = asObject(value);
    const inner = asObject(annotation?.['url_citation']);
    return inner === null ? value : { type: 'url_citation', ...inner };
  });
}

function reasoningItems(message: JsonObject, context: ClientFormatContext): JsonObject[] {
  const { shown, sealed } = thinkingWanted(context.body);
  if (!shown && !sealed) return [];
  const items: JsonObject[] = [];
  const add = (summary: string, seal: string | null): void => {
    if (shown || seal !== null)
      items.push(reasoningItem(answerId('rs', context, items.length), shown ? summary : null, seal));
  };
  for (const value of asArray(message['content_blocks']) ?? []) {
    const block = asObject(value);
    const type = block?.['type'];
    if (block === null || (type !== 'thinking' && type !== 'redacted_thinking')) continue;
    add(asString(block['thinking']) ?? '', sealed ? sealThinking(signedThought(block)) : null);
  }
  const text = reasoningText(message);
  if (items.length === 0 && text !== '')
    add(text, sealed ? sealThinking({ type: 'thinking', thinking: text }) : null);
  return items;
}
