import type { BodyRecord } from '../bytes/body-record.js';

/** Cache status of a call: the value of the answer's header and of the log's column. */
export type CacheStatus = 'DISABLED' | 'HIT' | 'MISS' | 'REFRESH' | 'SEMANTIC HIT' | 'SEMANTIC MISS';

/** What a cached answer saved. */
export interface Saved {
  /** Picodollars that the first answer cost; null: no price is known. */
  cost: number | null;
  /** Milliseconds that upstreams took for it. */
  ms: number;
  /** The part of the answer that is kept for the log. */
  readonly answer: BodyRecord | Buffer;
}

/** Other calls that wait for the answer of an exchange, beside its own client. */
export interface Company {
  /**
   * The client has disconnected. true: others still wait, the exchange continues, and `leave` is called when none does.
   */
  outlasts(leave: () => void): boolean;
}
