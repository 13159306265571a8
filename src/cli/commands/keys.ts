import type { Command } from 'commander';
import type { AdminClient } from '../../client/index.js';
import { scopesOf } from '../../common/access/scopes.js';
import { CliError } from '../cli-error.js';
import { momentOf } from '../input/moment.js';
import type { StoreContext } from '../local-store.js';
import { writeErrorLine, writeJson, writeLine } from '../output/output.js';
import { table } from '../output/table.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from '../session.js';
import { registerRecover } from './keys-recover.js';

interface CreateOptions extends SessionOptions {
  readonly name: string;
  readonly organisation?: boolean;
  readonly scope?: readonly string[];
  readonly allScopes?: boolean;
  readonly config?: string;
  readonly pinConfig?: boolean;
  readonly expires?: string;
}

interface RotateOptions extends SessionOptions {
  readonly transition?: string;
}

const append = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
];

function scopesFor(options: CreateOptions): readonly string[] {
  if (options.scope !== undefined && options.scope.length > 0) return options.scope;
  const type = options.organisation === true ? 'organisation-service' : 'workspace-service';
  if (options.allScopes === true) return scopesOf(type);
  if (options.organisation === true)
    throw new CliError('Name the scopes with --scope, or give --all-scopes.', 2);
  return ['completions.write'];
}

/** `headgate keys`. */
export function register(program: Command, context: SessionContext & StoreContext): void {
  const keys = program.command('keys').description('create, list, rotate, revoke and recover gateway keys');

  withSession(keys.command('create').description('create a key and show it, once'), { workspace: true })
    .requiredOption('--name <name>', 'what the key is for (required)')
    .option('--organisation', "make an organisation's (admin) key instead of a workspace's")
    .option('--scope <scope>', 'scope to hold, repeatable (default: completions.write)', append)
    .option('--all-scopes', 'hold every scope that a key of its type may')
    .option('--config <slug>', 'config for calls that name none')
    .option('--pin-config', 'refuse calls that name another config')
    .option('--expires <when>', 'days (90d) or a date')
    .action((options: CreateOptions) => {
      const scopes = scopesFor(options);
      const expires_at = options.expires === undefined ? null : momentOf(options.expires, '--expires');
      return withAdmin(context, options, async (client) => {
        const made = await client.keys.create({
          type: options.organisation === true ? 'organisation' : 'workspace',
          sub_type: 'service',
          name: options.name,
          workspace_id: options.workspace,
          scopes,
          defaults: { config_id: options.config, allow_config_override: options.pinConfig !== true },
          expires_at,
        });
        if (options.json === true) writeJson(made);
        else {
          writeLine(made.key);
          writeErrorLine(`Key ${made.id} was created. Keep its text: it is not shown again.`);
        }
      });
    });

  withSession(keys.command('list').description('list keys, newest first'), { workspace: true }).action(
    (options: SessionOptions) =>
      withAdmin(context, options, async (client) => {
        const { data } = await client.keys.list({ workspace_id: options.workspace, page_size: 1000 });
        if (options.json === true) {
          writeJson(data.map(summary));
          return;
        }
        const rows = data.map((key) => [
          key.id,
          key.name,
          key.type,
          key.key,
          key.status,
          times(key).created_at.slice(0, 10),
          times(key).expires_at?.slice(0, 10) ?? 'never',
        ]);
        writeLine(table(['ID', 'NAME', 'TYPE', 'KEY', 'STATUS', 'CREATED', 'EXPIRES'], rows));
      }),
  );

  withSession(keys.command('revoke').description('delete a key: it is refused from then on'), {
    workspace: false,
  })
    .argument('<id>', 'id of the key')
    .action((id: string, options: SessionOptions) =>
      withAdmin(context, options, async (client) => {
        await client.keys.delete(id);
        if (options.json === true) writeJson({ id, revoked: true });
        else writeLine(`Key ${id} is revoked.`);
      }),
    );

  withSession(keys.command('rotate').description('give a key a new secret and show it, once'), {
    workspace: false,
  })
    .argument('<id>', 'id of the key')
    .option(
      '--transition <minutes>',
      'how long the old secret stays valid: 30 or more (default: that of its rotation policy, or 30)',
    )
    .action((id: string, options: RotateOptions) =>
      withAdmin(context, options, async (client) => {
        const rotated = await client.api.apiKeys.rotateApiKey({
          id,
          key_transition_period_ms: transitionMs(options.transition),
        });
        if (options.json === true) writeJson(rotated);
        else {
          writeLine(rotated.key);
          const until = rotated.key_transition_expires_at;
          writeErrorLine(`Keep this secret: it is not shown again. The old one is valid until ${until}.`);
        }
      }),
    );

  withSession(
    keys
      .command('reveal-rotated')
      .description('show the new secret of a key that was rotated by its schedule, once'),
    { workspace: false },
  )
    .argument('<id>', 'id of the key')
    .action((id: string, options: SessionOptions) =>
      withAdmin(context, options, async (client) => {
        const revealed = await client.api.apiKeys.revealRotatedApiKey({ id });
        if (options.json === true) writeJson(revealed);
        else {
          writeLine(revealed.key);
          writeErrorLine('Keep this secret: it is not shown again.');
        }
      }),
    );

  registerRecover(keys, context);
}

function transitionMs(minutes: string | undefined): number | undefined {
  if (minutes === undefined) return undefined;
  if (!/^\d{1,5}$/.test(minutes)) throw new CliError('--transition must be a whole number of minutes.', 2);
  return Number(minutes) * 60_000;
}

type ListedKey = Awaited<ReturnType<AdminClient['keys']['list']>>['data'][number];
/** What `keys list --json` prints of a key: these fields in this order, whatever else a key comes to have. */
const summary = (key: ListedKey) => ({
  id: key.id,
  name: key.name,
  type: key.type,
  key: key.key,
  status: key.status,
  workspace_id: key.workspace_id ?? null,
  ...times(key),
});

const times = (key: ListedKey) => ({
  created_at: key.created_at,
  last_updated_at: key.last_updated_at,
  expires_at: key.expires_at ?? null,
});
