import type { ConfigRowMessage, Value } from '../../proto/messages.js';
import { toTimestamp } from '../../proto/timestamp.js';
import type { Forget } from '../core/messages.js';
import type { Config } from '../store/store.js';
import { AdminError } from './admin-error.js';
import type { AdminParts, Service } from './service.js';
import { fromValue, given, pageOf, textOf } from './wire.js';

const slugForm = /^pc-[A-Za-z0-9_-]{1,120}$/;
const largestConfig = 256 * 1024;

function toRow(config: Config): ConfigRowMessage {
  return {
    id: config.id,
    name: config.name,
    slug: config.slug,
    organisation_id: config.organisationId,
    workspace_id: config.workspaceId,
    is_default: config.isDefault ? 1 : 0,
    status: config.status,
    owner_id: given(config.ownerId),
    updated_by: given(config.updatedBy),
    created_at: toTimestamp(config.createdAt),
    last_updated_at: toTimestamp(config.updatedAt),
    object: 'config',
  };
}

/** Both names that calls know a config by. */
const namesOf = (config: Config): Forget[] =>
  [config.slug, config.id].map((name) => ({ kind: 'config', workspace: config.workspaceId, name }));

/** Routing configs (spec/api.md §5.1). */
export function configsService({ store, changed, validateConfig }: AdminParts): Service<'Configs'> {
  /** JSON text of a config that was checked and can be used. */
  async function checked(value: Value): Promise<string> {
    const content = fromValue(value);
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    if (Buffer.byteLength(text) > largestConfig) {
      throw new AdminError('AB01', `config must be at most ${largestConfig} bytes long.`);
    }
    await validateConfig(text);
    return text;
  }

  return {
    async CreateConfig(caller, request) {
      const name = textOf('name', request.name);
      if (!request.config) throw new AdminError('AB01', 'config is required.');
      const slug = request.slug || undefined;
      if (slug !== undefined && !slugForm.test(slug)) {
        throw new AdminError(
          'AB01',
          'slug must be pc- and up to 120 letters, digits, dashes and underscores.',
        );
      }
      const text = await checked(request.config);
      const made = await store.configs.create(await caller.place(request.workspace_id), {
        slug,
        name,
        text,
        isDefault: request.is_default === 1,
        by: caller.key.keyId,
      });
      if (made === 'taken') throw new AdminError('AB07', `slug: the workspace has a config ${slug} already.`);
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      await changed(namesOf(made));
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
      const { status } = request;
      if (status !== undefined && status !== 'active' && status !== 'archived') {
        throw new AdminError('AB01', 'status must be active or archived.');
      }
      const changedTo = await store.configs.update(await caller.place(request.workspace_id), request.slug, {
        name: request.name === undefined ? undefined : textOf('name', request.name),
        text: request.config ? await checked(request.config) : undefined,
        status,
        by: caller.key.keyId,
      });
      if (changedTo === 'missing') throw new AdminError('AB08', 'There is no such config.');
      if (changedTo === 'stale')
        throw new AdminError('AB07', 'etag: it has been changed since. Read it again.');
      await changed(namesOf(changedTo));
      return { success: true, data: { version_id: changedTo.versionId } };
    },

    async DeleteConfig(caller, { slug, workspace_id }) {
      const gone = await store.configs.delete(await caller.place(workspace_id), slug);
      if (gone === 'missing') throw new AdminError('AB08', 'There is no such config.');
      if (gone === 'stale') throw new AdminError('AB07', 'etag: it has been changed since. Read it again.');
      await changed(namesOf(gone));
      return {};
    },
  };
}
