import { AdminError } from '../../admin-error.js';
import type { AdminParts, Service } from '../../service.js';
import { type Applied, Apply } from './apply.js';
import { exportDocuments } from './export.js';
import { kindNamed, kinds } from './kinds/kinds.js';

/** Ends the unit of work of a dry run, which is undone. */
class DryRun extends Error {
  constructor(readonly applied: Applied) {
    super('dry run');
  }
}

/** Configuration as documents. */
export function documentsService({ store, changed }: AdminParts): Service<'Documents'> {
  return {
    async ApplyDocuments(caller, request) {
      const calls = caller.parts!;
      const isDry = request.dry_run === true;
      const options = {
        set: request.set || 'default',
        prune: request.prune === true,
        secrets: { values: request.secrets, strict: request.strict_secrets === true },
        workspace: request.workspace_id || null,
        etag: request.etag || null,
      };
      let applied: Applied;
      try {
        const apply = async (): Promise<Applied> => {
          const done = await new Apply(caller, calls, options).run(request.documents);
          if (isDry) throw new DryRun(done);
          await calls.record();
          return done;
        };
        applied = await store.unit(caller.organisationId, apply, { recalls: true });
      } catch (thrown) {
        calls.undo();
        if (thrown instanceof DryRun) applied = thrown.applied;
        else {
          await calls.refused(AdminError.from(thrown));
          throw thrown;
        }
      }
      // The change is on disk before the workers are notified: where they do not confirm, the answer reports both.
      if (calls.forgets.length > 0) {
        try {
          await changed(calls.forgets);
        } catch (error) {
          const message =
            'The documents are applied, but not every data worker has confirmed it. Apply them again to be sure.';
          throw new AdminError('unavailable', message, error);
        }
      }
      const count = (action: string): number => applied.data.filter((one) => one.action === action).length;
      return {
        object: 'list',
        dry_run: isDry,
        created: count('create'),
        updated: count('update'),
        deleted: count('delete'),
        unchanged: count('unchanged'),
        data: isDry ? applied.data.map((one) => withoutMade(one)) : applied.data,
        etag: applied.etag,
      };
    },

    async ExportDocuments(caller, request) {
      const calls = caller.parts!;
      const unknown = request.kinds.findIndex((kind) => kindNamed(kind) === undefined);
      if (unknown >= 0)
        throw AdminError.field(
          `kinds[${unknown}]`,
          `must be one of ${kinds.map(({ kind }) => kind).join(', ')}.`,
        );
      const workspaceId = request.workspace_id
        ? (await caller.place(request.workspace_id, { archived: true })).workspaceId
        : null;
      const options = { workspaceId, kinds: request.kinds, etags: request.etags === true };
      // One unit of work, so that all records are read in the same state.
      const { data, skipped } = await store.unit(
        caller.organisationId,
        () => exportDocuments(caller, calls, options),
        { recalls: true },
      );
      return { object: 'list', total: data.length, data, skipped };
    },
  };
}

/** Without the ids of records that a dry run has created: they do not exist afterwards. */
const withoutMade = (one: Applied['data'][number]): Applied['data'][number] =>
  one.action === 'create' ? { ...one, id: null, key: null } : one;
