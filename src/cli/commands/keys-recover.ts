import { randomUUID } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import type { Command } from 'commander';
import { scopesOf } from '../../common/access/scopes.js';
import type { ApiKey, MadeApiKey, Store } from '../../control-plane/store/store.js';
import { CliError } from '../cli-error.js';
import { type StoreContext, withStore } from '../local-store.js';
import { writeErrorLine, writeJson, writeLine } from '../output/output.js';
import { organisationOf } from './audit.js';

interface RecoverOptions {
  readonly organisation?: string;
  readonly name: string;
  readonly json?: boolean;
}

/** `headgate keys recover`. */
export function registerRecover(keys: Command, context: StoreContext): void {
  keys
    .command('recover')
    .description(
      'create an admin key with every scope, from the records and the master key alone; the gateway may be running',
    )
    .option('--organisation <id>', 'for this organisation; needed where there are several')
    .option('--name <name>', 'what the key is for', 'Recovered admin key')
    .option('--json', 'print JSON')
    .action((options: RecoverOptions) =>
      withStore(context, async (store) => {
        const organisation = await organisationOf(store, options.organisation);
        const { key, text } = await recover(store, organisation, nameOf(options.name));
        if (options.json === true) {
          writeJson({ id: key.id, key: text.reveal(), organisation_id: organisation });
          return;
        }
        writeLine(text.reveal());
        writeErrorLine(
          `Key ${key.id} holds every scope of organisation ${organisation}. Keep its text: it is not shown again. Revoke lost keys with headgate keys revoke <id>.`,
        );
      }),
    );
}

function nameOf(text: string): string {
  const name = text.trim();
  if (name === '' || [...name].length > 255) throw new CliError('--name: give 1 to 255 characters.', 2);
  return name;
}

/** Creates the key, the change notification and the audit row in one transaction. */
function recover(store: Store, organisationId: string, name: string): Promise<MadeApiKey> {
  return store.unit(organisationId, async () => {
    const made = await store.keys.create(organisationId, {
      type: 'organisation-service',
      workspaceId: null,
      name,
      scopes: scopesOf('organisation-service'),
    });
    if (made === 'missing') throw new CliError(`There is no organisation ${organisationId}.`, 2);
    await store.changes.append({
      organisationId,
      workspaceId: null,
      kind: 'api_key',
      id: made.key.id,
      slug: null,
      action: 'create',
      // Workers of other nodes may have cached that there is no such key.
      forget: [{ kind: 'key', workspace: null, name: made.hash }],
    });
    await audit(store, made.key);
    return made;
  });
}

async function audit(store: Store, { id, organisationId, name, scopes }: ApiKey): Promise<void> {
  await store.audit.append({
    organisationId,
    workspaceId: null,
    method: 'POST',
    uri: '/v1/api-keys/organisation/service',
    requestId: randomUUID(),
    requestBody: JSON.stringify({ name, scopes, command: 'headgate keys recover', host: hostname() }),
    queryParams: '',
    requestHeaders: '{}',
    userId: localUser(),
    userType: 'local_command',
    actorName: 'headgate keys recover',
    responseStatusCode: 200,
    resourceType: 'api_key',
    resourceId: id,
    action: 'create',
    clientIp: null,
    country: null,
    allowed: true,
  });
}

/** Name of the system user that runs the command. */
function localUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
