import type { ApiKeyDefaults, ApiKey as ApiKeyMessage, CreateApiKeyRequest } from '../../proto/messages.js';
import type { KeyType } from '../core/principal.js';
import { isScope, mayHold } from '../core/scopes.js';
import type { ApiKey, KeyDefaults, Place } from '../store/store.js';
import { AdminError } from './admin-error.js';
import type { Caller } from './caller.js';
import type { AdminParts, Service } from './service.js';
import { msOf, pageOf, stale, textOf, timeOf, timeOrNull } from './wire.js';

const families: Readonly<Record<KeyType, string>> = {
  'organisation-service': 'organisation_service_api_keys',
  'workspace-service': 'workspace_service_api_keys',
  'workspace-user': 'workspace_user_api_keys',
};
const types = Object.keys(families) as readonly KeyType[];

function toMessage(key: ApiKey, now: number): ApiKeyMessage {
  return {
    id: key.id,
    key: key.masked,
    name: key.name,
    description: key.description,
    type: key.type,
    organisation_id: key.organisationId,
    workspace_id: key.workspaceId,
    user_id: key.userId,
    status: key.expiresAt !== null && key.expiresAt <= now ? 'expired' : 'active',
    created_at: timeOf(key.createdAt),
    last_updated_at: timeOf(key.updatedAt),
    creation_mode: key.creationMode,
    scopes: key.scopes,
    defaults: {
      metadata: key.defaults.metadata,
      config_id: key.defaults.configId,
      allow_config_override: key.defaults.allowConfigOverride,
    },
    expires_at: timeOrNull(key.expiresAt),
    object: 'api-key',
    etag: key.etag,
  };
}

function typeOf(request: CreateApiKeyRequest): KeyType {
  const type = types.find((known) => known === `${request.type}-${request.sub_type}`);
  if (type === undefined) {
    const known = types.map((name) => name.replace('-', '/')).join(', ');
    throw new AdminError('AB01', `type and sub_type must be one of ${known}.`);
  }
  return type;
}

function checkScopes(caller: Caller, type: KeyType, scopes: readonly string[]): readonly string[] {
  for (const scope of scopes) {
    if (!isScope(scope))
      throw new AdminError('AB01', `scopes: there is no scope ${JSON.stringify(scope).slice(0, 80)}.`);
    if (!mayHold(type, scope))
      throw new AdminError('AB01', `scopes: a key of type ${type} cannot hold ${scope}.`);
    if (!caller.mayGrant(scope)) {
      throw new AdminError('AB03', `scopes: this key lacks ${scope} and cannot grant it.`);
    }
  }
  return [...new Set(scopes)];
}

function checkExpiry(expiresAt: number | null, now: number): void {
  if (expiresAt === null) return;
  if (expiresAt <= now) throw new AdminError('AB01', 'expires_at must be in the future.');
}

async function defaultsOf(
  caller: Caller,
  place: Place | null,
  message: ApiKeyDefaults | null | undefined,
): Promise<KeyDefaults> {
  const metadata = message?.metadata ?? {};
  const configId = message?.config_id || null;
  if (configId !== null) {
    if (place === null)
      throw new AdminError('AB01', "defaults.config_id: an organisation's key has no workspace.");
    const config = await caller.store.configs.get(place, configId);
    if (config === null || config.status !== 'active') {
      throw new AdminError('AB02', 'defaults.config_id: there is no such config in the workspace.');
    }
  }
  return { configId, allowConfigOverride: message?.allow_config_override ?? true, metadata };
}

/** Gateway keys (spec/api.md §5.5). */
export function apiKeysService({ store }: AdminParts): Service<'ApiKeys'> {
  return {
    async CreateApiKey(caller, request) {
      const type = typeOf(request);
      caller.need(`${families[type]}.create`);
      const name = textOf('name', request.name);
      if (type === 'workspace-user') {
        // Members are not administered yet, so that no id can be one.
        textOf('user_id', request.user_id);
        throw new AdminError('AB02', 'user_id: the workspace has no such member.');
      }
      if (type === 'organisation-service' && request.workspace_id) {
        throw new AdminError('AB01', "workspace_id: an organisation's key has no workspace.");
      }
      const place = type === 'organisation-service' ? null : await caller.place(request.workspace_id);
      const scopes = checkScopes(caller, type, request.scopes);
      const expiresAt = msOf(request.expires_at);
      checkExpiry(expiresAt, Date.now());
      const made = await store.keys.create(caller.organisationId, {
        type,
        workspaceId: place?.workspaceId ?? null,
        name,
        description: request.description?.trim() || null,
        scopes,
        defaults: await defaultsOf(caller, place, request.defaults),
        expiresAt,
      });
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      // A worker may remember that there was no such key.
      caller.changed(made.key, [{ kind: 'key', workspace: null, name: made.hash }]);
      return { id: made.key.id, key: made.text.reveal(), object: 'api-key' };
    },

    async ListApiKeys(caller, request) {
      // `exhausted` is a status of its own once keys have budgets; until then no key has it.
      const wanted = request.status.filter((text) => text !== 'exhausted');
      const page = pageOf(request);
      if (request.status.length > 0 && wanted.length === 0) return { object: 'list', total: 0, data: [] };
      const isNarrow = caller.workspaceId !== null || Boolean(request.workspace_id);
      const { total, rows } = await store.keys.list(
        caller.organisationId,
        {
          workspaceId: isNarrow ? (await caller.place(request.workspace_id)).workspaceId : undefined,
          types: types.filter((type) => caller.has(`${families[type]}.list`)),
          status: wanted.length === 0 ? undefined : wanted,
        },
        page,
      );
      const now = Date.now();
      return { object: 'list', total, data: rows.map((key) => toMessage(key, now)) };
    },

    async DeleteApiKey(caller, { id, etag }) {
      const key = await store.keys.get(caller.organisationId, id);
      if (key === null || !caller.sees(key.workspaceId))
        throw new AdminError('AB08', 'There is no such key.');
      caller.need(`${families[key.type]}.delete`);
      const gone = await store.keys.delete(caller.organisationId, id, etag ?? undefined);
      if (gone === 'missing') throw new AdminError('AB08', 'There is no such key.');
      if (gone === 'stale') throw stale();
      caller.changed(
        key,
        gone.hashes.map((name) => ({ kind: 'key' as const, workspace: null, name })),
      );
      return {};
    },
  };
}
