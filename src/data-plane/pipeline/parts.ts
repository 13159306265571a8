import type { OwnIdentities } from '../../common/access/own-identity.js';
import type { Directory } from '../../common/core/directory.js';
import type { Format } from '../../common/core/endpoint.js';
import type { Usage } from '../../common/core/usage.js';
import type { Journal } from '../../common/ledger/record.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { PriceBook } from '../../common/prices/pricing.js';
import type { BodyReader as EndpointBodyReader } from '../endpoints/body-reader.js';
import type { TokenCounter as LedgerTokenCounter } from '../journal/token-counter.js';
import type { ClientFormat } from '../providers/client-formats/client-format.js';
import type { ChatFormat, ProviderDefinition, WireFormat } from '../providers/provider.js';
import type { Call } from '../transport/transport.js';
import type { Timeouts, Upstream } from '../upstream/upstream.js';
import type { Chain } from './chain.js';
import type { OpenExchanges } from './open-exchanges.js';
import type { PreparedCalls } from './outgoing/prepared-calls.js';
import type { AbandonedRequests } from './request/abandoned-requests.js';

export type BodyReader = Pick<EndpointBodyReader, 'readLong' | 'readAnswer'>;
export type TokenCounter = Pick<LedgerTokenCounter, 'count' | 'exceeds'>;

export interface Pricing extends Pick<PriceBook, 'quoteOf'> {
  /** Picodollars of an answered call, by the price of the day; null: not known, as `usage` may be. `at`: Unix milliseconds. */
  cost(provider: string, model: string, usage: Usage | null, at: number): number | null;
  /** The highest cost of a request, by its size and its `max_tokens`; null: no price is known. */
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

/** Everything that handles requests, assembled once per data worker. */
export interface Parts {
  readonly directory: Directory;
  readonly providers: ReadonlyMap<string, ProviderDefinition>;
  readonly formats: ReadonlyMap<Format, ChatFormat>;
  readonly clientFormats: ReadonlyMap<Format, ClientFormat>;
  /** Formats of embeddings at other providers, by the client's format, which is the canonical one. */
  readonly plainFormats: ReadonlyMap<Format, readonly WireFormat[]>;
  readonly upstream: Upstream;
  readonly calls: PreparedCalls;
  readonly bodies: BodyReader;
  readonly counter: TokenCounter;
  readonly pricing: Pricing;
  readonly journal: Journal;
  readonly timeouts: Timeouts;
  readonly limits: PipelineLimits;
  readonly headerPrefixes: readonly string[];
  /** `debug` with each prefix: the header by which a call keeps its bodies out of the logs. */
  readonly debugHeaders: readonly string[];
  /** Headers that name others whose values are masked in logs. */
  readonly sensitiveHeaders: readonly string[];
  readonly logBodies: boolean;
  /** Are spans exported? Then calls without a trace of the client's begin one. */
  readonly sendsTraces: boolean;
  readonly ownIdentities: OwnIdentities;
  /** Called when a provider has refused a stored credential. Absent: not reported. */
  readonly credentialRefused?: (workspaceId: string, slug: string) => void;
  readonly log: Logger;
}

/** The parts, with the chain composed of them. */
export interface Pipeline extends Parts {
  /** That of new exchanges. */
  chain: Chain;
  readonly open: OpenExchanges;
  /** null: a request ends when its client disconnects. */
  readonly abandoned: AbandonedRequests | null;
  /**
   * Takes over a call of the administration plane; the control process answers it. `path`: in canonical form.
   * null: this node has none.
   */
  readonly admin: ((call: Call, path: string) => void) | null;
  /** If true, new calls are refused with 503. */
  draining: boolean;
}
