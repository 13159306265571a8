import type { ConfigRow, Config as Message } from '../../../../../proto/messages.js';
import type { Forget } from '../../../../common/ipc/messages.js';
import { maskedSecret } from '../../../store/secrets/config-secrets.js';
import type { Config, ConfigVersion, ConfigWithText, Place } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { setOf } from '../../audit/mask.js';
import { pageOf, textOf, timeOf, timeOrNull } from '../../grpc/wire.js';
import { settled } from '../../records.js';
import { checkReferences } from '../../references/config-references.js';
import { onlyWorkspace } from '../../references/only-workspace.js';
import type { AdminParts, Service } from '../../service.js';

const largestConfig = 256 * 1024;
/** Requests of a workspace, newest first, among which last uses are looked for. */
const requestsLookedAt = 1000;

const toRow = (config: Config): ConfigRow => ({
  id: config.id,
  name: config.name,
  slug: config.slug,
  organisation_id: config.organisationId,
  workspace_id: config.workspaceId,
  is_default: config.isDefault ? 1 : 0,
  status: config.status,
  owner_id: config.ownerId,
  updated_by: config.updatedBy,
  created_at: timeOf(config.createdAt),
  last_updated_at: timeOf(config.updatedAt),
  object: 'config',
  etag: config.etag,
});

const toMessage = (config: Config, versionId: string, text: string): Message => ({
  ...toRow(config),
  config: JSON.parse(text),
  format: 'json',
  type: 'ORG_CONFIG',
  version_id: versionId,
});

/** A config as that version made it. */
const toVersion = (config: Config, version: ConfigVersion): Message => ({
  ...toMessage(config, version.id, version.text),
  updated_by: version.createdBy,
  last_updated_at: timeOf(version.createdAt),
});

/** Both names that calls know a config by. */
const namesOf = (config: Config): Forget[] =>
  [config.slug, config.id].map((name) => ({ kind: 'config', workspace: config.workspaceId, name }));

interface Named {
  readonly slug: string;
  readonly workspace_id?: string | null;
}

/** Routing configs. */
export function configsService({ store, ledger, validateConfig }: AdminParts): Service<'Configs'> {
  /** JSON text of a config that was checked and can be used. */
  async function checked(caller: Caller, place: Place, content: unknown): Promise<string> {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    if (Buffer.byteLength(text) > largestConfig)
      throw AdminError.field('config', `must be at most ${largestConfig} bytes long.`);
    await validateConfig(text);
    const config: unknown = JSON.parse(text);
    const path = maskedSecret(config);
    if (path !== null) throw AdminError.field(path, 'is the mask of a secret: give the secret itself.');
    await checkReferences(caller, place, config);
    return text;
  }

  const kind = { name: 'config', workspacesWith: store.configs.workspacesWith.bind(store.configs) };
  const placeOf = (caller: Caller, named: Named, archived = false): Promise<Place> =>
    onlyWorkspace(caller, named, kind, { archived });

  async function found(place: Place, { slug }: Named): Promise<ConfigWithText> {
    const config = await store.configs.get(place, slug);
    if (config === null) throw new AdminError('AB08', `There is no config ${slug}.`);
    return config;
  }

  async function announce(caller: Caller, place: Place, config: Config): Promise<void> {
    caller.changed(config, namesOf(config));
    if (!config.isDefault) return;
    for (const former of await store.configs.dropDefault(place, config.id))
      caller.changed({ ...former, action: 'update' });
  }

  /** When each config was last used, by its slug. */
  async function lastUses({ organisationId, workspaceId }: Place): Promise<ReadonlyMap<string, number>> {
    const filter = { org: organisationId, workspace: workspaceId, limit: requestsLookedAt };
    const uses = new Map<string, number>();
    for (const { config, at } of (await ledger.recent(filter)).rows) {
      if (config !== null) uses.set(config, Math.max(at, uses.get(config) ?? 0));
    }
    return uses;
  }

  return {
    async CreateConfig(caller, request) {
      const place = await caller.place(request.workspace_id);
      const made = await store.configs.create(place, {
        slug: request.slug ?? undefined,
        name: textOf('name', request.name),
        text: await checked(caller, place, request.config),
        isDefault: request.is_default === 1,
        by: caller.id,
      });
      if (made === 'taken')
        throw new AdminError('AB07', `slug: the workspace has a config ${request.slug} already.`);
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      await announce(caller, place, made);
      return {
        success: true,
        data: { id: made.id, version_id: made.versionId, slug: made.slug, object: 'config' },
      };
    },

    async ListConfigs(caller, request) {
      const place = await caller.place(request.workspace_id, { archived: true });
      const { total, rows } = await store.configs.list(place, pageOf(request));
      if (request.return_last_used !== true) return { object: 'list', total, data: rows.map(toRow) };
      const uses = await lastUses(place);
      const data = rows.map((config) => {
        const at = uses.get(config.slug) ?? null;
        // Before that, the slug was another's.
        return {
          ...toRow(config),
          last_used_at: timeOrNull(at !== null && at >= config.createdAt ? at : null),
        };
      });
      return { object: 'list', total, data };
    },

    async GetConfig(caller, request) {
      const config = await found(await placeOf(caller, request, true), request);
      return toMessage(config, config.versionId, config.text);
    },

    async UpdateConfig(caller, request) {
      const place = await placeOf(caller, request);
      const content = setOf(request, 'config');
      const isDefault = setOf(request, 'is_default');
      const status = setOf(request, 'status');
      // What only an archived config names may have been deleted.
      if (status === 'active' && content === undefined) {
        const { text, status: before } = await found(place, request);
        if (before !== 'active') await checkReferences(caller, place, JSON.parse(text));
      }
      const config = await store.configs.update(place, request.slug, {
        name: setOf(request, 'name')?.trim(),
        text: content === undefined ? undefined : await checked(caller, place, content),
        isDefault: isDefault === undefined ? undefined : isDefault === 1,
        status,
        by: caller.id,
        etag: request.etag ?? undefined,
      });
      if (config === 'taken')
        throw new AdminError('AB07', 'status: another config has this slug by now; archive that one first.');
      const changed = settled(config, 'config');
      await announce(caller, place, changed);
      return { success: true, data: { version_id: changed.versionId } };
    },

    async DeleteConfig(caller, request) {
      const place = await placeOf(caller, request);
      const gone = settled(
        await store.configs.delete(place, request.slug, request.etag ?? undefined),
        'config',
      );
      caller.changed(gone, namesOf(gone));
      return {};
    },

    async ListConfigVersions(caller, request) {
      const place = await placeOf(caller, request, true);
      const config = await found(place, request);
      const { total, rows } = await store.configs.versions(place, config.id, pageOf(request));
      return { object: 'list', total, data: rows.map((version) => toVersion(config, version)) };
    },

    async GetConfigVersion(caller, request) {
      const place = await placeOf(caller, request, true);
      const config = await found(place, request);
      const version = await store.configs.version(place, config.id, request.version_id);
      if (version === null) throw new AdminError('AB08', 'There is no such version of this config.');
      return toVersion(config, version);
    },
  };
}
