import type { Format } from '../../../../../common/core/endpoint.js';
import { GatewayError } from '../../../../../common/core/errors.js';
import type { JsonObject } from '../../../../../common/core/exchange.js';
import type {
  FormatPiece,
  FormatStream,
  PluginFormat,
} from '../../../../../common/vocabulary/plugin-format.js';
import { ChoiceEnds } from '../../../../providers/formats/choice-ends.js';
import { ChunkStream } from '../../../../providers/formats/chunk-stream.js';
import { asArray, asObject } from '../../../../providers/formats/json-shape.js';
import { toOpenAiRequest } from '../../../../providers/formats/openai-request.js';
import { openAiUsage } from '../../../../providers/formats/openai-usage.js';
import type {
  CanonicalChunk,
  CanonicalReply,
  ChatFormat,
  ConversionContext,
} from '../../../../providers/provider.js';
import { jsonLines } from '../../../../providers/streams/json-lines.js';
import type { Watched } from '../watched.js';
import { answerOf, errorBy, isStreamed, OwnReplies, writtenBy } from './own-answers.js';

/** A chat format of a plugin. */
export function ownChat(name: Format, own: PluginFormat, run: Watched): ChatFormat {
  const replies = new OwnReplies(own, run, completion);
  return {
    name,
    ...(own.framing === 'lines' && { framing: jsonLines(own.contentType ?? 'application/x-ndjson') }),
    toWire(request) {
      if (own.stream === undefined && isStreamed(request))
        throw new GatewayError(
          'unsupported_by_provider',
          'stream: this provider has no streams. Send the request without stream.',
          { param: 'stream' },
        );
      return writtenBy(own, run, toOpenAiRequest(request));
    },
    fromWire: (body, context) => replies.of(body, context),
    errorFromWire: errorBy(own, run),
    usage: (body, context) => openAiUsage(replies.of(body, context!)),
    stream: (context) => new OwnStream(own, run, context),
  };
}

/** Completes the object that a plugin returned to a `chat.completion`. */
function completion(reply: JsonObject, { provider, model }: ConversionContext): CanonicalReply {
  const choices = asArray(reply['choices']) ?? [];
  if (choices.length === 0)
    throw new TypeError('choices of its answer must be a list of at least one choice.');
  return {
    id: null,
    created: Math.floor(Date.now() / 1000),
    model,
    ...reply,
    ...{ object: 'chat.completion', provider },
    choices: choices.map((given, index) => {
      const choice = asObject(given);
      const message = asObject(choice?.['message']);
      if (message === null) throw new TypeError(`choices[${index}] of its answer must have a message.`);
      return {
        ...{ index, finish_reason: 'stop', logprobs: null },
        ...choice,
        message: { role: 'assistant', content: null, ...message },
      };
    }),
  };
}

/** Converts pieces of a plugin to chunks. */
class OwnStream extends ChunkStream {
  readonly #ends = new ChoiceEnds();
  readonly #begun = new Set<number>();
  readonly #reader: FormatStream;

  constructor(
    own: PluginFormat,
    readonly run: Watched,
    context: ConversionContext,
  ) {
    super(context);
    this.model = context.model ?? null;
    this.#reader = run('stream', () => {
      const reader = own.stream!(answerOf(context));
      if (typeof reader?.event !== 'function')
        throw new TypeError('It must return a reader, an object with a function event.');
      return reader;
    });
  }

  get done(): boolean {
    return this.#ends.all;
  }

  event(name: string, data: string): readonly CanonicalChunk[] {
    return this.run('stream', () => {
      const given: unknown = this.#reader.event({ name: name === '' ? null : name, data });
      if (given === undefined || given === null) return [];
      return (Array.isArray(given) ? given : [given]).flatMap((piece: unknown) => this.#chunk(piece));
    });
  }

  /** The usage, for clients that request it; a provider may report it in any event. */
  end(): readonly CanonicalChunk[] {
    if (!this.context.includeUsage || this.#usage === null) return [];
    return [this.usageChunk(this.#usage)];
  }

  #usage: JsonObject | null = null;

  #chunk(value: unknown): readonly CanonicalChunk[] {
    checkPiece(value);
    const { index = 0, delta, finish_reason: finish = null, usage, id, model } = value;
    if (id !== undefined) this.id = id;
    if (model !== undefined) this.model = model;
    if (usage !== undefined) {
      this.#usage = usage;
      this.usage = openAiUsage({ usage }) ?? this.usage;
    }
    if (delta === undefined && finish === null) return [];
    this.#ends.add([{ index, finish_reason: finish }]);
    const role = this.#begun.has(index) ? {} : { role: 'assistant' };
    this.#begun.add(index);
    return [this.chunk({ ...role, ...delta }, finish, null, index)];
  }
}

/** Choices of a stream. */
const mostChoices = 128;

function checkPiece(value: unknown): asserts value is FormatPiece {
  const {
    index = 0,
    delta = {},
    finish_reason: finish = '',
    usage = {},
    id = '',
    model = '',
  } = asObject(value) ?? ({ delta: null } as JsonObject);
  const isIndex = typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < mostChoices;
  const areTexts = [finish, id, model].every((text) => typeof text === 'string');
  if (isIndex && areTexts && asObject(delta) !== null && asObject(usage) !== null) return;
  throw new TypeError(
    'It must return a piece { delta?, index?, finish_reason?, usage?, id?, model? }, a list of them, or nothing.',
  );
}
