import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import type { ChatFormat, ConversionContext, StreamReader } from '../provider.js';
import { asArray, asObject, asString } from './json-shape.js';
import { openAiChat } from './openai-chat.js';

/**
 * Answers of those who follow OpenAI's chat but for a few words: finish reasons of their own (Mistral `model_length`,
 * Together `eos`, DeepSeek `insufficient_system_resource`), and Mistral's content as a list of text and thinking, which
 * become `content` and `reasoning_content`. All else stays as it came.
 */
export const openAiDialect: ChatFormat = {
  ...openAiChat,
  fromWire: (body, context) =>
    mended(openAiChat.fromWire(body, context), 'message', context, 'upstream_invalid_response'),
  stream: (context) => new DialectStream(openAiChat.stream(context), context),
};

const finishReasons: Readonly<Record<string, string>> = {
  model_length: 'length',
  eos: 'stop',
  error: 'stop',
};

/** Not an answer but the lack of one. */
const outOfResources = 'insufficient_system_resource';

class DialectStream implements StreamReader {
  constructor(
    readonly inner: StreamReader,
    readonly context: ConversionContext,
  ) {}

  get done(): boolean {
    return this.inner.done;
  }

  get usage(): StreamReader['usage'] {
    return this.inner.usage;
  }

  get model(): string | null {
    return this.inner.model;
  }

  event(name: string, data: string): readonly JsonObject[] {
    return this.inner
      .event(name, data)
      .map((chunk) => mended(chunk, 'delta', this.context, 'upstream_stream_error'));
  }
}

function mended(
  body: JsonObject,
  holder: 'message' | 'delta',
  { provider }: ConversionContext,
  code: 'upstream_invalid_response' | 'upstream_stream_error',
): JsonObject {
  const choices = asArray(body['choices']) ?? [];
  if (!choices.some((choice) => departs(asObject(choice), holder))) return body;
  return {
    ...body,
    choices: choices.map((value) => {
      const choice = asObject(value);
      if (choice === null || !departs(choice, holder)) return value;
      const reason = choice['finish_reason'];
      if (reason === outOfResources)
        throw new GatewayError(
          code,
          `${provider} error: it ran out of resources before the answer was whole`,
        );
      const said = asObject(choice[holder]);
      return {
        ...choice,
        ...(said === null ? {} : { [holder]: joined(said) }),
        finish_reason: typeof reason === 'string' ? (finishReasons[reason] ?? reason) : reason,
      };
    }),
  };
}

function departs(choice: JsonObject | null, holder: string): boolean {
  const reason = choice?.['finish_reason'];
  if (typeof reason === 'string' && (reason === outOfResources || Object.hasOwn(finishReasons, reason)))
    return true;
  return Array.isArray(asObject(choice?.[holder])?.['content']);
}

/** `[{type: thinking, thinking: [{type: text, text}]}, {type: text, text}]` (docs.mistral.ai/capabilities/reasoning). */
function joined(said: JsonObject): JsonObject {
  const parts = asArray(said['content']);
  if (parts === null) return said;
  let text = '';
  let thinking = '';
  for (const value of parts) {
    const part = asObject(value);
    if (part?.['type'] === 'thinking') thinking += textOf(part['thinking']);
    else text += textOf(part?.['text']);
  }
  return { ...said, content: text, ...(thinking === '' ? {} : { reasoning_content: thinking }) };
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map((part) => textOf(asObject(part)?.['text'])).join('');
  return asString(value) ?? '';
}
