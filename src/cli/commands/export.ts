import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { CliError } from '../cli-error.js';
import { writeErrorLine, writeFile, writeJson, writeLine } from '../output/output.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from '../session.js';

interface ExportOptions extends SessionOptions {
  readonly output?: string;
  readonly kind?: readonly string[];
  readonly editing?: boolean;
}

interface Exported {
  readonly kind: string;
  readonly name?: string;
  readonly workspace?: string;
}

/** `headgate export`. */
export function register(program: Command, context: SessionContext): void {
  const command = program
    .command('export')
    .description('print records as documents for apply')
    .option('-o, --output <path>', 'file to write, or a folder, which gets a file for each record')
    .option('--kind <kind>', 'only records of this kind, repeatable', (kind: string, all: string[] = []) => [
      ...all,
      kind,
    ])
    .option('--editing', 'include the etag of each record: apply refuses records that have changed since');
  withSession(command, { workspace: 'records of this workspace alone' }).action((options: ExportOptions) =>
    withAdmin(
      context,
      options,
      async (client) => {
        const { data, skipped } = await client.api.documents.exportDocuments({
          kinds: options.kind ?? [],
          etags: options.editing === true,
          ...(options.workspace !== undefined && { workspace_id: options.workspace }),
        });
        if (skipped.length > 0)
          writeErrorLine(`Left out, because this key may not read them: ${skipped.join(', ')}.`);
        const documents = data as unknown as readonly Exported[];
        if (options.json === true) writeJson(documents, 2);
        else if (options.output === undefined) writeFile(textOf(documents));
        else writeAll(options.output, documents);
      },
      { timeoutMs: 70_000 },
    ),
  );
}

const textOf = (documents: readonly Exported[]): string =>
  documents
    .map((document) => stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');

const isFolder = (path: string): boolean => {
  try {
    return statSync(path).isDirectory();
  } catch {
    return !/\.(?:ya?ml|json)$/i.test(path);
  }
};

/** A name as a file may have it. */
const fileName = (text: string): string => text.replace(/[^\w.-]/g, '_').replace(/^\.+/, '_') || '_';

function writeAll(path: string, documents: readonly Exported[]): void {
  const files = new Map<string, readonly Exported[]>();
  if (!isFolder(path)) files.set(path, documents);
  else
    for (const document of documents) {
      const { kind, name = 'organisation', workspace } = document;
      const folder = join(path, workspace === undefined ? 'organisation' : fileName(workspace), kind);
      let file = join(folder, `${fileName(name)}.yaml`);
      for (let i = 2; files.has(file); i++) file = join(folder, `${fileName(name)}-${i}.yaml`);
      files.set(file, [document]);
    }
  try {
    for (const [file, own] of files) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, textOf(own));
    }
  } catch (error) {
    const { code, path: at } = error as NodeJS.ErrnoException;
    throw new CliError(`${at ?? path} cannot be written (${code}).`);
  }
  writeLine(
    `${documents.length} documents in ${files.size === 1 ? [...files.keys()][0] : `${files.size} files`}.`,
  );
}
