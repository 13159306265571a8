import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
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
    .description('read the file of analytics from the ledger again; the gateway may run')
    .action(() => rebuild(context.settings()));
}

async function rebuild({ dataDir, databaseUrl, ledgerDatabaseUrl }: LedgerPlace): Promise<void> {
  if ((ledgerDatabaseUrl ?? databaseUrl) !== null) {
    throw new CliError('The ledger is in PostgreSQL, which is asked itself: there is nothing to rebuild.', 2);
  }
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
