import { randomUUID } from 'node:crypto';
import type { ProviderRecord } from '../../../../common/ipc/records.js';
import { etagOf } from '../../records/etag.js';
import type { Integration } from '../../records/integrations.js';
import type { Listed, Page, Place } from '../../records/place.js';
import type {
  LentProvider,
  NewProvider,
  Provider,
  ProviderChange,
  ProviderFilter,
  ProviderStore,
  UsableProvider,
} from '../../records/providers.js';
import { makeSlug } from '../../records/slug.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import { isKeepable } from '../connection/failure.js';
import { insertNew } from '../connection/statements.js';
import type { DataKeys } from '../keys/data-keys.js';
import { listed, newestFirst } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import { credentialsOf, noCredentials, SealedCredentials } from './credentials.js';
import {
  fromIntegrationRow,
  type IntegrationRow,
  textOrNull,
  usableAt,
  usageLimitsOf,
  valueOrNull,
} from './integration-row.js';
import type { SqlIntegrations } from './integrations.js';
import { MappedSecrets } from './mapped-secrets.js';
import { ProviderLookup } from './provider-lookup.js';
import type { ProviderRow } from './provider-row.js';
import { hasWorkspace } from './workspaces.js';

type Terms = Pick<NewProvider, 'note' | 'usageLimits' | 'rateLimits' | 'expiresAt' | 'tags'>;
type Named = Terms & { readonly slug?: string; readonly name: string };

const at = (place: Place): { organisation_id: string; workspace_id: string } => ({
  organisation_id: place.organisationId,
  workspace_id: place.workspaceId,
});

/** The one of this name: by its slug, else by its id. */
async function rowAt(sql: Sql, place: Place, slugOrId: string): Promise<ProviderRow | undefined> {
  const rows: ProviderRow[] = await sql('providers')
    .where(at(place))
    .andWhere((either) => either.where({ slug: slugOrId }).orWhere({ id: slugOrId }));
  // Calls know it by its slug: an id cannot take that away.
  return rows.find(({ slug }) => slug === slugOrId) ?? rows[0];
}

export class SqlProviders implements ProviderStore {
  readonly #sealed: SealedCredentials;
  readonly #integrationSealed: SealedCredentials;
  readonly #lookup: ProviderLookup;

  constructor(
    readonly database: Database,
    dataKeys: DataKeys,
    readonly integrations: SqlIntegrations,
    readonly now: () => number,
  ) {
    this.#sealed = new SealedCredentials(dataKeys, 'providers');
    this.#integrationSealed = new SealedCredentials(dataKeys, 'integrations');
    this.#lookup = new ProviderLookup(this.#sealed, this.#integrationSealed, new MappedSecrets(dataKeys));
  }

  async #shown(sql: Sql, rows: readonly ProviderRow[]): Promise<Provider[]> {
    const ids = [...new Set(rows.map((row) => row.integration_id).filter((id) => id !== null))];
    const lenders: IntegrationRow[] = ids.length === 0 ? [] : await sql('integrations').whereIn('id', ids);
    const byId = new Map(lenders.map((row) => [row.id, row]));
    return rows.map((row) => this.#fromRow(row, byId.get(row.integration_id ?? '') ?? null));
  }

  #fromRow(row: ProviderRow, lender: IntegrationRow | null): Provider {
    return {
      id: row.id,
      organisationId: row.organisation_id,
      workspaceId: row.workspace_id,
      slug: row.slug,
      name: row.name,
      note: row.note,
      provider: lender?.provider ?? row.provider,
      ...credentialsOf(lender ?? row),
      baseUrl: lender === null ? this.#lookup.baseUrl(row) : null,
      integration: lender === null ? null : { id: lender.id, slug: lender.slug },
      usageLimits: usageLimitsOf(row.usage_limits),
      rateLimits: JSON.parse(row.rate_limits),
      expiresAt: row.expires_at === null ? null : Number(row.expires_at),
      tags: valueOrNull(row.tags),
      createdAt: Number(row.created_at),
      updatedAt: Number(row.updated_at),
      etag: etagOf(row),
    };
  }

  async #one(sql: Sql, row: ProviderRow): Promise<Provider> {
    const [shown] = await this.#shown(sql, [row]);
    return shown!;
  }

  get(place: Place, slugOrId: string): Promise<Provider | null> {
    return this.database.read(async (sql) => {
      const row = await rowAt(sql, place, slugOrId);
      return row === undefined ? null : this.#one(sql, row);
    });
  }

  byId(organisationId: string, id: string): Promise<Provider | null> {
    return this.database.read(async (sql) => {
      const row: ProviderRow | undefined = await sql('providers')
        .where({ organisation_id: organisationId, id })
        .first();
      return row === undefined ? null : this.#one(sql, row);
    });
  }

  workspacesWith(organisationId: string, slugOrId: string): Promise<readonly string[]> {
    return this.database.read((sql) =>
      sql('providers')
        .where({ organisation_id: organisationId })
        .andWhere((either) => either.where({ slug: slugOrId }).orWhere({ id: slugOrId }))
        .distinct()
        .pluck('workspace_id'),
    );
  }

  list(place: Place, page: Page, { tags = [] }: ProviderFilter = {}): Promise<Listed<Provider>> {
    return this.database.read(async (sql) => {
      const wanted = sql('providers').where(at(place));
      for (const { name, value } of tags) {
        // Tags are a flat object of texts, in which a quote within a text is escaped: nothing else reads so.
        const pair = `${JSON.stringify(name)}:${value === null ? '' : JSON.stringify(value)}`;
        wanted.whereRaw("replace(tags, ?, '') <> tags", [pair]);
      }
      const { total, rows } = await listed(wanted, newestFirst, page, (row: ProviderRow) => row);
      return { total, rows: await this.#shown(sql, rows) };
    });
  }

  usable(
    place: Place,
    { slug, limit }: { readonly slug?: string; readonly limit: number },
  ): Promise<UsableProvider[]> {
    return this.database.read(async (sql) => {
      const wanted = sql('providers').where(at(place));
      if (slug !== undefined) wanted.andWhere({ slug });
      const rows: ProviderRow[] = await wanted.orderBy('slug').limit(limit);
      return this.#lookup.usable(sql, rows, this.now());
    });
  }

  usableSlugs(workspaceId: string, limit: number): Promise<string[]> {
    return this.database.read(async (sql) => {
      const wanted = sql('providers').where({ workspace_id: workspaceId });
      const rows: ProviderRow[] = await wanted.orderBy('slug').limit(limit);
      return (await this.#lookup.usable(sql, rows, this.now())).map(({ slug }) => slug);
    });
  }

  create(place: Place, input: NewProvider | LentProvider): Promise<Provider | 'taken' | 'missing'> {
    return this.#insert(place, input, async (sql, blank) => {
      if ('integrationId' in input) {
        const lender = await usableAt(sql, place, input.integrationId);
        return lender && { ...blank, provider: lender.provider, integration_id: lender.id };
      }
      const { credential, configurations, secretMappings } = input;
      const change = { key: credential, configurations, secretMappings };
      return {
        ...blank,
        ...(await this.#sealed.changed(sql, blank, noCredentials, change)),
        provider: input.provider,
        base_url: input.baseUrl ?? null,
        host_trusted: input.hostTrusted ?? true,
        base_url_at_run_time: input.baseUrlAtRunTime ?? false,
      };
    });
  }

  duplicate(place: Place, from: string, input: Named): Promise<Provider | 'taken' | 'missing'> {
    return this.#insert(place, input, async (sql, blank) => {
      const source = await rowAt(sql, place, from);
      if (source === undefined) return undefined;
      const { provider, integration_id, base_url, base_url_at_run_time, host_trusted } = source;
      return {
        ...blank,
        ...(await this.#sealed.moved(sql, blank, source, await this.#sealed.open(sql, source))),
        ...{ provider, integration_id, base_url, base_url_at_run_time, host_trusted },
      };
    });
  }

  /** `fill` gives the source of the credential; undefined: the source does not exist. */
  async #insert(
    place: Place,
    input: Named,
    fill: (sql: Transaction, blank: ProviderRow) => Promise<ProviderRow | undefined>,
  ): Promise<Provider | 'taken' | 'missing'> {
    for (let attempt = 1; ; attempt++) {
      const made = await this.database.write(async (sql) => {
        if (!(await hasWorkspace(sql, place))) return 'missing';
        const row = await fill(sql, this.#blank(place, input));
        if (row === undefined) return 'missing';
        return (await insertNew(sql, 'providers', row)) ? this.#one(sql, row) : 'taken';
      });
      // A slug that was made by chance is made again.
      if (made !== 'taken' || input.slug !== undefined || attempt === 5) return made;
    }
  }

  #blank(place: Place, input: Named): ProviderRow {
    const now = this.now();
    return {
      ...noCredentials,
      id: randomUUID(),
      revision: 1,
      ...at(place),
      slug: input.slug ?? makeSlug('', input.name),
      name: input.name,
      note: input.note ?? null,
      provider: '',
      integration_id: null,
      base_url: null,
      base_url_at_run_time: false,
      host_trusted: true,
      usage_limits: textOrNull(input.usageLimits),
      rate_limits: JSON.stringify(input.rateLimits ?? []),
      expires_at: input.expiresAt ?? null,
      tags: textOrNull(input.tags),
      created_at: now,
      updated_at: now,
    };
  }

  update(place: Place, slugOrId: string, change: ProviderChange): Promise<Provider | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowAt(sql, place, slugOrId);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, change.etag)) return 'stale';
      const or = <T>(value: T | undefined, before: T): T => (value === undefined ? before : value);
      const { usageLimits, rateLimits, tags } = change;
      const written = await replaceRow(sql, 'providers', {
        ...row,
        ...(await this.#sealed.changed(sql, row, row, change)),
        name: change.name ?? row.name,
        note: or(change.note, row.note),
        base_url: or(change.baseUrl, row.base_url),
        host_trusted: change.hostTrusted ?? row.host_trusted,
        usage_limits: usageLimits === undefined ? row.usage_limits : textOrNull(usageLimits),
        rate_limits: rateLimits === undefined ? row.rate_limits : JSON.stringify(rateLimits),
        expires_at: or<ProviderRow['expires_at']>(change.expiresAt, row.expires_at),
        tags: tags === undefined ? row.tags : textOrNull(tags),
        updated_at: this.now(),
      });
      return written === 'stale' ? written : this.#one(sql, written);
    });
  }

  delete(place: Place, slugOrId: string, etag?: string): Promise<Provider | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowAt(sql, place, slugOrId);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      const gone = await this.#one(sql, row);
      await sql('providers')
        .where({ ...at(place), id: row.id })
        .delete();
      return gone;
    });
  }

  async migrate(place: Place, slugOrId: string): Promise<Integration | 'missing' | null> {
    return this.database.write(async (sql) => {
      const row = await rowAt(sql, place, slugOrId);
      if (row === undefined) return 'missing';
      if (row.integration_id !== null)
        return fromIntegrationRow(await sql('integrations').where({ id: row.integration_id }).first());
      if (row.base_url_at_run_time) return null;
      const { organisationId, workspaceId } = place;
      const taken = await sql('integrations')
        .where({ organisation_id: organisationId, active_slug: row.slug })
        .first('id');
      const blank = this.integrations.blank(organisationId, {
        workspaceId,
        slug: taken === undefined ? row.slug : undefined,
        name: row.name,
        description: row.note,
        provider: row.provider,
        hostTrusted: Boolean(row.host_trusted),
      });
      const host = row.base_url === null ? {} : { custom_host: row.base_url };
      const mappings = credentialsOf(row).secretMappings.map((mapping) => ({
        ...mapping,
        targetField: mapping.targetField.replace('model_config.', 'configurations.'),
      }));
      const lender: IntegrationRow = {
        ...blank,
        ...(await this.#integrationSealed.moved(sql, blank, row, await this.#sealed.open(sql, row))),
        configurations: JSON.stringify({ ...JSON.parse(row.configurations), ...host }),
        secret_mappings: JSON.stringify(mappings),
      };
      await sql('integrations').insert(lender);
      const updated_at = this.now();
      const lent = { ...row, ...noCredentials, base_url: null, integration_id: lender.id, updated_at };
      await replaceRow(sql, 'providers', lent);
      return fromIntegrationRow(lender);
    });
  }

  async find(workspaceId: string, slug: string): Promise<ProviderRecord | null> {
    if (!isKeepable(slug)) return null;
    return this.database.read((sql) => this.#lookup.find(sql, workspaceId, slug));
  }

  setRuntimeBaseUrl(slug: string, url: string): void {
    this.#lookup.runtimeBaseUrls.set(slug, url);
  }

  runtimeBaseUrl(slug: string): string | null {
    return this.#lookup.runtimeBaseUrls.get(slug) ?? null;
  }
}
