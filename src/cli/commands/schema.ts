import type { Command } from 'commander';
import { kindNamed, kinds } from '../../control-plane/administration/resources/files/kinds/kinds.js';
import { CliError } from '../cli-error.js';
import { documentsSchema } from '../documents-schema.js';
import { writeJson } from '../output/output.js';

/** `headgate schema`. */
export function register(program: Command): void {
  program
    .command('schema')
    .description('print a JSON Schema of documents, for editors')
    .argument('[kind]', 'of documents of this kind alone')
    .action((name: string | undefined) => {
      const kind = name === undefined ? undefined : kindNamed(name);
      if (name !== undefined && kind === undefined)
        throw new CliError(
          `There is no kind ${name}: it is one of ${kinds.map((one) => one.kind).join(', ')}.`,
          2,
        );
      writeJson(documentsSchema(kind), 2);
    });
}
