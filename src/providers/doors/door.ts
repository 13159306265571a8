import type { Format } from '../../core/endpoint.js';
import type { JsonObject } from '../../core/exchange.js';
import type { CanonicalChunk, CanonicalReply, CanonicalRequest } from '../provider.js';

/** What a call asks for that not every format says in its body. */
export interface Asked {
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
export interface DoorContext {
  /** The gateway's id of this exchange. */
  readonly requestId: string;
  readonly asked: Asked;
  /** The client's own body; never written to. */
  readonly body: JsonObject;
}

/** Canonical chunks of one stream → the client's bytes, as text. Holds the state of that stream. */
export interface StreamWriter {
  readonly contentType: string;
  /** '' where this chunk says nothing to this client. */
  chunk(chunk: CanonicalChunk): string;
  /** What is left to say, and the format's own end. Only called for a stream that came whole. */
  end(): string;
  /** In place of `end`, where that would be too long a text for one turn of the event loop. null: it is not. */
  endInSlices?(): Iterable<Buffer> | null;
}

/** An error as the canonical shape has it; every GatewayError is one. */
export interface DoorError {
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
}

/** How a client of a format is told of an error. */
export interface DoorErrors {
  /** A whole error answer, JSON text. */
  writeError(error: DoorError, origin: ErrorOrigin): string;
  /** The last event of a stream that broke. Never followed by the format's own end. */
  errorEvent(error: DoorError, origin: ErrorOrigin): string;
  /** A further header in which these clients look for the id of their request. */
  readonly requestIdHeader?: string;
}

/**
 * A format in which clients call: the mirror image of a ChatFormat. Through the canonical shape each door reaches
 * every provider; a provider that has a path for the door's own format gets the client's bytes instead.
 */
export interface Door extends DoorErrors {
  readonly name: Format;
  /** Throws `invalid_request` or `unsupported_by_provider` (with `param`) for what cannot be said canonically. */
  readRequest(body: JsonObject, asked: Asked): CanonicalIn;
  writeReply(reply: CanonicalReply, context: DoorContext): JsonObject;
  streamWriter(context: DoorContext): StreamWriter;
  /** The answer to a call that only counts input tokens; absent where the format has none. */
  writeCount?(tokens: number): JsonObject;
}

/** A client's format of answers that come whole, and the OpenAI shape through which it reaches other providers. */
export interface PlainDoor extends DoorErrors {
  readonly name: Format;
  /** Whose requests and answers the canonical ones are. */
  readonly canonical: Format;
  readRequest(body: JsonObject, asked: Asked): CanonicalIn;
  writeReply(reply: CanonicalReply, context: DoorContext): JsonObject;
}
