import type { FieldShape } from '../../../../../proto/shape.js';
import { adminMethod } from '../../../../../proto/tree.js';
import { isObject, type JsonFields } from './kinds/json.js';
import type { DocumentKind, Part } from './kinds/kind.js';
import { specShape } from './kinds/spec-shape.js';
import type { Row } from './row.js';
import { secretMark } from './secrets/spec-secrets.js';

/** The slug that a document names; undefined: the name cannot be a slug, and the gateway makes one. */
export function slugFrom({ create, slugPrefix = '' }: DocumentKind, name: string): string | undefined {
  const pattern = new RegExp(adminMethod(create!).request.field('slug')?.rules.pattern ?? '^[a-zA-Z0-9_-]+$');
  return [name, slugPrefix + name].find((slug) => pattern.test(slug));
}

/** Fields that a request needs and a document may leave out. */
export function initial(kind: DocumentKind, workspaceId: string | null): JsonFields {
  if (kind.kind === 'Integration') return { create_default_provider: false };
  if (kind.kind === 'ApiKey')
    return { type: workspaceId === null ? 'organisation' : 'workspace', sub_type: 'service' };
  return {};
}

/** Without these, a workspace that gains access would get a provider that no document describes. */
export const usualOf = ({ method }: Part): JsonFields =>
  method === 'Integrations.UpdateIntegrationWorkspaces' ? { create_default_provider: false } : {};

/** The fields by which a method finds the record. */
export function named(kind: DocumentKind, row: Row, method: string): JsonFields {
  const { request } = adminMethod(method);
  if (kind.reach === 'single') return {};
  if (kind.identity !== undefined) return kind.identity.requestOf(row.id);
  const own = { [kind.id]: kind.id === 'slug' ? (row.slug ?? row.id) : row.id };
  const place = request.field('workspace_id');
  const takesPlace = kind.id !== 'workspace_id' && place !== undefined && place.rules.immutable !== true;
  return row.workspaceId !== null && takesPlace ? { ...own, workspace_id: row.workspaceId } : own;
}

/** Is the field one of those that are set by the same method as `fields`? */
export function isOf(kind: DocumentKind, name: string, fields: readonly string[]): boolean {
  const method = specShape(kind).methodOf(name);
  const [first] = fields;
  return first === undefined ? method === kind.update : specShape(kind).methodOf(first) === method;
}

/**
 * A message with null for each field that the record has and the document has not; maps and free JSON are replaced as a
 * whole. `wanted`: also with secrets that stay.
 */
export function withCleared(field: FieldShape, sent: unknown, current: unknown, wanted: unknown): unknown {
  const isMessage = field.kind === 'message' && !field.list && !field.map;
  if (!isMessage || !isObject(sent) || !isObject(current)) return sent;
  const made: Record<string, unknown> = { ...sent };
  const kept = isObject(wanted) ? wanted : {};
  for (const [name, value] of Object.entries(current)) {
    const inner = field.message?.spelt(name);
    const spelling = inner?.spellings.find((one) => Object.hasOwn(sent, one));
    if (inner === undefined || (spelling === undefined && kept[name] === secretMark)) continue;
    if (spelling === undefined) made[name] = null;
    else made[spelling] = withCleared(inner, sent[spelling], value, kept[name]);
  }
  return made;
}
