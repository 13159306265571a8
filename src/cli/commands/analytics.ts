import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Secret } from '../../common/access/secret.js';
import type { Settings } from '../../common/settings/settings.js';
import { CliError } from '../cli-error.js';
import { writeErrorLine, writeLine } from '../output/output.js';
import { registerResource } from '../resource.js';
import type { SessionContext } from '../session.js';

type LedgerPlace = Pick<Settings, 'dataDir' | 'databaseUrl' | 'ledgerDatabaseUrl'>;
interface AnalyticsContext extends SessionContext {
  settings(): ReturnType<SessionContext['settings']> & LedgerPlace;
}

/** `headgate analytics`. */
export function register(program: Command, context: AnalyticsContext): void {
  registerResource(program, context, 'Analytics')
    .command('rebuild')
    .description('rebuild analytics from the ledger; the gateway may be running')
    .action(() => rebuild(context.settings()));
}

async function rebuild({ dataDir, databaseUrl, ledgerDatabaseUrl }: LedgerPlace): Promise<void> {
  const url = ledgerDatabaseUrl ?? databaseUrl;
  if (url !== null) return rebuildShared(url);
  if (!existsSync(join(dataDir, 'ledger.db'))) throw new CliError(`There is no ledger in ${dataDir}.`, 2);
  const { Follower, rebuildMark } = await import('../../control-plane/analytics/duckdb/follower.js');
  writeFileSync(rebuildMark(dataDir), '', { mode: 0o600 });
  let follower: Awaited<ReturnType<typeof Follower.open>>;
  try {
    follower = await Follower.open(dataDir);
  } catch {
    // A running gateway has it open.
    writeLine('The gateway reads the ledger again before it answers the next question.');
    return;
  }
  try {
    let reportedAt = performance.now();
    await follower.catchUp(Number.POSITIVE_INFINITY, ({ done, total }) => {
      if (performance.now() - reportedAt < 2000) return;
      reportedAt = performance.now();
      writeErrorLine(`${done} of ${total} rows of the ledger`);
    });
    await follower.rollUp(Number.POSITIVE_INFINITY, 0);
  } finally {
    await follower.close();
  }
  writeLine('The file of analytics was read from the ledger again.');
}

/** Of a ledger in PostgreSQL. */
async function rebuildShared(url: Secret): Promise<void> {
  const { openPostgresLedger } = await import('../../control-plane/ledger/postgres/ledger.js');
  const { RebuildIsRunning, rebuildAnalytics } = await import(
    '../../control-plane/analytics/rollups/postgres-rebuild.js'
  );
  const ledger = await openPostgresLedger({ url, node: 'rebuild', makes: false });
  try {
    await ledger.prepare();
    let reportedAt = performance.now();
    const days = await rebuildAnalytics(
      (work) => ledger.statements.apart(work),
      Date.now(),
      ({ done, total }) => {
        if (performance.now() - reportedAt < 2000) return;
        reportedAt = performance.now();
        writeErrorLine(`${done} of ${total} days`);
      },
    );
    writeLine(`Rebuilt the analytics of ${days} ${days === 1 ? 'day' : 'days'} from the ledger.`);
  } catch (error) {
    if (error instanceof RebuildIsRunning)
      throw new CliError(
        'Another process is already rebuilding analytics of this ledger; wait until it ends.',
      );
    throw new CliError(
      `${(error as Error).message}. Days that were rebuilt stay so; run the command again for the others.`,
    );
  } finally {
    await ledger.close();
  }
}
