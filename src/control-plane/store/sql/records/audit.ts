import type { AuditAnchor } from '../../files/audit-anchors.js';
import type {
  AuditDefect,
  AuditEntry,
  AuditFilter,
  AuditRecord,
  AuditStore,
  AuditVerdict,
} from '../../records/audit.js';
import type { Listed, Page } from '../../records/place.js';
import type { Database, Sql } from '../connection/driver.js';
import { insertRow, insertRows } from '../connection/statements.js';
import { listed } from '../lists.js';
import { type AuditChain, type AuditRow, genesis, hashRow } from './audit-chain.js';

/** Rows read at once where all of them are wanted. */
const pieceOf = 500;

/** As it comes back from any database: a lone surrogate or a NUL would come back as something else, or be refused. */
const storable = (text: string): string => Buffer.from(text).toString().replaceAll('\0', '\ufffd');
const storableOrNull = (text: string | null): string | null => (text === null ? null : storable(text));

const toRow = (entry: AuditEntry, seq: number, at: number, previous: string): Omit<AuditRow, 'hash'> => ({
  organisation_id: entry.organisationId,
  seq,
  at,
  workspace_id: entry.workspaceId,
  method: storable(entry.method),
  uri: storable(entry.uri),
  request_id: storable(entry.requestId),
  request_body: storable(entry.requestBody),
  query_params: storable(entry.queryParams),
  request_headers: storable(entry.requestHeaders),
  user_id: storable(entry.userId),
  user_type: entry.userType,
  actor_name: storable(entry.actorName),
  response_status_code: entry.responseStatusCode,
  resource_type: storable(entry.resourceType),
  resource_id: storableOrNull(entry.resourceId),
  action: storable(entry.action),
  client_ip: storableOrNull(entry.clientIp),
  country: storableOrNull(entry.country),
  allowed: entry.allowed,
  previous,
});

const fromRow = (row: Omit<AuditRow, 'hash'>): AuditRecord => ({
  organisationId: row.organisation_id,
  seq: row.seq,
  at: row.at,
  workspaceId: row.workspace_id,
  method: row.method,
  uri: row.uri,
  requestId: row.request_id,
  requestBody: row.request_body,
  queryParams: row.query_params,
  requestHeaders: row.request_headers,
  userId: row.user_id,
  userType: row.user_type,
  actorName: row.actor_name,
  responseStatusCode: row.response_status_code,
  resourceType: row.resource_type,
  resourceId: row.resource_id,
  action: row.action,
  clientIp: row.client_ip,
  country: row.country,
  allowed: Boolean(row.allowed),
});

function wanted(sql: Sql, organisationId: string, filter: AuditFilter) {
  const query = sql('audit_logs').where({ organisation_id: organisationId });
  if (filter.from !== undefined) query.where('at', '>=', filter.from);
  if (filter.to !== undefined) query.where('at', '<=', filter.to);
  const equal = {
    method: filter.method,
    uri: filter.uri,
    request_id: filter.requestId,
    user_id: filter.userId,
    user_type: filter.userType,
    workspace_id: filter.workspaceId,
    response_status_code: filter.responseStatusCode,
    resource_type: filter.resourceType,
    resource_id: filter.resourceId,
    action: filter.action,
    client_ip: filter.clientIp,
    country: filter.country,
    allowed: filter.allowed,
  };
  for (const [column, value] of Object.entries(equal)) {
    if (value !== undefined) query.where(column, value);
  }
  return query;
}

export class SqlAudit implements AuditStore {
  constructor(
    readonly database: Database,
    readonly chain: AuditChain,
    readonly now: () => number,
  ) {}

  append(entry: AuditEntry): Promise<AuditRecord> {
    const { organisationId } = entry;
    return this.database.write(async (sql) => {
      const at = this.now();
      const row = await this.chain.advance(sql, organisationId, (head): AuditRow => {
        const next = toRow(entry, head.seq + 1, at, head.hash);
        return { ...next, hash: hashRow(next) };
      });
      await insertRow(sql, 'audit_logs', row);
      this.database.afterCommit(() => this.chain.requireAtLeast(organisationId, row));
      return fromRow(row);
    });
  }

  appendAll(organisationId: string, entries: readonly AuditEntry[]): Promise<void> {
    return this.database.write(async (sql) => {
      if (entries.length === 0) return;
      const at = this.now();
      let rows: AuditRow[] = [];
      const last = await this.chain.advance(sql, organisationId, (head): AuditRow => {
        rows = [];
        for (const entry of entries) {
          const before = rows.at(-1) ?? head;
          const next = toRow(entry, before.seq + 1, at, before.hash);
          rows.push({ ...next, hash: hashRow(next) });
        }
        return rows.at(-1)!;
      });
      await insertRows(sql, 'audit_logs', rows);
      this.database.afterCommit(() => this.chain.requireAtLeast(organisationId, last));
    });
  }

  list(organisationId: string, filter: AuditFilter, page: Page): Promise<Listed<AuditRecord>> {
    return this.database.read(async (sql) => {
      return listed(wanted(sql, organisationId, filter), [{ column: 'seq', order: 'desc' }], page, fromRow);
    });
  }

  async *export(organisationId: string, filter: AuditFilter): AsyncIterable<AuditRecord> {
    for await (const row of this.#rows(organisationId, filter)) yield fromRow(row);
  }

  async *#rows(organisationId: string, filter: AuditFilter): AsyncGenerator<AuditRow> {
    let after = 0;
    for (;;) {
      const rows: AuditRow[] = await this.database.read((sql) =>
        wanted(sql, organisationId, filter).where('seq', '>', after).orderBy('seq').limit(pieceOf),
      );
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < pieceOf) return;
      after = last.seq;
    }
  }

  organisations(): Promise<readonly string[]> {
    return this.database.read(async (sql) => {
      const known: string[] = await sql('organisations').orderBy('created_at').pluck('id');
      const logged: string[] = await sql('audit_logs').distinct().pluck('organisation_id');
      return [...new Set([...known, ...logged])];
    });
  }

  async verify(
    organisationId: string,
    onProgress: (rows: number) => void = () => {},
    anchors: readonly AuditAnchor[] = [],
  ): Promise<AuditVerdict> {
    const anchored = new Map(anchors.map(({ seq, hash }) => [seq, hash]));
    // Read first: rows written from here on are another walk's.
    const head = await this.database.read((sql) => this.chain.head(sql, organisationId));
    let last = { seq: 0, hash: genesis };
    for await (const row of this.#rows(organisationId, {})) {
      if (head !== null && row.seq > head.seq) break;
      const seq = last.seq + 1;
      const reason = row.seq === seq ? await this.#defect(row, last.hash) : 'deleted';
      if (reason !== null) return { ok: false, seq, reason };
      if ((anchored.get(seq) ?? row.hash) !== row.hash) return { ok: false, seq, reason: 'anchor' };
      last = row;
      if (row.seq % pieceOf === 0) onProgress(row.seq);
    }
    onProgress(last.seq);
    if (head === null) return { ok: false, seq: last.seq, reason: 'head' };
    if (last.seq < head.seq) return { ok: false, seq: last.seq + 1, reason: 'cut' };
    if (last.hash !== head.hash) return { ok: false, seq: last.seq, reason: 'head' };
    if (last.seq < (anchors.at(-1)?.seq ?? 0)) return { ok: false, seq: last.seq + 1, reason: 'cut' };
    const added = await this.#firstAdded(organisationId);
    return added === null ? { ok: true, rows: last.seq } : { ok: false, seq: added, reason: 'added' };
  }

  async #defect(row: AuditRow, previous: string): Promise<AuditDefect | null> {
    if (hashRow(row) !== row.hash) return 'edited';
    if (row.previous === previous) return null;
    const predecessor = await this.database.read((sql) =>
      sql('audit_logs').where({ organisation_id: row.organisation_id, hash: row.previous }).first('seq'),
    );
    return predecessor === undefined ? 'deleted' : 'reordered';
  }

  /** Looks for rows before it looks where they should end: one more that is being written is not taken for added. */
  #firstAdded(organisationId: string): Promise<number | null> {
    return this.database.read(async (sql) => {
      const newest = await sql('audit_logs')
        .where({ organisation_id: organisationId })
        .max('seq as seq')
        .first();
      const head = await this.chain.head(sql, organisationId);
      const end = head?.seq ?? 0;
      return Number(newest?.['seq'] ?? 0) > end ? end + 1 : null;
    });
  }

  async ends(): Promise<readonly AuditAnchor[]> {
    const time = new Date(this.now()).toISOString();
    const heads = await this.database.read((sql) => this.chain.heads(sql));
    return heads
      .filter(({ organisationId, ...head }) => !this.chain.isRolledBack(organisationId, head))
      .map(({ organisationId, seq, hash }) => ({
        organisation: organisationId,
        seq,
        hash,
        time,
        restored: false,
      }));
  }

  signAnchor(anchor: AuditAnchor): string {
    return this.chain.anchorKey.sign(anchor);
  }

  readAnchor(line: string): AuditAnchor | null {
    return this.chain.anchorKey.read(line);
  }

  requireAnchor({ organisation, ...head }: AuditAnchor): void {
    this.chain.requireAtLeast(organisation, head);
  }

  fingerprint(organisationId: string, secret: string): string {
    return this.chain.fingerprint(organisationId, secret);
  }
}
