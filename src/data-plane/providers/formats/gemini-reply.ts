import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { uuidv7 } from '../../../common/text/id.js';
import type { CanonicalReply, ConversionContext } from '../provider.js';
import { blockedPrompt, extras, finishReason, logprobs, PartReader, signed } from './gemini-candidate.js';
import { canonicalGeminiUsage } from './gemini-usage.js';
import { googleExtra } from './google-signature.js';
import { asArray, asObject, asString, count } from './json-shape.js';

/** A GenerateContentResponse → `chat.completion`. A prompt that was blocked is an answer: filtered, with the reason. */
export function fromGenerateContent(body: JsonObject, context: ConversionContext): CanonicalReply {
  const candidates = (asArray(body['candidates']) ?? []).map(asObject).filter((found) => found !== null);
  const blocked = blockedPrompt(body);
  if (candidates.length === 0 && blocked === null) throw notAnAnswer(body, context);
  const responseId = asString(body['responseId']);
  const usage = asObject(body['usageMetadata']);
  return {
    id: responseId ?? uuidv7(),
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: body['modelVersion'] ?? null,
    provider: context.provider,
    choices:
      candidates.length === 0
        ? [blockedChoice(blocked)]
        : candidates.map((candidate, i) => choice(candidate, i, responseId, context)),
    ...(usage === null ? {} : { usage: canonicalGeminiUsage(usage) }),
  };
}

function notAnAnswer(body: JsonObject, { provider }: ConversionContext): GatewayError {
  const said = asString(asObject(body['error'])?.['message']);
  return new GatewayError(
    'upstream_invalid_response',
    said === null
      ? `${provider} answered with something that is not a generated content.`
      : `${provider} answered with an error under a success status: ${said}`,
  );
}

const blockedChoice = (why: string | null): JsonObject => ({
  index: 0,
  message: { role: 'assistant', content: '', refusal: why },
  logprobs: null,
  finish_reason: 'content_filter',
});

function choice(
  candidate: JsonObject,
  place: number,
  responseId: string | null,
  context: ConversionContext,
): JsonObject {
  const index = candidate['index'] === undefined ? place : count(candidate['index']);
  const reader = new PartReader(responseId, index);
  let text: string | null = null;
  let sound: string | null = null;
  let signature: string | null = null;
  const toolCalls: JsonObject[] = [];
  const blocks: JsonObject[] = [];
  for (const part of asArray(asObject(candidate['content'])?.['parts']) ?? []) {
    const piece = reader.read(part);
    switch (piece.kind) {
      case 'text':
        text = (text ?? '') + piece.text;
        addText(blocks, piece.text, piece.signature);
        signature = piece.signature ?? signature;
        break;
      case 'thinking':
        blocks.push({ type: 'thinking', thinking: piece.text, ...signed(piece.signature) });
        break;
      case 'tool':
        toolCalls.push(piece.call);
        break;
      case 'audio':
        sound = (sound ?? '') + piece.data;
        break;
      case 'block':
        blocks.push(piece.block);
        break;
      default:
    }
  }
  const message: JsonObject = {
    role: 'assistant',
    content: text ?? (toolCalls.length > 0 || sound !== null ? null : ''),
  };
  if (toolCalls.length > 0) message['tool_calls'] = toolCalls;
  if (signature !== null) message['extra_content'] = googleExtra(signature);
  if (sound !== null) message['audio'] = { id: responseId ?? uuidv7(), data: sound, transcript: '' };
  if (!context.strict && blocks.length > 0) message['content_blocks'] = blocks;
  return {
    index,
    message,
    logprobs: logprobs(candidate),
    finish_reason: finishReason(candidate['finishReason'], toolCalls.length > 0, context),
    ...extras(candidate, context),
  };
}

/** Neighbouring texts are one block, unless a signature ends the first. */
function addText(blocks: JsonObject[], text: string, signature: string | null): void {
  const last = blocks.at(-1);
  if (last?.['type'] === 'text' && last['thought_signature'] === undefined)
    last['text'] = `${last['text']}${text}`;
  else blocks.push({ type: 'text', text });
  if (signature !== null) blocks.at(-1)!['thought_signature'] = signature;
}
