import type { ExplainedLimit, ExplainedNode as Node } from '../../../../../proto/messages.js';
import { fromUnits } from '../../../../common/core/budget-rules.js';
import type { ExplainedNode, PlannedLimit } from '../../../../common/ipc/explained.js';
import type { KeyRecord } from '../../../../common/ipc/records.js';
import type { BudgetCounter } from '../../../../common/ledger/budgets.js';
import { workspaceRules } from '../../../store/records/workspace-rules.js';
import type { Place, Workspace } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { timeOrNull } from '../../grpc/wire.js';
import { nobodysKey } from '../../references/nobodys-key.js';
import type { AdminParts, Service } from '../../service.js';
import { replaysService } from './replays.js';

const textOf = (json: unknown): string => (typeof json === 'string' ? json : JSON.stringify(json));

/** Explains requests: asks a data worker, which answers from its current state. */
export function requestsService(parts: AdminParts): Service<'Requests'> {
  const { store, budgets, explain } = parts;

  async function keyOf(caller: Caller, place: Place, id: string | null | undefined): Promise<KeyRecord> {
    if (!id) return assumedKey(place, await store.workspaces.get(place.organisationId, place.workspaceId));
    const key = await store.keys.get(caller.organisationId, id);
    const keys = await caller.keysInSight();
    if (key === null || key.workspaceId !== place.workspaceId || keys?.includes(id) === false)
      throw new AdminError('AB02', 'api_key_id: there is no such key in this workspace.');
    const record = await store.keys.record(caller.organisationId, id);
    if (record === null)
      throw new AdminError('AB02', 'api_key_id: the user of this key is no longer in the workspace.');
    return record;
  }

  /** What was used of budgets, by their counters. */
  async function usedOf(org: string, limits: readonly PlannedLimit[]): Promise<Used> {
    const counters = limits.flatMap(({ counter }) => (counter === null ? [] : [counter]));
    const rows = counters.length === 0 ? [] : await budgets.usage(org, counters);
    return new Map(rows.map((row) => [counterKey(row), row.used]));
  }

  return {
    async ExplainRequest(caller, request) {
      const place = await caller.place(request.workspace_id);
      if (request.config_slug && request.config)
        throw AdminError.field('config', 'and config_slug exclude each other: give one of them.');
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
      const { refused, config, configVersion, cache, limits, nodes } = explained;
      const used = await usedOf(caller.organisationId, [limits, ...nodes.map((node) => node.limits)].flat());
      return {
        object: 'explanation',
        refused: refused ?? undefined,
        config,
        config_version_id: configVersion,
        cache: cache === null ? undefined : { ...cache, max_age: cache.maxAge },
        nodes: nodes.map((node) => toNode(node, used)),
        limits: limits.map((limit) => limitMessage(limit, used)),
      };
    },

    ...replaysService(parts),
  };
}

/** What was used of counters of budgets. */
type Used = ReadonlyMap<string, number>;

const counterKey = ({ budget, startsAt }: BudgetCounter): string => `${startsAt} ${budget}`;

const toNode = ({ body, limits, ...node }: ExplainedNode, used: Used): Node => ({
  ...node,
  notes: [...node.notes],
  body: body ?? undefined,
  limits: limits.map((limit) => limitMessage(limit, used)),
});

function limitMessage({ counter, type, value, ...limit }: PlannedLimit, used: Used): ExplainedLimit {
  const { on, name, unit, shadow } = limit;
  const measure = type === 'cost' ? 'cost' : 'tokens';
  const left = counter === null ? limit.left : Math.max(0, value - (used.get(counterKey(counter)) ?? 0));
  return {
    on,
    name,
    kind: counter === null ? 'rate' : 'budget',
    type,
    unit,
    value: fromUnits(measure, value),
    left: left === null ? null : fromUnits(measure, left),
    shadow,
    next_usage_reset_at: timeOrNull(counter?.endsAt ?? null),
  };
}

/** The caller that is assumed: a key of the workspace without a default or limit of its own. */
function assumedKey(place: Place, workspace: Workspace | null): KeyRecord {
  const key = nobodysKey(place);
  return workspace === null ? key : { ...key, ...workspaceRules(workspace), defaults: key.defaults };
}
