import { createHash } from 'node:crypto';
import type { AppliedDocument as AppliedMessage } from '../../../../../proto/messages.js';
import { AdminError, type AdminErrorCode, adminErrors, type Fault } from '../../admin-error.js';
import type { SpecDifference } from './canonical.js';
import type { Document } from './document.js';
import { isObject } from './kinds/json.js';
import { kinds } from './kinds/kinds.js';
import { referencesIn } from './kinds/references.js';
import type { Row } from './row.js';
import { secretMark } from './secrets/spec-secrets.js';

/** A document that is being applied, and its results so far. */
export interface AppliedItem {
  readonly document: Document;
  readonly workspaceId: string | null;
  readonly workspaceName: string | null;
  row: Row | null;
  action: 'create' | 'update' | 'unchanged';
  changes: { path: string; before?: unknown; after?: unknown; secret: boolean }[];
  /** Secrets without a value, of which the record keeps what it has, and the variables that are not set. */
  kept: { path: string; name: string }[];
  key: string | null;
  /** Before this apply. */
  stateBefore: string;
}

/** Documents in the order of their kinds; of one kind, those that others name first. */
export function inOrder(documents: readonly Document[]): Document[] {
  const ordered: Document[] = [];
  for (const kind of kinds) {
    const own = documents.filter((document) => document.kind === kind);
    const byName = new Map(own.map((one) => [one.name, one]));
    const done = new Set<Document>();
    const add = (document: Document): void => {
      if (done.has(document)) return;
      done.add(document);
      for (const { kind: other, name } of referencesIn(kind.references, document.secrets.shown)) {
        const first = other === kind.kind ? byName.get(name) : undefined;
        if (first !== undefined) add(first);
      }
      ordered.push(document);
    };
    for (const document of own) add(document);
  }
  return ordered;
}

/** The fields of a new record, as differences, each down to its leaves. */
function leaves(path: string, value: unknown): SpecDifference[] {
  if (value === undefined) return [];
  if (isObject(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([name, item]) => leaves(`${path}.${name}`, item));
  return [{ path, after: value }];
}

/** Adds what differs in a field to what is reported of the document. */
export function report(item: AppliedItem, path: string, before: unknown, after: unknown): void {
  for (const one of item.action === 'create' ? leaves(path, after) : [{ path, before, after }]) {
    const secret = one.before === secretMark || one.after === secretMark;
    item.changes.push({
      path: one.path,
      ...(one.before !== undefined && !secret && { before: one.before }),
      ...(one.after !== undefined && !secret && { after: one.after }),
      secret,
    });
  }
}

export function messageOf({
  document,
  row,
  action,
  changes,
  key,
  kept,
  workspaceName,
}: AppliedItem): AppliedMessage {
  return {
    index: document.index,
    kind: document.kind.kind,
    name: document.name,
    workspace: workspaceName,
    action,
    changes,
    id: row?.id ?? null,
    key,
    kept_secrets: kept,
  };
}

/** A hash of the changes of an apply; it differs if one of the records has changed since. `deleted`: states of deleted records. */
export function planEtag(items: readonly AppliedItem[], deleted: readonly string[]): string {
  const states = items.map(
    ({ document, workspaceName, stateBefore, action }) =>
      `${document.kind.kind} ${workspaceName ?? ''} ${document.name} ${action} ${stateBefore}`,
  );
  return createHash('sha256')
    .update([...states, ...deleted].sort().join('\n'))
    .digest('base64url')
    .slice(0, 22);
}

/** At most so many faults are reported. */
const mostReported = 200;

/** One error for all faults. `codes`: of the methods that have refused; where all are of one kind, it is that one. */
export function refusal(faults: readonly Fault[], codes: readonly AdminErrorCode[]): AdminError {
  const order = (path: string): number => Number(/^documents\[(\d+)\]/.exec(path)?.[1] ?? 0);
  const ordered = [...faults].sort((a, b) => order(a.path) - order(b.path));
  const all = AdminError.fields(ordered.slice(0, mostReported));
  const [code = 'AB01'] = codes;
  const isOwn =
    (code === 'AB03' || code === 'AB07') &&
    codes.length === faults.length &&
    codes.every((one) => one === code);
  return isOwn ? new AdminError(code, all.message, undefined, adminErrors[code], all.faults) : all;
}
