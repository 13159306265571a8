import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import type { PricesRecord } from '../../../../common/prices/provider-prices.js';
import type {
  Integration,
  IntegrationAccess,
  IntegrationChange,
  IntegrationFilter,
  IntegrationModel,
  IntegrationReach,
  IntegrationStore,
  IntegrationUse,
  NewIntegration,
} from '../../records/integrations.js';
import type { Listed, Page, Place } from '../../records/place.js';
import { makeSlug } from '../../records/slug.js';
import type { Database, Transaction } from '../connection/driver.js';
import { isDuplicate } from '../connection/failure.js';
import type { DataKeys } from '../keys/data-keys.js';
import { listed, newestFirst } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import { noCredentials, SealedCredentials } from './credentials.js';
import {
  type AccessRow,
  fromAccessRow,
  fromIntegrationRow,
  fromModelRow,
  type IntegrationRow,
  integrationAt,
  type ModelRow,
  textOrNull,
  toAccessRow,
  toModelRow,
  usableAt,
} from './integration-row.js';
import { organisationPrices } from './model-prices.js';
import { pricesOf } from './price-record.js';
import { hasWorkspace } from './workspaces.js';

/** A message names no more. */
const maxUses = 20;

export class SqlIntegrations implements IntegrationStore {
  readonly #sealed: SealedCredentials;

  constructor(
    readonly database: Database,
    dataKeys: DataKeys,
    readonly now: () => number,
  ) {
    this.#sealed = new SealedCredentials(dataKeys, 'integrations');
  }

  get(organisationId: string, slugOrId: string): Promise<Integration | null> {
    return this.database.read(async (sql) => {
      const row = await integrationAt(sql, organisationId, slugOrId);
      return row === undefined ? null : fromIntegrationRow(row);
    });
  }

  usable(place: Place, slugOrId: string): Promise<Integration | null> {
    return this.database.read(async (sql) => {
      const row = await usableAt(sql, place, slugOrId);
      return row === undefined ? null : fromIntegrationRow(row);
    });
  }

  list(organisationId: string, filter: IntegrationFilter, page: Page): Promise<Listed<Integration>> {
    const { levels, workspaceId } = filter;
    return this.database.read(async (sql) => {
      const wanted = sql('integrations').where({ organisation_id: organisationId, status: 'active' });
      wanted.andWhere((any) => {
        any.whereRaw('1 = 0');
        if (levels.includes('workspace'))
          any.orWhere((one) => {
            one.whereNotNull('workspace_id');
            if (workspaceId !== undefined) one.where({ workspace_id: workspaceId });
          });
        if (levels.includes('organisation'))
          any.orWhere((one) => {
            one.whereNull('workspace_id');
            if (workspaceId !== undefined) one.andWhere((way) => mayUse(way, workspaceId));
          });
      });
      return listed(wanted, newestFirst, page, fromIntegrationRow);
    });
  }

  async create(organisationId: string, input: NewIntegration): Promise<Integration | 'taken' | 'missing'> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.database.write(
          async (sql) => {
            const { workspaceId } = input;
            if (workspaceId !== null && !(await hasWorkspace(sql, { organisationId, workspaceId })))
              return 'missing';
            const blank = this.blank(organisationId, input);
            const columns = await this.#sealed.changed(sql, blank, noCredentials, input);
            const row: IntegrationRow = { ...blank, ...columns };
            await sql('integrations').insert(row);
            return fromIntegrationRow(row);
          },
          { apart: true },
        );
      } catch (error) {
        if (!isDuplicate(error) || attempt === 5) throw error;
        if (input.slug !== undefined) return 'taken';
      }
    }
  }

  /** The row of a new integration without its credential. */
  blank(organisationId: string, input: Omit<NewIntegration, 'key'>): IntegrationRow {
    const now = this.now();
    const slug = input.slug ?? makeSlug('', input.name);
    return {
      ...noCredentials,
      id: randomUUID(),
      revision: 1,
      organisation_id: organisationId,
      workspace_id: input.workspaceId,
      slug,
      active_slug: slug,
      name: input.name,
      description: input.description ?? null,
      provider: input.provider,
      status: 'active',
      host_trusted: input.hostTrusted,
      pricing_adjustments: textOrNull(input.pricingAdjustments),
      default_provider_slug: input.defaultProviderSlug ?? null,
      allow_all_models: true,
      global_enabled: false,
      global_usage_limits: null,
      global_rate_limits: '[]',
      created_at: now,
      updated_at: now,
    };
  }

  update(
    organisationId: string,
    id: string,
    change: IntegrationChange,
  ): Promise<Integration | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await this.#active(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, change.etag)) return 'stale';
      const { globalAccess, pricingAdjustments } = change;
      return this.#replace(sql, {
        ...row,
        ...(await this.#sealed.changed(sql, row, row, change)),
        name: change.name ?? row.name,
        description: change.description === undefined ? row.description : change.description,
        pricing_adjustments:
          pricingAdjustments === undefined ? row.pricing_adjustments : textOrNull(pricingAdjustments),
        allow_all_models: change.allowAllModels ?? row.allow_all_models,
        host_trusted: change.hostTrusted ?? row.host_trusted,
        ...(globalAccess !== undefined && {
          global_enabled: globalAccess.enabled,
          global_usage_limits: textOrNull(globalAccess.usageLimits),
          global_rate_limits: JSON.stringify(globalAccess.rateLimits),
        }),
      });
    });
  }

  delete(
    organisationId: string,
    id: string,
    etag?: string,
  ): Promise<Integration | 'missing' | 'stale' | readonly IntegrationUse[]> {
    return this.database.write(async (sql) => {
      const row = await this.#active(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      // Records of an archived workspace are not used, and can no longer be deleted.
      const uses: IntegrationUse[] = await sql('providers')
        .join('workspaces', 'workspaces.id', 'providers.workspace_id')
        .where({ 'providers.organisation_id': organisationId, integration_id: row.id })
        .andWhere({ 'workspaces.status': 'active' })
        .orderBy(['workspaces.slug', 'providers.slug'])
        .limit(maxUses)
        .select({ workspace: 'workspaces.slug', slug: 'providers.slug' });
      if (uses.length > 0) return uses;
      return this.#replace(sql, { ...row, status: 'archived', active_slug: null });
    });
  }

  async #replace(sql: Transaction, row: IntegrationRow): Promise<Integration | 'stale'> {
    const written = await replaceRow(sql, 'integrations', { ...row, updated_at: this.now() });
    return written === 'stale' ? written : fromIntegrationRow(written);
  }

  #active(sql: Transaction, organisationId: string, id: string): Promise<IntegrationRow | undefined> {
    return sql('integrations').where({ organisation_id: organisationId, id, status: 'active' }).first();
  }

  providers(organisationId: string, id: string): Promise<{ workspaceId: string; slug: string }[]> {
    return this.database.read((sql) =>
      sql('providers')
        .where({ organisation_id: organisationId, integration_id: id })
        .orderBy('created_at')
        .select('workspace_id as workspaceId', 'slug'),
    );
  }

  reach(organisationId: string, id: string): Promise<IntegrationReach[]> {
    return this.database.read(async (sql) => {
      const workspaces: string[] = await sql('workspaces')
        .where({ organisation_id: organisationId, status: 'active' })
        .orderBy(['created_at', 'id'])
        .pluck('id');
      const rows: AccessRow[] = await sql('integration_workspaces').where({
        organisation_id: organisationId,
        integration_id: id,
      });
      const own = new Map(rows.map((row) => [row.workspace_id, fromAccessRow(row)]));
      return workspaces.map((workspaceId) => ({ workspaceId, own: own.get(workspaceId) ?? null }));
    });
  }

  putAccess(organisationId: string, id: string, access: readonly IntegrationAccess[]): Promise<void> {
    return this.database.write(async (sql) => {
      const all = { organisation_id: organisationId, integration_id: id };
      for (const one of access) {
        await sql('integration_workspaces')
          .where({ ...all, workspace_id: one.workspaceId })
          .delete();
        await sql('integration_workspaces').insert(toAccessRow(organisationId, id, one));
      }
    });
  }

  prices(organisationId: string, slug: string): Promise<PricesRecord | null> {
    return this.database.read(async (sql) => {
      const row: IntegrationRow | undefined = await sql('integrations')
        .where({ organisation_id: organisationId, active_slug: slug })
        .first();
      if (row === undefined) return null;
      const models: ModelRow[] = await sql('integration_models').where({
        organisation_id: organisationId,
        integration_id: row.id,
      });
      return pricesOf(await organisationPrices(sql, organisationId, row.provider), row, models);
    });
  }

  models(organisationId: string, id: string): Promise<IntegrationModel[]> {
    return this.database.read(async (sql) => {
      const rows: ModelRow[] = await sql('integration_models')
        .where({ organisation_id: organisationId, integration_id: id })
        .orderBy('slug');
      return rows.map(fromModelRow);
    });
  }

  putModels(organisationId: string, id: string, models: readonly IntegrationModel[]): Promise<void> {
    return this.database.write(async (sql) => {
      for (const model of models) {
        await this.#withoutModels(sql, organisationId, id, [model.slug]);
        await sql('integration_models').insert(toModelRow(organisationId, id, model));
      }
    });
  }

  deleteModels(organisationId: string, id: string, slugs: readonly string[]): Promise<void> {
    return this.database.write(async (sql) => {
      await this.#withoutModels(sql, organisationId, id, slugs);
    });
  }

  #withoutModels(
    sql: Transaction,
    organisationId: string,
    id: string,
    slugs: readonly string[],
  ): PromiseLike<unknown> {
    return sql('integration_models')
      .where({ organisation_id: organisationId, integration_id: id })
      .whereIn('slug', slugs)
      .delete();
  }
}

/** Of the organisation's integrations, those on for that workspace. */
function mayUse(wanted: Knex.QueryBuilder, workspaceId: string): void {
  const ofWorkspace = (query: Knex.QueryBuilder): Knex.QueryBuilder =>
    query
      .select('enabled')
      .from('integration_workspaces')
      .where('integration_workspaces.workspace_id', workspaceId)
      .whereRaw('?? = ??', ['integration_workspaces.integration_id', 'integrations.id']);
  wanted
    .whereExists((query) => void ofWorkspace(query).where({ enabled: true }))
    .orWhere((global) =>
      global.where({ global_enabled: true }).whereNotExists((query) => void ofWorkspace(query)),
    );
}
