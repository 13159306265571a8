import { createHash } from 'node:crypto';
import { scheduler } from 'node:timers/promises';
import type { LedgerRow } from '../../../common/ledger/record.js';
import type { Metric } from '../../../common/plugin-host/metrics.js';
import type { Logger } from '../../../common/plugin-host/plugin.js';
import type { Ledger } from '../../ledger/ledger.js';
import type { LogSink, SentBatch, SentRow } from './sink.js';

/** Places in the ledger, by name. */
export interface CursorStore {
  get(name: string): Promise<string | null>;
  set(name: string, cursor: string): Promise<void>;
}

export interface FollowerOptions {
  readonly sink: LogSink;
  readonly ledger: Pick<Ledger, 'recent' | 'changes' | 'bodies'>;
  readonly cursors: CursorStore;
  readonly log: Logger;
  /** Milliseconds before a refused batch is sent again, the first time and at most. */
  readonly waits?: { readonly first: number; readonly longest: number };
}

const usualWaits = { first: 1000, longest: 60_000 };
/** The ledger is asked for new rows at least so often. Milliseconds. */
const idleMs = 500;
/** The same problem is logged again after this long. Milliseconds. */
const remindMs = 60_000;
/** Bodies are on file so long after their request's end at the latest. Milliseconds. */
const bodiesMs = 2000;
/** A batch is not continued once the bodies in it have so many characters. */
const longestBodies = 8 * 1024 * 1024;

/**
 * Sends the rows of the ledger to a sink, in the order of their ingestion, from where it stopped. While the sink is away
 * the rows wait in the ledger, not in memory. A new sink gets what comes from now on.
 */
export class LedgerFollower {
  readonly #options: FollowerOptions;
  #sentRows = 0;
  #failures = 0;
  /** When the oldest row that is not sent came, Unix milliseconds; null: all known ones are sent. */
  #waitingSince: number | null = null;
  #problemAt = Number.NEGATIVE_INFINITY;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Follows until the signal is aborted. Rejects where the ledger or the cursors fail. */
  async follow(signal: AbortSignal): Promise<void> {
    const { sink, ledger, cursors } = this.#options;
    let cursor = await this.begin();
    while (!signal.aborted) {
      const page = await ledger.changes(cursor, sink.batchRows);
      const rows = this.#complete(page.rows);
      const due = this.#dueIn(rows);
      if (due > 0) {
        await pause(due, signal);
        continue;
      }
      const batch = await this.#batchOf(rows);
      const isWhole = batch.rows.length === page.rows.length;
      // Those whose bodies are not on file yet, or did not fit, come first in the next batch.
      const next = isWhole ? page.cursor : page.cursorAfter(batch.rows.length);
      if (!(await this.#deliver(batch, signal))) return;
      cursor = next;
      await cursors.set(sink.name, cursor);
    }
  }

  /**
   * The place in the ledger from which rows are sent. For a new sink that is its end now: called before the gateway serves,
   * so that no request is missed until the first run of `follow`.
   */
  async begin(): Promise<string> {
    const { sink, ledger, cursors } = this.#options;
    const known = await cursors.get(sink.name);
    if (known !== null) return known;
    // The newest place in the ledger is the same whichever organisation is asked for.
    const { cursor } = await ledger.recent({ org: '', limit: 1 });
    await cursors.set(sink.name, cursor);
    return cursor;
  }

  /** Those before the first whose bodies are wanted and may come yet. */
  #complete(rows: readonly LedgerRow[]): readonly LedgerRow[] {
    if (!this.#options.sink.wantsBodies) return rows;
    const now = Date.now();
    // An imported row may have any time, also one to come: only rows that have just ended wait for their bodies.
    const early = rows.findIndex(({ at, totalMs }) => Math.abs(at + totalMs - now) < bodiesMs);
    return early === -1 ? rows : rows.slice(0, early);
  }

  /** Milliseconds until these rows are to be sent; 0: now. */
  #dueIn(rows: readonly LedgerRow[]): number {
    const { batchMs, batchRows } = this.#options.sink;
    const [oldest] = rows;
    this.#waitingSince = oldest?.at ?? null;
    if (oldest === undefined) return Math.min(batchMs, idleMs);
    const age = Date.now() - oldest.at;
    if (rows.length >= batchRows || age < -idleMs) return 0;
    return Math.min(idleMs, Math.max(0, batchMs - age));
  }

  async #batchOf(rows: readonly LedgerRow[]): Promise<SentBatch> {
    const { sink, ledger } = this.#options;
    const sent: SentRow[] = [];
    let characters = 0;
    for (const row of rows) {
      if (characters >= longestBodies) break;
      const bodies = sink.wantsBodies ? await ledger.bodies(row.org, row.id) : null;
      characters += (bodies?.request?.length ?? 0) + (bodies?.response?.length ?? 0);
      sent.push({ row, bodies });
    }
    const names = sent.map(({ row: { id, state } }) => `${id} ${state}`).join('\n');
    return {
      id: createHash('sha256').update(`${sink.name}\n${names}`).digest('hex').slice(0, 32),
      rows: sent,
    };
  }

  /** Until the sink has accepted it. false: the signal was aborted before. */
  async #deliver(batch: SentBatch, signal: AbortSignal): Promise<boolean> {
    const { sink, log, waits = usualWaits } = this.#options;
    for (let waitMs = waits.first; ; waitMs = Math.min(2 * waitMs, waits.longest)) {
      try {
        await sink.send(batch, signal);
        this.#sentRows += batch.rows.length;
        return true;
      } catch (error) {
        if (signal.aborted) return false;
        this.#failures++;
        if (performance.now() - this.#problemAt > remindMs) {
          this.#problemAt = performance.now();
          const fields = { sink: sink.name, reason: (error as Error).message, rows: batch.rows.length };
          log.warn(fields, 'a log sink did not accept a batch: it is sent again');
        }
      }
      await pause(waitMs * (0.75 + Math.random() / 2), signal);
      if (signal.aborted) return false;
    }
  }

  metrics(): Metric[] {
    const labels = { sink: this.#options.sink.name };
    const lag = this.#waitingSince === null ? 0 : Math.max(0, Date.now() - this.#waitingSince) / 1000;
    return [
      { name: 'gateway_log_sink_lag_seconds', labels, value: lag },
      { name: 'gateway_log_sink_rows_total', labels, value: this.#sentRows },
      { name: 'gateway_log_sink_failures_total', labels, value: this.#failures },
    ];
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  scheduler.wait(ms, { signal }).catch(() => {});
