import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Settings } from '../../common/settings/settings.js';
import { startIngestion } from '../../control-plane/ingestion/ingest.js';
import { openPostgresLedger } from '../../control-plane/ledger/postgres/ledger.js';
import { hasSqliteLedger, takeOver } from '../../control-plane/ledger/take-over.js';
import { nodeIdOf } from '../../process/node/node-id.js';
import { CliError } from '../cli-error.js';
import { whileStopped } from '../local-store.js';
import { writeErrorLine, writeLine } from '../output/output.js';

type JournalSettings = Pick<Settings, 'databaseUrl' | 'ledgerDatabaseUrl'>;

interface JournalContext {
  settings(): JournalSettings;
}

/** `headgate journal`. */
export function register(program: Command, context: JournalContext): void {
  program
    .command('journal')
    .description('what a node has recorded and not handed over')
    .command('ingest')
    .description('hand the records of a node that will not start again over to the ledger in PostgreSQL')
    .argument('<dir>', 'its data directory')
    .action((dir: string) => ingest(context.settings(), dir));
}

async function ingest({ databaseUrl, ledgerDatabaseUrl }: JournalSettings, dir: string): Promise<void> {
  const url = ledgerDatabaseUrl ?? databaseUrl;
  if (url === null) {
    throw new CliError(
      'There is no ledger in PostgreSQL to hand records over to: set LEDGER_DATABASE_URL or DATABASE_URL.',
      2,
    );
  }
  const journalDir = join(dir, 'journal');
  if (!existsSync(journalDir)) {
    throw new CliError(`${dir} is no data directory: it has no folder journal. Name the one that has it.`);
  }
  await whileStopped(dir, async () => {
    const problems: string[] = [];
    const onProblem = (error: Error): void => void problems.push(error.message);
    const ledger = await openPostgresLedger({ url, node: nodeIdOf(dir), onProblem });
    try {
      await ledger.prepare();
      await takeOverRows(dir, ledger);
      const ingestion = startIngestion({
        dir: journalDir,
        ledger,
        onProblem,
        maxBodiesBytes: Number.MAX_VALUE,
      });
      await ingestion.flush();
      await ingestion.stop();
    } catch (error) {
      throw new CliError(`${(error as Error).message}. Run the command again: it goes on where it stopped.`);
    } finally {
      await ledger.close();
    }
    if (problems.length > 0) throw new CliError(problems.join('\n'));
    writeLine(`The records of ${dir} are in the ledger.`);
  });
}

async function takeOverRows(dataDir: string, to: Parameters<typeof takeOver>[0]['to']): Promise<void> {
  if (!hasSqliteLedger(dataDir)) return;
  const onProgress = ({ done, total }: { done: number; total: number }): void =>
    writeErrorLine(`${done} of ${total} rows of its ledger in SQLite`);
  await takeOver({ dataDir, to, onProgress, onUpgrade: onProgress });
}
