import { isDeepStrictEqual } from 'node:util';
import type { AppliedDocument as AppliedMessage } from '../../../../../proto/messages.js';
import { adminMethod } from '../../../../../proto/tree.js';
import type { AppliedDocument, Store } from '../../../store/store.js';
import type { Caller, NestedCalls } from '../../access/caller.js';
import { AdminError, type AdminErrorCode, type Fault } from '../../admin-error.js';
import { canonical, comparable, differences } from './canonical.js';
import { createRecord, type NewRecord } from './creation.js';
import { addFaults, type Document, type GivenSecrets, placeOf, readDocument } from './document.js';
import { Inventory, scopeOf } from './inventory.js';
import { type AppliedItem, inOrder, messageOf, planEtag, refusal, report } from './items.js';
import { isObject, type JsonFields } from './kinds/json.js';
import type { DocumentKind, Part } from './kinds/kind.js';
import { referencesIn } from './kinds/references.js';
import { specShape } from './kinds/spec-shape.js';
import { Pruning } from './prune.js';
import { isOf, named, usualOf, withCleared } from './requests.js';
import type { Row } from './row.js';
import { isWithin, notKept } from './secrets/kept.js';

export interface ApplyOptions {
  readonly set: string;
  readonly prune: boolean;
  readonly secrets: GivenSecrets;
  /** Workspace of documents that name none: slug or id; null: the caller's own, or the only one. */
  readonly workspace: string | null;
  /** Of a dry run; null: whatever has changed since. */
  readonly etag: string | null;
}

export interface Applied {
  readonly data: readonly AppliedMessage[];
  readonly etag: string;
}

/** Stops a document whose fault has been reported already. */
const stop = new AdminError('AB02', 'The workspace is not there.');

const changedSince = (): AdminError =>
  AdminError.lost('The record has changed since its etag was read: read it again.');

/** Makes records as documents describe them. Runs within one unit of work, which is undone where this throws. */
export class Apply {
  readonly #store: Store;
  readonly #inventory: Inventory;
  readonly #faults: Fault[] = [];
  /** Documents that are refused: `Config main/chat`. */
  readonly #failed = new Set<string>();
  readonly #items: AppliedItem[] = [];
  readonly #codes: AdminErrorCode[] = [];
  #applied = new Map<string, AppliedDocument[]>();

  constructor(
    readonly caller: Caller,
    readonly calls: NestedCalls,
    readonly options: ApplyOptions,
  ) {
    this.#store = caller.store;
    this.#inventory = new Inventory(calls, caller.organisationId);
  }

  async run(jsons: readonly unknown[]): Promise<Applied> {
    const { organisationId } = this.caller;
    for (const one of await this.#store.appliedDocuments.list(organisationId)) {
      const key = `${one.kind} ${one.recordId}`;
      this.#applied.set(key, [...(this.#applied.get(key) ?? []), one]);
    }
    const documents = this.#read(jsons);
    for (const document of inOrder(documents)) await this.#guarded(document, () => this.#main(document));
    for (const item of this.#items)
      for (const part of item.document.kind.parts ?? [])
        if (part.late) await this.#guarded(item.document, () => this.#part(item, part));
    const pruning = new Pruning(this.calls, this.#inventory, this.#applied, this.options.set);
    const deleted = this.options.prune ? await pruning.run(this.#described(), this.#faults) : [];
    if (this.#faults.length > 0) throw refusal(this.#faults, this.#codes);
    const etag = planEtag(
      this.#items,
      deleted.map(({ state }) => state),
    );
    if (this.options.etag !== null && this.options.etag !== etag)
      throw AdminError.lost(
        'The records have changed since the plan was made: make a new plan, and apply that.',
      );
    const remembered = this.#items.flatMap((item) => this.#remembered(item));
    await this.#store.appliedDocuments.put(this.caller.organisationId, remembered);
    const data = [...this.#items]
      .sort((a, b) => a.document.index - b.document.index)
      .map((item) => messageOf(item));
    return { data: [...data, ...deleted.map(({ message }) => message)], etag };
  }

  #read(jsons: readonly unknown[]): Document[] {
    const documents: Document[] = [];
    const seen = new Map<string, number>();
    for (const [index, json] of jsons.entries()) {
      const document = readDocument(json, index, this.options.secrets, this.#faults);
      if (document === null) {
        if (isObject(json)) this.#failed.add(`${json['kind']} ${json['name']}`);
        continue;
      }
      const key = `${document.kind.kind} ${document.workspace ?? ''} ${document.name}`;
      const first = seen.get(key);
      if (first !== undefined)
        this.#faults.push({
          path: placeOf(index),
          problem: `describes the same ${document.kind.kind} as ${placeOf(first)}.`,
        });
      seen.set(key, index);
      documents.push(document);
    }
    return documents;
  }

  /** Runs the work of a document; what is refused is one of its faults. */
  async #guarded(document: Document, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      const error = AdminError.from(thrown);
      this.#failed.add(`${document.kind.kind} ${document.name}`);
      // Where it names a document that was refused, that is the fault.
      if (error.code === 'AB02' && this.#namesFailed(document)) return;
      this.#codes.push(error.code);
      addFaults(this.#faults, thrown, `${placeOf(document.index)}.spec`, document.kind);
    }
  }

  #namesFailed({ kind, workspace, secrets }: Document): boolean {
    const named = [
      ...referencesIn(kind.references, secrets.shown),
      ...(workspace === null ? [] : [{ kind: 'Workspace', name: workspace }]),
    ];
    return named.some((one) => this.#failed.has(`${one.kind} ${one.name}`));
  }

  /** The workspace of a document: its id, and its name in results. */
  async #workspaceOf({ kind, workspace, index }: Document): Promise<readonly [string | null, string | null]> {
    const { caller } = this;
    if (kind.reach === 'organisation' || kind.reach === 'single') return [null, null];
    const name = workspace ?? this.options.workspace;
    if (name === null && kind.reach === 'either' && caller.workspaceId === null) return [null, null];
    if (name !== null) {
      const rows = await this.#inventory.workspaces();
      const row = rows.find((one) => one.documentName === name || one.id === name);
      if (row !== undefined && caller.sees(row.id)) return [row.id, row.documentName];
      if (this.#failed.has(`Workspace ${name}`)) throw new AdminError('AB02', 'workspace');
      this.#faults.push({
        path: `${placeOf(index)}.workspace`,
        problem: `names ${JSON.stringify(name.slice(0, 80))}: there is no such workspace.`,
      });
      throw stop;
    }
    const { workspaceId } = await caller.place(null);
    const row = (await this.#inventory.workspaces()).find(({ id }) => id === workspaceId);
    return [workspaceId, row?.documentName ?? workspaceId];
  }

  async #main(document: Document): Promise<void> {
    const { kind } = document;
    let place: readonly [string | null, string | null];
    try {
      place = await this.#workspaceOf(document);
    } catch (thrown) {
      if (thrown !== stop) throw thrown;
      this.#failed.add(`${kind.kind} ${document.name}`);
      return;
    }
    const [workspaceId, workspaceName] = place;
    const row = await this.#existing(document, workspaceId);
    const other =
      row === null
        ? undefined
        : this.#items.find((one) => one.row?.id === row.id && one.document.kind === kind);
    if (other !== undefined) {
      const problem = `describes the same ${kind.kind} as ${placeOf(other.document.index)}.`;
      this.#faults.push({ path: placeOf(document.index), problem });
      return;
    }
    const item: AppliedItem = {
      document,
      workspaceId,
      workspaceName,
      row,
      action: row === null ? 'create' : 'unchanged',
      changes: [],
      kept: [],
      key: null,
      stateBefore: row?.etag ?? JSON.stringify(row?.json ?? ''),
    };
    if (row === null) await this.#create(item);
    else await this.#update(item);
    for (const part of kind.parts ?? []) if (!part.late) await this.#part(item, part);
    this.#items.push(item);
  }

  async #existing({ kind, name, secrets }: Document, workspaceId: string | null): Promise<Row | null> {
    if (kind.reach === 'single') {
      const { organisationId: id } = this.caller;
      const { response } = await this.calls.run(kind.read!, {});
      const etag = typeof response['etag'] === 'string' ? response['etag'] : null;
      return { id, slug: null, name, documentName: name, workspaceId: null, etag, json: {} };
    }
    const slug = kind.hasSlug ? secrets.sent['slug'] : undefined;
    return this.#inventory.find(kind, workspaceId, typeof slug === 'string' ? slug : name);
  }

  /** The fields that the record's own method takes. */
  #ownFields({ kind, fields }: Document): string[] {
    const apart = new Set((kind.parts ?? []).flatMap((part) => part.fields));
    return fields.filter((name) => !apart.has(name));
  }

  async #create(item: AppliedItem): Promise<void> {
    const { document, workspaceId } = item;
    const { kind, secrets } = document;
    if (secrets.missing.length > 0) throw AdminError.fields(secrets.missing);
    const sent = await this.#inventory.renamed(kind, workspaceId, secrets.sent, 'record');
    const made = await this.#made(item, sent);
    item.row = made.row;
    item.key = made.secret;
    const shown = canonical(kind, secrets.shown);
    for (const field of this.#ownFields(document)) report(item, `spec.${field}`, undefined, shown[field]);
  }

  /** `sent`: the spec as requests have it. */
  #made({ document, workspaceId }: AppliedItem, sent: JsonFields): Promise<NewRecord> {
    const { kind, name } = document;
    const own = this.#ownFields(document).filter((field) => sent[field] !== undefined);
    const fields = Object.fromEntries(own.map((field) => [field, sent[field]]));
    return createRecord(this.calls, this.#inventory, kind, { name, workspaceId }, fields);
  }

  /** Updates a record with all its fields, for kinds whose method needs them together. */
  async #replace({ document, workspaceId, row }: AppliedItem): Promise<void> {
    const { kind, secrets } = document;
    const sent = await this.#inventory.renamed(kind, workspaceId, secrets.sent, 'record');
    await this.calls.run(kind.update, { ...sent, ...named(kind, row!, kind.update) });
  }

  /** Makes the fields of `fields` as the document has them; returns the body of the update, null: nothing differs. */
  async #changed(item: AppliedItem, fields: readonly string[]): Promise<JsonFields | null> {
    const { document } = item;
    const { kind } = document;
    const row = item.row!;
    const scope = scopeOf(kind, row);
    const shape = specShape(kind);
    const current = await this.#inventory.current(kind, row);
    const wanted = canonical(
      kind,
      await this.#inventory.renamed(
        kind,
        scope,
        await this.#inventory.renamed(kind, scope, document.secrets.shown, 'record'),
        'document',
      ),
    );
    const sent = await this.#inventory.renamed(kind, scope, document.secrets.sent, 'record');
    const before = this.#lastOf(kind, row);
    const once = new Set(kind.once);
    const body: Record<string, unknown> = {};
    for (const name of fields) {
      if (once.has(name)) continue;
      const field = shape.field(name)!;
      const { jsonName } = field;
      const after = wanted[jsonName];
      const isName = kind.reach !== 'single' && (name === 'name' || name === 'slug');
      const now = isName ? (row[name] ?? undefined) : comparable(kind, name, after, current[jsonName]);
      const found = differences(`spec.${jsonName}`, now, after);
      const secrets = this.#changedSecrets(item, name, before);
      const missing = document.secrets.missing.filter(({ path }) => isWithin(path, name));
      const faults = notKept(kind, missing, current, found.length > 0 || secrets.length > 0);
      if (faults.length > 0) throw AdminError.fields(faults);
      for (const one of missing) item.kept.push({ path: `spec.${one.path}`, name: one.name });
      if (found.length === 0 && secrets.length === 0) continue;
      for (const one of found) report(item, one.path, one.before, one.after);
      for (const path of secrets) item.changes.push({ path: `spec.${path}`, secret: true });
      body[name] = withCleared(field, sent[name] ?? null, current[jsonName], wanted[jsonName]);
    }
    for (const name of before?.fields ?? []) {
      const { jsonName } = shape.field(name) ?? {};
      const isGiven = document.fields.includes(name);
      if (isGiven || jsonName === undefined || !isOf(kind, name, fields) || once.has(name)) continue;
      if (name === 'name' || kind.keyed?.[name] !== undefined) continue;
      const now = comparable(kind, name, undefined, current[jsonName]);
      if (now === undefined) continue;
      report(item, `spec.${jsonName}`, now, undefined);
      Object.assign(body, { [name]: null }, kind.cleared?.[name]?.(sent));
    }
    return Object.keys(body).length === 0 ? null : body;
  }

  async #update(item: AppliedItem): Promise<void> {
    const { document } = item;
    const { kind } = document;
    const row = item.row!;
    const body = await this.#changed(item, this.#ownFields(document));
    if (body === null) {
      if (document.etag !== null && row.etag !== null && document.etag !== row.etag) throw changedSince();
      return;
    }
    if (kind.change === 'never')
      throw AdminError.field(
        Object.keys(body)[0]!,
        'cannot be changed: apply with --prune without the document, then add it again. Users who are in the workspace only by the group lose their keys there.',
      );
    if (kind.change === 'whole') {
      await this.#replace(item);
      item.action = 'update';
      return;
    }
    const { request } = adminMethod(kind.update);
    const fixed = Object.keys(body).find((name) => request.field(name) === undefined);
    if (fixed !== undefined)
      throw AdminError.field(
        fixed,
        'cannot be changed: delete the record, or give the document another name.',
      );
    await this.calls.run(
      kind.update,
      { ...kind.withUpdate, ...body, ...named(kind, row, kind.update) },
      document.etag ?? undefined,
    );
    item.action = 'update';
  }

  /** The fields that another method takes. */
  async #part(item: AppliedItem, part: Part): Promise<void> {
    const { document } = item;
    const { kind } = document;
    const row = item.row!;
    const fields = document.fields.filter((name) => part.fields.includes(name));
    const isCleared = this.#lastOf(kind, row)?.fields.some((name) => part.fields.includes(name)) === true;
    if (fields.length === 0 && !isCleared) return;
    const body = await this.#changed(item, fields.length > 0 ? fields : part.fields);
    if (body === null) return;
    await this.calls.run(part.method, { ...usualOf(part), ...body, ...named(kind, row, part.method) });
    if (item.action === 'unchanged') item.action = 'update';
  }

  /** What this set recorded of the record, else what another one did. */
  #lastOf(kind: DocumentKind, row: Row): AppliedDocument | undefined {
    const all = this.#applied.get(`${kind.kind} ${row.id}`) ?? [];
    return all.find(({ set }) => set === this.options.set) ?? all[0];
  }

  #fingerprint(value: string): string {
    return this.#store.audit.fingerprint(this.caller.organisationId, value);
  }

  /** Paths of secrets in a field that are not the ones that were applied last. */
  #changedSecrets({ document }: AppliedItem, field: string, last: AppliedDocument | undefined): string[] {
    return [...document.secrets.values]
      .filter(([path]) => isWithin(path, field))
      .filter(([path, value]) => last?.secrets[path] !== this.#fingerprint(value))
      .map(([path]) => path);
  }

  /** What is recorded of a document; empty: it is recorded already. */
  #remembered(item: AppliedItem): AppliedDocument[] {
    const { document, workspaceId } = item;
    const { kind } = document;
    const row = item.row!;
    const key = `${kind.kind} ${row.id}`;
    const all = this.#applied.get(key) ?? [];
    const before = all.find(({ set }) => set === this.options.set);
    const last = this.#lastOf(kind, row)?.secrets ?? {};
    const kept = document.secrets.missing.filter(({ path }) => last[path] !== undefined);
    const next: AppliedDocument = {
      set: this.options.set,
      kind: kind.kind,
      recordId: row.id,
      workspaceId,
      name: document.name,
      made: item.action === 'create' || all.some(({ made }) => made),
      fields: [...document.fields].sort(),
      secrets: Object.fromEntries([
        ...[...document.secrets.values].map(([path, value]) => [path, this.#fingerprint(value)] as const),
        ...kept.map(({ path }) => [path, last[path]!] as const),
      ]),
    };
    return before !== undefined && isDeepStrictEqual(before, next) ? [] : [next];
  }

  /** Records that a document describes: `Config <id>`. */
  #described(): ReadonlySet<string> {
    return new Set(this.#items.map(({ document, row }) => `${document.kind.kind} ${row!.id}`));
  }
}
