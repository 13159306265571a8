import type { Bodies, LedgerRow } from '../../../common/ledger/record.js';

/** A row on its way out of the gateway. */
export interface SentRow {
  readonly row: LedgerRow;
  /** null: they are not wanted, or there are none. */
  readonly bodies: Bodies | null;
}

/** Rows that are sent together. A batch that is sent again has the same id. */
export interface SentBatch {
  readonly id: string;
  readonly rows: readonly SentRow[];
}

/** Another system that gets the rows of requests, each at least once. */
export interface LogSink {
  readonly name: string;
  readonly wantsBodies: boolean;
  readonly batchRows: number;
  readonly batchMs: number;
  /** Resolves when the batch was accepted. Rejects with why not, without addresses, credentials or what was answered. */
  send(batch: SentBatch, signal: AbortSignal): Promise<void>;
}

/** Writes a row as a line of JSON, without the line break. */
export type LineOf = (sent: SentRow) => string;

/** It was not accepted; the message has the reason. */
export class SinkRefused extends Error {}
