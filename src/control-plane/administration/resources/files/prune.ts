import type { AppliedDocument as AppliedMessage } from '../../../../../proto/messages.js';
import type { AppliedDocument } from '../../../store/store.js';
import type { NestedCalls } from '../../access/caller.js';
import { AdminError, type Fault } from '../../admin-error.js';
import type { Inventory } from './inventory.js';
import type { DocumentKind } from './kinds/kind.js';
import { kindNamed, kinds } from './kinds/kinds.js';
import { referencesIn } from './kinds/references.js';
import type { Row } from './row.js';

export interface Pruned {
  readonly message: AppliedMessage;
  /** For the etag of the plan. */
  readonly state: string;
}

interface Doomed {
  readonly kind: DocumentKind;
  readonly row: Row;
  readonly workspaceName: string | null;
}

/** Deletes records that earlier documents of a set made and that none describes any more. */
export class Pruning {
  constructor(
    readonly calls: NestedCalls,
    readonly inventory: Inventory,
    /** By kind and id of the record. */
    readonly applied: ReadonlyMap<string, readonly AppliedDocument[]>,
    readonly set: string,
  ) {}

  /** `described`: records that documents describe now. What cannot be deleted is added to `faults`. */
  async run(described: ReadonlySet<string>, faults: Fault[]): Promise<Pruned[]> {
    const { caller } = this.calls;
    const { organisationId, store } = caller;
    const doomed: Doomed[] = [];
    for (const [key, all] of this.applied) {
      const own = all.find(({ set }) => set === this.set);
      if (own === undefined || described.has(key)) continue;
      // Other workspaces, and the organisation, may use the same name of a set.
      if (!caller.sees(own.workspaceId)) continue;
      const found = all.length === 1 && own.made ? await this.#find(own) : null;
      // Another set describes it too, it existed before, or it was deleted: only the entry is removed.
      if (found === null)
        await store.appliedDocuments.delete(organisationId, own.kind, own.recordId, this.set);
      else doomed.push(found);
    }
    doomed.sort((a, b) => kinds.indexOf(b.kind) - kinds.indexOf(a.kind));
    if (faults.length > 0) return [];
    await this.#checkDependents(doomed, faults);
    if (faults.length > 0) return [];
    const pruned: Pruned[] = [];
    for (const one of doomed)
      if (one.kind.kind === 'Workspace') await this.#guarded(one, faults, () => this.#clearGuardrails(one));
    for (const one of doomed) {
      if (!(await this.#guarded(one, faults, () => this.#delete(one)))) continue;
      await store.appliedDocuments.delete(organisationId, one.kind.kind, one.row.id);
      pruned.push({
        message: messageOf(one),
        state: `delete ${one.kind.kind} ${one.row.id} ${one.row.etag}`,
      });
    }
    return pruned;
  }

  /** Was it done? What is refused is a fault. */
  async #guarded(one: Doomed, faults: Fault[], work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (thrown) {
      const error = AdminError.from(thrown);
      if (error.code === 'AB04' || error.code === 'unavailable') throw thrown;
      faults.push({ path: nameOf(one), problem: `cannot be deleted: ${error.message}` });
      return false;
    }
  }

  async #find({ kind: name, recordId, workspaceId }: AppliedDocument): Promise<Doomed | null> {
    const kind = kindNamed(name);
    if (kind?.delete == null) return null;
    const rows = await this.inventory.rows(kind, workspaceId);
    const row = rows.find(({ id }) => id === recordId);
    if (row === undefined) return null;
    const workspace = (await this.inventory.workspaces()).find(({ id }) => id === workspaceId);
    return { kind, row, workspaceName: workspace?.documentName ?? null };
  }

  /** Nothing that stays may name what goes. */
  async #checkDependents(doomed: readonly Doomed[], faults: Fault[]): Promise<void> {
    const going = new Set(doomed.map(({ row }) => row.id));
    const naming = kinds.filter(({ references }) => references !== undefined);
    const wanted = doomed.filter(({ kind }) => kind.kind !== 'Workspace');
    if (wanted.length === 0) return;
    const workspaces = (await this.inventory.workspaces()).map(({ id }) => id);
    for (const kind of naming) {
      const places =
        kind.reach === 'workspace' ? workspaces : kind.reach === 'either' ? [null, ...workspaces] : [null];
      for (const place of places) {
        // The organisation's own records name none of a workspace, but for the workspace itself.
        const near = wanted.filter(
          ({ row }) => row.workspaceId === null || row.workspaceId === place || kind.kind === 'Workspace',
        );
        if (near.length === 0) continue;
        for (const row of await this.inventory.rows(kind, place)) {
          if (going.has(row.id)) continue;
          const names = referencesIn(kind.references, await this.inventory.current(kind, row));
          for (const one of near) {
            const own = kind.kind === 'Workspace' ? row.id : place;
            const isNamed = names.some(
              (name) => name.kind === one.kind.kind && name.name === one.row.documentName,
            );
            if (isNamed && (one.row.workspaceId === null || one.row.workspaceId === own))
              faults.push({
                path: nameOf(one),
                problem: `cannot be deleted: ${kind.kind} ${row.documentName} uses it. Change that first, or leave --prune out.`,
              });
          }
        }
      }
    }
  }

  /** Guardrails go before their workspace, and none is deleted that is a default. */
  async #clearGuardrails({ kind, row }: Doomed): Promise<void> {
    const names = referencesIn(kind.references, await this.inventory.current(kind, row));
    if (!names.some((name) => name.kind === 'Guardrail')) return;
    const defaults = { input_guardrails: [], output_guardrails: [] };
    await this.calls.run('Workspaces.UpdateWorkspace', { workspace_id: row.id, defaults });
  }

  async #delete({ kind, row }: Doomed): Promise<void> {
    const own = { [kind.id]: kind.id === 'slug' ? (row.slug ?? row.id) : row.id };
    const body: Record<string, unknown> = { ...(kind.identity?.requestOf(row.id) ?? own) };
    if (kind.kind === 'Workspace') body['name'] = row.name;
    else if (row.workspaceId !== null && kind.kind !== 'ApiKey' && kind.identity === undefined)
      body['workspace_id'] = row.workspaceId;
    await this.calls.run(kind.delete!, body);
    await this.inventory.remove(kind, row);
  }
}

const nameOf = ({ kind, row, workspaceName }: Doomed): string =>
  `${kind.kind} ${workspaceName === null ? '' : `${workspaceName}/`}${row.documentName}`;

const messageOf = ({ kind, row, workspaceName }: Doomed): AppliedMessage => ({
  index: -1,
  kind: kind.kind,
  name: row.documentName,
  workspace: workspaceName,
  action: 'delete',
  changes: [],
  id: row.id,
  key: null,
  kept_secrets: [],
});
