import type { LogFilters } from '../log-filters.js';
import type { LogSight } from './log-sight.js';

/** What rows are sorted by. Equal ones: the later first, in an ascending order the earlier first. */
export const logOrders = ['created_at', 'cost', 'total_units', 'response_time'] as const;

export interface LogOrder {
  /** Rows whose cost is not known come last in either direction. */
  readonly by: (typeof logOrders)[number];
  readonly isAscending: boolean;
}

export const newestFirst: LogOrder = { by: 'created_at', isAscending: false };

/** A page of the requests that are in sight and that the filters leave. */
export interface LogQuery {
  readonly sight: LogSight;
  readonly filters: LogFilters;
  readonly order: LogOrder;
  readonly offset: number;
  readonly limit: number;
  /** Are all that match counted? */
  readonly isCounted: boolean;
}

/** What came in after a cursor, in the order of its ingestion. */
export interface LogFollowing {
  readonly sight: LogSight;
  readonly filters: LogFilters;
  readonly after: string;
  readonly limit: number;
  /** Looks at so many rows at most, where the database allows that: few may match, and the cursor still comes forward. */
  readonly scan?: number;
  /**
   * Does the reader not come back for what comes in later? Then it gets all rows that are there. Others get those before the oldest
   * transaction that is under way on the server, since rows may still come in between later ones.
   */
  readonly isOnce?: true;
  /** Names of the ledger's fields to read, `rest` among them; all unless given. Other fields of a row are null or empty. */
  readonly columns?: readonly string[];
}
