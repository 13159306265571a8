import { adminMethod } from '../../../../../proto/tree.js';
import type { NestedCalls } from '../../access/caller.js';
import { writeMessage } from '../../shape/json.js';
import { canonical, sorted } from './canonical.js';
import { currentOf } from './current.js';
import type { JsonFields } from './kinds/json.js';
import type { DocumentKind } from './kinds/kind.js';
import { kindNamed } from './kinds/kinds.js';
import type { Row } from './row.js';
import { secretMark, visitSecrets } from './secrets/spec-secrets.js';

const largestPage = 1000;
/** Fields that differ between gateways, and so do not decide on the order of records with the same name. */
const ofOneGateway = /^(?:id|slug|key|etag|owner_id|created_by|updated_by|.*_at|current_usage|version_id)$/;

const contentOf = ({ json }: Row): string =>
  JSON.stringify(
    sorted(Object.fromEntries(Object.entries(json).filter(([name]) => !ofOneGateway.test(name)))),
  );

/** The records of the organisation as documents see them, read once. */
export class Inventory {
  readonly #lists = new Map<string, Promise<Row[]>>();

  constructor(
    readonly calls: NestedCalls,
    readonly organisationId: string,
  ) {}

  /** The records of a kind in a workspace, or of the organisation itself. */
  rows(kind: DocumentKind, workspaceId: string | null): Promise<Row[]> {
    const key = `${kind.kind} ${workspaceId ?? ''}`;
    let list = this.#lists.get(key);
    if (list === undefined) {
      list = this.#read(kind, workspaceId);
      this.#lists.set(key, list);
    }
    return list;
  }

  /** The record that a document of that name describes; null: there is none. */
  async find(kind: DocumentKind, workspaceId: string | null, name: string): Promise<Row | null> {
    const rows = await this.rows(kind, workspaceId);
    const exact =
      rows.find((row) => row.documentName === name) ??
      rows.find((row) => kind.slugPrefix !== undefined && row.slug === kind.slugPrefix + name);
    if (exact !== undefined) return exact;
    const [named, another] = rows.filter((row) => row.name === name);
    return named !== undefined && another === undefined ? named : null;
  }

  async add(kind: DocumentKind, row: Row): Promise<void> {
    (await this.rows(kind, row.workspaceId)).push(row);
  }

  async remove(kind: DocumentKind, row: Row): Promise<void> {
    const rows = await this.rows(kind, row.workspaceId);
    const at = rows.indexOf(row);
    if (at >= 0) rows.splice(at, 1);
  }

  /** Every active workspace. */
  workspaces(): Promise<Row[]> {
    return this.rows(kindNamed('Workspace')!, null);
  }

  /** What a document calls a record that another one names, in its own workspace or in the organisation. */
  async nameOf(kind: DocumentKind, workspaceId: string | null, idOrSlug: string): Promise<string> {
    for (const row of await this.#reachable(kind, workspaceId))
      if (row.id === idOrSlug || row.slug === idOrSlug) return row.documentName;
    return idOrSlug;
  }

  /** How requests name the record that a document means. */
  async keyOf(kind: DocumentKind, workspaceId: string | null, name: string): Promise<string> {
    for (const level of workspaceId === null || kind.reach === 'organisation'
      ? [null]
      : [workspaceId, null]) {
      if (level === null && kind.reach === 'workspace') continue;
      const row = await this.find(kind, level, name);
      if (row !== null) return kind.namedBy === 'slug' ? (row.slug ?? row.id) : row.id;
    }
    return name;
  }

  async #reachable(kind: DocumentKind, workspaceId: string | null): Promise<Row[]> {
    const own =
      workspaceId === null || kind.reach === 'organisation' ? [] : await this.rows(kind, workspaceId);
    return kind.reach === 'workspace' ? own : [...own, ...(await this.rows(kind, null))];
  }

  /** The spec of a record in its one form: references by the names of documents, marks in place of secrets. */
  async current(kind: DocumentKind, row: Row): Promise<JsonFields> {
    const whole =
      kind.read === null && Object.keys(row.json).length > 0 ? row.json : await this.#whole(kind, row);
    const spec = await currentOf(this, kind, row, whole);
    const marked = visitSecrets(kind, spec, (value) => (value === null ? value : secretMark));
    return canonical(kind, await this.renamed(kind, scopeOf(kind, row), marked, 'document'));
  }

  /** The spec with references as documents (`document`) or as requests (`record`) have them. */
  async renamed(
    kind: DocumentKind,
    workspaceId: string | null,
    spec: JsonFields,
    to: 'document' | 'record',
  ): Promise<JsonFields> {
    const { references } = kind;
    if (references === undefined) return spec;
    const names = new Map<string, string>();
    const wanted: (readonly [kind: string, name: string])[] = [];
    references(spec, (other, name) => {
      wanted.push([other, name]);
      return name;
    });
    for (const [other, name] of wanted) {
      const named = kindNamed(other)!;
      if (!(await this.#mayName(named))) continue;
      const found =
        to === 'document'
          ? await this.nameOf(named, workspaceId, name)
          : await this.keyOf(named, workspaceId, name);
      names.set(`${other} ${name}`, found);
    }
    return references(spec, (other, name) => names.get(`${other} ${name}`) ?? name);
  }

  /** Records that only keys of the organisation may list stay as others name them. */
  async #mayName({ list }: DocumentKind): Promise<boolean> {
    return list === null || !adminMethod(list).access.organisationOnly || this.calls.may(list);
  }

  async #whole(kind: DocumentKind, row: Row): Promise<JsonFields> {
    const name = kind.read ?? kind.update.replace('.Update', '.Get');
    const { request, response } = adminMethod(name);
    const body: Record<string, unknown> = {};
    if (request.field(kind.id) !== undefined)
      body[kind.id] = kind.id === 'slug' ? (row.slug ?? row.id) : row.id;
    if (row.workspaceId !== null && kind.id !== 'workspace_id' && request.field('workspace_id') !== undefined)
      body['workspace_id'] = row.workspaceId;
    const { response: message } = await this.calls.run(name, body);
    return writeMessage(response, message);
  }

  async #read(kind: DocumentKind, workspaceId: string | null): Promise<Row[]> {
    if (kind.list === null) return [];
    const { request, response } = adminMethod(kind.list);
    const where: Record<string, unknown> = {};
    if (workspaceId !== null) where['workspace_id'] = workspaceId;
    else if (kind.reach === 'either' && request.field('organisation_id') !== undefined)
      where['organisation_id'] = this.organisationId;
    const pageSize = request.field('page_size')?.rules.max ?? largestPage;
    const rows: Row[] = [];
    const pageField = request.field('page') === undefined ? 'current_page' : 'page';
    for (let page = 0, total = 1; page * pageSize < total; page++) {
      const paged = { ...where, page_size: pageSize, [pageField]: page };
      const answer = writeMessage(response, (await this.calls.run(kind.list, paged)).response);
      total = Number(answer['total'] ?? answer['total_count'] ?? 0);
      for (const json of (answer['data'] ?? answer['mappings']) as JsonFields[]) {
        const isOfWorkspace = kind.reach === 'workspace' || kind.reach === 'either';
        const own = isOfWorkspace ? ((json['workspace_id'] ?? null) as string | null) : null;
        if (own !== workspaceId || json['status'] === 'archived') continue;
        rows.push(rowOf(kind, json, own));
      }
    }
    nameRows(rows);
    return rows;
  }
}

/** Where the names in a record's spec are looked up: a workspace names what is in itself. */
export const scopeOf = (kind: DocumentKind, row: Row): string | null =>
  kind.kind === 'Workspace' ? row.id : row.workspaceId;

function rowOf(kind: DocumentKind, json: JsonFields, workspaceId: string | null): Row {
  const slug = typeof json['slug'] === 'string' ? json['slug'] : null;
  const name = typeof json['name'] === 'string' ? json['name'] : '';
  const { identity } = kind;
  const documentName =
    identity?.nameOf(json) ?? (kind.hasSlug && slug !== null ? slug : name === '' ? unnamed(json) : name);
  return {
    id: identity?.idOf(json) ?? String(json['id']),
    slug,
    name,
    documentName,
    workspaceId,
    etag: typeof json['etag'] === 'string' ? json['etag'] : null,
    json,
  };
}

/** A policy may have no name: `cost-by-api_key`. */
function unnamed(json: JsonFields): string {
  const groups = (json['group_by'] ?? []) as readonly JsonFields[];
  return [json['type'] ?? 'record', 'by', ...groups.map(({ key }) => key)].join('-');
}

/** Of several records with the same name, the second is called `name~2`. */
function nameRows(rows: readonly Row[]): void {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(row.documentName, [...(groups.get(row.documentName) ?? []), row]);
  for (const [name, group] of groups) {
    if (group.length === 1) continue;
    const ordered = group
      .map((row) => ({ row, content: contentOf(row) }))
      .sort((a, b) => (a.content < b.content ? -1 : 1));
    for (const [i, { row }] of ordered.entries()) row.documentName = i === 0 ? name : `${name}~${i + 1}`;
  }
}
