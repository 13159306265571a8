import type { Caller, NestedCalls } from '../../access/caller.js';
import { canonical, sorted } from './canonical.js';
import { Inventory } from './inventory.js';
import { isObject, type JsonFields } from './kinds/json.js';
import type { DocumentKind } from './kinds/kind.js';
import { kinds } from './kinds/kinds.js';
import type { Row } from './row.js';
import { placeholderOf } from './secrets/placeholders.js';
import { visitSecrets } from './secrets/spec-secrets.js';

export interface ExportOptions {
  /** null: of all that the caller sees. */
  readonly workspaceId: string | null;
  /** Empty: all kinds. */
  readonly kinds: readonly string[];
  readonly etags: boolean;
}

export interface Exported {
  readonly data: readonly JsonFields[];
  readonly skipped: readonly string[];
}

/** Records that the gateway creates itself, and keys of users, are not exported. */
const leftOut: Readonly<Record<string, (json: JsonFields) => boolean>> = {
  ApiKey: (json) => json['creation_mode'] === 'auto' || json['type'] === 'workspace-user',
  Collection: (json) => json['is_default'] === true,
  Label: (json) => json['is_universal'] === true,
};

const order = (a: Row, b: Row): number => (a.documentName < b.documentName ? -1 : 1);

/** The records that the caller may read, as documents in a fixed order. */
export async function exportDocuments(
  caller: Caller,
  calls: NestedCalls,
  options: ExportOptions,
): Promise<Exported> {
  const inventory = new Inventory(calls, caller.organisationId);
  const only = options.workspaceId ?? caller.workspaceId;
  const skipped: string[] = [];
  const data: JsonFields[] = [];
  const workspaces = (await inventory.workspaces())
    .filter(({ id }) => only === null || id === only)
    .sort(order);
  const ofOrganisation = only === null;
  for (const kind of kinds) {
    if (options.kinds.length > 0 ? !options.kinds.includes(kind.kind) : kind.onRequest) continue;
    if (kind.reach === 'single' && (!ofOrganisation || caller.workspaceId !== null)) continue;
    const may =
      (kind.list === null || (await calls.may(kind.list))) &&
      (kind.read === null || (await calls.may(kind.read)));
    if (!may) {
      skipped.push(kind.kind);
      continue;
    }
    const add = async (row: Row, workspace: string | null): Promise<void> => {
      if (leftOut[kind.kind]?.(row.json) === true) return;
      data.push(await documentOf(inventory, kind, row, workspace, options.etags));
    };
    if (kind.reach === 'single') {
      const id = caller.organisationId;
      await add(
        { id, slug: null, name: '', documentName: '', workspaceId: null, etag: null, json: {} },
        null,
      );
    } else if (kind.kind === 'Workspace') for (const row of workspaces) await add(row, null);
    else if (kind.reach !== 'workspace' && ofOrganisation)
      for (const row of [...(await inventory.rows(kind, null))].sort(order)) await add(row, null);
    if (kind.reach === 'either' || kind.reach === 'workspace')
      for (const { id, documentName } of workspaces)
        for (const row of [...(await inventory.rows(kind, id))].sort(order)) await add(row, documentName);
  }
  return { data, skipped };
}

async function documentOf(
  inventory: Inventory,
  kind: DocumentKind,
  row: Row,
  workspace: string | null,
  withEtag: boolean,
): Promise<JsonFields> {
  const current = canonical(kind, await inventory.current(kind, row), false);
  const spec = visitSecrets(kind, current, (value, path) =>
    isObject(value) ? value : placeholderOf(kind.kind, row.documentName, path),
  );
  return {
    kind: kind.kind,
    ...(kind.reach !== 'single' && { name: row.documentName }),
    ...(workspace !== null && { workspace }),
    ...(withEtag && row.etag !== null && { etag: row.etag }),
    spec: sorted(spec),
  };
}
