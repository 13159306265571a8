import type { OrganisationPrice } from '../../../../common/prices/provider-prices.js';
import type { ModelPriceName, ModelPriceRecord, ModelPriceStore } from '../../records/model-prices.js';
import type { Listed, Page } from '../../records/place.js';
import type { Database, Sql } from '../connection/driver.js';
import { listed } from '../lists.js';

interface ModelPriceRow {
  readonly organisation_id: string;
  readonly provider: string;
  readonly model: string;
  readonly since: string;
  readonly price: string;
  readonly source: string | null;
  readonly read_on: string | null;
  readonly updated_at: number | string;
}

/** Prices of a provider that an organisation may set: they travel with each of its stored providers. */
export const maxPricesOfProvider = 500;

const byName = [{ column: 'provider' }, { column: 'model' }, { column: 'since' }];

/** What a price is made of. */
export const priceColumns = [
  'model',
  'since',
  'price',
  'source',
  'read_on',
] as const satisfies (keyof ModelPriceRow)[];
export type PricedRow = Pick<ModelPriceRow, (typeof priceColumns)[number]>;

export const priceFrom = ({ model, since, price, source, read_on }: PricedRow): OrganisationPrice => ({
  ...JSON.parse(price),
  model,
  ...(since !== '' && { since }),
  ...(source !== null && { source }),
  ...(read_on !== null && { readOn: read_on }),
});

const fromRow = (row: ModelPriceRow): ModelPriceRecord => ({
  ...priceFrom(row),
  provider: row.provider,
  updatedAt: Number(row.updated_at),
});

/** The prices that the organisation has set for models of that provider. */
export async function organisationPrices(
  sql: Sql,
  organisationId: string,
  provider: string,
): Promise<OrganisationPrice[]> {
  const rows: ModelPriceRow[] = await sql('model_prices').where({
    organisation_id: organisationId,
    provider,
  });
  return rows.map(priceFrom);
}

export class SqlModelPrices implements ModelPriceStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  list(organisationId: string, provider: string | null, page: Page): Promise<Listed<ModelPriceRecord>> {
    return this.database.read((sql) => {
      const wanted = sql('model_prices').where({ organisation_id: organisationId });
      if (provider !== null) wanted.andWhere({ provider });
      return listed(wanted, byName, page, fromRow);
    });
  }

  put(
    organisationId: string,
    { provider, model, since = '', source, readOn, ...price }: Omit<ModelPriceRecord, 'updatedAt'>,
  ): Promise<'full' | null> {
    return this.database.write(async (sql) => {
      const name = { organisation_id: organisationId, provider, model, since };
      await sql('model_prices').where(name).delete();
      const count = await sql('model_prices')
        .where({ organisation_id: organisationId, provider })
        .count('* as total')
        .first();
      if (Number(count?.['total']) >= maxPricesOfProvider) return 'full';
      const row: ModelPriceRow = {
        ...name,
        price: JSON.stringify(price),
        source: source ?? null,
        read_on: readOn ?? null,
        updated_at: this.now(),
      };
      await sql('model_prices').insert(row);
      return null;
    });
  }

  delete(organisationId: string, name: ModelPriceName): Promise<'missing' | null> {
    return this.database.write(async (sql) => {
      const gone = await sql('model_prices')
        .where({ organisation_id: organisationId, ...name })
        .delete();
      return gone === 0 ? 'missing' : null;
    });
  }

  of(organisationId: string, provider: string): Promise<OrganisationPrice[]> {
    return this.database.read((sql) => organisationPrices(sql, organisationId, provider));
  }
}
