import { randomUUID } from 'node:crypto';
import type {
  ExpiredExports,
  LogExport,
  LogExportChange,
  LogExportFormat,
  LogExportSight,
  LogExportStatus,
  LogExportStore,
  NewLogExport,
} from '../../records/log-exports.js';
import type { Listed, Page, Place } from '../../records/place.js';
import type { Database, Sql } from '../connection/driver.js';
import { listed } from '../lists.js';
import { hasWorkspace } from './workspaces.js';

/** PostgreSQL gives large whole numbers as texts. */
type Whole = number | string;

interface LogExportRow {
  readonly id: string;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly description: string | null;
  readonly filters: string;
  readonly requested_data: string;
  readonly format: LogExportFormat;
  readonly status: LogExportStatus;
  readonly sight: string | null;
  readonly started_at: Whole | null;
  readonly records: Whole | null;
  readonly error: string | null;
  readonly node_id: string | null;
  readonly held_until: Whole;
  readonly runs: number;
  readonly file_removed_at: Whole | null;
  readonly created_by: string;
  readonly created_at: Whole;
  readonly updated_at: Whole;
}

const wholeOrNull = (value: Whole | null): number | null => (value === null ? null : Number(value));

const fromRow = (row: LogExportRow): LogExport => ({
  id: row.id,
  organisationId: row.organisation_id,
  workspaceId: row.workspace_id,
  description: row.description,
  filters: JSON.parse(row.filters),
  requestedData: JSON.parse(row.requested_data),
  format: row.format,
  status: row.status,
  sight: row.sight === null ? null : JSON.parse(row.sight),
  startedAt: wholeOrNull(row.started_at),
  records: wholeOrNull(row.records),
  error: row.error,
  runs: row.runs,
  fileRemovedAt: wholeOrNull(row.file_removed_at),
  createdBy: row.created_by,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
});

export class SqlLogExports implements LogExportStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  get(organisationId: string, id: string): Promise<LogExport | null> {
    return this.database.read((sql) => this.#get(sql, organisationId, id));
  }

  async #get(sql: Sql, organisationId: string, id: string): Promise<LogExport | null> {
    const row: LogExportRow | undefined = await sql('log_exports')
      .where({ organisation_id: organisationId, id })
      .first();
    return row === undefined ? null : fromRow(row);
  }

  list(
    { organisationId, workspaceId }: Place,
    createdBy: string | null,
    page: Page,
  ): Promise<Listed<LogExport>> {
    return this.database.read((sql) => {
      const wanted = sql('log_exports').where({
        organisation_id: organisationId,
        workspace_id: workspaceId,
        ...(createdBy !== null && { created_by: createdBy }),
      });
      return listed(wanted, [{ column: 'created_at', order: 'desc' }, { column: 'id' }], page, fromRow);
    });
  }

  unfinished({ organisationId, workspaceId }: Place): Promise<number> {
    return this.database.read(async (sql) => {
      const found = await sql('log_exports')
        .where({ organisation_id: organisationId, workspace_id: workspaceId, status: 'in_progress' })
        .count<{ count: Whole }[]>({ count: '*' })
        .first();
      return Number(found?.count ?? 0);
    });
  }

  create(place: Place, input: NewLogExport): Promise<LogExport | 'missing'> {
    return this.database.write(async (sql) => {
      if (!(await hasWorkspace(sql, place))) return 'missing';
      const now = this.now();
      const row: LogExportRow = {
        id: randomUUID(),
        organisation_id: place.organisationId,
        workspace_id: place.workspaceId,
        description: input.description,
        filters: JSON.stringify(input.filters),
        requested_data: JSON.stringify(input.requestedData),
        format: input.format,
        status: 'draft',
        sight: null,
        started_at: null,
        records: input.records,
        error: null,
        node_id: null,
        held_until: 0,
        runs: 0,
        file_removed_at: null,
        created_by: input.createdBy,
        created_at: now,
        updated_at: now,
      };
      await sql('log_exports').insert(row);
      return fromRow(row);
    });
  }

  update(organisationId: string, id: string, change: LogExportChange): Promise<LogExport | null> {
    const { filters, requestedData, ...plain } = change;
    return this.#change(organisationId, id, ['draft'], {
      ...plain,
      ...(filters !== undefined && { filters: JSON.stringify(filters) }),
      ...(requestedData !== undefined && { requested_data: JSON.stringify(requestedData) }),
    });
  }

  start(organisationId: string, id: string, sight: LogExportSight): Promise<LogExport | null> {
    return this.#change(organisationId, id, ['draft'], {
      status: 'in_progress',
      sight: JSON.stringify(sight),
      started_at: this.now(),
      records: 0,
    });
  }

  cancel(organisationId: string, id: string): Promise<LogExport | null> {
    return this.#change(organisationId, id, ['draft', 'in_progress'], { status: 'stopped' });
  }

  #change(
    organisationId: string,
    id: string,
    from: readonly LogExportStatus[],
    change: Partial<LogExportRow>,
  ): Promise<LogExport | null> {
    return this.database.write(async (sql) => {
      const changed = await sql('log_exports')
        .where({ organisation_id: organisationId, id })
        .whereIn('status', [...from])
        .update({ ...change, updated_at: this.now() });
      return changed === 0 ? null : this.#get(sql, organisationId, id);
    });
  }

  async claim(nodeId: string, holdMs: number): Promise<LogExport | null> {
    const waiting = (sql: Sql) =>
      sql('log_exports')
        .where({ status: 'in_progress' })
        .where((free) => free.where('held_until', '<', this.now()).orWhere({ node_id: nodeId }));
    // Mostly there is nothing to write: looking takes no turn of the writers.
    const found: LogExportRow | undefined = await this.database.read((sql) =>
      waiting(sql).orderBy('started_at').first(),
    );
    if (found === undefined) return null;
    return this.database.write(async (sql) => {
      const taken = await waiting(sql)
        .where({ id: found.id, runs: found.runs })
        .update({ node_id: nodeId, runs: found.runs + 1, held_until: this.now() + holdMs, records: 0 });
      return taken === 0 ? null : this.#get(sql, found.organisation_id, found.id);
    });
  }

  progress(run: LogExport, records: number, holdMs: number): Promise<boolean> {
    return this.#ofRun(run, { records, held_until: this.now() + holdMs });
  }

  async release(run: LogExport): Promise<void> {
    await this.#ofRun(run, { held_until: 0, node_id: null });
  }

  finish(run: LogExport, records: number, error: string | null): Promise<boolean> {
    return this.#ofRun(run, {
      status: error === null ? 'success' : 'failed',
      ...{ records, error, updated_at: this.now() },
    });
  }

  expired({ before, unfinishedBefore, nodeId, limit }: ExpiredExports): Promise<LogExport[]> {
    return this.database.read(async (sql) => {
      const rows: LogExportRow[] = await sql('log_exports')
        .whereNull('file_removed_at')
        .where('runs', '>', 0)
        .where((ended) => {
          ended.where((one) =>
            one.whereIn('status', ['failed', 'stopped']).where('updated_at', '<', unfinishedBefore),
          );
          if (before !== null)
            ended.orWhere((one) => one.where({ status: 'success' }).where('updated_at', '<', before));
        })
        .where((of) => (nodeId === null ? of : of.where({ node_id: nodeId })))
        .orderBy('updated_at')
        .limit(limit);
      return rows.map(fromRow);
    });
  }

  async fileRemoved({ id, runs }: LogExport): Promise<void> {
    await this.database.write((sql) =>
      sql('log_exports').where({ id, runs }).update({ file_removed_at: this.now() }),
    );
  }

  #ofRun({ id, runs }: LogExport, change: Partial<LogExportRow>): Promise<boolean> {
    return this.database.write(
      async (sql) => (await sql('log_exports').where({ id, runs, status: 'in_progress' }).update(change)) > 0,
    );
  }
}
