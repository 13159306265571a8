import type { LogFilters } from '../log-filters.js';
import type { LogSight } from './log-sight.js';

/** What rows are sorted by. Equal ones: the later first, in an ascending order the earlier first. */
export const logOrders = ['created_at', 'cost', 'total_units', 'response_time'] as const;

export interface LogOrder {
  /** Rows of unknown cost are last in either direction. */
  readonly by: (typeof logOrders)[number];
  readonly isAscending: boolean;
}

export const newestFirst: LogOrder = { by: 'created_at', isAscending: false };

/** A page of the visible requests that match the filters. */
export interface LogQuery {
  readonly sight: LogSight;
  readonly filters: LogFilters;
  readonly order: LogOrder;
  readonly offset: number;
  readonly limit: number;
  /** Are all that match counted? */
  readonly isCounted: boolean;
}

/** The rows that arrived after a cursor, in the order of ingestion. */
export interface LogFollowing {
  readonly sight: LogSight;
  readonly filters: LogFilters;
  readonly after: string;
  readonly limit: number;
  /** Most rows to read, if the database supports that: few may match, and the cursor still advances. */
  readonly scan?: number;
  /**
   * Does the reader not continue later? Then it gets all present rows. Others get the rows before the oldest open transaction
   * on the server, since rows may still be inserted between later ones.
   */
  readonly isOnce?: true;
  /** Names of the ledger's fields to read, `rest` among them; all unless given. Other fields of a row are null or empty. */
  readonly columns?: readonly string[];
}
