import { adminMethod } from '../../../../../proto/tree.js';
import type { NestedCalls } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import type { Inventory } from './inventory.js';
import { isObject, type JsonFields } from './kinds/json.js';
import type { DocumentKind } from './kinds/kind.js';
import { kindNamed } from './kinds/kinds.js';
import { initial, slugFrom } from './requests.js';
import type { Row } from './row.js';

export interface NewRecord {
  readonly row: Row;
  /** The secret in the answer, which is shown only there. */
  readonly secret: string | null;
}

/** Creates the record of a document. `fields`: those of the record's own method, with references in the form of requests. */
export async function createRecord(
  calls: NestedCalls,
  inventory: Inventory,
  kind: DocumentKind,
  { name, workspaceId }: { readonly name: string; readonly workspaceId: string | null },
  fields: JsonFields,
): Promise<NewRecord> {
  const body = await newRequest(inventory, kind, name, workspaceId, fields);
  const { response, id } = await calls.run(kind.create!, body);
  const made = (isObject(response['data']) ? response['data'] : response) as JsonFields;
  const row: Row = {
    id: kind.identity?.newId?.(body) ?? id ?? String(made['id']),
    slug: typeof made['slug'] === 'string' ? made['slug'] : null,
    name: String(body['name'] ?? ''),
    documentName: name,
    workspaceId,
    etag: null,
    json: {},
  };
  await inventory.add(kind, row);
  const secret = kind.newSecret === undefined ? null : made[kind.newSecret];
  return { row, secret: typeof secret === 'string' ? secret : null };
}

async function newRequest(
  inventory: Inventory,
  kind: DocumentKind,
  name: string,
  workspaceId: string | null,
  fields: JsonFields,
): Promise<JsonFields> {
  const { request } = adminMethod(kind.create!);
  const body: Record<string, unknown> = { ...initial(kind, workspaceId), ...fields };
  if (workspaceId !== null) body['workspace_id'] = workspaceId;
  else if (kind.reach === 'either' && request.field('organisation_id') !== undefined)
    body['organisation_id'] = inventory.organisationId;
  if (kind.identity !== undefined)
    return kind.identity.newRequest(name, body, (email) => userId(inventory, email));
  body['name'] ??= name;
  if (kind.hasSlug) body['slug'] ??= slugFrom(kind, name);
  return body;
}

async function userId(inventory: Inventory, email: string): Promise<string> {
  const user = await inventory.find(kindNamed('User')!, null, email);
  if (user === null)
    throw new AdminError('AB02', `name: the organisation has no user ${email}: add a document of kind User.`);
  return user.id;
}
