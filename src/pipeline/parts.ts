import type { Awaitable, Directory } from '../core/directory.js';
import type { Endpoint, Format } from '../core/endpoint.js';
import type { JsonObject } from '../core/exchange.js';
import type { HeaderList } from '../core/headers.js';
import type { Logger } from '../core/plugin.js';
import type { Usage } from '../core/usage.js';
import type { Journal } from '../ledger/record.js';
import type { ChatFormat, Provider } from '../providers/provider.js';
import type { Timeouts, Upstream } from '../upstream/upstream.js';
import type { Chain } from './chain.js';

/** What a body says, read once. */
export interface ReadBody {
  /** null for a body so large that only its summary was taken. */
  readonly json: JsonObject | null;
  readonly model: string | null;
  readonly stream: boolean;
}

export interface BodyReader {
  read(endpoint: Endpoint, headers: HeaderList, bytes: Buffer): Awaitable<ReadBody>;
}

/** Bytes of an answer (or as much as came) whose tokens nobody reported. */
export interface CountJob {
  readonly format: Format;
  readonly model: string | null;
  readonly request: Buffer | null;
  readonly answer: Buffer;
  readonly events: boolean;
}

export interface TokenCounter {
  count(job: CountJob): Promise<Usage | null>;
}

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
  readonly upstream: Upstream;
  readonly bodies: BodyReader;
  readonly counter: TokenCounter;
  readonly pricing: Pricing;
  readonly journal: Journal;
  readonly timeouts: Timeouts;
  readonly limits: PipelineLimits;
  readonly headerPrefixes: readonly string[];
  readonly logBodies: boolean;
  readonly log: Logger;
}

/** The parts with the chain that was composed over them. */
export interface Pipeline extends Parts {
  readonly chain: Chain;
  /** New calls are refused with 503 once true. */
  draining: boolean;
}
