import type { JsonObject } from '../../../common/core/exchange.js';
import { numberOf, stringifyJson } from '../../../common/json/json.js';
import { uuidv7 } from '../../../common/text/id.js';
import type { ConversionContext } from '../provider.js';
import { googleExtra } from './google-signature.js';
import { asArray, asObject, asString } from './json-shape.js';

const finishReasons: Readonly<Record<string, string>> = {
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  LANGUAGE: 'content_filter',
  RECITATION: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
};

/** STOP and what is new to us are `stop`. With loose compliance the provider's own word is given. */
export function finishReason(reason: unknown, calledTools: boolean, context: ConversionContext): string {
  const own = asString(reason) ?? 'STOP';
  if (calledTools && own === 'STOP') return 'tool_calls';
  if (!context.strict && context.canonicalReasons !== true) return own;
  return Object.hasOwn(finishReasons, own) ? (finishReasons[own] as string) : 'stop';
}

/** Why a prompt was not answered at all; null where it was not blocked. */
export function blockedPrompt(body: JsonObject): string | null {
  const feedback = asObject(body['promptFeedback']);
  const reason = asString(feedback?.['blockReason']);
  if (reason === null) return null;
  return asString(feedback?.['blockReasonMessage']) ?? `The prompt was blocked: ${reason}.`;
}

/** One part of an answer, in the canonical shape's terms. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string; readonly signature: string | null }
  | { readonly kind: 'thinking'; readonly text: string; readonly signature: string | null }
  | { readonly kind: 'tool'; readonly call: JsonObject }
  | { readonly kind: 'audio'; readonly data: string }
  | { readonly kind: 'block'; readonly block: JsonObject }
  | { readonly kind: 'none' };

/** As a block has its signature. */
export const signed = (signature: string | null): JsonObject =>
  signature === null ? {} : { thought_signature: signature };

/** Reads the parts of one candidate, whole or as they come, and names its tool calls the same in either way. */
export class PartReader {
  #calls = 0;
  readonly #prefix: string;

  constructor(responseId: string | null, candidate: number) {
    this.#prefix = `call_${responseId ?? uuidv7()}_${candidate === 0 ? '' : `${candidate}_`}`;
  }

  get calls(): number {
    return this.#calls;
  }

  read(value: unknown): Piece {
    const part = asObject(value);
    if (part === null) return { kind: 'none' };
    const signature = asString(part['thoughtSignature']);
    const call = asObject(part['functionCall']);
    if (call !== null) return { kind: 'tool', call: this.#call(call, signature) };
    const text = asString(part['text']);
    if (text !== null) return { kind: part['thought'] === true ? 'thinking' : 'text', text, signature };
    const data = asObject(part['inlineData']);
    if (data === null)
      return Object.keys(part).length === 0 ? { kind: 'none' } : { kind: 'block', block: part };
    const mime = asString(data['mimeType']) ?? '';
    if (mime.startsWith('audio/')) return { kind: 'audio', data: asString(data['data']) ?? '' };
    const url = `data:${mime};base64,${asString(data['data']) ?? ''}`;
    return { kind: 'block', block: { type: 'image_url', image_url: { url }, ...signed(signature) } };
  }

  /** Its signature goes where Google's own OpenAI-shaped endpoint puts it, since clients send it back from there. */
  #call(call: JsonObject, signature: string | null): JsonObject {
    const index = this.#calls++;
    return {
      id: asString(call['id']) ?? `${this.#prefix}${index}`,
      type: 'function',
      function: { name: call['name'], arguments: stringifyJson(call['args'] ?? {}) },
      ...(signature === null ? {} : { extra_content: googleExtra(signature) }),
    };
  }
}

/** `logprobsResult` → OpenAI's `logprobs`; null where there is none. */
export function logprobs(candidate: JsonObject): JsonObject | null {
  const result = asObject(candidate['logprobsResult']);
  const chosen = asArray(result?.['chosenCandidates']);
  if (chosen === null) return null;
  const tops = asArray(result?.['topCandidates']) ?? [];
  return {
    content: chosen.map((token, i) => ({
      ...logprob(token),
      top_logprobs: (asArray(asObject(tops[i])?.['candidates']) ?? []).map(logprob),
    })),
    refusal: null,
  };
}

function logprob(value: unknown): JsonObject {
  const token = asObject(value);
  const text = asString(token?.['token']) ?? '';
  // A probability of one is the default of its field, and left out.
  return { token: text, logprob: numberOf(token?.['logProbability']) ?? 0, bytes: [...Buffer.from(text)] };
}

/** What has no place in OpenAI's shape and is given with loose compliance alone, under Gemini's names. */
export function extras(candidate: JsonObject, context: ConversionContext): JsonObject {
  const out: JsonObject = {};
  if (context.strict) return out;
  for (const name of [
    'groundingMetadata',
    'citationMetadata',
    'urlContextMetadata',
    'safetyRatings',
    'finishMessage',
  ]) {
    if (candidate[name] !== undefined) out[name] = candidate[name];
  }
  return out;
}
