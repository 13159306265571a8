import type { RateLimitsPolicy as PolicyMessage } from '../../../../../proto/messages.js';
import type { Forget } from '../../../../common/ipc/messages.js';
import type { RateLimitsPolicy } from '../../../store/store.js';
import { AdminError } from '../../admin-error.js';
import { changeOf, setOf } from '../../audit/mask.js';
import { pageOf } from '../../grpc/wire.js';
import { inSight, settled } from '../../records.js';
import type { AdminParts, Service } from '../../service.js';
import { conditionsOf, groupsOf, noteOf, policyMessage } from './policies.js';

const toMessage = (policy: RateLimitsPolicy): PolicyMessage => ({
  ...policyMessage(policy),
  type: policy.type,
  unit: policy.unit,
  value: policy.value,
  target: policy.target,
  shadow: policy.shadow,
  object: 'policy_rate_limits',
});

/** What data workers know of the policies of its workspace. */
const inForce = ({ workspaceId }: RateLimitsPolicy): Forget => ({
  kind: 'policies',
  workspace: workspaceId,
  name: '*',
});

/** Rate limits over requests that share something. */
export function rateLimitsPoliciesService({ store }: AdminParts): Service<'RateLimitsPolicies'> {
  const policies = store.rateLimitsPolicies;
  return {
    async CreateRateLimitsPolicy(caller, request) {
      const target = request.target || 'llm';
      const made = await policies.create(await caller.place(request.workspace_id), {
        name: noteOf(request.name) ?? null,
        description: noteOf(request.description) ?? null,
        conditions: conditionsOf(request.conditions, target),
        groupBy: groupsOf(request.group_by, target),
        type: request.type,
        unit: request.unit,
        value: request.value,
        target,
        shadow: request.shadow ?? false,
      });
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      caller.changed(made, [inForce(made)]);
      return { id: made.id, object: 'policy_rate_limits' };
    },

    async ListRateLimitsPolicies(caller, request) {
      const place = await caller.place(request.workspace_id, { archived: true });
      const filter = {
        status: request.status || 'active',
        search: request.search || undefined,
        type: request.type || undefined,
        unit: request.unit || undefined,
      } as const;
      const { total, rows } = await policies.list(place, filter, pageOf(request));
      return { object: 'list', total, data: rows.map(toMessage) };
    },

    async GetRateLimitsPolicy(caller, { id, status, workspace_id }) {
      const found = await policies.get(caller.organisationId, id);
      const wanted = found?.status === (status || 'active') ? found : null;
      return toMessage(await inSight(caller, workspace_id, wanted, 'policy'));
    },

    async UpdateRateLimitsPolicy(caller, request) {
      const found = await policies.get(caller.organisationId, request.id);
      const { target, id } = await inSight(caller, request.workspace_id, found, 'policy');
      const conditions = setOf(request, 'conditions');
      const policy = await policies.update(caller.organisationId, id, {
        name: noteOf(changeOf(request, 'name')),
        description: noteOf(changeOf(request, 'description')),
        conditions: conditions && conditionsOf(conditions, target),
        unit: setOf(request, 'unit'),
        value: setOf(request, 'value'),
        shadow: setOf(request, 'shadow'),
        status: setOf(request, 'status'),
        etag: request.etag ?? undefined,
      });
      const changed = settled(policy, 'policy');
      caller.changed(changed, [inForce(changed)]);
      return {};
    },

    async DeleteRateLimitsPolicy(caller, { id, workspace_id, etag }) {
      const found = await policies.get(caller.organisationId, id);
      await inSight(caller, workspace_id, found?.status === 'active' ? found : null, 'policy');
      const change = { status: 'archived', etag: etag ?? undefined } as const;
      const archived = settled(await policies.update(caller.organisationId, id, change), 'policy');
      caller.changed(archived, [inForce(archived)]);
      return {};
    },
  };
}
