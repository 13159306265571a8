import type { Command } from 'commander';
import { CliError } from '../cli-error.js';
import { readSecret } from '../input/secret-input.js';
import { writeJson, writeLine } from '../output/output.js';
import { cell } from '../output/show.js';
import { type Manners, registerResource } from '../resource.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from '../session.js';

interface AddOptions extends SessionOptions {
  readonly provider?: string;
  readonly name?: string;
  readonly keyFile?: string;
  /** `--no-key` makes it false. */
  readonly key: boolean;
  readonly baseUrl?: string;
  readonly note?: string;
}

const unmarked = (slug: string): string => slug.replace(/^@/, '');

const manners: Manners = {
  ListProviders: {
    columns: [
      ['SLUG', (row) => `@${cell(row['slug'])}`],
      ['NAME', (row) => cell(row['name'])],
      ['PROVIDER', (row) => cell(row['provider'])],
      ['KEY', (row) => cell(row['masked_api_key'])],
      ['BASE URL', (row) => cell(row['custom_host'])],
      ['CREATED', (row) => cell(row['created_at']).slice(0, 10)],
    ],
  },
  GetProvider: { named: unmarked },
  UpdateProvider: { named: unmarked },
  DeleteProvider: { alias: 'remove', named: unmarked },
};

/** `headgate providers`: as the proto files have it, and `add`, which takes the credential from a person. */
export function register(program: Command, context: SessionContext): void {
  const providers = registerResource(program, context, 'Providers', manners);

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
        if (options.json === true) writeJson(made);
        else writeLine(`Provider @${made.slug} is stored.`);
      }),
    );
}
