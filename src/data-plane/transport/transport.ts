import type { Sink, Source } from '../../common/bytes/body.js';
import type { GatewayError } from '../../common/core/errors.js';
import type { HeaderList } from '../../common/http/headers.js';

/**
 * One request and the methods to answer it. Everything readable was copied before the handler was called.
 * After `onAbort` fired, every method is a no-op: nothing here throws for a client that has disconnected.
 */
export interface Call {
  /** Upper case. */
  readonly method: string;
  /** As received, without the query. */
  readonly path: string;
  /** As received, without `?`; empty: there is none. */
  readonly query: string;
  readonly headers: HeaderList;
  /** Empty after the client has disconnected or the answer was sent, unless it was read before. */
  readonly remoteAddress: string;
  /** Has the client disconnected (or the connection broken)? */
  readonly aborted: boolean;
  /** Called at most once, when the client disconnects before the answer is complete. */
  onAbort: (() => void) | null;
  /**
   * Collects the body. `done` gets the bytes (the caller may keep them), or `body_too_large` as soon as `limit` is
   * exceeded; never before `collect` has returned, and not at all if the client disconnects first. Call either
   * `collect` or `stream`, once, in the handler's own turn.
   */
  collect(limit: number, done: (error: GatewayError | null, bytes: Buffer) => void): void;
  /**
   * The body as it arrives, with back-pressure. An upload over `limit` bytes ends with a `body_too_large` error; one
   * whose client disconnects ends with `client_gone`, after `onAbort`.
   */
  stream(limit: number): Source;
  /**
   * A whole answer at once: head and body in one write. `body` null: none. HEAD, 204 and 304 never get one; for HEAD,
   * `content-length` in `headers` is reported, or else the length of `body`. Framing headers and `date` in `headers`
   * are left out, headers that may not be written are too, and reported through `onProblem`. A second answer is
   * ignored.
   */
  answer(status: number, headers: HeaderList, body: Buffer | string | null): void;
  /**
   * An answer whose body follows through the returned sink, chunked. Its head is sent with the first bytes, or at the
   * end. Bytes of one turn are sent together.
   */
  begin(status: number, headers: HeaderList, resume: () => void): ReplySink;
}

/** Writes the body of a started answer. `data` returns false under back-pressure; `resume` (of `begin`) follows. */
export interface ReplySink extends Sink {
  data(chunk: Buffer | string): boolean;
  end(): void;
  /** Cuts the connection: a body that broke must never end cleanly. */
  error(error: GatewayError): void;
}

/** How a request is refused before it reaches the handler. */
export interface Refusal {
  /** Without those of the connection. */
  readonly headers: HeaderList;
  readonly body: string;
}

export interface TransportOptions {
  /** Called in the turn in which the head arrived. Errors that it throws become a 500. */
  readonly handler: (call: Call) => void;
  /** Bytes of request line and headers together. */
  readonly maxHeaderBytes: number;
  /**
   * Limit of connections; a further one is closed at once, without an answer. Default: as many as the system allows.
   */
  readonly maxConnections?: number;
  /** A client that reads no byte for this long is cut. Milliseconds. */
  readonly writeTimeoutMs: number;
  /**
   * The refusal in the format of this path (`/` where it cannot be read), for a request with these headers (none where
   * they cannot be read); plain text by default.
   */
  readonly refusal?: (error: GatewayError, path: string, headers: HeaderList) => Refusal;
  /** Called for the transport's own refusals and errors, for the process log. */
  readonly onProblem: (error: unknown, what: string) => void;
}

/**
 * Accepts HTTP/1.1 and passes calls to the handler. `uws.ts` and `node.ts` implement it; one contract suite tests both.
 */
export interface Transport {
  /**
   * Resolves with the bound port (useful with 0). Rejects if it is in use. `shared`: several processes may listen on it; the
   * first one rejects if another process already does.
   */
  listen(host: string, port: number, shared: boolean, isFirst?: boolean): Promise<number>;
  /** Answers from now on have `Connection: close`. New connections are accepted as before. */
  announceDrain(): void;
  /** No new connections; answers from now on have `Connection: close`. Calls in flight go on. */
  drain(): void;
  /** Closes everything at once. */
  close(): void;
  /** Calls that have not ended. */
  readonly inFlight: number;
}

/** The part of its transport that a call sees. */
export interface Serving {
  readonly options: TransportOptions;
  /** Is each connection to be closed after its answer? */
  readonly draining: boolean;
  /** Decremented by each call that ends. */
  inFlight: number;
}

export type { Source };
