import { randomUUID } from 'node:crypto';
import type { DeploymentRecord } from '../../../../common/ipc/records.js';
import type {
  Deployment,
  DeploymentChange,
  DeploymentFilter,
  DeploymentLogin,
  DeploymentStore,
  NewDeployment,
} from '../../records/deployments.js';
import { etagOf } from '../../records/etag.js';
import type { Listed, Page } from '../../records/place.js';
import { makeSlug } from '../../records/slug.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import { isDuplicate } from '../connection/failure.js';
import { databaseNow } from '../database-clock.js';
import type { DataKeys } from '../keys/data-keys.js';
import { containing } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';

interface DeploymentRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly slug: string;
  readonly name: string;
  readonly type: Deployment['type'];
  readonly status: Deployment['status'];
  readonly config: string | null;
  readonly auth_settings: string;
  readonly tags: string | null;
  readonly is_default: boolean | number;
  readonly username: string | null;
  readonly password: Buffer | null;
  readonly auth_hash: string;
  readonly last_seen_at: number | string | null;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

const parsed = (text: string | null) => (text === null ? null : JSON.parse(text));
const textOf = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

const fromRow = (row: DeploymentRow): Deployment => ({
  id: row.id,
  organisationId: row.organisation_id,
  slug: row.slug,
  name: row.name,
  type: row.type,
  status: row.status,
  config: parsed(row.config),
  access: JSON.parse(row.auth_settings),
  tags: parsed(row.tags),
  isDefault: Boolean(row.is_default),
  username: row.username,
  lastSeenAt: row.last_seen_at === null ? null : Number(row.last_seen_at),
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

/** Each as a list. */
const workspacesBySubject = (mapping: Readonly<Record<string, unknown>>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(mapping).map(([subject, to]) => [subject, [to].flat().map(String)]));

async function rowAt(sql: Sql, organisationId: string, name: string): Promise<DeploymentRow | undefined> {
  const own = sql('deployments').where({ organisation_id: organisationId });
  if (name === 'self') return own.where({ is_default: true, status: 'active' }).first();
  const rows: DeploymentRow[] = await own
    .andWhere((either) => either.where({ id: name }).orWhere({ slug: name }))
    .orderBy('updated_at', 'desc');
  return rows.find(({ id }) => id === name) ?? rows.find(({ status }) => status === 'active') ?? rows[0];
}

export class SqlDeployments implements DeploymentStore {
  constructor(
    readonly database: Database,
    readonly dataKeys: DataKeys,
    readonly now: () => number,
  ) {}

  get(organisationId: string, name: string): Promise<Deployment | null> {
    return this.database.read(async (sql) => {
      const row = await rowAt(sql, organisationId, name);
      return row === undefined ? null : fromRow(row);
    });
  }

  signsIn(organisationId: string, id: string, authHash: string): Promise<boolean> {
    const wanted = { organisation_id: organisationId, id, auth_hash: authHash, status: 'active' };
    return this.database.read(
      async (sql) => (await sql('deployments').where(wanted).first('id')) !== undefined,
    );
  }

  bySecret(authHash: string): Promise<Deployment | null> {
    return this.database.read(async (sql) => {
      const row: DeploymentRow | undefined = await sql('deployments')
        .where({ auth_hash: authHash, status: 'active' })
        .first();
      return row === undefined ? null : fromRow(row);
    });
  }

  rules(id: string): Promise<DeploymentRecord | null> {
    return this.database.read(async (sql) => {
      const row: DeploymentRow | undefined = await sql('deployments').where({ id }).first();
      if (row === undefined) return null;
      const { organisationId, status, access } = fromRow(row);
      const { disableGateway, workspacesAllowed: allowed, jwtSubsAllowed: subjects } = access;
      return {
        organisationId,
        disabled: status === 'archived' || disableGateway === 'true',
        workspaces: allowed.length === 0 ? null : [...allowed],
        ...(subjects.length > 0 && { tokenSubjects: [...subjects] }),
        ...(access.jwtSubWorkspaceMapping && {
          subjectWorkspaces: workspacesBySubject(access.jwtSubWorkspaceMapping),
        }),
      };
    });
  }

  /** Not a change of the record: its etag stays. */
  seen(id: string, authHash: string): Promise<boolean> {
    return this.database.write(
      async (sql) => {
        const last_seen_at = this.database.dialect === 'postgres' ? await databaseNow(sql) : this.now();
        const at = { id, auth_hash: authHash, status: 'active' };
        return (await sql('deployments').where(at).update({ last_seen_at })) === 1;
      },
      { lock: async () => {} },
    );
  }

  list(
    organisationId: string,
    { status, type, search, workspaceId }: DeploymentFilter,
    { offset, limit }: Page,
  ): Promise<Listed<Deployment>> {
    return this.database.read(async (sql) => {
      const wanted = sql('deployments').where({
        organisation_id: organisationId,
        ...(status !== undefined && { status }),
        ...(type !== undefined && { type }),
      });
      if (search !== undefined) containing(wanted, ['name'], search);
      // An organisation has a handful of gateways.
      const rows: DeploymentRow[] = await wanted.orderBy([{ column: 'created_at', order: 'desc' }, 'id']);
      const all = rows.map(fromRow).filter(({ access: { workspacesAllowed: allowed } }) => {
        return workspaceId === undefined || allowed.length === 0 || allowed.includes(workspaceId);
      });
      return { total: all.length, rows: all.slice(offset, offset + limit) };
    });
  }

  async #login(
    sql: Transaction,
    organisationId: string,
    id: string,
    login: DeploymentLogin | null,
  ): Promise<Pick<DeploymentRow, 'username' | 'password'>> {
    if (login === null) return { username: null, password: null };
    const place = { table: 'deployments', row: id, organisation: organisationId, field: 'password' };
    return {
      username: login.username,
      password: await this.dataKeys.seal(sql, place, login.password.reveal()),
    };
  }

  async create(organisationId: string, input: NewDeployment): Promise<Deployment | 'taken'> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.database.write((sql) => this.#insert(sql, organisationId, input), { apart: true });
      } catch (error) {
        if (!isDuplicate(error) || attempt === 5) throw error;
        if (input.slug !== undefined) return 'taken';
      }
    }
  }

  async #insert(sql: Transaction, organisationId: string, input: NewDeployment): Promise<Deployment> {
    const id = randomUUID();
    const now = this.now();
    const row: DeploymentRow = {
      id,
      revision: 1,
      organisation_id: organisationId,
      slug: input.slug ?? makeSlug('', input.name),
      name: input.name,
      type: input.type,
      status: 'active',
      config: textOf(input.config),
      auth_settings: JSON.stringify(input.access),
      tags: textOf(input.tags),
      is_default: input.isDefault,
      ...(await this.#login(sql, organisationId, id, input.login)),
      auth_hash: input.authHash,
      last_seen_at: null,
      created_at: now,
      updated_at: now,
    };
    await sql('deployments').insert(row);
    return fromRow(row);
  }

  async update(
    organisationId: string,
    name: string,
    change: DeploymentChange,
  ): Promise<Deployment | 'missing' | 'taken' | 'stale'> {
    try {
      return await this.database.write((sql) => this.#replace(sql, organisationId, name, change), {
        apart: true,
      });
    } catch (error) {
      if (isDuplicate(error)) return 'taken';
      throw error;
    }
  }

  async #replace(
    sql: Transaction,
    organisationId: string,
    name: string,
    change: DeploymentChange,
  ): Promise<Deployment | 'missing' | 'stale'> {
    const row = await rowAt(sql, organisationId, name);
    if (row === undefined) return 'missing';
    if (!isCurrent(row, change.etag)) return 'stale';
    const status = change.status ?? row.status;
    const written = await replaceRow(sql, 'deployments', {
      ...row,
      name: change.name ?? row.name,
      type: change.type ?? row.type,
      status,
      config: change.config === undefined ? row.config : textOf(change.config),
      auth_settings: change.access === undefined ? row.auth_settings : JSON.stringify(change.access),
      tags: change.tags === undefined ? row.tags : textOf(change.tags),
      is_default: status === 'active' && (change.isDefault ?? Boolean(row.is_default)),
      ...(change.login !== undefined && (await this.#login(sql, organisationId, row.id, change.login))),
      auth_hash: change.authHash ?? row.auth_hash,
      updated_at: this.now(),
    });
    return written === 'stale' ? written : fromRow(written);
  }

  dropDefault(organisationId: string, exceptId: string): Promise<readonly Deployment[]> {
    return this.database.write(async (sql) => {
      const rows: DeploymentRow[] = await sql('deployments')
        .where({ organisation_id: organisationId, is_default: true })
        .whereNot({ id: exceptId });
      const dropped: Deployment[] = [];
      for (const row of rows) {
        const written = await replaceRow(sql, 'deployments', { ...row, is_default: false });
        if (written !== 'stale') dropped.push(fromRow(written));
      }
      return dropped;
    });
  }
}
