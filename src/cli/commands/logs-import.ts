import type { Command } from 'commander';
import type { AdminClient, ImportLogsResponse } from '../../client/index.js';
import { lineBatches } from '../input/line-batches.js';
import { writeJson, writeLine } from '../output/output.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from '../session.js';

interface ImportOptions extends SessionOptions {
  readonly file: string;
}

/** Batches under way: one is read by the gateway while the other is written. */
const inFlight = 1;

/** `headgate logs import`. */
export function registerImport(logs: Command, context: SessionContext): void {
  const command = logs
    .command('import')
    .summary('take rows in from a file')
    .description(
      'take rows in from a file: a JSON object on each line, as headgate logs --json gives them, with created_at and workspace_id; rows whose id is there are skipped',
    )
    .requiredOption(
      '-f, --file <file>',
      'file of JSON lines, .gz where it is compressed; - is standard input',
    );
  withSession(command, { workspace: false }).action(async () => {
    const options = command.opts<ImportOptions>();
    await withAdmin(
      context,
      options,
      async (client) => {
        const { imported, skipped } = await importFile(client, options.file);
        if (options.json === true) writeJson({ imported, skipped });
        else writeLine(`${imported} imported, ${skipped} skipped.`);
      },
      // What is wrong is in the file, not on the command line.
      { said: (message) => message, refusedExitCode: 1 },
    );
  });
}

/** Sends all lines; the first refusal, in the order of the file, ends it. */
async function importFile(client: AdminClient, file: string): Promise<ImportLogsResponse> {
  const sum = { imported: 0, skipped: 0 };
  const sent: Promise<ImportLogsResponse>[] = [];
  const settle = async (): Promise<void> => {
    const { imported, skipped } = await sent.shift()!;
    sum.imported += imported;
    sum.skipped += skipped;
  };
  for await (const { lines, first } of lineBatches(file)) {
    const batch = client.api.logs.importLogs({ lines, first_line: first });
    // Reported when its turn comes.
    batch.catch(() => {});
    sent.push(batch);
    if (sent.length >= inFlight) await settle();
  }
  while (sent.length > 0) await settle();
  return sum;
}
