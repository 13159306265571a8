import type { Secret } from '../../common/access/secret.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { Settings } from '../../common/settings/settings.js';
import { PostgresAnalytics } from '../../control-plane/analytics/postgres.js';
import { PostgresCopies } from '../../control-plane/analytics/rollups/postgres-copies.js';
import { PostgresCounts } from '../../control-plane/analytics/rollups/postgres-counts.js';
import { PostgresRollups } from '../../control-plane/analytics/rollups/postgres-rollups.js';
import { LaterLedger, LedgerFailure } from '../../control-plane/ledger/postgres/failure.js';
import { openPostgresLedger, type PostgresLedger } from '../../control-plane/ledger/postgres/ledger.js';
import { hasSqliteLedger, takeOver } from '../../control-plane/ledger/take-over.js';
import { upgradeReport } from '../../control-plane/ledger/upgrade-report.js';
import { RefusedStart } from '../../control-plane/store/files/refused-start.js';

export interface SharedLedgerOptions {
  readonly settings: Pick<Settings, 'dataDir' | 'ledgerBodiesBytes' | 'role'>;
  readonly url: Secret;
  readonly node: string;
  readonly log: Logger;
}

/** Failures that a change of the settings ends: a user, a password, a database, a right. */
const misconfigured = /^(28...|3D000|42501)$/;

/**
 * Opens the ledger in PostgreSQL. Where PostgreSQL is away the gateway starts all the same: its journals wait. Rows of a
 * ledger in SQLite come first, and are waited for, so that none is invisible. Throws RefusedStart.
 */
export async function openSharedLedger({
  settings,
  url,
  node,
  log,
}: SharedLedgerOptions): Promise<PostgresLedger> {
  const { dataDir, ledgerBodiesBytes, role } = settings;
  const ledger = await openPostgresLedger({
    url,
    node,
    bodiesBytes: ledgerBodiesBytes,
    makes: role === 'all',
    onProblem: (error) => log.warn({ err: error }, 'ledger'),
  });
  const analytics = new PostgresAnalytics(ledger.statements);
  ledger.reading.counter = (about) => analytics.count(about);
  const rollups = new PostgresRollups((work) => ledger.statements.apart(work));
  ledger.beforeExpiry = async () => {
    const days = await rollups.rollUp(Date.now());
    // Rows may be deleted without them.
    await rollups.rollUpWeeks().catch((err: unknown) => log.warn({ err }, 'weeks could not be rolled up'));
    return days;
  };
  try {
    await prepared(ledger, dataDir, log);
    return ledger;
  } catch (error) {
    await ledger.close();
    throw error;
  }
}

async function prepared(ledger: PostgresLedger, dataDir: string, log: Logger): Promise<void> {
  const isTakenOver = !hasSqliteLedger(dataDir);
  try {
    await ledger.prepare();
    if (isTakenOver) return;
    const kept = await takeOver({
      dataDir,
      to: ledger,
      onProgress: upgradeReport(log, 'The ledger in SQLite is taken over into PostgreSQL'),
      onUpgrade: upgradeReport(log),
    });
    log.info({ file: kept }, 'The ledger in SQLite is taken over; its file is kept under another name.');
  } catch (error) {
    if (error instanceof LaterLedger) throw new RefusedStart(error.message);
    if (!(error instanceof LedgerFailure)) throw error;
    if (misconfigured.test(error.code)) {
      throw new RefusedStart(
        `The ledger cannot be opened: ${error.message}. Check that LEDGER_DATABASE_URL, or DATABASE_URL, names a database this user may write to.`,
      );
    }
    if (!isTakenOver) {
      throw new RefusedStart(
        `The rows of ${dataDir}/ledger.db cannot be taken over: ${error.message}. Start again when PostgreSQL answers; it goes on where it stopped.`,
      );
    }
    log.warn({ err: error }, 'The ledger does not answer: rows wait in the journals until it does.');
  }
}

/** Copies requests of days that have ended: wide ranges with filters are read from these. */
export const copiesOf = (ledger: PostgresLedger): PostgresCopies =>
  new PostgresCopies((work) => ledger.statements.apart(work));

/** Counts requests of days that have ended, for the totals of pages of logs. */
export const countsOf = (ledger: PostgresLedger): PostgresCounts =>
  new PostgresCounts((work) => ledger.statements.apart(work));

/** Makes the partitions of the days to come and drops those whose time is over: the work of the schedule `partitions`. */
export async function maintainPartitions(
  ledger: PostgresLedger,
  { ledgerDays, ledgerBodiesBytes }: Pick<Settings, 'ledgerDays' | 'ledgerBodiesBytes'>,
  now: number,
  log: Logger,
): Promise<void> {
  await ledger.ensurePartitions(now);
  const { names } = await ledger.dropPartitions(now, ledgerDays === 0 ? null : ledgerDays, ledgerBodiesBytes);
  if (names.length > 0) log.info({ tables: names }, 'Partitions of the ledger were dropped.');
}
