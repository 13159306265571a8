import { randomUUID } from 'node:crypto';
import type { ConfigRecord } from '../../../../common/ipc/records.js';
import type {
  Config,
  ConfigChange,
  ConfigStore,
  ConfigVersion,
  ConfigWithText,
  NewConfig,
} from '../../records/configs.js';
import { etagOf } from '../../records/etag.js';
import type { Listed, Page, Place } from '../../records/place.js';
import { makeSlug } from '../../records/slug.js';
import { shownConfig } from '../../secrets/config-secrets.js';
import type { SealedPlace } from '../../secrets/seal.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import { isDuplicate, isKeepable } from '../connection/failure.js';
import { firstRow, insertNew, rowsOf, run } from '../connection/statements.js';
import type { DataKeys } from '../keys/data-keys.js';
import { listed, newestFirst } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import { hasWorkspace } from './workspaces.js';

interface ConfigRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly slug: string;
  readonly name: string;
  readonly is_default: boolean | number;
  readonly status: Config['status'];
  readonly current_version_id: string;
  readonly owner_id: string | null;
  readonly updated_by: string | null;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

/** What a list shows of each. */
const columns: readonly (keyof ConfigRow)[] = [
  'id',
  'revision',
  'organisation_id',
  'workspace_id',
  'slug',
  'name',
  'is_default',
  'status',
  'current_version_id',
  'owner_id',
  'updated_by',
  'created_at',
  'updated_at',
];

interface VersionRow {
  readonly id: string;
  readonly config_id: string;
  readonly number: number;
  /** Secrets in it are masked. */
  readonly text: string;
  /** The whole text, where it holds secrets. */
  readonly sealed: Buffer | null;
  readonly created_by: string | null;
  readonly created_at: number | string;
}

const fromRow = (row: ConfigRow): Config => ({
  id: row.id,
  organisationId: row.organisation_id,
  workspaceId: row.workspace_id,
  slug: row.slug,
  name: row.name,
  isDefault: Boolean(row.is_default),
  status: row.status,
  versionId: row.current_version_id,
  ownerId: row.owner_id,
  updatedBy: row.updated_by,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

/** What a config's text is opened from, where it holds secrets. */
interface SealedText {
  readonly organisation_id: string;
  readonly sealed: Buffer | null;
}

const sealedPlace = (organisation: string, version: string): SealedPlace => ({
  table: 'config_versions',
  row: version,
  organisation,
  field: 'sealed',
});

const at = (place: Place) => ({ organisation_id: place.organisationId, workspace_id: place.workspaceId });

/** By slug or id. */
const named = `SELECT * FROM configs
  WHERE organisation_id = ? AND workspace_id = ? AND (slug = ? OR id = ?) ORDER BY updated_at DESC`;

async function rowAt(sql: Sql, place: Place, slugOrId: string): Promise<ConfigRow | undefined> {
  const { organisationId, workspaceId } = place;
  const rows = await rowsOf<ConfigRow>(sql, named, [organisationId, workspaceId, slugOrId, slugOrId]);
  return rows.find(({ status }) => status === 'active') ?? rows[0];
}

const fromVersionRow = ({ id, number, text, created_by, created_at }: VersionRow): ConfigVersion => ({
  id,
  number,
  text,
  createdBy: created_by,
  createdAt: Number(created_at),
});

/** Its number is the next. */
const addVersion = `INSERT INTO config_versions (id, config_id, text, sealed, created_by, created_at, number)
  VALUES (?, ?, ?, ?, ?, ?, (SELECT coalesce(max(number), 0) + 1 FROM config_versions WHERE config_id = ?))`;

/** An active config of a workspace with its current text, by its slug or its id. */
const activeConfig = `SELECT configs.organisation_id, configs.slug, config_versions.id AS version,
    config_versions.text, config_versions.sealed
  FROM configs
  JOIN config_versions ON config_versions.id = configs.current_version_id
  WHERE configs.workspace_id = ? AND configs.status = 'active' AND (configs.slug = ? OR configs.id = ?)
  LIMIT 1`;

/** Versions of a config that is one of this workspace. */
const versionsOf = (sql: Sql, place: Place, id: string) =>
  sql('config_versions').whereIn(
    'config_id',
    sql('configs')
      .where({ ...at(place), id })
      .select('id'),
  );

export class SqlConfigs implements ConfigStore {
  constructor(
    readonly database: Database,
    readonly dataKeys: DataKeys,
    readonly now: () => number,
  ) {}

  get(place: Place, slugOrId: string): Promise<ConfigWithText | null> {
    return this.database.read(async (sql) => {
      const row = await rowAt(sql, place, slugOrId);
      if (row === undefined) return null;
      const version: VersionRow = await sql('config_versions').where({ id: row.current_version_id }).first();
      return { ...fromRow(row), text: version.text };
    });
  }

  workspacesWith(organisationId: string, slugOrId: string): Promise<readonly string[]> {
    return this.database.read((sql) =>
      sql('configs')
        .where({ organisation_id: organisationId })
        .andWhere((either) => either.where({ slug: slugOrId }).orWhere({ id: slugOrId }))
        .distinct()
        .pluck('workspace_id'),
    );
  }

  list(place: Place, page: Page): Promise<Listed<Config>> {
    return this.database.read(async (sql) => {
      const all = sql('configs').where({ ...at(place), status: 'active' });
      return listed(all, newestFirst, page, fromRow, columns);
    });
  }

  async create(place: Place, input: NewConfig): Promise<Config | 'taken' | 'missing'> {
    for (let attempt = 1; ; attempt++) {
      const made = await this.database.write((sql) => this.#insert(sql, place, input));
      // A slug that was made by chance is made again.
      if (made !== 'taken' || input.slug !== undefined || attempt === 5) return made;
    }
  }

  async #insert(sql: Transaction, place: Place, input: NewConfig): Promise<Config | 'taken' | 'missing'> {
    if (!(await hasWorkspace(sql, place))) return 'missing';
    const now = this.now();
    const row: ConfigRow = {
      id: randomUUID(),
      revision: 1,
      organisation_id: place.organisationId,
      workspace_id: place.workspaceId,
      slug: input.slug ?? makeSlug('pc-', input.name),
      name: input.name,
      is_default: input.isDefault ?? false,
      status: 'active',
      current_version_id: randomUUID(),
      owner_id: input.by ?? null,
      updated_by: input.by ?? null,
      created_at: now,
      updated_at: now,
    };
    if (!(await insertNew(sql, 'configs', row))) return 'taken';
    await this.#addVersion(sql, row, row.current_version_id, input.text, input.by ?? null);
    return fromRow(row);
  }

  async #addVersion(
    sql: Transaction,
    row: ConfigRow,
    id: string,
    text: string,
    by: string | null,
  ): Promise<void> {
    const shown = shownConfig(text);
    const place = sealedPlace(row.organisation_id, id);
    const sealed = shown === null ? null : await this.dataKeys.seal(sql, place, text);
    await run(sql, addVersion, [id, row.id, shown ?? text, sealed, by, this.now(), row.id]);
  }

  async update(
    place: Place,
    slugOrId: string,
    change: ConfigChange,
  ): Promise<Config | 'missing' | 'taken' | 'stale'> {
    try {
      return await this.database.write(
        async (sql) => {
          const row = await rowAt(sql, place, slugOrId);
          return row === undefined ? 'missing' : this.#replace(sql, row, change);
        },
        // Only one that becomes active again may find its slug taken.
        { apart: change.status !== undefined },
      );
    } catch (error) {
      if (isDuplicate(error)) return 'taken';
      throw error;
    }
  }

  async #replace(sql: Transaction, row: ConfigRow, change: ConfigChange): Promise<Config | 'stale'> {
    if (!isCurrent(row, change.etag)) return 'stale';
    const status = change.status ?? row.status;
    const changed: ConfigRow = {
      ...row,
      name: change.name ?? row.name,
      is_default: status === 'active' && (change.isDefault ?? Boolean(row.is_default)),
      status,
      current_version_id: change.text === undefined ? row.current_version_id : randomUUID(),
      updated_by: change.by ?? row.updated_by,
      updated_at: this.now(),
    };
    if (change.text !== undefined)
      await this.#addVersion(sql, row, changed.current_version_id, change.text, change.by ?? null);
    const written = await replaceRow(sql, 'configs', changed);
    return written === 'stale' ? written : fromRow(written);
  }

  delete(place: Place, slugOrId: string, etag?: string): Promise<Config | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowAt(sql, place, slugOrId);
      if (row === undefined || row.status === 'archived') return 'missing';
      return this.#replace(sql, row, { status: 'archived', etag });
    });
  }

  dropDefault(place: Place, exceptId: string): Promise<readonly Config[]> {
    return this.database.write(async (sql) => {
      const rows: ConfigRow[] = await sql('configs')
        .where({ ...at(place), is_default: true })
        .whereNot({ id: exceptId });
      const dropped: Config[] = [];
      for (const row of rows) {
        const written = await replaceRow(sql, 'configs', { ...row, is_default: false });
        if (written !== 'stale') dropped.push(fromRow(written));
      }
      return dropped;
    });
  }

  versions(place: Place, id: string, page: Page): Promise<Listed<ConfigVersion>> {
    return this.database.read((sql) =>
      listed(versionsOf(sql, place, id), [{ column: 'number', order: 'desc' }], page, fromVersionRow),
    );
  }

  version(place: Place, id: string, versionId: string): Promise<ConfigVersion | null> {
    return this.database.read(async (sql) => {
      const row: VersionRow | undefined = await versionsOf(sql, place, id)
        .andWhere({ id: versionId })
        .first();
      return row === undefined ? null : fromVersionRow(row);
    });
  }

  async find(workspaceId: string, slugOrId: string): Promise<ConfigRecord | null> {
    if (!isKeepable(slugOrId)) return null;
    return this.database.read(async (sql) => {
      const named = [workspaceId, slugOrId, slugOrId];
      const row = await firstRow<ConfigRecord & SealedText>(sql, activeConfig, named);
      if (row === undefined) return null;
      const { slug, version, text, sealed, organisation_id: organisation } = row;
      if (sealed === null) return { slug, version, text };
      return {
        slug,
        version,
        text: await this.dataKeys.open(sql, sealedPlace(organisation, version), sealed),
      };
    });
  }
}
