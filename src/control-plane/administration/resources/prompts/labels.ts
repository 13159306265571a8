import type { Label as LabelMessage } from '../../../../../proto/messages.js';
import type { Label } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { changeOf, setOf } from '../../audit/mask.js';
import { pageOf, timeOf } from '../../grpc/wire.js';
import { inSight, needReach, scopeOf, settled } from '../../records.js';
import type { AdminParts, Service } from '../../service.js';
import { noteOf } from '../limits/policies.js';

const toMessage = (label: Label): LabelMessage => ({
  id: label.id,
  name: label.name,
  description: label.description,
  color_code: label.colorCode,
  organisation_id: label.organisationId,
  workspace_id: label.workspaceId,
  is_universal: label.isUniversal,
  created_at: timeOf(label.createdAt),
  last_updated_at: timeOf(label.updatedAt),
  status: 'active',
  etag: label.etag,
});

const taken = (name: string | null | undefined): AdminError =>
  new AdminError('AB07', `name: there is a label ${name} already.`);

/** Names for versions of prompts. */
export function labelsService({ store }: AdminParts): Service<'Labels'> {
  /** The workspace that a request is about; null: all of them. A workspace's key means its own workspace even where it names its organisation. */
  const workspaceOf = (
    caller: Caller,
    { workspace_id, organisation_id }: { workspace_id?: string | null; organisation_id?: string | null },
    archived = false,
  ): Promise<string | null> =>
    scopeOf(
      caller,
      { workspace_id, organisation_id: caller.workspaceId === null ? organisation_id : null },
      { archived },
    );

  async function changeable(
    caller: Caller,
    { id, workspace_id }: { readonly id: string; readonly workspace_id?: string | null },
  ): Promise<Label> {
    const found = await store.labels.get(caller.organisationId, id);
    const label = await inSight(caller, workspace_id, found, 'label');
    if (label.isUniversal)
      throw new AdminError('AB03', `The label ${label.name} is built in: it stays as it is.`);
    needReach(caller, label, 'label');
    return label;
  }

  return {
    async CreateLabel(caller, request) {
      const workspaceId = await workspaceOf(caller, request);
      const made = await store.labels.create(caller.organisationId, workspaceId, {
        name: request.name,
        description: noteOf(request.description) ?? null,
        colorCode: noteOf(request.color_code) ?? null,
      });
      if (made === 'taken') throw taken(request.name);
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      caller.changed(made);
      return { id: made.id };
    },

    async ListLabels(caller, request) {
      const { total, rows } = await store.labels.list(
        caller.organisationId,
        await workspaceOf(caller, request, true),
        request.search || undefined,
        pageOf(request),
      );
      return { total, data: rows.map(toMessage) };
    },

    async GetLabel(caller, { id, workspace_id }) {
      const found = await store.labels.get(caller.organisationId, id);
      return toMessage(await inSight(caller, workspace_id, found, 'label'));
    },

    async UpdateLabel(caller, request) {
      const { id } = await changeable(caller, request);
      const label = await store.labels.update(caller.organisationId, id, {
        name: setOf(request, 'name'),
        description: noteOf(changeOf(request, 'description')),
        colorCode: noteOf(changeOf(request, 'color_code')),
        etag: request.etag ?? undefined,
      });
      if (label === 'taken') throw taken(request.name);
      caller.changed(settled(label, 'label'));
      return {};
    },

    async DeleteLabel(caller, request) {
      const { id } = await changeable(caller, request);
      const gone = await store.labels.delete(caller.organisationId, id, request.etag ?? undefined);
      caller.changed(settled(gone, 'label'));
      return {};
    },
  };
}
