import type { Directory } from '../core/directory.js';
import type { Format } from '../core/endpoint.js';
import type { OwnIdentities } from '../core/own-identity.js';
import type { Logger } from '../core/plugin.js';
import type { Usage } from '../core/usage.js';
import type { BodyReader as EndpointBodyReader } from '../endpoints/body-reader.js';
import type { Journal } from '../ledger/record.js';
import type { TokenCounter as LedgerTokenCounter } from '../ledger/token-counter.js';
import type { Door } from '../providers/doors/door.js';
import type { ChatFormat, Provider, WireFormat } from '../providers/provider.js';
import type { Call } from '../transport/transport.js';
import type { Timeouts, Upstream } from '../upstream/upstream.js';
import type { Chain } from './chain.js';

export type BodyReader = Pick<EndpointBodyReader, 'read' | 'readAnswer'>;
export type TokenCounter = Pick<LedgerTokenCounter, 'count'>;

export interface Pricing {
  /** Micro-dollars (10⁻⁶ USD); null where no price is known. */
  cost(provider: string, model: string, usage: Usage): number | null;
  /** What a request may cost at most, by its size and its `max_tokens`; null where no price is known. */
  reserve(provider: string, model: string, requestBytes: number, maxTokens: number | null): number | null;
}

export interface PipelineLimits {
  /** Bytes of a JSON body; more is `body_too_large`. */
  readonly maxBodyBytes: number;
  /** Bytes of an upstream answer that is collected; more is `upstream_too_large`. */
  readonly maxAnswerBytes: number;
  /** Bytes of an answer kept for logs and for counting. */
  readonly maxRecordBytes: number;
}

/** Everything a request meets on its way, put together once per data worker. */
export interface Parts {
  readonly directory: Directory;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly formats: ReadonlyMap<Format, ChatFormat>;
  readonly doors: ReadonlyMap<Format, Door>;
  /** By the client's format, which is their canonical shape: how others write embeddings. */
  readonly plainFormats: ReadonlyMap<Format, readonly WireFormat[]>;
  readonly upstream: Upstream;
  readonly bodies: BodyReader;
  readonly counter: TokenCounter;
  readonly pricing: Pricing;
  readonly journal: Journal;
  readonly timeouts: Timeouts;
  readonly limits: PipelineLimits;
  readonly headerPrefixes: readonly string[];
  readonly logBodies: boolean;
  readonly ownIdentities: OwnIdentities;
  readonly log: Logger;
}

/** The parts with the chain that was composed over them. */
export interface Pipeline extends Parts {
  readonly chain: Chain;
  /** Takes over a call of the administration plane; the control process answers it. */
  readonly admin: (call: Call) => void;
  /** New calls are refused with 503 once true. */
  draining: boolean;
}
