import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlHost, StageDatabase } from '../../../src/common/plugin-host/control.js';
import type { Counters } from './counters.js';
import { slotsPerWindow } from './window.js';

type Host = Pick<ControlHost, 'dataDir' | 'log' | 'openDatabase'>;

/** What was counted is written so many milliseconds late: as much is forgotten when the process is killed. */
const writeMs = 250;
const pruneMs = 60_000;
/** Counters for which one statement is made. */
const rowsPerWrite = 2000;

const schema = `
  CREATE TABLE IF NOT EXISTS windows (
    counter TEXT PRIMARY KEY,
    window_ms INTEGER NOT NULL,
    until INTEGER NOT NULL,
    counts TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS windows_until ON windows (until);`;

const write = `
  INSERT INTO windows (counter, window_ms, until, counts)
  SELECT value ->> 'name', value ->> 'windowMs', value ->> 'until', value ->> 'text' FROM json_each(?) WHERE true
  ON CONFLICT (counter) DO UPDATE SET until = excluded.until, counts = excluded.counts`;

interface Row {
  readonly counter: string;
  readonly window_ms: number;
  readonly counts: string;
}

/** Keeps what windows have counted in `<data dir>/limits.db`, so that a restart does not start them again from 0. */
export class KeptWindows {
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;
  #pruned = 0;
  #writing: Promise<void> = Promise.resolve();

  private constructor(
    readonly database: StageDatabase,
    readonly counters: Counters,
    readonly host: Host,
  ) {}

  /** Reads what an earlier process has counted. null: the file cannot be had; the log has the reason. */
  static async open(counters: Counters, host: Host): Promise<KeptWindows | null> {
    const path = join(host.dataDir, 'limits.db');
    try {
      const database = await opened(path, host).catch(() => {
        // Damaged: the counts of the windows are lost, and no request has to wait for a person.
        for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true });
        return opened(path, host);
      });
      const kept = new KeptWindows(database, counters, host);
      await kept.#read();
      counters.onChange = () => kept.#wait();
      // What has changed while that was read.
      kept.#wait();
      return kept;
    } catch (error) {
      host.log.error(
        { err: error },
        'limits.db cannot be opened: rate limits start from 0 with each restart',
      );
      return null;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#writing;
    await this.#write();
    await this.database.close();
  }

  async #read(): Promise<void> {
    const now = Date.now();
    await this.database.run('DELETE FROM windows WHERE until <= ?', [now]);
    const rows = await this.database.all<Row>('SELECT counter, window_ms, counts FROM windows');
    for (const { counter, window_ms: windowMs, counts } of rows)
      this.counters.restore(counter, windowMs, JSON.parse(counts));
  }

  #wait(): void {
    if (this.#isClosed || this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#writing = this.#writing
        .then(() => this.#write())
        .catch((error) => this.host.log.error({ err: error }, 'limits.db'));
    }, writeMs).unref();
  }

  async #write(): Promise<void> {
    const now = Date.now();
    const rows = this.counters.changes().map((change) => ({
      ...change,
      until: now + change.windowMs + change.windowMs / slotsPerWindow,
    }));
    for (let i = 0; i < rows.length; i += rowsPerWrite)
      await this.database.run(write, [JSON.stringify(rows.slice(i, i + rowsPerWrite))]);
    if (now - this.#pruned < pruneMs) return;
    this.#pruned = now;
    await this.database.run('DELETE FROM windows WHERE until <= ?', [now]);
  }
}

async function opened(path: string, host: Host): Promise<StageDatabase> {
  // Made here for its mode, which SQLite gives to the files beside it as well.
  closeSync(openSync(path, 'a', 0o600));
  const database = await host.openDatabase(path, [
    'busy_timeout = 1000',
    'journal_mode = WAL',
    'synchronous = OFF',
  ]);
  await database.exec(schema);
  return database;
}
