import type { Format } from '../../common/core/endpoint.js';
import type { JsonObject } from '../../common/core/exchange.js';
import type { Usage } from '../../common/core/usage.js';
import type { HeaderList } from '../../common/http/headers.js';
import type { Authorizer } from './auth/authorizer.js';
import type { CallFields } from './call-fields.js';
import type { InnerJson } from './inner-json.js';
import type { Framing } from './streams/framing.js';

/** How a provider wants its credential. */
export type Auth =
  | { readonly kind: 'bearer' }
  /** A credential that begins with `bearerPrefix` is a token of another kind and goes as a bearer instead. */
  | { readonly kind: 'header'; readonly name: string; readonly bearerPrefix?: string }
  /** A token or a signature, got or made for each call. */
  | { readonly kind: 'per-call'; readonly authorizer: Authorizer }
  | { readonly kind: 'none' };

/** A named edit of the outgoing body, a few lines, shared by rows. Returns a changed copy or the body itself. */
export interface Quirk {
  readonly name: string;
  apply(body: JsonObject): JsonObject;
}

/**
 * Is this base URL only a placeholder? Servers of one's own, and services with an address for each customer, have no
 * base URL until one is stored or sent.
 */
export const isPlaceholder = (base: string): boolean => base.includes('.needs-a-base-url.invalid/');

/** A provider: an address, an auth, and which format it speaks at which path. Most providers are this and no more. */
export interface ProviderDefinition {
  readonly name: string;
  /** Base URL, version segment included, no slash at the end. */
  readonly base: string;
  readonly auth: Auth;
  /** Sent with every call unless the client's own value is passed on. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Client headers that this provider understands and that go on unchanged, lower case. */
  readonly passHeaders?: readonly string[];
  /** Format → path below `base`; its presence is the capability. */
  readonly paths: Readonly<Partial<Record<Format, string>>>;
  /** Ends every address: `api-version=2024-10-21`. */
  readonly query?: string;
  /** What the model of this call is called here, where that is another name. */
  readonly model?: string;
  /** Did a field of the call or of the stored provider give `base`? Then it is judged as a custom host is. */
  readonly givenBase?: boolean;
  /**
   * For answers that differ from the format of the same name in `paths`; requests stay in that format. Or a chat format of a
   * plugin.
   */
  readonly dialect?: ChatFormat;
  /** An embeddings format of a plugin, whose name is in `paths`. */
  readonly embeddings?: EmbeddingFormat;
  /**
   * For a provider of OpenAI's chat that refuses a tool call whose thinking is not sent back with it, as
   * `reasoning_content` of the message. Requests of other formats' clients have it in `content_blocks`.
   */
  readonly wantsThinkingBack?: true;
  /** Applied to the body in the provider's own format, converted or not. */
  readonly quirks?: readonly Quirk[];
  /**
   * Where one row does not fit every call (a region in the host, a model in the path, a format by model): this provider
   * as this call needs it. Throws `invalid_request` with the field that is missing.
   */
  readonly forCall?: (call: RowCall) => ProviderDefinition;
  /** The page that documents these facts. */
  readonly source: string;
}

/** What a row may depend on. */
export interface RowCall {
  /** The client format; `none` for passthrough. */
  readonly format: Format;
  /** null where the call names none. */
  readonly model: string | null;
  readonly streaming: boolean;
  readonly fields: CallFields;
  /** Is the address given as a whole already, so that `base` does not count? */
  readonly hasBase: boolean;
}

/** An OpenAI chat request: the one canonical shape in which formats meet. */
export type CanonicalRequest = JsonObject;
/** An OpenAI `chat.completion`. */
export type CanonicalReply = JsonObject;
/** An OpenAI `chat.completion.chunk`. */
export type CanonicalChunk = JsonObject;

export interface ConversionContext {
  /** Provider name, for the `provider` field of converted answers and the prefix of error messages. */
  readonly provider: string;
  /** `x-gateway-strict-open-ai-compliance`: false adds content_blocks and provider-only fields. */
  readonly strict: boolean;
  /**
   * The client speaks a format of its own that has a place for thinking: `strict` is false then, but finish reasons
   * stay OpenAI's, since it is they that are translated further.
   */
  readonly canonicalReasons?: boolean;
  /** Did the client set `stream_options.include_usage`? */
  readonly includeUsage: boolean;
  /** The canonical request, where an answer cannot be written without it: embeddings and their like. */
  readonly request?: CanonicalRequest;
  /** The requested model, if an answer does not name its own. */
  readonly model?: string | null;
  /** Headers of the answer, in which some providers send its id, the name of an error, or counts. Set when its head arrives. */
  headers?: HeaderList;
}

export interface WireRequest {
  readonly body: JsonObject;
  /** Paths of fields that this format cannot take and that were left out. */
  readonly dropped: readonly string[];
}

/** The body of an error answer, OpenAI shape. */
export interface WireError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** One event of a wire stream → canonical chunks. Holds the state of one stream. */
export interface StreamReader {
  /** `name`: the `event:` field or ''. Throws `upstream_stream_error` when the event is the provider's error. */
  event(name: string, data: string): readonly CanonicalChunk[];
  /** The remaining chunks of a complete stream, where its format has no event for the end. */
  end?(): readonly CanonicalChunk[];
  /** Was the format's own end seen? An end of bytes without it is a truncated stream. */
  readonly done: boolean;
  readonly usage: Usage;
  readonly model: string | null;
}

/** A wire shape: how the canonical shape of its kind (chat, embeddings) is written in it and read from it. */
export interface WireFormat {
  readonly name: Format;
  /** Throws `unsupported_by_provider` or `invalid_request` (with `param`) for what it cannot express. */
  toWire(request: CanonicalRequest, inner: InnerJson): WireRequest;
  /** Throws `upstream_invalid_response`. */
  fromWire(body: JsonObject, context: ConversionContext): CanonicalReply;
  errorFromWire(status: number, body: JsonObject | null, context: ConversionContext): WireError;
  usage(body: JsonObject, context?: ConversionContext): Usage | null;
}

/** A wire shape of chat. */
export interface ChatFormat extends WireFormat {
  /** How its stream is cut into events; server-sent events by default. */
  readonly framing?: Framing;
  stream(context: ConversionContext): StreamReader;
}

/** A wire shape of calls that only count the input tokens of a chat. */
export interface CountFormat extends Pick<WireFormat, 'name' | 'toWire' | 'errorFromWire'> {
  /** null: the answer has no count. */
  count(answer: JsonObject): number | null;
}

/** A wire shape of embeddings, answered whole; canonical is OpenAI's `POST /v1/embeddings`. */
export type EmbeddingFormat = WireFormat;
