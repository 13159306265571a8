import type { LedgerRow } from '../../src/common/ledger/record.js';
import { Follower } from '../../src/control-plane/analytics/duckdb/follower.js';
import { PostgresAnalytics } from '../../src/control-plane/analytics/postgres.js';
import type { Analytics } from '../../src/control-plane/analytics/question.js';
import { PostgresCopies } from '../../src/control-plane/analytics/rollups/postgres-copies.js';
import { PostgresRollups } from '../../src/control-plane/analytics/rollups/postgres-rollups.js';
import type { InConnection } from '../../src/control-plane/analytics/rollups/postgres-work.js';
import type { BudgetLedger, LedgerBatch } from '../../src/control-plane/ledger/ledger.js';
import { openPostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';

export interface AskedLedger {
  readonly ledger: BudgetLedger;
  readonly analytics: Analytics;
  /** Rolls up days that ended before `now`, and copies them where there are copies. */
  rollUp(now: number): Promise<unknown>;
  close(): Promise<void>;
}

const node = '0190a1b2-0000-7000-8000-0000000000a1';

/** A ledger, and analytics of it in this process. `databaseUrl` null: SQLite. */
export async function openAskedLedger(
  dataDir: string,
  databaseUrl: Parameters<typeof openPostgresLedger>[0]['url'] | null,
): Promise<AskedLedger> {
  if (databaseUrl !== null) {
    const ledger = await openPostgresLedger({ url: databaseUrl, node });
    const apart: InConnection = (work) => ledger.statements.apart(work);
    return {
      ledger,
      analytics: new PostgresAnalytics(ledger.statements),
      async rollUp(now) {
        await new PostgresRollups(apart).rollUp(now);
        await new PostgresRollups(apart).rollUpWeeks();
        await new PostgresCopies(apart).copy(now, 60_000);
      },
      close: () => ledger.close(),
    };
  }
  const ledger = await openLedger({ dataDir });
  const follower = await Follower.open(dataDir);
  // One question after the other, as the process answers them.
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = turn.then(async () => {
      await follower.catchUp(60_000);
      return work();
    });
    turn = done.catch(() => {});
    return done;
  };
  return {
    ledger,
    analytics: { ask: (question) => inTurn(() => follower.file.ask(question)) },
    rollUp: () => inTurn(() => follower.rollUp(Number.POSITIVE_INFINITY, 0)),
    async close() {
      await follower.close();
      await ledger.close();
    },
  };
}

/** What ingestion puts in. */
export const batchOf = (given: readonly LedgerRow[]): LedgerBatch => ({
  settled: { packed: null, rows: given.filter(({ state }) => state === 'settled') },
  unknown: given.filter(({ state }) => state === 'unknown'),
  positions: new Map(),
  opened: [],
  closed: [],
});
