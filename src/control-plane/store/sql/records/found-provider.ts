import type { OrganisationPrice } from '../../../../common/prices/provider-prices.js';
import type { Database, Sql } from '../connection/driver.js';
import { dialectOf, firstRow, rowsAsJson } from '../connection/statements.js';
import type { AccessRow, IntegrationRow, ModelRow } from './integration-row.js';
import { type PricedRow, priceColumns, priceFrom } from './model-prices.js';
import type { ProviderRow } from './provider-row.js';

const lenderColumns = [
  'id',
  'organisation_id',
  'workspace_id',
  'slug',
  'provider',
  'status',
  'credential',
  'configurations',
  'secrets',
  'secret_mappings',
  'host_trusted',
  'pricing_adjustments',
  'allow_all_models',
  'global_enabled',
  'global_usage_limits',
  'global_rate_limits',
  'created_at',
] as const satisfies (keyof IntegrationRow)[];
const accessColumns = ['enabled', 'usage_limits', 'rate_limits'] as const satisfies (keyof AccessRow)[];
const modelColumns = [
  'slug',
  'enabled',
  'base_model_slug',
  'custom_host',
  'pricing_config',
] as const satisfies (keyof ModelRow)[];

/** What calls depend on, of an integration, of what it has set for a workspace, and of its models. */
export type LenderRow = Pick<IntegrationRow, (typeof lenderColumns)[number]>;
export type LentAccess = Pick<AccessRow, (typeof accessColumns)[number]>;
export type LentModel = Pick<ModelRow, (typeof modelColumns)[number]>;

/** The integration of a provider. */
export interface Lender {
  readonly row: LenderRow;
  /** What was set for the workspace of the provider; null: nothing. */
  readonly access: LentAccess | null;
  readonly models: readonly LentModel[];
}

/** A provider with everything that its record is made of. */
export interface FoundProvider {
  readonly row: ProviderRow;
  /** null: the provider has no integration, or one that is gone. */
  readonly lender: Lender | null;
  /** The organisation's, of the models of this provider. */
  readonly prices: readonly OrganisationPrice[];
}

/** In the columns' names, before those of an integration and of an access. */
const [ofLender, ofAccess] = ['lender_', 'access_'];

type FoundRow = ProviderRow & {
  /** JSON. */
  readonly models: string;
  readonly prices: string;
};

const prefixed = (table: string, columns: readonly string[], prefix: string): string =>
  columns.map((column) => `${table}.${column} AS ${prefix}${column}`).join(', ');

const models = `FROM integration_models
  WHERE integration_models.organisation_id = lender.organisation_id
    AND integration_models.integration_id = lender.id`;
const prices = `FROM model_prices
  WHERE model_prices.organisation_id = providers.organisation_id
    AND model_prices.provider = coalesce(lender.provider, providers.provider)`;

const textFor = (dialect: Database['dialect']): string => `SELECT providers.*,
    ${prefixed('lender', lenderColumns, ofLender)},
    ${prefixed('access', accessColumns, ofAccess)},
    ${rowsAsJson(dialect, modelColumns, models)} AS models,
    ${rowsAsJson(dialect, priceColumns, prices)} AS prices
  FROM providers
  LEFT JOIN integrations lender ON lender.organisation_id = providers.organisation_id
    AND lender.id = providers.integration_id
  LEFT JOIN integration_workspaces access ON access.organisation_id = lender.organisation_id
    AND access.integration_id = lender.id AND access.workspace_id = providers.workspace_id
  WHERE providers.workspace_id = ? AND providers.slug = ?
  LIMIT 1`;

const texts = { sqlite: textFor('sqlite'), postgres: textFor('postgres') };

/** The columns of a row that begin with `prefix`, without it. */
function part<Row>(row: object, prefix: string): Row {
  const columns = Object.entries(row).filter(([column]) => column.startsWith(prefix));
  return Object.fromEntries(columns.map(([column, value]) => [column.slice(prefix.length), value])) as Row;
}

/**
 * The provider of this slug, by one statement: a request waits for it, and each further one would cost it another turn
 * of the database. All values come from one snapshot.
 */
export async function findProvider(
  sql: Sql,
  workspaceId: string,
  slug: string,
): Promise<FoundProvider | undefined> {
  const row = await firstRow<FoundRow>(sql, texts[dialectOf(sql)], [workspaceId, slug]);
  if (row === undefined) return undefined;
  return {
    row,
    lender: row.integration_id === null ? null : lenderOf(row),
    prices: (JSON.parse(row.prices) as PricedRow[]).map(priceFrom),
  };
}

function lenderOf(found: FoundRow): Lender | null {
  const row = part<LenderRow>(found, ofLender);
  // No integration of that id.
  if (row.id === null) return null;
  const access = part<LentAccess>(found, ofAccess);
  return { row, access: access.enabled === null ? null : access, models: JSON.parse(found.models) };
}
