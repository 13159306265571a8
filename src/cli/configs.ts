import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Command } from 'commander';
import { CliError } from './cli-error.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from './session.js';
import { table } from './table.js';

interface CreateOptions extends SessionOptions {
  readonly name?: string;
  readonly slug?: string;
}

function readConfig(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new CliError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

/** `headgate configs`. */
export function register(program: Command, context: SessionContext): void {
  const configs = program.command('configs').description('create, list, show and delete routing configs');

  withSession(configs.command('create').description('check and store a routing config'), { workspace: true })
    .argument('<file>', 'JSON file; - is standard input')
    .option('--name <name>', 'name for people (default: the slug, or the name of the file)')
    .option('--slug <slug>', 'what calls name it by, pc-… (default: made from the name)')
    .action((file: string, options: CreateOptions) =>
      withAdmin(context, options, async (client) => {
        const { data } = await client.configs.create({
          name: options.name ?? options.slug ?? (file === '-' ? 'config' : basename(file, '.json')),
          slug: options.slug,
          config: readConfig(file),
          workspace_id: options.workspace,
        });
        console.log(options.json === true ? JSON.stringify(data) : data.slug);
      }),
    );

  withSession(configs.command('list').description('list routing configs'), { workspace: true }).action(
    (options: SessionOptions) =>
      withAdmin(context, options, async (client) => {
        const { data } = await client.configs.list({ workspace_id: options.workspace, page_size: 1000 });
        if (options.json === true) console.log(JSON.stringify(data));
        else {
          const cells = data.map((row) => [row.slug, row.name, row.status, row.last_updated_at.slice(0, 19)]);
          console.log(table(['SLUG', 'NAME', 'STATUS', 'CHANGED'], cells));
        }
      }),
  );

  withSession(configs.command('get').description("print a config's JSON"), { workspace: true })
    .argument('<slug>', 'slug or id of the config')
    .action((slug: string, options: SessionOptions) =>
      withAdmin(context, options, async (client) => {
        const found = await client.configs.get(slug, options.workspace);
        console.log(options.json === true ? JSON.stringify(found) : found.config);
      }),
    );

  withSession(configs.command('delete').description('archive a config: no call finds it any more'), {
    workspace: true,
  })
    .argument('<slug>', 'slug or id of the config')
    .action((slug: string, options: SessionOptions) =>
      withAdmin(context, options, async (client) => {
        await client.configs.delete(slug, options.workspace);
        console.log(
          options.json === true ? JSON.stringify({ slug, deleted: true }) : `Config ${slug} is archived.`,
        );
      }),
    );
}
