import type { Command } from 'commander';
import { CliError } from './cli-error.js';
import { readSecret } from './secret-input.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from './session.js';
import { table } from './table.js';

interface AddOptions extends SessionOptions {
  readonly provider?: string;
  readonly name?: string;
  readonly keyFile?: string;
  /** `--no-key` makes it false. */
  readonly key: boolean;
  readonly baseUrl?: string;
  readonly note?: string;
}

/** `headgate providers`. */
export function register(program: Command, context: SessionContext): void {
  const providers = program.command('providers').description('store, list and remove provider credentials');

  withSession(
    providers
      .command('add')
      .description('store a credential; it is read from --key-file, from standard input, or asked for'),
    { workspace: true },
  )
    .argument('<slug>', 'what calls name it by: @slug')
    .option('--provider <name>', 'provider whose API it speaks (default: the slug)')
    .option('--name <name>', 'name for people (default: the slug)')
    .option('--key-file <file>', 'file that holds the credential; - is standard input')
    .option('--no-key', 'store no credential')
    .option('--base-url <url>', "base URL of its own, version segment included (default: the provider's)")
    .option('--note <text>', 'remark')
    .action((slug: string, options: AddOptions) =>
      withAdmin(context, options, async (client) => {
        const key = options.key ? await readSecret(options.keyFile, `Credential of ${slug}: `) : undefined;
        if (key === '') throw new CliError('The credential is empty; --no-key stores none.', 2);
        const made = await client.providers.create({
          slug,
          name: options.name ?? slug,
          provider: options.provider ?? slug,
          key,
          base_url: options.baseUrl,
          note: options.note,
          workspace_id: options.workspace,
        });
        console.log(options.json === true ? JSON.stringify(made) : `Provider @${made.slug} is stored.`);
      }),
    );

  withSession(providers.command('list').description('list stored providers'), { workspace: true }).action(
    (options: SessionOptions) =>
      withAdmin(context, options, async (client) => {
        const { data } = await client.providers.list({ workspace_id: options.workspace, page_size: 1000 });
        if (options.json === true) {
          console.log(JSON.stringify(data));
          return;
        }
        const rows = data.map((row) => [
          `@${row.slug}`,
          row.name,
          row.provider,
          row.masked_api_key ?? '-',
          row.custom_host ?? '-',
          row.created_at.slice(0, 10),
        ]);
        console.log(table(['SLUG', 'NAME', 'PROVIDER', 'KEY', 'BASE URL', 'CREATED'], rows));
      }),
  );

  withSession(providers.command('remove').description('remove a stored provider and its credential'), {
    workspace: true,
  })
    .argument('<slug>', 'slug of the provider')
    .action((named: string, options: SessionOptions) =>
      withAdmin(context, options, async (client) => {
        const slug = named.replace(/^@/, '');
        await client.providers.delete(slug, options.workspace);
        console.log(
          options.json === true ? JSON.stringify({ slug, removed: true }) : `Provider @${slug} is removed.`,
        );
      }),
    );
}
