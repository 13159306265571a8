import type { Exchange } from '../../src/core/exchange.js';
import type { Asked } from './asked.js';

/** Where answers are found by what their questions mean. Whatever fails in it is a miss. */
export interface SemanticIndex {
  /**
   * Name of the stored answer whose question means the same as this call's; null: none does, or this call is not of
   * the kind that is compared. `wall`: everything but the body that may not differ; it is to be hashed, never kept.
   */
  find(x: Exchange, asked: Asked, wall: string): Promise<string | null>;
  /** An answer to this call's question is stored under `key`. */
  add(x: Exchange, asked: Asked, wall: string, key: string): void;
}
