import type { Source } from '../../common/bytes/body.js';
import type { GatewayError } from '../../common/core/errors.js';
import type { HeaderList } from '../../common/http/headers.js';

/** Four waits, four errors. Milliseconds; 0 turns one off. */
export interface Timeouts {
  /** A free place in the pool, the name, TCP and TLS: `upstream_connect_timeout`. */
  readonly connectMs: number;
  /** Request sent, no head yet: `upstream_headers_timeout`. */
  readonly headersMs: number;
  /** Head there, no byte of the body yet: `upstream_first_token_timeout`. */
  readonly firstTokenMs: number;
  /** Between two chunks of the body: `upstream_idle_timeout`. */
  readonly idleMs: number;
}

/**
 * What a request authenticates with: what its credential is known by, or the id of the stored provider that has it. A symbol
 * is a purpose of the gateway's own, which no caller can name.
 */
export type ConnectionScope = string | symbol;

export interface UpstreamRequest {
  readonly method: string;
  /** Absolute http(s) URL. */
  readonly url: string;
  /** Without those of the connection and the framing, which are written here; `content-length` counts with a Source. */
  readonly headers: HeaderList;
  /** A Source starts when the connection is open; one that was not started is left alone, for another target. */
  readonly body: Buffer | Source | null;
  /** Was the address influenced by the caller (custom host)? Then egress rules apply. */
  readonly callerChosen: boolean;
  /**
   * Is this the gateway's own question about its own identity, to an address that no tenant influences? Then it may go
   * to a metadata service, with the headers of one, by a connection of its own.
   */
  readonly ownIdentity?: boolean;
  /**
   * Id of the workspace the request is sent for, or of the organisation where its key has no workspace. A kept
   * connection carries the requests of one tenant and one account only.
   */
  readonly tenant: string;
  readonly account: ConnectionScope;
  readonly timeouts: Timeouts;
  /** Bytes of body after which it is `upstream_too_large`; 0: no cap. */
  readonly maxBodyBytes: number;
}

/** Grammar: `head (data* end) | error` or `head data* error`; after `end` or `error`, nothing. */
export interface UpstreamHandler {
  /** Names lower-case; hop-by-hop and framing headers are already gone, but for the `content-length` of an answer to HEAD. */
  head(status: number, headers: HeaderList): void;
  /** false: pause, until `resume()`. The chunk is the handler's to keep. */
  data(chunk: Buffer): boolean;
  end(): void;
  error(error: GatewayError): void;
}

export interface UpstreamFlight {
  /** Has any of the request left? */
  readonly sent: boolean;
  resume(): void;
  /** Destroys the connection (its reply may be half read) and calls nothing more. */
  cancel(): void;
}

/** Sends requests to providers. One per data worker; owns the pools. */
export interface Upstream {
  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamFlight;
  /** Cuts requests in flight (their handlers get `draining`) and closes every connection. Drain before. */
  close(): Promise<void>;
}
