import type { Format } from '../../../common/core/endpoint.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import type { InnerJson } from '../inner-json.js';
import type { CanonicalChunk, CanonicalReply, CanonicalRequest } from '../provider.js';

/** Options of a call that not every format has in its body. */
export interface CallOptions {
  /** The model to ask the provider for; null where the call names none. */
  readonly model: string | null;
  readonly stream: boolean;
  /** false: the stream is to come in the format's other framing, where it has one. */
  readonly events?: boolean;
}

/** A client's body in the canonical shape. */
export interface CanonicalIn {
  readonly request: CanonicalRequest;
  /** Paths, as the client wrote them, of fields that have no place in the canonical shape. */
  readonly dropped: readonly string[];
  /** A path into `request` as the client would call it: `messages[2].content[0]` → `messages[1].content[0]`. */
  clientPath(path: string): string;
}

/** What an answer may need to know of its request. */
export interface ClientFormatContext {
  /** The gateway's id of this exchange. */
  readonly requestId: string;
  readonly asked: CallOptions;
  /** The client's own body; never written to. */
  readonly body: JsonObject;
}

/** Canonical chunks of one stream → the client's bytes, as text. Holds the state of that stream. */
export interface StreamWriter {
  readonly contentType: string;
  /** '' where this chunk has no event in this format. */
  chunk(chunk: CanonicalChunk): string;
  /** The remaining events, and the format's own end. Only called for a stream that came whole. */
  end(): string;
  /** In place of `end`, where that would be too long a text for one turn of the event loop. null: it is not. */
  endInSlices?(): Iterable<Buffer> | null;
}

/** An error as the canonical shape has it; every GatewayError is one. */
export interface CanonicalError {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** Where an error comes from. */
export interface ErrorOrigin {
  readonly requestId: string | null;
  /** null: the gateway itself. */
  readonly provider: string | null;
  /** The provider's own error object in the client's format, whose further fields the client may want. */
  readonly detail?: JsonObject | null;
}

/** How errors are written in a format. */
export interface ErrorFormat {
  /** A whole error answer, JSON text. */
  writeError(error: CanonicalError, origin: ErrorOrigin): string;
  /** The last event of a stream that broke. Never followed by the format's own end. */
  errorEvent(error: CanonicalError, origin: ErrorOrigin): string;
  /** Is the body of a provider's error just as this format's clients read it? Absent: never. */
  isOwn?(body: JsonObject | null): boolean;
  /** A further header in which these clients look for the id of their request. */
  readonly requestIdHeader?: string;
}

/**
 * A format in which clients call: the mirror image of a ChatFormat. Through the canonical format each client format
 * reaches every provider; a provider that has an endpoint for the client format itself gets the client's bytes instead.
 */
export interface ClientFormat extends ErrorFormat, RenamedBodies {
  readonly name: Format;
  /** Is it the canonical shape itself? */
  readonly isCanonical?: true;
  /** Does this body ask for the usage of its stream? Absent: every stream of the format has it. */
  wantsUsage?(body: JsonObject): boolean;
  /** Throws `invalid_request` or `unsupported_by_provider` (with `param`) for what the canonical format cannot express. */
  readRequest(body: JsonObject, asked: CallOptions, inner: InnerJson): CanonicalIn;
  writeReply(reply: CanonicalReply, context: ClientFormatContext): JsonObject;
  streamWriter(context: ClientFormatContext): StreamWriter;
  /** The answer to a call that only counts input tokens; absent where the format has none. */
  writeCount?(tokens: number): JsonObject;
  /** The request that such a call asks about, where that is not the body itself. */
  countedRequest?(body: JsonObject): JsonObject;
}

/** Where the model is in the address, and bodies may name it once more: a body for a model of another name. */
export interface RenamedBodies {
  /** The body itself where it names none. */
  renamed?(body: JsonObject, model: string): JsonObject;
}

/** A client's format of answers that come whole, and the OpenAI shape through which it reaches other providers. */
export interface PlainClientFormat extends ErrorFormat, RenamedBodies {
  readonly name: Format;
  /** Whose requests and answers the canonical ones are. */
  readonly canonical: Format;
  readRequest(body: JsonObject, asked: CallOptions, inner: InnerJson): CanonicalIn;
  writeReply(reply: CanonicalReply, context: ClientFormatContext): JsonObject;
}
