import type { ExplainedNode as Node } from '../../../../proto/messages.js';
import type { ExplainedNode } from '../../../common/ipc/explained.js';
import type { KeyRecord } from '../../../common/ipc/records.js';
import type { Place } from '../../store/store.js';
import type { Caller } from '../access/caller.js';
import { AdminError } from '../admin-error.js';
import type { AdminParts, Service } from '../service.js';

const textOf = (json: unknown): string => (typeof json === 'string' ? json : JSON.stringify(json));

/** Explains requests: asks a data worker, which answers from its current state. */
export function requestsService({ store, explain }: AdminParts): Service<'Requests'> {
  async function keyOf(caller: Caller, place: Place, id: string | null | undefined): Promise<KeyRecord> {
    if (!id) return nobodysKey(place);
    const key = await store.keys.get(caller.organisationId, id);
    const keys = await caller.keysInSight();
    if (key === null || key.workspaceId !== place.workspaceId || keys?.includes(id) === false)
      throw new AdminError('AB02', 'api_key_id: there is no such key in this workspace.');
    const { configId, allowConfigOverride, metadata } = key.defaults;
    return {
      ...nobodysKey(place),
      keyId: key.id,
      keyName: key.name,
      keyType: key.type,
      userId: key.userId,
      defaults: { configId, allowConfigOverride, metadata: { ...metadata } },
    };
  }

  return {
    async ExplainRequest(caller, request) {
      const place = await caller.place(request.workspace_id);
      if (request.config_slug && request.config)
        throw new AdminError('AB01', 'config and config_slug exclude each other: give one of them.');
      const explained = await explain?.({
        key: await keyOf(caller, place, request.api_key_id),
        path: request.path || '/v1/chat/completions',
        headers: Object.entries(request.headers ?? {}).flatMap(([name, value]) => [
          name.toLowerCase(),
          value,
        ]),
        config: request.config_slug || (request.config ? textOf(request.config) : null),
        body: textOf(request.request_body),
      });
      if (!explained)
        throw new AdminError('unavailable', 'No data worker can explain this now: try again shortly.');
      const { refused, config, configVersion, cache, nodes } = explained;
      return {
        object: 'explanation',
        refused: refused ?? undefined,
        config,
        config_version_id: configVersion,
        cache: cache === null ? undefined : { ...cache, max_age: cache.maxAge },
        nodes: nodes.map(toNode),
      };
    },
  };
}

const toNode = ({ body, ...node }: ExplainedNode): Node => ({
  ...node,
  notes: [...node.notes],
  body: body ?? undefined,
});

/** The caller that is assumed: a key of the workspace without a default of its own. */
function nobodysKey({ organisationId, workspaceId }: Place): KeyRecord {
  return {
    organisationId,
    workspaceId,
    keyId: '',
    keyName: '',
    keyType: 'workspace-service',
    userId: null,
    scopes: [],
    expiresAt: null,
    blockInline: false,
    defaults: { configId: null, allowConfigOverride: true, metadata: {} },
  };
}
