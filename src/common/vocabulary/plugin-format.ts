import type { JsonObject } from '../core/exchange.js';

/** A request that a format of a plugin writes. */
export interface FormatRequest {
  /** Notes a field of the request that the provider's format does not have: `top_k`, `messages[2].name`. */
  drop(path: string): void;
}

/** An answer that a format of a plugin reads. */
export interface FormatAnswer {
  readonly provider: string;
  /** The one that was asked for. */
  readonly model: string | null;
  /** A header of the answer, its name in any case. */
  header(name: string): string | undefined;
}

/** What an event of a stream contains, as a chunk of OpenAI's has it. */
export interface FormatPiece {
  /** `{ content }`, `{ reasoning_content }`, `{ refusal }`, `{ tool_calls }`. `role` is added. */
  readonly delta?: JsonObject;
  /** The choice; 0 unless given. */
  readonly index?: number;
  /** `stop`, `length`, `tool_calls`, `content_filter`: this choice ends. A stream is whole when each of them has. */
  readonly finish_reason?: string;
  /** `{ prompt_tokens, completion_tokens }` and their details. */
  readonly usage?: JsonObject;
  readonly id?: string;
  readonly model?: string;
}

/** Reads one stream; keeps what it needs from one event to the next. */
export interface FormatStream {
  /** `name`: the `event:` field, or null. `data`: the `data:` field, or the line. */
  event(event: {
    readonly name: string | null;
    readonly data: string;
  }): FormatPiece | readonly FormatPiece[] | undefined;
}

/** An error answer, as OpenAI's has it. */
export interface FormatError {
  readonly message: string;
  readonly type?: string;
  readonly param?: string | null;
  readonly code?: string | null;
}

/** A wire format that a plugin brings for its providers. Its functions are synchronous. */
export interface PluginFormat {
  /** Which requests: `chat` (where absent), of every format that clients use, or `embeddings`. */
  readonly kind?: 'chat' | 'embeddings';
  /** The body for the provider. `request`: as OpenAI's clients send it, frozen. */
  request(request: JsonObject, call: FormatRequest): JsonObject;
  /** What OpenAI would answer; of a chat `choices` and, if the provider reports it, `usage` are enough. */
  reply(answer: JsonObject, call: FormatAnswer): JsonObject;
  /** An error answer, or its message. `body` null: it is no JSON. Absent: the usual shapes are read. */
  error?(status: number, body: JsonObject | null, call: FormatAnswer): FormatError | string;
  /** Begins to read a stream. Absent: requests for streams are refused. */
  stream?(call: FormatAnswer): FormatStream;
  /** How a stream is cut: server-sent events (where absent), or lines of JSON. */
  readonly framing?: 'events' | 'lines';
  /** Content type of streams of lines; `application/x-ndjson` unless given. */
  readonly contentType?: string;
}

/** By the name that `paths` of providers use. */
export type PluginFormats = Readonly<Record<string, PluginFormat>>;
