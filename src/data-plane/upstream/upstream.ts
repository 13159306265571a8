import type { Source } from '../../common/bytes/body.js';
import type { GatewayError } from '../../common/core/errors.js';
import type { HeaderList } from '../../common/http/headers.js';
import type { PreparedRequest } from './prepared-request.js';

/** Four waits, four errors. Milliseconds; 0 turns one off. */
export interface Timeouts {
  /** Until a connection is open (place in the pool, name, TCP, TLS): `upstream_connect_timeout`. */
  readonly connectMs: number;
  /** From the sent request to the head: `upstream_headers_timeout`. */
  readonly headersMs: number;
  /** From the head to the first byte of the body: `upstream_first_token_timeout`. */
  readonly firstTokenMs: number;
  /** Between two chunks of the body: `upstream_idle_timeout`. */
  readonly idleMs: number;
}

/**
 * Identifies a request's credential: by the credential itself, or by the id of the stored provider that has it. A
 * symbol is for the gateway's own requests; no caller can name it.
 */
export type ConnectionScope = string | symbol;

export interface UpstreamRequest {
  readonly method: string;
  /** Absolute http(s) URL. */
  readonly url: string;
  /**
   * Without those of the connection and the framing, which are written here; with a Source, `content-length` is used.
   */
  readonly headers: HeaderList;
  /** The same URL and headers, where many requests have them in common; null: only this one is known to have them. */
  readonly prepared?: PreparedRequest | null;
  /** A Source starts when the connection is open; one that was not started stays usable for another target. */
  readonly body: Buffer | Source | null;
  /** Was the address influenced by the caller (custom host)? Then egress rules apply. */
  readonly callerChosen: boolean;
  /**
   * Is this the gateway's own request about its own identity, to an address that no tenant influences? Then it may go
   * to a metadata service, with that service's headers, over a separate connection.
   */
  readonly ownIdentity?: boolean;
  /**
   * Id of the request's workspace, or of the organisation if its key has no workspace. A keep-alive
   * connection carries the requests of one tenant and one account only.
   */
  readonly tenant: string;
  readonly account: ConnectionScope;
  readonly timeouts: Timeouts;
  /** Bytes of a body above which the error is `upstream_too_large`; 0: no limit. */
  readonly maxBodyBytes: number;
}

/** Grammar: `head (data* end) | error` or `head data* error`; after `end` or `error`, nothing. */
export interface UpstreamHandler {
  /** Names lower-case; without hop-by-hop and framing headers, except the `content-length` of an answer to HEAD. */
  head(status: number, headers: HeaderList): void;
  /** false: pause, until `resume()`. The handler may keep the chunk. */
  data(chunk: Buffer): boolean;
  end(): void;
  error(error: GatewayError): void;
}

export interface UpstreamFlight {
  /** Was any byte of the request sent? */
  readonly sent: boolean;
  resume(): void;
  /** Destroys the connection (its reply may be half read) and makes no more calls. */
  cancel(): void;
}

/** Sends requests to providers. One per data worker; owns the pools. */
export interface Upstream {
  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamFlight;
  /** Cuts requests in flight (their handlers get `draining`) and closes every connection. Drain before. */
  close(): Promise<void>;
}
