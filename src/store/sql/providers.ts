import { randomUUID } from 'node:crypto';
import { maskGatewayKey } from '../../core/gateway-key.js';
import type { ProviderRecord } from '../../core/messages.js';
import { etagOf } from '../etag.js';
import type { Listed, Page, Place } from '../place.js';
import type { NewProvider, Provider, ProviderStore } from '../providers.js';
import type { SealedPlace } from '../seal.js';
import type { DataKeys } from './data-keys.js';
import type { Database } from './driver.js';
import { isDuplicate, isKeepable } from './failure.js';
import { listed, newestFirst } from './lists.js';
import { isCurrent } from './revision.js';
import { hasWorkspace } from './workspaces.js';

interface ProviderRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly slug: string;
  readonly name: string;
  readonly note: string | null;
  readonly provider: string;
  readonly credential: Buffer | null;
  readonly masked_credential: string | null;
  readonly base_url: string | null;
  readonly base_url_at_run_time: boolean | number;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

const sealedPlace = (id: string, organisation: string): SealedPlace => ({
  table: 'providers',
  row: id,
  organisation,
  field: 'credential',
});

const at = (place: Place): { organisation_id: string; workspace_id: string } => ({
  organisation_id: place.organisationId,
  workspace_id: place.workspaceId,
});

export class SqlProviders implements ProviderStore {
  readonly #runtimeBaseUrls = new Map<string, string>();

  constructor(
    readonly database: Database,
    readonly dataKeys: DataKeys,
    readonly now: () => number,
  ) {}

  #baseUrl(row: ProviderRow): string | null {
    return row.base_url_at_run_time ? (this.#runtimeBaseUrls.get(row.slug) ?? null) : row.base_url;
  }

  #fromRow(row: ProviderRow): Provider {
    return {
      id: row.id,
      organisationId: row.organisation_id,
      workspaceId: row.workspace_id,
      slug: row.slug,
      name: row.name,
      note: row.note,
      provider: row.provider,
      maskedCredential: row.masked_credential,
      baseUrl: this.#baseUrl(row),
      createdAt: Number(row.created_at),
      updatedAt: Number(row.updated_at),
      etag: etagOf(row),
    };
  }

  get(place: Place, slug: string): Promise<Provider | null> {
    return this.database.read(async (sql) => {
      const row: ProviderRow | undefined = await sql('providers')
        .where({ ...at(place), slug })
        .first();
      return row === undefined ? null : this.#fromRow(row);
    });
  }

  list(place: Place, page: Page): Promise<Listed<Provider>> {
    return this.database.read(async (sql) => {
      const all = sql('providers').where(at(place));
      return listed(all, newestFirst, page, (row: ProviderRow) => this.#fromRow(row));
    });
  }

  async create(place: Place, input: NewProvider): Promise<Provider | 'taken' | 'missing'> {
    try {
      return await this.database.write(async (sql) => {
        if (!(await hasWorkspace(sql, place))) return 'missing';
        const id = randomUUID();
        const clear = input.credential?.reveal() ?? null;
        const now = this.now();
        const row: ProviderRow = {
          id,
          revision: 1,
          ...at(place),
          slug: input.slug,
          name: input.name,
          note: input.note ?? null,
          provider: input.provider,
          credential:
            clear === null
              ? null
              : await this.dataKeys.seal(sql, sealedPlace(id, place.organisationId), clear),
          masked_credential: clear === null ? null : maskGatewayKey(clear),
          base_url: input.baseUrl ?? null,
          base_url_at_run_time: input.baseUrlAtRunTime ?? false,
          created_at: now,
          updated_at: now,
        };
        await sql('providers').insert(row);
        return this.#fromRow(row);
      });
    } catch (error) {
      if (isDuplicate(error)) return 'taken';
      throw error;
    }
  }

  delete(place: Place, slug: string, etag?: string): Promise<'deleted' | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const wanted = sql('providers').where({ ...at(place), slug });
      const row: ProviderRow | undefined = await wanted.clone().first();
      if (row === undefined) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      await wanted.delete();
      return 'deleted';
    });
  }

  async find(workspaceId: string, slug: string): Promise<ProviderRecord | null> {
    if (!isKeepable(slug)) return null;
    return this.database.read(async (sql) => {
      const row: ProviderRow | undefined = await sql('providers')
        .where({ workspace_id: workspaceId, slug })
        .first();
      if (row === undefined) return null;
      const baseUrl = this.#baseUrl(row);
      // Without its address it would be taken for the real provider of that name.
      if (row.base_url_at_run_time && baseUrl === null) return null;
      const credential =
        row.credential === null
          ? null
          : await this.dataKeys.open(sql, sealedPlace(row.id, row.organisation_id), row.credential);
      return { id: row.id, slug, workspaceId, provider: row.provider, credential, baseUrl };
    });
  }

  setRuntimeBaseUrl(slug: string, url: string): void {
    this.#runtimeBaseUrls.set(slug, url);
  }
}
