import type { Message } from '../../../../proto/codec.js';
import type { AdminMethod } from '../../../../proto/tree.js';

/** By which a caller is identified. */
export interface CallCredentials {
  /** The key's text. Throws AB05 where the request brought none, or several. */
  key(): string;
  /** IP address of the peer; empty where it has gone. */
  readonly address: string;
}

/** A call as a transport hands it over. */
export interface Inbound extends CallCredentials {
  readonly method: AdminMethod;
  readonly requestId: string;
  /** The request; read when the caller is known. Throws AB01 for one that cannot be read. */
  read(): Message;
  readonly userAgent: string | null;
  /** As it came over REST; null over gRPC. */
  readonly rest: { readonly verb: string; readonly uri: string; readonly query: string } | null;
  /** Unix milliseconds by which it must be answered; streams go on. */
  readonly deadline: number;
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal;
}
