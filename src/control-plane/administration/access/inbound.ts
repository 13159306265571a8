import type { Message } from '../../../../proto/codec.js';
import type { AdminMethod } from '../../../../proto/tree.js';

/** What a request has to prove where a cookie signs in: other sites can make a browser send that. */
export interface CookieProof {
  /** Sent back: the session's CSRF token. */
  readonly tokens: readonly string[];
  /** Does the request change something, by its verb? */
  readonly changes: boolean;
  /** Did another site make it, as the browser reports? */
  readonly isForeign: boolean;
}

/** By which a caller is identified. */
export interface CallCredentials {
  /** The key's text, or the token of a session. Throws AB05 where the request brought none, or several. */
  key(): string;
  /** null: no cookie signs in. */
  readonly cookie?: CookieProof | null;
  /** IP address of the peer; empty where it has gone. */
  readonly address: string;
}

/** A call as a transport hands it over. */
export interface Inbound extends CallCredentials {
  readonly method: AdminMethod;
  readonly requestId: string;
  /** The request; read when the caller is known. Throws AB01 for one that cannot be read. */
  read(): Message;
  /** The fields of such a request that can be read all the same; null, or absent: none can. */
  readValid?(): Message | null;
  readonly userAgent: string | null;
  /** As it came over REST; null over gRPC. */
  readonly rest: { readonly verb: string; readonly uri: string; readonly query: string } | null;
  /** Unix milliseconds by which it must be answered; streams go on. */
  readonly deadline: number;
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal;
}
