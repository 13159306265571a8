import { randomUUID } from 'node:crypto';
import { etagOf } from '../../records/etag.js';
import type { Listed, Page, Place } from '../../records/place.js';
import { makeSlug } from '../../records/slug.js';
import type {
  NewWorkspace,
  Workspace,
  WorkspaceChange,
  WorkspaceDefaults,
  WorkspaceFilter,
  WorkspaceInput,
  WorkspaceStore,
} from '../../records/workspaces.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import { isDuplicate } from '../connection/failure.js';
import { listed } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import { insertDefaultCollection } from './built-in.js';

interface WorkspaceRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly icon: string | null;
  readonly is_default: boolean | number;
  readonly status: Workspace['status'];
  /** These five are JSON. */
  readonly defaults: string;
  readonly usage_limits: string;
  readonly rate_limits: string;
  readonly security_settings: string;
  readonly settings: string;
  readonly excluded_from_input_guardrails: boolean | number;
  readonly excluded_from_output_guardrails: boolean | number;
  readonly created_by: string | null;
  readonly scim_source_id: string | null;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

const noDefaults: WorkspaceDefaults = {
  metadata: {},
  inputGuardrails: [],
  outputGuardrails: [],
  userApiKeyConfig: null,
};

const fromRow = (row: WorkspaceRow): Workspace => ({
  id: row.id,
  organisationId: row.organisation_id,
  slug: row.slug,
  name: row.name,
  description: row.description,
  icon: row.icon,
  isDefault: Boolean(row.is_default),
  status: row.status,
  defaults: { ...noDefaults, ...JSON.parse(row.defaults) },
  usageLimits: JSON.parse(row.usage_limits).map((limits: object) => ({ lastResetAt: null, ...limits })),
  rateLimits: JSON.parse(row.rate_limits),
  securitySettings: JSON.parse(row.security_settings),
  settings: JSON.parse(row.settings),
  excludedFrom: {
    inputGuardrails: Boolean(row.excluded_from_input_guardrails),
    outputGuardrails: Boolean(row.excluded_from_output_guardrails),
  },
  createdBy: row.created_by,
  scimSourceId: row.scim_source_id,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

/** Active workspaces that a transaction has met: one that makes many records asks once for each. */
const met = new WeakMap<Transaction, Set<string>>();

/** Is this workspace an active one of this organisation? Asked before anything is put into it. */
export async function hasWorkspace(sql: Transaction, place: Place): Promise<boolean> {
  const name = `${place.organisationId} ${place.workspaceId}`;
  const known = met.get(sql) ?? new Set();
  if (known.has(name)) return true;
  const found = await sql('workspaces')
    .where({ id: place.workspaceId, organisation_id: place.organisationId, status: 'active' })
    .first('id');
  if (found !== undefined) met.set(sql, known.add(name));
  return found !== undefined;
}

/** The first workspace of an organisation: the one that stays. */
export async function insertFirstWorkspace(
  sql: Transaction,
  place: Place,
  created_at: number,
): Promise<void> {
  await sql('workspaces').insert({
    id: place.workspaceId,
    organisation_id: place.organisationId,
    slug: 'default',
    name: 'default',
    is_default: true,
    created_at,
    updated_at: created_at,
  });
  await insertDefaultCollection(sql, place, created_at);
}

/** The row with the values of `input`. */
function changed(row: WorkspaceRow, input: WorkspaceInput): WorkspaceRow {
  const text = (value: unknown, before: string): string =>
    value === undefined ? before : JSON.stringify(value);
  return {
    ...row,
    name: input.name ?? row.name,
    description: input.description === undefined ? row.description : input.description,
    icon: input.icon === undefined ? row.icon : input.icon,
    defaults: text(input.defaults, row.defaults),
    usage_limits: text(input.usageLimits, row.usage_limits),
    rate_limits: text(input.rateLimits, row.rate_limits),
    security_settings: text(input.securitySettings, row.security_settings),
    settings: text(input.settings, row.settings),
    excluded_from_input_guardrails: input.excludedFrom?.inputGuardrails ?? row.excluded_from_input_guardrails,
    excluded_from_output_guardrails:
      input.excludedFrom?.outputGuardrails ?? row.excluded_from_output_guardrails,
  };
}

const rowOf = (sql: Sql, organisationId: string, id: string): Promise<WorkspaceRow | undefined> =>
  sql('workspaces').where({ organisation_id: organisationId, id }).first();

export class SqlWorkspaces implements WorkspaceStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  get(organisationId: string, idOrSlug: string): Promise<Workspace | null> {
    return this.database.read(async (sql) => {
      const rows: WorkspaceRow[] = await sql('workspaces')
        .where({ organisation_id: organisationId })
        .andWhere((either) => either.where({ id: idOrSlug }).orWhere({ slug: idOrSlug }));
      // Ids are generated, slugs are chosen: the id takes precedence.
      const row = rows.find(({ id }) => id === idOrSlug) ?? rows[0];
      return row === undefined ? null : fromRow(row);
    });
  }

  list(organisationId: string, page: Page, filter: WorkspaceFilter = {}): Promise<Listed<Workspace>> {
    return this.database.read(async (sql) => {
      const wanted = sql('workspaces').where({ organisation_id: organisationId });
      wanted.whereIn('status', filter.status ?? ['active']);
      if (filter.ids !== undefined) wanted.whereIn('id', filter.ids);
      if (filter.exactName !== undefined) wanted.where({ name: filter.exactName });
      if (filter.name !== undefined) {
        // LIKE takes no notice of case in SQLite.
        const position = this.database.dialect === 'sqlite' ? 'instr' : 'strpos';
        wanted.whereRaw(`${position}(name, ?) > 0`, [filter.name]);
      }
      return listed(wanted, [{ column: 'created_at' }, { column: 'id' }], page, fromRow);
    });
  }

  withOwnFlags(organisationId: string): Promise<readonly Pick<Workspace, 'id' | 'securitySettings'>[]> {
    return this.database.read(async (sql) => {
      const rows: Pick<WorkspaceRow, 'id' | 'security_settings'>[] = await sql('workspaces')
        .where({ organisation_id: organisationId })
        .whereNot({ security_settings: '{}' })
        .select('id', 'security_settings');
      return rows.map(({ id, security_settings: flags }) => ({ id, securitySettings: JSON.parse(flags) }));
    });
  }

  withLogRetention(): Promise<readonly Pick<Workspace, 'id' | 'organisationId' | 'settings'>[]> {
    return this.database.read(async (sql) => {
      const rows: Pick<WorkspaceRow, 'id' | 'organisation_id' | 'settings'>[] = await sql('workspaces')
        .where('settings', 'like', '%retention_days%')
        .select('id', 'organisation_id', 'settings');
      return rows.map(({ id, organisation_id: organisationId, settings }) => ({
        id,
        organisationId,
        settings: JSON.parse(settings),
      }));
    });
  }

  async create(organisationId: string, input: NewWorkspace): Promise<Workspace | 'taken'> {
    for (let attempt = 1; ; attempt++) {
      const now = this.now();
      const blank: WorkspaceRow = {
        id: randomUUID(),
        revision: 1,
        organisation_id: organisationId,
        slug: input.slug ?? makeSlug('ws-', input.name),
        name: input.name,
        description: null,
        icon: null,
        is_default: false,
        status: 'active',
        defaults: '{}',
        usage_limits: '[]',
        rate_limits: '[]',
        security_settings: '{}',
        settings: '{}',
        excluded_from_input_guardrails: false,
        excluded_from_output_guardrails: false,
        created_by: input.createdBy ?? null,
        scim_source_id: null,
        created_at: now,
        updated_at: now,
      };
      const row = changed(blank, input);
      try {
        await this.database.write(
          async (sql) => {
            await sql('workspaces').insert(row);
            await insertDefaultCollection(sql, { organisationId, workspaceId: row.id }, now);
          },
          { apart: true },
        );
        return fromRow(row);
      } catch (error) {
        if (!isDuplicate(error) || attempt === 5) throw error;
        if (input.slug !== undefined) return 'taken';
      }
    }
  }

  update(
    organisationId: string,
    id: string,
    change: WorkspaceChange,
  ): Promise<Workspace | 'missing' | 'stale'> {
    return this.#replace(organisationId, id, change.etag, (row) => changed(row, change));
  }

  archive(organisationId: string, id: string, etag?: string): Promise<Workspace | 'missing' | 'stale'> {
    return this.#replace(organisationId, id, etag, (row) => ({ ...row, status: 'archived' }));
  }

  /** Of an active one: what is archived stays as it is. */
  #replace(
    organisationId: string,
    id: string,
    etag: string | undefined,
    made: (row: WorkspaceRow) => WorkspaceRow,
  ): Promise<Workspace | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      if (row === undefined || row.status === 'archived') return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      met.delete(sql);
      const written = await replaceRow(sql, 'workspaces', { ...made(row), updated_at: this.now() });
      return written === 'stale' ? written : fromRow(written);
    });
  }

  dependents(organisationId: string, id: string): Promise<number> {
    const held = { organisation_id: organisationId, workspace_id: id };
    const active = { ...held, status: 'active' };
    return this.database.read(async (sql) => {
      let sum = 0;
      for (const wanted of [
        sql('api_keys').where(held),
        sql('providers').where(held),
        sql('configs').where(active),
        sql('guardrails').where(active),
        sql('integrations').where(active),
        sql('usage_limits_policies').where(active),
        sql('rate_limits_policies').where(active),
      ]) {
        const count = await wanted.count('* as total').first();
        sum += Number(count?.['total']);
      }
      return sum;
    });
  }
}
