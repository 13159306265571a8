import type { ConfigRow } from '../../proto/messages.js';
import type { Forget } from '../core/messages.js';
import type { Config } from '../store/store.js';
import { AdminError } from './admin-error.js';
import { changeOf } from './mask.js';
import type { AdminParts, Service } from './service.js';
import { pageOf, stale, textOf, timeOf } from './wire.js';

const largestConfig = 256 * 1024;

function toRow(config: Config): ConfigRow {
  return {
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
  };
}

/** Both names that calls know a config by. */
const namesOf = (config: Config): Forget[] =>
  [config.slug, config.id].map((name) => ({ kind: 'config', workspace: config.workspaceId, name }));

/** Routing configs (spec/api.md §5.1). */
export function configsService({ store, validateConfig }: AdminParts): Service<'Configs'> {
  /** JSON text of a config that was checked and can be used. */
  async function checked(content: unknown): Promise<string> {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    if (Buffer.byteLength(text) > largestConfig) {
      throw new AdminError('AB01', `config must be at most ${largestConfig} bytes long.`);
    }
    await validateConfig(text);
    return text;
  }

  return {
    async CreateConfig(caller, request) {
      const text = await checked(request.config);
      const made = await store.configs.create(await caller.place(request.workspace_id), {
        slug: request.slug ?? undefined,
        name: textOf('name', request.name),
        text,
        isDefault: request.is_default === 1,
        by: caller.id,
      });
      if (made === 'taken')
        throw new AdminError('AB07', `slug: the workspace has a config ${request.slug} already.`);
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      caller.changed(made, namesOf(made));
      return {
        success: true,
        data: { id: made.id, version_id: made.versionId, slug: made.slug, object: 'config' },
      };
    },

    async ListConfigs(caller, request) {
      const { total, rows } = await store.configs.list(
        await caller.place(request.workspace_id),
        pageOf(request),
      );
      return { object: 'list', total, data: rows.map(toRow) };
    },

    async GetConfig(caller, { slug, workspace_id }) {
      const config = await store.configs.get(await caller.place(workspace_id), slug);
      if (config === null) throw new AdminError('AB08', 'There is no such config.');
      return {
        ...toRow(config),
        config: config.text,
        format: 'json',
        type: 'ORG_CONFIG',
        version_id: config.versionId,
      };
    },

    async UpdateConfig(caller, request) {
      const content = changeOf(request, 'config');
      if (content === null) throw new AdminError('AB01', 'config cannot be cleared.');
      const config = await store.configs.update(await caller.place(request.workspace_id), request.slug, {
        name: changeOf(request, 'name')?.trim(),
        text: content === undefined ? undefined : await checked(content),
        status: changeOf(request, 'status') ?? undefined,
        by: caller.id,
        etag: request.etag ?? undefined,
      });
      if (config === 'missing') throw new AdminError('AB08', 'There is no such config.');
      if (config === 'stale') throw stale();
      if (config === 'taken') throw new AdminError('AB07', 'slug: another config has it by now.');
      caller.changed(config, namesOf(config));
      return { success: true, data: { version_id: config.versionId } };
    },

    async DeleteConfig(caller, { slug, workspace_id, etag }) {
      const gone = await store.configs.delete(await caller.place(workspace_id), slug, etag ?? undefined);
      if (gone === 'missing') throw new AdminError('AB08', 'There is no such config.');
      if (gone === 'stale') throw stale();
      caller.changed(gone, namesOf(gone));
      return {};
    },
  };
}
