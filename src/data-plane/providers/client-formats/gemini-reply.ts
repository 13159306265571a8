import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { asArray, asObject, asString } from '../formats/json-shape.js';
import { openAiUsage } from '../formats/openai-usage.js';
import { InnerJson } from '../inner-json.js';
import type { CanonicalReply } from '../provider.js';
import type { ClientFormatContext } from './client-format.js';
import { member } from './gemini-names.js';
import { reasoningText, sealThinking } from './sealed-thinking.js';

/** Did the client ask to see what the model thinks? */
export function wantsThoughts({ body }: ClientFormatContext): boolean {
  const config = asObject(member(asObject(member(body, 'generationConfig')), 'thinkingConfig'));
  return member(config, 'includeThoughts') === true;
}

const reasons: Readonly<Record<string, string>> = { length: 'MAX_TOKENS', content_filter: 'SAFETY' };

/** Gemini calls the end of a tool call STOP as well. */
export function finishReason(finish: string | null): string {
  return finish !== null && Object.hasOwn(reasons, finish) ? (reasons[finish] as string) : 'STOP';
}

/** Gemini counts thoughts beside the candidates. {} where the provider reported nothing. */
export function usageMetadata(body: JsonObject): JsonObject {
  const usage = openAiUsage(body);
  if (usage === null) return {};
  const metadata: JsonObject = {
    promptTokenCount: usage.input,
    candidatesTokenCount: usage.output - usage.reasoning,
    totalTokenCount: usage.input + usage.output,
  };
  if (usage.reasoning > 0) metadata['thoughtsTokenCount'] = usage.reasoning;
  if (usage.cached > 0) metadata['cachedContentTokenCount'] = usage.cached;
  return { usageMetadata: metadata };
}

/** A `chat.completion` → GenerateContentResponse. */
export function writeGenerateContent(reply: CanonicalReply, context: ClientFormatContext): JsonObject {
  const choices = asArray(reply['choices']) ?? [];
  if (choices.length === 0 || asObject(asObject(choices[0])?.['message']) === null) {
    throw new GatewayError('upstream_invalid_response', 'The provider answered without a message.');
  }
  const inner = new InnerJson();
  return {
    candidates: choices.map((choice, i) => candidate(asObject(choice) ?? {}, i, context, inner)),
    ...usageMetadata(reply),
    modelVersion: asString(reply['model']) ?? context.asked.model,
    responseId: context.requestId,
  };
}

function candidate(
  choice: JsonObject,
  place: number,
  context: ClientFormatContext,
  inner: InnerJson,
): JsonObject {
  const message = asObject(choice['message']) ?? {};
  const finish = asString(choice['finish_reason']);
  const parts: JsonObject[] = wantsThoughts(context) ? thoughts(message) : [];
  const refusal = asString(message['refusal']) ?? '';
  for (const text of [textOf(message['content']), refusal]) if (text !== '') parts.push({ text });
  for (const call of asArray(message['tool_calls']) ?? [])
    parts.push(callPart(asObject(call), finish, inner));
  const probabilities = logprobsResult(asObject(choice['logprobs']));
  return {
    content: { parts, role: 'model' },
    finishReason: refusal === '' ? finishReason(finish) : 'SAFETY',
    index: choice['index'] ?? place,
    ...(probabilities === null ? {} : { logprobsResult: probabilities }),
  };
}

function thoughts(message: JsonObject): JsonObject[] {
  const parts: JsonObject[] = [];
  for (const value of asArray(message['content_blocks']) ?? []) {
    const block = asObject(value);
    const type = block?.['type'];
    if (block === null || (type !== 'thinking' && type !== 'redacted_thinking')) continue;
    parts.push(thoughtPart(asString(block['thinking']) ?? '', sealThinking(block)));
  }
  const text = reasoningText(message);
  if (parts.length === 0 && text !== '')
    parts.push(thoughtPart(text, sealThinking({ type: 'thinking', thinking: text })));
  return parts;
}

/** `sealed`: the provider's own block, which comes back with the next turn. */
export function thoughtPart(text: string, sealed: string | null): JsonObject {
  return { text, thought: true, ...(sealed === null ? {} : { thoughtSignature: sealed }) };
}

/** A string, or parts of text as some servers answer. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return (asArray(content) ?? []).map((part) => asString(asObject(part)?.['text']) ?? '').join('');
}

/** A whole tool call as a part. Arguments that were cut off by the token limit are none. */
export function callPart(call: JsonObject | null, finish: string | null, inner: InnerJson): JsonObject {
  const fn = asObject(call?.['function']);
  const functionCall: JsonObject = { name: fn?.['name'], args: args(fn?.['arguments'], finish, inner) };
  if (typeof call?.['id'] === 'string') functionCall['id'] = call['id'];
  return { functionCall };
}

function args(text: unknown, finish: string | null, inner: InnerJson): JsonObject {
  if (typeof text !== 'string' || text.trim() === '') return {};
  let object: JsonObject | null = null;
  try {
    object = asObject(inner.parse(text));
  } catch {
    // Reported below.
  }
  if (object !== null) return object;
  if (finish === 'length') return {};
  throw new GatewayError(
    'upstream_invalid_response',
    'The model called a tool with arguments that are no JSON object.',
  );
}

/** OpenAI's `logprobs` → `logprobsResult`; null where there is none. */
export function logprobsResult(logprobs: JsonObject | null): JsonObject | null {
  const content = asArray(logprobs?.['content']);
  if (content === null || content.length === 0) return null;
  const token = (value: unknown): JsonObject => ({
    token: asObject(value)?.['token'],
    logProbability: asObject(value)?.['logprob'],
  });
  return {
    chosenCandidates: content.map(token),
    topCandidates: content.map((value) => ({
      candidates: (asArray(asObject(value)?.['top_logprobs']) ?? []).map(token),
    })),
  };
}
