import type { LedgerAlerts } from '../../common/ledger/alerts.js';
import type { ChargedBudget, LedgerBudgets } from '../../common/ledger/budgets.js';
import type { LogWriter } from '../../common/ledger/logs/log-writer.js';
import type { LogRetention } from '../../common/ledger/logs/retention.js';
import type { PackedRows } from '../../common/ledger/packed-rows.js';
import type {
  Intent,
  LedgerPage,
  LedgerReader,
  LedgerRow,
  LoggedHeaders,
} from '../../common/ledger/record.js';
import type { TableRows } from './budgets/take-over.js';
import type { Feedbacks } from './feedback/feedbacks.js';
import type { OrganisationTimes } from './organisation-times.js';

/** Settled rows; each id counts once, the first time. */
export interface RowBatch {
  /** Null: none. A database that takes rows has them by `unpack`. */
  readonly packed: PackedRows | null;
  readonly rows: readonly LedgerRow[];
}

/** An intent without its settlement so far, whose journal file is about to be deleted. */
export interface OpenIntent {
  /** Of the process that wrote it; kept as it is. */
  readonly writer: string;
  readonly intent: Intent;
}

/** Bodies of one request, as bytes. */
export interface BodiesInBytes {
  readonly id: string;
  readonly at: number;
  readonly org: string;
  readonly workspace: string | null;
  readonly cut: boolean;
  readonly request: Buffer | null;
  readonly response: Buffer | null;
  readonly headers?: LoggedHeaders | undefined;
}

/** What one step of reading a file of bodies changes, all of it or nothing. */
export interface BodyBatch {
  /** Kept until the call ends. */
  readonly bodies: readonly BodiesInBytes[];
  readonly source: string;
  /** Where reading goes on. null: the source is about to be deleted. */
  readonly position: number | null;
}

/** What one step of ingestion changes, all of it or nothing. */
export interface LedgerBatch {
  readonly settled: RowBatch | null;
  /** Rows of intents that are never settled any more. One that was settled after all stays as it is. */
  readonly unknown: readonly LedgerRow[];
  /** Where reading each source of rows goes on; kept as it is. null: the source is about to be deleted. */
  readonly positions: ReadonlyMap<string, number | null>;
  readonly opened: readonly OpenIntent[];
  /** Ids of intents that were kept open, and are so no more. */
  readonly closed: readonly string[];
  /** Rows of another ledger, whose budgets have their charges already? */
  readonly isCharged?: true;
}

/** Rows, and where to go on also for a reader that takes the first of them alone. */
export interface ChangesPage extends LedgerPage {
  /** The cursor after so many of the rows, at least one. */
  cursorAfter(count: number): string;
}

/**
 * The ledger: read by anyone, written by ingestion alone. `test/contract/ledger.test.ts` is what any implementation has to
 * pass. Its rows may be partitioned by day: a row's `at` never changes.
 */
export interface Ledger extends LedgerReader {
  /** One transaction. What its rows have added to budgets is returned. */
  apply(batch: LedgerBatch): Promise<readonly ChargedBudget[]>;
  /** Takes bodies, in one transaction. null: they stay in the files of the journals, where `bodies` finds them. */
  readonly keepBodies: ((batch: BodyBatch) => Promise<void>) | null;
  positions(): Promise<Map<string, number>>;
  openIntents(): Promise<OpenIntent[]>;
  /**
   * Rows of all organisations in the order of their ingestion, after a cursor: what rollups are derived from. '0' is the
   * beginning. A settlement that takes the place of an unknown row is a new row here.
   */
  changes(after: string, limit: number): Promise<ChangesPage>;
  /** Is all that was committed on disk for good? false: a reader prevents it, ask again. */
  checkpoint(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * A ledger that adds the charges of its rows to budgets, in the transaction that puts the rows in: of a row that is there already
 * none, and of a settlement that takes the place of an unknown row the difference.
 */
export interface BudgetLedger extends Ledger, LogWriter {
  /** Deletes what is older than that, in steps that no other work waits for. Resolves with how many rows went, as far as known. */
  expire(retention: LogRetention): Promise<number>;
  readonly budgets: LedgerBudgets;
  readonly alerts: LedgerAlerts;
  readonly feedbacks: Feedbacks;
  /** When the oldest and the newest request of each organisation came: a few looks into an index. */
  times(): Promise<readonly OrganisationTimes[]>;
  /** All rows of the tables of budgets, as another ledger takes them over. */
  readBudgets(): AsyncIterable<TableRows>;
}

/** A ledger that takes the rows of another one over. */
export interface TakingLedger extends Ledger {
  readonly feedbacks: Feedbacks;
  /** Adds rows of budgets, all or none, and notes that under `source`; nothing where it was noted before. */
  takeBudgets(source: string, tables: AsyncIterable<TableRows>): Promise<void>;
}
