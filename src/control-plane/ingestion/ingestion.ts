import type { Ledger, LedgerBatch, RowBatch } from '../ledger/ledger.js';

export interface IngestionOptions {
  /** The folder of the journals. */
  readonly dir: string;
  readonly ledger: Ledger;
  /** Applies the batches of a writer, and is called when there will be no more; absent: the ledger applies them. */
  readonly writers?: {
    apply(pid: number, batch: LedgerBatch): Promise<void>;
    ended(pid: number): void;
  };
  readonly onProblem: (error: Error) => void;
  /** Called with the settled rows of each batch that the ledger has taken; they are valid during the call only. Each row once, also after a failure. */
  readonly onSettled?: (rows: RowBatch) => void;
  readonly intervalMs?: number;
  /** Bytes of bodies that are kept; the oldest are deleted first. */
  readonly maxBodiesBytes?: number;
}

/** Turns journals into rows, for as long as the control process runs. */
export interface Ingestion {
  /** Resolves when all records in files at the time of the call are in the ledger, or a failure was reported. */
  flush(): Promise<void>;
  /** As `flush`, of rows alone: bodies are read as far as in any pass. */
  flushRows(): Promise<void>;
  /** Resolves when what was on file at the start was read for the first time, or a failure was reported. */
  readonly firstPass: Promise<void>;
  /** A worker's process has ended: its open intents become `unknown`. */
  workerGone(worker: string, pid: number): Promise<void>;
  /** Milliseconds since all that was on file then was in the ledger. */
  readonly behindMs: number;
  stop(): Promise<void>;
}
