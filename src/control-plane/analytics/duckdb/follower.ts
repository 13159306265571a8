import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteConnection } from '../../database/sqlite.js';
import { Changes } from './changes.js';
import { AnalyticsFile, type ChangedFeedback } from './file.js';
import { selectBytes, selectChanges, selectFeedback, selectLastChange } from './tables.js';

const batchRows = 8192;
const batchFeedback = 500;

/** Bytes of metadata in a batch, unless a single row has more: a batch is in memory three times. */
const batchBytes = 8 * 1024 * 1024;

/** Where the file is, and a mark beside it: the file is emptied and read from the ledger again. */
export const analyticsPath = (dataDir: string): string => join(dataDir, 'analytics.duckdb');
export const rebuildMark = (dataDir: string): string => join(dataDir, 'analytics.rebuild');

export interface Progress {
  readonly done: number;
  readonly total: number;
}

/** Keeps the file of DuckDB as far as the ledger in SQLite. */
export class Follower {
  private constructor(
    readonly file: AnalyticsFile,
    readonly ledger: SqliteConnection,
    readonly mark: string,
  ) {}

  static async open(dataDir: string): Promise<Follower> {
    const ledger = await SqliteConnection.open(join(dataDir, 'ledger.db'), [
      'busy_timeout = 5000',
      'query_only = ON',
      'cache_size = -8000',
    ]);
    try {
      return new Follower(await AnalyticsFile.open(analyticsPath(dataDir)), ledger, rebuildMark(dataDir));
    } catch (error) {
      await ledger.close();
      throw error;
    }
  }

  /** Reads what the ledger has more, for at most so many milliseconds. Has it read all? */
  async catchUp(limitMs: number, onProgress?: (progress: Progress) => void): Promise<boolean> {
    const end = performance.now() + limitMs;
    if (existsSync(this.mark)) await this.#rebuild();
    const total = await this.#total();
    let done = await this.file.cursor();
    // The ledger is another one than the file was made from: a backup was restored, or its data directory was emptied.
    if (total > 0 && total < done) {
      await this.file.clear();
      done = 0;
    }
    while (done < total) {
      const found = await this.ledger.allKept<Readonly<Record<string, string>>>(selectChanges, [
        done,
        await this.#batchAfter(done),
      ]);
      const rows = new Changes(found[0] ?? {});
      if (rows.last === null) break;
      await this.file.add(rows);
      done = rows.last;
      onProgress?.({ done, total });
      if (done < total && performance.now() >= end) return false;
    }
    await this.#readFeedback(done);
    return true;
  }

  /** Takes in what was changed of feedback. `upTo`: the last row that the file has; feedback at later ones waits. */
  async #readFeedback(upTo: number): Promise<void> {
    const [newest] = await this.ledger.allKept<{ n: number }>(selectLastChange, []);
    let done = await this.file.feedbackCursor();
    // As in `catchUp`, the ledger is another one: to read all of it again replaces what is there.
    if ((newest?.n ?? 0) < done) done = 0;
    for (;;) {
      const rows = await this.ledger.allKept<ChangedFeedback>(selectFeedback, [done, batchFeedback]);
      const later = rows.findIndex(({ seq }) => seq > upTo);
      const ready = later < 0 ? rows : rows.slice(0, later);
      await this.file.addFeedback(ready);
      if (later >= 0) return;
      done = ready.at(-1)?.n ?? done;
      if (rows.length === batchFeedback) continue;
      // The others up to the newest have no request. Once they have, they are changed again.
      if (newest !== undefined && newest.n > done) await this.file.moveFeedbackCursor(newest.n);
      return;
    }
  }

  /** Makes rollups of days that have changed, for about so many milliseconds. `quietMs`: as in `AnalyticsFile.rollUp`. */
  async rollUp(limitMs: number, quietMs?: number): Promise<void> {
    const end = performance.now() + limitMs;
    while (performance.now() < end) if (!(await this.file.rollUp(Date.now(), quietMs))) return;
  }

  /** How many rows after a cursor fit into a batch. */
  async #batchAfter(done: number): Promise<number> {
    for (let rows = batchRows; rows > 1; rows = Math.floor(rows / 2)) {
      const [found] = await this.ledger.allKept<{ bytes: number }>(selectBytes, [done, rows]);
      if ((found?.bytes ?? 0) <= batchBytes) return rows;
    }
    return 1;
  }

  async #rebuild(): Promise<void> {
    await this.file.clear();
    rmSync(this.mark, { force: true });
  }

  async #total(): Promise<number> {
    const [newest] = await this.ledger.allKept<{ top: number | null }>(
      'SELECT max(seq) AS top FROM exchanges',
      [],
    );
    return newest?.top ?? 0;
  }

  async progress(): Promise<Progress> {
    return { done: await this.file.cursor(), total: await this.#total() };
  }

  async close(): Promise<void> {
    this.file.close();
    await this.ledger.close();
  }
}
