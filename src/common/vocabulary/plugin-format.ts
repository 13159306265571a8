import type { JsonObject } from '../core/exchange.js';

/** The request that a plugin's format is converting. */
export interface FormatRequest {
  /** Records in the log a field of the request that the provider's format does not have: `top_k`, `messages[2].name`. */
  drop(path: string): void;
}

/** The answer that a plugin's format is reading. */
export interface FormatAnswer {
  readonly provider: string;
  /** The requested model. */
  readonly model: string | null;
  /** A header of the answer; `name` is case-insensitive. */
  header(name: string): string | undefined;
}

/** The content of an event of a stream, in the shape of an OpenAI chunk. */
export interface FormatPiece {
  /** `{ content }`, `{ reasoning_content }`, `{ refusal }`, `{ tool_calls }`. `role` is added. */
  readonly delta?: JsonObject;
  /** The choice; 0 unless given. */
  readonly index?: number;
  /** `stop`, `length`, `tool_calls`, `content_filter`: ends this choice. A stream is complete when every choice has ended. */
  readonly finish_reason?: string;
  /** `{ prompt_tokens, completion_tokens, … }`, as in OpenAI's format. */
  readonly usage?: JsonObject;
  readonly id?: string;
  readonly model?: string;
}

/** Reads one stream; may keep state between events. */
export interface FormatStream {
  /** `name`: the `event:` field, or null. `data`: the `data:` field, or the line. */
  event(event: {
    readonly name: string | null;
    readonly data: string;
  }): FormatPiece | readonly FormatPiece[] | undefined;
}

/** An error, in the shape of OpenAI's format. */
export interface FormatError {
  readonly message: string;
  readonly type?: string;
  readonly param?: string | null;
  readonly code?: string | null;
}

/** A wire format that a plugin brings for its providers. Its functions are synchronous. */
export interface PluginFormat {
  /** The requests that it converts: `chat` (default), in every client format, or `embeddings`. */
  readonly kind?: 'chat' | 'embeddings';
  /** Returns the body for the provider. `request`: in OpenAI's format, frozen. */
  request(request: JsonObject, call: FormatRequest): JsonObject;
  /** Returns the answer in OpenAI's format; for chat, `choices` and, if the provider reports it, `usage` are enough. */
  reply(answer: JsonObject, call: FormatAnswer): JsonObject;
  /** Reads an error: returns it, or its message. `body` is null if it is not JSON. Absent: the usual shapes are read. */
  error?(status: number, body: JsonObject | null, call: FormatAnswer): FormatError | string;
  /** Returns a reader for a new stream. Absent: requests for streams are refused. */
  stream?(call: FormatAnswer): FormatStream;
  /** How events are delimited in a stream: server-sent events (default), or lines of JSON. */
  readonly framing?: 'events' | 'lines';
  /** Content type of streams of lines; `application/x-ndjson` unless given. */
  readonly contentType?: string;
}

/** Formats by the name that `paths` of providers use. */
export type PluginFormats = Readonly<Record<string, PluginFormat>>;
