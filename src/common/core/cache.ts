import type { BodyRecord } from '../bytes/body-record.js';

/** What became of a call at the cache: value of its answer's header and of its log's column. */
export type CacheStatus = 'DISABLED' | 'HIT' | 'MISS' | 'REFRESH' | 'SEMANTIC HIT' | 'SEMANTIC MISS';

/** What an answer out of the cache spared. */
export interface Saved {
  /** Picodollars that the first answer cost; null: no price is known. */
  cost: number | null;
  /** Milliseconds that upstreams took for it. */
  ms: number;
  /** The answer, as much of it as is kept for the log. */
  readonly answer: BodyRecord | Buffer;
}

/** Others who wait for the answer of an exchange, beside its own client. */
export interface Company {
  /** The client has gone. true: others still wait, the exchange goes on, and `leave` is called once none does. */
  outlasts(leave: () => void): boolean;
}
