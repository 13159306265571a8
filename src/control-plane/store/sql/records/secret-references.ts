import { randomUUID } from 'node:crypto';
import { Secret } from '../../../../common/access/secret.js';
import type { SecretReferenceRecord } from '../../../../common/ipc/records.js';
import type { SecretManager } from '../../../../common/vocabulary/secret-managers.js';
import { etagOf } from '../../records/etag.js';
import type { Listed, Page } from '../../records/place.js';
import type {
  NewSecretReference,
  SecretReference,
  SecretReferenceChange,
  SecretReferenceFilter,
  SecretReferenceStore,
  SecretReferenceUse,
} from '../../records/secret-references.js';
import { makeSlug } from '../../records/slug.js';
import type { SealedPlace } from '../../secrets/seal.js';
import type { Database, Sql } from '../connection/driver.js';
import { isDuplicate } from '../connection/failure.js';
import type { DataKeys } from '../keys/data-keys.js';
import { containing, listed, newestFirst } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import { usesOf } from './secret-reference-uses.js';

export interface SecretReferenceRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly manager_type: SecretManager;
  readonly shown: string;
  readonly sealed: Buffer;
  readonly secret_path: string;
  readonly secret_key: string | null;
  readonly workspaces: string | null;
  readonly tags: string | null;
  readonly created_by: string;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

const parsed = (text: string | null) => (text === null ? null : JSON.parse(text));
const textOf = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

const fromRow = (row: SecretReferenceRow): SecretReference => ({
  id: row.id,
  organisationId: row.organisation_id,
  slug: row.slug,
  name: row.name,
  description: row.description,
  managerType: row.manager_type,
  shownAuth: JSON.parse(row.shown),
  secretPath: row.secret_path,
  secretKey: row.secret_key,
  workspaces: parsed(row.workspaces),
  tags: parsed(row.tags),
  createdBy: row.created_by,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

/** An id wins over a slug of the same text. */
async function rowAt(
  sql: Sql,
  organisationId: string,
  idOrSlug: string,
): Promise<SecretReferenceRow | undefined> {
  const rows: SecretReferenceRow[] = await sql('secret_references')
    .where({ organisation_id: organisationId })
    .andWhere((either) => either.where({ id: idOrSlug }).orWhere({ slug: idOrSlug }));
  return rows.find(({ id }) => id === idOrSlug) ?? rows[0];
}

/** Where the credentials of a secret reference are sealed. */
const sealedAuthPlace = ({
  id,
  organisation_id,
}: Pick<SecretReferenceRow, 'id' | 'organisation_id'>): SealedPlace => ({
  table: 'secret_references',
  row: id,
  organisation: organisation_id,
  field: 'sealed',
});

/** What is needed to fetch a secret. */
export async function recordOf(
  dataKeys: DataKeys,
  sql: Sql,
  row: SecretReferenceRow,
  isAllowed: boolean,
): Promise<SecretReferenceRecord> {
  return {
    id: row.id,
    revision: row.revision,
    organisationId: row.organisation_id,
    slug: row.slug,
    managerType: row.manager_type,
    auth: JSON.parse(await dataKeys.open(sql, sealedAuthPlace(row), row.sealed)),
    secretPath: row.secret_path,
    secretKey: row.secret_key,
    isAllowed,
  };
}

export class SqlSecretReferences implements SecretReferenceStore {
  constructor(
    readonly database: Database,
    readonly dataKeys: DataKeys,
    readonly now: () => number,
  ) {}

  get(organisationId: string, idOrSlug: string): Promise<SecretReference | null> {
    return this.database.read(async (sql) => {
      const row = await rowAt(sql, organisationId, idOrSlug);
      return row === undefined ? null : fromRow(row);
    });
  }

  openAuth(organisationId: string, id: string): Promise<Secret | null> {
    return this.database.read(async (sql) => {
      const row = await rowAt(sql, organisationId, id);
      if (row === undefined) return null;
      return new Secret(await this.dataKeys.open(sql, sealedAuthPlace(row), row.sealed));
    });
  }

  record(organisationId: string, idOrSlug: string): Promise<SecretReferenceRecord | null> {
    return this.database.read(async (sql) => {
      const row = await rowAt(sql, organisationId, idOrSlug);
      return row === undefined ? null : recordOf(this.dataKeys, sql, row, true);
    });
  }

  list(
    organisationId: string,
    { managerType, tags, search }: SecretReferenceFilter,
    page: Page,
  ): Promise<Listed<SecretReference>> {
    return this.database.read((sql) => {
      const wanted = sql('secret_references').where({
        organisation_id: organisationId,
        ...(managerType !== undefined && { manager_type: managerType }),
      });
      if (search !== undefined) containing(wanted, ['name', 'slug', 'description'], search);
      // Tags are a flat object of texts, in which a quote within a text is escaped: nothing else reads so.
      for (const [name, value] of Object.entries(tags ?? {}))
        wanted.whereRaw("replace(tags, ?, '') <> tags", [`${JSON.stringify(name)}:${JSON.stringify(value)}`]);
      return listed<SecretReferenceRow, SecretReference>(wanted, newestFirst, page, fromRow);
    });
  }

  async create(organisationId: string, input: NewSecretReference): Promise<SecretReference | 'taken'> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#insert(organisationId, input);
      } catch (error) {
        if (!isDuplicate(error) || attempt === 5) throw error;
        if (input.slug !== undefined) return 'taken';
      }
    }
  }

  #insert(organisationId: string, input: NewSecretReference): Promise<SecretReference> {
    const now = this.now();
    const own = { id: randomUUID(), organisation_id: organisationId };
    return this.database.write(
      async (sql) => {
        const row: SecretReferenceRow = {
          ...own,
          revision: 1,
          slug: input.slug ?? makeSlug('', input.name),
          name: input.name,
          description: input.description,
          manager_type: input.managerType,
          shown: JSON.stringify(input.shownAuth),
          sealed: await this.dataKeys.seal(sql, sealedAuthPlace(own), input.auth.reveal()),
          secret_path: input.secretPath,
          secret_key: input.secretKey,
          workspaces: textOf(input.workspaces),
          tags: textOf(input.tags),
          created_by: input.createdBy,
          created_at: now,
          updated_at: now,
        };
        await sql('secret_references').insert(row);
        return fromRow(row);
      },
      { apart: true },
    );
  }

  update(
    organisationId: string,
    id: string,
    change: SecretReferenceChange,
  ): Promise<SecretReference | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowAt(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, change.etag)) return 'stale';
      const { auth, workspaces, tags } = change;
      const or = <T>(value: T | undefined, before: T): T => (value === undefined ? before : value);
      const written = await replaceRow(sql, 'secret_references', {
        ...row,
        name: change.name ?? row.name,
        description: or(change.description, row.description),
        shown: auth === undefined ? row.shown : JSON.stringify(auth.shownAuth),
        sealed:
          auth === undefined
            ? row.sealed
            : await this.dataKeys.seal(sql, sealedAuthPlace(row), auth.auth.reveal()),
        secret_path: change.secretPath ?? row.secret_path,
        secret_key: or(change.secretKey, row.secret_key),
        workspaces: workspaces === undefined ? row.workspaces : textOf(workspaces),
        tags: tags === undefined ? row.tags : textOf(tags),
        updated_at: this.now(),
      });
      return written === 'stale' ? written : fromRow(written);
    });
  }

  delete(
    organisationId: string,
    id: string,
    etag?: string,
  ): Promise<SecretReference | 'missing' | 'stale' | readonly SecretReferenceUse[]> {
    return this.database.write(async (sql) => {
      const row = await rowAt(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      const uses = await usesOf(sql, organisationId, row);
      if (uses.length > 0) return uses;
      await sql('secret_references').where({ id: row.id }).delete();
      return fromRow(row);
    });
  }
}
