import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerBatch, TakingLedger } from './ledger.js';
import { openLedger } from './sql.js';
import type { UpgradeProgress } from './sqlite-schema.js';

const batchRows = 2000;
/** Source under which the position in the SQLite ledger is kept. No file of a journal has such a name. */
const source = 'ledger.db';

/** Their budgets are taken over as they are: alerts that were written are not written again. */
const nothing: LedgerBatch = {
  isCharged: true,
  settled: null,
  unknown: [],
  positions: new Map(),
  opened: [],
  closed: [],
};

/** Has this data directory a ledger in SQLite whose rows are not in PostgreSQL yet? */
export const hasSqliteLedger = (dataDir: string): boolean => existsSync(join(dataDir, source));

export interface TakeOverOptions {
  readonly dataDir: string;
  /** Where the rows go. No ingestion may run meanwhile. */
  readonly to: TakingLedger;
  /** Called after each batch. */
  readonly onProgress: (progress: UpgradeProgress) => void;
  /** Of a ledger of an earlier version, before its rows are taken over. */
  readonly onUpgrade: (progress: UpgradeProgress) => void;
}

/**
 * Copies the rows of a data directory's SQLite ledger, where its journals were read up to, and the intents that are open.
 * May be interrupted anywhere: rows and the position that they were read up to arrive together. Returns the name that the
 * file has at the end, by which it is not taken over again.
 */
export async function takeOver({ dataDir, to, onProgress, onUpgrade }: TakeOverOptions): Promise<string> {
  const path = join(dataDir, source);
  const from = await openLedger({ dataDir, onUpgrade });
  try {
    // With no organisation there are no rows: only the last number is asked for.
    const total = Number((await from.recent({ org: '', limit: 1 })).cursor);
    let done = (await to.positions()).get(source) ?? 0;
    for (;;) {
      const { rows, cursor } = await from.changes(String(done), batchRows);
      if (rows.length === 0) break;
      done = Number(cursor);
      await to.apply({
        ...nothing,
        settled: { packed: null, rows: rows.filter(({ state }) => state === 'settled') },
        unknown: rows.filter(({ state }) => state === 'unknown'),
        positions: new Map([[source, done]]),
      });
      onProgress({ done, total });
    }
    for await (const feedbacks of from.feedbacks.all()) await to.feedbacks.take(feedbacks);
    await to.takeBudgets(`${source} budgets`, from.readBudgets());
    await to.apply({ ...nothing, positions: await from.positions(), opened: await from.openIntents() });
  } finally {
    await from.close();
  }
  const kept = `${path}.taken-over-${new Date().toISOString().replace(/[-:]|\.\d+Z$/g, '')}`;
  for (const end of ['', '-wal', '-shm']) if (existsSync(path + end)) renameSync(path + end, kept + end);
  return kept;
}
