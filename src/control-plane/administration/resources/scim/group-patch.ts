import { parse } from 'scim2-parse-filter';
import { attributeNamed, groupAttributes, readAttributes, readValue } from './attributes.js';
import { readPath, type SentOperation, shown } from './patch.js';
import { invalidValue, ScimError } from './scim-error.js';

/**
 * PATCH of groups. Members are added and removed one by one, never through the list of all: a group may have tens of thousands.
 */

/** What the operations of a PATCH change in a group. */
export interface GroupEdit {
  displayName?: string;
  externalId?: string | null;
  /** Are the present members removed before `added` are added? */
  isReplaced: boolean;
  readonly added: Set<string>;
  readonly removed: Set<string>;
}

export const noEdit = (): GroupEdit => ({ isReplaced: false, added: new Set(), removed: new Set() });

const members = attributeNamed(groupAttributes, 'members')!;

/** The ids in a value for `members`, which may be a list, one object, or one id. */
export function memberIdsOf(sent: unknown, path: string): string[] {
  if (sent === null || sent === undefined) return [];
  const items: readonly unknown[] = Array.isArray(sent) ? sent : [sent];
  return items.map((item, i) => {
    const at = `${path}[${i}]`;
    const member = typeof item === 'string' ? { value: item } : item;
    if (typeof member !== 'object' || member === null) throw invalidValue(at, 'must be an object.');
    const { value, type } = readAttributes(members.parts ?? [], { ...member }, at);
    if (value === undefined) throw invalidValue(`${at}.value`, 'is required: the id of a user.');
    if (type !== undefined && String(type).toLowerCase() !== 'user')
      throw invalidValue(`${at}.type`, 'must be User: groups have no groups as members.');
    return String(value);
  });
}

/** Ids in `value eq "…"`, alone or joined by `or`. */
function idsInFilter(filter: string, path: string): string[] {
  const ids = (node: ReturnType<typeof parse>): string[] => {
    if (node.op === 'or') return node.filters.flatMap(ids);
    if (node.op === 'eq' && node.attrPath.toLowerCase() === 'value') return [String(node.compValue)];
    throw new ScimError('invalidPath', `path ${shown(path)}: members can only be selected by value eq "id".`);
  };
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(filter);
  } catch {
    throw new ScimError('invalidPath', `path ${shown(path)} cannot be read.`);
  }
  return ids(parsed);
}

function add(edit: GroupEdit, ids: readonly string[]): void {
  for (const id of ids) {
    edit.added.add(id);
    edit.removed.delete(id);
  }
}

function remove(edit: GroupEdit, ids: readonly string[]): void {
  for (const id of ids) {
    edit.removed.add(id);
    edit.added.delete(id);
  }
}

function empty(edit: GroupEdit): void {
  edit.isReplaced = true;
  edit.added.clear();
  edit.removed.clear();
}

function editMembers(
  edit: GroupEdit,
  { op, value }: SentOperation,
  filter: string | null,
  path: string,
): void {
  if (filter !== null) {
    if (op !== 'remove')
      throw new ScimError(
        'invalidPath',
        `path ${shown(path)}: a member cannot be changed: remove it, and add another one.`,
      );
    remove(edit, idsInFilter(filter, path));
    return;
  }
  const ids = memberIdsOf(value, 'members');
  if (op === 'replace' || (op === 'remove' && value === undefined)) empty(edit);
  if (op === 'remove') remove(edit, ids);
  else add(edit, ids);
}

function setText(edit: GroupEdit, name: 'displayName' | 'externalId', { op, value }: SentOperation): void {
  const text = op === 'remove' ? undefined : readValue(attributeNamed(groupAttributes, name)!, value, name);
  if (name === 'externalId') edit.externalId = (text as string | undefined) ?? null;
  else if (text === undefined) throw invalidValue('displayName', 'is required.');
  else edit.displayName = text as string;
}

function editAt(edit: GroupEdit, operation: SentOperation, path: string, lenient: boolean): void {
  const parsed = readPath(path);
  if (parsed === null || parsed.isExtension) return;
  const attribute = attributeNamed(groupAttributes, parsed.name ?? '');
  const isMembers = attribute?.name === 'members';
  const isPart = parsed.part !== null && !(isMembers && parsed.part.toLowerCase() === 'value');
  if (attribute === undefined || isPart || (parsed.filter !== null && !isMembers)) {
    if (lenient) return;
    if (/^(?:id|schemas|meta)$/i.test(parsed.name ?? ''))
      throw new ScimError('mutability', `path ${shown(path)} cannot be changed.`);
    throw new ScimError(
      'invalidPath',
      `path ${shown(path)} is not an attribute of a group that can be changed: use displayName, externalId or members.`,
    );
  }
  if (isMembers) editMembers(edit, operation, parsed.filter, path);
  else setText(edit, attribute.name as 'displayName' | 'externalId', operation);
}

/** All operations of a PATCH, one after the other. */
export function groupEdit(operations: readonly SentOperation[]): GroupEdit {
  const edit = noEdit();
  for (const operation of operations) {
    if (operation.path !== null) editAt(edit, operation, operation.path, false);
    else
      for (const [name, value] of Object.entries(operation.value as object))
        editAt(edit, { ...operation, value: value ?? undefined }, name, true);
  }
  return edit;
}
